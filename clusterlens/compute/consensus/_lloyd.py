"""The one-hot rows of an ensemble, and Lloyd's algorithm on them by look-ups.

Row i of the one-hot matrix H, shape (n_samples, n_columns), marks the cluster of sample
i in each of the p partitions, so that H H' / p is the consensus matrix. H is never
made: a row is kept as the p columns that hold its ones, and equal rows are kept once
with a weight. The product of a row with a centre is then a sum of p look-ups.

Counts of cluster members are integers, so that centres, and with them all results, do
not depend on the number of threads. A pass over the rows costs O(n p k) time for k
centres; memory is O(n p + n_columns k).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._run.options import Progress, RunOptions, report
from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    check_memory,
    check_range,
    warn_caller,
)
from clusterlens.compute.ensemble.ensemble import Ensemble

LOOKUPS_PER_BLOCK = 1 << 21  # a few milliseconds, between two looks at cancel
FEW_CENTRES = 4  # up to here one register per centre beats a vector of centres
MAX_ITER = 300
START_ROWS = 1 << 14
START_ROWS_PER_CENTRE = 100
MAX_CENTRE_BYTES = 4 << 30


@dataclass(frozen=True, eq=False)
class OneHotRows:
    """Distinct one-hot rows with their weights.

    Attributes
    ----------
    columns : array of uint, shape (n_rows, n_partitions)
        The columns that hold the ones of each row.
    weights : array of int64, shape (n_rows,)
        How often each row occurs.
    n_columns : int
        Number of clusters of all partitions together.
    votes : array of int64, shape (n_partitions,)
        Votes of each partition: how often its columns count.
    column_votes : array of int64, shape (n_columns,)
        Those of the partition of each column.
    gaps : Gaps, optional
        Of partial partitions, which columns stand for no label.
    """

    columns: IntArray
    weights: IntArray
    n_columns: int
    votes: IntArray
    column_votes: IntArray
    gaps: Gaps | None = None

    @property
    def n_rows(self) -> int:
        """Number of distinct rows."""
        return len(self.columns)

    @property
    def n_partitions(self) -> int:
        """Number of ones in each row."""
        return int(self.columns.shape[1])

    @property
    def n_votes(self) -> int:
        """Number of votes of all partitions."""
        return int(self.votes.sum())

    def repeated(self) -> OneHotRows:
        """The same with a partition for each vote."""
        if self.n_votes == self.n_partitions:
            return self
        lows, highs = self.columns.min(axis=0), self.columns.max(axis=0)
        sizes = np.repeat(highs.astype(np.int64) - lows + 1, self.votes)
        starts, n_columns = np.cumsum(sizes) - sizes, int(sizes.sum())
        codes = np.repeat(self.columns - lows, self.votes, axis=1)
        columns = (codes + starts).astype(column_type(n_columns))
        ones = np.ones(self.n_votes, np.int64), np.ones(n_columns, np.int64)
        return OneHotRows(columns, self.weights, n_columns, *ones)

    def take(self, chosen: IntArray) -> OneHotRows:
        """Return some of the rows."""
        return replace(self, columns=self.columns[chosen], weights=self.weights[chosen])

    def compact(self) -> OneHotRows:
        """Renumber the columns if there are more of them than these rows can fill."""
        if self.n_columns <= self.columns.size or self.gaps is not None:
            return self
        used, flat = np.unique(self.columns, return_inverse=True)
        columns = flat.reshape(self.columns.shape).astype(self.columns.dtype)
        votes = self.column_votes[used]
        return replace(self, columns=columns, n_columns=len(used), column_votes=votes)


@dataclass(frozen=True, eq=False)
class Gaps:
    """Columns of partial partitions, each with one of its own for gaps if it has any.

    Attributes
    ----------
    model : array of int64, shape (n_columns,)
        Partition of each column.
    missing : array of bool, shape (n_columns,)
        Which columns stand for gaps.
    shares : array of float64, shape (n_columns,)
        Share of the samples that a model saw which are in each of its clusters; what a
        cluster is taken to look like to a model that saw none of its members.
    """

    model: IntArray
    missing: npt.NDArray[np.bool_]
    shares: FloatArray

    def by_model(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sum values (n_columns, k) over the clusters of each model, (T, k)."""
        counted = np.where(self.missing[:, None], 0, values)
        starts = np.flatnonzero(np.diff(self.model, prepend=-1))
        return np.add.reduceat(counted, starts, axis=0)

    def means(self, counts: IntArray) -> FloatArray:
        """Share of the seen members of k clusters in each column, (n_columns, k)."""
        seen = self.by_model(counts)[self.model]
        means = np.where(seen > 0, counts / np.maximum(seen, 1), self.shares[:, None])
        return np.where(self.missing[:, None], 0.0, means)


class Centres(NamedTuple):
    """Members of k clusters: counts in each column (n_columns, k) and masses (k,)."""

    counts: IntArray
    masses: IntArray


class LloydResult(NamedTuple):
    """Cluster of each row (n_rows,), sum of costs, and members of the clusters."""

    labels: IntArray
    loss: float
    centres: Centres


def one_hot_rows(ensemble: Ensemble) -> tuple[OneHotRows, IntArray]:
    """Merge the samples that no partition with a vote tells apart.

    Returns the distinct rows, in order of first appearance, and the row of each sample,
    (n_samples,). Samples are told apart by as many partitions at a time as fit into one
    64-bit key: O(n T) time; memory is that of the distinct rows and O(n).
    """
    ensemble = ensemble.voters
    group = group_samples(ensemble)
    first = np.unique(group, return_index=True)[1]
    sizes = code_counts(ensemble)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    n_columns = int(starts[-1])
    columns = np.empty((len(first), ensemble.n_partitions), column_type(n_columns))
    for t, codes in enumerate(ensemble.codes_and_gaps):
        columns[:, t] = codes[first] + starts[t]
    votes = ensemble.votes, np.repeat(ensemble.votes, sizes)
    gaps = _gaps(ensemble, sizes, starts) if ensemble.is_partial else None
    return OneHotRows(columns, np.bincount(group), n_columns, *votes, gaps), group


def code_counts(ensemble: Ensemble) -> IntArray:
    """Number of codes of each partition (n_partitions,), the one of gaps included."""
    return ensemble.n_codes + (ensemble.n_gaps > 0)


def _gaps(ensemble: Ensemble, sizes: IntArray, starts: IntArray) -> Gaps:
    """Say of the columns of all partitions which are gaps."""
    model = np.repeat(np.arange(len(sizes)), sizes)
    missing = np.arange(len(model)) - starts[model] == ensemble.n_codes[model]
    members = np.concatenate([np.bincount(codes) for codes in ensemble.codes_and_gaps])
    n_seen = ensemble.n_samples - ensemble.n_gaps
    return Gaps(model, missing, np.where(missing, 0.0, members / n_seen[model]))


def column_type(n_columns: int) -> type[np.unsignedinteger[Any]]:
    """Type of column numbers: one of two, so that kernels compile at most twice."""
    return np.uint16 if n_columns <= np.iinfo(np.uint16).max else np.uint32


def group_samples(ensemble: Ensemble) -> IntArray:
    """Number the distinct columns of the label matrix, shape (n_samples,)."""
    keys = np.zeros(ensemble.n_samples, dtype=np.int64)
    n_keys = 1
    for codes, n_clusters in zip(
        ensemble.codes_and_gaps, code_counts(ensemble).tolist(), strict=True
    ):
        if n_keys > np.iinfo(np.int64).max // n_clusters:
            keys = pd.factorize(keys)[0].astype(np.int64)
            n_keys = int(keys.max()) + 1
            if n_keys == len(keys):
                return keys
        keys = keys * n_clusters + codes
        n_keys *= n_clusters
    return pd.factorize(keys)[0].astype(np.int64)


class Lloyd:
    """Lloyd's algorithm, with its seeding, on weighted one-hot rows.

    The cost of row i in cluster c is p / mass_i² + bias_c - lookups_ic / mass_i with p
    votes, where lookups_ic sums an entry of the table of the centres per partition: the
    squared distance of h_i / mass_i to the weighted mean of the members. Mass 1 is
    k-means, other masses are spectral ensemble clustering.

    Of partial partitions the distance goes over the models that saw the sample, and the
    mean of a cluster in the columns of a model over the members that it saw (k-means on
    incomplete rows; Chi, Chi & Baraniuk, "k-POD", American Statistician 70, 2016).
    """

    def __init__(
        self,
        rows: OneHotRows,
        run: RunOptions,
        *,
        masses: IntArray | None = None,
    ) -> None:
        self.rows, self.options = rows, run.quiet
        self.masses = np.ones(rows.n_rows, np.int64) if masses is None else masses

    def run(self, start: Centres, *, max_iter: int) -> LloydResult:
        """Move each row to its cheapest cluster until none moves; none stays empty."""
        n_clusters = len(start.masses)
        labels = np.full(self.rows.n_rows, n_clusters)
        # One more column, for rows that belong to no cluster yet.
        counts = np.zeros((self.rows.n_columns, n_clusters + 1), np.int64)
        masses, loss = np.zeros(n_clusters + 1, np.int64), np.inf
        weights, centres = self.rows.weights * self.masses, start
        for _ in range(max_iter):
            new, costs = self._assign(centres)
            fill_empty(new, costs, n_clusters)
            # Not a BLAS product, whose rounding depends on its number of threads.
            new_loss = float((weights * costs).sum())
            if new_loss >= loss:
                break
            moved = np.flatnonzero(new != labels)
            _move(self.rows.columns, self.rows.weights, moved, labels, new, counts)
            np.subtract.at(masses, labels[moved], weights[moved])
            np.add.at(masses, new[moved], weights[moved])
            labels, loss = new, new_loss
            centres = Centres(counts[:, :n_clusters], masses[:n_clusters])
            if len(moved) == 0:
                break
        return LloydResult(labels, loss, centres)

    def sample(self, size: int, rng: np.random.Generator) -> Lloyd:
        """The same algorithm on some of the rows, drawn at random."""
        chosen = rng.choice(self.rows.n_rows, size, replace=False)
        rows, masses = self.rows.take(chosen), self.masses[chosen]
        return Lloyd(rows, self.options, masses=masses)

    def start(self, n_clusters: int, rng: np.random.Generator) -> Centres:
        """Seeds; of very many rows, the result on a sample, which saves most passes."""
        size = max(START_ROWS, START_ROWS_PER_CENTRE * n_clusters)
        if size >= self.rows.n_rows:
            return self.seeds(n_clusters, rng)
        part = self.sample(size, rng)
        return part.run(part.seeds(n_clusters, rng), max_iter=MAX_ITER).centres

    def seeds(self, n_clusters: int, rng: np.random.Generator) -> Centres:
        """Choose distinct rows far apart, by greedy k-means++."""
        weights = (self.rows.weights * self.masses).astype(float)
        n_trials = 2 + int(np.log(n_clusters))
        chosen = [int(_draw(weights, 1, rng)[0])]
        nearest = self._costs_to_rows(np.array(chosen))[:, 0]
        while len(chosen) < n_clusters:
            masses = weights * nearest
            if not masses.any():  # gaps can leave no distance between different rows
                masses = weights.copy()
                masses[chosen] = 0.0
            candidates = _draw(masses, n_trials, rng)
            costs = np.minimum(self._costs_to_rows(candidates), nearest[:, None])
            best = int(np.argmin((weights[:, None] * costs).sum(axis=0)))
            chosen.append(int(candidates[best]))
            nearest = costs[:, best]
        return self._rows_as_centres(np.array(chosen))

    def _rows_as_centres(self, chosen: IntArray) -> Centres:
        """Clusters of one row each."""
        counts = np.zeros((self.rows.n_columns, len(chosen)), np.int64)
        columns = self.rows.columns[chosen]
        counts[columns, np.arange(len(chosen))[:, None]] = 1
        return Centres(counts, self.masses[chosen])

    def _costs_to_rows(self, chosen: IntArray) -> FloatArray:
        """Squared distances of all rows to some, shape (n_rows, n_chosen)."""
        table, bias = self.mean_table(self._rows_as_centres(chosen))
        costs = np.concatenate(list(self._cost_blocks(table, bias)))
        costs[chosen, np.arange(len(chosen))] = 0.0
        return np.maximum(costs, 0.0)

    def mean_table(self, centres: Centres) -> tuple[FloatArray, FloatArray]:
        """Table and bias of squared distances to the means, by the votes of columns."""
        if (gaps := self.rows.gaps) is not None:
            return self._partial_table(gaps, centres.counts)
        means = centres.counts / centres.masses
        weighted = self.rows.column_votes[:, None] * means
        return 2.0 * weighted, np.einsum("fc,fc->c", weighted, means)

    def _partial_table(
        self, gaps: Gaps, counts: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Table whose look-ups leave the models out that did not see a row; no bias."""
        means, votes = gaps.means(counts), self.rows.column_votes[:, None]
        squares = gaps.by_model(means**2)[gaps.model]
        table = np.where(gaps.missing[:, None], 1.0, 2.0 * means - squares)
        return (votes * table).astype(float), np.zeros(counts.shape[1])

    def _assign(self, centres: Centres) -> tuple[IntArray, FloatArray]:
        """Cheapest cluster of each row and its cost, each of shape (n_rows,)."""

        def cheapest(costs: FloatArray) -> tuple[IntArray, FloatArray]:
            labels = costs.argmin(axis=1)
            return labels, costs[np.arange(len(labels)), labels]

        blocks = list(self._cost_blocks(*self.mean_table(centres), cheapest))
        labels, costs = zip(*blocks, strict=True)
        return np.concatenate(labels), np.concatenate(costs)

    def _cost_blocks(
        self,
        table: FloatArray,
        bias: FloatArray,
        use: Callable[[FloatArray], Any] = lambda costs: costs,
    ) -> Iterator[Any]:
        """Costs of short blocks of rows, (n_block, k) each, passed through `use`."""
        p, k = self.rows.n_votes, len(bias)
        length = max(64, LOOKUPS_PER_BLOCK // (self.rows.n_partitions * k))
        table = np.ascontiguousarray(table.T if k <= FEW_CENTRES else table)

        def block(start: int) -> Any:
            columns = self.rows.columns[start : start + length]
            mass = self.masses[start : start + length, None].astype(float)
            costs = np.empty((len(columns), k))
            if k <= FEW_CENTRES:
                sums_by_centre(columns, table, costs)
            else:
                _sums_by_row(columns, table, costs)
            return use(p / mass**2 + bias - costs / mass)

        blocks = [(start,) for start in range(0, self.rows.n_rows, length)]
        if len(blocks) == 1:
            self.options.raise_if_cancelled()
            return iter([block(0)])
        work = [length] * len(blocks)
        return run_blocks(block, blocks, work, self.options)


def best_of_starts(
    lloyd: Lloyd,
    n_clusters: int,
    n_init: int,
    max_iter: int,
    rng: np.random.Generator,
    *,
    improve: Callable[[LloydResult], LloydResult] = lambda result: result,
) -> Iterator[LloydResult]:
    """Yield the best result so far after each of n_init seeded starts.

    `improve` goes on from each converged run and may judge it by another loss.
    """
    check_memory(
        24 * lloyd.rows.n_columns * (n_clusters + 1),
        MAX_CENTRE_BYTES,
        what=f"The centres of {n_clusters} clusters",
        remedy="ask for fewer clusters.",
    )
    best: LloydResult | None = None
    for child in rng.spawn(n_init):
        start = lloyd.start(n_clusters, child)
        result = improve(lloyd.run(start, max_iter=max_iter))
        if best is None or result.loss < best.loss:
            best = result
        yield best


def cluster_samples(
    lloyd: Lloyd,
    group: IntArray,
    n_clusters: int,
    random_state: int,
    n_init: int,
    max_iter: int,
    progress: Progress | None,
    *,
    improve: Callable[[LloydResult], LloydResult] = lambda result: result,
) -> IntArray:
    """Labels (n_samples,) from the best of n_init starts, in order of appearance."""
    n_init = check_range(n_init, 1, 10_000, name="n_init", integer=True)
    max_iter = check_range(max_iter, 1, 1_000_000, name="max_iter", integer=True)
    n_rows = lloyd.rows.n_rows
    if n_clusters >= n_rows:
        if n_clusters > n_rows:
            warn_caller(
                f"n_clusters is {n_clusters}, but the ensemble tells only {n_rows} "
                "groups of samples apart; these are returned.",
            )
        return group
    rng = np.random.default_rng(random_state)
    starts = best_of_starts(lloyd, n_clusters, n_init, max_iter, rng, improve=improve)
    for done, result in enumerate(starts, 1):
        best = result
        report(progress, done, n_init)
    return pd.factorize(best.labels[group])[0].astype(np.int64)


def _draw(weights: FloatArray, size: int, rng: np.random.Generator) -> IntArray:
    """Draw row numbers in proportion to weights, shape (size,)."""
    cumulative = np.cumsum(weights)
    points = rng.random(size) * cumulative[-1]
    drawn = np.searchsorted(cumulative, points, side="right")
    # A point rounded up to the total falls behind the last row of positive weight.
    return np.minimum(drawn, np.flatnonzero(weights)[-1])


def fill_empty(labels: IntArray, costs: FloatArray, n_clusters: int) -> None:
    """Give each empty cluster the costliest row of a cluster that can spare one."""
    sizes = np.bincount(labels, minlength=n_clusters)
    for empty in np.flatnonzero(sizes == 0):
        row = int(np.argmax(np.where(sizes[labels] > 1, costs, -np.inf)))
        sizes[labels[row]] -= 1
        labels[row], costs[row], sizes[empty] = empty, 0.0, 1


@kernel()
def sums_by_centre(
    columns: IntArray, table: FloatArray, sums: npt.NDArray[np.float64]
) -> None:
    """sums (n, k): for each row the sum of its entries in each line of table (k, d)."""
    for c in range(table.shape[0]):
        line = table[c]
        for i in range(columns.shape[0]):
            total = 0.0
            for t in range(columns.shape[1]):
                total += line[columns[i, t]]
            sums[i, c] = total


@kernel()
def _sums_by_row(
    columns: IntArray, table: FloatArray, sums: npt.NDArray[np.float64]
) -> None:
    """sums (n, k): for each row the sum of its lines in table (d, k)."""
    for i in range(columns.shape[0]):
        for c in range(table.shape[1]):
            sums[i, c] = 0.0
        for t in range(columns.shape[1]):
            line = columns[i, t]
            for c in range(table.shape[1]):
                sums[i, c] += table[line, c]


@kernel()
def _move(
    columns: IntArray,
    weights: IntArray,
    moved: IntArray,
    old: IntArray,
    new: IntArray,
    counts: IntArray,
) -> None:
    """Carry the moved rows from their old to their new cluster in counts (d, k + 1)."""
    for i in moved:
        for t in range(columns.shape[1]):
            counts[columns[i, t], old[i]] -= weights[i]
            counts[columns[i, t], new[i]] += weights[i]
