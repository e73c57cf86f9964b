"""Checks and storage of the arguments of an Ensemble."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute._validation import (
    DataError,
    FloatArray,
    IntArray,
    as_array,
    check_entries,
    check_features,
    check_partition,
    plain_repr,
    read_only,
    warn_caller,
)

_ROW_SUM_TOLERANCE = 1e-4  # for memberships in single precision
_FEW = 10  # partitions of a hand-made example
_MOST_VOTES = 4096  # for weights that are not whole; tables have a row per vote
_LEAST = 2.0**-50  # share of the largest weight below which there is no vote


def label_matrix(labels: Any) -> IntArray:
    """Stack label vectors into a (T, n) matrix of the smallest fitting type."""
    try:
        rows = list(labels)
    except TypeError:
        raise ValueError(
            f"labels is a {type(labels).__name__}; give a label matrix of shape "
            "(n_partitions, n_samples)."
        ) from None
    if not rows:
        raise ValueError("labels is empty; give at least one partition.")
    first = check_partition(rows[0], name="labels[0]")
    vectors = [
        check_partition(row, n_samples=first.size, name=f"labels[{t}]")
        for t, row in enumerate(rows)
    ]
    low = min(int(vector.min()) for vector in vectors)
    high = max(int(vector.max()) for vector in vectors)
    dtype = np.result_type(np.min_scalar_type(low), np.min_scalar_type(high))
    return np.array(vectors, dtype=dtype if dtype.kind in "iu" else np.int64)


def mask_of_gaps(missing: Any, shape: tuple[int, ...]) -> npt.NDArray[np.bool_] | None:
    """Return a checked mask of gaps (n_partitions, n_samples), None without gaps."""
    if missing is None:
        return None
    array = as_array(missing, "missing", "one true or false per label")
    if array.shape != shape or array.dtype.kind != "b":
        raise ValueError(
            f"missing has shape {array.shape} and type {array.dtype} for labels of "
            f"shape {shape}; give true or false for each label."
        )
    return kept_gaps(array.copy(), (slice(None), slice(None)))


def kept_gaps(
    missing: npt.NDArray[np.bool_] | None, part: Any
) -> npt.NDArray[np.bool_] | None:
    """Return the gaps of some models or samples, None if there are none."""
    if missing is None or not (some := missing[part]).any():
        return None
    check_seen(some)
    return read_only(np.ascontiguousarray(some))


def check_seen(gaps: npt.NDArray[np.bool_] | None) -> None:
    """Refuse a model that has labels for fewer than two samples."""
    if gaps is None:
        return
    seen = np.count_nonzero(~gaps, axis=1)
    if seen.min() < min(2, gaps.shape[1]):
        raise DataError(
            f"partition {int(seen.argmin()) + 1} of {len(gaps)} labels "
            f"{seen.min()} of {gaps.shape[1]} samples; leave it out, as a model that "
            "saw no pair of samples says nothing about them."
        )


def one_each(values: Any, default: list[Any], name: str) -> list[Any]:
    """Return the entries of an argument that needs one per partition."""
    entries = default if values is None else check_entries(values, name)
    if len(entries) != len(default):
        raise ValueError(
            f"{name} has {len(entries)} entries for {len(default)} partitions; "
            "give one per partition."
        )
    return entries


def checked_specs(specs: list[Any]) -> tuple[Mapping[str, Any], ...]:
    """Copy the specifications."""
    if not all(isinstance(spec, Mapping) for spec in specs):
        raise ValueError("specs has an entry that is no dict; give one dict each.")
    return tuple(map(dict, specs))


def checked_seconds(seconds: list[Any]) -> FloatArray:
    """Return fit times as a read-only vector; NaN where unknown."""
    array = as_array(seconds, "seconds", "one number per partition")
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise ValueError(
            f"seconds has entries of type {array.dtype}; give a number of seconds per "
            "partition, NaN where it is unknown."
        )
    return read_only(array.astype(np.float64))


def checked_weights(weights: Any, count: int) -> FloatArray:
    """Return checked weights, shape (n_partitions,), 1 each by default."""
    if weights is None:
        return read_only(np.ones(count))
    array = as_array(weights, "weights", "one number per partition")
    if array.shape != (count,) or array.dtype.kind not in "iuf":
        raise ValueError(
            f"weights has shape {array.shape} and type {array.dtype} for {count} "
            "partitions; give one number per partition."
        )
    array = array.astype(np.float64)
    if not (np.isfinite(array).all() and array.min() >= 0 and array.max() > 0):
        raise ValueError(
            f"weights holds values from {array.min():g} to {array.max():g}; give "
            "finite numbers of 0 or more, at least one above 0."
        )
    return read_only(array)


def some_weights(weights: FloatArray) -> FloatArray:
    """Return the weights of chosen partitions, or 1 each if all weights are zero."""
    return read_only(weights if weights.any() else np.ones(len(weights)))


def most_votes(n_partitions: int) -> int:
    """Return the number of votes for weights without a ratio of small numbers."""
    return max(_MOST_VOTES, 8 * n_partitions)


def whole_votes(weights: FloatArray) -> IntArray:
    """Return whole numbers in the ratio of weights (T,); 0 for negligible weights."""
    most = most_votes(len(weights))
    weights = np.where(weights < _LEAST * weights.max(), 0.0, weights)
    whole = weights.max() <= most and (weights == np.rint(weights)).all()
    if whole and weights.sum() <= most:
        return weights.astype(np.int64)
    shares = weights / weights.max()
    parts = [Fraction(share).limit_denominator(most) for share in shares.tolist()]
    unit = math.lcm(*(part.denominator for part in parts))
    exact = np.allclose([float(part) for part in parts], shares, rtol=1e-9, atol=0)
    if exact and sum(parts) * unit <= most:
        return np.array([int(part * unit) for part in parts], np.int64)
    scaled = np.rint(shares * (most / shares.sum())).astype(np.int64)
    return np.maximum(scaled, weights > 0)


def soft_by_position(
    memberships: Any, n_partitions: int, n_samples: int
) -> dict[int, FloatArray]:
    """Return checked memberships by position of the partition."""
    if not isinstance(memberships, Mapping | None):
        raise ValueError(
            f"memberships is a {type(memberships).__name__}; give a dict of arrays by "
            "the position of the partition."
        )
    soft = {}
    for t, given in (memberships or {}).items():
        if t not in range(n_partitions):
            raise ValueError(
                f"memberships has the key {plain_repr(t)}; give positions of "
                f"partitions, from 0 to {n_partitions - 1}."
            )
        rows = _check_memberships(given, n_samples, name=f"memberships[{t}]")
        soft[int(t)] = read_only(rows.copy())
    return soft


def _check_memberships(
    memberships: npt.ArrayLike, n_samples: int, *, name: str = "memberships"
) -> FloatArray:
    """Return memberships (n_samples, n_clusters) after checking that rows sum to 1."""
    rows = check_features(memberships, name=name, compared=False)
    if len(rows) != n_samples:
        raise ValueError(
            f"{name} has {len(rows)} rows for {n_samples} samples; give one row per "
            "sample."
        )
    off = np.abs(rows.sum(axis=1) - 1)
    if rows.min() < 0 or off.max() > _ROW_SUM_TOLERANCE:
        row = int(np.argmax(np.where(rows.min(axis=1) < 0, np.inf, off)))
        raise ValueError(
            f"{name} has row {row} with the sum {rows[row].sum():.6g} and the smallest "
            f"value {rows[row].min():.6g}; give shares that sum to 1."
        )
    return rows


def positions_or_mask(given: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return positions or a mask; an empty argument is an empty list of positions."""
    array = np.asarray(given)
    return array if array.size else array.astype(np.intp)


def warn_if_transposed(matrix: IntArray) -> None:
    """Warn of more partitions than samples, unless there are few of both."""
    n_partitions, n_samples = matrix.shape
    if n_partitions > max(n_samples, _FEW):
        warn_caller(
            f"labels has {n_partitions} partitions of {n_samples} samples; rows are "
            "partitions, so transpose the matrix if its columns are meant.",
        )
