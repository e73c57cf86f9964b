import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.hubs import find_hubs

N_CLUSTERS = 10


def perturbed(labels, keep, rng):
    """Keep a share of the labels and change the others, as Ohl & Lindsten do."""
    kept = rng.random(labels.size) < keep
    other = (labels + 1 + rng.integers(0, N_CLUSTERS - 1, labels.size)) % N_CLUSTERS
    return np.where(kept, labels, other)


def two_hubs(alpha, seed, n_samples=200, n_models=50):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, N_CLUSTERS, n_samples)
    centres = [perturbed(truth, keep, rng) for keep in (0.2, 0.9)]
    hub = (np.arange(n_models) >= np.ceil(alpha * n_models)).astype(int)
    keeps = rng.uniform(0.2, 0.9, n_models)
    models = zip(hub, keeps, strict=True)
    return hub, [perturbed(centres[h], keep, rng) for h, keep in models]


@pytest.mark.parametrize("alpha", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("seed", range(5))
def test_two_planted_hubs_are_found(alpha, seed):
    hub, labels = two_hubs(alpha, seed)
    found = find_hubs(Ensemble(labels))
    placed = found.labels >= 0
    assert found.n_hubs == 2
    assert placed.mean() > 0.8
    assert adjusted_rand_score(hub[placed], found.labels[placed]) > 0.9


@pytest.mark.parametrize("seed", range(5))
def test_noisy_copies_of_one_structure_are_one_hub(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, N_CLUSTERS, 200)
    labels = [perturbed(truth, keep, rng) for keep in rng.uniform(0.1, 0.9, 50)]
    assert find_hubs(Ensemble(labels)).n_hubs == 1


def test_unrelated_models_make_no_hub():
    labels = np.random.default_rng(0).integers(0, N_CLUSTERS, (40, 300))
    found = find_hubs(Ensemble(labels))
    assert found.n_hubs == 0
    assert_array_equal(found.weights, 1.0)
    assert set(found.as_families().families) == {"no hub"}


def test_hubs_are_numbered_by_size_and_weigh_the_same():
    hub, labels = two_hubs(0.3, 1)
    found = find_hubs(Ensemble(labels))
    assert (np.diff(found.sizes) <= 0).all()
    votes = [found.weights[found.labels == h].sum() for h in range(found.n_hubs)]
    assert_allclose(votes, votes[0])
    assert_allclose(found.weights.sum(), len(hub))


def test_hubs_replace_families_and_nothing_else():
    _, labels = two_hubs(0.5, 2)
    ensemble = Ensemble(labels, families=["k-means"] * 50, notes=["told"])
    found = find_hubs(ensemble)
    renamed = found.as_families()
    assert set(renamed.families) >= {"hub 1", "hub 2"}
    assert renamed.names == ensemble.names
    assert renamed.notes == ("told",)
    assert_array_equal(renamed.labels, ensemble.labels)


def test_hubs_of_partial_partitions_keep_the_gaps_as_families():
    _, labels = two_hubs(0.5, 2)
    missing = np.random.default_rng(0).random(np.shape(labels)) < 0.2
    families = find_hubs(Ensemble(labels, missing=missing)).as_families()
    assert_array_equal(families.missing, missing)


def test_hubs_do_not_depend_on_votes():
    _, labels = two_hubs(0.3, 1)
    ensemble = Ensemble(labels)
    weighted = ensemble.with_weights(np.arange(ensemble.n_partitions) % 3)
    assert_array_equal(find_hubs(weighted).labels, find_hubs(ensemble).labels)


def test_similarities_are_adjusted_rand_indices():
    _, labels = two_hubs(0.5, 3, n_models=6)
    found = find_hubs(Ensemble(labels)).similarity
    expected = [[adjusted_rand_score(a, b) for b in labels] for a in labels]
    assert_allclose(found, expected, atol=1e-12)


def test_one_model_is_no_hub():
    assert find_hubs(Ensemble([[0, 1, 1]])).n_hubs == 0
    assert find_hubs(Ensemble([[0, 1, 1]]), min_models=1).n_hubs == 1


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="min_cosine is 2; give a value"):
        find_hubs(Ensemble([[0, 1]]), min_cosine=2)
