"""Tab of the brushed samples: their agreement and their differences from others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.formatting import count as counted
from clusterlens.compute.formatting import percent, whole
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.export import attach_labels
from clusterlens.ui.components.saving import SaveButton
from clusterlens.ui.components.subset_run import FEWEST_AGAIN, cluster_again
from clusterlens.ui.components.tab import Tab, effect_rows, share_bar
from clusterlens.ui.exports.rows import rows_to_csv
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.results.inspector import SelectionReading
from clusterlens.ui.results.result import DisplayedPartition
from clusterlens.ui.state.links import plain_ids
from clusterlens.ui.state.view_parameters import Brush
from clusterlens.ui.widgets.palette import cluster_colour, cluster_name
from clusterlens.ui.widgets.toolkit import badge, breakable, link, mark, pmu, pn, safe
from clusterlens.ui.widgets.words import number

SHOWN_COLUMNS = 6
SHOWN_ROWS = 50
# Largest number of rows to link at once; each link is drawn and listed.
MOST_JOINED = 1000


class SelectionTab(Tab):
    """Size, consensus inside, clusters, columns and rows of the brushed samples."""

    needs = (
        "selection_reading",
        "ensemble",
        "displayed_partition",
        "samples",
        "clusters",
    )
    also = ("model_names",)
    css = "cl-brushed-note"
    empty = (
        "<b>Nothing selected.</b> Drag a box or a lasso on the map, or a block of a "
        "matrix; <kbd>Esc</kbd> clears."
    )

    def below(self) -> list[Any]:
        self._download = SaveButton(
            self.session,
            "Rows",
            self._selected_rows,
            margin=(6, 0, 0, 0),
            css_classes=["cl-download-selection"],
            disabled=True,
        )
        self._join = _button("Must-link all", self._join_all, "cl-join", after=6)
        self._open = _button(
            "Open in Clusters", self._open_group, "cl-open-group", variant="contained"
        )
        self._again = _button(
            "Cluster them again", self._cluster_again, "cl-selection-again", after=6
        )
        return [
            pn.Row(self._open, self._again, margin=0),
            pn.Row(self._download.view, self._join, margin=0),
        ]

    def prepare(self, results: Any) -> None:
        """Offer the commands only if samples are selected."""
        super().prepare(results)
        ready = results["selection_reading"].ready
        self._download.button.disabled = self._open.disabled = not ready
        count = len(self.session.view_state.brush)
        self._join.disabled = not ready or not 2 <= count <= MOST_JOINED
        self._again.disabled = not ready or count < FEWEST_AGAIN
        self._join.label = f"Must-link all, {whole(max(0, count - 1))} links"

    def do(self, what: str) -> Any:
        """Clear the selection, or handle a common button."""
        if what == "clear":
            self.session.view_state.brush = Brush()
        else:
            super().do(what)

    def show(
        self,
        selection_reading: SelectionReading,
        ensemble: Ensemble,
        displayed_partition: DisplayedPartition,
        samples: Dataset,
        clusters: np.ndarray,
        model_names: Result,
    ) -> None:
        """Write the facts about the selection."""
        read, names = selection_reading, model_names.value or {}
        total = len(read.brush)
        held = percent(read.within) if total > 1 else "–"
        compared = "" if np.isnan(read.others) else f" · rest {percent(read.others)}"
        if read.answered is not None and total > 1:
            compared += f" · with your answers {percent(read.answered)}"
        self.text.body = (
            f"<p><b style='font-size:16px'>{counted(total, 'sample')} selected</b> "
            f"{badge(safe(read.brush.source))} "
            f"{link('Clear', 'clear', css='cl-clear')}</p>"
            "<dl><dt title='mean consensus of the pool'>agreement inside</dt>"
            f"<dd><b>{held}</b><span class='muted'>{compared}</span></dd></dl>"
            f"<h3>In the clusters of {safe(displayed_partition.title)}</h3><table>"
            + "".join(
                f"<tr><td class='cut'>"
                f"{mark(cluster_colour(k), safe(cluster_name(k, names)))}</td>"
                f"<td>{share_bar(size / total, cluster_colour(k))}</td>"
                f"<td class='number'>{whole(size)}</td></tr>"
                for k, size in read.sizes
            )
            + "</table><h3>What sets them apart</h3><table class='profile'>"
            "<tr><th>column</th><th class='sides'><span>below</span><span>above</span>"
            "</th><th class='number'>here</th><th class='number'>all</th></tr>"
            + effect_rows(read.profiles.top(1, SHOWN_COLUMNS))
            + f"</table><h3>Rows</h3>{_rows(read, samples, clusters)}"
        )

    def _open_group(self, event: Any) -> None:
        """Open the selected samples as a group on the page Clusters."""
        view_state = self.session.view_state
        view_state.param.update(
            group=view_state.brush, partition="group", cluster=None, page="clusters"
        )

    async def _cluster_again(self, event: Any) -> None:
        """Make a run of the selected rows."""
        await cluster_again(
            self.session, self.session.view_state.brush.positions, "selection"
        )

    def _join_all(self, event: Any) -> None:
        """Link the selected rows as one class."""
        samples = self.session.analysis.selected_run.dataset
        brush = self.session.view_state.brush
        rows = plain_ids(samples.row_ids[brush.positions])
        self.session.act_now("join rows", rows=rows)

    def _selected_rows(self) -> tuple[str, Callable[[], bytes]]:
        """Return the name and the maker of the file of the selected rows."""
        samples = self.session.analysis.selected_run.dataset
        brush = self.session.view_state.brush
        rows = samples.row_ids[brush.positions]
        return "selection.csv", lambda: rows_to_csv(
            attach_labels(samples, {}).loc[rows]
        )


def _button(
    label: str,
    does: Callable[[Any], Any],
    css: str,
    *,
    variant: str = "outlined",
    after: int = 0,
) -> Any:
    """Return a button that is enabled once samples are selected."""
    return pmu.Button(
        label=label,
        size="small",
        variant=variant,
        margin=(6, 0, 0, after),
        disabled=True,
        on_click=does,
        css_classes=[css],
    )


def _rows(read: SelectionReading, samples: Dataset, clusters: np.ndarray) -> str:
    """Write the first rows with their distinguishing columns."""
    leading = list(dict.fromkeys(read.profiles.top(1, SHOWN_COLUMNS)["column"]))[:3]
    positions = read.brush.positions[:SHOWN_ROWS]
    values = samples.table.loc[samples.row_ids[positions], leading]
    # Names may wrap, so that the columns fit.
    heads = "".join(
        f"<th class='number' style='white-space:normal'>{breakable(name)}</th>"
        for name in leading
    )
    rows = "".join(
        f"<tr><td>{link(safe(row), f'inspect {i}')}</td>"
        f"<td>{mark(cluster_colour(int(clusters[i])), '')}</td>"
        + "".join(f"<td class='number'>{safe(number(v))}</td>" for v in cells)
        + "</tr>"
        for i, row, cells in zip(
            positions, values.index, values.itertuples(index=False), strict=True
        )
    )
    more = len(read.brush) - len(positions)
    remaining = f"<p class='muted'>and {whole(more)} more</p>" if more > 0 else ""
    return (
        f"<table class='rows cl-brushed' data-roving='map'><tr><th>row</th><th></th>"
        f"{heads}</tr>{rows}</table>{remaining}"
    )
