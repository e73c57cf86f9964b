"""Original columns in new tables and in SQL.

A `Source` is a feature column in its own units: numbers, days since the first day of a
column of dates, or codes of levels. Missing values are NaN here and NULL in SQL: empty
cells, infinite values, codes for "no value" and levels that were not there before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute._validation import FloatArray
from clusterlens.compute.assigning._sql import identifier, literal, real
from clusterlens.compute.table.dataset import Column, Dataset
from clusterlens.compute.table.preparation import typed_table

_LARGEST = np.finfo(np.float64).max  # larger are only infinite values, and NaN in SQL
_FURTHEST_DAY = 99_999  # limit of pandas from some dates


@dataclass(frozen=True, eq=False)
class Source:
    """A feature column, and whether its numbers are all whole."""

    column: Column
    dtype: Any
    whole: bool = False

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.column.name

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers or dates, not levels."""
        return not self.column.levels

    @property
    def is_ordered(self) -> bool:
        """Whether its values have an order."""
        return self.column.role != "categorical"

    def date(self, days: float) -> pd.Timestamp | None:
        """Return the date of a number of days, None in a column of numbers."""
        first = self.column.first_day
        return None if first is None else (first + pd.Timedelta(days=days)).round("us")

    def shown(self, value: float) -> float | pd.Timestamp:
        """Return a value of the column as in the table."""
        date = self.date(value) if np.isfinite(value) else None
        return value if date is None else date

    @property
    def number_sql(self) -> str:
        """Return the column as a SQL number, equal to Python's, NULL if missing."""
        name = self._compared
        number = name
        if self.column.first_day is not None:
            start = real(self.column.first_day.timestamp())
            number = f"(epoch({name}) - {start}) / {real(86_400)}"
        known = [f"abs({number}) <= {real(_LARGEST)}"] * self._may_be_infinite
        known += self._not_missing(-np.inf, np.inf)
        if known:
            number = f"CASE WHEN {' AND '.join(known)} THEN {number} END"
        return f"CAST({number} AS DOUBLE)"

    def between_sql(self, low: float, high: float) -> str:
        """Return the SQL of low < value <= high; a missing value is not between."""
        name, finite = self._compared, self._may_be_infinite
        parts = []
        if low > -np.inf:
            parts.append(f"{name} > {self._bound_sql(low)}")
        elif finite:
            parts.append(f"{name} >= {literal(-_LARGEST)}")
        if finite or high < np.inf:
            parts.append(f"{name} <= {self._bound_sql(min(high, _LARGEST))}")
        return " AND ".join(parts + self._not_missing(low, high))

    def _not_missing(self, low: float, high: float) -> list[str]:
        """Return the SQL that excludes the codes for "no value" in a range."""
        furthest = np.inf if self.column.first_day is None else _FURTHEST_DAY
        codes = [
            self._bound_sql(code)
            for code in self.column.missing_codes
            if low < code <= high and abs(code) < furthest
        ]
        return [f"{self._compared} NOT IN ({', '.join(codes)})"] * bool(codes)

    def _bound_sql(self, value: float) -> str:
        """Return a value of the column, a number or a date, as SQL."""
        return literal(self.shown(value))

    @property
    def _may_be_infinite(self) -> bool:
        """Whether SQL may hold infinite values or NaN, which exceeds all others."""
        return self._kind in "fO"

    @property
    def _kind(self) -> str:
        """Return NumPy's letter for the kind of the cells, O for text."""
        return str(getattr(self.dtype, "kind", "O"))

    @property
    def _compared(self) -> str:
        """Return the column for comparisons in SQL: a number or a date."""
        name = identifier(self.name)
        if self._kind == "m":
            return f"(epoch({name}) / {real(86_400)})"
        if self._kind == "O":
            return f"TRY_CAST({name} AS DOUBLE)"
        plain = self._kind in "iuM" or str(self.dtype).lower() == "float64"
        return name if plain else f"CAST({name} AS DOUBLE)"


def feature_sources(ds: Dataset) -> tuple[tuple[Source, ...], FloatArray]:
    """Return the columns that vary among the rows of X, and their values (n, c)."""
    encoded = ds.encoded
    values = np.asarray(encoded.values)
    low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    sources = tuple(
        Source(column, ds.table[column.name].dtype, _are_whole(values[:, j]))
        for j, column in enumerate(encoded.columns)
        if low[j] < high[j]
    )
    return sources, values[:, low < high]


def _are_whole(values: FloatArray) -> bool:
    """Check whether all numbers (n,) that are present are whole."""
    return bool((np.isnan(values) | (np.floor(values) == values)).all())


def read_sources(
    table: Any, sources: Sequence[Source]
) -> tuple[FloatArray, pd.Index, list[str]]:
    """Return the columns of another table (n, c), its row ids, and notes.

    Levels that were not there before are missing, with a note. Other columns are
    ignored; a missing one raises DataError.
    """
    frame, notes = typed_table(table, [source.name for source in sources])
    values = np.full((len(frame), len(sources)), np.nan)
    for j, source in enumerate(sources):
        values[:, j], remarks = source.column.encode(frame[source.name], "missing")
        notes += [f"Column {source.name!r}: {remark}." for remark in remarks]
    return values, frame.index, notes
