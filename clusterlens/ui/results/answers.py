"""Evidence of the answers: probabilities of the models, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clusterlens.compute.ensemble.ensemble import NOISE, Ensemble
from clusterlens.compute.formatting import count
from clusterlens.compute.ranking.answers import AnswerPosterior, weigh_ranking
from clusterlens.compute.ranking.ranking import Ranking, Weight
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.results.agreement import ScoredWithLinks
from clusterlens.ui.state.analysis import EVIDENCE, Link
from clusterlens.ui.state.links import PlainId, as_constraints, rows_without

VOTES = 1000
# Largest number of points of the curves of probabilities.
MOST_STEPS = 60


@dataclass(frozen=True, eq=False)
class Answers:
    """Evidence of the answers about the models of a run.

    Parameters
    ----------
    posterior : AnswerPosterior
        Posterior given the answers.
    fits : array of float, shape (n_partitions,)
        Probability of each distinct partition, at each of its copies.
    before : array of float, shape (n_partitions,)
        The same before any answer.
    broken : int
        Number of answers that the most probable model contradicts.
    """

    posterior: AnswerPosterior
    fits: np.ndarray
    before: np.ndarray
    broken: int

    @property
    def n_answers(self) -> int:
        """Number of answers that count here."""
        return self.posterior.constraints.n_pairs


@node(keep=16)
def unanswered(
    scored: Ranking, link_weight: Weight, copies: np.ndarray
) -> np.ndarray | None:
    """Return the prior probability of each distinct partition, per model."""
    if link_weight != EVIDENCE:
        return None
    return np.bincount(copies, weigh_ranking(scored, None).values)[copies]


@node()
def answers(
    scored_with_links: ScoredWithLinks,
    copies: np.ndarray,
    unanswered: np.ndarray | None,
) -> Answers | None:
    """Return the evidence of the answers; None if links are missing or no evidence."""
    found = scored_with_links.posterior
    if found is None or unanswered is None:
        return None
    return Answers(
        found,
        np.bincount(copies, found.values)[copies],
        unanswered,
        int(found.outcomes[found.values.argmax(), 0]),
    )


@node(keep=64)
def weighted_ensemble(
    ensemble: Ensemble, answers: Answers | None, view_pool_alone: bool
) -> Ensemble:
    """Return the models with the vote weights of the consensus.

    Falls back to the votes of the run if there are no answers, if no model fits them,
    or on request.
    """
    if answers is None or view_pool_alone or answers.posterior.none_fits:
        return ensemble
    # A model below one vote in a thousand has none.
    votes = np.floor(answers.posterior.values * VOTES)
    return ensemble.with_weights(votes) if votes.any() else ensemble


@node()
def binarised_at(
    ensemble: Ensemble, weighted_ensemble: Ensemble, threshold_in_force: int
) -> int:
    """Return the votes that must join a pair, for the chosen share of the votes."""
    if weighted_ensemble is ensemble:
        return threshold_in_force
    needed = -(-threshold_in_force * weighted_ensemble.n_votes // ensemble.n_votes)
    return min(needed, weighted_ensemble.n_votes + 1)


def answers_words(found: Answers) -> str:
    """Format the number of answers, and the effective number of voting models."""
    return f"{count(found.n_answers, 'answer')}, {effect_words(found)}"


def effect_words(found: Answers) -> str:
    """Format the effective number of voting models."""
    n_models = len(found.posterior.ensemble)
    return (
        f"after which about {found.posterior.n_effective:.1f} of "
        f"{count(n_models, 'model')} have a vote"
    )


@dataclass(frozen=True)
class Outlook:
    """Effects of one more answer.

    Parameters
    ----------
    leader_change : float
        Upper bound on the chance that the next answer changes the most probable model.
    consensus_change : float
        Upper bound on the expected mean absolute change of the consensus.
    enough : bool
        Whether both are small and a model fits.
    safest_model : int or None
        The model with the highest expected likeness to the right one, if it is no
        near-copy of the most probable: a safer choice while answers are few or some are
        wrong.
    likeness : float
        Its expected adjusted Rand index.
    likeness_of_leader : float
        Expected adjusted Rand index of the most probable model with the right one.
    """

    leader_change: float
    consensus_change: float
    enough: bool
    safest_model: int | None = None
    likeness: float = 0.0
    likeness_of_leader: float = 0.0


@node("idle", "Looking at what one more answer may change", keep=16, debounced=True)
def outlook(job: Job, answers: Answers, copies_of_leader: np.ndarray) -> Outlook:
    """Return the possible effects of the most informative answers."""
    found = answers.posterior
    ahead = Outlook(
        found.leader_change,
        found.expected_change,
        found.enough,
        likeness_of_leader=float(found.likeness[copies_of_leader].max()),
    )
    safest = int(found.likeness.argmax())
    if found.none_fits or safest in copies_of_leader:
        return ahead
    return replace(ahead, safest_model=safest, likeness=float(found.likeness[safest]))


@node()
def broken_by_all(
    ensemble: Ensemble,
    links: tuple[Link, ...],
    row_positions: dict[PlainId, int],
    link_weight: Weight,
) -> frozenset[Link]:
    """Return the links that every model breaks, among models certain of both rows."""
    here = [one for one in links if one.a in row_positions and one.b in row_positions]
    if not here:
        return frozenset()
    some = ensemble.candidates
    ends = np.array([(row_positions[one.a], row_positions[one.b]) for one in here])
    must = np.array([one.kind == "must" for one in here])
    codes = some.codes_and_gaps[:, ends]
    certain = codes < some.n_codes[:, None, None]
    if link_weight == EVIDENCE:
        certain = some.labels[:, ends] != NOISE
    clustered = certain.all(axis=2)
    kept = ((codes[..., 0] == codes[..., 1]) == must) & clustered
    none_keeps = clustered.any(axis=0) & ~kept.any(axis=0)
    return frozenset(one for one, lone in zip(here, none_keeps, strict=True) if lone)


@dataclass(frozen=True, eq=False)
class ByAnswer:
    """Probabilities of the models of a run by the first answers alone.

    Parameters
    ----------
    counts : array of int, shape (n_steps,)
        Numbers of answers, from 0 to all.
    fits : array of float, shape (n_steps, n_partitions)
        Probability of each distinct partition, at each of its copies.
    """

    counts: np.ndarray
    fits: np.ndarray

    @property
    def leaders(self) -> np.ndarray:
        """Return the most probable model at each step, the first of its copies."""
        return np.asarray(self.fits.argmax(axis=1))


@node("idle", "Weighing the models answer by answer", keep=16, debounced=True)
def by_answer(
    job: Job,
    scored: Ranking,
    links: tuple[Link, ...],
    row_positions: dict[PlainId, int],
    link_weight: Weight,
    copies: np.ndarray,
) -> ByAnswer | None:
    """Compute the probabilities after each answer in the order of the list.

    For many answers only some steps are computed. None if links are no evidence.
    """
    here = [one for one in links if not rows_without([one], row_positions)]
    if link_weight != EVIDENCE or not here:
        return None
    steps = np.linspace(0, len(here), min(len(here), MOST_STEPS) + 1)
    counts = steps.round().astype(int)
    fits = np.empty((len(counts), len(copies)))
    for at, n in enumerate(counts.tolist()):
        job.report(at, len(counts))
        known = as_constraints(here[:n], row_positions)
        found = weigh_ranking(scored, known)
        fits[at] = np.bincount(copies, found.values)[copies]
    return ByAnswer(counts, fits)
