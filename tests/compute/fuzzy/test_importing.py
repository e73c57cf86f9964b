"""Memberships from files: rows find their samples, and are checked."""

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
