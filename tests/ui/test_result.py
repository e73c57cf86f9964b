"""Tests of the result: one partition on every page and in every file."""

import ast
import io
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from clusterlens.ui.actions.partitions import keep_partition
from clusterlens.ui.components.commands import choose_result
from clusterlens.ui.components.findings import NEEDED, WELCOME, gather
from clusterlens.ui.components.result_chip import ResultChip
from clusterlens.ui.composition import new_session
from clusterlens.ui.exports.document import write_report
from clusterlens.ui.exports.replay import replay
from clusterlens.ui.pages.clusters.page import ClustersPage
from clusterlens.ui.pages.consensus.headline import Headline
from clusterlens.ui.pages.consensus.model_tab import ModelTab
from clusterlens.ui.pages.consensus.sample_map import SampleMap
from clusterlens.ui.pages.report.take_away import FILES
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.view_parameters import Brush, Viewport
from clusterlens.ui.widgets.palette import clusters_of, file_labels, noise_last
from tests.folders import ROOT
from tests.ui.loop import run, wait_until_idle
from tests.ui.test_clusters_page import planted, value

# Panel's table is not yet ready for pandas 4.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")
POOL = [
    {"clusterer": "k-means", "n_clusters": [2, 3, 4]},
    {"clusterer": "DBSCAN", "eps": [0.6]},
    {"clusterer": "agglomerative", "n_clusters": [3], "linkage": ["ward"]},
]
WATCHED = (*NEEDED, *WELCOME, "chosen", "displayed_partition", "model_names", "legend")


@contextmanager
def watched(session, *cards):
    """Show cards and watch results, as pages do."""
    session.view_state.map_view = Viewport(width=80, height=60)
    stop = session.derived.watch(WATCHED, lambda results: None)
    made = [panel(session) for panel in cards]
    for panel in made:
        panel.set_visible(True)
    yield made
    for panel in made:
        panel.set_visible(False)
    stop()


async def choose(session):
    """Make the displayed partition of Clusters the result."""
    await wait_until_idle(session)
    chosen = value(session, "chosen")
    assert await choose_result(session, chosen.choice, chosen.labels, chosen.clusters)
    await wait_until_idle(session)


def rows_of(session):
    """Return the downloaded rows, as read from the file."""
    content = FILES["rows csv"].make(gather(session), session)
    return pd.read_csv(io.BytesIO(content), index_col=0)


def test_before_a_choice_every_page_is_about_the_model_that_is_looked_at():
    session = planted()
    session.view_state.param.update(partition="auto", model=3)

    async def main():
        with watched(session, ResultChip) as (chip,):
            await wait_until_idle(session)
            assert "No result yet" in chip.text.body
            assert value(session, "chosen").title == "d k=4"
            assert_array_equal(
                value(session, "chosen").clusters, value(session, "clusters")
            )
            assert value(session, "export_partition").title == "d k=4"
            assert not value(session, "export_partition").is_result
            assert "No result was chosen" in write_report(gather(session))

    run(main())


AGAIN = {"partition": {"kind": "result"}, "name": "again"}


def test_the_result_is_the_same_on_every_page_and_in_every_file():
    session = planted()
    session.view_state.param.update(
        partition="consensus", partition_k=2, page="clusters"
    )

    async def main():
        with watched(session, ResultChip, ModelTab, SampleMap) as (chip, tab, shown):
            await wait_until_idle(session)
            before = value(session, "chosen")
            await choose(session)
            for name in ("clusters", "result_here"):
                assert_array_equal(value(session, name), before.clusters)
            after = value(session, "chosen")
            assert after.choice.kind == "result"
            assert_array_equal(after.clusters, before.clusters)
            assert "Result: consensus tree k=2" in chip.text.body
            assert "chosen on Clusters" in chip.text.body
            assert "the result" in tab.text.body
            assert "consensus tree k=2" in tab.text.body
            assert "beside" not in shown._legend.body
            rows = rows_of(session)
            numbers = rows["cluster"].to_numpy()
            assert_array_equal(numbers, before.clusters + 1)
            report = write_report(gather(session))
            assert "consensus tree k=2" in report
            assert "chosen on Clusters" in report
            with pytest.raises(ValueError, match="the result is kept beside the run"):
                keep_partition(session.analysis, AGAIN, SimpleNamespace(kernels={}))
            session.undo()
            await wait_until_idle(session)
            assert "No result yet" in chip.text.body

    run(main())


def test_another_model_is_beside_the_result_and_leaves_no_trace_in_files():
    session = planted()

    async def main():
        with watched(session, ResultChip, ModelTab, SampleMap) as (chip, tab, shown):
            await choose(session)
            clusters = value(session, "clusters")
            first = int(clusters[0])
            await session.act(
                "name cluster",
                partition={"kind": "result"},
                cluster=first,
                name="<mine>",
            )
            await wait_until_idle(session)
            rows = rows_of(session)
            assert "1 name" in chip.text.body
            session.view_state.model = 3
            await wait_until_idle(session)
            assert "d k=4, beside the result" in shown._legend.body
            assert "beside the result" in tab.text.body
            assert "Change to this model" in chip.text.body
            assert "1 of 1 name carry over" not in chip.text.body  # half of its rows
            assert "&lt;mine&gt; would stay behind" in chip.text.body
            pd.testing.assert_frame_equal(rows_of(session), rows)
            # Unchanged clusters have the colours of the result.
            same = clusters != first
            assert_array_equal(value(session, "clusters")[same], clusters[same])
            shown._do("result")
            await wait_until_idle(session)
            assert "beside the result" not in shown._legend.body
            assert value(session, "displayed_partition").is_result

    run(main())


def test_a_name_leaves_with_its_rows_in_rows_report_and_script():
    session = new_session(Server())

    async def main():
        await session.act("load example", name="iris")
        await session.act("run pool", pool=POOL, random_state=0)
        with watched(session):
            await choose(session)
            clusters = value(session, "clusters")
            cluster = int(clusters[0])
            result = {"kind": "result"}
            await session.act(
                "name cluster", partition=result, cluster=cluster, name="<mine>"
            )
            session.view_state.model = 3  # another model than the result
            await wait_until_idle(session)
            rows = rows_of(session)
            assert_array_equal(rows["cluster name"] == "<mine>", clusters == cluster)
            found = gather(session)
            assert "&lt;mine&gt;" in write_report(found)
            (names,) = re.findall(r"^NAMES = ({.*?})", found.script(), re.M | re.S)
            assert ast.literal_eval(names)[cluster + 1] == "<mine>"

    run(main())


def test_a_name_is_of_its_rows_and_other_clusters_are_like_it():
    session = planted()
    session.view_state.param.update(partition="model", model=0)

    async def main():
        with watched(session, ResultChip) as (chip,):
            await choose(session)
            clusters = value(session, "clusters")
            for cluster, name in enumerate(("far", "near", "mid")):
                await session.act(
                    "name cluster",
                    partition={"kind": "result"},
                    cluster=int(clusters[20 * cluster]),
                    name=name,
                )
            moved = session.analysis.ensemble.labels[0].copy()
            moved[[0, 1, 2]] = moved[20]
            positions = np.flatnonzero(moved == moved[20])
            session.view_state.param.update(
                group=Brush(positions, "x"), partition="group", page="clusters"
            )
            await wait_until_idle(session)
            chosen = value(session, "chosen")
            assert chosen.own_names == {0: "the group", 1: "the rest"}
            await choose(session)
            # 20 of 23 rows, and 20 of 37: the names stay with the clusters.
            names = {
                name.text: set(name.rows) for name in session.analysis.cluster_names
            }
            assert len(names["near"]) == 23
            assert value(session, "result_names") == {0: "near", 1: "mid"}
            assert "2 names" in chip.text.body

    run(main())


def test_a_result_outlives_its_run_and_is_there_in_a_run_of_some_of_its_rows():
    session = new_session(Server())

    async def main():
        await session.act("load example", name="iris")
        await session.act("run pool", pool=POOL, random_state=0)
        with watched(session, ResultChip) as (chip,):
            await choose(session)
            result = session.analysis.result
            few = result.dataset.row_ids[result.clusters == 0].tolist()
            await session.act("cluster rows", rows=few, name="one")
            await wait_until_idle(session)
            assert "from" in chip.text.body
            assert (value(session, "result_here") == 0).all()
            assert len(value(session, "result_here")) == len(few)
            assert value(session, "export_partition").clusters is result.clusters
            assert len(rows_of(session)) == 150
            first = session.analysis.runs[0].id
            session.act_now("delete run", id=first)
            await wait_until_idle(session)
            assert "a run that was deleted" in chip.text.body
            assert len(rows_of(session)) == 150

    run(main(), 300)


def test_changed_links_are_told_and_change_nothing():
    session = planted()

    async def main():
        with watched(session, ResultChip) as (chip,):
            await choose(session)
            clusters = session.analysis.result.clusters
            session.act_now("add link", kind="must", a="row 0", b="row 59")
            await wait_until_idle(session)
            assert "made before 1 change of links" in chip.text.body
            assert session.analysis.result.clusters is clusters
            assert_array_equal(value(session, "clusters"), clusters)

    run(main())


@pytest.mark.parametrize("kind", ["tree", "kmeans with links", "noise", "group"])
def test_the_script_makes_the_result_again(kind):
    session = new_session(Server())
    looks = {
        "tree": {"partition": "consensus", "partition_k": 4},
        "kmeans with links": {
            "partition": "consensus",
            "partition_k": 3,
            "consensus_by": "kmeans",
            "obey_links": True,
        },
        "noise": {"partition": "model", "model": 3},
        "group": {"partition": "group", "group": Brush(np.arange(9), "box")},
    }

    async def main():
        await session.act("load example", name="iris")
        await session.act("run pool", pool=POOL, random_state=0)
        session.act_now("add link", kind="cannot", a=0, b=1)
        session.view_state.param.update(**looks[kind])
        with watched(session):
            await choose(session)
            return gather(session)

    found = run(main(), 300)
    if kind == "noise":
        assert (found.export_partition.clusters < 0).any()
    run_again = partial(replay, found.script(), found.steps, {}, found.ranking)
    again = run_again(found.export_partition.clusters, lambda: False, limited=False)
    assert again.difference == ""


@pytest.mark.parametrize("model", ["Gaussian mixture (full) k=3", "DBSCAN eps=0.6"])
def test_rows_of_the_page_and_of_the_script_are_one_file(tmp_path, model):
    # New columns are named after their contents, and a row with gaps has no cluster.
    x = np.random.default_rng(0).normal(np.arange(60)[:, None] % 3 * 4, 0.4, (60, 2))
    frame = pd.DataFrame(x, columns=["x", "y"]).round(3).assign(cluster="old")
    frame.loc[[5, 9], ["x", "y"]] = [[np.nan, np.nan], [9, -9]]
    session = new_session(Server())

    async def main():
        key = session.keep_file(frame.to_csv(index=False).encode())
        assert await session.act("load file", name="table.csv", sha256=key)
        assert await session.act("prepare", roles={"cluster": "ignore"})
        mixture = {"clusterer": "Gaussian mixture", "n_components": [2, 3]}
        assert await session.act("run pool", pool=[mixture, POOL[1]], random_state=0)
        names = session.analysis.ensemble.names
        chosen = {"kind": "model", "model": names.index(model)}
        numbers = [[-1, -1], [0, 2], [1, 0], [2, 1]]
        assert await session.act(
            "choose result", partition=chosen, numbers=numbers, on="X"
        )
        result = {"kind": "result"}
        await session.act("name cluster", partition=result, cluster=1, name="=mine")
        with watched(session):
            await wait_until_idle(session)
            found = gather(session)
            return found.script(), FILES["rows csv"].make(found, session)

    script, shown = run(main(), 300)
    (tmp_path / "table.csv").write_bytes(frame.to_csv(index=False).encode())
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    written = (tmp_path / "table-labels.csv").read_bytes()
    rows, again = (pd.read_csv(io.BytesIO(one)) for one in (shown, written))
    soft = [f"membership {k}" for k in (1, 2, 3)] if "mixture" in model else []
    added = ["cluster (2)", "cluster name", *soft]
    assert list(rows) == list(again) == ["row id", *frame.columns, *added]
    for name in rows:
        pd.testing.assert_series_equal(rows[name], again[name])
    assert shown == written
    assert (rows["cluster (2)"].isna() == (rows["row id"] == 5)).all()
    if soft:
        # A membership has the number of its cluster on the page.
        largest = rows[soft].dropna().to_numpy().argmax(axis=1) + 1
        assert_array_equal(largest, rows["cluster (2)"].dropna())


def test_the_menu_changes_the_result_and_leads_to_clusters():
    session = planted()

    async def main():
        with watched(session, ResultChip) as (chip,):
            await choose(session)
            session.view_state.model = 3
            await wait_until_idle(session)
            await chip._do("change")
            await wait_until_idle(session)
            assert "Result: d k=4" in chip.text.body
            assert value(session, "displayed_partition").is_result
            await chip._do("clusters")
            assert session.view_state.page == "clusters"
            assert re.search("popovertarget", chip.text.body)

    run(main())


def test_the_headline_says_where_the_result_is_not_the_leader():
    session = planted()
    session.view_state.param.update(partition="model", model=3)

    async def main():
        with watched(session, Headline) as (headline,):
            await wait_until_idle(session)
            assert "Your result" not in headline._text.body
            await choose(session)
            assert "Your result is <b>d k=4</b>" in headline._text.body
            # The leader joins the 10 rows that the result splits off.
            assert "agree on 50 of 60 samples" in headline._text.body
            session.view_state.param.update(partition="model", model=0)
            await choose(session)
            assert "Your result" not in headline._text.body

    run(main())


def test_clusters_offers_the_result_once_there_is_one():
    session = planted()
    page = None

    async def main():
        page = ClustersPage(session)
        page.set_visible(True)
        await wait_until_idle(session)
        bar = next(p for p in page.cards if type(p).__name__ == "PartitionBar")
        assert "Result" not in bar._kinds.options
        assert bar._choose.visible
        await bar._make_it_the_result(None)
        await wait_until_idle(session)
        assert bar._kinds.value == "result"
        assert not bar._choose.visible
        assert not bar._keep.visible
        page.set_visible(False)

    run(main())
    assert page is None


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.int64])
def test_labels_of_any_width_are_numbered_for_files(kind):
    clusters = np.arange(256).astype(kind)
    labels = file_labels(clusters)
    assert labels.tolist() == list(range(1, 257))
    assert clusters_of(labels.astype(np.uint16)).tolist() == clusters.tolist()
    assert noise_last(clusters).tolist() == clusters.tolist()


def test_noise_keeps_its_label_in_files_and_comes_last_as_a_cluster():
    clusters = np.array([127, -1, 0], np.int8)
    assert file_labels(clusters).tolist() == [128, -1, 1]
    assert noise_last(clusters).tolist() == [127, 128, 0]
