"""Weights that give models, families or hubs equal votes."""

import numpy as np
import pytest

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.hubs import find_hubs
from clusterlens.compute.ranking.ranking import rank_partitions
from clusterlens.compute.ranking.scores import average_ari
from clusterlens.compute.ranking.voting import vote_weights

ROWS = [[0, 0, 0, 1, 1, 1, 2, 2, 2]]
COLUMNS = [[0, 1, 2, 0, 1, 2, 0, 1, 2]]


@pytest.mark.parametrize("by", ["families", "hubs"])
def test_groups_get_equal_votes_and_the_mean_weight_is_one(by):
    families = ["rows"] * 6 + ["columns"] * 3
    ensemble = Ensemble(6 * ROWS + 3 * COLUMNS, families=families)
    weights = vote_weights(ensemble, by)
    assert weights[:6].sum() == pytest.approx(weights[6:].sum())
    assert weights.mean() == pytest.approx(1)
    votes = ensemble.with_weights(weights).votes
    assert votes.tolist() == [1] * 6 + [2] * 3


def test_models_without_a_vote_get_none_and_split_no_family():
    families = ["a", "a", "a", "b", "b"]
    ensemble = Ensemble(
        3 * ROWS + 2 * COLUMNS, families=families, weights=[1, 1, 0, 2, 5]
    )
    assert vote_weights(ensemble, "models").tolist() == [1, 1, 0, 1, 1]
    assert vote_weights(ensemble, "families").tolist() == [1, 1, 0, 1, 1]
    voting = ensemble.select([0, 1, 3, 4])
    expected = find_hubs(voting).weights
    assert vote_weights(ensemble, "hubs")[[0, 1, 3, 4]].tolist() == expected.tolist()


def moved(labels, n, seed):
    """One partition with n samples put anywhere."""
    rng = np.random.default_rng(seed)
    row = np.array(labels)
    row[rng.choice(len(row), n, replace=False)] = rng.integers(0, 4, n)
    return row


def test_the_typical_half_votes_and_the_rest_does_not():
    truth = np.arange(200) % 4
    rows = [moved(truth, 10 * t, t) for t in range(10)]
    ensemble = Ensemble(rows + [moved(truth, 200, 99)], families=list("abcdefghijk"))
    weights = vote_weights(ensemble, "typical")
    likenesses = average_ari(ensemble)
    halved = ensemble.with_weights(weights)
    assert halved.votes.tolist() == (likenesses >= np.median(likenesses)).tolist()
    assert (weights > 0).all()  # those without a vote are candidates for answers
    ranking = rank_partitions(halved)
    assert sorted(ranking.order.tolist()) == list(range(11))  # all are still ranked


def test_a_family_of_many_models_is_not_typical_by_their_number():
    truth, other = np.arange(200) % 4, np.arange(200) // 50
    many = [moved(other, 2 * t, t) for t in range(7)]
    few = [moved(truth, 2 * t, t) for t in range(4)]
    ensemble = Ensemble(many + few, families=["many"] * 7 + list("abcd"))
    assert average_ari(ensemble).argmax() < 7  # they agree with each other
    assert vote_weights(ensemble, "typical")[7:].tolist() == [1, 1, 1, 1]
    assert vote_weights(ensemble, "typical").sum() == 6


def test_of_equally_typical_models_all_vote_and_of_the_silent_none():
    ensemble = Ensemble(3 * ROWS + COLUMNS, weights=[1, 2, 0, 0])
    assert vote_weights(ensemble, "typical").tolist() == [1, 1, 0, 0]
    halved = ensemble.with_weights([1, 1, 2.0**-100, 0])
    assert vote_weights(halved, "models").tolist() == [1, 1, 1, 0]  # votes again
    assert vote_weights(Ensemble(ROWS), "typical").tolist() == [1]
