"""Transfers: move single units under links while the exact loss of k-means falls.

Lloyd's algorithm compares a unit with the means as they are; a transfer also counts how
both means move, and so leaves fewer local optima. With the sum S_C of the one-hot rows
of a cluster and its mass M_C, the loss is a constant minus the sum of |S_C|² / M_C, so
that a move changes it by a few look-ups.

References
----------
Hartigan, Wong, "Algorithm AS 136: a k-means clustering algorithm", Applied Statistics
28, 1979, doi:10.2307/2346830.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import IntArray
from clusterlens.compute.consensus._links import LinkedRows
from clusterlens.compute.consensus._lloyd import Centres, LloydResult

MAX_PASSES = 100
_ROUNDING = 1e-10  # of the loss: what a transfer must gain


class Transfers:
    """Transfers of the units of a problem with links; a free row is a unit of its own.

    O(n_rows p k) time for a pass over all of them.
    """

    def __init__(self, linked: LinkedRows, masses: IntArray) -> None:
        rows, self.n_free = linked.rows, linked.rows.n_rows - len(linked.unit)
        self.unit = np.append(np.arange(self.n_free), self.n_free + linked.unit)
        cells = (self.unit, np.arange(rows.n_rows))
        members = coo_array((np.ones(rows.n_rows, np.int8), cells)).tocsr()
        self.rows, self.masses = rows, rows.weights * masses
        self.members = members
        # Free units, which come first, have no edges.
        first = np.zeros(self.n_free, linked.apart.indptr.dtype)
        self.edges = np.append(first, linked.apart.indptr), linked.apart.indices

    def lower_loss(self, start: LloydResult) -> LloydResult:
        """Transfer units from a converged result until none gains."""
        rows = self.rows
        labels = np.empty(self.members.shape[0], np.int64)
        labels[self.unit] = start.labels
        counts, masses = start.centres.counts.copy(), start.centres.masses.copy()
        gained = 0.0
        for _ in range(MAX_PASSES):
            gain = _transfer(
                *(rows.columns, rows.votes, rows.weights, self.masses),
                *(self.members.indptr, self.members.indices),
                *(*self.edges, self.n_free),
                *(labels, counts, masses, _ROUNDING * (1 + start.loss)),
            )
            gained += gain
            if not gain:
                break
        loss = start.loss - gained
        return LloydResult(labels[self.unit], loss, Centres(counts, masses))


@kernel()
def _transfer(
    columns: Any,
    votes: Any,
    weights: Any,
    row_masses: Any,
    starts: Any,
    members: Any,
    edge_starts: Any,
    edges: Any,
    n_free: int,
    labels: Any,
    counts: Any,
    masses: Any,
    least: float,
) -> float:
    """Move each unit where that gains most, in place; return what was gained."""
    n_partitions, k = columns.shape[1], len(masses)
    sizes = np.zeros(k, np.int64)
    for u in range(len(labels)):
        sizes[labels[u]] += 1
    norms = np.zeros(k)
    vote_of = np.zeros(counts.shape[0], np.int64)
    for i in range(columns.shape[0]):
        for t in range(n_partitions):
            vote_of[columns[i, t]] = votes[t]
    for f in range(counts.shape[0]):
        for c in range(k):
            norms[c] += float(vote_of[f]) * counts[f, c] * counts[f, c]
    dots = np.empty(k)
    barred = np.full(k, -1)
    gained = 0.0
    for u in range(len(labels)):
        own = labels[u]
        if sizes[own] == 1:
            continue
        for e in range(edge_starts[u], edge_starts[u + 1]):
            barred[labels[n_free + edges[e]]] = u
        whole, mass = 0.0, 0
        for m in range(starts[u], starts[u + 1]):
            i = members[m]
            mass += row_masses[i]
            for t in range(n_partitions):
                whole += float(votes[t] * weights[i]) * counts[columns[i, t], own]
        for m in range(starts[u], starts[u + 1]):
            i = members[m]
            for t in range(n_partitions):
                counts[columns[i, t], own] -= weights[i]
        dots[:] = 0.0
        for m in range(starts[u], starts[u + 1]):
            i = members[m]
            for t in range(n_partitions):
                factor = float(votes[t] * weights[i])
                for c in range(k):
                    dots[c] += factor * counts[columns[i, t], c]
        square = whole - dots[own]
        norms[own] -= 2 * dots[own] + square
        masses[own] -= mass
        best, most, stay = own, -np.inf, 0.0
        for c in range(k):
            after = norms[c] + 2 * dots[c] + square
            gain = after / (masses[c] + mass) - norms[c] / masses[c]
            if c == own:
                stay = gain
            if barred[c] != u and gain > most:
                best, most = c, gain
        if most - stay <= least:
            best = own
        else:
            gained += most - stay
        for m in range(starts[u], starts[u + 1]):
            i = members[m]
            for t in range(n_partitions):
                counts[columns[i, t], best] += weights[i]
        norms[best] += 2 * dots[best] + square
        masses[best] += mass
        sizes[own] -= 1
        sizes[best] += 1
        labels[u] = best
    return gained
