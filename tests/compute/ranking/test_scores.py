import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute.ensemble.agreement import count_agreements
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.scores import (
    average_ari,
    average_nmi,
    discotec,
    threshold_scores,
)
from tests.definitions import aari, anmi, discotec_scores, label_matrices
from tests.folders import REFERENCE

VARIANTS = {"kl": "kl", "tv": "tv", "hellinger": "h2", "binary": "binary"}
CASES = json.loads((REFERENCE / "discotec.json").read_text())["cases"]


def scores_of(labels):
    ensemble = Ensemble(labels)
    agreement = count_agreements(ensemble)
    ours = {variant: discotec(agreement, variant) for variant in VARIANTS}
    return ours | {"aari": average_ari(ensemble), "anmi": average_nmi(ensemble)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
@pytest.mark.filterwarnings("ignore:ensemble has 2 partitions")
def test_scores_agree_with_the_reference(case):
    measured = scores_of(case["labels"])
    for ours, theirs in {**VARIANTS, "aari": "aari", "anmi": "anmi"}.items():
        expected = np.array(case["expected"][theirs], dtype=float)
        error = np.abs(measured[ours] - expected)
        assert (error <= 1e-9 * np.maximum(1, np.abs(expected))).all(), ours


@settings(max_examples=60)
@given(labels=label_matrices(), data=st.data())
def test_scores_follow_the_definition(labels, data):
    measured = scores_of(labels)
    for variant in VARIANTS:
        np.testing.assert_allclose(
            measured[variant], discotec_scores(labels, variant), atol=1e-9
        )
    np.testing.assert_allclose(measured["aari"], aari(labels), atol=1e-9)
    np.testing.assert_allclose(measured["anmi"], anmi(labels), atol=1e-9)
    threshold = data.draw(st.integers(0, len(labels) + 1))
    np.testing.assert_allclose(
        discotec(Ensemble(labels), threshold=threshold),
        discotec_scores(labels, "binary", threshold),
        atol=1e-9,
    )


@settings(max_examples=30)
@given(labels=label_matrices())
def test_scores_stay_in_their_ranges(labels):
    count = len(labels)
    highest = {
        "kl": np.log(count),
        "tv": 1 - 1 / count,
        "hellinger": 1 - np.sqrt(1 / count),
        "binary": 1,
        "aari": 1,
        "anmi": 1,
    }
    for name, values in scores_of(labels).items():
        assert (values <= highest[name] + 1e-12).all()
        assert (values >= (-0.5 if name == "aari" else 0) - 1e-12).all()


@settings(max_examples=30)
@given(labels=label_matrices(), seed=st.integers(0, 100))
def test_scores_follow_the_models_whatever_their_order_and_names(labels, seed):
    order = np.random.default_rng(seed).permutation(len(labels))
    plain, moved = scores_of(labels), scores_of(7 - 2 * labels[order])
    for name in plain:
        np.testing.assert_allclose(moved[name], plain[name][order], atol=1e-12)


@settings(max_examples=30)
@given(labels=label_matrices())
def test_total_variation_in_linear_time_equals_the_pass_over_pairs(labels):
    ensemble = Ensemble(labels)
    np.testing.assert_allclose(
        discotec(ensemble, "tv"),
        discotec(count_agreements(ensemble), "tv"),
        atol=1e-12,
    )


@settings(max_examples=30)
@given(labels=label_matrices())
def test_threshold_scores_are_the_binary_scores_of_every_threshold(labels):
    agreement = count_agreements(Ensemble(labels))
    picture = threshold_scores(agreement)
    assert picture.shape == (len(labels), len(labels) + 2)
    for threshold, column in enumerate(picture.T):
        np.testing.assert_allclose(
            column, discotec(agreement, threshold=threshold), atol=1e-12
        )


def test_identical_models_without_doubt_score_zero():
    labels = [[0, 0, 0, 0]] * 3
    for variant in VARIANTS:
        assert discotec(Ensemble(labels), variant).tolist() == [0, 0, 0]


def test_violations_are_added_with_their_weight():
    ensemble = Ensemble([[0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1]])
    constraints = Constraints(must_link=[(0, 1)], cannot_link=[(2, 3)])
    for variant in VARIANTS:
        plain = discotec(ensemble, variant)
        charged = discotec(
            ensemble, variant, constraints=constraints, constraint_weight=3.0
        )
        np.testing.assert_allclose(charged - plain, [1.5, 0, 3])


def distance(variant, joined, wanted):
    """Distance of the variant between two certain distributions on joined and apart."""
    p, q = (np.array([x, 1.0 - x]) for x in (joined, wanted))
    if variant == "kl":
        with np.errstate(divide="ignore"):
            return sum(a * np.log(a / b) for a, b in zip(p, q, strict=True) if a)
    if variant == "hellinger":
        return np.square(np.sqrt(p) - np.sqrt(q)).sum() / 2
    return np.abs(p - q).sum() / 2


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_links_cost_the_distance_of_the_variant_if_asked(variant, weight):
    labels = np.array([[0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1], [0, 0, 1, 2]])
    must, cannot = [(0, 1), (1, 0)], [(2, 3)]
    charges = [
        np.mean(
            [distance(variant, float(row[a] == row[b]), 1.0) for a, b in must[:1]]
            + [distance(variant, float(row[a] == row[b]), 0.0) for a, b in cannot]
        )
        for row in labels
    ]
    charged = discotec(
        Ensemble(labels),
        variant,
        constraints=Constraints(must, cannot),
        constraint_weight=weight,
        constraint_cost="distance",
    )
    expected = discotec(Ensemble(labels), variant)
    if weight:
        expected = expected + weight * np.array(charges)
    np.testing.assert_allclose(charged, expected)


def test_one_partition_is_refused_and_two_are_warned_about():
    with pytest.raises(ValueError, match="has 1 partition"):
        discotec(Ensemble([[0, 1]]))
    with pytest.warns(UserWarning, match="has 2 partitions"):
        average_ari(Ensemble([[0, 1], [0, 0]]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"variant": "l2"}, "variant is 'l2'"),
        ({"threshold": 5}, "threshold is 5; give a value from 0 to 4"),
        ({"threshold": 1.5}, "whole number"),
        ({"variant": "kl", "threshold": 1}, "variant 'kl' has none"),
        ({"constraint_cost": "log"}, "constraint_cost is 'log'"),
        ({"constraint_weight": -1.0}, "constraint_weight is -1"),
        ({"constraint_weight": float("nan")}, "constraint_weight is nan"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        discotec(Ensemble([[0, 1], [0, 0], [0, 1]]), **arguments)
