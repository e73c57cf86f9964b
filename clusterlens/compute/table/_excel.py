"""Excel workbooks (.xlsx, .xlsm), read by calamine.

Calamine trusts a file: it unpacks what is there and takes memory for the whole range
between the first and the last cell. So every part is unpacked here first, within the
sizes that the archive claims; the tags of the sheet are counted; and calamine sees an
archive of the checked parts only. Formulas are never computed.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
from python_calamine import CalamineWorkbook

from clusterlens.compute._numbers import count
from clusterlens.compute._validation import DataError
from clusterlens.compute.table._binary import (
    Content,
    Parsed,
    check_bytes,
    check_cells,
    check_members,
)
from clusterlens.compute.table._delimited import find_header, title_rows

_CELL_BYTES = 64  # a cell of a workbook takes about this while it is read
_BOOK = "xl/workbook.xml"
_LINKS = "xl/_rels/workbook.xml.rels"
_TAG = re.compile(rb"<(?:\w+:)?(row|c|f)\b([^>]*)>")
_CELL = re.compile(rb"<(?:\w+:)?c\b")
_ROW_NUMBER = re.compile(rb"""\br\s*=\s*["'](\d+)["']""")
_CELL_NAME = re.compile(rb"""\br\s*=\s*["']([A-Za-z]+)(\d+)["']""")
_NOT_COMPUTED = re.compile(
    rb"<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:</(?:\w+:)?c>|<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</)"
)
_SHARED_TEXT = re.compile(
    rb"<(?:\w+:)?si\b(?:[^>]*/>|[^>]*>(.*?)</(?:\w+:)?si>)", re.DOTALL
)
_SHARED_CELL = re.compile(
    rb"""<(?:\w+:)?c\b[^>]*\bt\s*=\s*["']s["'][^>]*>"""
    rb"(?:\s*<(?:\w+:)?v\b[^>]*>\s*(\d+))?"
)


@dataclass(frozen=True)
class SheetFacts:
    """What the tags of a sheet say: the range of its cells, and what is special."""

    n_rows: int
    n_columns: int
    n_formulas: int
    n_not_computed: int
    n_errors: int


def read_xlsx(content: Content) -> Parsed:
    """Read the sheet that is asked for, or the first visible one that has cells."""
    parts = _checked_parts(content)
    sheets = _sheet_parts(parts, content)
    title, facts = _choose_sheet(sheets, parts, content)
    check_cells(facts.n_rows, facts.n_columns, content, _CELL_BYTES)
    check_bytes(_shared_bytes(parts, sheets[title][0]), content)
    unread = {part for name, (part, _) in sheets.items() if name != title}
    book = CalamineWorkbook.from_filelike(_repacked(parts, unread))
    sheet = book.get_sheet_by_name(title)
    rows = [[_plain(cell) for cell in row] for row in sheet.iter_rows()]
    rows = [row for row in rows if any(cell is not None for cell in row)]
    if not rows:
        raise DataError(f"{content.source}: sheet {title!r} has no values; fill it in.")
    notes = [f"Read as Excel workbook, sheet {title!r}."]
    others = [repr(name) for name in sheets if name != title]
    notes += [f"Sheets left out: {', '.join(others)}."] if others else []
    notes += _fact_notes(facts, len(sheet.merged_cell_ranges or ()))
    frame, header_note = _frame_of_rows(rows, content)
    return Parsed(frame, [*notes, header_note])


def sheet_names(content: Content) -> list[str]:
    """Name the sheets that can be read, in their order: visible ones that have cells.

    The first is the one that is read where none is asked for. Hidden ones count where
    all are hidden.
    """
    parts = _checked_parts(content)
    sheets = _sheet_parts(parts, content)
    filled = [name for name, (part, _) in sheets.items() if _CELL.search(parts[part])]
    return [name for name in filled if sheets[name][1]] or filled


def _checked_parts(content: Content) -> dict[str, bytes]:
    """Unpack an archive; none of its parts gets larger than it claims to be."""
    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        infos = [info for info in archive.infolist() if not info.is_dir()]
        check_members(infos, content)
        return {info.filename: archive.read(info) for info in infos}


def _sheet_parts(
    parts: Mapping[str, bytes], content: Content
) -> dict[str, tuple[str, bool]]:
    """Return for each sheet the name of its part, and whether it is visible."""
    if _BOOK not in parts or _LINKS not in parts:
        raise DataError(
            f"{content.source} is a workbook in another format than .xlsx; save it as "
            ".xlsx or CSV."
        )
    links = {
        link.get("Id"): str(link.get("Target"))
        for link in ElementTree.fromstring(parts[_LINKS])
    }
    sheets = {}
    for entry in ElementTree.fromstring(parts[_BOOK]).iter():
        if entry.tag.rpartition("}")[2] == "sheet":
            link = next((v for k, v in entry.items() if k.endswith("}id")), None)
            target = links.get(link, "")
            part = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
            if b"sheetData" in parts.get(part, b""):  # charts have none
                visible = entry.get("state", "visible") == "visible"
                sheets[str(entry.get("name"))] = (part, visible)
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
        facts = _sheet_facts(parts[sheets[title][0]])
        if facts.n_rows:
            return title, facts
    raise DataError(f"{content.source} has no sheet with cells; fill in a table.")


def _sheet_facts(xml: bytes) -> SheetFacts:
    """Count the tags of a sheet; cells without a name follow the one before."""
    if b"\0" in xml:
        raise DataError("a sheet is not UTF-8 text; save the workbook again.")
    row = column = n_formulas = n_errors = 0
    rows: set[int] = set()
    low, high = 1 << 30, 0
    for match in _TAG.finditer(xml):
        tag, attributes = match.groups()
        if tag == b"row":
            number = _ROW_NUMBER.search(attributes)
            row, column = int(number.group(1)) if number else row + 1, 0
        elif tag == b"c":
            name = _CELL_NAME.search(attributes)
            if name:
                column, row = _column_number(name.group(1)), int(name.group(2))
            else:
                column += 1
            low, high = min(low, column), max(high, column)
            rows.add(row)
            n_errors += b't="e"' in attributes
        else:
            n_formulas += 1
    return SheetFacts(
        n_rows=max(rows) - min(rows) + 1 if rows else 0,
        n_columns=high - low + 1 if rows else 0,
        n_formulas=n_formulas,
        n_not_computed=len(_NOT_COMPUTED.findall(xml)) if n_formulas else 0,
        n_errors=n_errors,
    )


def _shared_bytes(parts: Mapping[str, bytes], sheet: str) -> int:
    """Bound the bytes of texts that cells share, written out for each of them."""
    cells = [match.group(1) for match in _SHARED_CELL.finditer(parts[sheet])]
    at = np.array([int(place) for place in cells if place], dtype=np.int64)
    total = 0
    for name, xml in parts.items():
        if name.lower().endswith("sharedstrings.xml"):
            found = _SHARED_TEXT.finditer(xml)
            sizes = np.array([0, *(len(match.group(1) or b"") for match in found)])
            here = sizes[np.minimum(at + 1, len(sizes) - 1)].sum()
            unclear = (len(cells) - len(at)) * sizes.max()
            total = max(total, int(here + unclear))
    return total


def _column_number(letters: bytes) -> int:
    """Return 1 for A, 27 for AA."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - 64
    return number


def _repacked(parts: Mapping[str, bytes], left_out: set[str]) -> io.BytesIO:
    """Return an archive of unpacked parts, without those left out."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in parts.items():
            if name not in left_out:
                archive.writestr(name, data)
    out.seek(0)
    return out


def _plain(cell: Any) -> Any:
    """Return a cell with whole numbers whole, days as datetimes, blanks as None."""
    kind = type(cell)
    if kind is float:
        return int(cell) if cell.is_integer() else cell
    if kind is str:
        return cell if cell.strip() else None
    return datetime.combine(cell, time()) if kind is date else cell


def _fact_notes(facts: SheetFacts, n_merged: int) -> list[str]:
    """Say what of a sheet cannot be seen in its cells."""
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


def _frame_of_rows(rows: list[list[Any]], content: Content) -> tuple[pd.DataFrame, str]:
    """Make a table of rows of cells, and say whether the first one is a header."""
    used = [max(j for j, cell in enumerate(r) if cell is not None) + 1 for r in rows]
    width = max(used)
    cells = [row[:width] for row in rows]
    words = [["" if c is None else str(c) for c in row] for row in cells[:500]]
    skipped = title_rows(words, width)
    words = words[skipped:]
    named = find_header(words, width) is not None
    data = cells[skipped + named :]
    if not data:
        raise DataError(f"{content.source} has a header but no rows; give one or more.")
    names = words[0] if named else [f"column {j}" for j in range(1, width + 1)]
    frame = pd.DataFrame(data, columns=pd.Index(names, dtype=object), dtype=object)
    note = "First row is a header." if named else "No header; columns are numbered."
    return frame, note + (
        f" {count(skipped, 'row')} above it skipped." if skipped else ""
    )
