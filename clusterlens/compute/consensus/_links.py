"""Lloyd's algorithm under must-links and cannot-links, which every result obeys.

Samples connected by must-links are one unit and move together. Units connected by
cannot-links are coloured: one colour per cluster, different at both ends of a
cannot-link. An exhaustive search, on the part of the graph that needs it, decides
before the first pass whether a colouring exists. For each connected part of the graph,
a pass then takes the cheaper of two colourings after Kempe exchanges: a greedy one and
the colouring of the last pass. So no link is ever broken and the loss never rises.

In addition to its cost without links, a pass costs O(n_linked k + n_cannot) for each of
a few sweeps of exchanges.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.consensus._lloyd import Centres, Lloyd, LloydResult, fill_empty
from clusterlens.compute.consensus._one_hot import OneHotRows
from clusterlens.compute.ensemble.connected import components
from clusterlens.compute.ensemble.constraints import ConstraintError, Constraints, Link
from clusterlens.compute.formatting import first_of

SEARCH_STEPS = 20_000
_SHOWN = 8  # samples named in a message


class NoColouringError(Exception):
    """A connected part of a graph needs more colours, or none were found in time."""

    def __init__(self, part: IntArray, *, proven: bool) -> None:
        super().__init__()
        self.part, self.proven = part, proven


@dataclass(frozen=True, eq=False)
class LinkedRows:
    """One-hot rows that separate linked samples from equal free ones.

    Attributes
    ----------
    rows : OneHotRows
        The free rows, then the rows of linked samples.
    group : array of int64, shape (n_samples,)
        The row of each sample.
    unit : array of int64, shape (n_rows - n_free,)
        The unit of each linked row.
    apart : sparse array, shape (n_units, n_units)
        Units that a cannot-link keeps apart, symmetric.
    colours : array of int64, shape (n_units,)
        Clusters of the units that obey the cannot-links.
    n_clusters : int
        Number of clusters to look for.
    n_distinct : int
        Number of different rows.
    """

    rows: OneHotRows
    group: IntArray
    unit: IntArray
    apart: csr_array
    colours: IntArray
    n_clusters: int
    n_distinct: int

    @property
    def unit_of_samples(self) -> IntArray:
        """Unit of each sample, shape (n_samples,), -1 for samples without links."""
        free = np.full(self.rows.n_rows - len(self.unit), -1)
        return np.concatenate([free, self.unit])[self.group]


def linked_rows(
    rows: OneHotRows, group: IntArray, constraints: Constraints, n_clusters: int
) -> LinkedRows:
    """Build the rows of a problem with links, and one assignment that obeys them.

    There is at least one link; `rows` and `group` come from `one_hot_rows`. Fewer than
    n_clusters clusters result if the ensemble and the links separate fewer groups, or
    if must-links leave fewer units. Raises ConstraintError if so many clusters cannot
    obey the cannot-links, or no assignment was found within 20,000 steps of search;
    raises ValueError if a pair names a sample that the ensemble does not have.
    """
    constraints.check_samples(len(group))
    unit_of = _units(constraints, len(group))
    linked = unit_of >= 0
    # Equal samples of one unit are one row; so are equal free samples.
    keys = np.where(linked, (unit_of + 1) * rows.n_rows + group, group)
    distinct, first, places = np.unique(keys, return_index=True, return_inverse=True)
    own = replace(rows, columns=rows.columns[group[first]], weights=np.bincount(places))
    unit = unit_of[first][distinct >= rows.n_rows]
    apart = _apart(unit_of, constraints)
    most = min(n_clusters, own.n_rows - len(unit) + apart.shape[0])
    useful = _useful_clusters(group, unit_of, apart)
    for number in range(min(useful, most), most + 1):
        try:
            colours = colour_graph(apart, number)
        except NoColouringError as error:
            reason = error
        else:
            return LinkedRows(own, places, unit, apart, colours, number, rows.n_rows)
    raise _infeasible(reason, apart, unit_of, constraints, n_clusters)


def _units(constraints: Constraints, n_samples: int) -> IntArray:
    """Unit of each sample (n_samples,), -1 for samples without links."""
    must, cannot = constraints.must_link, constraints.cannot_link
    component = components(must, n_samples)
    named = np.unique(np.concatenate([must, cannot]))
    units = np.full(n_samples, -1)
    units[named] = pd.factorize(component[named])[0]
    return units


def _apart(unit_of: IntArray, constraints: Constraints) -> csr_array:
    """Graph of the units that cannot-links keep apart, each edge once per direction."""
    n_units = int(unit_of.max()) + 1
    a, b = unit_of[constraints.cannot_link].T
    ones = np.ones(2 * len(a), np.int8)
    edges = coo_array((ones, (np.r_[a, b], np.r_[b, a])), shape=(n_units, n_units))
    graph = csr_array(edges)
    graph.data[:] = 1
    return graph


def _useful_clusters(group: IntArray, unit_of: IntArray, apart: csr_array) -> int:
    """Count the clusters that can be filled without splitting equal samples in vain.

    `group` and `unit_of` give the row and the unit of each sample, -1 for no unit. Each
    row needs one cluster, and more if cannot-links separate units that hold only this
    row. Units that hold several rows may add one each.
    """
    linked = unit_of >= 0
    lowest = np.full(apart.shape[0], len(group))
    highest = np.full(apart.shape[0], -1)
    np.minimum.at(lowest, unit_of[linked], group[linked])
    np.maximum.at(highest, unit_of[linked], group[linked])
    pure = lowest == highest
    single = np.flatnonzero(pure)
    rows = np.unique(lowest[single])
    count = len(apart.indptr) - 1 - len(single)
    count += len(np.setdiff1d(group[~linked], rows))
    for row in rows:
        equal = single[lowest[single] == row]
        count += _enough_colours(apart[equal][:, equal].tocsr(), 0)
    return count


def colour_graph(apart: csr_array, n_colours: int) -> IntArray:
    """Give the ends of each edge of a symmetric graph (m, m) different colours, (m,).

    A vertex with fewer neighbours than colours can be coloured last, so such vertices
    are peeled off repeatedly; DSATUR searches the rest. Raises NoColouringError with a
    connected part that cannot be coloured, or not within 20,000 steps.

    References
    ----------
    Brélaz, "New methods to color the vertices of a graph", Communications of the ACM
    22, 1979, doi:10.1145/359094.359101.
    """
    neighbours = np.split(apart.indices, apart.indptr[1:-1])
    peeled, core = _peel(neighbours, n_colours)
    colours = np.full(len(neighbours), -1)
    inside = apart[core][:, core].tocsr()
    n_parts, part = connected_components(inside, directed=False)
    for p in range(n_parts):
        members = np.flatnonzero(part == p)
        own = inside[members][:, members].tocsr()
        found = _search(np.split(own.indices, own.indptr[1:-1]), n_colours)
        if not isinstance(found, np.ndarray):
            raise NoColouringError(core[members], proven=found)
        colours[core[members]] = found
    for vertex in reversed(peeled):
        taken = set(colours[neighbours[vertex]].tolist())
        colours[vertex] = next(c for c in range(n_colours) if c not in taken)
    return colours


def _peel(neighbours: Sequence[IntArray], n_colours: int) -> tuple[list[int], IntArray]:
    """Return vertices that can be coloured last, in reverse order, and the others."""
    degrees = np.array([len(some) for some in neighbours], np.int64)
    left = np.ones(len(degrees), bool)
    waiting = deque(np.flatnonzero(degrees < n_colours).tolist())
    left[list(waiting)] = False
    peeled = []
    while waiting:
        vertex = waiting.popleft()
        peeled.append(vertex)
        around = neighbours[vertex]
        degrees[around] -= 1
        for other in around[left[around] & (degrees[around] < n_colours)].tolist():
            left[other] = False
            waiting.append(other)
    return peeled, np.flatnonzero(left)


def _search(neighbours: Sequence[IntArray], n_colours: int) -> IntArray | bool:
    """Return colours (m,), or whether their absence is proven; by backtracking."""
    degrees = np.array([len(some) for some in neighbours])
    colours = np.full(len(degrees), -1)
    taken = np.zeros((len(degrees), max(n_colours, 1)), np.int64)

    def next_vertex() -> tuple[int, Iterator[int]]:
        """Return the vertex with fewest colours left, and these; at most one new."""
        urgency = np.count_nonzero(taken, axis=1) * (len(degrees) + 1) + degrees
        vertex = int(np.argmax(np.where(colours < 0, urgency, -1)))
        free = [c for c in range(n_colours) if not taken[vertex, c]]
        return vertex, iter([c for c in free if c <= colours.max() + 1])

    path = [next_vertex()]
    for _ in range(SEARCH_STEPS):
        vertex, options = path[-1]
        if colours[vertex] >= 0:
            taken[neighbours[vertex], colours[vertex]] -= 1
            colours[vertex] = -1
        colour = next(options, None)
        if colour is None:
            path.pop()
            if not path:
                return True
            continue
        colours[vertex] = colour
        taken[neighbours[vertex], colour] += 1
        if len(path) == len(degrees):
            return colours
        path.append(next_vertex())
    return False


def _infeasible(
    reason: NoColouringError,
    apart: csr_array,
    unit_of: IntArray,
    constraints: Constraints,
    n_clusters: int,
) -> ConstraintError:
    """Make the error that names the samples and a sufficient number of clusters."""
    part = reason.part
    clique = part[_large_clique(apart[part][:, part])]
    if len(clique) > n_clusters:
        part = clique
    links = constraints.cannot_link
    inside = np.isin(unit_of[links], part).all(axis=1)
    _, first = np.unique(
        np.sort(unit_of[links[inside]], axis=1), axis=0, return_index=True
    )
    pairs = links[inside][first].tolist()
    chain: list[Link] = [("cannot-link", a, b) for a, b in pairs]
    samples = sorted({sample for pair in pairs for sample in pair})
    shown = first_of([str(sample) for sample in samples], _SHOWN)
    if len(clique) > n_clusters:
        why = f"keep {len(clique)} groups of samples all apart from each other"
    elif reason.proven:
        why = "leave no assignment, all were tried,"
    else:
        why = f"left no assignment in {SEARCH_STEPS} steps of search"
    return ConstraintError(
        f"n_clusters is {n_clusters}, but the cannot-links among the samples {shown} "
        f"{why}; ask for {_enough_colours(apart, n_clusters)} clusters, or remove some "
        "of these links.",
        chain,
    )


def _large_clique(apart: csr_array) -> IntArray:
    """Return mutually adjacent vertices: the largest set grown from any vertex."""
    neighbours = [
        set(some.tolist()) for some in np.split(apart.indices, apart.indptr[1:-1])
    ]
    best: list[int] = []
    for start in range(len(neighbours)):
        clique, common = [start], set(neighbours[start])
        while common:
            most = max(common, key=lambda v: len(neighbours[v] & common))
            clique.append(most)
            common &= neighbours[most]
        best = max(best, clique, key=len)
    return np.array(best)


def _enough_colours(apart: csr_array, n_colours: int) -> int:
    """Return the next number of colours that suffices."""
    while True:
        n_colours += 1
        try:
            colour_graph(apart, n_colours)
        except NoColouringError:
            continue
        return n_colours


class LinkedLloyd(Lloyd):
    """K-means on linked rows: costs of `Lloyd`, and assignments that obey links."""

    def __init__(
        self, linked: LinkedRows, run: RunOptions, *, masses: IntArray | None = None
    ) -> None:
        super().__init__(linked.rows, run, masses=masses)
        self.linked = linked
        self.colours = linked.colours
        self.parts = connected_components(linked.apart, directed=False)[1]
        everyone = np.arange(linked.rows.n_rows)
        self.free, self.bound = (
            Lloyd(linked.rows.take(some), run, masses=self.masses[some])
            for some in np.split(everyone, [len(everyone) - len(linked.unit)])
        )
        weights = (self.bound.rows.weights * self.bound.masses).astype(float)
        cells = (linked.unit, np.arange(len(linked.unit)))
        self.unit_sums = coo_array((weights, cells)).tocsr()

    def run(self, start: Centres, *, max_iter: int) -> LloydResult:
        """Move rows and units to cheaper clusters until none moves."""
        self.colours = self.linked.colours
        return super().run(start, max_iter=max_iter)

    def seeds(self, n_clusters: int, rng: np.random.Generator) -> Centres:
        """Choose distinct rows far apart, repeated if links need more clusters."""
        counts, masses = super().seeds(min(n_clusters, self.linked.n_distinct), rng)
        again = np.arange(n_clusters) % len(masses)
        return Centres(counts[:, again], masses[again])

    def _assign(self, centres: Centres) -> tuple[IntArray, FloatArray]:
        """Return cluster and cost of each row, each (n_rows,); no cluster is empty."""
        free, n_free = self.free, self.free.rows.n_rows
        empty = np.empty(0, np.int64), np.empty(0)
        labels, paid = free._assign(centres) if n_free else empty
        costs = np.concatenate(list(self.bound._cost_blocks(*self.mean_table(centres))))
        sums = np.asarray(self.unit_sums @ costs)
        colours = self._colour(sums)
        # An empty cluster takes a free row or a whole unit; this breaks no link.
        chosen = sums[np.arange(len(sums)), colours] / self.unit_sums.sum(axis=1)
        labels, paid = np.r_[labels, colours], np.r_[paid, chosen]
        fill_empty(labels, paid, costs.shape[1])
        self.colours = labels[n_free:]
        bound = self.colours[self.linked.unit]
        costs = costs[np.arange(len(bound)), bound]
        return np.r_[labels[:n_free], bound], np.r_[paid[:n_free], costs]

    def _colour(self, costs: FloatArray) -> IntArray:
        """Choose clusters of the units (n_units,), given their costs in each cluster.

        Each connected part takes the cheaper of the last colouring and a new one, in
        which units that lose most by their second choice choose first.
        """
        graph = self.linked.apart.indptr, self.linked.apart.indices
        regrets = np.ptp(np.sort(costs, axis=1)[:, :2], axis=1)
        new = _choose(np.argsort(-regrets, kind="stable"), costs, *graph)
        stuck = np.isin(self.parts, self.parts[new < 0])
        colours = self.colours.copy()
        new[stuck] = colours[stuck]
        units = np.arange(len(costs))
        for some in (colours, new):
            _exchange(some, costs, *graph)
        change = costs[units, new] - costs[units, colours]
        better = np.bincount(self.parts, change) < 0
        return np.where(better[self.parts], new, colours)


@kernel()
def _choose(
    order: IntArray, costs: FloatArray, starts: IntArray, ends: IntArray
) -> IntArray:
    """Return the cheapest colour (m,) unused by neighbours, in this order, or -1."""
    m, k = costs.shape
    colours = np.full(m, -1)
    taken = np.full(k, -1)
    for unit in order:
        for e in range(starts[unit], starts[unit + 1]):
            if colours[ends[e]] >= 0:
                taken[colours[ends[e]]] = unit
        lowest = np.inf
        for c in range(k):
            if taken[c] != unit and costs[unit, c] < lowest:
                lowest = costs[unit, c]
                colours[unit] = c
    return colours


@kernel()
def _exchange(
    colours: IntArray, costs: FloatArray, starts: IntArray, ends: IntArray
) -> None:
    """Swap two colours along Kempe chains (m,) in place while that lowers the cost.

    A chain is a connected set of units of two colours; swapped as a whole it leaves the
    ends of every edge unequal. Each is evaluated once per sweep: O(m k + edges).
    """
    m, k = costs.shape
    evaluated = np.zeros((m, k), np.int64)
    inside = np.zeros(m, np.int64)
    chain = np.empty(m, np.int64)
    least = 1e-9 * np.abs(costs).max()
    sweep, n_chains, lower = 0, 0, True
    while lower:
        lower = False
        sweep += 1
        for unit in range(m):
            for c in range(k):
                a = colours[unit]
                if c == a or evaluated[unit, c] == sweep:
                    continue
                n_chains += 1
                chain[0], length, at, gain = unit, 1, 0, 0.0
                inside[unit] = n_chains
                while at < length:
                    v = chain[at]
                    at += 1
                    other = a + c - colours[v]
                    evaluated[v, other] = sweep
                    gain += costs[v, colours[v]] - costs[v, other]
                    for e in range(starts[v], starts[v + 1]):
                        w = ends[e]
                        if colours[w] == other and inside[w] != n_chains:
                            inside[w] = n_chains
                            chain[length] = w
                            length += 1
                if gain > least:
                    lower = True
                    for v in chain[:length]:
                        colours[v] = a + c - colours[v]
                        evaluated[v, a] = evaluated[v, c] = sweep
