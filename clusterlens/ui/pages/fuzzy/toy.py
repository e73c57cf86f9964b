"""Card of the paper's toy example: ten pairs, five values, five orders."""

from __future__ import annotations

from typing import Any

import pandas as pd

from clusterlens.compute.fuzzy.random_models import RANDOM_MODELS
from clusterlens.ui.components.card import Card
from clusterlens.ui.pages.fuzzy.nodes import MODELS
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, safe
from clusterlens.ui.widgets.words import fixed

# Values that differ by less are equal up to rounding, and share a rank.
_TIE = 1e-6

TOY_CSS = """
td, th { white-space: nowrap; padding-block: 1px; }
@media (max-width: 1150px) { table { font-size: .857em; } td, th { padding: 1px 3px; } }
"""


class FuzzyToy(Card):
    """Table 2 of the paper, computed here, with the rank of every value."""

    needs = ("fuzzy_toy",)

    def build(self) -> Any:
        how = Text(
            "<p class='how'>Five partitions of nine samples into three clusters: "
            "hardly fuzzy (LF), hard (H), very fuzzy (HighF). Each model ranks the ten "
            "pairs in another order; small figures are ranks, 1 most alike. Click a "
            "pair to open it.</p>"
        )
        self._text = Text(
            does=self._open,
            css_classes=["cl-fuzzy-toy"],
            stylesheets=[TOY_CSS],
            scrolls=True,
        )
        return card(
            "The toy example of DeWolfe & Andrews (2025)",
            how,
            self._text,
            note=self.status,
            css="cl-fuzzy-toys",
        )

    def show(self, fuzzy_toy: pd.DataFrame) -> None:
        """Write the table."""
        columns = ("ndc", *MODELS)
        ranks = {name: rank_with_ties(fuzzy_toy[name]) for name in columns}
        titles = ("NDC", *(RANDOM_MODELS[model].title for model in MODELS))
        head = "".join(f"<th class='number'>{title}</th>" for title in titles)
        body = ""
        for at, row in enumerate(fuzzy_toy.itertuples(index=False)):
            cells = "".join(
                f"<td class='number'>{fixed(getattr(row, name), 4)} "
                f"<small class='muted'>{ranks[name][at]}</small></td>"
                for name in columns
            )
            body += (
                f"<tr><td>{at + 1}</td><td><button class='link' data-do='{row.u} "
                f"{row.v}'>{safe(row.u)} – {safe(row.v)}</button></td>{cells}</tr>"
            )
        self._text.body = (
            f"<table><tr><th></th><th>pair</th>{head}</tr>{body}</table>"
            "<p class='muted'>Pairs 1 and 10 tie under Permutation (1/13). The printed "
            "ranks differ twice there and once under Fit; these agree with the "
            "published program.</p>"
        )

    def _open(self, what: str) -> None:
        u, v = what.split()
        self.session.view_state.param.update(fuzzy_u=u, fuzzy_v=v)


def rank_with_ties(values: pd.Series) -> list[int]:
    """Rank values, the highest first; values equal up to rounding share a rank."""
    return [1 + int((values > value + _TIE).sum()) for value in values]
