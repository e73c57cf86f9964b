"""Evaluated labels: given classes, the clusters of a partition, or a group of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from clusterlens.compute._run.options import raise_if_cancelled
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.formatting import whole
from clusterlens.compute.indices.evidence import merge_classes
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import Later, node
from clusterlens.ui.results.result import numbered_like
from clusterlens.ui.state.analysis import AnalysisResult, ClusterName
from clusterlens.ui.state.links import plain_ids
from clusterlens.ui.state.literals import literal
from clusterlens.ui.state.partitions import (
    Choice,
    group_in_python,
    make_tree,
    most_clusters,
    names_of,
    position_in_python,
)
from clusterlens.ui.state.view_parameters import Brush
from clusterlens.ui.widgets.palette import cluster_name

MOST_CLASSES = 40
# The first rows suffice to find that a column has too many values.
_FIRST_ROWS = 1_000
_FEATURES = ("numeric", "categorical", "ordinal")


@dataclass(frozen=True, eq=False)
class EvaluatedLabels:
    """Classes of the samples of a prepared table.

    Parameters
    ----------
    dataset : Dataset
        The table.
    title : str
        Name of the column or partition.
    noun : {"class", "cluster"}
        Word for a class.
    given, codes : array of int, shape (n_samples,)
        Class of each sample, -1 for none, before and after merging.
    names : tuple of str
        Names of the codes.
    code : str
        The codes in Python, before merging; empty for the result, which the log
        contains.
    note : str
        Note on the classes, plain text.
    merged : tuple of (int, int)
        Pairs of merged classes, in this order.
    model : int or None
        Model of the run with these clusters, if any.
    of_run : bool
        Whether the code refers to the models of the run.
    """

    dataset: Dataset
    title: str
    noun: Literal["class", "cluster"]
    given: np.ndarray
    codes: np.ndarray
    names: tuple[str, ...]
    code: str
    note: str = ""
    merged: tuple[tuple[int, int], ...] = ()
    model: int | None = None
    of_run: bool = False

    def name(self, code: int) -> str:
        """Return the name of a class, with the names of classes merged into it."""
        parts = [self.name(b) for a, b in self.merged if a == code]
        return " + ".join([self.names[code], *parts])

    @property
    def is_numbered(self) -> bool:
        """Whether its clusters have numbers that may change on screen."""
        return self.of_run or not self.code

    @property
    def is_label_column(self) -> bool:
        """Return whether these are the given labels of the table, none merged."""
        return self.code == "dataset.labels_true" and not self.merged

    @property
    def sizes(self) -> dict[int, int]:
        """Return the number of samples of each class."""
        found, counts = np.unique(self.codes[self.codes >= 0], return_counts=True)
        return dict(zip(found.tolist(), counts.tolist(), strict=True))

    @property
    def n_left_out(self) -> int:
        """Return the number of samples without a class."""
        return int((self.codes < 0).sum())


@node("live", "Looking up the classes")
def evaluated_labels(
    job: Job,
    dataset: Dataset | None,
    samples: Dataset | None,
    ensemble: Ensemble | None,
    view_label_source: str,
    view_merged: tuple[tuple[int, int], ...],
    view_group: Brush,
    result: AnalysisResult | None,
    result_here: np.ndarray | None,
    run_id: str | None,
    numbering: Later[np.ndarray],
) -> EvaluatedLabels | None:
    """Return the classes of a column, the clusters of a partition, or a group."""
    table = samples if samples is not None else dataset
    if table is None:
        return None
    kind, _, at = view_label_source.partition(":")
    counted = ensemble if at.isdigit() else None
    if kind == "model" and counted is not None and int(at) < counted.n_partitions:
        found = _of_model(table, counted, int(at), numbering)
    elif kind == "consensus" and counted is not None:
        found = _of_consensus(job, table, counted, int(at), numbering)
    elif kind == "column" and at in table.table.columns:
        found = _of_column(table, at)
    elif kind == "result" and result is not None and result_here is not None:
        found = _of_result(table, result, result_here, run_id)
    elif kind == "group" and 0 < len(view_group) < len(table.row_ids):
        found = _of_group(table, view_group)
    elif table.labels_true is not None:
        found = EvaluatedLabels(
            table,
            label_column(table),
            "class",
            table.labels_true,
            table.labels_true,
            table.label_names,
            "dataset.labels_true",
        )
    else:
        return None
    codes = found.codes
    for a, b in view_merged:
        codes = merge_classes(codes, [a, b]).astype(np.int64)
    found = replace(found, codes=codes, merged=view_merged)
    _refuse(found)
    return found


def label_column(table: Dataset) -> str:
    """Return the name of the column with the labels."""
    return next(name for name, role in table.roles.items() if role == "label")


def _of_model(
    table: Dataset, ensemble: Ensemble, at: int, numbering: np.ndarray | None
) -> EvaluatedLabels:
    """Return the clusters of a model."""
    code = f"ensemble.labels[{position_in_python(ensemble, at)}]"
    labels = ensemble.labels[at].astype(np.int64)
    made = _of_run(table, ensemble.names[at], labels, code, numbering)
    return replace(made, model=at)


def _of_run(
    table: Dataset,
    title: str,
    labels: np.ndarray,
    code: str,
    numbering: np.ndarray | None,
) -> EvaluatedLabels:
    """Return the clusters of a partition with the numbers of the other pages."""
    codes = labels if numbering is None else numbered_like(numbering, labels)
    shown = dict(zip(labels.tolist(), codes.tolist(), strict=True))
    if any(label != k for label, k in shown.items()):
        shown = {label: shown[label] for label in sorted(shown)}
        code = f"[{literal(shown)}[k] for k in {code}.tolist()]"
    names = _numbered(codes)
    return EvaluatedLabels(
        table, title, "cluster", codes, codes, names, code, of_run=True
    )


def _numbered(codes: np.ndarray) -> tuple[str, ...]:
    """Name clusters by their numbers."""
    return tuple(cluster_name(k) for k in range(int(codes.max()) + 1))


def _of_result(
    table: Dataset, result: AnalysisResult, here: np.ndarray, run_id: str | None
) -> EvaluatedLabels:
    """Return the clusters of the result."""
    # Given labels stay labels even if they were chosen as the result.
    noun: Literal["class", "cluster"] = "cluster"
    if result.made["kind"] == "labels":
        noun = "class"
    model = result.model_of(run_id)
    names = _numbered(here)
    return EvaluatedLabels(
        table, result.title, noun, here, here, names, "", model=model
    )


def _of_consensus(
    job: Job,
    table: Dataset,
    ensemble: Ensemble,
    n_clusters: int,
    numbering: np.ndarray | None,
) -> EvaluatedLabels:
    """Return the clusters of a cut of the consensus tree."""
    count = min(max(n_clusters, 1), most_clusters(ensemble))
    tree = make_tree(ensemble, **job.kernels)
    labels = tree.cut(min(count, tree.n_leaves)).astype(np.int64)
    code = Choice("consensus", count).python(ensemble, tree.n_leaves, ())
    return _of_run(table, consensus_title(count), labels, code, numbering)


def consensus_title(n_clusters: int) -> str:
    """Return the name of a cut of the consensus tree."""
    return f"consensus tree k={n_clusters}"


def _of_column(table: Dataset, name: str) -> EvaluatedLabels:
    """Return the values of any column as classes."""
    values = table.table.loc[table.row_ids, name]
    codes, names = pd.factorize(values, sort=True)
    codes = codes.astype(np.int64)
    code = (
        f"dataset.table.loc[dataset.row_ids, {literal(name)}].factorize(sort=True)[0]"
    )
    is_feature = table.roles[name] in _FEATURES
    note = (
        "It is a feature itself: what it tells apart lies apart by construction. "
        "Ignore it on Data for a fair answer."
    )
    return EvaluatedLabels(
        table,
        name,
        "class",
        codes,
        codes,
        tuple(map(str, names)),
        code,
        note if is_feature else "",
    )


def _of_group(table: Dataset, group: Brush) -> EvaluatedLabels:
    """Return a brushed group and the rest as two classes."""
    codes = np.ones(len(table.row_ids), np.int64)
    codes[group.positions] = 0
    rows = plain_ids(np.asarray(table.row_ids)[group.positions])
    return EvaluatedLabels(
        table,
        "selected group",
        "cluster",
        codes,
        codes,
        ("the group", "the rest"),
        group_in_python(rows),
        "Selected on a map of these columns, a group may lie apart by construction.",
    )


@node("live", "Naming the clusters", keep=8)
def named_labels(
    job: Job, evaluated_labels: EvaluatedLabels, cluster_names: tuple[ClusterName, ...]
) -> EvaluatedLabels:
    """Return the evaluated labels with the names of the other pages.

    No measurement depends on this result, because names change no measure.
    """
    if not evaluated_labels.is_numbered:  # classes and groups have their own names
        return evaluated_labels
    called = names_of(
        evaluated_labels.given, evaluated_labels.dataset.row_ids, cluster_names
    )
    own = {k: str(name) for k, name in called.items()}
    names = tuple(cluster_name(k, own) for k in range(len(evaluated_labels.names)))
    return replace(evaluated_labels, names=names)


@node("live", "Looking for other labels")
def label_columns(
    job: Job, dataset: Dataset | None, samples: Dataset | None
) -> tuple[str, ...]:
    """Return columns that could be classes: few values, on average two rows of each."""
    table = samples if samples is not None else dataset
    if table is None:
        return ()
    found = []
    for done, (name, role) in enumerate(table.roles.items()):
        job.report(done, len(table.roles))
        raise_if_cancelled(job.cancelled)
        if role in ("label", "row id"):
            continue
        column = table.table[name]
        # The first rows rule out most numeric columns cheaply.
        few = column.head(_FIRST_ROWS).nunique() <= MOST_CLASSES
        if few and 2 <= column.nunique() <= min(MOST_CLASSES, len(column) // 2):
            found.append(name)
    return tuple(found)


def _refuse(found: EvaluatedLabels) -> None:
    """Raise ValueError if the number of classes does not allow pairwise comparison."""
    sizes = found.sizes
    if len(sizes) < 2:
        raise ValueError(
            f"“{found.title}” has one {found.noun} only; two or more can be compared. "
            "Choose another partition above."
        )
    if len(sizes) > MOST_CLASSES:
        given = found.noun == "class"
        what, more = ("values", "classes") if given else ("clusters", "of them")
        raise ValueError(
            f"“{found.title}” has {whole(len(sizes))} {what}; up to {MOST_CLASSES} "
            f"{more} are compared pair by pair. Choose another partition above"
            f"{', or another label column on Data' if given else ''}."
        )


def question(labels: EvaluatedLabels) -> str:
    """Return the question that the page answers, plain text."""
    if labels.noun == "class":
        return f"Are the labels of “{labels.title}” clusters?"
    return f"Are the clusters of “{labels.title}” groups of their own?"
