"""A fitted preparation as plain values, and back: JSON knows all of them.

scikit-learn rebuilds its objects from two rows, and the learnt numbers are then put
into them. No version of scikit-learn has to read the objects of another
version.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from clusterlens.compute._plain import Record
from clusterlens.compute._validation import DataError
from clusterlens.compute.table._features import FEATURE_ROLES, Column
from clusterlens.compute.table.preparation import (
    CATEGORICAL_RULES,
    MISSING_RULES,
    SCALERS,
    TRANSFORMS,
    Preparation,
)
from clusterlens.compute.table.projection import Projection

# Fitted attributes of each step; other steps have none.
_LEARNT: dict[str, tuple[str, ...]] = {
    "StandardScaler": ("mean_", "var_", "scale_"),
    "RobustScaler": ("center_", "scale_"),
    "MinMaxScaler": ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
    "QuantileTransformer": ("quantiles_", "references_"),
}
_SOLVERS = ("covariance", "full", "randomized")


def preparation_to_plain(preparation: Preparation) -> dict[str, Any]:
    """Write a fitted preparation as texts, numbers, lists and dicts of them."""
    components = preparation.components_
    return {
        "rules": {
            "missing": preparation.missing,
            "scale": preparation.scale,
            "categorical": preparation.categorical,
            "transforms": dict(preparation.transforms or {}),
            "weights": {k: float(w) for k, w in (preparation.weights or {}).items()},
        },
        "columns": [column_to_plain(column) for column in preparation.columns_],
        "fill values": preparation.fill_values_.tolist(),
        "level factors": [some.tolist() for some in preparation.level_factors_],
        "steps": [
            {name: np.asarray(getattr(step, name)).tolist() for name in _learnt(step)}
            for step in _steps(preparation.matrix_)
        ],
        "components": None
        if components is None
        else {
            "centre": components.centre.tolist(),
            "axes": components.components.tolist(),
            "explained": components.explained.tolist(),
            "solver": components.solver,
        },
    }


def preparation_from_plain(plain: Record) -> Preparation:
    """Return the fitted preparation that `preparation_to_plain` wrote.

    The values are not trusted: DataError if they do not describe a preparation.
    """
    columns = tuple(_column(part) for part in plain.parts("columns"))
    names = [column.name for column in columns]
    if not columns or len(set(names)) < len(names):
        raise DataError("the preparation has no columns, or a name twice")
    made = _with_rules(plain.part("rules"), columns)
    fills = len(columns) if made.missing in ("median", "mean", "most frequent") else 0
    made.columns_ = made.encoders_ = columns
    made.feature_names_in_ = np.array(names, dtype=object)
    made.n_features_in_ = len(columns)
    made.fill_values_ = plain.array("fill values", fills)
    made.level_factors_ = _level_factors(plain, made)
    made.matrix_ = _matrix(plain.parts("steps"), made)
    made.components_ = None
    width = len(made.get_feature_names_out())
    if plain.get("components") is not None:
        made.components_ = _components(plain.part("components"), width)
        made.pca = len(made.components_.components)
    return made


def column_to_plain(column: Column) -> dict[str, Any]:
    day = column.first_day
    return {
        "name": column.name,
        "role": column.role,
        "levels": [_plain_level(level) for level in column.levels],
        "codes for missing": list(column.missing_codes),
        "first day": None if day is None else day.isoformat(),
    }


def _plain_level(level: Any) -> Any:
    level = level.item() if isinstance(level, np.generic) else level
    if isinstance(level, pd.Timestamp):
        return {"date": level.isoformat()}
    return level if isinstance(level, str | bool | int | float) else str(level)


def _column(plain: Record) -> Column:
    role = plain.text("role", FEATURE_ROLES)
    levels = tuple(_level(level) for level in plain.entries("levels"))
    if (role == "numeric") == bool(levels) or len(set(levels)) < len(levels):
        raise DataError(f"the levels of column {plain.text('name')!r} do not fit")
    day = plain.get("first day")
    return Column(
        plain.text("name"),
        role,
        levels,
        tuple(plain.array("codes for missing", -1).tolist())
        if plain.entries("codes for missing")
        else (),
        None if day is None else _timestamp(plain.text("first day")),
    )


def _level(value: Any) -> Any:
    if isinstance(value, dict):
        return _timestamp(Record(value, "a level").text("date"))
    if not isinstance(value, str | bool | int | float):
        raise DataError("a level is neither text nor number")
    return value


def _timestamp(text: str) -> pd.Timestamp:
    try:
        return pd.Timestamp(text)
    except (ValueError, OverflowError):
        raise DataError(f"{text!r:.40} is no date") from None


def _with_rules(rules: Record, columns: tuple[Column, ...]) -> Preparation:
    """Return a preparation of known rules for known columns."""
    numeric = {column.name for column in columns if column.role == "numeric"}
    transforms, weights = rules.part("transforms"), rules.part("weights")
    if not set(transforms.names()) <= numeric:
        raise DataError("a transform is given for a column that has no numbers")
    if not set(weights.names()) <= {column.name for column in columns}:
        raise DataError("a weight is given for a column that is not in use")
    return Preparation(
        roles={column.name: column.role for column in columns},
        missing=rules.text("missing", MISSING_RULES),
        scale=rules.text("scale", list(SCALERS)),
        categorical=rules.text("categorical", CATEGORICAL_RULES),
        transforms={
            key: transforms.text(key, list(TRANSFORMS)) for key in transforms.names()
        },
        weights={key: weights.number(key, 1e-300, 1e300) for key in weights.names()},
    )


def _level_factors(plain: Record, made: Preparation) -> tuple[Any, ...]:
    entries = plain.entries("level factors")
    if len(entries) != len(made.columns_):
        raise DataError("the level factors do not fit the columns")
    widths = [len(c.levels) if made._is_spread(c) else 0 for c in made.columns_]
    return tuple(
        Record({"of a column": entry}, "level factors").array("of a column", width)
        for entry, width in zip(entries, widths, strict=True)
    )


def _matrix(parts: list[Record], made: Preparation) -> Any:
    """Rebuild the transformer of the columns and set its fitted attributes."""
    rows = np.array([[0.5], [1.5]]) * np.ones(len(made.columns_))
    for j, column in enumerate(made.columns_):
        if made._is_spread(column):
            rows[:, j] = 0
    matrix = made._make_matrix(len(rows)).fit(rows)
    steps = list(_steps(matrix))
    if len(parts) != len(steps):
        raise DataError("the steps of the preparation do not fit its columns")
    for step, learnt in zip(steps, parts, strict=True):
        for name in _learnt(step):
            shape = np.shape(getattr(step, name))
            if "QuantileTransformer" in type(step).__name__:
                shape = (len(learnt.entries("references_")), *shape[1:])
            values = learnt.array(name, *shape)
            if name == "scale_" and not values.all():
                raise DataError("a step of the preparation divides by 0")
            setattr(step, name, values)
        if hasattr(step, "references_"):
            step.n_quantiles_ = len(step.references_)
    return matrix


def _steps(matrix: Any) -> Iterator[Any]:
    """Yield the steps of a transformer of columns, in their order."""
    if isinstance(matrix, ColumnTransformer):
        for name, step, _ in matrix.transformers_:
            if name != "remainder":
                yield from _steps(step)
    elif isinstance(matrix, Pipeline):
        for _, step in matrix.steps:
            yield step
    else:
        yield matrix


def _learnt(step: Any) -> tuple[str, ...]:
    return _LEARNT.get(type(step).__name__, ())


def _components(plain: Record, width: int) -> Projection:
    axes = plain.array("axes", -1, width)
    return Projection(
        coordinates=np.empty((0, len(axes))),
        explained=plain.array("explained", len(axes)),
        components=axes,
        solver=plain.text("solver", _SOLVERS),
        centre=plain.array("centre", width),
    )
