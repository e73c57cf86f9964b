"""NDC and Brouwer's index against definitions, published values and invariances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import rand_score

from clusterlens.compute.fuzzy.concordance import brouwer_index, ndc
from clusterlens.compute.fuzzy.partition import FuzzyPartition
from tests.fuzzy_definitions import (
    REFERENCE,
    concordance,
    cosine_concordance,
    one_hot,
    soft,
)

TOY = REFERENCE["toy"]


def test_toy_values_are_the_published_ones():
    toy = [TOY["matrices"][name] for name in TOY["names"]]
    table = [[float(ndc(U, V)) for V in toy] for U in toy]
    np.testing.assert_allclose(table, TOY["ndc"]["matrix"], atol=TOY["ndc"]["tol"])


@pytest.mark.parametrize(
    "case", REFERENCE["pairs"] + REFERENCE["degenerate"], ids=lambda c: c["name"]
)
def test_reference_pairs_are_met(case):
    result = ndc(case["u"], case["v"])
    assert result.value == pytest.approx(case["ndc"], abs=1e-12)
    assert result.standard_error == 0


KINDS = {
    "soft against soft": (soft(14, 3, seed=1), soft(14, 5, seed=2)),
    "two clusters each": (soft(14, 2, seed=1), soft(14, 2, seed=2)),
    "hard against soft": (one_hot(np.arange(14) % 4), soft(14, 3, seed=2)),
    "soft against hard": (soft(14, 3, seed=2), one_hot(np.arange(14) % 4)),
    "hard against hard": (one_hot(np.arange(14) % 4), one_hot(np.arange(14) // 5)),
    "one cluster": (np.ones((14, 1)), soft(14, 3, seed=2)),
    "all singletons": (np.eye(14), soft(14, 2, seed=2)),
    "duplicated rows": (np.repeat(soft(7, 3, seed=1), 2, axis=0), soft(14, 3, seed=2)),
}


@pytest.mark.parametrize("pair", KINDS.values(), ids=KINDS)
def test_every_way_of_computing_agrees_with_the_definition(pair):
    U, V = pair
    assert ndc(U, V).value == pytest.approx(concordance(U, V), abs=1e-13)
    index = brouwer_index(U, V)
    assert index.value == pytest.approx(cosine_concordance(U, V), abs=1e-13)
    assert index.self_u == pytest.approx(cosine_concordance(U, U), abs=1e-13)
    assert index.self_v == pytest.approx(cosine_concordance(V, V), abs=1e-13)


partitions = st.builds(
    soft, st.just(9), st.integers(1, 5), st.integers(0, 99), st.sampled_from([0.1, 1])
) | st.lists(st.integers(0, 4), min_size=9, max_size=9)


@given(partitions, partitions, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_indices_ignore_order_of_arguments_samples_and_clusters(U, V, random):
    u, v = (FuzzyPartition(m).memberships for m in (U, V))
    samples = random.sample(range(9), 9)
    clusters = random.sample(range(u.shape[1]), u.shape[1])
    for index in (ndc, brouwer_index):
        value = float(index(U, V))
        assert -1e-12 <= value <= 1 + 1e-12
        assert float(index(V, U)) == pytest.approx(value, abs=1e-13)
        moved = index(u[samples][:, clusters], v[samples])
        assert float(moved) == pytest.approx(value, abs=1e-13)


@given(partitions)
@settings(max_examples=40)
def test_a_partition_agrees_with_itself_and_with_an_empty_cluster_added(U):
    u = FuzzyPartition(U).memberships
    assert ndc(U, u).value == pytest.approx(1, abs=1e-13)
    assert ndc(U, np.insert(u, 0, 0.0, axis=1)).value == pytest.approx(1, abs=1e-13)


def test_brouwer_is_reflexive_only_for_hard_partitions():
    assert brouwer_index([0, 1, 1, 2], [0, 1, 1, 2]).value == 1
    assert brouwer_index(soft(8, 3, seed=0), soft(8, 3, seed=0)).self_u < 1


def test_hard_labels_give_the_rand_index_with_more_than_255_clusters():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 300, 2000), rng.integers(0, 5, 2000)
    assert ndc(a, b).value == pytest.approx(rand_score(a, b), abs=1e-14)
    assert brouwer_index(a, b).value == pytest.approx(rand_score(a, b), abs=1e-14)


def test_large_soft_partitions_are_sampled_and_say_so():
    U, V = soft(300, 3, seed=1), soft(300, 4, seed=2)
    exact = ndc(U, V)
    drawn = ndc(U, V, exact_limit=299, n_pairs=50_000, random_state=1)
    assert (exact.n_drawn, drawn.n_drawn) == (0, 50_000)
    assert 0 < drawn.standard_error < 2e-3
    assert abs(drawn.value - exact.value) < 5 * drawn.standard_error
    assert drawn == ndc(U, V, exact_limit=299, n_pairs=50_000, random_state=1)


@pytest.mark.parametrize("V", [soft(300, 2, seed=2), np.arange(300) % 7])
def test_exact_shortcuts_hold_above_the_limit_of_samples(V):
    result = ndc(soft(300, 2, seed=1), V, exact_limit=10)
    assert result.standard_error == 0
