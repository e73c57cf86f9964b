"""Results for the displayed partition of the page Clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute.consensus.closest import closest_cut
from clusterlens.compute.consensus.cohesion import ClusterConsensus
from clusterlens.compute.consensus.tree import ConsensusTree
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.contingency import contingency_table, match_clusters
from clusterlens.compute.ensemble.ensemble import NOISE, Ensemble
from clusterlens.compute.formatting import abridge
from clusterlens.compute.pool.stability import ClusterStability
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.distributions import (
    ColumnDistribution,
    column_distributions,
)
from clusterlens.compute.table.profiles import (
    ClusterProfiles,
    cluster_profiles,
    group_profile,
)
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.results.cluster_stability import (
    StabilityModel,
    choose_stability_model,
    measure_stability,
    renumbered,
    stability_key,
)
from clusterlens.ui.results.inspector import held_groups
from clusterlens.ui.results.result import DisplayedPartition, numbered_like
from clusterlens.ui.state.analysis import AnalysisResult, ClusterName
from clusterlens.ui.state.checks import FOUND_AGAIN
from clusterlens.ui.state.partitions import (
    TREE,
    Called,
    Choice,
    functions_for,
    labels_of,
    make_tree,
    most_clusters,
    names_of,
)
from clusterlens.ui.state.view_parameters import Brush
from clusterlens.ui.widgets.palette import cluster_name, label_title, noise_last

SHOWN_COLUMNS = 6
LEFT_OUT = "left out by this model"
# Longest name of a cluster in a narrow place, in characters.
_SHORT = 10


@dataclass(frozen=True, eq=False)
class Tree:
    """Consensus tree with a number, and so a colour, for each cluster of each cut.

    Parameters
    ----------
    tree : ConsensusTree
        Tree with nested cuts.
    nodes : DataFrame
        As `ConsensusTree.to_frame`, with a column `number`; the larger half of a
        cluster keeps its number.
    """

    tree: ConsensusTree
    nodes: pd.DataFrame

    @property
    def most(self) -> int:
        """Largest number of clusters of a cut."""
        return self.tree.n_leaves

    def cut(self, k: int) -> tuple[list[int], list[int]]:
        """Return sizes and numbers of k clusters, in the order of the leaves."""
        return self._cuts[k]

    @cached_property
    def _cuts(self) -> dict[int, tuple[list[int], list[int]]]:
        nodes = self.nodes.sort_values("start")
        cuts = {}
        for k in range(1, self.most + 1):
            cut = nodes[(nodes["first_k"] <= k) & (nodes["last_k"] >= k)]
            cuts[k] = (cut["size"].tolist(), cut["number"].tolist())
        return cuts


@node("live", "Growing the consensus tree")
def partition_tree(
    job: Job, weighted_ensemble: Ensemble, numbering: np.ndarray
) -> Tree:
    """Grow the tree; matched clusters have the numbers of `numbering`."""
    tree = make_tree(weighted_ensemble, **job.kernels)
    nodes = tree.to_frame()
    k = int(np.clip(len(np.unique(numbering)), 1, tree.n_leaves))
    at = tree.nodes_at(k)
    names, codes = np.unique(at, return_inverse=True)
    rows, columns = match_clusters(contingency_table(codes[tree.leaves], numbering))
    colours = nodes["colour"].to_numpy()
    number = dict(zip(colours[names[rows]].tolist(), columns.tolist(), strict=True))
    fresh = int(numbering.max()) + 1
    for colour in pd.unique(nodes.sort_values("first_k", kind="stable")["colour"]):
        if colour not in number:
            number[colour] = fresh
            fresh += 1
    return Tree(tree, nodes.assign(number=[number[c] for c in colours]))


@node("live", "Listing consensus functions")
def methods(job: Job, ensemble: Ensemble) -> list[str]:
    """Return consensus functions that scale to the run, the tree first."""
    return sorted(functions_for(ensemble), key=lambda name: name != TREE)


@node("live", "Comparing the cuts with the models", keep=24)
def closest(
    job: Job,
    view_partition: str,
    weighted_ensemble: Ensemble,
    partition_tree: Tree,
    exact: bool,
) -> int:
    """Return the number of clusters of the cut closest to the models.

    0 if no consensus is displayed.
    """
    if view_partition != "consensus":
        return 0
    tree = partition_tree.tree
    return closest_cut(weighted_ensemble, tree, exact=exact, **job.kernels).n_clusters


@node(keep=32)
def choice(
    view_partition: str,
    view_partition_k: int | None,
    view_consensus_by: str,
    view_obey_links: bool,
    selected: int,
    view_group: Brush,
    ensemble: Ensemble,
    samples: Dataset,
    constraints: Constraints | None,
    result_here: np.ndarray | None,
    weighted_ensemble: Ensemble,
    closest: int,
) -> Choice | None:
    """Return the displayed partition; None if it does not exist."""
    kind = view_partition
    if kind == "auto":
        kind = "model" if result_here is None else "result"
    if kind == "result":
        return None if result_here is None else Choice("result")
    if kind == "model":
        return Choice("model", model=selected)
    if kind == "group":
        return Choice("group", group=view_group) if len(view_group) else None
    if kind == "labels":
        return Choice("labels") if samples.labels_true is not None else None
    k = view_partition_k
    k = closest if k is None else k
    k = int(np.clip(k, 2, most_clusters(ensemble)))
    obeys = view_obey_links and constraints is not None
    obeying = view_consensus_by in ("kmeans", "sec")
    method = view_consensus_by if obeying or not obeys else "kmeans"
    votes = own_votes(ensemble, weighted_ensemble)
    return Choice("consensus", k=k, method=method, obeys=obeys, votes=votes)


def own_votes(ensemble: Ensemble, weighted_ensemble: Ensemble) -> tuple[int, ...]:
    """Return the votes weighted by answers; empty if the run's own votes apply."""
    return (
        () if weighted_ensemble is ensemble else tuple(weighted_ensemble.votes.tolist())
    )


@dataclass(frozen=True, eq=False)
class Partition:
    """Partition with the numbers, and so the colours, of its clusters.

    Parameters
    ----------
    choice : Choice
        Definition of the partition.
    labels : array of int, shape (n_samples,)
        Original labels.
    clusters : array of int, shape (n_samples,)
        Clusters, numbered like the result's; noise is -1.
    sizes : dict of int to int
        Number of samples of each cluster, ascending by number; noise last.
    """

    choice: Choice
    labels: np.ndarray
    clusters: np.ndarray
    sizes: dict[int, int]

    def label(self, cluster: int) -> int:
        """Return the original label of a cluster."""
        return int(self.labels[np.flatnonzero(self.clusters == cluster)[0]])


@dataclass(frozen=True, eq=False)
class Chosen(Partition):
    """Partition with a title and names of its clusters.

    Parameters
    ----------
    title : str
        Title on screen.
    names : dict of int to str
        Name of each cluster.
    own_names : dict of int to str
        Names that the analyst or the partition gave to exactly these clusters.
    """

    title: str
    names: dict[int, str]
    own_names: dict[int, str]

    @property
    def seen(self) -> np.ndarray:
        """Return whether each sample is in the partition, shape (n_samples,)."""
        left_out = self.names.get(NOISE) == LEFT_OUT
        return (self.clusters != NOISE) | (not left_out)

    def short_name(self, cluster: int) -> str:
        """Return a short name of a cluster: its number, or the start of its name."""
        if cluster < 0:
            return "noise"
        return abridge(self.own_names.get(cluster, str(cluster + 1)), _SHORT)


@node("live", "Making the partition", keep=24)
def partition(
    job: Job,
    choice: Choice,
    ensemble: Ensemble,
    samples: Dataset,
    numbering: np.ndarray,
    partition_tree: Tree,
    constraints: Constraints | None,
    result: AnalysisResult | None,
) -> Partition:
    """Make the partition and number its clusters."""
    kernels = {"executor": job.server.kernels, "cancel": job.cancelled}
    labels = labels_of(
        choice, ensemble, samples, constraints, partition_tree.tree, result, **kernels
    )
    if choice.kind == "consensus" and choice.method == TREE and not choice.obeys:
        k = min(choice.k, partition_tree.most)
        number = partition_tree.nodes["number"].to_numpy()
        clusters = number[partition_tree.tree.nodes_at(k)][partition_tree.tree.leaves]
    elif choice.kind in ("group", "result"):
        clusters = labels
    else:
        clusters = numbered_like(numbering, labels)
    found, counts = np.unique(clusters, return_counts=True)
    order = np.argsort(noise_last(found), kind="stable")
    sizes = {int(found[k]): int(counts[k]) for k in order}
    return Partition(choice, labels, clusters, sizes)


@node("live", "Naming the clusters", keep=24)
def chosen(
    job: Job,
    partition: Partition,
    ensemble: Ensemble,
    samples: Dataset,
    result: AnalysisResult | None,
    cluster_names: tuple[ClusterName, ...],
) -> Chosen:
    """Name the partition and its clusters."""
    choice, clusters = partition.choice, partition.clusters
    given = _given_names(choice, samples, partition.labels, clusters)
    called = names_of(clusters, samples.row_ids, cluster_names)
    given |= {k: name.text for k, name in called.items() if name.is_own}
    if choice.kind == "model" and _only_gaps(ensemble, choice.model):
        given[NOISE] = LEFT_OUT
    like = {k: str(name) for k, name in called.items()} | given
    titles = {k: like.get(k, cluster_name(k)) for k in partition.sizes}
    of_result = result if choice.kind == "result" else None
    title = choice.title(ensemble) if of_result is None else of_result.title
    return Chosen(
        choice, partition.labels, clusters, partition.sizes, title, titles, given
    )


@node("live", "Making the partition", keep=24, debounced=True)
def settled(job: Job, partition: Partition) -> Partition:
    """Return the partition after the slider has rested.

    The tree and the maps are thus drawn before results that depend on it.
    """
    return partition


def _given_names(
    choice: Choice, samples: Dataset, labels: np.ndarray, clusters: np.ndarray
) -> dict[int, str]:
    """Return the names that the partition provides."""
    if choice.kind == "group":
        return {0: "the group", 1: "the rest"}
    if choice.kind != "labels" or samples.label_names is None:
        return {}
    first = np.unique(clusters, return_index=True)[1]
    return {
        int(clusters[i]): label_title(samples.label_names[labels[i]])
        for i in first
        if labels[i] != NOISE
    }


@node("live", "Naming the clusters", keep=16)
def model_called(
    job: Job,
    clusters: np.ndarray,
    samples: Dataset,
    cluster_names: tuple[ClusterName, ...],
) -> dict[int, Called]:
    """Return the names that share rows with the displayed clusters."""
    return names_of(clusters, samples.row_ids, cluster_names)


@node("live", "Naming the clusters", keep=16)
def model_names(
    job: Job,
    model_called: dict[int, Called],
    ensemble: Ensemble,
    displayed_partition: DisplayedPartition,
) -> dict[int, str]:
    """Return the names of the displayed clusters, and of gaps."""
    gaps = displayed_partition.model is not None and _only_gaps(
        ensemble, displayed_partition.model
    )
    return {k: str(name) for k, name in model_called.items()} | (
        {NOISE: LEFT_OUT} if gaps else {}
    )


@node(keep=8)
def in_hand(partition: Partition, view_cluster: int | None) -> int:
    """Return the selected cluster, by default the first."""
    sizes = partition.sizes
    return view_cluster if view_cluster in sizes else next(iter(sizes))


@node("live", "Describing the clusters", keep=24)
def chosen_profiles(job: Job, samples: Dataset, settled: Partition) -> ClusterProfiles:
    """Return the distinguishing features of each cluster, in original units."""
    if settled.choice.kind == "group":
        own = group_profile(samples, settled.clusters == 0)
        profiles = cluster_profiles(samples, settled.clusters)
        return replace(profiles, table=_with(profiles.table, own.table))
    return cluster_profiles(samples, settled.clusters)


def _with(every: pd.DataFrame, own: pd.DataFrame) -> pd.DataFrame:
    """Compare the group with the rest instead of with all samples."""
    others = every[every["cluster"] != 0]
    return pd.concat([own.assign(cluster=0), others], ignore_index=True)


@node("live", "Measuring what the pool keeps together", keep=8)
def chosen_held(job: Job, ensemble: Ensemble, settled: Partition) -> ClusterConsensus:
    """Measure the consensus of the pool within the clusters."""
    return held_groups(ensemble, settled.clusters, **job.kernels)


@node("live", "Measuring what the answers keep together", keep=8)
def chosen_answered(
    job: Job, ensemble: Ensemble, weighted_ensemble: Ensemble, settled: Partition
) -> ClusterConsensus | None:
    """Measure the same with the votes weighted by answers; None without answers."""
    if weighted_ensemble is ensemble:
        return None
    return held_groups(weighted_ensemble, settled.clusters, **job.kernels)


@dataclass(frozen=True, eq=False)
class ClusterContrast:
    """Distributions of the distinguishing columns in a cluster and in the rest.

    Parameters
    ----------
    cluster, size, others : int
        The cluster, the number of its samples and of all others.
    columns : list of (ColumnDistribution, dict)
        Columns, each with its row of the profile.
    """

    cluster: int
    size: int
    others: int
    columns: list[tuple[ColumnDistribution, dict[Any, Any]]]


@node("live", "Describing the cluster")
def cluster_contrast(
    job: Job, samples: Dataset, settled: Partition, in_hand: int
) -> ClusterContrast | None:
    """Describe the columns with the largest differences from the rest."""
    inside = settled.clusters == in_hand
    if inside.all():
        return None
    top = group_profile(samples, inside).top(1, SHOWN_COLUMNS)
    known = top.dropna(subset="effect")
    found = column_distributions(samples, inside, known["column"].tolist())
    size = int(inside.sum())
    rows = known.to_dict("records")
    return ClusterContrast(
        in_hand, size, len(inside) - size, list(zip(found, rows, strict=True))
    )


@dataclass(frozen=True, eq=False)
class Members:
    """Samples of a cluster in order, with the consensus of the pool on each.

    Parameters
    ----------
    positions : array of int, shape (n_members,)
        Positions, the least or the most typical first.
    own : array of float, shape (n_members,)
        Mean consensus with the other members.
    next_cluster, next_consensus : array, shape (n_members,)
        The other cluster with the highest consensus, -1 if there is none, and that
        consensus.
    doubtful : int
        Number of samples with a higher consensus with another cluster than with their
        own.
    """

    positions: np.ndarray
    own: np.ndarray
    next_cluster: np.ndarray
    next_consensus: np.ndarray
    doubtful: int


@node("live", "Listing the rows")
def members(
    job: Job,
    partition: Partition,
    chosen_held: ClusterConsensus,
    in_hand: int,
    view_typical_first: bool,
) -> Members:
    """List the samples of a cluster by how typical they are."""
    inside = np.flatnonzero(partition.clusters == in_hand)
    sign = -1 if view_typical_first else 1
    inside = inside[np.argsort(sign * chosen_held.own[inside], kind="stable")]
    beside = chosen_held.nearest[inside]
    known = beside >= 0
    return Members(
        inside,
        chosen_held.own[inside],
        np.where(known, chosen_held.clusters[beside], NOISE),
        np.where(known, chosen_held.items[inside, beside], 0.0),
        int(chosen_held.doubtful[inside].sum()),
    )


def _only_gaps(ensemble: Ensemble, model: int) -> bool:
    """Return whether the label -1 of a model marks omitted samples, not noise."""
    return bool(ensemble.n_missing[model] and not ensemble.n_noise[model])


@node("live", "Looking for the closest model", keep=16)
def chosen_stability_model(
    job: Job,
    settled: Partition,
    ensemble: Ensemble,
    result: AnalysisResult | None,
    run_id: str | None,
) -> StabilityModel | None:
    """Choose the model that can evaluate the partition; None if none was fitted."""
    own = settled.choice.model if settled.choice.kind == "model" else None
    if settled.choice.kind == "result" and result is not None:
        own = result.model_of(run_id)
    return choose_stability_model(job, settled.clusters, ensemble, own)


@node("live", "Looking for earlier checks", keep=16)
def chosen_stability_key(
    job: Job,
    samples_digest: str,
    settled: Partition,
    chosen_stability_model: StabilityModel,
    random_state: int,
) -> str:
    """Return the key of the stability of the partition."""
    return stability_key(
        samples_digest, settled.clusters, chosen_stability_model, random_state
    )


@node(
    "live",
    "Drawing the samples again",
    keep=16,
    asked_for=True,
    check=FOUND_AGAIN,
    fitted=lambda found, key, settled, *more: renumbered(found, settled.clusters),
    cost="chosen_stability_model",
)
def chosen_stability(
    job: Job,
    chosen_stability_key: str,
    settled: Partition,
    chosen_stability_model: StabilityModel,
    samples: Dataset,
    random_state: int,
) -> ClusterStability:
    """Measure the stability of each cluster in bootstrap samples."""
    return measure_stability(
        job, samples, settled.clusters, chosen_stability_model, random_state
    )
