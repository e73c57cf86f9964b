"""Files to tables: text, ARFF, Parquet, NumPy arrays and Excel workbooks.

The content decides on the format, not the name. Sizes are checked before memory is
taken, no format is allowed to run code (no pickles, no formulas), and every failure is
a DataError with its cause, place and remedy. A new format is one entry of `READERS`.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from clusterlens.compute._run.options import DEFAULT_RUN, Cancelled, RunOptions
from clusterlens.compute._run.process_settings import record_warnings
from clusterlens.compute._validation import DataError, check_range
from clusterlens.compute.table._arff import is_arff, read_arff
from clusterlens.compute.table._binary import (
    Content,
    Parsed,
    check_bytes,
    matrix_names,
    read_npy,
    read_npz,
    read_parquet,
    too_large,
    usual_matrix,
)
from clusterlens.compute.table._delimited import TextSize, read_delimited
from clusterlens.compute.table._drawn import (
    first_text,
    foreign_drawing,
    is_drawn,
    read_drawn,
)
from clusterlens.compute.table._excel import read_xlsx, sheet_names
from clusterlens.compute.table._rows import check_rows

BYTES_LIMIT = 2_000_000_000

_CHUNK = 1 << 20
_PIECE = 1 << 28
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Reader:
    """A file format: its name, usual extensions, how to tell it and how to read it.

    `options` are the arguments of `load_table` that not every format has; `parts`
    returns the values of the first option, and its default.
    """

    title: str
    extensions: tuple[str, ...]
    recognises: Callable[[bytes], bool]
    read: Callable[[Content], Parsed]
    options: tuple[str, ...] = ()
    parts: Callable[[Content], tuple[list[str], str | None]] | None = None


@dataclass(frozen=True)
class TableParts:
    """The tables that a file holds, where it can hold several.

    Parameters
    ----------
    option : str
        Argument of `load_table` that chooses one, "sheet" or "array"; empty for files
        that hold one table only.
    names : tuple of str
        Its values, in the order of the file.
    usual : str or None
        The part read by default; None if `load_table` requires a choice.
    """

    option: str = ""
    names: tuple[str, ...] = ()
    usual: str | None = None


def file_parts(source: Any, max_bytes: int) -> TableParts:
    """Name the tables of a path, file object or bytes."""
    data, file_name = _read_bytes(source, max_bytes)
    shown = repr(file_name or "the file")
    if not _begins_as_archive(data):
        return TableParts()
    content = _decompressed(Content(data, shown, max_bytes))
    reader = _reader_of(content.data)
    if reader.parts is None:
        return TableParts()
    names, usual = _guarded(reader.parts, content, reader)
    return TableParts(reader.options[0], tuple(names), usual)


def read_file(
    source: str | os.PathLike[str] | IO[Any] | bytes,
    name: str | None = None,
    *,
    max_bytes: int = BYTES_LIMIT,
    sheet: str | None = None,
    array: str | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    run: RunOptions = DEFAULT_RUN,
) -> tuple[Parsed, str]:
    """Read a table from a path, file object or bytes; also return what to call it."""
    check_range(max_bytes, 0, np.inf, name="max_bytes", integer=True)
    data, file_name = _read_bytes(source, max_bytes)
    file_name = file_name or name or ""
    shown = repr(file_name or "the file")
    content = Content(
        data, shown, max_bytes, sheet, array, encoding, separator, decimal, run
    )
    parsed = _parse(_decompressed(content), file_name)
    return parsed, name or _stem(file_name) or "table"


def _read_bytes(source: Any, limit: int) -> tuple[bytes, str]:
    """Return the content of a path or file object and its name."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _checked(bytes(source), limit, "the data"), ""
    if hasattr(source, "read"):
        name = str(getattr(source, "name", ""))
        data = _read_pieces(source, limit)
        return _checked(data, limit, repr(name or "the file")), Path(name).name
    if not isinstance(source, (str, os.PathLike)):
        raise DataError(
            f"source is of type {type(source).__name__}; give a path, a binary file "
            "object or a DataFrame."
        )
    path = Path(source)
    try:
        if path.is_file() and path.stat().st_size > limit:
            raise too_large(repr(path.name), path.stat().st_size, limit)
        with path.open("rb") as file:
            data = _read_pieces(file, limit)
        return _checked(data, limit, repr(path.name)), path.name
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{str(source)!r} cannot be opened ({getattr(error, 'strerror', error)}); "
            "give the path of a file that can be read."
        ) from error


def _read_pieces(file: IO[Any], limit: int) -> bytes:
    """Read at most a byte above the limit, without memory for all that may come."""
    pieces: list[bytes] = []
    left = limit + 1
    while left > 0 and (piece := file.read(min(left, _PIECE))):
        pieces.append(piece.encode() if isinstance(piece, str) else bytes(piece))
        left -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _checked(data: bytes, limit: int, source: str) -> bytes:
    """Return data unless it is empty or too large."""
    if not data:
        raise DataError(f"{source} is empty; give a table with at least one row.")
    if len(data) > limit:
        raise too_large(source, len(data), limit)
    return data


def _begins_as_archive(data: bytes) -> bool:
    """Say whether content, unpacked, may hold several tables: a zip archive."""
    if data.startswith(_GZIP):
        with suppress(OSError, EOFError, zlib.error):  # which reading will tell of
            data = next(_unpacked(data), b"")
    return data.startswith(b"PK")


def _unpacked(data: bytes) -> Iterator[bytes]:
    """Unpack gzip content in small pieces."""
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        while piece := file.read(_CHUNK):
            yield piece


def _decompressed(content: Content) -> Content:
    """Unpack gzip content, after measuring it in small pieces."""
    if not content.data.startswith(_GZIP):
        return content
    try:
        _measure(content)
        data = gzip.decompress(content.data)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{content.source} is a damaged or incomplete gzip file ({error}); copy it "
            "again."
        ) from error
    return replace(content, data=_checked(data, content.limit, content.source))


def _measure(content: Content) -> None:
    """Refuse gzip content that unpacks to too much, as soon as that shows."""
    total, text = 0, None
    for piece in _unpacked(content.data):
        content.run.raise_if_cancelled()
        if not total and _reader_of(piece) in _TEXTS and not _begins_as_archive(piece):
            text = TextSize(content)
        total += len(piece)
        check_bytes(total, content)
        if text is not None:
            text.add(piece)


def _parse(content: Content, file_name: str) -> Parsed:
    """Read content by the first format that recognises it."""
    reader = _reader_of(content.data)
    if _OPEN_DOCUMENT in content.data[:64]:
        raise DataError(
            f"{content.source} is an OpenDocument file; save it as .xlsx or CSV."
        )
    if reader in _TEXTS[1:]:
        text = first_text(content.data)
        if _JSON.match(text):
            raise DataError(f"{content.source} is JSON; export the table as CSV.")
        starts = [s.lstrip().lower() for s in (content.data[:64], text[:64].encode())]
        for start, what, remedy in _REFUSED:
            if any(head.startswith(start) for head in starts):
                raise DataError(f"{content.source} is {what}; {remedy}.")
    drawing = reader in _TEXTS and foreign_drawing(content.data)
    if drawing:
        raise DataError(f"{content.source} is {drawing[0]}; {drawing[1]}.")
    for option in ("sheet", "array", "encoding", "separator", "decimal"):
        if getattr(content, option) is not None and option not in reader.options:
            raise DataError(
                f"{option} is {getattr(content, option)!r}, but {content.source} is "
                f"{reader.title}, which has none to choose; leave it out."
            )
    notes = []
    suffix = Path(file_name.lower().removesuffix(".gz")).suffix
    if any(suffix in r.extensions for r in READERS.values() if r is not reader):
        notes.append(f"Named {suffix}, but the content is {reader.title}.")
    parsed = _guarded(reader.read, content, reader)
    if reader in (*_TEXTS[1:], READERS["xlsx"]):
        parsed = check_rows(parsed, content.source)
    return replace(parsed, notes=[*notes, *parsed.notes])


def _reader_of(data: bytes) -> Reader:
    return next(reader for reader in READERS.values() if reader.recognises(data))


def _guarded(read: Callable[[Content], Any], content: Content, reader: Reader) -> Any:
    """Read content; any failure becomes a DataError."""
    try:
        with record_warnings():  # of the libraries; the notes say what matters
            return read(content)
    except (DataError, Cancelled, KeyboardInterrupt, SystemExit):
        raise
    except MemoryError as error:
        raise DataError(
            f"{content.source} needs more memory than there is to be read as "
            f"{reader.title}; keep fewer rows or columns."
        ) from error
    # A damaged file fails anywhere inside a library. A panic in Rust is raised as a
    # BaseException.
    except BaseException as error:
        text = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise DataError(
            f"{content.source} cannot be read as {reader.title} ({text}); the file is "
            "damaged or incomplete: save or copy it again."
        ) from error


def _stem(file_name: str) -> str:
    """Return the file name without its extensions."""
    return Path(file_name.removesuffix(".gz")).stem


def _sheets(content: Content) -> tuple[list[str], str | None]:
    names = sheet_names(content)
    return names, names[0] if names else None


def _matrices(content: Content) -> tuple[list[str], str | None]:
    names = matrix_names(content)
    return names, usual_matrix(names)


def _zip_holds(data: bytes, part: str) -> bool:
    """Return whether data is a zip archive with `part` in the name of a member."""
    if not data.startswith(b"PK"):
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return any(part in name for name in archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False


READERS: dict[str, Reader] = {
    "parquet": Reader(
        "a Parquet file",
        (".parquet", ".pq"),
        lambda data: data.startswith(b"PAR1"),
        read_parquet,
    ),
    "npy": Reader(
        "a NumPy array",
        (".npy",),
        lambda data: data.startswith(b"\x93NUMPY"),
        read_npy,
    ),
    "xlsx": Reader(
        "an Excel workbook",
        (".xlsx", ".xlsm"),
        lambda data: _zip_holds(data, "xl/workbook"),
        read_xlsx,
        ("sheet",),
        _sheets,
    ),
    "npz": Reader(
        "a NumPy archive",
        (".npz",),
        lambda data: _zip_holds(data, ".npy"),
        read_npz,
        ("array",),
        _matrices,
    ),
    "arff": Reader(
        "an ARFF file", (".arff",), is_arff, read_arff, options=("encoding",)
    ),
    "drawn": Reader(
        "a table drawn in text",
        (".md", ".rst", ".org"),
        is_drawn,
        read_drawn,
        ("encoding", "decimal"),
    ),
    "text": Reader(
        "delimited text",
        (".csv", ".tsv", ".txt", ".dat", ".data", ".tab"),
        lambda data: True,
        read_delimited,
        ("encoding", "separator", "decimal"),
    ),
}

_TEXTS = READERS["arff"], READERS["drawn"], READERS["text"]

# A list of lists, mappings or texts, or of numbers in the first line.
_JSON = re.compile(
    r"\s*+\[\s*+(?:[\[{\]]|\"[^\"\n]*+\"\s*+[,\]]"
    r"|-?\d(?=[^\]\n]*,)[^\[\]\n]*+\][ \t\r]*+(?:\n|\Z))"
)
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis"  # the first member of the archive
_REFUSED = (
    (b"\xd0\xcf\x11\xe0", "an old Excel or Office file", "save it as .xlsx or CSV"),
    (b"%pdf", "a PDF document", "export the table as CSV"),
    (b"<!doctype", "a web page", "export the table as CSV"),
    (b"<html", "a web page", "export the table as CSV"),
    (b"<?xml", "an XML document", "export the table as CSV or .xlsx"),
    (b"%%matrixmarket", "a MatrixMarket file", "save the matrix as CSV, row by row"),
    (b"{|", "a MediaWiki table", "export the table as CSV"),
    (b"{", "JSON or another structured text", "export the table as CSV"),
    (b"pk\x03\x04", "a zip archive, damaged or not of a table", "unpack or copy it"),
    (b"bzh", "a bzip2 file", "unpack it, or use gzip"),
    (b"\xfd7zxz", "an xz file", "unpack it, or use gzip"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file", "unpack it, or use gzip"),
    (b"7z\xbc\xaf", "a 7z archive", "unpack it first"),
    *(
        (start, f"{what} file", "save the table as Parquet or CSV")
        for start, what in (
            (b"\x89hdf", "an HDF5"),
            (b"arrow1", "an Arrow (Feather)"),
            (b"fea1", "an old Feather"),
            (b"x\n\x00", "an R data"),
            (b"rdx", "an R data"),
            (b"<stata_dta", "a Stata"),
            (b"$fl2", "an SPSS"),
            (b"sqlite format 3", "an SQLite"),
            (b"matlab 5.0 mat-file", "a MATLAB"),
            (b"cdf\x01", "a NetCDF"),
            (b"orc", "an ORC"),
            (b"obj\x01", "an Avro"),
        )
    ),
    *(
        (start, "a Python pickle, which may run code when read", "save it as Parquet")
        for start in (b"\x80\x04", b"\x80\x05")
    ),
)
