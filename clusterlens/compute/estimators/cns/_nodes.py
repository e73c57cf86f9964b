"""Solutions of one neighbour graph at a few alphas, and at every alpha between them.

With u = log(alpha / (1 - alpha)) each entry of Q is a sum of terms e^u / (e^u + mu),
analytic in u up to a distance of about pi from the real axis. So polynomials in u on
Chebyshev nodes converge geometrically, and all nodes come out of one run of shared
products. Everything is single precision, for previews; sums over samples are double.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._run.options import Cancel, Progress
from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.estimators.cns._seeds import (
    criterion,
    greedy_order,
    ideal_gain,
)
from clusterlens.compute.estimators.cns._solvers import smooth_seeds
from clusterlens.compute.estimators.neighbors import Table, in_local_order

Float32Array = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Nodes:
    """Solutions of one graph at several alphas, with masses and overlaps."""

    table: Table
    order: IntArray
    """The sample that each row of `absorption` is for, shape (n_samples,)."""
    seeds: IntArray
    alphas: FloatArray
    absorption: Float32Array
    """Shape (n_samples, n_nodes, n_candidates)."""
    masses: FloatArray
    """Column sums, shape (n_nodes, n_candidates)."""
    overlaps: FloatArray
    """Inner products, shape (n_nodes, n_candidates, n_nodes, n_candidates)."""
    n_products: int


@dataclass(frozen=True, eq=False)
class Ordered:
    """Q at one (k, alpha) with its columns in greedy order, and the criterion."""

    nodes: Nodes
    alpha: float
    seeds: IntArray
    absorption: Float32Array
    criterion: FloatArray


def solve_nodes(
    table: Table,
    order: npt.NDArray[np.int64],
    seeds: IntArray,
    alphas: FloatArray,
    n_products: int,
    *,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Nodes:
    """Solve at all alphas with n_products shared products, for the candidates seeds.

    The vectors are kept in the given order of the samples (n,), see `local_order`.
    """
    local_table, rank = in_local_order(table, order)
    found = smooth_seeds(
        local_table,
        rank[seeds],
        alphas,
        n_products=n_products,
        dtype=np.float32,
        progress=progress,
        cancel=cancel,
    )
    flat = found.absorption.reshape(len(table), -1)
    shape = (len(alphas), len(seeds))
    return Nodes(
        table=table,
        order=order,
        seeds=seeds,
        alphas=alphas,
        absorption=found.absorption,
        masses=flat.sum(axis=0, dtype=np.float64).reshape(shape),
        overlaps=(flat.T @ flat).astype(np.float64).reshape(shape + shape),
        n_products=found.n_products,
    )


def nodes_between(low: float, high: float, n_nodes: int) -> FloatArray:
    """Chebyshev nodes in the logit of alpha between two alphas, shape (n_nodes,)."""
    ends = np.log([low / (1 - low), high / (1 - high)])
    angles = (2 * np.arange(n_nodes) + 1) * np.pi / (2 * n_nodes)
    logits = ends.mean() + np.cos(angles) * (ends[1] - ends[0]) / 2
    return 1 / (1 + np.exp(-logits))


def _barycentric(alphas: FloatArray, alpha: float) -> FloatArray:
    """Interpolation weights of Chebyshev nodes, summing to 1, shape (n_nodes,)."""
    gaps = np.log(alpha / (1 - alpha)) - np.log(alphas / (1 - alphas))
    at_node = np.abs(gaps) < 1e-12
    if at_node.any():
        return at_node / at_node.sum()
    angles = (2 * np.arange(len(alphas)) + 1) * np.pi / (2 * len(alphas))
    weights = (-1.0) ** np.arange(len(alphas)) * np.sin(angles) / gaps
    return weights / weights.sum()


def interpolate(nodes: Nodes, alpha: float) -> Ordered:
    """Combine the nodes at alpha, in the greedy order of that alpha.

    Masses and overlaps are linear and quadratic in Q, so the order is known before the
    one pass over the samples.
    """
    weights = _barycentric(nodes.alphas, alpha)
    masses = weights @ nodes.masses
    overlaps = np.einsum("a,aibj,b->ij", weights, nodes.overlaps, weights)
    order, _ = greedy_order(masses, np.maximum(overlaps, 0), len(masses))
    absorption, values = _combine(nodes.absorption, weights.astype(np.float32), order)
    n_samples, n_neighbors = nodes.table.shape
    ideal = ideal_gain(n_samples, n_neighbors, alpha)
    gains = criterion(values, n_samples, ideal)
    return Ordered(nodes, alpha, nodes.seeds[order], absorption, gains)


@kernel(fast_sums=True)
def _combine(absorption: Any, weights: Any, order: Any) -> Any:
    """Weighted sum over the nodes in the given order (n, m), and its clarity (m,)."""
    n_samples, n_nodes, n_seeds = absorption.shape
    combined = np.empty((n_samples, n_seeds), np.float32)
    total = np.empty(n_seeds, np.float32)
    largest, mass = np.zeros(n_seeds), np.zeros(n_seeds)
    for i in range(n_samples):
        total[:] = 0
        for a in range(n_nodes):
            for c in range(n_seeds):
                total[c] += weights[a] * absorption[i, a, c]
        maximum = np.float32(0)
        for c in range(n_seeds):
            value = max(total[order[c]], np.float32(0))
            combined[i, c] = value
            maximum = max(maximum, value)
            largest[c] += maximum
            mass[c] += value
    clusters = np.arange(1, n_seeds + 1)
    return combined, (largest + (n_samples - np.cumsum(mass)) / clusters) / n_samples
