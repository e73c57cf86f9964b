"""Panel: the answer in one sentence, with the caveats that keep it honest."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterlens.ui.kit import CARD_STYLE, badge, markup, pmu, pn, safe, span
from clusterlens.ui.session import Session

MODEST_FALL = 3


class Headline(pn.viewable.Viewer):
    """Which model is closest to what the pool agrees on, and how far to trust it."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._text = markup(sizing_mode="stretch_width")
        session.param.watch(self._write, ["ranking", "robustness"])

    def _write(self, *events: Any) -> None:
        if self.session.ranking is not None:
            self._text.object = "".join(
                (
                    "<p>",
                    self._answer(),
                    self._stability(),
                    "</p><p class='muted'>",
                    safe(self.session.run.make_up),
                    ". Most typical of this pool, not proven true: another pool may ",
                    "agree on something else. ",
                    self._badge(),
                    "</p>",
                )
            )

    def _answer(self) -> str:
        session = self.session
        names, ranks = session.run.ensemble.names, session.ranking.ranks
        first = np.flatnonzero(ranks == 1)
        text = f"Closest to what this pool agrees on: <b>{safe(names[first[0]])}</b>"
        if len(first) > 1:
            text += f" (and {len(first) - 1} more models with the same score)"
        return text + ". "

    def _stability(self) -> str:
        """Say what becomes of the leader without a family and under majority."""
        robustness = self.session.current_robustness
        if robustness is None:
            return "<span class='muted'>Checking it without each family …</span>"
        leader = self.session.ranking.order[0]
        low, high = robustness.lowest[leader], robustness.highest[leader]
        if np.isnan(low):
            kept = (
                "All models are of one family, so nothing tells whether the order "
                "survives without it"
            )
        else:
            kept = (
                f"It keeps rank {span(low, high)} when any one family of models is "
                "left out"
            )
        majority = int(robustness.ranks_majority[leader])
        if majority <= max(MODEST_FALL, np.nan_to_num(high)):
            return f"{kept}, and rank {majority} if a majority must agree."
        return (
            f"{kept}, <span class='warn'>but falls to {majority} if a majority must "
            "agree</span>."
        )

    def _badge(self) -> str:
        run = self.session.run
        count = f"{run.ensemble.n_samples:,} samples"
        if run.agreement.exact:
            return badge(f"computed on all {count}")
        some = f"{run.compared.n_samples:,}"
        return badge(f"estimated from {some} of {count}", kind="estimate")

    def __panel__(self) -> Any:
        return pmu.Paper(
            self._text,
            css_classes=["cl-headline"],
            sx=CARD_STYLE,
            margin=4,
            sizing_mode="stretch_width",
        )
