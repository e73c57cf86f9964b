"""Card of the agreement of the pool's models with the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute.formatting import count
from clusterlens.compute.indices.agreement_reached import PoolAgreement
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.commands import run_preset
from clusterlens.ui.figures.canvas import CANVAS_CSS, Canvas
from clusterlens.ui.results.evaluated_labels import EvaluatedLabels
from clusterlens.ui.results.lab import Reached
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, link, safe, tinted
from clusterlens.ui.widgets.words import fixed

GIVEN, MERGED = "#0b7d7d", "#a06c08"
# Names of two dots closer than this are merged into one text.
_TEXT_WIDTH = 0.3
# On close lines names would cover dots even so.
DOTS_CSS = """
:host { container-type: size; }
@container (max-height: 150px) { .canvas b { display: none; } }
"""


class LabelAgreement(Card):
    """A dot for each model by family; the leader and the highest are named."""

    needs = ("evaluated_labels", "label_agreement")
    empty = (
        "<p>What agreement a pool reaches with these labels needs a run. "
        f"{link('Run the quick pool', 'quick', css='cl-quick-pool')} or "
        f"{link('choose one on Pool', 'pool')}.</p>"
    )

    def build(self) -> Any:
        self._how = Text()
        self._chart = Text(
            css_classes=["cl-label-agreement-dots"],
            stylesheets=[CANVAS_CSS, DOTS_CSS],
            scrolls=True,
        )
        self._text = Text(css_classes=["cl-label-reached"], styles={"flex": "none"})
        return card(
            "What agreement could you hope for?",
            self._how,
            self._chart,
            self._text,
            note=self.status,
            css="cl-label-agreement",
        )

    def prepare(self, results: Any) -> None:
        """Show the card for given classes; empty without a run."""
        labels = results["evaluated_labels"]
        if labels.ready:
            self.view.visible = labels.value.noun == "class"
        if not results["label_agreement"].ready:
            self._chart.body = self._text.body = self._how.body = ""

    def show(self, evaluated_labels: EvaluatedLabels, label_agreement: Reached) -> None:
        """Draw the dots and write the agreement of the leader and of the highest."""
        given, merged = label_agreement.given, label_agreement.merged
        run = self.session.analysis.run
        name = safe(run.name) if run else "the run"
        after = (
            f", <b style='color:{tinted(MERGED)}'>○ once merged</b>"
            if merged is not None
            else ""
        )
        kind = "how" if merged is None else "muted"
        self._how.body = (
            f"<p class='{kind}'>Adjusted Rand index of every model of {name} with "
            f"<b style='color:{tinted(GIVEN)}'>● the labels</b>{after}.</p>"
        )
        self._chart.body = draw_agreement(given, merged)
        self._text.body = f"<p>{_reached(given)}{_after(merged)}</p>"

    async def _retry(self, what: str) -> None:
        if what == "quick":
            await run_preset(self.session, "quick")
        else:
            super()._retry(what)


def _reached(found: PoolAgreement) -> str:
    best, names = found.highest, found.ensemble.names
    text = f"<b>{fixed(found.values[best])} at most from this pool</b> "
    text += f"({safe(names[best])})"
    if found.leader is not None:
        place = found.places[found.leader]
        of = len(found.values)
        text += (
            f", <b>{fixed(found.values[found.leader])}</b> from its leader "
            f"({safe(names[found.leader])}), place {place} of {of} by agreement"
        )
    unseen = int(np.isnan(found.values).sum())
    if unseen:
        text += f"; {count(unseen, 'model')} saw fewer than two labelled rows"
    return (
        f"{text}. <span class='how'>The highest was picked knowing the labels: a "
        "limit, not a promise.</span>"
    )


def _after(merged: PoolAgreement | None) -> str:
    if merged is None:
        return ""
    text = f" Once merged: {fixed(merged.values[merged.highest])} at most"
    if merged.leader is not None:
        text += f", {fixed(merged.values[merged.leader])} from the leader"
    return f"{text}."


def draw_agreement(given: PoolAgreement, merged: PoolAgreement | None) -> str:
    """Draw the adjusted Rand index of every model, a line for each family."""
    of_all = np.asarray(given.ensemble.families)
    families = {name: np.flatnonzero(of_all == name) for name in pd.unique(of_all)}
    shown = [(given, GIVEN), *([(merged, MERGED)] if merged is not None else [])]
    # Names are above their dots, on a line of their own.
    texts = {
        name: [(_texts(found, of), colour) for found, colour in shown]
        for name, of in families.items()
    }
    height = len(families) + sum(bool(t) for row in texts.values() for t, _ in row)
    low = min(-0.05, *(float(np.nanmin(found.values)) for found, _ in shown)) - 0.02
    words = _reached(given)
    for tag in ("<b>", "</b>", "<span class='how'>", "</span>"):
        words = words.replace(tag, "")
    canvas = Canvas((low, 1.03), (0, height), words, padding=(120, 18, 30, 20))
    canvas.ticks([(v, f"{v:g}") for v in (0, 0.2, 0.4, 0.6, 0.8, 1)], -0.04 * height)
    canvas.line([(0, 0), (0, height)], opacity=0.5)
    y = height - 0.5
    for name, of in families.items():
        for row, colour in texts[name]:
            for value, text in row:
                at, ink = min(value, 0.93), tinted(colour)
                canvas.text(at, y, text, bold=True, colour=ink)
            y -= bool(row)
        canvas.text(low, y, f"{safe(name)} {len(of)}", place="end", shift=-6)
        if merged is not None:
            _dots(canvas, merged, of, y - 0.2, hollow=True)
        _dots(canvas, given, of, y + (0.15 if merged else 0), hollow=False)
        y -= 1
    return canvas.markup()


def _named(found: PoolAgreement) -> dict[int | None, str]:
    return {found.highest: "highest", found.leader: "leader"}


def _dots(
    canvas: Canvas, found: PoolAgreement, of: np.ndarray, y: float, *, hollow: bool
) -> None:
    """Draw the models of a family on its line; ring the leader and the highest."""
    named = _named(found)
    for model in of[np.isfinite(found.values[of])].tolist():
        value = float(found.values[model])
        known = named.get(model, "")
        canvas.dot(
            value,
            y,
            MERGED if hollow else GIVEN,
            size=9,
            hollow=hollow,
            ring="currentColor" if known else "",
            title=f"{found.ensemble.names[model]}: {fixed(value, 3)} {known}",
        )


def _texts(found: PoolAgreement, of: np.ndarray) -> list[tuple[float, str]]:
    """Name the leader and the highest of a family, each at its value."""
    named = _named(found)
    known = of[np.isfinite(found.values[of])].tolist()
    here = sorted((float(found.values[k]), named[k]) for k in known if k in named)
    texts = [(value, f"{name} {fixed(value)}") for value, name in here]
    if len(texts) == 2 and texts[1][0] - texts[0][0] < _TEXT_WIDTH:
        middle = (texts[0][0] + texts[1][0]) / 2
        texts = [(min(middle, 1 - _TEXT_WIDTH), f"{texts[0][1]} · {texts[1][1]}")]
    return texts
