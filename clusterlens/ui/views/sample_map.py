"""Panel: the map of samples; a click inspects a sample."""

from __future__ import annotations

from typing import Any

import holoviews as hv
import numpy as np

from clusterlens.ui import figures
from clusterlens.ui.kit import card, mark, markup, pn, safe
from clusterlens.ui.palette import (
    DISAGREEMENT_COLOURS,
    cluster_colour,
    cluster_colours,
    cluster_name,
    disagreement_colours,
)
from clusterlens.ui.session import Session

PIXELS = 270
DENSITY = 2
CLICK_PIXELS = 10
LEGEND_ENTRIES = 12


class SampleMap(pn.viewable.Viewer):
    """Principal components, coloured by model, disagreement or given labels."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._place = pn.Column(margin=0)
        self._note = markup()
        self._legend = markup(css_classes=["cl-map-legend"])
        session.param.watch(self._draw, ["run"])
        session.param.watch(self._describe, ["run", "model", "colour_by", "brushed"])

    def _view(self, x_range: Any, y_range: Any) -> figures.Viewport:
        full = figures.map_view(self.session.run.projection.coordinates)
        return tuple(x_range or full[0]), tuple(y_range or full[1])

    def _colours(self) -> np.ndarray:
        """Colour of each sample, uint8 of shape (n_samples, 3)."""
        run = self.session.run
        if self.session.colour_by == "disagreement":
            return disagreement_colours(run.disagreement)
        if self.session.colour_by == "labels":
            return cluster_colours(run.dataset.labels_true)
        return cluster_colours(run.clusters_of(self.session.model))

    def _draw_samples(self, x_range: Any, y_range: Any, **changes: Any) -> hv.RGB:
        run = self.session.run
        return figures.sample_map(
            run.projection.coordinates,
            self._colours(),
            self._view(x_range, y_range),
            pixels=PIXELS * DENSITY,
            lit=self.session.brushed,
        )

    def _draw_ring(self, inspected: int | None) -> hv.Points:
        if inspected is None:
            return figures.ring(np.nan, np.nan)
        return figures.ring(*self.session.run.projection.coordinates[inspected])

    def _tap(self, x: float | None, y: float | None) -> None:
        """Inspect the sample nearest to a click, unless the click is in empty space."""
        run = self.session.run
        if run is None or x is None or y is None:
            return
        distance, position = run.nearest.query((x, y))
        (x0, x1), _ = self._view(self._ranges.x_range, self._ranges.y_range)
        near = distance <= CLICK_PIXELS * abs(x1 - x0) / PIXELS
        self.session.inspected = int(position) if near else None

    def _brush(self, bounds: Any) -> None:
        """Select the samples in a dragged box."""
        run = self.session.run
        if run is None or bounds is None:
            return
        x0, y0, x1, y1 = bounds
        x, y = run.projection.coordinates.T
        inside = (x >= x0) & (x <= x1) & (y >= y0) & (y <= y1)
        self.session.brushed = np.flatnonzero(inside)

    def _describe(self, *events: Any) -> None:
        """Say what the axes and the colours are."""
        session, run = self.session, self.session.run
        if run is None or session.model < 0:
            return
        share = float(run.projection.explained.sum())
        self._note.object = (
            f'<p class="muted">Principal components; {share:.0%} of the variance.</p>'
        )
        self._legend.object = f'<p class="muted">{self._legend_text()}</p>'

    def _legend_text(self) -> str:
        session, run = self.session, self.session.run
        if session.colour_by == "disagreement":
            stops = ", ".join(DISAGREEMENT_COLOURS)
            return (
                "all models agree <span style='display:inline-block;width:90px;"
                f"height:9px;background:linear-gradient(90deg,{stops})'></span> "
                "evenly split"
            )
        if session.colour_by == "labels":
            codes, names = run.dataset.labels_true, run.dataset.label_names
            entries = [(k, safe(names[k])) for k in np.unique(codes)]
        else:
            clusters = np.unique(run.clusters_of(session.model))
            entries = [(k, cluster_name(k)) for k in clusters]
        shown = "&ensp;".join(
            mark(cluster_colour(int(k)), name) for k, name in entries[:LEGEND_ENTRIES]
        )
        more = len(entries) - LEGEND_ENTRIES
        return shown + (f"&ensp;and {more} more" if more > 0 else "")

    def _draw(self, event: Any) -> None:
        """Make the figure of a new run; later it follows its streams."""
        session = self.session
        if session.run is None:
            return
        x, y = figures.map_view(session.run.projection.coordinates)
        first, second = session.run.projection.explained
        self._ranges = hv.streams.RangeXY()
        picture = hv.DynamicMap(
            self._draw_samples,
            streams=[
                self._ranges,
                hv.streams.Params(session, ["model", "colour_by", "brushed"]),
            ],
        ).opts(
            hv.opts.RGB(
                frame_width=PIXELS,
                frame_height=PIXELS,
                xlim=x,
                ylim=y,
                xlabel=f"PC 1 ({first:.0%} of variance)",
                ylabel=f"PC 2 ({second:.0%})",
                framewise=False,
                toolbar="right",
                default_tools=["box_zoom", "pan", "wheel_zoom", "reset"],
                tools=["tap", "box_select"],
                active_tools=["box_select", "wheel_zoom", "tap"],
                hooks=[figures.plain_frame, figures.report_zoom_at_once],
            )
        )
        hv.streams.SingleTap(source=picture).add_subscriber(self._tap)
        hv.streams.BoundsXY(source=picture).add_subscriber(self._brush)
        mark = hv.DynamicMap(
            self._draw_ring, streams=[hv.streams.Params(session, ["inspected"])]
        ).opts(
            hv.opts.Points(size=15, fill_alpha=0, line_width=2.5, line_color="#777f87")
        )
        self._place[:] = [pn.pane.HoloViews(picture * mark, margin=0)]

    def __panel__(self) -> Any:
        return card(
            "Map of samples",
            self._note,
            self._place,
            self._legend,
            css="cl-map",
            flex="1 1 400px",
        )
