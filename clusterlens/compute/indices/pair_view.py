"""PairView: the plane that shows the means of two classes furthest apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    IntArray,
    check_features,
    plain_repr,
    split_labelled,
)


@dataclass(frozen=True, eq=False)
class PairView(Frozen):
    """Samples of two classes on a plane.

    Attributes
    ----------
    coordinates : array of float64, shape (n_pair, 2)
        x and y of each sample, around the mean of both classes: y runs from the mean of
        class a up to that of class b, x is the direction of largest spread across it.
    rows : array of int64, shape (n_pair,)
        Positions of these samples in X.
    is_b : array of bool, shape (n_pair,)
        Whether each belongs to class b.
    means : array of float64, shape (2, 2)
        Coordinates of the means of a and of b.
    components : array of float64, shape (2, n_features)
        Unit vectors of x and y in the features.
    variance_share : float
        Share of the variance of the pair that the plane holds, in [0, 1].
    """

    coordinates: FloatArray
    rows: IntArray
    is_b: npt.NDArray[np.bool_]
    means: FloatArray
    components: FloatArray
    variance_share: float


def class_pair_view(
    X: npt.ArrayLike, labels: npt.ArrayLike, a: int | str, b: int | str
) -> PairView:
    """Project two classes on a plane that preserves the distance of their means.

    Parameters
    ----------
    X : array-like of float, shape (n_samples, n_features)
        Finite features.
    labels : array-like of int or str, shape (n_samples,)
        Class of each sample.
    a, b : int or str
        Two of the classes.

    Returns
    -------
    view : PairView
        No other plane shows the two means further apart, and none through them holds
        more of the variance of the pair.

    Raises
    ------
    ValueError
        If a or b is not a class, they are equal, or lengths disagree.

    Notes
    -----
    If the means coincide, the plane is spanned by the two principal components.
    O(n d min(n, d)) time.

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.0, 2.0], [4.0, 0.0], [4.0, 2.0]]
    >>> view = class_pair_view(X, ["p", "p", "q", "q"], "p", "q")
    >>> view.means.tolist(), view.variance_share
    ([[0.0, -2.0], [0.0, 2.0]], 1.0)
    """
    features = check_features(X)
    labelled, classes = split_labelled(labels, None, n_samples=len(features))
    names = np.unique(classes).tolist()
    if not all(isinstance(one, str | int | np.integer) for one in (a, b)) or not (
        a in names and b in names and a != b
    ):
        raise ValueError(
            f"a and b are {plain_repr(a)} and {plain_repr(b)}; give two of "
            f"{plain_repr(names)}."
        )
    chosen = np.isin(classes, np.array([a, b]))
    rows = np.flatnonzero(labelled)[chosen]
    is_b = classes[chosen] == b
    centred = features[rows] - features[rows].mean(axis=0)
    towards_b = centred[is_b].mean(axis=0) - centred[~is_b].mean(axis=0)
    length = float(np.linalg.norm(towards_b))
    y = towards_b / length if length else _largest_spread(centred)
    across = centred - np.outer(centred @ y, y)
    components = np.stack([_largest_spread(across), y])
    coordinates = centred @ components.T
    total = float(np.square(centred).sum())
    return PairView(
        coordinates,
        rows,
        is_b,
        np.stack([coordinates[~is_b].mean(axis=0), coordinates[is_b].mean(axis=0)]),
        components,
        float(np.square(coordinates).sum()) / total if total else 1.0,
    )


def _largest_spread(centred: FloatArray) -> FloatArray:
    """Return the unit vector (d,) of largest spread, largest entry positive, or 0."""
    if not centred.any():
        return np.zeros(centred.shape[1])
    direction = np.linalg.svd(centred, full_matrices=False)[2][0]
    return direction * np.sign(direction[np.argmax(np.abs(direction))])
