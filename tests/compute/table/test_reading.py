import csv
import gzip
import io
import tracemalloc
import zipfile
from functools import partialmethod

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute._validation import DataError
from clusterlens.compute.table import _files
from clusterlens.compute.table._binary import Content
from clusterlens.compute.table.dataset import prepare
from clusterlens.compute.table.reading import READERS, load_table, table_parts
from clusterlens.compute.table.storing import dataset_from_parquet, dataset_to_parquet
from tests.folders import DATA


def sample_table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "size": [1.5, np.nan, -3.25, 1e-17],
            "count": [1, 2, 3, 2**40],
            "colour": ["red", None, "blue", "red"],
            "<img src=x onerror=alert(1)>": ['say "hi", bye', "a\nb", "+x", "ä;|\ty"],
            "day": pd.to_datetime(["2020-01-31", "2021-02-28", None, "1999-12-31"]),
        }
    )


def write(table: pd.DataFrame, kind: str) -> bytes:
    out = io.BytesIO()
    if kind in {"csv", "csv.gz"}:
        out.write(table.to_csv(index=False).encode())
    elif kind == "tsv":
        out.write(table.to_csv(index=False, sep="\t").encode())
    elif kind == "parquet":
        table.to_parquet(out, index=False)
    elif kind == "xlsx":
        table.to_excel(out, index=False)
    return gzip.compress(out.getvalue()) if kind.endswith("gz") else out.getvalue()


def same_cells(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    assert list(found.columns) == list(expected.columns)
    for name in expected.columns:
        pd.testing.assert_series_equal(
            found[name].astype(object).where(found[name].notna(), None),
            expected[name].astype(object).where(expected[name].notna(), None),
            check_dtype=False,
        )


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "parquet", "xlsx"])
def test_every_table_format_gives_back_the_same_cells(kind, tmp_path):
    table = sample_table()
    path = tmp_path / f"my table.{kind}"
    path.write_bytes(write(table, kind))
    ds = load_table(path)
    same_cells(ds.table, table)
    assert ds.name == "my table"
    with path.open("rb") as file:
        same_cells(load_table(file).table, table)
    same_cells(load_table(table).table, table)


def test_npy_and_npz_give_back_the_same_numbers():
    X = np.random.default_rng(0).normal(size=(6, 3))
    out = io.BytesIO()
    np.save(out, np.asfortranarray(X))
    assert np.array_equal(load_table(out.getvalue()).table.to_numpy(), X)
    out = io.BytesIO()
    np.savez_compressed(
        out, X=X, y=np.array([0, 1, 0, 1, 0, 1]), other=np.zeros((2, 2, 2))
    )
    ds = load_table(out.getvalue())
    assert np.array_equal(ds.table.iloc[:, :3].to_numpy(), X)
    assert ds.roles["y"] == "label"
    assert any("'other'" in note for note in ds.notes)


def test_npy_records_and_vectors_become_columns():
    out = io.BytesIO()
    np.save(out, np.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i4"), ("b", "f8")]))
    assert list(load_table(out.getvalue()).table.columns) == ["a", "b"]
    out = io.BytesIO()
    np.save(out, np.arange(4.0))
    assert load_table(out.getvalue()).table.shape == (4, 1)


@pytest.mark.parametrize("kind", [">i4", ">f4", ">f8", "records"])
def test_npy_in_the_byte_order_of_other_machines_is_read(kind):
    X = np.array([[1, 20], [2, 40], [5, 30]])
    if kind == "records":
        saved = np.array([tuple(x) for x in X], dtype=[("a", ">i2"), ("b", ">f8")])
    else:
        saved = X.astype(kind)
    out = io.BytesIO()
    np.save(out, saved)
    found = prepare(load_table(out.getvalue()), scale="none").X
    assert np.array_equal(found, X)


@pytest.mark.parametrize("write_it", ["csr", "csc", "coo", "bsr", "dia"])
def test_sparse_matrices_are_refused_by_name(write_it):
    out = io.BytesIO()
    scipy.sparse.save_npz(out, scipy.sparse.eye_array(5, format=write_it))
    with pytest.raises(DataError, match=r"sparse matrix of SciPy.*toarray"):
        load_table(out.getvalue())


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_open_document_files_are_refused_by_name(packed):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", "<office:document-content/>")
    with pytest.raises(DataError, match=r"OpenDocument file; save it as \.xlsx"):
        load_table(packed(out.getvalue()))


def test_lists_of_numbers_in_parquet_become_features():
    table = pd.DataFrame(
        {"name": list("abcd"), "v": [[1.0, 2], [3, 4], [5, 1], [2, 2]]}
    )
    ds = prepare(load_table(write(table, "parquet"), row_id="name"), scale="none")
    assert ds.feature_names == ("v 1", "v 2")
    assert ds.X.tolist() == table["v"].tolist()
    assert ds.preparation.transform(table[::-1]).tolist() == ds.X[::-1].tolist()


def test_rows_without_values_in_parquet_are_rows():
    out = io.BytesIO()
    pd.DataFrame({"a": ["x", None, "y"], "b": [1, None, 2.5]}).to_parquet(out)
    ds = load_table(out.getvalue())
    assert ds.table["a"].isna().tolist() == [0, 1, 0]
    assert not [note for note in ds.notes if "blank" in note]


def test_two_level_index_in_parquet_numbers_the_rows():
    index = pd.MultiIndex.from_product([["x", "y"], [1, 2]], names=["site", None])
    out = io.BytesIO()
    pd.DataFrame({"a": [1.0, 2, 4, 8]}, index=index).to_parquet(out)
    ds = load_table(out.getvalue())
    assert ds.table.index.tolist() == [0, 1, 2, 3]
    assert any("rows are numbered" in note for note in ds.notes)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "parquet", "xlsx"])
def test_money_times_and_identifiers_are_read_from_every_format(kind):
    n = 12
    times = pd.date_range("2020-12-31T10:00", periods=n, freq="7h")
    table = pd.DataFrame(
        {
            "sample_id": [f"{k}e5" for k in range(12, 12 + n)],
            "profit": [f"({k})" if k % 3 else f"{k}" for k in range(1, n + 1)],
            "price": [f"-${k}.50" if k % 2 else f"${k}.50" for k in range(n)],
            "seen": times.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "account": [str(12345678901234567890 + k) for k in range(n)],
        }
    )
    ds = prepare(
        load_table(write(table, kind)), roles={"seen": "numeric"}, scale="none"
    )
    assert ds.row_ids.tolist() == table["sample_id"].tolist()
    assert ds.feature_names == ("profit", "price", "seen")
    assert ds.X[:, 0].tolist() == [-k if k % 3 else k for k in range(1, n + 1)]
    assert ds.X[:, 1].tolist() == [-k - 0.5 if k % 2 else k + 0.5 for k in range(n)]
    assert np.allclose(ds.X[:, 2] * 24, np.arange(n) * 7)
    assert ds.table["account"].tolist() == table["account"].tolist()
    assert any("read as numbers below zero" in note for note in ds.notes)


def polars_frame(table: pd.DataFrame):
    return pytest.importorskip("polars").from_pandas(table)


class Exporter:
    """A table of a library that is not known here, which exports Arrow."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "made", [pa.Table.from_pandas, polars_frame, lambda t: Exporter(pa.table(t))]
)
def test_tables_of_other_libraries_are_read_as_data_frames(made):
    table = pd.DataFrame(
        {
            "id": list("abcdef"),
            "long": pd.array([2**53 + 1, None, 1, 2, 3, 4], dtype="Int64"),
            "real": [1.5, 2, 3, 4, 5, 9],
            "day": pd.to_datetime(["2020-01-01"] * 3 + ["2020-01-02"] * 3),
            "tags": [["p", "q"]] * 6,
            "class": ["u", "v"] * 3,
        }
    )
    other = made(table)
    expected, found = load_table(table), load_table(other)
    same_cells(found.table.drop(columns="tags"), expected.table.drop(columns="tags"))
    assert found.roles == expected.roles
    assert found.table.index.tolist() == list("abcdef")
    assert found.table["long"].iloc[0] == 2**53 + 1
    prepared = prepare(other)
    assert np.array_equal(prepared.X, prepare(table).X)
    assert prepared.label_names == ("u", "v")
    assert np.array_equal(prepared.preparation.transform(other), prepared.X)


@pytest.mark.parametrize(
    ("text", "shape", "note"),
    [
        ("a;b\n1,5;2\n2,5;3\n", (2, 2), "separator ';', decimal comma, first line is"),
        ("a\tb\n1\t2\n", (1, 2), "separator tab"),
        ("a|b\n1|x,y\n2|z\n", (2, 2), "separator '|'"),
        ("x y label\n1.0  2 a\n 3 4.0  b\n", (2, 3), "separator blanks"),
        ("sep=;\na;b\n1;2\n", (1, 2), "separator ';'"),
        ("sep=,\n1990,1991\n1.5,2\n2,3\n", (2, 2), "first line is a header"),
        ("All of our sales\na  b\n1.5  2\n2  3\n", (2, 2), "1 line before the"),
        ("1.5,2\n2.5,3\n", (2, 2), "no header"),
        ("0,1,2\n1.5,2,3\n2,3,4\n", (2, 3), "first line is a header"),
        ("0,1,2\n3,4,5\n6,7,8\n", (3, 3), "no header"),
        ("land,1990,1991\nA,1.5,2\nB,2,3\n", (2, 3), "first line is a header"),
        ("# by me\n# 2020\na,b\n1,2\n", (1, 2), "2 comment lines before the table"),
        ("#a,b\n1,2\n3,4\n", (2, 2), "header in a comment line"),
        ("Report\nof X\n\nid;v\n1;3\n2;4\n3;4\n", (3, 2), "2 lines before the table"),
        ("a b\nr1 2 3\nr2 4 5\n", (2, 3), "the first holds row names"),
        ("a,b\r1,2\r3,4\r", (2, 2), "separator ','"),
        ('a,b\r\n"x, y",1\r\n"two\r\nlines",2\r\n', (2, 2), "separator ','"),
        ("n\n1\n2\n", (2, 1), "first line is a header"),
        ("a,b\n1,2,\n3,4,\n", (2, 3), "Column 3 has no name"),
        ("A title,,\n,,\na,b,c\n1,x,3\n4,y,6\n", (2, 3), "2 lines before the"),
        ("Sales, 2020\na,b,c\n1,2,3\n4,5,6\n", (2, 3), "1 line before the table"),
        (",a,b\nr1,2,3\nr2,4,5\n", (2, 3), "Column 1 has no name"),
        ("a,b\n1,2\n3,4\n ", (2, 2), "first line is a header"),
        ("a,b\n1,2\n \t\n3,4\n\n  \n", (2, 2), "first line is a header"),
        ("a\tb\n1\t2\n\t\n", (1, 2), "1 blank row left out"),
        ("a,b\n1,2\r\n3,4\n5,6\r\n", (3, 2), "separator ','"),
    ],
)
def test_layout_of_text_is_found_and_noted(text, shape, note):
    ds = load_table(text.encode())
    assert ds.table.shape == shape
    assert any(note in line for line in ds.notes), ds.notes


@pytest.mark.parametrize(
    ("encoding", "noted"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "UTF-8"),
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16"),
        ("utf-16-be", "UTF-16"),
        ("utf-32", "UTF-32"),
        ("cp1252", "Windows-1252"),
        ("mac_roman", "Mac Roman"),
    ],
)
def test_encoding_is_found_and_noted(encoding, noted):
    text = "Größe;Straße\n1,5;Äpfel\n2,5;Öl\n"
    ds = load_table(text.encode(encoding))
    assert list(ds.table.columns) == ["Größe", "Straße"]
    assert ds.table["Straße"].tolist() == ["Äpfel", "Öl"]
    assert any(noted in note for note in ds.notes)


CITIES = {
    "cp1250": "Miejscowość;Region\nŁódź;łódzkie\nKraków;małopolskie\nGdańsk;śląskie\n",
    "iso8859_2": "Miejscowość;Region\nŁódź;łódzkie\nKraków;małopolskie\nŚlask;ąęćżź\n",
    "cp1251": "имя;город\nИван;Москва\nОльга;Санкт-Петербург\nПётр;Казань\n",
    "koi8_r": "имя;город\nИван;Москва\nОльга;Санкт-Петербург\nПётр;Казань\n",
    "shift_jis": "名前;都市\n田中太郎;東京\n鈴木花子;大阪\n佐藤次郎;名古屋\n",
    "euc_jp": "名前;都市\n田中太郎;東京\n鈴木花子;大阪\n佐藤次郎;名古屋\n",
    "gbk": "姓名;城市\n张伟;北京\n王芳;上海\n李娜;广州\n",
    "big5": "姓名;城市\n陳大文;台北\n林小姐;高雄\n王先生;台中\n",
    "euc_kr": "이름;도시\n김철수;서울\n이영희;부산\n박민수;대구\n",
    "cp1253": "όνομα;πόλη\nΓιώργος;Αθήνα\nΜαρία;Θεσσαλονίκη\n",
    "utf-16-le": "имя;город\nИван;Москва\nОльга;Казань\n",
}


@pytest.mark.parametrize("encoding", CITIES)
def test_encodings_of_other_languages_are_guessed_and_noted(encoding):
    text = CITIES[encoding]
    ds = load_table(text.encode(encoding))
    header, *rows = [line.split(";") for line in text.splitlines()]
    assert list(ds.table.columns) == header
    assert ds.table.to_numpy().tolist() == rows
    assert any(note.startswith("Encoding: ") for note in ds.notes)
    given = load_table(text.encode(encoding), encoding=encoding)
    assert given.table.equals(ds.table)
    assert f"Encoding: {encoding}, given." in given.notes


@pytest.mark.parametrize("encoding", ["shift_jis", "gb18030", "cp1250"])
@pytest.mark.parametrize("line_end", ["\n", "\r"])
def test_long_text_is_guessed_from_whole_lines(encoding, line_end):
    row = {"shift_jis": "東京表示", "gb18030": "张伟北京", "cp1250": "Łódź śląskie "}
    lines = [f"{k},{row[encoding] * 3},{k}" for k in range(20_000)]
    text = "n,city,m\n" + "1,plain,2\n" * 2000 + line_end.join(lines) + "\n"
    ds = load_table(text.replace("\n", line_end).encode(encoding))
    assert ds.table["city"].iloc[-1] == (row[encoding] * 3).strip()


def test_a_cell_longer_than_the_sample_is_read_whole():
    text = "a,b\n1," + "東京都表示" * 30_000 + "\n2,x\n"
    assert len(load_table(text.encode("shift_jis")).table["b"][0]) == 150_000


def test_an_ambiguous_guess_says_so_and_how_to_choose():
    text = "ville,n\nOrléans,3\nSète,4\nNîmes,5\n"
    ds = load_table(text.encode("cp1252"))
    assert ds.table["ville"][0] == "Orléans"
    note = next(note for note in ds.notes if "ambiguous" in note)
    assert "try Windows-1250 (central European) (encoding='cp1250')" in note


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (b"a,b\n1,2\n", {"encoding": "klingon"}, "'klingon', which is not known"),
        (b"a,b\n1,\xff\n", {"encoding": "utf-8"}, "is not utf-8 text as it claims"),
        (b"a,b\n1,2\n", {"sheet": "x"}, "sheet is 'x', but .* is delimited text"),
        (b"a,b\n1,2\n", {"array": "x"}, "array is 'x', but .* is delimited text"),
    ],
)
def test_choices_that_do_not_fit_the_file_are_refused(data, options, message):
    with pytest.raises(DataError, match=message):
        load_table(data, **options)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a,b\n1,"x\n2,y\n3,z\n', 2),  # never closed
        ('a,b\n1,x\n2,"y\n3,"z"\n4,w\n', 3),  # closed by a later one
        ('a,b\n1,"x" y\n2,z\n', 2),
        ('a,"b\n1,2\n3,4\n', 1),
        ('# c\na,b\n"two\nlines",1\n3,"4\n5,6\n', 5),
    ],
)
def test_unbalanced_quotes_are_refused_with_the_line(text, line):
    with pytest.raises(DataError, match=f"line {line} has a quote that is not closed"):
        load_table(text.encode())


def test_quotes_within_cells_and_line_breaks_in_quotes_are_kept():
    ds = load_table(b'a,b\n5" pipe,1\n7" pipe,2\n3" pipe,3\n')
    assert ds.table["a"].tolist() == ['5" pipe', '7" pipe', '3" pipe']
    ds = load_table(b'a,b\nx,1\n"two\nlines ""x""",2\n"",3\n')
    assert ds.table["a"][1] == 'two\nlines "x"'
    assert "1 quoted cell with line breaks, the first in line 3." in ds.notes


def test_infinite_and_missing_words_of_a_column_are_told():
    ds = prepare(load_table(b"a,b\n1,inf\n2,5\n9,-inf\n4,nan\n6,7\n"))
    assert any("2 infinite values" in note for note in ds.notes)
    assert np.isfinite(ds.X).all()


def workbook(*sheets) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets:
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def edited(data: bytes, part: str, old: str, new: str) -> bytes:
    """A workbook with a replacement in one of its parts."""
    source, out = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            text = source.read(name).decode()
            assert name != part or old in text
            archive.writestr(name, text.replace(old, new) if name == part else text)
    return out.getvalue()


SHEET = "xl/worksheets/sheet1.xml"


def test_a_sheet_can_be_chosen():
    data = workbook(("first", [["a"], [1]]), ("second", [["b"], [2], [3]]))
    ds = load_table(data, sheet="second")
    assert ds.table["b"].tolist() == [2, 3]
    assert "Read as Excel workbook, sheet 'second'." in ds.notes
    assert "Sheets left out: 'first'." in ds.notes
    with pytest.raises(DataError, match="no sheet 'third'; give one of 'first', 'sec"):
        load_table(data, sheet="third")


def test_an_array_can_be_chosen():
    out = io.BytesIO()
    np.savez(out, train=np.eye(3), test=np.ones((4, 2)))
    assert load_table(out.getvalue(), array="test").table.shape == (4, 2)
    with pytest.raises(DataError, match=r"choose a matrix \(array=...\)"):
        load_table(out.getvalue())
    with pytest.raises(DataError, match="no matrix 'valid'; it has 'train', 'test'"):
        load_table(out.getvalue(), array="valid")


def test_hidden_sheets_are_read_on_request_only():
    data = workbook(("secret", [["a"], [1]]), ("open", [["b"], [2]]))
    data = edited(data, "xl/workbook.xml", 'state="visible"', 'state="hidden"')
    data = edited(
        data,
        "xl/workbook.xml",
        'name="open" sheetId="2" state="hidden"',
        'name="open" sheetId="2" state="visible"',
    )
    assert list(load_table(data).table.columns) == ["b"]
    assert list(load_table(data, sheet="secret").table.columns) == ["a"]


def test_a_formula_that_was_filled_down_without_values_is_noted():
    data = workbook(("s", [["a", "b"], [1, 5], [2, 6], [3, 7]]))
    for row, formula in (
        (3, '<f t="shared" ref="B3:B4" si="0">A3*2</f>'),
        (4, '<f t="shared" si="0"/>'),
    ):
        old = f'<c r="B{row}" t="n"><v>{row + 3}</v></c>'
        data = edited(data, SHEET, old, f'<c r="B{row}">{formula}</c>')
    ds = load_table(data)
    assert ds.table["b"].isna().tolist() == [False, True, True]
    assert any(
        note.startswith("Formulas in 2 cells") and "2 without one" in note
        for note in ds.notes
    )


def test_values_stored_with_formulas_are_read():
    data = workbook(("s", [["a", "b"], [1, 5], [2, 6]]))
    old = '<c r="B3" t="n"><v>6</v></c>'
    data = edited(data, SHEET, old, '<c r="B3"><f>A3*4</f><v>8</v></c>')
    ds = load_table(data)
    assert ds.table["b"].tolist() == [5, 8]
    assert any("0 without one are missing" in note for note in ds.notes)


def test_errors_and_merged_cells_of_a_sheet_are_noted():
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1, "#N/A"], [2, 3], [None, 4]):
        book.active.append(row)
    book.active["B2"].data_type = "e"
    book.active.merge_cells("A3:A4")
    out = io.BytesIO()
    book.save(out)
    ds = load_table(out.getvalue())
    assert ds.table["b"].isna().tolist() == [True, False, False]
    assert "1 cell with an error read as missing." in ds.notes
    assert any(note.startswith("1 merged range") for note in ds.notes)


def test_numbers_dates_and_truth_values_of_a_sheet_keep_their_type():
    day = pd.Timestamp("2020-01-31")
    late = pd.Timestamp("2020-01-31 12:30")
    rows = [["n", "x", "d", "t", "b", "m"], [1, 0.5, day, late, True, 1]]
    rows += [[2, 1, day, day, False, "u"], [3, 2, day, day, True, 2]]
    table = load_table(workbook(("s", rows))).table
    kinds = {name: table[name].dtype.kind for name in "nxdtb"}
    assert kinds == {"n": "i", "x": "f", "d": "M", "t": "M", "b": "b"}
    assert table["t"][0] == late
    assert table["m"].tolist() == ["1", "u", "2"]


def test_title_rows_above_the_header_of_a_sheet_are_skipped():
    rows = [["Sales", 2020], [], ["a", "b", "c", "d"], [1, "x", 2, 3], [4, "y", 5, 6]]
    ds = load_table(workbook(("s", rows)))
    assert list(ds.table.columns) == ["a", "b", "c", "d"]
    assert "First row is a header. 1 row above it skipped." in ds.notes


@pytest.mark.parametrize("position", ["XFD1048576", "A1048576"])
def test_a_sheet_with_a_far_cell_takes_no_memory(position):
    data = workbook(("s", [["a", "b"], [1, 2]]))
    data = edited(data, SHEET, 'r="B2"', f'r="{position}"')
    tracemalloc.start()
    with pytest.raises(DataError, match="the limit is 50\u202f000\u202f000"):
        load_table(data, max_bytes=50_000_000)
    assert tracemalloc.get_traced_memory()[1] < 30_000_000
    tracemalloc.stop()


def test_parts_that_unpack_to_more_than_they_claim_are_refused():
    data = bytearray(
        edited(workbook(("s", [["a"], [1]])), SHEET, "<row", " " * 10**7 + "<row")
    )
    for mark, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = data.find(mark)
        while at >= 0:
            name_at = at + (46 if mark[2] == 1 else 30)
            if data[name_at:].startswith(SHEET.encode()):
                data[at + offset : at + offset + 4] = (500).to_bytes(4, "little")
            at = data.find(mark, at + 4)
    with pytest.raises(DataError, match="damaged"):
        load_table(bytes(data))


ARFF = rb"""% flowers
@RELATION 'iris like'

@ATTRIBUTE 'sepal length' REAL
@ATTRIBUTE code {0, 1, 'two words'}
@attribute note string
@attribute day date "yyyy-MM-dd"
@ATTRIBUTE class {a, b, never}
@DATA
5.1, 0, 'it\'s, ok', 2020-01-31, a
% a comment
?, 'two words', "x y", 2020-02-01, b
4.9, 1, z, ?, a
4.8, 1, z, ?, b
"""


def test_arff_is_read_with_its_types():
    ds = load_table(ARFF, name="flowers.arff")
    assert ds.table["sepal length"].isna().tolist() == [False, True, False, False]
    assert ds.table["code"].tolist() == ["0", "two words", "1", "1"]
    assert ds.table["note"].tolist()[:2] == ["it's, ok", "x y"]
    assert ds.table["day"].dtype.kind == "M"
    assert ds.roles["class"] == "label"
    assert list(ds.table["class"].cat.categories) == ["a", "b"]
    assert "Read as ARFF." in ds.notes


def test_arff_levels_have_blanks_and_both_quotes_around_them():
    head = b"""@relation w
@attribute sky { sunny, 'half clouded', "it rains" , fog }
@data
"""
    ds = load_table(head + b"sunny\n'half clouded'\n'it rains'\nfog\n")
    levels = ["sunny", "half clouded", "it rains", "fog"]
    assert ds.table["sky"].tolist() == levels == list(ds.table["sky"].cat.categories)


def test_sparse_arff_rows_are_zero_where_nothing_is_named():
    ds = load_table(
        b"@relation s\n@attribute x numeric\n@attribute y {n,p}\n@attribute z numeric\n"
        b"@data\n{0 1.5, 1 p}\n{2 3}\n{}\n{1 ?}\n"
    )
    assert ds.table["x"].tolist() == [1.5, 0, 0, 0]
    assert ds.table["y"].tolist()[:3] == ["p", "n", "n"]
    assert ds.table["y"].isna().tolist() == [False, False, False, True]
    assert ds.table["z"].tolist() == [0, 3, 0, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@relation r\n@attribute a real\n", "no line @data"),
        ("@relation r\n@data\n1\n", "declares no attribute"),
        ("@relation r\n@attribute a\n@data\n1\n", "line 2 is no attribute"),
        ("@relation r\n@attribute a real\n@data\n", "a header but no rows"),
        (
            "@relation r\n@attribute a real\n@attribute b real\n@data\n1,2\n1,2,3\n",
            "line 6 has 3 cells for 2 attributes",
        ),
        (
            "@relation r\n@attribute a real\n@attribute 'a' real\n@data\n1,2\n",
            "declares the attribute 'a' more than once",
        ),
        ("@relation r\n@attribute a {'x,y}\n@data\nx\n", "line 2 cannot be split"),
        ("@relation r\n@attribute a {x,y}\n@data\nx\nz\n", "'z' in row 2 of the data"),
        ("@relation r\n@attribute a real\n@data\n{3 1}\n", "line 4 has '3 1' where"),
        ("@relation r\n@attribute a string\n@data\n'x\n", "line 4 cannot be split"),
    ],
)
def test_arff_that_is_no_table_is_refused_with_the_place(text, message):
    with pytest.raises(DataError, match=message):
        load_table(text.encode())


def test_name_of_another_format_does_not_mislead(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(write(sample_table(), "xlsx"))
    ds = load_table(path)
    assert ds.table.shape == (4, 5)
    assert "Named .csv, but the content is an Excel workbook." in ds.notes


def test_first_sheet_with_cells_is_read_and_the_others_are_named():
    book = openpyxl.Workbook()
    book.active.title = "empty"
    sheet = book.create_sheet("data")
    for row in (["A title"], ["a", "b"], [1, "x"], [2, "y"], [None, None]):
        sheet.append(row)
    book.create_sheet("more").append([1])
    out = io.BytesIO()
    book.save(out)
    ds = load_table(out.getvalue())
    assert ds.table.shape == (2, 2)
    assert "Sheets left out: 'empty', 'more'." in ds.notes
    assert any("1 row above it skipped" in note for note in ds.notes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n1,2,3\n4,5\n", "line 3 has 3 cells where the others have 2"),
        (
            "# c\na,b,c\n1,2,3\n1,2\n4,5,6\n",
            "line 4 has 2 cells where the others have 3",
        ),
        ('a,b\n"x\ny",1\n2\n3,4\n', "line 4 has 1 cells where the others have 2"),
        ("t\na,b,c\n1,2\n3,4\n5,6\n", "line 2 has 3 cells where most lines have 2"),
        ("a,b,c\n", "a header but no rows"),
        ("\n \n", "holds no table"),
        ("# only\n", "holds no table"),
        ('[{"a": 1}]', "JSON"),
        ("<!DOCTYPE html><html>", "web page"),
        ("%PDF-1.7", "PDF"),
    ],
)
def test_text_that_is_no_table_is_refused_with_the_place(text, message):
    with pytest.raises(DataError, match=message):
        load_table(text.encode(), name="t")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (bytes(range(256)) * 9, "binary data"),
        (b"\xd0\xcf\x11\xe0" + bytes(500), "save it as .xlsx"),
        (b"PK\x03\x04" + bytes(500), "zip archive"),
        (b"PAR1" + bytes(500), "cannot be read as a Parquet file"),
        (b"\x93NUMPY\x01\x00" + bytes(20), "cannot be read as a NumPy array"),
        (gzip.compress(b"a,b\n" * 99, mtime=0)[:-9], "damaged or incomplete gzip"),
        (b"\x80\x05cos\nsystem\n", "pickle"),
    ],
)
def test_files_that_are_no_table_are_refused(data, message):
    with pytest.raises(DataError, match=message):
        load_table(data)


def test_sources_that_cannot_be_opened_are_refused(tmp_path):
    for source in (
        tmp_path / "none.csv",
        tmp_path,
        "https://example.org/a.csv",
        "a\0b",
        7,
    ):
        with pytest.raises(DataError):
            load_table(source)


def test_object_arrays_are_never_unpickled():
    out = io.BytesIO()
    np.save(out, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="Python objects"):
        load_table(out.getvalue())
    out = io.BytesIO()
    np.savez(out, X=np.array([[None]], dtype=object))
    with pytest.raises(DataError, match="Python objects"):
        load_table(out.getvalue())


def claimed_array() -> bytes:
    out = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**3)}
    np.lib.format.write_array_header_1_0(out, header)
    return out.getvalue()


def gzip_bomb() -> bytes:
    return b"".join([gzip.compress(bytes(10_000_000))] * 11)


def zip_bomb() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", bytes(110_000_000))
    return out.getvalue()


def parquet_of_zeros() -> bytes:
    out = io.BytesIO()
    column = pa.array(np.zeros(1_000_000, dtype=np.int8)).cast(pa.bool_())
    pq.write_table(pa.table({str(j): column for j in range(20)}), out)
    return out.getvalue()


def parquet_of_one_long_text() -> bytes:
    out = io.BytesIO()
    words = pa.DictionaryArray.from_arrays(np.zeros(2000, np.int32), ["x" * 100_000])
    pq.write_table(pa.table({"a": words.cast(pa.large_string())}), out)
    return out.getvalue()


def parquet_of(values: pa.Array) -> bytes:
    """Cells that are stored once and stand in every row, whatever their type."""
    out = io.BytesIO()
    pq.write_table(pa.table({"a": values, "b.c": range(len(values))}), out)
    return out.getvalue()


LONG = "x" * 100_000
NESTED = {
    "binary": lambda: pa.array([LONG.encode()] * 2000),
    "fixed size": lambda: pa.array([LONG.encode()] * 2000, pa.binary(100_000)),
    "view": lambda: pa.array([LONG] * 2000, pa.string_view()),
    "json": lambda: pa.array([f'"{LONG}"'] * 2000, pa.json_()),
    "list of text": lambda: pa.array([["x" * 100] * 1000] * 2000),
    "list of numbers": lambda: pa.array([[7] * 10_000] * 2000),
    "list of truth values": lambda: pa.array([[True] * 10_000] * 2000),
    "struct": lambda: pa.array([{"u": LONG}] * 2000),
    "list of structs": lambda: pa.array([[{"u": 1}] * 1000] * 2000),
    "map": lambda: pa.array([[("k", LONG)]] * 2000, pa.map_(pa.string(), pa.string())),
}


def sheet_of_one_long_text() -> bytes:
    data = workbook(("s", [["a"], ["b"]]))
    source, out = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    cells = "".join(
        f'<row><c r="A{k}" t="s"><v>0</v></c></row>' for k in range(1, 9999)
    )
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            text = source.read(name).decode()
            if name == SHEET:
                begin, end = text.index("<sheetData>"), text.index("</sheetData>")
                text = f"{text[:begin]}<sheetData>{cells}{text[end:]}"
            archive.writestr(name, text)
        text = f"<sst><si><t>{LONG[:20_000]}</t></si></sst>"
        archive.writestr("xl/sharedStrings.xml", text)
    return out.getvalue()


@pytest.mark.parametrize(
    "bomb",
    [
        claimed_array,
        gzip_bomb,
        zip_bomb,
        sheet_of_one_long_text,
        parquet_of_zeros,
        parquet_of_one_long_text,
        *(
            pytest.param(lambda make=make: parquet_of(make()), id=f"parquet: {kind}")
            for kind, make in NESTED.items()
        ),
    ],
)
def test_bombs_are_refused_before_they_take_memory(bomb):
    data = bomb()
    assert len(data) < 1_000_000
    # tracemalloc sees Python and NumPy; Arrow keeps its own account.
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    with pytest.raises(
        DataError, match=r"bytes or more, the limit is 100\u202f000\u202f000; .+"
    ):
        load_table(data, max_bytes=100_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30_000_000
    assert pa.total_allocated_bytes() - before < 30_000_000


@pytest.mark.parametrize("kind", NESTED)
def test_nested_and_binary_columns_of_parquet_files_are_read(kind):
    values = NESTED[kind]()[:3]
    table = load_table(parquet_of(values)).table
    cells = [np.asarray(c).tolist() if "list" in kind else c for c in table["a"]]
    assert cells == values.to_pylist()
    assert table["b.c"].tolist() == [0, 1, 2]


def test_categories_of_parquet_files_may_be_long_as_each_is_kept_once():
    categories = pa.array([LONG, "b"] * 2000).dictionary_encode()
    table = load_table(parquet_of(categories), max_bytes=1_000_000).table
    assert table["a"].cat.categories.tolist() == [LONG, "b"]


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
@pytest.mark.parametrize(
    "text", [b"1\n" * 52, b"1\r" * 52, b"1\r\n" * 52, b"@relation r\n" + b"1\n" * 52]
)
def test_text_with_too_many_lines_is_refused_by_their_number(text, packed, monkeypatch):
    monkeypatch.setattr(Content, "__init__", shaped(rows=50, columns=10))
    with pytest.raises(DataError, match=r"has 5[23] lines or more, the limit is 50; "):
        load_table(packed(text))


def shaped(rows: int, columns: int):
    """Let files have so many rows and columns."""
    return partialmethod(Content.__init__, shape=(rows, columns))


def test_packed_text_is_refused_before_all_of_it_is_unpacked(monkeypatch):
    pieces = []
    unpacked = _files._unpacked

    def count(data):
        for piece in unpacked(data):
            pieces.append(len(piece))
            yield piece

    monkeypatch.setattr(_files, "_unpacked", count)
    row = b",".join([b"1"] * 10) + b"\n"
    with pytest.raises(DataError, match="cells, in memory"):
        load_table(gzip.compress(row * 2_000_000), max_bytes=10_000_000)
    assert sum(pieces) <= 3 << 20


def test_parts_are_named_only_of_archives_within_the_limit():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        header = b"\x93NUMPY\x02\x00" + (110_000_000).to_bytes(4, "little")
        archive.writestr("X.npy", header + b" " * 110_000_000)
    tracemalloc.start()
    with pytest.raises(DataError, match="the limit is 100\u202f000\u202f000"):
        _files.file_parts(out.getvalue(), 100_000_000)
    assert tracemalloc.get_traced_memory()[1] < 30_000_000
    tracemalloc.stop()


def test_stored_tables_of_any_shape_are_opened(monkeypatch):
    stored = dataset_to_parquet(load_table(WIDE))
    monkeypatch.setattr(Content, "__init__", shaped(rows=1, columns=10))
    same_cells(dataset_from_parquet(stored).table, WIDE)


def test_a_packed_table_is_not_unpacked_to_name_its_parts(monkeypatch):
    monkeypatch.setattr(_files, "_decompressed", None)
    assert table_parts(gzip.compress(b"a,b\n1,2\n")).names == ()


WIDE = pd.DataFrame([range(11), range(11)], columns=[f"c{j}" for j in range(11)])


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx", "npy", "npz", "arff"])
def test_tables_with_too_many_columns_are_refused_whatever_their_format(
    kind, monkeypatch
):
    out = io.BytesIO()
    if kind == "npy":
        np.save(out, WIDE)
    elif kind == "npz":
        np.savez(out, X=WIDE)
    elif kind == "arff":
        names = "".join(f"@attribute {name} real\n" for name in WIDE)
        out.write(f"@relation r\n{names}@data\n".encode())
        WIDE.to_csv(out, index=False, header=False)
    else:
        out.write(write(WIDE, kind))
    monkeypatch.setattr(Content, "__init__", shaped(rows=50, columns=10))
    with pytest.raises(DataError, match="has 11 columns, the limit is 10; keep"):
        load_table(out.getvalue())


@pytest.mark.parametrize(
    "text",
    [
        b"x" * 30_000_000,
        b"x" * 30_000_000 + b"\n1\n2\n",
        b"a," * 15_000_000 + b"\n" + b"1," * 15_000_000 + b"\n",
    ],
)
def test_a_line_without_an_end_is_refused_with_a_sentence(text):
    with pytest.raises(DataError, match="no line end within its first 16\u202f777"):
        load_table(text)


def test_a_name_of_two_hundred_thousand_letters_is_refused_with_a_sentence():
    text = b"a," + b"x" * 200_000 + b"\n1,2\n3,4\n"
    with pytest.raises(DataError, match="line 1 has a cell of more than 131\u202f072"):
        load_table(text)


def test_blank_lines_above_a_table_take_no_time():
    # Tried in all ways to divide them, a hundred would take for ever.
    assert load_table(b"\n" * 100 + b"a,b\n1,2\n3,4\n").table.shape == (2, 2)
    relation = b"\n% x\n" * 100 + b"@relation r\n@attribute a real\n@data\n1\n2\n"
    assert load_table(relation).table.shape == (2, 1)


def test_text_larger_than_the_limit_is_refused(tmp_path):
    path = tmp_path / "big.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 1000)
    with pytest.raises(DataError, match="the limit is 1\u202f000"):
        load_table(path, max_bytes=1000)
    with pytest.raises(DataError, match="the limit is 5\u202f000"):
        load_table(path, max_bytes=5000)  # the file fits, its cells do not
    assert load_table(path, max_bytes=100_000).table.shape == (1000, 2)


def test_entities_that_multiply_in_a_workbook_are_refused():
    entities = "".join(f'<!ENTITY e{k + 1} "{f"&e{k};" * 10}">' for k in range(9))
    bomb = f'<!DOCTYPE s [<!ENTITY e0 "lol">{entities}]>'
    source = zipfile.ZipFile(io.BytesIO(write(pd.DataFrame({"a": ["text"]}), "xlsx")))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in source.namelist():
            text = source.read(name).decode()
            if name == "xl/worksheets/sheet1.xml":
                text = bomb + text.replace("<t>text</t>", "<t>&e9;</t>")
            archive.writestr(name, text)
    with pytest.raises(DataError, match=r"Excel workbook.*entity"):
        load_table(out.getvalue())


def test_a_cell_outside_the_stated_sheet_size_takes_no_memory():
    book = openpyxl.Workbook()
    book.active["A1"] = "a"
    book.active["XFD9000"] = 1
    out = io.BytesIO()
    book.save(out)
    with pytest.raises(DataError, match="limit"):
        load_table(out.getvalue(), max_bytes=1_000_000)


def test_years_as_names_of_a_sheet_are_a_header():
    table = pd.DataFrame({"land": ["A", "B"], 1990: [1.5, 2], 1991: [2, 3]})
    assert list(load_table(write(table, "xlsx")).table.columns) == [
        "land",
        "1990",
        "1991",
    ]


def test_text_longer_than_the_looked_at_head_is_read_whole():
    rows = "".join(
        f'{k},"line {k}\nwith ""quotes"", and more",{k / 7}\n' for k in range(9000)
    )
    ds = load_table(("k,text,v\n" + rows).encode())
    assert ds.table.shape == (9000, 3)
    assert ds.table["text"].iloc[-1] == 'line 8999\nwith "quotes", and more'
    with pytest.raises(
        DataError, match="line 18002 has 2 cells where the others have 3"
    ):
        load_table(("k,text,v\n" + rows + "1,2\n").encode())


def test_formulas_that_were_never_computed_are_missing_with_a_note():
    table = pd.DataFrame({"a": [1, 2], "b": ["=1+1", "x"]})
    ds = load_table(write(table, "xlsx"))
    assert ds.table["b"].isna().tolist() == [True, False]
    assert any("Formulas" in note for note in ds.notes)


def test_given_name_tells_of_content_that_differs():
    ds = load_table(io.BytesIO(b"a,b\n1,2\n"), name="table.xlsx")
    assert ds.name == "table.xlsx"
    assert "Named .xlsx, but the content is delimited text." in ds.notes


def test_unknown_label_column_is_refused_with_a_hint():
    with pytest.raises(DataError, match="no column 'spezies'; did you mean 'species'"):
        load_table(b"a,species\n1,x\n2,y\n", label="spezies")


def test_readers_cover_the_promised_formats():
    assert list(READERS) == ["parquet", "npy", "xlsx", "npz", "arff", "drawn", "text"]


def loads_or_refuses(data: bytes) -> None:
    try:
        ds = load_table(data)
    except DataError:
        return
    assert ds.table.size > 0


@settings(max_examples=150)
@given(st.binary(max_size=300))
def test_random_bytes_load_or_are_refused(data):
    loads_or_refuses(data)


@settings(max_examples=150)
@given(st.text(alphabet=',;\t| "\n\r.#ab10-', max_size=80))
def test_random_tables_of_text_load_or_are_refused(text):
    loads_or_refuses(text.encode())


def npz_file() -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, X=np.eye(4), y=np.arange(4))
    return out.getvalue()


def npy_file() -> bytes:
    out = io.BytesIO()
    np.save(out, np.eye(4))
    return out.getvalue()


VALID = {
    **{k: write(sample_table(), k) for k in ("csv", "csv.gz", "parquet", "xlsx")},
    "npz": npz_file(),
    "npy": npy_file(),
    "arff": ARFF,
}


@pytest.mark.parametrize("kind", VALID)
@settings(max_examples=60)
@given(data=st.data())
def test_damaged_files_load_or_are_refused(kind, data):
    content = bytearray(VALID[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    end = data.draw(st.sampled_from([len(content)] * 2 + [len(content) // 2]))
    loads_or_refuses(bytes(content[:end]))


@settings(max_examples=80)
@given(
    st.lists(
        st.lists(
            st.text(
                st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]),
                max_size=6,
            ),
            min_size=2,
            max_size=2,
        ),
        min_size=2,
        max_size=6,
    )
)
def test_quoted_text_comes_back_as_pandas_reads_it(rows):
    # A first column of numbers marks the rows; the others may hold any text.
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(["id", "p", "q"])
    for k, row in enumerate(rows):
        writer.writerow([k, *row])
    ds = load_table(out.getvalue().encode())
    expected = pd.read_csv(
        io.StringIO(out.getvalue()), dtype=str, keep_default_na=False
    )
    assert ds.table.shape == expected.shape
    for name in ("p", "q"):
        found = ds.table[name]
        if pd.api.types.is_string_dtype(found.dtype):
            text = [
                w.strip()
                for w, gone in zip(expected[name], found.isna(), strict=True)
                if not gone
            ]
            assert found.dropna().tolist() == text


@pytest.mark.data
@pytest.mark.skipif(not DATA.exists(), reason="the research data sets are not here")
def test_all_research_tables_are_read_as_documented():
    with (DATA / "MANIFEST.csv").open(encoding="utf-8") as file:
        manifest = list(csv.DictReader(file))
    for entry in manifest:
        ds = load_table(DATA / entry["file"])
        if ".labels" not in entry["name"]:
            assert ds.table.shape == (int(entry["n"]), int(entry["d"]) + 1), entry[
                "file"
            ]
            assert ds.roles["label"] == "label", entry["file"]
            features = set(ds.roles.values()) - {"label", "ignore"}
            assert features == {"numeric"}, (entry["file"], ds.roles)
            ignored = [n for n, role in ds.roles.items() if role == "ignore"]
            reasons = [ds.role_reasons[name].split()[0] for name in ignored]
            allowed = {"constant:", "65%", "90%"}  # two columns of heartdisease
            assert set(reasons) <= allowed, (entry["file"], reasons)
            if ds.table.size < 50_000:
                assert np.isfinite(prepare(ds).X).all()


def test_the_sheets_and_arrays_that_load_table_can_choose_are_named():
    book = openpyxl.Workbook()
    book.active.title = "empty"
    for title in ("first", "second", "hidden"):
        book.create_sheet(title).append(["a", "b"])
        book[title].append([1, 2])
    book["hidden"].sheet_state = "hidden"
    out = io.BytesIO()
    book.save(out)
    parts = table_parts(out.getvalue())
    assert (parts.option, parts.names) == ("sheet", ("first", "second"))
    read = load_table(out.getvalue())
    assert f"sheet '{parts.usual}'" in read.notes[0]
    out = io.BytesIO()
    np.savez(out, train=np.eye(3), test=np.ones((4, 2)), y=np.arange(3))
    parts = table_parts(gzip.compress(out.getvalue()))
    assert (parts.option, parts.names) == ("array", ("train", "test"))
    assert parts.usual is None
    out = io.BytesIO()
    np.savez(out, z=np.eye(3), X=np.ones((4, 2)))
    assert table_parts(out.getvalue()).usual == "X"
    assert table_parts(b"a,b\n1,2\n").names == ()
    with pytest.raises(DataError, match="damaged"):
        table_parts(out.getvalue()[:100] + out.getvalue()[-300:])


def test_reading_says_how_far_it_is_and_stops_between_steps():
    text = b"a,b,c\n" + b"1,x,2.5\n" * 50
    shares, asked = [], []
    load_table(
        text,
        progress=lambda done, total: shares.append(done / total),
        cancel=lambda: bool(asked.append(0)),
    )
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert len(asked) >= 4  # once for the text, once for each column
    for stop in range(len(asked)):
        answers = iter([False] * stop + [True])
        with pytest.raises(Cancelled):
            load_table(text, cancel=lambda answers=answers: next(answers))


BODIES = {
    "numbers": "id,amount,size\n"
    + "".join(f"{i},{i * 1.5},{i % 7}\n" for i in range(1, 30)),
    "names and numbers": "name,city,amount\n"
    + "".join(f"Ada Smith {i},New Town,{i}\n" for i in range(1, 30)),
    "two columns": "id,amount\n" + "".join(f"{i},{i * 1.5}\n" for i in range(1, 30)),
    "one column": "amount\n" + "".join(f"{i * 1.5}\n" for i in range(1, 30)),
}
TITLES = [
    "Sales report 2024\nNorth region\nUnits in thousands\n",
    "Sales report\nCreated, 2024-01-01\nSource: A, B\n",
    "Line one of a title\nLine two of a title\nLine three of a title\n\n",
    "Year,2024\nRegion,North\nUnit,EUR\n",
    '"Sales, 2024"\n"by us"\n"kg"\n',
]


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_three_lines_of_a_title_above_the_header_are_no_header(title, separator, body):
    ds = load_table(io.BytesIO((title + body.replace(",", separator)).encode()))
    assert list(ds.table.columns) == body.partition("\n")[0].split(",")
    assert len(ds.table) == 29
    assert "before the table skipped" in ds.notes[0]


def test_words_below_the_names_do_not_become_the_header():
    rows = "".join(f"{i},{i * 1.5}\n" for i in range(1, 30))
    for words in ("low,high\n", "cm,cm\nfloat,float\n"):
        ds = load_table(io.BytesIO(f"length,mass\n{words}{rows}".encode()))
        assert list(ds.table.columns) == ["length", "mass"]


def test_blanks_within_the_cells_of_a_table_of_tabs_do_not_part_them():
    rows = "".join(f"Ada Smith\t{i}\t{i / 2}\n" for i in range(1, 30))
    ds = load_table(io.BytesIO(f"name\tage\tscore\n{rows}".encode()))
    assert list(ds.table.columns) == ["name", "age", "score"]


@pytest.mark.parametrize(
    ("separator", "columns"),
    [
        (",", ["a|b", "c"]),
        ("|", ["a", "b,c"]),
        (" ", ["a|b,c"]),
        (";", ["a|b,c"]),
        ("\t", ["a|b,c"]),
    ],
)
def test_a_separator_that_is_asked_for_is_what_splits_the_lines(separator, columns):
    text = b"a|b,c\n" + b"".join(b"%d|%d,%d\n" % (k, k * k, k % 7) for k in range(9))
    read = load_table(text, separator=separator)
    assert list(read.table) == columns
    assert read.reading_notes[0].kind == "text read"
    assert read.reading_notes[0].numbers == {"separator": separator}


@pytest.mark.parametrize(
    ("decimal", "separator", "sizes"),
    [(None, ";", [1.234, 2.5]), (".", ";", [1234, 2500]), (",", "\t", [1.234, 2.5])],
)
def test_a_decimal_mark_that_is_asked_for_is_what_fractions_have(
    decimal, separator, sizes
):
    text = f"size{separator}kind\n1,234{separator}a\n2,500{separator}b\n".encode()
    read = load_table(text, decimal=decimal)
    assert read.table["size"].tolist() == sizes
    with pytest.raises(ValueError, match=r"decimal is ';'; give one of '\.', ','"):
        load_table(text, decimal=";")
    out = io.BytesIO()
    np.save(out, np.eye(3))
    with pytest.raises(DataError, match=r"decimal is '\.', but 'the file' is a NumPy"):
        load_table(out.getvalue(), decimal=".")


def test_separators_are_of_text_alone_and_one_of_five():
    with pytest.raises(ValueError, match="separator is ':'; give one of ','"):
        load_table(b"a:b\n1:2\n", separator=":")
    out = io.BytesIO()
    np.save(out, np.eye(3))
    with pytest.raises(DataError, match="separator is ';', but 'the file' is a NumPy"):
        load_table(out.getvalue(), separator=";")


@pytest.mark.parametrize(
    ("words", "encoding"),
    [
        ("Łódź Kraków Gdańsk Wrocław", "cp1250"),
        ("Białystok Poznań Bełchatów", "cp1250"),
        ("Bistriţa Braşov Constanţa Galaţi", "cp1250"),
        ("Jyväskylä Hämeenlinna Seinäjoki Mikkeli Järvenpää", "cp1252"),
        ("Málaga Córdoba Cádiz León", "cp1252"),
        ("Göteborg Malmö Västerås Örebro", "cp1252"),
        ("München Köln Düsseldorf Fürth", "cp1252"),
        ("Иван0 Иван1 Иван2 Имя", "cp1251"),
    ],
)
def test_signs_within_words_tell_the_encoding(words, encoding):
    text = "".join(f"{word};{k}\n" for k, word in enumerate(words.split()))
    for data in (text.encode(encoding), gzip.compress(text.encode(encoding))):
        ds = load_table(data)
        assert ds.table.iloc[:, 0].tolist() == words.split()
        assert [note for note in ds.notes if "guessed" in note]
