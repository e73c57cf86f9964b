"""Base class of sample maps: one scale for both axes, one picture that may fade."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bokeh.models import ImageRGBA

from clusterlens.ui.figures.frame import View
from clusterlens.ui.figures.live import LiveFrame
from clusterlens.ui.plots.samples import Picture, empty_map, equal_scale
from clusterlens.ui.state.looking import Viewport

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

    def show_map(self, picture: Picture, port: Viewport) -> None:
        """Show a map at the size and zoom of its figure."""
        self.show(picture.element, picture.whole, port)

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
