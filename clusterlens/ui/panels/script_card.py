"""The Python script of what is on screen."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.findings import NEEDED, gather
from clusterlens.ui.jobs import explain
from clusterlens.ui.kit import TEXT_CSS, Text, card, safe
from clusterlens.ui.panels.panel import Panel

CSS = "pre { font: 12px/1.5 ui-monospace, monospace; margin: 4px 0; white-space: pre; }"


class ScriptCard(Panel):
    """Public names only; the same labels and scores in a fresh process."""

    needs = NEEDED
    empty = "<b>No script yet.</b> Run a pool first."

    def build(self) -> Any:
        self.text = Text(
            css_classes=["cl-script"],
            scrolls=True,
            sizing_mode="stretch_both",
            styles={"flex": "1 1 0", "min-height": "0"},
        )
        self.text.stylesheets = [TEXT_CSS, CSS]
        return card("Python script", self.status, self.text, css="cl-script-card")

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
        if error is not None:
            self.text.body = f"<p class='empty'>{safe(explain(error))}</p>"
        else:
            self.text.body = f"<pre>{safe(text)}</pre>"
