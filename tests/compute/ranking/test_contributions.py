import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute._run.options import RunOptions
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.pairs import pair_layout
from clusterlens.compute.ranking._contributions import mean_costs
from clusterlens.compute.ranking.scores import discotec, pair_costs
from tests.definitions import agreement_counts, label_matrices


@settings(max_examples=40)
@given(labels=label_matrices(), data=st.data())
def test_mean_costs_are_those_of_the_definition(labels, data):
    ensemble = Ensemble(labels)
    n_models, n_samples = labels.shape
    if n_samples < 2:
        return
    layout = pair_layout(ensemble, np.arange(n_samples))
    partners = data.draw(st.integers(2, n_samples))
    start = data.draw(st.integers(0, n_samples - 1))
    joined, apart = pair_costs("kl", n_models, 1)
    means = mean_costs(layout, joined, apart, partners, start, n_samples)
    counts = agreement_counts(labels)
    for t, row in enumerate(labels):
        cost = np.where(row[:, None] == row, joined[counts], apart[counts])
        np.fill_diagonal(cost, 0)
        others = partners - (np.arange(n_samples) < partners)
        expected = cost[:, :partners].sum(axis=1) / others
        np.testing.assert_allclose(
            means[:, layout.group[t]], expected[start:], rtol=1e-12, atol=1e-15
        )


def test_samples_past_one_tile_of_columns_are_compared_too():
    labels = np.random.default_rng(0).integers(0, 3, (3, 700))
    layout = pair_layout(Ensemble(labels), np.arange(700))
    joined, apart = pair_costs("binary", 3, 2)
    means = mean_costs(layout, joined, apart, 700, 0, 700, RunOptions(n_jobs=2))
    scores = discotec(Ensemble(labels), threshold=2)
    np.testing.assert_allclose(means.mean(axis=0) * 699 / 700, scores, rtol=1e-12)
