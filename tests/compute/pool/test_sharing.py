"""Models that share steps are those fitted alone."""

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from clusterlens.compute.estimators import neighbors
from clusterlens.compute.pool._fitting import FitJob, StepJob, run_job
from clusterlens.compute.pool._spectral import make_embedding
from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.pool import POOLS, estimate_pool, run_pool
from clusterlens.compute.pool.sharing import Made, SharedModel, Shelf, Step, merge_steps


@pytest.fixture(scope="module")
def X():
    return make_blobs(240, 3, centers=4, cluster_std=1.6, random_state=0)[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", POOLS)
def test_every_model_of_a_preset_is_the_one_fitted_alone(X, name):
    ensemble = run_pool(X, (name, 3) if callable(POOLS[name]) else name, n_jobs=1)
    alone = {}
    for title, spec, labels in zip(
        ensemble.names, ensemble.specs, ensemble.labels, strict=True
    ):
        key = repr(sorted(spec.items(), key=str))
        if key not in alone:
            parameters = {k: v for k, v in spec.items() if k != "clusterer"}
            model = CLUSTERERS[spec["clusterer"]].make(**parameters)
            alone[key] = model.fit_predict(X)
        assert adjusted_rand_score(labels, alone[key]) == 1.0, title
        assert ((labels == -1) == (alone[key] == -1)).all(), title


def step(key, size, make=None, needs=()):
    return Step(
        key,
        "{size} of " + key,
        make or (lambda X, size, *inputs: (np.arange(float(size)),)),
        size,
        tuple(needs),
        seconds=lambda n, d, k: 1.0,
        n_bytes=lambda n, d, k: 1.0,
    )


def test_steps_of_one_key_are_one_as_large_as_its_largest_user_needs():
    table = step("table", 3)
    merged = merge_steps([step("tree", 1, needs=[table]), step("table", 8)])
    assert list(merged) == ["table", "tree"]
    assert merged["table"].size == merged["tree"].needs[0].size == 8


def test_a_step_is_made_once_and_other_processes_find_it(tmp_path):
    made = []

    def make(X, size):
        made.append(size)
        return np.arange(size), X

    X = np.ones((4, 2))
    first, second = Shelf(X, tmp_path), Shelf(X, tmp_path)
    wanted = step("table", 5, make)
    for shelf in (first, first, second):
        numbers, data = shelf.take(wanted).arrays
        np.testing.assert_array_equal(numbers, np.arange(5))
        np.testing.assert_array_equal(data, X)
    assert made == [5]


def test_the_time_of_a_step_is_told_by_the_process_that_made_it_alone(tmp_path):
    def made(X, size):
        return (np.arange(float(size)),)

    def first_labels(X, parameters, *inputs):
        return np.arange(len(X))

    X = np.ones((4, 2))
    wanted = step("table", 5, made)
    model = partial(SharedModel, first_labels, {})
    fit = FitJob(model, (0,), 1.0, 1.0, (wanted,))
    maker = run_job(Shelf(X, tmp_path), StepJob(wanted, 1, 1.0, 1.0))
    user = run_job(Shelf(X, tmp_path), fit)
    assert maker.step_seconds["table"] > 0
    assert user.models == (0,)
    assert user.fit.error is None
    assert user.step_seconds == {}


def test_what_fails_or_warns_reaches_all_who_need_it(tmp_path):
    def fail(X, size):
        raise RuntimeError("no luck\nat all")

    def warn(X, size):
        import warnings

        warnings.warn("beware", stacklevel=1)
        return (X,)

    for folder in (None, tmp_path):
        shelf = Shelf(np.ones((4, 2)), folder)
        user = step("user", 1, needs=[step("bad", 1, fail)])
        assert shelf.take(user).error == "RuntimeError: no luck at all"
        user = step("other", 1, needs=[step("odd", 1, warn)])
        assert shelf.take(user).warnings == ("beware",)
    again = Shelf(np.ones((4, 2)), tmp_path)
    assert isinstance(again.take(step("bad", 1, fail)), Made)
    assert again.take(step("bad", 1, fail)).error == "RuntimeError: no luck at all"


def test_the_plan_names_each_step_and_whom_it_serves():
    plan = {step.title: step for step in estimate_pool((500, 3)).plan}
    tables = [title for title in plan if "every sample" in title]
    assert tables == ["15 nearest neighbours of every sample"]
    served = plan[tables[0]].models
    for family in ("DBSCAN", "spectral"):
        assert any(name.startswith(family) for name in served)
    trees = [title for title in plan if "spanning tree, min_samples=5" in title]
    assert trees == [
        "tree of nearest neighbours, density from 5 neighbours "
        "(spanning tree, min_samples=5)"
    ]
    tree = plan[trees[0]]
    assert {name.split()[0] for name in tree.models} == {"DBSCAN", "HDBSCAN", "Genie"}
    embedding = plan["spectral embedding of 10 dimensions, 10 neighbours"]
    assert len(embedding.models) == 7
    assert len(plan["tree of ward linkage (euclidean)"].models) == 3


@pytest.mark.parametrize(
    "name", ["CNS", "Torque", "border peeling", "selective neighbours", "communities"]
)
def test_own_estimators_take_the_shared_table(X, name, monkeypatch):
    pool = [
        {"clusterer": name},
        {"clusterer": "spectral", "affinity": "nearest_neighbors", "n_clusters": 3},
    ]
    alone = CLUSTERERS[name].make().fit_predict(X)
    searched = []
    search = neighbors._search

    def counted(queries, own, *more):
        searched.append(np.array_equal(own, np.arange(len(X))))
        return search(queries, own, *more)

    monkeypatch.setattr(neighbors, "_search", counted)
    ensemble = run_pool(X, pool, n_jobs=1)
    np.testing.assert_array_equal(ensemble.labels[0], alone)
    assert sum(searched) == 1


def test_a_graph_that_falls_apart_is_told_of_its_models():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(at, 0.1, (30, 2)) for at in (0, 50, 100, 150)])
    grid = {"n_clusters": [2, 4], "affinity": "nearest_neighbors"}
    ensemble = run_pool(X, [{"clusterer": "spectral", **grid}], n_jobs=1)
    assert "falls apart into 4 components" in str(ensemble.notes)


def walk_values(X):
    """Values of the walk on the graph of ten neighbours, the walk, roots of degrees."""
    near = NearestNeighbors(n_neighbors=10).fit(X).kneighbors(return_distance=False)
    links = np.eye(len(X))
    links[np.arange(len(X))[:, None], near[:, :9]] = 1
    links = (links + links.T) / 2
    np.fill_diagonal(links, 0)
    roots = np.sqrt(links.sum(axis=1))
    walk = links / np.outer(roots, roots)
    return np.linalg.eigvalsh(walk)[::-1], walk, roots, near[:, :9].astype(np.int32)


@pytest.mark.parametrize(("kind", "parts"), [("noise", 1), ("apart", 3), ("chain", 1)])
def test_the_embedding_is_that_of_the_largest_values(kind, parts):
    rng = np.random.default_rng(0)
    X = {
        "noise": rng.normal(size=(400, 20)),
        "apart": np.repeat(np.arange(3) * 99.0, 100)[:, None]
        + rng.normal(size=(300, 3)),
        "chain": np.column_stack([np.arange(1500.0), np.zeros(1500)]),
    }[kind]
    values, walk, roots, near = walk_values(X)
    assert np.isclose(values, 1).sum() >= parts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if parts > 1 else "error")
        (embedding,) = make_embedding(X, 5, (near,), n_neighbors=10)
    vectors = embedding * roots[:, None]
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-8)
    np.testing.assert_allclose(walk @ vectors, vectors * values[:5], atol=1e-8)


def test_the_law_of_communities_leaves_the_search_for_neighbours_to_its_step():
    law, step = CLUSTERERS["communities"].seconds, estimate_pool((100_000, 10)).plan
    assert law(100_000, 10, {}) == law(100_000, 100, {})
    assert any("neighbours of every sample" in made.title for made in step)
