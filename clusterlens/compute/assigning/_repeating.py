"""Repetition of a partition with noise, to assign rows that it has not seen.

The labels of a partition by density depend on every row, so a row that is left out
afterwards has still shaped the clusters around it. So the clustering is repeated
without a fifth of the rows, and the assigner of each repetition is tested on that
fifth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import DBSCAN, HDBSCAN
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute._run.options import DEFAULT_RUN, RunOptions
from clusterlens.compute._validation import UNLABELLED, FloatArray, IntArray
from clusterlens.compute.assigning._calibration import dispersion
from clusterlens.compute.assigning.assigner import Assigner
from clusterlens.compute.estimators.neighbors import NeighborSearch

N_FOLDS = 5
SAME = 0.99  # adjusted Rand index at which the search for a clustering stops
SIZES = (5, 8, 10, 15, 20, 30, 50)  # numbers of neighbours to try


class Repeated(NamedTuple):
    """Results of repetitions for the rows that they did not see.

    `p` and `least`, shape (n_rows,), are p-values of rows in clusters, and the least
    p-values of these clusters. `gap` is the share of noise minus the share among rows
    left out one at a time; `dispersion` is the variation of the shares of the clusters
    beyond chance (see `dispersion`).
    """

    p: FloatArray
    least: FloatArray
    gap: float
    dispersion: float


def find_clustering(
    X: FloatArray, labels: IntArray, run: RunOptions = DEFAULT_RUN
) -> tuple[Any, float]:
    """Return the DBSCAN or HDBSCAN most similar to a partition, and the similarity.

    The similarity is the adjusted Rand index, with noise as one cluster.
    """
    best, most = None, -1.0
    for clustering in _candidates(X, labels):
        run.raise_if_cancelled()
        alike = float(adjusted_rand_score(labels, clustering.fit_predict(X)))
        if alike > most:
            best, most = clustering, alike
        if most > SAME:
            break
    return best, most


def _candidates(X: FloatArray, labels: IntArray) -> Iterator[Any]:
    """Yield clusterings with parameters derived from the labels, fast ones first."""
    most = len(X) - len(X) // N_FOLDS - 1  # limit of four fifths of the rows
    sizes = [size for size in SIZES if size <= most]
    noise = np.flatnonzero(labels == UNLABELLED)
    search = NeighborSearch(X)
    for size in sizes:
        # No noise row is a core: the largest eps below their distances to the others.
        reach = search.nearest(X[noise], size - 1, noise)[1][:, -1].min()
        if reach > 0:
            yield DBSCAN(eps=np.nextafter(reach, 0), min_samples=size)
    inside = labels[labels != UNLABELLED]
    smallest = int(np.unique(inside, return_counts=True)[1].min())
    for size in (smallest, *(size for size in sizes[::-1] if size < smallest)):
        if 2 <= size <= most:
            for core in dict.fromkeys((size, min(SIZES[0], size))):
                yield HDBSCAN(size, min_samples=core, copy=True)


def repeat(
    X: FloatArray,
    clustering: Any,
    fit: Callable[[FloatArray, IntArray], Assigner],
    rng: np.random.Generator,
) -> Repeated:
    """Cluster four fifths of the rows, and assign the others, five times."""
    folds = rng.permutation(len(X)) % N_FOLDS
    p, least, shares = [], [], []
    for fold in range(N_FOLDS):
        seen = folds != fold
        found = clustering.fit_predict(X[seen]).astype(np.int64)
        assigner = fit(X[seen], found)
        assigned = assigner.assign(X[~seen])
        inside = assigned.cluster != UNLABELLED
        codes = np.searchsorted(assigner.clusters, assigned.cluster)
        sizes = np.array([len(scores) for scores in assigner.held_out])
        p.append(assigned.p[inside])
        least.append(1 / (1 + sizes[codes[inside]]))
        then, now = assigner.expected, np.bincount(codes, minlength=len(sizes))
        if UNLABELLED not in assigner.clusters:
            then, now = np.append(0.0, then), np.append(0, now)
        shares.append((then, int(seen.sum()), now))
    gap = float(np.mean([now[0] / now.sum() - then[0] for then, _, now in shares]))
    excess = [
        dispersion(n * with_noise(then, then[0] + gap), now) for then, n, now in shares
    ]
    return Repeated(
        np.concatenate(p), np.concatenate(least), gap, max(0.0, float(np.mean(excess)))
    )


def with_noise(shares: FloatArray, noise: float) -> FloatArray:
    """Return shares (n_clusters,) with another share of noise, which is the first."""
    noise = min(max(noise, 0.0), 1.0)
    others = shares[1:] * ((1 - noise) / max(shares[1:].sum(), 1e-12))
    return np.append(noise, others)
