"""Live: a figure whose picture is a HoloViews element that a thread has made.

To show one: a node makes the element on its thread, by a function of `ui/plots`; the
card gives it to `show` of a `LiveFrame` of its own, which sends it through a `Pipe` to
a `DynamicMap` that only hands it on. What is looked at, and what is clicked or drawn
around, is told to whoever asked for it:

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
the picture's overlay through HoloViews again, 10 ms of the event loop for each of them.

Ranges, sizes, clicks, boxes and lassos are heard of from that figure as well (see
`Frame`), and not from streams of HoloViews: `RangeXY` and `PlotSize` speak 100 ms after
the end of a movement, while a picture follows a hand that has not let go; `Tap` leaves
out a click that is held; `BoundsXY` and `Lasso` hear nothing where a map returns an
overlay, unless they are inputs of it, and then each box would send the picture again.
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

from clusterlens.ui.figures.frame import Frame, View
from clusterlens.ui.state.looking import Viewport

# The page has a theme, and tools, of its own.
_RENDERER = BokehRenderer.instance(mode="server", theme=None)
_PLAIN: dict[str, Any] = {"responsive": True, "default_tools": [], "border": 0}


class LiveFrame(Frame):
    """A frame without axes around one picture, which fills it.

    Parameters
    ----------
    told : callable
        As for every frame.
    first : holoviews element
        Shown before there is a picture, of the same structure.
    options
        Of every frame.
    """

    def __init__(
        self, told: Callable[..., None], first: hv.Dimensioned, **options: Any
    ) -> None:
        self._element = first
        self._pipe = Pipe(data=first)
        self._map = hv.DynamicMap(lambda data: data, streams=[self._pipe])
        document = pn.state.curdoc or Document()
        self._plot = _RENDERER.get_plot(self._map, doc=document, **_PLAIN)
        super().__init__(told, toolbar_location="right", **options)

    def _make(self, tools: list[Any], **options: Any) -> Figure:
        """Return the figure that HoloViews has made, with tools and ranges of ours."""
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
        """Show an element, of what is looked at; what is shown already is not sent.

        Parameters
        ----------
        element : holoviews element
            Of the structure of the first one.
        whole : pair of ranges
            Those of all there is to zoom in.
        port : Viewport
            What is looked at.
        """
        self.follow(whole, port.zoom)
        if element is not self._element:
            self._element = element
            self.put(lambda: self._send(element))

    def _send(self, element: hv.Dimensioned) -> None:
        if element is self._element:  # the newest
            self._pipe.send(element)

    def drawn_by(self, glyph: type) -> GlyphRenderer:
        """Return what draws the first element that is such a glyph."""
        found = self.figure.renderers
        return next(one for one in found if isinstance(one.glyph, glyph))

    def on_box(self, told: Callable[[View], None]) -> None:
        """Call with the x and y range of every box that is drawn, low to high."""

        def tell(event: SelectionGeometry) -> None:
            at = event.geometry
            if event.final and at["type"] == "rect":
                x, y = sorted((at["x0"], at["x1"])), sorted((at["y0"], at["y1"]))
                told(((x[0], x[1]), (y[0], y[1])))

        self.figure.on_event(SelectionGeometry, tell)

    def on_lasso(self, told: Callable[[np.ndarray], None]) -> None:
        """Call with the outline of every lasso, shape (n_corners, 2)."""

        def tell(event: SelectionGeometry) -> None:
            if event.final and event.geometry["type"] == "poly":
                x, y = (_values(event.geometry[axis]) for axis in "xy")
                told(np.column_stack([x, y]))

        self.figure.on_event(SelectionGeometry, tell)


def _values(given: Any) -> np.ndarray:
    """Read coordinates that the browser sends as a list or by position."""
    if isinstance(given, dict):
        given = [given[key] for key in sorted(given, key=int)]
    return np.asarray(given, float)
