"""An ensemble comes back from its file as it was."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from clusterlens import DataError, Ensemble, load_ensemble


def soft(n, k):
    rows = np.random.default_rng(k).random((n, k))
    return rows / rows.sum(axis=1, keepdims=True)


def test_everything_comes_back(tmp_path):
    saved = Ensemble(
        [[0, 0, 1, -1], [5, 6, 7, 300], [2, 2, 2, 3]],
        ["a", "b µ", "a"],
        ["k-means", "x", "y"],
        "singletons",
        specs=[{"clusterer": "k-means", "n_clusters": np.int64(2)}, {}, {"p": [1.5]}],
        seconds=[0.5, np.nan, 2.0],
        notes=["one failed"],
        memberships={1: soft(4, 3), 2: soft(4, 12)},
    )
    saved.save(tmp_path / "e.parquet")
    found = load_ensemble(tmp_path / "e.parquet")
    assert found.labels.dtype == saved.labels.dtype
    np.testing.assert_array_equal(found.labels, saved.labels)
    np.testing.assert_array_equal(found.codes, saved.codes)
    for name in ("names", "families", "noise", "notes", "specs"):
        assert getattr(found, name) == getattr(saved, name)
    np.testing.assert_array_equal(found.seconds, saved.seconds)
    assert found.memberships.keys() == saved.memberships.keys()
    for t, rows in saved.memberships.items():
        np.testing.assert_array_equal(found.memberships[t], rows)
    assert [path.name for path in tmp_path.iterdir()] == ["e.parquet"]


@given(
    labels=arrays(
        np.int64,
        st.tuples(st.integers(1, 5), st.integers(1, 8)),
        elements=st.integers().filter(lambda k: -(2**62) < k < 2**62),
    )
)
def test_any_labels_come_back(tmp_path_factory, labels):
    path = tmp_path_factory.mktemp("e") / "e"
    saved = Ensemble(labels, names=[f"m{t}" for t in range(len(labels))])
    saved.save(path)
    np.testing.assert_array_equal(load_ensemble(path).labels, saved.labels)


def test_what_is_no_ensemble_is_refused_with_the_way_out(tmp_path):
    pd.DataFrame({"a": [1, 2]}).to_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.txt").write_text("a,b")
    for name in ("t.parquet", "t.txt", "missing"):
        with pytest.raises(DataError, match="load_partitions"):
            load_ensemble(tmp_path / name)


def test_a_later_format_is_refused(tmp_path):
    Ensemble([[0, 1]]).save(tmp_path / "e")
    table = pq.read_table(tmp_path / "e")
    key = b"clusterlens.ensemble"
    about = json.loads(table.schema.metadata[key]) | {"format": 99}
    pq.write_table(
        table.replace_schema_metadata({key: json.dumps(about)}), tmp_path / "e"
    )
    with pytest.raises(DataError, match="later format"):
        load_ensemble(tmp_path / "e")
