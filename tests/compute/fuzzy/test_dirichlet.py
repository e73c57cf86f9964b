"""Dirichlet fits, moments and draws against published values and other methods."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import gammaln, psi

from clusterlens.compute.fuzzy.dirichlet import DirichletFit, draw_pairs, fit_dirichlet
from clusterlens.compute.fuzzy.partition import FuzzyPartition
from tests.fuzzy_definitions import REFERENCE, soft

TOY = REFERENCE["toy"]
FITS = [
    (name, TOY["matrices"][name], spec, family)
    for family in ("fit", "sym")
    for name, spec in TOY["fitted"][family].items()
] + [
    (f"{case['name']}-{side}", case[side], case["fit"][family][side], family)
    for case in REFERENCE["pairs"]
    for family in ("fit", "sym")
    for side in "uv"
]


def of_alpha(alpha):
    alpha = np.asarray(alpha, dtype=float)
    return DirichletFit(alpha / alpha.sum(), alpha.sum())


@pytest.mark.parametrize(
    ("name", "rows", "spec", "family"), FITS, ids=lambda v: v if type(v) is str else ""
)
def test_fits_reach_the_reference(name, rows, spec, family):
    fit = fit_dirichlet(rows, symmetric=family == "sym")
    assert fit.kind == spec["kind"]
    found = fit.alpha if fit.kind == "dirichlet" else fit.mean
    np.testing.assert_allclose(found, spec["params"], rtol=1e-9)
    expected = spec["mean_pair_agreement"]
    assert 1 - fit.mean_distance == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "case",
    REFERENCE["dirichlet_expected_agreement"]["cases"],
    ids=lambda c: len(c["alpha"]),
)
def test_mean_distance_has_its_closed_form(case):
    found = 1 - of_alpha(case["alpha"]).mean_distance
    assert found == pytest.approx(case["expected_agreement"], abs=1e-12)


rows = st.builds(
    lambda k, seed, alpha: soft(30, k, seed, alpha),
    st.integers(2, 6),
    st.integers(0, 999),
    st.sampled_from([0.05, 0.3, 1.0, 20.0, 1e5]),
)


@given(rows)
@settings(max_examples=60)
def test_fit_makes_the_likelihood_stationary(U):
    fit = fit_dirichlet(U, floor=1e-6)
    floored = np.maximum(U, 1e-6)
    logs = np.log(floored / floored.sum(axis=1, keepdims=True)).mean(axis=0)
    slope = psi(fit.precision) - psi(fit.alpha) + logs
    # In units of the sampling error of the mean logs, psi'(alpha) ~ 1/alpha.
    np.testing.assert_allclose(slope * fit.alpha, 0, atol=1e-9 * max(1, fit.precision))
    assert fit.n_floored == (U < 1e-6).sum()


def test_general_fit_agrees_with_a_general_optimiser():
    U = soft(200, 4, seed=5, alpha=0.8)
    logs = np.log(np.maximum(U, 1e-6)).mean(axis=0)

    def negative(log_alpha):
        alpha = np.exp(log_alpha)
        return gammaln(alpha).sum() - gammaln(alpha.sum()) - (alpha - 1) @ logs

    best = minimize(negative, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    fit = fit_dirichlet(U)
    np.testing.assert_allclose(fit.alpha, np.exp(best.x), rtol=1e-4)


@given(rows, st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_fits_follow_the_order_of_clusters(U, random):
    order = random.sample(range(U.shape[1]), U.shape[1])
    fit, moved = fit_dirichlet(U), fit_dirichlet(U[:, order])
    np.testing.assert_allclose(moved.alpha, fit.alpha[order], rtol=1e-6)
    even = fit_dirichlet(U, symmetric=True)
    np.testing.assert_allclose(even.mean, 1 / U.shape[1])


@pytest.mark.parametrize("precision", [1e2, 1e5, 1e8, 1e9])
def test_fit_recovers_high_precisions(precision):
    U = np.random.default_rng(0).dirichlet(np.array([0.5, 0.3, 0.2]) * precision, 4000)
    fit = fit_dirichlet(U)
    assert fit.precision == pytest.approx(precision, rel=0.06)
    assert fit.mean_distance == pytest.approx(FuzzyPartition(U).mean_distance, rel=0.02)


def test_fit_is_continuous_where_the_closed_form_takes_over():
    rng = np.random.default_rng(0)
    deviations = rng.dirichlet([2.0, 3.0, 4.0], 500) - np.array([2, 3, 4]) / 9
    ratios = []
    for scale in np.geomspace(1e-4, 1e-8, 9):
        fit = fit_dirichlet(np.array([2, 3, 4]) / 9 + scale * deviations)
        ratios.append(fit.precision * scale**2)
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-3)


def test_equal_rows_are_constant_and_symmetric_fit_stays_finite():
    constant = np.tile([0.2, 0.3, 0.5], (6, 1))
    fit = fit_dirichlet(constant)
    assert (fit.kind, fit.mean_distance) == ("constant", 0.0)
    assert np.isinf(fit.alpha).all()
    assert fit_dirichlet(constant, symmetric=True).kind == "dirichlet"
    uniform = np.full((6, 4), 0.25)
    assert fit_dirichlet(uniform, symmetric=True).kind == "constant"


def test_symmetric_fit_grows_without_bound_towards_uniform_rows():
    rng = np.random.default_rng(0)
    last = 0.0
    for scale in (1e-1, 1e-3, 1e-5, 1e-7):
        U = 0.25 + scale * (rng.dirichlet(np.ones(4), 50) - 0.25)
        precision = fit_dirichlet(U, symmetric=True).precision
        assert np.isfinite(precision)
        assert precision > last
        last = precision


def test_hard_rows_are_categorical():
    labels = [0, 0, 0, 1, 2]
    fit = fit_dirichlet(labels)
    assert fit.kind == "categorical"
    np.testing.assert_allclose(fit.mean, [0.6, 0.2, 0.2])
    assert fit.mean_distance == pytest.approx(1 - 0.36 - 0.04 - 0.04)
    np.testing.assert_allclose(fit_dirichlet(labels, symmetric=True).mean, 1 / 3)


@given(
    st.integers(2, 7),
    st.integers(1, 12),
    st.sampled_from([1e-300, 1e-30, 1e-6, 1e-2]),
    st.integers(0, 999),
)
@settings(max_examples=150)
def test_nearly_hard_rows_always_have_a_finite_fit(n_clusters, n_hard, floor, seed):
    rng = np.random.default_rng(seed)
    hard = np.eye(n_clusters)[rng.integers(n_clusters, size=n_hard)]
    soft_row = rng.dirichlet(np.full(n_clusters, 0.02))
    U = np.vstack([hard, soft_row, np.full(n_clusters, 1 / n_clusters)])
    for symmetric in (False, True):
        fit = fit_dirichlet(U, symmetric, floor=floor)
        assert fit.kind == "dirichlet"
        slopes = psi(fit.precision) - psi(fit.alpha)
        floored = np.maximum(U, floor)
        logs = np.log(floored / floored.sum(axis=1, keepdims=True)).mean(axis=0)
        total = (slopes + logs).mean() if symmetric else slopes + logs
        np.testing.assert_allclose(total, 0, atol=1e-8 * np.abs(logs).max())


def test_the_soft_limit_is_not_the_hard_model():
    """Proportions jump to the mean row when the last soft row becomes hard."""
    U = np.array(TOY["matrices"]["uneven_low_fuzzy"])
    fitted = fit_dirichlet(U).mean
    np.testing.assert_allclose(fitted, [0.569, 0.216, 0.216], atol=1e-3)
    hardened = fit_dirichlet(U.argmax(axis=1)).mean
    np.testing.assert_allclose(hardened, [7 / 9, 1 / 9, 1 / 9])


def test_zeros_are_floored_for_the_fit_and_counted():
    case = next(c for c in REFERENCE["pairs"] if c["name"].startswith("zeros"))
    U = np.array(case["u"])
    fit = fit_dirichlet(U, floor=case["floor"])
    assert fit.n_floored == (U == 0).sum() > 0
    assert fit.floor == case["floor"]
    tiny = np.where(U == 0, 1e-200, U)
    np.testing.assert_allclose(fit_dirichlet(tiny).alpha, fit.alpha)


def test_empty_clusters_get_no_mass():
    U = np.insert(soft(20, 3, seed=1), 2, 0.0, axis=1)
    for symmetric in (False, True):
        fit = fit_dirichlet(U, symmetric)
        without = fit_dirichlet(np.delete(U, 2, axis=1), symmetric)
        assert fit.alpha[2] == 0
        np.testing.assert_allclose(np.delete(fit.alpha, 2), without.alpha)
        assert fit.mean_distance == pytest.approx(without.mean_distance)


def test_floor_out_of_range_is_refused():
    with pytest.raises(
        ValueError, match=r"floor is 0.5; give a value from 1e-300 to 0.1"
    ):
        fit_dirichlet(soft(5, 2, seed=0), floor=0.5)


@pytest.mark.parametrize(
    ("alpha", "sticks"),
    [
        ([0.3, 0.6], True),
        ([5.0, 2.0, 3.0], True),
        ([1e-3, 2e-3], True),
        ([1e-3, 2e-3], False),
        ([1e8, 2e8], False),
        ([0.01] * 30, False),
        ([2.0] * 5, False),
    ],
    ids=str,
)
def test_drawn_pairs_have_the_known_moments(alpha, sticks):
    fit = of_alpha(alpha)
    rng = np.random.default_rng(0)
    draws = [draw_pairs(fit.alpha, 2048, rng, sticks) for _ in range(40)]
    for values, expected in zip(
        np.mean(draws, axis=2).T, (fit.mean_distance, fit.mean_square), strict=True
    ):
        error = values.std(ddof=1) / np.sqrt(len(values))
        assert abs(values.mean() - expected) < 4.5 * error + 1e-6 * expected
    assert np.array(draws)[:, 0].max() <= 1 + 1e-12


def test_draws_do_not_depend_on_the_order_of_clusters():
    for sticks in (True, False):
        alpha = np.array([0.5, 2.0, 1.0, 3.0, 0.1])
        a = draw_pairs(alpha, 512, np.random.default_rng(1), sticks)
        b = draw_pairs(alpha[::-1], 512, np.random.default_rng(1), sticks)
        np.testing.assert_array_equal(a, b)
