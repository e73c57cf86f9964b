"""Results of the figures: maps, orderings, tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from clusterlens.compute.consensus.ordering import order_samples
from clusterlens.compute.consensus.tile_source import TileSource
from clusterlens.compute.consensus.tiles import Tile, consensus_tile
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.formatting import abridge
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.plane import map_samples
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.figures.matrix import (
    Cross,
    Edges,
    Heatmap,
    Reading,
    SelectedSpans,
    edges,
    full_view,
    join_selected,
    visible_items,
)
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.plots.matrix import LINEAR_SCALE, draw_matrix, scale_of
from clusterlens.ui.plots.samples import Picture, draw_map
from clusterlens.ui.state.view_parameters import Brush, Viewport
from clusterlens.ui.widgets.palette import (
    cluster_colours,
    cluster_name,
    disagreement_colours,
    label_title,
)
from clusterlens.ui.widgets.words import voters

# Words for a pair of the binarised matrix, and for several pairs.
_JOINED = Reading("apart", "together")
_FILLED = Reading("#% of the pairs here together", "#% of the pairs here together")
# Largest number of cluster numbers on the map; more would cover it.
NUMBERED = 40
# Longest class name on the map.
_MISSING = "label missing"
_NAME_LENGTH = 12
# Smallest distance of two numbers, relative to the longer side of the map.
_NUMBER_GAP = 0.05


@node("live", "Drawing the map")
def projection(job: Job, samples: Dataset) -> Projection:
    """Place the samples on two numeric columns, or on two principal components."""
    return map_samples(samples)


@node("live", "Preparing the map for clicks")
def nearest(job: Job, projection: Projection) -> KDTree:
    """Return a search tree over the map, for clicks."""
    return KDTree(projection.coordinates)


@dataclass(frozen=True, eq=False)
class Colours:
    """Colour of each sample, uint8 of shape (n_samples, 3), and its meaning."""

    values: np.ndarray
    by: str


@node("live", "Colouring the samples")
def colours(
    job: Job,
    view_colour_by: str,
    clusters: np.ndarray,
    disagreement: np.ndarray,
    samples: Dataset,
) -> Colours:
    """Colour the samples by model, disagreement or given labels."""
    if view_colour_by == "disagreement":
        return Colours(disagreement_colours(disagreement), view_colour_by)
    if view_colour_by == "labels" and samples.labels_true is not None:
        return Colours(cluster_colours(samples.labels_true), view_colour_by)
    return Colours(cluster_colours(clusters), "model")


@dataclass(frozen=True, eq=False)
class Legend:
    """Meaning of the colours of the map.

    Parameters
    ----------
    by : {"model", "disagreement", "labels"}
        Quantity that colours the samples.
    entries : list of (int, str, int)
        Cluster or class, its name and size; empty for disagreement.
    places : array of float, shape (n_numbers, 2)
        Places of the numbers of clusters or the names of classes.
    numbers : list of str
        Texts at the places.
    """

    by: str
    entries: list[tuple[int, str, int]]
    places: np.ndarray
    numbers: list[str]


@node("live", "Naming the clusters", keep=8)
def legend(
    job: Job,
    view_colour_by: str,
    clusters: np.ndarray,
    samples: Dataset,
    projection: Projection,
    model_names: dict[int, str],
) -> Legend:
    """Name and place the clusters or classes that colour the samples."""
    if view_colour_by == "disagreement":
        return Legend(view_colour_by, [], np.empty((0, 2)), [])
    given = samples.labels_true if view_colour_by == "labels" else None
    codes = clusters if given is None else given
    numbers, sizes = np.unique(codes, return_counts=True)
    names = [
        cluster_name(k, model_names)
        if given is None
        else label_title(samples.label_names[k])
        if k >= 0
        else _MISSING
        for k in numbers.tolist()
    ]
    placed = [k for k in numbers.tolist() if k >= 0][:NUMBERED]
    return Legend(
        "model" if given is None else "labels",
        list(zip(numbers.tolist(), names, sizes.tolist(), strict=True)),
        number_places(projection.coordinates, codes, placed),
        [
            str(k + 1)
            if given is None
            else abridge(str(samples.label_names[k]), _NAME_LENGTH)
            for k in placed
        ],
    )


def number_places(
    xy: np.ndarray, codes: np.ndarray, numbers: Sequence[int]
) -> np.ndarray:
    """Place numbers on samples near the middle of their clusters, without overlap.

    Parameters
    ----------
    xy : array of float, shape (n_samples, 2)
        Coordinates.
    codes : array of int, shape (n_samples,)
        Cluster of each sample.
    numbers : sequence of int
        Clusters to place, each with a sample.

    Returns
    -------
    places : array of float, shape (n_numbers, 2)
        For each cluster the sample nearest to its median with a gap to earlier numbers,
        or the sample furthest from them; O(n_samples n_numbers) time.
    """
    gap = _NUMBER_GAP * float(np.ptp(xy, axis=0).max())
    places = np.empty((0, 2))
    for number in numbers:
        own = xy[codes == number]
        middle = np.linalg.norm(own - np.median(own, axis=0), axis=1)
        own = own[np.argsort(middle, kind="stable")]
        free = cdist(own, places).min(axis=1, initial=gap)
        places = np.vstack([places, own[np.argmax(free)]])
    return places


@node("live", "Drawing the map")
def map_picture(
    job: Job,
    projection: Projection,
    colours: Colours,
    view_brush: Brush,
    view_map_view: Viewport,
) -> Picture | None:
    """Draw the samples at the size and in the ranges of the figure."""
    if not view_map_view.drawn:
        return None
    return draw_map(
        projection.coordinates,
        colours.values,
        view_map_view,
        highlighted=view_brush.positions,
        plane=projection,
    )


@node("live", "Ordering the samples")
def order(
    job: Job,
    view_order_by: str,
    ensemble: Ensemble,
    tree_order: np.ndarray,
    clusters: np.ndarray,
) -> np.ndarray:
    """Order the samples by the model's clusters, the consensus tree, or as read."""
    by: Any = "partition" if view_order_by == "model" else view_order_by
    return order_samples(ensemble, by, partition=clusters, tree=tree_order)


@node()
def places(order: np.ndarray) -> np.ndarray:
    """Return the place of each sample in the order, shape (n_samples,)."""
    found = np.empty(len(order), np.intp)
    found[order] = np.arange(len(order))
    return found


@node("live", "Preparing the matrices")
def tile_source(job: Job, weighted_ensemble: Ensemble, order: np.ndarray) -> TileSource:
    """Prepare the label matrix in the order of the samples."""
    return TileSource(weighted_ensemble, order)


@node("live", "Drawing the matrix")
def consensus(
    job: Job,
    ensemble: Ensemble,
    tile_source: TileSource,
    view_matrix_view: Viewport,
    view_shading: str,
) -> Heatmap | None:
    """Return the consensus matrix in view."""
    if not view_matrix_view.drawn:
        return None
    tile = _tile(tile_source, view_matrix_view, "consensus")
    picture = draw_matrix(tile, "eq_hist" if view_shading == "eq_hist" else "linear")
    scale = scale_of(picture) if view_shading == "eq_hist" else LINEAR_SCALE
    reading = _shared(ensemble, tile_source.ensemble, single=_of_cells(tile))
    return Heatmap(tile, ensemble.n_samples, picture, scale, reading)


@node("live", "Drawing the binarised matrix")
def binarised(
    job: Job, tile_source: TileSource, view_matrix_view: Viewport, binarised_at: int
) -> Heatmap | None:
    """Return the binarised matrix in view."""
    if not view_matrix_view.drawn:
        return None
    tile = _tile(tile_source, view_matrix_view, "binarised", binarised_at)
    n, reading = tile_source.ensemble.n_samples, _JOINED if _of_cells(tile) else _FILLED
    return Heatmap(tile, n, draw_matrix(tile), [], reading)


def _tile(
    source: TileSource, port: Viewport, kind: Any, threshold: int | None = None
) -> Tile:
    n = source.ensemble.n_samples
    x, y = port.zoom or full_view(n)
    return consensus_tile(
        source,
        rows=visible_items(y, n),
        cols=visible_items(x, n),
        shape=(port.height, port.width),
        kind=kind,
        threshold=threshold,
    )


def _of_cells(tile: Tile) -> bool:
    """Return whether each value belongs to one pair."""
    (r0, r1), (c0, c1) = tile.rows, tile.cols
    return tile.values.shape == (r1 - r0, c1 - c0)


def _shared(
    ensemble: Ensemble, weighted_ensemble: Ensemble, *, single: bool
) -> Reading:
    """Return the words for a share of votes: of one pair, or of a pixel's pairs."""
    mean = "" if single else "on average "
    whose = "" if weighted_ensemble is ensemble else ", with your answers"
    if weighted_ensemble.is_partial:
        words = f"{mean}together in #% of the votes on both rows{whose}"
        return Reading(words, words)
    words = f"{mean}together in # of {voters(ensemble)}{whose}"
    return Reading(words, words, n_models=ensemble.n_votes)


@node()
def cross(
    view_pair: tuple[int, ...],
    view_tab: str,
    view_inspected: int | None,
    places: np.ndarray,
    ensemble: Ensemble,
    tile_source: TileSource,
    binarised_at: int,
) -> Cross:
    """Return rows and columns of the picked samples, with the text of their cell.

    Without picked samples the inspected sample is marked.
    """
    marked = view_pair
    if not marked and view_tab == "sample" and view_inspected is not None:
        marked = (view_inspected,)
    at = places[list(marked)].tolist()
    if len(at) < 2:
        return Cross(tuple(at))
    a, b = at

    def value(kind: Any, threshold: int | None = None) -> float:
        rows, cols = (a, a + 1), (b, b + 1)
        tile = consensus_tile(
            tile_source, rows, cols, (1, 1), kind=kind, threshold=threshold
        )
        return float(tile.values[0, 0])

    return Cross(
        (a, b),
        _shared(ensemble, tile_source.ensemble, single=True).of(value("consensus")),
        _JOINED.of(value("binarised", binarised_at)),
    )


@node("live", "Drawing the edges")
def matrix_edges(
    job: Job,
    clusters: np.ndarray,
    samples: Dataset,
    order: np.ndarray,
    view_matrix_view: Viewport,
) -> Edges | None:
    """Return cluster colours and row ids along the edges of the matrices."""
    if not view_matrix_view.drawn:
        return None
    return edges(cluster_colours(clusters), samples.row_ids, order, view_matrix_view)


@node("live", "Marking the selected samples")
def selected_spans(
    job: Job, view_brush: Brush, places: np.ndarray, view_matrix_view: Viewport
) -> SelectedSpans | None:
    """Return the selected samples along the edges of the matrices."""
    if not view_matrix_view.drawn:
        return None
    return join_selected(places[view_brush.positions], len(places), view_matrix_view)
