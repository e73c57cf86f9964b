import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.consensus.maximum_tree import agreement_tree
from clusterlens.compute.ensemble.ensemble import Ensemble

label_matrices = st.tuples(st.integers(1, 6), st.integers(1, 30)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-1, 4))
)


def agreement_counts(labels):
    return (labels[:, :, None] == labels[:, None, :]).sum(axis=0)


@settings(max_examples=80)
@given(label_matrices)
def test_components_are_those_of_the_binarised_matrix_at_every_threshold(labels):
    counts = agreement_counts(labels)
    tree = agreement_tree(Ensemble(labels))
    for threshold in range(len(labels) + 2):
        number, expected = connected_components(counts >= threshold)
        assert tree.n_components[threshold] == number
        assert_array_equal(tree.components(threshold), expected)


@settings(max_examples=60)
@given(label_matrices)
def test_edges_span_the_samples_and_carry_their_agreement(labels):
    counts = agreement_counts(labels)
    tree = agreement_tree(Ensemble(labels))
    assert tree.n_samples == labels.shape[1]
    assert_array_equal(counts[tree.edges[:, 0], tree.edges[:, 1]], tree.counts)
    assert (np.diff(tree.counts) <= 0).all()
    assert tree.components(0).max() == 0


@settings(max_examples=60)
@given(label_matrices)
def test_cut_has_exactly_the_clusters_asked_for_and_refines(labels):
    tree = agreement_tree(Ensemble(labels))
    coarser = np.zeros(labels.shape[1], np.int64)
    for k in range(1, labels.shape[1] + 1):
        cut = tree.cut(k)
        assert_array_equal(np.unique(cut), np.arange(k))
        assert np.unique(np.stack([cut, coarser]), axis=1).shape[1] == k
        coarser = cut


def test_cut_between_different_heights_is_single_linkage():
    labels = np.random.default_rng(0).integers(0, 3, (40, 25))
    distances = 1 - agreement_counts(labels) / 40
    np.fill_diagonal(distances, 0)
    merges = linkage(squareform(distances), "single")
    tree = agreement_tree(Ensemble(labels))
    for height in np.unique(merges[:, 2]):
        expected = fcluster(merges, height, "distance")
        found = tree.cut(expected.max())
        assert np.unique(np.stack([found, expected]), axis=1).shape[1] == (
            expected.max()
        )


def test_more_than_255_partitions_and_clusters():
    labels = np.random.default_rng(1).integers(0, 400, (300, 500))
    labels[:, 1] = labels[:, 0]
    tree = agreement_tree(Ensemble(labels))
    assert tree.counts[0] == 300
    counts = agreement_counts(labels)
    assert_array_equal(counts[tree.edges[:, 0], tree.edges[:, 1]], tree.counts)


def test_blocks_do_not_change_the_tree(monkeypatch):
    labels = np.random.default_rng(2).integers(0, 4, (9, 200))
    whole = agreement_tree(Ensemble(labels))
    monkeypatch.setattr(
        "clusterlens.compute.consensus.maximum_tree._BLOCK_COMPARISONS", 5000
    )
    seen = []
    parts = agreement_tree(
        Ensemble(labels), progress=lambda done, total: seen.append((done, total))
    )
    assert_array_equal(whole.edges, parts.edges)
    assert len(seen) > 10
    assert seen[-1][0] == seen[-1][1]


def test_cancel_is_heard():
    with pytest.raises(Cancelled):
        agreement_tree(Ensemble([[0, 1, 2]]), cancel=lambda: True)


def test_thresholds_out_of_range_are_refused():
    tree = agreement_tree(Ensemble([[0, 0, 1], [0, 1, 1]]))
    with pytest.raises(ValueError, match="threshold is 4; give a value from 0 to 3"):
        tree.components(4)
    with pytest.raises(ValueError, match="n_clusters is 0"):
        tree.cut(0)
