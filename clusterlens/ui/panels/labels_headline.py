"""Whether the classes are clusters, in a sentence, and which classes these are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterlens.compute._numbers import count
from clusterlens.compute.indices.label_match import LabelCheck
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.components import Text
from clusterlens.ui.copies import answer, beside_score
from clusterlens.ui.derived import Result
from clusterlens.ui.exports.script import run_lines, table_lines
from clusterlens.ui.kit import badge, card, copier, link, pn, safe, select
from clusterlens.ui.nodes.labels import (
    Judged,
    consensus_title,
    dbcv_sample,
    label_column,
)
from clusterlens.ui.panels.panel import Panel
from clusterlens.ui.verdict import Verdict
from clusterlens.ui.words import error, fixed

LABELS = "labels"
_NO_TABLE = (
    "<p><b>No class labels.</b> "
    f"{link('Load a table on Data', 'data', css='cl-to-data')}.</p>"
)


class LabelsHeadline(Panel):
    """The answer with what it rests on; a select of the partition that is judged."""

    needs = ("judged", "label_check", "label_verdict")
    also = (
        "label_evidence",
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
        self._text = Text(
            does=lambda what: answer(self.session, what),
            css_classes=["cl-label-score"],
        )
        look = self.session.look
        self._source = self.control(
            select("Judge", {"given labels": LABELS}, css="cl-judged", width=250),
            lambda: look.judged,
            look.judge,
        )
        # Not a note of the card, which would take away what is chosen from, too.
        said = pn.Column(self.status, self._text, margin=0, styles={"flex": "1 1 0"})
        row = pn.Row(
            said,
            self._source,
            margin=0,
            sizing_mode="stretch_width",
            styles={"display": "flex", "gap": "12px", "align-items": "center"},
        )
        return card("", row, css="cl-labels-headline", fills=False)

    def _say(self, needed: Mapping[str, Result]) -> str:
        """Ask for a table first."""
        analysis = self.session.analysis
        if (analysis.samples or analysis.dataset) is None:
            return f"<div class='empty'>{self._missing(_NO_TABLE)}</div>"
        return super()._say(needed)

    def prepare(self, results: Mapping[str, Result]) -> None:
        """Offer columns of labels, the consensus and every distinct model."""
        judged = self.session.look.judged
        offers = self._offers(results)
        if judged not in offers.values():
            # From an address, or the page Clusters.
            offers[judged.partition(":")[2] or judged] = judged
        self.offer(self._source, options=offers, value=judged)
        self._source.visible = _table(results) is not None
        failed = any(results[name].state == "failed" for name in self.needs)
        if failed or not results["judged"].ready:
            self._text.body = ""

    def _offers(self, results: Mapping[str, Result]) -> dict[str, str]:
        """What can be judged: title and source, the leader before other models."""
        table = _table(results)
        ensemble, ranking = results["ensemble"].value, results["ranking"].value
        offers = {"no label column": LABELS}
        if table is not None and table.labels_true is not None:
            offers = {f"label column “{label_column(table)}”": LABELS}
        columns = results["label_columns"].value or ()
        offers |= {f"column “{name}”": f"column:{name}" for name in columns}
        if results["result_here"].value is not None:
            offers["result"] = "result"
        if len(self.session.look.group):
            offers["brushed group"] = "group"
        if ensemble is not None and ranking is not None:
            own = max(2, int(ensemble.n_clusters[ranking.order[0]]))
            kind, _, at = self.session.look.judged.partition(":")
            given = {int(at)} if kind == "consensus" and at.isdigit() else set()
            for k in sorted({own} | given):
                offers[consensus_title(k)] = f"consensus:{k}"
            for at in ranking.order.tolist():
                offers[f"{ranking.ranks[at]}. {ensemble.names[at]}"] = f"model:{at}"
        return offers

    def show(
        self,
        judged: Judged,
        label_check: LabelCheck,
        label_verdict: Verdict,
        label_evidence: Result,
        dataset: Result,
        **more: Result,
    ) -> None:
        """Write the answer, the extremes, the score and what it rests on."""
        what = "labels" if judged.noun == "class" else "clusters"
        basis = self._basis(judged, label_check, label_evidence, dataset.value)
        self._text.body = (
            f"<p style='font-size:1.1em'>Are the {what} of “{safe(judged.title)}” "
            f"clusters? <b class='cl-verdict'>{label_verdict.answer}.</b> "
            f"{_extremes(judged, label_check)}</p>"
            f"<p class='muted'>{basis} "
            f"{copier('Copy as Python', self._script(judged), css='cl-copy')}</p>"
        )

    def _basis(
        self,
        judged: Judged,
        check: LabelCheck,
        evidence: Result,
        prepared: Dataset | None,
    ) -> str:
        chance = ""
        if evidence.ready and len(evidence.value.shuffled):
            shuffled = evidence.value.shuffled["score"]
            spread = fixed(2 * shuffled.std())
            chance = f"; shuffled: {fixed(shuffled.mean())} ± {spread}"
        left_out = ""
        if judged.n_left_out:
            rows = count(judged.n_left_out, "row")
            left_out = badge(
                f"{rows} without a {judged.noun} left out", kind="estimate"
            )
        copies = beside_score(judged.dataset, prepared)
        scale = judged.dataset.prepared.settings.get("scale", "standard")
        columns = count(judged.dataset.X.shape[1], "feature")
        return (
            f"CH<sub>btwn</sub> {fixed(check.score)} (at most 1{chance}). It rests on "
            f"{columns}, scaling “{safe(scale)}”: another scaling, another score. "
            f"{left_out} {safe(judged.note)} <span class='cl-copies'>{copies}</span> ·"
        )

    def _script(self, judged: Judged) -> str:
        steps = self.session.history.done
        lines = [
            *table_lines(steps),
            *run_lines(steps),
        ]
        lines.append(f"labels = {judged.code}")
        lines += [
            f"labels = cl.merge_classes(labels, [{a}, {b}])" for a, b in judged.merged
        ]
        lines += label_lines(judged)
        return "\n".join(lines)


def label_lines(judged: Judged) -> list[str]:
    """Calls that give the numbers of the page."""
    size = dbcv_sample(judged)
    sample = "" if size is None else f", sample_size={size}"
    return [
        'check = cl.label_match(dataset.X, labels, n_permutations="adaptive")',
        "print(check.score, check.standard_error)",
        "print(check.matrix())",
        "evidence = cl.label_evidence(",
        f'    dataset.X, labels, n_permutations="adaptive"{sample}',
        ")",
        "print(float(evidence.dbcv), evidence.shuffled)",
    ]


def _table(results: Mapping[str, Result]) -> Dataset | None:
    """Return the table whose rows are judged: a sample of it, or all of it."""
    return results["samples"].value or results["dataset"].value


def _extremes(judged: Judged, check: LabelCheck) -> str:
    """Name the pair that mixes most and the one furthest apart."""
    table = check.pairs.dropna(subset="score")
    if not len(table):
        return ""
    low, high = table.loc[table["score"].idxmin()], table.loc[table["score"].idxmax()]

    def named(row: Any) -> str:
        a, b = (safe(judged.name(int(row[key]))) for key in ("class_a", "class_b"))
        return f"<b>{a}</b> and <b>{b}</b>"

    if len(table) == 1:
        value = f"{fixed(low['score'])} {error(low['standard_error'])}"
        return f"{named(low)} score {value}."
    return (
        f"{named(low)} mix most ({fixed(low['score'])}); {named(high)} stand furthest "
        f"apart ({fixed(high['score'])})."
    )
