"""Internal indices made of cluster means and scatter: linear time, no pair of samples.

Each index is a function of `Clusters`, which sorts the samples by cluster once and
keeps the sums that the indices share. A value that its formula leaves open (0/0,
logarithm of 0) raises `Undefined` with the reason; `indices.internal_index` turns it
into NaN or the limit. K clusters C_k of n_k samples have means g_k; g is the overall
mean; W_k is the sum of squared distances of C_k to g_k, WGSS the sum of the W_k, and
BGSS = sum n_k |g_k - g|^2.

Ohl & Lindsten take their definitions from version 2.0.0 of the package permetrics, and
several are not those of the literature: hence pairs of functions, `*_paper` theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score

from clusterlens.compute._run.blocks import RunOptions, raise_if_cancelled
from clusterlens.compute._validation import FloatArray, IntArray

BLOCK_ENTRIES = 1 << 21
ON_OWN_THREADS: RunOptions = {
    "n_jobs": None,
    "progress": None,
    "cancel": None,
    "executor": None,
}


class Undefined(ArithmeticError):
    """The formula of an index has no value here; carries the limit if there is one."""

    def __init__(self, reason: str, limit: float = float("nan")) -> None:
        super().__init__(reason)
        self.limit = limit


def ratio(numerator: float, denominator: float, name: str) -> float:
    """Divide two numbers, or say that the named denominator is 0."""
    if denominator == 0:
        raise Undefined(f"{name} is 0")
    return float(numerator / denominator)


@dataclass(frozen=True, eq=False)
class Clusters:
    """Samples sorted by cluster, and the sums over clusters that indices share.

    Attributes
    ----------
    X : array of float64, shape (n_samples, n_features)
        The samples; those of a cluster are consecutive rows.
    labels : array of int, shape (n_samples,)
        The given labels, in the same order.
    codes : array of int, shape (n_samples,)
        Ascending cluster numbers 0, 1, ...
    run : RunOptions
        Threads and cancelling of long computations.
    """

    X: FloatArray
    labels: IntArray
    codes: IntArray
    run: RunOptions

    @classmethod
    def sort(
        cls, X: FloatArray, labels: IntArray, run: RunOptions = ON_OWN_THREADS
    ) -> Clusters:
        """Sort samples by cluster, clusters by first appearance.

        So that renaming the labels does not change the value of an index in any bit.
        """
        codes = pd.factorize(labels)[0]
        order = np.argsort(codes, kind="stable")
        return cls(X[order], labels[order], codes[order], run)

    @cached_property
    def sizes(self) -> IntArray:
        """Samples per cluster n_k, shape (n_clusters,)."""
        return np.bincount(self.codes)

    @cached_property
    def bounds(self) -> IntArray:
        """Cluster k is rows bounds[k] to bounds[k + 1]; shape (n_clusters + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def n_samples(self) -> int:
        """Number of samples n."""
        return len(self.X)

    @property
    def n_clusters(self) -> int:
        """Number of clusters K."""
        return len(self.sizes)

    def sum_by_cluster(self, values: FloatArray) -> FloatArray:
        """Sum per-sample values (n_samples, ...) to (n_clusters, ...)."""
        return np.add.reduceat(values, self.bounds[:-1], axis=0)

    def mean_by_cluster(self, values: FloatArray) -> FloatArray:
        """Average per-sample values (n_samples,) to (n_clusters,)."""
        return self.sum_by_cluster(values) / self.sizes

    @cached_property
    def means(self) -> FloatArray:
        """Cluster means g_k, shape (n_clusters, n_features)."""
        # From the first member on: coinciding samples have exactly their own mean.
        first = self.X[self.bounds[:-1]]
        offsets = self.sum_by_cluster(self.X - first[self.codes])
        return first + offsets / self.sizes[:, None]

    @cached_property
    def deviations(self) -> FloatArray:
        """Samples minus the mean of their cluster, shape (n_samples, n_features)."""
        return self.X - self.means[self.codes]

    @cached_property
    def own_squared(self) -> FloatArray:
        """Squared distance of each sample to its own mean, shape (n_samples,)."""
        return np.einsum("ij,ij->i", self.deviations, self.deviations)

    @cached_property
    def own_distance(self) -> FloatArray:
        """Distance of each sample to its own mean, shape (n_samples,)."""
        return np.sqrt(self.own_squared)

    @cached_property
    def scatter(self) -> FloatArray:
        """W_k, shape (n_clusters,)."""
        return self.sum_by_cluster(self.own_squared)

    @property
    def wgss(self) -> float:
        """WGSS."""
        return float(self.scatter.sum())

    @cached_property
    def overall(self) -> FloatArray:
        """Mean of all samples g, shape (n_features,)."""
        return self.sizes @ self.means / self.n_samples

    @cached_property
    def bgss(self) -> float:
        """BGSS."""
        return float(self.sizes @ np.square(self.means - self.overall).sum(axis=1))

    @cached_property
    def within_matrix(self) -> FloatArray:
        """Pooled within-cluster scatter, shape (n_features, n_features)."""
        return self.deviations.T @ self.deviations

    @cached_property
    def total_matrix(self) -> FloatArray:
        """Total scatter, shape (n_features, n_features)."""
        spread = self.means - self.overall
        return self.within_matrix + (spread * self.sizes[:, None]).T @ spread

    @cached_property
    def mean_distances(self) -> FloatArray:
        """Distances between means, (n_clusters, n_clusters), infinite to itself."""
        if self.n_clusters < 2:
            raise Undefined("there is one cluster, so no distance between clusters")
        distances = cdist(self.means, self.means)
        np.fill_diagonal(distances, np.inf)
        return distances

    @cached_property
    def nearest_other_mean(self) -> FloatArray:
        """Distance of each sample to the nearest mean but its own, (n_samples,)."""
        if self.n_clusters < 2:
            raise Undefined("there is one cluster, so no other cluster mean")
        nearest = np.empty(self.n_samples)
        step = max(1, BLOCK_ENTRIES // self.n_clusters)
        for start in range(0, self.n_samples, step):
            raise_if_cancelled(self.run["cancel"])
            block = slice(start, start + step)
            distances = cdist(self.X[block], self.means)
            distances[np.arange(len(distances)), self.codes[block]] = np.inf
            nearest[block] = distances.min(axis=1)
        return nearest


def need_two_to_n_clusters(clusters: Clusters) -> None:
    """Raise unless 1 < K < n."""
    if not 1 < clusters.n_clusters < clusters.n_samples:
        raise Undefined(
            f"n_clusters is {clusters.n_clusters} for {clusters.n_samples} samples; "
            "it needs 2 to n - 1"
        )


def ball_hall(clusters: Clusters) -> float:
    """Mean over clusters of W_k / n_k."""
    return float(np.mean(clusters.scatter / clusters.sizes))


def ball_hall_paper(clusters: Clusters) -> float:
    """WGSS / K."""
    return clusters.wgss / clusters.n_clusters


def banfield_raftery(clusters: Clusters) -> float:
    """Sum of n_k ln(W_k / n_k)."""
    if (clusters.scatter == 0).any():
        raise Undefined("a cluster has coinciding samples or only one", -np.inf)
    logs = np.log(clusters.scatter / clusters.sizes)
    return float(clusters.sizes @ logs)


def banfield_raftery_paper(clusters: Clusters) -> float:
    """Sum of n_k ln(W_k / n_k); 1e10 if any cluster has one sample."""
    return 1e10 if (clusters.sizes == 1).any() else banfield_raftery(clusters)


def calinski_harabasz(clusters: Clusters) -> float:
    """[BGSS / (K - 1)] / [WGSS / (n - K)]."""
    need_two_to_n_clusters(clusters)
    if clusters.wgss == 0:
        raise Undefined("the samples of each cluster coincide: WGSS is 0")
    return float(calinski_harabasz_score(clusters.X, clusters.codes))


def davies_bouldin(clusters: Clusters) -> float:
    """Mean over clusters of the largest (s_k + s_l) / d(g_k, g_l)."""
    need_two_to_n_clusters(clusters)
    if clusters.mean_distances.min() == 0:
        raise Undefined("two cluster means coincide")
    return float(davies_bouldin_score(clusters.X, clusters.codes))


def det_ratio(clusters: Clusters) -> float:
    """Determinant of the total scatter over that of the within scatter."""
    with np.errstate(over="ignore"):
        return float(np.exp(_log_det_ratio(clusters)))


def det_ratio_paper(clusters: Clusters) -> float:
    """det T / det W; 0 if det W is 0."""
    try:
        return det_ratio(clusters)
    except Undefined:
        return 0.0


def log_det_ratio(clusters: Clusters) -> float:
    """Compute n ln(det T / det W)."""
    return clusters.n_samples * _log_det_ratio(clusters)


def log_det_ratio_paper(clusters: Clusters) -> float:
    """Compute n ln(det T / det W); -1e10 if the ratio is not positive."""
    try:
        return log_det_ratio(clusters)
    except Undefined:
        return -1e10


def hartigan_paper(clusters: Clusters) -> float:
    """Sum over k of W_k over the scatter of C_k about the mean nearest to g_k."""
    # About another point, the scatter grows by n_k times its squared distance to g_k.
    gaps = clusters.mean_distances.min(axis=1)
    about_other = clusters.scatter + clusters.sizes * gaps**2
    if (about_other == 0).any():
        raise Undefined("two clusters coincide in one point")
    return float(np.sum(clusters.scatter / about_other))


def ksq_det_w(clusters: Clusters) -> float:
    """K^2 det W."""
    sign, log_det = np.linalg.slogdet(clusters.within_matrix)
    with np.errstate(over="ignore"):
        return float(clusters.n_clusters**2 * sign * np.exp(log_det))


def ksq_det_w_paper(clusters: Clusters) -> float:
    """K^2 det W', W' being W with its entries stretched to [0, 1]."""
    within = clusters.within_matrix
    spread = float(np.ptp(within))
    if spread == 0:
        raise Undefined("the entries of the within scatter matrix are all equal")
    stretched = (within - within.min()) / spread
    return float(clusters.n_clusters**2 * np.linalg.det(stretched))


def log_ss_ratio(clusters: Clusters) -> float:
    """Compute ln(BGSS / WGSS), which Hartigan (1975) proposed."""
    between = clusters.bgss
    if between == 0:
        raise Undefined("all cluster means coincide", -np.inf)
    if clusters.wgss == 0:
        raise Undefined("the samples of each cluster coincide: WGSS is 0", np.inf)
    return float(np.log(between / clusters.wgss))


def pbm(clusters: Clusters) -> float:
    """[E_T max d(g_k, g_l) / (E_W K)]^2, E_T and E_W sums of distances to g and g_k."""
    distances = clusters.mean_distances
    widest = distances[np.isfinite(distances)].max()
    about_overall = np.linalg.norm(clusters.X - clusters.overall, axis=1).sum()
    within = clusters.own_distance.sum() * clusters.n_clusters
    return ratio(about_overall * widest, within, "the sum of distances to means") ** 2


def wgss(clusters: Clusters) -> float:
    """WGSS."""
    return clusters.wgss


def xie_beni(clusters: Clusters) -> float:
    """WGSS / n over the smallest squared distance between means."""
    gap = clusters.mean_distances.min() ** 2
    return ratio(clusters.wgss / clusters.n_samples, gap, "the gap between two means")


def xie_beni_paper(clusters: Clusters) -> float:
    """Xie-Beni with the nearest mean, not the own one, in the numerator."""
    gap = clusters.mean_distances.min() ** 2
    nearest = np.minimum(clusters.own_distance, clusters.nearest_other_mean)
    return ratio(float(np.mean(nearest**2)), gap, "the gap between two means")


def wemmert_gancarski(clusters: Clusters) -> float:
    """Mean, weighted by size, of max(0, 1 - mean d(x, g_k) / min d(x, g_l))."""
    relative = _relative(clusters.own_distance, clusters.nearest_other_mean)
    share = np.maximum(0, 1 - clusters.mean_by_cluster(relative))
    return float(clusters.sizes @ share / clusters.n_samples)


def wemmert_gancarski_paper(clusters: Clusters) -> float:
    """Sum of max(0, 1 - mean d(x, g_k) / least d(x, g_l) of any x in C_k)."""
    delta = np.minimum.reduceat(clusters.nearest_other_mean, clusters.bounds[:-1])
    relative = _relative(clusters.mean_by_cluster(clusters.own_distance), delta)
    return float(np.maximum(0, 1 - relative).sum())


def _relative(own: FloatArray, other: FloatArray) -> FloatArray:
    """Divide elementwise: x/0 is infinite, 0/0 undefined."""
    if ((own == 0) & (other == 0)).any():
        raise Undefined("a sample lies on its own and on another cluster mean")
    with np.errstate(divide="ignore"):
        return own / other


def _log_det_ratio(clusters: Clusters) -> float:
    """Compute ln(det T / det W), or say that W is singular to rounding."""
    # The ratio does not depend on units, the rank decision must not either.
    units = np.sqrt(np.diag(clusters.total_matrix))
    if (units == 0).any():
        raise Undefined("a feature is constant, so both determinants are 0")
    within = clusters.within_matrix / np.outer(units, units)
    eigenvalues = np.linalg.eigvalsh(within)
    if eigenvalues[0] <= len(units) * np.finfo(float).eps:
        raise Undefined("the within scatter matrix is singular")
    total = np.linalg.slogdet(clusters.total_matrix / np.outer(units, units))[1]
    # T = W + B with B positive semidefinite: below 0 there is only rounding.
    return max(0.0, float(total - np.log(eigenvalues).sum()))
