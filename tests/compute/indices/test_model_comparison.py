"""The table of models equals the results of the single functions."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import clusterlens as cl

RNG = np.random.default_rng(3)
TRUTH = np.repeat([0, 1, 2], 20)
X = RNG.normal(size=(60, 3)) + 4 * TRUTH[:, None]
LABELS = np.stack([TRUTH, TRUTH % 2, RNG.integers(0, 4, 60), np.r_[-1, TRUTH[1:]]])
ENSEMBLE = cl.Ensemble(
    [*LABELS, TRUTH],
    specs=[{"clusterer": "k-means", "n_clusters": k} for k in (3, 2, 4, 3, 3)],
)


def test_every_value_is_that_of_its_own_function():
    classes = np.where(np.arange(60) < 5, -1, TRUTH)
    table = cl.compare_models(ENSEMBLE, X, classes)
    for score in cl.SCORES:
        assert_allclose(table[score], cl.rank_partitions(ENSEMBLE, score).values)
    for name, index in cl.INDICES.items():
        for t, labels in enumerate(ENSEMBLE.labels):
            if index.kind == "internal":
                single = cl.internal_index(name, X, labels)
            else:
                single = cl.external_index(name, classes[5:], labels[5:])
            assert_allclose(table[name][t], float(single), err_msg=name)
    assert table["parameters"][1] == "n_clusters=2"


def test_quadratic_indices_of_many_samples_are_those_of_one_sample_of_them():
    table = cl.compare_models(ENSEMBLE, X, sample_size=30, random_state=5)
    for t, labels in enumerate(ENSEMBLE.labels):
        single = cl.internal_index("SI", X, labels, sample_size=30, random_state=5)
        assert_allclose(table["SI"][t], float(single))
        assert_allclose(table["CHI"][t], float(cl.internal_index("CHI", X, labels)))


def test_without_features_and_classes_there_are_scores_alone():
    table = cl.compare_models(cl.count_agreements(ENSEMBLE))
    assert set(cl.SCORES) <= set(table.columns)
    assert not set(cl.INDICES) & set(table.columns)
    assert isinstance(table, pd.DataFrame)
    assert len(table) == 5


def test_features_of_other_samples_are_refused():
    with pytest.raises(ValueError, match="X has 59 rows for 60 samples"):
        cl.compare_models(ENSEMBLE, X[1:])
