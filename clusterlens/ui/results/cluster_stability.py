"""Stability and separation of clusters, measured without the pool's agreement.

The clusters may come from that agreement, so it is no independent evidence. A model of
the run clusters the bootstrap samples; for a partition that is no model, the closest
model does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute._run.options import RunOptions, raise_if_cancelled
from clusterlens.compute.ensemble.ensemble import NOISE, Ensemble
from clusterlens.compute.pool.separation import ClusterSeparation, cluster_separation
from clusterlens.compute.pool.stability import (
    KINDS,
    ClusterStability,
    cluster_stability,
)
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.results.evaluated_labels import EvaluatedLabels
from clusterlens.ui.results.result import ExportPartition
from clusterlens.ui.state.analysis import Run
from clusterlens.ui.state.checks import (
    APART,
    FOUND_AGAIN,
    check_key,
    features_digest,
    numbered_by_rows,
)

BOOTSTRAPS = 100
COPIES = 2
# The table, and its copies of each kind.
TABLES = 1 + COPIES * len(KINDS)
# Overhead of one fit beside the model's time: transfer to a worker and comparison.
_SECONDS_PER_FIT = 0.005
# Largest time of a fit over the median of its clusterer that is taken for its own.
_MOST_OVER_USUAL = 3


@dataclass(frozen=True)
class StabilityModel:
    """Model that is fitted to bootstrap samples to evaluate a partition, with the cost.

    Parameters
    ----------
    model : int
        Position of the model: the partition itself, or the fitted one closest to it.
    agreement : float
        Adjusted Rand index with the partition.
    seconds : float
        Estimated time of all fits; NaN if the time of a fit is unknown.
    spec : dict
        Specification of the model.
    """

    model: int
    agreement: float
    seconds: float
    spec: Mapping[str, Any]


def choose_stability_model(
    job: Job, clusters: np.ndarray, ensemble: Ensemble, own: int | None = None
) -> StabilityModel | None:
    """Choose the model that can evaluate a partition; None if none was fitted.

    `own` is the model of the partition, if it is one.
    """
    fitted = np.flatnonzero(np.isfinite(ensemble.seconds))
    if not len(fitted):
        return None
    if own is not None and own in fitted:
        model, agreement = own, 1.0
    else:
        scores = []
        for t in fitted.tolist():
            raise_if_cancelled(job.cancelled)
            seen = ensemble.seen_by(t)
            scores.append(adjusted_rand_score(clusters[seen], ensemble.labels[t][seen]))
        best = int(np.argmax(scores))
        model, agreement = int(fitted[best]), float(scores[best])
    fits = TABLES * (BOOTSTRAPS + 1)
    each = _usual_seconds(ensemble, model) + _SECONDS_PER_FIT
    seconds = fits * each / RunOptions().n_workers
    return StabilityModel(model, agreement, seconds, ensemble.specs[model])


def _usual_seconds(ensemble: Ensemble, model: int) -> float:
    """Return the time of a fit once the code of its clusterer is loaded.

    The first fit of a clusterer includes loading or compiling its code, so that it may
    take many times as long as the others of the run.
    """
    kinds = [spec.get("clusterer") for spec in ensemble.specs]
    alike = [kind == kinds[model] for kind in kinds]
    usual = float(np.nanmedian(ensemble.seconds[alike]))
    return min(float(ensemble.seconds[model]), _MOST_OVER_USUAL * usual)


def stability_key(
    digest: str,
    clusters: np.ndarray,
    stability_model: StabilityModel,
    random_state: int,
) -> str:
    """Return the key of the stability of clusters, given the digest of the features."""
    by = [stability_model.spec, random_state, BOOTSTRAPS, COPIES]
    return check_key(FOUND_AGAIN, digest, numbered_by_rows(clusters), by)


def measure_stability(
    job: Job,
    samples: Dataset,
    clusters: np.ndarray,
    stability_model: StabilityModel,
    random_state: int,
) -> ClusterStability:
    """Measure the stability of clusters, numbered by their first rows."""
    return cluster_stability(
        samples.X,
        stability_model.spec,
        random_state,
        labels=numbered_by_rows(clusters),
        n_resamples=BOOTSTRAPS,
        n_copies=COPIES,
        progress=job.report,
        cancel=job.cancelled,
        workers=job.workers,
    )


def separation_key(digest: str, clusters: np.ndarray) -> str:
    """Return the key of the separation of clusters, given the key of the features."""
    return check_key(APART, digest, numbered_by_rows(clusters), COPIES)


def measure_separation(
    job: Job, samples: Dataset, clusters: np.ndarray
) -> ClusterSeparation:
    """Measure how far clusters lie apart, numbered by their first rows."""
    return cluster_separation(
        samples.X,
        numbered_by_rows(clusters),
        n_copies=COPIES,
        progress=job.report,
        cancel=job.cancelled,
    )


Found = TypeVar("Found", ClusterStability, ClusterSeparation)


def renumbered(found: Found, clusters: np.ndarray) -> Found:
    """Renumber a check of clusters by their numbers on screen.

    Parameters
    ----------
    found : ClusterStability or ClusterSeparation
        Check of clusters numbered by their first rows.
    clusters : array of int, shape (n_samples,)
        The same partition; noise is -1.

    Raises
    ------
    ValueError
        If the check is of other clusters.
    """
    codes = numbered_by_rows(clusters)
    inside = clusters != NOISE
    if not np.array_equal(np.bincount(codes[inside]), found.sizes):
        raise ValueError(
            "the stored check is of clusters of other sizes; measure it again."
        )
    names, first = np.unique(clusters[inside], return_index=True)
    order = codes[inside][first]
    more: dict[str, Any] = {"clusters": names, "sizes": found.sizes[order]}
    if isinstance(found, ClusterStability):
        more |= {"labels": clusters, "similarities": found.similarities[:, order]}
    else:
        more["consistency"] = found.consistency[order]
    return replace(found, by_chance=found.by_chance[order], **more)


@node("live", "Looking for the closest model", keep=8)
def labels_stability_model(
    job: Job, evaluated_labels: EvaluatedLabels, ensemble: Ensemble
) -> StabilityModel | None:
    """Return the model that evaluates the clusters of the page Given labels."""
    if evaluated_labels.noun == "class":
        return None
    own = None if evaluated_labels.merged else evaluated_labels.model
    return choose_stability_model(job, evaluated_labels.codes, ensemble, own)


@node("live", "Looking for earlier checks", keep=8)
def labels_digest(job: Job, evaluated_labels: EvaluatedLabels) -> str:
    """Return the digest of the evaluated features."""
    return features_digest(evaluated_labels.dataset.X)


@node("live", "Looking for earlier checks", keep=8)
def labels_stability_key(
    job: Job,
    labels_digest: str,
    evaluated_labels: EvaluatedLabels,
    labels_stability_model: StabilityModel,
    random_state: int,
) -> str:
    """Return the key of the stability of the clusters."""
    return stability_key(
        labels_digest, evaluated_labels.codes, labels_stability_model, random_state
    )


@node(
    "live",
    "Drawing the samples again",
    keep=8,
    asked_for=True,
    check=FOUND_AGAIN,
    fitted=lambda found, key, evaluated_labels, *more: renumbered(
        found, evaluated_labels.codes
    ),
    cost="labels_stability_model",
)
def labels_stability(
    job: Job,
    labels_stability_key: str,
    evaluated_labels: EvaluatedLabels,
    labels_stability_model: StabilityModel,
    random_state: int,
) -> ClusterStability:
    """Measure the stability of each cluster."""
    return measure_stability(
        job,
        evaluated_labels.dataset,
        evaluated_labels.codes,
        labels_stability_model,
        random_state,
    )


@node(keep=8)
def export_run(
    export_partition: ExportPartition, run: Run, runs: tuple[Run, ...]
) -> Run | None:
    """Return the run with models that evaluate the exported partition.

    It is the present run if it has the same rows, otherwise the run of the partition.
    """
    if np.array_equal(export_partition.dataset.row_ids, run.dataset.row_ids):
        return run
    return next((one for one in runs if one.id == export_partition.run_id), None)


@node("live", "Looking for the closest model", keep=8)
def export_stability_model(
    job: Job, export_partition: ExportPartition, export_run: Run
) -> StabilityModel | None:
    """Choose the model that evaluates the exported partition."""
    is_model = (
        export_partition.run_id == export_run.id
        and export_partition.made["kind"] == "model"
    )
    own = export_partition.made.get("model", 0) if is_model else None
    return choose_stability_model(
        job, export_partition.clusters, export_run.ensemble, own
    )


@node("live", "Looking for earlier checks", keep=8)
def export_stability_key(
    job: Job,
    export_partition: ExportPartition,
    export_run: Run,
    export_stability_model: StabilityModel,
) -> str:
    """Return the key of the stability of the exported partition."""
    digest, seed = features_digest(export_run.dataset.X), export_run.random_state
    return stability_key(
        digest, export_partition.clusters, export_stability_model, seed
    )


@node(
    "live",
    "Drawing the samples again",
    keep=8,
    asked_for=True,
    check=FOUND_AGAIN,
    fitted=lambda found, key, export_partition, *more: renumbered(
        found, export_partition.clusters
    ),
    cost="export_stability_model",
)
def export_stability(
    job: Job,
    export_stability_key: str,
    export_partition: ExportPartition,
    export_run: Run,
    export_stability_model: StabilityModel,
) -> ClusterStability:
    """Measure the stability of each cluster of the exported partition."""
    dataset, seed = export_run.dataset, export_run.random_state
    return measure_stability(
        job, dataset, export_partition.clusters, export_stability_model, seed
    )


@node("live", "Looking for earlier checks", keep=8)
def labels_separation_key(
    job: Job, evaluated_labels: EvaluatedLabels, labels_digest: str
) -> str | None:
    """Return the key of the separation of the clusters; None for given classes."""
    if evaluated_labels.noun == "class":
        return None
    return separation_key(labels_digest, evaluated_labels.codes)


@node(
    "live",
    "Comparing neighbours with copies",
    keep=8,
    check=APART,
    fitted=lambda found, key, evaluated_labels: renumbered(
        found, evaluated_labels.codes
    ),
)
def labels_separation(
    job: Job, labels_separation_key: str, evaluated_labels: EvaluatedLabels
) -> ClusterSeparation:
    """Measure the separation of each cluster."""
    return measure_separation(job, evaluated_labels.dataset, evaluated_labels.codes)
