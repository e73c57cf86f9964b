"""Memberships made elsewhere: a table of numbers becomes a fuzzy partition."""

from __future__ import annotations

import os
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._validation import DataError, as_array, check_flag
from clusterlens.compute.fuzzy.partition import FuzzyPartition
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.reading import load_table

_NAMED = 3


def load_memberships(
    source: str | os.PathLike[str] | IO[Any] | bytes | pd.DataFrame,
    row_ids: npt.ArrayLike | None = None,
    *,
    name: str | None = None,
    row_id: str | None = None,
    normalize: bool = False,
) -> FuzzyPartition:
    r"""Read memberships from a file: one row per sample, one column per cluster.

    Parameters
    ----------
    source : path, binary file object, bytes or DataFrame
        As in `load_table`. All columns but the row ids are memberships.
    row_ids : array-like, shape (n_samples,), optional
        The samples, in the order of the result. A file with a column of row ids, or an
        index that does not just count, is brought into this order; one without must
        have as many rows.
    name : str, optional
        Name of the file, for messages.
    row_id : str, optional
        Column of row ids. By default one that is named or counts like an identifier.
    normalize : bool, default False
        Divide rows with any positive sum by it, which the partition notes.

    Returns
    -------
    partition : FuzzyPartition
        Checked memberships of the samples.

    Raises
    ------
    DataError
        If the file is no table of numbers, has other rows, misses a sample, or has
        negative memberships or, without `normalize`, rows that do not sum to 1.

    Notes
    -----
    Row ids are compared as text, so that 7 and "7" are one row; further rows of the
    file are left out. O(n_samples n_clusters).

    Examples
    --------
    >>> table = b"id,one,two\nb,0.2,0.8\na,0.9,0.1\n"
    >>> load_memberships(table, ["a", "b"]).memberships.tolist()
    [[0.9, 0.1], [0.2, 0.8]]
    """
    normalize = check_flag(normalize, name="normalize")
    found = load_table(source, name=name, row_id=row_id)
    rows = _numbers(found)
    if row_ids is not None:
        rows = rows[_places(found, _wanted(row_ids))]
    return FuzzyPartition(rows, normalize=normalize)


def _wanted(row_ids: npt.ArrayLike) -> list[str]:
    """Row ids as texts."""
    ids = as_array(row_ids, "row_ids", "one id per sample")
    if ids.ndim != 1:
        raise DataError(
            f"row_ids has shape {ids.shape}, found {row_ids!r:.60}; give one id per "
            "sample."
        )
    return [str(one) for one in ids.tolist()]


def _numbers(found: Dataset) -> npt.NDArray[np.float64]:
    """All columns but the row ids, as numbers."""
    columns = [name for name, role in found.roles.items() if role != "row id"]
    frame = found.table[columns]
    words = [c for c in columns if not pd.api.types.is_numeric_dtype(frame[c])]
    if words or not columns:
        raise DataError(
            f"{found.name} has the columns {words[:_NAMED]}, which are no numbers; "
            "give one column of memberships per cluster, and at most one of row ids."
        )
    return frame.to_numpy(np.float64, na_value=np.nan)


def _places(found: Dataset, wanted: list[str]) -> npt.NDArray[np.intp]:
    """Rows of the file for the wanted ids, or all in order where it has no ids."""
    if isinstance(found.table.index, pd.RangeIndex):
        if len(found.table) != len(wanted):
            raise DataError(
                f"{found.name} has {len(found.table)} rows for {len(wanted)} row_ids "
                "and no column of row ids; give one row per sample, or a column of ids."
            )
        return np.arange(len(wanted))
    places = pd.Index([str(one) for one in found.table.index]).get_indexer(
        pd.Index(wanted)
    )
    absent = [wanted[k] for k in np.flatnonzero(places < 0)[:_NAMED]]
    if absent:
        raise DataError(
            f"{found.name} has no row for the samples {', '.join(absent)}"
            f"{' and others' if (places < 0).sum() > _NAMED else ''}; give memberships "
            "of every sample, with the row ids of the table."
        )
    return np.asarray(places)
