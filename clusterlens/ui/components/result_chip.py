"""Result in the header: its partition and the commands on it."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.formatting import count
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.commands import choose_result
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.results.result import DisplayedPartition
from clusterlens.ui.state.analysis import Analysis, AnalysisResult
from clusterlens.ui.state.partitions import Called, Choice
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import scaled
from clusterlens.ui.widgets.toolkit import link, safe

CSS = scaled("""
:host { position: relative; width: max-content !important; max-width: 480px; }
@media (min-width: 1700px) { :host { max-width: 640px; } }
@media (max-width: 1400px) { :host { max-width: 340px; } }
@media (max-width: 1250px) { :host { max-width: 236px; } }
.result { all: unset; box-sizing: border-box; cursor: pointer; display: flex; gap: 6px;
  max-width: 100%; height: 26px; padding: 0 12px; border-radius: 13px;
  align-items: center; font-size: 14px; background: #fff; color: #14181d;
  white-space: nowrap; }
.result b { color: #0b6e6e; overflow: hidden; text-overflow: ellipsis;
  flex: 0 1 auto; }
.result .more { overflow: hidden; text-overflow: ellipsis; flex: 0 100000 auto; }
.result.none { background: transparent; color: #fff;
  border: 1px solid rgba(255, 255, 255, .6); }
.result.warning b, .result.warning span { color: #8a4b00; }
.result:focus-visible { outline: 2px solid #fff !important; outline-offset: 1px; }
@media (max-width: 1250px) { .result .more { display: none; } }
.menu { position: fixed; inset: 46px 300px auto auto; margin: 0; width: 300px;
  padding: 6px;
  border: 0; border-radius: 8px; background: var(--panel-surface-color, #fff);
  color: var(--panel-on-surface-color, #14181d);
  box-shadow: 0 6px 30px rgba(0, 0, 0, .35); white-space: normal; }
.menu button { all: unset; box-sizing: border-box; display: block; width: 100%;
  padding: 7px 10px; border-radius: 5px; cursor: pointer; font-size: 14px; }
.menu button:hover, .menu button:focus-visible {
  background: color-mix(in srgb, #0b8a8a 12%, transparent); }
.menu small, .menu p { font-size: 12px;
  color: color-mix(in srgb, currentColor var(--cl-mixed, 72%), transparent); }
.menu small { display: block; }
.menu p { margin: 4px 10px; }
""")


class ResultChip(Card):
    """Chip with the same text on every page and a menu of the possible changes."""

    needs = ("run_id",)
    also = (
        "result?",
        "displayed_partition",
        "result_names?",
        "model_called",
        "clusters",
        "ensemble",
        "links",
        "runs",
    )

    def build(self) -> Any:
        self.text = Text(
            does=self._do,
            css_classes=["cl-result"],
            stylesheets=[CSS],
            sizing_mode=None,
            height=26,
            styles={"align-self": "center", "flex": "none"},
        )
        return self.text

    def prepare(self, results: Any) -> None:
        """Show nothing before there is a run or a result."""
        if not results["run_id"].ready and results["result"].value is None:
            self.text.body = ""

    def show(
        self,
        run_id: str,
        result: Result,
        displayed_partition: Result,
        result_names: Result,
        model_called: Result,
        **more: Result,
    ) -> None:
        """Write the chip and its menu."""
        analysis, chosen = self.session.analysis, result.value
        if chosen is None:
            more_words = "<span class='more'>: choose on Clusters</span>"
            words = f"<span>No result yet{more_words}</span>"
            self.text.body = link(words, "clusters", kind="result none")
            return
        names = result_names.value or {}
        origin = [*_since(chosen, analysis), f"chosen on {chosen.chosen_on}"]
        if names:
            origin.append(count(len(names), "name"))
        warns = "warning" if chosen.run_id not in _ids(analysis) else ""
        what = safe(chosen.title)
        origin_text = safe(" · ".join(origin))
        entries = [
            _beside(displayed_partition.value, names, model_called.value or {}),
            f"<button data-do='clusters'>Go to Clusters<small>{what} as chosen, "
            "cluster by cluster</small></button>",
            "<p>Report, rows and files use the result.</p>",
        ]
        self.text.body = (
            f"<button class='result {warns}' popovertarget='menu' "
            f"title='Result: {what} · {origin_text}'><b>Result: {what}</b>"
            f"<span class='more'>· {origin_text}</span>"
            "<span aria-hidden='true'>▾</span></button>"
            f"<div id='menu' popover class='menu'>{''.join(entries)}</div>"
        )

    async def _do(self, what: str) -> None:
        """Open the page Clusters, or make the displayed partition the result."""
        view_state, derived = self.session.view_state, self.session.derived
        if what == "clusters":
            view_state.param.update(page="clusters", partition="auto", cluster=None)
            return
        found, clusters = derived.get("displayed_partition"), derived.get("clusters")
        if found.ready and clusters.ready and found.value.model is not None:
            at = found.value.model
            labels = self.session.analysis.selected_run.ensemble.labels[at]
            choice = Choice("model", model=at)
            await choose_result(self.session, choice, labels, clusters.value)


def _ids(analysis: Analysis) -> set[str]:
    return {run.id for run in analysis.runs}


def _since(chosen: AnalysisResult, analysis: Analysis) -> list[str]:
    """Return the changes since the result was chosen."""
    changes = []
    if chosen.run_id != analysis.run_id:
        runs = {run.id: run.name for run in analysis.runs}
        changes.append(f"from {runs.get(chosen.run_id, 'a run that was deleted')}")
    new = len(set(analysis.links) ^ set(chosen.links))
    if new:
        changes.append(f"made before {count(new, 'change')} of links")
    return changes


def _beside(
    displayed_partition: DisplayedPartition | None,
    names: dict[int, str],
    called: dict[int, Called],
) -> str:
    """Offer to make the displayed model the result."""
    if displayed_partition is None or not displayed_partition.result_title:
        return ""
    alike = {one.text for one in called.values()}
    carried = [name for name in names.values() if name in alike]
    left = [safe(name) for name in names.values() if name not in carried]
    left_words = f"; {', '.join(left)} would stay behind" if left else ""
    kept = f"{len(carried)} of {count(len(names), 'name')} carry over{left_words}"
    words = f"{safe(displayed_partition.title)}{'; ' + kept if names else ''}"
    text = f"Change to this model<small>{words}</small>"
    return f"<button data-do='change'>{text}</button>"
