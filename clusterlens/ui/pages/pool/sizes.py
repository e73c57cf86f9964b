"""Line of table sizes: this table, and the limits of the presets."""

from __future__ import annotations

from functools import cache

import numpy as np

from clusterlens.compute.formatting import count, whole
from clusterlens.compute.notes import as_note
from clusterlens.compute.pool.presets import POOLS
from clusterlens.compute.pool.specs import pool_grids
from clusterlens.ui.figures.canvas import CANVAS_CSS, Canvas, apart
from clusterlens.ui.widgets.toolkit import safe

# Texts cover the lines that lead to them.
SIZES_CSS = (
    CANVAS_CSS
    + """
.canvas > div > span, .canvas > div > b { background: var(--panel-surface-color);
  padding: 0 1px; }
"""
)
# Larger than the limit of any preset.
_BEYOND_ALL = 10**9
# Widths of a letter and of a number with its gap, as shares of a narrow card.
_LETTER, _NUMBER = 0.023, 0.1
_ROW = 15  # pixels
_ACCENT, _WARN = "#0b7d7d", "#b0620c"


@cache
def size_limits() -> dict[int, dict[str, str]]:
    """Return the changes that presets make beyond each size.

    Each maps a method to its replacement, or to "" if it is left out. Methods in no
    preset are missing.
    """
    found: dict[int, dict[str, str]] = {}
    for name, preset in POOLS.items():
        if callable(preset):
            continue
        for note in map(as_note, pool_grids(name, _BEYOND_ALL)[1]):
            other = note.numbers.get("other", "")
            found.setdefault(note.numbers["limit"], {})[note.subject] = other
    return {limit: found[limit] for limit in sorted(found)}


def size_line(n_samples: int) -> str:
    """Draw as markup the sizes at which presets drop or replace methods.

    Parameters
    ----------
    n_samples : int
        Size of the table, which is highlighted.
    """
    limits = size_limits()
    changes = {limit: _change_words(methods) for limit, methods in limits.items()}
    n_changed = sum(len(limits[limit]) for limit in limits if limit < n_samples)
    here = "presets run every method as it is"
    if n_changed:
        here = f"presets leave out or change {count(n_changed, 'method')}"
    words = "; ".join(
        f"beyond {whole(limit)}: {text}" for limit, text in changes.items()
    )
    low = np.log10(min(n_samples, min(limits) / 10))
    high = np.log10(max(n_samples, max(limits))) + 0.12

    def at(size: int) -> float:
        return float((np.log10(size) - low) / (high - low))

    texts = [(at(n_samples), "this table"), *((at(k), changes[k]) for k in limits)]
    places, rows = _rows(texts)
    depth = max(rows) + 1
    chart = Canvas(
        (0, 1),
        (-depth - 0.2, 1.4),
        f"This table has {count(n_samples, 'sample')}; {words}.",
        padding=(4, 0, 4, 0),
    )
    chart.line([(0, 0), (1, 0)], width=3, opacity=0.2)
    chart.line([(0, 0), (at(n_samples), 0)], _ACCENT, width=3)
    sizes = [n_samples, *limits]
    numbers = apart([at(size) for size in sizes], _NUMBER, (0.05, 0.94))
    for size, number, place, row, (x, text) in zip(
        sizes, numbers, places, rows, texts, strict=True
    ):
        own, passed = text == "this table", size < n_samples
        colour = _ACCENT if own else _WARN if passed else ""
        down = -row - 0.8
        if not own:
            chart.line([(x, 0.4), (x, down)], opacity=0.35, width=1)
        chart.text(number, 0.9, _brief(size), bold=own, colour=colour)
        chart.text(place, down, safe(text), bold=own, colour=colour)
    chart.dot(at(n_samples), 0, _ACCENT, title="this table")
    height = _ROW * (depth + 1.6)
    return (
        f"<p class='muted'>At {count(n_samples, 'sample')} {here}. Beyond these sizes:"
        f"</p><div class='cl-sizes' style='height:calc({height:.0f}px * "
        f"var(--cl-scale, 1))'>{chart.markup()}</div>"
    )


def _change_words(methods: dict[str, str]) -> str:
    """Format the changes beyond a size: replacements, and dropped methods."""
    gone = [method for method, other in methods.items() if not other]
    others = sorted({other for other in methods.values() if other})
    return ", ".join([*others, *([f"no {', '.join(gone)}"] if gone else [])])


def _rows(texts: list[tuple[float, str]]) -> tuple[list[float], list[int]]:
    """Return the places of texts on the line, and the first row with space."""
    places, rows, ends = [0.0] * len(texts), [0] * len(texts), [0.0]
    for k in sorted(range(len(texts)), key=lambda k: texts[k][0]):
        x, text = texts[k]
        half = min(_LETTER * len(text) / 2, 0.5)
        places[k] = x = float(np.clip(x, half, 1 - half))
        row = next((r for r, end in enumerate(ends) if end <= x - half), len(ends))
        ends += [0.0] * (row == len(ends))
        rows[k], ends[row] = row, x + half + _LETTER
    return places, rows


def _brief(size: int) -> str:
    """Format a size in few letters: 850, 1.5k, 300k, 2M."""
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if size >= unit:
            parts = size / unit
            return f"{parts:.0f}{letter}" if parts >= 10 else f"{parts:.2g}{letter}"
    return str(size)
