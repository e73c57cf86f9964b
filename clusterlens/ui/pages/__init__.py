"""Pages: a folder each, listed in `PAGES`.

A folder holds `page.py` with the arrangement of the cards in `PAGE`; the cards, and
figures that only they show; `view_state.py` with the view parameters; and files that
end in `nodes.py` with the results of the page.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NamedTuple


class PageSpec(NamedTuple):
    """A page of the app: its key, its title and its icon in the navigation.

    Its folder is named after its key. `heading` is a word above it in the navigation. A
    page without an icon is a part of the page before it.
    """

    key: str
    title: str
    icon: str
    heading: str = ""

    @property
    def page(self) -> Any:
        """The class of the page, imported on request."""
        return import_module(f"{self.folder}.page").PAGE

    @property
    def view_states(self) -> list[Any]:
        """Classes of the view parameters of the page."""
        return [file.ViewState for file in self._files(".view_state")]

    @property
    def nodes(self) -> list[Any]:
        """The files with the results of the page."""
        return self._files("nodes")

    @property
    def folder(self) -> str:
        """The package of the page."""
        return f"{__name__}.{self.key.replace('-', '_')}"

    def _files(self, ends: str) -> list[Any]:
        """Import the files of the folder with names that end so."""
        folder = import_module(self.folder)
        found = iter_modules(folder.__path__, f"{folder.__name__}.")
        return [import_module(name) for _, name, _ in found if name.endswith(ends)]


# In reading order. LAB: methods to try apart from the pool; LEARN: lessons with tables
# of their own.
PAGES = (
    PageSpec("data", "Data", "table_chart"),
    PageSpec("pool", "Pool", "tune"),
    PageSpec("consensus", "Consensus", "grid_on"),
    PageSpec("clusters", "Clusters", "bubble_chart"),
    PageSpec("all-rows", "All rows", ""),
    PageSpec("verdict", "Verdict", "gavel"),
    PageSpec("labels", "Given labels", ""),
    PageSpec("new-rows", "New rows", "playlist_add"),
    PageSpec("report", "Report", "description"),
    PageSpec("fuzzy", "Fuzzy", "blur_on", "LAB"),
    PageSpec("cns", "CNS", "water"),
    PageSpec("lessons", "Lessons", "school", "LEARN"),
)


def import_pages() -> None:
    """Import all pages, before a browser is connected.

    Panel sends the definition of a component that is defined later with the component,
    and Bokeh cannot read it again when the browser reconnects.
    """
    for spec in PAGES:
        import_module(f"{spec.folder}.page")
