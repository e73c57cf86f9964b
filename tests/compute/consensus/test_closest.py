"""The closest cut of the consensus tree, against the definition of its distance."""

import numpy as np
import pytest

import clusterlens as cl
from clusterlens.compute.consensus import closest
from clusterlens.compute.ensemble.counting_cost import AgreementCost

WEIGHTS = [2, 1, 0, 1, 3, 1]


def partitions(seed, n=60, k=4):
    """Groups, four by default, which six models see with errors."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % k
    wrong = rng.random((len(WEIGHTS), n)) < 0.2
    return np.where(wrong, rng.integers(0, k, wrong.shape), groups), groups


def distance(labels, models, votes):
    """Mean of -ln p over all pairs, p the share of votes that treat them alike."""
    joined = (models[:, :, None] == models[:, None, :]).T @ np.array(votes)
    own = labels[:, None] == labels[None, :]
    alike = np.where(own, joined, sum(votes) - joined)
    return -np.log(np.maximum(alike, 1) / sum(votes)).mean()


@pytest.mark.parametrize("seed", range(4))
def test_distances_are_as_defined_and_the_closest_cut_is_taken(seed):
    models, _ = partitions(seed)
    ensemble = cl.Ensemble(models).with_weights(WEIGHTS)
    tree = cl.consensus_tree(ensemble, 20)
    found = cl.closest_cut(ensemble, tree)
    assert found.numbers.tolist() == list(range(2, 13))
    expected = [distance(tree.cut(k), models, WEIGHTS) for k in found.numbers.tolist()]
    assert np.allclose(found.distances, expected)
    assert found.n_clusters == found.numbers[np.argmin(expected)]
    assert np.array_equal(found.labels, tree.cut(found.n_clusters))
    assert found.n_compared == ensemble.n_samples


def test_planted_groups_are_counted_whatever_number_most_models_have():
    models, groups = partitions(1, 400)
    found = cl.closest_cut(cl.Ensemble([*models, *[groups // 2] * 3]))
    assert found.n_clusters == 4
    assert cl.external_index("ari", groups, found.labels) > 0.9


def test_as_many_clusters_as_the_weighted_median_of_the_models_are_compared():
    many, groups = partitions(2, 600, 15)
    few, _ = partitions(3, 600)
    ensemble = cl.Ensemble([*many, *few])
    weighted = cl.closest_cut(ensemble.with_weights([9] * 6 + [1] * 6))
    assert weighted.numbers[-1] == weighted.n_clusters == 15
    assert cl.external_index("ari", groups, weighted.labels) > 0.9
    outvoted = cl.closest_cut(ensemble.with_weights([1] * 6 + [9] * 6))
    assert outvoted.numbers[-1] == 12
    rows = cl.Ensemble([np.arange(600), np.arange(600) // 2])
    assert cl.closest_cut(rows).numbers[-1] == 50


def test_no_more_clusters_than_samples_that_the_models_tell_apart():
    same = cl.closest_cut(cl.Ensemble([[0, 0, 0], [1, 1, 1]]))
    assert (same.n_clusters, same.numbers.tolist()) == (1, [1])
    assert same.labels.tolist() == [0, 0, 0]
    pair = cl.closest_cut(cl.Ensemble([[0, 0, 1], [0, 0, 1]]))
    assert (pair.n_clusters, pair.numbers.tolist()) == (2, [2])


def test_a_drawn_part_of_the_samples_finds_the_same_number(monkeypatch):
    models, _ = partitions(2, 3000)
    ensemble = cl.Ensemble(models)
    every = cl.closest_cut(ensemble)
    dear = AgreementCost(3000, 6, 10**12, 1e3, affordable=False, n_compared=900)
    monkeypatch.setattr(closest, "agreement_cost", lambda ensemble: dear)
    some = cl.closest_cut(ensemble)
    assert (some.n_compared, every.n_compared) == (900, 3000)
    assert some.n_clusters == every.n_clusters
    assert np.allclose(some.distances, every.distances, rtol=0.1)
    assert cl.closest_cut(ensemble, exact=True).n_compared == 3000


def test_gaps_and_noise_of_models_are_taken():
    models, _ = partitions(3)
    models[0, :10] = -1
    for noise in ("cluster", "singletons", "silent"):
        found = cl.closest_cut(cl.Ensemble(models, noise=noise))
        assert found.n_clusters in found.numbers
        assert np.isfinite(found.distances).all()


def test_a_tree_of_other_samples_is_refused():
    models, _ = partitions(0)
    tree = cl.consensus_tree(cl.Ensemble(models[:, :50]), 5)
    with pytest.raises(ValueError, match="tree is ConsensusTree"):
        cl.closest_cut(cl.Ensemble(models), tree)
