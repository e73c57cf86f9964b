"""Delimited text: find out how it is written, then read all cells as text.

Arrow splits the whole text in linear time.
"""

from __future__ import annotations

import csv
import io
import re

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv

from clusterlens.compute._validation import DataError
from clusterlens.compute.formatting import count, whole
from clusterlens.compute.table._binary import (
    CELL_BYTES,
    Content,
    Parsed,
    check_shape,
    too_large,
)
from clusterlens.compute.table._encoding import to_utf8
from clusterlens.compute.table._header import MOST_LINES, count_footer
from clusterlens.compute.table._layout import Layout, sniff_layout
from clusterlens.compute.table._quotes import check_quotes
from clusterlens.compute.table._splitting import (
    ANY_MARK,
    BLANKS,
    SEPARATORS,
    has_blanks_around_quotes,
    name_separator,
    split_lines,
    tabbed,
    without_blanks_around_quotes,
)

_MARKS = [mark.encode() for mark in (*SEPARATORS, BLANKS)]
_HEAD = 1 << 18
_LONGEST_LINE = 1 << 24
_FOOT = 1 << 14
_BLOCK = 1 << 24
_CONTROLS = sorted(set(range(32)) - {9, 10, 11, 12, 13})
_FORMULA_TEXT = re.compile(
    rf'(?m)(?:^|(?<=[{ANY_MARK}]))=("[^"\r\n]{{0,1000}}+")(?=[{ANY_MARK}\r\n]|\Z)'.encode()
)


class TextSize:
    """Bounds the lines and cells of text that comes in pieces, without splitting it.

    Parameters
    ----------
    content : Content
        What to call the text, and its limits.
    """

    def __init__(self, content: Content) -> None:
        self._content = content
        self._lines = self._cells = 0

    def add(self, piece: bytes) -> None:
        """Count a piece; refuse the text if that makes it too large."""
        returns = piece.count(b"\r")
        lines = piece.count(b"\n") + (returns and returns - piece.count(b"\r\n"))
        self._lines += lines
        self._cells += lines + max(piece.count(mark) for mark in _MARKS)
        check_shape(self._lines, 0, self._content, "line")
        n_bytes, limit = CELL_BYTES * self._cells, self._content.limit
        if n_bytes > limit:
            cells = f"may have {whole(self._cells)} cells, in memory"
            raise too_large(self._content.source, n_bytes, limit, cells)


def read_delimited(content: Content) -> Parsed:
    """Return the cells (n, d) as text, with notes on how they were written."""
    TextSize(content).add(content.data)
    source = content.source
    utf8, encoding_note = to_utf8(content.data, source, content.encoding)
    _check_text(utf8, source)
    n_formulas = 0
    if b'="' in utf8:
        utf8, n_formulas = _FORMULA_TEXT.subn(rb"\1", utf8)
    head, complete = _head(utf8, source)
    layout = sniff_layout(head, complete, content)
    separator = layout.separator
    offset = sum(len(line.encode()) for line in split_lines(head)[: layout.first_line])
    body = utf8[offset:]
    notes = [*layout.notes, encoding_note]
    if n_formulas:
        cells = count(n_formulas, "cell")
        notes.append(f'{cells} written as ="..." read as the text in the quotes.')
    if separator == BLANKS:
        body = b"".join(tabbed(row) + b"\n" for row in body.splitlines())
        separator = "\t"
    elif has_blanks_around_quotes(body, separator):
        body = without_blanks_around_quotes(body.decode(), separator).encode()
        notes.append("Blanks around quoted cells left out.")
    body, footer_notes = _without_footer(body, separator, layout)
    notes += footer_notes + check_quotes(body, separator, layout.first_line, source)
    if layout.width == 1 and b'"' not in body:
        n_blank = sum(not line.strip() for line in body.strip().splitlines())
        lines = count(n_blank, "blank line")
        note = f"{lines} left out; write NA where a value is missing."
        notes += [note] * bool(n_blank)
    body = _without_blank_lines(body, separator)
    frame = _read_cells(body, separator, layout, content)
    frame.columns = pd.Index(
        layout.names or [f"column {j}" for j in range(1, layout.width + 1)],
        dtype=object,
    )
    return Parsed(frame, notes, layout.decimal_comma, layout.roles, is_text=True)


def _check_text(text: bytes, source: str) -> None:
    """Raise an error if the content is not text."""
    sample = text[:_HEAD]
    controls = sum(sample.count(bytes([code])) for code in _CONTROLS)
    if b"\0" in text or controls > 0.02 * len(sample):
        raise DataError(
            f"{source} is not a text table: it holds binary data; give CSV, TSV, "
            "ARFF, Parquet, .npy, .npz or .xlsx."
        )


def _head(utf8: bytes, source: str) -> tuple[str, bool]:
    """Return the first whole lines, and whether that is all."""
    if len(utf8) <= _HEAD:
        return utf8.decode(), True
    size = _HEAD
    while size <= _LONGEST_LINE:
        for line_end in (b"\n", b"\r"):
            if (cut := utf8.rfind(line_end, 0, size)) >= 0:
                return utf8[: cut + 1].decode(), False
        size *= 4
    if len(utf8) <= _LONGEST_LINE:
        return utf8.decode(), True
    raise DataError(
        f"{source} has no line end within its first {whole(_LONGEST_LINE)} bytes; give "
        "one row of cells per line."
    )


def _read_cells(
    body: bytes, separator: str, layout: Layout, content: Content
) -> pd.DataFrame:
    """Split the rows of data (n, d) into text cells, a block of bytes at a time."""
    names = [str(j) for j in range(layout.width)]
    file, batches = pa.BufferReader(body), []
    try:
        reader = pa_csv.open_csv(
            file,
            read_options=pa_csv.ReadOptions(
                column_names=names, block_size=max(_BLOCK, _longest_line(body))
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=separator, newlines_in_values=b'"' in body
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
        for batch in reader:
            content.run.raise_if_cancelled()
            batches.append(batch)
            content.run.report(file.tell(), len(body))
    except pa.ArrowInvalid as error:
        where = _ragged_line(body, separator, layout)
        raise DataError(f"{content.source}: {where or error}") from error
    return pa.Table.from_batches(batches, reader.schema).to_pandas()


def _without_footer(
    body: bytes, separator: str, layout: Layout
) -> tuple[bytes, list[str]]:
    """Remove the lines below the last row of data, and say so."""
    tail = body[-_FOOT:]
    lines = tail.splitlines(keepends=True)[len(tail) < len(body) :][-MOST_LINES:]
    within = [k for k, line in enumerate(lines) if line.count(b'"') % 2]
    lines = lines[within[-1] + 1 if within else 0 :]  # no line of a quoted cell
    texts = [line.decode(errors="replace") for line in lines]
    records = [next(csv.reader([text], delimiter=separator), []) for text in texts]
    n_lines = count_footer(records, layout.numeric)
    if n_lines == 0:
        return body, []
    size = sum(map(len, lines[-n_lines:]))
    filled = [text.strip() for text in texts[-n_lines:] if text.strip()]
    return body[:-size], [
        f"{count(len(filled), 'line')} below the table left out, the first "
        f"{filled[0][:60]!r}."
    ]


def _without_blank_lines(body: bytes, separator: str) -> bytes:
    """Remove lines of blanks; where cells are quoted, only those at the end."""
    blanks = b" " if separator == "\t" else b" \t"
    at_end = len(body.rstrip(blanks + b"\r\n"))
    line_end = re.compile(rb"\r\n|\r|\n").search(body, at_end)
    body = body[: line_end.end()] if line_end else body
    if b'"' not in body and (b"\n " in body or b"\n\t" in body):
        body = re.sub(rb"(?<=\n)[" + blanks + rb"]++\r?\n", b"", body)
    return body


def _longest_line(body: bytes) -> int:
    """Bound the bytes of a block so that no line straddles two of them."""
    return 0 if len(body) <= _BLOCK else min(len(body), 4 * _BLOCK)


def _ragged_line(body: bytes, separator: str, layout: Layout) -> str | None:
    """Name the first line with the wrong number of cells."""
    text = io.StringIO(body.decode(errors="replace"), newline="")
    reader = csv.reader(text, delimiter=separator)
    before = 0
    try:
        for record in reader:
            if record and len(record) != layout.width:
                return (
                    f"line {layout.first_line + before + 1} has {len(record)} cells "
                    f"where the others have {layout.width} (separator "
                    f"{name_separator(layout.separator)}); correct the line, or put "
                    "cells that contain the separator in double quotes."
                )
            before = reader.line_num
    except csv.Error as error:
        return f"line {layout.first_line + before + 1} cannot be split ({error})."
    return None
