"""One OPTICS ordering for all steepnesses.

Without a limit on the distance every sample reaches every other one, and the ordering
is Prim's method on reachabilities: O(n² d) time, O(n) memory. Above MAX_PLAIN_SAMPLES a
sample reaches only its neighbours in the neighbour table, O(n k log n).
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
from sklearn.cluster import OPTICS, cluster_optics_xi

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.estimators.units import spread
from clusterlens.compute.formatting import whole
from clusterlens.compute.pool._neighbors import neighbors_step, with_density
from clusterlens.compute.pool.sharing import Arrays, Step

MAX_PLAIN_SAMPLES = 30_000
# scikit-learn rounds to this number of decimals, so that ties do not depend on
# rounding.
_SCALE = 1e15
_USUAL = 2.0**-10, 2.0**10
_TITLE = "OPTICS ordering"
_XI = 0.05


def optics_steps(n: int, d: int, parameters: Mapping[str, Any]) -> Sequence[Step]:
    """Return the ordering for a model by steepness, else nothing."""
    fit = {key: value for key, value in parameters.items() if key != "xi"}
    xi = parameters.get("xi", _XI)
    if fit.get("cluster_method", "xi") != "xi" or not isinstance(xi, float):
        return ()
    min_samples = fit.get("min_samples", 5)
    if (
        fit.keys() - {"min_samples", "min_cluster_size"}
        or type(min_samples) is not int
        or not 2 <= min_samples < n
    ):
        return (_fitted(fit),)
    return (_ordering(n, min_samples),)


def optics_labels(
    X: FloatArray, parameters: Mapping[str, Any], ordering: Arrays
) -> IntArray:
    """Clusters (n_samples,) of one steepness in a reachability plot, -1 for noise."""
    order, reachability, predecessor = ordering
    model = OPTICS(**parameters)  # provides the defaults
    return cluster_optics_xi(
        reachability=np.array(reachability),
        predecessor=np.array(predecessor),
        ordering=np.array(order),
        min_samples=model.min_samples,
        min_cluster_size=model.min_cluster_size,
        xi=model.xi,
        predecessor_correction=model.predecessor_correction,
    )[0]


def _ordering(n: int, min_samples: int) -> Step:
    """Return the step that orders the samples."""
    plain = n <= MAX_PLAIN_SAMPLES
    title = with_density(_TITLE, min_samples)
    return Step(
        f"optics-{min_samples}" if plain else f"graph-optics-{min_samples}",
        title if plain else title + " of the neighbour graph",
        partial(
            make_ordering if plain else make_graph_ordering, min_samples=min_samples
        ),
        needs=(neighbors_step(min_samples - 1),),
        seconds=_plain_seconds
        if plain
        else lambda n, d, k: 0.02 + 2e-8 * n * min_samples,
        n_bytes=lambda n, d, k: 1e7 + 8.0 * n * (d + 8) + 48.0 * n * min_samples,
        note=""
        if plain
        else f"The {title} looks at {min_samples - 1} neighbours of every sample only, "
        f"as the data have more than {whole(MAX_PLAIN_SAMPLES)} samples.",
    )


def _plain_seconds(n: int, d: int, size: int) -> float:
    return 0.01 + n * n * (1.1e-9 + 1.8e-10 * d)


def make_ordering(
    X: FloatArray, size: int, neighbors: Arrays, *, min_samples: int
) -> Arrays:
    """Order the samples, each reaching all others.

    `neighbors` are a table and distances (n_samples, min_samples - 1 or more), because
    the sample itself counts as one of min_samples. Returns ordering, reachability and
    predecessor, (n_samples,) each, as in scikit-learn's OPTICS.
    """
    unit = _unit(X)
    core = np.around(neighbors[1][:, min_samples - 2] / unit, 15)
    ordering, reachability, predecessor = _order(X / unit, core)
    return ordering, reachability * unit, predecessor


def make_graph_ordering(
    X: FloatArray, size: int, neighbors: Arrays, *, min_samples: int
) -> Arrays:
    """Order as `make_ordering`, with each sample reaching only its table neighbours."""
    table, distances = (array[:, : min_samples - 1] for array in neighbors)
    unit = _unit(X)
    core = np.around(distances[:, -1] / unit, 15)
    ordering, reachability, predecessor = _order_graph(np.array(table), core)
    return ordering, reachability * unit, predecessor


def _unit(X: FloatArray) -> float:
    """Return the unit of X for rounding distances to 15 decimals.

    It is 1 for X of usual size, so that rounding equals scikit-learn's.
    """
    unit = spread(X)
    return 1.0 if _USUAL[0] <= unit <= _USUAL[1] else unit


@kernel()
def _order(X: Any, core: Any) -> Any:
    """Take the sample of least reachability next, the first one in a tie.

    The remaining samples are moved to the front of X (n_samples, n_features), in place.
    """
    n, d = X.shape
    left = np.arange(n)
    reach_left = np.full(n, np.inf)
    ordering = np.empty(n, np.int64)
    reachability = np.full(n, np.inf)
    predecessor = np.full(n, -1)
    chosen = np.empty(d)
    place = 0
    for step in range(n):
        point = left[place]
        ordering[step] = point
        reachability[point] = reach_left[place]
        last = n - 1 - step
        for f in range(d):
            chosen[f] = X[place, f]
            X[place, f] = X[last, f]
        left[place], reach_left[place] = left[last], reach_left[last]
        place = 0
        for j in range(last):
            square = 0.0
            for f in range(d):
                difference = chosen[f] - X[j, f]
                square += difference * difference
            reach = max(np.sqrt(square), core[point])
            if reach < reach_left[j]:
                reach = np.rint(reach * _SCALE) / _SCALE
                if reach < reach_left[j]:
                    reach_left[j] = reach
                    predecessor[left[j]] = point
            if reach_left[j] < reach_left[place] or (
                reach_left[j] == reach_left[place] and left[j] < left[place]
            ):
                place = j
    return ordering, reachability, predecessor


@kernel()
def _order_graph(table: Any, core: Any) -> Any:
    """Order as `_order`, along the edges of a neighbour table (n_samples, k) only."""
    n = len(table)
    ordering = np.empty(n, np.int64)
    reachability = np.full(n, np.inf)
    predecessor = np.full(n, -1)
    done = np.zeros(n, np.bool_)
    count = 0
    for first in range(n):
        if done[first]:
            continue
        waiting: Any = [(np.inf, first)]
        while len(waiting) > 0:
            _, point = heapq.heappop(waiting)
            if done[point]:
                continue
            done[point] = True
            ordering[count] = point
            count += 1
            # No neighbour is farther than the last one, which makes the point a core.
            for j in table[point]:
                if not done[j] and core[point] < reachability[j]:
                    reachability[j] = core[point]
                    predecessor[j] = point
                    heapq.heappush(waiting, (core[point], np.int64(j)))
    return ordering, reachability, predecessor


def _fitted(fit: Mapping[str, Any]) -> Step:
    """Return the step that takes the ordering from scikit-learn's own fit."""
    text = repr(sorted(fit.items()))
    return Step(
        f"fitted-optics-{int(sha256(text.encode()).hexdigest()[:16], 16)}",
        _TITLE,
        partial(_fit, fit=dict(fit)),
        seconds=lambda n, d, k: 5e-4 * n + 8e-8 * n * n,
        n_bytes=lambda n, d, k: 1e7 + 24.0 * n * d + 200.0 * n,
    )


def _fit(X: FloatArray, size: int, *, fit: Mapping[str, Any]) -> Arrays:
    """Ordering, reachabilities and predecessors (n_samples,) of a fit."""
    model = OPTICS(**fit).fit(X)
    return model.ordering_, model.reachability_, model.predecessor_
