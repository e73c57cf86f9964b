"""Transfers: move single units while the exact loss of k-means falls.

Lloyd's algorithm compares a unit with fixed means; a transfer also takes into account
that both means move, and so leaves fewer local optima. With the sum S_C of the one-hot
rows of a cluster and its mass M_C, the loss is a constant minus the sum of
|S_C|² / M_C, so a move changes it by a few look-ups.

References
----------
Hartigan, Wong, "Algorithm AS 136: a k-means clustering algorithm", Applied Statistics
28, 1979, doi:10.2307/2346830.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._run.options import raise_if_cancelled
from clusterlens.compute._validation import IntArray
from clusterlens.compute.consensus._links import LinkedLloyd
from clusterlens.compute.consensus._lloyd import (
    LOOKUPS_PER_BLOCK,
    Centres,
    Lloyd,
    LloydResult,
)

MAX_PASSES = 100
MAX_LOOKUPS = 1 << 28  # of all passes after the first, a fraction of a second
_ROUNDING = 1e-10  # smallest gain of a transfer, relative to the loss


class Transfers:
    """Transfers of the units of a problem; a row without links is a unit of its own.

    O(n_rows p k) time for a pass over all of them, one unit after the other.
    """

    def __init__(self, lloyd: Lloyd) -> None:
        rows, apart = lloyd.rows, csr_array((0, 0))
        unit: IntArray = np.empty(0, np.int64)
        if isinstance(lloyd, LinkedLloyd):
            unit, apart = lloyd.linked.unit, lloyd.linked.apart
        self.n_free = rows.n_rows - len(unit)
        self.unit = np.append(np.arange(self.n_free), self.n_free + unit)
        cells = (self.unit, np.arange(rows.n_rows))
        members = coo_array((np.ones(rows.n_rows, np.int8), cells)).tocsr()
        self.lloyd, self.masses = lloyd, rows.weights * lloyd.masses
        self.members = members.indptr, members.indices
        # Free units come first and have no edges.
        first = np.zeros(self.n_free, apart.indptr.dtype)
        self.edges = np.append(first, apart.indptr), apart.indices

    def lower_loss(self, start: LloydResult) -> LloydResult:
        """Transfer units of a converged result until none gains or a limit is reached.

        With gaps the sums do not give the loss, so the result is returned unchanged.
        """
        rows = self.lloyd.rows
        if rows.gaps is not None:
            return start
        n_units, n_clusters = len(self.members[0]) - 1, len(start.centres.masses)
        labels = np.empty(n_units, np.int64)
        labels[self.unit] = start.labels
        sizes = np.bincount(labels, minlength=n_clusters)
        sums, masses = start.centres.counts.astype(float), start.centres.masses.copy()
        norms = rows.column_votes @ sums**2
        lookups = rows.n_partitions * n_clusters
        step = max(1, LOOKUPS_PER_BLOCK // lookups)
        n_passes = max(1, min(MAX_PASSES, MAX_LOOKUPS // (rows.n_rows * lookups)))
        gained = 0.0
        for _ in range(n_passes):
            before = gained
            for first in range(0, n_units, step):
                raise_if_cancelled(self.lloyd.options.cancel)
                gained += _transfer(
                    *(first, min(first + step, n_units), self.n_free),
                    *(rows.columns, rows.votes, rows.weights, self.masses),
                    *(*self.members, *self.edges),
                    *(labels, sizes, sums, masses, norms),
                    _ROUNDING * (1 + start.loss),
                )
            if gained == before:
                break
        centres = Centres(sums.astype(np.int64), masses)
        return LloydResult(labels[self.unit], start.loss - gained, centres)


@kernel()
def _transfer(
    first: int,
    last: int,
    n_free: int,
    columns: Any,
    votes: Any,
    weights: Any,
    row_masses: Any,
    starts: Any,
    members: Any,
    edge_starts: Any,
    edges: Any,
    labels: Any,
    sizes: Any,
    sums: Any,
    masses: Any,
    norms: Any,
    least: float,
) -> float:
    """Move each unit to the cluster of largest gain, in place; return the gain."""
    n_partitions, k = columns.shape[1], len(masses)
    dots = np.empty(k)
    barred = np.full(k, -1)
    gained = 0.0
    for u in range(first, last):
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
                whole += float(votes[t] * weights[i]) * sums[columns[i, t], own]
        for m in range(starts[u], starts[u + 1]):
            i = members[m]
            for t in range(n_partitions):
                sums[columns[i, t], own] -= weights[i]
        dots[:] = 0.0
        for m in range(starts[u], starts[u + 1]):
            i = members[m]
            for t in range(n_partitions):
                factor = float(votes[t] * weights[i])
                for c in range(k):
                    dots[c] += factor * sums[columns[i, t], c]
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
                sums[columns[i, t], best] += weights[i]
        norms[best] += 2 * dots[best] + square
        masses[best] += mass
        sizes[own] -= 1
        sizes[best] += 1
        labels[u] = best
    return gained
