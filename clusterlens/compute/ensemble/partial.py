"""Pairs of partial partitions: joining votes among the votes that saw a pair.

A model that left out a sample has no vote on its pairs. The consensus of a pair is the
number of votes that join it over the number that saw it, so agreement has as many
levels as there are such fractions. One pass over the pairs counts them, without n x n
arrays: a tile of pairs at a time is sorted by level, so that the counters of a level
stay in registers while its pairs are counted, however many levels there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._run.registers import book_seen, register_zeros, sum_seen_votes
from clusterlens.compute._validation import (
    DataError,
    FloatArray,
    IntArray,
    check_memory,
    read_only,
)
from clusterlens.compute.ensemble.ensemble import Ensemble, distinct_votes

CountArray = npt.NDArray[np.int64]

_TABLE_BYTES = 4_000_000_000
_BLOCK_COMPARISONS = 1_000_000_000  # about a tenth of a second
_TILE_ROWS = 1024
_TILE_PAIRS = 1 << 20  # sorted by level at a time
_ROUNDING = 1e-12  # relative to a product of variances


@dataclass(frozen=True, eq=False)
class Levels:
    """The possible shares of joining votes among the votes that saw a pair, ascending.

    Parameters
    ----------
    joined, seen : array of int64, shape (n_levels,)
        Votes for one pair of each level; their quotient is the share, from 0 to 1.
    place : array of int32, shape (n_votes + 1, n_votes + 1)
        Entry (p, a): the level of a pair that p votes saw and a join; -1 if there is
        none.
    """

    joined: IntArray
    seen: IntArray
    place: npt.NDArray[np.int32]

    @property
    def shares(self) -> FloatArray:
        """Share of each level, shape (n_levels,), from 0 to 1."""
        return self.joined / self.seen

    def needed(self, n_votes: int) -> IntArray:
        """Largest threshold that each level reaches: a pair is joined at h votes of V.

        A pair is joined if a / p >= h / V, in integer arithmetic.
        """
        return self.joined * n_votes // self.seen


def share_levels(ensemble: Ensemble) -> Levels:
    """Enumerate the shares that the pairs of an ensemble can have, O(V²) for V votes.

    Raises MemoryError if there are too many votes for tables of a row per model.
    """
    n_votes = ensemble.n_votes
    check_memory(
        8 * n_votes**2 * len(distinct_votes(ensemble)[0]),
        _TABLE_BYTES,
        what=f"Counting the agreements of partial partitions with {n_votes} votes",
        remedy="give fewer partitions, or smaller weights.",
    )
    always = int(ensemble.votes[ensemble.n_gaps == 0].sum())
    seen, joined = np.tril_indices(n_votes + 1)
    kept = seen >= max(always, 1)
    seen, joined = seen[kept], joined[kept]
    _, first, level = np.unique(joined / seen, return_index=True, return_inverse=True)
    place = np.full((n_votes + 1, n_votes + 1), -1, np.int32)
    place[seen, joined] = level
    return Levels(read_only(joined[first]), read_only(seen[first]), read_only(place))


@dataclass(frozen=True, eq=False)
class SeenCodes:
    """Codes of the distinct partitions with gaps, and their votes.

    Both have one unsigned type, wide enough for all codes and for the sum of the votes.

    Parameters
    ----------
    by_sample : array of unsigned int, shape (n_items, width)
        Codes from 1 on, 0 in gaps; rows are whole registers, padded with gaps.
    votes : array of unsigned int, shape (n_models,)
        Votes of the identical partitions behind each model.
    """

    by_sample: npt.NDArray[Any]
    votes: npt.NDArray[Any]

    @property
    def lanes(self) -> int:
        """Number of codes in a register."""
        return len(register_zeros((1, 1), self.votes.dtype)[0])


def seen_codes(ensemble: Ensemble, samples: npt.ArrayLike | None = None) -> SeenCodes:
    """Lay out the codes of an ensemble with gaps, for the given samples or all."""
    first, votes = distinct_votes(ensemble)
    codes = ensemble.codes_and_gaps[first]
    if samples is not None:
        codes = codes[:, np.asarray(samples)]
    kind = np.min_scalar_type(max(int(codes.max()) + 1, int(votes.sum())))
    by_sample = register_zeros((codes.shape[1], len(first)), kind)
    by_sample[:, : len(first)] = codes.T
    by_sample[:, : len(first)] += 1
    by_sample[:, : len(first)][(codes == ensemble.n_codes[first, None]).T] = 0
    return SeenCodes(by_sample, votes.astype(kind))


def count_seen_pairs(
    ensemble: Ensemble,
    levels: Levels,
    samples: npt.ArrayLike | None,
    run: RunOptions,
) -> tuple[CountArray, CountArray, CountArray]:
    """Count ordered pairs of different samples by level, and by the model that saw it.

    Counts the given samples (n_compared,) or all. Returns pairs that a vote saw,
    (n_levels,), and among them the pairs that each model joins and that it saw,
    (n_partitions, n_levels) each, all int64. O(n² T) time; O(T V²) memory.
    """
    layout = seen_codes(ensemble, samples)
    n_items, width = layout.by_sample.shape
    n_models, n_levels = len(layout.votes), len(levels.joined)
    blocks = _row_blocks(n_items, max(_BLOCK_COMPARISONS // n_models, 1))
    work = [
        (stop - start) * (2 * n_items - 1 - start - stop) // 2 for start, stop in blocks
    ]
    pairs = np.zeros(n_levels, np.int64)
    tables = np.zeros((2, n_levels, width), np.int64)
    for some, joint_and_seen in run_blocks(
        lambda *rows: _count_block(layout, levels, *rows), blocks, work, run
    ):
        pairs += some
        tables += joint_and_seen
    group = ensemble._distinct[1]
    joint, seen = (2 * table.T[group] for table in tables)
    return 2 * pairs, joint, seen


def partial_disagreement(ensemble: Ensemble, run: RunOptions) -> FloatArray:
    """Mean of 4 C (1 - C) over the pairs of each sample that a vote saw.

    Shape (n_samples,); the sample itself counts with C = 1. O(n² T) time.
    """
    layout = seen_codes(ensemble)
    n = len(layout.by_sample)
    step = max(_BLOCK_COMPARISONS // (n * len(layout.votes)), 1)
    blocks = list(pairwise([*range(0, n, step), n]))
    work = [(stop - start) * n for start, stop in blocks]
    parts = run_blocks(lambda *rows: _doubt_block(layout, *rows), blocks, work, run)
    return np.concatenate(list(parts))


@dataclass(frozen=True, eq=False)
class SeenDifferences:
    """Differences of two consensus matrices on pairs seen by votes of both ensembles.

    Parameters
    ----------
    changed : array of float64, shape (n_samples,)
        Root mean square difference of the rows of each sample over seen pairs, itself
        included; NaN if there are none.
    correlation : float
        Correlation of both matrices over the pairs of different samples; NaN if one is
        constant.
    n_pairs : int
        Number of these pairs.
    """

    changed: FloatArray
    correlation: float
    n_pairs: int


def partial_differences(
    first: SeenCodes, second: SeenCodes, run: RunOptions
) -> SeenDifferences:
    """Compare two consensus matrices of the same samples on the pairs that both saw.

    O(n² T) time: shares of different votes do not follow from tables of clusters.
    """
    n = len(first.by_sample)
    models = len(first.votes) + len(second.votes)
    step = min(max(_BLOCK_COMPARISONS // (n * models), 1), max(_TILE_PAIRS // n, 1))
    blocks = list(pairwise([*range(0, n, step), n]))

    def compare(start: int, stop: int) -> tuple[FloatArray, FloatArray]:
        a, b = (_share_rows(*_sums(one), start, stop) for one in (first, second))
        seen = np.isfinite(a) & np.isfinite(b)
        gap = np.where(seen, a - b, 0.0)
        with np.errstate(invalid="ignore"):
            changed = np.sqrt((gap**2).sum(axis=1) / seen.sum(axis=1))
        seen[np.arange(stop - start), np.arange(start, stop)] = False
        a, b = a[seen], b[seen]
        return changed, np.array([len(a), a.sum(), b.sum(), a @ a, b @ b, a @ b])

    work = [(stop - start) * n for start, stop in blocks]
    parts = list(run_blocks(compare, blocks, work, run))
    count, a, b, aa, bb, ab = np.sum([sums for _, sums in parts], axis=0)
    spread = (count * aa - a * a) * (count * bb - b * b)
    known = spread > _ROUNDING * max(count, 1) ** 4
    return SeenDifferences(
        np.concatenate([changed for changed, _ in parts]),
        float((count * ab - a * b) / np.sqrt(spread)) if known else np.nan,
        int(count) // 2,
    )


def check_pairs_seen(ensemble: Ensemble, seen: CountArray) -> None:
    """Refuse a model that saw no pair that a vote saw, because it has no score."""
    alone = np.flatnonzero(seen.sum(axis=1) == 0)
    if alone.size:
        raise DataError(
            f"partition {ensemble.names[alone[0]]!r} saw no two samples together that "
            "are compared; leave it out."
        )


def _row_blocks(n: int, n_pairs: int) -> list[tuple[int, int]]:
    """Divide the rows of the pairs i < j into blocks of about so many pairs."""
    blocks, start = [], 0
    while start < n - 1:
        stop = min(start + max(n_pairs // (n - 1 - start), 1), n - 1)
        blocks.append((start, stop))
        start = stop
    return blocks


def _count_block(
    layout: SeenCodes, levels: Levels, start: int, stop: int
) -> tuple[CountArray, npt.NDArray[np.uint32]]:
    """Tables of the pairs i < j, start <= i < stop: (n_levels,), (2, n_levels, width).

    Joined and seen pairs are counted in 32 bits, which no block exceeds.
    """
    n_items, width = layout.by_sample.shape
    n_levels = len(levels.joined)
    pairs = np.zeros(n_levels, np.int64)
    tables = np.zeros((2, n_levels, width), np.uint32)
    buffer = np.empty((3, _TILE_PAIRS), np.int32)
    for top in range(start, stop, _TILE_ROWS):
        bottom = min(top + _TILE_ROWS, stop)
        step = _TILE_PAIRS // (bottom - top)
        for left in range(top + 1, n_items, step):
            tile = (top, bottom), (left, min(left + step, n_items))
            ends = _sort_pairs(*_sums(layout), levels.place, buffer, n_levels, *tile)
            _book(layout.by_sample, ends, buffer, pairs, tables)
    return pairs, tables


def _doubt_block(layout: SeenCodes, start: int, stop: int) -> FloatArray:
    """Compute the disagreement about samples start to stop."""
    return _doubt(*_sums(layout), start, stop)


def _sums(layout: SeenCodes) -> tuple[npt.NDArray[Any], ...]:
    """Return codes and votes, and the registers for sums of votes."""
    kind = layout.votes.dtype
    tile = register_zeros((len(layout.votes), layout.lanes), kind)
    sums = register_zeros((2, layout.lanes), kind)
    return layout.by_sample, layout.votes, tile, sums[0], sums[1]


@kernel()
def _transpose_rows(by_sample, tile, left, right):  # type: ignore[no-untyped-def]
    """Fill a tile (n_models, lanes) with the codes of the samples from left to right.

    The other lanes keep old codes; their sums are not used.
    """
    for t in range(tile.shape[0]):
        for j in range(left, right):
            tile[t, j - left] = by_sample[j, t]


@kernel()
def _sort_pairs(  # type: ignore[no-untyped-def]
    by_sample, votes, tile, joined, both, place, buffer, n_levels, rows, columns
):
    """Write the pairs i < j of a tile, sorted by level, into the first rows of buffer.

    Returns the ends of the pairs of each level; the third row of buffer holds the
    levels. Pairs that no vote saw are left out.
    """
    top, bottom = rows
    left, right = columns
    lanes = tile.shape[1]
    level = buffer[2]
    ends = np.zeros(n_levels + 1, np.int64)
    n_pairs = 0
    for start in range(left, right, lanes):
        stop = min(start + lanes, right)
        _transpose_rows(by_sample, tile, start, stop)
        for i in range(top, min(bottom, stop - 1)):
            sum_seen_votes(tile, by_sample, votes, i, joined, both)
            for j in range(max(i + 1, start), stop):
                found = place[both[j - start], joined[j - start]]
                level[n_pairs] = found
                ends[found + 1] += 1
                n_pairs += 1
    # The first entry counted the pairs without a level, which are not stored.
    ends[0] = 0
    for k in range(n_levels):
        ends[k + 1] += ends[k]
    n_pairs = 0
    for start in range(left, right, lanes):
        stop = min(start + lanes, right)
        for i in range(top, min(bottom, stop - 1)):
            for j in range(max(i + 1, start), stop):
                found = level[n_pairs]
                n_pairs += 1
                if found >= 0:
                    at = ends[found]
                    buffer[0, at] = i
                    buffer[1, at] = j
                    ends[found] = at + 1
    return ends


@kernel()
def _book(by_sample, ends, buffer, pairs, tables):  # type: ignore[no-untyped-def]
    """Add sorted pairs to the tables, as many at a time as narrow counters can hold."""
    width = by_sample.shape[1]
    most = np.int64(np.iinfo(by_sample.dtype).max)
    counters = np.empty((2, width), by_sample.dtype)
    start = np.int64(0)
    for level in range(tables.shape[1]):
        pairs[level] += ends[level] - start
        while start < ends[level]:
            stop = min(start + most, ends[level])
            book_seen(counters, by_sample, buffer, start, stop)
            for t in range(width):
                tables[0, level, t] += counters[0, t]
                tables[1, level, t] += counters[1, t]
            start = stop


@kernel()
def _doubt(  # type: ignore[no-untyped-def]
    by_sample, votes, tile, joined, both, start, stop
):
    """Average 4 C (1 - C) for samples start to stop over all pairs that a vote saw."""
    n, lanes = by_sample.shape[0], tile.shape[1]
    total = np.zeros(stop - start, np.float64)
    n_seen = np.zeros(stop - start, np.int64)
    for left in range(0, n, lanes):
        right = min(left + lanes, n)
        _transpose_rows(by_sample, tile, left, right)
        for i in range(start, stop):
            sum_seen_votes(tile, by_sample, votes, i, joined, both)
            for k in range(right - left):
                if both[k]:
                    share = np.float64(joined[k]) / np.float64(both[k])
                    total[i - start] += 4.0 * share * (1.0 - share)
                    n_seen[i - start] += 1
    return total / np.maximum(n_seen, 1)


@kernel()
def _share_rows(  # type: ignore[no-untyped-def]
    by_sample, votes, tile, joined, both, start, stop
):
    """Compute the consensus of samples start to stop with all; NaN if none saw both."""
    n, lanes = by_sample.shape[0], tile.shape[1]
    shares = np.full((stop - start, n), np.nan)
    for left in range(0, n, lanes):
        right = min(left + lanes, n)
        _transpose_rows(by_sample, tile, left, right)
        for i in range(start, stop):
            sum_seen_votes(tile, by_sample, votes, i, joined, both)
            for k in range(right - left):
                if both[k]:
                    share = np.float64(joined[k]) / np.float64(both[k])
                    shares[i - start, left + k] = share
    return shares
