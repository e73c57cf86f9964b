"""Panel: how the order of the leaders depends on the agreement that is asked for."""

from __future__ import annotations

from typing import Any

import holoviews as hv
import numpy as np

from clusterlens.compute.ranking.ranking import rank_values
from clusterlens.compute.ranking.scores import threshold_scores
from clusterlens.ui import figures
from clusterlens.ui.actions import perform
from clusterlens.ui.kit import SMALL_BUTTON, card, markup, pmu, pn
from clusterlens.ui.log import Action
from clusterlens.ui.session import Session

LEADERS = 3
DASHES = ("solid", "dashed", "dotdash")
SHOWN_RANKS = 20


class Threshold(pn.viewable.Viewer):
    """Rank of the leading models at every threshold, with the line that sets it."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._note = markup()
        self._place = pn.Column(margin=0, sizing_mode="stretch_width")
        self._line: Any = None
        self._reset = pmu.Button(
            label="Mean rule",
            size="small",
            variant="text",
            margin=0,
            sx=SMALL_BUTTON,
            on_click=lambda event: self._set(self.session.run.agreement.threshold),
            css_classes=["cl-threshold-mean"],
        )
        self._majority = pmu.Button(
            label="Majority",
            size="small",
            variant="text",
            margin=0,
            sx=SMALL_BUTTON,
            on_click=lambda event: self._set(self._majority_threshold()),
            css_classes=["cl-threshold-majority"],
        )
        session.param.watch(self._draw, ["run"])
        session.param.watch(self._move, ["threshold"])

    def _majority_threshold(self) -> int:
        return self.session.run.ensemble.n_partitions // 2 + 1

    def _set(self, threshold: int) -> None:
        """Make another threshold the one in force, as an action."""
        allowed = (0, self.session.run.ensemble.n_partitions + 1)
        threshold = int(np.clip(threshold, *allowed))
        if threshold != self.session.threshold:
            action = Action("set threshold", {"threshold": threshold})
            perform(self.session, action)

    def _draw(self, *events: Any) -> None:
        run = self.session.run
        if run is None:
            return
        leaders = run.distinct(self.session.ranking.order)[:LEADERS]
        ranks = rank_values(threshold_scores(run.agreement), False)[leaders]
        names = [run.ensemble.names[t] for t in leaders]
        count = run.ensemble.n_partitions
        mean_rule = run.agreement.threshold
        self._line = None
        lines = (
            hv.VLine(self._majority_threshold()).opts(
                color="#98a0a8", line_dash="dotted", line_width=1
            )
            * hv.VLine(mean_rule).opts(color="#98a0a8", line_width=1)
            * hv.VLine(self.session.threshold).opts(
                color="#0b8a8a", line_width=4, hooks=[self._make_draggable]
            )
        )
        curves = figures.threshold_curves(ranks, names, DASHES[: len(names)])
        picture = (curves * lines).opts(
            hv.opts.Curve(color="#808890", line_width=2),
            hv.opts.Overlay(
                height=150,
                responsive=True,
                xlim=(0, count + 1),
                ylim=(0.5, min(SHOWN_RANKS, count) + 0.5),
                invert_yaxis=True,
                xlabel=f"agreement needed (models of {count})",
                ylabel="rank",
                legend_position="right",
                hooks=[figures.plain_frame],
                toolbar=None,
                show_legend=True,
            ),
        )
        self._place[:] = [
            pn.pane.HoloViews(picture, margin=0, sizing_mode="stretch_width")
        ]
        self._describe()

    def _make_draggable(self, plot: Any, element: Any) -> None:
        """Let the line be dragged; its place is the threshold."""
        self._line = plot.handles["glyph"]
        self._line.editable = True
        self._line.on_change("location", lambda attr, old, new: self._set(round(new)))

    def _move(self, *events: Any) -> None:
        """Show a threshold set elsewhere, and put the line on whole numbers."""
        if self._line is not None and round(self._line.location) != (
            self.session.threshold
        ):
            self._line.location = self.session.threshold
        self._describe()

    def _describe(self) -> None:
        run = self.session.run
        if run is None:
            return
        self._note.object = (
            '<p class="muted">Rank of the leaders at every threshold; drag the line. '
            f"Now {self.session.threshold} (mean rule {run.agreement.threshold}, "
            f"majority {self._majority_threshold()}).</p>"
        )

    def __panel__(self) -> Any:
        return card(
            "Agreement needed",
            self._note,
            self._place,
            css="cl-threshold",
            buttons=[self._reset, self._majority],
        )
