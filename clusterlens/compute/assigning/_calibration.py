"""Calibration: shares and bounds of oddness from held-out rows."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2_contingency
from sklearn.isotonic import IsotonicRegression

from clusterlens.compute._validation import FloatArray, IntArray

N_BINS = 10
_POINTS = np.r_[np.linspace(0, 0.2, 101), np.linspace(0.22, 1, 40)]


def fit_curve(clearness: FloatArray, right: np.ndarray) -> FloatArray:
    """Learn how often a rule is right as a function of clearness: (2, n_points).

    Isotonic regression on held-out rows. One wrong row with the highest clearness and
    one right row with the lowest are added, so that no share is 0 or 1.
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
    """Expected calibration error of curves, measured on rows not used for them.

    Half of the rows give the curve of the other half and vice versa; mean absolute
    difference of share and frequency over ten bins of equally many rows.
    """
    if len(clearness) < 2 * N_BINS:
        return float("nan")
    order = np.random.default_rng(random_state).permutation(len(clearness))
    halves = np.array_split(order, 2)
    predicted = np.empty(len(clearness))
    for use, judge in (halves, halves[::-1]):
        predicted[judge] = shares(
            fit_curve(clearness[use], right[use]), clearness[judge]
        )
    bins = np.array_split(np.argsort(predicted, kind="stable"), N_BINS)
    gaps = [len(b) * abs(predicted[b].mean() - right[b].mean()) for b in bins]
    return float(sum(gaps) / len(predicted))


def g_statistic(then: FloatArray, now: FloatArray | IntArray) -> tuple[float, int]:
    """Compare two rows of counts: the G statistic and its degrees of freedom."""
    table = np.array([then, now])
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2 or not table.sum(axis=1).all():
        return 0.0, 0
    found = chi2_contingency(table, correction=False, lambda_=0.0)
    return float(found.statistic), int(found.dof)


def dispersion(then: FloatArray, now: FloatArray | IntArray) -> float:
    """Estimate the difference of two rows of counts beyond chance.

    With sizes n and m and variance s of the shares over chance, relative to it, the G
    statistic is 1 + s / (1/n + 1/m) for each degree of freedom; returns s.
    """
    statistic, freedom = g_statistic(then, now)
    if not freedom:
        return 0.0
    return (statistic / freedom - 1) * (1 / then.sum() + 1 / now.sum())


def widening(p: FloatArray, least: FloatArray) -> FloatArray:
    """Learn how often rows outside the partition have p-values as small: (2, n_points).

    `p` (n_rows,) are their p-values, `least` (n_rows,) the least p-values of their
    clusters: a row counts at a point if its cluster can reach it. The result is at
    least the p-value itself. Without rows there are no points.
    """
    if not len(p):
        return np.empty((2, 0))
    points = np.append(np.quantile(p, _POINTS, method="inverted_cdf"), 1.0)
    points = np.unique(points)
    as_small = np.searchsorted(np.sort(p), points, side="right")
    able = np.searchsorted(np.sort(least), points, side="right")
    seen = np.maximum((1 + as_small) / (1 + able), points)
    return np.array([points, np.maximum.accumulate(seen)])


def widened(curve: FloatArray, p: FloatArray) -> FloatArray:
    """Read p-values (n,) from a curve (2, n_points), at the next point, if any."""
    if not curve.size:
        return p
    return np.asarray(curve[1][np.searchsorted(curve[0], p)])


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
