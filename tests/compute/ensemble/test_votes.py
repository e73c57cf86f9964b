"""One row and blocks of the consensus matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.votes import mean_consensus, votes_together
from tests.definitions import agreement_counts, label_matrices


@settings(max_examples=40)
@given(labels=label_matrices(), data=st.data())
def test_votes_are_a_row_of_the_agreement_counts(labels, data):
    sample = data.draw(st.integers(0, labels.shape[1] - 1))
    votes = votes_together(Ensemble(labels), sample)
    np.testing.assert_array_equal(votes, agreement_counts(labels)[sample])


def test_noise_as_singletons_joins_nobody():
    labels = [[-1, -1, 0, 0], [-1, 0, 0, 0]]
    votes = votes_together(Ensemble(labels, noise="singletons"), 0)
    assert votes.tolist() == [2, 0, 0, 0]


@settings(max_examples=40)
@given(labels=label_matrices(), data=st.data())
def test_mean_consensus_is_that_of_the_pairs_inside(labels, data):
    n_samples = labels.shape[1]
    mask = np.array(
        data.draw(st.lists(st.booleans(), min_size=n_samples, max_size=n_samples))
    )
    found = mean_consensus(Ensemble(labels), mask)
    some = agreement_counts(labels)[np.ix_(mask, mask)] / len(labels)
    pairs = ~np.eye(len(some), dtype=bool)
    if len(some) < 2:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(some[pairs].mean())
    positions = np.flatnonzero(mask)[::-1]
    again = mean_consensus(Ensemble(labels), positions)
    np.testing.assert_equal(again, found)


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([0, 4], "names sample 4, but there are 4"),
        ([-1, 0], "names sample -1"),
        ([1, 1], "names a sample twice"),
        ([0.5, 1.0], "type float64"),
        ([True, False], "type bool"),
    ],
)
def test_what_names_no_set_of_samples_is_refused(samples, message):
    with pytest.raises(ValueError, match=message):
        mean_consensus(Ensemble([[0, 0, 1, 1]]), samples)


@pytest.mark.parametrize("sample", [-1, 4, 1.5])
def test_a_sample_that_is_not_there_is_refused(sample):
    with pytest.raises(ValueError, match="sample is"):
        votes_together(Ensemble([[0, 0, 1, 1]]), sample)
