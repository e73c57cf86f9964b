"""Landmarks of a complete run, read from its table again."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

import clusterlens as cl
from clusterlens.compute.scale import landmark_table
from clusterlens.compute.scale import source as source_module

N = 900
GROUPS = np.random.default_rng(5).permutation(np.repeat([0, 1, 2], N // 3))
POOL = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]


def make_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2)) + np.array([[0, 0], [12, 0], [0, 12]])[GROUPS]
    table = pd.DataFrame(X, columns=["wide", "high"])
    table["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N), "h")
    table.loc[[7, 400], ["wide", "high"]] = np.nan
    return table


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(source_module, "PIECE_ROWS", 100)
    (tmp_path / "in").mkdir()
    table = make_table()
    table[:500].to_parquet(tmp_path / "in/a.parquet", row_group_size=350)
    table[500:].to_parquet(tmp_path / "in/b.parquet")
    return tmp_path


def run(folder, **changed):
    settings = {"n_landmarks": 200, "n_held_back": 0, "n_jobs": 1} | changed
    return cl.run_at_scale(folder / "in", folder / "out", POOL, **settings)


@pytest.mark.parametrize("rare", [0.0, 0.4])
def test_landmarks_are_the_rows_that_the_models_saw(folder, rare):
    run(folder, rare_share=rare)
    landmarks = cl.read_landmarks(folder / "out", folder / "in", n_jobs=1)
    models = cl.load_ensemble(folder / "out/models.parquet")
    rows = landmarks.table["row"].to_numpy()
    assert len(rows) == models.n_samples
    assert {7, 400}.isdisjoint(rows)
    taken = make_table().iloc[rows].reset_index(drop=True)
    own = landmarks.table.drop(columns="row").reset_index(drop=True)
    assert own.astype(str).equals(taken.astype(str))
    three = models.labels[models.names.index("k-means k=3")]
    assert adjusted_rand_score(three, GROUPS[rows]) == 1


def test_rows_of_a_skipped_file_are_not_counted(folder):
    (folder / "in/a.parquet").rename(folder / "in/c.parquet")
    (folder / "in/a.parquet").write_bytes(b"PAR1 no PAR1")
    run(folder, unreadable="skip")
    landmarks = cl.read_landmarks(folder / "out", folder / "in", n_jobs=1)
    table = make_table()
    whole = pd.concat([table[500:], table[:500]])["wide"].to_numpy()
    rows = landmarks.table["row"].to_numpy()
    assert np.array_equal(landmarks.table["wide"], whole[rows])


def test_another_table_and_an_unfinished_run_are_refused(folder):
    run(folder)
    (folder / "other").mkdir()
    make_table().to_parquet(folder / "other/a.parquet")
    with pytest.raises(cl.DataError, match="is not the table of the run"):
        cl.read_landmarks(folder / "out", folder / "other")
    make_table().to_parquet(folder / "in/c.parquet")
    with pytest.raises(cl.DataError, match="or has changed since"):
        cl.read_landmarks(folder / "out", folder / "in")
    (folder / "out/manifest.json").unlink()
    with pytest.raises(cl.DataError, match="holds no complete run"):
        cl.read_landmarks(folder / "out", folder / "in")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("landmarks.parquet", b"PAR1 no PAR1"),
        ("run.json", b"[1]"),
        ("run.json", b'{"unreadable": "maybe"}'),
        ("prepared.json", b"{"),
    ],
)
def test_a_damaged_file_of_a_run_is_named(folder, name, content):
    run(folder)
    (folder / "out" / name).write_bytes(content)
    with pytest.raises(cl.DataError, match=name.replace(".", r"\.")):
        cl.read_landmarks(folder / "out", folder / "in")


def test_landmarks_out_of_order_are_refused(folder):
    run(folder)
    path = folder / "out/landmarks.parquet"
    pd.read_parquet(path)[::-1].to_parquet(path)
    with pytest.raises(cl.DataError, match="damaged"):
        cl.read_landmarks(folder / "out", folder / "in")


def test_times_of_files_are_compared_in_full(folder):
    run(folder)
    path = folder / "out/run.json"
    stored = json.loads(path.read_text())
    stored["files"][1]["modified"] += 1
    path.write_text(json.dumps(stored))
    with pytest.raises(cl.DataError, match="is not the table of the run"):
        cl.read_landmarks(folder / "out", folder / "in")


def test_landmarks_beyond_memory_are_refused_before_they_are_read(folder, monkeypatch):
    run(folder)
    monkeypatch.setattr(landmark_table, "MOST_CELLS", 500)
    words = "200 landmarks of 4 columns are too many for memory; draw at most 125"
    with pytest.raises(cl.DataError, match=words):
        cl.draw_landmarks(folder / "in", 200)
    with pytest.raises(cl.DataError, match=words):
        cl.read_landmarks(folder / "out", folder / "in")
