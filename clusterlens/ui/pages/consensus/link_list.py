"""List of the links, and the weight of broken ones."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.formatting import all_of, count
from clusterlens.compute.ranking.ranking import Ranking, Weight
from clusterlens.ui.components.card import Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.clusters.nodes import own_votes
from clusterlens.ui.results.links import LinkState
from clusterlens.ui.state.analysis import EVIDENCE, PAPER_WEIGHT
from clusterlens.ui.state.links import OTHER, TITLES, PlainId, Unsure, shown_rows
from clusterlens.ui.state.partitions import Choice, free_name
from clusterlens.ui.widgets.palette import LINK_COLOURS
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import badge, link, pmu, pn, safe, select

COUNTED = {"as evidence": EVIDENCE, "as a share of broken ones": "share"}
_EVIDENCE = (
    "Each link is an answer that may mislead: ten decide more than one, and how often "
    "the best model of the pool contradicts them is estimated."
)
_SHARE = (
    "With the weight of the paper, 1, one link of few moves many ranks; ten links "
    "weigh as much as one."
)
_SHOWN = 200
MOST_BYTES = 10_000_000
# The names in a row may shrink, to two lines if necessary.
CSS = "td { padding: 3px 4px 3px 0 } td.ends { width: 100%; overflow-wrap: anywhere }"
_STROKES = {"must": "none", "cannot": "5 3"}


class LinkList(Card):
    """Each link with its state in the selected model, and the weight of all links."""

    needs = ("link_states", "link_weight", "ranking", "unsure")
    also = ("constraints?", "selected", "ensemble", "broken_by_all")

    def build(self) -> Any:
        self._text = Text(does=self._do, css_classes=["cl-links"], stylesheets=[CSS])
        self._consensus = Text(does=self._obey, css_classes=["cl-obey"])
        self._cost = Text(does=self._do, css_classes=["cl-link-cost"])
        session = self.session
        self._counted = self.control(
            select(
                "How links count",
                COUNTED,
                css="cl-links-count",
                margin=(4, 0),
                sizing_mode="stretch_width",
            ),
            lambda: _counted(session.analysis.link_weight),
            self._count,
        )
        self._weight = pmu.FloatSlider(
            label="Charge for breaking all links",
            start=0.0,
            end=1.0,
            step=0.05,
            size="small",
            margin=(4, 10),
            sizing_mode="stretch_width",
            css_classes=["cl-link-weight"],
        )
        self._weight.param.watch(self._release, "value_throttled")
        self._file = pmu.FileInput(
            label="Import CSV or JSON by row ids",
            accept=".csv,.json",
            max_file_size=MOST_BYTES,
            size="small",
            margin=(4, 0),
            css_classes=["cl-import-links"],
        )
        # The widget reports the same file again, or an empty one, as no change.
        self._file.param.watch(self._import, "value", onlychanged=False)
        return pn.Column(
            self._text,
            self.status,
            self._consensus,
            self._counted,
            self._weight,
            self._cost,
            self._file,
            margin=0,
            sizing_mode="stretch_width",
        )

    def show(
        self,
        link_states: list[LinkState],
        link_weight: Weight,
        ranking: Ranking,
        unsure: Unsure,
        constraints: Result,
        selected: Result,
        ensemble: Result,
        broken_by_all: Result,
    ) -> None:
        """List the links, and describe the cost of breaking them."""
        shown = list(enumerate(link_states))[-_SHOWN:]
        lone = broken_by_all.value or frozenset()
        rows = "".join(_row(k, state, state.link in lone) for k, state in shown)
        more = len(link_states) - len(shown)
        title = count(len(link_states), "link") if link_states else "No links yet"
        note = "by the selected model" if link_states else ""
        gone = dict.fromkeys(row for state in link_states for row in state.missing)
        waits = ""
        if gone:
            waits = (
                f"<p class='warn cl-left-out'>Not in this run: "
                f"{count(len(gone), 'linked row')} ({safe(shown_rows(list(gone)))}). "
                "Their links are kept and count where the rows are.</p>"
            )
        self._text.body = (
            f"<h3>{title} <small>{note}</small></h3>{waits}"
            + (f"<p class='muted'>The latest {_SHOWN} of them:</p>" if more else "")
            + f"<table data-roving='map'>{rows}</table>{_unsure(unsure)}"
        )
        self._show_weight(ranking, constraints.value, link_weight)
        self._k = max(2, int(ensemble.value.n_clusters[selected.value]))
        self._consensus.body = _offer(self._k, constraints.value)

    def _show_weight(
        self, ranking: Ranking, links: Constraints | None, weight: Weight
    ) -> None:
        """Describe how links count; for a share, show the slider and the cost."""
        if isinstance(weight, str):
            self._weight.visible = False
            self._cost.body = f"<p class='muted'>{_EVIDENCE}</p>"
            return
        self._weight.param.update(value=weight, end=max(1.0, weight), visible=True)
        paper = ""
        if weight != PAPER_WEIGHT:
            paper = link("use the paper's weight", "paper", css="cl-paper-weight")
        self._cost.body = (
            f"<p class='muted'>{_cost(ranking, links, weight)}</p>"
            f"<p class='muted'>{_SHARE} {paper}</p>"
        )

    def _count(self, how: str) -> None:
        """Count links as evidence, or as a share with the weight of the paper."""
        weight = EVIDENCE if how == EVIDENCE else PAPER_WEIGHT
        self.session.act_now("set link weight", weight=weight)

    async def _obey(self, what: str) -> None:
        """Add a consensus that obeys the links to the models, or show it."""
        session = self.session
        if what == "look":
            session.view_state.param.update(
                page="clusters",
                partition="consensus",
                partition_k=self._k,
                obey_links=True,
            )
            return
        run = session.analysis.selected_run
        weighted_ensemble = session.derived.get("weighted_ensemble")
        votes = (
            own_votes(run.ensemble, weighted_ensemble.value)
            if weighted_ensemble.ready
            else ()
        )
        choice = Choice("consensus", self._k, "kmeans", obeys=True, votes=votes)
        name = free_name(choice.title(run.ensemble), run.ensemble.names)
        values = choice.values(run.dataset)
        if await session.act("keep partition", partition=values, name=name):
            session.view_state.model = (
                session.analysis.selected_run.ensemble.n_partitions - 1
            )

    def _import(self, event: Any) -> None:
        """Import the links of a file, all or none."""
        text = bytes(event.new or b"").decode("utf-8-sig", errors="replace")
        pn.state.execute(partial(self.session.act, "import links", text=text))

    def _release(self, event: Any) -> None:
        if event.new is not None and event.new != self.session.analysis.link_weight:
            self.session.act_now("set link weight", weight=event.new)

    def _do(self, what: str) -> None:
        """Handle a button: "swap 0", "remove 0", "show 0", "paper"."""
        verb, _, at = what.partition(" ")
        if verb == "paper":
            self.session.act_now("set link weight", weight=PAPER_WEIGHT)
            return
        if verb == "again":
            pairs = self.session.analysis.unsure
            if int(at) < len(pairs):
                a, b, *_ = pairs[int(at)]
                self.session.act_now("ask again", a=a, b=b)
            return
        states = self.session.derived.get("link_states")
        if not states.ready or int(at) >= len(states.value):
            return
        state = states.value[int(at)]
        if verb == "show" and state.ends:
            self.session.view_state.pair = state.ends
        elif verb in ("swap", "remove"):
            values = {"a": state.link.a, "b": state.link.b}
            self.session.act_now(f"{verb} link", **values)


def _unsure(pairs: Unsure) -> str:
    """List the unsure pairs, with buttons that ask them again."""
    if not pairs:
        return ""
    rows = "".join(
        f"<tr><td class='ends'>{safe(a)} – {safe(b)}{_by(*by)}</td><td>"
        f"{link('ask again', f'again {k}', css='cl-ask-again')}</td></tr>"
        for k, (a, b, *by) in [*enumerate(pairs)][-_SHOWN:]
    )
    return (
        f"<details class='cl-unsure-pairs'><summary>{count(len(pairs), 'pair')} unsure"
        "<small> count as no answer, not asked again</small></summary>"
        f"<table data-roving='map'>{rows}</table></details>"
    )


def _by(name: PlainId = "") -> str:
    """Write the respondent, if known."""
    return f"<p class='muted cl-answered-by'>by {safe(name)}</p>" if name else ""


def _counted(weight: Weight) -> str:
    return EVIDENCE if weight == EVIDENCE else "share"


def _offer(k: int, links: Constraints | None) -> str:
    """Offer a consensus that obeys the links, with as many clusters as the model."""
    if links is None:
        return ""
    title = f"Add a consensus k={k} that obeys them"
    return (
        f"<p>{link(title, 'add', kind='pill', css='cl-obey-add')} "
        f"{link('another k', 'look', css='cl-obey-look')}</p>"
    )


def _row(k: int, state: LinkState, broken_by_all: bool) -> str:
    kind = state.link.kind
    rows = f"{safe(state.link.a)} – {safe(state.link.b)}"
    verdict = "<span class='muted'>kept</span>"
    if state.uncertain:
        why = "a row was left out, or is noise: the partition says nothing certain"
        verdict = f"<span class='muted' title='{why}'>uncertain</span>"
    if state.broken:
        verdict = badge("broken", kind="estimate")
    if broken_by_all:
        verdict = badge("broken by all", kind="estimate cl-broken-by-all")
    if state.ends is None:
        why = f"not in this run: {' and '.join(map(str, state.missing))}"
        verdict = f"<span class='muted' title='{safe(why)}'>waits</span>"
    stroke = (
        f"<svg width='22' height='8' role='img' aria-label='{TITLES[kind]}'>"
        f"<line x1='0' y1='4' x2='22' y2='4' stroke='{LINK_COLOURS[kind]}' "
        f"stroke-width='3' stroke-dasharray='{_STROKES[kind]}'/></svg>"
    )
    other = TITLES[OTHER[kind]]
    link_words = f"{TITLES[kind]} of rows {rows}"
    shown = f"Show the {link_words}{', broken' if state.broken else ''}"
    show = link(rows, f"show {k}", name=shown)
    swap = link(
        "⇌",
        f"swap {k}",
        css="cl-swap",
        name=f"Make the {link_words} a {other}",
    )
    remove = link(
        "✕",
        f"remove {k}",
        css="cl-remove",
        name=f"Remove the {link_words}",
    )
    by = _by(state.link.by)
    return (
        f"<tr><td>{stroke}</td><td class='ends'>{show}{by}</td>"
        f"<td class='name'>{TITLES[kind]}</td><td>{verdict}</td>"
        f"<td class='name'>{swap}&ensp;{remove}</td></tr>"
    )


def _cost(ranking: Ranking, links: Constraints | None, weight: float) -> str:
    """Describe the cost of breaking one link and all links, in score and ranks."""
    if links is None:
        return "What a model that breaks all links is charged."
    sign = -1 if ranking.greater_is_better else 1
    behind = np.sort(sign * ranking.unconstrained)
    behind -= behind[0]

    def rank_at(charge: float) -> int:
        return int(np.searchsorted(behind, charge, side="right"))

    one = weight / links.n_pairs
    if links.n_pairs == 1:
        return (
            f"Breaking the link costs {weight:.2f}: as much as from rank 1 to rank "
            f"{rank_at(weight)} without it."
        )
    return (
        f"Breaking {all_of(links.n_pairs)} costs {weight:.2f}, one costs "
        f"{one:.3f}: as much as from rank 1 to rank {rank_at(one)} without links, "
        f"{all_of(links.n_pairs)} to rank {rank_at(weight)}."
    )
