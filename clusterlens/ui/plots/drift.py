"""Picture of the drift of columns from one table to another."""

from __future__ import annotations

from typing import Any

import holoviews as hv
import numpy as np

from clusterlens.compute._validation import check_range
from clusterlens.compute.assigning.drift import Drift
from clusterlens.ui.plots.backend import (
    MUTED,
    SECOND,
    bokeh,
    check_result,
    frame,
    matplotlib,
    styled,
)

_HALF = 0.31
_DIMENSIONS = ["stability index", "column", "to", "at"]


def plot_drift(drift: Drift, n: int = 30) -> Any:
    """Draw how far each column has moved, the most changed at the top.

    Parameters
    ----------
    drift : Drift
        As from `Segmentation.drift`.
    n : int, default 30
        How many columns.

    Returns
    -------
    plot : holoviews.Overlay
        A bar per column as long as its population stability index (PSI), coloured
        where it has moved; a line is what an unchanged column is expected to have in
        tables of this size.

    Examples
    --------
    >>> import clusterlens as cl
    >>> iris = cl.prepare(cl.load_example("iris"))
    >>> kept = cl.Segmentation(iris, iris.labels_true)
    >>> cl.plot_drift(kept.drift(iris.table.iloc[:60])).Segments.I
    :Segments   [stability index,column,to,at]
    """
    check_result(drift, Drift, "Segmentation.drift")
    check_range(n, 1, np.inf, name="n", integer=True)
    columns = drift.columns.head(n).iloc[::-1]
    places = np.arange(len(columns))
    low, high = places - _HALF, places + _HALF
    psi, moved = columns["psi"].to_numpy(), columns["moved"].to_numpy(dtype=bool)
    parts = []
    for some, colour in ((~moved, MUTED), (moved, SECOND)):
        bars = hv.Rectangles(
            (np.zeros(some.sum()), low[some], psi[some], high[some]), _DIMENSIONS
        )
        parts.append(
            styled(
                bars,
                bokeh("Rectangles", color=colour, line_color=None, tools=["hover"]),
                matplotlib("Rectangles", color=colour, linewidth=0),
            )
        )
    expected = columns["expected"].to_numpy()
    lines = hv.Segments((expected, low, expected, high), _DIMENSIONS)
    parts.append(
        styled(
            lines,
            bokeh("Segments", color="black", line_width=2),
            matplotlib("Segments", color="black", linewidth=1.5),
        )
    )
    shared = {
        "yticks": list(enumerate(columns["column"].astype(str))),
        "ylabel": "",
        "xlabel": "population stability index",
        "ylim": (-0.7, len(columns) - 0.3),
    }
    height = 60 + 18 * len(columns)
    return styled(
        hv.Overlay(parts), *frame("Overlay", width=620, height=height, **shared)
    )
