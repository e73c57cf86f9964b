"""Picture of the evidence for a number of clusters, against data without groups."""

from __future__ import annotations

from typing import Any

import holoviews as hv
import numpy as np

from clusterlens.compute.pool.k_selection import KSelection, copy_name
from clusterlens.ui.plots.backend import (
    ACCENT,
    bokeh,
    check_result,
    frame,
    matplotlib,
    styled,
)

DATA = "#0b8a8a"
COPIES = {"gaussian": "#7b838c", "uniform": "#b9bfc6", "permuted": "#b58a5a"}
_APART = 0.12


def plot_k_evidence(selection: KSelection, k: int | None = None) -> Any:
    """Draw the evidence for each number of clusters, or the consensus at one number.

    Parameters
    ----------
    selection : KSelection
        As from `select_k`.
    k : int, optional
        A number that was compared; the distribution of its consensus is drawn.

    Returns
    -------
    plot : holoviews.Overlay
        Without `k` the share of ambiguous pairs (PAC, lower is clearer) of the data
        for each number of clusters, over bars from the least to the largest share of
        the copies of each kind; a ring marks the number that stands out. With `k` the
        share of the pairs with a consensus of at most 0 to 1, over bands of the same.

    Raises
    ------
    ValueError
        If `k` was not compared.

    Examples
    --------
    >>> import clusterlens as cl
    >>> X = np.repeat([[0.0, 0.0], [9.0, 3.0], [3.0, 9.0]], 20, axis=0)
    >>> X += np.random.default_rng(0).normal(size=X.shape)
    >>> how = {"n_resamples": 5, "n_draws": 4, "level": 0.2, "n_jobs": 1}
    >>> cl.plot_k_evidence(cl.select_k(X, [2, 3], **how), k=3).Curve.Data
    :Curve   [consensus]   (share of pairs)
    """
    check_result(selection, KSelection, "select_k")
    return _shares(selection) if k is None else _distribution(selection, k)


def _shares(selection: KSelection) -> Any:
    """Draw the share of ambiguous pairs for every k."""
    numbers = selection.n_clusters.astype(float)
    dims = ["number of clusters", "ambiguous pairs", "to", "at"]
    parts = []
    for place, (kind, curves) in enumerate(selection.references.items()):
        x = numbers + _APART * (place - (len(selection.references) - 1) / 2)
        low, high = curves.pac.min(axis=0), curves.pac.max(axis=0)
        bars = hv.Segments((x, low, x, high), dims, label=_copies(selection, kind))
        parts.append(
            styled(
                bars,
                bokeh("Segments", color=COPIES[kind], line_width=7),
                matplotlib("Segments", color=COPIES[kind], linewidth=5),
            )
        )
    values = {
        "ambiguous pairs": selection.data.pac,
        "p value": selection.p_value,
        "stability": selection.data.stability,
        "valley": selection.data.valley,
    }
    points = hv.Scatter((numbers, *values.values()), dims[0], list(values))
    parts.append(
        styled(
            points.relabel("data"),
            bokeh("Scatter", color=DATA, size=9, tools=["hover"]),
            matplotlib("Scatter", color=DATA, s=36),
        )
    )
    if selection.k is not None:
        ring = points.select(**{dims[0]: float(selection.k)})
        parts.append(
            styled(
                ring.relabel("stands out"),
                bokeh("Scatter", size=17, line_width=2, color=None, line_color=ACCENT),
                matplotlib("Scatter", s=160, facecolors="none", edgecolors=ACCENT),
            )
        )
    ticks = selection.n_clusters.tolist()
    limits = (numbers[0] - 0.5, numbers[-1] + 0.5)
    return styled(
        hv.Overlay(parts),
        *frame("Overlay", legend_position="right", xticks=ticks, xlim=limits),
    )


def _distribution(selection: KSelection, k: int) -> Any:
    """Draw the distribution of the consensus at one k."""
    found = np.flatnonzero(selection.n_clusters == k)
    if not len(found):
        compared = ", ".join(map(str, selection.n_clusters))
        raise ValueError(f"k = {k} was not compared; give one of {compared}.")
    at, x = int(found[0]), selection.consensus
    dims = ["consensus", "share of pairs"]
    parts = []
    for kind, curves in selection.references.items():
        shares = curves.cdf[:, at]
        band = hv.Area(
            (x, shares.min(axis=0), shares.max(axis=0)),
            dims[0],
            [dims[1], "largest share"],
            label=_copies(selection, kind),
        )
        parts.append(
            styled(
                band,
                bokeh("Area", color=COPIES[kind], alpha=0.55, line_alpha=0),
                matplotlib(
                    "Area",
                    color=COPIES[kind],
                    facecolor=COPIES[kind],
                    alpha=0.55,
                    linewidth=0,
                    show_legend=True,
                ),
            )
        )
    curve = hv.Curve((x, selection.data.cdf[at]), *dims, label="data")
    parts.append(
        styled(
            curve,
            bokeh("Curve", color=DATA, line_width=2.2),
            matplotlib("Curve", color=DATA, linewidth=2.2),
        )
    )
    shared: dict[str, Any] = {"xlim": (0, 1), "ylim": (0, 1), "title": f"k = {k}"}
    return styled(
        hv.Overlay(parts), *frame("Overlay", legend_position="right", **shared)
    )


def _copies(selection: KSelection, kind: str) -> str:
    return f"{len(selection.references[kind].pac)} {copy_name(kind)} copies"
