"""Picture of the ranks of the leading models at every threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import holoviews as hv
import numpy as np

from clusterlens.compute._validation import check_range
from clusterlens.compute.ensemble.agreement import Agreement
from clusterlens.compute.ensemble.ensemble import distinct_partitions
from clusterlens.compute.ranking.ranking import rank_values
from clusterlens.compute.ranking.scores import threshold_scores
from clusterlens.ui.plots.backend import (
    MUTED,
    bokeh,
    check_result,
    frame,
    matplotlib,
    styled,
)

SHOWN_RANKS = 20
# Line patterns by their names in Bokeh and in Matplotlib.
DASHES = {"solid": "-", "dashed": "--", "dotdash": "-.", "dotted": ":"}


def plot_threshold(agreement: Agreement, n: int = 3) -> Any:
    """Draw the rank of the leading models for every number of models that must agree.

    Parameters
    ----------
    agreement : Agreement
        As from `count_agreements`.
    n : int, default 3
        Number of distinct models; the leaders at the mean rule are drawn.

    Returns
    -------
    plot : holoviews.Overlay
        A curve per model over the thresholds 0 to `n_votes` + 1, rank 1 at the top;
        a solid line where the mean rule puts the threshold, a dotted one where a
        majority does. Ranks below 20 are drawn as 21. O(T²) time.

    Examples
    --------
    >>> import clusterlens as cl
    >>> ensemble = cl.Ensemble([[0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1]])
    >>> plot = cl.plot_threshold(cl.count_agreements(ensemble))
    >>> plot.NdOverlay.I
    :NdOverlay   [model]
       :Curve   [threshold]   (rank)
    """
    check_result(agreement, Agreement, "count_agreements")
    check_range(n, 1, np.inf, name="n", integer=True)
    ensemble = agreement.ensemble
    ranks = rank_values(threshold_scores(agreement), False)
    order = np.argsort(ranks[:, agreement.threshold], kind="stable")
    group = distinct_partitions(ensemble)[1]
    first = np.sort(np.unique(group[order], return_index=True)[1])[:n]
    leaders = order[first]
    marks = (agreement.threshold, ensemble.n_votes // 2 + 1)
    names = [ensemble.names[t] for t in leaders]
    plot = draw_ranks(ranks[leaders], names, *marks)
    return styled(plot, *frame("Overlay", height=260, legend_position="right"))


def draw_ranks(
    ranks: np.ndarray, names: Sequence[str], mean: int, majority: int
) -> Any:
    """Draw ranks over thresholds, and two thresholds that stand for themselves.

    Parameters
    ----------
    ranks : array of int, shape (n_models, n_thresholds)
        Rank of each model when pairs need 0, 1, ... agreeing models.
    names : sequence of str
        Of the models.
    mean, majority : int
        Where the mean rule and a majority stand.
    """
    thresholds = np.arange(ranks.shape[1])
    lowest = min(SHOWN_RANKS, max(3, int(ranks.max(initial=1)))) + 0.7
    patterns = list(DASHES.items())
    curves = {}
    for place, (name, line) in enumerate(zip(names, ranks, strict=True)):
        dash, pattern = patterns[place % len(patterns)]
        shown = np.minimum(line, SHOWN_RANKS + 1)
        curves[f"{place + 1}. {name}"] = styled(
            hv.Curve((thresholds, shown), "threshold", "rank"),
            bokeh("Curve", color=MUTED, line_dash=dash, line_width=1.6),
            matplotlib("Curve", color=MUTED, linestyle=pattern, linewidth=1.6),
        )
    lines = [
        styled(
            hv.VLine(at),
            bokeh("VLine", color="#98a0a8", line_dash=dash, line_width=1),
            matplotlib("VLine", color="#98a0a8", linestyle=DASHES[dash], linewidth=1),
        )
        for at, dash in ((mean, "solid"), (majority, "dotted"))
    ]
    shared = {
        "xlim": (0, len(thresholds) - 1),
        "ylim": (0.3, lowest),
        "yticks": [rank for rank in (1, 5, 10, SHOWN_RANKS) if rank < lowest],
        "xlabel": "models that must agree",
        "ylabel": "rank",
        "invert_yaxis": True,
    }
    return styled(
        hv.NdOverlay(curves, "model", sort=False) * lines[0] * lines[1],
        bokeh("Overlay", **shared),
        matplotlib("Overlay", **shared),
    )
