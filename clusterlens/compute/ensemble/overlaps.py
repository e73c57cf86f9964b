"""Overlaps: every pair of partitions compared through its contingency table.

Sums over the cells of the contingency tables of all pairs of models give the plain and
the adjusted Rand index, mutual information, the total-variation score and each sample's
disagreement in time linear in the number of samples.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import FloatArray, Frozen, read_only
from clusterlens.compute.ensemble.ensemble import (
    Ensemble,
    check_ensemble,
    distinct_partitions,
    distinct_votes,
)
from clusterlens.compute.ensemble.partial import partial_disagreement

_BLOCK_LOOKUPS = 50_000_000  # about a tenth of a second


def correct_for_chance(
    both: npt.NDArray[Any], first: FloatArray, second: FloatArray, every: FloatArray
) -> FloatArray:
    """Return the adjusted Rand index from counts of pairs of samples.

    `both`, `first` and `second` count the pairs joined by both partitions and by each,
    `every` all pairs; arrays of one shape. Partitions that join the same pairs have 1.
    """
    expected = first * second / np.maximum(every, 1.0)
    attainable = (first + second) / 2 - expected
    same = (both == first) & (both == second)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(same, 1.0, (both - expected) / attainable)


@dataclass(frozen=True, eq=False, repr=False)
class Overlaps(Frozen):
    """Sums over the contingency tables of all pairs of partitions.

    Parameters
    ----------
    n_samples : int
        Number of samples n.
    squares : array of int64, shape (n_partitions, n_partitions)
        Entry (s, t): sum of the squared cells of the table of s and t, which is the
        number of ordered pairs of samples (diagonal included) that both join; (t, t) is
        the sum of squared cluster sizes of t.
    logs : array of float, shape (n_partitions, n_partitions)
        Entry (s, t): sum of x ln x over the cells x of the table; (t, t) over the
        cluster sizes of t.
    n_seen : array of int64, shape (n_partitions, n_partitions), optional
        For partial partitions, number of samples that both models saw and are compared
        on.
    own_squares, own_logs : array, shape (n_partitions, n_partitions), optional
        With `n_seen`, entry (s, t): the sums over the cluster sizes of s in these
        samples.
    """

    n_samples: int
    squares: npt.NDArray[np.int64]
    logs: FloatArray
    n_seen: npt.NDArray[np.int64] | None = None
    own_squares: npt.NDArray[np.int64] | None = None
    own_logs: FloatArray | None = None

    def _sizes(
        self, own: npt.NDArray[Any] | None, sums: npt.NDArray[Any]
    ) -> tuple[FloatArray, FloatArray]:
        """Sums over the cluster sizes of the first and of the second partition."""
        first = sums.diagonal()[:, None] if own is None else own
        return first.astype(float), first.T.astype(float)

    @property
    def _n(self) -> npt.NDArray[np.float64]:
        """Number of compared samples, for each pair of partitions or for all."""
        return np.asarray(self.n_samples if self.n_seen is None else self.n_seen, float)

    @property
    def _unknown(self) -> npt.NDArray[np.bool_]:
        """Whether two partitions have no pair of samples in common, shape (T, T)."""
        return (
            (self._n < 2)
            & (self.n_seen is not None)
            & ~np.eye(len(self.logs), dtype=bool)
        )

    @cached_property
    def adjusted_rand(self) -> FloatArray:
        """Adjusted Rand index of each pair of partitions, at most 1, shape (T, T).

        Two partitions that agree on every pair of samples have index 1, even if the
        chance correction is 0/0 (both one cluster, or both all singletons). Two that
        saw no pair of samples in common have 0, the index expected by chance.
        """
        n = self._n
        every = n**2 - n
        both = self.squares - n
        first, second = (
            size - n for size in self._sizes(self.own_squares, self.squares)
        )
        values = correct_for_chance(both, first, second, every)
        return read_only(np.where(self._unknown, 0.0, values))

    @cached_property
    def normalized_information(self) -> FloatArray:
        """Mutual information over the mean entropy, in [0, 1], shape (T, T).

        Two one-cluster partitions have value 1. A one-cluster partition against
        another, and two that saw no pair of samples in common, have 0.
        """
        n = np.maximum(self._n, 1.0)
        first, second = (
            np.log(n) - logs / n for logs in self._sizes(self.own_logs, self.logs)
        )
        joint = np.log(n) - self.logs / n
        sizes = self._sizes(self.own_squares, self.squares)
        trivial, other = (squares >= n**2 for squares in sizes)
        information = np.where(trivial | other, 0.0, first + second - joint)
        mean = np.where(trivial & other, 0.0, (first + second) / 2)
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.where(mean > 0, information / mean, 1.0).clip(0.0, 1.0)
        return read_only(np.where(self._unknown, 0.0, values))

    def select(self, models: npt.ArrayLike) -> Overlaps:
        """Return the overlaps of the chosen partitions, as `Ensemble.select` does."""
        chosen = np.arange(len(self.squares))[np.asarray(models)]
        both = np.ix_(chosen, chosen)
        tables = {field.name: getattr(self, field.name) for field in fields(self)[1:]}
        return replace(
            self,
            **{name: part[both] for name, part in tables.items() if part is not None},
        )


_KNOWN: WeakKeyDictionary[Ensemble, Overlaps] = WeakKeyDictionary()


def partition_overlaps(
    ensemble: Ensemble,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> Overlaps:
    """Compare every pair of partitions through its contingency table.

    The ensemble caches the sums, so a second call costs nothing. O(n T²) time and
    O(n + T²) memory for T distinct partitions, for any number of clusters; progress
    counts look-ups of labels. Two partial partitions are compared on the samples that
    both saw; with fewer than two such samples they count as unrelated.

    Examples
    --------
    >>> overlaps = partition_overlaps(Ensemble([[0, 0, 1, 1], [0, 0, 0, 1]]))
    >>> overlaps.squares.tolist()
    [[8, 6], [6, 10]]
    """
    run = RunOptions(n_jobs, progress, cancel, executor)
    check_ensemble(ensemble)
    if ensemble not in _KNOWN:
        first, group = distinct_partitions(ensemble)
        if ensemble.is_partial:
            _KNOWN[ensemble] = _partial_overlaps(ensemble, run)
            return _KNOWN[ensemble]
        codes = ensemble.codes[first]
        sums = np.zeros((2, len(codes), len(codes)))
        for s, start, stop, squares, logs, _ in _compare_all(codes, np.empty(0), run):
            sums[:, s, start:stop] = sums[:, start:stop, s] = squares, logs
        squares, logs = sums[:, group][:, :, group]
        _KNOWN[ensemble] = Overlaps(ensemble.n_samples, squares.astype(np.int64), logs)
    return _KNOWN[ensemble]


def select_partitions(ensemble: Ensemble, models: npt.ArrayLike) -> Ensemble:
    """Return the chosen partitions together with their known overlaps."""
    selected = ensemble.select(models)
    if ensemble in _KNOWN:
        _KNOWN[selected] = _KNOWN[ensemble].select(models)
    return selected


@takes_running
def sample_disagreement(
    ensemble: Ensemble,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> FloatArray:
    """Measure how much the partitions disagree about each sample.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    n_jobs, progress, cancel, executor
        As in `count_agreements`; progress counts look-ups of labels.

    Returns
    -------
    disagreement : array of float, shape (n_samples,)
        u_i = 4 mean_j C_ij (1 - C_ij) in [0, 1], j = i included. 0: all votes give the
        sample the same companions; 1: half of the votes join it with each other sample.

    Raises
    ------
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    The sum over j of C_ij is the mean size of the clusters of i, the sum of C_ij² the
    mean size of their intersections over all pairs of the V votes. Exact, O(n T²) time
    for T distinct partitions, O(n) memory per thread. For partial partitions C_ij is
    the share of the votes that saw both, and the mean is over the j that a vote saw
    together with i: O(n² T) time.

    Examples
    --------
    >>> sample_disagreement(Ensemble([[0, 0, 1, 1], [0, 0, 0, 1]])).tolist()
    [0.25, 0.25, 0.75, 0.25]
    """
    run = RunOptions(n_jobs, progress, cancel, executor)
    if check_ensemble(ensemble).is_partial:
        return partial_disagreement(ensemble, run)
    first, whole = distinct_votes(ensemble)
    first, votes = first[whole > 0], whole[whole > 0].astype(float)
    codes = ensemble.codes[first]
    shared = np.zeros(ensemble.n_samples)  # V² times the sum over j of C_ij²
    for *_, part in _compare_all(codes, votes, run):
        shared += part
    sizes = sum(
        vote * np.bincount(row)[row] for vote, row in zip(votes, codes, strict=True)
    )
    n_votes = ensemble.n_votes
    twice_mean = sizes * n_votes - shared  # V² times the sum of C (1 - C)
    return 4 * twice_mean / (n_votes**2 * ensemble.n_samples)


def consensus_differences(
    first: Ensemble, second: Ensemble, run: RunOptions
) -> FloatArray:
    """Root mean square of C_ij - D_ij over all j, for each sample i of two ensembles.

    Shape (n_samples,), in [0, 1]; 0 if both give the sample the same companions. The
    squares follow from the contingency tables of the partitions of both, with negative
    votes for the second: O(n T²) time, no matrix.
    """
    codes, votes = [], []
    for sign, ensemble in ((1.0, first), (-1.0, second)):
        distinct, whole = distinct_votes(ensemble)
        codes += list(ensemble.codes[distinct])
        votes += list(sign * whole / ensemble.n_votes)
    squares = np.zeros(first.n_samples)
    for *_, part in _compare_all(np.array(codes), np.array(votes), run):
        squares += part
    return np.sqrt(np.maximum(squares, 0.0) / first.n_samples)


def _partial_overlaps(ensemble: Ensemble, run: RunOptions) -> Overlaps:
    """Compare each two distinct partitions on the samples that both models saw."""
    first, group = distinct_partitions(ensemble)
    codes, gaps = ensemble.codes_and_gaps[first], ensemble.n_codes[first]
    tables = np.zeros((5, len(first), len(first)))  # the fields of Overlaps

    def compare(s: int) -> None:
        for t in range(s, len(first)):
            both = (codes[s] != gaps[s]) & (codes[t] != gaps[t])
            a, b = codes[s][both].astype(np.int64), codes[t][both].astype(np.int64)
            cells, rows, columns = (
                counts[counts > 0].astype(float)
                for counts in map(np.bincount, (a * gaps[t] + b, a, b))
            )
            shared = (cells @ cells, cells @ np.log(cells), len(a))
            tables[:3, s, t] = tables[:3, t, s] = shared
            tables[3:, s, t] = rows @ rows, rows @ np.log(rows)
            tables[3:, t, s] = columns @ columns, columns @ np.log(columns)

    models = [(s,) for s in range(len(first))]
    work = [(len(first) - s) * ensemble.n_samples for s in range(len(first))]
    for _ in run_blocks(compare, models, work, run):
        pass
    squares, logs, seen, own_squares, own_logs = tables[:, group][:, :, group]
    whole = (part.astype(np.int64) for part in (squares, seen, own_squares))
    squares, seen, own_squares = whole
    return Overlaps(ensemble.n_samples, squares, logs, seen, own_squares, own_logs)


def _compare_all(
    codes: npt.NDArray[Any],
    votes: FloatArray,
    run: RunOptions,
) -> Any:
    """Yield (s, start, stop, squares, logs, shared) for all blocks of pairs s <= t.

    If votes, shape (n_models,), are given, `shared`, shape (n_samples,), holds for each
    sample the weighted sum of the cells it is in; otherwise it is empty.
    """
    n_models, n_samples = codes.shape
    step = max(1, _BLOCK_LOOKUPS // n_samples)
    blocks = [
        (s, start, min(start + step, n_models))
        for s in range(n_models)
        for start in range(s, n_models, step)
    ]
    work = [(stop - start) * n_samples for _, start, stop in blocks]
    n_clusters = codes.max(axis=1).astype(np.int64) + 1
    results = run_blocks(
        lambda *block: _compare(codes, n_clusters, votes, *block),
        blocks,
        work,
        run,
    )
    for block, result in zip(blocks, results, strict=True):
        yield *block, *result


@kernel()
def _members(codes, n_clusters):  # type: ignore[no-untyped-def]
    """Sort samples by cluster; return them with the start of each cluster."""
    starts = np.zeros(n_clusters + 1, np.int64)
    for code in codes:
        starts[np.intp(code) + 1] += 1
    for c in range(n_clusters):
        starts[c + 1] += starts[c]
    place = starts.copy()
    order = np.empty(codes.size, np.int64)
    for i in range(codes.size):
        order[place[np.intp(codes[i])]] = i
        place[np.intp(codes[i])] += 1
    return order, starts


@kernel()
def _compare(codes, n_clusters, votes, s, start, stop):  # type: ignore[no-untyped-def]
    """Sums over the tables of model s with models start to stop.

    Takes one row of a table at a time: the members of a cluster of s are counted by
    their clusters in t, so the memory is one row for any number of clusters.
    """
    order, starts = _members(codes[s], n_clusters[s])
    squares = np.zeros(stop - start, np.float64)
    logs = np.zeros(stop - start, np.float64)
    shared = np.zeros(codes.shape[1] if votes.size else 0, np.float64)
    for t in range(start, stop):
        cells = np.zeros(n_clusters[t], np.int64)
        vote = 0.0
        if votes.size:
            vote = votes[s] * votes[t] * (1 if s == t else 2)
        for cluster in range(n_clusters[s]):
            low, high = starts[cluster], starts[cluster + 1]
            for k in range(low, high):
                cells[np.intp(codes[t, order[k]])] += 1
            if votes.size:
                for k in range(low, high):
                    i = order[k]
                    shared[i] += vote * cells[np.intp(codes[t, i])]
            for k in range(low, high):
                b = np.intp(codes[t, order[k]])
                if cells[b]:
                    count = np.float64(cells[b])
                    squares[t - start] += count * count
                    logs[t - start] += count * np.log(count)
                    cells[b] = 0
    return squares, logs, shared
