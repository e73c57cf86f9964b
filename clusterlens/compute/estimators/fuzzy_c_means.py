"""Fuzzy c-means: the soft relative of k-means, by alternating closed-form updates.

Time O(n_samples n_features n_clusters) per iteration, memory O(n_samples n_clusters).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_is_fitted

from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    check_range,
    warn_caller,
)
from clusterlens.compute.estimators._input import validate_features
from clusterlens.compute.estimators._random import legacy_random_state


class FuzzyCMeans(ClusterMixin, BaseEstimator):
    """Cluster samples softly around centres (fuzzy c-means).

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters.
    fuzzifier : float in [1.001, 1000], default 2.0
        Exponent m of the memberships. Towards 1 they become those of k-means; large
        values blur them towards 1 / n_clusters.
    n_init : int, default 1
        Number of starts (centres by k-means++); the lowest objective wins.
    max_iter : int, default 300
        Largest number of iterations of one start.
    tol : float, default 1e-5
        A start has converged when no membership changes by more.
    random_state : int, RandomState, Generator or None, default None
        Seed of the starts.

    Attributes
    ----------
    cluster_centers_ : array of float64, shape (n_clusters, n_features)
        Centres: means of the samples weighted by memberships to the power m.
    memberships_ : array of float64, shape (n_samples, n_clusters)
        Memberships; rows sum to one.
    labels_ : array of int, shape (n_samples,)
        Cluster of the largest membership.
    objective_ : float
        Sum of squared distances to the centres, weighted by memberships to the power m.
    n_iter_ : int
        Iterations of the best start.

    Notes
    -----
    For fixed centres the optimal memberships are proportional to the squared distances
    to the power -1 / (m - 1); for fixed memberships the optimal centres are weighted
    means. In many dimensions all distances become alike and with them, at m = 2, all
    centres; a smaller fuzzifier helps.

    References
    ----------
    J. C. Bezdek, R. Ehrlich, W. Full, "FCM: the fuzzy c-means clustering algorithm",
    Computers & Geosciences 10 (1984), doi 10.1016/0098-3004(84)90020-7.

    Examples
    --------
    >>> X = [[0.0], [1.0], [9.0], [10.0]]
    >>> model = FuzzyCMeans(n_clusters=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    >>> model.predict_proba([[5.0]]).round(2)
    array([[0.5, 0.5]])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        fuzzifier: float = 2.0,
        n_init: int = 1,
        max_iter: int = 300,
        tol: float = 1e-5,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.fuzzifier = fuzzifier
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: Any = None) -> Self:
        """Find centres and memberships.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            Samples.
        y : None
            Ignored.

        Returns
        -------
        self : FuzzyCMeans
            The fitted estimator.
        """
        points = validate_features(self, X)
        check_range(self.n_clusters, 1, np.inf, name="n_clusters", integer=True)
        check_range(self.fuzzifier, 1.001, 1000, name="fuzzifier")
        check_range(self.n_init, 1, np.inf, name="n_init", integer=True)
        check_range(self.tol, 0, np.inf, name="tol")
        check_range(self.max_iter, 1, np.inf, name="max_iter", integer=True)
        if len(points) < self.n_clusters:
            raise ValueError(
                f"X has n_samples={len(points)} for n_clusters={self.n_clusters}; give "
                "at least one sample per cluster."
            )
        random = legacy_random_state(self.random_state)
        offset = points.mean(axis=0)  # k-means++ loses digits far from the origin
        starts = [self._run(points - offset, random) for _ in range(self.n_init)]
        self.objective_, self.n_iter_, centres, converged = min(
            starts, key=lambda start: start[0]
        )
        if not converged:
            warn_caller(
                f"Fuzzy c-means stopped after max_iter={self.max_iter} iterations; "
                "raise max_iter or tol.",
                ConvergenceWarning,
            )
        self.cluster_centers_ = centres + offset
        self.memberships_ = self._memberships(points - offset, centres)
        self.labels_ = self.memberships_.argmax(axis=1)
        return self

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Compute the memberships of samples in the fitted clusters.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            Samples.

        Returns
        -------
        memberships : array of float64, shape (n_samples, n_clusters)
            Rows sum to one.
        """
        check_is_fitted(self)
        points = validate_features(self, X, reset=False)
        return self._memberships(points, self.cluster_centers_)

    def predict(self, X: npt.ArrayLike) -> IntArray:
        """Find the cluster of the largest membership of samples.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : array of int, shape (n_samples,)
            Positions of clusters.
        """
        return self.predict_proba(X).argmax(axis=1)

    def _run(
        self, points: FloatArray, random: np.random.RandomState
    ) -> tuple[float, int, FloatArray, bool]:
        """Iterate from one start; return objective, iterations, centres, converged."""
        centres = kmeans_plusplus(points, self.n_clusters, random_state=random)[0]
        memberships = self._memberships(points, centres)
        n_iter, change = 0, np.inf
        while n_iter < self.max_iter and change > self.tol:
            n_iter += 1
            centres = _weighted_means(points, memberships**self.fuzzifier)
            previous, memberships = memberships, self._memberships(points, centres)
            change = float(np.abs(memberships - previous).max())
        weights = memberships**self.fuzzifier
        objective = float((weights * _squared_distances(points, centres)).sum())
        return objective, n_iter, centres, change <= self.tol

    def _memberships(self, points: FloatArray, centres: FloatArray) -> FloatArray:
        """Optimal memberships (n, K) for centres (K, d)."""
        squares = np.maximum(_squared_distances(points, centres), np.finfo(float).tiny)
        # Relative to the nearest centre, for any units; a centre at distance 0 has all.
        with np.errstate(over="ignore"):
            ratios = squares / squares.min(axis=1, keepdims=True)
        memberships = ratios ** (1 / (1 - self.fuzzifier))
        return memberships / memberships.sum(axis=1, keepdims=True)


def _squared_distances(points: FloatArray, centres: FloatArray) -> FloatArray:
    """Squared distances (n, K); from dot products, hence near the origin."""
    middle = centres.mean(axis=0)
    return euclidean_distances(points - middle, centres - middle, squared=True)


def _weighted_means(points: FloatArray, weights: FloatArray) -> FloatArray:
    """Means of points (n, d) under each column of weights (n, K), shape (K, d)."""
    totals = weights.sum(axis=0)
    # Weights of a cluster far from every sample may all underflow; keep it finite.
    return (weights.T @ points) / np.maximum(totals, np.finfo(float).tiny)[:, None]
