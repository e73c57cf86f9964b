"""Results of the page All rows: some rows of one part of the table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from clusterlens.compute.scale.parts import read_part
from clusterlens.compute.scale.result import ScaledRun
from clusterlens.ui.actions.large_tables import open_large
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.state.analysis import LargeTable

SHOWN_ROWS, SHOWN_COLUMNS = 40, 8


@dataclass(frozen=True, eq=False)
class PartRows:
    """Some rows of one part.

    Parameters
    ----------
    part, n_parts : int
        Position of the part, and number of all parts.
    first, last : int
        First and last row of the part in the table.
    n_nowhere : int
        Rows of the part that belong nowhere.
    labels : DataFrame
        "row", "consensus", "margin" and "nowhere" of the rows on screen.
    cells : DataFrame
        Their cells in the columns that differ most between clusters.
    """

    part: int
    n_parts: int
    first: int
    last: int
    n_nowhere: int
    labels: pd.DataFrame
    cells: pd.DataFrame


@node("live", "Reading rows")
def part_rows(
    job: Job,
    all_rows: ScaledRun,
    large: LargeTable,
    view_all_rows_part: int,
    view_all_rows_first: str,
) -> PartRows:
    """Return the first rows of a part in the order of the view."""
    n_parts = len(all_rows.files)
    part = min(view_all_rows_part, n_parts - 1)
    columns = []
    if all_rows.profiles is not None:
        columns = all_rows.profiles.columns.index[:SHOWN_COLUMNS].tolist()
    source = open_large(job, large)
    labels, cells = read_part(all_rows, source, part, columns)
    far = labels["nowhere"].fillna(False).to_numpy(bool)
    keys = {
        "in order": np.arange(len(labels)),
        "least sure": labels["margin"].to_numpy(),
        "nowhere": ~far,
    }
    chosen = np.argsort(keys[view_all_rows_first], kind="stable")[:SHOWN_ROWS]
    if view_all_rows_first == "nowhere":
        chosen = chosen[far[chosen]]
    first, last = labels["row"].iloc[[0, -1]].tolist()
    shown = (labels.iloc[chosen], cells.take(chosen).to_pandas())
    return PartRows(part, n_parts, first, last, int(far.sum()), *shown)
