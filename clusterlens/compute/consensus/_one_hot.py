"""The one-hot rows of an ensemble: distinct samples, by their clusters.

Row i of the one-hot matrix H, shape (n_samples, n_columns), marks the cluster of sample
i in each of the p partitions, so that H H' / p is the consensus matrix. H is never
stored: a row is kept as the p columns of its ones, and equal rows are kept once with a
weight. The product of a row with a vector is then a sum of p look-ups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.ensemble.ensemble import Ensemble


@dataclass(frozen=True, eq=False)
class OneHotRows:
    """Distinct one-hot rows with their weights.

    Attributes
    ----------
    columns : array of uint, shape (n_rows, n_partitions)
        The columns that hold the ones of each row.
    weights : array of int64, shape (n_rows,)
        Number of samples with each row.
    n_columns : int
        Number of clusters of all partitions together.
    votes : array of int64, shape (n_partitions,)
        Votes of each partition: the factor of its columns.
    column_votes : array of int64, shape (n_columns,)
        Votes of the partition of each column.
    gaps : Gaps, optional
        Columns without labels, if partitions are partial.
    """

    columns: IntArray
    weights: IntArray
    n_columns: int
    votes: IntArray
    column_votes: IntArray
    gaps: Gaps | None = None

    @property
    def n_rows(self) -> int:
        """Number of distinct rows."""
        return len(self.columns)

    @property
    def n_partitions(self) -> int:
        """Number of ones in each row."""
        return int(self.columns.shape[1])

    @property
    def n_votes(self) -> int:
        """Number of votes of all partitions."""
        return int(self.votes.sum())

    def repeated(self) -> OneHotRows:
        """Return the rows with one partition for each vote."""
        if self.n_votes == self.n_partitions:
            return self
        lows, highs = self.columns.min(axis=0), self.columns.max(axis=0)
        sizes = np.repeat(highs.astype(np.int64) - lows + 1, self.votes)
        starts, n_columns = np.cumsum(sizes) - sizes, int(sizes.sum())
        codes = np.repeat(self.columns - lows, self.votes, axis=1)
        columns = (codes + starts).astype(column_type(n_columns))
        ones = np.ones(self.n_votes, np.int64), np.ones(n_columns, np.int64)
        return OneHotRows(columns, self.weights, n_columns, *ones)

    def take(self, chosen: IntArray) -> OneHotRows:
        """Return the chosen rows."""
        return replace(self, columns=self.columns[chosen], weights=self.weights[chosen])

    def compact(self) -> OneHotRows:
        """Renumber the columns if there are more than these rows can fill."""
        if self.n_columns <= self.columns.size or self.gaps is not None:
            return self
        used, flat = np.unique(self.columns, return_inverse=True)
        columns = flat.reshape(self.columns.shape).astype(self.columns.dtype)
        votes = self.column_votes[used]
        return replace(self, columns=columns, n_columns=len(used), column_votes=votes)


@dataclass(frozen=True, eq=False)
class Gaps:
    """Columns of partial partitions; each partition may have one for gaps.

    Attributes
    ----------
    model : array of int64, shape (n_columns,)
        Partition of each column.
    missing : array of bool, shape (n_columns,)
        Whether each column is for gaps.
    shares : array of float64, shape (n_columns,)
        Share of the samples seen by a model that are in each of its clusters. It
        describes a cluster to a model that saw none of its members.
    """

    model: IntArray
    missing: npt.NDArray[np.bool_]
    shares: FloatArray

    def by_model(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sum values (n_columns, k) over the clusters of each model, (T, k)."""
        counted = np.where(self.missing[:, None], 0, values)
        starts = np.flatnonzero(np.diff(self.model, prepend=-1))
        return np.add.reduceat(counted, starts, axis=0)

    def means(self, counts: IntArray) -> FloatArray:
        """Share of the seen members of k clusters in each column, (n_columns, k)."""
        seen = self.by_model(counts)[self.model]
        means = np.where(seen > 0, counts / np.maximum(seen, 1), self.shares[:, None])
        return np.where(self.missing[:, None], 0.0, means)


def one_hot_rows(ensemble: Ensemble) -> tuple[OneHotRows, IntArray]:
    """Merge the samples that no partition with a vote separates.

    Returns the distinct rows, in order of first appearance, and the row of each sample,
    (n_samples,). As many partitions at a time as fit into one 64-bit key separate the
    samples: O(n T) time; O(n) memory in addition to the distinct rows.
    """
    ensemble = ensemble.voters
    group = group_samples(ensemble)
    first = np.unique(group, return_index=True)[1]
    sizes = code_counts(ensemble)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    n_columns = int(starts[-1])
    columns = np.empty((len(first), ensemble.n_partitions), column_type(n_columns))
    for t, codes in enumerate(ensemble.codes_and_gaps):
        columns[:, t] = codes[first] + starts[t]
    votes = ensemble.votes, np.repeat(ensemble.votes, sizes)
    gaps = _gaps(ensemble, sizes, starts) if ensemble.is_partial else None
    return OneHotRows(columns, np.bincount(group), n_columns, *votes, gaps), group


def code_counts(ensemble: Ensemble) -> IntArray:
    """Number of codes of each partition (n_partitions,), including the code of gaps."""
    return ensemble.n_codes + (ensemble.n_gaps > 0)


def _gaps(ensemble: Ensemble, sizes: IntArray, starts: IntArray) -> Gaps:
    """Find the columns of all partitions that are gaps."""
    model = np.repeat(np.arange(len(sizes)), sizes)
    missing = np.arange(len(model)) - starts[model] == ensemble.n_codes[model]
    members = np.concatenate([np.bincount(codes) for codes in ensemble.codes_and_gaps])
    n_seen = ensemble.n_samples - ensemble.n_gaps
    return Gaps(model, missing, np.where(missing, 0.0, members / n_seen[model]))


def column_type(n_columns: int) -> type[np.unsignedinteger[Any]]:
    """Type of column numbers, one of two, so that kernels compile at most twice."""
    return np.uint16 if n_columns <= np.iinfo(np.uint16).max else np.uint32


def group_samples(ensemble: Ensemble) -> IntArray:
    """Number the distinct columns of the label matrix, shape (n_samples,)."""
    keys = np.zeros(ensemble.n_samples, dtype=np.int64)
    n_keys = 1
    for codes, n_clusters in zip(
        ensemble.codes_and_gaps, code_counts(ensemble).tolist(), strict=True
    ):
        if n_keys > np.iinfo(np.int64).max // n_clusters:
            keys = pd.factorize(keys)[0].astype(np.int64)
            n_keys = int(keys.max()) + 1
            if n_keys == len(keys):
                return keys
        keys = keys * n_clusters + codes
        n_keys *= n_clusters
    return pd.factorize(keys)[0].astype(np.int64)


@kernel()
def sums_by_centre(
    columns: IntArray, table: FloatArray, sums: npt.NDArray[np.float64]
) -> None:
    """Sum, for each row, its entries in each line of table (k, d): sums (n, k)."""
    for c in range(table.shape[0]):
        line = table[c]
        for i in range(columns.shape[0]):
            total = 0.0
            for t in range(columns.shape[1]):
                total += line[columns[i, t]]
            sums[i, c] = total
