"""Map of the prepared samples, without selection."""

from __future__ import annotations

from collections.abc import Callable

from clusterlens.ui.figures.map_frame import MapFrame


class PreparedMap(MapFrame):
    """Prepared samples on two numeric columns, or on two principal components.

    Parameters
    ----------
    on_change : callable
        As for `Frame`.
    """

    def __init__(self, on_change: Callable[..., None]) -> None:
        super().__init__(
            on_change, css="cl-prepared-figure", tools=["box_zoom", "save"]
        )
