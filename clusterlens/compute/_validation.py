"""Shared checks of arguments.

Every message about shapes and ranges is made here and has one form: which argument,
what was expected, what was found, what to do.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.integer[Any]]

_Choice = TypeVar("_Choice", bound=str)


class DataError(ValueError):
    """The given data cannot be used; the message says what, where and the remedy."""


def check_features(X: npt.ArrayLike, *, name: str = "X") -> FloatArray:
    """Return X as a finite (n_samples, n_features) float64 array."""
    array = np.asarray(X)
    if array.dtype == object or array.dtype.kind not in "biuf":
        raise DataError(
            f"{name} has entries of type {array.dtype}; give numbers only "
            "(prepare turns a mixed table into numbers)."
        )
    if array.ndim != 2:
        raise DataError(
            f"{name} has {array.ndim} dimension(s); give a table of shape "
            "(n_samples, n_features)."
        )
    array = array.astype(np.float64, copy=False)
    if array.size == 0:
        raise DataError(
            f"{name} is empty, shape {array.shape}; give at least one sample and "
            "one feature."
        )
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise DataError(
            f"{name} has the value {array[row, column]} in row {row}, column {column}; "
            "fill or remove missing and infinite values first (prepare does)."
        )
    return array


def check_labels(
    labels: npt.ArrayLike, *, n_samples: int | None = None, name: str = "labels"
) -> IntArray:
    """Return labels as a non-empty (n_samples,) integer array; values are names."""
    array = np.asarray(labels)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"{name} has shape {array.shape}; give a non-empty vector of shape "
            "(n_samples,)."
        )
    if array.dtype.kind == "f" and np.isfinite(array).all():
        rounded = array.astype(np.int64)
        if (rounded == array).all():
            array = rounded
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    if array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} has entries of type {array.dtype}; give integers (names can be "
            "numbered with pandas.factorize)."
        )
    if n_samples is not None and array.size != n_samples:
        raise ValueError(
            f"{name} has {array.size} entries for {n_samples} samples; give one per "
            "sample."
        )
    return array


def check_classes(
    labels: npt.ArrayLike, *, n_samples: int | None = None, name: str = "labels"
) -> tuple[IntArray, list[int] | list[str]]:
    """Return codes (n_samples,) and their sorted names, whole numbers or texts.

    For labels that people gave; those of models are integers, see `check_labels`.
    """
    array = np.asarray(labels)
    if array.dtype.kind in "OUT" and array.ndim == 1:
        for row, entry in enumerate(array.tolist()):
            if not isinstance(entry, str):
                raise ValueError(
                    f"{name} has the entry {entry!r} at {row}; give a text for every "
                    "sample, or an integer for every sample."
                )
        array = array.astype(np.str_)
    else:
        array = check_labels(array, name=name)
    names, codes = np.unique(array, return_inverse=True)
    return check_labels(codes, n_samples=n_samples, name=name), names.tolist()


def check_choice(value: _Choice, allowed: Collection[_Choice], *, name: str) -> _Choice:
    """Return value if it is one of the allowed names."""
    if value not in allowed:
        names = ", ".join(repr(choice) for choice in allowed)
        raise ValueError(f"{name} is {value!r}; give one of {names}.")
    return value


def check_range(
    value: float, low: float, high: float, *, name: str, integer: bool = False
) -> None:
    """Raise unless low <= value <= high (and value is whole where asked)."""
    if integer and not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name} is {value!r}; give a whole number.")
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}; give a value from {low} to {high}.")


def check_memory(n_bytes: int, limit: int, *, what: str, remedy: str) -> None:
    """Refuse an allocation of n_bytes above limit bytes before it is made."""
    if n_bytes > limit:
        raise MemoryError(
            f"{what} would need {n_bytes / 1e9:.1f} GB, the limit is "
            f"{limit / 1e9:.1f} GB; {remedy}"
        )


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a view of array that refuses writes."""
    view = array.view()
    view.flags.writeable = False
    return view
