"""Suggestions: pairs of samples to ask about, so that answers tell models apart.

The most informative pair splits the models that fit the answers so far in the same way
as many other pairs do, and no earlier suggestion splits them alike. Beyond drawing
samples, the cost does not depend on their number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    RandomState,
    check_random_state,
    check_range,
)
from clusterlens.compute.ensemble.constraints import (
    Constraints,
    check_constraints,
    check_pairs,
)
from clusterlens.compute.ensemble.ensemble import (
    Ensemble,
    check_ensemble,
    distinct_partitions,
)
from clusterlens.compute.formatting import all_of, percent
from clusterlens.compute.ranking._candidates import candidates, joined_by
from clusterlens.compute.ranking._evidence import (
    EVIDENCE,
    Weight,
    check_weight,
    weigh_links,
)
from clusterlens.compute.ranking._questions import (
    ERROR_RATE,
    Asking,
    Independence,
    Question,
    ask_by_evidence,
    most_informative,
    skip_unsure,
)


@dataclass(frozen=True)
class Suggestion:
    """A pair of samples worth a must-link or a cannot-link.

    Parameters
    ----------
    pair : tuple of int
        Samples (i, j), i < j.
    joined : int
        Votes of the partitions that join them.
    separated : int
        Votes of the partitions that separate them.
    information : float
        Share of the disagreement of the models over all pairs that the answer is
        expected to resolve, beyond the answers so far and the suggestions before
        this one, in [0, 1]; 0 if it says nothing about the models.
    reason : str
        Reason for this pair, in words.
    """

    pair: tuple[int, int]
    joined: int
    separated: int
    information: float
    reason: str


@takes_running
def suggest_pairs(
    ensemble: Ensemble,
    constraints: Constraints | None = None,
    n: int = 10,
    random_state: RandomState = 0,
    *,
    constraint_weight: Weight = 1.0,
    unsure: npt.ArrayLike = (),
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> tuple[Suggestion, ...]:
    """Suggest the pairs with the most informative answers about the models.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions.
    constraints : Constraints, optional
        Answers so far. Pairs with an answer that follows from them are not suggested.
    n : int, default 10
        Number of pairs, at least 1.
    random_state : int, default 0
        Seed of the draw of candidate pairs.
    constraint_weight : float or "evidence", default 1.0
        Use of the answers. With "evidence", only pairs worth asking are suggested, see
        the Notes. The size of a number has no effect.
    unsure : array-like of int, shape (n_pairs, 2), default ()
        Pairs that were asked and could not be answered. They say nothing about the
        models, but neither they nor similar pairs are suggested, see the Notes.
    progress, cancel
        As in `count_agreements`; progress counts pairs.

    Returns
    -------
    suggestions : tuple of Suggestion
        Most informative first. Whatever the answers, no suggestion follows from others
        and from earlier answers; fewer than n only if no such pair is left. If the
        models agree, the remaining pairs check what all of them share. With answers
        as evidence there are no such checks, so the result may be empty.

    Raises
    ------
    ValueError
        If n is not a positive whole number, or the constraints name other samples.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    Distinct models of weight above 0 count equally at first, and a model loses the
    factor ERROR_RATE / (1 - ERROR_RATE) with every answer it breaks. An answer is a
    noisy observation of a vector: the answers of the models to the pair. Pairs are
    taken one by one, by how much an answer reduces the variance of the answers to all
    candidates, in a linear Gaussian model and given the pairs taken before. So a split
    of the models that many pairs share matters most, because the score of a model is a
    mean over all pairs. Candidates are up to 20,000 pairs of up to 2,000 samples, half
    of them drawn from clusters of random models; they are kept as long as the ensemble
    exists. Ties go to the pair drawn first. O(T²) time for each candidate, O(T) for
    each candidate and suggestion, O(T) memory for each candidate.

    Answers as evidence: the weight of a model is its likelihood, see
    `answer_posterior`. A model that calls an end of the pair noise expects either
    answer. The comparison is multiplied by the root of how typical both ends are of
    their clusters (sum C² / sum C of their consensus with other samples), because an
    analyst cannot tell samples at an uncertain rim apart. No two suggestions of a batch
    split the models alike, and the batch ends if an answer would change the consensus
    by less than 0.001 on average. There are up to 4,000 candidates.

    An analyst who could not tell i from j will not tell their neighbours apart either.
    So the comparison of a pair (a, b) is multiplied by 1 - C_ai C_bj for each unsure
    pair (i, j) in either order, with the consensus C. O(T) time for each candidate and
    unsure pair.

    In a ranking by share an answer has the weight `constraint_weight` over their
    number. Over nine UCI sets and two pools, ten answers raised the rank correlation
    with the classes by 0.08 on average at weight 0.2, by 0.10 at 0.5 and by 0.08 at the
    default 1, but lowered it on 1, 6 and 7 of the 18
    (`benchmarks/discotec_answers.py`). `benchmarks/answers.py` compares both uses.

    References
    ----------
    Seung, H. S., Opper, M., Sompolinsky, H. Query by committee. COLT (1992).
    Cohn, D. A., Ghahramani, Z., Jordan, M. I. Active learning with statistical models.
    Journal of Artificial Intelligence Research 4 (1996), section 2.

    Examples
    --------
    >>> ensemble = Ensemble([[0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 1, 2], [0, 0, 1, 1]])
    >>> suggest_pairs(ensemble, n=1)[0].reason
    '2 of 4 models join the pair.'
    """
    run = RunOptions(progress=progress, cancel=cancel)
    ensemble = check_ensemble(ensemble)
    voters, ensemble = _voters(ensemble), ensemble.candidates
    seed = check_random_state(random_state)
    n = check_range(n, 1, np.inf, name="n", integer=True)
    known = check_constraints(constraints, ensemble.n_samples)
    by_evidence = check_weight(constraint_weight) == EVIDENCE
    asking = (ask_by_evidence if by_evidence else _ask_by_share)(ensemble, known, seed)
    asking = skip_unsure(asking, ensemble, check_pairs(unsure, ensemble, name="unsure"))
    independent = Independence(known, asking.pairs, ensemble.n_samples)
    run.raise_if_cancelled()
    chosen: list[Question] = []
    for question in most_informative(asking, independent, run):
        run.report(len(chosen), n)
        if question.changes < asking.least_change:
            break
        chosen.append(question)
        if len(chosen) == n:
            break
        if by_evidence:
            kinds = asking.candidates.kinds
            independent.free &= kinds != kinds[question.position]
    every = [question.position for question in chosen]
    if not by_evidence:
        shares = asking.expected.mean(axis=1)
        every += _checks(shares, n - len(chosen), independent).tolist()
    run.report(n, n)
    resolved = [question.resolves for question in chosen] + [0.0] * n
    joined = joined_by(ensemble.codes, asking.pairs[every])
    shares = asking.expected[every] @ asking.weights
    return tuple(
        _suggestion(ensemble, voters, known, asking.pairs[k], joins, part, share)
        for k, joins, part, share in zip(every, joined, resolved, shares, strict=False)
    )


def _ask_by_share(ensemble: Ensemble, known: Constraints, seed: int) -> Asking:
    """Weigh the models: each broken answer multiplies a fixed factor."""
    drawn = candidates(ensemble, seed, by_evidence=False)
    drawn = drawn.where(~known.settles(drawn.pairs, ensemble.n_samples))
    first, _ = distinct_partitions(ensemble)
    violated, _ = weigh_links(ensemble, known, 1.0, np.zeros(ensemble.n_partitions))
    broken = violated[first] * known.n_pairs
    weights = (ERROR_RATE / (1 - ERROR_RATE)) ** (broken - broken.min())
    return Asking(drawn, weights / weights.sum(), drawn.typical)


def _checks(shares: FloatArray, n: int, independent: Independence) -> IntArray:
    """Choose up to n more pairs, alternately joined and separated by most models."""
    sides = (shares >= 0.5, shares < 0.5)
    taken: list[int] = []
    while len(taken) < n and independent.free.any():
        wanted = np.flatnonzero(sides[len(taken) % 2] & independent.free)
        taken.append(int(wanted[0] if wanted.size else independent.free.argmax()))
        independent.take(taken[-1])
    return np.array(taken, dtype=np.int64)


def _voters(ensemble: Ensemble) -> str:
    """Return the unit of the votes: "models", "voting models" or "votes"."""
    if ensemble.votes.max() > 1:
        return "votes"
    return "models" if ensemble.votes.all() else "voting models"


def _suggestion(
    ensemble: Ensemble,
    voters: str,
    known: Constraints,
    pair: IntArray,
    joins: npt.NDArray[np.bool_],
    information: float,
    share: float,
) -> Suggestion:
    """Describe a pair that some models join, (n_partitions,), with its reason."""
    joined, total = int(joins @ ensemble.votes), ensemble.n_votes
    alike = len(np.unique(joins)) == 1
    return Suggestion(
        pair=(int(pair[0]), int(pair[1])),
        joined=joined,
        separated=total - joined,
        information=float(information),
        reason=_reason(
            joined, total, voters, alike, information, share if known.n_pairs else None
        ),
    )


def _reason(
    joined: int,
    total: int,
    voters: str,
    alike: bool,
    information: float,
    share: float | None,
) -> str:
    """Describe how models or votes split on a pair, also weighted by their fit."""
    if joined in (0, total):
        verb = "join" if joined else "separate"
        everyone = f"{all_of(total).capitalize()} {voters}"
        if not alike:
            return f"{everyone} {verb} the pair, some without a vote do not."
        return (
            f"{everyone} {verb} the pair: the answer checks what they share, "
            "but cannot change the ranking."
        )
    split = f"{joined} of {total} {voters} join the pair"
    if not information:
        return f"{split}, but those that fit the answers so far agree on it."
    if share is None:
        return f"{split}."
    return f"{split}, {percent(share)} by how well they fit the answers."
