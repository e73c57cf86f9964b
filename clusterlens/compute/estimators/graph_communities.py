"""Communities of the neighbour graph: groups with more links inside than by chance."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, csr_matrix
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClusterMixin

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import IntArray, check_range
from clusterlens.compute.estimators._input import validate_features
from clusterlens.compute.estimators.neighbors import Table, neighbor_table

_LEAST_GAIN = 1e-9  # smallest gain of a move, relative to the links of a sample


class GraphCommunities(ClusterMixin, BaseEstimator):
    """Louvain communities of the graph of nearest neighbours.

    Parameters
    ----------
    resolution : float, default 1.0
        At least 0: the number of links that a group needs relative to chance. Small
        values give few large communities, large values many small ones.
    n_neighbors : int, default 15
        Neighbours that each sample is linked with; all others where there are fewer.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Clusters 0, 1, ..., the largest first.
    n_clusters_ : int
        Number of clusters.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Samples that are neighbours of each other are linked twice. The labels are a local
    maximum of modularity at the given resolution: no single sample would raise it in
    another community or alone. Samples are visited in their order, so the result is
    deterministic. The Louvain method joins whole communities and does not end at such a
    maximum; also, its communities may lose their connection. So afterwards single
    samples move and disconnected communities are split, until neither occurs. About O(n
    log n k) in addition to the search for neighbours.

    References
    ----------
    Blondel, Guillaume, Lambiotte & Lefebvre (2008), Fast unfolding of communities in
    large networks, doi:10.1088/1742-5468/2008/10/P10008; resolution: Reichardt &
    Bornholdt (2006), doi:10.1103/PhysRevE.74.016110.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X = make_blobs(200, centers=[[0, 0], [9, 0], [0, 9]], random_state=5)[0]
    >>> GraphCommunities(resolution=0.2).fit(X).n_clusters_
    3
    """

    def __init__(self, resolution: float = 1.0, n_neighbors: int = 15) -> None:
        self.resolution = resolution
        self.n_neighbors = n_neighbors

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Link neighbours and find communities.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            At least two samples, finite.
        y : ignored
            For the interface of scikit-learn.

        Returns
        -------
        self : GraphCommunities
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or a parameter cannot be used.
        """
        data = validate_features(self, X, ensure_min_samples=2)
        check_range(self.resolution, 0, np.inf, name="resolution")
        check_range(self.n_neighbors, 1, np.inf, name="n_neighbors", integer=True)
        n_neighbors = min(int(self.n_neighbors), len(data) - 1)
        graph = neighbor_graph(neighbor_table(data, n_neighbors)[0])
        self.labels_ = _largest_first(_parts(graph, _louvain(graph, self.resolution)))
        self.n_clusters_ = int(self.labels_.max()) + 1
        return self


def neighbor_graph(table: Table) -> Any:
    """Link each sample with its neighbours (n_samples, n_neighbors).

    Entry (i, j) of the symmetric graph is 1 for a link, 2 where both are neighbours of
    each other.
    """
    n, k = table.shape
    starts = np.arange(0, n * k + 1, k)
    links = csr_array((np.ones(n * k), table.ravel(), starts), shape=(n, n))
    return links + links.T


def _louvain(graph: Any, resolution: float) -> IntArray:
    """Find the community (n_samples,) of each sample; no single move is better.

    After the joins of whole communities single samples move, and communities that fall
    apart are split, until neither raises modularity.
    """
    from sknetwork.clustering import Louvain

    method = Louvain(resolution=float(resolution), random_state=0)
    labels, moved = method.fit_predict(csr_matrix(graph)), True
    while moved:
        labels = _parts(graph, labels).astype(np.int64)
        moved = _move(
            graph.indptr, graph.indices, graph.data, labels, float(resolution)
        )
    return labels


@kernel()
def _move(starts: Any, ends: Any, links: Any, labels: Any, resolution: float) -> bool:
    """Move samples to where they raise modularity most until none does, in place."""
    n = len(labels)
    degrees, totals = np.zeros(n), np.zeros(n)
    sizes = np.zeros(n, np.int64)
    for i in range(n):
        degrees[i] = links[starts[i] : starts[i + 1]].sum()
        totals[labels[i]] += degrees[i]
        sizes[labels[i]] += 1
    price = resolution / degrees.sum()
    inside = np.zeros(n)
    moved, moves, empty = False, True, 0
    while moves:
        moves = False
        for i in range(n):
            own = labels[i]
            for e in range(starts[i], starts[i + 1]):
                inside[labels[ends[e]]] += links[e]
            totals[own] -= degrees[i]
            stay = inside[own] - price * degrees[i] * totals[own]
            best, most = own, stay + _LEAST_GAIN * degrees[i]
            if (
                sizes[own] > 1 and most < 0.0
            ):  # a sample alone has no links and loses none
                while sizes[empty] > 0:
                    empty = (empty + 1) % n
                best, most = empty, 0.0
            for e in range(starts[i], starts[i + 1]):
                other = labels[ends[e]]
                gain = inside[other] - price * degrees[i] * totals[other]
                if other != own and gain > most:
                    best, most = other, gain
            for e in range(starts[i], starts[i + 1]):
                inside[labels[ends[e]]] = 0.0
            totals[best] += degrees[i]
            if best != own:
                sizes[own] -= 1
                sizes[best] += 1
                labels[i] = best
                moves = moved = True
    return moved


def _parts(graph: Any, labels: IntArray) -> IntArray:
    """Connected parts (n_samples,) of each community."""
    links = graph.tocoo()
    inside = labels[links.row] == labels[links.col]
    kept = (np.ones(inside.sum(), bool), (links.row[inside], links.col[inside]))
    return connected_components(csr_array(kept, shape=graph.shape), directed=False)[1]


def _largest_first(labels: IntArray) -> IntArray:
    """Number labels (n_samples,) by size."""
    order = np.argsort(-np.bincount(labels), kind="stable")
    return np.argsort(order)[labels]
