"""Genie in a pool: one pass for each threshold, on a tree that others use as well."""

import numpy as np
import pytest

from clusterlens.compute.estimators.genie import Genie
from clusterlens.compute.pool.pool import estimate_pool, run_pool

GRID = {"gini_threshold": [0.1, 0.3], "n_clusters": [2, 5, 9]}


@pytest.mark.parametrize("leaves", ["join", "noise"])
@pytest.mark.parametrize("min_samples", [1, 5])
def test_models_are_those_fitted_alone(min_samples, leaves):
    X = np.random.default_rng(0).normal(size=(200, 3))
    grid = {**GRID, "min_samples": min_samples, "leaves": leaves}
    ensemble = run_pool(X, [{"clusterer": "Genie", **grid}], n_jobs=1)
    assert ensemble.n_partitions == 6
    for spec, labels in zip(ensemble.specs, ensemble.labels, strict=True):
        alone = Genie(**{k: v for k, v in spec.items() if k != "clusterer"})
        np.testing.assert_array_equal(labels, alone.fit_predict(X))


def test_all_numbers_of_clusters_are_cut_from_one_pass():
    pool = [
        {"clusterer": "Genie", **GRID, "min_samples": 5},
        {"clusterer": "HDBSCAN", "min_cluster_size": 20, "min_samples": 5},
    ]
    plan = {s.title: len(s.models) for s in estimate_pool((500, 3), pool).plan}
    density = ", density from 5 neighbours"
    assert plan == {
        f"tree of nearest neighbours{density} (spanning tree, min_samples=5)": 7,
        **{
            f"Genie's merges, inequality of sizes up to {most}{density} "
            f"(gini_threshold={most}, min_samples=5)": 3
            for most in (0.1, 0.3)
        },
    }


@pytest.mark.parametrize("at", [{"n_clusters": 41}, {"min_samples": 41}, {"leaves": 1}])
def test_a_wrong_parameter_becomes_a_note(at):
    X = np.random.default_rng(0).normal(size=(40, 2))
    pool = [{"clusterer": "Genie"}, {"clusterer": "Genie", **at}]
    ensemble = run_pool(X, pool, n_jobs=1)
    assert ensemble.n_partitions == 1
    assert next(iter(at)) in str(ensemble.notes)
