"""The label benchmark on cases small enough to check by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

from benchmarks.label_measures import (
    CLASSIFIERS,
    SEED,
    measure_functions,
    tuned_accuracy,
)
from benchmarks.label_tables import (
    EXTERNAL,
    N_TECHNIQUES,
    PUBLISHED,
    correlations,
    seconds_by_set,
    stabilities,
    technique_ranks,
)
from clusterlens.compute.indices.class_match import label_match

SETS = ["a", "b", "c", "d", "unfinished"]


@pytest.fixture
def results():
    """Return a truth that rises from a to d, as the best accuracy but not the mean."""
    truth = [
        {"name": name, "technique": t, "seconds": 1.0, **dict.fromkeys(EXTERNAL, 0.1)}
        for name in SETS
        for t in range(N_TECHNIQUES - (name == "unfinished"))
    ]
    for row in truth:
        if row["technique"] == 2:
            row |= dict.fromkeys(EXTERNAL, 0.2 + 0.1 * SETS.index(row["name"]))
    others = [name for name in CLASSIFIERS if name != "rf"]
    measures = []
    for at, name in enumerate(SETS):
        values = dict.fromkeys(others, 0.5 - 0.1 * at) | {"rf": 0.6 + 0.1 * at}
        values |= {"CH_btwn": 0.2 * at} | dict.fromkeys(PUBLISHED, 0.1 * at) | values
        del values["ensemble"]
        measures += [
            {"name": name, "measure": m, "value": v, "seconds": 2.0}
            for m, v in values.items()
        ]
    return pd.DataFrame(truth), pd.DataFrame(measures)


def test_ensemble_is_the_highest_accuracy_of_each_data_set(results):
    table = correlations(*results)[0].set_index("measure")
    assert table.loc["ensemble", "ami"] == pytest.approx(1)
    assert table.loc["svm", "ami"] == pytest.approx(-1)


def test_printed_values_and_gaps_stand_beside_own_ones(results):
    table = correlations(*results)[0].set_index("measure")
    for at, key in enumerate(EXTERNAL):
        printed = table.loc[list(PUBLISHED), f"{key} printed"]
        assert printed.tolist() == [values[at] for values in PUBLISHED.values()]
        gap = table[key] - table[f"{key} printed"]
        assert table[f"{key} gap"].to_numpy() == pytest.approx(gap, nan_ok=True)


def test_data_sets_without_all_techniques_are_left_out(results):
    assert correlations(*results)[1].tolist() == SETS[:-1]
    seconds = seconds_by_set(*results)
    assert seconds.index.tolist() == SETS[:-1]
    assert (seconds["truth"] == N_TECHNIQUES).all()
    assert (seconds["ensemble"] == 2 * len(CLASSIFIERS)).all()


def test_tuning_takes_the_best_of_the_settings():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 2)) * np.array([1, 3])[labels, None]
    draws = np.random.default_rng(SEED)
    models = [CLASSIFIERS["svm"](draws, len(X)) for _ in range(4)]
    each = [cross_val_score(model, X, labels).mean() for model in models]
    assert len(set(each)) > 1
    assert tuned_accuracy("svm", X, labels, 4) == max(each)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_can_be_drawn_and_tells_far_classes_apart(name):
    labels = np.repeat([0, 1, 2], 30)
    X = np.random.default_rng(0).normal(0, 0.01, (90, 2)) + np.eye(3)[labels, :2]
    assert tuned_accuracy(name, X, labels, 2) > 0.9


def test_smallest_and_largest_pair_of_classes_frame_the_mean():
    labels = np.repeat([0, 1, 2], 10)
    X = (
        np.random.default_rng(0).normal(size=(30, 2))
        + np.array([[0, 0], [1, 0], [9, 9]])[labels]
    )
    measures = measure_functions(n_trials=1)
    pairs = label_match(X, labels).pairs["score"]
    assert measures["CH_btwn"](X, labels) == pytest.approx(pairs.mean())
    assert measures["CH_btwn min"](X, labels) == min(pairs)
    assert measures["CH_btwn max"](X, labels) == max(pairs)


def test_techniques_are_ranked_by_their_means_in_each_group():
    scores = pd.DataFrame({"x": [0.1, 0.9], "y": [0.3, 0.3], "z": [0.2, 0.9]})
    ranks = technique_ranks({"all": scores, "first": scores[:1]})
    assert ranks["all"].to_dict() == {"x": 2, "y": 3, "z": 1}
    assert ranks["first"].to_dict() == {"x": 3, "y": 1, "z": 2}


def test_stability_tells_an_open_order_from_a_settled_one_on_few_data_sets():
    scores = pd.DataFrame({"x": [0.0, 1.0] * 5, "y": [1.0, 0.0] * 5, "z": [2.0] * 10})
    result = stabilities(scores)
    assert result["x", "y"] < 0.7
    assert result["x", "z"] == result["y", "z"] == 1
