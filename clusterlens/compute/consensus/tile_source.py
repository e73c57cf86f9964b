"""Tile sources: an ensemble in some order of its samples, prepared for its heatmap.

The codes are stored sample by sample in the order shown, together with the number of
samples of each cluster before each block of samples. The number between any two
positions then follows from two rows of counts and the remainders of two blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import (
    Frozen,
    IntArray,
    as_array,
    check_memory,
    check_range,
    read_only,
)
from clusterlens.compute.ensemble.agreement import mean_threshold
from clusterlens.compute.ensemble.ensemble import (
    Ensemble,
    check_ensemble,
    distinct_votes,
)

SOURCE_BYTES = 4_000_000_000

_RUNNING_BYTES = 256_000_000
_SMALLEST_BLOCK = 64
_WIDE = 16_384  # clusters of a partition from which its profile is sparse


@dataclass(frozen=True, eq=False, init=False, repr=False)
class TileSource(Frozen):
    """An ensemble in some order of its samples, prepared for tiles.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    order : array-like of int, shape (n_samples,), optional
        Permutation: the samples from the first row to the last. Default file order.
    max_bytes : int, default 4e9
        Limit of its memory.

    Attributes
    ----------
    votes : array of int64, shape (n_models,)
        Votes of the identical partitions behind each distinct one.
    codes : array of unsigned int, shape (n_samples, n_models)
        Codes of the distinct partitions, samples in order.
    running : array of uint32, shape (n_blocks + 1, n_columns)
        Number of samples of each cluster before each block boundary.
    gaps : array of int64, shape (n_models,)
        Code of the samples that each distinct partition leaves out. Only partial
        partitions use it; no vote joins these samples.
    starts : array of int64, shape (n_models + 1,)
        Columns of `running` where the clusters of a partition begin and end; none for
        partitions with very many clusters, which have sparse profiles.

    Raises
    ------
    ValueError
        If order is not a permutation of the samples.
    MemoryError
        If it would take more than max_bytes; nothing has been allocated then.

    Notes
    -----
    O(n T) time. Memory: the codes again plus at most 256 MB of running counts; see
    `nbytes`.

    Examples
    --------
    >>> source = TileSource(Ensemble([[0, 1, 0, 1], [0, 0, 0, 1]]), order=[0, 2, 1, 3])
    >>> source.codes.tolist()
    [[0, 0], [0, 0], [1, 0], [1, 1]]
    >>> source.nbytes
    24
    """

    ensemble: Ensemble
    order: IntArray
    codes: npt.NDArray[Any]
    running: npt.NDArray[np.uint32]
    block: int
    votes: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    gaps: npt.NDArray[np.int64]

    def __init__(
        self,
        ensemble: Ensemble,
        order: npt.ArrayLike | None = None,
        *,
        max_bytes: int = SOURCE_BYTES,
    ) -> None:
        check_ensemble(ensemble)
        max_bytes = check_range(max_bytes, 0, np.inf, name="max_bytes", integer=True)
        self._prepare(ensemble, check_order(order, ensemble.n_samples), max_bytes)

    @classmethod
    def of_some(cls, ensemble: Ensemble, samples: IntArray) -> TileSource:
        """Prepare only the given samples, in the given order.

        Parameters
        ----------
        ensemble : Ensemble
            Partitions of all samples.
        samples : array of int, shape (n_some,)
            Positions of the samples, each once.

        Returns
        -------
        source : TileSource
            Its pixels show the given samples.
        """
        source = object.__new__(cls)
        source._prepare(ensemble, samples, SOURCE_BYTES)
        return source

    def _prepare(self, ensemble: Ensemble, order: IntArray, max_bytes: int) -> None:
        """Fill the fields for the samples of order, all or some."""
        first, votes = distinct_votes(ensemble)
        gaps = ensemble.n_codes[first]
        sizes = gaps + (ensemble.n_gaps[first] > 0)
        narrow = np.where(sizes > _WIDE, 0, sizes)
        starts = np.concatenate([[0], np.cumsum(narrow)])
        block = _block_size(len(order), int(starts[-1]))
        shape = (len(order) // block + 1, int(starts[-1]))
        itemsize = ensemble.codes_and_gaps.itemsize
        check_memory(
            len(order) * len(first) * itemsize + shape[0] * shape[1] * 4,
            max_bytes,
            what=f"Tiles of {len(first)} partitions of {len(order)} samples",
            remedy="show a sample of the samples, or allow more with max_bytes.",
        )
        codes = _ordered_codes(ensemble.codes_and_gaps, first, order)
        self.__setstate__(
            {
                "ensemble": ensemble,
                "order": order,
                "codes": codes,
                "running": _running_counts(codes, starts, block, shape[0]),
                "block": block,
                "votes": votes,
                "starts": starts,
                "gaps": gaps,
            }
        )

    @property
    def nbytes(self) -> int:
        """Memory of codes and running counts in bytes."""
        return self.codes.nbytes + self.running.nbytes

    @cached_property
    def threshold(self) -> int:
        """Smallest agreement count that reaches the mean over all pairs."""
        return mean_threshold(self.ensemble)

    def __repr__(self) -> str:
        """Return the size."""
        return f"TileSource({self.ensemble!r}, {self.nbytes / 1e6:.0f} MB)"


@dataclass(frozen=True, eq=False)
class PartitionOrder:
    """Samples grouped by the clusters of one partition.

    Parameters
    ----------
    order : array of int, shape (n_samples,)
        Samples, cluster by cluster, within a cluster in file order.
    clusters : array of int, shape (n_clusters,)
        Code of each group, largest group first; the samples that a partial partition
        leaves out are a group, too, with the code `n_codes[model]`.
    sizes : array of int, shape (n_clusters,)
        Number of samples of each group.
    boundaries : array of int, shape (n_clusters + 1,)
        Positions where groups begin and end.
    """

    order: IntArray
    clusters: IntArray
    sizes: IntArray
    boundaries: IntArray


def order_by_partition(ensemble: Ensemble, model: int) -> PartitionOrder:
    """Order the samples by the clusters of one partition.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions.
    model : int
        Position of the partition, from 0 to T - 1.

    Returns
    -------
    grouped : PartitionOrder
        The permutation with the sizes and boundaries of the groups, largest first;
        groups of equal size in the order of their codes.

    Raises
    ------
    ValueError
        If there is no such partition.

    Examples
    --------
    >>> grouped = order_by_partition(Ensemble([[5, 7, 7, 5, 7]]), 0)
    >>> grouped.order.tolist(), grouped.boundaries.tolist()
    ([1, 2, 4, 0, 3], [0, 3, 5])
    """
    check_ensemble(ensemble)
    model = check_range(model, 0, ensemble.n_partitions - 1, name="model", integer=True)
    codes = ensemble.codes_and_gaps[model]
    counts = np.bincount(codes)
    clusters = np.argsort(-counts, kind="stable")
    place = np.empty_like(clusters)
    place[clusters] = np.arange(len(clusters))
    sizes = counts[clusters]
    return PartitionOrder(
        read_only(np.argsort(place[codes], kind="stable")),
        read_only(clusters),
        read_only(sizes),
        read_only(np.concatenate([[0], np.cumsum(sizes)])),
    )


def check_order(
    order: npt.ArrayLike | None, n_samples: int, *, name: str = "order"
) -> IntArray:
    """Return a permutation of the samples, the identity by default."""
    if order is None:
        return np.arange(n_samples)
    array = as_array(order, name, f"a permutation of the {n_samples} samples")
    if array.shape != (n_samples,) or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} has shape {array.shape} and type {array.dtype}; give a "
            f"permutation of the {n_samples} samples."
        )
    outside = array[(array < 0) | (array >= n_samples)]
    if outside.size:
        raise ValueError(
            f"{name} names sample {outside[0]}, but there are {n_samples}; give "
            f"indices from 0 to {n_samples - 1}."
        )
    times = np.bincount(array, minlength=n_samples)
    if times.max() > 1:
        raise ValueError(
            f"{name} names sample {times.argmax()} {times.max()} times; give each "
            "sample once."
        )
    return array.astype(np.int64)


def count_in_bins(
    source: TileSource, edges: IntArray, models: tuple[int, int]
) -> npt.NDArray[np.uint32]:
    """Count the samples of each cluster of some models between neighbouring edges.

    `edges` (n_bins + 1,) are ascending positions, `models` a half-open range of them.
    Counts (n_bins, n_columns) have one column per cluster, see `TileSource.starts`.
    """
    before = _counts_before(
        source.codes, source.running, source.block, source.starts, edges, *models
    )
    return np.diff(before, axis=0)


def _block_size(n_samples: int, n_columns: int) -> int:
    """Smallest power of two that keeps the running counts within their memory."""
    block = _SMALLEST_BLOCK
    while (n_samples // block + 1) * n_columns * 4 > _RUNNING_BYTES:
        if block > n_samples:
            break
        block *= 2
    return block


@kernel()
def _ordered_codes(codes, models, order):  # type: ignore[no-untyped-def]
    """Collect the codes of the models by sample in order, (n_samples, n_models).

    Works in blocks of samples, so that the rows written stay in the processor cache.
    """
    ordered = np.empty((order.size, models.size), codes.dtype)
    for start in range(0, order.size, _SMALLEST_BLOCK):
        stop = min(start + _SMALLEST_BLOCK, order.size)
        for t in range(models.size):
            model = models[t]
            for p in range(start, stop):
                ordered[p, t] = codes[model, order[p]]
    return ordered


@kernel()
def _running_counts(codes, starts, block, n_rows):  # type: ignore[no-untyped-def]
    """Count the samples of each cluster before positions 0, block, 2 block, ..."""
    running = np.zeros((n_rows, starts[-1]), np.uint32)
    for row in range(1, n_rows):
        for c in range(starts[-1]):
            running[row, c] = running[row - 1, c]
        for p in range((row - 1) * block, row * block):
            _add_sample(codes, starts, p, 0, codes.shape[1], running[row])
    return running


@kernel()
def _counts_before(  # type: ignore[no-untyped-def]
    codes, running, block, starts, edges, first, last
):
    """Count the samples of each cluster of models first to last before each edge."""
    low, high = starts[first], starts[last]
    before = np.empty((edges.size, high - low), np.uint32)
    for k in range(edges.size):
        row = edges[k] // block
        for c in range(low, high):
            before[k, c - low] = running[row, c]
        for p in range(row * block, edges[k]):
            _add_sample(codes, starts, p, first, last, before[k])
    return before


@kernel()
def _add_sample(codes, starts, p, first, last, counts):  # type: ignore[no-untyped-def]
    """Count the sample at position p in its cluster of each model first to last."""
    for t in range(first, last):
        if starts[t] < starts[t + 1]:
            counts[starts[t] - starts[first] + np.intp(codes[p, t])] += 1
