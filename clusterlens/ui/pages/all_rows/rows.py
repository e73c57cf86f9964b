"""Card of rows of a large table, a part at a time."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.formatting import count, whole
from clusterlens.compute.scale.result import ScaledRun
from clusterlens.ui.components.card import Card
from clusterlens.ui.exports.all_rows import cluster_mark
from clusterlens.ui.pages.all_rows.rows_nodes import PartRows
from clusterlens.ui.pages.all_rows.view_state import ORDERS
from clusterlens.ui.pages.data.nodes import write_cell
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, link, safe, select, table_of
from clusterlens.ui.widgets.words import fixed

CSS = "td, th { white-space: nowrap; padding: 2px 8px 2px 0; }"


class AllRowsList(Card):
    """Rows with their cluster and margin; links lead to other parts."""

    needs = ("part_rows", "all_rows", "all_rows_names")
    tells_failure = True

    def build(self) -> Any:
        order = self.bound(
            "all_rows_first",
            select("First", list(ORDERS), css="cl-all-rows-order", width=120),
        )
        self._part = 0
        self._head = Text(does=self._change_part, styles={"flex": "none"})
        self._rows = Text(
            css_classes=["cl-all-rows-rows"],
            stylesheets=[CSS],
            scrolls=True,
            styles={"flex": "1 1 0", "min-height": "0"},
        )
        return card(
            "Rows",
            self._head,
            self._rows,
            note=self.status,
            buttons=[order],
            css="cl-all-rows-list",
        )

    def show(
        self,
        part_rows: PartRows,
        all_rows: ScaledRun,
        all_rows_names: dict[int, str],
    ) -> None:
        """Write the rows, and the links to the parts before and after."""
        found, self._part = part_rows, part_rows.part
        before = link("← before", "before") if found.part else ""
        after = link("after →", "after") if found.part + 1 < found.n_parts else ""
        self._head.body = (
            f"<p>Rows {whole(found.first)} to {whole(found.last)} <span class='muted'>"
            f"part {whole(found.part + 1)} of {whole(found.n_parts)}, "
            f"{count(found.n_nowhere, 'row')} nowhere</span> {before} {after}</p>"
        )
        heads = "<th class='number'>row</th><th>cluster</th><th class='number'>margin"
        heads += "</th>" + "".join(f"<th>{safe(name)}</th>" for name in found.cells)
        lines = "".join(
            _line(labels, cells, all_rows, all_rows_names)
            for labels, cells in zip(
                found.labels.itertuples(index=False),
                found.cells.itertuples(index=False),
                strict=True,
            )
        )
        empty = "<p class='muted'>No row of this part belongs nowhere.</p>"
        self._rows.body = table_of(heads, lines) if lines else empty

    def _change_part(self, what: str) -> None:
        step = 1 if what == "after" else -1
        self.session.view_state.all_rows_part = max(self._part + step, 0)


def _line(labels: Any, cells: Any, run: ScaledRun, names: dict[int, str]) -> str:
    """Write a row; without a label it has neither cluster nor margin."""
    cluster, margin = "<span class='muted'>no label</span>", ""
    if labels.consensus == labels.consensus:
        label = int(labels.consensus)
        cluster = cluster_mark(run, label, names.get(label, str(label)))
        margin = fixed(labels.margin)
        if labels.nowhere and label != -1:
            cluster += " <span class='muted'>nowhere</span>"
    values = "".join(f"<td>{safe(write_cell(value)[:100])}</td>" for value in cells)
    return (
        f"<tr><td class='number'>{whole(labels.row)}</td><td>{cluster}</td>"
        f"<td class='number'>{margin}</td>{values}</tr>"
    )
