"""Expected discordance of Brouwer's index, with cosines of rows as agreements.

A pair is discordant by a (1 - b) + (1 - a) b, with a and b its agreements on either
side, so the expectation needs only the mean agreement of each side. For n unit rows,
observed or drawn, it follows from the squared norm of their sum without the diagonal.
"""

from __future__ import annotations

import numpy as np

from clusterlens.compute._validation import FloatArray
from clusterlens.compute.fuzzy._expected_difference import (
    Observed,
    SideDistribution,
    Target,
    map_rows,
)
from clusterlens.compute.fuzzy._pair_distances import Estimate, PairWalk
from clusterlens.compute.fuzzy.concordance import mean_cosine

_FIRST_ROWS = 1 << 16
_MOST_ROWS = 1 << 22


def expected_cosine_discordance(
    x: SideDistribution,
    y: SideDistribution,
    target: Target,
    rng: np.random.Generator,
    walk: PairWalk,
) -> Estimate:
    """Return the expected discordance; target(value) is the required standard error."""
    n_rows = _FIRST_ROWS
    while True:
        a, b = (_mean_agreement(side, n_rows, rng, walk) for side in (x, y))
        value = a.value * (1 - b.value) + (1 - a.value) * b.value
        error = np.hypot(
            (1 - 2 * b.value) * a.standard_error, (1 - 2 * a.value) * b.standard_error
        )
        if error <= target(value) or n_rows >= _MOST_ROWS:
            return Estimate(value, float(error), n_drawn=max(a.n_drawn, b.n_drawn))
        n_rows *= 4


def _mean_agreement(
    side: SideDistribution, n_rows: int, rng: np.random.Generator, walk: PairWalk
) -> Estimate:
    """Mean cosine of two rows of a side, from n_rows drawn rows if it is random."""
    if isinstance(side, Observed):
        return Estimate(mean_cosine(side.partition))
    if side.is_two_point:
        return Estimate(1 - side.mean_distance)

    def moments(rows: FloatArray) -> FloatArray:
        unit = rows / np.linalg.norm(rows, axis=0)
        return np.vstack([unit.sum(axis=1), unit @ unit.T])

    sums = np.sum(map_rows(side, moments, n_rows, rng, walk), axis=0)
    mean, second = sums[0] / n_rows, sums[1:] / n_rows
    square = float(mean @ mean)
    # The derivative of the squared norm of a mean is twice the mean.
    variance = 4 * (float(mean @ second @ mean) - square**2) / n_rows
    value = (n_rows * square - 1) / (n_rows - 1)
    return Estimate(value, max(variance, 0.0) ** 0.5, n_drawn=n_rows)
