"""Map of all rows of a large table: Datashader adds up its parts, one after another."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from clusterlens.ui.plots.samples import (
    Picture,
    as_element,
    map_view,
    mean_colours,
    point_radius,
    sums_on_pixels,
)
from clusterlens.ui.state.view_parameters import Viewport


def draw_parts(
    parts: Iterable[tuple[np.ndarray, np.ndarray]],
    extent: np.ndarray,
    n_rows: int,
    port: Viewport,
) -> Picture:
    """Draw rows that come in parts, in constant memory.

    Parameters
    ----------
    parts : iterable of (array of float, array of uint8)
        Places (n, 2) and colours (n, 3) of some rows; a pixel shows the mean colour.
    extent : array of float, shape (2, 2)
        Smallest and largest x and y of all rows.
    n_rows : int
        Number of all rows, which decides on the size of a point.
    port : Viewport
        Size of the figure, and the ranges it is zoomed to, if any.
    """
    import datashader.transfer_functions as tf

    view, size = map_view(extent, port), (port.width, port.height)
    sums: dict[str, np.ndarray] = {}
    for xy, colours in parts:
        if len(xy):
            for name, part in sums_on_pixels(xy, colours, view, size).items():
                sums[name] = sums[name] + part if name in sums else part
    image = mean_colours(sums, sums["samples"] > 0, 255)
    points = tf.spread(image, point_radius(n_rows, size, 3), how="source")
    return Picture(as_element(points.values, view), map_view(extent, port.whole()))
