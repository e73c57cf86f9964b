"""Fuzzy c-means against its definition and scikit-learn's contract."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterlens.compute.estimators.fuzzy_c_means import FuzzyCMeans


@parametrize_with_checks([FuzzyCMeans()])
def test_estimator_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(300, centers=[[0, 0], [8, 0], [0, 8]], random_state=1)


def objective(X, memberships, centres, m):
    total = 0.0
    for i, x in enumerate(X):
        for k, c in enumerate(centres):
            total += memberships[i, k] ** m * ((x - c) ** 2).sum()
    return total


def test_fit_satisfies_both_optimality_conditions(blobs):
    X, _ = blobs
    m = 1.7
    model = FuzzyCMeans(3, fuzzifier=m, tol=1e-10, random_state=0).fit(X)
    u, c = model.memberships_, model.cluster_centers_
    distances = np.linalg.norm(X[:, None] - c, axis=2)
    ratios = (distances[:, :, None] / distances[:, None, :]) ** (2 / (m - 1))
    np.testing.assert_allclose(u, 1 / ratios.sum(axis=2), atol=1e-9)
    weights = u**m
    np.testing.assert_allclose(
        c, (weights.T @ X) / weights.sum(axis=0)[:, None], atol=1e-6
    )
    assert model.objective_ == pytest.approx(objective(X, u, c, m), rel=1e-9)


def test_separated_blobs_are_found(blobs):
    X, labels = blobs
    model = FuzzyCMeans(3, random_state=0).fit(X)
    assert adjusted_rand_score(labels, model.labels_) == 1.0
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.predict_proba(X), model.memberships_)


def test_fuzzifier_near_one_gives_k_means(blobs):
    X, _ = blobs
    hard = KMeans(3, n_init=1, random_state=0).fit(X)
    soft = FuzzyCMeans(3, fuzzifier=1.01, random_state=0).fit(X)
    assert adjusted_rand_score(hard.labels_, soft.labels_) == 1.0
    assert soft.objective_ == pytest.approx(hard.inertia_, rel=1e-3)


def test_more_starts_never_raise_the_objective(blobs):
    X = np.random.default_rng(0).random((80, 2))
    one = FuzzyCMeans(6, random_state=3).fit(X)
    many = FuzzyCMeans(6, n_init=5, random_state=3).fit(X)
    assert many.objective_ <= one.objective_


def test_sample_on_a_centre_belongs_to_it_alone():
    model = FuzzyCMeans(2, random_state=0).fit([[0.0], [0.0], [5.0], [5.0]])
    np.testing.assert_allclose(model.memberships_.max(axis=1), 1.0)


def test_result_does_not_depend_on_a_large_shift(blobs):
    X, _ = blobs
    here = FuzzyCMeans(3, random_state=0).fit(X)
    far = FuzzyCMeans(3, random_state=0).fit(X + 1e6)
    np.testing.assert_allclose(far.memberships_, here.memberships_, atol=1e-6)


def test_identical_samples_share_memberships_equally():
    model = FuzzyCMeans(2, random_state=0).fit(np.ones((5, 3)))
    np.testing.assert_allclose(model.memberships_, 0.5)


def test_one_cluster_takes_everything():
    model = FuzzyCMeans(1).fit([[0.0], [4.0]])
    np.testing.assert_allclose(model.memberships_, 1.0)
    np.testing.assert_allclose(model.cluster_centers_, [[2.0]])


def test_stopping_early_warns(blobs):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        FuzzyCMeans(3, max_iter=1, random_state=0).fit(blobs[0])


def test_more_clusters_than_samples_are_refused():
    with pytest.raises(ValueError, match="n_samples=2 for n_clusters=3"):
        FuzzyCMeans(3).fit([[0.0], [1.0]])
