"""The map of what goes into the pool, before there is anything to select in it."""

from __future__ import annotations

from collections.abc import Callable

from bokeh.models import ImageRGBA

from clusterlens.ui.figures.frame import PictureFrame, no_image


class PreparedMap(PictureFrame):
    """Prepared samples on their first two principal components.

    Parameters
    ----------
    told : callable
        As for every frame.
    """

    def __init__(self, told: Callable[..., None]) -> None:
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
        self.draw(self._image, ImageRGBA(image="image", x="x", y="y", dw="dw", dh="dh"))
