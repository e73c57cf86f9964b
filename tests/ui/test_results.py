"""Results of pools are shared by content and bounded in bytes."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.pool.nulls import null_agreement
from clusterlens.compute.table.dataset import prepare
from clusterlens.ui.jobs import Job
from clusterlens.ui.nodes import nulls
from clusterlens.ui.results import Results, content_key

POOL = [{"clusterer": "k-means", "n_clusters": [2, 3]}]


def ensemble(seed=0):
    return Ensemble(np.random.default_rng(seed).integers(0, 3, (4, 50)))


def never():
    return False


def made(results, key, seed=0, is_whole=True):
    return results.get(key, lambda: (ensemble(seed), is_whole), never)


def test_the_key_follows_data_pool_and_seed_alone():
    X = np.arange(12.0).reshape(6, 2)
    key = content_key(X, POOL, 0)
    assert content_key(X.copy(), [dict(reversed(POOL[0].items()))], 0) == key
    assert content_key(np.asfortranarray(X), POOL, 0) == key
    others = [
        content_key(X + 1e-9, POOL, 0),
        content_key(X.reshape(3, 4), POOL, 0),
        content_key(X, POOL * 2, 0),
        content_key(X, POOL, 1),
        content_key(X, POOL, 0, "null check"),
    ]
    assert len({key, *others}) == 6


def test_sessions_that_ask_together_compute_once():
    results, together = Results(10**6), threading.Barrier(8)
    calls = []

    def compute():
        calls.append(1)
        return ensemble(), True

    def ask(_):
        together.wait()
        return results.get("a", compute, never)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    assert len(calls) == 1
    assert all(one is found[0] for one in found)


def test_what_failed_or_was_stopped_is_computed_by_the_next():
    results = Results(10**6)
    with pytest.raises(ZeroDivisionError):
        results.get("a", lambda: 1 / 0, never)
    stopped = made(results, "a", is_whole=False)
    whole = made(results, "a", seed=1)
    assert whole is not stopped
    assert made(results, "a", seed=2) is whole


def test_waiting_for_another_can_be_cancelled():
    results, begun, go_on = Results(10**6), threading.Event(), threading.Event()

    def compute():
        begun.set()
        go_on.wait()
        return ensemble(), True

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(results.get, "a", compute, never)
        begun.wait()
        with pytest.raises(Cancelled):
            results.get("a", compute, lambda: True)
        go_on.set()
        assert made(results, "a", seed=5) is first.result()


def test_the_latest_used_are_kept_within_the_bytes():
    one = ensemble()
    arrays = (one.labels, one.codes, one.seconds, one.weights)
    size = sum(array.nbytes for array in arrays)
    results = Results(2 * size)
    first, second = made(results, "a", 0), made(results, "b", 1)
    assert made(results, "a", 9) is first
    made(results, "c", 2)
    assert made(results, "a", 9) is first
    assert made(results, "b", 9) is not second
    too_large = Results(size - 1)
    assert made(too_large, "a", 0) is not made(too_large, "a", 0)


def test_a_class_that_asks_about_structureless_data_computes_it_once(monkeypatch):
    monkeypatch.setattr(nulls, "RESULTS", Results(10**6))
    drawn, together = [], threading.Barrier(8)

    def compare(X, pool, **options):
        drawn.append(options["random_state"])
        return null_agreement(X, pool, n_draws=2, random_state=0, n_jobs=1)

    def ask(seed):
        pool = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]
        samples = prepare(np.random.default_rng(0).normal(size=(40, 2)))
        together.wait()
        return nulls.null_check(Job(""), samples, tuple(pool), seed)

    monkeypatch.setattr(nulls, "null_agreement", compare)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, [0] * 7 + [1]))
    assert sorted(drawn) == [0, 1]
    assert all(one is found[0] for one in found[:7])
