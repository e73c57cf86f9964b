import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score, rand_score

from clusterlens.compute.ensemble.comparison import compare_partitions
from clusterlens.compute.ensemble.contingency import cross_tab
from clusterlens.compute.ensemble.ensemble import Ensemble

pairs_of_labels = st.integers(2, 25).flatmap(
    lambda n: st.tuples(
        *[st.lists(st.integers(0, 4), min_size=n, max_size=n) for _ in range(2)]
    )
)


@settings(max_examples=60)
@given(labels=pairs_of_labels)
def test_disagreement_counts_the_pairs_that_are_joined_once(labels):
    a, b = (np.array(row) for row in labels)
    joined = [row[:, None] == row for row in (a, b)]
    expected = (joined[0] != joined[1]).sum(axis=1) / (len(a) - 1)
    found = compare_partitions(a, b)
    assert_allclose(found.disagreement, expected)
    assert found.disagreement.mean() == pytest.approx(1 - rand_score(a, b))


@settings(max_examples=60)
@given(labels=pairs_of_labels)
def test_samples_that_did_not_change_are_the_diagonal(labels):
    found = compare_partitions(*labels)
    size = min(found.table.shape)
    assert found.n_same == np.trace(found.table.to_numpy()[:size, :size])
    assert found.table.equals(cross_tab(*labels))


def test_names_do_not_matter_and_texts_are_names():
    a = [0, 0, 1, 1, 2, 2]
    found = compare_partitions(a, ["z", "z", "x", "x", "y", "x"])
    assert_array_equal(found.changed, [False] * 5 + [True])
    assert found.ari == adjusted_rand_score(a, [2, 2, 0, 0, 1, 0])
    assert found.sentence.startswith("Same cluster for 5 of 6 samples; adjusted Rand")


def test_an_index_below_1_does_not_read_1():
    a = np.repeat([0, 1], 4000)
    b = a.copy()
    b[0] = 1
    assert (
        "adjusted Rand index 0.999, NMI 0.998, AMI 0.998."
        in compare_partitions(a, b).sentence
    )
    assert (
        "adjusted Rand index 1.00, NMI 1.00, AMI 1.00."
        in compare_partitions(a, a).sentence
    )


def test_equal_partitions_agree_everywhere():
    found = compare_partitions([3, 3, 1], ["a", "a", "b"])
    assert (found.ari, found.nmi, found.ami) == (1.0, 1.0, 1.0)
    assert not found.changed.any()
    assert not found.disagreement.any()
    assert repr(found) == "PartitionComparison(2 and 2 clusters of 3 samples, ARI 1.00)"


def test_lengths_that_disagree_are_refused():
    with pytest.raises(ValueError, match="3 entries for 2 samples"):
        compare_partitions([0, 1], [0, 1, 1])


def test_an_ensemble_is_refused_with_the_way_to_one_partition():
    with pytest.raises(ValueError, match=r"b is Ensemble.*; give one of its"):
        compare_partitions([0, 1], Ensemble([[0, 1]]))


def test_likeness_a_little_below_chance_is_written_without_a_sign():
    found = compare_partitions(*np.random.default_rng(0).integers(0, 3, (2, 300)))
    assert -0.005 < found.ari < 0
    assert "adjusted Rand index 0.00, NMI 0.00, AMI 0.00." in found.sentence
    assert "ARI 0.00)" in repr(found)
