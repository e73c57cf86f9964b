import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.compute.table.export import attach_labels, to_csv_bytes
from clusterlens.compute.table.reading import load_table


def table_with_gaps() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": ["d", "a", "c", "b"],
            "size": [1.5, None, 2.5, 9.0],
            "cluster": ["x", "y", "x", "y"],
            "fixed": 1,
        }
    )


def test_labels_return_to_all_original_rows_in_order():
    table = table_with_gaps()
    ds = prepare(table, missing="drop rows", roles={"cluster": "ignore"})
    assert ds.row_ids.tolist() == ["d", "c", "b"]
    found = attach_labels(
        ds, {"model 1": np.array([4, 5, -1]), "name": ["p", "q", "r"]}
    )
    pd.testing.assert_frame_equal(found[table.columns].reset_index(drop=True), table)
    assert found["model 1"].tolist() == [4, pd.NA, 5, -1]
    assert found["name"].isna().tolist() == [False, True, False, False]
    assert found.loc["b", "name"] == "r"
    assert list(ds.table.columns) == list(table.columns)


def test_taken_name_gets_a_number():
    ds = prepare(table_with_gaps().fillna(0), roles={"cluster": "ignore"})
    found = attach_labels(ds, {"cluster": [0, 1, 0, 1], "cluster (2)": [1, 1, 1, 1]})
    assert list(found.columns[-2:]) == ["cluster (2)", "cluster (2) (2)"]
    assert found["cluster"].tolist() == ["x", "y", "x", "y"]


def test_labels_of_hundreds_of_models_are_attached_at_once():
    ds = prepare(table_with_gaps().fillna(0), roles={"cluster": "ignore"})
    found = attach_labels(ds, {f"model {t}": [t, 0, 1, 2] for t in range(300)})
    assert found.shape == (4, 304)
    assert found["model 299"].tolist() == [299, 0, 1, 2]


def test_wrong_number_of_labels_is_refused():
    ds = prepare(table_with_gaps(), missing="drop rows", roles={"cluster": "ignore"})
    with pytest.raises(
        ValueError, match=r"labels\['m'\] has shape \(4,\) for 3 samples"
    ):
        attach_labels(ds, {"m": [0, 0, 0, 0]})


def test_text_that_a_spreadsheet_would_run_is_protected():
    words = [
        "=1+1",
        "+cmd",
        "-x",
        "@sum",
        "\tx",
        "\rx",
        "\n=1",
        "\v=1",
        "\f=1",
        "\x00=1",
        "＝1",
        "plain",
        "a=b",
        None,
        "--",
    ]
    numbers = ["-5", "+3.5", "-1e5", "-1,5", "+1.234,5"]
    table = pd.DataFrame({"=head": words + numbers, "n": -np.arange(20.0)})
    # pandas 3.0 stops reading a cell at its NUL.
    text = to_csv_bytes(table).decode("utf-8-sig")
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    assert head == ["'=head", "n"]
    protected = ["'" + word for word in words[:11]]
    cells = [*protected, "plain", "a=b", "", "'--", *numbers]
    assert [row[0] for row in rows] == cells
    assert [float(row[1]) for row in rows] == table["n"].tolist()


def test_categories_dates_and_odd_objects_are_written():
    table = pd.DataFrame(
        {
            "c": pd.Categorical(["=a", "b"]),
            "k": pd.Categorical([3, 1]),
            "day": pd.to_datetime(["2020-01-31", None]),
            "time": [pd.Timestamp("2020-01-31 12:00:00.25"), pd.Timestamp(2020, 1, 1)],
            "truth": [True, False],
            "whole": pd.array([1, None], dtype="Int64"),
            "span": pd.to_timedelta(["1h", "2h"]),
            "half": np.array([0.5, 2], dtype=np.float16),
            "range": pd.cut([1.0, 2.0], 2),
            "cells": [[1], {"a": 2}],
        }
    )
    lines = to_csv_bytes(table).decode().splitlines()
    assert lines[1] == (
        '"\'=a",3,"2020-01-31","2020-01-31 12:00:00.250000",true,1,'
        '"0 days 01:00:00",0.5,"(0.999, 1.5]","[1]"'
    )
    assert lines[2].startswith('"b",1,,"2020-01-01 00:00:00",false,,')


def test_row_ids_go_first_on_request():
    table = pd.DataFrame({"row id": [1, 2]}, index=["u", "v"])
    text = to_csv_bytes(table, index=True).decode()
    assert text.splitlines()[:2] == ['"row id (2)","row id"', '"u",1']


def test_encoding_can_carry_a_mark():
    table = pd.DataFrame({"ä": ["ö"]})
    assert to_csv_bytes(table, encoding="utf-8-sig").startswith(b"\xef\xbb\xbf")
    assert load_table(to_csv_bytes(table, encoding="utf-8-sig")).table.shape == (1, 1)


@settings(max_examples=80)
@given(st.lists(st.floats(allow_infinity=False), min_size=1))
def test_numbers_are_never_altered(values):
    table = pd.DataFrame({"k": range(len(values)), "v": values})
    lines = to_csv_bytes(table).decode().splitlines()[1:]
    found = [float(line.split(",")[1] or "nan") for line in lines]
    assert np.array_equal(found, values, equal_nan=True)


def test_exported_rows_load_again():
    ds = make_dataset(table_with_gaps())
    again = load_table(to_csv_bytes(ds.table))
    assert list(again.table.columns) == list(ds.table.columns)
    assert again.roles == ds.roles
    assert np.array_equal(again.table["size"], ds.table["size"], equal_nan=True)
