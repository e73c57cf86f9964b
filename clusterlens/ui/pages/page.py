"""Page: panels in an arrangement; they watch their results while the page is shown."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.kit import COLUMN, pn
from clusterlens.ui.panels.panel import Panel
from clusterlens.ui.session import Session


class Page:
    """Panels and how they are arranged; made once, shown or hidden.

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
        self.session = session
        # What is hidden must not say itself how it is displayed.
        self.view = pn.Column(
            self.build(), sizing_mode="stretch_both", margin=0, styles=COLUMN
        )

    def build(self) -> Any:
        """Make the panels and return their arrangement."""
        raise NotImplementedError

    def look(self, seen: bool) -> None:
        """Show or hide the page."""
        self.view.visible = seen
        for panel in self.panels:
            panel.look(seen)
