"""Rates of partitions with noise, checked on rows that took no part in them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, HDBSCAN

import clusterlens as cl
from clusterlens.compute.assigning._calibration import dispersion, widened, widening
from clusterlens.compute.assigning._repeating import find_clustering
from clusterlens.compute.assigning.fitting import fit_assigner


def overlapping(n, seed):
    """Rows of six groups that overlap, half of them scattered over all."""
    rng = np.random.default_rng(seed)
    centres = 3 * rng.normal(size=(6, 2))

    def rows():
        X = centres[rng.integers(6, size=n)] + rng.normal(size=(n, 2))
        scattered = rng.random(n) < 0.5
        low, high = centres.min() - 4, centres.max() + 4
        X[scattered] = rng.uniform(low, high, size=(scattered.sum(), 2))
        return pd.DataFrame(X, columns=["a", "b"])

    return rows(), rows()


@pytest.fixture(scope="module")
def drifts():
    """Drifts of unchanged tables, partitions by HDBSCAN with many small clusters."""
    found = []
    for seed in range(8):
        then, now = overlapping(800, seed)
        dataset = cl.prepare(then)
        labels = HDBSCAN(5, copy=True).fit_predict(dataset.X)
        found.append(cl.Segmentation(dataset, labels).drift(now))
    return found


def test_an_unchanged_table_has_as_many_rows_nowhere_as_stated(drifts):
    assert np.mean([drift.nowhere for drift in drifts]) <= 0.06
    assert [drift.verdict for drift in drifts].count("refit") <= 1
    assert all(drift.is_checked for drift in drifts)


def test_an_unchanged_table_has_the_share_of_noise_that_is_expected(drifts):
    noise = [drift.shares.set_index("cluster").loc[-1] for drift in drifts]
    assert abs(np.mean([one["difference"] for one in noise])) < 0.02
    assert sum(drift.shares_p <= 0.05 for drift in drifts) <= 2


@pytest.mark.parametrize(
    "made",
    [
        *(HDBSCAN(size, copy=True) for size in (5, 8, 15)),
        HDBSCAN(20, min_samples=5, copy=True),
        DBSCAN(0.3, min_samples=10),
    ],
    ids=str,
)
def test_the_clustering_that_made_a_partition_is_found(made):
    X = cl.prepare(overlapping(500, 1)[0]).X
    assert find_clustering(X, made.fit_predict(X))[1] >= 0.9


def test_noise_that_no_clustering_repeats_makes_no_promise():
    then, now = overlapping(400, 2)
    labels = np.random.default_rng(0).integers(-1, 2, size=400)
    drift = cl.Segmentation(cl.prepare(then), labels).drift(now)
    assert not drift.is_checked


def test_without_noise_nothing_is_widened():
    X = cl.prepare(overlapping(300, 3)[0]).X
    assigner = fit_assigner(X, (X[:, 0] > 0).astype(int))
    assert assigner.is_checked
    assert assigner.widening.size == 0
    p = np.linspace(0, 1, 50)
    np.testing.assert_array_equal(widened(assigner.widening, p), p)


def test_without_rows_those_of_noise_are_nowhere_at_the_stated_rate():
    then, now = overlapping(1000, 4)
    dataset = cl.prepare(then)
    labels = HDBSCAN(15, copy=True).fit_predict(dataset.X)
    seg = cl.Segmentation(dataset, labels, rows=False)
    drift = seg.drift(now)
    assert drift.nowhere == pytest.approx(0.05, abs=0.025)
    assert drift.verdict == "keep"
    assert drift.shares["then"].sum() == pytest.approx(1)


def test_widening_counts_unseen_rows_whose_cluster_can_be_as_odd():
    rng = np.random.default_rng(0)
    least = np.repeat([0.01, 0.2], 500)
    p = np.maximum(rng.random(1000) ** 2, least)
    curve = widening(p, least)
    assert (np.diff(curve[0]) > 0).all()
    assert (np.diff(curve[1]) >= 0).all()
    assert (curve[1] >= curve[0]).all()
    assert (curve[:, -1] == 1).all()
    at = curve[0][curve[0] < 0.2]
    shares = [(1 + (p <= x).sum()) / 501 for x in at]
    np.testing.assert_allclose(widened(curve, at), np.maximum(shares, at))
    assert widening(p[:0], least[:0]).size == 0


def test_dispersion_is_the_variance_of_shares_beyond_chance():
    rng = np.random.default_rng(0)
    shares = np.array([0.5, 0.3, 0.2])
    for variance in (0.0, 0.01):
        found = []
        for _ in range(500):
            moved = shares
            if variance:
                moved = rng.dirichlet(shares * (1 / variance - 1))
            rows = [rng.multinomial(n, q) for n, q in ((400, shares), (200, moved))]
            found.append(dispersion(*rows))
        assert np.mean(found) == pytest.approx(variance, abs=0.002)


def test_copies_count_in_the_shares_that_are_expected():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(np.r_[rng.normal(size=(40, 2)), rng.normal(9, 1, (40, 2))])
    table = table.add_prefix("x")
    copied = pd.concat([table, *[table[:40]] * 2], ignore_index=True)
    dataset = cl.prepare(copied, copies="once")
    seg = cl.Segmentation(dataset, (dataset.X[:, 0] > 0).astype(int))
    assert seg.assigner.expected.tolist() == [0.75, 0.25]
    assert seg.drift(copied).shares["difference"].tolist() == [0, 0]
