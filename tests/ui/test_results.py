"""Tests of pool results: shared by content and bounded in bytes."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.ensemble.agreement import count_agreements
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.ranking import rank_partitions
from clusterlens.ui.jobs import shared_results
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.shared_results import Results, content_key, ensemble_key
from clusterlens.ui.results import agreement
from clusterlens.ui.server.server import Server

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


def test_nobody_waits_for_the_codes_of_what_is_kept():
    results, waited = Results(10**6), []

    class Found:
        @cached_property
        def codes_and_gaps(self):
            waited.append(results._lock.locked())
            return np.zeros(10**6, np.uint8)

    for key in "ab":
        results.get(key, lambda: (Found(), True), never)
    assert waited == [False, False]
    assert list(results._kept) == ["b"]  # their bytes count


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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for arrays; all of them count as slow enough to be cached."""
    monkeypatch.setattr(shared_results, "_LONG_SECONDS", -1.0)
    return tmp_path / "found"


def arrays_in(folder, key, value, n_bytes=10**6):
    """Return arrays as a new process finds them."""
    results = Results(n_bytes, folder)
    return results.arrays(key, lambda: {"table": np.full((2, 3), value)}, never)


def test_arrays_outlive_the_process(folder):
    assert_array_equal(arrays_in(folder, "a", 1)["table"], np.ones((2, 3)))
    assert_array_equal(arrays_in(folder, "a", 2)["table"], np.ones((2, 3)))
    assert_array_equal(arrays_in(folder, "b", 2)["table"], np.full((2, 3), 2))
    assert_array_equal(arrays_in(None, "a", 3)["table"], np.full((2, 3), 3))


@pytest.mark.parametrize("damage", [b"", b"no arrays", None])
def test_a_damaged_file_is_found_anew(folder, damage):
    arrays_in(folder, "a", 1)
    file = folder / "a"
    file.write_bytes(file.read_bytes()[:-20] if damage is None else damage)
    assert_array_equal(arrays_in(folder, "a", 2)["table"], np.full((2, 3), 2))
    assert_array_equal(arrays_in(folder, "a", 3)["table"], np.full((2, 3), 2))


def test_what_is_no_file_of_arrays_costs_the_time_to_compute_alone(folder):
    arrays_in(folder, "a", 1)
    (folder / "loop").symlink_to("loop")
    (folder / "b").symlink_to("b")
    os.mkfifo(folder / "c")
    os.truncate(os.open(folder / "d", os.O_CREAT | os.O_WRONLY), 2_000_000)
    for key in "bcd":
        arrays_in(folder, key, 2)
        assert_array_equal(arrays_in(folder, key, 3)["table"], np.full((2, 3), 2))
    assert_array_equal(arrays_in(folder, "a", 3)["table"], np.ones((2, 3)))


def test_a_folder_that_cannot_be_written_loses_nothing(folder):
    folder.write_text("in the way")
    assert_array_equal(arrays_in(folder, "a", 1)["table"], np.ones((2, 3)))


def test_files_not_used_for_longest_go_beyond_the_bytes(folder):
    arrays_in(folder, "a", 1)
    size = (folder / "a").stat().st_size
    os.utime(folder / "a", (0, 0))
    arrays_in(folder, "b", 2, n_bytes=2 * size)
    os.utime(folder / "b", (1, 1))
    arrays_in(folder, "a", 9)  # used, and so younger
    arrays_in(folder, "c", 3, n_bytes=2 * size)
    assert sorted(path.name for path in folder.iterdir()) == ["a", "c"]
    arrays_in(folder, "d", 4, n_bytes=size - 1)
    assert sorted(path.name for path in folder.iterdir()) == ["a", "c"]


def test_what_is_found_soon_is_not_worth_a_file(tmp_path):
    arrays_in(tmp_path / "found", "a", 1)
    assert not (tmp_path / "found").exists()


def test_the_key_of_an_ensemble_follows_labels_gaps_and_votes_alone():
    labels = np.random.default_rng(0).integers(0, 3, (4, 50))
    key = ensemble_key(Ensemble(labels), "order")
    named = Ensemble(labels, names=list("abcd"), seconds=np.ones(4))
    assert ensemble_key(named, "order") == key
    gaps = np.zeros((4, 50), bool)
    gaps[0, :5] = True
    others = [
        ensemble_key(Ensemble(labels), "agreements"),
        ensemble_key(Ensemble(labels[::-1]), "order"),
        ensemble_key(Ensemble(labels, weights=[1, 1, 1, 2]), "order"),
        ensemble_key(Ensemble(labels, missing=gaps), "order"),
    ]
    assert len({key, *others}) == 5


def test_the_order_by_the_tree_stops_where_nobody_waits_for_it():
    labels = np.random.default_rng(0).integers(0, 5, (20, 400))
    job = Job("", Server())
    job.stop.set()
    with pytest.raises(Cancelled):
        agreement.tree_order(job, Ensemble(labels))


@pytest.mark.parametrize("partial", [False, True])
def test_a_reopened_run_is_ranked_by_the_tables_counted_before(
    folder, monkeypatch, partial
):
    labels = np.random.default_rng(0).integers(0, 3, (5, 90))
    missing = np.arange(450).reshape(5, 90) % 7 == 0 if partial else None
    run = [Ensemble(labels, missing=missing) for _ in range(2)]
    counted = []

    def count(ensemble, **options):
        counted.append(ensemble)
        return count_agreements(ensemble, **options)

    monkeypatch.setattr(agreement, "count_agreements", count)
    found = []
    for ensemble in run:
        server = Server()  # of another process
        server.results = Results(folder=folder)
        job = Job("", server)
        cost = agreement.cost(job, ensemble)
        found.append(agreement.agreement(job, ensemble, cost, False))
    assert counted == run[:1]
    first, again = found
    assert again.ensemble is run[1]
    assert (first.exact, again.exact) == (True, True)
    for score in ("discotec-kl", "discotec-binary"):
        one, other = (rank_partitions(each, score=score) for each in found)
        assert_array_equal(one.values, other.values)
