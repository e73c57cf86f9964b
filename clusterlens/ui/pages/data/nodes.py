"""Results of the page Data: columns, first rows, the map of the prepared samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from clusterlens.compute._run.options import raise_if_cancelled
from clusterlens.compute.formatting import grouped, minus
from clusterlens.compute.table.dataset import ColumnFacts, Dataset
from clusterlens.compute.table.plane import map_samples
from clusterlens.compute.table.projection import Projection
from clusterlens.compute.table.summaries import TableHint, column_summaries, table_hints
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.plots.samples import Picture, draw_map
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.widgets.palette import shades

BINS = 24
LEVELS = 12
PREVIEW_ROWS = 40
PREVIEW_COLUMNS = 60
AXES = 12
LOADINGS = 4


@dataclass(frozen=True, eq=False)
class Column:
    """Summary of a column.

    Parameters
    ----------
    name : str
        Name of the column.
    missing : int
        Number of cells without a value.
    distinct : int
        Number of distinct values.
    first : str
        The first values.
    low, high : str
        Smallest and largest number, empty for words.
    bins : array of int, shape (n_bins,)
        Cells per step from low to high, empty for words.
    levels : list of (str, float)
        The values with their shares of the cells, sorted; empty if there are many.
    """

    name: str
    missing: int
    distinct: int
    first: str
    low: str
    high: str
    bins: np.ndarray
    levels: list[tuple[str, float]]


@node("live", "Looking at the columns")
def columns(job: Job, table: Dataset) -> list[Column]:
    """Summarise each column; linear in the number of cells."""
    found = []
    for done, (name, facts) in enumerate(table.facts.items()):
        raise_if_cancelled(job.cancelled)
        job.report(done, len(table.facts))
        found.append(_column(str(name), facts))
    return found


def _column(name: str, facts: ColumnFacts) -> Column:
    present = facts.values.dropna()
    is_known = facts.kind != "other"
    distinct = facts.n_distinct if is_known else len(present)
    low, high, bins = _histogram(present)
    return Column(
        name,
        facts.n_missing,
        distinct,
        ", ".join(write_cell(value) for value in present.head(3)),
        low,
        high,
        bins,
        _levels(present) if 0 < distinct <= LEVELS and is_known else [],
    )


def _histogram(present: pd.Series) -> tuple[str, str, np.ndarray]:
    """Return a histogram of numbers or dates in equal steps; empty for words."""
    none = "", "", np.zeros(0, int)
    if types.is_datetime64_any_dtype(present.dtype):
        numbers = present.astype("int64").to_numpy(float)
    elif types.is_numeric_dtype(present.dtype) and present.dtype.kind != "c":
        numbers = present.to_numpy(float)
    else:
        return none
    finite = numbers[np.isfinite(numbers)]
    if not len(finite):
        return none
    low, high = finite.min(), finite.max()
    with np.errstate(over="ignore"):
        steps = min(BINS, int(high - low) + 1) if _whole(present) else BINS
        spread = high - low
    if not np.isfinite(spread) or spread == 0:
        bins = np.array([len(finite)])
    else:
        bins = np.histogram(finite, bins=max(steps, 1), range=(low, high))[0]
    first, last = (present[numbers == value].iloc[0] for value in (low, high))
    return _write_end(first), _write_end(last), bins


def _whole(present: pd.Series) -> bool:
    return types.is_integer_dtype(present.dtype)


def _levels(present: pd.Series) -> list[tuple[str, float]]:
    shares = present.value_counts(normalize=True).sort_index()
    return [(write_cell(level), float(share)) for level, share in shares.items()]


def write_cell(value: Any) -> str:
    """Format a cell: a number with few digits, a date without its time."""
    if (
        value is None
        or value is pd.NaT
        or (isinstance(value, float) and value != value)
    ):
        return ""
    if isinstance(value, float):
        return minus(f"{value:.4g}" if abs(value) < 1e4 else f"{value:.6g}")
    if isinstance(value, pd.Timestamp) and value == value.normalize():
        return str(value.date())
    return minus(str(value)) if isinstance(value, Integral) else str(value)


def _write_end(value: Any) -> str:
    """Format an end of an axis as a cell, large numbers in groups of digits."""
    is_number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    return (
        minus(grouped(value)) if is_number and abs(value) >= 1e4 else write_cell(value)
    )


@dataclass(frozen=True)
class Role:
    """Role of a column with its reason, transform and weight.

    `chosen` tells whether the analyst chose the role.
    """

    role: str
    reason: str
    chosen: bool
    transform: str = ""
    weight: float = 1.0


@node(keep=16)
def roles(
    table: Dataset, dataset: Dataset | None, preparation: Mapping[str, Any]
) -> list[Role]:
    """Return the role of each column: as prepared, or as guessed if that failed."""
    source = dataset or table
    chosen = preparation.get("roles", {}) if dataset else {}
    found = []
    for name in table.table.columns:
        reason = source.role_reasons[name]
        if name in chosen:
            guess = f"guessed {table.roles[name]}: {table.role_reasons[name]}"
            reason = f"chosen by you · {guess}"
        found.append(
            Role(
                source.roles[name],
                reason,
                name in chosen,
                preparation.get("transforms", {}).get(name, ""),
                preparation.get("weights", {}).get(name, 1.0),
            )
        )
    return found


@node("idle", "Looking for what to mend")
def hints(job: Job, table: Dataset, dataset: Dataset | None) -> list[TableHint]:
    """Return hints on copies, constants, extreme values and long tails.

    Hints that are already applied are left out.
    """
    source = dataset or table
    found = list(table_hints(source))
    for one in column_summaries(source):
        raise_if_cancelled(job.cancelled)
        if one.transform:
            text = (
                f"{one.name}: long tail (skewness "
                f"{minus(f'{one.skewness:.1f}')}), a few rows decide the distances."
            )
            action = {"transforms": {one.name: one.transform}}
            found.append(TableHint(text, [one.name], action=action))
    settings = dataset.settings if dataset else {}
    return [hint for hint in found if not _is_done(hint.action, settings)]


def _is_done(action: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Return whether a table was prepared so, or its columns were changed otherwise."""
    return bool(action) and all(
        set(value) <= set(settings.get(rule, ()))
        if isinstance(value, Mapping)
        else settings.get(rule) == value
        for rule, value in action.items()
    )


@dataclass(frozen=True, eq=False)
class Preview:
    """The first rows: names, row ids, and cells as text, row by row."""

    names: list[str]
    ids: list[str]
    cells: list[list[str]]
    n_rows: int
    n_columns: int


@node()
def preview(table: Dataset, dataset: Dataset | None, view_rows_as: str) -> Preview:
    """Return the first rows as they were read, or as features of the pool."""
    if view_rows_as == "features" and dataset is not None:
        X = dataset.X
        features = X[:PREVIEW_ROWS, :PREVIEW_COLUMNS]
        names = list(dataset.feature_names[:PREVIEW_COLUMNS])
        cells = [[minus(f"{value:.3g}") for value in row] for row in features.tolist()]
        ids = dataset.row_ids[:PREVIEW_ROWS]
        return Preview(names, list(map(str, ids)), cells, *X.shape)
    frame = (dataset or table).table
    shown = frame.iloc[:PREVIEW_ROWS, :PREVIEW_COLUMNS]
    return Preview(
        list(map(str, shown.columns)),
        list(map(str, shown.index)),
        [
            [write_cell(value) for value in row]
            for row in shown.itertuples(index=False, name=None)
        ],
        *frame.shape,
    )


@node("live", "Drawing what goes into the pool")
def prepared_projection(job: Job, dataset: Dataset) -> Projection:
    """Place the prepared samples on numeric columns or principal components."""
    return map_samples(dataset, min(AXES, max(2, min(dataset.X.shape))))


@dataclass(frozen=True, eq=False)
class Shading:
    """Colour of each prepared sample, with its meaning.

    Parameters
    ----------
    values : array of uint8, shape (n_samples, 3)
        Colours from light to dark by the column.
    column : str
        Name of the column, empty for one colour.
    low, high : str
        Values of the lightest and of the darkest colour.
    n_missing : int
        Number of samples without a value, which are grey.
    """

    values: np.ndarray
    column: str = ""
    low: str = ""
    high: str = ""
    n_missing: int = 0


@node("live", "Colouring the samples", keep=16)
def shading(job: Job, dataset: Dataset, view_column: str | None) -> Shading:
    """Shade the prepared samples by a column as it was read."""
    names = {str(name): name for name in dataset.table.columns}
    if view_column not in names:
        middle = shades(np.array([0.7]))
        return Shading(np.repeat(middle, len(dataset.X), axis=0))
    at = dataset.table.index.get_indexer(pd.Index(dataset.row_ids))
    cells = dataset.table[names[view_column]].iloc[at]
    numbers = _as_numbers(cells)
    if not np.isfinite(numbers).any():
        return Shading(shades(numbers), str(view_column), n_missing=len(numbers))
    low, high = np.nanmin(numbers), np.nanmax(numbers)
    first, last = (
        _write_end(cells.iloc[int(find(numbers))])
        for find in (np.nanargmin, np.nanargmax)
    )
    share = (numbers - low) / ((high - low) or 1.0)
    missing = int(np.isnan(numbers).sum())
    return Shading(shades(share), str(view_column), first, last, missing)


def _as_numbers(cells: pd.Series) -> np.ndarray:
    """Return finite numbers or NaN; other values by their rank in sorted order."""
    if types.is_numeric_dtype(cells.dtype) and cells.dtype.kind != "c":
        numbers = cells.to_numpy(float, na_value=np.nan)
        return np.where(np.isfinite(numbers), numbers, np.nan)
    keys = cells.astype(str) if types.is_object_dtype(cells.dtype) else cells
    codes = pd.factorize(keys, sort=True)[0]
    return np.where(codes < 0, np.nan, codes.astype(float))


@node("live", "Drawing what goes into the pool")
def prepared_picture(
    job: Job,
    prepared_projection: Projection,
    shading: Shading,
    view_prepared_view: Viewport,
) -> Picture | None:
    """Draw the prepared samples at the size and in the ranges of the figure."""
    if not view_prepared_view.drawn:
        return None
    return draw_map(
        prepared_projection.coordinates[:, :2],
        shading.values,
        view_prepared_view,
        plane=prepared_projection,
    )


@dataclass(frozen=True, eq=False)
class Axes:
    """Axes of the map of the prepared samples, and main features of the first two."""

    projection: Projection
    loadings: list[list[str]]


@node()
def axes(dataset: Dataset, prepared_projection: Projection) -> Axes:
    """Name the features with the largest weights in the first two components."""
    weights = np.abs(prepared_projection.components[:2])
    largest = np.argsort(-weights, axis=1, kind="stable")[:, :LOADINGS]
    names = [
        [dataset.feature_names[k] for k in row if weight[k] > 0.1]
        for row, weight in zip(largest, weights, strict=True)
    ]
    return Axes(prepared_projection, names)
