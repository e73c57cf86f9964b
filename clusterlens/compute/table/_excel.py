"""Excel workbooks (.xlsx, .xlsm), read by calamine.

Calamine trusts a file. It unpacks each part, reserves memory for the stated number of
entries, and creates every cell between the first and the last one. So this module first
unpacks and checks each part, within the size that the archive states, and gives
calamine an archive of the checked parts only. Formulas are never computed.
"""

from __future__ import annotations

import io
import re
import zipfile
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import lru_cache
from typing import Any
from xml.parsers import expat

import numpy as np
import pandas as pd
from python_calamine import CalamineWorkbook

from clusterlens.compute._validation import DataError
from clusterlens.compute.formatting import count, whole
from clusterlens.compute.table._binary import (
    OBJECT_BYTES,
    Content,
    Parsed,
    check_bytes,
    check_cells,
    check_members,
)
from clusterlens.compute.table._header import (
    MOST_LINES,
    SAMPLE,
    Header,
    count_footer,
    find_header,
    numeric_columns,
)

_BOOK = "xl/workbook.xml"
_LINKS = "xl/_rels/workbook.xml.rels"
_TEXTS = "xl/sharedstrings.xml"
_STYLES = "xl/styles.xml"
_READ = {"[content_types].xml", "_rels/.rels", _BOOK, _LINKS, _TEXTS, _STYLES}
_CELL = re.compile(rb"<(?:\w++:)?c\b")
_COUNTS = frozenset({"count", "uniqueCount"})
# The largest number of rows and columns in the format.
_LAST_ROW, _LAST_COLUMN = 1 << 20, 1 << 14


@dataclass(frozen=True)
class SheetFacts:
    """The range of the cells of a sheet, and counts of special cells.

    `texts` has the position of the shared text of each cell that has one.
    """

    n_rows: int
    n_columns: int
    n_formulas: int
    n_not_computed: int
    n_errors: int
    texts: array[int]


def read_xlsx(content: Content) -> Parsed:
    """Read the requested sheet, or the first visible sheet with cells."""
    parts = _unpacked_parts(content)
    sheets = _sheet_parts(parts, content)
    title, facts = _choose_sheet(sheets, parts, content)
    check_cells(facts.n_rows, facts.n_columns, content, OBJECT_BYTES)
    read = {name: parts[name] for name in parts if _is_read(name, sheets[title][0])}
    check_bytes(_shared_bytes(read, facts, content), content)
    book = CalamineWorkbook.from_filelike(_packed(read))
    sheet = book.get_sheet_by_name(title)
    rows = [[_plain(cell) for cell in row] for row in sheet.iter_rows()]
    if not any(map(_has_value, rows)):
        raise DataError(f"{content.source}: sheet {title!r} has no values; fill it in.")
    notes = [f"Read as Excel workbook, sheet {title!r}."]
    others = [repr(name) for name in sheets if name != title]
    notes += [f"Sheets left out: {', '.join(others)}."] if others else []
    notes += _fact_notes(facts, len(sheet.merged_cell_ranges or ()))
    frame, header, edge_notes = _frame_of_rows(rows, content)
    return Parsed(frame, [*notes, *edge_notes], roles=header.roles)


def sheet_names(content: Content) -> list[str]:
    """Name the readable sheets in their order: visible ones with cells.

    The first is the default. If all sheets are hidden, hidden ones count.
    """
    parts = _unpacked_parts(content)
    sheets = _sheet_parts(parts, content)
    filled = [name for name, (part, _) in sheets.items() if _CELL.search(parts[part])]
    return [name for name in filled if sheets[name][1]] or filled


def _unpacked_parts(content: Content) -> dict[str, bytes]:
    """Unpack the XML of an archive; no part exceeds its stated size."""
    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        infos = [
            info
            for info in archive.infolist()
            if info.filename.lower().endswith((".xml", ".rels"))
        ]
        check_members(infos, content)
        return {info.filename: archive.read(info) for info in infos}


def _is_read(name: str, sheet: str) -> bool:
    """Check whether a part is needed to read a sheet."""
    return name == sheet or name.lower() in _READ


def _walk(
    xml: bytes,
    on_start: Callable[[str, dict[str, str], expat.XMLParserType], object],
    on_text: Callable[[str], object] | None = None,
) -> None:
    """Call on_start(name without prefix, attributes, parser) at each tag of a part."""

    def start(name: str, attributes: dict[str, str]) -> None:
        on_start(name.rpartition(":")[2], attributes, parser)

    # Force UTF-8: calamine reads all parts as UTF-8, whatever they declare.
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = _refuse_entities
    if on_text is not None:
        parser.CharacterDataHandler = on_text
    parser.Parse(xml, True)


def _refuse_entities(*declared: Any) -> None:
    raise ValueError("a part may declare an entity")


def _check_counts(attributes: Mapping[str, str], xml: bytes, content: Content) -> None:
    """Refuse a tag that states more entries than its part has bytes."""
    for key in _COUNTS & attributes.keys():
        stated = attributes[key]
        if stated.isdecimal() and (len(stated) > 18 or int(stated) > len(xml)):
            raise DataError(
                f"{content.source} states {stated:.20} entries in a part of "
                f"{whole(len(xml))} bytes; save the workbook again."
            )


def _sheet_parts(
    parts: Mapping[str, bytes], content: Content
) -> dict[str, tuple[str, bool]]:
    """Return for each sheet the name of its part, and whether it is visible."""
    if _BOOK not in parts or _LINKS not in parts:
        raise DataError(
            f"{content.source} is a workbook in another format than .xlsx; save it as "
            ".xlsx or CSV."
        )
    links: dict[str, str] = {}
    entries: list[dict[str, str]] = []

    def link(name: str, attributes: dict[str, str], parser: Any) -> None:
        if name == "Relationship":
            links[attributes.get("Id", "")] = attributes.get("Target", "")

    def entry(name: str, attributes: dict[str, str], parser: Any) -> None:
        if name == "sheet":
            entries.append(attributes)

    _walk(parts[_LINKS], link)
    _walk(parts[_BOOK], entry)
    sheets = {}
    for of_sheet in entries:
        ids = (v for k, v in of_sheet.items() if k.rpartition(":")[2] == "id")
        target = links.get(next(ids, ""), "")
        part = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
        if b"sheetData" in parts.get(part, b""):  # charts have none
            visible = of_sheet.get("state", "visible") == "visible"
            sheets[of_sheet.get("name", "")] = (part, visible)
    return sheets


def _choose_sheet(
    sheets: Mapping[str, tuple[str, bool]],
    parts: Mapping[str, bytes],
    content: Content,
) -> tuple[str, SheetFacts]:
    """Return the title of the sheet to read and the facts about it."""
    wanted = content.sheet
    if wanted is not None and wanted not in sheets:
        names = ", ".join(map(repr, sheets))
        raise DataError(
            f"{content.source} has no sheet {wanted!r}; give one of {names}."
        )
    shown = [name for name, (_, visible) in sheets.items() if visible]
    for title in [wanted] if wanted is not None else shown or list(sheets):
        facts = _sheet_facts(parts[sheets[title][0]], content)
        if facts.n_rows:
            return title, facts
    raise DataError(f"{content.source} has no sheet with cells; fill in a table.")


def _sheet_facts(xml: bytes, content: Content) -> SheetFacts:
    """Walk the tags of a sheet; cells without a name follow the previous one."""
    if b"\0" in xml:
        raise DataError("a sheet is not UTF-8 text; save the workbook again.")
    row = column = n_formulas = n_not_computed = n_errors = 0
    top, bottom, left, right = _LAST_ROW, 0, _LAST_COLUMN, 0
    is_shared = is_awaited = False  # a shared text; the value of a formula
    texts = array("q")

    def start(name: str, attributes: dict[str, str], parser: Any) -> None:
        nonlocal row, column, n_formulas, n_not_computed, n_errors
        nonlocal top, bottom, left, right, is_shared, is_awaited
        parser.CharacterDataHandler = None
        if name == "c":
            at, kind = attributes.get("r"), attributes.get("t")
            row, column = (row, column + 1) if at is None else _place(at, content)
            top, bottom = min(top, row), max(bottom, row)
            left, right = min(left, column), max(right, column)
            n_not_computed += is_awaited
            n_errors += kind == "e"
            is_shared, is_awaited = kind == "s", False
        elif name == "v":
            if is_shared or is_awaited:
                parser.CharacterDataHandler = value
        elif name == "f":
            n_formulas += 1
            is_awaited = True
        elif name == "row":
            row = _row_number(attributes.get("r", str(row + 1)), content)
            column = 0
        else:
            _check_counts(attributes, xml, content)

    def value(text: str) -> None:
        nonlocal is_awaited
        if text := text.strip():
            is_awaited = False
            if is_shared:
                texts.append(int(text[:20]))

    _walk(xml, start)
    return SheetFacts(
        n_rows=max(0, bottom - top + 1),
        n_columns=max(0, right - left + 1),
        n_formulas=n_formulas,
        n_not_computed=n_not_computed + is_awaited,
        n_errors=n_errors,
        texts=texts,
    )


@lru_cache(_LAST_COLUMN)
def _column_number(letters: str) -> int:
    """Return 1 for A, 27 for AA; 0 for any other text."""
    if not (letters.isascii() and letters.isalpha()):
        return 0
    number = 0
    for letter in letters[:4].upper():
        number = 26 * number + ord(letter) - 64
    return number


def _place(name: str, content: Content) -> tuple[int, int]:
    """Return the row and the column of a cell such as AB12."""
    letters = name.rstrip("0123456789")
    column = _column_number(letters)
    if not 0 < column <= _LAST_COLUMN:
        raise _nowhere(name, content)
    return _row_number(name[len(letters) :], content), column


def _row_number(digits: str, content: Content) -> int:
    """Return the number of a row, after checking that a sheet can have it."""
    if not digits.isdecimal() or len(digits) > 9 or not 0 < int(digits) <= _LAST_ROW:
        raise _nowhere(digits, content)
    return int(digits)


def _nowhere(name: str, content: Content) -> DataError:
    return DataError(
        f"{content.source} has a cell or row {name[:20]!r}, which no sheet can have; "
        "save the workbook again."
    )


def _shared_bytes(
    parts: Mapping[str, bytes], facts: SheetFacts, content: Content
) -> int:
    """Return the bytes of shared texts, counted once for each cell that has one."""
    sizes, xml = [0], b""

    def start(name: str, attributes: dict[str, str], parser: Any) -> None:
        _check_counts(attributes, xml, content)
        if name == "si":
            sizes.append(0)

    def text(piece: str) -> None:
        sizes[-1] += len(piece.encode())

    for name, xml in parts.items():
        if name.lower() in (_TEXTS, _STYLES):
            _walk(xml, start, text)
    at = np.minimum(np.array(facts.texts) + 1, len(sizes) - 1)
    return int(np.array(sizes)[at].sum())


def _packed(parts: Mapping[str, bytes]) -> io.BytesIO:
    """Return an archive of unpacked parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    out.seek(0)
    return out


def _plain(cell: Any) -> Any:
    """Return a cell with whole numbers as int, days as datetimes, blanks as None."""
    kind = type(cell)
    if kind is float:
        return int(cell) if cell.is_integer() else cell
    if kind is str:
        return cell if cell.strip() else None
    return datetime.combine(cell, time()) if kind is date else cell


def _fact_notes(facts: SheetFacts, n_merged: int) -> list[str]:
    """Describe facts about a sheet that its cells do not show."""
    notes = []
    if facts.n_formulas:
        notes.append(
            f"Formulas in {count(facts.n_formulas, 'cell')}: the values stored with "
            f"them; {facts.n_not_computed} without one are missing."
        )
    if facts.n_errors:
        notes.append(f"{count(facts.n_errors, 'cell')} with an error read as missing.")
    if n_merged:
        notes.append(
            f"{count(n_merged, 'merged range')}: the value stands in the first cell of "
            "each, the others are missing."
        )
    return notes


def _has_value(row: list[Any]) -> bool:
    """Check whether a row has a non-blank cell."""
    return any(cell is not None for cell in row)


def _as_words(rows: list[list[Any]]) -> list[list[str]]:
    """Return the cells of rows as text."""
    return [["" if cell is None else str(cell) for cell in row] for row in rows]


def _frame_of_rows(
    rows: list[list[Any]], content: Content
) -> tuple[pd.DataFrame, Header, list[str]]:
    """Make a table from rows; return its header, and notes on rows left out."""
    width = max(j for row in rows for j, c in enumerate(row, start=1) if c is not None)
    rows = [row[:width] for row in rows]
    cells = list(filter(_has_value, rows))
    header = find_header(_as_words(cells[:SAMPLE]), width)
    n_above = header.titles + header.lines
    numeric = numeric_columns(_as_words(cells[n_above : n_above + SAMPLE]), width)
    n_last = count_footer(_as_words(rows[-MOST_LINES:]), numeric)
    n_below = sum(map(_has_value, rows[len(rows) - n_last :]))
    data = cells[n_above : len(cells) - n_below]
    if not data:
        raise DataError(f"{content.source} has a header but no rows; give one or more.")
    names = header.names or [f"column {j}" for j in range(1, width + 1)]
    frame = pd.DataFrame(data, columns=pd.Index(names, dtype=object), dtype=object)
    note = (
        "First row is a header." if header.names else "No header; columns are numbered."
    )
    if header.lines > 1:
        note = f"The header has {header.lines} rows."
    if header.titles:
        note += f" {count(header.titles, 'row')} above it skipped."
    notes = [note, *header.notes]
    if n_below:
        notes.append(f"{count(n_below, 'row')} below the table left out.")
    return frame, header, notes
