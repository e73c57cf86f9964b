"""Spherical k-means: groups of rows that point in the same direction."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import kmeans_plusplus
from sklearn.utils.validation import validate_data

from clusterlens.compute._validation import FloatArray, IntArray, check_range
from clusterlens.compute.estimators._random import legacy_random_state
from clusterlens.compute.formatting import count

_ROUNDING = 1e-12  # of a cosine


class SphericalKMeans(ClusterMixin, BaseEstimator):
    """k-means on rows of unit length, with centres of unit length.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters, 1 to the number of different directions of rows; rows of
        zeros have none.
    n_init : int, default 1
        Number of starts; the best result is kept.
    max_iter : int, default 300
        Largest number of iterations of a start.
    random_state : int, RandomState, Generator or None, default 0
        Seed of the starts, by k-means++.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Cluster of each row, 0 to n_clusters - 1.
    cluster_centers_ : array of float64, shape (n_clusters, n_features)
        Directions, of unit length.
    mean_cosine_ : float
        Mean cosine of a row and its centre, up to 1, which the fit maximises.
    n_iter_ : int
        Iterations of the best start.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    O(n k d) for each iteration. A cluster that loses all its rows takes the row that
    fits its own centre worst. A row of zeros moves no centre: it counts as
    perpendicular to all of them and joins the first. Directions are relative to the
    origin, which is the mean row for standardised features.

    References
    ----------
    Dhillon & Modha (2001), Concept decompositions for large sparse text data using
    clustering, doi:10.1023/A:1007612920971.

    Examples
    --------
    >>> X = [[1, 0], [5, 0.1], [0, 1], [0.1, 7]]
    >>> labels = SphericalKMeans(2, random_state=0).fit_predict(X)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        n_init: int = 1,
        max_iter: int = 300,
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Find directions, and the nearest of them for each row.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            Finite.
        y : ignored
            For the interface of scikit-learn.

        Returns
        -------
        self : SphericalKMeans
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or a parameter cannot be used.
        """
        data: FloatArray = validate_data(self, X, dtype=np.float64)
        check_range(self.n_clusters, 1, len(data), name="n_clusters", integer=True)
        check_range(self.n_init, 1, np.inf, name="n_init", integer=True)
        check_range(self.max_iter, 1, np.inf, name="max_iter", integer=True)
        rows, random = unit_rows(data), legacy_random_state(self.random_state)
        directed = rows[rows.any(axis=1)]
        if len(directed) < self.n_clusters:
            raise ValueError(
                f"X has {count(len(directed), 'row')} with a direction, not all zeros, "
                f"for n_clusters={self.n_clusters}; give no more clusters than those."
            )
        self.mean_cosine_ = -np.inf
        for _ in range(self.n_init):
            centres, _ = kmeans_plusplus(directed, self.n_clusters, random_state=random)
            n_iter = _settle(directed, centres, self.max_iter)
            labels, cosines = _assign(rows, centres)
            if (n_found := len(np.unique(labels))) < self.n_clusters:
                raise ValueError(
                    f"X has rows in only {count(n_found, 'direction')} for "
                    f"n_clusters={self.n_clusters}; give no more clusters than those."
                )
            if (cosine := float(cosines.mean())) > self.mean_cosine_:
                self.labels_, self.cluster_centers_ = labels, centres
                self.mean_cosine_, self.n_iter_ = cosine, n_iter
        return self


def unit_rows(X: FloatArray) -> FloatArray:
    """Scale rows (n_samples, n_features) to length 1; rows of zeros stay."""
    # By the largest entry first, so that no square overflows or vanishes.
    largest = np.abs(X).max(axis=1, keepdims=True)
    rows = X / np.where(largest > 0, largest, 1)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)


def _settle(rows: FloatArray, centres: FloatArray, max_iter: int) -> int:
    """Move the centres, in place, until no row changes its cluster; count the moves."""
    labels = np.full(len(rows), -1)
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        found, cosines = _assign(rows, centres)
        if (found == labels).all():
            break
        labels = found
        if cosines.min() > 1 - _ROUNDING:  # all rows lie on their centres
            break
        for k in np.setdiff1d(np.arange(len(centres)), labels):
            worst = cosines.argmin()
            labels[worst], cosines[worst] = k, 1.0
        _direct(rows, labels, centres)
    return n_iter


def _assign(rows: FloatArray, centres: FloatArray) -> tuple[IntArray, FloatArray]:
    """Nearest centre (n_samples,) of each row, and the cosine with it."""
    cosines = rows @ centres.T
    labels = cosines.argmax(axis=1)
    return labels, cosines[np.arange(len(rows)), labels]


def _direct(rows: FloatArray, labels: IntArray, centres: FloatArray) -> None:
    """Point each centre to where the sum of its rows points, if anywhere."""
    for k in range(len(centres)):
        total = rows[labels == k].sum(axis=0)
        length = np.linalg.norm(total)
        if length > 0:
            centres[k] = total / length
