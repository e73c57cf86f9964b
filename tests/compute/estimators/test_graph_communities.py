"""Communities of the neighbour graph: links, connected parts, resolution."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterlens.compute.estimators import graph_communities
from clusterlens.compute.estimators.graph_communities import (
    GraphCommunities,
    neighbor_graph,
)
from clusterlens.compute.estimators.neighbors import neighbor_table


@parametrize_with_checks([GraphCommunities()])
def test_estimator_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def modularity(links, labels, resolution):
    total = links.sum()
    degrees = links.sum(axis=1)
    expected = resolution * np.outer(degrees, degrees) / total
    return ((links - expected) * (labels[:, None] == labels)).sum() / total


def test_links_count_twice_where_both_are_neighbours():
    X = np.array([[0.0], [1.0], [3.0], [3.5]])
    links = neighbor_graph(neighbor_table(X, 1)[0]).toarray()
    expected = [[0, 2, 0, 0], [2, 0, 0, 0], [0, 0, 0, 2], [0, 0, 2, 0]]
    assert links.tolist() == expected
    links = neighbor_graph(np.array([[1], [2], [1]])).toarray()
    assert links.tolist() == [[0, 1, 0], [1, 0, 2], [0, 2, 0]]


@pytest.mark.parametrize("resolution", [0.0, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_no_sample_alone_would_rather_be_elsewhere(resolution, seed):
    X = np.random.default_rng(seed).normal(size=(80, 2))
    links = neighbor_graph(neighbor_table(X, 6)[0]).toarray()
    labels = GraphCommunities(resolution, n_neighbors=6).fit_predict(X)
    reached = modularity(links, labels, resolution)
    for i in range(len(X)):
        for k in range(labels.max() + 2):
            moved = labels.copy()
            moved[i] = k
            assert modularity(links, moved, resolution) < reached + 1e-9


def test_communities_hold_together_without_the_others(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 2))
    thirds = np.arange(300) % 3
    monkeypatch.setattr(graph_communities, "_louvain", lambda graph, resolution: thirds)
    model = GraphCommunities().fit(X)
    graph = neighbor_graph(neighbor_table(X, 15)[0]).toarray()
    for k in range(model.n_clusters_):
        rows = np.flatnonzero(model.labels_ == k)
        assert len(set(thirds[rows])) == 1
        part = csr_array(graph[np.ix_(rows, rows)])
        assert connected_components(part, directed=False)[0] == 1


def test_groups_of_any_shape_are_found():
    X, truth = make_moons(400, noise=0.04, random_state=0)
    labels = GraphCommunities(resolution=0.02).fit_predict(X)
    assert adjusted_rand_score(truth, labels) == 1


def test_larger_resolutions_give_more_communities_the_largest_first():
    X = make_blobs(300, centers=6, random_state=3)[0]
    fits = [GraphCommunities(r).fit(X) for r in (0.01, 0.5, 4.0)]
    numbers = [fit.n_clusters_ for fit in fits]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) == 3
    for fit in fits:
        sizes = np.bincount(fit.labels_)
        assert (np.diff(sizes) <= 0).all()
        assert sizes.min() > 0
        assert fit.labels_.dtype == np.int64


@pytest.mark.parametrize(
    "X", [np.zeros((12, 2)), np.repeat(np.eye(3), 8, axis=0), [[0.0], [1.0]]]
)
def test_duplicates_and_tiny_tables_work(X):
    assert GraphCommunities().fit_predict(X).shape == (len(X),)


@pytest.mark.parametrize(("name", "value"), [("resolution", -1), ("n_neighbors", 0)])
def test_wrong_parameters_are_refused(name, value):
    with pytest.raises(ValueError, match=name):
        GraphCommunities(**{name: value}).fit(np.eye(4))
