"""Spectral clustering under links against the dense formula and scikit-learn."""

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.estimators.constrained_spectral import (
    ConstrainedSpectral,
    neighbor_graph,
    spread_links,
)

LINKS = Constraints(must_link=[(0, 7), (3, 9)], cannot_link=[(1, 8), (2, 11)])


@parametrize_with_checks([ConstrainedSpectral(3, n_init=2)])
def test_estimator_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal(size=(30, 3))


def spread_over_all(weights, links, reach):
    """The formula of the paper for all pairs, and the weights that follow."""
    roots = np.sqrt(weights.sum(axis=1))
    walk = weights / np.outer(roots, roots)
    signs = np.zeros_like(weights)
    for pairs, sign in ((links.must_link, 1), (links.cannot_link, -1)):
        for i, j in pairs:
            signs[i, j] = signs[j, i] = sign
    spread = (1 - reach) * np.linalg.inv(np.eye(len(walk)) - reach * walk)
    propagated = spread @ signs @ spread
    propagated /= np.abs(propagated[~np.eye(len(walk), dtype=bool)]).max()
    found = np.where(
        propagated >= 0,
        1 - (1 - propagated) * (1 - weights),
        (1 + propagated) * weights,
    )
    np.fill_diagonal(found, 0)
    return found


@pytest.mark.parametrize("reach", [0.0, 0.5, 0.8, 0.99])
def test_where_all_are_neighbours_links_spread_as_the_paper_has_it(points, reach):
    graph = neighbor_graph(points, len(points) - 1)
    found = spread_links(graph, LINKS, reach).toarray()
    np.testing.assert_allclose(
        found, spread_over_all(graph.toarray(), LINKS, reach), atol=2e-5
    )


def test_many_links_spread_as_few_at_a_time_do(points):
    rng = np.random.default_rng(1)
    pairs = np.array([(i, i + 15) for i in range(15)] * 5)
    links = Constraints(cannot_link=pairs[rng.permutation(len(pairs))])
    graph = neighbor_graph(points, 29)
    weights = graph.toarray()
    np.testing.assert_allclose(
        spread_links(graph, links, 0.8).toarray(),
        spread_over_all(weights, Constraints(cannot_link=pairs[:15]), 0.8),
        atol=2e-5,
    )


def test_far_pairs_that_no_link_is_next_to_are_left_alone(points):
    graph = neighbor_graph(points, 4)
    found = spread_links(graph, LINKS, 0.8)
    assert (found != found.T).nnz == 0
    assert found.diagonal().sum() == 0
    near = graph.toarray() > 0
    named = np.unique(np.concatenate([LINKS.must_link, LINKS.cannot_link]))
    next_to = near[named].any(axis=0) | np.isin(np.arange(len(points)), named)
    added = (found.toarray() > 0) & ~near
    assert added.any()
    assert not added[~next_to].any()
    # Links weaken edges but do not remove them.
    assert (found.toarray()[near] > 0).all()


def test_without_links_it_is_spectral_clustering_of_the_graph():
    X, _ = make_moons(300, noise=0.05, random_state=0)
    found = ConstrainedSpectral(4).fit(X)
    plain = SpectralClustering(4, affinity="precomputed", random_state=0)
    np.testing.assert_array_equal(
        found.affinity_.toarray(), neighbor_graph(X, 10).toarray()
    )
    other = plain.fit_predict(found.affinity_.toarray())
    assert adjusted_rand_score(found.labels_, other) > 0.99


def test_links_turn_it_to_the_classes():
    X, truth = make_moons(400, noise=0.2, random_state=3)
    rng = np.random.default_rng(0)
    pairs = rng.choice(400, (30, 2), replace=False)
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    plain = ConstrainedSpectral(2).fit_predict(X)
    linked = ConstrainedSpectral(2, pairs[same], pairs[~same]).fit_predict(X)
    assert adjusted_rand_score(truth, linked) > adjusted_rand_score(truth, plain) + 0.1


def test_a_graph_of_more_parts_than_clusters_gets_more_neighbours():
    X = np.repeat([[0.0], [1.0], [5.0]], 20, axis=0)
    found = ConstrainedSpectral(3, cannot_link=[(0, 59)]).fit(X)
    assert adjusted_rand_score(found.labels_, X[:, 0]) == 1
    two = ConstrainedSpectral(2).fit_predict(X)
    assert adjusted_rand_score(two, X[:, 0] > 3) == 1
    assert set(ConstrainedSpectral(1).fit_predict(X)) == {0}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 31}, "n_clusters"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"reach": 1.0}, "reach"),
        ({"n_init": 0}, "n_init"),
        ({"must_link": [(0, 500)]}, "sample 500"),
        ({"must_link": [(0, 1)], "cannot_link": [(0, 1)]}, "must_link"),
    ],
)
def test_what_cannot_be_clustered_is_refused(points, parameters, message):
    with pytest.raises(ValueError, match=message):
        ConstrainedSpectral(**parameters).fit(points)
