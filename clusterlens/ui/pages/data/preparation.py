"""Card of the preparation: its rules, and a map of the prepared samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusterlens.compute.formatting import count, percent, whole
from clusterlens.compute.table.dataset import (
    CATEGORICAL_RULES,
    MISSING_RULES,
    SCALES,
    Dataset,
)
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.copies import answer, ready_line
from clusterlens.ui.figures.keyboard_control import with_keyboard_control
from clusterlens.ui.figures.map_frame import MapFrame
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.data.nodes import Axes, Shading
from clusterlens.ui.plots.axes import plane_words, spoken_axes
from clusterlens.ui.plots.samples import Picture
from clusterlens.ui.widgets.palette import NOISE_COLOUR, SHADES
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import badge, card, mark, pmu, pn, safe, select
from clusterlens.ui.widgets.words import size_in_bytes

PCA = {
    "no, keep all features": None,
    "keep 95% of the variance": 0.95,
    "keep 80% of the variance": 0.8,
    "2 components": 2,
}
RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "missing": ("Missing values", {rule: rule for rule in MISSING_RULES}),
    "scale": ("Scaling of numbers", {rule: rule for rule in SCALES}),
    "categorical": ("Categories", {rule: rule for rule in CATEGORICAL_RULES}),
    "pca": ("Principal components", PCA),
}


# Each bar is shown in full or not at all.
_BARS = """
.text > div { display: flex; flex-direction: column; height: 100%; }
.bars { flex: 1 1 0; min-height: 0; display: flex; flex-flow: column wrap;
  overflow: hidden; }
.bars > div { width: 100%; }
"""


class PreparedMap(MapFrame):
    """Prepared samples on two numeric columns, or on two principal components.

    Parameters
    ----------
    on_change : callable
        As for `Frame`.
    """

    def __init__(self, on_change: Callable[..., None]) -> None:
        super().__init__(
            on_change, css="cl-prepared-figure", tools=["box_zoom", "save"]
        )


class Preparation(Card):
    """Selects of the rules, the map, and the button to the next page."""

    needs = ("dataset", "prepared_picture", "shading", "axes")

    def build(self) -> Any:
        self._selects = {rule: self._select(rule) for rule in RULES}
        self._map = PreparedMap(self.view_handler("prepared_view"))
        self._legend = Text(styles={"flex": "none"}, css_classes=["cl-prepared-legend"])
        self._bars = Text(
            width=104,
            sizing_mode="stretch_height",
            css_classes=["cl-variance"],
            styles={"overflow": "hidden"},
            stylesheets=[_BARS],
        )
        self._result = Text(
            css_classes=["cl-prepared"],
            styles={"flex": "1 1 calc(210px * var(--cl-scale, 1))"},
        )
        # Full width, so that the text takes little height from the map.
        self._more = Text(
            does=lambda what: answer(self.session, what),
            css_classes=["cl-prepared-more"],
            styles={"flex": "none"},
        )
        self._next = pmu.Button(
            label="Next: choose a pool",
            icon="arrow_forward",
            on_click=lambda event: setattr(self.session.view_state, "page", "pool"),
            margin=(4, 0, 0, 8),
            css_classes=["cl-next"],
        )
        place, self._steering = with_keyboard_control(self._map)
        picture = pn.Row(
            place,
            self._bars,
            margin=0,
            sizing_mode="stretch_both",
            styles={"flex": "1 1 0", "min-height": "0"},
        )
        rules = pn.Column(
            *self._selects.values(),
            margin=0,
            sizing_mode="stretch_width",
            styles={
                "display": "grid",
                "grid-template-columns": "repeat(auto-fit, "
                "minmax(max(calc(150px * var(--cl-scale, 1)), 34%), 1fr))",
                "gap": "4px 10px",
                "flex": "none",
            },
        )
        end = pn.Row(
            self._result,
            self._next,
            margin=0,
            sizing_mode="stretch_width",
            styles={"flex": "none", "flex-wrap": "wrap"},
        )
        return card(
            "Preparation",
            rules,
            self.status,
            self._legend,
            picture,
            end,
            self._more,
            css="cl-preparation",
        )

    def _select(self, rule: str) -> Any:
        title, choices = RULES[rule]

        def read() -> str:
            given = self.session.analysis.preparation.get(rule)
            shown = (name for name, value in choices.items() if value == given)
            return next(shown, next(iter(choices)))

        async def write(name: str) -> None:
            if self.session.analysis.table is not None:
                await self.session.act("prepare", **{rule: choices[name]})

        chosen = select(
            title,
            list(choices),
            value=next(iter(choices)),
            margin=(6, 0, 0, 0),
            sizing_mode="stretch_width",
            css=f"cl-{rule}",
        )
        return self.control(chosen, read, write)

    def prepare(self, results: Mapping[str, Result]) -> None:
        """Describe the prepared samples before the map is drawn."""
        ds = results["dataset"].value
        self._next.disabled = ds is None
        self._result.body = _result(ds) if ds else "<p class='muted'>Not prepared.</p>"
        self._more.body = _more(ds) if ds else ""

    def show(
        self, dataset: Dataset, prepared_picture: Picture, shading: Shading, axes: Axes
    ) -> None:
        """Show the picture, its legend and the shares of the variance."""
        self._map.show_map(prepared_picture, self.session.view_state.prepared_view)
        self._legend.body = f"<p>{_colours(shading, axes)}</p>{_axes(axes)}"
        self._bars.visible = not axes.projection.columns
        self._bars.body = _bars(axes.projection)
        self._steering.words = _spoken(dataset, axes, shading)


def _result(ds: Dataset) -> str:
    n, d = ds.X.shape
    return (
        f"<p>{badge('ready')} <b>{whole(n)} samples × {count(d, 'feature')}</b> go "
        f"into the pool. <span class='muted'>{_memory(ds)}</span></p>"
    )


def _more(ds: Dataset) -> str:
    """Describe the copies, and name the column that is the given label."""
    copies, labels = ready_line(ds), ""
    if ds.labels_true is not None:
        name = next(str(c) for c, role in ds.roles.items() if role == "label")
        labels = (
            f"<span class='muted'>{safe(name)}, the given label with "
            f"{len(ds.label_names)} classes, is not a feature.</span>"
        )
    return f"<p>{copies} {labels}</p>" if copies or labels else ""


def _memory(ds: Dataset) -> str:
    """Format the memory of the table and its features."""
    table = int(ds.table.memory_usage(index=False).sum())
    return f"{size_in_bytes(table + ds.X.nbytes)} in memory, table and features."


def _colours(shading: Shading, axes: Axes) -> str:
    if not shading.column:
        return f"<b>What goes in</b>, on {safe(plane_words(axes.projection))}"
    stops = ", ".join(SHADES)
    known = (
        f"{safe(shading.low)} <span style='display:inline-block;width:80px;height:9px;"
        f"background:linear-gradient(90deg,{stops})'></span> {safe(shading.high)}"
    )
    missing = mark(NOISE_COLOUR, f"missing {whole(shading.n_missing)}")
    entries = [known] * (shading.low != "") + [missing] * (shading.n_missing > 0)
    return (
        f"<b>What goes in</b>, shaded by {safe(shading.column)}: "
        f"{'&ensp;'.join(entries)}"
    )


def _axes(axes: Axes) -> str:
    if axes.projection.columns:
        return ""
    explained = axes.projection.explained
    parts = [
        f"{arrow} <b>PC {k} · {percent(explained[k - 1])}</b> "
        + ", ".join(
            f"<span class='brief cut' title='{safe(name)}'>{safe(name)}</span>"
            for name in axes.loadings[k - 1]
        )
        for k, arrow in ((1, "→"), (2, "↑"))
    ]
    return f"<p class='muted'>{'&ensp;'.join(parts)}</p>"


def _spoken(ds: Dataset, axes: Axes, shading: Shading) -> str:
    """Describe the map for screen readers: samples, shading, axes."""
    shaded = f", shaded by {shading.column}" if shading.column else ""
    if shading.n_missing:
        shaded += f" ({count(shading.n_missing, 'missing value')} in grey)"
    return (
        f"Map of {count(len(ds.X), 'sample')}{shaded}. {spoken_axes(axes.projection)}"
    )


def _bars(projection: Projection) -> str:
    explained = projection.explained
    largest = max(float(explained[0]), 1e-9)
    rows = "".join(
        "<div style='display:flex;align-items:center;gap:4px;font-size:12px;"
        f"line-height:15px'><span style='width:15px'>{k + 1}</span>"
        f"<span style='height:8px;width:{48 * share / largest:.1f}px;background:"
        f"{'#0b8a8a' if k < 2 else '#8fa3ad'}'></span>{percent(share)}</div>"
        for k, share in enumerate(explained.tolist())
    )
    return (
        f"<p><b style='font-size:16px'>{percent(explained[:2].sum())}</b></p>"
        "<p class='muted'>of the variance is in this map</p>"
        f"<div class='bars'>{rows}</div>"
    )
