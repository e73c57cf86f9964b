"""Card of NDC and its adjusted values under every model: numbers and dot plot."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.fuzzy.adjusted import AdjustedIndex
from clusterlens.compute.fuzzy.concordance import NDC
from clusterlens.compute.fuzzy.random_models import RANDOM_MODELS
from clusterlens.ui.components.card import Card
from clusterlens.ui.figures.canvas import CANVAS_CSS, Canvas, apart
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.fuzzy.nodes import HIDDEN, MODELS
from clusterlens.ui.results.lab import SIDES
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, safe
from clusterlens.ui.widgets.words import caveat, error, fixed

OWN = "#0b7d7d"
# Distance between the names of models, relative to the width of the chart.
_NAME = 0.25
VALUES_CSS = """
:host { container-type: inline-size; }
.canvas em { font-style: normal; }
@container (max-width: 700px) { .canvas em { display: none; } }
.rows { display: grid; height: 100%; grid-template-rows: auto repeat(5, 1fr) 26px; }
.row { display: grid; grid-template-columns: minmax(0, 1.75fr) minmax(0, 1.1fr) 94px
  repeat(2, 72px); align-items: stretch; border-bottom: 1px solid
  color-mix(in srgb, currentColor 12%, transparent); }
.row > div { align-self: center; overflow: hidden; }
.row > div.chart { align-self: stretch; }
.row .number { text-align: right; font-variant-numeric: tabular-nums; }
.row small { display: block; font-size: .857em; opacity: .68; line-height: 1.15; }
.row small.assumption { display: -webkit-box; overflow: hidden;
  -webkit-box-orient: vertical; -webkit-line-clamp: 3; }
.row.chosen { background: color-mix(in srgb, #0b8a8a 12%, transparent); }
.row[data-do] { cursor: pointer; }
.row button { all: unset; cursor: pointer; font-weight: 700; }
.canvas { min-height: 20px; overflow: visible; }
@container (max-width: 700px) {
  .row small.assumption { display: none; }
  .row { grid-template-columns: minmax(8.2em, 1fr) minmax(0, 1.25fr) 94px
    repeat(2, 72px); }
}
"""


class FuzzyValues(Card):
    """One row for each model: its assumption, three marks, three numbers."""

    needs = ("fuzzy_pair", "fuzzy_ndc")
    also = (
        *(f"fuzzy_{model}" for model in MODELS),
        "view.fuzzy_model",
        "fuzzy_hidden",
    )

    def build(self) -> Any:
        self._text = Text(
            does=self._choose,
            css_classes=["cl-fuzzy-values"],
            stylesheets=[CANVAS_CSS, VALUES_CSS],
            scrolls=True,
        )
        how = Text(
            "<p class='how'>0 is what a model expects, 1 is equal. ± is Monte-Carlo "
            "error, two standard errors, not uncertainty of the samples.</p>"
        )
        return card(
            "Agreement of U and V",
            how,
            self._text,
            note=self.status,
            css="cl-fuzzy-agreement",
        )

    def prepare(self, results: Any) -> None:
        """Show nothing without a pair."""
        if not results["fuzzy_ndc"].ready:
            self._text.body = ""

    def show(
        self,
        fuzzy_pair: Any,
        fuzzy_ndc: NDC,
        fuzzy_model: Result,
        fuzzy_hidden: Result,
        **models: Result,
    ) -> None:
        """Write the rows; values arrive one model after another."""
        found = {model: models[f"fuzzy_{model}"] for model in MODELS}
        ready = {model: result.value for model, result in found.items() if result.ready}
        low = _lowest(float(fuzzy_ndc), ready)
        hidden = fuzzy_hidden.value
        rows = [_head(), _raw(fuzzy_ndc, ready, low, hidden)]
        for model, result in found.items():
            chosen = model == fuzzy_model.value
            rows.append(_row(model, result, low, hidden=hidden, chosen=chosen))
        rows.append(_axis(low))
        self._text.body = f"<div class='rows'>{''.join(rows)}</div>"

    def _choose(self, model: str) -> None:
        self.session.view_state.fuzzy_model = model


def _lowest(value: float, ready: dict[str, Any]) -> float:
    values = [value, -0.2]
    values += [float(one) for adjusted in ready.values() for one in adjusted.values()]
    return max(min(values), -2.5) - 0.06


def _head() -> str:
    titles = (f"<b style='color:{OWN}'>●</b> both random", "◀ U fixed", "▶ V fixed")
    cells = "".join(f"<div class='number muted'>{title}</div>" for title in titles)
    return f"<div class='row'><div></div><div></div>{cells}</div>"


def _plot(low: float, words: str) -> Canvas:
    canvas = Canvas((low, 1.04), (0, 1), words, padding=(6, 0, 6, 0))
    for x in (0.25, 0.5, 0.75, 1.0):
        canvas.line([(x, 0), (x, 1)], opacity=0.1, width=1)
    canvas.line([(0, 0), (0, 1)], opacity=0.6)
    return canvas


def _raw(value: NDC, ready: dict[str, Any], low: float, hidden: bool) -> str:
    """Write the unadjusted value, with its expectation under each model."""
    canvas = _plot(low, "hidden" if hidden else f"NDC {fixed(float(value), 3)}")
    if not hidden:
        expected = {
            RANDOM_MODELS[model].title: adjusted[None].expected
            for model, adjusted in ready.items()
        }
        gap, ends = _NAME * (1.04 - low), (low + 0.15, 1.0)
        places = apart(list(expected.values()), gap, ends)
        for (title, x), place in zip(expected.items(), places, strict=True):
            canvas.line([(x, 0.4), (x, 0.8)], width=1.5)
            canvas.line([(x, 0.4), (place, 0.26)], width=1, opacity=0.5)
            name = f"{title[:4]}<em>{title[4:]}</em>"
            canvas.text(place, 0.1, name, muted=True)
        text = f"NDC {fixed(float(value), 4)}"
        canvas.dot(float(value), 0.5, shape="square", hollow=True, title=text)
    shown = HIDDEN if hidden else fixed(float(value), 3)
    return (
        "<div class='row'><div><b>NDC, raw</b><small class='assumption'>Mean "
        "concordance of the pairs; chance is not 0 here. Strokes: what is expected."
        f"</small></div><div class='chart'>{canvas.markup()}</div>"
        f"<div class='number'><b>{shown}</b><small>{error(value.standard_error)}"
        "</small></div><div></div><div></div></div>"
    )


def _row(model: str, result: Result, low: float, *, hidden: bool, chosen: bool) -> str:
    """Write one model with its three values."""
    entry = RANDOM_MODELS[model]
    head = (
        f"<div><button data-do='{model}' aria-pressed='{str(chosen).lower()}'>"
        f"{'◉' if chosen else '○'} {entry.title}</button>"
        f"<small class='assumption' title='{entry.assumption}'>"
        f"{entry.assumption}</small></div>"
    )
    kind = "row chosen" if chosen else "row"
    if not result.ready:
        text = (
            f"<p class='failed'>{safe(result.failure)}</p>"
            if result.error
            else "<div class='skeleton'></div>"
        )
        blank = "<div></div>" * 3
        return f"<div class='{kind}'>{head}<div>{text}</div>{blank}</div>"
    values: dict[Any, AdjustedIndex] = dict(result.value)
    words = ", ".join(fixed(float(value), 3) for value in values.values())
    canvas = _plot(low, "hidden" if hidden else f"{entry.title}: {words}")
    if not hidden:
        _marks(canvas, model, values, low)
    cells = "".join(_cell(model, values, fixed_side, hidden) for fixed_side in SIDES)
    return (
        f"<div class='{kind}' data-do='{model}'>{head}"
        f"<div class='chart'>{canvas.markup()}</div>{cells}</div>"
    )


def _marks(
    canvas: Canvas, model: str, values: dict[Any, AdjustedIndex], low: float
) -> None:
    """Draw the three values with two standard errors on the line of a model."""
    places = [max(float(value), low) for value in values.values()]
    canvas.line([(min(places), 0.5), (max(places), 0.5)], opacity=0.3)
    for side, value in values.items():
        x, reach = max(float(value), low), 2 * value.standard_error
        canvas.line([(x - reach, 0.5), (x + reach, 0.5)], width=4)
        shape = {"u": "left", "v": "right"}.get(side, "")
        if side is None or model != "permutation":
            title = value.sentence
            colour = OWN if side is None else "currentColor"
            canvas.dot(x, 0.5, colour, size=11, shape=shape, title=title)


def _cell(model: str, values: dict[Any, AdjustedIndex], side: Any, hidden: bool) -> str:
    """Write one value with its error, or the reason why it has none."""
    if model == "permutation" and side is not None:
        return "<div class='number muted'>the same</div>"
    value = values[side]
    bold = "b" if side is None else "span"
    shown = HIDDEN if hidden else fixed(float(value), 3)
    return (
        f"<div class='number' title='{safe('; '.join(value.notes))}'><{bold}>{shown}"
        f"</{bold}><small>{caveat(value)}</small></div>"
    )


def _axis(low: float) -> str:
    canvas = Canvas((low, 1.04), (0, 1), "axis", padding=(6, 0, 6, 0))
    ticks = [k / 2 for k in range(-5, 3) if k / 2 > low]
    canvas.ticks([(x, fixed(x, 1)) for x in ticks], 0.9, grid=False)
    canvas.text(0, 0.2, "expected", muted=True)
    canvas.text(1.04, 0.2, "equal", place="end", muted=True)
    blank = "<div></div>"
    return (
        f"<div class='row' style='border:0'>{blank}<div class='chart'>"
        f"{canvas.markup()}</div>{blank * 3}</div>"
    )
