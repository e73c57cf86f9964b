"""Fit the jobs of a pool, in this process, in worker processes or on a Dask cluster.

A job is one fit that serves one model, or copies of it. Steps that several models need
run once, see `sharing`: a worker process runs such a step as a job of its own, and the
others map its file; a worker of a cluster runs the steps that its jobs need. Worker
processes map the same file of features; workers of a cluster get a copy. Errors and
warnings of a clusterer return as text. A worker that dies loses only its own job (on a
cluster other workers first try the job again). Each fit uses one thread, so that
results do not depend on the machine.
"""

from __future__ import annotations

import pickle
import time
import uuid
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np

from clusterlens.compute._run.cluster import run_on_workers
from clusterlens.compute._run.folder_locks import working_folder
from clusterlens.compute._run.options import RunOptions, raise_if_cancelled
from clusterlens.compute._run.process_settings import (
    limit_memory,
    one_thread,
    record_warnings,
)
from clusterlens.compute._run.processes import WorkerDied, WorkerJob, Workers, run_jobs
from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    check_features,
    check_partition,
    read_only,
)

# A worker imports this file, and so all clusterers, before the clock of a fit starts.
from clusterlens.compute.pool import catalogue  # noqa: F401
from clusterlens.compute.pool.paces import Seen
from clusterlens.compute.pool.sharing import (
    Made,
    Shelf,
    Step,
    describe,
    one_line,
    save_step,
)

_FEATURES = "X.npy"


@dataclass(frozen=True)
class FitJob:
    """One fit: its estimator, the models it serves, and its predicted cost.

    The estimator fits to X and the arrays of each of its steps. The cost law predicts
    `seconds / pace`.
    """

    make: Callable[[], Any]
    models: tuple[int, ...]
    seconds: float
    n_bytes: float
    steps: tuple[Step, ...] = ()
    law: str = ""
    pace: float = 1.0


@dataclass(frozen=True)
class StepJob:
    """A step to run, the number of models that it serves, and its predicted cost."""

    step: Step
    n_models: int
    seconds: float
    n_bytes: float
    pace: float = 1.0

    @property
    def law(self) -> str:
        """Name of the cost law."""
        return self.step.law


@dataclass(frozen=True)
class Fit:
    """Outcome of one model."""

    labels: IntArray | None = None
    membership: FloatArray | None = None
    seconds: float = float("nan")
    warnings: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True)
class Limits:
    """Limits of one job: seconds and bytes."""

    seconds: float = np.inf
    n_bytes: float = np.inf


@dataclass(frozen=True)
class Done:
    """A finished job: its models and their fit, and the seconds of steps made.

    `seen` compares the time taken with its cost law, if known.
    """

    models: tuple[int, ...]
    fit: Fit
    step_seconds: Mapping[str, float] = field(default_factory=dict)
    seen: Seen | None = None


Job = FitJob | StepJob
Started = Callable[[tuple[int, ...]], object]


def fit_jobs(
    X: FloatArray,
    jobs: Sequence[Job],
    *,
    n_workers: int,
    limits: Limits,
    run: RunOptions,
    on_start: Started,
    workers: Workers | None = None,
) -> Generator[Done]:
    """Yield each job as it ends; 0 workers: in this process.

    `jobs` includes the steps that the fits need; each step follows its own needs.
    """
    if run.client is not None:
        return _on_cluster(X, jobs, run)
    if n_workers == 0:
        return _in_process(X, jobs, run, on_start)
    return _in_workers(X, jobs, n_workers, limits, run, on_start, workers)


def _in_process(
    X: FloatArray, jobs: Sequence[Job], run: RunOptions, on_start: Started
) -> Generator[Done]:
    """Fit the jobs one after the other in this process."""
    shelf = Shelf(X)
    for job in jobs:
        raise_if_cancelled(run.cancel)
        if isinstance(job, FitJob):
            on_start(job.models)
        yield run_job(shelf, job)


def _in_workers(
    X: FloatArray,
    jobs: Sequence[Job],
    n_workers: int,
    limits: Limits,
    run: RunOptions,
    on_start: Started,
    workers: Workers | None,
) -> Generator[Done]:
    """Fit the jobs in worker processes, which map the same file of features."""

    def started(at: int) -> None:
        job = jobs[at]
        on_start(job.models if isinstance(job, FitJob) else ())

    place_of = {
        job.step.key: at for at, job in enumerate(jobs) if isinstance(job, StepJob)
    }
    with working_folder() as folder:
        np.save(folder / _FEATURES, X)
        results = run_jobs(
            partial(_run_payload, str(folder), limits.n_bytes),
            [_worker_job(job, place_of, limits.seconds) for job in jobs],
            n_workers=n_workers,
            memory_limit=run.memory_limit or np.inf,
            cancel=run.cancel,
            on_start=started,
            workers=workers,
        )
        with closing(results):
            for at, outcome in results:
                yield _ended(jobs[at], outcome, folder)


def _worker_job(
    job: Job, place_of: Mapping[str, int], seconds_limit: float
) -> WorkerJob:
    """Describe a job to the worker processes."""
    steps = job.steps if isinstance(job, FitJob) else job.step.needs
    n_models = 1 if isinstance(job, FitJob) else job.n_models
    return WorkerJob(
        _pack(job),
        job.n_bytes,
        tuple(place_of[step.key] for step in steps),
        seconds_limit * n_models,
    )


def _ended(job: Job, outcome: Done | WorkerDied, folder: Path) -> Done:
    """Return a finished job; the death of a worker is the failure of its models."""
    if isinstance(outcome, Done):
        return outcome
    if isinstance(job, StepJob):
        save_step(folder, job.step, Made(error=describe(outcome)))
        return Done((), Fit())
    return Done(job.models, Fit(error=_failure(outcome)))


def _on_cluster(X: FloatArray, jobs: Sequence[Job], run: RunOptions) -> Generator[Done]:
    """Fit the jobs on the workers of a Dask cluster, one at a time in each.

    Fits that need the same steps go to the cluster as one job.
    """
    bundles: dict[Any, list[FitJob]] = {}
    for at, job in enumerate(jobs):
        if isinstance(job, FitJob):
            key = tuple(step.key for step in job.steps) or at
            bundles.setdefault(key, []).append(job)
    packed = [[_pack(job) for job in bundle] for bundle in bundles.values()]
    results = run_on_workers(
        partial(_fit_on_worker, uuid.uuid4().hex), X, packed, run, one_per_worker=True
    )
    with closing(results):
        for at, outcome in results:
            bundle = list(bundles.values())[at]
            if isinstance(outcome, WorkerDied):
                outcome = [
                    Done(job.models, Fit(error=_failure(outcome))) for job in bundle
                ]
            yield from outcome


def _pack(job: Job) -> bytes:
    """Serialise a job for a worker; a failure to load is a failure of the fit."""
    if isinstance(job, StepJob):
        return cloudpickle.dumps(job)
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
def _shelf_in(folder: str) -> Shelf:
    """Map the shared features, once per worker."""
    X = np.load(Path(folder) / _FEATURES, mmap_mode="r")
    return Shelf(np.asarray(X), Path(folder))


def _run_payload(folder: str, n_bytes: float, payload: bytes) -> Done:
    """Run a job in a worker process."""
    limit_memory(n_bytes)
    return run_job(_shelf_in(folder), pickle.loads(payload))


# The shelf of the last run on this worker of a cluster.
_SHELVES: dict[str, Shelf] = {}


def _fit_on_worker(run: str, X: FloatArray, payloads: list[bytes]) -> list[Done]:
    """Run the jobs of a bundle on a Dask worker."""
    shelf = _SHELVES.get(run)
    if shelf is None:
        # Received arrays start at any byte, where vector code may round another way.
        shelf = Shelf(read_only(np.require(X, requirements=["C", "ALIGNED"])))
        _SHELVES.clear()
        _SHELVES[run] = shelf
    return [run_job(shelf, pickle.loads(payload)) for payload in payloads]


def run_job(shelf: Shelf, job: Job) -> Done:
    """Make a step, or fit a model; steps made on the way are timed apart."""
    known = set(shelf.made)
    models: tuple[int, ...] = ()
    fit = Fit()
    start = time.thread_time()
    with one_thread():
        if isinstance(job, StepJob):
            shelf.take(job.step)
        else:
            inputs = [shelf.take(step) for step in job.steps]
            models, fit = job.models, _fit_job(shelf.X, job, inputs)
    made = {key: shelf.made[key].seconds for key in shelf.made.keys() - known}
    # A step that another process ran takes no time here and is not reported again.
    timed = {key: seconds for key, seconds in made.items() if seconds}
    failed = any(shelf.made[key].error for key in timed)
    seen = None
    if not (failed or fit.error or (timed and models)):
        law = job.seconds / job.pace
        seen = Seen.of(job.law, shelf.X.shape, time.thread_time() - start, law)
    return Done(models, fit, timed, seen)


def _fit_job(X: FloatArray, job: FitJob, inputs: Sequence[Made]) -> Fit:
    """Fit a model with one thread; a failure is a result too."""
    for made in inputs:
        if made.error:
            return Fit(error=f"failed, {made.error}")
    with record_warnings() as caught:
        start = time.perf_counter()
        try:
            fit = _fit(X, job.make(), [made.arrays for made in inputs])
        except Exception as error:
            fit = Fit(error=_failure(error))
        seconds = time.perf_counter() - start
    messages = [text for made in inputs for text in made.warnings]
    messages += [one_line(warning.message) for warning in caught]
    return replace(
        fit, seconds=seconds / len(job.models), warnings=tuple(dict.fromkeys(messages))
    )


def _fit(X: FloatArray, estimator: Any, inputs: Sequence[Any]) -> Fit:
    """Labels and memberships of an estimator."""
    if hasattr(estimator, "fit_predict"):
        labels = estimator.fit_predict(X, *inputs)
    else:
        estimator.fit(X)
        given = hasattr(estimator, "labels_")
        labels = estimator.labels_ if given else estimator.predict(X)
    labels = _compact(check_partition(labels, n_samples=len(X)))
    return Fit(labels, _membership(estimator, X))


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
    array = check_features(membership, name="memberships", compared=False)
    if len(array) != n_samples:
        raise ValueError(f"memberships has {len(array)} rows for {n_samples} samples.")
    return array


def _failure(error: Exception) -> str:
    """Say how a model failed."""
    return f"failed, {describe(error)}"
