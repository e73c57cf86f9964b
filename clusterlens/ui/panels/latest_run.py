"""What became of the models of the run that is read."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from clusterlens.ui.analysis import Run
from clusterlens.ui.components import Text
from clusterlens.ui.kit import card, link, safe
from clusterlens.ui.nodes.pools import Outcome
from clusterlens.ui.panels.panel import Panel
from clusterlens.ui.words import duration

TITLES = {
    "failed": "Failed",
    "dropped": "Dropped, no clustering",
    "warned": "Kept with a warning",
    "left out": "Left out",
    "note": "Notes",
}


class LatestRun(Panel):
    """Kept of asked, and what is to be said of the others."""

    needs = ("run", "outcome")
    empty = "<p>No run yet. Its models will be listed here.</p>"

    def build(self) -> Any:
        self._outcome = Text(
            does=self._go,
            css_classes=["cl-outcome"],
            scrolls=True,
            sizing_mode="stretch_both",
        )
        return card("Latest run", self._outcome, note=self.status, css="cl-latest-run")

    def _go(self, page: str) -> None:
        self.session.look.page = page

    def show(self, run: Run, outcome: Outcome) -> None:
        """Write the counts, then the notes by kind, each with its full text."""
        same = outcome.kept - outcome.distinct
        alike = f", {same} of them like another one" if same else ""
        groups = "".join(
            f"<p><b>{TITLES[kind]}</b></p><ul>"
            + "".join(_note(models, text) for _, models, text in notes)
            + "</ul>"
            for kind, notes in groupby(outcome.notes, lambda note: note[0])
        )
        self._outcome.body = (
            f"<p><b>{safe(run.name)}</b>: <b>{outcome.kept}</b> of "
            f"{outcome.asked} models kept{alike}; {duration(outcome.seconds)} "
            "of fitting.</p>"
            f"<p>{link('Read the consensus', 'consensus')}</p>"
            f"{groups or '<p class=muted>No model failed.</p>'}"
        )


def _note(models: str, text: str) -> str:
    return f"<li>{f'{safe(models)}: ' if models else ''}{safe(text)}</li>"
