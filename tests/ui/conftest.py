"""The served app and a real browser."""

import os
from contextlib import contextmanager

import pytest

from benchmarks.pages import PATIENCE, Served, find_browser
from clusterlens.ui.actions import pools
from clusterlens.ui.work.results import Results

IDLE = "Bokeh.documents.length > 0 && Bokeh.documents.every(d => d.is_idle)"


@pytest.fixture(autouse=True)
def no_results(monkeypatch):
    """Let no test find what a pool found in another."""
    monkeypatch.setattr(pools, "RESULTS", Results(10**8))


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
    return {**browser_context_args, "viewport": {"width": 1440, "height": 900}}


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """Serve app.py on a free port of the loopback interface."""
    served = Served(tmp_path_factory.mktemp("server"))
    try:
        served.start("--warm")
        yield served
    finally:
        served.end()


@contextmanager
def opened(page, server):
    """Open the app in a page; fail on script errors and foreign hosts."""
    errors, foreign = [], []
    page.on("pageerror", lambda error: errors.append(error.stack))
    page.on(
        "request",
        lambda request: (
            foreign.append(request.url)
            if not request.url.startswith((server.address, "data:", "blob:", "ws:"))
            else None
        ),
    )
    page.goto(f"{server.address}/app", timeout=PATIENCE)
    page.wait_for_function(f"window.Bokeh && {IDLE}", timeout=PATIENCE)
    yield page
    assert not errors, "script errors in the page"
    assert not foreign, "requests to another host"


@pytest.fixture
def app(page, server):
    """The app in a fresh browser session."""
    with opened(page, server) as app:
        yield app
