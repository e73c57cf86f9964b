import sys
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.consensus.criteria import density
from clusterlens.compute.consensus.kmeans import consensus_kmeans
from clusterlens.compute.consensus.partition import (
    CONSENSUS_FUNCTIONS,
    ConsensusFunction,
    consensus_partition,
)
from clusterlens.compute.ensemble.ensemble import Ensemble

METHODS = list(CONSENSUS_FUNCTIONS)
WITH_METIS = {"mcla", "cspa"}
LINEAR = {"kmeans", "bisecting-kmeans", "sec", "ecc", "single"}


def need_metis(method):
    if method in WITH_METIS:
        pytest.importorskip("pymetis")


def planted(n, p, k, keep=0.75, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % k
    kept = rng.random((p, n)) < keep
    return np.where(kept, truth, rng.integers(0, k, (p, n))), truth


@pytest.mark.parametrize("method", METHODS)
def test_planted_clusters_are_found(method):
    need_metis(method)
    labels, truth = planted(300, 30, 4)
    found = consensus_partition(Ensemble(labels), 4, method)
    assert adjusted_rand_score(truth, found) > 0.95


@pytest.mark.parametrize("method", METHODS)
def test_labels_are_numbered_in_order_of_appearance(method):
    need_metis(method)
    labels, _ = planted(120, 10, 5, keep=0.6)
    found = consensus_partition(Ensemble(labels), 6, method)
    names = list(dict.fromkeys(found.tolist()))
    assert names == list(range(len(names)))
    if method not in WITH_METIS:
        assert len(names) == 6


@pytest.mark.parametrize("method", METHODS)
def test_label_names_and_threads_do_not_matter(method):
    need_metis(method)
    labels, _ = planted(150, 8, 4, keep=0.5)
    found = consensus_partition(Ensemble(labels), 4, method, 3)
    renamed = Ensemble(9 - 2 * labels)
    again = consensus_partition(renamed, 4, method, 3, n_jobs=1)
    assert_array_equal(found, again)


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_of_any_whole_kind_gives_the_same_partition(method):
    need_metis(method)
    ensemble = Ensemble(planted(90, 6, 4, keep=0.4)[0])
    # The largest seeds too: METIS counts in 32 bits.
    for seed in (3, 2**32 - 1):
        found = consensus_partition(ensemble, 4, method, seed)
        for kind in (np.int64, np.uint64, np.array):
            again = consensus_partition(ensemble, 4, method, kind(seed))
            assert_array_equal(found, again)


@pytest.mark.parametrize("method", METHODS)
def test_groups_that_no_partition_splits_are_returned_with_a_warning(method):
    ensemble = Ensemble([[0, 0, 1, 1, 2], [0, 0, 1, 1, 2]])
    with pytest.warns(UserWarning, match="finds only 3 clusters"):
        found = consensus_partition(ensemble, 4, method)
    assert found.tolist() == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("method", METHODS)
def test_one_cluster_and_one_sample(method):
    need_metis(method)
    labels, _ = planted(12, 4, 3)
    assert consensus_partition(Ensemble(labels), 1, method).tolist() == [0] * 12
    assert consensus_partition(Ensemble([[7], [-1]]), 1, method).tolist() == [0]


@pytest.mark.parametrize("method", sorted(set(METHODS) - LINEAR))
def test_what_does_not_fit_is_refused_before_it_is_allocated(method):
    ensemble = Ensemble(np.tile(np.arange(30_000), (4, 1)))
    _ = ensemble.codes, ensemble.n_codes
    tracemalloc.start()
    with pytest.raises(MemoryError, match="use method='kmeans'"):
        consensus_partition(ensemble, 5, method)
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


@pytest.mark.parametrize("method", sorted(LINEAR))
def test_linear_methods_state_no_matrix(method):
    assert CONSENSUS_FUNCTIONS[method].n_bytes(10**6, 10**3) == 0


@pytest.mark.parametrize("method", ["average", "complete", "average-enhanced"])
def test_stated_bytes_cover_the_matrices(method):
    labels, _ = planted(1500, 6, 5, keep=0.4)
    ensemble = Ensemble(labels)
    _ = ensemble.codes
    tracemalloc.start()
    consensus_partition(ensemble, 5, method)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.3 * CONSENSUS_FUNCTIONS[method].n_bytes(1500, 30) + 5e6


def test_every_function_states_cost_and_source():
    for function in CONSENSUS_FUNCTIONS.values():
        assert "time" in function.cost
        assert function.reference


def test_kmeans_is_the_default_and_no_other_method_is_clearly_denser():
    labels, _ = planted(200, 12, 4, keep=0.45)
    ensemble = Ensemble(labels)
    best = consensus_partition(ensemble, 8)
    assert_array_equal(best, consensus_kmeans(ensemble, 8))
    for method in ("average", "complete", "single", "bisecting-kmeans", "sec", "ecc"):
        other = consensus_partition(ensemble, 8, method)
        assert density(ensemble, best) >= density(ensemble, other) - 0.01


def test_sec_is_weighted_kmeans_on_scaled_rows():
    labels, _ = planted(90, 6, 3, keep=0.4)
    found = consensus_partition(Ensemble(labels), 3, "sec")
    one_hot = np.hstack([np.eye(3)[row] for row in labels])
    degrees = one_hot @ one_hot.sum(axis=0)
    points = one_hot / degrees[:, None]
    means = np.array(
        [np.average(points[found == c], 0, degrees[found == c]) for c in range(3)]
    )
    distances = ((points[:, None] - means) ** 2).sum(axis=2)
    # No sample is nearer to another mean: a fixed point of the weighted k-means.
    assert_array_equal(distances.argmin(axis=1), found)


def test_own_functions_join_in_one_line(monkeypatch):
    mine = ConsensusFunction(lambda task: task.group % 2, "O(n) time", "own")
    monkeypatch.setitem(CONSENSUS_FUNCTIONS, "mine", mine)
    found = consensus_partition(Ensemble([[0, 1, 2, 3]]), 2, "mine")
    assert found.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("method", ["mcla", "cspa"])
def test_missing_metis_is_noticed(monkeypatch, method):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(ImportError, match="METIS is not installed"):
        consensus_partition(Ensemble([[0, 1, 2, 3]]), 2, method)


def test_unknown_methods_are_named():
    with pytest.raises(ValueError, match=r"method is 'ward'; give one of 'kmeans'"):
        consensus_partition(Ensemble([[0, 1]]), 1, "ward")


@pytest.mark.parametrize("method", ["kmeans", "single", "average", "complete-enhanced"])
def test_cancel_is_heard(method):
    with pytest.raises(Cancelled):
        consensus_partition(
            Ensemble(planted(40, 3, 3)[0]), 2, method, cancel=lambda: True
        )
