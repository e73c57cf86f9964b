import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute._run.processes import Workers
from clusterlens.compute.pool import nulls
from clusterlens.compute.pool.nulls import (
    NullAgreement,
    match_covariance,
    null_agreement,
    null_agreement_seconds,
    permute_columns,
)
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.ranking.ranking import rank_partitions

POOL = [
    {"clusterer": "k-means", "n_clusters": [2, 3, 4, 6]},
    {
        "clusterer": "agglomerative",
        "linkage": ["ward", "average"],
        "n_clusters": [3, 5],
    },
]
BLOBS = make_blobs(150, centers=4, n_features=5, cluster_std=3, random_state=1)[0]


def structureless(kind, seed, n=150):
    rng = np.random.default_rng(seed)
    if kind == "uniform":
        return rng.random((n, 2))
    return rng.standard_normal((n, 2)) @ np.array([[2.0, 1.0], [0.0, 0.5]])


@pytest.mark.parametrize("kind", ["uniform", "gaussian"])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_found_in_structureless_data(kind, seed):
    found = null_agreement(structureless(kind, seed), POOL, 9, n_jobs=1)
    assert found.overlaps
    assert max(found.p_values.values()) > 0.1
    assert "agrees no more on the data" in found.sentence
    assert f"p = {found.p_value:.2g}" in found.sentence


@pytest.mark.parametrize("score", ["aari", "anmi", "discotec-kl"])
def test_blobs_are_found(score):
    found = null_agreement(BLOBS, POOL, 9, score=score, n_jobs=1)
    assert not found.overlaps
    assert_allclose(list(found.p_values.values()), 0.1)
    assert "each of 9 copies" in found.sentence
    assert "draw at least 19" in found.sentence


def test_a_small_p_is_not_called_proof_of_clusters():
    none = np.zeros((19, 101))
    found = NullAgreement(
        *("aari", 0.9),
        {"permuted": np.full(19, 0.5), "gaussian": np.full(19, 0.6)},
        {"permuted": 0.05, "gaussian": 0.05},
        *(np.zeros(101), np.zeros(101)),
        {"permuted": none, "gaussian": none},
        *(150, ()),
    )
    assert "p = 0.05, from 19 copies with permuted columns" in found.sentence
    assert "19 Gaussian copies, the smallest p that so many can give" in found.sentence
    assert "not proof of clusters" in found.sentence


def fails_on_copies(monkeypatch, failing):
    """Let the pool leave one model, or none, on some of its runs."""
    runs = iter(range(99))

    def run(X, pool, seed, n_jobs, **options):
        number = next(runs)
        if failing.get(number) == 0:
            raise ValueError("No model of the pool survived.")
        ensemble = run_pool(X, pool, seed, n_jobs, **options)
        return ensemble.select([0]) if failing.get(number) == 1 else ensemble

    monkeypatch.setattr(nulls, "run_pool", run)


def test_failed_copies_count_against_the_data(monkeypatch):
    fails_on_copies(monkeypatch, {1: 0, 2: 1, 4: 1})
    found = null_agreement(BLOBS, POOL, 3, n_jobs=1)
    assert found.n_failed == {"permuted": 2, "gaussian": 1}
    assert found.p_values == {"permuted": 3 / 4, "gaussian": 2 / 4}
    assert found.p_value == 3 / 4
    assert found.overlaps
    assert "On 3 of 6 copies fewer than two models survived" in found.sentence


@pytest.mark.parametrize("left", [0, 1])
def test_too_few_models_on_the_data_are_refused(monkeypatch, left):
    fails_on_copies(monkeypatch, {0: left})
    with pytest.raises(ValueError, match="pool"):
        null_agreement(BLOBS, POOL, 1, n_jobs=1)


def test_time_grows_with_the_number_of_copies():
    one, ten = (null_agreement_seconds(BLOBS, POOL, n, n_jobs=1) for n in (1, 10))
    assert ten / one == pytest.approx(21 / 3)
    assert null_agreement_seconds(BLOBS.shape, POOL, 1, n_jobs=1) == pytest.approx(one)


def test_blobs_have_fewer_ambiguous_pairs_than_copies():
    found = null_agreement(BLOBS, POOL, 5, n_jobs=1)
    middle = found.cdf[90] - found.cdf[10]
    for cdf in found.null_cdf.values():
        assert cdf.shape == (5, 101)
        assert (np.diff(cdf, axis=1) >= 0).all()
        assert_allclose(cdf[:, -1], 1.0)
        assert (cdf[:, 90] - cdf[:, 10] > middle).all()


def test_the_data_are_judged_by_the_pool_as_it_runs_alone():
    found = null_agreement(BLOBS, POOL, 1, random_state=3, n_jobs=1)
    alone = rank_partitions(run_pool(BLOBS, POOL, 3, 1), "aari")
    assert found.best == alone.values.max()
    frame = found.to_frame()
    assert frame["kind"].tolist() == ["data", "permuted", "gaussian"]
    assert frame.loc[0, "best"] == found.best


def test_p_value_counts_copies_that_do_as_well():
    found = null_agreement(structureless("uniform", 0), POOL, 9, n_jobs=1)
    for kind, null in found.null_best.items():
        expected = (1 + (null >= found.best).sum()) / 10
        assert_allclose(found.p_values[kind], expected)


def test_seed_decides_the_copies():
    first, again, other = (
        null_agreement(BLOBS[:60], POOL[:1], 2, seed, n_jobs=1) for seed in (0, 0, 1)
    )
    for kind in ("permuted", "gaussian"):
        assert_array_equal(first.null_best[kind], again.null_best[kind])
        assert (first.null_best[kind] != other.null_best[kind]).any()


def test_some_samples_are_compared_where_there_are_many():
    found = null_agreement(BLOBS, POOL[:1], 1, max_compared=40, n_jobs=1)
    assert found.n_compared == 40
    assert null_agreement(BLOBS, POOL[:1], 1, n_jobs=1).n_compared == 150


def test_permuted_copies_keep_the_columns():
    copy = permute_columns(BLOBS, np.random.default_rng(0))
    assert_array_equal(np.sort(copy, axis=0), np.sort(BLOBS, axis=0))
    assert abs(np.corrcoef(copy.T) - np.eye(5)).max() < 0.3


def test_gaussian_copies_keep_mean_and_covariance_also_without_full_rank():
    X = np.column_stack([BLOBS, BLOBS[:, 0] - BLOBS[:, 1], np.full(150, 7.0)])
    rng = np.random.default_rng(0)
    copies = np.concatenate([match_covariance(X, rng) for _ in range(200)])
    assert_allclose(copies.mean(axis=0), X.mean(axis=0), atol=0.3)
    assert_allclose(np.cov(copies.T), np.cov(X.T), atol=1.5)
    assert_allclose(copies[:, 5], copies[:, 0] - copies[:, 1], atol=1e-9)
    assert_allclose(copies[:, 6], 7.0)


def test_progress_counts_runs_of_the_pool_and_cancel_is_heard():
    seen = []
    null_agreement(
        BLOBS[:50], POOL[:1], 2, n_jobs=1, progress=lambda *step: seen.append(step)
    )
    assert seen == [(done, 5) for done in range(1, 6)]
    with pytest.raises(Cancelled):
        null_agreement(BLOBS[:50], POOL, 2, n_jobs=1, cancel=lambda: True)


def test_all_runs_use_the_workers_that_are_given():
    workers = Workers(1)
    alone = null_agreement(BLOBS[:50], POOL[:1], 2, n_jobs=1)
    try:
        found = null_agreement(BLOBS[:50], POOL[:1], 2, workers=workers)
        assert workers.n_used == 1
    finally:
        workers.close()
    assert found.best == alone.best
    assert_array_equal(found.cdf, alone.cdf)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_draws": 0}, "n_draws is 0"),
        ({"score": "best"}, "score is 'best'; give one of"),
        ({"max_compared": 1}, "max_compared is 1"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        null_agreement(BLOBS, POOL, **arguments)


def test_noise_means_the_same_on_the_data_and_on_the_copies():
    density = {"clusterer": "DBSCAN", "eps": [3.5, 5.0], "min_samples": 4}
    pool = [density, {"clusterer": "k-means", "n_clusters": [3, 4]}]
    best = {}
    for noise in ("cluster", "singletons", "silent"):
        found = null_agreement(BLOBS, pool, 1, noise=noise, n_jobs=1)
        own = run_pool(BLOBS, pool, n_jobs=1).replace(noise=noise)
        assert own.n_noise.any()
        assert found.best == rank_partitions(own, "aari").values.max()
        best[noise] = found.best
    assert len(set(best.values())) == 3
