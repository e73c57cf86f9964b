"""Base class of the inspector's tabs: scrolling text, and bars of effects."""

from __future__ import annotations

from typing import Any

import pandas as pd

from clusterlens.ui.components.card import Card
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import COLUMN
from clusterlens.ui.widgets.toolkit import link, pn, safe, shorten_in_middle
from clusterlens.ui.widgets.words import fixed, with_minus

# Largest effect on a bar, in standard deviations.
WIDEST_EFFECT = 2.0


class Tab(Card):
    """Scrolling text that fills the tab, with a place for buttons below."""

    css = ""

    def build(self) -> Any:
        self.text = Text(
            does=self.do,
            css_classes=[self.css],
            scrolls=True,
            styles={"flex": "1 1 0", "min-height": "0"},
        )
        return pn.Column(
            self.status,
            self.text,
            *self.below(),
            sizing_mode="stretch_both",
            margin=0,
            styles={**COLUMN, "flex": "1 1 0"},
        )

    def below(self) -> list[Any]:
        """Return the components below the text."""
        return []

    def do(self, what: str) -> Any:
        """Handle a button in the text: "inspect 12", "model 3"."""
        verb, _, at = what.partition(" ")
        view_state = self.session.view_state
        if verb == "inspect":
            view_state.param.update(inspected=int(at), tab="sample")
        elif verb == "model":
            view_state.param.update(model=int(at), tab="model")

    def prepare(self, results: Any) -> None:
        """Remove an older text if there is nothing to show."""
        needed = (results[name.rstrip("?")] for name in self.needs)
        if any(result.state in ("empty", "failed") for result in needed):
            self.text.body = ""


def share_bar(share: float, colour: str = "#0b7d7d") -> str:
    """Write a bar of a share in [0, 1] as markup."""
    return (
        "<div class='track'><div style='width:"
        f"{100 * min(max(share, 0), 1):.1f}%;background:{colour}'></div></div>"
    )


def effect_rows(table: pd.DataFrame) -> str:
    """Write the differences of samples from others as markup, a row per column.

    Parameters
    ----------
    table : DataFrame
        Rows of `ClusterProfiles.table`.
    """
    known = table.dropna(subset="effect")
    return "".join(_effect_row(row) for row in known.to_dict("records"))


def _effect_row(row: dict[Any, Any]) -> str:
    effect, name = row["effect"], row["column"]
    if isinstance(row["level"], str):
        name = f"{name} = {row['level']}"
    half = 50 * min(abs(effect), WIDEST_EFFECT) / WIDEST_EFFECT
    left = 50 if effect > 0 else 50 - half
    colour = "#0b7d7d" if effect > 0 else "#0b7d7d88"
    return (
        f"<tr title='{fixed(effect, signed=True)} standard deviations'>"
        f"<td class='cut' title='{safe(name)}'>{shorten_in_middle(name)}</td>"
        "<td><div class='track middle'><div "
        f"style='margin-left:{left:.1f}%;width:{half:.1f}%;background:{colour}'></div>"
        f"</div></td><td class='number'><b>{safe(with_minus(row['text']))}</b></td>"
        f"<td class='number muted'>{safe(with_minus(row['overall_text']))}</td></tr>"
    )


def row_link(position: int, row_id: object) -> str:
    """Write the id of a row as a button that inspects it."""
    return link(f"row {safe(row_id)}", f"inspect {position}")
