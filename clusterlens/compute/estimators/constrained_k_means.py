"""K-means under must-links and cannot-links, with a penalty for broken ones or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.metrics import pairwise_distances, pairwise_distances_argmin

from clusterlens.compute._validation import FloatArray, IntArray, check_range, is_auto
from clusterlens.compute.ensemble.connected import components
from clusterlens.compute.ensemble.constraints import (
    ConstraintError,
    Constraints,
    PairArray,
)
from clusterlens.compute.estimators._input import validate_features
from clusterlens.compute.estimators._random import legacy_random_state


class ConstrainedKMeans(ClusterMixin, BaseEstimator):
    """K-means that pays for broken links (PCKMeans), or breaks none (COP-KMeans).

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters, 1 to n_samples.
    must_link, cannot_link : array-like of int, shape (n_pairs, 2), default ()
        Pairs of rows that should be joined or separated, as in `Constraints`.
    penalty : float or "auto", default "auto"
        Penalty for a broken link in squared units of X, at least 0. "auto" is the mean
        squared distance of a row to the mean row, so that a link costs as much as a row
        if there is one cluster. `numpy.inf`: no link is broken.
    n_init : int, default 10
        Number of starts; the best result is kept.
    max_iter : int, default 300
        Largest number of iterations of a start.
    random_state : int, RandomState, Generator or None, default 0
        Seed of the starts, and of the order of linked rows.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Cluster of each row, 0 to n_clusters - 1; some may be empty.
    cluster_centers_ : array of float64, shape (n_clusters, n_features)
        Means of the clusters; an empty cluster keeps its last mean.
    objective_ : float
        Sum of squared distances to the centres, and the penalty for each broken link.
    n_broken_ : int
        Number of links that the labels break.
    n_iter_ : int
        Iterations of the best start.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Rows without links go to the nearest centre. The others choose one after the other,
    in random order, the cluster with the least distance and penalty given the choices
    of their partners; no step raises the objective. With an infinite penalty, rows
    connected by must-links choose as one, among the clusters without a partner across a
    cannot-link; a start is abandoned if no such cluster is left. In every other start,
    beginning with the first, the initial centres are the means of units connected by
    must-links; if these are too many, large ones far apart. All other centres are rows
    by k-means++.

    O(n k d) for each iteration, and O(k) for each link.

    References
    ----------
    Basu, Banerjee & Mooney (2004), Active semi-supervision for pairwise constrained
    clustering, doi:10.1137/1.9781611972740.31 (equation 2.2, PCKMeans).
    Wagstaff, Cardie, Rogers & Schroedl (2001), Constrained k-means clustering with
    background knowledge, ICML (COP-KMeans).

    Examples
    --------
    >>> X = [[0, 0], [0, 1], [4, 0], [4, 1]]
    >>> ConstrainedKMeans(2).fit_predict(X).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    >>> model = ConstrainedKMeans(2, cannot_link=[(0, 1)], penalty=np.inf).fit(X)
    >>> bool(model.labels_[0] != model.labels_[1])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        must_link: npt.ArrayLike = (),
        cannot_link: npt.ArrayLike = (),
        penalty: float | Literal["auto"] = "auto",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.must_link = must_link
        self.cannot_link = cannot_link
        self.penalty = penalty
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Find clusters of the rows.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            Finite.
        y : ignored
            For the interface of scikit-learn.

        Returns
        -------
        self : ConstrainedKMeans
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or a parameter cannot be used.
        ConstraintError
            If links contradict each other, or if the penalty is infinite and no start
            found a way to keep all of them.
        """
        data = validate_features(self, X)
        check_range(self.n_clusters, 1, len(data), name="n_clusters", integer=True)
        check_range(self.n_init, 1, np.inf, name="n_init", integer=True)
        check_range(self.max_iter, 1, np.inf, name="max_iter", integer=True)
        links = Constraints(self.must_link, self.cannot_link)
        links.check_samples(len(data))
        # Centre the rows: far from the origin the distances of free rows lose digits.
        middle = data.mean(axis=0)
        problem = _problem(data - middle, links, _price(self.penalty, data))
        random = legacy_random_state(self.random_state)
        self.objective_ = np.inf
        for start_number in range(self.n_init):
            known_means = _means_of_joined(
                problem, self.n_clusters if start_number % 2 == 0 else 0
            )
            start = _with_rows(known_means, problem.data, self.n_clusters, random)
            found = _settle(problem, start, self.max_iter, random)
            if found is not None and found.objective < self.objective_:
                self.labels_, self.objective_ = found.labels, found.objective
                self.cluster_centers_ = found.centres + middle
                self.n_iter_ = found.n_iter
        if self.objective_ == np.inf:
            raise ConstraintError(
                f"n_clusters is {self.n_clusters}, and in none of {self.n_init} starts "
                "all cannot-links could be kept; ask for more clusters or starts, or "
                "give a finite penalty.",
                (),
            )
        self.n_broken_ = _broken(links, self.labels_)
        return self


@dataclass(frozen=True, eq=False)
class _Problem:
    """Rows (n, d), units of linked rows, and their penalties.

    `unit` (n,) is -1 for free rows; `must` and `cannot` are graphs of the units.
    """

    data: FloatArray
    links: Constraints
    penalty: float
    unit: IntArray
    component: IntArray
    must: csr_array
    cannot: csr_array


@dataclass(frozen=True)
class _Result:
    """Result of one start."""

    labels: IntArray
    centres: FloatArray
    objective: float
    n_iter: int


def _price(penalty: float | Literal["auto"], data: FloatArray) -> float:
    """Penalty of a broken link as a number."""
    if is_auto(penalty):
        return float(data.var(axis=0).sum())
    if isinstance(penalty, float) and penalty == np.inf:
        return np.inf
    return check_range(penalty, 0.0, np.inf, name="penalty")


def _problem(data: FloatArray, links: Constraints, penalty: float) -> _Problem:
    """Make linked rows units; if no link may be broken, units are connected rows."""
    n, must = len(data), links.must_link
    component = components(must, n)
    named = np.unique(np.concatenate([must, links.cannot_link]))
    hard = penalty == np.inf
    unit = np.full(n, -1)
    ids = component[named] if hard else named
    unit[named] = np.unique(ids, return_inverse=True)[1]
    size = int(unit.max(initial=-1)) + 1
    kept = must[:0] if hard else must
    graphs = (_graph(unit[pairs], size) for pairs in (kept, links.cannot_link))
    return _Problem(data, links, penalty, unit, component, *graphs)


def _graph(pairs: PairArray, size: int) -> csr_array:
    """Symmetric graph of pairs, with the number of times that each pair occurs."""
    a, b = pairs.reshape(-1, 2).T
    ends = np.r_[a, b], np.r_[b, a]
    return coo_array((np.ones(2 * len(a)), ends), shape=(size, size)).tocsr()


def _means_of_joined(problem: _Problem, most: int) -> FloatArray:
    """Means (n_means, d) of units that must-links connect, large distant ones first."""
    data, group = problem.data, problem.component
    sizes = np.bincount(group)
    joined = np.flatnonzero(sizes > 1)
    means = np.array([data[group == one].mean(axis=0) for one in joined])
    chosen: list[int] = []
    gap = np.ones(len(joined))
    while len(chosen) < min(most, len(joined)):
        chosen.append(int((sizes[joined] * gap).argmax()))
        nearest = _squares(means, means[chosen[-1:]])[:, 0]
        gap = nearest if len(chosen) == 1 else np.minimum(gap, nearest)
    return means[chosen] if chosen else np.empty((0, data.shape[1]))


def _with_rows(
    centres: FloatArray,
    data: FloatArray,
    n_clusters: int,
    random: np.random.RandomState,
) -> FloatArray:
    """Add random rows, far ones more probably, until there are n_clusters centres."""
    gap = _squares(data, centres).min(axis=1) if len(centres) else np.ones(len(data))
    rows: list[int] = []
    while len(centres) + len(rows) < n_clusters:
        chances = gap / gap.sum() if gap.sum() > 0 else None
        rows.append(random.choice(len(data), p=chances))
        nearest = _squares(data, data[rows[-1:]])[:, 0]
        first = len(centres) + len(rows) == 1
        gap = nearest if first else np.minimum(gap, nearest)
    return np.concatenate([centres, data[rows]])


def _squares(data: FloatArray, centres: FloatArray) -> FloatArray:
    """Squared distances (n, n_clusters)."""
    return np.asarray(pairwise_distances(data, centres, metric="sqeuclidean"))


def _settle(
    problem: _Problem,
    centres: FloatArray,
    max_iter: int,
    random: np.random.RandomState,
) -> _Result | None:
    """Move rows and centres until no row moves; None if a row has no cluster left."""
    linked = np.flatnonzero(problem.unit >= 0)
    chosen = np.full(problem.must.shape[0], -1)
    labels = np.full(len(problem.data), -1)
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        costs = np.zeros((len(chosen), len(centres)))
        if len(linked):
            distances = _squares(problem.data[linked], centres)
            np.add.at(costs, problem.unit[linked], distances)
        if not _choose(problem, costs, chosen, random.permutation(len(chosen))):
            return None
        found = pairwise_distances_argmin(problem.data, centres)
        found[linked] = chosen[problem.unit[linked]]
        if (found == labels).all():
            break
        labels = found
        centres = _means(problem.data, labels, centres)
    paid = ((problem.data - centres[labels]) ** 2).sum()
    broken = _broken(problem.links, labels)
    paid += problem.penalty * broken if broken else 0.0
    return _Result(labels, centres, float(paid), n_iter)


def _choose(
    problem: _Problem, costs: FloatArray, chosen: IntArray, order: IntArray
) -> bool:
    """Let units (m,) choose in an order, in place; False if one has no choice."""
    k = costs.shape[1]
    for unit in order:
        joined = _partners(problem.must, unit, chosen, k)
        broken = joined.sum() - joined + _partners(problem.cannot, unit, chosen, k)
        price = np.zeros(k)
        np.multiply(problem.penalty, broken, out=price, where=broken > 0)
        price += costs[unit]
        chosen[unit] = price.argmin()
        if price[chosen[unit]] == np.inf:
            return False
    return True


def _partners(graph: csr_array, unit: int, chosen: IntArray, k: int) -> IntArray:
    """Count the partners of a unit in each of k clusters."""
    around = chosen[graph.indices[graph.indptr[unit] : graph.indptr[unit + 1]]]
    return np.bincount(around[around >= 0], minlength=k)


def _means(data: FloatArray, labels: IntArray, centres: FloatArray) -> FloatArray:
    """Means of the clusters (k, d); empty ones keep their centre."""
    sizes = np.bincount(labels, minlength=len(centres))
    rows = (np.ones(len(labels)), (labels, np.arange(len(labels))))
    sums = coo_array(rows, shape=(len(centres), len(labels))).tocsr() @ data
    return np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)


def _broken(links: Constraints, labels: IntArray) -> int:
    """Number of links that labels break."""
    must, cannot = (
        labels[pairs[:, 0]] == labels[pairs[:, 1]]
        for pairs in (links.must_link, links.cannot_link)
    )
    return int((~must).sum() + cannot.sum())
