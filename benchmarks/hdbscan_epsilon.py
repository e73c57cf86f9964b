"""HDBSCAN with a selection epsilon, which fails in scikit-learn 1.9 under NumPy 2.4.

Clusters that are born below epsilon are replaced by the lowest ancestor born above it
or by the ancestor next to the root (Malzer & Baum 2020). The tree is scikit-learn's.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.cluster._hdbscan._tree import _condense_tree


def hdbscan_labels(
    X: np.ndarray, min_cluster_size: int, min_samples: int, epsilon: float
) -> np.ndarray:
    """Labels (n,) of X (n, d); -1 is noise."""
    model = HDBSCAN(
        min_cluster_size=min_cluster_size, min_samples=min_samples, copy=True
    ).fit(X)
    tree = _condense_tree(model._single_linkage_tree_, min_cluster_size)
    above = dict(zip(tree["child"].tolist(), tree["parent"].tolist(), strict=True))
    with np.errstate(divide="ignore"):
        born = dict(
            zip(tree["child"].tolist(), (1 / tree["value"]).tolist(), strict=True)
        )
    root = int(tree["parent"].min())
    chosen = {
        climb(node_of(members.tolist(), above), above, born, root, epsilon)
        for members in (
            np.flatnonzero(model.labels_ == k) for k in range(model.labels_.max() + 1)
        )
    }
    names = {node: name for name, node in enumerate(sorted(chosen))}
    return np.array([label_of(point, above, names) for point in range(len(X))])


def node_of(members: list[int], above: dict[int, int]) -> int:
    """Lowest node of the tree above all members."""
    path = ancestors(members[0], above)
    for member in members[1:]:
        shared = set(ancestors(member, above))
        path = [node for node in path if node in shared]
    return path[0]


def climb(
    node: int,
    above: dict[int, int],
    born: dict[int, float],
    root: int,
    epsilon: float,
) -> int:
    """Replace a cluster born below epsilon."""
    if born[node] >= epsilon:
        return node
    while above[node] != root:
        node = above[node]
        if born[node] > epsilon:
            break
    return node


def ancestors(node: int, above: dict[int, int]) -> list[int]:
    """Nodes above a node, lowest first."""
    path = []
    while node in above:
        node = above[node]
        path.append(node)
    return path


def label_of(point: int, above: dict[int, int], names: dict[int, int]) -> int:
    """Name of the chosen cluster above a point, -1 if there is none."""
    return next((names[n] for n in ancestors(point, above) if n in names), -1)
