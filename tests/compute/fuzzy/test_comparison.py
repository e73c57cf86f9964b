from dataclasses import replace

import numpy as np
import pytest

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.fuzzy.adjusted import adjusted_ndc
from clusterlens.compute.fuzzy.comparison import compare_fuzzy, sample_discordance
from clusterlens.compute.fuzzy.concordance import ndc


def soft(n_samples, n_clusters, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(n_clusters), n_samples)


def hard(n_samples, n_clusters, seed=0):
    return np.random.default_rng(seed).integers(0, n_clusters, n_samples)


PAIRS = {
    "soft, soft": (soft(40, 3), soft(40, 4, seed=1)),
    "soft, hard": (soft(40, 3), hard(40, 4)),
    "hard, soft": (hard(40, 4), soft(40, 2)),
    "hard, hard": (hard(40, 4), hard(40, 3, seed=1)),
}


def rows_of(given):
    return given if given.ndim == 2 else np.eye(given.max() + 1)[given]


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_discordance_of_samples_is_as_defined_and_means_one_minus_ndc(pair):
    in_u, in_v = (
        np.abs(rows[:, None] - rows).sum(axis=2) / 2 for rows in map(rows_of, pair)
    )
    found = sample_discordance(*pair)
    expected = np.abs(in_u - in_v).sum(axis=1) / 39
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    assert found.values.mean() == pytest.approx(1 - ndc(*pair).value, abs=1e-12)
    assert (found.n_others, found.exact) == (39, True)


def test_drawn_others_estimate_the_same_values(monkeypatch):
    U, V = soft(600, 3), soft(600, 3, seed=1)
    exact = sample_discordance(U, V).values
    found = sample_discordance(U, V, exact_limit=100, n_others=300)
    assert (found.n_others, found.exact) == (300, False)
    assert np.abs(found.values - exact).max() < 0.06
    assert found.values.mean() == pytest.approx(exact.mean(), abs=0.01)
    again = sample_discordance(U, V, exact_limit=100, n_others=300)
    np.testing.assert_array_equal(found.values, again.values)
    name = "clusterlens.compute.fuzzy.comparison._BLOCK_PAIRS"
    monkeypatch.setattr(name, 5000)
    np.testing.assert_allclose(sample_discordance(U, V).values, exact, atol=1e-12)
    with pytest.raises(Cancelled):
        sample_discordance(U, V, cancel=lambda: True)


@pytest.mark.parametrize("model", ["permutation", "fit", "sym", "flat"])
def test_table_holds_the_value_of_each_pair(model):
    partitions = {"a": soft(30, 3), "b": hard(30, 2), "c": soft(30, 2, seed=1)}
    seen = []
    table = compare_fuzzy(
        partitions, model, progress=lambda *step: seen.append(step), precision=0.01
    )
    assert table[["u", "v"]].to_numpy().tolist() == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert seen == [(1, 3), (2, 3), (3, 3)]
    for row in table.itertuples():
        one = adjusted_ndc(partitions[row.u], partitions[row.v], model, precision=0.01)
        assert (row.value, row.standard_error) == (one.value, one.standard_error)
        assert (row.observed, row.expected) == (one.observed, one.expected)


def test_one_sided_comparisons_are_made_both_ways_round():
    partitions = [soft(30, 3), hard(30, 2)]
    table = compare_fuzzy(partitions, "flat", fixed="u")
    assert table[["u", "v"]].to_numpy().tolist() == [["1", "2"], ["2", "1"]]
    turned = compare_fuzzy(partitions, "flat", fixed="v")
    values = turned.set_index(["v", "u"])["value"]
    for row in table.itertuples():
        assert row.value == pytest.approx(values[row.u, row.v], abs=2e-3)


def test_wrong_sets_are_named():
    with pytest.raises(ValueError, match="partitions has 1 entries"):
        compare_fuzzy([[0, 1]])
    with pytest.raises(
        ValueError, match="partitions have different numbers of samples"
    ):
        compare_fuzzy([[0, 1], [0, 1, 1]])
    with pytest.raises(ValueError, match="fixed is 'w'"):
        compare_fuzzy([[0, 1], [0, 1]], fixed="w")


def test_sentence_says_what_was_computed():
    both = adjusted_ndc(*PAIRS["soft, hard"])
    assert both.sentence.startswith(f"Adjusted for chance: {both.value:.3f} (exact; ")
    assert "Permutation model, both sides random" in both.sentence
    one = adjusted_ndc(*PAIRS["soft, soft"], "fit", "v", precision=0.01)
    assert "Fit model, V kept as it is, U random" in one.sentence
    assert "±" in one.sentence
    below = replace(both, value=-0.0001)
    assert below.sentence.startswith("Adjusted for chance: 0.000 (exact; ")
