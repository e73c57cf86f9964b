"""Results of the page All rows: sizes and map of a large table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from clusterlens.compute._run.options import raise_if_cancelled
from clusterlens.compute._validation import DataError
from clusterlens.compute.scale.result import ScaledRun, read_run
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.actions.large_tables import given_of, labels_digest
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.plots.all_rows import draw_parts
from clusterlens.ui.plots.samples import Picture
from clusterlens.ui.state.analysis import Analysis, AnalysisResult, LargeTable, Run
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.widgets.palette import (
    NOWHERE_COLOUR,
    cluster_colours,
    cluster_name,
    clusters_of,
    rgb,
)


@dataclass(frozen=True)
class Labelling:
    """Whether all rows have the labels of the present result.

    Parameters
    ----------
    obstacle : str
        Why they cannot be labelled by it; empty if they can.
    is_current : bool
        Whether they have its labels.
    """

    obstacle: str
    is_current: bool


@node("live", "Comparing with the result")
def labelling(
    job: Job,
    large: LargeTable,
    runs: tuple[Run, ...],
    result: AnalysisResult | None,
    labelled: tuple[str, ...],
    table: Dataset,
) -> Labelling:
    """Return whether all rows are labelled by the present result."""
    try:
        given, run = given_of(
            Analysis(table=table, large=large, runs=runs, result=result)
        )
    except ValueError as error:
        return Labelling(str(error), is_current=False)
    # Earlier versions named the labels by the landmarks and their models alone.
    earlier = given.digest
    known = (earlier, labels_digest(earlier, run, large))
    return Labelling("", is_current=bool(labelled) and labelled[0] in known)


@node("live", "Reading the results of all rows")
def all_rows(
    job: Job, large: LargeTable, labelled: tuple[str, ...]
) -> ScaledRun | None:
    """Return the results of the labelled rows; None if they are not labelled."""
    if not labelled:
        return None
    folder = job.server.tables.labels(large.name, labelled[0])
    found = read_run(folder)
    if found is None:
        raise DataError(
            f"The labels in {folder.name!r} are gone; label all rows again."
        )
    return found


@node()
def all_rows_names(
    all_rows: ScaledRun,
    labelling: Labelling,
    result_names: Mapping[int, str] | None,
) -> dict[int, str]:
    """Return the name of each cluster by its label in the files.

    Without a name of its own a cluster has the number that it has in the files.
    """
    own = result_names if labelling.is_current else None
    labels = all_rows.clusters["cluster"].to_numpy()
    if not all_rows.first_label:
        return {k: "noise" if k < 0 else f"cluster {k}" for k in labels.tolist()}
    shown = clusters_of(labels).tolist()
    return {
        label: cluster_name(cluster, own)
        for label, cluster in zip(labels.tolist(), shown, strict=True)
    }


@node("live", "Drawing the map of all rows")
def all_rows_picture(
    job: Job, all_rows: ScaledRun, view_all_rows_view: Viewport
) -> Picture | None:
    """Draw all labelled rows, a file at a time."""
    if not view_all_rows_view.drawn:
        return None

    def parts() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        first = all_rows.first_label
        for xy, labels, nowhere in all_rows.places():
            raise_if_cancelled(job.cancelled)
            colours = cluster_colours(clusters_of(labels, first=first))
            colours[nowhere] = rgb([NOWHERE_COLOUR])
            yield xy, colours

    n_rows = all_rows.n_labelled
    return draw_parts(parts(), all_rows.extent, n_rows, view_all_rows_view)
