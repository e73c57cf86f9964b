"""Looking: what a parameter of the look may hold, and how long it is kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import param


@dataclass(frozen=True)
class Viewport:
    """What a figure shows: half-open data ranges and its size in pixels.

    Ranges are None where the figure shall show everything.
    """

    x: tuple[float, float] | None = None
    y: tuple[float, float] | None = None
    width: int = 0
    height: int = 0

    @property
    def zoom(self) -> tuple[tuple[float, float], tuple[float, float]] | None:
        """The x and y range, None where the figure shall show everything."""
        return None if self.x is None or self.y is None else (self.x, self.y)

    @property
    def drawn(self) -> bool:
        """Whether the figure has a place on screen, and so pixels."""
        return self.width > 0 and self.height > 0

    def whole(self) -> Viewport:
        """Return the viewport of this size that shows everything."""
        return Viewport(width=self.width, height=self.height)


@dataclass(frozen=True, eq=False)
class Brush:
    """Samples that were brushed, and where.

    Parameters
    ----------
    positions : array of int, shape (n_brushed,)
        Positions of the samples, ascending.
    source : str
        Where they were brushed, e.g. "box on the map".
    """

    positions: np.ndarray = field(default_factory=lambda: np.empty(0, np.intp))
    source: str = ""

    def __len__(self) -> int:
        return len(self.positions)


class Rule(NamedTuple):
    """Until when a parameter is kept, and whether a link restores it."""

    until: Literal["", "run", "table", "either"] = ""
    linked: bool = False


_RULES: dict[param.Parameter, Rule] = {}


def kept(
    parameter: Any, *, until: Literal["", "run", "table", "either"] = "", linked=False
) -> Any:
    """Return the parameter with its rule.

    Parameters
    ----------
    parameter : param.Parameter
        A parameter of a class of looks.
    until : {"", "run", "table", "either"}
        It goes back to its default when another run is read, when another table is
        prepared, or when either is so; empty if it stays.
    linked : bool
        Whether it is part of a link to the page.
    """
    _RULES[parameter] = Rule(until, linked)
    return parameter


def rule(parameter: Any) -> Rule:
    """Return the rule of a parameter; without one it stays and is in no link."""
    return _RULES.get(parameter, Rule())
