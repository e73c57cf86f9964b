"""The jobs of a pool: fits and shared steps, with their costs."""

from __future__ import annotations

import heapq
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from clusterlens.compute._run.options import RunOptions
from clusterlens.compute.pool._fitting import Fit, FitJob, Job, StepJob
from clusterlens.compute.pool._neighbors import WithNeighbors, neighbors_step
from clusterlens.compute.pool.paces import Paces
from clusterlens.compute.pool.pilots import (
    LEAST_SAMPLES,
    Sample,
    effort,
    n_pilot_samples,
    pilot_sample,
)
from clusterlens.compute.pool.sharing import SharedModel, Step, merge_steps
from clusterlens.compute.pool.specs import Model, Plan

# Cost of a worker process before its first fit: mostly imports.
START_SECONDS = 1.7
# Overhead of a job besides its fit: files, limits, the transfer to the worker and back.
JOB_SECONDS = 0.01
WORKER_BYTES = 2e8
# Pools with a longer estimate never run in this process, because a cancel would wait
# for a fit, and a fit that crashes would end everything.
_IN_PROCESS_SECONDS = 4.0


def pool_jobs(
    plan: Plan, limit: float, paces: Paces
) -> tuple[list[Job], list[tuple[int, Fit]]]:
    """Return the jobs of a pool, most urgent first, and the refused models.

    A model is refused if it, or a step that it needs, takes more bytes than the limit.
    """
    groups: dict[str, list[int]] = {}
    for at, model in enumerate(plan.models):
        groups.setdefault(_fit_key(at, model), []).append(at)
    fits = [_fit_job(plan, tuple(models)) for models in groups.values()]
    steps = merge_steps(step for job in fits for step in job.steps)
    shape = plan.scale.n_samples, plan.scale.n_features
    n_bytes = {key: _chain_bytes(step, shape) for key, step in steps.items()}
    kept, refused = [], []
    for job in fits:
        need = max([job.n_bytes, *(n_bytes[step.key] for step in job.steps)])
        if need > limit:
            refused += [(at, Fit(error=_too_large(need, limit))) for at in job.models]
        else:
            kept.append(job)
    return _most_urgent_first(_paced(kept, shape, paces), shape, paces), refused


def in_which_workers(
    jobs: Sequence[Job], run: RunOptions, must: bool, start_seconds: float
) -> int:
    """Return the number of worker processes; 0 means this process, if it is allowed.

    A small pool is finished here before workers would have started.
    """
    n_workers = min(run.n_workers, len(jobs))
    if must:
        return n_workers
    # An unknown time is NaN, which is not small.
    here = sum(job.seconds for job in jobs)
    in_workers = wall_seconds(jobs, n_workers, start_seconds)
    is_small = here < min(in_workers, _IN_PROCESS_SECONDS)
    return 0 if run.n_jobs == 1 or is_small else n_workers


def wall_seconds(
    jobs: Sequence[Job],
    n_workers: int,
    start_seconds: float = 0.0,
    job_seconds: float = 0.0,
) -> float:
    """Predict the wall time if each job goes to the first free worker.

    Each job takes `job_seconds` in addition to its fit.
    """
    ended: dict[str, float] = {}
    free_at = [start_seconds] * max(n_workers, 1)
    for job in jobs:
        steps = job.steps if isinstance(job, FitJob) else job.step.needs
        ready = max([free_at[0], *(ended[step.key] for step in steps)])
        end = ready + float(np.nan_to_num(job.seconds)) + job_seconds
        heapq.heapreplace(free_at, end)
        if isinstance(job, StepJob):
            ended[job.step.key] = end
    return max(free_at)


def _paced(
    fits: Sequence[FitJob], shape: tuple[int, int], paces: Paces
) -> list[FitJob]:
    """Correct the fit times of the cost laws by the measured pace of this machine."""
    found = [paces.pace(job.law, shape) for job in fits]
    return [
        replace(job, seconds=job.seconds * pace, pace=pace)
        for job, pace in zip(fits, found, strict=True)
    ]


def _most_urgent_first(
    fits: Sequence[FitJob], shape: tuple[int, int], paces: Paces
) -> list[Job]:
    """Order fits and their steps by the time from their start to the end of the last.

    For a step this includes the jobs that wait for it, so each job follows its needs.
    """
    steps = merge_steps(step for job in fits for step in job.steps)
    jobs: list[tuple[float, Job]] = []
    waiting = dict.fromkeys(steps, 0.0)
    n_models = dict.fromkeys(steps, 0)
    for job in fits:
        merged = tuple(steps[step.key] for step in job.steps)
        urgency = float(np.nan_to_num(job.seconds, nan=1e9))
        jobs.append((urgency, replace(job, steps=merged)))
        for key in {step.key for step in merge_steps(merged).values()}:
            n_models[key] += len(job.models)
            waiting[key] = max(waiting[key], urgency)
    for step in reversed(steps.values()):
        pace = paces.pace(step.law, shape)
        seconds = pace * step.seconds(*shape, step.size)
        urgency = waiting[step.key] + seconds
        for need in step.needs:
            waiting[need.key] = max(waiting[need.key], urgency)
        n_bytes = step.n_bytes(*shape, step.size)
        jobs.append(
            (urgency, StepJob(step, n_models[step.key], seconds, n_bytes, pace))
        )
    return [job for _, job in sorted(jobs, key=lambda pair: -pair[0])]


def _chain_bytes(step: Step, shape: tuple[int, int]) -> float:
    """Return the largest number of bytes that a step or one of its needs takes."""
    own = step.n_bytes(*shape, step.size)
    return max([own, *(_chain_bytes(need, shape) for need in step.needs)])


def _fit_key(at: int, model: Model) -> str:
    """Return the same text for models that one fit serves."""
    if model.make is not None:
        return f"estimator {at}"
    return json.dumps(dict(model.spec), sort_keys=True)


def _fit_job(plan: Plan, models: tuple[int, ...]) -> FitJob:
    """Make the job of models with one specification."""
    model = plan.models[models[0]]
    steps = _steps(plan, model)
    share = model.clusterer.share
    if share is None or not steps:
        make = model.make or partial(model.clusterer.make, **model.parameters)
        if steps:
            make = partial(WithNeighbors, make)
        law = model.spec["clusterer"]
        return FitJob(make, models, *_cost(plan, model), steps, law)
    make = partial(SharedModel, share.labels, model.parameters)
    shape = plan.scale.n_samples, plan.scale.n_features
    seconds = share.seconds(*shape, model.parameters)
    law = f"{model.spec['clusterer']} from its steps"
    return FitJob(make, models, seconds, 1e7 + 100.0 * shape[0], steps, law)


def _steps(plan: Plan, model: Model) -> tuple[Step, ...]:
    """Return the steps that a model shares, none if it is fitted alone."""
    if model.make is not None:
        return ()
    share, n_neighbors = model.clusterer.share, model.clusterer.neighbors
    n, d = plan.scale.n_samples, plan.scale.n_features
    if share is not None:
        return tuple(share.steps(n, d, model.parameters))
    wanted = n_neighbors(n, model.parameters) if n_neighbors else None
    return (neighbors_step(min(wanted, n - 1)),) if wanted and n > 1 else ()


def _cost(plan: Plan, model: Model) -> tuple[float, float]:
    """Apply the cost laws: seconds (NaN where unknown) and bytes."""
    scale, clusterer, parameters = plan.scale, model.clusterer, model.parameters
    within = scale.share_within(parameters.get("eps"))
    if within is not None:
        parameters["share_within_eps"] = within
    shape = scale.n_samples, scale.n_features
    seconds = clusterer.seconds(*shape, parameters) if clusterer.seconds else np.nan
    if clusterer.iterations and scale.n_samples >= LEAST_SAMPLES:
        fixed = clusterer.iterations.fixed
        seconds = fixed + _effort(plan, model) * (seconds - fixed)
    return float(seconds), float(clusterer.n_bytes(*shape, parameters))


def _effort(plan: Plan, model: Model) -> float:
    """Return the factor by which iterations lengthen a fit, measured by a pilot."""
    scale = plan.scale

    def sample() -> Sample:
        n_rows = n_pilot_samples(scale.n_samples)
        return pilot_sample(scale.some_rows(n_rows), scale.n_samples)

    def compute() -> float:
        rows = scale.find("pilot sample", sample)
        return effort(model.clusterer, model.parameters, rows)

    fixed = {key: v for key, v in model.spec.items() if key != "random_state"}
    return scale.find(json.dumps(fixed, sort_keys=True), compute)


def _too_large(n_bytes: float, limit: float) -> str:
    """Explain why a model is refused."""
    return (
        f"refused, it would need about {n_bytes / 1e9:.3g} GB, the limit is "
        f"{limit / 1e9:.3g} GB; raise memory_limit, or take a sample of the data."
    )
