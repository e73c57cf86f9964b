import numpy as np
import pytest
from sklearn.decomposition import PCA

from clusterlens.compute._validation import DataError
from clusterlens.compute.table.dataset import prepare
from clusterlens.compute.table.projection import project

RNG = np.random.default_rng(2)


def test_coordinates_and_shares_are_those_of_principal_components():
    X = RNG.normal(size=(60, 5)) @ RNG.normal(size=(5, 5))
    found = project(X, 3)
    expected = PCA(3, svd_solver="full").fit(X)
    assert np.allclose(np.abs(found.coordinates), np.abs(expected.transform(X)))
    assert np.allclose(found.explained, expected.explained_variance_ratio_)
    centred = X - X.mean(axis=0)
    assert np.allclose(found.coordinates, centred @ found.components.T)


def test_signs_are_fixed_by_the_largest_entry():
    found = project(RNG.normal(size=(60, 5)), 5)
    largest = np.abs(found.components).argmax(axis=1)
    assert (found.components[np.arange(5), largest] > 0).all()


@pytest.mark.parametrize(
    ("shape", "k", "solver"),
    [
        ((30, 4), 2, "covariance"),
        ((30, 1100), 2, "randomized"),
        ((30, 1100), 0.5, "full"),
    ],
)
def test_solver_is_stated_and_results_repeat(shape, k, solver):
    X = RNG.normal(size=shape)
    first, second = project(X, k), project(X, k)
    assert first.solver == solver
    assert np.array_equal(first.coordinates, second.coordinates)


def test_share_asks_for_enough_components():
    X = RNG.normal(size=(100, 4)) * [10, 3, 1, 0.1]
    shares = project(X, 4).explained.cumsum()
    for share in (0.5, 0.95, 0.995):
        assert project(X, share).explained.sum() >= share
        assert project(X, share).explained.size == np.searchsorted(shares, share) + 1


@pytest.mark.parametrize("X", [np.ones((5, 3)), np.ones((1, 3)), np.zeros((4, 1))])
def test_samples_that_are_all_equal_lie_at_the_origin(X):
    found = project(X, 2)
    assert found.coordinates.tolist() == [[0, 0]] * len(X)
    assert found.explained.tolist() == [0, 0]
    assert found.components.shape == (2, X.shape[1])


def test_one_feature_fills_one_axis():
    found = project([[1.0], [2.0], [6.0]])
    assert found.coordinates[:, 0].tolist() == [-2.0, -1.0, 3.0]
    assert found.coordinates[:, 1].tolist() == [0, 0, 0]
    assert found.explained.tolist() == [1.0, 0.0]


def test_two_samples_in_many_dimensions_work():
    found = project(RNG.normal(size=(2, 50)), 3)
    assert found.coordinates.shape == (2, 3)
    assert np.allclose(found.explained, [1, 0, 0])


def test_prepared_dataset_is_projected():
    ds = prepare(RNG.normal(size=(20, 3)))
    assert np.array_equal(project(ds).coordinates, project(ds.X).coordinates)


@pytest.mark.parametrize("k", [0, -1, 1.5, 1.0])
def test_impossible_number_of_components_is_refused(k):
    with pytest.raises(ValueError, match="n_components"):
        project(RNG.normal(size=(5, 2)), k)


def test_values_whose_squares_overflow_are_refused():
    with pytest.raises(DataError, match="too large"):
        project([[1e200, 1.0], [-1e200, 3.0], [0.0, 2.0]])
