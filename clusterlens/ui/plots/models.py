"""Picture of the models, near each other if they agree."""

from __future__ import annotations

from typing import Any

import holoviews as hv
import numpy as np

from clusterlens.compute._validation import DataError
from clusterlens.compute.ensemble.ensemble import distinct_partitions
from clusterlens.compute.formatting import percent
from clusterlens.compute.ranking.model_map import ModelMap
from clusterlens.compute.ranking.ranking import Ranking
from clusterlens.ui.plots.backend import (
    bokeh,
    check_result,
    frame,
    matplotlib,
    styled,
)
from clusterlens.ui.widgets.palette import cluster_colour


def plot_models(model_map: ModelMap, ranking: Ranking | None = None) -> Any:
    """Draw the distinct partitions as points, near each other where they agree.

    Parameters
    ----------
    model_map : ModelMap
        As from `map_models`.
    ranking : Ranking, optional
        Of the same partitions; its first one is drawn as a square.

    Returns
    -------
    plot : holoviews.Overlay
        A set of points for each family, in its colour. Distances are about one minus
        the adjusted Rand index; the axes have no unit. Equal partitions are one point.

    Raises
    ------
    DataError
        If the ranking is of other partitions.

    Examples
    --------
    >>> import clusterlens as cl
    >>> ensemble = cl.Ensemble([[0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1]])
    >>> cl.plot_models(cl.map_models(ensemble))
    :NdOverlay   [family]
       :Points   [x,y]   (model,copies)
    """
    check_result(model_map, ModelMap, "map_models")
    ensemble = model_map.ensemble
    first, group = distinct_partitions(ensemble)
    copies = np.bincount(group)
    families = list(dict.fromkeys(ensemble.families))
    columns = {
        "model": np.array(ensemble.names, dtype=object)[first],
        "copies": copies,
    }
    if ranking is not None:
        check_result(ranking, Ranking, "rank_partitions")
        if ranking.ensemble is not ensemble:
            raise DataError(
                "ranking is of other partitions than model_map; make both of one "
                "ensemble."
            )
        columns["rank"] = ranking.ranks[first]
    leader = -1 if ranking is None else int(group[ranking.order[0]])
    own = np.array([families.index(ensemble.families[t]) for t in first])
    xy = model_map.coordinates[first]

    def points(some: np.ndarray, colour: str, *, square: bool = False) -> Any:
        named = [column[some] for column in columns.values()]
        return styled(
            hv.Points((*xy[some].T, *named), ["x", "y"], list(columns)),
            bokeh(
                "Points",
                color=colour,
                size=12 if square else 9,
                marker="square" if square else "circle",
                tools=["hover"],
            ),
            matplotlib(
                "Points",
                color=colour,
                s=60 if square else 36,
                marker="s" if square else "o",
            ),
        )

    marks: Any = hv.NdOverlay(
        {
            family: points(np.flatnonzero(own == k), cluster_colour(k))
            for k, family in enumerate(families)
        },
        "family",
        sort=False,
    )
    kind = "NdOverlay"
    if leader >= 0:
        at = np.array([leader])
        marks = marks * points(at, cluster_colour(own[leader]), square=True)
        kind = "Overlay"
    title = f"{percent(model_map.shown)} of the distances shown"
    shared = {"xaxis": None, "yaxis": None, "padding": 0.08, "title": title}
    return styled(
        marks,
        *frame(kind, width=560, height=420, legend_position="right", **shared),
    )
