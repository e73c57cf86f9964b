"""Choice among the sheets or arrays of a file, or among separators of its cells."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.table.reading import SEPARATOR_NAMES
from clusterlens.ui.components.card import Card
from clusterlens.ui.widgets.toolkit import select

_LABELS = {"separator": "Cells separated by"}


def part_select(css: str) -> Any:
    """Return the control, hidden until there is a choice."""
    return select("Sheet", [""], css=css, width=170, visible=False)


def offer_parts(
    card: Card,
    control: Any,
    part: tuple[str, ...],
    parts: tuple[str, ...],
    *,
    offered: bool = True,
) -> None:
    """Offer the parts of a file if it has several.

    Parameters
    ----------
    card : Card
        Card of the control.
    control : Select
        Control made by `part_select`.
    part : tuple of str
        The selected part: "sheet", "array" or "separator" and its name, or empty.
    parts : tuple of str
        Names of all parts.
    offered : bool, default True
        Whether to show the choice.
    """
    card.offer(
        control,
        label=_LABELS.get(part[0], f"{part[0].title()} of the file") if part else "",
        options=_options(part, parts),
        visible=offered and len(parts) > 1,
    )


def _options(part: tuple[str, ...], parts: tuple[str, ...]) -> Any:
    """Return options by name; separators are named in words."""
    if part[:1] == ("separator",):
        return {SEPARATOR_NAMES[mark]: mark for mark in parts}
    return list(parts) or [""]
