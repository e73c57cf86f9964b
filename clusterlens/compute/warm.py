"""Kernels: load or compile them before the first user has to wait for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import FloatArray, read_only
from clusterlens.compute.consensus.agreement_tree import agreement_tree
from clusterlens.compute.consensus.cluster_consensus import cluster_consensus
from clusterlens.compute.consensus.kmeans import consensus_kmeans
from clusterlens.compute.consensus.partition import consensus_partition
from clusterlens.compute.consensus.tiles import consensus_tile
from clusterlens.compute.ensemble.agreement import count_agreements
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.overlaps import sample_disagreement
from clusterlens.compute.estimators.border_peeling import BorderPeeling
from clusterlens.compute.estimators.cns.cns import CNS
from clusterlens.compute.estimators.cns.graph import CNSGraph
from clusterlens.compute.estimators.features import FeatureLinkage
from clusterlens.compute.estimators.knn_mean_shift import KNNMeanShift
from clusterlens.compute.estimators.neighbors import TREE_DIMENSIONS, neighbor_table
from clusterlens.compute.estimators.spuds import SPUDS
from clusterlens.compute.estimators.torque import TorqueClustering
from clusterlens.compute.fuzzy.adjusted import adjusted_ndc
from clusterlens.compute.indices.indices import internal_index
from clusterlens.compute.indices.model_comparison import compare_models
from clusterlens.compute.pool.optics import make_graph_ordering, make_ordering
from clusterlens.compute.pool.spanning import grown_tree
from clusterlens.compute.ranking.progressive import rank_progressively
from clusterlens.compute.ranking.robustness import rank_robustness
from clusterlens.compute.ranking.run_comparison import compare_runs


def compile_kernels(
    progress: Progress | None = None, cancel: Cancel | None = None
) -> None:
    """Load every kernel for the usual types, or compile it, by running small examples.

    Parameters
    ----------
    progress : callable, optional
        Called with the number of steps done and their total.
    cancel : callable, optional
        Asked before each step whether to stop.

    Raises
    ------
    ValueError
        If progress or cancel is not a function.
    Cancelled
        If the cancel callback asked to stop.

    Notes
    -----
    Some 70 seconds on one core for the first process, three for those that find the
    compiled kernels on disk. Compiles for codes of one and two bytes and for tables in
    row order; what is rarer, such as more than 65,535 clusters in one partition, or as
    many partitions, compiles when it occurs. Without this call each kernel is loaded or
    compiled when it is first used.

    Examples
    --------
    >>> compile_kernels()
    """
    run = RunOptions(progress=progress, cancel=cancel)
    for done, step in enumerate(STEPS.values()):
        run.raise_if_cancelled()
        step()
        run.report(done + 1, len(STEPS))


def _use_ensembles() -> None:
    """Use partitions with few and with many clusters, duplicates among the samples."""
    for n_clusters in (100, 300):
        distinct = np.tile(np.arange(n_clusters), (4, 1))
        for labels in (distinct, np.repeat(distinct, 2, axis=1)):
            labels[0] = 0
            _use_ensemble(Ensemble(labels, families=["a", "b", "b", "b"]))
        drawn = np.random.default_rng(0).integers(0, n_clusters, (4, 600))
        _use_many_samples(Ensemble(drawn))
        _use_partial(Ensemble(drawn, missing=drawn == 0))


def _use_tables() -> None:
    """Use a table as it is made, and one that is read-only: a type of its own."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    for table in (X, read_only(X)):
        _use_table(table)
    neighbor_table(rng.normal(size=(200, TREE_DIMENSIONS + 1)), 4)


def _use_fuzzy_partitions() -> None:
    """Use few samples, whose distances are listed, and many, which are binned."""
    rng = np.random.default_rng(0)
    for n_samples in (300, 3000):
        _use_memberships(*(rng.dirichlet(np.ones(k), n_samples) for k in (3, 5)))


def _use_ensemble(ensemble: Ensemble) -> None:
    """Count agreements, with and without weights, and draw them."""
    rank_robustness(ensemble, "discotec-kl")
    sample_disagreement(ensemble)
    consensus_tile(ensemble, kind="consensus")
    consensus_tile(ensemble, kind="binarised")
    agreement_tree(ensemble)
    cluster_consensus(ensemble, ensemble.codes[0])


def _use_partial(ensemble: Ensemble) -> None:
    """Count over the models that saw a pair, and draw it."""
    count_agreements(ensemble)
    sample_disagreement(ensemble)
    compare_runs(ensemble, ensemble)
    consensus_tile(ensemble, kind="binarised", shape=(20, 20))


def _use_many_samples(ensemble: Ensemble) -> None:
    """Estimate agreements and cluster the one-hot rows, to few and to many centres."""
    next(rank_progressively(ensemble, first_size=500))
    samples = np.arange(1_200)
    for n_clusters in (200, 600):  # codes of one byte, and of two
        labels = [samples % n_clusters, samples * n_clusters // 1_200]
        count_agreements(Ensemble(labels))
    for n_clusters in (2, 40):
        consensus_kmeans(ensemble, n_clusters)
    consensus_partition(ensemble, 2, "ecc")
    links = Constraints(must_link=[(0, 1)], cannot_link=[(1, 2)])
    consensus_partition(ensemble, 2, constraints=links, n_init=1)


def _use_table(X: FloatArray) -> None:
    """Cluster the samples and judge a partition by their distances."""
    internal_index("CI", X, np.arange(len(X)) % 3)
    compare_models(Ensemble([np.arange(len(X)) % k for k in (2, 3, 4)]), X)
    graph = CNSGraph(X, max_neighbors=5)
    graph.solve(5, 0.1)
    graph.fill(5)
    solution = graph.solve(5, 0.1)
    _ = solution.seed_shares, solution.error_bound
    for clusterer in (CNS, TorqueClustering, BorderPeeling, KNNMeanShift):
        clusterer().fit(X)
    SPUDS(n_init=1).fit(X[:40])
    FeatureLinkage(n_features=20).fit(X)
    table = neighbor_table(X, 4)
    for order in (make_ordering, make_graph_ordering):
        order(X, 0, table, min_samples=5)
    grown_tree(X, 0, table, min_samples=5)


def _use_memberships(U: FloatArray, V: FloatArray) -> None:
    """Compare two fuzzy partitions."""
    for model in ("permutation", "fit"):
        adjusted_ndc(U, V, model=model)


# What is used first comes first.
STEPS: dict[str, Callable[[], None]] = {
    "ensembles": _use_ensembles,
    "tables": _use_tables,
    "memberships": _use_fuzzy_partitions,
}
