"""Distances between the membership rows of pairs of samples, and their distribution.

The distance of a pair is half the L1 distance of its two membership rows, in [0, 1] for
rows that sum to one: 0 for equal rows, 1 for disjoint ones. With another norm p it is
the Lp distance over 2^(1/p), the distance of two hard rows. The agreement of a pair, in
the terms of the fuzzy indices, is one minus the distance; distances keep the digits
that agreements near one would lose.

All functions take memberships of shape (n_samples, n_clusters) and O(n) or O(bins)
memory: blocks of rows are processed on a few threads. Above `exact_limit` samples,
pairs are drawn at random, and the results say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import pdist

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._run.options import DEFAULT_RUN, RunOptions
from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    check_range,
    read_only,
)

LISTED_SAMPLES = 1000  # up to this size all pair distances are kept, else binned
BINS = 1 << 16
_BLOCK_STEPS = 1 << 24  # entries of membership rows compared per block, some 10 ms
_CHUNK_ENTRIES = 1 << 21  # entries of membership rows gathered at once when sampling

_Part = TypeVar("_Part")


@dataclass(frozen=True)
class PairWalk:
    """Choice of pairs: all of them, or a number drawn at random; and the threads."""

    exact_limit: int = 20_000
    n_pairs: int = 1_000_000
    run: RunOptions = DEFAULT_RUN

    def __post_init__(self) -> None:
        """Check the sizes."""
        check_range(self.exact_limit, 0, np.inf, name="exact_limit", integer=True)
        check_range(self.n_pairs, 2, 1e9, name="n_pairs", integer=True)

    def is_exact(self, n_samples: int) -> bool:
        """Say whether all pairs are visited."""
        return n_samples <= self.exact_limit


@dataclass(frozen=True)
class Estimate:
    """A mean over pairs of samples or of drawn rows, with its errors.

    `standard_error` is the error from `n_drawn` random pairs (both 0 if there are
    none), `error_bound` the largest error of binning.
    """

    value: float
    standard_error: float = 0.0
    error_bound: float = 0.0
    n_drawn: int = 0


@dataclass(frozen=True, eq=False)
class PairDistances:
    """A distribution of pair distances, as weighted points.

    `values` (m,) ascend, `weights` (m,) sum to one. A point of binned distances is the
    mean of its bin of the given `width` (0: not binned). `n_drawn` is the number of
    pairs drawn at random (0: all pairs).
    """

    values: FloatArray
    weights: FloatArray
    width: float = 0.0
    n_drawn: int = 0

    @classmethod
    def from_values(cls, values: FloatArray, n_drawn: int = 0) -> PairDistances:
        """Give equal weight to all values, shape (m,), in any order."""
        weights = np.full(values.size, 1 / values.size)
        return cls(read_only(np.sort(values)), read_only(weights), n_drawn=n_drawn)

    @cached_property
    def _below(self) -> tuple[FloatArray, FloatArray]:
        """Weight and weighted sum of the first 0, 1, ... m points, shape (m + 1,)."""
        return (
            np.concatenate([[0.0], np.cumsum(self.weights)]),
            np.concatenate([[0.0], np.cumsum(self.weights * self.values)]),
        )

    def difference_from(self, points: FloatArray) -> FloatArray:
        """Return E|D - t| for each t of ascending points, shape (m,).

        Sorted evaluation: with weight W and weighted sum B of the values up to t,
        E|D - t| = (tW - B) + (mean - B) - t(1 - W), in O(log) per t.
        """
        weight, total = self._below
        position = np.searchsorted(self.values, points, side="right")
        w, b = weight[position], total[position]
        return points * (2 * w - weight[-1]) + total[-1] - 2 * b

    def probability_within(self, points: FloatArray, reach: float) -> FloatArray:
        """Return P(|D - t| <= reach) for each t of points, shape (m,)."""
        weight = self._below[0]
        upper = np.searchsorted(self.values, points + reach, side="right")
        lower = np.searchsorted(self.values, points - reach, side="left")
        return weight[upper] - weight[lower]


def observed_distances(
    memberships: FloatArray,
    rng: np.random.Generator,
    walk: PairWalk,
    norm: float = 1.0,
) -> PairDistances:
    """Return the distribution of the distances over pairs i < j of the rows (n, K)."""
    n_samples = len(memberships)
    if n_samples <= min(LISTED_SAMPLES, walk.exact_limit):
        distances = pdist(scaled_rows(memberships, norm), "minkowski", p=norm)
        return PairDistances.from_values(distances)
    if not walk.is_exact(n_samples):
        i, j = _draw_pairs(n_samples, walk.n_pairs, rng)
        drawn = _distances_at(memberships, i, j, norm)
        return PairDistances.from_values(drawn, n_drawn=walk.n_pairs)
    return _binned_distances(memberships, walk, norm)


def mean_discordance(
    u: FloatArray,
    v: FloatArray,
    rng: np.random.Generator,
    walk: PairWalk,
    norm: float = 1.0,
) -> Estimate:
    """Return the mean of |d_u - d_v| over the pairs."""
    n_samples = len(u)
    if not walk.is_exact(n_samples):
        i, j = _draw_pairs(n_samples, walk.n_pairs, rng)
        of_u, of_v = (_distances_at(rows, i, j, norm) for rows in (u, v))
        difference = np.abs(of_u - of_v)
        error = float(difference.std() / walk.n_pairs**0.5)
        return Estimate(float(difference.mean()), error, n_drawn=walk.n_pairs)
    columns = _scaled_columns(u, norm), _scaled_columns(v, norm)

    def block(start: int, stop: int) -> float:
        return _sum_discordance(*columns, norm, start, stop)

    steps = u.shape[1] + v.shape[1]
    total = sum(_over_row_blocks(block, n_samples, steps, walk))
    return Estimate(total / count_pairs(n_samples))


def count_pairs(n_samples: int) -> int:
    """Return the number of unordered pairs."""
    return n_samples * (n_samples - 1) // 2


def pairs_together(sizes: npt.ArrayLike) -> float:
    """Count the pairs inside clusters of the given sizes (k,)."""
    counts = np.asarray(sizes, dtype=float)
    return float((counts * (counts - 1) / 2).sum())


def sum_of_differences(values: FloatArray, codes: IntArray | None = None) -> float:
    """Sum |x_i - x_j| over the pairs of values (n,), within groups if codes are given.

    The r-th smallest of m values counts 2r - m - 1 times (r = 1..m).
    """
    if codes is None:
        ordered = np.sort(values)
        factor = 2 * np.arange(values.size) - values.size + 1
    else:
        ordered = values[np.lexsort((values, codes))]
        sizes = np.bincount(codes)
        starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
        factor = 2 * (np.arange(values.size) - starts) - np.repeat(sizes, sizes) + 1
    return float(factor @ ordered)


def summed_distance(rows: FloatArray, codes: IntArray | None = None) -> float:
    """Sum half the L1 distances over pairs of rows (n, K), within groups if given."""
    return sum(sum_of_differences(column, codes) for column in rows.T) / 2


def _binned_distances(
    memberships: FloatArray, walk: PairWalk, norm: float
) -> PairDistances:
    """Count the pair distances of rows (n, K) in equal bins with their means."""
    n_samples, n_clusters = memberships.shape
    # No distance exceeds the distance of the column ranges, so rows that hardly differ
    # get bins as fine as their distances.
    ranges = scaled_rows(np.ptp(memberships, axis=0), norm)
    largest = min(1.0, float(np.linalg.norm(ranges, norm)))
    if largest == 0:
        return PairDistances.from_values(np.zeros(1))
    columns = _scaled_columns(memberships, norm)

    def block(start: int, stop: int) -> tuple[IntArray, FloatArray]:
        return _count_distances(columns, norm, start, stop, BINS / largest, BINS)

    counts, sums = np.zeros(BINS, dtype=np.int64), np.zeros(BINS)
    for part_counts, part_sums in _over_row_blocks(block, n_samples, n_clusters, walk):
        counts += part_counts
        sums += part_sums
    occupied = counts > 0
    counts = counts[occupied]
    return PairDistances(
        read_only(sums[occupied] / counts),
        read_only(counts / counts.sum()),
        width=largest / BINS,
    )


def _over_row_blocks(
    block: Callable[[int, int], _Part], n_samples: int, steps: int, walk: PairWalk
) -> Iterator[_Part]:
    """Yield block(start, stop) for consecutive rows, in order, computed on threads.

    The blocks depend only on the sizes, so sums over them do not depend on n_jobs.
    """
    blocks = _row_blocks(n_samples, steps)
    work = [
        count_pairs(n_samples - start) - count_pairs(n_samples - stop)
        for start, stop in blocks
    ]
    return run_blocks(block, blocks, work, walk.run)


def _row_blocks(n_samples: int, steps: int) -> list[tuple[int, int]]:
    """Divide the rows of the upper triangle into blocks of about equal work."""
    work = np.cumsum(np.arange(n_samples - 1, 0, -1) * steps) // _BLOCK_STEPS
    stops = (np.flatnonzero(np.diff(work)) + 1).tolist() + [n_samples - 1]
    return list(pairwise([0, *stops]))


def scaled_rows(memberships: FloatArray, norm: float) -> FloatArray:
    """Divide memberships by the distance of two hard rows in an Lp norm."""
    return memberships / 2 ** (1 / norm)


def _scaled_columns(memberships: FloatArray, norm: float) -> FloatArray:
    """Return scaled memberships as contiguous columns, shape (K, n)."""
    return scaled_rows(np.ascontiguousarray(memberships.T), norm)


@kernel()
def _row_distances(columns, norm, i, out):  # type: ignore[no-untyped-def]
    """Fill out[i + 1:] (n,) with the distances of sample i from the later samples."""
    n_clusters, n_samples = columns.shape
    out[i + 1 :] = 0.0
    for k in range(n_clusters):
        own = columns[k, i]
        for j in range(i + 1, n_samples):
            difference = abs(columns[k, j] - own)
            if norm == 1:
                out[j] += difference
            elif norm == np.inf:
                out[j] = max(out[j], difference)
            else:
                out[j] += difference**norm
    if 1 < norm < np.inf:
        out[i + 1 :] **= 1 / norm


@kernel()
def _sum_discordance(u, v, norm, start, stop):  # type: ignore[no-untyped-def]
    """Sum |d_u - d_v| over the pairs of rows start..stop with later ones."""
    n_samples = u.shape[1]
    in_u, in_v = np.empty(n_samples), np.empty(n_samples)
    totals = np.zeros(n_samples)
    for i in range(start, stop):
        _row_distances(u, norm, i, in_u)
        _row_distances(v, norm, i, in_v)
        for j in range(i + 1, n_samples):
            totals[j] += abs(in_u[j] - in_v[j])
    return totals.sum()


@kernel()
def _count_distances(columns, norm, start, stop, scale, n_bins):  # type: ignore[no-untyped-def]
    """Count and sum, per bin (n_bins,), the distances of rows start..stop."""
    n_samples = columns.shape[1]
    distances = np.empty(n_samples)
    counts, sums = np.zeros(n_bins, dtype=np.int64), np.zeros(n_bins)
    for i in range(start, stop):
        _row_distances(columns, norm, i, distances)
        for j in range(i + 1, n_samples):
            b = min(int(distances[j] * scale), n_bins - 1)
            counts[b] += 1
            sums[b] += distances[j]
    return counts, sums


def _draw_pairs(
    n_samples: int, n_pairs: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw pairs of different samples uniformly, with replacement; two (n_pairs,)."""
    i = rng.integers(n_samples, size=n_pairs)
    j = rng.integers(n_samples - 1, size=n_pairs)
    return i, j + (j >= i)


def _distances_at(
    memberships: FloatArray, i: IntArray, j: IntArray, norm: float
) -> FloatArray:
    """Return the distances of the pairs (i, j), shape (n_pairs,)."""
    chunk = max(1, _CHUNK_ENTRIES // memberships.shape[1])
    parts = [
        np.linalg.norm(
            memberships[i[s : s + chunk]] - memberships[j[s : s + chunk]], norm, axis=1
        )
        for s in range(0, len(i), chunk)
    ]
    return scaled_rows(np.concatenate(parts), norm)
