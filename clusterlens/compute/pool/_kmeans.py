"""k-means on many small subsamples of one table, for several numbers of clusters.

For a few hundred samples, scikit-learn takes longer to check a k-means fit than to
compute it. Here one call does all fits of a subsample: its seeds are drawn once, for
the largest number of clusters, because the first k seeds of k-means++ are the seeds for
k clusters. From the same seeds the clusters equal those of scikit-learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import FloatArray, IntArray

MAX_ITER = 300
# Centres that moved less, in mean variances of the features, have converged.
_TOL = 1e-4


def subsampled_kmeans(
    X: FloatArray,
    numbers: IntArray,
    samples: IntArray,
    n_init: int,
    rng: np.random.Generator,
) -> IntArray:
    """Cluster a subsample by k-means and assign all samples to the nearest centres.

    Returns labels (n_k, n_samples) for the numbers (n_k,) of clusters, each from the
    best of n_init seedings by the sum of squared distances. O(n K d) for each step of
    Lloyd's algorithm. Each seed is the best of 2 + ln K candidates by the remaining
    squared distance (greedy k-means++).
    """
    part = X[samples]
    most = int(numbers.max())
    draws = rng.random((n_init, most, 2 + int(np.log(most))))
    labels = np.empty((len(numbers), len(X)), np.int32)
    tol = _TOL * float(part.var(axis=0).mean())
    _fit(X - part.mean(axis=0), samples, numbers, draws, tol, MAX_ITER, labels)
    return labels


def kmeans_seconds(
    n_samples: int, n_features: int, numbers: IntArray, n_init: int
) -> float:
    """Estimate the seconds of `subsampled_kmeans` on structureless samples."""
    # The number of steps grows with the samples, about as their power of 0.4.
    step = n_samples**1.42 * (n_features + 3)
    return 5e-5 + 2.5e-10 * n_init * step * float(numbers.sum())


@kernel(fast_sums=True)
def _fit(
    X: Any, samples: Any, numbers: Any, draws: Any, tol: Any, max_iter: Any, labels: Any
) -> None:
    """Fill in the labels of all samples, for each number of clusters."""
    part, columns = X[samples], X.T.copy()
    least = np.full(len(numbers), np.inf)
    own, nearest = np.empty(len(part), np.int32), np.empty(len(part))
    distances = np.empty(len(X))
    for start in range(len(draws)):
        seeds = _seeds(part, draws[start])
        for at, k in enumerate(numbers):
            centres = part[seeds[:k]].copy()
            total = lloyd(part, centres, tol, max_iter, own, nearest)
            if total < least[at]:
                least[at] = total
                _assign(columns, centres, labels[at], distances)


@kernel(fast_sums=True)
def _seeds(X: Any, draws: Any) -> Any:
    """Draw seeds far from each other by uniform numbers (n_seeds, n_candidates)."""
    n = len(X)
    columns = X.T.copy()
    seeds = np.empty(len(draws), np.int64)
    seeds[0] = min(int(draws[0, 0] * n), n - 1)
    nearest = np.empty(n)
    _distances(columns, X[seeds[0]], nearest)
    tried, best = np.empty(n), np.empty(n)
    for k in range(1, len(draws)):
        potential = np.inf
        cumulated = np.cumsum(nearest)
        for c in range(draws.shape[1]):
            j = min(np.searchsorted(cumulated, draws[k, c] * cumulated[-1]), n - 1)
            _distances(columns, X[j], tried)
            for i in range(n):
                tried[i] = min(nearest[i], tried[i])
            total = tried.sum()
            if total < potential:
                potential, seeds[k] = total, j
                best[:] = tried
        nearest[:] = best
    return seeds


@kernel(fast_sums=True)
def lloyd(
    X: Any, centres: Any, tol: Any, max_iter: Any, labels: Any, nearest: Any
) -> float:
    """Move the centres until they converge; return the sum of squared distances.

    A cluster that loses all its samples takes the sample farthest from its centre.
    """
    n, d = X.shape
    columns = X.T.copy()
    sums, sizes = np.empty_like(centres), np.empty(len(centres), np.int64)
    labels[:] = -1
    for _ in range(max_iter):
        changed = _assign(columns, centres, labels, nearest)
        sums[:], sizes[:] = 0.0, 0
        for i in range(n):
            sizes[labels[i]] += 1
            for f in range(d):
                sums[labels[i], f] += X[i, f]
        for k in range(len(centres)):
            if sizes[k] == 0:
                far = nearest.argmax()
                nearest[far] = 0.0
                sizes[labels[far]] -= 1
                sizes[k] = 1
                for f in range(d):
                    sums[labels[far], f] -= X[far, f]
                    sums[k, f] = X[far, f]
        moved = 0.0
        for k in range(len(centres)):
            for f in range(d):
                centre = sums[k, f] / max(sizes[k], 1)
                moved += (centre - centres[k, f]) ** 2
                centres[k, f] = centre
        if not changed or moved <= tol:
            break
    _assign(columns, centres, labels, nearest)
    return nearest.sum()


@kernel(fast_sums=True)
def _assign(columns: Any, centres: Any, labels: Any, nearest: Any) -> bool:
    """Assign each sample to its nearest centre, the first one in a tie.

    Fills in its squared distance; returns whether any label changed.
    """
    closest = np.zeros(len(nearest), np.int64)
    tried = np.empty(len(nearest))
    _distances(columns, centres[0], nearest)
    for k in range(1, len(centres)):
        _distances(columns, centres[k], tried)
        for i in range(len(nearest)):
            closer = tried[i] < nearest[i]
            nearest[i] = tried[i] if closer else nearest[i]
            closest[i] = k if closer else closest[i]
    changed = False
    for i in range(len(nearest)):
        changed = changed or closest[i] != labels[i]
        labels[i] = closest[i]
    return changed


@kernel(fast_sums=True)
def _distances(columns: Any, point: Any, squared: Any) -> None:
    """Fill in the squared distances of samples, given by column, to a point."""
    squared[:] = 0.0
    for f in range(len(columns)):
        for i in range(len(squared)):
            squared[i] += (columns[f, i] - point[f]) ** 2
