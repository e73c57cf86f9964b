"""CNSGraph: CNS on one table whose alpha, neighbours and K may be changed live.

The neighbour table is searched once. For one neighbourhood size k, the solutions at 8
values of alpha (a *cache*, all from one run of shared products) give every alpha
between by interpolation, and one solution gives every number of clusters. So a move of
alpha is one pass over the cache, a move of K one pass over the solution, and neither
solves anything. A k without a cache is answered by a *preview*, a short run at one
alpha, until `fill` has made its cache; the caller runs `fill` in the background.

Memory: n k integers of 4 bytes for the table, and per cache 32 bytes for each sample
and candidate seed: 16 MB at n = 10,000 with 50 candidates, 160 MB at 100,000.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from threading import Lock
from typing import Literal

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.options import Cancel, Progress
from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    check_choice,
    check_features,
    check_memory,
    check_range,
    read_only,
)
from clusterlens.compute.estimators._neighbors import (
    TREE_DIMENSIONS,
    Table,
    approximate_neighbor_table,
    local_order,
    neighbor_table,
    with_self_first,
)
from clusterlens.compute.estimators.cns._nodes import (
    Float32Array,
    Nodes,
    Ordered,
    first_memberships,
    interpolate,
    nodes_between,
    solve_nodes,
)
from clusterlens.compute.estimators.cns._seeds import VERSIONS, farthest_first
from clusterlens.compute.estimators.cns._solvers import error_bound
from clusterlens.compute.estimators.cns.cns import Metric, to_metric

N_NODES = 8
N_PRODUCTS = 64
LARGEST_EXACT = 50_000
MEMORY_LIMIT = 8_000_000_000
# Products and candidates of a preview: below and above this number of samples.
_LARGE = 20_000
_PREVIEW = (25, None)
_LARGE_PREVIEW = (15, 20)


@dataclass(frozen=True, eq=False)
class LiveSolution:
    """Memberships for one choice of neighbourhood, alpha and number of clusters.

    Parameters
    ----------
    memberships : array of float32, shape (n_samples, n_clusters)
        Probabilities; rows sum to 1.
    labels : array of int32, shape (n_samples,)
        Position in `seeds` of the largest membership, the first on ties.
    undecided : array of bool, shape (n_samples,)
        Samples that reach no seed: all memberships are 1/K and the label is 0.
    seeds : array of int, shape (n_clusters,)
        Indices of the seeds in greedy order.
    criterion : array of float64, shape (n_candidates,)
        Gain in clarity for K = 1, 2, ... at this neighbourhood and alpha; higher is
        better.
    n_neighbors, alpha : int, float
        The values asked for.
    preview : bool
        Whether this is a short run, less accurate, because k has no cache yet or alpha
        is outside `CNSGraph.alpha_range`.
    n_products : int
        Products with the neighbour graph behind the solution.

    Attributes
    ----------
    error_bound : float
        Rigorous bound on the error of any membership, usually 100 to 1000 times too
        large; the first access costs one product.
    """

    memberships: Float32Array
    labels: npt.NDArray[np.int32]
    undecided: npt.NDArray[np.bool_]
    seeds: IntArray
    criterion: FloatArray
    n_neighbors: int
    alpha: float
    preview: bool
    n_products: int
    _table: Table = field(repr=False)

    @property
    def n_clusters(self) -> int:
        """Number of seeds K."""
        return len(self.seeds)

    @cached_property
    def n_occupied(self) -> int:
        """Number of seeds that own a sample."""
        return len(np.unique(self.labels))

    @cached_property
    def error_bound(self) -> float:
        """Bound on the error of any membership."""
        start = np.full_like(self.memberships, 1 / self.n_clusters)
        start[self.seeds] = np.eye(self.n_clusters, dtype=start.dtype)
        return error_bound(self._table, self.memberships, start, self.alpha)


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
        "auto" takes NN-descent (extra `large`) above 50,000 samples with more than 8
        features where it is installed, and the exact search otherwise.
    max_caches : int, default 4
        How many neighbourhood sizes are kept; the one longest unused goes first.
    progress, cancel : callable, optional
        Called while the exact neighbour table is searched.

    Attributes
    ----------
    approximate : bool
        Whether the neighbours are from NN-descent.
    alpha_range : tuple of float
        Smallest and largest alpha that a cache answers: 0.5 to 10 over sqrt(n), and at
        most 0.9.
    default_neighbors : tuple of int
        Neighbourhood sizes of the default grid on offer, the most useful first: the
        order in which to fill caches.

    Notes
    -----
    Follows version "revised" of the method. Interpolation with 8 nodes is exact to
    about 1e-4. Vectors are single precision. `solve` and `fill` may be called from
    several threads.

    References
    ----------
    Hofmeyr (2025), Clustering by non-parametric smoothing, arXiv:2503.09134.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(m, 0.3, (40, 2)) for m in (0, 3)])
    >>> live = CNSGraph(X, max_neighbors=20)
    >>> live.solve(10, 0.2, 2).preview
    True
    >>> live.fill(10)
    >>> solution = live.solve(10, 0.2, 2)
    >>> solution.preview, np.bincount(solution.labels).tolist()
    (False, [40, 40])
    """

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
        if self.approximate:
            self._table = approximate_neighbor_table(self._points, max_neighbors)
        else:
            self._table = neighbor_table(
                self._points, max_neighbors, progress=progress, cancel=cancel
            )[0]
        self._order = local_order(self._points)
        root = math.sqrt(self.n_samples)
        self.alpha_range = (min(0.5 / root, 0.4), min(10 / root, 0.9))
        self._caches: OrderedDict[int, Nodes] = OrderedDict()
        # What the latest preview was made for: neighbours, alpha, most candidates.
        self._preview: tuple[tuple[int, float, int], Nodes | None] = (0, 0.0, 0), None
        self._last: Ordered | None = None
        self._lock = Lock()

    @property
    def default_neighbors(self) -> tuple[int, ...]:
        """Sizes of the default grid on offer, the most useful first."""
        one, two, three, four = VERSIONS["revised"].neighbors_grid(self.n_samples)
        order = (two, three, four, one)
        return tuple(k for k in order if k <= self.max_neighbors)

    @property
    def cached_neighbors(self) -> tuple[int, ...]:
        """Neighbourhood sizes whose cache is there, the latest used last."""
        with self._lock:
            return tuple(self._caches)

    def solve(
        self,
        n_neighbors: int,
        alpha: float,
        n_clusters: int | Literal["auto"] = "auto",
    ) -> LiveSolution:
        """Return the solution of one setting, at once.

        Parameters
        ----------
        n_neighbors : int
            Neighbourhood size k, the sample itself included, 1 to `max_neighbors`.
        alpha : float
            Stopping probability in (0, 1).
        n_clusters : int or "auto", default "auto"
            Number of seeds K; "auto" takes the largest gain at this k and alpha. Fewer
            are returned where there are fewer distinct candidates.

        Returns
        -------
        solution : LiveSolution
            Memberships, labels and the criterion for every K.

        Notes
        -----
        O(8 n m) for m candidates from a cache, O(25 n k m) as a preview; O(n K) where
        only K differs from the call before. Above 20,000 samples a preview has 15
        products and 20 candidates, or `n_clusters` where that is more.
        """
        check_range(
            n_neighbors, 1, self.max_neighbors, name="n_neighbors", integer=True
        )
        check_range(alpha, 1e-6, 1 - 1e-6, name="alpha")
        if n_clusters != "auto":
            check_range(
                n_clusters, 1, self.max_clusters, name="n_clusters", integer=True
            )
        found = self._ordered(n_neighbors, alpha, n_clusters)
        if n_clusters == "auto":
            count = int(np.argmax(found.criterion)) + 1
        else:
            count = min(n_clusters, len(found.seeds))
        memberships, labels, undecided = first_memberships(
            found.absorption, found.nodes.order, count
        )
        return LiveSolution(
            memberships=read_only(memberships),
            labels=read_only(labels),
            undecided=read_only(undecided & (count > 1)),
            seeds=read_only(found.seeds[:count]),
            criterion=read_only(found.criterion),
            n_neighbors=n_neighbors,
            alpha=alpha,
            preview=len(found.nodes.alphas) == 1,
            n_products=found.nodes.n_products,
            _table=found.nodes.table,
        )

    def fill(
        self,
        n_neighbors: int,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
    ) -> None:
        """Make the cache of one neighbourhood size, unless it is there.

        Parameters
        ----------
        n_neighbors : int
            Neighbourhood size k, 1 to `max_neighbors`.
        progress, cancel : callable, optional
            Called between the products.

        Raises
        ------
        MemoryError
            If the cache would need more than 8 GB.
        Cancelled
            If `cancel` returned true; no cache is kept then.

        Notes
        -----
        64 products: O(64 n (k + 8) m) time, 8 n m numbers of 4 bytes for m candidates.
        """
        check_range(
            n_neighbors, 1, self.max_neighbors, name="n_neighbors", integer=True
        )
        if n_neighbors in self.cached_neighbors:
            return
        alphas = nodes_between(*self.alpha_range, N_NODES)
        nodes = self._solve_nodes(
            n_neighbors, alphas, N_PRODUCTS, self.max_clusters, progress, cancel
        )
        with self._lock:
            self._caches[n_neighbors] = nodes
            while len(self._caches) > self.max_caches:
                self._caches.popitem(last=False)

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
        check_memory(
            4 * self.n_samples * max_clusters * (len(alphas) + 3),
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


def _prefers_approximate(X: FloatArray) -> bool:
    """Whether the exact search would be slow and NN-descent is installed."""
    slow = len(X) > LARGEST_EXACT and X.shape[1] > TREE_DIMENSIONS
    return slow and find_spec("pynndescent") is not None
