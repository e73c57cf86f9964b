"""Clearness of a table and of its copies at each number of clusters, on any worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
from sklearn.cluster import KMeans

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.cluster import run_on_workers
from clusterlens.compute._run.folder_locks import working_folder
from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._run.process_settings import one_thread, record_warnings
from clusterlens.compute._run.processes import WorkerDied, WorkerJob, Workers, run_jobs
from clusterlens.compute._validation import FloatArray, IntArray, check_mapping
from clusterlens.compute.pool._kmeans import kmeans_seconds, subsampled_kmeans
from clusterlens.compute.pool._valleys import least_valleys
from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.clusterer import Spec
from clusterlens.compute.pool.nulls import COPIES
from clusterlens.compute.pool.resampling import (
    SubsampledClusterer,
    draw_subsample,
    measure_labels,
    number_parameter,
)

MEMORY_LIMIT = 4e9
LONGEST_BLOCK = 0.5


def uniform_box(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw uniform rows in the box of X (n_samples, n_features) along its main axes."""
    mean = X.mean(axis=0)
    axes = np.linalg.svd(X - mean, full_matrices=False)[2]
    scores = (X - mean) @ axes.T
    return mean + rng.uniform(scores.min(0), scores.max(0), scores.shape) @ axes


REFERENCES = {**COPIES, "uniform": uniform_box}


class Curves(NamedTuple):
    """Measures over k, of one table (n_k, ...) or of several (n_draws, n_k, ...)."""

    cdf: FloatArray
    area: FloatArray
    pac: FloatArray
    stability: FloatArray
    valley: FloatArray


class TableJob(NamedTuple):
    """A table to make, and one estimator per number of clusters to run on it."""

    kind: str
    seed: int
    numbers: IntArray
    models: Sequence[Any]
    n_resamples: int
    share: float
    compared: IntArray


class _Result(NamedTuple):
    """Measures over k of one table, or the reason why there are none."""

    curves: Curves | None
    warnings: Sequence[str]
    error: str = ""


def models_of(clusterer: str | Spec, numbers: IntArray) -> tuple[list[Any], str]:
    """Make one estimator per number of clusters, and describe them."""
    if isinstance(clusterer, str):
        clusterer = {"clusterer": clusterer}
    spec = check_mapping(clusterer, name="clusterer", to="parameters")
    name = str(spec.pop("clusterer", None))
    parameter = number_parameter(name)
    entry = CLUSTERERS[name]
    models = [entry.make(**{**spec, parameter: int(k)}) for k in numbers]
    return models, entry.title.format_map({**entry.defaults, **spec})


def _seedings_of_kmeans(models: Sequence[Any]) -> int | None:
    """Number of seedings if the models are default k-means, else None."""
    if type(models[0]) is not KMeans:
        return None
    plain = KMeans(models[0].n_clusters, n_init=models[0].n_init)
    if models[0].get_params() != plain.get_params():
        return None
    return 1 if plain.n_init == "auto" else int(plain.n_init)


def fit_seconds(shape: tuple[int, ...], job: TableJob) -> float:
    """Estimate the time of all fits of a table by k-means; infinite for others."""
    n_init = _seedings_of_kmeans(job.models)
    if n_init is None:
        return np.inf
    size = round(job.share * shape[0])
    return job.n_resamples * kmeans_seconds(size, shape[1], job.numbers, n_init)


def measure_tables(
    X: FloatArray,
    jobs: Sequence[TableJob],
    run: RunOptions,
    workers: Workers | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield position and result of each job as it ends, here or on workers."""
    if run.client is not None:
        packed = [cloudpickle.dumps(job) for job in jobs]
        yield from run_on_workers(_measure, X, packed, run, one_per_worker=True)
    elif run.n_jobs == 1:
        for at, job in enumerate(jobs):
            run.raise_if_cancelled()
            yield at, _measure(X, job)
    elif fit_seconds(X.shape, jobs[0]) < LONGEST_BLOCK:
        blocks, work = [(X, job) for job in jobs], [1] * len(jobs)
        yield from enumerate(run_blocks(_measure, blocks, work, run.quiet))
    else:
        with working_folder() as folder:
            path = folder / "X.npy"
            np.save(path, X)
            yield from run_jobs(
                partial(_measure_file, str(path)),
                [
                    WorkerJob(cloudpickle.dumps(job), 2e8 + 6.0 * X.nbytes)
                    for job in jobs
                ],
                n_workers=min(run.n_workers, len(jobs)),
                memory_limit=run.memory_limit or MEMORY_LIMIT,
                cancel=run.cancel,
                workers=workers,
            )


def _measure_file(path: str, payload: bytes) -> _Result:
    """Measure a table in a worker process."""
    return _measure(np.load(path), payload)


def _measure(X: FloatArray, packed: TableJob | bytes) -> _Result:
    """Make the table of a job, run every model on subsamples, measure the consensus."""
    job: TableJob = cloudpickle.loads(packed) if isinstance(packed, bytes) else packed
    rng = np.random.default_rng(job.seed)
    table = X if job.kind == "data" else REFERENCES[job.kind](X, rng)
    if n_init := _seedings_of_kmeans(job.models):
        return _Result(_curves(table, _by_kmeans(table, job, n_init, rng), job), ())
    try:
        with one_thread(), record_warnings() as caught:
            labels = _by_models(table, job, rng)
    except Exception as error:
        return _Result(None, (), f"{type(error).__name__}: {error}")
    return _Result(
        _curves(table, labels, job), [str(warning.message) for warning in caught]
    )


def _by_models(table: FloatArray, job: TableJob, rng: np.random.Generator) -> IntArray:
    """Labels (n_k, n_resamples, n_compared) of each model on subsamples of its own."""
    labels = [
        SubsampledClusterer(model, job.share, int(seed)).fit(table).labels_
        for model in job.models
        for seed in rng.integers(2**31, size=job.n_resamples)
    ]
    compared = np.array(
        [np.unique(row[job.compared], return_inverse=True)[1] for row in labels],
        np.int32,
    )
    return compared.reshape(len(job.models), job.n_resamples, -1)


def _by_kmeans(
    table: FloatArray, job: TableJob, n_init: int, rng: np.random.Generator
) -> IntArray:
    """Labels (n_k, n_resamples, n_compared) by k-means, on subsamples of all k."""
    labels = np.empty((len(job.numbers), job.n_resamples, len(job.compared)), np.int32)
    for at in range(job.n_resamples):
        samples = draw_subsample(len(table), job.share, rng)
        found = subsampled_kmeans(table, job.numbers, samples, n_init, rng)
        labels[:, at] = found[:, job.compared]
    return labels


def _curves(table: FloatArray, labels: IntArray, job: TableJob) -> Curves:
    """Measure labels (n_k, n_resamples, n_compared) for each number of clusters."""
    compared = table[job.compared]
    return stack_curves(
        [
            (*measure_labels(one), np.median(least_valleys(compared, one, int(k))))
            for one, k in zip(labels, job.numbers, strict=True)
        ]
    )


def stack_curves(measures: Sequence[tuple[Any, ...]]) -> Curves:
    """Put the measures of several numbers of clusters, or tables, together."""
    return Curves(*(np.array(column) for column in zip(*measures, strict=True)))


def checked_curves(result: Any, kind: str) -> Curves:
    """Return the measures of a table; a failed fit ends the selection."""
    error = str(result) if isinstance(result, WorkerDied) else result.error
    if error:
        where = "the data" if kind == "data" else f"a {kind} copy"
        raise ValueError(
            f"clusterer failed on a subsample of {where} ({error}); give other "
            "parameters, smaller ks or another clusterer."
        )
    curves: Curves = result.curves
    return curves
