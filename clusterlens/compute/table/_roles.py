"""Guess the role of each column of a table, with the reason in plain words.

When in doubt a column is left out: given classes, identifiers, dates and free text
become features only if the analyst chooses so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute._run.options import DEFAULT_RUN, RunOptions
from clusterlens.compute._validation import FloatArray, read_only
from clusterlens.compute.formatting import percent
from clusterlens.compute.table._cells import to_numbers
from clusterlens.compute.table._names import (
    CODE_NAMES,
    LABEL_NAMES,
    hints_at_ids,
    is_date_name,
    is_id_name,
    is_label_word,
    plain_name,
)
from clusterlens.compute.table._plain_numbers import AT_ONCE, SHORT

ROLES = ("numeric", "categorical", "ordinal", "label", "row id", "ignore")

MAX_LEVELS = 50  # more levels than this would drown the other features
MAX_CLASSES = 200
_FIRST_DATE = 10_000  # smaller numbers named like dates count something else
_TRIED = 1000
_ALL_DIFFERENT = ("ignore", "text that is different in every row")
# Reason for the role "label" where only the place of a column speaks for it.
LAST_TEXT = (
    "the last and only column of text looks like given classes; categorical to use it "
    "as a feature"
)
_NUMBER_SHARE = 0.9  # a column of text is "numbers with some words" from here on

_SCALES = (
    "very low, low, lower, medium low, medium, moderate, middle, medium high, high, "
    "higher, very high",
    "none, minimal, mild, low, medium, moderate, high, severe, very severe, extreme",
    "xxs, xs, s, m, l, xl, xxl, xxxl",
    "tiny, small, medium, big, large, very large, huge",
    "very bad, bad, very poor, poor, fair, average, typical, normal, good, very good, "
    "excellent, outstanding",
    "never, almost never, rarely, seldom, occasionally, sometimes, often, usually, "
    "frequently, very often, almost always, always",
    "strongly disagree, disagree, somewhat disagree, neutral, undecided, "
    "neither agree nor disagree, somewhat agree, agree, strongly agree",
    "very dissatisfied, dissatisfied, neutral, satisfied, very satisfied",
    "first, second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth",
    "primary, secondary, tertiary",
    "beginner, intermediate, advanced, expert",
    "cold, cool, mild, warm, hot",
)
ORDERED_SCALES = tuple(tuple(scale.split(", ")) for scale in _SCALES)
_TRUTHS = (
    "yes no, y n, true false, t f, 1 0, on off, ja nein, j n, oui non, o n, si no, "
    "sí no, s n, sì no, sim não, m f, male female"
)
# Pairs of levels that answer a question about each row.
TRUTH_LEVELS = frozenset(frozenset(pair.split()) for pair in _TRUTHS.split(", "))
_LOCAL_DATE = r"(\d{1,2}[./-]){2}\d{2,4}.*|\d{4}-\d{2}-\d{2}.*|\d{4}/\d{1,2}/\d{1,2}.*"
_BRACKET = re.compile(
    r"(?:[<>≤≥]=?\s*|over |under )?(\d+(?:\.\d+)?)(?:\s*(?:-|–|to |\+|: ).*)?"
)


class ColumnFacts:
    """Facts about the cells of a column (n,), each computed once, at first use.

    Facts of a column that is not in memory are given by name; `values` then holds each
    of its different cells twice.
    """

    def __init__(self, values: pd.Series, **known: Any) -> None:
        self.values = values
        vars(self).update(known)

    @cached_property
    def n_rows(self) -> int:
        """Number of cells."""
        return len(self.values)

    @cached_property
    def kind(self) -> str:
        """Kind of the cells: "number", "text", "date" or "other"."""
        dtype = self.values.dtype
        if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
            return "text"
        if pd.api.types.is_datetime64_any_dtype(dtype):
            return "date"
        if pd.api.types.is_object_dtype(dtype) or dtype.kind == "c":
            return "other"
        is_number = pd.api.types.is_numeric_dtype(dtype) or dtype.kind == "m"
        return "number" if is_number else "text"

    @cached_property
    def n_missing(self) -> int:
        """Cells without a value."""
        return int(self.values.isna().sum())

    @cached_property
    def n_distinct(self) -> int:
        """Different values; -1 where cells cannot be compared."""
        return -1 if self.kind == "other" else int(self.values.nunique())

    @property
    def numbers(self) -> FloatArray:
        """Cells as numbers, NaN for others; slow only for words."""
        return self._words if self.kind == "text" else _as_numbers(self.values)

    @cached_property
    def _words(self) -> FloatArray:
        return read_only(_as_numbers(self.values))

    @cached_property
    def whole(self) -> bool:
        """Whether all are whole numbers."""
        if not pd.api.types.is_numeric_dtype(self.values.dtype):
            return False
        numbers = self.numbers
        finite = numbers[np.isfinite(numbers)]
        return bool((finite == np.floor(finite)).all())

    @cached_property
    def rising_share(self) -> float:
        """Share of the steps from row to row that rise by one."""
        return float((np.diff(self.numbers) == 1).sum() / max(self.n_rows - 1, 1))

    @cached_property
    def too_long(self) -> bool:
        """Whether integers have more digits than float64 keeps."""
        if not pd.api.types.is_integer_dtype(self.values.dtype):
            return False
        return bool(max(self.values.max(), -int(self.values.min())) >= 2**53)

    @cached_property
    def number_share(self) -> float:
        """Share of numbers among the cells of text that are present.

        If the first cells hold hardly any number, it is 0 without a look at the others.
        """
        first = self.values.iloc[:_TRIED]
        truth = pd.api.types.is_bool_dtype(first.dtype)
        if truth or to_numbers(first).notna().sum() < 0.5 * first.notna().sum():
            return 0.0
        n_numbers = np.count_nonzero(~np.isnan(self.numbers))
        return float(n_numbers / (self.n_rows - self.n_missing))


def facts_of(table: pd.DataFrame) -> dict[str, ColumnFacts]:
    """Return the facts of all columns, not computed yet."""
    return {name: ColumnFacts(table[name]) for name in table.columns}


def facts_to_guess(table: pd.DataFrame) -> dict[str, ColumnFacts]:
    """Return the facts of all columns; those of short columns of numbers are known."""
    if not 0 < len(table) <= SHORT:
        return facts_of(table)
    known: dict[str, dict[str, Any]] = {}
    n_columns = max(1, AT_ONCE // len(table))
    for dtype in (np.dtype(np.int64), np.dtype(np.float64)):
        names = table.columns[[own == dtype for own in table.dtypes]]
        for at in range(0, len(names), n_columns):
            known |= _facts_of_numbers(table[names[at : at + n_columns]])
    return {
        name: ColumnFacts(table[name], **known.get(name, {})) for name in table.columns
    }


def _facts_of_numbers(table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return facts of columns (n, d) of one dtype of numbers, found together."""
    rows = np.sort(table.to_numpy().T, axis=1)  # NaN are the last
    missing = np.isnan(rows)
    n_distinct = ((rows[:, 1:] != rows[:, :-1]) & ~missing[:, 1:]).sum(axis=1)
    n_distinct += ~missing[:, 0]
    too_long = (np.abs(rows.astype(float)) >= 2**53).any(axis=1)
    whole = ~(np.isfinite(rows) & (rows != np.floor(rows))).any(axis=1)
    return {
        name: {
            "kind": "number",
            "n_missing": int(missing[j].sum()),
            "n_distinct": int(n_distinct[j]),
            "whole": bool(whole[j]),
            "too_long": bool(too_long[j]) and rows.dtype.kind == "i",
        }
        for j, name in enumerate(table.columns)
    }


def guess_roles(
    facts: Mapping[str, ColumnFacts],
    *,
    label: str | None = None,
    row_id: str | None = None,
    run: RunOptions = DEFAULT_RUN,
) -> tuple[dict[str, str], dict[str, str]]:
    """Guess the role of every column, with the reason.

    `run` reports progress in columns, and may cancel.
    """
    guesses = {}
    for done, (name, known) in enumerate(facts.items(), start=1):
        run.raise_if_cancelled()
        guesses[name] = _guess(name, known, is_first=done == 1)
        run.report(done, len(facts))
    if label is None:
        guesses |= _guess_label(facts, guesses)
    else:
        guesses[label] = ("label", "given as the label column")
    if row_id is not None:
        guesses[row_id] = ("row id", "given as the row id")
    ids = [name for name, (role, _) in guesses.items() if role == "row id"]
    if not ids:
        texts = [name for name, guess in guesses.items() if guess == _ALL_DIFFERENT]
        ids = [name for name in texts if _are_words(facts[name].values)][:1]
        guesses |= dict.fromkeys(ids, ("row id", "words that differ in every row"))
    for name in ids:
        if name != (row_id or ids[0]):
            guesses[name] = (
                "ignore",
                "identifies rows, as another column already does",
            )
    roles = {name: role for name, (role, _) in guesses.items()}
    return roles, {name: reason for name, (_, reason) in guesses.items()}


def ordered_levels(values: pd.Series) -> list[str] | None:
    """Return the levels of text (n,) from low to high, if they form a known scale."""
    if isinstance(values.dtype, pd.CategoricalDtype) and values.cat.ordered:
        return list(values.cat.categories)
    found = pd.unique(values.dropna())
    if not 2 <= len(found) <= min(MAX_LEVELS, max(2, len(values) - 1)):
        return None
    levels = list(found)
    if not all(isinstance(level, str) for level in levels):
        return None
    plain = {level: re.sub(r"[\s_-]+", " ", level.lower()) for level in levels}
    for scale in ORDERED_SCALES:
        if set(plain.values()) <= set(scale):
            return sorted(levels, key=lambda level: scale.index(plain[level]))
    return _ordered_brackets(levels)


def _guess(name: str, facts: ColumnFacts, *, is_first: bool) -> tuple[str, str]:
    """Guess one column by itself."""
    n_rows, present = facts.n_rows, facts.n_rows - facts.n_missing
    if present == 0:
        return "ignore", "empty: every value is missing"
    if facts.kind == "other":
        return "ignore", "cells are neither numbers, text nor dates"
    if is_id_name(name) or (
        hints_at_ids(name, is_first=is_first) and _tells_most_apart(facts)
    ):
        return _guess_ids(facts, "named like an identifier")
    if facts.n_distinct == 1 and n_rows > 1:
        return "ignore", "constant: every value is the same"
    if present < 0.5 * n_rows:
        share = percent(facts.n_missing / n_rows)
        return "ignore", f"{share} missing; filling would invent most of the column"
    if facts.kind == "date":
        return "ignore", "dates; as numeric they would count as days"
    if facts.kind == "number":
        return _guess_numbers(name, facts)
    return _guess_text(name, facts)


def _guess_numbers(name: str, facts: ColumnFacts) -> tuple[str, str]:
    """Guess a column of numbers."""
    unique = facts.n_distinct == facts.n_rows > 1
    if facts.too_long:
        return _guess_ids(facts, "whole numbers of 16 digits or more")
    if facts.whole and plain_name(name) in CODE_NAMES:
        return "ignore", "named like a code; its digits are no quantity"
    if facts.whole and is_date_name(name) and np.nanmin(facts.numbers) >= _FIRST_DATE:
        return "ignore", "named like a date; its digits are no quantity"
    if facts.whole and unique and facts.n_rows >= 10 and facts.rising_share == 1:
        return "row id", "counts the rows: whole numbers rising by one"
    if facts.whole and 2 < facts.n_distinct <= 10:
        return "numeric", (
            f"whole numbers, {facts.n_distinct} different; categorical if codes"
        )
    return "numeric", "numbers"


def _guess_text(name: str, facts: ColumnFacts) -> tuple[str, str]:
    """Guess a column of text, categories or truth values."""
    values, k = facts.values, facts.n_distinct
    present = facts.n_rows - facts.n_missing
    if plain_name(name) in CODE_NAMES:
        return "ignore", "named like a code; its digits are no quantity"
    given = isinstance(values.dtype, pd.CategoricalDtype)
    share = 0.0 if given else facts.number_share
    if share >= _NUMBER_SHARE:
        return _guess_text_of_numbers(facts, share)
    finite = facts.numbers[np.isfinite(facts.numbers)] if share else np.empty(0)
    if np.any(finite % 1 > 0):
        effect = "would count as missing if it were numeric"
        return "ignore", _share_of_numbers(facts, share, effect)
    if _has_local_dates(values):
        return "ignore", "dates in a local form; written as 2020-12-31 they can be used"
    if ordered_levels(values) is not None:
        return "ordinal", f"{k} levels with a known order"
    if k <= MAX_LEVELS and (k < present or present <= 2):
        return "categorical", f"text with {k} different values"
    if k == present:
        return _ALL_DIFFERENT
    return "ignore", f"text with {k} different values, too many for categories"


def _guess_text_of_numbers(facts: ColumnFacts, share: float) -> tuple[str, str]:
    """Guess the role of a column of text that mostly holds numbers."""
    values = facts.values
    texts = values.dropna().astype("str")
    if texts.str.fullmatch(r"0\d+").any():
        return "ignore", "numbers with leading zeros are codes, not quantities"
    if texts.str.fullmatch(r"\d{16,}").any():
        return _guess_ids(facts, "whole numbers of 16 digits or more")
    if texts.str.fullmatch(r"\d+(?:[eE]\d+)?").all():
        return _guess_ids(facts, "digits with an e between them")
    return "numeric", _share_of_numbers(facts, share, "count as missing")


def _share_of_numbers(facts: ColumnFacts, share: float, effect: str) -> str:
    """Describe a column of text by its share of numbers, and its other cells."""
    values = facts.values
    words = pd.unique(values[np.isnan(facts.numbers) & values.notna()])[:3]
    others = f"; others, like {', '.join(map(repr, words))}, {effect}"
    return f"{percent(share)} of the cells are numbers" + others * bool(len(words))


def _guess_ids(facts: ColumnFacts, what: str) -> tuple[str, str]:
    """Return the role of a column of identifiers; `what` says how they are known."""
    if facts.n_distinct == facts.n_rows and (facts.whole or facts.kind == "text"):
        return "row id", f"{what}, and every value is different"
    return "ignore", f"{what}, but values repeat or are missing; no feature"


def _tells_most_apart(facts: ColumnFacts) -> bool:
    """Return whether half of text or whole numbers differ, or most rise by one."""
    if facts.kind != "text" and not facts.whole:
        return False
    if 2 * facts.n_distinct >= facts.n_rows:
        return True
    return facts.whole and facts.rising_share > 0.5


def _are_words(values: pd.Series) -> bool:
    """Return whether text (n,), if long enough, is words without blanks or gaps."""
    words = values.astype("str")
    return len(words) >= 10 and bool(words.str.fullmatch(r"\S+").all())


def _guess_label(
    facts: Mapping[str, ColumnFacts], guesses: dict[str, tuple[str, str]]
) -> dict[str, tuple[str, str]]:
    """Find at most one column that looks like given classes."""
    possible = [name for name, known in facts.items() if _may_be_label(known)]
    by_name = {plain_name(name): name for name in possible}
    if "x" in map(plain_name, facts):
        by_name.pop("y", None)  # coordinates
    for hint in LABEL_NAMES:
        if hint in by_name and len(facts) > 1:
            k = facts[by_name[hint]].n_distinct
            reason = f"named like given classes, {k} different; used to compare only"
            return {by_name[hint]: ("label", reason)}
    last = list(facts)[-1]
    others = [role for name, (role, _) in guesses.items() if name != last]
    features = [role for role in others if role not in {"row id", "ignore"}]
    if (
        last in possible
        and guesses[last][0] == "categorical"
        and (is_label_word(last) or not _is_truth(facts[last].values))
        and len(features) >= 2
        and set(features) == {"numeric"}
        and facts[last].values.value_counts().min() >= 2
    ):
        return {last: ("label", LAST_TEXT)}
    return {}


def _may_be_label(facts: ColumnFacts) -> bool:
    """Return whether a column has few enough values to be classes."""
    if facts.kind not in {"number", "text"} or (
        facts.kind == "number" and not facts.whole
    ):
        return False
    return 2 <= facts.n_distinct <= min(MAX_CLASSES, facts.n_rows // 2)


def _is_truth(values: pd.Series) -> bool:
    """Return whether the levels of a column (n,) are yes and no, or the like."""
    levels = pd.unique(values.dropna())
    return pd.api.types.is_bool_dtype(values.dtype) or (
        frozenset(str(level).strip().lower() for level in levels) in TRUTH_LEVELS
    )


def _as_numbers(values: pd.Series) -> FloatArray:
    return to_numbers(values).to_numpy(dtype=np.float64)


def _has_local_dates(values: pd.Series) -> bool:
    """Return whether text (n,) consists of dates that are not in ISO form."""
    words = pd.Series(pd.unique(values.dropna().astype("str"))[:100], dtype="str")
    return bool(words.str.fullmatch(_LOCAL_DATE).all())


def _ordered_brackets(levels: list[str]) -> list[str] | None:
    """Order levels like "18-25" or "1 - low" by number; None if they have none."""
    found = [_BRACKET.fullmatch(level.strip().lower()) for level in levels]
    matches = [match for match in found if match]
    if len(matches) < len(levels):
        return None
    # "<18" lies below "18-25", and ">65" above "65".
    side = [(w[0] in ">≥o") - (w[0] in "<≤u") for w in map(str.strip, levels)]
    keys = [(float(m.group(1)), s) for m, s in zip(matches, side, strict=True)]
    if len(set(keys)) < len(keys):
        return None
    return [level for _, level in sorted(zip(keys, levels, strict=True))]
