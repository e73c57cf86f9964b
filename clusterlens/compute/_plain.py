"""Records read from files of any origin: every field is checked when it is taken.

A `Record` wraps the result of a JSON reader. A field that is missing or of another kind
than expected raises a DataError that names it.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from clusterlens.compute._validation import DataError, FloatArray
from clusterlens.compute.formatting import whole

LONGEST_TEXT = 100_000
# No value that this package writes is nested nearly as deeply.
MOST_NESTED = 50
# A value takes some 60 bytes in memory.
MOST_VALUES = 2_000_000
# Characters that are counted at a time, and the bytes that mean something in JSON.
_CHUNK = 2**14
_QUOTE, _BACKSLASH = b'"\\'
_OPENS, _CLOSES, _SEPARATES = (
    np.isin(np.arange(256), list(marks)) for marks in (b"[{", b"]}", b",:")
)
_MARKS = _OPENS | _CLOSES | _SEPARATES


def largest_unpacked(n_packed: int, most: int) -> int:
    """Return the limit of the bytes that a part of an archive may unpack to.

    Except for small parts, genuine files pack to more than a hundredth of their size.
    """
    return min(most, 20_000_000 + 100 * n_packed)


class Record:
    """Named fields of any origin.

    Parameters
    ----------
    fields : object
        The data; refused unless it is a dict.
    name : str
        Name of the record in messages.
    """

    def __init__(self, fields: Any, name: str) -> None:
        if not isinstance(fields, dict):
            raise DataError(f"{name} is no record")
        self._fields, self._name = fields, name

    def get(self, key: str) -> Any:
        """Return a field unchanged."""
        if key not in self._fields:
            raise DataError(f"{self._name} lacks {key!r}")
        return self._fields[key]

    def text(self, key: str, allowed: Sequence[str] | None = None) -> str:
        """Return a text, checked against the allowed values."""
        value = self.get(key)
        if not _is_text(value):
            raise self._wrong(key, "a text")
        if allowed is not None and value not in allowed:
            raise self._wrong(key, f"one of {', '.join(allowed)}")
        return value

    def whole(self, key: str, low: int, high: int) -> int:
        """Return a whole number, low <= value <= high."""
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(key, "a whole number")
        if not low <= value <= high:
            raise self._wrong(key, f"from {low} to {high}")
        return value

    def number(self, key: str, low: float = -math.inf, high: float = math.inf) -> float:
        """Return a finite number, low <= value <= high."""
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(key, "a number")
        if not low <= value <= high or not abs(value) <= sys.float_info.max:
            raise self._wrong(key, f"from {low} to {high}")
        return float(value)

    def part(self, key: str) -> Record:
        """Return a record within the record."""
        return Record(self.get(key), f"{self._name}: {key}")

    def parts(self, key: str) -> list[Record]:
        """Return a list of records."""
        return [Record(x, f"{self._name}: {key}") for x in self.entries(key)]

    def entries(self, key: str) -> list[Any]:
        """Return a list."""
        value = self.get(key)
        if not isinstance(value, list):
            raise self._wrong(key, "a list")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        entries = self.entries(key)
        if not all(map(_is_text, entries)):
            raise self._wrong(key, "a list of texts")
        return tuple(entries)

    def array(self, key: str, *shape: int) -> FloatArray:
        """Return finite numbers of a shape; -1 means any length."""
        try:
            value = np.array(self.get(key))
        except ValueError:
            raise self._wrong(key, "numbers of one shape") from None
        if value.size == 0 and 0 in shape:
            return np.empty(shape)
        fits = value.ndim == len(shape) and all(
            n in (-1, m) for n, m in zip(shape, value.shape, strict=True)
        )
        if value.dtype.kind not in "iuf" or not fits or not np.isfinite(value).all():
            raise self._wrong(key, f"finite numbers of shape {shape}")
        return value.astype(np.float64)

    def names(self) -> list[str]:
        """Return the names of the fields."""
        return list(self._fields)

    def _wrong(self, key: str, wanted: str) -> DataError:
        return DataError(f"{self._name}: {key} is not {wanted}")


def _is_text(value: Any) -> bool:
    """Check whether a value is a text that can be written as UTF-8."""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        return False
    return not any("\ud800" <= letter <= "\udfff" for letter in value)


def read_json(data: bytes, name: str, most: int) -> Record:
    """Return the record in JSON text (UTF-8); messages use the name.

    Raises DataError if it is not JSON, or more than `read_plain` accepts.
    """
    try:
        return Record(read_plain(data, most), name)
    except ValueError as error:
        raise DataError(f"{name} is no JSON ({error!s:.120})") from None


def read_plain(text: str | bytes, most: int, most_values: float = MOST_VALUES) -> Any:
    """Read JSON of any origin after `check_plain`; ValueError if it is not JSON."""
    return json.loads(check_plain(text, most, most_values))


def check_plain(text: str | bytes, most: int, most_values: float = MOST_VALUES) -> str:
    """Return JSON of any origin after counting its values and levels.

    Parameters
    ----------
    text : str or bytes
        JSON; bytes are UTF-8.
    most : int
        Largest length.
    most_values : float
        Largest number of values, including names and values inside lists and mappings.

    Raises
    ------
    ValueError
        If it is longer, has more values, or is nested more deeply than `MOST_NESTED`.
    """
    if len(text) > most:
        raise ValueError(
            f"it is {whole(len(text))} characters long, the limit is {whole(most)}"
        )
    text = text if isinstance(text, str) else text.decode()
    for n_values, deepest in _counts(text):
        if deepest > MOST_NESTED:
            raise ValueError(f"its brackets are nested more than {MOST_NESTED} deep")
        if n_values > most_values:
            raise ValueError(
                f"it has more than {whole(most_values)} values; that many are not taken"
            )
    return text


def _counts(text: str) -> Iterator[tuple[int, int]]:
    """Yield the values so far, and the deepest level, after each chunk of JSON.

    O(n) time, whatever the text holds.
    """
    n_values, level, n_quotes, n_backslashes = 1, 0, 0, 0
    for start in range(0, len(text), _CHUNK):
        chunk = text[start : start + _CHUNK].encode("utf-8", "surrogatepass")
        codes = np.frombuffer(chunk, np.uint8)
        others = np.concatenate(
            [[-1 - n_backslashes], np.flatnonzero(codes != _BACKSLASH)]
        )
        n_backslashes = len(codes) - 1 - int(others[-1])
        quotes = np.flatnonzero(codes == _QUOTE)
        before = others[np.searchsorted(others, quotes) - 1]
        # After an odd number of backslashes, a quote is a part of the text.
        quotes = quotes[(quotes - before) % 2 == 1]
        marks = np.flatnonzero(_MARKS[codes])
        is_outside = (n_quotes + np.searchsorted(quotes, marks)) % 2 == 0
        n_quotes += len(quotes)
        found = codes[marks[is_outside]]
        levels = level + np.cumsum(_OPENS[found].astype(int) - _CLOSES[found])
        level = int(levels[-1]) if len(levels) else level
        n_values += int(np.count_nonzero(_OPENS[found] | _SEPARATES[found]))
        yield n_values, int(levels.max(initial=level))
