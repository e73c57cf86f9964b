"""Base class of every figure: a Bokeh figure that fills its card and reports its view.

A figure reports its size and ranges in one call, shortly after they have changed. The
receiver computes the pixels and returns them as data.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import panel as pn
from bokeh.core.properties import value
from bokeh.core.property.descriptors import UnsetValueError
from bokeh.events import DoubleTap, Press, RangesUpdate, Tap
from bokeh.models import (
    ColumnDataSource,
    CustomJS,
    Glyph,
    GlyphRenderer,
    Range1d,
)
from bokeh.models.tools import SelectTool, Tool, WheelZoomTool
from bokeh.plotting import figure as Figure

from clusterlens.ui.plots.samples import View
from clusterlens.ui.widgets.style import FONT

_DEBOUNCE_SECONDS = 0.03
# Numbers and letters have a background of their own, legible in the dark theme, too.
ON_A_GROUND = {
    "text_font": value(FONT),
    "text_font_style": "bold",
    "text_color": "#14181d",
    "background_fill_color": "#ffffff",
    "background_fill_alpha": 0.82,
    "padding": 2,
    "border_radius": 4,
}
# A ring around a clicked sample.
RINGED = {"size": 15, "fill_alpha": 0, "line_width": 2.5, "line_color": "#777f87"}
# Smallest part of an axis that zooming can reach.
_DEPTH = 1e-4
# Bokeh reports a click as the second half of a double click if another one, anywhere,
# came less than 0.3 s before, and as a press if it is held longer than that.
_CLICKS = (Tap, DoubleTap, Press)
# Bokeh's own colours are white in every theme.
_TOOLBAR_CSS = """:host { --bokeh-icon-color: var(--panel-on-surface-color); }
:host(.bk-inner) { background-color: var(--panel-surface-color); }"""
# Pixels of a bar of tools, from side to side.
TOOLS_WIDTH = 30
# Bokeh clears the first row and column of a canvas by half only, so nothing is drawn
# there.
BORDER = 1
# A change of theme recolours the labels of axes, and Bokeh forgets their places. They
# are laid out again when the browser is idle, several times because it may be slow.
_LAY_OUT_AGAIN = """
  const lay = () => Bokeh.index.find_one(figure)?.invalidate_layout();
  for (const wait of [500, 2000, 5000])
    setTimeout(() => requestIdleCallback(lay), wait);
"""
# The server and the user both set ranges, and their messages may cross. The browser
# therefore reports its ranges after it has applied the server's.
_SAY_RANGES = """
  const [times, ...said] = figure.tags, {x_range: x, y_range: y} = figure;
  if (!said.length) figure.tags = [times, x.start, x.end, y.start, y.end];
"""


def no_image() -> ColumnDataSource:
    """Return the source of an image before there is a picture."""
    return ColumnDataSource({"image": [], "x": [], "y": [], "dw": [], "dh": []})


def _equal(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether columns are equal, including arrays of arrays."""
    return one.keys() == other.keys() and all(
        _same(one[name], other[name]) for name in one
    )


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return len(one) == len(other) and all(map(np.array_equal, one, other))


def _alike(one: View, other: View) -> bool:
    """Return whether two views are equal on screen."""
    a, b = np.array(one), np.array(other)
    sizes = np.ptp(b, axis=1, keepdims=True)
    return bool((np.abs(a - b) <= 1e-6 * sizes).all())


class Frame:
    """A figure without axes by default, with zoom and pan, made once.

    The user moves its ranges. A later picture changes them only if the zoom or the
    whole has changed by then.

    Parameters
    ----------
    on_change : callable
        Called with changed fields of a `Viewport`: width and height, and x and y once
        the whole range is known.
    css : str
        CSS class of its pane.
    tools : list
        Tools beside pan, wheel zoom and reset.
    beside : Frame, optional
        Another figure, which shares its ranges and reports them.
    downwards : bool, default False
        Whether the lowest y is at the top.
    options
        Options of the figure.
    """

    # Whether it always shows the whole, with axes at the left and the bottom.
    still = False
    # Whether its tools lie beside the picture, in a strip of TOOLS_WIDTH.
    tools_beside = False

    def __init__(
        self,
        on_change: Callable[..., None],
        *,
        css: str,
        tools: list[Any],
        beside: Frame | None = None,
        downwards: bool = False,
        **options: Any,
    ) -> None:
        self._on_change = on_change
        self._beside = beside
        self._downwards = downwards
        # The whole range, and the visible part of it; None for all.
        self._whole: View | None = None
        self._zoom: View | None = None
        # Whether ranges have yet to be set, and whether the user is moving them.
        self._waits = self._in_hand = False
        # How often the server set the ranges, and their last values.
        self._times_set = 0
        self._last_set: list[float] = []
        self._task: asyncio.Task[None] | None = None
        self._document = pn.state.curdoc
        self._clicked: list[Callable[[float, float], None]] = []
        self._changes: list[Callable[[], None]] = []
        self.figure: Figure = self._make(
            ["pan", "wheel_zoom", "reset", *tools],
            x_range=beside.figure.x_range if beside else Range1d(0, 1),
            y_range=beside.figure.y_range if beside else Range1d(0, 1),
            sizing_mode="stretch_both",
            min_border=BORDER,
            **options,
        )
        (self.figure.toolbar.active_scroll,) = self.tools(WheelZoomTool)
        # Bokeh reports the end of a wheel zoom after this many milliseconds.
        self.figure.lod_timeout = 50
        self.figure.toolbar.logo = None
        self.figure.update(
            border_fill_alpha=0,
            background_fill_alpha=0,
            outline_line_color=None,
        )
        # Clicks and boxes are events. Without this, glyphs beside a selected one would
        # fade.
        for tool in self.tools(SelectTool):
            tool.renderers = []
        # Tools appear when the pointer is on the picture, over it or right beside it.
        self.figure.toolbar_inner = not self.tools_beside
        self.figure.toolbar.autohide = True
        self.figure.toolbar.stylesheets = [_TOOLBAR_CSS]
        self.figure.grid.visible = False
        if beside is None:
            self._watch()
        self.pane = self._wrap(
            sizing_mode="stretch_both",
            margin=0,
            min_height=60,
            css_classes=[css],
        )

    def _make(self, tools: list[Any], **options: Any) -> Figure:
        """Return the figure with the given tools."""
        return Figure(tools=tools, **options)

    def _wrap(self, **options: Any) -> Any:
        """Return the pane of the figure."""
        return pn.pane.Bokeh(self.figure, **options)

    def _watch(self) -> None:
        """Subscribe to changes of the size, and to movements and ends of ranges."""

        def resized(attribute: str, old: Any, new: Any) -> None:
            self._changed(in_hand=False)

        def moved(attribute: str, old: Any, new: Any) -> None:
            self._changed(in_hand=True)

        for size in ("inner_width", "inner_height"):
            self.figure.on_change(size, resized)
        for axis in (self.figure.x_range, self.figure.y_range):
            for end in ("start", "end"):
                axis.on_change(end, moved)
        self.figure.on_event(RangesUpdate, lambda event: self._changed(in_hand=False))
        report_ranges = CustomJS(args={"figure": self.figure}, code=_SAY_RANGES)
        self.figure.js_on_change("tags", report_ranges)
        self.figure.on_change("tags", self._settle)

    def _set(self, ends: Sequence[float]) -> None:
        """Set start and end of x and y, and let the browser report its ranges."""
        axes = (self.figure.x_range, self.figure.y_range)
        for axis, start, end in zip(axes, ends[::2], ends[1::2], strict=True):
            axis.update(start=start, end=end)
        self._times_set += 1
        self._last_set = list(ends)
        self.figure.tags = [self._times_set]

    def _settle(self, attribute: str, old: Any, new: Any) -> None:
        """Reconcile the ranges of the browser with those held here, on its report.

        They differ if the user moved the ranges while a message was on its way; the
        user's ranges win.
        """
        times, *shown = new
        x, y = self.figure.x_range, self.figure.y_range
        held = [x.start, x.end, y.start, y.end]
        last = shown and times == self._times_set and np.isfinite(shown).all()
        if last and shown != held:
            by_hand = held != self._last_set

            def change() -> None:
                self._set(shown)
                if by_hand:
                    self._set(held)

            self.put(change)
            self._changed(in_hand=False)

    def tools(self, kind: type[Tool]) -> list[Tool]:
        """Return the tools of a kind."""
        return [tool for tool in self.figure.toolbar.tools if isinstance(tool, kind)]

    def draw(self, source: ColumnDataSource, glyph: Glyph) -> GlyphRenderer:
        """Draw marks of a source; none is selected or muted, so one glyph suffices."""
        return self.figure.add_glyph(
            source, glyph, nonselection_glyph=None, muted_glyph=None
        )

    def show_axes(self, *, visible: bool = True) -> None:
        """Draw axes lightly; keep their places in another theme."""
        laid_out = CustomJS(args={"figure": self.figure}, code=_LAY_OUT_AGAIN)
        for axis in (*self.figure.xaxis, *self.figure.yaxis):
            axis.update(
                visible=visible,
                axis_line_alpha=0.4,
                major_tick_in=0,
                major_tick_out=3,
                minor_tick_out=0,
                axis_label_text_font_style="normal",
                axis_label_text_font=FONT,
                major_label_text_font=FONT,
            )
            axis.js_on_change("major_label_text_color", laid_out)

    def follow(self, whole: View, zoom: View | None = None) -> None:
        """Set the whole range, for reset, and show a part of it or all."""
        if self._beside is not None:
            self._beside.follow(whole, zoom)
        elif (whole, zoom) != (self._whole, self._zoom):
            self._waits |= zoom is None or zoom != self._zoom
            self._whole, self._zoom = whole, zoom
            self.put(lambda: self._place(whole))

    def _place(self, whole: View) -> None:
        """Set the limits of the ranges, and the ranges themselves if they are due."""
        if self._waits:
            self._set(np.ravel(self._turned(self._zoom or whole)).tolist())
        axes = (self.figure.x_range, self.figure.y_range)
        for axis, (start, end) in zip(axes, self._turned(whole), strict=True):
            size = abs(end - start)
            axis.update(
                reset_start=start,
                reset_end=end,
                max_interval=size,  # first, because each limit applies when it arrives
                min_interval=self._least(size),
            )
        if self._waits:
            self._waits = False
            self._changed(in_hand=False)

    def _turned(self, view: View) -> View:
        """Return ranges in the direction of the axes."""
        x, y = view
        return x, y[::-1] if self._downwards else y

    def _least(self, size: float) -> float:
        """Return the smallest range to zoom to, for an axis of a size."""
        return size * _DEPTH

    def _fit(self, view: View) -> View:
        """Return the view to show after the user has released the ranges."""
        return view

    def on_click(self, handler: Callable[[float, float], None]) -> None:
        """Call with the place of every click, quick and held ones included."""
        self._clicked.append(handler)
        for kind in _CLICKS:
            self.figure.on_event(kind, lambda event: handler(event.x, event.y))

    @property
    def takes_clicks(self) -> bool:
        """Return whether clicks have a handler."""
        return bool(self._clicked)

    def click(self, right: float, down: float) -> None:
        """Click at a fraction of the width and of the height, from the top left."""
        x, y = self._at(right, down)
        for handler in self._clicked:
            handler(x, y)

    def zoom(self, factor: float, right: float, down: float) -> None:
        """Scale the ranges in view by a factor; keep the given place fixed."""
        point = np.array(self._at(right, down))[:, None]
        self._steer(point + factor * (np.array(self._steered()) - point))

    def pan(self, right: float, down: float) -> None:
        """Move the view by fractions of its width and height."""
        view = np.array(self._steered())
        by = np.ptp(view, axis=1) * (right, down if self._downwards else -down)
        self._steer(view + by[:, None])

    def reset(self) -> None:
        """Show the whole range."""
        self._look_at(None)

    def _steered(self) -> View:
        """Return the ranges in view, or ranges that are about to be set."""
        leader = self._beside or self
        coming = leader._zoom or leader._whole
        return coming if coming and leader._waits else self.view()

    def _at(self, right: float, down: float) -> tuple[float, float]:
        """Return the data coordinates of fractions of the width and height."""
        (x0, x1), (y0, y1) = self._steered()
        up = down if self._downwards else 1 - down
        return x0 + right * (x1 - x0), y0 + up * (y1 - y0)

    def _steer(self, view: np.ndarray) -> None:
        """Show ranges, shape (2, 2), within the whole; the whole if they are larger."""
        leader = self._beside or self
        if (whole := leader._whole) is None:
            return
        low, high = np.array(whole).T
        sizes = np.ptp(view, axis=1)
        if (sizes >= high - low).any():
            self.reset()
            return
        least = np.array([leader._least(size) for size in high - low])
        sizes = sizes * max(1.0, *(least / sizes))
        start = np.clip(view.mean(axis=1) - sizes / 2, low, high - sizes)
        x, y = np.column_stack([start, start + sizes]).tolist()
        self._look_at((tuple(x), tuple(y)))

    def _look_at(self, zoom: View | None) -> None:
        """Show a part of the whole, or all of it, and report the view at once.

        Otherwise a picture that arrives before the browser has moved would restore the
        old ranges.
        """
        leader = self._beside or self
        if leader._whole is not None:
            leader.follow(leader._whole, zoom)
            x, y = zoom or (None, None)
            leader._on_change(x=x, y=y)

    def put(self, change: Callable[[], None]) -> None:
        """Change models of the figure, within the document's callback if possible."""
        if self._document is None or self._document.session_context is None:
            change()
            return
        self._changes.append(change)
        if len(self._changes) == 1:
            self._document.add_next_tick_callback(self._make_changes)

    def fill(self, source: ColumnDataSource, data: Mapping[str, Any]) -> None:
        """Set the columns of a source; equal columns are not sent again."""

        def change() -> None:
            if not _equal(source.data, data):
                source.data = dict(data)

        self.put(change)

    def _make_changes(self) -> None:
        """Make all gathered changes, as one message."""
        changes, self._changes = self._changes, []
        with pn.io.unlocked():
            for change in changes:
                change()

    def _changed(self, *, in_hand: bool) -> None:
        self._in_hand = in_hand
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._tell())

    async def _tell(self) -> None:
        await asyncio.sleep(_DEBOUNCE_SECONDS)
        self._task = None
        width, height = self.size()
        if not (width and height):
            return
        whole = self._whole
        if whole is None or self._waits:
            self._on_change(width=width, height=height)
            return
        seen: dict[str, Any] = {"width": width, "height": height}
        zoom = self._visible_part(whole)
        if zoom != self._zoom:
            # Only on change: another part may know that the view was reset since.
            seen["x"], seen["y"] = zoom or (None, None)
        self._zoom = zoom
        if not (self._in_hand or _alike(self.view(), zoom or whole)):
            self._waits = True
            self.put(lambda: self._place(whole))
        self._on_change(**seen)

    def _visible_part(self, whole: View) -> View | None:
        """Return the visible part of the whole, None for all of it."""
        view = self.view()
        if not np.isfinite(view).all():
            return self._zoom
        if _alike(view, whole):
            return None
        fitted = view if self._in_hand else self._fit(view)
        return view if _alike(view, fitted) else fitted

    def size(self) -> tuple[int, int]:
        """Return width and height in pixels, 0 before the browser has laid it out."""
        try:
            return self.figure.inner_width, self.figure.inner_height
        except UnsetValueError:
            return 0, 0

    def view(self) -> View:
        """Return the ranges in view, ascending."""
        x, y = self.figure.x_range, self.figure.y_range
        return (
            (min(x.start, x.end), max(x.start, x.end)),
            (min(y.start, y.end), max(y.start, y.end)),
        )
