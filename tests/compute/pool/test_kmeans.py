"""Many small fits of k-means beside those of scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute.pool._kmeans import lloyd, subsampled_kmeans


@pytest.mark.parametrize("seed", range(30))
def test_from_the_same_seeds_the_clusters_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(20, 200), rng.integers(1, 8), rng.integers(2, 8)
    X = rng.normal(size=(n, d))
    centres = X[rng.choice(n, k, replace=False)]
    known = KMeans(k, init=centres.copy(), n_init=1).fit(X)
    labels, nearest = np.empty(n, np.int32), np.empty(n)
    tol = 1e-4 * X.var(axis=0).mean()
    total = lloyd(X, centres, tol, 300, labels, nearest)
    assert_array_equal(labels, known.labels_)
    assert total == pytest.approx(known.inertia_)
    np.testing.assert_allclose(centres, known.cluster_centers_)


def test_each_number_has_its_clusters_and_left_out_samples_the_nearest():
    X, truth = make_blobs(300, 3, centers=np.eye(3) * 30, random_state=0)
    numbers, samples = np.array([2, 3, 5]), np.arange(0, 300, 2)
    labels = subsampled_kmeans(X, numbers, samples, 2, np.random.default_rng(0))
    assert labels.shape == (3, 300)
    assert [len(np.unique(row)) for row in labels] == [2, 3, 5]
    assert adjusted_rand_score(labels[1], truth) == 1.0


def test_seedings_spread_as_well_as_those_of_scikit_learn():
    X = np.random.default_rng(0).random((200, 3))
    rng, every = np.random.default_rng(1), np.arange(200)

    def scatter(labels):
        parts = [X[labels == k] for k in range(8)]
        return sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts)

    ours = [
        scatter(subsampled_kmeans(X, np.array([8]), every, 1, rng)[0])
        for _ in range(40)
    ]
    theirs = [KMeans(8, n_init=1, random_state=s).fit(X).inertia_ for s in range(40)]
    assert np.mean(ours) == pytest.approx(np.mean(theirs), rel=0.01)


def test_a_cluster_that_loses_its_samples_takes_the_farthest_one():
    X = np.array([[0.0], [0.1], [0.2], [9.0], [50.0]])
    centres = np.array([[0.1], [9.0], [1000.0]])
    labels, nearest = np.empty(5, np.int32), np.empty(5)
    lloyd(X, centres, 0.0, 100, labels, nearest)
    assert len(np.unique(labels)) == 3
    assert labels[4] not in labels[:4]


def test_more_clusters_than_different_samples_leave_some_empty():
    X = np.repeat([[0.0], [1.0]], 10, axis=0)
    labels = subsampled_kmeans(
        X, np.array([2, 4]), np.arange(20), 1, np.random.default_rng(0)
    )
    for row in labels:
        assert len({tuple(row[:10]), tuple(row[10:])}) == 2
        assert not set(row[:10]) & set(row[10:])
