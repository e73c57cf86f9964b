"""Dirichlet distributions of membership rows: fits, moments and draws of pairs.

A fitted distribution is described by its mean row and its precision (the sum of the
Dirichlet parameters). It includes two limits: precision 0 is a categorical distribution
over hard rows, infinite precision a constant row.

Fits use Newton's method with the diagonal-plus-constant Hessian, O(n_clusters) per step
after one pass over the memberships, or a bracketed root for the symmetric family.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import beta, betaincinv, polygamma, psi
from scipy.stats import qmc

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import FloatArray, Frozen, check_flag, check_range
from clusterlens.compute.fuzzy.partition import FuzzyPartition, Partition, as_partition

_CONSTANT_SPREAD = 1e-12  # memberships that differ less count as equal
_GAUSSIAN_PRECISION = 1e10  # above it the mean row and one closed form are exact
_MAX_STEPS = 200
_STICK_CLUSTERS = 3  # up to this number, stick breaking at Sobol points is best
_STICK_PRECISION = 1e6  # above it beta quantiles become slow
NEIGHBOURS = 16  # pairs per drawn row: least variance for the time


@dataclass(frozen=True, eq=False)
class DirichletFit(Frozen):
    """Distribution of membership rows fitted to a fuzzy partition.

    Attributes
    ----------
    mean : array of float64, shape (n_clusters,)
        Mean row; 0 for clusters without members.
    precision : float
        Sum of the Dirichlet parameters; 0 for the categorical limit (hard rows drawn
        with probabilities `mean`), infinite for the constant row `mean`.
    n_floored : int
        Number of memberships raised to the floor for the fit.
    floor : float
        The floor for the fit.
    """

    mean: FloatArray
    precision: float
    n_floored: int = 0
    floor: float = 0.0

    @property
    def kind(self) -> Literal["dirichlet", "categorical", "constant"]:
        """The family itself or one of its two limits."""
        if self.precision == 0:
            return "categorical"
        return "constant" if np.isinf(self.precision) else "dirichlet"

    @property
    def alpha(self) -> FloatArray:
        """Dirichlet parameters, shape (n_clusters,); 0 or infinite in the limits."""
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(self.mean * self.precision, nan=0.0, posinf=np.inf)

    @property
    def is_two_point(self) -> bool:
        """Whether the distance of two rows can only be 0 or 1."""
        return self.kind != "dirichlet"

    @property
    def mean_distance(self) -> float:
        """Expected half L1 distance of two independent rows, in [0, 1].

        Half the sum of Gini's mean differences of the beta-distributed coordinates,
        (2 / s) B(1/2, s) / (B(1/2, a) B(1/2, s - a)) each, a of precision s.
        """
        if self.kind == "categorical":
            return 1 - float((self.mean**2).sum())
        if self.kind == "constant":
            return 0.0
        a = self.alpha[self.mean > 0]
        b = self.precision * _complements(self.mean[self.mean > 0])
        s = self.precision
        return float((beta(0.5, s) / s / (beta(0.5, a) * beta(0.5, b))).sum())

    @property
    def mean_square(self) -> float:
        """Expected squared Euclidean distance of two independent rows."""
        spread = self.mean * (1 - self.mean)
        return float(2 * spread.sum() / (self.precision + 1))


def fit_dirichlet(
    U: Partition, symmetric: bool = False, *, floor: float = 1e-6
) -> DirichletFit:
    """Fit a Dirichlet distribution to the rows of a fuzzy partition by likelihood.

    Parameters
    ----------
    U : FuzzyPartition or array-like, shape (n_samples, n_clusters) or (n_samples,)
        Memberships or hard labels.
    symmetric : bool, default False
        Fit one common parameter for all clusters that have members.
    floor : float in [1e-300, 0.1], default 1e-6
        Memberships below it are raised to it, and rows divided by their sums again, for
        the fit only: at an exact zero the likelihood is unbounded. Smaller floors are
        not more exact; they let the zeros alone determine the fit.

    Returns
    -------
    fit : DirichletFit
        Mean row, precision, and the number of floored memberships. Hard rows give the
        categorical limit (their proportions, or equal ones if symmetric), equal rows
        the constant one.

    Raises
    ------
    DataError
        If the memberships are not valid, see FuzzyPartition.
    ValueError
        If the floor is out of range.

    Notes
    -----
    The soft limit is not the hard model: as rows approach hardness, the fitted
    proportions do not approach the mean row, but jump to it when the last soft row
    becomes hard. If soft rows occur together with exact zeros, the floor decides much
    of the fit; the permutation model is then safer. Time O(n_samples n_clusters).

    References
    ----------
    T. P. Minka, "Estimating a Dirichlet distribution" (2000, revised 2012), section 1.

    Examples
    --------
    >>> U = [[0.98, 0.01, 0.01], [0.01, 0.98, 0.01], [0.01, 0.01, 0.98]]
    >>> fit_dirichlet(U).alpha.round(4)
    array([0.257, 0.257, 0.257])
    >>> fit_dirichlet([0, 0, 1]).kind
    'categorical'
    """
    symmetric = check_flag(symmetric, name="symmetric")
    floor = check_range(floor, 1e-300, 0.1, name="floor")
    u = as_partition(U)
    occupied = u.sizes > 0
    if u.is_hard:
        weights = occupied * 1.0 if symmetric else u.sizes
        return DirichletFit(weights / weights.sum(), 0.0)
    rows, n_floored = _floored_rows(u, floor)
    mean, precision = (_fit_symmetric if symmetric else _fit_general)(rows)
    full = np.zeros(u.n_clusters)
    full[occupied] = mean
    return DirichletFit(full, precision, n_floored, floor)


def suits_sticks(fit: DirichletFit) -> bool:
    """Tell whether pairs are better drawn by stick breaking at Sobol points."""
    n_clusters = int((fit.mean > 0).sum())
    return n_clusters <= _STICK_CLUSTERS and fit.precision <= _STICK_PRECISION


def draw_pairs(
    alpha: FloatArray, n_pairs: int, rng: np.random.Generator, sticks: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Draw pairs of Dirichlet rows: their distances and squares, (n_pairs,) each.

    The distance is half the L1 distance, the square the squared Euclidean one. Each row
    is independent of all but a few others, so means over the pairs are unbiased;
    independent calls give their error. It falls like 1 / sqrt(n_pairs), or nearly
    1 / n_pairs with sticks. n_pairs is a power of two >= 512.
    """
    # Distances do not depend on the order of clusters: sorting makes the draws for
    # permuted columns identical.
    ordered = np.sort(alpha[alpha > 0])[::-1]
    draw = _stick_pairs if sticks else _neighbour_pairs
    return draw(ordered, n_pairs, rng)


def _floored_rows(u: FuzzyPartition, floor: float) -> tuple[FloatArray, int]:
    """Return the occupied rows with entries >= floor, and how many were raised."""
    rows = u.occupied
    n_floored = int((rows < floor).sum())
    if n_floored:
        rows = np.maximum(rows, floor)
        rows = rows / rows.sum(axis=1, keepdims=True)
    return rows, n_floored


def _fit_general(rows: FloatArray) -> tuple[FloatArray, float]:
    """Maximum likelihood mean row and precision of rows (n, K)."""
    mean = rows.mean(axis=0)
    if np.ptp(rows, axis=0).max() <= _CONSTANT_SPREAD:
        return mean, np.inf
    excess = _log_excess(rows, mean)
    variance = rows.var(axis=0).sum()
    start = max(float((mean * (1 - mean)).sum() / variance) - 1, 1e-3)
    if start > _GAUSSIAN_PRECISION:
        return mean, (len(mean) - 1) / (-2 * float(mean @ excess))
    alpha = _newton(mean, excess, start)
    return alpha / alpha.sum(), float(alpha.sum())


def _newton(mean: FloatArray, excess: FloatArray, precision: float) -> FloatArray:
    """Solve psi(A) - psi(alpha_k) + mean log u_k = 0 for alpha (K,), A its sum."""

    def gradient(alpha: FloatArray) -> FloatArray:
        total = alpha.sum()
        ratio = np.log(mean * total / alpha)
        return _psi_excess(total) - _psi_excess(alpha) + ratio + excess

    def overshoots(alpha: FloatArray, step: FloatArray, slope: float) -> bool:
        return alpha.min() <= 0 or float(gradient(alpha) @ step) < -slope

    alpha = mean * precision
    for _ in range(_MAX_STEPS):
        slopes = gradient(alpha)
        curvature = polygamma(1, alpha)
        common = (slopes / curvature).sum() / (
            1 / polygamma(1, alpha.sum()) - (1 / curvature).sum()
        )
        step = (slopes + common) / curvature
        change = np.abs(step / alpha).max()
        # The objective is concave: halve the step until its slope along the step has
        # changed sign by no more than its size; Newton converges from there.
        slope = float(slopes @ step)
        while change > 0.1 and overshoots(alpha + step, step, slope):
            step, slope, change = step / 2, slope / 2, change / 2
        alpha = alpha + step
        if change < max(1e-12, 4e-16 * alpha.sum()):
            break
    return alpha


def _fit_symmetric(rows: FloatArray) -> tuple[FloatArray, float]:
    """Uniform mean row and maximum likelihood precision s of rows (n, K).

    s solves psi(s) - psi(s / K) + mean log u = 0. Because x (log x - psi(x)) lies
    between 1/2 and 1, the root lies between (K - 1) / 2 and K - 1/2 over the excess.
    """
    n_clusters = rows.shape[1]
    mean = np.full(n_clusters, 1 / n_clusters)
    if np.abs(rows - mean).max() <= _CONSTANT_SPREAD:
        return mean, np.inf
    excess = float(_log_excess(rows, mean).mean())

    def slope(s: float) -> float:
        return float(_psi_excess(s) - _psi_excess(s / n_clusters)) + excess

    bracket = (n_clusters - 1) / -2 / excess * 0.999, (n_clusters - 0.5) / -excess
    return mean, brentq(slope, *bracket, xtol=1e-300, rtol=1e-14)


def _log_excess(rows: FloatArray, mean: FloatArray) -> FloatArray:
    """Mean of log(u / mean) over rows (n, K), shape (K,).

    The first-order terms u / mean - 1 cancel in the sum over the rows (or over all
    entries if the mean is uniform); leaving them out keeps the digits if rows hardly
    differ.
    """
    ratio = rows / mean
    x = ratio - 1
    logs = np.where(ratio < 0.5, np.log(ratio), np.log1p(np.maximum(x, -0.5)))
    return (logs - x).mean(axis=0)


def _psi_excess(x: npt.ArrayLike) -> Any:
    """Digamma minus log, by its asymptotic series where the two nearly cancel."""
    x = np.asarray(x, dtype=float)
    inverse = 1 / x
    series = -inverse / 2 - inverse**2 / 12 + inverse**4 / 120
    return np.where(x > 1e3, series, psi(x) - np.log(x))


def _complements(values: FloatArray) -> FloatArray:
    """Sum of all values but one, for each, shape (K,), without cancellation."""
    before = np.concatenate([[0.0], np.cumsum(values)[:-1]])
    after = np.concatenate([np.cumsum(values[::-1])[-2::-1], [0.0]])
    return before + after


def _stick_pairs(
    alpha: FloatArray, n_pairs: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Draw by breaking sticks at beta quantiles of scrambled Sobol points."""
    breaks = len(alpha) - 1
    points = qmc.Sobol(2 * breaks, rng=rng).random(n_pairs)
    rows = []
    for uniform in (points[:, :breaks], points[:, breaks:]):
        left = np.ones(n_pairs)
        parts = []
        for k in range(breaks):
            share = betaincinv(alpha[k], alpha[k + 1 :].sum(), uniform[:, k])
            parts.append(left * share)
            left = left * (1 - share)
        rows.append(np.stack([*parts, left]))
    difference = rows[0] - rows[1]
    return np.abs(difference).sum(axis=0) / 2, (difference**2).sum(axis=0)


def _neighbour_pairs(
    alpha: FloatArray, n_pairs: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Pair each of some drawn rows with its next few, cyclically."""
    rows = draw_rows(alpha, n_pairs // NEIGHBOURS, rng)
    return _neighbour_distances(np.hstack([rows, rows[:, :NEIGHBOURS]]), NEIGHBOURS)


def draw_rows(alpha: FloatArray, n_rows: int, rng: np.random.Generator) -> FloatArray:
    """Draw rows of a Dirichlet distribution by their log gammas, as columns (K, n)."""
    size = (len(alpha), n_rows)
    shapes = alpha[:, np.newaxis]
    # Gamma(a) = Gamma(a + 1) U^(1/a), in logs: small parameters would underflow.
    logs = np.log(rng.standard_gamma(shapes + 1, size=size))
    logs -= rng.standard_exponential(size) / shapes
    rows = np.exp(logs - logs.max(axis=0))
    return rows / rows.sum(axis=0)


@kernel()
def _neighbour_distances(rows, n_neighbours):  # type: ignore[no-untyped-def]
    """Distances and squares (n_neighbours * m,) of rows (K, m + n_neighbours)."""
    n_clusters, n_rows = rows.shape[0], rows.shape[1] - n_neighbours
    distances = np.zeros((n_neighbours, n_rows))
    squares = np.zeros((n_neighbours, n_rows))
    for shift in range(1, n_neighbours + 1):
        distance, square = distances[shift - 1], squares[shift - 1]
        for k in range(n_clusters):
            for i in range(n_rows):
                difference = rows[k, i] - rows[k, i + shift]
                distance[i] += abs(difference) / 2
                square[i] += difference * difference
    return distances.ravel(), squares.ravel()
