"""Tests of settings: plain words on the screen, typed form in fields."""

import pytest

from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.ui.components.settings import named, plain_settings, plain_value


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            {"clusterer": "k-means", "n_clusters": 4, "random_state": 5797815},
            "k = 4 · seed 5797815",
        ),
        (
            {"clusterer": "HDBSCAN", "min_cluster_size": 50, "min_samples": 5},
            "smallest cluster 50 rows · density from 5 neighbours",
        ),
        (
            {"clusterer": "Birch", "threshold": 0.13554, "n_clusters": 3},
            "radius of a group 0.136 · k = 3",
        ),
        ({"clusterer": "agglomerative", "linkage": "ward"}, "ward linkage"),
        ({"clusterer": "HDBSCAN", "copy": True}, ""),
        ({"clusterer": "own", "some_thing": 2}, "some thing 2"),
    ],
)
def test_what_a_model_was_fitted_with_is_told_without_code(spec, words):
    assert plain_settings(spec) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"root": 3, "at_least": 10}, "cube root, at least 10"),
        ({"root": 2}, "square root"),
        ({"share": 0.02, "at_most": 100}, "2%, at most 100"),
        ({"share": 0.02}, "2%"),
        (4, "4"),
        ("nearest_neighbors", "nearest neighbors"),
    ],
)
def test_rules_are_read_as_words_and_not_as_formulas(value, words):
    assert plain_value(value) == words


def test_no_setting_of_a_usual_pool_is_named_in_code():
    settings = {name for entry in CLUSTERERS.values() for name in entry.grid}
    assert "min_samples" in settings
    assert [name for name in settings if "_" in named(name)] == []
