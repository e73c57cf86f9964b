"""Parquet files as one table that is read in pieces, in constant memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from clusterlens.compute._validation import DataError, check_choice, plain_repr
from clusterlens.compute.formatting import count
from clusterlens.compute.notes import Note

# File that marks the folder of a run.
RUN = "run.json"
PIECE_ROWS = 1 << 17
# Pieces of a row group that are one job.
JOB_PIECES = 8
UNREADABLE_RULES = ("stop", "skip")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_ERRORS = (OSError, EOFError, pa.ArrowException)


class UnreadableFile(DataError):
    """A file of the table cannot be read; `file` is its place."""

    def __init__(self, message: str, file: int) -> None:
        super().__init__(message)
        self.file = file

    def __reduce__(self) -> Any:
        """Travel between processes."""
        return type(self), (str(self), self.file)


@dataclass(frozen=True)
class SourceFile:
    """A Parquet file: its path, and its size and time when the run began.

    `keys` are the columns that its folder names give; `row_groups` the numbers of rows.
    """

    path: str
    n_bytes: int
    modified: int
    row_groups: tuple[int, ...]
    keys: tuple[tuple[str, str | None], ...]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.row_groups)


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of one row group.

    `place` counts the pieces of the row group, `start` is the first row in the file,
    `number` counts the pieces of the table.
    """

    number: int
    file: int
    row_group: int
    place: int
    start: int
    n_rows: int


@dataclass(frozen=True)
class ParquetSource:
    """Parquet files as one table.

    Parameters
    ----------
    folder : str
        Where they are.
    files : tuple of SourceFile
        In order of their paths.
    schema : Schema
        Columns of all files, those of folder names (`key=value`) last.
    notes : tuple of Note
        Files that were left out, types that were changed.
    """

    folder: str
    files: tuple[SourceFile, ...]
    schema: pa.Schema
    notes: tuple[Note, ...] = field(default=())

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(file.n_rows for file in self.files)

    @property
    def digest(self) -> str:
        """SHA-256 of the names, sizes and times of the files."""
        facts = [(f.path, f.n_bytes, f.modified) for f in self.files]
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    @property
    def starts(self) -> list[int]:
        """Row of the table at which each file starts."""
        return [0, *accumulate(file.n_rows for file in self.files)][:-1]

    @property
    def pieces(self) -> list[Piece]:
        """All pieces, in the order of the rows."""
        found: list[Piece] = []
        for f, file in enumerate(self.files):
            row = 0
            for g, n_rows in enumerate(file.row_groups):
                for place, start in enumerate(range(0, n_rows, PIECE_ROWS)):
                    n = min(PIECE_ROWS, n_rows - start)
                    found.append(Piece(len(found), f, g, place, row + start, n))
                row += n_rows
        return found

    def jobs(self, without: Collection[int] = ()) -> list[list[Piece]]:
        """Return the pieces but for some numbers, a few of one row group together."""

        def job(piece: Piece) -> tuple[int, int, int]:
            return piece.file, piece.row_group, piece.place // JOB_PIECES

        left = [piece for piece in self.pieces if piece.number not in without]
        return [list(some) for _, some in groupby(left, job)]

    def read(
        self, pieces: Sequence[Piece], columns: Sequence[str] | None = None
    ) -> Iterator[tuple[Piece, pa.Table]]:
        """Yield pieces of one row group with their rows.

        Parameters
        ----------
        pieces : sequence of Piece
            Ascending, of one row group.
        columns : sequence of str, optional
            Those to read. Default: all.

        Yields
        ------
        piece, table : Piece, Table
            One after the other.

        Raises
        ------
        UnreadableFile
            If the file is gone, has changed or is damaged.
        """
        file = self.files[pieces[0].file]
        names = self.schema.names if columns is None else columns
        schema = pa.schema([self.schema.field(name) for name in names])
        wanted = {piece.place: piece for piece in pieces}
        self._check_unchanged(pieces[0].file)
        try:
            with pq.ParquetFile(Path(self.folder, file.path)) as parquet:
                there = [n for n in parquet.schema_arrow.names if n in schema.names]
                batches = parquet.iter_batches(
                    PIECE_ROWS, row_groups=[pieces[0].row_group], columns=there
                )
                for place, batch in enumerate(batches):
                    if place in wanted:
                        yield wanted.pop(place), _as_schema(batch, schema, file.keys)
                    if not wanted:
                        return
        except _ERRORS as error:
            raise self._unreadable(pieces[0].file, _reason(error)) from error
        raise self._unreadable(pieces[0].file, "it ends too early")

    def check_unchanged(self) -> None:
        """Raise UnreadableFile if a file is gone or has changed."""
        for file in range(len(self.files)):
            self._check_unchanged(file)

    def without(self, file: int, reason: str) -> ParquetSource:
        """Return the source without a file, with a note."""
        left = (*self.files[:file], *self.files[file + 1 :])
        if not left:
            raise DataError(reason)
        note = Note("file skipped", repr(self.files[file].path), why=reason)
        return replace(self, files=left, notes=(*self.notes, note))

    def without_paths(self, paths: Iterable[str]) -> ParquetSource:
        """Return the source without the files of these paths, each with a note."""
        left = self
        for path in paths:
            left = left.without([file.path for file in left.files].index(path), path)
        return left

    def _check_unchanged(self, at: int) -> None:
        file = self.files[at]
        try:
            found = Path(self.folder, file.path).stat()
        except OSError as error:
            raise self._unreadable(at, _reason(error)) from None
        if (found.st_size, found.st_mtime_ns) != (file.n_bytes, file.modified):
            raise self._unreadable(at, "it has changed since the run began")

    def _unreadable(self, at: int, reason: str) -> UnreadableFile:
        path = str(Path(self.folder, self.files[at].path))
        return UnreadableFile(_unreadable_sentence(path, reason), at)


def open_source(
    source: str | os.PathLike[str], unreadable: str = "stop"
) -> ParquetSource:
    """Find the Parquet files of a folder and read what their footers say.

    Parameters
    ----------
    source : path
        A folder, with folders named `key=value` in it or not, or one file.
    unreadable : {"stop", "skip"}, default "stop"
        What to do with files that cannot be read.

    Returns
    -------
    opened : ParquetSource
        All files as one table.

    Raises
    ------
    DataError
        If there are no rows, a file cannot be read, a column has types that do not go
        together, or a run wrote the folder.

    Notes
    -----
    Folders of runs in the source are no part of it; each is left out with a note.
    """
    check_choice(unreadable, UNREADABLE_RULES, name="unreadable")
    if not isinstance(source, str | os.PathLike):
        raise DataError(f"source is {plain_repr(source)}; give the path of a folder.")
    top = Path(source)
    paths, notes = _paths(top)
    folder = top if top.is_dir() else top.parent
    files, schemas = [], []
    for path in paths:
        try:
            file, schema = _footer(folder, path)
        except _ERRORS as error:
            sentence = _unreadable_sentence(str(path), _reason(error))
            if unreadable == "stop":
                raise DataError(sentence) from None
            notes.append(
                Note("file skipped", repr(str(path.relative_to(folder))), why=sentence)
            )
            continue
        files.append(file)
        schemas.append(schema)
    if not sum(file.n_rows for file in files):
        raise DataError(f"source {str(source)!r} has no rows; give Parquet files.")
    return ParquetSource(
        str(folder), tuple(files), _common(files, schemas, notes), tuple(notes)
    )


def _paths(top: Path) -> tuple[list[Path], list[Note]]:
    """Return the Parquet files, sorted, and a note on others."""
    if not top.exists():
        raise DataError(f"source {str(top)!r} is not there; give a folder or a file.")
    if top.is_file():
        return [top], []
    if is_run(top):
        raise DataError(
            f"source {str(top)!r} is the folder of a run; give its table, or the "
            "folder 'labels' in it, which has the labels of all rows."
        )
    found = [
        path
        for path in sorted(top.rglob("*"))
        if path.is_file()
        and not any(part[0] in "._" for part in path.relative_to(top).parts)
    ]
    runs = {path.parent for path in found if path.name == RUN}
    notes = [
        Note("run left out", repr(str(path.relative_to(top)))) for path in sorted(runs)
    ]
    found = [path for path in found if runs.isdisjoint(path.parents)]
    paths = [path for path in found if path.suffix == ".parquet"]
    others = [path.name for path in found if path.suffix != ".parquet"]
    if not paths:
        raise DataError(
            f"source {str(top)!r} has no file that ends with .parquet"
            + (f", but {others[0]!r}" if others else "")
            + "; give a folder of Parquet files, or convert text to Parquet first."
        )
    if others:
        notes.append(Note("files left out", repr(others[0]), files=len(others)))
    return paths, notes


def is_run(folder: Path) -> bool:
    """Return whether a run wrote a folder, which is no table then."""
    return (folder / RUN).is_file()


def _footer(folder: Path, path: Path) -> tuple[SourceFile, pa.Schema]:
    """Return a file with its row groups, and its schema."""
    found = path.stat()
    with pq.ParquetFile(path) as parquet:
        meta, schema = parquet.metadata, parquet.schema_arrow
        rows = tuple(meta.row_group(g).num_rows for g in range(meta.num_row_groups))
    relative = path.relative_to(folder)
    pairs = [part.split("=", 1) for part in relative.parts[:-1] if "=" in part]
    keys = tuple(
        (unquote(key), None if value == _NO_VALUE else unquote(value))
        for key, value in pairs
    )
    size, modified = found.st_size, found.st_mtime_ns
    return SourceFile(relative.as_posix(), size, modified, rows, keys), schema


def _common(
    files: list[SourceFile], schemas: list[pa.Schema], notes: list[Note]
) -> pa.Schema:
    """Return the columns of all files, and note those of more than one type."""
    kinds: dict[str, pa.DataType] = {}
    seen: dict[str, str] = {}
    for file, schema in zip(files, schemas, strict=True):
        names = [*schema.names, *(key for key, _ in file.keys)]
        for name in names:
            if names.count(name) > 1 or not name.strip():
                raise DataError(
                    f"{file.path!r} has {count(names.count(name), 'column')} called "
                    f"{name!r}, folder names counted; give each a name of its own."
                )
        for one in [*schema, *(pa.field(key, pa.string()) for key, _ in file.keys)]:
            kind = one.type
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            known = kinds.setdefault(one.name, kind)
            seen.setdefault(one.name, file.path)
            if known != kind:
                kinds[one.name] = _wider(one.name, known, kind, seen, file.path)
                note = Note("types widened", repr(one.name), type=str(kinds[one.name]))
                if note not in notes:
                    notes.append(note)
    for name in kinds:
        lacking = sum(
            name not in (*schema.names, *(key for key, _ in file.keys))
            for file, schema in zip(files, schemas, strict=True)
        )
        if lacking:
            notes.append(Note("files without column", repr(name), files=lacking))
    return pa.schema(list(kinds.items()))


def _wider(
    name: str, one: pa.DataType, other: pa.DataType, seen: dict[str, str], path: str
) -> pa.DataType:
    """Return the type that holds the values of two types."""
    pair = [pa.schema([(name, kind)]) for kind in (one, other)]
    try:
        return pa.unify_schemas(pair, promote_options="permissive").field(name).type
    except pa.ArrowException:
        raise DataError(
            f"Column {name!r} is {one} in {seen[name]!r} and {other} in {path!r}; "
            "store it as one type in all files."
        ) from None


def _as_schema(
    batch: pa.RecordBatch,
    schema: pa.Schema,
    keys: tuple[tuple[str, str | None], ...],
) -> pa.Table:
    """Return rows with the columns of a schema; a column that is not there is empty."""
    given = dict(keys)
    columns = []
    for one in schema:
        if one.name in given:
            cells = pa.repeat(pa.scalar(given[one.name], pa.string()), batch.num_rows)
        elif one.name in batch.schema.names:
            cells = batch.column(one.name)
        else:
            cells = pa.nulls(batch.num_rows, one.type)
        columns.append(cells.cast(one.type))
    return pa.table(columns, schema=schema)


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error).splitlines()[0][:200]


def _unreadable_sentence(path: str, reason: str) -> str:
    return (
        f"{path!r} cannot be read ({reason}); mend or remove it, or go on without it "
        "(unreadable='skip')."
    )
