"""Projection on principal components, for the map of the samples and for `prepare`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import PCA

from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    check_features,
    check_range,
    plain_repr,
)

_COVARIANCE_WIDTH = 1000  # up to this width the d x d covariance is cheapest


@dataclass(frozen=True, eq=False)
class ColumnAxis(Frozen):
    """A numeric column as an axis of a map, with its own units.

    Parameters
    ----------
    name : str
        The column, for dates with the first day.
    values : array of float64, shape (n_knots,)
        Values in units of the column, ascending.
    places : array of float64, shape (n_knots,)
        Their coordinates on the map, ascending.

    Notes
    -----
    A column that is only scaled has two knots, its smallest and its largest value, and
    the line through them holds beyond. A transformed column has more, and ends with its
    knots.
    """

    name: str
    values: FloatArray
    places: FloatArray

    def to_values(self, places: npt.ArrayLike) -> FloatArray:
        """Return the values of the column at coordinates.

        Parameters
        ----------
        places : array-like of shape (n,)
            Coordinates on the axis.

        Returns
        -------
        values : array of float64, shape (n,)
            In units of the column.
        """
        return _along(places, self.places, self.values)

    def to_places(self, values: npt.ArrayLike) -> FloatArray:
        """Return the coordinates of values of the column.

        Parameters
        ----------
        values : array-like of shape (n,)
            In units of the column.

        Returns
        -------
        places : array of float64, shape (n,)
            Coordinates on the axis.
        """
        return _along(values, self.values, self.places)


def _along(at: npt.ArrayLike, x: FloatArray, y: FloatArray) -> FloatArray:
    """Interpolate between knots, and extend a single line beyond its two."""
    at = np.asarray(at, np.float64)
    if len(x) > 2:
        return np.interp(at, x, y)
    return y[0] + (at - x[0]) * (y[1] - y[0]) / (x[1] - x[0])


@dataclass(frozen=True, eq=False)
class Projection(Frozen):
    """Samples in the space of their first principal components.

    Parameters
    ----------
    coordinates : array of float64, shape (n_samples, n_components)
        Centred coordinates, read-only.
    explained : array of float64, shape (n_components,)
        Share of the total variance on each axis, in [0, 1], descending.
    components : array of float64, shape (n_components, n_features)
        Unit vectors of the axes; the largest entry of each is positive.
    solver : str
        Method for the axes: "covariance", "full" or "randomized".
    centre : array of float64, shape (n_features,)
        Mean of the samples, the origin of the coordinates.
    columns : tuple of ColumnAxis
        Columns of the table that are the axes themselves; empty for components.
    """

    coordinates: FloatArray
    explained: FloatArray
    components: FloatArray
    solver: str
    centre: FloatArray
    columns: tuple[ColumnAxis, ...] = ()

    def transform(self, X: npt.ArrayLike) -> FloatArray:
        """Return the coordinates of other samples on the same axes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite features.

        Returns
        -------
        coordinates : array of float64, shape (n_samples, n_components)
            Distances from the centre along each axis.
        """
        return (check_features(X, compared=False) - self.centre) @ self.components.T


def project(ds: npt.ArrayLike, n_components: float = 2) -> Projection:
    """Project samples on their first principal components.

    Parameters
    ----------
    ds : Dataset or array-like of shape (n_samples, n_features)
        A prepared dataset, or finite features.
    n_components : int or float, default 2
        Number of axes; a number between 0 and 1 selects as many as hold that share of
        the variance.

    Returns
    -------
    projection : Projection
        Coordinates, share of the variance, axes. If the data have fewer dimensions than
        requested, the remaining axes are zero and explain nothing.

    Raises
    ------
    DataError
        If the features are not finite numbers.
    ValueError
        If n_components is out of range.

    Notes
    -----
    Up to 1,000 features the eigenvectors of the covariance matrix are computed,
    O(n d^2 + d^3); above, a randomised decomposition with a fixed seed, O(n d k) for k
    axes; for a share of the variance in more than 1,000 features a full one,
    O(n d min(n, d)). Signs are fixed, so equal data give equal maps.

    Examples
    --------
    >>> project([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]).explained.round(3).tolist()
    [1.0, 0.0]
    """
    X = check_features(ds, name="ds")
    whole = isinstance(n_components, (int, np.integer))
    if whole:
        check_range(n_components, 1, 10_000, name="n_components", integer=True)
    elif not isinstance(n_components, float) or not 0 < n_components < 1:
        raise ValueError(
            f"n_components is {plain_repr(n_components)}; give a whole number of "
            "axes, or a share of the variance between 0 and 1."
        )
    if np.ptp(X, axis=0).max() == 0:
        return _flat(X, int(n_components) if whole else 1)
    rank = min(X.shape)
    wanted = min(int(n_components), rank) if whole else n_components
    solver = _solver(X.shape[1], whole, wanted, rank)
    pca = PCA(n_components=wanted, svd_solver=solver, random_state=0)
    coordinates = pca.fit_transform(X)
    missing = int(n_components) - coordinates.shape[1] if whole else 0
    return Projection(
        coordinates=np.pad(coordinates, ((0, 0), (0, missing))),
        explained=np.pad(pca.explained_variance_ratio_, (0, missing)),
        components=np.pad(pca.components_, ((0, missing), (0, 0))),
        solver=solver.removesuffix("_eigh"),
        centre=pca.mean_,
    )


def _solver(width: int, whole: bool, wanted: float, rank: int) -> str:
    """Choose the cheapest method for the axes."""
    if width <= _COVARIANCE_WIDTH:
        return "covariance_eigh"
    return "randomized" if whole and wanted < 0.5 * rank else "full"


def _flat(X: FloatArray, n_components: int) -> Projection:
    """Return the projection of samples that are all equal."""
    return Projection(
        coordinates=np.zeros((len(X), n_components)),
        explained=np.zeros(n_components),
        components=np.zeros((n_components, X.shape[1])),
        solver="covariance",
        centre=X.mean(axis=0),
    )
