"""Card of the first rows, as read or as features."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.formatting import count, whole
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.file_part import offer_parts, part_select
from clusterlens.ui.pages.data.nodes import Preview
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, link, safe

FORMS = {"read": "as read", "features": "as features"}


class FirstRows(Card):
    """Preview of the table."""

    needs = ("preview", "view.rows_as", "part", "parts")

    def build(self) -> Any:
        self._note = Text(does=self._choose, styles={"flex": "none"})
        self._rows = Text(css_classes=["cl-preview"], scrolls=True)
        self._part = self.control(
            part_select("cl-part"),
            lambda: "".join(self.session.analysis.part[1:]),
            self._read_part,
        )
        return card(
            "First rows",
            self._note,
            self._rows,
            note=self.status,
            buttons=[self._part],
            css="cl-rows",
        )

    async def _read_part(self, part: str) -> None:
        """Read another part of the same file, or with another separator."""
        done = self.session.history.done
        file = next(s.values for s in reversed(done) if s.kind == "load file")
        await self.session.act("load file", **{**file, "part": part})

    def _choose(self, form: str) -> None:
        if form in FORMS:
            self.session.view_state.rows_as = form

    def show(
        self,
        preview: Preview,
        rows_as: str,
        part: tuple[str, ...],
        parts: tuple[str, ...],
    ) -> None:
        """Write the rows as a table, and offer the other tables of the file."""
        offer_parts(self, self._part, part, parts)
        forms = " ".join(
            f"<b class='pill'>{title}</b>"
            if form == rows_as
            else link(title, form, kind="pill")
            for form, title in FORMS.items()
        )
        self._note.body = (
            f"<p>{forms} <span class='muted'>{whole(len(preview.cells))} of "
            f"{whole(preview.n_rows)} rows, {whole(len(preview.names))} of "
            f"{count(preview.n_columns, 'column')}</span></p>"
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
