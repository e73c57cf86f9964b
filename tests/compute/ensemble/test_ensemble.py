"""The label matrix: its sources, and the meaning of noise."""

import warnings
from dataclasses import fields

import numpy as np
import pandas as pd
import pyarrow as pa
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


def whole_ensemble():
    """An ensemble with something in every field."""
    labels = np.random.default_rng(0).integers(0, 3, (4, 6))
    return Ensemble(
        labels,
        ["a", "b", "c", "d"],
        ["x", "x", "y", "z"],
        "singletons",
        specs=[{"k": t} for t in range(4)],
        seconds=[0.1, 0.2, 0.3, np.nan],
        notes=["one failed"],
        memberships={t: np.eye(3)[labels[t]] for t in (1, 3)},
        weights=[1, 0, 2, 1.5],
        missing=np.arange(24).reshape(4, 6) % 11 == 3,
    )


def assert_same_fields(one, other, but=()):
    for field in {field.name for field in fields(Ensemble)} - {*but}:
        np.testing.assert_equal(getattr(one, field), getattr(other, field))


def test_replacing_nothing_keeps_every_field():
    ensemble = whole_ensemble()
    assert_same_fields(ensemble.replace(), ensemble)
    other = ensemble.replace(families=["w"] * 4, noise="cluster")
    assert_same_fields(other, ensemble, but=("families", "noise"))
    assert (set(other.families), other.noise) == ({"w"}, "cluster")
    with pytest.raises(ValueError, match="families has 1 entries for 4"):
        ensemble.replace(families=["w"])


def test_an_ensemble_is_that_of_its_parts_one_after_the_other():
    ensemble = whole_ensemble()
    assert len(ensemble) == 4
    parts = ensemble[:1], ensemble[[1, 2]], ensemble[np.arange(4) == 3]
    assert [len(part) for part in parts] == [1, 2, 1]

    # Parts have no notes.
    assert_same_fields(parts[0].concat(*parts[1:]), ensemble, but=("notes",))
    assert ensemble[2].tolist() == ensemble.labels[2].tolist()
    assert np.asarray(ensemble).shape == ()


def test_ensembles_that_do_not_fit_are_not_joined():
    ensemble = whole_ensemble()
    with pytest.raises(ValueError, match=r"of 5 samples.*same samples"):
        ensemble.concat(ensemble.take_samples(range(5)))
    with pytest.raises(ValueError, match=r"noise='cluster'.*replace\(noise"):
        ensemble.concat(ensemble.replace(noise="cluster"))
    with pytest.raises(ValueError, match="give an Ensemble"):
        ensemble.concat(ensemble.labels)


def test_an_ensemble_keeps_what_it_was_given_when_the_arrays_change():
    labels, weights, seconds = np.array([[0, 0, 1], [0, 1, 1]]), np.ones(2), np.ones(2)
    missing, soft = np.array([[False] * 3, [False, True, False]]), np.eye(2)[labels[0]]
    ensemble = Ensemble(
        labels,
        weights=weights,
        seconds=seconds,
        missing=missing,
        memberships={0: soft},
    )
    before = ensemble.replace()
    for array in (labels, weights, seconds, missing, soft):
        array[:] = 0
    assert_same_fields(ensemble, before)
    assert ensemble.missing.sum() == 1
    assert ensemble.memberships[0].sum() == 3


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


def test_texts_of_any_length_are_labels():
    texts = np.array(["a", "long", "a", "b"], dtype=np.dtypes.StringDType())
    assert Ensemble([texts]).labels.tolist() == [[0, 2, 0, 1]]


def test_tables_of_other_libraries_name_the_models():
    ensemble = Ensemble(pa.table({"m": [0, 0, 1], "n": ["a", "b", "b"]}))
    assert ensemble.names == ("m", "n")
    assert ensemble.labels.tolist() == [[0, 0, 1], [0, 1, 1]]
