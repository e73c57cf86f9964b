"""Whether clusters are found again in other samples, and whether they lie apart.

Neither asks the pool what it agrees on, which the clusters may come from. A model of
the run clusters the samples again; the one that comes closest stands for a partition
that is no model.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute._run.options import RunOptions, raise_if_cancelled
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.pool.separation import ClusterSeparation, cluster_separation
from clusterlens.compute.pool.stability import (
    KINDS,
    ClusterStability,
    cluster_stability,
)
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.nodes.judged import Judged
from clusterlens.ui.work.derived import node
from clusterlens.ui.work.jobs import Job
from clusterlens.ui.work.results import content_key

BOOTSTRAPS = 100
COPIES = 2
# The table, and its copies of each kind.
TABLES = 1 + COPIES * len(KINDS)
# Of one fit beside the time of the model: to hand it to a worker and to compare.
_SECONDS_PER_FIT = 0.005


@dataclass(frozen=True)
class Judge:
    """The model whose runs on bootstrap samples judge a partition, and what they cost.

    Parameters
    ----------
    model : int
        Position of the model: the partition itself, or the fitted one closest to it.
    agreement : float
        Adjusted Rand index with the partition.
    seconds : float
        Estimate for all runs; NaN where the time of a fit is not known.
    """

    model: int
    agreement: float
    seconds: float


def choose_judge(
    job: Job, clusters: np.ndarray, ensemble: Ensemble, own: int | None = None
) -> Judge | None:
    """Choose the model that can judge a partition; None where none was fitted.

    `own` is the model that the partition is, if it is one.
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
    return Judge(model, agreement, fits * each / RunOptions().n_workers)


def find_again(
    job: Job,
    samples: Dataset,
    clusters: np.ndarray,
    ensemble: Ensemble,
    judge: Judge,
    random_state: int,
) -> ClusterStability:
    """How well each cluster comes back in bootstrap samples, once for all sessions."""
    spec = ensemble.specs[judge.model]

    def measure() -> tuple[ClusterStability, bool]:
        found = cluster_stability(
            samples.X,
            spec,
            random_state,
            labels=clusters,
            n_resamples=BOOTSTRAPS,
            n_copies=COPIES,
            progress=job.report,
            cancel=job.cancelled,
            workers=job.workers,
        )
        return found, True

    digest = hashlib.sha256(np.ascontiguousarray(clusters, np.int64)).hexdigest()
    what = f"stability {BOOTSTRAPS} {COPIES} {digest}"
    key = content_key(samples.X, [dict(spec)], random_state, what)
    return job.server.results.get(key, measure, job.cancelled)


@node("live", "Looking for the closest model", keep=8)
def judged_by(job: Job, judged: Judged, ensemble: Ensemble) -> Judge | None:
    """The model that judges the clusters of the page Class labels."""
    if judged.noun == "class":
        return None
    own = None if judged.merged else judged.model
    return choose_judge(job, judged.codes, ensemble, own)


@node("live", "Drawing the samples again", keep=8, asked_for=True)
def judged_again(
    job: Job, judged: Judged, judged_by: Judge, ensemble: Ensemble, random_state: int
) -> ClusterStability:
    """How well each of these clusters is found again."""
    return find_again(
        job, judged.dataset, judged.codes, ensemble, judged_by, random_state
    )


@node("live", "Comparing neighbours with copies", keep=8)
def judged_apart(job: Job, judged: Judged) -> ClusterSeparation | None:
    """How far each of these clusters lies apart; None for given classes."""
    if judged.noun == "class":
        return None
    return cluster_separation(
        judged.dataset.X,
        judged.codes,
        n_copies=COPIES,
        progress=job.report,
        cancel=job.cancelled,
    )
