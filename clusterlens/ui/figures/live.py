"""Live: a figure with a HoloViews element as its picture, made by a thread.

A node makes the element on its thread, by a function of `ui/plots`. The card passes it
to `show` of its `LiveFrame`, which sends it through a `Pipe` to a `DynamicMap` that
returns it unchanged. Callbacks receive the view, clicks, boxes and lassos:

    class SampleMap(LiveFrame):
        def __init__(self, told, tapped, boxed):
            super().__init__(told, empty_picture(), css="cl-map", tools=[...])
            self.on_click(tapped)   # place of a click, by the mouse or by a key
            self.on_box(boxed)      # x and y range of a box
            self.draw(source, glyph)  # marks over the picture, of Bokeh

    figure.show(element, whole, look.map_view)

All elements of a figure have the structure of the first one: an overlay of as many
elements, of the same kinds. Marks that come and go with a click (rings, lines, words)
are glyphs of Bokeh on the figure that HoloViews has made: as elements they would send
the picture's overlay through HoloViews again, 10 ms of the event loop for each element.

Ranges, sizes, clicks, boxes and lassos are events of that figure as well (see `Frame`),
not streams of HoloViews. `RangeXY` and `PlotSize` fire 100 ms after the end of a
movement, but a picture must follow during the movement. `Tap` omits held clicks.
`BoundsXY` and `Lasso` do not fire for a map that returns an overlay, unless they are
its inputs, and then each box would send the picture again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import holoviews as hv
import numpy as np
import panel as pn
from bokeh.document import Document
from bokeh.events import SelectionGeometry
from bokeh.models import GlyphRenderer
from bokeh.plotting import figure as Figure
from holoviews.plotting.bokeh import BokehRenderer
from holoviews.streams import Pipe

from clusterlens.ui.figures.frame import BORDER, Frame, View
from clusterlens.ui.state.view_parameters import Viewport

# The page has its own theme and tools.
_RENDERER = BokehRenderer.instance(mode="server", theme=None)
_PLAIN: dict[str, Any] = {"responsive": True, "default_tools": [], "border": BORDER}


class LiveFrame(Frame):
    """Frame without axes, filled by one picture.

    Parameters
    ----------
    on_change : callable
        As for `Frame`.
    first : holoviews element
        Element of the same structure, shown before there is a picture.
    options
        Options of `Frame`.
    """

    def __init__(
        self, on_change: Callable[..., None], first: hv.Dimensioned, **options: Any
    ) -> None:
        self._element = first
        self._pipe = Pipe(data=first)
        self._map = hv.DynamicMap(lambda data: data, streams=[self._pipe])
        document = pn.state.curdoc or Document()
        self._plot = _RENDERER.get_plot(self._map, doc=document, **_PLAIN)
        super().__init__(on_change, toolbar_location="right", **options)

    def _make(self, tools: list[Any], **options: Any) -> Figure:
        """Return the figure that HoloViews has made, with our tools and ranges."""
        made = self._plot.state
        for one in made.renderers:  # nothing is drawn before there is a picture
            one.data_source.data = {name: [] for name in one.data_source.data}
        made.toolbar.tools = []
        made.add_tools(*tools)
        made.update(**options)
        made.axis.visible = False
        return made

    def _wrap(self, **options: Any) -> pn.pane.HoloViews:
        return pn.pane.HoloViews(self._plot, linked_axes=False, **options)

    def show(self, element: hv.Dimensioned, whole: View, port: Viewport) -> None:
        """Show an element in a view; an element already shown is not sent again.

        Parameters
        ----------
        element : holoviews element
            Element of the structure of the first one.
        whole : pair of ranges
            The whole x and y range.
        port : Viewport
            Size and visible part of the figure.
        """
        self.follow(whole, port.zoom)
        if element is not self._element:
            self._element = element
            self.put(lambda: self._send(element))

    def _send(self, element: hv.Dimensioned) -> None:
        if element is self._element:  # still the newest one
            self._pipe.send(element)

    def drawn_by(self, glyph: type) -> GlyphRenderer:
        """Return the renderer of the first element drawn by such a glyph."""
        found = self.figure.renderers
        return next(one for one in found if isinstance(one.glyph, glyph))

    def on_box(self, handler: Callable[[View], None]) -> None:
        """Call with the x and y range of every drawn box, low to high."""

        def tell(event: SelectionGeometry) -> None:
            at = event.geometry
            if event.final and at["type"] == "rect":
                x, y = sorted((at["x0"], at["x1"])), sorted((at["y0"], at["y1"]))
                handler(((x[0], x[1]), (y[0], y[1])))

        self.figure.on_event(SelectionGeometry, tell)

    def on_lasso(self, handler: Callable[[np.ndarray], None]) -> None:
        """Call with the outline of every lasso, shape (n_corners, 2)."""

        def tell(event: SelectionGeometry) -> None:
            if event.final and event.geometry["type"] == "poly":
                x, y = (_values(event.geometry[axis]) for axis in "xy")
                handler(np.column_stack([x, y]))

        self.figure.on_event(SelectionGeometry, tell)


def _values(given: Any) -> np.ndarray:
    """Read coordinates that the browser sends as a list, or as a dict by position."""
    if isinstance(given, dict):
        given = [given[key] for key in sorted(given, key=int)]
    return np.asarray(given, float)
