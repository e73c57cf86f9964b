"""Two runs side by side follow from their consensus matrices."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

import clusterlens as cl
from tests.definitions import agreement_counts


def random_run(rng, n, **options):
    return cl.Ensemble(rng.integers(0, 4, (rng.integers(2, 6), n)), **options)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
@pytest.mark.filterwarnings("ignore:ensemble has 2 partitions")
def test_shared_rows_are_compared_by_their_consensus_matrices(seed):
    rng = np.random.default_rng(seed)
    ids = rng.permutation(30)[:20], rng.permutation(30)[:14]
    runs = [random_run(rng, len(own)) for own in ids]
    shared = [i for i in ids[0] if i in set(ids[1])]
    if len(shared) < 2:
        return
    found = cl.compare_runs(*runs, ids)
    at = [[list(own).index(i) for i in shared] for own in ids]
    assert [list(rows) for rows in found.rows] == at
    first, second = (
        agreement_counts(run.labels[:, rows]) / run.n_partitions
        for run, rows in zip(runs, at, strict=True)
    )
    expected = np.sqrt(np.mean((first - second) ** 2, axis=1))
    np.testing.assert_allclose(found.changed, expected, atol=1e-7)
    off = ~np.eye(len(shared), dtype=bool)
    if first[off].std() > 0 and second[off].std() > 0:
        correlation = np.corrcoef(first[off], second[off])[0, 1]
        assert found.correlation == pytest.approx(correlation, abs=1e-7)
    leading = [
        run.labels[t][rows]
        for run, t, rows in zip(runs, found.leaders, at, strict=True)
    ]
    assert found.leader_ari == pytest.approx(adjusted_rand_score(*leading))
    table = found.to_frame()
    assert table["changed"].is_monotonic_decreasing
    assert len(table) == found.n_shared == len(shared)


def seen_consensus(run, rows):
    """Share of the votes that saw a pair which join it, by definition; NaN for none."""
    labels = run.labels[:, rows]
    seen = [run.seen_by(t)[rows] for t in range(run.n_partitions)]
    share = np.full((len(rows), len(rows)), np.nan)
    for i in range(len(rows)):
        for j in range(len(rows)):
            saw = [
                (run.votes[t], labels[t, i] == labels[t, j])
                for t in range(run.n_partitions)
                if seen[t][i] and seen[t][j]
            ]
            if saw:
                share[i, j] = sum(v for v, yes in saw if yes) / sum(v for v, _ in saw)
    return share


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
@pytest.mark.filterwarnings("ignore")
def test_partial_runs_are_compared_on_the_pairs_that_both_saw(seed):
    rng = np.random.default_rng(seed)
    ids = rng.permutation(24)[:18], rng.permutation(24)[:16]
    runs = []
    for own in ids:
        gaps = rng.random((3, len(own))) < rng.choice([0.1, 0.5])
        gaps[:, :4] = False
        weights = rng.integers(1, 4, 3).astype(float)
        runs.append(random_models(rng, len(own), missing=gaps, weights=weights))
    found = cl.compare_runs(*runs, ids)
    a, b = (seen_consensus(run, at) for run, at in zip(runs, found.rows, strict=True))
    gap = (a - b) ** 2
    known = np.isfinite(gap)
    for i, changed in enumerate(found.changed):
        if known[i].any():
            assert changed == pytest.approx(np.sqrt(gap[i][known[i]].mean()), abs=1e-9)
        else:
            assert np.isnan(changed)
    known[np.diag_indices(len(gap))] = False
    assert found.n_pairs == known.sum() // 2
    if found.n_pairs > 2 and a[known].std() > 1e-6 and b[known].std() > 1e-6:
        expected = np.corrcoef(a[known], b[known])[0, 1]
        assert found.correlation == pytest.approx(expected, abs=1e-7)
    both = np.logical_and(
        *(
            run.seen_by(t)[at]
            for run, t, at in zip(runs, found.leaders, found.rows, strict=True)
        )
    )
    leading = [
        run.labels[t][at][both]
        for run, t, at in zip(runs, found.leaders, found.rows, strict=True)
    ]
    if both.sum() > 1:
        assert found.leader_ari == pytest.approx(adjusted_rand_score(*leading))


def random_models(rng, n, **options):
    return cl.Ensemble(rng.integers(0, 3, (3, n)), **options)


@pytest.mark.filterwarnings("ignore:ensemble has 2 partitions")
def test_a_gap_that_no_pair_falls_into_changes_nothing():
    rng = np.random.default_rng(3)
    first, second = random_run(rng, 40), random_models(rng, 40)
    gaps = np.zeros((3, 40), bool)
    gaps[1, 39] = True
    partial = cl.Ensemble(second.labels, missing=gaps)
    ids = np.arange(40), np.append(np.arange(39), 99)
    whole = cl.compare_runs(first, second, ids)
    found = cl.compare_runs(first, partial, ids)
    np.testing.assert_allclose(found.changed, whole.changed, atol=1e-7)
    assert found.correlation == pytest.approx(whole.correlation)
    assert found.n_pairs == whole.n_pairs == 39 * 38 // 2


def test_a_run_is_itself():
    run = random_run(np.random.default_rng(1), 25)
    found = cl.compare_runs(run, run)
    assert found.difference == pytest.approx(0, abs=1e-7)
    assert found.correlation == pytest.approx(1)
    assert found.leader_ari == 1


@pytest.mark.filterwarnings("error")
def test_two_runs_of_named_models_are_no_transposed_matrix():
    rng = np.random.default_rng(5)
    names = list("abcdefgh")
    runs = [cl.Ensemble(rng.integers(0, 3, (8, 10)), names=names) for _ in range(2)]
    assert cl.compare_runs(*runs).n_shared == 10


@pytest.mark.parametrize("missing", [None, np.eye(3, 40, dtype=bool)])
def test_progress_rises_from_the_leaders_to_the_end_of_the_comparison(missing):
    rng, steps = np.random.default_rng(6), []
    first, second = random_models(rng, 40), random_models(rng, 40, missing=missing)
    cl.compare_runs(first, second, progress=lambda *step: steps.append(step))
    assert steps == sorted(steps)
    assert {total for _, total in steps} == {100}
    assert (steps[0][0], steps[-1][0]) == (25, 100)


def test_likeness_a_little_below_chance_is_written_without_a_sign():
    run = random_run(np.random.default_rng(1), 25)
    found = replace(cl.compare_runs(run, run), leader_ari=-0.004, correlation=-0.004)
    assert "ARI 0.00, consensus correlation 0.00)" in repr(found)


def test_runs_without_shared_rows_are_refused():
    rng = np.random.default_rng(2)
    runs = random_run(rng, 4), random_run(rng, 4)
    with pytest.raises(ValueError, match="share 0 rows"):
        cl.compare_runs(*runs, (list("abcd"), list("wxyz")))
    with pytest.raises(ValueError, match="each sample an id of its own"):
        cl.compare_runs(*runs, (list("aacd"), list("abcd")))


def test_a_cluster_is_prepared_from_its_own_rows():
    ds = cl.prepare(cl.load_example("iris"))
    rows = np.flatnonzero(ds.labels_true > 0)
    part = cl.take_rows(ds, rows)
    assert part.row_ids.tolist() == ds.row_ids[rows].tolist()
    assert part.feature_names == ds.feature_names
    np.testing.assert_allclose(part.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(part.X.std(axis=0), 1)
    again = cl.run_pool(part.X, "quick", n_jobs=1)
    whole = cl.run_pool(ds.X, "quick", n_jobs=1)
    found = cl.compare_runs(whole, again, (ds.row_ids, part.row_ids))
    assert found.n_shared == 100
