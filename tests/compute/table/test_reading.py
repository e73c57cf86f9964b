import csv
import gzip
import io
import tracemalloc
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute._validation import DataError
from clusterlens.compute.table.dataset import prepare
from clusterlens.compute.table.reading import READERS, load_table
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


@pytest.mark.parametrize(
    ("text", "shape", "note"),
    [
        ("a;b\n1,5;2\n2,5;3\n", (2, 2), "separator ';', decimal comma, first line is"),
        ("a\tb\n1\t2\n", (1, 2), "separator tab"),
        ("a|b\n1|x,y\n2|z\n", (2, 2), "separator '|'"),
        ("x y label\n1.0  2 a\n 3 4.0  b\n", (2, 3), "separator blanks"),
        ("sep=;\na;b\n1;2\n", (1, 2), "separator ';'"),
        ("1.5,2\n2.5,3\n", (2, 2), "no header"),
        ("0,1,2\n1.5,2,3\n2,3,4\n", (2, 3), "first line is a header"),
        ("0,1,2\n3,4,5\n6,7,8\n", (3, 3), "no header"),
        ("land,1990,1991\nA,1.5,2\nB,2,3\n", (2, 3), "first line is a header"),
        ("# by me\n# 2020\na,b\n1,2\n", (1, 2), "2 comment line(s) before the table"),
        ("#a,b\n1,2\n3,4\n", (2, 2), "header in a comment line"),
        ("Report\nof X\n\nid;v\n1;3\n2;4\n3;4\n", (3, 2), "2 line(s) before the table"),
        ("a b\nr1 2 3\nr2 4 5\n", (2, 3), "the first holds row names"),
        ("a,b\r1,2\r3,4\r", (2, 2), "separator ','"),
        ('a,b\r\n"x, y",1\r\n"two\r\nlines",2\r\n', (2, 2), "separator ','"),
        ("n\n1\n2\n", (2, 1), "first line is a header"),
        ("a,b\n1,2,\n3,4,\n", (2, 3), "Column 3 has no name"),
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
        ("cp1252", "Windows-1252"),
    ],
)
def test_encoding_is_found_and_noted(encoding, noted):
    text = "Größe;Straße\n1,5;Äpfel\n2,5;Öl\n"
    ds = load_table(text.encode(encoding))
    assert list(ds.table.columns) == ["Größe", "Straße"]
    assert ds.table["Straße"].tolist() == ["Äpfel", "Öl"]
    assert any(noted in note for note in ds.notes)


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
    assert any("1 row(s) above it skipped" in note for note in ds.notes)


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
        (gzip.compress(b"a,b\n" * 99)[:-9], "damaged or incomplete gzip"),
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


@pytest.mark.parametrize(
    "bomb",
    [claimed_array, gzip_bomb, zip_bomb, parquet_of_zeros, parquet_of_one_long_text],
)
def test_bombs_are_refused_before_they_take_memory(bomb):
    data = bomb()
    assert len(data) < 1_000_000
    # tracemalloc sees Python and NumPy; Arrow keeps its own account.
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    with pytest.raises(DataError, match=r"bytes or more, the limit is 100,000,000; .+"):
        load_table(data, max_bytes=100_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30_000_000
    assert pa.total_allocated_bytes() - before < 30_000_000


def test_text_larger_than_the_limit_is_refused(tmp_path):
    path = tmp_path / "big.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 1000)
    with pytest.raises(DataError, match="the limit is 1,000"):
        load_table(path, max_bytes=1000)
    with pytest.raises(DataError, match="the limit is 5,000"):
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
    with pytest.raises(DataError, match=r"Excel workbook.*amplification"):
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
    assert list(READERS) == ["parquet", "npy", "xlsx", "npz", "text"]


def loads_or_refuses(data: bytes) -> None:
    try:
        ds = load_table(data)
    except DataError:
        return
    assert ds.table.size > 0


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=300))
def test_random_bytes_load_or_are_refused(data):
    loads_or_refuses(data)


@settings(deadline=None, max_examples=150)
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
}


@pytest.mark.parametrize("kind", VALID)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_damaged_files_load_or_are_refused(kind, data):
    content = bytearray(VALID[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    end = data.draw(st.sampled_from([len(content)] * 2 + [len(content) // 2]))
    loads_or_refuses(bytes(content[:end]))


@settings(deadline=None, max_examples=80)
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
    # A first column of numbers fixes what is a row; the rest may hold any text.
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
