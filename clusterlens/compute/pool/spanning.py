"""One spanning tree for each min_samples: HDBSCAN, DBSCAN and single linkage.

The tree joins the samples at their mutual reachability: the largest of their distance
and the two distances within which each has min_samples samples, itself included. The
results of DBSCAN and HDBSCAN follow from it. The form depends on the data:

- plain, up to MAX_PLAIN_SAMPLES: the tree that scikit-learn makes, O(n² d);
- above, up to MAX_TREE_FEATURES features: the same tree, grown from the neighbour table
  of the pool (`_boruvka`);
- otherwise a tree of the neighbour graph, with its components joined near their
centres: an upper bound of the tree that is exact inside dense regions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.ensemble.connected import components
from clusterlens.compute.estimators.condensed import condensed_labels
from clusterlens.compute.estimators.spanning_trees import (
    MAX_PLAIN_SAMPLES,
    N_NEIGHBORS,
    core_distances,
    ends_of,
    grown_edges,
    n_neighbors,
    plain_edges,
    shortest_first,
)
from clusterlens.compute.formatting import whole
from clusterlens.compute.pool._neighbors import neighbors_step, with_density
from clusterlens.compute.pool.sharing import Arrays, Step

MAX_TREE_FEATURES = 12
_METHOD = "cluster_selection_method"


def spanning_tree_step(n: int, d: int, min_samples: int) -> Step:
    """Return the step of the edges of a tree: records, the shortest first."""
    key = f"spanning-tree-{min_samples}"
    title = with_density("tree of nearest neighbours", min_samples, "spanning tree")
    listed = n_neighbors(min_samples)

    def n_bytes(n: int, d: int, size: int) -> float:
        return 1e7 + n * (400.0 + 16.0 * (listed + d))

    if n <= MAX_PLAIN_SAMPLES:
        make = partial(_plain_tree, min_samples=min_samples)
        return Step(key, title, make, seconds=_plain_seconds, n_bytes=n_bytes)
    table = neighbors_step(listed)
    if d <= MAX_TREE_FEATURES:
        note = (
            f"Shared step: {title}; samples at equal distances may be joined in "
            "another order than by scikit-learn (grown from the table of neighbours "
            "and a k-d tree)."
        )
        return Step(
            f"grown-{key}",
            title,
            partial(grown_tree, min_samples=min_samples),
            needs=(table,),
            seconds=_grown_seconds,
            n_bytes=n_bytes,
            note=note,
        )
    note = (
        f"Shared step: {title}, that of the graph of {N_NEIGHBORS} neighbours, as the "
        f"data have more than {whole(MAX_PLAIN_SAMPLES)} samples and "
        f"{MAX_TREE_FEATURES} "
        "features; regions that it leaves apart are joined near their centres."
    )
    return Step(
        f"graph-{key}",
        title + " of the neighbour graph",
        partial(_graph_tree, min_samples=min_samples),
        needs=(table,),
        seconds=lambda n, d, k: 0.03 + 5e-6 * n,
        n_bytes=n_bytes,
        note=note,
    )


def hdbscan_steps(n: int, d: int, parameters: Mapping[str, Any]) -> Sequence[Step]:
    """Return the tree of a model; none if the model is not in its default form."""
    size = parameters.get("min_cluster_size", 5)
    min_samples = parameters.get("min_samples") or size
    how = parameters.get("cluster_selection_method", "eom")
    if (
        parameters.keys() - {"min_cluster_size", "min_samples", "copy", _METHOD}
        or not type(size) is type(min_samples) is int
        or not (size >= 2 and 1 <= min_samples < n)
        or how not in ("eom", "leaf")
    ):
        return ()
    return (spanning_tree_step(n, d, min_samples),)


def hdbscan_labels(
    X: FloatArray, parameters: Mapping[str, Any], tree: Arrays
) -> IntArray:
    """Labels (n_samples,) of HDBSCAN, -1 for noise."""
    leaves = parameters.get(_METHOD, "eom") == "leaf"
    return condensed_labels(tree[0], parameters.get("min_cluster_size", 5), leaves)


def dbscan_steps(n: int, d: int, parameters: Mapping[str, Any]) -> Sequence[Step]:
    """Return tree and neighbours of a model; none if the metric is not the default."""
    eps, min_samples = parameters.get("eps", 0.5), parameters.get("min_samples", 5)
    if (
        parameters.keys() - {"eps", "min_samples"}
        or type(min_samples) is not int
        or not (isinstance(eps, Mapping) or (isinstance(eps, int | float) and eps > 0))
        or not 2 <= min_samples < n
    ):
        return ()
    return spanning_tree_step(n, d, min_samples), neighbors_step(min_samples - 1)


def dbscan_labels(
    X: FloatArray, parameters: Mapping[str, Any], tree: Arrays, neighbors: Arrays
) -> IntArray:
    """Labels (n_samples,) of DBSCAN, -1 for noise, numbered as scikit-learn does.

    Edges up to eps join core samples. Another sample has fewer than min_samples samples
    within eps, so all of them are in the table; it joins the first of their clusters.
    """
    eps = parameters.get("eps", 0.5)
    n_others = parameters.get("min_samples", 5) - 1
    table, distances = (array[:, :n_others] for array in neighbors)
    near = distances <= eps
    is_core = near.all(axis=1)
    n_joined = np.searchsorted(tree[0]["length"], eps, side="right")
    group = components(ends_of(tree[0][:n_joined]), len(X))
    labels = np.full(len(X), len(X))
    labels[is_core] = _by_first_appearance(group[is_core])
    reached = np.where(near & is_core[table], labels[table], len(X)).min(axis=1)
    labels[~is_core] = reached[~is_core]
    labels[labels == len(X)] = -1
    return labels


def _by_first_appearance(group: IntArray) -> IntArray:
    """Number groups (m,) in order of first appearance."""
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    return first.argsort().argsort()[inverse]


def _plain_tree(X: FloatArray, size: int, *, min_samples: int) -> Arrays:
    """Tree of all pairs, as scikit-learn finds it."""
    return (plain_edges(X, min_samples),)


def grown_tree(
    X: FloatArray, size: int, neighbors: Arrays, *, min_samples: int
) -> Arrays:
    """Tree of all pairs, grown from the neighbour table."""
    table, distances = neighbors
    return (grown_edges(X, table, distances, min_samples),)


def _graph_tree(
    X: FloatArray, size: int, neighbors: Arrays, *, min_samples: int
) -> Arrays:
    """Tree of the neighbour graph."""
    table, distances = neighbors
    core = core_distances(distances, min_samples)
    ends = np.repeat(np.arange(len(X)), N_NEIGHBORS)
    others = table[:, :N_NEIGHBORS].ravel()
    lengths = distances[:, :N_NEIGHBORS].ravel()
    start, end, weight = _forest(ends, others, lengths, core)
    joins = _joins(X, core, components(np.column_stack([start, end]), len(X)))
    edges = shortest_first(
        np.concatenate([start, joins[0]]),
        np.concatenate([end, joins[1]]),
        np.concatenate([weight, joins[2]]),
    )
    return (edges,)


def _forest(
    ends: IntArray, others: IntArray, lengths: FloatArray, core: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Minimum spanning forest of a graph at mutual reachability: ends and weights."""
    reach = np.maximum(lengths, np.maximum(core[ends], core[others]))
    # Stored zeros do not count as edges, so duplicates get the smallest length.
    reach = np.maximum(reach, np.finfo(float).tiny)
    # SciPy 1.15 does not span graphs with longer indices.
    ends, others = ends.astype(np.int32), others.astype(np.int32)
    low, high = np.minimum(ends, others), np.maximum(ends, others)
    order = np.lexsort((high, low))
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(low[order]) != 0) | (np.diff(high[order]) != 0)
    kept = order[first]
    graph = csr_array((reach[kept], (low[kept], high[kept])), shape=(len(core),) * 2)
    forest = minimum_spanning_tree(graph).tocoo()
    return forest.row, forest.col, forest.data


def _joins(
    X: FloatArray, core: FloatArray, component: IntArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return edges that join components along a spanning tree of their centres.

    Each goes from the sample nearest to the other centre to the sample nearest to it.
    """
    sizes = np.bincount(component)
    members = np.split(component.argsort(kind="stable"), np.cumsum(sizes)[:-1])
    centres = np.array([X[rows].mean(axis=0) for rows in members])
    links = minimum_spanning_tree(cdist(centres, centres)).tocoo()
    start, end, weight = [], [], []
    for a, b in zip(links.row, links.col, strict=True):
        i = members[a][cdist(centres[[b]], X[members[a]]).argmin()]
        lengths = cdist(X[[i]], X[members[b]])[0]
        j = members[b][lengths.argmin()]
        start.append(i)
        end.append(j)
        weight.append(max(lengths.min(), core[i], core[j]))
    return np.array(start, int), np.array(end, int), np.array(weight, float)


def _plain_seconds(n: int, d: int, size: int) -> float:
    return 0.01 + n * n * (1.5e-9 + 4.5e-10 * d)


def _grown_seconds(n: int, d: int, size: int) -> float:
    return 0.02 + n * 2.5e-7 * np.log2(n) * 1.05**d
