"""Short columns of plain decimal numbers, typed together rather than one by one.

A call of Arrow or pandas costs more than a column of a few hundred cells. In tables of
thousands of such columns (genes, wavelengths), one call for many columns saves most of
the time. The result is that of `type_text`, which the other columns are left to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from clusterlens.compute._run.options import RunOptions

SHORT = 5_000  # cells; longer columns gain nothing
AT_ONCE = 500_000  # cells
# Digits that float64 holds, and no leading zeros, which are those of codes.
_PLAIN = r"^-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?$"


def type_plain_numbers(
    frame: pd.DataFrame, *, fractions: bool, run: RunOptions
) -> dict[str, pd.Series]:
    """Return the columns of (n, d) text cells that hold plain decimal numbers alone.

    Whole numbers become int64, or Int64 if cells are blank, and others float64. Without
    `fractions`, only whole numbers are taken. `run` may stop it between blocks.
    """
    n_rows = len(frame)
    if not 0 < n_rows <= SHORT:
        return {}
    found = {}
    for names, texts in _blocks(frame, max(1, AT_ONCE // n_rows)):
        run.raise_if_cancelled()
        trimmed = pc.utf8_trim_whitespace(texts)
        blank = pc.fill_null(pc.equal(trimmed, ""), True)
        plain = pc.or_(
            blank, pc.fill_null(pc.match_substring_regex(trimmed, _PLAIN), False)
        )
        by_column = len(names), n_rows
        is_blank: np.ndarray = np.asarray(blank).reshape(by_column)
        is_plain = np.asarray(plain).reshape(by_column).all(axis=1)
        pointed = np.asarray(pc.fill_null(pc.match_substring(trimmed, "."), False))
        has_fractions = np.any(pointed.reshape(by_column), axis=1)
        taken = is_plain & ~is_blank.all(axis=1) & (fractions | ~has_fractions)
        numbers = pc.if_else(pa.array(np.repeat(taken, n_rows)), trimmed, None)
        numbers = pc.if_else(blank, None, numbers)
        values: np.ndarray = np.array(
            pc.cast(numbers, pa.float64()).to_numpy(zero_copy_only=False)
        )
        values = values.reshape(by_column)
        for j in np.flatnonzero(taken).tolist():
            column = values[j]
            whole = not has_fractions[j]
            cells = _whole_numbers(column, is_blank[j]) if whole else column
            found[names[j]] = pd.Series(cells, index=frame.index)
    return found


def is_text(dtype: Any) -> bool:
    """Check whether cells of a dtype are text, and no objects."""
    return pd.api.types.is_string_dtype(dtype) and not (
        pd.api.types.is_object_dtype(dtype)
    )


def to_arrow(values: pd.Series) -> pa.Array | pa.ChunkedArray:
    """Return a string column (n,) as Arrow text."""
    return pa.array(values, type=pa.large_string(), from_pandas=True)


def _blocks(
    frame: pd.DataFrame, n_columns: int
) -> Iterator[tuple[list[str], pa.Array]]:
    """Yield the names of columns of text, and their cells one column after another."""
    names: list[str] = []
    parts: list[pa.Array] = []
    for name, values in frame.items():
        if is_text(values.dtype):
            text = to_arrow(values)
            parts += text.chunks if isinstance(text, pa.ChunkedArray) else [text]
            names.append(str(name))
        if len(names) == n_columns:
            yield names, pa.concat_arrays(parts)
            names, parts = [], []
    if names:
        yield names, pa.concat_arrays(parts)


def _whole_numbers(values: np.ndarray, blank: np.ndarray) -> Any:
    """Return whole numbers (n,), with gaps where cells are blank."""
    integers = np.where(blank, 1, values).astype(np.int64)
    if blank.any():
        return pd.arrays.IntegerArray(integers, blank.copy())
    return integers
