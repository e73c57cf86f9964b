"""Mean shift on nearest neighbours: every sample climbs to a mode of the density.

A sample moves to the mean of its k nearest data points until those no longer change;
samples with the same last neighbourhood share a cluster. Each step lowers the sum of
the k smallest squared distances, so the number of steps is finite (and is limited, as
rounding may not see that two means are equal). Samples on the same neighbourhood move
on together, which leaves few searches after some steps.
"""

from __future__ import annotations

import math
from typing import Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import validate_data

from clusterlens.compute._validation import FloatArray, check_range
from clusterlens.compute.neighbors import Table, neighbors_of

_MAX_STEPS = 1000


class KNNMeanShift(ClusterMixin, BaseEstimator):
    """Mean shift whose kernel is the k nearest data points.

    Parameters
    ----------
    n_neighbors : "auto" or int, default "auto"
        Neighbours k, 1 to n_samples; "auto" is twice the square root of n_samples,
        rounded up.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Clusters 0, 1, ... by their first sample.
    n_clusters_ : int
        Number of clusters.
    modes_ : array of float64, shape (n_clusters, n_features)
        Where the samples of each cluster end.
    n_neighbors_ : int
        The k used.
    n_steps_ : int
        Steps until nothing moved.

    Notes
    -----
    Unlike `sklearn.cluster.MeanShift`, whose bandwidth is a fixed distance. Each step
    is a neighbour search for the neighbourhoods that still move: O(n² d) for the first.

    References
    ----------
    Duong, Beck, Azzag & Lebbah (2016), Nearest neighbour estimators of density
    derivatives, with application to mean shift clustering.

    Examples
    --------
    >>> X = [[0], [1], [2], [8], [9], [10]]
    >>> KNNMeanShift(n_neighbors=3).fit_predict(X).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    def __init__(self, n_neighbors: int | Literal["auto"] = "auto") -> None:
        self.n_neighbors = n_neighbors

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Move every sample to its mode.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            The samples, finite.
        y : ignored
            For the interface of scikit-learn.

        Returns
        -------
        self : KNNMeanShift
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or a parameter cannot be used.
        """
        data: FloatArray = validate_data(self, X, dtype=np.float64)
        self.n_neighbors_ = min(math.ceil(2 * math.sqrt(len(data))), len(data))
        if self.n_neighbors != "auto":
            check_range(
                self.n_neighbors, 1, len(data), name="n_neighbors", integer=True
            )
            self.n_neighbors_ = int(self.n_neighbors)
        ends = self._climb(data)
        _, first, label = np.unique(
            ends, axis=0, return_index=True, return_inverse=True
        )
        order = np.argsort(first)
        self.labels_ = np.argsort(order)[label]
        self.modes_ = data[ends[first[order]]].mean(axis=1)
        self.n_clusters_ = len(order)
        return self

    def _climb(self, X: FloatArray) -> Table:
        """Last neighbourhood of each sample, sorted; shape (n_samples, k)."""
        # Distinct neighbourhoods on the way, and the one of each sample.
        on_the_way, place = np.unique(
            _neighborhoods(X, X, self.n_neighbors_), axis=0, return_inverse=True
        )
        moving = np.ones(len(on_the_way), dtype=bool)
        self.n_steps_ = 1
        while moving.any() and self.n_steps_ < _MAX_STEPS:
            after = on_the_way.copy()
            means = X[on_the_way[moving]].mean(axis=1)
            after[moving] = _neighborhoods(means, X, self.n_neighbors_)
            moved = (after != on_the_way).any(axis=1)
            on_the_way, merged = np.unique(after, axis=0, return_inverse=True)
            # All that reached a neighbourhood rest once one of them rests there.
            moving = np.ones(len(on_the_way), dtype=bool)
            moving[merged[~moved]] = False
            place = merged[place]
            self.n_steps_ += 1
        return on_the_way[place]


def _neighborhoods(points: FloatArray, X: FloatArray, n_neighbors: int) -> Table:
    """Indices of the nearest rows of X, ascending, shape (n_points, n_neighbors)."""
    return np.sort(neighbors_of(points, X, n_neighbors)[0], axis=1)
