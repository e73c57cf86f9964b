"""Tables drawn in text have the cells of the same table as CSV, or are refused."""

import gzip
import io

import pandas as pd
import pytest

from clusterlens import DataError, load_partitions, load_table
from clusterlens.compute.table.batches import open_batches

DRAWN = {
    "Markdown": """
| id | x | y |
|---|---|---|
| a | 1 | 2.5 |
| b c | 3 | |
""",
    "Markdown, aligned": "|id|x|y|\n|:--|--:|:-:|\n|a|1|2.5|\n|b c|3||",
    "Markdown, short": "|id|x|y|\n|-|-|-|\n|a|1|2.5|\n|b c|3||",
    "Markdown, open": "id | x | y\n--- | --- | ---\na | 1 | 2.5\nb c | 3 | ",
    "Markdown in a page": """# Title

Words, with a comma.

| id | x | y |
|----|--:|--:|
| a | 1 | 2.5 |
| b c | 3 | |

Afterwards.
""",
    "Org": """#+NAME: one
| id  | x | y   |
|-----+---+-----|
| a   | 1 | 2.5 |
|-----+---+-----|
| b c | 3 |     |
#+TBLFM: $3=$2
""",
    "psql": """ id  | x |  y
-----+---+-----
 a   | 1 | 2.5
 b c | 3 |
(2 rows)
""",
    "MySQL": """+-----+---+------+
| id  | x | y    |
+-----+---+------+
| a   | 1 |  2.5 |
| b c | 3 | NULL |
+-----+---+------+
2 rows in set (0.00 sec)
""",
    "reStructuredText grid": """
+-----+---+-----+
| id  | x | y   |
+=====+===+=====+
| a   | 1 | 2.5 |
+-----+---+-----+
| b c | 3 |     |
+-----+---+-----+
""",
    "outline": """
+-----+---+-----+
| id  | x | y   |
+=====+===+=====+
| a   | 1 | 2.5 |
| b c | 3 |     |
+-----+---+-----+
""",
    "reStructuredText simple": """
===  ===  ===
id    x    y
===  ===  ===
a      1  2.5
b c    3
===  ===  ===
""",
    "SQLite": """id          x           y
----------  ----------  ----------
a           1           2.5
b c         3
""",
    "SQL*Plus": """
ID            X          Y
---- ---------- ----------
a             1        2.5
b c           3

2 rows selected.
""",
    "Jira": "||id||x||y||\n|a|1|2.5|\n|b c|3| |\n",
    "Jira in a page": """h2. Title

|| id || x || y ||
|| a | 1 | 2.5 |
|| b c | 3 | |

Afterwards.
""",
    "bars only": "| id | x | y |\n| a | 1 | 2.5 |\n| b c | 3 | |\n",
}
CELLS = pd.DataFrame({"id": ["a", "b c"], "x": [1, 3], "y": [2.5, None]})


@pytest.mark.parametrize(
    "form", [str.encode, lambda t: gzip.compress(t.encode()), "windows", "utf-16"]
)
@pytest.mark.parametrize("name", DRAWN)
def test_a_drawn_table_has_its_cells(name, form):
    text = DRAWN[name]
    if form == "windows":
        data = text.replace("\n", "\r\n").encode("utf-8-sig")
    elif form == "utf-16":
        data = text.encode("utf-16")
    else:
        data = form(text)
    ds = load_table(io.BytesIO(data))
    found = ds.table.rename(columns=str.lower)
    pd.testing.assert_frame_equal(
        found.reset_index(drop=True), CELLS, check_dtype=False
    )
    assert "Read as a table drawn in text." in ds.notes


# How programs write a column of a name and two cells, and what they add below it.
ONE_COLUMN = {
    "psql": " {name:^7} \n---------\n {a:7} \n {b:7} \n(2 rows)\n",
    "SQL*Plus": "{name:>10}\n----------\n{a:>10}\n{b:>10}\n\n2 rows selected.\n",
    "SQLite": "{name:10}\n----------\n{a:10}\n{b:10}\n",
    "MySQL": "+-------+\n| {name:5} |\n+-------+\n| {a:5} |\n| {b:5} |\n+-------+\n",
    "Markdown": "| {name} |\n|---|\n| {a} |\n| {b} |\n",
    "simple": "=======\n{name}\n=======\n{a}\n{b}\n=======\n",
    "Jira": "||{name}||\n|{a}|\n|{b}|\n",
}


@pytest.mark.parametrize("text", ONE_COLUMN.values(), ids=ONE_COLUMN)
@pytest.mark.parametrize(
    ("name", "a", "b"), [("x", 1, 25), ("value", 1.5, -2), ("name", "Ann L", "Bob R")]
)
def test_a_drawn_column_has_its_cells(text, name, a, b):
    ds = load_table(text.format(name=name, a=a, b=b).encode())
    assert list(ds.table.columns) == [name]
    assert ds.table[name].tolist() == [a, b]
    assert "Read as a table drawn in text." in ds.notes


def test_a_counted_column_may_hold_commas():
    text = " name    \n---------\n Lee, A  \n Ray, B  \n(2 rows)\n"
    assert load_table(text.encode()).table["name"].tolist() == ["Lee, A", "Ray, B"]


def test_lines_around_a_drawn_table_are_noted():
    notes = load_table(DRAWN["Markdown in a page"].encode()).notes
    assert "3 lines around the table left out, the first '# Title'." in notes


@pytest.mark.parametrize(
    ("text", "columns", "first"),
    [
        ("| a | 2019 | 2020 |\n|--|--|--|\n| k | 1 | 2 |", ["a", "2019", "2020"], "k"),
        ("| a | b |\n|---|---|\n| x\\|y | 1 |\n| z | 2 |", ["a", "b"], "x|y"),
        ("| a | b |\n|---|---|\n| C++ | 1 |\n| A+ | 2 |", ["a", "b"], "C++"),
        (
            "+--+--+\n| 1 | 2 |\n+--+--+\n| 3 | 4 |\n+--+--+",
            ["column 1", "column 2"],
            1,
        ),
    ],
)
def test_names_bars_and_plus_signs_of_a_drawn_table(text, columns, first):
    table = load_table(text.encode()).table
    assert table.columns.tolist() == columns
    assert table.iloc[0, 0] == first


def test_decimal_commas_of_a_drawn_table():
    ds = load_table(b"| a | b |\n|---|---|\n| 1,5 | 2,25 |\n| 3,1 | 4,75 |\n")
    assert ds.table.to_numpy().tolist() == [[1.5, 2.25], [3.1, 4.75]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("| a | b |\n|---|---|\n| 1 |\n", "line 3 has 1 cell where"),
        (DRAWN["Markdown"] * 2, "several tables"),
        ("| a | b |\n|---|---|\n", "no rows"),
        ("id   x\n---  ---\nabcdef 1\n", "line 3 has 1 cell where"),
        (
            "+--+--+\n|a |b |\n+==+==+\n|1 |2 |\n|x |  |\n+--+--+\n|3 |4 |\n+--+--+\n",
            "line 5 continues",
        ),
        (" x \n---\n 1\n   \n 5\n(3 rows)\n", r"has 1 row above '\(3 rows\)'"),
        (" a |  b  \n---+-----\n 1 | one+\n   | two\n(1 row)\n", "line 4 continues"),
        (" b   \n-----\n one+\n two\n(1 row)\n", "line 4 continues"),
        ("||a||b||\n|1|2|\n|3|\n", "line 3 has 1 cell where the table has 2 columns"),
        ("||a||\n|1|\n\n||b||\n|2|\n", "several tables"),
        (" a   | b\n-----+---\n one+| 1\n two | 2\n", "line 4 continues"),
        ("<TABLE>\n<tr><td>1</td></tr></TABLE>", "an HTML table"),
        ("<!-- x -->\n<div><table border=1><tr><td>1</td>", "an HTML table"),
        ("% c\n\\begin{tabular}{lr}\na & b \\\\\n1 & 2 \\\\\n", "a LaTeX table"),
        ("a & b \\\\\n1 & 2 \\\\\n3 & 4 \\\\\n", "a LaTeX table"),
        ('[cols="1,1"]\n|===\n|a |b\n|1 |2\n|===\n', "an AsciiDoc table"),
        ('{| class="wikitable"\n! a !! b\n|-\n| 1 || 2\n|}\n', "a MediaWiki table"),
        ("1 1:0.5 3:0.25\n-1 2:1.5 3:5e-1\n", "a LIBSVM"),
        ("# made\n3.5 qid:1 1:2 9:1 # first\n2 qid:1 4:1", "a LIBSVM"),
        ("0 " + " ".join(f"{k}:1.25" for k in range(90_000)) + "\n", "a LIBSVM"),
        ("shape: (1, 1)\n┌───┐\n│ a │\n╞═══╡\n│ 1 │\n└───┘\n", "box characters"),
    ],
)
def test_what_cannot_be_read_surely_is_refused_by_name(text, message):
    with pytest.raises(DataError, match=message):
        load_table(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "a|b|c\n1|2|3\n-|-|-\n4|5|6\n",
        "a|b|c\n1|2|3\n--|--|--\n4|5|6\n",
        "a b c\n1 2 3\n- - -\n4 5 6\n",
        "a,b,c\n---,---,---\n4,5,6\n1,2,3\n",
        "a,b\n1,---\n-----,5\n",
        "name\n-----,x\nAnn\n",
        "x+y|b|c\n1|2|3\n4|5|6\n",
        'a,b,c\n"<table>",2,3\n"\\begin{tabular}",5,6\n',
        "day up down\n5 10:20 11:30\n6 10:15 11:45\n",
        "id odds\n1 2:1\n2 7:4\n",
    ],
)
def test_a_delimited_table_with_dashes_or_marks_stays_one(text):
    ds = load_table(text.encode())
    assert len(ds.table) == len(text.splitlines()) - 1
    assert "Read as a table drawn in text." not in ds.notes


def test_partitions_may_be_drawn():
    ens = load_partitions(b"| id | p | q |\n|--|--|--|\n| a | 1 | x |\n| b | 2 | x |\n")
    assert list(ens.names) == ["p", "q"]
    assert ens.codes.tolist() == [[0, 1], [0, 0]]


def test_a_drawn_table_is_no_stream_of_rows(tmp_path):
    (tmp_path / "t.csv").write_text(DRAWN["Markdown"])
    with (
        pytest.raises(DataError, match="drawn in text"),
        open_batches(tmp_path / "t.csv", 10),
    ):
        pass
