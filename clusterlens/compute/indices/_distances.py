"""Internal indices made of distances between samples: quadratic time, linear memory.

Each index is a function of `Clusters`. One pass over the pairs computes the distances
that all indices share (`_pairs.py`).
"""

from __future__ import annotations

import numpy as np

from clusterlens.compute.indices._clusters import (
    Clusters,
    Undefined,
    need_two_to_n_clusters,
    ratio,
)


def c_index(clusters: Clusters) -> float:
    """Place the sum of within distances between its least and greatest values."""
    n_within = _n_within_pairs(clusters)
    n_pairs = _n_pairs(clusters)
    within = clusters.rows.own_sum.sum() / 2
    smallest, other_total, total = (
        clusters.smallest.sum(rank) for rank in (n_within, n_pairs - n_within, n_pairs)
    )
    largest = total - other_total
    if largest - smallest <= 1e-12 * total:
        raise Undefined("all choices of as many pairs have the same sum of distances")
    return float(np.clip((within - smallest) / (largest - smallest), 0, 1))


def dunn(clusters: Clusters) -> float:
    """Least distance between clusters over the largest cluster diameter."""
    rows = clusters.rows
    if clusters.n_clusters < 2:
        raise Undefined("there is one cluster, so no distance between clusters")
    return ratio(rows.other_min.min(), rows.own_max.max(), "every cluster diameter")


def dunn_first_two_classes(clusters: Clusters) -> float:
    """Dunn with only the gap of the two lowest labels, a slip in published code."""
    if clusters.n_clusters < 2:
        raise Undefined("there is one cluster, so no distance between clusters")
    chosen = np.isin(clusters.labels, np.unique(clusters.labels)[:2])
    pair = Clusters.sort(clusters.X[chosen], clusters.labels[chosen], clusters.run)
    gap = pair.rows.other_min.min()
    return ratio(gap, clusters.rows.own_max.max(), "every cluster diameter")


def dhi_paper(clusters: Clusters) -> float:
    """Sum the ratios of mean distances inside and from each cluster to the others."""
    rows = clusters.rows
    sizes = clusters.sizes
    within = clusters.sum_by_cluster(rows.own_sum) / sizes**2
    if clusters.n_clusters < 2:
        raise Undefined("there is one cluster, so nothing outside it")
    outside = clusters.sum_by_cluster(rows.other_sum)
    outside = outside / (sizes * (clusters.n_samples - sizes))
    return ratio(within.sum(), outside.sum(), "every distance between clusters")


def mcclain_rao(clusters: Clusters) -> float:
    """Mean within-cluster distance over mean between-cluster distance."""
    rows = clusters.rows
    n_within = _n_within_pairs(clusters)
    n_between = _n_pairs(clusters) - n_within
    within = ratio(rows.own_sum.sum() / 2, n_within, "the number of pairs within")
    between = ratio(rows.other_sum.sum() / 2, n_between, "the number of pairs between")
    return ratio(within, between, "every distance between clusters")


def silhouette(clusters: Clusters) -> float:
    """Rousseeuw's silhouette, averaged over samples; 0 for a sample alone."""
    # Equal to scikit-learn's silhouette_score, which takes up to twenty times longer
    # and cannot be cancelled.
    need_two_to_n_clusters(clusters)
    rows, sizes = clusters.rows, clusters.sizes[clusters.codes]
    inside = rows.own_sum / np.maximum(sizes - 1, 1)
    larger = np.maximum(inside, rows.other_mean)
    gain = np.where(sizes > 1, rows.other_mean - inside, 0.0)
    return float(
        np.mean(np.divide(gain, larger, np.zeros_like(gain), where=larger > 0))
    )


def silhouette_paper(clusters: Clusters) -> float:
    """Silhouette with b the distance to the nearest other mean, a including itself."""
    inside = clusters.rows.own_sum / clusters.sizes[clusters.codes]
    outside = clusters.nearest_other_mean
    larger = np.maximum(inside, outside)
    if (larger == 0).any():
        raise Undefined(
            "a sample lies on another cluster mean and on its whole cluster"
        )
    return float(np.mean((outside - inside) / larger))


def xie_beni_desgraupes(clusters: Clusters) -> float:
    """WGSS / n over the smallest squared distance between samples of two clusters."""
    if clusters.n_clusters < 2:
        raise Undefined("there is one cluster, so no distance between clusters")
    gap = clusters.rows.other_min.min() ** 2
    return ratio(
        clusters.wgss / clusters.n_samples, gap, "the gap between two clusters"
    )


def _n_pairs(clusters: Clusters) -> int:
    """Return the number of pairs of samples."""
    return clusters.n_samples * (clusters.n_samples - 1) // 2


def _n_within_pairs(clusters: Clusters) -> int:
    """Return the number of pairs of samples within clusters."""
    return int((clusters.sizes * (clusters.sizes - 1) // 2).sum())
