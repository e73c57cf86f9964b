"""The protocol of the DISCOTEC benchmark, on cases small enough to check by hand."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau
from sklearn.metrics import adjusted_rand_score

from benchmarks import discotec_synthetic
from benchmarks.discotec_answers import own_distance_tau
from benchmarks.discotec_protocol import (
    COLUMNS,
    CONSENSUS_METRICS,
    METRICS,
    DataSet,
    chosen_ari,
    correlations,
    measure_columns,
    read,
    regret,
    specs,
    summary,
)
from benchmarks.discotec_synthetic import one_truth, perturb, two_hubs
from benchmarks.discotec_tables import PRINTED
from clusterlens.compute.ensemble.agreement import count_agreements
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.pool.specs import pool_specs
from clusterlens.compute.ranking.scores import discotec


def blobs(collection):
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 2)) + 6 * np.array([[0, 0], [1, 0], [0, 1]])[classes]
    return DataSet(collection, "blobs", X, 100 * X, classes)


def of(values, ari):
    return pd.DataFrame({"ari": ari} | dict.fromkeys(METRICS, values))


@pytest.mark.parametrize(
    ("collection", "protocol", "counts"),
    [
        ("FCPS", "fixed", {"agglomerative": 7, "k-means": 50}),
        ("UCI", "fixed", {"agglomerative": 4, "k-means": 50}),
        ("FCPS", "free", {"agglomerative": 76, "DBSCAN": 100, "k-means": 95}),
    ],
)
def test_pools_have_the_models_of_the_paper_in_one_order(collection, protocol, counts):
    data = blobs(collection)
    models = [s["clusterer"] for s in pool_specs(specs(data, protocol), data.X)]
    assert Counter(models) == counts
    assert models == sorted(models, key=list(counts).index)


def test_columns_are_judged_as_pools_of_their_own():
    data = blobs("UCI")
    cases = measure_columns(data, "free")
    assert tuple(cases["column"].unique()) == COLUMNS["free"]
    parts = [cases[cases["column"] == column] for column in COLUMNS["free"]]
    *families, whole = (part.reset_index(drop=True) for part in parts)
    joined = pd.concat(families, ignore_index=True)
    assert (joined["model"] == whole["model"]).all()
    same = joined.drop(columns=[*CONSENSUS_METRICS, "column"])
    pd.testing.assert_frame_equal(same, whole[same.columns])
    assert not np.allclose(joined["KL"], whole["KL"])


def test_ties_and_undefined_values_are_left_to_the_definition():
    case = of([0.5, 0.9, 0.9, np.nan], [0.1, 0.2, 0.3, 1.0])
    assert (chosen_ari(case) == 0.2).all()
    # Of the three defined models two pairs are in order and one is tied: 2 / √(2 · 3).
    assert correlations(case).to_numpy() == pytest.approx(2 / np.sqrt(6))


def test_a_constant_side_has_no_correlation():
    assert correlations(of([1.0, 1.0, 1.0], [0.1, 0.2, 0.3])).isna().all()
    assert correlations(of([1.0, 2.0, 3.0], [0.5, 0.5, 0.5])).isna().all()


def test_regret_is_to_the_best_metric_and_undefined_ones_are_left_out():
    values = pd.Series({"AARI": 0.2, "KL": 0.7, "CHI": np.nan})
    assert regret(values)[["AARI", "KL"]].tolist() == pytest.approx([0.5, 0.0])
    rows = pd.DataFrame({"AARI": [0.0, 1.0, np.nan]})
    assert summary(rows)["AARI"] == pytest.approx((0.5, np.sqrt(0.5)))


def test_sets_of_scikit_learn_are_read_without_a_folder():
    iris = read(None, "UCI", "Iris")
    assert iris.X.shape == (150, 4)
    assert iris.n_classes == 3
    assert iris.X.std(axis=0) == pytest.approx(1)
    assert iris.index_X is iris.X
    assert read(None, "FCPS", "Atom") is None


def test_perturbed_labels_are_kept_or_become_another_one():
    rng = np.random.default_rng(0)
    labels = np.full(20_000, 3)
    assert (perturb(labels, 1.0, rng) == 3).all()
    counts = np.bincount(perturb(labels, 0.4, rng), minlength=10) / len(labels)
    expected = np.full(10, 0.6 / 9)
    expected[3] = 0.4
    assert counts == pytest.approx(expected, abs=0.02)


def test_synthetic_pools_follow_their_settings():
    planted, labels = one_truth(25, 0.9, np.random.default_rng(0))
    kept = (labels == planted).mean(axis=1)
    assert labels.shape == (25, 200)
    assert kept.min() < 0.3
    assert 0.7 < kept.max() < 0.97
    planted, labels = two_hubs("paper", 0.3, np.random.default_rng(0))
    kept = (labels == planted).mean(axis=1)
    assert (kept[:15] < 0.35).all()
    assert kept[15:].mean() > kept[:15].mean() + 0.2


def test_printed_values_name_known_metrics_and_columns():
    printed = json.loads(PRINTED.read_text(encoding="utf-8"))
    for protocol, columns in COLUMNS.items():
        for table in printed[protocol].values():
            for name, cells in table.items():
                assert name.split()[1] in columns
                assert set(cells) <= set(METRICS)


def test_synthetic_pools_are_measured_by_tau_and_by_pearson(monkeypatch):
    monkeypatch.setattr(discotec_synthetic, "REPETITIONS", 2)
    rows = discotec_synthetic.repeat(one_truth, 5, 0.9)
    assert rows.groupby("correlation").size().to_dict() == {"kendall": 2, "pearson": 2}
    setting = [ord(c) for c in "one_truth (5, 0.9) 1"]
    planted, labels = one_truth(5, 0.9, np.random.default_rng(setting))
    ari = [adjusted_rand_score(planted, row) for row in labels]
    scores = -discotec(Ensemble(labels), "tv")
    last = rows[rows["repetition"] == 1].set_index("correlation")["TV"]
    assert last["pearson"] == pytest.approx(np.corrcoef(scores, ari)[0, 1])
    assert last["kendall"] == pytest.approx(kendalltau(scores, ari).statistic)


def test_by_equation_5_models_that_break_a_link_tie_behind_the_others():
    labels = np.array([[0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1], [0, 0, 1, 2]])
    agreement = count_agreements(Ensemble(labels))
    ari = np.array([0.9, 0.7, 0.2, 0.1])
    links = Constraints(must_link=[(0, 1)], cannot_link=[(1, 2)])
    obeying = -discotec(agreement, "kl")[[0, 3]]
    expected = kendalltau([obeying[0], -99, -99, obeying[1]], ari).statistic
    assert own_distance_tau(agreement, ari, links) == pytest.approx(expected)
    impossible = Constraints(must_link=[(0, 3)])
    assert np.isnan(own_distance_tau(agreement, ari, impossible))
