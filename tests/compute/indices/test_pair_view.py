import numpy as np
import pytest
from sklearn.datasets import load_iris

from clusterlens.compute.indices.pair_view import class_pair_view


def iris():
    data = load_iris()
    return data.data, data.target_names[data.target]


def test_means_are_as_far_apart_as_in_all_features_and_on_a_line():
    X, labels = iris()
    view = class_pair_view(X, labels, "versicolor", "virginica")
    gap = X[labels == "virginica"].mean(0) - X[labels == "versicolor"].mean(0)
    (x_a, y_a), (x_b, y_b) = view.means
    assert y_b - y_a == pytest.approx(np.linalg.norm(gap))
    assert x_a == pytest.approx(x_b)
    np.testing.assert_allclose(
        view.components @ view.components.T, np.eye(2), atol=1e-9
    )
    assert view.rows.tolist() == list(range(50, 150))
    assert view.is_b.sum() == 50


def test_no_plane_through_the_means_holds_more_variance():
    X, labels = iris()
    view = class_pair_view(X, labels, "setosa", "virginica")
    pair = X[view.rows] - X[view.rows].mean(axis=0)
    held = np.square(view.coordinates).sum() / np.square(pair).sum()
    assert view.variance_share == pytest.approx(held)
    rng = np.random.default_rng(0)
    y = view.components[1]
    for _ in range(200):
        other = rng.normal(size=4)
        other -= other @ y * y
        other /= np.linalg.norm(other)
        share = (np.square(pair @ y) + np.square(pair @ other)).sum()
        assert share <= np.square(view.coordinates).sum() + 1e-9


def test_coinciding_means_give_the_principal_components():
    X = np.array([[-2.0, 0, 0], [2, 0, 0], [0, 1, 0], [0, -1, 0]])
    view = class_pair_view(X, [0, 0, 1, 1], 0, 1)
    np.testing.assert_allclose(np.abs(view.components), [[0, 1, 0], [1, 0, 0]])
    assert view.variance_share == 1.0
    same = class_pair_view([[1.0], [1.0]], [0, 1], 0, 1)
    assert same.variance_share == 1.0
    assert not same.coordinates.any()


@pytest.mark.parametrize(("a", "b"), [("p", "p"), ("p", "z"), (0, "p")])
def test_wrong_classes_are_named(a, b):
    with pytest.raises(ValueError, match="a and b are"):
        class_pair_view([[0.0], [1.0]], ["p", "q"], a, b)
