"""Pure functions from results to HoloViews elements; none of them knows a Session.

Matrices and maps are rasterised by Datashader at the size of the frame, so what travels
to the browser does not grow with the number of samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import datashader as ds
import datashader.transfer_functions as tf
import holoviews as hv
import numpy as np
import pandas as pd
import xarray as xr

from clusterlens.compute.consensus.tiles import Tile

hv.extension("bokeh", logo=False)

STRIP = 0.035
GAP = 0.01
MARGIN = STRIP + GAP
# From nearly clear to full, so that it reads on a light and on a dark page.
BINARISED_COLOURS = tuple(f"#3a6ea5{alpha:02x}" for alpha in range(20, 256, 5))
Viewport = tuple[tuple[float, float], tuple[float, float]]


def full_view(n: int) -> Viewport:
    """Return the x and y range that show a whole matrix with its strips."""
    return (-MARGIN * n, float(n)), (-MARGIN * n, float(n))


def visible_items(view_range: tuple[float, float], n: int) -> tuple[int, int]:
    """Return the half-open range of positions that a view range shows."""
    low = int(np.clip(np.floor(view_range[0]), 0, n - 1))
    return low, int(np.clip(np.ceil(view_range[1]), low + 1, n))


def matrix_image(tile: Tile, *, pixels: int) -> hv.Image:
    """Regrid a tile to the pixels of the frame; values stay those of the tile."""
    height, width = tile.values.shape
    grid = xr.DataArray(
        tile.values,
        dims=["row", "column"],
        coords={
            "row": _centres(tile.rows, height),
            "column": _centres(tile.cols, width),
        },
        name="share",
    )
    canvas = ds.Canvas(pixels, pixels, x_range=tile.cols, y_range=tile.rows)
    shown = canvas.raster(grid, interpolate="nearest", agg="mean")
    return hv.Image(
        (shown["column"].values, shown["row"].values, shown.values.astype(np.float32)),
        kdims=["column", "row"],
        vdims=["share"],
    )


def cluster_strips(
    colours: np.ndarray, rows: tuple[int, int], cols: tuple[int, int], view: Viewport
) -> hv.Overlay:
    """Draw the cluster of each row and column along the edges of what is in view.

    Parameters
    ----------
    colours : array of uint8, shape (n_samples, 3)
        Colour of each position of the ordering.
    rows, cols : pair of int
        Half-open ranges of positions in view.
    view : pair of ranges
        x and y range of the frame.
    """
    (x0, x1), (y0, y1) = view
    wide, high = STRIP * (x1 - x0), STRIP * (y1 - y0)
    left = hv.RGB(
        _thin(colours[slice(*rows)])[::-1, None],
        bounds=(x0, rows[0], x0 + wide, rows[1]),
        kdims=["column", "row"],
    )
    top = hv.RGB(
        _thin(colours[slice(*cols)])[None],
        bounds=(cols[0], y0, cols[1], y0 + high),
        kdims=["column", "row"],
    )
    return left * top


def _thin(colours: np.ndarray, pixels: int = 600) -> np.ndarray:
    """Take one colour per pixel where there are more positions than pixels."""
    if len(colours) <= pixels:
        return colours
    return colours[(np.arange(pixels) * len(colours)) // pixels]


def _centres(span: tuple[int, int], count: int) -> np.ndarray:
    """Return the centres of count equal bins of a half-open span."""
    edges = np.linspace(*span, count + 1)
    return (edges[:-1] + edges[1:]) / 2


def map_view(xy: np.ndarray) -> Viewport:
    """Return square x and y ranges of equal scale that show all points."""
    low, high = xy.min(axis=0), xy.max(axis=0)
    centre, half = (low + high) / 2, max(0.53 * float((high - low).max()), 1e-9)
    x, y = ((float(c - half), float(c + half)) for c in centre)
    return x, y


def sample_map(
    xy: np.ndarray,
    colours: np.ndarray,
    view: Viewport,
    *,
    pixels: int,
    lit: np.ndarray | None = None,
) -> hv.RGB:
    """Draw the samples as points; where some are lit the others fade.

    Parameters
    ----------
    xy : array of float, shape (n_samples, 2)
        Coordinates.
    colours : array of uint8, shape (n_samples, 3)
        Colour of each sample; a pixel shows the mean of its samples.
    view : pair of ranges
        x and y range of the frame.
    pixels : int
        Width and height of the picture.
    lit : array of int, optional
        Positions of samples to light up.
    """
    size = _point_size(len(xy), pixels)
    if lit is None or not len(lit):
        picture = _points(xy, colours, view, pixels, size)
    else:
        grey = np.broadcast_to(np.uint8([150, 155, 163]), colours.shape)
        faded = _points(xy, grey, view, pixels, size, alpha=70)
        bright = _points(xy[lit], colours[lit], view, pixels, size + 1)
        picture = tf.stack(faded, bright)
    rgba = picture.to_numpy().view(np.uint8).reshape(pixels, pixels, 4)
    (x0, x1), (y0, y1) = view
    return hv.RGB(rgba[::-1], bounds=(x0, y0, x1, y1), kdims=["x", "y"])


def _points(
    xy: np.ndarray,
    colours: np.ndarray,
    view: Viewport,
    pixels: int,
    size: int,
    alpha: int = 255,
) -> tf.Image:
    """Average the colours of the samples in each pixel, then enlarge the points."""
    frame = pd.DataFrame(
        {"x": xy[:, 0], "y": xy[:, 1]}
        | {c: colours[:, k].astype(np.float32) for k, c in enumerate("rgb")}
    )
    canvas = ds.Canvas(pixels, pixels, x_range=view[0], y_range=view[1])
    means = canvas.points(
        frame, "x", "y", ds.summary(r=ds.mean("r"), g=ds.mean("g"), b=ds.mean("b"))
    )
    channels = np.stack([means[c].to_numpy() for c in "rgb"], axis=-1)
    hit = np.isfinite(channels[..., 0])
    rgba = np.zeros((pixels, pixels, 4), np.uint8)
    rgba[hit, :3] = np.rint(channels[hit])
    rgba[hit, 3] = alpha
    image = tf.Image(rgba.view(np.uint32)[..., 0], coords=means.coords, dims=["y", "x"])
    return tf.spread(image, px=size)


def _point_size(n_samples: int, pixels: int) -> int:
    """Return how far points are spread, so that few are seen and many do not clog."""
    return int(np.clip(round(0.011 * pixels - 0.9 * np.log10(n_samples)), 0, 5))


def plain_frame(plot: Any, element: Any) -> None:
    """Hook: no logo, and the background of the card in light and dark."""
    plot.state.toolbar.logo = None
    plot.state.update(border_fill_alpha=0, background_fill_alpha=0)


def report_zoom_at_once(plot: Any, element: Any) -> None:
    """Hook: report the end of a wheel zoom at once instead of after half a second."""
    plot.state.lod_timeout = 50


def ring(x: float, y: float) -> hv.Points:
    """Mark one sample."""
    return hv.Points([(x, y)] if np.isfinite([x, y]).all() else [], kdims=["x", "y"])


def threshold_curves(
    ranks: np.ndarray, names: Sequence[str], dashes: Sequence[str]
) -> hv.Overlay:
    """Draw the rank of each given model at every threshold.

    Parameters
    ----------
    ranks : array of int, shape (n_models, n_thresholds)
        Rank of each model when pairs need 0, 1, ... agreeing models.
    names : sequence of str
        Names of the models.
    dashes : sequence of str
        Line pattern of each model.
    """
    curves = [
        hv.Curve(
            (np.arange(ranks.shape[1]), rank), "threshold", "rank", label=name
        ).opts(line_dash=dash)
        for rank, name, dash in zip(ranks, names, dashes, strict=True)
    ]
    return hv.Overlay(curves)
