"""CH_btwn against stored values and a naive definition, its axioms and its limits."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import datasets
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.indices._class_pairs import ADJUSTED_MEASURES, geometric_median
from clusterlens.compute.indices.class_match import (
    MAX_ADAPTIVE_PERMUTATIONS,
    MEASURES,
    LabelCheck,
    label_match,
    rename_check,
)
from clusterlens.compute.indices.evidence import label_evidence, rename_evidence
from tests.folders import DATA, REFERENCE

STORED = json.loads((REFERENCE / "clm.json").read_text(encoding="utf-8"))
CASES = {case["name"]: case for case in STORED["datasets"]}
COLLECTION = STORED["collection_ch_btwn_T100"]
CLM96 = DATA / "clm96"
BUNDLED = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast_cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
STORED_MEASURES = {
    "CHI": "calinski_harabasz",
    "DBI": "davies_bouldin",
    "DI": "dunn",
    "I": "i_index",
    "XBI": "xie_beni",
    "SI": "silhouette",
}


def load(case):
    if "X" in case:
        return np.array(case["X"]), np.array(case["y"])
    name, form = case["name"].rsplit("_", 1)
    X, labels = BUNDLED[name](return_X_y=True)
    return (StandardScaler().fit_transform(X) if form == "standardised" else X), labels


def iris():
    return datasets.load_iris(return_X_y=True)


def distance_from(value, check, stored, stored_error):
    """Difference in standard errors of both sides."""
    return abs(value - stored) / math.hypot(check.standard_error, stored_error)


# Stored values ----------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_score_equals_the_stored_value(name):
    case = CASES[name]
    check = label_match(*load(case), n_permutations=300)
    for row in check.pairs.itertuples():
        stored = case["pairs"][f"{row.class_a},{row.class_b}"]
        assert (row.n_a, row.n_b) == (stored["n1"], stored["n2"])
    if case["se_ch_btwn"] > 0:
        error = distance_from(check.score, check, case["ch_btwn"], case["se_ch_btwn"])
        assert error < 4
        assert 0 < check.standard_error < 2e-3
    else:
        assert check.score == pytest.approx(case["ch_btwn"], abs=1e-9)
        assert check.standard_error == 0
        assert check.pairs["exact"].all()


@pytest.mark.parametrize("name", [name for name in CASES if "exact" in name])
def test_each_enumerated_pair_equals_the_stored_value(name):
    case = CASES[name]
    check = label_match(*load(case))
    for row in check.pairs.itertuples():
        stored = case["pairs"][f"{row.class_a},{row.class_b}"]
        assert row.score == pytest.approx(stored["ch3"], abs=1e-9)
        assert row.n_permutations == stored["n_permutations"]


@pytest.mark.parametrize("name", CASES)
def test_package_convention_equals_the_stored_value(name):
    case = CASES[name]
    check = label_match(*load(case), convention="package", n_permutations=300)
    stored, error = case["ch_btwn_reference_convention"], case["se_ch_btwn"]
    assert check.score == pytest.approx(
        stored, abs=max(1e-9, 4 * math.hypot(check.standard_error, error))
    )


@pytest.mark.parametrize("measure", STORED_MEASURES)
@pytest.mark.parametrize(
    "name", [n for n in CASES if CASES[n].get("adjusted_later_generalisation")]
)
def test_later_measures_equal_the_stored_value(name, measure):
    stored = CASES[name]["adjusted_later_generalisation"][STORED_MEASURES[measure]]
    check = label_match(*load(CASES[name]), measure=measure)
    assert check.score == pytest.approx(stored, abs=1e-8)
    assert check.standard_error == 0


@pytest.mark.data
@pytest.mark.skipif(not CLM96.is_dir(), reason=f"no data sets in {CLM96}")
@pytest.mark.parametrize(
    "name",
    ["banknote_authentication", "ecoli", "glass_identification", "planning_relax"],
)
def test_score_of_a_collected_set_equals_the_stored_value(name):
    table = pd.read_csv(CLM96 / f"{name}.csv.gz")
    labels = pd.factorize(table["label"], sort=True)[0]
    check = label_match(table.iloc[:, :-1], labels, n_permutations=200)
    stored = COLLECTION[name]
    assert distance_from(check.score, check, stored["ch_btwn"], stored["se"]) < 4


# The definition ---------------------------------------------------------------------


def naive_ch2(X, first):
    centre = X.mean(axis=0)
    sigma = np.linalg.norm(X - centre, axis=1).std()
    between = within = 0.0
    for part in (first, ~first):
        mean = X[part].mean(axis=0)
        between += part.sum() * math.exp(np.linalg.norm(mean - centre) / sigma)
        within += sum(math.exp(np.linalg.norm(x - mean) / sigma) for x in X[part])
    ratio = between * (len(X) - 2) / within
    return ratio / (1 + ratio)


def naive_score(X, labels):
    """The left-hand form with plain exponentials and all assignments."""
    scores = []
    for a, b in combinations(np.unique(labels), 2):
        chosen = X[(labels == a) | (labels == b)]
        own = labels[(labels == a) | (labels == b)] == a
        expected = np.mean(
            [
                naive_ch2(chosen, np.isin(np.arange(len(own)), picked))
                for picked in combinations(range(len(own)), own.sum())
            ]
        )
        scores.append((naive_ch2(chosen, own) - expected) / (1 - expected))
    return np.mean(scores)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(2, 3))
def test_enumerated_score_equals_the_naive_definition(seed, n_features, n_classes):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, n_features))
    labels = np.r_[np.arange(n_classes), rng.integers(0, n_classes, 9 - n_classes)]
    assume_three = np.bincount(labels).min() >= 2
    if assume_three:
        check = label_match(X, labels)
        assert check.score == pytest.approx(naive_score(X, labels), abs=1e-10)


def test_sampled_score_agrees_with_the_enumerated_one(monkeypatch):
    rng = np.random.default_rng(1)
    X = np.r_[rng.normal(size=(7, 2)), rng.normal(1, 1, size=(8, 2))]
    labels = np.repeat([0, 1], [7, 8])
    exact = label_match(X, labels)
    monkeypatch.setattr("clusterlens.compute.indices.class_match.MAX_ENUMERATED", 0)
    sampled = label_match(X, labels, n_permutations=4000)
    assert exact.pairs["exact"].all()
    assert not sampled.pairs["exact"].any()
    assert abs(exact.score - sampled.score) < 4 * sampled.standard_error


def test_renamed_results_are_those_of_renamed_classes():
    rng = np.random.default_rng(3)
    X, labels = rng.normal(size=(12, 2)), np.repeat([0, 1, 2], 4)
    names = {0: 7, 1: 2, 2: 5}
    other = np.array([names[k] for k in labels])
    found = rename_check(label_match(X, labels), names)
    expected = label_match(X, other)
    pd.testing.assert_frame_equal(found.pairs, expected.pairs)
    assert (found.score, found.notes) == (pytest.approx(expected.score), expected.notes)
    evidence = rename_evidence(label_evidence(X, labels, n_shuffles=1), names)
    expected = label_evidence(X, other, n_shuffles=1)
    pd.testing.assert_frame_equal(evidence.pairs, expected.pairs)


def test_standard_error_is_the_spread_over_seeds():
    X, labels = iris()
    checks = [
        label_match(X, labels, n_permutations=50, random_state=s) for s in range(60)
    ]
    spread = np.std([check.score for check in checks], ddof=1)
    stated = np.mean([check.standard_error for check in checks])
    assert spread == pytest.approx(stated, rel=0.35)


def test_adaptive_number_of_permutations_reaches_its_target():
    X, labels = datasets.load_wine(return_X_y=True)
    check = label_match(X, labels, n_permutations="adaptive", max_standard_error=2e-3)
    assert (check.pairs["standard_error"] <= 2e-3).all()
    assert check.pairs["n_permutations"].nunique() > 1
    strict = label_match(X, labels, n_permutations="adaptive", max_standard_error=0)
    assert (strict.pairs["n_permutations"] == MAX_ADAPTIVE_PERMUTATIONS).all()


def test_blocks_of_permutations_do_not_change_the_score(monkeypatch):
    X, labels = iris()
    whole = label_match(X, labels, n_permutations=100)
    monkeypatch.setattr("clusterlens.compute.indices.class_match._BLOCK_ENTRIES", 700)
    blocked = label_match(X, labels, n_permutations=100)
    assert blocked.score == pytest.approx(whole.score, abs=1e-12)


def test_more_features_than_samples_are_reduced_without_loss():
    rng = np.random.default_rng(2)
    low = rng.normal(size=(40, 6)) + np.repeat([[0], [2]], 20, axis=0)
    rotation = np.linalg.qr(rng.normal(size=(300, 6)))[0]
    labels = np.repeat([0, 1], 20)
    high = label_match(low @ rotation.T, labels, n_permutations=50)
    direct = label_match(low, labels, n_permutations=50)
    assert high.score == pytest.approx(direct.score, abs=1e-10)


# Axioms -----------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e6, 1e-6])
def test_w1_scale_rotation_and_shift_do_not_matter(factor):
    X, labels = iris()
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    score = label_match(X, labels).score
    assert label_match(factor * X, labels).score == pytest.approx(score, abs=1e-9)
    assert label_match(X @ rotation + 3, labels).score == pytest.approx(score, abs=1e-9)


def moved_towards_means(X, labels, factor):
    means = np.array([X[labels == k].mean(axis=0) for k in np.unique(labels)])[labels]
    return means + factor * (X - means)


def moved_means(X, labels, factor):
    means = np.array([X[labels == k].mean(axis=0) for k in np.unique(labels)])[labels]
    return X + (factor - 1) * (means - X.mean(axis=0))


@pytest.mark.parametrize(
    ("move", "factors", "expected"),
    [
        (
            moved_towards_means,
            (3, 2, 1.5, 1, 0.8, 0.6, 0.4, 0.2, 0.1),
            (0.730, 0.851, 0.905, 0.953, 0.971, 0.987, 0.998, 1, 1),
        ),
        (
            moved_means,
            (0.25, 0.5, 1, 2, 4, 10),
            (0.615, 0.851, 0.953, 0.993, 1.000, 1.000),
        ),
    ],
)
def test_w2_tighter_or_more_distant_classes_score_higher(move, factors, expected):
    X, labels = iris()
    checks = [label_match(move(X, labels, f), labels) for f in factors]
    scores = [check.score for check in checks]
    np.testing.assert_allclose(scores, expected, atol=4e-3)
    for before, after in pairwise(checks):
        error = math.hypot(before.standard_error, after.standard_error)
        assert after.score >= before.score - 4 * error - 1e-12


def test_w3_any_partition_can_be_made_a_good_one():
    X, _ = iris()
    labels = np.random.default_rng(0).integers(0, 3, 150)
    assert label_match(X, labels).score < 0.2
    assert label_match(moved_means(X, labels, 200), labels).score > 0.95


def test_w4_order_of_rows_and_names_of_classes_do_not_matter():
    X, labels = iris()
    order = np.random.default_rng(0).permutation(150)
    renamed = np.array([5, -7, 1])[labels]
    check = label_match(X, labels)
    other = label_match(X[order], renamed[order])
    error = distance_from(other.score, check, check.score, other.standard_error)
    assert error < 4
    case = CASES["tiny_three_classes_exact"]
    X, labels = load(case)
    moved = label_match(X[::-1], np.array([5, -7, 1])[labels[::-1]])
    assert moved.score == pytest.approx(case["ch_btwn"], abs=1e-12)


def test_b1_number_of_samples_matters_little():
    X, labels = iris()
    full = label_match(X, labels).score
    rng = np.random.default_rng(0)
    halves = []
    for _ in range(10):
        half = np.concatenate(
            [
                rng.choice(np.flatnonzero(labels == k), 25, replace=False)
                for k in (0, 1, 2)
            ]
        )
        halves.append(label_match(X[half], labels[half], n_permutations=300).score)
    assert np.mean(halves) == pytest.approx(full, abs=0.02)
    copies = label_match(np.tile(X, (4, 1)), np.tile(labels, 4)).score
    assert copies == pytest.approx(full, abs=0.02)


@settings(max_examples=25)
@given(st.floats(0, 50), st.integers(0, 1000))
def test_b2_a_constant_added_to_all_distances_cancels(shift, seed):
    # The axiom is about the ratio as a function of distances: sigma does not change,
    # and exp(shift / sigma) is a factor of its numerator and its denominator.
    rng = np.random.default_rng(seed)
    to_centre, to_own, of_means = rng.random(30), rng.random(30), rng.random(2)

    def log_ratio(beta):
        sigma = np.std(to_centre + beta)
        between = np.logaddexp.reduce((of_means + beta) / sigma + np.log(15))
        return between - np.logaddexp.reduce((to_own + beta) / sigma)

    assert log_ratio(shift) == pytest.approx(log_ratio(0), abs=1e-9)


def test_b3_score_is_the_mean_of_pairs_that_ignore_other_classes():
    X, labels = iris()
    check = label_match(X, labels)
    assert check.score == pytest.approx(check.pairs["score"].mean(), abs=0)
    without = label_match(X[labels > 0], labels[labels > 0])
    kept = check.pairs.query("class_a == 1 and class_b == 2").iloc[0]
    assert without.pairs.iloc[0]["score"] == kept["score"]
    errors = check.pairs["standard_error"]
    assert check.standard_error == pytest.approx(np.sqrt((errors**2).sum()) / 3)


def test_b4_random_classes_score_zero_on_average():
    X, labels = iris()
    rng = np.random.default_rng(0)
    scores = [
        label_match(X, rng.permutation(labels), n_permutations=200).score
        for _ in range(30)
    ]
    assert max(scores) <= 1
    assert abs(np.mean(scores)) < 4 * np.std(scores, ddof=1) / np.sqrt(30)
    assert min(scores) < 0


# Limits -----------------------------------------------------------------------------


def test_classes_far_apart_do_not_overflow():
    X = np.r_[np.zeros((10, 2)), np.full((10, 2), 1e6)]
    X = X + np.random.default_rng(0).normal(size=X.shape)
    check = label_match(X, np.repeat([0, 1], 10), n_permutations=200)
    assert check.score == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("share", "limit"),
    [(0.5, 1), (0.7, 0.995), (0.8, 0.978), (0.9, 0.964), (0.95, 0.98), (0.98, 0.9985)],
)
def test_limit_of_distant_classes_depends_on_their_sizes(share, limit):
    n_first = round(100 * share)
    X = np.random.default_rng(0).normal(size=(100, 2))
    X[:n_first] += 1e5
    labels = np.arange(100) < n_first
    assert label_match(X, labels).score == pytest.approx(limit, abs=1e-3)


def test_nested_rings_score_near_zero():
    angle = np.linspace(0, 2 * np.pi, 150, endpoint=False)
    ring = np.c_[np.cos(angle), np.sin(angle)]
    check = label_match(np.r_[ring, 5 * ring], np.repeat([0, 1], 150))
    assert abs(check.score) < 0.25


def test_one_far_outlier_hides_separate_classes():
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[:100] += 8
    labels = np.repeat([0, 1], 100)
    assert label_match(X, labels).score == pytest.approx(1, abs=0.01)
    X[0] = 50
    assert label_match(X, labels).score == pytest.approx(0.14, abs=0.02)


def test_coinciding_samples_score_zero_with_a_note():
    check = label_match(np.ones((12, 2)), np.repeat([0, 1], 6))
    assert check.score == 0
    assert "coincide" in check.notes[0]


def test_two_points_repeated_reach_the_limit():
    X = np.repeat([[0.0], [1.0]], 10, axis=0)
    assert label_match(X, np.repeat([0, 1], 10)).score == pytest.approx(1)


def test_pairs_of_two_samples_are_skipped_and_small_classes_noted():
    X = np.arange(14.0)[:, None]
    labels = np.r_[0, 1, np.full(12, 2)]
    check = label_match(X, labels)
    row = check.pairs.query("class_a == 0 and class_b == 1").iloc[0]
    assert math.isnan(row["score"])
    assert "skipped" in row["note"]
    assert check.score == pytest.approx(check.pairs["score"].mean())
    assert any("class 0 has 1 sample;" in note for note in check.notes)
    only = label_match([[0.0], [1.0]], [0, 1])
    assert math.isnan(only.score)


def test_matrix_arranges_the_pairs():
    check = label_match(*iris())
    table = check.matrix()
    assert list(table.index) == list(table.columns) == [0, 1, 2]
    assert table.loc[1, 2] == table.loc[2, 1]
    assert table.loc[1, 2] == pytest.approx(0.861, abs=5e-3)
    assert np.isnan(np.diag(table)).all()


@pytest.mark.parametrize("measure", [m for m in MEASURES if m != "CH_btwn"])
@pytest.mark.parametrize(
    "X",
    [
        np.ones((8, 2)),
        np.repeat([[0.0], [1.0]], 4, axis=0),
        np.array([[1.0], [-1.0], [2.0], [-2.0]] * 2),
        np.r_[np.zeros((4, 1)), np.full((4, 1), 1e9)],
    ],
    ids=["one point", "two points", "same centre", "far apart"],
)
def test_later_measures_stay_in_range_at_the_limits(measure, X):
    check = label_match(X, np.repeat([0, 1], 4), measure=measure)
    assert -1 <= check.score <= 1


def test_later_measures_do_not_depend_on_the_unit():
    X, labels = iris()
    for measure in ADJUSTED_MEASURES:
        score = label_match(X, labels, measure=measure).score
        scaled = label_match(1e6 * X + 5, labels, measure=measure).score
        assert scaled == pytest.approx(score, abs=1e-7)


def test_geometric_median_on_a_sample_and_between_samples():
    cross = np.array([[0.0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])
    np.testing.assert_allclose(geometric_median(cross + 7), [7, 7], atol=1e-6)
    triangle = np.array([[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])
    np.testing.assert_allclose(
        geometric_median(1e8 * triangle), 1e8 * triangle.mean(axis=0), rtol=1e-8
    )


# Arguments --------------------------------------------------------------------------


def test_result_is_frozen_and_deterministic():
    X, labels = iris()
    check = label_match(X, labels, random_state=5)
    assert isinstance(check, LabelCheck)
    with pytest.raises(AttributeError):
        check.score = 1.0
    again = label_match(X, labels, random_state=5)
    pd.testing.assert_frame_equal(check.pairs, again.pairs)
    assert label_match(X, labels, random_state=6).score != check.score


def test_progress_counts_pairs_and_cancel_stops():
    X, labels = iris()
    seen = []
    label_match(X, labels, n_permutations=10, progress=lambda *at: seen.append(at))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    with pytest.raises(Cancelled):
        label_match(X, labels, cancel=lambda: True)


@pytest.mark.parametrize("measure", ["CH_btwn", "SI"])
def test_scores_do_not_depend_on_the_threads(measure):
    X, labels = iris()
    one = label_match(X, labels, measure=measure, n_jobs=1)
    with ThreadPoolExecutor(3) as executor:
        many = label_match(X, labels, measure=measure, n_jobs=3, executor=executor)
    pd.testing.assert_frame_equal(one.pairs, many.pairs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": [0] * 150}, "labels has 1 class"),
        ({"labels": [0, 1]}, "2 entries for 150 samples"),
        ({"measure": "CH"}, "measure is 'CH'"),
        ({"convention": "both"}, "convention is 'both'"),
        ({"n_permutations": 1}, "n_permutations is 1"),
        ({"n_permutations": 2.5}, "whole number"),
        ({"max_standard_error": -1}, "max_standard_error is -1"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    X, labels = iris()
    with pytest.raises(ValueError, match=message):
        label_match(X, **({"labels": labels} | arguments))


def test_classes_may_be_named_by_texts() -> None:
    X, y = datasets.load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    check = label_match(X, pd.Series(names[y]), n_permutations=50)
    assert check.pairs["class_a"].tolist() == ["setosa", "setosa", "versicolor"]
    assert check.score == pytest.approx(label_match(X, y).score, abs=0.01)
    alone = label_match(X[y > 0], names[y[y > 0]], n_permutations=50)
    assert alone.score == check.pairs["score"].iloc[-1]


def test_samples_without_a_class_are_left_out_and_counted():
    X, labels = make_blobs(60, 2, centers=3, random_state=0)
    kept = np.arange(60) % 10 > 0
    expected = label_match(X[kept], labels[kept])
    marked = np.where(kept, labels, -1)
    check = label_match(X, marked)
    assert (check.score, check.n_left_out) == (expected.score, 6)
    assert check.notes[0] == "6 samples without a class were left out"
    assert expected.n_left_out == 0
    names = np.array(["a", "b", "c"], dtype=object)
    texts = names[labels]
    for missing in (None, np.nan, pd.NA):
        texts[~kept] = missing
        check = label_match(X, texts)
        assert check.score == label_match(X[kept], names[labels[kept]]).score
        assert check.n_left_out == 6
    noise = label_match(X, marked, unlabelled=None)
    assert len(noise.pairs) == 6
    assert noise.n_left_out == 0


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("factor", [1e-100, 1e100])
def test_a_common_factor_of_any_size_does_not_matter(measure, factor):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(40, 3)), np.repeat([0, 1], 20)
    X[20:] += 0.7
    plain, scaled = (
        label_match(rows, labels, measure=measure, n_permutations=100).score
        for rows in (X, X * factor)
    )
    assert scaled == pytest.approx(plain, abs=1e-6)
