"""Evidence for the exported partition, and the verdict on it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute.assigning.few_columns import TypingTool, typing_tool
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import NOISE, Ensemble
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
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import Later, node
from clusterlens.ui.results.cluster_stability import (
    measure_separation,
    renumbered,
    separation_key,
)
from clusterlens.ui.results.evaluated_labels import label_column
from clusterlens.ui.results.evidence import Evidence, LabelsMatch
from clusterlens.ui.results.leading import Leads
from clusterlens.ui.results.result import ExportPartition
from clusterlens.ui.results.result_verdict import Verdict, weigh_result
from clusterlens.ui.state.analysis import AnalysisResult, Run
from clusterlens.ui.state.checks import APART, features_digest
from clusterlens.ui.state.links import Link

_SHOWN_COLUMNS = 3
_SHOWN_CLUSTERS = 12
# Accuracy from which on a column says the same as a partition.
_REPRODUCED = 0.99


def stopped_checks(results: Mapping[str, Result]) -> dict[str, str]:
    """Return the progress of each stopped check by its node, from results by node."""
    return {
        name: result.check.stopped
        for name, result in results.items()
        if result.stopped and result.check
    }


def match_labels_given(dataset: Dataset, clusters: np.ndarray) -> LabelsMatch | None:
    """Compare clusters with the label column of a table.

    None if the table has no label column, or only rows without a label.
    """
    given = dataset.labels_true
    if given is None or not (given >= 0).any():
        return None
    seen = given >= 0
    value = adjusted_rand_score(given[seen], clusters[seen])
    return LabelsMatch(label_column(dataset), float(value), dataset.has_guessed_labels)


def find_columns(dataset: Dataset, clusters: np.ndarray) -> TypingTool | None:
    """Find the few columns that tell clusters apart; None with fewer than two."""
    if len(np.unique(clusters[clusters != NOISE])) < 2:
        return None
    return typing_tool(dataset, clusters)


@node("live", "Looking for earlier checks", keep=8)
def export_separation_key(
    job: Job, export_partition: ExportPartition, export_run: Run
) -> str:
    """Return the key of the separation of the exported partition."""
    return separation_key(
        features_digest(export_run.dataset.X), export_partition.clusters
    )


@node(
    "idle",
    "Comparing neighbours with copies",
    keep=8,
    check=APART,
    fitted=lambda found, key, export_partition, run: renumbered(
        found, export_partition.clusters
    ),
)
def export_separation(
    job: Job,
    export_separation_key: str,
    export_partition: ExportPartition,
    export_run: Run,
) -> ClusterSeparation:
    """Measure how far each cluster of the exported partition lies apart."""
    return measure_separation(job, export_run.dataset, export_partition.clusters)


@node("idle", "Looking for columns that tell the clusters apart", keep=8)
def export_columns(job: Job, export_partition: ExportPartition) -> TypingTool | None:
    """Find the columns that tell the clusters of the exported partition apart."""
    return find_columns(export_partition.dataset, export_partition.clusters)


@node("live", "Comparing with given labels", keep=8)
def export_labels_match(
    job: Job, export_partition: ExportPartition
) -> LabelsMatch | None:
    """Compare the exported partition with given labels; None for the labels."""
    if export_partition.made["kind"] == "labels":
        return None
    return match_labels_given(export_partition.dataset, export_partition.clusters)


@node("live", "Describing the clusters", keep=4)
def export_distributions(
    job: Job, export_partition: ExportPartition, export_profiles: ClusterProfiles
) -> dict[int, list[ColumnDistribution]]:
    """Compare the columns that set each cluster apart most with the rest."""
    found = {}
    for k in np.unique(export_partition.clusters).tolist()[:_SHOWN_CLUSTERS]:
        inside = export_partition.clusters == k
        top = export_profiles.top(k, _SHOWN_COLUMNS).dropna(subset="effect")
        columns = list(dict.fromkeys(top["column"]))
        if columns and not inside.all():
            found[k] = column_distributions(export_partition.dataset, inside, columns)
    return found


def find_cut_column(dataset: Dataset, tool: TypingTool | None) -> str:
    """Return the column with two values that alone reproduces the clusters, or ""."""
    if tool is None:
        return ""
    first = tool.accuracy.iloc[0]
    if first["accuracy"] < _REPRODUCED:
        return ""
    column = str(first["column"])
    return column if dataset.facts[column].n_distinct == 2 else ""


def count_broken(clusters: np.ndarray, links: Constraints | None) -> int:
    """Return how many links a partition, (n_samples,), contradicts."""
    if links is None:
        return 0
    (share,) = links.violations(Ensemble([clusters]))
    return round(share * links.n_pairs)


def count_links_since(
    result: AnalysisResult | None, title: str, links: Collection[Link]
) -> int:
    """Return the links that changed since the partition of a title became the result.

    0 if it is not the result.
    """
    if result is None or result.title != title:
        return 0
    return len(set(links) ^ set(result.links))


@node()
def export_verdict(
    export_partition: ExportPartition,
    samples: Dataset,
    result: AnalysisResult | None,
    links: tuple[Link, ...],
    leads: Leads,
    constraints: Constraints | None,
    null_check: Later[NullAgreement],
    k_selection: Later[KSelection],
    export_stability: Later[ClusterStability],
    export_separation: Later[ClusterSeparation],
    export_columns: Later[TypingTool],
    export_labels_match: Later[LabelsMatch],
) -> Verdict:
    """Make the verdict on the exported partition."""
    clusters, dataset = export_partition.clusters, export_partition.dataset
    is_here = np.array_equal(dataset.row_ids, samples.row_ids)
    return weigh_result(
        Evidence(
            title=export_partition.title,
            table=dataset.name,
            clusters=clusters,
            names=export_partition.names,
            is_here=is_here,
            leads=leads,
            null_check=null_check,
            k_selection=k_selection,
            stability=export_stability,
            separation=export_separation,
            columns=export_columns,
            labels=export_labels_match,
            n_broken=count_broken(clusters, constraints if is_here else None),
            cut_column=find_cut_column(dataset, export_columns),
            n_links_since=count_links_since(result, export_partition.title, links),
        )
    )
