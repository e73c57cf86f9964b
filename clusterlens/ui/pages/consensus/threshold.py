"""Card of the threshold: ranks of the leaders by the required agreement."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.ensemble.agreement import Agreement
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.formatting import whole
from clusterlens.ui.components.card import Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.consensus.threshold_figure import ThresholdFigure, legend
from clusterlens.ui.results.agreement import Leaders
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import COLUMN, scaled
from clusterlens.ui.widgets.toolkit import card, join_keeping_tail, link, pn, safe
from clusterlens.ui.widgets.words import brief, split_at_difference

_AVERAGE = (
    "<span title='the mean rule: the mean of the co-association matrix, rounded up to "
    "a number of models'>the average agreement</span>"
)
# A low window leaves four lines for the card.
_LOW = """
@media (max-height: 800px) { :host { line-height: 1.18; } p { margin: 0; } }
"""
_TEXT = scaled(
    """
:host { width: calc(172px * var(--cl-scale, 1)) !important; }
.needed { font-size: 14px; white-space: nowrap; }
p { margin: 1px 0; }
"""
    + _LOW
)
_LEADER = scaled(
    """
:host { width: calc(200px * var(--cl-scale, 1)) !important; }
@media (min-width: 1351px) { :host { width: 240px !important; } }
.leader { font-size: 12px; display: flex; align-items: center; gap: 5px; }
.leader > svg { flex: none; }
"""
    + _LOW
)
_STROKES = {"solid": "none", "dashed": "6 3", "dotdash": "2 2 7 2"}


class Threshold(Card):
    """Ranks of the leaders at every threshold, and the line that sets it."""

    needs = ("leaders", "agreement", "ensemble", "threshold_in_force")
    also = ("threshold?", "constraints?")
    empty = "Run a pool to set how many models must agree."

    def build(self) -> Any:
        self._figure = ThresholdFigure(self._drag, self._release, self._click)
        self._text = Text(
            does=self._set,
            stylesheets=[_TEXT],
            sizing_mode="fixed",
            width=165,
            css_classes=["cl-threshold-text"],
        )
        self._legend = Text(
            stylesheets=[_LEADER],
            sizing_mode="fixed",
            width=200,
            css_classes=["cl-threshold-legend"],
        )
        place = pn.Column(
            self._figure.pane,
            sizing_mode="stretch_both",
            margin=0,
            styles={**COLUMN, "flex": "1 1 0"},
        )
        row = pn.Row(
            self._text,
            place,
            self._legend,
            sizing_mode="stretch_both",
            margin=0,
            styles={"display": "flex", "min-height": "0", "gap": "8px"},
        )
        return card("", row, note=self.status, css="cl-threshold")

    def show(
        self,
        leaders: Leaders,
        agreement: Agreement,
        ensemble: Ensemble,
        threshold_in_force: int,
        threshold: Result,
        constraints: Result,
    ) -> None:
        """Draw the curves, which know no answers, and place the line."""
        self._figure.show(
            leaders.ranks,
            mean=agreement.threshold,
            majority=self._majority(),
            threshold=threshold_in_force,
        )
        self._draw_text(
            ensemble,
            threshold_in_force,
            _AVERAGE if threshold.value is None else "chosen",
        )
        title = "rank of the leaders"
        if constraints.value is not None:
            title = "rank by the pool alone"
        self._draw_legend(title, leaders, ensemble)

    def _draw_text(self, ensemble: Ensemble, threshold: int, remark: str) -> None:
        # "voting models" would be too wide.
        noun = "models" if ensemble.votes.max() == 1 else "votes"
        self._text.body = (
            "<h2>Agreement needed</h2>"
            f"<p class='needed'>{link('−', 'less', name='one less')} "
            f"<b>{threshold}</b> {link('+', 'more', name='one more')} of "
            f"{whole(ensemble.n_votes)} {noun}</p><p class='muted'>{remark}</p>"
            f"<p>{link('Average', 'mean', css='cl-threshold-mean')} · "
            f"{link('Majority', 'majority', css='cl-threshold-majority')}</p>"
        )

    def _draw_legend(self, title: str, leaders: Leaders, ensemble: Ensemble) -> None:
        names = [ensemble.names[t] for t in leaders.models]
        lines = "".join(
            f"<p class='leader' title='{safe(name)}'>"
            f"<svg width='26' height='8' role='img' aria-label='{dash} line'>"
            "<line x1='0' y1='4' x2='26' y2='4' stroke='currentColor' "
            f"stroke-dasharray='{_STROKES[dash]}' stroke-width='1.6'/></svg>"
            f"{join_keeping_tail(*parts)}</p>"
            for (name, dash), parts in zip(
                legend(names),
                split_at_difference([brief(name) for name in names]),
                strict=False,
            )
        )
        self._legend.body = f"<p class='muted'>{title}</p>{lines}"

    def _majority(self) -> int:
        ensemble = self.session.analysis.ensemble
        return ensemble.n_votes // 2 + 1 if ensemble else 0

    def _click(self, threshold: int) -> None:
        """Set the threshold that was clicked, or say why nothing was set."""
        analysis = self.session.analysis
        if analysis.ensemble is None:
            return
        if threshold == analysis.threshold:
            self._draw_text(analysis.ensemble, threshold, "chosen already")
        elif threshold != self._allowed(threshold):
            here = self.session.derived.get("threshold_in_force").value
            most = whole(analysis.ensemble.n_votes + 1)
            self._draw_text(analysis.ensemble, here, f"click from 0 to {most}")
        else:
            self.session.act_now("set threshold", threshold=threshold)

    def _drag(self, threshold: int) -> None:
        self.session.view_state.threshold_preview = self._allowed(threshold)

    def _allowed(self, threshold: int) -> int | None:
        ensemble = self.session.analysis.ensemble
        if ensemble is None:
            return None
        return min(max(threshold, 0), ensemble.n_votes + 1)

    def _release(self, threshold: int) -> None:
        """Set the threshold once, on release of the line."""
        allowed = self._allowed(threshold)
        with self.session.derived.paused():
            self.session.view_state.threshold_preview = None
            if allowed is not None and allowed != self.session.analysis.threshold:
                self.session.act_now("set threshold", threshold=allowed)

    def _set(self, request: str) -> None:
        """Set the threshold by a rule or by one step, without a pointer."""
        here = self.session.derived.get("threshold_in_force").value
        wanted = {
            "mean": None,
            "majority": self._majority(),
            "less": self._allowed(here - 1),
            "more": self._allowed(here + 1),
        }[request]
        if wanted != self.session.analysis.threshold:
            self.session.act_now("set threshold", threshold=wanted)
