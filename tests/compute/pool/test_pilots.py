"""Pilots tell data in which fits iterate long from data in which they do not."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture

from clusterlens.compute.pool import paces
from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.estimate import estimate_pool
from clusterlens.compute.pool.pilots import effort

APART = make_blobs(7000, 5, centers=5, cluster_std=0.3, random_state=0)[0]
NOISE = np.random.default_rng(0).normal(size=(7000, 5))
POOL = [{"clusterer": "Bayesian mixture", "n_components": [5]}]


@pytest.mark.parametrize("name", ["k-means", "Gaussian mixture", "Bayesian mixture"])
def test_noise_is_more_effort_than_groups(name):
    key = "n_clusters" if name == "k-means" else "n_components"
    noise, apart = (effort(CLUSTERERS[name], {key: 5}, X[:900]) for X in (NOISE, APART))
    assert noise > 1.5 * apart


def test_effort_is_the_iterations_over_those_of_the_law():
    clusterer, given = CLUSTERERS["Gaussian mixture"], {"n_components": 4}
    model = GaussianMixture(4, random_state=0).fit(NOISE[:900])
    before, counted = clusterer.iterations
    found = effort(clusterer, {**given, "random_state": 7}, NOISE[:900])
    assert found == (before + model.n_iter_) / counted


def test_what_cannot_be_fitted_is_no_effort_known():
    assert effort(CLUSTERERS["k-means"], {"n_clusters": 99}, NOISE[:20]) == 1
    assert effort(CLUSTERERS["k-means"], {"n_clusters": 2}, NOISE[:0]) == 1
    assert effort(CLUSTERERS["DBSCAN"], {}, NOISE[:20]) == 1


def test_estimates_know_what_the_data_are_like(monkeypatch):
    monkeypatch.setattr(paces, "directories", list)
    noise, apart = (estimate_pool(X, POOL, n_jobs=1).seconds for X in (NOISE, APART))
    # A shape alone does not tell.
    assert apart < estimate_pool(NOISE.shape, POOL, n_jobs=1).seconds < noise
