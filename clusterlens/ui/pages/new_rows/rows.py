"""List of new rows with their clusters, the least sure first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute.assigning.segmentation import Segmentation
from clusterlens.compute.formatting import count, whole
from clusterlens.ui.components.card import Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.new_rows.nodes import (
    NOISE,
    cluster_of,
    is_nowhere,
    margin_words,
)
from clusterlens.ui.widgets.palette import cluster_colour
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, link, mark, safe, select

CSS = """
table { table-layout: fixed; }
td, th { padding: 3px 2px; }
th:nth-child(1) { width: 20%; }
th:nth-child(3) { width: calc(54px * var(--cl-scale, 1)); }
td:nth-child(4), th:nth-child(4) { padding-left: 8px; }
td { overflow-wrap: anywhere; }
tr.front { background: color-mix(in srgb, #0b8a8a 15%, transparent); }
"""
ORDERS = {
    "least sure": "least sure",
    "most sure": "most sure",
    "belong nowhere": "nowhere",
}


class AssignedRows(Card):
    """At most two hundred rows; the file has all."""

    needs = ("assigned", "listed_rows", "segmentation")
    also = ("view.new_rows_first", "new_row")
    empty = "<p class='muted'>Load a new table to list its rows.</p>"
    tells_failure = False

    def build(self) -> Any:
        view_state = self.session.view_state
        order = self.control(
            select("First", ORDERS, css="cl-new-rows-order", width=160),
            lambda: view_state.new_rows_first,
            lambda first: setattr(view_state, "new_rows_first", first),
        )
        self._head = Text(styles={"flex": "none"})
        self._rows = Text(
            does=self._do,
            stylesheets=[CSS],
            css_classes=["cl-assigned-rows"],
            scrolls=True,
            styles={"flex": "1 1 0", "min-height": "0"},
        )
        return card(
            "Placed rows",
            self._head,
            self._rows,
            note=self.status,
            buttons=[order],
            css="cl-placed-rows",
        )

    def show(
        self,
        assigned: pd.DataFrame,
        listed_rows: np.ndarray,
        segmentation: Segmentation,
        new_rows_first: Result,
        new_row: Result,
    ) -> None:
        """Write the rows in their order."""
        total, far = len(assigned), is_nowhere(assigned)
        of = int(far.sum()) if new_rows_first.value == "nowhere" else 0
        what = f"{count(of, 'row')} belong nowhere" if of else count(total, "row")
        first = f", the first {whole(len(listed_rows))} shown"
        more = first if len(listed_rows) < (of or total) else ""
        cross = " ✕ belongs nowhere, beside its nearest cluster." if far.any() else ""
        self._head.body = f"<p class='muted'>{what}{more}.{cross}{_ties(assigned)}</p>"
        read = new_row.value.position if new_row.value else None
        lines = "".join(
            _line(at, at == read, row, far[at], segmentation)
            for at, row in zip(
                listed_rows.tolist(),
                assigned.iloc[listed_rows].itertuples(),
                strict=True,
            )
        )
        self._rows.body = (
            "<table data-roving='map'><tr><th>row</th><th>cluster</th>"
            f"<th class='number'>margin</th><th>next</th></tr>{lines}</table>"
        )

    def _do(self, what: str) -> None:
        self.session.view_state.new_row = int(what.removeprefix("read "))


def _ties(assigned: pd.DataFrame) -> str:
    """Write what orders the rows if their margins are all equal."""
    placed = assigned[assigned["margin"].notna()]
    if len(placed) < 2 or placed["margin"].nunique() > 1:
        return ""
    if placed[["clearness", "p"]].nunique().max() > 1:
        return " All margins are equal: ordered by how clear, then by how odd they are."
    return " All margins are equal: ordered by row."


def _line(
    at: int, is_read: bool, row: Any, far: bool, segmentation: Segmentation
) -> str:
    """Write one row of the new table as markup."""
    _, label, name, margin, other, *_ = row
    own = mark(cluster_colour(cluster_of(int(label))), safe(name))
    if label == NOISE:
        own = f"<span title='no cluster reaches it'>{own}</span>"
    nowhere = "<b title='belongs nowhere'>✕</b> " if far else ""
    beside = "–"
    if pd.notna(other):
        there = safe(segmentation.names[int(other)])
        beside = mark(cluster_colour(cluster_of(int(other))), there)
    front = " class='front'" if is_read else ""
    return (
        f"<tr{front}><td>{link(safe(row.Index), f'read {at}')}</td><td>{nowhere}{own}"
        f"</td><td class='number'>{margin_words(margin)}</td><td>{beside}</td></tr>"
    )
