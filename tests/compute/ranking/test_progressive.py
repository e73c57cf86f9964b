import numpy as np
import pytest
from hypothesis import given, settings

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.ensemble.agreement import count_agreements
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.progressive import rank_progressively
from clusterlens.compute.ranking.ranking import rank_partitions
from clusterlens.compute.ranking.scores import discotec
from tests.definitions import agreement_counts, label_matrices

ONE_LOOK = {"first_size": 500, "max_comparisons": 1}


def planted(n_samples, keep, seed=0, n_clusters=5):
    """Partitions that keep a known share of a planted one."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_clusters, n_samples)
    keep = np.asarray(keep)[:, None]
    noise = rng.integers(0, n_clusters, (len(keep), n_samples))
    follows = rng.random(noise.shape) < keep
    return np.where(follows, truth, noise)


LABELS = planted(4_000, np.linspace(0.2, 0.9, 8))
ENSEMBLE = Ensemble(LABELS)


def test_the_sample_doubles_until_the_budget_is_spent():
    budget = 2_000 * 1_999 // 2 * 8
    close = Ensemble(planted(10_000, np.full(8, 0.5), n_clusters=20))
    options = {"first_size": 500, "max_comparisons": budget}
    looks = list(rank_progressively(close, **options))
    assert [look.n_compared for look in looks] == [500, 1_000, 2_000]
    assert not any(look.exact or look.settled for look in looks)
    widths = [look.half_widths.mean() for look in looks]
    assert widths == sorted(widths, reverse=True)


def test_a_look_counts_the_pairs_of_its_samples():
    look = next(rank_progressively(ENSEMBLE, random_state=3, **ONE_LOOK))
    drawn = np.random.default_rng(3).permutation(4_000)[:500]
    counts = agreement_counts(LABELS[:, drawn])
    binarised = counts >= count_agreements(ENSEMBLE).threshold
    for labels, value in zip(LABELS[:, drawn], look.ranking.values, strict=True):
        broken = np.count_nonzero((labels[:, None] == labels) != binarised)
        expected = broken / (500 * 499) * (3_999 / 4_000)
        assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("variant", ["binary", "kl", "tv", "hellinger"])
@pytest.mark.parametrize("keep", [np.linspace(0.2, 0.9, 6), np.zeros(6)])
def test_intervals_hold_the_exact_scores_as_often_as_they_say(variant, keep):
    # Nominal 95 % for all models together, 200 draws: 1.5 % standard error.
    labels = planted(2_000, keep)
    ensemble = Ensemble(labels)
    exact = discotec(count_agreements(ensemble), variant)
    held, joint = [], []
    for seed in range(200):
        look = next(
            rank_progressively(
                ensemble, f"discotec-{variant}", random_state=seed, **ONE_LOOK
            )
        )
        low, high = look.intervals.T
        held.append(((low <= exact) & (exact <= high)).all())
        error = np.diff(exact[look.ranking.order]) - look.differences
        joint.append((np.abs(error) <= look.difference_half_widths).all())
    assert np.mean(held) >= 0.935
    assert np.mean(joint) >= 0.935


def test_intervals_of_a_schedule_allow_for_all_its_looks():
    first = next(rank_progressively(ENSEMBLE, **ONE_LOOK))
    options = {"first_size": 500, "max_comparisons": 10**8}
    of_three = next(rank_progressively(ENSEMBLE, **options))
    np.testing.assert_array_equal(first.standard_errors, of_three.standard_errors)
    assert (of_three.half_widths > first.half_widths).all()
    assert (of_three.difference_half_widths > first.difference_half_widths).all()


def test_a_larger_budget_goes_on_with_the_same_samples():
    small = rank_progressively(ENSEMBLE, first_size=500, max_comparisons=10**6)
    large = rank_progressively(ENSEMBLE, first_size=500, max_comparisons=10**8)
    np.testing.assert_array_equal(
        next(small).ranking.values, next(large).ranking.values
    )


def test_the_looks_stop_when_the_order_is_settled():
    keep = [0.2, 0.5, 0.7, 0.85, 0.95]
    far_apart = Ensemble(planted(20_000, keep, seed=1))
    *_, last = rank_progressively(far_apart, first_size=1_000)
    assert last.settled
    assert not last.exact
    assert last.n_compared == 1_000
    exact = rank_partitions(far_apart)
    assert last.ranking.order.tolist() == exact.order.tolist()


def test_exact_looks_end_with_the_exact_ranking():
    *_, last = rank_progressively(ENSEMBLE, exact=True, **ONE_LOOK)
    exact = rank_partitions(ENSEMBLE)
    np.testing.assert_array_equal(last.ranking.values, exact.values)
    assert last.exact
    assert last.settled
    assert last.n_compared == 4_000
    assert not last.half_widths.any()
    assert not last.difference_half_widths.any()


def test_a_budget_for_all_samples_ends_exactly():
    close = Ensemble(planted(4_000, np.full(5, 0.5), n_clusters=20))
    *looks, last = rank_progressively(close)
    assert [look.n_compared for look in looks] == [2_048]
    assert last.exact


@settings(max_examples=20)
@given(labels=label_matrices())
def test_few_samples_are_ranked_exactly_at_once(labels):
    ensemble = Ensemble(labels)
    (only,) = rank_progressively(ensemble)
    assert only.exact
    exact = rank_partitions(ensemble)
    np.testing.assert_array_equal(only.ranking.values, exact.values)


def test_copies_share_rank_and_do_not_keep_the_order_open():
    labels = planted(20_000, [0.2, 0.5, 0.7, 0.85, 0.95], seed=2)
    copied = Ensemble(labels[[0, 1, 1, 2, 3, 4]])
    *_, last = rank_progressively(copied, first_size=1_000)
    assert last.settled
    assert not last.exact
    ranks = last.ranking.ranks
    assert ranks.tolist() == rank_partitions(copied).ranks.tolist()
    assert ranks[1] == ranks[2]
    at = last.ranking.order.tolist().index(1)
    assert last.differences[at] == last.difference_half_widths[at] == 0


def test_different_models_that_look_alike_are_not_called_settled():
    labels = planted(20_000, [0.1, 0.5, 0.95], seed=3, n_clusters=60)
    drawn = np.random.default_rng(0).permutation(20_000)[:500]
    alike = labels[1].copy()
    alike[np.setdiff1d(np.arange(20_000), drawn)[0]] = 99
    options = {**ONE_LOOK, "random_state": 0}
    look = next(rank_progressively(Ensemble([*labels, alike]), **options))
    assert not look.settled


def test_pools_of_one_partition_repeated_are_settled():
    look = next(rank_progressively(Ensemble([LABELS[0]] * 3), **ONE_LOOK))
    assert look.settled
    assert look.ranking.ranks.tolist() == [1, 1, 1]


def test_identical_samples_do_not_count_against_the_budget():
    many = Ensemble(np.tile(LABELS[:, :1_500], 20))
    budget = 1_500 * 1_499 // 2 * 8
    (only,) = rank_progressively(many, first_size=1_500, max_comparisons=budget)
    assert only.exact


def test_results_depend_on_the_seed_and_not_on_the_threads():
    runs = [
        next(rank_progressively(ENSEMBLE, random_state=s, n_jobs=jobs, **ONE_LOOK))
        for s, jobs in ((0, 1), (0, 2), (1, 2))
    ]
    one, two, other = (run.intervals for run in runs)
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


def test_constraints_are_charged_exactly():
    pairs = Constraints(must_link=[(0, 1), (5, 9)], cannot_link=[(2, 3)])
    plain = next(rank_progressively(ENSEMBLE, **ONE_LOOK))
    charged = next(
        rank_progressively(
            ENSEMBLE, constraints=pairs, constraint_weight=0.5, **ONE_LOOK
        )
    )
    violated = pairs.violations(ENSEMBLE)
    np.testing.assert_allclose(
        charged.ranking.values, plain.ranking.values + violated / 2
    )
    np.testing.assert_array_equal(charged.ranking.violated, violated)
    np.testing.assert_array_equal(charged.standard_errors, plain.standard_errors)


def test_a_threshold_is_used_as_given():
    every = next(rank_progressively(ENSEMBLE, threshold=9, **ONE_LOOK))
    sizes = (ENSEMBLE.codes[:, :, None] == np.arange(5)).sum(axis=1)
    joined = (sizes.astype(float) ** 2).sum(axis=1)
    expected = (joined - 4_000) / 4_000**2  # a pair (i, i) costs nothing here
    error = np.abs(every.ranking.values - expected)
    assert (error <= 4 * every.standard_errors).all()


def test_the_table_has_one_row_per_model_best_first():
    look = next(rank_progressively(ENSEMBLE, **ONE_LOOK))
    frame = look.to_frame()
    assert frame.index.tolist() == look.ranking.order.tolist()
    assert (frame["low"] <= frame["score"]).all()
    assert (frame["rank_low"] <= frame["rank"]).all()
    assert (frame["rank"] <= frame["rank_high"]).all()
    np.testing.assert_allclose(
        frame["to_next"].iloc[:-1], np.diff(frame["score"]), atol=1e-15
    )
    assert frame["to_next"].isna().tolist() == [False] * 7 + [True]
    with pytest.raises(ValueError, match="read-only"):
        look.half_widths[0] = 1


def test_a_cancelled_ranking_stops():
    with pytest.raises(Cancelled):
        next(rank_progressively(ENSEMBLE, cancel=lambda: True, **ONE_LOOK))


def test_progress_counts_the_pairs_of_a_look():
    seen = []
    looks = rank_progressively(
        ENSEMBLE, progress=lambda done, total: seen.append((done, total)), **ONE_LOOK
    )
    next(looks)
    assert seen[-1] == (500 * 499 // 2,) * 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "aari"}, "score is 'aari'"),
        ({"threshold": 10}, "threshold is 10"),
        ({"score": "discotec-kl", "threshold": 3}, "has none"),
        ({"confidence": 1.0}, "confidence is 1.0"),
        ({"first_size": 10}, "first_size is 10"),
        ({"constraint_weight": -1.0}, "constraint_weight is -1.0"),
    ],
)
def test_arguments_out_of_range_are_refused_at_once(options, message):
    with pytest.raises(ValueError, match=message):
        rank_progressively(ENSEMBLE, **options)


def test_one_partition_is_refused():
    with pytest.raises(ValueError, match="has 1 partition"):
        rank_progressively(Ensemble(LABELS[:1]))


def test_rows_drawn_from_a_larger_table_rank_its_models():
    """Over 60 draws of 600 of 6,000 rows, at least 51 hold the scores of all rows."""
    labels = planted(6_000, [0.3, 0.6, 0.9], seed=6)
    whole = count_agreements(Ensemble(labels))
    exact, covered = discotec(whole), 0
    for seed in range(60):
        rows = np.random.default_rng(seed).choice(6_000, 600, replace=False)
        *_, look = rank_progressively(
            Ensemble(labels[:, rows]),
            threshold=whole.threshold,
            first_size=600,
            n_population=6_000,
        )
        assert not look.exact
        low, high = look.intervals.T
        covered += bool(((low <= exact) & (exact <= high)).all())
    assert covered >= 51


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_population": 4_000, "threshold": 3}, "n_population"),
        ({"n_population": 9_000}, "threshold is None"),
        ({"n_population": 9_000, "threshold": 3, "exact": True}, "exact is True"),
    ],
)
def test_a_larger_table_needs_more_rows_and_a_threshold(options, message):
    with pytest.raises(ValueError, match=message):
        rank_progressively(ENSEMBLE, **options)
