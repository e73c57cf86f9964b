"""SPUDS: spectral clustering that stops where clusters are separated by low density.

The number of clusters C is the largest one for which every large cluster is separated
from the next by a dip of the kernel density. Small clusters are merged at the end.

Cost: one n x n similarity matrix of 8 bytes per entry, refused above 4 GB before it is
made, its 49 leading eigenvectors in O(n³), about 8 s for 5000 samples and 30 s for 7000
on one core, and some k-means runs; densities are evaluated at points between clusters,
O(n d) each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    check_memory,
    check_range,
)
from clusterlens.compute.estimators._blocked_search import squared_distance
from clusterlens.compute.estimators._input import validate_features
from clusterlens.compute.estimators._random import legacy_random_state
from clusterlens.compute.estimators.neighbors import neighbors_of

MEMORY_LIMIT = 4_000_000_000
_START, _MOST = 20, 49
_SMALL = 1 / 50
_N_BETWEEN = 9
_FACTOR, _FACTOR_STEP, _TRIES = 1.2, 0.1, 10


class SPUDS(ClusterMixin, BaseEstimator):
    """Spectral clustering with the number of clusters from density separation.

    Parameters
    ----------
    n_init : int, default 10
        Starts of each k-means, at least 1.
    random_state : int, RandomState, Generator or None, default 0
        Seed of k-means.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Clusters 0, 1, ...
    n_clusters_ : int
        Number of clusters after small ones were merged.
    sigma_ : float
        Bandwidth of the Gaussian similarity.

    Notes
    -----
    sigma = 1.2 sqrt(m) (4 / ((f + 2) n))^(1/(f+4)) where m is the mean of the f
    covariance eigenvalues above a hundredth of the largest one. The caller scales the
    columns. A cluster with more than n/50 samples is separated if no straight path from
    one of its border samples to the nearest sample outside keeps the density, at nine
    points between, at or above the smaller of the peak densities of the two clusters.
    Border samples are those nearest to some sample of another cluster. From 20 clusters
    C is raised while all are separated, or lowered until they are or two large ones
    remain. If no cluster is large, all is repeated with a wider sigma.

    References
    ----------
    Hofmeyr (2019), Improving spectral clustering using the asymptotic value of the
    normalised cut, arXiv:1703.09975.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X = make_blobs(200, centers=[[0, 0], [9, 0], [0, 9]], random_state=5)[0]
    >>> SPUDS().fit(X).n_clusters_
    3
    """

    def __init__(
        self,
        n_init: int = 10,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
    ) -> None:
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Embed, then search for the number of clusters.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            At least two samples, finite.
        y : ignored
            For the interface of scikit-learn.

        Returns
        -------
        self : SPUDS
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or a parameter cannot be used.
        MemoryError
            If the similarity matrix would need more than 4 GB.
        """
        data = validate_features(self, X, ensure_min_samples=2)
        check_range(self.n_init, 1, np.inf, name="n_init", integer=True)
        check_memory(
            8 * len(data) ** 2,
            MEMORY_LIMIT,
            what=f"SPUDS for {len(data)} samples",
            remedy="give fewer samples, or another method.",
        )
        random = legacy_random_state(self.random_state)
        labels: IntArray = np.zeros(len(data), dtype=np.int64)
        for attempt in range(_TRIES if data.std(axis=0).any() else 0):
            self.sigma_ = _bandwidth(data, _FACTOR + attempt * _FACTOR_STEP)
            embedding = _embed(data, self.sigma_)
            search = _Search(data, embedding, self.n_init, random)
            labels = search.best()
            if search.is_large(labels).any():
                break
        labels = _merge_small(data, labels)
        self.labels_ = np.unique(labels, return_inverse=True)[1]
        self.n_clusters_ = int(self.labels_.max()) + 1
        return self


@dataclass(frozen=True, eq=False)
class _Embedding:
    """Bandwidth, kernel density at the samples and leading eigenvectors (n, c)."""

    sigma: float
    density: FloatArray
    vectors: FloatArray


@dataclass(frozen=True, eq=False)
class _Search:
    """Search for the number of clusters on one embedding."""

    X: FloatArray
    embedding: _Embedding
    n_init: int
    random: np.random.RandomState

    def best(self) -> IntArray:
        """Labels of the largest number of clusters that are all separated."""
        most = self.embedding.vectors.shape[1]
        n_clusters = min(_START, most)
        labels = self.cut(n_clusters)
        if self.all_separated(labels):
            while n_clusters < most:
                n_clusters += 1
                finer = self.cut(n_clusters)
                if not self.all_separated(finer):
                    break
                labels = finer
            return labels
        while n_clusters > 2 and self.is_large(labels).sum() != 2:
            n_clusters -= 1
            labels = self.cut(n_clusters)
            if self.all_separated(labels):
                break
        return labels

    def cut(self, n_clusters: int) -> IntArray:
        """k-means on the first eigenvectors, rows scaled to length 1; (n_samples,)."""
        rows = self.embedding.vectors[:, :n_clusters]
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(lengths > 0, lengths, 1)
        n_distinct = len(np.unique(rows.round(12), axis=0))
        model = KMeans(
            min(n_clusters, n_distinct), n_init=self.n_init, random_state=self.random
        )
        return model.fit_predict(rows)

    def is_large(self, labels: IntArray) -> npt.NDArray[np.bool_]:
        """Whether each cluster has more than a fiftieth of the samples."""
        return np.bincount(labels) > _SMALL * len(labels)

    def all_separated(self, labels: IntArray) -> bool:
        """Whether a dip of the density lies around every large cluster."""
        density, sigma = self.embedding.density, self.embedding.sigma
        peaks = np.zeros(labels.max() + 1)
        np.maximum.at(peaks, labels, density)
        for cluster in np.flatnonzero(self.is_large(labels)):
            inside = np.flatnonzero(labels == cluster)
            outside = np.flatnonzero(labels != cluster)
            if not len(outside):
                continue
            nearest = neighbors_of(self.X[outside], self.X[inside], 1)[0][:, 0]
            border = inside[np.unique(nearest)]
            ends = outside[neighbors_of(self.X[border], self.X[outside], 1)[0][:, 0]]
            lower = np.minimum(peaks[cluster], peaks[labels[ends]])
            if _any_path_stays_above(self.X, border, ends, lower, sigma):
                return False
        return True


def _bandwidth(X: FloatArray, factor: float) -> float:
    """Bandwidth from the leading eigenvalues of the covariance."""
    values = np.linalg.eigvalsh(np.atleast_2d(np.cov(X.T)))
    leading = values[values > values.max() / 100]
    f, n_samples = len(leading), len(X)
    width = (4 / ((f + 2) * n_samples)) ** (1 / (f + 4))
    return factor * math.sqrt(float(leading.mean())) * width


def _embed(X: FloatArray, sigma: float) -> _Embedding:
    """Leading eigenvectors of the normalised similarity, over sqrt of the degrees."""
    similarity = _similarities(X, sigma)
    degrees = similarity.sum(axis=1)
    scale = 1 / np.sqrt(np.maximum(degrees, 1e-5 * degrees.max()))
    similarity *= scale
    similarity *= scale[:, None]
    last = len(X) - 1
    # Far samples make hundreds of eigenvalues nearly 1, for which iterative solvers
    # stall. The transpose, equal and in the order of LAPACK, avoids a copy.
    vectors = eigh(
        similarity.T,
        subset_by_index=[max(last - _MOST + 1, 1), last],
        overwrite_a=True,
        check_finite=False,
    )[1][:, ::-1]
    # Each sample adds its own kernel to the density but not to its degree.
    return _Embedding(sigma, degrees + 1, vectors * scale[:, None])


def _merge_small(X: FloatArray, labels: IntArray) -> IntArray:
    """Move the samples of small clusters to the cluster of their nearest sample."""
    large = np.bincount(labels) > _SMALL * len(labels)
    small = ~large[labels]
    if not small.any() or small.all():
        return labels
    merged = labels.copy()
    nearest = neighbors_of(X[small], X[~small], 1)[0][:, 0]
    merged[small] = labels[~small][nearest]
    return merged


@kernel()
def _similarities(X: Any, sigma: float) -> Any:
    """Gaussian similarities with a zero diagonal, shape (n, n)."""
    similarity = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        for j in range(i):
            square = squared_distance(X[i], X[j])
            similarity[i, j] = math.exp(-square / (2 * sigma * sigma))
            similarity[j, i] = similarity[i, j]
    return similarity


@kernel()
def _any_path_stays_above(
    X: Any, starts: Any, ends: Any, levels: Any, sigma: float
) -> bool:
    """Whether the density between some pair of samples never falls below its level."""
    for p in range(len(starts)):
        above = True
        for step in range(1, _N_BETWEEN + 1):
            share = step / (_N_BETWEEN + 1)
            point = (1 - share) * X[starts[p]] + share * X[ends[p]]
            density = 0.0
            for j in range(len(X)):
                square = squared_distance(point, X[j])
                density += math.exp(-square / (2 * sigma * sigma))
            if density < levels[p]:
                above = False
                break
        if above:
            return True
    return False
