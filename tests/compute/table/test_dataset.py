import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import datasets
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

import clusterlens.compute.table._features as encoding
from clusterlens.compute._run.options import DEFAULT_RUN, Cancelled
from clusterlens.compute._validation import DataError
from clusterlens.compute.formatting import count
from clusterlens.compute.table.dataset import (
    CATEGORICAL_RULES,
    MISSING_RULES,
    SCALES,
    make_dataset,
    prepare,
    take_rows,
)
from clusterlens.compute.table.export import attach_labels
from clusterlens.compute.table.projection import project

RNG = np.random.default_rng(1)
HOSTILE = "<img src=x onerror=alert(1)>"


def mixed_table(n=30) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": [f"r{k}" for k in range(n)],
            HOSTILE: RNG.normal(size=n),
            "gap": [None, *RNG.normal(10, 3, n - 1)],
            "colour": (["red", None, "blue"] * n)[:n],
            "level": (["low", "high", "medium"] * n)[:n],
            "fixed": 1,
            "species": (["a", "b"] * n)[:n],
        }
    )


def notes_of(ds, word):
    return [note for note in ds.notes if word in note]


def test_prepared_matrix_is_finite_read_only_and_named():
    ds = prepare(mixed_table())
    assert ds.X.dtype == np.float64
    assert ds.X.flags.c_contiguous
    assert ds.X.shape == (30, len(ds.feature_names))
    assert np.isfinite(ds.X).all()
    assert ds.feature_names == (HOSTILE, "gap", "colour=blue", "colour=red", "level")
    for array in (ds.X, ds.row_ids, ds.labels_true):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_label_column_is_coded_and_no_feature():
    ds = prepare(mixed_table())
    assert ds.label_names == ("a", "b")
    assert ds.labels_true.tolist() == [0, 1] * 15
    assert not any(name.startswith("species") for name in ds.feature_names)


def test_missing_label_is_minus_one_with_a_note():
    table = mixed_table()
    table.loc[3, "species"] = None
    ds = prepare(table)
    assert ds.labels_true[3] == -1
    assert notes_of(ds, "1 row without a label, code -1")


def test_before_prepare_the_matrix_is_refused_with_the_remedy():
    ds = make_dataset(mixed_table())
    assert ds.prepared is None
    for name in ("X", "feature_names", "row_ids", "labels_true", "label_names"):
        with pytest.raises(DataError, match="call prepare"):
            getattr(ds, name)


def test_preparing_again_starts_from_the_table():
    ds = make_dataset(mixed_table())
    once = prepare(ds, scale="minmax")
    again = prepare(once)
    assert again.notes == prepare(ds).notes
    assert np.array_equal(again.X, prepare(ds).X)
    assert ds.prepared is None


@pytest.mark.parametrize(
    ("scale", "scaler"),
    [
        ("standard", StandardScaler()),
        ("robust", RobustScaler()),
        ("minmax", MinMaxScaler()),
        ("none", None),
    ],
)
def test_scales_are_those_of_scikit_learn(scale, scaler):
    X = RNG.normal(3, 5, size=(50, 4))
    expected = X if scaler is None else scaler.fit_transform(X)
    assert np.allclose(prepare(X, scale=scale).X, expected, rtol=0, atol=1e-12)


def test_different_levels_lie_root_two_apart_whatever_the_scale():
    table = pd.DataFrame({"f": [0.0, 0.0, 1.0], "c": ["a", "b", "b"], "z": [1.5, 1, 2]})
    for scale in SCALES:
        ds = prepare(table, scale=scale)
        dummies = ds.X[:, [name.startswith("c=") for name in ds.feature_names]]
        assert np.array_equal(dummies, [[1, 0], [0, 1], [0, 1]])


def test_categories_can_be_numbered_or_left_out():
    ds = prepare(mixed_table(), categorical="ordinal", scale="none")
    colours = ds.X[:, ds.feature_names.index("colour")]
    assert colours[:3].tolist() == [1, 0, 0]  # red; missing -> blue, the smaller code
    assert notes_of(ds, "numbered in sorted order")
    ds = prepare(mixed_table(), categorical="ignore")
    assert ds.feature_names == (HOSTILE, "gap", "level")
    assert notes_of(ds, "Categories left out: 'colour'")


def test_levels_of_a_scale_are_numbered_from_low_to_high():
    ds = prepare(mixed_table(), scale="none")
    assert ds.X[:3, ds.feature_names.index("level")].tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("rule", "value"), [("median", 3.0), ("mean", 4.0), ("most frequent", 1.0)]
)
def test_numbers_are_filled_by_the_rule_and_counted(rule, value):
    table = pd.DataFrame({"a": [1, 1, 3, 5, 10, None], "b": [0.5, 1, 2, 3, 4, 5]})
    ds = prepare(table, missing=rule, scale="none")
    assert ds.X[5, 0] == value
    assert notes_of(ds, "'a': 1 missing value (16.7% of the rows) filled with the")


def test_rows_with_gaps_can_be_dropped_and_row_ids_stay():
    table = mixed_table()
    ds = prepare(table, missing="drop rows")
    complete = table[["gap", "colour"]].notna().all(axis=1)
    assert ds.row_ids.tolist() == table["id"][complete].tolist()
    assert len(ds.X) == len(ds.labels_true) == complete.sum()
    assert notes_of(
        ds, f"{count((~complete).sum(), 'row')} with a missing value dropped: 'r0'"
    )
    assert len(ds.table) == len(table)


def test_rows_without_any_value_are_dropped_with_a_note():
    table = pd.DataFrame(
        {"a": [1.0, None, 3.0, 4.0], "b": [2.0, None, None, 1.0]}, index=[7, 8, 9, 6]
    )
    ds = prepare(table)
    assert ds.row_ids.tolist() == [7, 9, 6]
    assert notes_of(ds, "1 row without any value dropped: '8'")


def test_missing_values_can_be_refused_with_the_place():
    with pytest.raises(
        DataError, match=r"Column 'gap' has a missing value in row r0, 11"
    ):
        prepare(mixed_table(), missing="refuse")


def test_infinite_values_are_missing_with_a_note():
    ds = prepare(pd.DataFrame({"a": [1.0, np.inf, -np.inf, 3.0], "b": [1.0, 2, 3, 5]}))
    assert np.isfinite(ds.X).all()
    assert notes_of(ds, "'a': 2 infinite values, the first in row 1, taken as missing")


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([1.5, 2, 3, -999, -999], {-999}),
        ([0, 500, 2000, -999], {-999}),  # the only negative value
        ([-20, 5, 30, 9999], {9999}),
        ([-20, 5, 30, 9999, -9999], {9999, -9999}),
        ([1, 2, 3, 1e20], {1e20}),
        ([-1500, 5, 800, -999], set()),  # lies among the others
        ([0, 500, 998, 999], set()),
        ([1, 2, 3, 99], set()),  # 99 may be an age
        ([5, 5, -999], set()),  # nothing to compare with
    ],
)
def test_codes_for_missing_are_taken_only_where_they_lie_apart(values, codes):
    ds = prepare(pd.DataFrame({"a": values, "b": np.arange(len(values)) ** 2}))
    noted = notes_of(ds, "a code for 'no value'")
    assert len(noted) == len(codes)
    for code in codes:
        cells = count(values.count(code), "cell")
        assert any(f"{cells} with the value {code:g} " in note for note in noted)


@pytest.mark.parametrize("role", ["numeric", "categorical", "label", "row id"])
def test_cells_that_cannot_be_compared_get_no_role(role):
    table = pd.DataFrame({"f": [1.0, 2, 4], "cells": [[1], [2], [3]]})
    assert prepare(table).feature_names == ("f",)
    with pytest.raises(DataError, match="neither numbers, text nor dates; ignore it"):
        prepare(table, roles={"cells": role})


@settings(max_examples=60)
@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1))
def test_the_first_of_equal_rows_is_found(rows):
    X = np.array(rows, dtype=float)
    expected = [next(j for j in range(len(X)) if (X[j] == row).all()) for row in X]
    assert encoding.first_copies(X, DEFAULT_RUN).tolist() == expected


def test_codes_for_missing_can_be_given_or_switched_off():
    table = pd.DataFrame({"a": [1.0, 2, 3, -999], "b": [1.0, 2, 77, 4]})
    assert prepare(table, sentinels=(), scale="none").X[3, 0] == -999
    ds = prepare(table, sentinels=(77,), scale="none")
    assert ds.X[2, 1] == 2.0
    assert ds.X[3, 0] == -999


def test_words_among_numbers_are_missing_with_a_note_and_stay_in_the_table():
    table = pd.DataFrame({"a": ["<0.1", *map(str, range(19))], "b": range(1, 40, 2)})
    ds = prepare(table)
    assert notes_of(ds, "1 cell without a number, the first '<0.1' in row 0")
    assert ds.table["a"][0] == "<0.1"


def test_dates_can_be_used_as_days():
    table = pd.DataFrame(
        {
            "day": pd.to_datetime(["2020-01-01", "2020-01-04", "2020-01-02"]),
            "f": [1, 3, 4],
        }
    )
    ds = prepare(table, roles={"day": "numeric"}, scale="none")
    assert ds.X[:, 0].tolist() == [0.0, 3.0, 1.0]


def test_constant_and_empty_columns_are_left_out_with_a_note():
    table = pd.DataFrame({"a": [1.0, 2, 3], "b": [5, 5, None], "c": [None] * 3})
    ds = prepare(table, roles={"b": "numeric", "c": "numeric"})
    assert ds.feature_names == ("a",)
    assert notes_of(ds, "1 constant column left out: 'b'")
    assert notes_of(ds, "1 empty column left out: 'c'")


def test_copies_of_rows_are_counted_and_kept():
    ds = prepare(pd.DataFrame({"a": [1, 1, 1, 2], "b": [3, 3, 3, 4]}))
    assert len(ds.X) == 4
    assert ds.n_copies == 2
    assert ds.positions.tolist() == [0, 1, 2, 3]
    assert ds.row_counts.tolist() == [1, 1, 1, 1]
    assert notes_of(
        ds, "2 exact copies of earlier rows, in all features; they are kept"
    )


def with_copies():
    frame = pd.DataFrame(
        {
            "a": [1.0, 5.0, 1.0, None, 9.0, 5.0, 1.0],
            "b": [2.0, 6.0, 2.0, None, 3.0, 6.0, 2.0],
            "class": list("xyxzyxx"),
        },
        index=list("pqrstuv"),
    )
    return make_dataset(frame, label="class")


def test_copies_that_count_once_are_left_out_of_an_unchanged_matrix():
    every, once = prepare(with_copies()), prepare(with_copies(), copies="once")
    assert once.row_ids.tolist() == ["p", "q", "t"]
    np.testing.assert_array_equal(once.X, every.X[[0, 1, 3]])
    assert once.positions.tolist() == [0, 1, 0, -1, 2, 1, 0]
    assert once.row_counts.tolist() == [3, 2, 1]
    assert once.n_copies == every.n_copies == 3
    assert once.labels_true.tolist() == [0, 1, 1]
    assert notes_of(once, "left out: the first of them stands for all. 1 copy has ano")
    assert once.settings["copies"] == "once"
    with pytest.raises(ValueError, match="copies is 'twice'"):
        prepare(with_copies(), copies="twice")


def test_labels_go_back_to_all_copies_of_a_row():
    once = prepare(with_copies(), copies="once")
    table = attach_labels(once, {"cluster": [7, 8, 9]})
    assert table["cluster"].tolist() == [7, 8, 7, pd.NA, 9, 8, 7]


def test_a_part_of_rows_that_count_once_keeps_its_copies():
    once = prepare(with_copies(), copies="once")
    part = take_rows(once, [2, 0])
    assert part.row_ids.tolist() == ["t", "p"]
    assert part.table.index.tolist() == ["t", "p", "r", "v"]
    assert part.row_counts.tolist() == [1, 3]


def test_copies_are_found_before_components_replace_the_features():
    X = np.repeat(RNG.normal(size=(30, 6)), 3, axis=0)
    once = prepare(X, copies="once", pca=2)
    assert once.X.shape == (30, 2)
    np.testing.assert_allclose(once.X, prepare(X, pca=2).X[::3])


@pytest.mark.parametrize("pca", [2, 0.9, np.int64(1)])
def test_principal_components_replace_the_features(pca):
    X = RNG.normal(size=(40, 5)) * [5, 3, 1, 1, 1]
    ds = prepare(X, scale="none", pca=pca)
    k = ds.X.shape[1]
    assert np.allclose(ds.X, project(X, k).coordinates)
    assert ds.feature_names == tuple(f"component {i}" for i in range(1, k + 1))
    share = project(X, 5).explained.cumsum()
    assert k == (pca if pca >= 1 else np.searchsorted(share, pca) + 1)
    assert notes_of(ds, f"5 features replaced by {count(k, 'principal component')}")


@pytest.mark.parametrize("pca", [0, 6, 1.5, -0.1])
def test_impossible_number_of_components_is_refused(pca):
    with pytest.raises(ValueError, match=str(pca)):
        prepare(RNG.normal(size=(40, 5)), pca=pca)


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"colour": "numeric"}, r"'colour' has 'red' in row r0, which is no number"),
        ({"colour": "ordinal"}, "levels without a known order: 'red', 'blue'"),
        ({"color": "ignore"}, "no column 'color'; did you mean 'colour'"),
        ({"colour": "row id"}, "'colour' has no value in row r1"),
        ({"species": "row id"}, "has the value 'a' more than once"),
        ({"gap": "label", "colour": "label"}, "all have the role 'label'"),
        (
            dict.fromkeys([HOSTILE, "gap", "colour", "level"], "ignore"),
            "No column serves as a feature",
        ),
    ],
)
def test_impossible_roles_are_refused_with_place_and_remedy(roles, message):
    with pytest.raises(DataError, match=message):
        prepare(mixed_table(), roles=roles)


def test_chosen_roles_replace_guesses():
    ds = prepare(mixed_table(), roles={"species": "categorical", "id": "ignore"})
    assert ds.labels_true is None
    assert "species=a" in ds.feature_names
    assert ds.role_reasons["species"] == "chosen"
    ds = prepare(ds, roles={"colour": "label"})
    assert ds.roles["species"] == "categorical"
    assert ds.label_names == ("blue", "red")
    ds = prepare(mixed_table(), roles={"colour": "label"})
    assert ds.roles["species"] == "ignore"
    assert ds.role_reasons["species"] == "'colour' is the label"


@pytest.mark.parametrize(
    "options",
    [
        {"missing": "guess"},
        {"scale": "log"},
        {"categorical": "hash"},
        {"sentinels": "none"},
        {"roles": {"gap": "feature"}},
    ],
)
def test_unknown_options_are_refused(options):
    with pytest.raises(ValueError, match="give one of"):
        prepare(mixed_table(), **options)


def test_table_without_variation_is_refused():
    with pytest.raises(DataError, match=r"No column serves as a feature.*constant"):
        prepare(pd.DataFrame({"a": [1, 1, 1], "b": ["x", "x", "x"]}))
    with pytest.raises(DataError, match="No column varies"):
        prepare(pd.DataFrame({"a": [1, 1, 1]}), roles={"a": "numeric"})


def test_all_rows_with_gaps_cannot_be_dropped():
    table = pd.DataFrame({"a": [1, None], "b": [None, 2]})
    with pytest.raises(DataError, match="Every row is with a missing value"):
        prepare(table, roles={"a": "numeric", "b": "numeric"}, missing="drop rows")


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_than_three_rows_are_refused(n):
    table = pd.DataFrame({"a": [4.0, 5.0][:n], "b": ["x", "y"][:n]})
    with pytest.raises(
        DataError, match=f"{count(n, 'row')} left of {n}; .* at least 3"
    ):
        prepare(table, roles={"a": "numeric", "b": "categorical"})
    gaps = pd.DataFrame({"a": [1, 2, None, None], "b": [1, None, 2, None]})
    with pytest.raises(DataError, match=r"1 row left of 4; .* drop fewer"):
        prepare(gaps, missing="drop rows")


def test_one_column_works():
    X = prepare(pd.DataFrame({"a": [1.0, 2.0, 3.0]}), scale="minmax").X
    assert X.tolist() == [[0], [0.5], [1]]


def test_values_too_large_to_square_are_refused():
    with pytest.raises(DataError, match=r"Column 'a' has values up to 1e\+200"):
        prepare(pd.DataFrame({"a": [1e200, 1.0, 2.0]}))


def test_matrix_is_refused_before_it_takes_memory(monkeypatch):
    monkeypatch.setattr(encoding, "MATRIX_BYTES_LIMIT", 8 * 1000 * 900)
    table = pd.DataFrame({"f": np.arange(1000) ** 2, "name": map(str, range(1000))})
    table["name"] = "n" + table["name"]
    with pytest.raises(
        DataError, match=r"1001 columns.*'name' alone takes 1000 columns"
    ):
        prepare(table, roles={"name": "categorical"})


def test_row_ids_come_from_column_then_index_then_position():
    table = mixed_table()
    assert make_dataset(table).table.index.tolist() == table["id"].tolist()
    named = table.drop(columns="id").set_axis([f"s{k}" for k in range(30)], axis=0)
    assert prepare(named).row_ids[0] == "s0"
    assert prepare(table.drop(columns="id")).row_ids.tolist() == list(range(30))
    ds = prepare(table.drop(columns="id"), roles={"gap": "ignore"})
    assert ds.row_ids.tolist() == list(range(30))


def test_given_table_is_not_changed():
    table = mixed_table()
    before = table.copy(deep=True)
    prepare(make_dataset(table, label="colour"))
    pd.testing.assert_frame_equal(table, before)


@pytest.mark.parametrize(
    "load",
    [
        datasets.load_iris,
        datasets.load_wine,
        datasets.load_breast_cancer,
        datasets.load_digits,
        datasets.load_diabetes,
        datasets.load_linnerud,
    ],
)
def test_bundled_tables_need_no_choice(load):
    bunch = load(as_frame=True)
    ds = prepare(bunch.frame)
    varying = int((bunch.data.nunique() > 1).sum())
    if bunch.frame.shape[1] == bunch.data.shape[1] + 1 and ds.labels_true is not None:
        assert ds.X.shape == (len(bunch.data), varying)
        assert len(ds.label_names) == bunch.target.nunique()
    else:
        assert load in (datasets.load_diabetes, datasets.load_linnerud)


cells = st.one_of(
    st.none(),
    st.floats(width=32),
    st.integers(-5, 5),
    st.sampled_from(["a", "b", "?", "1", "2,5", "", "low", "high", "-999"]),
    st.booleans(),
)


@settings(max_examples=150)
@given(
    st.integers(1, 6).flatmap(
        lambda n: st.lists(
            st.lists(cells, min_size=n, max_size=n), min_size=1, max_size=4
        )
    ),
    st.sampled_from(MISSING_RULES),
    st.sampled_from(SCALES),
    st.sampled_from(CATEGORICAL_RULES),
)
def test_any_table_is_prepared_or_refused(columns, missing, scale, categorical):
    table = pd.DataFrame(
        {f"c{j}": pd.Series(v, dtype=object) for j, v in enumerate(columns)}
    )
    ds = make_dataset(table)
    assert ds.table.shape == table.shape
    try:
        ds = prepare(ds, missing=missing, scale=scale, categorical=categorical)
    except DataError:
        return
    assert np.isfinite(ds.X).all()
    assert ds.X.shape == (len(ds.row_ids), len(ds.feature_names))
    dropped = len(table) - len(ds.X)
    assert dropped == 0 or notes_of(ds, f"{dropped} row")


def test_prepare_tells_how_far_it_is_and_stops_when_asked():
    table = pd.DataFrame(RNG.normal(size=(50, 4)), columns=list("abcd"))
    steps = []
    prepare(table, progress=lambda *now: steps.append(now))
    assert steps == sorted(steps)
    assert steps[-1] == (100, 100)
    assert len(set(steps)) > 5
    for stop in range(7):
        calls = iter(range(stop))
        with pytest.raises(Cancelled):
            prepare(table, cancel=lambda calls=calls: next(calls, None) is None)
