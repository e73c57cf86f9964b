"""A condition on one original column: a range of numbers, or a set of levels.

A missing value meets no condition, neither here nor in SQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._validation import FloatArray
from clusterlens.compute.assigning._sources import Source
from clusterlens.compute.assigning._sql import among, identifier
from clusterlens.compute.formatting import grouped

_LISTED = 4  # levels to name in a sentence


@dataclass(frozen=True)
class Condition:
    """Condition on a column: low < value <= high, or one of some codes of levels."""

    source: Source
    low: float = -np.inf
    high: float = np.inf
    codes: tuple[int, ...] = ()

    def moved(self, side: str, bound: float) -> Condition:
        """Return the same with another bound."""
        low, high = (bound, self.high) if side == "low" else (self.low, bound)
        return Condition(self.source, low, high)

    def holds(self, values: FloatArray) -> npt.NDArray[np.bool_]:
        """Tell which values (n,) of the column meet the condition."""
        if self.source.is_number:
            return np.asarray((values > self.low) & (values <= self.high))
        among_codes = np.zeros(len(self.source.column.levels) + 1, dtype=bool)
        among_codes[list(self.codes)] = True
        return among_codes[np.nan_to_num(values, nan=-1).astype(np.intp)]

    @property
    def levels(self) -> tuple[Any, ...]:
        """The levels that meet the condition, empty for numbers."""
        return tuple(self.source.column.levels[code] for code in self.codes)

    @property
    def text(self) -> str:
        """The condition in words."""
        if self.source.is_number:
            return f"{self.source.name} {self._range_text()}"
        names = self.source.column.level_names
        others = [name for code, name in enumerate(names) if code not in self.codes]
        if len(self.codes) > _LISTED and len(others) <= _LISTED:
            return f"{self.source.name} known and not {_listed(others)}"
        chosen = [names[code] for code in self.codes]
        sign = "=" if len(chosen) == 1 else "is"
        return f"{self.source.name} {sign} {_listed(chosen)}"

    @property
    def sql(self) -> str:
        """The condition in SQL."""
        if self.source.is_number:
            return self.source.between_sql(self.low, self.high)
        return among(identifier(self.source.name), self.levels)

    def _range_text(self) -> str:
        low, high = self._bound_text(self.low), self._bound_text(self.high)
        if not np.isfinite(self.low):
            return f"at most {high}"
        if not np.isfinite(self.high):
            return f"above {low}"
        return f"above {low} up to {high}"

    def _bound_text(self, value: float) -> str:
        if not np.isfinite(value):
            return ""
        date = self.source.date(value)
        return grouped(value) if date is None else f"{date:%Y-%m-%d}"


def _listed(names: Sequence[str]) -> str:
    """List texts with "or", and the number of the others."""
    if len(names) > _LISTED:
        return f"{', '.join(names[:_LISTED])} or one of {len(names) - _LISTED} more"
    return " or ".join([", ".join(names[:-1])] * (len(names) > 1) + [*names[-1:]])


def rounded(bound: float, source: Source, spread: float) -> float:
    """Return a bound with two significant digits, or a fifth of the spread, if finer.

    Dates are cut to days; bounds of whole numbers are whole.
    """
    if not np.isfinite(bound):
        return bound
    first = source.column.first_day
    if first is not None:
        day = pd.Timestamp(source.shown(bound)).floor("D")
        return float((day - first) / pd.Timedelta(days=1))
    if source.whole:
        bound = float(np.floor(bound))
    places = np.log10([abs(bound) / 10 if bound else spread, spread / 5])
    return round(bound, -int(np.floor(places.min()))) + 0.0
