"""A closer look: finer settings near the safest choice, and their button."""

from __future__ import annotations

from typing import Any

from clusterlens.compute._numbers import count
from clusterlens.ui.kit.components import Text
from clusterlens.ui.kit.widgets import pmu, pn
from clusterlens.ui.kit.words import duration
from clusterlens.ui.nodes import answers
from clusterlens.ui.parts.panel import Panel

_NO_ANSWERS = (
    "<p class='muted'>Between the settings of the pool there are others. Once answers "
    "say where to look, more can be tried there. Answer a pair first.</p>"
)


class CloserLook(Panel):
    """How many models would be fitted and kept, and how long it takes."""

    needs = ("closer_look", "constraints")

    def build(self) -> Any:
        self._running = False
        self._plan: answers.CloserLook | None = None
        self._text = Text(_NO_ANSWERS, css_classes=["cl-closer-models"])
        self._look = pmu.Button(
            label="Look closer",
            icon="zoom_in",
            size="small",
            variant="outlined",
            margin=(6, 0, 4, 0),
            css_classes=["cl-look-closer"],
            on_click=self._start,
            disabled=True,
        )
        return pn.Column(self._text, self._look, margin=0, sizing_mode="stretch_width")

    def prepare(self, results: Any) -> None:
        """Without answers nothing says where to look."""
        if "empty" in {result.state for result in results.values()}:
            self._plan, self._text.body = None, _NO_ANSWERS
            self._offer()

    def show(self, closer_look: answers.CloserLook, constraints: Any) -> None:
        """Say what is fitted, and what is kept of it."""
        self._plan = closer_look
        self._text.body = f"<p class='muted'>{_said(closer_look)}</p>"
        self._offer()

    def _offer(self) -> None:
        self._look.disabled = self._running or self._plan is None

    async def _start(self, event: Any) -> None:
        """Fit them; the run that those kept join is read then."""
        if self._running or self._plan is None:
            return
        self._running = self._look.disabled = True
        try:
            await self.session.act("look closer", kept=self._plan.n_kept)
        finally:
            self._running = False
            self._offer()


def _said(plan: answers.CloserLook) -> str:
    return (
        f"Fits <b>{count(plan.n_fitted, 'model')}</b> with settings between those of "
        f"the pool, <b>{duration(plan.seconds)}</b>, and keeps the {plan.n_kept} most "
        "like the safest choice. They join the ranking; next pairs tell them apart."
    )
