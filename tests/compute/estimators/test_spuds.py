"""SPUDS: similarities, embedding and the density along paths."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute.estimators import spuds
from clusterlens.compute.estimators.spuds import SPUDS
from tests.folders import DATA, REFERENCE

TABLES = json.loads((REFERENCE / "cns_paper_tables.json").read_text())


def similarities(X, sigma):
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    return np.exp(-squares / (2 * sigma**2))


def test_bandwidth_follows_its_formula():
    X = np.random.default_rng(0).normal(size=(100, 3)) * [1, 2, 0.01]
    values = np.linalg.eigvalsh(np.cov(X.T))[1:]
    expected = 1.2 * np.sqrt(values.mean()) * (4 / (4 * 100)) ** (1 / 6)
    assert spuds._bandwidth(X, 1.2) == pytest.approx(expected)


def test_embedding_solves_the_normalised_eigenproblem():
    X = np.random.default_rng(0).normal(size=(150, 2))
    found = spuds._embed(X, 0.7)
    S = similarities(X, 0.7)
    np.testing.assert_allclose(found.density, S.sum(axis=1), rtol=1e-12)
    np.fill_diagonal(S, 0)
    degrees = S.sum(axis=1)
    assert degrees.min() > 1e-5 * degrees.max()
    # The leading eigenvector of D^-1 S is constant.
    leading = found.vectors[:, 0]
    np.testing.assert_allclose(leading, leading[0], rtol=1e-6)
    second = found.vectors[:, 1]
    ratio = (S @ second) / degrees / second
    np.testing.assert_allclose(ratio, np.median(ratio), rtol=1e-3)


def test_a_path_through_a_dip_falls_below_the_lower_peak():
    X = np.vstack([np.zeros((20, 1)), np.full((20, 1), 5.0)])
    starts, ends = np.array([0]), np.array([20])
    peaks = np.array([similarities(X, 1.0)[0].sum()])
    assert not spuds._any_path_stays_above(X, starts, ends, peaks, 1.0)
    assert spuds._any_path_stays_above(X, starts, ends, peaks, 4.0)


def test_many_groups_raise_the_number_of_clusters():
    X, truth = make_blobs(1000, 10, centers=25, random_state=0)
    labels = SPUDS(n_init=3).fit_predict(X)
    assert adjusted_rand_score(truth, labels) > 0.9


def test_too_many_samples_are_refused_before_memory_is_taken(monkeypatch):
    monkeypatch.setattr(spuds, "MEMORY_LIMIT", 1000)
    with pytest.raises(MemoryError, match="SPUDS for 50 samples"):
        SPUDS().fit(np.random.default_rng(0).normal(size=(50, 2)))


@pytest.mark.data
@pytest.mark.skipif(not DATA.exists(), reason="the research data sets are not here")
@pytest.mark.parametrize(
    ("file", "name"), [("banknote", "banknote"), ("yeast", "yeast_uci")]
)
def test_tables_of_the_paper_are_reproduced(file, name):
    frame = pd.read_csv(DATA / "uci" / f"{file}.csv.gz")
    truth = pd.factorize(frame.pop("label"))[0]
    X = frame.to_numpy(float)
    labels = SPUDS().fit_predict((X - X.mean(axis=0)) / X.std(axis=0))
    printed = TABLES["data_sets"][name]["ARI"]["SC"]
    assert 100 * adjusted_rand_score(truth, labels) == pytest.approx(
        printed, abs=0.0051
    )


def test_a_far_group_of_many_lone_samples_is_embedded():
    rng = np.random.default_rng(0)
    X = np.vstack(
        [rng.normal(size=(100, 2)), 1e3 * np.arange(1, 101)[:, None] + [0, 0]]
    )
    vectors = spuds._embed(X, 0.5).vectors
    assert vectors.shape == (200, 49)
    assert np.isfinite(vectors).all()
