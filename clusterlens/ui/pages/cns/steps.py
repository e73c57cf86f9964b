"""Card of the smoothing step by step, from the seeds to the fixed point."""

from __future__ import annotations

import asyncio
from typing import Any

from clusterlens.compute.estimators.cns.live import SmoothingStep
from clusterlens.compute.formatting import percent
from clusterlens.ui.components.card import Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.cns.study_nodes import STEP_SIZE
from clusterlens.ui.results.lab import Setting
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, link

_PLAY_SECONDS = 0.9
STEPS_CSS = """
:host { container-type: inline-size; }
.steps { display: flex; gap: 6px; height: 100%; }
.steps button { all: unset; cursor: pointer; flex: 1 1 0; min-width: 0; text-align:
  center; padding: 2px; border-radius: 5px; border: 1px solid transparent; }
.steps button.shown { border-color: #0b8a8a; background:
  color-mix(in srgb, #0b8a8a 10%, transparent); }
.steps img { display: block; width: 100%; height: 54px; object-fit: contain; }
.steps b { display: block; font-size: .857em; line-height: 1.1; }
.steps small { display: block; opacity: .75; font-size: .857em; white-space: nowrap;
  overflow: hidden; }
@container (max-width: 620px) {
  .steps { gap: 2px; }
  .steps .wide { display: none; }
}
"""


class CNSSteps(Card):
    """A small picture of each state; a click shows it on the map, play shows all."""

    needs = ("cns_thumbnails", "cns_steps", "cns_released")
    also = ("view.cns_step?",)

    def build(self) -> Any:
        self._playing: asyncio.Task[None] | None = None
        self._how = Text(
            does=self._do, css_classes=["cl-cns-play"], styles={"flex": "none"}
        )
        self._text = Text(
            does=self._do,
            css_classes=["cl-cns-steps"],
            stylesheets=[STEPS_CSS],
            scrolls=True,
        )
        return card("", self._how, self._text, note=self.status, css="cl-cns-smoothing")

    def prepare(self, results: Any) -> None:
        """Write the title while the steps are computed."""
        if not results["cns_thumbnails"].ready and not self._has_shown:
            self._how.body = "<h2>Step through the smoothing</h2>"

    def show(
        self,
        cns_thumbnails: tuple[str, ...],
        cns_steps: tuple[SmoothingStep, ...],
        cns_released: Setting,
        cns_step: Result,
    ) -> None:
        """Write the states with the share of settled samples."""
        self._count = len(cns_steps)
        last = self._count - 1
        at = last if cns_step.value is None else cns_step.value
        self._how.body = (
            f"<p class='cut'>{link('▶ play', 'play')} "
            "<b>Step through the smoothing</b> <span class='how' "
            "title='settled: already in its last cluster'>"
            "row ← alpha · start + (1 − alpha) · mean of "
            f"{cns_released.n_neighbors} neighbours</span></p>"
        )
        self._text.body = (
            "<div class='steps' data-roving='line'>"
            + "".join(
                _state(k, step, picture, shown=k == at)
                for k, (step, picture) in enumerate(
                    zip(cns_steps, cns_thumbnails, strict=True)
                )
            )
            + "</div>"
        )

    async def _do(self, what: str) -> None:
        if self._playing is not None:
            self._playing.cancel()
            self._playing = None
        if what == "play":
            self._playing = asyncio.get_running_loop().create_task(self._play())
        else:
            self._put(int(what))

    def _put(self, at: int) -> None:
        """Show a state on the map; the last one is the solution itself."""
        shown = None if at == self._count - 1 else at
        self.session.view_state.param.update(cns_step=shown, cns_version="")

    async def _play(self) -> None:
        for at in range(self._count):
            self._put(at)
            await asyncio.sleep(_PLAY_SECONDS)


def _state(at: int, step: SmoothingStep, picture: str, *, shown: bool) -> str:
    name = "exact" if step.iterations is None else str(step.iterations)
    settled = f"{percent(step.settled)} settled"
    # A narrow card shows the share without its noun.
    words = (
        "<span class='wide'>the </span>fixed<span class='wide'> point</span>"
        if step.iterations is None
        else f"{percent(step.settled)}<span class='wide'> settled</span>"
    )
    kind = "shown" if shown else ""
    width, height = STEP_SIZE
    return (
        f"<button class='{kind}' data-do='{at}' aria-pressed='{str(shown).lower()}'>"
        f"<img src='{picture}' width='{width}' height='{height}' alt='after {name} "
        f"steps {settled}'><b>{name}</b><small>{words}</small></button>"
    )
