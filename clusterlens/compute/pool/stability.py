"""cluster_stability: which clusters come back when the samples are drawn again?

The clusterer runs on bootstrap samples; a cluster is as stable as it is similar, on
average, to the most similar cluster of each run (Hennig 2007). What is unstable should
not be interpreted. The reverse does not hold: a clusterer can split structureless data
in the same place every time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, ClusterMixin, clone

from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    IntArray,
    RandomState,
    check_choice,
    check_features,
    check_labels,
    check_random_state,
    check_range,
    read_only,
)
from clusterlens.compute.ensemble.contingency import contingency_table
from clusterlens.compute.ensemble.ensemble import NOISE
from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.pool.specs import Spec, pool_specs

if TYPE_CHECKING:
    from distributed import Client

DISSOLVED, RECOVERED = 0.5, 0.75  # at most, at least: Hennig (2008), section 3
READINGS = {  # mean similarity of at least -> what it is called, after Hennig (2007)
    0.85: "highly stable",
    0.75: "stable",
    0.6: "a pattern, its members doubtful",
    0.0: "not to be trusted",
}
_UNDRAWN = -2
_COVERAGE = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class ClusterStability(Frozen):
    """How well the clusters of a partition come back in bootstrap samples.

    Attributes
    ----------
    labels : array of int, shape (n_samples,)
        The partition whose clusters are judged; -1 is noise and no cluster.
    clusters : array of int, shape (n_clusters,)
        Label of each cluster, ascending.
    sizes : array of int64, shape (n_clusters,)
        Number of samples.
    similarities : array of float64, shape (n_runs, n_clusters)
        Jaccard similarity of each cluster with the most similar one of each bootstrap
        run, in [0, 1]; NaN where no member of the cluster was drawn.
    n_resamples : int
        Bootstrap samples asked for; those whose fit failed are not among the runs.
    random_state : int
        Seed.
    notes : tuple of str
        Runs that failed, and why.
    """

    labels: IntArray
    clusters: IntArray
    sizes: IntArray
    similarities: FloatArray = field(repr=False)
    n_resamples: int
    random_state: int
    notes: tuple[str, ...]

    @property
    def jaccard(self) -> FloatArray:
        """Mean similarity of each cluster, shape (n_clusters,), in [0, 1]."""
        return _columnwise(np.mean, self.similarities)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per cluster.

        Returns
        -------
        frame : DataFrame
            Columns size; jaccard, the mean similarity; standard_error, its Monte Carlo
            error, which more resamples make smaller; low and high, between which 95 %
            of the resamples lie; dissolved, the share of resamples with a similarity of
            at most 0.5; recovered, of at least 0.75; n_runs, in which members were
            drawn; and the reading after Hennig. The index holds the labels.
        """
        runs = np.isfinite(self.similarities).sum(axis=0)
        spread = _columnwise(
            lambda s: s.std(ddof=1) if len(s) > 1 else np.nan, self.similarities
        )
        tail = (1 - _COVERAGE) / 2
        return pd.DataFrame(
            {
                "size": self.sizes,
                "jaccard": self.jaccard,
                "standard_error": spread / np.sqrt(np.maximum(runs, 1)),
                "low": _columnwise(lambda s: np.quantile(s, tail), self.similarities),
                "high": _columnwise(
                    lambda s: np.quantile(s, 1 - tail), self.similarities
                ),
                "dissolved": _columnwise(
                    lambda s: (s <= DISSOLVED).mean(), self.similarities
                ),
                "recovered": _columnwise(
                    lambda s: (s >= RECOVERED).mean(), self.similarities
                ),
                "n_runs": runs,
                "reading": [_reading(mean) for mean in self.jaccard],
            },
            index=pd.Index(self.clusters, name="cluster"),
        )

    def __repr__(self) -> str:
        """Say the size, the number of runs and the seed."""
        return (
            f"ClusterStability({len(self.clusters)} clusters of {len(self.labels)} "
            f"samples, {len(self.similarities)} bootstrap runs, seed "
            f"{self.random_state})"
        )


def cluster_stability(
    X: npt.ArrayLike,
    spec: Spec | Any,
    random_state: RandomState = 0,
    *,
    labels: npt.ArrayLike | None = None,
    n_resamples: int = 100,
    duplicates: Literal["once", "repeated"] = "once",
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    client: Client | str | None = None,
) -> ClusterStability:
    """Measure how well each cluster comes back in bootstrap samples.

    Parameters
    ----------
    X : array-like of float, shape (n_samples, n_features)
        Finite features, prepared as the clusterer should see them.
    spec : mapping or estimator
        One entry of a pool, such as {"clusterer": "k-means", "n_clusters": 3} or the
        spec of a model of an ensemble, or a clusterer with scikit-learn's interface.
        What the data decide is decided by X, once for all runs.
    random_state : int, Generator or None, default 0
        Seed.
    labels : array-like of int, shape (n_samples,), optional
        Partition whose clusters are judged by the runs of `spec`, for instance a
        consensus partition by its most typical model. Default: that of `spec` on X.
    n_resamples : int, default 100
        Bootstrap samples, from 2.
    duplicates : {"once", "repeated"}, default "once"
        Whether a sample that is drawn several times counts once, or as so many equal
        samples, which density and linkage clusterers take for clusters. Similarities
        count every sample once.
    n_jobs : int, optional
        As for `run_pool`.
    progress : callable, optional
        Called as progress(done, total) with numbers of bootstrap samples.
    cancel : callable, optional
        Returns True to stop.
    client : dask.distributed.Client or str, optional
        As for `run_pool`.

    Returns
    -------
    stability : ClusterStability
        Mean similarity per cluster with its spread; `to_frame` has a row per cluster.

    Raises
    ------
    DataError
        If X is not a finite table.
    ValueError
        If an argument is out of range, spec stands for several models, there is no
        cluster to judge, or no run survives.
    Cancelled
        If `cancel` said so.

    Notes
    -----
    n_resamples + 1 fits, and O(n) per run to compare. A bootstrap sample holds 63 % of
    the samples on average; with d and c the drawn members of a cluster and of a cluster
    of the run, the similarity is `|d and c| / |d or c|`, and 0 if the run has none.
    Noise of the partition is not judged, noise of a run is in none of its clusters. A
    cluster no member of which is drawn is left out of that run.

    References
    ----------
    Hennig, "Cluster-wise assessment of cluster stability", Computational Statistics &
    Data Analysis 52, 2007, doi:10.1016/j.csda.2006.11.025.
    Hennig, "Dissolution point and isolation robustness", Journal of Multivariate
    Analysis 99, 2008, doi:10.1016/j.jmva.2007.07.002.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0], [9.1], [9.2]]
    >>> spec = {"clusterer": "agglomerative", "n_clusters": 3}
    >>> cluster_stability(X, spec, n_resamples=20, n_jobs=1)
    ClusterStability(3 clusters of 9 samples, 20 bootstrap runs, seed 0)
    """
    RunOptions(n_jobs, progress, cancel, client=client)  # checks them
    seed = check_random_state(random_state)
    features = check_features(X)
    check_range(len(features), 2, np.inf, name="the number of samples of X")
    check_range(n_resamples, 2, 100_000, name="n_resamples", integer=True)
    check_choice(duplicates, ("once", "repeated"), name="duplicates")
    model = _estimator(spec, features, seed)
    if labels is None:
        labels = run_pool(
            features, [model], seed, n_jobs, cancel=cancel, client=client
        ).labels[0]
    own = check_labels(labels, n_samples=len(features))
    clusters = np.unique(own[own != NOISE])
    if not len(clusters):
        raise ValueError("labels is noise only (-1); give at least one cluster.")
    seeds = np.random.SeedSequence(seed).generate_state(n_resamples)
    runs = run_pool(
        features,
        [BootstrappedClusterer(model, duplicates, int(one)) for one in seeds],
        seed,
        n_jobs,
        progress,
        cancel,
        client=client,
    )
    codes = np.searchsorted(clusters, own)
    codes[own == NOISE] = len(clusters)
    return ClusterStability(
        read_only(own),
        read_only(clusters),
        read_only(np.bincount(codes, minlength=len(clusters))[: len(clusters)]),
        read_only(
            np.array([_similarities(codes, len(clusters), run) for run in runs.labels])
        ),
        n_resamples,
        seed,
        runs.notes,
    )


class BootstrappedClusterer(ClusterMixin, BaseEstimator):
    """Cluster a bootstrap sample; samples that were not drawn get the label -2.

    Parameters
    ----------
    estimator : object
        Clusterer with scikit-learn's interface; it is cloned.
    duplicates : {"once", "repeated"}, default "once"
        How often a sample drawn several times is clustered.
    random_state : int, default 0
        Seed of the draw, and of the clusterer if it takes one.
    """

    def __init__(
        self, estimator: Any, duplicates: str = "once", random_state: int = 0
    ) -> None:
        self.estimator = estimator
        self.duplicates = duplicates
        self.random_state = random_state

    def fit(self, X: FloatArray, y: object = None) -> BootstrappedClusterer:
        """Cluster the rows drawn from X (n_samples, n_features)."""
        rng = np.random.default_rng(self.random_state)
        drawn = np.sort(rng.integers(len(X), size=len(X)))
        if self.duplicates == "once":
            drawn = np.unique(drawn)
        model = clone(self.estimator)
        if "random_state" in model.get_params(deep=False):
            model.set_params(random_state=int(rng.integers(2**31)))
        self.labels_ = np.full(len(X), _UNDRAWN)
        self.labels_[drawn] = model.fit_predict(X[drawn])
        return self


def _estimator(spec: Spec | Any, X: FloatArray, seed: int) -> Any:
    """Make the estimator of one entry of a pool; an estimator stays as it is."""
    if not isinstance(spec, Mapping):
        if isinstance(spec, type) or not hasattr(spec, "fit"):
            raise ValueError(
                f"spec is {spec!r}; give one entry of a pool (a dict with a "
                "'clusterer') or an estimator."
            )
        return spec
    specs = pool_specs([spec], X, seed)
    if len(specs) != 1:
        raise ValueError(
            f"spec stands for {len(specs)} models; give one value per parameter."
        )
    parameters = dict(specs[0])
    return CLUSTERERS[parameters.pop("clusterer")].make(**parameters)


def _similarities(codes: IntArray, n_clusters: int, run: IntArray) -> FloatArray:
    """Similarity of each cluster (n_clusters,) with the nearest one of a run.

    `codes` (n_samples,) are from 0 to n_clusters - 1 and n_clusters for noise.
    """
    drawn = run > _UNDRAWN
    found = run[drawn].astype(np.int64) - NOISE  # noise is 0
    table = contingency_table(codes[drawn], found).toarray()
    sizes, others = table.sum(axis=1)[:n_clusters], table.sum(axis=0)[1:]
    common = table[:n_clusters, 1:]
    union = sizes[:, None] + others - common
    values = np.full(n_clusters, np.nan)
    best = np.max(common / np.maximum(union, 1), axis=1, initial=0.0)
    values[: len(sizes)] = np.where(sizes > 0, best, np.nan)
    return values


def _columnwise(statistic: Any, values: FloatArray) -> FloatArray:
    """Apply a statistic to the finite entries of each column, NaN if there are none."""
    columns = [column[np.isfinite(column)] for column in values.T]
    return np.array([statistic(c) if len(c) else np.nan for c in columns])


def _reading(mean: float) -> str:
    """Say what a mean similarity stands for."""
    return next((text for low, text in READINGS.items() if mean >= low), "never drawn")
