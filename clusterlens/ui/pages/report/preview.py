"""Preview of the report, exactly as it is saved."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from clusterlens.ui.components.card import TO_A_RUN, Card
from clusterlens.ui.components.findings import NEEDED, WELCOME, gather
from clusterlens.ui.exports.document import (
    SECTIONS,
    DrawnPictures,
    Findings,
    write_report,
)
from clusterlens.ui.jobs.lanes import explain
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import COLUMN
from clusterlens.ui.widgets.toolkit import card, pmu, pn, safe

CSS = """
button.pill { margin: 4px 6px 2px 0; }
button.pill[aria-pressed=true] { border-color: transparent; font-weight: 700;
  background: color-mix(in srgb, #0b8a8a 16%, transparent); }
button.pill:disabled { opacity: .5; cursor: default; border-style: dashed; }
"""
_PAPER = "<span class='muted'>As it prints: on white, in either theme.</span>"


class ReportPreview(Card):
    """Preview, written again on a thread when its content changes while visible."""

    needs = (*NEEDED, "note", "view.report_without", "view.report_with")
    also = WELCOME
    empty = f"<b>Nothing to report yet.</b> {TO_A_RUN}."

    def build(self) -> Any:
        self._follows: dict[str, Callable[[], None]] = {}
        self._drawn = DrawnPictures()
        self._chips = Text(
            does=self._switch,
            css_classes=["cl-report-sections"],
            stylesheets=[CSS],
            styles={"flex": "none"},
        )
        self._page = Text(
            css_classes=["cl-report"],
            scrolls=True,
            styles={"flex": "1 1 0", "min-height": "0"},
        )
        self._note = pmu.TextInput(
            label="Note under the verdict; Enter keeps it",
            size="small",
            sizing_mode="stretch_width",
            margin=(6, 0),
            css_classes=["cl-note"],
        )
        self.control(
            self._note,
            lambda: self.session.analysis.note,
            lambda text: self.session.act_now("write note", text=text),
        )
        inside = pn.Column(
            self.status,
            self._chips,
            self._note,
            self._page,
            sizing_mode="stretch_both",
            margin=0,
            styles={**COLUMN, "flex": "1 1 0"},
        )
        return card("Report", inside, css="cl-report-card")

    def set_visible(self, visible: bool) -> None:
        super().set_visible(visible)
        self._follow(self.session.view_state.report_with if visible else ())

    def _follow(self, wanted: Sequence[str]) -> None:
        """Watch the results of requested sections, and only these."""
        for key in set(self._follows) - set(wanted):
            self._follows.pop(key)()
        for key in set(wanted) - set(self._follows):
            self._follows[key] = self.session.derived.watch(
                (SECTIONS[key].node,), lambda results: self._write()
            )

    def show(self, **values: Any) -> None:
        """Write the report with the requested sections."""
        self._follow(self.session.view_state.report_with)
        self._write()

    def _write(self) -> None:
        """Write the file on a thread; the newest one is shown."""
        found = gather(self.session)
        if found is not None:
            self._chips.body = "".join(_chip(key, found) for key in SECTIONS) + _PAPER
            if not self._page.body:
                self._page.body = "<p class='muted'>Writing the report …</p>"
            title, found = "Writing the report", replace(found, drawn=self._drawn)
            self.session.jobs.live(
                "report", title, lambda job: write_report(found), self._see
            )

    def _switch(self, key: str) -> None:
        """Remove a section from the report, or restore it."""
        view_state, node = self.session.view_state, SECTIONS[key].node
        name = "report_with" if node else "report_without"
        switched = set(getattr(view_state, name)) ^ {key}
        setattr(view_state, name, tuple(one for one in SECTIONS if one in switched))
        if node and key in switched:
            self.session.derived.ask(node)

    def _see(self, text: str | None, error: BaseException | None) -> None:
        if error is not None:
            self._page.body = f"<p class='failed'>{safe(explain(error))}</p>"
            return
        self._page.body = (
            "<iframe sandbox title='the report' style='width:100%;height:calc(100% - "
            f"6px);border:0;background:#fff' srcdoc='{html.escape(text or '')}'>"
            "</iframe>"
        )


def _chip(key: str, found: Findings) -> str:
    """Write the switch of a section; an empty section shows the reason."""
    section = SECTIONS[key]
    why, is_shown = section.lacks(found), found.includes(key)
    state = f"aria-pressed='{str(is_shown).lower()}'"
    if why:
        state = f"disabled title='{safe(section.name)}: {safe(why)}'"
    tick = "✓ " if is_shown else ""
    if is_shown and isinstance(found.asked.get(key), str):
        tick = "… "
    return (
        f"<button class='pill cl-section-{key}' data-do='{key}' {state}>{tick}"
        f"{safe(section.name)}</button>"
    )
