"""Page: load a table, say what each column is, see what goes into the pool."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.kit import COLUMN, pn
from clusterlens.ui.pages.page import Page, share
from clusterlens.ui.panels.columns import Columns
from clusterlens.ui.panels.first_rows import FirstRows
from clusterlens.ui.panels.gallery import Gallery
from clusterlens.ui.panels.load_table import LoadTable
from clusterlens.ui.panels.notes import Notes
from clusterlens.ui.panels.preparation import Preparation
from clusterlens.ui.panels.recent import Recent
from clusterlens.ui.session import Session

GRID = {
    "display": "grid",
    "grid-template-columns": "minmax(0, 3fr) minmax(0, 2fr)",
    "grid-template-rows": "minmax(0, 2.2fr) minmax(0, 1fr)",
    "gap": "8px",
    "height": "100%",
}
FILL: dict[str, Any] = {"sizing_mode": "stretch_both", "margin": 0}


class DataPage(Page):
    """From a file to a prepared table: where to begin, or what was loaded."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.parts = {False: Beginning(session), True: LoadedTable(session)}
        self._seen = False
        session.history.param.watch(self._arrange, ["steps", "cursor"])

    def build(self) -> Any:
        load = LoadTable(self.session)
        self.panels = [load]
        return pn.Column(
            load.view,
            *(part.view for part in self.parts.values()),
            styles={**COLUMN, "gap": "8px"},
            css_classes=["cl-page-data"],
            **FILL,
        )

    def look(self, seen: bool) -> None:
        super().look(seen)
        self._seen = seen
        self._arrange()

    def _arrange(self, *events: Any) -> None:
        """Show the cards of a table where there is one, else where to begin."""
        loaded = self.session.analysis.table is not None
        for of_table, part in self.parts.items():
            part.look(self._seen and of_table == loaded)


class Beginning(Page):
    """Examples, and the analyses that can be opened again."""

    def build(self) -> Any:
        recent, gallery = Recent(self.session), Gallery(self.session)
        self.panels = [recent, gallery]
        return pn.Column(
            pn.Column(
                recent.view,
                styles={**COLUMN, "flex": "0 0 190px"},
                sizing_mode="stretch_width",
                height=190,
                margin=0,
            ),
            share(gallery.view, "1 1 0"),
            styles={**COLUMN, "gap": "8px"},
            **FILL,
        )


class LoadedTable(Page):
    """What each column is, and what goes into the pool."""

    def build(self) -> Any:
        kinds = (Columns, Preparation, Notes, FirstRows)
        self.panels = [kind(self.session) for kind in kinds]
        return pn.Column(*(card.view for card in self.panels), styles=GRID, **FILL)
