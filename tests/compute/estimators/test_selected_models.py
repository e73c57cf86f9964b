"""Model selection picks the best score, and noise is merged afterwards."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_score

from clusterlens.compute.estimators import selected_models
from clusterlens.compute.estimators.selected_models import (
    HDBSCANDBCV,
    GaussianMixtureBIC,
    KMeansSilhouette,
    merge_noise,
)


def blobs(centers=4, n_samples=200):
    return make_blobs(n_samples, centers=centers, cluster_std=0.5, random_state=3)[0]


def test_kmeans_keeps_the_largest_silhouette():
    X = blobs()
    model = KMeansSilhouette(6, n_init=3).fit(X)
    assert model.n_clusters_ == np.argmax(model.scores_) + 2
    score = silhouette_score(X, model.labels_)
    assert score == pytest.approx(model.scores_.max())


def test_silhouette_of_a_part_is_close_to_that_of_all():
    X = blobs()
    part = KMeansSilhouette(5, n_init=2, silhouette_samples=100).fit(X).scores_
    full = KMeansSilhouette(5, n_init=2).fit(X).scores_
    assert 0 < np.abs(part - full).max() < 0.1


def test_mixture_keeps_the_smallest_criterion():
    model = GaussianMixtureBIC(6).fit(blobs())
    assert model.model_.n_components == np.argmin(model.scores_) + 1
    memberships = model.predict_proba(blobs())
    np.testing.assert_array_equal(memberships.argmax(axis=1), model.labels_)
    np.testing.assert_allclose(memberships.sum(axis=1), 1)


def test_noise_takes_the_label_of_the_nearest_clustered_sample():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0]])
    labels = np.array([5, -1, -1, 7, -1])
    assert merge_noise(X, labels).tolist() == [5, 5, 5, 7, 7]
    assert merge_noise(X, np.full(5, -1)).tolist() == [0] * 5


def test_hdbscan_keeps_the_best_index_and_merges_its_noise(monkeypatch):
    scores = iter([0.2, 0.7, np.nan])
    seen = []

    def index(name, X, labels):
        assert name == "DBCV"
        seen.append(labels.copy())
        return next(scores)

    monkeypatch.setattr(selected_models, "internal_index", index)
    X = blobs()
    model = HDBSCANDBCV((5, 8, 12)).fit(X)
    assert model.min_samples_ == 8
    np.testing.assert_array_equal(model.noise_, seen[1] == -1)
    assert (model.labels_ >= 0).all()
    np.testing.assert_array_equal(model.labels_[~model.noise_], seen[1][~model.noise_])


def test_one_cluster_has_no_index_and_is_kept():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = HDBSCANDBCV((20, 30)).fit(X)
    assert model.n_clusters_ == 1
    assert np.isnan(model.scores_).all()
