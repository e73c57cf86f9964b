import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from clusterlens.compute._run.options import Cancelled, RunOptions
from clusterlens.compute.consensus._lloyd import Lloyd, best_of_starts
from clusterlens.compute.consensus._one_hot import one_hot_rows
from clusterlens.compute.ensemble.ensemble import Ensemble
from tests.compute.consensus.test_one_hot import dense


def random_rows(n=400, p=7, k=6, seed=0):
    labels = np.random.default_rng(seed).integers(0, k, (p, n))
    return one_hot_rows(Ensemble(labels))[0]


@pytest.mark.parametrize("n_clusters", [2, 4, 5, 9])
def test_one_pass_finds_the_nearest_centre(n_clusters):
    rows = random_rows()
    matrix = dense(rows)
    lloyd = Lloyd(rows, RunOptions())
    start = lloyd.seeds(n_clusters, np.random.default_rng(1))
    result = lloyd.run(start, max_iter=1)
    means = (start.counts / start.masses).T
    distances = ((matrix[:, None] - means) ** 2).sum(axis=2)
    cheapest = distances[np.arange(len(matrix)), result.labels]
    assert_allclose(cheapest, distances.min(axis=1), atol=1e-9)
    assert_allclose(result.loss, rows.weights @ distances.min(axis=1))


def test_converged_result_is_a_fixed_point_with_consistent_centres():
    rows = random_rows(seed=2)
    lloyd = Lloyd(rows, RunOptions())
    start = lloyd.seeds(5, np.random.default_rng(0))
    result = lloyd.run(start, max_iter=300)
    members = np.eye(5, dtype=np.int64)[result.labels] * rows.weights[:, None]
    assert_array_equal(result.centres.counts, dense(rows).T @ members)
    assert_array_equal(result.centres.masses, members.sum(axis=0))
    assert_array_equal(lloyd.run(result.centres, max_iter=1).labels, result.labels)


def test_masses_scale_rows_and_weigh_them():
    rows = random_rows(n=80, p=4)
    masses = np.random.default_rng(5).integers(1, 9, rows.n_rows)
    lloyd = Lloyd(rows, RunOptions(), masses=masses)
    result = lloyd.run(lloyd.seeds(3, np.random.default_rng(0)), max_iter=300)
    points = dense(rows) / masses[:, None]
    weights = rows.weights * masses
    loss = 0.0
    for label in range(3):
        inside = result.labels == label
        mean = np.average(points[inside], axis=0, weights=weights[inside])
        loss += weights[inside] @ ((points[inside] - mean) ** 2).sum(axis=1)
    assert_allclose(result.loss, loss)


def test_no_cluster_stays_empty():
    rows = random_rows(n=60, p=3, k=3)
    lloyd = Lloyd(rows, RunOptions())
    start = lloyd.seeds(2, np.random.default_rng(0))
    # Six centres in two places: four of them attract nobody.
    doubled = type(start)(np.repeat(start.counts, 3, 1), np.repeat(start.masses, 3))
    result = lloyd.run(doubled, max_iter=300)
    assert sorted(set(result.labels)) == list(range(6))
    assert (result.centres.masses > 0).all()


def test_seeds_are_distinct_rows_up_to_the_last_row():
    rows = random_rows(n=30, p=2, k=3)
    seeds = Lloyd(rows, RunOptions()).seeds(rows.n_rows, np.random.default_rng(4))
    assert len(np.unique(seeds.counts, axis=1).T) == rows.n_rows


def test_result_does_not_depend_on_threads_or_block_length(monkeypatch):
    rows = random_rows(n=2000, p=9)
    results = []
    for n_jobs, block in ((1, 1 << 21), (2, 1 << 12), (3, 1 << 14)):
        monkeypatch.setattr(
            "clusterlens.compute.consensus._lloyd.LOOKUPS_PER_BLOCK", block
        )
        *_, best = best_of_starts(
            Lloyd(rows, RunOptions(n_jobs)), 7, 2, 300, np.random.default_rng(0)
        )
        results.append(best)
    for other in results[1:]:
        assert_array_equal(results[0].labels, other.labels)
        assert results[0].loss == other.loss


def test_best_start_never_gets_worse():
    lloyd = Lloyd(random_rows(seed=8), RunOptions())
    starts = best_of_starts(lloyd, 6, 8, 300, np.random.default_rng(0))
    losses = [result.loss for result in starts]
    assert losses == sorted(losses, reverse=True)
    assert len(losses) == 8


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cancel_stops_between_blocks(monkeypatch, n_jobs):
    monkeypatch.setattr(
        "clusterlens.compute.consensus._lloyd.LOOKUPS_PER_BLOCK", 1 << 10
    )
    looks = iter([False] * 5 + [True] * 100)
    lloyd = Lloyd(random_rows(n=3000), RunOptions(n_jobs, cancel=lambda: next(looks)))
    with pytest.raises(Cancelled):
        lloyd.seeds(5, np.random.default_rng(0))
    assert next(looks)


def test_starts_from_a_sample_are_refined_on_all_rows(monkeypatch):
    rows = random_rows(n=3000, p=9)
    masses = np.random.default_rng(1).integers(1, 5, rows.n_rows)
    whole = Lloyd(rows, RunOptions(), masses=masses)
    *_, plain = best_of_starts(whole, 4, 3, 300, np.random.default_rng(0))
    monkeypatch.setattr("clusterlens.compute.consensus._lloyd.START_ROWS", 500)
    start = whole.start(4, np.random.default_rng(0))
    assert start.counts.sum() == 500 * 9
    *_, sampled = best_of_starts(whole, 4, 3, 300, np.random.default_rng(0))
    assert sampled.centres.counts.sum() == rows.weights.sum() * 9
    assert_allclose(sampled.loss, plain.loss, rtol=0.01)
    # A row that moved would be nearer to another centre.
    again = whole.run(sampled.centres, max_iter=1)
    assert_array_equal(again.labels, sampled.labels)
    for n_jobs in (1, 3):
        lloyd = Lloyd(rows, RunOptions(n_jobs), masses=masses)
        *_, other = best_of_starts(lloyd, 4, 3, 300, np.random.default_rng(0))
        assert_array_equal(other.labels, sampled.labels)


def test_centres_beyond_the_memory_limit_are_refused(monkeypatch):
    monkeypatch.setattr("clusterlens.compute.consensus._lloyd.MAX_CENTRE_BYTES", 1000)
    starts = best_of_starts(
        Lloyd(random_rows(), RunOptions()), 9, 1, 9, np.random.default_rng(0)
    )
    with pytest.raises(MemoryError, match="centres of 9 clusters"):
        next(starts)
