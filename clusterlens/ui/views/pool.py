"""Page: choose a pool of clusterings, see what it will cost, run it."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.pool import estimate_pool
from clusterlens.compute.pool.specs import POOLS, pool_grids, pool_specs
from clusterlens.ui.actions import perform_in_background
from clusterlens.ui.kit import badge, card, markup, pmu, pn, safe, table
from clusterlens.ui.log import Action
from clusterlens.ui.session import Session

GRID_TITLES = {
    "use": "use",
    "family": "family",
    "clusterer": "clusterer",
    "parameters": "parameters (JSON; a list stands for one model per entry)",
    "models": "models",
}
CHOOSE = "choose …"
NEEDS_CLUSTERS = "paper-fixed-k"


class PoolPage(pn.viewable.Viewer):
    """From a prepared table to a run."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._preset = pmu.Select(
            label="Preset",
            options=list(POOLS),
            value="default",
            size="small",
            width=200,
            margin=(6, 10, 6, 0),
            css_classes=["cl-preset"],
        )
        self._k = pmu.IntInput(
            label="Clusters",
            value=3,
            start=2,
            size="small",
            width=110,
            margin=(6, 10, 6, 0),
            visible=False,
            css_classes=["cl-fixed-k"],
        )
        self._seed = pmu.IntInput(
            label="Seed",
            value=0,
            start=0,
            size="small",
            width=110,
            margin=(6, 10, 6, 0),
            css_classes=["cl-seed"],
        )
        self._distinct = pmu.Checkbox(
            label="Count identical partitions once",
            value=False,
            margin=(10, 10, 6, 0),
            css_classes=["cl-distinct"],
        )
        self._add = pmu.Select(
            label="Add a clusterer",
            options=[CHOOSE, *CLUSTERERS],
            value=CHOOSE,
            size="small",
            width=200,
            margin=(6, 10, 6, 0),
            css_classes=["cl-add-clusterer"],
        )
        self._grids = table(
            pd.DataFrame({key: [] for key in GRID_TITLES}),
            css="cl-grids",
            disabled=False,
            titles=GRID_TITLES,
            layout="fit_columns",
            widths={"use": 50, "family": 110, "clusterer": 150, "models": 70},
            editors={
                "use": {"type": "tickCross"},
                "family": None,
                "clusterer": None,
                "parameters": {"type": "input"},
                "models": None,
            },
            formatters={"use": {"type": "tickCross"}},
        )
        self._cost = markup(css_classes=["cl-estimate"], sizing_mode="stretch_width")
        self._run = pmu.Button(
            label="Run the pool",
            icon="play_arrow",
            on_click=self._start,
            css_classes=["cl-run-pool"],
            margin=(6, 0),
        )
        self._outcome = markup(css_classes=["cl-outcome"], sizing_mode="stretch_width")
        self._empty = markup(
            "<p>No table yet. Load one on the <b>Data</b> page.</p>",
            margin=20,
            css_classes=["cl-empty"],
        )
        self._content = self._arrange()
        self._place = pmu.Column(
            self._empty,
            margin=0,
            sizing_mode="stretch_width",
            css_classes=["cl-page-pool"],
        )
        for widget in (self._preset, self._k):
            widget.param.watch(self._take_preset, "value")
        self._seed.param.watch(self._estimate, "value")
        self._add.param.watch(self._add_clusterer, "value")
        self._grids.on_edit(self._edited)
        session.param.watch(self._new_dataset, ["dataset"])
        session.param.watch(self._report, ["run"])
        session.jobs.param.watch(self._lock, ["busy"])

    def _new_dataset(self, event: Any) -> None:
        ready = self.session.dataset is not None
        self._place[:] = [self._content if ready else self._empty]
        if ready:
            self._take_preset()

    def _take_preset(self, *events: Any) -> None:
        """Fill the table of grids from the preset."""
        self._k.visible = self._preset.value == NEEDS_CLUSTERS
        pool = (
            (self._preset.value, self._k.value)
            if self._k.visible
            else self._preset.value
        )
        shape = self.session.dataset.X.shape
        grids, self._left_out = pool_grids(pool, shape[0])
        self._fill(grids)

    def _fill(self, grids: list[dict[str, Any]]) -> None:
        rows = [
            {
                "use": True,
                "family": CLUSTERERS[grid["clusterer"]].family,
                "clusterer": grid["clusterer"],
                "parameters": json.dumps(
                    {k: v for k, v in grid.items() if k != "clusterer"}
                ),
                "models": 0,
            }
            for grid in grids
        ]
        self._grids.value = pd.DataFrame(rows, columns=list(GRID_TITLES))
        self._estimate()

    def _add_clusterer(self, event: Any) -> None:
        if event.new != CHOOSE:
            grid = {"clusterer": event.new, **CLUSTERERS[event.new].grid}
            self._add.value = CHOOSE
            self._fill([*self._chosen(used_only=False), grid])

    def _edited(self, event: Any) -> None:
        self._estimate()

    def _chosen(self, *, used_only: bool = True) -> list[dict[str, Any]]:
        """Return the grids of the table as specs.

        Raises
        ------
        ValueError
            If the parameters of a row are not a JSON object.
        """
        grids = []
        for row in self._grids.value.itertuples():
            if used_only and not row.use:
                continue
            try:
                parameters = json.loads(row.parameters or "{}")
            except json.JSONDecodeError as error:
                raise ValueError(
                    f"The parameters of {row.clusterer} are not JSON ({error}); write "
                    'them like {"n_clusters": [2, 3, 4]}.'
                ) from None
            if not isinstance(parameters, dict):
                raise ValueError(
                    f"The parameters of {row.clusterer} are {row.parameters}; write "
                    'them like {"n_clusters": [2, 3, 4]}.'
                )
            grids.append({"clusterer": row.clusterer, **parameters})
        return grids

    def _estimate(self, *events: Any) -> None:
        """Say how many models there are and what they will cost."""
        shape = self.session.dataset.X.shape
        try:
            frame = self._grids.value
            counts = [
                len(pool_specs([g], shape)) for g in self._chosen(used_only=False)
            ]
            if list(frame["models"]) != counts:
                self._grids.value = frame.assign(models=counts)
            estimate = estimate_pool(shape, self._chosen())
        except ValueError as error:
            self._run.disabled = True
            self._cost.object = f"<p class='warn'>{safe(error)}</p>"
            return
        self._run.disabled = self.session.jobs.busy
        notes = "".join(
            f"<li>{safe(note)}</li>" for note in (*self._left_out, *estimate.notes)
        )
        self._cost.object = (
            f"<p><b>{len(estimate.names)} models</b> on {shape[0]:,} samples × "
            f"{shape[1]:,} features: about <b>{_duration(estimate.seconds)}</b>, "
            f"{estimate.n_bytes / 1e6:,.0f} MB {badge('estimate', kind='estimate')}</p>"
            f"<ul class='muted'>{notes}</ul>"
        )

    async def _start(self, event: Any) -> None:
        """Run the chosen pool; the result is a new run on the Consensus page."""
        action = Action(
            "run pool",
            {
                "pool": self._chosen(),
                "random_state": self._seed.value,
                "distinct_only": self._distinct.value,
            },
        )
        await perform_in_background(self.session, action)

    def _lock(self, *events: Any) -> None:
        self._run.disabled = self.session.jobs.busy

    def _report(self, event: Any) -> None:
        """List what the run on screen is made of, and what failed."""
        run = self.session.run
        if run is None:
            return
        notes = "".join(f"<li>{safe(note)}</li>" for note in run.ensemble.notes)
        self._outcome.object = (
            f"<p><b>{safe(run.name)}</b>: {safe(run.make_up)}.</p>"
            + (
                f"<p>Failed, degenerate or limited models, and warnings:</p><ul>{notes}"
                "</ul>"
                if notes
                else "<p>No model failed.</p>"
            )
        )

    def _arrange(self) -> Any:
        return pmu.Column(
            card(
                "Pool",
                "<p class='muted'>The models that will be compared. Edit the grid by "
                "clusterer: untick, change parameters, or add one.</p>",
                pmu.FlexBox(
                    self._preset,
                    self._k,
                    self._seed,
                    self._add,
                    self._distinct,
                    margin=0,
                ),
                self._grids,
                self._cost,
                self._run,
                css="cl-pool",
            ),
            card(
                "Latest run",
                "<p class='muted'>What became of the models.</p>",
                self._outcome,
                css="cl-latest-run",
            ),
            margin=0,
            sizing_mode="stretch_width",
        )

    def __panel__(self) -> Any:
        return self._place


def _duration(seconds: float) -> str:
    """Write a rough duration."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min"
