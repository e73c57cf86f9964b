"""Maps of samples: Datashader aggregates the samples on pixels and spreads the points.

A pixel shows the mean colour of its samples, whatever they are coloured by: a cluster,
a value, or a blend of memberships. For clusters this is the picture of `ds.by` and
`tf.shade`, without a layer of the canvas for each cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import holoviews as hv
import numpy as np

from clusterlens.compute._validation import (
    DataError,
    check_classes,
    check_features,
    check_range,
)
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.plane import map_samples
from clusterlens.compute.table.projection import Projection, project
from clusterlens.ui.plots.axes import Ticks, axis_titles, tick_options, ticks_of
from clusterlens.ui.plots.backend import PLAIN_TEXT, bokeh, matplotlib, styled
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.widgets.palette import cluster_colour, cluster_colours, cluster_name

View = tuple[tuple[float, float], tuple[float, float]]
_MARGIN = 1.06
_FADED = (150, 155, 163)
_MOST_PIXELS = 5000


@dataclass(frozen=True, eq=False)
class Picture:
    """A map of a figure.

    Parameters
    ----------
    element : holoviews.RGB
        The samples in view, a value for each pixel.
    whole : pair of ranges
        The x and y range of all there is.
    ticks : tuple of Ticks
        Of both axes if they are columns of the table, else empty.
    """

    element: hv.RGB
    whole: View
    ticks: tuple[Ticks, ...] = ()

    @property
    def pixels(self) -> np.ndarray:
        """Return RGBA, uint8 of shape (height, width, 4), the highest y first."""
        return self.element.data

    @property
    def view(self) -> View:
        """Return the x and y range in view."""
        x0, y0, x1, y1 = self.element.bounds.lbrt()
        return (x0, x1), (y0, y1)


def equal_scale(view: View, size: tuple[int, int], *, margin: float = 1.0) -> View:
    """Widen ranges until a pixel of a figure is as high as it is wide.

    Parameters
    ----------
    view : pair of ranges
        The x and y range to hold.
    size : pair of int
        Width and height of the figure.
    margin : float, default 1.0
        Factor by which they are widened beside.
    """
    low, high = np.array(view).T
    pixels = np.maximum(size, 1)
    # Ranges around one place far from 0 need at least one float per pixel.
    least = max(1e-12, 16 * float(np.spacing(np.abs([low, high]).max())))
    unit = max(float(np.max((high - low) / pixels)), least) * margin
    centre, half = (low + high) / 2, unit * pixels / 2
    x, y = np.column_stack([centre - half, centre + half]).tolist()
    return tuple(x), tuple(y)


def map_view(xy: np.ndarray, port: Viewport) -> View:
    """Return the x and y range of all points, or of the zoom, at equal scale.

    Parameters
    ----------
    xy : array of float, shape (n_samples, 2)
        Coordinates.
    port : Viewport
        Size of the figure, and the ranges it is zoomed to, if any.
    """
    size = (port.width, port.height)
    if port.zoom is not None:
        return equal_scale(port.zoom, size)
    (x0, x1), (y0, y1) = np.column_stack([xy.min(axis=0), xy.max(axis=0)]).tolist()
    return equal_scale(((x0, x1), (y0, y1)), size, margin=_MARGIN)


def plot_map(
    data: Any, labels: Any = None, *, width: int = 560, height: int = 420
) -> Any:
    """Draw a map of samples, coloured by cluster or by class.

    Parameters
    ----------
    data : Dataset, Projection or array-like of shape (n_samples, n_features)
        Two columns of an array are coordinates; one or two numeric columns of a
        prepared dataset are the axes, in their own units. Other arrays and datasets are
        projected on their first two principal components.
    labels : array-like of shape (n_samples,), optional
        Clusters from 0, negative for noise, or names of classes. Default: the labels of
        a dataset, else one colour.
    width, height : int, default 560 and 420
        Size of the map in pixels, from 1 to 5,000.

    Returns
    -------
    plot : holoviews.Overlay
        An image of the samples by Datashader, and a set of points without a place for
        each cluster, for the legend. O(n_samples) time and memory.

    Raises
    ------
    DataError
        If data have missing or infinite values, or a projection has one axis.

    Examples
    --------
    >>> import clusterlens as cl
    >>> cl.plot_map([[0, 0], [1, 1], [1, 2]], ["a", "b", "b"])
    :Overlay
       .RGB.I       :RGB   [x,y]   (R,G,B,A)
       .NdOverlay.I :NdOverlay   [cluster]
          :Points   [x,y]
    """
    for name, value in (("width", width), ("height", height)):
        check_range(value, 1, _MOST_PIXELS, name=name, integer=True)
    port = Viewport(width=int(width), height=int(height))
    xy, (xlabel, ylabel), plane = _places(data)
    clusters, names = _clusters(data, labels, len(xy))
    picture = draw_map(xy, cluster_colours(clusters), port, plane=plane)
    plot = hv.Overlay([picture.element])
    if names:
        entries = {name: legend_entry(cluster_colour(k)) for k, name in names.items()}
        plot *= hv.NdOverlay(entries, "cluster", sort=False)
    shared = {
        "legend_position": "right",
        "xlabel": xlabel,
        "ylabel": ylabel,
        **tick_options(picture.ticks),
    }
    inches = (port.width / 88, port.height / 88)
    return styled(
        plot,
        bokeh("Overlay", frame_width=port.width, frame_height=port.height, **shared),
        matplotlib(
            "Overlay",
            fig_inches=inches,
            aspect="equal",
            fig_rcparams=PLAIN_TEXT,
            **shared,
        ),
    )


def _places(data: Any) -> tuple[np.ndarray, tuple[str, str], Projection | None]:
    """Return coordinates (n_samples, 2), labels of both axes, and the projection."""
    if isinstance(data, Dataset):
        plane = map_samples(data)
    elif isinstance(data, Projection):
        plane = data
    else:
        data = check_features(data, name="data")
        if data.shape[1] == 2:
            return data, ("x", "y"), None
        plane = project(data)
    if len(plane.explained) < 2:
        raise DataError("data is a projection on 1 axis; project on 2 (n_components).")
    return plane.coordinates[:, :2], axis_titles(plane), plane


def _clusters(
    data: Any, labels: Any, n_samples: int
) -> tuple[np.ndarray, dict[int, str]]:
    """Return the cluster of each sample, and the name of each cluster.

    There are no names if nothing is known about the samples.
    """
    titles: Sequence[Any] = ()
    if labels is not None:
        clusters, found = check_classes(labels, n_samples=n_samples)
        if isinstance(found[0], str):
            titles = found
        else:
            clusters = np.array(found)[clusters]
    elif isinstance(data, Dataset) and data.labels_true is not None:
        clusters, titles = data.labels_true, data.label_names
    else:
        return np.zeros(n_samples, np.int64), {}
    return clusters, {
        k: str(titles[k]) if titles and k >= 0 else cluster_name(k)
        for k in np.unique(clusters).tolist()
    }


def legend_entry(colour: str, area: int = 36) -> hv.Points:
    """Return a point off the map with a colour and an area for Matplotlib."""
    return styled(
        hv.Points([(np.nan, np.nan)], ["x", "y"]),
        bokeh("Points", color=colour, size=8),
        matplotlib("Points", color=colour, s=area),
    )


def draw_map(
    xy: np.ndarray,
    colours: np.ndarray,
    port: Viewport,
    *,
    around: np.ndarray | None = None,
    plane: Projection | None = None,
    **how: Any,
) -> Picture:
    """Draw the samples at the size and in the ranges of a figure.

    Parameters
    ----------
    xy, colours
        As in `shade_samples`.
    port : Viewport
        Size of the figure, and the ranges it is zoomed to, if any.
    around : array of float, shape (n, 2), optional
        Points that the whole map has room for. Default: the samples.
    plane : Projection, optional
        Axes of the map, for their ticks.
    how
        Further keywords of `shade_samples`.
    """
    held = xy if around is None else around
    view = map_view(held, port)
    size = (port.width, port.height)
    pixels = shade_samples(xy, colours, view, size=size, **how)
    ticks = ticks_of(plane, view, size) if plane else ()
    return Picture(as_element(pixels, view), map_view(held, port.whole()), ticks)


def empty_map() -> hv.RGB:
    """Return an empty element for a figure without a map yet."""
    return as_element(np.zeros((1, 1), np.uint32), ((0.0, 1.0), (0.0, 1.0)))


def as_element(pixels: np.ndarray, view: View) -> hv.RGB:
    """Return pixels, uint32 with the lowest y first, as an element."""
    (x0, x1), (y0, y1) = view
    # HoloViews expects the highest y first in an array.
    rgba = pixels[::-1].view(np.uint8).reshape(*pixels.shape, 4)
    return hv.RGB(rgba, bounds=(x0, y0, x1, y1))


def shade_samples(
    xy: np.ndarray,
    colours: np.ndarray,
    view: View,
    *,
    size: tuple[int, int],
    highlighted: np.ndarray | None = None,
    keep_hue: bool = False,
    triangles: np.ndarray | None = None,
    largest: int = 3,
) -> np.ndarray:
    """Draw the samples as points; if some are highlighted, the others fade.

    Parameters
    ----------
    xy : array of float, shape (n_samples, 2)
        Finite coordinates.
    colours : array of uint8, shape (n_samples, 3)
        Colour of each sample; a pixel shows the mean of its samples.
    view : pair of ranges
        x and y range of the frame.
    size : pair of int
        Width and height in pixels.
    highlighted : array of int, optional
        Positions of the highlighted samples.
    keep_hue : bool, default False
        Whether faded samples keep their colour.
    triangles : array of bool, shape (n_samples,), optional
        Samples drawn as triangles if points are larger than a pixel and no sample is
        highlighted.
    largest : int, default 3
        Radius in pixels of the points of a small table.

    Returns
    -------
    pixels : array of uint32, shape (height, width)
        RGBA, the lowest y first; O(n_samples + width height) time.

    Raises
    ------
    DataError
        If there are no samples, or coordinates that are not finite.
    """
    import datashader.transfer_functions as tf

    xy = check_features(xy, name="xy", compared=False)
    radius = point_radius(len(xy), size, largest)
    if highlighted is None or not len(highlighted):
        return _points(xy, colours, view, size, radius, triangles=triangles).values
    grey = np.broadcast_to(np.array(_FADED, np.uint8), colours.shape)
    # Faded points in colour are larger than a pixel, to be seen on small maps.
    least, pale, alpha = (1, colours, 110) if keep_hue else (0, grey, 70)
    radius = max(radius, least)
    faded = _points(xy, pale, view, size, radius, alpha=alpha)
    bright = _points(xy[highlighted], colours[highlighted], view, size, radius + 1)
    return tf.stack(faded, bright, how="source").values


def _points(
    xy: np.ndarray,
    colours: np.ndarray,
    view: View,
    size: tuple[int, int],
    radius: int,
    *,
    alpha: int = 255,
    triangles: np.ndarray | None = None,
) -> Any:
    """Return an image of the samples as discs, or triangles where most samples are.

    Of two points that overlap, the upper one is in front, triangles are before discs.
    """
    import datashader.transfer_functions as tf

    sums = sums_on_pixels(xy, colours, view, size, triangles)
    seen = sums["samples"] > 0
    if triangles is None or not radius:
        image = mean_colours(sums, seen, alpha)
        return tf.spread(image, radius, how="source")
    mostly = 2 * sums["triangles"] > sums["samples"]
    discs = mean_colours(sums, seen & ~mostly, alpha)
    discs = tf.spread(discs, radius, how="source")
    upright = mean_colours(sums, seen & mostly, alpha)
    upright = tf.spread(upright, mask=_triangle(radius + 1), how="source")
    return tf.stack(discs, upright, how="source")


def sums_on_pixels(
    xy: np.ndarray,
    colours: np.ndarray,
    view: View,
    size: tuple[int, int],
    triangles: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Sum colours, and count samples and triangles, on each pixel.

    The sums of parts of the samples add up to those of all.
    """
    # Imported here so that the first page loads sooner.
    import datashader as ds
    import pandas as pd

    # Contiguous arrays, because Datashader compiles anew for another layout.
    x, y = np.ascontiguousarray(xy.T)
    columns = dict(zip("rgb", np.ascontiguousarray(colours.T), strict=True))
    if triangles is not None:
        columns["triangles"] = triangles.astype(np.uint8)
    frame = pd.DataFrame({"x": x, "y": y, **columns}, copy=False)
    sums = {name: ds.sum(name) for name in columns}
    canvas = ds.Canvas(*size, *view)
    found = canvas.points(frame, "x", "y", ds.summary(samples=ds.count(), **sums))
    return {name: np.nan_to_num(values.values) for name, values in found.items()}


def mean_colours(sums: Mapping[str, np.ndarray], at: np.ndarray, alpha: int) -> Any:
    """Return an image of the mean colour of the samples of the pixels given."""
    import datashader.transfer_functions as tf

    counts = sums["samples"][at]
    rgba = np.zeros((*at.shape, 4), np.uint8)
    for channel, name in enumerate("rgb"):
        rgba[at, channel] = np.rint(sums[name][at] / counts)
    rgba[at, 3] = alpha
    return tf.Image(rgba.view(np.uint32)[..., 0], dims=["y", "x"])


def _triangle(radius: int) -> np.ndarray:
    """Return pixels of a triangle that points to larger y, (2 radius + 1,) * 2."""
    up, right = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    return 2 * np.abs(right) <= radius + 1 - up


def point_radius(n_samples: int, size: tuple[int, int], largest: int) -> int:
    """Return the radius of points: large for few, small for many."""
    pixels = int(np.sqrt(size[0] * size[1]))
    least = 1 if n_samples <= 10 * pixels else 0
    radius = round(0.014 * pixels - 0.9 * np.log10(n_samples))
    return int(np.clip(radius, least, largest))
