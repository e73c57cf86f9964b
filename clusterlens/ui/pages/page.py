"""Page: panels in an arrangement; they watch their results while the page is shown.

A page is made when it is first looked at, so that the first one comes quickly, and then
stays in its place. In a browser it is made in steps, as its widgets take longer than
others shall wait.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from panel.pane import PaneBase

from clusterlens.ui.kit.components import go_on
from clusterlens.ui.kit.style import COLUMN, COMING
from clusterlens.ui.kit.widgets import pn
from clusterlens.ui.parts.panel import Panel
from clusterlens.ui.session import Session

Steps = Generator[None, None, Any]


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
        self.made = self.seen = False
        self._making = self._make()
        self._coming: Any = None
        # What is hidden must not say itself how it is displayed. What is inside asks
        # for the width of the page, as a lesson leaves less of the window to it.
        self.view = pn.Column(
            sizing_mode="stretch_both",
            margin=0,
            styles={**COLUMN, "container-type": "inline-size"},
            stylesheets=[COMING],
            css_classes=["cl-coming"],
            visible=False,
        )

    def build(self) -> Steps:
        """Make the panels, with a step after each, and return their arrangement."""
        raise NotImplementedError

    def each(self, *kinds: Callable[[Session], Panel]) -> Steps:
        """Make panels of the page, with a step after each, and return them."""
        for kind in kinds:
            self.panels.append(kind(self.session))
            yield
        return self.panels[-len(kinds) :]

    def _make(self) -> Steps:
        arranged = yield from self.build()
        for panel in self.panels:
            yield from self._make_models(panel.view)
        self.view.param.update(objects=[arranged], css_classes=[])
        self.made = True
        yield

    def _make_models(self, card: Any) -> Steps:
        """Make the models of a card before it is put in its place, where that is live.

        All at once they would take longer than others shall wait; those inside come
        first, which what holds them takes as they are.
        """
        for ref, (model, _) in list(self.view._models.items()):
            document = model.document
            root = document.get_model_by_id(ref)
            for part in reversed(card.select()):
                if ref not in part._models and not isinstance(part, PaneBase):
                    part._get_model(document, root)
                    yield

    def make(self) -> None:
        """Make what is not made yet of the panels; nothing is shown or hidden."""
        for _ in self._making:
            pass

    async def prepare(self, wanted: Callable[[], bool] = lambda: True) -> None:
        """Make the panels in steps, as long as they are wanted."""
        server = self.session.server
        await server.turns.take(self._making, wanted)
        server.collector.settle()
        server.collector.give_back()

    def look(self, seen: bool) -> None:
        """Show or hide the page."""
        self.seen = self.view.visible = seen
        if seen and not self.made and self.view._models:
            self.view.css_classes = ["cl-coming"]
            self._coming = go_on(self._come())
            return
        if seen:
            self.make()
        if self.made:
            self.attend()

    async def _come(self) -> None:
        """Make the page, which is in sight in a browser, and let it watch."""
        try:
            await self.prepare(lambda: self.seen and self._is_there())
        except Exception as error:
            self.session.jobs.fail("Showing the page", error)
            self.view.css_classes = []
            # It is tried anew when it is looked at again.
            self.panels, self._making = [], self._make()
        if self.made:
            self.attend()

    def _is_there(self) -> bool:
        """Whether the session of the browser has not ended."""
        return all(model.document for model, _ in self.view._models.values())

    def attend(self) -> None:
        """Let the panels watch their results while they are in sight."""
        for panel in self.panels:
            panel.look(self.seen)


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
    return stacked(top, cards, css_classes=[css])


def stacked(*views: Any, **params: Any) -> pn.Column:
    """Put cards below each other, which share all the height that there is."""
    return pn.Column(
        *views,
        styles={**COLUMN, "gap": "8px"},
        sizing_mode="stretch_both",
        margin=0,
        **params,
    )
