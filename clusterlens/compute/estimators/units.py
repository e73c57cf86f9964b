"""Clusterers with constants in units of X, adapted to any units.

scikit-learn adds 1e-6 to every variance of a mixture, stops bisecting k-means by a
distance, and keeps the seeds of mean shift in single precision. So the same groups in
other units become other clusters, or none. Here the constants are in units of the
spread of X, a power of two, so that X times a power of two gives the same labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.cluster import BisectingKMeans, MeanShift
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

from clusterlens.compute._validation import FloatArray, as_number


def spread(X: npt.ArrayLike) -> float:
    """Return the power of two nearest to the standard deviation of a usual feature.

    This is the median over the features of X (n, d) that vary; 1 if none does. For
    standardised features it is 1.
    """
    rows = np.asarray(X, np.float64)
    varying = rows.max(axis=0) > rows.min(axis=0)
    if not varying.any():
        return 1.0
    mantissa, exponent = np.frexp(np.median(rows[:, varying].std(axis=0)))
    return float(np.ldexp(1.0, exponent - int(mantissa < np.sqrt(0.5))))


@contextmanager
def _times(estimator: Any, name: str, factor: float) -> Iterator[None]:
    """Multiply a parameter inside the block, if it is a number."""
    given = getattr(estimator, name)
    if as_number(given) is not None:
        setattr(estimator, name, given * factor)
    try:
        yield
    finally:
        setattr(estimator, name, given)


class UnitGaussianMixture(GaussianMixture):
    """scikit-learn's mixture with `reg_covar` in units of the squared spread of X."""

    def fit_predict(self, X: Any, y: Any = None) -> Any:
        """Fit, and return the component of each row; for the rest see the base."""
        with _times(self, "reg_covar", spread(X) ** 2):
            return super().fit_predict(X)


class UnitBayesianMixture(BayesianGaussianMixture):
    """scikit-learn's mixture with `reg_covar` in units of the squared spread of X."""

    def fit_predict(self, X: Any, y: Any = None) -> Any:
        """Fit, and return the component of each row; for the rest see the base."""
        with _times(self, "reg_covar", spread(X) ** 2):
            return super().fit_predict(X)


class UnitBisectingKMeans(BisectingKMeans):
    """scikit-learn's clusterer with `tol` in units of the squared spread of X."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit as the base does."""
        with _times(self, "tol", spread(X) ** 2):
            super().fit(X, sample_weight=sample_weight)
        return self


class UnitMeanShift(MeanShift):
    """scikit-learn's clusterer in units of the spread of X."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit as the base does."""
        unit = spread(X)
        with _times(self, "bandwidth", 1 / unit):
            super().fit(np.asarray(X, np.float64) / unit)
        self.cluster_centers_: FloatArray = self.cluster_centers_ * unit
        return self
