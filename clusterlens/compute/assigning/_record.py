"""SegmentationRecord: the data that a segmentation keeps of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterlens.compute._validation import Frozen, IntArray
from clusterlens.compute.assigning._baseline import Baseline
from clusterlens.compute.assigning.assigner import Assigner
from clusterlens.compute.table.preparation import Preparation


@dataclass(frozen=True, eq=False)
class SegmentationRecord(Frozen):
    """A partition for other tables.

    Parameters
    ----------
    title : str
        Name of the table.
    assigner : Assigner
        The assigner of rows.
    preparation : Preparation
        The fitted rules that turn rows into features.
    names : mapping of int to str
        Names of the clusters.
    row_id : str or None
        Column of row ids.
    clusters, counts : array of int, shape (n_labels,)
        Labels of the partition, and the number of rows of the table with each.
    columns : tuple of Baseline
        Distributions of the columns in use.
    """

    title: str
    assigner: Assigner
    preparation: Preparation
    names: Mapping[int, str]
    row_id: str | None
    clusters: IntArray
    counts: IntArray
    columns: tuple[Baseline, ...]
