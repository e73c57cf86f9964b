"""Page Report: the log, the report, and all files to download."""

from __future__ import annotations

from clusterlens.ui.components.deferred import Steps
from clusterlens.ui.pages.page import Page, stacked
from clusterlens.ui.pages.report.preview import ReportPreview
from clusterlens.ui.pages.report.script_card import ScriptCard
from clusterlens.ui.pages.report.take_away import TakeAway
from clusterlens.ui.pages.report.timeline import Timeline
from clusterlens.ui.widgets.style import COLUMN, SCROLL
from clusterlens.ui.widgets.toolkit import pn

GRID = """
:host { display: grid; grid-template-columns: 276px minmax(0, 1fr) 440px;
  grid-template-rows: minmax(0, 1fr); gap: 8px; height: 100%; overflow: hidden; }
@media (max-width: 1150px) {
  :host { grid-template-columns: 210px minmax(0, 1fr) 320px; }
}
"""


class ReportPage(Page):
    """The log, a preview of the report, the files and the script."""

    def build(self) -> Steps:
        timeline, preview, away, script = yield from self.each(
            Timeline, ReportPreview, TakeAway, ScriptCard
        )
        fill = {"sizing_mode": "stretch_both", "margin": 0}
        right = stacked(
            pn.Column(away.view, styles={**SCROLL, "flex": "0 0 56%"}, **fill),
            pn.Column(script.view, styles={**COLUMN, "flex": "1 1 0"}, **fill),
        )
        return pn.Column(
            timeline.view,
            preview.view,
            right,
            css_classes=["cl-page-report"],
            stylesheets=[GRID],
            **fill,
        )


PAGE = ReportPage
