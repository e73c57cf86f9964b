import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.indices.agreement_reached import pool_agreement
from clusterlens.compute.ranking.ranking import rank_partitions


def pool(seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 80)
    kept = rng.random((6, 80)) < np.linspace(0.2, 0.9, 6)[:, None]
    labels = np.where(kept, truth, rng.integers(0, 3, (6, 80)))
    return Ensemble(labels, families=list("aabbcc")), truth


def test_values_are_the_adjusted_rand_index_of_each_partition():
    ensemble, truth = pool()
    found = pool_agreement(ensemble, truth)
    expected = [adjusted_rand_score(truth, labels) for labels in ensemble.labels]
    np.testing.assert_allclose(found.values, expected)
    assert found.highest == 5
    assert found.leader is None
    assert "rank" not in found.to_frame()


def test_leader_is_that_of_the_ranking_and_has_its_place():
    ensemble, truth = pool()
    ranking = rank_partitions(ensemble)
    found = pool_agreement(ensemble, truth, ranking)
    assert found.leader == ranking.order[0]
    table = found.to_frame()
    assert table["ari"].is_monotonic_decreasing
    assert table["place"].tolist() == [1, 2, 3, 4, 5, 6]
    leader = table[table["rank"] == 1]["model"].item()
    assert leader == ensemble.names[found.leader]


def test_samples_without_a_class_are_left_out():
    ensemble, truth = pool()
    kept = np.arange(80) % 5 > 0
    found = pool_agreement(ensemble, np.where(kept, truth, -1))
    expected = [adjusted_rand_score(truth[kept], row[kept]) for row in ensemble.labels]
    np.testing.assert_allclose(found.values, expected)
    assert found.n_left_out == 16


def test_a_partition_that_saw_no_labelled_samples_has_no_value_and_comes_last():
    missing = np.zeros((3, 6), bool)
    missing[0, 2:] = missing[2, :2] = True
    ensemble = Ensemble([[0, 0, 1, 1, 1, 1]] * 3, missing=missing)
    found = pool_agreement(ensemble, [None, None, "a", "a", "b", "b"])
    assert np.isnan(found.values).tolist() == [True, False, False]
    assert found.highest == 1
    assert found.places.tolist() == [3, 1, 1]
    assert found.to_frame()["ari"].isna().tolist() == [False, False, True]
    with pytest.raises(ValueError, match="no two samples that a partition saw"):
        pool_agreement(ensemble, ["a"] + [None] * 5)


def test_a_ranking_of_other_partitions_is_refused():
    ensemble, truth = pool()
    other = rank_partitions(Ensemble(ensemble.labels[:3], names=["x", "y", "z"]))
    with pytest.raises(ValueError, match="ranking ranks 3 other partitions"):
        pool_agreement(ensemble, truth, other)
