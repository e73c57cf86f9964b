"""Tests of keys of checks: a hash of everything that matters, and of nothing else."""

import numpy as np
import pytest

from clusterlens.ui.composition import NODES
from clusterlens.ui.results.nulls import null_key
from clusterlens.ui.state.analysis import Analysis
from clusterlens.ui.state.checks import (
    Check,
    Checks,
    check_key,
    features_digest,
    numbered_by_rows,
)

# All checks with their inputs; keys and digests are derived from these.
CHECKS = {
    "null_check": {"samples", "pool", "random_state", "noise"},
    "k_selection": {"samples", "random_state"},
    "chosen_stability": {
        "samples",
        "settled",
        "chosen_stability_model",
        "random_state",
    },
    "labels_stability": {"evaluated_labels", "labels_stability_model", "random_state"},
    "export_stability": {"export_partition", "export_run", "export_stability_model"},
    "labels_separation": {"evaluated_labels"},
    "export_separation": {"export_partition", "export_run"},
    "chosen_separation": {"settled", "samples"},
    "label_evidence": {"evaluated_labels"},
}
# Words that change no value, with the results that contain them.
WORDS = {
    "note": set(),
    "cluster_names": {
        *(
            "chosen",
            "other",
            "result_names",
            "export_partition",
            "model_called",
            "named_labels",
        ),
    },
}
FIRST_SAMPLE = np.random.default_rng(0).normal(size=(40, 3))


def inputs(name) -> set[str]:
    return {given.rstrip("?~") for given in NODES[name].inputs}


def test_the_table_has_all_checks_with_their_inputs():
    found = {
        name: inputs(name) - {node.inputs[0]}
        for name, node in NODES.items()
        if node.check
    }
    assert found == CHECKS


@pytest.mark.parametrize("name", CHECKS)
def test_the_key_of_a_check_is_made_of_what_it_is_measured_of(name):
    key = NODES[name].inputs[0]
    digests = {"samples_digest": "samples", "labels_digest": "evaluated_labels"}
    assert {digests.get(one, one) for one in inputs(key)} == CHECKS[name]


@pytest.mark.parametrize("field", WORDS)
def test_words_are_inputs_only_of_results_that_show_them(field):
    assert field in dir(Analysis())
    assert {name for name in NODES if field in inputs(name)} == WORDS[field]


def needed(name, seen=frozenset()) -> set[str]:
    """Return the names of all direct and indirect inputs of a node."""
    found = set()
    for given in inputs(name):
        found |= {given} | (needed(given) if given in NODES else set())
    return found


@pytest.mark.parametrize(
    "name", sorted(CHECKS.keys() - {"export_stability", "export_separation"})
)
def test_no_name_of_a_cluster_is_behind_a_check(name):
    assert "cluster_names" not in needed(name)


@pytest.mark.parametrize(
    "change",
    [
        {"samples_digest": "other"},
        {"pool": ({"clusterer": "k-means", "n_clusters": [2, 4]},)},
        {"random_state": 1},
        {"noise": "singletons"},
    ],
)
def test_each_input_of_the_copies_changes_the_key(change):
    given = {
        "samples_digest": "one",
        "pool": ({"clusterer": "k-means", "n_clusters": [2, 3]},),
        "random_state": 0,
        "noise": "cluster",
    }
    assert null_key(**{**given, **change}) != null_key(**given)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_features_differ_by_any_value_but_not_by_the_last_bits(scale):
    X = scale * FIRST_SAMPLE
    key = features_digest(X)
    assert features_digest(X * (1 + 2.0**-51)) == key
    assert features_digest(np.asfortranarray(X)) == key
    assert features_digest(-X) != key
    assert features_digest(X[::-1]) != key
    assert features_digest(X[:, ::-1]) != key
    for at in ((0, 0), (39, 2), (17, 1)):
        other = X.copy()
        other[at] += 1e-6 * scale
        assert features_digest(other) != key


def test_a_column_of_zeros_and_huge_values_have_a_digest():
    X = np.array([[0.0, 1e300], [0.0, -1e300]])
    assert features_digest(X) == features_digest(X + 0.0)
    assert features_digest(X) != features_digest(X[:, :1])


def test_a_partition_has_one_key_whatever_its_clusters_are_called():
    clusters = np.array([2, 2, -1, 0, 5, 0])
    assert numbered_by_rows(clusters).tolist() == [0, 0, -1, 1, 2, 1]
    renamed = np.array([0, 0, -1, 7, 1, 7])
    keys = {check_key("x", numbered_by_rows(one)) for one in (clusters, renamed)}
    assert len(keys) == 1
    assert check_key("x", numbered_by_rows(-np.ones(6, int))) not in keys


def test_inputs_do_not_run_into_each_other():
    assert check_key("x", "ab", "c") != check_key("x", "a", "bc")
    assert check_key("x", [1, 2]) == check_key("x", (1, np.int64(2)))
    assert check_key("x", {"a": 1, "b": 2}) == check_key("x", {"b": 2, "a": 1})


def test_what_was_stopped_takes_the_place_of_no_whole_check():
    checks = Checks()
    checks.put(Check("k", "copies", done=1, total=9))
    whole = Check("k", "copies", "value")
    checks.put(whole)
    checks.put(Check("k", "copies", done=2, total=9))
    assert checks.held == {"k": whole}
