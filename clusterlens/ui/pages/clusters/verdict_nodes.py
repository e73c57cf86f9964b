"""Evidence for the partition in hand, and the verdict on it."""

from __future__ import annotations

from clusterlens.compute.assigning.few_columns import TypingTool
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.pool.k_selection import KSelection
from clusterlens.compute.pool.nulls import NullAgreement
from clusterlens.compute.pool.separation import ClusterSeparation
from clusterlens.compute.pool.stability import ClusterStability
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import Later, node
from clusterlens.ui.pages.clusters.nodes import Chosen, Partition
from clusterlens.ui.results.cluster_stability import (
    measure_separation,
    renumbered,
    separation_key,
)
from clusterlens.ui.results.evidence import Evidence, LabelsMatch
from clusterlens.ui.results.export_evidence import (
    count_broken,
    count_links_since,
    find_columns,
    find_cut_column,
    match_labels_given,
)
from clusterlens.ui.results.leading import Leads
from clusterlens.ui.results.result_verdict import Verdict, weigh_result
from clusterlens.ui.state.analysis import AnalysisResult
from clusterlens.ui.state.checks import APART
from clusterlens.ui.state.links import Link


@node("live", "Looking for earlier checks", keep=16)
def chosen_separation_key(
    job: Job, samples_digest: str, settled: Partition
) -> str | None:
    """Return the key of the separation of the partition; None for groups and labels."""
    if settled.choice.kind in ("group", "labels"):
        return None
    return separation_key(samples_digest, settled.clusters)


@node(
    "idle",
    "Comparing neighbours with copies",
    keep=16,
    debounced=True,
    check=APART,
    fitted=lambda found, key, settled, samples: renumbered(found, settled.clusters),
)
def chosen_separation(
    job: Job, chosen_separation_key: str, settled: Partition, samples: Dataset
) -> ClusterSeparation:
    """Measure how far each cluster of the partition lies apart."""
    return measure_separation(job, samples, settled.clusters)


@node(
    "idle", "Looking for columns that tell the clusters apart", keep=16, debounced=True
)
def chosen_columns(job: Job, settled: Partition, samples: Dataset) -> TypingTool | None:
    """Find the columns that tell the clusters of the partition apart."""
    return find_columns(samples, settled.clusters)


@node("live", "Comparing with given labels", keep=16)
def chosen_labels(job: Job, settled: Partition, samples: Dataset) -> LabelsMatch | None:
    """Compare the partition with given labels."""
    return match_labels_given(samples, settled.clusters)


@node()
def chosen_verdict(
    chosen: Chosen,
    samples: Dataset,
    result: AnalysisResult | None,
    links: tuple[Link, ...],
    leads: Leads,
    constraints: Constraints | None,
    null_check: Later[NullAgreement],
    k_selection: Later[KSelection],
    chosen_stability: Later[ClusterStability],
    chosen_separation: Later[ClusterSeparation],
    chosen_columns: Later[TypingTool],
    chosen_labels: Later[LabelsMatch],
) -> Verdict | None:
    """Make the verdict on the partition; None for groups and given labels."""
    if chosen.choice.kind in ("group", "labels"):
        return None
    return weigh_result(
        Evidence(
            title=chosen.title,
            table=samples.name,
            clusters=chosen.clusters,
            names=chosen.names,
            is_here=True,
            leads=leads,
            null_check=null_check,
            k_selection=k_selection,
            stability=chosen_stability,
            separation=chosen_separation,
            columns=chosen_columns,
            labels=chosen_labels,
            n_broken=count_broken(chosen.clusters, constraints),
            cut_column=find_cut_column(samples, chosen_columns),
            n_links_since=count_links_since(result, chosen.title, links),
        )
    )
