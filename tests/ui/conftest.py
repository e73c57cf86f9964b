"""The served app and a real browser."""

import os
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from clusterlens.compute._run.processes import Workers
from clusterlens.ui.exports import pictures
from clusterlens.ui.jobs import derived
from clusterlens.ui.server import server as shared
from clusterlens.ui.server.memory import memory
from clusterlens.ui.server.memory.store import Store
from tests.support.pages import (
    PATIENCE,
    ROOT,
    Served,
    find_browser,
    wait_for_content,
)
from tests.ui.kept import keep
from tests.ui.runs import VIEWPORT, Runs

# Delays messages of the server by so many milliseconds.
LATE = """(() => {
  const setter = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'onmessage').set;
  Object.defineProperty(WebSocket.prototype, 'onmessage', {set(handler) {
    setter.call(this, (event) => setTimeout(() => {
      if (this.readyState === WebSocket.OPEN) handler(event);
    }, %d));
  }});
})()"""
# Delays all work of a session by so many milliseconds.
LATE_APP = """
import asyncio
from clusterlens.ui.cli import open_page
from clusterlens.ui.jobs.lanes import Jobs

def come_late(in_time, wait):
    async def late(self, pool, job, work):
        await wait(%d / 1000)
        return await in_time(self, pool, job, work)

    late.comes_late = True
    return late


if not hasattr(Jobs._carry_on, "comes_late"):
    Jobs._carry_on = come_late(Jobs._carry_on, asyncio.sleep)
open_page()
"""
CALL = pytest.StashKey[pytest.TestReport]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Let fixtures know how a test ended."""
    report = yield
    if report.when == "call":
        item.stash[CALL] = report
    return report


@pytest.fixture(scope="package", autouse=True)
def patience():
    """Let a busy machine take its time to whatever a test expects of a page."""
    expect.set_options(timeout=PATIENCE)
    yield
    expect.set_options(timeout=None)


@pytest.fixture(autouse=True)
def closed_stores(monkeypatch):
    """Close what a test leaves open of its stores: Python 3.13 warns of databases."""
    opened = []
    make = Store.__init__

    def open_store(self, folder):
        make(self, folder)
        opened.append(self)

    monkeypatch.setattr(Store, "__init__", open_store)
    yield
    for store in opened:
        store.close()


@pytest.fixture(scope="package", autouse=True)
def short_rest():
    """Compute and write soon, because nobody goes on acting meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(derived, "DEBOUNCE_SECONDS", 0.02)
        patch.setattr(memory, "_DEBOUNCE_SECONDS", 0.01)
        yield


@pytest.fixture(autouse=True)
def coarse_pictures(monkeypatch):
    """Print few pixels, which take most of the time of a report."""
    monkeypatch.setattr(pictures, "DPI", 40)


@pytest.fixture(scope="session")
def workers():
    """Processes that serve all tests, because they take seconds to start."""
    workers = Workers(os.cpu_count() or 1)
    yield workers
    workers.close()


@pytest.fixture(autouse=True)
def shared_workers(monkeypatch, workers):
    """Give the servers of tests the same workers, and nothing else in common."""
    monkeypatch.setattr(shared, "Workers", lambda *limits: workers)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    path = find_browser()
    if path is None:
        message = (
            "no Chromium or Chrome found; install one or name it in CLUSTERLENS_BROWSER"
        )
        if os.environ.get("CLUSTERLENS_REQUIRE_BROWSER"):
            pytest.fail(message)
        pytest.skip(message)
    return {
        **browser_type_launch_args,
        "executable_path": path,
        "args": ["--no-sandbox", "--disable-gpu"],
    }


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args):
    return {**browser_context_args, "viewport": VIEWPORT, "reduced_motion": "reduce"}


@pytest.fixture(scope="session")
def context(
    browser_type,
    browser_type_launch_args,
    browser_context_args,
    tmp_path_factory,
    pytestconfig,
):
    """Browser context of all tests, in a folder that keeps the compiled scripts."""
    options = browser_type_launch_args | browser_context_args
    folder = tmp_path_factory.mktemp("browser")
    with browser_type.launch_persistent_context(folder, **options) as context:
        if late := pytestconfig.getoption("--late"):
            context.add_init_script(LATE % late)
        yield context


@contextmanager
def own_page(context):
    """Open a page, which leaves nothing in the browser."""
    with context.new_page() as page:
        yield page
        if page.url.startswith("http"):
            page.evaluate("localStorage.clear()")


@pytest.fixture
def page(context):
    with own_page(context) as page:
        yield page


@pytest.fixture(scope="session")
def server(tmp_path_factory, pytestconfig):
    """Serve app.py on a free port of the loopback interface."""
    folder, app = tmp_path_factory.mktemp("server"), ROOT / "app.py"
    if late := pytestconfig.getoption("--late"):
        app = folder / "app.py"
        app.write_text(LATE_APP % late)
    served = Served(folder, app)
    try:
        served.start("--warm")
        yield served
    finally:
        served.end()


@contextmanager
def watched(page, server):
    """Fail on script errors and on requests to foreign hosts."""
    errors, foreign = [], []

    def note(request):
        if not request.url.startswith((server.address, "data:", "blob:", "ws:")):
            foreign.append(request.url)

    def fail(error):
        errors.append(error.stack)

    page.on("pageerror", fail)
    page.on("request", note)
    yield
    page.remove_listener("pageerror", fail)
    page.remove_listener("request", note)
    assert not errors, "script errors in the page"
    assert not foreign, "requests to another host"


@contextmanager
def opened(page, server):
    """Open the app in a page; fail on script errors and foreign hosts."""
    with watched(page, server):
        page.goto(f"{server.address}/app", timeout=PATIENCE)
        wait_for_content(page)
        yield page


@pytest.fixture
def fresh(page, server):
    """The app in a fresh browser session."""
    with opened(page, server) as app:
        yield app


@pytest.fixture
def app(fresh):
    """The app in a fresh browser session; a file may override it by `blobs`."""
    return fresh


@pytest.fixture
def kept(page, server):
    """Opener of the app with an analysis of a table, made before by some steps."""

    def open_kept(table, *steps, **view_state):
        query = keep(server.home, table, *steps, **view_state)
        page.goto(f"{server.address}/app?{query}", timeout=PATIENCE)
        wait_for_content(page)
        return page

    page.set_default_timeout(PATIENCE)
    with watched(page, server):
        yield open_kept


@pytest.fixture(scope="session")
def runs(context, server, tmp_path_factory):
    """Opener of one page with a run, for many tests."""
    runs = Runs(context, server, tmp_path_factory.mktemp("blobs"))
    yield runs
    runs.close()


@pytest.fixture
def blobs(runs, server, request):
    """A shared page with a run of blobs in its initial state.

    A test may change anything that undo restores, except the run. It must restore
    whatever outlives a run (text size, shading, order).
    """
    app = runs.take()
    with watched(app, server):
        yield app
    report = request.node.stash.get(CALL, None)
    if report is None or report.failed:
        runs.close()


@pytest.fixture
def spent(blobs, runs):
    """The page with a run, for a test that leaves it in another state."""
    yield blobs
    runs.close()
