"""Memberships from files: rows find their samples, and are checked."""

import re

import numpy as np
import pandas as pd
import pytest

from clusterlens.compute._validation import DataError
from clusterlens.compute.fuzzy.importing import load_memberships

ROWS = pd.DataFrame({"one": [0.9, 0.2, 0.5], "two": [0.1, 0.8, 0.5]})
IDS = ["a", "b", "c"]


def test_rows_without_ids_keep_their_order():
    found = load_memberships(ROWS, IDS)
    assert found.memberships[:, 0].tolist() == [0.9, 0.2, 0.5]


def test_rows_with_ids_find_their_samples_and_others_are_left_out():
    frame = ROWS.assign(id=IDS)
    found = load_memberships(frame, ["c", "a"])
    assert found.memberships[:, 0].tolist() == [0.5, 0.9]


def test_the_index_of_a_table_or_parquet_file_names_its_rows(tmp_path):
    frame = ROWS.set_axis(IDS)
    frame.to_parquet(tmp_path / "rows.parquet")
    for source in (frame, tmp_path / "rows.parquet"):
        found = load_memberships(source, ["c", "a"])
        assert found.memberships[:, 0].tolist() == [0.5, 0.9]


def test_numbers_and_texts_name_the_same_row():
    found = load_memberships(ROWS.assign(id=[1, 2, 3]), ["3", "2", "1"])
    assert found.memberships[:, 0].tolist() == [0.5, 0.2, 0.9]


@pytest.mark.parametrize(
    ("frame", "ids", "words"),
    [
        (ROWS, ["a", "b"], "3 rows for 2 row_ids"),
        (ROWS.assign(id=IDS), ["a", "x"], "no row for the samples x"),
        (ROWS.set_axis(IDS), ["p", "q", "r"], "no row for the samples p, q, r"),
        (ROWS.assign(colour=["red", "red", "blue"]), IDS, "no numbers"),
        (ROWS * 2, IDS, "sum to 1"),
        (ROWS.assign(one=[-0.1, 0.2, 0.5]), IDS, "negative"),
    ],
)
def test_what_is_wrong_is_said(frame, ids, words):
    with pytest.raises(DataError, match=words):
        load_memberships(frame, ids)


def test_rows_are_divided_by_their_sums_on_request_only_and_noted():
    found = load_memberships(ROWS * 4, IDS, normalize=True)
    assert found.memberships[:, 0].tolist() == [0.9, 0.2, 0.5]
    assert "divided" in found.notes[0]


ORDER = [2, 0, 1]


@pytest.mark.parametrize(
    "frame",
    [
        ROWS.iloc[ORDER],
        ROWS.assign(id=range(3)).iloc[ORDER],
        ROWS.assign(id=range(3)).iloc[ORDER].reset_index(drop=True),
        ROWS.set_axis([f"{k}.0" for k in range(3)]).iloc[ORDER],
        ROWS.iloc[ORDER].astype(">f4").set_axis(np.array(ORDER, dtype=">i4")),
    ],
)
def test_rows_in_another_order_find_their_samples(frame):
    found = load_memberships(frame, range(3))
    assert np.allclose(found.memberships[:, 0], [0.9, 0.2, 0.5])
    assert not any("by position" in note for note in found.notes)


def test_dates_name_the_rows_of_a_file():
    days = ["2020-01-01", "2020-01-02", "2020-01-03"]
    file = ROWS.assign(day=days)[["day", "one", "two"]].iloc[ORDER]
    found = load_memberships(file.to_csv(index=False).encode(), pd.to_datetime(days))
    assert found.memberships[:, 0].tolist() == [0.9, 0.2, 0.5]


@pytest.mark.parametrize("name", ["id", "sample_id", None])
@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
def test_an_id_twice_is_refused_by_name(name, form, tmp_path):
    frame = ROWS.set_axis(pd.Index(["a", "b", "a"], name=name))
    source = tmp_path / "rows"
    if form == "csv":
        frame.to_csv(source)
    elif form == "parquet":
        frame.to_parquet(source)
    else:
        source = frame
    for row_ids in (None, ["a", "b"], IDS):
        with pytest.raises(DataError, match="more than one row for 'a'"):
            load_memberships(source, row_ids)


def test_rows_taken_by_position_are_noted():
    assert "rows taken by position" in load_memberships(ROWS, IDS).notes[-1]


def test_memberships_that_all_differ_are_no_ids():
    for source in (ROWS, ROWS.to_csv(index=False).encode()):
        found = load_memberships(source, IDS)
        assert found.memberships[:, 0].tolist() == [0.9, 0.2, 0.5]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            "id,a,b\nx,0.5,0.5\ny,-0.1,1.1\n",
            "negative value in row 2 ('y'), column 'a'",
        ),
        ("a,b\n0.5,0.5\n1.2,-0.2\n", "negative value in row 2, column 'b'"),
        ("a,b\n0.5,0.5\n,1\n", "no number in row 2, column 'a'"),
        ("a,b\n0.4,0.4\n0.5,0.5\n", "sum 0.8 in row 1;"),
    ],
)
def test_errors_name_the_file_and_count_rows_from_one(text, place):
    with pytest.raises(DataError, match=re.escape(place)) as error:
        load_memberships(text.encode(), name="own.csv")
    assert str(error.value).startswith("'own.csv'")
