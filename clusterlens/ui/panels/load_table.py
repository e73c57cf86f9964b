"""From a dropped file, a pasted table or an example to a table."""

from __future__ import annotations

import asyncio
from typing import Any

from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.examples import EXAMPLES
from clusterlens.ui.kit import CARD_STYLE, TEXT_CSS, Text, about, pmu, pn
from clusterlens.ui.memory.archive import SUFFIX
from clusterlens.ui.panels.panel import Panel

MAX_FILE_SIZE = "1000MB"
CHUNK_BYTES = 5_000_000
PASTED = "pasted table"


# Height of the drop zone with and without a table.
SMALL, LARGE = 76, 132
WELCOME = """<h1>ClusterLens runs many clusterings of one table, shows what they agree
on, and ranks every model by its distance to that consensus.</h1>
<p class="muted"><b>1 Load a table</b>: column roles are guessed, with reasons&ensp;→
&ensp;<b>2 Run a pool</b>: dozens of clusterings, cost stated first&ensp;→&ensp;
<b>3 Read the consensus</b>: where models agree, and where they do not</p>"""
HEADING = "h1 { font-size: 18px; font-weight: 400; margin: 0 0 4px; }"


class LoadTable(Panel):
    """Drop zone, examples, and a field to paste into; large where there is no table."""

    needs = ("table?",)

    def build(self) -> Any:
        self._dropper = pn.widgets.FileDropper(
            multiple=False,
            max_file_size=MAX_FILE_SIZE,
            chunk_size=CHUNK_BYTES,
            height=SMALL,
            sizing_mode="stretch_width",
            css_classes=["cl-file"],
            margin=0,
        )
        self._dropper.param.watch(self._take_file, "value")
        self._example = pmu.Select(
            label="Example",
            options={entry.title: key for key, entry in EXAMPLES.items()},
            size="small",
            width=250,
            margin=(10, 8, 0, 12),
            css_classes=["cl-example"],
        )
        load = pmu.Button(
            label="Load example",
            variant="outlined",
            margin=(10, 0, 0, 0),
            on_click=self._load_example,
            css_classes=["cl-load-example"],
        )
        self._formats = Text(
            '<p class="muted">CSV, TSV or text (also .gz), Parquet, Excel, NumPy; up '
            "to 1 GB. Nothing leaves this machine."
            f"{about('cl-load', 'loading a table')}</p>",
            width=230,
            height=60,
            sizing_mode="fixed",
            margin=(0, 12, 0, 0),
        )
        self._welcome = Text(WELCOME, css_classes=["cl-welcome"], margin=(0, 0, 8, 0))
        self._welcome.stylesheets = [TEXT_CSS, HEADING]
        self._pasted = pmu.TextAreaInput(
            label="or paste a table with its header line",
            rows=3,
            auto_grow=False,
            size="small",
            sizing_mode="stretch_width",
            margin=(6, 0, 0, 0),
            css_classes=["cl-paste"],
        )
        take = pmu.Button(
            label="Read the pasted table",
            variant="outlined",
            size="small",
            margin=(6, 0, 0, 0),
            on_click=self._take_pasted,
            css_classes=["cl-read-pasted"],
        )
        self._paste = pn.Column(
            self._pasted, take, width=330, margin=(0, 12, 0, 12), visible=False
        )
        return pmu.Paper(
            self._welcome,
            pn.Row(
                self._formats,
                self._dropper,
                self._paste,
                self._example,
                load,
                margin=0,
                sizing_mode="stretch_width",
            ),
            sx={**CARD_STYLE, "height": "auto"},
            css_classes=["cl-load", "cl-card"],
            sizing_mode="stretch_width",
            margin=0,
            styles={"flex": "none"},
        )

    def show(self, table: Dataset | None) -> None:
        """Say what this is about until there is a table; then take less room."""
        self._welcome.visible = self._paste.visible = table is None
        self._dropper.height = LARGE if table is None else SMALL

    async def _take_file(self, event: Any) -> None:
        """Read a dropped file; its content is hashed on a thread."""
        if not event.new:
            return
        name, content = next(iter(event.new.items()))
        self._dropper.value = {}
        if name.endswith(SUFFIX) and isinstance(content, bytes):
            await self.session.take_in(content)
            return
        await self._read(name, content)

    async def _take_pasted(self, event: Any) -> None:
        if self._pasted.value.strip():
            await self._read(PASTED, self._pasted.value)

    async def _read(self, name: str, content: bytes | str) -> None:
        def keep() -> str:
            return self.session.keep_file(
                content.encode() if isinstance(content, str) else content
            )

        key = await asyncio.to_thread(keep)
        await self.session.act("load file", name=name, sha256=key)

    async def _load_example(self, event: Any) -> None:
        await self.session.act("load example", name=self._example.value)
