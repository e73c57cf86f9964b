"""Headline of CNS: its result at the setting in force, in two lines."""

from __future__ import annotations

import math
from typing import Any

from clusterlens.compute.estimators.cns.criterion import CriterionGrid
from clusterlens.compute.formatting import count, whole
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.actions.lines import call, keywords
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.commands import go_to_automatic, go_to_setting
from clusterlens.ui.components.copying import copy_as_python
from clusterlens.ui.exports.script import write_card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.cns.nodes import FEW, LARGE, best_setting
from clusterlens.ui.results.lab import Automatic, Setting, Summary
from clusterlens.ui.widgets.scripted import Excerpt
from clusterlens.ui.widgets.toolkit import badge, card, excerpt, link, pmu, pn
from clusterlens.ui.widgets.words import fixed, number

# The buttons wrap to two lines if the text leaves too little width.
_BUTTONS = {
    "display": "flex",
    "flex": "0 1 auto",
    "flex-wrap": "wrap",
    "gap": "8px",
    "justify-content": "flex-end",
}
# A smaller gain of the criterion is not shown.
_HIGHER = 0.005
# A smaller error of a membership is not shown.
_ROUNDING = 1e-9


class CNSHeadline(Card):
    """Clusters, samples between them, criterion, and exactness."""

    needs = ("dataset", "cns_summary")
    also = (
        "cns_automatic",
        "cns_criterion",
        "view.cns_certain",
        "run?",
    )
    empty = (
        "<p>CNS smooths a prepared table over its nearest neighbours. "
        f"{link('Load a table on Data', 'data', css='cl-to-data')}</p>"
    )

    def build(self) -> Any:
        self._text = Excerpt(
            excerpt(""),
            does=self._go,
            css_classes=["cl-cns-summary"],
            styles={"flex": "1 0 66%", "min-width": "0"},
        )
        self._reset = _button("Reset to automatic", "cl-cns-reset", self._automatic)
        self._compare = _button("Compare in Fuzzy", "cl-cns-compare", self._to_fuzzy)
        self._add = _button("Add to the pool", "cl-cns-add", self._add_model)
        self._buttons = (self._reset, self._compare, self._add)
        buttons = pn.Row(*self._buttons, margin=0, styles=_BUTTONS)
        row = pn.Row(
            self._text,
            buttons,
            margin=0,
            sizing_mode="stretch_width",
            styles={"display": "flex", "gap": "8px", "align-items": "center"},
        )
        return card("", row, note=self.status, css="cl-cns-headline", fills=False)

    def prepare(self, results: Any) -> None:
        """Hide the text if there is no table."""
        self._text.visible = results["dataset"].state != "empty"
        for button in self._buttons:
            button.visible = results["dataset"].ready
        run = results["run"].value
        of_table = run is not None and run.dataset is results["dataset"].value
        for button in (self._compare, self._add):
            button.disabled = not of_table
            effect = (
                "a copy of the run gets this model; one undo takes it back."
                if of_table
                else "needs a run of this table; run one on Pool."
            )
            button.description = f"{button.label}: {effect}"
        self._reset.disabled = self.session.analysis.cns is None

    def _automatic(self, event: Any) -> None:
        go_to_automatic(self.session)

    def _go(self, what: str) -> None:
        """Put the best compared setting in force."""
        setting, grid = map(self.session.derived.get, ("cns_setting", "cns_criterion"))
        if setting.ready and grid.ready:
            go_to_setting(self.session, setting.value, **vars(best_setting(grid.value)))

    async def _add_model(self, event: Any) -> bool:
        setting = self.session.derived.get("cns_setting")
        if not setting.ready:
            return False
        return await self.session.act("add CNS", **self._parameters(setting.value))

    def _parameters(self, setting: Setting) -> dict[str, Any]:
        """Return the parameters of `CNS` for the displayed solution."""
        solution = self.session.derived.get("cns_solution")
        # A table with fewer distinct rows than K has fewer seeds.
        found = {"n_clusters": solution.value.n_clusters} if solution.ready else {}
        return {**vars(setting), **found, "metric": self.session.view_state.cns_metric}

    async def _to_fuzzy(self, event: Any) -> None:
        """Add the model and compare its shares of the seed stops."""
        if await self._add_model(event):
            name = self.session.analysis.selected_run.ensemble.names[-1]
            self.session.view_state.param.update(
                page="fuzzy", fuzzy_case="table", fuzzy_u=f"shares {name}"
            )

    def show(
        self,
        dataset: Any,
        cns_summary: Summary,
        cns_automatic: Result,
        cns_criterion: Result,
        cns_certain: Result,
        **more: Result,
    ) -> None:
        """Write the counts, the criterion and the bound."""
        n, best, copied = len(dataset.X), "", ""
        setting = self.session.derived.get("cns_setting")
        if setting.ready:
            copied = copy_as_python(lambda: self._script(dataset, setting.value))
        if cns_automatic.ready:
            automatic: Automatic = cns_automatic.value
            chosen = setting.ready and setting.value == automatic.setting
            value = "" if chosen else f" {fixed(automatic.criterion, 3)}"
            best = f", {'' if chosen else 'at '}the automatic choice{value}"
        found = count(cns_summary.solution.n_clusters, "cluster")
        self._text.body = excerpt(
            f"<span style='font-size:16px'><b>{found}</b>; "
            f"{whole(cns_summary.between)} of {whole(n)} samples lie between clusters"
            f"{_undecided(cns_summary)}. Criterion "
            f"<b>{fixed(cns_summary.criterion, 3)}</b>{best}.</span> "
            f"{_empty_seeds(cns_summary)}<span class='muted'>The criterion "
            "compares settings on this table; it is no test that clusters "
            f"exist. {_higher(cns_automatic.value, cns_criterion.value)}"
            f"Between clusters: less than {cns_certain.value:.0%} of the "
            "<span title='absorption probability, among walks that stop at a seed'>"
            f"random walks from a row</span> end at one seed. {_limits(n)}</span>",
            _exactness(cns_summary),
            copied,
        )

    def _script(self, dataset: Dataset, found: Setting) -> str:
        """Return the solution in force as calls of the library."""
        model = call("cl.CNS", *keywords(self._parameters(found)))
        lines = [
            f"model = {model}.fit(dataset.X)",
            "print(model.labels_, model.seed_shares_, model.memberships_)",
            "print(model.criterion_[model.n_clusters_ - 1], model.error_bound_)",
        ]
        return write_card(
            self.session.history.done,
            lambda script: [script.prepared(dataset.settings)],
            *lines,
        )


def _higher(automatic: Automatic | None, grid: CriterionGrid | None) -> str:
    """Write the setting with a higher criterion than the automatic choice."""
    if automatic is None or grid is None:
        return ""
    best, highest = best_setting(grid), grid.choice().criterion
    if highest < automatic.criterion + _HIGHER:
        return ""
    place = f"K = {best.n_clusters}, k = {best.n_neighbors}, alpha = "
    return (
        f"Outside the automatic grid it is up to {fixed(highest, 3)}, at "
        f"{link(f'{place}{number(best.alpha)}', 'best', css='cl-cns-best')}. "
    )


def _limits(n_samples: int) -> str:
    """Write the simplifications for a large table."""
    if n_samples <= FEW:
        return ""
    if n_samples <= LARGE:
        return (
            f"Above {whole(FEW)} samples the criterion is compared at the automatic "
            "values of alpha only."
        )
    return (
        f"Above {whole(LARGE)} samples previews are shorter, the map follows the "
        "neighbours when their slider rests, the criterion is compared at the "
        "automatic settings only, and published versions are not fitted."
    )


def _button(label: str, css: str, act: Any) -> pmu.Button:
    return pmu.Button(
        label=label,
        size="small",
        variant="outlined",
        margin=0,
        css_classes=[css],
        on_click=act,
        visible=False,
    )


def _undecided(summary: Summary) -> str:
    if not summary.undecided:
        text = ", none undecided"
    else:
        text = f", <b>{whole(summary.undecided)} undecided</b> (they reach no seed)"
    if summary.tied:
        text += f", {whole(summary.tied)} tied (they get the first of their seeds)"
    return text


def _exactness(summary: Summary) -> str:
    if summary.solution.preview:
        return badge("preview: seeds and labels may change", kind="estimate")
    bound = _bound(summary.error_bound)
    exact = f"exact to {bound}" if summary.error_bound > _ROUNDING else "exact"
    hint = f"proven error bound: no membership is off by more than {bound}"
    return badge(f"<span title='{hint}'>{exact}</span>")


def _bound(error: float) -> str:
    """Format a bound, rounded up to one digit."""
    if not 0 < error < 1:
        return number(error)
    digits = -math.floor(math.log10(error))
    return f"{math.ceil(error * 10**digits) / 10**digits:.{digits}f}"


def _empty_seeds(summary: Summary) -> str:
    """Warn of seeds without samples, and of a single cluster."""
    if summary.solution.n_clusters == 1:
        return "<span class='warn'>One cluster: no clarity is gained.</span> "
    idle = int((summary.sizes == 0).sum())
    if not idle:
        return ""
    own = "owns no sample" if idle == 1 else "own no sample"
    seeds = count(idle, "seed")
    return f"<span class='warn'>{seeds} {own}; K is above what is occupied.</span> "
