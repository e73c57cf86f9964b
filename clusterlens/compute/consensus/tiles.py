"""Tiles: the part of the consensus matrix that a viewport shows.

A heatmap never needs the matrix. With samples in some order, the mean consensus of a
pixel is the product of two binned one-hot profiles: exact, and independent of the
number of samples once a `TileSource` is prepared. The binarised matrix has no such
product; its pixels are counted pair by pair if they cover few pairs, else sampled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._validation import (
    Frozen,
    IntArray,
    RandomState,
    check_choice,
    check_random_state,
    check_range,
    plain_repr,
)
from clusterlens.compute.consensus.tile_source import (
    TileSource,
    check_order,
    count_in_bins,
)
from clusterlens.compute.ensemble.ensemble import Ensemble, check_ensemble
from clusterlens.compute.ensemble.pairs import TILE_COLUMNS, column_tile, count_votes

Kind = Literal["consensus", "binarised"]
Range = tuple[int, int]
TileArray = npt.NDArray[np.float32]

_MOST_PIXELS = 8_192  # per side
_PROFILE_ENTRIES = 10_000_000  # of the profiles multiplied at a time
_ROUNDING = 1e-5  # of sums of shares in single precision
_PAIR_COMPARISONS = 4_000_000_000  # of a binarised tile, about a tenth of a second


@dataclass(frozen=True, eq=False, repr=False)
class Tile(Frozen):
    """A rectangle of the consensus matrix, one value per pixel.

    Parameters
    ----------
    values : array of float32, shape (h, w)
        Mean consensus over the pairs of a pixel, or the share of its pairs that are
        joined, in [0, 1]. NaN if partitions are partial and no model saw a pair.
    row_edges, col_edges : array of int, shapes (h + 1,) and (w + 1,)
        Positions in the order of the samples where pixels begin and end.
    kind : {"consensus", "binarised"}
        Meaning of the values.
    threshold : int or None
        Agreement count from which a pair counts as joined; None for "consensus".
    exact : bool
        False if the values were estimated from a sample of the pairs of each pixel.
    sampled : int or None
        Samples drawn per row and per column of pixels; None if exact.
    """

    values: TileArray
    row_edges: IntArray
    col_edges: IntArray
    kind: Kind
    threshold: int | None
    exact: bool
    sampled: int | None = None

    @property
    def rows(self) -> Range:
        """Half-open range of positions of the rows."""
        return int(self.row_edges[0]), int(self.row_edges[-1])

    @property
    def cols(self) -> Range:
        """Half-open range of positions of the columns."""
        return int(self.col_edges[0]), int(self.col_edges[-1])

    def __repr__(self) -> str:
        """Return the kind and the size."""
        kind = f"{'exact' if self.exact else 'sampled'} {self.kind}"
        return f"Tile({kind}, {self.values.shape}, rows {self.rows}, cols {self.cols})"


@takes_running
def consensus_tile(
    ensemble: Ensemble | TileSource,
    rows: Range | None = None,
    cols: Range | None = None,
    shape: tuple[int, int] = (600, 600),
    order: npt.ArrayLike | None = None,
    kind: Kind = "consensus",
    threshold: int | None = None,
    *,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    executor: Executor | None = None,
) -> Tile:
    """Compute the part of the consensus matrix that a viewport shows.

    Parameters
    ----------
    ensemble : Ensemble or TileSource
        T partitions of n samples. A TileSource is prepared once for an order; its tiles
        take a time independent of n.
    rows, cols : tuple of int, optional
        Half-open ranges of positions in the order. Default all.
    shape : tuple of int, default (600, 600)
        Pixels (h, w), each from 1 to 8,192; fewer if a range has fewer samples.
    order : array-like of int, shape (n_samples,), optional
        Permutation of the samples. Default the order of the TileSource, or file order.
    kind : {"consensus", "binarised"}, default "consensus"
        Mean share of partitions that join the pairs of a pixel, or share of the pairs
        that at least `threshold` partitions join.
    threshold : int, optional
        For "binarised": agreement count from 0 to T + 1. Default the smallest that
        reaches the mean over all pairs.
    random_state : int, default 0
        Seed of the sampled pixels of a binarised tile.
    n_jobs, executor
        As in `count_agreements`, for binarised tiles.

    Returns
    -------
    tile : Tile
        Values of shape at most (h, w), each in [0, 1].

    Raises
    ------
    ValueError
        If a range, the order, the threshold or the shape is not valid.

    Notes
    -----
    Consensus: with R[k, c] the share of the samples of pixel row k that are in cluster
    c, and C likewise for columns, the tile is R C' / T. Exact up to single precision.
    O(h w D) time for D clusters in all, plus O((h + w) T block) for the counts; for an
    Ensemble also O(n T) for preparing the samples between the ranges.

    Binarised: exact up to 4e9 comparisons (rows x cols x T). Above that s samples are
    drawn from each row and each column of pixels, and the s² pairs of a pixel give an
    unbiased estimate with a standard error of at most 1 / sqrt(2 s).

    For partial partitions the consensus of a pixel is the number of votes that join its
    pairs over the number that saw them. A pair counts as joined if its share of joining
    votes reaches `threshold` over all votes; pairs that no vote saw are not counted.

    Examples
    --------
    >>> ensemble = Ensemble([[0, 1, 0, 1], [0, 0, 0, 1]])
    >>> consensus_tile(ensemble, rows=(0, 1)).values.tolist()
    [[1.0, 0.5, 1.0, 0.0]]
    >>> consensus_tile(ensemble, rows=(0, 1), kind="binarised").values.tolist()
    [[1.0, 0.0, 1.0, 0.0]]
    """
    run = RunOptions(n_jobs, executor=executor)
    check_choice(kind, get_args(Kind), name="kind")
    seed = check_random_state(random_state)
    partitions = (
        ensemble.ensemble
        if isinstance(ensemble, TileSource)
        else check_ensemble(ensemble, alternatives=" or a TileSource")
    )
    height, width = _whole_pair(shape, "shape")
    whole = (0, partitions.n_samples)
    row_edges = _edges(whole if rows is None else rows, height, whole, "rows")
    col_edges = _edges(whole if cols is None else cols, width, whole, "cols")
    if threshold is not None and kind == "consensus":
        raise ValueError(
            f"threshold is {plain_repr(threshold)}, but kind 'consensus' has none; "
            "leave it out or choose 'binarised'."
        )
    low, high = min(row_edges[0], col_edges[0]), max(row_edges[-1], col_edges[-1])
    source, shift = _source(ensemble, order, low, high)
    if kind == "consensus":
        values = _mean_consensus(source, row_edges - shift, col_edges - shift)
        return Tile(values, row_edges, col_edges, kind, None, exact=True)
    if threshold is None:
        threshold = source.threshold
    threshold = check_range(
        threshold, 0, partitions.n_votes + 1, name="threshold", integer=True
    )
    values, sampled = _joined_share(
        source,
        (row_edges - shift, col_edges - shift),
        threshold,
        seed,
        run,
    )
    exact = sampled is None
    return Tile(values, row_edges, col_edges, kind, threshold, exact, sampled)


def _edges(span: Range, n_pixels: int, whole: Range, name: str) -> IntArray:
    """Split a range into pixels as evenly as possible; return their bounds."""
    start, stop = _whole_pair(span, name)
    if not whole[0] <= start < stop <= whole[1]:
        raise ValueError(
            f"{name} is {plain_repr(tuple(span))}; give a half-open range of "
            f"positions within {whole}."
        )
    n_pixels = check_range(n_pixels, 1, _MOST_PIXELS, name="shape", integer=True)
    n_pixels = min(n_pixels, stop - start)
    return start + np.arange(n_pixels + 1) * (stop - start) // n_pixels


def _whole_pair(pair: Any, name: str) -> tuple[int, int]:
    """Return two whole numbers."""
    try:
        first, second = (
            check_range(i, 0, 2**62, name=name, integer=True) for i in pair
        )
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} is {plain_repr(pair)}; give a pair of whole numbers of at least 0."
        ) from None
    return first, second


def _source(
    ensemble: Ensemble | TileSource, order: npt.ArrayLike | None, low: int, high: int
) -> tuple[TileSource, int]:
    """Return prepared samples that include positions low to high, and their start."""
    if isinstance(ensemble, Ensemble):
        positions = check_order(order, ensemble.n_samples)[low:high]
        return TileSource.of_some(ensemble, positions), low
    if order is not None:
        raise ValueError(
            "order is fixed by the TileSource; leave it out or prepare another source."
        )
    return ensemble, 0


def _mean_consensus(
    source: TileSource, row_edges: IntArray, col_edges: IntArray
) -> TileArray:
    """Compute the mean consensus of each pixel (h, w), by groups of models."""
    joined = np.zeros((len(row_edges) - 1, len(col_edges) - 1), dtype=np.float32)
    seen = np.full_like(joined, source.votes.sum())
    same = np.array_equal(row_edges, col_edges)
    n_columns = _PROFILE_ENTRIES // max(joined.shape)
    for models in _model_groups(source.starts, n_columns):
        columns = _profile(source, col_edges, models)
        rows = columns if same else _profile(source, row_edges, models)
        sizes = np.diff(source.starts)[slice(*models)]
        votes = np.repeat(source.votes[slice(*models)], sizes).astype(np.float32)
        if source.ensemble.is_partial:
            gaps = _gap_columns(source, models)
            unseen = votes[gaps] * columns[:, gaps]
            seen -= rows[:, gaps] @ (votes[gaps] - unseen).T + unseen.sum(axis=1)
            votes[gaps] = 0
        joined += rows @ (columns * votes).T
    for t in np.flatnonzero(np.diff(source.starts) == 0).tolist():
        rows, columns = (_sparse_profile(source, e, t) for e in (row_edges, col_edges))
        if source.ensemble.is_partial:
            shares = np.outer(rows.sum(axis=1), columns.sum(axis=1))
            seen -= (source.votes[t] * (1 - shares)).astype(np.float32)
        joined += source.votes[t] * (rows @ columns.T).toarray()
    unknown = seen < _ROUNDING * source.votes.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.where(unknown, np.float32(np.nan), joined / seen)
    return np.minimum(values, np.float32(1))


def _gap_columns(source: TileSource, models: Range) -> IntArray:
    """Find the columns of the profile of some models that hold their gaps."""
    starts, gaps = source.starts[models[0] : models[1] + 1], source.gaps[slice(*models)]
    partial = np.diff(starts) > gaps
    return (starts[:-1] - starts[0] + gaps)[partial]


def _model_groups(starts: npt.NDArray[np.int64], most: int) -> Iterator[Range]:
    """Yield ranges of models with at most so many clusters, or of one model."""
    first = 0
    for last in range(1, len(starts)):
        ends = last == len(starts) - 1
        if ends or starts[last + 1] - starts[first] > most:
            yield first, last
            first = last


def _profile(source: TileSource, edges: IntArray, models: Range) -> TileArray:
    """Compute the share of each bin's samples in each cluster, (n_bins, n_columns)."""
    counts = count_in_bins(source, edges, models)
    sizes = np.diff(edges)[:, None].astype(np.float32)
    return np.divide(counts, sizes, dtype=np.float32)


def _sparse_profile(source: TileSource, edges: IntArray, model: int) -> Any:
    """Compute the same as a sparse array for one model with very many clusters."""
    sizes = np.diff(edges)
    codes = source.codes[edges[0] : edges[-1], model].astype(np.int64)
    bins = np.repeat(np.arange(len(sizes)), sizes)
    shares = np.repeat(1 / sizes, sizes).astype(np.float32)
    shares[codes == source.gaps[model]] = 0
    shape = (len(sizes), int(source.codes[:, model].max()) + 1)
    return coo_array((shares, (bins, codes)), shape=shape).tocsr()


def _joined_share(
    source: TileSource,
    edges: tuple[IntArray, IntArray],
    threshold: int,
    random_state: int,
    run: RunOptions,
) -> tuple[TileArray, int | None]:
    """Compute each pixel's share of pairs that enough models join, and the draw."""
    sampled = _n_drawn(edges, len(source.votes))
    rng = np.random.default_rng(random_state)
    (rows, row_bins), (cols, col_bins) = (_draw(e, sampled, rng) for e in edges)
    n_votes = int(source.votes.sum())
    kind = np.result_type(source.codes.dtype, np.min_scalar_type(n_votes))
    row_codes, col_codes = (
        np.ascontiguousarray(source.codes[positions].T, dtype=kind)
        for positions in (rows, cols)
    )
    shape = (len(edges[0]) - 1, len(edges[1]) - 1)
    pairs = np.outer(np.bincount(row_bins), np.bincount(col_bins))
    joined, unseen = np.zeros((2, *shape), dtype=np.int64)
    starts = range(0, len(cols), TILE_COLUMNS)
    blocks = [(start, min(start + TILE_COLUMNS, len(cols))) for start in starts]
    votes = source.votes.astype(kind)
    bins = (row_bins, col_bins, shape[0])

    def count(*block: int) -> Any:
        if not source.ensemble.is_partial:
            return _count_joined(row_codes, col_codes, votes, threshold, *bins, *block)
        gaps = (source.gaps, source.votes, n_votes)
        return _count_seen(row_codes, col_codes, *gaps, threshold, *bins, *block)

    parts = run_blocks(count, blocks, [stop - start for start, stop in blocks], run)
    for (start, _), (part, missed) in zip(blocks, parts, strict=True):
        left = col_bins[start]
        joined[:, left : left + part.shape[1]] += part
        unseen[:, left : left + part.shape[1]] += missed
    seen = pairs - unseen
    share = np.divide(joined, seen, out=np.full(shape, np.nan), where=seen > 0)
    return share.astype(np.float32), sampled


def _n_drawn(edges: tuple[IntArray, IntArray], n_models: int) -> int | None:
    """Samples to draw from each row and column of pixels, None for all of them."""
    spans = [int(e[-1] - e[0]) for e in edges]
    if math.prod(spans) * n_models <= _PAIR_COMPARISONS:
        return None
    n_pixels = math.prod(len(e) - 1 for e in edges)
    n_drawn = max(1, math.isqrt(_PAIR_COMPARISONS // (n_pixels * n_models)))
    return n_drawn if max(int(np.diff(e).max()) for e in edges) > n_drawn else None


def _draw(
    edges: IntArray, n_drawn: int | None, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw positions from each bin; return them with their bins.

    One position from each of n_drawn equal parts of a bin: every position of the bin is
    equally likely. All positions if no bin holds more than n_drawn.
    """
    sizes = np.diff(edges)
    if n_drawn is None or sizes.max() <= n_drawn:
        return np.arange(edges[0], edges[-1]), np.repeat(np.arange(len(sizes)), sizes)
    parts = (np.arange(n_drawn) + rng.random((len(sizes), n_drawn))) / n_drawn
    offsets = np.minimum((parts * sizes[:, None]).astype(np.int64), sizes[:, None] - 1)
    positions = edges[:-1, None] + offsets
    return positions.ravel(), np.repeat(np.arange(len(sizes)), n_drawn)


@kernel()
def _count_joined(  # type: ignore[no-untyped-def]
    row_codes, col_codes, votes, threshold, row_bins, col_bins, n_rows, start, stop
):
    """Count pairs with enough votes by pixel, for columns start to stop."""
    left = col_bins[start]
    joined = np.zeros((n_rows, col_bins[stop - 1] - left + 1), np.int64)
    tile = column_tile(col_codes, start, stop)
    count = np.empty(TILE_COLUMNS, row_codes.dtype)
    for i in range(row_codes.shape[1]):
        count_votes(row_codes, votes, i, tile, count)
        for j in range(start, stop):
            joined[row_bins[i], col_bins[j] - left] += count[j - start] >= threshold
    return joined, np.zeros_like(joined)


@kernel()
def _count_seen(  # type: ignore[no-untyped-def]
    row_codes,
    col_codes,
    gaps,
    votes,
    n_votes,
    threshold,
    row_bins,
    col_bins,
    n_rows,
    start,
    stop,
):
    """Count joined pairs and pairs that no vote saw, for partial partitions."""
    left = col_bins[start]
    joined = np.zeros((n_rows, col_bins[stop - 1] - left + 1), np.int64)
    unseen = np.zeros_like(joined)
    together = np.empty(stop - start, np.int64)
    seen = np.empty(stop - start, np.int64)
    for i in range(row_codes.shape[1]):
        for j in range(stop - start):
            together[j], seen[j] = 0, 0
        for t in range(row_codes.shape[0]):
            code = np.int64(row_codes[t, i])
            if code == gaps[t]:
                continue
            for j in range(stop - start):
                other = np.int64(col_codes[t, start + j])
                seen[j] += votes[t] if other != gaps[t] else 0
                together[j] += votes[t] if other == code else 0
        for j in range(stop - start):
            at = col_bins[start + j] - left
            unseen[row_bins[i], at] += seen[j] == 0
            if seen[j] and together[j] * n_votes >= threshold * seen[j]:
                joined[row_bins[i], at] += 1
    return joined, unseen
