"""Picture of the scores of the first models of a ranking."""

from __future__ import annotations

from typing import Any

import holoviews as hv
import numpy as np
import numpy.typing as npt

from clusterlens.compute._validation import check_range
from clusterlens.compute.ranking.ranking import SCORES, Ranking
from clusterlens.ui.plots.backend import (
    ACCENT,
    SECOND,
    bokeh,
    check_result,
    frame,
    matplotlib,
    styled,
)

_CORNERS = ["score", "model", "to", "at"]
_HALF = 0.31


def plot_ranking(
    ranking: Ranking, n: int = 30, *, models: npt.ArrayLike | None = None
) -> Any:
    """Draw the scores of the first models of a ranking.

    Parameters
    ----------
    ranking : Ranking
        As from `rank_partitions`.
    n : int, default 30
        How many models.
    models : array-like of int, optional
        Positions of the models to choose from, in the order to show. Default: all of
        the ranking, the most typical first.

    Returns
    -------
    plot : holoviews.Overlay
        A bar per model as long as its score, the first at the top; what broken links
        add or take away is a bar of another colour. A point is where the order is
        taken from, and a line its interval where scores are estimates.

    Examples
    --------
    >>> import clusterlens as cl
    >>> ensemble = cl.Ensemble([[0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1]])
    >>> cl.plot_ranking(cl.rank_partitions(ensemble))
    :Overlay
       .Rectangles.I :Rectangles   [score,model,to,at]
       .Segments.I   :Segments   [score,model,to,at]
       .Scatter.I    :Scatter   [score]   (model)
    """
    check_result(ranking, Ranking, "rank_partitions")
    check_range(n, 1, np.inf, name="n", integer=True)
    order = ranking.order if models is None else np.asarray(models, dtype=np.intp)
    shown = order[:n][::-1]
    places = np.arange(len(shown))
    values, alone = ranking.values[shown], ranking.unconstrained[shown]
    low, high = ranking.intervals[shown].T
    sides = places - _HALF, places + _HALF
    parts = [_bars(np.zeros(len(shown)), alone, sides, ACCENT)]
    if ranking.violated.any():
        parts.append(_bars(alone, values, sides, SECOND))
    parts.append(
        styled(
            hv.Segments((low, places, high, places), _CORNERS),
            bokeh("Segments", color="black", line_width=2),
            matplotlib("Segments", color="black", linewidth=1.5),
        )
    )
    points = hv.Scatter((values, places), "score", "model")
    parts.append(
        styled(
            points,
            bokeh("Scatter", size=5, color="black", tools=["hover"]),
            matplotlib("Scatter", s=9, color="black"),
        )
    )
    names = [f"{ranking.ranks[t]} · {ranking.ensemble.names[t]}" for t in shown]
    shared = {
        "yticks": list(zip(places.tolist(), names, strict=True)),
        "xlabel": SCORES[ranking.score].title,
        "ylabel": "",
        "ylim": (-0.7, len(shown) - 0.3),
    }
    height = 60 + 18 * len(shown)
    return styled(
        hv.Overlay(parts), *frame("Overlay", width=620, height=height, **shared)
    )


def _bars(
    start: np.ndarray, end: np.ndarray, sides: tuple[np.ndarray, ...], colour: str
) -> Any:
    """Return bars from start to end between two sides."""
    low, high = sides
    return styled(
        hv.Rectangles((start, low, end, high), _CORNERS),
        bokeh("Rectangles", color=colour, line_color=None),
        matplotlib("Rectangles", color=colour, linewidth=0),
    )
