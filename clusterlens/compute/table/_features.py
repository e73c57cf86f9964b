"""From the cells of columns to numbers, and which rows and columns are of use.

A `Column` is learnt from one table and encodes the same column of others. The matrix is
(n, c) float64 with one column per `Column`; NaN is a missing value. Each step returns
notes on its changes.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._validation import (
    LARGEST,
    SMALLEST,
    DataError,
    FloatArray,
    IntArray,
    plain_repr,
)
from clusterlens.compute.formatting import count, grouped, whole
from clusterlens.compute.table._cells import amount_remarks, to_numbers
from clusterlens.compute.table._roles import ordered_levels

# Values that stand for "missing" where they lie apart from all others of a column.
SENTINELS = frozenset(
    [-99.0, -999.0, -999.25, -9999.0, -99999.0, -32768.0]
    + [999.0, 9999.0, 99999.0, 999999.0, 1e20, 1e30]
)

FEATURE_ROLES = ("numeric", "categorical", "ordinal")
MIN_ROWS = 3
MATRIX_BYTES_LIMIT = 4_000_000_000

_LISTED = 5


@dataclass(frozen=True)
class Column:
    """How the cells of a column become numbers, as learnt from one table.

    `levels` are the levels with the codes 0, 1, ...; `missing_codes` the values that
    stand for "missing"; `first_day` is day 0 of a column of dates.
    """

    name: str
    role: str
    levels: tuple[Any, ...] = ()
    missing_codes: tuple[float, ...] = ()
    first_day: pd.Timestamp | None = None

    @property
    def level_names(self) -> tuple[str, ...]:
        """The levels as text."""
        return tuple(map(str, self.levels))

    def encode(
        self, values: pd.Series, unknown: str = "refuse"
    ) -> tuple[FloatArray, list[str]]:
        """Encode cells (n,) of this column in another table, with remarks.

        Levels that were not learnt are refused, or missing if unknown is "missing".
        """
        if self.role == "numeric":
            numbers, remarks = _numbers(
                self.name, values, self.first_day, "give numbers, as there were before"
            )
            return numbers, remarks + _replace_codes(numbers, self.missing_codes)
        return self._encode_levels(values, unknown)

    def _encode_levels(
        self, values: pd.Series, unknown: str
    ) -> tuple[FloatArray, list[str]]:
        places = {level: k for k, level in enumerate(self.levels)}
        by_text = {str(level): k for k, level in enumerate(self.levels)}
        codes, distinct = pd.factorize(values)
        known = [places.get(w, by_text.get(str(w), -1)) for w in distinct]
        found = np.array([*known, -1])[codes]
        strange = (codes >= 0) & (found < 0)
        self._check_kind(values, strange)
        remarks = []
        if strange.any():
            first = int(strange.argmax())
            example = f"{str(values.iloc[first])!r} in row {values.index[first]}"
            if unknown == "refuse":
                raise DataError(
                    f"Column {self.name!r} has the level {example}, which was not "
                    f"there when the table was prepared: {shorten(self.level_names)}; "
                    "correct it, leave the row out, or take it as missing "
                    "(unknown='missing')."
                )
            remarks = [
                f"{count(strange.sum(), 'cell')} with an unknown level, the first "
                f"{example}, taken as missing"
            ]
        return np.where(found < 0, np.nan, found), remarks

    def _check_kind(self, values: pd.Series, strange: np.ndarray) -> None:
        """Refuse numbers or dates if the levels are words."""
        words = all(isinstance(level, str) for level in self.levels)
        if words and strange.any() and not pd.api.types.is_string_dtype(values.dtype):
            raise DataError(
                f"Column {self.name!r} had words when the table was prepared and has "
                f"{values.dtype} now; give the same kind of values."
            )


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """Feature columns in their own units: levels as codes, missing values as NaN.

    `values` has shape (n_samples, n_columns), one column per entry of `columns`.
    """

    values: FloatArray
    columns: tuple[Column, ...]


def learn_columns(
    table: pd.DataFrame,
    roles: dict[str, str],
    sentinels: str | Sequence[float],
    run: RunOptions,
) -> tuple[FloatArray, list[Column], list[str]]:
    """Learn the feature columns and encode them: (n, c), NaN for a missing value."""
    names = [n for n in table.columns if roles[n] in FEATURE_ROLES]
    X = np.empty((len(table), len(names)), order="F")
    columns, notes = [], []
    for j, name in enumerate(names):
        run.raise_if_cancelled()
        run.report(j, len(names))
        if roles[name] == "numeric":
            column, X[:, j], remarks = learn_numbers(name, table[name], sentinels)
            notes += [f"Column {name!r}: {remark}." for remark in remarks]
        else:
            column, X[:, j] = learn_levels(name, table[name], roles[name])
        columns.append(column)
    return X, columns, notes


def encode_columns(
    table: pd.DataFrame, columns: Sequence[Column], unknown: str
) -> tuple[FloatArray, list[str]]:
    """Encode columns that were learnt from another table: (n, c), with notes."""
    X = np.empty((len(table), len(columns)), order="F")
    notes = []
    for j, column in enumerate(columns):
        X[:, j], remarks = column.encode(table[column.name], unknown)
        notes += [f"Column {column.name!r}: {remark}." for remark in remarks]
    return X, notes


def kept_rows(
    X: FloatArray, columns: Sequence[Column], missing: str, row_ids: pd.Index
) -> tuple[np.ndarray, list[str]]:
    """Choose the rows (n,) to keep: all but the empty ones, or the complete ones."""
    absent = np.isnan(X)
    if missing == "refuse" and absent.any():
        j = int(absent.any(axis=0).argmax())
        row = row_ids[int(absent[:, j].argmax())]
        raise DataError(
            f"Column {columns[j].name!r} has a missing value in row {row}, "
            f"{int(absent.sum())} in all; fill them in, or choose another rule than "
            "missing='refuse'."
        )
    if missing == "drop rows":
        drop, why = absent.any(axis=1), "with a missing value"
    else:
        drop, why = absent.all(axis=1), "without any value"
    keep = np.logical_not(drop)
    if not keep.any():
        raise DataError(
            f"Every row is {why} in the chosen columns; ignore the columns with most "
            "missing values, or fill instead of dropping (missing='median')."
        )
    if keep.sum() < MIN_ROWS:
        raise DataError(
            f"{count(keep.sum(), 'row')} left of {whole(len(keep))}; "
            f"clustering needs at least {MIN_ROWS}: give more rows, or drop fewer."
        )
    gone = row_ids[~keep]
    notes = (
        [f"{count(len(gone), 'row')} {why} dropped: {shorten(gone)}."]
        if len(gone)
        else []
    )
    return keep, notes


def varying_columns(
    X: FloatArray, columns: Sequence[Column]
) -> tuple[np.ndarray[Any, Any], list[str]]:
    """Choose the columns (c,) that vary among the rows."""
    low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    empty = np.isnan(low)
    keep = low < high
    notes = []
    for why, which in (("empty", empty), ("constant", ~keep & ~empty)):
        if which.any():
            gone = [columns[j].name for j in np.flatnonzero(which).tolist()]
            notes.append(
                f"{count(len(gone), f'{why} column')} left out: {shorten(gone)}."
            )
    if not keep.any():
        raise DataError(
            f"No column varies, so there is nothing to cluster: {' '.join(notes)} Give "
            "another column a role as feature, or drop fewer rows."
        )
    return keep, notes


def fill_values(X: FloatArray, columns: Sequence[Column], missing: str) -> FloatArray:
    """Return what to fill each column with (c,): by the rule, levels by the mode."""
    rules = [missing if c.role == "numeric" else "most frequent" for c in columns]
    return np.array(
        [
            FILLERS[rule](x if not np.isnan(x).any() else x[~np.isnan(x)])
            for rule, x in zip(rules, X.T, strict=True)
        ]
    )


def fill_missing(
    X: FloatArray, columns: Sequence[Column], values: FloatArray, missing: str
) -> list[str]:
    """Fill NaN in place with the value of each column (c,)."""
    notes = []
    for x, column, value in zip(X.T, columns, values, strict=True):
        absent = np.isnan(x)
        n_missing = int(absent.sum())
        if n_missing == 0:
            continue
        x[absent] = value
        notes.append(fill_note(column, value, n_missing, len(X), missing))
    return notes


def fill_note(
    column: Column, value: float, n_missing: int, n_rows: int, missing: str
) -> str:
    """Say how many of so many cells of a column were filled, and with what."""
    share = n_missing / n_rows
    names = column.level_names
    shown = repr(names[int(value)]) if names else grouped(value)
    word = missing if column.role == "numeric" else "most frequent"
    word += " value" if word == "most frequent" else ""
    return (
        f"Column {column.name!r}: {count(n_missing, 'missing value')} "
        f"({'<0.1%' if share < 0.0005 else f'{share:.1%}'} of the rows) filled "
        f"with the {word} {shown}."
    )


def check_size(n_rows: int, columns: Sequence[Column], widths: Sequence[int]) -> None:
    """Refuse a matrix that would take too much memory, before it is made."""
    n_bytes = 8 * n_rows * sum(widths)
    if n_bytes > MATRIX_BYTES_LIMIT:
        widest = int(np.argmax(widths))
        raise DataError(
            f"X would have {n_rows} rows and {sum(widths)} columns, "
            f"{n_bytes / 1e9:.1f} GB; the limit is {MATRIX_BYTES_LIMIT / 1e9:.1f} GB. "
            f"Column {columns[widest].name!r} alone takes {widths[widest]} columns: "
            "ignore it, or choose categorical='ordinal'."
        )


def check_magnitude(X: FloatArray, columns: Sequence[Column]) -> None:
    """Refuse X (n, d) if squares of its values overflow."""
    large = np.maximum(X.max(axis=0), -X.min(axis=0)) > LARGEST
    for j in np.flatnonzero(large).tolist():
        raise DataError(
            f"Column {columns[j].name!r} has values up to {np.abs(X[:, j]).max():g}, "
            "too large to compute distances with; rescale or ignore the column."
        )


def check_spread(X: FloatArray, columns: Sequence[Column]) -> None:
    """Refuse columns of X (n, d) that vary so little that squares underflow."""
    widths = np.ptp(X, axis=0)
    for j in np.flatnonzero((widths > 0) & (widths < SMALLEST)).tolist():
        raise DataError(
            f"Column {columns[j].name!r} has values that differ by {widths[j]:g} at "
            "most, too little to compute with; rescale or ignore the column."
        )


def first_copies(X: FloatArray, run: RunOptions) -> IntArray:
    """Find the first identical row for each row of X (n, d), shape (n,).

    Each column narrows the search to the rows that still equal another one, few
    after the first columns.
    """
    first = np.arange(len(X))
    rows = np.arange(len(X))
    group = np.zeros(len(X), dtype=np.int64)
    for done, column in enumerate(X.T):
        run.raise_if_cancelled()
        run.report(done, X.shape[1])
        codes, distinct = pd.factorize(column[rows])
        group = pd.factorize(group * len(distinct) + codes)[0]
        shared = np.bincount(group)[group] > 1
        rows, group = rows[shared], group[shared]
        if rows.size == 0:
            return first
    earliest = np.unique(group, return_index=True)
    first[rows] = rows[earliest[1]][np.searchsorted(earliest[0], group)]
    return first


def check_columns(names: Sequence[str], columns: Sequence[str] | pd.Index) -> None:
    """Raise unless there are columns of all these names."""
    missing = [name for name in names if name not in columns]
    if len(missing) == 1:
        # A column that was requested itself is no suggestion.
        check_column(missing[0], columns, [c for c in columns if c not in names])
    if missing:
        raise DataError(
            f"The table has no columns {', '.join(map(repr, missing))}; it has "
            f"{shorten(columns)}. Give columns of these names."
        )


def check_column(name: str, columns: Any, others: Any = None) -> None:
    """Raise unless there is a column of that name; suggest only `others`."""
    if not isinstance(name, Hashable):
        raise DataError(
            f"A column is named by {plain_repr(name)}; give one of its names."
        )
    if name not in columns:
        known = list(columns if others is None else others)
        close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else f"it has {shorten(columns)}."
        raise DataError(f"The table has no column {plain_repr(name)}; {hint}")


def shorten(names: Sequence[object] | pd.Index) -> str:
    """List the first names and the number of the rest."""
    shown = [repr(str(name)) for name in names[:_LISTED]]
    more = [f"and {len(names) - _LISTED} more"] if len(names) > _LISTED else []
    return ", ".join(shown + more)


def _most_frequent(values: FloatArray) -> float:
    """Return the most frequent of values (m,), the smallest of several."""
    distinct, counts = np.unique(values, return_counts=True)
    return float(distinct[counts.argmax()])


FILLERS: dict[str, Callable[[FloatArray], float]] = {
    "median": lambda values: float(np.median(values)),
    "mean": lambda values: float(np.mean(values)),
    "most frequent": _most_frequent,
}


def learn_numbers(
    name: str, values: pd.Series, sentinels: str | Sequence[float]
) -> tuple[Column, FloatArray, list[str]]:
    """Learn and encode a column of numbers or dates (n,)."""
    is_date = pd.api.types.is_datetime64_any_dtype(values.dtype)
    first_day = values.min() if is_date else None
    remedy = "make the column categorical or ignore it, or correct the cells"
    numbers, remarks = _numbers(name, values, first_day, remedy)
    codes = (
        _outlying_codes(numbers)
        if isinstance(sentinels, str)
        else tuple(map(float, sentinels))
    )
    remarks += _replace_codes(numbers, codes)
    column = Column(name, "numeric", missing_codes=codes, first_day=first_day)
    return column, numbers, remarks


def _numbers(
    name: str, values: pd.Series, first_day: pd.Timestamp | None, remedy: str
) -> tuple[FloatArray, list[str]]:
    """Return a numeric column (n,), with NaN for cells without a number.

    `remedy` is the advice if most cells hold none.
    """
    is_date = pd.api.types.is_datetime64_any_dtype(values.dtype)
    if values.notna().any() and is_date != (first_day is not None):
        learnt, found = ("no dates", "dates") if is_date else ("dates", "none")
        raise DataError(
            f"Column {name!r} had {learnt} when the table was prepared and has {found} "
            "now; give the same kind of values."
        )
    if (
        first_day is not None
        and is_date
        and (first_day.tz is None) != (values.dt.tz is None)
    ):
        here, there = ("no zone", "one") if values.dt.tz is None else ("a zone", "none")
        raise DataError(
            f"Column {name!r} has times with {here} and had {there} when the table was "
            "prepared; give the same kind of times."
        )
    numbers = to_numbers(values, first_day).to_numpy(dtype=np.float64, copy=True)
    words = values.notna().to_numpy() & np.isnan(numbers)
    remarks = []
    if pd.api.types.is_string_dtype(values.dtype):
        remarks = amount_remarks(values[~np.isnan(numbers)])
    if words.any():
        first = int(words.argmax())
        example = f"{plain_repr(values.iloc[first])} in row {values.index[first]}"
        if words.sum() > 0.5 * values.notna().sum():
            raise DataError(
                f"Column {name!r} has {example}, which is no number; {remedy}."
            )
        remarks.append(
            f"{count(words.sum(), 'cell')} without a number, the first {example}, "
            "taken as missing"
        )
    infinite = np.isinf(numbers)
    if infinite.any():
        first = values.index[int(infinite.argmax())]
        remarks.append(
            f"{count(infinite.sum(), 'infinite value')}, the first in row {first}, "
            "taken as missing"
        )
        numbers[infinite] = np.nan
    return numbers, remarks


def _replace_codes(numbers: FloatArray, codes: Sequence[float]) -> list[str]:
    """Set codes for "missing" in numbers (n,) to NaN in place; return remarks."""
    remarks = []
    low, high = np.fmin.reduce(numbers), np.fmax.reduce(numbers)
    for code in codes:
        if not low <= code <= high:
            continue
        at = numbers == code
        if at.any():
            numbers[at] = np.nan
            remarks.append(
                f"{count(at.sum(), 'cell')} with the value {code:g} taken as missing, "
                "a code for 'no value'"
            )
    return remarks


def _outlying_codes(numbers: FloatArray) -> tuple[float, ...]:
    """Return the well-known codes that lie further off than the others reach.

    A negative code among values that are otherwise not negative needs no distance.
    """
    low, high = np.fmin.reduce(numbers), np.fmax.reduce(numbers)
    if {float(low), float(high)} & SENTINELS:
        others = numbers[~np.isin(numbers, list(SENTINELS))]
        low, high = (
            np.fmin.reduce(others, initial=np.nan),
            np.fmax.reduce(others, initial=np.nan),
        )
    if not low < high:
        return ()
    return tuple(
        code
        for code in sorted(SENTINELS)
        if max(low - code, code - high) > high - low or code < 0 <= low
    )


def learn_levels(name: str, values: pd.Series, role: str) -> tuple[Column, FloatArray]:
    """Learn the levels of a column (n,) and encode it."""
    levels = ordered_levels(values) if role == "ordinal" else None
    if levels is None:
        if role == "ordinal" and not pd.api.types.is_numeric_dtype(values.dtype):
            distinct = list(pd.unique(values.dropna()))
            raise DataError(
                f"Column {name!r} has levels without a known order: "
                f"{shorten(distinct)}; make it categorical, or give an ordered pandas "
                "categorical."
            )
        codes, found = pd.factorize(values, sort=True)
        levels = list(found)
    else:
        codes = pd.Categorical(values, categories=levels).codes
    column = Column(name, role, levels=tuple(levels))
    return column, np.where(codes < 0, np.nan, codes)
