"""Nearest rows where many features leave little to a k-d tree: all pairs, in blocks.

Samples lie in chunks of near ones, feature by feature, so that distances are computed
for many at a time. A block of queries visits the chunks from the nearest box on, and
stops where a box is farther than what it has found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import FloatArray

# Samples in a chunk, and queries that visit it together while it is in the cache.
_CHUNK = 64
_QUERIES = 64
# Samples of a chunk that are compared with the farthest one found at a time.
_AT_A_TIME = 32


class BlockedSearch:
    """A search of the rows of X.

    Parameters
    ----------
    X : array of float64, shape (n_samples, n_features)
        The samples.
    order : array of int, shape (n_samples,)
        Brings near ones together, as `local_order` does.
    """

    def __init__(self, X: FloatArray, order: npt.NDArray[np.int64]) -> None:
        n_samples, n_features = X.shape
        n_chunks = -(-n_samples // _CHUNK)
        rows = np.full((n_chunks * _CHUNK, n_features), np.inf)
        rows[:n_samples] = X[order]
        rows = rows.reshape(n_chunks, _CHUNK, n_features)
        self._order = order
        self._low = rows.min(axis=1)
        self._high = np.where(np.isfinite(rows), rows, -np.inf).max(axis=1)
        self._chunks = np.ascontiguousarray(rows.transpose(0, 2, 1))

    def nearest(self, queries: FloatArray, n_found: int) -> npt.NDArray[np.int64]:
        """Find the nearest rows of each query, near queries next to each other.

        Parameters
        ----------
        queries : array of float64, shape (n_queries, n_features)
            Where to search.
        n_found : int
            Rows to find, 1 to n_samples.

        Returns
        -------
        found : array of int, shape (n_queries, n_found)
            Rows of X in no order; rounding decides between equally distant ones. -1
            where squared distances overflow.
        """
        squares = np.full((len(queries), n_found), np.inf)
        places = np.full((len(queries), n_found), -1)
        starts = range(0, len(queries), _QUERIES)
        least = np.minimum.reduceat(queries, starts)
        most = np.maximum.reduceat(queries, starts)
        box = self._low, self._high
        gaps = _gaps(least, most, *box)
        order = gaps.argsort(axis=1, kind="stable")
        _visit(queries, self._chunks, *box, gaps, order, squares, places)
        return np.where(places >= 0, self._order[places], -1)


@kernel(fast_sums=True)
def _gaps(least: Any, most: Any, low: Any, high: Any) -> Any:
    """Squared distance of each block of queries to each chunk: of their boxes."""
    gaps = np.zeros((len(least), len(low)))
    for block in range(len(least)):
        for chunk in range(len(low)):
            total = 0.0
            for f in range(low.shape[1]):
                above = low[chunk, f] - most[block, f]
                gap = max(above, least[block, f] - high[chunk, f], 0.0)
                total += gap * gap
            gaps[block, chunk] = total
    return gaps


@kernel(fast_sums=True)
def _visit(
    queries: Any,
    chunks: Any,
    low: Any,
    high: Any,
    gaps: Any,
    order: Any,
    squares: Any,
    places: Any,
) -> None:
    """Fill in the heaps of the queries: squared distances and places of samples."""
    distances = np.empty(_CHUNK)
    for block in range(len(order)):
        start = block * _QUERIES
        stop = min(start + _QUERIES, len(queries))
        for chunk in order[block]:
            farthest = 0.0
            for q in range(start, stop):
                farthest = max(farthest, squares[q, 0])
            if gaps[block, chunk] > farthest:
                break
            for q in range(start, stop):
                far = _square_to_box(queries[q], low[chunk], high[chunk])
                if far > squares[q, 0]:
                    continue
                _squares_to(queries[q], chunks[chunk], distances)
                for first in range(0, _CHUNK, _AT_A_TIME):
                    n_nearer, farthest = 0, squares[q, 0]
                    for j in range(first, first + _AT_A_TIME):
                        n_nearer += distances[j] < farthest
                    if n_nearer == 0:
                        continue
                    for j in range(first, first + _AT_A_TIME):
                        if distances[j] < squares[q, 0]:
                            place = chunk * _CHUNK + j
                            _replace_farthest(
                                squares[q], places[q], distances[j], place
                            )


@kernel(fast_sums=True)
def _square_to_box(x: Any, low: Any, high: Any) -> float:
    """Return the squared distance of a query to a box, 0 inside."""
    total = 0.0
    for f in range(len(x)):
        outside = max(low[f] - x[f], x[f] - high[f], 0.0)
        total += outside * outside
    return total


@kernel(fast_sums=True)
def _squares_to(x: Any, chunk: Any, squares: Any) -> None:
    """Squared distances of a query to the samples of a chunk (n_features, _CHUNK)."""
    squares[:] = 0.0
    f, n_features = 0, len(x)
    while f + 4 <= n_features:  # four at a time, as storing takes as long as adding
        x0, x1, x2, x3 = x[f], x[f + 1], x[f + 2], x[f + 3]
        for j in range(_CHUNK):
            d0, d1 = chunk[f, j] - x0, chunk[f + 1, j] - x1
            d2, d3 = chunk[f + 2, j] - x2, chunk[f + 3, j] - x3
            squares[j] += d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3
        f += 4
    while f < n_features:
        x0 = x[f]
        for j in range(_CHUNK):
            d0 = chunk[f, j] - x0
            squares[j] += d0 * d0
        f += 1


@kernel()
def _replace_farthest(squares: Any, places: Any, square: float, place: int) -> None:
    """Put a sample in the place of the farthest one, the root of the heap."""
    at, size = 0, len(squares)
    while True:
        child = 2 * at + 1
        if child + 1 < size and squares[child + 1] > squares[child]:
            child += 1
        if child >= size or squares[child] <= square:
            break
        squares[at], places[at] = squares[child], places[child]
        at = child
    squares[at], places[at] = square, place
