"""Which tests need a browser, and which stay together when processes share them."""

import pytest

from clusterlens.compute.pool import paces


@pytest.fixture(autouse=True)
def no_paces(monkeypatch):
    """Neither read nor keep how fast this machine is: tests do not see each other."""
    monkeypatch.setattr(paces, "directories", list)


def pytest_collection_modifyitems(items):
    """Mark the tests in a browser; they come first, as they take longest."""
    for item in items:
        if "page" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
    items.sort(key=lambda item: item.get_closest_marker("browser") is None)


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
