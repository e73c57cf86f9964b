"""Makeups: scores of the models in pools of another composition, without links.

Every family of clusterers is left out in turn, a majority of the models is required to
agree, and every family gets the same total vote.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.options import Cancel, Progress, RunOptions, report
from clusterlens.compute._validation import FloatArray, Frozen, IntArray, check_choice
from clusterlens.compute.ensemble.agreement import (
    Agreement,
    count_agreements,
    count_samples,
)
from clusterlens.compute.ensemble.ensemble import Ensemble, distinct_partitions
from clusterlens.compute.ensemble.overlaps import partition_overlaps, select_partitions
from clusterlens.compute.ensemble.pairs import joined_votes, pair_layout, sum_costs
from clusterlens.compute.formatting import all_of
from clusterlens.compute.ranking.ranking import SCORES, rank_partitions
from clusterlens.compute.ranking.scores import (
    Variant,
    discotec,
    pair_costs,
    partitions_of,
)

_FEWEST = 3  # two partitions are equally far from their consensus
_MOST_VOTES = 1 << 18  # of a family, to keep tables of costs small
_INDICES = {"aari": "adjusted_rand", "anmi": "normalized_information"}
_STEPS = 1000  # progress steps of one pass


@dataclass(frozen=True, eq=False)
class Makeups(Frozen):
    """Scores of each partition under other compositions of the pool, without links.

    Parameters
    ----------
    ensemble, score, threshold, exact
        As in `Robustness`.
    whole, majority : array of float, shape (n_partitions,)
        Score in the whole pool, and the score behind `Robustness.ranks_majority`.
    without : mapping of str to array of float, shape (n_partitions,)
        By family: score if its models do not vote; NaN for the family itself.
    equal : array of float, shape (n_partitions,), or None
        Score if all families have the same total vote.
    reasons : tuple of str
        Reasons for missing scores.
    """

    ensemble: Ensemble
    score: str
    whole: FloatArray
    majority: FloatArray
    without: Mapping[str, FloatArray]
    equal: FloatArray | None
    reasons: tuple[str, ...]
    threshold: int | None
    exact: bool


def score_makeups(
    ensemble: Ensemble | Agreement,
    score: str = "discotec-binary",
    *,
    threshold: int | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> Makeups:
    """Compute the expensive part of `rank_robustness`, which no link changes.

    Arguments, errors and cost are the same as there.
    """
    check_choice(score, SCORES, name="score")
    RunOptions(n_jobs, progress, cancel, executor)  # validates them
    partitions = partitions_of(ensemble)
    names = tuple(dict.fromkeys(partitions.families))
    n_stages = len(names) + 3

    def run(stage: int) -> RunOptions:
        part = _stage(progress, stage, n_stages)
        return RunOptions(n_jobs, part, cancel, executor)

    if isinstance(ensemble, Ensemble):
        ensemble = count_agreements(ensemble, **run(0).threads)
    whole = rank_partitions(ensemble, score, threshold, **run(1).threads).unconstrained

    def scores_of(left: npt.NDArray[np.bool_], stage: int) -> FloatArray:
        pool = _agreement_of(ensemble, left, run(stage))
        at = _same_share(threshold, pool.ensemble.n_votes, partitions.n_votes)
        return rank_partitions(pool, score, at, **run(stage).threads).unconstrained

    without, reasons = _scores_without(partitions, names, scores_of)
    majority = partitions.n_votes // 2 + 1
    equal = _equal_family_values(ensemble, score, threshold, run(n_stages - 1))
    if equal is None:
        of = "partial partitions" if partitions.is_partial else repr(score)
        reasons.append(f"Equal votes of the families are not defined for {of}.")
    report(progress, _STEPS * n_stages, _STEPS * n_stages)
    return Makeups(
        partitions,
        score,
        whole,
        rank_partitions(ensemble, "discotec-binary", majority).unconstrained,
        without,
        equal,
        tuple(reasons),
        threshold,
        ensemble.exact,
    )


def _agreement_of(
    whole: Agreement, left: npt.NDArray[np.bool_], run: RunOptions
) -> Agreement:
    """Count the agreements of some partitions on the samples of the whole count."""
    pool = select_partitions(whole.ensemble, left)
    if whole.samples is None:
        return count_agreements(pool, **run.threads)
    return count_samples(pool, whole.samples, run)


def _same_share(threshold: int | None, votes: int, of: int) -> int | None:
    """Smallest number of votes that is the share threshold / of, or None."""
    return None if threshold is None else min(-(-threshold * votes // of), votes + 1)


def _scores_without(
    ensemble: Ensemble,
    families: tuple[str, ...],
    scores_of: Callable[[npt.NDArray[np.bool_], int], FloatArray],
) -> tuple[dict[str, FloatArray], list[str]]:
    """Compute scores without each family, and reasons if too few models are left."""
    if len(families) == 1:
        return {}, [
            f"{all_of(len(ensemble.families)).capitalize()} models are of one family, "
            f"{families[0]!r}, so the order without it cannot be determined."
        ]
    without, reasons = {}, []
    copies = distinct_partitions(ensemble)[1]
    for stage, family in enumerate(families, start=2):
        left = np.asarray(ensemble.families) != family
        n_distinct = len(np.unique(copies[left & (ensemble.votes > 0)]))
        if ensemble.votes[left].sum() < _FEWEST or n_distinct < 2:
            reasons.append(
                f"Without {family!r} {np.count_nonzero(left)} of {left.size} models "
                f"are left, too few to rank; the pool needs {_FEWEST} or more of other "
                "families, not all the same."
            )
            continue
        row = np.full(left.size, np.nan)
        row[left] = scores_of(left, stage)
        without[family] = row
    return without, reasons


def _equal_family_values(
    agreement: Agreement, score: str, threshold: int | None, run: RunOptions
) -> FloatArray | None:
    """Return values of the score with equal votes of all families, or None."""
    ensemble = agreement.ensemble
    families = np.unique(ensemble.families, return_inverse=True)[1]
    sizes = np.zeros(int(families.max()) + 1, np.int64)
    np.add.at(sizes, families, ensemble.votes)
    if score in _INDICES:
        index = getattr(partition_overlaps(ensemble, **run.threads), _INDICES[score])
        return _mean_over_families(index, families, ensemble.votes)
    variant = SCORES[score].variant
    if variant is None or (ensemble.is_partial and len(set(sizes)) > 1):
        return None
    if len(set(sizes)) == 1:
        return discotec(agreement, variant, threshold)
    votes = _family_votes(sizes)[families] * ensemble.votes
    return _weighted_discotec(agreement, variant, threshold, votes, run)


def _family_votes(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return whole factors for the votes of each family that make totals equal."""
    some = np.maximum(sizes, 1)  # a family without a vote keeps none
    total = min(math.lcm(*some.tolist()), _MOST_VOTES)
    return np.maximum(np.round(total / some), 1).astype(np.int64)


def _weighted_discotec(
    agreement: Agreement,
    variant: Variant,
    threshold: int | None,
    votes: npt.NDArray[np.int64],
    run: RunOptions,
) -> FloatArray:
    """Compute the DISCOTEC score of each partition if partition t has votes[t] votes.

    The n pairs (i, i) and pairs of merged identical samples cost nothing.
    """
    ensemble, samples = agreement.ensemble, agreement.samples
    layout = pair_layout(ensemble, samples, votes)
    n_votes = int(votes.sum())
    needed = _same_share(threshold, n_votes, ensemble.n_votes)
    if needed is None:
        needed = -(-joined_votes(ensemble, votes) // ensemble.n_samples**2)
    costs = sum_costs(layout, *pair_costs(variant, n_votes, needed), run=run)
    size = ensemble.n_samples if samples is None else len(samples)
    mean = 2 * costs / max(size * (size - 1), 1)
    return mean[layout.group] * (1 - 1 / ensemble.n_samples)


def _mean_over_families(
    index: FloatArray, families: npt.NDArray[np.int64], votes: IntArray
) -> FloatArray:
    """Average over families the mean index with the other votes of each family."""
    own = np.diag(np.minimum(votes, 1))
    others = np.broadcast_to(votes, index.shape) - own
    member = np.equal.outer(families, np.unique(families)).astype(float)
    counts = others @ member
    means = (index * others) @ member / np.maximum(counts, 1)
    return means.sum(axis=1) / (counts > 0).sum(axis=1)


def _stage(progress: Progress | None, stage: int, count: int) -> Progress | None:
    """Return progress of one pass as its part of the whole."""
    if progress is None:
        return None
    return lambda done, total: report(
        progress, _STEPS * stage + _STEPS * done // max(total, 1), _STEPS * count
    )
