"""Suggested pairs with the most informative answers; a click opens one."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.formatting import percent
from clusterlens.compute.ranking.suggestions import Suggestion
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.commands import (
    go_on_asking,
    take_suggestion,
    toggle_streak,
)
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import link, pn, safe


class SuggestedPairs(Card):
    """Row ids, the share of the open questions that an answer settles, the reason."""

    needs = ("suggestions", "samples", "view.pair", "view.streak")

    def build(self) -> Any:
        self._text = Text(does=self._take, css_classes=["cl-suggestions"])
        head = Text(
            "<h3>Most informative next pairs</h3><p class='muted'>What each answers of "
            "all that the models still disagree about.</p>"
        )
        self._streak = Text(does=self._toggle, css_classes=["cl-streak"])
        return pn.Column(
            head,
            self._streak,
            self.status,
            self._text,
            margin=0,
            sizing_mode="stretch_width",
        )

    def show(
        self,
        suggestions: tuple[Suggestion, ...],
        samples: Dataset,
        pair: tuple[int, ...],
        streak: bool,
    ) -> None:
        """List the pairs, or write that no question is left."""
        self._streak.body = _streak(streak)
        go_on_asking(self.session)
        if not any(some.information for some in suggestions):
            self._text.body = (
                "<p class='muted'>Nothing is worth asking: no answer would change what "
                "is shown.</p>"
            )
            return
        self._text.body = "".join(
            _entry(some, samples) for some in suggestions if some.information
        )

    def _toggle(self, what: str) -> None:
        toggle_streak(self.session)

    def _take(self, what: str) -> None:
        i, _, j = what.partition(" ")
        take_suggestion(self.session, (int(i), int(j)))


def _streak(on: bool) -> str:
    """Offer to answer pairs in a row, or list the keys."""
    if on:
        keys = "<kbd>M</kbd> together, <kbd>C</kbd> apart, <kbd>U</kbd> unsure"
        stop = link("stop <kbd>Esc</kbd>", "streak")
        return f"<p><b>In a row:</b> {keys}, <kbd>Space</kbd> another. {stop}</p>"
    offer = link("Answer in a row <kbd>S</kbd>", "streak", kind="pill")
    return f"<p>{offer}</p>"


def _entry(some: Suggestion, samples: Dataset) -> str:
    i, j = some.pair
    rows = f"{safe(samples.row_ids[i])} – {safe(samples.row_ids[j])}"
    settled = percent(some.information)
    return (
        f"<p class='between'>{link(rows, f'{i} {j}')}"
        f"<span class='muted' title='expected information'>answers {settled}</span></p>"
        f"<p class='muted'>{safe(some.reason)}</p>"
    )
