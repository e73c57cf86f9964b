"""Pairs whose answers tell most about the ranking; a click takes one."""

from __future__ import annotations

from typing import Any

from clusterlens.compute._numbers import percent
from clusterlens.compute.ranking.suggestions import Suggestion
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.kit.components import Text
from clusterlens.ui.kit.widgets import link, pn, safe
from clusterlens.ui.parts.moves import take_suggestion
from clusterlens.ui.parts.panel import Panel


class SuggestedPairs(Panel):
    """Row ids, the share of what is open that the answer settles, and the reason."""

    needs = ("suggestions", "samples")

    def build(self) -> Any:
        self._text = Text(does=self._take, css_classes=["cl-suggestions"])
        head = Text(
            "<h3>Most informative next pairs</h3><p class='muted'>What each answers of "
            "all that the models still disagree about.</p>"
        )
        return pn.Column(
            head, self.status, self._text, margin=0, sizing_mode="stretch_width"
        )

    def show(self, suggestions: tuple[Suggestion, ...], samples: Dataset) -> None:
        """List the pairs, or say that there is nothing to ask."""
        if not any(some.information for some in suggestions):
            self._text.body = (
                "<p class='muted'>The models that fit the links agree on all pairs: "
                "nothing to ask.</p>"
            )
            return
        self._text.body = "".join(
            _entry(some, samples) for some in suggestions if some.information
        )

    def _take(self, what: str) -> None:
        i, _, j = what.partition(" ")
        take_suggestion(self.session, (int(i), int(j)))


def _entry(some: Suggestion, samples: Dataset) -> str:
    i, j = some.pair
    rows = f"{safe(samples.row_ids[i])} – {safe(samples.row_ids[j])}"
    settled = percent(some.information)
    return (
        f"<p class='between'>{link(rows, f'{i} {j}')}"
        f"<span class='muted' title='expected information'>answers {settled}</span></p>"
        f"<p class='muted'>{safe(some.reason)}</p>"
    )
