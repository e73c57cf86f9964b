"""Internal indices made of distances between samples: quadratic time, linear memory.

Distances are computed row by row and reduced at once; no n x n matrix is made. Each
index is a function of `Clusters` and needs one pass over the pairs, the C index about
five. A pass takes 0.1 to 0.5 n^2 d nanoseconds on two cores (n samples, d features).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.indices._clusters import (
    Clusters,
    Undefined,
    need_two_to_n_clusters,
    ratio,
)

N_BINS = 1 << 14
_BLOCK_PAIRS = 1 << 24  # some 30 ms: how soon a caller's cancel is noticed

_Result = TypeVar("_Result")


@dataclass(frozen=True, eq=False)
class RowDistances:
    """Distances of each sample to its own cluster and to the rest, arrays (n_samples,).

    The sums of an own cluster include the sample itself (0). `other_mean` is the mean
    distance to the nearest other cluster in that sense; it and `other_min` are infinite
    where there is one cluster.
    """

    own_sum: FloatArray
    other_sum: FloatArray
    own_max: FloatArray
    other_min: FloatArray
    other_mean: FloatArray


def c_index(clusters: Clusters) -> float:
    """Sum of within distances, from the least to the greatest sum of as many pairs."""
    n_within = _n_within_pairs(clusters)
    n_pairs = _n_pairs(clusters)
    within = row_distances(clusters).own_sum.sum() / 2
    smallest, rest, total = sums_of_smallest(
        clusters, (n_within, n_pairs - n_within, n_pairs)
    )
    largest = total - rest
    if largest - smallest <= 1e-12 * total:
        raise Undefined("all choices of as many pairs have the same sum of distances")
    return float(np.clip((within - smallest) / (largest - smallest), 0, 1))


def dunn(clusters: Clusters) -> float:
    """Least distance between clusters over the largest cluster diameter."""
    rows = row_distances(clusters)
    if clusters.n_clusters < 2:
        raise Undefined("there is one cluster, so no distance between clusters")
    return ratio(rows.other_min.min(), rows.own_max.max(), "every cluster diameter")


def dunn_first_two_classes(clusters: Clusters) -> float:
    """Dunn with the gap of the two lowest labels alone, a slip in published code."""
    if clusters.n_clusters < 2:
        raise Undefined("there is one cluster, so no distance between clusters")
    chosen = np.isin(clusters.labels, np.unique(clusters.labels)[:2])
    pair = Clusters.sort(clusters.X[chosen], clusters.labels[chosen], clusters.run)
    gap = row_distances(pair).other_min.min()
    return ratio(gap, row_distances(clusters).own_max.max(), "every cluster diameter")


def dhi_paper(clusters: Clusters) -> float:
    """Sum of the mean distances inside over those from each cluster to the rest."""
    rows = row_distances(clusters)
    sizes = clusters.sizes
    within = clusters.sum_by_cluster(rows.own_sum) / sizes**2
    if clusters.n_clusters < 2:
        raise Undefined("there is one cluster, so nothing outside it")
    outside = clusters.sum_by_cluster(rows.other_sum)
    outside = outside / (sizes * (clusters.n_samples - sizes))
    return ratio(within.sum(), outside.sum(), "every distance between clusters")


def mcclain_rao(clusters: Clusters) -> float:
    """Mean distance of the pairs within clusters over that of the pairs between."""
    rows = row_distances(clusters)
    n_within = _n_within_pairs(clusters)
    n_between = _n_pairs(clusters) - n_within
    within = ratio(rows.own_sum.sum() / 2, n_within, "the number of pairs within")
    between = ratio(rows.other_sum.sum() / 2, n_between, "the number of pairs between")
    return ratio(within, between, "every distance between clusters")


def silhouette(clusters: Clusters) -> float:
    """Rousseeuw's silhouette, averaged over samples; 0 for those alone."""
    # The values of scikit-learn's silhouette_score, which takes up to twenty times
    # longer and cannot be cancelled.
    need_two_to_n_clusters(clusters)
    rows, sizes = row_distances(clusters), clusters.sizes[clusters.codes]
    inside = rows.own_sum / np.maximum(sizes - 1, 1)
    larger = np.maximum(inside, rows.other_mean)
    gain = np.where(sizes > 1, rows.other_mean - inside, 0.0)
    return float(
        np.mean(np.divide(gain, larger, np.zeros_like(gain), where=larger > 0))
    )


def silhouette_paper(clusters: Clusters) -> float:
    """Silhouette with b the distance to the nearest other mean, a including itself."""
    inside = row_distances(clusters).own_sum / clusters.sizes[clusters.codes]
    outside = clusters.nearest_other_mean
    larger = np.maximum(inside, outside)
    if (larger == 0).any():
        raise Undefined(
            "a sample lies on another cluster mean and on its whole cluster"
        )
    return float(np.mean((outside - inside) / larger))


def xie_beni_desgraupes(clusters: Clusters) -> float:
    """WGSS / n over the smallest squared distance between samples of two clusters."""
    if clusters.n_clusters < 2:
        raise Undefined("there is one cluster, so no distance between clusters")
    gap = row_distances(clusters).other_min.min() ** 2
    return ratio(
        clusters.wgss / clusters.n_samples, gap, "the gap between two clusters"
    )


def row_distances(clusters: Clusters) -> RowDistances:
    """Reduce the distances of each sample to its own cluster and to the others."""
    columns = np.ascontiguousarray(clusters.X.T)
    out = np.empty((5, clusters.n_samples))

    def reduce_rows(start: int, stop: int) -> None:
        _reduce_rows(columns, clusters.codes, clusters.bounds, start, stop, out)

    for _ in _over_row_blocks(clusters, reduce_rows):
        pass
    return RowDistances(*out)


def sums_of_smallest(clusters: Clusters, ranks: tuple[int, ...]) -> FloatArray:
    """Sum the r smallest distances over all pairs of samples, for each rank r.

    Notes
    -----
    A histogram of the distances is narrowed on the bin that holds the r-th smallest
    until what that bin leaves open is below rounding: memory O(1) beside the samples.
    """
    columns = np.ascontiguousarray(clusters.X.T)
    widest = float(np.linalg.norm(np.ptp(clusters.X, axis=0)))
    whole = _histogram(clusters, columns, 0.0, widest)
    return np.array(
        [_sum_of_smallest(clusters, columns, whole, widest, rank) for rank in ranks]
    )


def _sum_of_smallest(
    clusters: Clusters,
    columns: FloatArray,
    whole: tuple[IntArray, FloatArray],
    widest: float,
    rank: int,
) -> float:
    """Sum the `rank` smallest distances, starting from the histogram of all."""
    (counts, sums), low, width = whole, 0.0, widest / N_BINS
    while True:
        reached = np.cumsum(counts)
        cut = int(np.searchsorted(reached, rank))
        missing = rank - (reached[cut - 1] if cut else 0)
        total = float(sums[:cut].sum() + missing * sums[cut] / max(counts[cut], 1))
        left_open = min(missing, counts[cut] - missing) * width
        if left_open <= max(1e-14 * total, 1e-18 * widest * rank):
            return total
        # One bin more on each side, so that rounding at an edge loses no pair.
        low, high = low + (cut - 2) * width, low + (cut + 1) * width
        counts, sums = _histogram(clusters, columns, low, high)
        width = (high - low) / N_BINS


def _histogram(
    clusters: Clusters, columns: FloatArray, low: float, high: float
) -> tuple[IntArray, FloatArray]:
    """Count and sum pair distances: below low, in N_BINS bins up to high, above."""

    def count_rows(start: int, stop: int) -> tuple[IntArray, FloatArray]:
        counts, sums = np.zeros(N_BINS + 2, np.int64), np.zeros(N_BINS + 2)
        scale = N_BINS / (high - low) if high > low else 0.0
        _count_rows(columns, start, stop, low, scale, counts, sums)
        return counts, sums

    counts, sums = np.zeros(N_BINS + 2, np.int64), np.zeros(N_BINS + 2)
    for block_counts, block_sums in _over_row_blocks(clusters, count_rows):
        counts += block_counts
        sums += block_sums
    return counts, sums


def _over_row_blocks(
    clusters: Clusters, reduce: Callable[[int, int], _Result]
) -> Iterator[_Result]:
    """Apply reduce(start, stop) to short blocks of rows on threads, in order."""
    step = max(1, _BLOCK_PAIRS // clusters.n_samples)
    starts = range(0, clusters.n_samples, step)
    blocks = [(start, min(start + step, clusters.n_samples)) for start in starts]
    return run_blocks(reduce, blocks, [1] * len(blocks), clusters.run)


def _n_pairs(clusters: Clusters) -> int:
    """Number of pairs of samples."""
    return clusters.n_samples * (clusters.n_samples - 1) // 2


def _n_within_pairs(clusters: Clusters) -> int:
    """Number of pairs of samples of one cluster."""
    return int((clusters.sizes * (clusters.sizes - 1) // 2).sum())


@kernel(fast_sums=True)
def _distances_from(columns: FloatArray, i: int, first: int, out: FloatArray) -> None:
    """Write the distances of sample i to samples first, first + 1, ... of (d, n)."""
    out[:] = 0.0
    for f in range(columns.shape[0]):
        centre = columns[f, i]
        column = columns[f, first:]
        for j in range(len(out)):
            difference = column[j] - centre
            out[j] += difference * difference
    for j in range(len(out)):
        out[j] = np.sqrt(out[j])


@kernel(fast_sums=True)
def _reduce_rows(
    columns: FloatArray,
    codes: IntArray,
    bounds: IntArray,
    start: int,
    stop: int,
    out: FloatArray,
) -> None:
    """Fill columns start to stop of the fields of RowDistances, (5, n)."""
    row = np.empty(columns.shape[1])
    for i in range(start, stop):
        _distances_from(columns, i, 0, row)
        other_sum, other_min, other_mean = 0.0, np.inf, np.inf
        for k in range(len(bounds) - 1):
            to_cluster = row[bounds[k] : bounds[k + 1]]
            if k == codes[i]:
                out[0, i], out[2, i] = to_cluster.sum(), to_cluster.max()
                continue
            cluster_sum = to_cluster.sum()
            other_sum += cluster_sum
            other_min = min(other_min, to_cluster.min())
            other_mean = min(other_mean, cluster_sum / len(to_cluster))
        out[1, i], out[3, i], out[4, i] = other_sum, other_min, other_mean


@kernel(fast_sums=True)
def _count_rows(
    columns: FloatArray,
    start: int,
    stop: int,
    low: float,
    scale: float,
    counts: IntArray,
    sums: FloatArray,
) -> None:
    """Add the pairs (i, j), start <= i < stop, i < j, to bins (N_BINS + 2,)."""
    n = columns.shape[1]
    last = len(counts) - 1
    buffer = np.empty(n)
    for i in range(start, stop):
        row = buffer[: n - i - 1]
        _distances_from(columns, i, i + 1, row)
        for distance in row:
            position = (distance - low) * scale
            if position < 0:
                bin_index = 0
            elif position < last - 1:
                bin_index = int(position) + 1
            else:
                bin_index = last
            counts[bin_index] += 1
            sums[bin_index] += distance
