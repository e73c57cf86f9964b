import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute._validation import DataError
from clusterlens.compute.table._cells import (
    LIST_LIMIT,
    plain_frame,
    to_numbers,
    type_columns,
    type_text,
)


def typed(words, **options):
    return type_text(pa.array(words, type=pa.large_string()), **options)


@pytest.mark.parametrize(
    ("words", "values", "remark"),
    [
        (["1", "2", "-3"], [1, 2, -3], None),
        (["1.5", "2e3", ".5", "5.", "+4"], [1.5, 2000, 0.5, 5, 4], None),
        (["1", "", None], [1, np.nan, np.nan], None),
        (["1", "?", "NA", "-"], [1] + [np.nan] * 3, "'?' (1 cell), 'NA' (1 cell), '-'"),
        (["1,234", "5,678,901"], [1234, 5678901], "commas between thousands"),
        (["1,234.5", "12"], [1234.5, 12], "commas between thousands"),
        (["1,5", "2,25", "3"], [1.5, 2.25, 3], "decimal comma"),
        (["1.234,5", "3,2"], [1234.5, 3.2], "decimal comma"),
        (["1 234", "12", "1\u00a0000"], [1234, 12, 1000], "blanks between thousands"),
        (["1 234,5", "12,0"], [1234.5, 12.0], "blanks between thousands and decimal"),
        (["12%", "3.5 %"], [12, 3.5], "the sign '%' removed"),
        (["$1,200", "$30"], [1200, 30], "the sign '$' removed"),
        (["\u22125", "3"], [-5, 3], None),
        (["\u20131.5", "\uff0d2", "3"], [-1.5, -2, 3], None),
        (["Rs. 1,200", "Rs. 30"], [1200, 30], "the sign 'Rs.' removed"),
        (["5 руб.", "-7 руб."], [5, -7], "the sign 'руб.' removed"),
        (["-$10.5", "$20"], [-10.5, 20], "the sign '$' removed"),
        (["$-10.5", "$20"], [-10.5, 20], "the sign '$' removed"),
        (["\u2212$5", "+$6"], [-5, 6], "the sign '$' removed"),
        (["100", "(850)"], [100, -850], "cells like '(850)' read as numbers below"),
        (["(1,234.5)", "2"], [-1234.5, 2], "'(1,234.5)' read as numbers below zero"),
        (["($5)", "$6", "$(7)"], [-5, 6, -7], "'($5)' read as numbers below zero"),
        (["(5 %)", "3 %"], [-5, 3], "the sign '%' removed"),
        (["-5 €", "3,50 €"], [-5, 3.5], "the sign '€' removed"),
        (["1.200,50-", "3,0"], [-1200.5, 3], "'1.200,50-' read as numbers below zero"),
        (["-R$ 1.200,50", "R$ 3,00"], [-1200.5, 3], "the sign 'R$' removed"),
        (["USD -5.5", "-USD 6"], [-5.5, -6], "the sign 'USD' removed"),
        (["(6 kr)", "5 kr", "n/a"], [-6, 5, np.nan], "'n/a' (1 cell) read as missing"),
        (["₹1,200", "-₹3"], [1200, -3], "the sign '₹' removed"),
        (["- 5", "6"], [-5, 6], None),
        (["1e5", "2e3"], [1e5, 2e3], None),
        (["1.5", "12e3"], [1.5, 12e3], None),
        (["1.5", "NaN", "2"], [1.5, np.nan, 2], "'NaN' (1 cell) read as missing"),
        (["NAN", None], [np.nan, np.nan], "'NAN' (1 cell) read as missing"),
        (["1", "-nan", "nan"], [1, np.nan, np.nan], "'-nan' (1 cell), 'nan' (1 cell)"),
        (["inf", "-Infinity", "NA"], [np.inf, -np.inf, np.nan], "'NA' (1 cell)"),
        (["1,5", "#NV", "#WERT!"], [1.5, np.nan, np.nan], "'#NV' (1 cell), '#WERT!'"),
        (["1,5", "#¡DIV/0!", "#Н/Д"], [1.5, np.nan, np.nan], "'#¡DIV/0!' (1 cell)"),
        (["5", "-1.#IND", "1.#QNAN"], [5, np.nan, np.nan], "'-1.#IND' (1 cell)"),
        (["￥1,200", "-￥30"], [1200, -30], "the sign '￥' removed"),
        (["1,200円", "30円"], [1200, 30], "the sign '円' removed"),
        (["5.5元", "6 元"], [5.5, 6], "the sign '元' removed"),
        (["60,5 kg", "1.071 kg"], [60.5, 1071], "the unit 'kg' removed"),
        (["20.5°C", "-3°C", "-"], [20.5, -3, np.nan], "the unit '°C' removed"),
        (["36 months", "60 months"], [36, 60], "the unit 'months' removed"),
        (["5 m", "1,200 m", "n.d."], [5, 1200, np.nan], "the unit 'm' removed"),
        (["3 µg/L", "0.5 µg/L"], [3, 0.5], "the unit 'µg/L' removed"),
        (["COP 1,200", "COP 30"], [1200, 30], "the sign 'COP' removed"),
        (
            ["1\u2009234,5", "12,0"],
            [1234.5, 12],
            "blanks between thousands and decimal",
        ),
    ],
)
def test_text_that_is_entirely_numeric_becomes_numbers(words, values, remark):
    found, remarks = typed(words)
    assert pd.api.types.is_numeric_dtype(found.dtype)
    assert np.array_equal(
        found.to_numpy(float, na_value=np.nan), np.array(values, float), equal_nan=True
    )
    assert bool(remarks) == (remark is not None)
    assert remark is None or remark in "; ".join(remarks)


@pytest.mark.parametrize(
    "words",
    [
        ["007", "012"],  # codes
        ["0x1A", "3"],
        ["12345678901234567890", "2"],  # more digits than a float holds
        ["9007199254740993", "1.5"],
        ["1", "2", "x"],
        ["1,5", "2.5"],
        ["12%", "$3"],
        ["true", "false"],
        ["2020-13-45", "2020-01-01"],
        ["1_000", "2"],
        ["12e5", "7e10", "31e4"],  # codes, too
        ["012e5", "034e1", "077e2"],
        ["1234", "5678", "12E5"],
        ["12e05", "7"],
        ["3e400", "1"],
        ["-3e400", "1.5"],
        ["$12345678901234567", "$1"],
        ["$5", "€5"],
        ["$5", "5"],
        ["1A", "2A", "30A"],
        ["1 kg", "500 g"],
        ["5 kg", "5"],
        ["5 red", "6 red"],
        ["192.168.100.101", "192.168.100.200"],
        ["-(5)", "6"],
        ["((5))", "6"],
        ["(a)", "(5)"],
        ["2020-12-31T10:00:00Z", "2020-12-31T10:00:00"],
        ["2020-12-31T25:00:00Z", "2020-12-31T10:00:00Z"],
    ],
)
def test_text_that_is_not_entirely_numeric_stays_as_it_is(words):
    found, remarks = typed(words)
    assert found.tolist() == words
    assert remarks == []


def test_long_columns_are_decided_by_all_cells():
    numbers = [str(k / 7) for k in range(3000)]
    found, remarks = typed(["?", *numbers, "?"])
    assert found.tolist()[1:-1] == list(map(float, numbers))
    assert remarks == ["'?' (2 cells) read as missing"]
    assert typed([*numbers, "x"])[0].tolist() == [*numbers, "x"]
    assert typed([*numbers, "007"])[0].tolist() == [*numbers, "007"]


def test_hint_decides_on_the_ambiguous_comma():
    assert typed(["1,234"])[0].tolist() == [1234]
    assert typed(["1,234"], decimal_comma=True)[0].tolist() == [1.234]


def test_whole_numbers_with_gaps_stay_whole():
    for words in (["1", None], ["1", "?"]):
        assert typed(words)[0].dtype == "Int64"
    assert typed([str(2**62), None])[0][0] == 2**62


def test_iso_dates_become_dates_and_others_stay_text():
    assert typed(["2020-01-31", None])[0].dtype.kind == "M"
    assert typed(["2020-01-31 12:30:05", "2020-01-31"])[0].dtype.kind == "M"
    assert typed(["31.01.2020", "01.02.2020"])[0].tolist() == [
        "31.01.2020",
        "01.02.2020",
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["2020-12-31T10:00:00Z", "2021-01-01T00:30:00Z"],
        ["2020-12-31 10:00:00 UTC", "2021-01-01 00:30:00 UTC"],
        ["2020-12-31t10:00z", "2021-01-01t00:30z"],
        ["2020-12-31T10:00:00,000Z", "2021-01-01T00:30:00.000Z"],
        ["2020-12-31T11:00:00+01:00", "2020-12-31T19:30:00-05:00"],
        ["2020-12-31 11:00:00 +0100", "2021-01-01 06:00:00 +0530"],
        ["2020-12-31 11:00:00+01", "2021-01-01 00:30:00+00"],
    ],
)
def test_iso_times_with_a_zone_are_the_same_moments(words):
    found, remarks = typed([*words, None])
    moments = pd.to_datetime(["2020-12-31T10:00Z", "2021-01-01T00:30Z", None])
    assert (found == pd.Series(moments)).tolist() == [True, True, False]
    assert bool(remarks) == any("+" in word for word in words)


def test_times_of_several_zones_in_memory_are_dates():
    times = [pd.Timestamp("2020-12-31T11:00+01:00"), pd.Timestamp("2020-12-31T11:00Z")]
    frame = pd.DataFrame({"a": pd.Series([*times, None], dtype=object)})
    found = type_columns(frame)[0]["a"]
    assert found.dtype.kind == "M"
    assert to_numbers(found).tolist()[:2] == [0, 1 / 24]


@pytest.mark.parametrize("name", ["id", "Sample ID", "customerId", "row-id", "barcode"])
@pytest.mark.parametrize(
    "words",
    [["12e5", "1e3"], ["1.10", "1.1"], ["2020-01-01"], ["3e400", "$5"], ["007"]],
)
def test_identifiers_stay_as_they_came(name, words):
    frame = pd.DataFrame({name: words})
    assert type_columns(frame)[0][name].tolist() == words
    other = type_columns(frame.set_axis(["x"], axis=1), identifiers=["x"])[0]
    assert other["x"].tolist() == words


def test_whole_numbers_as_identifiers_are_numbers():
    found, _ = type_columns(pd.DataFrame({"id": ["3", "12"]}))
    assert found["id"].tolist() == [3, 12]


def test_a_date_may_be_missing_as_pandas_writes_it():
    found, remarks = typed(["2020-01-31", "NaT"])
    assert found.isna().tolist() == [False, True]
    assert remarks == ["'NaT' (1 cell) read as missing"]
    assert typed(["Nat", "Ann"])[0].tolist() == ["Nat", "Ann"]


def test_only_unmistakable_words_are_missing_in_text():
    found, remarks = typed(["red", "NA", "?", "none", "unknown"])
    assert found.isna().tolist() == [False, True, True, False, False]
    assert remarks == ["'NA' (1 cell), '?' (1 cell) read as missing"]
    assert typed(["DE", "NA", "US"])[0].tolist() == ["DE", "NA", "US"]  # Namibia


def test_blanks_around_words_are_removed_with_a_remark():
    found, remarks = typed([" a", "a ", "b"])
    assert found.tolist() == ["a", "a", "b"]
    assert remarks == ["blanks around the text removed in 2 cells"]


@settings(max_examples=100)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_floats_survive_being_text(values):
    found, _ = typed(list(map(repr, values)))
    assert found.to_numpy(float).tolist() == values


@settings(max_examples=100)
@given(
    st.lists(st.none() | st.text(max_size=8) | st.floats() | st.booleans(), min_size=1)
)
def test_no_cell_is_lost_in_typing(cells):
    frame = pd.DataFrame({"a": pd.Series(cells, dtype=object)})
    found, notes = type_columns(frame)
    assert len(found) == len(cells)
    for given_cell, cell in zip(cells, found["a"], strict=True):
        if pd.isna(cell) and isinstance(given_cell, str) and given_cell.strip():
            assert any("read as missing" in note for note in notes)
        assert not (given_cell is None and pd.notna(cell))


def test_object_columns_get_the_type_of_their_cells():
    cells = {
        "whole": [1, None, 3],
        "real": [1, 2.5, None],
        "truth": [True, None, False],
        "mixed": [1, "a", 2.5],
        "empty": [None, None, None],
        "day": [pd.Timestamp("2020-01-01"), None, pd.Timestamp("2020-01-02")],
        "huge": [10**30, 1, 2],
        "nested": [[1], [2], [3]],
    }
    frame = pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in cells.items()})
    found, _ = type_columns(frame)
    types = {name: str(found[name].dtype) for name in cells}
    assert types == {
        "whole": "Int64",
        "real": "float64",
        "truth": "boolean",
        "mixed": "str",
        "empty": "float64",
        "day": "datetime64[us]",
        "huge": "str",
        "nested": "object",
    }
    assert found["mixed"].tolist() == ["1", "a", "2.5"]


def test_unusual_pandas_types_become_everyday_ones():
    cells = {
        "sparse": pd.arrays.SparseArray([0.0, 1.5, 0.0]),
        "arrow": pd.array([1, None, 3], dtype="int64[pyarrow]"),
        "stamp": pd.array(["2020-01-01"] * 3, dtype="timestamp[us][pyarrow]"),
        "month": pd.period_range("2020-01", periods=3, freq="M"),
        "range": pd.interval_range(0, 3),
        "python": pd.array(["a", None, "b"], dtype="string[python]"),
    }
    found, _ = type_columns(pd.DataFrame(cells))
    assert {name: str(dtype) for name, dtype in found.dtypes.items()} == {
        "sparse": "float64",
        "arrow": "Int64",
        "stamp": "datetime64[us]",
        "month": "str",
        "range": "str",
        "python": "str",
    }


def test_numbers_among_words_are_found_one_by_one():
    numbers = to_numbers(pd.Series(["1", "<2", None, "3,000"]))
    assert np.array_equal(numbers, [1, np.nan, np.nan, 3000], equal_nan=True)
    money = to_numbers(pd.Series(["-$1", "ask", "($2)", "3", "€4"]))
    assert np.array_equal(money, [-1, np.nan, -2, np.nan, np.nan], equal_nan=True)
    assert to_numbers(pd.Series(["12e5", "3e400"])).tolist() == [12e5, np.inf]


def test_dates_count_as_days():
    days = to_numbers(pd.Series(pd.to_datetime(["2020-03-01", "2020-02-28", None])))
    assert np.array_equal(days, [2.0, 0.0, np.nan], equal_nan=True)
    assert to_numbers(pd.Series(pd.to_timedelta(["36h"]))).tolist() == [1.5]


def test_names_are_made_text_and_different_with_a_note():
    frame = pd.DataFrame([[1, 2, 3, 4, 5]], columns=["a", "a", "", None, ("x", 1)])
    found, notes = plain_frame(frame, "t")
    assert list(found.columns) == [
        "a",
        "a (2)",
        "unnamed column 3",
        "unnamed column 4",
        "x / 1",
    ]
    assert notes[0] == "Column 2 repeats a name; it is called 'a (2)'."
    assert frame.columns[1] == "a"


def test_repeated_index_is_replaced_with_a_note():
    found, notes = plain_frame(pd.DataFrame({"a": [1, 2]}, index=[5, 5]), "t")
    assert found.index.tolist() == [0, 1]
    assert "no unique ids" in notes[0]


@pytest.mark.parametrize(
    "index",
    [
        pd.MultiIndex.from_product([["x", "y"], [1, 2]]),  # unique, but of two levels
        pd.MultiIndex.from_tuples([("x", 1)] * 4),
        pd.Index([1.0, None, 3.0, 4.0]),
        pd.Index(np.array([7, 7, 8, 9], ">i8")),
    ],
)
def test_index_that_cannot_name_rows_is_replaced_with_a_note(index):
    found, notes = plain_frame(pd.DataFrame({"a": [1, 2, 3, 4]}, index=index), "t")
    assert found.index.tolist() == [0, 1, 2, 3]
    assert notes == ["The index of the table has no unique ids; rows are numbered."]


def test_levels_of_column_names_are_joined():
    names = pd.MultiIndex.from_tuples([("x", "mean"), ("x", "std"), ("y", "")])
    found, _ = plain_frame(pd.DataFrame([[1, 2, 3]], columns=names), "t")
    assert list(found.columns) == ["x / mean", "x / std", "y"]


@pytest.mark.parametrize(
    "kind", [">i2", ">i4", ">u8", ">f4", ">f8", ">m8[s]", ">M8[s]", ">U3"]
)
def test_byte_order_of_other_machines_makes_no_difference(kind):
    swapped = np.array([7, 1, 5, 2]).astype(kind)
    native = swapped.astype(swapped.dtype.newbyteorder("="))

    def typed(cells):
        frame, _ = plain_frame(pd.DataFrame({"a": cells}, index=cells), "t")
        return type_columns(frame)[0]

    pd.testing.assert_frame_equal(typed(swapped), typed(native))


@pytest.mark.parametrize(
    "cells",
    [
        [[1.5, 2], None, [3, 4]],
        [(1.5, 2), None, (3, 4)],
        [np.array([1.5, 2], ">f4"), None, np.array([3, 4], ">f4")],
        pd.array([[1.5, 2], None, [3, 4]], pd.ArrowDtype(pa.list_(pa.float32()))),
        pd.array([[1.5, 2], None, [3, 4]], pd.ArrowDtype(pa.list_(pa.float64(), 2))),
    ],
)
def test_lists_of_numbers_become_columns(cells):
    table = pd.DataFrame({"a": list("xyz"), "v": pd.Series(cells), "v 2": [7, 8, 9]})
    found, notes = plain_frame(table, "t")
    assert list(found.columns) == ["a", "v 1", "v 2", "v 2 (2)"]
    values = found.iloc[:, 1:].to_numpy(float)
    expected = [[1.5, 2, 7], [np.nan, np.nan, 8], [3, 4, 9]]
    assert np.array_equal(values, expected, equal_nan=True)
    assert notes[0] == (
        "Column 'v': lists of 2 numbers became the columns 'v 1' to 'v 2'."
    )


@pytest.mark.parametrize(
    "cells",
    [
        [[1, 2], [3], [4, 5]],
        [["a", "b"], ["c", "d"], ["e", "f"]],
        [[[1, 2], [3, 4]]] * 3,
        [[0.0] * (LIST_LIMIT + 1)] * 3,
    ],
)
def test_other_lists_stay_with_a_note(cells):
    found, notes = plain_frame(pd.DataFrame({"v": cells, "a": [1, 2, 3]}), "t")
    assert list(found.columns) == ["v", "a"]
    assert "'v' holds lists" in notes[0]
    assert "is no feature" in notes[0]


@pytest.mark.parametrize(
    "table", [[], pd.DataFrame(), {"a": []}, np.zeros((2, 2, 2)), 5]
)
def test_what_is_no_table_is_refused(table):
    with pytest.raises(DataError, match="'t'"):
        plain_frame(table, "t")


@pytest.mark.parametrize("decimal_comma", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_columns_typed_together_are_as_when_typed_one_by_one(seed, decimal_comma):
    rng = random.Random(seed)
    plain = ["1", "-2", "0", "-0", " 3 ", "1.5", "-0.0", "123456789012345", "", "  "]
    others = ["007", "1e5", "12e5", "+4", "NA", "x", "1,5", "1.", ".5", "nan", "inf"]
    others += ["-01", "1234567890123456", "0.1234567890123456", None]
    columns = {
        f"column {k}": rng.choices(plain + rng.choices(others, k=k % 3), k=4)
        for k in range(200)
    }
    columns |= {"id": ["1.5", "2", "3", "4"], "gene id": ["1", "2", "", "4"]}
    frame = pd.DataFrame(columns, index=[*"abcd"], dtype="str")
    together, notes = type_columns(frame, decimal_comma=decimal_comma)
    remarks = []
    for name, cells in frame.items():
        options = {"decimal_comma": decimal_comma, "is_identifier": "id" in name}
        words = [None if pd.isna(word) else word for word in cells]
        alone, own = typed(words, **options)
        expected = alone.set_axis(frame.index).rename(name)
        pd.testing.assert_series_equal(together[name], expected, check_exact=True)
        remarks += [f"Column {name!r}: {remark}." for remark in own]
    assert notes == remarks
    assert together.dtypes.nunique() > 2


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1.234", "12", "2.500", "timeout"], [1234, 12, 2500, np.nan]),
        (["1.234,5", "12", "0,5", "lost"], [1234.5, 12, 0.5, np.nan]),
        (["1.234 €", "2.000.000 €", "3 €", "free"], [1234, 2e6, 3, np.nan]),
        (["1.234", "1.5", "0.125", "lost"], [1.234, 1.5, 0.125, np.nan]),
    ],
)
def test_points_between_thousands_are_known_among_words_too(cells, values):
    found, remarks = typed(cells, decimal_comma=True)
    np.testing.assert_array_equal(to_numbers(found), values)
    assert found.dtype == "str"
    said = any("points between thousands" in remark for remark in remarks)
    assert said == (values[0] >= 1000)


def test_names_with_points_stay_as_they_are():
    names = ["release 1.234", "v2.500", "1.234", "other"]
    assert typed(names, decimal_comma=True)[0].tolist() == names
