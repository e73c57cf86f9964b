"""Small files and messages that cost a server without limits minutes or gigabytes."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

SHEET = "xl/worksheets/sheet1.xml"
MILLION = 1_000_000


def digits_csv(n: int) -> bytes:
    """Return a table with one cell of digits that is no number after all."""
    return b"id,x\n1," + b"1" * n + b"x\n2,3\n"


def blanks_arff(n: int) -> bytes:
    """Return a sparse row with a value that may be divided in many ways."""
    cell = b" " * n + b"x y"
    return b"@relation r\n@attribute a string\n@data\n{0 " + cell + b"}\n{0 1}\n"


def open_tags_xlsx(tag: str, n: int = 60_000) -> bytes:
    """Return a workbook with a sheet that opens tags and closes none."""
    book, out, made = openpyxl.Workbook(), io.BytesIO(), io.BytesIO()
    book.save(out)
    source = zipfile.ZipFile(out)
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            text = f"<worksheet>{tag * n}<sheetData" if name == SHEET else ""
            archive.writestr(name, text or source.read(name))
    return made.getvalue()


def equal_parquet(value: Any, n_rows: int, n_columns: int) -> bytes:
    """Return a table with the same value in all cells."""
    out, column = io.BytesIO(), pa.repeat(pa.scalar(value), n_rows)
    pq.write_table(pa.table({f"c{j}": column for j in range(n_columns)}), out)
    return out.getvalue()


def sparse_arff_gz(n_rows: int = 400_000, n_columns: int = 2_000) -> bytes:
    """Return rows without a value and with many columns each."""
    names = b"".join(b"@attribute a%d real\n" % j for j in range(n_columns))
    return gzip.compress(b"@relation r\n" + names + b"@data\n" + b"{}\n" * n_rows)


def packed_csv_gz(n_rows: int = 50 * MILLION) -> bytes:
    """Return 400 MB of text in some 400 kB."""
    return gzip.compress(b"a,b,c,d\n" + b"1,2,3,4\n" * n_rows, 6)


FILES: dict[str, Callable[[], bytes]] = {
    "digits-30k.csv": partial(digits_csv, 30_000),
    "digits-270k.csv": partial(digits_csv, 270_000),
    "blanks.arff": partial(blanks_arff, 20_000),
    "cells.xlsx": partial(open_tags_xlsx, '<c t="s" '),
    "formulas.xlsx": partial(open_tags_xlsx, "<f "),
    "decimals.parquet": partial(equal_parquet, Decimal("1.5"), MILLION, 60),
    "dates.parquet": partial(equal_parquet, date(2024, 2, 29), MILLION, 60),
    "words.parquet": partial(equal_parquet, "word", 25_000, 2_400),
    "sparse.arff.gz": sparse_arff_gz,
    "packed.csv.gz": packed_csv_gz,
}
