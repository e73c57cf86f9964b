"""Which tests need a browser, which stay together, and how busy the machine is."""

import contextlib
import os
import subprocess
import sys

import pytest
from hypothesis import settings

from clusterlens.compute._run.kernels import all_on_disk
from clusterlens.compute.pool import paces

# Compiles all kernels, in the order of the steps or against it.
COMPILE = """
import sys
from clusterlens.compute.warm import STEPS, compile_kernels
if sys.argv[1] == "forth":
    compile_kernels()
else:
    for step in reversed(STEPS.values()):
        step()
"""

# Tests are not timed: an example may take long where a machine is busy.
settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def no_paces(monkeypatch):
    """Neither read nor keep how fast this machine is: tests do not see each other."""
    monkeypatch.setattr(paces, "directories", list)


def pytest_configure(config):
    """Prepare for processes that share the cores.

    Each has one thread, because threads wait in loops. Kernels are compiled before, as
    every process would otherwise wait for them: by two processes, which begin at
    different ends and load what the other has compiled.
    """
    if getattr(config.option, "numprocesses", None) and not config.option.collectonly:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        if not all_on_disk():
            directions = ("forth", "back")
            both = [
                subprocess.Popen([sys.executable, "-c", COMPILE, way])
                for way in directions
            ]
            for process in both:
                process.wait()


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


def pytest_terminal_summary(terminalreporter):
    """Show why tests were repeated."""
    for report in terminalreporter.stats.get("rerun", ()):
        terminalreporter.section(f"repeated: {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)


def pytest_collection_modifyitems(config, items):
    """Mark the tests in a browser: they come first, and once more if they fail."""
    for item in items:
        if "browser_type" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
            if config.pluginmanager.hasplugin("rerunfailures"):
                item.add_marker(pytest.mark.flaky(reruns=1))
    items.sort(key=lambda item: not item.get_closest_marker("browser"))


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
