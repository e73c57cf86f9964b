import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from clusterlens.compute._run.options import RunOptions
from clusterlens.compute.consensus._linkage import (
    column_jaccard,
    column_overlaps,
    condensed_distances,
    ecpcs_similarity,
    enhanced_lines,
    linkage_partition,
    plain_lines,
    wct_similarity,
)
from clusterlens.compute.consensus._one_hot import one_hot_rows
from clusterlens.compute.ensemble.ensemble import Ensemble

label_matrices = st.tuples(st.integers(1, 5), st.integers(2, 25)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-1, 4))
)


def dense(labels):
    blocks = [Ensemble([row]).codes[0] for row in labels]
    return np.hstack([np.eye(block.max() + 1)[block] for block in blocks])


def naive_jaccard(one_hot):
    both = one_hot.T @ one_hot
    sizes = one_hot.sum(axis=0)
    jaccard = both / (sizes[:, None] + sizes - both)
    np.fill_diagonal(jaccard, 0)
    return jaccard


def naive_enhanced(labels, similarity):
    """Mean over the partitions of the similarity of the clusters of i and j."""
    total, start = 0.0, 0
    for row in labels:
        codes = Ensemble([row]).codes[0] + start
        block = similarity[np.ix_(codes, codes)].copy()
        block[codes[:, None] == codes] = 1.0
        total, start = total + block, int(codes.max()) + 1
    return total / len(labels)


def naive_ecpcs(jaccard, steps=20):
    sums = jaccard.sum(axis=1, keepdims=True)
    walk = np.divide(jaccard, sums, out=np.zeros_like(jaccard), where=sums > 0)
    powers = [np.linalg.matrix_power(walk, s) for s in range(1, steps + 1)]
    trajectories = np.hstack(powers)
    lengths = np.linalg.norm(trajectories, axis=1)
    cosines = trajectories @ trajectories.T
    scale = np.outer(lengths, lengths)
    return np.divide(cosines, scale, out=np.zeros_like(cosines), where=scale > 0)


def naive_wct(labels, jaccard):
    one_partition = np.concatenate(
        [np.full(Ensemble([row]).codes[0].max() + 1, t) for t, row in enumerate(labels)]
    )
    triples = np.minimum(jaccard[:, None], jaccard[None]).sum(axis=2)
    triples[one_partition[:, None] != one_partition] = 0
    np.fill_diagonal(triples, 0)
    return 0.9 * triples / triples.max() if triples.max() else triples


@settings(max_examples=50)
@given(label_matrices)
def test_overlaps_and_jaccard_equal_their_definitions(labels):
    rows, _ = one_hot_rows(Ensemble(labels))
    one_hot = dense(labels)
    assert_array_equal(column_overlaps(rows), one_hot.T @ one_hot)
    assert_allclose(column_jaccard(rows), naive_jaccard(one_hot))


@settings(max_examples=50)
@given(label_matrices)
def test_plain_distances_equal_their_definition(labels):
    rows, group = one_hot_rows(Ensemble(labels))
    found = condensed_distances(
        rows.columns[group], plain_lines(rows), rows.n_votes, RunOptions()
    )
    agreement = (labels[:, :, None] == labels[:, None, :]).mean(axis=0)
    assert_allclose(squareform(found), 1 - agreement, atol=1e-12)


@settings(max_examples=50)
@given(label_matrices)
def test_enhanced_distances_equal_their_definitions(labels):
    rows, group = one_hot_rows(Ensemble(labels))
    jaccard = naive_jaccard(dense(labels))
    for similarity, expected in (
        (ecpcs_similarity(rows), naive_ecpcs(jaccard)),
        (wct_similarity(rows), naive_wct(labels, jaccard)),
    ):
        lines = enhanced_lines(similarity)
        found = condensed_distances(
            rows.columns[group], lines, rows.n_votes, RunOptions()
        )
        matrix = 1 - naive_enhanced(labels, expected)
        assert_allclose(squareform(found), matrix, atol=1e-9)


@settings(max_examples=30)
@given(label_matrices)
def test_enhancing_only_adds_agreement(labels):
    rows, group = one_hot_rows(Ensemble(labels))
    plain = condensed_distances(
        rows.columns[group], plain_lines(rows), rows.n_votes, RunOptions()
    )
    for similarity in (ecpcs_similarity(rows), wct_similarity(rows)):
        assert similarity.min() >= 0
        assert similarity.max() <= 1 + 1e-9
        lines = enhanced_lines(similarity)
        enhanced = condensed_distances(
            rows.columns[group], lines, rows.n_votes, RunOptions()
        )
        assert (enhanced <= plain + 1e-9).all()


@pytest.mark.parametrize("method", ["single", "average", "complete"])
def test_linkage_cut_undoes_the_last_merges(method):
    labels = np.random.default_rng(0).integers(0, 3, (40, 30))
    rows, group = one_hot_rows(Ensemble(labels))
    distances = 1 - (labels[:, :, None] == labels[:, None, :]).mean(axis=0)
    merges = linkage(squareform(distances, checks=False), method)
    for k in range(1, 31):
        found = linkage_partition(rows, group, k, method, run=RunOptions())
        assert_array_equal(np.unique(found), np.arange(k))
        expected = fcluster(merges, k, "maxclust")
        # Ties make the height cut return fewer clusters, each a union of ours.
        pairs = np.unique(np.stack([found, expected]), axis=1)
        assert pairs.shape[1] == k


def test_average_linkage_counts_equal_samples_one_by_one():
    # Sample 0 is twice as near to the three copies as to the single sample 4.
    labels = np.array([[0, 0, 0, 0, 1], [0, 1, 1, 1, 0], [0, 1, 1, 1, 2]])
    rows, group = one_hot_rows(Ensemble(labels))
    distances = 1 - (labels[:, :, None] == labels[:, None, :]).mean(axis=0)
    expected = fcluster(linkage(squareform(distances), "average"), 2, "maxclust")
    found = linkage_partition(rows, group, 2, "average", run=RunOptions())
    assert np.unique(np.stack([found, expected]), axis=1).shape[1] == 2
