"""Models made for the answers: what they cost, and the button that makes them."""

from __future__ import annotations

from typing import Any

from clusterlens.compute._numbers import count
from clusterlens.ui.kit.components import Text
from clusterlens.ui.kit.widgets import pmu, pn
from clusterlens.ui.kit.words import duration
from clusterlens.ui.nodes.answers import ModelsToMake
from clusterlens.ui.parts.panel import Panel

_NO_ANSWERS = (
    "<p class='muted'>Where no model is yours, models can be made that obey your "
    "answers. Answer a pair first.</p>"
)


class MadeModels(Panel):
    """How many models would be made, how long it takes, and how they are judged."""

    needs = ("models_to_make",)

    def build(self) -> Any:
        self._running = False
        self._plan: ModelsToMake | None = None
        self._text = Text(_NO_ANSWERS, css_classes=["cl-models-to-make"])
        self._make = pmu.Button(
            label="Make models for your answers",
            icon="add",
            size="small",
            variant="outlined",
            margin=(6, 0, 4, 0),
            css_classes=["cl-make-models"],
            on_click=self._start,
            disabled=True,
        )
        return pn.Column(self._text, self._make, margin=0, sizing_mode="stretch_width")

    def prepare(self, results: Any) -> None:
        """Without answers nothing can be made."""
        if results["models_to_make"].state == "empty":
            self._plan, self._text.body = None, _NO_ANSWERS
            self._offer()

    def show(self, models_to_make: ModelsToMake) -> None:
        """Say what is made and how it is judged, or why nothing is."""
        self._plan = models_to_make
        self._text.body = f"<p class='muted'>{_said(models_to_make)}</p>"
        self._offer()

    def _offer(self) -> None:
        plan = self._plan
        self._make.disabled = self._running or plan is None or bool(plan.refusal)

    async def _start(self, event: Any) -> None:
        """Make them; the run that they join is read then."""
        if self._running or self._plan is None:
            return
        self._running = self._make.disabled = True
        try:
            numbers = list(self._plan.n_clusters)
            await self.session.act("make for answers", n_clusters=numbers)
        finally:
            self._running = False
            self._offer()


def _said(plan: ModelsToMake) -> str:
    if plan.refusal:
        return plan.refusal
    numbers = ", ".join(map(str, plan.n_clusters))
    return (
        f"Makes <b>{count(plan.n_models, 'model')}</b> of k = {numbers} that obey your "
        f"{count(plan.n_links, 'link')}, <b>{duration(plan.seconds)}</b>. They join "
        "the ranking, judged by answers that were held out: obeying wins nothing."
    )
