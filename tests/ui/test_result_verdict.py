"""The verdict agrees with the checks: rows, lights and one paragraph."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import clusterlens as cl
from clusterlens.compute.pool.separation import ClusterSeparation
from clusterlens.compute.pool.stability import ClusterStability
from clusterlens.ui.results.evidence import Evidence, LabelsMatch
from clusterlens.ui.results.export_evidence import (
    count_broken,
    find_columns,
    find_cut_column,
    match_labels_given,
)
from clusterlens.ui.results.leading import Leads
from clusterlens.ui.results.result_verdict import QUESTIONS, weigh_result

SIZES = (50, 30, 20)
NAMES = {0: "big", 2: "<b>odd</b>"}
ALL, FIRST, LAST, NONE = (1, 1, 1), (1, 0, 0), (0, 0, 1), (0, 0, 0)


def copies(p):
    """A comparison with 19 copies of both kinds."""
    return SimpleNamespace(p_value=p, overlaps=p > 0.05, sentence=f"p is {p}.")


def numbers(k):
    return SimpleNamespace(k=k, sentence=f"k is {k}.", clusterer="k-means")


def again(passed=ALL, **given):
    """A check of clusters; those that pass have .95, the others .61."""
    jaccard = np.where(np.array(passed, bool), 0.95, 0.61)
    found = ClusterStability(
        labels=np.repeat([0, 1, 2], SIZES),
        clusters=np.arange(3),
        sizes=np.array(SIZES),
        similarities=np.tile(given.pop("jaccard", jaccard), (100, 1)),
        n_resamples=100,
        random_state=0,
        notes=(),
        by_chance=np.full(3, 0.3),
        n_copies=4,
    )
    return replace(found, **given)


def apart(passed=ALL, **given):
    """A check of clusters; those that pass have .99, the others .7."""
    found = ClusterSeparation(
        clusters=np.arange(3),
        sizes=np.array(SIZES),
        consistency=np.where(np.array(passed, bool), 0.99, 0.7),
        by_chance=np.array([0.3, 0.3, 0.96]),
        n_neighbors=10,
        n_copies=4,
        n_compared=100,
        random_state=0,
    )
    return replace(found, **given)


def columns(accuracy, error=0.01):
    table = pd.DataFrame(
        {
            "column": ["age", "income", "town"],
            "accuracy": [0.6, accuracy, 1.0],
            "standard_error": error,
        }
    )
    return SimpleNamespace(accuracy=table)


LEADS = Leads("a", "a", 3, 3)
ANSWERED = Leads("a", "b", 5, 3, 16, words="As if 1.1 of 65 models voted.")
NOTHING = Evidence(
    title="model b",
    table="customers",
    clusters=np.repeat([0, 1, 2], SIZES),
    names=NAMES,
    is_here=True,
    leads=LEADS,
)
GOOD = replace(
    NOTHING,
    null_check=copies(0.05),
    k_selection=numbers(3),
    stability=again(ALL),
    separation=apart(ALL),
    columns=columns(0.99),
    labels=LabelsMatch("species", 0.93),
)


def lights(verdict):
    return {row.key: row.light for row in verdict.rows}


def parts(verdict):
    """Claims that hold, claims that fail, and open questions of the paragraph."""
    return {
        name: " ".join(one for row in verdict.rows for one in getattr(row, name))
        for name in ("defended", "doubted", "against", "open")
    }


def test_where_every_check_says_yes_everything_is_defended():
    verdict = weigh_result(GOOD)
    assert verdict.light == "yes"
    assert verdict.objection == ""
    claims = parts(verdict)
    assert claims["doubted"] == claims["open"] == ""
    assert claims["against"] == ""
    for words in ("p = 0.05", "3 groups", "all 3 clusters are found", "0.93"):
        assert words in claims["defended"]
    assert "“age” and “income” reproduce 99%" in verdict.paragraph
    assert verdict.paragraph.startswith("“model b” divides 100 rows of customers into")


def test_where_nothing_was_asked_nothing_is_defended_or_doubted():
    verdict = weigh_result(NOTHING)
    assert verdict.light == "unknown"
    claims = parts(verdict)
    assert claims["defended"] == claims["doubted"] == ""
    for words in ("groups at all", "k = 3", "found again", "lie apart"):
        assert words in claims["open"]
    assert "Not measured: " in verdict.paragraph
    assert verdict.objection == ""


@pytest.mark.parametrize(
    ("change", "light"),
    [
        ({"null_check": copies(0.4)}, "in part"),
        ({"null_check": copies(0.4), "separation": apart(FIRST)}, "no"),
        ({"stability": again(NONE)}, "no"),
        ({"stability": again(LAST)}, "no"),
        ({"stability": again(FIRST)}, "in part"),
        ({"null_check": copies(0.4), "stability": None}, "no"),
        ({"null_check": None}, "unknown"),
        ({"stability": None}, "unknown"),
        ({"k_selection": numbers(4)}, "in part"),
        ({"k_selection": numbers(None)}, "in part"),
        ({"separation": apart(NONE)}, "in part"),
        ({"title": "a", "leads": replace(LEADS, likeness=0.21)}, "in part"),
        ({"leads": replace(LEADS, family="k-means", n_models=9)}, "in part"),
        ({"columns": columns(0.5), "labels": LabelsMatch("species", 0.1)}, "yes"),
    ],
)
def test_the_worst_of_the_checks_that_decide_is_the_verdict(change, light):
    verdict = weigh_result(replace(GOOD, **change))
    assert verdict.light == light
    decided = change.keys() & {"null_check", "stability"}
    is_wrong = decided and light in ("no", "in part")
    assert bool(verdict.objection) == bool(is_wrong)
    assert verdict.summary in verdict.paragraph


def test_each_cluster_is_named_where_it_belongs():
    verdict = weigh_result(replace(GOOD, stability=again(FIRST)))
    claims = parts(verdict)
    assert "that “big” is found again in other samples, more" in claims["defended"]
    assert "that cluster 2 and “<b>odd</b>” are found again" in claims["doubted"]
    assert verdict.objection == "1 of 3 clusters found again in other samples."
    none = parts(weigh_result(replace(GOOD, stability=again(NONE))))["doubted"]
    assert none.startswith("that any of 3 clusters is found again in other")
    row = next(row for row in verdict.rows if row.key == "again")
    assert "1 of 3 clusters" in row.answer
    assert "cluster 2 0.61 (0.30)" in row.basis


def test_pool_test_and_answers_are_named_with_their_numbers():
    found = replace(GOOD, leads=ANSWERED, k_selection=numbers(4))
    row = next(row for row in weigh_result(found).rows if row.key == "numbers")
    assert row.light == "in part"
    assert "the pool: 5, your answers: 3, the k test: 4" in row.answer
    assert "the pool: 5" in parts(weigh_result(found))["doubted"]
    agreed = replace(GOOD, leads=replace(ANSWERED, k_before=3))
    row = next(row for row in weigh_result(agreed).rows if row.key == "numbers")
    assert row.answer == "3: the pool, your answers and the k test agree."


def test_answers_are_named_before_what_they_weigh_on():
    text = weigh_result(replace(GOOD, leads=ANSWERED)).paragraph
    words = "With your 16 answers b (3 clusters) leads instead of a (5 clusters)."
    assert text.index(words) < text.index("Can be defended")
    same = replace(ANSWERED, after="a", k_after=5)
    text = weigh_result(replace(GOOD, leads=same)).paragraph
    assert "a leads with and without your 16 answers" in text
    none = weigh_result(replace(GOOD, leads=replace(ANSWERED, none_fits=True)))
    assert lights(none)["answers"] == "no"
    assert "your answers: 3" not in none.paragraph
    assert "answers" not in weigh_result(GOOD).paragraph


@pytest.mark.parametrize(
    ("sizes", "passed", "words"),
    [
        ((95, 1, 4), FIRST, "2 clusters of only 1 and 4 rows"),
        ((979, 1, 20), FIRST, "1 cluster of only 1 row, not found again in other"),
        ((95, 1, 4), ALL, ""),
        ((50, 30, 20), NONE, ""),
    ],
)
def test_small_clusters_that_no_check_confirms_are_doubted(sizes, passed, words):
    clusters = np.repeat([0, 1, 2], sizes)
    verdict = weigh_result(replace(GOOD, clusters=clusters, stability=again(passed)))
    row = next(row for row in verdict.rows if row.key == "doubts")
    assert (row.light == "in part") == bool(words)
    assert words in row.answer.lower() if words else "no proof" in row.answer


def test_labels_and_answers_of_a_table_without_them_are_no_rows_with_claims():
    verdict = weigh_result(replace(GOOD, labels=None))
    assert "labels" not in lights(verdict)
    assert lights(verdict)["answers"] == "unknown"


@pytest.mark.parametrize(
    ("value", "light"), [(0.93, "yes"), (0.5, "in part"), (0.1, "no")]
)
def test_a_match_with_labels_is_graded(value, light):
    assert (
        lights(weigh_result(replace(GOOD, labels=LabelsMatch("x", value))))["labels"]
        == light
    )


def test_no_claim_fails_with_labels_that_are_only_a_guess():
    found = replace(GOOD, labels=LabelsMatch("channel", 0.1))
    assert "channel" in parts(weigh_result(found))["doubted"]
    guess = replace(GOOD, labels=LabelsMatch("channel", 0.1, is_guess=True))
    verdict = weigh_result(guess)
    assert "channel" not in verdict.paragraph
    row = next(row for row in verdict.rows if row.key == "labels")
    assert row.light == "unknown"
    assert "is a guess" in row.basis
    frame = pd.DataFrame(
        np.random.default_rng(0).normal(size=(8, 2)), columns=["a", "b"]
    )
    frame["channel"] = list("xxyyxxyy")
    clusters = np.repeat([0, 1], 4)
    for role, is_guess in ({}, True), ({"channel": "label"}, False):
        table = cl.prepare(cl.make_dataset(frame), roles=role)
        assert match_labels_given(table, clusters).is_guess == is_guess


def test_columns_no_better_than_the_largest_cluster_tell_nothing():
    verdict = weigh_result(replace(GOOD, columns=columns(0.52, 0.02)))
    assert lights(verdict)["columns"] == "no"
    assert "no better than chance" in verdict.rows[-3].answer


def test_a_run_of_other_rows_says_nothing_of_the_result():
    verdict = weigh_result(replace(GOOD, is_here=False))
    assert verdict.light == "unknown"
    rows = {row.key: row for row in verdict.rows}
    for key in ("copies", "numbers"):
        assert "other rows" in rows[key].answer
    assert "p = 0.05" not in verdict.paragraph


def test_one_cluster_is_not_asked_what_takes_two():
    verdict = weigh_result(replace(GOOD, clusters=np.zeros(9, int)))
    assert set(lights(verdict)) == {"copies", "numbers", "answers", "doubts"}
    noise = weigh_result(replace(GOOD, clusters=np.full(9, -1)))
    assert "0 clusters and 9 rows of noise" in noise.paragraph


def test_rows_come_in_the_order_of_the_questions():
    keys = [row.key for row in weigh_result(GOOD).rows]
    assert keys == list(QUESTIONS)


def test_a_failing_whole_may_have_clusters_that_hold():
    found = replace(
        GOOD, null_check=copies(1.0), stability=again(LAST), separation=apart(ALL)
    )
    verdict = weigh_result(found)
    assert verdict.light == "no"
    assert verdict.summary == (
        "It cannot be defended as a whole, but “<b>odd</b>” can."
    )
    for other in (
        {"stability": again(NONE)},
        {"separation": apart(FIRST)},
        {"separation": None},
    ):
        none = weigh_result(replace(found, **other))
        assert none.summary == "It cannot be defended as groups."


def test_copies_that_agree_more_are_not_said_to_agree_as_much():
    text = weigh_result(replace(GOOD, null_check=copies(1.0))).paragraph
    assert "the pool agrees no more on the table than on copies" in text
    assert "as much" not in text


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.6972, "0.697 with"), (0.69996, "0.69996 with"), (0.7, "0.70 with")],
)
def test_a_number_does_not_round_to_the_limit_that_it_misses(value, shown):
    rows = weigh_result(replace(GOOD, labels=LabelsMatch("x", value))).rows
    row = next(row for row in rows if row.key == "labels")
    assert shown in row.basis
    assert (row.light == "yes") == (value >= 0.7)


def test_a_cluster_just_short_of_the_limit_is_shown_as_short_of_it():
    found = replace(
        GOOD,
        stability=again(jaccard=np.array([0.95, 0.7496, 0.95])),
        separation=apart(consistency=np.array([0.99, 0.99, 0.98999])),
    )
    verdict = weigh_result(found)
    rows = {row.key: row for row in verdict.rows}
    assert "cluster 2 0.7496 (0.30)" in rows["again"].basis
    missed = "that cluster 2 (0.7496 of 0.75 needed) is found again in other samples"
    assert missed in verdict.paragraph
    assert "at least 0.75, and at least halfway" in rows["again"].basis
    assert "“<b>odd</b>” 98.999% (96%)" in rows["apart"].basis
    assert "by chance" not in parts(verdict)["doubted"]


def test_signs_of_a_wrong_leader_are_no_claims_that_fail():
    found = replace(GOOD, title="a", leads=replace(LEADS, likeness=0.21))
    verdict = weigh_result(found)
    claims = parts(verdict)
    assert claims["doubted"] == ""
    assert "Speaks against it: the leader, a, agrees little with" in verdict.paragraph
    row = next(row for row in verdict.rows if row.key == "doubts")
    assert "far from the classes" in row.basis
    small = replace(GOOD, clusters=np.repeat([0, 1, 2], (95, 1, 4)), stability=None)
    row = next(row for row in weigh_result(small).rows if row.key == "doubts")
    assert row.answer.endswith("rows, not checked in other samples.")
    assert row.basis == ""


@pytest.mark.parametrize(("chance", "is_open"), [(0.13, True), (0.5, False)])
def test_answers_that_leave_the_leader_open_say_so(chance, is_open):
    leads = replace(ANSWERED, k_before=3, chance=chance)
    verdict = weigh_result(replace(GOOD, title="b", leads=leads))
    words = "your answers do not settle which model leads: b (13%)"
    assert (words in verdict.paragraph) == is_open
    assert verdict.light == ("in part" if is_open else "yes")


def test_near_copies_count_with_the_leader_and_the_next_model_is_named():
    leads = replace(ANSWERED, chance=0.43, n_near=2, second="c (13%)")
    verdict = weigh_result(replace(GOOD, title="b", leads=leads))
    assert "b with 2 near-copies (43%), next is c (13%)" in verdict.paragraph


def test_candidates_that_are_much_alike_are_no_doubt():
    leads = replace(ANSWERED, k_before=3, chance=0.43, likeness_to_right=0.96)
    verdict = weigh_result(replace(GOOD, title="b", leads=leads))
    assert verdict.light == "yes"
    row = next(row for row in verdict.rows if row.key == "doubts")
    assert "much alike" in row.basis
    assert "0.96" in row.basis


def test_the_safest_model_of_the_answers_is_named_beside_the_likeliest():
    leads = replace(ANSWERED, safest="Genie k=8", k_safest=8)
    rows = {row.key: row for row in weigh_result(replace(GOOD, leads=leads)).rows}
    assert "The safest choice is Genie k=8 (8 clusters)" in rows["answers"].answer
    assert "Genie k=8, expected to be most like" in rows["numbers"].basis


def test_a_result_that_is_older_than_its_links_says_so():
    answered = replace(GOOD, leads=ANSWERED)
    older = weigh_result(replace(answered, n_links_since=4))
    assert "The result was chosen before 4 changes of the links." in older.paragraph
    assert "chosen before" not in weigh_result(answered).paragraph


def test_nothing_is_more_than_by_chance_without_a_cluster_to_compare_with():
    alone = again(ALL, by_chance=np.array([0.5, 0.0, 0.5]))
    rows = weigh_result(replace(GOOD, stability=alone)).rows
    row = next(row for row in rows if row.key == "again")
    assert "no such cluster" in row.basis
    assert row.defended
    assert "more than by chance" not in row.defended[0]


def doubts_of(**changed):
    """Return the light and the answer of the row of doubts."""
    rows = weigh_result(replace(GOOD, **changed)).rows
    row = next(row for row in rows if row.key == "doubts")
    return row.light, row.answer


def test_a_result_that_answers_contradict_is_doubted():
    leads = replace(ANSWERED, k_before=3)
    assert doubts_of(leads=leads)[0] == "yes"
    light, answer = doubts_of(leads=leads, n_broken=5)
    assert (light, answer) == ("in part", "It contradicts 5 of your 16 answers.")


def test_a_partition_that_is_one_column_cut_in_two_is_doubted():
    light, answer = doubts_of(cut_column="<b>newsletter")
    assert light == "in part"
    assert answer.startswith("“<b>newsletter”, a column with two values, reproduces it")


def test_links_that_a_partition_contradicts_are_counted():
    links = cl.Constraints(must_link=[(0, 2), (0, 1)], cannot_link=[(0, 1 + 3), (1, 3)])
    assert count_broken(np.array([0, 0, 1, -1, 0]), links) == 2


@pytest.mark.parametrize(("values", "found"), [("ab", "flag"), ("abc", "")])
def test_only_a_column_with_two_values_cuts_a_table(values, found):
    rng = np.random.default_rng(0)
    codes = np.arange(120) % len(values)
    flag = np.array(list(values))[codes]
    frame = pd.DataFrame({"x": rng.normal(size=120), "flag": flag})
    dataset = cl.prepare(frame, roles={"flag": "categorical"})
    assert find_cut_column(dataset, find_columns(dataset, codes)) == found
    assert find_cut_column(dataset, find_columns(dataset, np.zeros(120, int))) == ""
    other = (dataset.X[:, 0] > 0).astype(int)
    assert find_cut_column(dataset, find_columns(dataset, other)) == ""


def test_the_likeness_of_a_leader_that_answers_chose_is_no_sign():
    leads = replace(ANSWERED, k_before=3, likeness=0.21)
    assert doubts_of(title="b", leads=leads)[0] == "yes"
    assert doubts_of(title="a", leads=replace(LEADS, likeness=0.21))[0] == "in part"


def test_a_missing_value_of_a_cluster_is_said():
    found = replace(
        GOOD,
        stability=again(by_chance=np.array([0.3, 0.0, 0.3])),
        separation=apart(consistency=np.array([0.99, 0.99, np.nan])),
    )
    rows = {row.key: row for row in weigh_result(found).rows}
    assert "cluster 2 0.95 (no such cluster)" in rows["again"].basis
    assert "“<b>odd</b>” not defined (96%)" in rows["apart"].basis
    assert rows["apart"].light == "in part"


def test_the_k_test_is_said_to_count_clusters_of_its_own():
    rows = weigh_result(GOOD).rows
    row = next(row for row in rows if row.key == "numbers")
    assert "the clusters of k-means, which may be others than these" in row.basis


def test_signs_of_a_wrong_leader_do_not_speak_against_another_result():
    leads = replace(ANSWERED, k_before=3, chance=0.1, likeness=0.1)
    verdict = weigh_result(replace(GOOD, title="consensus k=3", leads=leads))
    assert "leader" not in verdict.paragraph
    assert parts(verdict)["against"] == ""
    assert verdict.light == "yes"


def test_nothing_is_settled_while_the_leader_and_columns_are_being_compared():
    leads = replace(LEADS, is_compared=False)
    verdict = weigh_result(replace(GOOD, title="a", leads=leads, columns=None))
    assert verdict.light == "unknown"
    assert "No known sign" not in verdict.paragraph
    for words in ("whether the leader is like", "which columns tell"):
        assert words in parts(verdict)["open"]


def test_a_number_that_test_and_answers_find_is_no_error_of_the_pool():
    leads = replace(ANSWERED, k_before=4, k_after=3)
    verdict = weigh_result(replace(GOOD, leads=leads))
    claims = parts(verdict)
    assert claims["doubted"] == ""
    assert (
        "3 groups (your answers and the k test agree; the pool: 4)"
        in (claims["defended"])
    )
    assert lights(verdict)["numbers"] == "yes"
    alone = weigh_result(replace(GOOD, leads=replace(LEADS, k_before=4)))
    assert "3 groups (the k test agrees; the pool: 4)" in parts(alone)["defended"]
    unasked = weigh_result(replace(GOOD, leads=leads, k_selection=None))
    assert lights(unasked)["numbers"] == "in part"


def test_nothing_is_said_about_a_cluster_of_nearly_all_rows():
    sizes = (955, 45)
    two = {
        "clusters": np.arange(2),
        "sizes": np.array(sizes),
        "by_chance": np.array([0.99, 0.3]),
    }
    found = replace(
        GOOD,
        clusters=np.repeat([0, 1], sizes),
        names={1: "big spenders"},
        k_selection=numbers(2),
        leads=replace(LEADS, k_before=2),
        stability=again(jaccard=np.array([0.99, 0.98]), **two),
        separation=apart(consistency=np.array([1.0, 1.0]), **two),
    )
    verdict = weigh_result(found)
    claims = parts(verdict)
    assert claims["doubted"] == ""
    assert "that “big spenders” is found again" in claims["defended"]
    assert "that “big spenders” lies apart" in claims["defended"]
    assert "cluster 1" not in claims["defended"]
    for row in verdict.rows:
        if row.key in ("again", "apart"):
            assert "nothing about cluster 1: any cluster with 96%" in row.basis
            assert row.light == "yes"


@pytest.mark.parametrize(("p", "is_said"), [(0.9, True), (0.01, False)])
def test_agreement_of_all_rows_is_said_to_miss_small_groups(p, is_said):
    verdict = weigh_result(replace(GOOD, null_check=copies(p)))
    (row,) = [row for row in verdict.rows if row.key == "copies"]
    assert ("A group of few rows" in row.basis) == is_said


def test_columns_that_reproduce_a_cut_of_noise_are_no_support():
    verdict = weigh_result(replace(GOOD, null_check=copies(0.9)))
    assert lights(verdict)["columns"] == "unknown"
    assert "“age” and “income” reproduce 99%" in verdict.paragraph


def test_all_columns_of_a_table_tell_nothing_of_its_clusters():
    both = SimpleNamespace(accuracy=columns(0.99).accuracy[:2])
    verdict = weigh_result(replace(GOOD, columns=both))
    assert "reproduce" not in verdict.paragraph
    row = next(row for row in verdict.rows if row.key == "columns")
    assert row.answer == "It was clustered by “age” and “income” alone."
