"""Tests of new rows: a kept result, another table, and its clusters."""

import asyncio
import io
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace as Some

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from openpyxl import load_workbook
from sklearn.cluster import HDBSCAN

from clusterlens.compute.assigning.assigner import ALPHA
from clusterlens.compute.assigning.counterfactuals import smallest_changes
from clusterlens.compute.assigning.explained import company
from clusterlens.compute.assigning.segmentation import Segmentation
from clusterlens.compute.assigning.storing import load_segmentation
from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.compute.table.projection import project
from clusterlens.ui.actions.lines import Lines
from clusterlens.ui.actions.new_rows import _write_new_table
from clusterlens.ui.composition import new_session
from clusterlens.ui.exports.document import SECTIONS
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.data.recent import Recent
from clusterlens.ui.pages.new_rows import nodes
from clusterlens.ui.pages.new_rows.drift import DriftCard, _returned
from clusterlens.ui.pages.new_rows.drift_nodes import returned, then_and_now
from clusterlens.ui.pages.new_rows.files import FILES, AssignedFiles, _held
from clusterlens.ui.pages.new_rows.headline import (
    NewRowsHeadline,
    _as_expected,
    _shares,
)
from clusterlens.ui.pages.new_rows.map import NewRowsMap
from clusterlens.ui.pages.new_rows.map_nodes import features_of
from clusterlens.ui.pages.new_rows.new_table import NewTable
from clusterlens.ui.pages.new_rows.nodes import (
    NOISE,
    Placed,
    ThenAndNow,
    cluster_of,
    is_nowhere,
    number_of,
    share_of,
)
from clusterlens.ui.pages.new_rows.page import NewRowsPage
from clusterlens.ui.pages.new_rows.row import NewRowCard, _apart, _belongs, _value
from clusterlens.ui.pages.new_rows.row_nodes import Standing
from clusterlens.ui.pages.new_rows.rows import AssignedRows, _line, _ties
from clusterlens.ui.pages.new_rows.segmentation import SegmentationCard, _cluster
from clusterlens.ui.results.result_verdict import weigh_result
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.server.uploads import Upload
from clusterlens.ui.shell import _taker
from clusterlens.ui.state.analysis import AnalysisResult, KeptPartition
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.widgets.palette import cluster_colours
from tests.ui.loop import run, wait_until_idle
from tests.ui.test_clusters_page import planted, value
from tests.ui.test_result_verdict import GOOD, NONE, again

# Panel's table is not yet ready for pandas 4.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")
NAME = "<b>four</b>"


def rows(n=30, seed=1, **others):
    """Return rows similar to the planted groups, and one far from all."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 3
    table = pd.DataFrame(
        {
            "kind": np.where(group == 2, "red", "blue"),
            "y": rng.normal(size=n),
            "x": group * 10 + rng.normal(size=n),
            **others,
        }
    )
    table.loc[0, "x"] = 500.0
    return table


async def kept(session, name=NAME):
    """Make the first model the result, name one of its clusters, and keep it."""
    await wait_until_idle(session)
    partition = {"kind": "model", "model": 0}
    numbers = [[0, 0], [1, 1], [2, 2]]
    assert await session.act(
        "choose result", partition=partition, numbers=numbers, on="Clusters"
    )
    given = {"kind": "result"}
    await session.act("name cluster", partition=given, cluster=2, name="<i>reds</i>")
    return await session.act("keep segmentation", name=name)


async def taken(session, table):
    key = session.keep_file(table.to_csv(index=False).encode())
    assert await session.act("take new table", name="new.csv", sha256=key)
    await wait_until_idle(session)


def opened(table=None, then=lambda cards: cards):
    """Show every card of the page after loading a table."""

    async def main():
        session = planted()
        assert await kept(session)
        if table is not None:
            await taken(session, table)
        session.view_state.new_rows_view = Viewport(width=80, height=60)
        kinds = (SegmentationCard, NewTable, DriftCard, AssignedRows, AssignedFiles)
        kinds = (*kinds, NewRowsMap, NewRowCard)
        cards = [kind(session) for kind in (NewRowsHeadline, *kinds)]
        for panel in cards:
            panel.set_visible(True)
        await wait_until_idle(session)
        return session, cards

    return run(main(), 300)


def found_by(session):
    """Return table and labels of the kept result."""
    result = session.analysis.result
    return result.dataset, result.clusters + 1


@pytest.fixture(scope="module")
def placed():
    return opened(rows(extra=1))


def test_a_kept_result_stays_what_it_was_and_undo_takes_it_back():
    session = planted()

    async def main():
        assert await kept(session)
        (one,) = session.analysis.segmentations
        assert one.name == NAME
        assert one.names == ((2, "<i>reds</i>"),)
        partition = {"kind": "model", "model": 3}
        numbers = [[k, k] for k in range(4)]
        await session.act(
            "choose result", partition=partition, numbers=numbers, on="Clusters"
        )
        assert session.analysis.segmentations == (one,)
        assert not await session.act("keep segmentation", name=NAME)
        assert "taken" in session.jobs.notices[-1].text
        session.undo()
        session.undo()
        assert session.analysis.segmentations == ()

    run(main())


def test_nothing_is_kept_without_a_result_and_no_table_taken_without_a_segmentation():
    session = planted()

    async def main():
        assert not await session.act("keep segmentation", name="x")
        key = session.keep_file(b"x,y\n1,2\n")
        return await session.act("take new table", name="t.csv", sha256=key)

    assert not run(main())
    assert [n.text.rsplit("; ")[-1] for n in session.jobs.notices] == [
        "choose one on Clusters.",
        "keep the result on New rows first.",
    ]


def test_rows_get_the_clusters_that_the_library_gives(placed):
    session, _ = placed
    expected = Segmentation(*found_by(session)).assign(rows(extra=1))
    shown = value(session, "assigned")
    for name in ("cluster", "margin", "nowhere"):
        assert_array_equal(shown[name].to_numpy(), expected[name].to_numpy())
    assert_array_equal(shown["cluster"][1:], np.arange(1, 30) % 3 + 1)


def test_shares_count_no_row_that_belongs_nowhere(placed):
    session, _ = placed
    found = value(session, "placed")
    assert [one.then.rows for one in found.clusters] == [20, 20, 20]
    assert found.nowhere.rows >= 1
    inside = sum(one.now.rows for one in found.clusters)
    assert inside + found.nowhere.rows == found.n_rows == 30
    for one in found.clusters:
        assert one.now.low <= one.now.value <= one.now.high


def test_shares_then_are_those_of_rows_that_were_held_out():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 2)), columns=["x", "y"])
    labels = (table["x"] + rng.normal(size=200) > 1).to_numpy(int)
    segmentation = Segmentation(prepare(table), labels)
    found = nodes.placed(None, segmentation, segmentation.assign(table))
    then = np.array([one.then.rows for one in found.clusters])
    expected = segmentation.drift(table).shares["then"].to_numpy()
    np.testing.assert_allclose(then / 200, expected, atol=0.5 / 200)
    assert (then != np.bincount(labels)).all()


def test_wilson_intervals_are_those_of_the_formula():
    share, z = share_of(3, 40), 1.959963984540054
    p, n = 3 / 40, 40
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    assert share.low == pytest.approx(centre - half)
    assert share.high == pytest.approx(centre + half)
    assert (share_of(0, 0).low, share_of(0, 0).high) == (0, 1)


def test_labels_of_files_are_the_numbers_on_screen():
    assert [number_of(k) for k in (-1, 0, 3)] == [NOISE, 1, 4]
    assert [cluster_of(number_of(k)) for k in (-1, 0, 3)] == [-1, 0, 3]


def test_the_page_shows_names_notes_and_rules_and_no_markup_of_them(placed):
    _, (headline, segmentation, table, _, listed, files, *_) = placed
    assert "30 of 30 rows placed" in headline._text.body
    assert "belong nowhere" in headline._text.body
    assert "&lt;i&gt;reds&lt;/i&gt;" in segmentation._text.body
    assert "1 question</b> put <b>100%</b> of the rows" in segmentation._text.body
    assert "100%</b> of held-out rows get their cluster" in segmentation._text.body
    assert "of these 100% are in it" in segmentation._text.body
    assert "Columns not used: extra" in table._text.body.replace("&#x27;", "")
    assert "nowhere" in listed._rows.body
    assert "clusterlens assign b-four-b.lens new.csv" in files._text.body
    bodies = [segmentation._text.body, table._text.body, listed._rows.body]
    assert not any("<i>reds" in body or NAME in body for body in bodies)


def test_the_list_and_the_card_write_the_margin_of_a_row_alike(placed):
    session, (*_, listed, _, _, row) = placed
    new_row = value(session, "new_row")
    shown = f"{new_row.standing.margin:.3f}"
    assert f"margin {shown}:" in row._text.body
    front = listed._rows.body.split("class='front'")[1]
    assert f"<td class='number'>{shown}</td>" in front


def test_the_number_of_prototypes_is_written_like_every_count():
    kept = Some(assigner=Some(rows=range(1000)))
    assert _held(kept).startswith("1\u202f000 rows of the table")


def test_the_list_says_what_orders_rows_of_equal_margins():
    frame = pd.DataFrame(
        {"margin": [0.9, 0.9], "clearness": [1.0, 2.0], "p": [0.5] * 2}
    )
    assert "ordered by how clear" in _ties(frame)
    assert "ordered by row" in _ties(frame.assign(clearness=1.0))
    assert not _ties(frame.assign(margin=[0.8, 0.9]))
    assert not _ties(frame.head(1))


def test_a_column_that_moved_is_named_with_its_means_and_is_a_reason_to_refit():
    table = rows(90, y=np.random.default_rng(2).normal(3, 1, 90))
    session, (headline, _, _, drift, *_) = opened(table)
    assert "Refit:</b> <b>y</b> moved" in headline._text.body
    found = value(session, "drifted")
    expected = Segmentation(*found_by(session)).drift(table)
    pd.testing.assert_frame_equal(found.drift.columns, expected.columns)
    old = session.analysis.result.dataset.table["y"].mean()
    what, then, now = found.columns["y"]
    assert (what, float(now)) == ("mean", pytest.approx(table["y"].mean(), rel=0.01))
    assert float(then.replace("−", "-")) == pytest.approx(old, abs=0.005)
    names = ("<td><b>y</b>", "<td><span>x</span>")
    first, second = map(drift._text.body.index, names)
    assert first < second
    assert "moved</span>" in drift._text.body


def test_rows_that_return_by_their_id_are_followed():
    table = pd.DataFrame({"id": [f"c{i}" for i in range(40)]})
    table["x"] = np.repeat([0.0, 10.0], 20) + np.arange(40) % 7 / 10
    dataset = prepare(make_dataset(table), roles={"id": "row id"})
    clusters = np.repeat([0, 1], 20)
    numbers = ((0, 0), (1, 1))
    kept = KeptPartition(
        "both", AnalysisResult("r1", dataset, {}, "k-means", clusters, numbers)
    )
    found = Segmentation(dataset, clusters + 1, {1: "<b>low", 2: "high"})
    later = table.iloc[::-1].head(30).copy()
    later.loc[later["id"].isin(["c39", "c38"]), "x"] = 0.3
    later.loc[25, "id"] = "new"
    new = make_dataset(later)
    back = returned(found, kept, new, found.assign(new))
    assert (back.n_returned, back.n_gone, back.n_new) == (29, 11, 1)
    assert back.counts.loc[2, 1] == 2
    assert back.n_stayed == 27
    text = _returned(back, found.names)
    assert "<b>29 rows return</b> by their id, 93% to the cluster" in text
    assert "; 2 from high to &lt;b&gt;low. 11 are gone, 1 new." in text
    without = make_dataset(later.drop(columns="id"))
    assert returned(found, kept, without, found.assign(without)) is None


def test_a_like_table_is_no_reason_and_few_rows_tell_nothing():
    even = rows(90).replace({"x": {500.0: 0.0}})
    for table, verdict in ((even, "Keep:"), (rows(9), "Too few rows to tell")):
        _, (headline, *_) = opened(table)
        assert f"<b>{verdict}</b>" in headline._text.body


def test_another_share_is_named_where_the_shares_differ_taken_together():
    even, few = rows(600), rows(600).query("kind != 'red'")
    for table, words in (
        (even, "finds no change in the shares of the clusters"),
        (
            few,
            "clearly different share: <b>cluster 1</b>, <b>cluster 2</b>, ",
        ),
    ):
        _, (headline, *_) = opened(table)
        assert words in headline._text.body
    assert "&lt;i&gt;reds&lt;/i&gt;" in headline._text.body


def shares(then, now, nowhere):
    """Return clusters with so many rows then and now, and rows nowhere."""
    of_then, of_now = sum(then), sum(now) + nowhere
    clusters = tuple(
        ThenAndNow(k + 1, f"c{k}", share_of(a, of_then), share_of(b, of_now))
        for k, (a, b) in enumerate(zip(then, now, strict=True))
    )
    return Placed(clusters, share_of(nowhere, of_now), of_now, (), 0)


@pytest.mark.parametrize(
    ("then", "now", "nowhere", "changed"),
    [
        ((480, 520), (270, 290), 440, ["c0", "c1"]),
        ((480, 520), (460, 495), 45, []),
        ((48, 52), (43, 57), 0, []),
        ((500, 500), (500, 500), 0, []),
        ((500, 300, 200), (500, 450, 50), 0, ["c1", "c2"]),
        ((500_000, 500_000), (501_500, 498_500), 0, []),
        ((30, 30), (), 0, []),
    ],
)
def test_shares_are_said_to_be_as_they_were_only_where_the_bars_are(
    then, now, nowhere, changed
):
    found = shares(then, now or (0,) * len(then), nowhere)
    assert found.changed == changed
    text = _shares(found)
    assert ("finds no change" in text) == (not changed)
    for one in found.clusters:
        assert (f"<b>{one.name}</b>" in text) == (one.name in changed)
    if nowhere and changed:
        assert f"{nowhere / found.n_rows:.0%} of the rows belong to no cluster" in text


def test_a_refit_keeps_names_and_colours_says_what_is_gone_and_is_undone():
    rng = np.random.default_rng(3)
    then = pd.DataFrame({"x": np.repeat([0, 10, 20], 20) + rng.normal(size=60)})
    now = pd.DataFrame({"x": np.repeat([20, 0, 45], 15) + rng.normal(size=45)})

    async def main():
        session = new_session(Server())
        key = session.keep_file(then.to_csv(index=False).encode())
        assert await session.act("load file", name="then.csv", sha256=key)
        pool = [{"clusterer": "k-means", "n_clusters": [2, 3]}]
        assert await session.act("run pool", pool=pool)
        partition = {"kind": "model", "model": 1}
        numbers = [[0, 0], [1, 1], [2, 2]]
        await session.act(
            "choose result", partition=partition, numbers=numbers, on="Clusters"
        )
        whose = session.analysis.result.clusters[[0, 20, 40]]
        for k, name in zip(whose.tolist(), ("<b>low", "mid", "high"), strict=True):
            given = {"kind": "result"}
            await session.act("name cluster", partition=given, cluster=k, name=name)
        assert await session.act("keep segmentation", name=NAME)
        await taken(session, now)
        before = session.analysis
        headline = NewRowsHeadline(session)
        headline.set_visible(True)
        await wait_until_idle(session)
        assert headline._refit.visible
        headline._rows.value = "new"
        await headline._refit_it(None)
        await wait_until_idle(session)
        found = session.analysis
        one = found.segmentations[-1]
        assert (set(one.follows.stays), one.follows.gone, one.follows.new) == (
            {"<b>low", "high"},
            ("mid",),
            ("cluster 4",),
        )
        assert found.result.clusters[[0, 15, 30]].tolist() == [whose[2], whose[0], 3]
        assert [n.text for n in found.cluster_names] == [t for _, t in one.names]
        assert found.table.name == "new.csv"
        assert found.new_table is None
        assert "<b>mid</b> gone" in headline._text.body
        assert "&lt;b&gt;low" in headline._text.body
        assert not headline._refit.visible
        assert value(session, "segmentation").names[4] == "cluster 4"
        await session.act("delete run", id=found.run_id)
        await taken(session, now)
        given = {"of": one.name, "rows": "both", "name": "third"}
        assert not await session.act("refit", **given)
        assert "run of" in session.jobs.notices[-1].text
        for _ in range(3):
            session.undo()
        assert session.analysis is before
        headline.set_visible(False)

    run(main(), 300)


def test_columns_are_told_in_their_own_units():
    days = pd.Series(pd.to_datetime(["2024-01-01", "2024-01-03"]))
    assert then_and_now(days, days) == ("mean", "2024-01-02", "2024-01-02")
    old, new = pd.Series(["a", "a", "b", "c"]), pd.Series(["a", "<b>", "<b>", None])
    assert then_and_now(old, new) == ("= <b>", "0%", "67%")
    assert then_and_now(old[:0], new[:0]) == ("", "–", "–")
    flags = pd.Series([True, True, False, False])
    assert then_and_now(flags, ~flags) == ("= False", "50%", "50%")


def test_a_rule_without_conditions_is_told_as_any_row():
    row = Some(cluster=1, name="most", rows=99, share=0.99)
    rule = Some(is_good=True, text="", precision=0.99, recall=1.0)
    assert "<p>any row</p>" in _cluster(row, rule)


def test_a_change_is_never_told_as_none():
    assert _apart(1.1, 1.1004) == ("1.1", "1.1004")
    assert _apart(0.449, 0.4491) == ("0.449", "0.4491")
    assert _apart(-56, -48) == (_value(-56), _value(-48))
    assert _apart(1e-9, 0.0) == (_value(1e-9), _value(0.0))
    assert _apart(2.0, 2.0) == (_value(2.0), _value(2.0))
    assert _apart("a", "b") == ("a", "b")


def test_gaps_are_told_where_they_are_what_changed():
    then = pd.Series([0.0, 1.0, 2.0, 3.0] * 10)
    now = then.where(np.arange(40) % 4 > 0, np.nan)
    assert then_and_now(then, then + 0.01) == ("mean", "1.5", "1.51")
    # A quarter is missing, and only therefore the mean moved by .44 of a spread.
    assert then_and_now(then, now) == ("gaps", "0%", "25%")
    assert then_and_now(then, now + 2)[0] == "mean"
    now = then.where(np.arange(40) % 20 > 3, np.nan)
    assert then_and_now(then, now) == ("gaps", "0%", "20%")
    words = pd.Series(["a", "b"] * 20, dtype=object)
    assert then_and_now(words, words.mask(np.arange(40) < 10)) == ("gaps", "0%", "25%")
    # A new level adds more than a level that lost as much.
    new = words.mask(np.arange(40) % 8 == 0, "c")
    assert then_and_now(words, new) == ("= c", "0%", "12%")


def test_cells_that_are_not_known_are_counted_in_the_headline():
    table = rows(90)
    table.loc[1:4, "kind"] = "<i>green</i>"
    table.loc[5:6, "y"] = np.nan
    _, (headline, *_) = opened(table)
    assert "6 cells missing or unknown" in headline._text.body
    assert "<i>green" not in headline._text.body
    assert "missing or unknown" not in opened(rows(90))[1][0]._text.body


@pytest.mark.parametrize(
    ("far", "words"),
    [
        (0.07, "; 7% of the rows belong nowhere, 5% expected: within chance"),
        (0.03, ", and 3% of the rows belong nowhere, at most 5% expected"),
        (float("nan"), ""),
    ],
)
def test_a_table_to_keep_never_has_more_rows_nowhere_than_it_says(far, words):
    drift = Some(nowhere=far, nowhere_expected=0.05)
    assert _as_expected(drift) == words


def test_old_rows_lie_under_new_ones_and_crosses_where_rows_belong_nowhere(placed):
    session, (*_, drawn, _) = placed
    found, assigned = value(session, "new_map"), value(session, "assigned")
    old = project(session.analysis.result.dataset)
    assert_array_equal(found.projection.coordinates, old.coordinates)
    assert_array_equal(found.positions, np.arange(30))
    assert_array_equal(found.clusters + 1, assigned["cluster"])
    assert found.n_outside == 1  # the row at 500
    assert_array_equal(found.crosses, found.xy[is_nowhere(assigned)])
    pixels = value(session, "new_map_picture").pixels.reshape(-1, 4)
    shown = set(map(tuple, np.unique(pixels, axis=0).tolist()))
    plain = cluster_colours(np.array([0, 1, 2])).tolist()
    assert {(*colour, 255) for colour in plain} <= shown
    assert "too far out for the map" in drawn._legend.body
    assert "60 old rows" in drawn._legend.body


def test_a_click_on_the_map_reads_the_nearest_row_and_none_in_empty_space(placed):
    session, (*_, drawn, card) = placed
    found = value(session, "new_map")

    async def main():
        drawn._tap(*found.xy[7], 0.01)
        drawn._tap(*(found.xy[7] + 1000), 0.01)
        await wait_until_idle(session)
        assert session.view_state.new_row == 7
        assert "<b>Row 7</b>" in card._text.body
        assert drawn._figure._ring.data["x"] == found.xy[[7], 0]
        card._do("next")
        await wait_until_idle(session)
        order = value(session, "listed_rows").tolist()
        after = order[min(order.index(7) + 1, len(order) - 1)]
        assert value(session, "new_row").position == after
        session.view_state.new_row = None
        await wait_until_idle(session)

    run(main())


def test_a_row_says_why_it_is_there_and_what_it_lies_near_to(placed):
    session, (*_, card) = placed

    async def main():
        session.view_state.new_row = 5
        await wait_until_idle(session)
        read = value(session, "new_row").standing
        assert (read.label, read.far) == (3, False)
        dataset, labels = found_by(session)
        at = [list(dataset.row_ids).index(one) for one in read.near_ids]
        assert_array_equal(labels[at], read.company.clusters)
        first = read.pulls.iloc[0]
        assert first["column"] in ("kind", "x")
        assert "&lt;i&gt;reds&lt;/i&gt;" in card._text.body
        assert "<i>reds" not in card._text.body
        dataset, _ = found_by(session)
        segmentation = Segmentation(*found_by(session))
        changes = smallest_changes(segmentation, rows(extra=1).iloc[[5]], dataset)
        shown = value(session, "new_changes")
        assert_array_equal(shown["change to"], changes["change to"])
        assert "What it would take" in card._text.body
        session.view_state.new_row = 0
        await wait_until_idle(session)
        assert "Belongs nowhere" in card._text.body

    run(main())


@pytest.mark.parametrize("rule", ["density", "neighbours"])
def test_a_row_of_noise_says_that_no_cluster_reaches_it(rule):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(c, 0.3, (150, 2)) for c in (0.0, 4.0)])
    labels = np.repeat([0, 1, NOISE], 150)
    if rule == "density":
        X = np.vstack([X, rng.uniform(-3, 7, (150, 2))])
        labels = HDBSCAN(15, copy=True).fit_predict(X)
    else:
        X = np.vstack([X, rng.normal((-2.5, 6.5), 0.3, (150, 2))])
    segmentation = Segmentation(prepare(pd.DataFrame(X, columns=["x", "y"])), labels)
    assert segmentation.assigner.rule == rule
    far = pd.DataFrame({"x": [-2.5], "y": [6.5]})
    assigned = segmentation.assign(far)
    assert assigned["cluster"].tolist() == [NOISE]
    near = company(
        segmentation.assigner, features_of(segmentation, far).X[0], NOISE, ALPHA
    )
    noise = Standing(NOISE, 0.5, 0, False, near, (), None)
    text = _belongs(noise, segmentation)
    assert "no cluster reaches it" in text
    assert ("where all clusters end" in text) == (rule == "density")
    (row,) = assigned.itertuples()
    assert "title='no cluster reaches it'" in _line(0, False, row, False, segmentation)


def test_the_least_sure_row_comes_first_and_those_of_nowhere_on_request(placed):
    session, _ = placed
    assigned = value(session, "assigned")
    order = value(session, "listed_rows")
    keys = assigned.iloc[order][["margin", "clearness", "p"]].to_numpy(float)
    assert [tuple(row) for row in keys] == sorted(map(tuple, keys))

    async def main():
        session.view_state.new_rows_first = "nowhere"
        await wait_until_idle(session)
        found = value(session, "listed_rows")
        session.view_state.new_rows_first = "least sure"
        await wait_until_idle(session)
        return found

    assert 0 in run(main())


def test_files_hold_the_rows_as_read_and_open_again(placed):
    _, (_, _, _, _, _, files, *_) = placed
    found = files._found
    table = pd.read_csv(io.BytesIO(FILES["csv"].make(found)), index_col=0)
    assert table.columns[:4].tolist() == ["kind", "y", "x", "extra"]
    assert_array_equal(table["cluster"], found.assigned["cluster"])
    parquet = pd.read_parquet(io.BytesIO(FILES["parquet"].make(found)))
    assert_array_equal(parquet["cluster"], found.assigned["cluster"])
    assert b"CASE" in FILES["sql"].make(found)
    book = load_workbook(io.BytesIO(FILES["excel"].make(found)))
    cells = [str(cell.value) for sheet in book for row in sheet for cell in row]
    assert found.typing.questions[0].source.name in cells
    assert any(cell.startswith("=") for cell in cells)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kept.lens"
        path.write_bytes(FILES["segmentation"].make(found))
        again = load_segmentation(path).assign(found.table)
    assert_array_equal(again["cluster"], found.assigned["cluster"])


def test_files_of_a_segmentation_have_all_of_its_name():
    async def main():
        session = planted()
        assert await kept(session, "DBSCAN eps=0.38")
        files = AssignedFiles(session)
        files.set_visible(True)
        await wait_until_idle(session)
        assert "clusterlens assign DBSCAN-eps-0.38.lens " in files._text.body
        files.set_visible(False)

    run(main())


def test_a_table_without_its_columns_is_refused_with_their_names():
    _, (headline, _, table, drift, listed, files, *_) = opened(
        rows().drop(columns=["x", "kind"])
    )
    text = table._text.body.replace("&#x27;", "")
    assert "cannot be placed" in text
    assert "x" in text
    assert "kind" in text
    assert "cannot be placed" in headline._text.body
    assert listed._rows.body == drift._text.body == ""
    assert "Load a new table" in drift.status.body
    assert "cl-take-csv" not in files._text.body
    assert "cl-take-segmentation" in files._text.body


def test_a_file_dropped_on_the_page_is_a_new_table_and_elsewhere_another_analysis():
    content = rows().to_csv(index=False).encode()

    async def main():
        session = planted()
        await kept(session)
        taker = _taker(session)
        for page in ("new-rows", "data"):
            session.view_state.page = page
            upload = Upload("new.csv", len(content), 0, taker.rows_of)
            # The drop zone decides, not the page that is open at the reading.
            session.view_state.page = "clusters"
            coming = asyncio.create_task(session.receive(upload))
            upload._pieces, upload._missing = [content], 0
            upload._came.set()
            assert await coming
            await wait_until_idle(session)
            yield_ = session.analysis
            if page == "new-rows":
                assert yield_.new_table.name == "new.csv"
                assert yield_.table.name == "planted"
            else:
                assert yield_.table.name == "new.csv"
                assert yield_.new_table is None

    run(main())


def test_another_sheet_of_the_new_table_is_chosen_and_said_in_the_script():
    file = io.BytesIO()
    with pd.ExcelWriter(file) as writer:
        rows(12).to_excel(writer, sheet_name="one", index=False)
        rows(9).to_excel(writer, sheet_name="two", index=False)

    async def main():
        session = planted()
        assert await kept(session)
        key = session.keep_file(file.getvalue())
        assert await session.act("take new table", name="new.xlsx", sha256=key)
        card = NewTable(session)
        card.set_visible(True)
        await wait_until_idle(session)
        assert (card._part.visible, card._part.options) == (True, ["one", "two"])
        await card._read_part("two")
        await wait_until_idle(session)
        assert len(session.analysis.new_table.table) == 9
        assert card._part.value == "two"
        lines = Lines()
        _write_new_table(lines, session.history.done[-1], session.analysis)
        assert "sheet='two'" in lines.written([lines.name("new_table")])[1][0]
        session.undo()
        await wait_until_idle(session)
        assert card._part.value == "one"
        card.set_visible(False)

    run(main())


def test_what_separates_the_cells_of_the_new_table_is_chosen():
    # Bars split the lines as evenly as semicolons do, and are rarer in words.
    text = "kind;y;x;z|1|2|3\n" + "".join(
        f"{kind};{y};{x};0|1|2|3\n"
        for kind, y, x in rows(12)[["kind", "y", "x"]].itertuples(index=False)
    )

    async def main():
        session = planted()
        assert await kept(session)
        key = session.keep_file(text.encode())
        assert await session.act("take new table", name="new.csv", sha256=key)
        card = NewTable(session)
        card.set_visible(True)
        await wait_until_idle(session)
        assert (card._part.visible, card._part.value) == (True, "|")
        assert "cannot be placed" in card._text.body
        assert "Cells separated by" in card._text.body
        await card._read_part(";")
        await wait_until_idle(session)
        assert list(session.analysis.new_table.table)[:3] == ["kind", "y", "x"]
        assert card._part.value == ";"
        assert not card._part.visible  # its columns were recognised
        lines = Lines()
        _write_new_table(lines, session.history.done[-1], session.analysis)
        assert "separator=';'" in lines.written([lines.name("new_table")])[1][0]
        card.set_visible(False)

    run(main())


def test_how_the_new_table_is_written_can_be_said():
    table = rows(12).round()
    table["x"] = [f"{2000 + 50 * x:,.0f}" for x in table["x"]]
    table["y"] = table["y"].astype(int)

    async def main():
        session = planted()
        assert await kept(session)
        text = table.to_csv(index=False, sep=";").encode()
        key = session.keep_file(text)
        assert await session.act("take new table", name="new.csv", sha256=key)
        card = NewTable(session)
        card.set_visible(True)
        await wait_until_idle(session)
        decimal = card._writing["decimal"]
        assert session.analysis.new_table.table["x"].min() < 10
        assert not decimal.visible
        assert "read otherwise" in card._about.body
        card._open("open")
        await wait_until_idle(session)
        assert (decimal.visible, decimal.value) == (True, "")
        await card._write("decimal", ".")
        await wait_until_idle(session)
        assert session.analysis.new_table.table["x"].min() > 900
        assert decimal.value == "."
        lines = Lines()
        _write_new_table(lines, session.history.done[-1], session.analysis)
        assert "decimal='.'" in lines.written([lines.name("new_table")])[1][0]
        await card._write("encoding", "cp1252")
        await wait_until_idle(session)
        assert card._writing["encoding"].value == "cp1252"
        assert decimal.value == "."
        await card._write("decimal", "")
        session.undo()
        await wait_until_idle(session)
        assert decimal.value == "."
        assert not await session.act(
            "take new table", name="new.csv", sha256=key, encoding="runes"
        )
        card.set_visible(False)

    run(main())


def test_what_is_kept_is_found_again_when_the_analysis_is_opened(tmp_path):
    server = Server(store := Store(tmp_path))

    async def main():
        session = new_session(server)
        session.history.do(planted().history.steps[-1])
        assert await kept(session)
        await taken(session, rows())
        await session.memory.settled()
        before = session.analysis
        (entry,) = store.entries()
        assert entry.about["segmentations"] == [NAME]
        other = new_session(server)
        recent = Recent(other)
        recent.set_visible(True)
        await recent._task
        assert "for new rows: &lt;b&gt;four&lt;/b&gt;" in recent.text.body
        assert await other.open(session.memory.analysis)
        (one,), (again,) = before.segmentations, other.analysis.segmentations
        assert (again.name, again.names) == (one.name, one.names)
        assert_array_equal(again.result.clusters, one.result.clusters)
        assert again.holds(other.analysis.result)
        pd.testing.assert_frame_equal(
            other.analysis.new_table.table, before.new_table.table
        )

    run(main())


def test_undo_of_a_refit_brings_back_run_links_and_names_in_another_process(tmp_path):
    server = Server(Store(tmp_path))
    rng = np.random.default_rng(3)
    then = pd.DataFrame({"x": np.repeat([0, 10, 20], 20) + rng.normal(size=60)})
    now = pd.DataFrame({"x": np.repeat([20, 0, 45], 15) + rng.normal(size=45)})

    async def main():
        session = new_session(server)
        key = session.keep_file(then.to_csv(index=False).encode())
        assert await session.act("load file", name="then.csv", sha256=key)
        pool = [{"clusterer": "k-means", "n_clusters": [3, 4]}]
        assert await session.act("run pool", pool=pool)
        session.act_now("add link", kind="must", a=0, b=59)
        assert await kept(session)
        await taken(session, now)
        before = session.analysis
        assert len(before.links) == 1
        assert len(before.cluster_names) == 1
        assert await session.act("refit", of=NAME, rows="new", name="again")
        assert session.analysis.table.name == "new.csv"
        assert not session.analysis.links
        await session.memory.settled()

        other = new_session(server)
        assert await other.open(session.memory.analysis)
        assert other.analysis.segmentations[0].name == NAME
        assert other.analysis.table.name == "new.csv"
        other.undo()
        await wait_until_idle(other)
        back = other.analysis
        assert back.table.name == "then.csv"
        assert (back.links, back.cluster_names) == (before.links, before.cluster_names)
        assert [one.name for one in back.segmentations] == [NAME]
        assert back.run_id == before.run_id
        for one, same in zip(
            back.runs[-1].ensemble.labels, before.runs[-1].ensemble.labels, strict=True
        ):
            assert_array_equal(one, same)
        assert_array_equal(back.result.clusters, before.result.clusters)

    run(main(), 300)


def test_the_report_lists_what_is_kept_and_what_was_placed(placed):
    session, _ = placed
    section = SECTIONS["new rows"]
    rules, kept = value(session, "cluster_rules"), value(session, "kept_partition")
    found = Some(analysis=session.analysis, kept=kept, rules=rules)
    assert not section.lacks(found)
    text = section.write(found)
    assert "&lt;b&gt;four&lt;/b&gt;</td><td>a k=3</td><td>3 clusters</td>" in text
    assert "new.csv, 30 rows" in text
    reached = f"{rules.right:.0%} of {rules.assigned.sum()} rows that they were not"
    assert f"Rules of &lt;b&gt;four&lt;/b&gt; put {reached}" in text
    assert "<b>&lt;i&gt;reds&lt;/i&gt;</b>: " in text
    assert "no result is kept" in section.lacks(Some(analysis=planted().analysis))


def test_the_page_says_what_comes_first():
    session = planted()

    async def main():
        page = NewRowsPage(session)
        page.set_visible(True)
        await wait_until_idle(session)
        headline = page.cards[0]
        assert "Choose a result on Clusters" in headline._text.body
        assert not headline._keep.visible
        assert not page._body.visible
        await session.act(
            "choose result",
            partition={"kind": "model", "model": 0},
            numbers=[[0, 0], [1, 1], [2, 2]],
            on="Clusters",
        )
        await wait_until_idle(session)
        assert headline._keep.visible
        await headline._keep_result(None)
        await wait_until_idle(session)
        assert session.analysis.segmentations[0].name == "a k=3"
        assert page._body.visible
        assert not headline._keep.visible
        assert "waits for new rows" in headline._text.body
        page.set_visible(False)

    run(main())


@pytest.mark.parametrize(
    ("found", "colour", "words"),
    [
        (GOOD, "primary", ""),
        (
            replace(GOOD, stability=again(NONE)),
            "warning",
            "It cannot be defended as groups. 0 of 3 clusters found again",
        ),
        (
            replace(GOOD, null_check=None, stability=again((1, 0, 0))),
            "warning",
            "Not decided yet. 1 of 3 clusters found again",
        ),
    ],
)
def test_what_speaks_against_a_result_is_said_before_it_is_kept(found, colour, words):
    session, empty = planted(), Result("empty")

    async def main():
        page = NewRowsPage(session)
        page.set_visible(True)
        (headline, *_) = page.cards
        partition, numbers = {"kind": "model", "model": 0}, [[0, 0], [1, 1], [2, 2]]
        assert await session.act(
            "choose result", partition=partition, numbers=numbers, on="Clusters"
        )
        headline.show(
            run_id="r1",
            result=session.analysis.result,
            kept_partition=None,
            new_table=empty,
            placed=empty,
            drifted=empty,
            segmentations=Result("ready", ()),
            export_verdict=Result("ready", weigh_result(found)),
        )
        assert headline._keep.color == colour
        assert words in headline._text.body
        assert ("Before you keep it" in headline._text.body) == bool(words)
        page.set_visible(False)

    run(main())
