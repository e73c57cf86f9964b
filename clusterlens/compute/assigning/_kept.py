"""What a segmentation keeps of a table, as one record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterlens.compute._validation import Frozen, IntArray
from clusterlens.compute.assigning._baseline import Baseline
from clusterlens.compute.assigning.assigner import Assigner
from clusterlens.compute.table.preparation import Preparation


@dataclass(frozen=True, eq=False)
class Kept(Frozen):
    """A partition for other tables.

    Parameters
    ----------
    title : str
        Name of the table.
    assigner : Assigner
        What decides.
    preparation : Preparation
        The fitted rules that turn rows into features.
    names : mapping of int to str
        Names of the clusters.
    row_id : str or None
        Column of row ids.
    clusters, counts : array of int, shape (n_labels,)
        Labels of the partition, and the rows of the table that have them.
    columns : tuple of Baseline
        How the columns in use were distributed.
    """

    title: str
    assigner: Assigner
    preparation: Preparation
    names: Mapping[int, str]
    row_id: str | None
    clusters: IntArray
    counts: IntArray
    columns: tuple[Baseline, ...]
