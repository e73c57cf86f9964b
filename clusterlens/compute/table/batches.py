"""Tables of any length, some rows at a time: Parquet and delimited text.

Nothing is held but the rows at hand. The first lines of text decide how all of it is
read; types are left to whoever reads the rows.
"""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from clusterlens.compute._validation import DataError
from clusterlens.compute.formatting import count
from clusterlens.compute.table._binary import Content
from clusterlens.compute.table._drawn import is_drawn
from clusterlens.compute.table._encoding import known_encoding
from clusterlens.compute.table._files import BYTES_LIMIT
from clusterlens.compute.table._header import MOST_LINES, count_footer
from clusterlens.compute.table._layout import sniff_layout
from clusterlens.compute.table._splitting import SEPARATORS
from clusterlens.compute.table._summary_rows import last_summaries, summary_note

_HEAD = 1 << 18
_BLOCK = 1 << 24
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Batches:
    """A table that is read some rows at a time.

    Parameters
    ----------
    schema : Schema
        Names and types of the columns; text cells are text.
    rows : iterator of RecordBatch
        The rows, once.
    share : callable
        Share of the table that has been read, in [0, 1].
    decimal_comma : bool
        Whether "1,234" is one and a bit rather than more than a thousand.
    typed : bool
        Whether cells have the types of the file; text has none.
    notes : list of str
        Remarks on the last rows of text, complete when all rows are read.
    """

    schema: pa.Schema
    rows: Iterator[pa.RecordBatch]
    share: Callable[[], float]
    decimal_comma: bool
    typed: bool
    notes: list[str]


@contextmanager
def open_batches(
    path: str | os.PathLike[str],
    n_rows: int,
    *,
    encoding: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
) -> Iterator[Batches]:
    """Open a Parquet file or delimited text, plain or gzipped.

    Parameters
    ----------
    path : path
        The file; its content decides on the format.
    n_rows : int
        Rows of a batch of Parquet, at most.
    encoding, separator, decimal : str, optional
        Format of text, as for `load_table`. Default: UTF-8, and the separator and
        decimal mark detected in the first lines.

    Yields
    ------
    batches : Batches
        To be read until the context ends.

    Raises
    ------
    DataError
        If the file cannot be read, then or while it is read.

    Notes
    -----
    Text must have a usual separator, and is split into blocks of 16 MB; `load_table`
    reads more kinds, whole.
    """
    name = repr(Path(path).name)
    coded = known_encoding(encoding or "utf-8")
    how = Content(b"", name, BYTES_LIMIT, None, None, coded, separator, decimal)
    try:
        with Path(path).open("rb") as file:
            head = file.read(4)
        if not head:
            raise DataError(f"{name} is empty; give a table with at least one row.")
        if head == b"PAR1":
            if encoding or separator or decimal:
                raise DataError(
                    f"{name} is a Parquet file, which has neither encoding, separator "
                    "nor decimal mark to choose; leave them out."
                )
            with pq.ParquetFile(path) as parquet:
                yield _of_parquet(parquet, n_rows)
        else:
            with Path(path).open("rb") as file:
                yield _of_text(file, how, head[:2] == _GZIP, Path(path).stat().st_size)
    except (OSError, EOFError, pa.ArrowException, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0][:200]
        raise DataError(
            f"{name} cannot be read ({reason}); give Parquet, or text with the same "
            "number of cells in every line, and its encoding if that is not UTF-8."
        ) from error


def _of_parquet(file: pq.ParquetFile, n_rows: int) -> Batches:
    total, done = file.metadata.num_rows, 0

    def rows() -> Iterator[pa.RecordBatch]:
        nonlocal done
        for batch in file.iter_batches(batch_size=n_rows):
            done += batch.num_rows
            yield batch

    def share() -> float:
        return done / max(total, 1)

    return Batches(file.schema_arrow, rows(), share, False, True, [])


def _of_text(file: io.BufferedReader, how: Content, packed: bool, size: int) -> Batches:
    """Split text by the given options, and by its first lines."""
    encoding = how.encoding or "utf-8"
    head, complete = _head(file, packed, encoding)
    if is_drawn(head.encode()):
        raise DataError(
            f"{how.source} is a table drawn in text; save it with commas, tabs or "
            "semicolons between its cells."
        )
    layout = sniff_layout(head, complete, how)
    if layout.separator not in SEPARATORS:
        raise DataError(
            f"{how.source} has cells that blanks separate; save it with commas, tabs "
            "or semicolons between them."
        )
    names = layout.names or [f"column {j}" for j in range(1, layout.width + 1)]
    file.seek(0)
    stream = gzip.GzipFile(fileobj=file) if packed else file
    reader = pa_csv.open_csv(
        stream,
        read_options=pa_csv.ReadOptions(
            skip_rows=layout.first_line,
            column_names=names,
            block_size=_BLOCK,
            encoding=encoding,
        ),
        parse_options=pa_csv.ParseOptions(
            delimiter=layout.separator, newlines_in_values=True
        ),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )

    def share() -> float:
        return file.tell() / size

    notes: list[str] = []
    rows = _without_footer(reader, layout.numeric, notes)
    return Batches(reader.schema, rows, share, layout.decimal_comma, False, notes)


def _without_footer(
    batches: Iterable[pa.RecordBatch], numeric: list[bool], notes: list[str]
) -> Iterator[pa.RecordBatch]:
    """Yield batches of text without the footer; note footer and summary rows."""
    last = None
    for batch in batches:
        if last is not None:
            yield last
        last = batch
    if last is None:
        return
    tail = last.slice(max(0, last.num_rows - MOST_LINES))
    records = [list(row) for row in zip(*tail.to_pydict().values(), strict=True)]
    n_footer = count_footer(records, numeric)
    footer = [row for row in records[len(records) - n_footer :] if any(row)]
    if footer:
        text = " ".join(filter(None, footer[0]))[:60]
        notes.append(
            f"{count(len(footer), 'line')} below the table left out, the first "
            f"{text!r}."
        )
    rows = [[cell.strip() for cell in row] for row in records]
    named = last_summaries(rows[: len(records) - n_footer])
    notes += map(summary_note, named.values())
    if n_footer < last.num_rows:
        yield last.slice(0, last.num_rows - n_footer)


def _head(file: io.BufferedReader, packed: bool, encoding: str) -> tuple[str, bool]:
    """Return the first whole lines, and whether that is all."""
    coded = "utf-8-sig" if encoding == "utf-8" else encoding
    file.seek(0)
    source = gzip.GzipFile(fileobj=file) if packed else file
    data = bytes(source.read(_HEAD))
    if len(data) < _HEAD:
        return data.decode(coded), True
    cut = data.rfind(b"\n") + 1
    if not cut:
        raise OSError("no line end within the first 262 kB")
    return data[:cut].decode(coded), False
