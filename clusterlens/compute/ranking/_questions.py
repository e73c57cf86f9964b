"""Questions: which pairs that may be asked about tell most, given the answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._validation import FloatArray
from clusterlens.compute.ensemble.connected import components
from clusterlens.compute.ensemble.constraints import (
    Constraints,
    PairArray,
    settled_pairs,
)
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking._candidates import (
    Candidates,
    candidates,
    consensus_between,
)
from clusterlens.compute.ranking._evidence import likelihoods

# A model that suits the analyst still breaks about this share of the answers.
ERROR_RATE = 0.2

_NOISE = ERROR_RATE * (1 - ERROR_RATE)  # variance of an answer given the right model
_TIE = 1e-9
_BLOCK = 256  # rows of expected answers that stay in a cache
_TYPICAL = 0.5  # how much it matters that the ends of a pair are typical
_WORTH_ASKING = 1e-3  # expected change of the consensus, mean over pairs
_NEGLIGIBLE = 1e-9  # conditional variance of a pair that tells nothing new


class Independence:
    """Which pairs may still be asked: no answers to the taken ones settle them.

    A pair is settled at worst if all taken pairs became must-links, or all but one on
    the way between its ends; so none may close a cycle with them.
    """

    def __init__(self, known: Constraints, pairs: PairArray, n_samples: int) -> None:
        self.pairs, self.cannot = pairs, known.cannot_link
        self.group = components(known.must_link, n_samples)
        self.free = np.ones(len(pairs), dtype=bool)

    def take(self, k: int) -> None:
        """Take pair k, and bar those that answers could then settle."""
        kept, joined = self.group[self.pairs[k]]
        self.group[self.group == joined] = kept
        self.free &= ~settled_pairs(self.group, self.cannot, self.pairs)


@dataclass(frozen=True)
class Asking:
    """Candidate pairs and what is known of the models that answer them.

    Weights of the models (n_models,), appeal of the pairs (n_pairs,), and what an
    answer must change at least, on average over all pairs, to be worth asking for.
    """

    candidates: Candidates
    weights: FloatArray
    appeal: FloatArray
    least_change: float = 0.0

    @property
    def pairs(self) -> PairArray:
        """The pairs, shape (n_pairs, 2)."""
        return self.candidates.pairs

    @property
    def expected(self) -> FloatArray:
        """Expected answers of the models, shape (n_pairs, n_models)."""
        return self.candidates.expected


def ask_by_evidence(ensemble: Ensemble, known: Constraints, seed: int) -> Asking:
    """Models weigh as much as the answers make them likely, before any score."""
    drawn = candidates(ensemble, seed, by_evidence=True)
    drawn = drawn.where(~known.settles(drawn.pairs, ensemble.n_samples))
    likely = likelihoods(ensemble, known)
    return Asking(
        drawn,
        likely.weights,
        drawn.typical**_TYPICAL,
        _WORTH_ASKING / (2 * (1 - 2 * likely.error_rate)),
    )


def elsewhere(asking: Asking, ensemble: Ensemble, unsure: PairArray) -> Asking:
    """Leave out pairs that could not be answered, and think less of pairs like them."""
    if not len(unsure):
        return asking
    pairs, appeal = asking.pairs, asking.appeal
    for i, j in unsure.tolist():
        to_i, to_j = (_consensus_with(ensemble, one, pairs) for one in (i, j))
        appeal = appeal * (1 - to_i[:, 0] * to_j[:, 1]) * (1 - to_i[:, 1] * to_j[:, 0])
    kept = appeal > 0  # the pair itself, and any whose ends are joined to its by all
    return replace(
        asking, candidates=asking.candidates.where(kept), appeal=appeal[kept]
    )


def _consensus_with(ensemble: Ensemble, one: int, pairs: PairArray) -> FloatArray:
    """Share of the votes that join a sample with both ends of pairs, (n_pairs, 2)."""
    samples, place = np.unique(pairs, return_inverse=True)
    shares = consensus_between(ensemble, np.array([one]), samples)[0]
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
    asking: Asking, independent: Independence, run: RunOptions
) -> Iterator[Question]:
    """Yield the pairs, each the one whose answer resolves most beyond those before it.

    With the splits F = (E - E w 1') sqrt(W) of the expected answers E by models of the
    weights w, the covariance S of what is not known of the models, pair i has the
    variance v_i = (F S F')_ii, and an answer to it resolves (F S F'F S F')_ii over that
    and the noise; the appeal multiplies what is compared. An answer takes an outer
    product from S, so both follow from two products of F and a vector for each pair
    taken. F is never made: its products follow from those of E.
    """
    expected, weights = asking.expected, asking.weights
    mean, roots = expected @ weights, np.sqrt(weights)
    between = asking.candidates.products @ weights
    gram = asking.candidates.products - between - between[:, None] + weights @ between
    gram *= np.outer(roots, roots)
    variance = asking.candidates.squares @ weights - mean**2
    resolves = _squares(expected, gram * np.outer(roots, roots), mean)
    total, unknown = variance.sum(), np.eye(len(weights))
    while independent.free.any():
        run.raise_if_cancelled()
        open_ = independent.free & (variance > _NEGLIGIBLE)
        # A pair resolves at least its own variance; rounding must not say less.
        share = np.maximum(resolves, variance**2) / (variance + _NOISE)
        told = np.where(open_, share * asking.appeal, 0.0)
        # Of equals the first: not the one that rounding favours on this machine.
        best = int((told >= told.max() * (1 - _TIE)).argmax())
        if not open_[best]:
            return
        towards = unknown @ (roots * (expected[best] - mean[best]))
        across = _times(expected, mean, roots * towards)
        independent.take(best)
        yield Question(best, float(share[best] / total), float(np.abs(across).mean()))
        given = variance[best] + _NOISE
        onto, onwards = across / given, gram @ towards
        further = _times(expected, mean, roots * (unknown @ onwards))
        resolves += onto * (onto * (towards @ onwards) - 2 * further)
        variance -= given * onto**2
        unknown -= np.outer(towards, towards) / given


def _times(expected: FloatArray, mean: FloatArray, vector: FloatArray) -> FloatArray:
    """Products of expected answers, less their mean over the models, with a vector."""
    return expected @ vector - mean * vector.sum()


def _squares(expected: FloatArray, form: FloatArray, mean: FloatArray) -> FloatArray:
    """(e - m)' form (e - m) of each row e of expected answers and its mean m."""
    sums = form.sum(axis=1)
    found = np.empty(len(expected))
    for start in range(0, len(expected), _BLOCK):
        rows = expected[start : start + _BLOCK]
        found[start : start + _BLOCK] = np.einsum("ij,ij->i", rows @ form, rows)
    return found - 2 * mean * (expected @ sums) + mean**2 * sums.sum()
