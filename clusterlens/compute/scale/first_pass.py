"""The first pass over a source: facts of its columns, and random rows."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._validation import DataError, IntArray
from clusterlens.compute.scale.mapping import map_jobs
from clusterlens.compute.scale.source import (
    ParquetSource,
    Piece,
    UnreadableFile,
)
from clusterlens.compute.table.column_streams import TableStream
from clusterlens.compute.table.row_encoder import RowEncoder
from clusterlens.compute.table.streamed_preparation import StreamedPreparation

Facts = tuple[TableStream, pa.Table]


@dataclass(frozen=True)
class FirstPass:
    """What one pass has found.

    Parameters
    ----------
    source : ParquetSource
        Without the files that could not be read.
    stream : TableStream
        Facts of all rows.
    rows : array of int64, shape (n_drawn,)
        Rows that were drawn, ascending.
    sample : Table
        Their cells.
    """

    source: ParquetSource
    stream: TableStream
    rows: IntArray
    sample: pa.Table


def draw_rows(n_rows: int, n_drawn: int, seed: int) -> IntArray:
    """Draw rows of a table uniformly, without replacement; return them ascending."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n_rows, n_drawn, replace=False))


def first_pass(
    source: ParquetSource,
    drawn: IntArray,
    unreadable: str,
    run: RunOptions,
    columns: Collection[str] | None = None,
) -> FirstPass:
    """Read all rows once, and take the drawn rows, given in ascending order.

    Facts are gathered of some columns, by default of all. A file that turns out to be
    damaged is left out, or ends the pass (unreadable). Rows of files that are left out
    are not taken, so that fewer rows may be.
    """
    fields = [f for f in source.schema if columns is None or f.name in columns]
    empty = partial(_empty, source.schema, pa.schema(fields))
    whole, bad = empty(), dict[int, UnreadableFile]()
    current, file = empty(), 0
    jobs = source.jobs()
    work = [sum(piece.n_rows for piece in job) for job in jobs]
    results = map_jobs(_facts, (source, drawn, empty), jobs, work, run)
    for job, result in zip(jobs, results, strict=True):
        if job[0].file != file:
            whole = _sum(whole, current)
            current, file = empty(), job[0].file
        if isinstance(result, UnreadableFile):
            if unreadable == "stop":
                raise result
            bad[file] = result
        if file in bad:
            current = empty()
        else:
            current = _sum(current, result)
    stream, sample = _sum(whole, current)
    starts, left = np.array(source.starts), source
    of_file = np.searchsorted(starts, drawn, side="right") - 1
    for at in sorted(bad, reverse=True):
        left = left.without(at, str(bad[at]))
    kept = ~np.isin(of_file, list(bad))
    files = [f for f in range(len(source.files)) if f not in bad]
    moved = np.zeros(len(starts), np.int64)
    moved[files] = starts[files] - left.starts
    return FirstPass(left, stream, (drawn - moved[of_file])[kept], sample)


def count_empty_rows(
    source: ParquetSource, preparation: StreamedPreparation, run: RunOptions
) -> int:
    """Count the rows without any value in a feature column, in a pass if need be."""
    if not preparation.may_have_empty_rows:
        return 0
    jobs = source.jobs()
    work = [sum(piece.n_rows for piece in job) for job in jobs]
    counts = list(map_jobs(_empty_rows, (source, preparation), jobs, work, run))
    for result in counts:
        if isinstance(result, UnreadableFile):
            raise result
    return sum(counts)


def sample_features(
    encoder: RowEncoder, found: FirstPass
) -> tuple[np.ndarray, IntArray]:
    """Return the features (m, d) of the rows that were drawn, and these rows (m,)."""
    X, kept = encoder.features(found.sample)
    if not len(X):
        raise DataError("No row that was drawn has a value; fill in missing values.")
    return X, found.rows[kept]


def _empty(schema: pa.Schema, columns: pa.Schema) -> Facts:
    return TableStream(columns), schema.empty_table()


def _sum(one: Facts, other: Facts) -> Facts:
    one[0].merge(other[0])
    return one[0], pa.concat_tables([one[1], other[1]])


def _facts(
    shared: tuple[ParquetSource, IntArray, Callable[[], Facts]], job: list[Piece]
) -> Facts:
    """Return the facts of a job, and its rows that were drawn."""
    source, drawn, empty = shared
    facts = empty()
    start = source.starts[job[0].file]
    for piece, table in source.read(job):
        first = start + piece.start
        low, high = np.searchsorted(drawn, [first, first + piece.n_rows])
        stream, _ = empty()
        stream.add(table)
        facts = _sum(facts, (stream, table.take(pa.array(drawn[low:high] - first))))
    return facts


def _empty_rows(
    shared: tuple[ParquetSource, StreamedPreparation], job: list[Piece]
) -> int:
    source, preparation = shared
    return sum(
        preparation.empty_rows(table)
        for _, table in source.read(job, preparation.columns)
    )
