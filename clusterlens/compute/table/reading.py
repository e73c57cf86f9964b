"""load_table: read a table from a file, or from an object in memory."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import IO, Any

import numpy as np
import pandas as pd

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions, stretches
from clusterlens.compute._validation import as_pandas, check_choice, check_optional_text
from clusterlens.compute.formatting import count
from clusterlens.compute.table._binary import Parsed
from clusterlens.compute.table._cells import may_hold_text
from clusterlens.compute.table._encoding import TITLES
from clusterlens.compute.table._features import FEATURE_ROLES
from clusterlens.compute.table._files import (
    BYTES_LIMIT,
    READERS,
    Reader,
    TableParts,
    file_parts,
    read_file,
)
from clusterlens.compute.table._splitting import BLANKS, SEPARATORS
from clusterlens.compute.table.dataset import Dataset, make_dataset

__all__ = [
    "BYTES_LIMIT",
    "READERS",
    "Reader",
    "TableParts",
    "load_table",
    "table_parts",
]

# Approximate share of splitting text into cells; the rest converts types.
_SPLIT_SHARE = 0.2
_WAY = 1000  # progress steps of the whole

# Separators between cells of text, in words.
SEPARATOR_NAMES = {**SEPARATORS, BLANKS: "blanks"}
# Decimal marks, in words.
DECIMAL_NAMES = {".": "point", ",": "comma"}
# Encodings of tables by their Python names, in words.
ENCODING_NAMES = {"utf-8": "UTF-8", **TITLES}


@takes_running
def load_table(
    source: str | os.PathLike[str] | IO[Any] | bytes | pd.DataFrame,
    name: str | None = None,
    label: str | None = None,
    row_id: str | None = None,
    *,
    max_bytes: int = BYTES_LIMIT,
    sheet: str | None = None,
    array: str | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Dataset:
    r"""Read a table and guess the role of every column.

    Parameters
    ----------
    source : path, binary file object, bytes or DataFrame
        Delimited text (CSV, TSV, ...; separator, decimal comma, encoding, preamble and
        header are detected), a table drawn in text or in columns of fixed width, ARFF,
        Parquet, .npy, .npz or .xlsx, each also gzipped. A DataFrame may come from
        pandas, polars, or any library that exports Arrow.
    name : str, optional
        Name of the table. Default the name of the file.
    label : str, optional
        Column of given classes; never a feature.
    row_id : str, optional
        Column with distinct values for the row ids.
    max_bytes : int, default 2_000_000_000
        Largest file, decompressed size and table in memory to accept, in bytes.
    sheet : str, optional
        Sheet of a workbook. Default the first visible sheet with cells.
    array : str, optional
        Matrix of an .npz archive. Default the one called "X", "x" or "data", or the
        only one.
    encoding : str, optional
        Encoding of delimited text, by its Python name. Default the byte order mark,
        UTF-8 if the text is valid, or a guess, which is noted.
    separator : {",", ";", "\\t", "|", "^", "~", " "}, optional
        Separator between the cells of delimited text; " " means any number of blanks.
        Default the separator that splits its lines most evenly.
    decimal : {".", ","}, optional
        Decimal mark in delimited text. Default a comma if numbers have commas that
        neither separate cells nor group thousands. Beside decimal commas, points group
        thousands where they fit all numbers of a column, which is noted.
    progress : callable, optional
        Called as progress(done, total) in thousandths.
    cancel : callable, optional
        Called between blocks of text and between columns; True stops.

    Returns
    -------
    dataset : Dataset
        Typed table with roles and notes; `prepare` computes its features.

    Raises
    ------
    DataError
        If the file cannot be read, is too large, or is not a table.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    Sizes stated in a file, and the size of compressed content, are compared with
    max_bytes before memory is taken. Files of more than 20 million rows or 100,000
    columns are refused; a DataFrame may have more. Linear in the size of the file.

    Examples
    --------
    >>> ds = load_table(b"size;species\n1,5;a\n2,5;b\n", name="flowers")
    >>> ds.table["size"].tolist()
    [1.5, 2.5]
    >>> ds.notes[0]
    "Read as delimited text: separator ';', decimal comma, first line is a header."
    """
    check_optional_text(name, name="name")
    if separator is not None:
        check_choice(separator, SEPARATOR_NAMES, name="separator")
    if decimal is not None:
        check_choice(decimal, DECIMAL_NAMES, name="decimal")
    run = RunOptions(progress=progress, cancel=cancel)
    source = as_pandas(source)
    if isinstance(source, (pd.DataFrame, np.ndarray)):
        (whole,) = stretches(run, _WAY)
        return make_dataset(source, name or "table", label, row_id, **whole.steps)
    splitting, typing = stretches(run, _WAY, (_SPLIT_SHARE,))
    parsed, name = read_file(
        source,
        name,
        max_bytes=max_bytes,
        sheet=sheet,
        array=array,
        encoding=encoding,
        separator=separator,
        decimal=decimal,
        run=splitting,
    )
    if parsed.is_text and parsed.frame.shape[1] > 1:
        parsed, blank = _without_blank_rows(parsed)
        note = f"{count(len(blank), 'blank row')} left out."
        parsed = replace(parsed, notes=[*parsed.notes, *[note] * bool(blank)])
    return _dataset(parsed, name, label, row_id, typing)


@takes_running
def load_rows_of_ids(
    source: str | os.PathLike[str] | IO[Any] | bytes,
    row_id: str | None = None,
    *,
    max_bytes: int = BYTES_LIMIT,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> tuple[Dataset, list[int]]:
    """Read a table from a file without its blank rows, as spreadsheets leave them.

    Parameters
    ----------
    source, row_id, max_bytes, progress, cancel
        As for `load_table`.

    Returns
    -------
    dataset : Dataset
        The rows with at least one cell.
    blank : list of int
        The numbers of the others among all rows, from 0.
    """
    run = RunOptions(progress=progress, cancel=cancel)
    splitting, typing = stretches(run, _WAY, (_SPLIT_SHARE,))
    parsed, name = read_file(source, max_bytes=max_bytes, run=splitting)
    parsed, blank = _without_blank_rows(parsed)
    return _dataset(parsed, name, None, row_id, typing), blank


def _without_blank_rows(parsed: Parsed) -> tuple[Parsed, list[int]]:
    """Leave out the rows without any cell, unless all are, and return their numbers."""
    blank = np.ones(len(parsed.frame), bool)
    for _, cells in parsed.frame.items():
        left = cells[blank]
        is_text = may_hold_text(cells.dtype)
        blank[blank] = left.isna() | (is_text and left.astype(str).str.strip().eq(""))
        if not blank.any():
            return parsed, []
    if not blank.all():
        frame = parsed.frame[~blank].reset_index(drop=True)
        parsed = replace(parsed, frame=frame)
    return parsed, np.flatnonzero(blank).tolist()


def _dataset(
    parsed: Parsed, name: str, label: str | None, row_id: str | None, run: RunOptions
) -> Dataset:
    """Type the columns of a file and guess their roles."""
    if label is None:
        labels = [column for column, role in parsed.roles.items() if role == "label"]
        label = next((column for column in labels if column != row_id), None)
    ds = make_dataset(
        parsed.frame,
        name,
        label,
        row_id,
        notes=parsed.notes,
        decimal_comma=parsed.decimal_comma,
        **run.steps,
    )
    roles = {
        column: role
        for column, role in parsed.roles.items()
        if ds.roles.get(column) in FEATURE_ROLES
    }
    reasons = dict.fromkeys(roles, "given in the file")
    return replace(
        ds,
        roles={**ds.roles, **roles},
        role_reasons={**ds.role_reasons, **reasons},
    )


def load_part(
    source: IO[bytes], part: str | None = None, **how: Any
) -> tuple[Dataset, TableParts, dict[str, str]]:
    """Read a named part of a file; by default the usual or first one.

    Returns the table, the parts of the file, and the argument of `load_table` that
    chose one. If a file has no parts, the argument is the separator of its text.
    """
    parts = table_parts(source)
    part = part or parts.usual or next(iter(parts.names), None)
    chosen: dict[str, Any] = {} if part is None else {parts.option or "separator": part}
    source.seek(0)
    table = load_table(source, name=str(source.name), **how, **chosen)
    return table, parts, chosen


def table_parts(source: str | os.PathLike[str] | IO[Any] | bytes) -> TableParts:
    """Name the tables that a file holds: sheets of a workbook, matrices of an archive.

    Parameters
    ----------
    source : path, binary file object or bytes
        As for `load_table`.

    Returns
    -------
    parts : TableParts
        The argument of `load_table` that chooses one, its values, and the default.

    Raises
    ------
    DataError
        If the file cannot be read, or has more than 2 GB, packed or unpacked.

    Notes
    -----
    Hidden or empty sheets are not named, unless all are hidden. Linear in the size of
    the file; only the headers of arrays are read.

    Examples
    --------
    >>> import io, numpy as np
    >>> file = io.BytesIO()
    >>> np.savez(file, train=np.zeros((4, 2)), test=np.ones((3, 2)))
    >>> parts = table_parts(file.getvalue())
    >>> parts.option, parts.names, parts.usual
    ('array', ('train', 'test'), None)
    >>> load_table(file.getvalue(), **{parts.option: "test"})
    Dataset('table', 3 rows x 2 columns)
    """
    return file_parts(source, BYTES_LIMIT)
