"""From what a rule says of held-out rows to shares, and to a bound for belonging."""

from __future__ import annotations

import numpy as np
from sklearn.isotonic import IsotonicRegression

from clusterlens.compute._validation import FloatArray, IntArray

N_BINS = 10


def fit_curve(clearness: FloatArray, right: np.ndarray) -> FloatArray:
    """Learn how often a rule is right, rising with how clear it is: (2, n_points).

    Isotonic regression on held-out rows. One wrong row as clear as the clearest and one
    right as unclear as the least are added, so that no share is 0 or 1.
    """
    if not len(clearness):
        return np.array([[0.0, 1.0], [0.5, 0.5]])
    ends = [clearness.max(), clearness.min()]
    x = np.concatenate([clearness, ends])
    y = np.concatenate([right, [0.0, 1.0]])
    fitted = IsotonicRegression(out_of_bounds="clip").fit(x, y)
    return np.array([fitted.X_thresholds_, fitted.y_thresholds_])


def shares(curve: FloatArray, clearness: FloatArray) -> FloatArray:
    """Read a curve (2, n_points) at rows (n,)."""
    return np.interp(clearness, *curve)


def calibration_error(
    clearness: FloatArray, right: np.ndarray, random_state: int
) -> float:
    """Expected calibration error of curves, each judged on rows not used for it.

    Half of the rows give the curve of the other half and the other way round; mean
    absolute difference of share and frequency over ten bins of as many rows.
    """
    if len(clearness) < 2 * N_BINS:
        return float("nan")
    order = np.random.default_rng(random_state).permutation(len(clearness))
    halves = np.array_split(order, 2)
    told = np.empty(len(clearness))
    for use, judge in (halves, halves[::-1]):
        told[judge] = shares(fit_curve(clearness[use], right[use]), clearness[judge])
    bins = np.array_split(np.argsort(told, kind="stable"), N_BINS)
    gaps = [len(b) * abs(told[b].mean() - right[b].mean()) for b in bins]
    return float(sum(gaps) / len(told))


def p_values(
    oddness: FloatArray, cluster: IntArray, held_out: tuple[FloatArray, ...]
) -> FloatArray:
    """Share of the rows of its cluster that are at least as odd as each row (n,).

    (1 + number of held-out scores at least as large) / (1 + number of held-out scores),
    with the sorted scores of each cluster.
    """
    p = np.ones(len(oddness))
    for c, scores in enumerate(held_out):
        mine = cluster == c
        below = np.searchsorted(scores, oddness[mine], side="left")
        p[mine] = (1 + len(scores) - below) / (1 + len(scores))
    return p
