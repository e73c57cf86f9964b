"""Splitting lines of text into cells, at a separator or at blanks."""

from __future__ import annotations

import csv
import io
import re

SEPARATORS = {
    ",": "comma",
    ";": "semicolon",
    "\t": "tab",
    "|": "vertical bar",
    "^": "caret",
    "~": "tilde",
}
ANY_MARK = re.escape("".join(SEPARATORS))  # within brackets of a pattern
BLANKS = " "  # stands for one or more blanks
_BETWEEN_CELLS = re.compile(rb'(?<!\S)("[^"]*+(?:""[^"]*+)*+")(?!\S)|[ \t]++')


def split_lines(text: str) -> list[str]:
    """Split text at line ends, which stay."""
    return list(io.StringIO(text, newline=""))


def split_records(
    lines: list[str], separator: str, complete: bool
) -> tuple[list[list[str]], list[int]]:
    """Split lines into records; also count the lines up to the end of each one."""
    if separator == BLANKS:
        lines = [tabbed(line.encode()).decode() for line in lines]
        separator = "\t"
    else:
        lines = split_lines(without_blanks_around_quotes("".join(lines), separator))
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


def tabbed(row: bytes) -> bytes:
    """Return a line with a tab in place of the blanks between its cells."""
    if b'"' not in row:
        return b"\t".join(row.split())
    return _BETWEEN_CELLS.sub(lambda found: found[1] or b"\t", row.strip())


def has_blanks_around_quotes(body: bytes, separator: str) -> bool:
    """Say whether blanks may stand between a separator and a quote."""
    mark = separator.encode()
    return any(text in body for text in (mark + b' "', b'" ' + mark))


def without_blanks_around_quotes(text: str, separator: str) -> str:
    """Remove blanks between the quotes of a cell and its separators."""
    if not has_blanks_around_quotes(text.encode(), separator):
        return text
    end = rf"[{re.escape(separator)}\r\n]"
    quoted = r'"[^"]*+(?:""[^"]*+)*+"'
    return re.sub(rf"(\A|{end}) *+({quoted}) *+(?={end}|\Z)", r"\1\2", text)


def name_separator(separator: str) -> str:
    """Name a separator for a note."""
    if separator == BLANKS:
        return "blanks"
    return f"{separator!r}" if separator != "\t" else "tab"
