"""Map of new rows over old ones, with crosses for rows that belong nowhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from bokeh.models import ColumnDataSource, Scatter

from clusterlens.ui.figures.frame import RINGED
from clusterlens.ui.figures.map_frame import MapFrame


class NewRowsFigure(MapFrame):
    """Points, crosses, and a ring around the selected row.

    Parameters
    ----------
    on_change : callable
        As for `Frame`.
    tapped : callable
        Called with the place of a click and the data units of a pixel.
    """

    def __init__(
        self,
        on_change: Callable[..., None],
        tapped: Callable[[float, float, float], None],
    ) -> None:
        super().__init__(
            on_change,
            css="cl-new-rows-figure",
            tools=["box_zoom", "tap", "save"],
        )
        self._crosses = ColumnDataSource({"x": [], "y": []})
        self._ring = ColumnDataSource({"x": [], "y": []})
        # A pale casing makes a cross visible on points and on a dark card.
        for width, colour in ((4.5, "#ffffff"), (2, "#14181d")):
            self.draw(
                self._crosses,
                Scatter(
                    x="x",
                    y="y",
                    marker="x",
                    size=9,
                    line_width=width,
                    line_color=colour,
                ),
            )
        self.draw(self._ring, Scatter(x="x", y="y", **RINGED))
        self.on_click(lambda x, y: tapped(x, y, self.pixel()))

    def mark(self, crosses: np.ndarray, ring: np.ndarray) -> None:
        """Draw crosses and rings at places of shape (n, 2)."""
        self.fill(self._crosses, {"x": crosses[:, 0], "y": crosses[:, 1]})
        self.fill(self._ring, {"x": ring[:, 0], "y": ring[:, 1]})
