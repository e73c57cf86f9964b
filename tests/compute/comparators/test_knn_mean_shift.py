"""Mean shift on nearest neighbours against moving each sample by itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute.comparators.knn_mean_shift import KNNMeanShift


def climb(x, X, n_neighbors):
    before = None
    while True:
        squares = ((X - x) ** 2).sum(axis=1)
        near = tuple(sorted(np.argsort(squares, kind="stable")[:n_neighbors]))
        if near == before:
            return near
        before, x = near, X[list(near)].mean(axis=0)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6), n_neighbors=st.integers(1, 30))
def test_samples_share_a_cluster_when_they_share_the_last_neighborhood(
    seed, n_neighbors
):
    X = np.random.default_rng(seed).normal(size=(30, 2))
    ends = [climb(x, X, n_neighbors) for x in X]
    model = KNNMeanShift(n_neighbors).fit(X)
    for i in range(30):
        same = [ends[i] == end for end in ends]
        np.testing.assert_array_equal(model.labels_ == model.labels_[i], same)
        mode = X[list(ends[i])].mean(axis=0)
        np.testing.assert_allclose(model.modes_[model.labels_[i]], mode)


def test_all_neighbors_make_one_cluster_and_one_makes_every_sample_one():
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert KNNMeanShift(20).fit(X).n_clusters_ == 1
    assert KNNMeanShift(1).fit(X).n_clusters_ == 20


def test_too_many_neighbors_are_refused():
    with pytest.raises(ValueError, match="n_neighbors is 6; give a value from 1 to 5"):
        KNNMeanShift(6).fit(np.zeros((5, 1)))
