"""Map of two classes: their samples, their means, their densities at the edge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, Patches, Scatter

from clusterlens.ui.figures.frame import View
from clusterlens.ui.figures.map_frame import MapFrame


class PairMap(MapFrame):
    """Two classes on a plane through both means.

    Parameters
    ----------
    on_change : callable
        As for `Frame`.
    """

    def __init__(self, on_change: Callable[..., None]) -> None:
        super().__init__(
            on_change,
            css="cl-pair-figure",
            tools=["box_zoom", "save"],
        )
        self._means = ColumnDataSource({"x": [], "y": [], "colour": []})
        self._curves = ColumnDataSource({"xs": [], "ys": [], "colour": []})
        # Without an outline, which would draw a line even at density 0.
        self.draw(
            self._curves,
            Patches(
                xs="xs", ys="ys", fill_color="colour", line_color=None, fill_alpha=0.35
            ),
        ).level = "underlay"
        for width, colour in ((7, "#ffffff"), (4, "colour")):
            self.draw(
                self._means,
                Scatter(
                    x="x",
                    y="y",
                    marker="cross",
                    size=22,
                    line_width=width,
                    line_color=colour,
                ),
            )

    def mark(
        self,
        means: np.ndarray,
        heights: np.ndarray,
        densities: np.ndarray,
        edge: View,
        colours: tuple[str, str],
    ) -> None:
        """Mark the means (2, 2), and draw densities (2, n) between x of the edge."""
        (left, right), _ = edge
        curves: dict[str, Any] = {
            "xs": [
                np.concatenate([left + (right - left) * curve, [left, left]])
                for curve in densities
            ],
            "ys": [np.concatenate([heights, heights[[-1, 0]]])] * 2,
            "colour": list(colours),
        }
        places = {"x": means[:, 0], "y": means[:, 1], "colour": list(colours)}

        def change() -> None:
            self._curves.data, self._means.data = curves, places

        self.put(change)
