"""Results for one row of the new table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute.assigning.assigner import ALPHA
from clusterlens.compute.assigning.counterfactuals import smallest_changes
from clusterlens.compute.assigning.explained import Company, company, pulls
from clusterlens.compute.assigning.segmentation import Segmentation
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.pages.new_rows.map_nodes import features_of
from clusterlens.ui.pages.new_rows.nodes import NewCells, is_nowhere
from clusterlens.ui.state.analysis import KeptPartition


@dataclass(frozen=True, eq=False)
class Standing:
    """Cluster of a row, with the reasons.

    Parameters
    ----------
    label : int
        Label of its cluster.
    margin : float
        Certainty, in [0, 1].
    other : int or None
        Label of the next cluster.
    far : bool
        Whether it belongs nowhere.
    company : Company
        Its neighbours.
    near_ids : tuple of object
        Row ids of `company.rows` in the first table.
    pulls : DataFrame or None
        Contribution of each column, made by `pulls`.
    """

    label: int
    margin: float
    other: int | None
    far: bool
    company: Company
    near_ids: tuple[Any, ...]
    pulls: pd.DataFrame | None


@dataclass(frozen=True, eq=False)
class NewRow:
    """A row of the new table: its position, its id, and its cluster.

    Without a standing the row is not assigned because of gaps.
    """

    position: int
    row_id: Any
    standing: Standing | None


@node("live", "Reading a row", keep=16)
def new_row(
    job: Job,
    segmentation: Segmentation,
    kept_partition: KeptPartition,
    new_cells: NewCells,
    assigned: pd.DataFrame,
    listed_rows: np.ndarray,
    view_new_row: int | None,
) -> NewRow | None:
    """Explain the selected row, by default the first of the list."""
    if not len(assigned):
        return None
    row = view_new_row
    if row is None or row >= len(assigned):
        row = int(listed_rows[0]) if len(listed_rows) else 0
    assignment = assigned.iloc[row]
    standing = None
    if pd.notna(assignment["cluster"]):
        raw = new_cells.frame.iloc[[row]]
        standing = _standing(segmentation, kept_partition, raw, assigned.iloc[[row]])
    return NewRow(row, assigned.index[row], standing)


def _standing(
    segmentation: Segmentation,
    kept: KeptPartition,
    raw: pd.DataFrame,
    assigned: pd.DataFrame,
) -> Standing:
    """Explain the cluster of one row, from tables of that row alone."""
    assignment = assigned.iloc[0]
    label, beside = int(assignment["cluster"]), assignment["nearest other"]
    other = None if pd.isna(beside) else int(beside)
    x = features_of(segmentation, raw).X[0]
    near = company(segmentation.assigner, x, label, ALPHA)
    return Standing(
        label,
        float(assignment["margin"]),
        other,
        bool(is_nowhere(assigned)[0]),
        near,
        _ids(kept.result.dataset, segmentation.assigner.rows[near.rows]),
        None if other is None else _pulls(segmentation, kept, raw, label, other),
    )


def _ids(dataset: Dataset, rows: np.ndarray) -> tuple[Any, ...]:
    """Return the row ids of prototypes (n, n_features) in the first table."""
    at = [int(((dataset.X - row) ** 2).sum(axis=1).argmin()) for row in rows]
    return tuple(np.asarray(dataset.row_ids)[at].tolist())


def _pulls(
    segmentation: Segmentation,
    kept: KeptPartition,
    raw: pd.DataFrame,
    label: int,
    other: int,
) -> pd.DataFrame:
    """Compare the values of a row with the values of both clusters."""
    dataset, names = kept.result.dataset, list(segmentation.columns)
    of_rows = dataset.positions
    labels = kept.labels[of_rows[of_rows >= 0]]
    table = dataset.table.loc[of_rows >= 0, names]
    return pulls(table, labels == label, labels == other, raw.iloc[0])


@node("live", "Trying other values", keep=16)
def new_changes(
    job: Job,
    segmentation: Segmentation,
    kept_partition: KeptPartition,
    new_cells: NewCells,
    new_row: NewRow,
) -> pd.DataFrame | None:
    """Return the smallest change of each single column that changes the cluster."""
    if new_row.standing is None:
        return None
    raw = new_cells.frame.iloc[[new_row.position]]
    return smallest_changes(
        segmentation, raw, kept_partition.result.dataset, cancel=job.cancelled
    )
