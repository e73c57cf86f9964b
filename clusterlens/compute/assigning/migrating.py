"""Migration: clusters of the rows of one table that return in another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from clusterlens.compute._validation import UNLABELLED, DataError, Frozen
from clusterlens.compute.formatting import count, percent


@dataclass(frozen=True, eq=False)
class Migration(Frozen):
    """Changes of cluster of the rows in both tables.

    Parameters
    ----------
    counts : DataFrame of int64, shape (n_clusters, n_clusters)
        Rows by their cluster before (index) and after (columns); -1 means noise and
        rows that belong nowhere.
    n_returned, n_gone, n_new : int
        Rows in both tables, in the first alone and in the second alone.
    """

    counts: pd.DataFrame
    n_returned: int
    n_gone: int
    n_new: int

    @property
    def n_stayed(self) -> int:
        """Rows that stayed in their cluster."""
        return int(np.diag(self.counts).sum())

    def to_frame(self) -> pd.DataFrame:
        """Return the counts.

        Returns
        -------
        counts : DataFrame
            `counts`.
        """
        return self.counts

    def __repr__(self) -> str:
        """Return counts of returned, gone and new rows, and the share that stayed."""
        stayed = percent(self.n_stayed / self.n_returned) if self.n_returned else "none"
        return (
            f"Migration({count(self.n_returned, 'row')} returned, {stayed} of them "
            f"stayed; {self.n_gone} gone, {self.n_new} new)"
        )


def migration(
    before: pd.Series | pd.DataFrame, after: pd.Series | pd.DataFrame
) -> Migration:
    """Compare the clusters of rows that return, found by their row id.

    Parameters
    ----------
    before, after : Series or DataFrame
        The cluster of each row by row id: a Series of labels, -1 for noise, or the
        result of `Segmentation.assign`; its rows that belong nowhere count as -1. Rows
        without a label, because their gaps could not be filled, are left out.

    Returns
    -------
    migration : Migration
        Counts of the rows by cluster before and after, and the numbers of gone and new
        rows.

    Raises
    ------
    DataError
        If it is something else, or a row id is repeated in it.

    Notes
    -----
    Linear in the number of rows.

    Examples
    --------
    >>> then = pd.Series([0, 0, 1, 1], ["a", "b", "c", "d"])
    >>> now = pd.Series([0, 1, 1, 1], ["a", "b", "c", "e"])
    >>> migration(then, now).counts
    after   0  1
    before
    0       1  1
    1       0  1
    """
    then, now = _clusters(before, "before"), _clusters(after, "after")
    ids = then.index.intersection(now.index)
    labels = np.union1d(then.unique(), now.unique())
    counts = (
        pd.crosstab(then.loc[ids].to_numpy(), now.loc[ids].to_numpy())
        .reindex(index=labels, columns=labels, fill_value=0)
        .astype(np.int64)
    )
    counts.index.name, counts.columns.name = "before", "after"
    return Migration(counts, len(ids), len(then) - len(ids), len(now) - len(ids))


def _clusters(given: pd.Series | pd.DataFrame, name: str) -> pd.Series:
    if isinstance(given, pd.DataFrame) and {"cluster", "nowhere"} <= {*given.columns}:
        found = given["cluster"].mask(given["nowhere"].fillna(False), UNLABELLED)
    elif isinstance(given, pd.Series):
        found = given
    else:
        raise DataError(
            f"{name} is a {type(given).__name__}; give a Series of labels by row id, "
            "or what Segmentation.assign returns."
        )
    if not found.index.is_unique:
        twice = found.index[found.index.duplicated()][0]
        raise DataError(
            f"{name} has the row id {twice!r:.60} twice; a row is found by its id."
        )
    if not pd.api.types.is_integer_dtype(found.dtype):
        raise DataError(f"{name} has {found.dtype} entries; give whole numbers.")
    return found.dropna().astype(np.int64)
