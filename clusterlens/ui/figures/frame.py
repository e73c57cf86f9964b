"""The frame of every figure: a Bokeh figure that fills its card and reports its view.

A figure tells in one call what it shows, once its size or its ranges have come to rest
for a moment; whoever is told computes the pixels and hands them back as data.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import panel as pn
from bokeh.core.property.descriptors import UnsetValueError
from bokeh.events import DoubleTap, Press, Tap
from bokeh.models import ColumnDataSource, CustomJS, Range1d
from bokeh.models.tools import SelectTool
from bokeh.plotting import figure

View = tuple[tuple[float, float], tuple[float, float]]
_REST_SECONDS = 0.03
# Bokeh takes a click for the second half of a double one if another, anywhere, was less
# than 0.3 s before it, and for a press if it is held for longer than that.
_CLICKS = (Tap, DoubleTap, Press)
# Bokeh's own are white in every theme.
_TOOLBAR_CSS = """:host(.bk-inner) {
  background-color: var(--panel-surface-color);
  --bokeh-icon-color: var(--panel-on-surface-color); }"""
# Another theme colours the labels of axes anew and forgets where they stand; they are
# laid out again when all is in place, whenever that is in a slow browser.
_LAY_OUT_AGAIN = """
  const lay = () => Bokeh.index.find_one(figure)?.invalidate_layout();
  for (const wait of [500, 2000, 5000])
    setTimeout(() => requestIdleCallback(lay), wait);
"""


def no_image() -> ColumnDataSource:
    """Return the source of an image that is not there yet."""
    return ColumnDataSource({"image": [], "x": [], "y": [], "dw": [], "dh": []})


def _equal(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether columns are the same, those of arrays of arrays included."""
    return one.keys() == other.keys() and all(
        _same(one[name], other[name]) for name in one
    )


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return len(one) == len(other) and all(map(np.array_equal, one, other))


class Frame:
    """A figure without axes by default, with zoom and pan, made once.

    Parameters
    ----------
    told : callable
        Called with (view, width, height) when the size or the ranges have changed;
        the view is None where the figure shows everything.
    css : str
        Class of its pane.
    tools : list
        Tools beside pan, wheel zoom and reset.
    beside : Frame, optional
        Another figure, whose ranges it has.
    options
        Of `bokeh.plotting.figure`.
    """

    def __init__(
        self,
        told: Callable[[View | None, int, int], None],
        *,
        css: str,
        tools: list[Any],
        beside: Frame | None = None,
        **options: Any,
    ) -> None:
        self._told = told
        # The whole that is shown, and the one that will be in the document's turn.
        self._whole: View = ((0.0, 1.0), (0.0, 1.0))
        self._next_whole = self._whole
        self._task: asyncio.Task[None] | None = None
        self._document = pn.state.curdoc
        self._changes: list[Callable[[], None]] = []
        self.figure = figure(
            x_range=beside.figure.x_range if beside else Range1d(0, 1),
            y_range=beside.figure.y_range if beside else Range1d(0, 1),
            tools=["pan", "wheel_zoom", "reset", *tools],
            active_scroll="wheel_zoom",
            sizing_mode="stretch_both",
            min_border=0,
            **options,
        )
        # Bokeh reports the end of a wheel zoom after this many milliseconds.
        self.figure.lod_timeout = 50
        self.figure.toolbar.logo = None
        self.figure.update(
            border_fill_alpha=0,
            background_fill_alpha=0,
            outline_line_color=None,
        )
        # Clicks and boxes are told; else glyphs beside the one that is hit would fade.
        for tool in self.figure.select({"type": SelectTool}):
            tool.renderers = []
        # Tools lie over the picture and show when it is pointed at.
        self.figure.toolbar_inner = True
        self.figure.toolbar.autohide = True
        self.figure.toolbar.stylesheets = [_TOOLBAR_CSS]
        self.figure.grid.visible = False
        ranges = (self.figure.x_range, self.figure.y_range)
        for size in ("inner_width", "inner_height"):
            self.figure.on_change(size, self._changed)
        for axis in ranges:
            for end in ("start", "end"):
                axis.on_change(end, self._changed)
        self.pane = pn.pane.Bokeh(
            self.figure,
            sizing_mode="stretch_both",
            margin=0,
            min_height=60,
            css_classes=[css],
        )

    def show_axes(self, *, visible: bool = True) -> None:
        """Draw axes lightly; another theme leaves them where they are."""
        laid_out = CustomJS(args={"figure": self.figure}, code=_LAY_OUT_AGAIN)
        for axis in (*self.figure.xaxis, *self.figure.yaxis):
            axis.update(
                visible=visible,
                axis_line_alpha=0.4,
                major_tick_in=0,
                major_tick_out=3,
                minor_tick_out=0,
                axis_label_text_font_style="normal",
            )
            axis.js_on_change("major_label_text_color", laid_out)

    def show_whole(self, view: View) -> None:
        """Let another whole be the one that reset goes back to, and show it."""
        if view != self._next_whole or view != self.view():
            self._next_whole = view
            self.put(lambda: self._set_ranges(view))

    def _set_ranges(self, view: View) -> None:
        self._whole = view
        for axis, (start, end) in zip(
            (self.figure.x_range, self.figure.y_range), view, strict=True
        ):
            axis.update(start=start, end=end, reset_start=start, reset_end=end)

    def on_click(self, told: Callable[[float, float], None]) -> None:
        """Call with the place of every click, quick and held ones included."""
        for kind in _CLICKS:
            self.figure.on_event(kind, lambda event: told(event.x, event.y))

    def put(self, change: Callable[[], None]) -> None:
        """Change models of the figure, in the document's turn where there is one."""
        if self._document is None or self._document.session_context is None:
            change()
            return
        self._changes.append(change)
        if len(self._changes) == 1:
            self._document.add_next_tick_callback(self._make_changes)

    def fill(self, source: ColumnDataSource, data: Mapping[str, Any]) -> None:
        """Let a source hold these columns; what it holds already is not sent again."""

        def change() -> None:
            if not _equal(source.data, data):
                source.data = dict(data)

        self.put(change)

    def _make_changes(self) -> None:
        """Make all that has gathered since the last turn, as one message."""
        changes, self._changes = self._changes, []
        with pn.io.unlocked():
            for change in changes:
                change()

    def _changed(self, attribute: str, old: Any, new: Any) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._tell())

    async def _tell(self) -> None:
        await asyncio.sleep(_REST_SECONDS)
        self._task = None
        width, height = self.size()
        if width and height:
            view = self.view()
            self._told(None if view == self._whole else view, width, height)

    def size(self) -> tuple[int, int]:
        """Width and height in pixels, 0 before the browser has laid it out."""
        try:
            return self.figure.inner_width, self.figure.inner_height
        except UnsetValueError:
            return 0, 0

    def view(self) -> View:
        """The ranges in view, ascending."""
        x, y = self.figure.x_range, self.figure.y_range
        return (
            (min(x.start, x.end), max(x.start, x.end)),
            (min(y.start, y.end), max(y.start, y.end)),
        )


class PictureFrame(Frame):
    """A frame around one picture, `self._image`, that fills it."""

    _image: ColumnDataSource

    def show(self, pixels: np.ndarray, view: View) -> None:
        """Show a picture of what is in view."""
        (x0, x1), (y0, y1) = view
        data = {"image": [pixels], "x": [x0], "y": [y0], "dw": [x1 - x0]}
        data["dh"] = [y1 - y0]
        self.fill(self._image, data)

    def pixel(self) -> float:
        """Data units of a pixel."""
        (x0, x1), _ = self.view()
        return (x1 - x0) / max(self.size()[0], 1)
