"""Readings of a rule: the cluster of rows, its clearness, and the next cluster.

Clusters are codes 0 to K - 1 here. Clearness has a meaning only within one rule:
held-out rows show how often the rule is right at a given clearness.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import FloatArray, IntArray

# Neighbours that determine the clearness of a row if fewer vote.
LEAST_SHOWN = 5


class Reading(NamedTuple):
    """Results of a rule for rows, each of shape (n_rows,); other is -1 if unknown."""

    cluster: IntArray
    clearness: FloatArray
    other: IntArray


def read_neighbors(
    codes: IntArray, distances: FloatArray, n_neighbors: int, n_clusters: int
) -> Reading:
    """Let the nearest prototypes vote with the inverse of their distance.

    `codes` and `distances` (n_rows, n_found) are sorted by ascending distance. An exact
    copy of a prototype gets its cluster, because its weight is infinite. Clearness is
    the share of the cluster in the weight.
    """
    weights = _inverse(distances)
    votes = _votes(codes, weights, min(n_neighbors, codes.shape[1]), n_clusters)
    cluster = _first_of_most(codes, votes)
    return read_votes(codes, distances, n_neighbors, n_clusters, cluster)


def read_votes(
    codes: IntArray,
    distances: FloatArray,
    n_neighbors: int,
    n_clusters: int,
    cluster: IntArray,
) -> Reading:
    """Compute the clearness of each row's cluster from votes, and the next cluster."""
    weights, rows = _inverse(distances), np.arange(len(codes))
    shown = min(max(n_neighbors, LEAST_SHOWN), codes.shape[1])
    votes = _votes(codes, weights, shown, n_clusters)
    clearness = votes[rows, cluster] / votes.sum(axis=1)
    votes[rows, cluster] = 0.0
    other = np.where(votes.max(axis=1) > 0, votes.argmax(axis=1), -1)
    return Reading(cluster, clearness, other)


def read_centres(
    X: FloatArray,
    centres: FloatArray,
    scales: FloatArray,
    sizes: IntArray | None = None,
    own: IntArray | None = None,
) -> Reading:
    """Take the cluster with the densest round Gaussian at the row.

    Parameters
    ----------
    X : array, shape (n_rows, n_features)
        The rows.
    centres, scales : array, shape (n_clusters, n_features) and (n_clusters,)
        Mean and root mean square deviation per feature; equal scales give the nearest
        centre. Clearness is the log ratio of the two largest densities.
    sizes, own : array, shape (n_clusters,) and (n_rows,), optional
        Rows behind each centre, and the cluster of each row, which is then left out of
        its own centre.
    """
    costs = centre_costs(X, centres, scales, sizes, own)
    rows = np.arange(len(X))
    cluster = costs.argmin(axis=1)
    least = costs[rows, cluster]
    costs[rows, cluster] = np.inf
    other = costs.argmin(axis=1)
    if len(centres) == 1:
        return Reading(cluster, np.ones(len(X)), np.full(len(X), -1))
    clearness = np.minimum(costs[rows, other] - least, 1e12)
    return Reading(cluster, clearness, other)


def centre_costs(
    X: FloatArray,
    centres: FloatArray,
    scales: FloatArray,
    sizes: IntArray | None = None,
    own: IntArray | None = None,
) -> FloatArray:
    """Minus log density of each Gaussian, up to a constant: (n_rows, n_clusters)."""
    costs = np.empty((len(X), len(centres)))
    for c, (centre, scale) in enumerate(zip(centres, scales, strict=True)):
        costs[:, c] = ((X - centre) ** 2).sum(axis=1) / scale**2
        if sizes is not None:
            costs[own == c, c] *= left_out_stretch(sizes)[c] ** 2
    return costs / 2 + X.shape[1] * np.log(scales)


def left_out_stretch(sizes: IntArray) -> FloatArray:
    """Factor by which a row is farther from the centre of the others: (n_clusters,).

    n / (n - 1) times its distance from the centre of all rows; for a row alone in its
    cluster the largest factor.
    """
    return np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), 1e6)


def centre_distance(
    X: FloatArray, centres: FloatArray, scales: FloatArray, cluster: IntArray
) -> FloatArray:
    """Distance of rows to the centre of a cluster each, in its scale: (n_rows,)."""
    distances = np.linalg.norm(X - centres[cluster], axis=1)
    return np.asarray(distances / scales[cluster], np.float64)


def _inverse(distances: FloatArray) -> FloatArray:
    """Weights (n, m) proportional to 1 / distance; any copies count alone."""
    nearest = distances[:, :1]
    copies = (distances == 0).astype(np.float64)
    return np.divide(nearest, distances, out=copies, where=nearest > 0)


@kernel()
def _votes(codes: Any, weights: Any, n_voting: int, n_clusters: int) -> Any:
    """Weight of each cluster among the first of each row: (n_rows, n_clusters)."""
    votes = np.zeros((len(codes), n_clusters))
    for row in range(len(codes)):
        for j in range(n_voting):
            votes[row, codes[row, j]] += weights[row, j]
    return votes


@kernel()
def _first_of_most(codes: Any, votes: Any) -> Any:
    """Nearest of the clusters with most votes, up to rounding: (n_rows,)."""
    cluster = np.empty(len(codes), np.int64)
    for row in range(len(codes)):
        most = 0.0
        for c in range(votes.shape[1]):
            most = max(most, votes[row, c])
        j = 0
        while votes[row, codes[row, j]] < most * (1 - 1e-12):
            j += 1
        cluster[row] = codes[row, j]
    return cluster
