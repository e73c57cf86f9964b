"""Approximate solutions of one graph within milliseconds, in single precision.

For one neighbourhood size k, the solutions at 8 values of alpha (a *cache*, all from
one run of shared products) give every alpha between by interpolation; without a cache,
a short run answers.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.options import Cancel, Progress
from clusterlens.compute._validation import FloatArray, check_memory
from clusterlens.compute.estimators.cns._nodes import (
    Nodes,
    Ordered,
    interpolate,
    nodes_between,
    solve_nodes,
)
from clusterlens.compute.estimators.cns._seeds import farthest_first
from clusterlens.compute.estimators.neighbors import Table, with_self_first

N_NODES = 8
N_PRODUCTS = 64
MEMORY_LIMIT = 8_000_000_000
# Products and candidates of a short run: below and above this number of samples.
_LARGE = 20_000
_SHORT = (25, None)
_LARGE_SHORT = (15, 20)


class Previews:
    """Caches of one neighbour graph; the one longest unused goes first.

    `points` (n, d) are the samples, `table` their neighbours, `order` their local
    order.
    """

    def __init__(
        self,
        points: FloatArray,
        table: Table,
        order: npt.NDArray[np.int64],
        max_clusters: int,
        max_caches: int,
        alpha_range: tuple[float, float],
    ) -> None:
        self._points, self._table, self._order = points, table, order
        self._max_clusters, self._max_caches = max_clusters, max_caches
        self._alpha_range = alpha_range
        self._caches: OrderedDict[int, Nodes] = OrderedDict()
        # The latest short run: neighbours, alpha, most candidates.
        self._short: tuple[tuple[int, float, int], Nodes | None] = (0, 0.0, 0), None
        self._last: Ordered | None = None
        self._lock = Lock()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Neighbourhood sizes with a cache, the latest used last."""
        with self._lock:
            return tuple(self._caches)

    def fill(
        self, n_neighbors: int, progress: Progress | None, cancel: Cancel | None
    ) -> None:
        """Make the cache of one neighbourhood size."""
        alphas = nodes_between(*self._alpha_range, N_NODES)
        nodes = self._solve(
            n_neighbors, alphas, N_PRODUCTS, self._max_clusters, progress, cancel
        )
        with self._lock:
            self._caches[n_neighbors] = nodes
            while len(self._caches) > self._max_caches:
                self._caches.popitem(last=False)

    def ordered(self, n_neighbors: int, alpha: float, n_clusters: int) -> Ordered:
        """Return Q in greedy order, with at least n_clusters candidates."""
        nodes = self._nodes(n_neighbors, alpha, n_clusters)
        last = self._last
        if last is None or last.nodes is not nodes or last.alpha != alpha:
            last = interpolate(nodes, alpha)
            self._last = last
        return last

    def _nodes(self, n_neighbors: int, alpha: float, n_clusters: int) -> Nodes:
        """Return the cache of k if it answers alpha, else a short run."""
        low, high = self._alpha_range
        with self._lock:
            if n_neighbors in self._caches and low <= alpha <= high:
                self._caches.move_to_end(n_neighbors)
                return self._caches[n_neighbors]
        products, few = _SHORT if len(self._points) <= _LARGE else _LARGE_SHORT
        most = min(self._max_clusters, max(few or self._max_clusters, n_clusters))
        key, kept = self._short
        if kept is None or key[:2] != (n_neighbors, alpha) or key[2] < most:
            kept = self._solve(n_neighbors, np.array([alpha]), products, most)
            self._short = (n_neighbors, alpha, most), kept
        return kept

    def _solve(
        self,
        n_neighbors: int,
        alphas: FloatArray,
        n_products: int,
        max_clusters: int,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
    ) -> Nodes:
        """Run the shared products for one graph and several alphas."""
        n_samples, n_columns = len(self._points), len(alphas) * max_clusters
        vectors = 4 * n_samples * (n_columns + 3 * max_clusters)
        overlaps = 12 * n_columns**2  # in single precision, and then in double
        check_memory(
            vectors + overlaps,
            MEMORY_LIMIT,
            what=f"A cache for {n_samples} samples and {max_clusters} seeds",
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
