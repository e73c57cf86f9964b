"""Pairs of partial partitions: the votes that join a pair, out of those that saw it.

A model that left out a sample says nothing about its pairs. The consensus of a pair is
the votes that join it over the votes that saw it, so that agreement has as many levels
as there are such fractions. One pass over the pairs counts them, without n x n arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._run.options import RunOptions
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
_BLOCK_COMPARISONS = 300_000_000  # about a tenth of a second


@dataclass(frozen=True, eq=False)
class Levels:
    """The possible shares of the votes that saw a pair which join it, ascending.

    Parameters
    ----------
    joined, seen : array of int64, shape (n_levels,)
        Votes of one pair of each level; their quotient is the share, from 0 to 1.
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

        A pair is joined when a / p >= h / V; no float is involved.
        """
        return self.joined * n_votes // self.seen


def share_levels(ensemble: Ensemble) -> Levels:
    """Enumerate the shares that the pairs of an ensemble can have.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions.

    Returns
    -------
    levels : Levels
        O(V²) of them for V votes.

    Raises
    ------
    MemoryError
        If there are too many votes for tables of a row per model.
    """
    n_votes = ensemble.n_votes
    check_memory(
        8 * n_votes**2 * len(distinct_votes(ensemble)[0]),
        _TABLE_BYTES,
        what=f"Counting the agreements of partial partitions with {n_votes} votes",
        remedy="give fewer partitions, or smaller weights.",
    )
    always = int(ensemble.votes[ensemble.n_missing == 0].sum())
    seen, joined = np.tril_indices(n_votes + 1)
    kept = seen >= max(always, 1)
    seen, joined = seen[kept], joined[kept]
    _, first, level = np.unique(joined / seen, return_index=True, return_inverse=True)
    place = np.full((n_votes + 1, n_votes + 1), -1, np.int32)
    place[seen, joined] = level
    return Levels(read_only(joined[first]), read_only(seen[first]), read_only(place))


def shifted_codes(
    ensemble: Ensemble, models: IntArray, samples: npt.ArrayLike | None = None
) -> npt.NDArray[Any]:
    """Codes of some models from 1 on with 0 in gaps, shape (n_samples, n_models)."""
    codes = ensemble.codes_and_gaps[models]
    if samples is not None:
        codes = codes[:, np.asarray(samples)]
    kind = np.min_scalar_type(int(codes.max()) + 1)
    gaps = codes == ensemble.n_codes[models, None]
    return np.ascontiguousarray(np.where(gaps, 0, codes + kind.type(1)).T, dtype=kind)


def count_seen_pairs(
    ensemble: Ensemble,
    levels: Levels,
    samples: npt.ArrayLike | None,
    run: RunOptions,
) -> tuple[CountArray, CountArray, CountArray]:
    """Count ordered pairs of different samples by level, and by the model that saw it.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions.
    levels : Levels
        As from `share_levels`.
    samples : array-like of int, shape (n_compared,), or None
        Samples to compare with each other; None for all.
    run : RunOptions
        Threads, progress in pairs, cancel.

    Returns
    -------
    pairs : array of int64, shape (n_levels,)
        Pairs that a vote saw.
    joint, seen : array of int64, shape (n_partitions, n_levels)
        Those of them that each model joins, and that it saw.

    Notes
    -----
    O(n² T) time, some eighty times that of 200 complete partitions; O(T V²) memory.
    """
    first, votes = distinct_votes(ensemble)
    group = ensemble._distinct[1]
    codes = shifted_codes(ensemble, first, samples)
    n = len(codes)
    blocks = _row_blocks(n, max(_BLOCK_COMPARISONS // len(first), 1))
    work = [(stop - start) * (2 * n - 1 - start - stop) // 2 for start, stop in blocks]
    shape = (len(levels.joined), len(first))
    pairs = np.zeros(shape[0], np.int64)
    tables = np.zeros((2, *shape), np.int64)
    for some, joint, seen in run_blocks(
        lambda *rows: _count(codes, votes, levels.place, shape[0], *rows),
        blocks,
        work,
        run,
    ):
        pairs += some
        tables += (joint, seen)
    joint, seen = (2 * table.T[group] for table in tables)
    return 2 * pairs, joint, seen


def partial_disagreement(ensemble: Ensemble, run: RunOptions) -> FloatArray:
    """Mean of 4 C (1 - C) over the pairs of each sample that a vote saw.

    Shape (n_samples,); the sample itself counts with C = 1. O(n² T) time.
    """
    first, votes = distinct_votes(ensemble)
    codes = shifted_codes(ensemble, first)
    n = len(codes)
    step = max(_BLOCK_COMPARISONS // (n * len(first)), 1)
    blocks = [(i, min(i + step, n)) for i in range(0, n, step)]
    work = [(stop - start) * n for start, stop in blocks]
    parts = run_blocks(lambda *rows: _doubt(codes, votes, *rows), blocks, work, run)
    return np.concatenate(list(parts))


def check_seen(ensemble: Ensemble, seen: CountArray) -> None:
    """Refuse a model that saw no pair that a vote saw, as nothing can score it."""
    alone = np.flatnonzero(seen.sum(axis=1) == 0)
    if alone.size:
        raise DataError(
            f"partition {ensemble.names[alone[0]]!r} saw no two samples together that "
            "are compared; leave it out."
        )


def _row_blocks(n: int, n_pairs: int) -> list[tuple[int, int]]:
    """Cut the rows of the pairs i < j into blocks of about so many pairs."""
    blocks, start = [], 0
    while start < n - 1:
        stop = min(start + max(n_pairs // (n - 1 - start), 1), n - 1)
        blocks.append((start, stop))
        start = stop
    return blocks


@kernel()
def _count(codes, votes, place, n_levels, start, stop):  # type: ignore[no-untyped-def]
    """Tables of the pairs i < j with start <= i < stop, models in columns."""
    n, width = codes.shape
    pairs = np.zeros(n_levels, np.int64)
    joint = np.zeros((n_levels, width), np.int64)
    seen = np.zeros((n_levels, width), np.int64)
    for i in range(start, stop):
        for j in range(i + 1, n):
            both, joined = 0, 0
            for t in range(width):
                known = (codes[i, t] != 0) & (codes[j, t] != 0)
                both += votes[t] if known else 0
                joined += votes[t] if known & (codes[i, t] == codes[j, t]) else 0
            level = place[both, joined]
            if level < 0:
                continue
            pairs[level] += 1
            for t in range(width):
                known = (codes[i, t] != 0) & (codes[j, t] != 0)
                seen[level, t] += 1 if known else 0
                joint[level, t] += 1 if known & (codes[i, t] == codes[j, t]) else 0
    return pairs, joint, seen


@kernel()
def _doubt(codes, votes, start, stop):  # type: ignore[no-untyped-def]
    """Mean of 4 C (1 - C) of each sample from start to stop with all that was seen."""
    n, width = codes.shape
    means = np.zeros(stop - start, np.float64)
    for i in range(start, stop):
        n_seen, total = 0, 0.0
        for j in range(n):
            both, joined = 0, 0
            for t in range(width):
                known = (codes[i, t] != 0) & (codes[j, t] != 0)
                both += votes[t] if known else 0
                joined += votes[t] if known & (codes[i, t] == codes[j, t]) else 0
            if both:
                n_seen += 1
                total += 4.0 * joined * (both - joined) / (both * both)
        means[i - start] = total / max(n_seen, 1)
    return means
