"""Segmentation: a partition that can be saved and applied to other tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    UNLABELLED,
    DataError,
    IntArray,
    RandomState,
    check_entries,
    check_flag,
    check_labels,
    check_random_state,
    check_range,
    plain_repr,
    read_only,
    split_labelled,
)
from clusterlens.compute.assigning._baseline import baselines
from clusterlens.compute.assigning._record import SegmentationRecord
from clusterlens.compute.assigning._stored import write_kept
from clusterlens.compute.assigning.assigner import ALPHA, Assigned, Assigner
from clusterlens.compute.assigning.drift import Drift, measure_drift
from clusterlens.compute.assigning.fitting import fit_assigner
from clusterlens.compute.formatting import count, percent
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.preparation import typed_table

COLUMNS = ("cluster", "name", "margin", "nearest other", "nowhere")
DETAILS = ("p", "clearness")
_FEWEST = 1e-9


class Segmentation:
    """A partition of a table that assigns the rows of other tables.

    Parameters
    ----------
    dataset : Dataset
        The prepared table.
    labels : array-like of shape (n_samples,)
        The partition: whole numbers, -1 for noise, or texts.
    names : mapping or sequence of str, optional
        Names of clusters: by label, or one for each label in ascending order, noise
        included. Default: the texts, or "cluster 0", "cluster 1", ...
    rows : bool, default True
        Whether rows of the table may be stored as prototypes. If False, centres and
        scales are used, which cannot describe clusters that are not round;
        `assigner.reproduced` is the share of rows that keep their cluster.
    random_state : int, Generator or None, default 0
        Used to sample prototypes from a table of more than 20,000 rows.
    cancel : callable, optional
        Called between steps; a true value cancels.

    Attributes
    ----------
    assigner : Assigner
        The fitted rule, with the share of the rows that keep their cluster
        (`reproduced`), that of the held-out rows (`held_out_share`), and the expected
        calibration error of the margins.
    names : mapping of int to str
        Name of each cluster.

    Raises
    ------
    DataError
        If the dataset is not prepared.
    ValueError
        If labels or names do not match it.

    Notes
    -----
    See `Assigner` for the choice of the rule, the margins and the bound for
    membership. Takes the time of a neighbour search among at most 20,000 rows.

    Examples
    --------
    >>> from clusterlens.compute.table.dataset import prepare
    >>> table = pd.DataFrame({"size": [1.0, 1.2, 1.1, 7.0, 7.1, 7.3]})
    >>> seg = Segmentation(prepare(table), [0, 0, 0, 1, 1, 1], ["small", "large"])
    >>> seg.assign({"size": [6.5, 1.3]})["name"].tolist()
    ['large', 'small']
    """

    @takes_running
    def __init__(
        self,
        dataset: Dataset,
        labels: npt.ArrayLike,
        names: Mapping[Any, str] | Sequence[str] | None = None,
        *,
        rows: bool = True,
        random_state: RandomState = 0,
        cancel: Cancel | None = None,
    ) -> None:
        run = RunOptions(cancel=cancel)
        if not isinstance(dataset, Dataset):
            raise DataError(
                f"dataset is a {type(dataset).__name__}; give a prepared Dataset, as "
                "prepare returns it."
            )
        X = dataset.X
        checked = check_labels(labels, n_samples=len(X)).astype(np.int64)
        check_flag(rows, name="rows")
        seed = check_random_state(random_state)
        of_rows = checked[dataset.positions[dataset.positions >= 0]]
        clusters, counts = np.unique(of_rows, return_counts=True)
        preparation = dataset.preparation
        frame = dataset.table[dataset.positions >= 0]
        columns = preparation.columns_
        self._kept = SegmentationRecord(
            title=dataset.name,
            assigner=fit_assigner(
                X,
                checked,
                rows=rows,
                counts=dataset.row_counts,
                random_state=seed,
                run=run,
            ),
            preparation=preparation,
            names=_checked_names(names, clusters, labels),
            row_id=_row_id(dataset),
            clusters=read_only(clusters),
            counts=read_only(counts),
            columns=baselines(
                [column.name for column in columns],
                preparation.encode(frame),
                [len(column.levels) for column in columns],
            ),
        )

    @classmethod
    def of_kept(cls, kept: SegmentationRecord) -> Self:
        """Return the segmentation with the given record.

        Parameters
        ----------
        kept : SegmentationRecord
            The record, as read from a file.

        Returns
        -------
        segmentation : Segmentation
            Equal to the segmentation that was saved.
        """
        made = cls.__new__(cls)
        made._kept = kept
        return made

    @property
    def kept(self) -> SegmentationRecord:
        """Everything stored about the table."""
        return self._kept

    @property
    def assigner(self) -> Assigner:
        """The fitted rule that assigns rows to clusters."""
        return self._kept.assigner

    @property
    def names(self) -> Mapping[int, str]:
        """Name of each cluster, by label."""
        return self._kept.names

    @takes_running
    def assign(
        self,
        table: Any,
        *,
        alpha: float = ALPHA,
        details: bool = False,
        n_jobs: int | None = None,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
        executor: Executor | None = None,
    ) -> pd.DataFrame:
        """Assign the rows of a table to clusters.

        Parameters
        ----------
        table : DataFrame, array-like, Dataset, path, file object or bytes
            Raw rows in the format of the first table, columns by name in any order.
        alpha : float, default 0.05
            Rate at which rows like those seen may be called "nowhere", in (0, 1).
        details : bool, default False
            Whether to add "p", the share of the rows of the cluster at least as far
            from it, and "clearness", which ranks rows of equal margin.
        n_jobs : int, optional
            Threads. Default: all cores. The result does not depend on it.
        progress : callable, optional
            Called as progress(done, total) in rows.
        cancel : callable, optional
            Called between blocks; a true value cancels.
        executor : concurrent.futures.Executor, optional
            Threads to use instead of new ones.

        Returns
        -------
        assigned : DataFrame of shape (n_rows, 5 or 7)
            "cluster", its label; "name"; "margin" in [0, 1], how often similar rows are
            assigned correctly minus how often not; "nearest other", the label of the
            next cluster; "nowhere", whether the row is too far from its cluster to
            belong to it, missing where the cluster has too few rows to decide, true for
            noise. Rows with gaps that the preparation does not fill have no entries.
            `attrs["notes"]` lists filled cells, omitted rows and unused columns,
            `attrs["gaps"]` the number of cells without a known value by column.

        Raises
        ------
        DataError
            If columns are missing (the message names all) or of another kind.
        Cancelled
            If `cancel` returned true.

        Notes
        -----
        The result for a row does not depend on the other rows. Levels that the first
        table did not have count as missing.
        """
        run = RunOptions(n_jobs, progress, cancel, executor)
        alpha = check_range(alpha, _FEWEST, 1 - _FEWEST, name="alpha")
        frame, notes = typed_table(table, list(self.columns), self._kept.row_id)
        details = check_flag(details, name="details")
        return self.assign_typed(frame, notes, alpha=alpha, run=run, details=details)

    def assign_typed(
        self,
        frame: pd.DataFrame,
        notes: Sequence[str],
        *,
        alpha: float,
        run: RunOptions,
        details: bool = False,
    ) -> pd.DataFrame:
        """Assign typed rows to clusters; see `assign`.

        Parameters
        ----------
        frame : DataFrame
            Typed columns, as `typed_table` gives them.
        notes : sequence of str
            Notes on how the rows were prepared.
        alpha : float
            Rate of "nowhere" among rows like those seen.
        run : RunOptions
            Threads, progress, cancel.
        details : bool, default False
            As in `assign`.

        Returns
        -------
        assigned : DataFrame of shape (n_rows, 5 or 7)
            As returned by `assign`.
        """
        rows = self._kept.preparation.transform_typed(
            frame, unknown="missing", gaps="leave out"
        )
        notes = [*notes, *rows.notes]
        some = len(rows.X) > 0
        assigned = (
            self.assigner.assign(rows.X, run) if some else _nothing(self.assigner)
        )
        found = self._frame(assigned, alpha, rows.row_ids)
        if not rows.kept.all():
            found = found.reindex(frame.index)
        gaps = zip(self.columns, rows.gaps.tolist(), strict=True)
        if not details:
            found = found.drop(columns=list(DETAILS))
        found.attrs |= {"notes": notes, "gaps": {name: n for name, n in gaps if n}}
        return found

    @takes_running
    def drift(
        self,
        table: Any,
        *,
        alpha: float = ALPHA,
        assigned: pd.DataFrame | None = None,
        n_jobs: int | None = None,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
        executor: Executor | None = None,
    ) -> Drift:
        """Compare another table with the clustered table.

        Parameters
        ----------
        table : DataFrame, array-like, Dataset, path, file object or bytes
            Raw rows in the format of the first table.
        alpha : float, default 0.05
            Rate at which rows like those seen may be called "nowhere", in (0, 1).
        assigned : DataFrame, optional
            Result of `assign` for this table at this rate, if already
            computed. Default: the rows are assigned.
        n_jobs, progress, cancel, executor
            As in `assign`.

        Returns
        -------
        drift : Drift
            Cluster shares then and now, columns that changed, rows that belong
            nowhere, and the verdict, "keep" or "refit".

        Raises
        ------
        DataError
            As `assign`.
        ValueError
            If `assigned` has a different number of rows.
        """
        run = RunOptions(n_jobs, progress, cancel, executor)
        alpha = check_range(alpha, _FEWEST, 1 - _FEWEST, name="alpha")
        frame, notes = typed_table(table, list(self.columns), self._kept.row_id)
        if assigned is None:
            assigned = self.assign_typed(frame, notes, alpha=alpha, run=run)
        if len(assigned) != len(frame):
            raise ValueError(
                f"assigned has {count(len(assigned), 'row')} for "
                f"{count(len(frame), 'row')} of the table; give what assign returns "
                "for this table."
            )
        return self.drift_typed(frame, assigned, alpha=alpha)

    def drift_typed(
        self, frame: pd.DataFrame, assigned: pd.DataFrame, *, alpha: float
    ) -> Drift:
        """Compare typed rows with the rows of the first table; see `drift`.

        Parameters
        ----------
        frame : DataFrame
            Typed columns, as `typed_table` gives them.
        assigned : DataFrame
            Result of `assign_typed` for them at this rate.
        alpha : float
            Rate of "nowhere" among rows like those seen.

        Returns
        -------
        drift : Drift
            As returned by `drift`.
        """
        values = self._kept.preparation.encode(frame)
        return measure_drift(self._kept, assigned, values, alpha)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the segmentation to one file, which `load_segmentation` opens.

        Parameters
        ----------
        path : path
            File to write; it appears when it is complete.

        Notes
        -----
        JSON and Parquet in a zip archive, no pickle. The only rows of the table in it
        are the prototypes, as features without row ids.
        """
        if not isinstance(path, str | os.PathLike):
            raise DataError(f"path is {path!r:.60}; give the path of a file.")
        write_kept(self._kept, path)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that another table must have."""
        return tuple(column.name for column in self._kept.columns)

    @property
    def number_columns(self) -> tuple[str, ...]:
        """Names of the columns that hold numbers, without dates."""
        columns = self._kept.preparation.columns_
        numeric = [c for c in columns if c.role == "numeric" and c.first_day is None]
        return tuple(column.name for column in numeric)

    def to_frame(self) -> pd.DataFrame:
        """Return the clusters as a table.

        Returns
        -------
        clusters : DataFrame
            One row per cluster: "cluster", "name", "rows" of the first table, their
            "share", and "nowhere can be told", whether it can at a rate of 0.05.
        """
        kept = self._kept
        decidable = kept.assigner.clusters[kept.assigner.can_judge(ALPHA)]
        return pd.DataFrame(
            {
                "cluster": kept.clusters,
                "name": [kept.names[int(label)] for label in kept.clusters],
                "rows": kept.counts,
                "share": kept.counts / kept.counts.sum(),
                "nowhere can be told": np.isin(kept.clusters, [UNLABELLED, *decidable]),
            }
        )

    def __repr__(self) -> str:
        """Show the size and the share of the held-out rows that get their cluster."""
        kept = self._kept
        n = int((kept.clusters != UNLABELLED).sum())
        share = self.assigner.held_out_share
        held_out = "" if np.isnan(share) else f", {percent(share)} right held out"
        return (
            f"Segmentation({kept.title!r}, {count(n, 'cluster')} of "
            f"{count(kept.counts.sum(), 'row')}, "
            f"{count(len(self.assigner.rows), 'prototype')}{held_out})"
        )

    def _frame(self, assigned: Assigned, alpha: float, index: pd.Index) -> pd.DataFrame:
        names = pd.Series(self.names, dtype="str")
        other = pd.array(assigned.other, dtype="Int64")
        other[assigned.other == assigned.cluster] = pd.NA
        values = (
            pd.array(assigned.cluster, dtype="Int64"),
            names.reindex(assigned.cluster).array,
            assigned.margin,
            other,
            self.assigner.nowhere(assigned, alpha),
            assigned.p,
            assigned.clearness,
        )
        names_of = (*COLUMNS, *DETAILS)
        return pd.DataFrame(dict(zip(names_of, values, strict=True)), index=index)


def is_nowhere(assigned: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Return which rows are too far from their cluster, (n_rows,); true for noise."""
    far = assigned["nowhere"].fillna(False).to_numpy(bool)
    return far & (assigned["cluster"].fillna(0) != UNLABELLED).to_numpy(bool)


def check_segmentation(segmentation: Any) -> Segmentation:
    """Return the given object if it is a Segmentation.

    Parameters
    ----------
    segmentation : object
        Object to check.

    Returns
    -------
    segmentation : Segmentation
        The same.

    Raises
    ------
    DataError
        If it is something else.
    """
    if not isinstance(segmentation, Segmentation):
        raise DataError(
            f"segmentation is a {type(segmentation).__name__}; give a Segmentation."
        )
    return segmentation


def _nothing(assigner: Assigner) -> Assigned:
    """Answers for no rows."""
    none, labels = np.empty(0), assigner.clusters[:0]
    return Assigned(labels, none, none, labels, none, none)


def _row_id(dataset: Dataset) -> str | None:
    ids = [name for name, role in dataset.roles.items() if role == "row id"]
    return ids[0] if ids else None


def _checked_names(names: Any, clusters: IntArray, labels: Any) -> dict[int, str]:
    """Return a name for each label of a partition."""
    default = _default_names(clusters, labels)
    if names is None:
        return default
    given: dict[Any, Any]
    if isinstance(names, Mapping):
        back = {name: label for label, name in default.items()}
        given = {back.get(key, key): name for key, name in names.items()}
    else:
        listed = check_entries(names, "names")
        if len(listed) != len(clusters):
            raise ValueError(
                f"names has {count(len(listed), 'entry', 'entries')} for "
                f"{count(len(clusters), 'label')}; give one per label, in ascending "
                "order."
            )
        given = dict(zip(clusters.tolist(), listed, strict=True))
    for key, name in given.items():
        if key not in default:
            raise ValueError(
                f"names has a name for {plain_repr(key)}, which is no label; the "
                f"labels are {', '.join(map(str, clusters[:20].tolist()))}."
            )
        if not isinstance(name, str) or not name.strip():
            raise ValueError(
                f"names[{plain_repr(key)}] is {plain_repr(name)}; give a text."
            )
    return default | given


def _default_names(clusters: IntArray, labels: Any) -> dict[int, str]:
    _, known = split_labelled(labels, None)
    texts = np.unique(known).tolist() if known.dtype.kind == "U" else []
    names = {
        int(label): texts[label] if texts and label >= 0 else f"cluster {label}"
        for label in clusters
    }
    return names | ({UNLABELLED: "noise"} if UNLABELLED in names else {})
