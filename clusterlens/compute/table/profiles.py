"""Characteristic columns of each cluster, in the original columns and units.

Numbers and categories share one scale: the difference between the mean in the cluster
and the mean of all samples, in standard deviations of the column; for a category the
column is the 0/1 indicator of its most over-represented level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    IntArray,
    as_array,
    check_labels,
    check_range,
)
from clusterlens.compute.formatting import percent
from clusterlens.compute.table._features import Column
from clusterlens.compute.table.dataset import Dataset, check_dataset

_NEGLIGIBLE = 0.1  # standard deviations
_MOST_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class ClusterProfiles(Frozen):
    """Sizes of the clusters and the differences of each from all samples.

    Parameters
    ----------
    clusters : array of int, shape (n_clusters,)
        Labels of the clusters, ascending.
    sizes : array of int64, shape (n_clusters,)
        Number of samples in each.
    table : DataFrame of shape (n_clusters * n_columns, 9)
        One row per cluster and original feature column, by cluster and then by
        descending size of the effect: `cluster`, `column`, `level` (missing for
        numbers), `effect` (in standard deviations), `value` (mean, or share of the
        level, in the cluster), `overall` (the same in the comparison group),
        `n_missing` (in the cluster), `text` and `overall_text` (the two values as
        text).
    against : str, default "overall"
        Comparison group: "overall", all samples, or "rest".
    """

    clusters: IntArray
    sizes: IntArray
    table: pd.DataFrame
    against: str = "overall"

    def __repr__(self) -> str:
        """Return the sizes."""
        width = len(self.table) // len(self.clusters)
        return f"ClusterProfiles({len(self.clusters)} clusters x {width} columns)"

    @cached_property
    def columns(self) -> pd.Series:
        """Mean squared effect of every column, clusters weighted by size, descending.

        Clusters without any value in a column do not count for it.
        """
        sizes = pd.Series(self.sizes, index=self.clusters)
        known = self.table.dropna(subset="effect")
        weights = known["cluster"].map(sizes)
        sums = (weights * known["effect"] ** 2).groupby(known["column"]).sum()
        means = sums / weights.groupby(known["column"]).sum()
        names = self.table["column"].drop_duplicates()
        return means.reindex(names).sort_values(ascending=False, na_position="last")

    @cached_property
    def effects(self) -> pd.DataFrame:
        """Effects, shape (n_clusters, n_columns), ordered as `columns`."""
        wide = self.table.pivot(index="cluster", columns="column", values="effect")
        return wide.reindex(columns=self.columns.index)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Values as text, shape and order of `effects`."""
        wide = self.table.pivot(index="cluster", columns="column", values="text")
        return wide.reindex(columns=self.columns.index)

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
            columns and levels are as in the table, not escaped.
        """
        rows = self.top(cluster, k).dropna(subset="effect").to_dict("records")
        strong = [row for row in rows if abs(row["effect"]) >= _NEGLIGIBLE]
        phrases = [_phrase(row, self.against) for row in strong]
        return ", ".join(phrases) or "like the average in every column"

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
    ds = check_dataset(ds)
    labels = check_labels(labels, n_samples=len(ds.row_ids))
    clusters, codes = np.unique(labels, return_inverse=True)
    return _profiles(ds, clusters, codes)


def group_profile(ds: Dataset, samples: npt.ArrayLike) -> ClusterProfiles:
    """Compare any set of samples with the others, column by column.

    Parameters
    ----------
    ds : Dataset
        A prepared dataset.
    samples : array-like of int or bool
        Positions of rows of ds.X, or one truth value per row; neither none nor all.

    Returns
    -------
    profile : ClusterProfiles
        Profile of one cluster, 1, the samples. Effects are differences from the others
        in standard deviations of all samples; `overall` holds the values of the others.

    Raises
    ------
    ValueError
        If the samples are none, all, or no rows of ds.X.

    Notes
    -----
    O(n_samples n_columns).

    Examples
    --------
    >>> from clusterlens.compute.table.dataset import prepare
    >>> ds = prepare({"size": [1.0, 2.0, 8.0, 9.0], "colour": ["a", "a", "b", "b"]})
    >>> group_profile(ds, [3]).text(1)
    'size +1.5 sd (9), colour = b 100% (rest 33%)'
    """
    ds = check_dataset(ds)
    inside = group_members(samples, len(ds.row_ids))
    return _profiles(ds, np.array([1]), inside.astype(np.intp), against_rest=True)


def group_members(samples: npt.ArrayLike, n_samples: int) -> npt.NDArray[np.bool_]:
    """Return one truth value per sample (n,), checked."""
    given = as_array(samples, "samples", "positions of rows")
    if given.dtype == bool and given.shape == (n_samples,):
        inside = given
    else:
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise ValueError(
                f"samples has shape {given.shape} and type {given.dtype}; give "
                f"positions of rows, or one truth value for each of the {n_samples}."
            )
        check_range(given.min(), 0, n_samples - 1, name="samples")
        check_range(given.max(), 0, n_samples - 1, name="samples")
        inside = np.zeros(n_samples, dtype=bool)
        inside[given] = True
    if inside.all() or not inside.any():
        raise ValueError(
            f"samples are {int(inside.sum())} of {n_samples} rows; give some, so that "
            "there is a rest to compare with."
        )
    return inside


def _profiles(
    ds: Dataset, clusters: IntArray, codes: IntArray, against_rest: bool = False
) -> ClusterProfiles:
    """Compare coded groups (n,) with all samples, or group 1 with group 0."""
    encoded = ds.encoded
    n_groups = 2 if against_rest else len(clusters)
    parts = [
        _compare(x, codes, n_groups, column, against_rest)
        for x, column in zip(encoded.values.T, encoded.columns, strict=True)
    ]
    sizes = np.bincount(codes, minlength=n_groups)
    if against_rest:
        parts = [part[part["cluster"] == 1] for part in parts]
        return combine_profiles(parts, clusters, sizes[1:], "rest")
    for part in parts:
        part["cluster"] = clusters[part["cluster"]]
    return combine_profiles(parts, clusters, sizes, "overall")


def combine_profiles(
    parts: Sequence[pd.DataFrame], clusters: IntArray, sizes: IntArray, against: str
) -> ClusterProfiles:
    """Combine the rows of all columns, as `column_profile` gives them."""
    table = pd.concat(parts, ignore_index=True)
    strength = -np.nan_to_num(np.abs(table["effect"]), nan=-1.0)
    table = table.iloc[np.lexsort((strength, table["cluster"]))]
    table["level"] = table["level"].astype("str")
    return ClusterProfiles(clusters, sizes, table.reset_index(drop=True), against)


def _compare(
    values: FloatArray,
    codes: IntArray,
    n_groups: int,
    column: Column,
    against_rest: bool,
) -> pd.DataFrame:
    """Return the rows of the table for one column (n,), one per group."""
    present = ~np.isnan(values)
    found, groups = values[present], codes[present]
    counts = np.bincount(groups, minlength=n_groups)
    n_missing = np.bincount(codes, minlength=n_groups) - counts
    if column.levels:
        table = level_counts(found, groups, n_groups, len(column.levels))
        return compare_levels(column, table, n_missing, against_rest)
    spread = float(found.std()) if found.size else 0.0
    effect = value = overall = np.full(n_groups, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        if found.size:
            value, overall, effect = _means(found, groups, counts, against_rest)
    write = number_writer(column, spread, is_yes_or_no(found))
    return column_profile(column, effect, value, overall, n_missing, write)


def compare_levels(
    column: Column,
    counts: IntArray,
    n_missing: IntArray,
    against_rest: bool = False,
) -> pd.DataFrame:
    """Compare the shares of the levels of a column, counted as (n_groups, n_levels).

    Each group shows the level with the largest surplus. The others are compared with
    group 0 or, by default, with all groups together.
    """
    n_groups = len(counts)
    level = np.full(n_groups, len(column.levels))
    effect = value = overall = np.full(n_groups, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        if counts.any():
            level, value, overall, effect = _shares(counts, against_rest)
    return column_profile(column, effect, value, overall, n_missing, _share_text, level)


def column_profile(
    column: Column,
    effect: FloatArray,
    value: FloatArray,
    overall: FloatArray,
    n_missing: IntArray,
    write: Callable[[float], str],
    level: IntArray | None = None,
) -> pd.DataFrame:
    """Return the rows of one column, one per group, for `ClusterProfiles.table`.

    `level` holds positions among the levels of the column; without it, or one beyond
    the last, there is no level.
    """
    names = np.array([*column.level_names, None], dtype=object)
    level = np.full(len(value), len(column.levels)) if level is None else level
    return pd.DataFrame(
        {
            "cluster": np.arange(len(value)),
            "column": column.name,
            "level": pd.Series(names[level], dtype="str"),
            "effect": effect,
            "value": value,
            "overall": overall,
            "n_missing": n_missing,
            "text": [write(v) for v in value],
            "overall_text": [write(v) for v in overall],
        }
    )


def _means(
    values: FloatArray, groups: IntArray, counts: IntArray, against_rest: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, comparison value and effect per group, each (n_groups,)."""
    mean, spread = values.mean(), values.std()
    # Summing deviations keeps digits if the mean is large relative to the spread.
    shift = np.bincount(groups, weights=values - mean, minlength=len(counts)) / counts
    base = shift[0] if against_rest else 0.0
    difference = shift - base
    effect = difference / spread if spread > 0 else np.where(counts > 0, 0.0, np.nan)
    return mean + shift, np.full(len(counts), mean + base), effect


def level_counts(
    values: FloatArray, groups: IntArray, n_groups: int, n_levels: int
) -> IntArray:
    """Count the cells (n,) of each level in each group, (n_groups, n_levels)."""
    flat = groups.astype(np.int64) * n_levels + values.astype(np.int64)
    table = np.bincount(flat, minlength=n_groups * n_levels)
    return table.reshape(n_groups, n_levels)


def _shares(
    table: IntArray, against_rest: bool
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Return level, its share there, its share in comparison, and effect.

    Each is (n_groups,); the level has the largest surplus.
    """
    overall = table.sum(axis=0) / table.sum()
    shares = table / table.sum(axis=1)[:, None]
    base = shares[0] if against_rest else overall
    level = np.nan_to_num(shares - base, nan=0.0).argmax(axis=1)
    share, compared = shares[np.arange(len(table)), level], base[level]
    spread = np.sqrt(overall[level] * (1 - overall[level]))
    difference = share - compared
    effect = np.where(spread > 0, difference / spread, difference)
    return level, share, compared, effect


def number_writer(
    column: Column, spread: float, yes_or_no: bool
) -> Callable[[float], str]:
    """Return the function that writes means of a column with some spread."""
    if yes_or_no:
        return _share_text
    return partial(_number_text, spread=spread, first_day=column.first_day)


def is_yes_or_no(values: FloatArray) -> bool:
    """Check whether numbers (m,) are zeros and ones, both of them."""
    if values.size == 0 or values.min() != 0 or values.max() != 1:
        return False
    return bool(((values == 0) | (values == 1)).all())


def _share_text(share: float) -> str:
    """Write a share."""
    return "" if np.isnan(share) else percent(share)


def _number_text(number: float, spread: float, first_day: pd.Timestamp | None) -> str:
    """Write a mean with as many decimals as a hundredth of the spread has."""
    if np.isnan(number):
        return ""
    if first_day is not None:
        return f"{first_day + pd.Timedelta(days=number):%Y-%m-%d}"
    if spread <= 0:
        return f"{number:.6g}"
    decimals = 2 - int(np.floor(np.log10(spread)))
    rounded = round(number, max(decimals, 0)) + 0.0  # no minus before a zero
    if decimals > _MOST_DECIMALS or abs(rounded) >= 1e9:
        return f"{rounded:.4g}"
    text = f"{rounded:,.{max(decimals, 0)}f}".replace(",", "\u202f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _phrase(row: dict[Any, Any], against: str) -> str:
    """Describe one effect in words."""
    shares = f"{row['text']} ({against} {row['overall_text']})"
    if isinstance(row["level"], str):
        return f"{row['column']} = {row['level']} {shares}"
    if row["text"].endswith("%"):
        return f"{row['column']} {shares}"
    return f"{row['column']} {row['effect']:+.1f} sd ({row['text']})"
