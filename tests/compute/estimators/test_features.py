"""Cluster features keep the input of methods for few samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import linkage as scipy_linkage
from sklearn.datasets import make_blobs, make_circles
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterlens.compute.estimators.features import (
    FeatureLinkage,
    LandmarkSpectral,
    cluster_features,
    landmark_embedding,
    weighted_linkage,
)
from clusterlens.compute.estimators.merges import cut_tree


@parametrize_with_checks([FeatureLinkage(n_features=50), LandmarkSpectral(3)])
def test_estimators_keep_scikit_learns_contract(estimator, check):
    check(estimator)


def test_features_are_the_means_of_their_samples():
    X = np.random.default_rng(0).normal(size=(500, 3))
    centres, nearest = cluster_features(X, 20)
    assert_array_equal(np.unique(nearest), np.arange(len(centres)))
    for at, centre in enumerate(centres):
        assert_allclose(X[nearest == at].mean(axis=0), centre)
    again, _ = cluster_features(X, 20)
    assert_array_equal(again, centres)


@pytest.mark.parametrize("linkage", ["ward", "average", "complete", "single"])
def test_points_of_weight_one_have_the_tree_of_scipy(linkage):
    X = np.random.default_rng(1).normal(size=(60, 2))
    ours = weighted_linkage(X, np.ones(60, int), linkage)
    theirs = scipy_linkage(X, linkage)[:, :2]
    assert_array_equal(np.sort(ours, axis=1), np.sort(theirs, axis=1))


@pytest.mark.parametrize("linkage", ["ward", "average"])
def test_weights_stand_for_coinciding_samples(linkage):
    rng = np.random.default_rng(2)
    X, sizes = rng.normal(size=(40, 2)), rng.integers(1, 9, 40)
    tree = weighted_linkage(X, sizes, linkage)
    full = scipy_linkage(np.repeat(X, sizes, axis=0), linkage)[:, :2].astype(int)
    for k in (2, 3, 7, 20):
        ours = np.repeat(cut_tree(tree, 40, k), sizes)
        theirs = cut_tree(full, sizes.sum(), k)
        assert adjusted_rand_score(ours, theirs) == 1.0


def test_linkage_on_features_finds_planted_groups():
    X, y = make_blobs(5000, 4, centers=5, cluster_std=0.5, random_state=0)
    for linkage in ("ward", "average", "complete"):
        labels = FeatureLinkage(5, linkage, n_features=100).fit_predict(X)
        assert adjusted_rand_score(y, labels) > 0.99


def test_embedding_is_that_of_the_bipartite_graph():
    X = np.random.default_rng(3).normal(size=(80, 2))
    centres, _ = cluster_features(X, 15)
    embedding = landmark_embedding(X, centres, 4)
    assert embedding.shape == (80, 4)
    # Left singular vectors are orthonormal; the vector of the value 1 is constant.
    assert_allclose(embedding.T @ embedding, np.eye(4), atol=1e-8)
    assert_allclose(embedding[:, 0], embedding[0, 0])


def test_landmarks_find_rings():
    X, y = make_circles(4000, factor=0.4, noise=0.04, random_state=0)
    labels = LandmarkSpectral(2, n_landmarks=200, random_state=0).fit_predict(X)
    assert adjusted_rand_score(y, labels) > 0.95


def test_wrong_arguments_are_named():
    X = np.random.default_rng(4).normal(size=(30, 2))
    with pytest.raises(ValueError, match="metric is 'manhattan'; Ward linkage needs"):
        FeatureLinkage(2, "ward", "manhattan").fit(X)
    with pytest.raises(ValueError, match="linkage is 'median'"):
        FeatureLinkage(2, "median").fit(X)
    with pytest.raises(ValueError, match="n_clusters is 31"):
        FeatureLinkage(31).fit(X)
