"""Selective nearest neighbours: cores joined unless border points separate them.

A few rounds of peeling set border samples apart. Each core sample is linked with all
samples up to its nearest border sample. Border samples that are not reached follow the
nearest reached one, unless they are outliers there.

Cost: a neighbour search for each round, one pass over pairs of cores, and a small
principal-component analysis for each border sample reached: O(n² d) time, O(n k)
memory.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2
from sklearn.base import BaseEstimator, ClusterMixin

from clusterlens.compute._validation import FloatArray, IntArray, check_range
from clusterlens.compute.estimators._input import validate_features
from clusterlens.compute.estimators._joining import join, join_within, set_labels
from clusterlens.compute.estimators.border_peeling import border_density
from clusterlens.compute.estimators.neighbors import (
    Table,
    neighbor_table,
    neighbors_of,
)
from clusterlens.compute.estimators.units import spread

_PEELED = 0.1
_OUTLIER_QUANTILE = 0.99


class SelectiveNN(ClusterMixin, BaseEstimator):
    """Clustering by selective nearest neighbours.

    Parameters
    ----------
    n_neighbors : int, default 20
        Neighbours used for the density, at least 1; at most n_samples - 1 are used.
    n_rounds : int, default 5
        Rounds of peeling, at least 1; each round peels a tenth (rounded up) of the
        remaining samples.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Clusters 0, 1, ...; each outlier is a cluster of its own.
    n_clusters_ : int
        Number of clusters, outliers included.
    outliers_ : array of int
        Border samples that were left alone.

    Notes
    -----
    The density of i is the sum of exp(-d_ij² / s_j) over the samples j that have i
    among their k neighbours, s_j being the distance of j to its k-th (not squared, as
    published). A border sample is an outlier if its squared Mahalanobis distance, on
    the two principal components of its target's surroundings, exceeds the 0.99 quantile
    of chi-square with two degrees of freedom. The surroundings are the k neighbours of
    the target and, once more if among them, the border samples that would follow it.

    References
    ----------
    Hofmeyr (2025), Clustering by non-parametric smoothing, arXiv:2503.09134, section on
    the methods compared.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X = make_blobs(200, centers=[[0, 0], [9, 0], [0, 9]], random_state=5)[0]
    >>> model = SelectiveNN().fit(X)
    >>> model.n_clusters_ - len(model.outliers_)
    3
    """

    def __init__(self, n_neighbors: int = 20, n_rounds: int = 5) -> None:
        self.n_neighbors = n_neighbors
        self.n_rounds = n_rounds

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Peel and link.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            At least two samples, finite.
        y : ignored
            For the interface of scikit-learn.

        Returns
        -------
        self : SelectiveNN
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or a parameter cannot be used.
        """
        data = validate_features(self, X, ensure_min_samples=2)
        check_range(self.n_neighbors, 1, np.inf, name="n_neighbors", integer=True)
        check_range(self.n_rounds, 1, np.inf, name="n_rounds", integer=True)
        core, border = self._split(data)
        parents = np.arange(len(data))
        table, reach = neighbors_of(data[core], data[border], 1)
        join_within(parents, data, core, reach[:, 0])
        join(parents, core, border[table[:, 0]])
        hit = np.unique(border[table[:, 0]])
        missed = np.setdiff1d(border, hit)
        self.outliers_ = missed[:0]
        if len(missed):
            target = hit[neighbors_of(data[missed], data[hit], 1)[0][:, 0]]
            near = neighbor_table(data, min(self.n_neighbors, len(data) - 1))[0]
            outlying = _outlying(data, missed, target, near)
            join(parents, missed[~outlying], target[~outlying])
            self.outliers_ = missed[outlying]
        self.labels_ = set_labels(parents)
        self.n_clusters_ = int(self.labels_.max()) + 1
        return self

    def _split(self, X: FloatArray) -> tuple[IntArray, IntArray]:
        """Peel; return the core and the border samples, both ascending, none empty."""
        core, unit = np.arange(len(X)), spread(X)
        for _ in range(self.n_rounds):
            n_peeled = math.ceil(_PEELED * len(core))
            if len(core) - n_peeled < 1:
                break
            if len(core) > 1:
                density = border_density(
                    X[core], self.n_neighbors, squared=False, unit=unit
                )
            ranked = np.argsort(density, kind="stable")
            core = np.sort(core[ranked[n_peeled:]])
        return core, np.setdiff1d(np.arange(len(X)), core)


def _outlying(
    X: FloatArray, missed: IntArray, target: IntArray, near: Table
) -> npt.NDArray[np.bool_]:
    """Whether each missed sample is an outlier where it would go, shape (n_missed,)."""
    limit = chi2.ppf(_OUTLIER_QUANTILE, 2)
    outlying = np.zeros(len(missed), dtype=bool)
    for h in np.unique(target):
        attached = np.flatnonzero(target == h)
        # As published: without h, and attached neighbours count twice.
        members = np.concatenate([near[h], missed[attached]])
        center = X[members].mean(axis=0)
        _, spread, axes = np.linalg.svd(X[members] - center, full_matrices=False)
        used = spread[:2] > 1e-12 * max(spread[0], 1e-300)
        scores = (X[missed[attached]] - center) @ axes[:2][used].T
        variances = spread[:2][used] ** 2 / (len(members) - 1)
        outlying[attached] = (scores**2 / variances).sum(axis=1) > limit
    return outlying
