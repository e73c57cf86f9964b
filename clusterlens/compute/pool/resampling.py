"""Consensus clustering by resampling: one clusterer, each number of clusters.

A pool of mixed numbers of clusters has no curve over k. Here one clusterer runs on many
subsamples for each k; the agreement of the resulting partitions measures the stability
of k clusters. The clusterer assigns the samples left out of a subsample, or they join
the cluster of their nearest neighbour, so that every run is a partition of all samples.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.validation import validate_data

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    IntArray,
    RandomState,
    check_choice,
    check_entries,
    check_features,
    check_random_state,
    check_range,
)
from clusterlens.compute.consensus.cohesion import CONSENSUS_GRID, distribution_at
from clusterlens.compute.ensemble.agreement import count_agreements
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.pool import run_pool

if TYPE_CHECKING:
    from distributed import Client

AMBIGUOUS = (0.1, 0.9)


@dataclass(frozen=True, eq=False)
class ResampledConsensus(Frozen):
    """Stability of one clusterer over the number of clusters.

    Attributes
    ----------
    n_clusters : array of int64, shape (n_k,)
        Numbers of clusters, ascending.
    cdf : array of float64, shape (n_k, 101)
        Share of the pairs of samples with a consensus of at most 0, 0.01, ..., 1.
    area : array of float64, shape (n_k,)
        Area under the distribution, which is one minus the mean consensus.
    delta_area : array of float64, shape (n_k,)
        Relative growth of the area over that of k - 1 clusters; the area itself for 2.
        NaN if k - 1 was not run: growth over several k is not comparable.
    pac : array of float64, shape (n_k,)
        Proportion of ambiguous pairs, consensus above 0.1 and at most 0.9; lower is
        more stable.
    ensembles : tuple of Ensemble
        The partitions from the subsamples, for each number of clusters.
    notes : tuple of str
        Runs that failed or were degenerate.
    stability : array of float64, shape (n_k,)
        Adjusted Rand index of two runs, its parts averaged over all pairs of runs; at
        most 1, which is best.
    """

    n_clusters: IntArray
    cdf: FloatArray
    area: FloatArray
    delta_area: FloatArray
    pac: FloatArray
    ensembles: tuple[Ensemble, ...]
    notes: tuple[str, ...]
    stability: FloatArray

    def to_frame(self) -> pd.DataFrame:
        """Return one row per number of clusters.

        Returns
        -------
        frame : DataFrame
            Columns area, delta_area, pac, stability and n_runs; the index is
            n_clusters.
        """
        runs = [ensemble.n_partitions for ensemble in self.ensembles]
        columns = {
            "area": self.area,
            "delta_area": self.delta_area,
            "pac": self.pac,
            "stability": self.stability,
            "n_runs": runs,
        }
        return pd.DataFrame(columns, index=pd.Index(self.n_clusters, name="n_clusters"))


def draw_subsample(n_samples: int, share: float, rng: np.random.Generator) -> IntArray:
    """Draw a share of the samples, ascending, at least one."""
    size = max(1, round(share * n_samples))
    return np.sort(rng.choice(n_samples, size, replace=False))


def seeded_clone(estimator: Any, rng: np.random.Generator) -> Any:
    """Return an unfitted copy of an estimator, with a seed from rng if it takes one."""
    copy = clone(estimator)
    if "random_state" in copy.get_params(deep=False):
        copy.set_params(random_state=int(rng.integers(2**31)))
    return copy


class SubsampledClusterer(ClusterMixin, BaseEstimator):
    """Cluster a random subsample and assign the other samples to its clusters.

    Parameters
    ----------
    estimator : object
        Clusterer with scikit-learn's interface; it is cloned.
    share : float, default 0.8
        Share of the samples in the subsample, above 0 and at most 1.
    random_state : int, default 0
        Seed of the subsample, and of the clusterer if it takes one.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Cluster of each sample.
    sample_ : array of int, shape (n_subsample,)
        The samples that were clustered, ascending.
    """

    def __init__(
        self, estimator: Any, share: float = 0.8, random_state: int = 0
    ) -> None:
        self.estimator = estimator
        self.share = share
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: object = None) -> SubsampledClusterer:
        """Cluster the subsample.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            Features.
        y : None
            Ignored.

        Returns
        -------
        self : SubsampledClusterer
            Fitted.
        """
        features = validate_data(self, X, ensure_min_samples=2)
        rng = np.random.default_rng(self.random_state)
        n_samples = len(features)
        self.sample_ = draw_subsample(n_samples, self.share, rng)
        model = seeded_clone(self.estimator, rng)
        self.labels_ = np.empty(n_samples, np.int64)
        self.labels_[self.sample_] = model.fit_predict(features[self.sample_])
        left_out = np.setdiff1d(np.arange(n_samples), self.sample_)
        if len(left_out):
            self.labels_[left_out] = self._assign(model, features, left_out)
        return self

    def _assign(self, model: Any, features: FloatArray, left_out: IntArray) -> IntArray:
        """Labels (n_left_out,) by the fitted model, or of the nearest neighbour."""
        if not hasattr(model, "predict"):
            model = KNeighborsClassifier(n_neighbors=1).fit(
                features[self.sample_], self.labels_[self.sample_]
            )
        return np.asarray(model.predict(features[left_out]))


@takes_running
def resample_consensus(
    X: npt.ArrayLike,
    n_clusters: Iterable[int] = range(2, 11),
    clusterer: str = "k-means",
    random_state: RandomState = 0,
    *,
    n_resamples: int = 50,
    share: float = 0.8,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    client: Client | str | None = None,
) -> ResampledConsensus:
    """Run one clusterer on many subsamples for each number of clusters.

    Parameters
    ----------
    X : array-like of float, shape (n_samples, n_features)
        Finite features, prepared as the clusterer should see them.
    n_clusters : iterable of int, default 2 to 10
        Numbers of clusters, each from 2 to the size of a subsample.
    clusterer : str, default "k-means"
        A name in `CLUSTERERS` that takes a number of clusters.
    random_state : int, default 0
        Seed.
    n_resamples : int, default 50
        Subsamples per number of clusters, at least 2.
    share : float, default 0.8
        Share of the samples in a subsample, above 0 and at most 1.
    n_jobs : int, optional
        Number of worker processes; as for `run_pool`.
    progress : callable, optional
        Called as progress(done, total) with numbers of fits.
    cancel : callable, optional
        Returns True to stop.
    client : dask.distributed.Client or str, optional
        As for `run_pool`.

    Returns
    -------
    consensus : ResampledConsensus
        Distribution of the consensus, its area, the growth of the area and the
        proportion of ambiguous pairs, over the number of clusters.

    Raises
    ------
    DataError
        If X is not a finite table.
    ValueError
        If an argument is out of range or the clusterer takes no number of clusters.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    n_resamples fits of share n samples per number of clusters; O(n² n_resamples)
    comparisons of bytes for the distribution. Stability alone does not show clusters: a
    few large clusters are stable even in structureless data (see `null_agreement`). The
    original builds its matrix from the sampled pairs only; here left-out samples are
    assigned, so that each run is a partition.

    References
    ----------
    Monti, Tamayo, Mesirov & Golub, "Consensus clustering: a resampling-based method
    for class discovery", Machine Learning 52, 2003, doi:10.1023/A:1023949509487.
    Senbabaoglu, Michailidis & Li, "Critical limitations of consensus clustering in
    class discovery", Scientific Reports 4, 2014, doi:10.1038/srep06207 (PAC).

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0], [9.1], [9.2]]
    >>> found = resample_consensus(X, [2, 3], n_resamples=4, n_jobs=1)
    >>> found.n_clusters.tolist(), len(found.ensembles)
    ([2, 3], 2)
    """
    RunOptions(n_jobs, progress, cancel, client=client)  # validates them
    seed = check_random_state(random_state)
    features = check_features(X)
    check_range(n_resamples, 2, 10_000, name="n_resamples", integer=True)
    check_range(share, np.finfo(float).tiny, 1.0, name="share")
    numbers = checked_numbers(n_clusters, round(share * len(features)))
    parameter = number_parameter(clusterer)
    # Seeds identify the runs in the ensemble, from which failed runs are missing.
    seeds = np.random.SeedSequence(seed).generate_state(
        len(numbers) * n_resamples, np.uint64
    )
    k_of_seed = np.repeat(numbers, n_resamples).tolist()
    runs = dict(zip((seeds >> 11).tolist(), k_of_seed, strict=True))
    models = [
        SubsampledClusterer(CLUSTERERS[clusterer].make(**{parameter: k}), share, own)
        for own, k in runs.items()
    ]
    ensemble = run_pool(features, models, seed, n_jobs, progress, cancel, client=client)
    found = np.array([runs[spec["random_state"]] for spec in ensemble.specs])
    return _summarise(ensemble, found, cancel)


def checked_numbers(
    n_clusters: Iterable[int], largest: int, *, name: str = "n_clusters"
) -> IntArray:
    """Distinct numbers of clusters, ascending."""
    numbers = sorted(
        {
            check_range(number, 2, largest, name=name, integer=True)
            for number in check_entries(n_clusters, name)
        }
    )
    if not numbers:
        raise ValueError(f"{name} is empty; give at least one number of clusters.")
    return np.array(numbers, dtype=np.int64)


def number_parameter(clusterer: str) -> str:
    """The parameter of a registered clusterer that sets the number of clusters."""
    taken = CLUSTERERS[check_choice(clusterer, CLUSTERERS, name="clusterer")].defaults
    for parameter in ("n_clusters", "n_components"):
        if parameter in taken:
            return parameter
    raise ValueError(
        f"clusterer {clusterer!r} takes no number of clusters; give one that does, "
        "such as 'k-means' or 'agglomerative'."
    )


def _summarise(
    ensemble: Ensemble, found: IntArray, cancel: Cancel | None
) -> ResampledConsensus:
    """Distribution of the consensus for each number of clusters in found (T,)."""
    numbers = np.unique(found)
    ensembles = tuple(ensemble.select(found == k) for k in numbers)
    measures = [measure_consensus(one, cancel) for one in ensembles]
    cdf, area, pac, stability = (
        np.array(column) for column in zip(*measures, strict=True)
    )
    return ResampledConsensus(
        numbers,
        cdf,
        area,
        area_growth(area, numbers),
        pac,
        ensembles,
        ensemble.notes,
        stability,
    )


class ConsensusMeasures(NamedTuple):
    """Clearness of a consensus: distribution (101,), area under it, PAC, stability."""

    cdf: FloatArray
    area: float
    pac: float
    stability: float


def measure_consensus(
    ensemble: Ensemble, cancel: Cancel | None = None
) -> ConsensusMeasures:
    """Measure the clearness of the consensus of partitions of similar cluster numbers.

    O(n² T) comparisons of bytes, O(n T) memory.
    """
    pairs = count_agreements(ensemble, cancel=cancel).pair_counts.copy()
    pairs[-1] -= ensemble.n_samples
    return _measures(pairs, ensemble.codes, ensemble.votes)


def measure_labels(labels: IntArray) -> ConsensusMeasures:
    """Measure the same from labels (T, n) from 0, in one thread and without checks.

    O(n² T) comparisons of bytes, O(n T) memory.
    """
    pairs = np.zeros(len(labels) + 1, np.int64)
    kind = np.min_scalar_type(max(len(labels), int(labels.max())))
    _count_pairs(labels.astype(kind), pairs)
    return _measures(pairs, labels, np.ones(len(labels), np.int64))


def _measures(
    pairs: IntArray, codes: IntArray, votes: npt.NDArray[Any]
) -> ConsensusMeasures:
    """Measure ordered pairs (n_votes + 1,) of different samples by their votes.

    Stability, with q_t the number of pairs that vote t joins, N all pairs, E the mean
    over t != u of q_t q_u / N: (mean of pairs joined by t and u - E) / (mean q_t - E).
    """
    n, count = codes.shape[1], len(pairs) - 1
    total = n * (n - 1)
    shares = np.cumsum(pairs) / total if total else np.ones(count + 1)
    low, high = distribution_at(shares, np.array(AMBIGUOUS))
    c = np.arange(count + 1)
    both = pairs @ (c * (c - 1.0)) / (count * (count - 1))
    joined = np.array([(np.bincount(row) ** 2.0).sum() - n for row in codes])
    chance = ((votes @ joined) ** 2 - votes @ joined**2) / (count * (count - 1))
    chance /= max(total, 1)
    most = votes @ joined / count - chance
    return ConsensusMeasures(
        distribution_at(shares, CONSENSUS_GRID),
        float(shares[:-1].mean()),
        float(high - low),
        float((both - chance) / most) if most > 0 else 1.0,
    )


@kernel()
def _count_pairs(labels: Any, pairs: Any) -> None:
    """Count the ordered pairs of samples by the number of equal labels (T, n)."""
    equal = np.empty(labels.shape[1], labels.dtype)
    for i in range(labels.shape[1]):
        equal[:i] = 0
        for t in range(len(labels)):
            for j in range(i):
                equal[j] += labels[t, j] == labels[t, i]
        for j in range(i):
            pairs[equal[j]] += 2


def area_growth(area: FloatArray, numbers: IntArray) -> FloatArray:
    """Growth of the area (..., n_k) relative to k - 1; NaN without that number.

    One cluster has no area: the growth to two is the area itself.
    """
    before = np.full_like(area, np.nan)
    before[..., 1:] = np.where(np.diff(numbers) == 1, area[..., :-1], np.nan)
    growth = (area - before) / np.where(before == 0, np.inf, before)
    return np.where(numbers == 2, area, growth)
