"""Lloyd's algorithm on the one-hot rows of an ensemble, by look-ups.

Counts of cluster members are integers, so centres, and therefore all results, do not
depend on the number of threads. A pass over the rows costs O(n p k) time for p
partitions and k centres; memory is O(n p + n_columns k).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from clusterlens.compute.consensus._one_hot import Gaps, OneHotRows, sums_by_centre

LOOKUPS_PER_BLOCK = 1 << 21  # a few milliseconds between two checks for Cancel
FEW_CENTRES = 4  # up to this number one register per centre beats a vector
MAX_ITER = 300
START_ROWS = 1 << 14
START_ROWS_PER_CENTRE = 100
MAX_CENTRE_BYTES = 4 << 30


class Centres(NamedTuple):
    """Members of k clusters: counts in each column (n_columns, k) and masses (k,)."""

    counts: IntArray
    masses: IntArray


class LloydResult(NamedTuple):
    """Cluster of each row (n_rows,), sum of costs, and members of the clusters."""

    labels: IntArray
    loss: float
    centres: Centres


class Lloyd:
    """Lloyd's algorithm, with its seeding, on weighted one-hot rows.

    The cost of row i in cluster c is p / mass_i² + bias_c - lookups_ic / mass_i with p
    votes, where lookups_ic sums an entry of the table of the centres per partition: the
    squared distance of h_i / mass_i to the weighted mean of the members. Mass 1 is
    k-means, other masses are spectral ensemble clustering.

    For partial partitions the distance covers the models that saw the sample, and the
    mean of a cluster in the columns of a model covers the members that it saw (k-means
    on incomplete rows; Chi, Chi & Baraniuk, "k-POD", American Statistician 70, 2016).
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
        """Move rows to cheaper clusters until none moves; no cluster is empty."""
        n_clusters = len(start.masses)
        labels = np.full(self.rows.n_rows, n_clusters)
        # One more column, for rows that do not belong to a cluster yet.
        counts = np.zeros((self.rows.n_columns, n_clusters + 1), np.int64)
        masses, loss = np.zeros(n_clusters + 1, np.int64), np.inf
        weights, centres = self.rows.weights * self.masses, start
        for _ in range(max_iter):
            new, costs = self._assign(centres)
            fill_empty(new, costs, n_clusters)
            # Avoid a BLAS product: its rounding depends on the number of threads.
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
        """Return the algorithm on a random sample of rows."""
        chosen = rng.choice(self.rows.n_rows, size, replace=False)
        rows, masses = self.rows.take(chosen), self.masses[chosen]
        return Lloyd(rows, self.options, masses=masses)

    def start(self, n_clusters: int, rng: np.random.Generator) -> Centres:
        """Choose seeds; for many rows, a result on a sample, which saves passes."""
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
        """Return clusters of one row each."""
        counts = np.zeros((self.rows.n_columns, len(chosen)), np.int64)
        columns = self.rows.columns[chosen]
        counts[columns, np.arange(len(chosen))[:, None]] = 1
        return Centres(counts, self.masses[chosen])

    def _costs_to_rows(self, chosen: IntArray) -> FloatArray:
        """Return squared distances of all rows to some, shape (n_rows, n_chosen)."""
        table, bias = self.mean_table(self._rows_as_centres(chosen))
        costs = np.concatenate(list(self._cost_blocks(table, bias)))
        costs[chosen, np.arange(len(chosen))] = 0.0
        return np.maximum(costs, 0.0)

    def mean_table(self, centres: Centres) -> tuple[FloatArray, FloatArray]:
        """Return table and bias of squared distances to the means, by column votes."""
        if (gaps := self.rows.gaps) is not None:
            return self._partial_table(gaps, centres.counts)
        means = centres.counts / centres.masses
        weighted = self.rows.column_votes[:, None] * means
        return 2.0 * weighted, np.einsum("fc,fc->c", weighted, means)

    def _partial_table(
        self, gaps: Gaps, counts: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return a table that skips models that did not see a row; it has no bias."""
        means, votes = gaps.means(counts), self.rows.column_votes[:, None]
        squares = gaps.by_model(means**2)[gaps.model]
        table = np.where(gaps.missing[:, None], 1.0, 2.0 * means - squares)
        return (votes * table).astype(float), np.zeros(counts.shape[1])

    def _assign(self, centres: Centres) -> tuple[IntArray, FloatArray]:
        """Return the cheapest cluster of each row and its cost, each (n_rows,)."""

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
        """Compute costs of short blocks of rows, (n_block, k) each, passed to `use`."""
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

    `improve` continues each converged run and may compare runs by another loss.
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
    improve: Callable[[LloydResult], LloydResult],
) -> IntArray:
    """Return labels (n_samples,) of the best of n_init starts, by first appearance."""
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
    # A point rounded up to the total would fall behind the last row with a weight.
    return np.minimum(drawn, np.flatnonzero(weights)[-1])


def fill_empty(labels: IntArray, costs: FloatArray, n_clusters: int) -> None:
    """Give each empty cluster the costliest row of a cluster that can spare one."""
    sizes = np.bincount(labels, minlength=n_clusters)
    for empty in np.flatnonzero(sizes == 0):
        row = int(np.argmax(np.where(sizes[labels] > 1, costs, -np.inf)))
        sizes[labels[row]] -= 1
        labels[row], costs[row], sizes[empty] = empty, 0.0, 1


@kernel()
def _sums_by_row(
    columns: IntArray, table: FloatArray, sums: npt.NDArray[np.float64]
) -> None:
    """Sum, for each row, its lines in table (d, k): sums (n, k)."""
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
