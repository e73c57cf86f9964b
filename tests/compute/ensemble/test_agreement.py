import json
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute._run.options import Cancelled, RunOptions
from clusterlens.compute.ensemble import pairs
from clusterlens.compute.ensemble.agreement import (
    Agreement,
    count_agreements,
    count_samples,
    estimate_agreements,
)
from clusterlens.compute.ensemble.counting_cost import (
    EXACT_COMPARISONS,
    SAMPLED_COMPARISONS,
    agreement_cost,
    agreement_seconds,
)
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.pairs import count_columns, count_groups, pair_layout
from clusterlens.compute.ranking.scores import discotec, threshold_scores
from tests.definitions import agreement_counts, count_tables, label_matrices
from tests.folders import REFERENCE

CASES = json.loads((REFERENCE / "discotec.json").read_text())["cases"]


def random_labels(n_partitions, n_samples, n_clusters, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, n_clusters, (n_partitions, n_samples))


def assert_tables_follow_the_definition(agreement, labels):
    levels, joint = count_tables(labels)
    np.testing.assert_array_equal(agreement.pair_counts, levels)
    np.testing.assert_array_equal(agreement.joint_counts, joint)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_tables_mean_and_threshold_agree_with_the_reference(case):
    agreement = count_agreements(Ensemble(case["labels"]))
    expected = case["expected"]
    assert agreement.total == expected["sum_counts"]
    assert agreement.mean == pytest.approx(expected["mean_C"], rel=1e-9)
    assert agreement.threshold == expected["count_threshold"]
    binarised = agreement.pair_counts[agreement.threshold :].sum()
    assert binarised == expected["Q_ones"]
    if "counts_matrix" in expected:
        levels = np.bincount(np.ravel(expected["counts_matrix"]))
        np.testing.assert_array_equal(agreement.pair_counts[: len(levels)], levels)


@settings(max_examples=60)
@given(labels=label_matrices(min_partitions=1))
def test_tables_follow_the_definition(labels):
    agreement = count_agreements(Ensemble(labels))
    assert_tables_follow_the_definition(agreement, labels)
    assert agreement.total == agreement_counts(labels).sum()


@pytest.mark.parametrize(
    ("n_partitions", "n_samples", "n_clusters"),
    [(5, 700, 3), (31, 600, 40), (33, 257, 6), (300, 300, 4), (6, 300, 300)],
    ids=["merged samples", "many tiles", "odd sizes", "T > 255", "K > 255"],
)
def test_tables_are_right_across_tiles_types_and_counters(
    n_partitions, n_samples, n_clusters
):
    labels = random_labels(n_partitions, n_samples, n_clusters)
    assert_tables_follow_the_definition(count_agreements(Ensemble(labels)), labels)


@settings(max_examples=60)
@given(labels=label_matrices(min_partitions=1), seed=st.integers(0, 100))
def test_a_walk_over_co_members_counts_the_same(labels, seed):
    rng = np.random.default_rng(seed)
    votes = rng.integers(0, 4, len(labels))
    layout = pair_layout(Ensemble(labels), np.arange(labels.shape[1]), votes)
    start, stop = np.sort(rng.integers(0, layout.n_items + 1, 2)).tolist()
    levels, joint = count_columns(layout, start, stop, RunOptions(1))
    walked = pairs._walk_columns(layout, (start, stop), 1e10, RunOptions(1))
    np.testing.assert_array_equal(walked[0], levels)
    np.testing.assert_array_equal(walked[1], joint)


def test_few_joined_pairs_are_walked_and_many_compared(monkeypatch):
    walks = []

    def walk(*args):
        walks.append(args)
        return walk_columns(*args)

    walk_columns = pairs._walk_columns
    monkeypatch.setattr(pairs, "_walk_columns", walk)
    rng = np.random.default_rng(0)
    for n_clusters, expected in ((1_500, 1), (200, 1), (5, 0)):
        walks.clear()
        labels = rng.integers(0, n_clusters, (3, 3_000))
        agreement = count_agreements(Ensemble(labels))
        assert len(walks) == expected
        assert_tables_follow_the_definition(agreement, labels)


def test_an_exact_count_of_few_joined_pairs_is_affordable_at_any_size():
    labels = np.arange(4_000_000).reshape(2, -1) // np.array([[2], [3]])
    cost = agreement_cost(Ensemble(labels))
    assert cost.comparisons > EXACT_COMPARISONS
    assert cost.affordable
    assert cost.n_compared == 2_000_000


def test_full_narrow_counters_are_emptied_in_time():
    labels = np.zeros((4, 900), dtype=int)
    labels[:, :450] = np.arange(450)  # distinct samples, so that none are merged
    labels[3] = 0
    agreement = count_agreements(Ensemble(labels[:, ::-1]))
    assert_tables_follow_the_definition(agreement, labels)
    assert agreement.pair_counts.max() > np.iinfo(np.uint16).max


def test_identical_samples_are_merged_only_where_that_pays():
    few = random_labels(3, 400, 3)
    many = random_labels(12, 400, 9)
    assert pair_layout(Ensemble(few)).n_items <= 27
    assert pair_layout(Ensemble(few)).weights.sum() == 400
    assert pair_layout(Ensemble(many)).weights is None


def test_identical_partitions_are_compared_once_and_count_each():
    labels = random_labels(4, 60, 3)[[0, 1, 0, 2, 3, 0]]
    layout = pair_layout(Ensemble(labels))
    assert layout.votes.tolist() == [3, 1, 1, 1]
    agreement = count_agreements(Ensemble(labels))
    assert_tables_follow_the_definition(agreement, labels)


def test_row_sums_are_squared_cluster_sizes():
    ensemble = Ensemble(random_labels(9, 321, 7))
    agreement = count_agreements(ensemble)
    squares = [np.sum(np.bincount(codes) ** 2) for codes in ensemble.codes]
    assert agreement.joint_counts.sum(axis=1).tolist() == squares
    assert agreement.pair_counts.sum() == 321**2
    assert agreement.total == agreement.pair_counts @ np.arange(10)


@settings(max_examples=20)
@given(labels=label_matrices(), seed=st.integers(0, 100))
def test_names_of_labels_and_order_of_samples_do_not_matter(labels, seed):
    rng = np.random.default_rng(seed)
    renamed = labels[:, rng.permutation(labels.shape[1])] * -3 + 1
    ours, theirs = (count_agreements(Ensemble(x)) for x in (labels, renamed))
    np.testing.assert_array_equal(ours.pair_counts, theirs.pair_counts)
    np.testing.assert_array_equal(ours.joint_counts, theirs.joint_counts)


def test_ranges_of_columns_add_up():
    layout = pair_layout(Ensemble(random_labels(20, 700, 5)))
    parts = [
        count_columns(layout, *r) for r in ((0, 1), (1, 300), (300, 300), (300, 700))
    ]
    whole, joint = count_columns(layout)
    np.testing.assert_array_equal(sum(p for p, _ in parts), whole)
    np.testing.assert_array_equal(sum(j for _, j in parts), joint)


def test_blocks_cover_every_pair_once(monkeypatch):
    monkeypatch.setattr(pairs, "_BLOCK_COMPARISONS", 1)
    layout = pair_layout(Ensemble(random_labels(20, 700, 5)))
    for columns in ((0, 700), (300, 700), (10, 290)):
        seen = []
        run = RunOptions(1, progress=lambda *step, to=seen: to.append(step))
        counts, _ = count_columns(layout, *columns, run)
        expected = sum(range(*columns))
        assert seen[-1] == (expected, expected)
        assert counts.sum() == expected
        assert len(seen) > 1


def test_chosen_samples_are_compared_with_each_other_only():
    labels = random_labels(20, 300, 5)
    samples = np.random.default_rng(1).permutation(300)[:90]
    counts, joint = count_columns(pair_layout(Ensemble(labels), samples))
    expected_pairs, expected_joint = count_tables(labels[:, samples])
    assert (2 * counts)[:-1].tolist() == expected_pairs[:-1].tolist()
    assert (2 * joint)[:, :-1].tolist() == expected_joint[:, :-1].tolist()


def test_result_does_not_depend_on_jobs_or_executor():
    ensemble = Ensemble(random_labels(12, 900, 8))
    with ThreadPoolExecutor(1) as executor:
        results = [
            count_agreements(ensemble, n_jobs=1),
            count_agreements(ensemble, n_jobs=3),
            count_agreements(ensemble, executor=executor),
        ]
        assert executor.submit(int).result() == 0  # still open for others
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].joint_counts, other.joint_counts)


def test_progress_counts_pairs_and_reaches_the_total():
    seen = []
    count_agreements(
        Ensemble(random_labels(12, 900, 8)), progress=lambda *x: seen.append(x)
    )
    done, totals = zip(*seen, strict=True)
    assert len(seen) == 4
    assert sorted(done) == list(done)
    assert done[-1] == totals[-1] == 900 * 899 // 2


def test_cancel_stops_between_blocks():
    seen = []
    with pytest.raises(Cancelled):
        count_agreements(
            Ensemble(random_labels(12, 2000, 8)),
            progress=lambda *x: seen.append(x),
            cancel=lambda: len(seen) >= 2,
            n_jobs=1,
        )
    assert len(seen) == 2


def test_one_sample_agrees_with_itself():
    agreement = count_agreements(Ensemble([[4], [2], [-1]]))
    assert agreement.pair_counts.tolist() == [0, 0, 0, 1]
    assert agreement.joint_counts.tolist() == [[0, 0, 0, 1]] * 3
    assert (agreement.mean, agreement.threshold) == (1.0, 3)


def test_tables_are_read_only():
    agreement = count_agreements(Ensemble([[0, 1], [0, 0]]))
    with pytest.raises(ValueError, match="read-only"):
        agreement.pair_counts[0] = 1


def test_tables_that_do_not_fit_the_ensemble_are_refused():
    with pytest.raises(ValueError, match=r"pair_counts has shape \(2,\) for 2"):
        Agreement(Ensemble([[0, 1], [0, 0]]), np.zeros(2), np.zeros((2, 3)))


def test_tables_of_too_many_partitions_are_refused_before_they_are_made():
    ensemble = Ensemble(np.random.default_rng(0).integers(0, 9, (20_000, 12)))
    with pytest.raises(MemoryError, match="20000 partitions would need"):
        count_agreements(ensemble)


def test_cost_is_stated_from_sizes():
    small, large = (Ensemble(random_labels(12, n, 8)) for n in (300, 3000))
    cost = agreement_cost(small)
    assert cost.comparisons == 300 * 299 // 2 * 12
    assert cost.affordable
    assert cost.n_compared == 300
    assert agreement_seconds(large, n_jobs=1) == pytest.approx(
        100 * agreement_seconds(small, n_jobs=1), rel=0.01
    )


def test_copies_of_models_and_samples_cost_nothing():
    labels = random_labels(6, 2_000, 3)  # at most 729 different samples
    cost = agreement_cost(Ensemble(np.repeat(labels, 50, axis=0)))
    distinct = len(np.unique(labels, axis=1).T)
    assert (cost.n_items, cost.n_models) == (distinct, 6)
    assert cost.comparisons == distinct * (distinct - 1) // 2 * 6
    every = 2_000 * 1_999 // 2 * 300
    assert agreement_cost(
        Ensemble(np.repeat(labels, 50, axis=0)), max_comparisons=every // 100
    ).affordable


def test_what_is_not_affordable_is_estimated_within_the_budget():
    cost = agreement_cost(Ensemble(random_labels(40, 200_000, 50)))
    assert not cost.affordable
    assert cost.comparisons > EXACT_COMPARISONS
    pairs = cost.n_compared * (cost.n_compared - 1) // 2
    assert 0.99 * SAMPLED_COMPARISONS < pairs * 40 <= SAMPLED_COMPARISONS


@settings(max_examples=30)
@given(labels=label_matrices(), cut=st.integers(0, 24), more=st.integers(0, 24))
def test_groups_count_the_pairs_by_their_first_sample(labels, cut, more):
    n_samples = labels.shape[1]
    bounds = sorted([0, min(cut, n_samples), min(more, n_samples), n_samples])
    layout = pair_layout(Ensemble(labels), np.arange(n_samples))
    pairs, joint = count_groups(layout, bounds)
    counts = agreement_counts(labels)
    other = ~np.eye(n_samples, dtype=bool)
    for g in range(3):
        rows = np.zeros_like(other)
        rows[bounds[g] : bounds[g + 1]] = True
        for c in range(len(labels) + 1):
            some = rows & other & (counts == c)
            assert pairs[g, c] == some.sum()
            for t, row in enumerate(labels):
                joined = some & (row[:, None] == row)
                assert joint[g, layout.group[t], c] == joined.sum()


def test_an_estimate_knows_its_samples():
    ensemble = Ensemble(random_labels(5, 400, 4))
    estimated = estimate_agreements(ensemble, 200, random_state=3)
    assert estimated.n_compared == len(set(estimated.samples.tolist())) == 200
    assert "estimated from 200 samples" in repr(estimated)
    pairs = estimated.group_pairs.sum(axis=0)
    np.testing.assert_array_equal(pairs[:-1], estimated.pair_counts[:-1])
    assert estimated.group_joint.sum() == estimated.group_joint.sum(axis=0).sum()
    assert estimate_agreements(ensemble, 60).group_pairs is None


def test_an_estimate_from_all_samples_is_exact():
    ensemble = Ensemble(np.random.default_rng(0).integers(0, 4, (5, 40)))
    whole = estimate_agreements(ensemble, 40)
    counted = count_agreements(ensemble)
    assert whole.exact
    np.testing.assert_array_equal(whole.pair_counts, counted.pair_counts)
    np.testing.assert_array_equal(whole.joint_counts, counted.joint_counts)


def test_an_estimate_holds_the_tables_of_the_drawn_samples():
    ensemble = Ensemble(np.random.default_rng(1).integers(0, 4, (5, 400)))
    estimated = estimate_agreements(ensemble, 60, random_state=3)
    drawn = ensemble.take_samples(estimated.samples)
    counted = count_agreements(drawn)
    assert not estimated.exact
    assert estimated.threshold == count_agreements(ensemble).threshold
    np.testing.assert_array_equal(estimated.pair_counts[:-1], counted.pair_counts[:-1])
    # n samples have a smaller share of pairs (i, i) than 60 of them.
    fewer = 60 - round(60 * 59 / 399)
    assert counted.pair_counts[-1] - estimated.pair_counts[-1] == fewer
    np.testing.assert_array_equal(
        counted.joint_counts[:, -1] - estimated.joint_counts[:, -1], fewer
    )


def test_estimated_scores_are_unbiased():
    ensemble = Ensemble(np.random.default_rng(2).integers(0, 3, (6, 120)))
    exact = discotec(count_agreements(ensemble), variant="kl")
    draws = [
        discotec(estimate_agreements(ensemble, 40, seed), variant="kl")
        for seed in range(300)
    ]
    error = np.std(draws, axis=0) / np.sqrt(len(draws))
    assert (np.abs(np.mean(draws, axis=0) - exact) < 5 * error + 1e-4).all()


@pytest.mark.parametrize("variant", ["binary", "kl", "tv", "hellinger"])
@pytest.mark.parametrize("n_compared", [2, 3, 4])
def test_the_mean_over_all_draws_of_few_samples_is_the_exact_score(variant, n_compared):
    ensemble = Ensemble([[0, 0, 1, 1, 2], [0, 0, 1, 1, 1], [0, 1, 1, 1, 2]])
    draws = [
        count_samples(ensemble, np.array(samples), RunOptions())
        for samples in combinations(range(5), n_compared)
    ]
    scores = [discotec(draw, variant) for draw in draws]
    np.testing.assert_allclose(np.mean(scores, axis=0), discotec(ensemble, variant))
    at_all = np.mean([threshold_scores(draw) for draw in draws], axis=0)
    exact = threshold_scores(count_agreements(ensemble))
    np.testing.assert_allclose(at_all, exact, atol=1e-12)


@pytest.mark.parametrize("n_compared", [1, 41, 2.5])
def test_a_wrong_number_of_compared_samples_is_refused(n_compared):
    with pytest.raises(ValueError, match="n_compared"):
        estimate_agreements(Ensemble(np.zeros((3, 40), int)), n_compared)
