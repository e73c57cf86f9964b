"""Script: an analysis as Python that gives the same labels and scores elsewhere.

It uses public names only. What cannot be done again, as a run of partitions made
elsewhere, is refused with the reason. Pages that copy their own calls begin with
`table_lines` and `run_lines`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pprint import pformat
from typing import Any

from clusterlens import __version__
from clusterlens.compute.pool.specs import plan_pool
from clusterlens.compute.ranking.ranking import SCORES
from clusterlens.ui.analysis import Analysis, Link, Run
from clusterlens.ui.history import Step
from clusterlens.ui.nodes.agreement import SEED

_WIDTH = 88
_REPEATABLE = ("run pool", "add CNS", "cluster rows")
_DEFAULTS = {
    "missing": "median",
    "scale": "standard",
    "categorical": "one-hot",
    "pca": None,
    "sentinels": "auto",
    "roles": {},
    "transforms": {},
    "weights": {},
}


class ScriptError(ValueError):
    """The analysis cannot be written as a script; the message says why."""


def write_script(steps: Sequence[Step], model: int, *, exact: bool = True) -> str:
    """Write the latest of some steps as a script.

    Parameters
    ----------
    steps : sequence of Step
        Those in force, oldest first.
    model : int
        Position of the model whose labels are written.
    exact : bool, default True
        Whether all agreements are counted; else they are estimated as the app does.

    Returns
    -------
    script : str
        Its function `analyse` returns dataset, ensemble and ranking.

    Raises
    ------
    ScriptError
        If there is no run, or it cannot be done again.
    """
    analysis = steps[-1].analysis
    run = analysis.run
    if run is None:
        raise ScriptError("there is no run to repeat; run a pool first.")
    origin = _origin(steps, run)
    if origin.kind not in _REPEATABLE:
        raise ScriptError(
            f"{run.name} was not made by a pool of this app, so that a script cannot "
            "make it again; take its rows with labels instead."
        )
    rows = _rows(origin)
    load, note = _loading(steps, analysis)
    parts = {
        "about": _about(analysis, run),
        "constants": _constants(run, analysis.links, rows, note),
        "load": load,
        "prepare": _preparing(run),
        "take": f"\n    ds = {_taking('ds', rows)}" if rows else "",
        "pool": _pool(run),
        "count": "cl.count_agreements(ens)"
        if exact
        else f"cl.estimate_agreements(ens, None, {SEED})  # too many samples for all",
        "rank": _ranking(analysis),
        "name": repr(run.ensemble.names[model]),
        "file": repr(f"{analysis.table.name}-labels.csv"),
    }
    return _TEMPLATE.format(**parts)


def table_lines(steps: Sequence[Step]) -> list[str]:
    """Lines that make `dataset`, the prepared table; a file is loaded by its name."""
    analysis = steps[-1].analysis if steps else Analysis()
    try:
        load, _ = _loading(steps, analysis, file=None)
    except ScriptError:
        load = 'cl.load_table("table.csv")'
    rules = [f"{name}={value!r}" for name, value in analysis.preparation.items()]
    prepare = f"dataset = cl.prepare({', '.join(['table', *rules])})"
    return ["import clusterlens as cl", "", f"table = {load}", prepare]


def run_lines(steps: Sequence[Step]) -> list[str]:
    """Lines that make `ensemble`, the partitions of the run that is read.

    Those of a run of some rows take these from `dataset` before.
    """
    run = steps[-1].analysis.run if steps else None
    if run is None:
        return []
    origin = _origin(steps, run)
    if origin.kind not in _REPEATABLE:
        return ['ensemble = cl.load_partitions("partitions.csv", dataset.row_ids)']
    rows, taken = _rows(origin), []
    if rows:
        taken = [
            f"ROWS = {_pretty(set(rows))}",
            f"dataset = {_taking('dataset', rows)}",
        ]
    return [
        *taken,
        f"pool = {_pretty([dict(entry) for entry in run.pool])}",
        f"ensemble = cl.run_pool(dataset.X, pool, random_state={run.random_state})",
    ]


_TEMPLATE = '''\
{about}
import clusterlens as cl
{constants}

def analyse():
    """Load, prepare, cluster, count and rank, as the app did."""
    ds = {load}
    ds = {prepare}{take}
    {pool}
    agreement = {count}
    {rank}
    return ds, ens, ranking


def main():
    ds, ens, ranking = analyse()
    print(ranking.to_frame().head(10).to_string())
    chosen = ens.names.index({name})
    table = cl.attach_labels(ds, {{"cluster": ens.labels[chosen]}})
    with open({file}, "wb") as file:
        file.write(cl.to_csv_bytes(table, index=True))


if __name__ == "__main__":
    main()
'''


def _about(analysis: Analysis, run: Run) -> str:
    """Say in comments what this is, whatever is in the names."""
    table = analysis.table.name if analysis.table is not None else ""
    words = f"ClusterLens {__version__} · {table} · {run.name}"
    if analysis.links:
        words += f", {len(analysis.links)} links"
    return f"# {' '.join(words.split())}".encode("utf-8", "replace").decode()


def _origin(steps: Sequence[Step], run: Run) -> Step:
    """Return the step that made a run."""
    known = (
        step for step in steps if any(one.id == run.id for one in step.analysis.runs)
    )
    return next(known)


def _rows(origin: Step) -> list[Any]:
    """Ids of the rows that were clustered again; none where all rows were."""
    return list(origin.values["rows"]) if origin.kind == "cluster rows" else []


def _taking(name: str, rows: Sequence[Any]) -> str:
    """Return the call that takes ROWS of a prepared table."""
    row = "row" if all(isinstance(one, int) for one in rows) else "str(row)"
    return f"cl.take_rows({name}, [{row} in ROWS for row in {name}.row_ids])"


def _loading(
    steps: Sequence[Step], analysis: Analysis, file: str | None = "FILE"
) -> tuple[str, str]:
    """Return the call that loads the table, and what to say of its file.

    `file` names the constant that holds the name of the file; None writes it out.
    """
    for step in reversed(steps):
        if step.analysis.table is not analysis.table or "name" not in step.values:
            continue
        name = str(step.values["name"])
        if step.kind == "load example":
            return f"cl.load_example({name!r})", ""
        if step.kind == "load file":
            note = f"FILE = {name!r}\n# SHA-256 {step.values['sha256']}"
            chosen = "".join(f", {option}=" for option in step.analysis.part[:1])
            chosen += "".join(map(repr, step.analysis.part[1:]))
            return f"cl.load_table({file or repr(name)}, name={name!r}{chosen})", note
    raise ScriptError("the table was not loaded from a file or an example.")


def _preparing(run: Run) -> str:
    """Return the call that prepares the table of a run."""
    given = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in run.dataset.settings.items()
        if value != _DEFAULTS[name]
    }
    rules = [f"{name}={value!r}" for name, value in given.items()]
    call = f"cl.prepare({', '.join(['ds', *rules])})"
    if len(call) < _WIDTH - 10:
        return call
    lines = "".join(f"\n        {rule}," for rule in rules)
    return f"cl.prepare(\n        ds,{lines}\n    )"


def _constants(run: Run, links: Sequence[Link], rows: Sequence[Any], note: str) -> str:
    """Return the values that the script names, each on its own lines."""
    parts = [note] if note else []
    if rows:
        parts.append(f"ROWS = {_pretty(set(rows))}  # row ids")
    parts.append(f"POOL = {_pretty([dict(entry) for entry in run.pool])}")
    if _selected(run):
        parts.append(f"MODELS = {_pretty(list(run.ensemble.names))}")
    if links:
        pairs = {
            f"{kind}_link": [[link.a, link.b] for link in links if link.kind == kind]
            for kind in ("must", "cannot")
        }
        parts.append(f"LINKS = {json.dumps(pairs)!r}  # by row id")
    return "\n" + "\n".join(parts)


def _pretty(value: Any) -> str:
    return pformat(value, width=_WIDTH, compact=True, sort_dicts=False)


def _selected(run: Run) -> bool:
    """Whether the run holds other models than its pool gives."""
    planned = plan_pool(list(run.pool), run.dataset.X, run.random_state).models
    return [model.name for model in planned] != list(run.ensemble.names)


def _pool(run: Run) -> str:
    """Return the lines that run the pool."""
    lines = [f"ens = cl.run_pool(ds, POOL, random_state={run.random_state!r})"]
    if _selected(run):
        lines.append("ens = ens.select([ens.names.index(name) for name in MODELS])")
    if run.votes != "models":
        lines.append(f"ens = ens.with_weights(cl.vote_weights(ens, {run.votes!r}))")
    return "\n    ".join(lines)


def _ranking(analysis: Analysis) -> str:
    """Return the lines that rank the models."""
    options = [f"score={analysis.score!r}"]
    if analysis.threshold is not None and SCORES[analysis.score].uses_threshold:
        options.append(f"threshold={analysis.threshold}")
    before = ""
    if analysis.links:
        before = (
            'links = cl.constraints_from_json(LINKS, ds.row_ids, missing="skip")\n    '
        )
        options += ["constraints=links", f"constraint_weight={analysis.link_weight!r}"]
    return (
        f"{before}ranking = cl.rank_partitions(\n        agreement, "
        f"{', '.join(options)}\n    )"
    )
