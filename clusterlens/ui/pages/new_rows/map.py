"""Card of the map of new rows over the old ones, on the old axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, Scatter

from clusterlens.compute.formatting import count, whole
from clusterlens.ui.components.card import Card
from clusterlens.ui.figures.frame import RINGED
from clusterlens.ui.figures.keyboard_control import with_keyboard_control
from clusterlens.ui.figures.map_frame import MapFrame
from clusterlens.ui.figures.sample_map import CLICK_PIXELS, LEGEND_ENTRIES
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.new_rows.map_nodes import NewMap
from clusterlens.ui.pages.new_rows.nodes import Placed, cluster_of
from clusterlens.ui.plots.axes import arrows, spoken_axes
from clusterlens.ui.plots.samples import Picture
from clusterlens.ui.widgets.palette import PALE, cluster_colour
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, link, mark, safe

_WHOSE = "the old rows'"


class NewRowsFigure(MapFrame):
    """Points, crosses, and a ring around the selected row.

    Parameters
    ----------
    on_change : callable
        As for `Frame`.
    tapped : callable
        Called with the place of a click and the data units of a pixel.
    """

    def __init__(
        self,
        on_change: Callable[..., None],
        tapped: Callable[[float, float, float], None],
    ) -> None:
        super().__init__(
            on_change,
            css="cl-new-rows-figure",
            tools=["box_zoom", "tap", "save"],
        )
        self._crosses = ColumnDataSource({"x": [], "y": []})
        self._ring = ColumnDataSource({"x": [], "y": []})
        # A pale casing makes a cross visible on points and on a dark card.
        for width, colour in ((4.5, "#ffffff"), (2, "#14181d")):
            self.draw(
                self._crosses,
                Scatter(
                    x="x",
                    y="y",
                    marker="x",
                    size=9,
                    line_width=width,
                    line_color=colour,
                ),
            )
        self.draw(self._ring, Scatter(x="x", y="y", **RINGED))
        self.on_click(lambda x, y: tapped(x, y, self.pixel()))

    def mark(self, crosses: np.ndarray, ring: np.ndarray) -> None:
        """Draw crosses and rings at places of shape (n, 2)."""
        self.fill(self._crosses, {"x": crosses[:, 0], "y": crosses[:, 1]})
        self.fill(self._ring, {"x": ring[:, 0], "y": ring[:, 1]})


class NewRowsMap(Card):
    """Old rows in grey, new ones by cluster, crosses for rows that belong nowhere."""

    needs = ("new_map_picture", "new_map", "placed")
    also = ("view.new_row?", "new_nearest")
    empty = "<p class='muted'>Load a new table to see its map.</p>"
    tells_failure = False

    def build(self) -> Any:
        self._figure = NewRowsFigure(self.view_handler("new_rows_view"), self._tap)
        self._legend = Text(
            does=self._do, css_classes=["cl-new-rows-legend"], styles={"flex": "none"}
        )
        place, self._steering = with_keyboard_control(self._figure)
        return card(
            "Where they fall",
            place,
            self._legend,
            note=self.status,
            css="cl-new-rows-map",
        )

    def _status_text(self, needed: Mapping[str, Result]) -> str:
        """Return no text if only the size of the figure is missing."""
        waits = needed["new_map"].ready and needed["placed"].ready
        if waits and needed["new_map_picture"].state == "empty":
            return ""
        return super()._status_text(needed)

    def show(
        self,
        new_map_picture: Picture,
        new_map: NewMap,
        placed: Placed,
        new_row: Result,
        new_nearest: Result,
    ) -> None:
        """Show the picture, the crosses and the ring."""
        self._figure.show_map(new_map_picture, self.session.view_state.new_rows_view)
        at = np.flatnonzero(new_map.positions == new_row.value)
        self._figure.mark(new_map.crosses, new_map.xy[at])
        self._steering.words = _spoken(new_map, placed)
        self._legend.body = _legend(new_map, placed)

    def _do(self, what: str) -> None:
        self.session.view_state.new_rows_first = "nowhere"

    def _tap(self, x: float, y: float, unit: float) -> None:
        """Select the row nearest to a click, if it is near."""
        tree = self.session.derived.get("new_nearest")
        found = self.session.derived.get("new_map")
        if not (tree.ready and found.ready):
            return
        distance, at = tree.value.query((x, y))
        if distance <= CLICK_PIXELS * unit:
            self.session.view_state.new_row = int(found.value.positions[at])


def _spoken(new_map: NewMap, placed: Placed) -> str:
    """Describe the map for screen readers."""
    named = ", ".join(f"{one.name}: {whole(one.now.rows)}" for one in placed.clusters)
    return (
        f"Map of {count(len(new_map.xy), 'new row')} over "
        f"{count(len(new_map.projection.coordinates), 'old row')}, by colour {named}; "
        f"{whole(placed.nowhere.rows)} belong nowhere. "
        f"{spoken_axes(new_map.projection, _WHOSE)}"
    )


def _legend(new_map: NewMap, placed: Placed) -> str:
    """Explain the colours, the crosses and the axes."""
    shown = placed.clusters[:LEGEND_ENTRIES]
    entries = [mark(PALE, f"{whole(len(new_map.projection.coordinates))} old rows")]
    entries += [
        mark(cluster_colour(cluster_of(one.label)), _named(one.name, one.now.rows))
        for one in shown
    ]
    more = len(placed.clusters) - len(shown)
    entries += [f"and {more} more"] if more else []
    entries += _nowhere(new_map, placed.nowhere.rows)
    every = ", ".join(f"{one.name}: {whole(one.now.rows)}" for one in placed.clusters)
    return (
        f"<p title='{safe(every)}'>{_in_line(entries)}</p>"
        f"<p>{arrows(new_map.projection, _WHOSE)}</p>"
    )


def _named(name: str, rows: int) -> str:
    return f"{safe(name)} <span class='muted'>{whole(rows)}</span>"


def _nowhere(new_map: NewMap, far: int) -> Sequence[str]:
    """Return entries for rows that belong nowhere, and for rows outside the map."""
    entries = []
    if far:
        crosses = len(new_map.crosses)
        more = f", {whole(crosses)} of them crossed" if crosses < far else ""
        entries.append(f"<b>✕</b> {link(f'{whole(far)} nowhere', 'nowhere')}{more}")
    if new_map.n_outside:
        entries.append(f"<b>{whole(new_map.n_outside)}</b> too far out for the map")
    return entries


def _in_line(entries: Sequence[str]) -> str:
    """Write entries side by side, each on one line with its mark."""
    return "&ensp; ".join(f"<span class='name'>{entry}</span>" for entry in entries)
