"""Minimum spanning trees of all pairs of samples at their mutual reachability.

It is the largest of their distance and the two distances within which each has
min_samples samples, itself included; min_samples=1 leaves the distances as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster._hdbscan._linkage import MST_edge_dtype, mst_from_data_matrix
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import NearestNeighbors

from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.estimators._boruvka import spanning_tree
from clusterlens.compute.estimators.neighbors import Table, neighbor_table

# Up to here scikit-learn's own tree, O(n² d), is the one that HDBSCAN would make.
MAX_PLAIN_SAMPLES = 15_000
# Neighbours that a larger tree begins from.
N_NEIGHBORS = 15

# Records: current_node, next_node (ends) and distance.
Edges = npt.NDArray[Any]


def reachability_edges(X: FloatArray, min_samples: int) -> Edges:
    """Edges (n - 1,) of the tree of a table that nothing is known of, in order."""
    if len(X) <= MAX_PLAIN_SAMPLES:
        return plain_edges(X, min_samples)
    return grown_edges(X, *neighbor_table(X, n_neighbors(min_samples)), min_samples)


def plain_edges(X: FloatArray, min_samples: int) -> Edges:
    """Edges (n - 1,) that HDBSCAN of scikit-learn takes, in its order, in O(n² d)."""
    X = np.ascontiguousarray(X)
    search = NearestNeighbors(
        n_neighbors=min_samples, algorithm="kd_tree", leaf_size=40
    )
    core = np.ascontiguousarray(search.fit(X).kneighbors(X)[0][:, -1])
    metric = DistanceMetric.get_metric("euclidean")
    edges = mst_from_data_matrix(X, core, metric, 1.0)
    return edges[np.argsort(edges["distance"])]


def grown_edges(
    X: FloatArray, table: Table, distances: FloatArray, min_samples: int
) -> Edges:
    """Grow a tree from the neighbours of each sample: edges (n - 1,), shortest first.

    `table` and `distances` (n, n_listed) hold at least `n_neighbors(min_samples)`
    nearest others, the nearest first; see `_boruvka` for the cost.
    """
    # So many and no more, that ties are broken in the same way in every pool.
    listed = n_neighbors(min_samples)
    table, distances = table[:, :listed], distances[:, :listed]
    core = core_distances(distances, min_samples)
    edges, lengths = spanning_tree(X, table, distances, core)
    return shortest_first(edges[:, 0], edges[:, 1], lengths)


def n_neighbors(min_samples: int) -> int:
    """Return how many neighbours of each sample a tree is grown from."""
    return max(N_NEIGHBORS, min_samples - 1)


def core_distances(distances: FloatArray, min_samples: int) -> FloatArray:
    """How far away min_samples samples are, the sample itself being one, (n_samples,).

    `distances` (n_samples, min_samples - 1 or more) to the nearest others ascend.
    """
    return distances[:, min_samples - 2] if min_samples > 1 else 0 * distances[:, 0]


def shortest_first(start: IntArray, end: IntArray, lengths: FloatArray) -> Edges:
    """Edges (n_edges,) as records by length; equal ones stay in the order given."""
    order = np.argsort(lengths, kind="stable")
    edges = np.empty(len(order), MST_edge_dtype)
    for field, values in zip(MST_edge_dtype.names, (start, end, lengths), strict=True):
        edges[field] = np.asarray(values)[order]
    return edges
