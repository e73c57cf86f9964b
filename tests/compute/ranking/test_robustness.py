import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.ensemble.agreement import count_agreements, estimate_agreements
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.overlaps import partition_overlaps, select_partitions
from clusterlens.compute.ranking.ranking import (
    SCORES,
    Score,
    rank_partitions,
    rank_values,
)
from clusterlens.compute.ranking.robustness import Robustness, rank_robustness
from tests.definitions import discotec_scores, label_matrices

SIZES = {"a": 4, "b": 3, "c": 5}
FAMILIES = [name for name, size in SIZES.items() for _ in range(size)]
LABELS = np.random.default_rng(3).integers(0, 4, (12, 30))
ENSEMBLE = Ensemble(LABELS, families=FAMILIES)


def rank_without(family, without, whole, greater):
    """Rank without a family, its models counted where they stood in the whole pool."""
    kept, sign = np.array(FAMILIES) != family, -1 if greater else 1
    without, whole = (sign * np.round(v, 10) for v in (without, whole))
    ranks = np.full(12, np.nan)
    for place, t in enumerate(np.flatnonzero(kept)):
        ranks[t] = (
            1 + (without < without[place]).sum() + (whole[~kept] < whole[t]).sum()
        )
    return ranks


@pytest.mark.parametrize("score", SCORES)
def test_ranks_without_a_family_follow_the_definition(score):
    robustness = rank_robustness(ENSEMBLE, score)
    whole = rank_partitions(ENSEMBLE, score)
    np.testing.assert_array_equal(robustness.ranks, whole.ranks)
    for family, ranks in robustness.ranks_without.items():
        left = np.array(FAMILIES) != family
        others = rank_partitions(Ensemble(LABELS[left]), score).values
        np.testing.assert_array_equal(
            ranks,
            rank_without(family, others, whole.values, SCORES[score].greater_is_better),
        )
    rows = np.stack(list(robustness.ranks_without.values()))
    np.testing.assert_array_equal(robustness.lowest, np.nanmin(rows, axis=0))
    np.testing.assert_array_equal(robustness.highest, np.nanmax(rows, axis=0))
    for t, family in enumerate(robustness.highest_without):
        assert robustness.ranks_without[family][t] == robustness.highest[t]


def test_a_smaller_pool_alone_moves_no_rank():
    # Nested partitions of falling quality: their order is the same in every pool.
    truth = np.repeat(np.arange(4), 25)
    labels = np.tile(truth, (12, 1))
    rng = np.random.default_rng(0)
    for t in range(1, 12):
        labels[t:, rng.choice(100, 8, replace=False)] = rng.integers(0, 4, 8)
    ensemble = Ensemble(labels, families=list("abcd") * 3)
    robustness = rank_robustness(ensemble, "aari")
    same = [
        (rank_partitions(ensemble.select(left), "aari").order == np.arange(9)).all()
        for left in (np.array(ensemble.families) != f for f in "abcd")
    ]
    order = rank_partitions(ensemble, "aari").order
    assert len(same) == 4
    assert order[-1] == 11
    assert robustness.lowest[11] == robustness.highest[11] == 12


@pytest.mark.parametrize("score", ["discotec-binary", "discotec-kl"])
@pytest.mark.parametrize("seed", range(10))
def test_a_copy_without_a_vote_counts_the_same_in_any_family(score, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, (6, 8))
    copies = labels[[0, 3, 0]]  # of models of family a
    weights = np.repeat([1, 0], [6, 3])

    def ranks_of_voters(listed):
        ensemble = Ensemble(
            np.vstack([labels, copies]),
            families=["a", "b", "c", "a", "b", "c", *listed],
            weights=weights,
        )
        found = rank_robustness(ensemble, score).ranks_without
        return found["b"][:6], found["c"][:6]

    first = ranks_of_voters("aaa")
    for other in ("bbb", "ccc", "abc"):
        np.testing.assert_array_equal(ranks_of_voters(other), first)


@pytest.mark.parametrize("score", ["aari", "anmi", "discotec-binary"])
def test_ranks_without_a_family_do_not_hang_on_the_order_of_copies(score):
    """An average index tells a copy with a vote from one without."""
    base = np.random.default_rng(0).integers(0, 3, (4, 10))
    labels = base[[0, 1, 2, 3, 0, 0]]
    families, weights = np.array(list("abcbcb")), np.array([2, 1, 1, 2, 0, 1])
    for order in ([0, 1, 2, 3, 5, 4], [5, 4, 3, 2, 1, 0]):
        ranks = [
            rank_robustness(
                Ensemble(labels[one], families=families[one], weights=weights[one]),
                score,
            ).ranks_without["a"]
            for one in (np.arange(6), order)
        ]
        np.testing.assert_array_equal(ranks[1], ranks[0][order])


def test_copies_of_one_partition_are_no_pool_however_they_are_listed():
    same, other = [0, 0, 1, 1], [0, 1, 0, 1]
    listed = Ensemble([same, same, same, other], families=list("aaab"))
    weighted = Ensemble([same, other], families=list("ab"), weights=[3, 1])
    for ensemble in (listed, weighted):
        found = rank_robustness(ensemble)
        assert found.ranks_without == {}
        assert "not all the same" in found.reasons[1]


@pytest.mark.parametrize("share", [0, 4, 7, 12, 13])
def test_a_threshold_is_the_same_share_of_every_pool(share):
    robustness = rank_robustness(ENSEMBLE, threshold=share)
    whole = discotec_scores(LABELS, "binary", threshold=share)
    np.testing.assert_array_equal(robustness.ranks, rank_values(whole, False))
    assert robustness.threshold == share
    for family, ranks in robustness.ranks_without.items():
        some = LABELS[np.array(FAMILIES) != family]
        at = next(c for c in range(99) if c * 12 >= share * len(some))
        others = discotec_scores(some, "binary", threshold=at)
        np.testing.assert_array_equal(ranks, rank_without(family, others, whole, False))
    votes = np.array([60 // SIZES[name] for name in FAMILIES])
    at = share * votes.sum() / 12
    weighted = discotec_scores(LABELS, "binary", threshold=at, weights=votes)
    np.testing.assert_array_equal(
        robustness.ranks_equal_families, rank_values(weighted, False)
    )


def test_a_threshold_of_another_score_is_refused():
    with pytest.raises(ValueError, match="threshold is 3"):
        rank_robustness(ENSEMBLE, "aari", threshold=3)


@pytest.mark.parametrize("score", SCORES)
def test_majority_is_the_binary_rank_at_more_than_half(score):
    ranks = rank_values(discotec_scores(LABELS, "binary", threshold=7), False)
    np.testing.assert_array_equal(
        rank_robustness(ENSEMBLE, score).ranks_majority, ranks
    )


@pytest.mark.parametrize("variant", ["binary", "kl", "tv", "hellinger"])
@settings(max_examples=15)
@given(labels=label_matrices(min_partitions=6), data=st.data())
def test_equal_votes_of_families_follow_the_definition(variant, labels, data):
    families = data.draw(
        st.lists(st.sampled_from("abc"), min_size=len(labels), max_size=len(labels))
    )
    sizes = np.array([families.count(name) for name in families])
    votes = 60 // sizes  # whole for families of up to six
    if not (60 % sizes == 0).all():
        return
    expected = rank_values(discotec_scores(labels, variant, weights=votes), False)
    robustness = rank_robustness(
        Ensemble(labels, families=families), f"discotec-{variant}"
    )
    np.testing.assert_array_equal(robustness.ranks_equal_families, expected)


@pytest.mark.parametrize(
    ("score", "index"),
    [("aari", adjusted_rand_score), ("anmi", normalized_mutual_info_score)],
)
def test_equal_votes_of_families_average_an_index_family_by_family(score, index):
    families = np.array([*FAMILIES[:-1], "alone"])
    expected = []
    for t in range(12):
        by_family = [
            [
                index(LABELS[t], LABELS[s])
                for s in np.flatnonzero(families == f)
                if s != t
            ]
            for f in np.unique(families)
        ]
        expected.append(np.mean([np.mean(values) for values in by_family if values]))
    robustness = rank_robustness(Ensemble(LABELS, families=families), score)
    np.testing.assert_array_equal(
        robustness.ranks_equal_families, rank_values(expected, True)
    )


def test_copies_of_a_model_do_not_move_the_ranks_under_equal_votes():
    copies = np.concatenate([np.arange(12), np.repeat([4, 5, 6], 9)])
    families = np.array(FAMILIES)[copies]
    many = rank_robustness(Ensemble(LABELS[copies], families=families), "discotec-kl")
    one = rank_robustness(ENSEMBLE, "discotec-kl")
    values = many.ranks_equal_families[:12]
    np.testing.assert_array_equal(
        np.argsort(values, kind="stable"),
        np.argsort(one.ranks_equal_families, kind="stable"),
    )


def test_family_sizes_without_a_common_multiple_are_close_to_equal():
    sizes = [11, 13, 17, 19, 23]
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, (sum(sizes), 40))
    families = np.repeat(list("abcde"), sizes)
    robustness = rank_robustness(Ensemble(labels, families=families), "discotec-tv")
    weights = 1 / np.repeat(sizes, sizes)
    expected = discotec_scores(labels, "tv", weights=weights)
    moved = np.argsort(robustness.ranks_equal_families, kind="stable")
    assert np.diff(expected[moved]).min() > -1e-3
    assert not np.array_equal(robustness.ranks_equal_families, robustness.ranks)


def test_one_family_says_that_nothing_is_left():
    robustness = rank_robustness(Ensemble(LABELS))
    assert np.isnan(robustness.lowest).all()
    assert np.isnan(robustness.highest).all()
    assert robustness.highest_without == (None,) * 12
    assert "All 12 models are of one family, 'model'" in robustness.reasons[0]
    assert "not known" in robustness.sentence(0)
    np.testing.assert_array_equal(robustness.ranks_equal_families, robustness.ranks)
    frame = robustness.to_frame()
    assert frame["lowest_rank"].isna().all()
    assert frame["highest_without"].isna().all()


def test_too_few_models_left_are_not_ranked():
    families = ["a"] * 10 + ["b"] * 2
    robustness = rank_robustness(Ensemble(LABELS, families=families))
    assert list(robustness.ranks_without) == ["b"]
    assert np.isnan(robustness.lowest[10:]).all()
    assert "Without 'a' 2 of 12 models are left" in robustness.reasons[0]


def test_table_is_ordered_by_the_rank_in_the_whole_pool():
    frame = rank_robustness(ENSEMBLE).to_frame()
    assert frame["rank"].is_monotonic_increasing
    assert sorted(frame.index) == list(range(12))
    assert (frame["lowest_rank"] <= frame["highest_rank"]).all()
    assert list(frame.columns) == [
        *("model", "family", "rank", "lowest_rank", "highest_rank"),
        *("highest_without", "rank_majority", "rank_equal_families"),
    ]


def test_constraints_count_in_every_ranking():
    constraints = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(4, 5)])
    robustness = rank_robustness(
        ENSEMBLE, constraints=constraints, constraint_weight=100.0
    )
    violated = constraints.violations(ENSEMBLE)
    for ranks in (
        robustness.ranks,
        robustness.ranks_majority,
        robustness.ranks_equal_families,
        *robustness.ranks_without.values(),
    ):
        ranked = ~np.isnan(ranks)
        by_rank = violated[ranked][np.argsort(ranks[ranked])]
        assert (np.diff(by_rank) >= 0).all()


def test_counted_agreements_give_the_same_ranks():
    ours, theirs = (
        rank_robustness(count_agreements(ENSEMBLE)),
        rank_robustness(ENSEMBLE),
    )
    assert ours.to_frame().equals(theirs.to_frame())


def test_estimated_agreements_give_estimates_from_the_same_samples():
    labels = np.random.default_rng(8).integers(0, 4, (12, 300))
    ensemble = Ensemble(labels, families=FAMILIES)
    agreement = estimate_agreements(ensemble, 200)
    robustness = rank_robustness(agreement, threshold=5)
    assert not robustness.exact
    assert "estimated" in repr(robustness)
    drawn = ensemble.take_samples(agreement.samples)
    same = rank_robustness(drawn, threshold=5)
    assert robustness.to_frame().equals(same.to_frame())


@pytest.mark.parametrize(
    ("rank", "low", "high", "words"),
    [
        (2, 2, 2, "keeps rank 2"),
        (1, 2, 2, "falls to rank 2"),
        (1, 1, 3, "keeps rank 1 or falls to 3"),
        (1, 2, 3, "falls to rank 2 to 3"),
        (5, 2, 5, "keeps rank 5 or rises to 2"),
        (5, 2, 3, "rises to rank 2 to 3"),
        (5, 3, 3, "rises to rank 3"),
        (5, 3, 8, "moves between rank 3 and 8"),
    ],
)
def test_a_sentence_says_whether_a_rank_is_kept(rank, low, high, words):
    ranks = np.array([rank, 9])
    robustness = Robustness(
        Ensemble([[0, 1], [0, 0]]),
        "aari",
        ranks,
        {"x": np.array([low, np.nan]), "y": np.array([high, np.nan])},
        np.array([1, 1]),
        np.array([1.0, 1.0]),
    )
    assert f"It {words} " in robustness.sentence(0)
    assert f"The leader {words} " in robustness.sentence(0, "the leader")
    assert ("without" in robustness.sentence(0)) == (high > rank)
    assert "rises to rank 1 if a majority must agree" in robustness.sentence(1)


def test_a_score_of_ones_own_has_no_equal_votes_and_says_so():
    SCORES["size"] = Score(
        "", True, "", "", lambda e, **run: np.arange(12.0)[: len_of(e)]
    )
    try:
        robustness = rank_robustness(ENSEMBLE, "size")
    finally:
        del SCORES["size"]
    assert np.isnan(robustness.ranks_equal_families).all()
    assert "not defined for 'size'" in robustness.reasons[0]


def len_of(source):
    return getattr(source, "ensemble", source).n_partitions


def test_progress_rises_to_the_total_and_cancel_stops():
    seen = []
    rank_robustness(ENSEMBLE, progress=lambda *step: seen.append(step))
    done, totals = zip(*seen, strict=True)
    assert set(totals) == {6000}
    assert list(done) == sorted(done)
    assert done[-1] == 6000
    with pytest.raises(Cancelled):
        rank_robustness(ENSEMBLE, cancel=lambda: True)


def test_selected_partitions_keep_their_overlaps():
    whole = partition_overlaps(ENSEMBLE)
    chosen = select_partitions(ENSEMBLE, [7, 2])
    known = partition_overlaps(chosen)
    fresh = partition_overlaps(ENSEMBLE.select([7, 2]))
    np.testing.assert_array_equal(known.squares, whole.squares[[7, 2]][:, [7, 2]])
    np.testing.assert_array_equal(known.squares, fresh.squares)
    np.testing.assert_allclose(known.logs, fresh.logs)


def test_one_sample_ties_all_models():
    robustness = rank_robustness(
        Ensemble(np.zeros((6, 1), int), families=list("aabbbb")),
        progress=lambda done, total: None,
    )
    assert robustness.ranks.tolist() == [1] * 6
    assert robustness.ranks_equal_families.tolist() == [1] * 6
