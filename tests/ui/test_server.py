"""Tests of the server: its store, and its end."""

import asyncio
import os
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute._run.processes import WorkerJob, Workers, run_jobs
from clusterlens.compute.pool.estimate import MEMORY_LIMIT
from clusterlens.ui.components.status_bar import job_bar
from clusterlens.ui.composition import new_session
from clusterlens.ui.pages.pool.run_progress import RunProgress
from clusterlens.ui.server import server as shared
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.widgets.words import ALL_AT_WORK
from tests.ui.loop import run


def test_a_server_keeps_where_it_is_told_or_says_why_not(tmp_path, monkeypatch):
    monkeypatch.setenv("CLUSTERLENS_HOME", str(tmp_path / "home"))
    server = Server.at_home()
    assert server.store.folder == tmp_path / "home"
    assert (server.results.folder, server.startup_notice) == (server.store.found, "")
    monkeypatch.setenv("CLUSTERLENS_HOME", "off")
    assert (Server.at_home().store, Server.at_home().startup_notice) == (None, "")
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CLUSTERLENS_HOME", str(tmp_path / "file"))
    refused = Server.at_home()
    assert refused.store is None
    assert refused.startup_notice.startswith("Nothing is kept: ")


def test_a_closed_server_leaves_no_process_no_thread_and_no_open_store(tmp_path):
    server = Server(Store(tmp_path))
    server.workers = Workers(1)
    server.workers.start(bytes.upper)
    (worker,) = server.workers._spare
    last = server.writing.submit(server.store.entries)
    server.close()
    assert not worker.is_alive
    assert last.result() == []
    for lane in ("kernels", "actions", "live", "idle", "writing"):
        with pytest.raises(RuntimeError, match="shutdown"):
            getattr(server, lane).submit(print)
    assert not Store(tmp_path)._presence.others()


def test_a_run_of_another_session_waits_for_its_turn_and_the_page_says_so():
    pool = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]

    async def main():
        server, shown, ended = Server(), [], threading.Event()
        workers = server.workers = Workers(1)
        sessions = [new_session(server) for _ in range(3)]
        bar = job_bar(sessions[0])
        card = RunProgress(sessions[0])
        assert card.view
        card.set_visible(True)
        sessions[0].jobs.param.watch(
            lambda event: shown.append((bar.objects[0].body, card._text.body)), "shown"
        )
        for session in sessions:
            await session.act("load example", name="rings")
        hold = asyncio.to_thread(_hold, workers, ended)
        held = asyncio.create_task(hold)
        while not workers._at_work:
            await asyncio.sleep(0.01)
        runs = [
            asyncio.create_task(session.act("run pool", pool=pool, random_state=seed))
            for seed, session in enumerate(sessions)
        ]
        while not all(s.jobs.shown and s.jobs.shown.waits_its_turn for s in sessions):
            await asyncio.sleep(0.01)
        sessions[1].jobs.cancel()
        assert not await runs[1]
        assert not any(run.done() for run in (runs[0], runs[2], held))
        ended.set()
        await asyncio.gather(*runs, held)
        n_models = [
            session.analysis.run and session.analysis.run.ensemble.n_partitions
            for session in sessions
        ]
        for session in sessions:
            session.close()
        server.close()
        return n_models, shown

    n_models, shown = run(main())
    assert n_models == [3, None, 3]
    assert any(ALL_AT_WORK in bar for bar, _ in shown)
    assert any(f"<p>{ALL_AT_WORK.capitalize()}.</p>" in card for _, card in shown)
    assert ALL_AT_WORK not in shown[-1][0]


def _hold(workers, ended):
    """Occupy a worker until an event."""
    job = WorkerJob(b"import time; time.sleep(600)", 1.0)
    with suppress(Cancelled):
        list(
            run_jobs(
                exec,
                [job],
                n_workers=1,
                memory_limit=9,
                cancel=ended.is_set,
                workers=workers,
            )
        )


def test_all_sessions_have_a_worker_for_each_core_and_the_memory_of_one_run(
    monkeypatch,
):
    monkeypatch.setattr(shared, "Workers", lambda *limits: limits)
    assert Server().workers == (os.cpu_count() or 1, MEMORY_LIMIT)


def test_dask_is_whole_before_threads_use_scipy():
    # SciPy fails on arrays while another thread imports dask.array.
    pytest.importorskip("dask")
    code = "import sys\nfrom clusterlens.ui.server.server import Server\n"
    code += "print('dask.array' in sys.modules)\nServer()\n"
    code += "print('Array' in vars(sys.modules['dask.array']))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]
