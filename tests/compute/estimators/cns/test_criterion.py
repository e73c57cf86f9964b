import numpy as np
import pytest
from sklearn.datasets import make_blobs

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.estimators.cns.cns import CNS
from clusterlens.compute.estimators.cns.criterion import CriterionGrid
from clusterlens.compute.estimators.cns.graph import CNSGraph


def blobs(n_samples=300):
    return make_blobs(n_samples, 3, centers=5, random_state=0)[0]


def test_best_settings_hold_the_automatic_choice():
    model = CNS().fit(blobs())
    best = model.criterion_grid().best()
    chosen = best.loc[best["criterion"].idxmax()]
    assert chosen["n_clusters"] == model.n_clusters_
    assert chosen["n_neighbors"] == model.n_neighbors_
    assert chosen["alpha"] == model.alpha_


def test_ties_go_to_the_smaller_alpha_then_to_fewer_neighbours():
    values = np.zeros((2, 2, 2))
    values[1] = [[0.5, 0.7], [0.7, 0.7]]
    best = CriterionGrid(values, np.array([4, 8]), np.array([0.1, 0.2])).best()
    assert best.loc[0].tolist() == [1, 0.0, 4, 0.1]
    assert best.loc[1].tolist() == [2, 0.7, 8, 0.1]


def test_counts_without_a_value_have_no_best_setting():
    values = np.full((3, 1, 1), np.nan)
    values[0] = 0
    grid = CriterionGrid(values, np.array([4]), np.array([0.1]))
    assert grid.best()["n_clusters"].tolist() == [1]
    assert np.isnan(grid.at(3).to_numpy()).all()
    with pytest.raises(ValueError, match="n_clusters is 4"):
        grid.at(4)


def test_live_grid_is_the_criterion_of_each_solution():
    live = CNSGraph(blobs(), 24)
    alphas = [0.08, 0.2, 0.5]
    grid = live.criterion_grid([12, 15, 18], alphas)
    for n_clusters in (2, 5, 30):
        table = grid.at(n_clusters)
        assert table.index.tolist() == [12, 15, 18]
        for size in (12, 15, 18):
            for alpha in alphas:
                solution = live.solve(size, alpha, n_clusters)
                assert table.loc[size, alpha] == solution.criterion[n_clusters - 1]


def test_live_grid_covers_the_default_sizes_and_the_whole_range_by_default():
    live = CNSGraph(blobs(), 24)
    seen = []
    grid = live.criterion_grid(progress=lambda *step: seen.append(step))
    assert grid.n_neighbors.tolist() == [6, 12, 18, 24]
    assert grid.values.shape == (50, 4, 24)
    assert (grid.alphas[0], grid.alphas[-1]) == live.alpha_range
    assert seen[-1] == (100, 100)
    assert seen == sorted(seen)
    with pytest.raises(Cancelled):
        live.criterion_grid([7], cancel=lambda: True)
    with pytest.raises(ValueError, match=r"alphas is 0\.99"):
        live.criterion_grid(alphas=[0.99])
    with pytest.raises(ValueError, match="n_neighbors is 25"):
        live.criterion_grid([25])


def test_no_setting_of_the_grid_is_solved_twice(monkeypatch):
    live = CNSGraph(blobs(), 24)
    first = live.criterion_grid([12], [0.1, 0.2])
    monkeypatch.setattr(
        "clusterlens.compute.estimators.cns.graph.solve_graph",
        lambda *_, **__: pytest.fail("solved"),
    )
    again = live.criterion_grid([12], [0.1, 0.2])
    np.testing.assert_array_equal(first.values, again.values)


def test_the_choice_is_that_of_the_estimator_where_gains_tie():
    values = np.zeros((3, 2, 2))
    values[1] = [[0.5, 0.7], [0.1, 0.7]]
    values[2] = [[0.2, 0.1], [0.7, 0.3]]
    chosen = CriterionGrid(values, np.array([4, 8]), np.array([0.1, 0.2])).choice()
    assert chosen == (3, 0.7, 8, 0.1)
