import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.pool.stability import (
    BootstrappedClusterer,
    _Evaluated,
    _most_stable,
    _similarities,
    cluster_stability,
)

FOUR = {"clusterer": "k-means", "n_clusters": 4}


@pytest.fixture(scope="module")
def blobs():
    centers = [[0, 0], [8, 0], [0, 8], [8, 8]]
    return make_blobs(120, centers=centers, random_state=0)[0]


@pytest.fixture(scope="module")
def stable(blobs):
    return cluster_stability(blobs, FOUR, n_resamples=25, n_jobs=1)


def jaccard(cluster, others):
    """Definition: of two sets of samples, the largest over the other sets."""
    return max((len(cluster & o) / len(cluster | o) for o in others), default=0.0)


def sets(labels, drawn):
    return [
        set(np.flatnonzero((labels == c) & drawn).tolist())
        for c in np.unique(labels)
        if c >= 0
    ]


@pytest.mark.parametrize("duplicates", ["once", "repeated"])
def test_similarities_follow_the_definition(blobs, duplicates):
    found = cluster_stability(
        blobs, FOUR, 5, n_resamples=6, duplicates=duplicates, n_jobs=1
    )
    seeds = np.random.SeedSequence(5).generate_state(6)
    model = KMeans(4)
    for row, seed in zip(found.similarities, seeds, strict=True):
        run = BootstrappedClusterer(model, duplicates, int(seed)).fit(blobs).labels_
        drawn = run != -2
        expected = [jaccard(c, sets(run, drawn)) for c in sets(found.labels, drawn)]
        assert_allclose(row, expected)


def test_separate_clusters_come_back(stable):
    frame = stable.to_frame()
    assert (frame["jaccard"] > 0.95).all()
    assert (frame["recovered"] > 0.9).all()
    assert (frame["reading"] == "highly stable").all()
    assert frame["size"].sum() == 120


def test_four_separate_blobs_are_called_stable(stable):
    assert stable.n_copies == 4
    assert stable.stable.all()
    assert (stable.by_chance > 0.5).all()


@pytest.mark.parametrize("seed", range(3))
def test_four_parts_of_uniform_noise_are_not(seed):
    X = np.random.default_rng(seed).uniform(size=(400, 2))
    frame = cluster_stability(X, FOUR, n_resamples=30, n_jobs=1).to_frame()
    # They come back as stable clusters do, but so do those of noise.
    assert (frame["jaccard"] > 0.75).all()
    assert not frame["stable"].any()
    assert (frame["reading"] == "as stable as clusters of copies without groups").all()


def test_copies_count_with_their_most_stable_cluster_of_like_size():
    similarities = np.array([[0.9, 0.7, 0.3], [0.9, 0.5, np.nan]])
    sizes = np.array([100, 30, 10])
    copy = _Evaluated(np.array([0]), np.arange(3), sizes, similarities, ())
    assert_allclose(_most_stable(copy, np.array([300, 150, 50, 20, 4])), [
        0.0, 0.9, 0.9, 0.6, 0.0
    ])  # fmt: skip


def test_a_copy_on_which_the_clusterer_finds_nothing_has_no_clusters():
    X = make_blobs(60, centers=[[0, 0], [50, 50]], random_state=0)[0]
    dense = {"clusterer": "DBSCAN", "eps": 2.0, "min_samples": 10}
    found = cluster_stability(X, dense, n_resamples=5, n_jobs=1)
    assert_array_equal(found.by_chance, 0.0)
    assert found.stable.all()


def test_progress_counts_the_resamples_of_all_tables(blobs):
    seen = []
    cluster_stability(
        blobs,
        FOUR,
        n_resamples=3,
        n_copies=1,
        n_jobs=1,
        progress=lambda *at: seen.append(at),
    )
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (9, 9)


def test_halves_of_one_cluster_do_not(blobs, stable):
    split = cluster_stability(
        blobs, {"clusterer": "k-means", "n_clusters": 7}, n_resamples=25, n_jobs=1
    )
    assert split.jaccard.min() < 0.75 < stable.jaccard.min()


def test_columns_summarise_the_resamples(stable):
    values, frame = stable.similarities, stable.to_frame()
    assert values.shape == (25, 4)
    assert_allclose(frame["jaccard"], values.mean(axis=0))
    assert_allclose(frame["standard_error"], values.std(axis=0, ddof=1) / 5)
    assert_allclose(frame["low"], np.quantile(values, 0.025, axis=0))
    assert_allclose(frame["high"], np.quantile(values, 0.975, axis=0))
    assert_array_equal(frame["n_runs"], 25)


def test_noise_is_no_cluster_and_in_none():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 0.1, (40, 2)), rng.uniform(5, 50, (20, 2))]
    found = cluster_stability(
        X, {"clusterer": "DBSCAN", "eps": 0.5}, n_resamples=10, n_jobs=1
    )
    assert -1 in found.labels
    assert found.clusters.tolist() == [0]
    assert found.jaccard[0] == pytest.approx(1.0)
    run = np.array([-1, -1, 0, -2, 0])
    assert _similarities(np.array([0, 0, 0, 0, 1]), 1, run).tolist() == [1 / 4]


def test_a_run_of_noise_only_has_similarity_zero():
    run = np.full(4, -1)
    assert _similarities(np.array([0, 0, 1, 1]), 2, run).tolist() == [0.0, 0.0]


def test_a_cluster_of_which_nobody_was_drawn_is_left_out_of_that_run():
    values = _similarities(np.array([0, 0, 1]), 2, np.array([0, 0, -2]))
    assert values[0] == 1.0
    assert np.isnan(values[1])
    X = np.r_[np.zeros((20, 1)) + np.arange(20)[:, None] / 100, [[99.0]]]
    found = cluster_stability(
        X, {"clusterer": "k-means", "n_clusters": 2}, n_resamples=40, n_jobs=1
    )
    lonely = found.to_frame().loc[found.labels[-1]]
    assert 0 < lonely["n_runs"] < 40
    assert lonely["jaccard"] == 1.0


def test_given_labels_are_judged_by_the_runs(blobs):
    halves = (blobs[:, 0] > 4).astype(int)
    found = cluster_stability(blobs, FOUR, labels=halves, n_resamples=10, n_jobs=1)
    assert found.clusters.tolist() == [0, 1]
    assert (found.jaccard < 0.6).all()
    names = np.where(halves, 7, 3)
    renamed = cluster_stability(blobs, FOUR, labels=names, n_resamples=10, n_jobs=1)
    assert renamed.clusters.tolist() == [3, 7]
    assert_array_equal(renamed.similarities, found.similarities)


def test_repeated_samples_make_clusters_of_equal_points():
    X = np.random.default_rng(1).uniform(size=(60, 2)) * 100
    model = DBSCAN(eps=1e-6, min_samples=3)
    once = BootstrappedClusterer(model, "once", 0).fit(X).labels_
    repeated = BootstrappedClusterer(model, "repeated", 0).fit(X).labels_
    assert once.max() == -1
    assert repeated.max() >= 0


def test_estimators_and_specs_of_models_are_taken(blobs):
    by_spec = cluster_stability(
        blobs, {**FOUR, "random_state": 3}, n_resamples=4, n_jobs=1
    )
    by_estimator = cluster_stability(
        blobs, KMeans(4, random_state=3), n_resamples=4, n_jobs=1
    )
    assert_array_equal(by_spec.similarities, by_estimator.similarities)


def test_what_the_data_decide_is_decided_once(blobs):
    eps = {"quantile": 0.05, "of": "pair distances"}
    found = cluster_stability(
        blobs, {"clusterer": "DBSCAN", "eps": eps}, n_resamples=5, n_jobs=1
    )
    assert len(found.similarities) == 5


def test_result_is_seeded_and_ignores_the_number_of_workers(blobs, stable):
    again = cluster_stability(blobs, FOUR, n_resamples=25, n_jobs=2)
    assert_array_equal(again.similarities, stable.similarities)
    assert_array_equal(again.by_chance, stable.by_chance)
    other = cluster_stability(blobs[:, :1], FOUR, 1, n_resamples=5, n_jobs=1)
    assert "seed 1" in repr(other)


def test_no_run_that_survives_is_an_error(blobs):
    with pytest.raises(ValueError, match=r"No model .* failed, Invalid"):
        cluster_stability(blobs, DBSCAN(metric="no such metric"), n_jobs=1)


def test_arguments_are_checked(blobs):
    with pytest.raises(ValueError, match="stands for 2 models"):
        cluster_stability(blobs, {"clusterer": "k-means", "n_clusters": [2, 3]})
    for wrong in ([{"clusterer": "k-means"}], KMeans, 3):
        with pytest.raises(ValueError, match=r"spec is .*; give one entry"):
            cluster_stability(blobs, wrong)
    with pytest.raises(ValueError, match="n_resamples"):
        cluster_stability(blobs, FOUR, n_resamples=1)
    with pytest.raises(ValueError, match="n_copies"):
        cluster_stability(blobs, FOUR, n_copies=0)
    with pytest.raises(ValueError, match="noise only"):
        cluster_stability(blobs, FOUR, labels=np.full(120, -1))
    with pytest.raises(ValueError, match="duplicates"):
        cluster_stability(blobs, FOUR, duplicates="thrice")


def test_cancel_stops(blobs):
    with pytest.raises(Cancelled):
        cluster_stability(blobs, FOUR, cancel=lambda: True, n_jobs=1)


def test_frame_is_indexed_by_cluster(stable):
    assert isinstance(stable.to_frame(), pd.DataFrame)
    assert stable.to_frame().index.name == "cluster"
