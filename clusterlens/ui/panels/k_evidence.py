"""How many clusters: the cuts of the consensus tree on one axis with the evidence."""

from __future__ import annotations

from typing import Any

import pandas as pd

from clusterlens.ui.derived import Result
from clusterlens.ui.kit import COLUMN, RowSlider, Text, card, pn
from clusterlens.ui.nodes.clusters import Chosen, Tree
from clusterlens.ui.palette import cluster_colour, ink_on
from clusterlens.ui.panels.panel import Panel

FEWEST_ROWS = 10
# Parts of the width below which a number does not fit.
_NARROW = 0.045


class KEvidence(Panel):
    """Slider, cuts of the consensus tree, and what speaks for each number."""

    needs = ("chosen", "partition_tree")
    also = ("look.partition",)

    def build(self) -> Any:
        self._slider = self.control(
            RowSlider(
                label="number of clusters k",
                width=24,
                sizing_mode="stretch_height",
                margin=0,
                css_classes=["cl-k"],
            ),
            self._k,
            self._set,
        )
        self._cuts = Text(
            does=lambda what: self._set(int(what)),
            scrolls=True,
            sizing_mode="stretch_both",
            css_classes=["cl-icicle"],
        )
        self._heads = Text(styles={"flex": "none", "padding-left": "24px"})
        axis = pn.Row(
            self._slider,
            self._cuts,
            sizing_mode="stretch_both",
            margin=0,
            styles={**COLUMN, "flex": "1 1 0", "display": "flex"},
        )
        return card(
            "How many clusters?",
            self._heads,
            axis,
            note=self.status,
            css="cl-k-evidence",
        )

    def _k(self) -> int:
        chosen = self.session.derived.get("choice")
        if chosen.ready and chosen.value.kind == "consensus":
            return int(chosen.value.k)
        k = self.session.look.partition_k
        return int(k or self._slider.start)

    def _set(self, k: int) -> None:
        """Look at the consensus partition into k clusters."""
        look = self.session.look
        if (look.partition, look.partition_k) != ("consensus", k):
            look.param.update(partition="consensus", partition_k=k, cluster=None)

    def show(
        self, chosen: Chosen, partition_tree: Tree, partition: Result, **evidence: Any
    ) -> None:
        """Draw one row per number of clusters."""
        k = chosen.choice.k if chosen.choice.kind == "consensus" else 0
        last = min(partition_tree.most, max(FEWEST_ROWS, k))
        if self._slider.end != last:
            self._slider.end = last
        self._heads.body = (
            "<div class='row-of-k muted' style='cursor:default'><span "
            "style='text-align:right'>k</span><span>clusters of the consensus tree, as "
            "wide as they have samples</span><span></span></div>"
        )
        rows = "".join(
            _row(number, partition_tree.nodes, front=number == k)
            for number in range(2, last + 1)
        )
        self._cuts.body = f"<div class='rows-of-k'>{rows}</div>"


def _row(k: int, nodes: pd.DataFrame, *, front: bool) -> str:
    """Write the cut into k clusters as markup."""
    cut = nodes[(nodes["first_k"] <= k) & (nodes["last_k"] >= k)].sort_values("start")
    total = cut["size"].sum()
    parts = "".join(
        _part(int(size), size / total, int(number), front)
        for size, number in zip(cut["size"], cut["number"], strict=True)
    )
    return (
        f"<div class='row-of-k {'front' if front else ''}' data-do='{k}'>"
        f"<button data-do='{k}' aria-label='{k} clusters'>{k}</button>"
        f"<div class='parts'>{parts}</div><div class='strip-of-k'></div></div>"
    )


def _part(size: int, share: float, number: int, front: bool) -> str:
    colour = cluster_colour(number)
    fill = colour if front else f"color-mix(in srgb, {colour} 38%, transparent)"
    ink = ink_on(colour) if front else "inherit"
    text = f"{size:,}" if share > _NARROW else ""
    return (
        f"<div style='flex:{size} 1 0;background:{fill};color:{ink}' "
        f"title='{size:,} samples'>{text}</div>"
    )
