"""Two partitions side by side: counts, the table for people, and matched names."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import confusion_matrix

from clusterlens.compute.ensemble import contingency
from clusterlens.compute.ensemble.contingency import (
    contingency_table,
    cross_tab,
    match_clusters,
    match_labels,
)
from clusterlens.compute.indices.indices import external_index

PAIRS = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        *[st.lists(st.integers(-1, 5), min_size=n, max_size=n) for _ in range(2)]
    )
)
FEW = settings(max_examples=50)


@FEW
@given(PAIRS)
def test_a_cross_tab_counts_as_pandas_does(pair: tuple[list[int], list[int]]) -> None:
    a, b = map(np.array, pair)
    expected = pd.crosstab(a, b)
    found = cross_tab(a, b).sort_index(axis=0).sort_index(axis=1)
    assert found.index.tolist() == expected.index.tolist()
    assert found.columns.tolist() == expected.columns.tolist()
    assert (found.to_numpy() == expected.to_numpy()).all()


@FEW
@given(PAIRS)
def test_the_diagonal_holds_the_matched_accuracy(
    pair: tuple[list[int], list[int]],
) -> None:
    a, b = map(np.array, pair)
    share = np.diag(cross_tab(a, b)).sum() / len(a)
    accuracy = external_index("accuracy", a, b, unlabelled=None)
    assert share == pytest.approx(accuracy)


@FEW
@given(PAIRS)
def test_matching_names_keeps_the_partition_and_the_largest_overlap(
    pair: tuple[list[int], list[int]],
) -> None:
    reference, labels = map(np.array, pair)
    renamed = match_labels(reference, labels)
    together = labels[:, None] == labels[None, :]
    assert ((renamed[:, None] == renamed[None, :]) == together).all()
    overlap = np.diag(cross_tab(reference, labels)).sum()
    assert (renamed == reference).sum() == overlap


def test_equal_partitions_get_equal_names() -> None:
    assert match_labels([4, 4, 9, -1], [0, 0, 1, 2]).tolist() == [4, 4, 9, -1]


def test_clusters_without_a_partner_get_new_names() -> None:
    assert match_labels([3, 3, 3, 3], [0, 0, 0, 1]).tolist() == [3, 3, 3, 4]


def test_a_contingency_table_of_many_small_clusters_stays_sparse() -> None:
    codes = np.arange(2_000)
    table = contingency_table(codes, codes[::-1])
    assert table.nnz == 2_000
    small = contingency_table([0, 1, 1], [0, 0, 1]).toarray()
    assert (small == confusion_matrix([0, 1, 1], [0, 0, 1])).all()


def test_a_cross_tab_of_another_number_of_samples_is_refused() -> None:
    with pytest.raises(ValueError, match="b has 2 entries for 3 samples"):
        cross_tab([0, 1, 1], [0, 1])


def test_a_cross_tab_too_large_for_memory_is_refused() -> None:
    with pytest.raises(MemoryError, match="20000 x 20000 clusters would need"):
        cross_tab(np.arange(20_000), np.arange(20_000))


@FEW
@given(PAIRS)
def test_a_matching_has_the_largest_overlap_of_all(
    pair: tuple[list[int], list[int]],
) -> None:
    table = contingency_table(*(pd.factorize(np.array(one))[0] for one in pair))
    dense = table.toarray()
    rows, columns = match_clusters(table)
    assert (dense[rows, columns] > 0).all()
    assert len(set(rows)) == len(set(columns)) == len(rows)
    best = dense[linear_sum_assignment(dense, maximize=True)].sum()
    assert dense[rows, columns].sum() == best


@FEW
@given(PAIRS)
def test_very_many_clusters_are_matched_to_half_the_largest_overlap(
    pair: tuple[list[int], list[int]],
) -> None:
    table = contingency_table(*(pd.factorize(np.array(one))[0] for one in pair))
    dense = table.toarray()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contingency, "EXACT_MATCHING", 0)
        rows, columns = match_clusters(table)
    assert len(set(rows)) == len(set(columns)) == len(rows)
    assert (np.diff(rows) > 0).all()
    best = dense[linear_sum_assignment(dense, maximize=True)].sum()
    assert 2 * dense[rows, columns].sum() >= best


def test_as_many_clusters_as_samples_are_matched_without_a_table_of_all_pairs() -> None:
    samples = np.arange(30_000)
    assert (match_labels(samples, samples[::-1]) == samples).all()
    few = match_labels(samples, samples % 7)
    assert (np.unique(few) < 30_000).all()
