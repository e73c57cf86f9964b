import numpy as np
import pytest
from sklearn.datasets import make_blobs

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.indices.class_match import label_match
from clusterlens.compute.indices.evidence import (
    label_evidence,
    merge_classes,
    merge_gains,
)
from clusterlens.compute.indices.indices import internal_index


def blobs(seed=0):
    X, labels = make_blobs(60, 2, centers=3, random_state=seed)
    return X, np.array(["a", "b", "c"])[labels]


def rings():
    angle = np.linspace(0, 2 * np.pi, 80, endpoint=False)
    circle = np.c_[np.cos(angle), np.sin(angle)]
    return np.r_[circle, 4 * circle], np.repeat([0, 1], 80)


def test_evidence_holds_both_scores_of_the_whole_and_of_each_pair():
    X, labels = blobs()
    seen = []
    evidence = label_evidence(
        X, labels, n_shuffles=2, progress=lambda *step: seen.append(step)
    )
    assert evidence.check.score == label_match(X, labels).score
    assert evidence.dbcv == internal_index("DBCV", X, labels)
    for row in evidence.pairs.itertuples():
        both = np.isin(labels, [row.class_a, row.class_b])
        assert row.dbcv == internal_index("DBCV", X[both], labels[both])
    assert seen == [(done, 6) for done in range(1, 7)]
    with pytest.raises(Cancelled):
        label_evidence(X, labels, cancel=lambda: True)


def test_rings_are_dense_groups_but_not_each_around_a_centre():
    evidence = label_evidence(*rings(), n_shuffles=1, n_permutations=100)
    assert evidence.check.score < 0.1
    assert evidence.dbcv > 0.5


def test_shuffled_labels_score_about_zero_and_keep_the_sizes():
    X, labels = blobs()
    shuffled = label_evidence(X, labels, n_shuffles=6, n_permutations=100).shuffled
    assert shuffled.shape == (6, 2)
    assert abs(shuffled["score"].mean()) < 0.2
    assert (shuffled["dbcv"] < -0.3).all()


def test_samples_without_a_class_are_left_out():
    X, labels = blobs()
    kept = np.arange(60) % 7 > 0
    gappy = np.where(kept, labels, None)
    evidence = label_evidence(X, gappy, n_shuffles=1)
    assert evidence.check.n_left_out == 9
    assert evidence.dbcv == internal_index("DBCV", X[kept], labels[kept])
    table, whole = merge_gains(X, gappy), merge_gains(X[kept], labels[kept])
    assert table.equals(whole)


def test_merging_is_judged_as_relabelled_classes_are():
    X, labels = blobs()
    table = merge_gains(X, labels, n_pairs=2)
    assert len(table) == 2
    assert table["score"].is_monotonic_increasing
    before = label_match(X, labels).score
    for row in table.itertuples():
        relabelled = np.where(labels == row.class_b, row.class_a, labels)
        assert row.merged == label_match(X, relabelled).score
        assert row.change == pytest.approx(row.merged - before)


def test_merged_classes_bear_the_first_name():
    assert merge_classes([1, 2, 3, 2], [3, 2]).tolist() == [1, 3, 3, 3]
    assert merge_classes(["a", None, "b"], ["a", "b"]).tolist() == ["a", None, "a"]
    with pytest.raises(ValueError, match=r"classes is \['a', 'z'\]"):
        merge_classes(["a", "b"], ["a", "z"])
    with pytest.raises(ValueError, match=r"classes is \[1\]"):
        merge_classes([1, 2], [1])
    with pytest.raises(ValueError, match=r"classes is \[1, 1\]; give two or more diff"):
        merge_classes([1, 2], [1, 1])
    with pytest.raises(ValueError, match="labels has two classes"):
        merge_gains([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
