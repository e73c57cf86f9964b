"""Rows of the new table with their clusters, the least sure ones first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute._numbers import count, whole
from clusterlens.compute.assigning.segmentation import Segmentation
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.kit.components import Text
from clusterlens.ui.kit.palette import cluster_colour
from clusterlens.ui.kit.widgets import card, mark, safe, select
from clusterlens.ui.kit.words import fixed, number
from clusterlens.ui.pages.new_rows.nodes import cluster_of, is_nowhere
from clusterlens.ui.parts.panel import Panel
from clusterlens.ui.work.derived import Result

SHOWN_COLUMNS = 4
ORDERS = {
    "least sure": "least sure",
    "most sure": "most sure",
    "belong nowhere": "nowhere",
}


class AssignedRows(Panel):
    """A list of at most two hundred rows; the file has all."""

    needs = ("assigned", "listed_rows", "segmentation", "new_table")
    also = ("look.new_rows_first",)
    empty = "<p class='muted'>Rows stand here once a new table is placed.</p>"
    tells_failure = False

    def build(self) -> Any:
        look = self.session.look
        order = self.control(
            select("First", ORDERS, css="cl-new-rows-order", width=160),
            lambda: look.new_rows_first,
            lambda first: setattr(look, "new_rows_first", first),
        )
        self._head = Text(styles={"flex": "none"})
        self._rows = Text(
            css_classes=["cl-assigned-rows"],
            scrolls=True,
            sizing_mode="stretch_both",
            styles={"flex": "1 1 0", "min-height": "0"},
        )
        return card(
            "Placed rows",
            self._head,
            self._rows,
            note=self.status,
            buttons=[order],
            css="cl-placed-rows",
        )

    def show(
        self,
        assigned: pd.DataFrame,
        listed_rows: np.ndarray,
        segmentation: Segmentation,
        new_table: Dataset,
        new_rows_first: Result,
    ) -> None:
        """Write the rows in their order."""
        total = len(assigned)
        of = int(is_nowhere(assigned).sum()) if new_rows_first.value == "nowhere" else 0
        what = f"{count(of, 'row')} belong nowhere" if of else count(total, "row")
        first = f", the first {whole(len(listed_rows))} shown"
        more = first if len(listed_rows) < (of or total) else ""
        self._head.body = f"<p class='muted'>{what}{more}.</p>"
        columns = list(segmentation.columns[:SHOWN_COLUMNS])
        heads = "".join(f"<th class='number'>{safe(name)}</th>" for name in columns)
        cells = new_table.table.iloc[listed_rows][columns]
        far, shown = is_nowhere(assigned), assigned.iloc[listed_rows]
        lines = "".join(
            _line(row, far[at], values, segmentation)
            for at, row, values in zip(
                listed_rows.tolist(),
                shown.itertuples(),
                cells.itertuples(index=False, name=None),
                strict=True,
            )
        )
        self._rows.body = (
            "<table class='rows'><tr><th>row</th><th>cluster</th>"
            "<th class='number'>margin</th><th>next</th>"
            f"{heads}</tr>{lines}</table>"
        )


def _line(
    row: Any,
    far: bool,
    values: tuple[Any, ...],
    segmentation: Segmentation,
) -> str:
    """One row of the new table as markup."""
    _, label, name, margin, other, *_ = row
    own = mark(cluster_colour(cluster_of(int(label))), safe(name))
    nowhere = "<b title='belongs nowhere'>✕ nowhere</b>, nearest " if far else ""
    beside = "–"
    if pd.notna(other):
        there = safe(segmentation.names[int(other)])
        beside = mark(cluster_colour(cluster_of(int(other))), there)
    cells = "".join(f"<td class='number'>{safe(number(v))}</td>" for v in values)
    return (
        f"<tr><td>{safe(row.Index)}</td><td class='cut'>{nowhere}"
        f"{own}</td><td class='number'>{fixed(float(margin), 2)}</td>"
        f"<td class='cut'>{beside}</td>{cells}</tr>"
    )
