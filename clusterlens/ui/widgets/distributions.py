"""Small pictures of columns inside a cluster and in the rest, as markup."""

from __future__ import annotations

from html import escape

import numpy as np
import pandas as pd

from clusterlens.compute.formatting import percent
from clusterlens.compute.table.distributions import ColumnDistribution
from clusterlens.ui.widgets.words import number

_WIDTH, _HEIGHT, _FOOT, _TOP = 200.0, 120.0, 9.0, 12.0
_REST = "#9aa1a9"


def picture(column: ColumnDistribution, colour: str, name: str) -> str:
    """Draw a column: the rest as a grey area, the cluster over it, means below.

    Parameters
    ----------
    column : ColumnDistribution
        Shares inside and outside.
    colour : str
        Colour of the cluster.
    name : str
        Name of the cluster, for the summary; escaped here.
    """
    draw = _levels if column.levels else _numbers
    return (
        f"<svg viewBox='0 0 {_WIDTH:g} {_HEIGHT:g}' preserveAspectRatio='none' "
        f"role='img' aria-label='{escape(summary(column, name))}'>"
        f"{draw(column, colour)}</svg>{_ends(column)}"
    )


def summary(column: ColumnDistribution, name: str) -> str:
    """Describe the picture in a sentence."""
    if column.levels:
        parts = [
            f"{level} {percent(here)} against {percent(there)}"
            for level, here, there in zip(
                column.levels, column.inside, column.outside, strict=True
            )
        ]
        return f"{column.column} of {name}: {', '.join(parts)} in the rest"
    here, there = write(column, column.mean_inside), write(column, column.mean_outside)
    return f"{column.column} of {name}: mean {here}, {there} in the rest"


def write(column: ColumnDistribution, value: float) -> str:
    """Format a value of a column, days as dates."""
    if column.first_day is not None and np.isfinite(value):
        return f"{column.first_day + pd.Timedelta(days=value):%Y-%m-%d}"
    return number(value)


def _numbers(column: ColumnDistribution, colour: str) -> str:
    top = max(float(np.max([column.inside, column.outside])), 1e-9)
    steps = np.linspace(0, _WIDTH, len(column.inside) + 1)
    outside = _outline(steps, column.outside / top)
    own = _outline(steps, column.inside / top)
    low, high = column.edges[0], column.edges[-1]
    marks = "".join(
        _mark((float(np.clip(mean, low, high)) - low) / (high - low) * _WIDTH, ink)
        for mean, ink in ((column.mean_outside, _REST), (column.mean_inside, colour))
        if np.isfinite(mean)
    )
    return (
        f"<path d='{outside}' fill='{_REST}' fill-opacity='.55'/>"
        f"<path d='{own}' fill='{colour}' fill-opacity='.35' stroke='{colour}' "
        f"stroke-width='1.6' vector-effect='non-scaling-stroke'/>{marks}"
    )


def _outline(steps: np.ndarray, heights: np.ndarray) -> str:
    """Return a path around steps of heights in [0, 1]."""
    floor = _HEIGHT - _FOOT
    y = floor - heights * (floor - _TOP)
    path = f"M{steps[0]:.1f},{floor:.1f}"
    for left, right, level in zip(steps[:-1], steps[1:], y, strict=True):
        path += f"L{left:.1f},{level:.1f}L{right:.1f},{level:.1f}"
    return f"{path}L{steps[-1]:.1f},{floor:.1f}Z"


def _mark(x: float, colour: str) -> str:
    """Return a triangle that points at a mean."""
    y = _HEIGHT - _FOOT + 1
    return (
        f"<path d='M{x:.1f},{y:.1f}l-4,7h8z' fill='{colour}' stroke='currentColor' "
        "stroke-width='.5'/>"
    )


def _levels(column: ColumnDistribution, colour: str) -> str:
    top = max(float(np.max([column.inside, column.outside])), 1e-9)
    width = _WIDTH / len(column.levels)
    floor, bars = _HEIGHT - _FOOT, []
    for k, shares in enumerate(zip(column.outside, column.inside, strict=True)):
        for side, (share, ink) in enumerate(zip(shares, (_REST, colour), strict=True)):
            height = share / top * (floor - _TOP)
            x = width * (k + 0.08 + 0.42 * side)
            bars.append(
                f"<rect x='{x:.1f}' y='{floor - height:.1f}' width='{0.4 * width:.1f}' "
                f"height='{height:.1f}' fill='{ink}'/>"
            )
    return "".join(bars)


def _ends(column: ColumnDistribution) -> str:
    """Write the labels below the picture: levels with shares, or ends of the axis."""
    if column.levels:
        texts = "".join(
            f"<span class='cut' style='flex:1 1 0;text-align:center' "
            f"title='{escape(level)}: {percent(here)} here, {percent(there)} in the "
            "rest'>"
            f"{escape(level)}</span>"
            for level, here, there in zip(
                column.levels, column.inside, column.outside, strict=True
            )
        )
        return f"<div class='muted' style='display:flex'>{texts}</div>"
    low, high = column.edges[[0, -1]]
    if len(column.edges) > 1 and np.allclose(column.edges % 1, 0.5):
        low, high = low + 0.5, high - 0.5
    before, after = "−" * column.clipped[0], "+" * column.clipped[1]
    return (
        f"<div class='between muted'><span>{write(column, low)}{before}</span>"
        f"<span>{write(column, high)}{after}</span></div>"
    )
