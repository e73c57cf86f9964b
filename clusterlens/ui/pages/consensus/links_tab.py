"""Tab of links: the pair in question, suggestions, and the links."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.components.card import Card
from clusterlens.ui.pages.consensus.answer_by_answer import AnswerByAnswer
from clusterlens.ui.pages.consensus.answers_said import AnswerSummary
from clusterlens.ui.pages.consensus.closer_look import CloserLook
from clusterlens.ui.pages.consensus.link_list import LinkList
from clusterlens.ui.pages.consensus.made_models import MadeModels
from clusterlens.ui.pages.consensus.pair_card import PairCard
from clusterlens.ui.pages.consensus.suggested_pairs import SuggestedPairs
from clusterlens.ui.widgets.style import COLUMN, SCROLL
from clusterlens.ui.widgets.toolkit import pn


class LinksTab(Card):
    """Parts, one below the other, that scroll together; more models not in a lesson."""

    def build(self) -> Any:
        more = () if self.session.in_lesson else (CloserLook, MadeModels)
        parts = PairCard, SuggestedPairs, AnswerSummary, AnswerByAnswer, *more, LinkList
        self.parts = [part(self.session) for part in parts]
        return pn.Column(
            *(part.view for part in self.parts),
            sizing_mode="stretch_both",
            margin=0,
            styles={**COLUMN, **SCROLL},
        )

    def set_visible(self, visible: bool) -> None:
        """Let the parts watch their results while visible."""
        for part in self.parts:
            part.set_visible(visible)
