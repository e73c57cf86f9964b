"""CNSGraph: CNS on one table whose alpha, neighbours and K may be changed live.

The neighbour table is searched once. `solve` is the solver of `CNS` on it: the same
seeds, labels and criterion, one solution for every number of clusters. `preview` is for
a slider that moves: it answers within milliseconds, single precision, and may choose
other seeds where overlaps are small. For one neighbourhood size k, the solutions at 8
values of alpha (a *cache*, all from one run of shared products, see `fill`) give a
preview of every alpha between by interpolation; without a cache it is a short run.

Memory: n k integers of 4 bytes for the table, 8 bytes for each sample and candidate
seed of a solution that is kept, and per cache 32 bytes for each sample and candidate
seed, 512 for each two candidates: 17 MB at n = 10,000 with 50 candidates, 161 MB at
100,000.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from threading import Lock
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions, stretches
from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    IntArray,
    check_choice,
    check_features,
    check_memory,
    check_range,
    is_auto,
    read_only,
)
from clusterlens.compute.estimators.cns._nodes import (
    Nodes,
    Ordered,
    interpolate,
    nodes_between,
    solve_nodes,
)
from clusterlens.compute.estimators.cns._seeds import VERSIONS, farthest_first
from clusterlens.compute.estimators.cns._solution import (
    Solution,
    best_count,
    likeliest_seeds,
    memberships_of,
    seed_shares_of,
    solution_error,
    solve_graph,
    tied_samples,
    undecided_samples,
)
from clusterlens.compute.estimators.cns._solvers import Vectors, iterate
from clusterlens.compute.estimators.cns.cns import Metric, to_metric
from clusterlens.compute.estimators.cns.criterion import CriterionGrid
from clusterlens.compute.estimators.neighbors import (
    Table,
    approximate_neighbor_table,
    in_local_order,
    local_order,
    neighbor_table,
    with_self_first,
)

N_NODES = 8
N_PRODUCTS = 64
LARGEST_EXACT = 100_000
# With more samples than that, up to so many features.
_EXACT_FEATURES = 8
MEMORY_LIMIT = 8_000_000_000
_N_ALPHAS = 24
# Up to so many samples the exact solution is as quick as a preview.
_QUICK = 1000
# Products and candidates of a preview: below and above this number of samples.
_LARGE = 20_000
_PREVIEW = (25, None)
_LARGE_PREVIEW = (15, 20)


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
    _absorption: Vectors = field(repr=False)

    @property
    def n_clusters(self) -> int:
        """Number of seeds K."""
        return len(self.seeds)

    @cached_property
    def memberships(self) -> Vectors:
        """Memberships, shape (n_samples, n_clusters)."""
        return read_only(memberships_of(self._absorption))

    @cached_property
    def labels(self) -> IntArray:
        """Position of the likeliest seed, shape (n_samples,)."""
        return read_only(likeliest_seeds(self._absorption))

    @cached_property
    def undecided(self) -> npt.NDArray[np.bool_]:
        """Whether a sample reaches no seed, shape (n_samples,)."""
        return read_only(undecided_samples(self._absorption))

    @cached_property
    def tied(self) -> npt.NDArray[np.bool_]:
        """Whether several seeds are the likeliest, shape (n_samples,)."""
        return read_only(tied_samples(self._absorption))

    @cached_property
    def n_occupied(self) -> int:
        """Number of seeds that own a sample."""
        return len(np.unique(self.labels))

    @cached_property
    def _shares(self) -> tuple[Vectors, Vectors]:
        """Share of seed stops, and of walks that stop at a seed."""
        shares, stops = seed_shares_of(self._absorption)
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


class CNSGraph:
    """Neighbour graph of one table that answers any (k, alpha, K) quickly.

    Parameters
    ----------
    X : array-like of float, shape (n_samples, n_features)
        At least two samples; used as given, like in `CNS`.
    max_neighbors : int
        Largest neighbourhood size on offer, 1 to n_samples - 1.
    metric : {"euclidean", "cosine"}, default "euclidean"
        As in `CNS`.
    max_clusters : int, default 50
        Largest number of clusters on offer; at most n_samples are used.
    neighbors : {"auto", "exact", "approximate"}, default "auto"
        "auto" takes NN-descent (extra `large`) above 100,000 samples with more than 8
        features where it is installed, and the exact search otherwise.
    max_caches : int, default 4
        How many caches, and how many solutions, are kept; the one longest unused goes
        first.
    progress, cancel : callable, optional
        Called while the neighbour table is searched: progress(rows done, n_samples).
        NN-descent cannot be stopped in between.

    Attributes
    ----------
    approximate : bool
        Whether the neighbours are from NN-descent.
    alpha_range : tuple of float
        Smallest and largest alpha that a cache answers: 0.5 to 10 over sqrt(n), and at
        most 0.9 or the largest of the default grid.
    default_neighbors : tuple of int
        Neighbourhood sizes of the default grid on offer, the most useful first.
    default_alphas : tuple of float
        Stopping probabilities of the default grid on offer, ascending.

    Notes
    -----
    Follows version "revised" of the method. With exact neighbours, `solve(k, alpha, K)`
    has the seeds, labels and criterion of `CNS(K, n_neighbors=k, alpha=alpha)`.
    All methods may be called from several threads.

    References
    ----------
    Hofmeyr (2025), Clustering by non-parametric smoothing, arXiv:2503.09134.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(m, 0.3, (40, 2)) for m in (0, 3)])
    >>> live = CNSGraph(X, max_neighbors=20)
    >>> solution = live.solve(10, 0.2, 2)
    >>> solution.preview, np.bincount(solution.labels).tolist()
    (False, [40, 40])
    """

    @takes_running
    def __init__(
        self,
        X: npt.ArrayLike,
        max_neighbors: int,
        metric: Metric = "euclidean",
        *,
        max_clusters: int = 50,
        neighbors: Literal["auto", "exact", "approximate"] = "auto",
        max_caches: int = 4,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
    ) -> None:
        run = RunOptions(progress=progress, cancel=cancel)
        data = check_features(X)
        check_range(len(data), 2, math.inf, name="the number of rows of X")
        check_range(max_neighbors, 1, len(data) - 1, name="max_neighbors", integer=True)
        check_range(max_clusters, 1, math.inf, name="max_clusters", integer=True)
        check_range(max_caches, 1, math.inf, name="max_caches", integer=True)
        check_choice(metric, ("euclidean", "cosine"), name="metric")
        check_choice(neighbors, ("auto", "exact", "approximate"), name="neighbors")
        self.n_samples, self.max_neighbors = len(data), max_neighbors
        self.max_clusters = min(max_clusters, len(data))
        self.max_caches = max_caches
        self._points = to_metric(data, metric, data.mean(axis=0))
        self.approximate = neighbors == "approximate" or (
            neighbors == "auto" and _prefers_approximate(data)
        )
        run.raise_if_cancelled()
        if self.approximate:
            self._table = approximate_neighbor_table(self._points, max_neighbors)
            run.report(len(data), len(data))
        else:
            self._table = neighbor_table(
                self._points, max_neighbors, progress=progress, cancel=cancel
            )[0]
        run.raise_if_cancelled()
        self._order = local_order(self._points)
        root = math.sqrt(self.n_samples)
        alphas = self.default_alphas
        self.alpha_range = (min(0.5 / root, 0.4), max(min(10 / root, 0.9), *alphas))
        self._caches: OrderedDict[int, Nodes] = OrderedDict()
        # What the latest preview was made for: neighbours, alpha, most candidates.
        self._preview: tuple[tuple[int, float, int], Nodes | None] = (0, 0.0, 0), None
        self._last: Ordered | None = None
        self._solved: OrderedDict[tuple[int, float], Solution] = OrderedDict()
        self._gains: dict[tuple[int, float], FloatArray] = {}
        self._lock = Lock()

    @property
    def default_neighbors(self) -> tuple[int, ...]:
        """Sizes of the default grid on offer, the most useful first."""
        one, two, three, four = VERSIONS["revised"].neighbors_grid(self.n_samples)
        order = (two, three, four, one)
        return tuple(k for k in order if k <= self.max_neighbors)

    @property
    def default_alphas(self) -> tuple[float, ...]:
        """Stopping probabilities of the default grid, ascending."""
        return tuple(VERSIONS["revised"].alpha_grid(self.n_samples))

    @property
    def cached_neighbors(self) -> tuple[int, ...]:
        """Neighbourhood sizes whose cache is there, the latest used last."""
        with self._lock:
            return tuple(self._caches)

    @takes_running
    def solve(
        self,
        n_neighbors: int,
        alpha: float,
        n_clusters: int | Literal["auto"] = "auto",
        *,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
    ) -> LiveSolution:
        """Return the solution of one setting, as `CNS` finds it.

        Parameters
        ----------
        n_neighbors : int
            Neighbourhood size k, the sample itself included, 1 to `max_neighbors`.
        alpha : float
            Stopping probability in (0, 1).
        n_clusters : int or "auto", default "auto"
            Number of seeds K; "auto" takes the largest gain at this k and alpha. Fewer
            are returned where there are fewer distinct candidates.
        progress, cancel : callable, optional
            Called between the products; a factorisation is not interrupted.

        Returns
        -------
        solution : LiveSolution
            Memberships, labels and the criterion for every K.

        Raises
        ------
        MemoryError
            If the solution would need more than 8 GB.

        Notes
        -----
        O(n K) where only K differs from a solution that is kept.
        """
        self._check(n_neighbors, alpha, n_clusters)
        with self._lock:
            found = self._solved.get((n_neighbors, alpha))
        if found is None:
            (found,) = self._solve(
                n_neighbors, np.array([alpha]), progress=progress, cancel=cancel
            )
        with self._lock:
            self._solved[n_neighbors, alpha] = found
            self._solved.move_to_end((n_neighbors, alpha))
            while len(self._solved) > self.max_caches:
                self._solved.popitem(last=False)
        count = _count(n_clusters, found.criterion)
        return LiveSolution(
            found.seeds[:count],
            found.criterion,
            n_neighbors,
            alpha,
            preview=False,
            solver=found.solver,
            n_products=found.n_products,
            _table=found.neighbors,
            _absorption=found.first(count).absorption,
        )

    def preview(
        self,
        n_neighbors: int,
        alpha: float,
        n_clusters: int | Literal["auto"] = "auto",
    ) -> LiveSolution:
        """Return an approximate solution of one setting at once.

        Parameters
        ----------
        n_neighbors, alpha, n_clusters
            As in `solve`.

        Returns
        -------
        solution : LiveSolution
            That of `solve` up to 1,000 samples, or where it is kept. Else its `preview`
            is True: seeds and labels may differ.

        Notes
        -----
        O(8 n m) for m candidates from a cache, which interpolates Q to about 1e-4;
        O(25 n k m) without one, or for an alpha outside `alpha_range`. Above 20,000
        samples a short run has 15 products and 20 candidates, or `n_clusters` where
        that is more.
        """
        self._check(n_neighbors, alpha, n_clusters)
        if self.n_samples <= _QUICK or (n_neighbors, alpha) in self._solved:
            return self.solve(n_neighbors, alpha, n_clusters)
        found = self._ordered(n_neighbors, alpha, n_clusters)
        count = _count(n_clusters, found.criterion)
        absorption = np.empty((self.n_samples, count), found.absorption.dtype)
        absorption[self._order] = found.absorption[:, :count]
        return LiveSolution(
            found.seeds[:count],
            found.criterion,
            n_neighbors,
            alpha,
            preview=True,
            solver="chebyshev",
            n_products=found.nodes.n_products,
            _table=found.nodes.table,
            _absorption=absorption,
        )

    @takes_running
    def fill(
        self,
        n_neighbors: int,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
    ) -> Self:
        """Make the cache for previews at one neighbourhood size, unless it is there.

        Parameters
        ----------
        n_neighbors : int
            Neighbourhood size k, 1 to `max_neighbors`.
        progress, cancel : callable, optional
            Called between the products.

        Returns
        -------
        self : CNSGraph
            The graph, with the cache.

        Raises
        ------
        MemoryError
            If the cache would need more than 8 GB.
        Cancelled
            If `cancel` returned true; no cache is kept then.

        Notes
        -----
        64 products: O(64 n (k + 8) m) time, 8 n m numbers of 4 bytes for m candidates
        and 64 m² of 8, for a moment of 12.
        """
        check_range(
            n_neighbors, 1, self.max_neighbors, name="n_neighbors", integer=True
        )
        if n_neighbors in self.cached_neighbors:
            return self
        alphas = nodes_between(*self.alpha_range, N_NODES)
        nodes = self._solve_nodes(
            n_neighbors, alphas, N_PRODUCTS, self.max_clusters, progress, cancel
        )
        with self._lock:
            self._caches[n_neighbors] = nodes
            while len(self._caches) > self.max_caches:
                self._caches.popitem(last=False)
        return self

    @takes_running
    def criterion_grid(
        self,
        n_neighbors: npt.ArrayLike | None = None,
        alphas: npt.ArrayLike | None = None,
        *,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
    ) -> CriterionGrid:
        """Return the criterion over neighbourhoods, alphas and numbers of clusters.

        Parameters
        ----------
        n_neighbors : array-like of int, optional
            Neighbourhood sizes, 1 to `max_neighbors`. Default: `default_neighbors`.
        alphas : array-like of float, optional
            Stopping probabilities within `alpha_range`. Default: 24 of them, evenly
            spaced in the logarithm.
        progress, cancel : callable, optional
            Called as in `solve`.

        Returns
        -------
        grid : CriterionGrid
            The criterion of `solve` at each setting.

        Notes
        -----
        Each setting is solved once; its criterion is kept. The alphas of one size share
        their products.
        """
        run = RunOptions(progress=progress, cancel=cancel)
        given = self.default_neighbors if n_neighbors is None else n_neighbors
        sizes = np.unique(np.asarray(given, dtype=np.int64))
        for size in sizes.tolist():
            check_range(size, 1, self.max_neighbors, name="n_neighbors", integer=True)
        low, high = self.alpha_range
        if alphas is None:
            alphas = np.geomspace(low, high, _N_ALPHAS).clip(low, high)
        chosen = np.unique(np.asarray(alphas, dtype=np.float64))
        for alpha in chosen.tolist():
            check_range(alpha, low, high, name="alphas")
        values = np.full((self.max_clusters, len(sizes), len(chosen)), np.nan)
        ends = (np.arange(1, len(sizes)) / max(len(sizes), 1)).tolist()
        for at, part in enumerate(stretches(run, 100, ends)[: len(sizes)]):
            size = int(sizes[at])
            new = [a for a in chosen.tolist() if (size, a) not in self._gains]
            if new:
                for found in self._solve(size, np.array(new), **part.steps):
                    self._gains[size, found.alpha] = found.criterion
            part.report(1, 1)
            for place, alpha in enumerate(chosen.tolist()):
                gains = self._gains[size, alpha]
                values[: len(gains), at, place] = gains
        return CriterionGrid(values, sizes, chosen)

    @takes_running
    def smoothing_steps(
        self,
        n_neighbors: int,
        alpha: float,
        n_clusters: int | Literal["auto"] = "auto",
        iterations: Sequence[int] = (0, 1, 2, 5, 10, 50),
        *,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
    ) -> tuple[SmoothingStep, ...]:
        """Return the memberships on the way from the seeds to the fixed point.

        Parameters
        ----------
        n_neighbors, alpha, n_clusters
            As in `solve`, which also gives the seeds.
        iterations : sequence of int, default (0, 1, 2, 5, 10, 50)
            Numbers of steps to stop at; 0 is the start, where every seed
            belongs to its own cluster and all others to each alike.
        progress, cancel : callable, optional
            Called after each entry: progress(states done, states in all).

        Returns
        -------
        steps : tuple of SmoothingStep
            One per distinct entry of `iterations`, exact to rounding, and at the end
            the fixed point, the solution of `solve`.

        Notes
        -----
        O(n k K) time per step beside the solution; O(n K) memory per state.
        """
        run = RunOptions(progress=progress, cancel=cancel)
        counts = sorted(set(iterations))
        for count in counts:
            check_range(count, 0, 10**6, name="iterations", integer=True)
        solution = self.solve(n_neighbors, alpha, n_clusters, cancel=cancel)
        seeds, fixed = solution.seeds, solution._absorption
        check_memory(
            16 * self.n_samples * len(seeds) * (len(counts) + 4),
            MEMORY_LIMIT,
            what=f"{len(counts)} states of {self.n_samples} samples",
            remedy="give fewer iterations or clusters.",
        )
        table, rank = in_local_order(solution._table, self._order)
        steps = []
        for count, absorption in iterate(table, rank[seeds], alpha, counts):
            run.raise_if_cancelled()
            steps.append(_step(count, absorption[rank], fixed, seeds))
            run.report(len(steps), len(counts) + 1)
        run.report(len(counts) + 1, len(counts) + 1)
        return (*steps, _step(None, fixed, fixed, seeds))

    def _check(
        self, n_neighbors: int, alpha: float, n_clusters: int | Literal["auto"]
    ) -> None:
        """Check a setting."""
        check_range(
            n_neighbors, 1, self.max_neighbors, name="n_neighbors", integer=True
        )
        check_range(alpha, 1e-6, 1 - 1e-6, name="alpha")
        if not is_auto(n_clusters):
            check_range(
                n_clusters, 1, self.max_clusters, name="n_clusters", integer=True
            )

    def _solve(
        self,
        n_neighbors: int,
        alphas: FloatArray,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
    ) -> Iterator[Solution]:
        """Solve at some alphas as `CNS` does."""
        return solve_graph(
            self._points,
            with_self_first(self._table, n_neighbors),
            self._order,
            alphas,
            self.max_clusters,
            VERSIONS["revised"],
            progress=progress,
            cancel=cancel,
        )

    def _ordered(
        self, n_neighbors: int, alpha: float, n_clusters: int | Literal["auto"]
    ) -> Ordered:
        """Q in greedy order at one setting, from the last call where that fits."""
        nodes = self._nodes_for(n_neighbors, alpha, n_clusters)
        last = self._last
        if last is None or last.nodes is not nodes or last.alpha != alpha:
            last = interpolate(nodes, alpha)
            self._last = last
        return last

    def _nodes_for(
        self, n_neighbors: int, alpha: float, n_clusters: int | Literal["auto"]
    ) -> Nodes:
        """Return the cache of k where it answers alpha, else a preview."""
        low, high = self.alpha_range
        with self._lock:
            if n_neighbors in self._caches and low <= alpha <= high:
                self._caches.move_to_end(n_neighbors)
                return self._caches[n_neighbors]
        products, few = _PREVIEW if self.n_samples <= _LARGE else _LARGE_PREVIEW
        wanted = 1 if n_clusters == "auto" else n_clusters
        most = min(self.max_clusters, max(few or self.max_clusters, wanted))
        key, kept = self._preview
        if kept is None or key[:2] != (n_neighbors, alpha) or key[2] < most:
            kept = self._solve_nodes(n_neighbors, np.array([alpha]), products, most)
            self._preview = (n_neighbors, alpha, most), kept
        return kept

    def _solve_nodes(
        self,
        n_neighbors: int,
        alphas: FloatArray,
        n_products: int,
        max_clusters: int,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
    ) -> Nodes:
        """Run the shared products for one graph and several alphas."""
        n_columns = len(alphas) * max_clusters
        vectors = 4 * self.n_samples * (n_columns + 3 * max_clusters)
        overlaps = 12 * n_columns**2  # in single precision, and then in double
        check_memory(
            vectors + overlaps,
            MEMORY_LIMIT,
            what=f"A cache for {self.n_samples} samples and {max_clusters} seeds",
            remedy="give a smaller max_clusters.",
        )
        table = with_self_first(self._table, n_neighbors)
        seeds = farthest_first(self._points, table, max_clusters)
        return solve_nodes(
            table,
            self._order,
            seeds,
            alphas,
            n_products,
            progress=progress,
            cancel=cancel,
        )


def _step(
    count: int | None, absorption: Vectors, fixed: Vectors, seeds: IntArray
) -> SmoothingStep:
    """State with Q (n, K) beside that of the fixed point."""
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


def _count(n_clusters: int | Literal["auto"], gains: FloatArray) -> int:
    """Return the requested number of clusters, at most that of the candidates."""
    if is_auto(n_clusters):
        return best_count(gains)
    return min(int(n_clusters), len(gains))


def _prefers_approximate(X: FloatArray) -> bool:
    """Whether the exact search would be slow and NN-descent is installed."""
    slow = len(X) > LARGEST_EXACT and X.shape[1] > _EXACT_FEATURES
    return slow and find_spec("pynndescent") is not None
