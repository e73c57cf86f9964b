"""The thread that makes kernels ready: once in a process, part after part."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numba
import pytest

from clusterlens.compute._run.kernels import kernels_on_disk
from clusterlens.compute._run.options import Cancelled
from clusterlens.ui import warm
from clusterlens.ui.jobs import Job

COUNT_ONCE = """
import numpy as np, clusterlens as cl
cl.count_agreements(cl.Ensemble(np.arange(40).reshape(2, 20) % 3))
"""


@pytest.fixture
def steps(monkeypatch):
    """Steps in place of the real ones, and a process that has not begun."""
    made = dict.fromkeys(warm.PARTS, lambda: None)
    monkeypatch.setattr(warm, "_steps", lambda: made)
    monkeypatch.setattr(warm, "kernels_on_disk", lambda: True)
    monkeypatch.setattr(warm, "_start_workers", lambda: None)
    warm._begin.cache_clear()
    yield made
    warm._begin.cache_clear()


def test_every_part_is_made_ready_without_an_error(caplog):
    warm.wait()
    assert warm.ready()
    assert not caplog.records


def test_the_thread_starts_once_however_many_sessions_ask(steps):
    runs = []
    steps["pictures"] = lambda: runs.append(threading.current_thread().name)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(50):
            pool.submit(warm.start)
    warm.wait()
    assert runs == ["warm"]


def test_a_part_is_waited_for_with_those_before_it_only(steps):
    go_on = threading.Event()
    steps["tables"] = go_on.wait
    reports = []
    warm.wait("ensembles", progress=lambda *counts: reports.append(counts))
    assert reports == [(0, 2), (1, 2), (2, 2)]
    assert warm.ready("ensembles")
    assert not warm.ready("tables")
    assert not warm.ready()
    go_on.set()
    warm.wait()
    assert warm.ready()


def test_a_wait_can_be_cancelled(steps):
    go_on = threading.Event()
    steps["pictures"] = go_on.wait
    with pytest.raises(Cancelled):
        warm.wait(cancel=lambda: True)
    go_on.set()
    warm.wait()


def test_a_part_that_fails_is_left_to_its_first_user_and_logged(steps, caplog):
    def fail():
        raise RuntimeError("no such thing")

    steps["pictures"] = fail
    warm.wait()
    assert warm.ready()
    assert "no such thing" in caplog.text


def test_without_kernels_on_disk_another_process_makes_them(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(warm, "_COMPILE", COUNT_ONCE)
    assert not kernels_on_disk()
    warm._compile_beside()
    assert kernels_on_disk()


def test_a_job_waits_for_the_kernels_and_says_so(steps):
    go_on, asked = threading.Event(), threading.Event()
    steps["tables"] = go_on.wait
    job = Job("Run the pool")
    warm.hold(job)
    assert job.done == job.total == 0
    warm.start()
    titles = []

    def cancelled():
        titles.append(job.title)
        asked.set()
        return False

    job.cancelled = cancelled
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(warm.hold, job)
        asked.wait()
        go_on.set()
        held.result()
    assert titles[0].startswith("Getting ready")
    assert job.title == "Run the pool"
    assert warm.ready()
