"""Card of all pairs of the soft partitions; a click opens a pair."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute.fuzzy.random_models import RANDOM_MODELS
from clusterlens.compute.table.export import to_csv_bytes
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.saving import SaveButton
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.fuzzy.nodes import MODELS, Choices, Pair
from clusterlens.ui.widgets.palette import ink_on, shades
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, safe, select
from clusterlens.ui.widgets.words import error, fixed

_RANDOM = {
    False: "Both sides random.",
    True: "The partition of the row is fixed, that of the column random.",
}
PAIRS_CSS = """
table.square { border-spacing: 1px; border-collapse: separate; font-size: .857em;
  table-layout: fixed; }
.square td, .square th { border: 0; padding: 0 1px; text-align: center; height: 20px; }
/* Beside values that do not fit the card the names stay in sight. */
.square th.name { text-align: left; width: 11em; position: sticky; left: 0;
  background: var(--panel-surface-color, #fff); white-space: normal; }
.square th.name button { display: flex; gap: 6px; line-height: 1.2; padding: 2px 0; }
.square th.name span { min-width: 0; overflow-wrap: anywhere; }
.square button { all: unset; display: block; width: 100%; line-height: 20px;
  cursor: pointer; }
.square td.open { outline: 2px solid currentColor; }
"""


class FuzzyPairs(Card):
    """A square of adjusted values; a name sorts by likeness to it."""

    needs = ("fuzzy_compared", "fuzzy_choices", "fuzzy_pair", "fuzzy_hidden")
    also = ("view.fuzzy_sort", "view.fuzzy_set_fixed")

    def build(self) -> Any:
        model = self.bound(
            "fuzzy_set_model",
            select(
                "Adjusted under",
                {RANDOM_MODELS[key].title: key for key in MODELS},
                css="cl-fuzzy-set-model",
                width=140,
            ),
        )
        fixed = self.bound(
            "fuzzy_set_fixed",
            select(
                "Random",
                {"both sides": "", "column, row fixed": "u"},
                css="cl-fuzzy-set-fixed",
                width=118,
            ),
        )
        self._save = SaveButton(
            self.session,
            "CSV",
            self._begin_file,
            description="Save all pairs with errors as CSV",
            css_classes=["cl-fuzzy-save"],
        )
        self._text = Text(
            does=self._do,
            css_classes=["cl-fuzzy-pairs"],
            stylesheets=[PAIRS_CSS],
            scrolls=True,
        )
        return card(
            "All pairs",
            self._text,
            note=self.status,
            buttons=[model, fixed, self._save.view],
            css="cl-fuzzy-square",
        )

    def prepare(self, results: Any) -> None:
        """Show nothing without partitions."""
        hidden = results["fuzzy_hidden"].value
        ready = results["fuzzy_compared"].ready
        self._save.button.disabled = hidden or not ready
        if not results["fuzzy_pair"].ready:
            self._text.body = ""

    def show(
        self,
        fuzzy_compared: tuple[tuple[str, ...], pd.DataFrame],
        fuzzy_choices: Choices,
        fuzzy_pair: Pair,
        fuzzy_hidden: bool,
        fuzzy_sort: Result,
        fuzzy_set_fixed: Result,
    ) -> None:
        """Write the square."""
        keys, table = fuzzy_compared
        if fuzzy_hidden:
            self._text.body = "<p class='muted'>Hidden while you choose.</p>"
            return
        known = {one.key for one in fuzzy_choices.listed}
        if not known.issuperset(keys):
            return
        self._shown = sorted_keys(keys, table, fuzzy_sort.value)
        one_sided = bool(fuzzy_set_fixed.value)
        self._text.body = self._square(table, fuzzy_choices, fuzzy_pair, one_sided)

    def _square(
        self, table: pd.DataFrame, choices: Choices, pair: Pair, one_sided: bool
    ) -> str:
        rows = list(table.itertuples())
        values = {(row.u, row.v): row for row in rows}
        if not one_sided:
            values |= {(row.v, row.u): row for row in rows}
        body = ""
        for at, u in enumerate(self._shown):
            title = safe(choices.titled(u).title)
            side = {pair.u: "U", pair.v: "V"}.get(u, str(at + 1))
            cells = "".join(
                _cell(
                    values[u, v],
                    at,
                    other,
                    {u, v} == set(vars(pair).values()),
                )
                if u != v
                else "<td></td>"
                for other, v in enumerate(self._shown)
            )
            body += (
                f"<tr><th class='name'><button data-do='sort {at}' title='sort by "
                f"likeness to {title}'>{side} <span>{title}</span></button></th>{cells}"
                "</tr>"
            )
        heads = "".join(f"<th>{k + 1}</th>" for k in range(len(self._shown)))
        return (
            f"<p class='how'>{_RANDOM[one_sided]} Click a value to open a pair, a name "
            f"to sort by likeness to it.</p><table class='square' "
            f"data-roving='map' style='min-width:"
            f"{11 + 2.6 * len(self._shown):.0f}em'><tr><th class='name'></th>{heads}"
            f"</tr>{body}</table>"
        )

    def _begin_file(self) -> tuple[str, Callable[[], bytes]]:
        """Return the name and the maker of the file of all pairs."""
        _, table = self.session.derived.get("fuzzy_compared").value
        found = self.session.derived.get("fuzzy_choices").value
        view_state = self.session.view_state
        model, fixed = view_state.fuzzy_set_model, view_state.fuzzy_set_fixed
        titles = {one.key: one.title for one in found.listed}
        return "fuzzy-pairs.csv", partial(_write_pairs, table, titles, model, fixed)

    def _do(self, what: str) -> None:
        verb, *at = what.split()
        chosen = [self._shown[int(k)] for k in at]
        if verb == "sort":
            self.session.view_state.fuzzy_sort = chosen[0]
        else:
            self.session.view_state.param.update(fuzzy_u=chosen[0], fuzzy_v=chosen[1])


def _write_pairs(
    table: pd.DataFrame, titles: Mapping[str, str], model: str, fixed: str
) -> bytes:
    """Write all pairs with their errors as CSV."""
    named = table.assign(
        u=table["u"].map(titles), v=table["v"].map(titles), model=model, fixed=fixed
    )
    return to_csv_bytes(named)


def sorted_keys(keys: tuple[str, ...], table: pd.DataFrame, by: str) -> list[str]:
    """Sort partitions by likeness to a given one, most alike first."""
    if by not in keys:
        return list(keys)
    like = {by: np.inf}
    rows: Iterable[Any] = table.itertuples()
    for row in rows:
        if by in (row.u, row.v):
            like[row.v if row.u == by else row.u] = row.value
    return sorted(keys, key=lambda key: -like[key])


def _cell(row: Any, u: int, v: int, opened: bool) -> str:
    text, fill, ink = fixed(row.value), "transparent", "inherit"
    if row.value > 0 and text != fixed(0):
        red, green, blue = shades(np.array([row.value]))[0].tolist()
        fill = f"#{red:02x}{green:02x}{blue:02x}"
        ink = ink_on(fill)
    title = f"{fixed(row.value, 4)} {error(row.standard_error)}"
    return (
        f"<td class='{'open' if opened else ''}' style='background:{fill}'><button "
        f"data-do='open {u} {v}' title='{title}' style='color:{ink}'>{text}</button>"
        "</td>"
    )
