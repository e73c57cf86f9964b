"""Files of a folder are one table; changed and damaged files are named."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._validation import DataError
from clusterlens.compute.scale import source as source_module
from clusterlens.compute.scale.first_pass import draw_rows, first_pass
from clusterlens.compute.scale.source import UnreadableFile, open_source

RUN = RunOptions(n_jobs=2)


def write(path, first, n, row_group_size=None, kind="float64"):
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = pa.array(np.arange(first, first + n)).cast(kind)
    pq.write_table(pa.table({"x": cells}), path, row_group_size=row_group_size)


def read_all(source):
    return pa.concat_tables(
        [table for job in source.jobs() for _, table in source.read(job)]
    )


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(source_module, "PIECE_ROWS", 10)
    monkeypatch.setattr(source_module, "JOB_PIECES", 2)


def damage(path):
    """Overwrite the pages of a file; size and footer stay."""
    found = os.stat(path)
    data = bytearray(path.read_bytes())
    data[4:200] = bytes(196)
    path.write_bytes(data)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


@pytest.mark.parametrize("row_group_size", [7, 25, 1000])
def test_pieces_are_the_rows_of_all_files_in_order(
    tmp_path, small_pieces, row_group_size
):
    write(tmp_path / "b.parquet", 43, 20, row_group_size)
    write(tmp_path / "a.parquet", 0, 43, row_group_size)
    source = open_source(tmp_path)
    assert source.n_rows == sum(piece.n_rows for piece in source.pieces) == 63
    assert max(piece.n_rows for piece in source.pieces) <= 10
    assert read_all(source)["x"].to_pylist() == list(range(63))


def test_some_pieces_of_a_row_group_are_read_alone(tmp_path, small_pieces):
    write(tmp_path / "a.parquet", 0, 45)
    source = open_source(tmp_path)
    jobs = source.jobs(without={0, 1, 3})
    found = [(p.number, t["x"][0].as_py()) for job in jobs for p, t in source.read(job)]
    assert found == [(2, 20.0), (4, 40.0)]


def test_folder_names_are_columns(tmp_path):
    write(tmp_path / "year=2020/land=a%20b/x.parquet", 0, 2)
    write(tmp_path / "year=2021/land=__HIVE_DEFAULT_PARTITION__/x.parquet", 2, 1)
    table = read_all(open_source(tmp_path))
    assert table["year"].to_pylist() == ["2020", "2020", "2021"]
    assert table["land"].to_pylist() == ["a b", "a b", None]


def test_types_of_several_files_are_widened_with_a_note_or_refused(tmp_path):
    write(tmp_path / "a.parquet", 0, 3, kind="int32")
    write(tmp_path / "b.parquet", 3, 3)
    source = open_source(tmp_path)
    assert [note.kind for note in source.notes] == ["types widened"]
    assert read_all(source)["x"].to_pylist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    write(tmp_path / "c.parquet", 0, 1, kind="string")
    with pytest.raises(DataError, match=r"'x' is double in 'a.parquet' and string in"):
        open_source(tmp_path)


def test_a_column_that_some_files_lack_is_missing_there(tmp_path):
    write(tmp_path / "a.parquet", 0, 2)
    pq.write_table(pa.table({"y": [1]}), tmp_path / "b.parquet")
    source = open_source(tmp_path)
    assert [note.kind for note in source.notes] == ["files without column"] * 2
    assert read_all(source).to_pydict() == {"x": [0, 1, None], "y": [None, None, 1]}


def test_other_files_are_noted_and_hidden_ones_passed_over(tmp_path):
    write(tmp_path / "a.parquet", 0, 2)
    write(tmp_path / "_old/a.parquet", 0, 2)
    (tmp_path / "readme.txt").write_text("x")
    source = open_source(tmp_path)
    assert source.n_rows == 2
    assert [note.kind for note in source.notes] == ["files left out"]


def test_folders_of_runs_are_no_part_of_a_table(tmp_path):
    write(tmp_path / "a.parquet", 0, 2)
    for name in ("out", "deep/labels-of-a"):
        write(tmp_path / name / "labels" / "part-0.parquet", 0, 3)
        (tmp_path / name / "run.json").write_text("{}")
    source = open_source(tmp_path)
    assert [file.path for file in source.files] == ["a.parquet"]
    assert [str(note) for note in source.notes] == [
        "Folder 'deep/labels-of-a' left out: it is that of a run.",
        "Folder 'out' left out: it is that of a run.",
    ]
    assert open_source(tmp_path / "out" / "labels").n_rows == 3
    with pytest.raises(DataError, match="is the folder of a run; give its table"):
        open_source(tmp_path / "out")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: None, "no file that ends with .parquet"),
        (lambda folder: (folder / "a.csv").write_text("x"), "but 'a.csv'"),
        (lambda folder: write(folder / "a.parquet", 0, 0), "has no rows"),
        (lambda folder: (folder / "a.parquet").write_bytes(b"PAR1"), "cannot be read"),
        (lambda folder: write(folder / "x=1/a.parquet", 0, 2), "2 columns called 'x'"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, make, message):
    make(tmp_path)
    with pytest.raises(DataError, match=message):
        open_source(tmp_path)


def test_a_source_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DataError, match="is not there"):
        open_source(tmp_path / "no")


@pytest.mark.parametrize("change", ["gone", "grown", "damaged"])
def test_a_file_that_changes_meanwhile_is_named(tmp_path, change):
    write(tmp_path / "a.parquet", 0, 40)
    write(tmp_path / "b.parquet", 40, 400)
    source = open_source(tmp_path)
    if change == "gone":
        (tmp_path / "b.parquet").unlink()
    elif change == "grown":
        write(tmp_path / "b.parquet", 40, 500)
    else:
        damage(tmp_path / "b.parquet")
    with pytest.raises(UnreadableFile, match=r"b\.parquet' cannot be read"):
        first_pass(source, np.arange(5), "stop", RUN)


def test_an_unreadable_file_is_left_out_by_choice(tmp_path, small_pieces):
    for at, name in enumerate("abcd"):
        write(tmp_path / f"{name}.parquet", 100 * at, 100, 30)
    (tmp_path / "d.parquet").write_bytes(b"no Parquet")
    source = open_source(tmp_path, "skip")
    damage(tmp_path / "b.parquet")
    drawn = draw_rows(source.n_rows, 120, 0)
    found = first_pass(source, drawn, "skip", RUN)
    assert [file.path for file in found.source.files] == ["a.parquet", "c.parquet"]
    assert [note.kind for note in found.source.notes] == ["file skipped"] * 2
    assert found.stream.n_rows == found.stream.columns["x"].moments.count == 200
    rows = found.rows + 100 * (found.rows >= 100)  # the file between them is gone
    assert found.sample["x"].to_pylist() == rows.tolist()


def test_the_rows_that_are_drawn_are_those_that_are_named(tmp_path, small_pieces):
    write(tmp_path / "a.parquet", 0, 95, 40)
    write(tmp_path / "b.parquet", 95, 60)
    drawn = draw_rows(155, 33, 4)
    found = first_pass(open_source(tmp_path), drawn, "stop", RUN)
    assert len(set(found.rows)) == 33
    assert found.rows.tolist() == drawn.tolist()
    assert found.sample["x"].to_pylist() == found.rows.tolist()
    assert list(found.stream.columns) == ["x"]
    again = first_pass(open_source(tmp_path), drawn, "stop", RUN, columns=())
    assert again.sample == found.sample
    assert not again.stream.columns
