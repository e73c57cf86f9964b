"""Card of the map of all rows."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.formatting import count, whole
from clusterlens.compute.scale.result import ScaledRun
from clusterlens.ui.components.card import Card
from clusterlens.ui.exports.all_rows import cluster_mark
from clusterlens.ui.figures.keyboard_control import with_keyboard_control
from clusterlens.ui.figures.map_frame import MapFrame
from clusterlens.ui.plots.samples import Picture
from clusterlens.ui.widgets.palette import NOWHERE_COLOUR
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, mark

LEGEND_ENTRIES = 8
# The room of a usual legend, so that the map is not drawn anew when that comes.
LEGEND = """
:host { min-height: 45px; }
@media (max-width: 1150px) { :host { min-height: 66px; } }
"""


class AllRowsMap(Card):
    """All rows on the principal components of the landmarks."""

    needs = ("all_rows_picture", "all_rows", "all_rows_names")
    tells_failure = False

    def build(self) -> Any:
        self._figure = MapFrame(
            self.view_handler("all_rows_view"),
            css="cl-all-rows-figure",
            tools=["box_zoom", "save"],
        )
        self._legend = Text(
            css_classes=["cl-all-rows-legend"],
            stylesheets=[LEGEND],
            styles={"flex": "none"},
        )
        place, self._steering = with_keyboard_control(self._figure)
        return card(
            "Map of all rows",
            place,
            self._legend,
            note=self.status,
            css="cl-all-rows-map",
        )

    def show(
        self,
        all_rows_picture: Picture,
        all_rows: ScaledRun,
        all_rows_names: dict[int, str],
    ) -> None:
        """Show the picture and explain its colours."""
        self._figure.show_map(all_rows_picture, self.session.view_state.all_rows_view)
        rows = count(all_rows.n_labelled, "row")
        sizes = zip(
            all_rows_names.items(), all_rows.clusters["rows"].tolist(), strict=True
        )
        words = [f"{name}: {whole(n)}" for (_, name), n in sizes]
        self._steering.words = (
            f"Map of all {rows}, by colour {', '.join(words)}; "
            f"{whole(all_rows.n_nowhere)} belong nowhere."
        )
        entries = [
            cluster_mark(all_rows, label, name)
            for label, name in list(all_rows_names.items())[:LEGEND_ENTRIES]
        ]
        if len(all_rows_names) > LEGEND_ENTRIES:
            entries.append(f"and {len(all_rows_names) - LEGEND_ENTRIES} more")
        entries.append(mark(NOWHERE_COLOUR, "nowhere"))
        shown = "&ensp; ".join(f"<span class='name'>{e}</span>" for e in entries)
        self._legend.body = (
            f"<p>{shown}</p><p class='muted'>{rows}; axes are principal components 1 "
            "and 2 of the landmarks</p>"
        )
