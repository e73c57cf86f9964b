"""The choice among the sheets or arrays of a file."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.kit.widgets import select
from clusterlens.ui.parts.panel import Panel


def part_select(css: str) -> Any:
    """Return the control, hidden until there is something to choose."""
    return select("Sheet", [""], css=css, width=170, visible=False)


def offer_parts(
    panel: Panel, control: Any, part: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    """Offer the parts of a file, where it has several.

    Parameters
    ----------
    panel : Panel
        Whose control it is.
    control : Select
        As of `part_select`.
    part : tuple of str
        Which one is read: "sheet" or "array" and its name, or nothing.
    parts : tuple of str
        The names of all.
    """
    panel.offer(
        control,
        label=f"{part[0].title()} of the file" if part else "",
        options=list(parts) or [""],
        visible=len(parts) > 1,
    )
