"""Card of the notes on reading and preparation, with hints."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.summaries import TableHint
from clusterlens.ui.components.card import Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, link, quoting

OFFERS = {
    "log": "take its logarithm",
    "log1p": "take the logarithm of 1 + value",
    "rank": "take its ranks",
    "once": "use each row once",
}
_SHOWN = 40


class Notes(Card):
    """Notes on the table, step by step, followed by hints."""

    needs = ("table", "dataset?")
    also = ("hints",)

    def build(self) -> Any:
        self._hints: list[TableHint] = []
        self._steps = Text(
            does=self._mend,
            css_classes=["cl-notes"],
            scrolls=True,
        )
        return card("What was done", self._steps, note=self.status, css="cl-done")

    def show(self, table: Dataset, dataset: Dataset | None, hints: Result) -> None:
        """List the steps in order, then the hints."""
        self._hints = (hints.value or [])[:_SHOWN]
        source = dataset or table
        read = len(source.reading_notes)
        rows = "".join(
            f"<tr><td class='muted'>{'read' if k < read else 'prepared'}</td>"
            f"<td>{quoting(note)}</td></tr>"
            for k, note in enumerate(source.notes)
        )
        rows += "".join(_row(k, hint) for k, hint in enumerate(self._hints))
        if hints.ready and len(hints.value) > _SHOWN:
            rows += f"<tr><td></td><td>and {len(hints.value) - _SHOWN} more</td></tr>"
        self._steps.body = (
            f"<table>{rows}</table>" if rows else "<p>Nothing to report.</p>"
        )

    async def _mend(self, at: str) -> None:
        """Prepare the table again as a hint proposes."""
        await self.session.act("prepare", **self._hints[int(at)].action)


def _row(at: int, hint: TableHint) -> str:
    offer = f" {link(_words(hint), str(at), css='cl-mend')}" if hint.action else ""
    return f"<tr><td class='warn name'>look at</td><td>{quoting(hint)}{offer}</td></tr>"


def _words(hint: TableHint) -> str:
    """Return the label of a hint's button."""
    (rule,) = hint.action.values()
    return OFFERS[rule if isinstance(rule, str) else rule[hint.columns[0]]]
