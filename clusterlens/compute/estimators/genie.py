"""Genie: single linkage with a limit on the inequality of cluster sizes.

The edges of a minimum spanning tree join clusters, the shortest first, as in single
linkage. Whenever the Gini index of the cluster sizes is above a threshold, the shortest
edge that touches a cluster of the smallest size is taken instead. The order of merges
does not depend on the number of clusters, so one pass gives them all.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import (
    IntArray,
    check_choice,
    check_range,
)
from clusterlens.compute.ensemble.connected import components
from clusterlens.compute.estimators._input import validate_features
from clusterlens.compute.estimators._joining import find
from clusterlens.compute.estimators.spanning_trees import (
    Edges,
    ends_of,
    reachability_edges,
)

LEAVES = ("join", "noise")


class Genie(ClusterMixin, BaseEstimator):
    """Hierarchical clustering that keeps the Gini index of cluster sizes low.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters, 1 to n_samples, without noise.
    gini_threshold : float, default 0.3
        0 to 1. Above this inequality of sizes a smallest cluster must be merged; with 1
        the method is single linkage.
    min_samples : int, default 1
        Samples within the core distance of a sample, itself included. Above 1 the tree
        uses mutual reachability, and its leaves are set apart before clustering.
    leaves : {"join", "noise"}, default "join"
        Treatment of these leaves: they join the cluster of their neighbour in the tree,
        or become noise.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Clusters 0, 1, ...; -1 for noise.
    n_clusters_ : int
        Number of clusters.
    merges_ : array of int32, shape (n_merges, 2)
        Ends of the edge of each merge, in order, to the last cluster.
    leaves_ : array of int32, shape (n_leaves, 2)
        Leaves that were set apart, each with its neighbour in the tree.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    The Gini index of k cluster sizes that sum to n is the sum of the differences of all
    pairs of them, divided by (k - 1) n: 0 if all are equal, up to 1. Each merge takes
    O(log n) to update it. Apart from the tree, O(n log n) if the search for a smallest
    cluster restarts few times; each restart costs O(n) at most.

    Edges of equal length are taken in the order of their lower end, then of the higher
    one. Other implementations, and trees that break ties differently, may give other
    clusters if distances are equal (duplicates, grids).

    References
    ----------
    Gagolewski, Bartoszuk & Cena (2016), Genie: a new, fast, and outlier-resistant
    hierarchical clustering algorithm, doi:10.1016/j.ins.2016.05.003; leaves: Gagolewski
    (2021), doi:10.1016/j.softx.2021.100722.

    Examples
    --------
    >>> X = [[0], [1], [2], [10], [11], [13], [99]]
    >>> Genie(2, gini_threshold=0.2).fit_predict(X).tolist()
    [0, 0, 0, 1, 1, 1, 1]
    """

    def __init__(
        self,
        n_clusters: int = 2,
        gini_threshold: float = 0.3,
        min_samples: int = 1,
        leaves: Literal["join", "noise"] = "join",
    ) -> None:
        self.n_clusters = n_clusters
        self.gini_threshold = gini_threshold
        self.min_samples = min_samples
        self.leaves = leaves

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Merge all samples and cut.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            At least two samples, finite.
        y : ignored
            For the interface of scikit-learn.

        Returns
        -------
        self : Genie
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or a parameter cannot be used.
        """
        data = validate_features(self, X, ensure_min_samples=2)
        n = len(data)
        check_range(self.n_clusters, 1, n, name="n_clusters", integer=True)
        check_range(self.gini_threshold, 0, 1, name="gini_threshold")
        check_range(self.min_samples, 1, n, name="min_samples", integer=True)
        check_choice(self.leaves, LEAVES, name="leaves")
        edges = reachability_edges(data, int(self.min_samples))
        self.merges_, self.leaves_ = genie_merges(
            edges, self.gini_threshold, self.min_samples > 1
        )
        self.labels_ = genie_labels(
            self.merges_, self.leaves_, self.n_clusters, self.leaves == "noise"
        )
        self.n_clusters_ = int(self.n_clusters)
        return self


def genie_merges(
    edges: Edges, gini_threshold: float, leaves_apart: bool
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Order the edges of a spanning tree by the merges of Genie.

    `edges` come from `reachability_edges`. Returns the ends of the edge of each merge,
    (n_merges, 2), and each leaf with its neighbour in the tree, (n_leaves, 2), empty if
    leaves are not set apart. A tree of two samples has no other nodes, so these stay.
    """
    ends = np.sort(ends_of(edges).astype(np.int32), axis=1)
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0], edges["length"]))]
    is_leaf = np.bincount(ends.ravel()) == 1
    if not leaves_apart or is_leaf.all():
        is_leaf[:] = False
    hangs = is_leaf[ends].any(axis=1)
    leaves = ends[hangs]
    leaves = np.where(is_leaf[leaves[:, :1]], leaves, leaves[:, ::-1])
    inner = ends[~hangs]
    order = _merge_order(inner, len(is_leaf), float(gini_threshold))
    return inner[order], leaves


def genie_labels(
    merges: IntArray, leaves: IntArray, n_clusters: int, leaves_are_noise: bool
) -> IntArray:
    """Undo the last merges of `genie_merges`: labels (n_samples,), -1 for noise.

    Leaves are noise or join the cluster of their neighbour. ValueError if fewer samples
    are left than clusters.
    """
    n_inner = len(merges) + 1
    if n_clusters > n_inner:
        raise ValueError(
            f"n_clusters is {n_clusters}, but {n_inner} samples are left without the "
            "leaves of the tree; give fewer clusters or min_samples=1."
        )
    n_samples = n_inner + len(leaves)
    joined = np.concatenate([merges[: n_inner - n_clusters], leaves])
    labels = components(joined, n_samples)
    if leaves_are_noise:
        labels[leaves[:, 0]] = -1
    return labels


@kernel()
def _merge_order(edges: Any, n_nodes: int, threshold: float) -> Any:
    """Indices (n_edges,) of edges, given shortest first, as Genie takes them."""
    n_edges, n = len(edges), len(edges) + 1
    parents, sizes = np.arange(n_nodes), np.ones(n_nodes, np.int64)
    order, used = np.empty(n_edges, np.int64), np.zeros(n_edges, np.bool_)
    n_of_size = np.zeros(n + 1, np.int64)
    counts, sums = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    _add(1, n, n_of_size, counts, sums)
    shortest, at, smallest, differences = 0, 0, 1, 0
    for step in range(n_edges):
        while used[shortest]:
            shortest += 1
        edge = shortest
        if differences / (float(n) * (n - step - 1)) > threshold:
            if n_of_size[smallest] == 0:
                at = shortest
                while n_of_size[smallest] == 0:
                    smallest += 1
            # An edge that touches no cluster of that size now never will.
            while used[at] or not _touches(edges, at, parents, sizes, smallest):
                at += 1
            edge = at
        used[edge], order[step] = True, edge
        a, b = find(parents, edges[edge, 0]), find(parents, edges[edge, 1])
        if sizes[a] < sizes[b]:
            a, b = b, a
        large, small = sizes[a], sizes[b]
        # The sum over all pairs of clusters of the difference of their sizes: with A(x)
        # the sum of |x - c| over all sizes c it grows by A(large + small) - A(large)
        # - A(small) - 2 small, and A(x) = 2 _excess(x) + n - x k for k clusters.
        gain = _excess(large + small, counts, sums) - _excess(large, counts, sums)
        gain -= _excess(small, counts, sums) + small
        differences += 2 * gain - n
        _add(large, -1, n_of_size, counts, sums)
        _add(small, -1, n_of_size, counts, sums)
        _add(large + small, 1, n_of_size, counts, sums)
        parents[b], sizes[a] = a, large + small
    return order


@kernel()
def _touches(edges: Any, at: int, parents: Any, sizes: Any, size: int) -> bool:
    """Whether an edge has an end in a cluster of that size."""
    a, b = find(parents, edges[at, 0]), find(parents, edges[at, 1])
    return sizes[a] == size or sizes[b] == size


@kernel()
def _add(size: int, by: int, n_of_size: Any, counts: Any, sums: Any) -> None:
    """Add so many clusters of a size to the Fenwick trees of counts and sums."""
    n_of_size[size] += by
    at = size
    while at < len(counts):
        counts[at] += by
        sums[at] += by * size
        at += at & -at


@kernel()
def _excess(size: int, counts: Any, sums: Any) -> int:
    """Sum size - c over all clusters of size c up to the given one, in O(log n)."""
    count, total, at = 0, 0, size
    while at > 0:
        count += counts[at]
        total += sums[at]
        at -= at & -at
    return size * count - total
