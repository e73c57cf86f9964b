"""Minimum spanning trees of all pairs of samples at their mutual reachability.

Mutual reachability is the largest of their distance and the two distances within which
each has min_samples samples, itself included; min_samples=1 keeps the distances.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.neighbors import NearestNeighbors

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.estimators._boruvka import spanning_tree
from clusterlens.compute.estimators.neighbors import Table, neighbor_table

# Up to this size the tree equals the one of scikit-learn's HDBSCAN, O(n² d).
MAX_PLAIN_SAMPLES = 15_000
# Number of neighbours from which a larger tree is grown.
N_NEIGHBORS = 15

# Records: two ends and a length.
Edges = npt.NDArray[Any]
EDGE = np.dtype([("start", np.int64), ("end", np.int64), ("length", np.float64)])


def reachability_edges(X: FloatArray, min_samples: int) -> Edges:
    """Edges (n - 1,) of the tree of a table without known neighbours, in order."""
    if len(X) <= MAX_PLAIN_SAMPLES:
        return plain_edges(X, min_samples)
    return grown_edges(X, *neighbor_table(X, n_neighbors(min_samples)), min_samples)


def plain_edges(X: FloatArray, min_samples: int) -> Edges:
    """Edges (n - 1,) that HDBSCAN of scikit-learn takes, in its order, in O(n² d)."""
    X = np.array(X, order="C")  # writable: kernels are compiled for few types
    search = NearestNeighbors(
        n_neighbors=min_samples, algorithm="kd_tree", leaf_size=40
    )
    core = np.ascontiguousarray(search.fit(X).kneighbors(X)[0][:, -1])
    edges = np.empty(len(X) - 1, EDGE)
    _grow_from_first(X, core, edges["start"], edges["end"], edges["length"])
    return edges[np.argsort(edges["length"])]


def grown_edges(
    X: FloatArray, table: Table, distances: FloatArray, min_samples: int
) -> Edges:
    """Grow a tree from the neighbours of each sample: edges (n - 1,), shortest first.

    `table` and `distances` (n, n_listed) hold at least `n_neighbors(min_samples)`
    nearest others, the nearest first; see `_boruvka` for the cost.
    """
    # Always this number, so that ties are broken in the same way in every pool.
    listed = n_neighbors(min_samples)
    table, distances = table[:, :listed], distances[:, :listed]
    core = core_distances(distances, min_samples)
    edges, lengths = spanning_tree(X, table, distances, core)
    return shortest_first(edges[:, 0], edges[:, 1], lengths)


def n_neighbors(min_samples: int) -> int:
    """Return the number of neighbours of each sample from which a tree is grown."""
    return max(N_NEIGHBORS, min_samples - 1)


def core_distances(distances: FloatArray, min_samples: int) -> FloatArray:
    """Distance within which each sample has min_samples samples, itself included.

    `distances` (n_samples, min_samples - 1 or more) to the nearest others ascend.
    """
    return distances[:, min_samples - 2] if min_samples > 1 else 0 * distances[:, 0]


def shortest_first(start: IntArray, end: IntArray, lengths: FloatArray) -> Edges:
    """Edges (n_edges,) as records by length; equal ones stay in the order given."""
    order = np.argsort(lengths, kind="stable")
    edges = np.empty(len(order), EDGE)
    for field, values in zip(EDGE.names or (), (start, end, lengths), strict=True):
        edges[field] = np.asarray(values)[order]
    return edges


def ends_of(edges: Edges) -> IntArray:
    """Ends (n_edges, 2) of edges."""
    return np.column_stack([edges["start"], edges["end"]])


@kernel()
def _grow_from_first(X: Any, core: Any, start: Any, end: Any, length: Any) -> None:
    """Grow a tree from the first sample by Prim's method: fill its edges (n - 1,).

    Of several equally near samples the first is taken.
    """
    n_samples, n_features = X.shape
    waiting = np.ones(n_samples, np.bool_)
    reach, source = np.full(n_samples, np.inf), np.zeros(n_samples, np.int64)
    current = 0
    for step in range(n_samples - 1):
        waiting[current] = False
        nearest, least = 0, np.inf
        for j in range(n_samples):
            if not waiting[j]:
                continue
            square = 0.0
            for f in range(n_features):
                difference = X[current, f] - X[j, f]
                square += difference * difference
            away = max(np.sqrt(square), core[current], core[j])
            if away < reach[j]:
                reach[j], source[j] = away, current
            if reach[j] < least:
                nearest, least = j, reach[j]
        start[step], end[step], length[step] = source[nearest], nearest, least
        current = nearest
