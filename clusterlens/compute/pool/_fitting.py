"""Fit the jobs of a pool, in this process, in worker processes or on a Dask cluster.

A job is one fit that serves one or more models. Workers map the same file of features,
those of a cluster get a copy; what a clusterer raises or warns comes back as text, and
a worker that dies costs its job alone (on a cluster the job first runs again on other
workers). Each fit uses one thread, so that results do not depend on the machine.
"""

from __future__ import annotations

import pickle
import tempfile
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np

from clusterlens.compute._run.cluster import run_on_workers
from clusterlens.compute._run.options import Cancel, RunOptions, raise_if_cancelled
from clusterlens.compute._run.process_settings import one_thread, record_warnings
from clusterlens.compute._run.processes import WorkerDied, run_jobs
from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    check_features,
    check_labels,
    read_only,
)
from clusterlens.compute.pool.clusterer import Cut

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class FitJob:
    """One fit: what makes its estimator, the models it serves, and what it costs.

    With a cut, each model takes its labels from the fit by its own value.
    """

    make: Callable[[], Any]
    models: tuple[int, ...]
    cut: Cut | None
    values: tuple[Any, ...]
    seconds: float
    n_bytes: float


@dataclass(frozen=True)
class Fit:
    """What became of one model."""

    labels: IntArray | None = None
    membership: FloatArray | None = None
    seconds: float = float("nan")
    warnings: tuple[str, ...] = ()
    error: str | None = None


def fit_jobs(
    X: FloatArray,
    jobs: Sequence[FitJob],
    *,
    n_workers: int,
    memory_limit: float,
    cancel: Cancel | None = None,
    client: Client | str | None = None,
) -> Generator[tuple[FitJob, list[Fit]]]:
    """Yield each job with one Fit per model as it ends; 0 workers: in this process."""
    if client is not None:
        return _on_cluster(X, jobs, client, cancel)
    if n_workers == 0:
        return _in_process(X, jobs, cancel)
    return _in_workers(X, jobs, n_workers, memory_limit, cancel)


def _in_process(
    X: FloatArray, jobs: Sequence[FitJob], cancel: Cancel | None
) -> Generator[tuple[FitJob, list[Fit]]]:
    """Fit the jobs one after the other in this process."""
    for job in jobs:
        raise_if_cancelled(cancel)
        yield job, _fit_job(X, job)


def _in_workers(
    X: FloatArray,
    jobs: Sequence[FitJob],
    n_workers: int,
    memory_limit: float,
    cancel: Cancel | None,
) -> Generator[tuple[FitJob, list[Fit]]]:
    """Fit the jobs in worker processes, which map the same file of features."""
    with tempfile.TemporaryDirectory(prefix="clusterlens-") as folder:
        path = Path(folder) / "X.npy"
        np.save(path, X)
        results = run_jobs(
            partial(_fit_payload, str(path)),
            [(_pack(job), job.n_bytes) for job in jobs],
            n_workers=n_workers,
            memory_limit=memory_limit,
            cancel=cancel,
        )
        yield from _fits_of_jobs(jobs, results)


def _on_cluster(
    X: FloatArray,
    jobs: Sequence[FitJob],
    client: Client | str,
    cancel: Cancel | None,
) -> Generator[tuple[FitJob, list[Fit]]]:
    """Fit the jobs on the workers of a Dask cluster, one at a time in each."""
    packed = [_pack(job) for job in jobs]
    results = run_on_workers(
        _fit_on_worker,
        X,
        packed,
        RunOptions(cancel=cancel, client=client),
        one_per_worker=True,
    )
    return _fits_of_jobs(jobs, results)


def _fits_of_jobs(
    jobs: Sequence[FitJob], results: Generator[tuple[int, Any]]
) -> Generator[tuple[FitJob, list[Fit]]]:
    """Yield each job with its fits; those of a job that a worker died of failed."""
    with closing(results):
        for at, outcome in results:
            if isinstance(outcome, WorkerDied):
                outcome = [Fit(error=_failure(outcome))] * len(jobs[at].models)
            yield jobs[at], outcome


def _pack(job: FitJob) -> bytes:
    """Serialise a job for a worker; what fails to load there, fails as a fit does."""
    try:
        make = partial(_unpack, cloudpickle.dumps(job.make))
    except Exception as error:
        make = partial(_refuse, f"cannot be sent to a worker process: {error}")
    return cloudpickle.dumps(replace(job, make=make))


def _unpack(packed: bytes) -> Any:
    """Make the estimator in the worker."""
    return pickle.loads(packed)()


def _refuse(reason: str) -> Any:
    """Fail for a reason known before the fit."""
    raise TypeError(reason)


@lru_cache(maxsize=1)
def _mapped(path: str) -> FloatArray:
    """Map the shared features, once per worker."""
    return np.load(path, mmap_mode="r")


def _fit_payload(path: str, payload: bytes) -> list[Fit]:
    """Fit a job in a worker process."""
    return _fit_job(np.asarray(_mapped(path)), pickle.loads(payload))


def _fit_on_worker(X: FloatArray, payload: bytes) -> list[Fit]:
    """Fit a job on a Dask worker."""
    # Received arrays start at any byte, where vector code may round another way.
    features = read_only(np.require(X, requirements=["C", "ALIGNED"]))
    return _fit_job(features, pickle.loads(payload))


def _fit_job(X: FloatArray, job: FitJob) -> list[Fit]:
    """Fit a job with one thread; one result per model, failures included.

    Threads of one process take turns, since they share what becomes of a warning.
    """
    with record_warnings() as caught, one_thread():
        start = time.perf_counter()
        try:
            fits = _cut_fits(X, job, job.cut) if job.cut else _same_fits(X, job)
        except Exception as error:
            fits = [Fit(error=_failure(error))] * len(job.models)
        seconds = (time.perf_counter() - start) / len(job.models)
    said = tuple({_one_line(warning.message): None for warning in caught})
    return [replace(fit, seconds=seconds, warnings=said) for fit in fits]


def _cut_fits(X: FloatArray, job: FitJob, cut: Cut) -> list[Fit]:
    """Fit once and take the labels of each model from it."""
    estimator = job.make()
    estimator.fit(X)
    fits = []
    for value in job.values:
        try:
            fits.append(Fit(_compact(cut.labels(estimator, value))))
        except Exception as error:
            fits.append(Fit(error=_failure(error)))
    return fits


def _same_fits(X: FloatArray, job: FitJob) -> list[Fit]:
    """Fit once; all models of the job are copies."""
    estimator = job.make()
    if hasattr(estimator, "fit_predict"):
        labels = estimator.fit_predict(X)
    else:
        estimator.fit(X)
        given = hasattr(estimator, "labels_")
        labels = estimator.labels_ if given else estimator.predict(X)
    labels = _compact(check_labels(labels, n_samples=len(X)))
    return [Fit(labels, _membership(estimator, X))] * len(job.models)


def _compact(labels: IntArray) -> IntArray:
    """Return labels in two bytes each where they fit; they travel between processes."""
    small = np.iinfo(np.int16)
    fit = small.min <= labels.min() and labels.max() <= small.max
    return labels.astype(np.int16) if fit else labels


def _membership(estimator: Any, X: FloatArray) -> FloatArray | None:
    """Return the memberships (n_samples, n_clusters) of a soft model, if it has any."""
    try:
        if hasattr(estimator, "memberships_"):
            return _check_membership(estimator.memberships_, len(X))
        if hasattr(estimator, "predict_proba"):
            return _check_membership(estimator.predict_proba(X), len(X))
    except Exception as error:
        warnings.warn(f"memberships {_failure(error)}", stacklevel=2)
    return None


def _check_membership(membership: Any, n_samples: int) -> FloatArray:
    """Return memberships as a finite (n_samples, n_clusters) array."""
    array = check_features(membership, name="memberships")
    if len(array) != n_samples:
        raise ValueError(f"memberships has {len(array)} rows for {n_samples} samples.")
    return array


def _failure(error: Exception) -> str:
    """Say how a model failed."""
    return f"failed, {type(error).__name__}: {_one_line(error)}"


def _one_line(message: object) -> str:
    """Return a message without its line breaks."""
    return " ".join(str(message).split())
