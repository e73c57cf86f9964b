"""Actions of the lab: the setting of CNS, memberships and their pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from clusterlens.compute.fuzzy.importing import read_memberships
from clusterlens.ui.actions.action import Action, Values
from clusterlens.ui.actions.lines import Lines, call, keywords
from clusterlens.ui.jobs.reading import read_in_process
from clusterlens.ui.state.analysis import Analysis, SoftTable
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.literals import literal
from clusterlens.ui.state.shapes import COUNT, TEXT, any_of, flag, key, number, record


def set_smoothing(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Choose neighbours, alpha and K of CNS, or return to the automatic choice."""
    if not values:
        return replace(analysis, cns=None)
    chosen = tuple(values[name] for name in ("n_neighbors", "alpha", "n_clusters"))
    return replace(analysis, cns=chosen)


def add_memberships(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Add uploaded memberships of the samples; the same name replaces older ones."""
    samples = analysis.samples or analysis.dataset
    others = [one for one in analysis.memberships if one.name != values["name"]]
    known = samples or (others[0] if others else None)
    row_ids, rows = read_in_process(
        job,
        values["name"],
        job.files[values["sha256"]],
        read_memberships,
        None if known is None else known.row_ids,
        name=values["name"],
        normalize=values.get("normalize", False),
    )
    table = SoftTable(values["name"], row_ids, rows)
    return replace(analysis, memberships=(*others, table))


# Row ids of a file of memberships without a table.
_IDS_OF = "{0}.table[next(c for c, role in {0}.roles.items() if role == 'row id')]"


def _write_memberships(lines: Lines, step: Step, before: Analysis) -> None:
    uploads, name = lines.name("uploads"), step.values["name"]
    if not lines.has(uploads):
        lines.assign(uploads, "{}")
    file = lines.file("MEMBERSHIPS", step)
    rows = f"{lines.samples(before)}.row_ids"
    if (before.samples or before.dataset) is None:
        first, *_ = step.analysis.memberships
        names_rows = first.row_ids.dtype.kind == "U"
        if names_rows and first.name == name:
            lines.assign(lines.name("first"), f"cl.load_table({file})")
            lines.assign(lines.name("row_ids"), _IDS_OF.format(lines.name("first")))
        rows = lines.name("row_ids") if names_rows else "None"
    given = keywords({k: v for k, v in step.values.items() if k != "sha256"})
    read = call("cl.load_memberships", file, rows, *given)
    lines.assign(uploads, read, f"[{literal(name)}]")


def save_pair(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Save a pair of soft partitions."""
    pair = (values["u"], values["v"])
    if pair in analysis.fuzzy_pairs:
        raise ValueError("this pair is saved already.")
    return replace(analysis, fuzzy_pairs=(*analysis.fuzzy_pairs, pair))


def drop_pair(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Remove a saved pair."""
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
        python=_write_memberships,
    ),
    "save pair": Action("Save the pair", save_pair, _PAIR),
    "drop pair": Action("Forget the pair", drop_pair, _PAIR),
}
