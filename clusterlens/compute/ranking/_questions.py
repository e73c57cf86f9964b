"""Questions: pairs of samples that may be asked about, and which of them tell most.

The cost does not depend on the number of samples beyond drawing some of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.ensemble.constraints import (
    Constraints,
    PairArray,
    settled_pairs,
)
from clusterlens.compute.ensemble.ensemble import (
    NOISE,
    Ensemble,
    distinct_partitions,
)
from clusterlens.compute.ranking._evidence import likelihoods

# A model that suits the analyst still breaks about this share of the answers.
ERROR_RATE = 0.2

_NOISE = ERROR_RATE * (1 - ERROR_RATE)  # variance of an answer given the right model
_MOST_SAMPLES = 2_000  # that pairs are drawn from
_COMPANY = 64
_CANDIDATES = 4_000
_TYPICAL = 0.5  # how much it matters that the ends of a pair are typical
_WORTH_ASKING = 1e-3  # expected change of the consensus, mean over pairs
_NEGLIGIBLE = 1e-9  # conditional variance of a pair that tells nothing new

BoolArray = npt.NDArray[np.bool_]


def candidate_pairs(
    ensemble: Ensemble, rng: np.random.Generator, most: int
) -> PairArray:
    """Distinct pairs (i, j), i < j, at most `most`, (n_pairs, 2), in random order."""
    size = min(ensemble.n_samples, _MOST_SAMPLES)
    samples = np.sort(rng.choice(ensemble.n_samples, size, replace=False))
    if size * (size - 1) // 2 <= most:
        local = np.stack(np.triu_indices(size, k=1), axis=1)
    else:
        anywhere = rng.integers(0, size, (most // 2, 2))
        shares = ensemble.votes / ensemble.n_votes
        inside = _pairs_inside_clusters(
            ensemble.codes_and_gaps[:, samples], rng.multinomial(most // 2, shares), rng
        )
        local = np.sort(np.concatenate([anywhere, inside]), axis=1)
        local = np.unique(local[local[:, 0] < local[:, 1]], axis=0)
    return samples[rng.permutation(local)]


def _pairs_inside_clusters(
    codes: npt.NDArray[Any], drawn: IntArray, rng: np.random.Generator
) -> PairArray:
    """Pairs of samples that a random vote joins; with many clusters others are rare.

    Each model, shape (n_samples,) of codes, gives as often as `drawn` says a random
    sample and a random one of its cluster.
    """
    n_samples = codes.shape[1]
    pairs = []
    for row, count in zip(codes, drawn, strict=True):
        order = np.argsort(row, kind="stable")
        sizes = np.bincount(row)
        starts = np.cumsum(sizes) - sizes
        one = rng.integers(0, n_samples, count)
        other = starts[row[one]] + rng.integers(0, sizes[row[one]])
        pairs.append(np.stack([one, order[other]], axis=1))
    return np.concatenate(pairs)


class Independence:
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
        self.free &= ~settled_pairs(self.must, self.cannot, self.pairs, self.n_samples)


def joined_pairs(codes: npt.NDArray[Any], pairs: PairArray) -> BoolArray:
    """Say for each pair which models join it, shape (n_pairs, n_models)."""
    return (codes[:, pairs[:, 0]] == codes[:, pairs[:, 1]]).T


def expected_answers(ensemble: Ensemble, pairs: PairArray) -> FloatArray:
    """Probability that the right answer is "joined", shape (n_pairs, n_models).

    Under each distinct partition: 0 or 1, and one half where a label is noise.
    """
    first, _ = distinct_partitions(ensemble)
    noise = ensemble.labels[first] == NOISE
    silent = (noise[:, pairs[:, 0]] | noise[:, pairs[:, 1]]).T
    return np.where(silent, 0.5, joined_pairs(ensemble.codes_and_gaps[first], pairs))


def typicality(ensemble: Ensemble, samples: IntArray) -> FloatArray:
    """How closely each of some samples keeps to its own clusters, in [0, 1].

    sum C² / sum C over what the consensus C of a sample with 64 others is: 1 where the
    models agree on its company, low at the doubtful rim. O(64 T) time for each.
    """
    spread = np.linspace(0, ensemble.n_samples - 1, _COMPANY).astype(np.intp)
    company = np.unique(spread)
    votes = np.zeros((len(samples), len(company)), np.float32)
    for codes, vote in zip(
        ensemble.codes_and_gaps, ensemble.votes.tolist(), strict=True
    ):
        votes += np.float32(vote) * (codes[samples, None] == codes[company])
    shares = votes / ensemble.n_votes
    own = np.maximum(shares.sum(axis=1), np.finfo(np.float32).eps)
    return np.asarray((shares**2).sum(axis=1) / own, float)


@dataclass(frozen=True)
class Asking:
    """Candidate pairs and what is known of the models that answer them.

    Expected answers (n_pairs, n_models), weights of the models (n_models,), appeal of
    the pairs, and what an answer must change at least, on average over all pairs, to be
    worth asking for.
    """

    pairs: PairArray
    expected: npt.NDArray[Any]
    weights: FloatArray
    appeal: FloatArray | float = 1.0
    least_change: float = 0.0


def ask_by_evidence(
    ensemble: Ensemble, known: Constraints, rng: np.random.Generator
) -> Asking:
    """Models weigh as much as the answers make them likely, before any score."""
    pairs = candidate_pairs(ensemble, rng, _CANDIDATES)
    pairs = pairs[~known.settles(pairs, ensemble.n_samples)]
    likely = likelihoods(ensemble, known)
    ends, place = np.unique(pairs, return_inverse=True)
    typical = typicality(ensemble, ends)[place.reshape(pairs.shape)].prod(axis=1)
    return Asking(
        pairs,
        expected_answers(ensemble, pairs),
        likely.weights,
        typical**_TYPICAL,
        _WORTH_ASKING / (2 * (1 - 2 * likely.error_rate)),
    )


def elsewhere(asking: Asking, ensemble: Ensemble, unsure: PairArray) -> Asking:
    """Leave out pairs that could not be answered, and think less of pairs like them."""
    if not len(unsure):
        return asking
    pairs = asking.pairs
    appeal = np.broadcast_to(asking.appeal, len(pairs))
    for i, j in unsure.tolist():
        to_i, to_j = (_consensus_with(ensemble, one, pairs) for one in (i, j))
        appeal = appeal * (1 - to_i[:, 0] * to_j[:, 1]) * (1 - to_i[:, 1] * to_j[:, 0])
    kept = appeal > 0  # the pair itself, and any whose ends are joined to its by all
    return replace(
        asking, pairs=pairs[kept], expected=asking.expected[kept], appeal=appeal[kept]
    )


def _consensus_with(ensemble: Ensemble, one: int, pairs: PairArray) -> FloatArray:
    """Share of the votes that join a sample with both ends of pairs, (n_pairs, 2)."""
    samples, place = np.unique(pairs, return_inverse=True)
    codes = ensemble.codes_and_gaps
    joined = codes[:, samples] == codes[:, [one]]
    shares = ensemble.votes @ joined / ensemble.n_votes
    return np.asarray(shares[place.reshape(pairs.shape)])


@dataclass(frozen=True)
class Question:
    """A chosen pair.

    Attributes
    ----------
    position : int
        Its place among the candidates.
    resolves : float
        Share of the disagreement over all candidates that the answer resolves.
    changes : float
        Mean absolute covariance with what is not known of all candidates.
    """

    position: int
    resolves: float
    changes: float


def most_informative(
    expected: npt.NDArray[Any],
    weights: FloatArray,
    independent: Independence,
    run: RunOptions,
    appeal: FloatArray | float = 1.0,
) -> Iterator[Question]:
    """Yield the pairs, each the one whose answer resolves most beyond those before it.

    With the splits F, shape (n_pairs, n_models), and the covariance S of what is not
    known of the models, pair i has the variance v_i = (F S F')_ii, and an answer to it
    resolves (F S F'F S F')_ii over that and the noise; `appeal`, shape (n_pairs,),
    multiplies what is compared. An answer takes an outer product from S, so both follow
    from two products of F and a vector for each pair taken.
    """
    split = (expected - expected @ weights[:, None]) * np.sqrt(weights)
    gram = split.T @ split
    variance = np.einsum("ij,ij->i", split, split)
    resolves = np.einsum("ij,ij->i", split @ gram, split)
    total, unknown = variance.sum(), np.eye(len(weights))
    while independent.free.any():
        run.raise_if_cancelled()
        open_ = independent.free & (variance > _NEGLIGIBLE)
        # A pair resolves at least its own variance; rounding must not say less.
        share = np.maximum(resolves, variance**2) / (variance + _NOISE)
        best = int(np.where(open_, share * appeal, 0.0).argmax())
        if not open_[best]:
            return
        towards = unknown @ split[best]
        across = split @ towards
        independent.take(best)
        yield Question(best, float(share[best] / total), float(np.abs(across).mean()))
        given = variance[best] + _NOISE
        onto, further = across / given, split @ (unknown @ (gram @ towards))
        resolves += onto * (onto * (towards @ gram @ towards) - 2 * further)
        variance -= given * onto**2
        unknown -= np.outer(towards, towards) / given
