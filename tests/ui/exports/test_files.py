"""Tests of exported files: complete, readable elsewhere, and without active content."""

import asyncio
import html
import io
import json
import zipfile
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import clusterlens as cl
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.pool.preset_versions import PresetUsed
from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.ui.components.findings import NEEDED, WELCOME, gather
from clusterlens.ui.composition import new_session
from clusterlens.ui.exports import pictures
from clusterlens.ui.exports.document import write_report
from clusterlens.ui.exports.rows import (
    labelled_rows,
    links_to_csv,
    links_to_json,
    ranking_table,
    rows_to_csv,
    rows_to_parquet,
)
from clusterlens.ui.exports.step_words import step_words
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.report.preview import ReportPreview
from clusterlens.ui.pages.report.take_away import FILES, TakeAway
from clusterlens.ui.pages.report.timeline import Timeline
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.analysis import EVIDENCE, Analysis, ClusterName, Link, Run
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.partitions import TREE
from tests.ui.loop import run, wait_until_idle

BAD = "<script>alert(1)</script>"
DPI = pictures.DPI


def hostile(n: int = 40) -> Analysis:
    """Return an analysis with names of markup, formulas and mathematics, and a gap."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            f"{BAD} $x$": [*rng.normal(size=n - 1), None],
            "=1+1": [*rng.normal(size=n - 1), None],
            "word": rng.choice([BAD, "=2", "b"], n),
        },
        index=[f"<{k}>" for k in range(n)],
    )
    raw = make_dataset(frame, name=f"{BAD}.csv")
    ready = prepare(raw, roles={"word": "ignore"})
    size = len(ready.X)
    found = Ensemble(
        [rng.integers(0, 3, size) - (k == 2) for k in range(5)],
        [f"{BAD} $k$={k}" for k in range(5)],
        [BAD, BAD, "b", "b", "b"],
        notes=[f"{BAD} failed"],
        memberships={0: rng.dirichlet(np.ones(3), size)},
    )
    preset = PresetUsed(BAD, 1, 0)
    run_ = Run("r1", BAD, ready, (), 0, found, preset=preset)
    links = (Link("must", "<0>", "<1>"), Link("cannot", "<0>", "<39>"))
    return Analysis(
        raw, {}, ready, (run_,), 1, "r1", links=links, link_weight=0.5, note=BAD
    )


async def on_screen(analysis: Analysis, model: int = 0):
    """Return the session of an analysis with its findings."""
    session = new_session(Server())
    session.history.do(Step("test", BAD, analysis))
    session.view_state.model = model
    session.derived.watch((*NEEDED, "robustness", "profiles"), lambda results: None)
    await wait_until_idle(session)
    found = gather(session)
    assert found is not None
    return session, found


@pytest.fixture(scope="module")
def found():
    return run(on_screen(hostile()))[1]


def test_rows_keep_their_columns_and_ids(found):
    analysis = found.analysis
    partition = found.export_partition
    table = labelled_rows(
        analysis.samples,
        partition.clusters,
        {0: "the first"},
        analysis.ensemble.memberships[0],
    )
    original = analysis.table.table
    pd.testing.assert_frame_equal(table[original.columns], original)
    csv = pd.read_csv(io.BytesIO(rows_to_csv(table)), index_col=0)
    assert list(csv.index) == list(original.index)
    parquet = pd.read_parquet(io.BytesIO(rows_to_parquet(table)))
    assert list(parquet.index) == list(original.index)
    names = [name for name in table.columns if str(name).startswith("membership")]
    assert len(names) == 3
    np.testing.assert_allclose(table[names].dropna().sum(axis=1), 1)
    kept = table.loc[analysis.samples.row_ids]
    numbers = kept["cluster"]
    shown = np.where(partition.clusters < 0, -1, partition.clusters + 1)
    np.testing.assert_array_equal(numbers, shown)
    assert set(kept["cluster name"][partition.clusters == 0]) == {"the first"}
    left_out = set(original.index) - set(analysis.samples.row_ids)
    assert table.loc[sorted(left_out)].iloc[:, 3:].isna().all(axis=None)


def test_links_are_read_again_by_the_library(found):
    ids = list(found.analysis.table.table.index)
    for text, read in (
        (links_to_csv(found.analysis.links), cl.constraints_from_csv),
        (links_to_json(found.analysis.links), cl.constraints_from_json),
    ):
        links = read(text, ids)
        assert links.must_link.tolist() == [[0, 1]]
        assert links.cannot_link.tolist() == [[0, 39]]


def test_the_ranking_holds_every_model_and_what_is_known_of_it(found):
    table = ranking_table(found.ranking, found.robustness)
    assert len(table) == 5
    assert table.index.is_unique
    assert list(table["rank"]) == sorted(table["rank"])


class Tags(HTMLParser):
    """Parser that collects the tags of a document and the addresses in it."""

    def __init__(self) -> None:
        super().__init__()
        self.tags, self.addresses = set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.addresses += [v for name, v in attrs if name in ("src", "href")]


def test_the_report_stands_alone_and_runs_nothing(found):
    text = write_report(found)
    page = Tags()
    page.feed(text)
    assert "script" not in page.tags
    assert page.addresses
    assert all(a.startswith("data:image/png;base64,") for a in page.addresses)
    for heading in ("Ranking", "Links", "Data", "Steps", "Versions", "How to cite"):
        assert f"<h2>{heading}</h2>" in text
    assert "not proven true" in text
    assert ", version 1. 5 models" in text
    assert BAD not in text


def test_a_section_that_is_switched_off_is_not_in_the_file_that_is_saved():
    async def main():
        session, _ = await on_screen(hostile())
        panel = ReportPreview(session)
        panel.set_visible(True)
        await wait_until_idle(session)
        assert "disabled title='Structureless data: not compared" in panel._chips.body
        for key in ("map", "links"):
            panel._switch(key)
        await wait_until_idle(session)
        assert session.view_state.report_without == ("map", "links")
        saved = FILES["report"].make(gather(session), session).decode()
        shown = html.unescape(panel._page.body)
        for text in (saved, shown):
            assert "<h2>Matrix</h2>" in text
            assert "<h2>Map</h2>" not in text
            assert "<h2>Links</h2>" not in text
        panel._switch("map")
        assert session.view_state.report_without == ("links",)
        assert "cl-section-map' data-do='map' aria-pressed='true'" in panel._chips.body
        assert BAD not in panel._chips.body

    run(main())


def test_the_analysis_file_is_described_by_all_that_it_holds():
    description = FILES["analysis"].words
    for part in ("table", "runs", "links", "checks", "steps"):
        assert part in description


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_figures_are_pictures_of_print_size(found, kind, monkeypatch):
    monkeypatch.setattr(pictures, "DPI", DPI)
    content = FILES[kind].make(found, None)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        contents = [archive.read(name) for name in names]
    assert len(names) == 4
    for picture in contents:
        if kind == "svg":
            assert b"<svg" in picture
            assert b"<script" not in picture
        else:
            assert picture.startswith(b"\x89PNG")
            assert int.from_bytes(picture[16:20]) > 1800  # pixels across


def test_one_file_that_cannot_be_made_leaves_the_others(found):
    class Unkept:
        class memory:
            store = analysis = None

    with zipfile.ZipFile(io.BytesIO(FILES["all"].make(found, Unkept))) as archive:
        names = set(archive.namelist())
        missing = archive.read("not in here.txt").decode()
    assert {"labels.csv", "labels.parquet", "ranking.csv", "report.html"} <= names
    assert "Python script" in missing
    assert "not kept" in missing


def test_a_click_makes_the_file_on_a_thread_and_hands_it_over():
    sent = []

    async def main():
        session, _ = await on_screen(hostile())
        panel = TakeAway(session)
        panel.set_visible(True)
        await wait_until_idle(session)
        panel._download._send_msg = sent.append
        for key in ("links json", "script"):
            panel._ask(key)
            await wait_until_idle(session)
            await asyncio.sleep(0.05)
        return panel, session

    panel, session = run(main())
    assert [one["last"] for one in sent] == [True]
    assert sent[0]["name"] == "script-alert-1-script-links.json"
    assert "Python script" in session.jobs.notices[0].text
    assert BAD not in panel.text.body


def test_a_report_that_is_asked_for_early_waits_for_what_is_being_computed():
    sent = []

    async def main():
        session = new_session(Server())
        await session.act("load example", name="iris")
        pool = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]
        await session.act("run pool", pool=pool, random_state=0)
        panel = TakeAway(session)
        panel._download.send = lambda name, content: sent.append(content.decode())
        panel.set_visible(True)
        panel._ask("report")
        panel._ask("report")
        assert "HTML report: made as soon as this is done: " in panel.text.body
        await wait_until_idle(session)
        await asyncio.sleep(0.05)
        assert "made as soon as" not in panel.text.body

    run(main())
    (report,) = sent
    assert "reproduce" in report
    assert "which columns tell its clusters apart" not in report
    assert "whether the leader is like the other models" not in report


def test_what_files_that_are_made_too_early_lack_is_said():
    async def main():
        session, _ = await on_screen(hostile())
        panel = TakeAway(session)
        panel.set_visible(True)
        await wait_until_idle(session)
        needed = {name: session.derived.get(name).value for name in NEEDED}
        welcome = {name: session.derived.get(name) for name in WELCOME}
        assert welcome["robustness"].ready
        assert "files made now lack them" not in panel.text.body
        panel.show(**needed, **{**welcome, "robustness": Result("pending")})
        assert "files made now lack them" in panel.text.body

    run(main())


def test_the_timeline_leads_back_and_forth():
    async def main():
        session = new_session(Server())
        panel = Timeline(session)
        await session.act("load example", name="iris")
        session.act_now("set score", score="aari")
        session.act_now("write note", text=BAD)
        assert panel.text.body.count("<li") == 3
        assert BAD not in panel.text.body
        panel._go("1")
        assert session.analysis.score == "discotec-binary"
        assert panel.text.body.count("redo to here") == 2
        panel._go("3")
        assert session.analysis.note == BAD

    run(main())


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        ("import links", {"text": "kind,a,b\nmust,1,2\n"}, "1 link in force"),
        ("join rows", {"rows": [1, 2, 3]}, "3 rows"),
        ("write note", {"text": "so it is"}, "text so it is"),
        ("add link", {"kind": "must", "a": 1, "b": 2}, "must-link: rows 1 and 2"),
        (
            "run pool",
            {"pool": [], "random_state": 1_786_543_210, "distinct_only": False},
            "0 models, seed 1786543210",
        ),
        (
            "name cluster",
            {
                "partition": {
                    "kind": "consensus",
                    "k": 4,
                    "method": TREE,
                },
                "cluster": 0,
                "name": "a",
            },
            "consensus tree k=4, a cluster of 2 rows, name a",
        ),
        (
            "name cluster",
            {"partition": {"kind": "result"}, "cluster": 2, "name": "a"},
            "the result, cluster 3, name a",
        ),
        (
            "name cluster",
            {"partition": {"kind": "labels"}, "cluster": 2, "name": ""},
            "given labels, a cluster",
        ),
        ("load file", {"name": "n" * 90, "sha256": "0"}, f"name {'n' * 59}…"),
        (
            "prepare",
            {"roles": {"age": "label", "id": "id"}, "weights": {"x": 0.5}},
            "roles age: label, id: id, weights x: 0.5",
        ),
        ("read run", {"id": "r1"}, "run 1"),
        ("delete run", {"id": "r1"}, ""),
        ("rename run", {"id": "r1", "name": "mine"}, "name mine"),
        ("set score", {"score": "aari"}, "Average adjusted Rand index"),
        ("set threshold", {"threshold": None}, "the average"),
        ("set threshold", {"threshold": 7}, "7"),
        ("set link weight", {"weight": EVIDENCE}, "as evidence"),
        ("load file", {"name": "n.xlsx", "sha256": "0", "part": None}, "name n.xlsx"),
        ("add memberships", {"name": "n", "normalize": True}, "name n, normalize"),
        ("import partitions", {"name": "n", "mixed": False}, "name n"),
        (
            "save pair",
            {"u": "model fuzzy c-means k=3", "v": "hard k-means k=3"},
            "fuzzy c-means k=3 and k-means k=3 (hard)",
        ),
        (
            "drop pair",
            {"u": "upload a b.csv", "v": "labels"},
            "a b.csv (upload) and label column",
        ),
        ("save pair", {"u": "EvenH", "v": "EvenLF"}, "EvenH and EvenLF"),
    ],
)
def test_a_step_is_told_in_words(kind, values, words):
    read = SimpleNamespace(id="r1", name="run 1")
    named = (ClusterName("b", (4,)), ClusterName("a", (1, 2)))
    links = (Link("must", 1, 2),)
    analysis = Analysis(runs=(read,), links=links, cluster_names=named)
    assert step_words(Step(kind, "Title", analysis, values)) == words


def test_a_note_that_is_too_long_is_refused():
    session = new_session(Server())
    assert not session.act_now("write note", text="x" * 2001)
    assert "shorten" in session.jobs.notices[0].text


def test_links_by_row_id_are_plain_json(found):
    assert json.loads(links_to_json(found.analysis.links))["must_link"] == [
        ["<0>", "<1>"]
    ]
