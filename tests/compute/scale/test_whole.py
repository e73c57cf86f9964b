"""Contingency tables of pieces add up to the table of all rows."""

import numpy as np
import pytest

from clusterlens.compute._run.options import RunOptions
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.overlaps import partition_overlaps
from clusterlens.compute.ranking.ranking import rank_partitions
from clusterlens.compute.scale.whole import WholeTable, one_hot_table


@pytest.mark.parametrize("noise", ["cluster", "singletons"])
def test_sums_over_pieces_are_the_overlaps_of_all_rows(noise):
    rng = np.random.default_rng(0)
    labels = np.array([rng.integers(-1, k, 900) for k in (2, 5, 3, 40)])
    clusters = [np.unique(row) for row in labels]
    starts = np.cumsum([0, *map(len, clusters)])
    parts = [
        one_hot_table(list(labels[:, some]), clusters, starts)
        for some in np.array_split(np.arange(900), 7)
    ]
    facts = (starts, np.concatenate(clusters) == -1, labels, {}, 0, None)
    found = WholeTable(900, sum(parts[1:], parts[0]), *facts).overlaps(noise)
    expected = partition_overlaps(Ensemble(labels, noise=noise))
    np.testing.assert_array_equal(found.squares, expected.squares)
    np.testing.assert_allclose(found.logs, expected.logs, atol=1e-9)


@pytest.mark.parametrize("n", [480, 900])
@pytest.mark.parametrize("noise", ["cluster", "singletons"])
def test_noise_counts_in_the_ranking_as_in_memory(n, noise):
    rng = np.random.default_rng(0)
    labels = np.array([rng.integers(-1, k, n) for k in (2, 3, 3, 4)])
    clusters = [np.unique(row) for row in labels]
    starts = np.cumsum([0, *map(len, clusters)])
    tables = one_hot_table(list(labels), clusters, starts)
    ensemble = Ensemble(labels, noise=noise)
    facts = (starts, np.concatenate(clusters) == -1, labels, {}, 0, None)
    whole = WholeTable(n, tables, *facts)
    found = whole.rank(ensemble, whole.overlaps(noise), 0, RunOptions(n_jobs=1))
    expected = rank_partitions(ensemble, "discotec-binary")
    assert found.exact
    np.testing.assert_array_equal(found.ranking.values, expected.values)
    other = {"cluster": "singletons", "singletons": "cluster"}[noise]
    others = rank_partitions(ensemble.replace(noise=other), "discotec-binary")
    assert not np.allclose(others.values, expected.values)
