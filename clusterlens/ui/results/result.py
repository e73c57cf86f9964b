"""The result, and the displayed partition if it is another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterlens.compute.ensemble.contingency import match_labels
from clusterlens.compute.ensemble.ensemble import NOISE, Ensemble
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.profiles import ClusterProfiles, cluster_profiles
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.state.analysis import AnalysisResult, ClusterName, Link, Run
from clusterlens.ui.state.partitions import clusters_of_result, names_of
from clusterlens.ui.widgets.palette import noise_last


@node("live", "Looking up the result")
def result_here(
    job: Job, result: AnalysisResult, samples: Dataset
) -> np.ndarray | None:
    """Return the clusters of the result, (n_samples,); None for other rows."""
    return clusters_of_result(result, samples)


@node("live", "Naming the clusters")
def result_names(
    job: Job, result: AnalysisResult, cluster_names: tuple[ClusterName, ...]
) -> dict[int, str]:
    """Return the given names of clusters of the result."""
    found = names_of(result.clusters, result.dataset.row_ids, cluster_names)
    return {k: called.text for k, called in found.items() if called.is_own}


@node("live", "Matching the clusters")
def numbering(
    job: Job, ensemble: Ensemble, reference: int, result_here: np.ndarray | None
) -> np.ndarray:
    """Return the clusters, (n_samples,), that set the numbers and colours of others.

    They are the clusters of the result, by default of the reference; noise is a cluster
    of its own.
    """
    if result_here is None:
        return ensemble.codes_and_gaps[reference].astype(np.int64)
    return noise_last(result_here)


def numbered_like(numbering: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Number the clusters of labels, (n_samples,), like others; noise stays -1."""
    return np.where(labels == NOISE, NOISE, match_labels(numbering, labels))


@dataclass(frozen=True)
class DisplayedPartition:
    """Displayed partition of map, matrices and inspector.

    Parameters
    ----------
    title : str
        Name of the partition.
    model : int or None
        Model of the run; None for a result that is no model.
    result_title : str
        Title of the result; empty if this is the result, or if there is none.
    is_result : bool
        Whether it is the result.
    """

    title: str
    model: int | None
    result_title: str = ""
    is_result: bool = False


@node()
def shows_result(
    view_model: int | None,
    result_here: np.ndarray | None,
    result: AnalysisResult | None,
    run_id: str | None,
) -> bool:
    """Return whether a result that is no model of the run is displayed."""
    if result is None or result_here is None or view_model is not None:
        return False
    return result.model_of(run_id) is None


@node()
def displayed_partition(
    selected: int,
    shows_result: bool,
    ensemble: Ensemble,
    result: AnalysisResult | None,
    run_id: str | None,
) -> DisplayedPartition:
    """Return the displayed partition: the chosen model, by default the result."""
    if result is not None and shows_result:
        return DisplayedPartition(result.title, None, is_result=True)
    name = ensemble.names[selected]
    if result is None or result.model_of(run_id) == selected:
        return DisplayedPartition(name, selected, is_result=result is not None)
    return DisplayedPartition(name, selected, result_title=result.title)


@node("live", "Matching the clusters", keep=8)
def clusters(
    job: Job,
    ensemble: Ensemble,
    selected: int,
    shows_result: bool,
    numbering: np.ndarray,
    result_here: np.ndarray | None,
) -> np.ndarray:
    """Return the displayed clusters, numbered like the result's; noise is -1."""
    if result_here is not None and shows_result:
        return result_here
    return numbered_like(numbering, ensemble.labels[selected])


@node("live", "Comparing the result")
def shared_with_leader(
    job: Job, ensemble: Ensemble, leader: int, result_here: np.ndarray
) -> int:
    """Count samples that leader and result put into the same cluster."""
    return int(
        (numbered_like(result_here, ensemble.labels[leader]) == result_here).sum()
    )


@dataclass(frozen=True, eq=False)
class ExportPartition:
    """Exported partition: the result, by default the displayed model.

    Parameters
    ----------
    title : str
        Name of the partition.
    dataset : Dataset
        Prepared table of the partition.
    clusters : array of int, shape (n_samples,)
        Cluster of each sample by its number on screen; noise is -1.
    names : dict of int to str
        Names of the clusters.
    made : dict
        Definition of the partition, the plain values of a `Choice`.
    numbers : tuple of (int, int)
        Each original label, with its number on screen.
    run_id : str
        Run of the partition.
    links : tuple of Link
        Links that it may obey.
    memberships : array of float, shape (n_samples, K), or None
        Memberships of a soft model.
    is_result : bool
        Whether it is the result.
    is_here : bool
        Whether it has the samples of the selected run.
    """

    title: str
    dataset: Dataset
    clusters: np.ndarray
    names: Mapping[int, str]
    made: Mapping[str, Any]
    numbers: tuple[tuple[int, int], ...]
    run_id: str
    links: tuple[Link, ...]
    memberships: np.ndarray | None
    is_result: bool
    is_here: bool


@node("live", "Naming the clusters", keep=8)
def export_partition(
    job: Job,
    selected: int,
    run: Run,
    clusters: np.ndarray,
    result: AnalysisResult | None,
    result_here: np.ndarray | None,
    cluster_names: tuple[ClusterName, ...],
    links: tuple[Link, ...],
) -> ExportPartition:
    """Choose the exported partition: the result, else the displayed model."""
    if result is None:
        made = {"kind": "model", "model": selected}
        labels, first = np.unique(run.ensemble.labels[selected], return_index=True)
        numbers = zip(labels.tolist(), clusters[first].tolist(), strict=True)
        title = run.ensemble.names[selected]
        result = AnalysisResult(
            run.id, run.dataset, made, title, clusters, tuple(numbers), links
        )
        is_result, is_here = False, True
    else:
        is_result, is_here = True, result_here is not None
    model, soft = result.model_of(run.id), None
    if model is not None:
        soft = run.ensemble.memberships.get(model)
    called = names_of(result.clusters, result.dataset.row_ids, cluster_names)
    return ExportPartition(
        result.title,
        result.dataset,
        result.clusters,
        {k: str(name) for k, name in called.items()},
        result.made,
        result.numbers,
        result.run_id,
        result.links,
        soft,
        is_result,
        is_here,
    )


@node("live", "Describing the clusters", keep=8)
def export_profiles(job: Job, export_partition: ExportPartition) -> ClusterProfiles:
    """Return the distinguishing features of exported clusters, in original units."""
    return cluster_profiles(export_partition.dataset, export_partition.clusters)
