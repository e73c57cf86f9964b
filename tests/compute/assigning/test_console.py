"""clusterlens assign: input and output files, refusals, and messages."""

import gzip
import json
import subprocess
import sys

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import clusterlens as cl
from clusterlens.compute.assigning import console, streaming
from clusterlens.compute.assigning.segmentation import COLUMNS
from clusterlens.ui import cli
from tests.compute.assigning.test_segmentation import customers


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A segmentation, and its file."""
    table, kind = customers(300)
    seg = cl.Segmentation(cl.prepare(table), kind, ["=young", "old"])
    path = tmp_path_factory.mktemp("kept") / "customers.lens"
    seg.save(path)
    return seg, path


@pytest.fixture(scope="module")
def fresh():
    table, _ = customers(250, seed=3)
    return table.assign(cluster="mine", children=table["children"].astype(float))


def run(kept, source, target, *more):
    return cli.main(["assign", str(kept[1]), str(source), "-o", str(target), *more])


@pytest.fixture
def short_batches(monkeypatch):
    monkeypatch.setattr(streaming, "BATCH", 40)


def test_parquet_gets_the_answers_of_the_library(kept, fresh, tmp_path, short_batches):
    fresh.to_parquet(tmp_path / "new.parquet")
    assert run(kept, tmp_path / "new.parquet", tmp_path / "out.parquet") == 0
    out = pd.read_parquet(tmp_path / "out.parquet")
    pd.testing.assert_frame_equal(out[fresh.columns], fresh)
    assert "cluster (2)" in out
    assigned = kept[0].assign(fresh)
    for name in COLUMNS:
        column = "cluster (2)" if name == "cluster" else name
        assert out[column].tolist() == assigned[name].tolist()


@pytest.mark.parametrize("packed", [False, True])
def test_text_gets_the_answers_of_the_library(kept, fresh, tmp_path, packed):
    text = fresh.to_csv(index=False, sep=";", decimal=",")
    source = tmp_path / "new.csv"
    source.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert run(kept, source, tmp_path / "out.parquet") == 0
    out = pd.read_parquet(tmp_path / "out.parquet")
    assigned = kept[0].assign(source)
    assert out["cluster (2)"].tolist() == assigned["cluster"].tolist()
    assert out["age"].dtype == float
    assert out["age"].equals(fresh["age"])
    assert run(kept, source, tmp_path / "out.csv") == 0
    again = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)
    assert again["cluster (2)"].tolist() == assigned["cluster"].tolist()
    assert again["id"].tolist() == fresh["id"].tolist()


def test_how_text_is_written_can_be_said(kept, fresh, tmp_path, capsys):
    table = fresh.rename(columns={"since": "prénom"})
    table["income"] = table["income"].map(lambda value: f"{value:,.0f}")
    source, target = tmp_path / "new.csv", tmp_path / "out.parquet"
    table.to_csv(source, index=False, sep="\t", encoding="cp1252")
    assert run(kept, source, target, "--separator", "tab") == 2
    assert "its encoding if that is not UTF-8" in capsys.readouterr().err
    options = ["--encoding", "cp1252", "--decimal", ".", "--separator", "tab"]
    assert run(kept, source, target, *options) == 0
    out = pd.read_parquet(target)
    assert out["prénom"].tolist() == table["prénom"].astype(str).tolist()
    assert out["income"].equals(fresh["income"].round())
    assigned = kept[0].assign(fresh.assign(income=fresh["income"].round()))
    assert out["cluster (2)"].tolist() == assigned["cluster"].tolist()
    assert run(kept, source, tmp_path / "o.csv", "--separator", ":") == 2
    assert "--separator is ':'" in capsys.readouterr().err
    assert run(kept, source, tmp_path / "o.csv", "--encoding", "runes") == 2
    assert "encoding is 'runes', which is not known" in capsys.readouterr().err
    fresh.to_parquet(tmp_path / "new.parquet")
    assert run(kept, tmp_path / "new.parquet", tmp_path / "o.csv", *options) == 2
    assert "leave them out" in capsys.readouterr().err


def test_text_that_a_spreadsheet_would_compute_is_safe(kept, fresh, tmp_path):
    fresh.assign(note="=1+1").to_parquet(tmp_path / "new.parquet")
    run(kept, tmp_path / "new.parquet", tmp_path / "out.csv")
    out = pd.read_csv(tmp_path / "out.csv")
    assert set(out["note"]) == {"'=1+1"}
    assert set(out["name"]) == {"'=young", "old"}


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), "codes", 4]
)
def test_text_of_parquet_is_safe_however_it_is_stored(kept, fresh, tmp_path, kind):
    words = pa.array([b"=1+1", b"\v=12", b"fine"] * 80 + [None] * 10)
    if kind == "codes":
        words = words.dictionary_encode()
    else:
        words = words.cast(pa.binary(kind) if kind == 4 else kind)
    table = pa.Table.from_pandas(fresh).append_column("words", words)
    pq.write_table(table, tmp_path / "new.parquet")
    assert run(kept, tmp_path / "new.parquet", tmp_path / "out.csv") == 0
    out = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)
    assert set(out["words"]) == {"'=1+1", "'\v=12", "fine", ""}


def test_json_says_what_became_of_the_rows(kept, fresh, tmp_path, capsys):
    table = fresh.copy()
    table.loc[[0, 1], ["age", "income", "plan", "children"]] = None
    table.loc[2, "plan"] = "platinum"
    table.to_parquet(tmp_path / "new.parquet")
    assert run(kept, tmp_path / "new.parquet", tmp_path / "out.parquet", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assigned = kept[0].assign(table)
    counts = assigned["name"][~assigned["nowhere"].fillna(False)].value_counts()
    assert assigned["nowhere"].any()
    assert report["rows"] == 250
    parts = sum(report["clusters"].values()), report["nowhere"], report["not_assigned"]
    assert sum(parts) == 250
    assert report["clusters"] == {"=young": counts["=young"], "old": counts["old"]}
    assert report["not_assigned"] == 2
    assert report["nowhere"] == assigned["nowhere"].sum()
    assert report["gaps"]["plan"] == 3
    assert report["not_used"] == ["id", "since", "cluster"]
    assert report["output"] == str(tmp_path / "out.parquet")


def test_rows_of_clusters_of_one_name_count_together(fresh, tmp_path, capsys):
    table, kind = customers(300)
    path, source = tmp_path / "alike.lens", tmp_path / "new.parquet"
    cl.Segmentation(cl.prepare(table), kind, ["customer", "customer"]).save(path)
    fresh.to_parquet(source)
    target = str(tmp_path / "out.parquet")
    assert console.main([str(path), str(source), "-o", target, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["clusters"] == {"customer": report["rows"] - report["nowhere"]}
    assert report["not_assigned"] == 0


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("mark", [",", ";"])
def test_a_footer_is_left_out_and_a_total_is_noted(
    kept, fresh, tmp_path, capsys, packed, mark
):
    text = fresh.to_csv(index=False, sep=mark)
    gaps = mark * (fresh.shape[1] - 1)
    source = tmp_path / ("new.csv.gz" if packed else "new.csv")

    def notes_of(end, target):
        data = f"{text}{end}".encode()
        source.write_bytes(gzip.compress(data) if packed else data)
        assert run(kept, source, tmp_path / target, "--json") == 0
        report = json.loads(capsys.readouterr().out)
        return report["rows"], report["notes"]

    assert notes_of("", "a.csv") == (250, [])
    rows, notes = notes_of(f"{gaps}\nSource: our survey{gaps}\n{gaps}\n", "b.csv")
    assert rows == 250
    assert notes == ["1 line below the table left out, the first 'Source: our survey'."]
    total = mark.join(["Total", *["7"] * (fresh.shape[1] - 1)])
    rows, notes = notes_of(f"{total}\n", "c.csv")
    assert rows == 251
    assert "called 'Total' and is read as a sample" in notes[0]


def test_words_say_what_became_of_the_rows(kept, fresh, tmp_path, capsys):
    fresh.to_parquet(tmp_path / "new.parquet")
    assert run(kept, tmp_path / "new.parquet", tmp_path / "out.parquet") == 0
    output = capsys.readouterr().out
    assert "250 rows written to" in output
    assert "up to 5% of rows like those seen" in output
    assert "columns not used: 'id', 'since', 'cluster'" in output


def test_a_file_that_is_there_is_not_overwritten(kept, fresh, tmp_path, capsys):
    fresh.to_parquet(tmp_path / "new.parquet")
    (tmp_path / "out.csv").write_text("mine")
    assert run(kept, tmp_path / "new.parquet", tmp_path / "out.csv") == 2
    assert "is not overwritten" in capsys.readouterr().err
    assert (tmp_path / "out.csv").read_text() == "mine"


def lists(table):
    return pa.Table.from_pandas(table).append_column("l", pa.array([[1]] * len(table)))


@pytest.mark.parametrize(
    ("change", "target", "message"),
    [
        (lambda t: t.drop(columns=["age", "plan"]), "o.csv", "columns 'age', 'plan'"),
        (lambda t: t.assign(plan=4.5), "o.csv", "'plan' had words"),
        (lambda t: t.iloc[:0], "o.parquet", "has no rows"),
        (lambda t: t, "o.xlsx", "neither with .parquet nor"),
        (lambda t: t, "nowhere/o.csv", "cannot be written"),
        (lists, "o.csv", "'l' holds lists"),
    ],
    ids=["columns", "kinds", "no rows", "format", "folder", "lists"],
)
def test_what_cannot_be_done_is_said_and_leaves_no_file(
    kept, fresh, tmp_path, capsys, change, target, message
):
    table = change(fresh)
    table = table if isinstance(table, pa.Table) else pa.Table.from_pandas(table)
    pq.write_table(table, tmp_path / "new.parquet")
    assert run(kept, tmp_path / "new.parquet", tmp_path / target) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["new.parquet"]


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", b"age;plan\n1;2\n1;2;3\n", b"\x1f\x8bno", b"\xff" * 9]
)
def test_damaged_tables_are_refused(kept, tmp_path, capsys, content):
    (tmp_path / "new.csv").write_bytes(content)
    assert run(kept, tmp_path / "new.csv", tmp_path / "out.csv") == 2
    assert capsys.readouterr().err.startswith("clusterlens assign: ")
    assert not (tmp_path / "out.csv").exists()


def test_ctrl_c_leaves_no_file(kept, fresh, tmp_path, capsys, monkeypatch):
    fresh.to_parquet(tmp_path / "new.parquet")

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(streaming._Plan, "assign", stop)
    assert run(kept, tmp_path / "new.parquet", tmp_path / "out.csv") == 130
    assert [path.name for path in tmp_path.iterdir()] == ["new.parquet"]


def test_progress_goes_to_a_terminal(kept, fresh, tmp_path, capsys, monkeypatch):
    fresh.to_parquet(tmp_path / "new.parquet")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    arguments = [str(kept[1]), str(tmp_path / "new.parquet")]
    assert console.main([*arguments, "-o", str(tmp_path / "out.csv")]) == 0
    assert "\r100% of the table\n" in capsys.readouterr().err


def test_another_process_assigns_without_the_page(kept, fresh, tmp_path):
    fresh.to_parquet(tmp_path / "new.parquet")
    code = (
        "import sys; from clusterlens.ui.cli import main; "
        "status = main(sys.argv[1:]); "
        "assert not {'panel', 'bokeh', 'param'} & set(sys.modules); sys.exit(status)"
    )
    files = map(str, (kept[1], tmp_path / "new.parquet", "-o", tmp_path / "out.csv"))
    subprocess.run([sys.executable, "-c", code, "assign", *files], check=True)
    assert len(pd.read_csv(tmp_path / "out.csv")) == 250
