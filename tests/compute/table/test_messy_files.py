"""Exports of instruments, statistics packages, databases and banks have their cells."""

import gzip
import re

import pandas as pd
import pytest

from clusterlens import DataError, load_partitions, load_table

# The text that a program writes, and the columns and rows of its table.
FILES = {
    "SPSS list": (
        "  id      x      y\n\n   1   1.50   2.00\n   2   3.00   4.00\n\n"
        "Number of cases read:  2    Number of cases listed:  2\n",
        "id x y",
        [[1, 1.5, 2], [2, 3, 4]],
    ),
    "SAS print": (
        "Obs    id     x     y\n\n 1     a    1.5     2\n 2     b    3.0     4\n",
        "Obs id x y",
        [[1, "a", 1.5, 2], [2, "b", 3, 4]],
    ),
    "missing values of SAS and Stata": (
        "id,x,y,z\n1,.,.a,2\n2,3,.Z,._\n3,4,1,5\n",
        "id x y z",
        [[1, None, None, 2], [2, 3, None, None], [3, 4, 1, 5]],
    ),
    "missing values of MySQL and Eurostat": (
        "id\tx\ty\n1\t\\N\t:\n2\t3.5\t4\n",
        "id x y",
        [[1, None, None], [2, 3.5, 4]],
    ),
    "missing values of Minitab": ("id,x\n1,*\n2,3.5\n", "id x", [[1, None], [2, 3.5]]),
    "R print": (
        "      mpg cyl\nMazda  21   6\nVan    22   4\n",
        ["row name", "mpg", "cyl"],
        [["Mazda", 21, 6], ["Van", 22, 4]],
    ),
    "R print, words with blanks": (
        "      name  x\n1  Ann Lee  5\n2      Bob 12\n",
        ["unnamed column 1", "name", "x"],
        [[1, "Ann Lee", 5], [2, "Bob", 12]],
    ),
    "tibble": (
        "# A tibble: 2 x 3\n  id        x     y\n  <chr> <dbl> <int>\n"
        "1 a       1.5     2\n2 b       2.5     4\n",
        ["row name", "id", "x", "y"],
        [[1, "a", 1.5, 2], [2, "b", 2.5, 4]],
    ),
    "fixed width": (
        "id   name      x\n1    Ann Lee   1.5\n2    Bob       2.5\n3              3\n",
        "id name x",
        [[1, "Ann Lee", 1.5], [2, "Bob", 2.5], [3, None, 3]],
    ),
    "fixed width, all with a blank": (
        "id   name      x\n1    Ann Lee   1.5\n2    Bob Ray   2.5\n",
        "id name x",
        [[1, "Ann Lee", 1.5], [2, "Bob Ray", 2.5]],
    ),
    "fixed width, numbers to the right": (
        "site    t_min  t_max\nA        -1.5    3.0\nB B      10.5\n"
        "C C C     0.0   20.1\n",
        "site t_min t_max",
        [["A", -1.5, 3], ["B B", 10.5, None], ["C C C", 0, 20.1]],
    ),
    "fixed width, Windows": (
        "Größe  Ort      x\r\n1.5    Köln     2\r\n2.5    Bad Ems  3\r\n",
        "Größe Ort x",
        [[1.5, "Köln", 2], [2.5, "Bad Ems", 3]],
    ),
    "plate reader": (
        "Plate:\tPlate1\t1.3\nRaw\n\t1\t2\t3\nA\t0.1\t0.2\t0.3\nB\t0.5\t0.6\t0.7\n",
        ["unnamed column 1", "1", "2", "3"],
        [["A", 0.1, 0.2, 0.3], ["B", 0.5, 0.6, 0.7]],
    ),
    "gene expression, GCT": (
        "#1.2\n2\t2\nName\tDescription\ts1\ts2\ng1\tna\t1.5\t2\ng2\tx\t3\t4\n",
        "Name Description s1 s2",
        [["g1", None, 1.5, 2], ["g2", "x", 3, 4]],
    ),
    "gene expression, series matrix": (
        '!Sample_title\t"a"\t"b"\n!series_matrix_table_begin\n"ID_REF"\t"s1"\t"s2"\n'
        '"g1"\t1.5\t2\n"g2"\t3\t4\n"g3"\t5\t6\n!series_matrix_table_end\n',
        "ID_REF s1 s2",
        [["g1", 1.5, 2], ["g2", 3, 4], ["g3", 5, 6]],
    ),
    "read counts": (
        "# Program:featureCounts\nGeneid\tChr\tStart\tLength\ts1.bam\n"
        "G1\tchr1;chr1\t1;5\t8\t3\nG2\tchr2\t7\t9\t0\n",
        "Geneid Chr Start Length s1.bam",
        [["G1", "chr1;chr1", "1;5", 8, 3], ["G2", "chr2", "7", 9, 0]],
    ),
    "variants": (
        "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tQUAL\n1\t5\trs1\t50.5\n2\t7\trs2\t40\n",
        "CHROM POS ID QUAL",
        [[1, 5, "rs1", 50.5], [2, 7, "rs2", 40]],
    ),
    "proteins with flags": (
        "Proteins\tA\tB\tReverse\nP1\t1.5\t2\t\nP2\t2.5\t3\t+\n",
        "Proteins A B Reverse",
        [["P1", 1.5, 2, None], ["P2", 2.5, 3, "+"]],
    ),
    "counts of species": (
        "# Constructed from biom file\n#Sample ID\ts1\ttaxonomy\no1\t1.0\tk__A; p__B\n"
        "o2\t3.0\tk__A; p__C\n",
        ["Sample ID", "s1", "taxonomy"],
        [["o1", 1, "k__A; p__B"], ["o2", 3, "k__A; p__C"]],
    ),
    "associations": (
        " CHR  SNP   BP     F_A \n   1  rs1  100    0.05 \n   2  rs3  300      NA \n",
        "CHR SNP BP F_A",
        [[1, "rs1", 100, 0.05], [2, "rs3", 300, None]],
    ),
    "embeddings below their sizes": (
        "3 3\nthe 0.1 0.7 0.2\ncat 0.5 -0.6 0.4\nsat 0.2 0.1 0.1\n",
        ["column 1", "column 2", "column 3", "column 4"],
        [["the", 0.1, 0.7, 0.2], ["cat", 0.5, -0.6, 0.4], ["sat", 0.2, 0.1, 0.1]],
    ),
    "chromatogram": (
        "Data File,a.D\nOperator,Ann\n\nPeak,RetTime [min],Area\n1,1.25,100.5\n"
        "2,2.5,200.5\n\nTotals,,301\n",
        ["Peak", "RetTime [min]", "Area"],
        [[1, 1.25, 100.5], [2, 2.5, 200.5]],
    ),
    "oscilloscope, units in brackets": (
        "t;V;I\n[s];[mV];[A]\n0;1,5;2\n1;2,5;3\n",
        ["t [s]", "V [mV]", "I [A]"],
        [[0, 1.5, 2], [1, 2.5, 3]],
    ),
    "spectrum": (
        "##TITLE=x\n##XUNITS=1/CM\n400.0 0.5\n402.0 0.6\n404.0 0.4\n",
        ["column 1", "column 2"],
        [[400, 0.5], [402, 0.6], [404, 0.4]],
    ),
    "weather station": (
        "STATION;MESS_DATUM;TT_TU;eor\n   44;2007040100;  11.4;eor\n"
        "   44;2007040101;   9.4;eor\n",
        "STATION MESS_DATUM TT_TU eor",
        [[44, 2007040100, 11.4, "eor"], [44, 2007040101, 9.4, "eor"]],
    ),
    "development indicators": (
        '"Data Source","WDI",\n\n"Country Name","Code","1960","1961",\n'
        '"Aruba","ABW","1.5","",\n"Peru","PER","","4.5",\n',
        ["Country Name", "Code", "1960", "1961", "unnamed column 5"],
        [["Aruba", "ABW", 1.5, None, None], ["Peru", "PER", None, 4.5, None]],
    ),
    "German bank": (
        '"Kontonummer:";"DE12"\n"Von:";"01.01.2020"\n\n"Tag";"Zweck";"Betrag";\n'
        '"31.01.2020";"Miete, Mai";"-1.200,50";\n"01.02.2020";"Lohn";"2.500,00";\n'
        '"02.02.2020";"Kauf";"-12,34";\n',
        ["Tag", "Zweck", "Betrag", "unnamed column 4"],
        [
            ["31.01.2020", "Miete, Mai", -1200.5, None],
            ["01.02.2020", "Lohn", 2500, None],
            ["02.02.2020", "Kauf", -12.34, None],
        ],
    ),
    "euros below titles": (
        "Konto;123\nStand;01.02.2020\nDatum;Text;Betrag\n01.02.2020;Kauf;1.234,50 €\n"
        "02.02.2020;Miete;-500,00 €\n03.02.2020;Brot;3,20 €\n",
        "Datum Text Betrag",
        [
            ["01.02.2020", "Kauf", 1234.5],
            ["02.02.2020", "Miete", -500],
            ["03.02.2020", "Brot", 3.2],
        ],
    ),
    "French bank": (
        "Date;Nom;Débit;Crédit\n01/02/2020;LOYER;-1 200,50;\n"
        "02/02/2020;SALAIRE;;2 500,00\n",
        "Date Nom Débit Crédit",
        [["01/02/2020", "LOYER", -1200.5, None], ["02/02/2020", "SALAIRE", None, 2500]],
    ),
    "Polish bank": (
        "Opis;Kwota\nCzynsz;-1 200,50 PLN\nPensja;2 500,00 PLN\nZakup;-12,34 PLN\n",
        "Opis Kwota",
        [["Czynsz", -1200.5], ["Pensja", 2500], ["Zakup", -12.34]],
    ),
    "Swiss bank": (
        "Text;Betrag\nA;-1'200.50\nB;2'500.00\nC;12.34\n",
        "Text Betrag",
        [["A", -1200.5], ["B", 2500], ["C", 12.34]],
    ),
    "Indian amounts": (
        'id,x\n1,"1,23,456.50"\n2,"12,345.00"\n3,"1,00,00,000.00"\n',
        "id x",
        [[1, 123456.5], [2, 12345], [3, 1e7]],
    ),
    "accounts, minus behind": (
        "Konto;Betrag\n1000;1.234,50-\n2000;20,00\n",
        "Konto Betrag",
        [[1000, -1234.5], [2000, 20]],
    ),
    "accounts, framed": (
        "------------------------\n|Konto|Text |   Betrag|\n------------------------\n"
        "|1000 |Miete|1.234,50-|\n|2000 |Kauf |   20,00 |\n------------------------\n",
        "Konto Text Betrag",
        [[1000, "Miete", -1234.5], [2000, "Kauf", 20]],
    ),
    "dollars below titles": (
        'Report 2020\nAll accounts\n\nDay,Amount,Balance\na,"$1,200.50","$5,000.00"\n'
        'b,-$20.00,"$4,980.00"\n',
        "Day Amount Balance",
        [["a", 1200.5, 5000], ["b", -20, 4980]],
    ),
    "text protected from a spreadsheet": (
        'id;code;x\n="001";="A1";1,5\n="002";="A2";2,5\n',
        "id code x",
        [["001", "A1", 1.5], ["002", "A2", 2.5]],
    ),
    "survey": (
        "record_id,age,sex___1\n1,30,0\n2,,1\n",
        "record_id age sex___1",
        [[1, 30, 0], [2, None, 1]],
    ),
    "files put together": (
        "id,x\na,1\nb,2\nid,x\nc,3\n",
        "id x",
        [["a", 1], ["b", 2], ["c", 3]],
    ),
    "Spark": (
        "+---+---+\n| id|  x|\n+---+---+\n|  a|  1|\n+---+---+\n"
        "only showing top 1 row\n",
        "id x",
        [["a", 1]],
    ),
    "SQL Server": (
        "x           name\n----------- ----------\n          1 Ann\n"
        "          2 Bob L\n\n(2 rows affected)\n",
        "x name",
        [[1, "Ann"], [2, "Bob L"]],
    ),
    "Db2": (
        "\nX           NAME\n----------- ----------\n          1 Ann\n"
        "          2 Bob\n\n  2 record(s) selected.\n",
        "X NAME",
        [[1, "Ann"], [2, "Bob"]],
    ),
}
FORMS = {
    "text": str.encode,
    "packed": lambda text: gzip.compress(text.encode()),
    "UTF-16": lambda text: text.encode("utf-16"),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(("text", "columns", "rows"), FILES.values(), ids=FILES)
def test_an_export_has_its_columns_and_cells(text, columns, rows, form):
    table = load_table(form(text)).table.reset_index(drop=True)
    names = columns.split() if isinstance(columns, str) else columns
    expected = pd.DataFrame(rows, columns=names)
    found = table.astype(object).where(table.notna(), None)
    expected = expected.astype(object).where(expected.notna(), None)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


REFUSED = {
    "JSON in lines": ('{"id":"a","x":1}\n{"id":"b","x":2}\n', "is JSON"),
    "JSON over lines": ('[\n  {"id":"a"},\n  {"id":"b"}\n]', "is JSON"),
    "JSON of lists": ('["id","x"]\n["a",1]\n["b",2]\n', "is JSON"),
    "lists of numbers": ("[1, 2, 3]\n[4, 5, 6]\n", "is JSON"),
    "notebook": ('{"cells":[{"cell_type":"code"}]}', "is JSON"),
    "records of MySQL": (
        "************ 1. row ************\nid: a\n x: 1\n",
        "list of records",
    ),
    "records of psql": ("-[ RECORD 1 ]\nid | a\n-[ RECORD 2 ]\nid | b\n", "of records"),
    "print of pandas": (
        "    id    x  y\n0    a  1.5  2\n1    b  2.5  4\n..  ..  ... ..\n"
        "9    c  0.5  1\n",
        "dots in row 3 stand for rows",
    ),
    "print of pandas, wide": (
        "    x  ...  y\n0  1.5  ...  2\n1  2.5  ...  4\n",
        "dots in column 3 stand for rows or columns",
    ),
    "single quotes": ("'id','n','x'\n'1','Ann','2.5'\n", "cells in single quotes"),
    "a separator in single quotes": (
        "'name';'x'\n'a;b';1,5\n'c';2,5\n'd';3,5\n",
        "in single quotes",
    ),
    "tabs beside single quotes": (
        "'name'\t'x'\n'a\tb'\t1,5\n'c'\t2,5\n'd'\t3,5\n",
        "in single quotes",
    ),
    "words in single quotes": ("'id','x'\n'a',2.5\n'b',3.5\n", "in single quotes"),
    "lines that differ": (
        "a b c\n1 2 3\n4 5\n6 7 8\n",
        "line 3 has 2 cells where the others have 3 (separator blanks)",
    ),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_an_export_that_is_no_whole_table_is_refused_by_name(text, message, form):
    with pytest.raises(DataError, match=re.escape(message)):
        load_table(form(text))


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (b"ARROW1\0\0\xff", "an Arrow"),
        (b"X\n\0\0\0\3", "an R data"),
        (b"RDX3\nX\n", "an R data"),
        (b"$FL2@(#)", "an SPSS"),
        (b"<stata_dta><header>", "a Stata"),
        (b"SQLite format 3\0", "an SQLite"),
        (b"MATLAB 5.0 MAT-file, \0", "a MATLAB"),
        (b"CDF\1\0", "a NetCDF"),
        (b"ORC\n\xff", "an ORC"),
        (b"Obj\1\4", "an Avro"),
    ],
)
def test_files_of_other_programs_are_refused_by_name(start, name):
    for data in (start, gzip.compress(start)):
        with pytest.raises(DataError, match=f"is {name}.* file; save the table as"):
            load_table(data)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            "t,V,I\ntime,low,high\n0,1.5,2\n1,2.5,3\n",
            "The first row holds words in all col",
        ),
        ("t;V;I\ns;mV;A\nx;r 1;r 2\n0;1,5;2\n1;2,5;3\n", "The first 2 rows hold words"),
        ("A(X),B(Y)\nTime,Signal\n,run 1\n0,1.5\n1,2.5\n", "The first 2 rows hold"),
        ("k,x\na,1\n,\nb,2\n", "1 blank row left out."),
        ("k,x\na,1\nb,2\n,\n , \n", "2 blank rows left out."),
        (
            "k,x,y\n" + 9 * "a,1,2\n" + "site,lat,long\nb,1,5\nc,4,7\n",
            "Row 10 holds words in all columns of numbers, such as 'lat', 'long'; if",
        ),
        ("k\n\na\n\nb\n \nc\n\n", "2 blank lines left out; write NA"),
        ("id:x\na:1\nb:2\n", "Each line is read as one cell"),
        ("10:00 INFO x=1\n10:05 INFO x=2\n", "Each line is read as one cell"),
        ("id,x\na,1\nb,2\nid,x\nc,3\nid,x\nd,4\n", "2 repeated headers left out."),
        ("x  y z\n1  2 3\n4    5\n", "Blanks in all lines divide the columns"),
        ('x;y\n="1";2\n="2";3\n', '2 cells written as ="..." read as the text'),
    ],
)
def test_what_may_be_no_sample_or_no_cell_is_noted(text, note):
    notes = load_table(text.encode()).notes
    assert any(line.startswith(note) for line in notes), notes


@pytest.mark.parametrize(
    "text",
    [
        "x,y\ntimeout,1.5\n2,3\n4,5\n",
        "name,kind\nAnn,a\nBob,b\n",
        "k,x,y\n" + 9 * "a,1,2\n" + "b,lost,lost\nc,3,4\n",
        "a,b\n(5),(6)\n(7),3\n4,(2)\n",
        "label\nred\nblue\nred\n",
        "[run],x\n1,2\n2,3\n",
        '"[run]","x"\n1,2\n2,3\n',
        "Results\n=======\na b\n1 2\n3 4\n",
        "Results\n=======\na,b\n1,2\n3,4\n",
    ],
)
def test_a_usual_table_has_no_such_note_and_all_its_rows(text):
    ds = load_table(text.encode())
    n_above = 3 if text.startswith("Results") else 1
    assert len(ds.table) == text.count("\n") - n_above
    words = "begins|units|repeated|one cell|sums|drawn"
    assert not any(
        re.search(words, note) for note in ds.notes if "Read as del" not in note
    )


@pytest.mark.parametrize("line", ["", " "])
@pytest.mark.parametrize("words", ["ab", "12"])
def test_blank_lines_of_one_column_are_noted_and_end_no_table(words, line):
    text = "k\n" + f"{line}\n".join(f"{word}\n" for word in words * 3)
    ds = load_table(text.encode())
    assert ds.table["k"].astype(str).tolist() == list(words * 3)
    assert [n for n in ds.notes if n.startswith("5 blank lines left out; write NA")]


@pytest.mark.parametrize("made", ["last", "first"])
@pytest.mark.parametrize("what", ["sums", "means"])
def test_a_row_of_totals_is_noted(made, what):
    table = pd.DataFrame({"n": [1.5, 2, 4, 8, 3], "m": [7, 1, 5.5, 2, 9], "z": 0.0})
    total = table.sum() if what == "sums" else table.mean()
    parts = [table, total.to_frame().T]
    whole = pd.concat(parts if made == "last" else parts[::-1], ignore_index=True)
    note = f"The {made} row holds the {what} of the other rows in 2 columns"
    assert [n for n in load_table(whole).notes if n.startswith(note)]
    assert not [n for n in load_table(table).notes if "of the other rows" in n]


@pytest.mark.parametrize("made", ["last", "first"])
@pytest.mark.parametrize(("name", "noted"), [("", True), ("/g", False)])
def test_a_single_sum_is_noted_where_only_its_row_has_no_name(made, name, noted):
    rows = [f'/{page},"{k + 1},000",{k + 2}.25%' for k, page in enumerate("abcdef")]
    total = f'{name},"21,000",5.5%'
    lines = [*rows, total] if made == "last" else [total, *rows]
    ds = load_table("\n".join(["Page,Views,Rate", *lines]).encode())
    notes = [n for n in ds.notes if n.startswith(f"The {made} row holds the sums of")]
    assert bool(notes) == noted


@pytest.mark.parametrize(
    "words", ["red blue red red", "a b c a c", "x x y", "-1 a b a -1"]
)
def test_words_in_lines_have_no_title(words):
    text = words.replace(" ", "\n")
    ensemble = load_partitions(text.encode())
    assert ensemble.n_samples == len(words.split())
    named = load_partitions(f"cluster\n{text}\n".encode())
    assert named.labels.tolist() == ensemble.labels.tolist()


def test_exports_may_hold_partitions():
    for text in (
        "||id||p||q||\n|a|1|2|\n|b|1|3|\n",
        "id     p  q\na      1  2\nb b    1  3\n",
        "id;p;q\na;1;2\nid;p;q\nb;1;3\n",
    ):
        assert load_partitions(text.encode()).labels.tolist() == [[1, 1], [2, 3]]


def test_a_limit_beyond_all_memory_is_a_limit(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    for limit in (1 << 40, 1 << 80):
        assert load_table(path, max_bytes=limit).table.shape == (2, 2)
        with path.open("rb") as file:
            assert load_table(file, max_bytes=limit).table.shape == (2, 2)
        with path.open() as file:
            assert load_table(file, max_bytes=limit).table.shape == (2, 2)
    with path.open("rb") as file, pytest.raises(DataError, match="the limit is 11"):
        load_table(file, max_bytes=11)


@pytest.mark.parametrize("limit", [-1, None, "2 GB", 0.5])
def test_a_limit_that_is_no_number_of_bytes_is_refused(limit):
    with pytest.raises(ValueError, match=r"max_bytes is .* give a "):
        load_table(b"a,b\n1,2\n", max_bytes=limit)


@pytest.mark.parametrize("source", [[[1, 2], [1, 1]], [1, 2], 5, None, {"a": 5}])
def test_partitions_that_are_no_table_are_refused_by_type(source):
    with pytest.raises(
        DataError, match=r"a value of type \w+; give a DataFrame, files"
    ):
        load_partitions(source)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('id,x\na,"1,234"\nb,"0,345"\n', [1.234, 0.345]),
        ("id;x;y\na;1,234;1.5\nb;0,345;2.5\n", [1.234, 0.345]),
        ("id;x\na;0.345\nb;1,5\n", ["0.345", "1,5"]),
        ("phone;x\n030 123 456;040 123\n", ["040 123"]),
        ("Ann;1.234,50\nBob;6,00\nCy;7,00\n", [1234.5, 6, 7]),
        ("1;2,5\n3;4,25\n", [2.5, 4.25]),
        ("id;x;y\na;1.234;0,5\nb;950;1,5\nc;12.345.678;2,5\n", [1234, 950, 12345678]),
        ("id\tx\ty\na\t1.234\t0,5\nb\t-1.500\t1,5\n", [1234, -1500]),
        ("id;x;y\na;1.234;0,5\nb;0.125;1,5\n", [1.234, 0.125]),
        ("id;x;y\na;1.234;0,5\nb;1.5;1,5\n", [1.234, 1.5]),
        ("id;x;y\na;1.234;0,5 €\nb;950;1,5 €\n", [1234, 950]),
        ("id\tx\ty\na\t1.234\tCHF 2,50\nb\t950\tCHF 1,00\n", [1234, 950]),
        ("id;x;y\na;1.234;1.100,5 m²\nb;950;97,5 m²\n", [1234, 950]),
        ("id;x;y\na;1.234;10,50-\nb;950;7,25-\n", [1234, 950]),
        ("id;x;y\na;1.234;0,5 %\nb;950;1,5 %\n", [1234, 950]),
        ("id;x;y\na;1.234;(0,5)\nb;950;(1,5)\n", [1.234, 950]),
        ("id\tx\ty\na\t1.234\t$1,234\nb\t950\t$2,100\n", [1.234, 950]),
        ("id;x\na;1.234.567\nb;950\n", [1234567, 950]),
        ("id;x;y\na;1.234;1.234.567\nb;2.345;5.678.901\n", [1234, 2345]),
    ],
)
def test_a_comma_or_blank_between_digits_has_one_meaning(text, values):
    assert load_table(text.encode()).table.iloc[:, 1].tolist() == values


@pytest.mark.parametrize("sign", ["", " €"])
@pytest.mark.parametrize("mark", [";", "\t"])
@pytest.mark.parametrize(
    ("others", "factor"),
    [
        (["85", "70"], 1000),
        (["0", "850", "12", "1.234.567"], 1000),
        (["85", "85"], 1),
        (["85", "0"], 1),
        (["85", "7.5"], 1),
        (["85", "70", "0.123"], 1),
        (["85", "70", "1000"], 1),
    ],
)
def test_points_group_thousands_where_no_number_can_be_a_fraction(
    others, factor, mark, sign
):
    words = [*others, "1.234", "2.345", "10.100", "9.001", "3.333"]
    lines = ["id;x", *(f"r{k};{word}{sign}" for k, word in enumerate(words))]
    ds = load_table("\n".join(lines).replace(";", mark).encode())
    values = [1.234, 2.345, 10.1, 9.001, 3.333]
    assert ds.table["x"].tolist()[-5:] == [value * factor for value in values]
    noted = any("points between thousands" in note for note in map(str, ds.notes))
    assert noted == (factor == 1000)


def test_measurements_with_words_between_are_no_categories():
    cells = ["Undetermined" if k % 5 == 0 else f"{20 + k / 8}" for k in range(30)]
    ds = load_table(pd.DataFrame({"x": range(30), "ct": cells}))
    assert ds.roles["ct"] == "ignore"
    assert "others, like 'Undetermined', would count as" in ds.role_reasons["ct"]
    codes = load_table(pd.DataFrame({"x": range(9), "k": ["1", "2", "x"] * 3}))
    assert codes.roles["k"] == "categorical"
