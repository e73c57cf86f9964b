"""Page Pool: choose a pool of clusterings, see its cost, run it."""

from __future__ import annotations

from clusterlens.ui.components.deferred import Steps
from clusterlens.ui.pages.page import Page
from clusterlens.ui.pages.pool.cost import PoolCost
from clusterlens.ui.pages.pool.grid import PoolGrid
from clusterlens.ui.pages.pool.import_partitions import ImportPartitions
from clusterlens.ui.pages.pool.run_progress import RunProgress
from clusterlens.ui.pages.pool.runs import Runs
from clusterlens.ui.widgets.style import COLUMN
from clusterlens.ui.widgets.toolkit import pn

GRID = """
:host { display: grid; grid-template-columns: minmax(0, 1fr) minmax(300px, 32%);
  grid-template-rows: minmax(0, 1fr); gap: 8px; height: 100%; }
/* Beside each other the pool would have no room for its settings. */
@media (max-width: 900px) { :host { grid-template-columns: minmax(0, 1fr);
  grid-template-rows: minmax(0, 1.1fr) minmax(0, 1fr); } }
@media (max-width: 1350px) { @container style(--cl-scale: 1.3) {
  :host { grid-template-columns: minmax(0, 1fr); grid-template-rows: repeat(2, 400px);
    overflow-y: auto; } } }
"""


class PoolPage(Page):
    """Page from a prepared table to a run."""

    def build(self) -> Steps:
        grid, cost, imported, runs, progress = yield from self.each(
            PoolGrid, PoolCost, ImportPartitions, Runs, RunProgress
        )
        fill = {"sizing_mode": "stretch_both", "margin": 0}
        right = pn.Column(
            # First, so that its buttons are visible in every window.
            progress.view,
            pn.Column(cost.view, styles={"flex": "none"}, margin=0),
            pn.Column(imported.view, styles={"flex": "none"}, margin=0),
            pn.Column(
                runs.view, styles={"flex": "1 0 170px", "height": "auto"}, **fill
            ),
            styles={**COLUMN, "gap": "8px", "overflow-y": "auto"},
            **fill,
        )
        return pn.Column(
            grid.view, right, stylesheets=[GRID], css_classes=["cl-page-pool"], **fill
        )


PAGE = PoolPage
