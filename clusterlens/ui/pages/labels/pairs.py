"""Card of the score of every pair of classes; a click shows the two."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from clusterlens.compute.formatting import whole
from clusterlens.compute.indices.class_match import SMALL_CLASS, LabelCheck
from clusterlens.ui.components.card import Card
from clusterlens.ui.figures.canvas import CANVAS_CSS, Canvas
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.labels.nodes import PairOfClasses
from clusterlens.ui.results.evaluated_labels import EvaluatedLabels
from clusterlens.ui.widgets.palette import APART_COLOURS, apart_colour
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, safe
from clusterlens.ui.widgets.words import error, fixed

PAIRS_CSS = """
:host { container-type: size; }
/* All rows fit, and that of the numbers, as long as they can be hit and read. */
.pairs { --gap: 2px; --most: 30px; position: relative; border-spacing: var(--gap);
  border-collapse: separate; width: 100%;
  --row: clamp(8px, 100cqh / (var(--n) + 1) - var(--gap) - 1px, var(--most)); }
.pairs td, .pairs th { border: 0; padding: 0; text-align: center; height: var(--row);
  line-height: var(--row); vertical-align: middle; }
.pairs th { text-align: left; padding-right: 6px; color: inherit; width: 1px; }
.pairs td { border-radius: 3px; min-width: 26px; }
.pairs td.size { background: color-mix(in srgb, currentColor 7%, transparent);
  font-size: .857em; }
.pairs td.open { outline: 2px solid currentColor; }
.pairs button { all: unset; display: block; width: 100%; height: var(--row);
  cursor: pointer; font-weight: 700; border-radius: 3px; }
.pairs button:focus-visible { outline-offset: 1px; }
/* Whole names of the cell in focus, where the triangle leaves room. */
.pairs:not(.few) button:focus-visible::after { content: attr(title); z-index: 1;
  position: absolute; inset: 0 0 auto auto; max-width: 45%;
  font-weight: 400; font-size: 12px; line-height: 1.2; text-align: left;
  letter-spacing: 0; padding: 2px 4px; border-radius: 3px;
  pointer-events: none; white-space: normal;
  background: var(--panel-surface-color, #fff); color: var(--panel-on-surface-color);
  outline: 1px solid color-mix(in srgb, currentColor 30%, transparent); }
/* A name has two lines where it must, and is cut only beyond. */
.pairs th span { display: -webkit-box; -webkit-box-orient: vertical;
  -webkit-line-clamp: 2; overflow: hidden; white-space: normal;
  max-height: var(--row); line-height: 1.1; width: max-content; max-width: 154px; }
.pairs .hatched { background-image: repeating-linear-gradient(45deg, transparent 0 4px,
  rgba(128, 128, 128, .45) 4px 6px) !important; }
.pairs.few { --most: 44px; }
.pairs.some th span, .pairs.many th span { max-width: 114px; }
.pairs.some { --most: 22px; }
.pairs.some td, .pairs.some th, .pairs.some button { font-weight: 400;
  font-size: min(.857em, var(--row)); }
.pairs.many { --most: 20px; --gap: 1px; }
.pairs.many td, .pairs.many th { font-weight: 400; min-width: 0;
  font-size: min(.857em, .95 * var(--row)); }
@media (max-width: 1150px) {
  .pairs { --gap: 1px; }
  .pairs:not(.few) { table-layout: fixed; }
  .pairs:not(.few) td { min-width: 0; }
  .pairs:not(.few) th { padding-right: 3px; font-size: 12px;
    width: clamp(56px, 100cqw - var(--n) * var(--cell), 130px); }
  .pairs:not(.few) th span { width: auto; max-width: none; }
  .pairs { --cell: 28px; } .pairs.some { --cell: 15px; } .pairs.many { --cell: 10px; }
  .pairs:not(.few) td.size { font-size: min(9.5px, var(--row)); }
  .pairs:not(.few) button { font-size: min(9.5px, var(--row)); font-weight: 400;
    letter-spacing: -.2px; }
  .pairs.some button, .pairs.some td.size, .pairs.many td.size { font-size: 0; }
}
"""
# Largest numbers of classes for large, medium and small cells; with more classes cells
# hold only a colour and a title.
_FEW, _LARGE, _NUMBERED = 5, 8, 14
# Longest class name below a column, in characters.
_SHORT = 3


class LabelPairs(Card):
    """Triangle of scores with the sizes on its diagonal, and their spread."""

    needs = ("named_labels", "label_check")
    also = ("label_pair",)

    def build(self) -> Any:
        self._how = Text(styles={"flex": "none"})
        self._table = Text(
            does=self._open,
            css_classes=["cl-label-pairs"],
            stylesheets=[PAIRS_CSS],
            scrolls=True,
        )
        self._strip = Text(
            does=self._open,
            css_classes=["cl-label-strip"],
            stylesheets=[CANVAS_CSS, ".canvas { height: 74px; }"],
            styles={"flex": "none"},
        )
        return card(
            "Pairs",
            self._how,
            self._table,
            self._strip,
            note=self.status,
            css="cl-label-pair-table",
        )

    def prepare(self, results: Any) -> None:
        """Remove the table if there are no labels."""
        if not results["named_labels"].ready:
            self._table.body = self._strip.body = ""

    def show(
        self, named_labels: EvaluatedLabels, label_check: LabelCheck, label_pair: Result
    ) -> None:
        """Write the triangle and the strip."""
        self._how.body = _how(named_labels)
        opened: PairOfClasses | None = label_pair.value
        at = (opened.a, opened.b) if opened else ()
        self._table.body = pair_table(named_labels, label_check, at)
        self._strip.body = _strip(named_labels, label_check, at)

    def _open(self, what: str) -> None:
        self.session.view_state.open_pair(*map(int, what.split()))


def _how(labels: EvaluatedLabels) -> str:
    """Explain the triangle, and its limits for clusters."""
    scale = "0 as random … 1 apart"
    if labels.noun == "cluster":
        scale = "0 shuffled … 1 apart; parts of noise come near 1, too"
    return (
        "<p class='how'>Low: the two mix. Click a cell to see them on the right. "
        "Diagonal: rows. <span style='display:inline-block;width:70px;height:9px;"
        f"background:linear-gradient(90deg,{','.join(APART_COLOURS)})'></span> "
        f"{scale}</p>"
    )


def pair_table(
    labels: EvaluatedLabels, check: LabelCheck, opened: tuple[int, ...]
) -> str:
    """Write the triangle of scores as a table of buttons."""
    classes = list(labels.sizes)
    numbered = len(classes) <= _NUMBERED
    pairs: Iterable[Any] = check.pairs.itertuples()
    rows = {(int(r.class_a), int(r.class_b)): r for r in pairs}
    marks = _marks([str(labels.name(b)) for b in classes])
    body = ""
    for at, b in enumerate(classes):
        cells = "".join(
            _cell(labels, rows[a, b], (a, b) == opened, numbered) for a in classes[:at]
        )
        name, size = safe(labels.name(b)), whole(labels.sizes[b])
        mark = safe(marks[at])
        heading = name if name == mark else f"{mark} {name}"
        body += (
            f"<tr><th title='{name}, {size} rows'><span>{heading}</span></th>{cells}"
            f"<td class='size'>{size}</td></tr>"
        )
    sizes = {_FEW: "few", _LARGE: "", _NUMBERED: "some"}
    kind = next((kind for n, kind in sizes.items() if len(classes) <= n), "many")
    marks_row = "".join(f"<td>{safe(mark)}</td>" for mark in marks)
    rows_of = f"style='--n:{len(classes)}'"
    return (
        f"<table class='pairs {kind}' data-roving='map' {rows_of}>{body}"
        f"<tr><th></th>{marks_row}</tr></table>"
    )


def _marks(names: list[str]) -> list[str]:
    """Return a label for each column of the triangle.

    Short names are their own labels. Otherwise the labels are row numbers, with a sign
    in front if a number could be taken for a name.
    """
    if all(len(name) <= _SHORT for name in names):
        return names
    sign = "#" if any(name[:1].isdigit() for name in names) else ""
    return [f"{sign}{k + 1}" for k in range(len(names))]


def _cell(labels: EvaluatedLabels, row: Any, opened: bool, numbered: bool) -> str:
    score, a, b = row.score, int(row.class_a), int(row.class_b)
    names = f"{labels.name(a)} and {labels.name(b)}"
    small = min(row.n_a, row.n_b) < SMALL_CLASS
    note = f"; fewer than {SMALL_CLASS} rows, means little" if small else ""
    spread = f"{error(row.standard_error)}{note}"
    title = safe(f"{names}: {fixed(score, 3)} {spread}")
    spoken = safe(f"{names}: {fixed(score)} {spread}")  # contains the visible number
    fill, ink = apart_colour(score) if np.isfinite(score) else ("transparent", "")
    kinds = " ".join(k for k, on in (("open", opened), ("hatched", small)) if on)
    text = fixed(score) if numbered else "&nbsp;"
    return (
        f"<td class='{kinds}' style='background-color:{fill}'>"
        f"<button data-do='{a} {b}' title='{title}' aria-label='{spoken}' "
        f"style='color:{ink}'>{text}"
        "</button></td>"
    )


def _strip(labels: EvaluatedLabels, check: LabelCheck, opened: tuple[int, ...]) -> str:
    """Draw all scores on one line, because the mean hides their spread."""
    table = check.pairs.dropna(subset="score")
    low = min(-0.1, float(table["score"].min()) - 0.02) if len(table) else -0.1
    words = f"{len(table)} pairs from {fixed(table['score'].min())} to "
    words += f"{fixed(table['score'].max())}, mean {fixed(check.score)}"
    canvas = Canvas((low, 1.02), (0, 1), words, padding=(12, 22, 12, 20))
    canvas.line([(low, 0.5), (1.02, 0.5)], opacity=0.25)
    canvas.ticks([(v, f"{v:g}") for v in (0, 0.25, 0.5, 0.75, 1)], -0.1)
    rows: Iterable[Any] = table.itertuples()
    for row in rows:
        names = f"{labels.name(int(row.class_a))} and {labels.name(int(row.class_b))}"
        at = (int(row.class_a), int(row.class_b))
        canvas.dot(
            row.score,
            0.5,
            apart_colour(row.score)[0],
            size=12,
            ring="currentColor" if at == opened else "rgba(128,128,128,.7)",
            title=f"{names}: {fixed(row.score, 3)}",
            does=f"{at[0]} {at[1]}",
            front=at == opened,
        )
    canvas.line([(check.score, 0), (check.score, 1)], width=2.5)
    mean = f"mean {fixed(check.score, 3)} of {len(table)}"
    if check.score > 0.7:
        canvas.text(1.02, 1.25, mean, bold=True, place="end")
    else:
        canvas.text(max(check.score, 0.1), 1.25, mean, bold=True)
    return canvas.markup()
