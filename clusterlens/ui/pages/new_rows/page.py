"""Page New rows: kept partitions, and the clusters of another table's rows."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.components.deferred import Steps
from clusterlens.ui.pages.new_rows.drift import DriftCard
from clusterlens.ui.pages.new_rows.files import AssignedFiles
from clusterlens.ui.pages.new_rows.headline import NewRowsHeadline
from clusterlens.ui.pages.new_rows.map import NewRowsMap
from clusterlens.ui.pages.new_rows.new_table import NewTable
from clusterlens.ui.pages.new_rows.row import NewRowCard
from clusterlens.ui.pages.new_rows.rows import AssignedRows
from clusterlens.ui.pages.new_rows.segmentation import SegmentationCard
from clusterlens.ui.pages.page import Page, share, under
from clusterlens.ui.widgets.style import COLUMN
from clusterlens.ui.widgets.toolkit import pn

GRID = """
:host { display: grid; gap: 8px; height: 100%; overflow: hidden;
  grid-template-columns: minmax(0, 1fr) minmax(0, 1.25fr) minmax(0, 1.45fr)
    minmax(0, 1.1fr);
  grid-template-rows: minmax(0, 1.15fr) minmax(0, 1fr);
  grid-template-areas: "kept table map row" "kept drift list row"; }
@container (max-width: 1062px) {
  :host { grid-template-columns: minmax(0, 1fr) minmax(0, 1.2fr) minmax(0, 1.3fr);
    grid-template-areas: "kept table map" "row drift list"; }
}
"""
# Layout for a few cards, one below the other.
SOME = ":host { display: flex; gap: 8px; height: 100%; overflow: hidden; }"
# Grid areas of the cards, in their order.
AREAS = ("kept", "table", "map", "drift", "list", "row")


class NewRowsPage(Page):
    """Segmentation left, new table in the middle, a row right, files below.

    A lesson shows the cards of its current step.
    """

    def build(self) -> Steps:
        session = self.session
        headline, *cards, files = yield from self.each(
            NewRowsHeadline,
            SegmentationCard,
            NewTable,
            NewRowsMap,
            DriftCard,
            AssignedRows,
            NewRowCard,
            AssignedFiles,
        )
        fill = {"sizing_mode": "stretch_both", "margin": 0}
        self._places = {
            area: pn.Column(
                card.view,
                styles={
                    **COLUMN,
                    "grid-area": area,
                    "flex": "1 1 0",
                    "min-height": "0",
                },
                **fill,
            )
            for card, area in zip(cards, AREAS, strict=True)
        }
        self._grid = pn.Column(*self._places.values(), **fill)
        self._files_below = pn.Column(
            files.view,
            styles={"flex": "0 0 auto"},
            sizing_mode="stretch_width",
            margin=0,
        )
        # A hidden component must not set its own display style.
        self._cards = pn.Column(
            share(self._grid, "1 1 0"),
            self._files_below,
            styles={**COLUMN, "gap": "8px"},
            **fill,
        )
        self._body = share(self._cards, "1 1 0")
        session.history.param.watch(self._arrange, ["steps", "cursor"])
        session.view_state.param.watch(self._arrange, ["new_rows_cards"])
        self._arrange()
        return under(headline.view, self._body, css="cl-page-new-rows")

    def _arrange(self, *events: Any) -> None:
        """Show the cards if a partition is kept; a lesson may hide some."""
        self._body.visible = bool(self.session.analysis.segmentations)
        some = self.session.view_state.new_rows_cards
        self._grid.stylesheets = [SOME if some else GRID]
        self._files_below.visible = not some
        for area, place in self._places.items():
            place.visible = not some or area in some


PAGE = NewRowsPage
