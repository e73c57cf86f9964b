"""Expected difference E|X - Y| of two independent pair distances.

X and Y follow the distributions of the pair distances of two fuzzy partitions, each
observed or random. Closed forms are used if one exists: if either side takes only the
values 0 and 1 (hard rows), if both are uniform on a simplex, or if no side has to be
drawn. Otherwise each random side is drawn separately, and all combinations of the two
samples are averaged in linear time, over a table of E|Y - t| at the edges of fine bins
(linear interpolation between them is off by far less than the noise). Regression on two
quantities with known expectations (the distance and the squared Euclidean distance of a
pair) removes most of the remaining noise; independent replicates give the standard
error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.special import betainc, betaincinv, roots_legendre

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import FloatArray
from clusterlens.compute.fuzzy._pair_distances import (
    BINS,
    Estimate,
    PairDistances,
    PairWalk,
    observed_distances,
    scaled_rows,
)
from clusterlens.compute.fuzzy.dirichlet import (
    NEIGHBOURS,
    DirichletFit,
    draw_pairs,
    draw_rows,
    suits_sticks,
)
from clusterlens.compute.fuzzy.partition import FuzzyPartition

REPLICATES = 16
_FIRST_PAIRS = 1 << 12  # per side in the first replicate
_MOST_PAIRS = 1 << 18  # in one replicate
_MOST_DRAWN = 1 << 28  # in all replicates
_MOST_LISTED = 1 << 22  # distances kept in memory
_MOST_ENTRIES = 1 << 22  # membership entries in memory while drawing, 32 MB
_NODES = 400


@dataclass(frozen=True, eq=False)
class Observed:
    """Pair distances of a given partition; listed only when needed."""

    partition: FuzzyPartition
    rng: np.random.Generator
    walk: PairWalk
    norm: float = 1.0

    @property
    def is_two_point(self) -> bool:
        """Whether distances can only be 0 or 1."""
        return self.partition.is_hard

    @property
    def mean_distance(self) -> float:
        """Mean over the pairs, exact; by the L1 norm unless it is two-point."""
        return self.partition.mean_distance

    @cached_property
    def distances(self) -> PairDistances:
        """All distances, binned or sampled where there are many."""
        return observed_distances(
            self.partition.occupied, self.rng, self.walk, self.norm
        )


@dataclass(frozen=True)
class Flat:
    """Distance of two rows drawn uniformly from the simplex: Beta(K - 1, K)."""

    n_clusters: int
    width: float = 0.0

    @property
    def is_two_point(self) -> bool:
        """Whether distances can only be 0 (there is only one row)."""
        return self.n_clusters == 1

    @property
    def mean_distance(self) -> float:
        """Expected distance."""
        return (self.n_clusters - 1) / (2 * self.n_clusters - 1)

    def cdf(self, points: FloatArray) -> FloatArray:
        """Return P(D <= t) for each t of points, shape (m,)."""
        return betainc(self.n_clusters - 1, self.n_clusters, np.clip(points, 0, 1))

    def difference_from(self, points: FloatArray) -> FloatArray:
        """Return E|D - t| for each t of points, shape (m,)."""
        partial = betainc(self.n_clusters, self.n_clusters, np.clip(points, 0, 1))
        below = points * (2 * self.cdf(points) - 1)
        return below + self.mean_distance * (1 - 2 * partial)

    def probability_within(self, points: FloatArray, reach: float) -> FloatArray:
        """Return P(|D - t| <= reach) for each t of points, shape (m,)."""
        return self.cdf(points + reach) - self.cdf(points - reach)


SideDistribution = Observed | Flat | DirichletFit
Target = Callable[[float], float]


def expected_difference(
    x: SideDistribution,
    y: SideDistribution,
    target: Target,
    rng: np.random.Generator,
    walk: PairWalk,
) -> Estimate:
    """Return E|X - Y|; target(value) is the required standard error of a draw."""
    if x.is_two_point or y.is_two_point:
        # |0 - Y| = Y and |1 - Y| = 1 - Y, so that only the means matter.
        p, q = x.mean_distance, y.mean_distance
        return Estimate(p * (1 - q) + (1 - p) * q)
    if isinstance(x, DirichletFit):
        if isinstance(y, DirichletFit):
            # Sorting makes the draws independent of the order of the sides.
            first, second = sorted([x, y], key=_draw_order)
            return _draw_both(first, second, target, rng, walk)
        return _draw_one(x, _points(y), target, rng, walk)
    if isinstance(y, DirichletFit):
        return _draw_one(y, _points(x), target, rng, walk)
    if isinstance(x, Observed):
        return _average(x.distances, _points(y))
    if isinstance(y, Observed):
        return _average(y.distances, x)
    return Estimate(_flat_difference(x, y))


def expected_difference_in_norm(
    x: SideDistribution,
    y: SideDistribution,
    norm: float,
    target: Target,
    rng: np.random.Generator,
    walk: PairWalk,
) -> Estimate:
    """Return E|X - Y| of distances in another norm, by plain draws of random sides."""
    n_pairs = _FIRST_PAIRS * REPLICATES
    while True:
        points = [_points_in_norm(side, norm, n_pairs, rng, walk) for side in (x, y)]
        mean = _average(*points)
        if mean.standard_error <= target(mean.value) or n_pairs >= _MOST_LISTED:
            return mean
        n_pairs *= 4


def _points_in_norm(
    side: SideDistribution,
    norm: float,
    n_pairs: int,
    rng: np.random.Generator,
    walk: PairWalk,
) -> PairDistances:
    """List the distances of a side in a norm, n_pairs drawn ones if it is random."""
    if side.is_two_point:
        apart = side.mean_distance
        return PairDistances(np.array([0.0, 1.0]), np.array([1 - apart, apart]))
    if isinstance(side, Observed):
        return side.distances

    def distances(rows: FloatArray) -> FloatArray:
        return np.linalg.norm(rows[:, ::2] - rows[:, 1::2], norm, axis=0)

    drawn = np.concatenate(map_rows(side, distances, 2 * n_pairs, rng, walk))
    return PairDistances.from_values(scaled_rows(drawn, norm), n_drawn=n_pairs)


def map_rows(
    side: Flat | DirichletFit,
    measure: Callable[[FloatArray], FloatArray],
    n_rows: int,
    rng: np.random.Generator,
    walk: PairWalk,
) -> list[FloatArray]:
    """Draw rows of a random side, and measure them in blocks of columns (K, m)."""
    alpha = np.ones(side.n_clusters) if isinstance(side, Flat) else side.alpha
    alpha = alpha[alpha > 0]
    size = min(n_rows, _power_of_two(_MOST_ENTRIES / len(alpha)))

    def block(stream: np.random.Generator) -> FloatArray:
        return measure(draw_rows(alpha, size, stream))

    streams = [(stream,) for stream in rng.spawn(n_rows // size)]
    return list(run_blocks(block, streams, [size] * len(streams), walk.run))


def _points(side: Observed | Flat) -> PairDistances | Flat:
    """Return an object with `difference_from` for a side that is not drawn."""
    return side.distances if isinstance(side, Observed) else side


def _average(x: PairDistances, y: PairDistances | Flat) -> Estimate:
    """Average E|x - Y| over the points of x.

    Replacing a bin by its mean underestimates the average (Jensen), but only if the
    other side lies or reaches into the same bin: by at most half of both widths there.
    """
    from_y = y.difference_from(x.values)
    value = float(x.weights @ from_y)
    variance = _sampling_variance(x, from_y)
    if isinstance(y, PairDistances):
        variance += _sampling_variance(y, x.difference_from(y.values))
        n_drawn = max(x.n_drawn, y.n_drawn)
    else:
        n_drawn = x.n_drawn
    width = x.width + y.width
    bound = 0.0
    if width > 0:
        bound = width / 2 * float(x.weights @ y.probability_within(x.values, width))
    return Estimate(value, variance**0.5, bound, n_drawn)


def _sampling_variance(points: PairDistances, differences: FloatArray) -> float:
    """Variance of the mean of differences (m,) if the points were drawn, else 0."""
    if points.n_drawn == 0:
        return 0.0
    centred = differences - points.weights @ differences
    return float(points.weights @ centred**2) / points.n_drawn


def _flat_difference(x: Flat, y: Flat) -> float:
    """Integrate F + G - 2FG over [0, 1], where it is not zero to rounding.

    Gauss-Legendre with 400 nodes reaches 1e-13; the interval keeps it so for large K.
    """
    tails = [
        betaincinv(side.n_clusters - 1, side.n_clusters, (1e-30, 1 - 1e-16))
        for side in (x, y)
    ]
    low, high = float(np.min(tails)), float(np.max(tails))
    nodes, weights = _legendre_nodes()
    points = low + (high - low) * (nodes + 1) / 2
    f, g = x.cdf(points), y.cdf(points)
    return float(weights @ (f + g - 2 * f * g)) * (high - low) / 2


@cache
def _legendre_nodes() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss-Legendre quadrature on [-1, 1]."""
    nodes, weights = roots_legendre(_NODES)
    return nodes, weights


def _draw_order(fit: DirichletFit) -> tuple[float, ...]:
    """Sort key: number of clusters, then the parameters, largest first."""
    alpha = np.sort(fit.alpha[fit.mean > 0])[::-1]
    return (float(len(alpha)), *alpha.tolist())


def _draw_both(
    x: DirichletFit,
    y: DirichletFit,
    target: Target,
    rng: np.random.Generator,
    walk: PairWalk,
) -> Estimate:
    """Estimate with both sides drawn, averaging over all combinations."""
    # Expensive points on one side add nothing beside the noise of plain draws.
    sticks = suits_sticks(x) and suits_sticks(y)

    def replicate(n_pairs: int, rng: np.random.Generator) -> float:
        from_x, squares_x = draw_pairs(x.alpha, n_pairs, rng, sticks)
        from_y, squares_y = draw_pairs(y.alpha, n_pairs, rng, sticks)
        largest = max(from_x.max(), from_y.max(), 1e-300)
        of_x = _interpolate(_tabulate(from_y, largest, BINS), largest, from_x)
        of_y = _interpolate(_tabulate(from_x, largest, BINS), largest, from_y)
        noise_x = _controlled_noise(of_x, from_x, squares_x, x)
        noise_y = _controlled_noise(of_y, from_y, squares_y, y)
        return float(of_x.mean()) - noise_x - noise_y

    n_clusters = max(len(x.mean), len(y.mean))
    return _replicated(replicate, n_clusters, sticks, target, rng, walk)


def _draw_one(
    x: DirichletFit,
    y: PairDistances | Flat,
    target: Target,
    rng: np.random.Generator,
    walk: PairWalk,
) -> Estimate:
    """Estimate with one side drawn and the other one known."""
    sticks = suits_sticks(x)

    def replicate(n_pairs: int, rng: np.random.Generator) -> float:
        distances, squares = draw_pairs(x.alpha, n_pairs, rng, sticks)
        largest = max(distances.max(), 1e-300)
        edges = np.linspace(0, largest, min(BINS, n_pairs) + 1)
        differences = _interpolate(y.difference_from(edges), largest, distances)
        noise = _controlled_noise(differences, distances, squares, x)
        return float(differences.mean()) - noise

    drawn = _replicated(replicate, len(x.mean), sticks, target, rng, walk)
    error = drawn.standard_error
    if isinstance(y, PairDistances) and y.n_drawn:
        sample = PairDistances.from_values(draw_pairs(x.alpha, _FIRST_PAIRS, rng)[0])
        variance = _sampling_variance(y, sample.difference_from(y.values))
        error = float(np.hypot(error, variance**0.5))
    return Estimate(drawn.value, error, y.width / 2, drawn.n_drawn)


def _replicated(
    replicate: Callable[[int, np.random.Generator], float],
    n_clusters: int,
    sticks: bool,
    target: Target,
    rng: np.random.Generator,
    walk: PairWalk,
) -> Estimate:
    """Average independent replicates, larger first and then more, up to the target.

    Pairs of one replicate share rows or one scramble, which makes them more precise.
    The error is the error of the mean over replicates.
    """
    largest = min(_MOST_PAIRS, _power_of_two(NEIGHBOURS * _MOST_ENTRIES / n_clusters))
    n_pairs = min(_FIRST_PAIRS // 2 if sticks else _FIRST_PAIRS, largest)
    rate = 1 if sticks else 2  # the error falls like n_pairs to the power -1 / rate
    values: list[float] = []
    while True:
        runs = [(n_pairs, stream) for stream in rng.spawn(REPLICATES)]
        work = [n_pairs] * REPLICATES
        values += run_blocks(replicate, runs, work, walk.run)
        value, n_drawn = float(np.mean(values)), len(values) * n_pairs
        # The variance of Student's t, (R - 1) / (R - 3): the error is an estimate too,
        # and stopping when it is small by chance would understate it.
        error = float(np.std(values, ddof=3)) / len(values) ** 0.5
        if error <= target(value) or n_drawn >= _MOST_DRAWN:
            return Estimate(value, error, n_drawn=n_drawn)
        if n_pairs < largest:
            growth = min(16.0, 2 * (error / target(value)) ** rate)
            n_pairs = min(largest, max(2 * n_pairs, _power_of_two(n_pairs * growth)))
            values = []


def _power_of_two(number: float) -> int:
    """Return the power of two at or below number, at least 512."""
    return max(512, 1 << int(np.log2(number)))


@kernel()
def _tabulate(values, largest, n_bins):  # type: ignore[no-untyped-def]
    """E|D - t| for values (m,) of D at the edges t (n_bins + 1,) of [0, largest]."""
    counts, sums = np.zeros(n_bins, dtype=np.int64), np.zeros(n_bins)
    scale = n_bins / largest
    for value in values:
        b = min(int(value * scale), n_bins - 1)
        counts[b] += 1
        sums[b] += value
    table = np.empty(n_bins + 1)
    below, sum_below, total = 0, 0.0, sums.sum()
    for b in range(n_bins + 1):
        spread = b / scale * (2 * below - len(values)) + total - 2 * sum_below
        table[b] = spread / len(values)
        if b < n_bins:
            below += counts[b]
            sum_below += sums[b]
    return table


@kernel()
def _interpolate(table, largest, points):  # type: ignore[no-untyped-def]
    """Read a table over the edges of equal bins of [0, largest] at points (m,)."""
    n_bins = len(table) - 1
    scale = n_bins / largest
    out = np.empty(len(points))
    for i in range(len(points)):
        position = points[i] * scale
        b = min(int(position), n_bins - 1)
        out[i] = table[b] + (position - b) * (table[b + 1] - table[b])
    return out


def _controlled_noise(
    differences: FloatArray,
    distances: FloatArray,
    squares: FloatArray,
    fit: DirichletFit,
) -> float:
    """Predict the error of the mean of differences (m,) from the errors of two others.

    Means of the distances and squares (m,) have known expectations. Their deviation
    from these, times the slopes of a regression on them, is noise.
    """
    excess = np.stack([distances / fit.mean_distance, squares / fit.mean_square]) - 1
    moments = np.cov(excess, differences)
    slopes = np.linalg.lstsq(moments[:2, :2], moments[:2, 2])[0]
    return float(slopes @ excess.mean(axis=1))
