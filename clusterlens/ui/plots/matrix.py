"""The consensus matrix and its binarised form."""

from __future__ import annotations

from typing import Any, Literal

import datashader.transfer_functions as tf
import holoviews as hv
import numpy as np
from bokeh.palettes import Viridis256

from clusterlens.compute._validation import check_choice
from clusterlens.compute.consensus.ordering import order_samples
from clusterlens.compute.consensus.tile_source import TileSource
from clusterlens.compute.consensus.tiles import Kind, Tile, consensus_tile
from clusterlens.compute.ensemble.ensemble import Ensemble, check_ensemble
from clusterlens.ui.plots.backend import bokeh, matplotlib, styled

Shading = Literal["linear", "eq_hist"]

_CONSENSUS = list(Viridis256)
_BINARISED = "#3a6ea5"
CLEAREST = 20
# From nearly clear to full, so that it reads on a light and on a dark page.
BINARISED_PALETTE = tuple(
    f"{_BINARISED}{alpha:02x}" for alpha in range(CLEAREST, 256, 5)
)
_SIZE = 420


def draw_matrix(tile: Tile, shading: Shading = "linear") -> hv.Overlay:
    """Draw a tile: a rectangle of colour for each of its values.

    Parameters
    ----------
    tile : Tile
        Part of the consensus matrix or of its binarised form.
    shading : {"linear", "eq_hist"}, default "linear"
        Whether colours run evenly over the shares, or over the pixels.

    Returns
    -------
    picture : holoviews.Overlay
        The colours, and over them an image of the values, clear, for hover. The axes
        are positions in the order of the samples; rows run downwards.
    """
    (r0, r1), (c0, c1) = tile.rows, tile.cols
    where: dict[str, Any] = {"bounds": (c0, r0, c1, r1), "kdims": ["column", "row"]}
    # An array of HoloViews has the highest y first.
    colours = hv.RGB(shade_matrix(tile, shading)[::-1], **where)
    palette = _CONSENSUS if tile.kind == "consensus" else list(BINARISED_PALETTE)
    values = hv.Image(tile.values[::-1], vdims=["share"], **where)
    values = styled(
        values,
        bokeh("Image", alpha=0, cmap=palette, clim=(0, 1)),
        matplotlib("Image", cmap=palette, clim=(0, 1), aspect="square"),
    )
    axes = {"xaxis": None, "yaxis": None, "invert_yaxis": True}
    return styled(
        colours * values, bokeh("Overlay", **axes), matplotlib("Overlay", **axes)
    )


def shade_matrix(tile: Tile, shading: Shading = "linear") -> np.ndarray:
    """Return the colours of a tile, uint8 of shape (h, w, 4), the first row first."""
    how: dict[str, Any] = {"how": shading}
    if shading == "linear":
        how["span"] = (0, 1)
    if tile.kind == "consensus":
        how["cmap"] = _CONSENSUS
    else:
        how |= {"cmap": _BINARISED, "min_alpha": CLEAREST}
    shaded = tf.shade(tf.Image(tile.values, dims=["row", "column"]), **how).values
    return shaded.view(np.uint8).reshape(*shaded.shape, 4)


def plot_consensus(
    ensemble: Ensemble,
    by: str = "tree",
    *,
    kind: Kind = "consensus",
    threshold: int | None = None,
) -> Any:
    """Draw the consensus matrix of an ensemble, or its binarised form.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    by : {"tree", "file"}, default "tree"
        Order of the samples, as in `order_samples`.
    kind : {"consensus", "binarised"}, default "consensus"
        Share of the partitions that join two samples, or whether enough of them do.
    threshold : int, optional
        Partitions that must agree for "binarised"; by default the mean rule.

    Returns
    -------
    picture : holoviews.Overlay
        The colours, and over them an image of the values, clear, for hover: one per
        pixel, as from `consensus_tile`. O(n T) time and memory.

    Examples
    --------
    >>> import clusterlens as cl
    >>> cl.plot_consensus(cl.Ensemble([[0, 0, 1, 1], [0, 0, 0, 1]]))
    :Overlay
       .RGB.I   :RGB   [column,row]   (R,G,B,A)
       .Image.I :Image   [column,row]   (share)
    """
    check_ensemble(ensemble)
    check_choice(by, ("tree", "file"), name="by")
    check_choice(kind, ("consensus", "binarised"), name="kind")
    source = TileSource(ensemble, order_samples(ensemble, by))
    tile = consensus_tile(source, shape=(_SIZE, _SIZE), kind=kind, threshold=threshold)
    return styled(
        draw_matrix(tile),
        bokeh("Image", colorbar=True, tools=["hover"]),
        bokeh("Overlay", frame_width=_SIZE, frame_height=_SIZE),
        matplotlib("Image", colorbar=True),
        matplotlib("Overlay", fig_inches=5),
    )
