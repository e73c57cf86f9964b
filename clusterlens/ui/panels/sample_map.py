"""The map of samples: a click inspects, a box or lasso brushes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.derived import Result
from clusterlens.ui.figures.frame import View
from clusterlens.ui.figures.sample_map import MapFigure, inside
from clusterlens.ui.kit import Text, card, mark, safe, select
from clusterlens.ui.look import Brush, Viewport
from clusterlens.ui.nodes.pictures import Legend, Picture
from clusterlens.ui.palette import DISAGREEMENT_COLOURS, cluster_colour
from clusterlens.ui.panels.panel import Panel

COLOURS = {
    "selected model": "model",
    "disagreement of the pool": "disagreement",
    "given labels": "labels",
}
CLICK_PIXELS = 10
LEGEND_ENTRIES = 14


class SampleMap(Panel):
    """Principal components, coloured by model, disagreement or given labels."""

    needs = ("map_picture", "projection", "legend")
    also = ("look.inspected?", "nearest", "samples")

    def build(self) -> Any:
        self._figure = MapFigure(self._viewed, self._tap, self._box, self._lasso)
        self._legend = Text(css_classes=["cl-map-legend"], styles={"flex": "none"})
        look = self.session.look
        self._colour = self.control(
            select("Colour", COLOURS, css="cl-colour-by", width=190),
            lambda: look.colour_by,
            lambda key: setattr(look, "colour_by", key),
        )
        return card(
            "Map of samples",
            self._figure.pane,
            self._legend,
            note=self.status,
            buttons=[self._colour],
            css="cl-map",
        )

    def show(
        self,
        map_picture: Picture,
        projection: Projection,
        legend: Legend,
        inspected: Result,
        nearest: Result,
        samples: Result,
    ) -> None:
        """Put the picture, the ring and the legend on screen."""
        if self.session.look.map_view.x is None:
            self._figure.show_whole(map_picture.view)
        self._figure.show(map_picture.pixels, map_picture.view)
        at = [] if inspected.value is None else [inspected.value]
        self._figure.ring(projection.coordinates[at])
        self._figure.number(legend.places, legend.numbers)
        self._offer(samples.value)
        self._describe(legend, projection)

    def _offer(self, samples: Dataset) -> None:
        """Offer to colour by given labels where there are any."""
        with_labels = samples.labels_true is not None
        self._colour.options = {
            title: key
            for title, key in COLOURS.items()
            if with_labels or key != "labels"
        }

    def _describe(self, legend: Legend, projection: Projection) -> None:
        """Say what the colours and the axes are."""
        if legend.by == "disagreement":
            stops = ", ".join(DISAGREEMENT_COLOURS)
            entries = (
                "all models agree <span style='display:inline-block;width:90px;"
                f"height:9px;background:linear-gradient(90deg,{stops})'></span> "
                "evenly split"
            )
        else:
            entries = "&ensp;".join(
                mark(
                    cluster_colour(k),
                    f"{safe(name)} <span class='muted'>{size:,}</span>",
                )
                for k, name, size in legend.entries[:LEGEND_ENTRIES]
            )
            more = len(legend.entries) - LEGEND_ENTRIES
            entries += f"&ensp;and {more} more" if more > 0 else ""
        first, second = (f"{share:.0%}" for share in projection.explained)
        self._legend.body = (
            f"<p>{entries}&ensp;<span class='muted'>→ PC 1, {first} of the variance · "
            f"↑ PC 2, {second}</span></p>"
        )

    def _viewed(self, view: View | None, width: int, height: int) -> None:
        x, y = view or (None, None)
        self.session.look.map_view = Viewport(x, y, width, height)

    def _tap(self, x: float, y: float, unit: float) -> None:
        """Inspect the sample nearest to a click, unless the click is in empty space."""
        tree = self.session.derived.get("nearest")
        if tree.ready:
            distance, position = tree.value.query((x, y))
            near = distance <= CLICK_PIXELS * unit
            found = {"inspected": int(position) if near else None}
            self.session.look.param.update(
                **found, **({"tab": "sample"} if near else {})
            )

    def _box(self, view: View) -> None:
        low, high = np.array(view).T

        def within(xy: np.ndarray) -> np.ndarray:
            return ((xy >= low) & (xy <= high)).all(axis=1)

        self._brush(within, "box on the map")

    def _lasso(self, outline: np.ndarray) -> None:
        self._brush(lambda xy: inside(xy, outline), "lasso on the map")

    def _brush(self, within: Callable[[np.ndarray], np.ndarray], source: str) -> None:
        """Brush the samples within a shape, off the event loop."""
        found = self.session.derived.get("projection")
        if not found.ready:
            return
        xy, look = found.value.coordinates, self.session.look

        def brush(positions: Any, error: BaseException | None) -> None:
            if error is None and self.session.derived.get("projection") is found:
                look.param.update(brush=Brush(positions, source), tab="selection")

        self.session.jobs.live(
            "brush",
            "Selecting samples",
            lambda job: np.flatnonzero(within(xy)),
            brush,
        )
