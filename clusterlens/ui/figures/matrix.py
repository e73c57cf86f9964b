"""The consensus matrix and its binarised form as heatmaps."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import holoviews as hv
import numpy as np
from bokeh.models import (
    BoxSelectTool,
    ColumnDataSource,
    CrosshairTool,
    CustomJSHover,
    HoverTool,
    HSpan,
    Image,
    ImageRGBA,
    Quad,
    Scatter,
    Span,
    Text,
    VSpan,
)

from clusterlens.compute.consensus.tiles import Tile
from clusterlens.compute.formatting import whole
from clusterlens.ui.figures.frame import ON_A_GROUND, View, no_image
from clusterlens.ui.figures.live import LiveFrame
from clusterlens.ui.plots.matrix import empty_matrix
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.widgets.style import ACCENT
from clusterlens.ui.widgets.words import in_models

STRIP = 0.03
GAP = 0.01
MARGIN = STRIP + GAP
# Smallest number of cells side by side that zooming can reach.
LEAST_CELLS = 4
# More spans of selected samples have no outlines, which would hide the matrix.
MOST_OUTLINED = 6
_NAME_OF_POSITION = """
const first = names.data.first_%(axis)s[0], shown = names.data.%(axis)s[0];
const at = Math.floor(value) - first;
if (at < 0 || at >= names.data.count_%(axis)s[0]) return 'outside';
return at < shown.length ? String(shown[at]) : '#' + (Math.floor(value) + 1);
"""

_VALUE_IN_WORDS = """
const {words, n_models} = said.data;
if (Number.isNaN(value)) return words[0][2];
const number = n_models[0]
  ? String(Math.floor(10 * n_models[0] * value + 1e-4) / 10) : (100 * value).toFixed(0);
return words[0][value < 0.5 ? 0 : 1].replace('#', number);
"""
# A cased line, light outside and dark inside, shows over every colour.
_CASING = {"line_color": "#ffffff", "line_width": 3, "line_alpha": 0.7}
_CROSS = {"line_color": "#14181d", "line_width": 1, "line_dash": [4, 3]}
_OUTLINE = {"line_color": "#14181d", "line_width": 1.5}
# With more row ids the tooltip tells the position in the order.
_IDS_A_PIXEL = 2
_SIDES = ("left", "right", "top", "bottom")
_HOVERED = {"line_color": "#777f87", "line_width": 1.5}
# The position of the pointer need not be sent to the server.
_HOVERED |= {"syncable": False, "visible": False}
# The text of a cell is wrapped at so many letters; sizes are in pixels.
_LETTERS, _LETTER, _LINE = 18, 6.5, 15


def _sides(quads: Sequence[tuple[float, ...]]) -> dict[str, list[float]]:
    """Return the columns of rectangles (left, right, top, bottom)."""
    return {side: [quad[k] for quad in quads] for k, side in enumerate(_SIDES)}


def full_view(n: int) -> View:
    """Return the x and y range that show a whole matrix with its strips."""
    return (-MARGIN * n, float(n)), (-MARGIN * n, float(n))


def visible_items(view_range: tuple[float, float], n: int) -> tuple[int, int]:
    """Return the half-open range of positions that a view range shows."""
    low = int(np.clip(np.floor(view_range[0]), 0, n - 1))
    return low, int(np.clip(np.ceil(view_range[1]), low + 1, n))


def cell_pixels(port: Viewport, n: int) -> float:
    """Return the width of a cell on screen, in pixels."""
    low, high = full_view(n)[0] if port.x is None else port.x
    return port.width / (high - low)


@dataclass(frozen=True)
class Reading:
    """Words for the values of a picture, below a half and otherwise.

    Parameters
    ----------
    below, others, none : str
        Words for a value below a half, for other values, and for a missing value. "#"
        is replaced by the value.
    n_models : int
        Number of models shown for the value 1, in tenths; 0 for whole percent.
    """

    below: str
    others: str
    none: str = "no vote on both rows"
    n_models: int = 0

    def of(self, value: float) -> str:
        """Format a value."""
        if math.isnan(value):
            return self.none
        words = self.below if value < 0.5 else self.others
        models = self.n_models
        number = in_models(models * value) if models else f"{100 * value:.0f}"
        return words.replace("#", number)


@dataclass(frozen=True, eq=False)
class Cross:
    """Rows and columns of picked samples, and the text of their cell.

    Parameters
    ----------
    places : tuple of int
        Places of one or two samples in the order of the matrix.
    consensus, binarised : str
        Text of the cell of two samples in either matrix; empty for one sample.
    """

    places: tuple[int, ...] = ()
    consensus: str = ""
    binarised: str = ""


@dataclass(frozen=True, eq=False)
class Heatmap:
    """Tile with its picture; the browser draws each value as one rectangle.

    Parameters
    ----------
    tile : Tile
        Values in [0, 1], first row first.
    n_samples : int
        Size of the whole matrix.
    picture : holoviews.Overlay
        Picture made by `draw_matrix`.
    scale : list of (float, str)
        Ascending shares with their colours.
    reading : Reading
        Words for its values.
    """

    tile: Tile
    n_samples: int
    picture: hv.Overlay
    scale: list[tuple[float, str]]
    reading: Reading


@dataclass(frozen=True, eq=False)
class Edges:
    """Cluster colours and row ids along the edges of a matrix.

    Parameters
    ----------
    view : View
        x and y range of the figure.
    spans : pair of pair of int
        Half-open ranges of positions in view, of rows and of columns.
    pixels : pair of array of uint32
        Colours of the rows and of the columns as RGBA.
    names : pair of list of str
        Row ids of the rows and of the columns; empty if there are more than two for a
        pixel.
    """

    view: View
    spans: tuple[tuple[int, int], tuple[int, int]]
    pixels: tuple[np.ndarray, np.ndarray]
    names: tuple[list[str], list[str]]


def edges(
    colours: np.ndarray,
    row_ids: Sequence[object] | np.ndarray,
    order: np.ndarray,
    port: Viewport,
) -> Edges:
    """Return the cluster colours and row ids along the edges of the view.

    Parameters
    ----------
    colours : array of uint8, shape (n_samples, 3)
        Cluster colour of each sample.
    row_ids : sequence
        Row id of each sample.
    order : array of int, shape (n_samples,)
        The samples from the first row of the matrix to the last.
    port : Viewport
        Ranges and size of the figure.
    """
    n = len(order)
    view = port.zoom or full_view(n)
    spans = (visible_items(view[1], n), visible_items(view[0], n))
    pixels, names = [], []
    for (low, high), most in zip(spans, (port.height, port.width), strict=True):
        seen = order[low:high]
        few = len(seen) <= _IDS_A_PIXEL * most
        names.append([str(row_ids[i]) for i in seen] if few else [])
        if len(seen) > most:
            seen = seen[(np.arange(most) * len(seen)) // most]
        rgba = np.full((len(seen), 4), 255, np.uint8)
        rgba[:, :3] = colours[seen]
        pixels.append(rgba.view(np.uint32)[:, 0])
    return Edges(view, spans, (pixels[0], pixels[1]), (names[0], names[1]))


@dataclass(frozen=True, eq=False)
class SelectedSpans:
    """Selected samples along the edges of the view.

    Parameters
    ----------
    view : View
        x and y range of the figure.
    spans : array of int, shape (n_spans, 2)
        Half-open ranges of positions in the order of the samples, ascending. Ranges
        closer to each other than a pixel count as one.
    n_samples : int
        Number of selected samples, in view or not.
    """

    view: View
    spans: np.ndarray
    n_samples: int


def join_selected(places: np.ndarray, n: int, port: Viewport) -> SelectedSpans:
    """Return the ranges of positions of selected samples.

    Parameters
    ----------
    places : array of int, shape (n_selected,)
        Positions of the selected samples in the order of the matrix.
    n : int
        Number of rows of the matrix.
    port : Viewport
        Ranges and size of the figure.
    """
    view = port.zoom or full_view(n)
    pixel = (view[0][1] - view[0][0]) / port.width
    found = np.sort(places)
    begins = np.flatnonzero(np.diff(found, prepend=-math.inf) > max(1, pixel))
    ends = np.append(begins[1:], len(found))[: len(begins)]
    spans = np.stack([found[begins], found[ends - 1] + 1], 1)
    return SelectedSpans(view, spans, len(found))


class MatrixFigure(LiveFrame):
    """Heatmap with strips of cluster colours, optionally with a partner's ranges.

    Parameters
    ----------
    on_change : callable
        As for `Frame`.
    tapped : callable
        Called with (row, column), positions in the order of the samples.
    brushed : callable
        Called with two half-open ranges of positions, of rows and of columns.
    css : str
        CSS class of its pane.
    partner : MatrixFigure, optional
        Figure with the same ranges.
    """

    tools_beside = True

    def __init__(
        self,
        on_change: Callable[..., None],
        tapped: Callable[[int, int], None],
        brushed: Callable[[tuple[int, int], tuple[int, int]], None],
        *,
        css: str,
        partner: MatrixFigure | None = None,
    ) -> None:
        super().__init__(
            on_change,
            empty_matrix(),
            beside=partner,
            downwards=True,
            css=css,
            tools=["box_zoom", BoxSelectTool(), "tap", "save"],
        )
        self._n = 1
        self._tapped, self._brushed = tapped, brushed
        self._strips = no_image()
        self._rings = ColumnDataSource({"x": [], "y": [], "colour": []})
        self._names = ColumnDataSource(
            {f"{p}{a}": [[]] for p in ("first_", "count_", "") for a in ("row", "col")}
        )
        self._value_words = ColumnDataSource({"words": [], "n_models": []})
        sides: dict[str, list[float]] = {side: [] for side in _SIDES}
        self._selected, self._outlines = (
            ColumnDataSource(sides),
            ColumnDataSource(sides),
        )
        self._count = ColumnDataSource({"x": [], "y": [], "text": []})
        self._cross = ColumnDataSource({"at": []})
        self._cell = ColumnDataSource({"x": [], "y": [], "text": [], "down": []})
        # Shared by both figures, so that both show the same cell.
        self._hovered: tuple[Span, ...] = (
            partner._hovered
            if partner
            else tuple(Span(dimension=axis, **_HOVERED) for axis in ("width", "height"))
        )
        self._draw()
        (self.figure.toolbar.active_drag,) = self.tools(BoxSelectTool)
        self.on_click(self._on_click)
        self.on_box(self._on_box)

    def _draw(self) -> None:
        place = {"x": "x", "y": "y", "dw": "dw", "dh": "dh"}
        self.draw(self._strips, ImageRGBA(image="image", **place))
        sides = {side: side for side in _SIDES}
        self.draw(self._selected, Quad(**sides, fill_color=ACCENT, line_color=None))
        for line in (_CASING, _OUTLINE):
            self.draw(self._outlines, Quad(**sides, fill_alpha=0, **line))
        self.draw(
            self._count,
            Text(
                x="x",
                y="y",
                text="text",
                text_align="right",
                text_font_size="12px",
                **ON_A_GROUND,
            ),
        )
        for line in (_CASING, _CROSS):
            self.draw(self._cross, HSpan(y="at", **line))
            self.draw(self._cross, VSpan(x="at", **line))
        self.draw(
            self._rings,
            Scatter(
                x="x", y="y", size=12, line_width=2.5, line_color="colour", fill_alpha=0
            ),
        )
        self.draw(
            self._cell,
            Text(
                x="x",
                y="y",
                text="text",
                y_offset="down",
                text_align="center",
                text_baseline="middle",
                text_font_size="12px",
                **ON_A_GROUND,
            ),
        )
        self.figure.add_tools(
            CrosshairTool(overlay=self._hovered, visible=False),
            HoverTool(
                renderers=[self.drawn_by(Image)],
                # Beside the pointer it would cover the same cell of the partner.
                attachment="vertical",
                tooltips=[
                    ("row", "$y{custom}"),
                    ("column", "$x{custom}"),
                    ("", "@image{custom}"),
                ],
                formatters={
                    "@image": CustomJSHover(
                        args={"said": self._value_words}, code=_VALUE_IN_WORDS
                    ),
                    **{
                        f"${variable}": CustomJSHover(
                            args={"names": self._names},
                            code=_NAME_OF_POSITION % {"axis": axis},
                        )
                        for variable, axis in (("y", "row"), ("x", "col"))
                    },
                },
            ),
        )

    def _least(self, size: float) -> float:
        """Stop zooming at single cells."""
        return min(size, LEAST_CELLS)

    def _fit(self, view: View) -> View:
        """Keep cells square and the frame filled."""
        low, high = full_view(self._n)[0]
        side = min(max(end - start for start, end in view), high - low)
        x, y = (
            float(np.clip((start + end - side) / 2, low, high - side))
            for start, end in view
        )
        return (x, x + side), (y, y + side)

    def show_matrix(self, picture: Heatmap, port: Viewport) -> None:
        """Show a picture, and set the words for its values."""
        self._n = picture.n_samples
        self.show(picture.picture, full_view(picture.n_samples), port)
        read = picture.reading
        words = [read.below, read.others, read.none]
        columns = {"words": [words], "n_models": [read.n_models]}
        self.fill(self._value_words, columns)

    def show_edges(self, shown: Edges) -> None:
        """Show cluster colours along the edges, and send the row ids to the browser."""
        ((x0, x1), (y0, y1)), ((r0, r1), (c0, c1)) = shown.view, shown.spans
        rows, columns = shown.pixels
        strips = {
            "image": [rows[:, None], columns[None, :]],
            "x": [x0, c0],
            "y": [r0, y0],
            "dw": [STRIP * (x1 - x0), c1 - c0],
            "dh": [r1 - r0, STRIP * (y1 - y0)],
        }
        names: dict[str, list[Any]] = {}
        for axis, span, ids in zip(
            ("row", "col"), shown.spans, shown.names, strict=True
        ):
            names |= {
                axis: [ids],
                f"first_{axis}": [span[0]],
                f"count_{axis}": [span[1] - span[0]],
            }
        self.fill(self._strips, strips)
        self.fill(self._names, names)

    def show_selected(self, shown: SelectedSpans) -> None:
        """Mark selected samples along the edges, their blocks and their number."""
        (x0, x1), (y0, y1) = shown.view
        left, top = x0 + STRIP * (x1 - x0), y0 + STRIP * (y1 - y0)
        beside, below = left + GAP * (x1 - x0), top + GAP * (y1 - y0)
        spans = shown.spans.tolist()
        few = spans if len(spans) <= MOST_OUTLINED else []
        bars = [(left, beside, *span) for span in spans]
        bars += [(*span, top, below) for span in spans]
        self.fill(self._selected, _sides(bars))
        self.fill(self._outlines, _sides([(*a, *b) for a in few for b in few]))
        count: dict[str, list[Any]] = {"x": [], "y": [], "text": []}
        if spans:
            start, end = max(spans, key=lambda span: span[1] - span[0])
            count["x"] = [float(np.clip(end, x0, x1))]
            # Above the largest block, or in its corner at the edge of the view.
            count["y"] = [float(np.clip(start, top + 0.09 * (y1 - y0), y1))]
            count["text"] = [f"{whole(shown.n_samples)} selected"]
        self.fill(self._count, count)

    def mark(self, cells: Sequence[tuple[int, int]], colours: Sequence[str]) -> None:
        """Ring cells (row, column), given as positions in the order of the samples."""
        data = {
            "x": [column + 0.5 for _, column in cells],
            "y": [row + 0.5 for row, _ in cells],
            "colour": list(colours),
        }
        self.fill(self._rings, data)

    def hint(self, shown: bool) -> None:
        """Switch lines on or off that follow the pointer, over the partner, too."""

        def change() -> None:
            for span in self._hovered:
                if span.visible != shown:
                    span.visible = shown

        self.put(change)

    def cross(self, places: Sequence[int], words: str, port: Viewport) -> None:
        """Draw the row and the column of each place, with the text of their cell."""
        self.fill(self._cross, {"at": [place + 0.5 for place in places]})
        cell: dict[str, list[Any]] = {"x": [], "y": [], "text": [], "down": []}
        if words and port.drawn:
            (x0, x1), (y0, y1) = port.zoom or full_view(self._n)
            lines = textwrap.wrap(words, _LETTERS)
            half = _LETTER * max(map(len, lines)) / 2 + 4
            first, second = places
            # The text is at the pair's cell above the diagonal, if that is in view.
            x, y = max(first, second) + 0.5, min(first, second) + 0.5
            if not (x0 < x < x1 and y0 < y < y1):
                x, y = y, x
            margin = min(half / port.width, 0.5) * (x1 - x0)
            down = len(lines) * _LINE / 2 + 11
            above = (y - y0) / (y1 - y0) * port.height > 2 * down
            if x0 < x < x1:
                cell["x"] = [float(np.clip(x, x0 + margin, x1 - margin))]
                cell["y"], cell["text"] = [y], ["\n".join(lines)]
                cell["down"] = [-down if above else down]
        self.fill(self._cell, cell)

    def _on_click(self, x: float, y: float) -> None:
        row, column = int(np.floor(y)), int(np.floor(x))
        if 0 <= row < self._n and 0 <= column < self._n:
            self._tapped(row, column)

    def _on_box(self, box: View) -> None:
        columns, rows = box
        self._brushed(visible_items(rows, self._n), visible_items(columns, self._n))
