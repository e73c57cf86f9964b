"""Card of neighbours, alpha and number of clusters of CNS, with the criterion."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from clusterlens.compute.estimators.cns.graph import CNSGraph
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.commands import (
    go_to_automatic,
    go_to_setting,
    preview_setting,
)
from clusterlens.ui.figures.canvas import CANVAS_CSS, Canvas
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.cns.study_nodes import Curves
from clusterlens.ui.results.lab import Automatic, Setting
from clusterlens.ui.widgets.form import Form
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import NAME_UNSEEN
from clusterlens.ui.widgets.toolkit import card, link, pmu, select
from clusterlens.ui.widgets.words import fixed, number, typed

# Field of a setting: class of its slider, name and meaning on screen.
SLIDERS = {
    "n_clusters": ("cl-n-clusters", "Clusters K", "number of seeds"),
    "n_neighbors": ("cl-neighbours", "Neighbours k", "averaged over"),
    "alpha": ("cl-alpha", "alpha", "chance to stop"),
}
MOST_CLUSTERS = 20
METRICS = {"Euclidean": "euclidean", "cosine": "cosine"}
OWN = "#0b7d7d"
_MARGIN = 12
# Pixels from the edge of the slider to its track.
_TRACK = 22


class CNSSettings(Card):
    """Sliders that act while they move, each with a field for an exact value.

    A curve above each slider shows the criterion.
    """

    needs = ("cns_displayed_setting", "cns_graph")
    also = ("cns_automatic", "cns_curves")

    def build(self) -> Any:
        self._sliders = {field: self._slider(field) for field in SLIDERS}
        self._titles = {
            field: Form(does=self._typed, margin=(4, 0, 0, 0), styles={"flex": "none"})
            for field in SLIDERS
        }
        self._curves = {
            field: Text(
                stylesheets=[CANVAS_CSS, ".canvas { min-height: 20px; }"],
                scrolls=True,
                styles={"flex": "1 1 0", "min-height": "0"},
                css_classes=[f"{css}-curve"],
            )
            for field, (css, *_) in SLIDERS.items()
        }
        self._automatic = Text(does=self._ask, css_classes=["cl-cns-automatic"])
        view_state = self.session.view_state
        metric = self.control(
            select("Distance", METRICS, css="cl-cns-metric", width=126),
            lambda: view_state.cns_metric,
            lambda key: view_state.param.update(cns_metric=key, cns_preview=None),
        )
        rows = [
            part
            for field in SLIDERS
            for part in (
                self._titles[field],
                self._curves[field],
                self._sliders[field],
            )
        ]
        return card(
            "Settings",
            Text(
                "<p class='how'>Curve: the criterion if only this slider moves; "
                "dashed: the best of all settings compared. ◆ automatic choice.</p>"
            ),
            *rows,
            self._automatic,
            note=self.status,
            buttons=[metric],
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
            label=SLIDERS[field][1],
            sx=NAME_UNSEEN,
            show_value=False,
            sizing_mode="stretch_width",
            margin=(0, _MARGIN),
            visible=False,
            css_classes=[SLIDERS[field][0]],
        )
        # Panel would debounce moves by 50 ms; the live lane drops older requests
        # anyway.
        slider._debounce = 0
        for parameter, act in (("value", self._moved), ("value_throttled", self._left)):
            slider.param.watch(lambda event, act=act: act(field, event.new), parameter)
        return slider

    def _moved(self, field: str, value: Any) -> None:
        """Act at once, so that no older position can arrive after a newer one."""
        setting = self.session.derived.get("cns_setting")
        if setting.ready and not self._updating:
            preview_setting(self.session, setting.value, **{field: value})

    def _left(self, field: str, value: Any) -> None:
        """Choose the setting at the release of the slider: one step of the log."""
        setting = self.session.derived.get("cns_setting")
        if setting.ready and not self._updating:
            go_to_setting(self.session, setting.value, **{field: value})

    def _typed(self, request: str) -> None:
        """Choose an exact value, or report the reason why it is refused."""
        field, text = request.split(" ", 1)
        found = [
            self.session.derived.get(name) for name in ("cns_setting", "cns_graph")
        ]
        if not all(result.ready for result in found):
            return
        setting, graph = (result.value for result in found)
        try:
            value = _read(field, text, limits(graph)[field])
        except ValueError as error:
            self.session.jobs.notify("warning", str(error))
        else:
            go_to_setting(self.session, setting, **{field: value})

    def prepare(self, results: Mapping[str, Result]) -> None:
        """Show the sliders only if there is a graph."""
        ready = results["cns_graph"].ready
        for part in (
            *self._sliders.values(),
            *self._titles.values(),
            *self._curves.values(),
            self._automatic,
        ):
            part.visible = ready

    def show(
        self,
        cns_displayed_setting: Setting,
        cns_graph: CNSGraph,
        cns_automatic: Result,
        cns_curves: Result,
    ) -> None:
        """Set the ranges, the marks, the curves and the texts of the sliders."""
        automatic: Automatic | None = cns_automatic.value
        chosen = automatic.setting if automatic else None
        most = max(
            MOST_CLUSTERS, *(s.n_clusters for s in (cns_displayed_setting, chosen) if s)
        )
        ends = limits(cns_graph)
        low, high = ends["alpha"]
        # A track for every K that can be typed would be too coarse for the usual ones.
        ends["n_clusters"] = (1, min(most, cns_graph.max_clusters))
        self._sliders["alpha"].step = 10.0 ** math.floor(math.log10(high - low) - 1.5)
        for field, (start, end) in ends.items():
            self._place(field, start, end, cns_displayed_setting, chosen)
            if cns_curves.ready:
                self._curves[field].body = draw_curve(
                    field, (start, end), cns_curves.value, cns_displayed_setting, chosen
                )
        self._automatic.body = self._describe_automatic(
            cns_displayed_setting, cns_automatic
        )

    def _place(
        self, field: str, start: Any, end: Any, setting: Setting, chosen: Setting | None
    ) -> None:
        """Place one slider at the setting, and mark the automatic choice."""
        value, marks = getattr(setting, field), []
        if chosen is not None:
            best = getattr(chosen, field)
            marks = [{"value": best, "label": f"auto {number(best)}"}]
            inside = _mark_inside((best - start) / max(end - start, 1e-9))
            self.offer(self._sliders[field], sx={**NAME_UNSEEN, **inside})
        self.offer(self._sliders[field], start=start, end=end, marks=marks, value=value)
        _, name, meaning = SLIDERS[field]
        kind = "" if field == "alpha" else "whole"
        self._titles[field].body = (
            f"<p class='set'><span class='cut'><b>{name}</b> <span class='muted "
            f"meaning'>{meaning}</span></span> <input class='exact {kind}' "
            f"inputmode='decimal' value='{value:.6g}' data-enter='{field}' "
            f"aria-label='exact value of {name}'></p>"
        )

    def _describe_automatic(self, setting: Setting, automatic: Result) -> str:
        if automatic.ready and setting == automatic.value.setting:
            return "<p class='muted'>This is the automatic choice of CNS.</p>"
        if automatic.ready:
            return f"<p>{link('Back to the automatic choice', 'reset')}</p>"
        if automatic.state == "pending":
            return "<p class='muted'>The automatic choice is being made …</p>"
        return f"<p>No automatic choice yet. {link('Make it', 'ask')}</p>"

    def _ask(self, what: str) -> None:
        if what == "ask":
            self.session.derived.ask("cns_automatic")
        else:
            go_to_automatic(self.session)


def _mark_inside(share: float) -> dict[str, Any]:
    """Keep the label of a mark within the ends of the track."""
    return {
        "& .MuiSlider-root": {"marginBottom": "12px"},
        "& .MuiSlider-markLabel": {
            "top": "24px",
            "fontSize": "calc(12px * var(--cl-scale, 1))",
            "transform": f"translateX({-share:.0%})",
        },
    }


def limits(graph: CNSGraph) -> dict[str, tuple[float, float]]:
    """Return the least and the largest value of each setting on this graph."""
    return {
        "n_clusters": (1, graph.max_clusters),
        "n_neighbors": (1, graph.max_neighbors),
        "alpha": graph.alpha_range,
    }


def _read(field: str, text: str, ends: tuple[float, float]) -> float:
    """Read a typed value; raise ValueError with the reason if it is invalid."""
    low, high = ends
    kind, words = (float, "number") if field == "alpha" else (int, "whole number")
    with suppress(ValueError):
        value = kind(typed(text))
        if low <= value <= high:
            return value
    raise ValueError(
        f"{SLIDERS[field][1]} is {text.strip()!r}; give a {words} from {number(low)} "
        f"to {number(high)}."
    )


def draw_curve(
    field: str,
    ends: tuple[float, float],
    curves: Curves,
    setting: Setting,
    chosen: Setting | None,
) -> str:
    """Draw the criterion over one slider, with its place and the automatic choice."""
    points = [p for p in curves.by.get(field, ()) if ends[0] <= p[0] <= ends[1]]
    best = [p for p in curves.best if ends[0] <= p[0] <= ends[1]]
    dashed = best if field == "n_clusters" else []
    if len(points) < 2:
        return "<p class='muted'>being compared …</p>"
    top = max(value for _, value in [*points, *dashed])
    low = max(min(0.0, *(value for _, value in points)), -0.5 * max(top, 1e-9))
    high = top + 0.08 * max(top - low, 1e-9)
    x, y = max(points, key=lambda point: point[1])
    words = f"criterion over {SLIDERS[field][1]}: highest {fixed(y, 3)} at {number(x)}"
    canvas = Canvas(ends, (low, high), words, padding=(_TRACK, 2, _TRACK, 2))
    inside = [(a, max(b, low)) for a, b in points]
    canvas.area([(inside[0][0], low), *inside, (inside[-1][0], low)], OWN)
    canvas.line(inside, OWN)
    if dashed:
        canvas.line([(a, max(b, low)) for a, b in dashed], dash="4 3", width=1.2)
    here = getattr(setting, field)
    canvas.line([(here, low), (here, high)], OWN, width=1)
    if chosen is not None:
        at = getattr(chosen, field)
        canvas.dot(at, low, shape="diamond", size=8, title=f"automatic: {number(at)}")
    return canvas.markup()
