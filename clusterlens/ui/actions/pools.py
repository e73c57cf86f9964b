"""Actions that fit models: a pool, more models, a part of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clusterlens.compute._validation import FloatArray
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble, distinct_partitions
from clusterlens.compute.formatting import count, whole
from clusterlens.compute.pool.answer_models import models_for_answers
from clusterlens.compute.pool.closer import FINER, most_alike
from clusterlens.compute.pool.pool import PoolEstimate, run_pool
from clusterlens.compute.pool.preset_versions import PresetUsed, preset_of, sized_grids
from clusterlens.compute.pool.presets import QUICK
from clusterlens.compute.pool.specs import plan_pool
from clusterlens.compute.ranking.answers import answer_posterior
from clusterlens.compute.table.dataset import take_rows
from clusterlens.ui.actions.action import Action, Values
from clusterlens.ui.actions.lines import Lines, call, new_run
from clusterlens.ui.actions.runs import (
    joined,
    noise_in_python,
    weight_models,
    write_joined,
)
from clusterlens.ui.jobs.shared_results import content_key
from clusterlens.ui.state.analysis import Analysis, Link, Run, new_run_id
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.links import (
    as_constraints,
    links_as_json,
    links_as_lists,
    links_obeyed,
    plain_ids,
    rows_without,
)
from clusterlens.ui.state.literals import literal
from clusterlens.ui.state.partial_run import PartialRunRecorder
from clusterlens.ui.state.shapes import (
    COUNT,
    NOISE_MEANS,
    POOL,
    ROW_IDS,
    SEED,
    TEXT,
    VOTES,
    flag,
    plain,
    record,
    sequence,
)

# A consensus needs several models.
LEAST_COMPARED = 2
# Largest run, in samples, to make models for links.
MOST_OBEYING = 5_000


def fit_pool(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Fit a pool of clusterings to the prepared table and select the new run."""
    dataset, pool = analysis.dataset, list(values["pool"])
    if dataset is None:
        raise ValueError("no table is prepared; load one on the Data page.")
    seed, number = values.get("random_state", 0), analysis.runs_made + 1
    noise = values.get("noise", "cluster")
    recorder = PartialRunRecorder(number, dataset, tuple(pool), seed, job.tell, noise)

    def planned(estimate: PoolEstimate) -> None:
        if len(estimate.names) < LEAST_COMPARED:
            raise ValueError(
                "the pool has one model, and nothing for it to agree with; add another "
                "clusterer, or more values, on the Pool page."
            )
        recorder.planned(estimate)

    def fit() -> tuple[Ensemble, bool]:
        ensemble = run_pool(
            dataset.X,
            pool,
            random_state=seed,
            progress=job.report,
            cancel=job.cancelled,
            stop=lambda: job.kept() and recorder.n_usable >= LEAST_COMPARED,
            on_plan=planned,
            on_start=recorder.started,
            on_model=recorder.ended,
            workers=job.workers,
        )
        # Failures of workers, or of memory, concern this run alone, so it is not
        # shared.
        return ensemble, not (job.kept() or recorder.has_failed)

    key = content_key(dataset.X, pool, seed)
    ensemble = job.server.results.get(key, fit, job.cancelled)
    preset = preset_of(pool, len(dataset.X))
    stopped_of = recorder.n_asked if recorder.is_unfinished and job.kept() else 0
    if stopped_of:
        pool = _repeatable(pool, ensemble, dataset.X, seed)
        preset = preset and PresetUsed(preset.name, preset.version, len(pool))
    if noise != ensemble.noise:
        ensemble = ensemble.replace(noise=noise)
    if values.get("distinct_only", False):
        ensemble = ensemble.select(distinct_partitions(ensemble)[0])
    if ensemble.n_partitions < LEAST_COMPARED:
        raise ValueError(
            f"only {ensemble.names[0]} came of the pool, and nothing for it to agree "
            f"with; change the pool. {' '.join(ensemble.notes[:3])}"
        )
    votes = values.get("votes", "models")
    run = Run(
        new_run_id(),
        f"run {number}",
        dataset,
        tuple(pool),
        seed,
        weight_models(ensemble, votes, job),
        votes=votes,
        stopped_of=stopped_of,
        preset=preset,
    )
    return replace(analysis, runs_made=number).with_run(run)


def _repeatable(
    pool: list[Any], ensemble: Ensemble, X: FloatArray, random_state: int
) -> list[Any]:
    """Return a pool that reproduces a stopped run, as far as possible.

    It has one entry for each kept model, so that repeating it fits no others. If copies
    of a model would be numbered differently, the original pool is returned.
    """
    kept = [dict(spec) for spec in ensemble.specs]
    names = [model.name for model in plan_pool(kept, X, random_state).models]
    return kept if names == list(ensemble.names) else pool


def _write_pool(lines: Lines, step: Step, before: Analysis) -> None:
    run = new_run(step, before)
    dataset = lines.prepared(run.dataset.settings)
    lines.begin(run, dataset, fitting(lines, dataset, run, run.pool))
    # A repeated pool may give models that the run left out.
    if step.values.get("distinct_only") or run.stopped_of or run.ensemble.notes:
        ensemble = lines.ensemble(run.id)
        models = lines.constant("MODELS", list(run.ensemble.names))
        at = f"[{ensemble}.names.index(name) for name in {models}]"
        lines.assign(ensemble, f"{ensemble}.select({at})")
    lines.let_vote(run)


def fitting(lines: Lines, dataset: str, run: Run, pool: Sequence[Any]) -> str:
    """Write the call that fits entries of a run's pool to a prepared table."""
    entries = lines.constant("POOL", [dict(entry) for entry in pool])
    seed = f"random_state={literal(run.random_state)}"
    return call("cl.run_pool", dataset, entries, seed) + noise_in_python(run)


def add_smoothing(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Add a model of CNS, with its memberships, to a copy of the selected run."""
    # A saved step may hold the largest neighbourhood that was offered.
    given = {name: value for name, value in values.items() if name != "max_neighbors"}
    entry = {"clusterer": "CNS", "metric": "euclidean", **given}
    return add_models(analysis, {"pool": [entry]}, job)


def add_models(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Add models to a copy of the selected run."""
    run, entries = _run_of_table(analysis), list(values["pool"])
    added = fitted(run.dataset.X, entries, run, job)
    return _with_more(analysis, run, entries, added, job)


def _run_of_table(analysis: Analysis) -> Run:
    """Return the selected run, if it is of the prepared table."""
    run = analysis.run
    if run is None or run.dataset is not analysis.dataset:
        raise ValueError(
            "the run that is read is not of this prepared table; run a pool first."
        )
    return run


def _with_more(
    analysis: Analysis, run: Run, entries: list[Any], added: Ensemble, job: Any
) -> Analysis:
    """Add models, with their pool entries, to a copy of a run."""
    number = analysis.runs_made + 1
    n_more = len(plan_pool(entries, run.dataset.X, run.random_state).models)
    copy = replace(
        run,
        id=new_run_id(),
        name=f"run {number}",
        pool=(*run.pool, *entries),
        stopped_of=run.stopped_of + n_more if run.stopped_of else 0,
        ensemble=weight_models(joined(run.ensemble, added), run.votes, job),
    )
    return replace(analysis, runs_made=number).with_run(copy)


def _write_models(lines: Lines, step: Step, before: Analysis) -> None:
    run = new_run(step, before)
    base = lines.base(run, before)
    dataset, entries = lines.dataset(base.id), run.pool[len(base.pool) :]
    more = fitting(lines, dataset, run, entries)
    write_joined(lines, run, base, more)


def _answered(analysis: Analysis) -> tuple[Run, Constraints, list[Link]]:
    """Return the selected run and the links between its samples."""
    run = analysis.run
    if run is None:
        raise ValueError("there is no run to add models to; run a pool first.")
    places = {row: k for k, row in enumerate(plain_ids(run.dataset.row_ids))}
    known = as_constraints(analysis.links, places)
    if not known.n_pairs:
        raise ValueError("no link is between samples of this run; answer a pair first.")
    here = [one for one in analysis.links if not rows_without([one], places)]
    return run, known, here


def look_closer(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Add finer settings most like the safest choice to a copy of the run."""
    run, known, _ = _answered(analysis)
    X, kernels = run.dataset.X, job.server.kernels
    finer = sized_grids(FINER, len(X))

    def fit() -> tuple[Ensemble, bool]:
        found = fitted(X, finer, run, job)
        # Failures of workers, or of memory, concern this call alone, so it is not
        # shared.
        return found, not found.notes

    key = content_key(X, finer, run.random_state, f"finer, noise: {run.ensemble.noise}")
    found = job.server.results.get(key, fit, job.cancelled)
    posterior = answer_posterior(
        run.ensemble, known, executor=kernels, cancel=job.cancelled
    )
    closer = most_alike(posterior, found, values["kept"])
    return _with_more(analysis, run, list(closer.specs), closer, job)


def make_for_answers(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Add models made for the links to a copy of the selected run."""
    run, known, here = _answered(analysis)
    if len(run.dataset.row_ids) > MOST_OBEYING:
        raise ValueError(
            f"the run has more than {whole(MOST_OBEYING)} samples, and linkages under "
            "links grow with their square; cluster some of the rows again."
        )
    made = models_for_answers(
        run.ensemble,
        known,
        run.dataset.X,
        values["n_clusters"],
        progress=job.report,
        cancel=job.cancelled,
    )
    number = analysis.runs_made + 1
    how = {"made": "for answers", **values, "models": made.n_made}
    ensemble = weight_models(made.ensemble, run.votes, job)
    copy = replace(
        run,
        id=new_run_id(),
        name=f"{run.name} + {count(made.n_made, 'model')} for answers",
        ensemble=ensemble,
        kept=(*run.kept, {**how, **links_as_lists(here)}),
    )
    return replace(analysis, runs_made=number).with_run(copy)


def _write_answers(lines: Lines, step: Step, before: Analysis) -> None:
    run = new_run(step, before)
    base = lines.base(run, before)
    dataset = lines.dataset(base.id)
    given = literal(links_as_json(links_obeyed(run, before.links)))
    made = call(
        "cl.models_for_answers",
        lines.ensemble(base.id),
        f'cl.constraints_from_json({given}, {dataset}.row_ids, missing="skip")',
        f"{dataset}.X",
        f"n_clusters={literal(list(step.values['n_clusters']))}",
    )
    lines.begin(run, dataset, f"{made}.ensemble")
    lines.let_vote(run)


def cluster_rows(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Prepare some rows of the run again, and fit its pool to them as a new run."""
    run = analysis.run
    if run is None:
        raise ValueError("there is no run whose rows could be clustered again.")
    wanted = set(values["rows"])
    ids = plain_ids(np.asarray(run.dataset.row_ids))
    part = take_rows(run.dataset, [k for k, row in enumerate(ids) if row in wanted])
    pool = list(run.pool or QUICK)
    ensemble = fitted(part.X, pool, run, job)
    number = analysis.runs_made + 1
    name = f"{run.name}: {values['name']}"
    made = Run(
        new_run_id(),
        name,
        part,
        tuple(pool),
        run.random_state,
        weight_models(ensemble, run.votes, job),
        votes=run.votes,
        preset=run.preset if run.pool else preset_of(pool, len(part.X)),
    )
    return replace(analysis, runs_made=number).with_run(made)


def _write_rows(lines: Lines, step: Step, before: Analysis) -> None:
    run, given = new_run(step, before), step.values["rows"]
    whole = lines.prepared(run.dataset.settings)
    dataset = lines.name("dataset", ("rows of", run.id))
    rows = lines.constant("ROWS", set(given), "  # row ids")
    row = "row" if all(isinstance(one, int) for one in given) else "str(row)"
    mask = f"[{row} in {rows} for row in {whole}.row_ids]"
    lines.assign(dataset, call("cl.take_rows", whole, mask))
    lines.begin(run, dataset, fitting(lines, dataset, run, run.pool))
    lines.let_vote(run)


def fitted(X: FloatArray, pool: list[Any], run: Run, job: Any) -> Ensemble:
    """Fit a pool with the settings of a run, without partial results."""
    ensemble = run_pool(
        X,
        pool,
        random_state=run.random_state,
        progress=job.report,
        cancel=job.cancelled,
        workers=job.workers,
    )
    return ensemble.replace(noise=run.ensemble.noise)


ACTIONS = {
    "run pool": Action(
        "Run the pool",
        fit_pool,
        record(
            {"pool": POOL},
            {
                "random_state": SEED,
                "distinct_only": flag,
                "noise": NOISE_MEANS,
                "votes": VOTES,
            },
        ),
        slow=True,
        python=_write_pool,
    ),
    "add CNS": Action(
        "Add CNS to the pool",
        add_smoothing,
        record(others=plain),
        slow=True,
        of_run=True,
        python=_write_models,
    ),
    "add models": Action(
        "Add models to the pool",
        add_models,
        record({"pool": POOL}),
        slow=True,
        of_run=True,
        python=_write_models,
    ),
    "look closer": Action(
        "Look closer at the safest choice",
        look_closer,
        record({"kept": COUNT}),
        slow=True,
        of_run=True,
        python=_write_models,
    ),
    "make for answers": Action(
        "Make models for the answers",
        make_for_answers,
        record({"n_clusters": sequence(COUNT)}),
        slow=True,
        of_run=True,
        python=_write_answers,
    ),
    "cluster rows": Action(
        "Cluster some rows again",
        cluster_rows,
        record({"rows": ROW_IDS, "name": TEXT}),
        slow=True,
        of_run=True,
        python=_write_rows,
    ),
}
