"""Map of the samples: a click inspects, a box or lasso brushes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clusterlens.compute.formatting import count, whole
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.commands import pick, toggle_enlarged, toggle_linking
from clusterlens.ui.components.on_map import shapes, taps
from clusterlens.ui.figures.keyboard_control import with_keyboard_control
from clusterlens.ui.figures.sample_map import LEGEND_ENTRIES, LINK_STROKES, MapFigure
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.plots.axes import arrows, spoken_axes
from clusterlens.ui.plots.samples import Picture
from clusterlens.ui.results.links import LinkState
from clusterlens.ui.results.pictures import Legend
from clusterlens.ui.results.result import DisplayedPartition
from clusterlens.ui.state.view_parameters import Brush
from clusterlens.ui.widgets.palette import (
    DISAGREEMENT_COLOURS,
    LINK_COLOURS,
    cluster_colour,
)
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import (
    badge,
    card,
    enlarger,
    link,
    mark,
    pmu,
    safe,
    select,
    shrinking,
)

COLOURS = {
    "clusters": "model",
    "disagreement": "disagreement",
    "given labels": "labels",
}
# Widths of dot and gaps of a legend entry, in characters.
_DOT_LENGTH = 3
_SEEN = {True: "", False: "visibility:hidden"}
KEYS = "<kbd>M</kbd> must link <kbd>C</kbd> cannot link <kbd>Space</kbd> next pair"


class SampleMap(Card):
    """Samples on a plane, coloured by model, disagreement or given labels."""

    needs = ("map_picture", "projection", "legend")
    also = (
        "view.inspected?",
        "view.linking",
        "view.pair",
        "link_states",
        "contradiction",
        "nearest",
        "samples",
        "displayed_partition",
    )

    def build(self) -> Any:
        self._tap = taps(self.session, "nearest", self._pick)
        self._figure = MapFigure(
            self.view_handler("map_view"), self._tap, *shapes(self.session, self._brush)
        )
        view_state = self.session.view_state
        self._legend = Text(
            does=self._do,
            css_classes=["cl-map-legend"],
            styles={"flex": "none", "min-height": "calc(22.9px * var(--cl-scale, 1))"},
        )
        self._colour = self.bound(
            "colour_by",
            select("Colour", COLOURS, css="cl-colour-by", **shrinking(80, 190)),
        )
        self._link = pmu.Button(
            label="Link",
            icon="link",
            size="small",
            variant="outlined",
            margin=(0, 0, 0, 8),
            css_classes=["cl-link-mode"],
            on_click=lambda event: toggle_linking(self.session),
            description="Link two samples (L)",
        )
        models = pmu.Button(
            label="Map of models",
            icon="hub",
            size="small",
            variant="outlined",
            margin=(0, 0, 0, 8),
            css_classes=["cl-map-of-models"],
            on_click=lambda event: setattr(view_state, "map_of", "models"),
            description="Map of models: how near they are to each other",
        )
        place, self._steering = with_keyboard_control(self._figure)
        larger = enlarger(lambda event: toggle_enlarged(self.session, "map"))
        return card(
            "Map of samples",
            place,
            self._legend,
            note=self.status,
            buttons=[self._colour, self._link, models, larger],
            css="cl-map",
        )

    def show(
        self,
        map_picture: Picture,
        projection: Projection,
        legend: Legend,
        inspected: Result,
        linking: Result,
        pair: Result,
        link_states: Result,
        contradiction: Result,
        nearest: Result,
        samples: Result,
        displayed_partition: Result,
    ) -> None:
        """Show the picture, the rings and the legend."""
        self._figure.show_map(map_picture, self.session.view_state.map_view)
        self._ring(projection.coordinates, inspected.value, pair.value)
        states = link_states.value or ()
        self._draw_links(projection.coordinates, states)
        if contradiction.ready:
            self._figure.contradict(projection.coordinates[contradiction.value])
        self._link.variant = "contained" if linking.value else "outlined"
        self._figure.number(legend.places, legend.numbers)
        self._figure.dim(bool(linking.value))
        self._steering.words = _spoken(map_picture, legend, projection, states)
        self._offer(samples.value)
        bar = _linking_bar(linking.value, pair.value, samples.value)
        self._legend.body = (
            f"{_besides(displayed_partition.value)}<div class='stack'>"
            f"{_described(legend, projection, states, linking.value)}{bar}</div>"
        )

    def _ring(
        self, xy: np.ndarray, inspected: int | None, pair: tuple[int, ...]
    ) -> None:
        """Ring the pair with its letters, and the inspected sample."""
        at = [*pair, *([inspected] if inspected is not None else [])]
        letters = [*"AB"[: len(pair)], *[""] * (len(at) - len(pair))]
        self._figure.ring(xy[at], letters)

    def _draw_links(self, xy: np.ndarray, states: Sequence[LinkState]) -> None:
        """Draw the links between samples of the run."""

        def ends(chosen: Callable[[LinkState], bool]) -> np.ndarray:
            at = [state.ends for state in states if state.ends and chosen(state)]
            return xy[np.array(at, np.intp).reshape(-1, 2)]

        self._figure.link(
            ends(lambda state: state.link.kind == "must"),
            ends(lambda state: state.link.kind == "cannot"),
            ends(lambda state: state.broken),
        )

    def _offer(self, samples: Dataset) -> None:
        """Offer given labels as colours if there are any."""
        with_labels = samples.labels_true is not None
        self._colour.options = {
            title: key
            for title, key in COLOURS.items()
            if with_labels or key != "labels"
        }

    def _do(self, what: str) -> None:
        """Show the result again, or open a page."""
        if what == "result":
            self.session.view_state.model = None
        else:
            self.session.view_state.page = what

    def _pick(self, at: int | None) -> None:
        """Pick or inspect the sample at a click, None in empty space."""
        if not self.session.view_state.linking:
            tab = {} if at is None else {"tab": "sample", "drawer": True}
            self.session.view_state.param.update(inspected=at, **tab)
        elif at is not None:
            pick(self.session, at)

    def _brush(self, brush: Brush) -> None:
        self.session.view_state.param.update(brush=brush, tab="selection", drawer=True)


def _besides(displayed_partition: DisplayedPartition | None) -> str:
    """Write that the displayed model is not the result, with a way back."""
    if displayed_partition is None or not displayed_partition.result_title:
        return ""
    words = badge(
        f"{safe(displayed_partition.title)}, beside the result", kind="estimate"
    )
    back = link("back to the result", "result", kind="pill", css="cl-back-to-result")
    return f"<p class='cl-beside-result'>{words} {back}</p>"


def _strokes(states: Sequence[LinkState]) -> str:
    """Explain the lines on the map, if there are any."""
    drawn = [state for state in states if state.ends]
    kinds = [kind for kind in LINK_STROKES if any(s.link.kind == kind for s in drawn)]
    strokes = [
        f"<span title='{kind} link'><span class='stroke' style='border-top:3px "
        f"{dash} {LINK_COLOURS[kind]}'></span><span class='detail'>{kind} link</span>"
        "</span>"
        for kind, dash in LINK_STROKES.items()
        if kind in kinds
    ]
    if any(state.broken for state in drawn):
        strokes.append(f"<b style='color:{LINK_COLOURS['cannot']}'>⊗</b> broken")
    return "".join(f"{stroke}&ensp;" for stroke in strokes)


def _spoken(
    picture: Picture,
    legend: Legend,
    projection: Projection,
    states: Sequence[LinkState],
) -> str:
    """Describe the map for screen readers: samples, colours, axes, links, zoom."""
    if legend.by == "disagreement":
        colours = "coloured by the disagreement of the pool"
    else:
        named = [f"{name}: {whole(size)}" for _, name, size in legend.entries]
        more = [f"{len(named) - LEGEND_ENTRIES} more"] * (len(named) > LEGEND_ENTRIES)
        colours = f"by colour {', '.join([*named[:LEGEND_ENTRIES], *more])}"
    parts = [
        f"Map of {count(len(projection.coordinates), 'sample')}, {colours}.",
        spoken_axes(projection),
    ]
    if drawn := [state for state in states if state.ends]:
        n_broken = sum(state.broken for state in drawn)
        parts.append(f"{count(len(drawn), 'link')}, {n_broken} broken.")
    if picture.view != picture.whole:
        parts.append("Zoomed in.")
    return " ".join(parts)


def _described(
    legend: Legend,
    projection: Projection,
    states: Sequence[LinkState],
    covered: bool,
) -> str:
    """Explain the colours and the axes on one line; a covered line keeps its space."""
    every = ""
    if legend.by == "disagreement":
        stops = ", ".join(DISAGREEMENT_COLOURS)
        entries = (
            "<span>all models agree <span style='display:inline-block;width:90px;"
            f"height:9px;background:linear-gradient(90deg,{stops})'></span> "
            "evenly split</span>"
        )
    else:
        shown = legend.entries[:LEGEND_ENTRIES]
        named = _brief([name for _, name, _ in shown])
        lengths = [
            len(name) + len(whole(size)) + _DOT_LENGTH
            for name, (_, _, size) in zip(named, shown, strict=True)
        ]
        # So that all entries fit on two lines.
        share = 200 / (sum(lengths) + max(lengths, default=1))
        entries = "".join(
            f"<span style='max-width:calc({share * length:.1f}% - .7em)' "
            f"title='{safe(name)}: {whole(size)}'>"
            f"{mark(cluster_colour(k), '')}<span class='cut'>{safe(brief)}</span>"
            f"<span class='muted'>{whole(size)}</span></span>"
            for brief, length, (k, name, size) in zip(
                named, lengths, shown, strict=True
            )
        )
        more = len(legend.entries) - LEGEND_ENTRIES
        entries += f"<span>and {more} more</span>" if more > 0 else ""
        every = ", ".join(f"{name}: {whole(size)}" for _, name, size in legend.entries)
    ask = _strokes(states)
    if legend.by == "labels":
        words = "Are they clusters?"
        ask += link(words, "labels", kind="pill", css="cl-to-labels")
    return (
        f"<p class='sides whole' style='{_SEEN[not covered]}'><span "
        "class='cut entries' "
        f"title='{safe(every)}'>{entries}</span><span style='flex:none'>{ask}"
        f"{arrows(projection)}</span></p>"
    )


def _brief(names: Sequence[str]) -> list[str]:
    """Drop the repeated word from “cluster 1, cluster 2”, leaving the numbers."""
    brief, before = [], ""
    for name in names:
        word, _, number = name.rpartition(" ")
        numbered = word if number.isdigit() else ""
        brief.append(number if numbered and numbered == before else name)
        before = numbered
    return brief


def _linking_bar(linking: bool, pair: tuple[int, ...], samples: Dataset) -> str:
    """Explain clicks and keys while a pair is picked.

    The text lies over the legend and never needs more than a line, so that nothing
    moves between clicks.
    """
    picked = "&ensp;".join(
        f"<b>{letter}</b> row {safe(samples.row_ids[i])}"
        for letter, i in zip("AB", pair, strict=False)
    )
    todo = ("click sample A", "click sample B", KEYS)[len(pair)]
    return (
        f"<p class='between cl-linking' style='{_SEEN[linking]}'><span class='cut'>"
        f"<b>Linking</b>&ensp;{picked}</span><span style='flex:none'>{todo}&ensp;"
        "<kbd>Esc</kbd> back</span></p>"
    )
