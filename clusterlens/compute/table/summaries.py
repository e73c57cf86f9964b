"""Facts and hints about the columns of a table, before its preparation.

Descriptions and hints change nothing; each hint proposes a remedy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute._validation import FloatArray, Frozen, IntArray, check_range
from clusterlens.compute.formatting import count, whole
from clusterlens.compute.table._features import FEATURE_ROLES, shorten
from clusterlens.compute.table.dataset import Dataset, check_dataset

SAMPLE_ROWS = 200_000
FAR = 10.0  # interquartile ranges from the nearer quartile
SKEWED = 2.0
# Other values in at most this share of the rows lie about 10 standard deviations out.
RARE = 0.01

_SHOWN_LEVELS = 12
_TWO = 2  # columns of two values have no tail, even if one of them is rare
_SHORTENED = {
    "log": "their logarithm",
    "log1p": "the logarithm of 1 + value",
    "rank": "their ranks",
}


class TableHint(str):
    """A hint about the table before clustering: a sentence with its subject.

    Attributes
    ----------
    columns : tuple of str
        The columns concerned; empty if the hint is about whole rows.
    rows : tuple
        Row ids of the rows concerned, if any.
    action : dict
        Arguments of `prepare` for the proposed remedy, empty if only the analyst can
        decide.
    """

    columns: tuple[str, ...]
    rows: tuple[Any, ...]
    action: dict[str, Any]

    def __new__(
        cls,
        text: str,
        columns: Sequence[str] = (),
        rows: Iterable[Any] = (),
        action: Mapping[str, Any] | None = None,
    ) -> TableHint:
        """Make the sentence and attach its facts."""
        hint = super().__new__(cls, text)
        hint.columns, hint.rows = tuple(columns), tuple(rows)
        hint.action = dict(action or {})
        return hint


@dataclass(frozen=True, eq=False)
class ColumnSummary(Frozen):
    """One column of a table in a few numbers.

    Parameters
    ----------
    name, role, reason : str
        The column, its role, and the reason for it.
    n_rows : int
        Number of rows of the table.
    n_missing : int
        Exact number of rows without a value.
    n_used : int
        Number of rows behind counts and skewness; below n_rows it is a sample.
    n_distinct : int
        Exact number of different values; -1 if cells cannot be compared.
    counts : array of int64, shape (n_bins,)
        Histogram of numbers and dates, or counts of the most frequent levels.
    edges : array of float64, shape (n_bins + 1,), or None
        Edges of the bins; dates count in days from the first one. None for levels.
    levels : tuple of str
        Names of the levels in `counts`; empty for numbers.
    skewness : float
        Third standardised moment of numbers; NaN for levels.
    hint : str
        A hint with its remedy, or empty.
    transform : str, default ""
        The transform proposed by the hint, as in `prepare`, or empty.
    """

    name: str
    role: str
    reason: str
    n_rows: int
    n_missing: int
    n_used: int
    n_distinct: int
    counts: IntArray
    edges: FloatArray | None
    levels: tuple[str, ...]
    skewness: float
    hint: str
    transform: str = ""

    @property
    def estimated(self) -> bool:
        """Whether counts and skewness come from a sample of the rows."""
        return self.n_used < self.n_rows


def column_summaries(ds: Dataset, n_bins: int = 20) -> tuple[ColumnSummary, ...]:
    """Summarise every column of a table.

    Parameters
    ----------
    ds : Dataset
        Any dataset, prepared or not.
    n_bins : int, default 20
        Bins of a histogram, from 1 to 200.

    Returns
    -------
    summaries : tuple of ColumnSummary
        In the order of the columns.

    Raises
    ------
    ValueError
        If n_bins is out of range.

    Notes
    -----
    Missing and different values are counted in all rows. Above 200,000 rows all else
    comes from that many rows, drawn without replacement with a fixed seed, so that the
    cost is bounded; `estimated` is then true.

    Examples
    --------
    >>> from clusterlens.compute.table.dataset import make_dataset
    >>> ds = make_dataset({"size": [1.0, 2.0, 9.0, None], "colour": list("abab")})
    >>> [(s.name, s.counts.tolist(), s.n_missing) for s in column_summaries(ds, 2)]
    [('size', [2, 1], 1), ('colour', [2, 2], 0)]
    """
    check_range(n_bins, 1, 200, name="n_bins", integer=True)
    n = len(check_dataset(ds).table)
    rows = np.arange(n)
    if n > SAMPLE_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(n, SAMPLE_ROWS, replace=False))
    return tuple(_summary(ds, name, rows, n_bins) for name in ds.table.columns)


def table_hints(ds: Dataset) -> tuple[TableHint, ...]:
    """List hints before clustering: copies, constants, far values.

    Parameters
    ----------
    ds : Dataset
        Any dataset, prepared or not.

    Returns
    -------
    hints : tuple of TableHint
        One sentence each, with its remedy, its columns, its rows and the arguments of
        `prepare` for the remedy; nothing is changed.

    Notes
    -----
    A value is far if it lies more than 10 interquartile ranges beyond a quartile, in a
    column of numbers. A column of numbers is nearly constant if at most 1% of its rows
    have another value than the others. Linear in the number of cells.

    Examples
    --------
    >>> from clusterlens.compute.table.dataset import make_dataset
    >>> ds = make_dataset({"a": [1.0, 1.0, 2.0], "b": [3.0, 3.0, 5.0]})
    >>> hint = table_hints(ds)[0]
    >>> hint[:28], hint.rows, hint.action
    ('1 exact copy of earlier rows', (1,), {'copies': 'once'})
    """
    ds = check_dataset(ds)
    features = [name for name, role in ds.roles.items() if role in FEATURE_ROLES]
    hints = []
    if features:
        copies = ds.table.index[ds.table[features].duplicated()]
        if len(copies):
            text = (
                f"{count(len(copies), 'exact copy', 'exact copies')} of earlier rows, "
                "in all features: each counts as a sample of its own, unless every row "
                "is used once."
            )
            hints.append(TableHint(text, rows=copies, action={"copies": "once"}))
    constant = [name for name in features if ds.facts[name].n_distinct <= 1]
    constant += [
        name
        for name, role in ds.roles.items()
        if role == "ignore" and ds.facts[name].n_distinct == 1
    ]
    if constant:
        text = (
            f"{count(len(constant), 'column')} without variation: {shorten(constant)}; "
            "they tell nothing and are left out."
        )
        hints.append(TableHint(text, constant))
    for name in features:
        if ds.roles[name] == "numeric":
            numbers = ds.facts[name].numbers
            numbers = np.where(np.isin(numbers, _codes(ds, name)), np.nan, numbers)
            hints += _rare_values(name, ds.table.index, numbers)
            hints += _far_values(name, ds.table.index, numbers)
    return tuple(hints)


def _summary(ds: Dataset, name: str, rows: IntArray, n_bins: int) -> ColumnSummary:
    """Summarise one column from some of its rows."""
    facts, role = ds.facts[name], ds.roles[name]
    values = facts.values.iloc[rows]
    edges: FloatArray | None = None
    levels: tuple[str, ...] = ()
    counts: IntArray = np.zeros(0, dtype=np.int64)
    skewness, hint, transform = np.nan, "", ""
    if facts.kind == "other":
        pass  # cells that cannot be compared
    elif role == "numeric" or (
        facts.kind in ("number", "date")
        and role not in ("categorical", "ordinal", "label")
    ):
        numbers = facts.numbers[rows]
        numbers = numbers[np.isfinite(numbers)]
        counts, edges = _histogram(numbers, n_bins)
        numbers = numbers[~np.isin(numbers, _codes(ds, name))]
        skewness = _skewness(numbers)
        if role == "numeric" and abs(skewness) > SKEWED and facts.n_distinct > _TWO:
            transform = _shortening(numbers, skewness)
            hint = _skewness_hint(transform, skewness)
    else:
        shown = values.value_counts()
        levels = tuple(map(str, shown.index[:_SHOWN_LEVELS]))
        counts = shown.to_numpy(dtype=np.int64)[:_SHOWN_LEVELS]
    return ColumnSummary(
        name=str(name),
        role=role,
        reason=ds.role_reasons[name],
        n_rows=len(facts.values),
        n_missing=facts.n_missing,
        n_used=len(rows),
        n_distinct=facts.n_distinct,
        counts=counts,
        edges=edges,
        levels=levels,
        skewness=skewness,
        hint=hint,
        transform=transform,
    )


def _codes(ds: Dataset, name: str) -> tuple[float, ...]:
    """Values of a column that a prepared dataset treats as missing."""
    if ds.prepared is None:
        return ()
    encoders = ds.preparation.encoders_
    return next((one.missing_codes for one in encoders if one.name == name), ())


def _skewness(numbers: FloatArray) -> float:
    """Skewness of numbers (m,), 0 if they are all equal."""
    if numbers.size == 0:
        return np.nan
    with np.errstate(all="ignore"):
        shifted = numbers - numbers.mean()
        spread = shifted.std()
        return float(np.mean((shifted / spread) ** 3)) if spread > 0 else 0.0


def _histogram(numbers: FloatArray, n_bins: int) -> tuple[IntArray, FloatArray | None]:
    """Return counts and edges of numbers (m,)."""
    if numbers.size == 0:
        return np.zeros(0, dtype=np.int64), None
    with np.errstate(all="ignore"):
        low, high = numbers.min(), numbers.max()
        if not np.isfinite(high - low) or np.spacing(
            max(abs(low), abs(high))
        ) * n_bins > (high - low):
            return np.array([numbers.size]), np.array([low, high])
        counts, edges = np.histogram(numbers, bins=n_bins)
    return counts, edges


def _shortening(numbers: FloatArray, skewness: float) -> str:
    """Return the transform that shortens a long tail of numbers (m,)."""
    if skewness < 0 or numbers.min() <= -1:
        return "rank"
    return "log" if numbers.min() > 0 else "log1p"


def _skewness_hint(transform: str, skewness: float) -> str:
    """Describe a long tail and its remedy."""
    side = "right" if skewness > 0 else "left"
    return (
        f"Long tail to the {side} (skewness {skewness:.1f}): a few "
        f"rows decide the distances; {_SHORTENED[transform]} in place of the values "
        "would shorten it."
    )


def _rare_values(name: str, ids: pd.Index, numbers: FloatArray) -> list[TableHint]:
    """Name the rows of a nearly constant column of numbers that have another value."""
    present = np.flatnonzero(np.isfinite(numbers))
    if not present.size:
        return []
    finite = numbers[present]
    usual = np.partition(finite, finite.size // 2)[finite.size // 2]
    rare = present[finite != usual]
    if not 0 < rare.size <= RARE * finite.size:
        return []
    n_usual = whole(finite.size - rare.size)
    these = "this row lies" if rare.size == 1 else "these rows lie"
    text = (
        f"Column {name!r}: {n_usual} of {count(finite.size, 'row')} have "
        f"{usual:.6g}, but for {_listed(ids, numbers, rare)}: once "
        f"scaled, {these} far from all others. Correct the values, or leave the "
        "column out."
    )
    return [TableHint(text, [name], ids[rare])]


def _listed(ids: pd.Index, numbers: FloatArray, rows: IntArray) -> str:
    """List the first rows with their values."""
    shown = [f"{ids[j]} ({numbers[j]:.6g})" for j in rows[:3]]
    more = f" and {whole(rows.size - 3)} more" if rows.size > 3 else ""
    return f"{', '.join(shown)}{more}"


def _far_values(name: str, ids: pd.Index, numbers: FloatArray) -> list[TableHint]:
    """Name the values of a column of numbers that lie far from all others."""
    finite = numbers[np.isfinite(numbers)]
    if finite.size < 4:
        return []
    # Values so large that their distances overflow are not far from each other.
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = np.quantile(finite, [0.25, 0.75])
        reach = FAR * (high - low)
        lowest, highest = low - reach, high + reach
    if not 0 < reach < np.inf:
        return []
    far = np.flatnonzero((numbers < lowest) | (numbers > highest))
    if far.size == 0:
        return []
    text = (
        f"Column {name!r}: {count(far.size, 'value')} far from the others, rows "
        f"{_listed(ids, numbers, far)}: correct them, take them as codes for "
        "'no value', or use the ranks of the column in place of its values."
    )
    action = {"transforms": {name: "rank"}}
    return [TableHint(text, [name], ids[far], action)]
