"""Files that were written to take time, memory or the process are refused, or read."""

import gzip
import importlib
import io
import pkgutil
import re
import zipfile
from contextlib import suppress
from datetime import date, time
from decimal import Decimal

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clusterlens import DataError, load_table
from clusterlens.compute import table as room
from tests.processor_time import at_most

SHEET, TEXTS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
# Taken in all ways to divide them, as many characters would keep a processor for hours.
LONG = 100_000
PIECES = (
    *(" ", "\t", "\n", "\r\n", "1", "1.", "1,", ".", ",", "-", "a", "A", "_", "aB"),
    *("'", '"', "\\", "\\'", "1 '", "<", "<c ", "<c", "<a:", "%", "$", "e1", "=", "("),
    *("[", "a (", "{0 ", "% x\n", "@attribute ", "1.111", "1,111", "sep=", "\xe4"),
)


def patterns():
    """All patterns that modules of the room compile, by their names."""
    for found in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                yield pytest.param(value, id=f"{found.name.rpartition('.')[2]}.{name}")


@pytest.mark.parametrize("pattern", list(patterns()))
def test_patterns_take_time_in_proportion_to_a_text(pattern):
    starts = ["", "@attribute a", "@attribute ", "1", "1 '", "<c", "-"]
    with at_most(30):
        for piece in PIECES:
            for start in starts:
                text = start + piece * (LONG // len(piece)) + "!"
                given = (
                    text.encode("latin-1") if type(pattern.pattern) is bytes else text
                )
                pattern.match(given)
                pattern.fullmatch(given)


def workbook(parts=(), **changes):
    """A sheet of two columns, with parts replaced or changed."""
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("s")
    for row in (["a", "b"], [1, 2], [3, 4]):
        sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    source, made = zipfile.ZipFile(out), io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            text = source.read(name).decode()
            for old, new in changes.items() if name == SHEET else ():
                text = text.replace(f"<{old}", new)
            if name not in parts:
                archive.writestr(name, text)
        for name, text in dict(parts).items():
            archive.writestr(name, text)
    return made.getvalue()


def shared(n, texts="<si><t>x</t></si>"):
    return {TEXTS: f'<sst xmlns="{MAIN}" uniqueCount="{n}">{texts}</sst>'}


@pytest.mark.parametrize("power", [30, 40, 62, 63, 64, 200])
def test_a_workbook_that_states_more_texts_than_it_has_room_for_is_refused(power):
    with pytest.raises(DataError, match=r"entries in a part of .* bytes"):
        load_table(workbook(shared(2**power)))


def test_a_workbook_that_states_too_few_or_no_texts_is_read():
    for n in (0, 1, 2, "", "many"):
        assert load_table(workbook(shared(n))).table.shape == (2, 2)


@pytest.mark.parametrize(
    "tag",
    ["<c ", "<c>", "<row>", "<f>", "<f ", '<c t="s">', '<c t="s" ', "<v>", "<a:c>"],
)
def test_tags_that_stay_open_are_refused_at_once(tag):
    opened = tag * 60_000 + "<sheetData"
    with at_most(30), pytest.raises(DataError, match="cannot be read as an Excel"):
        load_table(workbook(sheetData=opened))
    with at_most(30), pytest.raises(DataError, match="cannot be read as an Excel"):
        load_table(workbook(shared(1, tag * 60_000)))


@pytest.mark.parametrize(
    "cell", ["A0", "A1048577", "XFE1", "AAAAAAA1", "A", "1", "", "A-1", "A" * 9999]
)
def test_cells_where_no_sheet_has_one_are_refused(cell):
    row = f'<sheetData><row><c r="{cell}"><v>1</v></c></row>'
    with pytest.raises(DataError, match="which no sheet can have"):
        load_table(workbook({SHEET: f"<worksheet>{row}</sheetData></worksheet>"}))


def test_a_part_in_another_encoding_is_taken_as_calamine_takes_it():
    # In EBCDIC the bytes of these tags are others, so that the cells would not be seen.
    xml = '<?xml version="1.0" encoding="cp037"?><worksheet><sheetData><row>'
    xml += '<c r="A1"><v>1</v></c><c r="XFD1048576"><v>2</v></c></row></sheetData>'
    with pytest.raises(DataError, match="in memory"):
        load_table(workbook({SHEET: f"{xml}</worksheet>"}))


@pytest.mark.parametrize(
    "cell",
    [" " * LONG + "x y", "'" * LONG, "'\\" * LONG, "9" * LONG, "x" + " " * LONG + '"'],
)
def test_arff_takes_time_in_proportion_to_its_lines(cell):
    for text in (
        f"@relation r\n@attribute a string\n@data\n{{0 {cell}}}\n{{0 1}}\n",
        f"@relation r\n@attribute {cell} {cell}\n@data\n1\n2\n",
        f"@relation r\n@attribute a {{{cell}}}\n@data\n{cell}\n",
    ):
        with at_most(30), suppress(DataError):
            load_table(text.encode())


def test_arff_cells_are_charged_before_they_are_made():
    names = "".join(f"@attribute a{j} real\n" for j in range(2000))
    sparse = gzip.compress(f"@relation r\n{names}@data\n".encode() + b"{}\n" * 50_000)
    with pytest.raises(DataError, match="001 rows and 2\u202f000 columns, in memory"):
        load_table(sparse)
    dense = gzip.compress(b"@relation r\n@attribute a real\n@data\n" + b"1\n" * 300_000)
    with pytest.raises(DataError, match="the limit is"):
        load_table(dense, max_bytes=20_000_000)
    assert load_table(dense).table.shape == (300_000, 1)


def parquet(column, n_columns):
    out = io.BytesIO()
    pq.write_table(pa.table({f"c{j}": column for j in range(n_columns)}), out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("value", "n_bytes"),
    [(Decimal("1.5"), 100), (time(1, 2), 100), (b"ab", 100), ("word", 32), (1.5, 8)],
)
def test_values_of_parquet_are_charged_as_what_they_are_in_memory(value, n_bytes):
    data = parquet(pa.array([value] * 999 + [None]), 10)
    assert load_table(data, max_bytes=10_000 * n_bytes + 99).table.shape == (1000, 10)
    with pytest.raises(DataError, match="the limit is"):
        load_table(data, max_bytes=10_000 * n_bytes - 1)


def test_dates_of_parquet_are_read_as_numbers_of_any_year():
    days = [date(1, 1, 1), date(2024, 2, 29), None, date(9999, 12, 31)]
    read = load_table(parquet(pa.array(days), 1)).table["c0"]
    assert read.dtype == "datetime64[s]"
    assert [None if pd.isna(day) else day.date() for day in read] == days
    data = parquet(pa.array([date(2024, 2, 29)] * 1000), 10)
    assert load_table(data, max_bytes=80_000).table.shape == (1000, 10)


def test_categories_of_parquet_are_charged_as_codes():
    data = parquet(pa.array(["a", "b"] * 500).dictionary_encode(), 10)
    assert load_table(data, max_bytes=80_000).table.shape == (1000, 10)


@pytest.mark.parametrize("kind", ["<U2", ">U2", [("a", "<i4"), ("b", ">U1")]])
@pytest.mark.parametrize("code", [0x110000, 0xD800, 0xFFFFFFFF])
def test_texts_of_arrays_that_are_no_unicode_are_refused(kind, code):
    array = np.array([("1", "a")] * 3 if isinstance(kind, list) else ["ab"] * 3, kind)
    out = io.BytesIO()
    np.save(out, array)
    order = ">" if ">U" in str(kind) else "<"
    data = out.getvalue()[:-4] + np.array([code], f"{order}u4").tobytes()
    with pytest.raises(DataError, match="no Unicode"):
        load_table(data)
    assert load_table(out.getvalue()).table.shape[0] == 3
