"""The metric of links against its formula and its purpose."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterlens.compute.estimators.constrained_k_means import ConstrainedKMeans
from clusterlens.compute.estimators.link_metric import LinkMetric


@parametrize_with_checks([LinkMetric()])
def test_transformer_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def wide():
    """Three groups in the first feature, and three others that say nothing."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 60)
    X = rng.normal(size=(180, 4)) * [0.4, 1.8, 1.9, 2.0]
    X[:, 0] += 2.0 * truth
    return X, truth


def links_of(truth, rng, n):
    pairs = rng.choice(len(truth), (n, 2), replace=False)
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}


def test_weights_are_those_of_the_formula(wide):
    X, truth = wide
    must = links_of(truth, np.random.default_rng(1), 15)["must_link"]
    found = LinkMetric(must, strength=7).fit(X).weights_
    for d, weight in enumerate(found):
        apart = sum((X[i, d] - X[j, d]) ** 2 for i, j in must) / (2 * X[:, d].var())
        assert weight == pytest.approx((7 + len(must)) / (7 + apart))


def test_without_links_no_feature_counts_more(wide):
    X, _ = wide
    metric = LinkMetric().fit(X)
    assert_array_equal(metric.weights_, np.ones(4))
    assert_array_equal(metric.transform(X), X)


def test_links_that_say_nothing_of_a_feature_leave_it_as_it_is(wide):
    X, _ = wide
    rng = np.random.default_rng(2)
    weights = [
        LinkMetric(rng.choice(180, (90, 2), replace=False)).fit(X).weights_
        for _ in range(200)
    ]
    assert_allclose(np.mean(weights, axis=0), 1, atol=0.03)


def test_a_feature_that_agrees_with_the_links_counts_more_with_more_of_them(wide):
    X, truth = wide
    must = links_of(truth, np.random.default_rng(3), 90)["must_link"]
    found = [LinkMetric(must[:n]).fit(X).weights_ for n in (4, 10, len(must))]
    ratios = [weights[0] / weights[1:].max() for weights in found]
    assert 1 < ratios[0] < ratios[1] < ratios[2]


def test_the_unit_of_a_feature_does_not_change_its_weight(wide):
    X, truth = wide
    must = links_of(truth, np.random.default_rng(4), 20)["must_link"]
    first, other = (
        LinkMetric(must).fit(X * scale).weights_
        for scale in ([1, 1, 1, 1], [1e3, 1e-9, 1e60, 7])
    )
    assert_allclose(first, other)


def test_a_feature_of_one_value_is_left_alone(wide):
    X, truth = wide
    must = links_of(truth, np.random.default_rng(5), 20)["must_link"]
    flat = np.column_stack([X, np.full(180, 0.1)])
    weights = LinkMetric(must).fit(flat).weights_
    assert weights[-1] == 1
    assert_array_equal(weights[:-1], LinkMetric(must).fit(X).weights_)


def test_k_means_finds_classes_in_the_metric_that_it_misses_without(wide):
    X, truth = wide
    links = links_of(truth, np.random.default_rng(6), 80)
    rows = LinkMetric(links["must_link"]).fit_transform(X)
    plain, found = (ConstrainedKMeans(3, **links).fit_predict(z) for z in (X, rows))
    assert adjusted_rand_score(truth, plain) < 0.5
    assert adjusted_rand_score(truth, found) > 0.75


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"strength": 0}, "strength"), ({"must_link": [(0, 500)]}, "sample 500")],
)
def test_what_cannot_be_learnt_is_refused(wide, parameters, message):
    with pytest.raises(ValueError, match=message):
        LinkMetric(**parameters).fit(wide[0])


def test_values_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match="too large"):
        LinkMetric(must_link=[(0, 1)]).fit([[1e200], [-1e200]])
