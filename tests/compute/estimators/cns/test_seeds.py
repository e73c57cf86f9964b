"""Candidates, order and criterion of CNS against naive definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute.estimators.cns._seeds import (
    MAX_LOCAL_MAXIMA,
    VERSIONS,
    clarity,
    criterion,
    farthest_first,
    greedy_order,
    ideal_gain,
    in_degrees,
    local_maxima,
)
from clusterlens.compute.estimators.neighbors import neighbor_table, with_self_first


def case(n_samples, n_neighbors, seed=0, n_features=2):
    X = np.random.default_rng(seed).normal(size=(n_samples, n_features))
    return X, with_self_first(neighbor_table(X, n_neighbors)[0], n_neighbors)


def test_in_degree_counts_the_sample_itself():
    table = case(40, 5)[1]
    degrees = in_degrees(table)
    assert degrees.sum() == 200
    assert degrees.min() >= 1
    assert degrees[7] == sum(7 in row for row in table.tolist())


def test_farthest_first_maximises_degree_times_distance():
    X, table = case(60, 6)
    degrees = in_degrees(table)
    chosen = [int(np.argmax(degrees))]
    while len(chosen) < 12:
        gaps = np.linalg.norm(X[:, None] - X[chosen][None], axis=2).min(axis=1)
        chosen.append(int(np.argmax(degrees * gaps)))
    assert farthest_first(X, table, 12).tolist() == chosen


def test_farthest_first_stops_at_the_distinct_samples():
    X = np.repeat(np.arange(4.0), 5)[:, None]
    table = with_self_first(neighbor_table(X, 3)[0], 3)
    assert len(farthest_first(X, table, 20)) == 4


def test_local_maxima_have_the_largest_degree_of_their_neighbors():
    X, table = case(80, 6)
    degrees = in_degrees(table)
    expected = [i for i in range(80) if all(degrees[i] >= degrees[j] for j in table[i])]
    assert local_maxima(X, table, 30).tolist() == expected


def test_local_maxima_are_capped_by_degree_times_distance():
    X, table = case(4000, 2, n_features=3)
    degrees = in_degrees(table)
    maxima = np.flatnonzero((degrees[:, None] >= degrees[table]).all(axis=1))
    assert len(maxima) > MAX_LOCAL_MAXIMA
    gaps = np.linalg.norm(X[maxima][:, None] - X[maxima][None], axis=2)
    gaps[np.diag_indices(len(gaps))] = np.inf
    score = degrees[maxima] * gaps.min(axis=1)
    best = maxima[np.argsort(-score, kind="stable")[:MAX_LOCAL_MAXIMA]]
    assert local_maxima(X, table, 30).tolist() == sorted(best)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 9))
def test_greedy_order_follows_its_definition(seed, m):
    columns = np.random.default_rng(seed).random((20, m))
    masses, overlaps = columns.sum(axis=0), columns.T @ columns
    order, _ = greedy_order(masses, overlaps, 6)
    assert order[0] == np.argmax(masses)
    assert len(order) == min(6, m)
    for step in range(1, len(order)):
        cost = {
            j: max(overlaps[j, c] for c in order[:step]) / masses[j] ** 2
            for j in range(m)
            if j not in order[:step]
        }
        assert order[step] == min(cost, key=cost.__getitem__)


def test_greedy_ties_go_to_the_first_candidate_whatever_the_rounding():
    masses = np.array([1.0, 1.0 + 1e-15, 0.5])
    overlaps = np.diag([1.0, 1.0, 1.0])
    assert greedy_order(masses, overlaps, 3)[0].tolist() == [0, 1, 2]


def test_differences_that_errors_explain_are_ties_and_make_the_order_uncertain():
    masses, n_samples = np.array([4.0, 3.0, 3.0, 3.0]), 10
    overlaps = np.eye(4)
    overlaps[0] = overlaps[:, 0] = [1.0, 2e-6, 1e-6, 3e-6]
    for error, order, is_certain in (
        (1e-8, [0, 2, 1, 3], True),
        (1e-6, [0, 1, 2, 3], False),
    ):
        found = greedy_order(masses, overlaps, 4, error, n_samples)
        assert found[0].tolist() == order
        assert found[1] == is_certain
    overlaps[0, 3] = overlaps[3, 0] = 0.0
    found, _ = greedy_order(masses, overlaps, 4, 1e-6, n_samples)
    assert found.tolist() == [0, 3, 1, 2]


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 8))
def test_clarity_is_the_mean_largest_membership_for_every_count(seed, m):
    absorption = np.random.default_rng(seed).dirichlet(np.ones(m + 1), 15)[:, :m]
    values = clarity(absorption)
    for count in range(1, m + 1):
        q = absorption[:, :count]
        memberships = 1 / count + q - q.sum(axis=1, keepdims=True) / count
        expected = memberships.max(axis=1).mean()
        assert values[count - 1] == pytest.approx(expected, abs=1e-13)


def test_ideal_clusters_reach_the_criterion_one():
    # 100 samples in 10 groups of 10; every member has the seed among k = 1 ... here the
    # gain (1 - 1/K)(1 - alpha)(1/k - K/n) at K = sqrt(n/k) is the reference value.
    n, k, alpha = 100, 4, 0.2
    clusters = (n / k) ** 0.5
    gain = (1 - 1 / clusters) * (1 - alpha) * (1 / k - clusters / n)
    assert ideal_gain(n, k, alpha) == pytest.approx(gain)


def test_one_cluster_gains_nothing():
    assert criterion(np.array([1.0, 0.4]), 10, 0.1)[0] == 0


@pytest.mark.parametrize("name", VERSIONS)
def test_default_grids_hold_usable_values(name):
    version = VERSIONS[name]
    for n_samples in (2, 3, 10, 150, 10**6):
        assert all(0 < alpha < 1 for alpha in version.alpha_grid(n_samples))
        assert version.alpha_grid(n_samples)
        assert all(k >= 1 for k in version.neighbors_grid(n_samples))
