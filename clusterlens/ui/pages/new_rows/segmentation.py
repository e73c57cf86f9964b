"""Card of a segmentation: its clusters, accuracy on the old rows, and rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute.assigning.few_columns import TypingTool
from clusterlens.compute.assigning.rules import ClusterRule, ClusterRules
from clusterlens.compute.assigning.segmentation import Segmentation
from clusterlens.compute.formatting import count, percent, whole
from clusterlens.ui.components.card import Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.new_rows.nodes import cluster_of
from clusterlens.ui.state.analysis import KeptPartition
from clusterlens.ui.widgets.palette import cluster_colour
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, mark, safe, select

CSS = """
.cluster { border-bottom: 1px solid color-mix(in srgb, currentColor 16%, transparent);
  padding: 4px 0; }
.cluster .sides b { overflow-wrap: anywhere; }
.cluster p { font-size: .857em; margin: 1px 0 0 16px; overflow-wrap: anywhere; }
"""


class SegmentationCard(Card):
    """The kept partition; new rows do not change it."""

    needs = ("kept_partition", "segmentation")
    also = ("cluster_rules?", "typing_tool?", "segmentations")

    def build(self) -> Any:
        view_state = self.session.view_state
        self._which = self.control(
            select(
                "Segmentation",
                {"": 0},
                css="cl-which-segmentation",
                width=180,
                margin=(8, 0, 0, 0),
                visible=False,
            ),
            self._chosen,
            lambda at: setattr(view_state, "segmentation", at),
        )
        self._text = Text(
            css_classes=["cl-rules"],
            stylesheets=[CSS],
            scrolls=True,
            styles={"flex": "1 1 0", "min-height": "0"},
        )
        return card(
            "Segmentation",
            self._which,
            self._text,
            note=self.status,
            css="cl-segmentation",
        )

    def _chosen(self) -> int:
        """Return the position of the selected segmentation."""
        last = max(len(self.session.analysis.segmentations) - 1, 0)
        at = self.session.view_state.segmentation
        return last if at is None else min(at, last)

    def prepare(self, results: Mapping[str, Result]) -> None:
        """Offer the other segmentations, if there are any."""
        names = [one.name for one in results["segmentations"].value or ()]
        if names:
            self.offer(self._which, options={name: k for k, name in enumerate(names)})
        self._which.visible = len(names) > 1

    def show(
        self,
        kept_partition: KeptPartition,
        segmentation: Segmentation,
        cluster_rules: Result,
        typing_tool: Result,
        segmentations: Result,
    ) -> None:
        """Write the clusters, each with its rule if there is one."""
        found: ClusterRules | None = cluster_rules.value
        by_label = {rule.cluster: rule for rule in found.rules} if found else {}
        rows = segmentation.to_frame()
        clusters = "".join(
            _cluster(row, by_label.get(row.cluster)) for row in rows.itertuples()
        )
        self._text.body = (
            f"{_origin(kept_partition)}{clusters}{_held_out(segmentation)}"
            f"{_rules(cluster_rules)}{_names(rows)}"
            f"{_typing(typing_tool)}"
        )


def _origin(kept: KeptPartition) -> str:
    result = kept.result
    return (
        f"<p><b>{safe(kept.name)}</b></p><p class='muted'>{safe(result.title)} of "
        f"{safe(result.dataset.name)}, {count(len(result.clusters), 'row')}. Fixed: "
        "new rows do not change it.</p>"
    )


def _cluster(row: Any, rule: ClusterRule | None) -> str:
    """Write one cluster with its size, and its rule on held-out rows."""
    name = mark(cluster_colour(cluster_of(row.cluster)), f"<b>{safe(row.name)}</b>")
    rule_text = ""
    if rule is not None and rule.is_good:
        rule_text = (
            f"<p>{safe(rule.text) or 'any row'}</p><p class='muted'>of these "
            f"{percent(rule.precision)} are in it · finds {percent(rule.recall)}</p>"
        )
    elif rule is not None:
        rule_text = "<p class='muted'>no short rule</p>"
    return (
        f"<div class='cluster'><div class='sides'><span>{name}</span><span>"
        f"{whole(row.rows)} <span class='muted'>{percent(row.share)}</span></span>"
        f"</div>{rule_text}</div>"
    )


def _held_out(segmentation: Segmentation) -> str:
    """Write the share of held-out rows that get their cluster, and the rule.

    Rows that are prototypes would vote for themselves.
    """
    assigner = segmentation.assigner
    if assigner.rule == "centres":
        how = "the nearest centre decides"
    elif assigner.rule == "density":
        how = f"the density of the {assigner.n_neighbors} nearest prototypes decides"
    elif assigner.n_neighbors == 1:
        how = "the nearest prototype decides"
    else:
        how = f"{assigner.n_neighbors} nearest prototypes decide"
    prototypes = f", {count(len(assigner.rows), 'prototype')} kept"
    words = "No row could be held out"
    if not np.isnan(assigner.held_out_share):
        share = _exact(assigner.held_out_share)
        words = f"<b>{share}</b> of held-out rows get their cluster"
    return (
        f"<p style='margin-top:8px'>{words} <span class='muted'>({how}"
        f"{prototypes if len(assigner.rows) else ''})</span></p>"
    )


def _exact(share: float) -> str:
    """Format a share near 1 without rounding it up to all."""
    return "100%" if share == 1 else f"{min(100 * share, 99.9):.1f}%"


def _rules(rules: Result) -> str:
    if rules.state == "pending":
        return "<p class='muted'>Rules are being looked for.</p>"
    if not rules.ready or rules.value is None:
        return ""
    found: ClusterRules = rules.value
    counted = count(int(found.assigned.sum()), "row")
    return (
        f"<p class='muted'>Rules put {percent(found.right)} of {counted} that they "
        "were not made of into their cluster.</p>"
    )


def _typing(typing: Result) -> str:
    """Write the questions in the order of their gain, with the accuracy."""
    if typing.state == "pending":
        return "<p class='muted'>Questions are being looked for.</p>"
    if not typing.ready or typing.value is None:
        return ""
    tool: TypingTool = typing.value
    steps = tool.accuracy[tool.accuracy["used"]]
    questions: Iterable[Any] = steps.itertuples()
    rows = "".join(
        f"<tr><td class='number'>{row.n_questions}</td><td>{safe(row.column)}</td>"
        f"<td class='number'>{percent(row.accuracy)}</td></tr>"
        for row in questions
    )
    return (
        "<div class='cl-typing-tool'><h3>Typing tool</h3><p><b>"
        f"{count(len(steps), 'question')}</b> put <b>"
        f"{percent(steps['accuracy'].iloc[-1])}</b> of the rows into their cluster "
        "<span class='muted'>(rows that neither chose nor weighed them)</span></p>"
        "<table><tr><th class='number'>asked</th><th>and</th>"
        f"<th class='number'>right</th></tr>{rows}</table></div>"
    )


def _names(rows: pd.DataFrame) -> str:
    """Name the clusters that are too small for a bound on distances."""
    small = rows.loc[~rows["nowhere can be told"].astype(bool), "name"]
    if not len(small):
        return ""
    names = ", ".join(map(safe, small))
    return f"<p class='muted'>Too few rows to judge “nowhere”: {names}.</p>"
