"""Likeness of models to a given one, and its near-copies."""

import numpy as np
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.likeness import near_copies


def test_near_copies_are_those_by_the_adjusted_rand_index():
    rng = np.random.default_rng(0)
    truth = np.arange(200) % 4
    labels = np.tile(truth, (8, 1))
    for t, row in enumerate(labels):
        moved = rng.integers(0, 200, 2 * t)
        row[moved] = rng.integers(0, 4, len(moved))
    similarity = [adjusted_rand_score(labels[3], row) for row in labels]
    found = near_copies(Ensemble(labels), 3, min_similarity=0.9)
    assert found.tolist() == np.flatnonzero(np.array(similarity) >= 0.9).tolist()
    assert 1 < len(found) < 8


def test_a_model_that_shares_no_sample_is_no_near_copy():
    missing = np.repeat([[False, True], [True, False], [False, False]], 2, axis=1)
    ensemble = Ensemble([[0, 1, 0, 1]] * 3, missing=missing)
    assert near_copies(ensemble, 0).tolist() == [0, 2]


def test_one_model_is_its_only_near_copy():
    assert near_copies(Ensemble([[0, 0, 0]]), 0).tolist() == [0]
