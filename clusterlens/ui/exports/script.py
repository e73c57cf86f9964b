"""Script: an analysis as Python that gives the same labels and scores elsewhere.

It uses public names only. What cannot be done again, as a run of partitions made
elsewhere, is refused with the reason. Pages that copy their own calls begin with
`table_lines` and `run_lines`. What comes from the analysis is written by `literal`, or
by `_comment` below the first lines, where no comment can say how the file is encoded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from keyword import iskeyword
from pathlib import PurePath
from pprint import pformat
from typing import Any

from clusterlens import __version__
from clusterlens.compute.pool.specs import plan_pool
from clusterlens.compute.ranking.ranking import SCORES
from clusterlens.ui.exports.new_rows_script import kept_parts
from clusterlens.ui.exports.rows import file_stem
from clusterlens.ui.kit.palette import cluster_name
from clusterlens.ui.nodes.result import Told
from clusterlens.ui.state.analysis import Analysis, AnalysisResult, Link, Run
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.links import links_as_json
from clusterlens.ui.state.literals import ScriptError, literal, refuse_other_than_plain
from clusterlens.ui.state.partitions import SEED, choice_from

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
    "copies": "keep",
}


def write_script(steps: Sequence[Step], told: Told, *, exact: bool = True) -> str:
    """Write the latest of some steps as a script.

    Parameters
    ----------
    steps : sequence of Step
        Those in force, oldest first.
    told : Told
        The partition whose clusters are written.
    exact : bool, default True
        Whether all agreements are counted; else they are estimated as the app does.

    Returns
    -------
    script : str
        Its function `analyse` returns dataset, ensemble and ranking, `result` the
        cluster of each sample; where something is kept for other tables, `kept` returns
        the segmentations and `assigned` where the rows of the new table belong.

    Raises
    ------
    ScriptError
        If there is no run, or it cannot be done again.
    """
    analysis = steps[-1].analysis
    run = analysis.run
    if run is None:
        raise ScriptError("there is no run to repeat; run a pool first.")
    if told.run_id != run.id:
        raise ScriptError(
            "the result was chosen in another run; read that run for its script, or "
            "take the rows with labels."
        )
    origin = _origin(steps, run)
    if origin.kind not in _REPEATABLE:
        raise ScriptError(
            f"{run.name} was not made by a pool of this app, so that a script cannot "
            "make it again; take its rows with labels instead."
        )
    rows = _rows(origin)
    load, note = _loading(steps, analysis)
    new = kept_parts(steps, run.id, lambda result: _labels(result, run))
    constants = _constants(run, analysis.links, rows, note) + _of_result(told)
    parts = {
        "about": _about(analysis, run),
        "constants": constants + new["new file"],
        "load": load,
        "prepare": _preparing(run),
        "take": f"\n    ds = {_taking('ds', rows)}" if rows else "",
        "pool": _pool(run),
        "count": "cl.count_agreements(ens)"
        if exact
        else f"cl.estimate_agreements(ens, None, {SEED})  # too many samples for all",
        "rank": _ranking(analysis),
        "labels": _labels(told, run),
        "kept": new["kept"],
        "assign": new["assign"],
        "file": literal(f"{file_stem(analysis.table.name)}-labels.csv"),
    }
    return _TEMPLATE.format(**parts)


def table_lines(steps: Sequence[Step]) -> list[str]:
    """Lines that make `dataset`, the prepared table; a file is loaded by its name."""
    analysis = steps[-1].analysis if steps else Analysis()
    try:
        load, _ = _loading(steps, analysis, file=None)
    except ScriptError:
        load = 'cl.load_table("table.csv")'
    rules = _keywords(analysis.preparation)
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
        "ensemble = cl.run_pool(dataset.X, pool, "
        f"random_state={literal(run.random_state)})",
    ]


_TEMPLATE = '''\
"""An analysis of ClusterLens: its labels and scores, made again."""

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


def result(ds, ens):
    """Return the cluster of each sample by its number on the page; -1 is noise."""
    labels = {labels}
    return [NUMBERS[label] for label in labels.tolist()]
{kept}

def main():
    ds, ens, ranking = analyse()
    print(ranking.to_frame().head(10).to_string())
    clusters = result(ds, ens)
    table = cl.attach_labels(
        ds, {{"cluster": clusters, "cluster name": [NAMES[k] for k in clusters]}}
    )
    with open({file}, "wb") as file:
        file.write(cl.to_csv_bytes(table, index=True)){assign}


if __name__ == "__main__":
    main()
'''


def _of_result(told: Told) -> str:
    """Return the numbers and names of the clusters, and what the result is made of."""
    numbers = {label: _shown(k) for label, k in told.numbers}
    names = {_shown(k): cluster_name(k, told.names) for _, k in told.numbers}
    parts = [
        f"NUMBERS = {_pretty(numbers)}  # label: number on the page",
        f"NAMES = {_pretty(names)}",
    ]
    return "\n" + "\n".join(parts)


def _shown(cluster: int) -> int:
    """Number of a cluster on the page."""
    return cluster + 1 if cluster >= 0 else -1


def _labels(told: Told | AnalysisResult, run: Run) -> str:
    """Return the expression of the labels as they are made."""
    choice = choice_from(told.made, run.dataset)
    rows = told.made.get("rows", ())
    return choice.python(run.ensemble, len(told.numbers), rows, told.links)


def _about(analysis: Analysis, run: Run) -> str:
    """Say in comments what this is, whatever is in the names."""
    table = analysis.table.name if analysis.table is not None else ""
    words = f"ClusterLens {__version__} · {table} · {run.name}"
    if analysis.links:
        words += f", {len(analysis.links)} links"
    return _comment(words)


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
            return f"cl.load_example({literal(name)})", ""
        if step.kind == "load file":
            place = literal(PurePath(name).name or name)
            sha256 = _comment(f"SHA-256 {step.values['sha256']}")
            part = dict([step.analysis.part] if step.analysis.part else [])
            given = [file or place, *_keywords({"name": name, **part})]
            return f"cl.load_table({', '.join(given)})", f"FILE = {place}\n{sha256}"
    raise ScriptError("the table was not loaded from a file or an example.")


def _preparing(run: Run) -> str:
    """Return the call that prepares the table of a run."""
    given = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in run.dataset.settings.items()
        if value != _DEFAULTS[name]
    }
    rules = _keywords(given)
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
        parts.append(f"LINKS = {literal(links_as_json(links))}  # by row id")
    return "\n" + "\n".join(parts)


def _pretty(value: Any) -> str:
    refuse_other_than_plain(value)
    return pformat(value, width=_WIDTH, compact=True, sort_dicts=False)


def _keywords(given: Mapping[str, Any]) -> list[str]:
    """Write values as keyword arguments."""
    odd = [name for name in given if not name.isidentifier() or iskeyword(name)]
    if odd:
        raise ScriptError(f"{odd[0]!r:.60} is no name of an argument.")
    return [f"{name}={literal(value)}" for name, value in given.items()]


def _comment(words: str) -> str:
    """Write words as a comment of one line."""
    line = "".join(c if c.isprintable() else " " for c in words)
    return f"# {' '.join(line.split())}"


def _selected(run: Run) -> bool:
    """Whether the run holds other models than its pool gives."""
    planned = plan_pool(list(run.pool), run.dataset.X, run.random_state).models
    return [model.name for model in planned] != list(run.ensemble.names)


def _pool(run: Run) -> str:
    """Return the lines that run the pool."""
    lines = [f"ens = cl.run_pool(ds, POOL, random_state={literal(run.random_state)})"]
    if _selected(run):
        lines.append("ens = ens.select([ens.names.index(name) for name in MODELS])")
    if run.votes != "models":
        lines.append(
            f"ens = ens.with_weights(cl.vote_weights(ens, {literal(run.votes)}))"
        )
    return "\n    ".join(lines)


def _ranking(analysis: Analysis) -> str:
    """Return the lines that rank the models."""
    options = {"score": analysis.score}
    if analysis.threshold is not None and SCORES[analysis.score].uses_threshold:
        options["threshold"] = analysis.threshold
    given = _keywords(options)
    before = ""
    if analysis.links:
        before = (
            'links = cl.constraints_from_json(LINKS, ds.row_ids, missing="skip")\n    '
        )
        weight = literal(analysis.link_weight)
        given += ["constraints=links", f"constraint_weight={weight}"]
    return (
        f"{before}ranking = cl.rank_partitions(\n        agreement, "
        f"{', '.join(given)}\n    )"
    )
