"""Card of two scales: groups around centres, and dense groups of any shape."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clusterlens.compute.formatting import whole
from clusterlens.compute.indices.class_match import LabelCheck
from clusterlens.compute.indices.evidence import LabelEvidence
from clusterlens.compute.indices.label_anchors import LABEL_ANCHORS
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.copies import matter
from clusterlens.ui.figures.canvas import CANVAS_CSS, Canvas, apart
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.results.evaluated_labels import EvaluatedLabels
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import badge, card, link, safe, tinted
from clusterlens.ui.widgets.words import error, fixed

OWN = "#0b7d7d"
RISING = "#c2570c"
_LEFT, _RIGHT = 0.4, 0.6
# Smallest distance of neighbouring texts, as a share of the height.
_GAP = 0.062
# A name takes the width beside its scale that its value leaves.
SCALES_CSS = (
    CANVAS_CSS
    + """
.canvas { container-type: inline-size; }
bdi { display: inline-block; max-width: calc(36cqw - 5ch); overflow: hidden;
  text-overflow: ellipsis; vertical-align: bottom; }
"""
)
# Lines that rise by this share of the height are separate groups, but not round.
_RISES = 0.15


class _Line(NamedTuple):
    """One data set: its name, both scores, and its style."""

    name: str
    score: float
    dbcv: float
    kind: str = ""

    @property
    def scores(self) -> tuple[float, float]:
        """Return both scores."""
        return self.score, self.dbcv


class LabelScales(Card):
    """CH_btwn and DBCV of the classes among values of well-known data sets."""

    needs = ("evaluated_labels", "label_check")
    also = ("label_evidence",)

    def build(self) -> Any:
        self._badge = Text(does=self._retry, styles={"flex": "none"})
        self._chart = Text(
            css_classes=["cl-label-scales"], stylesheets=[SCALES_CSS], scrolls=True
        )
        self._how = Text(styles={"flex": "none"})
        return card(
            "Score among known data sets",
            self._how,
            self._badge,
            self._chart,
            note=self.status,
            css="cl-label-anchors",
        )

    def prepare(self, results: Any) -> None:
        """Remove the chart if there are no labels."""
        if not results["evaluated_labels"].ready:
            self._chart.body = self._badge.body = ""

    def show(
        self,
        evaluated_labels: EvaluatedLabels,
        label_check: LabelCheck,
        label_evidence: Result,
    ) -> None:
        """Draw the scales; the right one after density has been measured."""
        found: LabelEvidence | None = label_evidence.value
        shuffled = "labels shuffled."
        if evaluated_labels.noun == "cluster":
            shuffled = "clusters shuffled. Parts of noise score high, too."
        self._how.body = (
            f"<p class='how'>Two scales. <b style='color:{tinted(RISING)}'>Rising "
            "lines</b>: groups apart, but not each around a centre. Dashed: these "
            f"{shuffled}</p>"
        )
        copies = ""
        if matter(evaluated_labels.dataset):
            copies = badge("copies of rows count", kind="estimate")
        self._badge.body = (
            f"<p>{_badges(label_check, found, label_evidence)} {copies}</p>"
        )
        lines = [_Line(a.example, a.score, a.dbcv) for a in LABEL_ANCHORS]
        dbcv = float(found.dbcv) if found else np.nan
        lines.append(_Line(evaluated_labels.title, label_check.score, dbcv, "own"))
        if found is not None and len(found.shuffled):
            chance = found.shuffled.mean()
            lines.append(_Line("shuffled", chance["score"], chance["dbcv"], "shuffled"))
        self._chart.body = draw_scales(lines)

    def _retry(self, what: str) -> None:
        if what == "evidence":
            self.session.derived.ask("label_evidence")
        else:
            super()._retry(what)


def _badges(check: LabelCheck, found: LabelEvidence | None, result: Result) -> str:
    text = badge(
        "exact: all assignments"
        if check.standard_error == 0
        else f"{error(check.standard_error)} Monte-Carlo error (2 standard errors)"
    )
    if found is None:
        if result.state == "pending":
            return f"{text} <span class='muted'>measuring density …</span>"
        return f"{text} {link('Measure density', 'evidence')}"
    if found.dbcv.reason:
        why = f"dense groups (DBCV) not measured: {safe(found.dbcv.reason)}"
        return f"{text} <span class='muted'>{why}</span>"
    if not found.dbcv.exact:
        size = f"dense groups (DBCV) from {whole(found.dbcv.n_used)} rows"
        return f"{text} {badge(size, kind='estimate')}"
    return text


def draw_scales(lines: list[_Line]) -> str:
    """Draw data sets as lines between two vertical scales."""
    known = [line for line in lines if np.isfinite(line.dbcv)]
    low = min([-0.1, *(line.score for line in lines)]), min(-1.0, *_values(known))
    high = 1.0, max([0.4, *_values(known)])
    own = next(line for line in lines if line.kind == "own")
    words = (
        f"{own.name}: round groups (CH between) {fixed(own.score)}, dense groups "
        f"(DBCV) {fixed(own.dbcv)}, among "
        + ", ".join(f"{a.name} {fixed(a.score)} and {fixed(a.dbcv)}" for a in lines)
    )
    canvas = Canvas((0, 1), (0, 1), words, padding=(4, 32, 4, 22))

    def place(value: float, side: int) -> float:
        return (value - low[side]) / (high[side] - low[side])

    for x, title, meaning, place_of, shift in (
        (_LEFT, "round groups", "CH<sub>btwn</sub>", "end", 20),
        (_RIGHT, "dense groups", "DBCV", "start", -20),
    ):
        canvas.line([(x, 0), (x, 1)], opacity=0.4)
        canvas.text(x, 1.075, title, bold=True, place=place_of, shift=shift)
        canvas.text(x, -0.05, meaning, muted=True)
    for line in lines:
        _join(canvas, line, place(line.score, 0), place(line.dbcv, 1))
    for side, chosen, x in ((0, lines, _LEFT), (1, known, _RIGHT)):
        places = [place(line.scores[side], side) for line in chosen]
        texts = apart(places, _GAP, (0.0, 1.0))
        for line, y, at in zip(chosen, texts, places, strict=True):
            _write(canvas, line, side, x, (at, y))
    return canvas.markup()


def _values(lines: list[_Line]) -> list[float]:
    return [line.dbcv for line in lines]


def _colour(line: _Line, left: float, right: float) -> str:
    if line.kind == "own":
        return OWN
    return RISING if right - left > _RISES and not line.kind else "currentColor"


def _join(canvas: Canvas, line: _Line, left: float, right: float) -> None:
    """Draw the line of a data set between its two scores."""
    if not np.isfinite(right):
        return
    own = line.kind == "own"
    colour = _colour(line, left, right)
    canvas.line(
        [(_LEFT, left), (_RIGHT, right)],
        colour,
        width=3 if own else 1.2,
        dash="5 4" if line.kind == "shuffled" else "",
        opacity=1.0 if own or colour == RISING else 0.35,
    )


def _write(
    canvas: Canvas, line: _Line, side: int, x: float, at: tuple[float, float]
) -> None:
    """Draw the mark of a data set and its name beside a scale."""
    own = line.kind == "own"
    outwards = -1 if side == 0 else 1
    place, y = at
    canvas.line([(x, place), (x + 0.03 * outwards, y)], opacity=0.3, width=1)
    title = f"{line.name}: {fixed(line.scores[side], 3)}"
    colour = OWN if own else "#8a949c"
    canvas.dot(x, place, colour, size=13 if own else 8, title=title)
    name_markup = safe(line.name)
    name, value = (
        f"<bdi title='{name_markup}'>{name_markup}</bdi>",
        fixed(line.scores[side]),
    )
    canvas.text(
        x + 0.04 * outwards,
        y,
        f"{name} {value}" if side == 0 else f"{value} {name}",
        place="end" if side == 0 else "start",
        bold=own,
        muted=not own,
        colour=tinted(OWN) if own else "",
    )
