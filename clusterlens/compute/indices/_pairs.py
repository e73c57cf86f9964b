"""Distances between all pairs of samples, reduced as they are made.

No n x n matrix is stored: memory is linear in the samples, except for sorted distances
of few samples. A pass takes 0.1 to 0.5 n^2 d nanoseconds on two cores (n samples, d
features).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._validation import FloatArray, IntArray

N_BINS = 1 << 14
# Largest number of pair distances (67 MB) to sort.
SORTED_PAIRS = 1 << 23
_BLOCK_PAIRS = 1 << 24  # some 30 ms between two checks for Cancel

_Result = TypeVar("_Result")


@dataclass(frozen=True, eq=False)
class RowDistances:
    """Distances of each sample to its own cluster and to the others, each (n_samples,).

    Sums over the own cluster include the sample itself (0). `other_mean` is the
    smallest mean distance to another cluster. It and `other_min` are infinite if there
    is one cluster.
    """

    own_sum: FloatArray
    other_sum: FloatArray
    own_max: FloatArray
    other_min: FloatArray
    other_mean: FloatArray


def row_distances(
    X: FloatArray, codes: IntArray, bounds: IntArray, run: RunOptions
) -> RowDistances:
    """Reduce the distances of each sample to its own cluster and to the others.

    Rows of X are sorted by cluster; cluster k is rows bounds[k] to bounds[k + 1].
    """
    columns, out = np.ascontiguousarray(X.T), np.empty((5, len(X)))

    def reduce_rows(start: int, stop: int) -> None:
        _reduce_rows(columns, codes, bounds, start, stop, out)

    for _ in _over_row_blocks(len(X), reduce_rows, run):
        pass
    return RowDistances(*out)


@dataclass(frozen=True, eq=False)
class SmallestDistances:
    """Sums of the smallest distances between samples (n_samples, n_features).

    They do not depend on a partition, so partitions of the same samples may share them.
    If `many` partitions do, the distances are sorted once if memory allows. Otherwise
    each sum takes about two passes over the pairs.
    """

    X: FloatArray
    run: RunOptions
    many: bool = False

    def sum(self, rank: int) -> float:
        """Sum of the `rank` smallest distances of all pairs of samples."""
        if self.many and self._n_pairs <= SORTED_PAIRS:
            return float(self._sorted_sums[rank])
        return self._narrowed(rank)

    @property
    def _n_pairs(self) -> int:
        return len(self.X) * (len(self.X) - 1) // 2

    @cached_property
    def _columns(self) -> FloatArray:
        return np.ascontiguousarray(self.X.T)

    @cached_property
    def _widest(self) -> float:
        """Upper bound on all distances."""
        return float(np.linalg.norm(np.ptp(self.X, axis=0)))

    @cached_property
    def _whole(self) -> tuple[IntArray, FloatArray]:
        """Histogram of all distances."""
        return self._histogram(0.0, self._widest)

    @cached_property
    def _sorted_sums(self) -> FloatArray:
        """Sum of the r smallest distances for each rank r, (n_pairs + 1,)."""
        distances, n_samples = np.empty(self._n_pairs), len(self.X)

        def write_rows(start: int, stop: int) -> None:
            _write_rows(self._columns, start, stop, distances)

        for _ in _over_row_blocks(n_samples, write_rows, self.run):
            pass
        distances.sort()
        sums = np.zeros(len(distances) + 1)
        # Long sums lose digits in double precision.
        sums[1:] = np.cumsum(distances, dtype=np.longdouble)
        return sums

    def _narrowed(self, rank: int) -> float:
        """Sum the smallest distances by narrowing a histogram around that rank.

        Stops when the uncertainty left by the bin is below rounding.
        """
        (counts, sums), low, width = self._whole, 0.0, self._widest / N_BINS
        while True:
            reached = np.cumsum(counts)
            cut = int(np.searchsorted(reached, rank))
            missing = rank - (reached[cut - 1] if cut else 0)
            total = float(sums[:cut].sum() + missing * sums[cut] / max(counts[cut], 1))
            left_open = min(missing, counts[cut] - missing) * width
            if left_open <= max(1e-14 * total, 1e-18 * self._widest * rank):
                return total
            # One more bin on each side, so that rounding at an edge loses no pair.
            low, high = low + (cut - 2) * width, low + (cut + 1) * width
            counts, sums = self._histogram(low, high)
            width = (high - low) / N_BINS

    def _histogram(self, low: float, high: float) -> tuple[IntArray, FloatArray]:
        """Count and sum distances in N_BINS bins, and below low and above high."""

        def count_rows(start: int, stop: int) -> tuple[IntArray, FloatArray]:
            counts, sums = np.zeros(N_BINS + 2, np.int64), np.zeros(N_BINS + 2)
            scale = N_BINS / (high - low) if high > low else 0.0
            _count_rows(self._columns, start, stop, low, scale, counts, sums)
            return counts, sums

        counts, sums = np.zeros(N_BINS + 2, np.int64), np.zeros(N_BINS + 2)
        for block_counts, block_sums in _over_row_blocks(
            len(self.X), count_rows, self.run
        ):
            counts += block_counts
            sums += block_sums
        return counts, sums


def _over_row_blocks(
    n_samples: int, reduce: Callable[[int, int], _Result], run: RunOptions
) -> Iterator[_Result]:
    """Apply reduce(start, stop) to short blocks of rows on threads, in order."""
    step = max(1, _BLOCK_PAIRS // n_samples)
    starts = range(0, n_samples, step)
    blocks = [(start, min(start + step, n_samples)) for start in starts]
    return run_blocks(reduce, blocks, [1] * len(blocks), run)


@kernel(fast_sums=True)
def _distances_from(columns: FloatArray, i: int, first: int, out: FloatArray) -> None:
    """Write the distances of sample i to samples first, first + 1, ... of (d, n)."""
    out[:] = 0.0
    for f in range(columns.shape[0]):
        centre = columns[f, i]
        column = columns[f, first:]
        for j in range(len(out)):
            difference = column[j] - centre
            out[j] += difference * difference
    for j in range(len(out)):
        out[j] = np.sqrt(out[j])


@kernel()
def _write_rows(columns: FloatArray, start: int, stop: int, out: FloatArray) -> None:
    """Write the distances of pairs (i, j), start <= i < stop, i < j, row after row."""
    n = columns.shape[1]
    for i in range(start, stop):
        first = i * (n - 1) - i * (i - 1) // 2
        _distances_from(columns, i, i + 1, out[first : first + n - i - 1])


@kernel(fast_sums=True)
def _reduce_rows(
    columns: FloatArray,
    codes: IntArray,
    bounds: IntArray,
    start: int,
    stop: int,
    out: FloatArray,
) -> None:
    """Fill columns start to stop of the fields of RowDistances, (5, n)."""
    row = np.empty(columns.shape[1])
    for i in range(start, stop):
        _distances_from(columns, i, 0, row)
        other_sum, other_min, other_mean = 0.0, np.inf, np.inf
        for k in range(len(bounds) - 1):
            to_cluster = row[bounds[k] : bounds[k + 1]]
            if k == codes[i]:
                out[0, i], out[2, i] = to_cluster.sum(), to_cluster.max()
                continue
            cluster_sum = to_cluster.sum()
            other_sum += cluster_sum
            other_min = min(other_min, to_cluster.min())
            other_mean = min(other_mean, cluster_sum / len(to_cluster))
        out[1, i], out[3, i], out[4, i] = other_sum, other_min, other_mean


@kernel(fast_sums=True)
def _count_rows(
    columns: FloatArray,
    start: int,
    stop: int,
    low: float,
    scale: float,
    counts: IntArray,
    sums: FloatArray,
) -> None:
    """Add the pairs (i, j), start <= i < stop, i < j, to bins (N_BINS + 2,)."""
    n = columns.shape[1]
    last = len(counts) - 1
    buffer = np.empty(n)
    for i in range(start, stop):
        row = buffer[: n - i - 1]
        _distances_from(columns, i, i + 1, row)
        for distance in row:
            position = (distance - low) * scale
            if position < 0:
                bin_index = 0
            elif position < last - 1:
                bin_index = int(position) + 1
            else:
                bin_index = last
            counts[bin_index] += 1
            sums[bin_index] += distance
