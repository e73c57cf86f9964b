"""Counterfactuals: the smallest change of one column that moves a row elsewhere."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, RunOptions
from clusterlens.compute._validation import DataError, FloatArray
from clusterlens.compute.assigning.assigner import ALPHA, Assigned
from clusterlens.compute.assigning.segmentation import Segmentation, check_segmentation
from clusterlens.compute.formatting import count
from clusterlens.compute.table.dataset import Column, Dataset, check_dataset
from clusterlens.compute.table.preparation import typed_table
from clusterlens.compute.table.preparing_again import check_rows

# Values to try on either side of a number, fewer if there are many columns.
MOST_TRIED, LEAST_TRIED, TRIED_IN_ALL = 32, 4, 4096
# Halvings between the last value that stays and the first that does not.
_HALVINGS = 12
_DIGITS = 2
_NO_CHANGE = (None, None, None, None, np.nan)


@takes_running
def smallest_changes(
    segmentation: Segmentation,
    table: Any,
    dataset: Dataset | None = None,
    *,
    cancel: Cancel | None = None,
) -> pd.DataFrame:
    """Find the smallest change of each column that assigns a row to another cluster.

    Parameters
    ----------
    segmentation : Segmentation
        The segmentation that assigns.
    table : DataFrame, array-like or Dataset
        One raw row in the format of the first table.
    dataset : Dataset, optional
        The table of the segmentation, prepared: its lowest and highest values limit the
        numbers to try. Default: the first and the last decile, which the segmentation
        stores.
    cancel : callable, optional
        Called between steps; True stops.

    Returns
    -------
    changes : DataFrame
        One row per column that has a value, the smallest change first: "column";
        "value", the present one, and "change to", the required one, missing if no tried
        value is enough; "cluster", the resulting label; "name" of that cluster;
        "nowhere", whether the row would be too far from it to belong there, missing if
        this cannot be tested; and "step", the change as a share of the tried range, 1
        for a level.

    Raises
    ------
    DataError
        If columns are missing or of another kind, there is not one row, or it has gaps
        that are not filled.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    All other columns keep their values, even if no real row has this combination. All
    levels are tried. Numbers are tried at up to 32 even steps to either side, fewer
    with many columns; then the nearest step that leaves the cluster is halved 12 times
    and rounded outwards. A stretch of another cluster narrower than a step may be
    missed. Whole numbers stay whole. The time equals assigning about 4,096 rows.

    Examples
    --------
    >>> from clusterlens.compute.table.dataset import prepare
    >>> table = pd.DataFrame({"size": [1.0, 1.2, 1.1, 7.0, 7.1, 7.3]})
    >>> seg = Segmentation(prepare(table), [0, 0, 0, 1, 1, 1], ["small", "large"])
    >>> smallest_changes(seg, {"size": [2.0]})[["change to", "name"]].values.tolist()
    [[4.2, 'large']]
    """
    run = RunOptions(n_jobs=1, cancel=cancel)
    check_segmentation(segmentation)
    preparation = segmentation.kept.preparation
    columns, row_id = list(segmentation.columns), segmentation.kept.row_id
    frame, _ = typed_table(check_rows(table), columns, row_id)
    if len(frame) != 1:
        raise DataError(f"table has {count(len(frame), 'row')}; give a table of one.")
    kept = preparation.transform_typed(frame, unknown="missing", gaps="leave out").kept
    if not kept.all():
        raise DataError("The row has gaps that are not filled; give it values there.")
    values = preparation.encode(frame)[0]
    seen = _seen(segmentation, dataset)
    search = _Search(segmentation, values, run)
    pairs = enumerate(zip(preparation.columns_, seen, strict=True))
    known = [
        (j, column, tried) for j, (column, tried) in pairs if values[j] == values[j]
    ]
    n_tried = TRIED_IN_ALL // max(2 * len(known), 1)
    n_tried = min(max(n_tried, LEAST_TRIED), MOST_TRIED)
    ways = [way for j, c, s in known for way in _ways(j, c, values[j], s, n_tried)]
    best: dict[int, _Change] = {}
    for one in sorted(_nearest(ways, search), key=lambda one: -one.step):
        best[one.column] = one
    there = _there(list(best.values()), search, segmentation)
    rows = [
        (column.name, _shown(column, values[j]), *there.get(j, _NO_CHANGE))
        for j, column, _ in known
    ]
    names = ["column", "value", "change to", "cluster", "name", "nowhere", "step"]
    changes = pd.DataFrame(rows, columns=names)
    changes = changes.astype({"cluster": "Int64", "nowhere": "boolean", "step": float})
    return changes.sort_values("step", kind="stable", ignore_index=True)


class _Way(NamedTuple):
    """Values of one column to try, the nearest first, in the order of the change."""

    column: int
    tried: FloatArray
    span: float
    whole: bool
    is_level: bool


class _Change(NamedTuple):
    """A value of one column that leaves the cluster, and the size of the change."""

    column: int
    value: float
    step: float


class _Search:
    """A row with one of its columns changed, and its resulting assignment."""

    def __init__(
        self, segmentation: Segmentation, values: FloatArray, run: RunOptions
    ) -> None:
        self._kept, self._run, self.values = segmentation.kept, run, values
        self._own = self._assign(values[None]).cluster[0]

    def assign(self, columns: npt.ArrayLike, values: npt.ArrayLike) -> Assigned:
        """Assign the row once for each column and the value that replaces its own."""
        columns = np.asarray(columns, np.intp)
        changed = np.repeat(self.values[None], len(columns), axis=0)
        changed[np.arange(len(columns)), columns] = values
        return self._assign(changed)

    def leaves(
        self, columns: npt.ArrayLike, values: npt.ArrayLike
    ) -> npt.NDArray[np.bool_]:
        """Tell for each change whether the row leaves its cluster."""
        return np.asarray(self.assign(columns, values).cluster != self._own)

    def _assign(self, encoded: FloatArray) -> Assigned:
        self._run.raise_if_cancelled()
        X = self._kept.preparation.transform_encoded(encoded)
        return self._kept.assigner.assign(X, self._run)


def _seen(segmentation: Segmentation, dataset: Dataset | None) -> list[FloatArray]:
    """Return the range of each column for the numbers to try."""
    if dataset is None:
        return [
            np.empty(0) if one.edges is None else one.edges
            for one in segmentation.kept.columns
        ]
    encoded = check_dataset(dataset, name="dataset").encoded
    at = {column.name: j for j, column in enumerate(encoded.columns)}
    if lacking := [name for name in segmentation.columns if name not in at]:
        raise DataError(
            f"dataset lacks the column {lacking[0]!r}; give the table that the "
            "segmentation is of."
        )
    columns = [encoded.values[:, at[name]] for name in segmentation.columns]
    return [column[~np.isnan(column)] for column in columns]


def _ways(
    j: int, column: Column, value: float, seen: FloatArray, n_tried: int
) -> list[_Way]:
    """Return values to try: all other levels, or even steps to either side."""
    if column.levels:
        others = np.setdiff1d(np.arange(len(column.levels)), [value]).astype(float)
        return [_Way(j, others, 1.0, True, True)] if len(others) else []
    if not len(seen):
        return []
    whole = value == np.floor(value) and bool((seen == np.floor(seen)).all())
    low, high = min(value, float(seen.min())), max(value, float(seen.max()))
    steps = np.arange(1, n_tried + 1) / n_tried
    ways = []
    for end in (low, high):
        tried = value + (end - value) * steps
        if whole:
            tried = np.trunc(tried - value) + value
            tried = tried[np.r_[tried[0] != value, np.diff(tried) != 0]]
        if end != value and len(tried):
            ways.append(_Way(j, tried, high - low, whole, False))
    return ways


def _nearest(ways: list[_Way], search: _Search) -> list[_Change]:
    """Return the smallest change in each direction that has one."""
    if not ways:
        return []
    sizes = [len(way.tried) for way in ways]
    columns = np.repeat([way.column for way in ways], sizes)
    away = search.leaves(columns, np.concatenate([way.tried for way in ways]))
    found, borders = [], []
    for way, left in zip(ways, np.split(away, np.cumsum(sizes)[:-1]), strict=True):
        if not left.any():
            continue
        at = int(left.argmax())
        if way.is_level:
            found.append(_Change(way.column, float(way.tried[at]), 1.0))
        else:
            borders.append((way, at))
    return found + _borders(borders, search)


def _borders(found: list[tuple[_Way, int]], search: _Search) -> list[_Change]:
    """Halve the interval between the last value that stays and the first that goes."""
    if not found:
        return []
    columns = np.array([way.column for way, _ in found])
    whole = np.array([way.whole for way, _ in found])
    outer = np.array([way.tried[at] for way, at in found])
    start = search.values[columns]
    inner = np.array(
        [way.tried[at - 1] if at else start[k] for k, (way, at) in enumerate(found)]
    )
    for _ in range(_HALVINGS):
        middle = (inner + outer) / 2
        middle = np.where(whole, np.trunc(middle - inner) + inner, middle)
        left = search.leaves(columns, middle)
        outer, inner = np.where(left, middle, outer), np.where(left, inner, middle)
    spans = np.array([way.span for way, _ in found])
    plain = _rounded(outer, start)
    ends = np.array([way.tried[-1] for way, _ in found])
    inside = np.abs(plain - start) <= np.abs(ends - start)
    taken = search.leaves(columns, plain) & inside & ~whole
    outer = np.where(taken, plain, outer)
    return [
        _Change(int(j), float(value), float(abs(value - x) / span))
        for j, value, x, span in zip(columns, outer, start, spans, strict=True)
    ]


def _rounded(values: FloatArray, start: FloatArray) -> FloatArray:
    """Round values away from their start, to a few digits of the change."""
    change = values - start
    digits = np.floor(
        np.log10(np.abs(change, where=change != 0, out=np.ones_like(change)))
    )
    places = (_DIGITS - 1 - digits).astype(int)
    return np.array(
        [
            round(v + np.sign(c) * 0.5 * 10.0**-p, p)
            for v, c, p in zip(
                values.tolist(), change.tolist(), places.tolist(), strict=True
            )
        ]
    )


def _shown(column: Column, value: float) -> Any:
    """Return a number, a date or a level as in the table."""
    if column.levels:
        return column.levels[int(value)]
    if column.first_day is not None:
        return (column.first_day + pd.Timedelta(days=value)).round("s")
    return value


def _there(
    changes: list[_Change], search: _Search, segmentation: Segmentation
) -> dict[int, tuple[Any, ...]]:
    """Describe each change, by column, and the resulting assignment."""
    if not changes:
        return {}
    columns = [one.column for one in changes]
    assigned = search.assign(columns, [one.value for one in changes])
    assigner, of = segmentation.assigner, segmentation.kept.preparation.columns_
    able = assigner.can_judge(ALPHA)[
        np.searchsorted(assigner.clusters, assigned.cluster)
    ]
    return {
        one.column: (
            _shown(of[one.column], one.value),
            label,
            segmentation.names[label],
            far if can else None,
            one.step,
        )
        for one, label, far, can in zip(
            changes,
            assigned.cluster.tolist(),
            (assigned.p <= ALPHA).tolist(),
            able.tolist(),
            strict=True,
        )
    }
