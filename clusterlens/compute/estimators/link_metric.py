"""A diagonal metric learnt from must-links: features that differ inside count less."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from clusterlens.compute._validation import FloatArray, check_range
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.estimators._input import validate_features


class LinkMetric(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Weigh each feature by how little it differs within must-links.

    Parameters
    ----------
    must_link : array-like of int, shape (n_pairs, 2), default ()
        Pairs of rows that should be joined, as in `Constraints`.
    strength : float, default 5
        Weight, in links, of the prior belief that linked rows differ in each feature as
        much as random rows do; at least 1.

    Attributes
    ----------
    weights_ : array of float64, shape (n_features,)
        Factor of each feature's squared differences, above 0; 1 for all without links,
        and for a feature of one value.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    With M_d for the sum over links of the squared difference in feature d, divided by
    its expectation for two random rows (twice the variance), m for the number of links
    and s for `strength`,

    weight_d = (s + m) / (s + M_d).

    With s = 0 this is relevant component analysis with a diagonal metric: the inverse
    of the variance within linked rows, in units of the total variance; s was chosen on
    labelled data sets. The weight does not depend on the unit of a feature.

    O(n d) for the variances, and O(d) for each link.

    References
    ----------
    Bar-Hillel, Hertz, Shental & Weinshall (2003), Learning distance functions using
    equivalence relations, ICML (RCA; here the diagonal, of pairs, and shrunk).

    Examples
    --------
    >>> X = [[0, 0], [0, 9], [1, 0], [1, 9]]
    >>> metric = LinkMetric(must_link=[(0, 1), (2, 3)]).fit(X)
    >>> metric.weights_.round(2).tolist()
    [1.4, 0.78]
    """

    def __init__(self, must_link: npt.ArrayLike = (), strength: float = 5.0) -> None:
        self.must_link = must_link
        self.strength = strength

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Learn the weights.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            Finite.
        y : ignored
            For the interface of scikit-learn.

        Returns
        -------
        self : LinkMetric
            The fitted transformer.

        Raises
        ------
        ValueError
            If X or a parameter cannot be used.
        """
        data = validate_features(self, X)
        strength = check_range(self.strength, 1.0, np.inf, name="strength")
        links = Constraints(self.must_link)
        links.check_samples(len(data))
        deviation = data.std(axis=0)
        scale = np.where(deviation > 0, deviation, 1.0) * np.sqrt(2)
        a, b = links.must_link.T
        apart = (((data[a] - data[b]) / scale) ** 2).sum(axis=0)
        weights = (strength + links.n_pairs) / (strength + apart)
        self.weights_ = np.where(np.ptp(data, axis=0) > 0, weights, 1.0)
        return self

    def transform(self, X: npt.ArrayLike) -> FloatArray:
        """Map rows so that their Euclidean distances equal the distances of the metric.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            Finite.

        Returns
        -------
        rows : array of float64, shape (n_samples, n_features)
            Each feature times the root of its weight.
        """
        data = validate_features(self, X, reset=False)
        return data * np.sqrt(self.weights_)
