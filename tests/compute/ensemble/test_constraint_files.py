import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute._validation import DataError
from clusterlens.compute.ensemble.constraint_files import (
    constraints_from_csv,
    constraints_from_json,
    constraints_from_labels,
    constraints_to_csv,
    constraints_to_json,
)
from clusterlens.compute.ensemble.constraints import ConstraintError, Constraints

FORMATS = {
    "csv": (constraints_to_csv, constraints_from_csv),
    "json": (constraints_to_json, constraints_from_json),
}
SOME = Constraints(must_link=[(0, 2), (2, 3)], cannot_link=[(1, 3)])


def pairs(constraints):
    return constraints.must_link.tolist(), constraints.cannot_link.tolist()


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=50)
@given(ids=st.lists(st.text(), min_size=4, max_size=4, unique=True))
def test_any_text_ids_read_back_as_they_were_written(kind, ids):
    # Line ends in quoted cells are unified by readers of CSV; ids have none.
    ids = [f"{k}{i}".replace("\r", " ").replace("\0", " ") for k, i in enumerate(ids)]
    ids = [i[::-1] for i in ids]  # odd characters first
    write, read = FORMATS[kind]
    assert pairs(read(write(SOME, ids), ids)) == pairs(SOME)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    "ids",
    [
        range(10, 14),
        [1.0, 2.0, 3.0, 4.5],
        ["=1+1", "-x", "@a", "NA"],
        pd.date_range("2024-01-01", periods=4),
    ],
)
def test_ids_of_any_type_read_back(kind, ids):
    write, read = FORMATS[kind]
    assert pairs(read(write(SOME, ids), ids)) == pairs(SOME)


@pytest.mark.parametrize("kind", FORMATS)
def test_constraints_survive_another_order_of_the_rows(kind):
    write, read = FORMATS[kind]
    moved = read(write(SOME, list("abcd")), list("dcba"))
    assert pairs(moved) == ([[0, 1], [1, 3]], [[0, 2]])


@pytest.mark.parametrize("kind", FORMATS)
def test_no_constraints_read_back_as_none(kind):
    write, read = FORMATS[kind]
    assert read(write(Constraints(), [1, 2]), [1, 2]).n_pairs == 0


@pytest.mark.parametrize("kind", FORMATS)
def test_pairs_of_unknown_rows_are_refused_or_left_out_when_asked(kind):
    write, read = FORMATS[kind]
    data = write(SOME, list("abcd"))
    with pytest.raises(DataError, match="name the row 'd'"):
        read(data, list("abc"))
    assert pairs(read(data, list("abc"), missing="skip")) == ([[0, 2]], [])


def test_whole_numbers_stay_numbers_in_json():
    text = constraints_to_json(SOME, np.arange(5, 9))
    assert json.loads(text) == {"must_link": [[5, 7], [7, 8]], "cannot_link": [[6, 8]]}


def test_a_spreadsheet_computes_no_id():
    lines = constraints_to_csv(SOME, ["=1", "=2", "=3", "=4"]).decode().splitlines()
    assert lines[1] == '"must-link","\'=1","\'=3"'


@pytest.mark.parametrize("write", [constraints_to_csv, constraints_to_json])
def test_ids_that_cannot_be_told_apart_are_refused(write):
    with pytest.raises(DataError, match="differ as text"):
        write(SOME, np.array([1, "1", 2, 3], dtype=object))
    with pytest.raises(DataError, match="3 entries, but the constraints name sample 3"):
        write(SOME, [1, 2, 3])


def test_contradictions_in_a_file_are_refused():
    text = "kind,row_a,row_b\nmust-link,a,b\ncannot-link,b,a\n"
    with pytest.raises(ConstraintError):
        constraints_from_csv(text, ["a", "b"])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "cannot be read as CSV"),
        (b"\xff\xfe\x00", "cannot be read as CSV"),
        ("kind,row_a\nmust-link,1", "no column 'row_b'"),
        ("kind,row_a,row_b\nmust-link,1,2\nmust,1,2", "kind 'must' in line 3"),
    ],
)
def test_broken_csv_is_refused(data, message):
    with pytest.raises(DataError, match=message):
        constraints_from_csv(data, [1, 2])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read as JSON"),
        ("[" * 50_000, "cannot be read as JSON"),
        ("9" * 50_000, "cannot be read as JSON"),
        ("[]", "no JSON object"),
        ('{"must": []}', "no JSON object"),
        ('{"must_link": [[1]]}', "must_link is not a list of pairs"),
        ('{"cannot_link": 3}', "cannot_link is not a list of pairs"),
    ],
)
def test_broken_json_is_refused(text, message):
    with pytest.raises(DataError, match=message):
        constraints_from_json(text, [1, 2])


@settings(max_examples=50)
@given(labels=st.lists(st.integers(-1, 3), min_size=1, max_size=12))
def test_known_labels_constrain_all_their_pairs(labels):
    n = len(labels)
    known = [
        (i, j)
        for i in range(n)
        for j in range(i + 1, n)
        if labels[i] != -1 and labels[j] != -1
    ]
    expected = (
        [[i, j] for i, j in known if labels[i] == labels[j]],
        [[i, j] for i, j in known if labels[i] != labels[j]],
    )
    assert pairs(constraints_from_labels(labels)) == expected


def test_another_label_can_mean_unknown():
    assert pairs(constraints_from_labels([0, -1, -1], unknown=0)) == ([[1, 2]], [])


def test_too_many_known_labels_are_refused():
    with pytest.raises(MemoryError, match="fewer samples"):
        constraints_from_labels(np.zeros(1_000_000, dtype=int))


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", ", "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_links_are_read_with_any_separator(separator, end):
    lines = [["row_a", "row_b", "kind"], ["1", "2", "must-link"]]
    lines += [["2", '"x,;|y"', "cannot-link"]]
    text = end.join(separator.join(line) for line in lines)
    for data in (text, text.encode("utf-8-sig")):
        found = constraints_from_csv(data, [1, 2, "x,;|y"])
        assert pairs(found) == ([[0, 1]], [[1, 2]])


def test_links_as_spreadsheets_write_them_are_read():
    text = "sep=;\nkind ; row_a;row_b\nmust-link;1,0;3,00\n"
    assert pairs(constraints_from_csv(text, [1, 2, 3])) == ([[0, 2]], [])
    indexed = "\tkind\trow_a\trow_b\n0\tcannot-link\t1\t2\n"
    assert pairs(constraints_from_csv(indexed, [1, 2, 3])) == ([], [[0, 1]])
    with pytest.raises(DataError, match="not among the row_ids"):
        constraints_from_csv("kind;row_a;row_b\nmust-link;1,000;2\n", [1, 2, 3])


@pytest.mark.parametrize(
    ("row_ids", "written"),
    [
        ([1, 2, 3], ["1.0", "2.0"]),
        ([1.0, 2.0, 3.0], ["1", "2.00"]),
        (["1", "2", "3"], ["1.", "2e0"]),
        (["1.0", "2.0", "3.0"], ["1", "2"]),
        ([100000, 2, 3], ["1e5", "'2"]),
        (["2020-01-01", "2020-01-02", "x"], ["2020-01-01 00:00:00", "2020-01-02"]),
        (pd.date_range("2020-01-01", periods=3), ["2020-01-01", "2020-01-02T00:00"]),
        (
            ["2020-01-01T10:00:00Z", "2020-01-01T11:00:00Z", "x"],
            ["2020-01-01 10:00:00+00:00", "2020-01-01T12:00:00+01:00"],
        ),
    ],
)
def test_ids_that_are_written_otherwise_name_the_same_rows(row_ids, written):
    a, b = written
    file = constraints_from_csv(f"kind,row_a,row_b\nmust-link,{a},{b}\n", row_ids)
    assert pairs(file) == ([[0, 1]], [])
    text = constraints_from_json(json.dumps({"must_link": [[a, b]]}), row_ids)
    assert pairs(text) == ([[0, 1]], [])


@pytest.mark.parametrize(
    ("row_ids", "written"),
    [
        (["1", "1.0", "2"], "1.00"),  # two rows are meant
        (["007", "8", "9"], "7"),
        (["7", "8", "9"], "007"),
        (["1.10", "2", "3"], "1.1"),
        (["2020-01-01", "2020-01-02", "x"], "2020-01-01 12:00"),
        (["2020-01-01 10:00", "2", "3"], "2020-01-01 10:00Z"),
        (["1", "2", "3"], "1e999999999"),
        (["1", "2", "3"], "2020-99-99"),
    ],
)
def test_ids_that_mean_something_else_are_unknown(row_ids, written):
    with pytest.raises(DataError, match="not among the row_ids"):
        constraints_from_csv(
            f"kind,row_a,row_b\nmust-link,{written},{row_ids[2]}\n", row_ids
        )
    exact = f"kind,row_a,row_b\nmust-link,{row_ids[0]},{row_ids[1]}\n"
    assert pairs(constraints_from_csv(exact, row_ids)) == ([[0, 1]], [])


@pytest.mark.parametrize("mark", [",", ";", "\t", "|", "^", "~"])
@pytest.mark.parametrize(
    "text",
    [
        "kind,row_a,row_b\nmust-link,1,3\n\x1a",
        "kind,row_a,row_b\r\nmust-link,1,3\r\n\x1a\r\n",
        "sep=,\nkind,row_a,row_b\nmust-link,1,3\n",
        '\ufeff"sep=,"\r\n\r\nkind,row_a,row_b\r\nmust-link,1,3\r\n',
        "kind,row_a,row_b\nmust-link,1,3\n,,\n , ,\n",
        "kind,row_a,row_b\n,,\nmust-link,1,3\n\n\n",
        "Kind,ROW_A, row_b ,\nmust-link,1,3,\n,,,\n",
        "kind,row_a,row_b\nmust-link,1,3,,\n",
    ],
)
def test_links_of_spreadsheets_and_dos(text, mark):
    data = text.replace(",", mark).encode()
    assert pairs(constraints_from_csv(data, [1, 2, 3])) == ([[0, 2]], [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sep=;\nkind;row_a;row_b\n;;\nmay;1;2\n", "line 4"),
        ("kind,row_a,row_b\nmust-link,1,2,3\n", "line 2 has 4 cells"),
        ("\x1a", "no column 'kind'"),
    ],
)
def test_lines_of_links_are_refused_by_their_number(text, message):
    with pytest.raises(DataError, match=message):
        constraints_from_csv(text, [1, 2, 3])
