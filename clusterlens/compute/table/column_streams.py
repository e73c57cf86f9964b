"""Facts of columns that are read some rows at a time, in constant memory.

The facts of consecutive parts of a column add up to the facts of the whole: numbers of
cells, extremes, moments, distinct values up to a limit, and quantiles with a known
error.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.table._features import SENTINELS
from clusterlens.compute.table.quantiles import QuantileSketch

# Different values of a column that are kept with their counts.
MOST_DISTINCT = 100_000
_CODES = np.array(sorted(SENTINELS))


@dataclass
class Moments:
    """Number, mean and sum of squared deviations of values.

    Notes
    -----
    Parts are merged as by Chan, Golub and LeVeque (1983), without cancellation.
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, values: FloatArray, weights: IntArray | None = None) -> Moments:
        """Return the moments of values (n,), each as often as its weight says."""
        count = len(values) if weights is None else int(weights.sum())
        if not count:
            return cls()
        with np.errstate(over="ignore"):  # of values that are refused later
            mean = float(np.average(values, weights=weights))
            squares = (values - mean) ** 2
            total = squares.sum() if weights is None else (squares * weights).sum()
        return cls(count, mean, float(total))

    def merge(self, other: Moments) -> None:
        """Add the moments of other values."""
        count = self.count + other.count
        if not count:
            return
        step = other.mean - self.mean
        between = step * (self.count / count)  # first, as squares may be infinite
        self.squares += other.squares + between * step * other.count
        self.mean += step * (other.count / count)
        self.count = count


@dataclass
class DistinctValues:
    """Different values and how often each occurs; both are None beyond the limit."""

    values: FloatArray | None = field(default_factory=lambda: np.empty(0))
    counts: IntArray | None = field(default_factory=lambda: np.empty(0, np.int64))

    def add(self, values: FloatArray, counts: IntArray) -> None:
        """Add different values (k,) that occur so often."""
        if self.values is None or self.counts is None:
            return
        both = np.concatenate([self.values, values])
        self.values, places = np.unique(both, return_inverse=True)
        sums = np.bincount(places, np.concatenate([self.counts, counts]))
        self.counts = sums.astype(np.int64)
        if len(self.values) > MOST_DISTINCT:
            self.values = self.counts = None


class NumberStream:
    """Facts of a column of numbers; NaN and infinite values are no numbers.

    Attributes
    ----------
    n_rows, n_missing, n_infinite : int
        Cells, those without a value, and infinite ones.
    low, high : float
        Extremes, NaN where there is no number.
    moments, sketch : Moments, QuantileSketch
        Of the numbers but for the codes in `codes`.
    codes : dict of float to int
        How often each number occurs that may stand for a missing value.
    distinct : DistinctValues
        Numbers, codes among them.
    whole : bool
        Whether all are whole numbers.
    n_rising : int
        Cells that are one more than the one before them.
    """

    def __init__(self) -> None:
        self.n_rows = self.n_missing = self.n_infinite = self.n_rising = 0
        self.low = self.high = self.rest_low = self.rest_high = np.nan
        self.moments, self.sketch = Moments(), QuantileSketch()
        self.codes: dict[float, int] = {}
        self.distinct = DistinctValues()
        self.whole = True
        self.ends: tuple[float, float] | None = None

    def add(self, column: pa.ChunkedArray) -> None:
        """Add cells (n,) of a type of numbers."""
        cells = pc.cast(column, pa.float64(), safe=False)
        values = cells.to_numpy().astype(np.float64, copy=False)
        if len(values):
            self.merge(_numbers_of(values, self.distinct.values is not None))

    def merge(self, other: NumberStream) -> None:
        """Add the facts of the cells that follow."""
        if other.ends is not None:
            joins = self.ends is not None and other.ends[0] - self.ends[1] == 1
            self.n_rising += other.n_rising + bool(joins)
            first = other.ends[0] if self.ends is None else self.ends[0]
            self.ends = (first, other.ends[1])
        self.n_rows += other.n_rows
        self.n_missing += other.n_missing
        self.n_infinite += other.n_infinite
        self.low, self.high = (
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
        )
        self.rest_low = np.fmin(self.rest_low, other.rest_low)
        self.rest_high = np.fmax(self.rest_high, other.rest_high)
        self.moments.merge(other.moments)
        self.sketch.merge(other.sketch)
        for code, n in other.codes.items():
            self.codes[code] = self.codes.get(code, 0) + n
        if other.distinct.values is None or other.distinct.counts is None:
            self.distinct = other.distinct
        else:
            self.distinct.add(other.distinct.values, other.distinct.counts)
        self.whole = self.whole and other.whole


def _numbers_of(values: FloatArray, count_distinct: bool) -> NumberStream:
    """Return the facts of some cells (n,), with their distinct values on request."""
    made = NumberStream()
    if not count_distinct:
        made.distinct = DistinctValues(None, None)
    made.n_rows, made.ends = len(values), (values[0], values[-1])
    with np.errstate(invalid="ignore"):  # infinite ones that follow each other
        made.n_rising = int((np.diff(values) == 1).sum())
    made.n_missing = int(np.isnan(values).sum())
    made.n_infinite = int(np.isinf(values).sum())
    known = values[np.isfinite(values)]
    if not len(known):
        return made
    made.low, made.high = known.min(), known.max()
    made.whole = bool((known == np.floor(known)).all())
    is_code = np.isin(known, _CODES)
    codes, counts = np.unique(known[is_code], return_counts=True)
    made.codes = dict(zip(codes.tolist(), counts.tolist(), strict=True))
    ordinary = known[~is_code] if len(codes) else known
    if len(ordinary):
        made.rest_low, made.rest_high = ordinary.min(), ordinary.max()
    made.moments = Moments.of(ordinary)
    made.sketch.add(ordinary)
    if count_distinct:
        made.distinct.add(*np.unique(known, return_counts=True))
    return made


class WordStream:
    """Facts of a column of text or truth values.

    Attributes
    ----------
    n_rows, n_missing : int
        Cells, and those without a value.
    counts : dict or None
        How often each value occurs; None if there are more than 100,000.
    """

    def __init__(self) -> None:
        self.n_rows = self.n_missing = 0
        self.counts: dict[str | bool, int] | None = {}

    def add(self, column: pa.ChunkedArray) -> None:
        """Add cells (n,) of text or truth values."""
        made = WordStream()
        made.n_rows, made.n_missing = len(column), column.null_count
        found = pc.value_counts(column.drop_null())
        if len(found) > MOST_DISTINCT or self.counts is None:
            made.counts = None
        else:
            pairs = zip(*(found.field(k).to_pylist() for k in (0, 1)), strict=True)
            made.counts = dict(pairs)
        self.merge(made)

    def merge(self, other: WordStream) -> None:
        """Add the facts of other cells."""
        self.n_rows += other.n_rows
        self.n_missing += other.n_missing
        if self.counts is None or other.counts is None:
            self.counts = None
            return
        for word, n in other.counts.items():
            self.counts[word] = self.counts.get(word, 0) + n
        if len(self.counts) > MOST_DISTINCT:
            self.counts = None


class OtherStream:
    """Cells of a kind that is no feature: dates, lists, bytes; they are counted."""

    def __init__(self) -> None:
        self.n_rows = self.n_missing = 0

    def add(self, column: pa.ChunkedArray) -> None:
        """Add cells (n,)."""
        self.n_rows += len(column)
        self.n_missing += column.null_count

    def merge(self, other: OtherStream) -> None:
        """Add the facts of other cells."""
        self.n_rows += other.n_rows
        self.n_missing += other.n_missing


ColumnStream = NumberStream | WordStream | OtherStream


def column_stream(kind: pa.DataType) -> ColumnStream:
    """Return an empty stream for cells of a type of Arrow."""
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    if any(is_kind(kind) for is_kind in numbers):
        return NumberStream()
    texts = (pa.types.is_boolean, pa.types.is_string, pa.types.is_large_string)
    if any(is_kind(kind) for is_kind in texts):
        return WordStream()
    return OtherStream()


class TableStream:
    """Facts of all columns of a table, gathered some rows at a time.

    Parameters
    ----------
    schema : Schema
        Names and types of the columns.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema, self.n_rows = schema, 0
        self.columns = {f.name: column_stream(f.type) for f in schema}

    def add(self, table: pa.Table) -> None:
        """Add rows with the columns of the schema."""
        self.n_rows += table.num_rows
        for name, stream in self.columns.items():
            stream.add(table[name])

    def merge(self, other: TableStream) -> None:
        """Add the facts of the rows that follow."""
        self.n_rows += other.n_rows
        for name, stream in self.columns.items():
            stream.merge(other.columns[name])  # type: ignore[arg-type]
