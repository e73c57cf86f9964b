"""A preparation fitted on all rows of a table that is read some rows at a time.

Roles are guessed and columns are learnt by the rules of `prepare`, from what one pass
over the rows has told. What `prepare` finds exactly is exact here, but for quantiles of
columns with more than 100,000 different numbers: these have a known error.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from clusterlens.compute._plain import Record
from clusterlens.compute._validation import (
    DataError,
    FloatArray,
    IntArray,
    check_choice,
)
from clusterlens.compute.formatting import count, whole
from clusterlens.compute.notes import Note, as_note
from clusterlens.compute.table._features import (
    FEATURE_ROLES,
    FILLERS,
    MIN_ROWS,
    Column,
    check_column,
    check_magnitude,
    check_spread,
    fill_note,
    learn_levels,
    learn_numbers,
    varying_columns,
)
from clusterlens.compute.table._names import is_id_name
from clusterlens.compute.table._roles import ROLES, guess_roles
from clusterlens.compute.table._streamed_facts import streamed_facts, twice, type_words
from clusterlens.compute.table._streamed_scaling import Distribution, learn_scaling
from clusterlens.compute.table.column_streams import (
    MOST_DISTINCT,
    Moments,
    NumberStream,
    TableStream,
    WordStream,
)
from clusterlens.compute.table.plain_preparation import (
    column_to_plain,
    preparation_from_plain,
)
from clusterlens.compute.table.preparation import (
    CATEGORICAL_RULES,
    SCALERS,
    SPREAD_RULES,
    used_roles,
)
from clusterlens.compute.table.row_encoder import RowEncoder, encode_cells

STREAMED_MISSING_RULES = (*FILLERS, "refuse")


class StreamedPreparation:
    """What `prepare` would learn from a table, learnt from its stream.

    Parameters
    ----------
    stream : TableStream
        All rows of the table.
    roles : mapping of str to str, optional
        Roles of columns; other roles are guessed.
    row_id : str, optional
        Column that identifies the rows.
    missing : {"median", "mean", "most frequent", "refuse"}
        As in `prepare`.
    scale, categorical : str
        As in `prepare`.

    Attributes
    ----------
    roles, reasons : dict of str to str
        Role of every column, and why.
    row_id : str or None
        Column of row ids.
    notes : list of Note
        Everything that was filled, scaled or dropped.

    Raises
    ------
    DataError
        If a column cannot play its role or no column is a feature.
    """

    def __init__(
        self,
        stream: TableStream,
        roles: Mapping[str, str] | None = None,
        row_id: str | None = None,
        *,
        missing: str = "median",
        scale: str = "standard",
        categorical: str = "one-hot",
    ) -> None:
        self.missing = check_choice(missing, STREAMED_MISSING_RULES, name="missing")
        self.scale = check_choice(scale, SCALERS, name="scale")
        self.categorical = check_choice(
            categorical, CATEGORICAL_RULES, name="categorical"
        )
        self._stream = stream
        self._words = {
            name: type_words(name, column)
            for name, column in stream.columns.items()
            if isinstance(column, WordStream) and column.counts is not None
        }
        self._guess(roles or {}, row_id)
        used, notes = used_roles(self.roles, self.reasons, self.categorical)
        self.notes = [as_note(note) for note in notes]
        self._columns: list[Column] = []
        self._values: list[Distribution] = []
        self._codes: dict[str, pd.Series] = {}
        for name, role in used.items():
            if role in FEATURE_ROLES:
                column, values = self._learn(name, role)
                self._columns.append(column)
                self._values.append(values)
        ids = [name for name, role in self.roles.items() if role == "row id"]
        self.row_id = ids[0] if ids else None

    @property
    def may_have_empty_rows(self) -> bool:
        """Whether every column has gaps, so that a row may have no value at all."""
        return all(v.moments.count < self._stream.n_rows for v in self._values)

    @property
    def columns(self) -> list[str]:
        """Names of the feature columns."""
        return [column.name for column in self._columns]

    def empty_rows(self, table: pa.Table) -> int:
        """Count the rows of a part of the table without any value in these columns."""
        values = encode_cells(table, self._columns, self._codes)
        return int(np.isnan(values).all(axis=1).sum())

    def fit(self, n_empty: int = 0) -> RowEncoder:
        """Fit the preparation.

        Parameters
        ----------
        n_empty : int, default 0
            Rows without any value, which are left out.

        Returns
        -------
        encoder : RowEncoder
            The preparation that `prepare` makes of the whole table, with the meaning of
            its words, for parts of the table.

        Raises
        ------
        DataError
            If too few rows are left, no column varies, or values are missing where that
            is refused.
        """
        n_rows = self._stream.n_rows - n_empty
        if n_rows < MIN_ROWS:
            raise DataError(
                f"{count(n_rows, 'row')} with a value; clustering needs at least "
                f"{MIN_ROWS}: give more rows."
            )
        if n_empty:
            self.notes.append(
                as_note(f"{count(n_empty, 'row')} without any value left out.")
            )
        ends = np.array([[v.low for v in self._values], [v.high for v in self._values]])
        varies, constant = varying_columns(ends, self._columns)
        self.notes += map(as_note, constant)
        columns = [c for c, v in zip(self._columns, varies, strict=True) if v]
        values = [deepcopy(d) for d, v in zip(self._values, varies, strict=True) if v]
        check_magnitude(ends[:, varies], columns)
        check_spread(ends[:, varies], columns)
        fills = [
            self._fill(column, value, n_rows)
            for column, value in zip(columns, values, strict=True)
        ]
        preparation = preparation_from_plain(
            Record(self._plain(columns, values, fills), "the preparation")
        )
        self.notes += map(as_note, preparation.describe_matrix())
        used = {column.name for column in columns}
        codes = {name: some for name, some in self._codes.items() if name in used}
        return RowEncoder(preparation, codes)

    def _guess(self, given: Mapping[str, str], row_id: str | None) -> None:
        """Guess the roles of the columns; given roles replace guesses."""
        facts = {
            name: streamed_facts(stream, self._kind(name), self._words.get(name))
            for name, stream in self._stream.columns.items()
        }
        if row_id is not None:
            check_column(row_id, list(facts))
        self.roles, self.reasons = guess_roles(facts, row_id=row_id)
        for name, stream in self._stream.columns.items():
            if isinstance(stream, WordStream) and stream.counts is None:
                why = f"text with more than {whole(MOST_DISTINCT)} different values"
                is_id = name == row_id or (
                    is_id_name(name) and "row id" not in self.roles.values()
                )
                self.roles[name] = "row id" if is_id else "ignore"
                self.reasons[name] = why
        for name, role in given.items():
            check_column(name, list(facts))
            check_choice(role, ROLES, name=f"roles[{name!r}]")
            self.roles[name], self.reasons[name] = role, "chosen"

    def _kind(self, name: str) -> pa.DataType:
        return self._stream.schema.field(name).type

    def _learn(self, name: str, role: str) -> tuple[Column, Distribution]:
        """Learn a feature column and how its values are distributed."""
        stream = self._stream.columns[name]
        if isinstance(stream, NumberStream):
            if role == "numeric":
                return self._learn_numbers(name, stream)
            column, codes, counts = _learn_levels_of_numbers(
                name, role, stream, self._kind(name)
            )
            return column, Distribution.of(codes, counts)
        if isinstance(stream, WordStream):
            return self._learn_words(name, role, stream)
        raise DataError(
            f"Column {name!r} has cells of the type {self._kind(name)}, which are no "
            "feature of a table that is read in parts; store numbers or text, or give "
            "it the role 'ignore'."
        )

    def _learn_words(
        self, name: str, role: str, stream: WordStream
    ) -> tuple[Column, Distribution]:
        """Learn a column of text or truth values, and the number of each word."""
        typed, counts = words_as_cells(name, stream)
        if pd.api.types.is_datetime64_any_dtype(typed.dtype):
            raise DataError(
                f"Column {name!r} has dates, which are no feature of a table that is "
                "read in parts; store them as numbers, or give it the role 'ignore'."
            )
        cells = twice(typed)
        if role == "numeric":
            column, codes, _ = learn_numbers(name, cells, "auto")
        else:
            column, codes = learn_levels(name, cells, role)
        codes = codes[: len(typed)]
        self._codes[name] = pd.Series(codes, typed.index)
        lost = int(counts[np.isnan(codes)].sum())
        self._note_lost(name, lost, "that stand for 'no value'")
        return column, Distribution.of(codes, counts)

    def _learn_numbers(
        self, name: str, stream: NumberStream
    ) -> tuple[Column, Distribution]:
        """Learn a column of numbers; its extremes say which codes stand for a gap."""
        ends = [stream.low, stream.high, stream.rest_low, stream.rest_high]
        column, _, _ = learn_numbers(name, pd.Series([*ends, *stream.codes]), "auto")
        codes = {c: n for c, n in stream.codes.items() if c not in column.missing_codes}
        lost = sum(stream.codes.values()) - sum(codes.values())
        self._note_lost(name, lost, "with a code for 'no value'")
        self._note_lost(name, stream.n_infinite, "with an infinite value")
        if stream.distinct.values is not None and stream.distinct.counts is not None:
            values, counts = stream.distinct.values, stream.distinct.counts
            kept = ~np.isin(values, column.missing_codes)
            return column, Distribution.of(values[kept], counts[kept])
        moments = deepcopy(stream.moments)
        points, n = np.array([*codes]), np.array([*codes.values()], np.int64)
        moments.merge(Moments.of(points, n))
        values, weights = stream.sketch.points()
        extremes = [stream.rest_low, stream.rest_high, *codes]
        return column, Distribution(
            moments,
            np.nanmin(extremes),
            np.nanmax(extremes),
            np.concatenate([values, points]),
            np.concatenate([weights, n]),
            stream.sketch.error,
        )

    def _note_lost(self, name: str, n: int, what: str) -> None:
        if n:
            cells = f"{count(n, 'cell')} {what}, taken as missing"
            self.notes.append(as_note(f"Column {name!r}: {cells}."))

    def _fill(self, column: Column, values: Distribution, n_rows: int) -> float:
        """Fill the gaps of a column; return with what."""
        n_missing = n_rows - values.moments.count
        rule = self.missing if column.role == "numeric" else "most frequent"
        if n_missing and self.missing == "refuse":
            raise DataError(
                f"Column {column.name!r} has {count(n_missing, 'missing value')}; fill "
                "them in, or choose another rule than missing='refuse'."
            )
        quantiles = (n_missing and rule == "median") or self.scale == "robust"
        if quantiles and values.error:
            ranks, rows = values.error, values.moments.count
            note = Note("sketched", repr(column.name), ranks=ranks, rows=rows)
            self.notes.append(note)
        if self.missing == "refuse":
            return np.nan
        value = self._filler(column, rule, values)
        if n_missing:
            sentence = fill_note(column, value, n_missing, n_rows, self.missing)
            self.notes.append(as_note(sentence))
            values.add(value, n_missing)
        return value

    def _filler(self, column: Column, rule: str, values: Distribution) -> float:
        """Return the value that fills the gaps of a column."""
        if rule == "mean":
            return values.moments.mean
        if rule == "median":
            return values.quantile(0.5)
        if values.error:
            raise DataError(
                f"missing is 'most frequent', but column {column.name!r} has more than "
                f"{whole(MOST_DISTINCT)} different numbers; fill with 'median' or "
                "'mean'."
            )
        order = np.argsort(values.values)
        return float(values.values[order][values.weights[order].argmax()])

    def _plain(
        self, columns: list[Column], values: list[Distribution], fills: list[float]
    ) -> dict[str, Any]:
        """Return the rules as plain values, as `preparation_to_plain` does."""
        spread = [
            c.role == "categorical" and self.categorical in SPREAD_RULES
            for c in columns
        ]
        places = [
            (key, list(run))
            for key, run in groupby(range(len(columns)), spread.__getitem__)
        ]
        return {
            "rules": {
                "missing": self.missing,
                "scale": self.scale,
                "categorical": self.categorical,
                "transforms": {},
                "weights": {},
            },
            "columns": [column_to_plain(column) for column in columns],
            "fill values": fills if self.missing in FILLERS else [],
            "level factors": [
                self._factors(column, value).tolist() if is_spread else []
                for column, value, is_spread in zip(
                    columns, values, spread, strict=True
                )
            ],
            "steps": [
                {}
                if is_spread
                else learn_scaling(self.scale, [values[j] for j in some])
                for is_spread, some in places
            ],
            "components": None,
        }

    def _factors(self, column: Column, values: Distribution) -> FloatArray:
        """Factors of the columns of 0 and 1 of a column of levels."""
        n_levels = len(column.levels)
        if self.categorical == "one-hot":
            return np.ones(n_levels)
        codes = values.values.astype(np.int64)
        counts = np.bincount(codes, values.weights, n_levels)
        return np.sqrt(values.moments.count / np.maximum(counts, 1))


def _learn_levels_of_numbers(
    name: str, role: str, stream: NumberStream, kind: pa.DataType
) -> tuple[Column, FloatArray, IntArray]:
    """Learn a column of numeric levels; return it with codes and counts."""
    values, counts = stream.distinct.values, stream.distinct.counts
    if values is None or counts is None:
        raise _too_many(name)
    if pa.types.is_integer(kind) and not stream.n_missing:
        values = values.astype(np.int64)  # as pandas has them: "1", not "1.0"
    column, codes = learn_levels(name, twice(pd.Series(values)), role)
    return column, codes[: len(values)], counts


def words_as_cells(name: str, stream: WordStream) -> tuple[pd.Series, IntArray]:
    """Return the different words of a column as typed cells, and their frequencies.

    The index of the cells holds the words.
    """
    if stream.counts is None:
        raise _too_many(name)
    return type_words(name, stream), np.fromiter(stream.counts.values(), np.int64)


def _too_many(name: str) -> DataError:
    return DataError(
        f"Column {name!r} has more than {whole(MOST_DISTINCT)} different values, too "
        "many for the levels of a feature; give it the role 'ignore', or 'numeric' if "
        "it is stored as numbers."
    )
