"""cluster_separation: compare gaps between clusters with structureless copies.

Near samples should be in the same cluster. The k-nearest-neighbour consistency is the
share of the nearest neighbours of a cluster's samples that belong to it. It is high
whenever clusters have few samples at their borders, even if a border cuts through the
middle of the data. So copies of the data without groups are cut along the same
borders, and their consistency is reported for comparison.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    IntArray,
    RandomState,
    check_features,
    check_labels,
    check_random_state,
    check_range,
)
from clusterlens.compute.ensemble.ensemble import NOISE
from clusterlens.compute.estimators.neighbors import neighbor_table, neighbors_of
from clusterlens.compute.pool._k_curves import REFERENCES
from clusterlens.compute.pool.stability import KINDS, least_beyond

MAX_COMPARED = 5_000
# Required share of the difference between the copies and 1. Borders that follow sparse
# places, as in Ward linkage, reach half of it on noise.
_LEAST_GAIN = 0.75


@dataclass(frozen=True, eq=False, repr=False)
class ClusterSeparation(Frozen):
    """Separation of clusters, beside structureless copies cut along their borders.

    Attributes
    ----------
    clusters : array of int, shape (n_clusters,)
        Label of each cluster, ascending.
    sizes : array of int64, shape (n_clusters,)
        Number of samples.
    consistency : array of float64, shape (n_clusters,)
        Share of the nearest neighbours of its samples that are in the cluster, in
        [0, 1]; NaN if fewer than two of its samples were compared.
    by_chance : array of float64, shape (n_clusters,)
        The highest such share in a structureless copy; 0 if no copy has two samples
        between the borders of the cluster.
    n_neighbors : int
        Neighbours of each sample, fewer in a cluster that has fewer.
    n_copies : int
        Structureless copies, of all kinds.
    n_compared : int
        Samples compared in each table.
    random_state : int
        Seed.
    """

    clusters: IntArray
    sizes: IntArray
    consistency: FloatArray
    by_chance: FloatArray
    n_neighbors: int
    n_copies: int
    n_compared: int
    random_state: int

    @property
    def apart(self) -> npt.NDArray[np.bool_]:
        """Whether each cluster (n_clusters,) is more separated than in the copies.

        True if the consistency is at most a quarter as far from 1 as the consistency of
        the copies.
        """
        return self.consistency >= self.required

    @property
    def required(self) -> FloatArray:
        """Least consistency of a cluster that is apart, shape (n_clusters,)."""
        return least_beyond(self.by_chance, _LEAST_GAIN)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per cluster: size, consistency, by_chance, apart.

        Returns
        -------
        frame : DataFrame
            The index holds the labels.
        """
        columns = {
            "size": self.sizes,
            "consistency": self.consistency,
            "by_chance": self.by_chance,
            "apart": self.apart,
        }
        return pd.DataFrame(columns, index=pd.Index(self.clusters, name="cluster"))

    def __repr__(self) -> str:
        """Return the number of separated clusters and the basis of comparison."""
        return (
            f"ClusterSeparation({len(self.clusters)} clusters, {self.apart.sum()} "
            f"apart beside {self.n_copies} structureless copies, {self.n_compared} "
            f"samples compared, seed {self.random_state})"
        )


@takes_running
def cluster_separation(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    random_state: RandomState = 0,
    *,
    n_neighbors: int = 10,
    n_copies: int = 2,
    max_compared: int = MAX_COMPARED,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> ClusterSeparation:
    """Measure the separation of each cluster, in the data and in structureless copies.

    Parameters
    ----------
    X : array-like of float, shape (n_samples, n_features)
        Finite features, at least two samples.
    labels : array-like of int, shape (n_samples,)
        The partition; -1 is noise, which does not form a cluster.
    random_state : int, Generator or None, default 0
        Seed of the copies, and of the draw of samples.
    n_neighbors : int, default 10
        Neighbours of each sample.
    n_copies : int, default 2
        Structureless copies of each kind, from 1, as for `cluster_stability`.
    max_compared : int, default 5000
        Number of compared samples; a random sample if there are more.
    progress : callable, optional
        Called as progress(done, total) with numbers of tables, including the data.
    cancel : callable, optional
        Returns True to stop.

    Returns
    -------
    separation : ClusterSeparation
        The consistency of each cluster, beside the consistency of the copies.

    Raises
    ------
    DataError
        If X is not a finite table.
    ValueError
        If an argument is out of range, lengths disagree, or there is no cluster.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    A sample of a copy belongs to the cluster of the nearest sample of the data: the
    copy fills the regions of the clusters, and the gaps between them. No clusterer is
    needed, so a partition made by hand can be evaluated, too. In a cluster with c
    samples at most c - 1 neighbours are used. A gap of any width counts once it is
    wider than the distance of neighbours; the extra width is not measured. For k-means
    and Ward linkage (2, 4 and 8 clusters) on uniform and Gaussian noise in two and five
    columns, at most a few in a hundred clusters of each kind are called separated.

    With m compared samples, O(m log m) up to four features, O(m² d) above, for each
    table, whatever the number of samples: m is at most max_compared.

    References
    ----------
    Ding & He, "K-nearest-neighbor consistency in data clustering: incorporating local
    information into global optimization", ACM Symposium on Applied Computing, 2004,
    doi:10.1145/967900.968021 (here the share of neighbours).
    Akhanli & Hennig, "Comparing clusterings and numbers of clusters by aggregation of
    calibrated clustering validity indexes", Statistics and Computing 30, 2020,
    doi:10.1007/s11222-020-09958-2 (an index says something beside its values where
    there is nothing to find).

    Examples
    --------
    >>> X = np.repeat([[0.0, 0.0], [9.0, 3.0]], 30, axis=0)
    >>> X += np.random.default_rng(0).normal(size=X.shape)
    >>> cluster_separation(X, np.repeat([0, 1], 30))
    ClusterSeparation(2 clusters, 2 apart beside 4 structureless copies, 60 samples
    compared, seed 0)
    """
    run = RunOptions(None, progress, cancel)
    seed = check_random_state(random_state)
    features = check_features(X)
    check_range(len(features), 2, np.inf, name="the number of samples of X")
    own = check_labels(labels, n_samples=len(features))
    check_range(n_neighbors, 1, 1_000, name="n_neighbors", integer=True)
    check_range(n_copies, 1, 10_000, name="n_copies", integer=True)
    check_range(max_compared, 2, 100_000, name="max_compared", integer=True)
    clusters, sizes = np.unique(own[own != NOISE], return_counts=True)
    if not len(clusters):
        raise ValueError("labels is noise only (-1); give at least one cluster.")
    rng = np.random.default_rng(seed)
    n_compared = min(max_compared, len(features))
    some = np.sort(rng.choice(len(features), n_compared, replace=False))
    table, codes = features[some], np.searchsorted(clusters, own[some])
    codes[own[some] == NOISE] = len(clusters)
    kinds = KINDS * n_copies

    def measure(one: FloatArray, its_codes: IntArray, done: int) -> FloatArray:
        found = _consistency(one, its_codes, len(clusters), n_neighbors, cancel)
        run.report(done, 1 + len(kinds))
        return found

    consistency = measure(table, codes, 1)
    by_chance = np.zeros(len(clusters))
    for done, kind in enumerate(kinds, 2):
        copy = REFERENCES[kind](table, rng)
        nearest = neighbors_of(copy, table, 1)[0][:, 0]
        # A cluster that the copy does not reach is NaN, which fmax ignores.
        np.fmax(by_chance, measure(copy, codes[nearest], done), out=by_chance)
    return ClusterSeparation(
        clusters,
        sizes,
        consistency,
        by_chance,
        n_neighbors,
        len(kinds),
        n_compared,
        seed,
    )


def _consistency(
    X: FloatArray,
    codes: IntArray,
    n_clusters: int,
    n_neighbors: int,
    cancel: Cancel | None,
) -> FloatArray:
    """Share of neighbours inside each cluster (n_clusters,); NaN below two samples.

    `codes` (n_samples,) are from 0 to n_clusters - 1 and n_clusters for noise.
    """
    sizes = np.bincount(codes, minlength=n_clusters)[:n_clusters]
    asked = np.minimum(n_neighbors, sizes - 1)
    most = min(n_neighbors, len(X) - 1)
    inside = codes[neighbor_table(X, most, cancel=cancel)[0]] == codes[:, None]
    shares = np.full(n_clusters, np.nan)
    for cluster in np.flatnonzero(asked > 0):
        shares[cluster] = inside[codes == cluster, : asked[cluster]].mean()
    return shares
