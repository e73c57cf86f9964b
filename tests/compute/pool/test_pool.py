"""Facts about running pools of clusterings."""

import hashlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture

from clusterlens.compute._run.options import Cancelled, RunOptions
from clusterlens.compute._validation import DataError
from clusterlens.compute.ensemble.ensemble import Ensemble, distinct_partitions
from clusterlens.compute.pool._jobs import in_which_workers, pool_jobs
from clusterlens.compute.pool._quantiles import _N_ROWS
from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.clusterer import Clusterer
from clusterlens.compute.pool.paces import Paces
from clusterlens.compute.pool.pool import (
    POOLS,
    estimate_pool,
    pool_grids,
    pool_specs,
    run_pool,
)
from clusterlens.compute.pool.preset_versions import (
    FORMER_PRESETS,
    PRESET_VERSIONS,
    preset_of,
    sized_grids,
)
from clusterlens.compute.pool.specs import plan_pool
from tests.bad_estimators import (
    Constant,
    Dies,
    Fails,
    Gaps,
    Halves,
    ManyLabels,
    Sleeps,
    WrongMemberships,
)
from tests.folders import DATA, ROOT


@pytest.fixture(scope="module")
def X():
    return make_blobs(120, 3, centers=4, cluster_std=0.8, random_state=0)[0]


def same_partition(a, b):
    return len(distinct_partitions(Ensemble([a, b]))[0]) == 1


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", CLUSTERERS)
def test_every_clusterer_runs_its_grid_and_repeats_it(X, name):
    if CLUSTERERS[name].least_samples:  # what its grid is for
        X = make_blobs(16_000, 2, centers=4, cluster_std=0.5, random_state=0)[0]
    grid = [{"clusterer": name, **CLUSTERERS[name].grid}]
    first, second = (run_pool(X, grid, random_state=3, n_jobs=1) for _ in range(2))
    assert first.n_samples == len(X)
    assert first.families == (CLUSTERERS[name].family,) * first.n_partitions
    np.testing.assert_array_equal(first.labels, second.labels)
    assert first.specs == second.specs
    soft = CLUSTERERS[name].soft
    assert set(first.memberships) == (set(range(first.n_partitions)) if soft else set())


@pytest.mark.parametrize("name", CLUSTERERS)
def test_every_clusterer_has_cost_laws_and_a_reference(name):
    clusterer = CLUSTERERS[name]
    small, large = (clusterer.seconds(n, 4, {}) for n in (100, 10_000))
    assert 0 < small < large
    assert 0 < clusterer.n_bytes(100, 4, {}) < clusterer.n_bytes(10_000, 4, {})
    assert clusterer.reference


def test_the_cost_of_cns_grows_with_the_fill_of_its_factors():
    seconds = [CLUSTERERS["CNS"].seconds(2000, d, {}) for d in (2, 3, 4, 10)]
    assert seconds[1] - seconds[0] < 0.01 < seconds[2] - seconds[1]
    assert seconds[3] == pytest.approx(5.2, rel=0.2)  # measured
    assert CLUSTERERS["CNS"].seconds(3000, 10, {}) == pytest.approx(2.0, rel=0.2)


def test_memberships_are_those_of_the_partition(X):
    ensemble = run_pool(X, [GaussianMixture(3), KMeans(3)])
    assert set(ensemble.memberships) == {0}
    membership = ensemble.memberships[0]
    np.testing.assert_allclose(membership.sum(axis=1), 1)
    np.testing.assert_array_equal(membership.argmax(axis=1), ensemble.labels[0])


def test_results_do_not_depend_on_the_number_of_jobs(X, folder):
    calls = []
    pool = [{"clusterer": name, **CLUSTERERS[name].grid} for name in CLUSTERERS]
    one = run_pool(X, pool, n_jobs=1)
    two = run_pool(
        X, pool, n_jobs=2, progress=lambda *at: calls.append(at), time_limit=600
    )
    np.testing.assert_array_equal(one.labels, two.labels)
    assert (one.names, one.specs, one.notes) == (two.names, two.specs, two.notes)
    assert one.memberships.keys() == two.memberships.keys()
    for t, membership in one.memberships.items():
        np.testing.assert_array_equal(membership, two.memberships[t])
    total = len(pool_specs(pool, X))
    assert calls[-1] == (total, total)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert not list(folder.iterdir())


def test_seeds_do_not_depend_on_the_order_of_the_pool():
    grid = [
        {"clusterer": "k-means", "n_clusters": [2, 3], "copies": 2},
        {"clusterer": "Gaussian mixture", "n_components": 2},
    ]
    seeds = {json.dumps(spec) for spec in pool_specs(grid, (50, 2))}
    assert seeds == {json.dumps(spec) for spec in pool_specs(grid[::-1], (50, 2))}
    assert len(seeds) == 5


def test_another_random_state_gives_other_seeds():
    grid = [{"clusterer": "k-means", "n_clusters": 3}]
    assert pool_specs(grid, (50, 2), 0) != pool_specs(grid, (50, 2), 1)


def test_specs_survive_json_and_give_the_same_run(X):
    specs = json.loads(json.dumps(pool_specs("quick", X, 5)))
    again, ensemble = run_pool(X, specs, 0), run_pool(X, "quick", 5)
    np.testing.assert_array_equal(again.labels, ensemble.labels)
    assert list(ensemble.specs) == specs


@pytest.mark.parametrize("name", POOLS)
def test_names_of_a_preset_are_unique_and_specs_plain(X, name):
    pool = (name, 3) if callable(POOLS[name]) else name
    estimate = estimate_pool(X, pool)
    assert len(set(estimate.names)) == len(estimate.names)
    json.dumps(pool_specs(pool, X), allow_nan=False)


@pytest.mark.parametrize("name", POOLS)
def test_the_grids_of_a_preset_are_plain_and_give_its_specs(name):
    pool = (name, 3) if callable(POOLS[name]) else name
    grids, notes = pool_grids(pool, 20_000)
    assert notes
    grids = json.loads(json.dumps(grids))
    assert pool_specs(grids, (20_000, 2)) == pool_specs(pool, (20_000, 2))


@pytest.mark.parametrize(
    ("name", "version", "digest"),
    [
        ("default", 2, "c0af985303a1c535"),
        ("quick", 1, "d8a7f2b427272120"),
        ("paper", 1, "352b050d2a33616e"),
        ("paper-fixed-k", 1, "d472b37f43b5306c"),
    ],
)
def test_a_preset_that_changes_gets_another_version(name, version, digest):
    pool = (name, 3) if callable(POOLS[name]) else name
    grids = [pool_grids(pool, n)[0] for n in (500, 20_000, 200_000)]
    text = json.dumps(grids, sort_keys=True).encode()
    assert PRESET_VERSIONS[name] == version
    assert hashlib.sha256(text).hexdigest()[:16] == digest


@pytest.mark.parametrize(
    ("name", "version", "digest"), [("default", 1, "b256fe393faa7a6a")]
)
def test_a_former_preset_is_known_by_its_models(name, version, digest):
    grids = [
        sized_grids(FORMER_PRESETS[name, version], n) for n in (500, 20_000, 200_000)
    ]
    text = json.dumps(grids, sort_keys=True).encode()
    assert hashlib.sha256(text).hexdigest()[:16] == digest
    for n, pool in zip((500, 20_000, 200_000), grids, strict=True):
        assert preset_of(pool, n) == (name, version, len(pool))
        assert preset_of(pool[1:], n) is None
    assert (name, PRESET_VERSIONS[name]) not in FORMER_PRESETS


@pytest.mark.parametrize("n", [500, 5_000, 20_000, 200_000])
def test_no_family_of_the_default_pool_has_more_than_a_third_of_the_votes(n):
    families = estimate_pool((n, 10)).families
    assert {"spanning tree", "neighbour graph"} < set(families)
    assert len(set(families)) == 7
    assert max(map(families.count, families)) <= len(families) / 3


@pytest.mark.parametrize("name", CLUSTERERS)
def test_every_clusterer_says_what_it_finds_and_where_it_is_from(name):
    assert CLUSTERERS[name].meaning.endswith(".")
    assert CLUSTERERS[name].reference


def test_paper_pool_has_the_models_of_the_paper():
    specs = pool_specs("paper", (500, 2))
    counts = {
        name: sum(spec["clusterer"] == name for spec in specs)
        for name in ("k-means", "agglomerative", "DBSCAN")
    }
    assert counts == {"k-means": 95, "agglomerative": 76, "DBSCAN": 100}
    assert len(specs) == 271
    seeds = [spec.get("random_state") for spec in specs[:95]]
    assert len(set(seeds)) == 95


def test_fixed_k_pool_has_the_models_of_the_paper(X):
    specs = pool_specs(("paper-fixed-k", 4), X)
    assert len(specs) == 57
    assert {spec["n_clusters"] for spec in specs} == {4}
    trees = {(s["linkage"], s.get("metric")) for s in specs if "linkage" in s}
    assert len(trees) == 7


def test_agglomerative_cuts_are_those_of_scikit_learn(X):
    grid = {
        "clusterer": "agglomerative",
        "linkage": ["single", "complete", "average"],
        "metric": ["euclidean", "manhattan"],
        "n_clusters": [2, 5, 60, 119],
    }
    ward = {"clusterer": "agglomerative", "linkage": "ward", "n_clusters": [3, 7]}
    ensemble = run_pool(X, [grid, ward])
    assert ensemble.n_partitions == 26
    for spec, labels in zip(ensemble.specs, ensemble.labels, strict=True):
        parameters = {k: v for k, v in spec.items() if k != "clusterer"}
        expected = AgglomerativeClustering(**parameters).fit_predict(X)
        assert same_partition(labels, expected), spec


def test_agglomerative_cuts_with_ties_are_those_of_scikit_learn():
    grid = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0)), -1).reshape(-1, 2)
    pool = [
        {
            "clusterer": "agglomerative",
            "linkage": ["single", "complete", "average", "ward"],
            "n_clusters": list(range(2, 12)),
        }
    ]
    ensemble = run_pool(grid, pool)
    for spec, labels in zip(ensemble.specs, ensemble.labels, strict=True):
        expected = AgglomerativeClustering(
            n_clusters=spec["n_clusters"], linkage=spec["linkage"]
        ).fit_predict(grid)
        assert same_partition(labels, expected), spec


def test_optics_extractions_are_those_of_single_fits(X):
    grid = {"clusterer": "OPTICS", "xi": [0.03, 0.1], "min_cluster_size": 0.1}
    ensemble = run_pool(X, [grid])
    for spec, labels in zip(ensemble.specs, ensemble.labels, strict=True):
        parameters = {k: v for k, v in spec.items() if k != "clusterer"}
        expected = CLUSTERERS["OPTICS"].make(**parameters).fit_predict(X)
        np.testing.assert_array_equal(labels, expected)


def test_fits_that_are_not_cut_keep_their_own_labels(X):
    pool = [
        {"clusterer": "agglomerative", "n_clusters": [2, 4]},
        {"clusterer": "agglomerative", "n_clusters": None, "distance_threshold": 3.0},
        {"clusterer": "OPTICS", "cluster_method": ["xi", "dbscan"], "eps": 1.0},
    ]
    ensemble = run_pool(X, pool)
    for spec, labels in zip(ensemble.specs, ensemble.labels, strict=True):
        parameters = {k: v for k, v in spec.items() if k != "clusterer"}
        expected = CLUSTERERS[spec["clusterer"]].make(**parameters).fit_predict(X)
        assert same_partition(labels, expected), spec


def test_a_cut_that_is_impossible_costs_its_model_alone():
    grid = {"clusterer": "agglomerative", "n_clusters": [2, 9]}
    ensemble = run_pool([[0.0], [1.0], [5.0], [6.0]], grid)
    assert ensemble.names == ("ward linkage k=2",)
    assert ensemble.notes == (
        "ward linkage k=9: failed, ValueError: n_clusters is 9; give a value from 1 "
        "to 4.",
    )


def test_estimators_that_a_spec_can_express_share_fits_and_cost_laws(X):
    pool = [AgglomerativeClustering(k, linkage="single") for k in (2, 3)]
    ensemble = run_pool(X, pool)
    assert ensemble.names == ("single linkage", "single linkage k=3")
    assert ensemble.n_clusters.tolist() == [2, 3]
    (step,) = estimate_pool(X, pool).plan
    assert step.models == ensemble.names
    assert np.isfinite(estimate_pool(X, pool).model_seconds).all()


def test_estimators_that_no_spec_can_express_are_fitted_as_given(X):
    def city_block(a, b):
        return abs(a - b).sum()

    given = DBSCAN(eps=1.0, metric=city_block)
    ensemble = run_pool(X, [given], n_jobs=1)
    assert ensemble.names == ("DBSCAN eps=1 metric=<city_block>",)
    expected = DBSCAN(eps=1.0, metric="manhattan").fit_predict(X)
    np.testing.assert_array_equal(ensemble.labels[0], expected)


def test_wrong_memberships_are_a_note(X):
    ensemble = run_pool(X, [WrongMemberships()], n_jobs=1)
    assert ensemble.n_partitions == 1
    assert not ensemble.memberships
    assert "memberships has 1 rows for 120 samples" in ensemble.notes[0]


def test_a_model_that_leaves_samples_without_a_label_fails(X):
    ensemble = run_pool(X, [Gaps(), Halves()], n_jobs=1)
    assert ensemble.names == ("Halves",)
    assert "labels has no entry at 0" in ensemble.notes[0]


def test_noise_keeps_its_label(X):
    ensemble = run_pool(X, [DBSCAN(eps=0.6)])
    assert (ensemble.labels == -1).any()
    np.testing.assert_array_equal(ensemble.labels[0], DBSCAN(eps=0.6).fit(X).labels_)


def test_quantiles_are_those_of_all_pairs(X):
    grid = {
        "clusterer": "DBSCAN",
        "eps": [
            {"quantile": 0.1, "of": "pair distances"},
            {"quantile": [0.01, 0.25], "at": 0.25, "of": "pair distances"},
            {"quantile": 0.5, "of": "neighbour distances"},
        ],
    }
    square = np.linalg.norm(X[:, None] - X[None], axis=2)
    pairs = square[np.triu_indices(len(X), 1)]
    low, high = np.quantile(pairs, [0.01, 0.25])
    expected = [
        np.quantile(pairs, 0.1),
        low + (high - low) / 4,
        np.median(np.sort(square, axis=1)[:, 5]),
    ]
    found = [spec["eps"] for spec in pool_specs([grid], X)]
    np.testing.assert_allclose(found, expected)


def test_quantiles_of_many_samples_are_sampled_with_a_note(monkeypatch, X):
    monkeypatch.setattr("clusterlens.compute.pool._quantiles.MAX_QUANTILE_SAMPLES", 50)
    monkeypatch.setitem(_N_ROWS, "pair distances", 50)
    grid = {"clusterer": "DBSCAN", "eps": {"quantile": 0.1, "of": "pair distances"}}
    ensemble = run_pool(X, [grid])
    assert any("random sample of 50 of the 120 samples" in n for n in ensemble.notes)
    assert pool_specs([grid], X, 0) == pool_specs([grid], X, 0)
    assert pool_specs([grid], X, 0) != pool_specs([grid], X, 1)


def test_identical_specs_are_fitted_once_and_kept(X):
    grid = {"clusterer": "DBSCAN", "eps": 0.8, "copies": 5}
    ensemble = run_pool(X, [grid])
    assert ensemble.n_partitions == 5
    assert len(set(ensemble.seconds)) == 1
    assert ensemble.names[0] == "DBSCAN eps=0.8 run 1"


def test_failed_and_degenerate_models_are_notes(X):
    calls = []
    ensemble = run_pool(
        X,
        [Fails(), Constant("one"), Constant("all"), Halves(), ManyLabels()],
        n_jobs=1,
        progress=lambda *at: calls.append(at),
    )
    assert ensemble.names == ("Halves", "ManyLabels")
    assert ensemble.notes == (
        "Fails: failed, RuntimeError: no luck at all",
        "Constant: dropped, all samples are in one cluster.",
        "Constant labels=all: dropped, each sample is a cluster of its own.",
    )
    assert calls[-1] == (5, 5)


def test_more_than_255_labels_are_kept():
    ensemble = run_pool(np.arange(700.0)[:, None], [ManyLabels(), Halves()], n_jobs=1)
    assert ensemble.n_clusters.tolist() == [350, 2]


def test_all_noise_is_degenerate_and_an_empty_pool_says_why(X):
    with pytest.raises(ValueError, match=r"survived.*that of noise"):
        run_pool(X, [DBSCAN(eps=1e-9)])


@pytest.mark.parametrize(
    "spec",
    [
        {"clusterer": "k-means", "n_clusters": "three"},
        {"clusterer": "bisecting k-means", "n_clusters": -2},
        {"clusterer": "Gaussian mixture", "n_init": None},
        {"clusterer": "DBSCAN", "eps": -1.0},
        {"clusterer": "agglomerative", "n_clusters": 2.5, "linkage": 7},
        {"clusterer": "OPTICS", "xi": "steep"},
    ],
)
def test_values_that_a_clusterer_refuses_are_notes(X, spec):
    ensemble = run_pool(X, [spec, {"clusterer": "k-means"}])
    assert ensemble.names == ("k-means",)
    assert "failed, InvalidParameterError" in ensemble.notes[0]


def test_warnings_become_notes(X, recwarn):
    ensemble = run_pool(X, [GaussianMixture(4, max_iter=1, tol=0.0)])
    assert any("did not converge" in note for note in ensemble.notes)
    assert not recwarn.list


def test_a_clusterer_is_registered_in_one_line(monkeypatch, X):
    monkeypatch.setitem(CLUSTERERS, "halves", Clusterer("mine", "halves", Halves))
    ensemble = run_pool(X, [{"clusterer": "halves"}], n_jobs=1)
    assert ensemble.families == ("mine",)
    estimate = estimate_pool(X, [{"clusterer": "halves"}])
    assert np.isnan(estimate.model_seconds).all()
    assert "unknown" in estimate.notes[0]


def test_given_estimators_are_not_changed(X):
    model = KMeans(3)
    before = clone(model)
    ensemble = run_pool(X, [model, model])
    assert not hasattr(model, "labels_")
    assert repr(model) == repr(before)
    assert ensemble.specs[0]["random_state"] != ensemble.specs[1]["random_state"]
    assert ensemble.specs[0]["clusterer"] == "k-means"


def test_a_dying_worker_costs_its_model_alone(X, folder):
    before = set(multiprocessing.active_children())
    pool = [Dies(), {"clusterer": "k-means", "n_clusters": [2, 3]}, Halves()]
    ensemble = run_pool(X, pool, n_jobs=2)
    assert ensemble.names == ("k-means k=2", "k-means k=3", "Halves")
    assert len(ensemble.notes) == 1
    assert ensemble.notes[0].startswith(
        "Dies: failed, WorkerDied: its worker process ended with code 3"
    )
    assert set(multiprocessing.active_children()) <= before
    assert not list(folder.iterdir())


def test_cancel_ends_the_workers_and_leaves_nothing(X, folder):
    before, looks = set(multiprocessing.active_children()), []

    def cancel():
        looks.append(len(set(multiprocessing.active_children()) - before))
        return len(looks) > 3

    with pytest.raises(Cancelled):
        run_pool(X, [Sleeps(), Sleeps()], n_jobs=2, cancel=cancel)
    assert looks[-1] == 2
    assert set(multiprocessing.active_children()) <= before
    assert not list(folder.iterdir())


def test_a_plain_script_runs_an_estimator_of_its_own(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\n"
        "from clusterlens.compute.pool.pool import run_pool\n"
        "class Mine:\n"
        "    def fit(self, X):\n"
        "        self.labels_ = np.arange(len(X)) % 3\n"
        "print('once')\n"
        "print(run_pool(np.ones((9, 1)), [Mine()], n_jobs=2).names)\n"
    )
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "once\n('Mine',)\n"


def test_a_pool_that_ends_here_before_workers_would_starts_none(X, monkeypatch):
    monkeypatch.setattr("clusterlens.compute.pool._fitting._in_workers", None)
    pool = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]
    assert run_pool(X, pool, n_jobs=2).n_partitions == 3
    assert estimate_pool(X, pool, n_jobs=2).seconds < 1
    with pytest.raises(TypeError):
        run_pool(X, [*pool, Halves()], n_jobs=2)
    with pytest.raises(TypeError):
        run_pool(X, pool, n_jobs=2, time_limit=600)


def test_what_workers_save_is_weighed_against_their_start(X):
    jobs, _ = pool_jobs(plan_pool("quick", X, 0), 4e9, Paces())

    def workers(seconds, n_jobs, start=2.0):
        each = [replace(job, seconds=seconds / len(jobs)) for job in jobs]
        return in_which_workers(each, RunOptions(n_jobs), False, start)

    assert workers(3.5, 2) == 0
    assert workers(3.5, 4) == 4
    assert workers(3.5, 2, start=1.0) == 2
    assert workers(60, 2) == 2
    assert workers(60, 1) == 0
    assert workers(np.nan, 2) == 2


def test_cancel_between_fits_of_this_process(X):
    done = []
    with pytest.raises(Cancelled):
        run_pool(
            X,
            "quick",
            n_jobs=1,
            progress=lambda *at: done.append(at),
            cancel=lambda: len(done) > 2,
        )
    assert len(done) == 3


def test_a_model_above_the_memory_limit_is_refused_before_it_is_fitted():
    specs = [
        {"clusterer": "agglomerative", "linkage": "average", "n_clusters": [2, 3]},
        {"clusterer": "k-means", "n_clusters": 2},
    ]
    X = np.arange(1000.0)[:, None]
    ensemble = run_pool(X, specs, memory_limit=1.5e7)
    assert ensemble.names == ("k-means k=2",)
    assert "0.0181 GB, the limit is 0.015 GB" in ensemble.notes[0]
    assert "refused" in estimate_pool((1_000_000, 2), specs).notes[0]


def test_the_memory_of_dbscan_grows_with_eps_even_if_only_the_shape_is_known():
    def n_bytes(eps):
        # With this metric, models of one pool have nothing to share.
        spec = {"clusterer": "DBSCAN", "eps": eps, "metric": "euclidean"}
        return estimate_pool((9000, 2), spec).n_bytes

    narrow, wide = (
        n_bytes({"quantile": q, "of": "pair distances"}) for q in (0.01, 0.2)
    )
    between = n_bytes({"quantile": [0.0, 0.4], "at": 0.5, "of": "pair distances"})
    assert wide == between
    assert wide > 10 * narrow


def test_large_data_replace_slow_clusterers_of_a_preset_with_a_note():
    estimate = estimate_pool((20_000, 5), "default")
    names = {name.rsplit(" ", 1)[0] for name in estimate.names}
    assert {"ward linkage on features", "single linkage"} <= names
    assert not {"ward linkage", "spectral"} & names
    assert any(n.startswith("agglomerative replaced by") for n in estimate.notes)
    larger = estimate_pool((60_000, 5), "default").notes
    assert any(note.startswith("Birch left out") for note in larger)


def test_large_data_add_what_small_data_do_not_need():
    small, large = (estimate_pool((n, 2), "default").names for n in (9_000, 20_000))
    assert not any("on a sample" in name for name in small)
    assert sum("on a sample" in name for name in large) == 5


def eps_as(reference):
    return {"clusterer": "DBSCAN", "eps": reference}


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        ("nothing", "pool is 'nothing'; give one of 'default'"),
        ("paper-fixed-k", "needs a number of clusters"),
        (("default", 3), "has its own numbers of clusters"),
        (("paper-fixed-k", 1), "n_clusters is 1"),
        ([], "pool is empty"),
        ([{"clusterer": "k-mean"}], "clusterer is 'k-mean'; give one of 'k-means'"),
        ([{"n_clusters": 3}], "clusterer is None"),
        ([{"clusterer": "k-means", "k": 3}], "k-means has no parameter 'k'"),
        ([{"clusterer": "DBSCAN", "metric": max}], "metric is <built-in"),
        ([{"clusterer": []}], r"clusterer is \[\]; give one of 'k-means'"),
        ([{"clusterer": {"k-means": 3}}], "clusterer is {'k-means': 3}; give one of"),
        ([{"clusterer": "DBSCAN", "eps": []}], "eps of DBSCAN is an empty list; give"),
        (
            [{"clusterer": "OPTICS", "memory": "folder"}],
            "memory of OPTICS is a folder of pickled results",
        ),
        (
            [{"clusterer": "k-means", "n_clusters": [2] * 99, "copies": 9999}],
            "pool stands for 989\\D901 models",
        ),
        (
            [eps_as({"quantile": 0.1})],
            "eps is {'quantile': 0.1}: 'of' is missing; give",
        ),
        ([eps_as({"share": "x"})], "'of' is missing; give 'samples' with a 'share'"),
        ([eps_as({"share": "x", "of": "samples"})], "share is 'x'; give a number"),
        (
            [eps_as({"of": "samples"})],
            "give a 'share', and 'at_most' if it has a limit",
        ),
        ([eps_as({"quantile": 0.1, "of": "bananas"})], "'of' is 'bananas'; give 'samp"),
        ([eps_as({"quantile": 0.1, "of": []})], r"'of' is \[\]; give 'samples'"),
        (
            [eps_as({"quantile": "x", "of": "pair distances"})],
            "give one 'quantile', or",
        ),
        (
            [eps_as({"quantile": [0.1, 0.2], "at": 2, "of": "pair distances"})],
            "at is 2; give",
        ),
        ([{"clusterer": "k-means", "copies": 0}], "copies is 0"),
        ([{"clusterer": "DBSCAN", "eps": {"share": 2, "of": "samples"}}], "share is 2"),
        ([KMeans], "pool has the entry"),
        ([3], "pool has the entry 3"),
    ],
)
def test_a_wrong_pool_is_refused_with_the_remedy(X, pool, message):
    with pytest.raises(ValueError, match=message):
        run_pool(X, pool)
    with pytest.raises(ValueError, match=message):
        estimate_pool((len(X), 2), pool)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"clusterer": []}, r"clusterer is \[\]"),
        ({"clusterer": "k-means", "k": 3}, "no parameter 'k'"),
        ({"clusterer": "k-means", "copies": "a"}, "copies is 'a'"),
        ({"clusterer": "k-means", "init": max}, "init is <built-in"),
        (eps_as([0.1, {"share": "x"}]), "eps is {'share': 'x'}: 'of' is missing"),
    ],
)
def test_wrong_grids_are_refused_before_they_are_edited(entry, message):
    with pytest.raises(ValueError, match=message):
        pool_grids([entry], 100)


@pytest.mark.parametrize("shape", [(0, 2), (10, -1), (2.5, 2), (True, 2)])
def test_a_shape_is_two_whole_numbers(shape):
    with pytest.raises(ValueError, match=r"the n_(samples|features) of X is"):
        estimate_pool(shape, "quick")
    whole = estimate_pool((np.int64(100), np.int32(2)), "quick")
    assert whole.seconds == estimate_pool((100, 2), "quick").seconds


def test_wrong_data_are_refused():
    with pytest.raises(DataError, match="row 0, column 0"):
        run_pool([[np.nan], [1.0]])
    with pytest.raises(ValueError, match="No model of the pool survived"):
        run_pool([[1.0, 2.0]], "quick")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "runs", "distinct"),
    [
        ("atom", 100, 20),
        ("chainlink", 50, 2),
        ("hepta", 75, 7),
        ("lsun3d", 100, 9),
        ("target", 100, 6),
        ("tetra", 15, 3),
        ("twodiamonds", 5, 1),
        ("wingnut", 10, 2),
    ],
)
def test_dbscan_pools_have_the_published_sizes(name, runs, distinct):
    path = DATA / "fcps" / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip("the research data sets are not here")
    pd = pytest.importorskip("pandas")
    table = pd.read_csv(path)
    X = table.iloc[:, :-1].to_numpy()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    dbscan = [spec for spec in POOLS["paper"] if spec["clusterer"] == "DBSCAN"]
    ensemble = run_pool(X, dbscan, n_jobs=1)
    assert ensemble.n_partitions == runs
    assert len(distinct_partitions(ensemble)[0]) == distinct


def test_numbers_of_clusters_grow_with_the_table():
    def numbers(n, clusterer):
        grids, _ = pool_grids("default", n)
        return next(g["n_clusters"] for g in grids if g["clusterer"] == clusterer)

    assert numbers(1_000, "k-means") == [2, 3, 4, 5, 6, 8, 10, 15]
    assert numbers(100_000, "k-means")[-2:] == [27, 46]
    assert numbers(100_000, "agglomerative on features") == [3, 5, 10, 46]
    assert numbers(8_000, "agglomerative")[-1] == 20


def test_a_root_of_the_number_of_samples_is_a_plain_number_in_the_model():
    root = {"root": 3, "of": "samples", "at_least": 4}
    pool = [{"clusterer": "k-means", "n_clusters": [2, 4, root]}]
    for n, found in ((8, [2, 4]), (1000, [2, 4, 10])):
        assert [spec["n_clusters"] for spec in pool_specs(pool, (n, 2))] == found


@pytest.mark.parametrize(
    "wrong",
    [{"root": 0}, {"root": "x"}, {"root": 3, "at_least": 0}, {"root": 3, "most": 1}],
    ids=str,
)
def test_a_wrong_root_is_refused(wrong):
    pool = [{"clusterer": "k-means", "n_clusters": [{"of": "samples", **wrong}]}]
    with pytest.raises(ValueError, match="n_clusters is"):
        pool_specs(pool, (100, 2))
