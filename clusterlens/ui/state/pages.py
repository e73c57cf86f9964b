"""The pages of the app: keys, titles and icons."""

from __future__ import annotations

from typing import NamedTuple


class PageSpec(NamedTuple):
    """A page of the app: its key, its title and its icon in the navigation.

    `heading` is a word above it in the navigation. A page without an icon is a part of
    the page before it.
    """

    key: str
    title: str
    icon: str
    heading: str = ""


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
