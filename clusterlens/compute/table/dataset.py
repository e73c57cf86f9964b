"""Dataset: a table with roles, and the matrix prepared from it.

`make_dataset` types the columns and guesses their roles; `prepare` turns the features
into a finite matrix by stated rules. Stable row ids identify rows throughout. All steps
are linear in the number of rows; every dropped or filled value gets a note.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions, stretches
from clusterlens.compute._validation import (
    DataError,
    FloatArray,
    Frozen,
    IntArray,
    as_array,
    as_number,
    check_choice,
    check_entries,
    check_flag,
    check_mapping,
    plain_repr,
    read_only,
)
from clusterlens.compute.formatting import count
from clusterlens.compute.table._cells import plain_frame, type_columns
from clusterlens.compute.table._features import (
    Column,
    EncodedTable,
    check_column,
    encode_columns,
    shorten,
)
from clusterlens.compute.table._names import is_id_name
from clusterlens.compute.table._roles import (
    LAST_TEXT,
    ROLES,
    ColumnFacts,
    facts_of,
    facts_to_guess,
    guess_roles,
)
from clusterlens.compute.table._rows import other_header_notes, total_notes
from clusterlens.compute.table.preparation import (
    CATEGORICAL_RULES,
    MISSING_RULES,
    SCALERS,
    Preparation,
    PreparedRows,
)

__all__ = [
    "CATEGORICAL_RULES",
    "COPY_RULES",
    "MISSING_RULES",
    "ROLES",
    "SCALES",
    "Column",
    "ColumnFacts",
    "Dataset",
    "EncodedTable",
    "Prepared",
    "is_id_name",
    "make_dataset",
    "prepare",
]

SCALES = tuple(SCALERS)
COPY_RULES = ("keep", "once")


@dataclass(frozen=True, eq=False)
class Prepared(Frozen):
    """Result of `prepare`; its parts are attributes of `Dataset`."""

    X: FloatArray
    feature_names: tuple[str, ...]
    row_ids: npt.NDArray[Any]
    labels_true: IntArray | None
    label_names: tuple[str, ...]
    settings: Mapping[str, Any]
    notes: tuple[str, ...]
    preparation: Preparation
    positions: IntArray
    n_copies: int


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table with a role for every column and, once prepared, a matrix of features.

    Parameters
    ----------
    table : DataFrame of shape (n_rows, n_columns)
        All columns, typed; the index holds the row ids. Do not change it in place.
    roles : mapping of str to str
        For every column one of "numeric", "categorical", "ordinal", "label", "row id"
        and "ignore".
    role_reasons : mapping of str to str
        Reason for each guessed role, or a note that it was chosen.
    name : str
        Name of the table.
    reading_notes : tuple of str
        Changes to the table while it was read.
    prepared : Prepared or None
        Result of `prepare`; its parts are attributes of the dataset.
    facts : mapping of str to ColumnFacts, optional
        Cached facts about the cells of each column.

    Attributes
    ----------
    X : array of float64, shape (n_samples, n_features)
        Finite, read-only.
    feature_names : tuple of str
        One name per column of X.
    row_ids : array, shape (n_samples,)
        Row ids of the rows of X.
    labels_true : array of int64, shape (n_samples,), or None
        Codes of the label column: 0 to K - 1, and -1 where the label is missing.
    label_names : tuple of str
        Names of the codes 0 to K - 1.
    has_guessed_labels : bool
        Whether the label column is one only because it is the last and only text.
    preparation : Preparation
        The fitted rules; its `transform` turns other rows into the same features.
    positions : array of int64, shape (n_rows,)
        Row of X for each row of the table, -1 if it was dropped.
    row_counts : array of int64, shape (n_samples,)
        Number of rows of the table for each row of X; 1 unless copies count once.
    n_copies : int
        Rows that are an exact copy of an earlier one, in all features.
    notes : list of str
        Everything that was done or dropped, from reading to preparation.

    Notes
    -----
    X and its companions exist after `prepare`; before, they raise DataError. A prepared
    dataset is array-like (X), so it can be used wherever a table of features can.
    """

    table: pd.DataFrame
    roles: Mapping[str, str]
    role_reasons: Mapping[str, str]
    name: str = "table"
    reading_notes: tuple[str, ...] = ()
    prepared: Prepared | None = field(default=None)
    facts: Mapping[str, ColumnFacts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Create the facts of columns, unless another dataset shares them."""
        object.__setattr__(self, "facts", self.facts or facts_of(self.table))

    @property
    def X(self) -> FloatArray:
        """Matrix of features, shape (n_samples, n_features)."""
        return self._prepared().X

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns of X."""
        return self._prepared().feature_names

    @property
    def row_ids(self) -> npt.NDArray[Any]:
        """Row ids of the rows of X, shape (n_samples,)."""
        return self._prepared().row_ids

    @property
    def labels_true(self) -> IntArray | None:
        """Codes of the label column, shape (n_samples,), or None without one."""
        return self._prepared().labels_true

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the codes of labels_true."""
        return self._prepared().label_names

    @property
    def has_guessed_labels(self) -> bool:
        """Whether only the place of the label column speaks for its role."""
        return LAST_TEXT in self.role_reasons.values()

    @property
    def preparation(self) -> Preparation:
        """The fitted rules: `transform` turns other rows into the same features."""
        return self._prepared().preparation

    @property
    def positions(self) -> IntArray:
        """Row of X for each row of the table, shape (n_rows,), -1 for dropped ones."""
        return self._prepared().positions

    @property
    def row_counts(self) -> IntArray:
        """Number of rows of the table for each row of X, shape (n_samples,)."""
        known = self.positions[self.positions >= 0]
        return np.bincount(known, minlength=len(self.X))

    @property
    def n_copies(self) -> int:
        """Number of rows that are an exact copy of an earlier one, in all features."""
        return self._prepared().n_copies

    @property
    def settings(self) -> Mapping[str, Any]:
        """Arguments that `prepare` was called with."""
        return self._prepared().settings

    @property
    def notes(self) -> list[str]:
        """Everything that was done or dropped."""
        prepared = () if self.prepared is None else self.prepared.notes
        return [*self.reading_notes, *prepared]

    @cached_property
    def encoded(self) -> EncodedTable:
        """The feature columns of the rows of X in original units, encoded once."""
        prepared = self._prepared()
        rows = self.table.index.get_indexer(pd.Index(prepared.row_ids))
        columns = prepared.preparation.encoders_
        values, _ = encode_columns(self.table.iloc[rows], columns, "missing")
        return EncodedTable(read_only(values), columns)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """Return X for NumPy."""
        return np.array(self.X, dtype, copy=copy)

    def __repr__(self) -> str:
        """Return the name and the size."""
        rows, columns = self.table.shape
        size = f"{self.name!r}, {rows} rows x {columns} columns"
        if self.prepared is not None:
            size += f", X {self.X.shape[0]} x {self.X.shape[1]}"
        return f"Dataset({size})"

    def _prepared(self) -> Prepared:
        if self.prepared is None:
            raise DataError(
                f"Table {self.name!r} is not prepared; prepare it first, call "
                "prepare(dataset)."
            )
        return self.prepared


def check_dataset(ds: Any, *, name: str = "ds") -> Dataset:
    """Return ds if it is a Dataset; DataError if it is something else."""
    if not isinstance(ds, Dataset):
        raise DataError(
            f"{name} is a {type(ds).__name__}; give a Dataset, as load_table, "
            "make_dataset and prepare return it."
        )
    return ds


@takes_running
def make_dataset(
    table: pd.DataFrame | npt.ArrayLike,
    name: str = "table",
    label: str | None = None,
    row_id: str | None = None,
    *,
    notes: Sequence[str] = (),
    decimal_comma: bool = False,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Dataset:
    """Type the columns of a table and guess their roles.

    Parameters
    ----------
    table : DataFrame or array-like of shape (n_rows, n_columns)
        Cells of any type; text that is entirely numeric becomes numbers.
    name : str, default "table"
        Name of the table.
    label : str, optional
        Column of given classes; never a feature.
    row_id : str, optional
        Column with distinct values for the row ids. By default a column that looks like
        one, else the index of the DataFrame if unique, else 0, 1, 2, ...
    notes : sequence of str, optional
        Earlier changes to the table.
    decimal_comma : bool, default False
        Whether the comma in "1,234" is a decimal comma.
    progress : callable, optional
        Called as progress(done, total) in steps, two for each column: type and role.
    cancel : callable, optional
        Asked before each step; True stops.

    Returns
    -------
    dataset : Dataset
        Not prepared yet.

    Raises
    ------
    DataError
        If the table is empty, a named column is not there, or row ids are not unique.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    Linear in the number of cells.

    Examples
    --------
    >>> ds = make_dataset({"size": ["1,5", "2,0", "9,1"], "colour": ["a", "b", "a"]})
    >>> ds.roles
    {'size': 'numeric', 'colour': 'categorical'}
    """
    run = RunOptions(progress=progress, cancel=cancel)
    frame, own_notes = plain_frame(table, name)
    for column in (label, row_id):
        if column is not None:
            check_column(column, frame.columns)
    if label is not None and label == row_id:
        raise DataError(
            f"Column {label!r} is given as label and as row id; choose one."
        )
    notes = check_entries(notes, "notes")
    check_flag(decimal_comma, name="decimal_comma")
    first, second = stretches(run, 2 * frame.shape[1], (0.5,))
    frame, typing_notes = type_columns(
        frame,
        decimal_comma=decimal_comma,
        identifiers=() if row_id is None else (row_id,),
        run=first,
    )
    facts = facts_to_guess(frame)
    roles, reasons = guess_roles(facts, label=label, row_id=row_id, run=second)
    row_notes = [*total_notes(frame), *other_header_notes(facts)]
    notes = (*notes, *own_notes, *typing_notes, *row_notes)
    ds = Dataset(frame, roles, reasons, name, notes, None, facts)
    _check_usable(ds)
    return _index_by_row_id(ds)


@takes_running
def prepare(
    ds: Dataset | pd.DataFrame | npt.ArrayLike,
    roles: Mapping[str, str] | None = None,
    missing: str = "median",
    scale: str = "standard",
    categorical: str = "one-hot",
    pca: float | None = None,
    *,
    sentinels: str | Sequence[float] = "auto",
    transforms: Mapping[str, str] | None = None,
    weights: Mapping[str, float] | None = None,
    copies: str = "keep",
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Dataset:
    """Turn the features of a table into a finite matrix, by stated rules.

    Parameters
    ----------
    ds : Dataset, DataFrame or array-like of shape (n_rows, n_columns)
        The table; anything but a Dataset goes through `make_dataset` first.
    roles : mapping of str to str, optional
        Roles that replace the guessed ones, by column name.
    missing : str, default "median"
        "median", "mean" or "most frequent" fill numbers column by column (levels always
        take the most frequent one; rows without any value are dropped); "drop rows"
        keeps complete rows only; "refuse" raises at the first missing value.
    scale : {"standard", "robust", "minmax", "none"}, default "standard"
        Mean 0 and standard deviation 1 (ddof 0); median 0 and interquartile range 1;
        range 0 to 1; or unchanged. Columns of 0 and 1 from categories stay as they are.
    categorical : {"one-hot", "famd", "ordinal", "ignore"}, default "one-hot"
        One column of 0 and 1 per level; the same divided by the square root of the
        share of the level, as factor analysis of mixed data weighs categories; one
        column of level numbers in sorted order; or left out.
    pca : int or float, optional
        Replace the features by that many principal components, or by as many as hold
        that share of the variance (0 < share < 1).
    sentinels : "auto" or sequence of float, default "auto"
        Values that stand for "missing" in numeric columns. "auto" takes well-known
        codes such as -999 or 9999 where they lie apart from all other values.
    transforms : mapping of str to str, optional
        For columns of numbers, after filling and before scaling: "log" (values above
        0), "log1p", the logarithm of 1 + value (above -1), or "rank", 0 to 1.
    weights : mapping of str to float, optional
        Factors above 0 for the features of a column, after scaling: 2 doubles their
        share in every distance along them.
    copies : {"keep", "once"}, default "keep"
        Treatment of rows that equal an earlier one in all features: each is a sample of
        its own, or X has only the first of them, which represents all. See the Notes.
    progress : callable, optional
        Called as progress(done, total), in percent of the work.
    cancel : callable, optional
        Called without arguments before each step and column; True stops with
        `Cancelled`.

    Returns
    -------
    prepared : Dataset
        The same table with X, feature_names, row_ids, labels_true and notes.

    Raises
    ------
    DataError
        If a column does not suit its role, nothing is left, or X would be too large.
    ValueError
        If an option is unknown.

    Notes
    -----
    In order: infinite values, sentinels and words among numbers become missing; rows
    are dropped; empty and constant columns are left out; missing values are filled;
    numbers and ordered levels are scaled. Two samples with different levels of a
    category lie sqrt(2) apart in its columns, which is the root mean square distance of
    two samples in a standardised column of numbers; rare levels get no extra weight.
    Linear in the size of X; its bytes are checked before it is built. `pca` adds
    O(n d^2).

    Rules are learnt from all rows, including copies, so copies="once" only removes rows
    from X. Later steps then count every distinct row once, whatever the number of its
    copies: clusterers, agreement of the pool, density. `attach_labels` gives its label
    to all copies, and `row_counts` has their number. Copies with another class get the
    class of the first row in labels_true, with a note.

    Examples
    --------
    >>> ds = prepare({"size": [1.0, None, 3.0], "colour": ["a", "b", "a"]})
    >>> ds.feature_names
    ('size', 'colour=a', 'colour=b')
    >>> ds.notes[0]
    "Column 'size': 1 missing value (33.3% of the rows) filled with the median 2."
    """
    run = RunOptions(progress=progress, cancel=cancel)
    ds = ds if isinstance(ds, Dataset) else make_dataset(ds)
    roles = _options(roles, "roles", "roles")
    ds = _with_roles(ds, roles)
    rules: dict[str, Any] = {
        "missing": missing,
        "scale": scale,
        "categorical": categorical,
        "pca": int(pca) if isinstance(pca, np.integer) else pca,
        "sentinels": _checked_sentinels(sentinels),
        "transforms": _options(transforms, "transforms", "transforms"),
        "weights": _options(weights, "weights", "factors"),
    }
    check_choice(copies, COPY_RULES, name="copies")
    preparation = Preparation(roles=dict(ds.roles), **rules)
    rows = preparation.fit_rows(ds.table, ds.roles, ds.role_reasons, run)
    codes, label_names, remarks = _label_codes(ds, rows.kept)
    chosen, positions = _samples(rows, copies)
    n_copies = int(np.count_nonzero(rows.first != np.arange(len(rows.X))))
    if n_copies:
        remarks.append(_copies_note(n_copies, rows, codes, copies))
    prepared = Prepared(
        X=rows.X[chosen],
        feature_names=tuple(preparation.get_feature_names_out()),
        row_ids=rows.row_ids.to_numpy(copy=True)[chosen],
        labels_true=None if codes is None else codes[chosen],
        label_names=label_names,
        settings={"roles": roles, **rules, "copies": copies},
        notes=(*rows.notes, *remarks),
        preparation=preparation,
        positions=positions,
        n_copies=n_copies,
    )
    return replace(ds, prepared=prepared)


def _samples(rows: PreparedRows, copies: str) -> tuple[IntArray | slice, IntArray]:
    """Choose the rows that become samples, and the sample of each row of the table."""
    n_kept = len(rows.X)
    positions = np.full(len(rows.kept), -1)
    if copies == "keep":
        positions[rows.kept] = np.arange(n_kept)
        return slice(None), positions
    chosen, of_rows = np.unique(rows.first, return_inverse=True)
    positions[rows.kept] = of_rows
    return chosen, positions


def _copies_note(
    n_copies: int, rows: PreparedRows, codes: IntArray | None, copies: str
) -> str:
    """Describe the number and the treatment of copies."""
    many = f"{count(n_copies, 'exact copy', 'exact copies')} of earlier rows, in all "
    if copies == "keep":
        return many + "features; they are kept."
    text = many + "features, left out: the first of them stands for all."
    differ = 0 if codes is None else int((codes != codes[rows.first]).sum())
    if differ:
        text += f" {count(differ, 'copy has', 'copies have')} another class than it."
    return text


def take_rows(ds: Dataset, rows: npt.ArrayLike) -> Dataset:
    """Take some rows of a prepared table, and prepare them anew by the same rules.

    This allows clustering inside a cluster: scales, filled gaps and components follow
    from its own rows, so that its structure is not lost among the other rows.

    Parameters
    ----------
    ds : Dataset
        A prepared table of n_samples rows.
    rows : array-like
        Positions of rows of `ds.X`, or a boolean mask of shape (n_samples,).

    Returns
    -------
    part : Dataset
        The chosen rows with their row ids, prepared.

    Raises
    ------
    DataError
        If a position names no row, one is named twice, or the rows cannot be prepared,
        for instance because all columns are constant in them.

    Examples
    --------
    >>> ds = prepare(pd.DataFrame({"a": [1.0, 2.0, 9.0, 3.0]}, index=list("wxyz")))
    >>> take_rows(ds, [0, 2, 3]).row_ids.tolist()
    ['w', 'y', 'z']
    """
    row_ids = pd.Index(check_dataset(ds).row_ids)
    array = as_array(rows, "rows", "positions of rows, or a mask")
    if array.dtype.kind == "b" and array.shape == (len(row_ids),):
        array = np.flatnonzero(array)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not array.size:
        raise DataError(
            f"rows has shape {array.shape} and type {array.dtype}; give positions of "
            f"rows, one or more, or a mask of shape ({len(row_ids)},)."
        )
    if array.min() < 0 or array.max() >= len(row_ids):
        raise DataError(
            f"rows names rows from {array.min()} to {array.max()}; give positions from "
            f"0 to {len(row_ids) - 1}."
        )
    if len(np.unique(array)) < len(array):
        raise DataError("rows names a row twice; give each one once.")
    place = np.full(len(row_ids), -1)
    place[array] = np.arange(len(array))
    places = np.where(ds.positions >= 0, place[ds.positions], -1)
    at = np.flatnonzero(places >= 0)
    at = at[np.argsort(places[at], kind="stable")]
    part = replace(ds, table=ds.table.iloc[at], prepared=None, facts={})
    return prepare(part, **ds.settings)


def _options(given: Any, name: str, to: str) -> dict[str, Any]:
    """Return an option by column, empty for None."""
    return {} if given is None else check_mapping(given, name=name, to=to)


def _checked_sentinels(sentinels: Any) -> str | tuple[float, ...]:
    """Return "auto", or numbers."""
    if isinstance(sentinels, str):
        return check_choice(sentinels, ("auto",), name="sentinels")
    values = [as_number(value) for value in check_entries(sentinels, "sentinels")]
    if None in values:
        raise ValueError(
            f"sentinels is {plain_repr(sentinels)}; give numbers, or 'auto'."
        )
    return tuple(value for value in values if value is not None)


def _with_roles(ds: Dataset, changes: Mapping[str, str]) -> Dataset:
    """Return the dataset with some roles chosen by the analyst."""
    for name, role in changes.items():
        check_column(name, ds.table.columns)
        check_choice(role, ROLES, name=f"roles[{name!r}]")
    roles = {**ds.roles, **changes}
    reasons = dict(ds.role_reasons)
    reasons |= dict.fromkeys(changes, "chosen")
    for role in ("label", "row id"):
        # A choice takes the place of a guess; two choices contradict each other.
        chosen = [name for name, r in changes.items() if r == role]
        if len(chosen) > 1:
            raise DataError(
                f"Columns {shorten(chosen)} all have the role {role!r}; give it to one."
            )
        for name in [n for n, r in roles.items() if r == role and chosen]:
            if name != chosen[0]:
                roles[name], reasons[name] = "ignore", f"{chosen[0]!r} is the {role}"
    changed = replace(ds, roles=roles, role_reasons=reasons, prepared=None)
    _check_usable(changed)
    return _index_by_row_id(changed) if "row id" in changes.values() else changed


def _check_usable(ds: Dataset) -> None:
    """Raise if a column with cells that cannot be compared has a role."""
    for name, role in ds.roles.items():
        if role != "ignore" and ds.facts[name].kind == "other":
            raise DataError(
                f"Column {name!r} has the role {role!r}, but its cells are neither "
                "numbers, text nor dates; ignore it, or split it into columns of such."
            )


def _index_by_row_id(ds: Dataset) -> Dataset:
    """Use the row id column, if there is one, as the index of the table."""
    name = next((n for n, role in ds.roles.items() if role == "row id"), None)
    if name is None:
        return ds
    ids = pd.Index(ds.table[name].to_numpy(), name=None)
    if ids.hasnans:
        row = ds.table.index[int(ids.isna().argmax())]
        raise DataError(
            f"Row id column {name!r} has no value in row {row}; fill it in, or "
            "choose another row id."
        )
    if not ids.is_unique:
        repeated = ids[ids.duplicated()][0]
        raise DataError(
            f"Row id column {name!r} has the value {plain_repr(repeated)} more than "
            "once; choose a column whose values are all different."
        )
    return replace(ds, table=ds.table.set_axis(ids, axis=0))


def _label_codes(
    ds: Dataset, keep: np.ndarray
) -> tuple[IntArray | None, tuple[str, ...], list[str]]:
    """Number the classes of the label column among the kept rows."""
    name = next((n for n, role in ds.roles.items() if role == "label"), None)
    if name is None:
        return None, (), []
    codes, names = pd.factorize(ds.table[name][keep], sort=True)
    absent = int((codes < 0).sum())
    notes = [f"Label column {name!r}: {count(absent, 'row')} without a label, code -1."]
    return (
        read_only(codes.astype(np.int64)),
        tuple(map(str, names)),
        notes * bool(absent),
    )
