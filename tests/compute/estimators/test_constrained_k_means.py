"""Constrained k-means against its objective, its limits and scikit-learn."""

from itertools import product

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterlens.compute.ensemble.constraints import ConstraintError, Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.estimators.constrained_k_means import ConstrainedKMeans
from clusterlens.compute.pool.specs import pool_specs


@parametrize_with_checks([ConstrainedKMeans(3, n_init=2)])
def test_estimator_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def bars():
    """Two bars of two groups each, which plain k-means cuts across."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 60)
    X = np.column_stack([4.3 * rng.integers(0, 2, 120), 4.0 * truth])
    return X + rng.normal(0, 0.4, X.shape), truth


def links_of(truth, rng, n):
    pairs = rng.choice(len(truth), (n, 2), replace=False)
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}


def share_broken(labels, links):
    return Constraints(**links).violations(Ensemble([labels]))[0]


def objective(X, labels, links, penalty):
    inertia = sum(
        ((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in set(labels)
    )
    known = Constraints(**links)
    return inertia + penalty * known.n_pairs * share_broken(labels, links)


def test_without_links_it_is_k_means(bars):
    X, _ = bars
    plain = KMeans(3, n_init=10, random_state=0).fit(X)
    found = ConstrainedKMeans(3, n_init=20).fit(X)
    assert found.objective_ == pytest.approx(plain.inertia_, rel=1e-3)
    assert found.n_broken_ == 0


def test_links_turn_k_means_to_the_classes(bars):
    X, truth = bars
    links = links_of(truth, np.random.default_rng(2), 40)
    plain = ConstrainedKMeans(2).fit_predict(X)
    found = ConstrainedKMeans(2, **links).fit_predict(X)
    assert adjusted_rand_score(truth, plain) < 0.1
    assert adjusted_rand_score(truth, found) > 0.9


@pytest.mark.parametrize("penalty", [0.3, 2.0, np.inf])
def test_few_rows_are_clustered_nearly_as_well_as_by_trying_all(penalty):
    price, ratios = 1e6 if penalty == np.inf else penalty, []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, truth = rng.normal(size=(7, 2)), rng.integers(0, 2, 7)
        links = links_of(truth, rng, 3)
        best = min(
            objective(X, np.array([0, *labels]), links, price)
            for labels in product(range(2), repeat=6)
        )
        model = ConstrainedKMeans(2, **links, penalty=penalty, n_init=10).fit(X)
        found = objective(X, model.labels_, links, price)
        assert model.objective_ == pytest.approx(found)
        ratios.append(found / best)
    assert min(ratios) > 1 - 1e-9
    assert np.isclose(ratios, 1).sum() >= 4


def test_a_fit_satisfies_its_conditions(bars):
    X, truth = bars
    links = links_of(truth, np.random.default_rng(4), 25)
    model = ConstrainedKMeans(3, **links, penalty=2.0).fit(X)
    labels, centres = model.labels_, model.cluster_centers_
    distances = ((X[:, None] - centres) ** 2).sum(axis=2)
    free = np.setdiff1d(np.arange(120), np.concatenate([*links.values()]))
    np.testing.assert_array_equal(labels[free], distances[free].argmin(axis=1))
    for k, centre in enumerate(centres):
        np.testing.assert_allclose(centre, X[labels == k].mean(axis=0))

    def price(some):
        paid = distances[np.arange(120), some].sum()
        return paid + 2.0 * 25 * share_broken(some, links)

    for row in np.setdiff1d(np.arange(120), free):
        for k in range(3):
            moved = np.where(np.arange(120) == row, k, labels)
            assert price(moved) >= price(labels) - 1e-9


@pytest.mark.parametrize("penalty", [0.05, np.inf])
def test_more_iterations_are_never_worse(penalty):
    rng = np.random.default_rng(6)
    X, truth = rng.random((150, 2)), rng.integers(0, 3, 150)
    options = {"penalty": penalty, "n_init": 1, **links_of(truth, rng, 20)}
    values = [
        ConstrainedKMeans(5, **options, max_iter=n).fit(X).objective_
        for n in range(1, 9)
    ]
    assert (np.diff(values) <= 1e-9).all()
    assert values[-1] < values[0]


def test_an_infinite_penalty_breaks_nothing_and_none_pays_nothing(bars):
    X, truth = bars
    links = links_of(truth, np.random.default_rng(1), 50)
    hard = ConstrainedKMeans(4, **links, penalty=np.inf).fit(X)
    free = ConstrainedKMeans(4, **links, penalty=0).fit(X)
    assert hard.n_broken_ == 0 == share_broken(hard.labels_, links)
    assert free.n_broken_ == round(50 * share_broken(free.labels_, links)) > 0
    assert free.objective_ < hard.objective_


def test_links_that_no_clustering_keeps_are_refused_only_without_a_price():
    X = np.arange(6.0).reshape(-1, 1)
    triangle = {"cannot_link": [(0, 1), (1, 2), (0, 2)]}
    with pytest.raises(ConstraintError, match="more clusters"):
        ConstrainedKMeans(2, **triangle, penalty=np.inf).fit(X)
    assert ConstrainedKMeans(2, **triangle, penalty=100).fit(X).n_broken_ == 1


def test_the_automatic_penalty_follows_the_scale(bars):
    X, truth = bars
    links = links_of(truth, np.random.default_rng(3), 20)
    one, other = (ConstrainedKMeans(3, **links).fit(s * X) for s in (1, 1000))
    np.testing.assert_array_equal(one.labels_, other.labels_)


def test_a_pool_takes_it_and_keeps_the_links(bars):
    model = ConstrainedKMeans(2, must_link=[[0, 1]], cannot_link=[[0, 119]])
    spec = pool_specs([model], bars[0])[0]
    assert spec["cannot_link"] == [[0, 119]]
    assert spec["clusterer"].endswith("ConstrainedKMeans")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 200}, "n_clusters"),
        ({"penalty": -1.0}, "penalty"),
        ({"penalty": "much"}, "penalty"),
        ({"n_init": 0}, "n_init"),
        ({"max_iter": 0}, "max_iter"),
        ({"must_link": [(0, 500)]}, "sample 500"),
        ({"must_link": [(0, 1)], "cannot_link": [(0, 1)]}, "must_link"),
    ],
)
def test_what_cannot_be_clustered_is_refused(bars, parameters, message):
    with pytest.raises(ValueError, match=message):
        ConstrainedKMeans(**parameters).fit(bars[0])
