"""Adjusted agreement against published values, scikit-learn and invariances."""

import itertools
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, rand_score

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.fuzzy.adjusted import adjusted_ndc, adjusted_rand
from clusterlens.compute.fuzzy.dirichlet import fit_dirichlet
from clusterlens.compute.fuzzy.random_models import RANDOM_MODELS
from tests.fuzzy_definitions import (
    MODEL_NAMES,
    REFERENCE,
    concordance,
    model_cases,
    one_hot,
    permutation_expectation,
    soft,
)

TOY = REFERENCE["toy"]
SOFT_MODELS = [name for name, m in RANDOM_MODELS.items() if m.distribution]
HARD_MODELS = [name for name, m in RANDOM_MODELS.items() if m.share_together]
SOFT_CASES = list(model_cases(REFERENCE["pairs"]))
HARD_CASES = list(model_cases(REFERENCE["hard"]))


@pytest.mark.parametrize(
    ("name", "case", "model", "fixed", "spec"),
    SOFT_CASES,
    ids=[c[0] for c in SOFT_CASES],
)
def test_reference_pairs_are_met_under_every_model(name, case, model, fixed, spec):
    result = adjusted_ndc(case["u"], case["v"], model, fixed)
    exact = spec.get("se_expected", 0.0) == 0
    reference = spec.get("tol_expected", spec.get("tol"))
    allowed = reference + 4.5 * result.expected_standard_error
    assert (result.standard_error == 0) == exact
    assert result.standard_error <= 5e-4
    assert result.expected == pytest.approx(spec["expected"], abs=allowed)
    reference = spec.get("tol_adjusted", spec.get("tol"))
    allowed = reference + 4.5 * result.standard_error
    assert result.value == pytest.approx(spec["adjusted"], abs=allowed)
    assert result.value == pytest.approx(
        (result.observed - result.expected) / (1 - result.expected), abs=1e-12
    )


@pytest.mark.parametrize(
    ("name", "case", "model", "fixed", "spec"),
    HARD_CASES,
    ids=[c[0] for c in HARD_CASES],
)
def test_hard_reference_cases_are_met_under_every_model(name, case, model, fixed, spec):
    result = adjusted_rand(case["u"], case["v"], model, fixed)
    assert result.observed == pytest.approx(case["rand_index"], abs=1e-14)
    assert result.expected == pytest.approx(spec["expected"], abs=1e-12)
    assert result.value == pytest.approx(spec["adjusted"], abs=1e-12)


@pytest.mark.parametrize("case", REFERENCE["degenerate"], ids=lambda c: c["name"])
def test_degenerate_cases_are_flagged(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = adjusted_ndc(case["u"], case["v"])
    assert result.expected == pytest.approx(case["perm_expected"], abs=1e-12)
    assert result.value == pytest.approx(case["perm_adjusted"], abs=1e-12)
    assert result.degenerate == case["degenerate"]
    if "fit_two_sided_expected" in case:
        result = adjusted_ndc(case["u"], case["v"], "fit")
        assert result.expected == case["fit_two_sided_expected"]
        assert (result.value, result.degenerate) == (1.0, True)


@cache
def toy_table(model, fixed):
    toy = [TOY["matrices"][name] for name in TOY["names"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return np.array(
            [[float(adjusted_ndc(U, V, model, fixed)) for V in toy] for U in toy]
        )


@pytest.mark.parametrize("family", ["fit", "sym", "flat"])
@pytest.mark.parametrize("fixed", [None, "u"])
def test_toy_tables_agree_with_the_published_ones(family, fixed):
    side = "one_sided_row_fixed_column_random" if fixed else "two_sided"
    spec, table = TOY[family][side], toy_table(family, fixed)
    np.testing.assert_allclose(table, spec["adjusted"], atol=2.5e-3)
    allowed = TOY[family]["tol_published_csv"]
    np.testing.assert_allclose(table, spec["published_csv"], atol=allowed)
    if family == "flat":
        np.testing.assert_allclose(table, spec["adjusted"], atol=1e-9)


@pytest.mark.parametrize("family", ["perm", "fit", "sym", "flat"])
def test_toy_pairs_are_ranked_as_in_table_2(family):
    """Where the print differs, comparisons tie or are mended (see the reference)."""
    table = toy_table(MODEL_NAMES.get(family, family), None)
    position = {name: i for i, name in enumerate(TOY["names"])}
    values = {
        int(key): table[position[a], position[b]]
        for key, (a, b) in TOY["comparison_ids"].items()
    }
    order = TOY["ranks_high_precision_two_sided"][family]
    ranked = [values[key] for key in order]
    assert all(a >= b - 1e-3 for a, b in itertools.pairwise(ranked))


def test_permutation_table_of_the_toy_is_exact():
    spec = TOY["perm"]["adjusted"]
    np.testing.assert_allclose(
        toy_table("permutation", None), spec, atol=TOY["perm"]["tol"]
    )


@given(
    st.integers(2, 60).flatmap(
        lambda n: st.tuples(
            *[st.lists(st.integers(0, 6), min_size=n, max_size=n) for _ in "ab"]
        )
    )
)
@settings(max_examples=80)
def test_hard_permutation_is_the_adjusted_rand_score(labels):
    a, b = labels
    expected = adjusted_rand_score(a, b)
    assert adjusted_rand(a, b).value == pytest.approx(expected, abs=1e-12)
    assert adjusted_ndc(a, b).value == pytest.approx(expected, abs=1e-12)
    assert adjusted_ndc(one_hot(a), b).observed == pytest.approx(rand_score(a, b))


def test_hard_permutation_keeps_its_digits_for_many_samples_and_clusters():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 400, 100_000)
    b = np.where(rng.random(a.size) < 0.3, a, rng.integers(0, 3000, a.size))
    expected = adjusted_rand_score(a, b)
    assert adjusted_rand(a, b).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("fixed", [None, "u", "v"])
def test_permutation_is_the_same_one_sided(fixed):
    U, V = soft(15, 3, seed=1), soft(15, 4, seed=2)
    result = adjusted_ndc(U, V, fixed=fixed)
    expected = permutation_expectation(U, V)
    assert result.expected == pytest.approx(expected, abs=1e-13)
    adjusted = (concordance(U, V) - expected) / (1 - expected)
    assert result.value == pytest.approx(adjusted, abs=1e-12)


def test_permutation_expectation_is_the_mean_over_shuffles():
    U, V = soft(5, 3, seed=1), soft(5, 2, seed=2)
    shuffles = itertools.permutations(range(5))
    mean = np.mean([concordance(U, V[list(order)]) for order in shuffles])
    assert adjusted_ndc(U, V).expected == pytest.approx(mean, abs=1e-13)


@pytest.mark.parametrize("model", ["fit", "sym", "flat"])
@pytest.mark.parametrize("fixed", [None, "u", "v"])
def test_expectation_is_the_mean_over_drawn_partitions(model, fixed):
    """Redraws whole partitions from the model and averages their concordance."""
    U, V = soft(12, 3, seed=1), soft(12, 4, seed=2)
    rng = np.random.default_rng(0)

    def drawn(rows, is_fixed):
        if is_fixed:
            return [rows] * 800
        alpha = np.ones(rows.shape[1])
        if model != "flat":
            alpha = fit_dirichlet(rows, symmetric=model == "sym").alpha
        return rng.dirichlet(alpha, (800, len(rows)))

    both = zip(drawn(U, fixed == "u"), drawn(V, fixed == "v"), strict=True)
    draws = [concordance(one, other) for one, other in both]
    error = np.std(draws) / np.sqrt(len(draws))
    result = adjusted_ndc(U, V, model, fixed)
    assert abs(result.expected - np.mean(draws)) < 4.5 * error


KINDS = {
    "soft": (soft(20, 3, seed=1), soft(20, 4, seed=2)),
    "two clusters": (soft(20, 2, seed=1), soft(20, 2, seed=2)),
    "mixed": (soft(20, 3, seed=1), one_hot(np.arange(20) % 4)),
    "hard": (one_hot(np.arange(20) % 3), one_hot(np.arange(20) // 5)),
}


@pytest.mark.parametrize("model", SOFT_MODELS)
@pytest.mark.parametrize("pair", KINDS.values(), ids=KINDS)
def test_soft_models_ignore_order_of_arguments_samples_and_clusters(model, pair):
    U, V = pair
    rng = np.random.default_rng(0)
    samples = rng.permutation(len(U))
    clusters = rng.permutation(U.shape[1])
    for fixed, swapped in ((None, None), ("u", "v"), ("v", "u")):
        value = adjusted_ndc(U, V, model, fixed).value
        other = adjusted_ndc(V, U, model, swapped).value
        moved = adjusted_ndc(U[samples][:, clusters], V[samples], model, fixed).value
        assert other == pytest.approx(value, abs=1e-10)
        assert moved == pytest.approx(value, abs=1e-6)
        assert value <= 1


@pytest.mark.parametrize("model", HARD_MODELS)
def test_hard_models_ignore_order_and_names(model):
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 4, 30), rng.integers(0, 3, 30)
    for fixed, swapped in ((None, None), ("u", "v"), ("v", "u")):
        value = adjusted_rand(a, b, model, fixed).value
        assert adjusted_rand(b, a, model, swapped).value == pytest.approx(value)
        assert adjusted_rand(-7 * a, b + 2, model, fixed).value == pytest.approx(value)
    assert adjusted_rand(a, a, model).value == 1


@pytest.mark.parametrize(
    ("soft_model", "hard_model"), [("fit", "categorical"), ("sym",) * 2]
)
@pytest.mark.parametrize("fixed", [None, "u", "v"])
def test_soft_models_become_their_hard_ones(soft_model, hard_model, fixed):
    a, b = [0, 0, 1, 1, 2, 2, 2], [0, 1, 1, 1, 1, 0, 0]
    expected = adjusted_rand(a, b, hard_model, fixed)
    found = adjusted_ndc(a, b, soft_model, fixed)
    assert found.value == pytest.approx(expected.value, abs=1e-14)
    assert found.n_drawn == 0


@pytest.mark.parametrize("model", SOFT_MODELS)
def test_equal_partitions_reach_one(model):
    for U, V in KINDS.values():
        assert adjusted_ndc(U, U, model).value == pytest.approx(1, abs=1e-12)
        assert adjusted_ndc(V, V, model, "u").value == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_standard_error_covers_the_precise_value(seed):
    U, V = soft(30, 4, seed=10 + seed, alpha=0.3), soft(30, 6, seed=50 + seed)
    rough = adjusted_ndc(U, V, "fit", random_state=seed, precision=5e-3)
    fine = adjusted_ndc(U, V, "fit", random_state=99, precision=2e-4)
    assert 0 < fine.standard_error <= 2e-4
    assert abs(rough.value - fine.value) < 5 * rough.standard_error


def test_zeros_are_counted_and_only_touch_fits():
    U = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    V = soft(4, 2, seed=0)
    assert adjusted_ndc(U, V, "fit").n_floored == 3
    assert adjusted_ndc(U, V, "fit", fixed="u").n_floored == 0
    assert adjusted_ndc(U, V).n_floored == 0
    coarse = adjusted_ndc(U, V, "sym", floor=1e-3)
    assert coarse.floor == 1e-3
    assert coarse.expected != pytest.approx(
        adjusted_ndc(U, V, "sym").expected, abs=1e-3
    )


def test_empty_clusters_matter_only_to_flat_and_only_if_kept():
    U, V = soft(10, 3, seed=1), soft(10, 3, seed=2)
    wide = np.insert(U, 1, 0.0, axis=1)
    for model in SOFT_MODELS:
        plain = adjusted_ndc(U, V, model)
        dropped = adjusted_ndc(wide, V, model)
        kept = adjusted_ndc(wide, V, model, keep_empty=True)
        assert dropped.notes == ("U: 1 of 4 clusters have no member.",)
        assert dropped.value == pytest.approx(plain.value, abs=1e-12)
        if model == "flat":
            four = adjusted_ndc(soft(10, 4, seed=3), V, "flat")
            assert kept.expected == four.expected
        else:
            assert kept.value == pytest.approx(plain.value, abs=1e-12)


def test_high_expectations_warn():
    U = 0.5 + 1e-3 * (soft(8, 2, seed=0) - 0.5)
    V = 0.5 + 1e-3 * (soft(8, 2, seed=1) - 0.5)
    with pytest.warns(UserWarning, match="expects a concordance of 0.99"):
        result = adjusted_ndc(U, V)
    assert not result.degenerate
    expected = adjusted_ndc(soft(8, 2, seed=0), soft(8, 2, seed=1)).value
    assert result.value == pytest.approx(expected, abs=1e-9)


def test_large_partitions_are_sampled_with_an_honest_error():
    U, V = soft(150, 3, seed=1), soft(150, 4, seed=2)
    for model, fixed in (("permutation", None), ("flat", "u"), ("fit", "v")):
        exact = adjusted_ndc(U, V, model, fixed, precision=1e-4)
        drawn = adjusted_ndc(U, V, model, fixed, exact_limit=100, n_pairs=40_000)
        assert drawn.standard_error > exact.standard_error
        assert abs(drawn.value - exact.value) < 5 * drawn.standard_error


def test_same_seed_gives_the_same_result():
    U, V = soft(20, 4, seed=1), soft(20, 5, seed=2)
    assert adjusted_ndc(U, V, "fit") == adjusted_ndc(U, V, "fit", n_jobs=1)
    assert adjusted_ndc(U, V, "fit") != adjusted_ndc(U, V, "fit", random_state=1)


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match="model is 'num'; give one of 'permutation'"):
        adjusted_ndc([0, 1], [0, 1], "num")
    with pytest.raises(ValueError, match="model is 'flat'; give one of 'permutation'"):
        adjusted_rand([0, 1], [0, 1], "flat")
    with pytest.raises(ValueError, match="fixed is 'first'; give one of 'u', 'v'"):
        adjusted_ndc([0, 1], [0, 1], fixed="first")
    with pytest.raises(ValueError, match=r"^b has memberships between 0 and 1"):
        adjusted_rand([0, 1], [[0.5, 0.5], [1, 0]])


def test_cancel_is_asked():
    with pytest.raises(Cancelled):
        adjusted_ndc(soft(9, 4, seed=1), soft(9, 4, seed=2), "fit", cancel=lambda: True)


def test_unreached_precision_is_noted():
    U, V = soft(150, 3, seed=1), soft(150, 4, seed=2)
    result = adjusted_ndc(U, V, exact_limit=100, n_pairs=1000)
    assert result.standard_error > 5e-4
    assert result.notes == (
        "The standard error is above the requested precision of 0.0005.",
    )


def test_executor_of_the_caller_gives_the_same():
    U, V = soft(40, 4, seed=1), soft(40, 5, seed=2)
    with ThreadPoolExecutor(1) as pool:
        assert adjusted_ndc(U, V, "fit", executor=pool) == adjusted_ndc(U, V, "fit")
