"""Values of view parameters, and rules for their reset."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import param


@dataclass(frozen=True)
class Viewport:
    """Visible half-open data ranges of a figure, and its size in pixels.

    Ranges are None if the figure shows everything.
    """

    x: tuple[float, float] | None = None
    y: tuple[float, float] | None = None
    width: int = 0
    height: int = 0

    @property
    def zoom(self) -> tuple[tuple[float, float], tuple[float, float]] | None:
        """The x and y range, None if the figure shows everything."""
        return None if self.x is None or self.y is None else (self.x, self.y)

    @property
    def drawn(self) -> bool:
        """Return whether the figure has been laid out, and so has pixels."""
        return self.width > 0 and self.height > 0

    def whole(self) -> Viewport:
        """Return the viewport of this size that shows everything."""
        return Viewport(width=self.width, height=self.height)


@dataclass(frozen=True, eq=False)
class Brush:
    """Brushed samples, with the place of the brush.

    Parameters
    ----------
    positions : array of int, shape (n_brushed,)
        Positions of the samples, ascending.
    source : str
        Place of the brush, e.g. "box on the map".
    """

    positions: np.ndarray = field(default_factory=lambda: np.empty(0, np.intp))
    source: str = ""

    def __len__(self) -> int:
        return len(self.positions)


class Rule(NamedTuple):
    """Rule of a parameter: the event that resets it, and whether a link restores it."""

    until: Literal["", "run", "table", "either"] = ""
    linked: bool = False


_RULES: dict[param.Parameter, Rule] = {}


def view_parameter(
    parameter: Any,
    *,
    until: Literal["", "run", "table", "either"] = "",
    linked: bool = False,
) -> Any:
    """Return the parameter with its rule.

    Parameters
    ----------
    parameter : param.Parameter
        A parameter of a class of view parameters.
    until : {"", "run", "table", "either"}
        Event that resets it to its default: another run is selected, another table is
        prepared, or either; empty if it stays.
    linked : bool
        Whether it is part of a link to the page.
    """
    _RULES[parameter] = Rule(until, linked)
    return parameter


def rule(parameter: Any) -> Rule:
    """Return the rule of a parameter; by default it stays and is in no link."""
    return _RULES.get(parameter, Rule())
