"""Assigning the rows of a file of any length, in constant memory."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from clusterlens.compute._drafts import draft_of
from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._validation import DataError, Frozen
from clusterlens.compute.assigning.segmentation import COLUMNS, Segmentation, is_nowhere
from clusterlens.compute.table.batches import Batches, open_batches
from clusterlens.compute.table.export import free_name, protect
from clusterlens.compute.table.preparation import typed_table

BATCH = 1 << 17
PARTS = 1000  # steps of progress
_SAFE = {b"clusterlens": b"safe text"}
_TYPES = (pa.int64(), pa.string(), pa.float64(), pa.int64(), pa.bool_())
# Text types of Parquet.
_TEXTS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


@dataclass(frozen=True)
class FileSummary(Frozen):
    """Results for the rows of a file.

    Parameters
    ----------
    rows : int
        Rows of the file.
    clusters : dict of str to int
        Rows in each cluster, by its name; clusters of one name count together.
    nowhere : int
        Rows too far from their cluster, which belong to none.
    not_assigned : int
        Rows with gaps that the preparation does not fill.
    gaps : dict of str to int
        Cells without a known value, by column in use, if there are any.
    not_used : list of str
        Ignored columns.
    notes : list of str
        Remarks on the last rows of text.
    seconds : float
        Time taken.
    """

    rows: int
    clusters: dict[str, int]
    nowhere: int
    not_assigned: int
    gaps: dict[str, int]
    not_used: list[str]
    notes: list[str]
    seconds: float


def assign_file(
    segmentation: Segmentation,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    alpha: float,
    run: RunOptions,
    encoding: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
) -> FileSummary:
    """Write the rows of a file with their clusters.

    Parameters
    ----------
    segmentation : Segmentation
        The segmentation that assigns.
    source : path
        Parquet or delimited text, plain or gzipped.
    target : path
        New file with the ending .parquet or .csv: all columns of the source, then the
        columns of `Segmentation.assign`, with numbers if their names are taken.
    alpha : float
        Rate of "nowhere" among rows like those seen.
    run : RunOptions
        Threads, progress in thousandths of the source, cancel.
    encoding, separator, decimal : str, optional
        Format of text, as in `open_batches`.

    Returns
    -------
    summary : FileSummary
        Results for the rows.

    Raises
    ------
    DataError
        If a file cannot be read or written, or the target already exists.
    Cancelled
        If `cancel` returned true; the target does not appear.

    Notes
    -----
    Types of text cells are found in each batch of rows. In a Parquet file made from
    text, number columns of the segmentation are numbers, all others text. Text that a
    spreadsheet would compute gets an apostrophe in a .csv file.
    """
    start = time.perf_counter()
    tally: Counter[str] = Counter()
    gaps: Counter[str] = Counter()
    clusters: Counter[Any] = Counter(dict.fromkeys(segmentation.names.values(), 0))
    with open_batches(
        source, BATCH, encoding=encoding, separator=separator, decimal=decimal
    ) as batches:
        plan = _Plan(segmentation, batches, Path(target).suffix.lower())
        with _writer(Path(target), plan.schema) as writer, _beside(writer) as write:
            for batch in batches.rows:
                run.raise_if_cancelled()
                assigned, columns = plan.assign(batch, alpha, run)
                write(columns)
                tally["rows"] += len(assigned)
                far = is_nowhere(assigned)
                tally["nowhere"] += int(far.sum())
                names = assigned.loc[~far, "name"].dropna()
                clusters.update(names.value_counts().to_dict())
                gaps.update(assigned.attrs["gaps"])
                run.report(round(PARTS * batches.share()), PARTS)
            if not tally["rows"]:
                raise DataError(f"{str(source)!r} has no rows; give at least one.")
    return FileSummary(
        rows=tally["rows"],
        clusters=dict(clusters),
        nowhere=tally["nowhere"],
        not_assigned=tally["rows"] - tally["nowhere"] - clusters.total(),
        gaps=dict(gaps),
        not_used=plan.not_used,
        notes=batches.notes,
        seconds=time.perf_counter() - start,
    )


class _Plan:
    """Columns of a file to read and write, with their types.

    Parameters
    ----------
    segmentation : Segmentation
        The segmentation that assigns.
    batches : Batches
        The file.
    suffix : str
        Ending of the file to write.
    """

    def __init__(
        self, segmentation: Segmentation, batches: Batches, suffix: str
    ) -> None:
        self._segmentation, self._batches = segmentation, batches
        names = [name.strip() for name in batches.schema.names]
        segmentation.kept.preparation.check_columns(names)
        self._places = {name: names.index(name) for name in segmentation.columns}
        used = set(self._places.values())
        self.not_used = [name for j, name in enumerate(names) if j not in used]
        as_numbers = suffix == ".parquet" and not batches.typed
        self._numbers = segmentation.number_columns if as_numbers else ()
        self.schema = self._written(batches.schema)

    def assign(
        self, batch: pa.RecordBatch, alpha: float, run: RunOptions
    ) -> tuple[pd.DataFrame, list[pa.Array]]:
        """Return the results for some rows, and the columns to write."""
        cells = {name: batch.column(j).to_pandas() for name, j in self._places.items()}
        comma = self._batches.decimal_comma
        frame, notes = typed_table(
            pd.DataFrame(cells), list(cells), decimal_comma=comma
        )
        assigned = self._segmentation.assign_typed(
            frame, notes, alpha=alpha, run=run.quiet
        )
        columns = list(batch.columns)
        for name in self._numbers:
            numbers = pd.to_numeric(frame[name], errors="coerce")
            values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
            columns[self._places[name]] = pa.array(values, from_pandas=True)
        for name, kind in zip(COLUMNS, _TYPES, strict=True):
            columns.append(pa.array(assigned[name], type=kind, from_pandas=True))
        return assigned, columns

    def _written(self, schema: pa.Schema) -> pa.Schema:
        fields = list(schema)
        for name in self._numbers:
            place = self._places[name]
            fields[place] = pa.field(fields[place].name, pa.float64())
        taken = set(schema.names)
        for name, kind in zip(COLUMNS, _TYPES, strict=True):
            fields.append(pa.field(free_name(name, taken), kind))
        return pa.schema(fields)


@contextmanager
def _beside(
    write: Callable[[list[pa.Array]], None],
) -> Iterator[Callable[[list[pa.Array]], None]]:
    """Yield a function that writes on a thread while the next rows are assigned."""
    with ThreadPoolExecutor(1) as thread:
        under_way = thread.submit(lambda: None)

        def begin(columns: list[pa.Array]) -> None:
            nonlocal under_way
            under_way.result()
            under_way = thread.submit(write, columns)

        yield begin
        under_way.result()


@contextmanager
def _writer(
    target: Path, schema: pa.Schema
) -> Iterator[Callable[[list[pa.Array]], None]]:
    """Yield a function that writes columns; the file appears once it is complete."""
    if target.suffix.lower() not in (".parquet", ".csv"):
        raise DataError(
            f"{target.name!r} ends neither with .parquet nor with .csv; give a name "
            "that does."
        )
    _check_new(target)
    with ExitStack() as stack:
        try:
            draft = stack.enter_context(draft_of(target))
        except OSError as error:
            raise DataError(
                f"{str(target)!r} cannot be written ({error.strerror}); give a file in "
                "a folder that can be."
            ) from error
        if target.suffix.lower() == ".parquet":
            # Dictionaries of numbers that hardly repeat cost time and bytes.
            repeated = [f.name for f in schema if not pa.types.is_floating(f.type)]
            with pq.ParquetWriter(
                draft, schema, compression="zstd", use_dictionary=repeated
            ) as parquet:
                yield lambda columns: parquet.write_batch(_batch(columns, schema))
        else:
            safe = _safe_schema(schema)
            with pa_csv.CSVWriter(draft, safe) as text:
                yield lambda columns: text.write_batch(_batch(columns, safe))
        _check_new(target)


def _check_new(target: Path) -> None:
    if target.exists():
        raise DataError(
            f"{str(target)!r} is there already and is not overwritten; give another "
            "name, or remove it first."
        )


def _batch(columns: list[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    """Combine columns with the types of the file, text safe for a spreadsheet."""
    if schema.metadata == _SAFE:
        columns = [_safe(column) for column in columns]
    return pa.record_batch(columns, schema=schema)


def _safe_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a text file, which cannot hold lists or codes."""
    for field in schema:
        if pa.types.is_nested(field.type):
            raise DataError(
                f"Column {field.name!r} holds lists, which a .csv file cannot; write a "
                ".parquet file."
            )
    names = protect(pa.array(schema.names, pa.string())).to_pylist()
    kinds = [_safe(pa.array([], field.type)).type for field in schema]
    return pa.schema(list(zip(names, kinds, strict=True)), metadata=_SAFE)


def _safe(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_fixed_size_binary(column.type):
        column = column.cast(pa.binary())
    return protect(column) if column.type in _TEXTS else column
