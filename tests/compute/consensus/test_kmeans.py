import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.consensus._one_hot import one_hot_rows
from clusterlens.compute.consensus.criteria import one_hot_loss
from clusterlens.compute.consensus.kmeans import consensus_kmeans
from clusterlens.compute.consensus.partition import consensus_partition
from clusterlens.compute.ensemble.ensemble import Ensemble
from tests.definitions import planted

label_matrices = st.tuples(st.integers(1, 6), st.integers(1, 30)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-1, 4))
)


def dense(labels):
    blocks = [np.unique(row, return_inverse=True)[1] for row in labels]
    return np.hstack([np.eye(block.max() + 1)[block] for block in blocks])


def test_kmeans_finds_planted_clusters():
    labels, truth = planted(2000, 20, 8)
    found = consensus_kmeans(Ensemble(labels), 8)
    assert adjusted_rand_score(truth, found) > 0.99


def test_kmeans_loss_is_as_low_as_scikit_learns():
    labels, _ = planted(300, 12, 6, keep=0.5, seed=1)
    reference = KMeans(9, n_init=10, random_state=0, tol=0).fit(dense(labels))
    ensemble = Ensemble(labels)
    found = consensus_kmeans(ensemble, 9, n_init=10)
    assert one_hot_loss(ensemble, found) <= 1.01 * reference.inertia_


@settings(max_examples=50)
@given(label_matrices, st.data())
def test_kmeans_returns_exactly_the_clusters_asked_for(labels, data):
    ensemble = Ensemble(labels)
    distinct = one_hot_rows(ensemble)[0].n_rows
    k = data.draw(st.integers(1, distinct))
    found = consensus_kmeans(ensemble, k, n_init=2)
    assert list(dict.fromkeys(found.tolist())) == list(range(k))


def test_kmeans_returns_the_distinct_groups_when_more_clusters_are_asked_for():
    with pytest.warns(UserWarning, match="only 3 groups of samples apart"):
        found = consensus_kmeans(Ensemble([[0, 1, 0, 2, 2], [0, 1, 0, 1, 1]]), 4)
    assert found.tolist() == [0, 1, 0, 2, 2]


def test_equal_samples_share_a_cluster():
    labels, _ = planted(40, 3, 3, seed=4)
    ensemble = Ensemble(np.tile(labels, 4))
    group = one_hot_rows(ensemble)[1]
    found = consensus_kmeans(ensemble, 5)
    for member in range(group.max() + 1):
        assert len(set(found[group == member])) == 1


def test_results_do_not_depend_on_the_number_of_threads():
    ensemble = Ensemble(planted(3000, 10, 5, keep=0.4)[0])
    one, two = (consensus_kmeans(ensemble, 6, n_init=2, n_jobs=j) for j in (1, 2))
    assert_array_equal(one, two)


def test_seed_decides_the_result():
    ensemble = Ensemble(planted(500, 5, 5, keep=0.2)[0])
    first, again, other = (
        consensus_kmeans(ensemble, 7, seed, n_init=1) for seed in (0, 0, 1)
    )
    assert_array_equal(first, again)
    assert (first != other).any()


def test_more_than_255_clusters():
    labels = np.arange(1000) // 3
    found = consensus_kmeans(Ensemble([labels, labels]), 300, n_init=1)
    assert found.max() == 299


def test_one_sample_and_one_cluster():
    assert consensus_kmeans(Ensemble([[5]]), 1).tolist() == [0]
    assert consensus_kmeans(Ensemble([[-1, -1, -1]]), 1).tolist() == [0, 0, 0]


def test_memory_grows_linearly_with_samples():
    def peak(n):
        ensemble = Ensemble(planted(n, 10, 4)[0].astype(np.uint8))
        _ = ensemble.codes
        tracemalloc.start()
        consensus_kmeans(ensemble, 4, n_init=1, n_jobs=1)
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return memory

    assert peak(40_000) < 2.5 * peak(20_000)


def test_progress_counts_starts():
    seen = []
    ensemble = Ensemble(planted(200, 4, 4)[0])
    consensus_kmeans(ensemble, 3, n_init=2, progress=lambda *step: seen.append(step))
    assert seen == [(1, 2), (2, 2)]


def test_cancel_is_heard():
    ensemble = Ensemble(planted(200, 4, 4)[0])
    with pytest.raises(Cancelled):
        consensus_kmeans(ensemble, 3, cancel=lambda: True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_clusters": 0}, "n_clusters is 0; give a value from 1 to 4"),
        ({"n_clusters": 2.0}, "n_clusters is 2.0; give a whole number"),
        ({"n_clusters": 2, "n_init": 0}, "n_init is 0"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        consensus_kmeans(Ensemble([[0, 0, 1, 2]]), **arguments)


def tiny_cases(n_cases):
    """Random ensembles of 5 to 7 samples, with a number of clusters."""
    rng = np.random.default_rng(0)
    while n_cases:
        shape = rng.integers(2, 6), rng.integers(5, 8)
        labels = rng.integers(0, rng.integers(2, 5), shape)
        n_rows = one_hot_rows(Ensemble(labels))[0].n_rows
        if n_rows > 2:
            n_cases -= 1
            yield labels, int(rng.integers(2, min(n_rows, 5)))


def weighted_loss(rows, weights, labels):
    """Weighted k-means of rows / weights: sum of |row|² / weight - |sum|² / mass."""
    loss = ((rows**2).sum(axis=1) / weights).sum()
    for cluster in np.unique(labels):
        some = labels == cluster
        loss -= (rows[some].sum(axis=0) ** 2).sum() / weights[some].sum()
    return loss


@pytest.mark.parametrize("method", ["kmeans", "sec"])
def test_tiny_problems_are_solved_as_well_as_by_trying_all_partitions(method):
    for labels, k in tiny_cases(30):
        rows = dense(labels)
        weights = rows @ rows.sum(axis=0) if method == "sec" else np.ones(len(rows))
        lowest = min(
            weighted_loss(rows, weights, np.array((0, *others)))
            for others in product(range(k), repeat=len(rows) - 1)
        )
        found = consensus_partition(Ensemble(labels), k, method)
        assert weighted_loss(rows, weights, found) == pytest.approx(lowest)
