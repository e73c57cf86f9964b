"""Headline of the new rows, with the controls that keep and refit a result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from clusterlens.compute.assigning.drift import LEVEL, Drift
from clusterlens.compute.formatting import count, first_of, percent, whole
from clusterlens.ui.components.card import TO_A_RUN, Card
from clusterlens.ui.components.result_button import AMBER
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.new_rows.drift_nodes import Drifted
from clusterlens.ui.pages.new_rows.nodes import Placed
from clusterlens.ui.pages.new_rows.picture import future_page
from clusterlens.ui.state.analysis import AnalysisResult, KeptPartition
from clusterlens.ui.state.partitions import free_name
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import DENSE
from clusterlens.ui.widgets.toolkit import badge, card, link, pmu, pn, safe, select

WHAT_FOR = (
    "Kept, the result says where the rows of any other table with the same columns "
    "belong: next month's customers, another laboratory, a file of millions."
)

REFIT_ROWS = {"the new table": "new", "both tables": "both"}


class NewRowsHeadline(Card):
    """The next step, or a summary of the assigned rows."""

    needs = ("run_id?", "result?", "kept_partition?")
    also = ("new_table?", "placed", "drifted", "segmentations", "export_verdict")

    def build(self) -> Any:
        self._text = Text(
            does=self._do,
            css_classes=["cl-verdict"],
            styles={"flex": "1 1 320px", "min-width": "0"},
        )
        self._name = pmu.TextInput(
            label="Name",
            size="small",
            margin=0,
            width=230,
            sx=DENSE,
            max_length=80,
            css_classes=["cl-segmentation-name"],
        )
        self._keep = pmu.Button(
            label="Keep the result",
            icon="bookmark_add",
            size="small",
            margin=0,
            sx=AMBER,
            on_click=self._keep_result,
            css_classes=["cl-keep-segmentation"],
        )
        self._proposed = ""
        self._rows = select(
            "Cluster again", REFIT_ROWS, css="cl-refit-rows", width=150, visible=False
        )
        self._refit = pmu.Button(
            label="Refit",
            description="Refit: begins the analysis anew with these rows; runs and "
            "links go. Clusters that are still there keep names and colours. Undo "
            "brings all back.",
            icon="autorenew",
            size="small",
            margin=0,
            visible=False,
            on_click=self._refit_it,
            css_classes=["cl-refit"],
        )
        self._kept: KeptPartition | None = None
        return card(
            "",
            pn.Row(
                self._text,
                self._name,
                self._keep,
                self._rows,
                self._refit,
                margin=0,
                sizing_mode="stretch_width",
                styles={
                    "display": "flex",
                    "gap": "10px",
                    "align-items": "center",
                    "flex-wrap": "wrap",
                },
            ),
            note=self.status,
            css="cl-new-rows-headline",
            fills=False,
        )

    def show(
        self,
        run_id: str | None,
        result: AnalysisResult | None,
        kept_partition: KeptPartition | None,
        new_table: Result,
        placed: Result,
        drifted: Result,
        segmentations: Result,
        export_verdict: Result,
    ) -> None:
        """Write the sentence; offer to keep a result that is not kept yet."""
        kept = segmentations.value or ()
        is_new = result is not None and not any(one.holds(result) for one in kept)
        if result is not None and is_new:
            # Set it before the field is shown: a later value would clear the selection.
            self._propose(free_name(result.title, {one.name for one in kept}))
        self._name.visible = self._keep.visible = is_new
        doubt = _doubt(export_verdict)
        self._keep.color = "warning" if doubt else "primary"
        self._kept = kept_partition
        self._rows.visible = self._refit.visible = placed.ready
        is_due = drifted.ready and drifted.value.drift.verdict == "refit"
        self._refit.variant = "contained" if is_due else "outlined"
        if kept_partition is None:
            self._text.body = _before(run_id, result, doubt)
        elif new_table.value is None:
            self._text.body = (
                f"{_refitted(kept_partition)}<p><b>{safe(kept_partition.name)} waits "
                "for new rows.</b> Drop a table with the same columns, or browse for "
                "one below.</p>"
            )
        else:
            self._text.body = _placed(placed, drifted, new_table.value.name)

    def _propose(self, name: str) -> None:
        """Propose a name, unless the analyst has written another one."""
        written = self._name.value_input or self._name.value
        if written in ("", self._proposed):
            self._name.value = name
        self._proposed = name

    async def _keep_result(self, event: Any) -> None:
        view_state: Mapping[str, Any] = {"segmentation": None}
        name = self._name.value_input or self._name.value
        if await self.session.act(
            "keep segmentation", view_state=view_state, name=name
        ):
            self._text.focus()  # its button is hidden

    async def _refit_it(self, event: Any) -> None:
        if (kept := self._kept) is None:
            return
        taken = {one.name for one in self.session.analysis.segmentations}
        view_state: Mapping[str, Any] = {"segmentation": None, "new_row": None}
        await self.session.act(
            "refit",
            view_state=view_state,
            of=kept.name,
            rows=self._rows.value,
            name=free_name(kept.name, taken),
        )

    def _do(self, what: str) -> None:
        if what == "nowhere":
            self.session.view_state.new_rows_first = "nowhere"
        elif what in ("data", "pool", "clusters", "verdict"):
            self.session.view_state.page = what


def _doubt(verdict: Result) -> str:
    """Write, as markup, the doubts about the result; empty without any."""
    if not verdict.ready:
        return ""
    is_doubted = verdict.value.light in ("no", "in part")
    if not (is_doubted or verdict.value.objection):
        return ""
    words = f"{verdict.value.summary} {verdict.value.objection}".strip()
    more = link("Verdict", "verdict", css="cl-keep-verdict")
    return (
        f"<p class='cl-keep-doubt'><b>Before you keep it:</b> {safe(words)} {more}</p>"
    )


def _before(run_id: str | None, result: AnalysisResult | None, doubt: str) -> str:
    """Write the next step while there is no segmentation."""
    if result is not None:
        keep = f"<p><b>Keep {safe(result.title)} for new rows.</b> {WHAT_FOR}</p>"
        return keep + doubt + future_page()
    way = TO_A_RUN
    if run_id is not None:
        chosen = link("Choose a result on Clusters", "clusters", css="cl-to-clusters")
        way = f"{chosen}, then keep it here"
    return (
        f"<div class='empty'><b>Nothing is kept yet.</b> {way}. {WHAT_FOR}"
        f"{future_page()}</div>"
    )


def _refitted(kept: KeptPartition) -> str:
    """Write which clusters of the older segmentation remain."""
    if (found := kept.follows) is None:
        return ""
    fates = [
        f"{named} {word}"
        for names, word in (
            (found.stays, "kept name and colour"),
            (found.gone, "gone"),
            (found.new, "new"),
        )
        if (named := ", ".join(f"<b>{safe(name)}</b>" for name in names))
    ]
    of = "the new table" if found.rows == "new" else "both tables"
    return (
        f"<p class='cl-refitted'>Refit of {safe(found.of)} on {of}: "
        f"{'; '.join(fates)}. Undo goes back.</p>"
    )


def _placed(placed: Result, drifted: Result, name: str) -> str:
    """Write the verdict on the table, and a summary of its rows."""
    if placed.state == "failed":
        return f"<p><b>{safe(name)} cannot be placed;</b> the card below says why.</p>"
    if not placed.ready:
        return f"<p>The rows of <b>{safe(name)}</b> are being placed.</p>"
    found: Placed = placed.value
    verdict = "<b>Comparing the tables.</b>"
    if drifted.ready:
        shares = _shares(found)
        verdict = f"{_verdict(drifted.value)} <span class='muted'>{shares}</span>"
    chips = " ".join(_chips(found, drifted))
    return f"<p>{verdict}</p><p>{chips} {_scope_words(drifted)}</p>"


def _verdict(found: Drifted) -> str:
    """Write "keep" or "refit", with the reasons."""
    drift = found.drift
    if not found.is_conclusive:
        return (
            "<b>Too few rows to tell</b> whether the table changed; the cluster of "
            "each row is listed below."
        )
    if drift.verdict == "keep":
        return f"<b>Keep:</b> no column moved{_as_expected(drift)}."
    reasons = []
    if drift.moved:
        names = [f"<b>{safe(name)}</b>" for name in drift.moved]
        reasons.append(f"{first_of(names, 3)} moved")
    if drift.more_nowhere:
        reasons.append(
            f"{percent(drift.nowhere)} of the rows belong nowhere, "
            f"{percent(drift.nowhere_expected)} expected"
        )
    return f"<b>Refit:</b> {', and '.join(reasons)}."


def _as_expected(drift: Drift) -> str:
    """Write how many rows belong nowhere, which is no reason to refit."""
    far, expected = percent(drift.nowhere), percent(drift.nowhere_expected)
    if math.isnan(drift.nowhere):
        return ""
    if drift.nowhere <= drift.nowhere_expected:
        return f", and {far} of the rows belong nowhere, at most {expected} expected"
    return f"; {far} of the rows belong nowhere, {expected} expected: within chance"


def _scope_words(drifted: Result) -> str:
    """Write the scope of the verdict."""
    if not drifted.ready or not drifted.value.is_conclusive:
        return ""
    alarms = f"An unchanged table gets “refit” at most {percent(LEVEL)} of the time."
    if not drifted.value.drift.is_checked:
        alarms = (
            "How often this is a false alarm is not known: the partition has noise, "
            "and it was not repeated without the rows it judges."
        )
    return f"<span class='muted'>{alarms} Says that the table changed, not why.</span>"


def _chips(found: Placed, drifted: Result) -> list[str]:
    far = found.nowhere
    chips = [badge(f"{whole(far.of)} of {count(found.n_rows, 'row')} placed")]
    is_more = drifted.ready and drifted.value.drift.more_nowhere
    if far.rows:
        of_all = "of them belong" if far.rows > 1 else "of them belongs"
        shown = link(f"{whole(far.rows)} {of_all} nowhere", "nowhere")
        chips.append(badge(shown, kind="estimate" if is_more else ""))
    if found.n_gaps:
        words = "\n".join((*found.notes, "Also listed below the cluster shares."))
        gaps = badge(f"{count(found.n_gaps, 'cell')} missing or unknown")
        chips.append(f"<span title='{safe(words)}'>{gaps}</span>")
    if found.n_rows > far.of:
        gaps = f"{whole(found.n_rows - far.of)} not placed, for gaps"
        chips.append(badge(gaps, kind="estimate"))
    return chips


def _shares(found: Placed) -> str:
    """Write the clusters with clearly different shares."""
    changed = ", ".join(f"<b>{safe(name)}</b>" for name in found.changed)
    if not changed:
        return "A joint test finds no change in the shares of the clusters."
    nowhere = ""
    if found.nowhere.rows:
        nowhere = f" {percent(found.nowhere.value)} of the rows belong to no cluster."
    return f"Clusters with a clearly different share: {changed}.{nowhere}"
