"""Tests of work interrupted by a killed server: it is offered again, nothing else."""

import asyncio
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.pool.pool import PoolModel, estimate_pool
from clusterlens.ui.actions import pools
from clusterlens.ui.components.interrupted import interrupted
from clusterlens.ui.composition import NODES, new_session
from clusterlens.ui.server.memory import memory as module
from clusterlens.ui.server.memory.database import StoreError
from clusterlens.ui.server.memory.presence import Presence, is_there
from clusterlens.ui.server.memory.store import FILE, Intent, Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.session import ENDED_SECONDS, Session
from clusterlens.ui.state.drafts import PoolDraft
from clusterlens.ui.state.partial_run import PartialRun, PartialRunRecorder
from tests.ui.loop import run, wait_until_idle
from tests.ui.memory.test_checks import some_copies
from tests.ui.memory.test_store import FIRST_VERSION

POOL = [{"clusterer": "k-means", "n_clusters": [2, 3]}]
# Begins a pool that never ends, and prints its analysis once progress is stored.
SERVER = """
import asyncio, sys, threading
from pathlib import Path
from clusterlens.ui.actions import pools
from clusterlens.ui.server.memory import memory
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.composition import new_session
from clusterlens.ui.session import Session

memory._NOTE_SECONDS = 0.0

def endless(X, pool, *, progress, **options):
    progress(1, 14)
    threading.Event().wait()

async def main():
    pools.run_pool = endless
    store = Store(Path(sys.argv[1]))
    session = new_session(Server(store))
    await session.act("load example", name="iris")
    pool = [{"clusterer": "k-means", "n_clusters": [2, 3]}]
    running = asyncio.create_task(session.act("run pool", pool=pool, random_state=7))
    while [i.done for i in store.under_way(session.memory.analysis)[0]] != [1]:
        await asyncio.sleep(0.01)
    print(session.memory.analysis, flush=True)
    await running

asyncio.run(main())
"""


@contextmanager
def other_server(folder):
    """Yield the id of an analysis while another server runs a pool on it."""
    command = [sys.executable, "-c", SERVER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.fixture(scope="module")
def killed_once(tmp_path_factory):
    """A store with a server that was killed during a run, and the analysis."""
    folder = tmp_path_factory.mktemp("killed")
    with other_server(folder) as analysis:
        pass
    return folder, analysis


@pytest.fixture
def killed(killed_once, tmp_path):
    """A copy of that store, and the analysis."""
    folder, analysis = killed_once
    return shutil.copytree(folder, tmp_path / "copy"), analysis


@pytest.fixture
def held_pool(monkeypatch, quick_pool):
    """Make a pool wait for the returned event."""
    may_end, fit = threading.Event(), pools.run_pool

    def held(X, pool, *, cancel, **options):
        while not may_end.wait(0.01):
            if cancel():
                raise Cancelled
        return fit(X, pool, **options)

    monkeypatch.setattr(pools, "run_pool", held)
    return may_end


async def opened(folder, analysis) -> Session:
    session = new_session(Server(Store(folder)))
    assert await session.open(analysis), session.jobs.notices
    return session


async def running(folder) -> tuple[Session, asyncio.Task]:
    """Return a session with a run that the store has recorded, and its task."""
    session = new_session(Server(Store(folder)))
    assert await session.act("load example", name="iris")
    task = asyncio.create_task(session.act("run pool", pool=POOL, random_state=3))
    while not session.memory.store.under_way(session.memory.analysis)[0]:
        await asyncio.sleep(0.01)
    return session, task


async def running_beside(folder) -> tuple[Session, asyncio.Task, Session]:
    """Return the same, and another session with that analysis."""
    session, task = await running(folder)
    await session.memory.settled()
    other = new_session(session.server)
    assert await other.open(session.memory.analysis)
    return session, task, other


def test_the_first_that_is_known_of_how_far_a_run_is_is_noted_at_once(
    tmp_path, held_pool, monkeypatch
):
    monkeypatch.setattr(module, "_NOTE_SECONDS", 600)

    async def main():
        session, task = await running(tmp_path)
        for done in (1, 2):
            session.memory.progress("run pool", "Run the pool", done, 14)
            await session.memory.settled()
        (noted,) = session.memory.store.under_way(session.memory.analysis)[0]
        assert (noted.done, noted.total) == (1, 14)
        held_pool.set()
        assert await task

    run(main())


def test_a_session_that_ends_tells_nothing_more_and_stops_what_it_has_under_way(
    tmp_path, held_pool
):
    async def main():
        session, task = await running(tmp_path)
        events = []
        session.memory.param.watch(events.append, ["under_way"])
        session.close()
        assert not await task
        await session.ended()
        assert not events
        assert session.memory.under_way == ()
        again = await opened(tmp_path, session.memory.analysis)
        (intent,) = again.memory.interrupted
        assert intent.kind == "run pool"

    run(main())


def test_a_killed_run_is_offered_with_its_pool_and_gives_the_same_again(
    killed, quick_pool
):
    folder, analysis = killed

    async def main():
        session = await opened(folder, analysis)
        (intent,) = session.memory.interrupted
        assert (intent.kind, intent.done, intent.total) == ("run pool", 1, 14)
        assert intent.given == {"pool": POOL, "random_state": 7}
        assert await session.again(intent)
        assert session.memory.interrupted == session.memory.under_way == ()
        direct = new_session(Server())
        await direct.act("load example", name="iris")
        await direct.act("run pool", pool=POOL, random_state=7)
        labels = [s.analysis.ensemble.labels for s in (session, direct)]
        np.testing.assert_array_equal(*labels)
        again = await opened(folder, analysis)
        assert again.memory.interrupted == ()
        assert again.analysis.run.random_state == 7

    run(main())


def test_the_run_of_another_server_is_under_way_while_that_lives(tmp_path):
    async def main():
        with other_server(tmp_path) as analysis:
            session = await opened(tmp_path, analysis)
            assert session.memory.interrupted == ()
            (notice,) = session.jobs.notices
            assert "Run the pool is under way on another page" in notice.text
        again = await opened(tmp_path, analysis)
        assert [i.title for i in again.memory.interrupted] == ["Run the pool"]

    run(main())


def test_what_is_under_way_on_another_page_is_told_until_it_is_here(
    tmp_path, held_pool
):
    async def main():
        _, task, other = await running_beside(tmp_path)
        (notice,) = other.jobs.notices
        assert "Run the pool is under way on another page" in notice.text
        held_pool.set()
        assert await task
        while other.analysis.run is None:
            await asyncio.sleep(0.01)
        await other.memory.settled()
        assert other.jobs.notices == ()

    run(main())


@pytest.mark.parametrize(
    ("stop", "offered"),
    [
        (lambda session: session.jobs.cancel(), []),
        (lambda session: session.close(), ["Run the pool"]),
    ],
    ids=["cancelled", "closed"],
)
def test_what_stops_on_another_page_is_told_no_longer_and_offered_if_that_has_ended(
    tmp_path, held_pool, stop, offered
):
    async def main():
        session, task, other = await running_beside(tmp_path)
        assert "under way on another page" in other.jobs.notices[0].text
        stop(session)
        while other.jobs.notices:
            await asyncio.sleep(0.01)
        assert [one.title for one in other.memory.interrupted] == offered
        task.cancel()
        held_pool.set()

    run(main(), 30)


def test_a_session_ends_also_once_its_server_answers_no_more(tmp_path, held_pool):
    session, _ = run(running(tmp_path))
    session.close()
    session.server.close()
    again = run(opened(tmp_path, session.memory.analysis))
    assert [one.title for one in again.memory.interrupted] == ["Run the pool"]


def test_a_page_that_ends_is_not_gone_before_a_slow_store_knows_and_others_are_told(
    tmp_path, held_pool
):
    async def main():
        session, task, other = await running_beside(tmp_path)
        may_go_on = threading.Event()
        session.memory.store._executor.submit(may_go_on.wait, 60)
        session.close()
        ended = asyncio.create_task(session.ended())
        await asyncio.wait({ended}, timeout=3 * ENDED_SECONDS)
        assert not ended.done()
        may_go_on.set()
        await ended
        assert not await task
        vars(session.memory).clear()  # as when the page is disposed of
        while other.jobs.notices:
            await asyncio.sleep(0.01)
        assert [one.title for one in other.memory.interrupted] == ["Run the pool"]

    run(main(), 30)


def test_a_page_that_ends_while_the_store_cannot_be_written_leaves_no_other_waiting(
    tmp_path, held_pool, caplog
):
    async def main():
        session, task, other = await running_beside(tmp_path)
        store = session.memory.store
        store._executor.submit(store._db.execute, "PRAGMA query_only = ON").result()
        session.close()
        assert not await task
        await session.ended()
        while other.jobs.notices:
            await asyncio.sleep(0.01)
        (intent,) = other.memory.interrupted
        store._executor.submit(store._db.execute, "PRAGMA query_only = OFF").result()
        held_pool.set()
        assert await other.again(intent)
        assert store.under_way(other.memory.analysis) == ([], [])

    run(main(), 30)
    assert "What was interrupted cannot be noted" in caplog.text


@pytest.mark.parametrize("cancelled", [True, False])
def test_the_run_of_a_page_that_was_left_goes_on_where_its_analysis_is_opened(
    cancelled, tmp_path, held_pool
):
    async def main():
        session, task, other = await running_beside(tmp_path)
        assert other.jobs.shown is None
        session.view_state.pool_draft = PoolDraft(preset="quick", random_state=3)
        session.server.left.add(session)  # as for a page without a connection
        while other.jobs.shown is None or not session.jobs.followers:
            await asyncio.sleep(0.01)
        assert (other.jobs.shown.title, other.jobs.shown.kind) == (
            "Run the pool",
            "run pool",
        )
        assert other.jobs.notices == ()
        assert other.view_state.pool_draft is session.view_state.pool_draft
        # Partial results are shown here, too.
        so_far = partial_run_of(session)
        session.jobs._action.tell(so_far)
        while other.jobs.partial is not so_far:
            await asyncio.sleep(0.01)
        while other.history.partial_run is None:
            other.view_state.page = "consensus"
            await asyncio.sleep(0.01)
        if cancelled:
            other.jobs.cancel()
        else:
            held_pool.set()
        assert await task != cancelled
        while other.jobs.shown or other.jobs.partial or session.jobs.followers:
            await asyncio.sleep(0.01)
        assert (other.analysis.run is None) == cancelled
        expected = (
            ["Cancelled: Run the pool. Nothing was changed."] if cancelled else []
        )
        assert [notice.text for notice in other.jobs.notices] == expected
        assert other.history.partial_run is None
        assert [one.title for one in other.memory.interrupted] == []

    run(main())


def test_a_page_that_ends_is_not_followed_any_longer(tmp_path, held_pool):
    async def main():
        session, task, other = await running_beside(tmp_path)
        session.server.left.add(session)
        while not session.jobs.followers:
            await asyncio.sleep(0.01)
        session.server.left.discard(session)
        session.close()
        assert not await task
        await session.ended()
        vars(session.jobs).clear()  # as when the page is disposed of
        await other.jobs._following
        assert other.jobs.shown is None

    run(main())


def test_a_pool_that_is_drafted_is_left_as_it_is_when_the_run_of_another_page_is_here(
    tmp_path, held_pool
):
    async def main():
        session, task, other = await running_beside(tmp_path)
        session.view_state.pool_draft = PoolDraft(preset="quick")
        other.view_state.pool_draft = mine = PoolDraft(random_state=5)
        session.server.left.add(session)
        while not session.jobs.followers:
            await asyncio.sleep(0.01)
        assert other.view_state.pool_draft is mine
        held_pool.set()
        assert await task

    run(main())


def partial_run_of(session: Session) -> PartialRun:
    """Return a partial run of a session's table with three models."""
    dataset = session.history.analysis.dataset
    runs_so_far = []
    partial_run = PartialRunRecorder(1, dataset, tuple(POOL), 0, runs_so_far.append)
    spec = {"clusterer": "k-means", "n_clusters": [2, 3, 4, 5]}
    partial_run.planned(estimate_pool(dataset.X, [spec]))
    for at, k in enumerate((2, 3, 4)):
        labels, of = np.arange(len(dataset.X)) % k, (f"k-means k={k}", "k-means", spec)
        partial_run.ended(PoolModel(at, 4, *of, labels, None, 0.1, None, ()))
    return runs_so_far[-1]


def test_a_run_that_ended_or_was_cancelled_or_failed_is_not_offered(
    tmp_path, monkeypatch, held_pool
):
    def fails(*args, **kwargs):
        raise ValueError("not today")

    async def main():
        session, task = await running(tmp_path)
        store, analysis = session.memory.store, session.memory.analysis
        session.jobs.cancel()
        assert not await task
        assert store.under_way(analysis) == ([], [])
        held_pool.set()
        # The result and the end of the run are written together.
        monkeypatch.setattr(module.Memory, "_note", None)
        assert await session.act("run pool", pool=POOL)
        assert store.under_way(analysis) == ([], [])
        monkeypatch.undo()
        monkeypatch.setattr(pools, "run_pool", fails)
        assert not await session.act("run pool", pool=POOL, random_state=1)
        assert store.under_way(analysis) == ([], [])

    run(main())


def test_what_waits_for_its_turn_is_offered_too(tmp_path, held_pool):
    async def main():
        session, task = await running(tmp_path)
        waiting = asyncio.create_task(session.act("prepare", scale="robust"))
        store, analysis = session.memory.store, session.memory.analysis
        while len(store.under_way(analysis)[0]) < 2:
            await asyncio.sleep(0.01)
        store.close()
        again = await opened(tmp_path, analysis)
        titles = [intent.title for intent in again.memory.interrupted]
        assert titles == ["Run the pool", "Prepare the table"]
        task.cancel()
        waiting.cancel()
        held_pool.set()

    run(main())


def test_a_run_whose_page_was_gone_for_too_long_is_offered(tmp_path, held_pool):
    async def main():
        session, task = await running(tmp_path)
        session.close()
        assert not await task
        again = new_session(session.server)
        while not again.memory.interrupted:
            assert await again.open(session.memory.analysis)
        assert again.memory.interrupted[0].given["random_state"] == 3

    run(main())


def test_of_two_pages_and_two_servers_one_does_it_again(killed, quick_pool):
    folder, analysis = killed

    async def main():
        server = Server(Store(folder))
        one, beside = new_session(server), new_session(server)
        other = await opened(folder, analysis)
        for session in (one, beside):
            assert await session.open(analysis)
        (intent,) = one.memory.interrupted
        done = await asyncio.gather(
            one.again(intent), beside.again(intent), other.again(intent)
        )
        assert sum(done) == 1
        for session, did in zip((one, beside, other), done, strict=True):
            assert session.memory.interrupted == ()
            texts = [notice.text for notice in session.jobs.notices]
            assert did or "another page" in texts[0]

    run(main())


def test_what_is_dismissed_is_gone_for_good_and_on_every_page(killed):
    folder, analysis = killed

    async def main():
        server = Server(Store(folder))
        one, other = new_session(server), new_session(server)
        assert await one.open(analysis)
        assert await other.open(analysis)
        await one.memory.dismiss(one.memory.interrupted[0])
        assert one.memory.interrupted == other.memory.interrupted == ()
        assert (await opened(folder, analysis)).memory.interrupted == ()

    run(main())


@pytest.mark.parametrize("verb", ["again", "dismiss"])
def test_a_store_that_fails_is_told_and_the_offer_stays(killed, verb, monkeypatch):
    async def main():
        session = await opened(*killed)
        (intent,) = session.memory.interrupted

        def fails(*given):
            raise StoreError("no room left")

        for name in ("take", "note"):
            monkeypatch.setattr(session.memory.store, name, fails)
        await interrupted(session)._handle_msg(f"{verb} {intent.id}")
        (notice,) = session.jobs.notices
        assert notice.severity == "error"
        assert notice.text == f"{intent.title}: no room left"
        assert session.memory.interrupted == (intent,)

    run(main())


def test_the_offer_says_how_far_it_was_and_what_about(killed):
    folder, analysis = killed

    async def main():
        session = await opened(folder, analysis)
        place = interrupted(session)
        assert "“Run the pool” was interrupted at 1 of 14" in place.body
        assert "K-means; seed 7." in place.body
        (intent,) = session.memory.interrupted
        await place._handle_msg(f"draft {intent.id}")
        draft = session.view_state.pool_draft
        assert session.view_state.page == "pool"
        assert [dict(entry.grid) for entry in draft.entries] == POOL
        assert draft.random_state == 7
        await place._handle_msg(f"dismiss {intent.id}")
        assert place.body == ""

    run(main())


def test_data_borne_words_of_the_offer_are_escaped_and_a_lost_file_is_said(tmp_path):
    async def main():
        session = new_session(Server(Store(tmp_path)))
        assert await session.act("load example", name="iris")
        given = {"name": "<img src=x>", "sha256": "0" * 64}
        session.memory.interrupted = (
            Intent("a", "load file", "Read the file", given),
            Intent("b", "name cluster", "Name the cluster", {"name": "<b>x</b>"}),
        )
        return interrupted(session).body

    body = run(main())
    assert "Its file is lost" in body
    assert "again a" not in body
    assert "again b" in body
    assert "<b>" not in body


def test_a_check_that_was_asked_for_is_offered_and_begins_again(
    tmp_path, monkeypatch, quick_pool
):
    begun, may_end, found = threading.Event(), threading.Event(), some_copies()

    def slow(job, *inputs):
        begun.set()
        while not may_end.wait(0.01):
            if job.cancelled():
                raise Cancelled
        return found

    check = replace(NODES["null_check"], compute=slow)
    monkeypatch.setitem(NODES, "null_check", check)

    async def main():
        session = new_session(Server(Store(tmp_path)))
        assert await session.act("load example", name="iris")
        assert await session.act("run pool", pool=POOL)
        store, analysis = session.memory.store, session.memory.analysis
        session.view_state.page = "consensus"
        session.derived.watch(["null_check"], lambda results: None)
        session.derived.ask("null_check")
        while not store.under_way(analysis)[0]:
            await asyncio.sleep(0.01)
        store.close()
        again = await opened(tmp_path, analysis)
        (intent,) = again.memory.interrupted
        assert intent.title == check.title
        begun.clear()
        again.derived.watch(["null_check"], lambda results: None)
        assert await again.again(intent)
        assert again.view_state.page == "consensus"
        while not begun.is_set():
            await asyncio.sleep(0.01)
        may_end.set()
        await wait_until_idle(again)
        await again.memory.settled()
        assert again.derived.get("null_check").value is found
        assert again.memory.store.under_way(analysis) == ([], [])
        session.close()

    run(main())


def test_older_stores_learn_to_keep_what_is_under_way(tmp_path):
    with sqlite3.connect(tmp_path / FILE) as db:
        db.executescript(FIRST_VERSION)
    db.close()
    store = Store(tmp_path)
    assert store.under_way("a1") == ([], [])
    intent = Intent("i", "run pool", "Run the pool", {"pool": POOL})
    store.note("a1", [intent])
    assert store.under_way("a1") == ([intent], [])
    store.close()
    assert Store(tmp_path).under_way("a1") == ([], [intent])


def test_nothing_is_noted_of_an_analysis_that_is_gone(tmp_path):
    store = Store(tmp_path)
    store.note("gone", [Intent("i", "run pool", "Run the pool")])
    assert store.under_way("gone") == ([], [])


def test_a_process_is_there_until_it_ends_and_leaves_nothing_behind(tmp_path):
    one = Presence(tmp_path, "one")
    other = Presence(tmp_path, "other")
    assert is_there(tmp_path, "one")
    assert is_there(tmp_path, "other")
    one.close()
    assert not is_there(tmp_path, "one")
    assert not is_there(tmp_path, "")
    third = Presence(tmp_path, "third")
    assert {path.name for path in tmp_path.iterdir()} == {"other", "third"}
    for presence in (other, third):
        presence.close()
