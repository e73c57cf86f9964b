"""Library clusterers with the number of clusters chosen by an internal criterion.

* `KMeansSilhouette`: k-means, by the mean silhouette width.
* `GaussianMixtureBIC`: a Gaussian mixture, by the Bayesian information criterion.
* `HDBSCANDBCV`: HDBSCAN, by the density-based validity index.

Cost: one fit for each value tried; the silhouette and DBCV compare all pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.utils.validation import check_is_fitted

from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    check_choice,
    check_range,
    plain_repr,
)
from clusterlens.compute.ensemble.ensemble import NOISE
from clusterlens.compute.estimators._input import validate_features
from clusterlens.compute.estimators._random import legacy_random_state
from clusterlens.compute.estimators.neighbors import neighbors_of
from clusterlens.compute.estimators.units import UnitGaussianMixture
from clusterlens.compute.indices.indices import internal_index


class KMeansSilhouette(ClusterMixin, BaseEstimator):
    """K-means with the number of clusters of the largest mean silhouette width.

    Parameters
    ----------
    max_clusters : int, default 30
        Largest number of clusters tried, from 2; at most the number of distinct samples
        less one is used.
    n_init : int, default 10
        Starts of each k-means, at least 1.
    silhouette_samples : int, default 10_000
        With more samples the silhouette uses a random part of this size.
    random_state : int, RandomState, Generator or None, default 0
        Seed of the starts and of the random part.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Clusters 0, 1, ...
    n_clusters_ : int
        Number of clusters.
    scores_ : array of float64, shape (n_tried,)
        Mean silhouette width for 2, 3, ... clusters, in [-1, 1]; 1 is best.

    Notes
    -----
    O(n K d) for each k-means and O(m² d) for each silhouette of m samples.

    References
    ----------
    Rousseeuw (1987), Silhouettes, doi:10.1016/0377-0427(87)90125-7.

    Examples
    --------
    >>> KMeansSilhouette(3).fit_predict([[0], [1], [8], [9]]).tolist()
    [1, 1, 0, 0]
    """

    def __init__(
        self,
        max_clusters: int = 30,
        n_init: int = 10,
        silhouette_samples: int = 10_000,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
    ) -> None:
        self.max_clusters = max_clusters
        self.n_init = n_init
        self.silhouette_samples = silhouette_samples
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Fit k-means for every number of clusters and keep the best.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            At least two samples, finite.
        y : ignored
            For the interface of scikit-learn.

        Returns
        -------
        self : KMeansSilhouette
            The fitted estimator.
        """
        data = validate_features(self, X, ensure_min_samples=2)
        check_range(self.max_clusters, 2, np.inf, name="max_clusters", integer=True)
        check_range(
            self.silhouette_samples, 2, np.inf, name="silhouette_samples", integer=True
        )
        check_range(self.n_init, 1, np.inf, name="n_init", integer=True)
        random = legacy_random_state(self.random_state)
        most = min(self.max_clusters, len(np.unique(data, axis=0)) - 1)
        part = random.permutation(len(data))[: self.silhouette_samples]
        self.labels_ = np.zeros(len(data), dtype=np.int64)
        scores = [-np.inf]
        for n_clusters in range(2, most + 1):
            model = KMeans(n_clusters, n_init=self.n_init, random_state=random)
            labels = model.fit_predict(data)
            width = internal_index("SI", data[part], labels[part], n_jobs=1)
            score = float(width)
            if score > max(scores):
                self.labels_ = labels.astype(np.int64)
            scores.append(score)
        self.scores_ = np.array(scores[1:])
        self.n_clusters_ = int(self.labels_.max()) + 1
        return self


class GaussianMixtureBIC(ClusterMixin, BaseEstimator):
    """Gaussian mixture with the number of components of the smallest BIC.

    Parameters
    ----------
    max_components : int, default 30
        Largest number of components tried, from 1; at most n_samples - 1 are used.
    covariance_type : {"diag", "full", "tied", "spherical"}, default "diag"
        Shape of the components.
    random_state : int, RandomState, Generator or None, default 0
        Seed of the starts.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Components that own a sample, numbered 0, 1, ...
    n_clusters_ : int
        Number of components that own a sample.
    model_ : UnitGaussianMixture
        The mixture chosen.
    scores_ : array of float64, shape (n_tried,)
        BIC for 1, 2, ... components; lower is better.

    Notes
    -----
    O(n K d) for each step of a diagonal mixture, O(n K d²) for a full one.

    References
    ----------
    Schwarz (1978), Estimating the dimension of a model, doi:10.1214/aos/1176344136.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [0.3], [8.0], [8.1], [8.2], [8.3]]
    >>> GaussianMixtureBIC(2).fit(X).n_clusters_
    2
    """

    def __init__(
        self,
        max_components: int = 30,
        covariance_type: str = "diag",
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
    ) -> None:
        self.max_components = max_components
        self.covariance_type = covariance_type
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Fit a mixture for every number of components and keep the best.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            At least two samples, finite.
        y : ignored
            For the interface of scikit-learn.

        Returns
        -------
        self : GaussianMixtureBIC
            The fitted estimator.
        """
        data = validate_features(self, X, ensure_min_samples=2)
        check_range(self.max_components, 1, np.inf, name="max_components", integer=True)
        check_choice(
            self.covariance_type,
            ("diag", "full", "tied", "spherical"),
            name="covariance_type",
        )
        random = legacy_random_state(self.random_state)
        most = min(self.max_components, len(np.unique(data, axis=0)) - 1)
        models = [
            UnitGaussianMixture(
                n_components,
                covariance_type=self.covariance_type,
                random_state=random.randint(2**31 - 1),
            ).fit(data)
            for n_components in range(1, max(most, 1) + 1)
        ]
        self.scores_ = np.array([model.bic(data) for model in models])
        self.model_ = models[int(np.argmin(self.scores_))]
        self._owning, self.labels_ = np.unique(
            self.model_.predict(data), return_inverse=True
        )
        self.n_clusters_ = len(self._owning)
        return self

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Posterior probabilities of the components that own a training sample.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            Samples, finite.

        Returns
        -------
        memberships : array of float64, shape (n_samples, n_clusters)
            Rows sum to 1.
        """
        check_is_fitted(self)
        data = validate_features(self, X, reset=False)
        memberships = self.model_.predict_proba(data)[:, self._owning]
        return memberships / memberships.sum(axis=1, keepdims=True)


class HDBSCANDBCV(ClusterMixin, BaseEstimator):
    """HDBSCAN with the neighbourhood size of the best DBCV, and noise merged.

    Parameters
    ----------
    min_samples : list of int, default (5, 10, 15, 20, 25)
        Values tried, for min_samples and min_cluster_size alike, each at least 2; those
        not below n_samples are left out.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Clusters 0, 1, ...; a noise sample takes the cluster of the nearest other
        sample.
    noise_ : array of bool, shape (n_samples,)
        Samples that HDBSCAN called noise.
    n_clusters_ : int
        Number of clusters.
    min_samples_ : int
        The value chosen.
    scores_ : array of float64, shape (n_tried,)
        DBCV of each value, in [-1, 1], 1 is best; NaN if it is not defined.

    Notes
    -----
    Noise is merged after the choice. DBCV takes O(n² d) time and O(n d) memory. If no
    value has a DBCV, the first value that finds a cluster is taken.

    References
    ----------
    Campello, Moulavi & Sander (2013), doi:10.1007/978-3-642-37456-2_14. Moulavi et al.
    (2014), Density-based clustering validation, doi:10.1137/1.9781611973440.96.
    """

    def __init__(self, min_samples: tuple[int, ...] = (5, 10, 15, 20, 25)) -> None:
        self.min_samples = min_samples

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Fit HDBSCAN for every value, keep the best and merge its noise.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            At least two samples, finite.
        y : ignored
            For the interface of scikit-learn.

        Returns
        -------
        self : HDBSCANDBCV
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or a parameter cannot be used, or there are more than 50,000 samples.
        """
        data = validate_features(self, X, ensure_min_samples=2)
        if isinstance(self.min_samples, str) or not isinstance(
            self.min_samples, Iterable
        ):
            raise ValueError(
                f"min_samples is {plain_repr(self.min_samples)}; give a list of "
                "values to try."
            )
        for value in self.min_samples:
            check_range(value, 2, np.inf, name="min_samples", integer=True)
        values = [v for v in self.min_samples if v < len(data)] or [len(data)]
        tried = [
            HDBSCAN(min_cluster_size=v, min_samples=v, copy=True).fit_predict(data)
            for v in values
        ]
        self.scores_ = np.array(
            [float(internal_index("DBCV", data, labels)) for labels in tried]
        )
        found = [labels.max() >= 0 for labels in tried]
        ranked = np.where(np.isnan(self.scores_), -2, self.scores_) + found
        best = int(np.argmax(ranked))
        self.min_samples_ = values[best]
        self.noise_ = tried[best] == NOISE
        self.labels_ = merge_noise(data, tried[best]).astype(np.int64)
        self.n_clusters_ = int(self.labels_.max()) + 1
        return self


def merge_noise(X: FloatArray, labels: IntArray) -> IntArray:
    """Give each noise sample the label of the nearest sample that is not noise.

    If all are noise they are one cluster. X has shape (n, d), labels (n,).
    """
    noise = labels == NOISE
    if noise.all():
        return np.zeros_like(labels)
    merged = labels.copy()
    if noise.any():
        nearest = neighbors_of(X[noise], X[~noise], 1)[0][:, 0]
        merged[noise] = labels[~noise][nearest]
    return merged
