"""Quoted cells of delimited text: an unbalanced quote would swallow whole rows."""

from __future__ import annotations

import csv
import io

import numpy as np

from clusterlens.compute._validation import DataError
from clusterlens.compute.formatting import count

_QUOTE, _NEW_LINE, _RETURN = 34, 10, 13


def check_quotes(
    body: bytes, separator: str, lines_before: int, source: str
) -> list[str]:
    """Refuse rows of cells with unbalanced quotes; note cells with line breaks.

    Pairs of quotes that open after a separator and close before one are correct; a few
    array operations check this. Only text with other quotes is read cell by cell.
    """
    if b'"' not in body:
        return []
    text = np.frombuffer(body, dtype=np.uint8)
    quotes = np.flatnonzero(text == _QUOTE)
    if not _in_order(text, quotes, ord(separator)):
        _find_unbalanced(body, separator, lines_before, source)
        return []
    return _line_break_note(text, quotes, lines_before)


def _in_order(text: np.ndarray, quotes: np.ndarray, separator: int) -> bool:
    """Check whether every pair of quotes encloses a cell or is a doubled quote."""
    if len(quotes) % 2:
        return False
    opening, closing = quotes[::2], quotes[1::2]
    ends = [separator, _NEW_LINE, _RETURN]
    before = np.where(opening > 0, text[np.maximum(opening - 1, 0)], _NEW_LINE)
    last = len(text) - 1
    after = np.where(closing < last, text[np.minimum(closing + 1, last)], _NEW_LINE)
    doubled = np.r_[False, opening[1:] == closing[:-1] + 1]
    starts = np.isin(before, ends) | doubled
    stops = np.isin(after, ends) | np.r_[doubled[1:], False]
    return bool((starts & stops).all())


def _find_unbalanced(
    body: bytes, separator: str, lines_before: int, source: str
) -> None:
    """Raise at the first row that a strict reader cannot split."""
    lines = io.StringIO(body.decode(), newline="")
    reader = csv.reader(lines, delimiter=separator, strict=True)
    before = 0
    try:
        for _ in reader:
            before = reader.line_num
    except csv.Error:
        raise DataError(
            f"{source}: line {lines_before + before + 1} has a quote that is not "
            "closed at the end of a cell, so that the rows after it would be lost; "
            'remove it, or double the quotes within a cell (") and enclose the cell in '
            "quotes."
        ) from None


def _line_break_note(
    text: np.ndarray, quotes: np.ndarray, lines_before: int
) -> list[str]:
    """Count quoted cells with line breaks, and locate the first one."""
    breaks = np.flatnonzero(text == _NEW_LINE)
    first, last = (
        np.searchsorted(breaks, quotes[::2]),
        np.searchsorted(breaks, quotes[1::2]),
    )
    spans = first < last
    if not spans.any():
        return []
    line = lines_before + int(first[spans.argmax()]) + 1
    return [
        f"{count(spans.sum(), 'quoted cell')} with line breaks, the first in line "
        f"{line}."
    ]
