"""Figure of the ranks at every threshold, with the line that sets it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from bokeh.events import Pan
from bokeh.models import (
    ColumnDataSource,
    CustomJS,
    FixedTicker,
    MultiLine,
    Span,
)

from clusterlens.ui.figures.frame import Frame
from clusterlens.ui.plots.threshold import DASHES, SHOWN_RANKS

_RELEASED = """
  if (span._waits) return;
  span._waits = true;
  window.addEventListener("pointerup", () => {
    span._waits = false;
    released.data = {at: [Math.round(span.location)], turn: [Date.now()]};
  }, {once: true, capture: true});
"""


# Bokeh looks for the lower half of an upright line beside it, so that its own drag
# takes the upper half only. A drag that misses the line is an event of the figure.
_DRAGGED = """
  const [low, high] = [figure.x_range.start, figure.x_range.end];
  span.location = Math.min(Math.max(cb_obj.x, low), high);
"""


class ThresholdFigure(Frame):
    """Curves of the leaders with a line that acts once, on release or by a click.

    A drag may begin anywhere.

    Parameters
    ----------
    dragged : callable
        Called with the whole number under the line while it is dragged.
    released : callable
        Called with the number when the line is released.
    clicked : callable
        Called with the number that is closest to a click.
    """

    def __init__(
        self,
        dragged: Callable[[int], None],
        released: Callable[[int], None],
        clicked: Callable[[int], None],
    ) -> None:
        super().__init__(
            lambda **seen: None,
            css="cl-threshold-figure",
            tools=[],
            toolbar_location=None,
            downwards=True,
        )
        self.figure.toolbar.active_scroll = None
        self.figure.toolbar.tools = []
        self._dragged, self._released = dragged, released
        # Changes of the line made here are not drags.
        self._ours = self._in_hand = False
        self._curves = ColumnDataSource({"x": [], "y": [], "dash": []})
        self.draw(
            self._curves,
            MultiLine(
                xs="x", ys="y", line_dash="dash", line_width=1.6, line_color="#6f7882"
            ),
        )
        self._marks = [
            Span(location=0, dimension="height", line_color="#98a0a8", line_dash=dash)
            for dash in ("solid", "dotted")
        ]
        self._line = Span(
            location=0,
            dimension="height",
            line_color="#0b8a8a",
            line_width=5,
            editable=True,
        )
        self._let_go = ColumnDataSource({"at": [0], "turn": [0]})
        self._wire()
        self.on_click(lambda x, y: clicked(round(x)))
        for mark in (*self._marks, self._line):
            self.figure.add_layout(mark)
        self.figure.xaxis.ticker.desired_num_ticks = 3
        self.figure.yaxis.ticker = FixedTicker(ticks=[1, 10, SHOWN_RANKS])
        # Constant width for 1 to 20, because Bokeh leaves parts of labels that move.
        self.figure.min_border_left = 28
        self.show_axes()

    def _wire(self) -> None:
        self._line.on_change("location", self._moved)
        self._line.js_on_change(
            "location",
            CustomJS(
                args={"span": self._line, "released": self._let_go}, code=_RELEASED
            ),
        )
        self.figure.js_on_event(
            Pan,
            CustomJS(args={"span": self._line, "figure": self.figure}, code=_DRAGGED),
        )
        self._let_go.on_change("data", self._ended)

    def _moved(self, attribute: str, old: float, new: float) -> None:
        if not self._ours:
            self._in_hand = True
            self._dragged(round(new))

    def _ended(self, attribute: str, old: Any, new: Any) -> None:
        if self._in_hand:
            self._in_hand = False
            self._released(int(new["at"][0]))

    def show(
        self, ranks: np.ndarray, *, mean: int, majority: int, threshold: int
    ) -> None:
        """Show the ranks of the leaders and the line.

        Parameters
        ----------
        ranks : array of int, shape (n_leaders, n_thresholds)
            Rank of each leader when pairs need 0, 1, ... agreeing models.
        mean, majority, threshold : int
            Thresholds of the mean rule, of a majority and of the line.
        """
        count = ranks.shape[1]
        data = {
            "x": [np.arange(count) for _ in ranks],
            "y": [np.minimum(rank, SHOWN_RANKS + 1) for rank in ranks],
            "dash": list(DASHES)[: len(ranks)],
        }
        lowest = min(SHOWN_RANKS, max(3, int(ranks.max(initial=1)))) + 0.7
        self.follow(((0, count - 1), (0.3, lowest)))
        self.fill(self._curves, data)
        self.put(lambda: self._stand(mean, majority, threshold))

    def _stand(self, mean: int, majority: int, threshold: int) -> None:
        """Place the marks and the line without reporting a drag."""
        self._marks[0].location, self._marks[1].location = mean, majority
        if self._line.location != threshold and not self._in_hand:
            self._ours = True
            self._line.location = threshold
            self._ours = False


def legend(names: Sequence[str]) -> list[tuple[str, str]]:
    """Pair each name with the pattern of its line."""
    return list(zip(names, DASHES, strict=False))
