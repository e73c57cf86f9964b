"""Fuzzy partitions: accepted and refused input, and stored fields."""

import numpy as np
import pandas as pd
import pytest
from sklearn.mixture import GaussianMixture

from clusterlens.compute._validation import DataError
from clusterlens.compute.fuzzy.partition import FuzzyPartition, check_partitions
from tests.fuzzy_definitions import one_hot, pair_agreements, soft


def test_rows_are_divided_by_sums_within_the_tolerance():
    partition = FuzzyPartition([[0.5, 0.5 + 9e-7], [0.25, 0.75]])
    np.testing.assert_array_equal(partition.memberships.sum(axis=1), 1.0)
    assert partition.notes == ()


def test_rows_with_other_sums_are_refused_unless_normalized():
    rows = [[1.0, 1.0], [0.0, 3.0]]
    with pytest.raises(DataError, match="sum 2 in row 0"):
        FuzzyPartition(rows)
    partition = FuzzyPartition(rows, normalize=True)
    assert partition.memberships.tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert partition.notes == ("Rows were divided by their sums.",)


def test_rows_without_any_membership_are_refused_even_if_normalized():
    with pytest.raises(DataError, match="sum 0 in row 1"):
        FuzzyPartition([[1.0, 0.0], [0.0, 0.0]], normalize=True)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1.5, -0.5], [1.0, 0.0]], "negative value -0.5 in row 0, column 1"),
        ([[np.nan, 1.0], [1.0, 0.0]], "value nan in row 0, column 0"),
        ([["a", "b"]], "entries of type"),
        (np.zeros((0, 2)), "empty"),
        (np.zeros((2, 2, 2)), "dimension"),
    ],
)
def test_bad_memberships_are_refused_with_their_place(rows, message):
    with pytest.raises(DataError, match=message):
        FuzzyPartition(rows)


def test_argument_is_named_in_messages_of_comparisons():
    good = [[0.5, 0.5], [1.0, 0.0]]
    with pytest.raises(DataError, match=r"^V has the sum 2 in row 1"):
        check_partitions(good, [[0.5, 0.5], [1.0, 1.0]])
    with pytest.raises(ValueError, match=r"^V has 3 rows for the 2 samples of U"):
        check_partitions(good, [0, 0, 1])
    with pytest.raises(ValueError, match="number of samples is 1"):
        check_partitions([[1.0]], [[1.0]])


def test_hard_labels_become_columns_in_order_of_value():
    partition = FuzzyPartition([5, -1, 5, 9])
    assert partition.codes.tolist() == [1, 0, 1, 2]
    assert partition.sizes.tolist() == [1, 2, 1]
    np.testing.assert_array_equal(partition.memberships, one_hot([5, -1, 5, 9]))


def test_one_hot_rows_are_recognised_as_hard():
    partition = FuzzyPartition([[1 - 1e-13, 1e-13], [0.0, 1.0]])
    assert partition.is_hard
    assert partition.memberships.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert not FuzzyPartition([[1 - 1e-9, 1e-9], [0.0, 1.0]]).is_hard
    assert FuzzyPartition(np.eye(3, dtype=bool)).is_hard
    assert FuzzyPartition(np.eye(3, dtype=int)).is_hard


def test_many_hard_clusters_need_no_one_hot_table():
    partition = FuzzyPartition(np.arange(200_000))
    assert partition.mean_distance == 1.0
    with pytest.raises(MemoryError, match="one-hot table of 200000 clusters"):
        _ = partition.memberships


@pytest.mark.parametrize("hard", [True, False])
def test_empty_clusters_are_counted_and_left_out_on_request(hard):
    rows = np.insert(one_hot([0, 1, 1]) if hard else soft(3, 2, seed=0), 1, 0.0, axis=1)
    partition = FuzzyPartition(rows)
    assert (partition.n_clusters, partition.n_empty, partition.n_occupied) == (3, 1, 2)
    assert partition.memberships.shape == (3, 3)
    assert partition.occupied.shape == (3, 2)
    assert partition.notes == ("1 of 3 clusters have no member.",)


@pytest.mark.parametrize("labels", [None, [0, 2, 2, 1, 0, 0, 0, 2, 1]])
def test_mean_distance_is_that_of_all_pairs(labels):
    rows = soft(9, 4, seed=3) if labels is None else one_hot(labels)
    expected = 1 - pair_agreements(rows).mean()
    assert FuzzyPartition(rows).mean_distance == pytest.approx(expected, abs=1e-14)


def test_memberships_of_models_and_tables_are_accepted():
    X = np.random.default_rng(0).normal(size=(50, 2))
    given = GaussianMixture(3, random_state=0).fit(X).predict_proba(X)
    partition = FuzzyPartition(pd.DataFrame(given, columns=["a", "b", "c"]))
    np.testing.assert_allclose(partition.memberships, given, atol=1e-12)
    assert repr(partition) == "FuzzyPartition(soft, 50 x 3)"


def test_arrays_are_read_only():
    for partition in (FuzzyPartition(soft(4, 2, seed=0)), FuzzyPartition([0, 1])):
        with pytest.raises(ValueError, match="read-only"):
            partition.memberships[0, 0] = 1.0


def test_hard_labels_may_be_texts() -> None:
    partition = FuzzyPartition(["b", "a", "b"])
    assert partition.memberships.tolist() == [[0, 1], [1, 0], [0, 1]]
