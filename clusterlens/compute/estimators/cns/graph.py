"""CNSGraph: CNS on one table, with live changes of alpha, neighbours and K.

The neighbour table is searched once. `solve` is the solver of `CNS` on it: the same
seeds, labels and criterion, one solution for every number of clusters. `preview` is for
a slider that moves: it answers within milliseconds, single precision, and may choose
other seeds where overlaps are small (`_previews`).

Memory: n k integers of 4 bytes for the table, 8 bytes for each sample and candidate
seed of a solution that is kept, and per cache of previews 32 bytes for each sample and
candidate seed, 512 for each two candidates: 17 MB at n = 10,000 with 50 candidates, 161
MB at 100,000.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from threading import Lock
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions, stretches
from clusterlens.compute._validation import (
    FloatArray,
    check_choice,
    check_features,
    check_memory,
    check_range,
    is_auto,
)
from clusterlens.compute.estimators._input import to_metric
from clusterlens.compute.estimators.cns._previews import Previews
from clusterlens.compute.estimators.cns._seeds import VERSIONS
from clusterlens.compute.estimators.cns._solution import (
    Solution,
    best_count,
    solve_graph,
)
from clusterlens.compute.estimators.cns._solvers import iterate
from clusterlens.compute.estimators.cns.cns import Metric
from clusterlens.compute.estimators.cns.criterion import CriterionGrid
from clusterlens.compute.estimators.cns.live import (
    LiveSolution,
    SmoothingStep,
    smoothing_step,
)
from clusterlens.compute.estimators.neighbors import (
    approximate_neighbor_table,
    in_local_order,
    local_order,
    neighbor_table,
    with_self_first,
)

LARGEST_EXACT = 100_000
# With more samples than that, up to so many features.
_EXACT_FEATURES = 8
MEMORY_LIMIT = 8_000_000_000
_N_ALPHAS = 24
# Up to so many samples the exact solution is as quick as a preview.
_QUICK = 1000


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
        self._previews = Previews(
            self._points,
            self._table,
            self._order,
            self.max_clusters,
            max_caches,
            self.alpha_range,
        )
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
        """Cached neighbourhood sizes, the most recently used last."""
        return self._previews.sizes

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
            absorption=found.first(count).absorption,
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
        found = self._previews.ordered(
            n_neighbors, alpha, 1 if is_auto(n_clusters) else int(n_clusters)
        )
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
            absorption=absorption,
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
        if n_neighbors not in self.cached_neighbors:
            self._previews.fill(n_neighbors, progress, cancel)
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
        seeds, fixed = solution.seeds, solution.absorption
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
            steps.append(smoothing_step(count, absorption[rank], fixed, seeds))
            run.report(len(steps), len(counts) + 1)
        run.report(len(counts) + 1, len(counts) + 1)
        return (*steps, smoothing_step(None, fixed, fixed, seeds))

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


def _count(n_clusters: int | Literal["auto"], gains: FloatArray) -> int:
    """Return the requested number of clusters, at most the number of candidates."""
    if is_auto(n_clusters):
        return best_count(gains)
    return min(int(n_clusters), len(gains))


def _prefers_approximate(X: FloatArray) -> bool:
    """Whether the exact search would be slow and NN-descent is installed."""
    slow = len(X) > LARGEST_EXACT and X.shape[1] > _EXACT_FEATURES
    return slow and find_spec("pynndescent") is not None
