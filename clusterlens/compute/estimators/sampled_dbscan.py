"""DBSCAN on a sample; the other samples join its clusters.

The radius of DBSCAN is the scale that separates groups from the space between them. If
it comes from the nearest few neighbours, it shrinks as a table grows, until it follows
chance gaps rather than groups. On a sample of fixed size it stays constant, and the
cost is one search of the sample for each row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from clusterlens.compute._validation import FloatArray, IntArray, check_range
from clusterlens.compute.estimators._input import validate_features

N_SAMPLED = 10_000
# Up to this number of features a k-d tree is faster than all pairs, on overlapping
# groups and on noise: with many neighbours of each sample, and with one within a
# radius.
_MANY_DIMENSIONS = 5
_ONE_DIMENSIONS = 10


class SampledDBSCAN(ClusterMixin, BaseEstimator):
    """DBSCAN on a random sample; other rows join the nearest core sample within eps.

    Parameters
    ----------
    quantile : float, default 0.9
        eps is this quantile of the distances, within the sample, to the nearest other
        row number `min_samples`.
    min_samples : int, default 5
        Rows of the sample within eps of a core sample, itself included.
    n_sampled : int, default 10000
        Rows drawn, without replacement; all if there are no more.
    random_state : int, RandomState or None, default None
        Seed of the draw.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Cluster of each row, -1 for noise. On the sample, the labels of DBSCAN.
    eps_ : float
        The radius.
    core_sample_indices_ : array of int, shape (n_cores,)
        Core samples, ascending.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    O(m² d) for m rows drawn, and a search of at most m core samples for each row.

    References
    ----------
    Ester, Kriegel, Sander & Xu (1996); on sampling the core samples: Jang & Jiang
    (2019), DBSCAN++, arXiv:1810.13105.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[0.0], [9.0]], 50, axis=0) + np.linspace(0, 1, 100)[:, None]
    >>> SampledDBSCAN(n_sampled=40, random_state=0).fit_predict(X)[[10, 40, 60, 90]]
    array([0, 0, 1, 1])
    """

    def __init__(
        self,
        quantile: float = 0.9,
        min_samples: int = 5,
        n_sampled: int = N_SAMPLED,
        random_state: Any = None,
    ) -> None:
        self.quantile = quantile
        self.min_samples = min_samples
        self.n_sampled = n_sampled
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: object = None) -> SampledDBSCAN:
        """Cluster a sample, and let the other rows join.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            The samples.
        y : object, optional
            Not used.

        Returns
        -------
        self : SampledDBSCAN
            Fitted.
        """
        check_range(self.quantile, 0, 1, name="quantile")
        check_range(self.min_samples, 1, np.inf, name="min_samples", integer=True)
        check_range(self.n_sampled, 1, np.inf, name="n_sampled", integer=True)
        data = validate_features(self, X)
        rows = self._draw(len(data))
        self.eps_ = _radius(data[rows], self.min_samples, self.quantile)
        found = DBSCAN(
            eps=self.eps_, min_samples=self.min_samples, algorithm=_search_of(data)
        ).fit(data[rows])
        self.core_sample_indices_ = rows[found.core_sample_indices_]
        self.labels_ = np.full(len(data), -1)
        self.labels_[rows] = found.labels_
        others = np.setdiff1d(np.arange(len(data)), rows)
        self.labels_[others] = self._join(data, others)
        return self

    def _draw(self, n_samples: int) -> IntArray:
        """Rows of the sample, ascending."""
        if n_samples <= self.n_sampled:
            return np.arange(n_samples)
        random = check_random_state(self.random_state)
        return np.sort(random.choice(n_samples, self.n_sampled, replace=False))

    def _join(self, data: FloatArray, others: IntArray) -> IntArray:
        """Cluster of the nearest core sample of the given rows; -1 if it is too far."""
        cores = self.core_sample_indices_
        if not (len(cores) and len(others)):
            return np.full(len(others), -1)
        if data.shape[1] <= _ONE_DIMENSIONS:
            # The bound is exclusive, and its square must not vanish.
            bound = max(np.nextafter(self.eps_, np.inf), 1e-150)
            distances, nearest = cKDTree(data[cores]).query(
                data[others], distance_upper_bound=bound
            )
        else:
            search = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(data[cores])
            distances, nearest = (
                found[:, 0] for found in search.kneighbors(data[others])
            )
        joined = np.append(self.labels_[cores], -1)[nearest]
        return np.where(distances <= self.eps_, joined, -1)


def _search_of(data: FloatArray) -> str:
    """Name the search that is faster for all neighbours within the sample."""
    return "kd_tree" if data.shape[1] <= _MANY_DIMENSIONS else "brute"


def _radius(sample: FloatArray, min_samples: int, quantile: float) -> float:
    """Quantile of the distances to a near neighbour, above 0 as DBSCAN requires."""
    n_neighbors = min(min_samples, len(sample) - 1)
    if n_neighbors < 1:
        return 1.0
    search = NearestNeighbors(
        n_neighbors=n_neighbors, algorithm=_search_of(sample)
    ).fit(sample)
    distances = search.kneighbors()[0][:, -1]
    return max(float(np.quantile(distances, quantile)), np.finfo(float).tiny)
