"""Rows of a file that are no samples: headers repeated, dots, units and totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute._validation import DataError
from clusterlens.compute.formatting import count
from clusterlens.compute.table._binary import Parsed
from clusterlens.compute.table._header import is_number, is_word
from clusterlens.compute.table._roles import ColumnFacts
from clusterlens.compute.table._summary_rows import without_summaries

_DOTS = ("..", "...", "....", "…", "⋮", "⋯")
_MOST_LINES = 5  # of units and descriptions below a header
_HEAD = 20  # rows that show which columns hold numbers
_COLUMNS = 20  # columns that show whether a row is a total
_MOSTLY = 0.5  # share of numbers in a column of words and numbers
_FEWEST_ROWS = 5  # with fewer rows sums may be equal by chance


def check_rows(parsed: Parsed, source: str) -> Parsed:
    """Leave out repeated headers and summaries, refuse dots for rows, note units."""
    frame = parsed.frame
    if frame.shape[1] < 2:
        return parsed
    _refuse_dots(frame, source)
    notes = _units_note(frame)
    again = _rows_of(frame, [[name] for name in frame.columns])
    if again.any() and not again.all():
        frame = frame[~again].reset_index(drop=True)
        notes.append(f"{count(again.sum(), 'repeated header')} left out.")
    frame, summary_notes = without_summaries(frame, parsed.decimal_comma)
    return replace(parsed, frame=frame, notes=[*parsed.notes, *notes, *summary_notes])


def total_notes(frame: pd.DataFrame) -> list[str]:
    """Note a last or first row that holds the sums or means of the other rows.

    One such number is enough where only this row has no words.
    """
    columns = frame.select_dtypes("number", exclude=["timedelta", "complex"])
    columns = columns.iloc[:, :_COLUMNS]
    if len(frame) < _FEWEST_ROWS or columns.empty:
        return []
    notes = []
    for place, at, others in (
        ("last", -1, columns.iloc[:-1]),
        ("first", 0, columns.iloc[1:]),
    ):
        cells = columns.iloc[at].to_numpy(float, na_value=np.nan)
        with np.errstate(over="ignore", invalid="ignore"):
            sums = others.sum().to_numpy(float, na_value=np.nan)
        unnamed = _only_one_lacks_words(frame, at)
        for what, values in (("sums", sums), ("means", sums / others.count())):
            counted = np.isfinite(cells) & (values != 0)
            equal = np.isclose(cells, values, rtol=1e-9, atol=0) & counted
            if equal.sum() > (0 if unnamed else max(1, counted.sum() / 2)):
                notes.append(
                    f"The {place} row holds the {what} of the other rows in "
                    f"{count(equal.sum(), 'column')}; if it is no sample, delete it in "
                    "the file."
                )
    return notes


def other_header_notes(facts: Mapping[str, ColumnFacts]) -> list[str]:
    """Note the first row of different words where columns hold mostly numbers."""
    columns = [
        known
        for known in facts.values()
        if known.kind == "text"
        and not isinstance(known.values.dtype, pd.CategoricalDtype)
        and known.number_share > _MOSTLY
    ]
    if len(columns) < 2:
        return []
    worded = [np.isnan(c.numbers) & c.values.notna().to_numpy() for c in columns]
    for row in np.flatnonzero(np.all(worded, axis=0)).tolist():
        words = [str(known.values.iloc[row])[:20] for known in columns]
        if row and len(set(words)) == len(words):
            return [
                f"Row {row + 1} holds words in all columns of numbers, such as "
                f"{', '.join(map(repr, words[:3]))}; if another table begins there, "
                "delete it in the file."
            ]
    return []


def _only_one_lacks_words(frame: pd.DataFrame, at: int) -> bool:
    """Check whether columns of text are blank in one row alone."""
    blank = frame.select_dtypes(["object", "string", "category"]).isna()
    lacking = np.flatnonzero(blank.any(axis=1)).tolist()
    return lacking == [at % len(frame)] and bool(blank.iloc[at].all())


def _rows_of(frame: pd.DataFrame, cells: Sequence[Sequence[Any]]) -> np.ndarray:
    """Mark the rows (n,) with every cell among the given cells of its column."""
    found = np.ones(len(frame), bool)
    for j, allowed in enumerate(cells):
        found &= frame.iloc[:, j].isin(allowed).to_numpy(bool)
        if not found.any():
            break
    return found


def _refuse_dots(frame: pd.DataFrame, source: str) -> None:
    """Refuse a table that was printed with dots for some rows or columns."""
    rows = _rows_of(frame, [_DOTS] * frame.shape[1])
    columns = [
        j
        for j, name in enumerate(frame.columns)
        if name in _DOTS and frame.iloc[:, j].isin(_DOTS).all()
    ]
    if rows.any() or columns:
        what = f"row {rows.argmax() + 1}" if rows.any() else f"column {columns[0] + 1}"
        raise DataError(
            f"{source}: dots in {what} stand for rows or columns that are left out; "
            "export the whole table as CSV."
        )


def _units_note(frame: pd.DataFrame) -> list[str]:
    """Note first rows that hold words in all columns of numbers."""
    if any(map(is_number, map(str, frame.iloc[0]))):
        return []
    head = frame.iloc[:_HEAD].astype(object)
    rows = head.where(head.notna(), "").astype(str).to_numpy().tolist()
    n_words = 0
    while n_words < min(len(rows), _MOST_LINES) and not any(
        map(is_number, rows[n_words])
    ):
        n_words += 1
    if n_words in (0, len(rows), _MOST_LINES):
        return []
    numeric = [
        j
        for j, cell in enumerate(rows[n_words])
        if is_number(cell)
        and any(is_word(row[j]) for row in rows[:n_words])
        and not any(is_word(row[j]) for row in rows[n_words:])
    ]
    if len(numeric) < 2 or len(numeric) < sum(map(is_number, rows[n_words])):
        return []
    words = ", ".join(repr(rows[0][j][:20]) for j in numeric[:3])
    what = "The first row holds" if n_words == 1 else f"The first {n_words} rows hold"
    return [
        f"{what} words in all columns of numbers, such as {words}; if these are units "
        "or descriptions, delete them in the file."
    ]
