"""Everything that was read, filled, scaled or left out."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.kit import Text, card, safe
from clusterlens.ui.panels.panel import Panel


class Notes(Panel):
    """What was done to the table, step by step."""

    needs = ("table", "dataset?")

    def build(self) -> Any:
        self._steps = Text(
            css_classes=["cl-notes"], scrolls=True, sizing_mode="stretch_both"
        )
        return card("What was done", self._steps, note=self.status, css="cl-done")

    def show(self, table: Dataset, dataset: Dataset | None) -> None:
        """List the steps in order."""
        source = dataset or table
        read = len(source.reading_notes)
        rows = "".join(
            f"<tr><td class='muted'>{'read' if k < read else 'prepared'}</td>"
            f"<td>{safe(note)}</td></tr>"
            for k, note in enumerate(source.notes)
        )
        self._steps.body = (
            f"<table>{rows}</table>" if rows else "<p>Nothing to report.</p>"
        )
