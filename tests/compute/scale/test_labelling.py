"""Labels of models of landmarks for all rows, against the whole table in memory."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

import clusterlens as cl
from clusterlens.compute.scale import source as source_module
from clusterlens.compute.scale.landmark_table import is_too_large

N = 1_200
GROUPS = np.random.default_rng(5).permutation(np.repeat([0, 1, 2], N // 3))
POOL = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]


def make_table(**columns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2)) + np.array([[0, 0], [12, 0], [0, 12]])[GROUPS]
    frame = pd.DataFrame(X, columns=["wide", "high"])
    frame["kind"] = np.array(["u", "v", "w"])[GROUPS]
    frame["yes"] = rng.random(N) < 0.3
    frame["customer id"] = [f"r{i}" for i in range(N)]
    frame.loc[7, "wide"] = np.nan
    return frame.assign(**columns)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(source_module, "PIECE_ROWS", 100)
    monkeypatch.setattr(source_module, "JOB_PIECES", 2)
    return tmp_path


@pytest.fixture
def path(folder):
    make_table().to_parquet(folder / "t.parquet", row_group_size=350)
    return folder / "t.parquet"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Landmarks of the table, prepared, and models of them."""
    path = tmp_path_factory.mktemp("whole") / "t.parquet"
    make_table().to_parquet(path)
    landmarks = cl.prepare(cl.draw_landmarks(path, 300, n_jobs=1))
    return landmarks, cl.run_pool(landmarks, POOL, n_jobs=1)


def label(path, models, out="out", pool=None, **options):
    landmarks, ensemble = models
    labels = ensemble.labels[1] + 5  # the labels of files need not be those of a model
    out = path.parent / out
    return cl.label_rows(
        path, out, landmarks, ensemble, labels, pool, n_jobs=1, **options
    )


def labels_of(run):
    return pd.concat(map(pd.read_parquet, run.files), ignore_index=True)


def test_landmarks_are_rows_of_the_table(path):
    table, drawn = make_table(), cl.draw_landmarks(path, 300, n_jobs=1)
    rows = drawn.table["row"].to_numpy()
    assert (np.diff(rows) > 0).all()
    assert len(rows) == 300
    assert drawn.table.index.tolist() == rows.tolist()
    own = drawn.table.drop(columns="row").reset_index(drop=True)
    taken = table.iloc[rows].reset_index(drop=True)
    assert own.astype(str).equals(taken[own.columns].astype(str))
    assert "300 landmarks stand for 1\u202f200 rows" in drawn.notes[0]
    other = cl.draw_landmarks(path, 300, random_state=1, n_jobs=1)
    assert other.table["row"].tolist() != rows.tolist()


def test_a_column_called_row_stays(folder):
    path = folder / "t.parquet"
    make_table(row="a").to_parquet(path)
    assert cl.draw_landmarks(path, 100).table.columns[0] == "row (2)"


def test_every_row_has_the_labels_of_its_group_and_landmarks_keep_theirs(path, models):
    landmarks, ensemble = models
    run = label(path, models)
    found = labels_of(run)
    assert found["row"].tolist() == list(range(N))
    assert found["customer id"].tolist() == make_table()["customer id"].tolist()
    assert adjusted_rand_score(GROUPS, found["consensus"]) == 1
    rows = landmarks.table["row"]
    assert sorted(run.clusters["cluster"]) == [5, 6, 7]
    for name, labels in zip(ensemble.names, ensemble.labels, strict=True):
        assert (found.loc[rows, name].to_numpy() == labels).mean() > 0.97
    xy = cl.project(landmarks).transform(landmarks.X)
    np.testing.assert_allclose(found.loc[rows, ["x", "y"]], xy, atol=1e-5)
    np.testing.assert_allclose(run.extent[0], found[["x", "y"]].min())
    np.testing.assert_allclose(run.extent[1], found[["x", "y"]].max())
    placed = list(run.places())
    assert np.concatenate([labels for _, labels, _ in placed]).tolist() == (
        found["consensus"].tolist()
    )


def test_sizes_and_profiles_of_all_rows_are_those_of_the_table_in_memory(path, models):
    run = label(path, models)
    found = labels_of(run)
    far = found["nowhere"].to_numpy()
    assert run.n_nowhere == far.sum()
    whole = cl.prepare(make_table())
    labels = np.where(far, 9, found["consensus"])
    expected = cl.cluster_profiles(whole, labels).table.query("cluster != 9")
    expected = expected.reset_index(drop=True)
    pd.testing.assert_frame_equal(run.profiles.table, expected, check_dtype=False)
    sizes = dict(zip(*np.unique(labels[~far], return_counts=True), strict=True))
    assert dict(run.clusters.itertuples(index=False)) == sizes


@pytest.mark.parametrize("noise", ["cluster", "singletons", "silent"])
def test_noise_on_all_rows_means_what_it_means_in_the_run(path, models, noise):
    landmarks, ensemble = models
    labels = ensemble.labels.astype(int)
    labels[labels == 1] = -1
    told = cl.Ensemble(labels, ensemble.names, noise=noise)
    out = path.parent / noise
    run = cl.label_rows(path, out, landmarks, told, labels[1] + 5, n_jobs=1)
    table = labels_of(run)
    found = cl.Ensemble(table[list(told.names)].to_numpy().T, told.names)
    assert (found.labels == -1).any()
    other = {"cluster": "singletons"}.get(noise, "cluster")
    obeyed = "singletons" if noise == "singletons" else "cluster"
    shown = run.models.set_index("model")
    for means in {obeyed, other}:
        whole = cl.rank_partitions(found.replace(noise=means))
        score = pd.Series(whole.values, told.names)[shown.index]
        is_within = score.between(shown["score_low"] - 1e-9, shown["score_high"] + 1e-9)
        assert is_within.all() == (means == obeyed)
    said = "count noise as one cluster" in " ".join(run.notes)
    assert said == (noise == "silent")


def test_the_error_is_that_of_the_same_partition_on_rows_that_are_no_landmarks(folder):
    path = folder / "t.parquet"
    pd.concat([make_table()] * 2).to_parquet(path)
    landmarks = cl.prepare(cl.draw_landmarks(path, 300, n_jobs=1))
    models = landmarks, cl.run_pool(landmarks, POOL, n_jobs=1)
    run = label(path, models, pool=POOL)
    assert run.models["ari"].notna().all()
    three = run.models.set_index("model").loc["k-means k=3", ["ari", "ari_least"]]
    assert run.consensus_error == tuple(three) == (1, 1)
    table = pd.read_parquet(path.parent / "out/landmarks.parquet")
    assert (table["held back"]).sum() == 2 * N - 300
    own = table.loc[~table["held back"], ["row", "weight"]]
    assert own["row"].tolist() == models[0].table["row"].tolist()
    assert own["weight"].sum() == pytest.approx(2 * N)
    assert np.isnan(label(path, models, "without").consensus_error).all()


def test_cancelled_labels_go_on_and_end_as_those_that_were_not(path, models):
    label(path, models)
    stop = []

    def progress(done, total):
        if done > 700:
            stop.append(True)

    with pytest.raises(cl.Cancelled):
        label(path, models, "again", progress=progress, cancel=lambda: bool(stop))
    again = path.parent / "again"
    before = {f: f.stat().st_mtime_ns for f in again.rglob("part-*")}
    assert before
    assert not (again / "manifest.json").exists()
    label(path, models, "again")
    assert {f: f.stat().st_mtime_ns for f in before} == before
    files = [f.relative_to(again) for f in again.rglob("*") if f.is_file()]
    for file in files:
        assert (again / file).read_bytes() == (path.parent / "out" / file).read_bytes()


def test_words_that_no_landmark_has_are_missing_and_noted(folder, models):
    table = make_table()
    other = [row for row in range(N) if row not in set(models[0].table["row"])][:5]
    table.loc[other, "kind"] = "<new>"
    path = folder / "t.parquet"
    table.to_parquet(path)
    run = label(path, models)
    assert any("5 cells hold values that no landmark has" in note for note in run.notes)
    assert run.n_labelled == N
    known = run.profiles.table.query("column == 'kind'")
    assert known["n_missing"].sum() <= 5


def test_other_tables_and_columns_are_refused_by_name(folder, path, models):
    _, ensemble = models
    make_table().drop(columns="high").to_parquet(folder / "lacks.parquet")
    with pytest.raises(cl.DataError, match="Column 'high' of the landmarks is not in"):
        label(folder / "lacks.parquet", models)
    make_table()[:400].to_parquet(folder / "short.parquet")
    with pytest.raises(cl.DataError, match="is beyond the 400 rows"):
        label(folder / "short.parquet", models)
    with pytest.raises(cl.DataError, match="first column"):
        label(path, (cl.prepare(make_table()[:300]), ensemble))
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N), "D")
    make_table(day=days).to_parquet(folder / "days.parquet")
    drawn = cl.draw_landmarks(folder / "days.parquet", 300)
    dated = cl.prepare(drawn, roles={"day": "numeric"})
    with pytest.raises(cl.DataError, match="'day' has dates"):
        label(folder / "days.parquet", (dated, ensemble))
    assert not (folder / "out/labels").exists()


def test_folders_and_large_parquet_files_are_too_large(folder, path, monkeypatch):
    assert is_too_large(folder)
    assert not is_too_large(path)
    (folder / "a.csv").write_text("x\n1\n")
    assert not is_too_large(folder / "a.csv")
    module = "clusterlens.compute.scale.landmark_table"
    monkeypatch.setattr(f"{module}.MOST_CELLS", 5 * N)
    assert not is_too_large(path)
    monkeypatch.setattr(f"{module}.MOST_CELLS", 5 * N - 1)
    assert is_too_large(path)
