"""Contingency tables of two partitions of the same samples, and matched names."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import coo_array, csr_array, diags_array, hstack
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from clusterlens.compute._validation import (
    IntArray,
    check_classes,
    check_labels,
    check_memory,
)

MAX_TABLE_BYTES = 800_000_000

# Up to this number of clusters in the smaller partition, clusters are matched exactly:
# within half a second, for any overlaps.
EXACT_MATCHING = 10_000


def contingency_table(a: npt.ArrayLike, b: npt.ArrayLike) -> coo_array:
    """Count the samples in each pair of clusters of two partitions, (n_samples,) codes.

    Entry (k, l) of the sparse table of int64 is the number of samples in cluster k of a
    and l of b; each position is stored once. O(n_samples) time; memory O(stored
    entries).
    """
    rows, columns = np.asarray(a), np.asarray(b)
    shape = (int(rows.max()) + 1, int(columns.max()) + 1)
    flat = rows.astype(np.int64) * shape[1] + columns
    if shape[0] * shape[1] <= max(4 * flat.size, 1 << 16):
        counts = np.bincount(flat)
        cells = np.flatnonzero(counts)
        counts = counts[cells]
    else:
        cells, counts = np.unique(flat, return_counts=True)
    return coo_array((counts, (cells // shape[1], cells % shape[1])), shape=shape)


def dense_table(a: IntArray, b: IntArray) -> IntArray:
    """Contingency table of two vectors of codes as an array; refuses large tables."""
    table = contingency_table(a, b)
    check_memory(
        8 * table.shape[0] * table.shape[1],
        MAX_TABLE_BYTES,
        what=f"The contingency table of {table.shape[0]} x {table.shape[1]} clusters",
        remedy="compare partitions with fewer clusters, or use another index.",
    )
    return table.toarray()


def cross_tab(a: npt.ArrayLike, b: npt.ArrayLike) -> pd.DataFrame:
    """Count the samples in each pair of clusters of two partitions, clusters matched.

    Parameters
    ----------
    a, b : array-like of int or str, shape (n_samples,)
        Labels of two partitions, or of a partition and given classes. Missing entries
        (None, NaN, NA) are refused: leave out their samples in both.

    Returns
    -------
    table : DataFrame of int64, shape (n_clusters of a, n_clusters of b)
        Rows are the clusters of a, columns those of b. Clusters matched one to one (see
        `match_labels`) come first and face each other on the diagonal, by name of a;
        the others follow by name.

    Raises
    ------
    ValueError
        If lengths disagree or labels are missing.
    MemoryError
        If the table would have more than 10^8 cells.

    Notes
    -----
    O(n_samples + K²) time and memory for K clusters, and the time of matching. The sum
    of the diagonal over n_samples is the matched accuracy.

    Examples
    --------
    >>> cross_tab([0, 0, 1, 1, 1], ["u", "u", "t", "t", "u"])
       u  t
    0  2  0
    1  1  2
    """
    rows, row_names = check_classes(a, name="a")
    columns, column_names = check_classes(b, n_samples=len(rows), name="b")
    counts = dense_table(rows, columns)
    matches = match_clusters(contingency_table(rows, columns))
    row_order, column_order = (
        np.r_[matched, np.setdiff1d(np.arange(size), matched)]
        for size, matched in zip(counts.shape, matches, strict=True)
    )
    table = pd.DataFrame(counts, index=row_names, columns=column_names)
    return table.iloc[row_order].iloc[:, column_order]


def match_labels(reference: npt.ArrayLike, labels: npt.ArrayLike) -> IntArray:
    """Rename the clusters of one partition after the clusters of another.

    Parameters
    ----------
    reference : array-like of int, shape (n_samples,)
        Partition with the names to keep.
    labels : array-like of int, shape (n_samples,)
        Partition to rename.

    Returns
    -------
    renamed : array of int64, shape (n_samples,)
        The same partition as `labels`. Clusters matched one to one with clusters of the
        reference have their names; the others have new names above all names of the
        reference.

    Notes
    -----
    The matching has the largest total overlap if either partition has at most 10,000
    clusters. Otherwise the pairs of clusters are taken by descending overlap, which
    reaches at least half of the largest total. O(n_samples) memory; half a second for
    10,000 clusters.

    References
    ----------
    Jonker, R., Volgenant, A. A shortest augmenting path algorithm for dense and sparse
    linear assignment problems. Computing 38 (1987).
    """
    ref_codes, ref_names = pd.factorize(check_labels(reference, name="reference"))
    n_samples = len(ref_codes)
    codes, names = pd.factorize(check_labels(labels, n_samples=n_samples))
    rows, columns = match_clusters(contingency_table(codes, ref_codes))
    new_names = np.empty(len(names), dtype=np.int64)
    new_names[rows] = ref_names[columns]
    unmatched = np.setdiff1d(np.arange(len(names)), rows)
    new_names[unmatched] = int(ref_names.max()) + 1 + np.arange(len(unmatched))
    return new_names[codes]


def match_clusters(table: coo_array) -> tuple[IntArray, IntArray]:
    """Match rows and columns of a contingency table one to one by their overlap.

    Returns the pairs of overlapping clusters as two vectors (n_matched,), by ascending
    row; see the Notes of `match_labels`.
    """
    if table.shape[0] > table.shape[1]:
        columns, rows = match_clusters(table.T)
        order = np.argsort(rows)
        return rows[order], columns[order]
    if table.shape[0] > EXACT_MATCHING:
        return _match_greedily(table)
    # A column of its own for each row means "no match". All weights are one larger than
    # the overlap, because explicit zeros are not allowed.
    weights = csr_array((-table.data - 1.0, (table.row, table.col)), shape=table.shape)
    alone = diags_array(np.full(table.shape[0], -1.0))
    graph = hstack([weights, alone], format="csr")
    rows, columns = min_weight_full_bipartite_matching(graph)
    matched = columns < table.shape[1]
    return rows[matched], columns[matched]


def _match_greedily(table: coo_array) -> tuple[IntArray, IntArray]:
    """Match by descending overlap, ties by row and column."""
    order = np.lexsort((table.col, table.row, -table.data))
    free = np.ones(table.shape[1], dtype=bool)
    partner = np.full(table.shape[0], -1)
    for row, column in zip(
        table.row[order].tolist(), table.col[order].tolist(), strict=True
    ):
        if free[column] and partner[row] < 0:
            partner[row], free[column] = column, False
    rows = np.flatnonzero(partner >= 0)
    return rows, partner[rows]
