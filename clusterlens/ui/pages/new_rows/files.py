"""Card of the files of new rows, and the command for the console."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from clusterlens.compute.assigning.few_columns import TypingTool
from clusterlens.compute.assigning.rules import ClusterRules
from clusterlens.compute.assigning.segmentation import Segmentation
from clusterlens.compute.formatting import count
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.saving import save_file
from clusterlens.ui.exports.new_rows import (
    SEGMENTATION_SUFFIX,
    assigned_rows,
    console_line,
    segmentation_bytes,
    workbook_bytes,
)
from clusterlens.ui.exports.rows import file_stem, rows_to_csv, rows_to_parquet
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.state.analysis import KeptPartition
from clusterlens.ui.widgets.scripted import Download, Text
from clusterlens.ui.widgets.toolkit import card, copier, link, safe

CSS = """
.files { display: flex; flex-wrap: wrap; gap: 6px 12px; align-items: center; }
.files code { background: color-mix(in srgb, currentColor 8%, transparent);
  padding: 3px 8px; border-radius: 4px; overflow-wrap: anywhere; }
"""


@dataclass(frozen=True)
class Found:
    """Inputs of the files; None if an input is not ready."""

    kept: KeptPartition
    segmentation: Segmentation
    table: Dataset | None
    assigned: pd.DataFrame | None
    rules: ClusterRules | None
    typing: TypingTool | None


@dataclass(frozen=True)
class File:
    """A file: its button, its input, the end of its name, and its maker."""

    label: str
    needs: str
    ending: str
    make: Callable[[Any], bytes]


FILES = {
    "csv": File(
        "Rows CSV",
        "assigned",
        "assigned.csv",
        lambda found: rows_to_csv(assigned_rows(found.table, found.assigned)),
    ),
    "parquet": File(
        "Rows Parquet",
        "assigned",
        "assigned.parquet",
        lambda found: rows_to_parquet(assigned_rows(found.table, found.assigned)),
    ),
    "sql": File(
        "SQL of the rules",
        "rules",
        "rules.sql",
        lambda found: found.rules.to_sql().encode(),
    ),
    "excel": File(
        "Excel typing tool",
        "typing",
        "questions.xlsx",
        lambda found: workbook_bytes(found.typing),
    ),
    "segmentation": File(
        "Segmentation file",
        "segmentation",
        SEGMENTATION_SUFFIX,
        lambda found: segmentation_bytes(found.segmentation),
    ),
}


class AssignedFiles(Card):
    """A button for each file, and a command that does the same without a browser."""

    needs = ("kept_partition", "segmentation")
    also = ("new_table?", "assigned", "cluster_rules?", "typing_tool?")

    def build(self) -> Any:
        self._text = Text(
            does=self._make, stylesheets=[CSS], css_classes=["cl-assigned-files"]
        )
        self._download = Download()
        self._found: Found | None = None
        return card(
            "Take away",
            self._text,
            self._download,
            note=self.status,
            css="cl-new-rows-files",
            fills=False,
        )

    def show(
        self,
        kept_partition: KeptPartition,
        segmentation: Segmentation,
        new_table: Result,
        assigned: Result,
        cluster_rules: Result,
        typing_tool: Result,
    ) -> None:
        """Offer the files with ready inputs."""
        self._found = found = Found(
            kept_partition,
            segmentation,
            new_table.value,
            assigned.value,
            cluster_rules.value,
            typing_tool.value,
        )
        buttons = "".join(
            link(file.label, key, kind="pill", css=f"cl-take-{key}")
            for key, file in FILES.items()
            if getattr(found, file.needs) is not None
        )
        name = f"{_stem(kept_partition.name)}{SEGMENTATION_SUFFIX}"
        line = console_line(name, found.table.name if found.table else "table.csv")
        self._text.body = (
            f"<div class='files'><span>{buttons}</span><span><code>{safe(line)}</code> "
            f"{copier('copy', line)}</span></div><p class='muted'>The segmentation "
            f"file holds {_held(segmentation)}; other tools need no ClusterLens for "
            "the rest.</p>"
        )

    def _make(self, key: str) -> None:
        """Make a file on a thread, then send it to the browser."""
        found, file = self._found, FILES.get(key)
        if found is None or file is None or getattr(found, file.needs) is None:
            return
        name = f"{_stem(found.kept.name)}{SEGMENTATION_SUFFIX}"
        if file.needs == "assigned" and found.table is not None:
            name = f"{file_stem(found.table.name)}-{file.ending}"
        elif file.needs in ("rules", "typing"):
            name = f"{_stem(found.kept.name)}-{file.ending}"
        save_file(
            self.session, self._download, name, file.label, lambda: file.make(found)
        )


def _stem(name: str) -> str:
    """Return the name of a segmentation as the stem of a file name, with its dots."""
    return file_stem(f"{name}{SEGMENTATION_SUFFIX}")


def _held(segmentation: Segmentation) -> str:
    n = len(segmentation.assigner.rows)
    if not n:
        return "centres and scales, no row of the table"
    return f"{count(n, 'row')} of the table as prototypes, scaled and without their ids"
