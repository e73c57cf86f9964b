import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from clusterlens.compute.consensus import cohesion as module
from clusterlens.compute.consensus.cohesion import (
    cluster_consensus,
    consensus_cdf,
    distribution_at,
)
from clusterlens.compute.consensus.criteria import density
from clusterlens.compute.ensemble.agreement import count_agreements, estimate_agreements
from clusterlens.compute.ensemble.ensemble import Ensemble
from tests.folders import REFERENCE

CASES = json.loads((REFERENCE / "eac.json").read_text(encoding="utf-8"))["cases"]
label_matrices = st.tuples(st.integers(1, 5), st.integers(1, 25)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-1, 4))
)


def consensus_matrix(labels):
    labels = np.asarray(labels)
    return (labels[:, :, None] == labels[:, None, :]).mean(axis=0)


@pytest.mark.parametrize("cells", [1 << 22, 10, 1], ids=["one", "parts", "sparse"])
@settings(max_examples=25)
@given(label_matrices, st.data())
def test_values_are_means_of_the_consensus_matrix(cells, labels, data):
    n = labels.shape[1]
    evaluated = data.draw(arrays(np.int64, n, elements=st.integers(-1, 3)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TABLE_CELLS", cells)
        found = cluster_consensus(Ensemble(labels), evaluated)
    matrix = consensus_matrix(labels)
    for c, name in enumerate(found.clusters):
        inside = np.flatnonzero(evaluated == name)
        assert found.sizes[c] == len(inside)
        for i in range(n):
            others = inside[inside != i]
            expected = matrix[i, others].mean() if len(others) else 0.0
            assert_allclose(found.items[i, c], expected, atol=1e-12)
        assert_allclose(found.within[c], found.items[inside, c].mean(), atol=1e-12)
        for b, other in enumerate(found.clusters):
            if b != c:
                block = matrix[np.ix_(inside, evaluated == other)]
                assert_allclose(found.between[c, b], block.mean(), atol=1e-12)
    assert_allclose(found.between, found.between.T)


@pytest.mark.parametrize("cells", [1 << 22, 1], ids=["dense", "sparse"])
@settings(max_examples=25)
@given(label_matrices, st.data())
def test_noise_of_singletons_is_no_cluster(cells, labels, data):
    n = labels.shape[1]
    evaluated = data.draw(arrays(np.int64, n, elements=st.integers(-1, 2)))
    evaluated[0] = 1
    ensemble = Ensemble(labels, noise="singletons")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TABLE_CELLS", cells)
        found = cluster_consensus(ensemble, evaluated)
    matrix = consensus_matrix(ensemble.codes)
    assert -1 not in found.clusters
    for c, name in enumerate(found.clusters):
        inside = np.flatnonzero(evaluated == name)
        for i in range(n):
            others = inside[inside != i]
            expected = matrix[i, others].mean() if len(others) else 0.0
            assert_allclose(found.items[i, c], expected, atol=1e-12)
    assert not found.doubtful[evaluated == -1].any()
    assert not found.own[evaluated == -1].any()
    assert found.to_frame()["doubtful"].sum() == found.doubtful.sum()


def test_noise_alone_is_no_partition_to_judge():
    with pytest.raises(ValueError, match="noise \\(-1\\) only"):
        cluster_consensus(Ensemble([[0, 0]], noise="singletons"), [-1, -1])


@settings(max_examples=25)
@given(label_matrices, st.data())
def test_doubtful_samples_are_closer_to_another_cluster(labels, data):
    evaluated = data.draw(
        arrays(np.int64, labels.shape[1], elements=st.integers(-1, 3))
    )
    found = cluster_consensus(Ensemble(labels), evaluated)
    for i, row in enumerate(found.items):
        own = found.clusters.tolist().index(evaluated[i])
        others = np.delete(row, own)
        assert found.own[i] == row[own]
        assert found.doubtful[i] == (others > row[own]).any()
        if len(others):
            assert row[found.nearest[i]] == others.max()
            assert found.nearest[i] != own
        else:
            assert found.nearest[i] == -1


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_cluster_consensus_equals_reference_densities(case):
    for evaluated in case["expected"]["evaluated"]:
        found = cluster_consensus(Ensemble(case["labels"]), evaluated["labels"])
        assert_array_equal(found.clusters, evaluated["clusters_sorted"])
        assert_allclose(found.within, evaluated["D"], atol=1e-9)
        if "inter_density" in evaluated and len(found.clusters) > 1:
            expected = np.array(evaluated["inter_density"], dtype=float)
            np.fill_diagonal(expected, evaluated["D"])
            assert_allclose(found.between, expected, atol=1e-9)


def test_density_is_the_mean_of_cluster_consensus_by_size():
    labels = np.random.default_rng(0).integers(0, 3, (5, 40))
    ensemble, evaluated = Ensemble(labels), labels[0]
    found = cluster_consensus(ensemble, evaluated)
    mean = found.sizes @ found.within / found.sizes.sum()
    assert_allclose(mean, density(ensemble, evaluated))


def test_frame_names_the_nearest_cluster():
    found = cluster_consensus(
        Ensemble([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1]]), [7, 7, -1, -1, 5, 5]
    )
    frame = found.to_frame()
    assert frame.index.tolist() == [-1, 5, 7]
    assert frame.loc[5, "nearest"] == -1
    assert frame.loc[5, "consensus_with_nearest"] == 0.5
    alone = cluster_consensus(Ensemble([[0, 0]]), [3, 3]).to_frame()
    assert alone["nearest"].isna().all()
    assert alone["consensus_with_nearest"].isna().all()


@settings(max_examples=40)
@given(label_matrices)
def test_distribution_counts_pairs_of_different_samples(labels):
    shares = consensus_cdf(count_agreements(Ensemble(labels)))
    n = labels.shape[1]
    pairs = np.triu_indices(n, 1)
    counts = (labels[:, :, None] == labels[:, None, :]).sum(axis=0)[pairs]
    levels = np.arange(len(labels) + 1)
    expected = (
        (counts[:, None] <= levels).mean(axis=0) if n > 1 else np.ones(len(levels))
    )
    assert_allclose(shares, expected, atol=1e-12)
    values = levels / len(labels)
    assert_array_equal(distribution_at(shares, values), shares)


def test_too_many_clusters_are_refused_beforehand():
    ensemble = Ensemble([np.arange(1000)])
    with pytest.raises(MemoryError, match="1000 samples with 1000 clusters"):
        cluster_consensus(ensemble, np.arange(1000), max_bytes=1 << 20)


def test_the_distribution_of_an_estimate_ends_at_one():
    ensemble = Ensemble(np.random.default_rng(0).integers(0, 3, (6, 400)))
    shares = consensus_cdf(estimate_agreements(ensemble, 150))
    assert shares[-1] == 1
    assert (np.diff(shares) >= 0).all()
    assert_allclose(shares, consensus_cdf(count_agreements(ensemble)), atol=0.02)


def test_the_distribution_of_an_estimate_is_that_of_the_compared_samples():
    ensemble = Ensemble(np.random.default_rng(1).integers(0, 3, (6, 90)))
    estimated = estimate_agreements(ensemble, 50)
    drawn = ensemble.take_samples(estimated.samples)
    assert_array_equal(consensus_cdf(estimated), consensus_cdf(count_agreements(drawn)))
