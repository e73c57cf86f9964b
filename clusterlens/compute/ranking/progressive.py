"""Progressive ranking: an order of the models that tightens while samples are added.

The samples of a growing random set, the same for all models, are compared with each
other. Counts of pairs add up, so that every look costs only its new pairs. Each look
has intervals for the scores and for the differences of neighbours, wide enough to stop
at any look. O(m² T) time for m samples, O(n T) to start.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import norm

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    RandomState,
    check_choice,
    check_flag,
    check_random_state,
    check_range,
)
from clusterlens.compute.ensemble.agreement import count_agreements
from clusterlens.compute.ensemble.constraints import Constraints, check_constraints
from clusterlens.compute.ensemble.counting_cost import (
    EXACT_COMPARISONS,
    affordable_samples,
    agreement_cost,
)
from clusterlens.compute.ensemble.ensemble import (
    Ensemble,
    check_ensemble,
    distinct_partitions,
)
from clusterlens.compute.ensemble.pairs import count_columns, joined_votes, pair_layout
from clusterlens.compute.ranking._contributions import mean_costs
from clusterlens.compute.ranking._evidence import (
    Weight,
    check_weight,
    posterior_under,
    weigh_links,
)
from clusterlens.compute.ranking.ranking import SCORES, Ranking, rank_partitions
from clusterlens.compute.ranking.scores import Variant, pair_costs
from clusterlens.compute.ranking.uncertainty import (
    Uncertainty,
    check_confidence,
    make_uncertainty,
)

FIRST_SIZE = 2_048

_SMALLEST = 500  # samples from which the normal approximation is used


@dataclass(frozen=True, eq=False, repr=False)
class ProgressiveRanking(Frozen):
    """One look of a progressive ranking.

    Parameters
    ----------
    ranking : Ranking
        The current order; `ranking.exact` is False for an estimate.
    n_compared : int
        Number of samples compared with each other.
    standard_errors : array of float, shape (n_partitions,)
        Standard errors of the scores, 0 if exact.
    half_widths : array of float, shape (n_partitions,)
        Half widths of the intervals for the scores, which hold for all partitions at
        all
        looks together with the given confidence.
    differences : array of float, shape (n_partitions - 1,)
        Differences from each partition of `ranking.order` to the next, 0 or more.
    difference_half_widths : array of float, shape (n_partitions - 1,)
        Half widths of the intervals for the differences. They hold for all pairs of
        partitions at all looks together, because the data choose the neighbours.
    settled : bool
        Whether every difference is beyond chance; identical partitions share a rank.
    """

    ranking: Ranking
    n_compared: int
    standard_errors: FloatArray
    half_widths: FloatArray
    differences: FloatArray
    difference_half_widths: FloatArray
    settled: bool

    @property
    def exact(self) -> bool:
        """Whether all pairs of samples were counted."""
        return self.ranking.exact

    @property
    def intervals(self) -> FloatArray:
        """Ends of the intervals for the values, shape (n_partitions, 2)."""
        return self.ranking.intervals

    def to_frame(self) -> pd.DataFrame:
        """Return the ranking as a table, best first.

        Returns
        -------
        frame : DataFrame
            Columns of `Ranking.to_frame`, low and high (interval for the score), and
            to_next, to_next_low and to_next_high (difference to the next row and its
            interval, missing in the last row).
        """
        ends, width = self.intervals[self.ranking.order], self.difference_half_widths
        following = {
            "to_next": self.differences,
            "to_next_low": self.differences - width,
            "to_next_high": self.differences + width,
        }
        return self.ranking.to_frame().assign(
            low=ends[:, 0],
            high=ends[:, 1],
            **{name: np.append(column, np.nan) for name, column in following.items()},
        )

    def __repr__(self) -> str:
        """Return the state and the number of samples compared."""
        state = "exact" if self.exact else "settled" if self.settled else "open"
        return f"ProgressiveRanking({state}, {self.n_compared} samples compared)"


@takes_running
def rank_progressively(
    ensemble: Ensemble,
    score: str = "discotec-binary",
    threshold: int | None = None,
    constraints: Constraints | None = None,
    constraint_weight: Weight = 1.0,
    *,
    confidence: float = 0.95,
    first_size: int = FIRST_SIZE,
    max_comparisons: int = EXACT_COMPARISONS,
    exact: bool = False,
    random_state: RandomState = 0,
    n_population: int | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> Iterator[ProgressiveRanking]:
    """Rank the partitions from a growing random set of samples, with intervals.

    Parameters
    ----------
    ensemble : Ensemble
        T >= 2 partitions of n samples.
    score : str, default "discotec-binary"
        A DISCOTEC score in `SCORES`; the average indices are exact in linear time.
    threshold : int, optional
        For "discotec-binary": agreement count from 0 to T + 1 from which a pair counts
        as joined. Default the mean over all pairs, known exactly from cluster sizes.
    constraints : Constraints, optional
        Pairs that should be joined or separated; their charge is exact.
    constraint_weight : float or "evidence", default 1.0
        Charge for breaking all of them, as in `rank_partitions`.
    confidence : float, default 0.95
        Confidence of the intervals, between 0 and 1.
    first_size : int, default 2048
        Samples of the first look, at least 500; the set doubles from look to look.
    max_comparisons : int, default 3e11
        Budget of comparisons of two labels: pairs of samples times partitions. If it
        covers all samples, the last look is exact.
    exact : bool, default False
        Whether to continue to the exact ranking once the order is settled or the budget
        spent; `count_agreements` computes it in O(n² T) time.
    random_state : int, default 0
        Seed of the draw of samples.
    n_population : int, optional
        Rows of a larger table from which the n samples were drawn uniformly; the scores
        then refer to all its rows, no look is exact, and the threshold has to be given.
        Default: the n samples are all.
    n_jobs, progress, cancel, executor
        As in `count_agreements`; progress counts the pairs of samples of each look.

    Returns
    -------
    looks : iterator of ProgressiveRanking
        One look at a time, computed on request. Ends when the order is settled or the
        budget is spent.

    Raises
    ------
    ValueError
        If there are fewer than two partitions, or an argument is out of range.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    The mean cost of the pairs of m samples drawn without replacement is a U-statistic,
    unbiased for the mean over all pairs. Its variance is 4 (1 - m / n) s² / m with s²
    the variance over samples of the mean cost h of a sample with others. Here h is the
    mean cost of each of the m samples with the first `first_size` ones. This makes s²
    too large rather than too small, and covers the part of the variance of order
    1 / m². Covariances of h between models give the errors of differences. The level is
    divided by the number of looks and of models or, for differences, of pairs of models
    (Bonferroni inequality): all intervals for the scores hold together, and all
    intervals for the differences do. The normal approximation does not cover structure
    that fewer than some ten of the compared samples show.

    Time O(n T) before the first look, then O(m² T + m T²); memory O(n T + T²).

    References
    ----------
    Hoeffding, W. A class of statistics with asymptotically normal distribution. Annals
    of Mathematical Statistics 19 (1948), section 5.
    Nandi, H. K., Sen, P. K. On the properties of U-statistics when the observations are
    not independent, part 2. Calcutta Statistical Association Bulletin 12 (1963).

    Examples
    --------
    >>> labels = np.random.default_rng(0).integers(0, 20, (4, 5_000))
    >>> labels[:2, :1_000] = labels[2, :1_000]
    >>> ensemble = Ensemble(labels)
    >>> looks = rank_progressively(ensemble, first_size=500, max_comparisons=10**7)
    >>> [look.n_compared for look in looks]
    [500, 1000, 2000]
    """
    _check_arguments(ensemble, score, threshold, confidence, first_size)
    budget = int(check_range(max_comparisons, 0, np.inf, name="max_comparisons"))
    seed = check_random_state(random_state)
    exact = check_flag(exact, name="exact")
    population = _check_population(n_population, ensemble, score, threshold, exact)
    check_weight(constraint_weight)
    check_constraints(constraints, ensemble.n_samples)
    run = RunOptions(n_jobs, progress, cancel, executor)
    variant = SCORES[score].variant
    assert variant is not None  # checked above
    sizes, affordable = _schedule(ensemble, first_size, budget, population)

    def looks() -> Iterator[ProgressiveRanking]:
        settled = False
        sample = _Sample(ensemble, variant, threshold, sizes, seed, population)
        while not settled and sample.size < sizes[-1]:
            sample.grow(run)
            scores, covariance = sample.estimate()
            violated, charge = weigh_links(
                ensemble, constraints, constraint_weight, scores
            )
            values = scores + charge
            uncertainty = make_uncertainty(
                values,
                covariance,
                sample.layout.group,
                sample.size,
                confidence,
                norm.isf,
                len(sizes),
            )
            charged = (values, scores, violated)
            posterior = posterior_under(
                constraint_weight, ensemble, scores, values, False
            )
            ranking = Ranking(
                ensemble, score, *charged, False, False, uncertainty, posterior
            )
            look = _look(ranking, uncertainty)
            settled = look.settled
            yield look
        if exact or (affordable and not settled):
            agreement = count_agreements(ensemble, **run.threads)
            yield _exact_look(
                rank_partitions(
                    agreement, score, threshold, constraints, constraint_weight
                )
            )

    return looks()


def _check_arguments(
    ensemble: Ensemble,
    score: str,
    threshold: int | None,
    confidence: float,
    first_size: int,
) -> None:
    """Raise unless the arguments are in range."""
    check_ensemble(ensemble)
    known = [name for name, entry in SCORES.items() if entry.variant is not None]
    check_choice(score, known, name="score")
    if ensemble.n_partitions < 2:
        raise ValueError(
            "ensemble has 1 partition; give at least two, better three, to compare."
        )
    if threshold is not None:
        if score != "discotec-binary":
            raise ValueError(
                f"threshold is {threshold}, but score {score!r} has none; leave it "
                "out or choose 'discotec-binary'."
            )
        most = ensemble.n_votes + 1
        check_range(threshold, 0, most, name="threshold", integer=True)
    check_confidence(confidence)
    check_range(first_size, _SMALLEST, np.inf, name="first_size", integer=True)


def _check_population(
    n_population: int | None,
    ensemble: Ensemble,
    score: str,
    threshold: int | None,
    exact: bool,
) -> int:
    """Return the number of rows that the scores are of."""
    n = ensemble.n_samples
    if n_population is None:
        return n
    check_range(n_population, n + 1, np.inf, name="n_population", integer=True)
    if exact:
        raise ValueError(
            "exact is True with n_population; all pairs of a larger table cannot be "
            "counted from some of its rows."
        )
    if score == "discotec-binary" and threshold is None:
        raise ValueError(
            "threshold is None with n_population; give that of the larger table, which "
            "follows from the sizes of its clusters."
        )
    return int(n_population)


def _schedule(
    ensemble: Ensemble, first_size: int, max_comparisons: int, n_population: int
) -> tuple[list[int], bool]:
    """Return the sample sizes of all looks, and whether all pairs are affordable."""
    if n_population > ensemble.n_samples:
        most = affordable_samples(ensemble.n_partitions, max_comparisons)
        most = min(most, ensemble.n_samples)
        doubled = [first_size << k for k in range(64) if first_size << k <= most]
        return doubled or [min(first_size, ensemble.n_samples)], False
    cost = agreement_cost(ensemble, max_comparisons=max_comparisons)
    if cost.n_items <= first_size:
        return [0], True
    budget = affordable_samples(cost.n_models, max_comparisons)
    sizes, most = [first_size], min(cost.n_items - 1, budget)
    while (size := 2 * sizes[-1]) <= most:
        sizes.append(size)
    return sizes, cost.affordable


class _Sample:
    """The samples compared so far: tables of counts, and moments of mean costs."""

    def __init__(
        self,
        ensemble: Ensemble,
        variant: Variant,
        threshold: int | None,
        sizes: list[int],
        random_state: int,
        n_population: int,
    ) -> None:
        rng = np.random.default_rng(random_state)
        self.sizes, self.size, self.n_samples = sizes, 0, n_population
        drawn = rng.permutation(ensemble.n_samples)[: sizes[-1]]
        self.layout = pair_layout(ensemble, drawn)
        if threshold is None:
            threshold = -(-joined_votes(ensemble) // ensemble.n_samples**2)
        votes = ensemble.n_votes
        self.costs = pair_costs(variant, votes, threshold)
        n_models = len(self.layout.by_model)
        self.pairs = np.zeros(votes + 1, dtype=np.int64)
        self.joint = np.zeros((n_models, votes + 1), dtype=np.int64)
        self.centre = np.zeros(n_models)
        self.sums = np.zeros(n_models)
        self.products = np.zeros((n_models, n_models))

    def grow(self, run: RunOptions) -> None:
        """Compare the samples of the next size with each other."""
        stop = next(size for size in self.sizes if size > self.size)
        pairs, joint = count_columns(self.layout, self.size, stop, run)
        self.pairs += pairs
        self.joint += joint
        means = mean_costs(
            self.layout, *self.costs, self.sizes[0], self.size, stop, run.quiet
        )
        if self.size == 0:
            self.centre = means.mean(axis=0)  # avoids cancellation in the products
        means -= self.centre
        self.sums += means.sum(axis=0)
        self.products += means.T @ means
        self.size = stop

    def estimate(self) -> tuple[FloatArray, FloatArray]:
        """Return scores (n_partitions,) and covariances (n_partitions, n_partitions).

        The n pairs (i, i) cost nothing, so n² S is n (n - 1) times the mean cost of the
        other pairs.
        """
        joined, apart = self.costs
        costs = self.joint @ joined + (self.pairs - self.joint) @ apart
        scores = costs / self.pairs.sum() * (1 - 1 / self.n_samples)
        outer = np.outer(self.sums, self.sums) / self.size
        spread = (self.products - outer) / (self.size - 1)
        covariance = 4 * (1 / self.size - 1 / self.n_samples) * spread
        group = self.layout.group
        return scores[group], covariance[np.ix_(group, group)]


def _look(ranking: Ranking, uncertainty: Uncertainty) -> ProgressiveRanking:
    """Compare the neighbours of an estimated ranking."""
    upper, lower = ranking.order[:-1], ranking.order[1:]
    differences = ranking.values[lower] - ranking.values[upper]
    widths = uncertainty.difference_half_widths[upper, lower]
    group = distinct_partitions(ranking.ensemble)[1]
    copies = group[upper] == group[lower]
    return ProgressiveRanking(
        ranking,
        n_compared=uncertainty.n_compared,
        standard_errors=uncertainty.standard_errors,
        half_widths=uncertainty.half_widths,
        differences=differences,
        difference_half_widths=widths,
        settled=bool((copies | (differences > widths)).all()),
    )


def _exact_look(ranking: Ranking) -> ProgressiveRanking:
    """Wrap an exact ranking, which has no errors."""
    none = np.zeros(len(ranking.values))
    return ProgressiveRanking(
        ranking,
        n_compared=ranking.ensemble.n_samples,
        standard_errors=none,
        half_widths=none,
        differences=np.diff(ranking.values[ranking.order]),
        difference_half_widths=none[1:],
        settled=True,
    )
