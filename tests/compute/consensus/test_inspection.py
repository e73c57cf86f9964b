"""The report of one sample agrees with the full matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute.consensus.cohesion import cluster_consensus
from clusterlens.compute.consensus.inspection import inspect_sample
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.overlaps import sample_disagreement
from tests.definitions import agreement_counts, label_matrices


@settings(max_examples=40)
@given(labels=label_matrices(), data=st.data())
def test_a_report_agrees_with_the_matrices(labels, data):
    ensemble = Ensemble(labels)
    sample = data.draw(st.integers(0, labels.shape[1] - 1))
    every = sample_disagreement(ensemble)
    report = inspect_sample(
        ensemble, sample, labels[0], disagreement=every, n_nearest=5
    )
    assert report.disagreement == pytest.approx(every[sample])
    assert report.percentile == np.mean(every < every[sample])
    evaluated = cluster_consensus(ensemble, labels[0])
    np.testing.assert_array_equal(report.clusters, evaluated.clusters)
    np.testing.assert_allclose(report.consensus, evaluated.items[sample], atol=1e-12)
    votes = agreement_counts(labels)[sample]
    others = [i for i in range(len(votes)) if i != sample]
    nearest = sorted(others, key=lambda i: (-votes[i], i))[:5]
    assert report.nearest.tolist() == nearest
    for threshold in range(len(labels) + 2):
        assert report.n_together(threshold) == sum(votes[others] >= threshold)


def test_without_a_partition_or_other_samples_nothing_is_said_of_them():
    report = inspect_sample(Ensemble([[0, 0, 1], [0, 1, 1]]), 1, n_nearest=0)
    assert report.clusters.size == report.consensus.size == report.nearest.size == 0
    assert np.isnan(report.percentile)
    assert "sample 1, disagreement" in repr(report)


def test_the_table_has_the_closest_cluster_first():
    ensemble = Ensemble([[0, 0, 1, 1], [0, 0, 0, 1], [2, 1, 1, 0]])
    frame = inspect_sample(ensemble, 1, [7, 7, 3, 3]).to_frame()
    assert frame.index.tolist() == [7, 3]
    assert frame["consensus"].is_monotonic_decreasing


def test_a_disagreement_of_other_samples_is_refused():
    with pytest.raises(ValueError, match=r"disagreement has shape \(2,\)"):
        inspect_sample(Ensemble([[0, 0, 1]]), 0, disagreement=[0.1, 0.2])
