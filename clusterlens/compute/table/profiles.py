"""What characterises each cluster, in the original columns and units.

Numbers and categories share one scale: the difference between the mean in the cluster
and the mean of all samples, in standard deviations of the column; for a category the
column is the 0/1 indicator of its most over-represented level.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    check_labels,
    check_range,
    read_only,
)
from clusterlens.compute.table._features import encode_columns
from clusterlens.compute.table.dataset import Dataset

_NEGLIGIBLE = 0.1  # standard deviations


@dataclass(frozen=True, eq=False)
class ClusterProfiles:
    """Sizes of the clusters and how each differs from all samples.

    Parameters
    ----------
    clusters : array of int, shape (n_clusters,)
        Labels of the clusters, ascending.
    sizes : array of int64, shape (n_clusters,)
        Number of samples in each.
    table : DataFrame of shape (n_clusters * n_columns, 7)
        One row per cluster and original feature column, by cluster and then by falling
        size of the effect: `cluster`, `column`, `level` (missing for numbers),
        `effect` (in standard deviations), `value` (mean, or share of the level, in the
        cluster), `overall` (the same among all samples), `n_missing` (in the cluster).
    """

    clusters: IntArray
    sizes: IntArray
    table: pd.DataFrame

    def top(self, cluster: int, k: int = 5) -> pd.DataFrame:
        """Return the k most characteristic columns of a cluster.

        Parameters
        ----------
        cluster : int
            A label among `clusters`.
        k : int, default 5
            Number of rows, at least 1.

        Returns
        -------
        table : DataFrame
            Rows of `table`, the largest effect first.

        Raises
        ------
        ValueError
            If there is no such cluster.
        """
        check_range(k, 1, np.inf, name="k", integer=True)
        position = self._position(cluster)
        width = len(self.table) // len(self.clusters)
        return self.table.iloc[position * width :][: min(k, width)]

    def text(self, cluster: int, k: int = 3) -> str:
        """Describe a cluster in one line of plain text.

        Parameters
        ----------
        cluster : int
            A label among `clusters`.
        k : int, default 3
            Largest number of columns to name.

        Returns
        -------
        text : str
            Like "petal length -1.3 sd (1.46), colour = red 80% (overall 30%)". Names of
            columns and levels stand as they are in the table, not escaped.
        """
        rows = self.top(cluster, k).dropna(subset="effect").to_dict("records")
        strong = [row for row in rows if abs(row["effect"]) >= _NEGLIGIBLE]
        return ", ".join(map(_phrase, strong)) or "like the average in every column"

    @cached_property
    def texts(self) -> dict[int, str]:
        """One line of plain text per cluster."""
        return {int(cluster): self.text(cluster) for cluster in self.clusters}

    def _position(self, cluster: int) -> int:
        found = np.flatnonzero(self.clusters == cluster)
        if found.size == 0:
            raise ValueError(
                f"cluster is {cluster}; give one of the labels "
                f"{', '.join(map(str, self.clusters[:10].tolist()))}."
            )
        return int(found[0])


def cluster_profiles(ds: Dataset, labels: npt.ArrayLike) -> ClusterProfiles:
    """Compare every cluster with all samples, column by column.

    Parameters
    ----------
    ds : Dataset
        A prepared dataset.
    labels : array-like of int, shape (n_samples,)
        One label per row of ds.X, in the order of ds.row_ids; -1 is a cluster too.

    Returns
    -------
    profiles : ClusterProfiles
        Effects in standard deviations; 0 is "like all samples".

    Raises
    ------
    ValueError
        If there is not one integer label per row of ds.X.

    Notes
    -----
    With m the mean of a column and s its standard deviation (ddof 0) among all samples,
    the effect of cluster k is (m_k - m) / s. For a category with share p of a level it
    is (p_k - p) / sqrt(p (1 - p)), at the level with the largest p_k - p. Missing
    values, and codes that `prepare` took for missing, are left out column by column;
    a cluster without any value in a column has effect NaN and comes last. Labels made
    from these very columns differ in them by construction: the effects describe, they
    do not test. Time and memory O(n_samples n_columns).

    Examples
    --------
    >>> from clusterlens.compute.table.dataset import prepare
    >>> ds = prepare({"size": [1.0, 2.0, 8.0, 9.0], "colour": ["a", "a", "b", "b"]})
    >>> cluster_profiles(ds, [0, 0, 1, 1]).texts[1]
    'colour = b 100% (overall 50%), size +1.0 sd (8.5)'
    """
    labels = check_labels(labels, n_samples=len(ds.row_ids))
    clusters, codes = np.unique(labels, return_inverse=True)
    rows = ds.table.index.get_indexer(pd.Index(ds.row_ids))
    features = ds.preparation.encoders_
    X, _ = encode_columns(ds.table.iloc[rows], features, "missing")
    compared = [
        _compare(column, codes, len(clusters), np.array([*feature.level_names, None]))
        for column, feature in zip(X.T, features, strict=True)
    ]
    level, effect, value, overall, n_missing = map(
        np.concatenate, zip(*compared, strict=True)
    )
    table = pd.DataFrame(
        {
            "cluster": np.tile(clusters, len(features)),
            "column": np.repeat([feature.name for feature in features], len(clusters)),
            "level": pd.Series(level, dtype="str"),
            "effect": effect,
            "value": value,
            "overall": overall,
            "n_missing": n_missing,
        }
    )
    order = np.lexsort((-np.nan_to_num(np.abs(effect), nan=-1.0), table["cluster"]))
    sizes = np.bincount(codes, minlength=len(clusters))
    table = table.iloc[order].reset_index(drop=True)
    return ClusterProfiles(read_only(clusters), read_only(sizes), table)


def _compare(
    column: FloatArray, codes: IntArray, n_clusters: int, levels: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], FloatArray, FloatArray, FloatArray, IntArray]:
    """Return level, effect, value, overall value, number missing; (n_clusters,) each.

    The names of the levels end with None, which alone stands for a column of numbers.
    """
    present = ~np.isnan(column)
    values, groups = column[present], codes[present]
    counts = np.bincount(groups, minlength=n_clusters)
    n_missing = np.bincount(codes, minlength=n_clusters) - counts
    level = np.full(n_clusters, len(levels) - 1)
    if values.size == 0:
        nothing = np.full(n_clusters, np.nan)
        return levels[level], nothing, nothing, nothing, n_missing
    with np.errstate(invalid="ignore", divide="ignore"):
        if len(levels) > 1:
            level, value, overall, effect = _shares(
                values, groups, counts, len(levels) - 1
            )
        else:
            value, overall, effect = _means(values, groups, counts)
    return levels[level], effect, value, overall, n_missing


def _means(
    values: FloatArray, groups: IntArray, counts: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean per cluster, overall mean and effect, (n_clusters,) each."""
    overall, spread = values.mean(), values.std()
    # Summing deviations keeps digits where the mean is large beside the spread.
    shift = (
        np.bincount(groups, weights=values - overall, minlength=len(counts)) / counts
    )
    effect = shift / spread if spread > 0 else np.where(counts > 0, 0.0, np.nan)
    return overall + shift, np.full(len(counts), overall), effect


def _shares(
    values: FloatArray, groups: IntArray, counts: IntArray, n_levels: int
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Return level, its share there and overall, and effect, (n_clusters,) each."""
    flat = groups.astype(np.int64) * n_levels + values.astype(np.int64)
    table = np.bincount(flat, minlength=len(counts) * n_levels)
    table = table.reshape(len(counts), n_levels)
    overall = table.sum(axis=0) / table.sum()
    shares = table / counts[:, None]
    level = np.nan_to_num(shares - overall, nan=0.0).argmax(axis=1)
    share, base = shares[np.arange(len(counts)), level], overall[level]
    spread = np.sqrt(base * (1 - base))
    effect = np.where(spread > 0, (share - base) / spread, share - base)
    return level, share, base, effect


def _phrase(row: dict[Any, Any]) -> str:
    """Say one effect in words."""
    if isinstance(row["level"], str):
        shares = f"{row['value']:.0%} (overall {row['overall']:.0%})"
        return f"{row['column']} = {row['level']} {shares}"
    return f"{row['column']} {row['effect']:+.1f} sd ({row['value']:.4g})"
