"""Tests of the verdict on classes: its rule, with numbers of real tables."""

from types import SimpleNamespace

import pandas as pd
import pytest

from clusterlens.ui.results.label_verdict import weigh

YES, ODD, PART = "Yes", "Yes, but not each around a centre", "Only in part"


def verdict_of(scores, dbcv, shuffled, border=0.5):
    check = SimpleNamespace(pairs=pd.DataFrame({"score": scores}), score=0.5)
    evidence = SimpleNamespace(
        dbcv=dbcv, shuffled=pd.DataFrame({"dbcv": [shuffled, shuffled]})
    )
    return weigh(check, pd.DataFrame({"ratio": border}, index=[0]), evidence, None)


@pytest.mark.parametrize(
    ("table", "pairs", "dbcv", "shuffled", "answer"),
    [  # pairs: separate, between, random-like; measured with `label_evidence`
        ("microbes, the others apart at best", (27, 0, 18), -0.93, -0.96, "Hardly"),
        ("digits", (11, 22, 12), -0.39, -0.75, "Hardly"),
        ("yeast", (22, 22, 1), -0.87, -0.89, "Hardly"),
        ("breast tissue", (11, 3, 1), -0.49, -0.78, "Only in part"),
        ("ecoli", (21, 5, 2), -0.20, -0.77, "Only in part"),
        ("iris", (3, 0, 0), -0.14, -0.80, YES),
        ("two diamonds that meet in a point", (1, 0, 0), 0.02, -0.59, YES),
        ("a uniform square cut in two", (1, 0, 0), -0.34, -0.65, PART),
        ("15 groups of which k-means finds .67", (105, 0, 0), -0.16, -0.63, PART),
        ("z1, three groups that touch", (3, 0, 0), -0.28, -0.51, PART),
        ("pathbased", (1, 2, 0), 0.23, -0.73, ODD),
        ("target", (14, 0, 1), 0.61, -0.93, ODD),
        ("rings", (0, 0, 3), 0.39, -0.73, ODD),
    ],
)
def test_measured_tables_get_the_answer_of_the_rule(
    table, pairs, dbcv, shuffled, answer
):
    apart, between, mixed = pairs
    scores = [0.9] * apart + [0.4] * between + [0.0] * mixed
    assert verdict_of(scores, dbcv, shuffled).answer == answer, table


@pytest.mark.parametrize(
    ("scores", "light"),
    [
        ([0.6, 0.6], "yes"),
        ([0.6, 0.59], "in part"),
        ([0.9, 0.9, 0.4, 0.1], "in part"),
        ([0.9, 0.9, 0.1, 0.1], "no"),
        ([0.9, 0.4, 0.4], "no"),
        ([0.59], "no"),
    ],
)
def test_round_in_part_takes_half_the_pairs_and_few_as_random(scores, light):
    assert verdict_of(scores, -0.9, -0.9).round == light


@pytest.mark.parametrize(
    ("gain", "light"), [(0.5, "yes"), (0.49, "in part"), (0.25, "in part"), (0.2, "no")]
)
def test_density_is_read_by_the_way_from_shuffled_labels_to_one(gain, light):
    assert verdict_of([0.0], -0.6 + gain * 1.6 + 1e-9, -0.6).dense == light


@pytest.mark.parametrize(
    ("table", "scores", "dbcv", "shuffled", "border", "answer"),
    [  # border: lowest ratio of a pair, measured with `border_ratios`
        ("wingnut, a gap as narrow as the steps inside", [0.91], 0.0, -0.43, 1.61, YES),
        ("wine, 13 columns", [0.82, 0.9, 0.95], -0.6, -0.88, 1.07, YES),
        ("z1, three groups that touch", [0.72, 0.9, 0.9], -0.28, -0.51, 0.60, PART),
        ("two long pieces, apart", [0.26], 0.2, -0.48, 6.22, ODD),
        ("spiral", [0.32, 0.32, 0.33], -0.26, -0.79, 2.42, ODD),
        ("mk2, two classes of which k-means finds .34", [0.19], -0.3, -0.73, 4.25, ODD),
        ("boston, a narrow gap", [0.14, 0.5, 0.9], -0.6, -0.9, 1.06, ODD),
        ("three classes, the last pair touches", [0.3] * 3, -0.6, -0.9, 0.9, "Hardly"),
        ("one pair of classes not measured", [0.91], 0.0, -0.43, float("nan"), PART),
    ],
)
def test_a_gap_at_every_border_makes_clusters_whatever_density_says(
    table, scores, dbcv, shuffled, border, answer
):
    assert verdict_of(scores, dbcv, shuffled, border).answer == answer, table


def test_a_gap_is_needed_at_every_border():
    for ratios, dense in (([1.0, 1.3], "yes"), ([9.0, 0.9], "no")):
        check = SimpleNamespace(pairs=pd.DataFrame({"score": [0.0, 0.0]}))
        borders = pd.DataFrame({"ratio": ratios})
        evidence = SimpleNamespace(dbcv=0.0, shuffled=pd.DataFrame({"dbcv": [0.0]}))
        assert weigh(check, borders, evidence, None).dense == dense
