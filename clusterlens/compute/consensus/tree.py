"""Bisecting k-means on the one-hot rows: nested consensus clusters in linear time.

The tree can be cut into any number of clusters, and it orders the samples. Time and
memory grow linearly with the number of samples.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import leaves_list, optimal_leaf_ordering
from scipy.spatial.distance import squareform

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    IntArray,
    RandomState,
    check_choice,
    check_random_state,
    check_range,
)
from clusterlens.compute.consensus._lloyd import MAX_ITER, Lloyd, best_of_starts
from clusterlens.compute.consensus._one_hot import Gaps, OneHotRows, one_hot_rows
from clusterlens.compute.consensus.criteria import weight_between
from clusterlens.compute.ensemble.ensemble import Ensemble, check_ensemble

TRIAL_ROWS = 1 << 13  # with more rows, the trials of a split run on a sample


@dataclass(frozen=True, eq=False)
class ConsensusTree(Frozen):
    """Nested consensus clusters, from one cluster of all samples down to the leaves.

    Attributes
    ----------
    parents : array of int64, shape (2 n_leaves - 1,)
        Parent of each node; node 0 holds all samples and has parent -1. Nodes 2s + 1
        and 2s + 2 are made by split s.
    losses : array of float64, shape (n_leaves,)
        Sum of squared distances of the one-hot rows to the means of 1, 2, ..., n_leaves
        clusters.
    leaves : array of int64, shape (n_samples,)
        Leaf of each sample, numbered from left to right.
    order : array of int64, shape (n_samples,)
        A permutation of the samples: the clusters of every cut are contiguous,
        neighbouring leaves are similar and equal samples are adjacent.
    """

    parents: IntArray
    losses: FloatArray
    leaves: IntArray
    order: IntArray
    leaf_nodes: IntArray

    @property
    def n_leaves(self) -> int:
        """The largest number of clusters that the tree can be cut into."""
        return len(self.leaf_nodes)

    def cut(self, n_clusters: int) -> IntArray:
        """Return the partition after n_clusters - 1 splits.

        Parameters
        ----------
        n_clusters : int
            From 1 to n_leaves.

        Returns
        -------
        labels : array of int64, shape (n_samples,)
            Labels 0 to n_clusters - 1, in order of first appearance, like those of
            `consensus_partition`; `labels[tree.order]` holds one run of each.

        Raises
        ------
        ValueError
            If the tree has fewer leaves: it was built for fewer clusters, or the
            ensemble separates fewer groups of samples.
        """
        return pd.factorize(self.nodes_at(n_clusters)[self.leaves])[0].astype(np.int64)

    def nodes_at(self, n_clusters: int) -> IntArray:
        """Return the node that holds each leaf after n_clusters - 1 splits.

        Parameters
        ----------
        n_clusters : int
            From 1 to n_leaves.

        Returns
        -------
        nodes : array of int64, shape (n_leaves,)
            From left to right; `nodes[tree.leaves]` is the node of each sample.

        Raises
        ------
        ValueError
            If the tree has fewer leaves.
        """
        n_clusters = check_range(
            n_clusters, 1, self.n_leaves, name="n_clusters", integer=True
        )
        nodes = self.leaf_nodes.copy()
        # The first k - 1 splits make the nodes up to 2 (k - 1).
        while (late := nodes > 2 * (n_clusters - 1)).any():
            nodes[late] = self.parents[nodes[late]]
        return nodes

    def to_frame(self) -> pd.DataFrame:
        """Return one row per node, with its place in an icicle of all cuts.

        Returns
        -------
        frame : DataFrame
            Columns parent (-1 for the root); first_k and last_k, the numbers of
            clusters between which the node is a cluster; start and size, its samples
            clusters between which the node is a cluster; start and size of its samples
            `order[start : start + size]`; and colour, the node that gives its colour:
            the parent for the larger half (the left one in a tie), else the node
            itself. The index is the node; rows follow it.

        Notes
        -----
        O(n_samples + n_leaves). The cut into k clusters are the nodes with first_k <= k
        <= last_k, by start.

        Examples
        --------
        >>> tree = consensus_tree(Ensemble([[0, 0, 0, 1, 2], [0, 0, 0, 1, 1]]), 3)
        >>> sorted(tree.to_frame().query("first_k <= 2 <= last_k")["size"].tolist())
        [2, 3]
        """
        n_nodes, halves = len(self.parents), np.arange(1, len(self.parents))
        first_k = np.concatenate([[1], (halves - 1) // 2 + 2])
        last_k = np.full(n_nodes, self.n_leaves)
        last_k[self.parents[1:]] = first_k[1:] - 1
        size = np.zeros(n_nodes, np.int64)
        size[self.leaf_nodes] = np.bincount(self.leaves, minlength=self.n_leaves)
        start = np.full(n_nodes, len(self.leaves))
        ends = np.cumsum(size[self.leaf_nodes])
        start[self.leaf_nodes] = ends - size[self.leaf_nodes]
        for node in halves[::-1]:  # children come after their parents
            up = self.parents[node]
            size[up] += size[node]
            start[up] = min(start[up], start[node])
        colour = np.arange(n_nodes)
        for left in halves[::2]:
            by_place = sorted((left, left + 1), key=lambda v: (-size[v], start[v]))
            colour[by_place[0]] = colour[self.parents[left]]
        return pd.DataFrame(
            {
                "parent": self.parents,
                "first_k": first_k,
                "last_k": last_k,
                "start": start,
                "size": size,
                "colour": colour,
            },
            index=pd.RangeIndex(n_nodes, name="node"),
        )


@takes_running
def consensus_tree(
    ensemble: Ensemble,
    max_clusters: int,
    random_state: RandomState = 0,
    *,
    split: str = "scatter",
    n_trials: int = 5,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> ConsensusTree:
    """Split the samples repeatedly in two, by 2-means on the one-hot rows.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    max_clusters : int
        Number of leaves, at least 1. Splitting stops earlier if the samples of each
        leaf are equal in all partitions.
    random_state : int, Generator or None, default 0
        Seed. A tree with more leaves continues a tree with fewer.
    split : {"scatter", "size", "density"}, default "scatter"
        Choice of the next cluster to split: the largest sum of squared distances to its
        mean, the most samples, or the split that raises the density of the partition
        most. For the last, every leaf is split on trial.
    n_trials : int, default 5
        Number of seedings of each 2-means; the best one is kept.
    n_jobs : int, optional
        Threads. Default: all cores. The result does not depend on it.
    progress : callable, optional
        Called as progress(splits done, splits requested).
    cancel : callable, optional
        Called between blocks of some milliseconds; True stops the computation.
    executor : concurrent.futures.Executor, optional
        Threads to use instead of new ones.

    Returns
    -------
    tree : ConsensusTree
        `tree.cut(k)` gives k clusters, `tree.order` an ordering of the samples.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    Partial partitions: see `consensus_partition`.

    A split costs O(T) per member, sample and iteration: O(n T log max_clusters) in all
    if the splits are balanced; O(n T) memory. Clusters of more than 8192 distinct rows
    try the seedings on a random sample of that size and refine the best one on all
    rows. Among all orders of the leaves that the tree allows, the order has the largest
    mean consensus between neighbours.

    References
    ----------
    Candel, "Linear time evidence accumulation clustering with KMeans" (H-KM).
    Steinbach, Karypis & Kumar, "A comparison of document clustering techniques", KDD
    workshop on text mining, 2000.
    Bar-Joseph, Gifford & Jaakkola, "Fast optimal leaf ordering for hierarchical
    clustering", Bioinformatics 17, 2001, doi:10.1093/bioinformatics/17.suppl_1.S22.

    Examples
    --------
    >>> tree = consensus_tree(Ensemble([[0, 0, 1, 1, 2], [0, 0, 1, 1, 1]]), 3)
    >>> tree.cut(2).tolist()
    [0, 0, 1, 1, 1]
    """
    run = RunOptions(n_jobs, progress, cancel, executor)
    seed = check_random_state(random_state)
    check_ensemble(ensemble)
    max_clusters = check_range(
        max_clusters, 1, ensemble.n_samples, name="max_clusters", integer=True
    )
    n_trials = check_range(n_trials, 1, 1000, name="n_trials", integer=True)
    check_choice(split, ("scatter", "size", "density"), name="split")
    rows, group = one_hot_rows(ensemble)
    everyone = np.arange(rows.n_rows)
    split_rows = partial(_split, rows, n_trials=n_trials, run=run)
    leaves = dict(enumerate(split_rows(everyone, 1, np.random.default_rng(0))))
    parents, losses = [-1], [leaves[0].scatter]

    @cache
    def halves(node: int) -> list[_Leaf]:
        rng = np.random.default_rng([seed, node])
        return split_rows(leaves[node].members, 2, rng)

    def priority(node: int) -> float:
        if split == "density":
            return sum(half.weight for half in halves(node)) - leaves[node].weight
        return float(getattr(leaves[node], split))

    while len(leaves) < max_clusters:
        divisible = [node for node, leaf in leaves.items() if len(leaf.members) > 1]
        if not divisible:
            break
        node = max(divisible, key=priority)
        for half in halves(node):
            leaves[len(parents)] = half
            parents.append(node)
        del leaves[node]
        losses.append(sum(leaf.scatter for leaf in leaves.values()))
        run.report(len(leaves) - 1, max_clusters - 1)
    return _arrange(ensemble, leaves, np.array(parents), np.array(losses), group)


class _Leaf(NamedTuple):
    """A cluster of the tree.

    `scatter` sums the squared distances to the mean over `size` samples. `weight` is
    the contribution of the cluster to n times the density: size times mean consensus
    inside.
    """

    members: IntArray
    size: int
    scatter: float
    weight: float


def _split(
    rows: OneHotRows,
    members: IntArray,
    n_parts: int,
    rng: np.random.Generator,
    *,
    n_trials: int,
    run: RunOptions,
) -> list[_Leaf]:
    """Divide the given rows into parts by k-means."""
    own = rows.take(members).compact() if len(members) < rows.n_rows else rows
    lloyd = trials = Lloyd(own, run)
    if own.n_rows > TRIAL_ROWS:
        trials = lloyd.sample(TRIAL_ROWS, rng)
    *_, best = best_of_starts(trials, n_parts, n_trials, MAX_ITER, rng)
    if trials is not lloyd:
        best = lloyd.run(best.centres, max_iter=MAX_ITER)
    counts, sizes = best.centres
    if own.gaps is None:
        squares = own.column_votes @ counts**2
        scatters = own.n_votes * sizes - squares / sizes
        weights = (squares / own.n_votes - sizes) / np.maximum(sizes - 1, 1)
    else:
        scatters, weights = _partial_scatter(own, own.gaps, counts, sizes)
    return [
        _Leaf(
            members[best.labels == part],
            int(sizes[part]),
            float(scatters[part]),
            float(weights[part]),
        )
        for part in range(n_parts)
    ]


def _partial_scatter(
    rows: OneHotRows, gaps: Gaps, counts: IntArray, sizes: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Compute scatter and weight of each part from the members that each model saw."""
    seen, squares = gaps.by_model(counts), gaps.by_model(counts**2)
    scatters = rows.votes @ (seen - squares / np.maximum(seen, 1))
    pairs = rows.votes @ (seen * (seen - 1))
    weights = sizes * (rows.votes @ (squares - seen)) / np.maximum(pairs, 1)
    return scatters, weights


def _arrange(
    ensemble: Ensemble,
    leaves: dict[int, _Leaf],
    parents: IntArray,
    losses: FloatArray,
    group: IntArray,
) -> ConsensusTree:
    """Order the leaves, and turn the tree of rows into a tree of samples."""
    leaf_of_row = np.empty(int(group.max()) + 1, np.int64)
    for position, leaf in enumerate(leaves.values()):
        leaf_of_row[leaf.members] = position
    nodes = np.array(list(leaves))
    left_to_right = _leaf_order(ensemble, leaf_of_row[group], nodes, parents)
    place = np.argsort(left_to_right)
    samples = place[leaf_of_row[group]]
    return ConsensusTree(
        parents, losses, samples, np.lexsort((group, samples)), nodes[left_to_right]
    )


def _leaf_order(
    ensemble: Ensemble, leaf: IntArray, nodes: IntArray, parents: IntArray
) -> IntArray:
    """Order of the leaves (n_leaves,), given the leaf of each sample (n_samples,)."""
    n_leaves = len(nodes)
    if n_leaves < 3:
        return np.arange(n_leaves)
    sizes = np.bincount(leaf)
    scale = ensemble.n_votes * np.outer(sizes, sizes)
    if ensemble.is_partial:
        scale = np.maximum(weight_between(ensemble.presence, leaf), 1)
    distances = 1.0 - weight_between(ensemble, leaf) / scale
    np.fill_diagonal(distances, 0.0)
    linkage = _as_linkage(nodes, parents)
    return leaves_list(optimal_leaf_ordering(linkage, squareform(distances)))


def _as_linkage(nodes: IntArray, parents: IntArray) -> FloatArray:
    """Reverse the splits, the last one first, as rows of a SciPy linkage matrix."""
    n_leaves = len(nodes)
    names = np.empty(len(parents), np.int64)
    names[nodes] = np.arange(n_leaves)
    sizes = np.ones(len(parents), np.int64)
    linkage = np.empty((n_leaves - 1, 4))
    for merge, split in enumerate(range(n_leaves - 2, -1, -1)):
        left, right = 2 * split + 1, 2 * split + 2
        up = parents[left]
        names[up], sizes[up] = n_leaves + merge, sizes[left] + sizes[right]
        linkage[merge] = names[left], names[right], merge + 1, sizes[up]
    return linkage
