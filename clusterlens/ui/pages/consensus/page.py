"""Page Consensus: the agreement of the models, and the model closest to it."""

from __future__ import annotations

from functools import partial
from typing import Any

from clusterlens.ui.components.deferred import DeferredCard, Steps
from clusterlens.ui.pages.consensus.headline import Headline
from clusterlens.ui.pages.consensus.inspector import Inspector
from clusterlens.ui.pages.consensus.matrices import BinarisedMatrix, ConsensusMatrix
from clusterlens.ui.pages.consensus.model_map import MapOfModels
from clusterlens.ui.pages.consensus.model_table import ModelTable
from clusterlens.ui.pages.consensus.ranking import RankingTable
from clusterlens.ui.pages.consensus.sample_map import SampleMap
from clusterlens.ui.pages.consensus.threshold import Threshold
from clusterlens.ui.pages.page import Page, share, stacked
from clusterlens.ui.widgets.style import COLUMN
from clusterlens.ui.widgets.toolkit import pn

GRID = """
:host { display: grid; grid-template-columns: 374px minmax(0, 1fr) 312px;
  grid-template-rows: minmax(0, 1fr); gap: 8px; height: 100%; overflow: hidden;
  min-height: calc((var(--cl-scale, 1) - 1) * 3400px); }
@media (max-height: 800px) { :host { --cl-agreement: 82px; } }
/* In a low window more of the height is for the matrices, but not with larger text, of
   which the card of the map has two lines. */
@media (max-height: 740px) { :host {
  --cl-matrices: calc(1.5 - (var(--cl-scale, 1) - 1) * 0.9); } }
@container (max-width: 1262px) {
  :host { grid-template-columns: 352px minmax(0, 1fr) 284px; }
}
@container (max-width: 1062px) {
  :host { grid-template-columns:
    calc(348px + (var(--cl-scale, 1) - 1) * 250px) minmax(0, 1fr) 36px; }
}
"""
AGREEMENT = "var(--cl-agreement, 98px) + (var(--cl-scale, 1) - 1) * 240px"
# The picture of the map, over its legend, is as high as the matrices.
MAP, MATRICES = "1 1 10px", "var(--cl-matrices, 1) 1 0"
ROW = {"display": "flex", "gap": "8px", "min-height": "0"}


class ConsensusPage(Page):
    """A workbench on one screen: ranking, pictures, inspector."""

    def build(self) -> Steps:
        ranking, headline, sample_map, consensus = yield from self.each(
            RankingTable, Headline, SampleMap, ConsensusMatrix
        )
        binarised, threshold, inspector = yield from self.each(
            partial(BinarisedMatrix, partner=consensus), Threshold, Inspector
        )
        self._map_of_models = DeferredCard(self.session, MapOfModels)
        self._table = DeferredCard(self.session, ModelTable)
        self._samples = share(sample_map.view, MAP)
        self._models = share(self._map_of_models.view, MAP)
        matrices = pn.Row(
            consensus.view,
            binarised.view,
            styles=ROW,
            sizing_mode="stretch_both",
            margin=0,
        )
        self._matrices = share(matrices, MATRICES)
        self._around = (
            share(headline.view, "0 0 auto"),
            share(threshold.view, f"0 0 calc({AGREEMENT})"),
        )
        above, below = self._around
        self._centre = centre = stacked(
            above, self._samples, self._models, self._matrices, below
        )
        self._ranking, self._inspector = ranking.view, inspector.view
        workbench = pn.Column(
            self._ranking,
            centre,
            self._inspector,
            css_classes=["cl-page-consensus"],
            stylesheets=[GRID],
            sizing_mode="stretch_both",
            margin=0,
        )
        # A hidden component must not set its own display style.
        self._workbench = pn.Column(
            workbench,
            # With larger text the pictures keep some height, and the page scrolls.
            styles={**COLUMN, "flex": "1 1 0", "overflow-y": "auto"},
            sizing_mode="stretch_both",
            margin=0,
        )
        self._over = share(self._table.view, "1 1 0")
        self.session.view_state.param.watch(
            self._arrange, ["table_open", "map_of", "enlarged"]
        )
        self.session.history.param.watch(
            self._arrange, ["steps", "cursor", "partial_run"]
        )
        return pn.Column(
            self._workbench,
            self._over,
            styles=COLUMN,
            sizing_mode="stretch_both",
            margin=0,
        )

    def update_watching(self) -> None:
        """Let visible cards watch; table and map of models only while open."""
        super().update_watching()
        self._arrange()

    def _arrange(self, *events: Any) -> None:
        """Show the workbench or the table, a map, or the enlarged card."""
        view_state, has_run = (
            self.session.view_state,
            self.session.analysis.run is not None,
        )
        models, opened = view_state.map_of == "models", view_state.table_open
        large = view_state.enlarged if has_run else ""
        self._samples.visible = large != "matrices" and not models
        self._models.visible = large != "matrices" and models
        self._matrices.visible = large != "map"
        for part in self._around:
            part.visible = not large
        # A style that is left out would keep its old value.
        columns = "1 / -1" if large else "auto"
        self._centre.styles = {**COLUMN, "gap": "8px", "grid-column": columns}
        self._map_of_models.set_visible(models and self.is_visible)
        self._workbench.visible, self._over.visible = not opened, opened
        # Without a run only the ranking is shown; it links to Data and Pool.
        self._ranking.visible = not large
        self._centre.visible = has_run
        self._inspector.visible = has_run and not large
        self._table.set_visible(opened and self.is_visible)


PAGE = ConsensusPage
