"""Which tests need a browser, and which stay together when processes share them."""

import pytest


@pytest.hookimpl(tryfirst=True)  # before the groups are read
def pytest_collection_modifyitems(items):
    """Mark browser tests; they come first, as they take longest.

    Tests of a file share fixtures, and one server and one browser take a core and more.
    """
    for item in items:
        in_browser = "page" in getattr(item, "fixturenames", ())
        if in_browser:
            item.add_marker("browser")
        together = "browser" if in_browser else item.path.stem
        item.add_marker(pytest.mark.xdist_group(together))
    items.sort(key=lambda item: item.get_closest_marker("browser") is None)
