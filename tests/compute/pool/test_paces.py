"""Measurements on a machine correct the cost laws."""

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest

from clusterlens.compute._run.processes import Workers
from clusterlens.compute.pool import paces
from clusterlens.compute.pool._jobs import JOB_SECONDS, START_SECONDS
from clusterlens.compute.pool.calibration import calibrate
from clusterlens.compute.pool.estimate import estimate_pool
from clusterlens.compute.pool.paces import Paces, Seen, known_paces, learn
from clusterlens.compute.pool.pool import run_pool, start_workers

POOL = [{"clusterer": "k-means", "n_clusters": [2, 3]}]


@pytest.fixture
def places(monkeypatch, tmp_path):
    """Two folders for the file."""
    places = [tmp_path / "first", tmp_path / "second"]
    monkeypatch.setattr(paces, "directories", lambda: places)
    return places


def seen(law="k-means", n=1000, d=4, pace=2.0):
    return Seen(law, n, d, pace)


def test_what_was_seen_at_the_size_decides():
    found = Paces(tuple(seen(pace=pace) for pace in (4.0, 4.0, 4.0, 4.0)))
    assert found.pace("k-means", (1000, 4)) == pytest.approx(4.0)


def test_near_sizes_count_more_than_far_ones():
    found = Paces((seen(n=1000, pace=1.0), seen(n=100_000, pace=4.0)))
    near = [found.pace("k-means", (n, 4)) for n in (1000, 10_000, 100_000)]
    assert near == sorted(near)
    assert near[0] < 2 < near[2]
    assert found.pace("k-means", (10_000, 4)) == pytest.approx(2.0)


def test_a_law_never_seen_takes_the_pace_of_the_others():
    found = Paces((seen("a", pace=3.0), seen("b", pace=3.0)))
    assert found.pace("c", (500, 2)) == pytest.approx(3.0)
    assert Paces().pace("c", (500, 2)) == 1.0


def test_newer_fits_of_one_size_replace_older_ones():
    found = Paces()
    for pace in range(1, 9):
        found = found.with_more([seen(pace=float(pace)), seen(n=50_000)])
    assert [one.pace for one in found.seen if one.n_samples == 1000] == [5, 6, 7, 8]


def test_a_pace_beyond_any_machine_is_bounded():
    assert Seen.of("a", (10, 2), 30.0, 1e-3).pace == 10
    assert Seen.of("a", (10, 2), 0.03, 30.0).pace == 0.1


@pytest.mark.parametrize(
    ("took", "predicted"), [(1e-4, 1.0), (1.0, 0.0), (1.0, np.nan)], ids=str
)
def test_times_that_say_nothing_are_left_out(took, predicted):
    assert Seen.of("a", (10, 2), took, predicted) is None


def test_what_is_learned_is_known_to_the_next_process(places):
    learn([seen(), None])
    assert known_paces().seen == (seen(),)
    learn([seen(n=5000)])
    assert known_paces().seen == (seen(), seen(n=5000))


def test_an_estimate_follows_what_was_seen(places):
    before = estimate_pool((1000, 4), POOL, n_jobs=1)
    learn([seen(pace=3.0)] * 4)
    after = estimate_pool((1000, 4), POOL, n_jobs=1)
    assert after.seconds == pytest.approx(3 * before.seconds)
    assert after.family_seconds["k-means"] == pytest.approx(after.seconds)


def test_an_estimate_counts_starts_first_calls_and_each_job(places):
    X = np.random.default_rng(0).normal(size=(60, 2))
    workers = Workers(1)
    try:
        start = estimate_pool(X, POOL, n_jobs=1, workers=workers).seconds
        start_workers(workers)
        first = estimate_pool(X, POOL, n_jobs=1, workers=workers).seconds
        run_pool(X, POOL, n_jobs=1, workers=workers)
        places[0].joinpath(paces.FILE).unlink(missing_ok=True)
        found = estimate_pool(X, POOL, n_jobs=1, workers=workers)
    finally:
        workers.close()
    assert start - first == pytest.approx(START_SECONDS)
    assert first - found.seconds == pytest.approx(paces.FIRST_CALL_SECONDS)
    beside = found.seconds - np.sum(found.model_seconds)
    assert beside == pytest.approx(2 * JOB_SECONDS)


def test_what_a_run_saw_is_kept(places):
    X = np.random.default_rng(0).normal(size=(20_000, 8))
    run_pool(X, [{"clusterer": "k-means", "n_clusters": 15, "n_init": 3}], n_jobs=1)
    (one,) = known_paces().seen
    assert (one.law, one.n_samples, one.n_features) == ("k-means", 20_000, 8)


def test_a_fit_that_fails_teaches_nothing(places):
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match="survived"):
        run_pool(X, [{"clusterer": "k-means", "n_clusters": 50}], n_jobs=1)
    assert known_paces().seen == ()


def test_a_calibration_runs_once(places):
    assert calibrate()
    assert len({one.law for one in known_paces().seen}) > 5
    assert not calibrate()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\x00",
        b"[]",
        b"{}",
        b'{"machine": null, "seen": []}',
        *(
            json.dumps({"machine": paces._machine(), "seen": wrong}).encode()
            for wrong in (None, [1], [["a"]], [["a", 0, 2, 1.0]], [["a", 9, 2, 1e9]])
        ),
        json.dumps({"machine": paces._machine() | {"laws": 0}, "seen": []}).encode(),
    ],
    ids=lambda content: content[-30:].decode("latin-1"),
)
def test_a_file_that_is_damaged_or_of_another_machine_counts_as_none(places, content):
    places[0].mkdir()
    (places[0] / paces.FILE).write_bytes(content)
    assert known_paces().seen == ()
    learn([seen()])
    assert known_paces().seen == (seen(),)


def test_what_is_learned_is_read_where_it_was_written(places, monkeypatch):
    learn([seen("a")])
    write = paces.write_atomically

    def refuse(path, content):
        if path.parent == places[0]:
            raise PermissionError(path)
        write(path, content)

    monkeypatch.setattr(paces, "write_atomically", refuse)
    learn([seen("b")])
    learn([seen("c")])
    assert [one.law for one in known_paces().seen] == ["a", "b", "c"]
    monkeypatch.undo()
    monkeypatch.setattr(paces, "directories", lambda: places)
    learn([seen("d")])
    assert [one.law for one in known_paces().seen] == ["a", "b", "c", "d"]


def test_pools_that_end_at_once_lose_nothing_of_each_other(places, monkeypatch):
    together, known = threading.Barrier(2), paces.known_paces

    def read():
        found = known()
        with suppress(threading.BrokenBarrierError):  # the other one waits its turn
            together.wait(0.3)
        return found

    monkeypatch.setattr(paces, "known_paces", read)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(learn, [[seen("a")], [seen("b")]]))
    assert {one.law for one in known().seen} == {"a", "b"}


LEARNER = """
import sys
from pathlib import Path
from clusterlens.compute.pool import paces
paces.directories = lambda: [Path(sys.argv[1])]
print("ready", flush=True)
sys.stdin.read(1)
for k in range(25):
    paces.learn([paces.Seen(f"{sys.argv[2]} {k}", 1000, 4, 2.0)])
"""


def test_processes_that_learn_at_once_lose_nothing_of_each_other(places):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", LEARNER, str(places[0]), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for name in "ab"
    ]
    for process in processes:
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        process.stdin.write(b".")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert len(known_paces().seen) == 50


def test_where_nothing_can_be_written_nothing_is_kept(places):
    for place in places:
        place.write_text("a file where the folder should be")
    learn([seen()])
    assert known_paces().seen == ()
    places[1].unlink()
    learn([seen()])
    assert known_paces().seen == (seen(),)
