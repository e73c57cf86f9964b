"""Panels: the selected model's clusters; the inspected and the brushed samples."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import numpy as np

from clusterlens.compute.table.export import attach_labels, to_csv_bytes
from clusterlens.compute.table.profiles import ClusterProfiles, cluster_profiles
from clusterlens.ui.jobs import KERNELS
from clusterlens.ui.kit import (
    SMALL_BUTTON,
    badge,
    card,
    flow,
    mark,
    markup,
    pmu,
    pn,
    safe,
    table,
)
from clusterlens.ui.palette import cluster_colour, cluster_name
from clusterlens.ui.session import Run, Session

SHOWN_FEATURES = 3
SHOWN_VALUES = 12


class ModelDetails(pn.viewable.Viewer):
    """Sizes and characteristic features of the clusters of the selected model."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._note = markup(
            '<p class="muted">Choose a row of the ranking.</p>',
            css_classes=["cl-model-name"],
        )
        self._body = markup(sizing_mode="stretch_width", css_classes=["cl-model"])
        self._scroll = pmu.Column(
            self._body,
            max_height=240,
            scroll=True,
            margin=0,
            sizing_mode="stretch_width",
        )
        self._download = pmu.FileDownload(
            label="Download labelled rows (CSV)",
            callback=self._labelled_rows,
            filename="labels.csv",
            size="small",
            variant="text",
            color="primary",
            button_type="default",
            margin=0,
            sx=SMALL_BUTTON,
            css_classes=["cl-download"],
            visible=False,
        )
        session.param.watch(self._write, ["run", "model"])

    async def _write(self, *events: Any) -> None:
        """Profile the clusters off the event loop; the latest wish wins."""
        run, model = self.session.run, self.session.model
        if run is None or not 0 <= model < run.ensemble.n_partitions:
            return
        clusters = run.clusters_of(model)
        profiles = await asyncio.get_running_loop().run_in_executor(
            KERNELS, cluster_profiles, run.dataset, clusters
        )
        if (run, model) == (self.session.run, self.session.model):
            self._show(run, model, clusters, profiles)

    def _show(
        self, run: Run, model: int, clusters: np.ndarray, profiles: ClusterProfiles
    ) -> None:
        """List the clusters with what is characteristic of each."""
        rows = "".join(
            "<tr><td class='name'>"
            f"{mark(cluster_colour(int(c)), cluster_name(int(c)))}</td>"
            f"<td class='number'>{np.count_nonzero(clusters == c):,}</td>"
            f"<td>{safe(profiles.text(c, SHOWN_FEATURES))}</td></tr>"
            for c in np.unique(clusters)
        )
        name = safe(run.ensemble.names[model])
        count = f"{len(np.unique(clusters[clusters >= 0]))} clusters"
        if (clusters < 0).any():
            count += " and noise"
        self._note.object = f"<p><b>{name}</b> {badge(count)}</p>"
        self._body.object = (
            "<table><tr><th>cluster</th>"
            "<th class='number'>samples</th><th>most characteristic, against all "
            f"samples</th></tr>{rows}</table>"
        )
        self._download.filename = (
            f"{run.dataset.name} - {run.ensemble.names[model]}.csv"
        )
        self._download.visible = True

    def _labelled_rows(self) -> io.BytesIO:
        """Return the original rows with the labels of the selected model as CSV."""
        run, model = self.session.run, self.session.model
        column = f"cluster ({run.ensemble.names[model]})"
        table = attach_labels(run.dataset, {column: run.ensemble.labels[model]})
        return io.BytesIO(to_csv_bytes(table))

    def __panel__(self) -> Any:
        return card(
            "Selected model",
            self._note,
            self._scroll,
            css="cl-model-details",
            buttons=[self._download],
        )


class SampleDetails(pn.viewable.Viewer):
    """The inspected sample, and the list of brushed samples."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._sample = markup(css_classes=["cl-inspected"], sizing_mode="stretch_width")
        self._brushed_note = markup(css_classes=["cl-brushed-note"])
        self._clear = pmu.Button(
            label="Clear",
            size="small",
            variant="text",
            on_click=self._forget,
            visible=False,
            css_classes=["cl-clear"],
        )
        self._place = pn.Column(margin=0, sizing_mode="stretch_width")
        session.param.watch(self._inspect, ["run", "inspected", "model"])
        session.param.watch(self._list, ["run", "brushed", "model"])

    def _forget(self, event: Any) -> None:
        self.session.param.update(inspected=None, brushed=np.empty(0, np.intp))

    def _inspect(self, *events: Any) -> None:
        run, position = self.session.run, self.session.inspected
        if run is None or position is None or self.session.model < 0:
            self._sample.object = (
                '<p class="muted">Click a point of the map to see its values and what '
                "the models say about it.</p>"
            )
            return
        row_id = run.dataset.row_ids[position]
        values = run.dataset.table.loc[row_id]
        cells = "".join(
            f"<tr><td>{safe(column)}</td><td class='number'>{safe(value)}</td></tr>"
            for column, value in values.head(SHOWN_VALUES).items()
        )
        more = len(values) - SHOWN_VALUES
        rest = f"<p class='muted'>and {more} more columns</p>" if more > 0 else ""
        cluster = int(run.clusters_of(self.session.model)[position])
        self._sample.object = (
            f"<p><b>Row {safe(row_id)}</b> "
            f"{mark(cluster_colour(cluster), cluster_name(cluster))} of "
            f"{safe(run.ensemble.names[self.session.model])}</p>"
            f"<p>{self._what_models_say(position)}</p>"
            f"<table>{cells}</table>{rest}"
        )

    def _what_models_say(self, position: int) -> str:
        """Say how far the pool agrees about a sample, and on its company."""
        run = self.session.run
        others = np.delete(run.together_with(position), position)
        always = int((others == run.ensemble.n_partitions).sum())
        needed = self.session.threshold
        often = int((others >= needed).sum())
        return (
            f"Disagreement of the pool about it: "
            f"<b>{run.disagreement[position]:.2f}</b> (0 none, 1 evenly split). "
            f"Together with {often:,} samples in at least {needed} models, with "
            f"{always:,} in all {run.ensemble.n_partitions}."
        )

    def _list(self, *events: Any) -> None:
        run, brushed = self.session.run, self.session.brushed
        some = run is not None and len(brushed) > 0
        self._clear.visible = some
        if not some:
            self._place.clear()
            self._brushed_note.object = (
                '<p class="muted">Drag a box on a matrix or the map to brush '
                "samples.</p>"
            )
            return
        clusters = run.clusters_of(self.session.model)[brushed]
        names, counts = np.unique(clusters, return_counts=True)
        parts = ", ".join(
            f"{count:,} in {cluster_name(int(name))}"
            for name, count in zip(names, counts, strict=True)
        )
        self._brushed_note.object = f"<p><b>{len(brushed):,} brushed</b>: {parts}</p>"
        rows = run.dataset.table.loc[run.dataset.row_ids[brushed]]
        frame = rows.reset_index(names="row id" if "row id" not in rows else "row id ")
        frame.insert(1, "cluster ", [cluster_name(int(c)) for c in clusters])
        frame.columns = [f"c{k}" for k in range(frame.shape[1])]
        titles = ["row id", "cluster", *map(safe, rows.columns)]
        self._place[:] = [
            table(
                frame,
                css="cl-brushed",
                titles=dict(zip(frame.columns, titles, strict=True)),
                pagination="remote",
                page_size=6,
                layout="fit_data_stretch",
            )
        ]

    def __panel__(self) -> Any:
        return card(
            "Samples",
            "",
            flow(
                pmu.Column(self._sample, margin=0, styles={"flex": "1 1 340px"}),
                pmu.Column(
                    pmu.Row(self._brushed_note, self._clear, margin=0),
                    self._place,
                    margin=(0, 0, 0, 24),
                    styles={"flex": "2 1 520px", "min-width": "0"},
                ),
            ),
            css="cl-samples",
        )
