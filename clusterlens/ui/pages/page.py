"""Page: panels in an arrangement; they watch their results while the page is shown.

A page is made when it is first looked at, so that the first one comes quickly, and then
stays in its place.
"""

from __future__ import annotations

from typing import Any

from clusterlens.ui.kit import pn
from clusterlens.ui.panels.panel import Panel
from clusterlens.ui.session import Session
from clusterlens.ui.style import COLUMN


class Page:
    """Panels and how they are arranged, shown or hidden.

    Parameters
    ----------
    session : Session
        What its panels show.

    Attributes
    ----------
    panels : list of Panel
        All its panels.
    view : viewable
        The arrangement.
    """

    panels: list[Panel]
    view: Any

    def __init__(self, session: Session) -> None:
        self.session, self.panels = session, []
        # What is hidden must not say itself how it is displayed. What is inside asks
        # for the width of the page, as a lesson leaves less of the window to it.
        self.view = pn.Column(
            sizing_mode="stretch_both",
            margin=0,
            styles={**COLUMN, "container-type": "inline-size"},
            visible=False,
        )

    def build(self) -> Any:
        """Make the panels and return their arrangement."""
        raise NotImplementedError

    def make(self) -> None:
        """Make the panels where there are none yet; nothing is shown or hidden."""
        if not len(self.view):
            self.view.append(self.build())

    def look(self, seen: bool) -> None:
        """Show or hide the page."""
        if seen:
            self.make()
        self.view.visible = seen
        for panel in self.panels:
            panel.look(seen)


def share(view: Any, flex: str, *, least: str = "0") -> pn.Column:
    """Give a card its share of the height of a column, as CSS `flex` says."""
    return pn.Column(
        view,
        styles={**COLUMN, "flex": flex, "min-height": least},
        sizing_mode="stretch_width" if flex.endswith("auto") else "stretch_both",
        margin=0,
    )


def under(headline: Any, cards: Any, *, css: str) -> pn.Column:
    """Put cards, which take what height is left, under a headline as high as it is."""
    top = pn.Column(
        headline, styles={"flex": "0 0 auto"}, sizing_mode="stretch_width", margin=0
    )
    return pn.Column(
        top,
        cards,
        styles={**COLUMN, "gap": "8px"},
        css_classes=[css],
        sizing_mode="stretch_both",
        margin=0,
    )
