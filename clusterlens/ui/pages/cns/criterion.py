"""Card of the criterion over neighbours and alpha, at the present K."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from clusterlens.compute.estimators.cns.criterion import CriterionGrid
from clusterlens.compute.estimators.cns.graph import CNSGraph
from clusterlens.compute.formatting import count as counted
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.commands import go_to_setting
from clusterlens.ui.figures.criterion_map import CriterionMap
from clusterlens.ui.figures.keyboard_control import with_keyboard_control
from clusterlens.ui.results.lab import Automatic, Setting
from clusterlens.ui.widgets.palette import SHADES
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card


class CNSCriterion(Card):
    """Map of all settings at one number of clusters; a click selects one."""

    needs = ("cns_criterion", "cns_automatic", "cns_displayed_setting", "cns_graph")

    def build(self) -> Any:
        self._figure = CriterionMap(self._go)
        self._legend = Text(css_classes=["cl-criterion-legend"])
        place, self._steering = with_keyboard_control(self._figure)
        how = Text(
            "<p class='how'>Click to go there. ◇ tried automatically, ◆ chosen, "
            "● you are here.</p>"
        )
        return card(
            "Criterion", how, place, self._legend, note=self.status, css="cl-criterion"
        )

    def show(
        self,
        cns_criterion: CriterionGrid,
        cns_automatic: Automatic,
        cns_displayed_setting: Setting,
        cns_graph: CNSGraph,
    ) -> None:
        """Draw the grid at this K and mark the settings."""
        grid, best, count = (
            cns_criterion,
            cns_automatic.setting,
            cns_displayed_setting.n_clusters,
        )
        values = grid.at(count).to_numpy()
        low, high = self._figure.show(grid.n_neighbors, grid.alphas, values)
        tried = product(cns_graph.default_neighbors, cns_graph.default_alphas)
        self._figure.mark(
            (cns_displayed_setting.n_neighbors, cns_displayed_setting.alpha),
            (best.n_neighbors, best.alpha),
            list(tried) or [(best.n_neighbors, best.alpha)],
        )
        own = best.n_clusters
        chosen = "" if own == count else f"; the chosen ◆ has K = {own}"
        words = (
            f"Criterion at K = {count} over "
            f"{counted(len(grid.n_neighbors), 'neighbourhood')} and "
            f"{counted(len(grid.alphas), 'value')} of alpha, from {low:.2f} to "
            f"{high:.2f}; "
            f"automatic choice k = {best.n_neighbors}, alpha = {best.alpha:.3g}."
        )
        self._steering.words = words
        self._legend.body = (
            "<p style='display:flex;flex-wrap:wrap;align-items:center;gap:0 5px'>"
            f"<b>K = {count}</b> <span class='muted'>"
            f"{f'{low:.2f}' if low else '0 or less'}</span> "
            "<span style='flex:1 1 16px;max-width:80px;height:9px;background:"
            f"linear-gradient(90deg,{','.join(SHADES)})'></span> "
            f"<span class='muted'>{high:.2f}{chosen} · → k, ↑ alpha</span></p>"
        )

    def _go(self, k: float, alpha: float) -> None:
        """Put the nearest available setting in force."""
        graph, setting = map(self.session.derived.get, ("cns_graph", "cns_setting"))
        if graph.ready and setting.ready:
            size = int(np.clip(round(k), 1, graph.value.max_neighbors))
            near = float(np.clip(alpha, *graph.value.alpha_range))
            go_to_setting(self.session, setting.value, n_neighbors=size, alpha=near)
