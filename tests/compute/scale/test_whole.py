"""Contingency tables of pieces add up to the table of all rows."""

import numpy as np

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.overlaps import partition_overlaps
from clusterlens.compute.scale.whole import WholeTable, one_hot_table


def test_sums_over_pieces_are_the_overlaps_of_all_rows():
    rng = np.random.default_rng(0)
    labels = np.array([rng.integers(-1, k, 900) for k in (2, 5, 3, 40)])
    clusters = [np.unique(row) for row in labels]
    starts = np.cumsum([0, *map(len, clusters)])
    parts = [
        one_hot_table(list(labels[:, some]), clusters, starts)
        for some in np.array_split(np.arange(900), 7)
    ]
    whole = WholeTable(900, sum(parts[1:], parts[0]), starts, labels, {}, 0, None)
    expected = partition_overlaps(Ensemble(labels))
    np.testing.assert_array_equal(whole.overlaps.squares, expected.squares)
    np.testing.assert_allclose(whole.overlaps.logs, expected.logs, atol=1e-9)
