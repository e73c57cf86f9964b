"""Tests of the page Clusters: a partition chosen, read, named, kept, compared."""

import io
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from clusterlens.compute.consensus.closest import closest_cut
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.ui.components.tab import effect_rows
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.clusters.nodes import LEFT_OUT
from clusterlens.ui.pages.clusters.page import ClustersPage
from clusterlens.ui.pages.clusters.profiles import _cell, _stability_note
from clusterlens.ui.pages.consensus.sample_map import SampleMap
from clusterlens.ui.pages.consensus.selection_tab import SelectionTab
from clusterlens.ui.state.analysis import ClusterName, Run
from clusterlens.ui.state.partitions import (
    Called,
    Choice,
    choice_from,
    functions_for,
    named,
    names_of,
)
from clusterlens.ui.state.view_parameters import Brush, Viewport
from clusterlens.ui.widgets.toolkit import safe
from tests.ui.loop import run, wait_until_idle
from tests.ui.test_session import session_with

# Panel's table is not yet ready for pandas 4.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")

GROUPS = np.repeat([0, 1, 2], 20)


def planted(*, labels=True):
    """Return a session with three groups that three models find and a fourth splits."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "x": GROUPS * 10 + rng.normal(size=60),
            "y": rng.normal(size=60),
            "kind": np.where(GROUPS == 2, "red", "blue"),
        },
        index=[f"row {i}" for i in range(60)],
    )
    split = np.where((GROUPS == 0) & (np.arange(60) % 2 == 0), 3, GROUPS)
    ensemble = Ensemble(
        [GROUPS, 2 - GROUPS, GROUPS, split],
        ["a k=3", "b k=3", "c k=3", "d k=4"],
        ["k-means", "k-means", "mixture", "mixture"],
        specs=[{"clusterer": "k-means", "n_clusters": k} for k in (3, 3, 3, 4)],
        seconds=[0.01] * 4,
    )
    if labels:
        table["truth"] = np.array(["t", "u", "v"])[GROUPS]
    made = make_dataset(table, name="planted", label="truth" if labels else None)
    prepared = prepare(made, roles={"kind": "categorical"})
    session = session_with(Run("r1", "run 1", prepared, (), 0, ensemble))
    session.view_state.partition = "consensus"
    return session


def opened(session, then):
    """Open the page, wait, and return the output of `then(page)`."""

    async def main():
        page = ClustersPage(session)
        session.view_state.compare_view = Viewport(width=80, height=60)
        page.set_visible(True)
        await wait_until_idle(session)
        return await then(page)

    return run(main(), 300)


def panel(page, name):
    return next(one for one in page.cards if type(one).__name__ == name)


def value(session, name):
    result = session.derived.get(name)
    assert result.ready, (name, result)
    return result.value


def test_the_consensus_begins_with_the_cut_that_the_models_agree_with_most():
    session = planted()
    groups, rng = np.arange(60) % 4, np.random.default_rng(1)
    wrong = rng.random((6, 60)) < 0.2
    seen = np.where(wrong, rng.integers(0, 4, wrong.shape), groups)
    ensemble = Ensemble([*seen, *[groups // 2] * 4])
    made = replace(session.analysis.run, ensemble=ensemble)
    session = session_with(made)
    session.view_state.partition = "model"

    async def then(page):
        assert value(session, "ensemble").n_clusters[value(session, "reference")] == 2
        cuts = panel(page, "KEvidence")
        assert "closest" not in cuts._cuts.body + cuts._heads.body
        session.view_state.partition = "consensus"
        await wait_until_idle(session)
        assert value(session, "choice").k == 4 == closest_cut(ensemble).n_clusters
        assert cuts._slider.value == 4
        assert "closest to the models" in cuts._heads.body
        marked = re.findall("aria-label='([^']*closest[^']*)'", cuts._cuts.body)
        assert marked == ["4 clusters, closest to the models"]
        session.view_state.partition_k = 3
        await wait_until_idle(session)
        assert value(session, "choice").k == 3
        assert marked == re.findall("aria-label='([^']*closest[^']*)'", cuts._cuts.body)

    opened(session, then)


def test_the_page_begins_with_the_consensus_as_it_was_planted():
    session = planted()

    async def then(page):
        chosen = value(session, "chosen")
        assert chosen.title == "consensus tree k=3"
        assert np.array_equal(np.unique(chosen.clusters), [0, 1, 2])
        assert (pd.crosstab(chosen.clusters, GROUPS).to_numpy() > 0).sum() == 3
        text = panel(page, "PartitionBar")._text.body
        assert "3 clusters" in text
        assert "60 samples" in text
        assert not panel(page, "PartitionBar")._keep.disabled

    opened(session, then)


def test_the_saved_rows_have_the_clusters_and_names_of_the_page():
    session = planted()

    async def then(page):
        name, make = panel(page, "PartitionBar")._labelled()
        assert name == "planted - clusters.csv"
        saved = pd.read_csv(io.BytesIO(make()), index_col=0)
        chosen = value(session, "chosen")
        assert list(saved.index) == [f"row {i}" for i in range(60)]
        assert_array_equal(saved["cluster"], chosen.clusters + 1)
        assert_array_equal(
            saved["cluster name"], [chosen.names[k] for k in chosen.clusters]
        )

    opened(session, then)


def test_the_slider_cuts_the_tree_and_larger_halves_keep_their_colour():
    session = planted()

    async def then(page):
        before = value(session, "chosen").clusters
        slider = panel(page, "KEvidence")._slider
        assert slider.value == 3
        slider.value = 4
        await wait_until_idle(session)
        after = value(session, "chosen").clusters
        assert session.view_state.partition_k == 4
        assert set(before) < set(after)
        moved = before != after
        assert set(after[moved]) == set(after) - set(before)
        slider.value = 2
        await wait_until_idle(session)
        assert len(value(session, "chosen").sizes) == 2

    opened(session, then)


def test_the_slider_has_the_number_of_clusters_of_any_partition():
    session = planted()
    n_clusters = session.analysis.run.ensemble.n_clusters
    few, many = int(np.argmin(n_clusters)), int(np.argmax(n_clusters))
    assert n_clusters[few] < n_clusters[many]
    session.view_state.param.update(partition="model", model=many)

    async def then(page):
        slider = panel(page, "KEvidence")._slider
        for model in (many, few):
            session.view_state.model = model
            await wait_until_idle(session)
            assert slider.value == n_clusters[model]
            assert session.view_state.partition_k is None

    opened(session, then)


def test_the_slider_leads_on_to_twenty_clusters_and_keeps_the_closest_cut_in_sight():
    session = planted()
    groups, rng = np.arange(60) % 15, np.random.default_rng(1)
    wrong = rng.random((8, 60)) < 0.1
    seen = np.where(wrong, rng.integers(0, 15, wrong.shape), groups)
    session = session_with(replace(session.analysis.run, ensemble=Ensemble(seen)))
    session.view_state.partition = "consensus"

    async def then(page):
        cuts = panel(page, "KEvidence")
        assert value(session, "choice").k == 15
        for k, last in ((15, 17), (4, 15), (14, 16), (19, 20), (20, 20)):
            cuts._slider.value = k
            await wait_until_idle(session)
            assert len(value(session, "chosen").sizes) == k
            assert cuts._slider.end == last
            assert cuts._cuts.body.count("<button") == last - 1
            assert "15 clusters, closest to the models" in cuts._cuts.body

    opened(session, then)


def test_a_partition_that_is_being_made_cannot_be_taken_yet():
    session = planted()

    async def then(page):
        bar = panel(page, "PartitionBar")
        assert not bar._keep.disabled
        assert not bar._choose.disabled
        session.view_state.partition_k = 4
        assert session.derived.get("chosen").state == "pending"
        assert bar._keep.disabled
        assert bar._choose.disabled
        await wait_until_idle(session)
        assert not bar._keep.disabled
        assert not bar._choose.disabled

    opened(session, then)


def test_nothing_moves_while_another_number_of_clusters_is_made():
    session, moved = planted(), []

    async def then(page):
        for shown in page.view.select():
            shown.param.watch(moved.append, "visible")
        for k in (2, 5):
            session.view_state.param.update(partition="consensus", partition_k=k)
            await wait_until_idle(session)

    opened(session, then)
    assert not moved


def test_a_model_the_given_labels_and_a_group_can_be_read():
    session = planted()
    view_state = session.view_state

    async def then(page):
        bar = panel(page, "PartitionBar")
        bar._kinds.value = "model"
        await wait_until_idle(session)
        bar._models.value = 3
        await wait_until_idle(session)
        assert value(session, "chosen").title == "d k=4"
        assert len(value(session, "chosen").sizes) == 4
        bar._kinds.value = "labels"
        await wait_until_idle(session)
        assert sorted(value(session, "chosen").names.values()) == ["t", "u", "v"]
        view_state.brush = Brush(np.arange(25), "box on the map")
        bar._kinds.value = "group"
        await wait_until_idle(session)
        assert value(session, "chosen").sizes == {0: 25, 1: 35}
        assert "25 samples" in bar._text.body
        view_state.param.update(page="consensus", brush=Brush(np.arange(9), "box"))
        SelectionTab(session)._open.clicks += 1
        await wait_until_idle(session)
        assert view_state.page == "clusters"
        assert value(session, "chosen").sizes == {0: 9, 1: 51}

    opened(session, then)


@pytest.mark.parametrize("noise", ["cluster", "singletons", "silent"])
def test_noise_is_shown_as_a_group_whatever_it_means(noise):
    labels = [np.where(np.arange(60) % 6 == 0, -1, GROUPS), 2 - GROUPS, GROUPS]
    ensemble = Ensemble(labels, noise=noise)
    session = session_with(
        Run("r1", "run 1", planted().analysis.run.dataset, (), 0, ensemble)
    )

    async def then(page):
        session.view_state.param.update(partition="model", model=0)
        await wait_until_idle(session)
        held = value(session, "chosen_held")
        assert sorted(held.clusters.tolist()) == [-1, 0, 1, 2]
        assert held.sizes.sum() == 60
        body = panel(page, "ClusterProfilesTable")._table.body
        assert body.count("data-do='cluster -1'") == 2
        assert session.jobs.notices == ()

    opened(session, then)


def test_what_a_model_left_out_is_no_noise_on_any_page():
    labels = np.array([GROUPS, GROUPS, 2 - GROUPS])
    ensemble = Ensemble(labels, missing=np.arange(180).reshape(3, 60) % 5 == 0)
    base = planted().analysis.run
    session = session_with(Run("r1", "run 1", base.dataset, (), 0, ensemble))

    async def then(page):
        session.derived.watch(["model_names"], lambda results: None)
        session.view_state.param.update(partition="model", model=1)
        await wait_until_idle(session)
        assert value(session, "model_names") == {-1: LEFT_OUT}
        assert f"12 samples {LEFT_OUT}." in panel(page, "PartitionBar")._text.body
        assert "left out by a model" in panel(page, "Comparison")._text.body
        shared, found = value(session, "shared"), value(session, "comparison")
        assert_array_equal(shared.at, np.flatnonzero(~ensemble.missing[1]))
        assert_array_equal(shared.changed, shared.at[found.changed])
        assert found.table.to_numpy().sum() == 48

    opened(session, then)


def test_a_group_of_nothing_is_not_turned_to():
    session = planted()

    async def then(page):
        panel(page, "PartitionBar")._kinds.value = "group"
        await wait_until_idle(session)
        assert session.view_state.partition == "consensus"
        assert panel(page, "PartitionBar")._kinds.value == "consensus"
        assert "Select some samples" in session.jobs.notices[0].text

    opened(session, then)


def test_given_labels_are_offered_only_where_there_are_some():
    session = planted(labels=False)

    async def then(page):
        assert "Given label" not in panel(page, "PartitionBar")._kinds.options
        assert "given labels" not in panel(page, "Comparison")._with.options

    opened(session, then)


def test_a_kept_partition_joins_the_ranking_of_a_copy_and_undo_takes_it_back():
    session = planted()

    async def then(page):
        bar = panel(page, "PartitionBar")
        bar._name.value_input = "mine"
        await bar._keep_it(None)
        await wait_until_idle(session)
        run_ = session.analysis.run
        assert run_.ensemble.names[-1] == "mine"
        assert run_.ensemble.families[-1] == "consensus"
        assert run_.kept[0]["partition"]["kind"] == "consensus"
        assert value(session, "chosen").title == "mine"
        session.undo()
        assert session.analysis.run.ensemble.n_partitions == 4

    opened(session, then)


def test_a_taken_name_is_refused():
    session = planted()

    async def then(page):
        bar = panel(page, "PartitionBar")
        bar._name.value_input = "a k=3"
        await bar._keep_it(None)
        assert "taken" in session.jobs.notices[0].text
        assert len(session.analysis.runs) == 1

    opened(session, then)


def test_a_name_travels_to_models_that_share_most_of_its_rows():
    session = planted()

    async def then(page):
        apart = panel(page, "DistinguishingColumns")
        session.view_state.cluster = int(value(session, "chosen").clusters[40])
        await wait_until_idle(session)
        await apart._rename("the  <far> ones")
        await wait_until_idle(session)
        assert apart._name.value == "the <far> ones"
        assert "the &lt;far&gt; ones" in panel(page, "ClusterProfilesTable")._table.body
        sample_map = SampleMap(session)
        session.view_state.map_view = Viewport(width=80, height=60)
        sample_map.set_visible(True)
        await wait_until_idle(session)
        assert "the &lt;far&gt; ones" in sample_map._legend.body
        session.undo()
        await wait_until_idle(session)
        assert "far" not in sample_map._legend.body
        assert apart._name.value == ""

    opened(session, then)


def test_a_cell_of_the_cross_tab_selects_its_samples():
    session = planted()

    async def then(page):
        compare = panel(page, "Comparison")
        compare._with.value = "model 3"
        await wait_until_idle(session)
        chosen, other = value(session, "chosen"), value(session, "other")
        spoken = [steering.words for steering in compare._steerings]
        for words, one in zip(spoken, (chosen, other), strict=True):
            assert words.startswith(f"Map of 60 samples by {one.title}: cluster 1: ")
        own, beside = int(chosen.clusters[0]), int(other.clusters[0])
        compare._do(f"cell {own} {beside}")
        await wait_until_idle(session)
        assert session.view_state.brush.positions.tolist() == list(range(0, 20, 2))
        assert "10 samples" in compare._text.body
        compare._do("group")
        await wait_until_idle(session)
        assert value(session, "chosen").sizes == {0: 10, 1: 50}

    opened(session, then)


def test_a_model_is_compared_with_the_tree_and_the_tree_with_the_model():
    session = planted()

    async def then(page):
        assert value(session, "other").choice.kind == "model"
        session.view_state.partition = "model"
        await wait_until_idle(session)
        assert value(session, "other").title == "consensus tree k=3"
        assert value(session, "comparison").ari == 1

    opened(session, then)


def test_rows_come_least_typical_first():
    session = planted()
    session.view_state.param.update(partition="model", model=3)

    async def then(page):
        members = value(session, "members")
        assert (np.diff(members.own) >= 0).all()
        session.view_state.typical_first = True
        await wait_until_idle(session)
        assert (np.diff(value(session, "members").own) <= 0).all()
        card = panel(page, "ClusterRows")
        assert "row" in card._rows.body
        # The selection has all rows, whether or not some of them are doubtful.
        total = len(value(session, "members").positions)
        assert re.search(rf"{total} rows, <button[^>]*>select them", card._head.body)
        doubtful = value(session, "members").doubtful
        assert ("with another cluster more" in card._head.body) == (doubtful > 0)

    opened(session, then)


def test_columns_are_found_and_levels_are_shown_with_their_share():
    session = planted()

    async def then(page):
        table = panel(page, "ClusterProfilesTable")._table
        assert "red 100%" in table.body
        session.view_state.profile_query = "KI"
        await wait_until_idle(session)
        assert "kind" in table.body
        assert ">y<" not in table.body

    opened(session, then)


def test_what_does_not_differ_from_all_samples_has_no_colour():
    row = {"effect": -0.001, "text": "0%", "level": None}
    assert _cell(pd.Series(row)) == "<td class='cell' title='0.00 sd'>0%</td>"
    assert "background" in _cell(pd.Series({**row, "effect": -0.01}))
    more = {"column": "a", "overall_text": "0%"}
    assert "'0.00 standard" in effect_rows(pd.DataFrame([{**row, **more}]))


def test_stability_is_checked_when_asked_for_and_says_its_runs_and_seed():
    session = planted()

    async def then(page):
        table = panel(page, "ClusterProfilesTable")
        assert "Check stability" in table._note.body
        table._do("stability")
        await wait_until_idle(session)
        assert "bootstrap runs (100 draws, seed 0, " in table._note.body
        assert "found again" in table._table.body
        found = value(session, "chosen_stability")
        part = f"{found.stable.sum()} of {len(found.clusters)} clusters"
        assert f"{part} more than by chance" in table._note.body
        for chance in found.by_chance:
            assert f"in copies without groups reaches {chance:.2f}" in table._table.body

    opened(session, then)


def test_without_a_run_the_page_leads_to_the_pool():
    from clusterlens.ui.composition import new_session
    from clusterlens.ui.server.server import Server

    session = new_session(Server())

    async def then(page):
        bar = panel(page, "PartitionBar")
        assert "Pool" in bar.status.body
        assert not page._cards.visible
        assert not bar._keep.visible

    opened(session, then)


def test_a_choice_survives_plain_values():
    samples = planted().analysis.samples
    for choice in (
        Choice("consensus", k=4, method="sec", obeys=True),
        Choice("model", model=2),
        Choice("labels"),
    ):
        assert choice_from(choice.values(samples), samples) == choice
    group = Choice("group", group=Brush(np.array([3, 5])))
    values = group.values(samples)
    assert values["rows"] == ["row 3", "row 5"]
    assert choice_from(values, samples).group.positions.tolist() == [3, 5]


def test_a_later_name_replaces_the_earlier_of_the_same_rows_and_no_other():
    among = ["a", "b", "c", "d"]
    names = named((), "old", ["a", "b", "c"], among)
    names = named(names, "wider", among, among)
    assert [name.text for name in names] == ["old", "wider"]
    names = named(names, "new", ["c", "b", "a"], among)
    assert [name.text for name in names] == ["wider", "new"]
    assert named(names, "", among, among) == (names[1],)
    # In a run without the row d both names have the same rows.
    assert named(names, "", ["a", "b", "c"], ["a", "b", "c"]) == ()


def test_a_cluster_has_the_name_of_its_rows_and_is_like_that_of_most_of_them():
    clusters = np.array([0, 0, 1, 1, -1])
    name = ClusterName("n", ("r0", "r1", "r2"))
    ids = [f"r{i}" for i in range(5)]
    found = names_of(clusters, ids, [name])
    assert found == {0: Called("n", 2 / 3)}
    assert str(found[0]) == "like n (67%)"
    own = ClusterName("own", ("r0", "r1"))
    for order in ([name, own], [own, name]):
        assert str(names_of(clusters, ids, order)[0]) == "own"
    # Rows outside of the run do not matter.
    beyond = ClusterName("own", ("r0", "r1", "elsewhere"))
    assert str(names_of(clusters, ids, [beyond])[0]) == "own"
    most = Called("n", 305 / 306)
    assert str(most) == "like n (>99%)"
    half = ClusterName("n", ("r0",))
    assert names_of(clusters, ids, [half]) == {}


def test_what_grows_with_the_square_is_offered_for_small_runs_only():
    small = Ensemble(np.zeros((3, 50), int))
    large = Ensemble(np.zeros((3, 20_000), int))
    assert "average" in functions_for(small)
    assert "average" not in functions_for(large)
    assert "kmeans" in functions_for(large)


def test_evidence_for_k_is_found_on_request_and_stands_beside_each_cut(monkeypatch):
    from clusterlens.compute.pool.k_selection import select_k
    from clusterlens.ui.pages.clusters import k_nodes

    session = planted()

    def quick(X, ks, seed, **more):
        few = {"n_resamples": 4, "n_draws": 9, "level": 0.1, "n_jobs": 1}
        return select_k(X, ks, seed, **few, **more)

    monkeypatch.setattr(k_nodes, "select_k", quick)

    async def then(page):
        card = panel(page, "KEvidence")
        assert "Find out" in card._sentence.body
        assert not card._curves.visible
        assert card._axis.styles["min-height"] == "0px"
        least = page._numbers.styles["min-height"]
        assert "spare" in card._heads.body
        session.derived.ask("k_selection")
        await wait_until_idle(session)
        assert "stand" in card._sentence.body
        assert "60 samples, 9 draws, seed 0, " in card._sentence.body
        assert card._cuts.body.count("strip-of-k") == 3
        assert "CDF of the consensus, k = 3" in card._curves.body
        # Each row has room for a line of text, the long sentence is folded, and low
        # pages, too, say what the columns are.
        rows = card._cuts.body.count("<div class='row-of-k")
        assert card._axis.styles["min-height"] == f"{17 * rows}px"
        room = int(re.search(r"(\d+)px\)$", page._numbers.styles["min-height"])[1])
        assert least in page._numbers.styles["min-height"]
        assert room >= 17 * rows + 100
        selection = session.derived.get("k_selection").value
        shown, folded = card._sentence.body.split("</summary>")
        first, why = selection.sentence.split(": ", 1)
        assert first in shown
        assert "why?" in shown
        assert why[1:] not in shown
        assert safe(why[1:]) in folded
        assert "spare" not in card._heads.body
        assert "Gaussian" in card._heads.body
        session.view_state.param.update(group=Brush(np.arange(9)), partition="group")
        await wait_until_idle(session)
        assert not page._numbers.visible

    opened(session, then)


def test_a_cluster_is_clustered_again_and_its_run_stands_beside_the_one_before():
    session = planted()

    async def then(page):
        bar = panel(page, "PartitionBar")
        assert "Cluster the 20 rows of cluster 1 again" in bar._text.body
        session.view_state.cluster = 1
        await wait_until_idle(session)
        rows = np.flatnonzero(value(session, "chosen").clusters == 1)
        assert f"Cluster the {len(rows)} rows" in bar._text.body
        await bar._do("again")
        await wait_until_idle(session)
        run = session.analysis.run
        assert list(run.dataset.row_ids) == [f"row {i}" for i in rows]
        assert abs(run.dataset.X.mean(axis=0)).max() < 1e-9
        found = value(session, "compared_run")
        assert found.run.id == "r1"
        assert found.found.n_shared == len(rows)
        assert "20 shared samples" in bar._text.body
        assert bar._beside.visible
        if len(found.changed):
            bar._do("changed")
            assert len(session.view_state.brush) == len(found.changed)
        session.undo()
        await wait_until_idle(session)
        assert session.analysis.run.id == "r1"

    opened(session, then)


def test_no_model_is_denied_while_the_closest_is_looked_for():
    chosen, none = object(), Result("empty")
    looking = _stability_note(chosen, Result("pending"), none)
    assert "looking for the closest model" in looking
    assert "no model was fitted" in _stability_note(chosen, none, none)
