"""Pilots distinguish data with many iterations from data with few."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

from clusterlens.compute.pool import paces
from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.estimate import estimate_pool
from clusterlens.compute.pool.pilots import effort, pilot_sample

APART = make_blobs(7000, 5, centers=5, cluster_std=0.3, random_state=0)[0]
NOISE = np.random.default_rng(0).normal(size=(7000, 5))
POOL = [{"clusterer": "Bayesian mixture", "n_components": [5]}]


def some(X):
    """Return rows for pilots."""
    return pilot_sample(X[:900], len(X))


@pytest.mark.parametrize("name", ["k-means", "Gaussian mixture", "Bayesian mixture"])
def test_noise_is_more_effort_than_groups(name):
    key = "n_clusters" if name == "k-means" else "n_components"
    noise, apart = (effort(CLUSTERERS[name], {key: 5}, some(X)) for X in (NOISE, APART))
    assert noise > 1.5 * apart


def test_effort_is_the_iterations_over_those_of_the_law():
    clusterer, given = CLUSTERERS["Gaussian mixture"], {"n_components": 4}
    model = GaussianMixture(4, random_state=0).fit(NOISE[:900])
    law = clusterer.iterations
    found = effort(clusterer, {**given, "random_state": 7}, some(NOISE))
    assert found == (law.before + model.n_iter_) / law.counted


def test_the_tolerance_of_a_sum_shrinks_with_the_sample():
    clusterer = CLUSTERERS["Bayesian mixture"]
    tol = 0.5 * 900 / len(APART)
    model = BayesianGaussianMixture(n_components=9, random_state=0, tol=tol)
    n_iter = model.fit(APART[:900]).n_iter_
    law, given = clusterer.iterations, {"n_components": 9, "tol": 0.5}
    assert effort(clusterer, given, some(APART)) == (law.before + n_iter) / law.counted


def test_k_means_iterates_longer_on_more_samples_up_to_its_limit():
    clusterer, rows = CLUSTERERS["k-means"], NOISE[:900]
    found = [
        effort(clusterer, {"n_clusters": 9, **more}, pilot_sample(rows, n))
        for n, more in ((900, {}), (9000, {}), (90_000, {}), (90_000, {"max_iter": 9}))
    ]
    assert found[0] < found[1] < found[2]
    law = clusterer.iterations
    assert found[3] == (law.before + 9) / law.counted


def test_pilots_of_many_features_see_the_groups_in_a_few():
    rng = np.random.default_rng(0)
    groups = np.pad(APART[:900], [(0, 0), (0, 80)])
    wide, apart = rng.normal(size=(2, 900, 85)), groups[rng.permutation(900)]
    rows = pilot_sample(wide[0], 7000).rows
    assert rows.shape == (900, 15)
    given = {"n_components": 5}
    noise, found = (
        effort(CLUSTERERS["Gaussian mixture"], given, pilot_sample(X, 7000))
        for X in (wide[1], apart + 0.1 * wide[0])
    )
    assert noise > 1.5 * found


def test_what_cannot_be_fitted_is_no_effort_known():
    few, none = pilot_sample(NOISE[:20], 7000), pilot_sample(NOISE[:0], 7000)
    assert effort(CLUSTERERS["k-means"], {"n_clusters": 99}, few) == 1
    assert effort(CLUSTERERS["k-means"], {"n_clusters": 2}, none) == 1
    assert effort(CLUSTERERS["DBSCAN"], {}, few) == 1


@pytest.mark.parametrize("n", [1500, 7000])
def test_estimates_know_what_the_data_are_like(monkeypatch, n):
    monkeypatch.setattr(paces, "directories", list)
    tables = NOISE[:n], APART[:n]
    noise, apart = (estimate_pool(X, POOL, n_jobs=1).seconds for X in tables)
    # A shape alone does not tell.
    assert apart < estimate_pool((n, 5), POOL, n_jobs=1).seconds < noise


def test_a_second_estimate_measures_nothing_anew(monkeypatch):
    X = np.random.default_rng(1).normal(size=(7000, 4))
    first = estimate_pool(X, n_jobs=1)
    for name in ("_jobs.effort", "_quantiles.pdist", "_quantiles.NearestNeighbors"):
        monkeypatch.setattr(f"clusterlens.compute.pool.{name}", None)
    again = estimate_pool(X.copy(), n_jobs=1)
    assert again.names == first.names
    np.testing.assert_array_equal(again.model_seconds, first.model_seconds)
    with pytest.raises(TypeError, match="not callable"):
        estimate_pool(X + 1, n_jobs=1)
