"""Shared checks of arguments.

Every message about shapes and ranges is made here and has one form: the argument, the
expected value, the value found, and the remedy.
"""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Collection, Mapping
from html import escape
from typing import Any, Literal, TypeVar, overload

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from clusterlens.compute.formatting import count

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.integer[Any]]

# Label of a sample without one: noise of a clusterer, or a missing class.
UNLABELLED = -1
LARGEST = 1e150  # squares of larger values overflow
SMALLEST = 1e-140  # squares of smaller differences lose digits, and then vanish
_LARGEST_SEED = 2**32 - 1  # that scikit-learn and METIS take too

# Types of random_state in the whole package, see check_random_state.
RandomState = int | np.random.Generator | None

_Choice = TypeVar("_Choice", bound=str)


class DataError(ValueError):
    """The given data cannot be used; the message names the fault, place and remedy."""


def check_features(
    X: npt.ArrayLike, *, name: str = "X", compared: bool = True
) -> FloatArray:
    """Return X as a finite (n_samples, n_features) float64 array.

    X may be an array, a DataFrame of numbers or a prepared Dataset. `compared` is true
    if distances of its rows are computed.
    """
    array = as_array(X, name, "a table of shape (n_samples, n_features)")
    if array.ndim == 2 and array.dtype == object:
        array = _numbers_or_same(array)
    if array.dtype.kind not in "biuf":
        raise DataError(
            f"{name} has entries of type {array.dtype}; give numbers only "
            "(prepare turns a mixed table into numbers)."
        )
    if array.ndim != 2:
        raise DataError(
            f"{name} has {count(array.ndim, 'dimension')}; give a table of shape "
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
    refuse_extremes(array, name=name, compared=compared)
    return array


def refuse_extremes(X: FloatArray, *, name: str, compared: bool = True) -> None:
    """Refuse values of X (n_samples, n_features) if their squares overflow or vanish.

    Differences of rows may be small in some features, but not in all, if `compared`.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    if max(high.max(), -low.min()) > LARGEST:
        row, column = np.argwhere(np.abs(X) > LARGEST)[0]
        raise DataError(
            f"{name} has the value {X[row, column]:g} in row {row}, column {column}, "
            "too large to compute distances with; rescale the column, or leave it out."
        )
    widest = (high - low).max()
    if compared and 0 < widest < SMALLEST:
        raise DataError(
            f"{name} has values that differ by {widest:g} at most, too little to "
            "compute distances with; multiply it by a large number (prepare scales it)."
        )


def check_labels(
    labels: npt.ArrayLike, *, n_samples: int | None = None, name: str = "labels"
) -> IntArray:
    """Return labels as a non-empty (n_samples,) integer array; values are names.

    All functions of the package read labels in this way. Whole numbers keep their
    values, texts are numbered 0, 1, ... in sorted order, and missing entries (None,
    NaN, NA) become -1, the label of samples without one.
    """
    values, missing = _read_labels(labels, n_samples, name)
    if values.dtype.kind == "U":
        values = np.unique(values, return_inverse=True)[1]
    if not missing.any():
        return values
    array = np.full(missing.size, UNLABELLED, np.int64)
    array[~missing] = values
    return array


def check_partition(
    labels: npt.ArrayLike, *, n_samples: int | None = None, name: str = "labels"
) -> IntArray:
    """Return labels as `check_labels` does; refuse missing ones."""
    missing = _read_labels(labels, n_samples, name)[1]
    if missing.any():
        raise ValueError(
            f"{name} has no entry at {int(np.argmax(missing))}; give a label for every "
            "sample, -1 for noise (load_partitions reads partitions with gaps)."
        )
    return check_labels(labels, name=name)


def check_classes(
    labels: npt.ArrayLike, *, n_samples: int | None = None, name: str = "labels"
) -> tuple[IntArray, list[int] | list[str]]:
    """Return codes (n_samples,) and their sorted names, whole numbers or texts.

    Every sample needs a class: None, NaN and NA are refused.
    """
    values, missing = _read_labels(labels, n_samples, name)
    if missing.any():
        raise ValueError(
            f"{name} has no entry at {int(np.argmax(missing))}; give a text for every "
            "sample, or a whole number for every sample, and leave out samples that "
            "have none."
        )
    names, codes = np.unique(values, return_inverse=True)
    return codes, names.tolist()


def split_labelled(
    labels: npt.ArrayLike,
    unlabelled: int | None,
    *,
    n_samples: int | None = None,
    name: str = "labels",
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[Any]]:
    """Return which samples have a label (n_samples,), and these labels.

    None, NaN and NA are not labels, nor is the whole number `unlabelled`.
    """
    if unlabelled is not None:
        unlabelled = check_range(
            unlabelled, -(2.0**63), 2.0**63, name="unlabelled", integer=True
        )
    values, missing = _read_labels(labels, n_samples, name)
    has_label = ~missing
    if unlabelled is not None and values.dtype.kind in "iu":
        is_label = values != unlabelled
        has_label[has_label] = is_label
        values = values[is_label]
    if values.size == 0:
        raise ValueError(
            f"{name} has no label but {unlabelled}, which stands for none; give "
            "labels, or unlabelled=None to count it as one."
        )
    return has_label, values


def check_choice(value: _Choice, allowed: Collection[_Choice], *, name: str) -> _Choice:
    """Return value after checking that it is an allowed name."""
    if not isinstance(value, str) or value not in allowed:
        names = ", ".join(repr(choice) for choice in allowed)
        raise ValueError(f"{name} is {plain_repr(value)}; give one of {names}.")
    return value


def is_auto(value: Any) -> bool:
    """Check whether a parameter is "auto"."""
    return isinstance(value, str) and value == "auto"


def check_entries(values: Any, name: str) -> list[Any]:
    """Return the entries of a list, tuple or vector."""
    if not isinstance(values, str | bytes | Mapping | set):
        try:
            return list(values)
        except TypeError:
            pass
    raise ValueError(f"{name} is {plain_repr(values)}; give a list of entries.")


def check_mapping(values: Any, *, name: str, to: str) -> dict[Any, Any]:
    """Return values as a dict; `to` describes its values in messages."""
    if not isinstance(values, Mapping):
        raise ValueError(
            f"{name} is a {type(values).__name__}; give a dict from names to {to}."
        )
    return dict(values)


def check_optional_text(value: Any, *, name: str) -> str | None:
    """Return a text or None."""
    if not isinstance(value, str | None):
        raise ValueError(f"{name} is {plain_repr(value)}; give a text, or None.")
    return value


def check_flag(value: Any, *, name: str) -> bool:
    """Return value as a bool, after checking that it is one."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {plain_repr(value)}; give True or False.")
    return bool(value)


@overload
def check_range(
    value: Any, low: float, high: float, *, name: str, integer: Literal[True]
) -> int: ...


@overload
def check_range(
    value: Any, low: float, high: float, *, name: str, integer: bool = False
) -> float: ...


def check_range(
    value: Any, low: float, high: float, *, name: str, integer: bool = False
) -> float:
    """Return value as a Python number, finite and low <= value <= high.

    With `integer` it must be whole. NumPy numbers and arrays of shape () are accepted;
    texts and truth values are refused.
    """
    number = as_number(value, integer=integer)
    kind = "a whole number" if integer else "a number"
    limits = f"from {low} to {high}" if high < np.inf else f"of at least {low}"
    if number is None:
        raise ValueError(f"{name} is {plain_repr(value)}; give {kind} {limits}.")
    if not low <= number <= high or abs(number) == np.inf:
        finite = "finite " if abs(number) == np.inf else ""
        raise ValueError(f"{name} is {number}; give a {finite}value {limits}.")
    return number


def check_random_state(random_state: Any) -> int:
    """Return the seed for random_state.

    A whole number is its own seed, a Generator provides its next one, None a new one.
    """
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(_LARGEST_SEED))
    seed = as_number(random_state, integer=True)
    if seed is None or not 0 <= seed <= _LARGEST_SEED:
        raise ValueError(
            f"random_state is {plain_repr(random_state)}; give a whole number from 0 "
            f"to {_LARGEST_SEED}, a numpy.random.Generator, or None for a new draw "
            "each time."
        )
    return int(seed)


def check_memory(n_bytes: int, limit: int, *, what: str, remedy: str) -> None:
    """Refuse an allocation of n_bytes above limit bytes before it is made."""
    if n_bytes > limit:
        raise MemoryError(
            f"{what} would need {n_bytes / 1e9:.1f} GB, the limit is "
            f"{limit / 1e9:.1f} GB; {remedy}"
        )


def plain_repr(value: Any) -> str:
    """Write a value as Python does, with NumPy numbers as plain ones."""
    with np.printoptions(legacy="1.25"):
        return repr(value)


def warn_caller(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the library, however deep the call is."""
    frame, level = inspect.currentframe(), 1
    while frame and frame.f_globals["__name__"].startswith("clusterlens.compute."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a view of array that refuses writes."""
    view = array.view()
    view.flags.writeable = False
    return view


MOST_SHOWN = 20  # rows of a table in a notebook


class Frozen:
    """A record with read-only arrays, even after it is copied or unpickled."""

    def __post_init__(self) -> None:
        """Make the arrays read-only, those in a dict or tuple too."""
        self.__setstate__(vars(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the state of another record; NumPy makes copies of arrays writable."""
        self.__dict__.update({name: _frozen(value) for name, value in state.items()})

    def _repr_html_(self) -> str | None:
        """Show the record in a notebook: its repr, and its table if it has one."""
        make = getattr(self, "to_frame", None)
        if make is None:
            return None
        line = f"<p><code>{escape(repr(self).splitlines()[0][:120])}</code></p>"
        return line + make().to_html(max_rows=MOST_SHOWN, border=0)


def _frozen(value: Any) -> Any:
    """Return value with its arrays read-only, those in a dict or tuple too."""
    if isinstance(value, np.ndarray):
        return read_only(value)
    if isinstance(value, dict):
        return {key: _frozen(one) for key, one in value.items()}
    if isinstance(value, tuple):
        parts = [_frozen(one) for one in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def as_pandas(table: Any) -> Any:
    """Return a table of any library (polars, Arrow, ...) as a DataFrame.

    Its numbers are in the byte order of this machine, which pandas needs. Other
    objects, such as a single column, are returned unchanged.
    """
    if isinstance(table, pd.DataFrame):
        return _native_frame(table)
    if not hasattr(table, "__arrow_c_stream__"):
        return table
    try:
        found = pa.table(table)
    except pa.ArrowException:
        return table
    try:
        return found.to_pandas(integer_object_nulls=True)
    except pa.ArrowNotImplementedError:  # a type without a counterpart in pandas
        cells = found.to_pydict()
        return pd.DataFrame({n: pd.Series(c, dtype=object) for n, c in cells.items()})


def as_native(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array in the byte order of this machine."""
    if array.dtype.isnative:
        return array
    return array.astype(array.dtype.newbyteorder("="))


def _native_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a DataFrame in the byte order of this machine."""
    if all(getattr(t, "isnative", True) for t in [*frame.dtypes, frame.index.dtype]):
        return frame
    columns = {
        j: pd.Series(as_native(values.to_numpy()))
        if isinstance(values.dtype, np.dtype)
        else values.array
        for j, (_, values) in enumerate(frame.items())
    }
    index = pd.Index(as_native(frame.index.to_numpy()))
    return pd.DataFrame(columns).set_axis(frame.columns, axis=1).set_axis(index)


def as_array(values: Any, name: str, wanted: str) -> npt.NDArray[Any]:
    """Return values as an array; ragged and sparse ones are refused."""
    if hasattr(values, "toarray"):
        raise DataError(f"{name} is sparse; give {wanted}, e.g. {name}.toarray().")
    try:
        return as_native(np.asarray(values))
    except DataError:
        raise
    except (ValueError, TypeError):
        raise DataError(
            f"{name} is a {type(values).__name__} whose rows differ in length; give "
            f"{wanted}."
        ) from None


def _numbers_or_same(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array of objects as floats if all are numbers or missing."""
    missing = pd.isna(array)
    if all(as_number(entry) is not None for entry in array[~missing]):
        return np.where(missing, np.nan, array).astype(np.float64)
    return array


def as_number(value: Any, *, integer: bool = False) -> float | None:
    """Return value as a Python number, or None if it is not one (or not whole)."""
    if isinstance(value, np.ndarray) and value.shape == ():
        value = value[()]
    if isinstance(value, bool | np.bool_):
        return None
    try:
        return operator.index(value)
    except TypeError:
        pass
    real = isinstance(value, float | np.floating) and not integer
    return float(value) if real else None


def _read_labels(
    labels: Any, n_samples: int | None, name: str
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return the entries that are present, integers or texts, and the missing ones."""
    if hasattr(labels, "n_partitions"):
        raise ValueError(
            f"{name} is {labels!r}; give one of its partitions, e.g. "
            "ensemble.labels[0]."
        )
    array = as_array(labels, name, "a vector of shape (n_samples,)")
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"{name} has shape {array.shape}; give a non-empty vector of shape "
            "(n_samples,)."
        )
    if n_samples is not None and array.size != n_samples:
        raise ValueError(
            f"{name} has {array.size} entries for {n_samples} samples; give one per "
            "sample."
        )
    if array.dtype.kind in "UT" and not isinstance(labels, np.ndarray):
        # NumPy has converted None, NaN and numbers between texts to text.
        array = np.asarray(labels, dtype=object)
    if array.dtype.kind in "iu" and array.dtype != np.uint64:
        return array, np.zeros(array.size, np.bool_)
    missing = np.asarray(pd.isna(array), np.bool_)
    if missing.all():
        raise ValueError(f"{name} has missing entries only; give labels.")
    return _whole_numbers_or_texts(array[~missing], name), missing


def _whole_numbers_or_texts(entries: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return entries (n,) without missing ones, as int64, uint8 (truth) or texts."""
    if entries.dtype.kind == "b":
        return entries.astype(np.uint8)
    if entries.dtype.kind == "T":  # each as long as it is
        entries = entries.astype(object)
    if entries.dtype.kind == "U":
        return entries.astype(np.str_)
    if entries.dtype == object and all(isinstance(entry, str) for entry in entries):
        return entries.astype(np.str_)
    numbers = whole_numbers(entries)
    if numbers is None:
        raise ValueError(
            f"{name} has entries of type {_kinds(entries)}; give a whole number for "
            "every sample, or a text for every sample."
        )
    return numbers


def whole_numbers(entries: npt.NDArray[Any]) -> IntArray | None:
    """Return entries as int64, or None if one is not a whole number."""
    if entries.dtype == object:
        plain = [int(e) if isinstance(e, bool) else as_number(e) for e in entries]
        if None in plain:
            return None
        entries = np.array(plain)
    if entries.dtype.kind == "i":
        return entries.astype(np.int64)
    if entries.dtype.kind not in "uf" or (np.abs(entries) >= 2.0**63).any():
        return None
    whole = entries.astype(np.int64)
    return whole if (whole == entries).all() else None


def _kinds(entries: npt.NDArray[Any]) -> str:
    """Name the types of entries."""
    if entries.dtype != object:
        return str(entries.dtype)
    return " and ".join(sorted({type(entry).__name__ for entry in entries}))
