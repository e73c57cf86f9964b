"""Bar with the displayed partition in a sentence, and the commands on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clusterlens.compute.consensus.cohesion import ClusterConsensus
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.formatting import all_of, count, percent, whole
from clusterlens.ui.components.card import TO_A_RUN, Card
from clusterlens.ui.components.commands import choose_result
from clusterlens.ui.components.result_button import offer_result, result_button
from clusterlens.ui.components.saving import SaveButton
from clusterlens.ui.components.subset_run import FEWEST_AGAIN, cluster_again
from clusterlens.ui.exports.rows import labelled_rows, rows_to_csv
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.clusters.nodes import Chosen
from clusterlens.ui.results.answers import Answers, effect_words
from clusterlens.ui.results.label_verdict import LIGHT_COLOURS
from clusterlens.ui.results.result_verdict import Verdict
from clusterlens.ui.state.partitions import SEED, TREE, Choice
from clusterlens.ui.state.view_parameters import Brush
from clusterlens.ui.widgets.scripted import Excerpt
from clusterlens.ui.widgets.toolkit import card, excerpt, link, pmu, pn, safe, select
from clusterlens.ui.widgets.words import fixed, voters

KINDS = {
    "Result": "result",
    "Consensus": "consensus",
    "Model": "model",
    "Group": "group",
    "Given label": "labels",
}
_LOW = {
    "minHeight": "30px",
    "padding": "2px 10px",
    "lineHeight": 1.5,
    "textTransform": "none",
    "whiteSpace": "nowrap",
    "@media (max-width: 1150px)": {"padding": "2px 6px", "fontSize": "12px"},
}
# The sentence has one line on a wide page, two on a narrow one.
_SENTENCE = """
.told .lines { height: 1.4em; -webkit-line-clamp: 1; }
@media (max-width: 1150px) {
  .told .lines { height: 2.75em; -webkit-line-clamp: 2; }
}
"""


class PartitionBar(Card):
    """Choice among a consensus, a model, a brushed group or the given labels."""

    needs = ("chosen",)
    also = (
        "chosen_held",
        "chosen_answered?",
        "answers?",
        "methods",
        "rows",
        "ensemble",
        "constraints?",
        "samples?",
        "in_hand",
        "compared_run",
        "runs",
        "run",
        "result_here?",
        "chosen_verdict",
        "null_check",
        "chosen_stability",
    )
    empty = (
        f"<b>Nothing to read yet.</b> {TO_A_RUN}; its models and their consensus "
        "appear here."
    )

    def build(self) -> Any:
        self._chosen: Chosen | None = None
        controls = pn.Row(
            self._kind(),
            self._method(),
            self._links(),
            self._model(),
            self._runs(),
            pn.Row(sizing_mode="stretch_width", margin=0),
            *self._deeds(),
            margin=0,
            sizing_mode="stretch_width",
            styles={"gap": "6px", "flex": "none", "flex-wrap": "wrap"},
            align="center",
        )
        self._text = Excerpt(
            excerpt(""),
            does=self._do,
            stylesheets=[_SENTENCE],
            css_classes=["cl-clusters-sentence"],
        )
        return card(
            "", controls, self._text, note=self.status, css="cl-partition", fills=False
        )

    def _kind(self) -> Any:
        self._kinds = self.control(
            pmu.RadioButtonGroup(
                options=KINDS,
                size="small",
                margin=0,
                sx={"& .MuiToggleButton-root": _LOW},
                css_classes=["cl-partition-kind"],
            ),
            self._kind_in_force,
            self._turn_to,
        )
        return self._kinds

    def _kind_in_force(self) -> str:
        """Return the displayed kind, by default the other pages' kind."""
        kind = self.session.view_state.partition
        if kind != "auto":
            return kind
        return "result" if self._has_result() else "model"

    def _has_result(self) -> bool:
        return self.session.derived.get("result_here").value is not None

    def _turn_to(self, kind: str) -> None:
        """Show another kind of partition; a group consists of the brushed samples."""
        view_state = self.session.view_state
        if kind == "group" and not len(view_state.brush) and not len(view_state.group):
            self.session.jobs.notify(
                "info", "Select some samples first: drag a box or a lasso on a map."
            )
            return
        group = (
            view_state.brush
            if kind == "group" and len(view_state.brush)
            else view_state.group
        )
        view_state.param.update(partition=kind, group=group, cluster=None)

    def _method(self) -> Any:
        view_state = self.session.view_state
        self._methods = self.control(
            select(
                "Made by", {"consensus tree": TREE}, css="cl-consensus-by", width=175
            ),
            lambda: view_state.consensus_by,
            lambda name: view_state.param.update(consensus_by=name, cluster=None),
        )
        return self._methods

    def _links(self) -> Any:
        view_state = self.session.view_state
        self._obey = self.control(
            pmu.Switch(label="obey links", margin=0, css_classes=["cl-obey-links"]),
            lambda: view_state.obey_links,
            lambda on: view_state.param.update(obey_links=on, cluster=None),
        )
        return self._obey

    def _model(self) -> Any:
        view_state, derived = self.session.view_state, self.session.derived
        self._models = self.control(
            select("Model", {}, css="cl-partition-model", width=230),
            lambda: derived.get("selected").value,
            lambda model: view_state.param.update(model=model, cluster=None),
        )
        return self._models

    def _runs(self) -> Any:
        self._beside = self.bound(
            "beside_run", select("Beside run", {}, css="cl-beside-run", width=130)
        )
        return self._beside

    def _deeds(self) -> list[Any]:
        self._keep = pmu.Button(
            label="Keep as a model",
            size="small",
            variant="outlined",
            margin=0,
            sx=_LOW,
            css_classes=["cl-keep-partition"],
            description="Keep as a model: put this partition among the models of a "
            "copy of the run; it is ranked but has no vote",
            on_click=self._keep_it,
        )
        self._name = pmu.TextInput(
            placeholder="name of the model",
            size="small",
            sizing_mode="stretch_width",
            min_width=105,
            max_width=190,
            margin=0,
            sx={"& .MuiInputBase-root": {"height": "30px", "fontSize": "14px"}},
            css_classes=["cl-keep-name"],
        )
        self._rows = SaveButton(
            self.session,
            "Save rows",
            self._labelled,
            margin=0,
            sx=_LOW,
            css_classes=["cl-clusters-download"],
        )
        self._choose = result_button(self._make_it_the_result, margin=0, sx=_LOW)
        return [self._name, self._keep, self._choose, self._rows.view]

    def prepare(self, results: Any) -> None:
        """Offer the available commands, also before a partition is made."""
        # Hiding controls while a partition is made would lay out the whole page twice,
        # and end the drag of the slider that requested it.
        there = results["chosen"].state in ("ready", "pending")
        kind = self._kind_in_force()
        made = (self._name, self._keep, self._choose, self._rows.view)
        for widget in (self._kinds, *made):
            widget.visible = results["ensemble"].ready
        self._methods.visible = there and kind == "consensus"
        linked = results["constraints"].value is not None
        self._obey.visible = there and kind == "consensus" and linked
        self._models.visible = there and kind == "model"
        is_made = there and kind not in ("model", "result")
        # Disabled until the partition is made.
        is_ready = results["chosen"].ready
        self._keep.disabled = not (is_made and is_ready)
        self._choose.disabled = not is_ready
        self._name.visible = self._keep.visible = is_made
        self._choose.visible = there and kind != "result"
        self._rows.button.disabled = not there
        offer_result(
            self._choose, results["null_check"].value, results["chosen_stability"].value
        )
        samples = results["samples"].value
        offered = {
            "labels": samples is not None and samples.labels_true is not None,
            "result": self._has_result(),
        }
        kinds = {name: key for name, key in KINDS.items() if offered.get(key, True)}
        if self._kinds.options != kinds:
            self._kinds.options = kinds
        run, runs = results["run"].value, results["runs"].value or ()
        others = {one.name: one.id for one in reversed(runs) if one is not run}
        self._beside.visible = there and bool(others)
        self.offer(self._beside, options={"newest other": "", **others})
        if results["methods"].ready:
            names = {
                "consensus tree" if name == TREE else name: name
                for name in results["methods"].value
            }
            self.offer(self._methods, options=names)
        if results["rows"].ready and results["ensemble"].ready:
            ensemble = results["ensemble"].value
            names = {ensemble.names[t]: int(t) for t in results["rows"].value}
            selected = self.session.derived.get("selected")
            if selected.ready:
                names.setdefault(ensemble.names[selected.value], selected.value)
            self.offer(self._models, options=names)

    def show(
        self,
        chosen: Chosen,
        chosen_held: Result,
        chosen_answered: Result,
        answers: Result,
        ensemble: Result,
        in_hand: Result,
        compared_run: Result,
        chosen_verdict: Result,
        **offered: Result,
    ) -> None:
        """Write the sentence and the verdict of the checks."""
        self._chosen = chosen
        verdict: Verdict | None = chosen_verdict.value
        self._name.placeholder = chosen.title
        leads = ""
        if _label_source(chosen.choice):
            is_group = chosen.choice.kind == "group"
            words = "Is this a cluster?" if is_group else "Are these clusters?"
            leads = link(words, "judge", kind="pill", css="short cl-to-labels")
        self._text.body = excerpt(
            sentence(chosen, chosen_held, ensemble.value),
            # The first is never cut.
            _verdict(verdict),
            leads,
            _again(chosen, in_hand.value),
            _compared_run_words(compared_run),
            _with_answers(chosen, chosen_answered.value, answers.value),
        )

    def _do(self, what: str) -> Any:
        """Evaluate the clusters, cluster rows again, or select changed samples."""
        view_state, found = (
            self.session.view_state,
            self.session.derived.get("compared_run"),
        )
        if what == "again":
            return self._cluster_again()
        if what == "verdict":
            view_state.page = "verdict"
        if what == "changed" and found.ready:
            source = f"changed since {found.value.run.name}"
            view_state.brush = Brush(found.value.changed, source)
        elif what == "judge" and self._chosen is not None:
            view_state.evaluate(_label_source(self._chosen.choice))
            view_state.page = "labels"
        return None

    async def _cluster_again(self) -> None:
        """Make a run of the rows of the selected cluster or group."""
        chosen, session = self._chosen, self.session
        cluster = session.derived.get("in_hand").value
        if chosen is None or cluster not in chosen.sizes:
            return
        at = np.flatnonzero(chosen.clusters == cluster)
        await cluster_again(session, at, chosen.names[cluster])

    async def _keep_it(self, event: Any) -> None:
        """Add the partition to the models and select it there."""
        chosen, session = self._chosen, self.session
        if chosen is None:
            return
        name = self._name.value_input.strip() or chosen.title
        values = chosen.choice.values(session.analysis.selected_run.dataset)
        if await session.act("keep partition", partition=values, name=name):
            self._name.param.update(value="", value_input="")
            last = session.analysis.selected_run.ensemble.n_partitions - 1
            session.view_state.param.update(model=last, partition="model")

    async def _make_it_the_result(self, event: Any) -> None:
        """Make the displayed partition the result."""
        chosen = self._chosen
        if chosen is not None and chosen.choice.kind != "result":
            await choose_result(
                self.session, chosen.choice, chosen.labels, chosen.clusters
            )

    def _labelled(self) -> tuple[str, Callable[[], bytes]]:
        """Return the name and the maker of the file of rows with clusters."""
        chosen, samples = self._chosen, self.session.analysis.selected_run.dataset
        assert chosen is not None, "only a drawn partition is offered as a file"

        def make() -> bytes:
            return rows_to_csv(labelled_rows(samples, chosen.clusters, chosen.names))

        return f"{samples.name} - clusters.csv", make


def _verdict(verdict: Verdict | None) -> str:
    """Format the verdict of the checks and the columns that tell the clusters apart."""
    if verdict is None:
        return ""
    light = LIGHT_COLOURS[verdict.light]
    words = verdict.objection or verdict.summary
    pill = link(
        f"<span class='dot' style='background:{light}'></span> {safe(words)}",
        "verdict",
        kind="pill",
        css="cl-to-verdict",
        name=safe(verdict.paragraph),
    )
    deciding = [
        row.answer for row in verdict.rows if row.key == "columns" and row.basis
    ]
    return f"{pill} <span class='muted cl-deciding'>{safe(' '.join(deciding))}</span>"


def _again(chosen: Chosen, cluster: int | None) -> str:
    """Offer to cluster the rows of the selected cluster again."""
    size = 0 if cluster is None else chosen.sizes.get(cluster, 0)
    if cluster is None or size < FEWEST_AGAIN:
        return ""
    words = f"Cluster the {whole(size)} rows of {safe(chosen.names[cluster])} again"
    return link(words, "again", kind="pill", css="cl-cluster-again")


def _compared_run_words(result: Result) -> str:
    """Write the comparison of the run with another one, and its scope."""
    if result.error is not None:
        reason = f"Not beside another run: {safe(result.failure)}"
        return f"<span class='cl-runs-compared'>{reason}</span>"
    if not result.ready or result.value is None:
        return ""
    other, found = result.value.run, result.value.found
    changed = len(result.value.changed)
    n = count(found.n_shared, "shared sample")
    if found.n_pairs < found.n_shared * (found.n_shared - 1) // 2:
        n += f", on the {whole(found.n_pairs)} pairs that models of both runs saw"
    text = (
        f"Beside <b>{safe(other.name)}</b>, {n}: leaders {safe(found.names[0])} and "
        f"{safe(found.names[1])} (ARI {fixed(found.leader_ari)}), consensus matrices "
        f"correlate {fixed(found.correlation)}; {whole(changed)} changed companions"
    )
    way = f" {link('select them', 'changed', css='cl-changed')}" if changed else ""
    return f"<span class='cl-runs-compared'>{text}.{way}</span>"


def _label_source(choice: Choice) -> str:
    """Return the key of the partition on Given labels; empty if it has none yet."""
    if choice.kind == "consensus" and choice.method == TREE and not choice.obeys:
        return f"consensus:{choice.k}"
    known = {
        "model": f"model:{choice.model}",
        "labels": "labels",
        "group": "group",
        "result": "result",
    }
    return known.get(choice.kind, "")


def sentence(chosen: Chosen, held: Result, ensemble: Ensemble) -> str:
    """Write the number of clusters, their sizes, and their agreement inside."""
    sizes = {k: size for k, size in chosen.sizes.items() if k >= 0}
    noise = chosen.sizes.get(-1, 0)
    n = len(chosen.clusters)
    if chosen.choice.kind == "group":
        text = f"<b>{whole(sizes[0])} samples</b> against the rest, {whole(sizes[1])}."
    elif not sizes:
        text = f"<b>No clusters</b>: {all_of(n)} samples are noise."
    else:
        low, high = min(sizes.values()), max(sizes.values())
        spread = f"{whole(low)} to {whole(high)}" if low < high else whole(low)
        text = f"<b>{count(len(sizes), 'cluster')}</b> of {spread} samples"
        noise_name = chosen.names.get(-1)
        text += f", {count(noise, 'sample')} {safe(noise_name)}." if noise else "."
    seed = f", seed {SEED}" if chosen.choice.kind == "consensus" else ""
    text += (
        f" <span class='muted'>{safe(chosen.title)}, {whole(n)} samples{seed}.</span>"
    )
    if held.ready and sum(size > 1 for size in sizes.values()) > 1:
        text += f" {_holding(chosen, held.value, ensemble)}"
    return text


def _holding(chosen: Chosen, held: ClusterConsensus, ensemble: Ensemble) -> str:
    """Name the clusters with the highest and the lowest agreement inside."""
    names, (highest, lowest) = _extremes(chosen, held)
    return (
        f"<span title='cluster consensus'>Agreement inside</span>: {highest} of the "
        f"{voters(ensemble)} keep two rows of {names[0]} together, the most, and "
        f"{lowest} two of {names[1]}, the least."
    )


def _with_answers(
    chosen: Chosen, held: ClusterConsensus | None, answers: Answers | None
) -> str:
    """Write the agreement inside with votes weighted by answers."""
    if held is None or answers is None or not len(_several(held)):
        return ""
    names, (highest, lowest) = _extremes(chosen, held)
    return (
        f"<span class='cl-with-answers' title='{effect_words(answers)}'>With your "
        f"{count(answers.n_answers, 'answer')}: {highest} inside {names[0]}, the most, "
        f"and {lowest} inside {names[1]}, the least. "
        "</span>"
    )


def _several(held: ClusterConsensus) -> np.ndarray:
    """Return the positions of the clusters with pairs of rows."""
    return np.flatnonzero((held.clusters >= 0) & (held.sizes > 1))


def _extremes(chosen: Chosen, held: ClusterConsensus) -> tuple[list[str], list[str]]:
    """Return names and agreement of the most and the least coherent clusters."""
    real = _several(held)
    within = held.within[real]
    ends = real[within.argmax()], real[within.argmin()]
    names = [safe(chosen.names[int(held.clusters[k])]) for k in ends]
    return names, [percent(held.within[k]) for k in ends]
