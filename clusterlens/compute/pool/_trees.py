"""Linkage trees: one for each linkage and metric, cut at every number of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import fastcluster
import numpy as np
from scipy.cluster import hierarchy
from sklearn.cluster import AgglomerativeClustering

from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.ensemble.connected import components
from clusterlens.compute.estimators.merges import cut_tree
from clusterlens.compute.estimators.spanning_trees import MAX_PLAIN_SAMPLES, ends_of
from clusterlens.compute.pool.sharing import Arrays, Step
from clusterlens.compute.pool.spanning import spanning_tree_step

# scikit-learn's names of a metric -> SciPy's
_METRICS = {
    "euclidean": "euclidean",
    "l2": "euclidean",
    "manhattan": "cityblock",
    "l1": "cityblock",
    "cosine": "cosine",
}
# Heights this close, relative to the largest, are ties.
_ROUNDING = 1e-12
_LINKAGES = ("ward", "average", "complete", "single")


def agglomerative_steps(
    n: int, d: int, parameters: Mapping[str, Any]
) -> Sequence[Step]:
    """Return the tree that a model cuts; none if it is not cut at a number."""
    fit = {key: value for key, value in parameters.items() if key != "n_clusters"}
    if type(parameters.get("n_clusters", 2)) is not int or any(
        fit.get(key) is not None for key in ("distance_threshold", "memory")
    ):
        return ()
    linkage, metric = fit.get("linkage", "ward"), fit.get("metric", "euclidean")
    if fit.keys() - {"linkage", "metric"} or metric not in _METRICS:
        return (_fitted_tree(fit),)
    if linkage == "single" and n > MAX_PLAIN_SAMPLES and metric in ("euclidean", "l2"):
        return (spanning_tree_step(n, d, 1),)
    if linkage not in _LINKAGES or linkage == "single":
        return (_fitted_tree(fit),)
    return (_linkage_tree(linkage, _METRICS[metric]),)


def cut_agglomerative(
    X: FloatArray, parameters: Mapping[str, Any], tree: Arrays
) -> IntArray:
    """Labels (n_samples,) of a model from its tree, of merges or of edges."""
    n_clusters = parameters.get("n_clusters", 2)
    if tree[0].dtype.names is None:
        return cut_tree(tree[0], len(X), n_clusters)
    return components(ends_of(tree[0][: len(X) - n_clusters]), len(X))


def _linkage_tree(linkage: str, metric: str) -> Step:
    """Return the step of a tree of all distances."""
    return Step(
        f"tree-{linkage}-{metric}",
        f"tree of {linkage} linkage ({metric})",
        partial(make_tree, linkage=linkage, metric=metric),
        seconds=_SECONDS[linkage],
        n_bytes=_linkage_bytes,
    )


def make_tree(X: FloatArray, size: int, *, linkage: Any, metric: Any) -> Arrays:
    """Merges (n_samples - 1, 2) in order, as scikit-learn numbers them.

    SciPy decides ties of merges, as it does in scikit-learn.
    """
    if linkage == "ward" and metric == "euclidean":
        tree = fastcluster.linkage_vector(X, "ward")
    else:
        tree = fastcluster.linkage(X, linkage, metric)
    if _has_ties(tree[:, 2]):
        tree = hierarchy.linkage(X, linkage, metric)
    return (tree[:, :2].astype(np.int32),)


def _has_ties(heights: FloatArray) -> bool:
    """Whether two merges are at one height; equal samples do not matter."""
    rounding = _ROUNDING * heights[-1]
    above = heights[heights > rounding]
    return bool((np.diff(above) <= rounding).any())


def _fitted_tree(fit: Mapping[str, Any]) -> Step:
    """Return the step that takes the tree from scikit-learn's own fit."""
    text = repr(sorted(fit.items()))
    number = int(sha256(text.encode()).hexdigest()[:16], 16)
    title = f"tree of {fit.get('linkage', 'ward')} linkage"
    single = fit.get("linkage") == "single"
    return Step(
        f"{'single' if single else 'full'}-tree-{number}",
        title,
        partial(_fit_tree, fit=dict(fit)),
        seconds=_single_seconds if single else _linkage_seconds,
        n_bytes=_ward_bytes if single else _linkage_bytes,
    )


def _fit_tree(X: FloatArray, size: int, *, fit: Mapping[str, Any]) -> Arrays:
    """Merges (n_samples - 1, 2) of a full tree that scikit-learn builds."""
    model = AgglomerativeClustering(
        **{**fit, "n_clusters": 1, "compute_full_tree": True}
    )
    return (model.fit(X).children_.astype(np.int32),)


def _ward_seconds(n: int, d: int, size: int) -> float:
    return 0.01 + n * n * (1e-9 + 5e-10 * d)


def _average_seconds(n: int, d: int, size: int) -> float:
    return 0.01 + n * n * (1.4e-8 + 1.6e-10 * d)


def _linkage_seconds(n: int, d: int, size: int) -> float:
    return 0.01 + n * n * (3e-8 + 2e-10 * d)


def _single_seconds(n: int, d: int, size: int) -> float:
    return 0.02 + n * n * (2e-9 + 1.4e-10 * d)


def _ward_bytes(n: int, d: int, size: int) -> float:
    return 1e7 + 100.0 * n + 16.0 * n * d


_SECONDS = {
    "ward": _ward_seconds,
    "average": _average_seconds,
    "complete": _linkage_seconds,
}


def _linkage_bytes(n: int, d: int, size: int) -> float:
    return 1e7 + 100.0 * n + 8.0 * n * n
