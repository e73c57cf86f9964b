"""Card that takes a table: dropped, chosen or pasted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterlens.compute.formatting import whole
from clusterlens.compute.scale.run import N_LANDMARKS
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.components.card import Card
from clusterlens.ui.server.uploads import MAX_BYTES, FileTaker
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import COLUMN, scaled
from clusterlens.ui.widgets.toolkit import (
    about,
    box,
    pmu,
    pn,
    reading,
    select,
    shrinking,
)

FORMATS = ("CSV, TSV, text", "Parquet", "Excel .xlsx", "NumPy .npy .npz", "ARFF")
# Kinds of actions that load a table.
LOADING = ("load file", "take in", "load landmarks", "open run")
# Numbers of landmarks on offer.
LANDMARKS = (5_000, N_LANDMARKS, 50_000, 100_000)
CSS = scaled("""
.formats { display: flex; flex-wrap: wrap; gap: 6px; justify-content: center; }
.formats span { border: 1px solid color-mix(in srgb, currentColor 25%, transparent);
  border-radius: 5px; padding: 1px 8px; font-size: 12px; }
.drop { font-size: 16px; font-weight: 700; text-align: right; }
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
            Text(
                "<p class='drop'>Drop a table here &ensp;or</p>",
                stylesheets=[CSS],
                sizing_mode=None,
            ),
            FileTaker(self.session.receive, css_classes=["cl-file"]),
            margin=0,
            sizing_mode="stretch_width",
            styles={
                "align-items": "center",
                "justify-content": "center",
                "gap": "14px",
                "flex": "none",
            },
        )
        formats = "".join(f"<span>{name}</span>" for name in FORMATS)
        self._formats = Text(
            f"<div class='formats'>{formats}</div><p class='muted center'>each also "
            f".gz · up to {MAX_BYTES / 1e9:.0f} GB and 250 million cells · or paste "
            "cells of a spreadsheet with Ctrl+V</p>",
            stylesheets=[CSS],
            styles={"flex": "none"},
        )
        self._large = self._large_tables()
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
            self._large,
            self._reading,
            styles=ZONE,
            sizing_mode="stretch_both",
            margin=0,
        )
        return box(zone, promise, css="cl-load")

    def _large_tables(self) -> pn.Row:
        """Return the controls that open a table or a run on the server's disk."""
        self._runs: set[str] = set()
        self._name = select(
            "On this server", [], css="cl-large-table", **shrinking(110, 260)
        )
        self._landmarks = select(
            "Landmarks",
            {whole(n): n for n in LANDMARKS},
            css="cl-landmarks",
            width=96,
            value=N_LANDMARKS,
        )
        self._skips = pmu.Checkbox(
            label="skip unreadable files",
            size="small",
            margin=0,
            css_classes=["cl-skip-unreadable"],
        )
        self._name.param.watch(lambda event: self._tell_large(), ["value"])
        button = pmu.Button(
            label="Open",
            description="Open: draws landmarks, rows that stand for all others, or "
            "reads those of a run.",
            size="small",
            margin=0,
            on_click=self._open,
            css_classes=["cl-draw-landmarks"],
        )
        return pn.Row(
            self._name,
            self._landmarks,
            button,
            self._skips,
            margin=(8, 0, 0, 0),
            sizing_mode="stretch_width",
            visible=False,
            styles={
                "align-items": "center",
                "justify-content": "center",
                "flex": "none",
                "flex-wrap": "wrap",
                "gap": "6px 8px",
            },
        )

    async def _open(self, event: Any) -> None:
        view_state: Mapping[str, Any] = {"page": "data", "starting": False}
        if self._name.value in self._runs:
            view_state = {"page": "all-rows", "starting": False}
            await self.session.act(
                "open run", view_state=view_state, name=self._name.value
            )
            return
        await self.session.act(
            "load landmarks",
            view_state=view_state,
            name=self._name.value,
            n_landmarks=self._landmarks.value,
            skips=self._skips.value,
        )

    def show(self, table: Dataset | None) -> None:
        """List the tables on the server's disk."""
        self.begin(self._offer_tables())

    async def _offer_tables(self) -> None:
        server = self.session.server
        tables, runs = await server.in_thread(
            lambda: (list(server.tables.listed()), list(server.tables.runs()))
        )
        self._runs = set(runs)
        options = {name: name for name in tables}
        options |= {f"{name} (run)": name for name in runs}
        self.offer(self._name, options=options)
        if options and self._name.value not in options.values():
            self._name.value = next(iter(options.values()))
        self._tell_large()

    def _tell_large(self) -> None:
        """Show the tables on the disk, if there are any, in place of the formats."""
        has_tables = bool(self._name.options)
        draws = self._name.value not in self._runs
        self._landmarks.visible = self._skips.visible = draws
        self._large.visible = has_tables and self._browse.visible
        self._formats.visible = not has_tables and self._browse.visible

    def _tell(self, event: Any) -> None:
        """Show the progress of a file in place of the controls."""
        shown = event.new
        loads = shown is not None and shown.kind in LOADING
        self._reading.body = reading(shown) if loads else ""
        self._reading.visible = loads
        self._browse.visible = not loads
        self._tell_large()
