"""The Python script of what is on screen, and whether it gives the same elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterlens.compute._run.options import Cancelled
from clusterlens.ui.components import Text
from clusterlens.ui.exports.replay import replay
from clusterlens.ui.findings import NEEDED, gather
from clusterlens.ui.jobs import explain
from clusterlens.ui.kit import badge, card, copier, link, safe
from clusterlens.ui.panels.panel import Panel
from clusterlens.ui.style import TEXT_CSS
from clusterlens.ui.words import duration

CSS = "pre { font: 12px/1.5 ui-monospace, monospace; margin: 4px 0; white-space: pre; }"
# What a fresh process takes to begin.
_START_SECONDS = 5


class ScriptCard(Panel):
    """Public names only; the same labels and scores in a fresh process."""

    needs = NEEDED
    empty = "<b>No script yet.</b> Run a pool first."

    def build(self) -> Any:
        # The script on screen, and what came of running the one that was run.
        self._script = self._ran = self._verdict = ""
        self._check = Text(does=self._replay, css_classes=["cl-script-check"])
        self.text = Text(
            css_classes=["cl-script"],
            scrolls=True,
            sizing_mode="stretch_both",
            styles={"flex": "1 1 0", "min-height": "0"},
        )
        self.text.stylesheets = [TEXT_CSS, CSS]
        return card(
            "Python script", self.status, self._check, self.text, css="cl-script-card"
        )

    def show(self, **values: Any) -> None:
        """Write it on a thread: the names of the models are planned again."""
        found = gather(self.session)
        if found is None:
            return
        self.session.jobs.live(
            "script",
            "Writing the script",
            lambda job: found.script(),
            self._see,
        )

    def _see(self, text: str | None, error: BaseException | None) -> None:
        self._script = text or ""
        if error is not None:
            self.text.body = f"<p class='empty'>{safe(explain(error))}</p>"
        else:
            self.text.body = f"<pre>{safe(text)}</pre>"
        self._offer()

    def _offer(self) -> None:
        """Offer to copy and to run the script, or say what came of running it."""
        ensemble = self.session.analysis.ensemble
        if not self._script or ensemble is None:
            self._check.body = ""
            return
        if self._ran == self._script:
            told = self._verdict
        else:
            seconds = _START_SECONDS + float(np.nansum(ensemble.seconds))
            told = link(f"Check by running it, {duration(seconds)}", "check")
        self._check.body = (
            f"<p class='between'><span>{told}</span>{copier('Copy', self._script)}</p>"
        )

    def _replay(self, what: str) -> None:
        """Run the script in a fresh process, unless something else is on screen."""
        found, script, session = gather(self.session), self._script, self.session
        if found is None or not script:
            return

        def ran(difference: str | None, error: BaseException | None) -> None:
            if isinstance(error, Cancelled):
                return
            self._ran = script
            if error is not None:
                self._verdict = f"<span class='warn'>{safe(explain(error))}</span>"
            elif difference:
                self._verdict = f"<span class='warn'>{safe(difference)}</span>"
            else:
                self._verdict = badge("checked: same labels and scores")
            self._offer()

        session.jobs.live(
            "replay",
            "Running the script",
            lambda job: replay(
                script, found.steps, session.files, found.ranking, job.cancelled
            ),
            ran,
            long=True,
        )
