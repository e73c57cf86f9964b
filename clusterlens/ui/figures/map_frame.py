"""Base class of sample maps: one scale for both axes, one picture that may fade."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bokeh.models import FixedTicker, ImageRGBA, PlainText

from clusterlens.ui.figures.frame import View
from clusterlens.ui.figures.live import LiveFrame
from clusterlens.ui.plots.axes import Ticks
from clusterlens.ui.plots.samples import Picture, empty_map, equal_scale
from clusterlens.ui.state.view_parameters import Viewport

# Opacity of a picture behind more important marks.
DIMMED = 0.45


class MapFrame(LiveFrame):
    """A live figure of a map of samples.

    Parameters
    ----------
    on_change : callable
        As for `Frame`.
    options
        Options of `Frame`.
    """

    def __init__(self, on_change: Callable[..., None], **options: Any) -> None:
        super().__init__(on_change, empty_map(), **options)
        self.image = self.drawn_by(ImageRGBA).glyph
        self._ticks: tuple[Ticks, ...] = ()

    def show_map(self, picture: Picture, port: Viewport) -> None:
        """Show a map at the size and zoom of its figure."""
        self.show(picture.element, picture.whole, port)
        self._tick(picture.ticks)

    def _tick(self, ticks: tuple[Ticks, ...]) -> None:
        """Draw the axes of columns; components have none."""
        if ticks == self._ticks:
            return
        self._ticks = ticks

        def change() -> None:
            self.show_axes(visible=bool(ticks))
            for axis, one in zip(self.figure.axis, ticks, strict=False):
                axis.axis_label = PlainText(text=one.name)
                axis.axis_label_standoff = 0
                axis.ticker = FixedTicker(ticks=list(one.texts))
                axis.major_label_overrides = dict(one.texts)

        self.put(change)

    def dim(self, dimmed: bool) -> None:
        """Fade the picture behind the marks over it, or restore it."""
        alpha = DIMMED if dimmed else 1.0

        def change() -> None:
            if self.image.global_alpha != alpha:
                self.image.global_alpha = alpha

        self.put(change)

    def pixel(self) -> float:
        """Return the data units of a pixel."""
        (x0, x1), _ = self.view()
        return (x1 - x0) / max(self.size()[0], 1)

    def _fit(self, view: View) -> View:
        """Keep both axes at one scale, whatever the shape of the box."""
        return equal_scale(view, self.size())
