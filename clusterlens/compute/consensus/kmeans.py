"""K-means on the one-hot rows: evidence accumulation in linear time.

K-means on the one-hot rows H of the T partitions maximises, up to k / n, the density of
the consensus matrix H H' / T inside the clusters, without making that matrix.
"""

from __future__ import annotations

from concurrent.futures import Executor

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    IntArray,
    RandomState,
    check_random_state,
    check_range,
)
from clusterlens.compute.consensus._lloyd import MAX_ITER, Lloyd, cluster_samples
from clusterlens.compute.consensus._one_hot import one_hot_rows
from clusterlens.compute.consensus._transfers import Transfers
from clusterlens.compute.ensemble.ensemble import Ensemble, check_ensemble


@takes_running
def consensus_kmeans(
    ensemble: Ensemble,
    n_clusters: int,
    random_state: RandomState = 0,
    *,
    n_init: int = 10,
    max_iter: int = MAX_ITER,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> IntArray:
    """Cluster the samples by k-means on the one-hot rows of the ensemble.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    n_clusters : int
        From 1 to n_samples.
    random_state : int, Generator or None, default 0
        Seed.
    n_init : int, default 10
        Number of seedings (greedy k-means++); the best result is kept.
    max_iter : int, default 300
        Passes per seeding; it ends earlier when no sample moves.
    n_jobs : int, optional
        Threads. Default: all cores. The result does not depend on it.
    progress : callable, optional
        Called as progress(seedings done, n_init).
    cancel : callable, optional
        Called between blocks of some milliseconds; True stops the computation.
    executor : concurrent.futures.Executor, optional
        Threads to use instead of new ones.

    Returns
    -------
    labels : array of int64, shape (n_samples,)
        Labels 0, 1, ..., n_clusters - 1, in order of first appearance.

    Raises
    ------
    ValueError
        If an argument is out of its range.
    Cancelled
        If `cancel` returned true.

    Warns
    -----
    UserWarning
        If the ensemble separates fewer groups of samples than n_clusters; these
        groups are returned.

    Notes
    -----
    O(n T n_clusters) time per pass and O(n T) memory. Above 16,384 distinct rows (or
    100 per cluster, if that is more) each seeding first converges on a random sample of
    that many rows and is then refined on all of them. Each ends with transfers of
    single samples that lower the exact loss, see `consensus_partition`.

    For a fixed number of clusters the smallest loss gives the largest density, up to
    n_clusters / n:
    density = 1 - loss / (n T) - k / n + (1 / n) sum of the densities D(C) of the
    clusters.

    References
    ----------
    Candel, "Linear time evidence accumulation clustering with KMeans" (KM).
    Arthur & Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.
    Hartigan & Wong, "Algorithm AS 136: a k-means clustering algorithm", Applied
    Statistics 28, 1979, doi:10.2307/2346830.
    Bradley & Fayyad, "Refining initial points for k-means clustering", ICML 1998.

    Examples
    --------
    >>> consensus_kmeans(Ensemble([[0, 0, 1, 1, 1], [0, 0, 1, 1, 2]]), 2).tolist()
    [0, 0, 1, 1, 1]
    """
    run = RunOptions(n_jobs, progress, cancel, executor)
    seed = check_random_state(random_state)
    check_ensemble(ensemble)
    n_clusters = check_range(
        n_clusters, 1, ensemble.n_samples, name="n_clusters", integer=True
    )
    rows, group = one_hot_rows(ensemble)
    lloyd = Lloyd(rows, run)
    improve = Transfers(lloyd).lower_loss
    return cluster_samples(
        lloyd, group, n_clusters, seed, n_init, max_iter, progress, improve=improve
    )
