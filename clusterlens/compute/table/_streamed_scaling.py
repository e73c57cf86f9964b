"""Distributions of columns that are read in parts, and their scaling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.table.column_streams import Moments
from clusterlens.compute.table.quantiles import weighted_quantile


@dataclass
class Distribution:
    """Values of a column: moments, extremes, and points with weights for quantiles."""

    moments: Moments
    low: float
    high: float
    values: FloatArray
    weights: IntArray
    error: int = 0

    @classmethod
    def of(cls, values: FloatArray, weights: IntArray) -> Distribution:
        """Return the distribution of values (k,) that occur so often; NaN is none."""
        known = ~np.isnan(values)
        values, weights = values[known], weights[known]
        low, high = (values.min(), values.max()) if len(values) else (np.nan, np.nan)
        return cls(Moments.of(values, weights), low, high, values, weights)

    def quantile(self, share: float) -> float:
        """Return a quantile, as `numpy.quantile`."""
        return weighted_quantile(self.values, self.weights, share)

    def add(self, value: float, n: int) -> None:
        """Add a value that occurs n times more."""
        self.moments.merge(Moments(n, value))
        self.values = np.append(self.values, value)
        self.weights = np.append(self.weights, n)


def learn_scaling(scale: str, values: Sequence[Distribution]) -> dict[str, list[float]]:
    """Learn the attributes of a fitted scaler from complete columns."""
    low, high = (
        np.array([v.low for v in values]),
        np.array([v.high for v in values]),
    )
    if scale == "standard":
        mean = np.array([v.moments.mean for v in values])
        n = values[0].moments.count
        var = np.array([v.moments.squares for v in values]) / n
        rounding = np.finfo(np.float64).eps * n
        constant = var <= rounding * var + (rounding * mean) ** 2
        learnt = {"mean_": mean, "var_": var, "scale_": np.sqrt(var)}
        learnt["scale_"][constant] = 1.0
    elif scale == "robust":
        quartiles = [[v.quantile(q) for q in (0.25, 0.5, 0.75)] for v in values]
        first, middle, third = np.array(quartiles).T
        learnt = {"center_": middle, "scale_": _divisors(third - first)}
    elif scale == "minmax":
        factor = 1 / _divisors(high - low)
        learnt = {"min_": -low * factor, "scale_": factor, "data_min_": low}
        learnt |= {"data_max_": high, "data_range_": high - low}
    else:
        learnt = {}
    return {name: numbers.tolist() for name, numbers in learnt.items()}


def _divisors(widths: FloatArray) -> FloatArray:
    """Return widths (k,) to divide by: next to nothing counts as 1."""
    return np.where(widths < 10 * np.finfo(np.float64).eps, 1.0, widths)
