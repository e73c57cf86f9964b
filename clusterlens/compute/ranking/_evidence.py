"""Evidence: likelihoods of the models given answers that may be wrong.

A model is charged on the scale of the score, so that one order combines the agreement
of the pool and the answers. The posterior of the models depends on the charged scores
alone: exp(-score / temperature), normalised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, logsumexp, softmax

from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    check_range,
    is_auto,
    plain_repr,
)
from clusterlens.compute.ensemble.constraints import (
    Constraints,
    check_constraints,
)
from clusterlens.compute.ensemble.ensemble import (
    NOISE,
    Ensemble,
    distinct_partitions,
)
from clusterlens.compute.ranking.held_out import HELD_OUT, held_out

EVIDENCE = "evidence"
Weight = float | Literal["evidence"]
ErrorRate = float | Literal["auto"]

# Rates at which the right model of a pool contradicts answers. Below the lowest, a few
# answers would seem certain; above one half, answers would support the opposite.
LOWEST_RATE, HIGHEST_RATE = 0.02, 0.5
_RIGHT, _WRONG = 8.0, 2.0  # pseudo-counts of the prior of the rate
_RATES = 32
_COIN = float(np.log(0.5))  # log-likelihood of an answer that a model leaves open


@dataclass(frozen=True, eq=False)
class Evidence:
    """Likelihoods of the answers under each partition, by the rate of errors.

    Attributes
    ----------
    n_answers : int
        Number of answers.
    rates, log_prior : array of float, shape (n_rates,)
        Rates of errors and the logarithms of their probabilities.
    log_likelihood : array of float, shape (n_rates, n_partitions)
        Log-likelihood of all answers.
    temperature : float
        Spread of the scores: the charge for a likelihood lower by a factor e.
    """

    n_answers: int
    rates: FloatArray
    log_prior: FloatArray
    log_likelihood: FloatArray
    temperature: float

    @property
    def log_marginal(self) -> FloatArray:
        """Log-likelihood of each partition over all rates, shape (n_partitions,)."""
        joint = self.log_prior[:, None] + self.log_likelihood
        return np.asarray(logsumexp(joint, axis=0))

    @property
    def charge(self) -> FloatArray:
        """Charge of each partition (n_partitions,), 0 for the best fit."""
        fit = self.log_marginal
        return self.temperature * (fit.max() - fit)

    def error_rate(self, prior: FloatArray) -> float:
        """Mean of the posterior of the rate, given the prior of the partitions."""
        weighted = logsumexp(self.log_likelihood, axis=1, b=prior)
        return float(softmax(self.log_prior + weighted) @ self.rates)

    def log_odds_of_coins(self, prior: FloatArray) -> float:
        """Log odds of coin tosses for all answers against a model that fits them."""
        pool = logsumexp(self.log_marginal, b=prior)
        return float(self.n_answers * _COIN - pool)


@dataclass(frozen=True)
class Likelihoods:
    """Likelihood weights of the distinct partitions, shape (n_models,)."""

    weights: FloatArray
    error_rate: float


def likelihoods(ensemble: Ensemble, constraints: Constraints) -> Likelihoods:
    """Weigh the distinct partitions of an ensemble by the answers alone.

    All partitions are candidates, because a model that the pool does not favour may
    still be the right one. Suggestions of further questions start from these weights.
    """
    evidence = weigh_answers(ensemble, constraints, np.zeros(ensemble.n_partitions))
    first, _ = distinct_partitions(ensemble)
    prior = np.zeros(ensemble.n_partitions)
    prior[first] = 1 / len(first)
    weights = softmax(evidence.log_marginal[first])
    return Likelihoods(weights, evidence.error_rate(prior))


def weigh_answers(
    ensemble: Ensemble,
    constraints: Constraints | None,
    scores: FloatArray,
    error_rate: ErrorRate = "auto",
    outcomes: IntArray | None = None,
) -> Evidence:
    """Compute the evidence of links as answers, given the scores without links.

    `outcomes` defaults to the result of `answer_outcomes`.
    O(n_partitions (n_pairs + n_rates)) time.
    """
    rates, log_prior = _rates(error_rate)
    known = check_constraints(constraints, ensemble.n_samples)
    if outcomes is None:
        outcomes = answer_outcomes(ensemble, known)
    broken, silent = outcomes.T
    kept = known.n_pairs - broken - silent
    log_likelihood = (
        np.outer(np.log(rates), broken)
        + np.outer(np.log1p(-rates), kept)
        + _COIN * silent
    )
    spread = temperature(ensemble, scores)
    return Evidence(known.n_pairs, rates, log_prior, log_likelihood, spread)


def temperature(ensemble: Ensemble, scores: FloatArray) -> float:
    """Standard deviation of the scores of the distinct candidates, or 1."""
    spread = float(scores[_distinct_candidates(ensemble)].std())
    return spread if spread > np.finfo(float).eps else 1.0


def weigh_links(
    ensemble: Ensemble,
    constraints: Constraints | None,
    weight: Weight,
    scores: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Share of the links that each partition breaks (T,), and its charge (T,) for them.

    If links are evidence, a link to noise or to a missing label is not broken. Models
    made for answers are evaluated by `answer_outcomes` in both cases.
    """
    weight = check_weight(weight)
    known = check_constraints(constraints, ensemble.n_samples)
    if isinstance(weight, str):
        outcomes = answer_outcomes(ensemble, known)
        charge = weigh_answers(ensemble, known, scores, outcomes=outcomes).charge
        return share_broken(outcomes, known), charge
    violated = known.violations(ensemble)
    if (made := _is_made_for_answers(ensemble)).any():
        broken = share_broken(answer_outcomes(ensemble, known), known)
        violated = np.where(made, broken, violated)
    return violated, weight * violated


def share_broken(outcomes: IntArray, known: Constraints) -> FloatArray:
    """Share of all answers that each partition breaks, 0 without any."""
    return np.asarray(outcomes[:, 0] / max(known.n_pairs, 1))


def posterior_under(
    weight: Weight,
    ensemble: Ensemble,
    scores: FloatArray,
    values: FloatArray,
    greater_is_better: bool,
) -> FloatArray | None:
    """Return `probabilities` if links are evidence, else None."""
    if weight != EVIDENCE:
        return None
    return probabilities(ensemble, scores, values, greater_is_better)


def check_weight(weight: Weight) -> Weight:
    """Return the weight of links if it is a number or "evidence"."""
    if not isinstance(weight, str):
        return check_range(weight, 0.0, np.inf, name="constraint_weight")
    if weight != EVIDENCE:
        raise ValueError(
            f"constraint_weight is {plain_repr(weight)}; give a number of at least 0, "
            f"or {EVIDENCE!r}."
        )
    return weight


def probabilities(
    ensemble: Ensemble,
    scores: FloatArray,
    values: FloatArray,
    greater_is_better: bool,
) -> FloatArray:
    """Probability of each partition (T,), given its charged score; the sum is 1.

    Copies of a partition share its probability; partitions of weight 0 get none.
    """
    some = _distinct_candidates(ensemble)
    oriented = values if greater_is_better else -values
    group = distinct_partitions(ensemble)[1]
    mass = np.zeros(group.max() + 1)
    spread = temperature(ensemble, scores)
    mass[group[some]] = softmax(oriented[some] / spread)
    counts = ensemble.weights > 0
    copies = np.bincount(group, counts)
    return np.where(counts, mass[group] / np.maximum(copies[group], 1), 0.0)


def _distinct_candidates(ensemble: Ensemble) -> IntArray:
    """Position of the first copy of each partition that has a weight above 0."""
    group = distinct_partitions(ensemble)[1]
    some = np.flatnonzero(ensemble.weights)
    return some[np.unique(group[some], return_index=True)[1]]


def _rates(error_rate: ErrorRate) -> tuple[FloatArray, FloatArray]:
    """Return rates of errors and their log probabilities, each (n_rates,)."""
    if not is_auto(error_rate):
        limits = LOWEST_RATE, HIGHEST_RATE
        given = check_range(error_rate, *limits, name="error_rate")
        return np.array([given]), np.zeros(1)
    edges = np.linspace(LOWEST_RATE, HIGHEST_RATE, _RATES + 1)
    mass = np.diff(betainc(_WRONG, _RIGHT, edges))
    return (edges[1:] + edges[:-1]) / 2, np.log(mass / mass.sum())


def answer_outcomes(ensemble: Ensemble, known: Constraints) -> IntArray:
    """Count the broken answers and the open answers of each partition.

    Shape (n_partitions, 2). A partition leaves an answer open if a label is noise or
    missing. Copies count as one model, even if only some copies call a cluster noise. A
    model made for answers is evaluated on each answer by its fit without that answer.
    """
    first, group = distinct_partitions(ensemble)
    links = np.concatenate([known.must_link, known.cannot_link])
    must = np.arange(len(links)) < len(known.must_link)
    left, right = (ensemble.labels[first[:, None], ends] for ends in links.T)
    silent = (left == NOISE) | (right == NOISE)
    joined = left == right
    for place, model in enumerate(first.tolist()):
        if HELD_OUT in ensemble.specs[model]:
            fit = held_out(ensemble.specs[model], links, ensemble.n_samples)
            joined[place] = np.where(fit.given, fit.joined, joined[place])
            silent[place] = np.where(fit.given, fit.uncertain, silent[place])
            silent[place] |= fit.implied
    broken = ~silent & (joined != must)
    return np.stack([broken.sum(axis=1), silent.sum(axis=1)], axis=1)[group]


def _is_made_for_answers(ensemble: Ensemble) -> npt.NDArray[np.bool_]:
    """Tell whether each partition was made to obey answers, shape (n_partitions,)."""
    return np.array([HELD_OUT in spec for spec in ensemble.specs])
