"""Features of parts of a table, as the whole table would have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from clusterlens.compute._plain import Record
from clusterlens.compute._validation import FloatArray
from clusterlens.compute.table._features import FILLERS, Column
from clusterlens.compute.table.plain_preparation import (
    preparation_from_plain,
    preparation_to_plain,
)
from clusterlens.compute.table.preparation import Preparation


class RowEncoder:
    """A preparation of a whole table, for parts of that table.

    Parameters
    ----------
    preparation : Preparation
        Fitted on all rows.
    codes : mapping of str to Series
        For each column of text in use, the number that every word of it stands for, NaN
        for a missing value. A part alone does not tell whether "7" is a number.
    """

    def __init__(
        self, preparation: Preparation, codes: Mapping[str, pd.Series]
    ) -> None:
        self.preparation, self.codes = preparation, codes

    @property
    def columns(self) -> list[str]:
        """Names of the columns that are read."""
        return [column.name for column in self.preparation.columns_]

    def values(self, table: pa.Table) -> FloatArray:
        """Return the cells of the columns that are read as numbers, in their own units.

        Parameters
        ----------
        table : Table
            Rows with the columns that are read, among others.

        Returns
        -------
        values : array of float64, shape (n_rows, n_columns)
            Numbers and positions of levels, NaN where a value is missing.
        """
        return encode_cells(table, self.preparation.columns_, self.codes)

    def features(self, table: pa.Table) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Return the features of rows, and which rows have any.

        Parameters
        ----------
        table : Table
            Rows with the columns that are read, among others.

        Returns
        -------
        X : array of float64, shape (n_kept, n_features)
            Finite features.
        kept : array of bool, shape (n_rows,)
            Which rows have them; the others have no value in any column.
        """
        values = self.values(table)
        absent = np.isnan(values)
        fills = self.preparation.missing in FILLERS
        gone = absent.all(axis=1) if fills else absent.any(axis=1)
        kept = np.asarray(~gone)
        if not kept.any():
            return np.empty((0, len(self.preparation.get_feature_names_out()))), kept
        return self.preparation.transform_encoded(values[kept]), kept

    def to_plain(self) -> dict[str, Any]:
        """Return texts, numbers, lists and dicts of them, for `from_plain`."""
        return {
            "preparation": preparation_to_plain(self.preparation),
            "words": [
                {
                    "column": name,
                    "words": list(codes.index),
                    "codes": [None if np.isnan(code) else code for code in codes],
                }
                for name, codes in self.codes.items()
            ],
        }

    @classmethod
    def from_plain(cls, plain: Record) -> Self:
        """Return the encoder that `to_plain` has written.

        Parameters
        ----------
        plain : Record
            Values of `to_plain`.

        Returns
        -------
        encoder : RowEncoder
            It gives the same features.
        """
        codes = {
            part.text("column"): pd.Series(
                np.array(part.entries("codes"), np.float64),
                pd.Index(part.texts("words"), dtype="str"),
            )
            for part in plain.parts("words")
        }
        return cls(preparation_from_plain(plain.part("preparation")), codes)


def encode_cells(
    table: pa.Table, columns: Sequence[Column], codes: Mapping[str, pd.Series]
) -> FloatArray:
    """Return the cells of columns as numbers, (n, c); NaN where a value is missing."""
    values = np.empty((table.num_rows, len(columns)), order="F")
    if not len(values):
        return values
    for j, column in enumerate(columns):
        cells = table[column.name]
        if column.name in codes:
            words = cells.cast(pa.large_string()).to_pandas()
            values[:, j] = codes[column.name].reindex(words.to_numpy())
        else:
            numbers = cells.cast(pa.float64(), safe=False).to_pandas()
            values[:, j] = column.encode(numbers, "missing")[0]
    return values
