"""The verdict as a paragraph, and its questions with answers and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterlens.ui.components.card import TO_A_RUN, Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.results.evidence import Row
from clusterlens.ui.results.export_evidence import stopped_checks
from clusterlens.ui.results.label_verdict import LIGHT_COLOURS, LIGHTS
from clusterlens.ui.results.result import ExportPartition
from clusterlens.ui.results.result_verdict import (
    QUESTIONS,
    Question,
    Verdict,
    mark_unfinished,
)
from clusterlens.ui.state.pages import PAGES
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, copier, link, safe

_TITLES = {key: title for key, title, *_ in PAGES}
CSS = """
.paragraph { border-left: 5px solid var(--light); padding: 2px 0 4px 14px;
  font-size: 1.143em; max-width: 1000px; margin: 0 0 14px; }
.paragraph p { margin: 0 0 6px; }
.row { display: grid; grid-template-columns: 14px 17em minmax(0, 1fr)
  minmax(120px, auto); gap: 2px 12px; align-items: start; padding: 9px 0;
  border-top: 1px solid color-mix(in srgb, currentColor 16%, transparent); }
.row .light { width: 13px; height: 13px; border-radius: 50%; margin-top: 3px;
  background: var(--light); }
.row .asks { text-align: right; }
.row .muted { overflow-wrap: anywhere; }
.row.no .answer, .row.part .answer {
  color: color-mix(in srgb, var(--light) var(--cl-mixed, 62%), currentColor); }
@container (max-width: 900px) {
  .row { grid-template-columns: 14px minmax(0, 1fr); }
  .row > * { grid-column: 2; } .row .light { grid-column: 1; }
  .row .asks { text-align: left; }
}
"""


class VerdictRows(Card):
    """Claims that hold and claims that fail; open questions can be asked here."""

    needs = ("export_verdict", "export_partition")
    also = tuple(
        name
        for question in QUESTIONS.values()
        for name in (question.node, question.cost)
        if name
    )
    empty = f"<b>Nothing to judge yet.</b> {TO_A_RUN}."

    def build(self) -> Any:
        self._text = Text(
            does=self._do,
            scrolls=True,
            css_classes=["cl-verdict-rows"],
            stylesheets=[CSS],
        )
        return card("Verdict", self._text, note=self.status, css="cl-verdict-card")

    def show(
        self,
        export_verdict: Verdict,
        export_partition: ExportPartition,
        **checks: Result,
    ) -> None:
        """Write the paragraph and one line for each question."""
        verdict = mark_unfinished(export_verdict, stopped_checks(checks))
        text = verdict.paragraph
        none = (
            "<p class='muted'>No result is chosen yet; this verdict is about the "
            "displayed model.</p>"
        )
        rows = "".join(_row(row, checks) for row in verdict.rows)
        self._text.body = (
            f"<div class='paragraph cl-verdict-paragraph' {_light(verdict.light)}>"
            f"{'' if export_partition.is_result else none}<p>{safe(text)}</p>"
            f"{copier('Copy', text, css='cl-copy-verdict')}</div>{rows}"
        )

    def _do(self, what: str) -> None:
        """Ask for a check, or turn to the page with more on a question."""
        if what not in _TITLES:
            self.session.derived.ask(what)
        elif what == "clusters":
            self.session.view_state.param.update(
                page=what, partition="auto", cluster=None
            )
        else:
            self.session.view_state.page = what


def _light(light: Any) -> str:
    return f"style='--light:{LIGHT_COLOURS[light]}'"


def _row(row: Row, checks: Mapping[str, Result]) -> str:
    """Write one question with its answer, its basis and what can be done."""
    question = QUESTIONS[row.key]
    check = checks.get(question.node)
    basis, answer = safe(row.basis), safe(row.answer)
    if check is not None and check.ready and check.check is not None:
        basis += f" <span class='settings'>{check.settings}.</span>"
    css = {"in part": "part"}.get(row.light, row.light)
    return (
        f"<div class='row {css} cl-verdict-{row.key}' {_light(row.light)}>"
        f"<span class='light' role='img' aria-label='{LIGHTS[row.light]}'></span>"
        f"<b>{question.title}</b><div><div class='answer'>{answer}</div>"
        f"<div class='muted'>{basis}</div></div>"
        f"<div class='asks'>{_offer(question, check, checks.get(question.cost))}"
        f"{_more(question.page)}</div></div>"
    )


def _offer(question: Question, check: Result | None, cost: Result | None) -> str:
    """Offer the check of a row with its cost, or say how it goes."""
    if check is None or check.ready:
        return ""
    if check.state == "pending":
        return "<span class='muted'>measuring …</span> "
    if check.state == "failed":
        return f"{safe(check.failure)} {link('Try again', question.node)} "
    if cost is None:
        declined = check.state == "declined"
        return (
            link("Measure it", question.node, kind="pill", css="cl-ask")
            if declined
            else ""
        )
    if cost.state == "empty":
        return f"<span class='muted'>{question.impossible}</span> "
    if check.state == "empty" or not cost.ready:
        return ""
    stopped = check.stopped.capitalize()
    seconds = getattr(cost.value, "seconds", cost.value)
    words = f"{stopped}<b>Find out, {check.cost(seconds)}</b>"
    return link(words, question.node, kind="pill", css="cl-ask") + " "


def _more(page: str) -> str:
    return link(_TITLES[page], page, css="cl-more") if page else ""
