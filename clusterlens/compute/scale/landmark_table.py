"""Landmarks of a large table as a table in memory, with its own columns."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    DataError,
    IntArray,
    RandomState,
    check_random_state,
    check_range,
)
from clusterlens.compute.formatting import whole
from clusterlens.compute.notes import Note
from clusterlens.compute.scale.first_pass import draw_rows, first_pass
from clusterlens.compute.scale.labels import ROW
from clusterlens.compute.scale.run import N_LANDMARKS
from clusterlens.compute.scale.source import ParquetSource, open_source
from clusterlens.compute.scale.stages import FEWEST_LANDMARKS
from clusterlens.compute.table.dataset import Dataset, make_dataset
from clusterlens.compute.table.export import free_name
from clusterlens.compute.table.reading import BYTES_LIMIT

MOST_LANDMARKS = 1_000_000
# Limits of a table in memory: cells of `load_table`, and bytes of a file on the page.
MOST_CELLS, MOST_BYTES = BYTES_LIMIT // 8, 1_000_000_000


@takes_running
def draw_landmarks(
    source: str | os.PathLike[str],
    n_landmarks: int = N_LANDMARKS,
    random_state: RandomState = 0,
    *,
    unreadable: str = "stop",
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Dataset:
    """Draw rows of a large table as a table in memory.

    Parameters
    ----------
    source : path
        A Parquet file, or a folder of them; folders named `key=value` are columns.
    n_landmarks : int, default 20000
        Rows to draw, at least 100; all if there are fewer.
    random_state : int, Generator or None, default 0
        Seed of the draw.
    unreadable : {"stop", "skip"}, default "stop"
        What to do with a file that cannot be read: name it and stop, or go on without.
    n_jobs : int, optional
        Threads. Default: all cores.
    progress : callable, optional
        Called as progress(done, total), in rows of the source.
    cancel : callable, optional
        Asked between blocks; True stops.

    Returns
    -------
    landmarks : Dataset
        Not prepared yet. The first column, "row" or a free name like it, is the place
        of each row in the source and names the rows.

    Raises
    ------
    DataError
        If the source cannot be read.
    Cancelled
        If `cancel` said so.

    Notes
    -----
    Rows are drawn uniformly, without replacement, in one pass over the source.
    `label_rows` gives the labels of models of the landmarks to all rows.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np, pandas as pd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame({"x": np.arange(900)}).to_parquet(f"{folder}/table.parquet")
    ...     landmarks = draw_landmarks(folder, 200)
    >>> landmarks.table.shape, list(landmarks.table.columns)
    ((200, 2), ['row', 'x'])
    """
    run = RunOptions(n_jobs, progress, cancel)
    n_landmarks = check_n_landmarks(n_landmarks)
    seed = check_random_state(random_state)
    opened = open_source(source, unreadable)
    found, _ = sample_table(
        opened, Path(source).name, n_landmarks, seed, unreadable, run
    )
    return found


def sample_table(
    source: ParquetSource,
    name: str,
    n_landmarks: int,
    seed: int,
    unreadable: str,
    run: RunOptions,
) -> tuple[Dataset, ParquetSource]:
    """Draw landmarks as a table; return the source without unreadable files, too."""
    n_drawn = min(n_landmarks, source.n_rows)
    drawn = draw_rows(source.n_rows, n_drawn, seed)
    return take_rows(source, name, drawn, unreadable, run)


def take_rows(
    source: ParquetSource, name: str, rows: IntArray, unreadable: str, run: RunOptions
) -> tuple[Dataset, ParquetSource]:
    """Read ascending rows as a table; return the source without unreadable files, too.

    The first column of the table is the place of each row in the source. DataError if
    there are too many rows for memory.
    """
    n_columns = len(source.schema) + 1
    if len(rows) * n_columns > MOST_CELLS:
        raise DataError(
            f"{whole(len(rows))} landmarks of {whole(n_columns)} columns are too many "
            f"for memory; draw at most {whole(MOST_CELLS // n_columns)}."
        )
    found = first_pass(source, rows, unreadable, run, columns=())
    row = free_name(ROW, list(source.schema.names))
    sample = _plain_numbers(found.sample).add_column(0, row, pa.array(found.rows))
    notes, n_rows = list(found.source.notes), found.source.n_rows
    if len(found.rows) < n_rows:
        drawn_note = Note("landmarks drawn", landmarks=len(found.rows), rows=n_rows)
        notes.insert(0, drawn_note)
    table = make_dataset(sample.to_pandas(), name, row_id=row, notes=notes)
    return table, found.source


def check_n_landmarks(n_landmarks: int) -> int:
    """Return a number of landmarks; ValueError if it is out of range."""
    return check_range(
        n_landmarks,
        FEWEST_LANDMARKS,
        MOST_LANDMARKS,
        name="n_landmarks",
        integer=True,
    )


def is_too_large(path: Path) -> bool:
    """Return whether a table is a folder, or a Parquet file too large for memory."""
    if not path.is_file():
        return path.is_dir()
    if path.suffix != ".parquet":
        return False
    try:
        with pq.ParquetFile(path) as parquet:
            meta = parquet.metadata
            n_cells = meta.num_rows * len(parquet.schema_arrow)
            return n_cells > MOST_CELLS or path.stat().st_size > MOST_BYTES
    except (OSError, pa.ArrowException):
        return False  # the reader of files says what is wrong


def _plain_numbers(table: pa.Table) -> pa.Table:
    """Return decimal numbers as numbers of floating point."""
    for k, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            table = table.set_column(k, field.name, table[k].cast(pa.float64()))
    return table
