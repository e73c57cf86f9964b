"""Questions: the most informative pairs to ask about, given the answers."""

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

# A suitable model still breaks about this share of the answers.
ERROR_RATE = 0.2

_NOISE = ERROR_RATE * (1 - ERROR_RATE)  # variance of an answer given the right model
_TIE = 1e-9
_BLOCK = 256  # rows of expected answers that fit a processor cache
_TYPICAL = 0.5  # exponent of the typicality of the ends of a pair
_WORTH_ASKING = 1e-3  # expected change of the consensus, mean over pairs
_NEGLIGIBLE = 1e-9  # conditional variance of a pair that adds no information


class Independence:
    """Pairs that may still be asked: no answers to the taken pairs imply theirs.

    The answer to a pair can be implied if all taken pairs become must-links, or all but
    one on the path between its ends. So no pair may close a cycle with the taken ones.
    """

    def __init__(self, known: Constraints, pairs: PairArray, n_samples: int) -> None:
        self.pairs, self.cannot = pairs, known.cannot_link
        self.group = components(known.must_link, n_samples)
        self.free = np.ones(len(pairs), dtype=bool)

    def take(self, k: int) -> None:
        """Take pair k, and exclude pairs with answers that could then be implied."""
        kept, joined = self.group[self.pairs[k]]
        self.group[self.group == joined] = kept
        self.free &= ~settled_pairs(self.group, self.cannot, self.pairs)


@dataclass(frozen=True)
class Asking:
    """Candidate pairs with the state of the models that answer them.

    Holds the weights of the models (n_models,), the appeal of the pairs (n_pairs,), and
    the least mean change of the consensus over all pairs that makes an answer worth it.
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
    """Weigh the models by the likelihood of the answers, before any score."""
    drawn = candidates(ensemble, seed, by_evidence=True)
    drawn = drawn.where(~known.settles(drawn.pairs, ensemble.n_samples))
    likely = likelihoods(ensemble, known)
    return Asking(
        drawn,
        likely.weights,
        drawn.typical**_TYPICAL,
        _WORTH_ASKING / (2 * (1 - 2 * likely.error_rate)),
    )


def skip_unsure(asking: Asking, ensemble: Ensemble, unsure: PairArray) -> Asking:
    """Leave out unanswerable pairs, and lower the appeal of similar ones."""
    if not len(unsure):
        return asking
    pairs, appeal = asking.pairs, asking.appeal
    for i, j in unsure.tolist():
        to_i, to_j = (_consensus_with(ensemble, one, pairs) for one in (i, j))
        appeal = appeal * (1 - to_i[:, 0] * to_j[:, 1]) * (1 - to_i[:, 1] * to_j[:, 0])
    kept = appeal > 0  # drops the pair itself and pairs joined to its ends by all
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
    position : int
        Its position among the candidates.
    resolves : float
        Share of the disagreement over all candidates that the answer resolves.
    changes : float
        Mean absolute covariance with the unknown answers to all candidates.
    """

    position: int
    resolves: float
    changes: float


def most_informative(
    asking: Asking, independent: Independence, run: RunOptions
) -> Iterator[Question]:
    """Yield pairs one by one, each resolving most beyond the pairs before it.

    The models have weights w, and E holds their expected answers. The splits are
    F = (E - E w 1') sqrt(W), and S is the covariance of the unknowns of the models.
    Pair i has the variance v_i = (F S F')_ii, and an answer to it resolves (F S F'F S
    F')_ii divided by v_i plus the noise; the comparison multiplies this by the appeal.
    An answer subtracts an outer product from S, so both follow from two products of F
    and a vector for each pair taken. F is never stored: its products follow from E.
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
        # A pair resolves at least its own variance; rounding must not lower this.
        share = np.maximum(resolves, variance**2) / (variance + _NOISE)
        gain = np.where(open_, share * asking.appeal, 0.0)
        # Take the first of equal pairs, so that rounding on a machine does not choose.
        best = int((gain >= gain.max() * (1 - _TIE)).argmax())
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
    """Multiply expected answers, less their mean over the models, with a vector."""
    return expected @ vector - mean * vector.sum()


def _squares(expected: FloatArray, form: FloatArray, mean: FloatArray) -> FloatArray:
    """Compute (e - m)' form (e - m) of each row e of expected answers with mean m."""
    sums = form.sum(axis=1)
    found = np.empty(len(expected))
    for start in range(0, len(expected), _BLOCK):
        rows = expected[start : start + _BLOCK]
        found[start : start + _BLOCK] = np.einsum("ij,ij->i", rows @ form, rows)
    return found - 2 * mean * (expected @ sums) + mean**2 * sums.sum()
