"""Pictures for print: the elements of the plots as PNG or SVG, by Matplotlib.

Only the pixels are computed again. Clusters have their colours of the screen.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal, TypeGuard

import holoviews as hv
import holoviews.plotting.mpl  # loads the back end
import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from clusterlens.compute.consensus.ordering import order_samples
from clusterlens.compute.consensus.tile_source import TileSource
from clusterlens.compute.consensus.tiles import consensus_tile
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.estimators.cns.criterion import CriterionGrid
from clusterlens.compute.estimators.cns.live import LiveSolution
from clusterlens.compute.formatting import count
from clusterlens.compute.ranking.ranking import Ranking
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.plots import backend
from clusterlens.ui.plots.criterion import plot_criterion
from clusterlens.ui.plots.maps import draw_samples, plot_memberships
from clusterlens.ui.plots.matrix import draw_matrix
from clusterlens.ui.plots.ranking import plot_ranking
from clusterlens.ui.results.lab import Setting
from clusterlens.ui.results.links import LinkState
from clusterlens.ui.widgets.words import voters

Format = Literal["png", "svg"]
FORMATS: tuple[Format, ...] = ("png", "svg")
# Dots per inch of pixel images; 16 cm is the text width of a page.
DPI = 300
WIDTH_INCHES = 6.3
_PIXELS = 900
_SHOWN_MODELS = 25
_CANVAS = {"png": FigureCanvasAgg, "svg": FigureCanvasSVG}
_SETTINGS: dict[Any, Any] = {
    **backend.PLAIN_TEXT,
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "clusterlens",  # the same ids each time
}
# HoloViews changes settings of Matplotlib, which all threads share.
_DRAWING = Lock()


@dataclass(frozen=True, eq=False)
class Print:
    """A picture for print.

    Parameters
    ----------
    element : holoviews element
        The picture.
    ratio : float
        Its height as a part of the width.
    bar : str, default ""
        Text along the colour bar; empty for no bar.
    """

    element: Any
    ratio: float
    bar: str = ""

    def to_bytes(self, kind: Format) -> bytes:
        """Return the picture as the content of a file."""
        with _DRAWING, mpl.rc_context(_SETTINGS):
            return self._drawn(kind)

    def _drawn(self, kind: Format) -> bytes:
        # Figures of pyplot belong to the main thread, so this one is made directly.
        size = (WIDTH_INCHES, WIDTH_INCHES * self.ratio)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        # HoloViews would keep its colour bars, and with them the figures, forever.
        bare = [
            backend.matplotlib(kind, colorbar=False) for kind in ("Image", "QuadMesh")
        ]
        element = self.element.opts(*bare)
        # The shared renderer would keep the last plot.
        hv.renderer("matplotlib").instance().get_plot(element, fig=figure, axis=axes)
        if self.bar:
            shaded = next(a for a in axes.get_children() if _has_values(a))
            figure.colorbar(shaded, ax=axes, shrink=0.8).set_label(self.bar)
        out = io.BytesIO()
        _CANVAS[kind](figure)
        dated = {"Date": None} if kind == "svg" else None
        figure.savefig(out, format=kind, dpi=DPI, metadata=dated)
        return out.getvalue()


def _has_values(artist: Any) -> TypeGuard[ScalarMappable]:
    """Return whether an artist maps a value for each place to a colour."""
    values = artist.get_array() if isinstance(artist, ScalarMappable) else None
    return values is not None and values.ndim == 2


def print_map(
    projection: Projection,
    clusters: np.ndarray,
    links: Sequence[LinkState],
    names: Mapping[int, str],
) -> Print:
    """Print the samples on two components, coloured by cluster, with the links.

    Parameters
    ----------
    projection : Projection
        Projection of n samples.
    clusters : array of int, shape (n,)
        Cluster of each sample, negative for noise.
    links : sequence of LinkState
        Links; only links between samples of the run are drawn.
    names : mapping of int to str
        Names of clusters.
    """
    drawn = [(state.link.kind, state.ends) for state in links if state.ends is not None]
    return Print(draw_samples(projection, clusters, names, links=drawn), 0.72)


def print_memberships(projection: Projection, solution: LiveSolution) -> Print:
    """Print the samples paler where CNS is uncertain of them, and its seeds as stars.

    Parameters
    ----------
    projection : Projection
        Projection of n samples.
    solution : LiveSolution
        Solution on the same samples.
    """
    return Print(plot_memberships(projection, solution), 0.72)


def print_criterion(
    grid: CriterionGrid, solution: LiveSolution, automatic: Setting
) -> Print:
    """Print the criterion at the K of a solution over neighbourhoods and alpha.

    Parameters
    ----------
    grid : CriterionGrid
        Criterion on the same table; negative values have the colour of 0.
    solution : LiveSolution
        Displayed solution.
    automatic : Setting
        Setting chosen automatically.
    """
    plot = plot_criterion(
        grid,
        solution.n_clusters,
        setting=(solution.n_neighbors, solution.alpha),
        chosen=(automatic.n_neighbors, automatic.alpha),
    )
    return Print(plot, 0.5, f"criterion at K = {solution.n_clusters}")


def print_matrix(
    ensemble: Ensemble,
    clusters: np.ndarray,
    kind: Literal["consensus", "binarised"],
    threshold: int,
    pool: Ensemble | None = None,
) -> Print:
    """Print the consensus or the binarised matrix, samples in the order of clusters.

    Parameters
    ----------
    ensemble : Ensemble
        The models with the votes that the matrix is drawn by.
    clusters : array of int, shape (n_samples,)
        Cluster of each sample, negative for noise.
    kind : {"consensus", "binarised"}
        Which matrix.
    threshold : int
        Votes of `ensemble` that join a pair of the binarised matrix.
    pool : Ensemble, optional
        The models with their votes without answers, if `ensemble` has those with
        answers.
    """
    order = order_samples(ensemble, "partition", partition=clusters)
    side = min(_PIXELS, ensemble.n_samples)
    binary = kind == "binarised"
    tile = consensus_tile(
        TileSource(ensemble, order),
        shape=(side, side),
        kind=kind,
        threshold=threshold if binary else None,
    )
    edges = np.flatnonzero(np.diff(clusters[order])) + 1
    ticks = [(int(edge), "") for edge in (0, *edges, ensemble.n_samples)]
    axes = {"xaxis": "bottom", "yaxis": "left", "xticks": ticks, "yticks": ticks}
    axes |= {"xlabel": "", "ylabel": ""}
    plot = draw_matrix(tile).opts(backend.matplotlib("Overlay", **axes))
    given = "" if pool is None else ", with the answers"
    who = voters(ensemble) if pool is None else count(len(ensemble), "model")
    pool = pool or ensemble
    needed = threshold * pool.n_votes // ensemble.n_votes
    words = f"share of the {who} that join two samples{given}"
    if binary:
        words = f"joined by at least {needed} of {voters(pool)}{given}"
    return Print(plot, 0.82, words)


def print_ranking(ranking: Ranking, rows: np.ndarray) -> Print:
    """Print the leading models: the score, and what broken links add.

    Parameters
    ----------
    ranking : Ranking
        Ranking of T models.
    rows : array of int
        Models to show, best first; the leading ones are drawn.
    """
    shown = rows[:_SHOWN_MODELS]
    return Print(plot_ranking(ranking, models=shown), 0.1 + 0.034 * len(shown))
