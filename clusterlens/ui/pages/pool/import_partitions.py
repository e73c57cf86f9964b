"""Card that imports partitions of other tools from a table of label columns."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.kit.components import Text
from clusterlens.ui.kit.widgets import card, pmu, pn
from clusterlens.ui.parts.panel import Panel

MAX_FILE_SIZE = "1GB"
CHUNK_BYTES = 10_000_000
HOW = (
    "<p class='muted'>A column of labels per model, rows joined by their ids: CSV, "
    "TSV, Parquet, Excel or NumPy, also as <i>clue</i>, <i>diceR</i> and "
    "<i>ConsensusClusterPlus</i> write them. A model says nothing about "
    "rows without a label; pairs are counted over the models that saw both.</p>"
)


class ImportPartitions(Panel):
    """Drop zone for partitions, used alone or with the models of the run."""

    needs = ("dataset",)
    also = ("run?",)
    empty = "<p>Load a table first; the partitions are joined to its rows.</p>"

    def build(self) -> Any:
        self._dropper = pn.widgets.FileDropper(
            multiple=False,
            max_file_size=MAX_FILE_SIZE,
            chunk_size=CHUNK_BYTES,
            height=60,
            sizing_mode="stretch_width",
            css_classes=["cl-import-file"],
            margin=0,
        )
        self._dropper.param.watch(self._take, "value")
        self._mixed = pmu.Switch(
            label="together with the models of this run",
            value=True,
            margin=0,
            css_classes=["cl-import-mixed"],
        )
        return card(
            "Partitions from elsewhere",
            Text(HOW),
            self._dropper,
            self._mixed,
            note=self.status,
            css="cl-import",
            fills=False,
        )

    def prepare(self, results: Any) -> None:
        """Offer to mix if there is a run of this table."""
        dataset, run = results["dataset"], results["run"]
        self._dropper.visible = dataset.ready
        self._mixed.visible = bool(
            dataset.ready and run.value and run.value.dataset is dataset.value
        )

    def show(self, **values: Any) -> None:
        """Do nothing: the card shows only its controls."""

    async def _take(self, event: Any) -> None:
        """Read a dropped file; its content is hashed on a thread."""
        if not event.new:
            return
        name, content = next(iter(event.new.items()))
        self._dropper.value = {}
        given = content.encode() if isinstance(content, str) else content
        key = await self.session.server.in_thread(self.session.keep_file, given)
        mixed = bool(self._mixed.visible and self._mixed.value)
        look = {"page": "consensus"}
        await self.session.act(
            "import partitions", look=look, name=name, sha256=key, mixed=mixed
        )
