"""Mean shift on nearest neighbours against moving each sample by itself."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_mutual_info_score

from clusterlens.compute.estimators.knn_mean_shift import KNNMeanShift
from tests.folders import DATA, REFERENCE

TABLES = json.loads((REFERENCE / "cns_paper_tables.json").read_text())


def climb(x, X, n_neighbors):
    before = None
    while True:
        squares = ((X - x) ** 2).sum(axis=1)
        near = tuple(sorted(np.argsort(squares, kind="stable")[:n_neighbors]))
        if near == before:
            return near
        before, x = near, X[list(near)].mean(axis=0)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    n_neighbors=st.integers(1, 30),
    max_overlap=st.sampled_from([0, 0.3, 0.5, 0.8, 1]),
)
def test_samples_share_a_cluster_when_chains_of_overlapping_ends_join_them(
    seed, n_neighbors, max_overlap
):
    X = np.random.default_rng(seed).normal(size=(30, 2))
    ends = [climb(x, X, n_neighbors) for x in X]
    joined = np.array(
        [
            [a == b or len({*a} & {*b}) > max_overlap * n_neighbors for b in ends]
            for a in ends
        ]
    )
    reached = np.linalg.matrix_power(joined.astype(float), 30) > 0
    model = KNNMeanShift(n_neighbors, max_overlap).fit(X)
    np.testing.assert_array_equal(
        model.labels_[:, None] == model.labels_[None], reached
    )


def test_a_mode_is_where_most_samples_of_the_cluster_end():
    X = np.random.default_rng(3).normal(size=(60, 2))
    ends = [climb(x, X, 9) for x in X]
    model = KNNMeanShift(9).fit(X)
    assert model.n_clusters_ < len(set(ends))
    for cluster, mode in enumerate(model.modes_):
        own = [end for end, c in zip(ends, model.labels_, strict=True) if c == cluster]
        most = max(own.count(end) for end in own)
        means = [X[list(end)].mean(axis=0) for end in own if own.count(end) == most]
        assert any(np.allclose(mode, mean) for mean in means)


def test_one_blob_is_one_cluster_only_when_overlapping_ends_are_joined():
    X = np.random.default_rng(0).normal(size=(300, 2))
    apart = KNNMeanShift(30, max_overlap=1).fit(X).n_clusters_
    assert KNNMeanShift(30).fit(X).n_clusters_ < apart


@pytest.mark.data
@pytest.mark.skipif(not DATA.exists(), reason="the research data sets are not here")
def test_tables_of_the_paper_are_met_in_level():
    gaps = []
    for name in ("wine", "wdbc", "auto", "libra", "banknote"):
        frame = pd.read_csv(DATA / "uci" / f"{name}.csv.gz")
        truth = pd.factorize(frame.pop("label"))[0]
        X = frame.to_numpy(float)
        labels = KNNMeanShift().fit_predict((X - X.mean(axis=0)) / X.std(axis=0))
        ami = adjusted_mutual_info_score(truth, labels, average_method="max")
        expected = TABLES["data_sets"][name]["AMI"]["MS"]
        gaps.append(abs(100 * ami - expected))
    assert np.mean(gaps) < 5


def test_all_neighbors_make_one_cluster_and_one_makes_every_sample_one():
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert KNNMeanShift(20).fit(X).n_clusters_ == 1
    assert KNNMeanShift(1).fit(X).n_clusters_ == 20


def test_bad_parameters_are_named():
    with pytest.raises(
        ValueError, match=r"max_overlap is 1\.5; give a value from 0 to 1"
    ):
        KNNMeanShift(max_overlap=1.5).fit(np.zeros((5, 1)))
    with pytest.raises(ValueError, match="n_neighbors is 6; give a value from 1 to 5"):
        KNNMeanShift(6).fit(np.zeros((5, 1)))
