"""Delimited text: find out how it is written, then read all cells as text.

The first lines decide on separator, preamble, header and decimal mark; every decision
becomes a note. Arrow then splits the whole text in linear time.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise, takewhile

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv

from clusterlens.compute._numbers import count, whole
from clusterlens.compute._validation import DataError
from clusterlens.compute.notes import Note
from clusterlens.compute.table._binary import (
    CELL_BYTES,
    Content,
    Parsed,
    check_shape,
    too_large,
)
from clusterlens.compute.table._cells import MISSING_NUMBERS
from clusterlens.compute.table._encoding import to_utf8
from clusterlens.compute.table._quotes import check_quotes

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
BLANKS = " "  # stands for one or more blanks

_MARKS = [mark.encode() for mark in (*SEPARATORS, BLANKS)]
_HEAD = 1 << 18
_LONGEST_LINE = 1 << 24
_SAMPLE = 500
_TITLE_ROWS = 20
_MOST_HEADERS = 2  # lines of words of one table: names, and perhaps units
_BLOCK = 1 << 24
_COMMENT = ("#", "%", "//")
_CONTROLS = sorted(set(range(32)) - {9, 10, 11, 12, 13})
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?%?")
_WHOLE = re.compile(r"\s*-?\d*\s*")
_COMMA_NUMBER = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+),\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")


@dataclass(frozen=True)
class Layout:
    """How a text table is written."""

    separator: str
    names: list[str] | None  # None: no header
    width: int
    first_line: int  # number of lines before the first row of data
    decimal_comma: bool
    notes: list[str]


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
    head, complete = _head(utf8, source)
    layout = sniff_layout(head, complete, content)
    separator = layout.separator
    offset = sum(len(line.encode()) for line in _lines(head)[: layout.first_line])
    body = utf8[offset:]
    notes = [*layout.notes, encoding_note]
    if separator == BLANKS:
        body = b"".join(b"\t".join(row.split()) + b"\n" for row in body.splitlines())
        separator = "\t"
    else:
        notes += check_quotes(body, separator, layout.first_line, source)
        body = _without_blank_lines(body, separator)
    frame = _read_cells(body, separator, layout, content)
    frame.columns = pd.Index(
        layout.names or [f"column {j}" for j in range(1, layout.width + 1)],
        dtype=object,
    )
    return Parsed(frame, notes, layout.decimal_comma)


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
    first, row_names = _first_record(records, width)
    titles = title_rows(records[first:], width)
    first += titles
    for record, line in zip(records[: first - titles], [0, *ends], strict=False):
        is_title = separator == BLANKS and not any(map(_is_number, record))
        if len(record) > width and not is_title:
            raise DataError(
                f"{source}: line {start + line + 1} has {len(record)} cells where most "
                f"lines have {width}; give every line the same number of cells."
            )
    names = _commented_header(lines, start, separator, records[first])
    commented = names is not None
    names = names or find_header(records[first:], width, row_names)
    notes = _preamble_notes(lines, start, declared, ends[first - 1] if first else 0)
    data_from = first + (names is not None and not commented)
    if data_from == len(records) and complete:
        check_quotes("".join(body).encode(), separator, start, source)
        raise DataError(f"{source} has a header but no rows; give at least one row.")
    decimal_comma = content.decimal == ","
    if content.decimal is None:
        decimal_comma = separator != "," and _has_decimal_comma(records[data_from:])
    how = [f"separator {_name(separator)}"]
    how += ["decimal comma"] if decimal_comma else []
    header = "header in a comment line" if commented else "first line is a header"
    how += [header if names is not None else "no header"]
    notes.append(Note("text read", ", ".join(how), separator=separator))
    if row_names:
        notes.append("The header names one column less; the first holds row names.")
    first_line = start + (ends[data_from - 1] if data_from else 0)
    return Layout(separator, names, width, first_line, decimal_comma, notes)


def _check_text(text: bytes, source: str) -> None:
    """Refuse what is no text."""
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
        pairs = [(line.split(), k) for k, line in enumerate(lines, start=1)]
    else:
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


def _choose_separator(lines: list[str], complete: bool) -> str:
    """Choose the separator that splits the lines evenly into clean cells."""
    sample = lines[:_SAMPLE]
    complete = complete and len(sample) == len(lines)
    candidates = {mark: _split(sample, mark, complete)[0] for mark in SEPARATORS}
    blanks = _split(sample, BLANKS, complete)[0]
    if _usual_width(blanks) > 1 and _number_share(blanks) >= 0.5:
        candidates[BLANKS] = blanks
    viable = {}
    for mark, records in candidates.items():
        width = _usual_width(records)
        even = sum(len(record) == width for record in records) / max(len(records), 1)
        if width > 1 and even >= 0.5:
            viable[mark] = (even, width)
    if "\t" in viable and not _holds_several_numbers(candidates["\t"]):
        viable.pop(BLANKS, None)  # blanks stand within the cells
    if not viable:
        unused = (m for m in (*SEPARATORS, "\x1f") if not any(m in x for x in lines))
        return next(unused, ",")

    def quality(mark: str) -> tuple[float, int]:
        others = [other for other in viable if other != mark]
        return round(viable[mark][0] * _clean_share(candidates[mark], others), 2), (
            viable[mark][1]
        )

    return max(viable, key=quality)


def _holds_several_numbers(records: list[list[str]]) -> bool:
    """Say whether a cell holds numbers with blanks between them."""
    cells = [cell.split() for record in records[:100] for cell in record]
    return any(len(parts) > 1 and all(map(_is_number, parts)) for parts in cells)


def _usual_width(records: list[list[str]]) -> int:
    """Return the most frequent number of cells, the larger of two."""
    counts = Counter(map(len, records))
    return max(counts, key=lambda width: (counts[width], width), default=0)


def _clean_share(records: list[list[str]], others: list[str]) -> float:
    """Return the share of cells that no other separator would split."""
    cells = [cell.strip() for record in records[:100] for cell in record]
    clean = sum(
        not any(mark in cell for mark in others) or bool(_COMMA_NUMBER.fullmatch(cell))
        for cell in cells
    )
    return clean / max(len(cells), 1)


def _number_share(records: list[list[str]]) -> float:
    """Return the share of cells after the first record that are numbers."""
    cells = [cell for record in records[1:101] or records for cell in record]
    return sum(_is_number(cell) for cell in cells) / max(len(cells), 1)


def _is_number(cell: str) -> bool:
    """Say whether a cell is a number in any of the usual styles."""
    return bool(_NUMBER.fullmatch(cell.strip()))


def _first_record(records: list[list[str]], width: int) -> tuple[int, bool]:
    """Return where the table begins, and whether its header lacks the row names."""
    first = next(k for k, record in enumerate(records) if len(record) == width)
    if first and len(records[first - 1]) == width - 1 and width > 2:
        trailing = all(not r[-1].strip() for r in records[first:] if len(r) == width)
        if not _names_numbers(records[first:], width):  # else a title stands above
            return first - 1, not trailing
    return first, False


def find_header(
    records: list[list[str]], width: int, row_names: bool = False
) -> list[str] | None:
    """Return the names in the first record, or None if it is a row of data."""
    first, body = [c.strip() for c in records[0]], records[1:_SAMPLE]
    if len(first) < width:
        return ["row name", *first] if row_names else [*first, ""]
    if not body:
        return None if any(map(_is_number, first)) else first
    columns = [[r[j].strip() for r in body if len(r) == width] for j in range(width)]
    if _names_numbers(records, width):
        return first
    if any(map(_is_number, first)):
        # Among nothing but whole numbers, 0, 1, 2 may as well be a row of data.
        whole = all(_WHOLE.fullmatch(cell) for row in records for cell in row)
        return first if _counts_up(first) and not whole else None
    recurs = any(name in column for name, column in zip(first, columns, strict=True))
    return first if len(set(first)) == width and not recurs else None


def title_rows(records: list[list[str]], width: int) -> int:
    """Count the leading records that are a title or blank, above a full header.

    A title fills at most half of the cells, from the first one, or a single one. One
    with a number may be data, unless names stand above columns of numbers below it. Of
    three or more lines of words above columns of numbers the last is the header.
    """
    words = _words_above_numbers(records, width)
    if words > _MOST_HEADERS and len({*map(str.strip, records[words - 1])}) == width:
        return words - 1
    numbers = False
    for k, record in enumerate(records[:_TITLE_ROWS]):
        filled = [cell.strip() for cell in record if cell.strip()]
        if len(filled) == len(record) == width > 1:
            named = _names_numbers(records[k:], width) and all(map(_is_word, filled))
            if not (named or numbers):
                named = find_header(records[k:], width) is not None
            return k if named and len(records) > k + 1 else 0
        from_first = bool(record) and bool(record[0].strip())
        single = len(filled) <= 1 and width > 2
        if len(filled) > max(1, width // 2) or not (from_first or single):
            return 0
        numbers = numbers or any(map(_is_number, filled))
    return 0


def _names_numbers(records: list[list[str]], width: int) -> bool:
    """Say whether a name stands in the first record above a column of numbers."""
    body = [r for r in records[1:_SAMPLE] if len(r) == width]
    return any(
        _is_word(name.strip())
        and sum(_is_number(r[j]) for r in body) > 0.5 * max(len(body), 1)
        for j, name in enumerate(records[0])
    )


def _words_above_numbers(records: list[list[str]], width: int) -> int:
    """Count the leading records with a word in a column of numbers."""
    body = [r for r in records[:_SAMPLE] if len(r) == width]
    numeric = [
        j for j in range(width) if sum(_is_number(r[j]) for r in body) > len(body) / 2
    ]
    leading = takewhile(
        lambda r: any(_is_word(r[j].strip()) for j in numeric if j < len(r)),
        records[: _TITLE_ROWS + 1],
    )
    return len(list(leading))


def _is_word(cell: str) -> bool:
    """Say whether a cell is neither blank, a number nor a word for "missing"."""
    return bool(cell) and not _is_number(cell) and cell.lower() not in MISSING_NUMBERS


def _counts_up(cells: list[str]) -> bool:
    """Say whether the numbers among cells rise by one, as 0, 1, 2 or years would."""
    digits = [int(cell) for cell in cells if cell.isdecimal()]
    others = [cell for cell in cells if _is_number(cell) and not cell.isdecimal()]
    steps = {b - a for a, b in pairwise(digits)}
    return len(digits) > 1 and steps == {1} and not others


def _commented_header(
    lines: list[str], start: int, separator: str, below: list[str]
) -> list[str] | None:
    """Return the names in a comment line right above a row of data, if it has them."""
    width = len(below)
    if start == 0 or width < 2 or not any(map(_is_number, below)):
        return None
    if not lines[start - 1].lstrip().startswith(_COMMENT):
        return None  # blank, or the line that declares the separator
    line = lines[start - 1].strip().lstrip("#%/ ")
    names = _split([line], separator, True)[0]
    if len(names) != 1 or len(names[0]) != width or any(map(_is_number, names[0])):
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


def _has_decimal_comma(records: list[list[str]]) -> bool:
    """Say whether numbers in a table not separated by commas use a decimal comma."""
    cells = [c.strip() for record in records[:_SAMPLE] for c in record if "," in c]
    numbers = [cell for cell in cells if _COMMA_NUMBER.fullmatch(cell)]
    points = any(
        re.fullmatch(r"[+-]?\d+\.\d*[1-9]\d*", c.strip()) and c.count(".") == 1
        for record in records[:_SAMPLE]
        for c in record
        if not re.fullmatch(r"[+-]?\d{1,3}\.\d{3}", c.strip())
    )
    clear = [cell for cell in numbers if not _THOUSANDS.fullmatch(cell)]
    return bool(clear) or (bool(numbers) and not points)


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


def _without_blank_lines(body: bytes, separator: str) -> bytes:
    """Remove lines of blanks; where cells are quoted, only those at the end."""
    blanks = b" " if separator == "\t" else b" \t"
    at_end = len(body.rstrip(blanks + b"\r\n"))
    line_end = re.compile(rb"\r\n|\r|\n").search(body, at_end)
    body = body[: line_end.end()] if line_end else body
    if b'"' not in body and (b"\n " in body or b"\n\t" in body):
        body = re.sub(rb"(?<=\n)[" + blanks + rb"]+\r?\n", b"", body)
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
                    f"{_name(separator)}); correct the line, or put cells that contain "
                    "the separator in double quotes."
                )
            before = reader.line_num
    except csv.Error as error:
        return f"line {layout.first_line + before + 1} cannot be split ({error})."
    return None
