"""Cluster features: a table of any size summarised by weighted centres.

Mini-batch k-means with many centres is linear in the number of samples and keeps the
input of methods for few samples: centres, sizes, and the centre of every sample.
Linkage on features starts from their groups; spectral clustering uses the centres as
landmarks. Both are at most as fine as the features.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist, squareform
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import MiniBatchKMeans, k_means
from sklearn.neighbors import NearestNeighbors

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    check_choice,
    check_range,
)
from clusterlens.compute.estimators._input import validate_features
from clusterlens.compute.estimators.merges import Merges, cut_tree, merges_in_order

N_FEATURES = 1000
_BATCH = 8192
_PASSES = 3
_N_NEAREST = 5

Linkage = Literal["ward", "average", "complete", "single"]
LINKAGES: tuple[Linkage, ...] = ("ward", "average", "complete", "single")
Metric = Literal["euclidean", "manhattan", "cosine"]
# Name of a metric -> SciPy's
METRICS: dict[str, Literal["euclidean", "cityblock", "cosine"]] = {
    "euclidean": "euclidean",
    "manhattan": "cityblock",
    "cosine": "cosine",
}


def cluster_features(
    X: FloatArray, n_features: int = N_FEATURES
) -> tuple[FloatArray, IntArray]:
    """Summarise the samples by centres that depend on the data alone.

    Returns means (n_centres, n_dimensions), all of non-empty groups, and the centre of
    each sample, (n_samples,). There are fewer than n_features centres if samples are
    few or coincide. Mini-batch k-means (Sculley, 2010) in three passes: O(n n_features
    d).
    """
    model = MiniBatchKMeans(
        min(n_features, len(X)),
        batch_size=_BATCH,
        max_iter=_PASSES,
        n_init=1,
        random_state=0,
    ).fit(X)
    nearest = np.unique(model.labels_, return_inverse=True)[1]
    sizes = np.bincount(nearest)
    sums = [np.bincount(nearest, weights=column) for column in X.T]
    return np.column_stack(sums) / sizes[:, None], nearest


def weighted_linkage(
    centres: FloatArray,
    sizes: IntArray,
    linkage: Linkage,
    metric: Metric = "euclidean",
) -> Merges:
    """Build the tree of points (m, n_dimensions) that represent `sizes` (m,) samples.

    Ward's and average linkage count every sample. Ward's tree, always Euclidean, equals
    the tree of the samples after the samples of each point have been merged. The others
    use the distance of two centres for the distances of their samples. Returns nodes
    merged, (m - 1, 2) of int32, the closest first; merge i makes node m + i.
    Nearest-neighbour chains with the formula of Lance and Williams: O(m²) time and 8 m²
    bytes.

    References
    ----------
    Murtagh & Contreras (2012), Algorithms for hierarchical clustering: an overview,
    doi:10.1002/widm.53.
    """
    if linkage == "ward" and metric != "euclidean":
        raise ValueError(f"metric is {metric!r}; Ward linkage needs 'euclidean'.")
    distances = squareform(pdist(centres, METRICS[metric]))
    weights = sizes.astype(float)
    if linkage == "ward":  # twice the growth of the sum of squares
        distances **= 2
        distances *= 2 * weights[:, None] * weights / (weights[:, None] + weights)
    pairs, heights = _chain(distances, weights, LINKAGES.index(linkage))
    return merges_in_order(pairs, heights)


def landmark_embedding(
    X: FloatArray, centres: FloatArray, n_components: int
) -> FloatArray:
    """Embed the samples by the bipartite graph of samples and nearest landmarks.

    Leading left singular vectors (n_samples, n_components), the constant one first; at
    most as many as the landmarks `centres` (m, n_dimensions). Each sample is a mixture
    of its five nearest landmarks, weighted by a Gaussian kernel as wide as the mean
    distance to the fifth: O(n m d + m³) time.

    References
    ----------
    Chen & Cai (2011), Large scale spectral clustering with landmark-based
    representation, AAAI, doi:10.1609/aaai.v25i1.7900.
    """
    m = len(centres)
    n_nearest = min(_N_NEAREST, m)
    search = NearestNeighbors(n_neighbors=n_nearest).fit(centres)
    distances, table = search.kneighbors(X)
    width = distances[:, -1].mean() or 1.0
    # Relative to the nearest landmark, so that no sample is too far from all.
    squares = distances**2 - distances[:, :1] ** 2
    weights = np.exp(-squares / (2 * width**2))
    weights /= weights.sum(axis=1, keepdims=True)
    total = np.bincount(table.ravel(), weights.ravel(), minlength=m)
    weights /= np.sqrt(total)[table]
    starts = np.arange(0, table.size + 1, n_nearest)
    graph = csr_array((weights.ravel(), table.ravel(), starts), shape=(len(X), m))
    # Right singular vectors and squared singular values, the largest last.
    values, vectors = np.linalg.eigh((graph.T @ graph).toarray())
    leading = _with_fixed_signs(vectors[:, ::-1][:, :n_components])
    singular = np.sqrt(np.maximum(values[::-1][:n_components], np.finfo(float).eps))
    return graph @ (leading / singular)


def _with_fixed_signs(vectors: FloatArray) -> FloatArray:
    """Turn each column so that its entry of largest size is positive."""
    largest = np.abs(vectors).argmax(axis=0)
    return vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])])


class FeatureLinkage(ClusterMixin, BaseEstimator):
    """Hierarchical clustering of a large table, on cluster features.

    Parameters
    ----------
    n_clusters : int, default 2
        Number of clusters.
    linkage : {"ward", "average", "complete", "single"}, default "ward"
        How groups are compared, see `weighted_linkage`.
    metric : {"euclidean", "manhattan", "cosine"}, default "euclidean"
        Distance of two features; Ward's linkage is Euclidean.
    n_features : int, default 1000
        Number of cluster features.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Cluster of each sample.

    References
    ----------
    Zhang, Ramakrishnan & Livny (1996), BIRCH, doi:10.1145/233269.233324 (features).
    """

    def __init__(
        self,
        n_clusters: int = 2,
        linkage: Linkage = "ward",
        metric: Metric = "euclidean",
        n_features: int = N_FEATURES,
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.metric = metric
        self.n_features = n_features

    def fit(self, X: npt.ArrayLike, y: object = None) -> FeatureLinkage:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_dimensions)
            The samples.
        y : None
            Ignored.

        Returns
        -------
        self : FeatureLinkage
            Fitted.
        """
        samples = validate_features(self, X, ensure_min_samples=2)
        check_choice(self.linkage, LINKAGES, name="linkage")
        check_choice(self.metric, METRICS, name="metric")
        check_range(self.n_features, 2, np.inf, name="n_features", integer=True)
        centres, nearest = cluster_features(samples, self.n_features)
        check_range(self.n_clusters, 1, len(centres), name="n_clusters", integer=True)
        merges = weighted_linkage(
            centres, np.bincount(nearest), self.linkage, self.metric
        )
        self.labels_ = cut_tree(merges, len(centres), self.n_clusters)[nearest]
        return self


class LandmarkSpectral(ClusterMixin, BaseEstimator):
    """Spectral clustering of a large table, on landmarks.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters.
    n_landmarks : int, default 1000
        Number of landmarks.
    n_init : int, default 3
        Starts of k-means on the embedding.
    random_state : int, RandomState or None, default None
        Seed of k-means.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Cluster of each sample.

    References
    ----------
    Chen & Cai (2011), Large scale spectral clustering with landmark-based
    representation, AAAI, doi:10.1609/aaai.v25i1.7900.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        n_landmarks: int = N_FEATURES,
        n_init: int = 3,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_landmarks = n_landmarks
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: object = None) -> LandmarkSpectral:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_dimensions)
            The samples.
        y : None
            Ignored.

        Returns
        -------
        self : LandmarkSpectral
            Fitted.
        """
        samples = validate_features(self, X, ensure_min_samples=2)
        check_range(self.n_landmarks, 2, np.inf, name="n_landmarks", integer=True)
        centres, _ = cluster_features(samples, self.n_landmarks)
        check_range(self.n_clusters, 1, len(centres), name="n_clusters", integer=True)
        embedding = landmark_embedding(samples, centres, self.n_clusters)
        self.labels_ = landmark_labels(
            embedding, self.n_clusters, self.n_init, self.random_state
        )
        return self


def landmark_labels(
    embedding: FloatArray, n_clusters: int, n_init: int, random_state: Any
) -> IntArray:
    """Cluster samples (n,) by k-means on the leading dimensions of an embedding."""
    leading = embedding[:, :n_clusters]
    return k_means(leading, n_clusters, n_init=n_init, random_state=random_state)[1]


@kernel()
def _chain(distances: Any, weights: Any, linkage: Any) -> Any:
    """Merge along chains of nearest neighbours; pairs (m - 1, 2) of rows and heights.

    A merge keeps the second row for the union; distances (m, m) are overwritten.
    """
    m = len(distances)
    alive = np.ones(m, np.bool_)
    pairs = np.empty((m - 1, 2), np.int64)
    heights = np.empty(m - 1)
    chain = np.empty(m, np.int64)
    length = 0
    for merge in range(m - 1):
        if length == 0:
            for i in range(m):
                if alive[i]:
                    chain[0] = i
                    break
            length = 1
        while True:
            a = chain[length - 1]
            # The previous one comes first, so that ties cannot make a cycle.
            b = chain[length - 2] if length > 1 else -1
            least = distances[a, b] if length > 1 else np.inf
            for i in range(m):
                if alive[i] and i != a and distances[a, i] < least:
                    b, least = i, distances[a, i]
            if length > 1 and b == chain[length - 2]:
                break
            chain[length] = b
            length += 1
        length -= 2
        pairs[merge] = a, b
        heights[merge] = least
        alive[a] = False
        for i in range(m):
            if alive[i] and i != b:
                distances[b, i] = distances[i, b] = _updated(
                    distances[a, i],
                    distances[b, i],
                    least,
                    weights[a],
                    weights[b],
                    weights[i],
                    linkage,
                )
        weights[b] += weights[a]
    return pairs, heights


@kernel()
def _updated(
    to_a: Any, to_b: Any, between: Any, n_a: Any, n_b: Any, n_i: Any, linkage: Any
) -> Any:
    """Distance of a group to the union of a and b (Lance & Williams, 1967)."""
    if linkage == 0:  # Ward's, on squares
        total = n_a + n_b + n_i
        return ((n_a + n_i) * to_a + (n_b + n_i) * to_b - n_i * between) / total
    if linkage == 1:  # average
        return (n_a * to_a + n_b * to_b) / (n_a + n_b)
    if linkage == 2:  # complete
        return max(to_a, to_b)
    return min(to_a, to_b)
