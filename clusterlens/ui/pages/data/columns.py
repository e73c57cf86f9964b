"""Card of the columns: their roles and values."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from panel.io.model import JSCode

from clusterlens.compute.formatting import percent, whole
from clusterlens.compute.table.dataset import ROLES, Dataset
from clusterlens.ui.components.card import Card
from clusterlens.ui.pages.data.nodes import Column, Role
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import DENSE, TABLE_CSS
from clusterlens.ui.widgets.toolkit import card, link, pmu, pn, select
from clusterlens.ui.widgets.words import typed

TITLES = {
    "column": "column",
    "role": "role",
    "values": "values",
    "missing": "missing",
    "distinct": "distinct",
    "taken": "taken",
    "weight": "weight",
    "why": "why this role",
}
CHOOSE = "choose a role"
WIDTHS = {
    "missing": 68,
    "distinct": 64,
    "taken": 54,
    "weight": 60,
}
# The other columns share the remaining width, down to the width of a narrow card.
SHARED = (
    {"field": "column", "minWidth": 98, "widthGrow": 1.4},
    {"field": "role", "minWidth": 108, "widthGrow": 1.8},
    {"field": "values", "minWidth": 120, "widthGrow": 1.8},
    {"field": "why", "minWidth": 130, "widthGrow": 3},
)
# Transforms of numbers before scaling, by their names in the log.
TAKEN = {"": "as is", "log": "log", "log1p": "log 1+x", "rank": "rank"}
LEVEL_ROLES = ("categorical", "ordinal", "label")

# Draws from numbers and sets texts as text content, so no data becomes markup.
DRAW_VALUES = JSCode("""function (cell) {
  const shown = JSON.parse(cell.getValue() || '{}');
  const box = document.createElement('div');
  box.style.cssText =
    'display:flex;align-items:flex-end;gap:4px;height:20px;width:100%';
  box.setAttribute('role', 'img');
  box.setAttribute('aria-label', shown.says || '');
  box.title = shown.says || '';
  const write = (text, css) => {
    const span = document.createElement('span');
    span.textContent = text;
    span.dir = 'auto';
    span.style.cssText = 'font-size:12px;white-space:nowrap;overflow:hidden;' +
      'text-overflow:ellipsis;' + css;
    box.append(span);
    return span;
  };
  if (shown.bins) {
    const NS = 'http://www.w3.org/2000/svg', n = shown.bins.length;
    const most = Math.max(1, ...shown.bins);
    const svg = document.createElementNS(NS, 'svg');
    svg.setAttribute('viewBox', `0 0 ${10 * n} 20`);
    svg.setAttribute('preserveAspectRatio', 'none');
    svg.style.cssText = 'flex:1 1 0;min-width:0;height:20px';
    shown.bins.forEach((count, k) => {
      const bar = document.createElementNS(NS, 'rect');
      const height = count ? Math.max(1, 20 * count / most) : 0;
      bar.setAttribute('x', 10 * k + .8); bar.setAttribute('width', 8.4);
      bar.setAttribute('y', 20 - height); bar.setAttribute('height', height);
      bar.setAttribute('fill', '#8fa3ad');
      svg.append(bar);
    });
    const wide = 'flex:0 0 auto;min-width:40px;max-width:46%;opacity:.75;';
    write(shown.low, wide + 'text-align:right');
    box.append(svg);
    write(shown.high, wide);
  } else if (shown.two) {
    shown.two.forEach(([name, share]) => {
      const bar = write('', 'flex:0 0 8px;align-self:flex-end;background:#8fa3ad;' +
        `height:${Math.max(1, 20 * share)}px`);
      bar.className = 'bar';
      write(`${name}: ${shown.percent[name]}`, 'flex:1 1 auto;opacity:.75');
    });
  } else if (shown.levels) {
    shown.levels.forEach(([name, share], k) => {
      const strength = shown.ordered ? 10 + 32 * k / shown.levels.length
        : 42 - 30 * k / shown.levels.length;
      const part = write(name, `flex:${share} 1 0;min-width:0;height:18px;` +
        'line-height:18px;text-align:center;margin-left:-3px;background:' +
        `color-mix(in srgb, #8fa3ad ${1.4 * strength}%, transparent)`);
      part.title = `${name}: ${(100 * share).toFixed(1)}%`;
    });
  } else {
    write(shown.says || '', 'opacity:.75');
  }
  return box;
}""")
DRAW_MISSING = JSCode("""function (cell) {
  const share = cell.getValue(), box = document.createElement('div');
  box.style.cssText =
    'display:flex;align-items:center;gap:5px;justify-content:flex-end';
  const text = document.createElement('span');
  const percent = 100 * share;
  text.textContent = (percent === 0 || percent >= 1 ? percent.toFixed(0)
    : percent < .1 ? '<0.1' : percent.toFixed(1)) + '%';
  const track = document.createElement('span'), bar = document.createElement('span');
  track.style.cssText = 'width:14px;height:5px;border-radius:2px;overflow:hidden;' +
    'background:color-mix(in srgb, currentColor 14%, transparent)';
  bar.style.cssText = `display:block;height:5px;background:#d9822b;width:${percent}%`;
  track.append(bar); box.append(text, track);
  return box;
}""")
DRAW_TEXT = JSCode("""function (cell) {
  const text = document.createElement('span');
  text.textContent = text.title = cell.getValue();
  text.dir = 'auto';
  return text;
}""")
# A long reason takes two lines; its tooltip has all of it.
DRAW_REASON = JSCode("""function (cell) {
  const box = document.createElement('div'), text = document.createElement('span');
  box.style.cssText = 'display:flex;align-items:center;height:26px;margin:-4px 0';
  text.style.cssText = 'display:-webkit-box;-webkit-box-orient:vertical;' +
    '-webkit-line-clamp:2;overflow:hidden;white-space:normal;font-size:12px;' +
    'line-height:12px';
  text.className = 'reason';
  text.textContent = text.title = cell.getValue();
  text.dir = 'auto';
  box.append(text);
  return box;
}""")
DRAW_ROLE = JSCode("""function (cell) {
  const box = document.createElement('span');
  const chosen = cell.getRow().getData().chosen;
  box.textContent = cell.getValue() + ' \\u25be';
  box.title = cell.getRow().getData().why;
  box.style.cssText = 'display:inline-block;padding:0 8px;border-radius:5px;' +
    'cursor:pointer;border:1px solid ' + (chosen ? '#0b8a8a;font-weight:700'
    : 'color-mix(in srgb, currentColor 30%, transparent)');
  return box;
}""")


class Columns(Card):
    """One row per column: role, values, missing share, distinct values, reason."""

    needs = ("table", "roles", "columns", "view.column_query", "view.column_role")

    def build(self) -> Any:
        view_state = self.session.view_state
        self._shown: list[int] = []
        note = Text(
            '<p class="muted">What each column is, guessed with a reason. Labels and '
            "row ids are no features. A click on a row shades the map by it.</p>"
        )
        self._chips = Text(does=self._choose_role, css_classes=["cl-role-chips"])
        find = self.control(
            pmu.TextInput(
                label="Find a column",
                size="small",
                width=170,
                margin=(0, 8, 0, 0),
                sx=DENSE,
                css_classes=["cl-find-column"],
            ),
            lambda: view_state.column_query,
            lambda text: setattr(view_state, "column_query", text),
            value="value_input",
        )
        set_all = self.control(
            select(
                "Set all shown to",
                [CHOOSE, *ROLES],
                css="cl-set-all",
                value=CHOOSE,
                width=168,
            ),
            lambda: CHOOSE,
            self._set_all,
        )
        self._table = pn.widgets.Tabulator(
            _frame([], [], 0),
            show_index=False,
            theme="simple",
            stylesheets=[TABLE_CSS],
            configuration={
                "columnDefaults": {"headerSort": False},
                "columns": SHARED,
                # Cells take the focus without opening, so arrow keys can walk them.
                "editTriggerEvent": "click",
                # Panel, too, draws rows for another size, but leaves an open field
                # alone.
                "autoResize": False,
            },
            css_classes=["cl-roles"],
            margin=(4, 0),
            titles=TITLES,
            widths=WIDTHS,
            layout="fit_columns",
            formatters={
                "values": DRAW_VALUES,
                "missing": DRAW_MISSING,
                "role": DRAW_ROLE,
                "column": DRAW_TEXT,
                "distinct": DRAW_TEXT,
                "weight": DRAW_TEXT,
                "taken": DRAW_TEXT,
                "why": DRAW_REASON,
            },
            editors={
                **dict.fromkeys((*TITLES, "chosen")),
                "role": _editor("role", type="list", values=list(ROLES)),
                "taken": _editor("taken", type="list", values=list(TAKEN.values())),
                "weight": _editor("weight", type="input"),
            },
            text_align={"distinct": "right", "weight": "right"},
            hidden_columns=["chosen"],
            sizing_mode="stretch_both",
            min_height=60,
        )
        self._table.on_edit(self._change)
        self._table.on_click(self._shade_by)
        return card(
            "Columns",
            self._chips,
            self._table,
            note=pn.Column(note, self.status, margin=0, sizing_mode="stretch_width"),
            buttons=[find, set_all],
            css="cl-columns",
        )

    def show(
        self,
        table: Dataset,
        roles: list[Role],
        columns: list[Column],
        column_query: str,
        column_role: str,
    ) -> None:
        """Write the listed rows; if only some cells differ, write those."""
        query = column_query.strip().lower()
        found = [k for k, c in enumerate(columns) if query in c.name.lower()]
        self._chips.body = _chips([roles[k].role for k in found], column_role)
        self._shown = [k for k in found if column_role in ("", roles[k].role)]
        self._put(
            _frame(
                [columns[k] for k in self._shown],
                [roles[k] for k in self._shown],
                len(table.table),
            )
        )

    def _choose_role(self, role: str) -> None:
        self.session.view_state.column_role = "" if role == "all" else role

    async def _set_all(self, role: str) -> None:
        if role != CHOOSE:
            await self._choose(dict.fromkeys(self._shown, role))

    def _put(self, frame: pd.DataFrame) -> None:
        shown = self._table.value
        if len(shown) != len(frame) or list(shown["column"]) != list(frame["column"]):
            self._table.value = frame
            return
        changes = {
            key: [
                (int(row), frame[key].iloc[row])
                for row in np.flatnonzero(
                    shown[key].to_numpy() != frame[key].to_numpy()
                )
            ]
            for key in frame.columns
        }
        if any(changes.values()):
            self._table.patch({key: cells for key, cells in changes.items() if cells})

    async def _weigh(self, name: str, text: str) -> bool:
        """Prepare the table again with a typed weight."""
        weight = math.nan
        with suppress(ValueError):
            weight = float(typed(text))
        if not math.isfinite(weight):
            self.session.jobs.notify(
                "warning", f"The weight of {name!r} is {text!r}; give a number."
            )
            return False
        return await self._prepare(weights={name: None if weight == 1 else weight})

    async def _change(self, event: Any) -> None:
        """Prepare the table again with a changed role, transform or weight."""
        at, table = self._shown[event.row], self.session.analysis.table
        if table is None:
            return
        name = list(table.table.columns)[at]
        if event.column == "role":
            done = await self._choose({at: event.value})
        elif event.column == "taken":
            kind = next(key for key, words in TAKEN.items() if words == event.value)
            done = await self._prepare(transforms={name: kind or None})
        elif event.column == "weight":
            done = await self._weigh(name, str(event.value or 1))
        else:
            return
        if not done:
            self._show_again()

    async def _prepare(self, **rules: Any) -> bool:
        return await self.session.act("prepare", **rules)

    async def _choose(self, wanted: dict[int, str]) -> bool:
        """Prepare the table again with roles by position of the column."""
        analysis = self.session.analysis
        if analysis.table is None:
            return False
        names = list(analysis.table.table.columns)
        roles = {names[at]: role for at, role in wanted.items()}
        return await self.session.act("prepare", roles=roles)

    def _show_again(self) -> None:
        """Restore the values in force in the table."""
        roles = self.session.derived.get("roles")
        if roles.ready:
            frame = self._table.value.copy()
            shown = [roles.value[at] for at in self._shown]
            frame["role"] = [one.role for one in shown]
            frame["taken"] = [_taken(one) for one in shown]
            frame["weight"] = [f"{one.weight:g}" for one in shown]
            self._table.value = frame

    def _shade_by(self, event: Any) -> None:
        if event.column not in ("role", "taken", "weight"):
            name = self._table.value["column"].iloc[event.row]
            view_state = self.session.view_state
            view_state.column = None if view_state.column == name else name


def _chips(roles: list[str], chosen: str) -> str:
    """Write a button per role with the number of its columns."""
    counts = {"all": len(roles), **{role: roles.count(role) for role in ROLES}}
    return "".join(
        f"<b class='pill'>{role} {whole(count)}</b>"
        if role == (chosen or "all")
        else link(f"{role} {whole(count)}", role, kind="pill")
        for role, count in counts.items()
        if count or role == chosen
    )


def _editor(column: str, **kind: Any) -> dict[str, Any]:
    """Return the editor of a cell with a label for screen readers."""
    return {**kind, "elementAttributes": {"aria-label": TITLES[column]}}


def _taken(role: Role) -> str:
    """Return the transform of a numeric column; empty for other columns."""
    return TAKEN[role.transform] if role.role == "numeric" else ""


def _frame(columns: list[Column], roles: list[Role], n_rows: int) -> pd.DataFrame:
    pairs = list(zip(columns, roles, strict=True))
    frame = pd.DataFrame(
        {
            "column": [c.name for c in columns],
            "role": [r.role for r in roles],
            "values": [json.dumps(_values(c, r.role)) for c, r in pairs],
            "missing": np.array([c.missing / n_rows for c in columns], float),
            "distinct": [whole(c.distinct) for c in columns],
            "taken": [_taken(r) for r in roles],
            "weight": [f"{r.weight:g}" for r in roles],
            "why": [r.reason for r in roles],
            "chosen": np.array([r.chosen for r in roles], bool),
        }
    )
    # Without rows, too: columns of another kind would have the browser build all anew.
    return frame.astype({name: str for name in TITLES if name != "missing"})


def _values(column: Column, role: str) -> dict[str, Any]:
    """Return the picture of a column: a histogram, shares, or the first values."""
    if {name for name, _ in column.levels} == {"0", "1"}:
        shares = {name: percent(share) for name, share in column.levels}
        words = ", ".join(f"{name}: {share}" for name, share in shares.items())
        return {"two": column.levels, "percent": shares, "says": words}
    levels = role in LEVEL_ROLES or not len(column.bins)
    if column.levels and levels:
        words = ", ".join(f"{name} {percent(share)}" for name, share in column.levels)
        return {"levels": column.levels, "ordered": role == "ordinal", "says": words}
    if len(column.bins):
        words = f"from {column.low} to {column.high}"
        return {
            "bins": column.bins.tolist(),
            "low": column.low,
            "high": column.high,
            "says": words,
        }
    return {"says": column.first}
