"""Results of `CNSGraph`: the solution of a setting, and the steps that lead to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from clusterlens.compute._validation import FloatArray, Frozen, IntArray, read_only
from clusterlens.compute.estimators.cns._solution import (
    likeliest_seeds,
    memberships_of,
    seed_shares_of,
    solution_error,
    tied_samples,
    undecided_samples,
)
from clusterlens.compute.estimators.cns._solvers import Vectors
from clusterlens.compute.estimators.neighbors import Table


@dataclass(frozen=True, eq=False)
class LiveSolution(Frozen):
    """Memberships for one choice of neighbourhood, alpha and number of clusters.

    Parameters
    ----------
    seeds : array of int, shape (n_clusters,)
        Indices of the seeds in greedy order.
    criterion : array of float64, shape (n_candidates,)
        Gain in clarity for K = 1, 2, ... at this neighbourhood and alpha; higher is
        better.
    n_neighbors, alpha : int, float
        The values asked for.
    preview : bool
        Whether this is a short run or an interpolation: its seeds and labels may differ
        from those of `CNS`.
    solver : str
        "lu", "chebyshev" or "powers", as in `CNS`.
    n_products : int
        Products with the neighbour graph behind the solution.
    absorption : array of float, shape (n_samples, n_clusters)
        Probability that a walk from the sample stops at the seed.

    Attributes
    ----------
    memberships : array of float, shape (n_samples, n_clusters)
        Probabilities; rows sum to 1. Single precision in a preview, as all shares.
    labels : array of int, shape (n_samples,)
        Position in `seeds` of the largest membership, the first on ties.
    undecided : array of bool, shape (n_samples,)
        Samples that reach no seed: all memberships are 1/K and the label is 0.
    tied : array of bool, shape (n_samples,)
        Samples with several likeliest seeds, to rounding.
    seed_shares : array of float, shape (n_samples, n_clusters)
        Share of seed stops: a walk that starts at the sample and stops at a seed stops
        at this one with this probability. Rows sum to 1; 1/K where no seed is reached.
    stop_share : array of float, shape (n_samples,)
        Share of the walks from the sample that stop at a seed at all, in [0, 1];
        usually a few percent, so that memberships lie near 1/K.
    certainty : array of float, shape (n_samples,)
        Share of seed stops at the likeliest seed, in [1/K, 1].
    error_bound : float
        Proven bound on the error of any membership for these seeds; the first access
        costs one product.
    """

    seeds: IntArray
    criterion: FloatArray
    n_neighbors: int
    alpha: float
    preview: bool
    solver: str
    n_products: int
    _table: Table = field(repr=False)
    absorption: Vectors = field(repr=False)

    @property
    def n_clusters(self) -> int:
        """Number of seeds K."""
        return len(self.seeds)

    @cached_property
    def memberships(self) -> Vectors:
        """Memberships, shape (n_samples, n_clusters)."""
        return read_only(memberships_of(self.absorption))

    @cached_property
    def labels(self) -> IntArray:
        """Position of the likeliest seed, shape (n_samples,)."""
        return read_only(likeliest_seeds(self.absorption))

    @cached_property
    def undecided(self) -> npt.NDArray[np.bool_]:
        """Whether a sample reaches no seed, shape (n_samples,)."""
        return read_only(undecided_samples(self.absorption))

    @cached_property
    def tied(self) -> npt.NDArray[np.bool_]:
        """Whether several seeds are the likeliest, shape (n_samples,)."""
        return read_only(tied_samples(self.absorption))

    @cached_property
    def n_occupied(self) -> int:
        """Number of seeds that own a sample."""
        return len(np.unique(self.labels))

    @cached_property
    def _shares(self) -> tuple[Vectors, Vectors]:
        """Share of seed stops, and of walks that stop at a seed."""
        shares, stops = seed_shares_of(self.absorption)
        return read_only(shares), read_only(stops)

    @property
    def seed_shares(self) -> Vectors:
        """Share of seed stops at each seed, shape (n_samples, n_clusters)."""
        return self._shares[0]

    @property
    def stop_share(self) -> Vectors:
        """Share of the walks that stop at a seed at all, shape (n_samples,)."""
        return self._shares[1]

    @cached_property
    def certainty(self) -> Vectors:
        """Share of seed stops at the likeliest seed, shape (n_samples,)."""
        return read_only(self.seed_shares.max(axis=1))

    @cached_property
    def error_bound(self) -> float:
        """Bound on the error of any membership."""
        return solution_error(self._table, self.memberships, self.seeds, self.alpha)


@dataclass(frozen=True, eq=False)
class SmoothingStep(Frozen):
    """Memberships after some steps of the smoothing, or at its fixed point.

    Attributes
    ----------
    iterations : int or None
        Number of steps row <- alpha start + (1 - alpha) mean of its neighbours; None
        for the fixed point.
    memberships : array of float64, shape (n_samples, n_clusters)
        Probabilities; rows sum to 1.
    seed_shares : array of float64, shape (n_samples, n_clusters)
        Share of the seed stops so far; 1/K where there are none.
    labels : array of int64, shape (n_samples,)
        Position in `seeds` of the largest membership, the first on ties.
    undecided : array of bool, shape (n_samples,)
        Samples that no seed has reached: all memberships are 1/K.
    settled : float
        Share of the samples that are decided as at the fixed point.
    seeds : array of int, shape (n_clusters,)
        Indices of the seeds.
    """

    iterations: int | None
    memberships: Vectors
    seed_shares: Vectors
    labels: IntArray
    undecided: npt.NDArray[np.bool_]
    settled: float
    seeds: IntArray


def smoothing_step(
    count: int | None, absorption: Vectors, fixed: Vectors, seeds: IntArray
) -> SmoothingStep:
    """Return the state with Q (n, K), compared with the fixed point."""
    labels, undecided = likeliest_seeds(absorption), undecided_samples(absorption)
    as_fixed = (labels == likeliest_seeds(fixed)) & (
        undecided == undecided_samples(fixed)
    )
    return SmoothingStep(
        count,
        memberships_of(absorption),
        seed_shares_of(absorption)[0],
        labels,
        undecided,
        float(as_fixed.mean()),
        seeds,
    )
