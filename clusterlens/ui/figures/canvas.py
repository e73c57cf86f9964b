"""Canvas: marks in data coordinates as markup, for charts of few marks.

A canvas fills its place without reports from the browser about its size, follows the
theme by inheritance, needs no Bokeh figure, and has a description in words.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Sequence

import numpy as np
from PIL import Image

Range = tuple[float, float]
Padding = tuple[int, int, int, int]

CANVAS_CSS = """
.canvas { position: relative; height: 100%; min-height: 70px; overflow: hidden;
  font-size: .85em; font-variant-numeric: tabular-nums; line-height: 1.1; }
.canvas > div { position: absolute; }
.canvas svg { position: absolute; inset: 0; width: 100%; height: 100%;
  overflow: visible; }
.canvas svg * { vector-effect: non-scaling-stroke; }
.canvas b, .canvas span, .canvas button { position: absolute; white-space: nowrap;
  font-weight: 400; }
.canvas b { font-weight: 700; }
.canvas i { position: absolute; border-radius: 50%; box-sizing: border-box;
  transform: translate(-50%, -50%); }
.canvas i.square { border-radius: 0; } .canvas i.diamond { border-radius: 0;
  transform: translate(-50%, -50%) rotate(45deg); }
.canvas i.left, .canvas i.right { border-radius: 0; background: none !important;
  border: 5px solid transparent; width: 0 !important; height: 0 !important; }
.canvas i.left { border-right: 9px solid currentColor; border-left: 0; }
.canvas i.right { border-left: 9px solid currentColor; border-right: 0; }
.canvas i[data-do] { cursor: pointer; }
.canvas i[data-do]:focus-visible { outline-offset: 3px; }
.canvas .muted { font-size: inherit; }
@media (max-width: 1150px) { .canvas { font-size: .74em; } }
"""
_PLACES = {
    "start": "translate(0, -50%)",
    "middle": "translate(-50%, -50%)",
    "end": "translate(-100%, -50%)",
    "below": "translate(-50%, 0)",
    "above": "translate(-50%, -100%)",
}


class Canvas:
    """Chart made by adding marks one by one.

    Parameters
    ----------
    x, y : pair of float
        Data ranges of the frame; y runs upwards.
    words : str
        Description of the chart for screen readers.
    padding : (int, int, int, int), optional
        Pixels kept free around the frame: left, top, right, bottom.
    """

    def __init__(
        self, x: Range, y: Range, words: str, *, padding: Padding = (8, 8, 8, 8)
    ) -> None:
        self._x, self._y, self._words, self._padding = x, y, words, padding
        self._shapes: list[str] = []
        self._marks: list[str] = []

    def line(
        self,
        points: Iterable[tuple[float, float]],
        colour: str = "currentColor",
        *,
        width: float = 1.5,
        dash: str = "",
        opacity: float = 1.0,
    ) -> None:
        """Draw a line through points."""
        at = " ".join(f"{self._left(x):.2f},{self._top(y):.2f}" for x, y in points)
        self._shapes.append(
            f"<polyline points='{at}' fill='none' stroke='{colour}' "
            f"stroke-width='{width}' stroke-dasharray='{dash}' "
            f"stroke-opacity='{opacity}'/>"
        )

    def area(
        self,
        points: Iterable[tuple[float, float]],
        colour: str = "currentColor",
        *,
        opacity: float = 0.15,
    ) -> None:
        """Fill the area inside a closed line."""
        at = " ".join(f"{self._left(x):.2f},{self._top(y):.2f}" for x, y in points)
        self._shapes.append(
            f"<polygon points='{at}' fill='{colour}' fill-opacity='{opacity}'/>"
        )

    def box(
        self, x: Range, y: Range, colour: str, *, opacity: float = 1.0, title: str = ""
    ) -> None:
        """Fill a rectangle."""
        left, right = sorted(map(self._left, x))
        top, bottom = sorted(map(self._top, y))
        self._shapes.append(
            f"<rect x='{left:.2f}' y='{top:.2f}' width='{right - left:.2f}' "
            f"height='{bottom - top:.2f}' fill='{colour}' fill-opacity='{opacity}'>"
            f"<title>{html.escape(title)}</title></rect>"
        )

    def dot(
        self,
        x: float,
        y: float,
        colour: str = "currentColor",
        *,
        size: int = 9,
        shape: str = "",
        ring: str = "",
        hollow: bool = False,
        title: str = "",
        does: str = "",
        front: bool = False,
    ) -> None:
        """Draw a mark: a disk, "square", "diamond", or an arrow "left" or "right".

        Among clickable marks, Tab reaches a mark in `front`; arrow keys reach the
        others.
        """
        style = f"border:2px solid {colour}" if hollow else f"background:{colour}"
        style += f";color:{colour}"
        if ring:
            style += f";box-shadow:0 0 0 2px {ring}"
        act = ""
        if does:
            act = (
                f" data-do='{html.escape(does)}' role='button' "
                f"aria-label='{html.escape(title)}' tabindex='{0 if front else -1}'"
            )
        self._marks.append(
            f"<i class='{shape}' title='{html.escape(title)}'{act} style='"
            f"{self._at(x, y)};width:{size}px;height:{size}px;{style}'></i>"
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        place: str = "middle",
        bold: bool = False,
        muted: bool = False,
        colour: str = "",
        shift: int = 0,
    ) -> None:
        """Write safe markup; `place` is its position relative to the point."""
        tag = "b" if bold else "span"
        style = f"{self._at(x, y)};transform:{_PLACES[place]};margin-left:{shift}px"
        if colour:
            style += f";color:{colour}"
        kind = " class='muted'" if muted else ""
        self._marks.append(f"<{tag}{kind} style='{style}'>{text}</{tag}>")

    def ticks(
        self, at: Sequence[tuple[float, str]], y: float, *, grid: bool = True
    ) -> None:
        """Write ticks below y, with lines over the whole height."""
        for x, text in at:
            if grid:
                self.line([(x, self._y[0]), (x, self._y[1])], opacity=0.1, width=1)
            self.text(x, y, text, place="below", muted=True)

    def _left(self, x: float) -> float:
        return 100 * (x - self._x[0]) / (self._x[1] - self._x[0])

    def _top(self, y: float) -> float:
        return 100 * (self._y[1] - y) / (self._y[1] - self._y[0])

    def _at(self, x: float, y: float) -> str:
        return f"left:{self._left(x):.2f}%;top:{self._top(y):.2f}%"

    def markup(self) -> str:
        """Return the chart."""
        left, top, right, bottom = self._padding
        return (
            "<div class='canvas' role='figure' "
            f"aria-label='{html.escape(self._words)}'>"
            f"<div data-roving='map' style='left:{left}px;top:{top}px;"
            f"right:{right}px;bottom:{bottom}px'>"
            "<svg viewBox='0 0 100 100' preserveAspectRatio='none' aria-hidden='true'>"
            f"{''.join(self._shapes)}</svg>{''.join(self._marks)}</div></div>"
        )


def data_address(pixels: np.ndarray) -> str:
    """Encode pixels, uint8 RGBA with the highest row first, as the source of an img.

    Suited to thumbnails: the text is a third longer than the file.
    """
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "PNG")
    code = base64.b64encode(content.getvalue()).decode()
    return f"data:image/png;base64,{code}"


def apart(values: Sequence[float], gap: float, bounds: Range) -> list[float]:
    """Move places of texts so that neighbours are a gap apart, as little as possible.

    Parameters
    ----------
    values : sequence of float
        Preferred places, in any order.
    gap : float
        Smallest distance of two texts.
    bounds : pair of float
        Limits of the places, if all texts fit.

    Returns
    -------
    places : list of float
        Places of the values, with the same ranks.
    """
    order = sorted(range(len(values)), key=lambda k: values[k])
    placed = [float(values[k]) for k in order]
    gap = min(gap, (bounds[1] - bounds[0]) / max(len(values) - 1, 1))
    for at in range(len(placed)):
        floor = placed[at - 1] + gap if at else bounds[0]
        placed[at] = max(placed[at], floor)
    for at in reversed(range(len(placed))):
        ceiling = placed[at + 1] - gap if at + 1 < len(placed) else bounds[1]
        placed[at] = min(placed[at], ceiling)
    found = [0.0] * len(values)
    for at, place in zip(order, placed, strict=True):
        found[at] = place
    return found
