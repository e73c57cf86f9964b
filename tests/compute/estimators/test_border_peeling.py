"""Border peeling: density, joins and noise."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_mutual_info_score

from clusterlens.compute.estimators.border_peeling import (
    BorderPeeling,
    border_density,
)
from clusterlens.compute.estimators.selected_models import merge_noise
from tests.folders import DATA, REFERENCE

TABLES = json.loads((REFERENCE / "cns_paper_tables.json").read_text())


@pytest.mark.parametrize("squared", [True, False])
def test_density_sums_over_those_that_have_the_sample_as_neighbor(squared):
    X = np.random.default_rng(0).normal(size=(40, 2))
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    expected = np.zeros(40)
    for j in range(40):
        near = np.argsort(distances[j])[1:8]
        scale = distances[j, near[-1]] ** (2 if squared else 1)
        expected[near] += np.exp(-(distances[j, near] ** 2) / scale)
    found = border_density(X, 7, squared=squared)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_small_sets_are_noise():
    X = make_blobs(200, centers=[[0, 0], [20, 0]], random_state=0)[0]
    X = np.vstack([X, np.random.default_rng(0).normal([0, 40], 0.1, (6, 2))])
    model = BorderPeeling(n_neighbors=5).fit(X)
    assert (model.labels_[-6:] == -1).all()
    kept = BorderPeeling(n_neighbors=5, min_cluster_size=1).fit(X)
    assert (kept.labels_ >= 0).all()


def test_no_join_is_longer_than_the_limit():
    X = np.concatenate([np.arange(60.0), 1000 + np.arange(60.0)])[:, None]
    labels = BorderPeeling(n_neighbors=4, min_cluster_size=1).fit_predict(X)
    assert not set(labels[:60]) & set(labels[60:])


@pytest.mark.data
@pytest.mark.skipif(not DATA.exists(), reason="the research data sets are not here")
@pytest.mark.parametrize("name", ["iris", "wine", "wdbc", "glass", "ecoli", "auto"])
def test_tables_of_the_paper_are_reproduced_with_noise_merged(name):
    frame = pd.read_csv(DATA / "uci" / f"{name}.csv.gz")
    truth = pd.factorize(frame.pop("label"))[0]
    X = frame.to_numpy(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    labels = merge_noise(X, BorderPeeling().fit_predict(X))
    ami = adjusted_mutual_info_score(truth, labels, average_method="max")
    expected = TABLES["data_sets"][name]["AMI"]["BPC"]
    assert 100 * ami == pytest.approx(expected, abs=0.0051)


def test_bad_parameters_are_named():
    X = np.zeros((9, 1))
    with pytest.raises(ValueError, match="n_neighbors is 0"):
        BorderPeeling(n_neighbors=0).fit(X)
    with pytest.raises(ValueError, match="link_factor is -1"):
        BorderPeeling(link_factor=-1).fit(X)
