"""Progress of a run: a grid of models, Stop and keep, Cancel."""

from __future__ import annotations

import time
from typing import Any

from clusterlens.compute.formatting import count
from clusterlens.ui.components.card import Card
from clusterlens.ui.pages.pool.model_grid import ModelGrid
from clusterlens.ui.state.partial_run import PartialRun
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import HIDDEN_WITHOUT_CONNECTION
from clusterlens.ui.widgets.toolkit import card, link, pmu, pn, safe
from clusterlens.ui.widgets.words import ALL_AT_WORK, duration


class RunProgress(Card):
    """Progress of the run, model by model."""

    def build(self) -> Any:
        jobs = self.session.jobs
        self._text = Text(does=self._do)
        self._bar = pmu.LinearProgress(
            value=0, variant="determinate", sizing_mode="stretch_width", margin=(6, 0)
        )
        self._grid = ModelGrid(
            css_classes=["cl-progress-grid"],
            sizing_mode="stretch_width",
        )
        self._keep = pmu.Button(
            label="Stop and keep",
            size="small",
            variant="outlined",
            disabled=True,
            on_click=lambda event: self._stop_and_keep(),
            css_classes=["cl-stop-and-keep"],
            margin=(6, 8, 0, 0),
        )
        cancel = pmu.Button(
            label="Cancel the run",
            size="small",
            variant="text",
            color="error",
            on_click=lambda event: jobs.cancel(),
            css_classes=["cl-cancel-run"],
            margin=(6, 0, 0, 0),
        )
        jobs.param.watch(self._tell, ["partial", "shown"])
        box = card(
            "",
            self._text,
            self._bar,
            self._grid,
            pn.Row(self._keep, cancel, margin=0),
            css="cl-run-progress",
            fills=False,
        )
        box.styles = {**box.styles, **HIDDEN_WITHOUT_CONNECTION, "flex": "none"}
        return box

    def set_visible(self, visible: bool) -> None:
        """Follow the run while visible."""
        self._is_visible = visible
        self._tell()

    _is_visible = False

    def _tell(self, *events: Any) -> None:
        """Draw the partial run, if there is one."""
        partial = self.session.jobs.partial
        if partial is None:
            # The next run begins with an empty grid.
            self._grid.param.update(models=[], states="", texts=[])
        self.view.visible = self._is_visible and isinstance(partial, PartialRun)
        if self.view.visible:
            self.show(partial)

    def show(self, run_so_far: PartialRun) -> None:
        """Write the progress and recolour the squares."""
        estimate, ended = run_so_far.estimate, run_so_far.n_ended
        shown = self.session.jobs.shown
        waits = shown is not None and shown.waits_its_turn
        models = [
            [name, family]
            for name, family in zip(estimate.names, estimate.families, strict=True)
        ]
        if models != self._grid.models:
            self._grid.models = models
        self._grid.param.update(
            states=run_so_far.states, texts=list(run_so_far.model_texts)
        )
        self._bar.value = round(100 * ended / run_so_far.n_asked)
        self._keep.disabled = self.session.jobs.keeping or not run_so_far.models
        self._text.body = (
            f"<h2>Run {run_so_far.number}</h2><div class='between'>"
            f"<span><b>{ended}</b> of {count(run_so_far.n_asked, 'model')}</span>"
            f"<span>{safe(_time(run_so_far))}</span></div>"
            + (f"<p>{ALL_AT_WORK.capitalize()}.</p>" if waits else "")
            + (
                f"<p>{link('Read the consensus so far', 'read')}</p>"
                if len(run_so_far.models) > 1
                else ""
            )
        )

    def _do(self, what: str) -> None:
        """Open the page Consensus before the run has finished."""
        self.session.view_state.param.update(so_far=True, page="consensus")

    def _stop_and_keep(self) -> None:
        self._keep.disabled = True
        self.session.jobs.stop_and_keep()


def _time(run_so_far: PartialRun) -> str:
    """Format the elapsed and the remaining time."""
    now = time.monotonic()
    elapsed, left = now - run_so_far.began, run_so_far.ends - now
    if left < 0:
        estimate = duration(run_so_far.ends - run_so_far.began)
        return f"{elapsed:.0f} s elapsed, longer than the estimate, {estimate}"
    return f"{elapsed:.0f} s elapsed, {duration(left)} left"
