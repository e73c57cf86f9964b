"""The map of what goes into the pool, before there is anything to select in it."""

from __future__ import annotations

from collections.abc import Callable

from clusterlens.ui.figures.map_frame import MapFrame


class PreparedMap(MapFrame):
    """Prepared samples on their first two principal components.

    Parameters
    ----------
    told : callable
        As for every frame.
    """

    def __init__(self, told: Callable[..., None]) -> None:
        super().__init__(told, css="cl-prepared-figure", tools=["box_zoom", "save"])
