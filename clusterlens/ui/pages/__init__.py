"""Pages: a folder each, which its line in `PAGES` makes part of the app.

A folder holds `page.py`, whose `PAGE` is how the cards are arranged; the cards and the
figures that only they show; `look.py` with what is looked at; and files that end in
`nodes.py`, whose nodes are what follows from it.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NamedTuple


class Room(NamedTuple):
    """A page of the app: its key, its title and its icon in the rail.

    Its folder is named as its key, and `heading` is a word above it in the rail.
    """

    key: str
    title: str
    icon: str
    heading: str = ""

    @property
    def page(self) -> Any:
        """The class of the page; imported when it is asked for."""
        return import_module(f"{self._folder}.page").PAGE

    @property
    def looks(self) -> list[Any]:
        """Classes of the parameters of what is looked at on the page."""
        return [file.Look for file in self._files(".look")]

    @property
    def nodes(self) -> list[Any]:
        """The files with what the page derives."""
        return self._files("nodes")

    @property
    def _folder(self) -> str:
        return f"{__name__}.{self.key.replace('-', '_')}"

    def _files(self, ends: str) -> list[Any]:
        """Import the files of the folder whose names end so."""
        folder = import_module(self._folder)
        found = iter_modules(folder.__path__, f"{folder.__name__}.")
        return [import_module(name) for _, name, _ in found if name.endswith(ends)]


# In reading order. LAB: what tries a method out, apart from the pool; LEARN: what has a
# table of its own.
PAGES = (
    Room("data", "Data", "table_chart"),
    Room("pool", "Pool", "tune"),
    Room("consensus", "Consensus", "grid_on"),
    Room("clusters", "Clusters", "bubble_chart"),
    Room("new-rows", "New rows", "playlist_add"),
    Room("report", "Report", "description"),
    Room("fuzzy", "Fuzzy", "blur_on", "LAB"),
    Room("cns", "CNS", "water"),
    Room("labels", "Class labels", "flag"),
    Room("lessons", "Lessons", "school", "LEARN"),
)
