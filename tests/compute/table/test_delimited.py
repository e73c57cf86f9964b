"""How text is written: separator, header, titles, footers, and sheets likewise."""

import gzip
import io
import re
import time
import warnings
from contextlib import suppress

import openpyxl
import pandas as pd
import pytest

from clusterlens.compute._validation import DataError
from clusterlens.compute.ensemble.importing import load_partitions
from clusterlens.compute.table._delimited import _without_blank_lines
from clusterlens.compute.table._header import find_header, is_number
from clusterlens.compute.table._layout import _is_column_of_decimals, has_decimal_comma
from clusterlens.compute.table._splitting import tabbed, without_blanks_around_quotes
from clusterlens.compute.table.reading import load_table

SEPARATORS = [",", ";", "\t", "|"]


def workbook(text: str) -> bytes:
    """A sheet with the cells of comma-separated text, numbers as numbers."""
    book = openpyxl.Workbook()
    for line in text.splitlines():
        cells = [as_cell(cell) for cell in line.split(",")]
        book.active.append(cells)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def as_cell(text: str) -> object:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text or None


def forms(text: str) -> dict[str, bytes]:
    """Comma-separated text with other separators, packed, and as a workbook."""
    made = {repr(mark): text.replace(",", mark).encode() for mark in SEPARATORS}
    return {**made, "packed": gzip.compress(text.encode()), "sheet": workbook(text)}


def check(text: str, columns: list[str] | None, n_rows: int) -> None:
    """Read a table in all its forms; None stands for no header."""
    for form, data in forms(text).items():
        ds = load_table(data)
        width = ds.table.shape[1]
        expected = columns or [f"column {j}" for j in range(1, width + 1)]
        assert list(ds.table.columns) == expected, form
        assert len(ds.table) == n_rows, form


def lines(template: str, n: int = 12) -> str:
    return "".join(template.format(i=i, double=2 * i, half=i / 2) for i in range(1, n))


@pytest.mark.parametrize("title", ["", "All plates\n", "Report 2020\nby us all\n\n"])
@pytest.mark.parametrize("header", ["plate", "plate name"])
@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_separator_in_every_line_beats_blanks_within_words(title, header, separator):
    rows = lines("Plate {i},{double}\n")
    text = f"{title}{header},value\n{rows}".replace(",", separator)
    for data in (text.encode(), gzip.compress(text.encode())):
        ds = load_table(data)
        assert list(ds.table.columns) == [header, "value"]
        assert ds.table.iloc[:, 0].tolist() == [f"Plate {i}" for i in range(1, 12)]
        assert ds.table["value"].tolist() == [2 * i for i in range(1, 12)]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Plate 1,12\nPlate 2,14\nPlate 3,11\n", ["Plate 1", 12]),
        ("Smith, John\t1\nDoe, Jane\t2\nRoe, Al\t4\n", ["Smith, John", 1]),
        ("Site 1;1,5\nSite 2;2,5\nSite 3;0,5\n", ["Site 1", 1.5]),
        ("site name|x\nSite 1|1,5\nSite 2|2,5\n", ["Site 1", 1.5]),
        ("x y\n1,5 2,5\n2,5 3,75\n3,5 1,25\n", [1.5, 2.5]),
        ("1,5 2,5\n2,5 3,75\n3,5 1,25\n", [1.5, 2.5]),
        ("v,k\n1 2 3,a\n4 5 6,b\n7 8 9,a\n", ["1 2 3", "a"]),
        ("a\tb\n1 234\t5 678\n2 345\t6 789\n", [1234, 5678]),
        (
            "t,v\n2020-01-01 10:00,1\n2020-01-01 11:00,5\n",
            [pd.Timestamp("2020-01-01T10"), 1],
        ),
        ("Report, 2020\nby me, them\n\nplate;value\nP 1;2,5\nP 2;4,5\n", ["P 1", 2.5]),
        ("plate,value\nPlate 1,12\nPlate 2,14\nSource: WHO\n", ["Plate 1", 12]),
    ],
)
def test_cells_are_split_where_every_line_can_be_split(text, first):
    assert load_table(text.encode()).table.iloc[0].tolist() == first


@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_line_of_more_cells_is_refused_and_not_split_at_blanks(separator):
    text = "name,val\nPlate 1,2\nPlate 2,3\nPlate 4,3,\nPlate 3,4\n"
    with pytest.raises(DataError, match="line 4 has 3 cells where the others have 2"):
        load_table(text.replace(",", separator).encode())


def test_partitions_of_samples_with_blanks_in_their_names_are_read():
    text = "sample,a,b\n" + "".join(f"Plate {i},{i % 3},{i % 2}\n" for i in range(9))
    for data in forms(text).values():
        ensemble = load_partitions(io.BytesIO(data))
        assert ensemble.names == ("a", "b")
        assert ensemble.labels[0].tolist() == [0, 1, 2] * 3
    two = load_partitions(io.BytesIO(b"s,k\nPlate 1,7\nPlate 2,8\nPlate 3,7\n"))
    assert two.labels.tolist() == [[7, 8, 7]]


def test_partitions_named_by_their_number_of_clusters_are_read():
    for corner in ("", "sample"):
        text = f"{corner},2,3,4\ns1,1,1,1\ns2,2,1,3\ns3,1,2,4\n"
        for data in forms(text).values():
            ensemble = load_partitions(io.BytesIO(data))
            assert ensemble.names == ("2", "3", "4")
            assert ensemble.labels.tolist() == [[1, 2, 1], [1, 1, 2], [1, 3, 4]]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("2,3,4\n0,0,0\n1,1,2\n0,2,3\n1,2,1\n", ["2", "3", "4"]),
        ("2,3,4,5\n1,1,1,1\n2,2,2,2\n1,3,3,3\n2,2,4,4\n2,2,4,5\n", list("2345")),
        ("2,3,4\n1,1,1\n2,2,2\n1,3,3\n2,2,4\n", None),  # a sample of the last ones
        ("2,4,4\n0,0,0\n1,1,2\n0,2,3\n1,2,1\n", None),
    ],
)
def test_numbers_of_clusters_above_labels_alone_are_names(text, names):
    check(text, names, text.count("\n") - bool(names))


NUMBERS_AS_NAMES = {
    "wavelengths": "leaf,400,410,420\ns1,.51,.42,.33\ns2,.61,.31,.35\ns3,.44,.5,.4\n",
    "beside ids": "id,400,410,420\n1,.51,.42,.33\n2,.61,.31,.35\n3,.44,.5,.4\n",
    "fractions": "leaf,400.5,401,401.5\na,.51,.42,.33\nb,.61,.31,.35\nc,.44,.5,.4\n",
    "uneven": "site,412,443,490,510,555\nnorth,.1,.2,.3,.4,.5\nsouth,.2,.1,.4,.3,.2\n",
    "before a class": "400,410,kind\n.1,.2,a\n.2,.3,b\n.15,.4,a\n.1,.3,b\n",
    "alone": "400,410,420\n.1,.2,.3\n.2,.3,.3\n.15,.4,.3\n",
    "decades": "region,1980,1990,2000\nNorth,1200,1850,2100\nSouth,900,1999,1100\n",
    "downwards": "Country,2021,2020,2019\nFrance,67.5,67.3,67\nSpain,47.4,47.3,46.9\n",
    "one year": "country,2019\nFrance,67.5\nSpain,46.9\nItaly,59.7\n",
    "one year in range": "city,2020\nBerlin,3600\nParis,1500\nRome,2800\n",
    "gaps": "State,1990,2000\nOhio,,11.3\nIowa,2.7,NA\nUtah,1.7,2.2\n",
    "patients": "gene,1042,1007,1055\nTP53,5.1,3.2,8.8\nMYC,4.1,2.2,7.8\n",
    "masses": "sample,100.02,150.7,301.5\na,0,12.5,1000\nb,5,10.5,1200\n",
    "doses": "cell,0,0.1,1,10\nA549,1,.9,.5,.1\nHeLa,1,.95,.7,.3\n",
    "beside words": "land,1990,note\nA,1.5,x\nB,2.5,y\nC,3.5,x\n",
    "equal ratios": "cell,0.01,0.1,1\nA549,1,.9,.5\nHeLa,1,.95,.7\nJurkat,1,.8,.2\n",
    "four places": "0,1,2,3\n150,7,33,40\n120,9,35,44\n180,5,30,41\n",
    "places": "0,1,2,3,4\n0,5,3,0,2\n7,0,3,4,4\n0,0,16,3,2\n5,1,0,4,3\n",
}


@pytest.mark.parametrize("title", ["", "A report\n"])
@pytest.mark.parametrize("text", NUMBERS_AS_NAMES.values(), ids=NUMBERS_AS_NAMES)
def test_numbers_that_are_names_are_a_header(text, title):
    header, *rows = text.splitlines()
    if not title:
        check(text, header.split(","), len(rows))
    elif header.count(",") > 1:
        check(title + text, header.split(","), len(rows))


NO_HEADER = {
    "class last": "5.1,3.5,setosa\n4.9,3.0,setosa\n6.1,3.1,other\n6,3,other\n",
    "class first": "M,0.455,0.365\nF,0.53,0.42\nM,0.44,0.36\nF,0.33,0.25\n",
    "names": "Alabama,13.2,236\nAlaska,10.0,263\nArizona,8.1,294\nOhio,7.3,120\n",
    "names of whole numbers": "chevrolet,18,8,307\nbuick,15,8,350\nford,17,8,302\n",
    "numbered names": "r1,1,2\nr2,3,4\nr3,2,2\nr4,5,1\n",
    "names numbered from 0": "r0,0,1\nr1,1,2\nr2,2,3\nr3,0,1\n",
    "years of birth": "Ada,1985\nBob,1990\nCy,1972\nDan,1960\n",
    "whole numbers": "1,2,3\n4,5,6\n7,8,9\n2,3,4\n",
    "certain memberships": "1,0\n.5,.5\n0,1\n.25,.75\n",
    "a limit": "<0.5,1.5,2\n1.5,2.5,3\n2.5,3.5,1\n",
}


@pytest.mark.parametrize("text", NO_HEADER.values(), ids=NO_HEADER)
def test_a_first_line_like_the_others_is_no_header(text):
    check(text, None, text.count("\n"))


def test_numbers_of_any_size_are_compared_without_a_warning():
    text = f"0,1,2\n1e999,2,3\n{'9' * 400},1.5,3\n-inf,2.5,1\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(load_table(text.encode()).table.columns) == ["0", "1", "2"]


@pytest.mark.parametrize("index", [["a", "b", "c"], [0, 1, 2], [7, 3, 5]])
@pytest.mark.parametrize("values", [[1.5, 2.5, 0.1], [1, 2, 0]])
def test_the_index_that_pandas_writes_is_the_row_id(index, values):
    frame = pd.DataFrame([values, values[::-1], [9, *values[:2]]], index=index)
    out = io.BytesIO()
    frame.to_excel(out)
    written = [frame.to_csv(sep=mark).encode() for mark in SEPARATORS]
    for data in (*written, gzip.compress(written[0]), out.getvalue()):
        ds = load_table(data)
        assert list(ds.table.columns) == ["unnamed column 1", "0", "1", "2"]
        assert ds.roles["unnamed column 1"] == "row id"
        assert ds.table.index.tolist() == index


WORDS = {
    "limits": ["<0.5", "< 0.5", ">=9"],
    "not determined": ["n.d."] * 3,
    "not measured": ["not measured"] * 3,
    "timeouts": ["timeout", "lost", "timeout"],
    "mixed": ["<0.5", "n.d.", "timeout"],
    "four": ["timeout", "lost", "gone", "failed"],
}
AROUND = {
    "ids": ("id,time", "{i},{word}"),
    "numbered": ("id,time", "r{i},{word}"),
    "names": ("name,time", "{letter}da,{word}"),
    "numbers": ("x,time,y", "{i}.5,{word},{i}"),
    "class last": ("x,time,kind", "{i}.5,{word},{kind}"),
    "alone": ("time", "{word}"),
}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
@pytest.mark.parametrize(("header", "row"), AROUND.values(), ids=AROUND)
def test_words_in_the_first_rows_of_a_column_of_numbers_are_no_title(
    header, row, words
):
    cells = [*words, *(f"{i}.25" for i in range(10)), words[0]]
    rows = [
        row.format(i=i, word=word, letter=chr(65 + i), kind="ab"[i % 2])
        for i, word in enumerate(cells, start=1)
    ]
    text = "\n".join([header, *rows, ""])
    check(text, header.split(","), len(rows))
    if "," in header:
        check(f"A report\n{text}", header.split(","), len(rows))


def test_words_below_repeated_names_are_no_second_line_of_the_header():
    check("id,t,t\nr1,timeout,lost\nr2,1,2\nr3,2,3\n", ["id", "t", "t (2)"], 3)
    check("a,b\nlost,gone\nlate,gone\nlost,late\n1,2\n3,4\n5,6\n7,8\n", ["a", "b"], 7)
    check("a,b\nlow,high\n1,2\n3,4\n5,6\n", ["a", "b"], 4)
    check(",x,y\nA,,\nB,1,2\nC,2,3\n", ["unnamed column 1", "x", "y"], 3)


ORANGE = {
    "short": ("a,cls,b,nm\nc,d,c,s\n,class,,meta\n", "1.5,1,2,x\n2.5,2,3,y\n"),
    "long": (
        "a,cls,b,nm\ncontinuous,discrete,continuous,string\n,class,,meta\n",
        "1.5,1,2,x\n2.5,2,3,y\n",
    ),
    "values": ("a,cls,b,nm\nc,u v,c,s\n,class,,m\n", "1.5,u,2,x\n2.5,v,3,y\n"),
    "number": ("a,cls,b,nm\nc,d,c,c\n,c,,meta\n", "1.5,u,2,7\n2.5,v,3,9\n"),
    "ignored": ("a,cls,b,nm\nc,d,c,c\n,class,,ignore\n", "1.5,u,2,7\n2.5,v,3,9\n"),
}


ORANGE |= {
    "attributes": (
        "a,cls,b,nm\nc,d,c,s\nunit=cm,class,unit=kg show=1,meta of=x\n",
        "1.5,1,2,x\n2.5,2,3,y\n",
    ),
    "flags": ("C#a,cD#cls,C#b,mS#nm\n", "1.5,1,2,x\n2.5,2,3,y\n"),
    "some flags": ("a,c#cls,b,i#nm\n", "1.5,u,2,7\n2.5,v,3,9\n"),
}


def test_a_sign_within_names_is_no_flag_of_orange():
    header = ["C#m", "D#m", "F#m", "cost #"]
    ds = load_table((",".join(header) + "\n1.5,2,3,4\n2.5,3,1,5\n").encode())
    assert list(ds.table.columns) == header


@pytest.mark.parametrize(("header", "rows"), ORANGE.values(), ids=ORANGE)
def test_the_three_lines_of_orange_give_names_and_roles(header, rows):
    for data in forms(header + 6 * rows).values():
        ds = load_table(data)
        assert list(ds.table.columns) == ["a", "cls", "b", "nm"]
        assert len(ds.table) == 12
        assert ds.roles["cls"] == "label"
        assert ds.roles["a"] == ds.roles["b"] == "numeric"
        assert ds.roles["nm"] == "ignore"
        assert load_table(data, label="nm").roles["nm"] == "label"


def test_codes_that_orange_calls_discrete_are_categorical():
    ds = load_table(b"a\tb\nc\td\n\t\n1.5\t1\n2.5\t2\n3.5\t1\n2.5\t2\n")
    assert ds.roles == {"a": "numeric", "b": "categorical"}


LOGGER = """"TOA5","CR1000","CR1000","1234","Std.20","CPU:a.CR1","1","Table1"
"TIMESTAMP","RECORD","AirTC_Avg","RH"
"TS","RN","Deg C","%"
"","","Avg","Smp"
"2020-01-01 00:00:00",0,20.1,45
"2020-01-01 00:10:00",1,20.3,"NAN"
"2020-01-01 00:20:00",2,20.2,47
"""


@pytest.mark.parametrize("mark", SEPARATORS)
def test_the_four_lines_above_the_rows_of_a_logger_are_read(mark):
    found = load_table(LOGGER.replace(",", mark).encode())
    units = ["TIMESTAMP", "RECORD", "AirTC_Avg [Deg C]", "RH [%]"]
    assert list(found.table) == units
    assert found.table[units[2]].tolist() == [20.1, 20.3, 20.2]
    assert found.table[units[3]].isna().tolist() == [False, True, False]


@pytest.mark.parametrize("outputs", [2, 4, 12])
def test_the_names_of_a_table_of_netlogo_are_below_the_size_of_its_world(outputs):
    names = ["[run number]", "gain", *(f"count {j}" for j in range(outputs))]
    rows = [[k, 2 * k, *(k * j + 0.5 for j in range(outputs))] for k in range(1, 9)]
    lines = [
        ["BehaviorSpace results (NetLogo 6.2.0)"],
        ["Wolf Sheep.nlogo"],
        ["experiment"],
        ["01/01/2021 10:00:00:000 +0000"],
        ["min-pxcor", "max-pxcor", "min-pycor", "max-pycor"],
        [-25, 25, -25, 25],
        names,
        *rows,
    ]
    quoted = (",".join(f'"{cell}"' for cell in line) for line in lines)
    found = load_table("\n".join(quoted).encode()).table
    assert list(found) == names
    assert found.to_numpy(float).tolist() == rows


@pytest.mark.parametrize("mark", [*SEPARATORS, "   "])
def test_numbers_with_decimals_are_no_names_that_count(mark):
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.5]]
    lines = (mark.join(f"{number:.7e}" for number in row) for row in rows)
    table = load_table("\n".join(lines).encode()).table
    assert table.to_numpy(float).tolist() == rows


def test_a_matrix_of_another_format_is_refused_by_name():
    text = b"%%MatrixMarket matrix coordinate integer general\n6 5 2\n1 1 4\n3 1 1\n"
    for data in (text, gzip.compress(text)):
        with pytest.raises(
            DataError, match="is a MatrixMarket file; save the matrix as CSV"
        ):
            load_table(data)


@pytest.mark.parametrize(
    ("text", "columns", "first"),
    [
        ('"x" "class"\n"r0" 0.5 1\n"r1" 1.5 2\n', "row name,x,class", ["r0", 0.5, 1]),
        (
            '"mpg" "cyl"\n"Car one" 21 6\n"Van" 18 6\n',
            "row name,mpg,cyl",
            ["Car one", 21, 6],
        ),
        ('"mpg"\n"Car one" 21\n"Van" 18\n', "row name,mpg", ["Car one", 21]),
        ('"n" "f"\n"a ""b""" 6\n"c"  7\n', "n,f", ['a "b"', 6]),
        ('"x" "f"\n"1" 1.5 "a b"\n"2" 2.5 "c"\n', "row name,x,f", [1, 1.5, "a b"]),
        (
            "mpg\tcyl\nCar one\t21\t6\nVan\t18\t6\n",
            "row name,mpg,cyl",
            ["Car one", 21, 6],
        ),
        (
            '"mpg","cyl"\n"Car one",21,6\n"Van",18,6\n',
            "row name,mpg,cyl",
            ["Car one", 21, 6],
        ),
        (
            '"x" "y"\n"a b" NA 1\n"c" 2 NA\n"d e" 3 1\n',
            "row name,x,y",
            ["a b", None, 1],
        ),
        ('"f" "g"\n"a b" "u v"\n"c" "w"\n"d e" "w"\n', "f,g", ["a b", "u v"]),
        ('"V1" "V2"\n"1" 0.1 0.2\n"2" 0.3 0.1\n', "row name,V1,V2", [1, 0.1, 0.2]),
        ('n f\n5" 6\n7" 7\n', "n,f", ['5"', 6]),
    ],
)
def test_what_r_writes_is_split_at_blanks_outside_of_quotes(text, columns, first):
    for data in (text.encode(), gzip.compress(text.encode())):
        ds = load_table(data)
        assert list(ds.table.columns) == columns.split(",")
        found = ds.table.iloc[0].astype(object)
        assert found.where(found.notna(), None).tolist() == first


def test_a_quote_that_is_open_between_blanks_is_refused_with_the_line():
    with pytest.raises(DataError, match="line 3 has a quote that is not closed"):
        load_table(b'"a" "b"\n1 2\n"3 4\n5 6\n7 8\n')


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("A\n-9999,0\n1,5\n2,5\n", "A", [-9999, 1.5, 2.5]),
        ("Height in m\r\n1,5\r\n2,5\r\n3", "Height in m", [1.5, 2.5, 3]),
        ("A\n1,5\nNA\n2,25\n\n", "A", [1.5, None, 2.25]),
        ('"A"\n"1,5"\n"2,5"\n', "A", [1.5, 2.5]),
        ("1,5\n2\n3,25\n", "column 1", [1.5, 2, 3.25]),
        ("A\n1.234,5\n2,5\n", "A", [1234.5, 2.5]),
        ("A\n1,5%\n2,5%\n", "A", [1.5, 2.5]),
    ],
)
def test_a_column_of_decimal_commas_is_one_column(text, name, values):
    for data in (text.encode(), gzip.compress(text.encode())):
        ds = load_table(data)
        assert list(ds.table.columns) == [name]
        found = ds.table[name].astype(float)
        pd.testing.assert_series_equal(found, pd.Series(values, dtype=float, name=name))
    pair = load_table(b"1,5\n2,5\n3,25\n").table
    assert pair.to_numpy().tolist() == [[1, 5], [2, 5], [3, 25]]


@pytest.mark.parametrize(
    ("text", "unnamed"),
    [
        ("time,temp,\n1.5,20.1,831\n2.5,20.4,829\n3.5,19.8,840\n", 3),
        ("time,,temp\n1.5,20,831\n2.5,21,829\n3.5,19,840\n", 2),
    ],
)
def test_a_measurement_without_a_name_is_a_feature(text, unnamed):
    for data in forms(text).values():
        ds = load_table(data)
        assert ds.roles[f"unnamed column {unnamed}"] == "numeric"
        assert ds.table.index.tolist() == [0, 1, 2]


FRAME = pd.DataFrame(
    {
        "kind": list("aabbcc"),
        "code": [7, 7, 8, 8, 9, 9],
        "year": [2019, 2020] * 3,
        "size": [1.5, 2, 3, 4, 5, 7.5],
        "mass": [1, 2, 3, 4, 5, 9.0],
    }
)


def grid(*levels) -> pd.DataFrame:
    """Numbers below the product of some levels of names."""
    names = pd.MultiIndex.from_product([list(level) for level in levels])
    return pd.DataFrame(
        [[5 * i + j / 2 for j in range(4)] for i in range(6)], None, names
    )


BOTH = {"size": ["mean", "std"], "mass": ["mean"]}
GROUPED = {
    "two levels": (
        FRAME.groupby("kind").agg(BOTH),
        ["kind", "size / mean", "size / std", "mass / mean"],
    ),
    "one name": (
        FRAME.groupby("kind").agg({"size": ["mean"]}),
        ["kind", "size / mean"],
    ),
    "numbers as index": (
        FRAME.groupby("code").agg(BOTH),
        ["code", "size / mean", "size / std", "mass / mean"],
    ),
    "index of two": (
        FRAME.groupby(["kind", "year"]).agg(BOTH),
        ["kind", "year", "size / mean", "size / std", "mass / mean"],
    ),
    "levels with names": (
        FRAME.pivot_table(
            index="kind", values=["size", "mass"], aggfunc=["min", "max"]
        ).rename_axis(columns=["how", "what"]),
        ["kind", "min / mass", "min / size", "max / mass", "max / size"],
    ),
    "years as groups": (
        FRAME.pivot_table(index="kind", columns="year", values=["size", "mass"])
        .swaplevel(axis=1)
        .sort_index(axis=1)
        .rename_axis(columns=[None, None]),
        ["kind", "2019 / mass", "2019 / size", "2020 / mass", "2020 / size"],
    ),
    "numbers as names": (
        FRAME.pivot_table(index="kind", columns="year", values=["size", "mass"]),
        ["kind", "mass / 2019", "mass / 2020", "size / 2019", "size / 2020"],
    ),
    "numbers in all levels": (
        grid([2019, 2020], [1, 2]),
        ["unnamed column 1", "2019 / 1", "2019 / 2", "2020 / 1", "2020 / 2"],
    ),
    "three levels": (
        grid("ab", ["x"], [1, 2]),
        ["unnamed column 1", "a / x / 1", "a / x / 2", "b / x / 1", "b / x / 2"],
    ),
}


@pytest.mark.parametrize(("frame", "columns"), GROUPED.values(), ids=GROUPED)
def test_the_levels_of_names_that_pandas_writes_are_joined(frame, columns):
    written = [frame.to_csv(sep=mark).encode() for mark in SEPARATORS]
    out = io.BytesIO()
    frame.to_excel(out, merge_cells=True)
    sheets = [out.getvalue()] if frame.index.nlevels == 1 else []
    for data in (*written, gzip.compress(written[0]), *sheets):
        ds = load_table(data)
        assert list(ds.table.columns) == columns
        assert len(ds.table) == len(frame)
        numbers = ds.table[columns[-1]].astype(float)
        assert numbers.tolist() == frame.iloc[:, -1].tolist()


MERGED = {
    "groups of two": (
        ",Before,,After,\nid,weight,height,weight,height\n",
        [
            "id",
            "Before / weight",
            "Before / height",
            "After / weight",
            "After / height",
        ],
    ),
    "down and across": (
        "Sample,Size,,Colour,\n,length,width,red,green\n",
        ["Sample", "Size / length", "Size / width", "Colour / red", "Colour / green"],
    ),
    "different names": (
        ",Group A,,Group B,\nid,a,b,c,d\n",
        ["id", "Group A / a", "Group A / b", "Group B / c", "Group B / d"],
    ),
    "beside whole columns": (
        "id,Size,,kind,mass\n,length,width,,\n",
        ["id", "Size / length", "Size / width", "kind", "mass"],
    ),
    "one group": (
        "id,Size,,,\n,length,width,depth,weight\n",
        ["id", "Size / length", "Size / width", "Size / depth", "Size / weight"],
    ),
    "repeated": (
        "id,A,A,B,B\n,x,y,x,y\n",
        ["id", "A / x", "A / y", "B / x", "B / y"],
    ),
    "above another name": (
        "group,A,A,B,B\nid,x,y,x,y\n",
        ["group / id", "A / x", "A / y", "B / x", "B / y"],
    ),
    "years": (
        ",2019,,2020,\nid,x,y,x,y\n",
        ["id", "2019 / x", "2019 / y", "2020 / x", "2020 / y"],
    ),
    "years over different names": (
        ",2019,,2020,\nid,a,b,c,d\n",
        ["id", "2019 / a", "2019 / b", "2020 / c", "2020 / d"],
    ),
    "years down and across": (
        "id,2019,,2020,\n,x,y,x,y\n",
        ["id", "2019 / x", "2019 / y", "2020 / x", "2020 / y"],
    ),
    "years repeated": (
        "id,2019,2019,2020,2020\n,x,y,x,y\n",
        ["id", "2019 / x", "2019 / y", "2020 / x", "2020 / y"],
    ),
}


@pytest.mark.parametrize("title", ["", "My measurements,,,,\n"])
@pytest.mark.parametrize(("header", "columns"), MERGED.values(), ids=MERGED)
def test_the_two_rows_of_a_merged_header_are_joined(header, columns, title):
    check(title + header + lines("k{i},{half},{double},{i}.5,{i}\n"), columns, 11)


def test_a_title_is_not_joined_with_the_names():
    check("Sales,2020,,\na,b,c,d\n1,2,3,4\n5,6,7,8\n", ["a", "b", "c", "d"], 2)
    check(",,Sales,\na,b,c,d\n1,2,3,4\n5,6,7,8\n", ["a", "b", "c", "d"], 2)


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("text", "first"),
    [
        ('name, "size", "class"\n1, 2.5, "a, b"\n2, 3.5, "c"\n', [1, 2.5, "a, b"]),
        (
            '"name" ; "size" ;"class"\n"x" ; 2,5 ; "a; b"\n"y" ; 3; "c"\n',
            ["x", 2.5, "a; b"],
        ),
        (
            'name | "size" | "class"\n1 | 2.5 | "x | y"\n2 | 3 | "z"\n',
            [1, 2.5, "x | y"],
        ),
        ('name\t "size"\t "class"\n1\t 2.5\t "x\ty"\n2\t 3\t "z"\n', [1, 2.5, "x\ty"]),
        (
            ' "name", "size", "class"\n "u", "1.5", "two\nlines"\n "v", "2", "w"\n',
            ["u", 1.5, "two\nlines"],
        ),
    ],
)
def test_blanks_around_quotes_are_left_out_and_noted(text, first, packed):
    ds = load_table(packed(text.encode()))
    assert list(ds.table.columns) == ["name", "size", "class"]
    assert ds.table.iloc[0].tolist() == first
    assert "Blanks around quoted cells left out." in ds.notes


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ('a,b\n1,5 "x" y\n2,7 "z" w\n', '5 "x" y'),
        ('a,b\n1,"he said, ""no"""\n2,"x, "", y"\n', 'he said, "no"'),
        ('a,b\n1,"x, "", y"\n2,z\n', 'x, ", y'),
        ('a,b\n1, "x" y\n2, "z" w\n', '"x" y'),
    ],
)
def test_quotes_within_cells_keep_their_blanks(text, cell):
    assert load_table(text.encode()).table["b"][0] == cell


FOOTERS = {
    "one line": "Source: WHO\n",
    "below a blank line": "\nSource: WHO\n",
    "two lines": "Source: WHO\nRead in 2020\n",
    "a rule": "-----\nTotal rows: 8\n",
    "two cells": "\nSource:,WHO\n",
    "no line end": "* p < 0.05",
    "below blank cells": ",,\nSource: WHO,,\n(revised),,\n",
    "quoted": '"Source: WHO, 2020"\n',
    "more cells": "Note: a, b, c, d\n",
    "before the end mark": "Source: WHO\n\x1a",
    "the word for it": "END,,\n",
    "the word for it in stars": "*** End of file ***,,\n",
}


@pytest.mark.parametrize("name", ["{i}", "Ada {i}"])
@pytest.mark.parametrize("footer", FOOTERS.values(), ids=FOOTERS)
def test_a_footer_is_left_out_and_noted(footer, name):
    text = "a,b,c\n" + lines(name + ",{double},{half}\n", 9) + footer
    for mark in (",", ";", "\t"):
        data = text.replace(",", mark).encode()
        for packed in (data, gzip.compress(data)):
            ds = load_table(packed)
            assert list(ds.table.columns) == ["a", "b", "c"]
            assert ds.table["b"].tolist() == [2 * i for i in range(1, 9)]
            assert any("below the table left out" in note for note in ds.notes)


@pytest.mark.parametrize("name", ["{i}", "Ada {i}"])
@pytest.mark.parametrize(
    "footer",
    [",,\nSource: WHO,,\n", ",,\nSource: WHO\n,,\nby us\n", "Source: WHO,,\n"],
)
def test_a_footer_of_a_sheet_is_left_out_and_noted(footer, name):
    rows = lines(name + ",{double},{half}\n", 9)
    ds = load_table(workbook("a,b,c\n" + rows + footer))
    assert ds.table["b"].tolist() == [2 * i for i in range(1, 9)]
    assert any("below the table left out" in note for note in ds.notes)


def test_a_footer_below_many_rows_is_left_out():
    text = "a,b,c\n" + "1,2,3\n" * 60_000 + "Source: WHO\n"
    assert len(load_table(text.encode()).table) == 60_000


@pytest.mark.parametrize(
    ("text", "n_rows"),
    [
        ("name,a,b\nAda,1,2\nBob,3,4\nCy,,\n", 3),
        ("name,a,b\nAda L,1,2\nBob,3,4\nCy M,,\n", 3),
        ("a,b,c\n1,2,3\n4,5,6\n7,8,9\nTotal,12,15\n", 4),
        ("x\n1\n2\n3\nlost\n", 4),
        ("a,b\nx,y\nz,w\nu,v\n", 3),
        ("a,b\n1,2\n3,4\n5,lost\n", 3),
        ("a,b\n1,2\n3,4\nNA,NA\n", 3),
    ],
)
def test_the_last_rows_of_data_are_no_footer(text, n_rows):
    for form, data in forms(text).items():
        assert len(load_table(data).table) == n_rows, form


def test_a_last_line_that_is_cut_off_is_refused():
    for text in ("a,b,c\n1,2,3\n4,5,6\n7,8", "n,b,c\nAda,2,3\nBob,5,6\nCy,8"):
        with pytest.raises(DataError, match="line 4 has 2 cells where the others"):
            load_table(text.encode())


@pytest.mark.parametrize("end", ["\x1a", "\x1a\n", "\r\n\x1a", "\x1a\x1a"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_the_mark_that_ends_a_file_of_dos_is_left_out(end, encoding):
    data = f"a;b\n1,5;ä\n2,5;ö{end}".encode(encoding)
    for packed in (data, gzip.compress(data)):
        ds = load_table(packed)
        assert ds.table["a"].tolist() == [1.5, 2.5]
        assert ds.table["b"].tolist() == ["ä", "ö"]
    column = load_table(f"x\n1\n2\n{end}".encode(encoding))
    assert column.table["x"].tolist() == [1, 2]


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_lines_may_have_other_ends_of_unicode(end, encoding):
    ds = load_table(f"a;b{end}1,5;ä{end}2,5;ö{end}".encode(encoding))
    assert ds.table.to_dict("list") == {"a": [1.5, 2.5], "b": ["ä", "ö"]}
    within = load_table(f"a;b\n1,5;x{end}y\n2,5;z\n".encode(encoding))
    assert within.table["b"].tolist() == [f"x{end}y", "z"]


PIECES = ["1", "1.", ".1", "1,", ",123", "0.0", "0", "<", "< ", " ", "e1", "1;", "a\t"]
PIECES += ["(1", "1)", "(1)", "1-", "$1", "1 ", "2024-01-01 "]
QUOTES = ['"', '""', '" ', ' "', '1, "', '" ,"', '"a ""b', '"""a ', ', """a', ', ""a']
LOOKED_AT = {
    "number": is_number,
    "decimal comma": lambda text: has_decimal_comma([[text]]),
    "one column": lambda text: _is_column_of_decimals([text, "1,5"]),
    "cells between blanks": lambda text: tabbed(text.encode()),
    "blanks around quotes": lambda text: without_blanks_around_quotes(text, ","),
    "lines of blanks": lambda text: _without_blank_lines(text.encode(), ","),
    "like those below": lambda text: find_header([[text, "1"], ["r2", "2"]], 2),
}


@pytest.mark.parametrize("look", LOOKED_AT.values(), ids=LOOKED_AT)
def test_looking_at_a_long_cell_takes_time_in_proportion(look):
    for piece in (*PIECES, *QUOTES):
        seconds = []
        for size in (10_000, 300_000):
            text = piece * (size // len(piece)) + "x"
            start = time.process_time()
            look(text)
            seconds.append(time.process_time() - start)
        assert seconds[1] < 300 * max(seconds[0], 2e-3), piece  # squares would be 900


@pytest.mark.parametrize("piece", PIECES)
def test_a_table_with_a_cell_of_a_million_signs_is_read_or_refused(piece):
    cell = piece * (1_000_000 // len(piece)) + "x"
    text = f"a|b\n1|2\n{cell}|3\n4|5\n".encode()
    with suppress(DataError):
        assert load_table(text).table.iloc[1, 0] == cell.strip()


@pytest.mark.parametrize("piece", QUOTES)
def test_a_table_with_a_cell_of_many_quotes_is_read_or_refused(piece):
    cell = piece * (1_000_000 // len(piece)) + "x"
    with pytest.raises(DataError, match=r"quote|cells where|more than"):
        load_table(f"a,b\n1,2\n{cell},3\n4,5\n".encode())


@pytest.mark.parametrize(
    "text",
    [
        "id,m\na,A\nb,-1\nc,A\nd,B\n",
        "id;m;k\na;V;1\nb;-1;2\nc;A;1\nd;B;2\ne;V;1\nf;A;2\n",
        "id\tm\na\tC\nb\tC\nc\t-1\nd\t-1\ne\t-1\n",
        "name,size\nRome,L\nOslo,3\nParis,XL\nLima,M\n",
    ],
)
def test_a_unit_that_recurs_or_is_above_words_is_a_cell(text):
    ds = load_table(text.encode())
    lines = [re.split("[,;\t]", line) for line in text.splitlines()]
    assert list(ds.table) == lines[0]
    assert ds.table.astype(str).to_numpy().tolist() == lines[1:]


def test_classes_above_noise_are_labels_of_samples():
    ensemble = load_partitions(b"id,m\na,A\nb,-1\nc,A\nd,B\n", row_ids=list("abcd"))
    first, noise, same, other = ensemble.labels[0].tolist()
    assert (first, noise) == (same, -1)
    assert other not in (first, noise)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("above", ["", "Changed database context to 'X'.\n"])
@pytest.mark.parametrize("foot", ["", "\n(2 rows affected)\n"])
@pytest.mark.parametrize("padded", [False, True])
def test_dashes_below_the_names_are_no_row(mark, above, foot, padded):
    text = f"{above}id,name,x\n--,----,-\n1,Ann,2.5\n2,Bob Ray,3.5\n{foot}"
    if padded:
        text = text.replace("name", "name   ").replace("----", "-------")
    ds = load_table(text.replace(",", mark).encode())
    assert list(ds.table) == ["id", "name", "x"]
    assert ds.table.to_numpy().tolist() == [[1, "Ann", 2.5], [2, "Bob Ray", 3.5]]


@pytest.mark.parametrize("above", ["a,b\n1,2\n3,4\n", "u,v\nw,x\n"])
def test_dashes_between_rows_end_no_header(above):
    ds = load_table(f"{above}--,--\n5,6\n7,8\n".encode())
    assert list(ds.table) == above.split()[0].split(",")
    assert len(ds.table) == len(above.split()) + 2
