"""One-hot rows are the distinct samples, and their products count agreements."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from clusterlens.compute.consensus._one_hot import one_hot_rows
from clusterlens.compute.ensemble.ensemble import Ensemble

label_matrices = st.tuples(st.integers(1, 6), st.integers(1, 40)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-1, 5))
)


def dense(rows):
    matrix = np.zeros((rows.n_rows, rows.n_columns))
    np.put_along_axis(matrix, rows.columns.astype(np.int64), 1.0, axis=1)
    return matrix


@settings(max_examples=60)
@given(label_matrices)
def test_rows_are_the_distinct_columns_of_the_label_matrix(labels):
    rows, group = one_hot_rows(Ensemble(labels))
    distinct = np.unique(labels, axis=1)
    assert rows.n_rows == distinct.shape[1]
    assert rows.weights.sum() == labels.shape[1]
    assert_array_equal(rows.weights, np.bincount(group))
    same = (labels[:, :, None] == labels[:, None, :]).all(axis=0)
    assert_array_equal(group[:, None] == group[None, :], same)


@settings(max_examples=60)
@given(label_matrices)
def test_products_of_rows_count_agreements(labels):
    rows, group = one_hot_rows(Ensemble(labels))
    matrix = dense(rows)[group]
    agreements = (labels[:, :, None] == labels[:, None, :]).sum(axis=0)
    assert_array_equal(matrix @ matrix.T, agreements)


def test_rows_are_merged_when_keys_exceed_64_bits():
    rng = np.random.default_rng(3)
    labels = np.repeat(rng.integers(0, 300, (40, 60)), 3, axis=1)
    rows, group = one_hot_rows(Ensemble(labels))
    assert rows.n_rows == 60
    assert_array_equal(group, np.repeat(np.arange(60), 3))


def test_columns_that_cannot_be_filled_are_left_out():
    labels = np.array([[-1] * 50, [-1] * 50, [0, 0] + [-1] * 48])
    rows, _ = one_hot_rows(Ensemble(labels, noise="singletons"))
    few = rows.take(np.array([3, 7])).compact()
    assert few.n_columns == 6
    assert_array_equal(dense(few) @ dense(few).T, 3 * np.eye(2))
