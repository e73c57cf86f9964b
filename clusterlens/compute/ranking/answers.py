"""Answers as evidence: probability of each model, given the answers of an analyst.

Ten answers decide more than one, some answers are wrong, and perhaps no model of the
pool fits them: the posterior quantifies all three.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.special import entr

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import DEFAULT_RUN, Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    IntArray,
    read_only,
)
from clusterlens.compute.ensemble.agreement import Agreement
from clusterlens.compute.ensemble.constraints import Constraints, check_constraints
from clusterlens.compute.ensemble.ensemble import (
    Ensemble,
    distinct_partitions,
    without_slight_votes,
)
from clusterlens.compute.ensemble.overlaps import partition_overlaps
from clusterlens.compute.ranking._evidence import (
    ErrorRate,
    answer_outcomes,
    probabilities,
    share_broken,
    weigh_answers,
)
from clusterlens.compute.ranking._questions import (
    Asking,
    Independence,
    ask_by_evidence,
    most_informative,
)
from clusterlens.compute.ranking.likeness import NEAR_COPY, likeness
from clusterlens.compute.ranking.ranking import Ranking, rank_partitions

_NONE_FITS = 3.0  # odds of coin tosses against the pool
_FEW = 0.1  # chance of another leader
_LITTLE = 0.02  # change of the consensus
_NEXT = 6  # questions to examine


@dataclass(frozen=True, eq=False, repr=False)
class AnswerPosterior(Frozen):
    """Probability of each partition of an ensemble, given answers.

    Attributes
    ----------
    ensemble : Ensemble
        The T partitions.
    constraints : Constraints
        The answers.
    values : array of float64, shape (n_partitions,)
        Probabilities, sum 1. Copies of a partition share its probability; partitions of
        weight 0 have 0.
    error_rate : float
        Share of answers that the right model of the pool contradicts: the given rate,
        or
        the mean of its posterior.
    odds_of_chance : float
        Odds of coin tosses against the models as an explanation of the answers,
        with equal prior odds; above 3 `none_fits` is true.
    outcomes : array of int64, shape (n_partitions, 2)
        Numbers of answers that each partition breaks and that it leaves open.
    """

    ensemble: Ensemble
    constraints: Constraints
    values: FloatArray
    error_rate: float
    odds_of_chance: float
    outcomes: IntArray

    @property
    def voting(self) -> Ensemble:
        """The partitions, each with its probability times n_partitions as weight.

        Its consensus matrix, binarised matrix, order and partition follow the answers.
        A probability of less than half a vote gives no vote.
        """
        weights = self.values * self.ensemble.n_partitions
        return self.ensemble.with_weights(without_slight_votes(weights))

    @property
    def none_fits(self) -> bool:
        """Whether the answers fit no model of the pool better than chance."""
        return self.odds_of_chance > _NONE_FITS

    @property
    def entropy(self) -> float:
        """Entropy of the probabilities of distinct partitions in nats; 0 is certain."""
        return float(entr(self._masses).sum())

    @property
    def n_effective(self) -> float:
        """Effective number of models: 1 / sum p² over distinct partitions, from 1."""
        return float(1 / (self._masses**2).sum())

    @cached_property
    def groups(self) -> IntArray:
        """Group of near-copies of each partition, shape (n_partitions,), from 0.

        Average linkage of the adjusted Rand indices, cut at 0.95. O(n T²) time.
        """
        alike = partition_overlaps(self.ensemble).adjusted_rand
        if len(alike) < 2:
            return np.zeros(1, np.int64)
        apart = squareform(np.clip(1 - alike, 0, 2), checks=False)
        groups = fcluster(linkage(apart, "average"), 0.05, "distance")
        return read_only(pd.factorize(groups)[0].astype(np.int64))

    @cached_property
    def group_values(self) -> FloatArray:
        """Probability of each group of near-copies, shape (n_groups,), sum 1.

        All groups have the same probability before any score or answer, whatever the
        number of their models, so that near-copies do not add up.
        """
        first, group = distinct_partitions(self.ensemble)
        of_first = self.groups[first]
        sizes = np.bincount(of_first, self._counts[first])
        mass = np.bincount(group, self.values)
        sums = np.bincount(of_first, mass) / np.maximum(sizes, 1)
        return read_only(sums / sums.sum())

    @cached_property
    def likeness(self) -> FloatArray:
        """Expected adjusted Rand index with the right partition, (n_partitions,).

        Averages the index of each partition with all others, weighted by their
        probabilities, so that near-copies support each other. The largest value is the
        safest choice: closer to the classes than the most probable partition if answers
        are few or some are wrong (`benchmarks/answers.py`). O(n T²) time.
        """
        alike = partition_overlaps(self.ensemble).adjusted_rand
        return read_only(alike @ self.values)

    @property
    def expected_change(self) -> float:
        """Expected mean absolute change of the consensus by an answer, in [0, 1].

        The largest of the six best next questions, as a mean over pairs of samples and
        over both answers; 0 if no question is left.
        """
        return max((change for change, _ in self._next), default=0.0)

    @property
    def leader_change(self) -> float:
        """Chance that an answer makes another partition the most probable.

        Near-copies of the leader (adjusted Rand index 0.95) do not count as others. The
        largest of the six best next questions; 0 if no question is left.
        """
        return max((chance for _, chance in self._next), default=0.0)

    @property
    def enough(self) -> bool:
        """Whether one more answer will hardly change the leader and the consensus.

        True if chances are below 0.1, changes below 0.02, and a model fits.
        """
        calm = self.leader_change < _FEW and self.expected_change < _LITTLE
        return calm and not self.none_fits

    @cached_property
    def _counts(self) -> IntArray:
        """1 for partitions that are candidates or copies of one, else 0."""
        first, group = distinct_partitions(self.ensemble)
        some = np.bincount(group, self.ensemble.weights > 0, minlength=len(first))
        return (some[group] > 0).astype(np.int64)

    @property
    def _masses(self) -> FloatArray:
        """Probability of each distinct partition."""
        group = distinct_partitions(self.ensemble)[1]
        return np.bincount(group, self.values).astype(float)

    @cached_property
    def _next(self) -> list[tuple[float, float]]:
        """Change of the consensus and chance of another leader for the next questions.

        Uses several questions because a single one may have little effect by chance.
        """
        some = self.ensemble.candidates
        asking = ask_by_evidence(some, self.constraints, 0)
        first, group = distinct_partitions(some)
        values = self.values[self.ensemble.weights > 0]
        weights = np.bincount(group, values).astype(float)
        alike = likeness(some, int(first[weights.argmax()]))[first]
        others = ~(alike >= NEAR_COPY)  # includes NaN: no shared samples
        contrast = 1 - 2 * self.error_rate
        split = asking.expected - asking.expected @ weights[:, None]
        found = []
        for k in _questions(asking, self.constraints, some.n_samples):
            covariance = split @ (weights * split[k])
            joins = self.error_rate + contrast * asking.expected[k]
            change = float(2 * contrast * np.abs(covariance).mean())
            found.append((change, _leader_change(weights, joins, others)))
        return found

    def to_frame(self) -> pd.DataFrame:
        """Return one row per partition, most probable first.

        Returns
        -------
        frame : DataFrame
            Columns model, family, posterior and broken (share of the answers that the
            partition breaks); the index is the position.
        """
        frame = pd.DataFrame(
            {
                "model": self.ensemble.names,
                "family": self.ensemble.families,
                "posterior": self.values,
                "broken": share_broken(self.outcomes, self.constraints),
            }
        )
        order = np.argsort(-self.values, kind="stable")
        return frame.rename_axis("position").iloc[order]

    def __repr__(self) -> str:
        """Return the leader, its probability, the number of answers, and error rate."""
        leader = int(self.values.argmax())
        return (
            f"AnswerPosterior({self.ensemble.names[leader]}: {self.values[leader]:.2f}"
            f", {self.constraints.n_pairs} answers, error rate {self.error_rate:.2f})"
        )


@takes_running
def answer_posterior(
    ensemble: Ensemble | Agreement,
    constraints: Constraints | None,
    error_rate: ErrorRate = "auto",
    score: str = "discotec-binary",
    *,
    threshold: int | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> AnswerPosterior:
    """Weigh the partitions of an ensemble by the answers of an analyst.

    Parameters
    ----------
    ensemble : Ensemble or Agreement
        T >= 2 partitions, or their counted agreements, which make the call instant.
    constraints : Constraints or None
        The answers: "together" is a must-link, "apart" a cannot-link.
    error_rate : float or "auto", default "auto"
        Share of answers that the right model of the pool contradicts, from 0.02 to 0.5;
        "auto" estimates it with the posterior.
    score : str, default "discotec-binary"
        A name in `SCORES`; it gives typical partitions a higher prior probability.
    threshold : int, optional
        As in `rank_partitions`.
    n_jobs, progress, cancel, executor
        As in `count_agreements`.

    Returns
    -------
    posterior : AnswerPosterior
        Probabilities, error rate, and the possible effect of one more answer.

    Raises
    ------
    ValueError
        If an argument is out of range, or the constraints name other samples.

    Notes
    -----
    With the score s_t (lower is better), its standard deviation tau over the distinct
    candidates, and q answers: model t breaks b_t and leaves h_t open, and

        p_t ~ exp(-s_t / tau) · mean over e of e^b_t (1 - e)^(q - b_t - h_t) / 2^h_t,

    where e has the Beta prior of 2 wrong and 8 right answers, cut to 0.02 to 0.5. The
    scale is the spread of the scores, so that all scores are equally sharp. The rates
    do not describe the analyst alone: the questions are about contested pairs, on which
    even the best model of the pool is often wrong. A model leaves an answer open if a
    label is noise or missing.

    A vote counts in the consensus; it does not claim to be right. The scores compare
    with the models that vote, but the probabilities are of all candidates, including
    those without a vote (see `vote_weights`). Partitions derived from others or from
    the answers have weight 0; evidence for them would count twice.

    Equivalently, p_t ~ exp(-v_t / tau) with the values v_t of `rank_partitions(...,
    constraint_weight="evidence")`, which has the same order. O(T q) time given the
    agreements.

    References
    ----------
    Van Craenendonck, T., Blockeel, H. Constraint-based clustering selection. Machine
    Learning 106 (2017), doi:10.1007/s10994-017-5643-7 (choosing by constraints).
    Dawid, A. P., Skene, A. M. Maximum likelihood estimation of observer error-rates.
    Applied Statistics 28 (1979).

    Examples
    --------
    >>> ensemble = Ensemble([[0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1]])
    >>> answers = Constraints(must_link=[(0, 2)], cannot_link=[(2, 3)])
    >>> answer_posterior(ensemble, answers).values.round(2).tolist()
    [0.37, 0.59, 0.04]
    """
    run = RunOptions(n_jobs, progress, cancel, executor)
    ranking = rank_partitions(ensemble, score, threshold, **run.threads)
    return weigh_ranking(ranking, constraints, error_rate)


def weigh_ranking(
    ranking: Ranking,
    constraints: Constraints | None,
    error_rate: ErrorRate = "auto",
) -> AnswerPosterior:
    """Compute `answer_posterior` from the scores of a ranking, ignoring its links.

    O(T q) time.
    """
    partitions, scores = ranking.ensemble, ranking.unconstrained
    known = check_constraints(constraints, partitions.n_samples)
    outcomes = answer_outcomes(partitions, known)
    evidence = weigh_answers(partitions, known, scores, error_rate, outcomes)
    greater = ranking.greater_is_better
    charge = -evidence.charge if greater else evidence.charge
    prior = probabilities(partitions, scores, scores, greater)
    return AnswerPosterior(
        partitions,
        known,
        probabilities(partitions, scores, scores + charge, greater),
        evidence.error_rate(prior),
        float(np.exp(evidence.log_odds_of_coins(prior))),
        outcomes,
    )


def _questions(asking: Asking, known: Constraints, n_samples: int) -> Iterator[int]:
    """Yield positions of the most informative pairs that are worth asking."""
    independent = Independence(known, asking.pairs, n_samples)
    for question in islice(most_informative(asking, independent, DEFAULT_RUN), _NEXT):
        if question.changes < asking.least_change:
            return
        yield question.position


def _leader_change(
    weights: FloatArray, joins: FloatArray, others: npt.NDArray[np.bool_]
) -> float:
    """Chance of another leader after an answer; `joins` (n_models,) expect it."""
    return float(
        sum(
            weights @ likelihood
            for likelihood in (joins, 1 - joins)
            if others[(weights * likelihood).argmax()]
        )
    )
