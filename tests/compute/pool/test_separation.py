"""Whether clusters lie apart: neighbours by the definition, and beside copies."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.pool.separation import cluster_separation
from clusterlens.compute.table.dataset import prepare
from clusterlens.compute.table.examples import load_example


def blobs():
    centers = [[0, 0], [8, 0], [0, 8], [8, 8]]
    return make_blobs(160, centers=centers, random_state=0)


def share_inside(X, labels, cluster, n_neighbors):
    """Definition, from all distances."""
    members = np.flatnonzero(labels == cluster)
    asked = min(n_neighbors, len(members) - 1)
    distances = np.linalg.norm(X[members, None] - X, axis=2)
    distances[np.arange(len(members)), members] = np.inf
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :asked]
    return (labels[nearest] == cluster).mean()


def test_consistency_follows_the_definition():
    X = np.random.default_rng(0).normal(size=(70, 3))
    labels = np.r_[np.full(10, -1), np.full(40, 5), np.full(17, 2), np.full(3, 9)]
    found = cluster_separation(X, labels, n_neighbors=6)
    assert found.clusters.tolist() == [2, 5, 9]
    assert found.sizes.tolist() == [17, 40, 3]
    expected = [share_inside(X, labels, c, 6) for c in (2, 5, 9)]
    assert_allclose(found.consistency, expected)


def test_separate_clusters_lie_apart_of_any_shape():
    assert cluster_separation(*blobs()).apart.all()
    rings = prepare(load_example("rings"))
    assert cluster_separation(rings.X, rings.labels_true).apart.all()


@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("n_clusters", [2, 4])
def test_parts_of_noise_do_not(kind, n_clusters):
    X = getattr(np.random.default_rng(2), kind)(size=(400, 2))
    labels = KMeans(n_clusters, random_state=0).fit_predict(X)
    found = cluster_separation(X, labels)
    # High all the same: few samples lie at a border.
    assert (found.consistency > 0.8).all()
    assert not found.apart.any()


def test_one_group_cut_in_two_lies_not_apart_the_others_do():
    X, labels = blobs()
    cut = np.where((labels == 3) & (X[:, 0] > 8), 4, labels)
    found = cluster_separation(X, cut).to_frame()
    assert found.loc[[0, 1, 2], "apart"].all()
    assert not found.loc[[3, 4], "apart"].any()


def test_a_single_sample_is_not_judged():
    X, labels = blobs()
    labels[0] = 7
    found = cluster_separation(X, labels).to_frame()
    assert np.isnan(found.loc[7, "consistency"])
    assert not found.loc[7, "apart"]


def test_large_tables_are_judged_by_a_sample_that_is_seeded():
    X, labels = blobs()
    found = cluster_separation(X, labels, max_compared=80)
    assert found.n_compared == 80
    assert found.sizes.sum() == 160
    again = cluster_separation(X, labels, max_compared=80)
    assert_array_equal(found.by_chance, again.by_chance)
    assert "80 samples compared, seed 0" in repr(found)


def test_progress_counts_the_tables_and_cancel_stops():
    X, labels = blobs()
    seen = []
    cluster_separation(X, labels, n_copies=1, progress=lambda *at: seen.append(at))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    with pytest.raises(Cancelled):
        cluster_separation(X, labels, cancel=lambda: True)


def test_arguments_are_checked():
    X, labels = blobs()
    with pytest.raises(ValueError, match="noise only"):
        cluster_separation(X, np.full(160, -1))
    with pytest.raises(ValueError, match="entries for 160 samples"):
        cluster_separation(X, labels[1:])
    for name in ("n_neighbors", "n_copies", "max_compared"):
        with pytest.raises(ValueError, match=name):
            cluster_separation(X, labels, **{name: 0})
