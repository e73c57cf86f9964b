"""Partitions from the merges of a tree, and the order of merges."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from clusterlens.compute._validation import FloatArray, IntArray

Merges = npt.NDArray[np.int32]


def cut_tree(merges: IntArray | Merges, n_leaves: int, n_clusters: int) -> IntArray:
    """Undo the last n_clusters - 1 merges of a full tree: labels (n_leaves,).

    Merge m, a row of `merges` (n_leaves - 1, 2), makes node n_leaves + m of two nodes.
    Raises ValueError if there are not so many leaves.

    Examples
    --------
    >>> import numpy as np
    >>> cut_tree(np.array([[0, 1], [3, 2]]), 3, 2).tolist()
    [0, 0, 1]
    """
    if not 1 <= n_clusters <= n_leaves:
        raise ValueError(
            f"n_clusters is {n_clusters}; give a value from 1 to {n_leaves}."
        )
    return components_of_merges(merges[: n_leaves - n_clusters], n_leaves)


def components_of_merges(merges: IntArray | Merges, n_leaves: int) -> IntArray:
    """Component (n_leaves,) of each leaf after the first merges (n_merges, 2)."""
    parents = np.repeat(np.arange(n_leaves, n_leaves + len(merges)), 2)
    edges = (np.ones(parents.size, dtype=bool), (parents, merges.ravel()))
    forest = coo_array(edges, shape=(n_leaves + len(merges),) * 2)
    return connected_components(forest, directed=False)[1][:n_leaves]


def merges_in_order(pairs: IntArray, heights: FloatArray) -> Merges:
    """Number merges found in any order, as for `cut_tree`, lowest first.

    `pairs` (n_leaves - 1, 2) name a leaf of either group, `heights` (n_leaves - 1,) the
    heights of their merges.
    """
    n_leaves = len(pairs) + 1
    parent = np.arange(2 * n_leaves - 1)
    merges = np.empty((n_leaves - 1, 2), np.int32)
    for step, at in enumerate(np.argsort(heights, kind="stable")):
        merges[step] = [_root(parent, leaf) for leaf in pairs[at]]
        parent[merges[step]] = n_leaves + step
    return merges


def _root(parent: IntArray, node: int) -> int:
    """Return the node above all others, halving the way to it."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node
