"""Evidence for the exported partition, and the verdict on it."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute.assigning.few_columns import TypingTool, typing_tool
from clusterlens.compute.ensemble.ensemble import NOISE
from clusterlens.compute.pool.k_selection import KSelection
from clusterlens.compute.pool.nulls import NullAgreement
from clusterlens.compute.pool.separation import ClusterSeparation
from clusterlens.compute.pool.stability import ClusterStability
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.distributions import (
    ColumnDistribution,
    column_distributions,
)
from clusterlens.compute.table.profiles import ClusterProfiles
from clusterlens.ui.nodes.found_again import find_apart, renumbered, separation_key
from clusterlens.ui.nodes.judged import label_column
from clusterlens.ui.nodes.leading import Leads
from clusterlens.ui.nodes.result import Told
from clusterlens.ui.nodes.result_verdict import Evidence, Verdict, weigh_result
from clusterlens.ui.state.analysis import Run
from clusterlens.ui.state.checks import APART, features_digest
from clusterlens.ui.work.derived import Later, node
from clusterlens.ui.work.jobs import Job

# Node of the check that answers each question of the verdict.
CHECK_OF = {
    "copies": "null_check",
    "numbers": "k_selection",
    "again": "told_stability",
    "apart": "told_apart",
}
_SHOWN_COLUMNS = 3
_SHOWN_CLUSTERS = 12


def match_labels_given(
    dataset: Dataset, clusters: np.ndarray
) -> tuple[str, float] | None:
    """Return the label column of a table and the adjusted Rand index with clusters.

    None if the table has no label column, or only rows without a label.
    """
    given = dataset.labels_true
    if given is None or not (given >= 0).any():
        return None
    seen = given >= 0
    value = adjusted_rand_score(given[seen], clusters[seen])
    return label_column(dataset), float(value)


def find_columns(dataset: Dataset, clusters: np.ndarray) -> TypingTool | None:
    """Find the few columns that tell clusters apart; None with fewer than two."""
    if len(np.unique(clusters[clusters != NOISE])) < 2:
        return None
    return typing_tool(dataset, clusters)


@node("live", "Looking for earlier checks", keep=8)
def told_apart_key(job: Job, told: Told, told_run: Run) -> str:
    """Return the key of the separation of the exported partition."""
    return separation_key(features_digest(told_run.dataset.X), told.clusters)


@node(
    "idle",
    "Comparing neighbours with copies",
    keep=8,
    check=APART,
    fitted=lambda found, key, told, run: renumbered(found, told.clusters),
)
def told_apart(
    job: Job, told_apart_key: str, told: Told, told_run: Run
) -> ClusterSeparation:
    """Measure how far each cluster of the exported partition lies apart."""
    return find_apart(job, told_run.dataset, told.clusters)


@node("idle", "Looking for columns that tell the clusters apart", keep=8)
def told_columns(job: Job, told: Told) -> TypingTool | None:
    """Find the columns that tell the clusters of the exported partition apart."""
    return find_columns(told.dataset, told.clusters)


@node("live", "Comparing with given labels", keep=8)
def told_labels(job: Job, told: Told) -> tuple[str, float] | None:
    """Compare the exported partition with given labels; None for the labels."""
    if told.made["kind"] == "labels":
        return None
    return match_labels_given(told.dataset, told.clusters)


@node("live", "Describing the clusters", keep=4)
def told_distributions(
    job: Job, told: Told, told_profiles: ClusterProfiles
) -> dict[int, list[ColumnDistribution]]:
    """Compare the columns that set each cluster apart most with the rest."""
    found = {}
    for k in np.unique(told.clusters).tolist()[:_SHOWN_CLUSTERS]:
        inside = told.clusters == k
        top = told_profiles.top(k, _SHOWN_COLUMNS).dropna(subset="effect")
        columns = list(dict.fromkeys(top["column"]))
        if columns and not inside.all():
            found[k] = column_distributions(told.dataset, inside, columns)
    return found


@node()
def told_verdict(
    told: Told,
    samples: Dataset,
    leads: Leads,
    null_check: Later[NullAgreement],
    k_selection: Later[KSelection],
    told_stability: Later[ClusterStability],
    told_apart: Later[ClusterSeparation],
    told_columns: Later[TypingTool],
    told_labels: Later[tuple[str, float]],
) -> Verdict:
    """Make the verdict on the exported partition."""
    return weigh_result(
        Evidence(
            told.title,
            told.dataset.name,
            told.clusters,
            told.names,
            np.array_equal(told.dataset.row_ids, samples.row_ids),
            leads,
            null_check,
            k_selection,
            told_stability,
            told_apart,
            told_columns,
            told_labels,
        )
    )
