"""Page All rows: labels, sizes, profiles and map of all rows of a large table."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.components.deferred import Steps
from clusterlens.ui.pages.all_rows.clusters import AllRowsClusters
from clusterlens.ui.pages.all_rows.headline import AllRowsHeadline
from clusterlens.ui.pages.all_rows.map import AllRowsMap
from clusterlens.ui.pages.all_rows.models import AllRowsModels
from clusterlens.ui.pages.all_rows.rows import AllRowsList
from clusterlens.ui.pages.page import Page, share, stacked, under
from clusterlens.ui.widgets.toolkit import pn

GRID = """
:host { display: grid; grid-template-columns: minmax(0, 1.3fr) minmax(0, 1fr);
  grid-template-rows: minmax(0, 1fr); gap: 8px; height: 100%; overflow: hidden; }
"""


class AllRowsPage(Page):
    """Clusters and models left, map and rows right."""

    def build(self) -> Steps:
        headline, clusters, models, places, rows = yield from self.each(
            AllRowsHeadline, AllRowsClusters, AllRowsModels, AllRowsMap, AllRowsList
        )
        fill = {"sizing_mode": "stretch_both", "margin": 0}
        left = stacked(share(clusters.view, "1.3 1 0"), share(models.view, "1 1 0"))
        right = stacked(share(places.view, "1.6 1 0"), share(rows.view, "1 1 0"))
        cards = pn.Column(left, right, stylesheets=[GRID], **fill)
        # A hidden component must not set its own display style.
        self._cards = share(cards, "1 1 0")
        self.session.history.param.watch(self._arrange, ["steps", "cursor"])
        self._arrange()
        return under(headline.view, self._cards, css="cl-page-all-rows")

    def _arrange(self, *events: Any) -> None:
        """Show the cards if all rows have labels."""
        self._cards.visible = bool(self.session.analysis.labelled)


PAGE = AllRowsPage
