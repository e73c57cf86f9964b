"""NDC with other norms and Brouwer's index, also adjusted for chance."""

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import clusterlens as cl
from clusterlens.compute.fuzzy._pair_distances import PairWalk, observed_distances
from tests.fuzzy_definitions import concordance, cosine_concordance, one_hot, soft

NORMS = [1, 1.5, 2, 3, np.inf]
MODELS = ["fit", "sym", "flat"]


def indices(norm):
    """Fast index, its adjustment, and its definition."""
    if norm is None:
        return cl.brouwer_index, cl.adjusted_brouwer, cosine_concordance
    return (
        lambda U, V: cl.ndc(U, V, norm=norm),
        lambda *sides, **options: cl.adjusted_ndc(*sides, norm=norm, **options),
        lambda U, V: concordance(U, V, norm),
    )


@pytest.mark.parametrize("norm", NORMS)
def test_ndc_follows_its_definition_in_every_norm(norm):
    U, V = soft(30, 4, 0), soft(30, 3, 1)
    labels = np.arange(30) % 5
    for V_any, rows in ((V, V), (labels, one_hot(labels))):
        expected = concordance(U, rows, norm)
        assert cl.ndc(U, V_any, norm=norm).value == pytest.approx(expected, abs=1e-12)
        assert cl.ndc(V_any, U, norm=norm).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_pairs_drawn_at_random_estimate_it(norm):
    U, V = soft(40, 4, 0), soft(40, 3, 1)
    drawn = cl.ndc(U, V, norm=norm, exact_limit=0, n_pairs=20_000)
    assert abs(drawn.value - concordance(U, V, norm)) < 4 * drawn.standard_error


@pytest.mark.parametrize("norm", NORMS)
def test_binned_distances_have_the_moments_of_all(norm):
    U = soft(1100, 3, 0)
    binned = observed_distances(U, np.random.default_rng(0), PairWalk(), norm)
    every = pdist(U, "minkowski", p=norm) / np.linalg.norm([1, -1], norm)
    assert binned.width > 0
    assert binned.weights @ binned.values == pytest.approx(every.mean(), abs=1e-12)
    spread = binned.weights @ binned.values**2
    assert spread == pytest.approx((every**2).mean(), abs=1e-6)


def test_the_norm_does_not_matter_to_hard_partitions_nor_to_two_clusters():
    U, V = soft(20, 2, 0), soft(20, 2, 1)
    a, b = np.arange(20) % 3, np.arange(20) // 7
    for norm in NORMS:
        assert cl.ndc(a, b, norm=norm).value == cl.ndc(a, b).value
        assert cl.ndc(U, V, norm=norm).value == pytest.approx(cl.ndc(U, V).value)
        assert cl.ndc(U, V, norm=norm).value == pytest.approx(concordance(U, V, norm))


@pytest.mark.parametrize("norm", [0.5, 0, -1, np.nan, "two", None])
def test_orders_that_are_no_norm_are_refused(norm):
    for compare in (cl.ndc, cl.adjusted_ndc):
        with pytest.raises(ValueError, match="norm is"):
            compare(soft(5, 3, 0), soft(5, 3, 1), norm=norm)


@pytest.mark.parametrize("norm", [1, 2, np.inf, None])
@pytest.mark.parametrize("is_hard", [False, True])
def test_permutation_expects_the_mean_over_all_orders(norm, is_hard):
    index, adjusted, _ = indices(norm)
    U, V = soft(5, 3, 0), soft(5, 3, 1)
    if is_hard:
        V = one_hot([0, 0, 1, 2, 1])
    orders = itertools.permutations(range(5))
    mean = np.mean([float(index(U, V[list(order)])) for order in orders])
    result = adjusted(U, V)
    assert result.expected == pytest.approx(mean, abs=1e-12)
    observed = float(index(U, V))
    assert result.value == pytest.approx((observed - mean) / (1 - mean))
    assert result.standard_error == 0


def model_rows(U, model, n_rows, rng):
    """Draw rows of the random model of a partition."""
    if model == "flat":
        return rng.dirichlet(np.ones(U.shape[1]), n_rows)
    fit = cl.fit_dirichlet(U, symmetric=model == "sym")
    if fit.kind == "categorical":
        return np.eye(len(fit.mean))[rng.choice(len(fit.mean), n_rows, p=fit.mean)]
    return rng.dirichlet(fit.alpha, n_rows)


@pytest.mark.parametrize("norm", [2, None])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("fixed", [None, "v"])
@pytest.mark.parametrize("is_hard", [False, True])
def test_models_expect_the_mean_over_drawn_partitions(norm, model, fixed, is_hard):
    index, adjusted, _ = indices(norm)
    U, V = soft(12, 3, 0), soft(12, 4, 1)
    if is_hard:
        V = one_hot(np.arange(12) % 4)
    rng = np.random.default_rng(0)
    values = [
        float(
            index(
                model_rows(U, model, 12, rng),
                V[rng.permutation(12)] if fixed else model_rows(V, model, 12, rng),
            )
        )
        for _ in range(225)
    ]
    result = adjusted(U, V, model=model, fixed=fixed, precision=0.01)
    error = np.hypot(np.std(values) / 15, result.expected_standard_error)
    assert abs(result.expected - np.mean(values)) < 4 * error
    assert result.standard_error <= 0.01


@pytest.mark.parametrize("model", ["permutation", *MODELS])
def test_a_norm_close_to_one_gives_what_one_gives(model):
    U, V = soft(40, 4, 0), soft(40, 3, 1)
    ours = cl.adjusted_ndc(U, V, model, norm=1 + 1e-12)
    known = cl.adjusted_ndc(U, V, model)
    error = np.hypot(ours.standard_error, known.standard_error)
    assert abs(ours.value - known.value) <= 4 * error + 1e-9


@pytest.mark.parametrize(
    ("model", "of_hard"), [("permutation", "permutation"), ("fit", "categorical")]
)
def test_brouwer_of_hard_partitions_is_the_adjusted_rand_index(model, of_hard):
    a, b = np.arange(30) % 3, np.arange(30) // 8
    rand = cl.adjusted_rand(a, b, of_hard).value
    assert cl.adjusted_brouwer(a, b, model).value == pytest.approx(rand, abs=1e-12)


def test_brouwer_is_the_same_from_both_sides():
    U, V = soft(20, 3, 0), soft(20, 4, 1)
    assert cl.adjusted_brouwer(U, V).value == pytest.approx(
        cl.adjusted_brouwer(V, U).value
    )
    one = cl.adjusted_brouwer(U, V, "fit", "v", precision=0.005)
    other = cl.adjusted_brouwer(V, U, "fit", "u", precision=0.005)
    error = np.hypot(one.standard_error, other.standard_error)
    assert abs(one.value - other.value) < 4 * error
