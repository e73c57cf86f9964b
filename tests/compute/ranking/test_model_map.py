"""Models as points: distances follow the adjusted Rand index."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.model_map import map_models


def test_three_partitions_have_exactly_their_distances():
    labels = np.random.default_rng(0).integers(0, 3, (3, 40))
    placed = map_models(Ensemble(labels))
    for s, t in ((0, 1), (0, 2), (1, 2)):
        distance = np.linalg.norm(placed.coordinates[s] - placed.coordinates[t])
        assert_allclose(distance, 1 - adjusted_rand_score(labels[s], labels[t]))
    assert placed.shown == pytest.approx(1)


def test_equal_partitions_share_a_place_and_do_not_pull():
    labels = np.random.default_rng(0).integers(0, 3, (3, 40))
    alone = map_models(Ensemble(labels)).coordinates
    repeated = map_models(Ensemble(labels[[0, 0, 0, 1, 2]])).coordinates
    assert_allclose(repeated, alone[[0, 0, 0, 1, 2]])


@pytest.mark.parametrize("labels", [[[0, 1, 1]], [[0, 1, 1], [1, 0, 0]]])
def test_one_distinct_partition_is_at_the_origin(labels):
    placed = map_models(Ensemble(labels))
    assert_allclose(placed.coordinates, 0)
    assert placed.shown == 1
    assert list(placed.to_frame().columns) == ["model", "family", "x", "y"]
