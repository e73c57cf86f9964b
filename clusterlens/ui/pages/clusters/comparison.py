"""Card that compares two partitions: two maps, a cross-tab, and the agreement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from clusterlens.compute.ensemble.comparison import PartitionComparison
from clusterlens.compute.formatting import count, percent, whole
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.on_map import shapes, taps
from clusterlens.ui.figures.keyboard_control import with_keyboard_control
from clusterlens.ui.figures.sample_map import LEGEND_ENTRIES, MapFigure
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.clusters.comparison_nodes import Shared
from clusterlens.ui.pages.clusters.nodes import Chosen
from clusterlens.ui.plots.samples import Picture
from clusterlens.ui.state.view_parameters import Brush
from clusterlens.ui.widgets.palette import cluster_colour
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import COLUMN
from clusterlens.ui.widgets.toolkit import card, link, mark, pn, safe, select

AUTOMATIC = {"automatic": "auto", "consensus tree": "consensus"}
_SOURCE = "cross-tab"
# Percentage of the colour in a full cell; text stays legible in either theme.
_DEEPEST = 80


class Comparison(Card):
    """Matched colours; strong dots change cluster; a cell selects its samples."""

    needs = ("chosen", "other", "shared", "own_picture", "other_picture")
    also = (
        "comparison",
        "projection",
        "view.inspected?",
        "view.brush",
        "rows",
        "ensemble",
        "samples",
        "nearest",
    )

    def build(self) -> Any:
        view_state = self.session.view_state
        self._with = self.bound(
            "compared",
            select("Compare with", AUTOMATIC, css="cl-compare-with", width=200),
        )
        made = (
            self.view_handler("compare_view"),
            taps(
                self.session, "nearest", lambda at: setattr(view_state, "inspected", at)
            ),
            *shapes(self.session, lambda brush: setattr(view_state, "brush", brush)),
        )
        first = MapFigure(*made)
        self._maps = (first, MapFigure(*made, beside=first))
        places, self._steerings = zip(
            *map(with_keyboard_control, self._maps), strict=True
        )
        self._titles = [Text(styles={"flex": "none"}) for _ in self._maps]
        sides = [
            pn.Column(
                title,
                place,
                sizing_mode="stretch_both",
                margin=0,
                styles={**COLUMN, "flex": "1 1 0"},
            )
            for title, place in zip(self._titles, places, strict=True)
        ]
        maps = pn.Row(
            *sides,
            sizing_mode="stretch_both",
            margin=0,
            styles={**COLUMN, "flex": "1 1 0", "display": "flex", "gap": "8px"},
        )
        self._text = Text(
            does=self._do,
            scrolls=True,
            styles={"flex": "1.15 1 0", "min-height": "0"},
            css_classes=["cl-cross-tab"],
        )
        return card(
            "Compare",
            maps,
            self._text,
            note=self.status,
            buttons=[self._with],
            css="cl-compare",
        )

    def prepare(self, results: Any) -> None:
        """Offer the available partitions."""
        rows, ensemble = results["rows"], results["ensemble"]
        samples = results["samples"]
        if not (rows.ready and ensemble.ready and samples.ready):
            return
        options = dict(AUTOMATIC)
        if samples.value.labels_true is not None:
            options["given labels"] = "labels"
        names = ensemble.value.names
        options |= {names[t]: f"model {t}" for t in rows.value}
        self.offer(self._with, options=options)

    def show(
        self,
        chosen: Chosen,
        other: Chosen,
        shared: Shared,
        own_picture: Picture,
        other_picture: Picture,
        comparison: Result,
        projection: Result,
        inspected: Result,
        brush: Result,
        **offered: Result,
    ) -> None:
        """Show both pictures and the table."""
        pictures = (own_picture, other_picture)
        for figure, picture in zip(self._maps, pictures, strict=True):
            figure.show_map(picture, self.session.view_state.compare_view)
            if projection.ready:
                self._ring(figure, projection.value, inspected.value)
        for text, steering, one in zip(
            self._titles, self._steerings, (chosen, other), strict=True
        ):
            title = safe(one.title)
            text.body = f"<p class='cut' title='{title}'><b>{title}</b></p>"
            steering.words = _spoken(one)
        if comparison.ready:
            self._text.body = (
                f"{_sentence(chosen, other, shared, comparison.value)}"
                f"{_table(chosen, other, comparison.value, brush.value)}"
                f"{_selected(brush.value)}"
            )
        elif comparison.error is not None:
            self._text.body = f"<p>{safe(comparison.failure)}</p>"

    def _ring(
        self, figure: MapFigure, projection: Projection, inspected: int | None
    ) -> None:
        at = [] if inspected is None else [inspected]
        figure.ring(projection.coordinates[at].reshape(-1, 2), [""] * len(at))

    def _do(self, what: str) -> None:
        """Select the samples of a cell, or run a command on them."""
        verb, *at = what.split()
        view_state = self.session.view_state
        if verb == "cell":
            self._select(int(at[0]), int(at[1]))
        elif verb == "labels":
            view_state.page = "labels"
        elif verb == "clear":
            view_state.brush = Brush()
        elif verb == "group":
            view_state.param.update(
                group=view_state.brush, partition="group", cluster=None
            )
        elif verb == "map":
            view_state.param.update(page="consensus", tab="selection")

    def _select(self, own: int, beside: int) -> None:
        chosen, other = (self.session.derived.get(name) for name in ("chosen", "other"))
        if chosen.ready and other.ready:
            both = (chosen.value.clusters == own) & (other.value.clusters == beside)
            source = f"{_SOURCE} {own} {beside}"
            view_state = self.session.view_state
            again = view_state.brush.source == source
            view_state.brush = Brush() if again else Brush(np.flatnonzero(both), source)


def _spoken(one: Chosen) -> str:
    """Describe a map for screen readers: clusters with their sizes."""
    named = [f"{one.names[k]}: {whole(size)}" for k, size in one.sizes.items()]
    more = [f"{len(named) - LEGEND_ENTRIES} more"] * (len(named) > LEGEND_ENTRIES)
    return (
        f"Map of {count(len(one.clusters), 'sample')} by {one.title}: "
        f"{', '.join([*named[:LEGEND_ENTRIES], *more])}. Samples that change cluster "
        "are strong."
    )


def _sentence(
    chosen: Chosen, other: Chosen, shared: Shared, found: PartitionComparison
) -> str:
    """Write the agreement, and the number of samples that cannot be compared."""
    n = shared.n_samples - len(shared.at)
    left_out = f"{count(n, 'sample')} left out by a model. " if n else ""
    given = "labels" in (chosen.choice.kind, other.choice.kind)
    badge = link("Are they clusters?", "labels", kind="pill", css="cl-to-labels")
    return (
        f"<p>{safe(found.sentence)} {left_out}"
        f"{badge if given else ''} <span class='muted'>Strong: samples that change "
        "cluster, or those selected.</span></p>"
    )


def _table(
    chosen: Chosen, other: Chosen, found: PartitionComparison, brush: Brush
) -> str:
    """Write the cross-tab as markup, shades for shares of the row."""
    table = found.table
    columns: list[Any] = table.columns.tolist()
    lines: Iterable[Any] = table.iterrows()
    heads = "".join(
        f"<th title='{safe(other.names[k])}'>"
        f"{mark(cluster_colour(k), safe(other.short_name(k)))}</th>"
        for k in columns
    )
    rows = "".join(
        f"<tr><td class='name cut' title='{safe(chosen.names[own])}'>"
        f"{mark(cluster_colour(own), safe(chosen.names[own]))}</td>"
        f"{_cells(own, counts, brush)}"
        f"<td class='muted'>{whole(counts.sum())}</td></tr>"
        for own, counts in lines
    )
    sums = "".join(f"<td class='muted'>{whole(total)}</td>" for total in table.sum())
    return (
        f"<table class='cross' data-roving='map'><tr><th class='name cut' "
        f"title='{safe(chosen.title)}'>"
        f"rows: {safe(chosen.title)}</th>"
        f"{heads}<th>all</th></tr>{rows}<tr><td class='name muted'>all</td>{sums}"
        f"<td class='muted'>{whole(int(table.to_numpy().sum()))}</td></tr></table>"
    )


def _cells(own: int, counts: Any, brush: Brush) -> str:
    total = max(int(counts.sum()), 1)
    cells = []
    for beside, size in counts.items():
        share = size / total
        front = "front" if brush.source == f"{_SOURCE} {own} {beside}" else ""
        cells.append(
            f"<td><button class='{front}' data-do='cell {own} {beside}' title='"
            f"{percent(share)} of the row' style='background:color-mix(in srgb, "
            f"#0b7d7d {_DEEPEST * share:.0f}%, transparent)'>{whole(size)}</button>"
            "</td>"
            if size
            else "<td class='muted'>0</td>"
        )
    return "".join(cells)


def _selected(brush: Brush) -> str:
    """Write the number of selected samples, and the commands on them."""
    if not len(brush):
        return (
            "<p class='muted'>A click on a number selects its samples everywhere.</p>"
        )
    return (
        f"<p><b>{count(len(brush), 'sample')}</b> selected. "
        f"{link('Show on Consensus', 'map')} · {link('Use as a group', 'group')} · "
        f"{link('Clear', 'clear')}</p>"
    )
