"""Expected differences of pair distances: closed forms, observed and drawn sides."""

import numpy as np
import pytest
from scipy.stats import beta

from clusterlens.compute._run.options import Cancelled, RunOptions
from clusterlens.compute.fuzzy import _expected_difference as module
from clusterlens.compute.fuzzy._expected_difference import (
    Flat,
    Observed,
    expected_difference,
)
from clusterlens.compute.fuzzy._pair_distances import PairWalk
from clusterlens.compute.fuzzy.dirichlet import DirichletFit, fit_dirichlet
from clusterlens.compute.fuzzy.partition import FuzzyPartition
from tests.fuzzy_definitions import REFERENCE, pair_agreements, soft


def dirichlet(*alpha):
    alpha = np.array(alpha, dtype=float)
    return DirichletFit(alpha / alpha.sum(), alpha.sum())


def observed(U, walk=None):
    return Observed(FuzzyPartition(U), np.random.default_rng(0), walk or PairWalk())


def options(**given):
    return PairWalk(run=RunOptions(**given))


def solve(x, y, error=1e-4, seed=0, walk=None):
    rng = np.random.default_rng(seed)
    return expected_difference(x, y, lambda value: error, rng, walk or PairWalk())


FLAT = REFERENCE["flat_expected_ndc"]["values"].items()


@pytest.mark.parametrize(("sizes", "expected"), FLAT, ids=[key for key, _ in FLAT])
def test_flat_against_flat_is_exact(sizes, expected):
    x, y = map(Flat, map(int, sizes.split(",")))
    assert 1 - solve(x, y).value == pytest.approx(expected, abs=1e-12)
    assert solve(x, y) == solve(y, x)


def test_flat_against_flat_tends_to_the_normal_law_for_many_clusters():
    x, y = Flat(20_000), Flat(20_000)
    spread = beta(19_999, 20_000).std()
    assert solve(x, y).value == pytest.approx(2 * spread / np.sqrt(np.pi), rel=1e-4)


def test_flat_distances_follow_a_beta_law():
    flat = Flat(4)
    points = np.linspace(0, 1, 7)
    law = beta(3, 4)
    expected = [law.expect(lambda d, t=t: abs(d - t)) for t in points]
    np.testing.assert_allclose(flat.difference_from(points), expected, atol=1e-7)
    rows = np.random.default_rng(0).dirichlet(np.ones(4), (2, 200_000))
    assert flat.mean_distance == pytest.approx(
        np.abs(rows[0] - rows[1]).sum(axis=1).mean() / 2, abs=2e-3
    )


def test_one_flat_cluster_is_constant():
    assert solve(Flat(1), Flat(1)).value == 0
    assert solve(Flat(1), Flat(3)).value == pytest.approx(2 / 5)


HARD = [0, 0, 1, 2, 2, 2, 1]
SIDES = {
    "observed soft": observed(soft(7, 3, seed=1)),
    "flat": Flat(3),
    "dirichlet": dirichlet(0.3, 0.5, 2.0),
    "categorical": fit_dirichlet(HARD),
    "constant": fit_dirichlet(np.full((5, 2), 0.5)),
    "observed hard": observed(HARD),
}


@pytest.mark.parametrize("name", SIDES)
def test_hard_or_constant_side_needs_only_means(name):
    x = SIDES[name]
    p = x.mean_distance
    for two_point in list(SIDES.values())[3:]:
        q = two_point.mean_distance
        for result in (solve(x, two_point), solve(two_point, x)):
            assert result.value == pytest.approx(p * (1 - q) + (1 - p) * q, abs=1e-15)
            assert result.standard_error == result.error_bound == result.n_drawn == 0


def test_observed_sides_average_over_all_combinations():
    U, V = soft(12, 3, seed=1), soft(12, 5, seed=2)
    a, b = pair_agreements(U), pair_agreements(V)
    expected = np.abs(a[:, None] - b).mean()
    assert solve(observed(U), observed(V)).value == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    "rows", [soft(1001, 3, seed=1), soft(1001, 4, seed=2, alpha=500)]
)
def test_binning_stays_within_its_bound(rows, monkeypatch):
    V = soft(1001, 3, seed=3)
    binned = solve(observed(rows), observed(V))
    monkeypatch.setattr(
        "clusterlens.compute.fuzzy._pair_distances.LISTED_SAMPLES", 2000
    )
    exact = solve(observed(rows), observed(V))
    assert exact.error_bound == 0 < binned.error_bound < 1e-6
    gap = exact.value - binned.value
    assert -1e-13 <= gap <= binned.error_bound


def test_sampled_observed_sides_state_their_error():
    U, V = soft(150, 3, seed=1), soft(150, 4, seed=2)
    exact = solve(observed(U), observed(V)).value
    flat = solve(observed(U), Flat(4)).value
    errors = []
    for seed in range(25):
        walk = PairWalk(exact_limit=100, n_pairs=4000)
        u = Observed(FuzzyPartition(U), np.random.default_rng(seed), walk)
        v = Observed(FuzzyPartition(V), np.random.default_rng(seed + 1000), walk)
        for result, target in ((solve(u, v), exact), (solve(u, Flat(4)), flat)):
            assert result.n_drawn == 4000
            errors.append((result.value - target) / result.standard_error)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(1, abs=0.35)


DRAWN = {
    "both sticks": (dirichlet(0.4, 0.4, 0.4), dirichlet(0.6, 2.0, 0.3)),
    "sticks and gammas": (dirichlet(0.7, 3.0), dirichlet(0.3, 0.3, 0.9, 0.1)),
    "both gammas": (dirichlet(*[0.3] * 10), dirichlet(*[0.6] * 10)),
    "nearly hard": (dirichlet(*[0.01] * 6), dirichlet(0.02, 0.03)),
    "nearly constant": (dirichlet(*[1e7] * 4), dirichlet(1e8, 1e8, 1e8)),
    "nearly constant observed": (
        dirichlet(*[1e9] * 4),
        observed(1 / 3 + 1e-5 * (soft(30, 3, seed=1) - 1 / 3)),
    ),
    "observed": (dirichlet(0.5, 1.0, 2.0, 0.2), observed(soft(30, 3, seed=1))),
    "flat": (dirichlet(0.5, 1.0, 2.0, 0.2), Flat(3)),
}


def plain_pairing(side, n_pairs, rng):
    """Distances of independently drawn pairs."""
    if isinstance(side, Observed):
        return rng.choice(1 - pair_agreements(side.partition.memberships), n_pairs)
    alpha = np.ones(side.n_clusters) if isinstance(side, Flat) else side.alpha
    rows = rng.dirichlet(alpha, (2, n_pairs))
    return np.abs(rows[0] - rows[1]).sum(axis=1) / 2


@pytest.mark.parametrize("sides", DRAWN.values(), ids=DRAWN)
def test_drawn_sides_agree_with_plain_pairing(sides):
    x, y = sides
    scale = max(x.mean_distance, y.mean_distance if y is not sides[0] else 0)
    result = solve(x, y, error=1e-3 * scale)
    rng = np.random.default_rng(1)
    plain = np.abs(plain_pairing(x, 100_000, rng) - plain_pairing(y, 100_000, rng))
    error = np.hypot(result.standard_error, plain.std() / np.sqrt(plain.size))
    assert abs(result.value - plain.mean()) < 4.5 * error
    assert 0 < result.standard_error <= 1e-3 * scale
    again = solve(y, x, error=1e-3 * scale)
    assert again == result


def test_standard_error_is_that_of_repeated_runs():
    x, y = DRAWN["both gammas"]
    runs = [solve(x, y, error=2e-4, seed=seed) for seed in range(60)]
    spread = np.std([run.value for run in runs], ddof=1)
    stated = np.sqrt(np.mean([run.standard_error**2 for run in runs]))
    assert spread == pytest.approx(stated, rel=0.3)


def test_finer_targets_draw_more():
    x, y = DRAWN["both gammas"]
    coarse, fine = solve(x, y, error=1e-3), solve(x, y, error=5e-5)
    assert coarse.n_drawn < fine.n_drawn
    assert fine.standard_error <= 5e-5


def test_draws_stop_at_the_most_and_say_what_was_reached(monkeypatch):
    monkeypatch.setattr(module, "_MOST_PAIRS", 1 << 14)
    monkeypatch.setattr(module, "_MOST_DRAWN", 1 << 20)
    result = solve(*DRAWN["both gammas"], error=1e-9)
    assert result.n_drawn == 1 << 20
    assert result.standard_error > 1e-9


def test_replicates_are_added_where_they_cannot_grow(monkeypatch):
    monkeypatch.setattr(module, "_MOST_PAIRS", 1 << 13)
    result = solve(*DRAWN["both gammas"], error=1e-4)
    assert result.n_drawn > module.REPLICATES << 13
    assert result.standard_error <= 1e-4


def test_result_does_not_depend_on_the_number_of_threads():
    x, y = DRAWN["both gammas"]
    one, many = (solve(x, y, walk=options(n_jobs=n)) for n in (1, 3))
    assert one == many


def test_cancel_stops_between_draws():
    with pytest.raises(Cancelled):
        solve(*DRAWN["both gammas"], walk=options(cancel=lambda: True))
