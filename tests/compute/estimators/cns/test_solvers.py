"""The three solvers of the absorption probabilities agree with the definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.estimators.cns import _solvers as cns_solvers
from clusterlens.compute.estimators.cns._solvers import (
    error_bound,
    products_for,
    smooth_by_powers,
    smooth_seeds,
    solve_directly,
)
from clusterlens.compute.estimators.neighbors import neighbor_table, with_self_first


def dense_walk(table):
    walk = np.zeros((len(table), len(table)))
    for i, row in enumerate(table):
        np.add.at(walk[i], row, 1 / len(row))
    return walk


def definition(table, seeds, alpha):
    system = np.eye(len(table)) - (1 - alpha) * dense_walk(table)
    return alpha * np.linalg.inv(system)[:, seeds]


def graph(n_samples=300, n_neighbors=10, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_samples, 3))
    return with_self_first(neighbor_table(X, n_neighbors)[0], n_neighbors)


def starts(table, seeds):
    start = np.zeros((len(table), len(seeds)))
    start[seeds, np.arange(len(seeds))] = 1
    return start


ALPHAS = np.array([0.03, 0.1, 0.5])
SEEDS = np.array([3, 200, 77, 5])


@pytest.mark.parametrize(
    ("solve", "error"),
    [
        (lambda *graph: solve_directly(*graph), 1e-13),
        (lambda *graph: smooth_seeds(*graph, tolerance=1e-9), 1e-9),
        (lambda *graph: smooth_seeds(*graph, n_products=50), 2e-5),
        (lambda *graph: smooth_by_powers(*graph, 900), 1e-11),
    ],
    ids=["lu", "chebyshev to a bound", "chebyshev 50", "powers"],
)
def test_solver_equals_the_inverse(solve, error):
    table = graph()
    found = solve(table, SEEDS, ALPHAS).absorption
    for a, alpha in enumerate(ALPHAS):
        expected = definition(table, SEEDS, alpha)
        np.testing.assert_allclose(found[:, a], expected, rtol=0, atol=error)


def test_all_entries_of_the_inverse_sum_to_the_number_of_samples():
    table = graph(60)
    found = solve_directly(table, np.arange(60), np.array([0.2])).absorption
    assert found.sum() == pytest.approx(60)


def test_solution_is_the_limit_of_the_update_from_any_start():
    table, alpha = graph(100), 0.1
    found = smooth_seeds(table, SEEDS % 100, np.array([alpha]), tolerance=1e-9)
    update = np.random.default_rng(3).random((100, len(SEEDS)))
    for _ in range(400):
        update = alpha * starts(table, SEEDS % 100) + (1 - alpha) * dense_walk(
            table
        ).dot(update)
    np.testing.assert_allclose(found.absorption[:, 0], update, rtol=0, atol=1e-9)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), products=st.integers(1, 60))
def test_error_bound_is_never_below_the_error(seed, products):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 40, (40, 4)).astype(np.int32)
    seeds, alpha = rng.choice(40, 3, replace=False), rng.uniform(0.02, 0.6)
    found = smooth_by_powers(table, seeds, np.array([alpha]), products).absorption
    error = np.abs(found[:, 0] - definition(table, seeds, alpha)).max()
    bound = error_bound(table, found[:, 0], starts(table, seeds), alpha)
    assert error <= bound + 1e-14


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_directed_random_graphs_are_solved_to_tolerance(seed):
    rng = np.random.default_rng(seed)
    n_neighbors = int(rng.integers(1, 5))
    table = rng.integers(0, 30, (30, n_neighbors)).astype(np.int32)
    alpha = rng.uniform(0.05, 0.5)
    found = smooth_seeds(table, np.array([1, 2]), np.array([alpha]), tolerance=1e-7)
    expected = definition(table, [1, 2], alpha)
    np.testing.assert_allclose(found.absorption[:, 0], expected, rtol=0, atol=1e-7)


def test_powers_take_over_where_the_chebyshev_series_diverges():
    # Directed triangles have eigenvalues far from the real axis.
    first = np.arange(90)
    table = np.stack([first, first // 3 * 3 + (first + 1) % 3], 1).astype(np.int32)
    found = smooth_seeds(table, SEEDS % 90, np.array([0.02]), tolerance=1e-8)
    assert found.solver == "powers"
    expected = definition(table, SEEDS % 90, 0.02)
    np.testing.assert_allclose(found.absorption[:, 0], expected, rtol=0, atol=1e-8)


def test_small_alphas_take_more_terms_until_the_tolerance():
    ring = np.arange(200)  # symmetric, so that all eigenvalues are real
    table = np.stack([ring, (ring + 1) % 200, (ring - 1) % 200], 1).astype(np.int32)
    alphas = np.array([1e-4])
    found = smooth_seeds(table, SEEDS[:2] % 200, alphas, tolerance=1e-7)
    assert found.solver == "chebyshev"
    assert found.n_products > 500
    expected = definition(table, SEEDS[:2] % 200, 1e-4)
    np.testing.assert_allclose(found.absorption[:, 0], expected, rtol=0, atol=1e-7)


def test_a_solution_is_refined_to_rounding_where_the_series_stops_short():
    # On a lattice the vectors of the series grow, and with them the rounding.
    cube = np.stack(np.meshgrid(*[np.arange(6.0)] * 3), axis=-1).reshape(-1, 3)
    table = with_self_first(neighbor_table(cube, 5)[0], 5)
    found = smooth_seeds(table, SEEDS, np.array([0.02]))
    assert found.solver == "chebyshev"
    expected = definition(table, SEEDS, 0.02)
    np.testing.assert_allclose(found.absorption[:, 0], expected, rtol=0, atol=2e-15)


def test_a_diverged_solution_has_no_finite_bound():
    table = graph(50)
    start = starts(table, SEEDS[:1] % 50)
    for value in (np.nan, np.inf):
        solution = start.copy()
        solution[3] = value
        assert error_bound(table, solution, start, 0.1) == np.inf


def test_unreached_samples_are_exactly_zero():
    near = with_self_first(neighbor_table(np.arange(20.0)[:, None], 3)[0], 3)
    table = np.vstack([near, near + 20]).astype(np.int32)
    for solve in (smooth_seeds, solve_directly):
        found = solve(table, np.array([2, 30]), np.array([0.1, 0.3])).absorption
        assert (found[20:, :, 0] == 0).all()
        assert (found[:20, :, 1] == 0).all()


def test_products_for_reaches_the_tolerance():
    table, alpha = graph(80), 0.05
    found = smooth_by_powers(
        table, SEEDS % 80, np.array([alpha]), products_for(1e-5, alpha)
    )
    error = np.abs(found.absorption[:, 0] - definition(table, SEEDS % 80, alpha)).max()
    assert error <= 1e-5


def test_single_precision_is_enough_for_display():
    table = graph()
    found = smooth_seeds(table, SEEDS, ALPHAS, n_products=64, dtype=np.float32)
    assert found.absorption.dtype == np.float32
    expected = solve_directly(table, SEEDS, ALPHAS).absorption
    np.testing.assert_allclose(found.absorption, expected, rtol=0, atol=2e-6)


def test_cancel_stops_between_products():
    seen = []
    with pytest.raises(Cancelled):
        smooth_seeds(
            graph(),
            SEEDS,
            ALPHAS,
            n_products=50,
            progress=lambda done, total: seen.append((done, total)),
            cancel=lambda: len(seen) == 7,
        )
    assert seen[-1] == (7, 50)


def test_plain_steps_come_before_the_series():
    weights = [cns_solvers._hybrid_weights(t, ALPHAS) for t in range(400)]
    # Any polynomial in W is its value at 1 on constants, where the sum must be 1.
    np.testing.assert_allclose(np.sum(weights, axis=0), 1, rtol=1e-12)
