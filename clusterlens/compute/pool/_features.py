"""Cluster features that all models of a large table share: trees and an embedding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.estimators.features import (
    LINKAGES,
    METRICS,
    N_FEATURES,
    cluster_features,
    landmark_embedding,
    landmark_labels,
    weighted_linkage,
)
from clusterlens.compute.estimators.merges import cut_tree
from clusterlens.compute.formatting import whole
from clusterlens.compute.pool.sharing import Arrays, Step


def feature_tree_steps(n: int, d: int, parameters: Mapping[str, Any]) -> Sequence[Step]:
    """Return features and their tree."""
    linkage = parameters.get("linkage", "ward")
    metric = parameters.get("metric", "euclidean")
    known = linkage in LINKAGES and metric in METRICS
    if not known or type(parameters.get("n_clusters", 2)) is not int:
        return ()
    features = _features_step(n, parameters.get("n_features", N_FEATURES))
    tree = Step(
        f"tree-{linkage}-{metric}-of-{features.key}",
        f"tree of {linkage} linkage ({metric}) on cluster features",
        partial(make_feature_tree, linkage=linkage, metric=metric),
        needs=(features,),
        seconds=lambda n, d, k: 0.02 + 1e-8 * N_FEATURES**2,
        n_bytes=lambda n, d, k: 1e7 + 32.0 * N_FEATURES**2,
    )
    return features, tree


def make_feature_tree(
    X: FloatArray, size: int, features: Arrays, *, linkage: Any, metric: Any
) -> Arrays:
    """Merges (n_features - 1, 2) of the features, weighted by size."""
    centres, nearest = features
    return (weighted_linkage(centres, np.bincount(nearest), linkage, metric),)


def feature_tree_labels(
    X: FloatArray, parameters: Mapping[str, Any], features: Arrays, tree: Arrays
) -> IntArray:
    """Labels (n_samples,) of a cut of the tree."""
    centres, nearest = features
    return cut_tree(tree[0], len(centres), parameters.get("n_clusters", 2))[nearest]


def landmark_steps(n: int, d: int, parameters: Mapping[str, Any]) -> Sequence[Step]:
    """Return the embedding on landmarks."""
    n_clusters = parameters.get("n_clusters", 8)
    n_landmarks = parameters.get("n_landmarks", N_FEATURES)
    if type(n_clusters) is not int or not 1 <= n_clusters <= n_landmarks:
        return ()
    features = _features_step(n, n_landmarks)
    embedding = Step(
        f"embedding-of-{features.key}",
        "spectral embedding of {size} dimensions on landmarks",
        make_landmark_embedding,
        n_clusters,
        needs=(features,),
        seconds=lambda n, d, k: 0.15 + n * (1e-7 * (k + 5) + 5e-8 * d),
        n_bytes=lambda n, d, k: 1e7 + 64.0 * n * (k + 5) + 32.0 * N_FEATURES**2,
    )
    return (embedding,)


def make_landmark_embedding(X: FloatArray, size: int, features: Arrays) -> Arrays:
    """Embedding (n_samples, size) on the features as landmarks."""
    return (landmark_embedding(X, features[0], size),)


def landmark_spectral_labels(
    X: FloatArray, parameters: Mapping[str, Any], embedding: Arrays
) -> IntArray:
    """Labels (n_samples,) by k-means on the leading dimensions."""
    return landmark_labels(
        embedding[0],
        parameters.get("n_clusters", 8),
        parameters.get("n_init", 3),
        parameters.get("random_state"),
    )


def _features_step(n: int, n_features: int) -> Step:
    """Return the step that summarises the samples."""
    return Step(
        f"features-{n_features}",
        f"{whole(min(n, n_features))} cluster features",
        partial(make_features, n_features=n_features),
        seconds=lambda n, d, k: 0.05 + n * n_features * (1.6e-8 + 6e-10 * d),
        n_bytes=lambda n, d, k: 1e7 + 24.0 * n * (d + 1) + 8e4 * n_features,
    )


def make_features(X: FloatArray, size: int, *, n_features: int) -> Arrays:
    """Centres (n_features, n_dimensions) and the centre of each sample (n_samples,)."""
    return cluster_features(X, n_features)
