"""Torque Clustering against a plain definition and the published table."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from clusterlens.compute.estimators.torque import TorqueClustering, _connect_all
from tests.folders import DATA, REFERENCE

TABLES = json.loads((REFERENCE / "cns_paper_tables.json").read_text())


def connect_naively(distances):
    """Rounds of single-link nearest clusters; rows (mass, distance, round)."""
    clusters = [[i] for i in range(len(distances))]
    made, round_number = [], 0
    while len(clusters) > 1:
        link = np.array(
            [
                [
                    distances[np.ix_(a, b)].min() if a is not b else np.inf
                    for b in clusters
                ]
                for a in clusters
            ]
        )
        nearest = link.argmin(axis=1)
        sizes = [len(c) for c in clusters]
        links = set()
        for a, b in enumerate(nearest):
            if sizes[b] >= sizes[a]:
                links.add((min(a, b), max(a, b)))
        made += [(sizes[a] * sizes[b], link[a, b], round_number) for a, b in links]
        group = list(range(len(clusters)))
        for a, b in links:
            group = [group[a] if g == group[b] else g for g in group]
        clusters = [
            [i for c, h in zip(clusters, group, strict=True) if h == g for i in c]
            for g in sorted(set(group))
        ]
        round_number += 1
    return sorted(made)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    n_samples=st.integers(2, 60),
    n_features=st.sampled_from([1, 2, 10]),
)
def test_connections_are_those_of_the_definition(seed, n_samples, n_features):
    X = np.random.default_rng(seed).normal(size=(n_samples, n_features))
    pairs, masses, squares, rounds = _connect_all(X)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    expected = connect_naively(distances)
    found = sorted(zip(masses, np.sqrt(squares), rounds, strict=True))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(distances[tuple(pairs.T)] ** 2, squares, rtol=1e-9)


def test_scan_takes_over_where_the_neighbor_lists_end(monkeypatch):
    X = np.random.default_rng(0).normal(size=(90, 3))
    expected = _connect_all(X)
    monkeypatch.setattr("clusterlens.compute.estimators.torque.LISTED", 1)
    for short, long in zip(_connect_all(X), expected, strict=True):
        np.testing.assert_array_equal(short, long)


def test_connections_form_a_tree_even_with_ties():
    X = np.random.default_rng(1).integers(0, 3, (200, 2)).astype(float)
    model = TorqueClustering(n_clusters=1).fit(X)
    assert model.connections_.shape == (199, 2)
    assert model.n_clusters_ == 1
    assert TorqueClustering(n_clusters=7).fit(X).n_clusters_ == 7


def test_torques_descend_and_first_rounds_have_no_gap():
    X = load_iris().data
    model = TorqueClustering().fit(X)
    assert (np.diff(model.torques_) <= 0).all()
    assert (model.gaps_ >= 0).all()
    assert model.n_clusters_ == np.argmax(model.gaps_) + 2


@pytest.mark.data
@pytest.mark.skipif(not DATA.exists(), reason="the research data sets are not here")
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize(
    "name", ["iris", "wine", "wdbc", "glass", "ecoli", "zoo", "vowel"]
)
def test_tables_of_the_paper_are_reproduced(name, metric):
    frame = pd.read_csv(DATA / "uci" / f"{name}.csv.gz")
    truth = pd.factorize(frame.pop("label"))[0]
    X = frame.loc[:, frame.std() > 0].to_numpy(float)
    labels = TorqueClustering(metric=metric).fit_predict((X - X.mean(0)) / X.std(0))
    table, column = TABLES["data_sets"][name], f"TC{metric[0]}"
    ami = adjusted_mutual_info_score(truth, labels, average_method="max")
    assert 100 * ami == pytest.approx(table["AMI"][column], abs=0.0051)
    ari = adjusted_rand_score(truth, labels)
    assert 100 * ari == pytest.approx(table["ARI"][column], abs=0.0051)


def test_row_without_direction_is_refused_under_cosine():
    with pytest.raises(ValueError, match="row 1 equal to zero"):
        TorqueClustering(metric="cosine").fit([[1.0, 0.0], [0.0, 0.0]])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_identical_samples_make_one_cluster(metric):
    model = TorqueClustering(metric=metric).fit(np.ones((40, 2)))
    assert model.n_clusters_ == 1
    assert model.labels_.tolist() == [0] * 40


def test_two_places_of_many_equal_samples_make_two_clusters():
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    assert TorqueClustering().fit_predict(X).tolist() == [0] * 20 + [1] * 20
