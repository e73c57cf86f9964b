"""Communities of the neighbour graph: groups with more links inside than by chance."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, csr_matrix
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClusterMixin

from clusterlens.compute._validation import IntArray, check_range
from clusterlens.compute.estimators._input import validate_features
from clusterlens.compute.estimators.neighbors import Table, neighbor_table


class GraphCommunities(ClusterMixin, BaseEstimator):
    """Louvain communities of the graph of nearest neighbours.

    Parameters
    ----------
    resolution : float, default 1.0
        At least 0: how many times as many links as by chance a group needs. Small
        values give few large communities, large ones many small.
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
    Samples that are neighbours of each other are linked twice. Of modularity at the
    given resolution a local maximum is found, the same one each time, as samples are
    visited in their order. A community that falls apart without the others, which the
    Louvain method does not rule out, is given as its parts. About O(n log n k) beside
    the search for neighbours.

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
    """Community (n_samples,) of each sample."""
    from sknetwork.clustering import Louvain

    method = Louvain(resolution=float(resolution), random_state=0)
    return method.fit_predict(csr_matrix(graph))


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
