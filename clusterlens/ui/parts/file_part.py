"""The choice among the sheets or arrays of a file, or what separates its cells."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.table.reading import SEPARATOR_NAMES
from clusterlens.ui.kit.widgets import select
from clusterlens.ui.parts.panel import Panel

_LABELS = {"separator": "Cells separated by"}


def part_select(css: str) -> Any:
    """Return the control, hidden until there is something to choose."""
    return select("Sheet", [""], css=css, width=170, visible=False)


def offer_parts(
    panel: Panel,
    control: Any,
    part: tuple[str, ...],
    parts: tuple[str, ...],
    *,
    offered: bool = True,
) -> None:
    """Offer the parts of a file, where it has several.

    Parameters
    ----------
    panel : Panel
        Whose control it is.
    control : Select
        As of `part_select`.
    part : tuple of str
        Which one is read: "sheet", "array" or "separator" and its name, or nothing.
    parts : tuple of str
        The names of all.
    offered : bool, default True
        Whether there is a reason to choose.
    """
    panel.offer(
        control,
        label=_LABELS.get(part[0], f"{part[0].title()} of the file") if part else "",
        options=_options(part, parts),
        visible=offered and len(parts) > 1,
    )


def _options(part: tuple[str, ...], parts: tuple[str, ...]) -> Any:
    """Parts as they are called, separators in words."""
    if part[:1] == ("separator",):
        return {SEPARATOR_NAMES[mark]: mark for mark in parts}
    return list(parts) or [""]
