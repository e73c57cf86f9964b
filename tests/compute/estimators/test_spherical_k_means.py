"""Spherical k-means against its two conditions and scikit-learn's contract."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterlens.compute.estimators.spherical_k_means import SphericalKMeans, unit_rows


@parametrize_with_checks([SphericalKMeans(3)])
def test_estimator_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def rays():
    """Three rays from the origin, at all lengths."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 60)
    directions = np.array([[1, 0, 0], [0, 1, 0], [-1, -1, 1.0]])[truth]
    X = directions + 0.1 * rng.normal(size=directions.shape)
    return X * rng.uniform(0.1, 50, len(X))[:, None], truth


def test_rays_are_found_whatever_the_lengths(rays):
    X, truth = rays
    labels = SphericalKMeans(3, n_init=3, random_state=0).fit_predict(X)
    assert adjusted_rand_score(truth, labels) == 1


def test_a_fit_satisfies_both_conditions(rays):
    X, _ = rays
    model = SphericalKMeans(4, random_state=1).fit(X)
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    cosines = rows @ model.cluster_centers_.T
    np.testing.assert_array_equal(model.labels_, cosines.argmax(axis=1))
    assert model.mean_cosine_ == pytest.approx(cosines.max(axis=1).mean())
    for k, centre in enumerate(model.cluster_centers_):
        total = rows[model.labels_ == k].sum(axis=0)
        np.testing.assert_allclose(centre, total / np.linalg.norm(total), atol=1e-12)


def test_more_starts_are_never_worse(rays):
    X, _ = rays
    one, many = (
        SphericalKMeans(5, n_init=n, random_state=3).fit(X).mean_cosine_ for n in (1, 8)
    )
    assert many >= one


def test_as_many_clusters_as_directions_are_all_used():
    X = np.repeat(np.eye(4), 3, axis=0) * np.arange(1, 13)[:, None]
    labels = SphericalKMeans(4, random_state=0).fit_predict(X)
    assert sorted(np.bincount(labels)) == [3, 3, 3, 3]


def test_rows_become_directions_at_any_size():
    rows = unit_rows(np.array([[3e200, 4e200], [3e-200, 4e-200], [0, 0]]))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.6, 0.8], [0, 0]])


def test_a_row_of_zeros_takes_no_part():
    X = [[0, 0], [1, 0], [2, 0], [0, 3], [0, 4]]
    model = SphericalKMeans(2, n_init=5, random_state=0).fit(X)
    assert sorted(model.cluster_centers_.tolist()) == [[0, 1], [1, 0]]
    assert model.labels_[1] == model.labels_[2] != model.labels_[3] == model.labels_[4]


@pytest.mark.parametrize("n_zeros", [1, 5, 50])
def test_rows_of_zeros_are_no_centres_and_leave_no_cluster_empty(n_zeros):
    X = np.vstack([np.zeros((n_zeros, 2)), [[1, 0], [2, 0.1], [0, 3]]])
    model = SphericalKMeans(3, random_state=0).fit(X)
    lengths = np.linalg.norm(model.cluster_centers_, axis=1)
    np.testing.assert_allclose(lengths, 1)
    assert sorted(model.labels_[n_zeros:]) == [0, 1, 2]
    assert set(model.labels_[:n_zeros]) == {0}


@pytest.mark.parametrize("n_directions", [1, 2, 4])
def test_no_cluster_is_empty_and_too_few_directions_are_refused(n_directions):
    directions = np.eye(4)[:n_directions]
    X = np.vstack([directions * 2.0**power for power in range(6)])
    for n_clusters in range(1, 7):
        model = SphericalKMeans(n_clusters, random_state=0)
        if n_clusters <= n_directions:
            assert len(np.unique(model.fit_predict(X))) == n_clusters
        else:
            with pytest.raises(ValueError, match=f"only {n_directions} direction"):
                model.fit(X)


@pytest.mark.parametrize(
    ("X", "parameters", "message"),
    [
        (np.eye(3), {"n_clusters": 4}, "n_clusters"),
        ([[0, 0], [0, 0], [1, 2]], {"n_clusters": 2}, "1 row with a direction"),
        (np.eye(3), {"n_clusters": 2, "n_init": 0}, "n_init"),
        (np.eye(3), {"n_clusters": 2, "max_iter": 0}, "max_iter"),
    ],
)
def test_what_cannot_be_clustered_is_refused(X, parameters, message):
    with pytest.raises(ValueError, match=message):
        SphericalKMeans(**parameters).fit(X)
