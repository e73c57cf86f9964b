"""The models in the order of the chosen score; a row selects a model."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

from clusterlens.compute._numbers import count, percent, whole
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.make_up import pool_make_up
from clusterlens.compute.ranking.ranking import SCORES, Ranking
from clusterlens.ui.kit.components import Text
from clusterlens.ui.kit.widgets import card, link, pn, safe, select
from clusterlens.ui.kit.words import (
    brief,
    differing,
    fixed,
    score_words,
    span,
    telling,
)
from clusterlens.ui.nodes.answers import Answers
from clusterlens.ui.nodes.links import links_broken
from clusterlens.ui.pages.consensus.ranked_rows import HEADS, RankedRows
from clusterlens.ui.parts.panel import TO_A_RUN, Panel
from clusterlens.ui.parts.settings import plain_settings
from clusterlens.ui.state.analysis import Link
from clusterlens.ui.work.derived import Result

_NUMBER_OF_CLUSTERS = re.compile(r" k=\d+(?= |$)")
VOTES = {
    "each model": "models",
    "each family": "families",
    "copies as one": "hubs",
}


# Titles of the columns where bars say how well models fit the answers.
FITTING = {
    "distance": "fits your answers",
    "range": "",
    "majority": "not kept",
    "first": "",
    "last": "",
}


# What is said beside it of a score takes more room than who votes.
_NARROW = """
@media (max-width: 1150px) {
  :host { --votes: calc(100px * var(--cl-scale, 1)); width: var(--votes) !important;
    min-width: var(--votes) !important; flex-basis: var(--votes) !important; }
  .select { min-width: 0 !important; width: 100% !important; }
}
"""


class RankingTable(Panel):
    """Ranking of the run that is read, the most typical model first."""

    needs = ("ranking", "rows", "ensemble", "copies", "answers?")
    also = (
        "look.by_distance",
        "robustness",
        "looked_at",
        "constraints?",
        "rises?",
        "links",
        "look.since",
        "runs",
        "run_id?",
    )
    empty = f"<b>No run yet.</b> {TO_A_RUN}; what the models agree on appears here."

    def build(self) -> Any:
        self._note = Text(does=self._count_from, css_classes=["cl-ranking-note"])
        self._rows = np.empty(0, np.intp)
        self._run_names: dict[str, str] = {}
        self._drawn: Any = None
        self.shown: dict[str, list[Any]] = {}
        self._table = RankedRows(
            self._select,
            css_classes=["cl-ranking-table"],
            sizing_mode="stretch_both",
            min_height=80,
        )
        session = self.session
        self._run = self.control(
            select(
                "Run",
                {},
                css="cl-run",
                margin=(8, 0, 0, 0),
                sizing_mode="stretch_width",
                visible=False,
            ),
            self._read_run,
            self._choose_run,
        )
        self._score = self.control(
            select(
                "Score",
                {score_words(key): key for key in SCORES},
                css="cl-score",
                margin=(8, 0, 4, 0),
                sizing_mode="stretch_width",
            ),
            lambda: session.analysis.score,
            lambda score: session.act_now("set score", score=score),
        )
        self._votes = self.control(
            select(
                "Who votes",
                VOTES,
                css="cl-votes",
                margin=(8, 0, 4, 0),
                width=118,
                stylesheets=[_NARROW],
                visible=False,
            ),
            lambda: session.analysis.run.votes if session.analysis.run else "models",
            lambda by: session.act("weigh models", by=by),
        )
        ranked_by = pn.Row(
            self._score,
            self._votes,
            margin=0,
            sizing_mode="stretch_width",
            styles={"gap": "6px", "flex": "none"},
        )
        keys = Text(
            "<p class='muted between'><span><kbd>↑</kbd> <kbd>↓</kbd> select</span>"
            f"{link('all scores and indices', 'table', css='cl-table-open')}</p>",
            does=lambda what: setattr(session.look, "table_open", True),
            styles={"flex": "none"},
        )
        place = pn.Column(
            self._table,
            sizing_mode="stretch_both",
            margin=0,
            styles={"flex": "1 1 0", "min-height": "0", "overflow": "hidden"},
        )
        return card(
            "Ranking",
            self._run,
            ranked_by,
            self._note,
            place,
            keys,
            note=self.status,
            css="cl-ranking",
        )

    def _read_run(self) -> str | None:
        """Offer the runs there are and say which of them is read."""
        analysis = self.session.analysis
        names: dict[str, str] = {}
        for run in analysis.runs:
            name = f"{run.name} · {run.dataset.name}"
            names[name if name not in names else f"{name} ({run.id})"] = run.id
        if names != self._run_names:
            self._run_names = names
            self._run.param.update(options=names, visible=len(names) > 1)
        return analysis.run_id

    def _choose_run(self, run_id: str) -> None:
        """Read another run; the one that forms is left alone."""
        session = self.session
        session.look.so_far = False
        if run_id != session.history.analysis.run_id:
            session.act_now("read run", id=run_id)

    def show(
        self,
        ranking: Ranking,
        rows: np.ndarray,
        ensemble: Ensemble,
        copies: np.ndarray,
        answers: Answers | None,
        by_distance: Result,
        robustness: Result,
        looked_at: Result,
        constraints: Result,
        rises: Result,
        links: Result,
        since: Result,
        **runs: Result,
    ) -> None:
        """Show the rows, then mark the selected one."""
        self._votes.visible = True
        self._note.body = (
            f"<p class='muted'>{safe(pool_make_up(ensemble).text)}{_silent(ensemble)}"
            f"{_alike(copies, rows)}</p>"
            f"{_fitting(answers, by_distance.value, _word(ranking))}"
            f"{_counted_from(links.value, since.value)}"
        )
        said = None if by_distance.value else answers
        drawn = (ranking, robustness.state, robustness.value, rises, said)
        more: dict[str, Any] = {}
        self._rows = rows
        if drawn != self._drawn:
            self._drawn = drawn
            self.shown = ranked(
                ranking, rows, copies, robustness, constraints.value, rises.value
            )
            more["heads"] = heads(ranking)
            if said is not None:
                self.shown |= fitting(said, rows, self.shown["broken"])
                more["heads"] |= FITTING
            shown_as = ["cl-posterior"] * (said is not None)
            more["css_classes"] = ["cl-ranking-table", *shown_as]
            more["rows"] = json.dumps([*zip(*self.shown.values(), strict=True)])
        place = None
        if looked_at.ready and looked_at.value.model is not None:
            same = np.flatnonzero(copies[rows] == copies[looked_at.value.model])
            place = int(same[0]) if len(same) else None
        self._table.param.update(selected=place, **more)

    def _count_from(self, what: str) -> None:
        """Count changes of rank from the links there are now, or from none.

        Or turn from how well models fit the answers to their distances, or back.
        """
        if what in ("distance", "fits"):
            self.session.look.by_distance = what == "distance"
            return
        self.session.look.since = self.session.analysis.links if what == "now" else ()

    def _select(self, row: int) -> None:
        """Select the model of a row."""
        if row < len(self._rows):
            model = int(self._rows[row])
            self.session.look.param.update(model=model, tab="model")


def _silent(ensemble: Ensemble) -> str:
    """Say how many partitions are ranked without a vote."""
    silent = int(np.count_nonzero(ensemble.votes == 0))
    return f" · {count(silent, 'kept partition')} without a vote" if silent else ""


def _alike(copies: np.ndarray, rows: np.ndarray) -> str:
    """Say that a row may stand for several models, which all count in the ranks."""
    if len(rows) == len(copies):
        return ""
    return (
        " · <span class='cl-equal-models'>×2 stands for two equal models, and ranks "
        "count both</span>"
    )


def heads(ranking: Ranking) -> dict[str, str]:
    """Titles of the columns."""
    last = whole(ranking.ensemble.n_partitions)
    return {**HEADS, "distance": _word(ranking), "first": "1", "last": last}


def _word(ranking: Ranking) -> str:
    """What a score says; one that is higher for better is no distance."""
    return "likeness" if ranking.greater_is_better else "distance"


def _counted_from(links: tuple[Link, ...], since: tuple[Link, ...]) -> str:
    """Say what changes of rank are counted from, and what else they could be."""
    if not links and not since:
        return ""
    text = "no change of links" if set(links) == set(since) else "ranks won and lost"
    text += f" since there were {count(len(since), 'link')}" if since else " by links"
    choices = [link("count from now", "now", css="cl-since-now")] * (links != since)
    choices += [link("count from no links", "none", css="cl-since-none")] * bool(since)
    return f"<p class='muted'>▲▼ {text} · {' · '.join(choices)}</p>"


def _fitting(found: Answers | None, by_distance: bool, word: str) -> str:
    """Say what the bars are where there are answers, and offer the other ones."""
    if found is None:
        return ""
    if by_distance:
        said, other = f"Bars: {word}, and orange what answers add", "fits"
        words = "show how well they fit your answers"
    else:
        said = (
            f"Bars: how likely each is yours after {count(found.n_answers, 'answer')}; "
            "tick: before"
        )
        other, words = "distance", f"show {word} and ranges"
    return f"<p class='muted'>{said} · {link(words, other, css='cl-bars')}</p>"


def fitting(
    found: Answers, rows: np.ndarray, broken: list[str]
) -> dict[str, list[Any]]:
    """Columns of the table where bars are probabilities given the answers."""
    none = [None] * len(rows)
    return {
        "bar": _brief(found.fits[rows]),
        "charge": [0.0] * len(rows),
        "broken": [""] * len(rows),
        "range": [percent(p) if p > 0.01 else "<1%" for p in found.fits[rows]],
        "low": none,
        "high": none,
        "majority": broken,
        "tick": _brief(found.before[rows]),
    }


def ranked(
    ranking: Ranking,
    rows: np.ndarray,
    copies: np.ndarray,
    robustness: Result,
    links: Constraints | None,
    rises: np.ndarray | None = None,
) -> dict[str, list[Any]]:
    """Columns of the table, one entry for each distinct partition.

    Bars run from 0 to 1; ranks are placed on a logarithmic axis from 0 to 1. `copies`,
    shape (n_partitions,), tells which models are equal; `rises`, of this shape, are the
    ranks that each model has won by links.
    """
    times = np.bincount(copies)[copies[rows]].tolist()
    ensemble, ranks, none = ranking.ensemble, ranking.ranks[rows], [None] * len(rows)
    values, alone = ranking.values[rows], ranking.unconstrained[rows]
    bar, charge = _bars(alone, values, ranking.greater_is_better)
    broken = judged = np.zeros(len(rows), int)
    if links is not None:
        broken, judged = (of[rows] for of in links_broken(ranking, links))
    low, high = none, none
    if robustness.ready:
        ends = robustness.value.lowest[rows], robustness.value.highest[rows]
        low, high = (_on_axis(end, ensemble.n_partitions) for end in ends)
        ranges = [span(*pair) for pair in zip(*ends, strict=True)]
        majorities = robustness.value.ranks_majority[rows].astype(str).tolist()
    else:
        word = "–" if robustness.state in ("failed", "declined") else "…"
        ranges = majorities = [word] * len(rows)
    return {
        "rank": ranks.tolist(),
        "model": telling(differing([short(ensemble.names[t]) for t in rows])),
        "times": [f"×{n}" if n > 1 else "" for n in times],
        "k": ensemble.n_clusters[rows].tolist(),
        "bar": bar,
        "charge": charge,
        "broken": [str(n or "") for n in broken.tolist()],
        "since": none if rises is None else _brief(rises[rows].astype(float)),
        "range": ranges,
        "low": low,
        "high": high,
        "now": _on_axis(ranks, ensemble.n_partitions),
        "majority": majorities,
        "full": _told_of(ranking, rows, times, broken, judged),
        "tick": none,
    }


def _told_of(
    ranking: Ranking,
    rows: np.ndarray,
    times: list[int],
    broken: np.ndarray,
    judged: np.ndarray,
) -> list[str]:
    """Write all that is known of the ranks of models, for the hover text."""
    ensemble, told = ranking.ensemble, []
    intervals, ranges = ranking.intervals, ranking.rank_ranges
    counts = zip(rows.tolist(), times, broken, judged, strict=True)
    for model, n, n_broken, n_links in counts:
        score = f"score {fixed(ranking.values[model], 4)}"
        known = ensemble.names[model], plain_settings(ensemble.specs[model])
        parts = [*filter(None, known), ensemble.families[model], score]
        if n > 1:
            parts.append(f"one of {n} equal models, all of rank {ranking.ranks[model]}")
        if n_links:
            parts.append(f"breaks {n_broken} of {count(n_links, 'link')}")
        text = " · ".join(parts)
        if not ranking.exact:
            low, high = (fixed(end, 4) for end in intervals[model])
            text += f" (estimate, {low} to {high}; rank {span(*ranges[model])})"
        told.append(text)
    return told


def _on_axis(ranks: np.ndarray, n_models: int) -> list[float | None]:
    """Place ranks between 0 and 1."""
    return _brief(np.log(np.asarray(ranks, float)) / max(np.log(n_models), 1e-9))


def _brief(numbers: np.ndarray) -> list[float | None]:
    """Round numbers; what is none is None, as JSON has no other word for it."""
    return [round(x, 5) if math.isfinite(x) else None for x in numbers.tolist()]


def short(name: str) -> str:
    """Leave out what need not be said in a list; the hover text has all."""
    return brief(_NUMBER_OF_CLUSTERS.sub("", name))


def _bars(
    alone: np.ndarray, values: np.ndarray, greater_is_better: bool
) -> tuple[list[float | None], list[float | None]]:
    """Scale scores and the charges for broken links to lengths in [0, 1]."""
    charge = np.abs(values - alone)
    floor = min(0.0, float(np.nanmin(alone))) if greater_is_better else 0.0
    lengths = alone - floor
    top = float(np.nanmax(lengths + charge))
    if not top > 0:
        lengths, charge, top = np.zeros(len(alone)), np.zeros(len(alone)), 1.0
    return _brief(lengths / top), _brief(charge / top)
