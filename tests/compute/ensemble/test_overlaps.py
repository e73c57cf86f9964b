import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.ensemble.contingency import contingency_table
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.overlaps import (
    partition_overlaps,
    sample_disagreement,
)
from tests.definitions import agreement_counts, label_matrices


@settings(max_examples=60)
@given(labels=label_matrices(min_partitions=2))
def test_sums_over_tables_and_indices_follow_the_definitions(labels):
    ensemble = Ensemble(labels)
    overlaps = partition_overlaps(ensemble)
    for s, a in enumerate(ensemble.codes):
        for t, b in enumerate(ensemble.codes):
            cells = contingency_table(a, b).data
            assert overlaps.squares[s, t] == (cells**2).sum()
            assert overlaps.logs[s, t] == pytest.approx((cells * np.log(cells)).sum())
            assert overlaps.adjusted_rand[s, t] == pytest.approx(
                adjusted_rand_score(a, b), abs=1e-12
            )
            assert overlaps.normalized_information[s, t] == pytest.approx(
                normalized_mutual_info_score(a, b), abs=1e-12
            )


def test_trivial_partitions_follow_the_conventions():
    ensemble = Ensemble([[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 2, 3], [0, 0, 1, 1]])
    overlaps = partition_overlaps(ensemble)
    assert overlaps.adjusted_rand[:3, :3].tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert overlaps.normalized_information[0].tolist() == [1, 1, 0, 0]


@settings(max_examples=60)
@given(labels=label_matrices(min_partitions=1))
def test_disagreement_follows_the_definition(labels):
    consensus = agreement_counts(labels) / len(labels)
    expected = 4 * (consensus * (1 - consensus)).mean(axis=1)
    measured = sample_disagreement(Ensemble(labels))
    np.testing.assert_allclose(measured, expected, atol=1e-12)


def test_disagreement_is_zero_for_copies_and_one_for_an_even_split():
    copies = np.tile(np.arange(6) % 3, (5, 1))
    assert sample_disagreement(Ensemble(copies)).tolist() == [0.0] * 6
    split = Ensemble([np.zeros(1000, int), np.arange(1000)])
    np.testing.assert_allclose(sample_disagreement(split), 1, atol=1.1e-3)


def test_many_clusters_and_copies_of_models_count():
    rng = np.random.default_rng(0)
    labels = np.stack([np.arange(400), rng.integers(0, 300, 400), np.zeros(400, int)])
    labels = labels[[0, 1, 1, 2, 2, 2]]
    consensus = agreement_counts(labels) / 6
    expected = 4 * (consensus * (1 - consensus)).mean(axis=1)
    np.testing.assert_allclose(
        sample_disagreement(Ensemble(labels)), expected, atol=1e-12
    )


def test_second_call_is_answered_from_the_first():
    ensemble = Ensemble(np.random.default_rng(0).integers(0, 4, (5, 30)))
    assert partition_overlaps(ensemble) is partition_overlaps(ensemble)


@pytest.mark.parametrize("function", [partition_overlaps, sample_disagreement])
def test_cancel_stops_and_progress_reaches_the_total(function):
    labels = np.random.default_rng(0).integers(0, 4, (6, 50))
    with pytest.raises(Cancelled):
        function(Ensemble(labels), cancel=lambda: True)
    seen = []
    function(Ensemble(labels), progress=lambda *step: seen.append(step), n_jobs=1)
    assert seen[-1] == (21 * 50, 21 * 50)
