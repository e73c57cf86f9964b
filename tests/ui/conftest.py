"""The served app and a real browser."""

import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from clusterlens.ui import actions
from clusterlens.ui.results import Results
from tests.folders import ROOT

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Milliseconds that a busy machine may take to the first page.
PATIENCE = 120_000
IDLE = "Bokeh.documents.length > 0 && Bokeh.documents.every(d => d.is_idle)"


def find_browser() -> str | None:
    """Return the path of an installed Chromium or Chrome."""
    chosen = os.environ.get("CLUSTERLENS_BROWSER")
    found = (shutil.which(name) for name in BROWSERS)
    return chosen or next((path for path in found if path), None)


@pytest.fixture(autouse=True)
def no_results(monkeypatch):
    """Let no test find what a pool found in another."""
    monkeypatch.setattr(actions, "RESULTS", Results(10**8))


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
    """Serve app.py on a free port of the loopback interface; yield its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("server")
    log = folder / "log.txt"
    with log.open("w") as out:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "panel", "serve", "app.py", "--warm"),
                *("--address", "127.0.0.1", "--port", str(port)),
                *("--allow-websocket-origin", f"127.0.0.1:{port}"),
                "--liveness",
            ],
            cwd=ROOT,
            env={**os.environ, "CLUSTERLENS_HOME": str(folder / "home")},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for_server(address, process, log)
        yield Server(address, log)
    finally:
        process.terminate()
        process.wait(timeout=20)


class Server:
    """Address and log of the served app."""

    def __init__(self, address: str, log: Path) -> None:
        self.address = address
        self.log = log


def wait_for_server(address: str, process: subprocess.Popen, log: Path) -> None:
    """Return when the server answers; fail with its log if it does not come up."""
    for _ in range(2400):
        if process.poll() is not None:
            break
        try:
            urllib.request.urlopen(f"{address}/liveness", timeout=0.1).close()
            return
        except OSError:
            try:
                process.wait(timeout=0.1)
            except subprocess.TimeoutExpired:
                continue
    pytest.fail(f"the server did not start:\n{log.read_text()}")


@pytest.fixture
def app(page, server):
    """The app in a fresh browser session; fails on script errors and foreign hosts."""
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
