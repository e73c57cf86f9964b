"""Internal indices made comparable between data sets, for two classes at a time.

Deterministic successors of CH_btwn (Jeon et al. 2025): distances are divided by their
spread in the pair of classes, exponentials remove the effect of dimension, and a
logistic with a constant k fitted to human judgement brings the value to a common range.
The constants space the values but do not order them within one pair.

L is the logistic function, c the mean of the pair, c_i the class means; s and s2 are
the population standard deviations of the distances and squared distances to c; T is the
mean of d^2(x, c) / s2, W that of d^2(x, c_i) / s2, W_i the same in one class.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from clusterlens.compute._validation import FloatArray
from clusterlens.compute.indices._clusters import Clusters, Undefined

K_CALINSKI_HARABASZ = 4.432010535838295
K_DAVIES_BOULDIN = 2.4831185988914117
K_I_INDEX = 0.29289310158571386
K_DUNN = 0.40019810656179045

_MEDIAN_TOLERANCE = 1e-10
_MEDIAN_ITERATIONS = 1000


def adjusted_calinski_harabasz(pair: Clusters) -> float:
    """Compute 2 L(k v) - 1, v = exp(T - W) (sum n_i d^2(c_i, c) / 2) / (s2 n)."""
    # T - W is exactly the between-class part of the squared distances.
    between = pair.bgss / (_spread(pair, 2) * pair.n_samples)
    return _squash(K_CALINSKI_HARABASZ, between + np.log(max(between / 2, 1e-300)))


def adjusted_davies_bouldin(pair: Clusters) -> float:
    """Compute 2 L(k v) - 1, v = (d^2(c_1, c_2) / s2) T / (exp(W_1) + exp(W_2))."""
    spread = _spread(pair, 2)
    gap = pair.mean_distances[0, 1] ** 2 / spread
    total = np.mean(_to_centre(pair) ** 2) / spread
    within = pair.mean_by_cluster(pair.own_squared) / spread
    log_v = np.log(max(gap * total, 1e-300)) - np.logaddexp(*within)
    return _squash(K_DAVIES_BOULDIN, log_v)


def adjusted_i_index(pair: Clusters) -> float:
    """Compute 2 L(k v) - 1, v = exp(T - W) d(c_1, c_2) / s; Xie-Beni is the same."""
    between = pair.bgss / (_spread(pair, 2) * pair.n_samples)
    gap = pair.mean_distances[0, 1] / _spread(pair, 1)
    return _squash(K_I_INDEX, between + np.log(max(gap, 1e-300)))


def adjusted_dunn(pair: Clusters) -> float:
    """Compute (L(k v) - L(k e)) / (1 - L(k e)) from mean distances.

    v is the mean distance between the classes over the larger mean distance within one.
    e is the mean distance to the geometric median over that between any two samples.
    """
    spread = _spread(pair, 1)
    rows, sizes, n_samples = pair.rows, pair.sizes, pair.n_samples
    between = rows.other_sum.sum() / 2 / np.prod(sizes)
    within = pair.sum_by_cluster(rows.own_sum) / np.maximum(sizes * (sizes - 1), 1)
    overall = (rows.own_sum + rows.other_sum).sum() / (n_samples * (n_samples - 1))
    to_median = np.linalg.norm(pair.X - geometric_median(pair.X), axis=1).mean()
    with np.errstate(over="ignore"):
        v = expit(K_DUNN * np.exp((between - within.max()) / spread))
        e = expit(K_DUNN * np.exp((to_median - overall) / spread))
    return float((v - e) / (1 - e))


def adjusted_silhouette(pair: Clusters) -> float:
    """Average 1 - exp((a - b) / s), or its mirror, within each class, then over both.

    a is the mean distance to the own class without the sample itself, b that to the
    other class. If a > b, the term is exp((b - a) / s) - 1.
    """
    spread = _spread(pair, 1)
    rows, sizes = pair.rows, pair.sizes
    inside = rows.own_sum / np.maximum(sizes - 1, 1)[pair.codes]
    outside = rows.other_sum / sizes[1 - pair.codes]
    gain = (outside - inside) / spread
    terms = np.sign(gain) * -np.expm1(-np.abs(gain))
    return float(pair.mean_by_cluster(terms).mean())


ADJUSTED_MEASURES: dict[str, Callable[[Clusters], float]] = {
    "CHI": adjusted_calinski_harabasz,
    "DBI": adjusted_davies_bouldin,
    "I": adjusted_i_index,
    "XBI": adjusted_i_index,
    "DI": adjusted_dunn,
    "SI": adjusted_silhouette,
}


def geometric_median(X: FloatArray) -> FloatArray:
    """Find the point (d,) of least summed distance to X (n, d), after Weiszfeld."""
    median = X.mean(axis=0)
    scale = float(np.linalg.norm(X - median, axis=1).mean())
    for _ in range(_MEDIAN_ITERATIONS):
        distances = np.linalg.norm(X - median, axis=1)
        weights = 1 / np.maximum(distances, _MEDIAN_TOLERANCE * scale)
        moved = weights @ X / weights.sum()
        step = float(np.linalg.norm(moved - median))
        median = moved
        if step <= _MEDIAN_TOLERANCE * scale:
            break
    return median


def _to_centre(pair: Clusters) -> FloatArray:
    """Return the distances to the mean of the pair, shape (n_samples,)."""
    return np.linalg.norm(pair.X - pair.overall, axis=1)


def _spread(pair: Clusters, power: int) -> float:
    """Return the population standard deviation of a power of these distances."""
    powers = _to_centre(pair) ** power
    if powers.max() == 0:
        raise Undefined("all samples of the pair coincide", 0.0)
    # Equidistant samples: the floor keeps the limit instead of 0/0.
    return max(float(np.std(powers)), 1e-12 * float(powers.mean()))


def _squash(k: float, log_v: float) -> float:
    """Compute 2 L(k v) - 1 of v >= 0 given as a logarithm."""
    return float(2 * expit(k * np.exp(min(log_v, 700.0))) - 1)
