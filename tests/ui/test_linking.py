"""Tests of links on the page Consensus without a browser."""

import asyncio
import re
import threading
from dataclasses import replace

import numpy as np
import pytest
from bokeh.events import SelectionGeometry
from bokeh.palettes import Viridis256

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.robustness import rank_robustness
from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.compute.table.examples import load_example
from clusterlens.ui.components import card
from clusterlens.ui.components.commands import link_from, press
from clusterlens.ui.composition import new_session
from clusterlens.ui.figures.map_frame import DIMMED
from clusterlens.ui.pages.consensus.page import ConsensusPage
from clusterlens.ui.results.links import column_deviations, differences
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.analysis import EVIDENCE, Analysis, Run
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.view_parameters import Brush, Viewport
from tests.ui.loop import run, wait_until_idle

# Deprecated calls of the widget set and of Bokeh.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The inplace keyword"),
    pytest.mark.filterwarnings("ignore:Both 'variant' and 'button_style'"),
]
POOL = ({"clusterer": "k-means", "n_clusters": [2, 3]},)


def cut_iris() -> Analysis:
    """Return a run on iris with models that cut one column each into 2 to 4 parts."""
    dataset = prepare(load_example("iris"))
    cuts = [(column, k) for column in dataset.X.T for k in (2, 3, 4)]
    quantiles = [np.quantile(column, np.arange(1, k) / k) for column, k in cuts]
    labels = [np.digitize(c, q) for (c, _), q in zip(cuts, quantiles, strict=True)]
    families = [f"column {k // 3}" for k in range(len(labels))]
    ensemble = Ensemble(labels, families=families)
    made = Run("r1", "run 1", dataset, POOL, 0, ensemble)
    return Analysis(dataset, {}, dataset, (made,), 1, "r1")


class Opened:
    """A session with a run of iris, shown by the page Consensus."""

    def __init__(self) -> None:
        self.session = new_session(Server())
        self.page = ConsensusPage(self.session)
        self.page.set_visible(True)
        named = {type(panel).__name__: panel for panel in self.page.cards}
        self.map, self.headline = named["SampleMap"], named["Headline"]
        self.ranking, self.matrix = named["RankingTable"], named["ConsensusMatrix"]
        self.binarised, self.needed = named["BinarisedMatrix"], named["Threshold"]
        tabs = named["Inspector"].tabs
        for place in tabs.values():
            place.make()
        self.sample, self.selection = tabs["sample"].card, tabs["selection"].card
        tab = tabs["links"].card
        self.pair, self.suggested, self.advice, *last = tab.parts
        self.curve, self.closer, self.made, self.links = last

    async def load(self) -> None:
        self.session.view_state.page = "consensus"
        self.session.history.do(Step("test", "Test", cut_iris()))
        self.session.view_state.param.update(tab="links")
        self.session.view_state.map_view = Viewport(width=300, height=200)
        await self.wait_until_idle()

    async def wait_until_idle(self) -> None:
        await wait_until_idle(self.session)

    async def press(self, *keys: str) -> None:
        for key in keys:
            press(self.session, key)
            await self.wait_until_idle()

    async def tap(self, sample: int) -> None:
        xy = self.session.derived.get("projection").value.coordinates[sample]
        self.map._tap(float(xy[0]), float(xy[1]), 1e-6)
        await self.wait_until_idle()


def run_scenario(scenario):
    async def main():
        opened = Opened()
        await opened.load()
        await scenario(opened)

    run(main())


def test_clicks_pick_a_pair_and_escape_drops_it_from_the_end():
    async def scenario(opened):
        view_state, glyph = opened.session.view_state, opened.map._figure.image
        assert glyph.global_alpha == 1
        await opened.press("l")
        await opened.wait_until_idle()
        assert glyph.global_alpha == DIMMED
        for sample, pair in ((0, (0,)), (60, (0, 60)), (70, (0, 70)), (0, (0, 70))):
            await opened.tap(sample)
            assert view_state.pair == pair
        assert list(opened.map._figure._rings.data["letter"]) == ["A", "B"]
        assert view_state.inspected is None
        await opened.press("escape")
        assert (view_state.pair, view_state.linking) == ((0,), True)
        await opened.press("escape", "escape")
        assert (view_state.pair, view_state.linking) == ((), False)
        await opened.wait_until_idle()
        assert glyph.global_alpha == 1
        await opened.tap(60)
        assert (view_state.pair, view_state.inspected) == ((), 60)

    run_scenario(scenario)


def test_a_box_and_a_lasso_brush_the_samples_within_them():
    async def scenario(opened):
        view_state, figure = opened.session.view_state, opened.map._figure.figure
        xy = opened.session.derived.get("projection").value.coordinates
        low, high = np.quantile(xy, [0.2, 0.6], axis=0)
        within = np.flatnonzero(((xy >= low) & (xy <= high)).all(axis=1))
        (left, bottom), (right, top) = low, high

        def draw(**shape):
            figure._trigger_event(SelectionGeometry(figure, shape, final=True))

        draw(type="rect", x0=left, x1=right, y0=top, y1=bottom)
        await opened.wait_until_idle()
        assert 0 < len(within) < len(xy)
        np.testing.assert_array_equal(view_state.brush.positions, within)
        assert (view_state.brush.source, view_state.tab) == (
            "box on the map",
            "selection",
        )
        draw(type="poly", x=[left, right, right, left], y=[bottom, bottom, top, top])
        await opened.wait_until_idle()
        np.testing.assert_array_equal(view_state.brush.positions, within)
        assert view_state.brush.source == "lasso on the map"

    run_scenario(scenario)


def test_a_key_does_what_it_is_for_on_its_pages_only():
    async def scenario(opened):
        view_state = opened.session.view_state
        view_state.page = "data"
        await opened.press("l", "arrowdown")
        assert not view_state.linking
        assert view_state.model is None
        await opened.press("?")
        assert view_state.help
        view_state.page = "consensus"
        await opened.press("arrowdown")
        assert view_state.model is not None

    run_scenario(scenario)


def test_a_link_is_drawn_charged_and_taken_back_by_undo():
    async def scenario(opened):
        session = opened.session
        codes = session.analysis.ensemble.codes
        leader = session.derived.get("selected").value
        apart = int(np.flatnonzero(codes[leader] != codes[leader][0])[0])
        before = opened.ranking.shown
        await opened.press("l")
        await opened.tap(0)
        await opened.tap(apart)
        assert "row 0" in opened.pair._text.body
        assert "cl-must" in opened.pair._text.body
        opened.pair._text._handle_msg("must")
        await opened.wait_until_idle()
        assert [link.kind for link in session.analysis.links] == ["must"]
        assert session.view_state.pair == ()
        assert len(opened.map._figure._links["must"].data["x0"]) == 1
        assert len(opened.map._figure._links["cannot"].data["x0"]) == 0
        shown = opened.ranking.shown
        broken = shown["values"]["not_kept"]["text"]
        breaks = session.derived.get("ranking").value.violated > 0
        assert "1" in broken
        assert shown["titles"][0].endswith(" of 1 link")
        assert breaks[leader]
        assert "of 1 link" in opened.headline._text.body
        session.undo()
        await opened.wait_until_idle()
        assert opened.ranking.shown == before
        assert len(opened.map._figure._links["must"].data["x0"]) == 0

    run_scenario(scenario)


def test_an_answer_counts_nothing_again_and_all_checks_follow_it():
    async def scenario(opened):
        session = opened.session
        names = ("agreement", "makeups", "threshold_ranks")
        counted = [session.derived.get(name).value for name in names]
        session.act_now("add link", kind="cannot", a=0, b=100)
        session.act_now("add link", kind="must", a=3, b=60)
        await opened.wait_until_idle()
        again = [session.derived.get(name).value for name in names]
        assert all(one is other for one, other in zip(counted, again, strict=True))
        shown = session.derived.get("robustness").value
        links = session.derived.get("constraints").value
        weight = session.analysis.link_weight
        expected = rank_robustness(
            counted[0], constraints=links, constraint_weight=weight
        )
        assert shown.to_frame().equals(expected.to_frame())

    run_scenario(scenario)


def test_the_ranking_follows_an_answer_before_the_loop_goes_on():
    async def scenario(opened):
        session = opened.session
        before = opened.ranking.shown
        session.act_now("add link", kind="cannot", a=0, b=100)
        at_once = opened.ranking.shown
        assert at_once != before
        assert session.derived.get("ranking").value.violated.any()
        await opened.wait_until_idle()
        assert opened.ranking.shown["values"] == at_once["values"]

    run_scenario(scenario)


def test_the_preview_of_an_answer_is_what_the_answer_does():
    async def scenario(opened):
        session = opened.session
        session.act_now("add link", kind="cannot", a=3, b=120)
        await opened.wait_until_idle()
        session.view_state.pair = (0, 70)
        await opened.wait_until_idle()
        read = session.derived.get("pair_reading").value
        before = session.derived.get("ranking").value.ranks
        for kind in ("must", "cannot"):
            session.act_now("add link", kind=kind, a=0, b=70)
            await opened.wait_until_idle()
            ranking = session.derived.get("ranking").value
            answer = read.answers[kind]
            assert answer.leader == ranking.order[0]
            assert answer.rises == (ranking.ranks < before).sum()
            assert answer.falls == (ranking.ranks > before).sum()

    run_scenario(scenario)


def test_an_answer_that_contradicts_is_not_offered_and_its_chain_is_shown():
    async def scenario(opened):
        session = opened.session
        session.act_now("add link", kind="must", a=0, b=1)
        session.act_now("add link", kind="must", a=1, b=2)
        session.view_state.pair = (0, 2)
        await opened.wait_until_idle()
        body = opened.pair._text.body
        assert "cl-refused" in body
        assert "must-link 0 – 1, must-link 1 – 2" in body
        assert "cl-must" in body
        assert "cl-cannot" not in body
        await opened.press("c")
        assert len(session.analysis.links) == 2

    run_scenario(scenario)


def ends_of(opened, source) -> set:
    """Return the links that a source of the map draws, each as a set of two places."""
    data = source.data
    ends = zip(data["x0"], data["y0"], data["x1"], data["y1"], strict=True)
    return {frozenset([(x0, y0), (x1, y1)]) for x0, y0, x1, y1 in ends}


def test_the_chain_of_a_contradiction_is_lit_up_on_the_map():
    async def scenario(opened):
        session, figure = opened.session, opened.map._figure
        xy = session.derived.get("projection").value.coordinates

        def places(*pairs):
            return {frozenset(tuple(xy[i].tolist()) for i in pair) for pair in pairs}

        session.act_now("add link", kind="must", a=0, b=50)
        session.act_now("add link", kind="must", a=50, b=100)
        session.act_now("add link", kind="must", a=7, b=8)
        await opened.wait_until_idle()
        assert ends_of(opened, figure._chain) == set()
        session.view_state.pair = (0, 100)
        await opened.wait_until_idle()
        chain = places((0, 50), (50, 100), (0, 100))
        assert ends_of(opened, figure._chain) == chain
        session.view_state.pair = ()
        await opened.wait_until_idle()
        assert ends_of(opened, figure._chain) == set()
        text = "kind,row_a,row_b\ncannot-link,100,0\n"
        assert not await session.act("import links", text=text)
        await opened.wait_until_idle()
        assert ends_of(opened, figure._chain) == chain
        await opened.press("escape")
        assert ends_of(opened, figure._chain) == set()

    run_scenario(scenario)


def test_the_ranking_shows_the_ranks_won_since_links_that_one_can_choose():
    async def scenario(opened):
        session, ranking = opened.session, opened.ranking

        def ranks():
            return session.derived.get("ranking").value.ranks

        def won():
            return ranking.shown["values"]["model"]["since"]

        def shown():
            at = opened.ranking._rows
            return dict(zip(at.tolist(), won(), strict=True))

        assert set(won()) == {None}
        plain = ranks()
        session.act_now("add link", kind="must", a=0, b=100)
        await opened.wait_until_idle()
        first = ranks()
        assert shown() == {t: plain[t] - first[t] for t in shown()}
        assert any(shown().values())
        opened.ranking._note._handle_msg("now")
        await opened.wait_until_idle()
        assert set(won()) == {None}
        session.act_now("add link", kind="cannot", a=3, b=120)
        await opened.wait_until_idle()
        assert shown() == {t: first[t] - ranks()[t] for t in shown()}
        assert "since there were 1 link" in opened.ranking._note.body
        opened.ranking._note._handle_msg("none")
        await opened.wait_until_idle()
        assert shown() == {t: plain[t] - ranks()[t] for t in shown()}

    run_scenario(scenario)


def test_a_consensus_that_obeys_the_links_joins_the_ranking_or_names_the_rows():
    async def scenario(opened):
        session = opened.session
        assert opened.links._consensus.body == ""
        session.view_state.model = int(np.argmin(session.analysis.ensemble.n_clusters))
        for kind, a, b in (("must", 0, 120), ("cannot", 0, 60), ("cannot", 5, 60)):
            session.act_now("add link", kind=kind, a=a, b=b)
        await opened.wait_until_idle()
        assert "k=2 that obeys" in opened.links._consensus.body
        before = session.analysis.ensemble
        for kept in (1, 2):
            await opened.links._obey("add")
            session.view_state.model = int(np.argmin(before.n_clusters))
            await opened.wait_until_idle()
            assert session.analysis.ensemble.n_partitions == 12 + kept
        made = session.analysis.ensemble
        assert len(set(made.names)) == made.n_partitions
        assert made.n_clusters[-1] == 2
        assert session.derived.get("ranking").value.violated[-1] == 0
        session.act_now("add link", kind="cannot", a=0, b=5)
        await opened.wait_until_idle()
        await opened.links._obey("add")
        await opened.wait_until_idle()
        assert session.analysis.ensemble is made
        assert "rows 0, 5, 60 apart" in session.jobs.notices[0].text
        assert len(ends_of(opened, opened.map._figure._chain)) == 3
        await opened.links._obey("look")
        assert (session.view_state.page, session.view_state.obey_links) == (
            "clusters",
            True,
        )

    run_scenario(scenario)


def test_legends_say_what_lines_and_colours_stand_for():
    async def scenario(opened):
        session, legend = opened.session, opened.map._legend
        assert "link" not in legend.body.split("cl-linking")[0]
        session.act_now("add link", kind="must", a=0, b=149)
        await opened.wait_until_idle()
        assert "must link" in legend.body
        assert "cannot link" not in legend.body.split("cl-linking")[0]
        violated = session.derived.get("ranking").value.violated
        session.view_state.model = int(np.argmax(violated))
        await opened.wait_until_idle()
        assert "broken" in legend.body
        session.view_state.matrix_view = Viewport(width=300, height=300)
        await opened.wait_until_idle()
        linear = opened.matrix._note.body
        assert "joined by no model to all" in linear
        assert Viridis256[0] in linear
        session.view_state.shading = "eq_hist"
        await opened.wait_until_idle()
        assert opened.matrix._note.body != linear

    run_scenario(scenario)


def test_the_legend_says_the_word_of_numbered_clusters_once():
    async def scenario(opened):
        entries = re.findall(r"class='cut'>([^<]+)</span>", opened.map._legend.body)
        assert entries == ["cluster 1", "2", "3"]

    run_scenario(scenario)


def test_a_cell_of_a_zoomed_matrix_is_a_pair():
    async def scenario(opened):
        view_state, matrix = opened.session.view_state, opened.matrix
        order = opened.session.derived.get("order").value
        opened.session.view_state.matrix_view = Viewport(width=300, height=300)
        await opened.press("l")
        matrix.tap(4, 9)
        assert view_state.pair == ()
        assert "Zoom in" in opened.session.jobs.notices[0].text
        opened.session.view_state.matrix_view = Viewport((0, 30), (0, 30), 300, 300)
        matrix.tap(4, 9)
        assert view_state.pair == (order[4], order[9])
        matrix.tap(6, 6)
        assert view_state.pair == (order[4], order[9])
        await opened.press("l")
        matrix.tap(4, 9)
        assert (view_state.pair, view_state.inspected) == ((), order[4])

    run_scenario(scenario)


def test_the_sample_that_is_read_is_crossed_in_both_matrices_and_found_there():
    async def scenario(opened):
        view_state = opened.session.view_state
        view_state.matrix_view = Viewport(width=300, height=300)
        order = opened.session.derived.get("order").value
        crosses = [part.figure._cross for part in (opened.matrix, opened.binarised)]
        for at in (0, 70, len(order) - 1):
            view_state.param.update(inspected=int(order[at]), tab="sample")
            await opened.wait_until_idle()
            assert [list(cross.data["at"]) for cross in crosses] == [[at + 0.5]] * 2
            opened.sample.do("find")
            rows, columns = view_state.matrix_view.zoom
            assert rows == columns
            assert 0 <= rows[0] <= at < rows[1] <= len(order)
            assert np.diff(rows) == 41
            await opened.wait_until_idle()
            assert opened.matrix.figure.view() == view_state.matrix_view.zoom
        view_state.tab = "model"
        await opened.wait_until_idle()
        assert [list(cross.data["at"]) for cross in crosses] == [[], []]

    run_scenario(scenario)


def test_selected_rows_are_clustered_again_from_their_tab():
    async def scenario(opened):
        session, tab = opened.session, opened.selection
        nine = Brush(np.arange(9), "box on the map")
        session.view_state.param.update(brush=nine, tab="selection")
        await opened.wait_until_idle()
        assert tab._again.disabled
        session.view_state.brush = Brush(np.arange(5, 65), "box on the map")
        await opened.wait_until_idle()
        assert not tab._again.disabled
        await tab._cluster_again(None)
        made = session.analysis.run
        assert made.name == "run 1: selection"
        assert list(made.dataset.row_ids) == list(range(5, 65))

    run_scenario(scenario)


def test_a_picked_pair_crosses_both_matrices_and_its_cell_says_what_it_is():
    async def scenario(opened):
        session = opened.session
        session.view_state.matrix_view = Viewport(width=300, height=300)
        order = session.derived.get("order").value
        figures = [opened.matrix.figure, opened.binarised.figure]
        spans = figures[0]._hovered
        assert figures[1]._hovered is spans
        assert not any(span.visible for span in spans)
        await opened.press("l")
        assert all(span.visible for span in spans)
        places = [int(np.flatnonzero(order == sample)[0]) for sample in (3, 60)]
        for n, sample in enumerate((3, 60), start=1):
            await opened.tap(sample)
            for figure in figures:
                np.testing.assert_array_equal(
                    figure._cross.data["at"], np.array(places[:n]) + 0.5
                )
        ensemble = session.analysis.ensemble
        joined = (ensemble.codes[:, 3] == ensemble.codes[:, 60]).sum()
        needed = session.derived.get("threshold_in_force").value
        expected = [
            f"together in {joined} of {ensemble.n_partitions} models",
            "together" if joined >= needed else "apart",
        ]
        hovers = [
            " ".join(figure._cell.data["text"][0].split("\n")) for figure in figures
        ]
        assert hovers == expected
        for part, words in zip(
            (opened.matrix, opened.binarised), expected, strict=True
        ):
            assert f"The pair that is asked about: {words}." in part.steering.words
            # A label that would leave the frame is moved back, near its cell.
            assert part.figure._cell.data["y"] == [min(places) + 0.5]
        # Zoomed to the other cell of the pair, the label is there.
        low, high = min(places), max(places)
        zoom = (low - 2.0, low + 3.0), (high - 2.0, high + 3.0)
        session.view_state.matrix_view = Viewport(*zoom, 300, 300)
        await opened.wait_until_idle()
        assert figures[0]._cell.data["y"] == [high + 0.5]
        await opened.press("escape", "escape", "escape")
        assert [len(figure._cross.data["at"]) for figure in figures] == [0, 0]
        assert [len(figure._cell.data["text"]) for figure in figures] == [0, 0]
        assert not any(span.visible for span in spans)

    run_scenario(scenario)


def test_enter_opens_in_clusters_what_the_inspector_is_about():
    async def scenario(opened):
        session, view_state = opened.session, opened.session.view_state

        async def enter():
            view_state.page = "consensus"
            await opened.press("enter")
            assert view_state.page == "clusters"
            return view_state.partition, view_state.cluster

        view_state.tab = "model"
        assert await enter() == ("auto", None)
        view_state.page = "consensus"
        await opened.press("arrowdown")
        model = view_state.model
        assert await enter() == ("model", None)
        # Results of a newly selected model are not waited for, either.
        view_state.param.update(page="consensus", model=3, partition="auto")
        assert not session.derived.get("clusters").ready
        press(session, "enter")
        assert (view_state.page, view_state.partition) == ("clusters", "model")
        view_state.model = model
        await opened.wait_until_idle()
        clusters = session.derived.get("clusters").value
        for sample in (0, 60):
            view_state.param.update(inspected=sample, tab="sample")
            assert await enter() == ("model", clusters[sample])
        assert view_state.model == model
        # On other pages the key does nothing.
        await opened.press("enter")
        assert view_state.page == "clusters"
        brush = Brush(np.arange(20), "box on the map")
        view_state.param.update(brush=brush, tab="selection", page="consensus")
        assert await enter() == ("group", None)
        assert view_state.group is brush
        view_state.param.update(brush=Brush(), tab="selection")
        assert await enter() == ("model", None)

    run_scenario(scenario)


def test_suggestions_are_answered_and_skipped_one_after_the_other():
    async def scenario(opened):
        session = opened.session
        first, second, third = session.derived.get("suggestions").value[:3]
        opened.suggested._text._handle_msg("{} {}".format(*first.pair))
        assert session.view_state.pair == first.pair
        await opened.press("space")
        assert session.view_state.pair == second.pair
        await opened.press("m")
        assert len(session.analysis.links) == 1
        assert session.view_state.pair == third.pair

    run_scenario(scenario)


def test_the_first_pair_is_asked_for_by_a_key_before_any_was_looked_for():
    async def main():
        opened = Opened()
        session = opened.session
        session.view_state.page = "consensus"
        session.history.do(Step("test", "Test", cut_iris()))
        await opened.wait_until_idle()
        assert not session.derived.get("suggestions").ready
        await opened.press("space")
        first, *_ = session.derived.get("suggestions").value
        assert session.view_state.pair == first.pair
        await opened.press("escape", "escape")
        assert session.view_state.pair == ()
        await opened.press("space", "m")
        assert len(session.analysis.links) == 1

    run(main())


def test_answers_to_suggestions_bring_new_ones_until_there_is_nothing_to_ask():
    async def scenario(opened):
        session = opened.session
        await opened.press("space")
        asked = []
        while session.view_state.pair:
            asked.append(session.view_state.pair)
            assert len(asked) < 200
            # The next batch may or may not be ready before the next answer.
            press(session, "mc"[len(asked) % 3 == 0])
            if len(asked) % 2:
                await opened.wait_until_idle()
        assert len(session.analysis.links) == len(set(asked)) == len(asked) > 6
        assert session.jobs.notices == ()

    run_scenario(scenario)


def test_the_ranks_at_other_thresholds_are_said_to_know_no_answers():
    async def scenario(opened):
        assert "rank of the leaders" in opened.needed._legend.body
        opened.session.act_now("add link", kind="must", a=0, b=70)
        await opened.wait_until_idle()
        assert "rank by the pool alone" in opened.needed._legend.body

    run_scenario(scenario)


def test_the_list_swaps_removes_and_shows_links_and_sets_their_weight():
    async def scenario(opened):
        session = opened.session
        session.act_now("add link", kind="must", a=0, b=70)
        await opened.wait_until_idle()
        opened.links._text._handle_msg("show 0")
        assert session.view_state.pair == (0, 70)
        opened.links._text._handle_msg("swap 0")
        await opened.wait_until_idle()
        assert session.analysis.links[0].kind == "cannot"
        assert not opened.links._weight.visible
        assert "an answer that may mislead" in opened.links._cost.body
        opened.links._counted.value = "share"
        await opened.wait_until_idle()
        assert session.analysis.link_weight == 1.0
        steps = len(session.history.steps)
        opened.links._weight.value_throttled = 0.5
        await opened.wait_until_idle()
        assert session.analysis.link_weight == 0.5
        assert len(session.history.steps) == steps + 1
        assert "Breaking the link costs 0.50" in opened.links._cost.body
        session.undo()
        await opened.wait_until_idle()
        assert opened.links._weight.value == 1.0
        session.undo()
        await opened.wait_until_idle()
        assert session.analysis.link_weight == EVIDENCE
        assert opened.links._counted.value == EVIDENCE
        assert not opened.links._weight.visible
        opened.links._text._handle_msg("remove 0")
        await opened.wait_until_idle()
        assert session.analysis.links == ()
        assert "No links yet" in opened.links._text.body

    run_scenario(scenario)


def test_what_is_drawn_anew_is_said_to_come_only_when_it_is_late(monkeypatch):
    monkeypatch.setattr(card, "PATIENCE_SECONDS", 0.0)

    async def scenario(opened):
        derived, bodies, go_on = opened.session.derived, [], threading.Event()
        drawn = derived.nodes["map_picture"]

        def late(job, *given):
            go_on.wait()
            return drawn.compute(job, *given)

        derived.nodes = {**derived.nodes, "map_picture": replace(drawn, compute=late)}
        opened.map.status.param.watch(lambda event: bodies.append(event.new), "body")
        opened.session.view_state.map_view = Viewport(width=310, height=210)
        assert not opened.map.status.body
        while not bodies:
            await asyncio.sleep(0)
        go_on.set()
        await opened.wait_until_idle()
        assert bodies == ['<div class="skeleton over"></div>', ""]

    run_scenario(scenario)


def test_the_pair_card_says_in_which_columns_two_rows_differ():
    async def scenario(opened):
        opened.session.view_state.linking = True
        await opened.tap(0)
        await opened.tap(100)
        session = opened.session
        read = session.derived.get("pair_reading").value
        table = session.analysis.samples.encoded.values
        sd = np.abs(table[0] - table[100]) / table.std(axis=0)
        names = [column.name for column in session.analysis.samples.encoded.columns]
        order = [names[k] for k in np.argsort(-sd, kind="stable") if sd[k] > 0]
        assert [one.column for one in read.differences] == order
        np.testing.assert_allclose(
            [one.by for one in read.differences], np.sort(sd[sd > 0])[::-1]
        )
        first = read.differences[0]
        assert (first.a, first.b) == tuple(
            session.analysis.table.table[first.column].iloc[[0, 100]]
        )
        body = opened.pair._text.body
        assert f"{first.by:.1f} sd" in body
        needed = session.derived.get("threshold_in_force").value
        word = "together" if read.pooled[0] >= needed else "apart"
        assert f"{needed} needed: <b>{word}</b>" in body

    run_scenario(scenario)


def test_levels_without_an_order_differ_by_no_number():
    frame = {"size": [1.0, 2.0, 4.0, 4.0], "word": ["a", "b", "a", "<b>"]}
    samples = prepare(make_dataset(frame, name="t"))
    found = differences(samples, column_deviations(None, samples), (0, 3))
    assert [(one.column, one.a, one.b) for one in found] == [
        ("size", 1.0, 4.0),
        ("word", "a", "<b>"),
    ]
    assert found[1].by is None
    assert differences(samples, column_deviations(None, samples), (2, 2)) == []


def test_a_link_begins_at_the_inspected_sample():
    async def scenario(opened):
        opened.session.view_state.param.update(inspected=7, tab="sample")
        await opened.wait_until_idle()
        link_from(opened.session)
        assert (opened.session.view_state.pair, opened.session.view_state.linking) == (
            (7,),
            True,
        )
        await opened.tap(100)
        assert opened.session.view_state.pair == (7, 100)

    run_scenario(scenario)
