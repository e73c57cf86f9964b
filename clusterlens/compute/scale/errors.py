"""Errors of landmarks: assigned labels compared with a fit in memory."""

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

RESAMPLES = 400
CONFIDENCE = 0.95
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


def compare_with_memory(
    names: Sequence[str],
    assigned: Sequence[IntArray],
    fitted: Ensemble,
    fitted_consensus: IntArray | None,
    seed: int,
) -> pd.DataFrame:
    """Compare assigned labels of held-back rows with a pool fitted to these rows.

    Parameters
    ----------
    names : sequence of str
        Models that were fitted to landmarks.
    assigned : sequence of array of int, shape (n_held_back,)
        Labels that they and, last, the consensus assign to the held-back rows.
    fitted : Ensemble
        The pool fitted to the held-back rows.
    fitted_consensus : array of int, shape (n_held_back,), or None
        Its consensus; None if there is nothing to compare the consensus with.
    seed : int
        Draws the resamples.

    Returns
    -------
    errors : DataFrame
        Index: the models and "consensus". Columns: "ari", the adjusted Rand index, and
        "low" and "high", a 95% interval for it among all rows; missing for models that
        did not survive in both pools.
    """
    there = dict(zip(fitted.names, fitted.labels, strict=True))
    if fitted_consensus is not None:
        there[CONSENSUS] = fitted_consensus
    rng = np.random.default_rng([seed, 2])
    rows = [
        _interval(labels, there[name], rng) if name in there else (np.nan,) * 3
        for name, labels in zip([*names, CONSENSUS], assigned, strict=True)
    ]
    index = pd.Index([*names, CONSENSUS], name="model")
    return pd.DataFrame(rows, index, columns=["ari", "low", "high"])


def _interval(
    one: IntArray, other: IntArray, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return the adjusted Rand index with its bootstrap interval over rows."""
    codes = [np.unique(labels, return_inverse=True)[1] for labels in (one, other)]
    table = dense_table(*codes)
    n = int(table.sum())
    drawn = rng.multinomial(n, table.ravel() / n, RESAMPLES)
    values = adjusted_rand(drawn.reshape(RESAMPLES, *table.shape))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(adjusted_rand(table[None])[0]), float(low), float(high)


def adjusted_rand(tables: IntArray) -> FloatArray:
    """Return the adjusted Rand index of contingency tables (m, k, l): (m,)."""

    def pairs(counts: IntArray) -> FloatArray:
        counts = counts.reshape(len(counts), -1).astype(np.float64)
        return (counts * (counts - 1)).sum(axis=1) / 2

    first, second = pairs(tables.sum(axis=2)), pairs(tables.sum(axis=1))
    every = pairs(tables.sum(axis=(1, 2)))
    return correct_for_chance(pairs(tables), first, second, every)
