"""Pictures for print: the map, the matrices and the ranking as PNG or SVG.

Drawn by Matplotlib from the results that are on screen; nothing is computed again but
the pixels of the matrices. Clusters have their colours of the screen.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from clusterlens.compute._numbers import percent, whole
from clusterlens.compute.consensus.ordering import order_samples
from clusterlens.compute.consensus.tile_source import TileSource
from clusterlens.compute.consensus.tiles import consensus_tile
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.estimators.cns.criterion import CriterionGrid
from clusterlens.compute.estimators.cns.graph import LiveSolution
from clusterlens.compute.ranking.ranking import SCORES, Ranking
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.figures.criterion_map import ALPHA_TICKS
from clusterlens.ui.kit.palette import (
    LINK_COLOURS,
    SHADES,
    certain_colours,
    cluster_colour,
    cluster_colours,
    cluster_name,
)
from clusterlens.ui.kit.words import voters
from clusterlens.ui.nodes.links import LinkState
from clusterlens.ui.pages.cns.nodes import Setting
from clusterlens.ui.plots.matrix import BINARISED_PALETTE

Format = Literal["png", "svg"]
FORMATS: tuple[Format, ...] = ("png", "svg")
# Dots per inch of pixels; 16 cm is the width of a page of text.
DPI = 300
WIDTH_INCHES = 6.3
_PIXELS = 900
_SHOWN_MODELS = 25
_SHOWN_CLUSTERS = 12
# More points than this are drawn as pixels in an SVG, too.
_MOST_VECTORS = 5000
_CANVAS = {"png": FigureCanvasAgg, "svg": FigureCanvasSVG}


def to_bytes(figure: Figure, kind: Format) -> bytes:
    """Return a figure as the content of a file."""
    out = io.BytesIO()
    _CANVAS[kind](figure)
    figure.savefig(
        out, format=kind, dpi=DPI, metadata={"Date": None} if kind == "svg" else None
    )
    return out.getvalue()


def draw_map(
    projection: Projection,
    clusters: np.ndarray,
    links: Sequence[LinkState],
    names: Mapping[int, str],
) -> Figure:
    """Draw the samples on two components, coloured by cluster, with the links.

    Parameters
    ----------
    projection : Projection
        Of n samples.
    clusters : array of int, shape (n,)
        Cluster of each sample, negative for noise.
    links : sequence of LinkState
        Those of samples that the run has are drawn.
    names : mapping of int to str
        What clusters are called.
    """
    figure, axes = _figure(0.72)
    points = _scatter(axes, projection, cluster_colours(clusters))
    for state in links:
        if state.ends is not None:
            axes.plot(
                *points[list(state.ends)].T,
                color=LINK_COLOURS[state.link.kind],
                linestyle="-" if state.link.kind == "must" else "--",
                linewidth=1.2,
                marker="o",
                markersize=4,
                markerfacecolor="none",
            )
    _cluster_legend(axes, clusters, names)
    return figure


def draw_memberships(projection: Projection, solution: LiveSolution) -> Figure:
    """Draw the samples paler where CNS is uncertain of them, and its seeds as stars.

    Parameters
    ----------
    projection : Projection
        Of n samples.
    solution : LiveSolution
        Of the same samples.
    """
    figure, axes = _figure(0.72)
    labels = np.where(solution.undecided, -1, solution.labels)
    colours = certain_colours(labels, solution.certainty, solution.n_clusters)
    points = _scatter(axes, projection, colours)
    for place, (x, y) in enumerate(points[solution.seeds]):
        axes.plot(
            x, y, marker="*", markersize=11, color="#14181d", markeredgecolor="white"
        )
        axes.annotate(
            f"{place + 1}",
            (x, y),
            (5, 4),
            textcoords="offset points",
            fontsize=9,
            fontweight="bold",
        )
    _cluster_legend(axes, labels)
    return figure


def draw_criterion(
    grid: CriterionGrid, solution: LiveSolution, automatic: Setting
) -> Figure:
    """Draw the criterion at the K of a solution over neighbourhoods and alpha.

    Parameters
    ----------
    grid : CriterionGrid
        Of the same table; negative values have the colour of 0.
    solution : LiveSolution
        Where one stands.
    automatic : Setting
        The setting that is chosen where nobody chooses.
    """
    figure, axes = _figure(0.5)
    values = grid.at(solution.n_clusters).to_numpy()
    mesh = axes.pcolormesh(
        grid.n_neighbors,
        grid.alphas,
        np.ma.masked_invalid(np.maximum(values, 0)).T,
        shading="nearest",
        cmap=LinearSegmentedColormap.from_list("shades", SHADES),
    )
    axes.set_yscale("log")
    low, high = grid.alphas.min(), grid.alphas.max()
    ticks = [alpha for alpha in ALPHA_TICKS if low <= alpha <= high]
    axes.set_yticks(ticks, labels=[f"{alpha:g}" for alpha in ticks])
    axes.minorticks_off()
    for x, y, marker, size in (
        (automatic.n_neighbors, automatic.alpha, "D", 8),
        (solution.n_neighbors, solution.alpha, "o", 6),
    ):
        axes.plot(
            x, y, marker, markersize=size, color="white", markeredgecolor="#14181d"
        )
    axes.set_xlabel("neighbours")
    axes.set_ylabel("alpha, the stopping probability")
    figure.colorbar(mesh, ax=axes, shrink=0.8).set_label(
        f"criterion at K = {solution.n_clusters}"
    )
    return figure


def draw_matrix(
    ensemble: Ensemble,
    clusters: np.ndarray,
    kind: Literal["consensus", "binarised"],
    threshold: int,
) -> Figure:
    """Draw the consensus or the binarised matrix, samples in the order of clusters."""
    figure, axes = _figure(0.82)
    order = order_samples(ensemble, "partition", partition=clusters)
    side = min(_PIXELS, ensemble.n_samples)
    source = TileSource(ensemble, order)
    binary = kind == "binarised"
    tile = consensus_tile(
        source,
        shape=(side, side),
        kind=kind,
        threshold=threshold if binary else None,
    )
    image = axes.imshow(
        tile.values,
        vmin=0,
        vmax=1,
        cmap=ListedColormap(BINARISED_PALETTE) if binary else "viridis",
        extent=(0, ensemble.n_samples, ensemble.n_samples, 0),
        interpolation="nearest",
    )
    edges = np.flatnonzero(np.diff(clusters[order])) + 1
    for side_of in (axes.set_xticks, axes.set_yticks):
        side_of([0, *edges, ensemble.n_samples], labels=[])
    bar = figure.colorbar(image, ax=axes, shrink=0.8)
    bar.set_label(
        f"joined by at least {threshold} of {voters(ensemble)}"
        if binary
        else f"share of the {voters(ensemble)} that join two samples"
    )
    return figure


def draw_ranking(ranking: Ranking, rows: np.ndarray) -> Figure:
    """Draw the leading models: the score, and what broken links add.

    Parameters
    ----------
    ranking : Ranking
        Of T models.
    rows : array of int
        Models to show, best first; the leading ones are drawn.
    """
    shown = rows[:_SHOWN_MODELS]
    figure, axes = _figure(0.1 + 0.034 * len(shown))
    places = np.arange(len(shown))
    alone = ranking.unconstrained[shown]
    axes.barh(places, alone, color="#0b6e6e", height=0.62)
    if ranking.violated.any():
        charge = ranking.values[shown] - alone
        axes.barh(places, charge, left=alone, color="#c2570c", height=0.62)
    names = [f"{ranking.ranks[t]}  {ranking.ensemble.names[t]}" for t in shown]
    axes.set_yticks(places, labels=[_plain(name) for name in names])
    axes.invert_yaxis()
    axes.set_xlabel(_plain(SCORES[ranking.score].title))
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure


def _figure(ratio: float) -> tuple[Figure, Any]:
    figure = Figure(figsize=(WIDTH_INCHES, WIDTH_INCHES * ratio), layout="constrained")
    axes = figure.subplots()
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _scatter(axes: Any, projection: Projection, colours: np.ndarray) -> np.ndarray:
    """Draw samples in colours (n, 3) on two components; return their places."""
    points = projection.coordinates[:, :2]
    if points.shape[1] < 2:
        points = np.column_stack([points, np.zeros(len(points))])
    axes.scatter(
        *points.T,
        c=colours / 255,
        s=float(np.clip(2e4 / len(points), 0.2, 14)),
        linewidths=0,
        rasterized=len(points) > _MOST_VECTORS,
    )
    axes.set_xlabel(_axis(projection, 0))
    axes.set_ylabel(_axis(projection, 1))
    axes.set_aspect("equal", adjustable="datalim")
    return points


def _axis(projection: Projection, at: int) -> str:
    share = projection.explained[at] if at < len(projection.explained) else 0.0
    return f"PC {at + 1}, {percent(share)} of the variance"


def _cluster_legend(
    axes: Any, clusters: np.ndarray, called: Mapping[int, str] | None = None
) -> None:
    """Name the clusters with their sizes, the first ones where there are many."""
    names, sizes = np.unique(clusters, return_counts=True)
    handles = [
        Line2D(
            [], [], linestyle="", marker="o", markersize=5,
            color=cluster_colour(int(k)),
            # Matplotlib leaves out what begins with an underscore.
            label=f"\u200b{cluster_name(int(k), called)}: {whole(size)}",
        )
        for k, size in zip(names, sizes, strict=True)
    ]  # fmt: skip
    more = len(handles) - _SHOWN_CLUSTERS
    if more > 0:
        handles = handles[:_SHOWN_CLUSTERS]
        handles.append(Line2D([], [], linestyle="", label=f"and {more} more"))
    legend = axes.legend(
        handles=handles,
        frameon=False,
        fontsize=7,
        loc="upper left",
        bbox_to_anchor=(1, 1),
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _plain(text: str) -> str:
    """Return a text that is not read as mathematics."""
    return text.replace("$", r"\$")
