"""Rows of one part of a labelled table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from clusterlens.compute._plain import read_json
from clusterlens.compute.scale.folder import PREPARED
from clusterlens.compute.scale.labels import CONSENSUS, ROW
from clusterlens.compute.scale.result import MOST_BYTES, ScaledRun
from clusterlens.compute.scale.source import ParquetSource


def read_part(
    run: ScaledRun,
    source: ParquetSource,
    part: int,
    columns: Sequence[str],
) -> tuple[pd.DataFrame, pa.Table]:
    """Read a part of a labelled table.

    Parameters
    ----------
    run : ScaledRun
        Results for all rows.
    source : ParquetSource
        The table, with all files.
    part : int
        Position of the part among `run.files`.
    columns : sequence of str
        Columns of the table to read.

    Returns
    -------
    labels : DataFrame
        Row, consensus, margin and nowhere, one row per row of the part.
    cells : Table
        Cells of these rows in the columns.
    """
    names = [ROW, CONSENSUS, "margin", "nowhere"]
    labels = pq.read_table(run.files[part], columns=names).to_pandas()
    prepared = (Path(run.folder) / PREPARED).read_bytes()
    skipped = read_json(prepared, PREPARED, MOST_BYTES).texts("skipped")
    left = source.without_paths(skipped)
    ((_, cells),) = left.read([left.pieces[part]], columns)
    return labels, cells
