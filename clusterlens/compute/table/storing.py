"""Storing a table, its roles and notes in one Parquet file.

Columns are stored under their numbers, and their names beside the data, so that no name
can clash or be refused. Reading accepts files of any origin: sizes are checked before
memory is taken, and any fault is a DataError.
"""

from __future__ import annotations

import io
import json
import math
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from clusterlens.compute._plain import read_plain
from clusterlens.compute._validation import DataError
from clusterlens.compute.table._binary import Content, read_parquet
from clusterlens.compute.table._files import BYTES_LIMIT
from clusterlens.compute.table._roles import ROLES
from clusterlens.compute.table.dataset import Dataset

_KEY = b"clusterlens.table"
_INDEX = "index"


def dataset_to_parquet(ds: Dataset) -> bytes:
    """Write a table, its roles and notes, without its preparation.

    Raises DataError if a column holds cells that Parquet has no type for.
    """
    frame = ds.table.set_axis([str(j) for j in range(ds.table.shape[1])], axis=1)
    steps = _steps(frame.index)
    if steps is None:
        frame = frame.assign(**{_INDEX: frame.index})
    about = {
        "columns": list(ds.table.columns),
        "roles": [ds.roles[name] for name in ds.table.columns],
        "reasons": [ds.role_reasons[name] for name in ds.table.columns],
        "name": ds.name,
        "notes": list(ds.reading_notes),
        "range": steps,
        "index": None if ds.table.index.name is None else str(ds.table.index.name),
    }
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(
            f"Table {ds.name!r} cannot be stored ({error}); leave out the "
            "columns whose cells are neither numbers, text nor dates."
        ) from error
    extra = {_KEY: json.dumps(about).encode()}
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **extra})
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


def dataset_from_parquet(data: bytes, *, max_bytes: int = BYTES_LIMIT) -> Dataset:
    """Read a file of `dataset_to_parquet`, of any origin.

    Raises DataError if it is damaged, is another file, or would take more than
    max_bytes.
    """
    try:
        text = pq.read_schema(pa.BufferReader(data)).metadata[_KEY]
        about = read_plain(text, len(text))
        of_any_shape = math.inf, math.inf
        content = Content(data, "the stored table", max_bytes, shape=of_any_shape)
        frame = read_parquet(content).frame
        return _dataset(frame, about)
    except DataError:
        raise
    except (
        pa.ArrowException,
        OSError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:
        raise DataError(
            f"The stored table cannot be read ({type(error).__name__}: {error}); it is "
            "damaged, or no table of ClusterLens."
        ) from error


def _steps(index: pd.Index) -> list[int] | None:
    """Return start, stop and step of rows with consecutive numbers as ids."""
    if not isinstance(index, pd.RangeIndex):
        return None
    return [index.start, index.stop, index.step]


def _numbered(start: int, stop: int, step: int) -> pd.RangeIndex:
    return pd.RangeIndex(start, stop, step)


def _dataset(frame: pd.DataFrame, about: dict[str, Any]) -> Dataset:
    """Put names, roles and notes on the columns; ValueError if they do not fit."""
    steps = about["range"]
    ids: Any = frame.pop(_INDEX) if steps is None else _numbered(*map(int, steps))
    names = [str(name) for name in about["columns"]]
    frame = frame.set_axis(pd.Index(names), axis=1)
    frame = frame.set_axis(pd.Index(ids).rename(about["index"]), axis=0)
    if not frame.index.is_unique or len(set(names)) < len(names) or 0 in frame.shape:
        raise ValueError("row ids or column names stand twice, or there are none")
    if not set(about["roles"]) <= set(ROLES):
        raise ValueError("it has roles that are not known")
    return Dataset(
        frame,
        dict(zip(names, about["roles"], strict=True)),
        dict(zip(names, map(str, about["reasons"]), strict=True)),
        str(about["name"]),
        tuple(map(str, about["notes"])),
    )
