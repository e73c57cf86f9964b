"""Card of the models for all rows: scores with intervals, error of the landmarks."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.scale.result import ScaledRun
from clusterlens.ui.components.card import Card
from clusterlens.ui.exports.all_rows import write_models
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card

CSS = """
td { overflow-wrap: anywhere; vertical-align: top; }
td.number { white-space: nowrap; }
"""


class AllRowsModels(Card):
    """The models, ranked on all rows."""

    needs = ("all_rows",)
    tells_failure = False

    def build(self) -> Any:
        self._text = Text(
            css_classes=["cl-all-rows-ranking"],
            stylesheets=[CSS],
            scrolls=True,
            styles={"flex": "1 1 0", "min-height": "0"},
        )
        return card(
            "Models on all rows",
            self._text,
            note=self.status,
            css="cl-all-rows-models",
        )

    def show(self, all_rows: ScaledRun) -> None:
        """Write a line per model, the one closest to the consensus first."""
        self._text.body = write_models(all_rows)
