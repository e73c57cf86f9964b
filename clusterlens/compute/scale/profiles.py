"""Profiles of clusters from sums that add up over the parts of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.table.dataset import Column
from clusterlens.compute.table.profiles import (
    ClusterProfiles,
    column_profile,
    combine_profiles,
    compare_levels,
    is_yes_or_no,
    level_counts,
    number_writer,
)


class GroupSums:
    """Sums of the columns of a table by group of rows.

    Parameters
    ----------
    columns : sequence of Column
        The columns.
    n_groups : int
        Number of groups.

    Attributes
    ----------
    sizes : array of int64, shape (n_groups,)
        Rows of each group.
    counts : array of int64, shape (n_columns, n_groups)
        Cells with a value.
    means, squares : array of float64, shape (n_columns, n_groups)
        Mean of each group, and sum of squared deviations from it.
    levels : list of array of int64, shape (n_groups, n_levels)
        Cells of each level, for each column; without levels of shape (n_groups, 0).
    ends : array of float64, shape (2, n_columns)
        Smallest and largest number.
    whole : array of bool, shape (n_columns,)
        Whether all numbers are 0 or 1.
    """

    def __init__(self, columns: Sequence[Column], n_groups: int) -> None:
        shape = (len(columns), n_groups)
        self.columns, self.sizes = columns, np.zeros(n_groups, np.int64)
        self.counts = np.zeros(shape, np.int64)
        self.means, self.squares = np.zeros(shape), np.zeros(shape)
        self.levels: list[IntArray] = [
            np.zeros((n_groups, len(column.levels)), np.int64) for column in columns
        ]
        self.ends = np.array([[np.inf], [-np.inf]]) * np.ones(len(columns))
        self.whole = np.ones(len(columns), bool)

    def add(self, values: FloatArray, groups: IntArray) -> None:
        """Add rows: values (n, n_columns) as `RowEncoder.values`, groups (n,)."""
        part = GroupSums(self.columns, len(self.sizes))
        part.sizes = np.bincount(groups, minlength=len(self.sizes))
        for j, column in enumerate(self.columns):
            known = ~np.isnan(values[:, j])
            part._set(j, len(column.levels), values[known, j], groups[known])
        self.merge(part)

    def _set(self, j: int, n_levels: int, x: FloatArray, groups: IntArray) -> None:
        """Take the sums of the cells (m,) of one column."""
        n_groups = len(self.sizes)
        self.counts[j] = counts = np.bincount(groups, minlength=n_groups)
        if not len(x):
            return
        if n_levels:
            self.levels[j] = level_counts(x, groups, n_groups, n_levels)
            return
        shift = x.mean()
        sums = np.bincount(groups, x - shift, n_groups)
        self.means[j] = shift + sums / np.maximum(counts, 1)
        squares = (x - self.means[j][groups]) ** 2
        self.squares[j] = np.bincount(groups, squares, n_groups)
        self.ends[:, j] = x.min(), x.max()
        self.whole[j] = bool(np.isin(x, (0, 1)).all())

    def merge(self, other: GroupSums) -> None:
        """Add the sums of other rows (Chan, Golub and LeVeque 1983)."""
        self.sizes = self.sizes + other.sizes
        counts = self.counts + other.counts
        share = other.counts / np.maximum(counts, 1)
        step = other.means - self.means
        self.squares = self.squares + other.squares + step**2 * self.counts * share
        self.means, self.counts = self.means + step * share, counts
        self.levels = [a + b for a, b in zip(self.levels, other.levels, strict=True)]
        low, high = self.ends, other.ends
        self.ends = np.array([np.fmin(low[0], high[0]), np.fmax(low[1], high[1])])
        self.whole = self.whole & other.whole

    def profiles(self, clusters: IntArray) -> ClusterProfiles:
        """Compare the first groups, which are these clusters, with all rows."""
        n = len(clusters)
        parts = []
        for j, column in enumerate(self.columns):
            part = self._compare(j, column).iloc[:n]
            parts.append(part.assign(cluster=clusters))
        return combine_profiles(parts, clusters, self.sizes[:n], "overall")

    def _compare(self, j: int, column: Column) -> pd.DataFrame:
        """Return the rows of one column, one per group."""
        counts = self.counts[j]
        n_missing = self.sizes - counts
        if column.levels:
            return compare_levels(column, self.levels[j], n_missing)
        total = max(int(counts.sum()), 1)
        mean = counts @ self.means[j] / total
        apart = self.means[j] - mean
        spread = np.sqrt((self.squares[j].sum() + counts @ apart**2) / total)
        present = counts > 0
        value = np.where(present, self.means[j], np.nan)
        effect = np.where(present, apart / spread if spread > 0 else 0.0, np.nan)
        overall = np.full(len(counts), mean if present.any() else np.nan)
        yes_or_no = bool(self.whole[j]) and is_yes_or_no(self.ends[:, j])
        write = number_writer(column, float(spread), yes_or_no)
        return column_profile(column, effect, value, overall, n_missing, write)


def profiles_to_plain(profiles: ClusterProfiles) -> dict[str, Any]:
    """Return profiles as lists and a dict of lists, None for a missing value."""
    table = profiles.table.astype(object)
    return {
        "clusters": profiles.clusters.tolist(),
        "sizes": profiles.sizes.tolist(),
        "table": table.where(table.notna(), None).to_dict("list"),
    }


def profiles_from_plain(plain: Mapping[str, Any]) -> ClusterProfiles:
    """Return the profiles that `profiles_to_plain` has written."""
    table = pd.DataFrame(plain["table"])
    kinds = dict.fromkeys(("effect", "value", "overall"), np.float64)
    return ClusterProfiles(
        np.array(plain["clusters"], np.int64),
        np.array(plain["sizes"], np.int64),
        table.astype({**kinds, "level": "str"}),
    )
