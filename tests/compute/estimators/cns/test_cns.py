"""CNS against the published code, the published tables and its own definition."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine, make_blobs
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterlens.compute.estimators.cns._solvers import LARGEST_DIRECT
from clusterlens.compute.estimators.cns.cns import CNS
from tests.folders import DATA, REFERENCE

ORACLE = json.loads((REFERENCE / "cns.json").read_text())
TABLES = json.loads((REFERENCE / "cns_paper_tables.json").read_text())["data_sets"]
# Two candidates with identical columns: which comes first is rounding there.
TIED = {("one", "revised", 23), ("one", "v1", 15)}


def oracle_data(name):
    entry = ORACLE["data"][name]
    if "X" in entry:
        return np.array(entry["X"])
    X = load_wine().data
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def case_name(case):
    parts = [case[key] for key in ("data", "distance", "version", "run")]
    return "-".join([*parts, str(case["k_grid"][0])])


def blobs(n_samples=120, centers=3, seed=0):
    return make_blobs(n_samples, centers=centers, random_state=seed)[0]


def fit(X, **settings):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="CNS")
        return CNS(**settings).fit(X)


@pytest.mark.filterwarnings("ignore:CNS leaves:UserWarning")
@parametrize_with_checks([CNS()])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("case", ORACLE["cases"], ids=case_name)
def test_published_code_is_reproduced(case):
    powers = case["run"] == "approx_iters_50"
    model = fit(
        oracle_data(case["data"]),
        n_neighbors=case["k_grid"],
        alpha=case["alpha_grid"],
        max_clusters=case["k_max"],
        metric=case["distance"],
        version=case["version"],
        solver="powers" if powers else "exact",
        n_products=50,
    )
    expected = np.array(case["criterion"])
    found = np.nan_to_num(model.criterion_[: len(expected)], nan=-1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)
    selected = case["selected"]
    assert model.n_neighbors_ == selected["k"]
    assert model.alpha_ == pytest.approx(selected["alpha"])
    assert model.n_clusters_ == selected["K"]
    assert model.seed_labels_.tolist() == case["labels"]
    assert model.n_occupied_ == case["nonempty_clusters"]
    for row, memberships in case["prob_rows"].items():
        np.testing.assert_allclose(
            model.memberships_[int(row)], memberships, rtol=0, atol=1e-9
        )
    tied = (case["data"], case["version"], case["k_grid"][0]) in TIED
    if "seeds_in_greedy_order" in case and not tied:
        assert model.seeds_.tolist() == case["seeds_in_greedy_order"]


@pytest.mark.parametrize(
    "case", [c for c in ORACLE["cases"] if c["run"] == "default"], ids=case_name
)
def test_default_grids_are_those_of_the_published_code(case):
    X = oracle_data(case["data"])
    model = fit(X, metric=case["distance"], version=case["version"])
    assert model.n_neighbors_grid_.tolist() == case["k_grid"]
    np.testing.assert_allclose(model.alpha_grid_, case["alpha_grid"], rtol=1e-12)
    assert model.criterion_.shape[0] == case["k_max"]
    assert model.n_clusters_ == case["selected"]["K"]


@pytest.mark.data
@pytest.mark.skipif(not DATA.exists(), reason="the research data sets are not here")
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("name", ["iris", "wine", "wdbc"])
def test_tables_of_the_paper_are_reproduced(name, metric):
    frame = pd.read_csv(DATA / "uci" / f"{name}.csv.gz")
    truth = pd.factorize(frame.pop("label"))[0]
    X = frame.to_numpy(float)
    labels = fit((X - X.mean(0)) / X.std(0), metric=metric, version="v2").labels_
    ami = adjusted_mutual_info_score(truth, labels, average_method="max")
    column = f"CNS{metric[0]}"
    assert 100 * ami == pytest.approx(TABLES[name]["AMI"][column], abs=0.0051)
    ari = adjusted_rand_score(truth, labels)
    assert 100 * ari == pytest.approx(TABLES[name]["ARI"][column], abs=0.0051)


def test_memberships_are_probabilities():
    model = fit(blobs())
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1, rtol=1e-13)
    assert model.memberships_.min() >= 0
    assert model.memberships_.max() <= 1


@pytest.mark.parametrize("n_samples", [120, LARGEST_DIRECT + 1_000])
def test_small_factors_are_taken_and_exact(n_samples):
    model = fit(blobs(n_samples), n_neighbors=12, alpha=0.1)
    assert model.solver_ == "lu"
    assert model.error_bound_ < 1e-12


def test_the_iteration_goes_on_to_rounding_where_factors_are_large():
    X = np.random.default_rng(0).normal(size=(LARGEST_DIRECT + 1_000, 30))
    model = fit(X, n_neighbors=32, alpha=0.1)
    assert model.solver_ == "chebyshev"
    assert 0 < model.error_bound_ <= 2e-14


def test_given_number_of_clusters_is_kept():
    model = fit(blobs(), n_clusters=5)
    assert model.n_clusters_ == 5
    assert model.memberships_.shape == (120, 5)
    best = np.nanargmax(model.criterion_[4])
    at_k, at_alpha = np.unravel_index(best, model.criterion_.shape[1:])
    assert model.n_neighbors_ == model.n_neighbors_grid_[at_k]
    assert model.alpha_ == model.alpha_grid_[at_alpha]


def test_fewer_clusters_use_the_first_seeds():
    options = {"n_neighbors": 12, "alpha": 0.1}
    five = fit(blobs(), n_clusters=5, **options)
    three = fit(blobs(), n_clusters=3, **options)
    assert three.seeds_.tolist() == five.seeds_[:3].tolist()


def test_labels_are_consecutive_and_warn_of_seeds_without_samples():
    case = next(
        c for c in ORACLE["cases"] if c["nonempty_clusters"] < c["selected"]["K"]
    )
    model = CNS(metric=case["distance"], version=case["version"])
    with pytest.warns(UserWarning, match="only 4 of them own a sample"):
        model.fit(oracle_data(case["data"]))
    assert model.n_clusters_ == 5
    assert np.unique(model.labels_).tolist() == [0, 1, 2, 3]
    seeds_used = np.unique(model.seed_labels_)
    np.testing.assert_array_equal(seeds_used[model.labels_], model.seed_labels_)


def test_samples_that_reach_no_seed_are_flagged():
    X = np.array(ORACLE["data"]["disc"]["X"])
    model = fit(X, n_neighbors=4, alpha=0.2, max_clusters=2)
    expected = [row for row, p in enumerate(model.memberships_) if (p == 0.5).all()]
    assert np.flatnonzero(model.undecided_).tolist() == expected
    assert expected == list(range(9, 16))
    assert (model.seed_labels_[model.undecided_] == 0).all()


def test_one_cluster_where_nothing_is_gained():
    X = np.array(ORACLE["data"]["one"]["X"])
    model = fit(X, n_neighbors=20, alpha=0.2)
    assert model.n_clusters_ == 1
    assert (model.memberships_ == 1).all()
    assert not model.undecided_.any()


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), scale=st.floats(1e-3, 1e3))
def test_scale_and_rotation_change_nothing(seed, scale):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)) + 4 * rng.integers(0, 2, (60, 1))
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    before, after = fit(X), fit(scale * X @ rotation)
    np.testing.assert_array_equal(before.seed_labels_, after.seed_labels_)
    np.testing.assert_allclose(before.memberships_, after.memberships_, atol=1e-9)


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_row_order_matters_only_through_ties_of_the_in_degree(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 2))
    options = {"n_neighbors": 20, "alpha": 0.2, "max_clusters": 50, "n_clusters": 2}
    order = rng.permutation(50)
    # All samples are candidates whatever their order, and no two do not overlap.
    before, after = fit(X, **options), fit(X[order], **options)
    assert set(order[after.seeds_]) == set(before.seeds_)
    np.testing.assert_allclose(
        after.criterion_[:2], before.criterion_[:2], rtol=0, atol=1e-6
    )


def test_cosine_ignores_the_length_of_centred_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4)) + 3 * rng.integers(0, 2, (40, 1))
    X = np.vstack([X, -X])  # centred whatever the lengths of pairs
    lengths = np.tile(rng.uniform(0.5, 2, 40), 2)[:, None]
    before, after = fit(X, metric="cosine"), fit(lengths * X, metric="cosine")
    np.testing.assert_allclose(before.memberships_, after.memberships_, atol=1e-9)


@pytest.mark.parametrize("version", ["revised", "v1"])
def test_new_samples_get_the_memberships_of_the_enlarged_graph(version):
    X = blobs(60)
    model = fit(X, version=version, n_neighbors=7, alpha=0.15, n_clusters=3)
    new = X.mean(axis=0, keepdims=True) + 0.1
    found = model.predict_proba(new)[0]
    own = version == "revised"
    nearest = np.argsort(np.linalg.norm(X - new, axis=1))[: 7 - own]
    limit = np.full(3, 1 / 3)
    for _ in range(300):  # the update of the new row, the others being fixed
        rows = model.memberships_[nearest].sum(axis=0) + own * limit
        limit = 0.15 / 3 + 0.85 * rows / 7
    np.testing.assert_allclose(found, limit, atol=1e-12)
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "X",
    [np.zeros((12, 2)), np.repeat(np.eye(3), 8, axis=0), [[0.0], [1.0]]],
    ids=["all equal", "three distinct samples", "two samples"],
)
def test_duplicates_and_tiny_tables_work(X):
    for version in ("revised", "v2", "v1"):
        model = fit(np.asarray(X), version=version)
        assert len(model.labels_) == len(X)
        np.testing.assert_allclose(model.memberships_.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "n_clusters is 0"),
        ({"n_clusters": 121}, "from 1 to 120"),
        ({"n_neighbors": 120}, "n_neighbors is 120; give a value from 1 to 119"),
        ({"n_neighbors": [5, 2.5]}, "give a whole number"),
        ({"n_neighbors": "many"}, "give one of 'auto'"),
        ({"alpha": 0.0}, "alpha is 0.0"),
        ({"alpha": [0.1, 1.0]}, "alpha is 1.0"),
        ({"max_clusters": 3, "n_clusters": 4}, "max_clusters is 3; give a value from"),
        ({"metric": "manhattan"}, "metric is 'manhattan'"),
        ({"version": "v3"}, "version is 'v3'"),
        ({"solver": "magic"}, "solver is 'magic'"),
        ({"version": "v2", "n_neighbors": 100, "n_clusters": 90}, "candidate seeds"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        fit(blobs(), **options)


def test_constant_columns_change_nothing():
    X = blobs()
    widened = np.column_stack([X, np.full(len(X), 7.0)])
    np.testing.assert_array_equal(fit(X).memberships_, fit(widened).memberships_)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0.0, np.nan], [1.0, 2.0]], "contains NaN"),
        ([[0.0, 1.0]], "minimum of 2 is required"),
    ],
)
def test_unusable_tables_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        CNS().fit(X)


def test_row_without_direction_is_refused_under_cosine():
    X = np.vstack([np.eye(3), -np.eye(3), np.zeros((1, 3))])
    with pytest.raises(ValueError, match="row 6 equal to the column means"):
        CNS(metric="cosine").fit(X)


def test_solutions_too_large_for_memory_are_refused_first(monkeypatch):
    monkeypatch.setattr(
        "clusterlens.compute.estimators.cns._solution.MEMORY_LIMIT", 1000
    )
    with pytest.raises(MemoryError, match="CNS with 50 candidate seeds"):
        CNS().fit(blobs())


def test_shares_of_seed_stops_are_the_memberships_without_the_equal_part():
    model = CNS(n_neighbors=9, alpha=0.1, n_clusters=3).fit(blobs())
    equal_part = (1 - model.stop_share_) / 3
    stops = model.memberships_ - equal_part[:, None]
    np.testing.assert_allclose(
        model.seed_shares_ * model.stop_share_[:, None], stops, atol=1e-12
    )
    np.testing.assert_allclose(model.seed_shares_.sum(axis=1), 1)
    np.testing.assert_array_equal(model.seed_shares_.argmax(1), model.seed_labels_)
    assert (model.stop_share_ > 0).all()
    assert (model.stop_share_ <= 1).all()


def test_undecided_samples_are_warned_of_and_have_equal_shares():
    X = np.array(ORACLE["data"]["disc"]["X"])
    with pytest.warns(UserWarning, match="leaves 7 of 21 samples undecided"):
        model = CNS(n_neighbors=4, alpha=0.2, max_clusters=2).fit(X)
    assert np.flatnonzero(model.undecided_).tolist() == list(range(9, 16))
    np.testing.assert_array_equal(model.seed_shares_[9:16], 0.5)
    np.testing.assert_array_equal(model.stop_share_[9:16], 0)
    assert not model.tied_.any()


def test_ties_between_seeds_are_warned_of():
    X = np.array([-12.0, -11, -10, -9, 0, 9, 10, 11, 12])[:, None]  # one lies midway
    with pytest.warns(UserWarning, match="equally likely for 1 of 9 samples"):
        model = CNS(n_neighbors=3, alpha=0.2, n_clusters=2).fit(X)
    assert np.flatnonzero(model.tied_).tolist() == [4]
    assert not model.undecided_.any()
