"""Panel: the consensus matrix and the binarised matrix, zoomed and ordered together.

For each viewport one tile per matrix is computed; both figures follow one range stream.
"""

from __future__ import annotations

import asyncio
from typing import Any

import holoviews as hv
import numpy as np
import param
from bokeh.models import ColumnDataSource, CustomJSHover, HoverTool

from clusterlens.compute.consensus.tile_source import TileSource
from clusterlens.compute.consensus.tiles import Tile, consensus_tile
from clusterlens.ui import figures
from clusterlens.ui.jobs import KERNELS
from clusterlens.ui.kit import badge, card, flow, markup, pn
from clusterlens.ui.palette import cluster_colours
from clusterlens.ui.session import Session

PIXELS = 310
SHARE = "1 1 400px"
_NAME_OF_POSITION = """
const first = names.data.first_%(axis)s[0], shown = names.data.%(axis)s[0];
const at = Math.floor(value) - first;
if (at < 0 || at >= names.data.count_%(axis)s[0]) return 'outside';
return at < shown.length ? String(shown[at]) : '#' + (Math.floor(value) + 1);
"""


class Matrices(pn.viewable.Viewer):
    """Consensus and binarised co-association matrix of the run on screen."""

    source = param.ClassSelector(class_=TileSource, doc="Ordered labels of the run.")
    colours = param.Array(doc="Cluster colour of each position, (n_samples, 3).")

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._order: np.ndarray = np.empty(0, np.intp)
        self._wanted: object = None
        self._places = [pn.Column(margin=0), pn.Column(margin=0)]
        self._names = ColumnDataSource(
            {f"{p}{a}": [[]] for p in ("first_", "count_", "") for a in ("row", "col")}
        )
        self._binarised_note = markup()
        self._sampled = markup(
            badge("estimated: pairs of each pixel sampled", kind="estimate"),
            visible=False,
        )
        self._consensus_note = markup()
        session.param.watch(self._prepare, ["run", "model", "order_by"])
        session.param.watch(self._describe, ["run", "threshold"])
        session.param.watch(self._draw, ["shading"])

    async def _prepare(self, *events: Any) -> None:
        """Order the labels off the event loop; the latest wish wins."""
        run, model, key = (
            self.session.run,
            self.session.model,
            self.session.order_by,
        )
        if run is None or not 0 <= model < run.ensemble.n_partitions:
            return
        wanted = self._wanted = object()
        new_run = self.source is None or self.source.ensemble is not run.ensemble
        loop = asyncio.get_running_loop()
        prepared = await loop.run_in_executor(KERNELS, _ordered, run, model, key)
        if self._wanted is not wanted:
            return
        self._order, source, colours = prepared
        self.param.update(source=source, colours=colours)
        if new_run:
            self._draw()

    def _describe(self, *events: Any) -> None:
        run = self.session.run
        if run is None:
            return
        count, needed = run.ensemble.n_partitions, self.session.threshold
        self._consensus_note.object = (
            f'<p class="muted">Share of the {count} models that put two samples '
            "together.</p>"
        )
        self._binarised_note.object = (
            f'<p class="muted">Filled: together in at least {needed} of {count} models '
            f"({needed / count:.0%}).</p>"
        )

    def _tile(self, view: figures.Viewport, kind: str) -> Tile:
        n = self.source.ensemble.n_samples
        return consensus_tile(
            self.source,
            rows=figures.visible_items(view[1], n),
            cols=figures.visible_items(view[0], n),
            shape=(PIXELS, PIXELS),
            kind=kind,
            threshold=self.session.threshold if kind == "binarised" else None,
        )

    def _view(self, x_range: Any, y_range: Any) -> figures.Viewport:
        full = figures.full_view(self.source.ensemble.n_samples)
        return tuple(x_range or full[0]), tuple(y_range or full[1])

    def _draw_consensus(self, x_range: Any, y_range: Any, source: Any) -> hv.Image:
        tile = self._tile(self._view(x_range, y_range), "consensus")
        self._name_positions(tile)
        return figures.matrix_image(tile, pixels=PIXELS)

    def _draw_binarised(
        self, x_range: Any, y_range: Any, source: Any, threshold: int
    ) -> hv.Image:
        tile = self._tile(self._view(x_range, y_range), "binarised")
        self._sampled.visible = not tile.exact
        return figures.matrix_image(tile, pixels=PIXELS)

    def _draw_strips(self, x_range: Any, y_range: Any, colours: Any) -> hv.Overlay:
        view = self._view(x_range, y_range)
        rows, cols = (figures.visible_items(r, len(colours)) for r in view[::-1])
        return figures.cluster_strips(colours, rows, cols, view)

    def _name_positions(self, tile: Tile) -> None:
        """Tell the browser the row ids of what is in view, where each has a pixel."""
        data: dict[str, list[Any]] = {}
        for axis, (low, high) in (("row", tile.rows), ("col", tile.cols)):
            few = high - low <= PIXELS
            ids = self.session.run.dataset.row_ids
            names = [str(ids[i]) for i in self._order[low:high]] if few else []
            data |= {
                axis: [names],
                f"first_{axis}": [low],
                f"count_{axis}": [high - low],
            }
        self._names.data = data

    def _hover(self, value: str) -> HoverTool:
        return HoverTool(
            tooltips=[
                ("row", "$y{custom}"),
                ("column", "$x{custom}"),
                (value, "@image{0.000}"),
            ],
            formatters={
                f"${variable}": CustomJSHover(
                    args={"names": self._names}, code=_NAME_OF_POSITION % {"axis": axis}
                )
                for variable, axis in (("y", "row"), ("x", "col"))
            },
        )

    def _draw(self, *events: Any) -> None:
        """Make both figures for a new run or shading; streams redraw them later."""
        session = self.session
        if self.source is None:
            return
        ranges = hv.streams.RangeXY()
        ordered = hv.streams.Params(self, ["source"])
        threshold = hv.streams.Params(session, ["threshold"])
        consensus = hv.DynamicMap(self._draw_consensus, streams=[ranges, ordered])
        binarised = hv.DynamicMap(
            self._draw_binarised, streams=[ranges, ordered, threshold]
        )
        self._places[0][:] = [
            self._figure(
                consensus,
                ranges,
                "agreement",
                cmap="viridis",
                cnorm=session.shading,
                colorbar=True,
                colorbar_opts={"width": 12},
            )
        ]
        self._places[1][:] = [
            self._figure(
                binarised, ranges, "filled", cmap=list(figures.BINARISED_COLOURS)
            )
        ]

    def _figure(
        self, image: hv.DynamicMap, ranges: Any, value: str, **options: Any
    ) -> pn.pane.HoloViews:
        """Put an image and the strips into one pane with brush, zoom and hover."""
        x, y = figures.full_view(self.source.ensemble.n_samples)
        image = image.opts(
            hv.opts.Image(
                tools=[self._hover(value), "box_select"],
                default_tools=["box_zoom", "pan", "wheel_zoom", "reset"],
                active_tools=["box_select", "wheel_zoom"],
                invert_yaxis=True,
                xaxis=None,
                yaxis=None,
                xlim=x,
                ylim=y,
                clim=(0, 1),
                clabel="",
                framewise=False,
                frame_width=PIXELS,
                frame_height=PIXELS,
                toolbar="right",
                hooks=[figures.plain_frame, figures.report_zoom_at_once],
                **options,
            )
        )
        strips = hv.DynamicMap(
            self._draw_strips, streams=[ranges, hv.streams.Params(self, ["colours"])]
        )
        hv.streams.BoundsXY(source=image).add_subscriber(self._brush)
        return pn.pane.HoloViews(image * strips, margin=0)

    def _brush(self, bounds: Any) -> None:
        """Select the samples of the rows and columns of a dragged block."""
        if bounds is None or self.source is None:
            return
        n = len(self._order)
        x0, y0, x1, y1 = bounds
        cols = figures.visible_items((min(x0, x1), max(x0, x1)), n)
        rows = figures.visible_items((min(y0, y1), max(y0, y1)), n)
        self.session.brushed = np.union1d(
            self._order[slice(*rows)], self._order[slice(*cols)]
        )

    def __panel__(self) -> Any:
        return flow(*self.cards())

    def cards(self) -> list[Any]:
        """Return the two cards, to be put beside others."""
        consensus, binarised = self._places
        return [
            card(
                "Consensus matrix",
                self._consensus_note,
                consensus,
                css="cl-consensus-matrix",
                flex=SHARE,
            ),
            card(
                "Binarised matrix",
                self._binarised_note,
                binarised,
                self._sampled,
                css="cl-binarised-matrix",
                flex=SHARE,
            ),
        ]


def _ordered(
    run: Any, model: int, key: str
) -> tuple[np.ndarray, TileSource, np.ndarray]:
    """Order the samples of a run, with the label matrix and the cluster colours."""
    order = run.order_by(key, model)
    colours = cluster_colours(run.clusters_of(model))[order]
    return order, TileSource(run.ensemble, order), colours
