"""Baseline: distributions of the columns of a table, as counts in a few bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clusterlens.compute._validation import FloatArray, Frozen, IntArray, read_only

N_BINS = 10


@dataclass(frozen=True, eq=False)
class Baseline(Frozen):
    """Rows of a table by the value of one column.

    Parameters
    ----------
    name : str
        The column.
    edges : array of float64, shape (n_bins - 1,)
        Edges between the bins of numbers, ascending: distinct deciles of the table.
        None for levels, which are a bin each.
    counts : array of int, shape (n_bins + 1,)
        Rows in each bin; the last bin counts missing values.
    """

    name: str
    edges: FloatArray | None
    counts: IntArray

    def count(self, values: FloatArray) -> IntArray:
        """Count other values (n,), NaN if missing, in the same bins."""
        return _counts(values, self.edges, len(self.counts) - 1)


def baselines(
    names: Sequence[str], values: FloatArray, n_levels: Sequence[int]
) -> tuple[Baseline, ...]:
    """Count values (n_rows, n_columns), which are codes in columns with levels."""
    return tuple(
        _baseline(name, column, n)
        for name, column, n in zip(names, values.T, n_levels, strict=True)
    )


def _baseline(name: str, values: FloatArray, n_levels: int) -> Baseline:
    if n_levels:
        return Baseline(name, None, read_only(_counts(values, None, n_levels)))
    known = values[~np.isnan(values)]
    inner = np.arange(1, N_BINS) / N_BINS
    edges = np.unique(np.quantile(known, inner, method="inverted_cdf"))
    counts = _counts(values, edges, len(edges) + 1)
    return Baseline(name, read_only(edges), read_only(counts))


def _counts(values: FloatArray, edges: FloatArray | None, n_bins: int) -> IntArray:
    missing = np.isnan(values)
    known = values[~missing]
    bins = known if edges is None else np.searchsorted(edges, known, side="left")
    counts = np.bincount(bins.astype(np.int64), minlength=n_bins)
    return np.append(counts, missing.sum())
