"""Models arrive while a pool runs; one may stop early; limits stop single models."""

import sys
from contextlib import closing

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.pool.pool import (
    PoolEstimate,
    estimate_pool,
    iter_pool,
    run_pool,
)
from tests.bad_estimators import Constant, Fails, Halves, Hungry, Sleeps


@pytest.fixture(scope="module")
def X():
    return make_blobs(150, 3, centers=4, cluster_std=0.8, random_state=0)[0]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_model_arrives_once_as_it_is_in_the_ensemble(X, n_jobs):
    arrived, started = [], []
    pool = [Fails(), Constant("one"), {"clusterer": "k-means", "n_clusters": [2, 3]}]
    pool.append({"clusterer": "agglomerative", "n_clusters": [2, 3, 4]})
    ensemble = run_pool(
        X, pool, n_jobs=n_jobs, on_model=arrived.append, on_start=started.append
    )
    assert sorted(model.position for model in arrived) == list(range(7))
    assert sorted(started) == sorted(model.name for model in arrived)
    assert {model.n_models for model in arrived} == {7}
    by_name = {model.name: model for model in arrived}
    for name, labels, seconds in zip(
        ensemble.names, ensemble.labels, ensemble.seconds, strict=True
    ):
        np.testing.assert_array_equal(by_name[name].labels, labels)
        assert by_name[name].seconds == seconds
        assert by_name[name].reason is None
    assert by_name["Fails"].labels is None
    assert "no luck" in by_name["Fails"].reason
    assert "one cluster" in by_name["Constant"].reason


def test_the_iterator_yields_the_same_models(X):
    models = sorted(iter_pool(X, "quick"), key=lambda model: model.position)
    ensemble = run_pool(X, "quick")
    kept = [model for model in models if model.reason is None]
    assert tuple(model.name for model in kept) == ensemble.names
    np.testing.assert_array_equal([m.labels for m in kept], ensemble.labels)


def test_leaving_the_iterator_ends_the_work(X, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with closing(iter_pool(X, [Halves(), Sleeps()], n_jobs=2)) as models:
        assert next(models).name == "Halves"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_stop_keeps_what_is_done_and_names_the_rest(X, n_jobs):
    done = []
    last = Sleeps() if n_jobs == 2 else Halves()
    pool = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}, last]
    ensemble = run_pool(
        X,
        pool,
        n_jobs=n_jobs,
        on_model=done.append,
        stop=lambda: len(done) >= (3 if n_jobs == 2 else 2),
    )
    assert ensemble.names == tuple(
        model.name for model in sorted(done, key=lambda model: model.position)
    )
    assert ensemble.notes[0].startswith(f"Stopped after {len(done)} of 4 models")
    assert type(last).__name__ in ensemble.notes[0] or n_jobs == 1


def test_stop_before_any_model_is_done_says_so(X):
    with pytest.raises(ValueError, match="Stopped after 0 of 7"):
        run_pool(X, [{"clusterer": "k-means", "copies": 7}], stop=lambda: True)


def test_cancel_goes_before_stop(X):
    with pytest.raises(Cancelled):
        run_pool(X, "quick", n_jobs=1, stop=lambda: True, cancel=lambda: True)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_model_over_its_time_costs_itself_alone(X, n_jobs):
    ensemble = run_pool(X, [Sleeps(), Halves()], n_jobs=n_jobs, time_limit=3.0)
    assert ensemble.names == ("Halves",)
    assert "stopped after its limit of 3 seconds" in ensemble.notes[0]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_a_model_over_its_memory_costs_itself_alone(X):
    ensemble = run_pool(X, [Hungry(), Halves()], n_jobs=2, memory_limit=1e9)
    assert ensemble.names == ("Halves",)
    assert "MemoryError" in ensemble.notes[0]


def test_a_time_limit_is_refused_where_it_cannot_hold(X):
    with pytest.raises(ValueError, match="time_limit is given with client"):
        run_pool(X, client="tcp://127.0.0.1:1", time_limit=1.0)
    with pytest.raises(ValueError, match="time_limit is -1"):
        run_pool(X, time_limit=-1)


def test_cancel_during_the_last_fit_is_no_result(X):
    started = []
    with pytest.raises(Cancelled):
        run_pool(
            X,
            [{"clusterer": "k-means", "n_clusters": 3}],
            n_jobs=1,
            on_start=started.append,
            cancel=lambda: bool(started),
        )


def test_the_plan_is_told_once_before_the_first_fit(X):
    reported = []
    run_pool(X, "quick", n_jobs=1, on_plan=reported.append, on_start=reported.append)
    assert isinstance(reported[0], PoolEstimate)
    assert set(reported[1:]) == set(reported[0].names)
    assert reported[0].names == estimate_pool(X, "quick", n_jobs=1).names


def test_the_time_left_follows_the_fits_so_far():
    estimate = estimate_pool((5000, 5), "default", n_jobs=1)
    predicted = estimate.model_seconds
    half = range(len(predicted) // 2)
    as_predicted = estimate.seconds_left({at: predicted[at] for at in half})
    twice = estimate.seconds_left({at: 2 * predicted[at] for at in half})
    left = estimate.seconds * (1 - predicted[list(half)].sum() / predicted.sum())
    assert estimate.seconds_left({}) == pytest.approx(estimate.seconds)
    assert as_predicted == pytest.approx(left)
    assert 1.5 * left < twice < 2 * left
    assert estimate.seconds_left(dict(enumerate(predicted))) == pytest.approx(0)
    # A model with a dead worker gives no information about the pace.
    died = {at: predicted[at] for at in half} | {len(predicted) - 1: np.nan}
    assert estimate.seconds_left(died) <= as_predicted


def test_a_run_stopped_before_the_first_model_says_so(X):
    with pytest.raises(ValueError, match="stopped before a model had found anything"):
        run_pool(X, "quick", n_jobs=1, stop=lambda: True)


def test_what_is_given_as_workers_is_checked(X):
    with pytest.raises(ValueError, match="workers is 3; give Workers or None"):
        estimate_pool(X, "quick", workers=3)
