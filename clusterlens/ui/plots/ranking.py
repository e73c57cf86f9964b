"""The ranking: the scores of its first models."""

from __future__ import annotations

from typing import Any

import holoviews as hv
import numpy as np

from clusterlens.compute._validation import check_range
from clusterlens.compute.ranking.ranking import Ranking
from clusterlens.ui.plots.backend import use_bokeh


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
    use_bokeh()
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
