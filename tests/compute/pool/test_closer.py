"""A closer look: the fitted models, the kept ones, and the note."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute._validation import DataError
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import distinct_partitions
from clusterlens.compute.pool.closer import FINER, closer_models
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.pool.preset_versions import sized_grids
from clusterlens.compute.pool.specs import pool_specs
from clusterlens.compute.ranking.answers import answer_posterior

ANSWERS = Constraints(must_link=[(0, 5), (31, 40)], cannot_link=[(3, 35), (33, 70)])
COARSE = [{"clusterer": "k-means", "n_clusters": [2, 5, 8]}]
FINE = [
    {"clusterer": "k-means", "n_clusters": [2, 3, 4, 5]},
    {"clusterer": "agglomerative", "linkage": ["ward"], "n_clusters": [2, 3, 4, 6]},
    {"clusterer": "HDBSCAN", "min_cluster_size": [5, 60], "min_samples": 3},
]


@pytest.fixture(scope="module")
def blobs():
    centres = np.repeat([[0, 0], [4, 0], [2, 3]], 30, axis=0)
    return centres + np.random.default_rng(0).normal(0, 0.9, (90, 2))


@pytest.fixture(scope="module")
def posterior(blobs):
    return answer_posterior(run_pool(blobs, COARSE), ANSWERS)


def test_what_is_kept_is_new_and_nothing_nearer_is_left_out(blobs, posterior):
    closer = closer_models(posterior, blobs, FINE, n_models=3)
    found = run_pool(blobs, FINE)
    safest = posterior.ensemble.labels[posterior.likeness.argmax()]
    alike = [adjusted_rand_score(safest, row) for row in closer.labels]
    everything = posterior.ensemble.concat(closer)
    assert closer.n_partitions == 3
    assert len(distinct_partitions(everything)[0]) == 6
    others = [
        adjusted_rand_score(safest, found.labels[t])
        for t, name in enumerate(found.names)
        if name not in closer.names
    ]
    better = [value for value in others if min(alike) < value < 1]
    assert not better
    assert closer.notes[:-1] == found.notes != ()
    assert "Of 9 models with finer settings 3 are kept" in closer.notes[-1]
    assert f"{min(alike):.2f} and more" in closer.notes[-1]


def test_all_that_is_new_is_kept_where_it_is_less_than_asked_for(blobs, posterior):
    found = run_pool(blobs, FINE)
    first, _ = distinct_partitions(posterior.ensemble.concat(found))
    closer = closer_models(posterior, blobs, FINE, n_models=100)
    assert_array_equal(closer.labels, found.labels[first[first >= 3] - 3])


def test_what_is_kept_is_fitted_again_by_its_specifications(blobs, posterior):
    closer = closer_models(posterior, blobs, FINE, random_state=7)
    again = run_pool(blobs, closer.specs, random_state=7)
    assert_array_equal(again.labels, closer.labels)
    assert again.names == closer.names


def test_the_finer_settings_lie_around_those_of_the_default_pool():
    def numbers(pool, clusterer):
        return {
            spec.get("n_clusters", spec.get("n_components"))
            for spec in pool_specs(pool, (500, 2))
            if spec["clusterer"] == clusterer
        }

    grids = sized_grids(FINER, 500)
    for clusterer in ("k-means", "agglomerative", "Gaussian mixture", "spectral"):
        assert numbers(grids, clusterer) > numbers("default", clusterer)
    assert len(pool_specs(grids, (500, 2))) > 150
    landmarks = {grid["clusterer"] for grid in sized_grids(FINER, 50_000)}
    assert "spectral on landmarks" in landmarks
    assert "spectral" not in landmarks


def test_nothing_new_and_other_rows_are_refused(blobs, posterior):
    with pytest.raises(ValueError, match="the pool has every partition"):
        closer_models(posterior, blobs, COARSE)
    with pytest.raises(ValueError, match="X has 89 rows"):
        closer_models(posterior, blobs[1:], FINE)
    with pytest.raises(DataError):
        closer_models(posterior, np.full((90, 2), np.nan), FINE)
    with pytest.raises(Cancelled):
        closer_models(posterior, blobs, FINE, cancel=lambda: True)
