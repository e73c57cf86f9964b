"""Results for the map of new rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.spatial import KDTree

from clusterlens.compute._run.options import raise_if_cancelled
from clusterlens.compute.assigning.segmentation import Segmentation
from clusterlens.compute.table.plane import map_samples
from clusterlens.compute.table.preparation import PreparedRows
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.pages.new_rows.nodes import NOISE, NewCells, is_nowhere
from clusterlens.ui.plots.samples import Picture, draw_map
from clusterlens.ui.state.analysis import KeptPartition
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.widgets.palette import NOWHERE_COLOUR, cluster_colours, rgb

# Largest number of crosses; the other rows that belong nowhere are dots.
MOST_CROSSES = 100
# Margin of the map beyond the old rows, relative to their extent.
_REACH = 0.5


@dataclass(frozen=True, eq=False)
class NewMap:
    """Old and new rows on the axes of the old ones.

    Parameters
    ----------
    projection : Projection
        Projection of the rows of the first table.
    positions : array of int, shape (n_placed,)
        Positions of the assigned rows of the new table, ascending.
    xy : array of float, shape (n_placed, 2)
        Their coordinates.
    clusters : array of int, shape (n_placed,)
        Their clusters by number on screen; noise is -1.
    far : array of bool, shape (n_placed,)
        Whether they belong nowhere.
    around : array of float, shape (n, 2)
        Points that the whole map must show.
    n_outside : int
        Number of new rows outside the map.
    """

    projection: Projection
    positions: np.ndarray
    xy: np.ndarray
    clusters: np.ndarray
    far: np.ndarray
    around: np.ndarray
    n_outside: int

    @property
    def crosses(self) -> np.ndarray:
        """Return the places of crosses, (n_crosses, 2), thinned if there are many."""
        xy = self.xy[self.far]
        return xy[:: max(1, -(-len(xy) // MOST_CROSSES))]


def features_of(segmentation: Segmentation, frame: pd.DataFrame) -> PreparedRows:
    """Turn typed rows into features; rows with gaps may be left out."""
    preparation = segmentation.kept.preparation
    return preparation.transform_typed(frame, unknown="missing", gaps="leave out")


@node("live", "Placing the new rows on the map")
def new_map(
    job: Job,
    segmentation: Segmentation,
    kept_partition: KeptPartition,
    new_cells: NewCells,
    assigned: pd.DataFrame,
) -> NewMap:
    """Project the new rows on the axes of the old ones."""
    projection = map_samples(kept_partition.result.dataset)
    raise_if_cancelled(job.cancelled)
    rows = features_of(segmentation, new_cells.frame)
    xy = np.empty((0, 2))
    if len(rows.X):
        xy = projection.transform(rows.X)
    labels = assigned["cluster"][rows.kept].to_numpy(np.int64)
    clusters = np.where(labels == NOISE, NOISE, labels - 1)
    old = projection.coordinates
    low, high = old.min(axis=0), old.max(axis=0)
    reach = _REACH * float((high - low).max())
    near = ((xy >= low - reach) & (xy <= high + reach)).all(axis=1)
    return NewMap(
        projection,
        np.flatnonzero(rows.kept),
        xy,
        clusters,
        is_nowhere(assigned)[rows.kept],
        np.vstack([old, xy[near]]),
        int((~near).sum()),
    )


@node("live", "Drawing the map")
def new_map_picture(
    job: Job, new_map: NewMap, view_new_rows_view: Viewport
) -> Picture | None:
    """Draw the old rows in grey and the new ones over them."""
    if not view_new_rows_view.drawn:
        return None
    old = new_map.projection.coordinates
    xy = np.vstack([old, new_map.xy])
    colours = cluster_colours(np.concatenate([np.full(len(old), -1), new_map.clusters]))
    colours[len(old) :][new_map.far] = rgb([NOWHERE_COLOUR])
    lit = np.arange(len(old), len(xy))
    return draw_map(
        xy,
        colours,
        view_new_rows_view,
        highlighted=lit,
        around=new_map.around,
        plane=new_map.projection,
    )


@node("live", "Preparing the map for clicks")
def new_nearest(job: Job, new_map: NewMap) -> KDTree | None:
    """Return a search tree over the new rows on the map, for clicks."""
    return KDTree(new_map.xy) if len(new_map.xy) else None
