"""Card of the clusters of all rows: sizes and profiles from the stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterlens.compute.scale.result import ScaledRun
from clusterlens.ui.components.card import Card
from clusterlens.ui.exports.all_rows import write_sizes
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.all_rows.nodes import Labelling
from clusterlens.ui.state.analysis import AnalysisResult
from clusterlens.ui.widgets.palette import file_labels
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card

CSS = """
td { vertical-align: top; overflow-wrap: anywhere; }
td.number { white-space: nowrap; }
td:first-child { min-width: 6.5em; }
"""


class AllRowsClusters(Card):
    """Rows of each cluster beside its share of the landmarks, and its columns."""

    needs = ("all_rows", "all_rows_names", "labelling")
    also = ("result?",)
    tells_failure = False

    def build(self) -> Any:
        self._text = Text(
            css_classes=["cl-all-rows-sizes"],
            stylesheets=[CSS],
            scrolls=True,
            styles={"flex": "1 1 0", "min-height": "0"},
        )
        return card(
            "Clusters of all rows", self._text, note=self.status, css="cl-all-rows"
        )

    def show(
        self,
        all_rows: ScaledRun,
        all_rows_names: dict[int, str],
        labelling: Labelling,
        result: Result,
    ) -> None:
        """Write a line per cluster, with its share of the landmarks if it is known."""
        shares = _landmark_shares(result.value if labelling.is_current else None)
        self._text.body = write_sizes(all_rows, all_rows_names, shares)


def _landmark_shares(result: AnalysisResult | None) -> dict[int, float]:
    """Return the share of the landmarks in each cluster, by its label in the files."""
    if result is None:
        return {}
    labels = file_labels(result.clusters)
    of_rows = labels[result.dataset.positions[result.dataset.positions >= 0]]
    known, counts = np.unique(of_rows, return_counts=True)
    return dict(zip(known.tolist(), (counts / counts.sum()).tolist(), strict=True))
