"""Card of the certainty of samples, with the limit for samples between clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterlens.compute.formatting import whole
from clusterlens.ui.components.card import Card
from clusterlens.ui.figures.canvas import CANVAS_CSS, Canvas
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.results.lab import Summary
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import NAME_UNSEEN
from clusterlens.ui.widgets.toolkit import card, pmu

CERTAIN, TORN = "#0b7d7d", "#9db8b8"


class CNSCertainty(Card):
    """Histogram of the share of seed stops at the likeliest seed."""

    needs = ("cns_summary",)
    also = ("view.cns_certain",)

    def build(self) -> Any:
        self._counts = Text(css_classes=["cl-cns-counts"], styles={"flex": "none"})
        self._chart = Text(
            css_classes=["cl-cns-histogram"], stylesheets=[CANVAS_CSS], scrolls=True
        )
        view_state = self.session.view_state
        self._line = self.bound(
            "cns_certain",
            pmu.FloatSlider(
                start=0.3,
                end=1.0,
                step=0.01,
                value=view_state.cns_certain,
                label="Certain from",
                sx=NAME_UNSEEN,
                show_value=False,
                sizing_mode="stretch_width",
                margin=(0, 12),
                css_classes=["cl-cns-certain"],
            ),
        )
        return card(
            "Certainty",
            self._counts,
            self._chart,
            self._line,
            note=self.status,
            css="cl-cns-certainty",
        )

    def show(self, cns_summary: Summary, cns_certain: Result) -> None:
        """Draw the histogram over the range of the slider."""
        between, undecided = cns_summary.between, cns_summary.undecided
        self._counts.body = (
            f"<p class='how'><b title='Undecided: no walk ends at a seed.'>"
            f"{whole(between)} between · {whole(undecided)} undecided.</b> Samples by "
            "the share of their random walks that end at the likeliest seed; the "
            "slider draws the line.</p>"
        )
        self._chart.body = draw_certainty(cns_summary, cns_certain.value)


def draw_certainty(summary: Summary, line: float) -> str:
    """Draw the counts, paler below the line, with the largest bins cut."""
    counts, n_clusters = summary.counts, summary.solution.n_clusters
    low = 1 / n_clusters if n_clusters > 1 else 0.0
    edges = np.linspace(low, 1, len(counts) + 1)
    second = np.sort(counts)[-2] if len(counts) > 1 else counts.max()
    top = max(min(counts.max(), 2.5 * second), 1)
    words = (
        f"{whole(summary.between)} samples between clusters, below {line:.0%}; "
        f"{whole(summary.undecided)} undecided"
    )
    canvas = Canvas((0.3, 1), (0, 1.24 * top), words, padding=(12, 4, 12, 18))
    for left, right, amount in zip(edges, edges[1:], counts.tolist(), strict=False):
        if right <= 0.3:
            continue
        colour = CERTAIN if left >= line - 1e-9 else TORN
        title = f"{whole(amount)} samples from {left:.2f} to {right:.2f}"
        start = max(left, 0.3)
        canvas.box((start, right - 0.004), (0, min(amount, top)), colour, title=title)
        if amount > top:
            at, place = (
                (right, "end") if right > 0.97 else ((start + right) / 2, "middle")
            )
            canvas.text(at, 1.1 * top, whole(amount), place=place, bold=True)
    canvas.line([(line, 0), (line, 1.08 * top)], dash="4 3")
    canvas.ticks([(v, f"{v:g}") for v in (0.4, 0.6, 0.8, 1.0)], -0.03 * top, grid=False)
    return canvas.markup()
