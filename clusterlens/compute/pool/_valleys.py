"""Valleys of the density between every two clusters of a partition.

Three windows of equal width lie on the line through two centres: around each centre,
and around their midpoint. In a valley the middle window holds fewer samples than both
others. A unimodal density has no valleys, regardless of its tails. The S_Dbw index
compares the same densities (Halkidi & Vazirgiannis, ICDM 2001,
doi:10.1109/ICDM.2001.989517).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import FloatArray, IntArray

# A valley has less than this share of the density beside it: clusters found in data
# without clusters are a tenth sparser at some borders than at their centres, as in a
# disc.
_VALLEY = 2 / 3
# Fewer samples around a centre may be outliers, which heavy tails have.
_FEWEST = 4
# Beyond this share of samples nearer to another centre, lines between centres leave the
# clusters, as they do for rings.
_MOST_OUTSIDE = 0.2
_LEAST_COUNT = 3 / 8  # Anscombe (1948): 2 sqrt(count + 3/8) has a variance of about 1


def least_valleys(X: FloatArray, labels: IntArray, n_clusters: int) -> FloatArray:
    """Measure the valley between the two least separated clusters of each partition.

    Takes X (n, d) and labels (T, n) from 0; returns (T,), in standard errors of the
    counts. Above 0 if the middle is less than two thirds as dense as either side, at
    most 0 if a cluster is empty; NaN if clusters do not lie around their centres. O(T n
    K d).
    """
    valleys = np.empty(len(labels))
    _measure(X, labels, max(n_clusters, int(labels.max()) + 1), valleys)
    return valleys


@kernel(fast_sums=True)
def _measure(X: Any, labels: Any, k: Any, valleys: Any) -> None:
    """Fill in the least valley of each partition."""
    centres, lengths = np.empty((k, X.shape[1])), np.empty((k, k))
    sizes, beside, middle = np.empty(k), np.empty((k, k)), np.empty((k, k))
    for t in range(len(labels)):
        own = labels[t]
        centres[:], sizes[:] = 0.0, 0.0
        for i in range(len(X)):
            sizes[own[i]] += 1
            for f in range(X.shape[1]):
                centres[own[i], f] += X[i, f]
        for a in range(k):
            centres[a] /= max(sizes[a], 1.0)
        for a in range(k):
            for b in range(k):
                lengths[a, b] = ((centres[a] - centres[b]) ** 2).sum()
                if sizes[b] == 0:  # no sample is near to an empty cluster
                    lengths[a, b] = np.inf
        outside = _count_windows(X, own, centres, lengths, beside, middle)
        least = np.inf
        for a in range(k):
            for b in range(a):
                lower = _VALLEY * min(beside[a, b], beside[b, a])
                if lower < _VALLEY * _FEWEST:
                    lower = 0.0
                between = middle[a, b] + middle[b, a]
                valley = np.sqrt(lower + _LEAST_COUNT) - np.sqrt(between + _LEAST_COUNT)
                least = min(least, 2.0 * valley)
        valleys[t] = least if outside <= _MOST_OUTSIDE * len(X) else np.nan


@kernel(fast_sums=True)
def _count_windows(
    X: Any, own: Any, centres: Any, lengths: Any, beside: Any, middle: Any
) -> int:
    """Count samples per window; return the number nearer to another centre.

    beside[a, b]: samples of clusters a and b around the centre of a; middle[a, b]:
    samples of a around the midpoint.
    """
    beside[:], middle[:] = 0.0, 0.0
    outside = 0
    for i in range(len(X)):
        a = own[i]
        nearer = False
        for b in range(len(centres)):
            if b == a:
                continue
            along = 0.0
            for f in range(X.shape[1]):
                along += (X[i, f] - centres[a, f]) * (centres[b, f] - centres[a, f])
            length = lengths[a, b]
            nearer = nearer or along > 0.5 * length
            if along < -0.25 * length or along > 1.25 * length:
                continue
            if along < 0.25 * length:
                beside[a, b] += 1
            elif along <= 0.75 * length:
                middle[a, b] += 1
            else:
                beside[b, a] += 1
        outside += nearer
    return outside
