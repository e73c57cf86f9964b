"""`Clusters`: samples sorted by cluster, with the sums that internal indices share.

K clusters C_k of n_k samples have means g_k; g is the overall mean; W_k is the sum of
squared distances of C_k to g_k, WGSS the sum of the W_k, and
BGSS = sum n_k |g_k - g|^2. Each sum is computed when an index first needs it.

If the formula of an index has no value (0/0, logarithm of 0), it raises `Undefined`
with the reason; `indices.internal_index` turns it into NaN or the limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist

from clusterlens.compute._run.options import DEFAULT_RUN, RunOptions
from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.indices._pairs import (
    RowDistances,
    SmallestDistances,
    row_distances,
)

BLOCK_ENTRIES = 1 << 21


class Undefined(ArithmeticError):
    """The formula of an index has no value here; carries the limit if there is one."""

    def __init__(self, reason: str, limit: float = float("nan")) -> None:
        super().__init__(reason)
        self.limit = limit


def ratio(numerator: float, denominator: float, name: str) -> float:
    """Divide two numbers; raise `Undefined` if the named denominator is 0."""
    if denominator == 0:
        raise Undefined(f"{name} is 0")
    return float(numerator / denominator)


@dataclass(frozen=True, eq=False)
class Clusters:
    """Samples sorted by cluster, and the sums over clusters that indices share.

    Attributes
    ----------
    X : array of float64, shape (n_samples, n_features)
        The samples, sorted so that each cluster is a block of consecutive rows.
    labels : array of int or str, shape (n_samples,)
        The given labels, in the same order.
    codes : array of int, shape (n_samples,)
        Ascending cluster numbers 0, 1, ...
    smallest : SmallestDistances
        Sums of the smallest distances between these samples, in any order.
    run : RunOptions
        Threads and cancelling of long computations.
    """

    X: FloatArray
    labels: IntArray
    codes: IntArray
    smallest: SmallestDistances
    run: RunOptions

    @classmethod
    def sort(
        cls,
        X: FloatArray,
        labels: IntArray,
        run: RunOptions = DEFAULT_RUN,
        smallest: SmallestDistances | None = None,
    ) -> Clusters:
        """Sort samples by cluster, clusters by first appearance.

        The order makes the value of an index independent of the names of the labels, to
        the last bit. A given `smallest`, which may be shared between partitions of the
        same samples, does not follow this order.
        """
        codes = pd.factorize(labels)[0]
        order = np.argsort(codes, kind="stable")
        ordered = X[order]
        smallest = smallest or SmallestDistances(ordered, run)
        return cls(ordered, labels[order], codes[order], smallest, run)

    @cached_property
    def sizes(self) -> IntArray:
        """Samples per cluster n_k, shape (n_clusters,)."""
        return np.bincount(self.codes)

    @cached_property
    def bounds(self) -> IntArray:
        """Bounds (n_clusters + 1,): cluster k is rows bounds[k] to bounds[k + 1]."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @cached_property
    def rows(self) -> RowDistances:
        """Distances of each sample to its own cluster and to the others."""
        return row_distances(self.X, self.codes, self.bounds, self.run)

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
        # Deviations from the first member: coinciding samples have exactly their own
        # mean.
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
        """Distances between means (n_clusters, n_clusters), inf on the diagonal."""
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
            self.run.raise_if_cancelled()
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
