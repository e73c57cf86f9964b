"""Seeds of CNS: candidates, their greedy order, and their number.

Three published versions differ here; `VERSIONS` holds all that distinguishes them. In
the code, c is the in-degree of the neighbour graph, Q (n, m) the absorption
probabilities of m candidates, and the order is the same for every number of clusters K,
so that one run answers every K.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.estimators._blocked_search import squared_distance
from clusterlens.compute.estimators.neighbors import (
    Table,
    neighbor_table,
)

MAX_LOCAL_MAXIMA = 300
# Samples with the same neighbours have the same column, up to rounding of this size.
_TIE = 1e-12


@dataclass(frozen=True)
class Version:
    """Properties of one published version of CNS."""

    self_included: bool
    """Whether a sample is the first of its own k neighbours."""
    max_clusters: int
    """Largest number of clusters that is tried."""
    neighbors_grid: Callable[[int], list[int]]
    """Neighbourhood sizes tried for n samples."""
    alpha_grid: Callable[[int], list[float]]
    """Stopping probabilities tried for n samples."""
    candidates: Callable[[FloatArray, Table, int], IntArray]
    """Candidate seeds from the data, its neighbour table and the most clusters."""
    ideal_gain: Callable[[int, int, float], float]
    """The gain in clarity of ideal clusters, R(n, k, alpha)."""


def in_degrees(table: Table) -> IntArray:
    """Count in how many neighbourhoods each sample is, shape (n_samples,)."""
    return np.bincount(table.ravel(), minlength=len(table))


def farthest_first(X: FloatArray, table: Table, max_clusters: int) -> IntArray:
    """Candidates that are popular and far from each other, in the order found.

    The first has the largest in-degree; each further one maximises in-degree times the
    distance to the nearest one before it. Ends early where only duplicates of
    candidates are left. O(n d max_clusters).
    """
    return _farthest_first(X, in_degrees(table), min(max_clusters, len(X)))


def local_maxima(X: FloatArray, table: Table, max_clusters: int) -> IntArray:
    """Candidates with at least the in-degree of all their neighbours, ascending.

    At most 300: those with the largest in-degree times distance to the nearest other.
    """
    degrees = in_degrees(table)
    found = np.flatnonzero(degrees >= degrees[table].max(axis=1))
    if len(found) <= MAX_LOCAL_MAXIMA:
        return found
    to_nearest = neighbor_table(X[found], 1)[1][:, 0]
    ranked = np.argsort(-degrees[found] * to_nearest, kind="stable")
    return np.sort(found[ranked[:MAX_LOCAL_MAXIMA]])


def greedy_order(
    masses: FloatArray,
    overlaps: FloatArray,
    n_seeds: int,
    uncertainty: float = 0.0,
    n_samples: int = 0,
) -> tuple[IntArray, bool]:
    """Order candidates so that each carries much mass and overlaps little.

    `masses` (n_candidates,) are the column sums of Q, `overlaps` (n_candidates,
    n_candidates) the inner products of its columns. Positions of n_seeds candidates or
    all: the largest mass first; then always the candidate with the smallest ratio of
    its largest overlap with earlier candidates to its squared mass. Ties go to the
    smaller position. Values tie if they differ by rounding, or by no more than errors
    up to `uncertainty` of the entries of Q (n_samples rows) allow; then the order is
    not certain. An overlap of zero ties only with zero. Returns the order, and whether
    it is certain.
    """
    mass_error = uncertainty * n_samples
    first = masses >= masses.max() * (1 - _TIE) - 2 * mass_error
    order = [int(np.argmax(first))]
    largest_overlap = overlaps[order[0]].copy()
    error = uncertainty * (masses + masses.max()) / masses**2
    share = _TIE + 2 * mass_error / masses
    left = np.ones(len(masses), bool)
    is_certain = uncertainty == 0 or np.count_nonzero(first) == 1
    while len(order) < min(n_seeds, len(masses)):
        left[order[-1]] = False
        cost = largest_overlap / masses**2
        off = error + share * cost
        best = np.flatnonzero(left)[np.argmin(cost[left])]
        tied = cost - off <= cost[best] + off[best] if cost[best] else cost == 0
        tied &= left
        is_certain &= uncertainty == 0 or not cost[best] or np.count_nonzero(tied) == 1
        order.append(int(np.argmax(tied)))
        np.maximum(largest_overlap, overlaps[order[-1]], out=largest_overlap)
    return np.array(order), bool(is_certain)


def clarity(absorption: npt.NDArray[np.floating[Any]]) -> FloatArray:
    """Mean largest membership with the first K seeds, for every K at once, (n_seeds,).

    Of Q (n_samples, n_seeds) with its columns in greedy order. Entry K - 1 is the mean
    of max_j P_ij, in [1/K, 1]; 1 is best. From the running maximum and the running sum
    of each row: O(n n_seeds).
    """
    largest, total = _running_means(np.ascontiguousarray(absorption))
    return largest + (1 - total) / np.arange(1, absorption.shape[1] + 1)


def criterion(values: FloatArray, n_samples: int, ideal_gain: float) -> FloatArray:
    """Gain in clarity over the start as a share of the ideal gain, shape (n_seeds,).

    G_K = (C_K - 1/K - (K-1)/n) / R, and 0 for one cluster; higher is better.
    """
    clusters = np.arange(1, len(values) + 1)
    with np.errstate(divide="ignore", over="ignore"):
        gains = (values - 1 / clusters - (clusters - 1) / n_samples) / ideal_gain
    gains[0] = 0.0
    return gains


def ideal_gain(n_samples: int, n_neighbors: int, alpha: float) -> float:
    """R of v2 and revised, for clusters with the seed as neighbour of all samples."""
    root = 1 / math.sqrt(n_neighbors) - 1 / math.sqrt(n_samples)
    return (1 - alpha) * root * root


def _ideal_gain_v1(n_samples: int, n_neighbors: int, alpha: float) -> float:
    """R as v1 was run: n - alpha stands where the ideal case has n - K alpha."""
    n, k, stay = n_samples, n_neighbors, 1 - alpha
    clusters = math.sqrt((n - (n - alpha) * k / (k + stay)) / stay)
    reached = (n - alpha) * alpha * (k / clusters + stay)
    reached /= n * (k - stay * (k - alpha))
    start = (n - clusters + clusters**2) / (n * clusters)
    return reached + alpha * clusters / n - start


def _alphas_by_size(n_samples: int) -> list[float]:
    """1, ..., 5 divided by sqrt(n), as far as they are below 1."""
    alphas = [a / math.sqrt(n_samples) for a in range(1, 6)]
    return [alpha for alpha in alphas if alpha < 1]


def _multiples(base: float) -> list[int]:
    """1, 2, 3 and 4 times a whole number, at least 1."""
    return [m * max(1, int(base)) for m in (1, 2, 3, 4)]


VERSIONS = {
    "revised": Version(
        self_included=True,
        max_clusters=50,
        neighbors_grid=lambda n: _multiples(math.ceil(math.log(n))),
        alpha_grid=_alphas_by_size,
        candidates=farthest_first,
        ideal_gain=ideal_gain,
    ),
    "v2": Version(
        self_included=True,
        max_clusters=30,
        neighbors_grid=lambda n: _multiples(math.floor(math.log(n))),
        alpha_grid=_alphas_by_size,
        candidates=local_maxima,
        ideal_gain=ideal_gain,
    ),
    "v1": Version(
        self_included=False,
        max_clusters=30,
        neighbors_grid=lambda _: [5, 7, 9, 11, 13, 15],
        alpha_grid=lambda _: [0.01, 0.02],
        candidates=local_maxima,
        ideal_gain=_ideal_gain_v1,
    ),
}


@kernel()
def _farthest_first(X: Any, weights: Any, n_points: int) -> Any:
    """Weighted farthest-first traversal: indices, at most n_points."""
    chosen = np.empty(n_points, np.int64)
    chosen[0] = np.argmax(weights)
    to_nearest = np.full(len(X), np.inf)
    for count in range(1, n_points):
        best, best_score = -1, 0.0
        for i in range(len(X)):
            square = squared_distance(X[i], X[chosen[count - 1]])
            to_nearest[i] = min(to_nearest[i], square)
            score = weights[i] * math.sqrt(to_nearest[i])
            if score > best_score:
                best, best_score = i, score
        if best < 0:
            return chosen[:count]
        chosen[count] = best
    return chosen


@kernel()
def _running_means(absorption: Any) -> Any:
    """Means over the rows of the running maximum and the running sum, by column."""
    n_samples, n_seeds = absorption.shape
    largest, total = np.zeros(n_seeds), np.zeros(n_seeds)
    for i in range(n_samples):
        maximum, sums = 0.0, 0.0
        for c in range(n_seeds):
            value = absorption[i, c]
            maximum = max(maximum, value)
            sums += value
            largest[c] += maximum
            total[c] += sums
    return largest / n_samples, total / n_samples
