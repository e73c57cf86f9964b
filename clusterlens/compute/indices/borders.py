"""border_ratios: is there a gap between two classes, whatever their shape?

DBCV compares the gap between two classes with the sparsest place inside them, so one
sparse corner hides a gap elsewhere. This ratio compares distances at the border only.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.spatial import KDTree

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, RunOptions, raise_if_cancelled
from clusterlens.compute._validation import (
    FloatArray,
    check_features,
    check_random_state,
    check_range,
    split_labelled,
)


@takes_running
def border_ratios(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    n_neighbors: int = 5,
    sample_size: int | None = None,
    random_state: int | np.random.Generator | None = 0,
    unlabelled: int | None = -1,
    cancel: Cancel | None = None,
) -> pd.DataFrame:
    """Compare the gap between two classes with the distances beside it.

    Parameters
    ----------
    X : array-like of float, shape (n_samples, n_features)
        Finite features.
    labels : array-like of int or str, shape (n_samples,)
        Class of each sample, at least two classes. Samples without one are left out.
    n_neighbors : int, default 5
        The neighbour of the own class with which the other class is compared. A class
        with fewer neighbours gives its farthest one.
    sample_size : int, optional
        If there are more samples, use about this many, the same share of each class.
    random_state : int, Generator or None, default 0
        Seed of that draw.
    unlabelled : int or None, default -1
        The label of samples without a class, as in `label_match`.
    cancel : callable, optional
        Asked between pairs of classes; if it returns True, `Cancelled` is raised.

    Returns
    -------
    pairs : DataFrame
        One row per pair of classes: class_a, class_b, ratio. The ratio is at least 0; 1
        or more is a gap. It is NaN if neither class has two different samples.

    Raises
    ------
    ValueError
        If there are fewer than two classes or lengths disagree.

    Notes
    -----
    The border of a pair is all samples of one class that are the nearest ones to a
    sample of the other. The ratio is the median, over the border, of the distance to
    the other class divided by the distance to the fifth-nearest sample of the own
    class. Equal samples of a class count once. Classes cut out of one group can reach 1
    by chance, most often with one feature and few samples.

    O(n log n) time per class for few features, O(n² d) for many.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]]
    >>> border_ratios(X, list("aaabbb"))["ratio"].tolist()
    [2.5]
    """
    run = RunOptions(cancel=cancel)
    check_range(n_neighbors, 1, np.inf, name="n_neighbors", integer=True)
    if sample_size is not None:
        check_range(sample_size, 1, np.inf, name="sample_size", integer=True)
    rng = np.random.default_rng(check_random_state(random_state))
    features = check_features(X)
    labelled, values = split_labelled(labels, unlabelled, n_samples=len(features))
    classes, codes = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"labels has {len(classes)} class; give at least two classes to compare."
        )
    features = features[labelled]
    share = min(1.0, (sample_size or len(features)) / len(features))
    sides = []
    for code in range(len(classes)):
        members = features[codes == code]
        if share < 1:
            n_drawn = int(np.ceil(share * len(members)))
            members = rng.choice(members, n_drawn, replace=False)
        sides.append(_Side.of(members, int(n_neighbors)))
    rows = []
    for a, b in combinations(range(len(classes)), 2):
        raise_if_cancelled(run.cancel)
        ratios = np.r_[sides[a].ratios_to(sides[b]), sides[b].ratios_to(sides[a])]
        ratio = float(np.median(ratios)) if len(ratios) else np.nan
        rows.append((classes[a], classes[b], ratio))
    return pd.DataFrame(rows, columns=["class_a", "class_b", "ratio"])


@dataclass(frozen=True)
class _Side:
    """One class: its samples as a tree, and the distance of each to its neighbour."""

    tree: KDTree
    own: FloatArray

    @classmethod
    def of(cls, members: FloatArray, n_neighbors: int) -> _Side:
        # Equal samples count once; sorted, because ties depend on the order.
        tree = KDTree(np.unique(members, axis=0))
        nearest = min(n_neighbors, tree.n - 1) + 1  # the first one is the sample itself
        distances, _ = tree.query(tree.data, k=[nearest])
        return cls(tree, np.asarray(distances)[:, 0])

    def ratios_to(self, other: _Side) -> FloatArray:
        """Return the ratios of the samples at the border to the other class."""
        if self.tree.n == 1:
            return np.empty(0)
        border = np.unique(self.tree.query(other.tree.data)[1])
        reach = other.tree.query(self.tree.data[border])[0]
        return np.asarray(reach / self.own[border])
