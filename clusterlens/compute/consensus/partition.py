"""Consensus functions: combine an ensemble into one partition.

`CONSENSUS_FUNCTIONS` lists them by name, each with its cost; `consensus_partition` runs
one. A method that does not fit into memory is refused before anything is allocated. A
new function takes one line: `CONSENSUS_FUNCTIONS["mine"] = ConsensusFunction(run, cost,
reference)`.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    DataError,
    FloatArray,
    IntArray,
    RandomState,
    check_choice,
    check_memory,
    check_random_state,
    check_range,
    warn_caller,
)
from clusterlens.compute.consensus._entropy import lower_entropy
from clusterlens.compute.consensus._graphs import (
    cspa,
    cspa_spectral,
    import_metis,
    mcla,
)
from clusterlens.compute.consensus._linkage import (
    LinkageMethod,
    ecpcs_similarity,
    linkage_partition,
    wct_similarity,
)
from clusterlens.compute.consensus._links import (
    LinkedLloyd,
    LinkedRows,
    linked_rows,
)
from clusterlens.compute.consensus._lloyd import (
    MAX_ITER,
    Lloyd,
    LloydResult,
    cluster_samples,
)
from clusterlens.compute.consensus._one_hot import (
    OneHotRows,
    one_hot_rows,
    sums_by_centre,
)
from clusterlens.compute.consensus._transfers import Transfers
from clusterlens.compute.consensus.maximum_tree import agreement_tree
from clusterlens.compute.consensus.tree import consensus_tree
from clusterlens.compute.ensemble.constraints import Constraints, check_constraints
from clusterlens.compute.ensemble.ensemble import Ensemble, check_ensemble

MAX_BYTES = 4 << 30
N_INIT = 10


@dataclass(frozen=True)
class ConsensusTask:
    """Input of a consensus function."""

    ensemble: Ensemble
    rows: OneHotRows
    group: IntArray
    n_clusters: int
    random_state: int
    run: RunOptions
    n_init: int = N_INIT
    linked: LinkedRows | None = None


@dataclass(frozen=True)
class ConsensusFunction:
    """A way to combine an ensemble into one partition.

    Parameters
    ----------
    run : callable
        Takes a ConsensusTask, returns labels of shape (n_samples,).
    cost : str
        Time and memory in n samples, T partitions, d clusters in all, k clusters. If
        partitions have several votes, d counts their clusters that many times.
    reference : str
        Publication.
    n_bytes : callable, optional
        Takes (n_samples, n_columns) and returns the bytes that grow faster than
        linearly, besides the labels. Default: 0.
    links : bool, default False
        Whether it can obey constraints.
    partial : bool, default False
        Whether it accepts partial partitions.
    """

    run: Callable[[ConsensusTask], IntArray]
    cost: str
    reference: str
    n_bytes: Callable[[int, int], int] = lambda n, d: 0
    links: bool = False
    partial: bool = False


@takes_running
def consensus_partition(
    ensemble: Ensemble,
    n_clusters: int,
    method: str = "kmeans",
    random_state: RandomState = 0,
    *,
    constraints: Constraints | None = None,
    n_init: int = N_INIT,
    max_bytes: int = MAX_BYTES,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> IntArray:
    """Combine an ensemble into one partition that agrees with its partitions.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    n_clusters : int
        From 1 to n_samples.
    method : str, default "kmeans"
        A name in `CONSENSUS_FUNCTIONS`: "kmeans" and "bisecting-kmeans" on the one-hot
        rows, "sec", "ecc" (all linear in n), "mcla", "single", "average", "complete",
        these with "-enhanced" or "-wct", "cspa", "cspa-spectral".
    random_state : int, Generator or None, default 0
        Seed.
    constraints : Constraints, optional
        Links that the partition obeys without exception. For "kmeans", "sec", "average"
        and "complete".
    n_init : int, default 10
        Number of seedings of "kmeans", "sec" and "ecc"; the best result is kept.
    max_bytes : int, default 4 GiB
        Limit for the largest matrix.
    n_jobs : int, optional
        Threads. Default: all cores. The result does not depend on it.
    progress : callable, optional
        Called as progress(done, total) in the units of the method.
    cancel : callable, optional
        Called between short blocks of work; True stops the computation. The linkage
        itself, METIS and the eigenvectors cannot be stopped.
    executor : concurrent.futures.Executor, optional
        Threads to use instead of new ones.

    Returns
    -------
    labels : array of int64, shape (n_samples,)
        Labels 0, 1, ... in order of first appearance.

    Raises
    ------
    ValueError
        If an argument is out of its range, or the method cannot obey constraints.
    ConstraintError
        If n_clusters clusters cannot obey the cannot-links; `chain` holds the links
        in conflict. Also if the linkage ends early, see the Notes.
    MemoryError
        If the method needs more than max_bytes; nothing was allocated.
    ImportError
        If method is "cspa" or "mcla" and METIS is not installed.
    Cancelled
        If `cancel` returned true.

    Warns
    -----
    UserWarning
        If fewer than n_clusters clusters are returned: no partition of the ensemble
        separates more samples, or some meta-clusters of MCLA won no sample.

    Notes
    -----
    `CONSENSUS_FUNCTIONS[method].cost` states time and memory, `.reference` the source.
    Each run of "kmeans" and "sec" ends with transfers of single samples, or of units
    connected by must-links, that lower the exact loss (Hartigan & Wong): up to 100
    passes, fewer for many samples, at least one. On 500 random cases of 5 to 9 samples
    without links, an exhaustive search was better than "kmeans" in none and better than
    "sec" in 2.

    "ecc" starts from the runs of "kmeans" and moves single samples while its own
    loss, the entropy of the labels inside the clusters, falls. With the same seed its
    loss never exceeds the loss of the k-means partition.

    Constraints: samples connected by must-links move as one unit. Units connected by
    cannot-links are assigned together, as a colouring of the graph of cannot-links. An
    assignment that obeys them is found before the first pass, if necessary by
    exhaustive search within 20,000 steps. Each pass keeps, for each connected part, the
    cheaper of a greedy assignment and the last one, both improved by swapping two
    clusters along Kempe chains. No link is broken and the loss never rises from pass to
    pass. The assignment of a part is optimal for one or two units, but not always for
    more. On 1,000 random cases of 4 to 9 samples with 1 to 4 links, an exhaustive
    search was better in 3.

    "average" and "complete" first merge units connected by must-links, with the size of
    the unit, and then the nearest clusters that no cannot-link keeps apart; average
    distances are over all pairs of samples. The merging may end early because every two
    remaining clusters must stay apart, although fewer clusters are possible; the error
    tells their number.

    Partial partitions: "kmeans" and "bisecting-kmeans" use the models that saw a
    sample. "single", "average" and "complete" use one minus the share of joining votes
    among the votes that saw a pair, and refuse pairs that no model saw. The others
    refuse partial partitions.

    The enhanced matrices are reconstructions, because the study that compares them does
    not name the similarity; "-enhanced" is ECPCS, "-wct" weighted connected triples.

    References
    ----------
    Candel, "Linear time evidence accumulation clustering with KMeans".
    Fred & Jain, "Combining multiple clusterings using evidence accumulation", IEEE
    TPAMI 27, 2005, doi:10.1109/TPAMI.2005.113.
    Wagstaff, Cardie, Rogers & Schroedl, "Constrained k-means clustering with background
    knowledge", ICML 2001 (must-links and cannot-links in k-means).
    Davidson & Ravi, "Agglomerative hierarchical clustering with constraints", PKDD
    2005, doi:10.1007/11564126_11 (the same in linkage, and its dead ends).

    Examples
    --------
    >>> ensemble = Ensemble([[0, 0, 1, 1, 1], [0, 0, 1, 1, 2], [0, 0, 0, 1, 1]])
    >>> consensus_partition(ensemble, 2, method="average").tolist()
    [0, 0, 1, 1, 1]
    >>> links = Constraints(must_link=[(1, 2)], cannot_link=[(3, 4)])
    >>> consensus_partition(ensemble, 2, constraints=links).tolist()
    [0, 0, 0, 0, 1]
    """
    run = RunOptions(n_jobs, progress, cancel, executor)
    check_choice(method, CONSENSUS_FUNCTIONS, name="method")
    seed = check_random_state(random_state)
    check_ensemble(ensemble)
    n_clusters = check_range(
        n_clusters, 1, ensemble.n_samples, name="n_clusters", integer=True
    )
    max_bytes = check_range(max_bytes, 0, np.inf, name="max_bytes", integer=True)
    links = check_constraints(constraints, ensemble.n_samples)
    function = CONSENSUS_FUNCTIONS[method]
    if ensemble.is_partial:
        _check_partial(function, links, method)
    n_columns = int(ensemble.n_codes @ ensemble.votes)
    extra = 1.5 if ensemble.is_partial else 1  # includes the votes that saw a pair
    check_memory(
        int(extra * function.n_bytes(ensemble.n_samples, n_columns)),
        max_bytes,
        what=f"method={method!r} for {ensemble.n_samples} samples and {n_columns} "
        "clusters",
        remedy="use method='kmeans', whose memory is linear, or raise max_bytes.",
    )
    rows, group = one_hot_rows(ensemble)
    task = ConsensusTask(ensemble, rows, group, n_clusters, seed, run, n_init)
    if links.n_pairs:
        task = _with_links(task, links, method)
    labels = task.group
    if task.n_clusters < task.rows.n_rows:
        labels = function.run(task)
    labels = pd.factorize(labels)[0].astype(np.int64)
    _warn_of_fewer(labels, n_clusters, method)
    return labels


def _check_partial(
    function: ConsensusFunction, links: Constraints, method: str
) -> None:
    """Refuse methods that need complete partitions, and constraints on partial ones."""
    if not function.partial:
        able = [name for name, one in CONSENSUS_FUNCTIONS.items() if one.partial]
        raise DataError(
            f"method={method!r} needs the label of every sample, but partitions are "
            f"partial; give one of {', '.join(map(repr, able))}."
        )
    if links.n_pairs:
        raise DataError(
            "constraints are not obeyed where partitions are partial; leave them out, "
            "or keep the samples that all models saw, with "
            "ensemble.take_samples(ensemble.seen_by_all)."
        )


def _with_links(
    task: ConsensusTask, constraints: Constraints, method: str
) -> ConsensusTask:
    """Return the task on rows that include the links."""
    if not CONSENSUS_FUNCTIONS[method].links:
        able = [name for name, one in CONSENSUS_FUNCTIONS.items() if one.links]
        raise ValueError(
            f"method={method!r} cannot obey constraints; give one of "
            f"{', '.join(map(repr, able))}, or no constraints."
        )
    linked = linked_rows(task.rows, task.group, constraints, task.n_clusters)
    return replace(
        task,
        rows=linked.rows,
        group=linked.group,
        n_clusters=linked.n_clusters,
        linked=linked,
    )


def _warn_of_fewer(labels: IntArray, n_clusters: int, method: str) -> None:
    """Warn if the partition has fewer clusters than requested."""
    found = int(labels.max()) + 1
    if found < n_clusters:
        warn_caller(
            f"n_clusters is {n_clusters}, but method={method!r} finds only {found} "
            "clusters in this ensemble; these are returned.",
        )


def _lloyd(
    task: ConsensusTask,
    *,
    masses: IntArray | None = None,
    improve: Callable[[LloydResult], LloydResult] = lambda result: result,
) -> IntArray:
    """Run seeded k-means several times, under the links if any; keep the best."""
    if task.linked is None:
        lloyd = Lloyd(task.rows, task.run, masses=masses)
    else:
        lloyd = LinkedLloyd(task.linked, task.run, masses=masses)
    transfers = Transfers(lloyd)
    return cluster_samples(
        lloyd,
        task.group,
        task.n_clusters,
        task.random_state,
        task.n_init,
        MAX_ITER,
        task.run.progress,
        improve=lambda result: improve(transfers.lower_loss(result)),
    )


def _bisect(task: ConsensusTask) -> IntArray:
    """Run bisecting k-means and cut its tree at the leaves."""
    tree = consensus_tree(
        task.ensemble,
        task.n_clusters,
        task.random_state,
        **task.run.threads,
    )
    return tree.leaves


def _sec(task: ConsensusTask) -> IntArray:
    """Run k-means on h_i / w_i with weights w_i, the row sums of agreement counts."""
    rows = task.rows
    sizes = np.zeros(rows.n_columns)
    for columns in rows.columns.T:
        sizes += np.bincount(columns, rows.weights, minlength=rows.n_columns)
    sizes *= rows.column_votes
    degrees = np.empty((rows.n_rows, 1))
    sums_by_centre(rows.columns, sizes[None, :], degrees)
    return _lloyd(task, masses=degrees[:, 0].astype(np.int64))


def _ecc(task: ConsensusTask) -> IntArray:
    """Lower the entropy of the labels in the clusters, from each run of k-means."""
    cancel = task.run.cancel
    return _lloyd(task, improve=partial(lower_entropy, task.rows, cancel=cancel))


def _single(task: ConsensusTask) -> IntArray:
    """Run single linkage on the spanning tree instead of the matrix."""
    if task.ensemble.is_partial:
        return _linkage(task, method="single")
    run = task.run
    tree = agreement_tree(
        task.ensemble, progress=run.progress, cancel=run.cancel, executor=run.executor
    )
    return tree.cut(task.n_clusters)


def _linkage(
    task: ConsensusTask,
    *,
    method: LinkageMethod,
    similarity: Callable[[OneHotRows], FloatArray] | None = None,
) -> IntArray:
    """Run linkage on the plain or the enhanced matrix."""
    rows = task.rows if similarity is None else task.rows.repeated()
    return linkage_partition(
        rows,
        task.group,
        task.n_clusters,
        method,
        similarity=None if similarity is None else similarity(rows),
        linked=task.linked,
        run=task.run,
    )


def _graph(
    task: ConsensusTask,
    *,
    partition: Callable[[OneHotRows, IntArray, int, int], IntArray],
    metis: bool = True,
) -> IntArray:
    """Partition a graph; report a missing METIS before building the graph."""
    if metis:
        import_metis()
    rows = task.rows.repeated() if partition is mcla else task.rows
    return partition(rows, task.group, task.n_clusters, task.random_state)


def _bytes_of_linkage(n: int, d: int) -> int:
    """Count the bytes of the condensed distances and their copy in the linkage."""
    return 8 * n * n


def _bytes_of_enhanced(n: int, d: int) -> int:
    """Count the same bytes and six matrices of clusters."""
    return 8 * n * n + 48 * d * d


_EAC = "Candel, Linear time evidence accumulation clustering with KMeans"
_LINKAGE = "Fred & Jain, IEEE TPAMI 27, 2005"
_GRAPHS = "Strehl & Ghosh, JMLR 3, 2002"
_LINEAR = "O(n T k) time per pass, O(n T) memory"
_SQUARE = "O(n² T) time, 8 n² bytes"
_SIMILARITIES = {
    "": (None, "", _LINKAGE),
    "-enhanced": (
        ecpcs_similarity,
        "; O(d³) time, 48 d² bytes",
        "Huang et al., IEEE Trans. SMC: Systems 51, 2021 (reconstructed)",
    ),
    "-wct": (
        wct_similarity,
        "; 48 d² bytes",
        "Iam-On et al., IEEE TPAMI 33, 2011 (reconstructed)",
    ),
}

CONSENSUS_FUNCTIONS: dict[str, ConsensusFunction] = {
    "kmeans": ConsensusFunction(_lloyd, _LINEAR, _EAC, links=True, partial=True),
    "bisecting-kmeans": ConsensusFunction(
        _bisect, "O(n T log k) time per pass, O(n T) memory", _EAC, partial=True
    ),
    "sec": ConsensusFunction(
        _sec,
        _LINEAR,
        "Liu, Liu, Wu, Tao & Fu, Spectral ensemble clustering, KDD 2015",
        links=True,
    ),
    "ecc": ConsensusFunction(
        _ecc,
        _LINEAR,
        "Liu et al., Entropy-based consensus clustering, Bioinformatics 33, 2017",
    ),
    **{
        f"{method}{suffix}": ConsensusFunction(
            partial(_linkage, method=method, similarity=similarity),
            _SQUARE + more,
            reference,
            _bytes_of_enhanced if suffix else _bytes_of_linkage,
            links=not suffix,
            partial=not suffix,
        )
        for suffix, (similarity, more, reference) in _SIMILARITIES.items()
        for method in ("single", "average", "complete")
    },
    "single": ConsensusFunction(
        _single,
        "O(n² T) time, O(n T) memory; 12 n² bytes where partitions are partial",
        _LINKAGE,
        partial=True,
    ),
    "mcla": ConsensusFunction(
        partial(_graph, partition=mcla),
        "O(n T²) time, 48 d² bytes; METIS",
        _GRAPHS,
        lambda n, d: 48 * d * d,
    ),
    "cspa": ConsensusFunction(
        partial(_graph, partition=cspa),
        "O(n² T) time, 40 n² bytes; METIS, near-equal sizes",
        _GRAPHS,
        lambda n, d: 40 * n * n,
    ),
    "cspa-spectral": ConsensusFunction(
        partial(_graph, partition=cspa_spectral, metis=False),
        "O(n² T) time, 40 n² bytes; sizes not balanced",
        "Shi & Malik, IEEE TPAMI 22, 2000, on the graph of CSPA",
        lambda n, d: 40 * n * n,
    ),
}
