"""Neighbour tables equal the definition: by distance, ties by index."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.estimators.neighbors import (
    NeighborSearch,
    OwnSearch,
    approximate_neighbor_table,
    in_local_order,
    local_order,
    neighbor_table,
    neighbors_of,
    with_self_first,
)


def nearest(query, X, leave_out, n_neighbors):
    squares = ((X - query) ** 2).sum(axis=1)
    order = np.lexsort((np.arange(len(X)), squares))
    return [i for i in order if i != leave_out][:n_neighbors]


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    n_samples=st.integers(2, 60),
    n_features=st.sampled_from([1, 2, 12]),
    levels=st.sampled_from([1, 2, 4, 1000]),
)
def test_table_is_ordered_by_distance_then_index(seed, n_samples, n_features, levels):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, (n_samples, n_features)).astype(float)
    n_neighbors = int(rng.integers(1, n_samples))
    table, distances = neighbor_table(X, n_neighbors)
    for i in range(n_samples):
        assert table[i].tolist() == nearest(X[i], X, i, n_neighbors)
        expected = np.linalg.norm(X[table[i]] - X[i], axis=1)
        np.testing.assert_allclose(distances[i], expected, rtol=1e-12)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n_features=st.sampled_from([1, 3, 10, 33]),
    levels=st.sampled_from([2, 50, 10**6]),
    exponent=st.sampled_from([-400, -30, 0, 30, 400]),
    away=st.sampled_from([1, 50, 10**6]),
)
def test_queries_find_what_all_pairs_give(seed, n_features, levels, exponent, away):
    rng = np.random.default_rng(seed)
    X, queries = rng.integers(-levels, levels, (2, 400, n_features)).astype(float)
    X[:100] = X[0]  # more duplicates than a chunk holds
    X[100:200] += X[0] * 1000  # a group of its own
    queries = np.vstack([X[:40], queries[:40], queries[40:80] * away])
    own = np.where(np.arange(120) % 3, -1, np.arange(120))
    n_found = int(rng.integers(1, 399))
    scale = 2.0**exponent
    search = NeighborSearch(X * scale)
    table, distances = search.nearest(queries * scale, n_found, own)
    for query, left_out, found, far in zip(queries, own, table, distances, strict=True):
        assert found.tolist() == nearest(query, X, left_out, n_found)
        expected = np.linalg.norm(X[found] - query, axis=1) * scale
        np.testing.assert_allclose(far, expected, rtol=1e-12)


@pytest.mark.parametrize("outlier", [1.0, 1e12, 1e30, 1e37, 1e200])
def test_samples_closer_than_single_precision_tells_are_told_apart(outlier):
    rng = np.random.default_rng(0)
    corners = rng.integers(0, 2, (2000, 6)).astype(float)
    X = corners + rng.integers(0, 9, corners.shape) * 2.0**-26
    X[0] = outlier
    for i in range(1, 2000, 50):
        table, distances = neighbors_of(X[i : i + 1], X, 30)
        with np.errstate(over="ignore"):
            assert table[0].tolist() == nearest(X[i], X, -1, 30)
        assert distances[0, 0] == 0


@pytest.mark.parametrize("n_features", [2, 7])
def test_neighbors_far_from_the_origin_are_those_of_the_same_data_at_it(n_features):
    X = np.random.default_rng(0).integers(0, 50, (900, n_features)).astype(float)
    for there, here in zip(
        neighbor_table(X + 2.0**40, 9), neighbor_table(X, 9), strict=True
    ):
        np.testing.assert_array_equal(there, here)


def test_distances_that_overflow_leave_no_neighbor_out():
    X = np.random.default_rng(0).normal(size=(300, 6))
    X[:50] *= 1e200
    with np.errstate(over="ignore"):
        table, distances = neighbor_table(X, 299)
    assert (
        np.sort(table)
        == np.array([np.delete(np.arange(300), range(i, i + 1)) for i in range(300)])
    ).all()
    assert np.isinf(distances[0]).all()


def test_queries_leave_no_sample_out():
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(50, 3)), rng.normal(size=(7, 3))
    table = neighbors_of(queries, X, 50)[0]
    for query, row in zip(queries, table, strict=True):
        assert row.tolist() == nearest(query, X, -1, 50)


def test_fewer_neighbors_are_the_first_columns():
    X = np.random.default_rng(1).integers(0, 3, (80, 4)).astype(float)
    larger, smaller = neighbor_table(X, 20)[0], neighbor_table(X, 5)[0]
    np.testing.assert_array_equal(larger[:, :5], smaller)


def test_every_sample_is_its_own_first_neighbor_among_duplicates():
    table = with_self_first(neighbor_table(np.zeros((9, 2)), 8)[0], 4)
    assert table[:, 0].tolist() == list(range(9))
    assert all(len(set(row)) == 4 for row in table.tolist())


def test_local_order_is_a_permutation_that_keeps_near_samples_together():
    X = np.random.default_rng(0).uniform(size=(2000, 2))
    order = local_order(X)
    assert sorted(order) == list(range(2000))
    steps = np.linalg.norm(np.diff(X[order], axis=0), axis=1)
    assert (
        np.median(steps) < 0.2 < np.median(np.linalg.norm(np.diff(X, axis=0), axis=1))
    )


def test_reordered_table_links_the_same_samples():
    X = np.random.default_rng(0).normal(size=(50, 3))
    table, order = neighbor_table(X, 4)[0], np.random.default_rng(1).permutation(50)
    local, rank = in_local_order(table, order)
    np.testing.assert_array_equal(order[rank], np.arange(50))
    np.testing.assert_array_equal(order[local], table[order])


def test_cancelled_search_raises():
    with pytest.raises(Cancelled):
        neighbor_table(np.zeros((9, 2)), 3, cancel=lambda: True)


def test_approximate_table_leaves_the_sample_itself_out(monkeypatch):
    # What NN-descent returns: itself first, or crowded out by duplicates (last row).
    graph = np.array([[0, 1, 2], [1, 0, 2], [1, 2, 0], [0, 1, 2]])
    asked = {}

    def descent(X, **options):
        asked.update(options, n_samples=len(X))
        return SimpleNamespace(neighbor_graph=(graph, None))

    monkeypatch.setitem(sys.modules, "pynndescent", SimpleNamespace(NNDescent=descent))
    table = approximate_neighbor_table(np.zeros((4, 2)), 2, random_state=7)
    assert table.tolist() == [[1, 2], [0, 2], [1, 0], [0, 1]]
    assert asked == {"n_neighbors": 3, "random_state": 7, "n_samples": 4}


@pytest.mark.parametrize("n_found", [1, 4, 12])
@pytest.mark.parametrize("copies", [1, 3])
def test_remembered_neighbours_are_those_of_a_search(n_found, copies):
    rng = np.random.default_rng(copies)
    X = np.repeat(rng.integers(0, 4, (60, 2)).astype(float), copies, axis=0)
    X = X[rng.permutation(len(X))]
    search, remembered = NeighborSearch(X), OwnSearch(X, 12)
    each = np.arange(len(X))
    for own in (None, each, each[::-1].copy()):
        for queries in (X, X[:20], X[::-1].copy()):
            given = None if own is None else own[: len(queries)]
            expected = search.nearest(queries, n_found, given)
            found = remembered.nearest(queries, n_found, given)
            for one, other in zip(found, expected, strict=True):
                assert np.array_equal(one, other)
                assert one.dtype == other.dtype
                assert one.flags.c_contiguous


def test_more_neighbours_than_remembered_are_searched():
    X = np.random.default_rng(0).normal(size=(30, 2))
    remembered = OwnSearch(X, 5)
    found = remembered.nearest(X, 20, np.arange(30))
    expected = NeighborSearch(X).nearest(X, 20, np.arange(30))
    assert np.array_equal(found[0], expected[0])
