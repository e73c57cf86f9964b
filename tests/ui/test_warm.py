"""The thread that makes kernels ready: once in a process, part after part."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from clusterlens.compute._run.options import Cancelled
from clusterlens.ui import warm


@pytest.fixture
def steps(monkeypatch):
    """Steps in place of the real ones, and a process that has not begun."""
    made = dict.fromkeys(warm.PARTS, lambda: None)
    monkeypatch.setattr(warm, "_steps", lambda: made)
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
