import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from clusterlens.compute._run.options import Cancelled, RunOptions
from clusterlens.compute.consensus._entropy import entropy_loss, lower_entropy
from clusterlens.compute.consensus._lloyd import Lloyd
from clusterlens.compute.consensus._one_hot import one_hot_rows
from clusterlens.compute.consensus.partition import consensus_partition
from clusterlens.compute.ensemble.ensemble import Ensemble

label_matrices = st.tuples(st.integers(1, 6), st.integers(2, 40)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-1, 4))
)


def loss_of(labels, found):
    """Sum over samples and partitions of -ln(share of the cluster with its label)."""
    total = 0.0
    for cluster in np.unique(found):
        for row in labels[:, found == cluster]:
            _, counts = np.unique(row, return_counts=True)
            total -= counts @ np.log(counts / counts.sum())
    return total


def planted(n, p, k, keep, seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    kept = rng.random((p, n)) < keep
    return np.where(kept, truth, rng.integers(0, k, (p, n)))


def lowered(labels, k, seed=0):
    rows, group = one_hot_rows(Ensemble(labels))
    lloyd = Lloyd(rows, RunOptions())
    start = lloyd.run(lloyd.seeds(k, np.random.default_rng(seed)), max_iter=1)
    return start, lower_entropy(rows, start), group, rows


@settings(max_examples=60)
@given(label_matrices, st.data())
def test_moves_lower_the_loss_as_defined_and_empty_no_cluster(labels, data):
    distinct = one_hot_rows(Ensemble(labels))[0].n_rows
    k = data.draw(st.integers(1, distinct))
    start, result, group, rows = lowered(labels, k)
    for one in (start, result):
        assert_allclose(
            entropy_loss(rows, one.centres),
            loss_of(labels, one.labels[group]),
            atol=1e-9,
        )
    assert result.loss <= entropy_loss(rows, start.centres) + 1e-9
    assert_array_equal(np.unique(result.labels), np.arange(k))


def test_result_is_a_minimum_among_moves_of_one_group_of_equal_samples():
    labels = planted(60, 5, 4, keep=0.5, seed=1)
    _, result, group, _ = lowered(labels, 4)
    found = result.labels[group]
    for row in range(group.max() + 1):
        for other in range(4):
            moved = np.where(group == row, other, found)
            if len(np.unique(moved)) == 4:
                assert loss_of(labels, moved) >= loss_of(labels, found) - 1e-9


def test_a_row_joins_a_cluster_that_lacks_one_of_its_labels():
    # Sample 0 agrees with the first cluster in nine partitions, and alone has its
    # label in the tenth: its divergence from that cluster is infinite.
    labels = np.tile(np.repeat([0, 1], 10), (10, 1))
    labels[9, 0] = 2
    rows, group = one_hot_rows(Ensemble(labels))
    lloyd = Lloyd(rows, RunOptions())
    seeds = lloyd.seeds(2, np.random.default_rng(0))
    start = lloyd.run(seeds, max_iter=1)
    found = lower_entropy(rows, start).labels[group]
    assert_array_equal(found == found[0], np.repeat([True, False], 10))


@pytest.mark.parametrize("seed", range(6))
def test_ecc_loses_no_more_than_kmeans_on_generated_ensembles(seed):
    rng = np.random.default_rng(seed)
    n, p, k = rng.integers(30, 400), rng.integers(3, 25), rng.integers(2, 15)
    labels = planted(n, p, k, keep=rng.uniform(0.2, 0.8), seed=seed)
    ensemble = Ensemble(labels)
    ecc, kmeans = (
        loss_of(labels, consensus_partition(ensemble, int(k), method, seed))
        for method in ("ecc", "kmeans")
    )
    assert ecc <= kmeans + 1e-6


def test_cancel_is_heard_between_blocks(monkeypatch):
    name = "clusterlens.compute.consensus._entropy.LOOKUPS_PER_BLOCK"
    monkeypatch.setattr(name, 1 << 9)
    rows, _ = one_hot_rows(Ensemble(planted(400, 6, 5, keep=0.2, seed=0)))
    start = Lloyd(rows, RunOptions())
    result = start.run(start.seeds(5, np.random.default_rng(0)), max_iter=1)
    looks = iter([False] * 3 + [True] * 100)
    with pytest.raises(Cancelled):
        lower_entropy(rows, result, lambda: next(looks))
    assert next(looks)


def test_blocks_do_not_change_the_result(monkeypatch):
    labels = planted(300, 6, 5, keep=0.3, seed=2)
    whole = lowered(labels, 6)[1]
    name = "clusterlens.compute.consensus._entropy.LOOKUPS_PER_BLOCK"
    monkeypatch.setattr(name, 1 << 8)
    assert_array_equal(lowered(labels, 6)[1].labels, whole.labels)
