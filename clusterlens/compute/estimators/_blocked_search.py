"""Nearest rows: a search of all pairs in blocks, without blocks too far apart.

Samples lie in chunks of near ones, stored feature by feature, so that a query is
compared with a whole chunk at a time: first with its box, then with each of its
samples. The comparison uses single precision relative to the middle of the chunk, with
a bound on the rounding. Exact distances are computed only for samples within that
bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._run.registers import (
    LANES,
    lanes_within,
    lowest_bit,
    products_within,
)
from clusterlens.compute._validation import FloatArray, IntArray

# Rounding of a number of single precision, relative to it.
_UNIT = 2.0**-24
# A factor above one by more than a few roundings.
_ABOVE = 1 + 2.0**-20
# More than the loss from squares that are too small for single precision.
_TINY = 1e-37


class BlockedSearch:
    """A search of the rows of X.

    Parameters
    ----------
    X : array of float64, shape (n_samples, n_features)
        The samples.
    order : array of int, shape (n_samples,)
        An order that brings near samples together, such as `local_order`.
    """

    def __init__(self, X: FloatArray, order: npt.NDArray[np.int64]) -> None:
        self._n_samples, n_features = X.shape
        n_chunks = -(-self._n_samples // LANES)
        # Samples are scaled into [-1, 1] without rounding, so that no square overflows.
        exponent = np.frexp(np.abs(X).max())[1]
        self._scale = 2.0 ** -float(np.clip(exponent, -1000, 1000))
        n_empty = n_chunks * LANES - self._n_samples
        self._order = np.pad(order, (0, n_empty), mode="edge")
        self._rows = np.ascontiguousarray(X[self._order])
        scaled = (self._rows * self._scale).reshape(n_chunks, LANES, n_features)
        self._low, self._high = scaled.min(axis=1), scaled.max(axis=1)
        self._middle = (self._low + self._high) / 2
        scaled -= self._middle[:, None]
        norms = (scaled**2).sum(axis=2)
        self._radii = np.sqrt(norms.max(axis=1))
        self._terms = np.array(-2 * scaled.transpose(0, 2, 1), np.float32, order="C")
        self._norms = norms.astype(np.float32)

    def nearest(
        self, queries: FloatArray, own: IntArray, n_found: int
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """Find the nearest rows of each query; near queries should be consecutive.

        Parameters
        ----------
        queries : array of float64, shape (n_queries, n_features)
            Where to search.
        own : array of int, shape (n_queries,)
            A row that each query leaves out, -1 for none.
        n_found : int
            Rows to find, at most those there are without the own one.

        Returns
        -------
        table : array of int32, shape (n_queries, n_found)
            Rows of X by distance and, where equal, by index.
        squares : array of float64, shape (n_queries, n_found)
            Squared distances.
        """
        table = np.full((len(queries), n_found), self._n_samples, np.int32)
        squares = np.full((len(queries), n_found), np.inf)
        queries = np.ascontiguousarray(queries)
        scaled = queries * self._scale
        starts = np.arange(0, len(queries), LANES)
        sizes = np.diff(starts, append=len(queries))
        means = np.add.reduceat(scaled, starts) / sizes[:, None]
        least = np.minimum.reduceat(scaled, starts)
        most = np.maximum.reduceat(scaled, starts)
        far = _gaps(means, means, self._middle, self._middle)
        visits = far.argsort(axis=1)
        gaps = _gaps(least, most, self._low, self._high)
        asked = queries, own, scaled, self._scale
        kept = self._rows, self._order, self._n_samples, self._terms, self._norms
        boxes = self._middle, self._low, self._high, self._radii
        _visit(asked, kept, boxes, visits, gaps, table, squares)
        return table, squares


@kernel(fast_sums=True)
def _gaps(least: Any, most: Any, low: Any, high: Any) -> Any:
    """Squared distance between the boxes of each block of queries and of each chunk."""
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


@kernel()
def _visit(
    asked: Any, kept: Any, boxes: Any, visits: Any, gaps: Any, table: Any, squares: Any
) -> None:
    """Find the nearest rows of all queries, which visit the chunks by blocks."""
    queries, own, scaled, scale = asked
    rows, order, n_samples, terms, norms = kept
    middle, low, high, radii = boxes
    n_features, last = queries.shape[1], table.shape[1] - 1
    at_once = np.empty((n_features, LANES))
    relative = np.empty((n_features, LANES), np.float32)
    found, lengths = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    to_box, bounds = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    one = np.uint64(1)
    for block in range(len(visits)):
        start = block * LANES
        n_queries = min(LANES, len(queries) - start)
        there = ~np.uint64(0) >> np.uint64(LANES - n_queries)
        found[:n_queries], found[n_queries:] = np.inf, 0.0
        for q in range(LANES):
            for f in range(n_features):
                at_once[f, q] = scaled[start + min(q, n_queries - 1), f]
        farthest = np.inf
        for chunk in visits[block]:
            if gaps[block, chunk] > farthest:
                continue
            _reach(at_once, middle, low, high, chunk, relative, lengths, to_box)
            _bounds(found, radii[chunk], n_features, bounds)
            visiting = lanes_within(to_box, bounds) & there
            while visiting:
                q = lowest_bit(visiting)
                visiting &= visiting - one
                query, bound = start + q, bounds[q] - lengths[q]
                near = products_within(terms, norms, chunk, relative, q, bound)
                while near:
                    place = chunk * LANES + lowest_bit(near)
                    near &= near - one
                    if place < n_samples and order[place] != own[query]:
                        square = squared_distance(queries[query], rows[place])
                        if square <= squares[query, last]:
                            _insert(table, squares, query, order[place], square)
                root = np.float32(np.sqrt(squares[query, last]) * scale)
                found[q] = root * np.float32(_ABOVE)
            farthest = np.float64(found.max()) ** 2 + _TINY


@kernel(fast_sums=True)
def _reach(
    queries: Any,
    middle: Any,
    low: Any,
    high: Any,
    chunk: int,
    relative: Any,
    lengths: Any,
    to_box: Any,
) -> None:
    """Describe queries relative to the middle of a chunk: squared lengths, and gaps.

    queries and relative are (n_features, LANES), lengths and to_box (LANES,).
    """
    lengths[:] = 0.0
    to_box[:] = 0.0
    for f in range(len(queries)):
        origin = middle[chunk, f]
        least = np.float32(low[chunk, f] - origin)
        most = np.float32(high[chunk, f] - origin)
        for q in range(LANES):
            value = np.float32(queries[f, q] - origin)
            outside = max(least - value, value - most, np.float32(0.0))
            relative[f, q] = value
            lengths[q] += value * value
            to_box[q] += outside * outside


@kernel()
def _bounds(found: Any, radius: float, n_features: int, bounds: Any) -> None:
    """Compute bounds of squared distances in single precision, for those up to found.

    Any distance up to found stays within the bounds, with all rounding: samples lie up
    to radius from the middle, the query up to found + radius, and products of features
    are rounded to a unit of the squared sum of both, some 2 d times.
    """
    slack = np.float32((2 * n_features + 16) * _UNIT)
    both = np.float32(2 * radius)
    for q in range(LANES):
        reach = found[q] + both
        bounds[q] = found[q] * found[q] + slack * reach * reach + np.float32(_TINY)


@kernel(fast_sums=True)
def squared_distance(a: Any, b: Any) -> float:
    """Squared Euclidean distance of two rows; the order of the two does not matter."""
    total = 0.0
    for f in range(len(a)):
        difference = a[f] - b[f]
        total += difference * difference
    return total


@kernel()
def _insert(table: Any, squares: Any, query: int, index: int, square: float) -> None:
    """Insert a neighbour of a query, kept sorted by (distance, index)."""
    place = table.shape[1]
    while place > 0 and (
        square < squares[query, place - 1]
        or (square == squares[query, place - 1] and index < table[query, place - 1])
    ):
        place -= 1
        if place + 1 < table.shape[1]:
            table[query, place + 1] = table[query, place]
            squares[query, place + 1] = squares[query, place]
    if place < table.shape[1]:
        table[query, place] = index
        squares[query, place] = square
