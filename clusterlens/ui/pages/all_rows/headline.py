"""Headline of the page All rows: number of landmarks and rows, next step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clusterlens.compute.formatting import count, with_capital
from clusterlens.compute.scale.result import ScaledRun
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.components.card import Card
from clusterlens.ui.exports.all_rows import write_error, write_size
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.all_rows.nodes import Labelling
from clusterlens.ui.state.analysis import LargeTable
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, link, pmu, pn, quoting, safe

NOT_LARGE = (
    "<div class='empty'><b>For tables that are too large for memory.</b> A pool runs "
    "on some of their rows, the <i>landmarks</i>, and this page labels all others. "
    "Such a table is opened from the disk of the server: start it with "
    "<code>clusterlens FOLDER</code>, or name folders in "
    "<code>CLUSTERLENS_FOLDERS</code>.</div>"
)


class AllRowsHeadline(Card):
    """The size of the table, the error of the landmarks, and the button that labels."""

    needs = ("large?", "table?")
    also = ("labelling", "all_rows?", "labelled")

    def build(self) -> Any:
        self._text = Text(
            does=self._do,
            css_classes=["cl-all-rows-summary"],
            styles={"flex": "1 1 320px", "min-width": "0"},
        )
        self._label = pmu.Button(
            label="Label all rows",
            icon="label",
            size="small",
            margin=0,
            variant="contained",
            visible=False,
            on_click=self._label_rows,
            css_classes=["cl-label-rows"],
        )
        row = pn.Row(
            self._text,
            self._label,
            margin=0,
            sizing_mode="stretch_width",
            styles={"display": "flex", "gap": "10px", "align-items": "center"},
        )
        return card("", row, note=self.status, css="cl-all-rows-headline", fills=False)

    def show(
        self,
        large: LargeTable | None,
        table: Dataset | None,
        labelling: Result,
        all_rows: Result,
        labelled: Result,
    ) -> None:
        """Write the next step, or how far the labels can be relied on."""
        found: Labelling | None = labelling.value
        is_gone = all_rows.state == "failed"
        self._label.visible = (
            found is not None
            and not found.obstacle
            and (is_gone or not found.is_current)
        )
        if large is None or table is None:
            self._text.body = NOT_LARGE
            return
        stands = f"<p><b>{write_size(len(table.table), large.n_rows)}</b> "
        if is_gone and all_rows.error is not None:
            stands += f"{quoting(all_rows.failure)}</p>"
        elif all_rows.value is not None:
            title = labelled.value[1] if labelled.value else ""
            stands += _labelled(all_rows.value, title, found)
        else:
            stands += f"All other pages show the landmarks. {_next(found)}</p>"
        self._text.body = stands

    async def _label_rows(self, event: Any) -> None:
        if await self.session.act("label rows"):
            self.session.derived.ask("all_rows")  # they may have been gone

    def _do(self, what: str) -> None:
        self.session.view_state.page = what


def _next(found: Labelling | None) -> str:
    """Write the next step before all rows have labels."""
    if found is None:
        return ""
    if found.obstacle:
        why = with_capital(found.obstacle)
        return f"{safe(why)} {link('Open Clusters', 'clusters')}"
    return (
        "The models of the run and the result label all rows in the background; after "
        "Cancel or a crash the labels go on where they were."
    )


def _labelled(run: ScaledRun, title: str, found: Labelling | None) -> str:
    """Name the partition of the labels, and write the error of the landmarks."""
    other = ""
    if found is not None and not found.obstacle and not found.is_current:
        other = " The result is another one by now."
    return (
        f"{count(run.n_labelled, 'row')} have the labels of {safe(title)}.{other}</p>"
        f"<p class='muted'>{write_error(run)} Files: "
        f"<b>{safe(Path(run.folder).name)}</b>, beside the table.</p>"
    )
