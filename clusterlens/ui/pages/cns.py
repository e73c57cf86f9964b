"""Page: CNS tuned while its memberships are looked at."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.kit import COLUMN, pn
from clusterlens.ui.pages.page import Page
from clusterlens.ui.panels.cns_headline import CNSHeadline
from clusterlens.ui.panels.cns_settings import CNSSettings
from clusterlens.ui.panels.membership_map import Memberships

GRID = """
:host { display: grid; grid-template-columns: 318px minmax(0, 1fr);
  grid-template-rows: minmax(0, 1fr); gap: 8px;
  height: 100%; overflow: hidden; }
@media (max-width: 1150px) {
  :host { grid-template-columns: 260px minmax(0, 1fr); }
}
"""


class CNSPage(Page):
    """Sliders and the map that follows them."""

    def build(self) -> Any:
        headline, settings = CNSHeadline(self.session), CNSSettings(self.session)
        memberships = Memberships(self.session)
        self.panels = [headline, settings, memberships]
        fill = {"sizing_mode": "stretch_both", "margin": 0}
        # What is hidden must not say itself how it is displayed.
        self._cards = pn.Column(
            pn.Column(settings.view, memberships.view, stylesheets=[GRID], **fill),
            styles={**COLUMN, "flex": "1 1 0"},
            **fill,
        )
        self.session.history.param.watch(self._arrange, ["steps", "cursor"])
        self._arrange()
        return pn.Column(
            pn.Column(
                headline.view,
                styles={"flex": "0 0 auto"},
                sizing_mode="stretch_width",
                margin=0,
            ),
            self._cards,
            styles={**COLUMN, "gap": "8px"},
            css_classes=["cl-page-cns"],
            **fill,
        )

    def _arrange(self, *events: Any) -> None:
        """Show the cards where there is a prepared table."""
        self._cards.visible = self.session.analysis.dataset is not None
