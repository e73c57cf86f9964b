"""Entropy-based consensus: move single rows while the loss of the clusters falls.

The loss of a cluster C of |C| samples is the sum over its members and the p votes of
-ln(share of the members that carry the member's label), |C| times the summed entropies
of its labels. With n_f members in column f it is

    p |C| ln |C| - sum_f v_f n_f ln n_f, v_f the votes of the partition of f,

so a move changes it by a few terms, exactly. Lloyd's algorithm does not work here: the
divergence of a row from a cluster without one of its labels is infinite, so no row
would ever join such a cluster, although that may lower the loss.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._run.options import Cancel, raise_if_cancelled
from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.consensus._lloyd import Centres, LloydResult
from clusterlens.compute.consensus._one_hot import OneHotRows

LOOKUPS_PER_BLOCK = 1 << 22
MAX_PASSES = 300
_ROUNDING = 1e-12  # smallest gain of a move, relative to the largest term


def entropy_loss(rows: OneHotRows, centres: Centres) -> float:
    """Loss of clusters given by their members: counts (n_columns, k), masses (k,)."""
    counts, masses = centres
    within = rows.column_votes @ _x_log_x(counts).sum(axis=1)
    return float(rows.n_votes * _x_log_x(masses).sum() - within)


def lower_entropy(
    rows: OneHotRows, start: LloydResult, cancel: Cancel | None = None
) -> LloydResult:
    """Move rows to the cluster that lowers the loss most, until no move lowers it.

    Every move lowers the loss and no cluster is emptied, so the result is never worse
    than the start. O(n_rows p k) per pass, one row after the other.
    """
    labels = start.labels.copy()
    counts, masses = start.centres.counts.copy(), start.centres.masses.copy()
    members = np.bincount(labels, minlength=len(masses))
    terms = _x_log_x(np.arange(rows.weights.sum() + 1))
    least = _ROUNDING * rows.n_votes * terms[-1]
    step = max(1, LOOKUPS_PER_BLOCK // (rows.n_partitions * len(masses)))
    for _ in range(MAX_PASSES):
        moved = 0
        for first in range(0, rows.n_rows, step):
            raise_if_cancelled(cancel)
            block = slice(first, first + step)
            moved += _move_rows(
                rows.columns[block],
                rows.votes,
                rows.weights[block],
                labels[block],
                counts,
                masses,
                members,
                terms,
                least,
            )
        if moved == 0:
            break
    centres = Centres(counts, masses)
    return LloydResult(labels, entropy_loss(rows, centres), centres)


def _x_log_x(counts: IntArray) -> FloatArray:
    """Compute x ln x, 0 for x = 0."""
    values = counts.astype(np.float64)
    return values * np.log(np.maximum(values, 1))


@kernel()
def _move_rows(
    columns: Any,
    votes: Any,
    weights: Any,
    labels: Any,
    counts: Any,
    masses: Any,
    members: Any,
    terms: Any,
    least: float,
) -> int:
    """Move each row to the cluster of largest gain, in place; return the moves."""
    n_rows, n_partitions = columns.shape
    n_clusters, n_votes = len(masses), votes.sum()
    cost = np.empty(n_clusters)
    moved = 0
    for i in range(n_rows):
        own, weight = labels[i], weights[i]
        if members[own] == 1:
            continue
        for c in range(n_clusters):
            after = masses[c] + (0 if c == own else weight)
            cost[c] = n_votes * (terms[after] - terms[after - weight])
        for t in range(n_partitions):
            column = columns[i, t]
            for c in range(n_clusters):
                after = counts[column, c] + (0 if c == own else weight)
                cost[c] -= votes[t] * (terms[after] - terms[after - weight])
        best = np.argmin(cost)
        if cost[own] - cost[best] <= least:
            continue
        for t in range(n_partitions):
            counts[columns[i, t], own] -= weight
            counts[columns[i, t], best] += weight
        masses[own] -= weight
        masses[best] += weight
        members[own] -= 1
        members[best] += 1
        labels[i] = best
        moved += 1
    return moved
