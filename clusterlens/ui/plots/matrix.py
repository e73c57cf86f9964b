"""Pictures of the consensus matrix and of its binarised form."""

from __future__ import annotations

from typing import Any, Literal

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
# The first colour is nearly transparent, so that it suits light and dark pages.
BINARISED_PALETTE = tuple(
    f"{_BINARISED}{alpha:02x}" for alpha in range(CLEAREST, 256, 5)
)
_SHARE = hv.Dimension("share", range=(0, 1))
_SIZE = 420
# Colours of a linearly shaded matrix: ascending shares with their colours.
LINEAR_SCALE = [(k / 16, _CONSENSUS[k * 255 // 16]) for k in range(17)]
# Number of colours in a scale that is derived from a picture.
_STOPS = 33


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
    return _lay(tile, shade_matrix(tile, shading))


def empty_matrix() -> hv.Overlay:
    """Return an empty picture, shown until the first tile is ready."""
    nothing = np.full((1, 1), np.nan, np.float32)
    tile = Tile(nothing, np.arange(2), np.arange(2), "consensus", None, exact=True)
    return _lay(tile, np.zeros((1, 1, 4), np.uint8))


def _lay(tile: Tile, colours: np.ndarray) -> hv.Overlay:
    """Lay the values of a tile, transparent, over its colours, for hover."""
    (r0, r1), (c0, c1) = tile.rows, tile.cols
    where: dict[str, Any] = {"bounds": (c0, r0, c1, r1), "kdims": ["column", "row"]}
    palette = _CONSENSUS if tile.kind == "consensus" else list(BINARISED_PALETTE)
    # HoloViews expects the highest y first in an array.
    values = styled(
        hv.Image(tile.values[::-1], vdims=[_SHARE], **where),
        bokeh("Image", alpha=0, cmap=palette, clim=(0, 1)),
        matplotlib("Image", cmap=palette, clim=(0, 1), aspect="square"),
    )
    axes: dict[str, Any] = {"xaxis": None, "yaxis": None, "invert_yaxis": True}
    picture = hv.RGB(colours[::-1], **where) * values
    return styled(picture, bokeh("Overlay", **axes), matplotlib("Overlay", **axes))


def shade_matrix(tile: Tile, shading: Shading = "linear") -> np.ndarray:
    """Return the colours of a tile, uint8 of shape (h, w, 4), the first row first."""
    # Imported here because the first page does without it.
    import datashader.transfer_functions as tf

    how: dict[str, Any] = {"how": shading}
    if shading == "linear":
        how["span"] = (0, 1)
    if tile.kind == "consensus":
        how["cmap"] = _CONSENSUS
    else:
        how |= {"cmap": _BINARISED, "min_alpha": CLEAREST}
    shaded = tf.shade(tf.Image(tile.values, dims=["row", "column"]), **how).values
    return shaded.view(np.uint8).reshape(*shaded.shape, 4)


def scale_of(picture: hv.Overlay) -> list[tuple[float, str]]:
    """Return ascending shares of a picture with the colours that stand for them."""
    shares = picture.Image.I.dimension_values("share")
    seen = np.flatnonzero(np.isfinite(shares))
    if not len(seen):
        return []
    # Quantiles of the pixels, with the least and the largest value.
    places = np.unique(np.linspace(0, len(seen) - 1, _STOPS).astype(int))
    some = seen[np.argpartition(shares[seen], places)[places]]
    red, green, blue = (picture.RGB.I.dimension_values(k)[some] for k in "RGB")
    return [
        (float(share), f"#{r:02x}{g:02x}{b:02x}")
        for share, r, g, b in zip(shares[some], red, green, blue, strict=True)
    ]


def plot_consensus(
    ensemble: Ensemble,
    by: Literal["tree", "file"] = "tree",
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
