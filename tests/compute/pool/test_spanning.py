"""One spanning tree says what HDBSCAN, DBSCAN and single linkage say."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute.estimators._boruvka import spanning_tree
from clusterlens.compute.estimators.neighbors import neighbor_table
from clusterlens.compute.pool import _trees, optics, spanning
from clusterlens.compute.pool.optics import make_graph_ordering, make_ordering
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.pool.spanning import (
    _graph_tree,
    _plain_tree,
    dbscan_labels,
    grown_tree,
    hdbscan_labels,
)


def moons(n_samples=600, seed=0):
    return make_moons(n_samples, noise=0.06, random_state=seed)


def is_connected(edges):
    n = len(edges) + 1
    graph = csr_array((np.ones(n - 1), (edges["start"], edges["end"])), (n, n))
    return connected_components(graph, directed=False)[0] == 1


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("min_samples", [2, 5, 9])
def test_dbscan_at_every_radius_from_one_tree(seed, min_samples):
    X = np.random.default_rng(seed).normal(size=(300, 2))
    tree = _plain_tree(X, 0, min_samples=min_samples)
    table = neighbor_table(X, 12)
    for eps in (0.02, 0.1, 0.2, 0.35, 1.0, 9.0):
        chosen = {"eps": eps, "min_samples": min_samples}
        labels = dbscan_labels(X, chosen, tree, table)
        np.testing.assert_array_equal(labels, DBSCAN(**chosen).fit_predict(X))


@pytest.mark.parametrize("decimals", [0, 1, 12])  # duplicates, ties, neither
@pytest.mark.parametrize("method", ["eom", "leaf"])
@pytest.mark.parametrize("size", [2, 5, 40])
def test_hdbscan_at_every_size_from_one_tree(size, method, decimals):
    X = np.round(10 * moons()[0], decimals)
    for min_samples in (1, 5):
        tree = _plain_tree(X, 0, min_samples=min_samples)
        chosen = {"min_cluster_size": size, "cluster_selection_method": method}
        model = HDBSCAN(min_samples=min_samples, algorithm="kd_tree", copy=True)
        alone = model.set_params(**chosen).fit_predict(X)
        labels = hdbscan_labels(X, chosen, tree)
        np.testing.assert_array_equal(labels, alone)


@pytest.mark.parametrize("min_samples", [1, 2, 5, 20])
@pytest.mark.parametrize("decimals", [0, 1, 12])
@pytest.mark.parametrize("features", [1, 3, 20])
def test_the_grown_tree_is_as_long_as_the_plain_one(features, decimals, min_samples):
    X = make_blobs(700, features, random_state=1)[0].round(decimals)  # ties, duplicates
    table = neighbor_table(X, 25)
    plain = _plain_tree(X, 0, min_samples=min_samples)[0]
    grown = grown_tree(X, 0, table, min_samples=min_samples)[0]
    np.testing.assert_allclose(grown["length"], plain["length"], rtol=1e-12, atol=1e-12)
    assert is_connected(grown)


@pytest.mark.parametrize("groups", [1, 7, 60])
def test_a_tree_from_few_neighbours_searches_for_the_others(groups):
    rng = np.random.default_rng(groups)
    X = np.repeat(rng.uniform(0, 1000, (groups, 4)), 840 // groups, axis=0)
    X += rng.standard_t(2, X.shape)
    table, distances = neighbor_table(X, 4)
    core = distances[:, 1]
    edges, lengths = spanning_tree(X, table, distances, core)
    apart = np.linalg.norm(X[edges[:, 0]] - X[edges[:, 1]], axis=1)
    np.testing.assert_allclose(lengths, np.maximum(apart, core[edges].max(axis=1)))
    plain = _plain_tree(X, 0, min_samples=3)[0]["length"]
    np.testing.assert_allclose(np.sort(lengths), plain, rtol=1e-12)
    alone = csr_array((lengths, edges.T), shape=(len(X), len(X)))
    assert connected_components(alone, directed=False)[0] == 1


def test_ties_are_broken_in_the_same_way_whatever_else_is_in_the_table():
    X = np.random.default_rng(0).integers(0, 9, (900, 3)).astype(float)
    one, other = (
        grown_tree(X, 0, neighbor_table(X, k), min_samples=5)[0] for k in (15, 60)
    )
    np.testing.assert_array_equal(one, other)


def test_samples_that_are_all_equal_have_a_tree_of_length_0():
    X = np.ones((300, 2))
    tree = grown_tree(X, 0, neighbor_table(X, 15), min_samples=5)[0]
    assert len(tree) == 299
    assert not tree["length"].any()


@pytest.mark.parametrize("min_samples", [1, 5, 20])
def test_the_tree_of_the_graph_bounds_the_plain_one_and_finds_its_groups(min_samples):
    X, y = moons()
    plain = _plain_tree(X, 0, min_samples=min_samples)
    graph = _graph_tree(X, 0, neighbor_table(X, 20), min_samples=min_samples)
    assert len(graph[0]) == len(X) - 1
    assert is_connected(graph[0])
    heights, bound = np.sort(plain[0]["length"]), np.sort(graph[0]["length"])
    assert (bound >= heights - 1e-12).all()
    labels = hdbscan_labels(X, {"min_cluster_size": 60}, graph)
    assert adjusted_rand_score(labels, y) > 0.95


def test_duplicates_do_not_tear_the_graph_apart():
    X = np.repeat(np.arange(30.0), 25)[:, None]
    graph = _graph_tree(X, 0, neighbor_table(X, 15), min_samples=5)[0]
    assert is_connected(graph)
    assert np.isclose(graph["length"], 1.0).sum() == 29


@pytest.mark.parametrize("features", [3, 15])
def test_large_data_take_other_forms_and_say_so(monkeypatch, features):
    for module in (_trees, spanning, optics):
        monkeypatch.setattr(module, "MAX_PLAIN_SAMPLES", 200)
    X, y = make_blobs(500, features, centers=4, cluster_std=0.4, random_state=2)
    pool = [
        {"clusterer": "HDBSCAN", "min_cluster_size": 30, "min_samples": 5},
        {"clusterer": "DBSCAN", "eps": {"quantile": 0.99, "of": "neighbour distances"}},
        {"clusterer": "OPTICS", "min_samples": 10, "xi": [0.05, 0.1]},
        {"clusterer": "agglomerative", "linkage": "single", "n_clusters": 4},
    ]
    ensemble = run_pool(X, pool, n_jobs=1)
    assert ensemble.n_partitions == 5
    how = "k-d tree" if features == 3 else "graph of 15 neighbours"
    assert any(how in note for note in ensemble.notes)
    assert any("9 neighbours of every sample only" in note for note in ensemble.notes)
    for name, labels in zip(ensemble.names, ensemble.labels, strict=True):
        if not name.startswith("OPTICS"):
            kept = labels >= 0
            assert kept.mean() > 0.9
            assert adjusted_rand_score(y[kept], labels[kept]) == 1.0


def test_single_linkage_from_the_grown_tree_is_that_of_scikit_learn():
    X = make_blobs(400, 2, random_state=3)[0]
    tree = grown_tree(X, 0, neighbor_table(X, 15), min_samples=1)
    for k in (2, 3, 10, 50):
        labels = _trees.cut_agglomerative(X, {"n_clusters": k}, tree)
        alone = AgglomerativeClustering(k, linkage="single").fit_predict(X)
        assert adjusted_rand_score(labels, alone) == 1.0


def test_an_ordering_of_the_graph_keeps_its_contract():
    X = moons()[0]
    table = neighbor_table(X, 9)
    order, reach, before = make_graph_ordering(X, 0, table, min_samples=10)
    assert sorted(order) == list(range(len(X)))
    place = np.argsort(order)
    for i in np.flatnonzero(before >= 0):
        assert i in table[0][before[i]]
        assert place[before[i]] < place[i]
        assert reach[i] == np.around(table[1][before[i], -1], 15)
    # No sample is reached more easily along the graph than by all distances.
    plain = make_ordering(X, 0, table, min_samples=10)[1]
    assert np.median(reach[np.isfinite(reach)]) >= np.median(plain[1:]) * 0.9
