"""Card that imports partitions of other tools from a table of label columns."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.components.card import Card
from clusterlens.ui.server.uploads import FileTaker, Upload
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, pmu

HOW = (
    "<p class='muted'>A column of labels per model, rows joined by their ids: CSV, "
    "TSV, Parquet, Excel or NumPy, also as <i>clue</i>, <i>diceR</i> and "
    "<i>ConsensusClusterPlus</i> write them. A model says nothing about "
    "rows without a label; pairs are counted over the models that saw both.</p>"
)


class ImportPartitions(Card):
    """Drop zone for partitions, used alone or with the models of the run."""

    needs = ("dataset",)
    also = ("run?",)
    empty = "<p>Load a table first; the partitions are joined to its rows.</p>"

    def build(self) -> Any:
        self._file = FileTaker(
            self._take,
            zone="Drop a table of labels here, or",
            css_classes=["cl-import-file"],
            sizing_mode="stretch_width",
        )
        self._mixed = pmu.Switch(
            label="together with the models of this run",
            value=True,
            margin=0,
            css_classes=["cl-import-mixed"],
        )
        return card(
            "Partitions from elsewhere",
            Text(HOW),
            self._file,
            self._mixed,
            note=self.status,
            css="cl-import",
            fills=False,
        )

    def prepare(self, results: Any) -> None:
        """Offer to mix if there is a run of this table."""
        dataset, run = results["dataset"], results["run"]
        self._file.visible = dataset.ready
        self._mixed.visible = bool(
            dataset.ready and run.value and run.value.dataset is dataset.value
        )

    def show(self, **values: Any) -> None:
        """Do nothing: the card shows only its controls."""

    async def _take(self, upload: Upload) -> None:
        """Read a dropped file; its content is hashed on a thread."""
        content = await self.session.arrival(upload)
        if content is None:
            return
        key = await self.session.server.in_thread(self.session.keep_file, content)
        mixed = bool(self._mixed.visible and self._mixed.value)
        view_state = {"page": "consensus"}
        await self.session.act(
            "import partitions",
            view_state=view_state,
            name=upload.name,
            sha256=key,
            mixed=mixed,
        )
