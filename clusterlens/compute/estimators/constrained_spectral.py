"""Spectral clustering of the neighbour graph after propagation of links along it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import k_means

from clusterlens.compute._validation import FloatArray, IntArray, check_range
from clusterlens.compute.ensemble.constraints import Constraints, PairArray
from clusterlens.compute.estimators._input import validate_features
from clusterlens.compute.estimators._random import legacy_random_state
from clusterlens.compute.estimators.graph_embedding import embed_graph, smoothed_walk
from clusterlens.compute.estimators.neighbors import neighbor_table

# Number of links propagated at a time, and the part of a weight that no link removes,
# so that the graph stays connected.
_BLOCK = 32
_LEFT = 1e-6
_CLOSE = 1e-6
_FARTHEST = 0.99


class ConstrainedSpectral(ClusterMixin, BaseEstimator):
    """Spectral clustering of a graph of neighbours with propagated links.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters, 1 to n_samples.
    must_link, cannot_link : array-like of int, shape (n_pairs, 2), default ()
        Pairs of rows that should be joined or separated, as in `Constraints`.
    Neighbours of each row in the graph, at least 1; all others if there are fewer. The
    number is doubled as long as the graph has more components than clusters.
    reach : float, default 0.8
        Propagation of a link along the graph, from 0 (to its two rows only) to 0.99.
    n_init : int, default 10
        Starts of k-means on the eigenvectors.
    random_state : int, RandomState, Generator or None, default 0
        Seed of these starts.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Cluster of each row, 0 to n_clusters - 1.
    affinity_ : sparse array of float64, shape (n_samples, n_samples)
        Weights of the graph after the links.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Two rows are joined if one is among the nearest of the other, with the weight
    exp(-d² / (s t)): s and t are the distances of each to the last of its neighbours.
    With W for these weights, S for D^-1/2 W D^-1/2 and Z for the links (1 for must, -1
    for cannot), the links are propagated along columns and rows,

    F = (1 - reach)² (I - reach S)^-1 Z (I - reach S)^-1,

    divided by its largest value. A weight w becomes 1 - (1 - f)(1 - w) if f >= 0, and
    (1 + f) w if f < 0. F is computed for the edges of the graph and for pairs of
    neighbours of the two rows of a link, never for all pairs; its effect on other pairs
    is left out. Links influence the result, but may be broken.

    O(n k m) time for m links, after the table of k neighbours.

    References
    ----------
    Lu & Peng (2013), Exhaustive and efficient constraint propagation, IJCV 103,
    doi:10.1007/s11263-012-0602-z (equations 11 and 18, for all pairs).
    Zelnik-Manor & Perona (2004), Self-tuning spectral clustering, NIPS (the weights).

    Examples
    --------
    >>> X = [[0], [1], [2], [10], [11], [12]]
    >>> ConstrainedSpectral(2, n_neighbors=2).fit_predict(X).tolist() in (
    ...     [0, 0, 0, 1, 1, 1],
    ...     [1, 1, 1, 0, 0, 0],
    ... )
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        must_link: npt.ArrayLike = (),
        cannot_link: npt.ArrayLike = (),
        n_neighbors: int = 10,
        reach: float = 0.8,
        n_init: int = 10,
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.must_link = must_link
        self.cannot_link = cannot_link
        self.n_neighbors = n_neighbors
        self.reach = reach
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Find clusters of the rows.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            Finite, at least two rows.
        y : ignored
            For the interface of scikit-learn.

        Returns
        -------
        self : ConstrainedSpectral
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or a parameter cannot be used.
        ConstraintError
            If links contradict each other.
        """
        data = validate_features(self, X, ensure_min_samples=2)
        n = len(data)
        check_range(self.n_clusters, 1, n, name="n_clusters", integer=True)
        check_range(self.n_neighbors, 1, np.inf, name="n_neighbors", integer=True)
        check_range(self.n_init, 1, np.inf, name="n_init", integer=True)
        reach = check_range(self.reach, 0.0, _FARTHEST, name="reach")
        links = Constraints(self.must_link, self.cannot_link)
        links.check_samples(n)
        n_neighbors = min(self.n_neighbors, n - 1)
        while True:
            graph = neighbor_graph(data, n_neighbors)
            self.affinity_ = spread_links(graph, links, reach)
            n_parts, part = connected_components(self.affinity_, directed=False)
            if n_parts <= self.n_clusters:
                break
            n_neighbors = min(2 * n_neighbors, n - 1)
        maps = embed_graph(self.affinity_, part, self.n_clusters)
        random = legacy_random_state(self.random_state)
        self.labels_ = k_means(
            maps, self.n_clusters, random_state=random, n_init=self.n_init
        )[1].astype(np.int64)
        return self


def neighbor_graph(data: FloatArray, n_neighbors: int) -> csr_array:
    """Weights (n, n) of pairs with one row among the nearest of the other."""
    n = len(data)
    table, distances = neighbor_table(data, n_neighbors)
    far = distances[:, -1]
    far = np.where(far > 0, far, far[far > 0].min(initial=1.0))
    squares = distances**2 / (far[:, None] * far[table])
    rows = np.repeat(np.arange(n, dtype=np.int32), n_neighbors)
    weights = np.maximum(np.exp(-squares), _LEFT).ravel()
    found = coo_array((weights, (rows, table.ravel())), shape=(n, n)).tocsr()
    return csr_array(found.maximum(found.T))


def spread_links(graph: csr_array, links: Constraints, reach: float) -> csr_array:
    """Symmetric weights (n, n) from 0 to 1 of a graph after propagation of links.

    `reach` as in `ConstrainedSpectral`.
    """
    if not links.n_pairs:
        return graph
    n = graph.shape[0]
    pairs = np.concatenate([links.must_link, links.cannot_link])
    signs = np.repeat([1.0, -1.0], [len(links.must_link), len(links.cannot_link)])
    a, b = _affected_pairs(graph, pairs)
    walk, _ = smoothed_walk(graph)
    spread = np.zeros(len(a))
    for at in range(0, len(pairs), _BLOCK):
        some, sign = pairs[at : at + _BLOCK], signs[at : at + _BLOCK]
        left, right = (_spread(walk, ends, reach) for ends in some.T)
        spread += np.einsum("pl,pl,l->p", left[a], right[b], sign)
        spread += np.einsum("pl,pl,l->p", right[a], left[b], sign)
    spread /= np.abs(spread).max()
    before = np.asarray(graph[a, b]).ravel()
    after = np.where(
        spread >= 0, 1 - (1 - spread) * (1 - before), (1 + spread) * before
    )
    after = np.where(before > 0, np.maximum(after, _LEFT * before), after)
    ends = a.astype(np.int32), b.astype(np.int32)
    found = coo_array((after, ends), shape=(n, n)).tocsr()
    found.eliminate_zeros()
    return csr_array(found.maximum(found.T))


def _affected_pairs(graph: csr_array, pairs: PairArray) -> tuple[IntArray, IntArray]:
    """Return edges of a graph, and pairs of neighbours of linked rows, once each."""
    n, edges = graph.shape[0], graph.tocoo()

    def near(i: int) -> IntArray:
        others = graph.indices[graph.indptr[i] : graph.indptr[i + 1]]
        return np.append(others, i).astype(np.int64)

    codes = [edges.row.astype(np.int64) * n + edges.col]
    for i, j in pairs.tolist():
        one, other = near(i), near(j)
        codes += [np.add.outer(n * one, other), np.add.outer(n * other, one)]
    codes = [code.ravel() for code in codes]
    a, b = np.divmod(np.unique(np.concatenate(codes)), n)
    return a[a != b], b[a != b]


def _spread(walk: csr_array, ends: IntArray, reach: float) -> FloatArray:
    """Columns (n, n_ends) of (1 - reach) (I - reach S)^-1, by its series."""
    start = np.zeros((walk.shape[0], len(ends)))
    start[ends, np.arange(len(ends))] = 1 - reach
    found, part = start.copy(), start
    while reach and np.abs(part).max() > _CLOSE * (1 - reach):
        part = reach * (walk @ part)
        found += part
    return found
