"""run_pool: fit many clusterers to one table and keep what survives as an Ensemble.

Models that share work are one job: the cuts of one agglomerative tree, the extractions
of one OPTICS ordering, copies of one specification. Jobs run in worker processes, the
longest first; a small pool runs in this process, where it is done before a worker has
started. Every model has its own seed, so results depend neither on the number of
workers, nor on where they are, nor on the order. A model that fails, or finds one
cluster or n, is a note.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.options import (
    Cancel,
    Progress,
    RunOptions,
    raise_if_cancelled,
    report,
)
from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    RandomState,
    check_features,
    read_only,
)
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.pool._fitting import Fit, FitJob, fit_jobs
from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.clusterer import Clusterer
from clusterlens.compute.pool.specs import (
    POOLS,
    Model,
    Plan,
    Pool,
    plan_pool,
    pool_grids,
    pool_specs,
)

if TYPE_CHECKING:
    from distributed import Client

__all__ = [
    "CLUSTERERS",
    "POOLS",
    "Clusterer",
    "PoolEstimate",
    "estimate_pool",
    "pool_grids",
    "pool_specs",
    "run_pool",
]

# Bytes that the models fitted at the same time may take together.
MEMORY_LIMIT = 4e9

# What a worker process costs before its first fit: imports, mostly.
_START_SECONDS = 1.5
_WORKER_BYTES = 2e8
# Pools estimated to take less run in this process.
_IN_PROCESS_SECONDS = 1.0


@dataclass(frozen=True, eq=False)
class PoolEstimate:
    """What a pool will cost, from the cost laws of its clusterers.

    Parameters
    ----------
    seconds : float
        Wall time of the whole pool.
    n_bytes : float
        Peak memory of the fits and their processes, above that of this process.
    names, families : tuple of str
        One per model.
    model_seconds : array of float, shape (n_models,)
        Fit time of each model; NaN where its clusterer has no cost law.
    notes : tuple of str
        What would be left out or refused, and why.
    """

    seconds: float
    n_bytes: float
    names: tuple[str, ...]
    families: tuple[str, ...]
    model_seconds: FloatArray
    notes: tuple[str, ...]


def run_pool(
    X: npt.ArrayLike,
    pool: Pool = "default",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    *,
    memory_limit: float | None = MEMORY_LIMIT,
    client: Client | str | None = None,
) -> Ensemble:
    """Fit a pool of clusterings to a table.

    Parameters
    ----------
    X : array-like of float, shape (n_samples, n_features)
        Finite features, prepared (scaled) as the clusterers should see them.
    pool : str or sequence, default "default"
        Name in POOLS; ("paper-fixed-k", n_clusters); or a list of specs (mappings such
        as {"clusterer": "k-means", "n_clusters": [2, 3, 4]}, see `pool_specs`) and
        estimator instances with scikit-learn's interface.
    random_state : int, default 0
        Seed of everything random, also of models that bring no seed of their own.
    n_jobs : int, optional
        Number of worker processes; -1 for one per core. 1 fits in this process, where
        a cancel waits for the current fit. Default: one per core, or none for a pool of
        about a second.
    progress : callable, optional
        Called as progress(done, total) with numbers of models.
    cancel : callable, optional
        Returns True to stop; workers are ended in the middle of a fit.
    memory_limit : float, default 4e9
        Bytes that models fitted at the same time may take together; on a cluster, those
        that the fit in each worker process may take. A model that alone would take more
        becomes a note.
    client : dask.distributed.Client or str, optional
        Cluster that fits, or the address of its scheduler; `n_jobs` then does not
        matter. The result is the same, apart from seconds. Needs the extra "dask".

    Returns
    -------
    ensemble : Ensemble
        One partition per surviving model, in the order of the pool, with names,
        families, specs, seconds, memberships, and notes on everything else.

    Raises
    ------
    DataError
        If X is not a finite table.
    ValueError
        If the pool is unknown or not one model survives.
    Cancelled
        If cancel returned True.
    OSError
        If no scheduler answers at the address of `client`, or it has no workers.

    Notes
    -----
    Noise is kept as label -1. Models of a shared fit share its time equally.

    On a cluster every worker process gets the features once and fits one model at a
    time with one thread, so start workers with one thread each. A fit whose worker dies
    runs again on others, up to the limit of the scheduler (`allowed-failures`, three by
    default); then its models fail with that reason, as they do at once on this machine.
    A cancel returns within a second, while running fits end on their workers unheard.
    Dask sends data and functions by pickle: connect to clusters that you trust like
    this process.

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.1], [9.0]]
    >>> pool = [{"clusterer": "agglomerative", "n_clusters": [2, 3]}]
    >>> run_pool(X, pool).names
    ('ward linkage k=2', 'ward linkage k=3')
    """
    run = RunOptions(n_jobs, progress, cancel, None, client, memory_limit)
    memory_limit = run.memory_limit or MEMORY_LIMIT
    features = read_only(np.ascontiguousarray(check_features(X)))
    plan = plan_pool(pool, features, random_state)
    jobs, refused = _split_by_memory(_jobs(plan), plan.models, memory_limit)
    fits: dict[int, Fit] = dict(refused)
    report(progress, len(fits), len(plan.models))
    running = fit_jobs(
        features,
        jobs,
        n_workers=_n_workers(jobs, n_jobs),
        memory_limit=memory_limit,
        cancel=cancel,
        client=client,
    )
    with closing(running) as results:
        for job, found in results:
            fits |= dict(zip(job.models, found, strict=True))
            report(progress, len(fits), len(plan.models))
    raise_if_cancelled(cancel)
    return _ensemble(plan, [fits[at] for at in range(len(plan.models))])


def estimate_pool(
    X: npt.ArrayLike | tuple[int, int],
    pool: Pool = "default",
    n_jobs: int | None = None,
    *,
    random_state: RandomState = 0,
    memory_limit: float | None = MEMORY_LIMIT,
) -> PoolEstimate:
    """Estimate time and memory of a pool before running it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or tuple of int
        The data or their shape. With the data, the cost of DBSCAN is better known.
    pool : str or sequence, default "default"
        As for `run_pool`.
    n_jobs : int, optional
        As for `run_pool`.
    random_state : int, default 0
        As for `run_pool`.
    memory_limit : float, default 4e9
        As for `run_pool`.

    Returns
    -------
    estimate : PoolEstimate
        Seconds within a factor of about three on one ordinary core per worker; the
        number of iterations, and so the time, depends on the data.

    Examples
    --------
    >>> estimate_pool((1000, 4), "quick").seconds < estimate_pool((9000, 4)).seconds
    True
    """
    run = RunOptions(n_jobs, memory_limit=memory_limit)
    memory_limit = run.memory_limit or MEMORY_LIMIT
    plan = plan_pool(pool, X, random_state)
    jobs, refused = _split_by_memory(_jobs(plan), plan.models, memory_limit)
    seconds = np.full(len(plan.models), np.nan)
    for job in jobs:
        seconds[list(job.models)] = job.seconds / len(job.models)
    n_workers = _n_workers(jobs, n_jobs)
    peaks = sorted((job.n_bytes for job in jobs), reverse=True)
    unknown = int(np.isnan([job.seconds for job in jobs]).sum())
    notes = plan.notes + _told((plan.models[at], str(fit.error)) for at, fit in refused)
    if unknown:
        notes.append(f"The time of {unknown} fits is unknown and not counted.")
    return PoolEstimate(
        seconds=_wall_seconds(jobs, n_workers),
        n_bytes=_WORKER_BYTES * n_workers
        + min(sum(peaks[: max(n_workers, 1)]), memory_limit),
        names=tuple(model.name for model in plan.models),
        families=tuple(model.family for model in plan.models),
        model_seconds=read_only(seconds),
        notes=tuple(notes),
    )


def _jobs(plan: Plan) -> list[FitJob]:
    """Group the models that share a fit, the longest job first."""
    groups: dict[str, list[int]] = {}
    for at, model in enumerate(plan.models):
        groups.setdefault(_fit_key(at, model), []).append(at)
    jobs = [_job(plan, tuple(models)) for models in groups.values()]
    return sorted(jobs, key=lambda job: -np.nan_to_num(job.seconds, nan=np.inf))


def _cut_value(model: Model) -> Any:
    """Return what the model is cut at from a shared fit; None for a fit of its own."""
    cut = model.clusterer.cut
    if cut is None or model.make is not None:
        return None
    return {**model.clusterer.defaults, **model.parameters}[cut.parameter]


def _fit_key(at: int, model: Model) -> str:
    """Return the same text for models that one fit serves."""
    if model.make is not None:
        return f"estimator {at}"
    spec = dict(model.spec)
    cut = model.clusterer.cut if _cut_value(model) is not None else None
    if cut is not None:
        spec.pop(cut.parameter, None)
    return json.dumps([spec, cut is not None], sort_keys=True)


def _job(plan: Plan, models: tuple[int, ...]) -> FitJob:
    """Make the job of models that share a fit."""
    first = plan.models[models[0]]
    values = tuple(_cut_value(plan.models[at]) for at in models)
    cut = first.clusterer.cut if values[0] is not None else None
    parameters = {**first.parameters, **(cut.fit if cut else {})}
    make = first.make or partial(first.clusterer.make, **parameters)
    return FitJob(make, models, cut, values, *_cost(plan, first))


def _cost(plan: Plan, model: Model) -> tuple[float, float]:
    """Apply the cost laws: seconds (NaN where unknown) and bytes."""
    scale, clusterer, parameters = plan.scale, model.clusterer, model.parameters
    within = scale.share_within(parameters.get("eps"))
    if within is not None:
        parameters["share_within_eps"] = within
    shape = scale.n_samples, scale.n_features
    seconds = clusterer.seconds(*shape, parameters) if clusterer.seconds else np.nan
    return float(seconds), float(clusterer.n_bytes(*shape, parameters))


def _split_by_memory(
    jobs: list[FitJob], models: Sequence[Model], limit: float
) -> tuple[list[FitJob], list[tuple[int, Fit]]]:
    """Refuse the jobs that alone need more memory than there is."""
    refused = [
        (at, Fit(error=_too_large(job.n_bytes, limit)))
        for job in jobs
        if job.n_bytes > limit
        for at in job.models
    ]
    return [job for job in jobs if job.n_bytes <= limit], refused


def _too_large(n_bytes: float, limit: float) -> str:
    """Say why a model is refused."""
    return (
        f"refused, it would need about {n_bytes / 1e9:.3g} GB, the limit is "
        f"{limit / 1e9:.3g} GB; raise memory_limit, or take a sample of the data."
    )


def _n_workers(jobs: Sequence[FitJob], n_jobs: int | None) -> int:
    """Return the number of worker processes; 0 fits in this process."""
    # An unknown time is NaN, which is not small.
    is_small = sum(job.seconds for job in jobs) < _IN_PROCESS_SECONDS
    if n_jobs == 1 or (n_jobs is None and is_small):
        return 0
    return min(RunOptions(n_jobs).n_workers, len(jobs))


def _wall_seconds(jobs: Sequence[FitJob], n_workers: int) -> float:
    """Wall time when each job goes to the worker that is free first."""
    known = [job.seconds for job in jobs if not np.isnan(job.seconds)]
    free_at = [_START_SECONDS if n_workers else 0.0] * max(n_workers, 1)
    for seconds in known:
        heapq.heapreplace(free_at, free_at[0] + seconds)
    return max(free_at)


def _ensemble(plan: Plan, fits: Sequence[Fit]) -> Ensemble:
    """Keep the models that found something; the rest and the warnings are notes."""
    reasons = [fit.error or _degenerate(np.asarray(fit.labels)) for fit in fits]
    kept = [at for at, reason in enumerate(reasons) if reason is None]
    notes = plan.notes + _told(
        (model, text)
        for model, fit, reason in zip(plan.models, fits, reasons, strict=True)
        for text in ([reason] if reason else [f"warned, {w}" for w in fit.warnings])
    )
    if not kept:
        raise ValueError(
            "No model of the pool survived; change the pool. " + " ".join(notes)
        )
    soft = {new: fits[old].membership for new, old in enumerate(kept)}
    return Ensemble(
        np.array([fits[at].labels for at in kept]),
        names=[plan.models[at].name for at in kept],
        families=[plan.models[at].family for at in kept],
        specs=[plan.models[at].spec for at in kept],
        seconds=[fits[at].seconds for at in kept],
        notes=notes,
        memberships={t: m for t, m in soft.items() if m is not None},
    )


def _told(said: Iterable[tuple[Model, str]]) -> list[str]:
    """Make one note of what is said of several models; runs of a model are counted."""
    titles: dict[str, Counter[str]] = {}
    for model, text in said:
        titles.setdefault(text, Counter())[model.title] += 1
    return [
        ", ".join(t + (f" ({m} runs)" if m > 1 else "") for t, m in counts.items())
        + f": {text}"
        for text, counts in titles.items()
    ]


def _degenerate(labels: IntArray) -> str | None:
    """Say why labels are no clustering, if so; noise counts as one label."""
    n_labels = len(np.unique(labels))
    if n_labels == 1:
        return "dropped, all samples are in one cluster."
    if n_labels == labels.size:
        return "dropped, each sample is a cluster of its own."
    return None
