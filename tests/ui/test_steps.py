"""Tests of pages made in steps, between which other sessions are served."""

import asyncio
import json
from contextlib import asynccontextmanager
from itertools import pairwise
from urllib.parse import urlencode

import pytest
from panel.io.state import set_curdoc

from clusterlens.ui import cli, serving, shell
from clusterlens.ui.jobs import scheduler
from clusterlens.ui.pages.report.page import ReportPage
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from tests.support.visitor import Visitor
from tests.ui.loop import run

# Deprecated pandas calls of Panel's tables.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")


@pytest.fixture(autouse=True)
def one_at_a_time(monkeypatch):
    """Make each turn one step."""
    monkeypatch.setattr(scheduler, "_STEP_SECONDS", 0.0)


@pytest.mark.parametrize("wanted", [3, 5])
def test_steps_end_when_they_are_not_wanted_and_go_on_later(wanted):
    taken = []

    def steps():
        for step in range(5):
            taken.append(step)
            yield

    async def work():
        made, own = steps(), scheduler.FairScheduler()
        await own.take(made, lambda: len(taken) < wanted)
        assert taken == list(range(wanted))
        await own.take(made, lambda: True)
        assert taken == list(range(5))

    run(work())


def test_all_take_turns_and_the_loop_is_free_after_each_step():
    taken, ticks = [], []

    def steps(name):
        for _ in range(3):
            taken.append((name, len(ticks)))
            yield

    async def tick():
        while True:
            ticks.append(None)
            await asyncio.sleep(0)

    async def work():
        ticking = asyncio.create_task(tick())
        own = scheduler.FairScheduler()
        await asyncio.gather(*(own.take(steps(k), lambda: True) for k in "ab"))
        ticking.cancel()

    run(work())
    assert [name for name, _ in taken] == ["a", "b"] * 3
    seen = [n_ticks for _, n_ticks in taken]
    assert all(later > before + 1 for before, later in pairwise(seen))


def test_short_steps_are_taken_some_at_once(monkeypatch):
    monkeypatch.setattr(scheduler, "_STEP_SECONDS", 10.0)
    taken = []

    def steps(name):
        for _ in range(3):
            taken.append(name)
            yield

    async def work():
        own = scheduler.FairScheduler()
        await asyncio.gather(*(own.take(steps(k), lambda: True) for k in "ab"))

    run(work())
    assert taken == ["a"] * 3 + ["b"] * 3


@pytest.fixture
def shells(monkeypatch, tmp_path):
    """Shells in order of creation, each with its document."""
    made = []

    class Shell(shell.Shell):
        def __init__(self, session, view):
            super().__init__(session, view)
            made.append((self, shell.pn.state.curdoc))

    monkeypatch.setattr(serving, "Shell", Shell)
    server = Server(Store(tmp_path))
    monkeypatch.setattr(cli, "the_server", lambda: server)
    return made


@asynccontextmanager
async def connected(link="/"):
    """A visitor whose browser has not drawn the page yet."""
    server = cli.make_server(0, "127.0.0.1")
    server.start()
    visitor = await Visitor.open(f"http://127.0.0.1:{server.port}{link}")
    try:
        yield visitor
    finally:
        visitor.close()
        server.stop()


def visit(does):
    """Run `does()` while a visitor looks at a page of a server."""

    async def work():
        async with connected() as visitor:
            await visitor.load()
            await does()

    run(work())


async def until(holds):
    while not holds():
        await asyncio.sleep(0.01)


def test_page_is_sent_once_it_is_made_in_steps(shells):
    async def does():
        made, document = shells[-1]
        page = made.pages["clusters"]
        with set_curdoc(document):
            made.session.view_state.page = "clusters"
        # It is visible at once, and marked as loading.
        assert page.view.visible
        assert page.view.css_classes == ["cl-coming"]
        n_panels = set()
        before = len(document.models)
        while not page.made:
            assert len(document.models) == before
            n_panels.add(len(page.cards))
            await asyncio.sleep(0)
        assert n_panels == set(range(7))
        assert page.view.css_classes == []
        assert len(document.models) > before + 100

    visit(does)


def test_loop_is_free_between_the_parts_of_a_frame(shells, monkeypatch):
    fill, taken = serving.Shell.fill, []

    def noted(self):
        for _ in fill(self):
            taken.append("part")
            yield

    async def others():
        while True:
            taken.append("others")
            await asyncio.sleep(0)

    async def work():
        async with connected() as visitor:
            task = asyncio.ensure_future(others())
            await visitor.load()
            task.cancel()
        assert taken.count("part") == 3
        assert ("part", "part") not in pairwise(taken)

    monkeypatch.setattr(serving.Shell, "fill", noted)
    run(work())


def test_cards_of_a_linked_page_come_once_its_frame_is_drawn(shells):
    async def work():
        link = urlencode({"look": json.dumps({"page": "clusters"})})
        async with connected(f"/?{link}") as visitor:
            for _ in range(5):
                await visitor.ping()
                assert not shells
            await visitor.load()
            made, _ = shells[-1]
            page = made.pages["clusters"]
            await until(lambda: page.made)
            assert made.session.view_state.page == "clusters"
            assert not made.pages["data"].cards

    run(work())


def test_page_that_was_left_is_made_when_it_is_looked_at_again(shells):
    async def does():
        made, document = shells[-1]
        page, view_state = made.pages["clusters"], made.session.view_state
        with set_curdoc(document):
            view_state.page = "clusters"
            await until(lambda: len(page.cards) == 2)
            view_state.page = "report"
            await until(lambda: made.pages["report"].made)
            assert not page.made
            view_state.page = "clusters"
            await until(lambda: page.made)
        assert len(page.cards) == 6
        shown = [key for key, other in made.pages.items() if other.view.visible]
        assert shown == ["clusters"]

    visit(does)


def test_page_that_cannot_be_made_says_so(shells, monkeypatch):
    async def does():
        made, document = shells[-1]

        def build(page):
            yield
            raise ZeroDivisionError

        monkeypatch.setattr(ReportPage, "build", build)
        with set_curdoc(document):
            made.session.view_state.page = "report"
            await until(lambda: made.session.jobs.notices)
        assert "ZeroDivisionError" in made.session.jobs.notices[-1].text
        page = made.pages["report"]
        assert page.view.css_classes == []
        monkeypatch.undo()
        with set_curdoc(document):
            made.session.view_state.page = "pool"
            made.session.view_state.page = "report"
            await until(lambda: page.made)

    visit(does)
