"""Pair distances: blocks, bins and draws against all pairs in plain NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute._run.options import Cancelled, RunOptions
from clusterlens.compute.fuzzy import _pair_distances as pair_distances
from clusterlens.compute.fuzzy._pair_distances import (
    PairDistances,
    PairWalk,
    mean_discordance,
    observed_distances,
    sum_of_differences,
)
from tests.fuzzy_definitions import pair_agreements, soft


def walk(**options):
    return PairWalk(run=RunOptions(**options))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(pair_distances, "_BLOCK_STEPS", 500)
    monkeypatch.setattr(pair_distances, "LISTED_SAMPLES", 10)


@given(st.integers(2, 60), st.integers(1, 50), st.integers(0, 5000))
@settings(max_examples=40)
def test_row_blocks_cover_every_row_once(n_samples, steps, block_steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_distances, "_BLOCK_STEPS", block_steps + 1)
        blocks = pair_distances._row_blocks(n_samples, steps)
    rows = [i for start, stop in blocks for i in range(start, stop)]
    assert rows == list(range(n_samples - 1))


def test_blocked_discordance_is_the_mean_over_all_pairs(small_blocks, rng):
    U, V = soft(50, 3, seed=1), soft(50, 6, seed=2)
    expected = np.abs(pair_agreements(U) - pair_agreements(V)).mean()
    mean = mean_discordance(U, V, rng, PairWalk())
    assert mean.value == pytest.approx(expected, abs=1e-14)
    assert mean.standard_error == mean.n_drawn == 0


def test_result_does_not_depend_on_the_number_of_threads(small_blocks, rng):
    U, V = soft(60, 3, seed=1), soft(60, 4, seed=2)
    one, many = (mean_discordance(U, V, rng, walk(n_jobs=n)) for n in (1, 4))
    assert one == many


def test_bins_keep_counts_and_means(small_blocks, rng):
    U = soft(80, 4, seed=3)
    distances = np.sort(1 - pair_agreements(U))
    binned = observed_distances(U, rng, PairWalk())
    assert binned.width > 0
    assert binned.weights.sum() == pytest.approx(1)
    assert binned.weights @ binned.values == pytest.approx(distances.mean(), abs=1e-14)
    points = np.linspace(0, 1, 9)
    direct = np.abs(distances[:, None] - points).mean(axis=0)
    difference = binned.difference_from(points) - direct
    np.testing.assert_allclose(difference, 0, atol=binned.width)
    assert (difference <= 1e-13).all()


def test_bins_are_as_fine_as_nearly_equal_rows_need(small_blocks, rng):
    U = np.array([0.2, 0.3, 0.5]) + 1e-9 * np.random.default_rng(1).random((40, 3))
    U /= U.sum(axis=1, keepdims=True)
    binned = observed_distances(U, rng, PairWalk())
    assert binned.width < 1e-13
    expected = 1 - pair_agreements(U)
    assert binned.weights @ binned.values == pytest.approx(expected.mean(), rel=1e-6)


def test_equal_rows_are_at_distance_zero(small_blocks, rng):
    points = observed_distances(np.full((20, 2), 0.5), rng, PairWalk())
    assert points.values.tolist() == [0.0]


def test_drawn_pairs_estimate_within_their_standard_error(rng):
    U, V = soft(200, 3, seed=1), soft(200, 4, seed=2)
    exact = mean_discordance(U, V, rng, PairWalk()).value
    some = PairWalk(exact_limit=100, n_pairs=20_000)
    drawn = [mean_discordance(U, V, rng, some) for _ in range(30)]
    errors = np.array([(d.value - exact) / d.standard_error for d in drawn])
    assert np.sqrt((errors**2).mean()) == pytest.approx(1, abs=0.45)
    points = observed_distances(U, rng, some)
    assert points.n_drawn == 20_000
    assert (points.values > 0).all()  # a sample is never paired with itself


def test_drawn_pairs_are_gathered_in_chunks(rng, monkeypatch):
    U, V = soft(30, 3, seed=1), soft(30, 3, seed=2)
    some = PairWalk(exact_limit=10, n_pairs=1000)
    whole = mean_discordance(U, V, np.random.default_rng(5), some)
    monkeypatch.setattr(pair_distances, "_CHUNK_ENTRIES", 100)
    assert mean_discordance(U, V, np.random.default_rng(5), some) == whole


def test_progress_counts_blocks_and_cancel_stops_between_them(small_blocks, rng):
    U = soft(60, 3, seed=1)
    seen = []
    mean_discordance(U, U, rng, walk(progress=lambda *step: seen.append(step)))
    assert len(seen) > 2
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1] == (1770, 1770)
    with pytest.raises(Cancelled):
        mean_discordance(U, U, rng, walk(cancel=lambda: True))


# Multiples of 1/64, so that no comparison at a boundary is left to rounding.
values = st.lists(st.integers(-128, 128).map(lambda k: k / 64), min_size=1, max_size=25)


@given(values, st.lists(st.integers(0, 3), min_size=25, max_size=25))
@settings(max_examples=60)
def test_sum_of_differences_is_that_of_all_pairs(numbers, codes):
    x = np.array(numbers, dtype=float)
    groups = np.array(codes[: len(x)])
    gaps = np.triu(np.abs(x[:, None] - x))
    assert sum_of_differences(x) == pytest.approx(gaps.sum(), abs=1e-12)
    same = gaps[groups[:, None] == groups].sum()
    assert sum_of_differences(x, groups) == pytest.approx(same, abs=1e-12)


@given(values, values)
@settings(max_examples=60)
def test_difference_from_is_the_mean_absolute_difference(numbers, points):
    t = np.sort(np.array(points, dtype=float))
    distribution = PairDistances.from_values(np.array(numbers, dtype=float))
    expected = np.abs(np.array(numbers)[:, None] - t).mean(axis=0)
    np.testing.assert_allclose(distribution.difference_from(t), expected, atol=1e-12)
    near = (np.abs(np.array(numbers)[:, None] - t) <= 0.5).mean(axis=0)
    np.testing.assert_allclose(
        distribution.probability_within(t, 0.5), near, atol=1e-12
    )
