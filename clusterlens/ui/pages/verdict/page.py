"""Page: the verdict on the partition that is exported."""

from __future__ import annotations

from clusterlens.ui.components.deferred import Steps
from clusterlens.ui.pages.page import Page
from clusterlens.ui.pages.verdict.rows import VerdictRows
from clusterlens.ui.widgets.style import COLUMN
from clusterlens.ui.widgets.toolkit import pn


class VerdictPage(Page):
    """One paragraph to copy, and the answers that it is made of."""

    def build(self) -> Steps:
        (rows,) = yield from self.each(VerdictRows)
        return pn.Column(
            rows.view,
            styles=COLUMN,
            sizing_mode="stretch_both",
            margin=0,
            css_classes=["cl-page-verdict"],
        )


PAGE = VerdictPage
