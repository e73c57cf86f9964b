"""The map of samples: as many points as there are, drawn pixel by pixel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from bokeh.events import SelectionGeometry
from bokeh.models import BoxSelectTool, ColumnDataSource, LassoSelectTool

from clusterlens.ui.figures.frame import PictureFrame, View, no_image
from clusterlens.ui.look import Viewport
from clusterlens.ui.palette import LINK_COLOURS, PAIR_COLOUR

# How near to a sample a click must be, and how many clusters a legend names.
CLICK_PIXELS = 10
LEGEND_ENTRIES = 14
_ROOM = 1.06
_FADED = (150, 155, 163)
LINK_STROKES = (("solid", LINK_COLOURS["must"]), ("dashed", LINK_COLOURS["cannot"]))
_CONTRADICTS = {"line_width": 14, "line_color": PAIR_COLOUR, "line_alpha": 0.4}
_CASING = {"line_color": "#ffffff", "line_alpha": 0.8}


def map_view(xy: np.ndarray, port: Viewport) -> View:
    """Return x and y ranges of equal scale: of all points, or of what is zoomed to.

    Parameters
    ----------
    xy : array of float, shape (n_samples, 2)
        Coordinates.
    port : Viewport
        Size of the figure, and what it was zoomed to, if it was.
    """
    if port.x is None or port.y is None:
        low, high = xy.min(axis=0), xy.max(axis=0)
        room = _ROOM
    else:
        low, high = np.array([port.x, port.y]).T
        room = 1.0
    size = np.array([max(port.width, 1), max(port.height, 1)])
    unit = max(float(np.max((high - low) / size)), 1e-12) * room
    centre, half = (low + high) / 2, unit * size / 2
    x, y = ((float(c - h), float(c + h)) for c, h in zip(centre, half, strict=True))
    return x, y


def draw_samples(
    xy: np.ndarray,
    colours: np.ndarray,
    view: View,
    *,
    size: tuple[int, int],
    lit: np.ndarray | None = None,
    keep_hue: bool = False,
    triangles: np.ndarray | None = None,
) -> np.ndarray:
    """Draw the samples as points; where some are lit the others fade.

    Parameters
    ----------
    xy : array of float, shape (n_samples, 2)
        Coordinates.
    colours : array of uint8, shape (n_samples, 3)
        Colour of each sample; a pixel shows the mean of its samples.
    view : pair of ranges
        x and y range of the frame.
    size : pair of int
        Width and height in pixels.
    lit : array of int, optional
        Positions of samples to light up.
    keep_hue : bool, default False
        Whether those that fade keep their colour.
    triangles : array of bool, shape (n_samples,), optional
        Samples drawn as triangles, where points have a size and none are lit.

    Returns
    -------
    pixels : array of uint32, shape (height, width)
        RGBA, the lowest y first.
    """
    spread = _point_size(len(xy), int(np.sqrt(size[0] * size[1])))
    if lit is None or not len(lit):
        return _points(xy, colours, view, size, spread, triangles=triangles)
    grey = np.broadcast_to(np.uint8(_FADED), colours.shape)
    if keep_hue:
        # What keeps its colour must be seen, also on a small map.
        spread = max(spread, 1)
    pale, alpha = (colours, 110) if keep_hue else (grey, 70)
    faded = _points(xy, pale, view, size, spread, alpha=alpha)
    bright = _points(xy[lit], colours[lit], view, size, spread + 1)
    return np.where(bright > 0, bright, faded)


def _points(
    xy: np.ndarray,
    colours: np.ndarray,
    view: View,
    size: tuple[int, int],
    spread: int,
    alpha: int = 255,
    triangles: np.ndarray | None = None,
) -> np.ndarray:
    """Average the colours of the samples in each pixel, then enlarge the points.

    Where enlarged points overlap, the one further up and right is in front. A pixel is
    a triangle where most of its samples are.
    """
    pixels, at = _pixels(xy, view, size)
    places, of, counts = np.unique(pixels, return_inverse=True, return_counts=True)
    rgba = np.full((len(places), 4), alpha, np.uint8)
    for channel in range(3):
        sums = np.bincount(of, colours[at, channel], len(places))
        rgba[:, channel] = np.rint(sums / counts)
    front = np.full((size[1], size[0]), -1, np.int32)
    rows, columns = np.divmod(places, size[0])
    order = np.arange(len(places), dtype=np.int32)
    forms = [(_disc(spread), order)]
    if triangles is not None and spread:
        mostly = 2 * np.bincount(of, triangles[at], len(places)) > counts
        forms = [
            (_disc(spread), order[~mostly]),
            (_triangle(spread + 1), order[mostly]),
        ]
    for steps, some in forms:
        for up, right in steps:
            y, x = rows[some] + up, columns[some] + right
            seen = (y >= 0) & (y < size[1]) & (x >= 0) & (x < size[0])
            y, x = y[seen], x[seen]
            front[y, x] = np.maximum(front[y, x], some[seen])
    return np.append(rgba.view(np.uint32)[:, 0], np.uint32(0))[front]


def _pixels(
    xy: np.ndarray, view: View, size: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Pixel of each sample in view, row by row, and the positions of these samples."""
    low, high = np.array(view).T
    at = np.flatnonzero(((xy >= low) & (xy <= high)).all(axis=1))
    steps = ((xy[at] - low) / (high - low) * size).astype(np.int64)
    column, row = np.minimum(steps, np.array(size) - 1).T
    return row * size[0] + column, at


def _disc(radius: int) -> np.ndarray:
    """Steps (up, right) to the pixels of a disc, shape (n_pixels, 2)."""
    steps = np.arange(-radius, radius + 1)
    up, right = np.meshgrid(steps, steps)
    inside = up**2 + right**2 <= (radius + 0.5) ** 2
    return np.column_stack([up[inside], right[inside]])


def _triangle(radius: int) -> np.ndarray:
    """Steps (up, right) to the pixels of a triangle that points up, as `_disc`."""
    steps = np.arange(-radius, radius + 1)
    up, right = np.meshgrid(steps, steps)
    inside = 2 * np.abs(right) <= radius + 1 - up
    return np.column_stack([up[inside], right[inside]])


def _point_size(n_samples: int, pixels: int) -> int:
    """Return how far points are spread, so that few are seen and many do not clog."""
    least = 1 if n_samples <= 10 * pixels else 0
    return int(np.clip(round(0.014 * pixels - 0.9 * np.log10(n_samples)), least, 3))


def inside(xy: np.ndarray, outline: np.ndarray) -> np.ndarray:
    """Whether points lie inside an outline, by the even-odd rule.

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


class MapFigure(PictureFrame):
    """The map, with rings around samples and links between them.

    Parameters
    ----------
    told : callable
        Called with (view, width, height) when what it shows has changed.
    tapped : callable
        Called with the place of a click and the data units of a pixel.
    boxed : callable
        Called with the x and y range of a dragged box.
    lassoed : callable
        Called with the outline of a lasso, shape (n, 2).
    beside : MapFigure, optional
        Another map, whose ranges it has.
    """

    def __init__(
        self,
        told: Callable[[View | None, int, int], None],
        tapped: Callable[[float, float, float], None],
        boxed: Callable[[View], None],
        lassoed: Callable[[np.ndarray], None],
        beside: MapFigure | None = None,
    ) -> None:
        super().__init__(
            told,
            beside=beside,
            css="cl-map-figure",
            tools=["box_zoom", BoxSelectTool(), LassoSelectTool(), "tap", "save"],
            toolbar_location="right",
            x_axis_type=None,
            y_axis_type=None,
        )
        self._tapped, self._boxed, self._lassoed = tapped, boxed, lassoed
        self._image = no_image()
        self._rings = ColumnDataSource({"x": [], "y": [], "letter": []})
        self._links = {
            dash: ColumnDataSource({"x0": [], "y0": [], "x1": [], "y1": []})
            for dash in ("solid", "dashed")
        }
        self._chain = ColumnDataSource({"x0": [], "y0": [], "x1": [], "y1": []})
        self._broken = ColumnDataSource({"x": [], "y": []})
        self._numbers = ColumnDataSource({"x": [], "y": [], "text": []})
        self._draw()
        self.figure.toolbar.active_drag = self.figure.select_one(BoxSelectTool)
        self.on_click(self._on_click)
        self.figure.on_event(SelectionGeometry, self._on_selection)

    def _draw(self) -> None:
        self.figure.image_rgba("image", "x", "y", "dw", "dh", source=self._image)
        self.figure.text(
            "x",
            "y",
            "text",
            source=self._numbers,
            text_align="center",
            text_baseline="middle",
            text_font_style="bold",
            text_font_size="15px",
            text_color="#14181d",
            text_outline_color="#ffffff",
        )
        ends = {"x0": "x0", "y0": "y0", "x1": "x1", "y1": "y1"}
        self.figure.segment(**ends, source=self._chain, **_CONTRADICTS)
        for dash, colour in LINK_STROKES:
            source = self._links[dash]
            self.figure.segment(**ends, source=source, line_width=6, **_CASING)
            self.figure.segment(
                **ends, source=source, line_width=3, line_color=colour, line_dash=dash
            )
        self.figure.scatter(
            "x",
            "y",
            source=self._broken,
            marker="circle_x",
            size=15,
            line_width=2,
            fill_color="#c2570c",
            line_color="#ffffff",
        )
        self.figure.scatter(
            "x",
            "y",
            source=self._rings,
            size=15,
            fill_alpha=0,
            line_width=2.5,
            line_color="#777f87",
        )
        self.figure.text(
            "x",
            "y",
            "letter",
            source=self._rings,
            x_offset=10,
            y_offset=-7,
            text_font_style="bold",
            text_font_size="16px",
            text_color="#14181d",
            text_outline_color="#ffffff",
        )

    def ring(self, places: np.ndarray, letters: Sequence[str]) -> None:
        """Mark samples, places of shape (n, 2), each with a letter or nothing."""
        data = {"x": places[:, 0], "y": places[:, 1], "letter": list(letters)}
        self.fill(self._rings, data)

    def link(self, must: np.ndarray, cannot: np.ndarray, broken: np.ndarray) -> None:
        """Draw links, and mark broken ones; each of shape (n_links, 2 ends, 2)."""
        for dash, ends in (("solid", must), ("dashed", cannot)):
            self.fill(self._links[dash], _segments(ends))
        x, y = broken.mean(axis=1).T
        self.fill(self._broken, {"x": x, "y": y})

    def contradict(self, ends: np.ndarray) -> None:
        """Light up links that contradict each other, shape (n_links, 2 ends, 2)."""
        self.fill(self._chain, _segments(ends))

    def number(self, places: np.ndarray, texts: Sequence[str]) -> None:
        """Write the number of each cluster at its place, shape (n, 2)."""
        data = {"x": places[:, 0], "y": places[:, 1], "text": list(texts)}
        self.fill(self._numbers, data)

    def _on_click(self, x: float, y: float) -> None:
        self._tapped(x, y, self.pixel())

    def _on_selection(self, event: Any) -> None:
        shape = event.geometry
        if not event.final:
            return
        if shape["type"] == "rect":
            x = sorted((shape["x0"], shape["x1"]))
            y = sorted((shape["y0"], shape["y1"]))
            self._boxed(((x[0], x[1]), (y[0], y[1])))
        elif shape["type"] == "poly":
            x, y = (_values(shape[axis]) for axis in "xy")
            self._lassoed(np.column_stack([x, y]))


def _segments(ends: np.ndarray) -> dict[str, np.ndarray]:
    """Columns of lines between ends, shape (n_lines, 2 ends, 2)."""
    (x0, x1), (y0, y1) = ends[..., 0].T, ends[..., 1].T
    return {"x0": x0, "y0": y0, "x1": x1, "y1": y1}


def _values(given: Any) -> np.ndarray:
    """Read coordinates that the browser sends as a list or by position."""
    if isinstance(given, dict):
        given = [given[key] for key in sorted(given, key=int)]
    return np.asarray(given, float)
