"""More models for a run: their cost, and the button that adds them."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.components.card import Card
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import pmu, pn


class MoreModels(Card):
    """Card that plans models and adds them to the selected run.

    Subclasses set these attributes and make the models in `make`.

    Attributes
    ----------
    unanswered : str
        Markup shown while there is no answer.
    label, icon : str
        Label and icon of the button.
    css : tuple of str
        CSS classes of the text and of the button.
    """

    unanswered: str
    label: str
    icon: str
    css: tuple[str, str]

    def build(self) -> Any:
        self._running = False
        self._plan: Any = None
        self._text = Text(self.unanswered, css_classes=[self.css[0]])
        self._button = pmu.Button(
            label=self.label,
            icon=self.icon,
            size="small",
            variant="outlined",
            margin=(6, 0, 4, 0),
            css_classes=[self.css[1]],
            on_click=self._start,
            disabled=True,
        )
        column = self._text, self._button
        return pn.Column(*column, margin=0, sizing_mode="stretch_width")

    async def make(self, plan: Any) -> None:
        """Make the planned models and select the extended run."""
        raise NotImplementedError

    def prepare(self, results: Any) -> None:
        """Remove the plan if there are no answers."""
        if "empty" in {result.state for result in results.values()}:
            self._plan, self._text.body = None, self.unanswered
            self._offer()

    def _planned(self, plan: Any, description: str) -> None:
        """Set the plan and its description; without a plan the button is disabled."""
        self._plan, self._text.body = plan, f"<p class='muted'>{description}</p>"
        self._offer()

    def _offer(self) -> None:
        self._button.disabled = self._running or self._plan is None

    async def _start(self, event: Any) -> None:
        if self._running or self._plan is None:
            return
        self._running = self._button.disabled = True
        try:
            await self.make(self._plan)
        finally:
            self._running = False
            self._offer()
