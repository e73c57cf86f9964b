"""Parts of the screen that are made when they are first shown, and then kept.

In a browser they are made in steps, because their widgets would block other sessions
for too long.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from panel.pane import PaneBase

from clusterlens.ui.components.card import Card
from clusterlens.ui.session import Session
from clusterlens.ui.widgets.scripted import go_on
from clusterlens.ui.widgets.style import COLUMN, COMING
from clusterlens.ui.widgets.toolkit import pn

Steps = Generator[None, None, Any]


class Deferred:
    """Cards in an arrangement, shown or hidden, which watch while they are shown.

    Parameters
    ----------
    session : Session
        Session of the cards.
    styles
        CSS of the view.

    Attributes
    ----------
    cards : list of Card
        All cards made so far.
    view : viewable
        The arrangement.
    """

    cards: list[Card]
    view: Any

    def __init__(self, session: Session, **styles: str) -> None:
        self.session, self.cards = session, []
        self.made = self.is_visible = False
        self._making = self._make()
        self._coming: Any = None
        # A hidden component must not set its own display style.
        self.view = pn.Column(
            sizing_mode="stretch_both",
            margin=0,
            styles={**COLUMN, **styles},
            stylesheets=[COMING],
            css_classes=["cl-coming"],
            visible=False,
        )

    def build(self) -> Steps:
        """Make the cards, with a step after each, and return their arrangement."""
        raise NotImplementedError

    def each(self, *kinds: Callable[[Session], Card]) -> Steps:
        """Make cards, with a step after each, and return them."""
        for kind in kinds:
            self.cards.append(kind(self.session))
            yield
        return self.cards[-len(kinds) :]

    def _make(self) -> Steps:
        arranged = yield from self.build()
        for card in self.cards:
            yield from self._make_models(card.view)
        self.view.param.update(objects=[arranged], css_classes=[])
        self.made = True
        yield

    def _make_models(self, card: Any) -> Steps:
        """Make the models of a card before it is put in its place on a live page.

        All at once they would block other sessions. Inner models come first, because
        the outer ones then reuse them.
        """
        for ref, (model, _) in list(self.view._models.items()):
            document = model.document
            root = document.get_model_by_id(ref)
            for part in reversed(card.select()):
                if ref not in part._models and not isinstance(part, PaneBase):
                    part._get_model(document, root)
                    yield

    def make(self) -> None:
        """Make the remaining cards; nothing is shown or hidden."""
        for _ in self._making:
            pass

    async def prepare(self, wanted: Callable[[], bool] = lambda: True) -> None:
        """Make the cards in steps, as long as they are wanted."""
        server = self.session.server
        await server.scheduler.take(self._making, wanted)
        server.collector.settle()
        server.collector.give_back()

    def set_visible(self, visible: bool) -> None:
        """Show or hide the cards."""
        self.is_visible = self.view.visible = visible
        if visible and not self.made and self.view._models:
            self.view.css_classes = ["cl-coming"]
            if self._coming is None or self._coming.done():
                self._coming = go_on(self._make_in_steps())
            return
        if visible:
            self.make()
        if self.made:
            self.update_watching()

    async def _make_in_steps(self) -> None:
        """Make the cards where a browser shows them already, and let them watch."""
        try:
            await self.prepare(lambda: self.is_visible and self._is_there())
        except Exception as error:
            self.session.jobs.fail("Showing the page", error)
            self.view.css_classes = []
            # The next visit tries again.
            self.cards, self._making = [], self._make()
        if self.made:
            self.update_watching()

    def _is_there(self) -> bool:
        """Return whether the browser's session still exists."""
        return all(model.document for model, _ in self.view._models.values())

    def update_watching(self) -> None:
        """Let the cards watch their results while visible."""
        for card in self.cards:
            card.set_visible(self.is_visible)


class DeferredCard(Deferred):
    """Place of a single card.

    Parameters
    ----------
    session : Session
        Session of the card.
    kind : type of Card
        Makes the card.
    """

    def __init__(self, session: Session, kind: Callable[[Session], Card]) -> None:
        super().__init__(session)
        self._kind = kind

    def build(self) -> Steps:
        (card,) = yield from self.each(self._kind)
        return card.view

    @property
    def card(self) -> Card:
        """The card, which has been made."""
        return self.cards[0]
