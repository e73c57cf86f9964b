"""Picture of the criterion of CNS over neighbourhood sizes and alphas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import holoviews as hv
import numpy as np

from clusterlens.compute.estimators.cns.criterion import CriterionGrid
from clusterlens.ui.plots.backend import (
    ACCENT,
    bokeh,
    check_result,
    coloured,
    frame,
    matplotlib,
    styled,
)
from clusterlens.ui.widgets.palette import shades

ALPHA_TICKS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8]
_INK = "#14181d"
PALETTE = ["#{:02x}{:02x}{:02x}".format(*c) for c in shades(np.linspace(0, 1, 64))]

Setting = tuple[float, float]


def plot_criterion(
    grid: CriterionGrid,
    n_clusters: int | None = None,
    *,
    setting: Setting | None = None,
    chosen: Setting | None = None,
    tried: Iterable[Setting] = (),
) -> Any:
    """Draw the criterion of CNS over its two parameters, at one number of clusters.

    Parameters
    ----------
    grid : CriterionGrid
        As from `CNS.criterion_grid` or `CNSGraph.criterion_grid`.
    n_clusters : int, optional
        Number of seeds K. Default: where the criterion is highest.
    setting : (int, float), optional
        Neighbourhood size and alpha to mark with a circle.
    chosen : (int, float), optional
        Those to mark with a diamond. Default: where the criterion is highest over all
        numbers of clusters.
    tried : iterable of (int, float), optional
        Those to mark with small diamonds.

    Returns
    -------
    plot : holoviews.Overlay
        Neighbourhood sizes to the right, alpha upwards on a logarithmic axis; darker is
        higher, values below 0 have the colour of 0, and none are left empty.

    Examples
    --------
    >>> import clusterlens as cl
    >>> cns = cl.CNS().fit(cl.load_example("iris").table.iloc[:, :4])
    >>> cl.plot_criterion(cns.criterion_grid()).QuadMesh.I
    :QuadMesh   [neighbours,alpha]   (criterion)
    """
    check_result(grid, CriterionGrid, "criterion_grid")
    best = grid.choice()
    n_clusters = best.n_clusters if n_clusters is None else n_clusters
    chosen = (best.n_neighbors, best.alpha) if chosen is None else chosen
    values = grid.at(n_clusters).to_numpy()
    low, high = colour_range(values)
    x, y = grid.n_neighbors.astype(float), np.exp(edges_of(np.log(grid.alphas)))
    mesh = hv.QuadMesh(
        (edges_of(x), y, np.maximum(values, low).T),
        ["neighbours", "alpha"],
        "criterion",
    )
    label = f"criterion at K = {n_clusters}"
    plot = styled(
        mesh,
        bokeh("QuadMesh", line_alpha=0, tools=["hover"]),
        *coloured(PALETTE, (low, high), clabel=label),
    )
    for places, size, marker, fill, line in (
        (list(tried), 7, "diamond", "white", _INK),
        ([chosen], 15, "diamond", _INK, "white"),
        ([] if setting is None else [setting], 11, "circle", "white", ACCENT),
    ):
        if places:
            plot = plot * _marks(places, size, marker, fill, line)
    # Matplotlib would write numbers as powers of ten, so ticks are texts.
    ticks = [(alpha, f"{alpha:g}") for alpha in ALPHA_TICKS if y[0] <= alpha <= y[-1]]
    shared: dict[str, Any] = {
        "logy": True,
        "yticks": ticks,
        "xlim": tuple(edges_of(x)[[0, -1]].tolist()),
        "ylim": (float(y[0]), float(y[-1])),
        "ylabel": "alpha, the stopping probability",
    }
    return styled(
        plot,
        *frame("Overlay", **shared),
        matplotlib("Overlay", hooks=[_no_minor_ticks]),
    )


def _no_minor_ticks(plot: Any, element: Any) -> None:
    """Remove the powers of ten that Matplotlib writes between the ticks."""
    plot.handles["axis"].minorticks_off()


def colour_range(values: np.ndarray) -> tuple[float, float]:
    """Return the values of the lightest and of the darkest colour.

    Below 0 nothing is gained, and some values lie far below.
    """
    known = values[np.isfinite(values)]
    low = max(float(known.min()), 0.0) if len(known) else 0.0
    return low, max(float(known.max()) if len(known) else 1.0, low + 1e-12)


def _marks(places: list[Setting], size: int, marker: str, fill: str, line: str) -> Any:
    """Mark settings with a symbol, a diamond or a circle."""
    return styled(
        hv.Points(places, ["neighbours", "alpha"]),
        bokeh("Points", size=size, marker=marker, fill_color=fill, line_color=line),
        matplotlib(
            "Points",
            s=(0.75 * size) ** 2,
            marker="D" if marker == "diamond" else "o",
            facecolors=fill,
            edgecolors=line,
        ),
    )


def edges_of(centres: np.ndarray) -> np.ndarray:
    """Return the n + 1 borders halfway between n ascending centres."""
    if len(centres) == 1:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    middle: Any = (centres[1:] + centres[:-1]) / 2
    first, last = 2 * centres[0] - middle[0], 2 * centres[-1] - middle[-1]
    return np.concatenate([[first], middle, [last]])
