"""Tests of saved steps: restored after undo, other pages, a full disk."""

import asyncio
import errno
import os
import sqlite3
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clusterlens.compute.pool.presets import POOLS
from clusterlens.ui import session
from clusterlens.ui.actions import pools
from clusterlens.ui.composition import new_session
from clusterlens.ui.exports.script import script_lines
from clusterlens.ui.pages.pool.grid import PoolGrid
from clusterlens.ui.server.memory import memory as memory_of_a_page
from clusterlens.ui.server.memory.contents import Contents
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.session import Session
from tests.ui.loop import run
from tests.ui.memory.test_records import assert_same

POOL = [{"clusterer": "k-means", "n_clusters": [2, 3]}]


async def begun(folder) -> Session:
    session = new_session(Server(Store(folder)))
    assert await session.act("load example", name="iris")
    assert await session.act("run pool", pool=POOL)
    return session


async def opened(folder, analysis) -> Session:
    session = new_session(Server(Store(folder)))
    assert await session.open(analysis), session.jobs.notices
    return session


async def two_apart(folder) -> tuple[Session, Session]:
    """Return two pages on one analysis without notifications, as in two servers."""
    one = await begun(folder)
    other = await opened(folder, one.memory.analysis)
    return one, other


def assert_same_history(one: Session, other: Session):
    assert one.history.cursor == other.history.cursor
    assert len(one.history.steps) == len(other.history.steps)
    for a, b in zip(one.history.steps, other.history.steps, strict=True):
        assert (a.kind, a.title, a.values, a.at) == (b.kind, b.title, b.values, b.at)
        assert_same(a.analysis, b.analysis)


def test_a_page_that_is_turned_to_while_an_analysis_opens_stays(tmp_path):
    async def main():
        left = new_session(Server(Store(tmp_path)))
        assert await left.act("load example", name="iris")
        left.view_state.page = "fuzzy"
        await left.memory.settled()
        session = new_session(left.server)
        opening = asyncio.create_task(session.open(left.memory.analysis))
        await asyncio.sleep(0)
        session.view_state.page = "clusters"
        assert await opening
        assert session.view_state.page == "clusters"

    run(main())


def test_an_analysis_is_opened_where_it_was_left_without_running_its_pool(
    tmp_path, quick_pool, monkeypatch
):
    async def main():
        session = await begun(tmp_path)
        session.view_state.param.update(page="consensus", model=2, tab="links")
        session.view_state.report_without = ("map", "links")
        await session.act("add link", kind="must", a=0, b=1)
        await session.act("set score", score="aari")
        session.undo()
        await session.memory.settled()
        assert session.memory.state == "saved"
        monkeypatch.setattr(pools, "run_pool", None)
        again = await opened(tmp_path, session.memory.analysis)
        assert_same_history(session, again)
        again.redo()
        assert again.analysis.score == "aari"
        assert (again.view_state.page, again.view_state.model) == ("consensus", 2)
        assert again.view_state.report_without == ("map", "links")
        return again

    assert run(main()).jobs.notices == ()


def test_an_analysis_is_opened_on_the_page_that_was_left(tmp_path, quick_pool):
    async def main():
        session = await begun(tmp_path)
        store, name = session.memory.store, session.memory.analysis
        (before,) = store.entries()
        revision = store.revision(name)
        session.view_state.page = "pool"
        session.view_state.param.update(page="consensus", tab="links")
        await session.memory.settled()
        assert store.entries() == [before]
        assert store.revision(name) == revision
        return (await opened(tmp_path, name)).view_state

    view_state = run(main())
    assert (view_state.page, view_state.tab) == ("consensus", "links")


def test_the_page_of_an_analysis_that_is_gone_is_no_error(tmp_path, quick_pool):
    async def main():
        session = await begun(tmp_path)
        session.memory.store.write_view_state("no such analysis", {"page": "consensus"})
        assert len(session.memory.store.entries()) == 1

    run(main())


def test_thirty_actions_are_undone_to_the_start_and_redone_to_the_end(
    tmp_path, quick_pool
):
    async def main():
        session = await begun(tmp_path)
        for k in range(24):
            await session.act("add link", kind="must", a=k, b=k + 1)
        for weight in (0.3, 0.4):
            await session.act("set link weight", weight=weight)
        await session.act("run pool", pool=POOL, random_state=1)
        await session.act("read run", id="r1")
        await session.act("set threshold", threshold=2)
        await session.act("prepare", scale="robust")
        states = [step.analysis for step in session.history.steps]
        one = session
        for _ in range(2):
            while one.history.undo_step:
                one.undo()
            assert one.analysis.table is None
            await one.memory.settled()
            for state in states[1:]:
                one.redo()
                assert_same(one.analysis, state)
            await one.memory.settled()
            one.close()
            one = await opened(tmp_path, session.memory.analysis)
        return len(states) - 1

    assert run(main()) >= 30


def test_another_table_begins_another_analysis_and_leaves_the_first(
    tmp_path, quick_pool
):
    async def main():
        session = await begun(tmp_path)
        first = session.memory.analysis
        await session.act("load example", name="wine")
        assert session.memory.analysis != first
        tables = {e.about["table"]: e for e in session.memory.store.entries()}
        assert set(tables) == {"iris", "wine"}
        kept = await opened(tmp_path, first)
        assert kept.analysis.table.name == "iris"
        assert kept.history.redo_step is None
        session.undo()
        assert session.analysis.table.name == "iris"

    run(main())


class Held:
    """A function that holds back its result until a test releases it."""

    def __init__(self, work):
        self._work, self._done, self._go = work, threading.Event(), threading.Event()

    def __call__(self, *given):
        found = self._work(*given)
        self._done.set()
        assert self._go.wait(60)
        return found

    async def done(self):
        await asyncio.to_thread(self._done.wait, 60)

    def let_go(self):
        self._go.set()


def test_what_is_done_while_another_analysis_is_read_stays_where_it_was_done(
    tmp_path, quick_pool, monkeypatch
):
    async def main():
        page = await begun(tmp_path)
        first = page.memory.analysis
        await page.act("load example", name="wine")
        second = page.memory.analysis
        assert await page.open(first)
        reading = Held(memory_of_a_page.read)
        writing = Held(memory_of_a_page._write)
        monkeypatch.setattr(session, "read", reading)
        monkeypatch.setattr(memory_of_a_page, "_write", writing)
        opening = asyncio.create_task(page.open(second))
        await reading.done()
        assert page.act_now("set score", score="aari")
        await writing.done()
        reading.let_go()
        while page.jobs.busy:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        writing.let_go()
        assert await opening
        await page.memory.settled()
        assert page.memory.analysis == second
        assert page.analysis.table.name == "wine"
        kept = await opened(tmp_path, first)
        assert (kept.analysis.table.name, kept.analysis.score) == ("iris", "aari")
        assert kept.analysis.run is not None

    run(main())


def test_what_is_done_while_the_step_of_another_page_is_read_is_kept(
    tmp_path, quick_pool, monkeypatch
):
    async def main():
        one, other = await two_apart(tmp_path)
        await one.act("set score", score="aari")
        reading = Held(memory_of_a_page.read)
        monkeypatch.setattr(memory_of_a_page, "read", reading)
        other.act_now("add link", kind="must", a=0, b=1)
        await reading.done()
        other.act_now("set link weight", weight=0.5)
        reading.let_go()
        await other.memory.settled()
        kept = await opened(tmp_path, one.memory.analysis)
        for page in (other, kept):
            assert page.analysis.score == "aari"
            assert len(page.analysis.links) == 1
            assert page.analysis.link_weight == 0.5

    run(main())


def test_two_pages_on_one_analysis_see_what_the_other_did(tmp_path, quick_pool):
    async def main():
        one = await begun(tmp_path)
        other = new_session(one.server)
        await other.open(one.memory.analysis)
        await one.act("set score", score="aari")
        await asyncio.sleep(0)
        await other.memory.settled()
        assert other.analysis.score == "aari"
        assert other.analysis.ensemble is one.analysis.ensemble
        other.undo()
        await other.memory.settled()
        await asyncio.sleep(0)
        await one.memory.settled()
        assert one.analysis.score == "discotec-binary"
        assert_same_history(one, other)

    run(main())


def test_pages_that_act_at_the_same_time_are_told_and_lose_nothing(
    tmp_path, quick_pool
):
    async def main():
        one, other = await two_apart(tmp_path)
        await one.act("add link", kind="must", a=0, b=1)
        await asyncio.gather(
            other.act("add link", kind="cannot", a=0, b=100),
            other.act("set link weight", weight=0.5),
        )
        links = {(link.kind, link.a, link.b) for link in other.analysis.links}
        assert links == {("must", 0, 1), ("cannot", 0, 100)}
        assert other.analysis.link_weight == 0.5
        assert "Another page" in other.jobs.notices[0].text
        assert_same_history(await opened(tmp_path, one.memory.analysis), other)

    run(main())


def test_undo_on_one_page_does_not_take_back_a_later_step_of_another(
    tmp_path, quick_pool
):
    async def main():
        one, other = await two_apart(tmp_path)
        await one.act("add link", kind="must", a=0, b=1)
        other.undo()
        await other.memory.settled()
        assert [(link.a, link.b) for link in other.analysis.links] == [(0, 1)]
        assert other.analysis.run is not None
        assert "went on with this analysis" in other.jobs.notices[-1].text
        assert_same_history(one, other)
        one.undo()
        await one.memory.settled()
        other.undo()
        other.undo()
        await other.memory.settled()
        assert other.analysis.run is None
        assert len(other.jobs.notices) == 1

    run(main())


def test_a_run_that_ends_after_another_page_acted_joins_what_that_did(
    tmp_path, quick_pool
):
    async def main():
        one, other = await two_apart(tmp_path)
        await one.act("add link", kind="must", a=0, b=1)
        await other.act("run pool", pool=POOL, random_state=1)
        assert len(other.analysis.runs) == 2
        assert len(other.analysis.links) == 1

    run(main())


def test_runs_of_two_pages_at_the_same_time_are_both_kept(tmp_path, quick_pool):
    async def main():
        one, other = await two_apart(tmp_path)
        assert await one.act("run pool", pool=POOL, random_state=1)
        assert await other.act("run pool", pool=POOL, random_state=2)
        runs = other.analysis.runs
        assert [run.random_state for run in runs] == [0, 1, 2]
        assert [run.name for run in runs] == ["run 1", "run 2", "run 3"]
        assert other.analysis.run is runs[2]
        script_lines(other.history.done)
        assert_same_history(await opened(tmp_path, one.memory.analysis), other)

    run(main())


def test_nothing_else_is_opened_while_what_was_done_cannot_be_saved(
    tmp_path, quick_pool, monkeypatch
):
    async def main():
        page = await begun(tmp_path)
        first = page.memory.analysis
        await page.act("load example", name="wine")

        def full(*given):
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(page.memory.store, "write", full)
            await page.act("write note", text="precious")
            assert not await page.open(first)
            assert "No space left" in page.jobs.notices[-1].text
            assert page.analysis.note == "precious"
        page.memory.retry()
        await page.memory.settled()
        assert await page.open(first)
        kept = await opened(tmp_path, first)
        assert kept.analysis.table.name == "iris"

    run(main())


def test_an_action_that_no_longer_fits_is_named(tmp_path, quick_pool):
    async def main():
        one, other = await two_apart(tmp_path)
        await one.act("add link", kind="must", a=0, b=1)
        await other.act("add link", kind="cannot", a=0, b=1)
        assert [link.kind for link in other.analysis.links] == ["cannot"]
        other.undo()
        await other.memory.settled()
        await one.act("add link", kind="must", a=1, b=2)
        await other.act("add link", kind="cannot", a=0, b=2)
        return other

    other = run(main())
    assert any("Link two rows" in notice.text for notice in other.jobs.notices)
    assert other.memory.state == "saved"


def test_an_analysis_deleted_under_a_page_is_kept_anew(tmp_path, quick_pool):
    async def main():
        session = await begun(tmp_path)
        first = session.memory.analysis
        session.memory.store.delete(first)
        session.memory.store.clean()
        await session.act("set score", score="aari")
        assert session.memory.state == "saved"
        assert session.memory.analysis != first
        again = await opened(tmp_path, session.memory.analysis)
        assert_same_history(session, again)

    run(main())


def test_a_page_that_is_opened_during_a_run_says_so_and_gets_the_run(
    tmp_path, quick_pool, monkeypatch
):
    async def main():
        session = await begun(tmp_path)
        go_on, fit = threading.Event(), pools.run_pool
        monkeypatch.setattr(
            pools, "run_pool", lambda *a, **k: go_on.wait(20) and fit(*a, **k)
        )
        other_pool = [{"clusterer": "k-means", "n_clusters": [6, 7]}]
        running = asyncio.create_task(session.act("run pool", pool=other_pool))
        while session.jobs.shown is None:
            await asyncio.sleep(0.01)
        again = new_session(session.server)
        assert await again.open(session.memory.analysis)
        assert "Run the pool is under way" in again.jobs.notices[-1].text
        assert len(again.analysis.runs) == 1
        go_on.set()
        assert await running
        while len(again.analysis.runs) < 2:
            await asyncio.sleep(0.01)
        assert session.memory.under_way == ()

    run(main())


def test_an_analysis_that_is_worked_on_is_deleted_no_more(tmp_path, quick_pool):
    async def main():
        session = await begun(tmp_path)
        first, store = session.memory.analysis, session.memory.store
        store.delete(first)
        assert store.entries() == []
        await session.act("set score", score="aari")
        assert session.memory.state == "saved"
        assert [entry.id for entry in store.entries()] == [first]
        assert_same_history(session, await opened(tmp_path, first))

    run(main())


def test_a_full_disk_is_told_and_nothing_is_lost_once_there_is_room(
    tmp_path, quick_pool, monkeypatch
):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    async def main():
        session = await begun(tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(Contents, "put", full)
            assert await session.act("run pool", pool=POOL, random_state=1)
            await session.act("set score", score="aari")
        assert session.memory.state == "failed"
        assert "No space left" in session.memory.problem
        assert session.analysis.score == "aari"
        store = Store(tmp_path)
        before = store.read(session.memory.analysis)
        assert len(before.rows) == 3
        session.memory.retry()
        await session.memory.settled()
        assert session.memory.state == "saved"
        again = await opened(tmp_path, session.memory.analysis)
        assert_same_history(session, again)

    run(main())


def test_a_full_disk_under_sqlite_is_told_and_survived(tmp_path, quick_pool):
    async def main():
        session = await begun(tmp_path)
        db = session.memory.store._db
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count = {pages}")
        for k in range(60):
            await session.act("add link", kind="must", a=k, b=k + 1)
        assert session.memory.state == "failed"
        assert "full" in session.memory.problem
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        db.execute("PRAGMA max_page_count = 1000000")
        await session.act("set score", score="aari")
        assert session.memory.state == "saved"
        again = await opened(tmp_path, session.memory.analysis)
        assert_same_history(session, again)

    run(main())


def test_uploaded_files_are_kept_and_leave_the_memory(tmp_path):
    async def main():
        session = new_session(Server(Store(tmp_path)))
        key = session.keep_file(b"a,b\n1,2\n3,4\n5,7\n8,9\n")
        assert await session.act("load file", name="<b>.csv", sha256=key)
        assert key not in set(session.files)
        assert session.files[key].startswith(b"a,b")
        store = session.memory.store
        os.utime(store.contents.path(key), (0, 0))
        store.clean()
        assert key in store.contents

    run(main())


def test_a_lost_or_damaged_result_is_told_when_an_analysis_is_opened(
    tmp_path, quick_pool
):
    async def main():
        session = await begun(tmp_path)
        analysis = session.memory.analysis
        contents = session.memory.store.contents
        for path in contents.folder.iterdir():
            path.write_bytes(b"damaged")
        again = new_session(Server(Store(tmp_path)))
        assert not await again.open(analysis)
        assert "damaged" in again.jobs.notices[0].text
        assert again.analysis.table is None

    run(main())


def test_an_unknown_analysis_is_told(tmp_path):
    async def main():
        session = new_session(Server(Store(tmp_path)))
        assert not await session.open("no such")
        return session.jobs.notices

    assert "no analysis" in run(main())[0].text


def test_saving_does_not_hold_up_the_event_loop(tmp_path, quick_pool, monkeypatch):
    write = Store.write
    ticks = []

    def slow(self, *given):
        while len(ticks) < 5:  # continues only if the loop is free
            pass
        return write(self, *given)

    monkeypatch.setattr(Store, "write", slow)

    async def main():
        session = new_session(Server(Store(tmp_path)))

        async def tick():
            while True:
                ticks.append(1)
                await asyncio.sleep(0.001)

        task = asyncio.create_task(tick())
        assert await session.act("load example", name="iris")
        task.cancel()
        return session.memory.state

    assert run(main()) == "saved"


class History(RuleBasedStateMachine):
    """Actions, undo, redo and reopening in any order behave like two stacks."""

    def __init__(self):
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._folder.name)
        self.loop = asyncio.new_event_loop()
        # The browser's loop may be running in this thread.
        self.thread = ThreadPoolExecutor(1)
        self.session = new_session(Server(Store(self.folder)))
        self.done, self.undone = [], []
        self._act("load example", name="iris")

    def _run(self, coroutine):
        return self.thread.submit(self.loop.run_until_complete, coroutine).result()

    def _act(self, kind, /, **values):
        before = self.session.analysis
        if self._run(self.session.act(kind, **values)):
            self.done.append(before)
            self.undone.clear()

    @rule(score=st.sampled_from(["aari", "anmi", "discotec-kl"]))
    def set_score(self, score):
        self._act("set score", score=score)

    @rule(
        kind=st.sampled_from(["must", "cannot"]),
        a=st.integers(0, 5),
        b=st.integers(0, 5),
    )
    def link(self, kind, a, b):
        self._act("add link", kind=kind, a=a, b=b)

    @rule(scale=st.sampled_from(["robust", "minmax"]))
    def prepare(self, scale):
        self._act("prepare", scale=scale)

    @rule()
    @precondition(lambda self: self.done)
    def undo(self):
        self.undone.append(self.session.analysis)
        self._run(self._move("undo"))
        assert_same(self.session.analysis, self.done.pop())

    @rule()
    @precondition(lambda self: self.undone)
    def redo(self):
        self.done.append(self.session.analysis)
        self._run(self._move("redo"))
        assert_same(self.session.analysis, self.undone.pop())

    async def _move(self, way):
        getattr(self.session, way)()
        await self.session.memory.settled()

    @rule()
    def reopen(self):
        analysis = self.session.memory.analysis
        self.session.close()
        self.session = new_session(Server(Store(self.folder)))
        assert self._run(self.session.open(analysis))

    @invariant()
    def everything_is_saved(self):
        memory, history = self.session.memory, self.session.history
        assert memory.state == "saved"
        assert history.cursor == len(self.done)
        assert len(history.steps) == len(self.done) + len(self.undone) + 1
        stored = memory.store.read(memory.analysis)
        assert (stored.cursor, len(stored.rows)) == (history.cursor, len(history.steps))

    def teardown(self):
        self.session.memory.store.close()
        self.thread.submit(self.loop.close).result()
        self.thread.shutdown()
        self._folder.cleanup()


TestHistory = History.TestCase
TestHistory.settings = settings(
    max_examples=8,
    stateful_step_count=14,
    suppress_health_check=list(HealthCheck),
)


def test_the_store_is_sound_after_all_this(tmp_path, quick_pool):
    async def main():
        session = await begun(tmp_path)
        session.memory.store.close()

    run(main())
    db = sqlite3.connect(tmp_path / "clusterlens.sqlite")
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    db.close()


class SlowToMakeSmall:
    """A database that cleans up until the event loop lets it end."""

    def __init__(self, db):
        self._db, self.begun, self.may_end = db, threading.Event(), threading.Event()
        self.was_let = False

    def __getattr__(self, name):
        return getattr(self._db, name)

    def execute(self, sql, *values):
        if sql == "VACUUM":
            self.begun.set()
            self.was_let = self.may_end.wait(20)
        return self._db.execute(sql, *values)


def test_the_event_loop_never_waits_for_a_store_that_is_being_cleaned_up(tmp_path):
    async def main():
        store = Store(tmp_path)
        server = Server(store)
        first, second = new_session(server), new_session(server)
        assert await first.act("load example", name="iris")
        assert await second.open(first.memory.analysis)
        grid = PoolGrid(first)
        assert grid.view
        grid.set_visible(True)
        db = store._db = SlowToMakeSmall(store._db)
        cleaning = asyncio.create_task(asyncio.to_thread(store.clean))
        await asyncio.to_thread(db.begun.wait)
        link = asyncio.create_task(first.act("add link", kind="must", a=1, b=2))
        changed = asyncio.Event()
        second.history.param.watch(lambda event: changed.set(), "steps")
        second.memory.reload_soon()
        for request in ("save mine", "rename ours", "delete"):
            grid._do(request)
        await asyncio.sleep(0.2)
        assert not link.done()
        db.may_end.set()
        await asyncio.gather(cleaning, link, *grid._requests, changed.wait())
        assert second.analysis.links == first.analysis.links != ()
        assert grid._preset.options == list(POOLS)
        server.close()
        return db.was_let

    assert run(main())


def test_a_step_is_written_though_the_process_ends_right_after(tmp_path, monkeypatch):
    monkeypatch.setattr("clusterlens.ui.server.memory.memory._DEBOUNCE_SECONDS", 0.3)
    server = Server(Store(tmp_path))

    async def answer():
        session = new_session(server)
        assert await session.act("load example", name="iris")
        assert session.act_now("add link", kind="must", a=1, b=2)
        await asyncio.sleep(0)
        assert session.memory.state == "saving"
        return session.memory.analysis

    async def links(analysis):
        return (await opened(tmp_path, analysis)).analysis.links

    def end_right_after():
        loop = asyncio.new_event_loop()  # the loop stops, whatever is running
        analysis = loop.run_until_complete(answer())
        server.close()
        loop.run_until_complete(asyncio.gather(*asyncio.all_tasks(loop)))
        loop.close()
        return analysis

    with ThreadPoolExecutor(1) as thread:
        analysis = thread.submit(end_right_after).result()
    assert run(links(analysis))


def test_the_store_is_used_on_its_own_thread_only(tmp_path):
    threads = set()

    class RecordsThread(SlowToMakeSmall):
        def execute(self, sql, *values):
            threads.add(threading.current_thread().name)
            return self._db.execute(sql, *values)

    async def main():
        server = Server(Store(tmp_path))
        server.store._db = RecordsThread(server.store._db)
        session = new_session(server)
        await session.act("load example", name="iris")
        await session.memory.settled()
        again = new_session(server)
        await again.open(session.memory.analysis)
        await asyncio.to_thread(session.own_pools.save, "mine", ())
        await asyncio.to_thread(server.store.clean)
        server.close()

    run(main())
    (thread,) = threads
    assert thread.startswith("store")
