"""Page Given labels: whether given classes or clusters are real groups."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.components.deferred import Steps
from clusterlens.ui.pages.labels.agreement import LabelAgreement
from clusterlens.ui.pages.labels.evidence import ClusterEvidence
from clusterlens.ui.pages.labels.headline import LabelsHeadline
from clusterlens.ui.pages.labels.merges import LabelMerges
from clusterlens.ui.pages.labels.pair_map import ClassPair
from clusterlens.ui.pages.labels.pairs import LabelPairs
from clusterlens.ui.pages.labels.scales import LabelScales
from clusterlens.ui.pages.labels.verdict import LabelVerdictCard
from clusterlens.ui.pages.page import Page, share, under
from clusterlens.ui.widgets.style import ROOM
from clusterlens.ui.widgets.toolkit import pn

GRID = f"""
:host {{ display: grid; gap: 8px; height: 100%; overflow: hidden auto;
  grid-template-columns: minmax(0, 1.2fr) minmax(0, 1fr) minmax(0, 1fr);
  grid-template-rows: minmax(calc(1.5 * {ROOM}), 1.35fr)
    minmax(calc(1.4 * {ROOM}), 1fr); }}
"""


class LabelsPage(Page):
    """The verdict, and the evidence for given classes or for clusters."""

    def build(self) -> Steps:
        session = self.session
        headline, *cards = yield from self.each(
            LabelsHeadline,
            LabelScales,
            LabelPairs,
            ClassPair,
            LabelAgreement,
            ClusterEvidence,
            LabelMerges,
            LabelVerdictCard,
        )
        fill = {"sizing_mode": "stretch_both", "margin": 0}
        grid = pn.Column(*(card.view for card in cards), stylesheets=[GRID], **fill)
        # A hidden component must not set its own display style.
        self._cards = share(grid, "1 1 0")
        session.history.param.watch(self._arrange, ["steps", "cursor"])
        session.view_state.param.watch(self._arrange, ["label_source"])
        self._arrange()
        return under(headline.view, self._cards, css="cl-page-labels")

    def _arrange(self, *events: Any) -> None:
        """Show the cards if there is something to evaluate."""
        analysis = self.session.analysis
        table = analysis.samples or analysis.dataset
        given = table is not None and table.labels_true is not None
        source = self.session.view_state.label_source
        model = source != "labels" and analysis.run is not None
        self._cards.visible = given or model


PAGE = LabelsPage
