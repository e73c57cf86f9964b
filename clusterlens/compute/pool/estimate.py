"""estimate_pool: predict the cost of a pool, before it runs and while it does.

Seconds come from the cost laws of the clusterers and of the steps that models share,
corrected by measurements on this machine (`paces`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._run.processes import Workers, check_workers
from clusterlens.compute._validation import FloatArray, Frozen, RandomState
from clusterlens.compute.notes import Note
from clusterlens.compute.pool._fitting import Fit, FitJob, Job, StepJob
from clusterlens.compute.pool._jobs import (
    JOB_SECONDS,
    START_SECONDS,
    WORKER_BYTES,
    in_which_workers,
    pool_jobs,
    wall_seconds,
)
from clusterlens.compute.pool.paces import FIRST_CALL_SECONDS, Paces, known_paces
from clusterlens.compute.pool.sharing import merge_steps
from clusterlens.compute.pool.specs import Model, Plan, Pool, plan_pool

# Limit of the bytes of models fitted at the same time.
MEMORY_LIMIT = 4e9


@dataclass(frozen=True)
class PlannedStep:
    """A step that several models of a pool share.

    Parameters
    ----------
    title : str
        Name of the step.
    models : tuple of str
        Names of the models that it serves.
    seconds, n_bytes : float
        Predicted cost.
    note : str
        Differences from the models fitted alone, with reasons; usually empty.
    """

    title: str
    models: tuple[str, ...]
    seconds: float
    n_bytes: float
    note: str


@dataclass(frozen=True, eq=False)
class PoolEstimate(Frozen):
    """Predicted cost of a pool, from the cost laws of its clusterers.

    Parameters
    ----------
    seconds : float
        Wall time of the whole pool.
    n_bytes : float
        Peak memory of the fits and their processes, above that of this process.
    names, families : tuple of str
        One per model.
    model_seconds : array of float, shape (n_models,)
        Fit time of each model, with its part of shared steps; NaN if its clusterer has
        no cost law.
    notes : tuple of str
        Models that would be left out or refused, with reasons.
    plan : tuple of PlannedStep
        Shared steps, in the order of execution.
    """

    seconds: float
    n_bytes: float
    names: tuple[str, ...]
    families: tuple[str, ...]
    model_seconds: FloatArray
    notes: tuple[str, ...]
    plan: tuple[PlannedStep, ...] = ()

    @property
    def family_seconds(self) -> dict[str, float]:
        """Fit time of each family, unknown times not counted."""
        known = np.nan_to_num(self.model_seconds)
        return {
            family: float(sum(known[np.array(self.families) == family]))
            for family in dict.fromkeys(self.families)
        }

    def seconds_left(self, ended: Mapping[int, float]) -> float:
        """Estimate the remaining wall time from the models that have ended.

        Parameters
        ----------
        ended : mapping of int to float
            Seconds taken by each finished model, by its position in the pool; NaN if
            its worker died.

        Returns
        -------
        seconds : float
            Wall time, corrected by the ratio of actual and predicted times so far.
        """
        predicted = np.nan_to_num(self.model_seconds)
        places = [at for at, seconds in ended.items() if np.isfinite(seconds)]
        took = sum(ended[at] for at in places)
        total = float(predicted.sum())
        left = total - float(predicted[list(ended)].sum())
        # One short fit is little evidence: the prediction counts as a twentieth of the
        # pool.
        prior = 0.05 * total or 1.0
        pace = (took + prior) / (float(predicted[places].sum()) + prior)
        return self.seconds * pace * left / total if total else 0.0


@takes_running
def estimate_pool(
    X: npt.ArrayLike | tuple[int, int],
    pool: Pool = "default",
    n_jobs: int | None = None,
    *,
    random_state: RandomState = 0,
    memory_limit: float | None = MEMORY_LIMIT,
    workers: Workers | None = None,
) -> PoolEstimate:
    """Estimate time and memory of a pool before running it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or tuple of int
        The data or their shape. With the data, the cost of DBSCAN is known better.
    pool : str or sequence, default "default"
        As for `run_pool`.
    n_jobs : int, optional
        As for `run_pool`.
    random_state : int, default 0
        As for `run_pool`.
    memory_limit : float, default 4e9
        As for `run_pool`.
    workers : Workers, optional
        As for `run_pool`: waiting workers need no time to start.

    Returns
    -------
    estimate : PoolEstimate
        Seconds, within a factor of about two if each worker has a core; the number of
        iterations, and so the time, depends on the data. Each run improves later
        estimates on its machine.

    Examples
    --------
    >>> estimate_pool((1000, 4), "quick").seconds < estimate_pool((9000, 4)).seconds
    True
    >>> pool = [{"clusterer": "agglomerative", "n_clusters": [2, 3]}]
    >>> [(step.title, len(step.models)) for step in estimate_pool((500, 2), pool).plan]
    [('tree of ward linkage (euclidean)', 2)]
    """
    run = RunOptions(n_jobs, memory_limit=memory_limit)
    limit = run.memory_limit or MEMORY_LIMIT
    plan = plan_pool(pool, X, random_state)
    check_workers(workers)
    paces = known_paces()
    jobs, refused = pool_jobs(plan, limit, paces)
    run = replace(run, memory_limit=limit)
    return estimate_plan(plan, jobs, refused, run, paces, workers)


def estimate_plan(
    plan: Plan,
    jobs: Sequence[Job],
    refused: Sequence[tuple[int, Fit]],
    run: RunOptions,
    paces: Paces,
    workers: Workers | None = None,
    must: bool = False,
) -> PoolEstimate:
    """Estimate a plan; with `must`, fits run in worker processes in any case."""
    must = must or workers is not None
    start = START_SECONDS * paces.common
    n_workers = in_which_workers(jobs, run, must, start)
    peaks = sorted((job.n_bytes for job in jobs), reverse=True)
    unknown = int(np.isnan([job.seconds for job in jobs]).sum())
    notes = plan.notes + merge_notes(
        (plan.models[at], "failed", str(fit.error)) for at, fit in refused
    )
    if unknown:
        notes.append(Note("untimed", fits=unknown))
    return PoolEstimate(
        seconds=_wall_seconds(jobs, n_workers, paces.common, workers),
        n_bytes=WORKER_BYTES * n_workers
        + min(sum(peaks[: max(n_workers, 1)]), run.memory_limit or MEMORY_LIMIT),
        names=tuple(model.name for model in plan.models),
        families=tuple(model.family for model in plan.models),
        model_seconds=_model_seconds(plan, jobs),
        notes=tuple(notes + notes_of_steps(jobs)),
        plan=tuple(_planned(plan, jobs)),
    )


def _wall_seconds(
    jobs: Sequence[Job], n_workers: int, pace: float, workers: Workers | None
) -> float:
    """Wall time including the start of workers, first calls and cost of each job."""
    if n_workers == 0:
        return wall_seconds(jobs, n_workers)
    waiting, used = (workers.n_waiting, workers.n_used) if workers else (0, 0)
    before = START_SECONDS if n_workers > waiting else 0.0
    if n_workers > used:
        n_laws = len({job.law for job in jobs})
        before += FIRST_CALL_SECONDS * min(n_laws, math.ceil(len(jobs) / n_workers))
    return wall_seconds(jobs, n_workers, pace * before, pace * JOB_SECONDS)


def _model_seconds(plan: Plan, jobs: Sequence[Job]) -> FloatArray:
    """Seconds (n_models,) of each model with its part of the steps; NaN if unknown."""
    parts = {
        job.step.key: job.seconds / job.n_models
        for job in jobs
        if isinstance(job, StepJob)
    }
    seconds = np.full(len(plan.models), np.nan)
    for job in jobs:
        if isinstance(job, FitJob):
            shared = sum(parts[key] for key in merge_steps(job.steps))
            seconds[list(job.models)] = job.seconds / len(job.models) + shared
    return seconds


def _planned(plan: Plan, jobs: Sequence[Job]) -> Iterable[PlannedStep]:
    """Describe the steps among the jobs."""
    for made in jobs:
        if isinstance(made, StepJob):
            served = sorted(
                at
                for job in jobs
                if isinstance(job, FitJob) and made.step.key in merge_steps(job.steps)
                for at in job.models
            )
            names = tuple(plan.models[at].name for at in served)
            step = made.step
            yield PlannedStep(step.name, names, made.seconds, made.n_bytes, step.note)


def notes_of_steps(jobs: Sequence[Job]) -> list[str]:
    """List the steps that differ from models fitted alone."""
    steps = (job.step for job in jobs if isinstance(job, StepJob))
    return [step.note for step in steps if step.note]


def merge_notes(texts: Iterable[tuple[Model, str, str]]) -> list[str]:
    """Merge equal texts about several models into one note; count runs of a model."""
    titles: dict[tuple[str, str], Counter[str]] = {}
    for model, kind, why in texts:
        titles.setdefault((kind, why), Counter())[model.title] += 1
    return [
        Note(
            kind,
            ", ".join(t + (f" ({m} runs)" if m > 1 else "") for t, m in counts.items()),
            why=why,
        )
        for (kind, why), counts in titles.items()
    ]
