"""Delimited text: find out how it is written, then read all cells as text.

The first lines decide on separator, preamble, header and decimal mark; every decision
becomes a note. Arrow then splits the whole text in linear time.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv

from clusterlens.compute._validation import DataError
from clusterlens.compute.formatting import count, whole
from clusterlens.compute.notes import Note
from clusterlens.compute.table._binary import (
    CELL_BYTES,
    Content,
    Parsed,
    check_shape,
    too_large,
)
from clusterlens.compute.table._cells import ADDRESS
from clusterlens.compute.table._encoding import to_utf8
from clusterlens.compute.table._header import (
    MOST_LINES,
    SAMPLE,
    Header,
    amount,
    count_footer,
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

SEPARATORS = {
    ",": "comma",
    ";": "semicolon",
    "\t": "tab",
    "|": "vertical bar",
    "^": "caret",
    "~": "tilde",
}
BLANKS = " "  # stands for one or more blanks

# The rarer a mark is within words and numbers, the clearer it separates.
_CLEAREST_FIRST = ("\t", "|", "^", "~", ";", ",", BLANKS)
_MARKS = [mark.encode() for mark in (*SEPARATORS, BLANKS)]
_HEAD = 1 << 18
_LONGEST_LINE = 1 << 24
_FOOT = 1 << 14
_TRIED = 100  # records that decide on the separator
_BLOCK = 1 << 24
_COMMENT = ("#", "%", "//", "!")
_CONTROLS = sorted(set(range(32)) - {9, 10, 11, 12, 13})
_MARK_IN_CELL = re.compile(r"[^\w.-]")
_ANY_MARK = re.escape("".join(SEPARATORS))
_FORMULA_TEXT = re.compile(
    rf'(?m)(?:^|(?<=[{_ANY_MARK}]))=("[^"\r\n]{{0,1000}}+")(?=[{_ANY_MARK}\r\n]|\Z)'.encode()
)
_SINGLE_QUOTED = re.compile(rf" *+'[^']*+' *+[{_ANY_MARK}]")
_BETWEEN_CELLS = re.compile(rb'(?<!\S)("[^"]*+(?:""[^"]*+)*+")(?!\S)|[ \t]++')
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


class TextSize:
    """Bounds the lines and cells of text that comes in pieces, without splitting it.

    Parameters
    ----------
    content : Content
        What to call the text, and its limits.
    """

    def __init__(self, content: Content) -> None:
        self._content = content
        self._lines = self._cells = 0

    def add(self, piece: bytes) -> None:
        """Count a piece; refuse the text if that makes it too large."""
        returns = piece.count(b"\r")
        lines = piece.count(b"\n") + (returns and returns - piece.count(b"\r\n"))
        self._lines += lines
        self._cells += lines + max(piece.count(mark) for mark in _MARKS)
        check_shape(self._lines, 0, self._content, "line")
        n_bytes, limit = CELL_BYTES * self._cells, self._content.limit
        if n_bytes > limit:
            cells = f"may have {whole(self._cells)} cells, in memory"
            raise too_large(self._content.source, n_bytes, limit, cells)


def read_delimited(content: Content) -> Parsed:
    """Return the cells (n, d) as text, with notes on how they were written."""
    TextSize(content).add(content.data)
    source = content.source
    utf8, encoding_note = to_utf8(content.data, source, content.encoding)
    _check_text(utf8, source)
    n_formulas = 0
    if b'="' in utf8:
        utf8, n_formulas = _FORMULA_TEXT.subn(rb"\1", utf8)
    head, complete = _head(utf8, source)
    layout = sniff_layout(head, complete, content)
    separator = layout.separator
    offset = sum(len(line.encode()) for line in _lines(head)[: layout.first_line])
    body = utf8[offset:]
    notes = [*layout.notes, encoding_note]
    if n_formulas:
        cells = count(n_formulas, "cell")
        notes.append(f'{cells} written as ="..." read as the text in the quotes.')
    if separator == BLANKS:
        body = b"".join(_tabbed(row) + b"\n" for row in body.splitlines())
        separator = "\t"
    elif _has_blanks_around_quotes(body, separator):
        body = _without_blanks_around_quotes(body.decode(), separator).encode()
        notes.append("Blanks around quoted cells left out.")
    body, footer_notes = _without_footer(body, separator, layout)
    notes += footer_notes + check_quotes(body, separator, layout.first_line, source)
    if layout.width == 1 and b'"' not in body:
        n_blank = sum(not line.strip() for line in body.strip().splitlines())
        lines = count(n_blank, "blank line")
        note = f"{lines} left out; write NA where a value is missing."
        notes += [note] * bool(n_blank)
    body = _without_blank_lines(body, separator)
    frame = _read_cells(body, separator, layout, content)
    frame.columns = pd.Index(
        layout.names or [f"column {j}" for j in range(1, layout.width + 1)],
        dtype=object,
    )
    return Parsed(frame, notes, layout.decimal_comma, layout.roles, is_text=True)


def sniff_layout(head: str, complete: bool, content: Content) -> Layout:
    """Find out from the first lines how a table is written."""
    source = content.source
    lines = _lines(head)
    start, declared = _skip_comments(lines)
    if start == len(lines):
        raise DataError(f"{source} holds no table; give one row of cells per line.")
    body = lines[start:]
    separator = content.separator or declared or _choose_separator(body, complete)
    records, ends = _split(body, separator, complete)
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
    how = [f"separator {_name(separator)}" if width > 1 else "one cell in each line"]
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


def _check_text(text: bytes, source: str) -> None:
    """Raise an error if the content is not text."""
    sample = text[:_HEAD]
    controls = sum(sample.count(bytes([code])) for code in _CONTROLS)
    if b"\0" in text or controls > 0.02 * len(sample):
        raise DataError(
            f"{source} is not a text table: it holds binary data; give CSV, TSV, "
            "ARFF, Parquet, .npy, .npz or .xlsx."
        )


def _head(utf8: bytes, source: str) -> tuple[str, bool]:
    """Return the first whole lines, and whether that is all."""
    if len(utf8) <= _HEAD:
        return utf8.decode(), True
    size = _HEAD
    while size <= _LONGEST_LINE:
        for line_end in (b"\n", b"\r"):
            if (cut := utf8.rfind(line_end, 0, size)) >= 0:
                return utf8[: cut + 1].decode(), False
        size *= 4
    if len(utf8) <= _LONGEST_LINE:
        return utf8.decode(), True
    raise DataError(
        f"{source} has no line end within its first {whole(_LONGEST_LINE)} bytes; give "
        "one row of cells per line."
    )


def _lines(text: str) -> list[str]:
    """Split text at line ends, which stay."""
    return list(io.StringIO(text, newline=""))


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


def _split(
    lines: list[str], separator: str, complete: bool
) -> tuple[list[list[str]], list[int]]:
    """Split lines into records; also count the lines up to the end of each one."""
    if separator == BLANKS:
        lines = [_tabbed(line.encode()).decode() for line in lines]
        separator = "\t"
    else:
        lines = _lines(_without_blanks_around_quotes("".join(lines), separator))
    reader = csv.reader(lines, delimiter=separator)
    pairs = []
    try:
        for record in reader:
            pairs.append((record, reader.line_num))
    except csv.Error:
        complete = True  # the last record is not in the list
    if not complete and len(pairs) > 1:
        pairs.pop()
    pairs = [(record, end) for record, end in pairs if record]
    return [record for record, _ in pairs], [end for _, end in pairs]


def _tabbed(row: bytes) -> bytes:
    """Return a line with a tab in place of the blanks between its cells."""
    if b'"' not in row:
        return b"\t".join(row.split())
    return _BETWEEN_CELLS.sub(lambda found: found[1] or b"\t", row.strip())


def _has_blanks_around_quotes(body: bytes, separator: str) -> bool:
    """Say whether blanks may stand between a separator and a quote."""
    mark = separator.encode()
    return any(text in body for text in (mark + b' "', b'" ' + mark))


def _without_blanks_around_quotes(text: str, separator: str) -> str:
    """Remove blanks between the quotes of a cell and its separators."""
    if not _has_blanks_around_quotes(text.encode(), separator):
        return text
    end = rf"[{re.escape(separator)}\r\n]"
    quoted = r'"[^"]*+(?:""[^"]*+)*+"'
    return re.sub(rf"(\A|{end}) *+({quoted}) *+(?={end}|\Z)", r"\1\2", text)


def _choose_separator(lines: list[str], complete: bool) -> str:
    """Choose the separator that stands in every line, the header among them.

    Of several, the mark that is rarest in words and numbers is the clearest.
    """
    sample = lines[:SAMPLE]
    complete = complete and len(sample) == len(lines)
    splits = {mark: _split(sample, mark, complete)[0] for mark in _CLEAREST_FIRST}
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
    names = _split([line], separator, True)[0]
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


def _name(separator: str) -> str:
    """Name a separator for a note."""
    if separator == BLANKS:
        return "blanks"
    return f"{separator!r}" if separator != "\t" else "tab"


def _read_cells(
    body: bytes, separator: str, layout: Layout, content: Content
) -> pd.DataFrame:
    """Split the rows of data (n, d) into text cells, a block of bytes at a time."""
    names = [str(j) for j in range(layout.width)]
    file, batches = pa.BufferReader(body), []
    try:
        reader = pa_csv.open_csv(
            file,
            read_options=pa_csv.ReadOptions(
                column_names=names, block_size=max(_BLOCK, _longest_line(body))
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=separator, newlines_in_values=b'"' in body
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
        for batch in reader:
            content.run.raise_if_cancelled()
            batches.append(batch)
            content.run.report(file.tell(), len(body))
    except pa.ArrowInvalid as error:
        where = _ragged_line(body, separator, layout)
        raise DataError(f"{content.source}: {where or error}") from error
    return pa.Table.from_batches(batches, reader.schema).to_pandas()


def _without_footer(
    body: bytes, separator: str, layout: Layout
) -> tuple[bytes, list[str]]:
    """Remove the lines below the last row of data, and say so."""
    tail = body[-_FOOT:]
    lines = tail.splitlines(keepends=True)[len(tail) < len(body) :][-MOST_LINES:]
    within = [k for k, line in enumerate(lines) if line.count(b'"') % 2]
    lines = lines[within[-1] + 1 if within else 0 :]  # no line of a quoted cell
    texts = [line.decode(errors="replace") for line in lines]
    records = [next(csv.reader([text], delimiter=separator), []) for text in texts]
    n_lines = count_footer(records, layout.numeric)
    if n_lines == 0:
        return body, []
    size = sum(map(len, lines[-n_lines:]))
    filled = [text.strip() for text in texts[-n_lines:] if text.strip()]
    return body[:-size], [
        f"{count(len(filled), 'line')} below the table left out, the first "
        f"{filled[0][:60]!r}."
    ]


def _without_blank_lines(body: bytes, separator: str) -> bytes:
    """Remove lines of blanks; where cells are quoted, only those at the end."""
    blanks = b" " if separator == "\t" else b" \t"
    at_end = len(body.rstrip(blanks + b"\r\n"))
    line_end = re.compile(rb"\r\n|\r|\n").search(body, at_end)
    body = body[: line_end.end()] if line_end else body
    if b'"' not in body and (b"\n " in body or b"\n\t" in body):
        body = re.sub(rb"(?<=\n)[" + blanks + rb"]++\r?\n", b"", body)
    return body


def _longest_line(body: bytes) -> int:
    """Bound the bytes of a block so that no line straddles two of them."""
    return 0 if len(body) <= _BLOCK else min(len(body), 4 * _BLOCK)


def _ragged_line(body: bytes, separator: str, layout: Layout) -> str | None:
    """Name the first line with the wrong number of cells."""
    text = io.StringIO(body.decode(errors="replace"), newline="")
    reader = csv.reader(text, delimiter=separator)
    before = 0
    try:
        for record in reader:
            if record and len(record) != layout.width:
                return (
                    f"line {layout.first_line + before + 1} has {len(record)} cells "
                    f"where the others have {layout.width} (separator "
                    f"{_name(layout.separator)}); correct the line, or put cells that "
                    "contain the separator in double quotes."
                )
            before = reader.line_num
    except csv.Error as error:
        return f"line {layout.first_line + before + 1} cannot be split ({error})."
    return None
