"""ConsensusClusterer: pool, ranking and assigner behind scikit-learn's interface."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from clusterlens.compute._validation import (
    UNLABELLED,
    FloatArray,
    IntArray,
    RandomState,
    check_choice,
    check_random_state,
    check_range,
    plain_repr,
    warn_caller,
)
from clusterlens.compute.assigning.assigner import Assigned
from clusterlens.compute.assigning.fitting import fit_assigner
from clusterlens.compute.consensus.closest import closest_cut
from clusterlens.compute.consensus.partition import consensus_partition
from clusterlens.compute.ensemble.agreement import estimate_agreements
from clusterlens.compute.ensemble.constraints import (
    ConstraintError,
    Constraints,
    check_constraints,
)
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.formatting import count
from clusterlens.compute.notes import as_note
from clusterlens.compute.pool.k_selection import select_k
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.pool.specs import Pool
from clusterlens.compute.ranking.ranking import rank_partitions
from clusterlens.compute.ranking.voting import CHOSEN_VOTES, VOTES, vote_weights

WAYS = ("leader", "closest", "select")
# Above this number of samples, agreements are estimated.
MOST_COUNTED = 100_000
_FEWEST = 1e-9


class ConsensusClusterer(ClusterMixin, BaseEstimator):
    """Run a pool of clusterings, take its most typical partition, and assign new rows.

    Parameters
    ----------
    pool : str or sequence, default "default"
        As in `run_pool`.
    n_clusters : {"leader", "closest", "select"} or int, default "leader"
        The partition to take: "leader", of the model closest to the consensus;
        "closest", of the consensus with the number of clusters of `closest_cut`;
        "select", of the consensus with the number found by `select_k`, or of the leader
        if none stands out, with a warning; or of the consensus with the given number of
        clusters. If cannot-links need more clusters than found, the fewest that obey
        them are taken, with a warning.
    constraints : Constraints, optional
        Pairs of samples that should be joined or separated. They count in the ranking,
        and a consensus partition obeys them.
    novelty : float, optional
        Rate, between 0 and 1, at which rows like those seen may be called nowhere:
        `predict` then gives -1 to rows too far from their cluster. Default: never.
    random_state : int, Generator or None, default 0
        Seed of everything random.
    n_jobs : int, optional
        Largest number of worker processes, 1 for this process alone; as in `run_pool`.
    votes : {"models", "families", "hubs", "typical"}, default "typical"
        Voters in the consensus, see `vote_weights`.

    Attributes
    ----------
    labels_ : array of int64, shape (n_samples,)
        Clusters 0, 1, ...; -1 for noise of the leader.
    n_clusters_ : int
        Number of clusters, without noise.
    ensemble_ : Ensemble
        The partitions of the pool, with their votes; if all rows are equal, one cluster
        three times, because two partitions are not enough.
    ranking_ : Ranking
        Its models, the closest to the consensus first.
    assigner_ : Assigner
        The assigner of new rows, with the share of the samples that keep their cluster.
    notes_ : tuple of str
        Notes of the pool, and a note if there are fewer distinct rows than clusters.

    Notes
    -----
    X is used as given: scale it before, by `prepare` (a Segmentation keeps its rules,
    too), or in a Pipeline. Agreements of more than 100,000 samples are estimated. If
    there would be more clusters than distinct rows, each of these is a cluster, with a
    warning, unless cannot-links separate equal rows. If all rows are equal, they are
    one cluster and the pool does not run.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X = make_blobs(90, centers=[[0, 0], [9, 0], [0, 9]], random_state=5)[0]
    >>> model = ConsensusClusterer("quick").fit(X)
    >>> model.n_clusters_, len(set(model.predict([[9, 1], [8, 0], [0, 8]])))
    (3, 2)
    """

    def __init__(
        self,
        pool: Pool = "default",
        n_clusters: str | int = "leader",
        constraints: Constraints | None = None,
        novelty: float | None = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        votes: str = CHOSEN_VOTES,
    ) -> None:
        self.pool = pool
        self.n_clusters = n_clusters
        self.constraints = constraints
        self.novelty = novelty
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.votes = votes

    def fit(self, X: npt.ArrayLike, y: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite features; at least three samples.
        y : object
            Ignored.

        Returns
        -------
        self : ConsensusClusterer
            Fitted.
        """
        seed = check_random_state(self.random_state)
        data = validate_data(self, X, dtype=np.float64, ensure_min_samples=3)
        self._check_novelty()
        self._check_n_clusters(len(data))
        links = check_constraints(self.constraints, len(data))
        by: Any = check_choice(self.votes, VOTES, name="votes")
        distinct, rows = np.unique(data + 0.0, axis=0, return_inverse=True)
        one_row = len(distinct) == 1 and not len(links.cannot_link)
        ensemble = (
            Ensemble([rows] * 3, [f"equal rows ({k})" for k in (1, 2, 3)])
            if one_row
            else run_pool(data, self.pool, seed, self.n_jobs)
        )
        weights = vote_weights(ensemble, by, n_jobs=self.n_jobs)
        self.ensemble_ = ensemble.with_weights(weights)
        counted: Any = self.ensemble_
        if len(data) > MOST_COUNTED:
            counted = estimate_agreements(self.ensemble_, random_state=seed)
        self.ranking_ = rank_partitions(counted, constraints=links)
        self.notes_ = ensemble.notes
        labels = rows if one_row else self._partition(data, links, seed)
        if one_row or (labels.max() >= len(distinct) and not len(links.cannot_link)):
            labels = rows
            note = f"Only {count(len(distinct), 'row')} of X differ; each is a cluster."
            if one_row:
                note = "All rows of X are equal; they are one cluster."
            self.notes_ = (*self.notes_, as_note(note))
            warn_caller(note)
        self.labels_ = labels
        self.n_clusters_ = int(labels.max()) + 1
        self.assigner_ = fit_assigner(data, self.labels_, random_state=seed)
        return self

    def predict(self, X: npt.ArrayLike) -> IntArray:
        """Assign rows to the clusters.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features like those of fit.

        Returns
        -------
        labels : array of int64, shape (n_rows,)
            Clusters; -1 for noise and, with `novelty`, for rows that belong nowhere.
        """
        assigned = self._assign(X)
        novelty = self._check_novelty()
        if novelty is None:
            return assigned.cluster
        return np.where(assigned.p <= novelty, UNLABELLED, assigned.cluster)

    def predict_margin(self, X: npt.ArrayLike) -> FloatArray:
        """Compute how certain the assignment of rows is.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features as those of fit.

        Returns
        -------
        margin : array of float64, shape (n_rows,)
            How often such rows are assigned right minus how often not, in [0, 1].
        """
        return self._assign(X).margin

    def _assign(self, X: npt.ArrayLike) -> Assigned:
        check_is_fitted(self)
        data = validate_data(self, X, dtype=np.float64, reset=False)
        return self.assigner_.assign(data)

    def _partition(self, X: FloatArray, links: Constraints, seed: int) -> IntArray:
        """Return the requested partition, numbered without gaps."""
        k = self.n_clusters
        if k == "select":
            most = min(10, int(0.8 * len(X)))
            k = select_k(X, range(2, most + 1), seed, n_jobs=self.n_jobs).k or "leader"
            if k == "leader":
                warn_caller(
                    "n_clusters is 'select', but no number of clusters stands out from "
                    "structureless data; the partition of the leader is taken.",
                )
        if k == "closest":
            found = closest_cut(self.ensemble_, random_state=seed, n_jobs=self.n_jobs)
            if not links.n_pairs:
                return found.labels
            k = found.n_clusters
        if not isinstance(k, str):
            return self._obeying(k, links, seed)
        labels = np.asarray(self.ensemble_.labels[self.ranking_.order[0]])
        noise = labels == UNLABELLED
        if noise.all():
            return np.zeros(len(labels), np.int64)
        numbered = np.full(len(labels), UNLABELLED, np.int64)
        numbered[~noise] = np.unique(labels[~noise], return_inverse=True)[1]
        return numbered

    def _obeying(self, n_clusters: int, links: Constraints, seed: int) -> IntArray:
        """Return the consensus, with more clusters if links need them and it may."""
        k = n_clusters
        while True:
            try:
                labels = consensus_partition(
                    self.ensemble_, k, constraints=links, random_state=seed
                )
            except ConstraintError:
                if not isinstance(self.n_clusters, str):
                    raise
                k += 1
            else:
                break
        if k > n_clusters:
            note = (
                f"n_clusters is {self.n_clusters!r}, which finds {n_clusters}, but the "
                f"cannot-links need {k} clusters; {k} are taken."
            )
            self.notes_ = (*self.notes_, as_note(note))
            warn_caller(note)
        return labels

    def _check_n_clusters(self, n_samples: int) -> None:
        if isinstance(self.n_clusters, str):
            if self.n_clusters not in WAYS:
                raise ValueError(
                    f"n_clusters is {plain_repr(self.n_clusters)}; give 'leader', "
                    "'closest', 'select' or a whole number."
                )
        else:
            name = "n_clusters"
            check_range(self.n_clusters, 1, n_samples, name=name, integer=True)

    def _check_novelty(self) -> float | None:
        if self.novelty is None:
            return None
        return check_range(self.novelty, _FEWEST, 1 - _FEWEST, name="novelty")
