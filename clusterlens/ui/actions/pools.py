"""Actions that fit models: a pool, more models, some rows once more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clusterlens.compute._validation import FloatArray
from clusterlens.compute.ensemble.ensemble import Ensemble, distinct_partitions
from clusterlens.compute.estimators.cns.graph import CNSGraph
from clusterlens.compute.pool.pool import PoolEstimate, run_pool
from clusterlens.compute.pool.specs import POOLS, plan_pool
from clusterlens.compute.table.dataset import take_rows
from clusterlens.ui.actions.action import Action, Values
from clusterlens.ui.actions.lines import Lines, call, new_run
from clusterlens.ui.actions.runs import joined, say_joined, weighed
from clusterlens.ui.state.analysis import Analysis, Run
from clusterlens.ui.state.forming import Forming
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.links import (
    plain_ids,
)
from clusterlens.ui.state.literals import literal
from clusterlens.ui.state.shapes import POOL, ROW_IDS, SEED, TEXT, flag, plain, record
from clusterlens.ui.work.jobs import WORKERS
from clusterlens.ui.work.results import RESULTS, content_key

# A consensus is that of several.
LEAST_COMPARED = 2


def fit_pool(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Fit a pool of clusterings to the prepared table and read the new run."""
    dataset, pool = analysis.dataset, list(values["pool"])
    if dataset is None:
        raise ValueError("no table is prepared; load one on the Data page.")
    seed, number = values.get("random_state", 0), analysis.runs_made + 1
    forming = Forming(number, dataset, tuple(pool), seed, job.tell)

    def planned(estimate: PoolEstimate) -> None:
        if len(estimate.names) < LEAST_COMPARED:
            raise ValueError(
                "the pool has one model, and nothing for it to agree with; add another "
                "clusterer, or more values, on the Pool page."
            )
        forming.planned(estimate)

    def fit() -> tuple[Ensemble, bool]:
        ensemble = run_pool(
            dataset.X,
            pool,
            random_state=seed,
            progress=job.report,
            cancel=job.cancelled,
            stop=lambda: job.kept() and forming.n_usable >= LEAST_COMPARED,
            on_plan=planned,
            on_start=forming.started,
            on_model=forming.ended,
            workers=WORKERS,
        )
        # A worker that died, or memory that was short, is of this run alone.
        return ensemble, not (job.kept() or forming.has_failed)

    ensemble = RESULTS.get(content_key(dataset.X, pool, seed), fit, job.cancelled)
    stopped_of = forming.n_asked if forming.is_unfinished and job.kept() else 0
    if stopped_of:
        pool = _repeatable(pool, ensemble, dataset.X, seed)
    if values.get("distinct_only", False):
        ensemble = ensemble.select(distinct_partitions(ensemble)[0])
    if ensemble.n_partitions < LEAST_COMPARED:
        raise ValueError(
            f"only {ensemble.names[0]} came of the pool, and nothing for it to agree "
            f"with; change the pool. {' '.join(ensemble.notes[:3])}"
        )
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


def _say_pool(lines: Lines, step: Step, before: Analysis) -> None:
    run = new_run(step, before)
    dataset = lines.prepared(run.dataset.settings)
    lines.begin(run, dataset, _fitting(lines, dataset, run.pool, run.random_state))
    # A pool that is run again may give models that the run left out.
    if step.values.get("distinct_only") or run.stopped_of or run.ensemble.notes:
        ensemble = lines.ensemble(run.id)
        models = lines.constant("MODELS", list(run.ensemble.names))
        at = f"[{ensemble}.names.index(name) for name in {models}]"
        lines.say(ensemble, f"{ensemble}.select({at})")


def _fitting(lines: Lines, dataset: str, pool: Sequence[Any], seed: int) -> str:
    """Write the call that fits a pool to a prepared table."""
    entries = lines.constant("POOL", [dict(entry) for entry in pool])
    return call("cl.run_pool", dataset, entries, f"random_state={literal(seed)}")


def add_smoothing(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Add a model of CNS, with its memberships, to a copy of the run that is read.

    With `max_neighbors` it is what the page shows, a solution of `CNSGraph`: `CNS` may
    take another one of the seeds that tie.
    """
    entry = {"clusterer": "CNS", "metric": "euclidean", **values}
    most = entry.pop("max_neighbors", None)
    if most is None:
        return add_models(analysis, {"pool": [entry]}, job)
    run = _run_of_table(analysis)
    X = run.dataset.X
    graph = CNSGraph(
        X, most, entry["metric"], progress=job.report, cancel=job.cancelled
    )
    size = entry["n_neighbors"]
    graph.fill(size, progress=job.report, cancel=job.cancelled)
    solution = graph.solve(size, entry["alpha"], entry["n_clusters"])
    (model,) = plan_pool([entry], X, run.random_state).models
    added = Ensemble(
        [solution.labels],
        [model.name],
        [model.family],
        specs=[{**model.spec, "max_neighbors": most}],
        memberships={0: solution.memberships},
    )
    return _with_more(analysis, run, [entry], added, job)


def _say_smoothing(lines: Lines, step: Step, before: Analysis) -> None:
    run = new_run(step, before)
    spec = run.ensemble.specs[-1] if run.ensemble.specs else {}
    if "max_neighbors" not in spec:
        _say_models(lines, step, before)
        return
    base, solution = lines.base(run, before), lines.name("solution", run.id)
    lines.say(solution, solution_in_python(spec, lines.dataset(base.id)))
    more = call(
        "cl.Ensemble",
        f"[{solution}.labels]",
        f"[{literal(run.ensemble.names[-1])}]",
        f"[{literal(run.ensemble.families[-1])}]",
        f"memberships={{0: {solution}.memberships}}",
    )
    say_joined(lines, run, base, more)


def solution_in_python(spec: Mapping[str, Any], dataset: str) -> str:
    """Write the solution of `CNSGraph` that a model is, from its `max_neighbors` on."""
    most, metric, size, alpha, n_clusters = (
        literal(spec[name])
        for name in ("max_neighbors", "metric", "n_neighbors", "alpha", "n_clusters")
    )
    graph = f"cl.CNSGraph({dataset}.X, {most}, {metric})"
    return f"{graph}.fill({size}).solve({size}, {alpha}, {n_clusters})"


def add_models(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Add models to a copy of the run that is read."""
    run, entries = _run_of_table(analysis), list(values["pool"])
    added = _fitted(run.dataset.X, entries, run.random_state, job)
    return _with_more(analysis, run, entries, added, job)


def _run_of_table(analysis: Analysis) -> Run:
    """Return the run that is read, if it is of the prepared table."""
    run = analysis.run
    if run is None or run.dataset is not analysis.dataset:
        raise ValueError(
            "the run that is read is not of this prepared table; run a pool first."
        )
    return run


def _with_more(
    analysis: Analysis, run: Run, entries: list[Any], added: Ensemble, job: Any
) -> Analysis:
    """Put models, and the entries that ask for them, into a copy of a run."""
    number = analysis.runs_made + 1
    n_more = len(plan_pool(entries, run.dataset.X, run.random_state).models)
    copy = replace(
        run,
        id=f"r{number}",
        name=f"run {number}",
        pool=(*run.pool, *entries),
        stopped_of=run.stopped_of + n_more if run.stopped_of else 0,
        ensemble=weighed(joined(run.ensemble, added), run.votes, job),
    )
    return replace(analysis, runs_made=number).with_run(copy)


def _say_models(lines: Lines, step: Step, before: Analysis) -> None:
    run = new_run(step, before)
    base = lines.base(run, before)
    dataset, entries = lines.dataset(base.id), run.pool[len(base.pool) :]
    more = _fitting(lines, dataset, entries, run.random_state)
    say_joined(lines, run, base, more)


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


def _say_rows(lines: Lines, step: Step, before: Analysis) -> None:
    run, given = new_run(step, before), step.values["rows"]
    whole = lines.prepared(run.dataset.settings)
    dataset = lines.name("dataset", ("rows of", run.id))
    rows = lines.constant("ROWS", set(given), "  # row ids")
    row = "row" if all(isinstance(one, int) for one in given) else "str(row)"
    mask = f"[{row} in {rows} for row in {whole}.row_ids]"
    lines.say(dataset, call("cl.take_rows", whole, mask))
    lines.begin(run, dataset, _fitting(lines, dataset, run.pool, run.random_state))


def _fitted(X: FloatArray, pool: list[Any], random_state: int, job: Any) -> Ensemble:
    """Fit a pool whose models are not shown before all are there."""
    return run_pool(
        X,
        pool,
        random_state=random_state,
        progress=job.report,
        cancel=job.cancelled,
        workers=WORKERS,
    )


ACTIONS = {
    "run pool": Action(
        "Run the pool",
        fit_pool,
        record({"pool": POOL}, {"random_state": SEED, "distinct_only": flag}),
        slow=True,
        python=_say_pool,
    ),
    "add CNS": Action(
        "Add CNS to the pool",
        add_smoothing,
        record(others=plain),
        slow=True,
        python=_say_smoothing,
    ),
    "add models": Action(
        "Add models to the pool",
        add_models,
        record({"pool": POOL}),
        slow=True,
        python=_say_models,
    ),
    "cluster rows": Action(
        "Cluster some rows again",
        cluster_rows,
        record({"rows": ROW_IDS, "name": TEXT}),
        slow=True,
        python=_say_rows,
    ),
}
