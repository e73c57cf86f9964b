"""Page: load a table, see what was read, say what each column is, prepare it."""

from __future__ import annotations

from typing import Any

import pandas as pd

from clusterlens.compute.table.dataset import (
    CATEGORICAL_RULES,
    MISSING_RULES,
    ROLES,
    SCALES,
)
from clusterlens.compute.table.examples import EXAMPLES
from clusterlens.ui.actions import perform_in_background
from clusterlens.ui.kit import badge, card, flow, markup, pmu, pn, safe, table
from clusterlens.ui.log import Action
from clusterlens.ui.session import Session

MAX_FILE_SIZE = "1000MB"
CHUNK_BYTES = 5_000_000
PREVIEW_ROWS = 100
PAGE_SIZE = 12
PREVIEW_COLUMNS = 60
PCA_CHOICES = {
    "no, keep all features": None,
    "keep 95 % of the variance": 0.95,
    "keep 80 % of the variance": 0.8,
    "2 components": 2,
}
ROLE_TITLES = {
    "column": "column",
    "role": "role (click to change)",
    "why": "why",
    "missing": "missing",
    "distinct": "distinct",
    "values": "first values",
}


class DataPage(pn.viewable.Viewer):
    """From a file to a prepared table."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._dropper = pn.widgets.FileDropper(
            multiple=False,
            max_file_size=MAX_FILE_SIZE,
            chunk_size=CHUNK_BYTES,
            height=96,
            sizing_mode="stretch_width",
            css_classes=["cl-file"],
            margin=(8, 0),
        )
        self._dropper.param.watch(self._load_file, "value")
        self._example = pmu.Select(
            label="Example",
            options={entry.title: key for key, entry in EXAMPLES.items()},
            size="small",
            width=300,
            margin=(6, 8, 6, 0),
            css_classes=["cl-example"],
        )
        self._load = pmu.Button(
            label="Load example",
            variant="outlined",
            margin=(8, 0),
            on_click=self._load_example,
            css_classes=["cl-load-example"],
        )
        self._teaches = markup()
        self._example.param.watch(self._describe_example, "value")
        self._describe_example()
        self._read = markup(css_classes=["cl-notes"], sizing_mode="stretch_width")
        self._preview = pmu.Column(margin=0, sizing_mode="stretch_width")
        self._preview_note = markup()
        self._roles = pmu.Column(margin=0, sizing_mode="stretch_width")
        self._options = self._make_options()
        self._result = markup(css_classes=["cl-prepared"], sizing_mode="stretch_width")
        self._next = pmu.Button(
            label="Next: choose a pool",
            icon="arrow_forward",
            on_click=self._go_on,
            margin=(8, 0),
            css_classes=["cl-next"],
        )
        self._loaded = self._arrange_loaded()
        self._place = pmu.Column(margin=0, sizing_mode="stretch_width")
        session.param.watch(self._show_table, ["table"])
        session.param.watch(self._show_dataset, ["dataset"])

    def _make_options(self) -> dict[str, pmu.Select]:
        """Return one select per rule of preparation."""
        rules = {
            "missing": ("Missing values", list(MISSING_RULES)),
            "scale": ("Scaling of numbers", list(SCALES)),
            "categorical": ("Categories", list(CATEGORICAL_RULES)),
            "pca": ("Principal components", list(PCA_CHOICES)),
        }
        selects = {}
        for key, (label, options) in rules.items():
            selects[key] = pmu.Select(
                label=label,
                options=options,
                value=options[0],
                size="small",
                width=210,
                margin=(6, 10, 6, 0),
                css_classes=[f"cl-{key}"],
            )
            selects[key].param.watch(self._change_option, "value")
        return selects

    def _describe_example(self, *events: Any) -> None:
        entry = EXAMPLES[self._example.value]
        self._teaches.object = f'<p class="muted">{safe(entry.teaches)}</p>'

    async def _load_file(self, event: Any) -> None:
        """Read a dropped file, then prepare it by the default rules."""
        if not event.new:
            return
        name, content = next(iter(event.new.items()))
        self._dropper.value = {}
        content = content.encode() if isinstance(content, str) else content
        key = self.session.keep_file(content)
        await self._load_and_prepare(Action("load file", {"name": name, "sha256": key}))

    async def _load_example(self, event: Any) -> None:
        await self._load_and_prepare(
            Action("load example", {"name": self._example.value})
        )

    async def _load_and_prepare(self, action: Action) -> None:
        if await perform_in_background(self.session, action):
            await self._prepare({})

    async def _prepare(self, roles: dict[str, str]) -> None:
        """Prepare the table with the rules on screen and the given roles."""
        values = {key: select.value for key, select in self._options.items()}
        values["pca"] = PCA_CHOICES[values["pca"]]
        action = Action("prepare", {"roles": roles, **values})
        if not await perform_in_background(self.session, action):
            self._show_roles()

    async def _change_option(self, event: Any) -> None:
        if self.session.table is not None:
            await self._prepare(self.session.preparation.get("roles", {}))

    async def _change_role(self, event: Any) -> None:
        """Prepare anew with the role that was chosen in the table of columns."""
        column = list(self.session.table.table.columns)[event.row]
        if event.column == "role" and event.value != event.old:
            roles = self.session.preparation.get("roles", {})
            await self._prepare({**roles, column: event.value})

    def _go_on(self, event: Any) -> None:
        self.session.page = "pool"

    def _show_table(self, event: Any) -> None:
        """Show a newly loaded table; its roles follow when it has been prepared."""
        ds = self.session.table
        self._place[:] = [self._loaded]
        rows, columns = ds.table.shape
        shown = ds.table.iloc[:PREVIEW_ROWS, :PREVIEW_COLUMNS]
        self._preview_note.object = (
            f"<p class='muted'>{safe(ds.name)}: {rows:,} rows × {columns:,} columns"
            f"{_shown(len(shown), rows, 'rows')}"
            f"{_shown(shown.shape[1], columns, 'columns')}.</p>"
        )
        frame = shown.astype(object).where(shown.notna(), "")
        frame.columns = [f"c{k}" for k in range(shown.shape[1])]
        frame.insert(0, "row", [str(i) for i in shown.index])
        titles = ["row", *(safe(column) for column in shown.columns)]
        self._preview[:] = [
            table(
                frame.reset_index(drop=True),
                titles=dict(zip(frame.columns, titles, strict=True)),
                css="cl-preview",
                layout="fit_data",
                pagination="remote",
                page_size=8,
            )
        ]

    def _show_roles(self) -> None:
        """Show the role of every column and why it has it."""
        ds = self.session.dataset or self.session.table
        frame = pd.DataFrame(
            {
                "column": [str(column) for column in ds.table.columns],
                "role": [ds.roles[column] for column in ds.table.columns],
                "why": [ds.role_reasons[column] for column in ds.table.columns],
                "missing": ds.table.isna().sum().to_numpy(),
                "distinct": ds.table.nunique().to_numpy(),
                "values": [
                    ", ".join(map(_brief, ds.table[column].dropna().head(3)))
                    for column in ds.table.columns
                ],
            }
        )
        columns = table(
            frame,
            titles=ROLE_TITLES,
            css="cl-roles",
            layout="fit_data_stretch",
            pagination="remote" if len(frame) > PAGE_SIZE else None,
            page_size=PAGE_SIZE,
            editors={
                key: {"type": "list", "values": list(ROLES)} if key == "role" else None
                for key in ROLE_TITLES
            },
            disabled=False,
        )
        columns.on_edit(self._change_role)
        self._roles[:] = [columns]

    def _show_dataset(self, event: Any) -> None:
        """Say what preparation made of the table."""
        ds = self.session.dataset
        self._next.disabled = ds is None
        if ds is None:
            self._result.object = "<p class='muted'>Not prepared yet.</p>"
            return
        self._show_roles()
        n, d = ds.X.shape
        notes = "".join(f"<li>{safe(note)}</li>" for note in ds.notes)
        self._read.object = (
            f"<ul>{notes}</ul>" if notes else "<p>Nothing to report.</p>"
        )
        labels = (
            f" The column of given labels has {len(ds.label_names)} classes; it is not "
            "a feature."
            if ds.labels_true is not None
            else ""
        )
        share = self.session.projection.explained
        parts = " + ".join(f"{part:.0%}" for part in share)
        self._result.object = (
            f"<p>{badge('ready')} <b>{n:,} samples × {d:,} features</b> go into the "
            f"pool.{labels}</p><p>A map of two principal components shows {parts} = "
            f"{share.sum():.0%} of their variance.</p>"
        )

    def _arrange_loaded(self) -> Any:
        options = pmu.FlexBox(*self._options.values(), margin=0)
        return flow(
            card(
                "Columns",
                "<p class='muted'>What each column is, guessed with a reason. Numeric, "
                "categorical and ordinal columns become features; labels and row ids "
                "do not.</p>",
                self._roles,
                css="cl-columns",
                flex="3 1 600px",
            ),
            card(
                "Preparation",
                "<p class='muted'>Rules that turn the columns into numbers; a change "
                "takes effect at once.</p>",
                options,
                self._result,
                self._next,
                css="cl-preparation",
                flex="2 1 430px",
            ),
            card(
                "What was done",
                "<p class='muted'>Everything read, filled, scaled or left out.</p>",
                pmu.Column(
                    self._read,
                    scroll=True,
                    max_height=220,
                    margin=0,
                    sizing_mode="stretch_width",
                ),
                css="cl-done",
                flex="2 1 430px",
            ),
            card(
                "Rows",
                self._preview_note,
                self._preview,
                css="cl-rows",
                flex="3 1 600px",
            ),
        )

    def __panel__(self) -> Any:
        load = card(
            "Load a table",
            "<p class='muted'>Drop a file: CSV, TSV or text (also .gz), Parquet, "
            "Excel, NumPy. Or take an example.</p>",
            self._dropper,
            pmu.FlexBox(self._example, self._load, margin=0),
            self._teaches,
            css="cl-load",
        )
        return pmu.Column(
            load,
            self._place,
            margin=0,
            sizing_mode="stretch_width",
            css_classes=["cl-page-data"],
        )


def _shown(shown: int, total: int, what: str) -> str:
    """Say how many are shown, where not all are."""
    return f", the first {shown:,} {what} shown" if shown < total else ""


def _brief(value: Any) -> str:
    """Write a value of the table, a number with few digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
