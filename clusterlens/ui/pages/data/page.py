"""Page Data: load a table, choose the roles of columns, see the prepared samples."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.components.deferred import Steps
from clusterlens.ui.pages.data.columns import Columns
from clusterlens.ui.pages.data.first_rows import FirstRows
from clusterlens.ui.pages.data.gallery import Gallery
from clusterlens.ui.pages.data.load_table import LoadTable
from clusterlens.ui.pages.data.notes import Notes
from clusterlens.ui.pages.data.preparation import Preparation
from clusterlens.ui.pages.data.recent import Recent
from clusterlens.ui.pages.data.welcome import Welcome
from clusterlens.ui.pages.page import Page, share
from clusterlens.ui.session import Session
from clusterlens.ui.widgets.style import COLUMN, ROOM
from clusterlens.ui.widgets.toolkit import pn

GRID = f"""
:host {{ display: grid; grid-template-columns: minmax(570px, 3fr) minmax(0, 2fr);
  grid-template-rows: minmax(calc(3 * {ROOM}), 2.2fr) minmax({ROOM}, 1fr);
  overflow: hidden auto; gap: 8px; height: 100%; }}
/* Columns and preparation fill the page, with the way on; the rest is below. */
@container (max-width: 1062px) {{
  :host {{ grid-template-columns: minmax(0, 1fr);
    grid-template-rows: max(240px + {ROOM}, 48% - 4px) max(300px + {ROOM}, 52% - 4px)
      repeat(2, max(200px, 32%)); }}
}}
"""
LOAD_HEIGHT = 206
FILL: dict[str, Any] = {"sizing_mode": "stretch_both", "margin": 0}


class DataPage(Page):
    """Page with two views: the start, or the loaded table."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.parts = {False: StartPage(session), True: LoadedTable(session)}
        session.history.param.watch(self._arrange, ["steps", "cursor"])
        session.view_state.param.watch(self._arrange, ["starting"])

    def build(self) -> Steps:
        yield
        return pn.Column(
            *(part.view for part in self.parts.values()),
            styles={**COLUMN, "gap": "8px"},
            css_classes=["cl-page-data"],
            **FILL,
        )

    def update_watching(self) -> None:
        self._arrange()

    def _arrange(self, *events: Any) -> None:
        """Show the cards of the loaded table, or the start."""
        session = self.session
        loaded = session.analysis.table is not None and not session.view_state.starting
        for of_table, part in self.parts.items():
            part.set_visible(self.made and self.is_visible and of_table == loaded)


class StartPage(Page):
    """Start: introduction, drop zone, recent analyses, examples."""

    def build(self) -> Steps:
        cards = yield from self.each(Welcome, LoadTable, Recent, Gallery)
        welcome, load, recent, gallery = (card.view for card in cards)
        beside = pn.Row(
            share(load, "5 1 0"),
            share(recent, "8 1 0"),
            height=LOAD_HEIGHT,
            sizing_mode="stretch_width",
            margin=0,
            styles={**COLUMN, "gap": "8px", "flex": f"0 0 {LOAD_HEIGHT}px"},
        )
        return pn.Column(
            welcome,
            beside,
            share(gallery, "1 1 0"),
            styles={**COLUMN, "gap": "8px"},
            **FILL,
        )


class LoadedTable(Page):
    """Loaded table: roles of columns, preparation, notes and first rows."""

    def build(self) -> Steps:
        cards = yield from self.each(Columns, Preparation, Notes, FirstRows)
        return pn.Column(*(card.view for card in cards), stylesheets=[GRID], **FILL)


PAGE = DataPage
