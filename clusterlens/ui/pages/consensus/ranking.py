"""Ranking: the models in the order of the chosen score; a row selects a model."""

from __future__ import annotations

import json
from operator import is_not
from typing import Any

import numpy as np

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.make_up import pool_make_up
from clusterlens.compute.formatting import count
from clusterlens.compute.ranking.ranking import SCORES, Ranking
from clusterlens.ui.components.card import TO_A_RUN, Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.consensus.ranked_rows import RankedRows
from clusterlens.ui.pages.consensus.ranking_columns import RESULTS, word, written
from clusterlens.ui.results.answers import Answers
from clusterlens.ui.state.analysis import Link
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import TWO_LINES
from clusterlens.ui.widgets.toolkit import card, link, pn, safe, select
from clusterlens.ui.widgets.words import score_words

VOTES = {
    "each model": "models",
    "each family": "families",
    "copies as one": "hubs",
    "typical half": "typical",
}

_TABLE = "All scores and indices"
# The description of the score needs more width than the select of votes.
_NARROW = """
@media (max-width: 1150px) {
  :host { --votes: calc(100px * var(--cl-scale, 1)); width: var(--votes) !important;
    min-width: var(--votes) !important; flex-basis: var(--votes) !important; }
  .select { min-width: 0 !important; width: 100% !important; }
}
"""


class RankingTable(Card):
    """Ranking of the selected run, the most typical model first."""

    needs = ("ranking", "rows", "ensemble", "copies", "answers?")
    also = (
        *RESULTS,
        "view.by_distance",
        "view.short_ranking",
        "displayed_partition",
        "links",
        "view.since",
        "runs",
        "run_id?",
    )
    first = True
    empty = f"<b>No run yet.</b> {TO_A_RUN}; what the models agree on appears here."

    def build(self) -> Any:
        self._note = Text(does=self._count_from, css_classes=["cl-ranking-note"])
        self._rows = np.empty(0, np.intp)
        self._run_names: dict[str, str] = {}
        self._drawn: list[Any] = [None]
        self.shown: dict[str, Any] = {}
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
                sx=TWO_LINES,
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
            "<p class='muted between'><span><kbd>↑</kbd> <kbd>↓</kbd> select, "
            "<kbd>Enter</kbd> Clusters</span>"
            f"{link('all scores', 'table', css='cl-table-open', name=_TABLE)}</p>",
            does=lambda what: setattr(session.view_state, "table_open", True),
            css_classes=["cl-ranking-keys"],
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
        """Offer the runs and return the selected one."""
        analysis = self.session.analysis
        names: dict[str, str] = {}
        for run in analysis.runs:
            name = f"{run.name} · {run.dataset.name}"
            names[name if name not in names else f"{name} ({run.id})"] = run.id
        if names != self._run_names:
            self._run_names = names
            # Hidden for a moment, as by undo and redo of a run, it would lose the focus
            # and close its menu under the hand.
            steps = self.session.history.steps
            returns = any(len(step.analysis.runs) > 1 for step in steps)
            offered = len(names) > 1 or (self._run.visible and returns)
            self._run.param.update(options=names, visible=offered)
        return analysis.run_id

    def _choose_run(self, run_id: str) -> None:
        """Select another run; a partial run continues."""
        session = self.session
        session.view_state.so_far = False
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
        short_ranking: Result,
        displayed_partition: Result,
        links: Result,
        since: Result,
        **more: Result,
    ) -> None:
        """Show the rows, then mark the selected one."""
        self._votes.visible = True
        self._note.body = (
            f"<p class='muted'>{safe(pool_make_up(ensemble).text)}{_silent(ensemble)}"
            f"{_alike(copies, rows)}</p>"
            f"{_fitting(answers, by_distance.value, word(ranking))}"
            f"{_counted_from(links.value, since.value)}"
        )
        fits = answers is not None and not by_distance.value
        known: dict[str, Any] = {**more, "links": links, "ranking": ranking}
        known |= {"rows": rows, "ensemble": ensemble}
        known |= {"copies": copies, "answers": answers}
        drawn = [ranking, fits and answers, short_ranking.value]
        for name in RESULTS:
            drawn += [known[name].state, known[name].value]
        table: dict[str, Any] = {}
        self._rows = rows
        if any(map(is_not, drawn, self._drawn)):
            self._drawn = drawn
            self.shown = written(
                "fits" if fits else "distances", known, short=short_ranking.value
            )
            table["table"] = json.dumps(self.shown)
            table["css_classes"] = ["cl-ranking-table", *["cl-posterior"] * fits]
        place = None
        if displayed_partition.ready and displayed_partition.value.model is not None:
            here = np.flatnonzero(
                copies[rows] == copies[displayed_partition.value.model]
            )
            place = int(here[0]) if len(here) else None
        self._table.param.update(selected=place, **table)

    def _count_from(self, what: str) -> None:
        """Count changes of rank from the present links, or from no links.

        Also switches between probabilities of the models and their distances.
        """
        if what in ("distance", "fits"):
            self.session.view_state.by_distance = what == "distance"
            return
        self.session.view_state.since = (
            self.session.analysis.links if what == "now" else ()
        )

    def _select(self, row: int) -> None:
        """Select the model of a row."""
        if row < len(self._rows):
            model = int(self._rows[row])
            self.session.view_state.param.update(model=model, tab="model")


def _silent(ensemble: Ensemble) -> str:
    """Write how many models and kept partitions are ranked without a vote."""
    kept = int(np.count_nonzero(ensemble.weights == 0))
    models = int(np.count_nonzero(ensemble.votes == 0)) - kept
    silent = [count(models, "model")] * bool(models)
    silent += [count(kept, "kept partition")] * bool(kept)
    return f" · ○ {' and '.join(silent)} without a vote" if silent else ""


def _alike(copies: np.ndarray, rows: np.ndarray) -> str:
    """Write that a row may stand for several models, which all count in the ranks."""
    if len(rows) == len(copies):
        return ""
    return (
        " · <span class='cl-equal-models'>×2 stands for two equal models, ×10 for "
        "ten; ranks count each</span>"
    )


def _counted_from(links: tuple[Link, ...], since: tuple[Link, ...]) -> str:
    """Write the reference of the changes of rank, with the alternatives."""
    if not links and not since:
        return ""
    text = "no change of links" if set(links) == set(since) else "ranks won and lost"
    text += f" since there were {count(len(since), 'link')}" if since else " by links"
    choices = [link("count from now", "now", css="cl-since-now")] * (links != since)
    choices += [link("count from no links", "none", css="cl-since-none")] * bool(since)
    return f"<p class='muted'>▲▼ {text} · {' · '.join(choices)}</p>"


def _fitting(found: Answers | None, by_distance: bool, word: str) -> str:
    """Write the meaning of the bars if there are answers, with the alternative."""
    if found is None:
        return ""
    if by_distance:
        meaning, other = f"Bars: {word}, and orange what answers add", "fits"
        words = "show how well they fit your answers"
    else:
        meaning = (
            f"Bars: how likely each is yours after {count(found.n_answers, 'answer')}; "
            "tick: before"
        )
        other, words = "distance", f"show {word} and ranges"
    return f"<p class='muted'>{meaning} · {link(words, other, css='cl-bars')}</p>"
