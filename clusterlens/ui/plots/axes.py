"""Axes of maps: their descriptions, and ticks of columns in their own units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterlens.compute.formatting import abridge, grouped, minus, percent
from clusterlens.compute.table.projection import ColumnAxis, Projection

# Pixels between two ticks to the right and upwards, at least; part of the range of a
# column that ticks reach beyond it.
_GAPS = (55, 28)
_BEYOND = 0.06
_LONGEST = 40


@dataclass(frozen=True)
class Ticks:
    """Name of an axis, and the texts at its places.

    Parameters
    ----------
    name : str
        The column; empty for an axis without one.
    texts : dict of float to str
        Text of each tick by its coordinate.
    """

    name: str
    texts: dict[float, str]


def axis_titles(projection: Projection) -> tuple[str, str]:
    """Name both axes: columns, or components with their shares of the variance."""
    if projection.columns:
        first, second = (*(a.name for a in projection.columns), "")[:2]
        return first, second
    first, second = _shares(projection)
    return f"PC 1, {first} of the variance", f"PC 2, {second}"


def spoken_axes(projection: Projection, whose: str = "the") -> str:
    """Describe both axes for screen readers."""
    right, up = axis_titles(projection)
    if projection.columns:
        return (
            f"To the right {right}, upwards {up}." if up else f"To the right {right}."
        )
    first, second = _shares(projection)
    return (
        f"To the right principal component 1, {first} of {whose} variance, upwards "
        f"component 2, {second}."
    )


def arrows(projection: Projection, whose: str = "") -> str:
    """Write components in a line of HTML, with arrows; columns are named by the axes.

    Parameters
    ----------
    projection : Projection
        The map.
    whose : str
        Words before "variance", "the" or "the old rows'"; empty for the shares alone.
    """
    if projection.columns:
        return ""
    first, second = _shares(projection)
    variance = f" of {whose} variance" if whose else ""
    return (
        "<span class='muted' title='principal components, with their shares of the "
        f"variance'>→ PC 1, {first}{variance} · ↑ PC 2, {second}</span>"
    )


def _shares(projection: Projection) -> tuple[str, str]:
    """Return the shares of the variance on both axes."""
    first, second = [*map(percent, projection.explained[:2]), percent(0)][:2]
    return first, second


def plane_words(projection: Projection) -> str:
    """Describe the plane in a caption: "two principal components", "x and y"."""
    if projection.columns:
        return " and ".join(axis.name for axis in projection.columns)
    return "two principal components"


def ticks_of(
    projection: Projection, view: tuple[tuple[float, float], ...], size: tuple[int, int]
) -> tuple[Ticks, ...]:
    """Return the ticks of columns in view; none for components.

    Parameters
    ----------
    projection : Projection
        The map.
    view : pair of ranges
        x and y range of coordinates.
    size : pair of int
        Width and height in pixels.
    """
    found = [
        Ticks(abridge(axis.name, _LONGEST), _ticks(axis, *ends, pixels / gap))
        for axis, ends, pixels, gap in zip(
            projection.columns, view, size, _GAPS, strict=False
        )
    ]
    return (*found, *[Ticks("", {})] * (len(found) == 1))


def tick_options(ticks: tuple[Ticks, ...]) -> dict[str, Any]:
    """Return the options of an element with ticks, for both back ends."""
    options: dict[str, Any] = {}
    for letter, one in zip("xy", ticks, strict=False):
        if one.texts:
            options[f"{letter}ticks"] = list(one.texts.items())
        else:
            options[f"{letter}axis"] = None
    return options


def _ticks(axis: ColumnAxis, low: float, high: float, most: float) -> dict[float, str]:
    """Return ticks at round values, as close as allowed, where the column has values.

    At most `most` of them would fit between two coordinates.
    """
    margin = _BEYOND * float(np.ptp(axis.places)) if len(axis.values) == 2 else 0.0
    first, last = axis.places[[0, -1]].tolist()
    start, end = max(low, first - margin), min(high, last + margin)
    if start >= end:
        return {}
    most = max(2, int(most * (end - start) / (high - low)))
    if len(axis.values) > 2:
        even = axis.to_values(np.linspace(start, end, most + 1))
        rounded = [float(f"{value:.2g}") for value in even.tolist()]
        texts = {value: minus(grouped(value)) for value in rounded}
    else:
        low, high = axis.to_values([start, end]).tolist()
        texts = _round_values(low, high, most)
    places = axis.to_places(list(texts)).tolist()
    return {
        place: text
        for place, text in zip(places, texts.values(), strict=True)
        if start <= place <= end
    }


def _round_values(low: float, high: float, most: int) -> dict[float, str]:
    """Return multiples of 1, 2 or 5 times a power of ten, with their texts."""
    if (high - low) / most < 16 * np.spacing(max(abs(low), abs(high))):
        return {}  # floats are further apart than ticks
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(s * power for s in (1, 2, 5, 10) if most * s * power >= high - low)
    values = [k * step for k in range(math.ceil(low / step), int(high // step) + 1)]
    largest = max(abs(low), abs(high))
    digits = max(6, 2 + math.floor(math.log10(largest / step)))
    long = step >= 1 and largest < 1e9
    return {v: minus(grouped(v)) if long else minus(f"{v:.{digits}g}") for v in values}
