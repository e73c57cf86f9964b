"""Sentences on the leading model, shared by page and report.

Every sentence is made from the results shown beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import distinct_partitions
from clusterlens.compute.formatting import count, percent, whole
from clusterlens.compute.pool.nulls import LEVEL, NullAgreement
from clusterlens.compute.ranking.ranking import SCORES, Ranking
from clusterlens.ui.jobs.nodes import Later, node
from clusterlens.ui.results.answers import Answers, Outlook, answers_words
from clusterlens.ui.state.analysis import Run
from clusterlens.ui.widgets.toolkit import safe
from clusterlens.ui.widgets.words import fixed

# Mean likeness to the other models below which a leader is to be doubted, and from how
# many models on: `python -m benchmarks.crowd_doubt` (docs/methods/crowd.md).
DOUBTFUL_LIKENESS = 0.35
FEWEST_OTHERS = 20
_COPIES = {"permuted": "permuted columns", "gaussian": "Gaussian columns"}


@dataclass(frozen=True)
class Joined:
    """Effect on the probabilities of models that were added to a run.

    Parameters
    ----------
    n_before, n_joined : int
        Number of models before, and number of added models.
    share : float
        Total probability of the added models, given the answers.
    leader : str
        The most probable of the earlier models.
    alone : float
        Its probability among the earlier models alone.
    """

    n_before: int
    n_joined: int
    share: float
    leader: str
    alone: float


@node()
def joined(
    run: Run, runs: tuple[Run, ...], answers: Answers | None, copies: np.ndarray
) -> Joined | None:
    """Return the effect of models added to the largest earlier run, if any."""
    if answers is None:
        return None
    ensemble = run.ensemble
    sizes = [one.ensemble.n_partitions for one in runs if _is_begun_by(run, one)]
    if not sizes:
        return None
    n_before = max(sizes)
    values = answers.posterior.values[:n_before]
    masses = np.bincount(copies[:n_before], values)[copies[:n_before]]
    leader, total = int(masses.argmax()), float(values.sum())
    return Joined(
        n_before,
        ensemble.n_partitions - n_before,
        1 - total,
        ensemble.names[leader],
        float(masses[leader]) / total if total else 0.0,
    )


def _is_begun_by(run: Run, other: Run) -> bool:
    """Return whether a run has the models of another one and, after them, more."""
    names, n = other.ensemble.names, other.ensemble.n_partitions
    return (
        other.dataset is run.dataset
        and n < run.ensemble.n_partitions
        and run.ensemble.names[:n] == names
    )


def joined_words(found: Joined | None) -> str:
    """Explain, as markup, how added models changed the probabilities."""
    if found is None:
        return ""
    return (
        f"<span class='cl-joined'>{count(found.n_joined, 'model')} joined and "
        f"{'has' if found.n_joined == 1 else 'have'} {percent(found.share)} of the "
        f"probability; among the {whole(found.n_before)} before them alone "
        f"<b>{safe(found.leader)}</b> has {percent(found.alone)}.</span> "
    )


def doubtful_likeness(
    likeness: np.ndarray | None, ranking: Ranking, run: Run
) -> float | None:
    """Return the leader's mean likeness to the other models if it is low, else None."""
    if likeness is None or run.n_asked or run.ensemble.noise == "silent":
        return None
    others = np.delete(likeness, ranking.order[0])
    others = others[np.isfinite(others)]
    if len(others) < FEWEST_OTHERS or others.mean() >= DOUBTFUL_LIKENESS:
        return None
    return float(others.mean())


def doubt_words(
    likeness: np.ndarray | None,
    ranking: Ranking,
    run: Run,
    answers: Answers | None,
) -> str:
    """Warn, as markup, that the leader agrees little with the other models.

    The limit was measured on leaders without answers, so only these are warned of.
    """
    mean, leader = doubtful_likeness(likeness, ranking, run), int(ranking.order[0])
    if mean is None or (answers is not None and leader != answers.before.argmax()):
        return ""
    return (
        f"<span class='cl-doubted caveat'><b>Caution:</b> "
        f"{safe(ranking.ensemble.names[leader])} agrees little with the other models "
        f"(mean adjusted Rand index {fixed(mean)}). On tables with known classes, "
        "most such leaders were far from the classes.</span> "
    )


@dataclass(frozen=True)
class Leads:
    """The models that lead with and without answers, and reasons to doubt them.

    Parameters
    ----------
    before, after : str
        Names of the leaders without and with the answers.
    k_before, k_after : int
        Their numbers of clusters.
    n_answers : int
        Links that count here.
    none_fits : bool
        Whether no model fits the answers.
    words : str
        How the answers count.
    likeness : float or None
        The leader's mean likeness to the other models, if it is low.
    family : str
        The family of all models if they have one family only, else empty.
    n_models : int
        Number of models.
    chance : float or None
        Probability of the leader and its near-copies, given the answers; None without.
    is_compared : bool
        Whether the leader was compared with the other models.
    n_near : int
        Number of near-copies of the leader that may be right, too.
    second : str
        The next model and its probability, given the answers; empty without.
    likeness_to_right : float or None
        Expected adjusted Rand index of the leader with the right model, given the
        answers.
    safest : str
        Model expected to be most like the right one if it is no near-copy of the
        leader, else empty.
    k_safest : int
        Its number of clusters.
    """

    before: str
    after: str
    k_before: int
    k_after: int
    n_answers: int = 0
    none_fits: bool = False
    words: str = ""
    likeness: float | None = None
    family: str = ""
    n_models: int = 0
    chance: float | None = None
    is_compared: bool = True
    n_near: int = 0
    second: str = ""
    likeness_to_right: float | None = None
    safest: str = ""
    k_safest: int = 0


@node()
def leads(
    ranking: Ranking,
    run: Run,
    answers: Answers | None,
    constraints: Constraints | None,
    likeness_to_leader: Later[np.ndarray],
    copies_of_leader: Later[np.ndarray],
    outlook: Later[Outlook],
) -> Leads:
    """Compare the leaders with and without the answers."""
    ensemble = run.ensemble
    after = before = int(ranking.order[0])
    words, given = "", {}
    if answers is not None:
        if not answers.posterior.none_fits:
            given = _with_answers(ranking, answers, copies_of_leader, outlook)
        before = int(answers.before.argmax())
        words = f"{answers_words(answers).capitalize()}."
    elif constraints is not None:
        sign = -1 if ranking.greater_is_better else 1
        before = int(np.argmin(sign * ranking.unconstrained))
        words = "Links add a share of their number to the score of who breaks them."
    families = dict.fromkeys(ensemble.families)
    return Leads(
        ensemble.names[before],
        ensemble.names[after],
        int(ensemble.n_clusters[before]),
        int(ensemble.n_clusters[after]),
        0 if constraints is None else constraints.n_pairs,
        answers is not None and answers.posterior.none_fits,
        words,
        doubtful_likeness(likeness_to_leader, ranking, run),
        next(iter(families)) if len(families) == 1 and run.pool else "",
        len(ensemble),
        is_compared=likeness_to_leader is not None,
        **given,
    )


def _with_answers(
    ranking: Ranking,
    answers: Answers,
    near_copies: np.ndarray | None,
    outlook: Outlook | None,
) -> dict[str, Any]:
    """Return the fields of `Leads` that answers decide, as far as they are known."""
    found, ensemble = likeliest(ranking, answers, near_copies), ranking.ensemble
    given: dict[str, Any] = {"chance": found.chance, "n_near": found.n_near}
    if found.second is not None:
        share = percent(answers.fits[found.second])
        given["second"] = f"{ensemble.names[found.second]} ({share})"
    if outlook is not None:
        given["likeness_to_right"] = outlook.likeness_of_leader
        if (safest := outlook.safest_model) is not None:
            given["safest"] = ensemble.names[safest]
            given["k_safest"] = int(ensemble.n_clusters[safest])
    return given


@dataclass(frozen=True)
class Likeliest:
    """The most probable model with its near-copies, and the next one.

    Parameters
    ----------
    first : int
        The model.
    n_near : int
        Number of near-copies that may be right, too.
    chance : float
        Total probability of the model and its near-copies, which count as one answer.
    second : int or None
        The first model in the ranking that is no near-copy.
    """

    first: int
    n_near: int
    chance: float
    second: int | None


def likeliest(
    ranking: Ranking,
    answers: Answers,
    near_copies: Sequence[int] | np.ndarray | None,
) -> Likeliest:
    """Return the likeliest model; `near_copies` is None while they are unknown.

    The arguments are those of `leading`.
    """
    fits, order = answers.fits, ranking.order
    distinct, group = distinct_partitions(ranking.ensemble)
    near = np.isin(group, group[order[:1] if near_copies is None else near_copies])
    likely = distinct[near[distinct] & (fits[distinct] > 0)]
    second = next((t for t in order.tolist() if not near[t]), None)
    n_near = max(len(likely) - 1, 0)
    return Likeliest(int(order[0]), n_near, float(fits[likely].sum()), second)


def likeliest_words(n_near: int, chance: float) -> str:
    """Format the probability of a model with its near-copies, to follow its name."""
    near = f" with {count(n_near, 'near-copy', 'near-copies')}" if n_near else ""
    return f"{near} ({percent(chance)})"


def leading(
    ranking: Ranking,
    answers: Answers | None,
    outlook: Outlook | None,
    near_copies: Sequence[int] | np.ndarray | None,
) -> str:
    """Write which model leads, and how certainly, as markup.

    Parameters
    ----------
    ranking : Ranking
        Ranking with the links.
    answers : Answers or None
        Evidence of the answers; None without answers, or if links are no evidence.
    outlook : Outlook or None
        Effects of one more answer, if known.
    near_copies : sequence of int or None
        Near-copies of the leader, with the leader itself.
    """
    if answers is None:
        return typical(ranking)
    text = f"After {count(answers.n_answers, 'answer')}: "
    if answers.posterior.none_fits:
        return f"<b>{text}no model of this pool fits them.</b> "
    names = ranking.ensemble.names
    found = likeliest(ranking, answers, near_copies)
    leader = f"<b>{safe(names[found.first])}</b>"
    leader += likeliest_words(found.n_near, found.chance)
    is_open = False
    if found.chance < 0.5 and found.second is not None:
        is_open = True
        share = percent(answers.fits[found.second])
        leader += f" and <b>{safe(names[found.second])}</b> ({share})"
    text += _likeliest_words(outlook, names, is_open) + leader
    alone = int(answers.before.argmax())
    if answers.before[alone] > answers.before[found.first]:
        text += f"; without answers {safe(names[alone])}"
    return f"<span class='cl-fits'>{text}.</span> "


def typical(ranking: Ranking) -> str:
    """Name the model closest to the consensus of the pool, and note counted links."""
    first = np.flatnonzero(ranking.ranks == 1)
    links = ", with the links counted" if ranking.violated.any() else ""
    name = safe(ranking.ensemble.names[first[0]])
    text = f"Closest to what this pool agrees on{links}: <b>{name}</b>"
    if len(first) > 1:
        text += f" (and {len(first) - 1} more with the same score)"
    return text + ". "


def _likeliest_words(
    outlook: Outlook | None, names: tuple[str, ...], is_open: bool
) -> str:
    """Write the words before the likeliest model, or before the likeliest two."""
    if outlook is not None and outlook.safest_model is not None:
        return (
            f"<b>{safe(names[outlook.safest_model])}</b> is <span title='highest "
            "expected adjusted Rand index with the grouping behind your answers: see "
            "Links'>expected to be most like yours</span>, likeliest "
            f"{'are' if is_open else 'is'} "
        )
    if not is_open:
        return ""
    settled = outlook is not None and outlook.enough
    return "hardly told apart are " if settled else "still open between "


def enough_words(answers: Answers) -> str:
    """Write the scope of the statement that answers are enough."""
    return f"among these {count(len(answers.posterior.ensemble), 'model')} only"


def copies_words(found: NullAgreement) -> str:
    """Compare the best scores on the data and on copies without groups."""
    score = SCORES[found.score]
    better = "higher" if score.greater_is_better else "lower"
    reached = "".join(
        f"; {fixed(np.nanmin(best), 3)} to {fixed(np.nanmax(best), 3)} on copies with "
        f"{_COPIES[kind]}"
        for kind, best in found.null_best.items()
        if np.isfinite(best).any()
    )
    return (
        f"{score.title} ({better} is better), the best of the pool: "
        f"{fixed(found.best, 3)} on the table{reached}. {_agrees(found)}"
    )


def _agrees(found: NullAgreement) -> str:
    """Say whether the pool agrees more, less or as much on the data as on copies."""
    if found.p_value <= LEVEL:
        return "The pool agrees more on the table than on the copies."
    if not found.overlaps:
        return (
            "The pool agrees more on the table than on each copy, but the copies are "
            "too few to tell."
        )
    copies = np.concatenate([*found.null_best.values()])
    copies = copies[np.isfinite(copies)]
    greater = SCORES[found.score].greater_is_better
    if len(copies) and (copies > found.best if greater else copies < found.best).all():
        return "The pool agrees less on the table than on every copy."
    return "The pool agrees about as much on the table as on the copies."
