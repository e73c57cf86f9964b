"""Lines of units and questions below names, carets, tildes, Fortran's exponents."""

import csv
import gzip
import io

import pytest

from clusterlens.compute._validation import DataError
from clusterlens.compute.ensemble.importing import load_partitions
from clusterlens.compute.table.reading import load_table
from tests.compute.table.test_delimited import workbook

MARKS = [",", ";", "\t", "|", "^", "~"]


def read(text: str) -> list:
    """Read comma-separated text with every separator, packed and as a workbook."""
    texts = [text.replace(",", mark).encode() for mark in MARKS]
    return [load_table(d) for d in (*texts, gzip.compress(texts[0]), workbook(text))]


@pytest.mark.parametrize(
    ("units", "names"),
    [
        (",cm,kg,°C", ["length [cm]", "mass [kg]", "t [°C]"]),
        ("-,mm,g,K", ["length [mm]", "mass [g]", "t [K]"]),
        (",m,,degC", ["length [m]", "mass", "t [degC]"]),
        ("text,µm,mg/L,%", ["length [µm]", "mass [mg/L]", "t [%]"]),
        (",cm2,kg m-3,m s^-1", ["length [cm2]", "mass [kg m-3]", "t [m s^-1]"]),
        (",min,mAU*min,mAU", ["length [min]", "mass [mAU*min]", "t [mAU]"]),
        (",m²,W/(m² K),-", ["length [m²]", "mass [W/(m² K)]", "t"]),
        (
            ",degrees_north,percent,degree_C",
            ["length [degrees_north]", "mass [percent]", "t [degree_C]"],
        ),
        ("5s,10n,8n,14n", ["length", "mass", "t"]),  # as USGS writes
        (",(m),(kg),(K)", ["length (m)", "mass (kg)", "t (K)"]),
    ],
)
def test_units_without_brackets_become_part_of_the_names(units, names):
    text = f"name,length,mass,t\n{units}\nA,1.5,10,3\nB,2.5,12,4\nC,4.5,11,9\n"
    for mark in MARKS:
        if mark == "^" and mark in units:
            continue
        ds = load_table(text.replace(",", mark).encode())
        assert list(ds.table.columns) == ["name", *names]
        assert ds.table.iloc[:, 1].tolist() == [1.5, 2.5, 4.5]
    for data in (gzip.compress(text.encode()), workbook(text)):
        assert list(load_table(data).table.columns) == ["name", *names]


@pytest.mark.parametrize("row", ["m,kind,g", "x,good,bad", "A,,"])
def test_words_that_are_no_units_over_numbers_stay(row):
    ds = load_table(f"name,length,mass\n{row}\nA,1.5,10\nB,2.5,12\n".encode())
    assert list(ds.table.columns) == ["name", "length", "mass"]
    assert len(ds.table) == 3


@pytest.mark.parametrize("names", ["m,s,g", "T,P,V", "h,min,s"])
def test_names_that_look_like_units_are_names_below_a_title(names):
    for ds in read(f"Plate 7,,\n{names}\n1.5,10,2\n2.5,12,3\n3.5,9,1\n"):
        assert list(ds.table.columns) == names.split(",")
        assert len(ds.table) == 3


def test_categories_that_look_like_units_stay():
    ds = load_table(b"size,kind,n\ns,a,1\nm,b,2\nl,a,4\nm,a,3\n")
    assert ds.table["size"].tolist() == ["s", "m", "l", "m"]


@pytest.mark.parametrize(
    "number", ["1.5D+01", "1.5d1", "0.15D+002", ".15D2", "150.D-1"]
)
def test_exponents_of_fortran(number):
    for ds in read(f"name,x,y\na,{number},1\nb,-2.5D+00,2\nc,7,3\n"):
        assert ds.table["x"].tolist() == [15, -2.5, 7]
        assert any("Fortran" in note for note in ds.notes)
    blanks = f"  {number}  2.5D+00\n  1.0D+01  7.5D-01\n  3.0D+00  1.5D+00\n"
    assert load_table(blanks.encode()).table.iloc[:, 0].tolist() == [15, 10, 3]


@pytest.mark.parametrize("word", ["12D3", "D5", "1.5D", "1.5D+1x", "3D"])
def test_other_words_with_d_are_no_numbers(word):
    ds = load_table(f"name,x\na,{word}\nb,1.5\nc,2\nd,2.5\n".encode())
    assert ds.table["x"].tolist()[0] == word


@pytest.mark.parametrize("mark", ["^", "~"])
def test_carets_and_tildes_separate_cells(mark):
    text = "id,name,x\n1,a b,1.5\n2,c d,2.5\n3,e,4\n".replace(",", mark)
    for data in (text.encode(), gzip.compress(text.encode())):
        ds = load_table(data)
        assert list(ds.table.columns) == ["id", "name", "x"]
        assert ds.table["x"].tolist() == [1.5, 2.5, 4]
        assert any(f"separator {mark!r}" in note for note in ds.notes)
    quoted = f'a{mark} "b{mark}c" {mark}d\n1{mark} "x{mark}y" {mark}3\n'.encode()
    assert load_table(quoted).table.iloc[0].tolist() == [1, f"x{mark}y", 3]
    comma = f"a{mark}b\n1,5{mark}2,5\n2,5{mark}3,5\n".encode()
    assert load_table(comma).table["a"].tolist() == [1.5, 2.5]
    with pytest.raises(DataError, match="cells"):
        load_table(f"a{mark}b\n1{mark}2\n1{mark}2{mark}3\n3{mark}4\n".encode())
    ensemble = load_partitions(f"id{mark}p\na{mark}1\nb{mark}2\n".encode())
    assert ensemble.labels.tolist() == [[1, 2]]


def test_carets_and_tildes_in_cells_are_not_separators():
    assert load_table(b"m^2,x\n1,2\n3,4\n5,7\n").table.shape == (3, 2)
    assert load_table(b"path,x\n~/a,2\n~/b,4\n~/c,5\n").table.shape == (3, 2)
    assert load_table(b"n;r^2\n~5;2\n~6;4\n~7;5\n").table.shape == (3, 2)


def test_three_lines_of_qualtrics():
    names = ["StartDate", "Q1", "Q2_1"]
    questions = ["Start Date", "How old are you?\nIn years", "Rate, please"]
    ids = [f'{{"ImportId":"QID{k}","timeZone":"Z"}}' for k in range(3)]
    rows = [["2020-01-01 10:00:00", 31 + k, k] for k in range(4)]
    for mark in (",", "\t"):
        out = io.StringIO()
        csv.writer(out, delimiter=mark).writerows([names, questions, ids, *rows])
        for data in (
            out.getvalue().encode(),
            out.getvalue().encode("utf-16"),
            gzip.compress(out.getvalue().encode()),
        ):
            ds = load_table(data)
            assert list(ds.table.columns) == names
            assert ds.table["Q1"].tolist() == [31, 32, 33, 34]
            assert any("questions and import ids" in note for note in ds.notes)
