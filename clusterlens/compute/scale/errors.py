"""Errors of landmarks: assigned labels compared with pools fitted to other rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.consensus.closest import closest_cut
from clusterlens.compute.ensemble.contingency import dense_table
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.overlaps import correct_for_chance
from clusterlens.compute.ranking.voting import CHOSEN_VOTES, vote_weights

# Samples of held-back rows: the smallest of so many indices is a 95% bound.
REFITS = 19
FEWEST_ROWS = 100
ERRORS = ["ari", "ari_least"]
CONSENSUS = "consensus"


def with_typical_votes(ensemble: Ensemble, run: RunOptions) -> Ensemble:
    """Return an ensemble with the votes that a consensus listens to."""
    return ensemble.with_weights(
        vote_weights(ensemble, CHOSEN_VOTES, n_jobs=run.n_jobs)
    )


def consensus_labels(ensemble: Ensemble, seed: int, run: RunOptions) -> IntArray:
    """Return the consensus partition closest to the models, (n_samples,)."""
    found = closest_cut(
        ensemble, random_state=seed, n_jobs=run.n_jobs, cancel=run.cancel
    )
    return found.labels


def held_back_samples(n_rows: int, seed: int) -> list[IntArray]:
    """Divide held-back rows at random into samples; none if there are too few.

    Parameters
    ----------
    n_rows : int
        Number of held-back rows.
    seed : int
        Divides them.

    Returns
    -------
    samples : list of array of int
        Rows of each, ascending: `REFITS` samples, or none.
    """
    if n_rows < REFITS * FEWEST_ROWS:
        return []
    order = np.random.default_rng([seed, 4]).permutation(n_rows)
    return [np.sort(part) for part in np.array_split(order, REFITS)]


def compare_with_refits(
    names: Sequence[str],
    assigned: Sequence[IntArray],
    samples: Sequence[IntArray],
    refits: Sequence[Ensemble],
    consensus: Sequence[IntArray | None],
) -> pd.DataFrame:
    """Compare assigned labels of held-back rows with pools fitted to samples of them.

    Parameters
    ----------
    names : sequence of str
        Models that were fitted to landmarks.
    assigned : sequence of array of int, shape (n_held_back,)
        Labels that they and, last, the consensus assign to the held-back rows.
    samples : sequence of array of int, shape (n_sample,)
        Rows of each sample among the held-back ones.
    refits : sequence of Ensemble
        The pool fitted to each sample.
    consensus : sequence of array of int or None
        The consensus of each; None if there is nothing to compare the consensus with.

    Returns
    -------
    errors : DataFrame
        Index: the models and "consensus". Columns: "ari", the median of the adjusted
        Rand indices, and "ari_least", the smallest; missing for models that did not
        survive in all samples.

    Notes
    -----
    If a fit to all rows differs from the landmarks as the refits do, each order of the
    `REFITS` + 1 indices is equally likely, so that its index is at least the smallest
    with a chance of 95%, whatever their distribution. A fit to all rows has less
    sampling error than a refit, which makes the chance larger.
    """
    indices: list[list[float]] = [[] for _ in assigned]
    for at, refit, own in zip(samples, refits, consensus, strict=True):
        there = dict(zip(refit.names, refit.labels, strict=True))
        others = [*map(there.get, names), own]
        for found, labels, other in zip(indices, assigned, others, strict=True):
            if other is not None:
                found.append(_index(labels[at], other))
    values = [
        (np.median(found), min(found)) if len(found) == REFITS else (np.nan, np.nan)
        for found in indices
    ]
    index = pd.Index([*names, CONSENSUS], name="model")
    return pd.DataFrame(values, index, ERRORS)


def _index(one: IntArray, other: IntArray) -> float:
    codes = [np.unique(labels, return_inverse=True)[1] for labels in (one, other)]
    return float(adjusted_rand(dense_table(*codes)[None])[0])


def adjusted_rand(tables: IntArray) -> FloatArray:
    """Return the adjusted Rand index of contingency tables (m, k, l): (m,)."""

    def pairs(counts: IntArray) -> FloatArray:
        counts = counts.reshape(len(counts), -1).astype(np.float64)
        return (counts * (counts - 1)).sum(axis=1) / 2

    first, second = pairs(tables.sum(axis=2)), pairs(tables.sum(axis=1))
    every = pairs(tables.sum(axis=(1, 2)))
    return correct_for_chance(pairs(tables), first, second, every)
