"""Live solutions and the estimator agree with the definition.

The definition is solved here by eliminating the states of the walk one by one, in
extended precision and without a subtraction (Grassmann, Taksar & Heyman 1985), so that
overlaps of 1e-40 have 15 right digits and ties are ties.
"""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from clusterlens.compute.estimators.cns._seeds import farthest_first, ideal_gain
from clusterlens.compute.estimators.cns.cns import CNS
from clusterlens.compute.estimators.cns.graph import CNSGraph
from clusterlens.compute.estimators.neighbors import neighbor_table, with_self_first


def rings(rng, sizes=(90, 45, 135)):
    parts = []
    for rows, radius in zip(sizes, (3, 1, 6), strict=True):
        angle = rng.uniform(0, 2 * np.pi, rows)
        circle = radius * np.column_stack([np.cos(angle), np.sin(angle)])
        parts.append(circle + rng.normal(0, 0.08, (rows, 2)))
    return np.vstack(parts)


def polygon(rng):
    angle = np.arange(60) * (2 * np.pi / 60)
    return np.column_stack([np.cos(angle), np.sin(angle)])


TABLES = {
    "rings": rings,
    "polygon": polygon,
    "line": lambda rng: np.sort(rng.uniform(size=(250, 1)), axis=0),
    "moons": lambda rng: make_moons(220, noise=0.07, random_state=3)[0],
    "blobs": lambda rng: make_blobs(200, 3, centers=5, random_state=4)[0],
    "wide": lambda rng: make_blobs(150, 12, centers=4, random_state=5)[0],
    "grid of few values": lambda rng: rng.integers(0, 5, (120, 2)).astype(float),
    "every row four times": lambda rng: np.repeat(rng.normal(size=(40, 3)), 4, axis=0),
    "groups far apart": lambda rng: np.vstack(
        [rng.normal(c, 1, (40, 2)) for c in (0, 30, 90, 400)]
    ),
    "few rows": lambda rng: rng.normal(size=(int(rng.integers(3, 12)), 2)),
}


def eliminated(table, seeds, alpha):
    """Q (n, m) of the seeds, every entry right to about 1e-17 of itself."""
    n_samples, n_neighbors = table.shape
    moves = np.zeros((n_samples, n_samples), np.longdouble)
    np.add.at(moves, (np.arange(n_samples)[:, None], table), (1 - alpha) / n_neighbors)
    np.fill_diagonal(moves, 0)
    ends = np.zeros((n_samples, len(seeds) + 1), np.longdouble)
    ends[:, -1] = alpha
    ends[seeds, np.arange(len(seeds))] = alpha
    leaves = np.zeros(n_samples, np.longdouble)
    for i in range(n_samples - 1, -1, -1):
        leaves[i] = moves[i, :i].sum() + ends[i, -1]
        rows = np.flatnonzero(moves[:i, i])
        share = (moves[rows, i] / leaves[i])[:, None]
        moves[rows, :i] += share * moves[i, :i]
        np.fill_diagonal(moves, 0)
        ends[rows] += share * ends[i]
    q = np.zeros((n_samples, len(seeds)), np.longdouble)
    for i in range(n_samples):
        q[i] = (ends[i, :-1] + moves[i, :i] @ q[:i]) / leaves[i]
    return q


def greedy(q):
    """Order of the columns by the definition; ties go to the first."""
    masses, overlaps = q.sum(axis=0), q.T @ q
    order = [int(np.argmax(masses >= masses.max() * (1 - 1e-12)))]
    while len(order) < len(masses):
        cost = overlaps[order].max(axis=0) / masses**2
        cost[order] = np.inf
        order.append(int(np.argmax(cost <= cost.min() * (1 + 1e-12))))
    return np.array(order)


def defined(X, k, alpha):
    """Seeds in order, their Q and the criterion for every K, by the definition."""
    table = with_self_first(neighbor_table(X, k)[0], k)
    candidates = farthest_first(X, table, min(50, len(X)))
    q = eliminated(table, candidates, alpha)
    order = greedy(q)
    q, n_samples = q[:, order], len(X)
    gains = [0.0]
    for K in range(2, len(order) + 1):
        first = q[:, :K]
        clarity = (first.max(axis=1) + (1 - first.sum(axis=1)) / K).mean()
        gain = clarity - 1 / K - (K - 1) / n_samples
        gains.append(float(gain) / ideal_gain(n_samples, k, alpha))
    return candidates[order], q, np.array(gains)


def fit(X, **settings):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="CNS")
        return CNS(**settings).fit(X)


@pytest.mark.parametrize("name", TABLES)
def test_live_solutions_are_those_of_the_estimator_and_of_the_definition(name):
    rng = np.random.default_rng(sum(map(ord, name)))
    for _ in range(5):
        X = TABLES[name](rng)
        live = CNSGraph(X, min(30, len(X) - 1))
        k = int(rng.integers(2, live.max_neighbors + 1))
        alpha = float(np.exp(rng.uniform(np.log(0.02), np.log(0.6))))
        seeds, q, gains = defined(X, k, alpha)
        for K in rng.integers(1, len(seeds) + 1, 4).tolist():
            case = f"{name}: k={k}, alpha={alpha}, K={K}"
            found = live.solve(k, alpha, K)
            model = fit(X, n_clusters=K, n_neighbors=k, alpha=alpha)
            assert found.seeds.tolist() == seeds[:K].tolist(), case
            assert model.seeds_.tolist() == seeds[:K].tolist(), case
            first = q[:, :K]
            np.testing.assert_allclose(found.absorption, first, rtol=1e-10, atol=0)
            largest = first.max(axis=1, keepdims=True)
            labels = (first >= largest * (1 - 1e-10)).argmax(axis=1)
            assert found.labels.tolist() == labels.tolist(), case
            assert model.seed_labels_.tolist() == labels.tolist(), case
            undecided = (largest[:, 0] == 0) & (K > 1)
            assert found.undecided.tolist() == undecided.tolist(), case
            assert model.undecided_.tolist() == undecided.tolist(), case
            np.testing.assert_array_equal(found.tied, model.tied_)
            np.testing.assert_array_equal(found.memberships, model.memberships_)
            np.testing.assert_array_equal(
                found.criterion, model.criterion_[: len(seeds), 0, 0]
            )
            np.testing.assert_allclose(found.criterion, gains, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("name", ["rings", "line", "blobs", "few rows"])
def test_a_solution_is_the_same_in_any_grid(name):
    X = TABLES[name](np.random.default_rng(1))
    sizes, alphas = np.unique([2, len(X) // 9 + 2]), [0.04, 0.11, 0.37]
    grid = fit(X, n_neighbors=sizes, alpha=alphas).criterion_
    live = CNSGraph(X, int(sizes[-1]))
    for at_k, k in enumerate(sizes.tolist()):
        for at_alpha, alpha in enumerate(alphas):
            gains = live.solve(k, alpha).criterion
            np.testing.assert_array_equal(grid[: len(gains), at_k, at_alpha], gains)


@pytest.fixture
def iterating(monkeypatch):
    """Iterate on every graph, as on large ones of many dimensions."""
    monkeypatch.setattr(
        "clusterlens.compute.estimators.cns._solution.has_small_factors",
        lambda table: False,
    )


@pytest.mark.parametrize("name", TABLES)
def test_iterated_solutions_are_those_of_the_definition(iterating, name):
    rng = np.random.default_rng(sum(map(ord, name)))
    for _ in range(10):
        X = TABLES[name](rng)
        k = int(rng.integers(2, min(30, len(X) - 1) + 1))
        alpha = float(np.exp(rng.uniform(np.log(0.02), np.log(0.6))))
        seeds, q, gains = defined(X, k, alpha)
        found = CNSGraph(X, k).solve(k, alpha, len(seeds))
        assert found.seeds.tolist() == seeds.tolist(), (k, alpha)
        np.testing.assert_allclose(found.absorption, q, rtol=0, atol=1e-13)
        np.testing.assert_allclose(found.criterion, gains, atol=1e-9, rtol=1e-9)


def test_ties_that_no_factors_decide_go_to_the_first_row(iterating, monkeypatch):
    monkeypatch.setattr(
        "clusterlens.compute.estimators.cns._solution._LARGEST_DECIDED", 0
    )
    cube = np.stack(np.meshgrid(*[np.arange(6.0)] * 3), axis=-1).reshape(-1, 3)
    X = np.repeat(cube, 2, axis=0)
    for k, alpha in ((5, 0.05), (14, 0.1)):
        seeds = defined(X, k, alpha)[0]
        found = CNSGraph(X, k).solve(k, alpha, len(seeds))
        assert found.solver != "lu"
        assert found.seeds.tolist() == seeds.tolist()


def test_an_iterated_solution_is_the_same_in_any_grid(iterating):
    X, alphas = TABLES["blobs"](np.random.default_rng(1)), [0.02, 0.1, 0.4]
    together = fit(X, n_neighbors=12, alpha=alphas).criterion_
    live = CNSGraph(X, 12)
    for at, alpha in enumerate(alphas):
        found = live.solve(12, alpha, 5)
        assert found.solver == "chebyshev"
        np.testing.assert_array_equal(together[:, 0, at], found.criterion)
        model = fit(X, n_clusters=5, n_neighbors=12, alpha=alpha)
        np.testing.assert_array_equal(found.memberships, model.memberships_)
