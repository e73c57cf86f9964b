"""Card of the scores after merging two classes."""

from __future__ import annotations

from typing import Any

import pandas as pd

from clusterlens.compute.formatting import whole
from clusterlens.compute.indices.class_match import LabelCheck
from clusterlens.ui.components.card import Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.results.evaluated_labels import EvaluatedLabels
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, link, safe
from clusterlens.ui.widgets.words import error, fixed

MERGES_CSS = """
:host { container-type: inline-size; }
td.number, th.number { white-space: nowrap; }
@container (max-width: 400px) { table { font-size: .857em; }
  td, th { padding: 3px 4px; } td .wide { display: none; } }
"""


class LabelMerges(Card):
    """The least separated pairs; a click merges one, on this page only."""

    needs = ("named_labels", "label_check")
    also = ("label_gains",)

    def build(self) -> Any:
        self._text = Text(
            does=self._do,
            css_classes=["cl-label-merges"],
            stylesheets=[MERGES_CSS],
            scrolls=True,
        )
        return card(
            "If two of them were one",
            self._text,
            note=self.status,
            css="cl-label-gains",
        )

    def prepare(self, results: Any) -> None:
        """Remove the text if there are no labels."""
        if not results["named_labels"].ready:
            self._text.body = ""

    def show(
        self,
        named_labels: EvaluatedLabels,
        label_check: LabelCheck,
        label_gains: Result,
    ) -> None:
        """Write a row for each pair, and a command that undoes the last merge."""
        back = ""
        if named_labels.merged:
            a, b = named_labels.merged[-1]
            names = f"{safe(named_labels.names[a])} and {safe(named_labels.names[b])}"
            back = (
                f"<p>On this page {names} are one. "
                f"{link('Take it back', 'back', css='cl-unmerge')}</p>"
            )
        self._text.body = back + self._table(named_labels, label_check, label_gains)

    def _table(self, labels: EvaluatedLabels, check: LabelCheck, gains: Result) -> str:
        if len(labels.sizes) < 3:
            return "<p class='muted'>There are only two; merged they would be one.</p>"
        if not gains.ready:
            return (
                "<div class='skeleton'></div>"
                if gains.state == "pending"
                else f"<p>{link('Try merging the most mixed pairs', 'ask')}</p>"
            )
        frame: pd.DataFrame = gains.value
        rows = "".join(_row(labels, row) for row in frame.itertuples())
        return (
            "<p class='muted'>Lowest pairs, and the score of all after merging (now "
            f"{fixed(check.score, 3)}). A click merges, on this page only.</p>"
            "<table data-roving='map'><tr><th>pair</th><th class='number'>score</th>"
            "<th class='number'>rows</th><th class='number'>if merged</th></tr>"
            f"{rows}</table><p class='muted'>Errors are Monte-Carlo (2 standard errors "
            "of random assignments), not uncertainty of the table. One far outlier can "
            "hide a gap, and unequal sizes cap the score (10/90: 0.96).</p>"
        )

    def _do(self, what: str) -> None:
        view_state = self.session.view_state
        if what == "ask":
            self.session.derived.ask("label_gains")
        elif what == "back":
            view_state.open_pair(merged=view_state.merged[:-1])
        else:
            a, b = map(int, what.split())
            view_state.open_pair(merged=(*view_state.merged, (a, b)))


def _row(labels: EvaluatedLabels, row: Any) -> str:
    a, b = int(row.class_a), int(row.class_b)
    names = f"{safe(labels.name(a))} · {safe(labels.name(b))}"
    arrow = "▲" if row.change > 0 else "▼"
    return (
        f"<tr><td>{link(names, f'{a} {b}', css='cl-merge')}</td>"
        f"<td class='number'><b>{fixed(row.score)}</b> <span class='muted wide'>"
        f"{error(row.standard_error)}</span></td>"
        f"<td class='number'>{whole(row.n_a)} · {whole(row.n_b)}</td>"
        f"<td class='number'><b>{fixed(row.merged, 3)}</b> {arrow}</td></tr>"
    )
