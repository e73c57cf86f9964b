"""CNS, clustering by non-parametric smoothing, as a scikit-learn estimator.

A few samples become seeds, one per cluster. Every sample then takes a random walk on
the graph of nearest neighbours, which stops with probability alpha at each step; its
membership in a cluster is the probability that the walk ends at that seed, plus an
equal share of the probability that it ends elsewhere. Neighbourhood size, alpha and the
number of clusters K are chosen by the gain in clarity, the mean largest membership.

Cost: the neighbour search, O(n² d) at worst, and for each neighbourhood size a sparse
factorisation for each alpha where its factors are small, else about 50 to 200 products
with the n x k neighbour table and max_clusters columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    as_array,
    check_choice,
    check_range,
    is_auto,
    warn_caller,
)
from clusterlens.compute.estimators._input import to_metric, validate_features
from clusterlens.compute.estimators.cns._seeds import VERSIONS, Version
from clusterlens.compute.estimators.cns._solution import (
    Solution,
    best_count,
    likeliest_seeds,
    memberships_of,
    seed_shares_of,
    solution_error,
    solve_graph,
    tied_samples,
    undecided_samples,
)
from clusterlens.compute.estimators.cns._solvers import LARGEST_DIRECT
from clusterlens.compute.estimators.cns.criterion import CriterionGrid
from clusterlens.compute.estimators.neighbors import (
    local_order,
    neighbor_table,
    neighbors_of,
    with_self_first,
)

Metric = Literal["euclidean", "cosine"]


class CNS(ClusterMixin, BaseEstimator):
    """Clustering by non-parametric smoothing on the graph of nearest neighbours.

    Parameters
    ----------
    n_clusters : "auto" or int, default "auto"
        Number of seeds K, 1 to n_samples; "auto" takes the best by the criterion.
    n_neighbors : "auto", int or list of int, default "auto"
        Neighbourhood sizes k to try, each below n_samples; "auto" is the grid of the
        version, restricted to such values.
    alpha : "auto", float or list of float, default "auto"
        Stopping probabilities in (0, 1) to try; "auto" is the grid of the version.
    max_clusters : "auto" or int, default "auto"
        Largest K, at most n_samples; "auto" is the version's, or `n_clusters`
        if larger.
    metric : {"euclidean", "cosine"}, default "euclidean"
        "cosine" centres the columns and scales the rows to length 1 first. Other
        preparation, such as standardising, is the caller's.
    version : {"revised", "v2", "v1"}, default "revised"
        Published state of the method: December, May or March 2025. The result tables of
        the paper come from "v2".
    solver : {"auto", "exact", "powers"}, default "auto"
        "auto" is sparse LU, exact to rounding, where its factors are small: always up
        to 2000 samples, in few dimensions up to some 20,000. Elsewhere it iterates
        until the residual is rounding, and factorises where that leaves the order of
        the seeds open, "auto" up to 4000 samples, "exact" at any size.
        "powers" is the power series of the reference code.
    n_products : int, default 50
        Exponent of the last power before the tail; only for solver="powers".

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Clusters that own a sample, numbered 0, 1, ... in the order of their seeds.
    seed_labels_ : array of int, shape (n_samples,)
        Position in `seeds_` of each sample's largest membership, the first on ties.
    memberships_ : array of float64, shape (n_samples, n_clusters)
        Probabilities; rows sum to 1.
    n_clusters_, n_occupied_ : int
        Number of seeds, and how many of them own at least one sample.
    undecided_ : array of bool, shape (n_samples,)
        Samples from which no seed can be reached: all memberships are 1/K.
    tied_ : array of bool, shape (n_samples,)
        Samples with equal largest memberships for several seeds, to rounding, the
        undecided ones left out; they get the first of these seeds.
    seed_shares_ : array of float64, shape (n_samples, n_clusters)
        Share of seed stops: a walk that starts at the sample and stops at a seed stops
        at this one with this probability. Rows sum to 1; 1/K where no seed is reached.
    stop_share_ : array of float64, shape (n_samples,)
        Share of the walks from the sample that stop at a seed at all, in [0, 1];
        usually a few percent, so that memberships lie near 1/K.
    seeds_ : array of int, shape (n_clusters,)
        Indices of the seeds in greedy order.
    n_neighbors_, alpha_ : int, float
        The values selected.
    criterion_ : array of float64, shape (max_clusters, n_k, n_alpha)
        Gain in clarity over that of ideal clusters for K = 1, 2, ...; 0 for K = 1,
        higher is better, no fixed bounds, NaN where there are fewer candidates. Values
        are comparable on the same data only.
    n_neighbors_grid_, alpha_grid_ : array
        The values tried.
    error_bound_ : float
        Proven bound on the error of any membership: 1 to 113 times the true one on
        tables of 572 to 10,000 samples. A share of seed stops is wrong by at most
        K + 1 times that over `stop_share_`.
    solver_, n_products_ : str, int
        "lu", "chebyshev" or "powers" (also where the Chebyshev series does not
        converge for an alpha), and its products with the neighbour graph.

    Notes
    -----
    P = 1/K + Q - rowsum(Q)/K with Q = alpha (I - (1 - alpha) W)^-1 E, where W has 1/k
    at the k neighbours of each row and E marks the seeds. K is the number of seeds, not
    of clusters that own samples: one dominating seed can own all; then a warning says
    so. In-degrees are integers and often tied, so another order of the rows can give
    another result.

    Warns
    -----
    UserWarning
        If seeds own no sample, if samples reach no seed (`undecided_`), or if several
        seeds tie for samples (`tied_`): the labels of these rest on a convention.

    References
    ----------
    Hofmeyr (2025), Clustering by non-parametric smoothing, arXiv:2503.09134.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(m, 0.3, (40, 2)) for m in (0, 3)])
    >>> model = CNS().fit(X)
    >>> model.n_clusters_, np.bincount(model.labels_).tolist()
    (2, [40, 40])
    """

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = "auto",
        n_neighbors: int | npt.ArrayLike | Literal["auto"] = "auto",
        alpha: float | npt.ArrayLike | Literal["auto"] = "auto",
        max_clusters: int | Literal["auto"] = "auto",
        metric: Metric = "euclidean",
        version: Literal["revised", "v2", "v1"] = "revised",
        solver: Literal["auto", "exact", "powers"] = "auto",
        *,
        n_products: int = 50,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.max_clusters = max_clusters
        self.metric = metric
        self.version = version
        self.solver = solver
        self.n_products = n_products

    def fit(self, X: npt.ArrayLike, y: object = None) -> Self:
        """Find seeds, memberships and labels.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            At least two samples, finite.
        y : ignored
            For the interface of scikit-learn.

        Returns
        -------
        self : CNS
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or a parameter cannot be used.
        MemoryError
            If the solutions of one neighbourhood size would need more than 8 GB.
        """
        data = validate_features(self, X, ensure_min_samples=2)
        version = self._check(len(data))
        self._center = data.mean(axis=0)
        self._points = to_metric(data, self.metric, self._center)
        self._order = local_order(self._points)
        shape = (
            self._most_clusters,
            len(self.n_neighbors_grid_),
            len(self.alpha_grid_),
        )
        self.criterion_ = np.full(shape, np.nan)
        best: Solution | None = None
        best_rank: tuple[float, ...] = (np.inf,)
        for at, found in self._solutions(version):
            gains = found.criterion
            self.criterion_[(slice(len(gains)), *at)] = gains
            auto = is_auto(self.n_clusters)
            count = best_count(gains) if auto else int(self.n_clusters)
            if count > len(gains):
                continue
            # The larger gain wins, then the smaller alpha, neighbourhood and count.
            rank = (-gains[count - 1], found.alpha, found.n_neighbors, count)
            if rank < best_rank:
                best, best_rank = found.first(count), rank
        if best is None:
            raise ValueError(
                f"n_clusters is {self.n_clusters}, but no neighbourhood size gives "
                "that many candidate seeds; give fewer clusters or another version."
            )
        return self._finish(best)

    def criterion_grid(self) -> CriterionGrid:
        """Return `criterion_` with the grid it was computed on.

        Returns
        -------
        grid : CriterionGrid
            `grid.at(K)` is a table over neighbourhood sizes and alphas, `grid.best()`
            the best setting for each K.
        """
        check_is_fitted(self)
        return CriterionGrid(self.criterion_, self.n_neighbors_grid_, self.alpha_grid_)

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Memberships of new samples, each as if added alone to the training graph.

        Parameters
        ----------
        X : array-like of float, shape (n_new, n_features)
            New samples, prepared like the training data.

        Returns
        -------
        memberships : array of float64, shape (n_new, n_clusters)
            Rows sum to 1.

        Notes
        -----
        Exact for the training graph enlarged by a sample that nobody points to. A
        training sample given again does not return its own row: a seed is not one here,
        and nobody has the new copy as neighbour. Where a sample is its own first
        neighbour, N are the k - 1 nearest training samples and
        p = [alpha / K + (1-alpha) / k sum_N p_j] / (1 - (1-alpha) / k); in "v1" N are k
        and the denominator is 1. O(n_new n d) at worst.
        """
        check_is_fitted(self)
        data = validate_features(self, X, reset=False)
        points = to_metric(data, self.metric, self._center)
        stay = (1 - self.alpha_) / self.n_neighbors_
        own = int(VERSIONS[self.version].self_included)
        memberships = np.full((len(data), self.n_clusters_), self.alpha_)
        memberships /= self.n_clusters_
        if self.n_neighbors_ > own:
            table = neighbors_of(points, self._points, self.n_neighbors_ - own)[0]
            memberships += stay * self.memberships_[table].sum(axis=1)
        return memberships / (1 - own * stay)

    def _check(self, n_samples: int) -> Version:
        """Check the parameters for n samples and set the grids."""
        version = VERSIONS[check_choice(self.version, VERSIONS, name="version")]
        check_choice(self.metric, ("euclidean", "cosine"), name="metric")
        check_choice(self.solver, ("auto", "exact", "powers"), name="solver")
        check_range(self.n_products, 0, 10**6, name="n_products", integer=True)
        for name in ("n_clusters", "max_clusters"):
            if not is_auto(getattr(self, name)):
                value = getattr(self, name)
                check_range(value, 1, n_samples, name=name, integer=True)
        fixed = 1 if is_auto(self.n_clusters) else int(self.n_clusters)
        if is_auto(self.max_clusters):
            self._most_clusters = min(max(version.max_clusters, fixed), n_samples)
        else:
            check_range(
                self.max_clusters, fixed, n_samples, name="max_clusters", integer=True
            )
            self._most_clusters = int(self.max_clusters)
        self.n_neighbors_grid_ = _neighbors_grid(self.n_neighbors, version, n_samples)
        self.alpha_grid_ = _alpha_grid(self.alpha, version, n_samples)
        return version

    def _solutions(
        self, version: Version
    ) -> Iterator[tuple[tuple[int, int], Solution]]:
        """Solve for each neighbourhood size and alpha, at their place in the grid."""
        sizes = self.n_neighbors_grid_
        table = neighbor_table(self._points, int(sizes.max()))[0]
        for at_k, n_neighbors in enumerate(sizes.tolist()):
            if version.self_included:
                neighbors = with_self_first(table, n_neighbors)
            else:
                neighbors = np.ascontiguousarray(table[:, :n_neighbors])
            found = solve_graph(
                self._points,
                neighbors,
                self._order,
                self.alpha_grid_,
                self._most_clusters,
                version,
                solver=self.solver,
                n_products=self.n_products,
            )
            for at_alpha, solution in enumerate(found):
                yield (at_k, at_alpha), solution

    def _finish(self, best: Solution) -> Self:
        """Set the attributes from the solution chosen."""
        absorption = best.absorption
        self.seeds_, self.n_clusters_ = best.seeds, len(best.seeds)
        self.n_neighbors_, self.alpha_ = best.n_neighbors, best.alpha
        self.memberships_ = memberships_of(absorption)
        self.seed_shares_, self.stop_share_ = seed_shares_of(absorption)
        self.seed_labels_ = likeliest_seeds(absorption)
        occupied, self.labels_ = np.unique(self.seed_labels_, return_inverse=True)
        self.n_occupied_ = len(occupied)
        self.undecided_ = undecided_samples(absorption)
        self.tied_ = tied_samples(absorption)
        self.solver_ = best.solver
        self.n_products_ = best.n_products
        self.error_bound_ = solution_error(
            best.neighbors, self.memberships_, best.seeds, best.alpha
        )
        self._warn()
        return self

    def _warn(self) -> None:
        """Warn where labels are arbitrary or clusters own no sample."""
        messages = []
        if self.n_occupied_ < self.n_clusters_:
            messages.append(
                f"CNS selected {self.n_clusters_} seeds, but only {self.n_occupied_} "
                "of them own a sample; n_occupied_ is the number of clusters."
            )
        if self.undecided_.any():
            messages.append(
                f"CNS leaves {self.undecided_.sum()} of {len(self.labels_)} samples "
                "undecided: no walk from them reaches a seed, so all their "
                "memberships are 1/K and their label is that of the first seed; "
                "undecided_ marks them. More neighbours connect them."
            )
        if self.tied_.any():
            messages.append(
                f"CNS finds several seeds equally likely for {self.tied_.sum()} of "
                f"{len(self.labels_)} samples; they get the first of these seeds, "
                "tied_ marks them."
            )
        for text in messages:
            warn_caller(text)


def largest_neighborhood(given: Any, version: str, n_samples: int) -> int:
    """Return the largest neighbourhood that a fit with these parameters needs.

    Raises ValueError for invalid parameters.
    """
    check_choice(version, VERSIONS, name="version")
    return int(_neighbors_grid(given, VERSIONS[version], n_samples).max())


def solving_seconds(n_samples: int, n_features: int) -> float:
    """Return the time that a fit of independent features takes for its solutions.

    Up to `LARGEST_DIRECT` samples are factorised; above three features factors fill,
    and larger graphs are iterated.
    """
    if n_features <= 3:
        return 3e-4 * n_samples
    if n_samples > LARGEST_DIRECT:
        return 6.3e-4 * n_samples
    filled = 4.6e-10 * n_samples**3 * float(np.log(n_features / 3))
    return 3e-4 * n_samples + filled


def _neighbors_grid(given: Any, version: Version, n_samples: int) -> IntArray:
    """Check the neighbourhood sizes, or make the grid of the version."""
    if isinstance(given, str):
        check_choice(given, ("auto",), name="n_neighbors")
        sizes = [k for k in version.neighbors_grid(n_samples) if k < n_samples]
        return np.array(sorted(set(sizes)) or [n_samples - 1])
    return np.unique(
        [
            check_range(k, 1, n_samples - 1, name="n_neighbors", integer=True)
            for k in _one_or_more(given, "n_neighbors")
        ]
    )


def _alpha_grid(given: Any, version: Version, n_samples: int) -> FloatArray:
    """Check the stopping probabilities, or make the grid of the version."""
    if isinstance(given, str):
        check_choice(given, ("auto",), name="alpha")
        return np.array(version.alpha_grid(n_samples))
    return np.unique(
        [
            check_range(alpha, 1e-6, 1 - 1e-6, name="alpha")
            for alpha in _one_or_more(given, "alpha")
        ]
    )


def _one_or_more(given: Any, name: str) -> list[Any]:
    """Return a value or the entries of a vector of values as a list."""
    values = as_array(given, name, "a value or a list of values")
    if values.ndim > 1 or values.size == 0:
        raise ValueError(
            f"{name} has shape {values.shape}; give a value, a list of at least one, "
            "or 'auto'."
        )
    return list(np.atleast_1d(values))
