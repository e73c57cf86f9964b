"""Two partitions of the same samples side by side: counts and matched names."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array

from clusterlens.compute._validation import (
    IntArray,
    check_classes,
    check_labels,
    check_memory,
)

MAX_TABLE_BYTES = 800_000_000


def contingency_table(a: npt.ArrayLike, b: npt.ArrayLike) -> coo_array:
    """Count the samples in each pair of clusters of two partitions.

    Parameters
    ----------
    a, b : array-like of int, shape (n_samples,)
        Compact codes of two partitions.

    Returns
    -------
    table : sparse array of int64, shape (a.max() + 1, b.max() + 1)
        Entry (k, l) is the number of samples in cluster k of a and l of b; each
        position is stored once.

    Notes
    -----
    O(n_samples) time; memory O(stored entries).
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
    """Contingency table of two vectors of codes as an array, if it is not too large."""
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
        Labels of two partitions, or of a partition and given classes.

    Returns
    -------
    table : DataFrame of int64, shape (n_clusters of a, n_clusters of b)
        Rows are the clusters of a, columns those of b. Clusters matched one to one
        (largest total overlap, Hungarian method) come first and face each other on the
        diagonal, by name of a; the others follow by name.

    Raises
    ------
    ValueError
        If lengths disagree or labels are missing.
    MemoryError
        If the table would have more than 10^8 cells.

    Notes
    -----
    O(n_samples + K^3) time, O(n_samples + K^2) memory for K clusters. The sum of the
    diagonal over n_samples is the matched accuracy.

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
    row_order, column_order = (
        np.r_[matched, np.setdiff1d(np.arange(size), matched)]
        for size, matched in zip(
            counts.shape, linear_sum_assignment(counts, maximize=True), strict=True
        )
    )
    table = pd.DataFrame(counts, index=row_names, columns=column_names)
    return table.iloc[row_order].iloc[:, column_order]


def match_labels(reference: npt.ArrayLike, labels: npt.ArrayLike) -> IntArray:
    """Rename the clusters of one partition after the clusters of another.

    Parameters
    ----------
    reference : array-like of int, shape (n_samples,)
        Partition whose names are kept.
    labels : array-like of int, shape (n_samples,)
        Partition to rename.

    Returns
    -------
    renamed : array of int64, shape (n_samples,)
        The same partition as `labels`. Clusters matched one to one with those of the
        reference (largest total overlap, Hungarian method) carry their names, the
        others new names above all names of the reference.

    Notes
    -----
    O(n_samples + K^3) for K clusters.
    """
    ref_codes, ref_names = pd.factorize(check_labels(reference, name="reference"))
    n_samples = len(ref_codes)
    codes, names = pd.factorize(check_labels(labels, n_samples=n_samples))
    overlap = contingency_table(codes, ref_codes).toarray()
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    matched = overlap[rows, columns] > 0
    new_names = np.empty(len(names), dtype=np.int64)
    new_names[rows[matched]] = ref_names[columns[matched]]
    rest = np.setdiff1d(np.arange(len(names)), rows[matched])
    new_names[rest] = int(ref_names.max()) + 1 + np.arange(len(rest))
    return new_names[codes]
