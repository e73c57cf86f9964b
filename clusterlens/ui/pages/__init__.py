"""Pages: a folder each, named after its key in `state/pages.py`.

A folder holds `page.py` with the arrangement of the cards in `PAGE`; the cards, and
figures that only they show; `view_state.py` with the view parameters; and files that
end in `nodes.py` with the results of the page.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from clusterlens.ui.state.pages import PAGES


def page_class(key: str) -> Any:
    """Return the class of a page, imported on request."""
    return import_module(f"{_folder(key)}.page").PAGE


def page_files(ending: str) -> list[Any]:
    """Import the files of all pages with names that end so."""
    folders = [import_module(_folder(spec.key)) for spec in PAGES]
    names = [
        name
        for folder in folders
        for _, name, _ in iter_modules(folder.__path__, f"{folder.__name__}.")
    ]
    return [import_module(name) for name in names if name.endswith(ending)]


def import_pages() -> None:
    """Import all pages, before a browser is connected.

    Panel sends the definition of a component that is defined later with the component,
    and Bokeh cannot read it again when the browser reconnects.
    """
    for spec in PAGES:
        page_class(spec.key)


def _folder(key: str) -> str:
    return f"{__name__}.{key.replace('-', '_')}"
