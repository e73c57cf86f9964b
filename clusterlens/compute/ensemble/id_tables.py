"""Imported tables: matching their rows to the samples by ids or position."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute._validation import (
    DataError,
    IntArray,
    as_pandas,
    plain_repr,
)
from clusterlens.compute.ensemble.ensemble import NOISE
from clusterlens.compute.ensemble.row_ids import RowIds, as_text
from clusterlens.compute.formatting import count, first_of
from clusterlens.compute.notes import Note
from clusterlens.compute.table.dataset import Dataset, is_id_name
from clusterlens.compute.table.reading import BYTES_LIMIT, load_rows_of_ids

_SHOWN = 5  # ids or names listed in a message
# Words in names of columns that hold ids of clusters, not of rows.
_CLUSTER_WORDS = ("cluster", "class", "label", "group", "community", "partition")


@dataclass(frozen=True)
class IdTable:
    """A table and the ids of its rows, all different, if it has any.

    `title` names the table in messages. The columns `aside` hold further ids.
    """

    title: str
    frame: pd.DataFrame
    ids: list[str] | None = None
    aside: Sequence[str] = ()
    notes: Sequence[str] = ()

    @cached_property
    def values(self) -> pd.DataFrame:
        """The columns that hold no ids."""
        return self.frame.drop(columns=list(self.aside))

    def __post_init__(self) -> None:
        """Refuse a repeated name or id."""
        twice = self.frame.columns[self.frame.columns.duplicated()]
        if len(twice):
            raise DataError(
                f"{self} has several columns {listed(twice)}; give each a name of its "
                "own."
            )
        ids = pd.Index(self.ids or [])
        self.refuse_repeated(dict.fromkeys(ids[ids.duplicated()]))

    def refuse_repeated(self, ids: Collection[str]) -> None:
        """Refuse repeated ids."""
        if len(ids):
            raise DataError(
                f"{self} has more than one row for {listed(ids)}; keep one row per "
                "sample."
            )

    def __str__(self) -> str:
        """Name the source in messages."""
        return repr(self.title) if self.title else "source"

    def column(self, name: Any) -> pd.Series:
        """Return a column, which must exist."""
        if not isinstance(name, Hashable) or name not in self.frame:
            raise DataError(
                f"{self} has no column {plain_repr(name)}; it has {listed(self.frame)}."
            )
        return self.frame[name]

    def with_ids_of(self, column: Any) -> IdTable:
        """Use a column as the ids."""
        ids = [as_text(i) for i in self.column(column).tolist()]
        return replace(self, frame=self.frame.drop(columns=column), ids=ids)


def read_id_table(
    source: Any,
    title: str,
    row_id: str | None = None,
    known: RowIds | None = None,
    limit: int = BYTES_LIMIT,
    labels: Collection[str] = (),
) -> IdTable:
    """Read a DataFrame or a file with the ids of its rows.

    Parameters
    ----------
    source : DataFrame, path, file object or bytes
        A table.
    title : str
        Name for messages; without a title, a file is called by its name.
    row_id : str or None
        The column of ids. Default: the index of a DataFrame, unless it counts 0, 1, 2,
        ... to the last row; else a column that is named like ids or, in a file, looks
        like them.
    known : RowIds or None
        The samples. If several columns hold ids, the first that names the samples is
        used.
    limit : int
        As max_bytes of `load_table`.
    labels : collection of str
        Columns that hold no ids.

    Returns
    -------
    table : IdTable
        The other columns, with types if read from a file.

    Raises
    ------
    DataError
        If the file cannot be read, or an id is repeated.
    """
    source = as_pandas(source)
    if isinstance(source, pd.DataFrame):
        table = IdTable(title, source.set_axis(source.columns.map(str), axis=1))
        if row_id is None and _has_ids(source.index):
            ids = [as_text(i) for i in source.index.tolist()]
            return _with_aside(replace(table, ids=ids))
        return _with_ids(table, row_id, (), known, labels)
    ds, blank = load_rows_of_ids(source, row_id, max_bytes=limit)
    table = IdTable(title or ds.name, ds.table)
    for note in ds.reading_notes:
        if isinstance(note, Note) and note.kind == "rows numbered":
            table.refuse_repeated([note.subject] * bool(note.subject))
    likely = [name for name, role in ds.roles.items() if role == "row id"]
    if not likely and _has_ids(ds.table.index):
        ids = [as_text(i) for i in ds.table.index.tolist()]
        table = _with_aside(replace(table, ids=ids))
    else:
        likely = likely or _guessed_ids(ds, known)
        table = _with_ids(table, row_id, likely, known, labels)
    notes = [*ds.reading_notes, *table.notes]
    if blank and table.ids is None:  # rows are found by position
        kept = np.setdiff1d(np.arange(len(table.frame) + len(blank)), blank)
        frame = table.frame.set_axis(kept, axis=0)
        table = replace(table, frame=frame.reindex(range(len(frame) + len(blank))))
    elif blank:
        rows = listed(row + 1 for row in blank)
        notes.append(f"{count(len(blank), 'blank row')} left out: {rows}.")
    return replace(table, notes=notes)


def _has_ids(index: pd.Index) -> bool:
    """Check whether an index (n,) is more than the count 0, 1, ... n - 1."""
    if index.nlevels > 1:
        return False
    return not index.equals(pd.RangeIndex(len(index)))


def _with_ids(
    table: IdTable,
    row_id: str | None,
    likely: Sequence[str],
    known: RowIds | None,
    labels: Collection[str],
) -> IdTable:
    """Take the ids from the given column, else from the likeliest one."""
    if row_id is not None:
        return _with_aside(table.with_ids_of(row_id))
    found = dict.fromkeys([*_named_ids(table.frame), *likely])
    likely = [name for name in found if name not in labels]
    if not likely:
        return table
    fitting = [
        name
        for name in likely
        if known is not None and all(known.find(i) >= 0 for i in table.frame[name])
    ]
    chosen = (fitting or likely)[0]
    note = f"Column {chosen!r} taken as row ids: its values all differ."
    return _with_aside(replace(table.with_ids_of(chosen), notes=[note]), likely)


def _with_aside(table: IdTable, likely: Sequence[str] = ()) -> IdTable:
    """Set aside further columns that are likely to hold ids."""
    others = {*_named_ids(table.frame), *likely}
    aside = [name for name in table.frame if name in others]
    if not aside:
        return table
    note = f"Other columns of ids left out: {listed(aside)}."
    return replace(table, aside=aside, notes=[*table.notes, note])


def _named_ids(frame: pd.DataFrame) -> list[str]:
    """Return the columns with names like ids of rows."""
    names = [name for name in map(str, frame) if is_id_name(name)]
    return [n for n in names if not any(word in n.lower() for word in _CLUSTER_WORDS)]


def _guessed_ids(ds: Dataset, known: RowIds | None) -> list[str]:
    """Return the first column with distinct values, or the first if most are distinct.

    A first column without a name is the index of a table that was saved. Numbers with
    fractions are not ids; numbers below the number of samples are labels.
    """
    n_rows = len(ds.table)
    may_be_ids = {n: f.kind != "number" or f.whole for n, f in ds.facts.items()}
    for name, facts in ds.facts.items():
        if facts.n_distinct == n_rows and may_be_ids[name]:
            return [name]
    (name, facts), *others = ds.facts.items()
    if not others or not may_be_ids[name]:
        return []
    if facts.kind == "number":
        is_label = known is None or not facts.numbers.max() >= len(known)
    else:
        texts = [other.n_distinct for _, other in others if other.kind != "number"]
        has_noise = facts.values.astype("str").eq(str(NOISE)).any()
        is_label = bool(has_noise) or facts.n_distinct <= max(texts, default=0)
    is_index = name.lower().startswith("unnamed")
    mostly_differs = 2 * facts.n_distinct > n_rows and not is_label
    return [name] if is_index or mostly_differs else []


def place_rows(table: IdTable, known: RowIds) -> IntArray:
    """Return the sample of each row of a table, -1 for unknown ids.

    Parameters
    ----------
    table : IdTable
        The rows; without ids they are the samples in the given order.
    known : RowIds
        The samples.

    Returns
    -------
    places : array of int64, shape (n_rows,)
        Positions of samples, or -1.

    Raises
    ------
    DataError
        If two rows belong to one sample, or rows without ids are too many or too few.
    """
    if table.ids is None:
        if len(table.frame) != len(known):
            raise DataError(
                f"{table} has {len(table.frame)} rows without ids for {len(known)} "
                "samples; give one row per sample, or a column of row ids."
            )
        return np.arange(len(known))
    places = np.array([known.find(i) for i in table.ids], dtype=np.int64)
    found = pd.Index(places[places >= 0])
    table.refuse_repeated([known.texts[at] for at in found[found.duplicated()]])
    return places


def listed(things: Iterable[Any]) -> str:
    """List a few of the things, and the number of the others."""
    return first_of([repr(str(thing)) for thing in things], _SHOWN)
