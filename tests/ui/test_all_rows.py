"""The page All rows: landmarks of a table on the disk, and labels of all its rows."""

import asyncio
import os
import shutil
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from clusterlens.compute.formatting import whole
from clusterlens.compute.scale import labels
from clusterlens.compute.scale import source as source_module
from clusterlens.ui.actions.large_tables import given_of
from clusterlens.ui.composition import new_session
from clusterlens.ui.exports.all_rows import write_error
from clusterlens.ui.exports.script import write_card
from clusterlens.ui.jobs.lanes import Progress
from clusterlens.ui.pages.all_rows.nodes import labelling
from clusterlens.ui.pages.all_rows.page import AllRowsPage
from clusterlens.ui.pages.data.load_table import LoadTable
from clusterlens.ui.plots.all_rows import draw_parts
from clusterlens.ui.plots.samples import draw_map
from clusterlens.ui.server.large_tables import LargeTables
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.view_parameters import Viewport
from tests.ui.loop import run, wait_until_idle

N = 900
BAD = "<img src=x onerror=alert(1)>"
NAME = f"tables/{BAD}"
POOL = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]
MODEL = {"kind": "model", "model": 1}
NUMBERS = [[k, k] for k in range(4)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(source_module, "PIECE_ROWS", 100)
    monkeypatch.setattr(source_module, "JOB_PIECES", 1)
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat([0, 1, 2], N // 3))
    X = rng.normal(size=(N, 2)) + np.array([[0, 0], [12, 0], [0, 12]])[groups]
    table = pd.DataFrame(X, columns=[BAD, "b"])
    table["kind"] = np.where(groups > 0, BAD, "=1+1")
    inside = tmp_path / "tables" / BAD
    inside.mkdir(parents=True)
    table[:500].to_parquet(inside / "1.parquet")
    table[500:].to_parquet(inside / "2.parquet")
    return tmp_path / "tables"


async def labelled(folder, server=None):
    """Return a session with landmarks, a run and a result."""
    server = server or Server()
    server.tables = LargeTables([folder])
    session = new_session(server)
    for kind, values in (
        ("load landmarks", {"name": NAME, "n_landmarks": 200}),
        ("run pool", {"pool": POOL}),
        ("choose result", {"partition": MODEL, "numbers": NUMBERS, "on": "Clusters"}),
    ):
        assert await session.act(kind, **values), session.jobs.notices
    return session


def texts(page):
    return " ".join(
        value
        for part in page.view.select()
        for value in (getattr(part, "body", ""), getattr(part, "words", ""))
        if isinstance(value, str)
    )


def test_only_tables_in_the_named_folders_are_listed_and_none_by_path(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    for name in ("in/deep/more", "in/.hidden", "in/run", "in/empty", "out"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("in/deep/more/a", "in/.hidden/a", "in/run/a", "in/b", "out/c"):
        (tmp_path / f"{name}.parquet").touch()
    (inside / "run" / "run.json").touch()
    (inside / "notes.txt").touch()
    os.symlink(outside, inside / "link")
    os.symlink(outside / "c.parquet", inside / "d.parquet")
    tables = LargeTables([inside, tmp_path / "missing"])
    assert list(tables.listed()) == ["in/b.parquet", "in/deep"]
    for name in ("../out/c.parquet", str(outside / "c.parquet"), "in/link", "in/run"):
        with pytest.raises(ValueError, match="is not among the tables"):
            tables.find(name)
    assert not LargeTables().listed()


def test_the_setting_names_folders(monkeypatch, folder):
    monkeypatch.setenv("CLUSTERLENS_FOLDERS", os.pathsep.join([str(folder), ""]))
    assert list(LargeTables.named().listed()) == [NAME]


def test_all_rows_are_labelled_by_the_result_and_shown_as_text(folder):
    async def main():
        session = await labelled(folder)
        page = AllRowsPage(session)
        page.make()
        page.set_visible(True)
        session.view_state.all_rows_view = Viewport(width=120, height=90)
        await wait_until_idle(session)
        assert "200 landmarks stand for 900 rows" in texts(page)
        assert session.derived.get("labelling").value.obstacle == ""
        assert await session.act("label rows"), session.jobs.notices
        await wait_until_idle(session)
        run_ = session.derived.get("all_rows").value
        assert run_.n_labelled == N
        assert sorted(run_.clusters["cluster"]) == [1, 2, 3]
        shown = texts(page)
        assert BAD not in shown
        for words in ("900 rows have the labels of k-means k=3", "cluster 3"):
            assert words in shown
        session.view_state.param.update(all_rows_part=3, all_rows_first="in order")
        await wait_until_idle(session)
        part = session.derived.get("part_rows").value
        table = pd.read_parquet(folder / BAD)
        assert part.labels["row"].tolist() == list(range(300, 340))
        assert part.cells["b"].tolist() == table["b"][300:340].tolist()
        assert "Rows 300 to 399" in texts(page)
        picture = session.derived.get("all_rows_picture").value
        assert (picture.pixels[..., 3] > 0).any()
        assert session.derived.get("labelling").value.is_current
        other = {**MODEL, "model": 0}
        await session.act("choose result", partition=other, numbers=NUMBERS, on="X")
        await wait_until_idle(session)
        assert not session.derived.get("labelling").value.is_current
        assert "The result is another one by now" in texts(page)
        session.close()

    run(main())


@pytest.mark.parametrize(
    ("error", "conditions"), [((0.9, 0.8), 1), ((np.nan, np.nan), 0)]
)
def test_the_error_of_landmarks_names_its_condition(error, conditions):
    run_ = SimpleNamespace(consensus_error=error, smallest_seen=(7, 40))
    condition = "settings that count rows (min_cluster_size)"
    assert write_error(run_).count(condition) == conditions


def test_the_script_gives_the_labels_of_the_page(folder, tmp_path, monkeypatch):
    async def main():
        session = await labelled(folder)
        assert await session.act("label rows"), session.jobs.notices
        steps = session.history.steps[1:]
        text = write_card(steps, lambda lines: [lines.name("labelled")])
        path = folder / BAD
        monkeypatch.chdir(tmp_path)
        made = {}
        exec(text.replace(f"SOURCE = {BAD!r}", f"SOURCE = {str(path)!r}"), made)
        out = session.server.tables.labels(NAME, session.analysis.labelled[0])
        found = [pd.read_parquet(file) for file in made["labelled"].files]
        shown = [pd.read_parquet(file) for file in sorted(out.rglob("part-*"))]
        assert pd.concat(found).equals(pd.concat(shown))
        session.close()

    run(main())


def test_cancelled_labels_stay_out_of_the_analysis_and_go_on(folder, monkeypatch):
    async def main():
        session = await labelled(folder)
        write, calls = labels._label_job, []

        def stop_after_three(shared, job):
            calls.append(job)
            if len(calls) == 3:
                session.jobs._action.stop.set()
            return write(shared, job)

        monkeypatch.setattr(labels, "_label_job", stop_after_three)
        assert not await session.act("label rows")
        assert session.analysis.labelled == ()
        [out] = [path for path in folder.iterdir() if path.name != BAD]
        before = {file: file.stat().st_mtime_ns for file in out.rglob("part-*")}
        assert 0 < len(before) < 9
        n_rows = sum(pq.read_metadata(file).num_rows for file in before)
        assert session.jobs.notices[-1].text == (
            f"Cancelled: Label all rows. The finished labels of {whole(n_rows)} rows "
            "are kept on the disk; “Label all rows” goes on from there."
        )
        assert not (out / "manifest.json").exists()
        assert await session.act("label rows"), session.jobs.notices
        assert {file: file.stat().st_mtime_ns for file in before} == before
        tables = session.server.tables
        assert tables.labels(NAME, session.analysis.labelled[0]) == out
        assert (out / "manifest.json").exists()
        assert list(tables.listed()) == [NAME]  # the labels are no table
        session.close()

    run(main())


def test_a_table_that_changed_or_went_is_named(folder):
    async def main():
        session = await labelled(folder)
        (folder / BAD / "3.parquet").write_bytes(
            (folder / BAD / "2.parquet").read_bytes()
        )
        assert not await session.act("label rows")
        assert "has changed since its landmarks" in session.jobs.notices[-1].text
        session.server.tables = LargeTables()
        assert not await session.act("label rows")
        assert "is not among the tables" in session.jobs.notices[-1].text
        session.close()

    run(main())


def test_a_table_that_is_written_anew_gets_labels_of_its_own(folder):
    async def main():
        server = Server()
        for _ in range(2):
            session = await labelled(folder, server)
            assert await session.act("label rows"), session.jobs.notices
            await wait_until_idle(session)
            session.derived.ask("labelling")
            await wait_until_idle(session)
            assert session.derived.get("labelling").value.is_current
            session.close()
            (folder / BAD / "1.parquet").touch()
        assert len(list(folder.glob("*-labels-*"))) == 2

    run(main())


def test_labels_of_an_earlier_version_are_the_present_ones(folder):
    async def main():
        session = await labelled(folder)
        given, _ = given_of(session.analysis)
        of = session.analysis
        named = (given.digest, "k-means")
        found = labelling(None, of.large, of.runs, of.result, named, of.table)
        assert found.is_current
        session.close()

    run(main())


def test_a_file_that_cannot_be_read_stops_or_is_left_out_by_choice(folder):
    (folder / BAD / "0.parquet").write_bytes(b"PAR1 no PAR1")

    async def main():
        server = Server()
        server.tables = LargeTables([folder])
        session = new_session(server)
        given = {"name": NAME, "n_landmarks": 200}
        assert not await session.act("load landmarks", **given)
        assert "0.parquet' cannot be read" in session.jobs.notices[-1].text
        assert await session.act("load landmarks", **given, skips=True)
        notes = session.analysis.table.notes
        assert any("0.parquet' left out" in note for note in notes)
        assert session.analysis.large.n_rows == N
        session.close()

    run(main())


def test_an_analysis_of_landmarks_is_read_back_and_shows_its_labels(folder, tmp_path):
    async def main():
        store = Store(tmp_path / "home")
        session = await labelled(folder, Server(store))
        assert await session.act("label rows"), session.jobs.notices
        before = session.analysis
        again = new_session(session.server)
        assert await again.open(session.memory.analysis)
        assert again.analysis.large == before.large
        assert again.analysis.labelled == before.labelled
        again.derived.watch(("all_rows", "labelling"), lambda results: None)
        await wait_until_idle(again)
        assert again.derived.get("all_rows").value.n_labelled == N
        assert again.derived.get("labelling").value.is_current
        shutil.rmtree(session.server.tables.labels(NAME, before.labelled[0]))
        last = new_session(session.server)
        assert await last.open(session.memory.analysis)
        page = AllRowsPage(last)
        page.make()
        page.set_visible(True)
        await wait_until_idle(last)
        assert "are gone; label all rows again" in texts(page)
        button = page.cards[0]._label
        assert button.visible
        await page.cards[0]._label_rows(None)
        await wait_until_idle(last)
        assert last.derived.get("all_rows").value.n_labelled == N
        assert not button.visible
        for one in (session, again, last):
            one.close()
        store.close()

    run(main())


def test_the_start_page_lists_the_tables_of_the_disk(folder):
    async def main():
        server = Server()
        card = LoadTable(new_session(server))
        card.show(None)
        await asyncio.gather(*card._requests)
        assert not card._large.visible
        server.tables = LargeTables([folder])
        card.show(None)
        await asyncio.gather(*card._requests)
        assert card._large.visible
        assert card._name.value == NAME

    run(main())


def test_progress_in_rows_has_a_rate_and_the_time_left():
    done = Progress("Label all rows", 500, 1_500, 90, unit="rows", stage_seconds=10)
    assert done.pace == "50 rows/s · about 20 s left"
    assert Progress("Run the pool", 3, 56, 4, stage_seconds=2).pace == ""


def test_the_map_of_parts_is_the_map_of_all():
    rng = np.random.default_rng(0)
    xy, colours = rng.normal(size=(500, 2)), rng.integers(0, 255, (500, 3), np.uint8)
    parts = [
        (xy[:200], colours[:200]),
        (xy[:0], colours[:0]),
        (xy[200:], colours[200:]),
    ]
    extent = np.array([xy.min(axis=0), xy.max(axis=0)])
    port = Viewport(width=60, height=50)
    drawn = draw_parts(parts, extent, len(xy), port)
    assert np.array_equal(drawn.pixels, draw_map(xy, colours, port).pixels)
    assert drawn.view == draw_map(xy, colours, port).view
