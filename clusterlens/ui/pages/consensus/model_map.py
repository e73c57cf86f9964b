"""Map of the models, near each other if they agree; a click selects one."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterlens.compute.formatting import count, percent
from clusterlens.compute.ranking.hubs import Hubs
from clusterlens.compute.ranking.model_map import ModelMap
from clusterlens.compute.ranking.ranking import Ranking
from clusterlens.ui.components.card import Card
from clusterlens.ui.figures.canvas import CANVAS_CSS, Canvas, Range
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.widgets.palette import cluster_colour
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, mark, pmu, safe

LEGEND_ENTRIES = 8


class MapOfModels(Card):
    """Distinct partitions as points, coloured by family; leader and hubs marked."""

    needs = ("model_map", "hubs", "ranking", "rows", "copies")
    also = ("selected",)

    def build(self) -> Any:
        view_state = self.session.view_state
        self._figure = Text(
            does=self._choose,
            css_classes=["cl-model-map"],
            stylesheets=[CANVAS_CSS],
            sizing_mode="stretch_both",
        )
        self._legend = Text(css_classes=["cl-model-legend"], styles={"flex": "none"})
        back = pmu.Button(
            label="Samples",
            icon="scatter_plot",
            variant="outlined",
            size="small",
            margin=0,
            css_classes=["cl-map-of-samples"],
            on_click=lambda event: setattr(view_state, "map_of", "samples"),
            description="Show the samples again",
        )
        return card(
            "Map of models",
            self._figure,
            self._legend,
            note=self.status,
            buttons=[back],
            css="cl-map-models",
        )

    def _choose(self, model: str) -> None:
        self.session.view_state.param.update(model=int(model), tab="model")

    def show(
        self,
        model_map: ModelMap,
        hubs: Hubs,
        ranking: Ranking,
        rows: np.ndarray,
        copies: np.ndarray,
        selected: Result,
    ) -> None:
        """Draw the distinct partitions, then describe them."""
        ensemble = ranking.ensemble
        same = ensemble is model_map.ensemble and ensemble is hubs.ensemble
        if not same:  # the other results are not ready yet
            return
        families = list(dict.fromkeys(ensemble.families))
        here = copies[selected.value] if selected.ready else -1
        self._figure.body = _draw(model_map, hubs, ranking, rows, copies, here)
        marks = "&ensp;".join(
            mark(
                cluster_colour(k),
                f"{safe(name)} <span class='muted'>{ensemble.families.count(name)}"
                "</span>",
            )
            for k, name in enumerate(families[:LEGEND_ENTRIES])
        )
        more = len(families) - LEGEND_ENTRIES
        marks += f"&ensp;and {more} more" if more > 0 else ""
        found = count(hubs.n_hubs, "group of near-copies", "groups of near-copies")
        self._legend.body = (
            f"<p>{marks}&ensp;<span class='muted'>distance: 1 − adjusted Rand index, "
            f"{percent(model_map.shown)} of it shown · <span title='hubs'>{found}"
            "</span> · square: leader · hollow: no vote</span></p>"
        )


def _draw(
    model_map: ModelMap,
    hubs: Hubs,
    ranking: Ranking,
    rows: np.ndarray,
    copies: np.ndarray,
    here: int,
) -> str:
    """Draw the points, the leader last, and the numbers of the hubs."""
    ensemble, xy = ranking.ensemble, model_map.coordinates
    families = list(dict.fromkeys(ensemble.families))
    canvas = Canvas(
        _around(xy[:, 0]),
        _around(xy[:, 1]),
        f"{len(rows)} distinct models; near ones agree. Arrow keys lead from one to "
        "the next, Enter selects it.",
        padding=(14, 10, 14, 10),
    )
    times = np.bincount(copies)
    for t in rows[::-1].tolist():
        alike = f", {times[copies[t]]} copies" if times[copies[t]] > 1 else ""
        canvas.dot(
            xy[t, 0],
            xy[t, 1],
            cluster_colour(families.index(ensemble.families[t])),
            size=13 if t == rows[0] else 11,
            shape="square" if t == rows[0] else "",
            ring="currentColor" if copies[t] == here else "",
            hollow=not ensemble.votes[copies == copies[t]].any(),
            title=f"{ensemble.names[t]} · {ensemble.families[t]} · rank "
            f"{ranking.ranks[t]}{alike}",
            does=str(t),
            front=bool(copies[t] == here),
        )
    for hub in range(hubs.n_hubs) if hubs.n_hubs > 1 else ():
        x, y = xy[hubs.labels == hub].mean(axis=0)
        canvas.text(x, y, f"near-copies {hub + 1}", place="above", muted=True, shift=16)
    return canvas.markup()


def _around(values: np.ndarray) -> Range:
    """Return the range of the values, widened if they are equal."""
    low, high = float(values.min()), float(values.max())
    spare = max(high - low, 0.05) * 0.05
    return low - spare, high + spare
