"""Neighbours, alpha and number of clusters of CNS, with the automatic choice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from clusterlens.compute.estimators.cns.graph import CNSGraph
from clusterlens.ui.derived import Result
from clusterlens.ui.kit import Text, card, link, pmu, safe
from clusterlens.ui.moves import go_to_setting
from clusterlens.ui.nodes.cns import Automatic, Setting
from clusterlens.ui.panels.panel import Panel
from clusterlens.ui.words import number

# Field of a setting: class of its slider, name and meaning on screen.
SLIDERS = {
    "n_clusters": ("cl-n-clusters", "Clusters K", "number of seeds"),
    "n_neighbors": ("cl-neighbours", "Neighbours k", "samples per average"),
    "alpha": ("cl-alpha", "alpha", "chance to stop per step"),
}
MOST_CLUSTERS = 20


class CNSSettings(Panel):
    """Sliders that act while they move."""

    needs = ("cns_setting", "cns_graph")
    also = ("cns_automatic", "run?")

    def build(self) -> Any:
        self._sliders = {field: self._slider(field) for field in SLIDERS}
        self._titles = {field: Text(margin=(10, 0, 0, 0)) for field in SLIDERS}
        self._automatic = Text(
            does=self._reset, css_classes=["cl-cns-automatic"], margin=(12, 0, 0, 0)
        )
        self._add = pmu.Button(
            label="Add to the pool",
            on_click=self._add_model,
            margin=(12, 0, 0, 0),
            css_classes=["cl-cns-add"],
        )
        self._why = Text()
        rows = [
            part
            for field in SLIDERS
            for part in (self._titles[field], self._sliders[field])
        ]
        return card(
            "Settings",
            *rows,
            self._automatic,
            self._add,
            self._why,
            note=self.status,
            css="cl-cns-settings",
        )

    def _slider(self, field: str) -> Any:
        whole = field != "alpha"
        kind = pmu.IntSlider if whole else pmu.FloatSlider
        limits: dict[str, Any] = {"start": 1, "end": 2, "value": 1}
        if not whole:
            limits = {"start": 0.01, "end": 0.9, "value": 0.1, "step": 0.001}
        slider = kind(
            **limits,
            label="",
            show_value=False,
            sizing_mode="stretch_width",
            margin=(0, 12),
            visible=False,
            css_classes=[SLIDERS[field][0]],
        )
        slider.param.watch(lambda event: self._moved(field, event.new), "value")
        return slider

    def _moved(self, field: str, value: Any) -> None:
        """Act at once, so that no older position can come after a newer one."""
        setting = self.session.derived.get("cns_setting")
        if setting.ready and not self._updating:
            go_to_setting(self.session, setting.value, **{field: value})

    def prepare(self, results: Mapping[str, Result]) -> None:
        """Show sliders only where there is something to set."""
        ready = results["cns_setting"].ready
        for part in (
            *self._sliders.values(),
            *self._titles.values(),
            self._automatic,
            self._add,
        ):
            part.visible = ready

    def show(
        self,
        cns_setting: Setting,
        cns_graph: CNSGraph,
        cns_automatic: Result,
        run: Result,
    ) -> None:
        """Set the ranges, the marks and the words beside the sliders."""
        automatic: Automatic | None = cns_automatic.value
        chosen = automatic.setting if automatic else None
        most = max(MOST_CLUSTERS, *(s.n_clusters for s in (cns_setting, chosen) if s))
        low, high = cns_graph.alpha_range
        ends = {
            "n_clusters": (1, min(most, cns_graph.max_clusters)),
            "n_neighbors": (1, cns_graph.max_neighbors),
            "alpha": (low, high),
        }
        self._sliders["alpha"].step = 10.0 ** math.floor(math.log10(high - low) - 1.5)
        for field, (start, end) in ends.items():
            self._place(field, start, end, cns_setting, chosen)
        self._automatic.body = self._say_automatic(cns_setting, cns_automatic)
        of_table = run.value and run.value.dataset is self.session.analysis.dataset
        self._add.disabled = not of_table
        self._why.body = "<p class='muted'>{}</p>".format(
            f"A copy of {safe(run.value.name)} gets this model; one undo takes it back."
            if of_table
            else "Needs a run of this table; run one on Pool."
        )

    def _place(
        self, field: str, start: Any, end: Any, setting: Setting, chosen: Setting | None
    ) -> None:
        """Put one slider where the setting is, the automatic choice marked."""
        value, marks = getattr(setting, field), []
        if chosen is not None:
            best = getattr(chosen, field)
            marks = [{"value": best, "label": f"auto {number(best)}"}]
        self._updating = True
        try:
            self._sliders[field].param.update(
                start=start, end=end, marks=marks, value=value
            )
        finally:
            self._updating = False
        _, name, meaning = SLIDERS[field]
        self._titles[field].body = (
            f"<p><b>{name}</b> <span class='muted'>{meaning}</span> "
            f"<b class='right'>{number(value)}</b></p>"
        )

    def _say_automatic(self, setting: Setting, automatic: Result) -> str:
        if automatic.ready and setting == automatic.value.setting:
            return "<p class='muted'>This is the automatic choice of CNS.</p>"
        if automatic.ready:
            return f"<p>{link('Back to the automatic choice', 'reset')}</p>"
        if automatic.state == "pending":
            return "<p class='muted'>The automatic choice is being made …</p>"
        return f"<p>No automatic choice yet. {link('Make it', 'ask')}</p>"

    async def _add_model(self, event: Any) -> None:
        setting = self.session.derived.get("cns_setting")
        if setting.ready:
            await self.session.act("add CNS", **vars(setting.value))

    def _reset(self, what: str) -> None:
        if what == "ask":
            self.session.derived.ask("cns_automatic")
            return
        self.session.look.param.update(
            cns_neighbors=None, cns_alpha=None, cns_clusters=None
        )
