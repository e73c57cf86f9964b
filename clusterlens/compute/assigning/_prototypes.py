"""Prototypes: the rows that stand for all in an assigner, and searches among them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.estimators.neighbors import NeighborSearch

# Neighbours within the cluster; their mean distance is the nonconformity of a row.
N_WITHIN = 5
# Times the reach of a cluster beyond it, from where on noise is as clear as it can be.
FAR = 3.0
# Rows that are drawn first where not all are kept, and at least of each cluster.
FIRST_DRAWN = 5_000
LEAST_OF_CLUSTER = 100
# Rows that are asked, at most, whether they keep their cluster.
ASKED = 100_000
ROUNDS = 10


class Prototypes:
    """Rows with their clusters, and a search among all of them and within clusters.

    Parameters
    ----------
    rows : array of float64, shape (n_prototypes, n_features)
        Their features.
    codes : array of int, shape (n_prototypes,)
        Their clusters, 0 to n_clusters - 1.
    search : NeighborSearch, optional
        A search among the rows that others use, too. Default: a new one.
    """

    def __init__(
        self, rows: FloatArray, codes: IntArray, search: NeighborSearch | None = None
    ) -> None:
        self.rows, self.codes = rows, codes
        self._search = NeighborSearch(rows) if search is None else search
        self._within: dict[int, tuple[IntArray, NeighborSearch]] = {}
        self._cores: dict[int, tuple[FloatArray, FloatArray, FloatArray]] = {}

    def nearest(
        self, X: FloatArray, n_found: int, own: IntArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Clusters and distances of the nearest of each row of X: (n_rows, n_found).

        `own` (n_rows,) are prototypes that rows are themselves, which are left out.
        """
        table, distances = self._search.nearest(X, n_found, own)
        return self.codes[table], distances

    def in_reach(
        self, X: FloatArray, n_core: int, own: IntArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Clusters that reach rows over dense ground, and how clearly: (n_rows,) each.

        The prototype of least mutual reachability distance decides, among twice
        `n_core` nearest, where that is no farther than within its cluster; else it is
        the first cluster, which is noise. A copy of a prototype goes where that one is.
        `own` as in `nearest`.

        Clear is in a cluster how much nearer that is than the next one, noise as well,
        or the end of its reach, as a share of this; in noise by how many times the
        reach of the nearest cluster a row is beyond it, at most `FAR`.
        """
        core, without, bounds = self._core(n_core)
        reach = self._reach(X, n_core, core, own, without)
        rows, nearest = np.arange(len(X)), reach.argmin(axis=1)
        least = reach[rows, nearest]
        cluster = np.where(least <= bounds[nearest], nearest, 0)
        with np.errstate(divide="ignore", invalid="ignore"):  # no reach, no distance
            ends = reach[:, 1:] / bounds[1:]
            beyond = np.fmin.reduce(ends, axis=1, initial=np.inf) - 1
            reach[rows, nearest] = np.inf
            end = np.minimum(reach.min(axis=1), bounds[nearest])
            inside = np.where(end > 0, 1 - least / end, 0.0)
        beyond = np.minimum(np.nan_to_num(beyond, nan=FAR), FAR)
        return cluster, np.where(cluster == 0, beyond, inside)

    def _core(self, n_core: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Distances of prototypes to their n-th and next, and the reach of clusters."""
        if n_core not in self._cores:
            own = np.arange(len(self.rows))
            n_found = min(n_core + 1, len(own) - 1)
            nearest = self._search.nearest(self.rows, n_found, own)[1]
            core, without = nearest[:, n_core - 1], nearest[:, -1]
            reach = self._reach(self.rows, n_core, core, own, core)
            code = reach.argmin(axis=1)
            kept = code == self.codes
            bounds = np.zeros(self.codes.max() + 1)
            np.maximum.at(bounds, code[kept], reach[kept, code[kept]])
            self._cores[n_core] = core, without, bounds
        return self._cores[n_core]

    def _reach(
        self,
        X: FloatArray,
        n_core: int,
        core: FloatArray,
        own: IntArray | None,
        without: FloatArray,
    ) -> FloatArray:
        """Least mutual reachability distance to each cluster: (n_rows, n_clusters).

        A prototype that has the row itself (`own`) among its `n_core` nearest is as
        dense as `without` it.
        """
        width = min(2 * n_core, len(self.rows) - (own is not None))
        table, distances = self._search.nearest(X, width, own)
        reach = np.maximum(distances, distances[:, n_core - 1 : n_core])
        cores = core[table]
        if own is not None:
            cores = np.where(distances <= cores, without[table], cores)
        reach = np.maximum(reach, cores)
        reach[distances[:, 0] == 0, 0] = 0.0
        least = np.full((len(X), self.codes.max() + 1), np.inf)
        rows = np.arange(len(X))
        for found, distance in zip(self.codes[table].T, reach.T, strict=True):
            least[rows, found] = np.minimum(least[rows, found], distance)
        return least

    def mean_distance(
        self,
        X: FloatArray,
        cluster: IntArray,
        found: tuple[IntArray, FloatArray] | None = None,
        own: IntArray | None = None,
    ) -> FloatArray:
        """Mean distance of rows to the five nearest of a cluster each: (n_rows,).

        `found` is what `nearest` has given, where it was asked; without it, or where it
        has fewer of the cluster, the search is repeated within the cluster.
        """
        mean, short = np.empty(len(X)), np.ones(len(X), bool)
        if found is not None:
            codes, distances = found
            inside = codes == cluster[:, None]
            inside &= inside.cumsum(axis=1) <= N_WITHIN
            short = inside.sum(axis=1) < N_WITHIN
            inside[short] = False
            mean[~short] = distances[inside].reshape(-1, N_WITHIN).mean(axis=1)
        for c in np.unique(cluster[short]):
            rows = np.flatnonzero(short & (cluster == c))
            members, search = self._of_cluster(int(c))
            left_out = None if own is None else _places(members, own[rows])
            n = len(members) - (own is not None)
            n = max(1, min(N_WITHIN, n))
            mean[rows] = search.nearest(X[rows], n, left_out)[1].mean(axis=1)
        return mean

    def _of_cluster(self, c: int) -> tuple[IntArray, NeighborSearch]:
        if c not in self._within:
            members = np.flatnonzero(self.codes == c)
            self._within[c] = members, NeighborSearch(self.rows[members])
        return self._within[c]


def draw(codes: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw rows of each cluster in proportion, of small ones more: sorted indices."""
    chosen = []
    for c in np.unique(codes):
        members = np.flatnonzero(codes == c)
        share = round(FIRST_DRAWN * len(members) / len(codes))
        n = min(len(members), max(LEAST_OF_CLUSTER, share))
        chosen.append(rng.choice(members, n, replace=False))
    return np.sort(np.concatenate(chosen))


def add_misplaced(
    chosen: IntArray,
    codes: IntArray,
    assigned: Callable[[IntArray, IntArray], IntArray],
    least_kept: float,
    most: int,
    rng: np.random.Generator,
) -> IntArray:
    """Add rows that lose their cluster, until few do (Hart 1968, from a sample on).

    Rows that lie among those of another cluster keep their own once they are added, and
    mislead those around them. Where too many rows are like that, the round is taken
    after which most get their cluster from the others.

    Parameters
    ----------
    chosen : array of int
        Rows to begin with.
    codes : array of int, shape (n_samples,)
        Clusters of all rows.
    assigned : callable
        From chosen rows and rows asked to the clusters that those assign to these, each
        without itself.
    least_kept : float
        Share of the rows that is to keep its cluster.
    most : int
        Largest number of rows that may be chosen.
    rng : Generator
        Draws the rows that are asked and, where too many lose, added.

    Returns
    -------
    chosen : array of int
        Those to begin with come first.
    """
    n = len(codes)
    asked = np.arange(n) if n <= ASKED else rng.choice(n, ASKED, replace=False)
    best, fewest = chosen, n + 1
    for _ in range(ROUNDS):
        lost = asked[assigned(chosen, asked) != codes[asked]]
        if len(lost) < fewest:
            best, fewest = chosen, len(lost)
        lost = np.setdiff1d(lost, chosen)
        if len(lost) <= (1 - least_kept) * len(asked):
            return chosen
        free = most - len(chosen)
        if free <= 0:
            break
        if len(lost) > free:
            lost = rng.choice(lost, free, replace=False)
        chosen = np.concatenate([chosen, lost])
    return best


def _places(members: IntArray, own: IntArray) -> IntArray:
    """Place of each prototype among the sorted members of a cluster, -1 if not one."""
    places = np.minimum(np.searchsorted(members, own), len(members) - 1)
    return np.where(members[places] == own, places, -1)
