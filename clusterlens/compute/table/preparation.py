"""Preparation: the rules that turn a table into a matrix, fitted once, used again.

A scikit-learn transformer. `Column` encodes cells, which scikit-learn has no rules for;
then a `ColumnTransformer` of its scalers and encoders, and principal components, make
the matrix. Notes list the changes: filled, scaled or dropped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from clusterlens.compute._run.options import DEFAULT_RUN, RunOptions, stretches
from clusterlens.compute._validation import (
    DataError,
    FloatArray,
    IntArray,
    as_number,
    check_choice,
    plain_repr,
)
from clusterlens.compute.formatting import count
from clusterlens.compute.table._cells import plain_frame, type_columns
from clusterlens.compute.table._features import (
    FEATURE_ROLES,
    FILLERS,
    Column,
    check_column,
    check_columns,
    check_magnitude,
    check_size,
    check_spread,
    encode_columns,
    fill_missing,
    fill_values,
    first_copies,
    kept_rows,
    learn_columns,
    shorten,
    varying_columns,
)
from clusterlens.compute.table._files import read_file
from clusterlens.compute.table._roles import ROLES, facts_of, guess_roles
from clusterlens.compute.table.projection import Projection, project

SCALERS: dict[str, Callable[[], Any]] = {
    "standard": lambda: StandardScaler(copy=False),
    "robust": lambda: RobustScaler(copy=False),
    "minmax": lambda: MinMaxScaler(copy=False),
    "none": FunctionTransformer,
}
TRANSFORMS: dict[str, Callable[[int], Any]] = {
    "log": lambda n: FunctionTransformer(np.log),
    "log1p": lambda n: FunctionTransformer(np.log1p),
    "rank": lambda n: QuantileTransformer(
        n_quantiles=min(n, 1000), subsample=None, copy=False
    ),
}
MISSING_RULES = (*FILLERS, "drop rows", "refuse")
CATEGORICAL_RULES = ("one-hot", "famd", "ordinal", "ignore")
SPREAD_RULES = ("one-hot", "famd")
UNKNOWN_RULES = ("refuse", "missing")
GAP_RULES = ("refuse", "leave out")

_SCALE_NOTES = {
    "standard": "Numbers scaled to mean 0 and standard deviation 1.",
    "robust": "Numbers scaled to median 0 and interquartile range 1.",
    "minmax": "Numbers scaled to the range from 0 to 1.",
    "none": "Numbers used in their own units, not scaled.",
}
_TRANSFORM_NOTES = {
    "log": "replaced by its natural logarithm",
    "log1p": "replaced by the natural logarithm of 1 + value",
    "rank": "replaced by its rank, from 0 to 1",
}
# Shares of the time after which columns are learnt, gaps are filled, X is made.
_SHARES = (0.5, 0.6, 0.8)
_LOWER_BOUNDS = {"log": 0.0, "log1p": -1.0}


@dataclass(frozen=True, eq=False)
class PreparedRows:
    """Rows of a table as features.

    Parameters
    ----------
    X : array of float64, shape (n_samples, n_features)
        Finite features.
    row_ids : Index of length n_samples
        Row ids of the rows of X.
    kept : array of bool, shape (n_rows,)
        Which rows of the table became rows of X.
    notes : list of str
        Messages on filled values, scaling, and dropped rows and columns.
    first : array of int, shape (n_samples,)
        Position of the first identical row of X for each row, before components;
        empty where the rules are only applied.
    gaps : array of int, shape (n_columns,)
        Cells without a value in each column in use, unknown levels included; empty
        where the rules are learnt.
    """

    X: FloatArray
    row_ids: pd.Index
    kept: npt.NDArray[np.bool_]
    notes: list[str]
    first: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    gaps: IntArray = field(default_factory=lambda: np.empty(0, np.int64))


class Preparation(TransformerMixin, BaseEstimator):
    """The rules of `prepare` as a scikit-learn transformer of tables.

    Parameters
    ----------
    roles : mapping of str to str, optional
        Roles of columns; other roles are guessed.
    missing : str, default "median"
        "median", "mean", "most frequent", "drop rows" or "refuse", as in `prepare`.
    scale : str, default "standard"
        "standard", "robust", "minmax" or "none".
    categorical : str, default "one-hot"
        "one-hot", "famd", "ordinal" or "ignore".
    pca : int or float, optional
        Number of principal components, or the share of the variance they hold.
    sentinels : "auto" or sequence of float, default "auto"
        Values that stand for "missing" in columns of numbers.
    transforms : mapping of str to str, optional
        "log", "log1p" or "rank" for columns of numbers, before scaling.
    weights : mapping of str to float, optional
        Factors above 0 for the features of a column, after scaling.

    Attributes
    ----------
    columns_ : tuple of Column
        The columns in use: how their cells become numbers.
    encoders_ : tuple of Column
        The same for all feature columns, including constant ones.
    fill_values_ : array of float64, shape (n_columns,)
        Fill values for missing entries of the columns in use; empty if the rule
        does not fill.
    matrix_ : transformer
        A ColumnTransformer, or the scaler of all columns: from complete columns
        to scaled features.
    level_factors_ : tuple of array of float64, shape (n_levels,)
        Factors of the indicator columns of each column in use; empty for columns
        that are not expanded.
    components_ : Projection or None
        Principal components.
    feature_names_in_ : array of str, shape (n_columns,)
        Names of the columns in use.
    n_features_in_ : int
        Number of columns in use.

    Notes
    -----
    Rows that `prepare` would drop cannot be left out by a transformer; `transform`
    refuses them. Linear in the size of the table.

    Examples
    --------
    >>> table = pd.DataFrame({"size": [1.0, None, 3.0], "colour": ["a", "b", "a"]})
    >>> preparation = Preparation(scale="minmax").fit(table)
    >>> preparation.transform({"size": [2.0, 5.0], "colour": ["b", "a"]}).tolist()
    [[0.5, 0.0, 1.0], [2.0, 1.0, 0.0]]
    """

    def __init__(
        self,
        roles: Mapping[str, str] | None = None,
        missing: str = "median",
        scale: str = "standard",
        categorical: str = "one-hot",
        pca: float | None = None,
        sentinels: str | Sequence[float] = "auto",
        transforms: Mapping[str, str] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self.roles = roles
        self.missing = missing
        self.scale = scale
        self.categorical = categorical
        self.pca = pca
        self.sentinels = sentinels
        self.transforms = transforms
        self.weights = weights

    def fit(self, table: Any, y: Any = None) -> Self:
        """Learn the rules from a table.

        Parameters
        ----------
        table : DataFrame, array-like, Dataset, path, file object or bytes
            The table; anything that `load_table` reads.
        y : object
            Ignored.

        Returns
        -------
        self : Preparation
            Fitted.
        """
        frame, _ = typed_table(table)
        roles, reasons = guess_roles(facts_of(frame))
        for name, role in (self.roles or {}).items():
            check_column(name, frame.columns)
            check_choice(role, ROLES, name=f"roles[{name!r}]")
            roles[name], reasons[name] = role, "chosen"
        self.fit_rows(frame, roles, reasons)
        return self

    def fit_rows(
        self,
        table: pd.DataFrame,
        roles: Mapping[str, str],
        reasons: Mapping[str, str],
        run: RunOptions = DEFAULT_RUN,
    ) -> PreparedRows:
        """Learn the rules from a typed table and return its rows as features.

        Parameters
        ----------
        table : DataFrame of shape (n_rows, n_columns)
            Typed, as `Dataset.table`.
        roles : mapping of str to str
            Role of every column.
        reasons : mapping of str to str
            Why each column has its role, for the notes.
        run : RunOptions
            Progress in percent, and cancel.

        Returns
        -------
        rows : PreparedRows
            The rows that are kept, with notes.

        Raises
        ------
        DataError
            If a column cannot play its role, nothing is left, or X would be too large.
        ValueError
            If an option is unknown.
        """
        self._check_options()
        used, notes = used_roles(roles, reasons, self.categorical)
        learning, filling, making, counting = stretches(run, 100, _SHARES)
        X, columns, remarks = learn_columns(table, used, self.sentinels, learning)
        self.encoders_ = tuple(columns)
        kept, dropped = kept_rows(X, columns, self.missing, table.index)
        X = X if kept.all() else X[kept]
        varies, constant = varying_columns(X, columns)
        X = X if varies.all() else X[:, varies]
        self.columns_ = tuple(c for c, v in zip(columns, varies, strict=True) if v)
        self.feature_names_in_ = np.array([c.name for c in self.columns_], dtype=object)
        self.n_features_in_ = len(self.columns_)
        self._check_named_columns()
        self.fill_values_ = np.empty(0)
        notes += [*remarks, *dropped, *constant]
        if self.missing in FILLERS:
            self.fill_values_ = fill_values(X, self.columns_, self.missing)
            notes += fill_missing(X, self.columns_, self.fill_values_, self.missing)
        run.raise_if_cancelled()
        filling.report(1, 1)
        self.level_factors_ = tuple(
            self._level_factors(x, column)
            for x, column in zip(X.T, self.columns_, strict=True)
        )
        X = self._fit_matrix(X)
        making.report(1, 1)
        notes += self.describe_matrix()
        first = first_copies(X, counting)
        run.raise_if_cancelled()
        X, remarks = self._fit_components(X)
        run.report(100, 100)
        return PreparedRows(X, table.index[kept], kept, notes + remarks, first)

    def transform(self, table: Any) -> FloatArray:
        """Turn other rows into the same features.

        Parameters
        ----------
        table : DataFrame, array-like, Dataset, path, file object or bytes
            A table with the columns in use, in any order; others are not looked at.

        Returns
        -------
        X : array of float64, shape (n_rows, n_features)
            One row for every row of the table, finite.

        Raises
        ------
        DataError
            If a column is not there, a level was not there when the rules were learnt,
            or a row has gaps that the rules do not fill. `transform_rows` reports what
            was filled, and takes unknown levels as missing on request.
        """
        return self.transform_rows(table).X

    def transform_rows(self, table: Any, *, unknown: str = "refuse") -> PreparedRows:
        """Turn other rows into the same features, with notes on the changes.

        Parameters
        ----------
        table : DataFrame, array-like, Dataset, path, file object or bytes
            A table with the columns in use, in any order; others are not looked at.
        unknown : {"refuse", "missing"}, default "refuse"
            What to do with levels that were not there when the rules were learnt.

        Returns
        -------
        rows : PreparedRows
            Features, row ids and notes.

        Raises
        ------
        DataError
            As `transform`.
        """
        check_is_fitted(self)
        frame, notes = typed_table(table, [c.name for c in self.columns_])
        rows = self.transform_typed(frame, unknown=unknown)
        return replace(rows, notes=[*notes, *rows.notes])

    def transform_typed(
        self, frame: pd.DataFrame, *, unknown: str = "refuse", gaps: str = "refuse"
    ) -> PreparedRows:
        """Turn typed rows into the same features, with notes on the changes.

        Parameters
        ----------
        frame : DataFrame
            Typed columns, those in use among them, as `typed_table` gives them.
        unknown : {"refuse", "missing"}, default "refuse"
            What to do with levels that were not there when the rules were learnt.
        gaps : {"refuse", "leave out"}, default "refuse"
            What to do with rows that have gaps which the rules do not fill.

        Returns
        -------
        rows : PreparedRows
            Features, row ids and notes; `kept` says which rows were not left out.

        Raises
        ------
        DataError
            As `transform`.
        """
        check_choice(unknown, UNKNOWN_RULES, name="unknown")
        check_choice(gaps, GAP_RULES, name="gaps")
        X, notes = encode_columns(frame, self.columns_, unknown)
        bad = self._unfilled(X)
        absent = np.isnan(X).sum(axis=0)
        if bad.any() and gaps == "refuse":
            raise DataError(self._gap_sentence(bad, frame.index))
        if bad.any():
            notes.append(f"Left out: {self._gap_sentence(bad, frame.index)}")
            X = X[~bad]
        if len(X):
            X, remarks = self._features(X)
            notes += remarks
        else:
            X = np.empty((0, len(self.get_feature_names_out())))
        return PreparedRows(X, frame.index[~bad], ~bad, notes, gaps=absent)

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise an error naming all columns in use that a table lacks.

        Parameters
        ----------
        names : sequence of str
            Columns of the table.
        """
        check_columns([column.name for column in self.columns_], names)

    def encode(self, frame: pd.DataFrame) -> FloatArray:
        """Read the columns in use as numbers, before gaps are filled.

        Parameters
        ----------
        frame : DataFrame
            Typed columns, those in use among them, as `typed_table` gives them.

        Returns
        -------
        values : array of float64, shape (n_rows, n_columns)
            Numbers in their own units and positions of levels; NaN where a value is
            missing, or its level unknown.
        """
        return encode_columns(frame, self.columns_, "missing")[0]

    def transform_encoded(self, values: FloatArray) -> FloatArray:
        """Turn values as `encode` gives them into features.

        Parameters
        ----------
        values : array of float64, shape (n_rows, n_columns)
            Rows without gaps that the rules do not fill.

        Returns
        -------
        X : array of float64, shape (n_rows, n_features)
            The features.
        """
        return self._features(np.array(values, np.float64, order="F"))[0]

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the names of the features.

        Parameters
        ----------
        input_features : object
            Ignored.

        Returns
        -------
        names : array of str, shape (n_features,)
            One per column of X.
        """
        check_is_fitted(self)
        if self.components_ is not None:
            k = len(self.components_.components)
            return np.array([f"component {i}" for i in range(1, k + 1)], dtype=object)
        names: list[str] = []
        for column in self.columns_:
            levels = [f"{column.name}={level}" for level in column.level_names]
            names += levels if self._is_spread(column) else [column.name]
        return np.array(names, dtype=object)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Show the rules and, once fitted, the sizes."""
        rules = f"missing={self.missing!r}, scale={self.scale!r}"
        rules += f", categorical={self.categorical!r}"
        rules += "" if self.pca is None else f", pca={self.pca}"
        if not hasattr(self, "matrix_"):
            return f"Preparation({rules})"
        width = len(self.get_feature_names_out())
        return (
            f"Preparation({self.n_features_in_} columns -> {width} features, {rules})"
        )

    def _check_options(self) -> None:
        """Raise if an option is unknown."""
        check_choice(self.missing, MISSING_RULES, name="missing")
        check_choice(self.scale, SCALERS, name="scale")
        check_choice(self.categorical, CATEGORICAL_RULES, name="categorical")
        if isinstance(self.sentinels, str):
            check_choice(self.sentinels, ("auto",), name="sentinels")
        for name, kind in (self.transforms or {}).items():
            check_choice(kind, TRANSFORMS, name=f"transforms[{plain_repr(name)}]")
        for name, weight in (self.weights or {}).items():
            number = as_number(weight)
            if number is None or not 0 < number < np.inf:
                raise ValueError(
                    f"weights[{plain_repr(name)}] is {plain_repr(weight)}; give a "
                    "finite factor above 0 (to leave a column out give it the role "
                    "'ignore')."
                )

    def _check_named_columns(self) -> None:
        """Raise if a transform or weight names a column that is not in use."""
        roles = {column.name: column.role for column in self.columns_}
        for name in (*(self.transforms or {}), *(self.weights or {})):
            if name not in roles:
                raise DataError(
                    f"Column {name!r} has a transform or a weight, but is no feature; "
                    f"those in use are {shorten(list(roles))}."
                )
        for name in self.transforms or {}:
            if roles[name] != "numeric":
                raise DataError(
                    f"transforms[{name!r}] is given, but the column is {roles[name]}; "
                    "only columns of numbers can be transformed."
                )

    def _features(self, X: FloatArray) -> tuple[FloatArray, list[str]]:
        """Turn encoded columns (n, c) into features (n, d), with notes."""
        notes = []
        if self.missing in FILLERS:
            notes = fill_missing(X, self.columns_, self.fill_values_, self.missing)
        check_size(len(X), self.columns_, self._widths())
        self._check_transforms(X)
        check_magnitude(X, self.columns_)
        X = self._weighted(self.matrix_.transform(X))
        if self.components_ is not None:
            X = self.components_.transform(X)
        return X, notes

    def _unfilled(self, X: FloatArray) -> npt.NDArray[np.bool_]:
        """Return which rows (n, c) have gaps that the rules do not fill, shape (n,)."""
        absent = np.isnan(X)
        fills = self.missing in FILLERS
        return np.asarray(absent.all(axis=1) if fills else absent.any(axis=1))

    def _gap_sentence(self, bad: npt.NDArray[np.bool_], row_ids: pd.Index) -> str:
        fills = self.missing in FILLERS
        return (
            f"Row {row_ids[int(bad.argmax())]} has "
            f"{'no' if fills else 'a missing'} value in the columns in use, "
            f"{count(bad.sum(), 'such row')} in all; fill them in or leave them "
            f"out (missing={self.missing!r})."
        )

    def _check_transforms(self, X: FloatArray) -> None:
        """Refuse values (n, c) that have no logarithm."""
        for x, column in zip(X.T, self.columns_, strict=True):
            kind = (self.transforms or {}).get(column.name, "")
            bound = _LOWER_BOUNDS.get(kind, -np.inf)
            if x.min() <= bound:
                raise DataError(
                    f"transforms[{column.name!r}] is {kind!r}, but the column has the "
                    f"value {x.min():g}; values must be above {bound:g}. Take 'rank', "
                    "or for counts with zeros 'log1p'."
                )

    def _fit_matrix(self, X: FloatArray) -> FloatArray:
        """Expand, transform, scale and weight complete columns (n, c): (n, d)."""
        check_size(len(X), self.columns_, self._widths())
        self._check_transforms(X)
        check_magnitude(X, self.columns_)
        check_spread(X, self.columns_)
        self.matrix_ = self._make_matrix(len(X))
        return self._weighted(self.matrix_.fit_transform(X))

    def _fit_components(self, X: FloatArray) -> tuple[FloatArray, list[str]]:
        """Reduce features (n, d) to principal components where asked, with a note."""
        self.components_: Projection | None = None
        if self.pca is None:
            return X, []
        found = _components(X, self.pca)
        reduced = found.coordinates
        # Only the axes are stored, to hold the samples once.
        self.components_ = replace(found, coordinates=reduced[:0].copy())
        return reduced, [
            f"{X.shape[1]} features replaced by "
            f"{count(reduced.shape[1], 'principal component')}, which hold "
            f"{found.explained.sum():.1%} of the variance."
        ]

    def _make_matrix(self, n_rows: int) -> Any:
        """Return the transformer of the columns, unwrapped if one scaler serves all.

        A ColumnTransformer copies the whole matrix, a single scaler nothing.
        """
        steps = list(self._steps(n_rows))
        if len(steps) == 1:
            return steps[0][0]
        entries = [(f"{w.start} to {w.stop}", step, w) for step, w in steps]
        return ColumnTransformer(entries, sparse_threshold=0.0)

    def _steps(self, n_rows: int) -> Iterator[tuple[Any, slice]]:
        """Yield one transformer per run of columns that are treated alike.

        Slices, unlike lists of columns, let the scalers work in place.
        """

        def treatment(j: int) -> tuple[bool, str]:
            column = self.columns_[j]
            kind = (self.transforms or {}).get(column.name, "")
            return self._is_spread(column), kind

        for (spread, kind), run in groupby(range(len(self.columns_)), treatment):
            where = list(run)
            if spread:
                levels = [np.arange(len(self.columns_[j].levels)) for j in where]
                step = OneHotEncoder(
                    categories=[codes.astype(float) for codes in levels],
                    sparse_output=False,
                )
            elif kind:
                step = make_pipeline(TRANSFORMS[kind](n_rows), SCALERS[self.scale]())
            else:
                step = SCALERS[self.scale]()
            yield step, slice(where[0], where[-1] + 1)

    def _is_spread(self, column: Column) -> bool:
        """Return whether a column becomes indicator columns."""
        return column.role == "categorical" and self.categorical in SPREAD_RULES

    def _level_factors(self, codes: FloatArray, column: Column) -> FloatArray:
        """Return the factors of the indicator columns of a column of codes (n,)."""
        if not self._is_spread(column):
            return np.empty(0)
        levels = len(column.levels)
        if self.categorical == "one-hot":
            return np.ones(levels)
        known = codes[~np.isnan(codes)].astype(np.int64)
        counts = np.bincount(known, minlength=levels)
        # A level that no kept row has is 0 in all of them; any factor will do.
        return np.sqrt(len(known) / np.maximum(counts, 1))

    def _widths(self) -> list[int]:
        """Return the number of features of each column."""
        return [len(c.levels) if self._is_spread(c) else 1 for c in self.columns_]

    def _weighted(self, X: FloatArray) -> FloatArray:
        """Multiply features (n, d) by the weights of levels and columns, in place."""
        X = np.ascontiguousarray(X)
        if self.categorical == "famd":
            X *= np.concatenate(
                [some if some.size else np.ones(1) for some in self.level_factors_]
            )
        if self.weights:
            factors = [self.weights.get(column.name, 1.0) for column in self.columns_]
            X *= np.repeat(factors, self._widths())
        return X

    def describe_matrix(self) -> list[str]:
        """Describe how the columns were expanded, transformed, scaled and weighted.

        Returns
        -------
        notes : list of str
            One sentence for each fact.
        """
        notes = [
            f"Column {c.name!r}: {len(c.levels)} levels became columns of 0 and 1."
            for c in self.columns_
            if self._is_spread(c)
        ]
        if self.categorical == "famd" and notes:
            notes.append(
                "Columns of 0 and 1 divided by the square root of the share of their "
                "level, as in factor analysis of mixed data: a column of categories "
                "spreads the rows like as many scaled numbers as it has levels less "
                "one, and a rare level sets its rows further apart."
            )
        if self.categorical == "ordinal":
            notes += [
                f"Column {c.name!r}: {len(c.levels)} levels numbered in sorted order, "
                "which makes some of them closer than others."
                for c in self.columns_
                if c.role == "categorical"
            ]
        notes += [
            f"Column {name!r}: {_TRANSFORM_NOTES[kind]}."
            for name, kind in (self.transforms or {}).items()
        ]
        if not all(map(self._is_spread, self.columns_)):
            notes.append(_SCALE_NOTES[self.scale])
        notes += [
            f"Column {name!r}: weight {weight:g}, its features multiplied by it."
            for name, weight in (self.weights or {}).items()
        ]
        return notes


def typed_table(
    table: Any,
    needed: Sequence[str] | None = None,
    row_id: str | None = None,
    *,
    decimal_comma: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """Return the typed columns of a table of any kind, those needed or all of them.

    Notes name the columns that are not used. The column `row_id` becomes the index if
    it exists and identifies the rows.
    """
    notes: list[str] = []
    if hasattr(table, "roles") and hasattr(table, "table"):
        frame = table.table  # of a Dataset
    elif isinstance(table, (str, bytes, os.PathLike)) or hasattr(table, "read"):
        parsed, _ = read_file(table)
        frame, decimal_comma, notes = parsed.frame, parsed.decimal_comma, parsed.notes
    else:
        frame = table
    frame, remarks = plain_frame(frame, "table")
    notes = [*notes, *remarks]
    if needed is not None:
        check_columns(needed, frame.columns)
        if row_id in frame.columns and _tells_apart(frame[row_id]):
            frame = frame.set_index(frame[row_id].rename(None))
        unused = frame.columns.difference([*needed, row_id], sort=False)
        notes += [f"Columns not used: {shorten(unused)}."] if len(unused) else []
        frame = frame[list(needed)]
    frame, remarks = type_columns(frame, decimal_comma=decimal_comma)
    return frame, notes + remarks


def _tells_apart(ids: pd.Series) -> bool:
    return bool(ids.is_unique and ids.notna().all())


def used_roles(
    roles: Mapping[str, str], reasons: Mapping[str, str], categorical: str
) -> tuple[dict[str, str], list[str]]:
    """Return the roles in force and a note on the columns that are no features."""
    used = dict(roles)
    if categorical == "ignore":
        used = {n: "ignore" if r == "categorical" else r for n, r in used.items()}
    notes = []
    skipped = [name for name in used if used[name] != roles[name]]
    if skipped:
        notes.append(f"Categories left out: {', '.join(map(repr, skipped))}.")
    for role in ("label", "row id", "ignore"):
        names = [name for name, r in roles.items() if r == role]
        if names:
            why = ", ".join(f"{name!r} ({reasons[name]})" for name in names)
            notes.append(f"No feature, role {role!r}: {why}.")
    if not set(used.values()) & set(FEATURE_ROLES):
        some = [f"{n!r} ({reasons[n]})" for n in list(used)[:5]]
        raise DataError(
            f"No column serves as a feature: {', '.join(some)}; give at least one "
            "column the role 'numeric', 'categorical' or 'ordinal'."
        )
    return used, notes


def _components(X: FloatArray, pca: float) -> Projection:
    """Find principal components of features (n, d)."""
    largest = min(X.shape)
    share = isinstance(pca, float) and 0 < pca < 1
    number = None if share else as_number(pca, integer=True)
    if not share and (number is None or not 1 <= number <= largest):
        raise DataError(
            f"pca is {plain_repr(pca)}; give a number of components from 1 to "
            f"{largest}, or a share of the variance between 0 and 1."
        )
    return project(X, pca)
