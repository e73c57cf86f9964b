"""Row ids as text, so that rows of a file and rows of a table find each other."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import pandas as pd

from clusterlens.compute._validation import DataError, as_array


def plain_ids(row_ids: npt.ArrayLike) -> list[Any]:
    """Row ids as a list of Python values."""
    array = as_array(row_ids, "row_ids", "one id per sample")
    if array.ndim != 1:
        raise DataError(
            f"row_ids has shape {array.shape}; give one id per sample, shape "
            "(n_samples,)."
        )
    return pd.Index(array).tolist()


def as_text(row_id: Any) -> str:
    """Write an id so that 7, "7" and 7.0 are one row."""
    if isinstance(row_id, float) and row_id.is_integer():
        row_id = int(row_id)
    return str(row_id)


def positions(row_ids: npt.ArrayLike) -> dict[str, int]:
    """Map ids as text to positions, also with the apostrophe of a protected cell."""
    position: dict[str, int] = {}
    for k, row_id in enumerate(plain_ids(row_ids)):
        text = as_text(row_id)
        if text in position:
            raise DataError(
                f"row_ids has {text!r} at positions {position[text]} and {k}; give ids "
                "that differ as text."
            )
        position[text] = k
    return {f"'{text}": k for text, k in position.items()} | position
