"""Layout of a text table: how its first lines say that it is written.

They decide on separator, preamble, header and decimal mark; every decision becomes a
note.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from clusterlens.compute._validation import DataError
from clusterlens.compute.formatting import count, whole
from clusterlens.compute.notes import Note
from clusterlens.compute.table._binary import Content, check_shape
from clusterlens.compute.table._cells import ADDRESS
from clusterlens.compute.table._header import (
    SAMPLE,
    Header,
    amount,
    declared_header,
    find_header,
    is_missing,
    is_number,
    is_word,
    names_numbers,
    numeric_columns,
    ruled_names,
    units_line,
    with_units,
)
from clusterlens.compute.table._quotes import check_quotes
from clusterlens.compute.table._splitting import (
    ANY_MARK,
    BLANKS,
    SEPARATORS,
    name_separator,
    split_lines,
    split_records,
)

# The rarer a mark is within words and numbers, the clearer it separates.
_CLEAREST_FIRST = ("\t", "|", "^", "~", ";", ",", BLANKS)
_TRIED = 100  # records that decide on the separator
_COMMENT = ("#", "%", "//", "!")
_MARK_IN_CELL = re.compile(r"[^\w.-]")
_SINGLE_QUOTED = re.compile(rf" *+'[^']*+' *+[{ANY_MARK}]")
_COMMA_NUMBER = re.compile(
    r"[+-]?(?:\d{1,3}+(?:\.\d{3})++|\d++),\d++(?:[eE][+-]?\d++)?%?"
)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})++")
_POINT_THOUSANDS = re.compile(r"[+-]?(?:0|[1-9]\d{0,2}(?:\.\d{3})*+)")
_POINT_FRACTION = re.compile(
    r"[+-]?(?![1-9]\d{0,2}(?:\.\d{3})++\Z)\d*+\.\d*+(?:[eE][+-]?\d++)?"
)
_POINT_NUMBER = re.compile(r"(?![+-]?\d{1,3}\.\d{3}\Z)[+-]?\d++\.0*+[1-9]\d*+")


@dataclass(frozen=True)
class Layout:
    """How a text table is written."""

    separator: str
    names: list[str] | None  # None: no header
    numeric: list[bool]  # columns in which numbers outnumber words
    first_line: int  # number of lines before the first row of data
    decimal_comma: bool
    notes: list[str]
    roles: dict[str, str]  # that the header gives to columns

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.numeric)


def sniff_layout(head: str, complete: bool, content: Content) -> Layout:
    """Find out from the first lines how a table is written."""
    source = content.source
    lines = split_lines(head)
    start, declared = _skip_comments(lines)
    if start == len(lines):
        raise DataError(f"{source} holds no table; give one row of cells per line.")
    body = lines[start:]
    separator = content.separator or declared or _choose_separator(body, complete)
    records, ends = split_records(body, separator, complete)
    if not records:
        check_quotes("".join(body).encode(), separator, start, source)
        raise DataError(
            f"{source}: line {start + 1} has a cell of more than "
            f"{whole(csv.field_size_limit())} characters, as no name or value has; "
            "separate its cells, or leave that text out."
        )
    width = _usual_width(records)
    check_shape(0, width, content)
    if all(map(_has_single_quotes, records[:_TRIED])) or all(
        map(_SINGLE_QUOTED.match, filter(str.strip, body[:_TRIED]))
    ):
        raise DataError(
            f"{source} has cells in single quotes; replace them by double quotes, or "
            "remove them."
        )
    first, header, row_names = _find_header(records, width)
    for record, line in zip(records[:first], [0, *ends], strict=False):
        is_title = separator == BLANKS and not any(map(is_number, record))
        if len(record) > width and not is_title:
            raise DataError(
                f"{source}: line {start + line + 1} has {len(record)} cells where most "
                f"lines have {width}; give every line the same number of cells."
            )
    commented = header.names is None and _commented_header(
        lines, start, separator, records[first]
    )
    if commented:
        header = Header(0, 0, commented)
    first += header.titles
    notes = _preamble_notes(lines, start, declared, ends[first - 1] if first else 0)
    notes += header.notes
    data_from = first + header.lines
    if data_from == len(records) and complete:
        check_quotes("".join(body).encode(), separator, start, source)
        raise DataError(f"{source} has a header but no rows; give at least one row.")
    decimal_comma = content.decimal == ","
    if content.decimal is None:
        decimal_comma = separator != "," and has_decimal_comma(records[data_from:])
    named = f"separator {name_separator(separator)}"
    how = [named if width > 1 else "one cell in each line"]
    how += ["decimal comma"] if decimal_comma else []
    if commented:
        how.append("header in a comment line")
    elif header.lines > 1:
        how.append(f"header of {header.lines} lines")
    else:
        how.append("no header" if header.names is None else "first line is a header")
    notes.append(Note("text read", ", ".join(how), separator=separator))
    numeric = numeric_columns(records[data_from : data_from + SAMPLE], width)
    words = [record[0] for record in records[data_from:] if width == 1]
    divisible = sum(bool(_MARK_IN_CELL.search(word.strip())) for word in words)
    if divisible > len(words) / 2 and not numeric[0] and content.separator is None:
        notes.append(
            "Each line is read as one cell, because neither comma, semicolon, tab, "
            "bar, caret nor tilde is in all of them; if a line holds several cells, "
            "write one of these between them."
        )
    if row_names:
        notes.append("The header names one column less; the first holds row names.")
    return Layout(
        separator,
        header.names,
        numeric,
        start + (ends[data_from - 1] if data_from else 0),
        decimal_comma,
        notes,
        header.roles,
    )


def _has_single_quotes(record: list[str]) -> bool:
    """Say whether words, or all cells, are enclosed in single quotes."""
    cells = [cell.strip() for cell in record if cell.strip()]
    plain = [c for c in cells if len(c) < 2 or not c[0] == c[-1] == "'"]
    return len(plain) < len(cells) and not any(map(is_word, plain))


def _skip_comments(lines: list[str]) -> tuple[int, str | None]:
    """Return the first line that is no comment, and a separator declared by "sep="."""
    at, declared = 0, None
    while at < len(lines):
        line = lines[at].strip()
        found = re.fullmatch(r'"?sep=(.)"?', lines[at].rstrip("\r\n"), re.IGNORECASE)
        if found and found.group(1) in SEPARATORS:
            declared = found.group(1)
        elif line and not line.startswith(_COMMENT):
            break
        at += 1
    return at, declared


def _choose_separator(lines: list[str], complete: bool) -> str:
    """Choose the separator that stands in every line, the header among them.

    Of several, the mark that is rarest in words and numbers is the clearest.
    """
    sample = lines[:SAMPLE]
    complete = complete and len(sample) == len(lines)
    splits = {m: split_records(sample, m, complete)[0] for m in _CLEAREST_FIRST}
    if _is_column_of_decimals(sample):
        del splits[","]
    fits = {mark: _fit(records) for mark, records in splits.items()}
    viable = {mark: fit for mark, fit in fits.items() if fit is not None}
    within_cells = "\t" in viable and not holds_several_numbers(splits["\t"])
    quoted = sum(line.startswith('"') for line in sample) > len(sample) / 2
    if within_cells or not (quoted or _number_share(splits[BLANKS]) >= 0.5):
        viable.pop(BLANKS, None)
    if not viable:
        unused = (m for m in (*SEPARATORS, "\x1f") if not any(m in x for x in lines))
        return next(unused, ",")
    others = [mark for mark in viable if mark not in (",", BLANKS)]
    if any(viable[m][-1] == 1 and not _holds(splits[m], ",") for m in others):
        viable.pop(",", None)  # all commas are decimal marks
    best = max(
        viable,
        key=lambda mark: (mark != BLANKS and viable[mark][-1] == 1, viable[mark]),
    )
    between_numbers = (
        BLANKS in viable
        and viable[BLANKS] >= viable[best]
        and holds_several_numbers(splits[best])
        and not _holds(splits[BLANKS], best)
    )
    return BLANKS if between_numbers else best


def _fit(records: list[list[str]]) -> tuple[bool, float, float] | None:
    """Return how well lines are split; None if most are not split alike.

    The parts, from the most telling one: whether names stand above numbers, the share
    of records of the usual width from the first to the last of them, and among all.
    """
    width = _usual_width(records)
    fitting = [k for k, record in enumerate(records) if len(record) == width]
    if width < 2 or len(fitting) < 0.5 * len(records):
        return None
    first, header, _ = _find_header(records[:_TRIED], width)
    named = header.names is not None and any(numeric_columns(records[first:], width))
    between = fitting[-1] - fitting[0] + 1
    return named, len(fitting) / between, len(fitting) / len(records)


def _is_column_of_decimals(lines: list[str]) -> bool:
    """Say whether lines with a comma are a number each, and others lack a comma."""
    cells = [cell for line in lines if (cell := line.strip().strip('"'))]
    first = next((k for k, cell in enumerate(cells) if "," in cell), len(cells))
    column = cells[first:]
    with_comma = [cell for cell in column if "," in cell]
    return (
        bool(with_comma)
        and len(with_comma) < len(cells)
        and all(map(_COMMA_NUMBER.fullmatch, with_comma))
        and not any(map(is_word, set(column) - set(with_comma)))
    )


def holds_several_numbers(records: list[list[str]]) -> bool:
    """Say whether a cell holds numbers with blanks between them."""
    cells = [cell.split() for record in records[:_TRIED] for cell in record]
    return any(len(parts) > 1 and all(map(is_number, parts)) for parts in cells)


def _holds(records: list[list[str]], mark: str) -> bool:
    """Say whether a mark stands in a cell, other than as decimal comma."""
    cells = [cell for record in records[:_TRIED] for cell in record]
    return any(mark in cell and not _COMMA_NUMBER.fullmatch(cell) for cell in cells)


def _usual_width(records: list[list[str]]) -> int:
    """Return the most frequent number of cells, the larger of two."""
    counts = Counter(map(len, records))
    return max(counts, key=lambda width: (counts[width], width), default=0)


def _number_share(records: list[list[str]]) -> float:
    """Return the share of numbers among numbers and words below the first record."""
    cells = [cell for record in records[1 : _TRIED + 1] or records for cell in record]
    n_numbers = sum(map(is_number, cells))
    return n_numbers / max(n_numbers + sum(map(is_word, cells)), 1)


def _find_header(records: list[list[str]], width: int) -> tuple[int, Header, bool]:
    """Find the header among records; it may lack the name of the row names.

    Returns where the table begins, the header, and whether it lacks that name.
    """
    declared = declared_header(records)
    if declared is not None and len(declared.names or []) == width:
        return 0, declared, False
    ruled = ruled_names(records)
    if ruled is not None and len(records[ruled]) == width:
        return ruled, find_header(records[ruled:], width), False
    at = units_line(records)
    if at is not None:
        others = [*records[:at], *records[at + 1 :]]
        first, header, lacks_one = _find_header(others, width)
        if header.names and first + header.titles + header.lines == at:
            return first, with_units(header, records[at]), lacks_one
    first = next(k for k, record in enumerate(records) if len(record) == width)
    table, above = records[first:], records[first - 1] if first else []
    lacks_one = len(above) == width - 1 and not names_numbers(table, width)
    if lacks_one and (width > 2 or (first == 1 and _has_row_names(table, above[0]))):
        names = [name.strip() for name in above]
        if all(not r[-1].strip() for r in table if len(r) == width):
            return first - 1, Header(0, 1, [*names, ""]), False
        return first - 1, Header(0, 1, ["row name", *names]), True
    return first, find_header(table, width), False


def _has_row_names(records: list[list[str]], name: str) -> bool:
    """Say whether different words stand beside the numbers of a column of one name."""
    rows = [record for record in records if len(record) == 2]
    words = {row[0] for row in rows if is_word(row[0])}
    numbers = all(is_number(row[1]) for row in rows)
    return numbers and len(words) == len(rows) and len(name.split()) == 1


def _commented_header(
    lines: list[str], start: int, separator: str, below: list[str]
) -> list[str] | None:
    """Return the names in a comment line right above a row of data, if it has them."""
    width = len(below)
    if start == 0 or width < 2 or not any(map(is_number, below)):
        return None
    if not lines[start - 1].lstrip().startswith(_COMMENT):
        return None  # blank, or the line that declares the separator
    line = lines[start - 1].strip().lstrip("#%/! ")
    names = split_records([line], separator, True)[0]
    if len(names) != 1 or len(names[0]) != width or any(map(is_number, names[0])):
        return None
    return [name.strip() for name in names[0]]


def _preamble_notes(
    lines: list[str], start: int, declared: str | None, skipped: int
) -> list[str]:
    """Say which lines before the table were left out."""
    comments = sum(bool(line.strip()) for line in lines[:start]) - bool(declared)
    notes = (
        [f"{count(comments, 'comment line')} before the table skipped."]
        if comments
        else []
    )
    if skipped:
        text = lines[start].strip()[:60]
        notes.append(
            f"{count(skipped, 'line')} before the table skipped, the first {text!r}."
        )
    return notes


def has_decimal_comma(records: list[list[str]]) -> bool:
    """Say whether numbers in a table not separated by commas use a decimal comma.

    So they do where points group thousands.
    """
    cells = [cell.strip() for record in records[:SAMPLE] for cell in record]
    numbers = [cell for cell in cells if _COMMA_NUMBER.fullmatch(cell)]
    commas = [cell.strip("()") for cell in cells if "," in cell]
    amounts = [value for cell in commas if (value := amount(cell)) != cell]
    if not all(map(_THOUSANDS.fullmatch, numbers)) or any(
        _COMMA_NUMBER.fullmatch(value) and not _THOUSANDS.fullmatch(value)
        for value in amounts
    ):
        return True
    if numbers:
        return not any(map(_POINT_NUMBER.fullmatch, cells))
    return _have_points_between_thousands(records[:SAMPLE], cells)


def _have_points_between_thousands(
    records: list[list[str]], cells: Sequence[str]
) -> bool:
    """Say whether all points stand between thousands, as a column shows.

    One of its numbers has two points; or several have one, and others are less than a
    thousand, while fractions of three digits would not all end in another digit than 0.
    """
    values = [amount(cell) for cell in cells if "." in cell]
    if any(map(_POINT_FRACTION.fullmatch, values)):
        return False
    for column in zip_longest(*records, fillvalue=""):
        numbers = [amount(cell) for cell in column if not is_missing(cell)]
        addresses = all(re.fullmatch(ADDRESS, number) for number in numbers)
        if addresses or not all(map(_POINT_THOUSANDS.fullmatch, numbers)):
            continue
        n_points = [number.count(".") for number in numbers]
        small = {number for number in numbers if "." not in number} - {"0"}
        n_pointed = len(n_points) - n_points.count(0)
        if max(n_points, default=0) > 1 or (n_pointed > 4 and len(small) > 1):
            return True
    return False
