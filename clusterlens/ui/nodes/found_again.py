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
from clusterlens.ui.nodes.judged import Judged
from clusterlens.ui.nodes.result import Told
from clusterlens.ui.state.analysis import Run
from clusterlens.ui.state.checks import (
    APART,
    FOUND_AGAIN,
    check_key,
    features_digest,
    numbered_by_rows,
)
from clusterlens.ui.work.derived import node
from clusterlens.ui.work.jobs import Job

BOOTSTRAPS = 100
COPIES = 2
# The table, and its copies of each kind.
TABLES = 1 + COPIES * len(KINDS)
# Overhead of one fit beside the model's time: transfer to a worker and comparison.
_SECONDS_PER_FIT = 0.005


@dataclass(frozen=True)
class Judge:
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


def choose_judge(
    job: Job, clusters: np.ndarray, ensemble: Ensemble, own: int | None = None
) -> Judge | None:
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
    each = float(ensemble.seconds[model]) + _SECONDS_PER_FIT
    seconds = fits * each / RunOptions().n_workers
    return Judge(model, agreement, seconds, ensemble.specs[model])


def stability_key(
    digest: str, clusters: np.ndarray, judge: Judge, random_state: int
) -> str:
    """Return the key of the stability of clusters, given the digest of the features."""
    by = [judge.spec, random_state, BOOTSTRAPS, COPIES]
    return check_key(FOUND_AGAIN, digest, numbered_by_rows(clusters), by)


def find_again(
    job: Job, samples: Dataset, clusters: np.ndarray, judge: Judge, random_state: int
) -> ClusterStability:
    """Measure the stability of clusters, numbered by their first rows."""
    return cluster_stability(
        samples.X,
        judge.spec,
        random_state,
        labels=numbered_by_rows(clusters),
        n_resamples=BOOTSTRAPS,
        n_copies=COPIES,
        progress=job.report,
        cancel=job.cancelled,
        workers=job.workers,
    )


def separation_key(digest: str, clusters: np.ndarray) -> str:
    """Return the key of the separation of clusters, given that of the features."""
    return check_key(APART, digest, numbered_by_rows(clusters), COPIES)


def find_apart(job: Job, samples: Dataset, clusters: np.ndarray) -> ClusterSeparation:
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
def judged_by(job: Job, judged: Judged, ensemble: Ensemble) -> Judge | None:
    """Return the model that evaluates the clusters of the page Given labels."""
    if judged.noun == "class":
        return None
    own = None if judged.merged else judged.model
    return choose_judge(job, judged.codes, ensemble, own)


@node("live", "Looking for earlier checks", keep=8)
def judged_digest(job: Job, judged: Judged) -> str:
    """Return the digest of the evaluated features."""
    return features_digest(judged.dataset.X)


@node("live", "Looking for earlier checks", keep=8)
def judged_again_key(
    job: Job, judged_digest: str, judged: Judged, judged_by: Judge, random_state: int
) -> str:
    """Return the key of the stability of the clusters."""
    return stability_key(judged_digest, judged.codes, judged_by, random_state)


@node(
    "live",
    "Drawing the samples again",
    keep=8,
    asked_for=True,
    check=FOUND_AGAIN,
    fitted=lambda found, key, judged, *more: renumbered(found, judged.codes),
    cost="judged_by",
)
def judged_again(
    job: Job, judged_again_key: str, judged: Judged, judged_by: Judge, random_state: int
) -> ClusterStability:
    """Measure the stability of each cluster."""
    return find_again(job, judged.dataset, judged.codes, judged_by, random_state)


@node(keep=8)
def told_run(told: Told, run: Run, runs: tuple[Run, ...]) -> Run | None:
    """Return the run with models that evaluate the exported partition.

    It is the present run if it has the same rows, otherwise the run of the partition.
    """
    if np.array_equal(told.dataset.row_ids, run.dataset.row_ids):
        return run
    return next((one for one in runs if one.id == told.run_id), None)


@node("live", "Looking for the closest model", keep=8)
def told_judged_by(job: Job, told: Told, told_run: Run) -> Judge | None:
    """Choose the model that evaluates the exported partition."""
    is_model = told.run_id == told_run.id and told.made["kind"] == "model"
    own = told.made.get("model", 0) if is_model else None
    return choose_judge(job, told.clusters, told_run.ensemble, own)


@node("live", "Looking for earlier checks", keep=8)
def told_stability_key(
    job: Job, told: Told, told_run: Run, told_judged_by: Judge
) -> str:
    """Return the key of the stability of the exported partition."""
    digest, seed = features_digest(told_run.dataset.X), told_run.random_state
    return stability_key(digest, told.clusters, told_judged_by, seed)


@node(
    "live",
    "Drawing the samples again",
    keep=8,
    asked_for=True,
    check=FOUND_AGAIN,
    fitted=lambda found, key, told, *more: renumbered(found, told.clusters),
    cost="told_judged_by",
)
def told_stability(
    job: Job, told_stability_key: str, told: Told, told_run: Run, told_judged_by: Judge
) -> ClusterStability:
    """Measure the stability of each cluster of the exported partition."""
    dataset, seed = told_run.dataset, told_run.random_state
    return find_again(job, dataset, told.clusters, told_judged_by, seed)


@node("live", "Looking for earlier checks", keep=8)
def judged_apart_key(job: Job, judged: Judged, judged_digest: str) -> str | None:
    """Return the key of the separation of the clusters; None for given classes."""
    if judged.noun == "class":
        return None
    return separation_key(judged_digest, judged.codes)


@node(
    "live",
    "Comparing neighbours with copies",
    keep=8,
    check=APART,
    fitted=lambda found, key, judged: renumbered(found, judged.codes),
)
def judged_apart(job: Job, judged_apart_key: str, judged: Judged) -> ClusterSeparation:
    """Measure the separation of each cluster."""
    return find_apart(job, judged.dataset, judged.codes)
