"""Kernels: load or compile them before their first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.kernels import mark_all_on_disk
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import FloatArray, IntArray, read_only
from clusterlens.compute.assigning.fitting import fit_assigner
from clusterlens.compute.consensus.cohesion import cluster_consensus
from clusterlens.compute.consensus.kmeans import consensus_kmeans
from clusterlens.compute.consensus.maximum_tree import agreement_tree
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
from clusterlens.compute.estimators.genie import Genie
from clusterlens.compute.estimators.graph_communities import GraphCommunities
from clusterlens.compute.estimators.knn_mean_shift import KNNMeanShift
from clusterlens.compute.estimators.neighbors import neighbor_table
from clusterlens.compute.estimators.spuds import SPUDS
from clusterlens.compute.estimators.torque import TorqueClustering
from clusterlens.compute.fuzzy.adjusted import adjusted_ndc
from clusterlens.compute.indices.indices import internal_index
from clusterlens.compute.indices.model_comparison import compare_models
from clusterlens.compute.pool.k_selection import select_k
from clusterlens.compute.pool.optics import make_graph_ordering, make_ordering
from clusterlens.compute.pool.spanning import grown_tree, hdbscan_labels
from clusterlens.compute.ranking.progressive import rank_progressively
from clusterlens.compute.ranking.robustness import rank_robustness
from clusterlens.compute.ranking.run_comparison import compare_runs


@takes_running
def compile_kernels(
    progress: Progress | None = None, cancel: Cancel | None = None
) -> None:
    """Load every kernel for the usual types, or compile it, by running small examples.

    Parameters
    ----------
    progress : callable, optional
        Called with the number of steps done and their total.
    cancel : callable, optional
        Called before each step; True stops.

    Raises
    ------
    ValueError
        If progress or cancel is not a function.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    Some 35 seconds of one core for the first process, three for processes that find the
    compiled kernels on disk. Compiles for codes of one and two bytes and for tables in
    row order. Rarer types, for example for more than 65,535 clusters in one partition
    or as many partitions, are compiled on first use. Without this call each kernel is
    loaded or compiled on first use.

    Examples
    --------
    >>> compile_kernels()
    """
    run = RunOptions(progress=progress, cancel=cancel)
    for done, step in enumerate(STEPS.values()):
        run.raise_if_cancelled()
        step()
        run.report(done + 1, len(STEPS))
    mark_all_on_disk()


def _ensembles(n_clusters: int) -> Iterator[Ensemble]:
    """Yield partitions of distinct samples, and of repeated samples."""
    distinct = np.tile(np.arange(n_clusters), (4, 1))
    for labels in (distinct, np.repeat(distinct, 2, axis=1)):
        labels[0] = 0
        yield Ensemble(labels)


def _table(n_features: int = 3, n_samples: int = 200) -> FloatArray:
    """Return a new table; a read-only table has another type."""
    return np.random.default_rng(0).normal(size=(n_samples, n_features))


def _count(n_clusters: int) -> None:
    """Count agreements, with and without weights."""
    for ensemble in _ensembles(n_clusters):
        count_agreements(ensemble)


def _count_again(n_clusters: int, sizes: Sequence[int]) -> None:
    """Count for other compositions of a pool with families of such sizes.

    Votes that make families equal take two bytes if sizes have no small common
    multiple.
    """
    labels = np.tile(np.arange(n_clusters), (sum(sizes), 1))
    labels[0] = 0
    families = [str(family) for family, size in enumerate(sizes) for _ in range(size)]
    rank_robustness(Ensemble(labels, families=families), "discotec-kl")


def _order(n_clusters: int) -> None:
    """Order the samples by the consensus of the models."""
    for ensemble in _ensembles(n_clusters):
        sample_disagreement(ensemble)
        agreement_tree(ensemble)
        cluster_consensus(ensemble, ensemble.codes[0])


def _draw(n_clusters: int) -> None:
    """Count the pairs behind each pixel of a matrix."""
    for ensemble in _ensembles(n_clusters):
        consensus_tile(ensemble, kind="consensus")
        consensus_tile(ensemble, kind="binarised")


def _find_neighbors() -> None:
    """Find neighbours, join by them, by density too, and find communities."""
    X = read_only(_table())  # as pools have it
    table = neighbor_table(X, 4)
    hdbscan_labels(X, {}, grown_tree(X, 0, table, min_samples=5))
    Genie(min_samples=5).fit(X)
    GraphCommunities().fit(X)


def _partition() -> None:
    """Cluster the one-hot rows, to few and to many centres."""
    for n_clusters in (2, 40):
        consensus_kmeans(Ensemble(_drawn(_ONE)), n_clusters)


def _use_many_clusters() -> None:
    """Do the same with codes of two bytes."""
    for use in (_count, _order, _draw):
        use(_TWO)


def _count_otherwise() -> None:
    """Count if few samples agree, for small pools, and for a part of the samples."""
    for n_clusters in (_ONE, _TWO):
        samples = np.arange(6 * n_clusters)
        count_agreements(Ensemble([samples % n_clusters, samples // 6]))
        _count_again(n_clusters, (1, 3))
        next(rank_progressively(Ensemble(_drawn(n_clusters)), first_size=500))


def _partition_otherwise() -> None:
    """Cluster by entropy, and obey links."""
    ensemble = Ensemble(_drawn(_ONE))
    consensus_partition(ensemble, 2, "ecc")
    links = Constraints(must_link=[(0, 1)], cannot_link=[(1, 2)])
    consensus_partition(ensemble, 2, constraints=links, n_init=1)


def _use_partial() -> None:
    """Count over the models that saw a pair, and draw it."""
    for n_clusters in (_ONE, _TWO):
        drawn = _drawn(n_clusters)
        ensemble = Ensemble(drawn, missing=drawn == 0)
        count_agreements(ensemble)
        sample_disagreement(ensemble)
        compare_runs(ensemble, ensemble)
        consensus_tile(ensemble, kind="binarised", shape=(20, 20))


def _drawn(n_clusters: int) -> IntArray:
    return np.random.default_rng(0).integers(0, n_clusters, (4, 600))


def _use_features() -> None:
    """Cluster the samples and evaluate a partition by their distances."""
    for X in (_table(), read_only(_table())):
        internal_index("CI", X, np.arange(len(X)) % 3)
        compare_models(Ensemble([np.arange(len(X)) % k for k in (2, 3, 4)]), X)
        for clusterer in (
            *(TorqueClustering, BorderPeeling, KNNMeanShift, Genie),
            GraphCommunities,
        ):
            clusterer().fit(X)
        SPUDS(n_init=1).fit(X[:40])
        FeatureLinkage(n_features=20).fit(X)
        table = neighbor_table(X, 4)
        make_ordering(X, 0, table, min_samples=5)
        make_graph_ordering(X, 0, table, min_samples=5)
        hdbscan_labels(X, {}, grown_tree(X, 0, table, min_samples=5))
        select_k(X, [2], n_resamples=2, n_draws=19, n_jobs=1)


def _smooth() -> None:
    """Smooth memberships over the neighbour graph."""
    for X in (_table(), read_only(_table())):
        _ = CNSGraph(X, max_neighbors=5).solve(5, 0.1).error_bound
        CNS(solver="powers").fit(X)
    graph = CNSGraph(_table(n_samples=1100), max_neighbors=5)
    _ = graph.preview(5, 0.1), graph.fill(5).preview(5, 0.1).error_bound


def _compare_fuzzy() -> None:
    """Compare fuzzy partitions of few samples, with listed distances, and of many."""
    rng = np.random.default_rng(0)
    for n_samples in (300, 3000):
        U, V = (rng.dirichlet(np.ones(k), n_samples) for k in (3, 5))
        for model in ("permutation", "fit"):
            adjusted_ndc(U, V, model=model)


def _assign_rows() -> None:
    """Assign rows of clusters that only their neighbours distinguish."""
    X = _table(2)
    labels = (np.abs(X[:, 0]) > X[:, 1]).astype(np.int64)
    fit_assigner(X, labels).assign(X)


# Numbers of clusters with codes of one byte, and of two.
_ONE, _TWO = 100, 300
# In the order of first use; the first pool and its consensus need only the first steps.
STEPS: dict[str, Callable[[], None]] = {
    "agreements": partial(_count, _ONE),
    "order": partial(_order, _ONE),
    "matrices": partial(_draw, _ONE),
    "partitions": _partition,
    "neighbours": _find_neighbors,
    "robustness": partial(_count_again, _ONE, (5, 7, 9)),
    "many clusters": _use_many_clusters,
    "other agreements": _count_otherwise,
    "other partitions": _partition_otherwise,
    "features": _use_features,
    "smoothing": _smooth,
    "partial partitions": _use_partial,
    "memberships": _compare_fuzzy,
    "new rows": _assign_rows,
}
N_FIRST = 6
