"""Distributions of the original columns inside a group of samples and outside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    check_entries,
    check_range,
    plain_repr,
)
from clusterlens.compute.table._features import Column
from clusterlens.compute.table.dataset import Dataset, check_dataset
from clusterlens.compute.table.profiles import group_members

_TAIL = 0.01  # share of the values beyond either end that steps may leave out
_LONG = 0.25  # least share of the range for a tail to be left out


@dataclass(frozen=True, eq=False)
class ColumnDistribution(Frozen):
    """Distribution of one column inside a group and outside it.

    Attributes
    ----------
    column : str
        Name of the column.
    levels : tuple of str
        Names of the levels of a category, the most frequent inside first; empty for
        numbers and dates.
    edges : array of float64, shape (n_bins + 1,)
        Ends of the steps of a number, or of days since `first_day`; empty for
        categories.
    inside, outside : array of float64, shape (n_bins,) or (n_levels,)
        Share of the values inside, and of the values outside, in each step or level.
        Values beyond the ends count in the first and the last step.
    mean_inside, mean_outside : float
        Means of the numbers; NaN for categories.
    n_missing : int
        Missing values, inside and outside.
    clipped : tuple of bool
        Whether values lie below the first and above the last edge.
    first_day : Timestamp or None
        Day 0 of a column of dates.
    """

    column: str
    levels: tuple[str, ...]
    edges: FloatArray
    inside: FloatArray
    outside: FloatArray
    mean_inside: float
    mean_outside: float
    n_missing: int
    clipped: tuple[bool, bool]
    first_day: pd.Timestamp | None = None


def column_distributions(
    ds: Dataset,
    samples: npt.ArrayLike,
    columns: Sequence[str],
    *,
    n_bins: int = 16,
    max_levels: int = 6,
) -> list[ColumnDistribution]:
    """Describe columns inside a group of samples and outside it, in original units.

    Parameters
    ----------
    ds : Dataset
        A prepared dataset.
    samples : array-like of int or bool
        Positions of rows of ds.X, or one truth value per row; neither none nor all.
    columns : sequence of str
        Names of feature columns of ds.
    n_bins : int, default 16
        Largest number of steps of a number; whole numbers have no finer steps than 1.
    max_levels : int, default 6
        Levels of a category to keep, the most frequent inside and outside; the shares
        of the others are left out.

    Returns
    -------
    distributions : list of ColumnDistribution
        In the order of `columns`.

    Raises
    ------
    ValueError
        If there is no such column, or the samples are none or all.

    Notes
    -----
    If the outer hundredth of the values takes more than a quarter of the range, the
    steps end before it, and `clipped` says so. O(n_samples) per column.

    Examples
    --------
    >>> from clusterlens.compute.table.dataset import prepare
    >>> ds = prepare({"size": [1.0, 2.0, 8.0, 9.0], "colour": ["a", "a", "b", "b"]})
    >>> found = column_distributions(ds, [2, 3], ["colour"])[0]
    >>> found.levels, found.inside.tolist()
    (('b', 'a'), [1.0, 0.0])
    """
    ds = check_dataset(ds)
    inside = group_members(samples, len(ds.row_ids))
    check_range(n_bins, 1, 1000, name="n_bins", integer=True)
    check_range(max_levels, 1, 1000, name="max_levels", integer=True)
    encoded = ds.encoded
    known = {column.name: k for k, column in enumerate(encoded.columns)}
    found = []
    for name in check_entries(columns, "columns"):
        if not isinstance(name, str) or name not in known:
            raise ValueError(
                f"columns has {plain_repr(name)}, which is no feature column; give "
                f"some of {', '.join(map(repr, list(known)[:10]))}."
            )
        values = encoded.values[:, known[name]]
        column = encoded.columns[known[name]]
        if column.levels:
            found.append(_of_levels(values, inside, column, max_levels))
        else:
            found.append(_of_numbers(values, inside, column, n_bins))
    return found


def _of_levels(
    codes: FloatArray, inside: npt.NDArray[np.bool_], column: Column, most: int
) -> ColumnDistribution:
    """Compute shares of the levels that are frequent on either side."""
    here, there = _present(codes, inside)
    shares = [
        np.bincount(side.astype(np.int64), minlength=len(column.levels))
        / max(len(side), 1)
        for side in (here, there)
    ]
    frequent = np.argsort(-np.maximum(*shares), kind="stable")[:most]
    order = frequent[np.argsort(-shares[0][frequent], kind="stable")]
    return ColumnDistribution(
        column.name,
        tuple(column.level_names[k] for k in order),
        np.empty(0),
        shares[0][order],
        shares[1][order],
        np.nan,
        np.nan,
        len(codes) - len(here) - len(there),
        (False, False),
    )


def _of_numbers(
    values: FloatArray, inside: npt.NDArray[np.bool_], column: Column, n_bins: int
) -> ColumnDistribution:
    """Compute shares of equal steps; values beyond the ends go into the last ones."""
    here, there = _present(values, inside)
    every = np.concatenate([here, there])
    edges, clipped = _steps(every, n_bins)
    shares = [
        np.histogram(np.clip(side, edges[0], edges[-1]), edges)[0] / max(len(side), 1)
        for side in (here, there)
    ]
    return ColumnDistribution(
        column.name,
        (),
        edges,
        shares[0],
        shares[1],
        float(here.mean()) if len(here) else np.nan,
        float(there.mean()) if len(there) else np.nan,
        len(values) - len(every),
        clipped,
        column.first_day,
    )


def _present(
    values: FloatArray, inside: npt.NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Return values inside and outside that are not missing."""
    there = ~np.isnan(values)
    return values[there & inside], values[there & ~inside]


def _steps(values: FloatArray, n_bins: int) -> tuple[FloatArray, tuple[bool, bool]]:
    """Ends of the steps (n_bins + 1,), and whether values lie beyond them."""
    if not len(values):
        return np.array([0.0, 1.0]), (False, False)
    low, high = values.min(), values.max()
    ends = np.quantile(values, [_TAIL, 1 - _TAIL])
    below = ends[0] - low > _LONG * (high - low)
    above = high - ends[1] > _LONG * (high - low)
    start, stop = ends[0] if below else low, ends[1] if above else high
    if low == high:
        return np.array([low - 0.5, low + 0.5]), (False, False)
    if not stop > start:
        start, stop, below, above = low, high, False, False
    if (values == np.rint(values)).all() and stop - start < n_bins:
        edges = np.arange(np.floor(start) - 0.5, np.ceil(stop) + 1.0)
        return edges, (bool(below), bool(above))
    return np.linspace(start, stop, n_bins + 1), (bool(below), bool(above))
