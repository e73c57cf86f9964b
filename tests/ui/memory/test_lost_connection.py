"""Tests of pages that lose their connection: reported, and restored."""

import asyncio
import re
import threading
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.pool.pool import run_pool
from clusterlens.ui import cli, serving
from clusterlens.ui.actions import pools
from clusterlens.ui.cli import make_server
from clusterlens.ui.composition import new_session
from clusterlens.ui.server import holding
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from tests.support.pages import PATIENCE, Served, wait_for_content
from tests.support.visitor import Visitor
from tests.ui.loop import run
from tests.ui.test_main_job import choose

pytestmark = pytest.mark.filterwarnings("ignore")  # of the served libraries
POOL = [{"clusterer": "k-means", "n_clusters": [2, 3]}]
UNDER_WAY = re.compile(r"Run the pool · [1-9]\d* of")
# app.py with a pool that stops after its first models until there is a file "go".
HELD_APP = """
from clusterlens.ui.actions import pools
from clusterlens.ui.cli import open_page

def hold(fit):
    import os, time
    from pathlib import Path

    gate = Path(os.environ["CLUSTERLENS_HOME"], "go")

    def held(X, pool, *, progress, **options):
        def told(done, total):
            progress(done, total)
            while done and not gate.exists():
                time.sleep(0.05)

        return fit(X, pool, progress=told, **options)

    held.is_held = True
    return held

if not hasattr(pools.run_pool, "is_held"):
    pools.run_pool = hold(pools.run_pool)
open_page()
"""
KNOW_SOCKETS = """
window.sockets = [];
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    window.sockets.push(this);
  }
};
"""
NO_SOCKET = "window.WebSocket = function () { return {close() {}}; };"
NO_SOCKET_AT_FIRST = f"""
if (!sessionStorage.getItem('opened')) {NO_SOCKET}
sessionStorage.setItem('opened', 'once');
"""
# Ends the connection in the middle of a message.
CUT = """
const socket = window.sockets.at(-1), deliver = socket.onmessage;
socket.onmessage = (event) => {
  deliver.call(socket, event);
  if (String(event.data).includes('"msgtype"')) socket.close();
};
for (const part of ['{"msgid": "1", "msgtype": "SERVER-INFO-REQ"}', '{}', '{}'])
  socket.send(part);
"""


@pytest.fixture
def slow(tmp_path, monkeypatch):
    """Sessions of a server with a waiting pool; events for its start and its end."""
    server, sessions = Server(Store(tmp_path)), []
    begun, may_end = threading.Event(), threading.Event()

    def slow_pool(X, pool, *, cancel, **options):
        begun.set()
        while not may_end.wait(0.01):
            if cancel():
                raise Cancelled
        return Ensemble(np.random.default_rng(0).integers(0, 3, (6, len(X))))

    def watched(server):
        sessions.append(new_session(server))
        return sessions[-1]

    monkeypatch.setattr(pools, "run_pool", slow_pool)
    monkeypatch.setattr(cli, "the_server", lambda: server)
    monkeypatch.setattr(serving, "new_session", watched)
    return sessions, begun, may_end


async def begin_and_leave(server, sessions, begun):
    """Begin a run on a page and close the page; return session, run and page."""
    visitor = await Visitor.open(f"http://127.0.0.1:{server.port}/")
    await visitor.load()
    session = sessions[0]
    assert await session.act("load example", name="iris")
    running = asyncio.create_task(session.act("run pool", pool=POOL))
    while not (begun.is_set() and session.jobs.shown):
        await asyncio.sleep(0.01)
    visitor.close()
    (connected,) = server.get_sessions()
    while connected.connection_count:
        await asyncio.sleep(0.01)
    return session, running, connected


def test_a_run_goes_on_without_its_page_and_is_there_when_it_opens_again(
    tmp_path, slow
):
    sessions, begun, may_end = slow

    async def main():
        server = make_server(0, "127.0.0.1")
        server.start()
        try:
            session, running, _ = await begin_and_leave(server, sessions, begun)
            may_end.set()
            assert await running
            assert session.memory.state == "saved"
        finally:
            server.stop()
        again = new_session(Server(Store(tmp_path)))
        assert await again.open(session.memory.analysis)
        assert again.analysis.ensemble.n_partitions == 6

    run(main())


def test_a_page_that_was_left_is_held_for_as_long_as_its_run_is_followed(
    slow, monkeypatch
):
    sessions, begun, may_end = slow
    often = {"check_unused_sessions_milliseconds": 15}
    monkeypatch.setattr(cli, "SERVER_SETTINGS", often)
    monkeypatch.setattr(holding, "HELD_MILLISECONDS", 2000)
    monkeypatch.setattr(holding, "_LOOK_SECONDS", 0.01)

    async def main():
        server = make_server(0, "127.0.0.1")
        server.start()
        try:
            session, running, page = await begin_and_leave(server, sessions, begun)
            again = new_session(session.server)
            assert await again.open(session.memory.analysis)
            while not session.jobs.followers:
                await asyncio.sleep(0.01)
            page.request_expiration()
            while page.milliseconds_since_last_unsubscribe < 3000:
                assert not page.destroyed
                await asyncio.sleep(0.01)
            left = session.server.left
            may_end.set()
            assert await running
            while again.analysis.run is None or left:
                await asyncio.sleep(0.01)
        finally:
            server.stop()

    run(main())


@pytest.mark.parametrize("held_for", [600_000, 200])
def test_a_page_is_given_up_when_its_run_has_ended_or_nobody_came_for_long(
    held_for, slow, monkeypatch
):
    sessions, begun, may_end = slow
    often = {"check_unused_sessions_milliseconds": 15}
    monkeypatch.setattr(cli, "SERVER_SETTINGS", often)
    monkeypatch.setattr(holding, "HELD_MILLISECONDS", held_for)
    monkeypatch.setattr(holding, "_LOOK_SECONDS", 0.01)

    async def main():
        server = make_server(0, "127.0.0.1")
        server.start()
        try:
            _, running, page = await begin_and_leave(server, sessions, begun)
            page.request_expiration()
            while page.milliseconds_since_last_unsubscribe < min(held_for, 300):
                assert not page.destroyed
                await asyncio.sleep(0.01)
            if held_for > 300:
                may_end.set()
            assert bool(await running) == may_end.is_set()
            while not page.destroyed:
                await asyncio.sleep(0.01)
        finally:
            server.stop()

    run(main())


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_closed_page_without_work_is_held_only_if_its_steps_are_not_saved(
    is_kept, slow, tmp_path, monkeypatch
):
    sessions, _, _ = slow
    held_for = 600_000 if is_kept else 300
    often = {"check_unused_sessions_milliseconds": 15}
    monkeypatch.setattr(cli, "SERVER_SETTINGS", often)
    monkeypatch.setattr(holding, "HELD_MILLISECONDS", held_for)
    monkeypatch.setattr(holding, "_LOOK_SECONDS", 0.01)
    shared = Server(Store(tmp_path / "kept")) if is_kept else Server()
    monkeypatch.setattr(cli, "the_server", lambda: shared)

    async def main():
        server = make_server(0, "127.0.0.1")
        server.start()
        try:
            visitor = await Visitor.open(f"http://127.0.0.1:{server.port}/")
            await visitor.load()
            (session,) = sessions
            assert await session.act("load example", name="iris")
            assert session.is_kept == is_kept
            (page,) = server.get_sessions()
            visitor.close()
            while page.connection_count:
                await asyncio.sleep(0.01)
            page.request_expiration()
            if not is_kept:
                while page.milliseconds_since_last_unsubscribe < held_for:
                    assert not page.destroyed
                    await asyncio.sleep(0.01)
            while not page.destroyed:
                await asyncio.sleep(0.01)
        finally:
            server.stop()

    run(main())


@pytest.fixture
def held(tmp_path):
    """A server with pools that wait for permission to end."""
    (tmp_path / "app.py").write_text(HELD_APP)
    served = Served(tmp_path, tmp_path / "app.py")
    yield served
    served.kill()


@pytest.fixture
def watched(page):
    """A page that tracks its connections; fails on script errors."""
    errors = []
    page.set_default_timeout(PATIENCE)
    page.add_init_script(KNOW_SOCKETS)
    page.on("pageerror", lambda error: errors.append(error.stack))
    yield page
    assert not errors, "script errors in the page"


def test_a_page_that_lost_its_server_before_it_had_content_opens_anew(page, server):
    page.set_default_timeout(PATIENCE)
    page.add_init_script(NO_SOCKET_AT_FIRST)
    page.goto(f"{server.address}/app")
    page.route("**/*", lambda route: route.abort())
    sentence = page.locator(".cl-opening")
    expect(sentence).to_contain_text("server does not answer")
    page.unroute("**/*")
    wait_for_content(page)
    expect(sentence).to_have_count(0)


def test_a_websocket_that_does_not_open_is_told(page, server):
    page.set_default_timeout(PATIENCE)
    page.clock.install()
    page.add_init_script(NO_SOCKET)
    page.goto(f"{server.address}/app")
    sentence = page.locator(".cl-opening")
    expect(sentence).to_contain_text("being prepared")
    page.clock.fast_forward("00:30")
    expect(sentence).to_contain_text("websocket does not open")


def load_iris(page, served):
    page.goto(f"{served.address}/app")
    wait_for_content(page)
    card = page.locator(".cl-gallery .card", has_text="iris").first
    card.hover()
    card.locator(".cl-data-only").click()
    expect(page.locator(".cl-prepared")).to_contain_text("go into the pool")


def begin_quick_run(page, held):
    """Start the server, and begin a run of iris on a page."""
    held.start()
    load_iris(page, held)
    page.get_by_role("button", name="Next: choose a pool").click()
    expect(page.locator(".cl-estimate")).to_contain_text("models")
    choose(page, ".cl-preset", "quick")
    page.get_by_role("button", name="Run the pool").click()
    expect(page.locator(".cl-job")).to_contain_text(UNDER_WAY)


def test_a_page_keeps_its_session_over_a_cut_and_offers_the_run_of_a_killed_server(
    watched, held
):
    page = watched
    begin_quick_run(page, held)
    page.evaluate("window.isTheSame = true")

    page.evaluate(CUT)
    page.wait_for_function("document.querySelector('.cl-lost')")
    page.locator(".cl-lost").wait_for(state="detached")
    expect(page.locator(".cl-job")).to_contain_text(UNDER_WAY)
    expect(page.locator(".cl-saved")).to_contain_text("saved")
    assert page.evaluate("window.isTheSame")

    held.kill()
    banner = page.locator(".cl-lost")
    expect(banner.locator("b")).to_have_text(re.compile(r"lost at \d\d:\d\d$"))
    expect(banner).to_contain_text(re.compile(r"All that was done until \d.* is saved"))
    expect(banner).to_contain_text(re.compile(r"Not saved: Run the pool at \d+ of \d+"))
    expect(banner).to_contain_text("Trying to reconnect")
    for css in (".cl-saved", ".cl-job", ".cl-run-progress"):
        expect(page.locator(css)).to_be_hidden()

    held.start()
    offer = page.locator(".cl-interrupted")
    offer.wait_for()
    assert not page.evaluate("window.isTheSame")
    expect(banner).to_have_count(0)
    expect(offer).to_contain_text(re.compile(r"“Run the pool” was .* at \d+ of \d+"))
    expect(page.locator(".cl-state")).to_contain_text("iris")
    Path(held.home, "go").touch()
    page.get_by_role("button", name="Run again").click()
    expect(page.locator(".cl-headline")).to_contain_text("Closest to")
    expect(offer).to_have_count(0)

    session = new_session(Server(Store(held.home)))
    (entry,) = session.memory.store.entries()
    assert run(session.open(entry.id))
    assert session.memory.interrupted == ()
    made = session.analysis.run
    again = run_pool(made.dataset.X, list(made.pool), random_state=made.random_state)
    np.testing.assert_array_equal(made.ensemble.labels, again.labels)


def test_a_reload_during_a_run_has_its_progress_and_can_cancel_it(watched, held):
    page = watched
    begin_quick_run(page, held)
    expect(page.locator(".cl-saved")).to_contain_text("saved")
    page.reload()
    expect(page.locator(".cl-job")).to_contain_text(UNDER_WAY)
    progress = page.locator(".cl-run-progress")
    expect(progress).to_contain_text(re.compile(r"Run 1\s*[1-9]\d* of"))
    expect(page.locator(".cl-run-pool button")).to_be_disabled()
    expect(page.locator(".cl-notices")).not_to_contain_text("another page")
    # The page shows the running pool, not the default.
    expect(page.locator(".cl-preset").get_by_role("combobox")).to_have_text("quick")
    page.get_by_role("button", name="Cancel the run").click()
    expect(page.locator(".cl-job")).to_contain_text("Cancelling")
    Path(held.home, "go").touch()
    expect(page.locator(".cl-job")).to_be_hidden()
    expect(progress).to_be_hidden()
    notice = page.locator(".notice", has_text="Cancelled: Run the pool")
    expect(notice).to_be_visible()
    expect(page.locator(".cl-run-pool button")).to_be_enabled()
    expect(page.locator(".cl-outcome")).not_to_contain_text("run 1")


def test_a_page_of_which_nothing_is_kept_asks_before_it_is_loaded_anew(watched, held):
    page = watched
    held.home = Path("off")
    held.start()
    load_iris(page, held)
    held.kill()
    banner = page.locator(".cl-lost")
    expect(banner).to_contain_text("Nothing of this page is kept")
    held.start()
    expect(banner).to_contain_text("has nothing of this page")
    expect(page.locator(".cl-prepared")).to_contain_text("go into the pool")
    page.get_by_role("button", name="Load the page anew").click()
    page.locator(".cl-gallery").wait_for()
    expect(banner).to_have_count(0)
