import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute.consensus.tile_source import (
    TileSource,
    count_in_bins,
    order_by_partition,
)
from clusterlens.compute.ensemble.ensemble import Ensemble
from tests.definitions import label_matrices


@settings(max_examples=30)
@given(labels=label_matrices(max_samples=200), data=st.data())
def test_counts_between_edges_are_cluster_sizes(labels, data):
    ensemble = Ensemble(labels)
    source = TileSource(ensemble)
    n_samples = ensemble.n_samples
    edges = data.draw(st.lists(st.integers(0, n_samples), min_size=2, unique=True))
    edges = np.sort(edges)
    models = (0, len(source.votes))
    counts = count_in_bins(source, edges, models)
    for k, (low, high) in enumerate(itertools.pairwise(edges)):
        for t in range(*models):
            columns = slice(source.starts[t], source.starts[t + 1])
            n_columns = columns.stop - columns.start
            expected = np.bincount(source.codes[low:high, t], minlength=n_columns)
            np.testing.assert_array_equal(counts[k, columns], expected)


def test_codes_follow_the_order_and_copies_are_votes():
    order = np.random.default_rng(0).permutation(300)
    labels = np.random.default_rng(1).integers(0, 5, (4, 300))[[0, 1, 0, 2, 3]]
    source = TileSource(Ensemble(labels), order)
    np.testing.assert_array_equal(
        source.codes, Ensemble(labels).codes[[0, 1, 3, 4]][:, order].T
    )
    assert source.votes.tolist() == [2, 1, 1, 1]


def test_memory_is_stated_and_refused_before_it_is_taken():
    ensemble = Ensemble(np.random.default_rng(0).integers(0, 5, (6, 1000)))
    needed = TileSource(ensemble).nbytes
    assert needed == 6 * 1000 + (1000 // 64 + 1) * 30 * 4
    with pytest.raises(MemoryError, match="Tiles of 6 partitions of 1000 samples"):
        TileSource(ensemble, max_bytes=needed - 1)


def test_running_counts_stay_within_their_share(monkeypatch):
    monkeypatch.setattr(
        "clusterlens.compute.consensus.tile_source._RUNNING_BYTES", 1000
    )
    ensemble = Ensemble(np.random.default_rng(0).integers(0, 5, (6, 1000)))
    source = TileSource(ensemble)
    assert source.running.nbytes <= 1000
    edges = np.array([0, 3, 999, 1000])
    np.testing.assert_array_equal(
        count_in_bins(source, edges, (0, 6)).sum(axis=1), 6 * np.diff(edges)
    )


@settings(max_examples=30)
@given(labels=label_matrices())
def test_order_groups_samples_by_cluster_largest_first(labels):
    ensemble = Ensemble(labels)
    for t, codes in enumerate(ensemble.codes):
        grouped = order_by_partition(ensemble, t)
        assert sorted(grouped.order) == list(range(ensemble.n_samples))
        assert (np.diff(grouped.sizes) <= 0).all()
        spans = zip(grouped.boundaries[:-1], grouped.boundaries[1:], strict=True)
        for cluster, (low, high) in zip(grouped.clusters, spans, strict=True):
            group = grouped.order[low:high]
            np.testing.assert_array_equal(group, np.flatnonzero(codes == cluster))


def test_order_by_a_partition_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="model is 2; give a value from 0 to 1"):
        order_by_partition(Ensemble([[0, 1], [0, 0]]), 2)
