"""Selective nearest neighbours: cores, reached borders and outliers."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from clusterlens.compute.estimators.selective_nn import SelectiveNN
from tests.folders import DATA, REFERENCE

TABLES = json.loads((REFERENCE / "cns_paper_tables.json").read_text())


def test_each_round_peels_a_tenth_rounded_up():
    core, border = SelectiveNN(n_rounds=2)._split(
        np.random.default_rng(0).normal(size=(95, 2))
    )
    assert len(core) == 95 - 10 - 9
    assert np.array_equal(np.union1d(core, border), np.arange(95))


def test_far_samples_are_clusters_of_their_own():
    X = np.random.default_rng(1).normal(size=(200, 2))
    X = np.vstack([X, [[50.0, 50.0]]])
    model = SelectiveNN().fit(X)
    assert 200 in model.outliers_
    assert (model.labels_ == model.labels_[200]).sum() == 1


@pytest.mark.data
@pytest.mark.skipif(not DATA.exists(), reason="the research data sets are not here")
@pytest.mark.parametrize(
    "name", ["iris", "wine", "wdbc", "glass", "ecoli", "vowel", "libra", "sonar", "zoo"]
)
def test_tables_of_the_paper_are_reproduced(name):
    frame = pd.read_csv(DATA / "uci" / f"{name}.csv.gz")
    truth = pd.factorize(frame.pop("label"))[0]
    X = frame.to_numpy(float)
    labels = SelectiveNN().fit_predict((X - X.mean(axis=0)) / X.std(axis=0))
    ami = adjusted_mutual_info_score(truth, labels, average_method="max")
    ari = adjusted_rand_score(truth, labels)
    printed = TABLES["data_sets"][name]
    assert 100 * ami == pytest.approx(printed["AMI"]["SNNC"], abs=0.0051)
    assert 100 * ari == pytest.approx(printed["ARI"]["SNNC"], abs=0.0051)
