"""Candidates: pairs of samples to ask about, with the answers each model expects.

No answer changes them, so they are drawn once for an ensemble. Beyond drawing samples,
the cost does not depend on their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.ensemble.constraints import PairArray
from clusterlens.compute.ensemble.ensemble import (
    NOISE,
    Ensemble,
    distinct_partitions,
    distinct_votes,
)

BoolArray = npt.NDArray[np.bool_]

_MOST_SAMPLES = 2_000  # from which pairs are drawn
_COMPANY = 64
_MOST_BY_EVIDENCE, _MOST_BY_SHARE = 4_000, 20_000


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs to ask about, (n_pairs, 2), with the answers that the models expect.

    Holds the expected answers (n_pairs, n_models), their squares, the products of their
    columns (n_models, n_models), the kind of each pair (pairs of one kind get the same
    answers from all models), and how typical its ends are of their clusters.
    """

    pairs: PairArray
    expected: FloatArray
    squares: FloatArray
    products: FloatArray
    kinds: IntArray
    typical: FloatArray

    def where(self, kept: BoolArray) -> Candidates:
        """Keep the candidates of a mask of shape (n_pairs,)."""
        if kept.all():
            return self
        gone = self.expected[~kept]
        expected = self.expected[kept]
        certain = self.squares is self.expected
        return Candidates(
            self.pairs[kept],
            expected,
            expected if certain else self.squares[kept],
            # Sums of quarters are exact, so subtraction is exact as well.
            self.products - gone.T @ gone,
            self.kinds[kept],
            self.typical[kept],
        )


# The last draw of each ensemble, with its seed and its mode.
_KNOWN: WeakKeyDictionary[Ensemble, dict[bool, tuple[int, Candidates]]]
_KNOWN = WeakKeyDictionary()


def candidates(ensemble: Ensemble, seed: int, *, by_evidence: bool) -> Candidates:
    """Draw candidates, or return the last draw with the same seed.

    If answers are evidence, up to 4,000 pairs, else up to 20,000 equally typical ones.
    """
    known = _KNOWN.setdefault(ensemble, {})
    last_seed, found = known.get(by_evidence, (None, None))
    if found is None or last_seed != seed:
        found = _draw(ensemble, seed, by_evidence)
        known[by_evidence] = seed, found
    return found


def _draw(ensemble: Ensemble, seed: int, by_evidence: bool) -> Candidates:
    """Draw pairs and compute the answers that the models expect."""
    most = _MOST_BY_EVIDENCE if by_evidence else _MOST_BY_SHARE
    pairs = candidate_pairs(ensemble, np.random.default_rng(seed), most)
    if by_evidence:
        expected = expected_answers(ensemble, pairs)
        ends, place = np.unique(pairs, return_inverse=True)
        typical = typicality(ensemble, ends)[place.reshape(pairs.shape)].prod(axis=1)
    else:
        first, _ = distinct_partitions(ensemble)
        expected = joined_by(ensemble.codes[first], pairs).astype(float)
        typical = np.ones(len(pairs))
    seen: dict[bytes, int] = {}
    twice = (2 * expected).astype(np.int8)
    kinds = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in twice], int)
    squares = expected**2 if (twice == 1).any() else expected
    products = expected.T @ expected
    return Candidates(pairs, expected, squares, products, kinds, typical)


def candidate_pairs(
    ensemble: Ensemble, rng: np.random.Generator, most: int
) -> PairArray:
    """Draw up to `most` distinct pairs (i, j), i < j, (n_pairs, 2), in random order."""
    size = min(ensemble.n_samples, _MOST_SAMPLES)
    samples = np.sort(rng.choice(ensemble.n_samples, size, replace=False))
    if size * (size - 1) // 2 <= most:
        local = np.stack(np.triu_indices(size, k=1), axis=1)
    else:
        anywhere = rng.integers(0, size, (most // 2, 2))
        shares = ensemble.votes / ensemble.n_votes
        drawn = rng.multinomial(most // 2, shares)
        inside = _pairs_inside_clusters(ensemble, samples, drawn, rng)
        local = np.sort(np.concatenate([anywhere, inside]), axis=1)
        local = np.unique(local[local[:, 0] < local[:, 1]], axis=0)
    return samples[rng.permutation(local)]


def _pairs_inside_clusters(
    ensemble: Ensemble, samples: IntArray, drawn: IntArray, rng: np.random.Generator
) -> PairArray:
    """Draw pairs of samples that a random vote joins; with many clusters they are rare.

    `drawn` holds the number of pairs per model. For each, the model gives a random
    sample and another sample of its cluster, as positions among the samples, but no
    pair if the sample is a gap.
    """
    pairs = []
    codes = ensemble.codes_and_gaps[:, samples]
    for row, gap, count in zip(codes, ensemble.n_codes, drawn, strict=True):
        order = np.argsort(row, kind="stable")
        sizes = np.bincount(row)
        starts = np.cumsum(sizes) - sizes
        one = rng.integers(0, len(samples), count)
        one = one[row[one] < gap]
        other = starts[row[one]] + rng.integers(0, sizes[row[one]])
        pairs.append(np.stack([one, order[other]], axis=1))
    return np.concatenate(pairs)


def joined_by(codes: IntArray, pairs: PairArray) -> BoolArray:
    """Tell for each pair which models join it, shape (n_pairs, n_models)."""
    return (codes[:, pairs[:, 0]] == codes[:, pairs[:, 1]]).T


def expected_answers(ensemble: Ensemble, pairs: PairArray) -> FloatArray:
    """Compute the probability that the right answer is "joined", (n_pairs, n_models).

    Under each distinct partition it is 0 or 1, and one half if a label is noise.
    """
    first, _ = distinct_partitions(ensemble)
    noise = ensemble.labels[first] == NOISE
    silent = (noise[:, pairs[:, 0]] | noise[:, pairs[:, 1]]).T
    return np.where(silent, 0.5, joined_by(ensemble.codes_and_gaps[first], pairs))


def typicality(ensemble: Ensemble, samples: IntArray) -> FloatArray:
    """Compute how closely some samples keep to their own clusters, in [0, 1].

    The value is sum C² / sum C over the consensus C of a sample with 64 others: 1 if
    the models agree on its companions, low at an uncertain rim. O(64 T) time for each.
    """
    spread = np.linspace(0, ensemble.n_samples - 1, _COMPANY).astype(np.intp)
    shares = consensus_between(ensemble, samples, np.unique(spread))
    own = np.maximum(shares.sum(axis=1), np.finfo(float).eps)
    return np.asarray((shares**2).sum(axis=1) / own)


def consensus_between(
    ensemble: Ensemble, samples: IntArray, others: IntArray
) -> FloatArray:
    """Share of the votes that saw both samples which join them, (n, m).

    0 if no model saw both. O(n m T) time.
    """
    joined = _votes_between(ensemble, samples, others)
    if not ensemble.is_partial:
        return joined / ensemble.n_votes
    return joined / np.maximum(_votes_between(ensemble.presence, samples, others), 1)


def _votes_between(
    ensemble: Ensemble, samples: IntArray, others: IntArray
) -> FloatArray:
    """Votes that join samples with others, (n, m); a gap joins nothing."""
    votes = np.zeros((len(samples), len(others)))
    for model, count in zip(*distinct_votes(ensemble), strict=True):
        codes = ensemble.codes_and_gaps[model]
        own = codes[samples, None]
        joined = (own == codes[others]) & (own < ensemble.n_codes[model])
        votes += count * joined
    return votes
