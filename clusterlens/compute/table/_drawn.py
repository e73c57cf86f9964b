"""Tables drawn in text: Markdown, Org, reStructuredText, and the output of databases.

A line of dashes, the rule, divides header and rows. Cells stand between bars, or below
the dashes of their column. Without a rule, columns of fixed width begin where all lines
have a blank before. Every line keeps its number, so errors can name it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise, zip_longest

import pandas as pd
import pyarrow as pa

from clusterlens.compute._validation import DataError
from clusterlens.compute.formatting import count
from clusterlens.compute.table._binary import (
    OBJECT_BYTES,
    Content,
    Parsed,
    check_bytes,
    check_shape,
)
from clusterlens.compute.table._delimited import TextSize
from clusterlens.compute.table._encoding import to_utf8
from clusterlens.compute.table._header import SAMPLE, find_header, names_numbers
from clusterlens.compute.table._layout import has_decimal_comma, holds_several_numbers
from clusterlens.compute.table._splitting import SEPARATORS

_HEAD = 1 << 16
_FIRST_LINES = 30  # the first rule is among these lines that are not blank
_RULE = frozenset("-=+|: \t")
_DASHES = re.compile(r":?(?:-++|=++):?")
_RUN = re.compile(r"[-=]++")
_BAR = re.compile(r"(?<!\\)\|")
_CROSS = re.compile(r"[|+]")
_COUNT = re.compile(
    r"\(?(\d++) (?:rows?|record\(s\))(?: affected| selected| in set.*+)?[.)]?"
)
_WIKI_HEADER = re.compile(r"\|\|[^|]++(?:\|\|[^|]++)*+\|\|")
_RECORD = re.compile(r"\*{3,}+ \d++\. row \*{3,}+|-\[ RECORD \d++ \][-+]*+")
_DOUBLE_BAR = re.compile(r"^\s*+\|\|")
_BOX = re.compile("[│┃║┆┊]")
_WIDE_GAP = re.compile(r"\S  +\S")
# A target and pairs of index and value, as LIBSVM writes; the last may be cut.
_SPARSE_ROW = re.compile(
    r"[+-]?\d\S*+(?: ++(?:qid|\d++):[^\s:]++)++(?: ++\d++:?+)?(?: *+#.*+)?"
)
_PAIR = re.compile(r" (\d++):([^\s:]++)")
_CLOCK = re.compile(r"\d\d?:\d\d")
_HTML = re.compile(r"<t(?:able|r|d|h)\b", re.IGNORECASE)
_LATEX = re.compile(r"(?m)^[ \t]*+\\begin\{(?:long|wide)?(?:tab|table|array)\w*+\*?\}")

# The number of a line, and its cells.
Row = tuple[int, list[str]]


def foreign_drawing(data: bytes) -> tuple[str, str] | None:
    """Name the markup of a text that is not read, with a remedy; None without any."""
    text = first_text(data)
    lines = [line.strip() for line in text.splitlines()[:_FIRST_LINES] if line.strip()]
    if text.lstrip().startswith("<") and _HTML.search(text):
        return "an HTML table", "open it in a spreadsheet and save it as CSV"
    ends = sum(line.endswith("\\\\") and "&" in line for line in lines)
    if _LATEX.search(text) or (lines and ends > len(lines) / 2):
        return "a LaTeX table", "export the table as CSV"
    if _holds_sparse_rows(lines):
        how = "a LIBSVM (SVMlight) file, which names only values that are not zero"
        return how, "load it with scikit-learn and save the table as CSV or Parquet"
    if any(map(_RECORD.fullmatch, lines)):
        return "a list of records with a line for each cell", "export a table as CSV"
    if any(line == "|===" for line in lines):
        return "an AsciiDoc table", "export the table as CSV"
    if sum(bool(_BOX.search(line)) for line in lines) > 1:
        how = "a table drawn with box characters, which may leave rows out"
        return how, "export the table as CSV"
    return None


def _holds_sparse_rows(lines: list[str]) -> bool:
    """Say whether all lines are pairs of rising indices and values, not of a clock."""
    rows = [line for line in lines if not line.startswith("#")]
    if not rows or not all(map(_SPARSE_ROW.fullmatch, rows)):
        return False
    pairs = [_PAIR.findall(line) for line in rows]
    rising = all(int(a) < int(b) for row in pairs for (a, _), (b, _) in pairwise(row))
    texts = [f"{index}:{value}" for row in pairs for index, value in row]
    return rising and bool(texts) and not all(map(_CLOCK.fullmatch, texts))


def is_drawn(data: bytes) -> bool:
    """Say whether text holds a rule beside cells, a header of Jira, or only bars."""
    lines = first_text(data).split("\n")
    is_ruled = _first_rule(lines) is not None
    has_columns = _wiki_header(lines) is not None or _fixed_columns(lines)
    return is_ruled or bool(has_columns) or _is_framed(lines)


def read_drawn(content: Content) -> Parsed:
    """Read the cells (n, d) of a drawn table as text."""
    source = content.source
    TextSize(content).add(content.data)
    utf8, encoding_note = to_utf8(content.data, source, content.encoding)
    lines = utf8.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n")
    at, names_at = _first_rule(lines), _wiki_header(lines)
    at = names_at if at is None else at
    starts = _fixed_columns(lines) if at is None else []
    cut, width = _cutter(lines[at] if at is not None else "")
    if starts:
        cut, width = partial(_at_places, starts=starts), len(starts)
    start, end = _bounds(lines, at)
    if names_at is not None and at == names_at:
        start = at
        lines[start:end] = _with_single_bars(lines[start:end])
    outside = [line for line in lines[:start] + lines[end:] if line.strip()]
    if _first_rule(lines[end:]) is not None or _wiki_header(lines[end:]) is not None:
        raise DataError(f"{source} holds several tables; keep one of them.")
    groups: list[list[Row]] = [[]]
    for number in range(start, end):
        if _rule_width(lines[number]):
            groups.append([])
        elif lines[number].strip():
            groups[-1].append((number + 1, cut(lines[number])))
            if number == at:
                groups.append([])
    groups = [group for group in groups if group]
    width = width or len(groups[0][0][1])
    check_shape(end - start, width, content, "line")
    check_bytes((end - start) * width * OBJECT_BYTES, content)
    _check(groups, width, lines, start, source)
    cells = [row for group in groups for _, row in group]
    if _has_header(groups, lines[start:end]):
        above = [row for _, row in groups[0]]
        names = [" ".join(filter(None, name)) for name in zip_longest(*above)]
        first = len(above)
    else:
        header = find_header(cells[:SAMPLE], width)
        names, first = header.names or [], header.titles + header.lines
        names = names or [f"column {j}" for j in range(1, width + 1)]
    rows = cells[first:]
    if not rows:
        raise DataError(f"{source} has a header but no rows; give at least one row.")
    counts = map(_COUNT.fullmatch, map(str.strip, lines[end:]))
    stated = next(filter(None, counts), None)
    if stated and stated[1] != str(len(rows)):
        raise DataError(
            f"{source} has {count(len(rows), 'row')} above {stated[0][:60]!r}; write "
            "each row on one line, or export the table as CSV."
        )
    columns = [
        pa.array([cell or None for cell in column], pa.string())
        for column in zip(*rows, strict=True)
    ]
    frame = pa.table(columns, [str(j) for j in range(width)]).to_pandas()
    frame.columns = pd.Index(names, dtype=object)
    notes = ["Read as a table drawn in text.", encoding_note]
    if starts:
        notes.append(
            "Blanks in all lines divide the columns, which have a fixed width."
        )
    if outside:
        notes.append(
            f"{count(len(outside), 'line')} around the table left out, the first "
            f"{outside[0].strip()[:60]!r}."
        )
    decimal_comma = content.decimal == "," or (
        content.decimal is None and has_decimal_comma(rows)
    )
    return Parsed(frame, [note for note in notes if note], decimal_comma)


def first_text(data: bytes) -> str:
    """Decode the first lines; what cannot be decoded is replaced."""
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = data[:_HEAD].decode("utf-16" if wide else "utf-8-sig", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _rule_width(line: str) -> int:
    """Count the columns that a line of dashes divides; 0 for any other line."""
    text = line.strip()
    if not text or not _RULE.issuperset(text):
        return 0
    if "|" not in text and "+" not in text:
        runs = text.split()
        is_rule = all(map(_RUN.fullmatch, runs)) and max(map(len, runs)) > 2
        return len(runs) if is_rule else 0
    is_closed = text[0] == text[-1] and text[0] in "|+"
    inner = text.removeprefix(text[0] if text[0] in "|+" else "")
    inner = inner.removesuffix(text[-1] if text[-1] in "|+" else "")
    cells = [cell.strip() for cell in _CROSS.split(inner)]
    shortest = min(map(len, cells))
    is_rule = all(map(_DASHES.fullmatch, cells)) and (shortest > 2 or is_closed)
    return len(cells) if is_rule else 0


def _first_rule(lines: list[str]) -> int | None:
    """Return the first rule beside a line with as many cells."""
    filled = [k for k, line in enumerate(lines) if line.strip()][:_FIRST_LINES]
    for k in filled:
        width = _rule_width(lines[k])
        is_run = width == 1 and _RUN.fullmatch(lines[k].strip())
        if not width or (is_run and not _is_column(lines, k)):
            continue
        if k and 0 < lines[k].count("\t") == lines[k - 1].count("\t"):
            continue  # tabs separate the cells
        cut, _ = _cutter(lines[k])
        for other in (k - 1, k + 1):
            if 0 <= other < len(lines) and _is_row(lines[other], lines[k]):
                cells = cut(lines[other])
                if len(cells) == width and any(cells):
                    return k
    return None


def _is_column(lines: list[str], at: int) -> bool:
    """Say whether a line of dashes divides the name of a column from its cells.

    They are no wider than the dashes. Cells of several numbers, or with the same
    separator in all of them, are a table below an underlined title.
    """
    start, end = _bounds(lines, at)
    rows = [line for line in lines[at + 1 : end] if not _rule_width(line)]
    if (
        start == at
        or not rows
        or len(lines[at].rstrip())
        < max(len(line.rstrip()) for line in (lines[start], *rows))
    ):
        return False
    is_counted = end < len(lines) and _COUNT.fullmatch(lines[end].strip())
    separated = any(all(mark in row for row in rows) for mark in SEPARATORS)
    return bool(is_counted) or not (separated or holds_several_numbers([rows]))


def _is_row(line: str, rule: str) -> bool:
    """Say whether a line may be cells beside a rule."""
    text = line.strip()
    if not text or _rule_width(line) or _COUNT.fullmatch(text):
        return False
    return "|" in line or not ("|" in rule or "+" in rule)


def _wiki_header(lines: list[str]) -> int | None:
    """Return the first header of Jira, names between double bars above a row."""
    filled = [k for k, line in enumerate(lines) if line.strip()][:_FIRST_LINES]
    for k, below in pairwise(filled):
        row = lines[below].strip()
        if _WIKI_HEADER.fullmatch(lines[k].strip()) and row[0] == row[-1] == "|":
            return k
    return None


def _with_single_bars(lines: list[str]) -> list[str]:
    """Write a header of Jira, and the first cells of its rows, with single bars."""
    header, *rows = lines
    rows = [_DOUBLE_BAR.sub("|", row) for row in rows]
    return [header.replace("||", "|"), *rows]


def _is_framed(lines: list[str]) -> bool:
    """Say whether all lines but rules have outer bars and as many cells."""
    filled = [line.strip() for line in lines[:SAMPLE] if line.strip()]
    filled = [line for line in filled if not _rule_width(line)]
    if len(filled) < 2 or not all(t[0] == t[-1] == "|" and len(t) > 2 for t in filled):
        return False
    widths = {len(_between_bars(line)) for line in filled}
    return len(widths) == 1 and widths != {1}


def _cutter(rule: str) -> tuple[Callable[[str], list[str]], int]:
    """Return a function that cuts a line into cells, and their number or 0."""
    width = _rule_width(rule)
    if not width or "|" in rule or "+" in rule:
        return partial(_between_bars, rule=rule.strip() or "||"), width
    starts = [found.start() for found in _RUN.finditer(rule)]
    return partial(_at_places, starts=starts), width


def _at_places(line: str, starts: Sequence[int]) -> list[str]:
    """Split a line where columns begin, unless a word is across such a place."""
    line = line.expandtabs()
    across = [s for s in starts[1:] if line[s - 1 : s].strip()]
    if across or line[: starts[0]].strip():
        return [line.strip()]
    return [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]


def _fixed_columns(lines: list[str]) -> list[int]:
    """Return where columns of fixed width begin; none in other text.

    Names stand above numbers. Blanks alone would divide the lines into unequal numbers
    of cells, and some cells have several blanks between them.
    """
    filled = [line.rstrip() for line in lines[:SAMPLE] if line.strip()]
    text = "\n".join(filled)
    header, *rows = [len(line.split()) for line in filled] or [0]
    has_row_names = text.startswith(" ") and {header + 1} == {*rows}
    if (
        has_row_names
        or {header} == {header, *rows}
        or not _WIDE_GAP.search(text)
        or any(mark in text for mark in '\t"')
        or any(all(mark in line for line in filled) for mark in SEPARATORS)
    ):
        return []
    columns = list(zip_longest(*filled, fillvalue=" "))
    is_blank = [True, *({*column} == {" "} for column in columns)]
    starts = [j for j, pair in enumerate(pairwise(is_blank)) if pair == (True, False)]
    records = [_at_places(line, starts) for line in filled]
    if any(_WIDE_GAP.search(cell) for record in records for cell in record):
        return []  # a line that is no row bridges two columns
    named = all(records[0][1:]) and len(set(records[0])) == len(starts) > 1
    all_used = all(any(column) for column in zip(*records[1:], strict=True))
    fixed = named and all_used and names_numbers(records, len(starts))
    return starts if fixed else []


def _between_bars(line: str, rule: str = "||") -> list[str]:
    """Split a line at bars, without the outer ones if the rule has them."""
    text = line.strip()
    opened = text[0] == "|" and rule[0] in "|+"
    closed = text[-1] == "|" and text[-2:] != "\\|" and rule[-1] in "|+"
    inner = text[opened : len(text) - closed]
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(inner)]


def _bounds(lines: list[str], at: int | None) -> tuple[int, int]:
    """Return the first line of the table with this rule, and that after the last."""
    if at is None:
        return 0, len(lines)
    rule, start, end = lines[at], at, at + 1
    has_bars = "|" in rule or "+" in rule
    while start and _is_row(lines[start - 1], rule) and (has_bars or start == at):
        start -= 1
    while end < len(lines) and (_rule_width(lines[end]) or _is_row(lines[end], rule)):
        end += 1
    return start, end


def _has_header(groups: list[list[Row]], lines: list[str]) -> bool:
    """Say whether the first group of rows, up to a rule, is the header."""
    rules = [line for line in lines if _rule_width(line)]
    is_grid = lines[0].lstrip().startswith("+")
    rows_alone = all(len(group) == 1 for group in groups)
    unsure = is_grid and rows_alone and not any("=" in rule for rule in rules)
    return len(groups) > 1 and not unsure


def _goes_on(line: str, rule: str) -> bool:
    """Say whether psql ends a line within a cell: by a plus sign at its end."""
    text, is_psql = line.rstrip(), "+" in rule or line.startswith(" ")
    at_end = text.endswith("+") and len(text) == len(rule.rstrip())
    return "+|" in text or (is_psql and at_end)


def _check(
    groups: list[list[Row]], width: int, lines: list[str], start: int, source: str
) -> None:
    """Refuse rows with another number of cells, and cells of several lines."""
    for number, row in (one for group in groups for one in group):
        if len(row) != width:
            raise DataError(
                f"{source}: line {number} has {count(len(row), 'cell')} where the "
                f"table has {count(width, 'column')}; correct the line (a bar inside a "
                "cell is written \\|)."
            )
    is_grid = lines[start].lstrip().startswith("+")
    rule = next(filter(_rule_width, lines[start:]), "")
    for group in groups[1:]:
        for (before, _), (number, row) in pairwise(group):
            goes_on = _goes_on(lines[before - 1], rule)
            if goes_on or (is_grid and (len(groups) > 2 or not row[0])):
                raise DataError(
                    f"{source}: line {number} continues the cells of the line above; "
                    "write each row on one line, or export the table as CSV."
                )
