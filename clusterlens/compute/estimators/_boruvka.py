"""Borůvka's method on a neighbour table: the spanning tree at mutual reachability.

In every round each component except the largest takes the shortest edge that leaves it,
and these edges join components. Most such edges are in the table of neighbours. A k-d
tree is searched only for samples that could have a shorter edge beyond their table. The
largest component need not choose, because all others do; in most data it soon holds
nearly all samples. The result of a search bounds everything farther away, and bounds
stay valid, because components only grow.

References
----------
March, Ram & Gray (2010), Fast Euclidean minimum spanning tree; McInnes & Healy (2017),
doi:10.1109/ICDMW.2017.12.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import KDTree

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.estimators._blocked_search import squared_distance
from clusterlens.compute.estimators._joining import find
from clusterlens.compute.estimators.neighbors import (
    Table,
    in_local_order,
)

_LEAF = 32
# Nodes that wait in a search: one per level, and one more.
_DEEPEST = 128


def spanning_tree(
    X: FloatArray, table: Table, distances: FloatArray, core: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Find a minimum spanning tree of all pairs at their mutual reachability.

    `table` and `distances` (n_samples, n_neighbors) hold the nearest others of each
    sample, the nearest first. More neighbours save searches; the tree is the same,
    except for ties. `core` (n_samples,) are core distances, at least 0. Returns the
    ends of each edge, (n_samples - 1, 2), and its length: the largest of the distance
    of the ends and their core distances.

    O(n log n (k + d)) if groups are few or near each other. Up to O(n² d) if groups are
    far apart and many features make a k-d tree useless.
    """
    n_samples = len(X)
    _, order, nodes, boxes = (
        np.asarray(array) for array in KDTree(X, leaf_size=_LEAF).get_arrays()
    )
    table, _ = in_local_order(table, order)
    edges = np.empty((n_samples - 1, 2), np.int32)
    lengths = np.empty(n_samples - 1)
    data = X[order], table, distances[order], core[order]
    starts, ends = (nodes[field].astype(np.int64) for field in ("idx_start", "idx_end"))
    _grow(*data, np.ascontiguousarray(boxes), starts, ends, edges, lengths)
    return order[edges], lengths


@kernel()
def _grow(
    X: Any,
    table: Any,
    distances: Any,
    core: Any,
    boxes: Any,
    starts: Any,
    ends: Any,
    edges: Any,
    lengths: Any,
) -> None:
    """Fill in the edges; samples lie in the order of the leaves."""
    n, k = table.shape
    parent, component, sizes = np.arange(n), np.arange(n), np.empty(n, np.int64)
    whole = np.empty(len(starts), np.int64)  # component of a node, -1 for several
    inside = np.zeros(n, np.int32)  # leading neighbours in the component of the sample
    # Everything beyond the table and beyond earlier searches is at least this far.
    beyond = np.maximum(distances[:, -1], core)
    if k == n - 1:
        beyond[:] = np.inf
    found, reach = np.full(n, -1, np.int32), np.full(n, np.inf)
    chosen, shortest = np.empty((n, 2), np.int32), np.empty(n)
    waiting, nearest = np.empty(_DEEPEST, np.int64), np.empty(_DEEPEST)
    n_edges = 0
    while n_edges < n - 1:
        sizes[:] = 0
        for i in range(n):
            component[i] = find(parent, i)
            sizes[component[i]] += 1
        largest = sizes.argmax()
        shortest[:] = np.inf
        for i in range(n):
            own = component[i]
            if own == largest:
                continue
            while inside[i] < k and component[table[i, inside[i]]] == own:
                inside[i] += 1
            for place in range(inside[i], k):
                least = max(distances[i, place], core[i])
                if least >= shortest[own]:
                    break
                j = table[i, place]
                if component[j] != own and max(least, core[j]) < shortest[own]:
                    shortest[own] = max(least, core[j])
                    chosen[own, 0], chosen[own, 1] = i, j
            j = found[i]
            if j >= 0 and component[j] != own and reach[i] < shortest[own]:
                shortest[own] = reach[i]
                chosen[own, 0], chosen[own, 1] = i, j
        _mark_nodes(component, starts, ends, whole)
        for i in range(n):
            own = component[i]
            if own == largest or beyond[i] >= shortest[own]:
                continue
            beyond[i], j = _search(
                i,
                shortest[own],
                X,
                core,
                component,
                boxes,
                starts,
                ends,
                whole,
                waiting,
                nearest,
            )
            if j >= 0:
                found[i], reach[i], shortest[own] = j, beyond[i], beyond[i]
                chosen[own, 0], chosen[own, 1] = i, j
        # If several components chose equal edges in a cycle, the last edge is left out.
        for own in range(n):
            if shortest[own] < np.inf:
                a, b = find(parent, chosen[own, 0]), find(parent, chosen[own, 1])
                if a != b:
                    parent[a] = b
                    edges[n_edges] = chosen[own]
                    lengths[n_edges] = shortest[own]
                    n_edges += 1


@kernel()
def _mark_nodes(component: Any, starts: Any, ends: Any, whole: Any) -> None:
    """Note the component of each node of the k-d tree; -1 if it holds several."""
    for node in range(len(starts) - 1, -1, -1):
        left = 2 * node + 1
        if left < len(starts):
            whole[node] = whole[left] if whole[left] == whole[left + 1] else -1
            continue
        whole[node] = component[starts[node]]
        for j in range(starts[node], ends[node]):
            if component[j] != whole[node]:
                whole[node] = -1


@kernel()
def _search(
    i: int,
    limit: float,
    X: Any,
    core: Any,
    component: Any,
    boxes: Any,
    starts: Any,
    ends: Any,
    whole: Any,
    waiting: Any,
    nearest: Any,
) -> tuple[float, int]:
    """Find the sample of another component with the shortest edge from i.

    Returns the length and the index; the limit and -1 if none is shorter.
    """
    own, found = component[i], -1
    waiting[0], nearest[0], depth = 0, 0.0, 1
    while depth:
        depth -= 1
        node = waiting[depth]
        if nearest[depth] >= limit or whole[node] == own:
            continue
        left = 2 * node + 1
        if left >= len(starts):
            for j in range(starts[node], ends[node]):
                if component[j] != own and core[j] < limit:
                    distance = np.sqrt(squared_distance(X[i], X[j]))
                    reach = max(distance, core[i], core[j])
                    if reach < limit:
                        limit, found = reach, j
            continue
        one = _distance_to_box(X[i], boxes[0, left], boxes[1, left])
        two = _distance_to_box(X[i], boxes[0, left + 1], boxes[1, left + 1])
        near = left if one <= two else left + 1
        # Visit the nearer one first.
        waiting[depth], nearest[depth] = 2 * left + 1 - near, max(one, two)
        waiting[depth + 1], nearest[depth + 1] = near, min(one, two)
        depth += 2
    return limit, found


@kernel()
def _distance_to_box(x: Any, low: Any, high: Any) -> float:
    """Return the distance of a sample to the box of a node, 0 inside."""
    total = 0.0
    for f in range(len(x)):
        outside = max(low[f] - x[f], x[f] - high[f], 0.0)
        total += outside * outside
    return np.sqrt(total)
