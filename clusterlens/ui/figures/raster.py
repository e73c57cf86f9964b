"""The map of samples as pixels: where they fall, and their colours there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterlens.ui.figures.frame import Picture, View, equal_scale
from clusterlens.ui.state.looking import Viewport

_ROOM = 1.06
_FADED = (150, 155, 163)


def map_view(xy: np.ndarray, port: Viewport) -> View:
    """Return x and y ranges of equal scale: of all points, or of what is zoomed to.

    Parameters
    ----------
    xy : array of float, shape (n_samples, 2)
        Coordinates.
    port : Viewport
        Size of the figure, and what it was zoomed to, if it was.
    """
    size = (port.width, port.height)
    if port.zoom is not None:
        return equal_scale(port.zoom, size)
    (x0, x1), (y0, y1) = np.column_stack([xy.min(axis=0), xy.max(axis=0)]).tolist()
    return equal_scale(((x0, x1), (y0, y1)), size, room=_ROOM)


@dataclass(frozen=True, eq=False)
class Raster:
    """Samples as points on pixels, to be coloured as often as need be.

    Where enlarged points overlap, the one further up and right is in front.

    Parameters
    ----------
    view : pair of ranges
        x and y range of the frame.
    samples : array of int, shape (n_in_view,)
        Positions of the samples in view.
    points : array of int, shape (n_in_view,)
        The point each of them is part of: samples of one pixel are one point.
    counts : array of int, shape (n_points,)
        Samples of each point.
    front : array of int32, shape (height, width)
        The point seen in each pixel, -1 for none, the lowest y first.
    """

    view: View
    samples: np.ndarray
    points: np.ndarray
    counts: np.ndarray
    front: np.ndarray

    def coloured(self, colours: np.ndarray, *, alpha: int = 255) -> np.ndarray:
        """Colour the points by the mean of their samples.

        Parameters
        ----------
        colours : array of uint8, shape (n_samples, 3)
            Colour of every sample, those out of view included.
        alpha : int, default 255
            How opaque the points are.

        Returns
        -------
        pixels : array of uint32, shape (height, width)
            RGBA, the lowest y first; 0 where there is no point.
        """
        # One more, for the pixels without a point.
        rgba = np.zeros((len(self.counts) + 1, 4), np.uint8)
        rgba[:-1, 3] = alpha
        for channel in range(3):
            values = colours[self.samples, channel]
            sums = np.bincount(self.points, values, len(self.counts))
            rgba[:-1, channel] = np.rint(sums / self.counts)
        return rgba.view(np.uint32)[:, 0][self.front]


def draw_map(
    xy: np.ndarray,
    colours: np.ndarray,
    port: Viewport,
    *,
    around: np.ndarray | None = None,
    **how: Any,
) -> Picture:
    """Draw the samples at the size and in the ranges of a figure.

    Parameters
    ----------
    xy, colours
        As in `draw_samples`.
    port : Viewport
        Size of the figure, and what it was zoomed to, if it was.
    around : array of float, shape (n, 2), optional
        Points that the whole map has room for. Default: the samples.
    how
        Further keywords of `draw_samples`.
    """
    held = xy if around is None else around
    view = map_view(held, port)
    pixels = draw_samples(xy, colours, view, size=(port.width, port.height), **how)
    return Picture(pixels, view, map_view(held, port.whole()))


def draw_samples(
    xy: np.ndarray,
    colours: np.ndarray,
    view: View,
    *,
    size: tuple[int, int],
    lit: np.ndarray | None = None,
    keep_hue: bool = False,
    triangles: np.ndarray | None = None,
) -> np.ndarray:
    """Draw the samples as points; where some are lit the others fade.

    Parameters
    ----------
    xy : array of float, shape (n_samples, 2)
        Coordinates.
    colours : array of uint8, shape (n_samples, 3)
        Colour of each sample; a pixel shows the mean of its samples.
    view : pair of ranges
        x and y range of the frame.
    size : pair of int
        Width and height in pixels.
    lit : array of int, optional
        Positions of samples to light up.
    keep_hue : bool, default False
        Whether those that fade keep their colour.
    triangles : array of bool, shape (n_samples,), optional
        Samples drawn as triangles, where points have a size and none are lit.

    Returns
    -------
    pixels : array of uint32, shape (height, width)
        RGBA, the lowest y first.
    """
    if lit is None or not len(lit):
        return place_samples(xy, view, size=size, triangles=triangles).coloured(colours)
    spread = _spread(len(xy), size)
    grey = np.broadcast_to(np.uint8(_FADED), colours.shape)
    # What keeps its colour must be seen, also on a small map.
    least, pale, alpha = (1, colours, 110) if keep_hue else (0, grey, 70)
    faded = _place(xy, view, size, max(spread, least)).coloured(pale, alpha=alpha)
    bright = _place(xy[lit], view, size, max(spread, least) + 1).coloured(colours[lit])
    return np.where(bright > 0, bright, faded)


def place_samples(
    xy: np.ndarray,
    view: View,
    *,
    size: tuple[int, int],
    triangles: np.ndarray | None = None,
) -> Raster:
    """Find the pixels of the samples; arguments as in `draw_samples`."""
    return _place(xy, view, size, _spread(len(xy), size), triangles)


def _place(
    xy: np.ndarray,
    view: View,
    size: tuple[int, int],
    spread: int,
    triangles: np.ndarray | None = None,
) -> Raster:
    """Join the samples of each pixel, then enlarge the points.

    A point is a triangle where most of its samples are.
    """
    pixels, at = _pixels(xy, view, size)
    places, of, counts = np.unique(pixels, return_inverse=True, return_counts=True)
    front = np.full((size[1], size[0]), -1, np.int32)
    rows, columns = np.divmod(places, size[0])
    order = np.arange(len(places), dtype=np.int32)
    forms = [(_disc(spread), order)]
    if triangles is not None and spread:
        mostly = 2 * np.bincount(of, triangles[at], len(places)) > counts
        forms = [
            (_disc(spread), order[~mostly]),
            (_triangle(spread + 1), order[mostly]),
        ]
    for steps, some in forms:
        for up, right in steps:
            y, x = rows[some] + up, columns[some] + right
            seen = (y >= 0) & (y < size[1]) & (x >= 0) & (x < size[0])
            y, x = y[seen], x[seen]
            front[y, x] = np.maximum(front[y, x], some[seen])
    return Raster(view, at, of, counts, front)


def _pixels(
    xy: np.ndarray, view: View, size: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Pixel of each sample in view, row by row, and the positions of these samples."""
    low, high = np.array(view).T
    at = np.flatnonzero(((xy >= low) & (xy <= high)).all(axis=1))
    steps = ((xy[at] - low) / (high - low) * size).astype(np.int64)
    column, row = np.minimum(steps, np.array(size) - 1).T
    return row * size[0] + column, at


def _disc(radius: int) -> np.ndarray:
    """Steps (up, right) to the pixels of a disc, shape (n_pixels, 2)."""
    steps = np.arange(-radius, radius + 1)
    up, right = np.meshgrid(steps, steps)
    inside = up**2 + right**2 <= (radius + 0.5) ** 2
    return np.column_stack([up[inside], right[inside]])


def _triangle(radius: int) -> np.ndarray:
    """Steps (up, right) to the pixels of a triangle that points up, as `_disc`."""
    steps = np.arange(-radius, radius + 1)
    up, right = np.meshgrid(steps, steps)
    inside = 2 * np.abs(right) <= radius + 1 - up
    return np.column_stack([up[inside], right[inside]])


def _spread(n_samples: int, size: tuple[int, int]) -> int:
    """Return how far points are spread, so that few are seen and many do not clog."""
    pixels = int(np.sqrt(size[0] * size[1]))
    least = 1 if n_samples <= 10 * pixels else 0
    return int(np.clip(round(0.014 * pixels - 0.9 * np.log10(n_samples)), least, 3))
