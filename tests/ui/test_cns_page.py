"""Tests of the page CNS: its contents, its controls, and pixels in a browser."""

import asyncio
import html
import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

import clusterlens as cl
from clusterlens.compute.estimators.cns.cns import CNS
from clusterlens.compute.formatting import percent
from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.ui.composition import new_session
from clusterlens.ui.jobs import derived
from clusterlens.ui.pages.cns.page import CNSPage
from clusterlens.ui.pages.fuzzy.nodes import fuzzy_choices
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.analysis import Analysis
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.widgets.words import fixed
from tests.support.pages import IDLE
from tests.ui.loop import taking, wait_until_idle
from tests.ui.test_lessons_page import enlarge_text
from tests.ui.test_main_job import WATCH_LATE, assert_changes, picture

LONG = 90_000
SIZE = Viewport(width=240, height=160)


def three_groups(rows=150):
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [3, 0], [1.5, 2.5]])[np.arange(rows) % 3]
    frame = pd.DataFrame(centres + rng.normal(0, 0.7, (rows, 2)), columns=["a", "b"])
    return make_dataset(frame, name="three")


class Opened:
    """A session shown by the page."""

    def __init__(self):
        self.session = new_session(Server())
        self.page = CNSPage(self.session)
        self.page.set_visible(True)
        named = {type(panel).__name__: panel for panel in self.page.cards}
        self.headline, self.settings = named["CNSHeadline"], named["CNSSettings"]
        self.map, self.reading = named["Memberships"], named["CNSReading"]
        self.criterion, self.steps = named["CNSCriterion"], named["CNSSteps"]
        self.certainty, self.versions = named["CNSCertainty"], named["CNSVersions"]
        self.view_state = self.session.view_state

    async def read(self, table):
        analysis = Analysis(table=table, dataset=prepare(table))
        values = {"name": table.name, "sha256": "0" * 64}
        step = Step("load file", "Read", analysis, values)
        self.session._move(lambda: self.session.history.do(step))
        self.view_state.cns_view = SIZE
        await self.wait_until_idle()

    async def wait_until_idle(self):
        await wait_until_idle(self.session)

    async def move(self, field, value):
        self.settings._sliders[field].value = value
        await self.wait_until_idle()

    def value(self, name):
        return self.session.derived.get(name).value


run_scenario = taking(Opened)


def test_without_a_table_the_page_leads_to_data():
    async def scenario(opened):
        assert "Load a table" in opened.headline.status.body
        opened.headline.status._handle_msg("data")
        assert opened.view_state.page == "data"
        assert not opened.page._cards.visible

    run_scenario(scenario)


def test_the_automatic_choice_is_that_of_the_estimator():
    async def scenario(opened):
        table = three_groups()
        await opened.read(table)
        model = CNS().fit(prepare(table).X)
        automatic = opened.value("cns_automatic")
        found = automatic.setting
        assert found.n_neighbors == model.n_neighbors_
        assert found.alpha == model.alpha_
        assert found.n_clusters == model.n_clusters_ == 3
        assert automatic.criterion == np.nanmax(model.criterion_)
        solution = opened.value("cns_solution")
        assert not solution.preview
        assert np.array_equal(solution.labels, model.seed_labels_)
        sliders = opened.settings._sliders
        assert sliders["n_clusters"].value == 3
        assert sliders["n_neighbors"].marks[0]["value"] == model.n_neighbors_
        assert "This is the automatic choice" in opened.settings._automatic.body

    run_scenario(scenario)


def test_a_move_of_a_slider_draws_another_picture_and_says_what_it_shows():
    async def scenario(opened):
        await opened.read(three_groups())
        moves = {"alpha": 0.6, "n_neighbors": 25, "n_clusters": 5}
        for field, value in moves.items():
            before = opened.value("cns_picture").pixels
            await opened.move(field, value)
            assert (opened.value("cns_picture").pixels != before).any(), field
            solution = opened.value("cns_solution")
            assert getattr(solution, field) == value
            assert not solution.preview
        assert "<b>5 clusters</b>" in opened.headline._text.body
        assert "Map of memberships: 5 clusters of " in opened.map._steering.words
        assert fixed(solution.criterion[4], 3) in opened.headline._text.body

    run_scenario(scenario)


def test_of_many_moves_the_last_is_drawn():
    async def scenario(opened):
        await opened.read(three_groups())
        slider, graph = opened.settings._sliders["alpha"], opened.value("cns_graph")
        solve, alphas = graph.preview, []

        def counted(n_neighbors, alpha, n_clusters):
            alphas.append(alpha)
            return solve(n_neighbors, alpha, n_clusters)

        graph.preview = counted
        for alpha in np.linspace(0.1, 0.5, 100):
            slider.value = float(alpha)
            await asyncio.sleep(0.02)
        assert slider.value == 0.5
        left = len(alphas)
        await opened.wait_until_idle()
        # Older requests are dropped: at most the running and the last one are computed.
        assert len(alphas) <= left + 2
        assert alphas[-1] == 0.5
        assert opened.value("cns_solution").alpha == pytest.approx(0.5)

    run_scenario(scenario)


def test_what_is_drawn_stays_in_its_place_while_a_slider_moves():
    async def scenario(opened):
        await opened.read(three_groups())
        opened.settings._sliders["alpha"].value = 0.5
        assert opened.session.derived.get("cns_picture").state == "pending"
        assert not opened.map.status.body
        assert not opened.headline.status.body
        await opened.wait_until_idle()

    run_scenario(scenario)


def test_a_preview_is_marked_until_the_exact_solution_is_there(monkeypatch):
    monkeypatch.setattr("clusterlens.compute.estimators.cns.graph._QUICK", 0)
    monkeypatch.setattr(derived, "DEBOUNCE_SECONDS", 0.2)

    async def scenario(opened):
        await opened.read(three_groups())
        shown, show = [], opened.map.show

        def recorded(cns_solution, **more):
            show(cns_solution=cns_solution, **more)
            shown.append((cns_solution.preview, "preview" in opened.map._how.body))

        opened.map.show = recorded
        await opened.move("n_neighbors", 13)
        assert shown[0] == (True, True)
        assert shown[-1] == (False, False)
        assert "preview" not in opened.headline._text.body
        assert ">exact<" in opened.headline._text.body

    run_scenario(scenario)


def test_back_to_the_automatic_choice():
    async def scenario(opened):
        await opened.read(three_groups())
        automatic = opened.value("cns_automatic").setting
        await opened.move("n_clusters", 7)
        assert opened.value("cns_setting").n_clusters == 7
        opened.settings._automatic._handle_msg("reset")
        await opened.wait_until_idle()
        assert opened.value("cns_setting") == automatic

    run_scenario(scenario)


def test_another_table_begins_at_its_own_automatic_choice():
    async def scenario(opened):
        await opened.read(three_groups(240))
        opened.view_state.cns_preview = (30, 0.2, 9)
        opened.view_state.cns_sample = 200
        await opened.wait_until_idle()
        await opened.read(three_groups(60))
        assert opened.view_state.cns_sample is None
        assert opened.value("cns_setting") == opened.value("cns_automatic").setting

    run_scenario(scenario)


def test_samples_that_reach_no_seed_are_counted_and_grey():
    async def scenario(opened):
        rng = np.random.default_rng(1)
        far = np.vstack([rng.normal(c, 0.1, (40, 2)) for c in (0, 50, 100)])
        frame = pd.DataFrame(far, columns=["a", "b"])
        await opened.read(make_dataset(frame, name="far"))
        opened.view_state.cns_preview = (5, 0.2, 2)
        await opened.wait_until_idle()
        solution = opened.value("cns_solution")
        assert solution.undecided.sum() >= 40
        assert f"{solution.undecided.sum()} undecided" in opened.headline._text.body
        assert "undecided" in opened.map._legend.body

    run_scenario(scenario)


def test_a_click_reads_where_the_walks_of_the_sample_stop():
    async def scenario(opened):
        await opened.read(three_groups())
        assert "Click a sample" in opened.reading.status.body
        xy = opened.value("prepared_projection").coordinates[:, :2]
        opened.map._tap(*xy[7], unit=1e-3)
        await opened.wait_until_idle()
        assert opened.view_state.cns_sample == 7
        solution = opened.value("cns_solution")
        shares = solution.seed_shares[7]
        seed = shares.argmax()
        body = opened.reading._text.body
        assert f"<b>{percent(shares[seed])}</b> end at <b>seed {seed + 1}</b>" in body
        assert f"{solution.memberships[7, seed]:.3f}" in body
        opened.map._tap(1e6, 1e6, unit=1e-3)
        await opened.wait_until_idle()
        assert opened.view_state.cns_sample is None
        assert not opened.reading._text.body

    run_scenario(scenario)


def test_the_criterion_map_is_that_of_the_library_and_a_click_goes_there():
    async def scenario(opened):
        await opened.read(three_groups())
        grid, graph = opened.value("cns_criterion"), opened.value("cns_graph")
        setting = opened.value("cns_setting")
        cells = opened.criterion._figure._cells.data["value"]
        expected = grid.at(setting.n_clusters).to_numpy()
        assert np.array_equal(cells, expected[np.isfinite(expected)])
        k, alpha = int(grid.n_neighbors[2]), float(grid.alphas[4])
        opened.criterion._go(k + 0.2, alpha)
        await opened.wait_until_idle()
        found = opened.value("cns_solution")
        assert (found.n_neighbors, found.alpha) == (k, alpha)
        assert found.n_clusters == setting.n_clusters
        at = found.criterion[found.n_clusters - 1]
        assert at == pytest.approx(expected[2, 4], abs=1e-12)
        opened.criterion._go(1e9, 1e9)
        edge = opened.value("cns_setting")
        assert edge.n_neighbors == graph.max_neighbors
        assert edge.alpha == graph.alpha_range[1]

    run_scenario(scenario)


def test_a_model_joins_a_copy_of_the_run_and_undo_takes_it_back():
    async def scenario(opened):
        await opened.read(three_groups())
        assert opened.headline._add.disabled
        pool = [{"clusterer": "k-means", "n_clusters": [2, 3]}]
        assert await opened.session.act("run pool", pool=pool)
        await opened.wait_until_idle()
        assert not opened.headline._add.disabled
        await opened.headline._add_model(None)
        await opened.wait_until_idle()
        ensemble, found = opened.session.analysis.ensemble, opened.value("cns_solution")
        assert ensemble.n_partitions == 3
        assert np.array_equal(ensemble.labels[2], found.labels)
        assert np.allclose(ensemble.memberships[2], found.memberships, atol=1e-3)
        opened.session.undo()
        assert opened.session.analysis.ensemble.n_partitions == 2

    run_scenario(scenario)


def rings():
    """Return three rings; the widest comes last."""
    rng = np.random.default_rng(0)
    parts = []
    for rows, radius in ((140, 3), (70, 1), (210, 6)):
        angle = rng.uniform(0, 2 * np.pi, rows)
        circle = radius * np.column_stack([np.cos(angle), np.sin(angle)])
        parts.append(circle + rng.normal(0, 0.08, (rows, 2)))
    return make_dataset(pd.DataFrame(np.vstack(parts), columns=["a", "b"]), name="r")


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("rings", {"n_neighbors": 14, "alpha": 0.1, "n_clusters": 3}),
        ("polygon", {"n_neighbors": 5, "alpha": 0.3, "n_clusters": 4}),
        ("three rows", {"n_neighbors": 4, "alpha": 0.2, "n_clusters": 9}),
    ],
)
def test_the_page_the_pool_and_the_script_have_the_partition_of_the_estimator(
    name, setting
):
    angle = np.arange(60) * (2 * np.pi / 60)
    table = {
        "rings": rings,
        "polygon": lambda: make_dataset(
            pd.DataFrame({"a": np.cos(angle), "b": np.sin(angle)})
        ),
        "three rows": lambda: make_dataset(
            pd.DataFrame(np.repeat([[0, 0], [1, 0], [5, 2]], 20, axis=0))
        ),
    }[name]()

    async def scenario(opened):
        await opened.read(table)
        pool = [{"clusterer": "k-means", "n_clusters": [2, 3]}]
        assert await opened.session.act("run pool", pool=pool)
        opened.session.act_now("set CNS", **setting)
        await opened.wait_until_idle()
        found, X = opened.value("cns_solution"), opened.session.analysis.dataset.X
        if name == "three rows":
            assert found.n_clusters == 3
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = CNS(**{**setting, "n_clusters": found.n_clusters}).fit(X)
        assert not found.preview
        assert found.seeds.tolist() == model.seeds_.tolist()
        assert np.array_equal(found.labels, model.seed_labels_)
        assert np.array_equal(found.undecided, model.undecided_)
        assert np.array_equal(
            found.criterion, model.criterion_.ravel()[: len(found.criterion)]
        )
        if setting["n_clusters"] == 3:
            assert sorted(np.bincount(found.labels)) == [70, 140, 210]
        script = html.unescape(
            opened.headline._text.body.split('data-copy="')[1].split('">')[0]
        )
        call = script[script.index("cl.CNS(") :].partition(".fit(")[0]
        copied = eval(call, {"cl": cl})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert np.array_equal(copied.fit(X).labels_, model.labels_)
        await opened.headline._to_fuzzy(None)
        analysis = opened.session.analysis
        assert np.array_equal(analysis.ensemble.labels[2], model.labels_)
        listed = fuzzy_choices("table", analysis.dataset, analysis.ensemble, ())
        rows = listed.make[opened.view_state.fuzzy_u]().memberships
        assert np.allclose(rows, found.seed_shares, atol=1e-12)

    run_scenario(scenario)


def test_a_slider_previews_and_logs_one_step_when_it_is_let_go():
    async def scenario(opened):
        await opened.read(three_groups())
        steps = len(opened.session.history.steps)
        slider = opened.settings._sliders["n_clusters"]
        # As the browser reports it; a value set in Python is a release, too.
        for count in (4, 5, 6):
            slider._process_events({"value": count})
        assert len(opened.session.history.steps) == steps
        slider._process_events({"value_throttled": 6})
        await opened.wait_until_idle()
        assert len(opened.session.history.steps) == steps + 1
        assert opened.value("cns_setting").n_clusters == 6
        opened.session.undo()
        await opened.wait_until_idle()
        assert opened.value("cns_setting") == opened.value("cns_automatic").setting

    run_scenario(scenario)


def test_an_exact_value_can_be_typed_and_a_wrong_one_is_refused():
    async def scenario(opened):
        await opened.read(three_groups())
        graph = opened.value("cns_graph")
        for field, typed, value in (
            ("n_clusters", "27", 27),
            ("n_neighbors", "13", 13),
            ("alpha", "0.12345", 0.12345),
        ):
            opened.settings._titles[field]._handle_msg(f"{field} {typed}")
            await opened.wait_until_idle()
            assert getattr(opened.value("cns_solution"), field) == value
            assert opened.settings._sliders[field].value == value
            assert f"value='{typed}'" in opened.settings._titles[field].body
        opened.settings._titles["alpha"]._handle_msg("alpha 0,25")
        await opened.wait_until_idle()
        assert opened.value("cns_solution").alpha == 0.25
        steps = len(opened.session.history.steps)
        for field, typed in (
            ("n_clusters", "0"),
            ("n_clusters", str(graph.max_clusters + 1)),
            ("n_neighbors", "7.5"),
            ("alpha", "nan"),
            ("alpha", "much"),
        ):
            opened.settings._titles[field]._handle_msg(f"{field} {typed}")
            assert typed in opened.session.jobs.notices[-1].text
        assert len(opened.session.history.steps) == steps

    run_scenario(scenario)


def test_the_best_setting_of_all_is_named_and_one_click_away():
    async def scenario(opened):
        await opened.read(three_groups())
        best = opened.value("cns_criterion").best()["criterion"].max()
        assert best > opened.value("cns_automatic").criterion + 0.005
        assert f"up to {best:.3f}" in opened.headline._text.body
        opened.headline._text._handle_msg("best")
        await opened.wait_until_idle()
        found = opened.value("cns_summary").criterion
        assert found == pytest.approx(best, abs=1e-4)

    run_scenario(scenario)


def test_the_copied_python_gives_the_numbers_of_the_page_in_a_fresh_process():
    async def scenario(opened):
        assert await opened.session.act("load example", name="iris")
        await opened.wait_until_idle()
        await opened.move("n_neighbors", 15)
        body = opened.headline._text.body
        script = html.unescape(body.split('data-copy="')[1].split('">')[0])
        lines = [
            script,
            "import json",
            "told = [model.memberships_.tolist(), model.criterion_.ravel().tolist()]",
            "print(json.dumps(told))",
        ]
        command = [sys.executable, "-c", "\n".join(lines)]
        output = subprocess.run(command, check=True, capture_output=True, text=True)
        memberships, criterion = json.loads(output.stdout.splitlines()[-1])
        solution = opened.value("cns_solution")
        assert solution.memberships.tolist() == memberships
        assert solution.criterion.tolist() == criterion

    run_scenario(scenario)


def test_curves_are_the_criterion_of_the_library():
    async def scenario(opened):
        await opened.read(three_groups())
        curves, grid = opened.value("cns_curves"), opened.value("cns_criterion")
        setting = opened.value("cns_setting")
        over_k = dict(curves.by["n_clusters"])
        assert over_k[3] == opened.value("cns_solution").criterion[2]
        at_k = dict(curves.by["n_neighbors"])
        nearest = np.abs(np.log(grid.alphas / setting.alpha)).argmin()
        for k, size in enumerate(grid.n_neighbors.tolist()):
            if size != setting.n_neighbors:
                assert at_k[size] == grid.values[setting.n_clusters - 1, k, nearest]
        assert at_k[setting.n_neighbors] == over_k[setting.n_clusters]
        assert max(value for _, value in curves.best) == np.nanmax(grid.values)
        assert "polyline" in opened.settings._curves["alpha"].body

    run_scenario(scenario)


def test_steps_lead_from_the_seeds_to_the_fixed_point_and_show_on_the_map():
    async def scenario(opened):
        await opened.read(three_groups())
        steps = opened.value("cns_steps")
        assert [step.iterations for step in steps] == [0, 1, 2, 5, 10, 50, None]
        assert steps[-1].settled == 1
        exact = opened.value("cns_picture").pixels
        body = opened.steps._text.body
        assert body.count("data:image/png") == 7
        await opened.steps._do("0")
        await opened.wait_until_idle()
        assert (opened.value("cns_picture").pixels != exact).any()
        await opened.steps._do("6")
        await opened.wait_until_idle()
        assert opened.view_state.cns_step is None
        assert np.array_equal(opened.value("cns_picture").pixels, exact)

    run_scenario(scenario)


def test_the_line_of_certainty_counts_the_samples_below_it():
    async def scenario(opened):
        await opened.read(three_groups())
        solution = opened.value("cns_solution")
        assert opened.value("cns_summary").counts.sum() == 150
        opened.certainty._line.value = 0.9
        await opened.wait_until_idle()
        below = int((solution.certainty < 0.9).sum())
        assert opened.value("cns_summary").between == below
        assert f"{below} between" in opened.certainty._counts.body

    run_scenario(scenario)


def test_another_distance_searches_other_neighbours():
    async def scenario(opened):
        await opened.read(three_groups())
        before = opened.value("cns_graph")
        opened.view_state.cns_metric = "cosine"
        await opened.wait_until_idle()
        assert opened.value("cns_graph") is not before
        model = CNS(metric="cosine").fit(opened.session.analysis.dataset.X)
        assert opened.value("cns_automatic").setting.n_clusters == model.n_clusters_

    run_scenario(scenario)


def test_the_published_versions_are_fitted_when_asked_for():
    async def scenario(opened):
        await opened.read(three_groups())
        assert "Fit all three" in opened.versions.status.body
        opened.versions.status._handle_msg("retry")
        await opened.wait_until_idle()
        table = opened.value("cns_versions").table
        assert len(table) == 6
        X = opened.session.analysis.dataset.X
        model = CNS(version="v2", metric="cosine").fit(X)
        row = table[(table["version"] == "v2") & (table["metric"] == "cosine")].iloc[0]
        assert row["n_clusters"] == model.n_clusters_
        assert row["alpha"] == model.alpha_
        before = opened.value("cns_picture").pixels
        await opened.versions._do("show v2 cosine")
        await opened.wait_until_idle()
        shown = opened.value("cns_shown")
        assert np.array_equal(shown.labels, model.seed_labels_)
        assert np.array_equal(shown.seeds, model.seeds_)
        assert shown.certainty == pytest.approx(model.seed_shares_.max(axis=1))
        assert (opened.value("cns_picture").pixels != before).any()
        assert "v2 cosine, chosen by itself" in opened.map._how.body
        assert opened.versions._text.body.count("aria-pressed='true'") == 1
        await opened.versions._do("show v2 cosine")
        await opened.wait_until_idle()
        assert np.array_equal(opened.value("cns_picture").pixels, before)
        await opened.versions._do("show v1 euclidean")
        await opened.move("n_clusters", 5)
        assert not opened.view_state.cns_version
        assert not opened.session.derived.get("cns_shown").ready

    run_scenario(scenario)


def test_compare_in_fuzzy_adds_the_model_and_opens_its_shares():
    async def scenario(opened):
        await opened.read(three_groups())
        pool = [{"clusterer": "k-means", "n_clusters": [2, 3]}]
        assert await opened.session.act("run pool", pool=pool)
        await opened.wait_until_idle()
        await opened.headline._to_fuzzy(None)
        name = opened.session.analysis.ensemble.names[2]
        assert (opened.view_state.page, opened.view_state.fuzzy_u) == (
            "fuzzy",
            f"shares {name}",
        )

    run_scenario(scenario)


def open_wine(app):
    """Open wine on CNS by way of Data."""
    app.locator(".cl-nav-cns button").click()
    app.locator(".cl-to-data").click()
    app.locator(".cl-gallery .card", has_text="Wine").locator(".cl-data-only").click()
    expect(app.locator(".cl-prepared")).to_contain_text("178 samples")
    app.locator(".cl-nav-cns button").click()


def settled(app):
    """Return an expectation of the choice, once it is the automatic one."""
    found = expect(app.locator(".cl-cns-automatic"))
    found.to_contain_text("This is the automatic choice")
    return found


def test_keys_move_the_pixels_of_the_map_and_no_card(kept):
    app = kept("wine", page="cns")
    choice = settled(app)
    summary = app.locator(".cl-cns-summary")
    expect(summary).to_contain_text("3 clusters")
    app.locator(".cl-membership-map .bk-Canvas").wait_for(timeout=LONG)
    before = picture(app, ".cl-membership-map")
    app.wait_for_function(IDLE, timeout=LONG)
    cards = app.locator(".cl-cns-settings")
    top = cards.bounding_box()["y"]
    slider = app.locator(".cl-alpha input[type=range]")
    slider.focus()
    slider.press("End")
    choice.to_contain_text("Back to the automatic choice")
    assert_changes(app, ".cl-membership-map", before)
    field = app.get_by_label("exact value of Clusters K")
    field.fill("7")
    field.press("Enter")
    expect(summary).to_contain_text("7 clusters")
    expect(field).to_have_value("7")
    # Hardly any row reaches a seed, which takes more words.
    app.locator(".cl-neighbours input[type=range]").press("Home")
    expect(summary).to_contain_text("undecided (they reach no")
    assert cards.bounding_box()["y"] == top
    app.locator(".cl-n-clusters input[type=range]").press("ArrowRight")
    expect(field).to_have_value("8")


# Ends and value of a slider, with the places of its thumb and its mark.
PLACED = """(slider) => {
  const at = (part) => parseFloat(slider.querySelector(part)?.style.left) / 100;
  const {min, max, value} = slider.querySelector('input');
  return [+min, +max, +value, at('.MuiSlider-thumb'), at('.MuiSlider-mark')];
}"""


def test_sliders_that_are_set_before_they_watch_stand_where_the_setting_is(app):
    app.evaluate(WATCH_LATE)
    open_wine(app)
    settled(app)
    app.evaluate("watchNow()")
    for css, name in (
        ("cl-n-clusters", "Clusters K"),
        ("cl-neighbours", "Neighbours k"),
        ("cl-alpha", "alpha"),
    ):
        exact = float(app.get_by_label(f"exact value of {name}").input_value())
        slider = app.locator(f".{css} .MuiSlider-root")
        expect(slider.locator(".MuiSlider-mark")).to_have_count(1)
        low, high, value, thumb, mark = slider.evaluate(PLACED)
        share = (exact - low) / (high - low)
        assert value == pytest.approx(exact, abs=0.02 * (high - low)), name
        assert (thumb, mark) == pytest.approx((share, share), abs=0.01), name


def test_the_steps_can_be_played_on_a_narrow_page_with_larger_text(kept):
    app = kept("wine", page="cns")
    app.set_viewport_size({"width": 1024, "height": 768})
    enlarge_text(app)
    play = app.locator(".cl-cns-play").get_by_role("button", name="play")
    expect(play).to_be_visible()
    assert play.evaluate(
        "(part) => part.getBoundingClientRect().right"
        " <= part.closest('p').getBoundingClientRect().right - 16"
    )
