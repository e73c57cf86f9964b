"""Genie on the spanning tree of a pool: one pass for each threshold, cut at every k."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.estimators.genie import LEAVES, genie_labels, genie_merges
from clusterlens.compute.pool._neighbors import with_density
from clusterlens.compute.pool.sharing import Arrays, Step
from clusterlens.compute.pool.spanning import spanning_tree_step


def genie_steps(n: int, d: int, parameters: Mapping[str, Any]) -> Sequence[Step]:
    """Return the merges of a model; none if a parameter is not valid."""
    threshold = parameters.get("gini_threshold", 0.3)
    min_samples = parameters.get("min_samples", 1)
    if (
        type(parameters.get("n_clusters", 2)) is not int
        or type(min_samples) is not int
        or not isinstance(threshold, int | float)
        or not (0 <= threshold <= 1 and 1 <= min_samples < n)
        or not 1 <= parameters.get("n_clusters", 2) <= n
        or parameters.get("leaves", "join") not in LEAVES
    ):
        return ()
    part, whole = float(threshold).as_integer_ratio()  # digits only, and exact
    return (
        Step(
            f"genie-{part}-{whole}-{min_samples}",
            with_density(
                f"Genie's merges, inequality of sizes up to {threshold:g}",
                min_samples,
                f"gini_threshold={threshold:g}",
            ),
            partial(_make_merges, threshold=threshold, min_samples=min_samples),
            needs=(spanning_tree_step(n, d, min_samples),),
            seconds=lambda n, d, size: 0.001 + 6e-7 * n,
            n_bytes=lambda n, d, size: 1e7 + 100.0 * n,
        ),
    )


def genie_cut(X: FloatArray, parameters: Mapping[str, Any], merges: Arrays) -> IntArray:
    """Labels (n_samples,) of a model, -1 for noise."""
    order, leaves = merges
    is_noise = parameters.get("leaves", "join") == "noise"
    return genie_labels(order, leaves, parameters.get("n_clusters", 2), is_noise)


def _make_merges(
    X: FloatArray, size: int, tree: Arrays, *, threshold: float, min_samples: int
) -> Arrays:
    """Merges and leaves, (n_merges, 2) and (n_leaves, 2)."""
    return genie_merges(tree[0], threshold, min_samples > 1)
