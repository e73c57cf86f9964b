"""Page: load a table, say what each column is, see what goes into the pool."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.kit import COLUMN, pn
from clusterlens.ui.pages.page import Page
from clusterlens.ui.panels.columns import Columns
from clusterlens.ui.panels.first_rows import FirstRows
from clusterlens.ui.panels.gallery import Gallery
from clusterlens.ui.panels.load_table import LoadTable
from clusterlens.ui.panels.notes import Notes
from clusterlens.ui.panels.preparation import Preparation
from clusterlens.ui.panels.recent import Recent

GRID = {
    "display": "grid",
    "grid-template-columns": "minmax(0, 3fr) minmax(0, 2fr)",
    "grid-template-rows": "minmax(0, 2.2fr) minmax(0, 1fr)",
    "gap": "8px",
    "height": "100%",
}


class DataPage(Page):
    """From a file to a prepared table."""

    def build(self) -> Any:
        session = self.session
        load, gallery, recent = LoadTable(session), Gallery(session), Recent(session)
        cards = [
            Columns(session),
            Preparation(session),
            Notes(session),
            FirstRows(session),
        ]
        self.panels = [load, gallery, recent, *cards]
        fill = {"sizing_mode": "stretch_both", "margin": 0}
        grid = pn.Column(*(card.view for card in cards), styles=GRID, **fill)
        self._cards = pn.Column(
            grid, styles={"flex": "1 1 0", "min-height": "0"}, **fill
        )
        self._examples = pn.Column(
            pn.Column(
                recent.view,
                styles={**COLUMN, "flex": "0 0 190px"},
                sizing_mode="stretch_width",
                height=190,
                margin=0,
            ),
            pn.Column(gallery.view, styles={**COLUMN, "flex": "1 1 0"}, **fill),
            styles={**COLUMN, "flex": "1 1 0", "gap": "8px"},
            **fill,
        )
        session.history.param.watch(self._arrange, ["steps", "cursor"])
        self._arrange()
        return pn.Column(
            load.view,
            self._cards,
            self._examples,
            styles={**COLUMN, "gap": "8px"},
            css_classes=["cl-page-data"],
            **fill,
        )

    def _arrange(self, *events: Any) -> None:
        """Show the cards of a table where there is one, else the examples."""
        loaded = self.session.analysis.table is not None
        self._cards.visible, self._examples.visible = loaded, not loaded
