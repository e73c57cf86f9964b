"""The header of a table: classification of its first records as titles, names or data.

Delimited text and workbooks share this module. Each column compares a record with the
cells below it: a header has words above numbers, or numbers and words unlike those
below.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from clusterlens.compute.table._cells import (
    GROUPING,
    MEASURED,
    MISSING_NUMBERS,
    MONEY,
)
from clusterlens.compute.table._units import NO_UNITS, TYPES, is_bare_unit

SAMPLE = 500  # records to examine
MOST_LINES = 20  # records above or below a table to try as title or footer

_MOST_HEADERS = 2  # full lines of words above numbers: names, and perhaps units
_DECIMAL = (
    r"(?:(?:\d++(?:[.,]\d*+)?|[.,]\d++)(?:[eE][+-]?\d++)?"
    r"|(?:\d++\.\d*+|\.\d++)[dD][+-]?\d{1,3})"
)
_GROUPED = (
    rf"[1-9]\d{{0,2}}(?:(?:[{GROUPING}]\d{{3}})++(?:[.,]\d++)?"
    r"|(?:\.\d{3})++,\d++|(?:,\d{3})++\.\d++|(?:\.\d{3}){2,}+|(?:,\d{3}){2,}+)"
)
_NUMBER = re.compile(
    rf"\(?(?:[+-]?\s?{MONEY}\s?)?(?P<value>[+-]?(?:{_GROUPED}|{_DECIMAL}))"
    rf"(?:\s?(?:{MONEY}|%))?-?\)?"
)
_UNIT = re.compile(r"<[^<>\d][^<>]*+>|\[[^\[\]]*+\]|\([^\d()][^()]*+\)")
_IMPORT_ID = re.compile(r'\s*+\{\s*+"ImportId"')
_LIMIT = re.compile(r"[<>≤≥]=?\s*+")  # "<0.5", outside the measurable range
_INFINITE = {"inf", "infinity"}
_LARGEST = 1e300
_AS_PYTHON = str.maketrans(",dD", ".ee")
_DIGITS = re.compile(r"\d++")
_RDB_WIDTH = re.compile(r"\d{1,4}[sdnSDN]")  # of text, dates and numbers
_DASHES = re.compile(r"-++|=++")
_END = re.compile(r"\W*+(?:end|eof|end of (?:file|data|table|list|report))\W*+", re.I)
_FIRST_YEAR, _LAST_YEAR = 1900, 2100
_NO_UNITS = {"", "TS", "RN"}  # of TOA5: none, a time, a record number
_ORANGE_TYPES = {"c", "d", "s", "t", "continuous", "discrete", "string", "time"}
_ORANGE_ROLES = {
    "class": "label",
    "c": "label",
    "meta": "ignore",
    "m": "ignore",
    "ignore": "ignore",
    "i": "ignore",
    "": "",
}
_ORANGE_FLAGS = re.compile(r"(?=[^#])(?P<role>[cim]?)(?P<kind>[CDST]?)#(?P<name>.+)")


@dataclass(frozen=True)
class Header:
    """The header of a table.

    `titles` records stand above it, and it takes `lines` records; none without `names`.
    `roles` maps names of columns to roles given in the header; `notes` tell
    about lines that are left out.
    """

    titles: int = 0
    lines: int = 0
    names: list[str] | None = None
    roles: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def find_header(records: Sequence[Sequence[str]], width: int) -> Header:
    """Find the header of a table among its first records, below any titles."""
    special = _qualtrics_header(records) or _orange_header(records, width)
    if special is not None:
        return special
    ruled = ruled_names(records)
    if ruled is not None and len(records[ruled]) == width:
        return Header(ruled, 2, [name.strip() for name in records[ruled]])
    at = units_line(records)
    if at is not None:
        header = find_header([*records[:at], *records[at + 1 :]], width)
        if header.titles + header.lines == at:
            return with_units(header, records[at])
    return _without_orange_flags(_FirstRecords(records, width).header())


def declared_header(records: Sequence[Sequence[str]]) -> Header | None:
    """Return the header if the first line declares the file format, else None.

    The formats are TOA5 of Campbell loggers (lines of names, units and kinds of
    summary), tables of NetLogo's BehaviorSpace, and answers from Qualtrics.
    """
    if qualtrics := _qualtrics_header(records):
        return qualtrics
    if records[0][0] == "TOA5" and len(records) > 3:
        names, units = ([cell.strip() for cell in record] for record in records[1:3])
        if len(names) == len(units):
            brackets = [f"[{unit}]" if unit not in _NO_UNITS else "" for unit in units]
            return replace(with_units(Header(1, 2, names), brackets), lines=3)
    if records[0][0].startswith("BehaviorSpace results") and len(records) > 6:
        return Header(6, 1, [name.strip() for name in records[6]])
    return None


def units_line(records: Sequence[Sequence[str]]) -> int | None:
    """Return the first record below another that holds units or types."""
    for k, (above, record, below) in enumerate(
        zip(records, records[1 : MOST_LINES + 1], records[2:], strict=False), start=1
    ):
        filled = [cell.strip() for cell in record if cell.strip()]
        in_brackets = len(filled) > 1 and (
            all(map(_UNIT.fullmatch, filled)) or all(map(_RDB_WIDTH.fullmatch, filled))
        )
        if in_brackets or _holds_bare_units(above, record, records[k + 1 :]):
            is_line = len(record) == len(above) and any(map(is_number, below))
            return k if is_line else None
    return None


def ruled_names(records: Sequence[Sequence[str]]) -> int | None:
    """Return the first full record if databases underlined it: as many dashes below."""
    for k, (record, below) in enumerate(pairwise(records[:MOST_LINES])):
        if len(record) > 1 and all(map(str.strip, record)):
            lengths = [*map(len, record)]
            ruled = all(map(_DASHES.fullmatch, below)) and max(lengths) > 1
            named = all(map(is_word, record))
            return k if ruled and named and lengths == [*map(len, below)] else None
    return None


def _holds_bare_units(
    names: Sequence[str], record: Sequence[str], below: Sequence[Sequence[str]]
) -> bool:
    """Check whether units or types without brackets stand between names and numbers.

    Below a unit are mostly numbers, and not the unit once more: A is a cell above -1
    and A.
    """
    if not len(names) == len(record) == len(below[0]):
        return False
    columns = zip(names, map(str.strip, record), below[0], strict=True)
    units = {}
    for j, (name, unit, value) in enumerate(columns):
        if not is_number(value):
            continue
        if not (is_bare_unit(unit) or unit.lower() in TYPES or unit in NO_UNITS):
            return False
        if not is_word(name) or name.strip() == unit:
            return False
        units[j] = unit
    if not any(map(is_bare_unit, units.values())):
        return False
    rows = [r for r in below[:SAMPLE] if len(r) == len(record)]
    numeric = numeric_columns(rows, len(record))
    return all(
        numeric[j] and not (is_word(unit) and unit in (row[j].strip() for row in rows))
        for j, unit in units.items()
    )


def with_units(header: Header, units: Sequence[str]) -> Header:
    """Add the line below the names: units become part of them, types do not."""
    names = list(header.names or [])
    for j, unit in enumerate(map(str.strip, units), start=len(names) - len(units)):
        if unit.startswith(("[", "(")):
            names[j] = f"{names[j]} {unit}"
        elif is_bare_unit(unit):
            names[j] = f"{names[j]} [{unit}]"
    return replace(header, lines=header.lines + 1, names=names)


def is_number(cell: str) -> bool:
    """Check whether a cell is a number in a common style, or a limit such as <0.5."""
    text = cell.strip()
    limit = _LIMIT.match(text)
    return bool(_NUMBER.fullmatch(text[limit.end() :] if limit else text))


def amount(cell: str) -> str:
    """Return the number in a cell without brackets, sign of a currency and unit."""
    text = cell.strip()
    found = _NUMBER.fullmatch(text)
    if found is None:
        found = MEASURED.fullmatch(text)
        found = found if found and is_bare_unit(found["unit"]) else None
    return found["value"] if found else text


def is_word(cell: str) -> bool:
    """Check whether a cell is not blank, a number or a word for "missing"."""
    return not (is_missing(cell) or is_number(cell))


def is_missing(cell: str) -> bool:
    """Check whether a cell is blank, or a word for "missing" or "infinite"."""
    lower = cell.strip().lower()
    return not lower or lower in MISSING_NUMBERS or lower.lstrip("+-") in _INFINITE


def names_numbers(records: Sequence[Sequence[str]], width: int) -> bool:
    """Check whether the first record has words, and no numbers, above numbers."""
    table = _FirstRecords(records, width)
    numeric = table.numeric(0)
    return bool((table.word[0] & numeric).any() and not table.number[0, numeric].any())


def numeric_columns(records: Sequence[Sequence[str]], width: int) -> list[bool]:
    """Tell for each column whether numbers outnumber words."""
    numeric = []
    for j in range(width):
        others = [r[j] for r in records if j < len(r) and not is_number(r[j])]
        n_numbers = sum(j < len(r) for r in records) - len(others)
        n_words = len(others) - sum(map(is_missing, others))
        numeric.append(n_numbers > n_words)
    return numeric


def count_footer(records: Sequence[Sequence[str]], numeric: Sequence[bool]) -> int:
    """Count the last records that are a footer, and the blank ones around it.

    A footer begins with a word. It has another number of cells than the table, or words
    in place of its numbers; below a blank record, one such word or one cell is enough.
    Below a blank record it may have numbers, if numbers are above its first word. A
    single column of words has none.
    """
    n_footer = 0
    if not any(numeric) and len(numeric) == 1:
        return 0
    for k, record in enumerate(reversed(records[-MOST_LINES:]), start=1):
        cells = [cell.strip() for cell in record]
        if not any(cells):
            n_footer = k
            continue
        ragged = len(cells) != len(numeric)
        counted = [
            cell for cell, is_numeric in zip(cells, numeric, strict=False) if is_numeric
        ]
        numbers = any(map(is_number, counted))
        above = records[-k - 1 : len(records) - k]
        apart = numeric[0] and any(not "".join(other).strip() for other in above)
        if not is_word(cells[0]) or (numbers and not (ragged or apart)):
            break
        worded = sum(numeric) > 1 and all(map(is_word, counted))
        alone = not any(cells[1:]) and bool(
            _END.fullmatch(cells[0]) or _is_sentence(cells[0], records[:-k])
        )
        if len(numeric) > 1 and (
            numeric[0] or worded or alone or (ragged and not numbers)
        ):
            n_footer = k
        elif sum(map(bool, cells)) > 1 and not any(map(is_word, counted)):
            break
    filled = any(cell.strip() for r in records[len(records) - n_footer :] for cell in r)
    return n_footer if filled else 0


def _is_sentence(cell: str, above: Sequence[Sequence[str]]) -> bool:
    """Check whether a cell has a blank, a colon or a star that no cell above has."""
    first = "".join(record[0] for record in above if any(record[1:]))
    return any(mark in cell and mark not in first for mark in " :*")


def _qualtrics_header(records: Sequence[Sequence[str]]) -> Header | None:
    """Read the three lines of a header of Qualtrics: names, questions and ids."""
    if len(records) < 4 or not all(map(_IMPORT_ID.match, filter(None, records[2]))):
        return None
    if not any(records[2]):
        return None
    names = [cell.strip() for cell in records[0]]
    note = "The lines of questions and import ids below the names are left out."
    return Header(0, 3, names, notes=(note,))


def _orange_header(records: Sequence[Sequence[str]], width: int) -> Header | None:
    """Read the three lines of a header of Orange: names, types and roles."""
    if len(records) < 4 or any(len(record) != width for record in records[:3]):
        return None
    names, types, flags = ([cell.strip() for cell in record] for record in records[:3])
    words = ([w for w in flag.split() if "=" not in w] for flag in flags)
    lower = [" ".join(roles).lower() for roles in words]  # without other attributes
    rows = [record for record in records[3:] if len(record) == width]
    typed = [
        kind.lower() in _ORANGE_TYPES or {r[j].strip() for r in rows} <= {*kind.split()}
        for j, kind in enumerate(types)
    ]
    if not all(typed) or not set(lower) <= _ORANGE_ROLES.keys():
        return None
    roles = {
        name: _ORANGE_ROLES[flag] or "categorical"
        for name, kind, flag in zip(names, types, lower, strict=True)
        if flag or kind.lower() not in {"c", "continuous"}
    }
    return Header(0, 3, names, roles)


def _without_orange_flags(header: Header) -> Header:
    """Remove Orange's flags from names: the label `cD#kind` becomes `kind`."""
    names = header.names or []
    found = [_ORANGE_FLAGS.fullmatch(name) for name in names]
    if not any(match and match["role"] for match in found) and not all(found):
        return header
    roles = {
        match["name"]: _ORANGE_ROLES[match["role"]] or "categorical"
        for match in found
        if match and (match["role"] or match["kind"] not in ("", "C"))
    }
    names = [m["name"] if m else n for m, n in zip(found, names, strict=True)]
    return replace(header, names=names or None, roles=roles)


class _Numbers(NamedTuple):
    """Evidence that the numbers of a record are names: years, wavelengths, positions.

    `whole`: they are whole numbers. `counting`: they consist of digits and count by one
    above fractions, or four or more from 0. `regular`: they have equal steps or ratios,
    or are years or several numbers in order. `strange`: most do not fit the numbers
    below.
    """

    whole: bool
    counting: bool
    regular: bool
    strange: bool


class _FirstRecords:
    """The first records of a table, with cells classified as numbers and words."""

    def __init__(self, records: Sequence[Sequence[str]], width: int) -> None:
        self.cells = [
            [cell.strip() for cell in record] + [""] * (width - len(record))
            if len(record) <= width
            else [""] * width
            for record in records[:SAMPLE]
        ]
        self.width = width
        self.number = np.array([[is_number(c) for c in row] for row in self.cells])
        missing = np.array([[is_missing(c) for c in row] for row in self.cells])
        self.word = ~(self.number | missing)
        self.filled = np.array([[c != "" for c in row] for row in self.cells])

    def header(self) -> Header:
        """Find the lines of the header and join their names."""
        candidates = list(self._candidates())
        levels = self._n_levels()
        if not (candidates or levels):
            return Header()
        top = bottom = 0 if levels else self._choose(candidates)
        bottom += max(levels - 1, 0)
        while top > 0 and (
            self._spans(top - 1, top)
            or (top - 1 in candidates and self._names_index(top + 1))
        ):
            top -= 1
        while self._goes_on(top, bottom, bottom + 1 in candidates):
            bottom += 1
        names = self._names(top, bottom)
        if bottom > top and self._names_index(bottom + 1):
            bottom += 1
            index = self.cells[bottom]
            names = [own or name for own, name in zip(index, names, strict=True)]
        return Header(top, bottom - top + 1, names)

    def _n_levels(self) -> int:
        """Count the levels of names that pandas writes above an index without a name.

        Their first cells are blank, names of the upper levels are repeated or span
        several columns, and together the names differ.
        """
        n_levels = int(np.argmax(self.filled[:, 0]))
        if n_levels < 2 or not self.filled[n_levels:, 0].all():
            return 0
        upper = self.cells[: n_levels - 1]
        spanning = all(len({*filter(None, level)}) < self.width - 1 for level in upper)
        names = self._names(0, n_levels - 1)[1:]
        whole = all(self.cells[n_levels - 1][1:])
        return n_levels * (spanning and whole and len(set(names)) == len(names))

    def numeric(self, k: int) -> np.ndarray:
        """Mark the columns with more numbers than words below record k."""
        below = self.number[k + 1 :].sum(axis=0), self.word[k + 1 :].sum(axis=0)
        return np.asarray(below[0] > below[1])

    def _recurs(self, k: int, j: int) -> bool:
        """Check whether a cell of record k occurs again below."""
        return any(row[j] == self.cells[k][j] for row in self.cells[k + 1 :])

    def _candidates(self) -> Iterator[int]:
        """Yield the records that may be a header, with only titles above them.

        A title fills at most half of the cells, from the first one, or a single cell. A
        record with blank cells, or with words above numbers, may be a title, too. Below
        such a record, and below a title with a number, a header must have words above
        numbers.
        """
        strict = False
        for k in range(min(MOST_LINES + 1, len(self.cells))):
            numeric, filled = self.numeric(k), self.filled[k]
            if k and self.width == 1 and not numeric[0]:
                return  # words above words in one column: nothing tells a title
            naming = bool((self.word[k] & numeric).any())
            if (naming or not strict) and self._is_header(k, numeric):
                yield k
            n_filled = int(filled.sum())
            single = n_filled <= 1 and self.width > 2
            if n_filled <= max(1, self.width // 2) and (filled[0] or single):
                strict |= bool(self.number[k].any())
            elif (
                naming
                or not (filled.all() or (self.number[k] & numeric).any())
                or (k + 1 < len(self.cells) and self._spans(k, k + 1))
            ):
                strict = True
            else:
                return

    def _is_header(self, k: int, numeric: np.ndarray) -> bool:
        """Check whether record k differs from the records below, as names do."""
        cells, number, word = self.cells[k], self.number[k], self.word[k]
        if k + 1 == len(self.cells):
            return not number.any()
        names = any(
            not self._recurs(k, j) for j in np.flatnonzero(word & numeric).tolist()
        )
        if names and not (number & numeric).any():
            return True
        if not number.any():
            repeated = word.all() and self.width > 1 and cells in self.cells[k + 1 :]
            again = any(self._recurs(k, j) for j in range(self.width))
            return bool(repeated and numeric.any()) or (
                len(set(cells)) == self.width and not again
            )
        numbers = self._numbers(k, numeric)
        if numbers is None:
            return False
        corner = not cells[0] and self.filled[k + 1 :, 0].all()
        if names or (corner and not word.any()):
            return numbers.regular or numbers.whole or numbers.strange
        if word.any():
            alike = any(
                self._is_like_below(k, j) for j in np.flatnonzero(word).tolist()
            )
            unfitting = numbers.whole and numbers.strange
            return not alike and (numbers.regular or unfitting)
        return numbers.regular and (
            numbers.counting or numbers.strange or self._counts_classes(k)
        )

    def _counts_classes(self, k: int) -> bool:
        """Check whether numbers 2, 3, 4, ... count the different cells below them.

        Three columns may have this by chance, if the numbers themselves are below.
        """
        counts = [
            len({row[j] for row in self.cells[k + 1 :]}) for j in range(self.width)
        ]
        recur = any(self._recurs(k, j) for j in range(self.width))
        return self.cells[k] == list(map(str, counts)) and self.width > 2 + recur

    def _is_like_below(self, k: int, j: int) -> bool:
        """Check whether a cell of record k recurs, or differs only in digits."""
        stems = [_DIGITS.sub("#", row[j]) for row in self.cells[k:]]
        numbered = stems[0] != self.cells[k][j]
        return self._recurs(k, j) or (
            numbered and stems[1:].count(stems[0]) > len(stems[1:]) / 2
        )

    def _numbers(self, k: int, numeric: np.ndarray) -> _Numbers | None:
        """Compare the numbers of record k with those below; None if two are equal."""
        at = np.flatnonzero(self.number[k])
        values = [_value(self.cells[k][j]) for j in at]
        if len(set(values)) < len(values):
            return None
        below = [
            np.array([_value(self.cells[i][j]) for i in rows])
            for j in at
            for rows in [np.flatnonzero(self.number[k + 1 :, j]) + k + 1]
        ]
        n_fitting = sum(
            numeric[j] and _fits(value, column)
            for j, value, column in zip(at, values, below, strict=True)
        )
        steps = {round(b - a, 9) for a, b in pairwise(values)}
        whole = all(map(float.is_integer, values))
        ordered = len({step > 0 for step in steps}) == 1
        strange = n_fitting <= len(values) / 2
        return _Numbers(
            whole=whole,
            counting=(steps == {1} or (steps == {-1} and len(values) > 2))
            and (
                any((np.trunc(column) != column).any() for column in below)
                or (values[0] == 0 and len(values) > 3)
            )
            and all(_DIGITS.fullmatch(self.cells[k][j]) for j in at),
            regular=(len(steps) == 1 and (len(values) > 2 or steps == {1}))
            or (len(values) > 2 and _have_equal_ratios(values))
            or (ordered and all(map(_is_year, values)))
            or (ordered and len(values) > (2 if strange else 3)),
            strange=strange,
        )

    def _choose(self, candidates: list[int]) -> int:
        """Choose the header: the first full record.

        In a table of numbers alone, it is the last of three or more, because a title is
        above.
        """
        empty = ~self.filled[candidates[-1] + 1 :].any(axis=0)
        full = [k for k in candidates if (self.filled[k] | empty)[1:].all()]
        if not full:
            return candidates[0]
        numeric = self.numeric(full[-1])
        if numeric.any() and (numeric | empty).all():
            worded = [
                k
                for k in full
                if (self.word[k] | empty).all()
                and len(set(self.cells[k])) == self.width
                and not any(
                    any(map(operator.eq, self.cells[k], self.cells[i]))
                    for i in range(full[-1] + 1)
                    if i != k
                )
            ]
            titled = self.width > 1 or not self.cells[full[0]][0].isidentifier()
            if worded:
                return worded[-1 if titled and len(worded) > _MOST_HEADERS else 0]
        return full[0]

    def _spans(self, upper: int, lower: int) -> bool:
        """Check whether names of an upper record span several columns of a lower one.

        They are repeated, or blanks follow them; and they are not a title, which is a
        single cell or the first ones. Numbers span only words, if both together give
        distinct names, or if a blank corner precedes them.
        """
        numeric, cells = self.numeric(lower), self.cells[upper]
        filled = self.filled[upper]
        n_filled = int(filled.sum())
        if n_filled < 2 or not numeric.any():
            return False
        over = self._reach(upper, self.cells[lower])
        pairs = [(over[j], self.cells[lower][j]) for j in np.flatnonzero(numeric)]
        crossed = len({name for _, name in pairs}) < len(set(pairs)) == len(pairs)
        beside = not filled[:n_filled].all()
        if self.number[upper].any() and not (
            (crossed or (beside and not filled[0]))
            and (self.word[lower] | ~self.filled[lower])[numeric].all()
        ):
            return False
        neighbours = zip(cells, ["", *cells], [*cells[1:], cells[-1]], strict=False)
        shared = [
            bool(cell) and (cell == before or after in ("", cell))
            for cell, before, after in neighbours
        ]
        repeats = len({cell for cell in cells if cell}) < n_filled
        complements = (filled & ~self.filled[lower]).any()
        both = filled & self.filled[lower] & ~numeric
        return (
            any(shared)
            and bool(repeats or complements or beside)
            and (crossed or all(shared[j] for j in np.flatnonzero(both)))
        )

    def _goes_on(self, top: int, bottom: int, names: bool) -> bool:
        """Check whether the next record belongs to the header: it makes names differ.

        Two of three conditions must hold: it is a candidate itself (`names`), names
        span it, and the names of the index are below it.
        """
        if names and not self.cells[bottom][0] and not self.cells[bottom + 1][0]:
            return bool(self.filled[bottom + 2 :, 0].all())
        return (
            len({*filter(None, self._names(top, bottom))}) < self.width
            and bottom + 1 < len(self.cells)
            and names + self._names_index(bottom + 2) + self._spans(bottom, bottom + 1)
            > 1
        )

    def _names_index(self, k: int) -> bool:
        """Check whether record k names only the index, as pandas does below levels."""
        if k + 1 >= len(self.cells):
            return False
        filled = self.filled[k]
        first = int(filled.sum())
        return (
            0 < first < self.width
            and bool(filled[:first].all())
            and not self.number[k].any()
            and bool(self.filled[k + 1 :, first:].any())
        )

    def _names(self, top: int, bottom: int) -> list[str]:
        """Join the names of several records; an upper name extends over blanks."""
        levels = [self.cells[bottom]]
        for k in reversed(range(top, bottom)):
            levels.insert(0, self._reach(k, levels[0]))
        return [" / ".join(filter(None, names)) for names in zip(*levels, strict=True)]

    def _reach(self, upper: int, below: Sequence[str]) -> list[str]:
        """Return the cells of a record; names extend over blanks above other names."""
        level = list(self.cells[upper])
        for j in range(1, self.width):
            if not level[j] and below[j]:
                level[j] = level[j - 1]
        return level


def _value(cell: str) -> float:
    """Return the number in a cell, limited to `_LARGEST`."""
    found = _NUMBER.fullmatch(_LIMIT.sub("", cell))
    text = re.sub(f"[{GROUPING}]", "", found["value"]) if found else ""
    first = next((mark for mark in text if mark in ".,"), "")
    if text.count(first) > 1 or {".", ","} <= set(text):
        text = text.replace(first, "")
    text = text.translate(_AS_PYTHON)
    return min(max(float(text), -_LARGEST), _LARGEST)


def _is_year(value: float) -> bool:
    """Check whether a number may be a year."""
    return value.is_integer() and _FIRST_YEAR <= value <= _LAST_YEAR


def _have_equal_ratios(values: Sequence[float]) -> bool:
    """Check whether positive numbers have equal ratios, as doses do."""
    return min(values) > 0 and bool(np.ptp(np.diff(np.log(values))) < 1e-9)


def _fits(value: float, column: np.ndarray) -> bool:
    """Compare a number with a column: both are years, or they have the same size."""
    if _is_year(value):
        return bool(np.mean([_is_year(float(other)) for other in column]) > 0.5)
    spread = max(column.max() - column.min(), abs(column).max())
    return bool(column.min() - spread <= value <= column.max() + spread)
