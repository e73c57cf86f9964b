import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import clusterlens as cl
from clusterlens.compute._validation import (
    DataError,
    check_choice,
    check_classes,
    check_features,
    check_flag,
    check_labels,
    check_random_state,
    check_range,
)


@pytest.mark.parametrize(
    "labels",
    [
        [5, 5, 2],
        (5, 5, 2),
        np.array([5, 5, 2], np.uint64),
        np.array([5.0, 5.0, 2.0]),
        np.array([5, np.int8(5), 2.0], dtype=object),
        pd.Series([5, 5, 2], index=[7, 8, 9]),
        pd.Series([5, 5, 2], dtype="Int64"),
        pd.Categorical([5, 5, 2]),
    ],
)
def test_whole_numbers_of_any_kind_keep_their_values(labels):
    assert check_labels(labels).tolist() == [5, 5, 2]
    assert check_classes(labels)[1] == [2, 5]


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "b", "a"],
        np.array(["b", "b", "a"]),
        np.array(["b", "b", "a"], dtype=object),
        pd.Series(["b", "b", "a"]),
        pd.Series(["b", "b", "a"], dtype="string"),
        pd.Categorical(["b", "b", "a"], categories=["b", "a"]),
    ],
)
def test_texts_are_numbered_in_sorted_order(labels):
    assert check_labels(labels).tolist() == [1, 1, 0]
    codes, names = check_classes(labels)
    assert codes.tolist() == [1, 1, 0]
    assert names == ["a", "b"]


def test_truth_values_are_labels():
    assert check_labels([True, False, True]).tolist() == [1, 0, 1]
    assert check_labels(pd.Series([True, None, False])).tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([3.0, np.nan, 1.0], [3, -1, 1]),
        (pd.Series([3, None, 1], dtype="Int64"), [3, -1, 1]),
        (["b", None, "a"], [1, -1, 0]),
        (["b", np.nan, "a"], [1, -1, 0]),
        (pd.Categorical(["b", None, "a"]), [1, -1, 0]),
    ],
)
def test_missing_labels_are_minus_one_and_no_class(labels, expected):
    assert check_labels(labels).tolist() == expected
    with pytest.raises(ValueError, match="labels has no entry at 1"):
        check_classes(labels)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, r"has shape \(\)"),
        ("abc", r"has shape \(\)"),
        ([], r"has shape \(0,\)"),
        ([[0, 1], [1, 0]], r"has shape \(2, 2\)"),
        ([[0], [1, 0]], "rows differ in length"),
        ([0.5, 1.0], "type float64; give a whole number"),
        ([np.inf, 1.0], "type float64"),
        ([1e300, 1.0], "type float64"),
        ([1, "a"], "type int and str"),
        ([b"a", b"b"], r"type \|S1"),
        (np.array(["2020-01-01"], "datetime64[D]"), r"type datetime64\[D\]"),
        ([1 + 2j], "type complex128"),
        ([None, None], "missing entries only"),
        ([object()], "type object"),
        (csr_array([[0, 1]]), "is sparse"),
        ([0, 1], "has 2 entries for 3 samples"),
    ],
)
def test_other_labels_are_refused_by_name(labels, message):
    for check in (check_labels, check_classes):
        with pytest.raises(ValueError, match=rf"^names .*{message}"):
            check(labels, n_samples=3 if "samples" in message else None, name="names")


@pytest.mark.parametrize(
    "X",
    [
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]], np.int8),
        np.array([[1, 2.0], [3, np.float32(4)]], dtype=object),
        pd.DataFrame({"a": [1, 3], "b": [2.0, 4.0]}),
        pd.DataFrame({"a": [1, 3], "b": [2, 4]}, dtype="Int64"),
    ],
)
def test_features_of_any_numeric_kind_are_one_matrix(X):
    features = check_features(X)
    assert features.dtype == np.float64
    assert features.tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (None, "type object; give numbers only"),
        ("abc", "type <U3"),
        ([1.0, 2.0], "1 dimension"),
        (3.0, "0 dimension"),
        (np.zeros((2, 2, 2)), "3 dimension"),
        ([[1.0], [1.0, 2.0]], "rows differ in length"),
        ([["a", "b"]], "type <U1"),
        (pd.DataFrame({"a": ["u", "v"], "b": [1, 2]}), "type object"),
        (pd.DataFrame({"a": [1, None]}, dtype="Int64"), "value nan in row 1, column 0"),
        ([[np.inf]], "value inf in row 0"),
        (np.empty((0, 3)), "empty"),
        (np.empty((3, 0)), "empty"),
        (csr_array([[0.0, 1.0]]), r"sparse; give .*toarray\(\)"),
        ([[1j]], "type complex128"),
    ],
)
def test_other_tables_are_refused_by_name(X, message):
    with pytest.raises(DataError, match=f"^table .*{message}"):
        check_features(X, name="table")


@pytest.mark.parametrize("value", [3, np.int8(3), np.array(3), np.uint64(3)])
def test_a_whole_number_of_any_kind_is_an_int(value):
    number = check_range(value, 0, 9, name="k", integer=True)
    assert type(number) is int
    assert number == 3
    assert check_range(value, 0, 9, name="k") == 3


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.array(0.5)])
def test_a_number_of_any_kind_is_a_float(value):
    assert type(check_range(value, 0, 1, name="share")) is float


@pytest.mark.parametrize(
    ("value", "integer"),
    [(wrong, True) for wrong in (None, "1", [1], np.ones(1), True, 1.0, np.nan)]
    + [(wrong, False) for wrong in (None, "1", [1], np.ones(1), True, 1j)],
)
def test_what_is_no_number_is_refused_by_name(value, integer):
    with pytest.raises(ValueError, match=r"^k is .*number of at least 0\."):
        check_range(value, 0, np.inf, name="k", integer=integer)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1])
def test_numbers_out_of_range_are_refused_by_name(value):
    with pytest.raises(ValueError, match=r"^weight is .*of at least 0"):
        check_range(value, 0, np.inf, name="weight")
    with pytest.raises(ValueError, match=r"^weight is .*from 0 to 5"):
        check_range(value, 0, 5, name="weight")


@pytest.mark.parametrize("value", [None, 3, ["a"], np.array(["a", "b"]), "c", {}])
def test_a_choice_is_one_of_the_names(value):
    assert check_choice("a", ("a", "b"), name="letter") == "a"
    with pytest.raises(ValueError, match=r"^letter is .*give one of 'a', 'b'\."):
        check_choice(value, ("a", "b"), name="letter")


@pytest.mark.parametrize("value", [None, 1, "yes", np.nan])
def test_a_flag_is_true_or_false(value):
    assert check_flag(np.True_, name="flag") is True
    with pytest.raises(ValueError, match=r"^flag is .*True or False"):
        check_flag(value, name="flag")


def test_a_random_state_stands_for_a_seed():
    assert check_random_state(7) == check_random_state(np.uint8(7)) == 7
    draws = [np.random.default_rng(3) for _ in range(2)]
    first, again = (check_random_state(rng) for rng in draws)
    assert first == again
    assert check_random_state(draws[0]) != first
    assert check_random_state(None) != check_random_state(None)


@pytest.mark.parametrize("wrong", [-1, 2**32, 1.0, "1", True, [1], np.random])
def test_another_random_state_is_refused_with_one_message(wrong):
    with pytest.raises(ValueError, match=r"^random_state .* a numpy\.random\.Gen"):
        check_random_state(wrong)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
@pytest.mark.parametrize("entries", [["a", "b", "a"], [1, 2, 1]])
def test_missing_class_is_refused_where_every_sample_needs_one(missing, entries):
    given = [*entries, missing]
    full = [*entries, entries[0]]
    for takes_classes in (
        cl.FuzzyPartition,
        lambda labels: cl.cross_tab(labels, full),
        lambda labels: cl.cross_tab(full, labels),
        lambda labels: cl.ndc(labels, full),
    ):
        with pytest.raises(
            ValueError, match=r"has no entry at 3; .* leave out samples"
        ):
            takes_classes(given)


@pytest.mark.parametrize("value", [1e160, -1e160])
def test_values_whose_squares_overflow_are_refused_by_indices_and_estimators(value):
    X = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, value], [3.0, 5.0]])
    message = "row 2, column 1, too large"
    with pytest.raises(DataError, match=message):
        cl.internal_index("CI", X, [0, 0, 1, 1])
    for estimator in (cl.Genie(2), cl.FuzzyCMeans(2), cl.TorqueClustering()):
        with pytest.raises(DataError, match=message):
            estimator.fit(X)
