"""HDBSCAN's clusters of a spanning tree at mutual reachability.

References
----------
Campello, Moulavi & Sander (2013), doi:10.1007/978-3-642-37456-2_14.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute.estimators._joining import find
from clusterlens.compute.estimators.spanning_trees import Edges


def condensed_labels(
    edges: Edges, min_size: int, leaves: bool
) -> npt.NDArray[np.int64]:
    """Labels (n_samples,) of the most stable clusters, or of the leaves, -1 for noise.

    `edges` (n_samples - 1,) are the edges of a tree, the shortest first. Clusters are
    numbered as in scikit-learn. O(n log n).
    """
    parts = (np.array(edges[field]) for field in ("start", "end", "length"))
    return _labels(*parts, min_size, leaves)


@kernel()
def _labels(start: Any, end: Any, length: Any, min_size: int, leaves: bool) -> Any:
    n_samples = len(length) + 1
    n_nodes = 2 * n_samples - 1
    # Single linkage: node n_samples + m is made of two nodes by edge m.
    parents, sizes = np.arange(n_nodes), np.ones(n_nodes, np.int64)
    parts = np.empty((n_samples - 1, 2), np.int64)
    for m in range(n_samples - 1):
        node = n_samples + m
        for k, sample in enumerate((start[m], end[m])):
            parts[m, k] = find(parents, sample)
        for part in parts[m]:
            parents[part] = node
        sizes[node] = sizes[parts[m, 0]] + sizes[parts[m, 1]]

    # From the top down: a node with two parts that are large enough ends its cluster
    # and begins two others; a part that is too small drops out of the cluster.
    queue = np.full(n_nodes, n_nodes - 1)
    n_seen, n_clusters = 1, 1
    clusters, is_out = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.bool_)
    above, births = np.zeros(n_nodes, np.int64), np.zeros(n_nodes)
    stability = np.zeros(n_nodes)
    for node in queue:
        if node < n_samples:
            continue
        m, own = node - n_samples, clusters[node]
        density = 1 / length[m] if length[m] > 0 else np.inf
        splits = sizes[parts[m, 0]] >= min_size and sizes[parts[m, 1]] >= min_size
        for part in parts[m]:
            queue[n_seen] = part
            n_seen += 1
            clusters[part] = own
            is_small = sizes[part] < min_size
            is_out[part] = is_out[node] or is_small
            if is_out[node] or not (splits or is_small):
                continue
            stability[own] += (density - births[own]) * sizes[part]
            if splits:
                clusters[part] = n_clusters
                above[n_clusters], births[n_clusters] = own, density
                n_clusters += 1

    # From the bottom up: keep a cluster unless the clusters below it are more stable.
    below, is_kept = np.zeros(n_clusters), np.zeros(n_clusters, np.bool_)
    has_parts = np.zeros(n_clusters, np.bool_)
    for c in range(n_clusters - 1, 0, -1):
        is_kept[c] = not (has_parts[c] if leaves else below[c] > stability[c])
        below[above[c]] += stability[c] if is_kept[c] else below[c]
        has_parts[above[c]] = True

    # Clusters below a kept one belong to it; the root is never a cluster.
    numbers, n_kept = np.full(n_clusters, -1), 0
    for c in range(1, n_clusters):
        numbers[c] = numbers[above[c]]
        if numbers[c] < 0 and is_kept[c]:
            numbers[c] = n_kept
            n_kept += 1
    return numbers[clusters[:n_samples]]
