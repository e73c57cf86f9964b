"""Suggestions: which pairs of samples to ask about, so that answers tell models apart.

A pair says most where the models that fit the answers so far are split as they are
split over many other pairs, and little where an earlier suggestion splits them alike.
The cost does not depend on the number of samples beyond drawing some of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from clusterlens.compute._numbers import percent
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
    PairArray,
    check_constraints,
)
from clusterlens.compute.ensemble.ensemble import (
    Ensemble,
    check_ensemble,
    distinct_partitions,
)

# A model that suits the analyst still breaks about this share of the answers.
ERROR_RATE = 0.2

_NOISE = ERROR_RATE * (1 - ERROR_RATE)  # variance of an answer given the right model
_MOST_SAMPLES = 2_000  # that pairs are drawn from
_CANDIDATES = 20_000
_NEGLIGIBLE = 1e-9  # conditional variance of a pair that tells nothing new

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Suggestion:
    """A pair of samples worth a must-link or a cannot-link.

    Parameters
    ----------
    pair : tuple of int
        Samples (i, j), i < j.
    joined : int
        Number of partitions that join them.
    separated : int
        Number of partitions that separate them.
    information : float
        Share of the disagreement of the models over all pairs that the answer is
        expected to resolve, beyond the answers so far and the suggestions before this
        one, in [0, 1]; 0 if it tells nothing about the models.
    reason : str
        Why this pair, in words.
    """

    pair: tuple[int, int]
    joined: int
    separated: int
    information: float
    reason: str


def suggest_pairs(
    ensemble: Ensemble,
    constraints: Constraints | None = None,
    n: int = 10,
    random_state: RandomState = 0,
    *,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> tuple[Suggestion, ...]:
    """Suggest the pairs whose answers tell most about the ranking of the models.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions.
    constraints : Constraints, optional
        Answers so far. Pairs whose answer follows from them are not suggested.
    n : int, default 10
        Number of pairs, at least 1.
    random_state : int, default 0
        Seed of the draw of candidate pairs.
    progress, cancel
        As in `count_agreements`; progress counts pairs.

    Returns
    -------
    suggestions : tuple of Suggestion
        Most informative first. Whatever the answers to some of them and so far, none
        follows from the others; fewer than n only if no such pair is left. Where the
        models agree, the rest are pairs that check what all of them share.

    Raises
    ------
    ValueError
        If n is not a positive whole number, or the constraints name other samples.
    Cancelled
        If `cancel` said so.

    Notes
    -----
    Distinct models with a vote count equally at first, and a model loses the factor
    ERROR_RATE / (1 - ERROR_RATE) with every answer it breaks. An answer is a noisy look
    at the vector of what the models do with the pair. Pairs are taken one by one by how
    much an answer reduces the variance of the answers to all candidates, in a linear
    Gaussian model and given the pairs taken before: what matters is a split of the
    models that many pairs share, as the score of a model is a mean over all pairs.
    Candidates are up to 20,000 pairs of up to 2,000 samples; half of them are drawn
    from clusters of random models. O(T²) time for each candidate, O(T) for each
    candidate and suggestion, O(T) memory for each candidate.

    In a ranking an answer weighs `constraint_weight` over the number of answers. Over
    nine UCI sets and two pools, ten answers raised the rank correlation with the
    classes by 0.08 on average at weight 0.2, by 0.10 at 0.5 and by 0.08 at 1, the
    default there, but lowered it on 1, 6 and 7 of the 18: prefer 0.2 to 0.5 for a few
    answers (`benchmarks/discotec_answers.py`).

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
    ensemble = check_ensemble(ensemble).voters
    seed = check_random_state(random_state)
    n = check_range(n, 1, np.inf, name="n", integer=True)
    known = check_constraints(constraints)
    weights = _trust(ensemble, known)
    pairs = _candidates(ensemble, np.random.default_rng(seed))
    pairs = pairs[~_implied(known, pairs, ensemble.n_samples)]
    first, _ = distinct_partitions(ensemble)
    joined = _joined(ensemble.codes[first], pairs)
    independent = _Independence(known, pairs)
    run.raise_if_cancelled()
    chosen, information = _most_informative(joined, weights, n, independent, run)
    rest = _checks(joined.mean(axis=1), n - len(chosen), independent)
    run.report(n, n)
    every = np.append(chosen, rest).astype(np.int64)
    votes = _joined(ensemble.codes, pairs[every]) @ ensemble.votes
    shares = joined[every] @ weights
    return tuple(
        _suggestion(ensemble, known, pairs[k], int(vote), resolved, share)
        for k, vote, resolved, share in zip(
            every,
            votes,
            np.append(information, np.zeros(len(rest))),
            shares,
            strict=True,
        )
    )


def _trust(ensemble: Ensemble, known: Constraints) -> FloatArray:
    """Weight of each distinct partition given the answers, shape (n_models,), sum 1."""
    first, _ = distinct_partitions(ensemble)
    broken = known.violations(ensemble)[first] * known.n_pairs
    weights = (ERROR_RATE / (1 - ERROR_RATE)) ** (broken - broken.min())
    return weights / weights.sum()


def _candidates(ensemble: Ensemble, rng: np.random.Generator) -> PairArray:
    """Distinct pairs (i, j), i < j, shape (n_pairs, 2), in random order."""
    size = min(ensemble.n_samples, _MOST_SAMPLES)
    samples = np.sort(rng.choice(ensemble.n_samples, size, replace=False))
    if size * (size - 1) // 2 <= _CANDIDATES:
        local = np.stack(np.triu_indices(size, k=1), axis=1)
    else:
        anywhere = rng.integers(0, size, (_CANDIDATES // 2, 2))
        shares = ensemble.votes / ensemble.n_votes
        inside = _pairs_inside_clusters(ensemble.codes[:, samples], shares, rng)
        local = np.sort(np.concatenate([anywhere, inside]), axis=1)
        local = np.unique(local[local[:, 0] < local[:, 1]], axis=0)
    return samples[rng.permutation(local)]


def _pairs_inside_clusters(
    codes: npt.NDArray[Any], shares: FloatArray, rng: np.random.Generator
) -> PairArray:
    """Pairs of samples that a random vote joins; with many clusters others are rare.

    Each model, shape (n_samples,) of codes, gives by its share of the votes a random
    sample and a random one of its cluster.
    """
    n_samples = codes.shape[1]
    drawn = rng.multinomial(_CANDIDATES // 2, shares)
    pairs = []
    for row, count in zip(codes, drawn, strict=True):
        order = np.argsort(row, kind="stable")
        sizes = np.bincount(row)
        starts = np.cumsum(sizes) - sizes
        one = rng.integers(0, n_samples, count)
        other = starts[row[one]] + rng.integers(0, sizes[row[one]])
        pairs.append(np.stack([one, order[other]], axis=1))
    return np.concatenate(pairs)


def _implied(known: Constraints, pairs: PairArray, n_samples: int) -> BoolArray:
    """Say for each pair, shape (n_pairs,), whether the answers so far settle it."""
    return _settled(known.must_link, known.cannot_link, pairs, n_samples)


def _settled(
    must: PairArray, cannot: PairArray, pairs: PairArray, n_samples: int
) -> BoolArray:
    """Say for each pair whether links settle it: a path with at most one cannot."""
    graph = coo_array(
        (np.ones(len(must), dtype=np.int8), (must[:, 0], must[:, 1])),
        shape=(n_samples, n_samples),
    )
    group = connected_components(graph, directed=False)[1].astype(np.int64)
    ends, apart = (np.sort(group[some], axis=1) for some in (pairs, cannot))
    keys = ends[:, 0] * n_samples + ends[:, 1]
    separated = np.isin(keys, apart[:, 0] * n_samples + apart[:, 1])
    return separated | (ends[:, 0] == ends[:, 1])


class _Independence:
    """Which pairs may still be asked: no answers to the taken ones settle them.

    A pair is settled at worst if all taken pairs became must-links, or all but one on
    the way between its ends; so none may close a cycle with them.
    """

    def __init__(self, known: Constraints, pairs: PairArray) -> None:
        every = np.concatenate([pairs, known.must_link, known.cannot_link])
        names, compact = np.unique(every, return_inverse=True)
        links = compact.reshape(-1, 2).astype(np.int64)
        ends = np.cumsum([len(pairs), len(known.must_link)])
        self.pairs, self.must, self.cannot = np.split(links, ends)
        self.n_samples = len(names)
        self.free = np.ones(len(pairs), dtype=bool)

    def take(self, k: int) -> None:
        """Take pair k, and bar those that answers could then settle."""
        self.must = np.append(self.must, self.pairs[[k]], axis=0)
        self.free &= ~_settled(self.must, self.cannot, self.pairs, self.n_samples)


def _joined(codes: npt.NDArray[Any], pairs: PairArray) -> BoolArray:
    """Say for each pair which models join it, shape (n_pairs, n_models)."""
    return (codes[:, pairs[:, 0]] == codes[:, pairs[:, 1]]).T


def _most_informative(
    joined: BoolArray,
    weights: FloatArray,
    n: int,
    independent: _Independence,
    run: RunOptions,
) -> tuple[list[int], list[float]]:
    """Up to n pairs and the share of the disagreement that each of them resolves.

    With the splits F, shape (n_pairs, n_models), and the covariance S of what is not
    known of the models, pair i has the variance v_i = (F S F')_ii, and an answer to it
    resolves (F S F'F S F')_ii over that and the noise. An answer takes an outer product
    from S, so both follow from two products of F and a vector for each pair taken.
    """
    split = (joined - joined @ weights[:, None]) * np.sqrt(weights)
    gram = split.T @ split
    variance = np.einsum("ij,ij->i", split, split)
    resolves = np.einsum("ij,ij->i", split @ gram, split)
    total, unknown = variance.sum(), np.eye(len(weights))
    chosen: list[int] = []
    shares: list[float] = []
    while len(chosen) < n and independent.free.any():
        run.raise_if_cancelled()
        run.report(len(chosen), n)
        open_ = independent.free & (variance > _NEGLIGIBLE)
        # A pair resolves at least its own variance; rounding must not say less.
        share = np.maximum(resolves, variance**2) / (variance + _NOISE)
        best = int(np.where(open_, share, 0.0).argmax())
        if not open_[best]:
            break
        chosen.append(best)
        independent.take(best)
        shares.append(float(share[best] / total))
        towards = unknown @ split[best]
        given = variance[best] + _NOISE
        onto, across = split @ towards / given, split @ (unknown @ (gram @ towards))
        resolves += onto * (onto * (towards @ gram @ towards) - 2 * across)
        variance -= given * onto**2
        unknown -= np.outer(towards, towards) / given
    return chosen, shares


def _checks(shares: FloatArray, n: int, independent: _Independence) -> IntArray:
    """Up to n more pairs, by turns of those that most models join and separate."""
    turns = (shares >= 0.5, shares < 0.5)
    taken: list[int] = []
    while len(taken) < n and independent.free.any():
        wanted = np.flatnonzero(turns[len(taken) % 2] & independent.free)
        taken.append(int(wanted[0] if wanted.size else independent.free.argmax()))
        independent.take(taken[-1])
    return np.array(taken, dtype=np.int64)


def _suggestion(
    ensemble: Ensemble,
    known: Constraints,
    pair: IntArray,
    joined: int,
    information: float,
    share: float,
) -> Suggestion:
    """Put a pair and its reason into words."""
    total = ensemble.n_votes
    voters = "models" if total == ensemble.n_partitions else "votes"
    return Suggestion(
        pair=(int(pair[0]), int(pair[1])),
        joined=joined,
        separated=total - joined,
        information=float(information),
        reason=_reason(
            joined, total, voters, information, share if known.n_pairs else None
        ),
    )


def _reason(
    joined: int, total: int, voters: str, information: float, share: float | None
) -> str:
    """Say what the models or votes do with a pair, and the share of those that fit."""
    if joined in (0, total):
        verb = "join" if joined else "separate"
        return (
            f"All {total} {voters} {verb} the pair: the answer checks what they share, "
            "but cannot change the ranking."
        )
    split = f"{joined} of {total} {voters} join the pair"
    if not information:
        return f"{split}, but those that fit the answers so far agree on it."
    if share is None:
        return f"{split}."
    return f"{split}, {percent(share)} by how well they fit the answers."
