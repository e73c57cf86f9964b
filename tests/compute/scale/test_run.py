"""Every row of a large table gets its labels, also after interruptions."""

import json
import signal

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import adjusted_rand_score

import clusterlens as cl
from clusterlens.compute.scale import console, stages
from clusterlens.compute.scale import source as source_module
from clusterlens.compute.scale.console import main
from clusterlens.compute.scale.folder import RunFolder
from clusterlens.compute.scale.whole import MOST_COMPARED

N = 1_200
POOL = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]
GROUPS = np.repeat([0, 1, 2], N // 3)
ORDER = np.random.default_rng(5).permutation(N)
SETTINGS = {"n_landmarks": 150, "n_held_back": 150, "n_jobs": 1}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2)) + np.array([[0, 0], [12, 0], [0, 12]])[GROUPS]
    frame = pd.DataFrame(X, columns=["x", "y"]).iloc[ORDER].reset_index(drop=True)
    frame["name"] = [f"r{i}" for i in range(N)]
    frame.loc[7, ["x", "y"]] = np.nan
    return frame


@pytest.fixture
def folder(tmp_path, table, monkeypatch):
    monkeypatch.setattr(source_module, "PIECE_ROWS", 100)
    monkeypatch.setattr(source_module, "JOB_PIECES", 2)
    (tmp_path / "in").mkdir()
    table[:700].to_parquet(tmp_path / "in/a.parquet", row_group_size=350)
    table[700:].to_parquet(tmp_path / "in/b.parquet")
    return tmp_path


def run(folder, out="out", **changed):
    settings = SETTINGS | {"row_id": "name"} | changed
    return cl.run_at_scale(folder / "in", folder / out, POOL, **settings)


def contents(folder, out):
    files = [path for path in (folder / out).rglob("*") if path.is_file()]
    return {str(path.relative_to(folder / out)): path.read_bytes() for path in files}


def labels_of(made):
    return pd.concat(map(pd.read_parquet, made.files), ignore_index=True)


def test_every_row_has_the_labels_of_its_group(folder, table):
    made = run(folder)
    found = labels_of(made)
    assert found["row"].tolist() == list(range(N))
    assert found["name"].tolist() == table["name"].tolist()
    assert found.index[found["consensus"].isna()].tolist() == [7]
    assert found.loc[7].drop(["row", "name"]).isna().all()
    known, truth = found.drop(index=7), np.delete(GROUPS[ORDER], 7)
    three = made.models.set_index("model").loc["k-means k=3", "column"]
    assert adjusted_rand_score(truth, known["consensus"]) == 1
    assert adjusted_rand_score(truth, known[three]) == 1
    assert known["margin"].between(0, 1).all()
    assert made.n_rows == N
    assert made.n_labelled == made.clusters["rows"].sum() + made.n_nowhere == N - 1
    assert made.n_nowhere == known["nowhere"].sum() < 0.1 * N
    assert pq.read_schema(made.files[0]).field(three).type == "int8"


def test_what_is_said_of_all_rows_is_what_their_labels_say(folder):
    made = run(folder)
    found = labels_of(made).dropna()
    matrix = found[made.models["column"]].to_numpy().T.astype(int)
    pairs = [[adjusted_rand_score(a, b) for b in matrix] for a in matrix]
    np.testing.assert_allclose(1 - made.distances, pairs)
    ensemble = cl.Ensemble(matrix)
    weighted = ensemble.with_weights(cl.vote_weights(ensemble, "typical"))
    ranking = cl.rank_partitions(cl.count_agreements(weighted))
    np.testing.assert_allclose(made.models["score"], ranking.values)
    assert found.shape[0] < MOST_COMPARED  # all rows were compared
    assert (made.models["score_low"] == made.models["score"]).all()


@pytest.fixture
def larger(folder):
    """The folder with 3,000 rows of three groups."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(3_000, 2)) + np.repeat([[0, 0], [12, 0], [0, 12]], 1_000, 0)
    pd.DataFrame(X, columns=["x", "y"]).to_parquet(folder / "in/more.parquet")
    for file in ("a", "b"):
        (folder / f"in/{file}.parquet").unlink()
    return folder


def test_the_error_is_measured_on_held_back_rows(larger):
    made = run(larger, row_id=None, n_held_back=1_900)
    models = made.models.set_index("model")[["ari", "ari_least"]]
    assert models.loc["k-means k=3"].tolist() == [1, 1]
    assert (models["ari_least"] <= models["ari"]).all()
    assert models.loc["k-means k=4", "ari_least"] < 1
    assert made.consensus_error == (1, 1)
    assert len(list((larger / "out").glob("held-back-*.parquet"))) == 19
    assert "no error" not in [note.kind for note in made.notes]


def test_a_model_that_samples_do_not_find_has_no_error_and_a_note(larger):
    groups_of_fifty = {"clusterer": "HDBSCAN", "min_cluster_size": [50]}
    settings = SETTINGS | {"n_landmarks": 400, "n_held_back": 1_900}
    made = cl.run_at_scale(
        larger / "in", larger / "out", [*POOL, groups_of_fifty], **settings
    )
    (note,) = [note for note in made.notes if note.kind == "no error"]
    models = made.models.set_index("model")["ari"]
    assert models.index[models.isna()].tolist() == [note.subject]
    assert note.numbers == {"samples": 19, "of": 19}


@pytest.mark.parametrize("n_held_back", [0, 150])
def test_without_enough_held_back_rows_no_error_is_stated(folder, n_held_back):
    made = run(folder, n_held_back=n_held_back)
    assert made.models[["ari", "ari_least"]].isna().all().all()
    assert np.isnan(made.consensus_error).all()
    kinds = [note.kind for note in made.notes]
    assert ("few held-back rows" in kinds) == (n_held_back > 0)


def test_a_result_of_an_older_version_has_no_error(folder):
    made, manifest = run(folder), folder / "out/manifest.json"
    plain = json.loads(manifest.read_text())
    models = plain["models"]
    models["low"] = models["high"] = models.pop("ari_least")
    plain["consensus_error"] = [0.9, 0.8, 1.0]
    manifest.write_text(json.dumps(plain))
    again = run(folder)
    pd.testing.assert_frame_equal(again.models, made.models)
    assert np.isnan(again.consensus_error).all()


@pytest.mark.parametrize("rows", [0, 150, 551, 1_200])
def test_a_cancelled_run_goes_on_and_ends_as_one_that_was_not(folder, rows):
    run(folder)
    done, stop = [], []

    def progress(part, total):
        done.append(part)
        if part >= 400 + 550 * rows / N:
            stop.append(True)

    with pytest.raises(cl.Cancelled):
        run(folder, "again", progress=progress, cancel=lambda: bool(stop))
    parts = (folder / "again/labels").glob("part-*.parquet")
    before = {path: path.stat().st_mtime_ns for path in parts}
    assert not (folder / "again/manifest.json").exists()
    run(folder, "again")
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert contents(folder, "again") == contents(folder, "out")


@pytest.mark.parametrize("file", ["run.json", "landmarks", "models", "part-000003"])
def test_a_run_that_is_killed_goes_on_and_ends_as_one_that_was_not(
    folder, monkeypatch, file
):
    """The process is gone before a draft takes the place of its file."""
    run(folder)
    kind, renamed = type(folder), type(folder).replace

    def replace(draft, target):
        if file in str(target):
            raise SystemExit
        return renamed(draft, target)

    with monkeypatch.context() as killed:
        killed.setattr(kind, "replace", replace)
        killed.setattr(kind, "unlink", lambda *_, **__: None)  # no one tidies up
        with pytest.raises(SystemExit):
            run(folder, "again")
    assert list((folder / "again").rglob("*.part"))
    run(folder, "again")
    assert contents(folder, "again") == contents(folder, "out")


def test_a_complete_run_is_returned_as_it_was(folder, monkeypatch):
    made = run(folder)
    monkeypatch.setattr(stages, "write_labels", None)
    again = run(folder)
    pd.testing.assert_frame_equal(again.models, made.models)
    pd.testing.assert_frame_equal(again.clusters, made.clusters)
    np.testing.assert_array_equal(again.distances, made.distances)
    assert again.notes == made.notes
    assert repr(again) == repr(made)


def test_a_folder_with_something_else_is_refused(folder):
    run(folder)
    with pytest.raises(cl.DataError, match="holds a run with another n_landmarks"):
        run(folder, n_landmarks=160)
    (folder / "other").mkdir()
    (folder / "other/file.txt").write_text("mine")
    with pytest.raises(cl.DataError, match="is not empty and holds no run"):
        run(folder, "other")
    with pytest.raises(cl.DataError, match="is a file"):
        run(folder, "other/file.txt")


def test_two_runs_do_not_write_to_one_folder(folder):
    """The second one is refused while the first fits, and when both are new."""
    refusals, beginning = [], "Another run writes to out .* now; wait"

    def progress(part, total):
        if part >= 400 and not refusals:
            with pytest.raises(cl.DataError, match=beginning):
                run(folder)
            refusals.append(part)

    run(folder, progress=progress)
    assert refusals
    run(folder, "alone")
    assert contents(folder, "out") == contents(folder, "alone")
    opened = RunFolder(folder / "new", {"files": []})
    other = RunFolder(folder / "new", {"files": []})
    with opened.locked(), other.locked():
        opened.begin()
        with pytest.raises(cl.DataError, match=beginning):
            other.begin()


def test_a_run_that_began_elsewhere_meanwhile_is_not_overwritten(folder):
    late = RunFolder(folder / "out", {"files": [], "n_landmarks": 160})
    first = RunFolder(folder / "out", {"files": [], "n_landmarks": 150})
    with first.locked():
        first.begin()
    with late.locked(), pytest.raises(cl.DataError, match="with another n_landmarks"):
        late.begin()
    assert first.read("run.json").get("n_landmarks") == 150


@pytest.mark.parametrize("change", ["gone", "new", "grown"])
def test_a_table_that_has_changed_is_refused(folder, table, change):
    run(folder)
    if change == "gone":
        (folder / "in/b.parquet").unlink()
    else:
        name = "b.parquet" if change == "grown" else "c.parquet"
        table.to_parquet(folder / "in" / name)
    name = "c" if change == "new" else "b"
    with pytest.raises(cl.DataError, match=rf"File '{name}\.parquet' of source"):
        run(folder)


def test_a_damaged_file_is_named_or_left_out(folder):
    (folder / "in/b.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(cl.DataError, match=r"b\.parquet' cannot be read"):
        run(folder)
    made = run(folder, unreadable="skip")
    assert made.n_rows == 700
    assert made.notes[0].kind == "file skipped"
    assert run(folder, unreadable="skip").n_rows == 700


def test_rare_landmarks_are_noted_and_weighted(folder):
    made = run(folder, rare_share=0.5)
    assert "weights not obeyed" in [note.kind for note in made.notes]
    landmarks = pd.read_parquet(folder / "out/landmarks.parquet")
    own = landmarks[~landmarks["held back"]]
    assert own["uniform"].sum() == 75
    assert 30 < (~own["uniform"]).sum() < 120
    assert own["row"].is_unique
    assert own["weight"].nunique() > 2
    assert own["weight"].min() > 0


def test_all_rows_are_landmarks_of_a_small_table(folder):
    made = run(folder, n_landmarks=2_000)
    assert made.n_landmarks == made.n_labelled == N - 1
    assert "few held-back rows" in [note.kind for note in made.notes]
    assert made.smallest_seen == (1, 10)


def test_the_command_runs_says_what_was_found_and_refuses(folder, capsys):
    command = [str(folder / "in"), "--out", str(folder / "out"), "--pool", "quick"]
    command += ["--landmarks", "150", "--held-back", "0", "--jobs", "1"]
    assert main([*command, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["n_rows"] == N
    assert main(command) == 0
    assert "1\u202f199 rows labelled in" in capsys.readouterr().out
    assert main([str(folder / "no"), "--out", str(folder / "x")]) == 2
    assert "is not there" in capsys.readouterr().err


def test_ctrl_c_stops_the_command_which_then_goes_on(folder, capsys, monkeypatch):
    def stopped(*_, cancel, **__):
        assert not cancel()
        signal.raise_signal(signal.SIGINT)
        assert cancel()
        raise cl.Cancelled

    monkeypatch.setattr(console, "run_at_scale", stopped)
    before = signal.getsignal(signal.SIGINT)
    assert main([str(folder / "in"), "--out", str(folder / "out")]) == 130
    assert "goes on" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before


def test_wrong_arguments_leave_no_run_behind(folder):
    for wrong in (
        {"n_landmarks": 3},
        {"roles": {"z": "numeric"}},
        {"scale": "no"},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong)) + "|'z'"):
            run(folder, **wrong)
    with pytest.raises(ValueError, match="clusterer"):
        cl.run_at_scale(folder / "in", folder / "out", [{"clusterer": "no"}])
    assert not (folder / "out").exists()
