"""Card that takes a table: dropped, chosen or pasted."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.kit.components import Text
from clusterlens.ui.kit.style import COLUMN, scaled
from clusterlens.ui.kit.widgets import about, box, pn, reading
from clusterlens.ui.parts.panel import Card
from clusterlens.ui.server.uploads import MAX_BYTES, FileTaker

FORMATS = ("CSV, TSV, text", "Parquet", "Excel .xlsx", "NumPy .npy .npz", "ARFF")
# Kinds of actions that load a table.
LOADING = ("load file", "take in")
CSS = scaled("""
.formats { display: flex; flex-wrap: wrap; gap: 6px; justify-content: center; }
.formats span { border: 1px solid color-mix(in srgb, currentColor 25%, transparent);
  border-radius: 5px; padding: 1px 8px; font-size: 12.5px; }
.drop { font-size: 17px; font-weight: 700; text-align: right; }
.center { text-align: center; }
@media (max-width: 1150px) { .drop { font-size: 14px; white-space: nowrap; }
  .formats { gap: 4px; } .formats span { padding: 0 5px; } }
""")
ZONE = {
    **COLUMN,
    "flex": "1 1 0",
    "border": "1px dashed #0b8a8a",
    "border-radius": "6px",
    "background": "color-mix(in srgb, #0b8a8a 6%, transparent)",
    "display": "flex",
    "flex-direction": "column",
    "justify-content": "center",
    "gap": "8px",
    "padding": "6px 12px",
}


class LoadTable(Card):
    """Drop zone; shows the progress of an upload and of its reading."""

    needs = ("table?",)

    def build(self) -> Any:
        jobs = self.session.jobs
        self._browse = pn.Row(
            Text("<p class='drop'>Drop a table here &ensp;or</p>", stylesheets=[CSS]),
            FileTaker(self.session.receive, css_classes=["cl-file"], width=120),
            margin=0,
            sizing_mode="stretch_width",
            styles={"align-items": "center", "gap": "14px", "flex": "none"},
        )
        formats = "".join(f"<span>{name}</span>" for name in FORMATS)
        self._formats = Text(
            f"<div class='formats'>{formats}</div><p class='muted center'>each also "
            f".gz · up to {MAX_BYTES / 1e9:.0f} GB and 250 million cells · or paste "
            "cells of a spreadsheet with Ctrl+V</p>",
            stylesheets=[CSS],
            styles={"flex": "none"},
        )
        self._reading = Text(
            does=lambda what: jobs.cancel(), visible=False, css_classes=["cl-reading"]
        )
        jobs.param.watch(self._tell, ["shown"])
        promise = Text(
            "<p class='muted'><b>Nothing leaves this machine.</b> The page asks no "
            f"other host for anything.{about('cl-load', 'loading a table')}</p>",
            margin=(6, 0, 0, 0),
            styles={"flex": "none"},
        )
        zone = pn.Column(
            self._browse,
            self._formats,
            self._reading,
            styles=ZONE,
            sizing_mode="stretch_both",
            margin=0,
        )
        return box(zone, promise, css="cl-load")

    def show(self, table: Dataset | None) -> None:
        """Do nothing: the zone is the same with a table and without."""

    def _tell(self, event: Any) -> None:
        """Show the progress of a file in place of the controls."""
        shown = event.new
        loads = shown is not None and shown.kind in LOADING
        self._reading.body = reading(shown) if loads else ""
        self._reading.visible = loads
        self._browse.visible = self._formats.visible = not loads
