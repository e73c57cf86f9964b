"""DBCV, the density-based cluster validity of Moulavi et al. (2014).

A cluster is good if its sparsest inner part is denser than the gap to the nearest other
cluster. Time O(n d sum n_k) over clusters of n_k samples plus the comparison of their
inner samples; memory O(n), no matrix of distances.

Mutual reachability distances have ties by construction: the core distance of a sample
is the weight of all its edges to denser samples nearby. The edge chosen among equal
ones decides which samples are inner, and so changes the value. This module takes the
edge to the densest sample, so that samples at the rim of a cluster stay leaves, as the
definition intends. The authors' program takes the first edge found. This module
reproduces its published values to 0.002 (`benchmarks/dbcv.csv`), but those depend on
the order of rows; the values of this module do not.
"""

from __future__ import annotations

from math import fsum
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from clusterlens.compute._run.options import Cancel, raise_if_cancelled
from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.ensemble.ensemble import NOISE
from clusterlens.compute.indices._clusters import BLOCK_ENTRIES, Clusters, Undefined

Metric = Literal["euclidean", "sqeuclidean"]


def dbcv(clusters: Clusters, metric: Metric = "euclidean") -> float:
    """Return the validity of clusters, averaged by size over all samples; -1 is noise.

    Clusters of one or two samples have no inner sample and count as noise.
    """
    bounds = clusters.bounds
    noise = clusters.labels[bounds[:-1]] == NOISE
    chosen = np.flatnonzero((clusters.sizes > 2) & ~noise)
    if len(chosen) < 2:
        raise Undefined(
            f"there are {len(chosen)} clusters of three or more samples; it needs two"
        )
    inner, cores, sparseness = [], [], np.empty(len(chosen))
    for position, k in enumerate(chosen):
        members = clusters.X[bounds[k] : bounds[k + 1]]
        # Remaining ties of the core distances, and their rounding, depend on the values
        # only.
        members = members[np.lexsort(members.T)]
        core = core_distances(members, metric, clusters.run.cancel)
        edges, weights = spanning_tree(members, core, metric, clusters.run.cancel)
        is_inner, sparseness[position] = _inner_samples(edges, weights, len(members))
        inner.append(members[is_inner])
        cores.append(core[is_inner])
    separation = _separations(inner, cores, metric, clusters.run.cancel)
    largest = np.maximum(separation, sparseness)
    if (largest == 0).any():
        raise Undefined("two clusters coincide in one point")
    validity = (separation - sparseness) / largest
    return fsum(clusters.sizes[chosen] * validity) / clusters.n_samples


def dbcv_squared(clusters: Clusters) -> float:
    """DBCV on squared Euclidean distances, the default of its authors' own program."""
    return dbcv(clusters, "sqeuclidean")


def core_distances(
    members: FloatArray, metric: Metric, cancel: Cancel | None = None
) -> FloatArray:
    """Compute all-points core distances of one cluster (n_k, d), a power mean.

    The exponent is -d. Distances of zero are left out, as in the authors' program.
    """
    n_samples, dim = members.shape
    core = np.empty(n_samples)
    step = max(1, BLOCK_ENTRIES // n_samples)
    for start in range(0, n_samples, step):
        raise_if_cancelled(cancel)
        distances = cdist(members[start : start + step], members, metric)
        # Divided by the distance of the nearest sample, no power overflows in any
        # dimension.
        nearest = np.min(distances, axis=1, initial=np.inf, where=distances > 0)
        alone = np.isinf(nearest)
        nearest[alone] = 1.0
        with np.errstate(divide="ignore"):
            closeness = nearest[:, None] / distances
        closeness[distances == 0] = 0.0
        total = np.sum(closeness**dim, axis=1) / (n_samples - 1)
        total[alone] = np.inf
        core[start : start + step] = nearest * total ** (-1.0 / dim)
    return core


def spanning_tree(
    members: FloatArray,
    core: FloatArray,
    metric: Metric,
    cancel: Cancel | None = None,
) -> tuple[IntArray, FloatArray]:
    """Grow Prim's tree of mutual reachability: edges (n_k - 1, 2), weights (n_k - 1,).

    Among equal edges it takes the one with the smaller core distance at an end.
    """
    n_samples = len(members)
    weight = np.full(n_samples, np.inf)
    densest = np.full(n_samples, np.inf)
    parent = np.zeros(n_samples, dtype=np.int64)
    outside = np.arange(n_samples)
    edges = np.empty((n_samples - 1, 2), dtype=np.int64)
    weights = np.empty(n_samples - 1)
    newest = 0
    for step in range(n_samples - 1):
        raise_if_cancelled(cancel)
        outside = outside[outside != newest]
        to_newest = cdist(members[newest : newest + 1], members[outside], metric)[0]
        reach = np.maximum(to_newest, np.maximum(core[newest], core[outside]))
        lower = np.minimum(core[newest], core[outside])
        known, tie = weight[outside], densest[outside]
        closer = (reach < known) | ((reach == known) & (lower < tie))
        moved = outside[closer]
        weight[moved], densest[moved] = reach[closer], lower[closer]
        parent[moved] = newest
        least = np.flatnonzero(weight[outside] == weight[outside].min())
        newest = int(outside[least[np.argmin(densest[outside[least]])]])
        edges[step] = parent[newest], newest
        weights[step] = weight[newest]
    return edges, weights


def _inner_samples(
    edges: IntArray, weights: FloatArray, n_samples: int
) -> tuple[npt.NDArray[np.bool_], float]:
    """Find the samples with two or more edges, and the heaviest edge between them."""
    inner = np.bincount(edges.ravel(), minlength=n_samples) > 1
    between = inner[edges].all(axis=1)
    # A star has no edge between inner samples: take the heaviest of all edges.
    sparseness = weights[between].max() if between.any() else weights.max()
    return inner, float(sparseness)


def _separations(
    inner: list[FloatArray],
    cores: list[FloatArray],
    metric: Metric,
    cancel: Cancel | None,
) -> FloatArray:
    """Return each cluster's least mutual reachability to inner samples of others."""
    separation = np.full(len(inner), np.inf)
    for a in range(len(inner)):
        for b in range(a + 1, len(inner)):
            raise_if_cancelled(cancel)
            gap = _separation(inner[a], cores[a], inner[b], cores[b], metric)
            separation[[a, b]] = np.minimum(separation[[a, b]], gap)
    return separation


def _separation(
    a: FloatArray, core_a: FloatArray, b: FloatArray, core_b: FloatArray, metric: Metric
) -> float:
    """Return the least mutual reachability between two sets of samples."""
    step = max(1, BLOCK_ENTRIES // len(b))
    least = np.inf
    for start in range(0, len(a), step):
        rows = slice(start, start + step)
        reach = np.maximum(cdist(a[rows], b, metric), core_b)
        np.maximum(reach, core_a[rows, None], out=reach)
        least = min(least, float(reach.min()))
    return least
