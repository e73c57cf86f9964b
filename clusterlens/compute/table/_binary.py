"""The binary table formats: Parquet and NumPy arrays.

Each reader compares the size stated in a file with the limit before it takes memory.
None runs code from the file (no pickles, no formulas).
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clusterlens.compute._run.options import DEFAULT_RUN, RunOptions
from clusterlens.compute._validation import DataError
from clusterlens.compute.formatting import whole
from clusterlens.compute.table.footer import claimed_sizes

ROWS_LIMIT = 20_000_000
COLUMNS_LIMIT = 100_000

CELL_BYTES = 8  # least memory of a cell
TEXT_BYTES = 32  # memory of a text besides its letters, while columns are built
OBJECT_BYTES = 100  # memory of a text that is a Python object


@dataclass(frozen=True)
class Content:
    """The bytes of a file, its name in messages, and limits of memory and size.

    `shape` limits the numbers of rows and columns. `sheet` and `array` name the part to
    read of a workbook or an archive; `encoding`, `separator` and `decimal` describe
    text. `run` gets the progress of reading, and may stop it.
    """

    data: bytes
    source: str
    limit: int
    sheet: str | None = None
    array: str | None = None
    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None
    run: RunOptions = DEFAULT_RUN
    shape: tuple[float, float] = (ROWS_LIMIT, COLUMNS_LIMIT)


@dataclass(frozen=True)
class Parsed:
    """A table as read, with notes on the decisions made.

    `roles` are the roles that the file gives to columns, by name. `is_text` says that
    it is delimited text, where rows may be blank only to space the table.
    """

    frame: pd.DataFrame
    notes: list[str]
    decimal_comma: bool = False
    roles: dict[str, str] = field(default_factory=dict)
    is_text: bool = False


def too_large(source: str, n_bytes: int, limit: int, what: str = "") -> DataError:
    """Make the error for content above the limit."""
    return DataError(
        f"{source} {what or 'has'} {whole(n_bytes)} bytes or more, the limit is "
        f"{whole(limit)}; keep fewer rows or columns, or raise max_bytes."
    )


def check_cells(
    rows: int, columns: int, content: Content, cell_bytes: int = CELL_BYTES
) -> None:
    """Refuse a table of too many rows or columns, or of too much memory."""
    check_shape(rows, columns, content)
    if rows * columns * cell_bytes > content.limit:
        raise too_large(
            content.source,
            rows * columns * cell_bytes,
            content.limit,
            f"has {whole(rows)} rows and {whole(columns)} columns, in memory",
        )


def check_bytes(n_bytes: int, content: Content) -> None:
    """Refuse content that unpacks to more than allowed."""
    if n_bytes > content.limit:
        raise too_large(content.source, n_bytes, content.limit, "unpacks to")


def check_shape(rows: int, columns: int, content: Content, row: str = "row") -> None:
    """Refuse a table with more rows or columns than the limits."""
    most_rows, most_columns = content.shape
    if rows > most_rows:
        raise DataError(
            f"{content.source} has {whole(rows)} {row}s or more, the limit is "
            f"{whole(most_rows)}; give a sample of the rows."
        )
    if columns > most_columns:
        raise DataError(
            f"{content.source} has {whole(columns)} columns, the limit is "
            f"{whole(most_columns)}; keep fewer, or exchange rows and columns if each "
            "column is a sample."
        )


def read_parquet(content: Content) -> Parsed:
    """Read a Parquet file; its footer states the number of values."""
    file = pq.ParquetFile(pa.BufferReader(content.data))
    meta = file.metadata
    check_cells(meta.num_rows, meta.num_columns, content)
    _check_values(file, content)
    _check_written_out(file, content)
    table = pq.ParquetFile(pa.BufferReader(content.data)).read()
    table.validate(full=True)
    return Parsed(_days_as_times(table).to_pandas(), ["Read as Parquet."])


def _days_as_times(table: pa.Table) -> pa.Table:
    """Convert dates to timestamps, which are numbers rather than objects in memory."""
    fields = [
        f.with_type(pa.timestamp("s")) if pa.types.is_date32(f.type) else f
        for f in table.schema
    ]
    return table.cast(pa.schema(fields, table.schema.metadata))


def _check_values(file: pq.ParquetFile, content: Content) -> None:
    """Refuse more values, also in lists, or packed bytes than memory allows."""
    meta = file.metadata
    coded = {f.name for f in file.schema_arrow if pa.types.is_dictionary(f.type)}
    columns = (meta.schema.column(j) for j in range(meta.num_columns))
    n_bytes = [_value_bytes(column, coded) for column in columns]
    total = sum(
        max(n_values * n_bytes[j], unpacked)
        for j, n_values, unpacked in claimed_sizes(content.data, meta.num_columns)
    )
    check_bytes(total, content)


def _value_bytes(column: pq.ColumnSchema, coded: Collection[str]) -> int:
    """Return the bytes that a value takes in memory; a text also takes its letters."""
    kind = column.logical_type.type
    if column.path in coded:
        return CELL_BYTES
    if kind in ("DECIMAL", "TIME"):
        return OBJECT_BYTES
    if kind == "NONE" and column.physical_type.endswith("BYTE_ARRAY"):
        return OBJECT_BYTES + column.length
    return max(TEXT_BYTES if kind == "STRING" else CELL_BYTES, column.length)


def _check_written_out(file: pq.ParquetFile, content: Content) -> None:
    """Refuse text, bytes and nested cells that take too much memory when expanded.

    A long text that is stored once may occur in every row. Here it is kept once, as an
    entry of a dictionary, and only for a batch of rows at a time. Categories stay so.
    """
    schema = file.metadata.schema
    columns = [schema.column(j) for j in range(len(schema))]
    texts = [c.path for c in columns if c.physical_type == "BYTE_ARRAY"]
    packed = pq.ParquetFile(
        pa.BufferReader(content.data),
        read_dictionary=texts,
        arrow_extensions_enabled=False,  # these are not read as dictionaries
    )
    measured = [
        field.name
        for field, read in zip(packed.schema_arrow, file.schema_arrow, strict=True)
        if pa.types.is_nested(field.type)
        or (pa.types.is_dictionary(field.type) and field.type != read.type)
    ]
    total = 0
    for batch in packed.iter_batches(columns=measured) if measured else ():
        content.run.raise_if_cancelled()
        total += sum(_written_bytes(column) for column in batch.columns)
        check_bytes(total, content)


def _written_bytes(cells: pa.Array, cell_bytes: int = 0) -> int:
    """Count the bytes of cells (n,) with texts expanded and nested cells as objects."""
    kind = cells.type
    own = cell_bytes * len(cells)
    if pa.types.is_dictionary(kind):
        lengths = pc.cast(pc.binary_length(cells.dictionary), pa.int64())
        return own + (pc.sum(lengths.take(cells.indices)).as_py() or 0)
    if not pa.types.is_nested(kind):
        return own
    if pa.types.is_map(kind):
        inner = [cells.keys, cells.items]
    else:
        inner = cells.flatten()
        inner = inner if isinstance(inner, list) else [inner]
    numbers = not pa.types.is_struct(kind) and pa.types.is_primitive(inner[0].type)
    of_cell = CELL_BYTES if numbers else OBJECT_BYTES  # NumPy holds lists of numbers
    return own + sum(_written_bytes(part, of_cell) for part in inner)


def read_npy(content: Content) -> Parsed:
    """Read one array."""
    array = _load_array(io.BytesIO(content.data), content)
    if array.dtype.names:
        return Parsed(
            pd.DataFrame.from_records(array), ["Read as a NumPy record array."]
        )
    if array.ndim not in (1, 2):
        raise DataError(
            f"{content.source} holds an array of shape {array.shape}; give one of "
            "shape (rows, columns), for example array.reshape(len(array), -1)."
        )
    table = array.reshape(len(array), -1)
    return Parsed(pd.DataFrame(table), ["Read as a NumPy array; columns are numbered."])


def _read_header(
    file: IO[bytes], content: Content
) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the shape, the order and the type stated in the header of an array."""
    version = np.lib.format.read_magic(file)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read_header is None:
        raise DataError(
            f"{content.source} has version {version} of the .npy format; save the "
            "array with plain column names."
        )
    return read_header(file)


def _load_array(file: IO[bytes], content: Content) -> np.ndarray[Any, Any]:
    """Read an array after checking the type and shape stated in its header."""
    shape, fortran, dtype = _read_header(file, content)
    if dtype.hasobject:
        raise DataError(
            f"{content.source} holds Python objects, which may run code when read; "
            "save an array of numbers or text, or a CSV file."
        )
    count = 1
    for length in shape:
        count *= length
    if count < 0 or count * dtype.itemsize > content.limit:
        raise too_large(
            content.source, count * dtype.itemsize, content.limit, f"claims {shape},"
        )
    rows, columns, *_ = (*shape, 0, 0)
    check_shape(rows, columns, content)
    raw = file.read(count * dtype.itemsize)
    if len(raw) < count * dtype.itemsize:
        raise DataError(
            f"{content.source} ends after {whole(len(raw))} bytes, but its shape "
            f"{shape} takes {whole(count * dtype.itemsize)}; copy the file again."
        )
    array = np.frombuffer(raw, dtype=dtype, count=count)
    _check_letters(array, content)
    return array.reshape(shape, order="F" if fortran else "C")


def _check_letters(array: np.ndarray[Any, Any], content: Content) -> None:
    """Refuse texts (n,) with code points that are not Unicode letters."""
    for name in array.dtype.names or ():
        _check_letters(array[name].reshape(-1), content)
    if array.dtype.kind == "U" and array.dtype.itemsize:
        codes = array.copy().view(array.dtype.byteorder + "u4")
        if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))).any():
            raise DataError(
                f"{content.source} holds texts that are no Unicode; it is damaged: "
                "save or copy it again."
            )


def matrix_names(content: Content) -> list[str]:
    """Name the matrices of an archive, in their order, from the headers alone."""
    names = []
    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        check_members(archive.infolist(), content)
        for info in archive.infolist():
            if info.filename.endswith(".npy"):
                with archive.open(info) as file:
                    shape, _, _ = _read_header(file, content)
                names += [info.filename.removesuffix(".npy")] if len(shape) == 2 else []
    return names


def usual_matrix(matrices: Sequence[str]) -> str | None:
    """Return the default matrix, None if several are possible."""
    preferred = [name for name in ("X", "x", "data") if name in matrices]
    if preferred or len(matrices) == 1:
        return (preferred or list(matrices))[0]
    return None


def read_npz(content: Content) -> Parsed:
    """Read the matrix of an archive of arrays, and vectors of the same length."""
    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        infos = [i for i in archive.infolist() if i.filename.endswith(".npy")]
        _refuse_sparse({i.filename for i in infos}, content)
        check_members(infos, content)
        arrays = {}
        for info in infos:
            with archive.open(info) as file:
                name = info.filename.removesuffix(".npy")
                arrays[name] = _load_array(file, content)
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    vectors = [name for name, array in arrays.items() if array.ndim == 1]
    usual = usual_matrix(matrices)
    main = [] if usual is None else [usual]
    if content.array is not None:
        _check_wanted(content.array, matrices, content)
        main = [content.array]
    length = len(arrays[main[0]]) if main else len(arrays[vectors[0]]) if vectors else 0
    used = [name for name in vectors if len(arrays[name]) == length]
    if not main and (matrices or len(used) < len(arrays)):
        shapes = ", ".join(f"{name!r} {array.shape}" for name, array in arrays.items())
        raise DataError(
            f"{content.source} holds the arrays {shapes}, which are no single "
            "table; choose a matrix (array=...), or call it 'X'."
        )
    frame = pd.DataFrame({name: arrays[name] for name in used})
    if main:
        matrix = pd.DataFrame(arrays[main[0]])
        matrix.columns = [f"column {j}" for j in range(1, matrix.shape[1] + 1)]
        frame = pd.concat([matrix, frame], axis=1)
    skipped = [name for name in arrays if name not in (*main, *used)]
    notes = [f"Read as a NumPy archive: {', '.join(map(repr, (*main, *used)))}."]
    notes += [f"Arrays left out: {', '.join(map(repr, skipped))}."] if skipped else []
    return Parsed(frame, notes)


def _refuse_sparse(members: set[str], content: Content) -> None:
    """Refuse a sparse matrix as `scipy.sparse.save_npz` writes it."""
    if {"format.npy", "shape.npy", "data.npy"} <= members:
        raise DataError(
            f"{content.source} holds a sparse matrix of SciPy; save it as a full one, "
            "np.save(file, scipy.sparse.load_npz(file).toarray())."
        )


def _check_wanted(wanted: str, matrices: list[str], content: Content) -> None:
    """Raise unless the archive has a matrix of that name."""
    if wanted not in matrices:
        names = ", ".join(map(repr, matrices)) or "none"
        raise DataError(f"{content.source} has no matrix {wanted!r}; it has {names}.")


def check_members(infos: list[zipfile.ZipInfo], content: Content) -> None:
    """Refuse an archive with members of excessive stated size, where reading stops."""
    check_bytes(sum(info.file_size for info in infos), content)
