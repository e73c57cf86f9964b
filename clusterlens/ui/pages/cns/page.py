"""Page CNS: settings of CNS with a map that follows them."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.components.deferred import Steps
from clusterlens.ui.pages.cns.certainty import CNSCertainty
from clusterlens.ui.pages.cns.criterion import CNSCriterion
from clusterlens.ui.pages.cns.headline import CNSHeadline
from clusterlens.ui.pages.cns.membership_map import Memberships
from clusterlens.ui.pages.cns.reading import CNSReading
from clusterlens.ui.pages.cns.settings import CNSSettings
from clusterlens.ui.pages.cns.steps import CNSSteps
from clusterlens.ui.pages.cns.versions import CNSVersions
from clusterlens.ui.pages.page import Page, share, stacked, under
from clusterlens.ui.widgets.toolkit import pn

GRID = """
:host { display: grid; grid-template-columns: 300px minmax(0, 1fr) 340px;
  grid-template-rows: minmax(0, 1fr); gap: 8px;
  height: 100%; overflow: hidden; }
@container (max-width: 1062px) {
  :host { grid-template-columns: 240px minmax(0, 1fr) 270px; }
}
"""


class CNSPage(Page):
    """Sliders, the map that follows them, the criterion, one sample."""

    def build(self) -> Steps:
        headline, settings, memberships, criterion = yield from self.each(
            CNSHeadline, CNSSettings, Memberships, CNSCriterion
        )
        reading, steps, certainty, versions = yield from self.each(
            CNSReading, CNSSteps, CNSCertainty, CNSVersions
        )
        fill = {"sizing_mode": "stretch_both", "margin": 0}
        columns = [
            [(settings, "3.4 1 0"), (versions, "1.2 1 0")],
            [(memberships, "1 1 0"), (steps, "0 0 136px")],
            [(criterion, "1.15 1 0"), (reading, "1 1 0"), (certainty, "1 1 0")],
        ]
        stacks = [
            stacked(*(share(card.view, flex) for card, flex in column))
            for column in columns
        ]
        grid = pn.Column(*stacks, stylesheets=[GRID], **fill)
        # A hidden component must not set its own display style.
        self._cards = share(grid, "1 1 0")
        self.session.history.param.watch(self._arrange, ["steps", "cursor"])
        self._arrange()
        return under(headline.view, self._cards, css="cl-page-cns")

    def _arrange(self, *events: Any) -> None:
        """Show the cards if there is a prepared table."""
        self._cards.visible = self.session.analysis.dataset is not None


PAGE = CNSPage
