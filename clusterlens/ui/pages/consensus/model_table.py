"""Table of all models over the whole page, with every score and index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute.formatting import count, whole
from clusterlens.compute.indices.model_comparison import SAMPLE_SIZE
from clusterlens.compute.indices.registry import INDICES
from clusterlens.compute.ranking.ranking import SCORES, Ranking
from clusterlens.compute.table.export import to_csv_bytes
from clusterlens.ui.components.card import TO_A_RUN, Card
from clusterlens.ui.components.saving import SaveButton
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import badge, card, link, safe
from clusterlens.ui.widgets.words import error, fixed, number

FACTS = {
    "rank": "rank",
    "model": "model",
    "family": "family",
    "n_clusters": "clusters",
    "n_noise": "noise",
    "votes": "votes",
    "seconds": "seconds",
    "parameters": "parameters",
}
LAST = ("seconds", "parameters")
ORDER = (*(key for key in FACTS if key not in LAST), *SCORES, *INDICES, *LAST)
SHOWN = ("rank", "model", "n_clusters", *SCORES, "SI", "CHI", "DBI", "ari", "ami")
SHOWN += ("seconds", "parameters")
# Largest number of rows shown; the file holds all.
MOST_ROWS = 400

TABLE_CSS = """
table.models { font-size: .857em; width: auto; min-width: 100%; }
.models th { position: sticky; top: 0; background: var(--cl-paper, Canvas);
  vertical-align: bottom; max-width: 130px; }
.models th button { all: unset; cursor: pointer; }
.models th button:hover { text-decoration: underline; }
.models td { white-space: nowrap; max-width: 340px; overflow: hidden;
  text-overflow: ellipsis; }
.models tr.here td { background: color-mix(in srgb, #0b8a8a 16%, transparent); }
.columns button.pill { margin-bottom: 4px; }
.columns button.on { background: color-mix(in srgb, #0b8a8a 22%, transparent); }
"""


class ModelTable(Card):
    """All models with all known values."""

    needs = ("model_table", "ranking", "samples", "agreement")
    also = (
        "selected",
        "view.table_columns",
        "view.table_sort",
        "evaluated_labels",
        "label_check",
    )
    empty = f"<b>No run yet.</b> {TO_A_RUN}; its models are here."

    def build(self) -> Any:
        self._shown = pd.DataFrame()
        view_state = self.session.view_state
        self._columns = Text(
            does=self._toggle,
            css_classes=["cl-table-columns"],
            stylesheets=[TABLE_CSS],
            styles={"flex": "none"},
        )
        self._text = Text(
            does=self._do,
            css_classes=["cl-model-table"],
            stylesheets=[TABLE_CSS],
            scrolls=True,
        )
        back = Text(
            f"<p>{link('Back to the pictures', 'back', css='cl-table-close')}</p>",
            does=lambda what: setattr(view_state, "table_open", False),
            margin=(0, 12),
        )
        self._save = SaveButton(
            self.session, "Save as CSV", self._file, css_classes=["cl-table-save"]
        )
        return card(
            "All scores and indices",
            self._columns,
            self._text,
            note=self.status,
            buttons=[back, self._save.view],
            css="cl-model-table-card",
        )

    def show(
        self,
        model_table: pd.DataFrame,
        ranking: Ranking,
        samples: Any,
        agreement: Any,
        selected: Result,
        table_columns: Result,
        table_sort: Result,
        evaluated_labels: Result,
        label_check: Result,
    ) -> None:
        """Write the chosen columns in the chosen order."""
        table = model_table.assign(rank=ranking.ranks)
        keys = [key for key in ORDER if key in table.columns]
        chosen = [key for key in keys if key in (table_columns.value or SHOWN)]
        table = ordered(table, table_sort.value)
        self._shown = table[keys]
        self._columns.body = _choice(keys, chosen)
        n_samples = len(samples.X)
        notes = [] if agreement.exact else [badge("estimates", kind="estimate")]
        self._text.body = (
            f"<p class='muted'>{count(len(table), 'model')} of {whole(n_samples)} "
            "samples, seed 0. Click a title to sort, a model to select it. "
            f"{' '.join(notes)}"
            f"{_labels_note(chosen, evaluated_labels, label_check)}</p>"
            + _markup(
                table[chosen].head(MOST_ROWS),
                selected.value,
                n_samples > SAMPLE_SIZE,
                table_sort.value or "rank",
            )
            + _more_models(len(table))
        )

    def _toggle(self, key: str) -> None:
        """Show or hide a column; the last one stays."""
        view_state = self.session.view_state
        chosen = set(view_state.table_columns or SHOWN) ^ {key}
        if chosen & set(self._shown.columns):
            view_state.table_columns = tuple(key for key in ORDER if key in chosen)

    def _do(self, what: str) -> None:
        view_state = self.session.view_state
        verb, _, key = what.partition(" ")
        if verb == "model":
            view_state.param.update(model=int(key), tab="model")
        elif verb == "sort":
            view_state.table_sort = f"-{key}" if view_state.table_sort == key else key
        else:
            view_state.page = "labels"

    def _file(self) -> tuple[str, Callable[[], bytes]]:
        """Return the name and the maker of the file of all columns."""
        table = self._shown
        name = f"{self.session.analysis.selected_run.dataset.name} - models.csv"
        return name, lambda: to_csv_bytes(table, index=False)


def ordered(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """Sort models by a column, best first, or worst first by "-column"."""
    key, turned = by.removeprefix("-") or "rank", by.startswith("-")
    if key not in table.columns:
        key, turned = "rank", False
    known = SCORES.get(key) or INDICES.get(key)
    ascending = known is None or not known.greater_is_better
    return table.sort_values(key, ascending=ascending != turned, kind="stable")


def _title(key: str) -> str:
    return FACTS.get(key) or (SCORES.get(key) or INDICES[key]).title


def _choice(keys: list[str], chosen: list[str]) -> str:
    """Offer the columns as buttons; shown columns are filled."""
    groups = {
        "Models": [key for key in keys if key in FACTS],
        "Consensus": [key for key in keys if key in SCORES],
        "Internal": [
            key for key in keys if key in INDICES and INDICES[key].kind == "internal"
        ],
        "With the classes": [
            key for key in keys if key in INDICES and INDICES[key].kind == "external"
        ],
    }
    parts = [
        f"<b>{name}</b> "
        + "".join(
            link(safe(_title(key)), key, kind="pill", css="on" if key in chosen else "")
            for key in group
        )
        for name, group in groups.items()
        if group
    ]
    return f"<div class='columns'>{' '.join(parts)}</div>"


def _labels_note(chosen: list[str], labels: Result, check: Result) -> str:
    """Write how far the classes are clusters, if models are compared with them."""
    if not any(key in INDICES and INDICES[key].kind == "external" for key in chosen):
        return ""
    words, value = "are the classes clusters?", ""
    if labels.ready and check.ready and labels.value.is_label_column:
        found = check.value
        score = f"{fixed(found.score)} {error(found.standard_error)}"
        value = f" {badge(f'round groups (CH_btwn) {score}', kind='cl-label-trust')}"
    way = link(words, "labels", css="cl-to-labels")
    return f" Compared with the classes:{value} {way}"


def _markup(table: pd.DataFrame, selected: int | None, sampled: bool, by: str) -> str:
    """Write the table; the titles of indices of a sample say so."""
    heads = "".join(_head(key, sampled, by) for key in table.columns)
    rows = "".join(
        f"<tr class='{'here' if position == selected else ''}'>"
        + "".join(
            _cell(key, value, position)
            for key, value in zip(table.columns, row, strict=True)
        )
        + "</tr>"
        for position, row in zip(
            table.index, table.itertuples(index=False), strict=True
        )
    )
    return f"<table class='models'><thead><tr>{heads}</tr></thead>{rows}</table>"


def _head(key: str, sampled: bool, by: str) -> str:
    entry = SCORES.get(key) or INDICES.get(key)
    arrow, hint = "", "sort"
    if entry is not None:
        arrow = " ↑" if entry.greater_is_better else " ↓"
        hint = "higher is better" if entry.greater_is_better else "lower is better"
    sign = " <b>•</b>" if by.removeprefix("-") == key else ""
    part = key in INDICES and INDICES[key].cost == "quadratic" and sampled
    note = badge(f"{whole(SAMPLE_SIZE)} samples", kind="estimate") if part else ""
    return (
        f"<th><button data-do='sort {key}' title='{hint}'>{safe(_title(key))}{arrow}"
        f"{sign}</button> {note}</th>"
    )


def _cell(key: str, value: Any, position: int) -> str:
    if key == "model":
        return f"<td>{link(safe(value), f'model {position}')}</td>"
    if isinstance(value, str):
        return f"<td title='{safe(value)}'>{safe(value)}</td>"
    text = "–" if isinstance(value, float) and np.isnan(value) else number(value)
    return f"<td class='number'>{text}</td>"


def _more_models(n_models: int) -> str:
    left = n_models - MOST_ROWS
    verb = "is" if left == 1 else "are"
    text = f"{count(left, 'more model')} {verb} in the file." if left > 0 else ""
    return f"<p class='muted'>{text}</p>" if text else ""
