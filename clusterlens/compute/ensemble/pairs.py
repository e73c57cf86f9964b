"""Pairs: the pass over all pairs of samples behind every count of agreements.

Codes are stored twice, one row per model to add up the votes that join i and j, and one
row per sample to add that sum to each model: both inner loops read contiguous bytes. No
n x n array is made; threads take blocks of pairs, and their tables add up. If few pairs
are joined, a walk over the members of clusters replaces the comparisons
(`_co_members`); the tables are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._run.options import DEFAULT_RUN, RunOptions
from clusterlens.compute._run.registers import book_equal, register_zeros, sum_votes
from clusterlens.compute._validation import IntArray, check_memory
from clusterlens.compute.ensemble._co_members import (
    co_members,
    walk_bytes,
    walk_co_members,
)
from clusterlens.compute.ensemble.ensemble import Ensemble, distinct_partitions

CountArray = npt.NDArray[np.int64]

# Columns of a block; their codes stay in the first-level cache.
TILE_COLUMNS = 256

_BLOCK_COMPARISONS = 2_000_000_000  # about a tenth of a second
_LEAST_PAIRS = 20_000  # below, starting a thread takes longer than counting
_TABLE_BYTES = 4_000_000_000


@dataclass(frozen=True, eq=False)
class PairLayout:
    """Codes in the two orders that the pass over pairs reads.

    All arrays of codes have one unsigned type, wide enough for the votes of all models
    too, so that counters and codes have the same number of lanes in a register.

    Parameters
    ----------
    by_model : array of unsigned int, shape (n_models, n_items)
        Distinct partitions of the items.
    by_sample : array of unsigned int, shape (n_items, width)
        The same transposed, with at least one column of zeros, in whole registers.
    votes : array of unsigned int, shape (n_models,)
        Votes of the identical partitions behind each model; 0 counts nothing.
    weights : array of int64, shape (n_items,), or None
        Number of identical samples behind each item; None: one each.
    group : array of int, shape (n_partitions,)
        The model of each partition.
    """

    by_model: npt.NDArray[Any]
    by_sample: npt.NDArray[Any]
    votes: npt.NDArray[Any]
    weights: CountArray | None
    group: IntArray

    @property
    def n_items(self) -> int:
        """Number of items that are compared with each other."""
        return int(self.by_model.shape[1])

    @property
    def n_levels(self) -> int:
        """Number of possible agreement counts, one more than there are votes."""
        return int(self.votes.sum(dtype=np.int64)) + 1

    @cached_property
    def co_members(self) -> tuple[npt.NDArray[np.int32], CountArray]:
        """Items by cluster of each model, and the start of each cluster."""
        return co_members(self.by_model)


def joined_pairs(ensemble: Ensemble) -> CountArray:
    """Count the ordered pairs, (i, i) included, that each partition joins.

    Shape (n_partitions,), int64: sums of squared cluster sizes.
    """
    rows = zip(ensemble.codes_and_gaps, ensemble.n_codes.tolist(), strict=True)
    sizes = (np.bincount(codes, minlength=count)[:count] for codes, count in rows)
    return np.array([size @ size for size in sizes], dtype=np.int64)


def joined_votes(ensemble: Ensemble, votes: npt.ArrayLike | None = None) -> int:
    """Sum the votes that join each ordered pair of samples, pairs (i, i) included.

    The votes (n_partitions,) default to the votes of the ensemble.
    """
    each = ensemble.votes if votes is None else np.asarray(votes)
    pairs = zip(each.tolist(), joined_pairs(ensemble).tolist(), strict=True)
    return sum(vote * joined for vote, joined in pairs)


def pair_layout(
    ensemble: Ensemble,
    samples: npt.ArrayLike | None = None,
    votes: npt.ArrayLike | None = None,
) -> PairLayout:
    """Lay out the codes of an ensemble for counting pairs, in O(n T) time and memory.

    Takes the given samples (n_items,), in their order, or all, with identical ones
    merged if that is faster. `votes` (n_partitions,) replaces the votes of the
    ensemble.
    """
    first, group = distinct_partitions(ensemble)
    each = ensemble.votes if votes is None else np.asarray(votes)
    kind = np.min_scalar_type(max(int(ensemble.codes.max()), int(each.sum())))
    by_model = ensemble.codes[first]
    weights = None
    if samples is not None:
        by_model = by_model[:, np.asarray(samples)]
    elif (merged := _identical_samples(by_model)) is not None:
        by_model, weights = by_model[:, merged[0]], merged[1]
    by_model = np.ascontiguousarray(by_model, dtype=kind)
    # One more lane, equal for all samples, counts the pairs.
    by_sample = register_zeros((by_model.shape[1], len(first) + 1), kind)
    by_sample[:, : len(first)] = by_model.T
    per_model = np.zeros(len(first), dtype=np.int64)
    np.add.at(per_model, group, each)
    return PairLayout(by_model, by_sample, per_model.astype(kind), weights, group)


def count_columns(
    layout: PairLayout,
    start: int = 0,
    stop: int | None = None,
    run: RunOptions = DEFAULT_RUN,
) -> tuple[CountArray, CountArray]:
    """Count the agreements of the pairs of items i < j with start <= j < stop.

    Ranges of columns add up: a growing set of samples needs only the new columns, and
    machines may share the columns of one ensemble.

    Returns unordered pairs (by weight) that c partitions join, (n_levels,), and the
    pairs that each distinct partition joins among them, (n_models, n_levels), both
    int64.
    """
    n_models, width = len(layout.by_model), layout.by_sample.shape[1]
    levels = layout.n_levels
    check_memory(
        levels * (8 * levels + 9 * width * (run.n_workers + 2)),
        _TABLE_BYTES,
        what=f"Counting the agreements of {len(layout.group)} partitions",
        remedy="give fewer partitions, or smaller weights.",
    )
    columns = (start, layout.n_items if stop is None else stop)
    if layout.weights is None and n_models and columns[1] > columns[0]:
        walked = walk_bytes(layout.by_model, _share(columns, layout.n_items))
        if walked < _n_pairs(0, columns[1], *columns) * layout.by_sample[0].nbytes:
            return _walk_columns(layout, columns, walked, run)
    blocks = _pair_blocks(columns, n_models)
    work = [_n_pairs(*block) for block in blocks]
    pairs = np.zeros(levels, dtype=np.int64)
    joint = np.zeros((levels, width), dtype=np.int64)
    for some_pairs, some_joint in run_blocks(
        lambda *block: _count_block(layout, *block),
        blocks,
        work,
        run,
    ):
        pairs += some_pairs
        joint += some_joint
    return pairs, np.ascontiguousarray(joint[:, :n_models].T)


def _share(columns: tuple[int, int], n_items: int) -> float:
    """Share of the pairs i < j with j in a range of columns."""
    return _n_pairs(0, columns[1], *columns) / max(n_items * (n_items - 1) // 2, 1)


def _walk_columns(
    layout: PairLayout, columns: tuple[int, int], n_bytes: float, run: RunOptions
) -> tuple[CountArray, CountArray]:
    """Count the pairs of columns by visiting only the joined ones."""
    members, starts = layout.co_members
    start, stop = columns
    n_blocks = min(stop - start, int(n_bytes // _BLOCK_COMPARISONS) + 1)
    edges = np.linspace(start, stop, n_blocks + 1).astype(np.int64).tolist()
    blocks = list(pairwise(edges))
    pairs = np.zeros(layout.n_levels, dtype=np.int64)
    joint = np.zeros((len(layout.by_model), layout.n_levels), dtype=np.int64)
    codes = (layout.by_sample, layout.votes, members, starts, layout.n_levels)
    for some_pairs, some_joint in run_blocks(
        lambda *block: walk_co_members(*codes, *block),
        blocks,
        [_n_pairs(0, right, left, right) for left, right in blocks],
        run,
    ):
        pairs += some_pairs
        joint += some_joint
    return pairs, joint


def sum_costs(
    layout: PairLayout,
    joined: npt.ArrayLike,
    apart: npt.ArrayLike,
    run: RunOptions = DEFAULT_RUN,
) -> npt.NDArray[np.float64]:
    """Sum a cost over all unordered pairs of items, by weight, without a table.

    Suits numbers of votes so large that a table with one row per count would not fit a
    cache. `joined` and `apart` (n_levels,) are the costs of a pair by the number of
    votes that join it: `joined` for a model that joins it, `apart` for the others.
    Returns sums (n_models,).
    """
    costs = np.stack([joined, apart], axis=1)
    weights = layout.weights
    if weights is None:
        weights = np.ones(layout.n_items, dtype=np.int64)
    codes = (layout.by_model, layout.by_sample, layout.votes, weights)
    blocks = _pair_blocks((0, layout.n_items), len(layout.by_model))
    sums = np.zeros(layout.by_sample.shape[1])
    for some in run_blocks(
        lambda *block: _sum_costs(*codes, costs, *block),
        blocks,
        [_n_pairs(*block) for block in blocks],
        run,
    ):
        sums += some
    return sums[: len(layout.by_model)]


def count_groups(
    layout: PairLayout, bounds: npt.ArrayLike, run: RunOptions = DEFAULT_RUN
) -> tuple[CountArray, CountArray]:
    """Count the pairs of items, without weights, by the group of their first item.

    Groups begin and end at ascending `bounds` (n_groups + 1,). Returns ordered pairs
    (i, j), i in the group and j another item, that c partitions join, (n_groups,
    n_levels), and the pairs that each distinct partition joins among them, (n_groups,
    n_models, n_levels), both int64.
    """
    edges = np.asarray(bounds)
    n_groups, n_models = len(edges) - 1, len(layout.by_model)
    levels = layout.n_levels
    check_memory(
        8 * n_groups * levels * (n_models + 1),
        _TABLE_BYTES,
        what=f"Estimating the agreements of {len(layout.group)} partitions",
        remedy="give fewer partitions, or smaller weights.",
    )
    sizes = np.diff(edges)
    filled = np.flatnonzero(sizes).tolist()
    blocks = [(g, h) for h in filled for g in filled if g <= h]
    work = [
        int(sizes[g] * sizes[h] if g < h else sizes[g] * (sizes[g] - 1) // 2)
        for g, h in blocks
    ]
    pairs = np.zeros((n_groups, levels), dtype=np.int64)
    joint = np.zeros((n_groups, n_models, levels), dtype=np.int64)

    def count(*batch: tuple[int, int]) -> list[tuple[CountArray, CountArray]]:
        return [
            _count_between(layout, *edges[[g, g + 1, h, h + 1]].tolist())
            for g, h in batch
        ]

    cuts = _batches(work)
    batches = [tuple(blocks[start:stop]) for start, stop in cuts]
    batch_work = [sum(work[start:stop]) for start, stop in cuts]
    for batch, counted in zip(
        batches, run_blocks(count, batches, batch_work, run), strict=True
    ):
        for block, (some_pairs, some_joint) in zip(batch, counted, strict=True):
            for group in block:
                pairs[group] += some_pairs
                joint[group] += some_joint[:, :n_models].T
    return pairs, joint


def _batches(work: Sequence[int]) -> list[tuple[int, int]]:
    """Return ranges of consecutive blocks that are each worth a thread."""
    edges, n_pairs = [0], 0
    for k, some in enumerate(work):
        n_pairs += some
        if n_pairs >= _LEAST_PAIRS or k == len(work) - 1:
            edges.append(k + 1)
            n_pairs = 0
    return list(pairwise(edges))


def _count_between(
    layout: PairLayout, row_start: int, row_stop: int, start: int, stop: int
) -> tuple[CountArray, CountArray]:
    """Count the pairs i < j of two groups of items, one tile of columns at a time."""
    tiles = [
        _count_block(layout, row_start, row_stop, left, min(left + TILE_COLUMNS, stop))
        for left in range(start, stop, TILE_COLUMNS)
    ]
    pairs, joint = zip(*tiles, strict=True)
    return sum(pairs), sum(joint)


def count_items(ensemble: Ensemble) -> int:
    """Count the items of `pair_layout`, with identical samples merged or not.

    O(n T) time.
    """
    merged = _identical_samples(ensemble.codes[distinct_partitions(ensemble)[0]])
    return ensemble.n_samples if merged is None else len(merged[0])


def _identical_samples(
    by_model: npt.NDArray[Any],
) -> tuple[IntArray, CountArray] | None:
    """First copy and number of copies of each distinct column, if few are distinct."""
    key = np.zeros(by_model.shape[1], dtype=np.uint64)
    for codes in by_model:
        key = (key ^ codes) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    group, distinct = pd.factorize(key)
    if 2 * len(distinct) > len(key):
        return None
    first = np.unique(group, return_index=True)[1]
    if any((codes[first[group]] != codes).any() for codes in by_model):
        return None  # two samples share a key by chance; compare all instead
    return first, np.bincount(group).astype(np.int64)


def _pair_blocks(
    columns: tuple[int, int], n_models: int
) -> list[tuple[int, int, int, int]]:
    """Cut the pairs i < j, j in columns, into (row start, stop, column start, stop)."""
    start, stop = columns
    rows = max(TILE_COLUMNS, _BLOCK_COMPARISONS // (TILE_COLUMNS * n_models))
    return [
        (low, min(low + rows, right), left, right)
        for left, right in (
            (c, min(c + TILE_COLUMNS, stop)) for c in range(start, stop, TILE_COLUMNS)
        )
        for low in range(0, right, rows)
    ]


def _n_pairs(row_start: int, row_stop: int, start: int, stop: int) -> int:
    """Count the pairs i < j of a block: a rectangle, then a triangle."""
    rectangle = (min(row_stop, start) - min(row_start, start)) * (stop - start)
    first, last = max(row_start, start), max(row_start, min(row_stop, stop))
    height = max(last - first, 0)
    return rectangle + height * (2 * stop - 1 - first - last) // 2


def _count_block(
    layout: PairLayout, row_start: int, row_stop: int, start: int, stop: int
) -> tuple[CountArray, CountArray]:
    """Count one block: tables of shapes (n_levels,) and (n_levels, width)."""
    block = (row_start, row_stop, start, stop)
    codes = (layout.by_model, layout.by_sample, layout.votes)
    if layout.weights is not None:
        return _count_weighted(*codes, layout.weights, layout.n_levels, *block)
    dtype = layout.by_model.dtype
    booked = register_zeros((layout.n_levels, layout.by_sample.shape[1]), dtype)
    tile = register_zeros((len(layout.by_model), 1), dtype)
    count = register_zeros((1, 1), dtype)[0]
    most = int(np.iinfo(dtype).max)
    return _count_equal(*codes, booked, most, tile, count, *block)


@kernel()
def column_tile(by_model, start, stop):  # type: ignore[no-untyped-def]
    """Copy the codes of the columns, (n_models, TILE_COLUMNS), padded on the right."""
    tile = np.zeros((by_model.shape[0], TILE_COLUMNS), by_model.dtype)
    for t in range(by_model.shape[0]):
        for j in range(start, stop):
            tile[t, j - start] = by_model[t, j]
    return tile


@kernel()
def count_votes(by_model, votes, i, tile, count):  # type: ignore[no-untyped-def]
    """Set count, shape (TILE_COLUMNS,), to the votes that join i and each column."""
    for k in range(TILE_COLUMNS):
        count[k] = 0
    for t in range(by_model.shape[0]):
        code = by_model[t, i]
        vote = votes[t]
        for k in range(TILE_COLUMNS):
            count[k] += vote if tile[t, k] == code else 0


@kernel()
def _count_equal(  # type: ignore[no-untyped-def]
    by_model,
    by_sample,
    votes,
    booked,
    most,
    tile,
    count,
    row_start,
    row_stop,
    start,
    stop,
):
    """Fill tables of a block of pairs of weight one; `booked` is left at zero.

    Columns are taken one register at a time, so that the data stays in the first-level
    cache. Counters are as narrow as the codes, up to `most`. The last lane is padding,
    equal for all samples, so that its counters hold the number of pairs of a level.
    Counters that the next rows might overflow are added to 64-bit tables and reset.
    """
    n_levels, width = booked.shape
    lanes = tile.shape[1]
    n_rows = most // 2 // lanes + 1  # between two checks of the counters
    joint = np.zeros((n_levels, width), np.int64)
    for left in range(start, stop, lanes):
        right = min(left + lanes, stop)
        for t in range(by_model.shape[0]):
            for j in range(left, right):
                tile[t, j - left] = by_model[t, j]
        for i in range(row_start, min(row_stop, right - 1)):
            first = max(i + 1, left)
            sum_votes(tile, by_sample, votes, i, count)
            book_equal(booked, count, by_sample, i, left, first, right)
            if (i - row_start) % n_rows == n_rows - 1:
                _empty(booked, joint, most - n_rows * lanes)
        _empty(booked, joint, 0)
    return joint[:, width - 1].copy(), joint


@kernel()
def _empty(booked, joint, most):  # type: ignore[no-untyped-def]
    """Add the counters of levels with more pairs than most to the 64-bit tables."""
    n_levels, width = booked.shape
    for level in range(n_levels):
        if booked[level, width - 1] > most:
            for t in range(width):
                joint[level, t] += booked[level, t]
                booked[level, t] = 0


@kernel()
def _count_weighted(  # type: ignore[no-untyped-def]
    by_model, by_sample, votes, weights, n_levels, row_start, row_stop, start, stop
):
    """Fill tables of a block of pairs weighted by the product of their items."""
    width = by_sample.shape[1]
    tile = column_tile(by_model, start, stop)
    count = np.empty(TILE_COLUMNS, by_model.dtype)
    pairs = np.zeros(n_levels, np.int64)
    joint = np.zeros((n_levels, width), np.int64)
    for i in range(row_start, min(row_stop, stop - 1)):
        count_votes(by_model, votes, i, tile, count)
        for j in range(max(i + 1, start), stop):
            level = np.intp(count[j - start])
            weight = weights[i] * weights[j]
            pairs[level] += weight
            for t in range(width):
                equal = by_sample[i, t] == by_sample[j, t]
                joint[level, t] += weight if equal else 0
    return pairs, joint


@kernel()
def _sum_costs(  # type: ignore[no-untyped-def]
    by_model, by_sample, votes, weights, costs, row_start, row_stop, start, stop
):
    """Sum costs (joined, apart), shape (n_levels, 2), of a block under each model."""
    width = by_sample.shape[1]
    tile = column_tile(by_model, start, stop)
    count = np.empty(TILE_COLUMNS, by_model.dtype)
    sums = np.zeros(width, np.float64)
    apart = 0.0
    for i in range(row_start, min(row_stop, stop - 1)):
        count_votes(by_model, votes, i, tile, count)
        for j in range(max(i + 1, start), stop):
            level = np.intp(count[j - start])
            weight = weights[i] * weights[j]
            apart += weight * costs[level, 1]
            change = weight * (costs[level, 0] - costs[level, 1])
            for t in range(width):
                sums[t] += change if by_sample[i, t] == by_sample[j, t] else 0.0
    for t in range(width):
        sums[t] += apart
    return sums
