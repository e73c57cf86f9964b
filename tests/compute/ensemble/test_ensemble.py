"""The label matrix: where it comes from, and what is said of noise."""

import warnings

import numpy as np
import pandas as pd
import pytest

from clusterlens.compute.ensemble.ensemble import Ensemble, distinct_partitions
from clusterlens.compute.ranking.ranking import rank_partitions

LABELS = [[-1, 0, 0, 1, -1], [0, 0, 1, 1, 1], [-1, -1, -1, -1, -1]]


@pytest.mark.parametrize("noise", ["cluster", "singletons"])
def test_noise_is_counted_apart_from_clusters(noise):
    ensemble = Ensemble(LABELS, noise=noise)
    assert ensemble.n_clusters.tolist() == [2, 2, 0]
    assert ensemble.n_noise.tolist() == [2, 0, 5]
    frame = rank_partitions(ensemble).to_frame().sort_index()
    assert frame["n_clusters"].tolist() == [2, 2, 0]
    assert frame["n_noise"].tolist() == [2, 0, 5]


def test_codes_count_noise():
    assert Ensemble(LABELS).n_codes.tolist() == [3, 2, 1]
    assert Ensemble(LABELS, noise="singletons").n_codes.tolist() == [4, 2, 5]


def test_the_columns_of_a_frame_are_partitions():
    frame = pd.DataFrame({"a": [0, 0, 1], "b": [2, 1, 1]}, index=[7, 8, 9])
    ensemble = Ensemble(frame)
    assert ensemble.labels.tolist() == [[0, 0, 1], [2, 1, 1]]
    assert ensemble.names == ("a", "b")
    assert Ensemble(frame, names=["x", "y"]).names == ("x", "y")
    twice = pd.DataFrame([[0, 1], [0, 0]], columns=["a", "a"])
    assert Ensemble(twice).labels.tolist() == [[0, 0], [1, 0]]


def test_more_partitions_than_samples_are_warned_of():
    labels = np.random.default_rng(0).integers(0, 3, (12, 30))
    with pytest.warns(UserWarning, match="30 partitions of 12 samples.*transpose"):
        Ensemble(labels.T)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Ensemble(labels.T, families=["k-means"] * 30)
        Ensemble(labels[:10, :5])


def test_a_part_of_an_ensemble_is_not_warned_of():
    labels = np.random.default_rng(0).integers(0, 3, (12, 30))
    few = Ensemble(labels, notes=["one failed"]).take_samples(range(5))
    assert (few.n_partitions, few.n_samples, few.notes) == (12, 5, ())
    assert few.select([3, 1]).labels.tolist() == labels[[3, 1], :5].tolist()
    with pytest.raises(ValueError, match="read-only"):
        few.labels[0, 0] = 1


@pytest.mark.parametrize("part", ["select", "take_samples"])
def test_a_part_with_nothing_is_refused(part):
    with pytest.raises(ValueError, match="names no"):
        getattr(Ensemble(LABELS), part)([])


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
def test_a_sample_without_a_label_is_not_taken_for_noise(gap):
    with pytest.raises(ValueError, match=r"labels\[1\] has no entry at 2; .*noise"):
        Ensemble([[0, 0, 1], [0, 1, gap]])
    with pytest.raises(ValueError, match=r"labels\[0\] has no entry at 2; .*load_part"):
        Ensemble(pd.DataFrame({"a": ["x", "y", gap]}))


def test_distinct_partitions_are_found_once():
    ensemble = Ensemble([[0, 0, 1], [5, 5, 2], [0, 1, 1]])
    first, group = distinct_partitions(ensemble)
    assert (first.tolist(), group.tolist()) == ([0, 2], [0, 0, 1])
    assert distinct_partitions(ensemble)[1] is group


@pytest.mark.parametrize(
    ("memberships", "message"),
    [
        ({0: [[0.9, 0.2], [0.5, 0.5]]}, r"memberships\[0\] has row 0 with the sum 1.1"),
        ({0: [[1.2, -0.2], [0.5, 0.5]]}, r"memberships\[0\] has row 0 .* value -0.2"),
        ({0: [[np.nan, 1.0], [0.5, 0.5]]}, r"memberships\[0\] has the value nan"),
        ({0: [["a", "b"], ["c", "d"]]}, r"memberships\[0\] has entries of type"),
        ({0: [[0.5, 0.5]]}, r"memberships\[0\] has 1 rows for 2 samples"),
        ({3: [[0.5, 0.5], [0.5, 0.5]]}, "memberships has the key 3"),
        ([[0.5, 0.5], [0.5, 0.5]], "memberships is a list; give a dict"),
    ],
)
def test_memberships_are_shares_of_every_sample(memberships, message):
    with pytest.raises(ValueError, match=message):
        Ensemble([[0, 1]], memberships=memberships)


def test_memberships_of_single_precision_are_taken():
    soft = np.full((2, 3), 1 / 3, dtype=np.float32)
    rows = Ensemble([[0, 1]], memberships={np.int64(0): soft}).memberships[0]
    assert rows.dtype == np.float64
    assert not rows.flags.writeable
