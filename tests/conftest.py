"""Which tests need a browser, which stay together, and how busy the machine is."""

import contextlib
import os
import subprocess
import sys

import pytest
from hypothesis import settings

from clusterlens.compute.pool import paces

# Tests are not timed: an example may take long where a machine is busy.
settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def no_paces(monkeypatch):
    """Neither read nor keep how fast this machine is: tests do not see each other."""
    monkeypatch.setattr(paces, "directories", list)


def pytest_configure(config):
    """Let processes that share the cores have a thread each, which wait in loops."""
    if getattr(config.option, "numprocesses", None):
        os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_addoption(parser):
    """Offer a busy machine, and a server that is far away."""
    message = "keep two cores busy meanwhile"
    parser.addoption("--busy", action="store_true", help=message)
    message = (
        "milliseconds by which work of the server begins late, and what it says comes"
    )
    parser.addoption("--late", type=int, default=0, help=message)


@pytest.fixture(scope="session", autouse=True)
def busy_machine(request):
    """Two processes that keep two cores busy, where the option asks for them."""
    with contextlib.ExitStack() as stack:
        for _ in range(2 * request.config.getoption("--busy")):
            loop = [sys.executable, "-c", "while True: pass"]
            process = stack.enter_context(subprocess.Popen(loop))
            stack.callback(process.kill)
        yield


def pytest_collection_modifyitems(items):
    """Mark the tests in a browser; they come first, as they take longest.

    Next come tests without kernels, while the server of the browser compiles them all.
    """
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")

    def turn(item):
        if item.get_closest_marker("browser"):
            return 0
        return 1 if item.path.parent.name == "table" else 2

    items.sort(key=turn)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep files together, and all tests in a browser."""
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        """Tests of a file share fixtures; a server and a browser take a core."""

        def _split_scope(self, nodeid):
            in_browser = "chromium" in nodeid
            return "browser" if in_browser else super()._split_scope(nodeid)

    config.option.loadscopereorder = False
    return Together(config, log)
