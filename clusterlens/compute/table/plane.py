"""Plane of the map: one or two numeric columns as they are, else two components."""

from __future__ import annotations

import numpy as np

from clusterlens.compute._validation import FloatArray
from clusterlens.compute.table.dataset import Column, Dataset
from clusterlens.compute.table.projection import ColumnAxis, Projection, project

# Values of a transformed column, by each of three rules, with computed places.
_KNOTS = 129


def map_samples(ds: Dataset, n_components: int = 2) -> Projection:
    """Place prepared samples on a plane, for a map.

    Parameters
    ----------
    ds : Dataset
        A prepared dataset.
    n_components : int, default 2
        Number of axes if the features are projected on principal components.

    Returns
    -------
    projection : Projection
        If the features are one or two numeric columns, these columns are the axes, the
        first to the right. Otherwise the first principal components.

    Notes
    -----
    A unit of the features is equally long on both axes, so the map shows the distances
    that the models use. Gaps have the values that fill them. O(n) time for columns,
    otherwise the time of `project`.

    Examples
    --------
    >>> from clusterlens.compute.table.dataset import make_dataset, prepare
    >>> ds = prepare(make_dataset({"x": [1.0, 2.0, 3.0], "y": [0.0, 7.0, 0.0]}))
    >>> [axis.name for axis in map_samples(ds).columns]
    ['x', 'y']
    """
    if not _is_plain(ds):
        return project(ds, n_components)
    d = ds.X.shape[1]
    spread = ds.X.var(axis=0)
    missing = max(2, n_components) - d
    return Projection(
        coordinates=np.pad(ds.X, ((0, 0), (0, missing))),
        explained=np.pad(spread / spread.sum(), (0, missing)),
        components=np.pad(np.eye(d), ((0, missing), (0, 0))),
        solver="none",
        centre=np.zeros(d),
        columns=_axes(ds),
    )


def _is_plain(ds: Dataset) -> bool:
    """Return whether the features are one or two numeric columns."""
    rules = ds.preparation
    roles = [column.role for column in rules.columns_]
    return rules.components_ is None and roles in (["numeric"], ["numeric"] * 2)


def _axes(ds: Dataset) -> tuple[ColumnAxis, ...]:
    """Return the columns in use as axes: some of their values, and their places."""
    rules = ds.preparation
    at = {column.name: k for k, column in enumerate(ds.encoded.columns)}
    used = ds.encoded.values[:, [at[column.name] for column in rules.columns_]]
    least = np.nanmin(used, axis=0)
    axes = []
    for j, column in enumerate(rules.columns_):
        values = used[~np.isnan(used[:, j]), j]
        curved = column.name in (rules.transforms or {})
        knots = _spread(values) if curved else np.array([least[j], values.max()])
        rows = np.tile(least, (len(knots), 1))
        rows[:, j] = knots
        places, first = np.unique(
            rules.transform_encoded(rows)[:, j], return_index=True
        )
        axes.append(ColumnAxis(_title(column), knots[first], places))
    return tuple(axes)


def _spread(values: FloatArray) -> FloatArray:
    """Return values over the range of a column, dense wherever it is long."""
    low, high = values.min(), values.max()
    knots = [
        np.linspace(low, high, _KNOTS),
        np.quantile(values, np.linspace(0, 1, _KNOTS)),
    ]
    if low > 0:
        knots.append(np.geomspace(low, high, _KNOTS))
    return np.clip(np.unique(np.concatenate(knots)), low, high)


def _title(column: Column) -> str:
    """Name a column; dates are days since the first."""
    if column.first_day is None:
        return column.name
    return f"{column.name}, days since {column.first_day.date()}"
