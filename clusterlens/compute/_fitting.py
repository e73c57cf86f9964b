"""Fit the jobs of a pool, in this process or in worker processes.

A job is one fit that serves one or more models. Workers map the same file of features;
what a clusterer raises or warns comes back as text, and a worker that dies costs its
job alone. Each fit uses one thread, so that results do not depend on the machine.
"""

from __future__ import annotations

import pickle
import tempfile
import threading
import time
import warnings
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
from threadpoolctl import threadpool_limits

from clusterlens.compute import _workers
from clusterlens.compute._progress import Cancel, raise_if_cancelled
from clusterlens.compute._validation import FloatArray, IntArray, check_labels
from clusterlens.compute.clusterers import Cut

# warnings.catch_warnings changes state of the whole process.
_IN_PROCESS = threading.Lock()


@dataclass(frozen=True)
class FitJob:
    """One fit: its estimator, the models it serves, and how each takes its labels."""

    estimator: Any
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
) -> Generator[tuple[FitJob, list[Fit]]]:
    """Yield each job with one Fit per model as it ends; 0 workers: in this process."""
    if n_workers == 0:
        return _in_process(X, jobs, cancel)
    return _in_workers(X, jobs, n_workers, memory_limit, cancel)


def _in_process(
    X: FloatArray, jobs: Sequence[FitJob], cancel: Cancel | None
) -> Generator[tuple[FitJob, list[Fit]]]:
    """Fit the jobs one after the other in this process."""
    for job in jobs:
        raise_if_cancelled(cancel)
        with _IN_PROCESS:
            fits = _fit_job(X, job)
        yield job, fits


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
        payloads = [
            _workers.Job(cloudpickle.dumps(job), n_bytes=job.n_bytes) for job in jobs
        ]
        results = _workers.run_jobs(
            partial(_fit_payload, str(path)),
            payloads,
            n_workers=n_workers,
            memory_limit=memory_limit,
            cancel=cancel,
        )
        with closing(results):
            for at, outcome in results:
                if isinstance(outcome, Exception):
                    lost = Fit(error=_failure(outcome))
                    outcome = [lost] * len(jobs[at].models)
                yield jobs[at], outcome


@lru_cache(maxsize=1)
def _mapped(path: str) -> FloatArray:
    """Map the shared features, once per worker."""
    return np.load(path, mmap_mode="r")


def _fit_payload(path: str, payload: bytes) -> list[Fit] | Exception:
    """Fit a job in a worker process; an estimator may not even load there."""
    try:
        job: FitJob = pickle.loads(payload)
        return _fit_job(np.asarray(_mapped(path)), job)
    except Exception as error:
        return RuntimeError(_failure(error))


def _fit_job(X: FloatArray, job: FitJob) -> list[Fit]:
    """Fit a job with one thread; one result per model, failures included."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        try:
            fits = _cut_fits(X, job, job.cut) if job.cut else _same_fits(X, job)
        except Exception as error:
            fits = [Fit(error=_failure(error))] * len(job.models)
    seconds = (time.perf_counter() - start) / len(job.models)
    said = tuple({_one_line(warning.message): None for warning in caught})
    return [replace(fit, seconds=seconds, warnings=said) for fit in fits]


def _cut_fits(X: FloatArray, job: FitJob, cut: Cut) -> list[Fit]:
    """Fit once and take the labels of each model from it."""
    job.estimator.fit(X)
    fits = []
    for value in job.values:
        try:
            fits.append(Fit(_compact(cut.labels(job.estimator, value))))
        except Exception as error:
            fits.append(Fit(error=_failure(error)))
    return fits


def _same_fits(X: FloatArray, job: FitJob) -> list[Fit]:
    """Fit once; all models of the job are copies."""
    estimator = job.estimator
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
    """Return the memberships (n_samples, n_clusters) of a soft model."""
    if hasattr(estimator, "memberships_"):
        return np.asarray(estimator.memberships_)
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X))
    return None


def _failure(error: Exception) -> str:
    """Say how a model failed."""
    return f"failed: {type(error).__name__}: {_one_line(error)}"


def _one_line(message: object) -> str:
    """Return a message without its line breaks."""
    return " ".join(str(message).split())
