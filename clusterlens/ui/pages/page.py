"""Page: panels in an arrangement; they watch their results while the page is shown.

A page is made when it is first looked at, so that the first one comes quickly, and then
stays in its place.
"""

from __future__ import annotations

from typing import Any

from clusterlens.ui.kit import COLUMN, pn
from clusterlens.ui.panels.panel import Panel
from clusterlens.ui.session import Session


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
        # What is hidden must not say itself how it is displayed.
        self.view = pn.Column(
            sizing_mode="stretch_both", margin=0, styles=COLUMN, visible=False
        )

    def build(self) -> Any:
        """Make the panels and return their arrangement."""
        raise NotImplementedError

    def look(self, seen: bool) -> None:
        """Show or hide the page."""
        if seen and not len(self.view):
            self.view.append(self.build())
        self.view.visible = seen
        for panel in self.panels:
            panel.look(seen)
