"""Joining samples into sets (union-find), shared by the methods that peel borders."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import IntArray
from clusterlens.compute.estimators._blocked_search import squared_distance


@kernel()
def find(parents: Any, i: int) -> int:
    """Return the representative of the set of i, shortening the path to it."""
    while parents[i] != i:
        parents[i] = parents[parents[i]]
        i = parents[i]
    return i


@kernel()
def join(parents: Any, first: Any, second: Any) -> None:
    """Join the sets of first[m] and second[m] for every m."""
    for m in range(len(first)):
        parents[find(parents, first[m])] = find(parents, second[m])


@kernel()
def join_within(parents: Any, X: Any, members: Any, radii: Any) -> None:
    """Join each member m of X with all members nearer than radii[m] or as near."""
    for m in range(len(members)):
        i = members[m]
        square = radii[m] * radii[m]
        for j in members:
            if squared_distance(X[i], X[j]) <= square:
                parents[find(parents, i)] = find(parents, j)


def set_labels(parents: IntArray) -> IntArray:
    """Number the sets 0, 1, ... by their first member, shape (n_samples,)."""
    roots = np.array([find(parents, i) for i in range(len(parents))])
    _, first, label = np.unique(roots, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[label]
