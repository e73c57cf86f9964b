"""Map of samples: points aggregated to pixels, with marks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from bokeh.core.properties import value
from bokeh.models import (
    BoxSelectTool,
    ColumnDataSource,
    LassoSelectTool,
    Scatter,
    Segment,
    Text,
)

from clusterlens.ui.figures.frame import ON_A_GROUND, RINGED, View
from clusterlens.ui.figures.map_frame import MapFrame
from clusterlens.ui.widgets.palette import LINK_COLOURS, PAIR_COLOUR
from clusterlens.ui.widgets.style import FONT

# Largest distance of a click from a sample, and largest number of legend entries.
CLICK_PIXELS = 10
LEGEND_ENTRIES = 14
LINK_STROKES = {"must": "solid", "cannot": "dashed"}
_CONTRADICTS = {"line_width": 14, "line_color": PAIR_COLOUR, "line_alpha": 0.4}
_CASING = {"line_color": "#ffffff", "line_alpha": 0.8}


def inside(xy: np.ndarray, outline: np.ndarray) -> np.ndarray:
    """Return whether points lie inside an outline, by the even-odd rule.

    Parameters
    ----------
    xy : array of float, shape (n_samples, 2)
        Points.
    outline : array of float, shape (n_corners, 2)
        Corners in order; the last one is joined to the first.

    Returns
    -------
    inside : array of bool, shape (n_samples,)
        O(n_candidates n_corners) time, candidates being the points in its bounding box.
    """
    odd = np.zeros(len(xy), bool)
    low, high = outline.min(axis=0), outline.max(axis=0)
    candidates = np.flatnonzero(((xy >= low) & (xy <= high)).all(axis=1))
    x, y = xy[candidates].T
    crossings = np.zeros(len(candidates), bool)
    for (x0, y0), (x1, y1) in zip(outline, np.roll(outline, -1, axis=0), strict=True):
        if y0 != y1:
            spans = (y0 > y) != (y1 > y)
            crossings ^= spans & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
    odd[candidates] = crossings
    return odd


class MapFigure(MapFrame):
    """Map with rings around samples and links between them.

    Parameters
    ----------
    on_change : callable
        As for `Frame`.
    tapped : callable
        Called with the place of a click and the data units of a pixel.
    boxed : callable
        Called with the x and y range of a dragged box.
    lassoed : callable
        Called with the outline of a lasso, shape (n, 2).
    beside : MapFigure, optional
        Another map with the same ranges.
    """

    def __init__(
        self,
        on_change: Callable[..., None],
        tapped: Callable[[float, float, float], None],
        boxed: Callable[[View], None],
        lassoed: Callable[[np.ndarray], None],
        beside: MapFigure | None = None,
    ) -> None:
        super().__init__(
            on_change,
            beside=beside,
            css="cl-map-figure",
            tools=["box_zoom", BoxSelectTool(), LassoSelectTool(), "tap", "save"],
        )
        self._rings = ColumnDataSource({"x": [], "y": [], "letter": []})
        self._links = {
            kind: ColumnDataSource({"x0": [], "y0": [], "x1": [], "y1": []})
            for kind in LINK_STROKES
        }
        self._chain = ColumnDataSource({"x0": [], "y0": [], "x1": [], "y1": []})
        self._broken = ColumnDataSource({"x": [], "y": []})
        self._numbers = ColumnDataSource({"x": [], "y": [], "text": []})
        self._draw()
        (self.figure.toolbar.active_drag,) = self.tools(BoxSelectTool)
        self.on_click(lambda x, y: tapped(x, y, self.pixel()))
        self.on_box(boxed)
        self.on_lasso(lassoed)

    def _draw(self) -> None:
        self.draw(
            self._numbers,
            Text(
                x="x",
                y="y",
                text="text",
                text_align="center",
                text_baseline="middle",
                text_font_size="14px",
                **ON_A_GROUND,
            ),
        )
        ends = {"x0": "x0", "y0": "y0", "x1": "x1", "y1": "y1"}
        self.draw(self._chain, Segment(**ends, **_CONTRADICTS))
        for kind, dash in LINK_STROKES.items():
            source, colour = self._links[kind], LINK_COLOURS[kind]
            self.draw(source, Segment(**ends, line_width=6, **_CASING))
            self.draw(
                source, Segment(**ends, line_width=3, line_color=colour, line_dash=dash)
            )
        self.draw(
            self._broken,
            Scatter(
                x="x",
                y="y",
                marker="circle_x",
                size=15,
                line_width=2,
                fill_color="#c2570c",
                line_color="#ffffff",
            ),
        )
        self.draw(self._rings, Scatter(x="x", y="y", **RINGED))
        self.draw(
            self._rings,
            Text(
                x="x",
                y="y",
                text="letter",
                x_offset=10,
                y_offset=-7,
                text_font=value(FONT),
                text_font_style="bold",
                text_font_size="16px",
                text_color="#14181d",
                text_outline_color="#ffffff",
            ),
        )

    def ring(self, places: np.ndarray, letters: Sequence[str]) -> None:
        """Mark samples, places of shape (n, 2), each with a letter or nothing."""
        data = {"x": places[:, 0], "y": places[:, 1], "letter": list(letters)}
        self.fill(self._rings, data)

    def link(self, must: np.ndarray, cannot: np.ndarray, broken: np.ndarray) -> None:
        """Draw links, and mark broken ones; each of shape (n_links, 2 ends, 2)."""
        for kind, ends in (("must", must), ("cannot", cannot)):
            self.fill(self._links[kind], _segments(ends))
        x, y = broken.mean(axis=1).T
        self.fill(self._broken, {"x": x, "y": y})

    def contradict(self, ends: np.ndarray) -> None:
        """Highlight links that contradict each other, shape (n_links, 2 ends, 2)."""
        self.fill(self._chain, _segments(ends))

    def number(self, places: np.ndarray, texts: Sequence[str]) -> None:
        """Write the number of each cluster at its place, shape (n, 2)."""
        data = {"x": places[:, 0], "y": places[:, 1], "text": list(texts)}
        self.fill(self._numbers, data)


def _segments(ends: np.ndarray) -> dict[str, np.ndarray]:
    """Return columns of lines between ends, shape (n_lines, 2 ends, 2)."""
    (x0, x1), (y0, y1) = ends[..., 0].T, ends[..., 1].T
    return {"x0": x0, "y0": y0, "x1": x1, "y1": y1}
