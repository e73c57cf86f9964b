"""What the verdict on class labels rests on: centres, density, the pool."""

from __future__ import annotations

import re
from typing import Any

from clusterlens.compute.indices.label_evidence import LabelEvidence
from clusterlens.compute.indices.label_match import LabelCheck
from clusterlens.ui.components import Text
from clusterlens.ui.derived import Result
from clusterlens.ui.kit import card, copier
from clusterlens.ui.nodes.labels import APART, MIXED, Judged, Light, Reached, Verdict
from clusterlens.ui.panels.panel import Panel
from clusterlens.ui.words import fixed

LIGHTS: dict[Light, tuple[str, str]] = {
    "yes": ("#0b7d7d", "yes"),
    "in part": ("#c79a2a", "in part"),
    "no": ("#b5562b", "hardly"),
    "unknown": ("#8a949c", "not known yet"),
}
_SO = {
    "Yes": "clusterings of this table may be judged by these labels.",
    "Yes, but not each around a centre": (
        "judge clusterings by these labels only if they can find groups of odd shape."
    ),
    "Not decided yet": (
        "wait until density has been measured: groups need not lie around a centre."
    ),
    "Only in part": (
        "do not judge clusterings by all of these labels; see which pairs mix."
    ),
    "Hardly": (
        "do not judge clusterings of this table by these labels. They may still be "
        "good classes: a classifier can use boundaries that no cluster has."
    ),
}


class LabelVerdict(Panel):
    """One paragraph for each kind of evidence, and what follows."""

    needs = ("judged", "label_check", "label_verdict")
    also = ("label_evidence", "label_agreement")

    def build(self) -> Any:
        self._text = Text(
            css_classes=["cl-label-verdict"], scrolls=True, sizing_mode="stretch_both"
        )
        return card(
            "What the verdict rests on",
            self._text,
            note=self.status,
            css="cl-label-grounds",
        )

    def prepare(self, results: Any) -> None:
        """Show nothing of labels that are gone."""
        if not results["judged"].ready:
            self._text.body = ""

    def show(
        self,
        judged: Judged,
        label_check: LabelCheck,
        label_verdict: Verdict,
        label_evidence: Result,
        label_agreement: Result,
    ) -> None:
        """Write the grounds and the conclusion."""
        grounds = [
            ("Round groups", label_verdict.round, _centres(label_check)),
            ("Dense groups", label_verdict.dense, _density(label_evidence.value)),
            ("The pool", label_verdict.pool, _pool(label_agreement.value)),
        ]
        body = "".join(
            f"<p style='padding-left:22px;position:relative;margin:0 0 8px'>"
            f"<span class='dot' style='position:absolute;left:0;top:3px;width:13px;"
            f"height:13px;background:{LIGHTS[light][0]}'></span>"
            f"<b>{title}: {LIGHTS[light][1]}.</b> {text}</p>"
            for title, light, text in grounds
        )
        so = f"<p><b>So:</b> {_SO[label_verdict.answer]}</p>"
        plain = re.sub(r"<[^>]+>", " ", body + so)
        text = f"{judged.title}: {label_verdict.answer}. {' '.join(plain.split())}"
        self._text.body = (
            f"{body}<hr style='border:0;border-top:1px solid;opacity:.2'>{so}"
            f"<p>{copier('Copy verdict', text, css='cl-copy-verdict')}</p>"
        )


def _centres(check: LabelCheck) -> str:
    scores = check.pairs["score"].dropna()
    apart, mixed = int((scores >= APART).sum()), int((scores <= MIXED).sum())
    differ = 0 < apart < len(scores) or 0 < mixed < len(scores)
    hidden = f" The mean, {fixed(check.score)}, hides it." if differ else ""
    return (
        f"{apart} of {len(scores)} pairs score {APART:g} or more, {mixed} are as "
        f"random classes ({MIXED:g} or less).{hidden}"
    )


def _density(found: LabelEvidence | None) -> str:
    if found is None:
        return "DBCV is being measured, or was not asked for."
    if found.dbcv.reason:
        return f"No DBCV: {found.dbcv.reason}."
    return (
        f"DBCV {fixed(found.dbcv)} against {fixed(found.shuffled['dbcv'].mean())} of "
        "these labels shuffled; iris has −0.22. It finds groups of any shape, which "
        "CH<sub>btwn</sub> cannot: nested rings score 0 there."
    )


def _pool(found: Reached | None) -> str:
    if found is None:
        return "not compared yet, or there is no run to compare with."
    now = found.merged or found.given
    return (
        f"the highest of {len(now.values)} models reaches ARI "
        f"{fixed(float(now.values.max()))}, picked knowing the labels."
    )
