"""Solutions of CNS on one neighbour graph: seeds in greedy order, Q and the criterion.

The estimator and the live graph both solve here. So a setting has the same solution in
both, and in every grid.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.options import Cancel, Progress
from clusterlens.compute._validation import FloatArray, IntArray, check_memory
from clusterlens.compute.estimators.cns._seeds import (
    Version,
    clarity,
    criterion,
    greedy_order,
)
from clusterlens.compute.estimators.cns._solvers import (
    Vectors,
    error_bound,
    has_small_factors,
    smooth_by_powers,
    smooth_seeds,
    solve_directly,
)
from clusterlens.compute.estimators.neighbors import Table, in_local_order

MEMORY_LIMIT = 8_000_000_000
# Up to so many samples a graph is factorised if the iteration leaves the order open.
_LARGEST_DECIDED = 4000
# Entries of Q are sums of hundreds of terms: equal ones differ by rounding below this.
_TIE = 1e-10


@dataclass(frozen=True, eq=False)
class Solution:
    """Seeds in greedy order, their Q (n, n_seeds) and the criterion for every K."""

    neighbors: Table
    alpha: float
    seeds: IntArray
    absorption: Vectors
    criterion: FloatArray
    solver: str
    n_products: int

    @property
    def n_neighbors(self) -> int:
        """Neighbourhood size k."""
        return self.neighbors.shape[1]

    def first(self, n_clusters: int) -> Solution:
        """Return the solution of the first seeds."""
        columns = self.absorption[:, :n_clusters].copy()
        return replace(self, seeds=self.seeds[:n_clusters], absorption=columns)


def solve_graph(
    points: FloatArray,
    neighbors: Table,
    order: npt.NDArray[np.int64],
    alphas: FloatArray,
    max_clusters: int,
    version: Version,
    *,
    solver: str = "auto",
    n_products: int = 50,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Iterator[Solution]:
    """Yield the solution of one neighbour graph (n, k) for each alpha.

    The arguments are those of `CNS`; `order` is the local order of the points.
    MemoryError if the solutions would need more than 8 GB.
    """
    n_samples = len(neighbors)
    seeds = version.candidates(points, neighbors, max_clusters)
    check_memory(
        8 * n_samples * len(seeds) * (2 * len(alphas) + 4),
        MEMORY_LIMIT,
        what=f"CNS with {len(seeds)} candidate seeds for {n_samples} samples",
        remedy="give one alpha or a smaller max_clusters.",
    )
    table, rank = in_local_order(neighbors, order)
    run = (table, rank[seeds], alphas)
    how: dict[str, Any] = {"progress": progress, "cancel": cancel}
    if solver == "powers":
        smoothing = smooth_by_powers(*run, n_products + 1, **how)
    elif has_small_factors(table):
        smoothing = solve_directly(*run, **how)
    else:
        smoothing = smooth_seeds(*run, **how)
    for at, alpha in enumerate(alphas.tolist()):
        mass = smoothing.absorption[rank, at]
        chosen, is_certain = _ordered(mass, max_clusters, smoothing.uncertainty[at])
        how_solved = smoothing.solver, smoothing.n_products
        if not is_certain and (n_samples <= _LARGEST_DECIDED or solver == "exact"):
            direct = solve_directly(table, rank[seeds], alphas[[at]], cancel=cancel)
            mass, how_solved = direct.absorption[rank, 0], (direct.solver, 0)
            chosen, _ = _ordered(mass, max_clusters)
        mass = mass[:, chosen]
        ideal = version.ideal_gain(n_samples, neighbors.shape[1], alpha)
        gains = criterion(clarity(mass), n_samples, ideal)
        yield Solution(neighbors, alpha, seeds[chosen], mass, gains, *how_solved)


def _ordered(
    mass: Vectors, n_seeds: int, uncertainty: float = 0.0
) -> tuple[IntArray, bool]:
    """Return the greedy order of the columns of Q, and whether it is certain."""
    masses, overlaps = mass.sum(axis=0), mass.T @ mass
    return greedy_order(masses, overlaps, n_seeds, uncertainty, len(mass))


def best_count(gains: FloatArray) -> int:
    """Return the number of clusters with the largest gain, the smallest on ties."""
    return int(np.argmax(np.where(np.isfinite(gains), gains, -1))) + 1


def memberships_of(absorption: Vectors) -> Vectors:
    """P = 1/K + Q - rowsum(Q)/K for Q of shape (n_samples, K); K = 1 gives ones."""
    missing = 1 - absorption.sum(axis=1, keepdims=True)
    return np.clip(absorption + missing / absorption.shape[1], 0, 1)


def seed_shares_of(absorption: Vectors) -> tuple[Vectors, Vectors]:
    """Share of seed stops (n, K) and of walks that stop at a seed (n,), of Q (n, K).

    Where no walk does, the shares are 1/K.
    """
    stops = absorption.sum(axis=1, keepdims=True)
    shares = np.full_like(absorption, 1 / absorption.shape[1])
    np.divide(absorption, stops, out=shares, where=stops > 0)
    return shares, np.minimum(stops[:, 0], 1)


def likeliest_seeds(absorption: Vectors) -> IntArray:
    """Return the position (n,) of the largest entry in each row of Q (n, K).

    The first on ties.
    """
    largest = absorption.max(axis=1, keepdims=True)
    return (absorption >= largest * (1 - _TIE)).argmax(axis=1)


def undecided_samples(absorption: Vectors) -> npt.NDArray[np.bool_]:
    """Flag the samples (n,) that reach none of several seeds, given Q (n, K)."""
    if absorption.shape[1] == 1:
        return np.zeros(len(absorption), dtype=bool)
    return np.logical_not(absorption.any(axis=1))


def tied_samples(absorption: Vectors) -> npt.NDArray[np.bool_]:
    """Flag the samples (n,) with two largest entries in Q (n, K), to rounding."""
    if absorption.shape[1] < 2:
        return np.zeros(len(absorption), dtype=bool)
    second, first = np.partition(absorption, (-2, -1), axis=1)[:, -2:].T
    return (second >= first * (1 - _TIE)) & (first > 0)


def solution_error(
    neighbors: Table, memberships: Vectors, seeds: IntArray, alpha: float
) -> float:
    """Bound the error of any of the memberships (n, K) that these seeds have."""
    start = np.full_like(memberships, 1 / len(seeds))
    start[seeds] = np.eye(len(seeds))
    return error_bound(neighbors, memberships, start, alpha)
