"""Base class of pages, and arrangements of their cards."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.components.deferred import Deferred
from clusterlens.ui.session import Session
from clusterlens.ui.widgets.style import COLUMN
from clusterlens.ui.widgets.toolkit import pn


class Page(Deferred):
    """Page of the navigation, or one of several views of such a page.

    Style sheets inside query the width of its container, because a lesson leaves less
    of the window to the page.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session, **{"container-type": "inline-size"})


def share(view: Any, flex: str, *, least: str = "0") -> pn.Column:
    """Give a card its share of the height of a column, by CSS `flex`."""
    return pn.Column(
        view,
        styles={**COLUMN, "flex": flex, "min-height": least},
        sizing_mode="stretch_width" if flex.endswith("auto") else "stretch_both",
        margin=0,
    )


def under(headline: Any, cards: Any, *, css: str) -> pn.Column:
    """Put cards, which share the remaining height, under a headline."""
    top = pn.Column(
        headline, styles={"flex": "0 0 auto"}, sizing_mode="stretch_width", margin=0
    )
    return stacked(top, cards, css_classes=[css])


def stacked(*views: Any, **params: Any) -> pn.Column:
    """Stack cards that share the whole height."""
    return pn.Column(
        *views,
        styles={**COLUMN, "gap": "8px"},
        sizing_mode="stretch_both",
        margin=0,
        **params,
    )
