"""Actions of the lab: CNS as it is set, memberships and their pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from clusterlens.compute.fuzzy.importing import load_memberships
from clusterlens.ui.actions.action import Action, Values
from clusterlens.ui.actions.lines import Lines, call, keywords
from clusterlens.ui.state.analysis import Analysis, SoftTable
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.literals import literal
from clusterlens.ui.state.shapes import COUNT, TEXT, any_of, flag, key, number, record
from clusterlens.ui.work.reading import read_apart


def set_smoothing(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Choose neighbours, alpha and K of CNS, or leave them to be automatic."""
    if not values:
        return replace(analysis, cns=None)
    chosen = tuple(values[name] for name in ("n_neighbors", "alpha", "n_clusters"))
    return replace(analysis, cns=chosen)


def add_memberships(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Take in uploaded memberships of the samples; another upload replaces its name."""
    samples = analysis.samples or analysis.dataset
    if samples is None:
        raise ValueError("no table is prepared; load one on the Data page.")
    rows = read_apart(
        job,
        values["name"],
        job.files[values["sha256"]],
        load_memberships,
        samples.row_ids,
        name=values["name"],
        normalize=values.get("normalize", False),
    )
    table = SoftTable(values["name"], samples.row_ids, rows)
    others = (one for one in analysis.memberships if one.name != table.name)
    return replace(analysis, memberships=(*others, table))


def _say_memberships(lines: Lines, step: Step, before: Analysis) -> None:
    uploads, name = lines.name("uploads"), step.values["name"]
    if not lines.has(uploads):
        lines.say(uploads, "{}")
    file, rows = lines.file("MEMBERSHIPS", step), f"{lines.samples(before)}.row_ids"
    given = keywords({k: v for k, v in step.values.items() if k != "sha256"})
    read = call("cl.load_memberships", file, rows, *given)
    lines.say(uploads, read, f"[{literal(name)}]")


def save_pair(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Keep a pair of soft partitions, to come back to it."""
    pair = (values["u"], values["v"])
    if pair in analysis.fuzzy_pairs:
        raise ValueError("this pair is saved already.")
    return replace(analysis, fuzzy_pairs=(*analysis.fuzzy_pairs, pair))


def drop_pair(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Take a saved pair off the list."""
    left = tuple(p for p in analysis.fuzzy_pairs if p != (values["u"], values["v"]))
    return replace(analysis, fuzzy_pairs=left)


_SETTING = {"n_neighbors": COUNT, "alpha": number(0), "n_clusters": COUNT}
_PAIR = record({"u": TEXT, "v": TEXT})
ACTIONS = {
    "set CNS": Action("Set CNS", set_smoothing, any_of(record(), record(_SETTING))),
    "add memberships": Action(
        "Read the memberships",
        add_memberships,
        record({"name": TEXT, "sha256": key}, {"normalize": flag}),
        slow=True,
        python=_say_memberships,
    ),
    "save pair": Action("Save the pair", save_pair, _PAIR),
    "drop pair": Action("Forget the pair", drop_pair, _PAIR),
}
