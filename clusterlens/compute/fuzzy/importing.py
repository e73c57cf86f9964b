"""Imported memberships: a table of numbers becomes a fuzzy partition."""

from __future__ import annotations

import os
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._validation import (
    DataError,
    FloatArray,
    check_flag,
    check_optional_text,
)
from clusterlens.compute.ensemble.id_tables import (
    IdTable,
    listed,
    place_rows,
    read_id_table,
)
from clusterlens.compute.ensemble.row_ids import RowIds
from clusterlens.compute.fuzzy.partition import FuzzyPartition, wrong_sums
from clusterlens.compute.table.dataset import make_dataset

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
        The samples, in the order of the result. A table with a column of row ids, or
        with an index other than the count 0, 1, 2, ..., is brought into this order; a
        table without ids must have the same number of rows.
    name : str, optional
        Name of the file, for messages.
    row_id : str, optional
        Column of row ids. By default a column named or counting like an identifier.
    normalize : bool, default False
        Divide rows with a positive sum by it; the partition notes this.

    Returns
    -------
    partition : FuzzyPartition
        Checked memberships of the samples.

    Raises
    ------
    DataError
        If the file is not a table of numbers, has other rows, misses a sample, or has
        negative memberships or, without `normalize`, rows that do not sum to 1.

    Notes
    -----
    Row ids are compared as text, so that 7 and "7" are one row; other rows of the file
    are left out. O(n_samples n_clusters).

    Examples
    --------
    >>> table = b"id,one,two\nb,0.2,0.8\na,0.9,0.1\n"
    >>> load_memberships(table, ["a", "b"]).memberships.tolist()
    [[0.9, 0.1], [0.2, 0.8]]
    """
    name = check_optional_text(name, name="name")
    return _read(source, row_ids, name or "", row_id, normalize)[1]


def read_memberships(
    file: IO[bytes],
    row_ids: npt.NDArray[Any] | None,
    *,
    name: str,
    normalize: bool = False,
) -> tuple[npt.NDArray[Any], FuzzyPartition]:
    """Read memberships with the ids of their rows.

    Without `row_ids` these are the ids in the file, or positions.
    """
    table, rows = _read(file, row_ids, name, None, normalize)
    if row_ids is None:
        ids = table.ids
        row_ids = np.arange(rows.n_samples) if ids is None else np.array(ids)
    return row_ids, rows


def _read(
    source: Any,
    row_ids: npt.ArrayLike | None,
    name: str,
    row_id: str | None,
    normalize: bool,
) -> tuple[IdTable, FuzzyPartition]:
    """Return the table of a file, and its memberships in the order of the samples."""
    normalize = check_flag(normalize, name="normalize")
    known = None if row_ids is None else RowIds(row_ids)
    table = read_id_table(source, name, row_id, known)
    rows, notes = _numbers(table), list(table.notes)
    _check_rows(table, rows, normalize)
    if known is not None:
        rows = rows[_row_of_each(table, known)]
        notes += [f"{table}: no row ids, rows taken by position."] * (table.ids is None)
    return table, FuzzyPartition(rows, normalize=normalize, notes=notes)


def _numbers(table: IdTable) -> npt.NDArray[np.float64]:
    """Return all columns except ids, as numbers."""
    frame = make_dataset(table.values.reset_index(drop=True)).table
    words = [c for c in frame if not pd.api.types.is_numeric_dtype(frame[c])]
    if words:
        raise DataError(
            f"{table} has the columns {listed(words)}, which are no numbers; give one "
            "column of memberships per cluster, and at most one of row ids."
        )
    return frame.to_numpy(np.float64, na_value=np.nan)


def _check_rows(table: IdTable, rows: FloatArray, normalize: bool) -> None:
    """Refuse memberships by the row and column of the file, counted from 1."""
    names = list(map(str, table.values.columns))
    for what, wrong, remedy in (
        ("no number", ~np.isfinite(rows), "fill or remove missing and infinite values"),
        ("a negative value", rows < 0, "give values of at least 0"),
    ):
        if wrong.any():
            at, column = np.argwhere(wrong)[0].tolist()
            raise DataError(
                f"{table} has {what} in {_row(table, at)}, column {names[column]!r}; "
                f"{remedy}."
            )
    sums = rows.sum(axis=1)
    wrong = wrong_sums(sums, normalize)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise DataError(
            f"{table} has the sum {sums[at]:.6g} in {_row(table, at)}; give rows that "
            "sum to 1, or rows with a positive sum and normalize=True to divide them "
            "by it."
        )


def _row(table: IdTable, at: int) -> str:
    """Name a row of a file, counted from 1, with its id if it has one."""
    return f"row {at + 1}" + ("" if table.ids is None else f" ({table.ids[at]!r})")


def _row_of_each(table: IdTable, known: RowIds) -> npt.NDArray[np.intp]:
    """Return the row of each sample; other rows are left out."""
    if table.ids is None and len(table.frame) != len(known):
        raise DataError(
            f"{table} has {len(table.frame)} rows for {len(known)} row_ids and no "
            "column of row ids; give one row per sample, or a column of ids."
        )
    places = place_rows(table, known)
    rows = np.full(len(known), -1)
    rows[places[places >= 0]] = np.flatnonzero(places >= 0)
    absent = [known.texts[k] for k in np.flatnonzero(rows < 0)]
    if absent:
        raise DataError(
            f"{table} has no row for the samples {', '.join(absent[:_NAMED])}"
            f"{' and others' if len(absent) > _NAMED else ''}; give memberships of "
            "every sample, with the row ids of the table."
        )
    return rows
