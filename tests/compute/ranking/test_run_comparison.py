"""Two runs side by side follow from their consensus matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

import clusterlens as cl
from tests.definitions import agreement_counts


def random_run(rng, n, **options):
    return cl.Ensemble(rng.integers(0, 4, (rng.integers(2, 6), n)), **options)


@settings(deadline=None, max_examples=30)
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


def test_a_run_is_itself():
    run = random_run(np.random.default_rng(1), 25)
    found = cl.compare_runs(run, run)
    assert found.difference == pytest.approx(0, abs=1e-7)
    assert found.correlation == pytest.approx(1)
    assert found.leader_ari == 1


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
