"""Nearest neighbours with a defined order: by distance, ties by sample index.

Methods on neighbour graphs depend on the choice among equally distant samples, and
library searches leave it open. Here exact distances and indices decide, so the tables
depend on the data alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property

import numpy as np
import numpy.typing as npt
from sklearn.neighbors import KDTree

from clusterlens.compute._run.options import (
    Cancel,
    Progress,
    raise_if_cancelled,
    report,
)
from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.estimators._blocked_search import BlockedSearch

_BLOCK = 4096
_LEAF = 64
_NN_DESCENT = threading.Lock()  # its parallel numba code would crash in two threads

Table = npt.NDArray[np.int32]
# Data with a known table, the table and its distances.
_KNOWN: ContextVar[tuple[FloatArray, Table, FloatArray] | None] = ContextVar(
    "known neighbours", default=None
)


@contextmanager
def known_neighbors(
    X: FloatArray, table: Table, distances: FloatArray
) -> Iterator[None]:
    """Let `neighbor_table` use a given table for X instead of a search.

    `table` and `distances` (n_samples, n_neighbors) are the result of `neighbor_table`
    for X. More neighbours need a search; other samples are not affected. Applies to
    this thread until the context ends.
    """
    token = _KNOWN.set((X, table, distances))
    try:
        yield
    finally:
        _KNOWN.reset(token)


def neighbor_table(
    X: FloatArray,
    n_neighbors: int,
    *,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> tuple[Table, FloatArray]:
    """Find the n_neighbors nearest other samples of every sample, up to n_samples - 1.

    Returns indices (n_samples, n_neighbors) of int32, ordered by distance and then by
    index, and Euclidean distances, ascending in each row; the first columns are the
    table of fewer neighbours. The search takes all pairs in blocks, except pairs in
    boxes too far apart; progress and cancel are called between blocks. Up to O(n² d)
    time, O(n (k + d)) memory.
    """
    known = _KNOWN.get()
    if known is not None and n_neighbors <= known[1].shape[1]:
        data, table, distances = known
        if np.array_equal(X, data):
            return table[:, :n_neighbors].copy(), distances[:, :n_neighbors].copy()
    own, order = np.arange(len(X)), local_order(X)
    search = BlockedSearch(X, order)
    return _search(X, own, n_neighbors, search, order, progress, cancel)


def neighbors_of(
    queries: FloatArray, X: FloatArray, n_neighbors: int
) -> tuple[Table, FloatArray]:
    """Find the nearest rows of X for each query, as `neighbor_table`; excludes none."""
    return NeighborSearch(X).nearest(queries, n_neighbors)


class NeighborSearch:
    """A search of the rows of X, prepared once for many blocks of queries.

    Parameters
    ----------
    X : array of float64, shape (n_samples, n_features)
        The samples.
    """

    def __init__(self, X: FloatArray) -> None:
        self._search = BlockedSearch(X, local_order(X))

    def nearest(
        self,
        queries: FloatArray,
        n_neighbors: int,
        own: IntArray | None = None,
    ) -> tuple[Table, FloatArray]:
        """Find the nearest samples of each query, ordered as by `neighbor_table`.

        Parameters
        ----------
        queries : array of float64, shape (n_queries, n_features)
            Where to search; the results do not depend on how queries are grouped.
        n_neighbors : int
            Number of samples to find, at most the number of others.
        own : array of int, shape (n_queries,), optional
            A sample that each query leaves out, -1 for none.

        Returns
        -------
        table : array of int32, shape (n_queries, n_neighbors)
            Indices of the samples.
        distances : array of float64, shape (n_queries, n_neighbors)
            Euclidean distances, ascending in each row.
        """
        if own is None:
            own = np.full(len(queries), -1)
        order = local_order(queries)
        return _search(queries, own, n_neighbors, self._search, order, None, None)


class OwnSearch(NeighborSearch):
    """A search that remembers the neighbours of its own samples.

    Parameters
    ----------
    X : array of float64, shape (n_samples, n_features)
        The samples; the caller does not change them meanwhile.
    width : int
        Largest number of neighbours to remember.
    """

    def __init__(self, X: FloatArray, width: int) -> None:
        super().__init__(X)
        self._X, self._width = X, min(width, len(X) - 1)

    @cached_property
    def _others(self) -> tuple[Table, FloatArray]:
        """The nearest others of each sample, (n_samples, width)."""
        return super().nearest(self._X, self._width, np.arange(len(self._X)))

    def nearest(
        self,
        queries: FloatArray,
        n_neighbors: int,
        own: IntArray | None = None,
    ) -> tuple[Table, FloatArray]:
        """Find the nearest samples of each query, as `NeighborSearch`.

        Nothing is searched again if the queries are all samples, in their order, and
        `own` leaves out each one itself, or is None.
        """
        is_known = n_neighbors <= self._width and np.array_equal(queries, self._X)
        if not is_known or not _is_each(own, len(queries)):
            return super().nearest(queries, n_neighbors, own)
        table, distances = self._others
        near, far = table[:, :n_neighbors], distances[:, :n_neighbors]
        if own is None:
            return _with_self(near, far)
        return np.ascontiguousarray(near), np.ascontiguousarray(far)


def _is_each(own: IntArray | None, n: int) -> bool:
    """Return whether each query leaves out the sample of its place, or none does."""
    return own is None or np.array_equal(own, np.arange(n))


def _with_self(table: Table, distances: FloatArray) -> tuple[Table, FloatArray]:
    """Return neighbours, (n, k) each, with the sample itself among the k."""
    n, k = table.shape
    own = np.arange(n, dtype=table.dtype)[:, None]
    table = np.hstack([own, table])
    distances = np.hstack([np.zeros((n, 1)), distances])
    # Copies of earlier samples come before the sample itself.
    rows = np.flatnonzero((distances[:, 1] == 0) & (table[:, 1] < table[:, 0]))
    order = np.lexsort((table[rows], distances[rows]), axis=1)
    table[rows] = np.take_along_axis(table[rows], order, axis=1)
    return np.ascontiguousarray(table[:, :k]), np.ascontiguousarray(distances[:, :k])


def with_self_first(table: Table, n_neighbors: int) -> Table:
    """Return the (n, n_neighbors) table with each sample as its own first neighbour."""
    own = np.arange(len(table), dtype=table.dtype)[:, None]
    return np.ascontiguousarray(np.hstack([own, table[:, : n_neighbors - 1]]))


def local_order(X: FloatArray) -> npt.NDArray[np.int64]:
    """Order the samples so that near ones are close in memory, shape (n_samples,).

    The order follows the leaves of a k-d tree. Products with the neighbour graph are
    several times faster in this order if the vectors are larger than the cache.
    """
    return np.asarray(KDTree(X, leaf_size=_LEAF).get_arrays()[1], dtype=np.int64)


def in_local_order(
    table: Table, order: npt.NDArray[np.int64]
) -> tuple[Table, npt.NDArray[np.int32]]:
    """Renumber a table: row and index r stand for sample order[r].

    Returns the table (n, k) and the rank of each sample, the inverse of the order (n,).
    """
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank[table[order]], rank


def approximate_neighbor_table(
    X: FloatArray, n_neighbors: int, random_state: int = 0
) -> Table:
    """Find nearly all nearest other samples by NN-descent (extra `large`).

    Indices (n_samples, n_neighbors) by ascending distance, the sample itself left out.

    References
    ----------
    Dong, Moses & Li (2011), Efficient k-nearest neighbor graph construction for
    generic similarity measures.
    """
    from pynndescent import NNDescent

    with _NN_DESCENT:
        index = NNDescent(X, n_neighbors=n_neighbors + 1, random_state=random_state)
        found = np.asarray(index.neighbor_graph[0])
    others = found != np.arange(len(X))[:, None]
    # If duplicates displaced the sample itself, leave the farthest out instead.
    others[others.all(axis=1), -1] = False
    return found[others].reshape(len(X), n_neighbors).astype(np.int32)


def _search(
    queries: FloatArray,
    own: IntArray,
    n_neighbors: int,
    search: BlockedSearch,
    order: npt.NDArray[np.int64],
    progress: Progress | None,
    cancel: Cancel | None,
) -> tuple[Table, FloatArray]:
    """Search for queries (q, d) in their order, without row own[q] (-1 for none)."""
    table = np.empty((len(queries), n_neighbors), dtype=np.int32)
    squares = np.empty((len(queries), n_neighbors))
    for start in range(0, len(queries), _BLOCK):
        raise_if_cancelled(cancel)
        rows = order[start : start + _BLOCK]
        found = search.nearest(queries[rows], own[rows], n_neighbors)
        table[rows], squares[rows] = found
        report(progress, min(start + _BLOCK, len(queries)), len(queries))
    return table, np.sqrt(squares)
