"""Page Clusters: clusters with names, sizes, profiles and rows."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.components.deferred import Steps
from clusterlens.ui.pages.clusters.comparison import Comparison
from clusterlens.ui.pages.clusters.distinguishing_columns import DistinguishingColumns
from clusterlens.ui.pages.clusters.k_evidence import KEvidence
from clusterlens.ui.pages.clusters.partition_bar import PartitionBar
from clusterlens.ui.pages.clusters.profiles import ClusterProfilesTable
from clusterlens.ui.pages.clusters.rows import ClusterRows
from clusterlens.ui.pages.page import Page, share, under
from clusterlens.ui.widgets.style import COLUMN, ROOM
from clusterlens.ui.widgets.toolkit import pn

# Smallest height of the table of clusters, which shows some rows on a low page, too.
LEAST = f"max(min(210px, 26vh), {ROOM})"
# Smallest height of the pictures below it, with four lines of text above them.
PICTURED = f"max(min(160px, 21vh), {ROOM})"
GRID = """
:host { display: grid; grid-template-columns: minmax(0, 1.9fr) minmax(0, 1fr);
  grid-template-rows: minmax(0, 1fr); gap: 8px; height: 100%; overflow: hidden; }
@media (max-width: 1150px) {
  :host { grid-template-columns: minmax(0, 1.5fr) minmax(0, 1fr); }
}
"""


class ClustersPage(Page):
    """Choice of the partition, number of clusters, profiles, comparison."""

    def build(self) -> Steps:
        session = self.session
        bar, evidence, profiles, apart, comparison, rows = yield from self.each(
            PartitionBar,
            KEvidence,
            ClusterProfilesTable,
            DistinguishingColumns,
            Comparison,
            ClusterRows,
        )
        fill = {"sizing_mode": "stretch_both", "margin": 0}
        self._numbers = evidence.place
        left, right = (
            pn.Column(
                *cards, styles={**COLUMN, "gap": "8px", "overflow-y": "auto"}, **fill
            )
            for cards in (
                (
                    self._numbers,
                    share(profiles.view, "1.2 1 0", least=LEAST),
                    share(apart.view, "1 1 0", least=PICTURED),
                ),
                (
                    share(comparison.view, "2 1 0", least=ROOM),
                    share(rows.view, "1 1 0", least=ROOM),
                ),
            )
        )
        # A hidden component must not set its own display style.
        self._cards = share(pn.Column(left, right, stylesheets=[GRID], **fill), "1 1 0")
        session.history.param.watch(self._arrange, ["steps", "cursor"])
        session.view_state.param.watch(self._arrange, ["partition"])
        self._arrange()
        return under(bar.view, self._cards, css="cl-page-clusters")

    def _arrange(self, *events: Any) -> None:
        """Show the cards if there is a run; a group has no number of clusters."""
        self._cards.visible = self.session.analysis.run is not None
        self._numbers.visible = self.session.view_state.partition != "group"


PAGE = ClustersPage
