"""DBSCAN on a sample: its result on the sample, and the clusters of other rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterlens.compute.estimators.sampled_dbscan import SampledDBSCAN


@parametrize_with_checks([SampledDBSCAN()])
def test_it_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


def test_on_all_rows_it_is_dbscan():
    X, _ = make_moons(400, noise=0.08, random_state=0)
    model = SampledDBSCAN(quantile=0.8, min_samples=4).fit(X)
    fourth = NearestNeighbors(n_neighbors=4).fit(X).kneighbors()[0][:, -1]
    assert model.eps_ == np.quantile(fourth, 0.8)
    plain = DBSCAN(eps=model.eps_, min_samples=4).fit(X)
    assert_array_equal(model.labels_, plain.labels_)
    assert_array_equal(model.core_sample_indices_, plain.core_sample_indices_)


@pytest.mark.parametrize("d", [2, 8, 12])
def test_other_rows_join_the_nearest_core_sample_within_eps(d):
    moons, _ = make_moons(900, noise=0.1, random_state=1)
    noise = np.random.default_rng(0).normal(size=(900, d - 2))
    X = np.hstack([moons, 0.02 * noise])
    model = SampledDBSCAN(n_sampled=200, random_state=0).fit(X)
    cores = model.core_sample_indices_
    lengths = np.linalg.norm(X[:, None] - X[cores], axis=2)
    nearest = model.labels_[cores[lengths.argmin(axis=1)]]
    expected = np.where(lengths.min(axis=1) <= model.eps_, nearest, -1)
    differ = np.flatnonzero(expected != model.labels_)
    # Rows of the sample have the label that DBSCAN gives them.
    sampled = SampledDBSCAN(n_sampled=200, random_state=0)._draw(len(X))
    assert np.isin(differ, sampled).all()
    again = SampledDBSCAN(n_sampled=200, random_state=0).fit(X)
    assert_array_equal(again.labels_, model.labels_)


def test_groups_of_a_large_table_are_found():
    X, y = make_moons(60_000, noise=0.09, random_state=0)
    model = SampledDBSCAN(quantile=0.7, min_samples=150, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9


@pytest.mark.parametrize("X", [np.zeros((30, 2)), np.zeros((1, 2))], ids=len)
def test_equal_rows_are_no_trouble(X):
    labels = SampledDBSCAN(n_sampled=10).fit_predict(X)
    assert len(set(labels.tolist())) == 1


@pytest.mark.parametrize(
    ("name", "value"), [("quantile", 1.5), ("min_samples", 0), ("n_sampled", 0)]
)
def test_wrong_arguments_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        SampledDBSCAN(**{name: value}).fit(np.zeros((9, 2)))
