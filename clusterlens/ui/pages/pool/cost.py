"""Card of the cost of the pool, with the button that runs it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from clusterlens.compute.formatting import count, percent, whole
from clusterlens.compute.pool.pool import PoolEstimate
from clusterlens.compute.ranking.voting import CHOSEN_VOTES
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.components.card import Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.pool.nodes import Cost
from clusterlens.ui.pages.pool.sizes import SIZES_CSS, size_line
from clusterlens.ui.state.partial_run import PartialRun
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import badge, card, pmu, safe
from clusterlens.ui.widgets.words import duration

# A family with a larger share of the pool decides most of the consensus.
HEAVY = 0.4
# If the pool takes longer, the seconds of each family are shown.
WORTH_SAYING = 5
TINTS = (100, 72, 52, 38, 26, 18)


class PoolCost(Card):
    """Models, seconds and memory, shares of the families, and notes."""

    needs = ("dataset", "pool_cost")

    def build(self) -> Any:
        self._running = False
        self._cost = Text(css_classes=["cl-estimate"], stylesheets=[SIZES_CSS])
        self._run = pmu.Button(
            label="Run the pool",
            icon="play_arrow",
            on_click=self._start,
            css_classes=["cl-run-pool"],
            margin=(8, 0, 2, 0),
            disabled=True,
        )
        # A run may also begin on another page.
        self.session.jobs.param.watch(self._offer, ["partial"])
        return card(
            "Before the run",
            self._cost,
            self._run,
            self.status,
            css="cl-pool-cost",
            fills=False,
        )

    def prepare(self, results: Mapping[str, Result]) -> None:
        """Enable the button if the pool can be run."""
        self._offer()
        if not results["dataset"].ready:
            self._cost.body = "<p class='muted'>No table is prepared.</p>"

    def _offer(self, *events: Any) -> None:
        """Enable the button unless a run is in progress.

        While a new cost is computed the button stays as it is, because a button that is
        disabled for a moment loses the focus.
        """
        cost = self.session.derived.get("pool_cost")
        if cost.state != "pending":
            runs = self._running or isinstance(self.session.jobs.partial, PartialRun)
            self._run.disabled = runs or not _can_run(cost)

    def show(self, dataset: Dataset, pool_cost: Cost) -> None:
        """Write the estimate, or the reason why the pool cannot be run."""
        if pool_cost.estimate is None:
            self._cost.body = (
                f"<p class='warn' role='alert'>{safe(pool_cost.error)}</p>"
            )
        else:
            self._cost.body = _estimate(pool_cost.estimate, dataset.X.shape)

    async def _start(self, event: Any) -> None:
        """Run the drafted pool, then open the page Consensus."""
        entries = self.session.derived.get("pool_entries")
        if self._running or not entries.ready:
            return
        view_state = self.session.view_state
        draft = view_state.pool_draft
        self._running = self._run.disabled = True
        try:
            done = await self.session.act(
                "run pool",
                pool=[entry.grid for entry in entries.value if entry.on],
                random_state=draft.random_state,
                distinct_only=draft.distinct_only,
                noise=draft.noise,
                votes=CHOSEN_VOTES,
            )
        finally:
            self._running = False
            self._offer()
        if done and view_state.page == "pool":
            view_state.page = "consensus"


def _can_run(cost: Result) -> bool:
    return cost.ready and cost.value.estimate is not None


def _estimate(estimate: PoolEstimate, shape: tuple[int, int]) -> str:
    n_models = len(estimate.names)
    families = Counter(estimate.families).most_common()
    heavy, most = families[0]
    warning = (
        f"<p class='warn'>{safe(heavy)} makes {most / n_models:.0%} of the pool, so "
        "its view weighs most in the consensus.</p>"
        if most > HEAVY * n_models and len(families) > 1
        else ""
    )
    notes = "".join(f"<li>{safe(note)}</li>" for note in estimate.notes)
    return (
        "<div style='display:flex;flex-wrap:wrap;gap:2px 22px;margin:2px 0 6px'>"
        f"{_figure(str(n_models), 'models')}"
        f"{_figure(duration(estimate.seconds), 'within a factor of 2')}"
        f"{_figure(f'{whole(estimate.n_bytes / 1e6)} MB', 'at the peak')}</div>"
        f"<p class='muted'>on {whole(shape[0])} samples × {count(shape[1], 'feature')} "
        f"{badge('estimate', kind='estimate')}</p>"
        f"{_make_up(families, n_models)}{_by_family(estimate)}{warning}"
        f"{_plan(estimate)}{size_line(shape[0])}<ul class='muted'>{notes}</ul>"
    )


def _figure(value: str, what: str) -> str:
    return (
        f"<div><b style='font-size:24px;white-space:nowrap'>{value}</b>"
        f"<p class='muted'>{what}</p></div>"
    )


def _make_up(families: list[tuple[str, int]], n_models: int) -> str:
    """Draw the share of each family, largest first."""
    bars = "".join(
        f"<span style='flex:{count};height:9px;margin-right:1px;background:color-mix("
        f"in srgb, #0b7d7d {TINTS[min(k, len(TINTS) - 1)]}%, transparent)'></span>"
        for k, (_, count) in enumerate(families)
    )
    names = "&ensp;".join(
        f"{safe(name)} <b>{percent(count / n_models)}</b>" for name, count in families
    )
    return (
        f"<div style='display:flex' aria-hidden='true'>{bars}</div>"
        f"<p class='muted'>{names}</p>"
    )


def _by_family(estimate: PoolEstimate) -> str:
    """Write the processor time of each family, longest first."""
    if estimate.seconds < WORTH_SAYING:
        return ""
    longest = sorted(estimate.family_seconds.items(), key=lambda pair: -pair[1])
    names = "&ensp;".join(
        f"{safe(name)} <b>{duration(seconds)}</b>" for name, seconds in longest
    )
    return f"<p class='muted cl-family-seconds'>Time of the fits: {names}</p>"


def _plan(estimate: PoolEstimate) -> str:
    """List the steps that several models share."""
    steps = "".join(
        f"<li>{safe(step.title)}: {count(len(step.models), 'model')}, "
        f"{duration(step.seconds)}</li>"
        for step in estimate.plan
    )
    if not steps:
        return ""
    return (
        f"<details class='muted cl-plan'><summary>Made once and shared: "
        f"{count(len(estimate.plan), 'step')}</summary><ul>{steps}</ul></details>"
    )
