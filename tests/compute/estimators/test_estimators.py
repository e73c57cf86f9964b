"""What all comparators promise: scikit-learn's contract, duplicates, determinism."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import (
    adjusted_rand_score,
    homogeneity_score,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterlens.compute.estimators.border_peeling import BorderPeeling
from clusterlens.compute.estimators.cns.cns import CNS
from clusterlens.compute.estimators.fuzzy_c_means import FuzzyCMeans
from clusterlens.compute.estimators.knn_mean_shift import KNNMeanShift
from clusterlens.compute.estimators.selected_models import (
    HDBSCANDBCV,
    GaussianMixtureBIC,
    KMeansSilhouette,
)
from clusterlens.compute.estimators.selective_nn import SelectiveNN
from clusterlens.compute.estimators.spuds import SPUDS
from clusterlens.compute.estimators.torque import TorqueClustering

ESTIMATORS = [
    BorderPeeling(),
    GaussianMixtureBIC(4),
    HDBSCANDBCV(),
    KMeansSilhouette(4, n_init=2),
    KNNMeanShift(),
    SPUDS(n_init=2),
    SelectiveNN(),
    TorqueClustering(),
]


def name(estimator):
    return type(estimator).__name__


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_separated_groups_are_found(estimator):
    X, truth = make_blobs(
        300, centers=[[0, 0], [9, 0], [0, 9]], cluster_std=0.7, random_state=1
    )
    labels = clone(estimator).fit(X).labels_
    if name(estimator) == "KNNMeanShift":  # a group may have several modes
        assert homogeneity_score(truth, labels) == pytest.approx(1)
    else:
        assert adjusted_rand_score(truth, labels) > 0.85


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_labels_count_the_clusters(estimator):
    X = make_blobs(120, centers=4, random_state=2)[0]
    model = clone(estimator).fit(X)
    found = np.unique(model.labels_[model.labels_ >= 0])
    assert found.tolist() == list(range(model.n_clusters_))


@pytest.mark.parametrize(
    "estimator", [*ESTIMATORS, CNS(n_clusters=3), FuzzyCMeans(3)], ids=name
)
def test_labels_have_one_type(estimator):
    X = make_blobs(60, centers=3, random_state=2)[0]
    assert clone(estimator).fit(X).labels_.dtype == np.int64
    assert clone(estimator).fit_predict(X).dtype == np.int64


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
@pytest.mark.parametrize(
    "X",
    [np.zeros((12, 2)), np.repeat(np.eye(3), 8, axis=0), np.array([[0.0], [1.0]])],
    ids=["all equal", "three distinct samples", "two samples"],
)
def test_duplicates_and_tiny_tables_work(estimator, X):
    model = clone(estimator).fit(X)
    assert model.labels_.shape == (len(X),)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_same_input_gives_the_same_labels(estimator):
    X = np.random.default_rng(0).normal(size=(150, 4))
    first, second = clone(estimator).fit(X), clone(estimator).fit(X)
    np.testing.assert_array_equal(first.labels_, second.labels_)
