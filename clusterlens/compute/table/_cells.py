"""Conversion of cells to values: numbers, dates and missing values.

Text is converted as a whole column or not at all, so that no cell of the table is lost:
a column that is not entirely numeric stays text, and `to_numbers` decides later which
of its cells are numbers. Arrow casts long columns; only columns that Arrow cannot cast
are examined word by word, once per distinct word.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from clusterlens.compute._run.options import DEFAULT_RUN, RunOptions
from clusterlens.compute._validation import DataError, as_pandas
from clusterlens.compute.formatting import count, whole
from clusterlens.compute.notes import Note
from clusterlens.compute.table._names import is_id_name
from clusterlens.compute.table._plain_numbers import (
    is_text,
    to_arrow,
    type_plain_numbers,
)
from clusterlens.compute.table._units import is_bare_unit

# Words that always mean "missing", and words that do so only among numbers ("none" and
# "unknown" can be real categories).
_ANYWHERE = (
    r"? na n/a n.a. nan -nan null \n <na> "
    "#n/a #value! #div/0! #num! #ref! #name? #null! #spill! #calc! #error! "
    "#nv #wert! #bezug! #zahl! #überlauf! #kalk! #valeur! #nombre! #nom? #nul! #n/d "
    "#¡valor! #¡div/0! #¡num! #¡ref! #¿nombre? #¡nulo! #valore! #rif! #nome? #nullo! "
    "#valor! #núm! #nulo! #n/b #waarde! #verw! #getal! #naam? #leeg! #deel/0! #n/d! "
    "#arg! #adr! #liczba! #nazwa? #zero! #dziel/0! #saknas! #värdefel! #referens! "
    "#ogiltigt! #namn? #i/t #værdi! #reference! #navn? #н/д #знач! #ссылка! #число! "
    "#имя? #пусто! #дел/0! #yok #değer! #başv! #sayi! #ad? "
    "1.#qnan -1.#qnan 1.#snan 1.#ind -1.#ind nan(ind) -nan(ind)"
)  # of which those with # are errors of spreadsheets, in their languages, and of C
_AMONG_NUMBERS = (
    "- -- --- . .. ... : * none nil missing unknown nd n.d. n.d (null) – — nat "
    ".a .b .c .d .e .f .g .h .i .j .k .l .m .n .o .p .q .r .s .t .u .v .w .x .y .z ._"
)  # of which .a to .z and ._ are kinds of missing values in SAS and Stata
MISSING_WORDS = frozenset(_ANYWHERE.split())
MISSING_NUMBERS = MISSING_WORDS | frozenset(_AMONG_NUMBERS.split())
LIST_LIMIT = 5_000  # largest number of columns made from a column of lists
_TRIED = 1000
_FEW = 1000  # below so many words, those of Python take less time than those of Arrow
_NAMED = 5
GROUPING = " '\u2019\u00a0\u2007\u2009\u202f"
_PLAIN = r"[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|(?i:inf(?:inity)?))"
_FIRST_GROUP = r"[1-9]\d{0,2}"  # before thousands; 0,345 is a fraction
_SIGN_OF_NUMBER = r"\d|(?i:inf)"  # in every number of any style
_CLOCK = r"[ Tt]\d{2}(?::?\d{2}(?::?\d{2}(?:[.,]\d{1,9})?)?)?"
_UTC = r"\s?(?:[zZ]|UTC|GMT)"
_ZONE = rf"(?:{_UTC}|\s?[+-]\d{{2}}(?::?\d{{2}})?)"
ISO_DATE = rf"\d{{4}}-\d{{2}}-\d{{2}}(?:{_CLOCK}{_ZONE}?)?"
_FORTRAN = r"[+-]?(?:\d+\.\d*|\.\d+)[dD][+-]?\d{1,3}"
_LONG_NUMBER = r"[+-]?\d{16,}"
_DIGITS_WITH_E = r"\d{2,}[eE]\d+"
MONEY = (
    r"(?:[A-Z]{0,2}[$£¥￥]|[¢€฿元円원\u20a0-\u20bf]|Kč|[Kk]r\.?|zł|Ft|Fr\.?|lei|AED|ARS|"
    r"AUD|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EGP|EUR|[Ee]uros?|GBP|HKD|HUF|IDR|ILS|INR|JPY|"
    r"KRW|MXN|MYR|NOK|NZD|PEN|PHP|PKR|PLN|RM|RMB|RON|Rp|Rs\.?|RUB|руб\.?|SAR|SEK|SGD|THB|"
    r"TRY|TWD|UAH|USD|VND|ZAR)"
)
_DASHES = "\u2212\u2013\ufe63\uff0d"  # that are typed as minus signs
# Four numbers of an address in a network, not a number with points between thousands.
_BYTE = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
ADDRESS = rf"{_BYTE}(?:\.{_BYTE}){{3}}"
_ANY_DIGIT = re.compile(r"\d")
MEASURED = re.compile(
    r"(?P<value>[+-]?[\d.,]*+(?<=\d))(?P<gap>\s?)(?P<unit>[^\d\s.,+-].{0,29})",
    re.DOTALL,
)
_UNIT = re.compile(rf"^[+-]?\s?(?P<front>{MONEY})|(?P<behind>{MONEY}|%)-?$")


@dataclass(frozen=True)
class NumberStyle:
    """A way to write numbers: pattern, grouping character and decimal mark."""

    name: str
    pattern: str
    grouping: str = ""
    decimal: str = "."

    def parse(self, words: pd.Series) -> pd.Series:
        """Turn words of this style into float64."""
        for mark in self.grouping:
            words = words.str.replace(mark, "", regex=False)
        if self is FORTRAN:
            words = words.str.replace("[dD]", "e", regex=True)
        return words.str.replace(self.decimal, ".", regex=False).astype(np.float64)


PLAIN = NumberStyle("plain", _PLAIN)
COMMA_GROUPS = NumberStyle(
    "commas between thousands",
    rf"{_PLAIN}|[+-]?(?:{_FIRST_GROUP}|[1-9]\d?(?:,\d{{2}})+)(?:,\d{{3}})+(?:\.\d+)?",
    grouping=",",
)
POINT_GROUPS = NumberStyle(
    "points between thousands",
    rf"[+-]?(?:0|{_FIRST_GROUP}(?:\.\d{{3}})*)",
    grouping=".",
)
COMMA_DECIMAL = NumberStyle(
    "decimal comma",
    rf"[+-]?(?=[\d,])(?:\d+|{_FIRST_GROUP}(?:\.\d{{3}})+|)(?:,\d+)?(?:[eE][+-]?\d+)?(?<=\d)",
    grouping=".",
    decimal=",",
)
SPACE_GROUPS = NumberStyle(
    "blanks between thousands",
    rf"{_PLAIN}|[+-]?{_FIRST_GROUP}(?:[{GROUPING}]\d{{3}})+(?:\.\d+)?",
    grouping=GROUPING,
)
SPACE_GROUPS_COMMA = NumberStyle(
    "blanks between thousands and decimal comma",
    rf"[+-]?(?:\d+|{_FIRST_GROUP}(?:[{GROUPING}]\d{{3}})+)(?:,\d+)?",
    grouping=GROUPING,
    decimal=",",
)
FORTRAN = NumberStyle("D before exponents, as Fortran writes", rf"{_PLAIN}|{_FORTRAN}")
# "1,234" alone is ambiguous: the first style that fits all cells wins.
STYLES = (
    PLAIN,
    COMMA_GROUPS,
    COMMA_DECIMAL,
    SPACE_GROUPS,
    SPACE_GROUPS_COMMA,
    FORTRAN,
)
_COMMA_FIRST = (
    PLAIN,
    COMMA_DECIMAL,
    SPACE_GROUPS_COMMA,
    COMMA_GROUPS,
    SPACE_GROUPS,
    FORTRAN,
)


def plain_frame(table: Any, name: str) -> tuple[pd.DataFrame, list[str]]:
    """Return a copy with distinct text column names and a unique index.

    Columns of lists of numbers become a column for each position of the list.
    """
    try:
        frame = as_pandas(pd.DataFrame(as_pandas(table))).copy(deep=False)
    except (ValueError, TypeError) as error:
        raise DataError(
            f"Table {name!r} cannot be read as rows and columns ({error}); give a "
            "DataFrame or a two-dimensional array."
        ) from error
    if 0 in frame.shape:
        raise DataError(
            f"Table {name!r} has {frame.shape[0]} rows and {frame.shape[1]} columns; "
            "give at least one of each."
        )
    notes: list[str] = []
    if isinstance(frame.columns, pd.RangeIndex):
        frame.columns = [f"column {j}" for j in range(1, frame.shape[1] + 1)]
    frame.columns = pd.Index(_column_names(list(frame.columns), notes))
    if frame.index.nlevels > 1 or not frame.index.is_unique or frame.index.hasnans:
        repeated = frame.index[frame.index.duplicated()]
        first = str(repeated[0]) if frame.index.nlevels == 1 and len(repeated) else ""
        notes.append(Note("rows numbered", first))
        frame = frame.reset_index(drop=True)
    return _spread_lists(frame, notes), notes


def type_columns(
    frame: pd.DataFrame,
    *,
    decimal_comma: bool = False,
    identifiers: Collection[str] = (),
    run: RunOptions = DEFAULT_RUN,
) -> tuple[pd.DataFrame, list[str]]:
    """Give every column of (n, d) cells its type, and return notes on changes.

    Text stays text in the columns `identifiers`, and in columns named as such, unless
    it is whole numbers. `run` gets the progress by column, and may stop.
    """
    columns, notes = {}, []
    plain = type_plain_numbers(frame, fractions=not decimal_comma, run=run)
    for done, name in enumerate(frame.columns, start=1):
        run.raise_if_cancelled()
        is_identifier = name in identifiers or is_id_name(name)
        if name in plain and not (is_identifier and plain[name].dtype.kind == "f"):
            columns[name] = plain[name]
        else:
            columns[name], remarks = _type_column(
                frame[name], decimal_comma=decimal_comma, is_identifier=is_identifier
            )
            notes += [f"Column {name!r}: {remark}." for remark in remarks]
        run.report(done, frame.shape[1])
    return pd.DataFrame(columns, index=frame.index, columns=frame.columns), notes


def type_text(
    text: pa.Array | pa.ChunkedArray,
    *,
    decimal_comma: bool = False,
    is_identifier: bool = False,
) -> tuple[pd.Series, list[str]]:
    """Read text cells (n,) as numbers, else dates, else words; with remarks.

    Identifiers are whole numbers or words.
    """
    trimmed = pc.utf8_trim_whitespace(text)
    trimmed = pc.if_else(pc.equal(trimmed, ""), None, trimmed)
    if trimmed.null_count == len(trimmed):
        return pd.Series(np.full(len(trimmed), np.nan)), []
    points = decimal_comma and pc.any(pc.match_substring(trimmed, ".")).as_py()
    numbers = None if points else _cast(trimmed)
    if is_identifier and numbers is not None and numbers.dtype.kind == "f":
        numbers = None
    if numbers is not None:
        return numbers, _not_numbers(trimmed, numbers)
    codes, distinct = pd.factorize(_to_series(trimmed))
    words = _distinct_words(distinct)
    counts = np.bincount(codes[codes >= 0], minlength=len(words))
    values, remarks = (
        (None, []) if is_identifier else _numbers_or_dates(words, counts, decimal_comma)
    )
    if values is None:
        values, remarks = _words(words, counts)
        if decimal_comma and not is_identifier:
            values, pointed = _without_points(values)
            if pointed.any():
                cells = count(int(counts[pointed].sum()), "cell")
                remarks.append(f"points between thousands left out of {cells}")
        padded = int(pc.sum(pc.not_equal(trimmed, text)).as_py() or 0)
        if padded:
            remarks.append(f"blanks around the text removed in {count(padded, 'cell')}")
    return values.reindex(codes).reset_index(drop=True), remarks


def may_hold_text(dtype: Any) -> bool:
    """Check whether cells of a dtype are text, or objects that may be."""
    return pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype)


def to_numbers(values: pd.Series, first_day: pd.Timestamp | None = None) -> pd.Series:
    """Return float64 (n,); cells that are not numbers become NaN.

    Dates become days since the first day, by default the earliest date.
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.cat.categories.dtype)
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        start: Any = values.min() if first_day is None else first_day
        return (values - start) / pd.Timedelta(days=1)
    if pd.api.types.is_timedelta64_dtype(values.dtype):
        return values.dt.total_seconds() / 86_400
    if pd.api.types.is_numeric_dtype(values.dtype):
        array = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return pd.Series(array, index=values.index)
    codes, distinct = pd.factorize(values.astype("str").str.strip())
    words = _distinct_words(distinct)
    if not words.str.contains(_SIGN_OF_NUMBER).any():
        return pd.Series(np.nan, index=values.index)
    numbers = _best_style_numbers(words)
    return numbers.reindex(codes).set_axis(values.index)


def amount_remarks(numbers: pd.Series) -> list[str]:
    """Name signs that `to_numbers` treats as part of numbers in text (n,)."""
    return _amounts(pd.Series(pd.unique(numbers), dtype="str").str.strip())[1]


def _column_names(given: Sequence[Any], notes: list[str]) -> list[str]:
    """Turn names into text; number empty and repeated ones, with a note."""
    texts = [
        " / ".join(str(part) for part in n if part != "") if isinstance(n, tuple) else n
        for n in given
    ]
    given_texts = ["" if pd.isna(text) else str(text) for text in texts]
    texts = [text.strip() for text in given_texts]
    padded = [
        g for g, text in zip(given_texts, texts, strict=True) if text not in ("", g)
    ]
    if padded:
        shown = ", ".join(map(repr, padded[:_NAMED])) + ", …" * (len(padded) > _NAMED)
        notes.append(f"Blanks around the names of columns removed: {shown}.")
    names: dict[str, None] = {}  # a dictionary keeps the order and is fast to search
    for position, text in enumerate(texts, start=1):
        wanted = text or f"unnamed column {position}"
        free, count = wanted, 1
        while free in names or (free != text and free in texts):
            count += 1
            free = f"{wanted} ({count})"
        if free != text:
            what = "repeats a name" if text else "has no name"
            notes.append(f"Column {position} {what}; it is called {free!r}.")
        names[free] = None
    return list(names)


def _spread_lists(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Replace each column of number lists of equal length by a column per position."""
    blocks = {}
    for name in frame.columns[[_may_hold_lists(dtype) for dtype in frame.dtypes]]:
        cells = _plain_dtype(frame[name]).dropna()
        if (
            not len(cells)
            or not _is_list(cells.iloc[0])
            or not cells.map(_is_list).all()
        ):
            continue
        sizes = cells.map(len)
        one_length = 2 <= sizes.min() == sizes.max() <= LIST_LIMIT
        numbers = _stacked(cells) if one_length else None
        if numbers is None:
            notes.append(
                f"Column {name!r} holds lists of {sizes.min()} to {sizes.max()} "
                "entries and is no feature; only lists of numbers, all of one length "
                f"from 2 to {whole(LIST_LIMIT)}, become columns."
            )
            continue
        names = [f"{name} {place}" for place in range(1, numbers.shape[1] + 1)]
        notes.append(
            f"Column {name!r}: lists of {whole(len(names))} numbers became the "
            f"columns {names[0]!r} to {names[-1]!r}."
        )
        block = pd.DataFrame(numbers, index=cells.index, columns=names)
        blocks[name] = block.reindex(frame.index)
    if not blocks:
        return frame
    parts = [blocks.get(name, frame[[name]]) for name in frame.columns]
    spread = pd.concat(parts, axis=1)
    spread.columns = pd.Index(_column_names(list(spread.columns), notes))
    return spread


def _may_hold_lists(dtype: Any) -> bool:
    """Check whether cells of a dtype can be lists."""
    return pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.ArrowDtype)


def _is_list(cell: Any) -> bool:
    return isinstance(cell, list | tuple) or getattr(cell, "ndim", 0) == 1


def _stacked(lists: pd.Series) -> np.ndarray[Any, Any] | None:
    """Return lists (n,) of equal length as rows of numbers; None if they hold none."""
    try:
        block = np.array(lists.tolist())
        block = block if block.dtype.kind in "iuf" else block.astype(np.float64)
    except (ValueError, TypeError):
        return None
    return block if block.ndim == 2 and block.size else None


def _type_column(values: pd.Series, **options: bool) -> tuple[pd.Series, list[str]]:
    """Type one column of any pandas dtype, with the options of `type_text`."""
    values = _plain_dtype(values)
    if is_text(values.dtype):
        typed, remarks = type_text(to_arrow(values), **options)
        return typed.set_axis(values.index), remarks
    if values.dtype != object:
        return values, []
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if kind == "empty":
        return pd.Series(np.full(len(values), np.nan), index=values.index), []
    if kind == "boolean":
        return values.astype("boolean"), []
    if kind in {"datetime", "datetime64", "date"}:
        return _dates_or_same(values), []
    if kind in {"integer", "floating", "mixed-integer-float", "decimal"}:
        numbers = pd.to_numeric(values)
        if kind == "integer" and numbers.dtype.kind == "f":
            return values.astype("Int64"), []
        if numbers.dtype.kind in "iuf":
            return numbers, []
    if not values.map(lambda cell: pd.api.types.is_scalar(cell)).all():
        return values, []
    if kind == "bytes":
        return values, []
    texts = values.where(values.isna(), values.map(str)).astype("str")
    return _type_column(texts, **options | {"decimal_comma": False})


def _plain_dtype(values: pd.Series) -> pd.Series:
    """Convert sparse, Arrow, period and interval columns to a common type."""
    dtype = values.dtype
    if isinstance(dtype, pd.SparseDtype):
        return pd.Series(np.asarray(values), index=values.index)
    if isinstance(dtype, pd.ArrowDtype):
        plain = pa.array(values).to_pandas(integer_object_nulls=True)
        return plain.set_axis(values.index)
    if isinstance(dtype, (pd.PeriodDtype, pd.IntervalDtype)):
        return values.map(str, na_action="ignore").astype("str")
    return values


def _to_series(text: pa.Array | pa.ChunkedArray) -> pd.Series:
    """Return Arrow text (n,) as a pandas string column."""
    return pd.Series(text.to_pandas(), dtype="str")


def _distinct_words(texts: Any) -> pd.Series:
    """Return distinct texts (k,) as a column of strings, of the kind that is faster."""
    kind = pd.StringDtype("python", na_value=np.nan)
    return pd.Series(texts, dtype=kind if len(texts) < _FEW else "str")


def _dates_or_same(values: pd.Series) -> pd.Series:
    """Return datetimes, or the cells unchanged if pandas cannot represent them."""
    days = values.dropna()
    has_zone = days.map(lambda day: getattr(day, "tzinfo", None) is not None)
    try:
        return pd.to_datetime(values, utc=bool(has_zone.all()))
    except (ValueError, OverflowError, TypeError):
        return values


def _cast(text: pa.Array | pa.ChunkedArray) -> pd.Series | None:
    """Cast plain numbers; None if a cell is no plain number or is a code like 007."""
    zeros = text.filter(pc.starts_with(text, "0"))
    if len(zeros) and pc.any(pc.match_substring_regex(zeros, "^0[0-9xX]")).as_py():
        return None
    try:
        # Arrow builds an error message for every cell that fails: try a few first.
        pc.cast(text[:_TRIED], pa.float64())
        numbers = pc.cast(text, pa.float64())
        fractions = pc.any(pc.not_equal(numbers, pc.floor(numbers))).as_py()
        if fractions or pc.any(pc.match_substring_regex(text, "[^0-9-]")).as_py():
            return None if _hold_codes(text, numbers) else numbers.to_pandas()
        integers = pc.cast(text, pa.int64())
    except pa.ArrowInvalid:
        return None
    if integers.null_count:
        return pd.Series(integers.to_pandas(integer_object_nulls=True), dtype="Int64")
    return integers.to_pandas()


def _not_numbers(text: pa.Array | pa.ChunkedArray, numbers: pd.Series) -> list[str]:
    """Describe the text that was cast to NaN as missing values."""
    unsaid = numbers.isna().to_numpy() & np.asarray(pc.is_valid(text))
    if not unsaid.any():
        return []
    counts = _to_series(text.filter(pa.array(unsaid))).value_counts()
    return _missing_remark(counts.index.to_series(), counts.to_numpy())


def _hold_codes(
    text: pa.Array | pa.ChunkedArray, numbers: pa.Array | pa.ChunkedArray
) -> bool:
    """Check whether cells are codes, which would change as float64.

    Codes are whole numbers of too many digits, digits of a number beyond float64
    (3e400), and digits with an e among digits (12e5): programs write 1.2e+06 or
    1200000.
    """
    long = text.filter(pc.greater_equal(pc.abs(numbers), float(2**53)))
    vast = text.filter(pc.is_inf(numbers))
    return bool(
        pc.any(pc.match_substring_regex(long, f"^{_LONG_NUMBER}$")).as_py()
        or pc.any(pc.match_substring_regex(vast, "[0-9]")).as_py()
        or (
            pc.any(pc.match_substring_regex(text, f"^{_DIGITS_WITH_E}$")).as_py()
            and not pc.any(pc.match_substring_regex(text, "[^0-9eE]")).as_py()
        )
    )


def _numbers_or_dates(
    words: pd.Series, counts: np.ndarray, decimal_comma: bool
) -> tuple[pd.Series | None, list[str]]:
    """Convert distinct words (k,) if all of them are numbers or all are ISO dates."""
    missing = words.str.lower().isin(MISSING_NUMBERS)
    given = words[~missing]
    if given.empty:
        return pd.Series(np.nan, index=words.index), _missing_remark(words, counts)
    first = given[:_TRIED]
    if not first.str.contains(_SIGN_OF_NUMBER).all():
        return None, []
    if _convert(first, decimal_comma)[0] is None:
        return None, []
    values, remarks = _convert(given, decimal_comma)
    if values is None:
        return None, []
    return values.reindex(words.index), remarks + _missing_remark(
        words[missing], counts[missing.to_numpy()]
    )


def _convert(
    words: pd.Series, decimal_comma: bool
) -> tuple[pd.Series | None, list[str]]:
    """Convert words (k,), none missing, to numbers or dates; None if neither."""
    if words.str.fullmatch(ISO_DATE).all():
        return _iso_dates(words)
    return _numbers(words, decimal_comma)


def _numbers(
    words: pd.Series, decimal_comma: bool
) -> tuple[pd.Series | None, list[str]]:
    """Convert words (k,) if one number style fits them all and none is a code."""
    amounts, remarks = _amounts(words)
    if amounts.str.fullmatch(r"0\d+").any():
        return None, []
    styles: tuple[NumberStyle, ...] = _COMMA_FIRST if decimal_comma else STYLES
    if decimal_comma and amounts.str.contains(".", regex=False).any():
        styles = (POINT_GROUPS, *styles)
    for style in styles:
        if amounts.str.fullmatch(style.pattern).all():
            values = style.parse(amounts)
            if style is PLAIN and _hold_codes(to_arrow(amounts), pa.array(values)):
                return None, []
            if style is not PLAIN:
                remarks = [f"numbers read with {style.name}", *remarks]
            fractions = amounts.str.contains(f"[{style.decimal}eEdD]").any()
            return (values if fractions else _as_integers(values)), remarks
    return None, []


def _amounts(words: pd.Series) -> tuple[pd.Series, list[str]]:
    """Write words (k,) without the currency, percent sign or unit that they share.

    A minus sign, or accounting brackets, may stand anywhere: -$5, $-5, (5), ($5), $5-
    and 5 €- are all -5. Words without the sign become empty,
    and so do addresses such as 192.168.100.101.
    """
    amounts = words.str.replace(f"[{_DASHES}]", "-", regex=True)
    brackets = amounts.str.fullmatch(r"[^\d()]*\([^\d()]*\d[^()]*\)[^\d()]*")
    amounts = amounts.mask(brackets, "-" + amounts.str.replace(r"[()]", "", regex=True))
    found = next(filter(None, map(_UNIT.search, amounts)), None)
    unit = (found["front"] or found["behind"]) if found else _measure(amounts)
    if unit:
        sign = re.escape(unit)
        bare = amounts.str.replace(rf"^([+-]?)\s?{sign}\s?", r"\1", regex=True)
        bare = bare.str.replace(rf"\s?{sign}(-?)$", r"\1", regex=True)
        amounts = bare.where(bare != amounts, "")
    behind = amounts.str.fullmatch(r"\d.*-")
    amounts = amounts.mask(behind, "-" + amounts.str.slice(stop=-1))
    amounts = amounts.str.replace(r"^([+-])\s+", r"\1", regex=True)
    if amounts.str.fullmatch(ADDRESS).all():
        amounts[:] = ""
    what = "sign" if found else "unit"
    remarks = [f"the {what} {unit!r} removed from the numbers"] if unit else []
    below = words[brackets | behind]
    if len(below):
        remarks.append(f"cells like {below.iloc[0]!r} read as numbers below zero")
    return amounts, remarks


def _measure(words: pd.Series) -> str:
    """Return the unit behind the numbers of all words (k,) with digits, such as kg.

    A single letter needs a blank before it: 1A, 2A, 3A are codes.
    """
    numbered = filter(_ANY_DIGIT.search, words)
    first = MEASURED.fullmatch(next(numbered, ""))
    if first is None or not is_bare_unit(unit := first["unit"]):
        return ""
    found = [first, *map(MEASURED.fullmatch, numbered)]
    spaced = len(unit) > 1 or all(match and match["gap"] for match in found)
    same = all(match and match["unit"] == unit for match in found)
    return unit if spaced and same else ""


def _as_integers(values: pd.Series) -> pd.Series:
    """Return Int64 if all values are whole, so that exports keep them whole."""
    whole = bool((values == values.round()).all() and values.abs().max() < 2**53)
    return values.astype("Int64") if whole else values


def _iso_dates(words: pd.Series) -> tuple[pd.Series | None, list[str]]:
    """Convert ISO dates (k,), times with a zone to UTC; None if only some have a zone.

    Days that do not exist in the calendar also give None.
    """
    zoned = words.str.fullmatch(rf".*{_CLOCK}{_ZONE}")
    if zoned.any() and not zoned.all():
        return None, []
    plain = words.str.replace(rf"{_UTC}$", "Z", regex=True).str.replace(",", ".")
    try:
        dates = pd.to_datetime(
            plain.str.replace("t", "T"), format="ISO8601", utc=bool(zoned.any())
        )
    except ValueError:
        return None, []
    other_zones = zoned & ~plain.str.endswith("Z")
    return dates, ["times of other zones given in UTC"] * bool(other_zones.any())


def _words(words: pd.Series, counts: np.ndarray) -> tuple[pd.Series, list[str]]:
    """Keep words (k,), without the unmistakable words for a missing value.

    "NA" stays among two-letter codes, where it means Namibia.
    """
    missing = words.str.lower().isin(MISSING_WORDS)
    given = words[~missing]
    if len(given) and given.str.fullmatch("[A-Z]{2}").all():
        missing &= words != "NA"
    kept = words.mask(missing).astype("str")
    return kept, _missing_remark(words[missing], counts[missing.to_numpy()])


def _without_points(words: pd.Series) -> tuple[pd.Series, np.ndarray]:
    """Write numbers among words (k,) without points between thousands.

    It is for tables with decimal commas, where `to_numbers` would take such a point for
    a decimal one. Returns the words, and which of them were changed (k,).
    """
    amounts, _ = _amounts(words.dropna())
    fitting = amounts.str.fullmatch(COMMA_DECIMAL.pattern)
    pointed = fitting & amounts.str.contains(".", regex=False)
    others = amounts.str.fullmatch(_PLAIN) & ~fitting  # 1.5
    if 2 * fitting.sum() < len(amounts) or others.any():
        pointed[:] = False
    changed = pointed.reindex(words.index, fill_value=False).to_numpy(bool)
    return words.mask(changed, words.str.replace(".", "", regex=False)), changed


def _missing_remark(words: pd.Series, counts: np.ndarray) -> list[str]:
    """Name the words that were read as missing values: "'?' (3 cells) ..."."""
    if words.empty:
        return []
    named = zip(words[:_NAMED], counts[:_NAMED], strict=True)
    texts = [f"{word!r} ({n} cell{'s' if n != 1 else ''})" for word, n in named]
    if len(words) > _NAMED:
        texts.append(f"and {len(words) - _NAMED} more")
    return [f"{', '.join(texts)} read as missing"]


def _best_style_numbers(words: pd.Series) -> pd.Series:
    """Convert words (k,) by the style that fits most of them; NaN for the others."""
    amounts, _ = _amounts(words.dropna())
    fits = [amounts.str.fullmatch(style.pattern) for style in STYLES]
    best = int(np.argmax([fit.sum() for fit in fits]))
    return STYLES[best].parse(amounts[fits[best]]).reindex(words.index)
