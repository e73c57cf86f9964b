"""Consensus matrix and its binarised form, zoomed and ordered together."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.formatting import count as counted
from clusterlens.compute.formatting import whole
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.commands import pick_pair, toggle_enlarged
from clusterlens.ui.figures.frame import BORDER, TOOLS_WIDTH
from clusterlens.ui.figures.keyboard_control import (
    KeyboardControl,
    with_keyboard_control,
)
from clusterlens.ui.figures.matrix import (
    Cross,
    Edges,
    Heatmap,
    MatrixFigure,
    SelectedSpans,
    cell_pixels,
)
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.plots.matrix import BINARISED_PALETTE
from clusterlens.ui.results.answers import Answers, effect_words
from clusterlens.ui.results.links import Marks
from clusterlens.ui.state.view_parameters import Brush
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import (
    badge,
    card,
    enlarger,
    link,
    pn,
    select,
    shrinking,
)
from clusterlens.ui.widgets.words import voters

ORDERS = {"clusters": "model", "tree": "tree", "file": "file"}
# Smaller cells are too small to be clicked.
CLICKED_PIXELS = 4
SHADINGS = {"linear": "linear", "even": "eq_hist"}
_FILLED = (
    f"<span class='dot' style='border-radius:2px;background:{BINARISED_PALETTE[-1]}'>"
    "</span>"
)
# A place as high as the card and at most as wide as it is high, with a bar of tools at
# its right. The square inside is as high as this place is wide, so it always fits.
# Container units are avoided, because the browser would recompute them at every layout.
_HIGH = {
    "position": "absolute",
    "inset": f"0 {TOOLS_WIDTH}px 0 0",
    "margin": "auto",
    "aspect-ratio": "1",
    "max-width": f"calc(100% - {TOOLS_WIDTH}px)",
    "max-height": "100%",
}
_SQUARE = {
    "flex": "none",
    "width": "100%",
    "height": "auto",
    "min-height": "0",
    "aspect-ratio": "1",
    "margin": "auto 0",
}
# On a narrow page one button enlarges both.
_BESIDE = "@media (max-width: 1150px) { :host { display: none; } }"
# Room for a note of one line, so that the square has its size before its picture.
_NOTE = {"flex": "none", "min-height": "calc(20.2px * var(--cl-scale, 1))"}
_PLACE = {"position": "relative", "flex": "1 1 0", "min-height": "0"}


class Matrix(Card):
    """Base class of both matrices."""

    # Names and rings belong to the picture that is shown, never to the one before.
    drawn = ("matrix_edges", "link_marks", "selected_spans")
    also = ("order", "cross", "view.linking")
    figure: MatrixFigure
    steering: KeyboardControl
    cell_of: attrgetter[str]

    def square(self) -> pn.Column:
        """Return the place of the figure."""
        place, self.steering = with_keyboard_control(self.figure)
        # The bar of tools takes the place of the border at its side.
        wider = f"calc(100% + {TOOLS_WIDTH - BORDER}px)"
        place.styles = {**place.styles, "min-width": wider}
        inner = pn.Column(pn.Column(place, styles=_SQUARE), styles=_HIGH, margin=0)
        return pn.Column(inner, styles=_PLACE, sizing_mode="stretch_both", margin=0)

    def enlarger(self, **params: Any) -> Any:
        """Return the button that enlarges both matrices."""
        return enlarger(
            lambda event: toggle_enlarged(self.session, "matrices"), **params
        )

    def tap(self, row: int, column: int) -> None:
        """Inspect the sample of the row; while linking, ask about the pair."""
        order, view_state = self.session.derived.get("order"), self.session.view_state
        if not order.ready:
            return
        a, b = map(int, order.value[[row, column]])
        if not view_state.linking:
            view_state.param.update(inspected=a, tab="sample", drawer=True)
        elif cell_pixels(view_state.matrix_view, len(order.value)) < CLICKED_PIXELS:
            self.session.jobs.notify(
                "info", "Zoom in to pick a pair: its cell is too small to be clicked."
            )
        else:
            pick_pair(self.session, a, b)

    def brush(self, rows: tuple[int, int], columns: tuple[int, int]) -> None:
        """Brush the samples of the rows and columns of a dragged block."""
        found, view_state = self.session.derived.get("order"), self.session.view_state
        if not found.ready:
            return

        def union(job: Job) -> np.ndarray:
            return np.union1d(*(found.value[slice(*span)] for span in (rows, columns)))

        def brush(positions: Any, error: BaseException | None) -> None:
            if error is None and self.session.derived.get("order") is found:
                source = "block of a matrix"
                view_state.param.update(brush=Brush(positions, source), tab="selection")

        self.session.jobs.live("brush", "Selecting samples", union, brush)

    def draw(
        self,
        title: str,
        picture: Heatmap,
        edges: Edges,
        marks: Marks,
        selected: SelectedSpans,
        cross: Result,
    ) -> None:
        """Show the pixels, the edges and the links, with a description."""
        view_state = self.session.view_state
        at = cross.value if cross.ready else Cross()
        pair_words = self.cell_of(at)
        self.steering.words = _spoken(
            title, picture, edges, marks, selected.n_samples, pair_words
        )
        self.figure.show_matrix(picture, view_state.matrix_view)
        self.figure.show_edges(edges)
        self.figure.show_selected(selected)
        self.figure.mark(marks.cells, marks.colours)
        self.figure.cross(at.places, pair_words, view_state.matrix_view)
        self.figure.hint(view_state.linking)


class ConsensusMatrix(Matrix):
    """Share of the models that join two samples."""

    needs = ("consensus", "ensemble", "weighted_ensemble", "answers?", *Matrix.drawn)
    cell_of = attrgetter("consensus")

    def build(self) -> Any:
        self._note = Text(
            does=self._switch_votes, css_classes=["cl-pool-alone"], styles=_NOTE
        )
        self.figure = MatrixFigure(
            self.view_handler("matrix_view"),
            self.tap,
            self.brush,
            css="cl-consensus-figure",
        )
        shading = self.bound(
            "shading",
            select("Shading", SHADINGS, css="cl-shading", **shrinking(66, 110)),
        )
        return card(
            "Consensus matrix",
            self._note,
            self.square(),
            note=self.status,
            buttons=[shading, self.enlarger()],
            css="cl-consensus-matrix",
        )

    def show(
        self,
        consensus: Heatmap,
        ensemble: Ensemble,
        weighted_ensemble: Ensemble,
        answers: Answers | None,
        matrix_edges: Edges,
        link_marks: Marks,
        selected_spans: SelectedSpans,
        order: Result,
        cross: Result,
        linking: Result,
    ) -> None:
        """Show the matrix in view."""
        who = voters(ensemble)
        if weighted_ensemble is not ensemble:
            who = f"{counted(len(ensemble), 'model')}, each by how likely it is"
        self._note.body = (
            "<p class='muted sides whole'><span class='cut' title='share of the "
            f"{who}; the co-association matrix'>Models that put two "
            f"rows together</span>{_scale(consensus.scale)}</p>"
            f"{_votes(ensemble, weighted_ensemble, answers)}"
        )
        self.draw(
            "Consensus matrix",
            consensus,
            matrix_edges,
            link_marks,
            selected_spans,
            cross,
        )

    def _switch_votes(self, what: str) -> None:
        """Switch between votes weighted by the answers and votes of the pool alone."""
        self.session.view_state.pool_alone = what == "alone"


class BinarisedMatrix(Matrix):
    """Pairs that enough models join."""

    needs = (
        "binarised",
        "ensemble",
        "weighted_ensemble",
        "threshold_in_force",
        "answers?",
        *Matrix.drawn,
    )
    cell_of = attrgetter("binarised")

    def __init__(self, session: Any, partner: ConsensusMatrix) -> None:
        self._partner = partner
        super().__init__(session)

    def build(self) -> Any:
        self._note = Text(styles=_NOTE)
        self.figure = MatrixFigure(
            self.view_handler("matrix_view"),
            self.tap,
            self.brush,
            css="cl-binarised-figure",
            partner=self._partner.figure,
        )
        order = self.bound(
            "order_by", select("Order", ORDERS, css="cl-order-by", **shrinking(80, 140))
        )
        return card(
            "Binarised matrix",
            self._note,
            self.square(),
            note=self.status,
            buttons=[order, self.enlarger(stylesheets=[_BESIDE])],
            css="cl-binarised-matrix",
        )

    def show(
        self,
        binarised: Heatmap,
        ensemble: Ensemble,
        weighted_ensemble: Ensemble,
        threshold_in_force: int,
        answers: Answers | None,
        matrix_edges: Edges,
        link_marks: Marks,
        selected_spans: SelectedSpans,
        order: Result,
        cross: Result,
        linking: Result,
    ) -> None:
        """Show the matrix in view, and note whether its pixels are sampled."""
        sampled = ""
        if not binarised.tile.exact:
            text = "estimated: pairs of each pixel sampled"
            sampled = " " + badge(text, kind="estimate")
        needed = f"Joined by at least {threshold_in_force} of {voters(ensemble)}"
        self._note.body = f"<p class='muted cut whole'>{_FILLED}{needed}{sampled}</p>"
        if answers is not None:
            # Equal heights of both notes keep both squares equal.
            whose = (
                "With your answers"
                if weighted_ensemble is not ensemble
                else "The pool alone"
            )
            self._note.body += f"<p class='muted cut'>{whose}</p>"
        self.draw(
            "Binarised matrix",
            binarised,
            matrix_edges,
            link_marks,
            selected_spans,
            cross,
        )


def _votes(
    ensemble: Ensemble, weighted_ensemble: Ensemble, answers: Answers | None
) -> str:
    """Write whether answers weight the votes, with a button that changes it."""
    if answers is None:
        return ""
    if answers.posterior.none_fits:
        return "<p class='muted cut'>Pool alone: no model fits your answers.</p>"
    if weighted_ensemble is ensemble:
        back = link("with your answers", "answers")
        return (
            "<p class='muted sides'><span class='cut'>The pool alone</span>"
            f"<span style='flex:none'>{back}</span></p>"
        )
    return (
        f"<p class='muted sides'><span class='cut' title='{effect_words(answers)} "
        "(effective number: 1 / sum p²)'>"
        f"With your {counted(answers.n_answers, 'answer')}</span>"
        f"<span style='flex:none'>{link('pool alone', 'alone')}</span></p>"
    )


def _spoken(
    title: str,
    picture: Heatmap,
    edges: Edges,
    marks: Marks,
    n_selected: int,
    pair_words: str,
) -> str:
    """Describe a matrix for screen readers: ranges, mean, marks and the pair."""
    seen = picture.tile.values
    parts = [f"{title} of {counted(picture.n_samples, 'row')}."]
    if (np.array(edges.spans) != (0, picture.n_samples)).any():
        (r0, r1), (c0, c1) = edges.spans
        parts.append(
            f"In view: rows {whole(r0 + 1)} to {whole(r1)}, "
            f"columns {whole(c0 + 1)} to {whole(c1)} in its order."
        )
    if np.isfinite(seen).any():
        parts.append(f"Mean of what is in view: {np.nanmean(seen):.2f}.")
    if marks.cells:
        parts.append(f"{counted(len(marks.cells), 'mark')} of links.")
    if n_selected:
        parts.append(f"{counted(n_selected, 'row')} selected.")
    if pair_words:
        parts.append(f"The pair that is asked about: {pair_words}.")
    return " ".join(parts)


def _scale(scale: list[tuple[float, str]]) -> str:
    """Draw the colour scale from 0 to 1."""
    stops = ", ".join(f"{colour} {100 * share:.1f}%" for share, colour in scale)
    colours = f"background:linear-gradient(90deg,{stops})"
    return (
        "<span class='cl-scale' style='flex:none' title='joined by no model to all'>"
        f"0 <span class='scale-of' style='{colours}'></span> 1</span>"
    )
