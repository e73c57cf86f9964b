"""Border peeling: remove border samples layer by layer until the cores remain.

Each round peels the tenth of the samples with the fewest close neighbours, and joins
each peeled sample to its nearest sample inside. The samples that remain are the cores
of the clusters.

Cost: a neighbour search among the samples left in each round, O(n² d) in all, and one
pass over pairs of cores; memory O(n k).
"""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin

from clusterlens.compute._validation import FloatArray, IntArray, check_range, is_auto
from clusterlens.compute.ensemble.ensemble import NOISE
from clusterlens.compute.estimators._input import validate_features
from clusterlens.compute.estimators._joining import join, join_within, set_labels
from clusterlens.compute.estimators.neighbors import neighbor_table, neighbors_of

_PEELED = 0.1
_SMALLEST_REST = 0.01
_MAX_ROUNDS = 100
_JUMP = 0.15
_FIRST_JUMP_ROUND = 3


class BorderPeeling(ClusterMixin, BaseEstimator):
    """Clustering by repeatedly peeling off the border of the data.

    Parameters
    ----------
    n_neighbors : int, default 20
        Neighbours used for the density, at least 1; at most n_samples - 1 are used.
    link_factor : float, default 3.0
        A sample may be joined over at most this many times the mean join distance of
        the peeled samples near it, above 0.
    min_cluster_size : "auto" or int, default "auto"
        Smaller sets are noise; "auto" is 10 below 1000 samples and 30 from there on.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Clusters 0, 1, ...; -1 is noise.
    n_clusters_ : int
        Number of clusters.
    n_rounds_ : int
        Number of rounds of peeling.

    Notes
    -----
    The density of i is the sum of exp(-d_ij² / s_j²) over the samples j that have i
    among their k neighbours, s_j being the distance of j to its k-th. No join is longer
    than the mean plus the standard deviation of all neighbour distances. Peeling stops
    if the mean density of the peeled samples jumps: its ratio to the mean density of
    the round before exceeds the previous ratio by 0.15.

    References
    ----------
    Averbuch-Elor, Bar & Cohen-Or (2020), Border-peeling clustering, IEEE Transactions
    on Pattern Analysis and Machine Intelligence 42(7).

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X = make_blobs(200, centers=[[0, 0], [9, 0], [0, 9]], random_state=5)[0]
    >>> BorderPeeling().fit(X).n_clusters_
    3
    """

    def __init__(
        self,
        n_neighbors: int = 20,
        link_factor: float = 3.0,
        min_cluster_size: int | str = "auto",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.link_factor = link_factor
        self.min_cluster_size = min_cluster_size

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Peel, join the cores, and drop the small sets.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            At least two samples, finite.
        y : ignored
            For the interface of scikit-learn.

        Returns
        -------
        self : BorderPeeling
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or a parameter cannot be used.
        """
        data = validate_features(self, X, ensure_min_samples=2)
        check_range(self.n_neighbors, 1, np.inf, name="n_neighbors", integer=True)
        check_range(self.link_factor, 0, np.inf, name="link_factor")
        smallest = 10 if len(data) < 1000 else 30
        if not is_auto(self.min_cluster_size):
            smallest = check_range(
                self.min_cluster_size, 1, np.inf, name="min_cluster_size", integer=True
            )
        parents = self._peel(data)
        sets = set_labels(parents)
        large = np.bincount(sets) >= smallest
        names = np.where(large, np.cumsum(large) - 1, NOISE)
        self.labels_ = names[sets].astype(np.int64)
        self.n_clusters_ = int(large.sum())
        return self

    def _peel(self, X: FloatArray) -> IntArray:
        """Return the union-find parents after all joins, shape (n_samples,)."""
        parents = np.arange(len(X))
        inside = np.ones(len(X), dtype=bool)
        alone: list[IntArray] = []
        distances = neighbor_table(X, min(self.n_neighbors, len(X) - 1))[1]
        longest = float(distances.mean() + distances.std())
        limits = np.full(len(X), longest)
        means: list[float] = []
        for round_number in range(_MAX_ROUNDS):
            left = np.flatnonzero(inside)
            if len(left) < max(2, _SMALLEST_REST * len(X)):
                break
            density = border_density(X[left], self.n_neighbors)
            border = density <= np.sort(density)[int(_PEELED * len(left))]
            means.append(float(density[border].mean()))
            if border.all() or (round_number >= _FIRST_JUMP_ROUND and _jumps(means)):
                break
            inside[left[border]] = False
            alone.append(_join_inside(X, left[border], inside, limits, parents))
            self._update_limits(X, inside, limits, longest)
        self.n_rounds_ = round_number
        cores = np.concatenate([np.flatnonzero(inside), *alone])
        join_within(parents, X, cores, limits[cores])
        return parents

    def _update_limits(
        self,
        X: FloatArray,
        inside: npt.NDArray[np.bool_],
        limits: FloatArray,
        longest: float,
    ) -> None:
        """Update the longest join of remaining samples from peeled ones nearby."""
        peeled = np.flatnonzero(~inside)
        if len(peeled) < self.n_neighbors or not inside.any():
            return
        near = neighbors_of(X[inside], X[peeled], self.n_neighbors)[0]
        joined = limits[peeled[near]].mean(axis=1)
        limits[inside] = np.minimum(longest, self.link_factor * joined)


def border_density(
    X: FloatArray, n_neighbors: int, *, squared: bool = True, unit: float = 1.0
) -> FloatArray:
    """Density of each sample from the samples with it as neighbour, (n_samples,).

    The sum over j of exp(-d_ij² / s_j²), or of exp(-d_ij² / (s_j unit)) if not squared,
    where s_j is the distance of j to its last neighbour.
    """
    table, distances = neighbor_table(X, min(n_neighbors, len(X) - 1))
    last = distances[:, -1:]
    scale = last**2 if squared else last * unit
    # If all neighbours are duplicates, the distance is 0 and its weight 1.
    weights = np.exp(-(distances**2) / np.where(scale > 0, scale, 1))
    density: FloatArray = np.bincount(
        table.ravel(), weights.ravel(), minlength=len(X)
    ).astype(np.float64, copy=False)
    return density


def _jumps(means: list[float]) -> bool:
    """Whether the last mean density rose faster than the one before."""
    before, middle, last = means[-3:]
    return last * before - middle * middle > _JUMP * middle * before


def _join_inside(
    X: FloatArray,
    border: IntArray,
    inside: npt.NDArray[np.bool_],
    limits: FloatArray,
    parents: IntArray,
) -> IntArray:
    """Join border samples to their nearest inside; return those too far from it."""
    members = np.flatnonzero(inside)
    table, distances = neighbors_of(X[border], X[members], 1)
    near = distances[:, 0] <= limits[border]
    join(parents, border[near], members[table[near, 0]])
    # Later limits follow the lengths of actual joins.
    limits[border[near]] = distances[near, 0]
    return border[~near]
