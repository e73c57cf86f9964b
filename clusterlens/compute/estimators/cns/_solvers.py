"""Absorption probabilities of a random walk on a neighbour graph, for CNS.

W is the (n, n) matrix with 1/k at the k neighbours of each row; it is never formed, the
(n, k) index table is all that is kept. A walk that stops with probability alpha at each
step is absorbed at the seeds with probabilities

    Q = alpha (I - (1 - alpha) W)^-1 E,     E[seed j, j] = 1,

an (n, m) matrix with entries in [0, 1] and row sums at most 1. Three solvers:

* `solve_directly`, for graphs with small factors: sparse LU without pivoting. It
  subtracts on the diagonal only, so every entry is right to rounding, however small,
  and ties and the smallest differences decide as they should.
* `smooth_seeds`, for the others: four plain steps W^t E, which remove the rough part of
  E, then the Chebyshev series of the resolvent on the rest. The vectors do not depend
  on alpha, so all alphas share them: one product of O(n k m) per term. It ends where
  the residual is rounding; where the series stops short of that, it is run again on the
  residual (iterative refinement).
* `smooth_by_powers`: the plain power series with its tail, as the reference code.

W is not symmetric, so the Chebyshev series is not guaranteed to converge; the residual
is checked, and powers, which always converge, take over for an alpha where it does not
fall.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.linalg import SuperLU, splu

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._run.options import (
    Cancel,
    Progress,
    raise_if_cancelled,
    report,
)
from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.estimators.neighbors import Table

N_PLAIN_STEPS = 4
# Terms below this share of the answer are not added up.
_NEGLIGIBLE = {np.dtype(np.float32): 1e-9, np.dtype(np.float64): 1e-17}
_CHECK_EVERY = 24
# The series is given up where its error bound grows by this factor.
_GROWTH = 10
# A residual is computed to this; below that share of the start it is worth refining.
_ROUNDING = 1e-15
_USEFUL = 1e-3
# Chebyshev terms at most, times the root of alpha: enough for all tolerances.
_MOST_TERMS = 40
# Samples that are always factorised, and of the part of larger graphs that is tried.
LARGEST_DIRECT = 2000
# Largest fill of small factors: their entries per entry of the graph.
_SMALL_FACTORS = 35

Vectors = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Smoothing:
    """Absorption probabilities for several alphas, and how they were found."""

    absorption: Vectors
    """Q for each alpha, shape (n_samples, n_alphas, n_seeds)."""
    n_products: int
    """Products with W that were made."""
    solver: str
    """"chebyshev", "powers" or "lu"."""
    uncertainty: FloatArray
    """What entries may differ by and yet be equal, shape (n_alphas,); 0 where each is
    right to rounding of itself."""


def smooth_seeds(
    table: Table,
    seeds: IntArray,
    alphas: FloatArray,
    *,
    n_products: int | None = None,
    tolerance: float = 0.0,
    dtype: npt.DTypeLike = np.float64,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Smoothing:
    """Solve for all seeds and alphas with shared products ("smooth, then accelerate").

    Of neighbours (n_samples, n_neighbors) with equal weights, absorbing `seeds` and
    stopping probabilities `alphas` in (0, 1): Q for each alpha. Entries that are zero
    by structure are exactly zero. By default each alpha takes the products with W
    that bring the rigorous bound on the error of an entry below `tolerance`, or to
    rounding, 1e-15 / alpha, whatever the others take; progress and cancel are called
    between them. Vectors are of `dtype`.

    With z = 1 / (1 - alpha), r = sqrt(z² - 1) and rho = z - r the resolvent is (I - W /
    z)^-1 = (z / r) [1 + 2 sum_t rho^t T_t(W)], t >= 1. The number of terms grows as
    alpha^(-1/2). O(n k m) time per product plus O(n m n_alphas); (2 + n_alphas) n m
    numbers of memory.
    """
    wanted = np.maximum(tolerance, _ROUNDING / alphas)
    run = _Series(table, _indicators(len(table), seeds, dtype), alphas)
    found = _accelerated(run, wanted, n_products, progress, cancel)
    np.maximum(found.absorption, 0, out=found.absorption)
    return found


def _accelerated(
    run: _Series,
    wanted: FloatArray,
    n_products: int | None,
    progress: Progress | None,
    cancel: Cancel | None,
) -> Smoothing:
    """Add up the series until the error bounds are as wanted, (n_alphas,)."""
    alphas = run.alphas
    # A residual as large as an entry can be, or a growing residual, is useless.
    size = float(np.abs(run.start).max())
    best = size / alphas
    goal = best.copy() if n_products else wanted
    last = np.ceil(_MOST_TERMS / np.sqrt(alphas)) if n_products is None else n_products
    last = np.broadcast_to(last, alphas.shape)
    running, bounds = np.ones(len(alphas), bool), best.copy()
    t = 0
    # Each alpha ends by itself, so that its solution is the same in any company.
    while running.any():
        raise_if_cancelled(cancel)
        t += 1
        run.advance(_hybrid_weights(t, alphas) * running, t > N_PLAIN_STEPS + 1)
        report(progress, t, int(last.max()))
        checked = (t == last) | (n_products is None and t % _CHECK_EVERY == 0)
        for a in np.flatnonzero(running & checked):
            bounds[a] = run.error_bound(int(a))
            running[a] = goal[a] < bounds[a] < _GROWTH * best[a] and t < last[a]
            best[a] = min(best[a], bounds[a])
    converged = True
    for a in np.flatnonzero(~(bounds <= goal)):
        more = _Series(run.table, run.start, alphas[[a]])
        if n_products is None and bounds[a] < _USEFUL * size:
            more = _Series(run.table, run.residual(int(a)), alphas[[a]])
            correction = _accelerated(more, wanted[[a]], None, None, cancel)
            run.sums[:, a] += correction.absorption[:, 0]
        else:
            n_powers = n_products or products_for(wanted[a] / size, alphas[a])
            correction = _add_powers(more, n_powers, None, cancel)
            run.sums[:, a] = correction.absorption[:, 0]
        t += correction.n_products
        converged &= correction.solver == "chebyshev"
    return Smoothing(run.sums, t, "chebyshev" if converged else "powers", wanted)


def smooth_by_powers(
    table: Table,
    seeds: IntArray,
    alphas: FloatArray,
    n_products: int,
    *,
    dtype: npt.DTypeLike = np.float64,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Smoothing:
    """Solve by n_products terms of the power series, the last one for the whole tail.

    Q = alpha sum_{t < N} (1-alpha)^t W^t E + (1-alpha)^N W^N E; the error of an entry
    is at most 2 (1-alpha)^N. Arguments and cost as in `smooth_seeds`.
    """
    run = _Series(table, _indicators(len(table), seeds, dtype), alphas)
    return _add_powers(run, n_products, progress, cancel)


def _add_powers(
    run: _Series, n_products: int, progress: Progress | None, cancel: Cancel | None
) -> Smoothing:
    """Add up terms of the power series and its tail."""
    alphas = run.alphas
    for t in range(1, n_products + 1):
        raise_if_cancelled(cancel)
        tail = t == n_products
        run.advance((1.0 if tail else alphas) * (1 - alphas) ** t, accelerated=False)
        report(progress, t, n_products)
    return Smoothing(run.sums, n_products, "powers", np.zeros(len(alphas)))


def iterate(
    table: Table, seeds: IntArray, alpha: float, counts: Sequence[int]
) -> Iterator[tuple[int, Vectors]]:
    """Yield Q after each of some ascending numbers of smoothing steps from Q = E.

    A step is Q <- alpha E + (1 - alpha) W Q. Yields (count, array of float64 of shape
    (n_samples, n_seeds)), exact to rounding.
    """
    start = _indicators(len(table), seeds, np.float64)
    run = _Series(table, start, np.array([alpha]))
    done = 0
    for count in counts:
        while done < count:
            done += 1
            run.advance(alpha * (1 - run.alphas) ** done, accelerated=False)
        # The sums hold one term of weight alpha too many, and lack the last vector.
        yield count, run.sums[:, 0] + (1 - alpha) ** (count + 1) * run.current


def solve_directly(
    table: Table,
    seeds: IntArray,
    alphas: FloatArray,
    *,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Smoothing:
    """Solve by one sparse LU factorisation for each alpha, in double precision.

    Entries are right to about 1e-13 of themselves, and zero where no walk leads. The
    fill of the factors grows fast with n and the dimension of the data, see
    `has_small_factors`. Progress and cancel are called between the alphas.
    """
    n_samples = len(table)
    absorption = np.empty((n_samples, len(alphas), len(seeds)))
    for a, alpha in enumerate(alphas.tolist()):
        raise_if_cancelled(cancel)
        right = alpha * _indicators(n_samples, seeds, np.float64)
        absorption[:, a] = _factors(table, alpha).solve(right)
        report(progress, a + 1, len(alphas))
    return Smoothing(absorption, 0, "lu", np.zeros(len(alphas)))


def has_small_factors(table: Table) -> bool:
    """Whether the graph (n, k), its samples in local order, is quickly factorised.

    True up to 2000 samples. Above, the fill of 2000 of them is measured, those in the
    middle of the order, and taken to grow with n: 0.5 s for 20,000 samples on a plane.
    """
    n_samples = len(table)
    if n_samples <= LARGEST_DIRECT:
        return True
    if n_samples > _SMALL_FACTORS * LARGEST_DIRECT:
        return False
    start = (n_samples - LARGEST_DIRECT) // 2
    part = table[start : start + LARGEST_DIRECT] - start
    own = np.arange(LARGEST_DIRECT, dtype=part.dtype)[:, None]
    part = np.where((part >= 0) & (part < LARGEST_DIRECT), part, own)
    fill = _factors(part, 0.1).nnz / part.size
    return bool(fill * n_samples / LARGEST_DIRECT <= _SMALL_FACTORS)


def _factors(table: Table, alpha: float) -> SuperLU:
    """Factorise I - (1 - alpha) W; its rows are dominant, so the diagonal is pivot."""
    n_samples, n_neighbors = table.shape
    starts = np.arange(n_samples + 1) * n_neighbors
    weights = np.full(table.size, 1 / n_neighbors)
    walk = csr_array((weights, table.ravel(), starts), shape=(n_samples, n_samples))
    return splu(
        csc_array(eye_array(n_samples) - (1 - alpha) * walk),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0,
        options={"SymmetricMode": True},
    )


def error_bound(table: Table, solution: Vectors, start: Vectors, alpha: float) -> float:
    """Bound the error of any entry of a solution of Q = alpha F + (1 - alpha) W Q.

    Q and F are `solution` and `start` (n_samples, m), W the neighbours (n_samples,
    n_neighbors) with equal weights. The largest residual over alpha: rigorous, because
    the inverse has row sums 1/alpha. On tables of 572 to 10,000 samples it was 1 to 113
    times the true error.
    """
    return float(_largest_residual(table, solution, start, alpha)) / alpha


def products_for(tolerance: float, alpha: float) -> int:
    """Return the terms of the power series that make its error at most tolerance."""
    return max(1, math.ceil(math.log(tolerance / 2) / math.log1p(-alpha)))


class _Series:
    """Running sums of weighted vectors V_0 = F, V_1, V_2, ...; one set per alpha.

    `start` is F (n_samples, m), usually E.
    """

    def __init__(self, table: Table, start: Vectors, alphas: FloatArray) -> None:
        self.table = table
        self.alphas = alphas
        self.start = start
        self.current = start.copy()
        self.previous = np.zeros_like(start)
        self.sums = start[:, None] * alphas.astype(start.dtype)[:, None]
        self.negligible = _NEGLIGIBLE[start.dtype]

    def advance(self, weights: FloatArray, accelerated: bool) -> None:
        """Make the next vector, W V or 2 W V - (the one before), and add it up."""
        used = np.flatnonzero(weights > self.negligible)
        factor, carry = (2, 1) if accelerated else (1, 0)
        kind = self.start.dtype.type
        _advance(
            self.table,
            self.current,
            self.previous,
            kind(factor / self.table.shape[1]),
            kind(carry),
            used,
            weights[used].astype(kind),
            self.sums,
        )
        self.current, self.previous = self.previous, self.current

    def error_bound(self, a: int) -> float:
        """Bound the error of the sums for alpha number a."""
        alpha = float(self.alphas[a])
        sums = np.ascontiguousarray(self.sums[:, a])
        return error_bound(self.table, sums, self.start, alpha)

    def residual(self, a: int) -> Vectors:
        """Return the start (n_samples, m) of the correction for alpha number a."""
        alpha = float(self.alphas[a])
        sums = self.sums[:, a]
        smoothed = np.zeros_like(sums)
        for neighbor in self.table.T:
            smoothed += sums[neighbor]
        smoothed *= (1 - alpha) / self.table.shape[1]
        return self.start + (smoothed - sums) / alpha


def _indicators(n_samples: int, seeds: IntArray, dtype: npt.DTypeLike) -> Vectors:
    """E: shape (n_samples, n_seeds), one column per seed."""
    indicators = np.zeros((n_samples, len(seeds)), dtype=dtype)
    indicators[seeds, np.arange(len(seeds))] = 1
    return indicators


def _hybrid_weights(t: int, alphas: FloatArray) -> FloatArray:
    """Weights of vector t, shape (n_alphas,): plain steps, then Chebyshev terms."""
    if t < N_PLAIN_STEPS:
        return alphas * (1 - alphas) ** t
    z = 1 / (1 - alphas)
    root = np.sqrt(z * z - 1)
    term = t - N_PLAIN_STEPS
    first = alphas * (1 - alphas) ** N_PLAIN_STEPS * z / root
    return first * (1 if term == 0 else 2) * (z - root) ** term


@kernel(fast_sums=True)
def _advance(
    table: Any,
    current: Any,
    previous: Any,
    factor: Any,
    carry: Any,
    used: Any,
    weights: Any,
    sums: Any,
) -> None:
    """Overwrite previous by factor * (sum over neighbours) - carry * previous."""
    n_samples, n_neighbors = table.shape
    n_seeds = current.shape[1]
    total = np.empty(n_seeds, current.dtype)
    for i in range(n_samples):
        total[:] = 0
        for j in range(n_neighbors):
            row = current[table[i, j]]
            for c in range(n_seeds):
                total[c] += row[c]
        own = previous[i]
        for c in range(n_seeds):
            own[c] = factor * total[c] - carry * own[c]
        for u in range(len(used)):
            target = sums[i, used[u]]
            for c in range(n_seeds):
                target[c] += weights[u] * own[c]


@kernel()
def _largest_residual(table: Any, solution: Any, start: Any, alpha: Any) -> float:
    """Largest |alpha F - Q + (1 - alpha) W Q| of any entry, in double precision."""
    n_samples, n_neighbors = table.shape
    n_seeds = solution.shape[1]
    total = np.empty(n_seeds)
    largest = 0.0
    for i in range(n_samples):
        total[:] = 0
        for j in range(n_neighbors):
            other = table[i, j]
            for c in range(n_seeds):
                total[c] += solution[other, c]
        for c in range(n_seeds):
            smoothed = (1 - alpha) * total[c] / n_neighbors
            residual = abs(alpha * start[i, c] - solution[i, c] + smoothed)
            if not residual < np.inf:  # also NaN, of a series that diverged
                return np.inf
            largest = max(largest, residual)
    return largest
