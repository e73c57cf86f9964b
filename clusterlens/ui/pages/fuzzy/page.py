"""Page Fuzzy: two soft partitions compared under explicit random models."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.components.deferred import Steps
from clusterlens.ui.pages.fuzzy.guide import FuzzyGuide
from clusterlens.ui.pages.fuzzy.headline import FuzzyHeadline
from clusterlens.ui.pages.fuzzy.maps import FuzzyMaps
from clusterlens.ui.pages.fuzzy.pairs import FuzzyPairs
from clusterlens.ui.pages.fuzzy.rows import FuzzyRows
from clusterlens.ui.pages.fuzzy.toy import FuzzyToy
from clusterlens.ui.pages.fuzzy.values import FuzzyValues
from clusterlens.ui.pages.page import Page, share, stacked, under
from clusterlens.ui.widgets.toolkit import pn

GRID = """
:host { display: grid; gap: 8px; height: 100%; overflow: hidden;
  grid-template-columns: minmax(0, 1.8fr) minmax(0, 1fr);
  grid-template-rows: minmax(0, 1fr); }
@media (max-width: 1150px) {
  :host { grid-template-columns: minmax(0, 1.5fr) minmax(0, 1fr); }
}
"""


# Cards at the right with their shares of the height.
SIDE = {"guide": "1.6 1 0", "rows": "0.85 1 0", "pairs": "1 1 0"}


class FuzzyPage(Page):
    """Values and maps at the left; guide, rows and all pairs at the right.

    `ViewState.fuzzy_cards` can hide cards at the right.
    """

    def build(self) -> Steps:
        session = self.session
        headline, values, *pictures = yield from self.each(
            FuzzyHeadline, FuzzyValues, FuzzyMaps, FuzzyToy
        )
        right = yield from self.each(FuzzyGuide, FuzzyRows, FuzzyPairs)
        fill = {"sizing_mode": "stretch_both", "margin": 0}
        self._places = [share(card.view, "0.9 1 0") for card in pictures]
        left = stacked(share(values.view, "1 1 0"), *self._places)
        self._side = {
            name: share(card.view, flex)
            for card, (name, flex) in zip(right, SIDE.items(), strict=True)
        }
        side = stacked(*self._side.values())
        # A hidden component must not set its own display style.
        grid = pn.Column(left, side, stylesheets=[GRID], **fill)
        self._cards = share(grid, "1 1 0")
        session.history.param.watch(self._arrange, ["steps", "cursor"])
        watched = ["fuzzy_case", "fuzzy_u", "fuzzy_cards"]
        session.view_state.param.watch(self._arrange, watched)
        self._arrange()
        return under(headline.view, self._cards, css="cl-page-fuzzy")

    def _arrange(self, *events: Any) -> None:
        """Show the cards if there are partitions; the toys replace the maps."""
        toy = self.session.view_state.fuzzy_case == "toy"
        shown = self.session.view_state.fuzzy_cards or tuple(SIDE)
        for name, place in self._side.items():
            place.visible = name in shown
        analysis = self.session.analysis
        some = analysis.ensemble is not None or bool(analysis.memberships)
        self._cards.visible = toy or some
        self._places[0].visible, self._places[1].visible = not toy, toy


PAGE = FuzzyPage
