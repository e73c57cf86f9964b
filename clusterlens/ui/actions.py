"""Actions: every way in which an analysis changes.

An action is a function `(analysis, values, job) -> analysis` with plain values. Slow
ones run on a thread and report to the job; they take in the analysis as it was when
they began, and `merge` puts what they changed on top of what was done meanwhile.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute._validation import FloatArray
from clusterlens.compute.ensemble.ensemble import Ensemble, distinct_partitions
from clusterlens.compute.ensemble.importing import load_partitions
from clusterlens.compute.fuzzy.importing import load_memberships
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.pool.specs import POOLS, plan_pool
from clusterlens.compute.ranking.ranking import SCORES
from clusterlens.compute.ranking.voting import VoteBy, vote_weights
from clusterlens.compute.table.dataset import Dataset, prepare, take_rows
from clusterlens.compute.table.examples import load_example
from clusterlens.compute.table.reading import load_table, table_parts
from clusterlens.ui import warm
from clusterlens.ui.analysis import Analysis, Link, Run, SoftTable
from clusterlens.ui.forming import Forming
from clusterlens.ui.jobs import WORKERS
from clusterlens.ui.links import (
    KINDS,
    OTHER,
    TITLES,
    PlainId,
    find_link,
    has_row,
    links_from_text,
    named_alike,
    plain_ids,
    refuse_contradiction,
    rows_without,
    shown_rows,
    with_link,
)
from clusterlens.ui.partitions import chosen_labels, named
from clusterlens.ui.results import RESULTS, content_key

Values = Mapping[str, Any]
NOTE_LENGTH = 2000
KEPT_FAMILIES = {"consensus": "consensus", "group": "group", "labels": "given labels"}


@dataclass(frozen=True)
class Action:
    """A way in which an analysis changes.

    Parameters
    ----------
    title : str
        What is done, for the timeline and while it is under way.
    apply : callable
        `(analysis, values, job) -> analysis`; raises ValueError where it cannot.
    slow : bool, default False
        Whether it takes longer than a blink and so runs on a thread.
    of_run : bool, default False
        Whether it is about the run that is read, and so waits until that is finished.
    """

    title: str
    apply: Callable[[Analysis, Values, Any], Analysis]
    slow: bool = False
    of_run: bool = False


def load_file(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Read an uploaded file, kept by the session under its SHA-256.

    "part" chooses one of several sheets or arrays; without one it is the usual one, or
    the first.
    """
    content, name = job.files[values["sha256"]], values["name"]
    job.enter(f"Read {name}, {len(content) / 1e6:,.0f} MB")
    parts = table_parts(content)
    part = values.get("part") or parts.usual or next(iter(parts.names), None)
    chosen = {} if part is None else {parts.option: part}
    found = _begin(load_table(content, name=name, **chosen), job)
    return replace(found, part=tuple(*chosen.items()), parts=parts.names)


def load_bundled(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Load one of the examples."""
    return _begin(load_example(values["name"]), job)


def _begin(table: Dataset, job: Any) -> Analysis:
    """Begin an analysis of a table, prepared by the default rules where they do."""
    job.enter("Preparing the table")
    try:
        dataset = prepare(table)
    except ValueError as error:
        job.notify("warning", f"The table was read but not prepared: {error}")
        return Analysis(table=table)
    return Analysis(table=table, dataset=dataset)


def prepare_table(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Turn the table into numbers; values are the roles and rules that change."""
    if analysis.table is None:
        raise ValueError("no table is loaded; load one on the Data page.")
    given = {**analysis.preparation, **values}
    roles = {**analysis.preparation.get("roles", {}), **values.get("roles", {})}
    guessed = analysis.table.roles
    given["roles"] = {
        name: role for name, role in roles.items() if role != guessed.get(name)
    }
    for rule in ("transforms", "weights"):
        given |= _of_columns(analysis.preparation, values, rule)
    dataset = prepare(analysis.table, **given)
    links = _renamed(analysis.links, rows_of(analysis), dataset.table.index)
    renamed = replace(analysis, links=links)
    _tell_of_links(renamed, dataset, job)
    return replace(renamed, preparation=given, dataset=dataset, cns=None)


def rows_of(analysis: Analysis) -> pd.Index:
    """Row ids of all rows of the table, as the column of row ids names them now."""
    named = analysis.dataset or analysis.table
    if named is None:
        raise ValueError("no table is loaded; load one on the Data page.")
    return named.table.index


def _renamed(
    links: tuple[Link, ...], before: pd.Index, after: pd.Index
) -> tuple[Link, ...]:
    """Let links follow their rows to other row ids, those of another column."""
    if not links or before.equals(after):
        return links
    new = dict(zip(plain_ids(before), plain_ids(after), strict=True))
    return tuple(replace(k, a=new.get(k.a, k.a), b=new.get(k.b, k.b)) for k in links)


def _tell_of_links(analysis: Analysis, dataset: Dataset, job: Any) -> None:
    """Name the linked rows that a preparation leaves out."""
    if analysis.links:
        places = {row: k for k, row in enumerate(plain_ids(dataset.row_ids))}
        gone = rows_without(analysis.links, places)
        if gone:
            job.notify(
                "warning",
                f"This preparation leaves out rows with links: {shown_rows(gone)}. "
                "Their links are kept and count again once the rows are back.",
            )


def _of_columns(before: Values, values: Values, rule: str) -> dict[str, Any]:
    """What a rule is for single columns; None or another role takes it away."""
    kept = {**before.get(rule, {}), **values.get(rule, {})}
    other = set(values.get("roles", {})) - set(values.get(rule, {}))
    kept = {k: v for k, v in kept.items() if v is not None and k not in other}
    return {rule: kept} if kept or rule in before else {}


def fit_pool(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Fit a pool of clusterings to the prepared table and read the new run."""
    dataset, pool = analysis.dataset, list(values["pool"])
    if dataset is None:
        raise ValueError("no table is prepared; load one on the Data page.")
    seed, number = values.get("random_state", 0), analysis.runs_made + 1
    forming = Forming(number, dataset, tuple(pool), seed, job.tell)
    warm.hold(job)

    def fit() -> tuple[Ensemble, bool]:
        ensemble = run_pool(
            dataset.X,
            pool,
            random_state=seed,
            progress=job.report,
            cancel=job.cancelled,
            stop=job.kept,
            on_plan=forming.planned,
            on_start=forming.started,
            on_model=forming.ended,
            workers=WORKERS,
        )
        return ensemble, not job.kept()

    ensemble = RESULTS.get(content_key(dataset.X, pool, seed), fit, job.cancelled)
    stopped_of = forming.n_asked if forming.is_unfinished and job.kept() else 0
    if stopped_of:
        pool = _repeatable(pool, ensemble, dataset.X, seed)
    if values.get("distinct_only", False):
        ensemble = ensemble.select(distinct_partitions(ensemble)[0])
    run = Run(
        f"r{number}",
        f"run {number}",
        dataset,
        tuple(pool),
        seed,
        ensemble,
        stopped_of=stopped_of,
    )
    return replace(analysis, runs_made=number).with_run(run)


def _repeatable(
    pool: list[Any], ensemble: Ensemble, X: FloatArray, random_state: int
) -> list[Any]:
    """Return the pool that gives what a run had when it was stopped, so far as it can.

    That of the models it kept, one entry each, so that doing it again does not fit the
    others; the pool as asked where copies of one model would be numbered anew.
    """
    kept = [dict(spec) for spec in ensemble.specs]
    names = [model.name for model in plan_pool(kept, X, random_state).models]
    return kept if names == list(ensemble.names) else pool


def add_smoothing(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Add a model of CNS, with its memberships, to a copy of the run that is read."""
    entry = {"clusterer": "CNS", "metric": "euclidean", **values}
    return add_models(analysis, {"pool": [entry]}, job)


def add_models(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Add models to a copy of the run that is read."""
    run, entries = analysis.run, list(values["pool"])
    if run is None or run.dataset is not analysis.dataset:
        raise ValueError(
            "the run that is read is not of this prepared table; run a pool first."
        )
    added = _fitted(run.dataset.X, entries, run.random_state, job)
    number = analysis.runs_made + 1
    n_more = len(plan_pool(entries, run.dataset.X, run.random_state).models)
    copy = replace(
        run,
        id=f"r{number}",
        name=f"run {number}",
        pool=(*run.pool, *entries),
        stopped_of=run.stopped_of + n_more if run.stopped_of else 0,
        ensemble=_weighed(_joined(run.ensemble, added), run.votes, job),
    )
    return replace(analysis, runs_made=number).with_run(copy)


def cluster_rows(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Prepare some rows of the run anew and fit its pool to them, as a new run."""
    run = analysis.run
    if run is None:
        raise ValueError("there is no run whose rows could be clustered again.")
    wanted = set(values["rows"])
    ids = plain_ids(np.asarray(run.dataset.row_ids))
    part = take_rows(run.dataset, [k for k, row in enumerate(ids) if row in wanted])
    pool = list(run.pool or POOLS["quick"])
    ensemble = _fitted(part.X, pool, run.random_state, job)
    number = analysis.runs_made + 1
    name = f"{run.name}: {values['name']}"
    made = Run(f"r{number}", name, part, tuple(pool), run.random_state, ensemble)
    return replace(analysis, runs_made=number).with_run(made)


def _fitted(X: FloatArray, pool: list[Any], random_state: int, job: Any) -> Ensemble:
    """Fit a pool whose models are not shown before all are there."""
    warm.hold(job)
    return run_pool(
        X,
        pool,
        random_state=random_state,
        progress=job.report,
        cancel=job.cancelled,
        workers=WORKERS,
    )


def keep_partition(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Put a partition among the models of a copy of the run, without a vote.

    It is made of what the models say, or of what the analyst thinks, so that a vote
    would count that twice.
    """
    run = analysis.run
    choice, labels = chosen_labels(analysis, values["partition"], **job.kernels)
    if run is None or choice.kind == "model":
        raise ValueError("this partition is a model already; choose another one.")
    name = str(values["name"]).strip()
    if not name or name in run.ensemble.names:
        raise ValueError(
            f"the name {name!r} is empty or taken; give the partition one of its own."
        )
    spec = {"clusterer": choice.kind, **choice.values(run.dataset)}
    spec.pop("rows", None)
    kept = Ensemble([labels], [name], [KEPT_FAMILIES[choice.kind]], specs=[spec])
    number = analysis.runs_made + 1
    copy = replace(
        run,
        id=f"r{number}",
        name=f"{run.name} + {name}",
        ensemble=_joined(run.ensemble, kept, votes=False),
        kept=(*run.kept, values),
    )
    return replace(analysis, runs_made=number).with_run(copy)


def import_partitions(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Read partitions made elsewhere as a new run, or with the models of this one."""
    dataset, run = analysis.dataset, analysis.run
    if dataset is None:
        raise ValueError("no table is prepared; load one on the Data page.")
    content = io.BytesIO(job.files[values["sha256"]])
    content.name = values["name"]
    found = load_partitions(content, dataset.table.index)
    for note in found.notes:
        job.notify("info", note)
    if len(dataset.row_ids) < found.n_samples:
        at = dataset.table.index.get_indexer(pd.Index(dataset.row_ids))
        found = found.take_samples(at)
    mixed = bool(values["mixed"]) and run is not None and run.dataset is dataset
    base = run if mixed else None
    number = analysis.runs_made + 1
    made = Run(
        f"r{number}",
        f"{base.name} + {values['name']}" if base else str(values["name"]),
        dataset,
        base.pool if base else (),
        base.random_state if base else 0,
        _weighed(_joined(base.ensemble, found), base.votes, job) if base else found,
        (*(base.kept if base else ()), {**values, "models": found.n_partitions}),
        votes=base.votes if base else "models",
    )
    runs = (*analysis.runs, made)
    return _read(replace(analysis, runs=runs, runs_made=number), made.id)


def name_cluster(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Name a cluster of a partition; an empty name takes its name away."""
    _, labels = chosen_labels(analysis, values["partition"], **job.kernels)
    run = analysis.run
    rows = np.flatnonzero(labels == values["cluster"])
    if run is None or not len(rows):
        raise ValueError(f"there is no cluster {values['cluster']} to name.")
    text = " ".join(str(values["name"]).split())
    ids = plain_ids(np.asarray(run.dataset.row_ids)[rows])
    return replace(analysis, cluster_names=named(analysis.cluster_names, text, ids))


def add_memberships(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Take in uploaded memberships of the samples; another upload replaces its name."""
    samples = analysis.samples or analysis.dataset
    if samples is None:
        raise ValueError("no table is prepared; load one on the Data page.")
    rows = load_memberships(
        io.BytesIO(job.files[values["sha256"]]),
        samples.row_ids,
        name=values["name"],
        normalize=values.get("normalize", False),
    )
    table = SoftTable(values["name"], samples.row_ids, rows)
    others = (one for one in analysis.memberships if one.name != table.name)
    return replace(analysis, memberships=(*others, table))


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


def set_smoothing(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Choose neighbours, alpha and K of CNS, or leave them to be automatic."""
    if not values:
        return replace(analysis, cns=None)
    chosen = tuple(values[name] for name in ("n_neighbors", "alpha", "n_clusters"))
    return replace(analysis, cns=chosen)


def weigh_models(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Give models, families or hubs of the run equal votes."""
    run = analysis.run
    if run is None:
        raise ValueError("there is no run whose models could vote; run a pool first.")
    ensemble = _weighed(run.ensemble, values["by"], job)
    weighed = replace(run, ensemble=ensemble, votes=values["by"])
    runs = tuple(weighed if one is run else one for one in analysis.runs)
    return replace(analysis, runs=runs, threshold=None)


def _weighed(ensemble: Ensemble, by: VoteBy, job: Any) -> Ensemble:
    """Give models, families or hubs equal votes; whoever has none keeps none."""
    return ensemble.with_weights(vote_weights(ensemble, by, **job.kernels))


def _joined(first: Ensemble, second: Ensemble, *, votes: bool = True) -> Ensemble:
    """The partitions of both, in order; those of the second may have no votes."""
    shift, both = first.n_partitions, (first, second)
    soft = {shift + t: rows for t, rows in second.memberships.items()}
    seen = [[part.seen_by(t) for t in range(part.n_partitions)] for part in both]
    return Ensemble(
        np.vstack([first.labels, second.labels]),
        (*first.names, *second.names),
        (*first.families, *second.families),
        first.noise,
        specs=(*first.specs, *second.specs),
        seconds=np.concatenate([first.seconds, second.seconds]),
        notes=(*first.notes, *second.notes),
        memberships={**first.memberships, **soft},
        weights=np.concatenate([first.weights, second.weights * votes]),
        missing=~np.vstack(seen),
    )


def read_run(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Read another run, at the mean rule."""
    return _read(analysis, _known(analysis, values["id"]).id)


def rename_run(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Give a run another name."""
    name = str(values["name"]).strip()
    if not name:
        raise ValueError("the name of a run is empty; give it at least one letter.")
    renamed = replace(_known(analysis, values["id"]), name=name)
    runs = tuple(renamed if run.id == renamed.id else run for run in analysis.runs)
    return replace(analysis, runs=runs)


def delete_run(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Take a run out of the analysis; undo brings it back."""
    gone = _known(analysis, values["id"])
    left = tuple(run for run in analysis.runs if run.id != gone.id)
    rest = replace(analysis, runs=left)
    if analysis.run_id != gone.id:
        return rest
    return _read(rest, left[-1].id if left else None)


def _known(analysis: Analysis, run_id: str) -> Run:
    for run in analysis.runs:
        if run.id == run_id:
            return run
    raise ValueError(f"run {run_id!r} is not in this analysis; choose one that is.")


def _read(analysis: Analysis, run_id: str | None) -> Analysis:
    return replace(analysis, run_id=run_id, threshold=None)


def set_score(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Rank by another score."""
    if values["score"] not in SCORES:
        raise ValueError(f"score {values['score']!r} is none of {', '.join(SCORES)}.")
    return replace(analysis, score=values["score"])


def set_threshold(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Ask for another number of agreeing models; None is the mean rule."""
    threshold, ensemble = values["threshold"], analysis.ensemble
    if ensemble is None:
        raise ValueError("there is no run to set a threshold of; run a pool first.")
    if threshold is not None and not 0 <= threshold <= ensemble.n_votes + 1:
        raise ValueError(
            f"threshold is {threshold}; give a number of votes from 0 to "
            f"{ensemble.n_votes + 1}."
        )
    return replace(analysis, threshold=threshold)


def count_fully(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Count the agreements of the run exactly, whatever it costs."""
    if analysis.run is None:
        raise ValueError("there is no run to count; run a pool first.")
    return replace(analysis, counted_fully=analysis.counted_fully | {analysis.run.id})


def add_link(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Link two rows; a link of the other kind between them is replaced."""
    kind, a, b = (values[name] for name in ("kind", "a", "b"))
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r} is neither 'must' nor 'cannot'.")
    _check_rows(analysis, [a, b])
    if a == b:
        raise ValueError(f"row {a} is given twice; link two different rows.")
    at = find_link(analysis.links, a, b)
    if at is not None and analysis.links[at].kind == kind:
        raise ValueError(f"the rows {a} and {b} have that {TITLES[kind]} already.")
    return _linked(analysis, with_link(analysis.links, Link(kind, a, b)))


def join_rows(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Say that rows are of one class: must-links from each to the next span them."""
    rows = list(dict.fromkeys(values["rows"]))
    if len(rows) < 2:
        raise ValueError("fewer than two rows are given; select at least two.")
    _check_rows(analysis, rows)
    new = [Link("must", a, b) for a, b in pairwise(rows)]
    return _with_links(analysis, new)


def _check_rows(analysis: Analysis, rows: Sequence[PlainId]) -> None:
    """Refuse rows that the table does not have, and those of a run named otherwise."""
    index, samples, dataset = rows_of(analysis), analysis.samples, analysis.dataset
    if samples and dataset and not named_alike(samples, dataset):
        raise ValueError(
            "the run that is read names its rows by another column than the table does "
            "now; run the pool again, or choose its column of row ids on Data."
        )
    unknown = [row for row in rows if not has_row(index, row)]
    if unknown:
        raise ValueError(f"there is no row {unknown[0]!r}; name rows by their ids.")


def import_links(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Take the links of a file in; those between the same rows are replaced."""
    new = links_from_text(values["text"], rows_of(analysis))
    if not new:
        raise ValueError("the file holds no link.")
    return _with_links(analysis, new)


def _with_links(analysis: Analysis, new: Sequence[Link]) -> Analysis:
    """Add links; of those between the same two rows the latest one holds."""
    pairs = {frozenset((link.a, link.b)): link for link in (*analysis.links, *new)}
    if any(len(pair) < 2 for pair in pairs):
        raise ValueError("a row is linked with itself; link two different rows.")
    return _linked(analysis, tuple(pairs.values()))


def remove_link(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Take the link between two rows away."""
    at = _linked_at(analysis, values)
    return replace(analysis, links=analysis.links[:at] + analysis.links[at + 1 :])


def swap_link(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Turn a must-link into a cannot-link, or back."""
    link = analysis.links[_linked_at(analysis, values)]
    swapped = replace(link, kind=OTHER[link.kind])
    return _linked(analysis, with_link(analysis.links, swapped))


def _linked_at(analysis: Analysis, values: Values) -> int:
    at = find_link(analysis.links, values["a"], values["b"])
    if at is None:
        raise ValueError(
            f"the rows {values['a']} and {values['b']} are not linked; choose a link "
            "that is listed."
        )
    return at


def _linked(analysis: Analysis, links: tuple[Link, ...]) -> Analysis:
    refuse_contradiction(links)
    return replace(analysis, links=links)


def set_link_weight(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Charge another amount for breaking all links."""
    weight = values["weight"]
    known = isinstance(weight, (int, float)) and not isinstance(weight, bool)
    if not known or not 0 <= weight < math.inf:
        raise ValueError(f"the weight of the links is {weight!r}; give 0 or more.")
    return replace(analysis, link_weight=float(weight))


def write_note(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Put a note of the analyst into the report, or take it out."""
    text = str(values["text"]).strip()
    if len(text) > NOTE_LENGTH:
        raise ValueError(
            f"the note has {len(text):,} characters; {NOTE_LENGTH:,} are kept, shorten "
            "it."
        )
    return replace(analysis, note=text)


ACTIONS = {
    "load file": Action("Read the file", load_file, slow=True),
    "load example": Action("Load the example", load_bundled, slow=True),
    "prepare": Action("Prepare the table", prepare_table, slow=True),
    "run pool": Action("Run the pool", fit_pool, slow=True),
    "add CNS": Action("Add CNS to the pool", add_smoothing, slow=True),
    "keep partition": Action("Keep the partition", keep_partition, slow=True),
    "import partitions": Action("Read the partitions", import_partitions, slow=True),
    "name cluster": Action("Name the cluster", name_cluster, slow=True),
    "cluster rows": Action("Cluster some rows again", cluster_rows, slow=True),
    "add models": Action("Add models to the pool", add_models, slow=True),
    "add memberships": Action("Read the memberships", add_memberships, slow=True),
    "save pair": Action("Save the pair", save_pair),
    "drop pair": Action("Forget the pair", drop_pair),
    "set CNS": Action("Set CNS", set_smoothing),
    "read run": Action("Read another run", read_run),
    "rename run": Action("Rename the run", rename_run),
    "delete run": Action("Delete the run", delete_run),
    "set score": Action("Set the score", set_score),
    "set threshold": Action("Set the agreement needed", set_threshold, of_run=True),
    "weigh models": Action(
        "Set what has equal votes", weigh_models, slow=True, of_run=True
    ),
    "count fully": Action("Count all pairs", count_fully, of_run=True),
    "add link": Action("Link two rows", add_link),
    "join rows": Action("Must-link the selection", join_rows),
    "import links": Action("Import links", import_links, slow=True),
    "remove link": Action("Remove the link", remove_link),
    "swap link": Action("Swap the link", swap_link),
    "write note": Action("Write a note", write_note),
    "set link weight": Action("Set the weight of the links", set_link_weight),
}


def merge(base: Analysis, result: Analysis, current: Analysis) -> Analysis:
    """Put what an action changed between base and result on top of current.

    Quick actions and undo may have happened while a slow one was under way; a new
    table replaces everything, a new run joins the runs there are.

    Raises
    ------
    ValueError
        If the table is another one by now.
    """
    if current is base or result.table is not base.table:
        return result
    if current.table is not base.table:
        raise ValueError("another table was put in force meanwhile; do it again.")
    changed = {
        field.name: getattr(result, field.name)
        for field in fields(Analysis)
        if getattr(result, field.name) is not getattr(base, field.name)
    }
    if "run_id" in changed:
        changed["threshold"] = result.threshold
    if "runs" in changed:
        new = {run.id: run for run in result.runs if run not in base.runs}
        old = {run.id: run for run in base.runs}
        stayed = tuple(
            _with_changes(run, old[run.id], new[run.id])
            if run.id in new and run.id in old
            else new.get(run.id, run)
            for run in current.runs
        )
        known = {run.id for run in (*base.runs, *current.runs)}
        changed["runs"] = (*stayed, *(r for k, r in new.items() if k not in known))
    return replace(current, **changed)


def _with_changes(current: Run, base: Run, result: Run) -> Run:
    """Put what became of a run between base and result on top of what it is now."""
    return replace(
        current,
        **{
            field.name: value
            for field in fields(Run)
            if (value := getattr(result, field.name)) is not getattr(base, field.name)
        },
    )
