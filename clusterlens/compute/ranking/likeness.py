"""Likeness of all models to a given one, and its near-copies."""

from __future__ import annotations

import numpy as np

from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    check_range,
    read_only,
)
from clusterlens.compute.ensemble.comparison import adjusted_rand_or_nan
from clusterlens.compute.ensemble.ensemble import (
    Ensemble,
    check_ensemble,
    distinct_partitions,
)

NEAR_COPY = 0.95  # adjusted Rand index from which partitions are near-copies


def near_copies(
    ensemble: Ensemble, model: int, *, min_similarity: float = NEAR_COPY
) -> IntArray:
    """Find the partitions that are nearly equal to a given one.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    model : int
        Position of the given partition, from 0 to T - 1.
    min_similarity : float, default 0.95
        Adjusted Rand index from which a partition is a near-copy, at most 1.

    Returns
    -------
    positions : array of int64, shape (n_copies,)
        Ascending, including `model`. `ensemble.votes[positions].sum()` over
        `ensemble.n_votes` is their share of the votes.

    Notes
    -----
    O(n T) time. Partial partitions are compared on the samples that both models saw.

    Examples
    --------
    >>> ensemble = Ensemble([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]])
    >>> near_copies(ensemble, 0).tolist()
    [0, 1]
    """
    check_ensemble(ensemble)
    last = ensemble.n_partitions - 1
    model = check_range(model, 0, last, name="model", integer=True)
    least = check_range(min_similarity, -1.0, 1.0, name="min_similarity")
    return np.flatnonzero(likeness(ensemble, model) >= least)


def likeness(ensemble: Ensemble, model: int) -> FloatArray:
    """Adjusted Rand index of each model with a given one, shape (n_partitions,).

    Partial partitions are compared on the samples that both models saw; NaN if these
    are fewer than two. O(n T) time.
    """
    first, group = distinct_partitions(ensemble)
    codes, seen = ensemble.codes_and_gaps, ensemble.seen_by(model)
    both = [seen & ensemble.seen_by(int(t)) for t in first]
    values = [
        adjusted_rand_or_nan(codes[model][some], codes[t][some])
        for t, some in zip(first, both, strict=True)
    ]
    return read_only(np.array(values)[group])
