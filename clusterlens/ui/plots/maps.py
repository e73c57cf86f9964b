"""Maps of the samples of a table, with the links and the names of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import holoviews as hv
import numpy as np

from clusterlens.compute._validation import DataError
from clusterlens.compute.estimators.cns.live import LiveSolution
from clusterlens.compute.formatting import whole
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.plots.axes import axis_titles, tick_options, ticks_of
from clusterlens.ui.plots.backend import (
    bokeh,
    check_result,
    frame,
    matplotlib,
    styled,
)
from clusterlens.ui.plots.samples import draw_map, legend_entry
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.widgets.palette import (
    LINK_COLOURS,
    certain_colours,
    cluster_colour,
    cluster_colours,
    cluster_name,
)

Link = tuple[Literal["must", "cannot"], tuple[int, int]]

_PORT = Viewport(width=1320, height=1200)
_SIZE = (680, 490)
_SHOWN_CLUSTERS = 12
_INK = "#14181d"


def draw_samples(
    projection: Projection,
    clusters: np.ndarray,
    names: Mapping[int, str] | None = None,
    *,
    colours: np.ndarray | None = None,
    links: Sequence[Link] = (),
    marks: Sequence[Any] = (),
) -> Any:
    """Draw the samples on a plane, coloured by cluster, with the links.

    Parameters
    ----------
    projection : Projection
        Of n samples.
    clusters : array of int, shape (n,)
        Cluster of each sample, negative for noise.
    names : mapping of int to str, optional
        Names of clusters for the legend.
    colours : array of uint8, shape (n, 3), optional
        Default: colours of the clusters.
    links : sequence of (kind, (int, int)), optional
        Pairs of samples; "must" is a solid line, "cannot" a dashed one.
    marks : sequence of elements, optional
        Drawn over the samples.
    """
    xy = _places(projection)
    colours = cluster_colours(clusters) if colours is None else colours
    picture = draw_map(xy, colours, _PORT, largest=7)
    parts = [picture.element]
    for kind, dash, pattern in (("must", "solid", "-"), ("cannot", "dashed", "--")):
        pairs = [xy[list(pair)].ravel() for other, pair in links if other == kind]
        if pairs:
            parts += _lines(np.array(pairs), kind, dash, pattern)
    xlabel, ylabel = axis_titles(projection)
    shared = {
        "xlabel": xlabel,
        "ylabel": ylabel,
        "legend_position": "right",
        **tick_options(ticks_of(projection, picture.view, _SIZE)),
    }
    return styled(
        hv.Overlay([*parts, *marks]) * _legend(clusters, names),
        *frame("Overlay", width=_SIZE[0], height=_SIZE[1], **shared),
        matplotlib("Overlay", hooks=[_equal_scale]),
    )


def plot_memberships(projection: Projection, solution: LiveSolution) -> Any:
    """Draw the samples paler where CNS is uncertain of them, and its seeds as stars.

    Parameters
    ----------
    projection : Projection
        As from `project`, of n samples.
    solution : LiveSolution
        As from `CNSGraph.solve`, of the same samples.

    Returns
    -------
    plot : holoviews.Overlay
        An image of the samples by Datashader, in the colours of their likeliest seeds;
        a sample that is paler is less certain. Stars are the seeds, with their numbers.
        O(n) time and memory.

    Raises
    ------
    DataError
        If the numbers of samples differ.

    Examples
    --------
    >>> import clusterlens as cl
    >>> X = cl.prepare(cl.load_example("iris")).X
    >>> solution = cl.CNSGraph(X, 20).solve(10, 0.1, 3)
    >>> cl.plot_memberships(cl.project(X), solution).Points.I
    :Points   [x,y]
    """
    check_result(projection, Projection, "project")
    check_result(solution, LiveSolution, "CNSGraph.solve")
    n, expected = len(projection.coordinates), len(solution.labels)
    if n != expected:
        raise DataError(
            f"projection has {n} samples and solution {expected}; give both of one "
            "table."
        )
    labels = np.where(solution.undecided, -1, solution.labels)
    colours = certain_colours(labels, solution.certainty, solution.n_clusters)
    seeds = _places(projection)[solution.seeds]
    stars = styled(
        hv.Points(seeds, ["x", "y"]),
        bokeh("Points", marker="star", size=15, color=_INK, line_color="white"),
        matplotlib("Points", marker="*", s=120, color=_INK, edgecolors="white"),
    )
    # The label is placed beside the star.
    numbers = [f"   {place + 1}" for place in range(len(seeds))]
    texts = styled(
        hv.Labels((*seeds.T, numbers), ["x", "y"], "seed"),
        bokeh("Labels", text_align="left", text_color=_INK),
        matplotlib("Labels", horizontalalignment="left", color=_INK, size=9),
    )
    return draw_samples(projection, labels, colours=colours, marks=(stars, texts))


def _equal_scale(plot: Any, element: Any) -> None:
    """Give both axes of Matplotlib one scale by widening the range of one."""
    axis = plot.handles["axis"]
    axis.set_autoscale_on(True)  # ranges may change
    axis.set_aspect("equal", adjustable="datalim")


def _places(projection: Projection) -> np.ndarray:
    """Return coordinates on two components; missing ones are 0."""
    xy = projection.coordinates[:, :2]
    if xy.shape[1] < 2:
        xy = np.column_stack([xy, np.zeros(len(xy))])
    return xy


def _lines(ends: np.ndarray, kind: str, dash: str, pattern: str) -> list[Any]:
    """Return lines between pairs of samples, with rings at their ends."""
    colour = LINK_COLOURS[kind]
    lines = styled(
        hv.Segments(tuple(ends.T), ["x", "y", "to", "at"]),
        bokeh("Segments", color=colour, line_dash=dash, line_width=2),
        matplotlib("Segments", color=colour, linestyle=pattern, linewidth=1.2),
    )
    rings = styled(
        hv.Points(ends.reshape(-1, 2), ["x", "y"]),
        bokeh("Points", size=7, fill_color=None, line_color=colour),
        matplotlib("Points", s=16, facecolors="none", edgecolors=colour),
    )
    return [lines, rings]


def _legend(clusters: np.ndarray, called: Mapping[int, str] | None) -> Any:
    """Name the clusters with their sizes; if there are many, only the first ones."""
    numbers, sizes = np.unique(clusters, return_counts=True)
    entries = [
        # Matplotlib leaves out labels that begin with an underscore.
        (f"\u200b{cluster_name(int(k), called)}: {whole(size)}", cluster_colour(int(k)))
        for k, size in zip(numbers, sizes, strict=True)
    ]
    more = len(entries) - _SHOWN_CLUSTERS
    if more > 0:
        entries = [*entries[:_SHOWN_CLUSTERS], (f"and {more} more", "#ffffff00")]
    marks = {name: legend_entry(colour, 25) for name, colour in entries}
    return hv.NdOverlay(marks, "cluster", sort=False)
