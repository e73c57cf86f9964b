"""The co-association matrix, plain or enhanced, for hierarchical clustering.

Only this module builds a matrix of all pairs of samples: the n (n - 1) / 2 distances
1 - A_ij in SciPy's condensed form. For a pair that a partition separates, the enhanced
matrix uses the similarity of the two clusters instead of 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.sparse import csr_array

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._validation import DataError, FloatArray, IntArray
from clusterlens.compute.consensus._links import LinkedRows
from clusterlens.compute.consensus._one_hot import Gaps, OneHotRows, sums_by_centre
from clusterlens.compute.ensemble.connected import components
from clusterlens.compute.ensemble.constraints import ConstraintError
from clusterlens.compute.formatting import whole

_LINES_PER_BLOCK = 8
_ROWS_PER_PRODUCT = 1 << 14
_TOUCHES = 1.5  # plain distances are at most 1; means with a cannot-link at least 4
ECPCS_STEPS = 20
WCT_DECAY = 0.9

LinkageMethod = Literal["single", "average", "complete"]
# Takes columns (b, T) of some rows, returns similarities to all columns (b, n_columns).
Lines = Callable[[IntArray], FloatArray]


def linkage_partition(
    rows: OneHotRows,
    group: IntArray,
    n_clusters: int,
    linkage_method: LinkageMethod,
    *,
    similarity: FloatArray | None = None,
    linked: LinkedRows | None = None,
    run: RunOptions,
) -> IntArray:
    """Cluster the samples by linkage on one minus the co-association matrix.

    Returns exactly n_clusters labels, even if merges tie, numbered in order of first
    appearance (n_samples,). Average linkage is unweighted: each sample counts once.
    `similarity` (n_columns, n_columns) replaces the plain matrix: the similarity of the
    clusters of each partition, 1 on the diagonal and 0 between partitions, for rows
    with one vote each. O(n² T) time for the matrix and O(n²) for the linkage; 8 n²
    bytes; progress counts samples.

    Links, obeyed with "average" and "complete", are distances: -1 inside a unit, so
    that it is merged first, and n² between units that must stay apart, so that the mean
    over two clusters with such a pair is at least 4. All other distances and their
    means stay in [0, 1], so the result is the same as for a linkage that never joins
    such units. Raises ConstraintError if no two clusters may be merged before
    n_clusters are left.
    """
    lines = plain_lines(rows) if similarity is None else enhanced_lines(similarity)
    columns = rows.columns[group]
    if rows.gaps is None:
        distances = condensed_distances(columns, lines, rows.n_votes, run)
    else:
        distances = partial_distances(rows, rows.gaps, columns, run)
    if linked is not None:
        _impose(distances, linked)
    tree = linkage(distances, linkage_method)
    n_samples, kept = len(group), len(group) - n_clusters
    if linked is not None:
        _refuse_dead_end(tree[:, 2], kept)
    merges = tree[:, :2].astype(np.int64)
    # Merge m makes node n + m; without the last k - 1 merges, k clusters remain.
    made = n_samples + np.arange(kept)
    edges = np.concatenate(
        [np.stack([merges[:kept, side], made], axis=1) for side in (0, 1)]
    )
    return components(edges, n_samples + kept)[:n_samples]


def _impose(distances: FloatArray, linked: LinkedRows) -> None:
    """Write the links into the distances (n (n - 1) / 2,), in place."""
    n = len(linked.group)
    unit = linked.unit_of_samples
    samples = np.flatnonzero(unit >= 0)
    i, j = (samples[side] for side in np.triu_indices(len(samples), k=1))
    cells = i * n - i * (i + 1) // 2 + j - i - 1
    distances[cells[unit[i] == unit[j]]] = -1.0
    apart = np.asarray(linked.apart[unit[i], unit[j]]).ravel() > 0
    distances[cells[apart]] = float(n) ** 2


def _refuse_dead_end(heights: FloatArray, kept: int) -> None:
    """Raise if one of the first merges joins units that links keep apart."""
    allowed = int(np.searchsorted(heights, _TOUCHES, side="right"))
    if kept > allowed:
        most = len(heights) + 1
        raise ConstraintError(
            f"n_clusters is {most - kept}, but with the cannot-links the linkage ends "
            f"at {most - allowed} clusters, each of them kept apart from all others; "
            f"ask for {most - allowed}, or use method='kmeans', which looks further.",
            (),
        )


def condensed_distances(
    columns: IntArray, lines: Lines, n_votes: int, run: RunOptions
) -> FloatArray:
    """Distances 1 - A_ij for i < j, shape (n (n - 1) / 2,), of columns (n, T)."""
    distances = condensed_sums(columns, lines, run)
    np.subtract(1.0, np.divide(distances, n_votes, out=distances), out=distances)
    # Sums of similarities may exceed T by rounding.
    return np.maximum(distances, 0.0, out=distances)


def partial_distances(
    rows: OneHotRows, gaps: Gaps, columns: IntArray, run: RunOptions
) -> FloatArray:
    """Distances 1 - a / p: a of the p votes that saw both samples join them."""
    seen = condensed_sums(columns, _seen_lines(rows, gaps), run)
    if (n_unseen := np.count_nonzero(seen == 0)) > 0:
        raise DataError(
            f"ensemble has {whole(int(n_unseen))} pairs of samples that no model saw "
            "together, and so no distance between them; use method='kmeans', which "
            "needs none, or keep the samples that more models saw, with "
            "ensemble.take_samples."
        )
    joined = condensed_sums(columns, plain_lines(rows), run)
    np.divide(joined, seen, out=joined)
    return np.subtract(1.0, joined, out=joined)


def condensed_sums(columns: IntArray, lines: Lines, run: RunOptions) -> FloatArray:
    """Sums of the entries of line i in the columns of j, i < j, (n (n - 1) / 2,)."""
    n = len(columns)
    condensed = np.empty(n * (n - 1) // 2)

    def block(start: int, stop: int) -> None:
        table = np.ascontiguousarray(lines(columns[start:stop]))
        sums = np.empty((n - start, stop - start))
        sums_by_centre(columns[start:], table, sums)
        for i in range(start, stop):
            first = i * n - i * (i + 1) // 2
            condensed[first : first + n - i - 1] = sums[i - start + 1 :, i - start]

    starts = range(0, n - 1, _LINES_PER_BLOCK)
    blocks = [(start, min(start + _LINES_PER_BLOCK, n - 1)) for start in starts]
    work = [stop - start for start, stop in blocks]
    for _ in run_blocks(block, blocks, work, run):
        pass
    return condensed


def plain_lines(rows: OneHotRows) -> Lines:
    """Lines of the plain matrix: the one-hot rows, votes in place of the ones."""
    votes = rows.votes[None, :].astype(float)

    def lines(columns: IntArray) -> FloatArray:
        table = np.zeros((len(columns), rows.n_columns))
        np.put_along_axis(table, columns.astype(np.int64), votes, axis=1)
        if rows.gaps is not None:
            table[:, rows.gaps.missing] = 0.0
        return table

    return lines


def _seen_lines(rows: OneHotRows, gaps: Gaps) -> Lines:
    """Lines of the votes that saw both samples: a row's columns except gaps."""
    votes = np.where(gaps.missing, 0.0, rows.column_votes)

    def lines(columns: IntArray) -> FloatArray:
        seen = (~gaps.missing[columns])[:, gaps.model]
        return np.where(seen, votes, 0.0)

    return lines


def enhanced_lines(similarity: FloatArray) -> Lines:
    """Lines of the enhanced matrix: sums of similarities (n_columns, n_columns)."""
    return lambda columns: similarity[columns].sum(axis=1)


def column_overlaps(rows: OneHotRows) -> FloatArray:
    """Samples in both of two clusters, H' H, shape (n_columns, n_columns)."""
    overlaps = np.zeros((rows.n_columns, rows.n_columns))
    for start in range(0, rows.n_rows, _ROWS_PER_PRODUCT):
        block = rows.take(np.arange(start, min(start + _ROWS_PER_PRODUCT, rows.n_rows)))
        one_hot = as_sparse(block)
        weighted = one_hot.multiply(block.weights[:, None]).tocsr()
        overlaps += (one_hot.T @ weighted).toarray()
    return overlaps


def as_sparse(rows: OneHotRows) -> csr_array:
    """The one-hot rows as a sparse matrix, shape (n_rows, n_columns)."""
    ones = np.ones(rows.columns.size, np.int32)
    starts = np.arange(0, rows.columns.size + 1, rows.n_partitions)
    shape = (rows.n_rows, rows.n_columns)
    return csr_array((ones, rows.columns.ravel().astype(np.int32), starts), shape=shape)


def column_jaccard(rows: OneHotRows) -> FloatArray:
    """Jaccard coefficients of all pairs of clusters, zero diagonal: (n_columns,)²."""
    jaccard = column_overlaps(rows)
    sizes = jaccard.diagonal().copy()
    jaccard /= sizes[:, None] + sizes[None, :] - jaccard
    np.fill_diagonal(jaccard, 0.0)
    return jaccard


def ecpcs_similarity(rows: OneHotRows, *, steps: int = ECPCS_STEPS) -> FloatArray:
    """Similarity of clusters by random walks between overlapping clusters, (d, d).

    P holds the Jaccard coefficients, rows divided by their sums. The similarity of two
    clusters is the cosine of their trajectories, the rows of P, P², ..., P^steps side
    by side: in [0, 1], 1 on the diagonal. It is 0 between clusters of different
    partitions, because these pairs are not needed, and for a cluster that overlaps no
    other. O(d³ steps) time and 48 d² bytes for d clusters in all.

    References
    ----------
    Huang, Wang, Peng, Lai & Kwoh, "Enhanced ensemble clustering via fast propagation
    of cluster-wise similarities", IEEE Trans. SMC: Systems 51, 2021,
    doi:10.1109/TSMC.2018.2876202.
    """
    walk = column_jaccard(rows)
    walk /= np.maximum(walk.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    reached, products = walk.copy(), walk @ walk.T
    for _ in range(steps - 1):
        reached = reached @ walk
        products += reached @ reached.T
    lengths = np.sqrt(products.diagonal())
    scale = np.where(lengths > 0, lengths, np.inf)
    return _within_partitions(rows, products / np.outer(scale, scale))


def wct_similarity(rows: OneHotRows, *, decay: float = WCT_DECAY) -> FloatArray:
    """Similarity of clusters by weighted connected triples, (d, d).

    decay sum_w min(J_uw, J_vw) / (largest such sum), J the Jaccard coefficients: in [0,
    1], 1 on the diagonal, 0 between clusters of different partitions. O(d sum_t k_t²)
    time and 16 d² bytes for d clusters in all, k_t in partition t.

    References
    ----------
    Iam-On, Boongoen, Garrett & Price, "A link-based approach to the cluster ensemble
    problem", IEEE TPAMI 33, 2011, doi:10.1109/TPAMI.2011.84.
    """
    jaccard = column_jaccard(rows)
    triples = np.zeros_like(jaccard)
    for low, high in _partition_ranges(rows):
        for u in range(low, high):
            shared = np.minimum(jaccard[low:high], jaccard[u]).sum(axis=1)
            triples[u, low:high] = shared
    np.fill_diagonal(triples, 0.0)
    largest = max(float(triples.max()), np.finfo(float).tiny)
    return _within_partitions(rows, decay * triples / largest)


def _partition_ranges(rows: OneHotRows) -> list[tuple[int, int]]:
    """Half-open range of the columns of each partition."""
    highs = rows.columns.max(axis=0).astype(np.int64) + 1
    return list(zip([0, *highs[:-1].tolist()], highs.tolist(), strict=True))


def _within_partitions(rows: OneHotRows, similarity: FloatArray) -> FloatArray:
    """Keep the diagonal blocks (partitions) of similarity (d, d); the diagonal is 1."""
    kept = np.zeros_like(similarity)
    for low, high in _partition_ranges(rows):
        kept[low:high, low:high] = similarity[low:high, low:high]
    np.fill_diagonal(kept, 1.0)
    return kept
