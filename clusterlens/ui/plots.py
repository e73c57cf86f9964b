"""Plots for notebooks: one HoloViews element each."""

from __future__ import annotations

from typing import Any

import holoviews as hv
import numpy as np
import panel as pn
from bokeh.palettes import Viridis256

from clusterlens.compute._validation import check_choice, check_range
from clusterlens.compute.consensus.ordering import order_samples
from clusterlens.compute.consensus.tile_source import TileSource
from clusterlens.compute.consensus.tiles import consensus_tile
from clusterlens.compute.ensemble.ensemble import Ensemble, check_ensemble
from clusterlens.compute.ranking.ranking import Ranking
from clusterlens.ui.figures.matrix import BINARISED_PALETTE

_SIZE = 420


def plot_consensus(
    ensemble: Ensemble,
    by: str = "tree",
    *,
    kind: str = "consensus",
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
    image : holoviews.Image
        One value per pixel, as from `consensus_tile`; O(n T) time and memory.

    Examples
    --------
    >>> import clusterlens as cl
    >>> cl.plot_consensus(cl.Ensemble([[0, 0, 1, 1], [0, 0, 0, 1]]))
    :Image   [column,row]   (share)
    """
    _use_bokeh()
    check_ensemble(ensemble)
    check_choice(by, ("tree", "file"), name="by")
    check_choice(kind, ("consensus", "binarised"), name="kind")
    source = TileSource(ensemble, order_samples(ensemble, by))
    tile = consensus_tile(source, shape=(_SIZE, _SIZE), kind=kind, threshold=threshold)
    palette = Viridis256 if kind == "consensus" else BINARISED_PALETTE
    n = ensemble.n_samples
    bounds = (0, 0, n, n)
    image = hv.Image(
        tile.values, bounds=bounds, kdims=["column", "row"], vdims=["share"]
    )
    return image.opts(
        cmap=list(palette),
        clim=(0, 1),
        colorbar=True,
        frame_width=_SIZE,
        frame_height=_SIZE,
        xaxis=None,
        yaxis=None,
        tools=["hover"],
    )


def plot_ranking(ranking: Ranking, n: int = 30) -> Any:
    """Draw the scores of the first models of a ranking, with intervals of estimates.

    Parameters
    ----------
    ranking : Ranking
        As from `rank_partitions`.
    n : int, default 30
        How many models.

    Returns
    -------
    plot : holoviews.Overlay
        The most typical model at the top.
    """
    if not isinstance(ranking, Ranking):
        raise ValueError(
            f"ranking is {type(ranking).__name__}; give what rank_partitions returns."
        )
    check_range(n, 1, np.inf, name="n", integer=True)
    _use_bokeh()
    shown = ranking.order[:n][::-1]
    names = [f"{ranking.ranks[t]} · {ranking.ensemble.names[t]}" for t in shown]
    low, high = ranking.intervals[shown].T
    places = np.arange(len(shown))
    points = hv.Scatter((ranking.values[shown], places), "score", "model")
    lines = hv.Segments((low, places, high, places), ["score", "model", "to", "at"])
    ticks = list(zip(places.tolist(), names, strict=True))
    return (lines * points).opts(
        hv.opts.Scatter(size=7, color="#0b7d7d", tools=["hover"]),
        hv.opts.Segments(color="#0b7d7d", line_width=2),
        hv.opts.Overlay(
            yticks=ticks, height=60 + 18 * len(shown), width=620, ylabel=""
        ),
    )


def _use_bokeh() -> None:
    if "bokeh" not in hv.Store.renderers:
        pn.extension()
        hv.extension("bokeh", logo=False)
