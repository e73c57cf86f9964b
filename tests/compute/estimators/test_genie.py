"""Genie against its definition, with every pair of sizes compared."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterlens.compute.estimators import spanning_trees
from clusterlens.compute.estimators.genie import Genie


@parametrize_with_checks([Genie()])
def test_estimator_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def gini(sizes):
    c = np.asarray(sizes, float)
    if len(c) == 1:
        return 0.0
    apart = np.abs(c[:, None] - c).sum() / 2
    return apart / ((len(c) - 1) * c.sum())


def tree_of(distances):
    tree = minimum_spanning_tree(distances).tocoo()
    return sorted(zip(tree.data, tree.row, tree.col, strict=True))


def naive_genie(edges, samples, n_clusters, threshold):
    """Sets of samples, from the edges of a tree in order."""
    clusters = [{i} for i in samples]
    edges = list(edges)
    while len(clusters) > n_clusters:
        sizes = [len(c) for c in clusters]
        small = set().union(*(c for c in clusters if len(c) == min(sizes)))
        for edge in edges:
            if gini(sizes) <= threshold or {edge[1], edge[2]} & small:
                break
        edges.remove(edge)
        ends = [c for c in clusters if {edge[1], edge[2]} & c]
        clusters = [c for c in clusters if c not in ends] + [set().union(*ends)]
    return clusters


def labels_of(clusters, n_samples):
    labels = np.full(n_samples, -1)
    for k, members in enumerate(clusters):
        labels[list(members)] = k
    return labels


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    n_samples=st.integers(2, 60),
    threshold=st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.8, 1.0]),
    share=st.floats(0, 1),
)
def test_clusters_are_those_of_the_definition(seed, n_samples, threshold, share):
    X = np.random.default_rng(seed).standard_t(2, size=(n_samples, 3))
    k = 1 + int(share * (n_samples - 1))
    edges = tree_of(squareform(pdist(X)))
    expected = labels_of(naive_genie(edges, range(n_samples), k, threshold), n_samples)
    model = Genie(k, threshold).fit(X)
    assert adjusted_rand_score(expected, model.labels_) == 1
    assert len(set(model.labels_)) == model.n_clusters_ == k


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("min_samples", [3, 8])
def test_leaves_are_set_apart_and_join_their_neighbour(min_samples, seed):
    X = np.random.default_rng(seed).normal(size=(60, 2))
    model = Genie(4, min_samples=min_samples, leaves="noise").fit(X)
    # Many trees are the shortest at mutual reachability, so the check takes this one.
    edges = np.concatenate([model.merges_, model.leaves_])
    distances = squareform(pdist(X))
    core = np.sort(distances, axis=1)[:, min_samples - 1]
    reach = np.maximum(distances, np.maximum(core[:, None], core))
    lengths = reach[tuple(edges.T)]
    shortest = minimum_spanning_tree(reach)
    assert lengths.sum() == pytest.approx(shortest.sum())
    leaves = np.flatnonzero(np.bincount(edges.ravel()) == 1)
    assert sorted(model.leaves_[:, 0]) == leaves.tolist()
    assert np.flatnonzero(model.labels_ == -1).tolist() == leaves.tolist()
    inner = np.setdiff1d(np.arange(60), leaves)
    low, high = np.sort(model.merges_, axis=1).T
    listed = sorted(zip(reach[low, high], low, high, strict=True))
    expected = labels_of(naive_genie(listed, inner, 4, 0.3), 60)
    assert adjusted_rand_score(expected[inner], model.labels_[inner]) == 1
    joined = Genie(4, min_samples=min_samples).fit_predict(X)
    np.testing.assert_array_equal(joined[inner], model.labels_[inner])
    leaf, neighbour = model.leaves_.T
    np.testing.assert_array_equal(joined[leaf], joined[neighbour])


def test_threshold_one_is_single_linkage():
    X = np.random.default_rng(1).normal(size=(300, 2))
    single = AgglomerativeClustering(6, linkage="single").fit_predict(X)
    assert adjusted_rand_score(single, Genie(6, 1.0).fit_predict(X)) == 1


def test_partitions_of_more_clusters_refine_those_of_fewer():
    X = np.random.default_rng(2).normal(size=(200, 2))
    coarse, fine = (Genie(k, 0.1).fit_predict(X) for k in (4, 9))
    pairs = set(zip(fine, coarse, strict=True))
    assert len(pairs) == 9


def test_an_outlier_does_not_take_a_cluster_of_its_own():
    X, truth = make_blobs(150, centers=[[0, 0], [9, 0], [0, 9]], random_state=1)
    far = np.vstack([X, [[60, 60]]])
    assert adjusted_rand_score(truth, Genie(3).fit_predict(far)[:-1]) == 1


def test_equal_lengths_are_taken_in_the_order_of_the_samples():
    X = np.arange(6.0)[:, None]
    assert Genie(2, 1.0).fit(X).merges_.tolist() == [[i, i + 1] for i in range(5)]
    assert Genie(3, 0.0).fit_predict(X).tolist() == [0, 0, 0, 0, 1, 2]


def test_the_tree_of_a_large_table_gives_the_same_clusters(monkeypatch):
    X = np.random.default_rng(3).normal(size=(400, 3))
    plain = Genie(5).fit_predict(X)
    monkeypatch.setattr(spanning_trees, "MAX_PLAIN_SAMPLES", 100)
    assert adjusted_rand_score(plain, Genie(5).fit_predict(X)) == 1


@pytest.mark.parametrize(
    "X", [np.zeros((12, 2)), np.repeat(np.eye(3), 8, axis=0), [[0.0], [1.0]]]
)
@pytest.mark.parametrize("min_samples", [1, 2])
def test_duplicates_and_tiny_tables_work(X, min_samples):
    labels = Genie(1, min_samples=min_samples).fit_predict(X)
    assert labels.tolist() == [0] * len(X)
    assert labels.dtype == np.int64


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": 21}, "n_clusters"),
        ({"gini_threshold": 1.1}, "gini_threshold"),
        ({"min_samples": 21}, "min_samples"),
        ({"leaves": "cut"}, "leaves"),
        ({"n_clusters": 20, "min_samples": 3}, "without the leaves of the tree"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        Genie(**parameters).fit(np.random.default_rng(0).normal(size=(20, 2)))
