"""From typed columns to one matrix: code, drop, fill, expand and scale, with notes.

Every step takes and returns an (n, c) float64 matrix with one `Feature` per column;
NaN is a missing value until `fill_missing`. Each returns notes on what it did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from clusterlens.compute._validation import DataError, FloatArray
from clusterlens.compute.table._cells import to_numbers
from clusterlens.compute.table._roles import ordered_levels

SCALERS = {
    "standard": StandardScaler,
    "robust": RobustScaler,
    "minmax": MinMaxScaler,
    "none": None,
}
# Values that stand for "missing" where they lie apart from all others of a column.
SENTINELS = frozenset(
    [-99.0, -999.0, -999.25, -9999.0, -99999.0, -32768.0]
    + [999.0, 9999.0, 99999.0, 999999.0, 1e20, 1e30]
)

MATRIX_BYTES_LIMIT = 4_000_000_000

_LARGEST = 1e150  # squares of larger values overflow
_LISTED = 5


@dataclass(frozen=True)
class Feature:
    """A column of the matrix before expansion."""

    name: str
    role: str
    levels: tuple[str, ...] = ()  # what the codes 0, 1, ... mean


def encode_columns(
    table: pd.DataFrame, roles: dict[str, str], sentinels: str | Sequence[float]
) -> tuple[FloatArray, list[Feature], list[str]]:
    """Turn the feature columns into numbers (n, c), NaN where a value is missing."""
    names = [
        n for n in table.columns if roles[n] in {"numeric", "categorical", "ordinal"}
    ]
    X = np.empty((len(table), len(names)), order="F")
    features, notes = [], []
    for j, name in enumerate(names):
        if roles[name] == "numeric":
            X[:, j], remarks = _numbers(name, table[name], sentinels)
            features.append(Feature(name, "numeric"))
            notes += [f"Column {name!r}: {remark}." for remark in remarks]
        else:
            X[:, j], levels = _level_codes(name, table[name], roles[name])
            features.append(Feature(name, roles[name], levels))
    return X, features, notes


def kept_rows(
    X: FloatArray, features: list[Feature], missing: str, row_ids: pd.Index
) -> tuple[np.ndarray, list[str]]:
    """Choose the rows (n,) to keep: all but the empty ones, or the complete ones."""
    absent = np.isnan(X)
    if missing == "refuse" and absent.any():
        column = int(absent.any(axis=0).argmax())
        row = row_ids[int(absent[:, column].argmax())]
        raise DataError(
            f"Column {features[column].name!r} has a missing value in row {row}, "
            f"{int(absent.sum())} in all; fill them in, or choose another rule than "
            "missing='refuse'."
        )
    if missing == "drop rows":
        drop, why = absent.any(axis=1), "with a missing value"
    else:
        drop, why = absent.all(axis=1), "without any value"
    keep = np.logical_not(drop)
    if not keep.any():
        raise DataError(
            f"Every row is {why} in the chosen columns; ignore the columns with most "
            "missing values, or fill instead of dropping (missing='median')."
        )
    gone = row_ids[~keep]
    notes = [f"{len(gone)} row(s) {why} dropped: {shorten(gone)}."] if len(gone) else []
    return keep, notes


def drop_constant(
    X: FloatArray, features: list[Feature]
) -> tuple[FloatArray, list[Feature], list[str]]:
    """Drop columns that do not vary among the kept rows (a single row keeps all)."""
    low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    empty = np.isnan(low)
    keep = (low < high) if len(X) > 1 else ~empty
    notes = []
    for why, which in (("empty", empty), ("constant", ~keep & ~empty)):
        if which.any():
            gone = [features[j].name for j in np.flatnonzero(which)]
            notes.append(f"{len(gone)} {why} column(s) left out: {shorten(gone)}.")
    if not keep.any():
        raise DataError(
            f"No column varies, so there is nothing to cluster: {' '.join(notes)} Give "
            "another column a role as feature, or drop fewer rows."
        )
    return X[:, keep], [f for f, k in zip(features, keep, strict=True) if k], notes


def fill_missing(X: FloatArray, features: list[Feature], missing: str) -> list[str]:
    """Fill NaN in place: numbers by the rule, levels by the most frequent one."""
    notes = []
    for j, feature in enumerate(features):
        absent = np.isnan(X[:, j])
        count = int(absent.sum())
        if count == 0:
            continue
        rule = missing if feature.role == "numeric" else "most frequent"
        value = FILLERS[rule](X[~absent, j])
        X[absent, j] = value
        shown = repr(feature.levels[int(value)]) if feature.levels else f"{value:.6g}"
        word = rule if rule != "most frequent" else "most frequent value"
        notes.append(
            f"Column {feature.name!r}: {count} missing value(s) "
            f"({count / len(X):.1%} of the rows) filled with the {word} {shown}."
        )
    return notes


def make_matrix(
    X: FloatArray, features: list[Feature], categorical: str, scale: str
) -> tuple[FloatArray, list[str], list[str]]:
    """Expand and scale complete columns, after a look at the bytes it takes."""
    expanded = _expanded_features(features, categorical)
    width = sum(map(len, expanded))
    n_bytes = 8 * len(X) * width
    if n_bytes > MATRIX_BYTES_LIMIT:
        widest = max(expanded, key=len)
        raise DataError(
            f"X would have {len(X)} rows and {width} columns, {n_bytes / 1e9:.1f} GB; "
            f"the limit is {MATRIX_BYTES_LIMIT / 1e9:.1f} GB. Column "
            f"{widest[0].name.split('=')[0]!r} alone takes {len(widest)} columns: "
            "ignore it, or choose categorical='ordinal'."
        )
    notes = [
        f"Column {feature.name!r}: {len(group)} levels became columns of 0 and 1."
        for feature, group in zip(features, expanded, strict=True)
        if group[0].role == "one-hot"
    ]
    if categorical == "ordinal":
        notes += [
            f"Column {f.name!r}: {len(f.levels)} levels numbered in sorted order, "
            "which makes some of them closer than others."
            for f in features
            if f.role == "categorical"
        ]
    X = _expand(X, expanded)
    flat = [feature for group in expanded for feature in group]
    notes += _scale_numbers(X, flat, scale)
    return X, [feature.name for feature in flat], notes


def count_copies(X: FloatArray) -> list[str]:
    """Say how many rows (n, d) are exact copies of an earlier one.

    Column by column only the rows that are still equal to another one are kept, few
    after the first columns.
    """
    rows = np.arange(len(X))
    group = np.zeros(len(X), dtype=np.int64)
    for column in X.T:
        codes, distinct = pd.factorize(column[rows])
        group = pd.factorize(group * len(distinct) + codes)[0]
        shared = np.bincount(group)[group] > 1
        rows, group = rows[shared], group[shared]
        if rows.size == 0:
            return []
    copies = len(rows) - len(np.unique(group))
    return [f"{copies} row(s) equal an earlier row in all features; they are kept."]


def _scale_numbers(X: FloatArray, features: list[Feature], scale: str) -> list[str]:
    """Scale the numbers and ordered levels among the columns in place."""
    for j in np.flatnonzero(np.maximum(X.max(axis=0), -X.min(axis=0)) > _LARGEST):
        raise DataError(
            f"Column {features[j].name!r} has values up to {np.abs(X[:, j]).max():g}, "
            "too large to compute distances with; rescale or ignore the column."
        )
    chosen = [j for j, f in enumerate(features) if f.role != "one-hot"]
    scaler = SCALERS[scale]
    if scaler is not None and chosen:
        if len(chosen) == X.shape[1]:
            X[:] = scaler(copy=False).fit_transform(X)
        else:
            X[:, chosen] = scaler(copy=False).fit_transform(X[:, chosen])
    return [_SCALE_NOTES[scale]] if chosen else []


def _expanded_features(
    features: list[Feature], categorical: str
) -> list[list[Feature]]:
    """Say which columns (one list per feature) the matrix gets for each feature."""
    return [
        [Feature(f"{f.name}={level}", "one-hot") for level in f.levels]
        if f.role == "categorical" and categorical == "one-hot"
        else [f]
        for f in features
    ]


def _expand(X: FloatArray, expanded: list[list[Feature]]) -> FloatArray:
    """Write level codes (n, c) out as columns of 0 and 1 where asked: (n, d)."""
    width = sum(map(len, expanded))
    if width == X.shape[1] and not any(f[0].role == "one-hot" for f in expanded):
        return X
    wide = np.zeros((len(X), width))
    start = 0
    for column, group in zip(X.T, expanded, strict=True):
        if group[0].role == "one-hot":
            wide[np.arange(len(X)), start + column.astype(np.intp)] = 1.0
        else:
            wide[:, start] = column
        start += len(group)
    return wide


def shorten(names: Sequence[object] | pd.Index) -> str:
    """List the first names and say how many more there are."""
    shown = [repr(str(name)) for name in names[:_LISTED]]
    more = [f"and {len(names) - _LISTED} more"] if len(names) > _LISTED else []
    return ", ".join(shown + more)


def _most_frequent(values: FloatArray) -> float:
    """Return the most frequent of values (m,), the smallest of several."""
    distinct, counts = np.unique(values, return_counts=True)
    return float(distinct[counts.argmax()])


FILLERS: dict[str, Callable[[FloatArray], float]] = {
    "median": lambda values: float(np.median(values)),
    "mean": lambda values: float(np.mean(values)),
    "most frequent": _most_frequent,
}

_SCALE_NOTES = {
    "standard": "Numbers scaled to mean 0 and standard deviation 1.",
    "robust": "Numbers scaled to median 0 and interquartile range 1.",
    "minmax": "Numbers scaled to the range from 0 to 1.",
    "none": "Numbers used in their own units, not scaled.",
}


def _numbers(
    name: str, values: pd.Series, sentinels: str | Sequence[float]
) -> tuple[FloatArray, list[str]]:
    """Return a numeric column (n,), with what is no number as NaN."""
    numbers = to_numbers(values).to_numpy(dtype=np.float64, copy=True)
    words = values.notna().to_numpy() & np.isnan(numbers)
    remarks = []
    if words.any():
        first = int(words.argmax())
        example = f"{values.iloc[first]!r} in row {values.index[first]}"
        if words.sum() > 0.5 * values.notna().sum():
            raise DataError(
                f"Column {name!r} has {example}, which is no number; make the column "
                "categorical or ignore it, or correct the cells."
            )
        remarks.append(
            f"{int(words.sum())} cell(s) that are no number, the first {example}, "
            "taken as missing"
        )
    infinite = np.isinf(numbers)
    if infinite.any():
        first = values.index[int(infinite.argmax())]
        remarks.append(
            f"{int(infinite.sum())} infinite value(s), the first in row {first}, "
            "taken as missing"
        )
        numbers[infinite] = np.nan
    given = None if isinstance(sentinels, str) else sentinels
    for code, count in _replace_sentinels(numbers, given):
        remarks.append(
            f"{count} cell(s) with the value {code:g} taken as missing, a code for "
            "'no value' (sentinels=() keeps it)"
        )
    return numbers, remarks


def _replace_sentinels(
    numbers: FloatArray, given: Sequence[float] | None
) -> list[tuple[float, int]]:
    """Set codes for "missing" in numbers (n,) to NaN in place; return their counts."""
    codes = _outlying_codes(numbers) if given is None else list(given)
    found = []
    for code in codes:
        at = numbers == code
        if at.any():
            numbers[at] = np.nan
            found.append((float(code), int(at.sum())))
    return found


def _outlying_codes(numbers: FloatArray) -> list[float]:
    """Return the well-known codes that lie further off than the others reach.

    A negative code among values that are otherwise not negative needs no distance.
    """
    ends = {float(np.fmin.reduce(numbers)), float(np.fmax.reduce(numbers))}
    if not ends & SENTINELS:
        return []
    known = np.isin(numbers, list(SENTINELS))
    rest = numbers[~known & ~np.isnan(numbers)]
    if rest.size == 0 or rest.min() == rest.max():
        return []
    low, high = rest.min(), rest.max()
    return [
        code
        for code in sorted(SENTINELS)
        if max(low - code, code - high) > high - low or code < 0 <= low
    ]


def _level_codes(
    name: str, values: pd.Series, role: str
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the codes (n,) of the levels of a column and the names of the levels."""
    levels = ordered_levels(values) if role == "ordinal" else None
    if levels is None:
        if role == "ordinal" and not pd.api.types.is_numeric_dtype(values.dtype):
            distinct = list(pd.unique(values.dropna()))
            raise DataError(
                f"Column {name!r} has levels without a known order: "
                f"{shorten(distinct)}; make it categorical, or give an ordered pandas "
                "categorical."
            )
        codes, found = pd.factorize(values, sort=True)
        levels = list(found)
    else:
        codes = pd.Categorical(values, categories=levels).codes
    return np.where(codes < 0, np.nan, codes), tuple(map(str, levels))
