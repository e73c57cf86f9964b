"""Tests of ended sessions: their memory is freed without the garbage collector."""

import asyncio
import gc
import os
import subprocess
import sys
import weakref
from functools import wraps

import panel as pn
import pytest
from panel.io.state import set_curdoc

from clusterlens.ui import cli, serving, shell
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.history import Step
from tests.folders import ROOT
from tests.support.large_analysis import made
from tests.support.visitor import Visitor
from tests.ui.loop import run

CHECK_MILLISECONDS = 50
# Deprecated pandas calls of Panel's tables.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")


def fresh(test):
    """Run a test in a process of its own, as a server has one.

    Sessions of earlier tests in the same process would keep objects alive.
    """

    @wraps(test)
    def run_beside(**fixtures):
        if os.environ.get("CLUSTERLENS_FRESH"):
            return test(**fixtures)
        command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-p"]
        command += ["no:cacheprovider", f"{__file__}::{test.__name__}"]
        env = {**os.environ, "CLUSTERLENS_FRESH": "1"}
        env.pop("PYTEST_XDIST_WORKER", None)
        done = subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-3000:]
        return None

    return run_beside


@pytest.fixture
def opened(monkeypatch, tmp_path):
    """Shells in order of creation, of a server that ends sessions at once."""
    shells = []

    class Shell(shell.Shell):
        def __init__(self, session, view):
            super().__init__(session, view)
            shells.append(weakref.ref(self))

    monkeypatch.setattr(serving, "Shell", Shell)
    server = Server(Store(tmp_path))
    monkeypatch.setattr(cli, "the_server", lambda: server)
    check = "check_unused_sessions_milliseconds"
    monkeypatch.setitem(cli.SERVER_SETTINGS, check, CHECK_MILLISECONDS)
    return shells


async def end(session):
    """End a session of the server like one that was long unused."""
    session.request_expiration()
    while not session.destroyed:
        await asyncio.sleep(0.05)


async def coming(opened, server, address):
    """Open a session and a page of it, and wait for its first card."""
    visitor = await Visitor.open(address)
    await visitor.load()
    shown, document = opened[-1](), server.get_sessions()[-1].document
    page = shown.pages["consensus"]
    with set_curdoc(document):
        shown.session.view_state.page = "consensus"
    while not any(panel.view._models for panel in page.cards):
        await asyncio.sleep(0)
    return visitor, shown, document, page


async def gone(parts):
    """Wait until all of these are freed, while the collector is off."""
    while alive := [part() for part in parts if part() is not None]:
        del alive
        await asyncio.sleep(0.05)


def serve(visit):
    """Run `visit(server, address)` beside a lasting session, without a collector."""

    async def work():
        server = cli.make_server(0, "127.0.0.1")
        server.start()
        address = f"http://127.0.0.1:{server.port}"
        stays = await Visitor.open(address)
        gc.disable()
        try:
            await visit(server, address)
            stays.close()
            await end(server.get_sessions()[0])
        finally:
            gc.enable()
            server.stop()

    run(work(), 600)


def test_page_that_is_never_drawn_gets_no_session(opened):
    async def visit(server, address):
        visitor = await Visitor.open(address)
        await visitor.ping()
        visitor.close()
        await end(server.get_sessions()[-1])
        assert opened == []

    serve(visit)


def test_page_that_is_left_before_its_turn_gets_no_session(opened):
    async def visit(server, address):
        async with cli.the_server().opening:
            visitor = await Visitor.open(address)
            await visitor.draw()
            await visitor.ping()
            visitor.close()
            left = server.get_sessions()[-1]
            while left.connection_count:
                await asyncio.sleep(0)
        await end(left)
        assert opened == []

    serve(visit)


@fresh
def test_session_is_let_go_with_its_run_and_results(opened):
    async def visit(server, address):
        visitor = await Visitor.open(address)
        await visitor.load()
        shown, document = opened[-1](), server.get_sessions()[-1].document
        session = shown.session
        with set_curdoc(document):
            session.history.do(Step("test", "Test", made(200, 3, 4)))
            for page in ("consensus", "clusters"):
                session.view_state.page = page
                while not (shown.pages[page].made and session.jobs.at_rest):
                    await asyncio.sleep(0.05)
        rows = session.derived.get("rows").value
        parts = [shown, session, session.history, session.analysis, session.derived]
        parts = [weakref.ref(part) for part in parts]
        models = [weakref.ref(model) for model in document.models]
        assert len(models) > 300
        del shown, document, session, rows
        visitor.close()
        await end(server.get_sessions()[-1])
        await gone(parts)
        alive = sum(model() is not None for model in models)
        assert alive < len(models) / 10

    serve(visit)


@fresh
def test_page_that_is_left_while_it_comes_is_let_go(opened):

    async def visit(server, address):
        visitor, shown, document, page = await coming(opened, server, address)
        assert not page.made
        views = [view for panel in page.cards for view in panel.view.select()]
        models = [model for view in views for model, _ in view._models.values()]
        assert all(model.document is None for model in models)
        parts = [weakref.ref(part) for part in (*views, *models)]
        del shown, document, page, views, models
        visitor.close()
        await end(server.get_sessions()[-1])
        await gone(parts)

    serve(visit)


def test_page_of_a_session_that_ends_does_not_come(opened):

    async def visit(server, address):
        visitor, shown, document, page = await coming(opened, server, address)
        begun = page._coming
        page.set_visible(False)
        page.set_visible(
            True
        )  # the same task goes on, so that all of them are cancelled
        for model in document.models:  # as Bokeh does before its notification
            model.destroy()
        await asyncio.wait({begun})
        assert page._coming is begun
        assert not page.made
        assert shown.session.jobs.notices == ()
        visitor.close()

    serve(visit)


def test_what_panel_keeps_of_a_session_is_let_go_while_another_stays(opened):
    async def visit(server, address):
        visitor = await Visitor.open(address)
        await visitor.load()
        with set_curdoc(server.get_sessions()[-1].document):
            parts = [weakref.ref(pn.state.location), weakref.ref(pn.state.browser_info)]
        visitor.close()
        await end(server.get_sessions()[-1])
        await gone(parts)

    serve(visit)


def test_what_stays_is_out_of_the_sight_of_the_collector(opened):
    async def visit(server, address):
        frozen = gc.get_freeze_count()
        visitor = await Visitor.open(address)
        await visitor.load()
        while gc.get_freeze_count() <= frozen:
            await asyncio.sleep(0.05)
        visitor.close()

    serve(visit)
