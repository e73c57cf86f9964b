"""Row ids as text, to match rows of a file with rows of a table."""

from __future__ import annotations

import re
from datetime import datetime, time
from decimal import Decimal
from typing import Any

import numpy.typing as npt
import pandas as pd

from clusterlens.compute._validation import DataError, as_array

_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,99})(?:\.0{0,99}|,00?)?(?:[eE]\+?\d{1,2})?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:.{2,40})?")


def plain_ids(row_ids: npt.ArrayLike) -> list[Any]:
    """Return row ids as a list of Python values."""
    array = as_array(row_ids, "row_ids", "one id per sample")
    if array.ndim != 1:
        raise DataError(
            f"row_ids has shape {array.shape}; give one id per sample, shape "
            "(n_samples,)."
        )
    return pd.Index(array).tolist()


def as_text(row_id: Any) -> str:
    """Write an id so that 7, "7" and 7.0 are one row; a midnight loses its time."""
    if isinstance(row_id, float) and row_id.is_integer():
        row_id = int(row_id)
    is_moment = isinstance(row_id, datetime) and row_id is not pd.NaT
    if is_moment and row_id.timetz() == time():
        row_id = row_id.date()
    return str(row_id)


class RowIds:
    """The ids of the samples, to find the rows of a file.

        An id that is not found literally may be written differently: a whole number as
    1.0, 1,0 or 1e5, a date with a time or in another zone, any id with the apostrophe
    of a protected cell.
    """

    def __init__(self, row_ids: npt.ArrayLike) -> None:
        """Number the ids, which must differ as text."""
        self.texts = [as_text(row_id) for row_id in plain_ids(row_ids)]
        self._positions: dict[str, int] = {}
        for k, text in enumerate(self.texts):
            if text in self._positions:
                raise DataError(
                    f"row_ids has {text!r} at positions {self._positions[text]} and "
                    f"{k}; give ids that differ as text."
                )
            self._positions[text] = k
        self._meanings: dict[str, int] = {}
        for k, text in enumerate(self.texts):
            meaning = _meaning(text)
            self._meanings[meaning] = -1 if meaning in self._meanings else k

    def __len__(self) -> int:
        """Count the samples."""
        return len(self.texts)

    def find(self, row_id: Any) -> int:
        """Return the position of an id, -1 if it is unknown."""
        text = as_text(row_id)
        for written in (text, text.removeprefix("'")):
            if written in self._positions:
                return self._positions[written]
        return self._meanings.get(_meaning(text.removeprefix("'")), -1)


def _meaning(text: str) -> str:
    """Write whole numbers and moments in one form, whatever their notation."""
    if _WHOLE.fullmatch(text):
        return str(int(Decimal(text.replace(",", "."))))
    if _DATE.fullmatch(text):
        try:
            moment = pd.Timestamp(text)
        except ValueError:
            return text
        return str(moment if moment.tz is None else moment.tz_convert("UTC"))
    return text
