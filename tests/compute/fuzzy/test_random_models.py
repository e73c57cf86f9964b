"""Random models: shares of joined pairs against exact integers, and the registry."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute.fuzzy.random_models import (
    RANDOM_MODELS,
    bell_share,
    categorical_share,
    equal_share,
    observed_share,
    stirling_share,
)


@cache
def stirling_row(n):
    """Stirling numbers of the second kind S(n, 0..n), exact."""
    if n == 0:
        return (1,)
    last = (*stirling_row(n - 1), 0)
    return (0, *(k * last[k] + last[k - 1] for k in range(1, n + 1)))


def sizes_of(n, k):
    return np.array([n - k + 1.0] + [1.0] * (k - 1))


@pytest.mark.parametrize("n", [2, 3, 4, 7, 25, 100, 400])
def test_num_share_is_the_exact_quotient_of_stirling_numbers(n):
    for k in {1, 2, 3, n // 2, n - 2, n - 1, n} - {0, -1}:
        if k <= n:
            below = stirling_row(n - 1)[k] if k < n else 0
            exact = float(Fraction(below, stirling_row(n)[k]))
            assert stirling_share(sizes_of(n, k)) == pytest.approx(exact, rel=1e-12)


def test_num_share_is_that_of_equal_labels_for_many_samples():
    assert stirling_share(sizes_of(10**7, 5)) == 1 / 5
    n, k = 700, 12  # where the shortcut is taken, exact integers agree
    exact = float(Fraction(stirling_row(n - 1)[k], stirling_row(n)[k]))
    assert stirling_share(sizes_of(n, k)) == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 10, 40, 150, 400])
def test_all_share_is_the_exact_quotient_of_bell_numbers(n):
    exact = float(Fraction(sum(stirling_row(n - 1)), sum(stirling_row(n))))
    assert bell_share(np.ones(n)) == pytest.approx(exact, rel=1e-12)


def test_num_share_keeps_its_digits_for_a_million_samples():
    n = 10**6
    exact = 1 / math.comb(n, 2)  # S(n, n - 1) = n (n - 1) / 2, S(n - 1, n - 1) = 1
    assert stirling_share(sizes_of(n, n - 1)) == pytest.approx(exact, rel=1e-9)
    assert 0 < stirling_share(sizes_of(n, n // 10)) < 10 / n


def test_all_share_falls_like_log_n_over_n_for_many_samples():
    n = 10**6
    share = bell_share(np.array([float(n)]))
    assert share == pytest.approx(math.log(n) / n, rel=0.3)
    doubled = bell_share(np.array([2.0 * n]))
    assert share / 2 < doubled < share


def test_labels_drawn_at_random_join_the_stated_share_of_pairs():
    sizes = np.array([50.0, 30.0, 20.0])
    rng = np.random.default_rng(0)
    draws = rng.choice(3, size=(2, 200_000), p=sizes / 100)
    assert (draws[0] == draws[1]).mean() == pytest.approx(
        categorical_share(sizes), abs=5e-3
    )
    assert equal_share(sizes) == 1 / 3
    assert observed_share(sizes) == pytest.approx((1225 + 435 + 190) / 4950)


HARD = {name: m for name, m in RANDOM_MODELS.items() if m.share_together}


@pytest.mark.parametrize("name", HARD)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=8))
@settings(max_examples=40)
def test_shares_are_probabilities_and_ignore_the_order_of_clusters(name, sizes):
    counts = np.array([*sizes, 1.0])
    share = HARD[name].share_together
    assert -1e-15 <= share(counts) <= 1
    assert share(counts[::-1]) == pytest.approx(share(counts), rel=1e-12)


def test_registry_describes_every_model():
    for model in RANDOM_MODELS.values():
        assert model.title
        assert model.assumption.endswith(".")
        assert model.same_by_chance
        assert model.distribution or model.share_together
