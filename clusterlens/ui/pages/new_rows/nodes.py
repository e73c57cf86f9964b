"""Results of new rows: a kept partition, and its clusters of another table's rows."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import binomtest, chi2_contingency

from clusterlens.compute._run.options import RunOptions, raise_if_cancelled
from clusterlens.compute.assigning import few_columns
from clusterlens.compute.assigning.assigner import ALPHA
from clusterlens.compute.assigning.drift import LEVEL
from clusterlens.compute.assigning.rules import ClusterRules, describe_clusters
from clusterlens.compute.assigning.segmentation import Segmentation, is_nowhere
from clusterlens.compute.formatting import percent
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.preparation import typed_table
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.jobs.shared_results import content_key
from clusterlens.ui.state.analysis import KeptPartition
from clusterlens.ui.state.partitions import number_of
from clusterlens.ui.widgets.words import fixed

LISTED_ROWS = 200
NOISE = -1


@node()
def kept_partition(
    segmentations: tuple[KeptPartition, ...], view_segmentation: int | None
) -> KeptPartition | None:
    """Return the selected kept partition, by default the latest."""
    if not segmentations:
        return None
    last = len(segmentations) - 1
    return segmentations[
        last if view_segmentation is None else min(view_segmentation, last)
    ]


def cluster_of(label: int) -> int:
    """Return the number of a cluster on screen, from 0, by its label; noise is -1."""
    return label - 1 if label > 0 else NOISE


@dataclass(frozen=True, eq=False)
class _Shared:
    """A segmentation in the cache of results, with its largest array."""

    segmentation: Segmentation
    rows: np.ndarray


@node("idle", "Learning where rows belong", keep=8)
def segmentation(job: Job, kept_partition: KeptPartition) -> Segmentation:
    """Learn to assign rows; sessions that keep the same partition share the result."""

    def learn() -> tuple[_Shared, bool]:
        names = {number_of(k): name for k, name in kept_partition.names}
        made = Segmentation(
            kept_partition.result.dataset,
            kept_partition.labels,
            names,
            cancel=job.cancelled,
        )
        return _Shared(made, made.assigner.rows), True

    key = _key(kept_partition)
    return job.server.results.get(key, learn, job.cancelled).segmentation


def _key(kept: KeptPartition) -> str:
    """Return a digest that is equal for equal segmentations."""
    dataset = kept.result.dataset
    names = [column.name for column in dataset.preparation.columns_]
    about = [dataset.name, names, dataset.roles, dataset.settings, kept.names]
    digest = hashlib.sha256(content_key(dataset.X, [], 0, "segmentation").encode())
    digest.update(json.dumps(about, sort_keys=True, default=str).encode())
    cells = pd.util.hash_pandas_object(dataset.table[names], index=False)
    for part in (cells.to_numpy(), kept.labels):
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class NewCells:
    """Typed columns of the new table that the segmentation uses, with notes."""

    frame: pd.DataFrame
    notes: list[str]


@node("idle", "Reading the columns")
def new_cells(job: Job, segmentation: Segmentation, new_table: Dataset) -> NewCells:
    """Type the columns that the segmentation uses, once for all results."""
    columns, row_id = list(segmentation.columns), segmentation.kept.row_id
    return NewCells(*typed_table(new_table, columns, row_id))


@node("idle", "Placing the new rows")
def assigned(job: Job, segmentation: Segmentation, new_cells: NewCells) -> pd.DataFrame:
    """Assign the rows of the new table to clusters; linear in their number."""
    return segmentation.assign_typed(
        new_cells.frame,
        new_cells.notes,
        alpha=ALPHA,
        run=RunOptions(**job.kernels),
        details=True,
    )


@dataclass(frozen=True)
class Share:
    """Share of a table in a cluster.

    Parameters
    ----------
    rows : int
        Rows in the cluster.
    of : int
        Assigned rows of the table.
    low, high : float
        Confidence interval of the share at 95% (Wilson).
    """

    rows: int
    of: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """Return the share, in [0, 1]; 0 if there are no rows."""
        return self.rows / self.of if self.of else 0.0


def share_of(rows: int, of: int) -> Share:
    """Return a share with its interval; the interval of no rows is [0, 1]."""
    if not of:
        return Share(0, 0, 0.0, 1.0)
    low, high = binomtest(rows, of).proportion_ci(method="wilson")
    return Share(rows, of, float(low), float(high))


@dataclass(frozen=True)
class ThenAndNow:
    """Shares of one cluster in the first table, and in the new one.

    Parameters
    ----------
    label : int
        Label of the cluster.
    name : str
        Name of the cluster.
    then, now : Share
        Shares of the first table, from held-out rows that were assigned; and of the new
        table, where rows that belong nowhere count in no cluster.
    """

    label: int
    name: str
    then: Share
    now: Share

    @property
    def changed(self) -> bool:
        """Return whether shares differ in print and beyond chance (Newcombe, 95%)."""
        less, more = sorted((self.then, self.now), key=lambda share: share.value)
        chance = math.hypot(less.high - less.value, more.value - more.low)
        is_clear = more.value - less.value > chance
        return is_clear and percent(less.value) != percent(more.value)


@dataclass(frozen=True)
class Placed:
    """Summary of the assigned rows of the new table.

    Parameters
    ----------
    clusters : tuple of ThenAndNow
        Shares of the clusters by label.
    nowhere : Share
        Rows that are too far from their cluster to belong there.
    n_rows : int
        Rows of the table; rows with gaps that are not filled are not assigned.
    notes : tuple of str
        Notes on filled, dropped and unused cells.
    n_gaps : int
        Cells that are missing, or of a level that the first table did not have.
    """

    clusters: tuple[ThenAndNow, ...]
    nowhere: Share
    n_rows: int
    notes: tuple[str, ...]
    n_gaps: int

    @property
    def changed(self) -> list[str]:
        """Return names of clusters with changed shares; none if chance may explain all.

        All shares are tested together: of rows like the old ones `ALPHA` belong
        nowhere.
        """
        then = np.array([one.then.rows for one in self.clusters])
        expected = [*(1 - ALPHA) * then, ALPHA * then.sum()]
        counts = [*(one.now.rows for one in self.clusters), self.nowhere.rows]
        table = np.array([expected, counts])
        table = table[:, table.any(axis=0)]
        if not table.any(axis=1).all() or chi2_contingency(table).pvalue > LEVEL:
            return []
        return [one.name for one in self.clusters if one.changed]


@node("live", "Counting the rows")
def placed(job: Job, segmentation: Segmentation, assigned: pd.DataFrame) -> Placed:
    """Count the rows of each cluster then and now."""
    old, assigner = segmentation.to_frame(), segmentation.assigner
    expected = dict(zip(assigner.clusters.tolist(), assigner.expected, strict=True))
    known = assigned["cluster"].notna().to_numpy(bool)
    far = is_nowhere(assigned)
    inside = assigned["cluster"][known & ~far].astype("int64")
    counts = inside.value_counts()
    n, n_old = int(known.sum()), int(old["rows"].sum())
    clusters = tuple(
        ThenAndNow(
            label,
            name,
            share_of(round(expected.get(label, 0) * n_old), n_old),
            share_of(int(counts.get(label, 0)), n),
        )
        for label, name in zip(old["cluster"].tolist(), old["name"], strict=True)
    )
    notes = tuple(assigned.attrs["notes"])
    n_gaps = sum(assigned.attrs["gaps"].values())
    return Placed(clusters, share_of(int(far.sum()), n), len(assigned), notes, n_gaps)


def margin_words(margin: float) -> str:
    """Format a margin, alike in the list and for a single row."""
    return fixed(float(margin), 3)


@node("live", "Sorting the rows")
def listed_rows(
    job: Job, assigned: pd.DataFrame, view_new_rows_first: str
) -> np.ndarray:
    """Return positions of the least or most sure rows, or of rows that belong nowhere.

    Ties in the margin are broken by clearness, then by p.
    """
    keys = [
        assigned[name].to_numpy(np.float64, na_value=np.nan)
        for name in ("p", "clearness", "margin")
    ]
    is_listed = (
        is_nowhere(assigned) if view_new_rows_first == "nowhere" else keys[2] >= 0
    )
    some = np.flatnonzero(is_listed)
    raise_if_cancelled(job.cancelled)
    sign = -1 if view_new_rows_first == "most sure" else 1
    return some[np.lexsort([sign * key[some] for key in keys])][:LISTED_ROWS]


@node("idle", "Finding rules of the clusters", keep=8)
def cluster_rules(job: Job, kept_partition: KeptPartition) -> ClusterRules | None:
    """Describe each cluster by few conditions; None if there is only one."""
    labels = kept_partition.labels
    if len(np.unique(labels)) < 2:
        return None
    return describe_clusters(kept_partition.result.dataset, labels)


@node("idle", "Finding questions", keep=8)
def typing_tool(
    job: Job, kept_partition: KeptPartition
) -> few_columns.TypingTool | None:
    """Find few questions that identify the clusters; None if there is only one."""
    labels = kept_partition.labels
    if len(np.unique(labels[labels != NOISE])) < 2:
        return None
    raise_if_cancelled(job.cancelled)
    return few_columns.typing_tool(kept_partition.result.dataset, labels)
