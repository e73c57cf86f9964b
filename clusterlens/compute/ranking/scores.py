"""Scores: closeness of each partition to the consensus of all.

The DISCOTEC scores are functions of two small tables of counts (see `agreement`), so
that another variant or threshold costs O(T²) and no new pass over the samples. The
average indices come from contingency tables, O(n T²).
"""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Literal, get_args

import numpy as np

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    check_choice,
    check_range,
    warn_caller,
)
from clusterlens.compute.ensemble.agreement import (
    Agreement,
    check_agreement,
    count_agreements,
)
from clusterlens.compute.ensemble.constraints import Constraints, check_constraints
from clusterlens.compute.ensemble.ensemble import Ensemble, check_ensemble
from clusterlens.compute.ensemble.overlaps import Overlaps, partition_overlaps

Variant = Literal["kl", "tv", "hellinger", "binary"]
ConstraintCost = Literal["share", "distance"]


@takes_running
def discotec(
    ensemble: Ensemble | Agreement,
    variant: Variant = "binary",
    threshold: int | None = None,
    constraints: Constraints | None = None,
    constraint_weight: float = 1.0,
    *,
    constraint_cost: ConstraintCost = "share",
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> FloatArray:
    """Score each partition by its distance to the consensus of all.

    Parameters
    ----------
    ensemble : Ensemble or Agreement
        T >= 2 partitions, or their counted agreements, which make the call instant. A
        partition without a vote is scored against the consensus of the others.
    variant : {"binary", "kl", "tv", "hellinger"}, default "binary"
        Distance for a pair of samples. With p the share of partitions that treat the
        pair as this one does: -ln p (kl), 1 - p (tv), 1 - sqrt p (hellinger), or
        whether this partition contradicts the binarised consensus (binary).
    threshold : int, optional
        For "binary": agreement count from 0 to T + 1 from which a pair counts as
        joined, or votes up to n_votes + 1 if the ensemble has weights. Default the
        smallest count that reaches the mean.
    constraints : Constraints, optional
        Pairs that should be joined or separated.
    constraint_weight : float, default 1.0
        Charge for breaking all of them, at least 0. See the Warnings.
    constraint_cost : {"share", "distance"}, default "share"
        Cost of a broken pair: 1 (Algorithm 1 of the paper), or the distance of the
        variant between joined and separated (its equation 5), which is also 1, but
        infinite for "kl".
    n_jobs, progress, cancel, executor
        As in `count_agreements`.

    Returns
    -------
    scores : array of float, shape (n_partitions,)
        Mean over all n² ordered pairs plus weight times violated share. Lower is
        better. Without constraints in [0, 1]; "kl" in [0, ln T], so that
        constraints have less weight relative to it.

    Raises
    ------
    ValueError
        If there are fewer than two partitions, or an argument is out of range.

    Warns
    -----
    UserWarning
        If there are only two partitions: most scores cannot tell them apart.

    Warnings
    --------
    The default weight of 1 is the paper's; with few links, one broken link then moves a
    model over many ranks. The app uses 0.2, see the Warnings of `rank_partitions`.

    Notes
    -----
    M[c] pairs are joined by c partitions, N[t, c] of these also by t. If d1 and d0 are
    the costs of a pair that t joins or separates: n² S(t) = sum_c N[t, c] d1(c) + (M[c]
    - N[t, c]) d0(c). O(T²) time given the agreements. "tv" of an Ensemble comes from
    contingency tables instead, O(n T²) time.

    Partial partitions: p counts the votes that saw the pair, and a model is averaged
    over the pairs that it saw. The pairs (i, i) have the weight that they have in a
    full partition. The score of a model that saw few samples rests on few pairs, and on
    its own vote if no other model saw them: read `Ensemble.n_gaps` beside the scores.

    References
    ----------
    Ohl, L., Lindsten, F. Discriminative ordering through ensemble consensus,
    Algorithm 1 and equation 5.

    Examples
    --------
    >>> ensemble = Ensemble([[0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1]])
    >>> discotec(ensemble).tolist()
    [0.125, 0.25, 0.25]
    """
    check_choice(variant, get_args(Variant), name="variant")
    check_choice(constraint_cost, get_args(ConstraintCost), name="constraint_cost")
    run = RunOptions(n_jobs, progress, cancel, executor)
    partitions = _several(ensemble)
    if threshold is not None:
        if variant != "binary":
            raise ValueError(
                f"threshold is {threshold}, but variant {variant!r} has none; leave it "
                "out or choose 'binary'."
            )
        check_range(
            threshold, 0, partitions.n_votes + 1, name="threshold", integer=True
        )
    if isinstance(ensemble, Ensemble) and variant == "tv" and not ensemble.is_partial:
        overlaps = partition_overlaps(ensemble, **run.threads)
        scores = _total_variation(overlaps, ensemble.votes)
    else:
        if isinstance(ensemble, Ensemble):
            ensemble = count_agreements(ensemble, **run.threads)
        scores = _mean_cost(ensemble, variant, threshold)
    broken_cost = np.inf if (constraint_cost, variant) == ("distance", "kl") else 1.0
    return scores + violation_charge(
        partitions, constraints, constraint_weight, broken_cost
    )


@takes_running
def average_ari(
    ensemble: Ensemble | Agreement,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> FloatArray:
    """Average adjusted Rand index of each partition with the others.

    Parameters
    ----------
    ensemble : Ensemble or Agreement
        T >= 2 partitions; identical copies and further votes count as others.
    n_jobs, progress, cancel, executor
        As in `count_agreements`.

    Returns
    -------
    scores : array of float, shape (n_partitions,)
        In [-0.5, 1], higher is better.

    Notes
    -----
    O(n T²) time on the first call for an ensemble, O(T²) later.

    References
    ----------
    Hubert, L., Arabie, P. Comparing partitions. Journal of Classification 2 (1985),
    equation 5.

    Examples
    --------
    >>> average_ari(Ensemble([[0, 0, 1], [1, 1, 0], [0, 1, 1]])).round(2).tolist()
    [0.25, 0.25, -0.5]
    """
    partitions = _several(ensemble)
    run = RunOptions(n_jobs, progress, cancel, executor)
    overlaps = partition_overlaps(partitions, **run.threads)
    return _mean_over_others(overlaps.adjusted_rand, partitions.votes)


@takes_running
def average_nmi(
    ensemble: Ensemble | Agreement,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> FloatArray:
    """Average normalised mutual information of each partition with the others.

    Parameters
    ----------
    ensemble : Ensemble or Agreement
        T >= 2 partitions; identical copies and further votes count as others.
    n_jobs, progress, cancel, executor
        As in `count_agreements`.

    Returns
    -------
    scores : array of float, shape (n_partitions,)
        In [0, 1], higher is better; normalised by the mean of the two entropies.

    Notes
    -----
    O(n T²) time on the first call for an ensemble, O(T²) later.

    References
    ----------
    Strehl, A., Ghosh, J. Cluster ensembles. Journal of Machine Learning Research 3
    (2002), section 2.2, there with the geometric mean.

    Examples
    --------
    >>> average_nmi(Ensemble([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]])).tolist()
    [0.5, 0.5, 0.0]
    """
    partitions = _several(ensemble)
    run = RunOptions(n_jobs, progress, cancel, executor)
    overlaps = partition_overlaps(partitions, **run.threads)
    return _mean_over_others(overlaps.normalized_information, partitions.votes)


def threshold_scores(agreement: Agreement) -> FloatArray:
    """Score each partition by "binary" at every threshold.

    Parameters
    ----------
    agreement : Agreement
        Counted agreements of T partitions.

    Returns
    -------
    scores : array of float, shape (n_partitions, n_votes + 2)
        Entry (t, k): share of pairs on which t contradicts the consensus binarised at k
        votes, in [0, 1]; lower is better. At 0 all pairs are joined, at n_votes + 1
        none. `rank_values(scores, False)` returns the ranks.

    Notes
    -----
    Cumulative sums, O(T²) time.

    Examples
    --------
    >>> ensemble = Ensemble([[0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1]])
    >>> threshold_scores(count_agreements(ensemble))[0].tolist()
    [0.5, 0.375, 0.125, 0.25, 0.5]
    """
    joined = check_agreement(agreement).by_votes(agreement.joint_counts).astype(float)
    joined[:, -1] += agreement.identical_remainder
    apart = agreement.by_votes(agreement.apart_counts)
    below = np.pad(np.cumsum(joined, axis=1), ((0, 0), (1, 0)))
    above = np.pad(np.cumsum(apart[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
    return (below + above) / (joined + apart).sum(axis=1, keepdims=True)


def pair_costs(
    variant: Variant, votes: int, threshold: int
) -> tuple[FloatArray, FloatArray]:
    """Costs of a pair: if a partition joins it, and if a partition separates it.

    Both have shape (votes + 1,), by the number of votes that join the pair; `threshold`
    is the least number at which "binary" counts it as joined. Only a partition without
    a vote can join a pair of 0 votes or separate a pair of all votes. "kl" then charges
    its largest regular cost, as if a single vote were on that side.
    """
    counts = np.arange(votes + 1)
    if variant == "binary":
        apart = (counts >= threshold).astype(float)
        return 1 - apart, apart
    share = counts / votes
    joined = {
        "kl": -np.log(np.maximum(counts, 1) / votes),
        "tv": 1 - share,
        "hellinger": 1 - np.sqrt(share),
    }[variant]
    return joined, joined[::-1].copy()


def agreement_costs(
    agreement: Agreement, variant: Variant, threshold: int
) -> tuple[FloatArray, FloatArray]:
    """Return `pair_costs` for the columns of the tables of an agreement.

    Partial partitions use a share instead of a count over all votes. For a model that
    is alone on its side, "kl" charges the cost of one vote of all on that side.
    """
    n_votes = agreement.ensemble.n_votes
    if agreement.levels is None:
        return pair_costs(variant, n_votes, threshold)
    if variant == "binary":
        apart = (agreement.levels.needed(n_votes) >= threshold).astype(float)
        return 1 - apart, apart
    share = agreement.shares

    def cost(share: FloatArray) -> FloatArray:
        return {
            "kl": -np.log(np.maximum(share, 1 / n_votes)),
            "tv": 1 - share,
            "hellinger": 1 - np.sqrt(share),
        }[variant]

    return cost(share), cost(1 - share)


def partitions_of(source: Ensemble | Agreement) -> Ensemble:
    """Return the ensemble of an ensemble or agreement."""
    if isinstance(source, Agreement):
        return source.ensemble
    return check_ensemble(source, alternatives=" or an Agreement")


def _several(source: Ensemble | Agreement) -> Ensemble:
    """Return the ensemble, at least two partitions; warn if it is only two."""
    ensemble = partitions_of(source)
    n_voters = int(np.count_nonzero(ensemble.votes))
    if ensemble.n_partitions < 2:
        raise ValueError(
            "ensemble has 1 partition; give at least two, better three, to compare."
        )
    if n_voters < 2:
        raise ValueError(
            "ensemble has 1 partition with a vote; give at least two of them a weight "
            "above 0, better three."
        )
    if ensemble.n_partitions == 2 and ensemble.n_votes == 2:
        warn_caller(
            "ensemble has 2 partitions, which most scores cannot tell apart; give "
            "three or more.",
        )
    return ensemble


def violation_charge(
    ensemble: Ensemble,
    constraints: Constraints | None,
    weight: float,
    broken_cost: float,
) -> FloatArray:
    """Weighted mean cost of the constraints that each partition breaks."""
    weight = check_range(weight, 0.0, np.inf, name="constraint_weight")
    charge = weight * check_constraints(constraints).violations(ensemble)
    charge[charge > 0] *= broken_cost
    return charge


def _mean_cost(
    agreement: Agreement, variant: Variant, threshold: int | None
) -> FloatArray:
    """Mean cost per ordered pair from the two tables, shape (n_partitions,)."""
    if threshold is None:
        threshold = agreement.threshold
    joined, apart = agreement_costs(agreement, variant, threshold)
    separated = agreement.apart_counts
    own = agreement.identical_remainder
    costs = agreement.joint_counts @ joined + separated @ apart + own * joined[-1]
    return costs / ((agreement.joint_counts + separated).sum(axis=1) + own)


def _total_variation(overlaps: Overlaps, votes: IntArray) -> FloatArray:
    """Mean of abs(A - C): A + C - 2 A C per pair, because A is 0 or 1."""
    sizes = overlaps.squares.diagonal()
    shares = votes / votes.sum()
    means = overlaps.squares @ shares
    return (sizes + sizes @ shares - 2 * means) / overlaps.n_samples**2


def _mean_over_others(index: FloatArray, votes: IntArray) -> FloatArray:
    """Mean index (T,) of each partition with all votes but one of its own."""
    own = votes > 0
    return (index @ votes - own * index.diagonal()) / (votes.sum() - own)
