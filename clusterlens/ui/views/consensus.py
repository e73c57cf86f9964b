"""Page: what the models agree on, and which of them is closest to it."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.ranking.ranking import SCORES
from clusterlens.compute.ranking.robustness import rank_robustness
from clusterlens.ui.actions import perform_in_background
from clusterlens.ui.jobs import KERNELS
from clusterlens.ui.kit import CARD_STYLE, flow, markup, pmu, pn
from clusterlens.ui.log import Action
from clusterlens.ui.session import Session
from clusterlens.ui.views.details import ModelDetails, SampleDetails
from clusterlens.ui.views.headline import Headline
from clusterlens.ui.views.matrices import Matrices
from clusterlens.ui.views.ranking import RankingTable
from clusterlens.ui.views.sample_map import SampleMap
from clusterlens.ui.views.threshold import Threshold

COLOURS = {
    "selected model": "model",
    "disagreement of the pool": "disagreement",
    "given labels": "labels",
}
ORDERS = {"selected model": "model", "consensus tree": "tree", "file order": "file"}
SHADINGS = {"linear": "linear", "equalised": "eq_hist"}


class ConsensusPage(pn.viewable.Viewer):
    """Pictures, ranking and details of the run on screen."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._panels = [
            Headline(session),
            SampleMap(session),
            Matrices(session),
            RankingTable(session),
            Threshold(session),
            ModelDetails(session),
            SampleDetails(session),
        ]
        self._declined: set[tuple[str, str]] = set()
        self._empty = markup(
            "<p>No run yet. Load a table on the <b>Data</b> page, then run a pool of "
            "clusterings on the <b>Pool</b> page; what the models agree on appears "
            "here.</p>",
            margin=20,
            css_classes=["cl-empty"],
        )
        self._controls = self._make_controls()
        self._content = self._arrange()
        self._place = pmu.Column(
            self._empty,
            margin=0,
            sizing_mode="stretch_width",
            css_classes=["cl-page-consensus"],
        )
        session.param.watch(self._show, ["run"])
        session.param.watch(self._check, ["run", "score"])
        session.jobs.param.watch(self._check, ["busy"])

    def _make_controls(self) -> dict[str, Any]:
        """Return the selects of the strip, tied to the session."""
        session = self.session
        titles = {entry.title: key for key, entry in SCORES.items()}
        score = _select("Score", titles, session.score, "cl-score")
        score.param.watch(self._set_score, "value")
        run = _select("Run", {}, None, "cl-run")
        run.param.watch(self._choose_run, "value")
        controls = {"run": run, "score": score}
        for name, label, options in (
            ("colour_by", "Colour the map by", COLOURS),
            ("order_by", "Order the matrices by", ORDERS),
            ("shading", "Shading", SHADINGS),
        ):
            css = f"cl-{name.replace('_', '-')}"
            select = _select(label, options, getattr(session, name), css)
            select.link(session, value=name, bidirectional=True)
            controls[name] = select
        return controls

    async def _set_score(self, event: Any) -> None:
        if self.session.run is not None and event.new != self.session.score:
            action = Action("set score", {"score": event.new})
            await perform_in_background(self.session, action)

    async def _choose_run(self, event: Any) -> None:
        if event.new is not None and event.new != self.session.run.name:
            action = Action("choose run", {"name": event.new})
            await perform_in_background(self.session, action)

    def _show(self, event: Any) -> None:
        """Fit the controls to the run."""
        session, run = self.session, self.session.run
        self._place[:] = [self._empty if run is None else self._content]
        if run is None:
            return
        names = {f"{r.name} · {r.dataset.name}": r.name for r in session.runs}
        self._controls["run"].param.update(
            options=names, value=run.name, visible=len(names) > 1
        )
        has_labels = run.dataset.labels_true is not None
        self._controls["colour_by"].options = {
            label: key
            for label, key in COLOURS.items()
            if has_labels or key != "labels"
        }

    async def _check(self, *events: Any) -> None:
        """See how the ranking fares without each family, once per run and score."""
        session, run, score = self.session, self.session.run, self.session.score
        if run is None or session.jobs.busy:
            return
        key = (run.name, score)
        if key in session.robustness or key in self._declined:
            return
        found = await session.jobs.run(
            "Checking the ranking without each family",
            lambda job: rank_robustness(
                run.agreement if run.agreement.exact else run.compared,
                score=score,
                executor=KERNELS,
                progress=job.report,
                cancel=job.cancelled,
            ),
            gives_way=True,
        )
        if found is None and not session.jobs.displaced:
            self._declined.add(key)
        elif found is not None:
            session.robustness = session.robustness | {key: found}

    def _arrange(self) -> Any:
        headline, sample_map, matrices, ranking, threshold, model, samples = (
            self._panels
        )
        hints = markup(
            '<p class="muted">click a point to inspect it · drag to brush · wheel to '
            "zoom</p>",
            margin=(12, 0, 0, 8),
        )
        strip = pmu.Paper(
            pmu.FlexBox(*self._controls.values(), hints, margin=0),
            css_classes=["cl-controls"],
            sx=CARD_STYLE | {"padding": "5px 12px"},
            margin=4,
            sizing_mode="stretch_width",
        )
        return pmu.Column(
            headline,
            strip,
            flow(sample_map, *matrices.cards()),
            flow(
                ranking,
                pmu.Column(threshold, model, margin=0, styles={"flex": "2 1 420px"}),
            ),
            flow(samples),
            margin=0,
            sizing_mode="stretch_width",
        )

    def __panel__(self) -> Any:
        return self._place


def _select(label: str, options: dict[str, Any], value: Any, css: str) -> pmu.Select:
    """Return a small select."""
    return pmu.Select(
        label=label,
        options=options,
        value=value,
        size="small",
        width=190,
        margin=(3, 6, 0, 0),
        css_classes=[css],
        sx={"& .MuiSelect-select": {"padding": "5px 12px", "fontSize": "14px"}},
    )
