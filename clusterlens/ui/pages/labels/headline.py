"""Headline of the page Given labels: the verdict, and the evaluated partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.formatting import count
from clusterlens.compute.indices.class_match import SMALL_CLASS, LabelCheck
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.actions.lines import Lines
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.copies import answer, beside_score
from clusterlens.ui.components.copying import copy_as_python
from clusterlens.ui.exports.script import write_card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.labels.nodes import dbcv_sample
from clusterlens.ui.results.cluster_stability import BOOTSTRAPS, COPIES, StabilityModel
from clusterlens.ui.results.evaluated_labels import (
    EvaluatedLabels,
    consensus_title,
    label_column,
    question,
)
from clusterlens.ui.results.label_verdict import LabelVerdict
from clusterlens.ui.results.partition_verdict import (
    COPIES_IN_WORDS,
    PartitionVerdict,
    passing,
)
from clusterlens.ui.state.analysis import AnalysisResult
from clusterlens.ui.state.literals import literal
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import badge, card, link, pn, safe, select
from clusterlens.ui.widgets.words import error, fixed

LABELS = "labels"
_NO_TABLE = (
    "<p><b>No class labels.</b> "
    f"{link('Load a table on Data', 'data', css='cl-to-data')}.</p>"
)


class LabelsHeadline(Card):
    """The verdict with its grounds, and a select of the evaluated partition."""

    needs = ("named_labels", "label_check", "label_verdict")
    also = (
        "label_evidence",
        "labels_stability_model",
        "labels_stability",
        "labels_separation",
        "label_columns",
        "dataset?",
        "samples?",
        "ensemble?",
        "ranking?",
        "result_here?",
    )
    empty = (
        "<p><b>No class labels.</b> Choose another column at the right or, once "
        f"{link('a pool', 'pool')} has run, the clusters of a model or of the "
        "consensus; or give a column the role “label” on "
        f"{link('Data', 'data', css='cl-to-data')}.</p>"
    )

    def build(self) -> Any:
        self._text = Text(does=self._do, css_classes=["cl-label-score"])
        view_state = self.session.view_state
        self._source = self.control(
            select("Judge", {"given labels": LABELS}, css="cl-judged", width=250),
            lambda: view_state.label_source,
            view_state.evaluate,
        )
        # Not a note of the card, because an empty note would hide the select, too.
        texts = pn.Column(self.status, self._text, margin=0, styles={"flex": "1 1 0"})
        row = pn.Row(
            texts,
            self._source,
            margin=0,
            sizing_mode="stretch_width",
            styles={"display": "flex", "gap": "12px", "align-items": "center"},
        )
        return card("", row, css="cl-labels-headline", fills=False)

    def _status_text(self, needed: Mapping[str, Result]) -> str:
        """Ask for a table first."""
        analysis = self.session.analysis
        if (analysis.samples or analysis.dataset) is None:
            return f"<div class='empty'>{self._missing(_NO_TABLE)}</div>"
        return super()._status_text(needed)

    def prepare(self, results: Mapping[str, Result]) -> None:
        """Offer columns of labels, the consensus and every distinct model."""
        source = self.session.view_state.label_source
        offers = self._offers(results)
        if source not in offers.values():
            # Set by an address, or by the page Clusters.
            offers[source.partition(":")[2] or source] = source
        self.offer(self._source, options=offers, value=source)
        self._source.visible = _table(results) is not None
        failed = any(results[name].state == "failed" for name in self.needs)
        if failed or not results["named_labels"].ready:
            self._text.body = ""

    def _offers(self, results: Mapping[str, Result]) -> dict[str, str]:
        """Return the possible sources by title, the leader before other models."""
        table = _table(results)
        ensemble, ranking = results["ensemble"].value, results["ranking"].value
        offers = {"no label column": LABELS}
        if table is not None and table.labels_true is not None:
            offers = {f"label column “{label_column(table)}”": LABELS}
        columns = results["label_columns"].value or ()
        offers |= {f"column “{name}”": f"column:{name}" for name in columns}
        if results["result_here"].value is not None:
            offers["result"] = "result"
        if len(self.session.view_state.group):
            offers["selected group"] = "group"
        if ensemble is not None and ranking is not None:
            own = max(2, int(ensemble.n_clusters[ranking.order[0]]))
            kind, _, at = self.session.view_state.label_source.partition(":")
            given = {int(at)} if kind == "consensus" and at.isdigit() else set()
            for k in sorted({own} | given):
                offers[consensus_title(k)] = f"consensus:{k}"
            for at in ranking.order.tolist():
                offers[f"{ranking.ranks[at]}. {ensemble.names[at]}"] = f"model:{at}"
        return offers

    def show(
        self,
        named_labels: EvaluatedLabels,
        label_check: LabelCheck,
        label_verdict: LabelVerdict | PartitionVerdict,
        label_evidence: Result,
        labels_stability_model: Result,
        labels_stability: Result,
        labels_separation: Result,
        dataset: Result,
        **more: Result,
    ) -> None:
        """Write the verdict, its main grounds and its scope."""
        if named_labels.noun == "class":
            grounds = _extremes(named_labels, label_check)
            basis = _scored(label_check, label_evidence)
        else:
            grounds = _passes(
                labels_stability_model, labels_stability, labels_separation
            )
            basis = self._measured(labels_stability_model, labels_stability)
        script = copy_as_python(
            lambda: self._script(named_labels, labels_stability_model.value)
        )
        copies = beside_score(named_labels.dataset, dataset.value)
        self._text.body = (
            f"<p style='font-size:1.143em'>{safe(question(named_labels))} "
            f"<b class='cl-verdict'>{label_verdict.answer}.</b> {grounds}</p>"
            f"<p class='muted'>{basis} {_scope_words(named_labels)} "
            f"<span class='cl-copies'>{copies}</span> · "
            f"{script}</p>"
        )

    def _measured(self, stability_model: Result, again: Result) -> str:
        """Write the model and the settings of the stability check."""
        if not stability_model.ready:
            return ""
        found: StabilityModel = stability_model.value
        name = self.session.analysis.selected_run.ensemble.names[found.model]
        by = f"Other samples are clustered by “{safe(name)}”"
        if found.agreement < 1:
            by += f", the closest model (ARI {fixed(found.agreement)})"
        seed = f", {again.settings}" if again.ready else ""
        return f"{by}{seed}."

    async def _do(self, what: str) -> None:
        if not await answer(self.session, what):
            self.session.derived.ask("labels_stability")

    def _script(
        self, labels: EvaluatedLabels, stability_model: StabilityModel | None
    ) -> str:
        analysis, calls = self.session.analysis, []

        def wanted(lines: Lines) -> list[str]:
            names = [lines.samples(analysis)]
            if not labels.code:
                assert analysis.result is not None, "these labels are of the result"
                names.append(_write_result(lines, analysis.result, *names))
            elif labels.of_run:
                names.append(lines.ensemble(str(analysis.run_id)))
            return names

        if labels.code:
            calls.append(f"labels = {labels.code}")
        calls += [
            f"labels = cl.merge_classes(labels, [{a}, {b}])" for a, b in labels.merged
        ]
        calls += label_lines(labels)
        if labels.noun == "cluster":
            calls.insert(0, "# Clusters count from 0 here, from 1 on the page.")
            calls += cluster_lines(
                stability_model, analysis.ensemble, analysis.random_state
            )
        return write_card(self.session.history.done, wanted, *calls)


def _scored(check: LabelCheck, evidence: Result) -> str:
    """Write the score of given classes with the score of shuffled ones."""
    chance = ""
    if evidence.ready and len(evidence.value.shuffled):
        shuffled = evidence.value.shuffled["score"]
        spread = fixed(2 * shuffled.std())
        chance = f"; shuffled: {fixed(shuffled.mean())} ± {spread}"
    return f"Round groups {fixed(check.score)} (CH<sub>btwn</sub>, at most 1{chance})."


def _passes(stability_model: Result, again: Result, apart: Result) -> str:
    """Write how many clusters are stable and separate, or the missing checks."""
    there = []
    if again.ready:
        part = passing(again.value.stable, again.value.sizes)
        there.append(f"{part} found again in other samples")
    if apart.ready:
        part = passing(apart.value.apart, apart.value.sizes)
        there.append(f"{part} apart from the rest")
    text = f"{', '.join(there)}, more than in {COPIES_IN_WORDS}." if there else ""
    return f"{text} {_offer(stability_model, again)}"


def _offer(stability_model: Result, again: Result) -> str:
    """Offer the stability check, or write its progress."""
    if stability_model.state == "empty":
        return "No model was fitted here that could look for them in other samples."
    if again.state == "pending":
        return "<span class='muted'>drawing the samples again …</span>"
    if again.state == "failed":
        return f"{safe(again.failure)} {link('Try again', 'again')}"
    if again.ready or not stability_model.ready:
        return ""
    cost = again.cost(stability_model.value.seconds)
    return again.stopped.capitalize() + link(
        f"Are they found again in other samples? <b>Check, {cost}</b>",
        "again",
        css="cl-check-again",
    )


def _scope_words(labels: EvaluatedLabels) -> str:
    """Write the rows and columns of the verdict."""
    left_out = ""
    if labels.n_left_out:
        rows = count(labels.n_left_out, "row")
        left_out = badge(f"{rows} without a {labels.noun} left out", kind="estimate")
    prepared = labels.dataset.prepared
    scale = prepared.settings.get("scale", "standard") if prepared else "standard"
    columns = count(labels.dataset.X.shape[1], "feature")
    return (
        f"It rests on {columns}, scaling “{safe(scale)}”: another scaling, another "
        f"{'score' if labels.noun == 'class' else 'answer'}. {left_out} "
        f"{safe(labels.note)}"
    )


def _write_result(lines: Lines, result: AnalysisResult, samples: str) -> str:
    """Assign the clusters of the result for a prepared table, from 0 as on screen."""
    labels, dataset = lines.name("labels"), lines.dataset(result.run_id)
    lines.assign(labels, f"[k - (k > 0) for k in {lines.name('clusters')}]")
    if dataset != samples:
        lines.assign(labels, f"dict(zip({dataset}.row_ids, {labels}, strict=True))")
        lines.assign(labels, f"[{labels}[row] for row in {samples}.row_ids]")
    return labels


def label_lines(labels: EvaluatedLabels) -> list[str]:
    """Return calls that give the numbers of the page."""
    size = dbcv_sample(labels)
    sample = "" if size is None else f", sample_size={size}"
    names, by_rows = "labels", []
    if labels.is_numbered:
        names = "by_rows"
        by_rows = [
            "# Random draws depend on labels: here clusters count by their first rows.",
            "order = list(dict.fromkeys(k for k in labels if k >= 0))",
            "by_rows = [order.index(k) if k >= 0 else -1 for k in labels]",
        ]
    return [
        *by_rows,
        f'check = cl.label_match(dataset.X, {names}, n_permutations="adaptive")',
        "print(check.score, check.standard_error)",
        "print(check.matrix())",
        "evidence = cl.label_evidence(",
        f'    dataset.X, {names}, n_permutations="adaptive"{sample}',
        ")",
        "print(float(evidence.dbcv), evidence.shuffled)",
        f"print(cl.border_ratios(dataset.X, {names}{sample}))",
    ]


def cluster_lines(
    stability_model: StabilityModel | None,
    ensemble: Ensemble | None,
    random_state: int | None,
) -> list[str]:
    """Return calls that compare clusters with copies without groups."""
    lines = [
        "separation = cl.cluster_separation(dataset.X, labels)",
        "print(separation.to_frame())",
    ]
    if stability_model is None or ensemble is None:
        return lines
    spec = literal(dict(stability_model.spec))
    return [
        *lines,
        "stability = cl.cluster_stability(",
        f"    dataset.X, {spec}, {literal(random_state)}, labels=labels,",
        f"    n_resamples={BOOTSTRAPS}, n_copies={COPIES},",
        ")",
        "print(stability.to_frame())",
    ]


def _table(results: Mapping[str, Result]) -> Dataset | None:
    """Return the table of the evaluated rows: a sample of it, or all of it."""
    return results["samples"].value or results["dataset"].value


def _extremes(labels: EvaluatedLabels, check: LabelCheck) -> str:
    """Name the least and the most separated pair of classes with enough rows.

    The sentence says so if smaller classes are left out.
    """
    pairs = check.pairs.dropna(subset="score")
    table = pairs[pairs[["n_a", "n_b"]].min(axis=1) >= SMALL_CLASS]
    if not len(table):
        return ""
    among = ""
    if len(table) < len(pairs):
        among = f"Among classes of at least {SMALL_CLASS} rows, "
    scores = table["score"].to_numpy()
    low, high = table.iloc[scores.argmin()], table.iloc[scores.argmax()]

    def named(row: Any) -> str:
        a, b = (safe(labels.name(int(row[key]))) for key in ("class_a", "class_b"))
        return f"<b>{a}</b> and <b>{b}</b>"

    if len(table) == 1:
        value = f"{fixed(low['score'])} {error(low['standard_error'])}"
        return f"{among}{named(low)} score {value}."
    return (
        f"{among}{named(low)} mix most ({fixed(low['score'])}); {named(high)} stand "
        f"furthest apart ({fixed(high['score'])})."
    )
