"""Internal indices made of cluster means and scatter: linear time, no pair of samples.

Each index is a function of `Clusters`, which explains the symbols. Ohl & Lindsten use
version 2.0.0 of the package permetrics, and several of its definitions differ from the
literature. Such indices have a second function, named `*_paper`.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import calinski_harabasz_score

from clusterlens.compute._validation import FloatArray
from clusterlens.compute.indices._clusters import (
    Clusters,
    Undefined,
    need_two_to_n_clusters,
    ratio,
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
    spread = clusters.mean_by_cluster(clusters.own_distance)
    similarity = (spread[:, None] + spread) / clusters.mean_distances
    return float(similarity.max(axis=1).mean())


def det_ratio(clusters: Clusters) -> float:
    """Ratio of the determinants of the total and the within scatter matrix."""
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
    # About any point, the scatter is W_k plus n_k times the squared distance to g_k.
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
    """K^2 det W', with the entries of W stretched to [0, 1] in W'."""
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
    """Xie-Beni with the nearest mean, instead of the own one, in the numerator."""
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
    """Divide elementwise: x/0 is infinite; 0/0 raises `Undefined`."""
    if ((own == 0) & (other == 0)).any():
        raise Undefined("a sample lies on its own and on another cluster mean")
    with np.errstate(divide="ignore"):
        return own / other


def _log_det_ratio(clusters: Clusters) -> float:
    """Compute ln(det T / det W); raise `Undefined` if W is singular to rounding."""
    # The ratio does not depend on units, so the decision about the rank must not
    # either.
    units = np.sqrt(np.diag(clusters.total_matrix))
    if (units == 0).any():
        raise Undefined("a feature is constant, so both determinants are 0")
    within = clusters.within_matrix / np.outer(units, units)
    eigenvalues = np.linalg.eigvalsh(within)
    if eigenvalues[0] <= len(units) * np.finfo(float).eps:
        raise Undefined("the within scatter matrix is singular")
    total = np.linalg.slogdet(clusters.total_matrix / np.outer(units, units))[1]
    # T = W + B with B positive semidefinite: a value below 0 is only rounding.
    return max(0.0, float(total - np.log(eigenvalues).sum()))
