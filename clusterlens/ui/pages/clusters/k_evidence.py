"""Card of the number of clusters: cuts of the consensus tree with evidence."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterlens.compute.formatting import whole, with_capital
from clusterlens.compute.pool.k_selection import KSelection
from clusterlens.ui.components.card import Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.clusters.k_evidence_figure import curves, evidence, heads
from clusterlens.ui.pages.clusters.nodes import Tree
from clusterlens.ui.pages.page import share
from clusterlens.ui.results.partition_verdict import COPIES_IN_WORDS
from clusterlens.ui.state.partitions import Choice
from clusterlens.ui.widgets.palette import cluster_colour, ink_on
from clusterlens.ui.widgets.scripted import RowSlider, Text
from clusterlens.ui.widgets.style import COLUMN, ROOM
from clusterlens.ui.widgets.toolkit import card, link, pn, safe

FEWEST_ROWS = 10
_LINE = 17  # smallest height of a row with evidence, in pixels
_AROUND = 108  # height of the title, the heads and the sentence, in pixels
_AXIS = {**COLUMN, "flex": "1 1 0", "display": "flex"}
_BEYOND = 2  # rows below the chosen number, so that larger numbers can be chosen
# Marks the cut that is closest to the models.
_MARK = "<span class='closest' title='closest to the models'>◆</span>"


class KEvidence(Card):
    """Slider, cuts of the consensus tree, and the evidence for each number."""

    needs = ("choice", "partition_tree")
    also = ("k_selection", "k_seconds", "closest", "chosen")

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
            css_classes=["cl-icicle"],
        )
        self._heads = Text(styles={"flex": "none", "padding-left": "24px"})
        self._curves = Text(
            scrolls=True,
            width=170,
            sizing_mode="stretch_height",
            visible=False,
            css_classes=["cl-k-curves"],
        )
        self._sentence = Text(
            does=lambda what: self.session.derived.ask(what),
            styles={"flex": "none"},
            css_classes=["cl-k-sentence"],
        )
        self._axis = pn.Row(
            self._slider,
            self._cuts,
            self._curves,
            sizing_mode="stretch_both",
            margin=0,
            styles=_AXIS,
        )
        view = card(
            "How many clusters?",
            self._heads,
            self._axis,
            self._sentence,
            note=self.status,
            css="cl-k-evidence",
        )
        # An open explanation may need more room than there is.
        view.styles = {"overflow-y": "auto"}
        self.place = share(view, "1.1 1 0", least=ROOM)
        return view

    def _k(self) -> int:
        """Return the number of clusters of the displayed partition."""
        derived = self.session.derived
        choice, chosen = derived.get("choice"), derived.get("chosen")
        k = self._cut(choice.value) if choice.ready else 0
        view_state = self.session.view_state
        if not k and view_state.partition == "consensus":
            k = view_state.partition_k or 0
        if not k and chosen.ready:
            k = sum(number >= 0 for number in chosen.value.sizes)
        least, most = self._slider.start, self._slider.end
        return int(min(max(k, least), most))

    def _cut(self, choice: Choice) -> int:
        """Return the number of clusters of the displayed consensus, otherwise 0."""
        result = self.session.analysis.result
        if choice.kind == "result" and result is not None:
            return int(result.made.get("k", 0))
        return choice.k if choice.kind == "consensus" else 0

    def _set(self, k: int) -> None:
        """Show the consensus partition into k clusters."""
        view_state = self.session.view_state
        if (view_state.partition, view_state.partition_k) != ("consensus", k):
            view_state.param.update(partition="consensus", partition_k=k, cluster=None)

    def show(
        self,
        choice: Choice,
        partition_tree: Tree,
        k_selection: Result,
        k_seconds: Result,
        closest: Result,
        chosen: Result,
    ) -> None:
        """Draw one row per number of clusters, with its evidence."""
        k = self._cut(choice)
        found = k_selection.value if k_selection.ready else None
        last = max(FEWEST_ROWS, k + _BEYOND, closest.value or 0)
        last = min(partition_tree.most, last)
        if self._slider.end != last:
            self._slider.end = last
        kind = "judged" if found else ""
        marked = f"; {_MARK} closest to the models" if closest.value else ""
        cuts = "clusters of the consensus tree"
        cuts += "" if found else ", as wide as they have samples"
        self._heads.body = (
            f"<div class='{'' if found else 'spare'}'><div class='row-of-k head {kind} "
            "muted'><span style='text-align:right'>k</span><span title='as wide as "
            f"they have samples'>{cuts}{marked}</span>"
            f"{heads(found) if found else ''}</div></div>"
        )
        rows = "".join(
            _row(
                number,
                partition_tree,
                found,
                front=number == k,
                closest=number == closest.value,
            )
            for number in range(2, last + 1)
        )
        self._cuts.body = f"<div class='rows-of-k' data-roving='map'>{rows}</div>"
        self._heads.styles = {
            "flex": "none",
            "padding": f"0 {182 if found else 0}px 0 24px",
        }
        # Columns of numbers need lines that do not cover each other.
        height = (last - 1) * _LINE if found else 0
        self._axis.styles = {**_AXIS, "min-height": f"{height}px"}
        least = f"max({ROOM}, {height + _AROUND}px)" if found else ROOM
        self.place.styles = {**self.place.styles, "min-height": least}
        self._curves.visible = found is not None
        if found is not None:
            self._curves.body = curves(found, k or int(found.n_clusters[0]))
        self._sentence.body = _write_selection(k_selection, k_seconds)


def _write_selection(selection: Result, seconds: Result) -> str:
    """Write which number stands out, or offer the check."""
    if selection.ready:
        found: KSelection = selection.value
        first, why = found.sentence.split(": ", 1)
        at = np.flatnonzero(found.n_clusters == found.k)
        p_value = f", p = {found.p_value[at[0]]:.2g}" if len(at) else ""
        notes = " ".join(found.notes)
        compared = (
            f", pairs of {whole(found.n_compared)}"
            if found.n_compared < found.n_samples
            else ""
        )
        return (
            f"<details class='cl-why-k'><summary><b>{safe(first)}</b>{p_value} · "
            f"why?</summary>{safe(with_capital(why))} "
            f"<span class='muted' title='{safe(notes)}'>"
            f"Evidence: {safe(found.clusterer)} on {found.n_resamples} subsamples, "
            f"{whole(found.n_samples)} samples{compared}, {selection.settings}. "
            f"{safe(notes)}</span></details>"
        )
    if selection.state == "pending":
        return f"<span class='muted'>Comparing with {COPIES_IN_WORDS} …</span>"
    if selection.state == "failed":
        again = link("Try again", "k_selection")
        return f"{safe(selection.failure)} {again}"
    if not seconds.ready:
        return "<span class='muted'>Too few samples to compare numbers.</span>"
    stopped = selection.stopped.capitalize()
    button = link(
        f"Does a k stand out against copies without groups? <b>{stopped}Find out, "
        f"{selection.cost(seconds.value)}</b>",
        "k_selection",
        kind="pill",
        css="cl-find-k",
    )
    return (
        f"{button} <span class='muted spare'>k-means on subsamples and on copies</span>"
    )


def _row(
    k: int,
    tree: Tree,
    selection: KSelection | None,
    *,
    front: bool,
    closest: bool,
) -> str:
    """Write the cut into k clusters as markup."""
    sizes, numbers = tree.cut(k)
    parts = "".join(
        _part(size, number, front) for size, number in zip(sizes, numbers, strict=True)
    )
    note = ", closest to the models" * closest
    kinds = " ".join(["front"] * front + ["judged"] * (selection is not None))
    return (
        f"<div class='row-of-k {kinds}' data-do='{k}'>"
        f"<button data-do='{k}' aria-label='{k} clusters{note}'>"
        f"{_MARK * closest}{k}</button>"
        f"<div class='parts'>{parts}</div>"
        f"{evidence(selection, k) if selection else ''}</div>"
    )


def _part(size: int, number: int, front: bool) -> str:
    colour = cluster_colour(number)
    fill = colour if front else f"color-mix(in srgb, {colour} 38%, transparent)"
    ink = ink_on(colour) if front else "inherit"
    return (
        f"<div style='flex:{size} 1 0;background:{fill};color:{ink}' "
        f"title='{whole(size)} samples'><span>{whole(size)}</span></div>"
    )
