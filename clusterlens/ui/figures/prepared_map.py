"""The map of what goes into the pool, before there is anything to select in it."""

from __future__ import annotations

from collections.abc import Callable

from clusterlens.ui.figures.frame import PictureFrame, View, no_image


class PreparedMap(PictureFrame):
    """Prepared samples on their first two principal components.

    Parameters
    ----------
    told : callable
        Called with (view, width, height) when what it shows has changed.
    """

    def __init__(self, told: Callable[[View | None, int, int], None]) -> None:
        super().__init__(
            told,
            css="cl-prepared-figure",
            tools=["box_zoom", "save"],
            toolbar_location="right",
            x_axis_type=None,
            y_axis_type=None,
        )
        self.figure.toolbar.autohide = True
        self._image = no_image()
        self.figure.image_rgba("image", "x", "y", "dw", "dh", source=self._image)
