"""A complete run of `clusterlens run`, opened from the disk of the server."""

import asyncio

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

import clusterlens as cl
from clusterlens.ui.composition import new_session
from clusterlens.ui.exports.script import write_card
from clusterlens.ui.pages.all_rows.page import AllRowsPage
from clusterlens.ui.pages.data.load_table import LoadTable
from clusterlens.ui.server.large_tables import LargeTables
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.widgets.palette import cluster_colour
from tests.ui.loop import run, wait_until_idle
from tests.ui.test_all_rows import BAD, POOL, folder, labelled, texts

__all__ = ["folder"]
RUN = "tables/<b>run"
SETTINGS = {"n_landmarks": 200, "n_held_back": 0, "n_jobs": 1}


@pytest.fixture
def made(folder):
    return cl.run_at_scale(folder / BAD, folder / "<b>run", POOL, **SETTINGS)


async def opened(folder, server=None):
    server = server or Server()
    server.tables = LargeTables([folder])
    session = new_session(server)
    assert await session.act("open run", name=RUN), session.jobs.notices
    return session


def test_a_run_is_shown_as_its_files_say(folder, made):
    async def main():
        session = await opened(folder)
        page = AllRowsPage(session)
        page.make()
        page.set_visible(True)
        session.view_state.all_rows_view = Viewport(width=120, height=90)
        await wait_until_idle(session)
        shown = texts(page)
        assert "200 landmarks stand for 900 rows" in shown
        assert "900 rows have the labels of the run &lt;b&gt;run" in shown
        assert "The result is another one" not in shown
        assert "<b>run" not in shown.replace("<b>&lt;b&gt;run", "")
        found = session.derived.get("all_rows").value
        assert found.clusters.equals(made.clusters)
        labels = made.clusters["cluster"].tolist()
        assert labels == list(range(len(labels)))  # those of the page begin with 1
        names = session.derived.get("all_rows_names").value
        assert names == {k: f"cluster {k}" for k in labels}
        for k in labels:
            dot = f"background:{cluster_colour(k)}"
            assert f'{dot}"></span>cluster {k}' in shown
        assert "noise" not in shown
        assert found.models.equals(made.models)
        picture = session.derived.get("all_rows_picture").value
        assert (picture.pixels[..., 3] > 0).any()
        part = session.derived.get("part_rows").value
        table = pd.read_parquet(folder / BAD)
        assert part.cells["b"].tolist() == table["b"].iloc[part.labels["row"]].tolist()
        session.close()

    run(main())


def test_the_models_of_a_run_are_those_of_its_landmarks(folder, made):
    async def main():
        session = await opened(folder)
        models = cl.load_ensemble(folder / "<b>run" / "models.parquet")
        analysis = session.analysis
        assert np.array_equal(analysis.ensemble.labels, models.labels)
        assert analysis.run.name == "<b>run"
        rows = analysis.table.table.iloc[:, 0].to_numpy()
        labels = pd.concat(map(pd.read_parquet, made.files), ignore_index=True)
        for name, own in zip(models.names, models.labels, strict=True):
            column = made.models.set_index("model").loc[name, "column"]
            assert adjusted_rand_score(own, labels[column][rows]) > 0.99
        session.close()

    run(main())


def test_a_result_labels_the_rows_anew(folder, made):
    async def main():
        session = await opened(folder)
        given = {"partition": {"kind": "model", "model": 0}, "on": "Clusters"}
        numbers = [[k, k] for k in range(4)]
        assert await session.act("choose result", numbers=numbers, **given)
        page = AllRowsPage(session)
        page.make()
        page.set_visible(True)
        await wait_until_idle(session)
        assert "The result is another one by now" in texts(page)
        assert page.cards[0]._label.visible
        assert await session.act("label rows"), session.jobs.notices
        await wait_until_idle(session)
        title = session.analysis.result.title
        assert f"rows have the labels of {title}" in texts(page)
        session.close()

    run(main())


def test_an_opened_run_is_read_back_and_may_be_gone(folder, made, tmp_path):
    async def main():
        store = Store(tmp_path / "home")
        session = await opened(folder, Server(store))
        again = new_session(session.server)
        assert await again.open(session.memory.analysis)
        assert (
            again.analysis.labelled
            == session.analysis.labelled
            == (
                RUN,
                "the run <b>run",
            )
        )
        assert again.analysis.large == session.analysis.large
        (folder / "<b>run" / "manifest.json").unlink()
        page = AllRowsPage(again)
        page.make()
        page.set_visible(True)
        await wait_until_idle(again)
        assert "is not among the complete runs" in texts(page)
        session.close()
        again.close()
        store.close()

    run(main())


def test_the_script_reads_the_run_again(folder, made, tmp_path, monkeypatch):
    async def main():
        session = await opened(folder)
        analysis, steps = session.analysis, session.history.steps[1:]
        of_run = analysis.run.id
        text = write_card(
            steps, lambda lines: [lines.name("table"), lines.ensemble(of_run)]
        )
        monkeypatch.chdir(tmp_path)
        for name, path in (("SOURCE", folder / BAD), ("RUN", folder / "<b>run")):
            before = f"{name} = {path.name!r}"
            assert before in text
            text = text.replace(before, f"{name} = {str(path)!r}")
        again = {}
        exec(text, again)
        assert np.array_equal(again["ensemble"].labels, analysis.ensemble.labels)
        assert again["table"].table.equals(analysis.table.table)
        session.close()

    run(main())


def test_what_cannot_be_opened_is_named(folder, made):
    async def main():
        server = Server()
        server.tables = LargeTables([folder])
        session = new_session(server)
        for name in ("tables/other", "../tables/<b>run", f"tables/{BAD}"):
            assert not await session.act("open run", name=name)
            assert "is not among the complete runs" in session.jobs.notices[-1].text
        (folder / BAD / "1.parquet").touch()
        assert not await session.act("open run", name=RUN)
        assert "is not among the tables" in session.jobs.notices[-1].text
        assert session.analysis.table is None
        session.close()

    run(main())


def test_models_of_other_landmarks_are_refused(folder, made):
    path = folder / "<b>run" / "models.parquet"
    models = cl.load_ensemble(path)
    models.take_samples(np.arange(150)).save(path)

    async def main():
        server = Server()
        server.tables = LargeTables([folder])
        session = new_session(server)
        assert not await session.act("open run", name=RUN)
        assert "labels of 150 rows for 200" in session.jobs.notices[-1].text
        session.close()

    run(main())


def test_the_labels_of_the_page_are_a_run_too(folder):
    async def main():
        session = await labelled(folder)
        assert await session.act("label rows"), session.jobs.notices
        [name] = session.server.tables.runs()
        first = session.analysis
        assert await session.act("open run", name=name), session.jobs.notices
        labels = session.analysis.ensemble.labels
        assert np.array_equal(labels, first.ensemble.labels)
        assert session.analysis.large == first.large
        session.close()

    run(main())


def test_the_start_page_lists_runs_and_asks_for_no_landmarks_then(folder, made):
    async def main():
        server = Server()
        server.tables = LargeTables([folder])
        session = new_session(server)
        card = LoadTable(session)
        card.show(None)
        await asyncio.gather(*card._requests)
        names = {f"tables/{BAD}": f"tables/{BAD}", f"{RUN} (run)": RUN}
        assert card._name.options == names
        assert card._landmarks.visible
        card._name.value = RUN
        assert not card._landmarks.visible
        await card._open(None)
        assert session.analysis.labelled[0] == RUN
        assert session.view_state.page == "all-rows"
        session.close()

    run(main())
