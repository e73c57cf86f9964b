"""Results for the comparison with another partition on the page Clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clusterlens.compute.ensemble.comparison import (
    PartitionComparison,
    compare_partitions,
)
from clusterlens.compute.ensemble.contingency import match_labels
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.pages.clusters.nodes import (
    Chosen,
    Partition,
    Tree,
    chosen,
    own_votes,
    partition,
)
from clusterlens.ui.plots.samples import Picture, draw_map
from clusterlens.ui.state.analysis import AnalysisResult
from clusterlens.ui.state.partitions import Choice
from clusterlens.ui.state.view_parameters import Brush, Viewport
from clusterlens.ui.widgets.palette import cluster_colours


@node(keep=16)
def other_choice(
    view_compared: str,
    choice: Choice,
    selected: int,
    samples: Dataset,
    partition_tree: Tree,
    ensemble: Ensemble,
    result: AnalysisResult | None,
    run_id: str | None,
    weighted_ensemble: Ensemble,
) -> Choice | None:
    """Return the other partition: the selected model, or the tree for that model.

    A result counts as a model if it has the same clusters.
    """
    result_model = None if result is None else result.model_of(run_id)
    if view_compared == "labels":
        return Choice("labels") if samples.labels_true is not None else None
    if view_compared.startswith("model "):
        return Choice("model", model=int(view_compared.removeprefix("model ")))
    is_selected = choice == Choice("model", model=selected)
    is_selected |= choice.kind == "result" and result_model == selected
    if view_compared == "consensus" or is_selected:
        k = choice.k if choice.kind == "consensus" else None
        if k is None:
            model = choice.model if choice.kind == "model" else selected
            k = int(ensemble.n_clusters[model])
        k = int(np.clip(k, 2, max(partition_tree.most, 2)))
        return Choice("consensus", k=k, votes=own_votes(ensemble, weighted_ensemble))
    return Choice("model", model=selected)


@dataclass(frozen=True, eq=False)
class Shared:
    """Samples that both partitions contain.

    Parameters
    ----------
    at : array of int, shape (n_shared,)
        Positions of the samples.
    changed : array of int, shape (n_changed,)
        Positions of samples that change cluster: their clusters are not matched.
    n_samples : int
        Number of all samples.
    """

    at: np.ndarray
    changed: np.ndarray
    n_samples: int


@node("live", "Matching the partitions", keep=16)
def shared(job: Job, chosen: Chosen, other: Chosen) -> Shared | None:
    """Find the samples that two partitions share; None if there are none."""
    at = np.flatnonzero(chosen.seen & other.seen)
    if not len(at):
        return None
    own, beside = chosen.clusters[at], other.clusters[at]
    changed = at[match_labels(own, beside) != own]
    return Shared(at, changed, len(chosen.clusters))


@node("live", "Comparing the partitions", keep=16)
def comparison(
    job: Job, settled: Partition, other: Chosen, shared: Shared
) -> PartitionComparison:
    """Compare the two partitions on the samples that they share."""
    at = shared.at
    return compare_partitions(settled.clusters[at], other.clusters[at])


@node("live", "Drawing the map")
def own_picture(
    job: Job,
    projection: Projection,
    chosen: Chosen,
    shared: Shared,
    view_brush: Brush,
    view_compare_view: Viewport,
) -> Picture | None:
    """Draw the partition with emphasis on samples that change cluster."""
    return _picture(projection, chosen.clusters, shared, view_brush, view_compare_view)


@node("live", "Drawing the map beside it")
def other_picture(
    job: Job,
    projection: Projection,
    other: Chosen,
    shared: Shared,
    view_brush: Brush,
    view_compare_view: Viewport,
) -> Picture | None:
    """Draw the other partition the same way."""
    return _picture(projection, other.clusters, shared, view_brush, view_compare_view)


def _picture(
    projection: Projection,
    clusters: np.ndarray,
    shared: Shared,
    brush: Brush,
    port: Viewport,
) -> Picture | None:
    if not port.drawn:
        return None
    return draw_map(
        projection.coordinates,
        cluster_colours(clusters),
        port,
        highlighted=brush.positions if len(brush) else shared.changed,
        keep_hue=True,
    )


# The other partition is made and named by the same functions.
NODES = {
    "other_partition": replace(
        partition.node,
        inputs=("other_choice", *partition.node.inputs[1:]),
        title="Making the partition beside it",
        keep=16,
    ),
    "other": replace(
        chosen.node,
        inputs=("other_partition", *chosen.node.inputs[1:]),
        title="Naming the partition beside it",
        keep=16,
    ),
}
