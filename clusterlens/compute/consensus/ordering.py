"""Orderings of the samples, for the rows and columns of a consensus matrix."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from clusterlens.compute._validation import (
    IntArray,
    RandomState,
    check_choice,
    check_labels,
    check_random_state,
    check_range,
    read_only,
)
from clusterlens.compute.consensus.tile_source import check_order
from clusterlens.compute.consensus.tree import ConsensusTree, consensus_tree
from clusterlens.compute.ensemble.ensemble import NOISE, Ensemble, check_ensemble

OrderBy = Literal["tree", "partition", "file"]

_TREE_CLUSTERS = 64


def order_samples(
    ensemble: Ensemble,
    by: OrderBy = "tree",
    *,
    partition: int | npt.ArrayLike | None = None,
    tree: ConsensusTree | npt.ArrayLike | None = None,
    random_state: RandomState = 0,
) -> IntArray:
    """Order the samples so that a consensus matrix shows its blocks.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    by : {"tree", "partition", "file"}, default "tree"
        By the consensus tree; by the clusters of one partition and within them by the
        tree; or the given order.
    partition : int or array-like of int, shape (n_samples,), optional
        Position in the ensemble or labels, which may have names of other clusters
        (`match_labels`); needed for "partition". Clusters come by ascending label, the
        label -1 last.
    tree : ConsensusTree or array-like of int, shape (n_samples,), optional
        Tree, or its order. By default a tree of up to 64 clusters is built for "tree",
        while "partition" keeps the order of the samples in a cluster.
    random_state : int, Generator or None, default 0
        Seed of a tree built here.

    Returns
    -------
    order : array of int64, shape (n_samples,)
        Permutation: the samples from the first row to the last.

    Raises
    ------
    ValueError
        If "partition" is chosen without a partition, or an argument does not fit.

    Notes
    -----
    O(n log n) time if the tree is given, else the time of `consensus_tree`.

    Examples
    --------
    >>> ensemble = Ensemble([[1, 0, 1, 0], [0, 0, 1, 1]])
    >>> order_samples(ensemble, "partition", partition=0).tolist()
    [1, 3, 0, 2]
    >>> order_samples(ensemble, "partition", partition=0, tree=[3, 2, 1, 0]).tolist()
    [3, 1, 2, 0]
    """
    check_ensemble(ensemble)
    check_choice(by, get_args(OrderBy), name="by")
    seed = check_random_state(random_state)
    if by == "file":
        return read_only(np.arange(ensemble.n_samples))
    if by == "tree" and tree is None:
        most = min(_TREE_CLUSTERS, ensemble.n_samples)
        tree = consensus_tree(ensemble, most, random_state=seed)
    given = tree.order if isinstance(tree, ConsensusTree) else tree
    order = check_order(given, ensemble.n_samples, name="tree")
    if by == "tree":
        return read_only(order)
    labels = _labels_of(ensemble, partition)[order]
    return read_only(order[np.lexsort((labels, labels == NOISE))])


def _labels_of(ensemble: Ensemble, partition: int | npt.ArrayLike | None) -> IntArray:
    """Return labels of a partition given by position or as labels."""
    if partition is None:
        raise ValueError(
            "partition is None; give the position of a partition, or labels, to order "
            "by its clusters."
        )
    if np.ndim(partition) == 0:
        last = ensemble.n_partitions - 1
        return ensemble.labels[
            check_range(partition, 0, last, name="partition", integer=True)
        ]
    return check_labels(partition, n_samples=ensemble.n_samples, name="partition")
