"""The number of clusters of the consensus-tree cut that fits the models best."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions, stretches
from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    IntArray,
    RandomState,
    check_flag,
    check_random_state,
    check_range,
)
from clusterlens.compute.consensus.tree import ConsensusTree, consensus_tree
from clusterlens.compute.ensemble.counting_cost import agreement_cost
from clusterlens.compute.ensemble.ensemble import Ensemble, check_ensemble
from clusterlens.compute.ranking.ranking import TIE_DECIMALS
from clusterlens.compute.ranking.scores import discotec

# Largest default number of clusters, and its limit if the models' median is larger.
_MOST_CUT, _MOST_MEDIAN = 12, 50
_TREE_SHARE = 0.6  # share of the tree in the time


@dataclass(frozen=True, eq=False)
class ClosestCut(Frozen):
    """Distances of the cuts of a consensus tree from the consensus.

    Attributes
    ----------
    n_clusters : int
        Number of clusters of the closest cut, the smallest of equally close ones.
    labels : array of int64, shape (n_samples,)
        Labels of that cut, 0 to n_clusters - 1.
    numbers : array of int64, shape (n_cuts,)
        Numbers of clusters that were compared, ascending.
    distances : array of float64, shape (n_cuts,)
        DISCOTEC of each cut with the Kullback-Leibler divergence, at least 0.
    n_compared : int
        Number of samples compared with each other.
    """

    n_clusters: int
    labels: IntArray
    numbers: IntArray
    distances: FloatArray
    n_compared: int


@takes_running
def closest_cut(
    ensemble: Ensemble,
    tree: ConsensusTree | None = None,
    max_clusters: int | None = None,
    random_state: RandomState = 0,
    *,
    exact: bool = False,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> ClosestCut:
    """Find the number of clusters with the consensus partition closest to the models.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    tree : ConsensusTree, optional
        Their consensus tree; its cuts into 2 and more clusters are compared. Default: a
        new one.
    max_clusters : int, optional
        The largest number of clusters, at least 2. Default: 12, or the median of the
        models' numbers weighted by their votes, up to 50, if it is larger.
    random_state : int, Generator or None, default 0
        Seed of the tree, and of the samples that are drawn.
    exact : bool, default False
        Whether to compare all pairs of samples. Default: the pairs of a random sample
        of the size that `agreement_cost` finds affordable.
    n_jobs, progress, cancel, executor
        As in `count_agreements`.

    Returns
    -------
    found : ClosestCut
        The closest number and the distances of all numbers.

    Raises
    ------
    ValueError
        If an argument is out of range.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    A cut is scored like a model without a vote: by the mean of -ln p over all pairs of
    samples, with p the share of votes that treat the pair as the cut does. O(n² T) time
    as `count_agreements`, O(n T) memory. On research tables the partition is closer to
    the classes than with the number of clusters of the most typical model, see
    docs/methods/crowd.md.

    References
    ----------
    Ohl, L., Lindsten, F. Discriminative ordering through ensemble consensus,
    Algorithm 1, for the score.

    Examples
    --------
    >>> three, two = [0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1]
    >>> found = closest_cut(Ensemble([three, three, two]))
    >>> found.labels.tolist(), found.distances.round(2).tolist()
    ([0, 0, 1, 1, 2, 2], [0.24, 0.09])
    """
    run = RunOptions(n_jobs, progress, cancel, executor)
    seed = check_random_state(random_state)
    exact = check_flag(exact, name="exact")
    n_samples = check_ensemble(ensemble).n_samples
    if max_clusters is None:
        per_model, votes = ensemble.n_clusters, ensemble.votes
        median = np.quantile(per_model, 0.5, weights=votes, method="inverted_cdf")
        max_clusters = max(_MOST_CUT, min(int(median), _MOST_MEDIAN))
    most = check_range(max_clusters, 2, np.inf, name="max_clusters", integer=True)
    if tree is None:
        leaves = min(most, n_samples)
        making, run = stretches(run, 100, (_TREE_SHARE,))
        tree = consensus_tree(ensemble, leaves, seed, **making.threads)
    elif len(getattr(tree, "leaves", ())) != n_samples:
        raise ValueError(
            f"tree is {tree!r}; give the ConsensusTree of the ensemble, or none."
        )
    last = min(most, tree.n_leaves)
    numbers = np.arange(min(2, last), last + 1)
    cuts = np.array([tree.cut(int(k)) for k in numbers])
    both = ensemble.concat(Ensemble(cuts, noise=ensemble.noise))
    both = both.with_weights([*ensemble.weights, *np.zeros(len(numbers))])
    cost = agreement_cost(both)
    if not (exact or cost.affordable):
        rng = np.random.default_rng(seed)
        both = both.take_samples(rng.choice(n_samples, cost.n_compared, replace=False))
    distances = discotec(both, "kl", **run.threads)[-len(numbers) :]
    best = int(np.round(distances, TIE_DECIMALS).argmin())
    return ClosestCut(
        int(numbers[best]), cuts[best], numbers, distances, both.n_samples
    )
