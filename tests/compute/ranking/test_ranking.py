import numpy as np
import pytest
from hypothesis import given, settings

from clusterlens.compute.ensemble.agreement import (
    Agreement,
    count_agreements,
    estimate_agreements,
)
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.ranking import SCORES, rank_partitions, rank_values
from tests.definitions import label_matrices

ENSEMBLE = Ensemble(
    [[0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1], [2, 2, 2, 9]],
    names=["a", "b", "c", "d"],
    families=["x", "y", "y", "x"],
)


@pytest.mark.parametrize("score", SCORES)
def test_every_score_ranks_its_best_value_first(score):
    ranking = rank_partitions(ENSEMBLE, score)
    values = ranking.values[ranking.order]
    assert ranking.greater_is_better == SCORES[score].greater_is_better
    assert (np.diff(values) * (-1 if ranking.greater_is_better else 1) >= 0).all()
    assert ranking.ranks[ranking.order[0]] == 1
    assert ranking.exact


def test_registry_says_title_meaning_and_reference():
    for score in SCORES.values():
        assert score.title
        assert score.meaning.endswith(".")
        assert score.reference


def test_a_score_of_ones_own_takes_one_line():
    SCORES["clusters"] = type(SCORES["aari"])(
        "Clusters", True, "Number of clusters.", "none", lambda e, **run: e.n_clusters
    )
    try:
        assert rank_partitions(ENSEMBLE, "clusters").ranks.tolist() == [1] * 4
    finally:
        del SCORES["clusters"]


def test_table_is_best_first_and_ties_share_the_rank():
    frame = rank_partitions(ENSEMBLE).to_frame()
    assert list(frame.columns) == [
        *("model", "family", "n_clusters", "n_noise", "score"),
        *("unconstrained", "violated", "rank", "copies"),
    ]
    assert frame["rank"].is_monotonic_increasing
    by_model = frame.set_index("model")
    assert by_model.loc["b", "rank"] == by_model.loc["d", "rank"]
    assert by_model["copies"].to_dict() == {"a": 1, "b": 2, "c": 1, "d": 2}
    assert by_model["family"].to_dict() == {"a": "x", "b": "y", "c": "y", "d": "x"}
    assert frame.loc[0, "model"] == "a"


def test_values_equal_to_ten_decimals_share_a_rank():
    values = [0.3, 0.1 + 1e-12, 0.1, 0.2]
    assert rank_values(values, greater_is_better=False).tolist() == [4, 1, 1, 3]
    assert rank_values(values, greater_is_better=True).tolist() == [1, 3, 3, 2]


@settings(max_examples=30)
@given(labels=label_matrices())
def test_identical_partitions_share_their_rank_under_every_score(labels):
    doubled = Ensemble(np.concatenate([labels, labels + 1]))
    for score in SCORES:
        ranks = rank_partitions(doubled, score).ranks
        np.testing.assert_array_equal(ranks[: len(labels)], ranks[len(labels) :])


def test_constraints_charge_against_the_direction_of_the_score():
    constraints = Constraints(must_link=[(0, 1)], cannot_link=[(0, 2)])
    for score in SCORES:
        ranking = rank_partitions(
            ENSEMBLE, score, constraints=constraints, constraint_weight=2.0
        )
        sign = -2 if ranking.greater_is_better else 2
        np.testing.assert_allclose(ranking.violated, [0, 0.5, 0.5, 0.5])
        np.testing.assert_allclose(
            ranking.values, ranking.unconstrained + sign * ranking.violated
        )


@pytest.mark.parametrize("weight", [0.5, "evidence"])
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(
    "count", [count_agreements, lambda ensemble: estimate_agreements(ensemble, 400)]
)
def test_other_constraints_take_the_place_of_those_there_are(count, score, weight):
    labels = np.random.default_rng(3).integers(-1, 3, (7, 900))
    agreement = count(Ensemble(np.vstack([labels, labels[:1]])))
    first = Constraints(must_link=[(0, 1), (2, 3)])
    other = Constraints(must_link=[(0, 5)], cannot_link=[(2, 3), (7, 8)])
    ranked = rank_partitions(agreement, score, None, first, 2.0)
    for links in (None, other):
        fresh = rank_partitions(agreement, score, None, links, weight)
        again = ranked.with_constraints(links, weight)
        assert again.to_frame().equals(fresh.to_frame())
        assert (again.exact, again.score) == (fresh.exact, fresh.score)
        np.testing.assert_array_equal(again.rank_ranges, fresh.rank_ranges)
    with pytest.raises(ValueError, match="constraint_weight"):
        ranked.with_constraints(other, "much")


def test_ranking_says_when_violations_alone_decide():
    constraints = Constraints(must_link=[(2, 3)])
    plain = rank_partitions(ENSEMBLE)
    heavy = rank_partitions(ENSEMBLE, constraints=constraints, constraint_weight=9.0)
    none = rank_partitions(ENSEMBLE, constraints=constraints, constraint_weight=0.0)
    assert not plain.decided_by_violations
    assert heavy.decided_by_violations
    assert none.violated.tolist() == [0, 1, 0, 1]
    assert none.unconstrained[2] > none.unconstrained[1]
    assert not none.decided_by_violations


def test_counted_agreements_rank_as_their_ensemble():
    agreement = count_agreements(ENSEMBLE)
    for score in SCORES:
        ours, theirs = (rank_partitions(x, score) for x in (agreement, ENSEMBLE))
        np.testing.assert_allclose(ours.values, theirs.values, atol=1e-12)
    assert rank_partitions(agreement, threshold=5).values.tolist() == [
        *rank_partitions(ENSEMBLE, threshold=5).values
    ]


def test_estimated_agreements_make_an_estimated_ranking():
    counts = count_agreements(ENSEMBLE)
    half = Agreement(
        ENSEMBLE, counts.pair_counts * 2, counts.joint_counts * 2, exact=False
    )
    ranking = rank_partitions(half)
    assert not ranking.exact
    np.testing.assert_allclose(ranking.values, rank_partitions(counts).values)


def test_threshold_and_unknown_scores_are_refused_where_they_mean_nothing():
    with pytest.raises(ValueError, match="score 'aari' has none"):
        rank_partitions(ENSEMBLE, "aari", threshold=2)
    with pytest.raises(ValueError, match="score is 'best'; give one of"):
        rank_partitions(ENSEMBLE, "best")
