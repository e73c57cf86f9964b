"""Tests of drafts: values of a pool as texts, and edits of its entries."""

from itertools import pairwise

import pytest

from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.preset_versions import PRESET_VERSIONS, preset_of
from clusterlens.compute.pool.presets import POOLS
from clusterlens.compute.pool.specs import pool_specs
from clusterlens.ui.state.drafts import (
    Entry,
    PoolDraft,
    add_clusterer,
    add_values,
    draft_entries,
    needs_clusters,
    read_entries,
    read_values,
    remove_value,
    switch,
    write_entries,
    write_value,
)

K_MEANS = (Entry("k-means", {"n_clusters": [2, 8]}),)


@pytest.mark.parametrize("n", [500, 12_000, 100_000])
@pytest.mark.parametrize("preset", list(POOLS))
def test_a_preset_makes_the_models_that_it_makes_in_a_script(preset, n):
    draft = PoolDraft(preset=preset, n_clusters=3)
    grids = [entry.grid for entry in draft_entries(draft, n) if entry.on]
    named = (preset, 3) if needs_clusters(preset) else preset
    assert pool_specs(grids, (n, 2)) == pool_specs(named, (n, 2))
    used = preset_of(grids, n)
    assert (used.name, used.version) == (preset, PRESET_VERSIONS[preset])
    assert preset_of(grids[1:], n) is None
    entries = tuple(entry for entry in draft_entries(draft, n) if entry.on)
    changed = add_values(entries, 0, "n_clusters", "77")
    assert preset_of([entry.grid for entry in changed], n) is None


def test_methods_beyond_their_limit_start_switched_off_before_what_takes_over():
    entries = draft_entries(PoolDraft(), 100_000)
    off = {e.clusterer: e.settings for e in entries if not e.on}
    assert {"Birch", "agglomerative", "spectral"} == set(off)
    assert "single" not in off["agglomerative"]["linkage"]
    names = [e.clusterer for e in entries]
    assert names.index("spectral on landmarks") == names.index("spectral") + 1
    assert all(e.limit is None or e.limit >= 100_000 for e in entries if e.on)


def test_text_of_a_value_reads_back():
    brought = [Entry(name, entry.grid) for name, entry in CLUSTERERS.items()]
    for entry in (*draft_entries(PoolDraft(), 500), *brought):
        for setting, values in entry.settings.items():
            for value in values:
                text = write_value(value)
                assert read_values(entry.clusterer, setting, text) == [value]


@pytest.mark.parametrize(
    ("setting", "text", "values"),
    [
        ("n_clusters", "2-5", [2, 3, 4, 5]),
        ("n_clusters", "4, 7 12", [4, 7, 12]),
        ("n_clusters", "3–4", [3, 4]),
        ("tol", "1e-3", [0.001]),
        ("init", "random", ["random"]),
    ],
)
def test_typed_texts_are_values(setting, text, values):
    assert read_values("k-means", setting, text) == values


def test_shares_are_of_what_the_parameter_is_about():
    (eps,) = read_values("DBSCAN", "eps", "5 %")
    (size,) = read_values("HDBSCAN", "min_cluster_size", "2.5%")
    assert eps == {"quantile": 0.05, "of": "neighbour distances"}
    assert size == {"share": 0.025, "of": "samples"}


@pytest.mark.parametrize(
    ("setting", "text", "message"),
    [
        ("n_clusters", "0", "n_clusters"),
        ("n_clusters", "many", "n_clusters"),
        ("n_clusters", "20-2", "range"),
        ("n_clusters", "5 %", "share"),
        ("n_clusters", " ", "give a value"),
        ("copies", "0", "number of runs is a whole number from 1 to 10\u202f000"),
    ],
)
def test_what_cannot_be_is_refused_with_its_name(setting, text, message):
    with pytest.raises(ValueError, match=message):
        add_values(K_MEANS, 0, setting, text)


@pytest.mark.parametrize(
    ("clusterer", "setting", "text", "words"),
    [
        ("DBSCAN", "eps", "0,5", "0.5 with a point, or 0 5 with"),
        ("DBSCAN", "eps", "1,25", "1.25"),
        ("HDBSCAN", "min_cluster_size", "2,5 %", "2.5"),
        ("CNS", "alpha", "0,05", "0.05"),
    ],
)
def test_a_comma_that_may_be_a_decimal_mark_is_refused(clusterer, setting, text, words):
    with pytest.raises(ValueError, match=words):
        read_values(clusterer, setting, text)


def test_a_comma_stands_between_whole_numbers_and_shares():
    assert read_values("k-means", "n_clusters", "2,3, 10,4") == [2, 3, 10, 4]
    assert len(read_values("DBSCAN", "eps", "5 %,10 %")) == 2


def test_added_values_are_in_order_and_never_twice():
    added = add_values(K_MEANS, 0, "n_clusters", "4 8 2")
    assert added[0].settings == {"n_clusters": [2, 4, 8]}
    assert K_MEANS[0].settings == {"n_clusters": [2, 8]}


def test_a_setting_without_values_is_left_to_the_clusterer():
    left = remove_value(remove_value(K_MEANS, 0, "n_clusters", 0), 0, "n_clusters", 0)
    assert left[0].settings == {}


def test_a_clusterer_joins_its_family():
    entries = draft_entries(PoolDraft(), 500)
    added = add_clusterer(entries, "fuzzy c-means")
    families = [CLUSTERERS[entry.clusterer].family for entry in added]
    assert len(added) == len(entries) + 1
    assert sum(a != b for a, b in pairwise(families)) == (len(set(families)) - 1)


def test_the_text_for_experts_has_the_same_content():
    entries = switch(draft_entries(PoolDraft(preset="paper-fixed-k"), 500), 1)
    assert read_entries(write_entries(entries)) == entries


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[{]", "Line 1, column 3"),
        ('{"clusterer": "k-means"}', "list"),
        ('[{"clusterer": "k-meens"}]', "no known clusterer"),
        ("[3]", "no known clusterer"),
        ('[{"clusterer": ["k-means"]}]', "no known clusterer"),
        ("[" * 50_000, "nested"),
        (" " * 2_000_000, "characters long"),
    ],
)
def test_other_text_is_refused_with_the_place(text, message):
    with pytest.raises(ValueError, match=message):
        read_entries(text)


@pytest.mark.parametrize(
    ("clusterer", "setting", "taken", "refused"),
    [
        ("k-means", "n_clusters", "1 2-5", ("0", "-3", "2.5", "many", "none")),
        ("k-means", "tol", "0 0.5", ("-0.5", "none")),
        ("k-means", "random_state", "0 7 none", ("-1", "0.5", "auto")),
        ("agglomerative", "linkage", "ward single", ("wardy", "1")),
        ("OPTICS", "predecessor_correction", "yes no", ("1", "none")),
        ("HDBSCAN", "min_samples", "none 3", ("0", "yes.no")),
    ],
)
def test_values_are_those_that_scikit_learn_says_it_takes(
    clusterer, setting, taken, refused
):
    assert read_values(clusterer, setting, taken)
    for text in refused:
        with pytest.raises(ValueError, match=f"{setting} of {clusterer} cannot be"):
            read_values(clusterer, setting, text)
