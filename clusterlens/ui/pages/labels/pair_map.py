"""Card of the two classes of a pair on a map, with their distinguishing columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clusterlens.compute.formatting import percent, whole
from clusterlens.compute.indices.class_match import SMALL_CLASS
from clusterlens.ui.components.card import Card
from clusterlens.ui.figures.keyboard_control import with_keyboard_control
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.labels.nodes import PairOfClasses, pair_frame
from clusterlens.ui.pages.labels.pair_map_figure import PairMap
from clusterlens.ui.plots.samples import Picture
from clusterlens.ui.results.evaluated_labels import EvaluatedLabels
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import badge, card, mark, safe
from clusterlens.ui.widgets.words import error, fixed, with_minus

_COLUMNS = 6
COLUMNS_CSS = """
table { table-layout: fixed; }
th:first-child { width: 34%; }
th, td { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
th, td { padding: 1px 6px; }
@media (max-width: 1150px) { td, th { padding: 1px 3px; } table { font-size: .857em; }
  th:first-child { width: 40%; } }
"""


class ClassPair(Card):
    """Both classes with their means; densities along the line through the means."""

    needs = ("named_labels", "label_pair")
    also = ("label_picture",)

    def build(self) -> Any:
        self._heading = Text(css_classes=["cl-pair-heading"], styles={"flex": "none"})
        self._figure = PairMap(self._see)
        self._take_in = self.view_handler("label_view")
        self._shown: Any = None
        self._below = Text(
            css_classes=["cl-pair-columns"],
            stylesheets=[COLUMNS_CSS],
            scrolls=True,
            sizing_mode="stretch_width",
            styles={"flex": "0 1 auto", "min-height": "38%", "max-height": "54%"},
        )
        place, self._steering = with_keyboard_control(self._figure)
        return card(
            "Two of them",
            self._heading,
            place,
            self._below,
            note=self.status,
            css="cl-class-pair",
        )

    def _zoom_subject(self) -> Any:
        """Return the classes and the pair that a zoom belongs to."""
        view_state = self.session.view_state
        return view_state.label_source, view_state.merged, view_state.label_pair

    def _see(self, **seen: Any) -> None:
        """Store the view of the figure, except a zoom into an earlier pair.

        A zoom is reported after it has rested, and another pair may have been chosen by
        then.
        """
        if self._shown != self._zoom_subject():
            seen = {name: seen[name] for name in seen.keys() - {"x", "y"}}
        self._take_in(**seen)

    def prepare(self, results: Any) -> None:
        """Remove the text if there are no labels."""
        if not results["named_labels"].ready:
            self._heading.body = self._below.body = ""

    def show(
        self, named_labels: EvaluatedLabels, label_pair: PairOfClasses, **more: Result
    ) -> None:
        """Draw the pair and write its differences."""
        pair = label_pair
        picture = more["label_picture"]
        if picture.ready:
            self._shown = self._zoom_subject()
            self._put(picture.value)
            self._mark(pair)
        self._heading.body = self._title(named_labels, pair)
        names = " and ".join(named_labels.name(k) for k in (pair.a, pair.b))
        self._steering.words = (
            f"Map of {names}, score {fixed(pair.score)}: their means lie "
            f"{_gap(pair):.1f} standard "
            "deviations apart along the line through both."
        )
        self._below.body = self._text(named_labels, pair)

    def _put(self, picture: Picture) -> None:
        self._figure.show_map(picture, self.session.view_state.label_view)

    def _mark(self, pair: PairOfClasses) -> None:
        """Mark the means and densities; before the picture there are no axes."""
        xy = pair.view.coordinates
        low, high = pair_frame(xy)
        right = float(xy[:, 0].max())
        margin = float(high[0]) - right
        edge = (right + 0.25 * margin, right + 0.95 * margin)
        self._figure.mark(
            pair.view.means,
            pair.heights,
            pair.densities,
            (edge, (float(low[1]), float(high[1]))),
            pair.colours,
        )

    def _title(self, labels: EvaluatedLabels, pair: PairOfClasses) -> str:
        a, b = (
            f"{safe(labels.name(k))} <span "
            f"class='muted'>{whole(labels.sizes[k])}</span>"
            for k in (pair.a, pair.b)
        )
        of_a, of_b = pair.colours
        names = (
            f"<span class='name'>{mark(of_a, a)}</span>&ensp;<wbr><span class='name'>"
            f"<span style='color:{of_b}'>▲</span> {b}</span>"
        )
        chosen = self.session.view_state.label_pair or len(labels.sizes) == 2
        notes = [] if chosen else ["the most mixed pair"]
        if min(labels.sizes[k] for k in (pair.a, pair.b)) < SMALL_CLASS:
            notes.append(f"a class of fewer than {SMALL_CLASS} rows")
        why = f" <span class='name spare'>{', '.join(notes)}</span>" if notes else ""
        value = badge(f"score {fixed(pair.score)} {error(pair.error)}")
        means = "<span class='name'><b>+</b> means</span>"
        return f"<p>{names}&ensp;<wbr>{means}&ensp;<wbr>{value}{why}</p>"

    def _text(self, labels: EvaluatedLabels, pair: PairOfClasses) -> str:
        share = percent(pair.view.variance_share)
        a, b = (safe(labels.name(k)) for k in (pair.a, pair.b))
        columns: Iterable[Any] = pair.columns.head(_COLUMNS).itertuples()
        rows = "".join(
            f"<tr><td class='cut'>{safe(row.column)}</td><td class='number'><b>"
            f"{fixed(row.difference, signed=True)}</b></td><td class='number'>"
            f"{safe(with_minus(row.text_a))}</td><td class='number'>"
            f"{safe(with_minus(row.text_b))}</td></tr>"
            for row in columns
        )
        table = (
            "<table><tr><th>most apart</th><th class='number' "
            f"title='{b} less {a}, in standard deviations'>in sd</th>"
            f"<th class='number'>{a}</th>"
            f"<th class='number'>{b}</th></tr>{rows}</table>"
        )
        return (
            "<p class='how'>↑ through the two means, → largest spread across; right: "
            "density. No view shows the means further apart; this one holds "
            f"{share} of the variance of the pair.</p>{table}"
        )


def _gap(pair: PairOfClasses) -> float:
    """Return the distance of the means, in standard deviations along their line."""
    y, (a, b) = pair.view.coordinates[:, 1], pair.view.means[:, 1]
    return float(abs(b - a) / max(y.std(), 1e-12))
