import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.pool.resampling import (
    SubsampledClusterer,
    area_growth,
    resample_consensus,
)


@pytest.fixture(scope="module")
def blobs():
    centers = [[0, 0], [8, 0], [0, 8], [8, 8]]
    return make_blobs(120, centers=centers, random_state=0)[0]


@pytest.fixture(scope="module")
def resampled(blobs):
    return resample_consensus(blobs, range(2, 8), n_resamples=20, n_jobs=1)


@parametrize_with_checks(
    [
        SubsampledClusterer(KMeans(2, n_init=1)),
        SubsampledClusterer(AgglomerativeClustering(2)),
    ]
)
def test_subsampled_clusterer_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


def test_planted_number_of_clusters_has_the_least_ambiguous_pairs(resampled):
    frame = resampled.to_frame()
    assert frame["pac"].idxmin() == 4
    assert frame.loc[4, "pac"] == 0.0
    assert frame.loc[5:, "delta_area"].max() < frame.loc[3:4, "delta_area"].min()


def test_columns_follow_their_definitions(resampled):
    for row, ensemble in enumerate(resampled.ensembles):
        assert ensemble.n_partitions == 20
        labels = ensemble.labels
        matrix = (labels[:, :, None] == labels[:, None, :]).mean(axis=0)
        values = matrix[np.triu_indices(120, 1)]
        assert_allclose(resampled.area[row], 1 - values.mean())
        ambiguous = (values > 0.1 + 1e-9) & (values <= 0.9 + 1e-9)
        assert_allclose(resampled.pac[row], ambiguous.mean())
        grid = np.linspace(0, 1, 101)
        expected = (values[:, None] <= grid + 1e-9).mean(axis=0)
        assert_allclose(resampled.cdf[row], expected)
        assert ensemble.n_clusters.max() <= resampled.n_clusters[row]
    growth = np.diff(resampled.area) / resampled.area[:-1]
    assert_allclose(resampled.delta_area, [resampled.area[0], *growth])


def test_growth_of_the_area_is_from_k_minus_one_or_unknown():
    area = np.array([0.2, 0.3, 0.33, 0.0, 0.1])
    growth = area_growth(area, np.array([2, 3, 6, 7, 8]))
    assert_allclose(growth, [0.2, 0.5, np.nan, -1.0, 0.0])
    assert np.isnan(area_growth(area, np.array([4, 6, 8, 10, 12]))).all()


def test_area_is_the_limit_of_the_sum_over_sorted_entries(resampled):
    """Monti et al., equation 6, with the matrix entries as grid."""
    labels = resampled.ensembles[-1].labels
    matrix = (labels[:, :, None] == labels[:, None, :]).mean(axis=0)
    entries = np.sort(matrix[np.triu_indices(120, 1)])
    shares = np.searchsorted(entries, entries, side="right") / len(entries)
    steps = np.diff(entries, prepend=0.0)
    assert_allclose(resampled.area[-1], steps @ shares, atol=1 / 20)


def test_left_out_samples_follow_the_clusterer_or_their_neighbour(blobs):
    kmeans = SubsampledClusterer(KMeans(4, n_init=3), 0.5, 3).fit(blobs)
    assert len(kmeans.sample_) == 60
    tree = SubsampledClusterer(AgglomerativeClustering(4), 0.5, 3).fit(blobs)
    assert_array_equal(tree.sample_, kmeans.sample_)
    left_out = np.setdiff1d(np.arange(120), tree.sample_)
    distances = np.linalg.norm(blobs[left_out, None] - blobs[tree.sample_], axis=2)
    nearest = tree.sample_[distances.argmin(axis=1)]
    assert_array_equal(tree.labels_[left_out], tree.labels_[nearest])
    pairs = np.unique(np.stack([tree.labels_, kmeans.labels_]), axis=1)
    assert pairs.shape[1] == 4


def test_runs_are_seeded_and_ignore_the_number_of_workers(blobs):
    first, again, other = (
        resample_consensus(
            blobs, [5], "k-means", seed, n_resamples=4, n_jobs=jobs
        ).ensembles[0]
        for seed, jobs in ((1, 1), (1, 2), (2, 1))
    )
    assert_array_equal(first.codes, again.codes)
    assert not np.array_equal(first.codes, other.codes)
    assert len(np.unique(first.codes, axis=0)) > 1


@pytest.mark.parametrize("clusterer", ["agglomerative", "Gaussian mixture"])
def test_other_clusterers_serve_too(blobs, clusterer):
    found = resample_consensus(blobs, [4, 6], clusterer, n_resamples=6, n_jobs=1)
    assert found.pac[0] == 0.0
    assert found.pac[1] > 0.0


def test_cancel_is_heard(blobs):
    with pytest.raises(Cancelled):
        resample_consensus(blobs, [2], n_jobs=1, cancel=lambda: True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_clusters": []}, "n_clusters is empty"),
        ({"n_clusters": [1]}, "n_clusters is 1; give a value from 2 to 96"),
        ({"share": 1.5}, "share is 1.5"),
        ({"n_resamples": 1}, "n_resamples is 1"),
        ({"clusterer": "DBSCAN"}, "'DBSCAN' takes no number of clusters"),
        ({"clusterer": "x"}, "clusterer is 'x'; give one of 'k-means'"),
    ],
)
def test_bad_arguments_are_named(blobs, arguments, message):
    with pytest.raises(ValueError, match=message):
        resample_consensus(blobs, **arguments)
