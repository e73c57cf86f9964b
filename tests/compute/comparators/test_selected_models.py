"""Model selection picks the best score, and noise is merged afterwards."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_score

from clusterlens.compute.comparators import selected_models
from clusterlens.compute.comparators.selected_models import (
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

    def validity_index(X, labels):
        seen.append(labels.copy())
        return next(scores)

    validity = SimpleNamespace(validity_index=validity_index)
    monkeypatch.setitem(sys.modules, "hdbscan", SimpleNamespace(validity=validity))
    monkeypatch.setitem(sys.modules, "hdbscan.validity", validity)
    X = blobs()
    model = HDBSCANDBCV((5, 8, 12)).fit(X)
    assert model.min_samples_ == 8
    np.testing.assert_array_equal(model.noise_, seen[1] == -1)
    assert (model.labels_ >= 0).all()
    np.testing.assert_array_equal(model.labels_[~model.noise_], seen[1][~model.noise_])


def test_missing_index_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "hdbscan.validity", None)
    with pytest.raises(ImportError, match=r"install clusterlens\[dbcv\]"):
        HDBSCANDBCV().fit(blobs())


def test_clusters_too_large_for_the_index_are_refused_first(monkeypatch):
    monkeypatch.setattr(selected_models, "MEMORY_LIMIT", 1000)
    with pytest.raises(MemoryError, match="DBCV of a cluster of"):
        HDBSCANDBCV().fit(blobs())


def test_index_is_that_of_the_library():
    pytest.importorskip("hdbscan.validity")
    X = blobs(centers=2)
    assert HDBSCANDBCV().fit(X).n_clusters_ == 2
