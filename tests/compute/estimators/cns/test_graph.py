"""CNSGraph answers every setting as CNS does; its previews are close and marked."""

import gc
import threading
import tracemalloc
import warnings
import weakref

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute._validation import DataError
from clusterlens.compute.estimators.cns.cns import CNS
from clusterlens.compute.estimators.cns.graph import CNSGraph


def blobs(n_samples=400, n_features=3, seed=0):
    return make_blobs(n_samples, n_features, centers=5, random_state=seed)[0]


def exact_memberships(solution):
    """Memberships of the seeds of a solution, by a dense solve."""
    q = dense_absorption(solution)
    return q + (1 - q.sum(axis=1, keepdims=True)) / solution.n_clusters


@pytest.fixture(scope="module")
def live():
    return CNSGraph(blobs(), 24)


@pytest.fixture
def previews(monkeypatch):
    """Let small tables have previews, too."""
    monkeypatch.setattr("clusterlens.compute.estimators.cns.graph._QUICK", 0)


def test_interpolated_memberships_are_exact_to_four_digits(previews):
    live = CNSGraph(blobs(), 24).fill(12)
    low, high = live.alpha_range
    rng = np.random.default_rng(0)
    for alpha in np.exp(rng.uniform(np.log(low), np.log(high), 20)):
        solution = live.preview(12, alpha, 6)
        assert solution.preview
        assert solution.n_products == 64
        error = np.abs(solution.memberships - exact_memberships(solution)).max()
        assert error < 1e-4
        assert error <= solution.error_bound + 1e-6


def test_automatic_number_of_clusters_has_the_largest_gain(live):
    solution = live.solve(12, 0.1)
    assert solution.n_clusters == np.argmax(solution.criterion) + 1
    assert solution.n_occupied <= solution.n_clusters


def test_memberships_are_probabilities_for_every_count(live):
    for n_clusters in (1, 2, 17, 50):
        memberships = live.solve(12, 0.03, n_clusters).memberships
        assert memberships.shape == (400, n_clusters)
        assert memberships.min() >= 0
        np.testing.assert_allclose(memberships.sum(axis=1), 1, atol=1e-5)


def test_fewer_clusters_keep_the_first_seeds(live):
    many, few = live.solve(12, 0.05, 20), live.solve(12, 0.05, 4)
    assert few.seeds.tolist() == many.seeds[:4].tolist()


def test_a_preview_is_marked_until_the_setting_is_solved(previews):
    live = CNSGraph(blobs(), 24)
    before = live.preview(16, 0.1, 5)
    assert before.preview
    assert before.n_products == 25
    exact = live.solve(16, 0.1, 5)
    assert not exact.preview
    after = live.preview(16, 0.1, 7)
    assert not after.preview
    np.testing.assert_array_equal(after.seeds[:5], exact.seeds)
    assert (before.labels == exact.labels).mean() > 0.95
    assert live.fill(16).cached_neighbors == (16,)


def test_small_tables_have_no_previews():
    live = CNSGraph(blobs(), 24)
    assert not live.preview(9, 0.2, 4).preview


def test_moving_the_count_solves_nothing(monkeypatch):
    live = CNSGraph(np.repeat(np.eye(3), 5, axis=0), 6)
    live.solve(4, 0.2, 2)
    monkeypatch.setattr(
        "clusterlens.compute.estimators.cns.graph.solve_graph",
        lambda *_, **__: pytest.fail("solved"),
    )
    assert [live.solve(4, 0.2, count).n_clusters for count in (1, 3, 5)] == [1, 3, 3]


def test_alpha_outside_the_range_is_a_short_run(previews):
    live = CNSGraph(blobs(), 24).fill(12)
    assert live.preview(12, live.alpha_range[1] + 0.01, 3).n_products == 25
    assert live.preview(12, live.alpha_range[1], 3).n_products == 64


def test_large_tables_are_previewed_with_fewer_candidates(previews, monkeypatch):
    monkeypatch.setattr("clusterlens.compute.estimators.cns._previews._LARGE", 300)
    live = CNSGraph(blobs(), 24)
    solution = live.preview(12, 0.1)
    assert (solution.n_products, len(solution.criterion)) == (15, 20)
    assert live.preview(12, 0.1, 30).n_clusters == 30


def test_the_longest_unused_goes_first(previews):
    live = CNSGraph(blobs(100), 10, max_caches=2)
    live.fill(4)
    live.fill(5)
    live.preview(4, live.alpha_range[0])
    live.fill(6)
    assert live.cached_neighbors == (4, 6)
    for size in (4, 5, 4, 6):
        live.solve(size, 0.2)
    assert [live.preview(size, 0.2).preview for size in (4, 5, 6)] == [0, 1, 0]


def test_a_preview_that_is_kept_does_not_keep_its_cache(previews):
    live = CNSGraph(blobs(100), 14, max_caches=4)
    solutions, caches = [], weakref.WeakSet()
    for size in range(4, 15):
        live.fill(size)
        solutions.append(live.preview(size, live.alpha_range[0], 3))
        caches.add(live._previews._caches[size])
    gc.collect()
    assert len(caches) == 4
    shares = [solution.seed_shares.sum() for solution in solutions]
    np.testing.assert_allclose(shares, 100, rtol=1e-5)


def test_default_sizes_come_in_the_order_of_their_use():
    assert CNSGraph(blobs(150), 24).default_neighbors == (12, 18, 24, 6)
    assert CNSGraph(blobs(150), 20).default_neighbors == (12, 18, 6)


@pytest.mark.parametrize("n_samples", [4, 10, 11, 18, 28, 150])
def test_the_default_grid_is_that_of_the_estimator(n_samples):
    X = blobs(n_samples)
    model = fit(X)
    live = CNSGraph(X, min(24, n_samples - 1))
    assert sorted(live.default_neighbors) == list(model.n_neighbors_grid_)
    assert live.default_alphas == tuple(model.alpha_grid_)
    low, high = live.alpha_range
    assert low <= min(live.default_alphas) <= max(live.default_alphas) <= high
    grid = live.criterion_grid(alphas=live.default_alphas)
    np.testing.assert_array_equal(grid.values, model.criterion_)
    chosen = grid.choice()
    assert chosen.n_neighbors == model.n_neighbors_
    assert chosen.alpha == model.alpha_
    assert chosen.n_clusters == model.n_clusters_


def fit(X, **settings):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="CNS")
        return CNS(**settings).fit(X)


def dense_absorption(solution):
    """Q by a dense solve of (I - (1 - alpha) W) Q = alpha E."""
    n_samples, n_neighbors = solution._table.shape
    walk = np.zeros((n_samples, n_samples))
    np.add.at(walk, (np.arange(n_samples)[:, None], solution._table), 1 / n_neighbors)
    start = np.zeros((n_samples, solution.n_clusters))
    start[solution.seeds, np.arange(solution.n_clusters)] = solution.alpha
    return np.linalg.solve(np.eye(n_samples) - (1 - solution.alpha) * walk, start)


def test_shares_of_seed_stops_are_those_of_a_dense_solve(live):
    solution = live.solve(12, 0.1, 6)
    q = dense_absorption(solution)
    stops = q.sum(axis=1)
    np.testing.assert_allclose(solution.stop_share, stops, rtol=1e-12)
    np.testing.assert_allclose(solution.seed_shares, q / stops[:, None], rtol=1e-9)
    np.testing.assert_array_equal(solution.certainty, solution.seed_shares.max(axis=1))
    np.testing.assert_array_equal(solution.seed_shares.argmax(1), solution.labels)


def test_steps_of_the_smoothing_follow_the_update(live):
    alpha, n_clusters = 0.1, 4
    steps = live.smoothing_steps(12, alpha, n_clusters, (0, 1, 2, 5, 50))
    assert [step.iterations for step in steps] == [0, 1, 2, 5, 50, None]
    table = live.solve(12, alpha, n_clusters)._table
    start = np.full((400, n_clusters), 1 / n_clusters)
    start[steps[0].seeds] = np.eye(n_clusters)
    rows = start
    for count in range(51):
        found = next((step for step in steps if step.iterations == count), None)
        if found is not None:
            np.testing.assert_allclose(found.memberships, rows, atol=1e-12)
        rows = alpha * start + (1 - alpha) * rows[table].mean(axis=1)
    exact = dense_absorption(live.solve(12, alpha, n_clusters))
    np.testing.assert_allclose(
        steps[-1].seed_shares, exact / exact.sum(axis=1, keepdims=True), atol=1e-5
    )


def test_more_and_more_samples_settle(live):
    steps = live.smoothing_steps(12, 0.1, 5, (0, 2, 200))
    assert steps[0].settled == 5 / 400
    assert steps[0].undecided.sum() == 395
    assert steps[0].settled < steps[1].settled
    assert steps[-1].settled == 1.0
    assert steps[2].settled > 0.99


def test_cancel_is_heard_while_building_and_stepping(live):
    with pytest.raises(Cancelled):
        CNSGraph(blobs(), 24, cancel=lambda: True)
    with pytest.raises(Cancelled):
        live.smoothing_steps(12, 0.1, 3, cancel=lambda: True)
    seen = []
    CNSGraph(blobs(), 24, progress=lambda *step: seen.append(step))
    assert seen[-1][0] == seen[-1][1] == 400
    seen.clear()
    with pytest.raises(Cancelled):
        live.solve(7, 0.1, cancel=lambda: True)
    live.smoothing_steps(12, 0.1, 3, progress=lambda *step: seen.append(step))
    assert seen == [(done, 7) for done in range(1, 8)]


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_error_bound_holds_and_is_of_the_order_stated(previews, alpha):
    solution = CNSGraph(blobs(), 24).preview(12, alpha, 4)
    error = np.abs(solution.memberships - exact_memberships(solution)).max()
    assert error <= solution.error_bound <= 200 * error


def test_unreachable_samples_are_undecided():
    X = np.vstack([np.arange(30.0)[:, None], 1000 + np.arange(30.0)[:, None]])
    live = CNSGraph(X, 4)
    solution = live.solve(3, 0.3, 2)
    apart = CNSGraph(np.vstack([X, [[5000.0], [5001.0], [5002.0], [5003.0]]]), 4)
    flagged = apart.solve(3, 0.3, 2).undecided
    assert not solution.undecided.any()
    assert flagged[60:].all() or flagged[:30].all() or flagged[30:60].all()
    assert not apart.solve(3, 0.3, 1).undecided.any()


def test_cancelled_fill_keeps_no_cache():
    live = CNSGraph(blobs(100), 10)
    with pytest.raises(Cancelled):
        live.fill(5, cancel=lambda: True)
    assert live.cached_neighbors == ()


def test_threads_may_solve_and_fill_at_once(previews):
    live = CNSGraph(blobs(), 24)
    expected = CNSGraph(blobs(), 24).solve(10, 0.1, 4).memberships
    found = []

    def move():
        found.extend(live.preview(10, 0.1, 4).memberships for _ in range(20))
        found.append(live.solve(10, 0.1, 4).memberships)

    threads = [threading.Thread(target=move) for _ in range(3)]
    threads += [threading.Thread(target=live.fill, args=(10,))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 63
    assert all(np.abs(memberships - expected).max() < 0.01 for memberships in found)


def test_results_are_read_only(live):
    solution = live.solve(12, 0.1, 3)
    with pytest.raises(ValueError, match="read-only"):
        solution.memberships[0] = 0


def test_duplicates_limit_the_number_of_seeds():
    live = CNSGraph(np.repeat(np.eye(3), 5, axis=0), 6)
    assert live.solve(4, 0.2, 10).n_clusters == 3


def test_approximate_neighbors_are_chosen_for_large_wide_tables(monkeypatch):
    monkeypatch.setattr("clusterlens.compute.estimators.cns.graph.LARGEST_EXACT", 50)
    monkeypatch.setattr(
        "clusterlens.compute.estimators.cns.graph.find_spec", lambda name: object()
    )
    asked = []

    def table(X, n_neighbors):
        asked.append(n_neighbors)
        steps = np.arange(1, n_neighbors + 1)
        return ((np.arange(len(X))[:, None] + steps) % len(X)).astype(np.int32)

    monkeypatch.setattr(
        "clusterlens.compute.estimators.cns.graph.approximate_neighbor_table", table
    )
    assert CNSGraph(blobs(100, 12), 7).approximate
    assert not CNSGraph(blobs(100, 3), 7).approximate
    assert not CNSGraph(blobs(100, 12), 7, neighbors="exact").approximate
    assert asked == [7]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_neighbors": 100}, "max_neighbors is 100; give a value from 1 to 99"),
        ({"max_neighbors": 5, "metric": "l1"}, "metric is 'l1'"),
        ({"max_neighbors": 5, "neighbors": "fast"}, "neighbors is 'fast'"),
        ({"max_neighbors": 5, "max_clusters": 0}, "max_clusters is 0"),
        ({"max_neighbors": 5, "max_caches": 0}, "max_caches is 0"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        CNSGraph(blobs(100), **arguments)


def test_bad_settings_are_named(live):
    for setting, message in [
        ((25, 0.1, 2), "n_neighbors is 25"),
        ((12, 1.0, 2), "alpha is 1.0"),
        ((12, 0.1, 51), "n_clusters is 51"),
    ]:
        with pytest.raises(ValueError, match=message):
            live.solve(*setting)
    with pytest.raises(DataError, match="row 0"):
        CNSGraph([[np.nan], [1.0]], 1)


def test_caches_too_large_for_memory_are_refused_first(monkeypatch):
    monkeypatch.setattr(
        "clusterlens.compute.estimators.cns._previews.MEMORY_LIMIT", 1000
    )
    with pytest.raises(MemoryError, match="A cache for 100 samples and 50 seeds"):
        CNSGraph(blobs(100), 10).fill(5)


def test_as_many_candidates_as_samples_are_refused_before_memory_is_taken(monkeypatch):
    for work in ("farthest_first", "solve_nodes"):
        monkeypatch.setattr(
            f"clusterlens.compute.estimators.cns._previews.{work}",
            lambda *_, **__: pytest.fail("began"),
        )
    live = CNSGraph(blobs(3_300), 10, max_clusters=3_300)
    with pytest.raises(MemoryError, match=r"8\.8 GB, the limit is 8\.0 GB; give a sma"):
        live.fill(5)


def test_what_is_checked_is_the_memory_that_a_cache_takes(monkeypatch):
    checked = []
    monkeypatch.setattr(
        "clusterlens.compute.estimators.cns._previews.check_memory",
        lambda n_bytes, *_, **__: checked.append(n_bytes),
    )
    live = CNSGraph(blobs(300), 10, max_clusters=150)
    tracemalloc.start()
    live.fill(5)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken == pytest.approx(checked[0], rel=0.1)
