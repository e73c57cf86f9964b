"""Torque Clustering: merge nearest clusters, then cut the connections with most torque.

Every cluster connects to its nearest one if that is at least as large; connected ones
merge, round after round, until one is left. A connection's torque is the product of its
mass (the two sizes) and its squared distance; a large gap in the sorted torques tells
how many connections join different clusters.

No distance matrix is made: nearest clusters come from the neighbour table as long as it
reaches, then from a scan. Memory O(n); time O(n² d) for each round at worst, and the
number of rounds is about the logarithm of n.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    check_choice,
    check_range,
    is_auto,
)
from clusterlens.compute.ensemble.connected import components
from clusterlens.compute.estimators._blocked_search import squared_distance
from clusterlens.compute.estimators._input import to_metric, validate_features
from clusterlens.compute.estimators.neighbors import neighbor_table

LISTED = 32


class TorqueClustering(ClusterMixin, BaseEstimator):
    """Parameter-free clustering by the torques of nearest-cluster connections.

    Parameters
    ----------
    n_clusters : "auto" or int, default "auto"
        Number of clusters; "auto" cuts at the largest torque gap.
    metric : {"euclidean", "cosine"}, default "euclidean"
        Distance of samples; "cosine" is one minus the cosine of the rows as given.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Clusters 0, 1, ...
    n_clusters_ : int
        Number of clusters.
    connections_ : array of int, shape (n_samples - 1, 2)
        Closest samples of the two clusters of each connection, largest torque first.
    torques_ : array of float64, shape (n_samples - 1,)
        Mass times squared distance, descending.
    gaps_ : array of float64, shape (n_samples - 1,)
        Torque gap after each connection; at least 0, the largest one is cut.

    Notes
    -----
    A connection is large if mass, squared distance and torque are each at least their
    mean over the connections after the first round. The gap after connection i is
    omega_i tau_i / tau_(i+1), with omega_i the share of the large ones among the first
    i, or 1 if none is large; it is 0 for connections of the first round. With no
    positive gap only the connection of largest torque is cut. If that torque is 0, all
    samples are equal and make one cluster. Equal distances are ordered by sample
    indices.

    References
    ----------
    Yang & Lin (2024), Autonomous clustering by fast find of mass and distance peaks,
    IEEE Transactions on Pattern Analysis and Machine Intelligence.

    Examples
    --------
    >>> TorqueClustering().fit_predict([[0], [1], [2], [10], [11], [13]]).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = "auto",
        metric: Literal["euclidean", "cosine"] = "euclidean",
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Connect all samples and cut.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            At least two samples, finite.
        y : ignored
            For the interface of scikit-learn.

        Returns
        -------
        self : TorqueClustering
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or a parameter cannot be used.
        """
        data = validate_features(self, X, ensure_min_samples=2)
        check_choice(self.metric, ("euclidean", "cosine"), name="metric")
        if not is_auto(self.n_clusters):
            check_range(self.n_clusters, 1, len(data), name="n_clusters", integer=True)
        pairs, masses, squares, rounds = _connect_all(to_metric(data, self.metric))
        # One minus the cosine is half the squared distance of the unit vectors.
        distances = squares if self.metric == "euclidean" else (squares / 2) ** 2
        torques = masses * distances
        order = np.argsort(-torques, kind="stable")
        self.connections_, self.torques_ = pairs[order], torques[order]
        self.gaps_ = _gaps(masses[order], distances[order], rounds[order])
        if is_auto(self.n_clusters):
            # Equal samples stay together: they are joined without any torque.
            cut = min(int(np.argmax(self.gaps_)) + 1, np.count_nonzero(self.torques_))
        else:
            cut = int(self.n_clusters) - 1
        self.labels_ = components(self.connections_[cut:], len(data))
        self.n_clusters_ = int(self.labels_.max()) + 1
        return self


def _gaps(masses: FloatArray, distances: FloatArray, rounds: IntArray) -> FloatArray:
    """Torque gap after each connection, all by descending torque; shape (n - 1,)."""
    torques = masses * distances
    later = rounds > 0
    gaps = np.zeros(len(torques))
    if not later.any():
        return gaps
    large = np.ones(len(torques), dtype=bool)
    for values in (masses, distances, torques):
        large &= values >= values[later].mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.cumsum(large) / large.sum() if large.any() else np.ones(len(gaps))
        gaps[:-1] = share[:-1] * torques[:-1] / torques[1:]
    return np.where(later & np.isfinite(gaps), gaps, 0)


def _connect_all(
    X: FloatArray,
) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
    """Merge all samples; pairs, masses, squared distances, rounds of n - 1 links."""
    n_samples = len(X)
    table = neighbor_table(X, min(LISTED, n_samples - 1))[0]
    search = _Search(X, table)
    labels: IntArray = np.arange(n_samples)
    links: list[npt.NDArray[np.float64]] = []
    while labels.any():
        first, second, squares = search.nearest_clusters(labels)
        sizes = np.bincount(labels)
        targets = labels[second]
        made = np.flatnonzero(sizes[targets] >= sizes)
        # A connection made from both ends counts once.
        both = (sizes[targets] == sizes) & (targets[targets] == np.arange(len(sizes)))
        made = made[~both[made] | (made < targets[made])]
        masses = sizes[made] * sizes[targets[made]]
        rounds = np.full(len(made), len(links))
        links.append(
            np.column_stack([first[made], second[made], masses, squares[made], rounds])
        )
        merges = np.column_stack([made, targets[made]])
        labels = components(merges, len(sizes))[labels]
    rows = np.concatenate(links)
    return rows[:, :2].astype(np.int64), rows[:, 2], rows[:, 3], rows[:, 4].astype(int)


class _Search:
    """Nearest sample outside the own cluster, kept from round to round.

    Clusters only grow, so the nearest outside sample of a sample stays valid until the
    two are merged, and its distance is a lower bound for the next one.
    """

    def __init__(self, X: FloatArray, table: npt.NDArray[np.int32]) -> None:
        self.X, self.table = X, table
        self.place = np.zeros(len(X), np.int64)
        self.nearest = np.full(len(X), -1)
        self.squares = np.zeros(len(X))

    def nearest_clusters(
        self, labels: IntArray
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Closest pair to another cluster, and its squared distance, per cluster."""
        _follow(self.X, self.table, labels, self.place, self.nearest, self.squares)
        return _closest(self.X, labels, self.nearest, self.squares)


@kernel()
def _follow(
    X: Any, table: Any, labels: Any, place: Any, nearest: Any, squares: Any
) -> None:
    """Advance each sample in its list to the first one of another cluster, else -1."""
    n_listed = table.shape[1]
    for i in range(len(X)):
        if nearest[i] >= 0 and labels[nearest[i]] != labels[i]:
            continue
        nearest[i] = -1
        while place[i] < n_listed:
            j = table[i, place[i]]
            squares[i] = squared_distance(X[i], X[j])
            if labels[j] != labels[i]:
                nearest[i] = j
                break
            place[i] += 1


@kernel()
def _closest(X: Any, labels: Any, nearest: Any, squares: Any) -> Any:
    """Closest pair per cluster; samples without a known nearest are scanned if near."""
    n_clusters = labels.max() + 1
    best = np.full(n_clusters, np.inf)
    first, second = np.full(n_clusters, -1), np.full(n_clusters, -1)
    for known in (True, False):
        for i in range(len(X)):
            own = labels[i]
            if (nearest[i] >= 0) != known:
                continue
            if not known:
                if squares[i] > best[own]:
                    continue
                square = np.inf
                for j in range(len(X)):
                    if labels[j] != own:
                        candidate = squared_distance(X[i], X[j])
                        if candidate < square:
                            square, nearest[i] = candidate, j
                squares[i] = square
            if _precedes(squares[i], i, nearest[i], best[own], first[own], second[own]):
                best[own], first[own], second[own] = squares[i], i, nearest[i]
    return first, second, best


@kernel()
def _precedes(
    square: float, i: int, j: int, best: float, first: int, second: int
) -> bool:
    """Whether pair (i, j) comes first by distance, then by its sorted indices."""
    if square != best:
        return square < best
    low, high = min(i, j), max(i, j)
    lowest, highest = min(first, second), max(first, second)
    return low < lowest or (low == lowest and high < highest)
