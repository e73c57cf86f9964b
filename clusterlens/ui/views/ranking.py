"""Panel: the models in the order of the chosen score; a row selects a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute.ranking.ranking import SCORES
from clusterlens.ui.kit import badge, card, markup, pn, span, table
from clusterlens.ui.session import Session

TITLES = {
    "rank": "#",
    "model": "model",
    "copies": "same",
    "family": "family",
    "n_clusters": "k",
    "bar": "distance",
    "score": "score",
    "range": "range",
    "majority": "majority",
}
WIDTHS = {
    "rank": 36,
    "copies": 50,
    "family": 100,
    "bar": 140,
    "n_clusters": 44,
    "score": 74,
    "range": 64,
    "majority": 72,
}
PAGE_SIZE = 10
NUMBERS = ("copies", "n_clusters", "score", "range", "majority")


class RankingTable(pn.viewable.Viewer):
    """Ranking of the run on screen, best first."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._note = markup()
        self._rows = np.empty(0, np.intp)
        self._table = table(
            self._frame(),
            css="cl-ranking-table",
            titles=TITLES,
            selectable=1,
            pagination="remote",
            page_size=PAGE_SIZE,
            layout="fit_columns",
            formatters={
                "bar": {"type": "progress", "min": 0, "max": 1, "color": "#0b8a8a"}
            },
            text_align=dict.fromkeys(NUMBERS, "right"),
            widths=WIDTHS,
        )
        self._updating = False
        self._table.param.watch(self._select, "selection")
        session.param.watch(self._show, ["ranking", "robustness"])
        session.param.watch(self._mark, ["model"])

    def _frame(self) -> pd.DataFrame:
        """One row per distinct partition, best first, as the table shows it."""
        session = self.session
        if session.ranking is None:
            return pd.DataFrame({column: [] for column in TITLES})
        ranking = session.ranking
        order = self._rows = session.run.distinct(ranking.order)
        frame = ranking.to_frame().loc[order]
        values = frame["score"].to_numpy(float)
        frame["bar"] = _bar(values, ranking.greater_is_better)
        frame["score"] = [f"{value:.4f}" for value in values]
        robustness = session.current_robustness
        if robustness is None:
            frame["range"], frame["majority"] = "…", "…"
        else:
            frame["range"] = [
                span(low, high)
                for low, high in zip(
                    robustness.lowest[order], robustness.highest[order], strict=True
                )
            ]
            frame["majority"] = robustness.ranks_majority[order]
        return frame[list(TITLES)].reset_index(drop=True)

    def _show(self, *events: Any) -> None:
        score = SCORES[self.session.score]
        self._table.titles = TITLES | {
            "bar": "agreement" if score.greater_is_better else "distance"
        }
        bar = "longer" if score.greater_is_better else "shorter"
        note = badge(f"{score.title}: {bar} bar = closer")
        self._note.object = (
            f"<p class='muted'>{note} <b>same</b>: models alike · "
            "<b>range</b>: ranks without any one family · <b>majority</b>: rank "
            "by majority</p>"
        )
        self._updating = True
        self._table.value = self._frame()
        self._updating = False
        self._mark()

    def _mark(self, *events: Any) -> None:
        """Select the row of the selected model and turn to its page."""
        session = self.session
        if session.ranking is None or session.model < 0:
            return
        copy_of = session.run.copy_of
        at = int(np.flatnonzero(copy_of[self._rows] == copy_of[session.model])[0])
        self._updating = True
        self._table.selection = [at]
        self._table.page = at // self._table.page_size + 1
        self._updating = False

    def _select(self, event: Any) -> None:
        if not self._updating and event.new:
            self.session.model = int(self._rows[event.new[0]])

    def __panel__(self) -> Any:
        return card(
            "Ranking", self._note, self._table, css="cl-ranking", flex="3 1 600px"
        )


def _bar(values: np.ndarray, greater_is_better: bool) -> np.ndarray:
    """Scale scores to bar lengths in [0, 1]; the longest bar is the largest value."""
    floor = min(0.0, float(np.nanmin(values))) if greater_is_better else 0.0
    top = float(np.nanmax(values)) - floor
    return (values - floor) / top if top > 0 else np.zeros(len(values))
