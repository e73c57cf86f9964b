"""map_models: the partitions of an ensemble as points; similar ones lie close."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
import pandas as pd

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress
from clusterlens.compute._validation import FloatArray, Frozen
from clusterlens.compute.ensemble.ensemble import (
    Ensemble,
    check_ensemble,
    distinct_partitions,
)
from clusterlens.compute.ensemble.overlaps import partition_overlaps
from clusterlens.compute.formatting import percent


@dataclass(frozen=True, eq=False, repr=False)
class ModelMap(Frozen):
    """Partitions as points in the plane.

    Attributes
    ----------
    ensemble : Ensemble
        The T partitions.
    coordinates : array of float64, shape (n_partitions, 2)
        Position of each partition in the plane; equal partitions coincide.
    shown : float
        Share of the squared distances of the distinct partitions from their mean that
        the plane shows, in [0, 1]; 1 if there is nothing to show.
    """

    ensemble: Ensemble
    coordinates: FloatArray
    shown: float

    def to_frame(self) -> pd.DataFrame:
        """Return one row per partition: model, family, x and y.

        Returns
        -------
        frame : DataFrame
            The index is the position in the ensemble.
        """
        x, y = self.coordinates.T
        names, families = self.ensemble.names, self.ensemble.families
        frame = pd.DataFrame({"model": names, "family": families, "x": x, "y": y})
        return frame.rename_axis("position")

    def __repr__(self) -> str:
        """Return the number of partitions and the share shown."""
        n = self.ensemble.n_partitions
        return f"ModelMap({n} partitions, {percent(self.shown)} shown)"


@takes_running
def map_models(
    ensemble: Ensemble,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> ModelMap:
    """Place the partitions in the plane by how much they agree.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions.
    n_jobs, progress, cancel, executor
        As in `partition_overlaps`, which compares them.

    Returns
    -------
    placed : ModelMap
        Points; their distances approximate one minus the adjusted Rand index.

    Raises
    ------
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    Classical scaling of the distinct partitions, each counted once: the two leading
    eigenvectors of the centred squared distances, the first one along x. Signs are
    chosen so that the largest entry in size is positive. O(n T² + T³) time; votes have
    no effect.

    References
    ----------
    Torgerson, "Multidimensional scaling: I. Theory and method", Psychometrika 17, 1952,
    doi:10.1007/BF02288916.

    Examples
    --------
    >>> rows, columns = [0, 0, 1, 1], [0, 1, 0, 1]
    >>> map_models(Ensemble([rows, rows, columns])).coordinates[:, 0].round(2).tolist()
    [0.75, 0.75, -0.75]
    """
    first, group = distinct_partitions(check_ensemble(ensemble))
    overlaps = partition_overlaps(
        ensemble, n_jobs=n_jobs, progress=progress, cancel=cancel, executor=executor
    )
    squares = (1.0 - overlaps.adjusted_rand[np.ix_(first, first)]) ** 2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None]
    products = -(centred + squares.mean()) / 2
    values, vectors = np.linalg.eigh(products)
    leading = np.maximum(values[::-1][:2], 0.0)
    axes = vectors[:, ::-1][:, :2] * np.sqrt(leading)
    places = np.zeros((len(first), 2))
    places[:, : axes.shape[1]] = axes
    largest = np.abs(places).argmax(axis=0)
    places *= np.where(places[largest, [0, 1]] < 0, -1.0, 1.0)
    total = float(np.maximum(values, 0.0).sum())
    shown = float(leading.sum()) / total if total > 1e-12 else 1.0
    return ModelMap(ensemble, places[group], shown)
