"""The first rows, as they were read or as they go into the pool."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.kit import Text, card, link, safe
from clusterlens.ui.nodes.tables import Preview
from clusterlens.ui.panels.panel import Panel

FORMS = {"read": "as read", "features": "as features"}


class FirstRows(Panel):
    """A look at the table."""

    needs = ("preview", "look.rows_as")

    def build(self) -> Any:
        self._note = Text(does=self._choose, styles={"flex": "none"})
        self._rows = Text(
            css_classes=["cl-preview"], scrolls=True, sizing_mode="stretch_both"
        )
        return card(
            "First rows", self._note, self._rows, note=self.status, css="cl-rows"
        )

    def _choose(self, form: str) -> None:
        if form in FORMS:
            self.session.look.rows_as = form

    def show(self, preview: Preview, rows_as: str) -> None:
        """Write the rows as a table."""
        forms = " ".join(
            f"<b class='pill'>{title}</b>"
            if form == rows_as
            else link(title, form, kind="pill")
            for form, title in FORMS.items()
        )
        self._note.body = (
            f"<p>{forms} <span class='muted'>{len(preview.cells):,} of "
            f"{preview.n_rows:,} rows, {len(preview.names):,} of "
            f"{preview.n_columns:,} columns</span></p>"
        )
        head = "".join(
            f"<th class='cut' title='{safe(name)}'>{safe(name)}</th>"
            for name in preview.names
        )
        rows = "".join(
            f"<tr><td class='muted'>{safe(row)}</td>"
            + "".join(f"<td class='cut'>{safe(cell)}</td>" for cell in cells)
            + "</tr>"
            for row, cells in zip(preview.ids, preview.cells, strict=True)
        )
        self._rows.body = (
            f"<table class='rows'><tr><th>row</th>{head}</tr>{rows}</table>"
        )
