"""Rankings from a sample: their errors, and the stated intervals."""

import numpy as np
import pytest

from clusterlens.compute.ensemble.agreement import (
    Agreement,
    count_agreements,
    estimate_agreements,
)
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.ranking import SCORES, rank_partitions
from tests.compute.ranking.test_progressive import planted

DISCOTEC = [name for name, score in SCORES.items() if score.variant]
ENSEMBLE = Ensemble(planted(2_000, np.linspace(0.2, 0.9, 8)))


@pytest.mark.parametrize("keep", [np.linspace(0.2, 0.9, 6), np.zeros(6)])
def test_intervals_and_ranges_hold_as_often_as_they_say(keep):
    # Nominal 95 % for all models together, 200 draws: 1.5 % standard error.
    ensemble = Ensemble(planted(2_000, keep))
    counted = count_agreements(ensemble)
    drawn = [estimate_agreements(ensemble, 500, seed) for seed in range(200)]
    for score in DISCOTEC:
        exact = rank_partitions(counted, score)
        rankings = [rank_partitions(agreement, score) for agreement in drawn]
        held = np.array([holds(ranking, exact) for ranking in rankings])
        assert (held.mean(axis=0) >= 0.93).all(), score


def holds(ranking, exact):
    """Whether all scores, differences and ranks lie in their intervals."""
    low, high = ranking.intervals.T
    error = ranking.values - exact.values
    width = ranking.uncertainty.difference_half_widths
    first, last = ranking.rank_ranges.T
    return (
        ((low <= exact.values) & (exact.values <= high)).all(),
        (np.abs(np.subtract.outer(error, error)) <= width + 1e-12).all(),
        ((first <= exact.ranks) & (exact.ranks <= last)).all(),
    )


def test_standard_errors_are_the_spread_of_the_estimates():
    ranked = [
        rank_partitions(estimate_agreements(ENSEMBLE, 400, seed), "discotec-kl")
        for seed in range(200)
    ]
    spread = np.std([r.values for r in ranked], axis=0)
    estimated = np.sqrt(
        np.mean([r.uncertainty.standard_errors**2 for r in ranked], axis=0)
    )
    assert (estimated / spread > 0.8).all()
    assert (estimated / spread < 1.25).all()


def test_ranges_of_ranks_are_narrower_than_the_intervals_suggest():
    ranking = rank_partitions(estimate_agreements(ENSEMBLE, 500), "discotec-tv")
    low, high = ranking.intervals.T
    surely = (high[:, None] < low).sum()
    before, behind = ranking.rank_ranges.T
    assert (8 - behind).sum() > surely
    assert (before <= ranking.ranks).all()
    assert (ranking.ranks <= behind).all()


def test_copies_do_not_widen_a_range():
    labels = ENSEMBLE.labels[[0, 3, 3, 3, 7]]
    ranking = rank_partitions(estimate_agreements(Ensemble(labels), 500))
    assert not ranking.uncertainty.difference_half_widths[1:4, 1:4].any()
    np.testing.assert_array_equal(
        ranking.rank_ranges[1:4], ranking.rank_ranges[[1, 1, 1]]
    )


def test_the_charge_for_violations_is_exact():
    links = Constraints(must_link=[(0, 1), (2, 3), (4, 5)])
    agreement = estimate_agreements(ENSEMBLE, 500)
    plain = rank_partitions(agreement, threshold=4)
    charged = rank_partitions(
        agreement, threshold=4, constraints=links, constraint_weight=0.3
    )
    np.testing.assert_allclose(
        charged.uncertainty.half_widths, plain.uncertainty.half_widths
    )
    shift = charged.intervals - plain.intervals
    np.testing.assert_allclose(shift.T, [0.3 * links.violations(ENSEMBLE)] * 2)


def test_an_estimated_ranking_says_so():
    ranking = rank_partitions(estimate_agreements(ENSEMBLE, 500))
    assert "estimated from 500 of 2,000 samples" in repr(ranking)
    assert not ranking.exact
    frame = ranking.to_frame()
    assert (frame["low"] < frame["score"]).all()
    assert (frame["score"] < frame["high"]).all()
    assert {"rank_low", "rank_high"} < set(frame.columns)


def test_an_exact_ranking_has_no_intervals():
    ranking = rank_partitions(ENSEMBLE)
    assert "estimated" not in repr(ranking)
    assert "low" not in ranking.to_frame()
    np.testing.assert_array_equal(ranking.intervals.T, [ranking.values] * 2)
    np.testing.assert_array_equal(ranking.rank_ranges.T, [ranking.ranks] * 2)


def test_linear_scores_of_estimated_agreements_are_exact():
    ranking = rank_partitions(estimate_agreements(ENSEMBLE, 500), "aari")
    assert ranking.exact
    np.testing.assert_array_equal(
        ranking.values, rank_partitions(ENSEMBLE, "aari").values
    )


def test_too_few_compared_samples_leave_every_rank_possible():
    ranking = rank_partitions(estimate_agreements(ENSEMBLE, 100))
    assert np.isnan(ranking.intervals).all()
    np.testing.assert_array_equal(ranking.rank_ranges, [[1, 8]] * 8)
    counts = count_agreements(ENSEMBLE)
    bare = Agreement(ENSEMBLE, counts.pair_counts, counts.joint_counts, exact=False)
    assert np.isnan(rank_partitions(bare).intervals).all()


@pytest.mark.parametrize("confidence", [-0.1, 0, 1, 1.5, float("nan")])
def test_a_confidence_out_of_range_is_refused(confidence):
    with pytest.raises(ValueError, match="confidence is"):
        rank_partitions(ENSEMBLE, confidence=confidence)
