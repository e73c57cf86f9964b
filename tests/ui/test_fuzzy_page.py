"""Tests of the page Fuzzy: its values against the library, and its clicks."""

import io
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

from clusterlens.compute.estimators.cns.cns import CNS
from clusterlens.compute.fuzzy.adjusted import adjusted_ndc
from clusterlens.compute.fuzzy.comparison import compare_fuzzy
from clusterlens.compute.fuzzy.concordance import ndc
from clusterlens.compute.fuzzy.partition import FuzzyPartition
from clusterlens.compute.fuzzy.random_models import RANDOM_MODELS
from clusterlens.compute.fuzzy.toy import toy_partitions
from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.ui.composition import new_session
from clusterlens.ui.pages.fuzzy.nodes import MODELS, Pair, match_hues
from clusterlens.ui.pages.fuzzy.page import FuzzyPage
from clusterlens.ui.pages.fuzzy.pairs import _cell, sorted_keys
from clusterlens.ui.pages.fuzzy.toy import rank_with_ties
from clusterlens.ui.results.lab import SIDES
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.analysis import Analysis
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.widgets.words import fixed
from tests.ui.loop import taking, wait_until_idle

LONG = 90_000

HARD = [{"clusterer": "k-means", "n_clusters": [2, 3]}]
SOFT = [
    *HARD,
    {"clusterer": "fuzzy c-means", "n_clusters": 3},
    {"clusterer": "Gaussian mixture", "n_components": 2},
]


def groups(rows=60):
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [3, 0], [1.5, 2.5]])[np.arange(rows) % 3]
    frame = pd.DataFrame(centres + rng.normal(0, 0.8, (rows, 2)), columns=["a", "b"])
    return make_dataset(frame, name="groups")


class Opened:
    """A session shown by the page."""

    def __init__(self):
        self.session = new_session(Server())
        self.page = FuzzyPage(self.session)
        self.view_state = self.session.view_state
        self.page.set_visible(True)
        named = {type(panel).__name__: panel for panel in self.page.cards}
        self.headline, self.values = named["FuzzyHeadline"], named["FuzzyValues"]
        self.guide, self.rows = named["FuzzyGuide"], named["FuzzyRows"]
        self.maps, self.pairs = named["FuzzyMaps"], named["FuzzyPairs"]
        self.toy = named["FuzzyToy"]

    async def read(self, table, pool):
        analysis = Analysis(table=table, dataset=prepare(table))
        values = {"name": table.name, "sha256": "0" * 64}
        step = Step("load file", "Read", analysis, values)
        self.session._move(lambda: self.session.history.do(step))
        assert await self.session.act("run pool", pool=pool)
        self.view_state.fuzzy_view = Viewport(width=160, height=120)
        await self.wait_until_idle()

    async def wait_until_idle(self):
        await wait_until_idle(self.session)

    def value(self, name):
        return self.session.derived.get(name).value

    def keys(self, kind, *models):
        """Return keys of models by their positions."""
        names = self.session.analysis.ensemble.names
        return tuple(f"{kind} {names[at]}" for at in models)


run_scenario = taking(Opened)


def test_without_soft_partitions_they_are_one_click_away():
    async def scenario(opened):
        await opened.read(groups(), HARD)
        assert "Add fuzzy c-means and a mixture" in opened.headline.status.body
        await opened.headline.status._handle_msg("soft")
        await opened.wait_until_idle()
        names = opened.session.analysis.ensemble.names
        assert len(names) == 4
        pair = opened.value("fuzzy_pair")
        assert (pair.u, pair.v) == opened.keys("model", 2, 3)
        opened.session.undo()
        assert opened.session.analysis.ensemble.n_partitions == 2

    run_scenario(scenario)


def test_values_are_those_of_the_library():
    async def scenario(opened):
        await opened.read(groups(), SOFT)
        ensemble = opened.session.analysis.ensemble
        U, V = ensemble.memberships[2], ensemble.memberships[3]
        assert f"NDC <b>{fixed(float(ndc(U, V)), 3)}" in opened.headline._text.body
        for model in MODELS:
            for side in SIDES:
                expected = adjusted_ndc(U, V, model, side)
                found = opened.value(f"fuzzy_{model}")[side]
                assert found.value == expected.value
                assert fixed(expected.value, 3) in opened.values._text.body
            # The row of the raw value names the expectation of each model.
            title = RANDOM_MODELS[model].title
            name = f"{title[:4]}<em>{title[4:]}</em>"
            assert f">{name}</span>" in opened.values._text.body

    run_scenario(scenario)


def test_the_guide_asks_how_the_data_arose_and_then_writes_the_sentence():
    async def scenario(opened):
        await opened.read(groups(), SOFT)
        opened.guide._text._handle_msg("hide")
        value = fixed(opened.value("fuzzy_fit")["v"].value, 3)
        assert value not in opened.values._text.body
        assert "Answer both" in opened.guide._text.body
        opened.guide._text._handle_msg("side v")
        opened.guide._text._handle_msg("model fit")
        assert opened.value("fuzzy_fit")["v"].sentence in opened.guide._text.body
        assert value in opened.values._text.body

    run_scenario(scenario)


def test_more_precision_draws_more():
    async def scenario(opened):
        await opened.read(groups(), SOFT)
        before = opened.value("fuzzy_fit")[None].standard_error
        opened.view_state.fuzzy_precision = 2e-5
        await opened.wait_until_idle()
        assert opened.value("fuzzy_fit")[None].standard_error < min(before, 2.1e-5)

    run_scenario(scenario)


def test_maps_show_both_sides_and_a_click_reads_a_sample_of_both():
    async def scenario(opened):
        await opened.read(groups(), SOFT)
        maps, found = opened.value("fuzzy_maps"), opened.value("fuzzy_discordance")
        pixels = [picture.pixels for picture in maps.pictures]
        assert (pixels[0] != pixels[1]).any()
        assert (pixels[1] != pixels[2]).any()
        assert f"row {int(np.argmax(found.values))}" in opened.maps._text.body
        of_u, of_v, apart = [one.words for one in opened.maps._steerings]
        assert of_u.startswith("Map of 60 samples: memberships of U in ")
        assert "memberships of V in " in of_v
        assert f"discordance up to {maps.darkest:.2f}" in apart
        xy = opened.value("projection").coordinates
        opened.maps._tap(*xy[7], unit=1e-3)
        await opened.wait_until_idle()
        assert opened.view_state.fuzzy_sample == 7
        largest = opened.session.analysis.ensemble.memberships[2][7].max()
        assert f"{largest:.2f}" in opened.maps._text.body

    run_scenario(scenario)


def test_the_maps_keep_their_place_until_they_have_a_size():
    async def scenario(opened):
        await opened.read(groups(), SOFT)
        opened.view_state.fuzzy_view = Viewport()
        await opened.wait_until_idle()
        assert opened.value("fuzzy_maps") is None
        assert not opened.maps.status.body
        opened.view_state.fuzzy_case = "toy"
        await opened.wait_until_idle()
        assert "the toy example has none" in opened.maps.status.body

    run_scenario(scenario)


def test_all_pairs_open_a_pair_and_sort_by_likeness():
    async def scenario(opened):
        await opened.read(groups(), SOFT)
        (hard,) = opened.keys("hard", 1)
        opened.view_state.fuzzy_u = hard
        await opened.wait_until_idle()
        keys, table = opened.value("fuzzy_compared")
        assert set(keys) == {hard, *opened.keys("model", 2, 3)}
        row = table.iloc[0]
        assert fixed(row["value"]) in opened.pairs._text.body
        shown = opened.pairs._shown
        opened.pairs._text._handle_msg("open 1 2")
        await opened.wait_until_idle()
        pair = opened.value("fuzzy_pair")
        assert (pair.u, pair.v) == (shown[1], shown[2])
        opened.pairs._text._handle_msg("sort 1")
        await opened.wait_until_idle()
        assert opened.pairs._shown[0] == opened.keys("model", 3)[0]

    run_scenario(scenario)


def test_cns_enters_as_shares_of_the_seed_stops_or_raw():
    async def scenario(opened):
        cns = {"clusterer": "CNS", "n_neighbors": 10, "alpha": 0.2, "n_clusters": 3}
        await opened.read(groups(), [*SOFT, cns])
        keys = [one.key for one in opened.value("fuzzy_choices").listed]
        (shares,) = opened.keys("shares", 4)
        assert {shares, *opened.keys("model", 4)} <= set(keys)
        opened.view_state.fuzzy_u = shares
        await opened.wait_until_idle()
        options = {name: cns[name] for name in ("n_neighbors", "alpha", "n_clusters")}
        model = CNS(**options).fit(opened.session.analysis.samples.X)
        assert np.allclose(opened.value("fuzzy_u").memberships, model.seed_shares_)

    run_scenario(scenario)


def test_hard_models_are_the_limit_case_and_exact():
    async def scenario(opened):
        await opened.read(groups(), SOFT)
        u, v = opened.keys("hard", 0, 1)
        opened.view_state.param.update(fuzzy_u=u, fuzzy_v=v)
        await opened.wait_until_idle()
        assert opened.value("fuzzy_fit")[None].standard_error == 0
        assert "categorical" in opened.rows._text.body

    run_scenario(scenario)


def upload(frame):
    return frame.to_csv(index=False).encode()


def test_uploaded_rows_are_checked_and_join_the_choices():
    async def scenario(opened):
        await opened.read(groups(), SOFT)
        rows = opened.session.analysis.ensemble.memberships[2]
        frame = pd.DataFrame(rows, columns=["x", "y", "z"])
        await opened.headline._read("own.csv", upload(frame))
        await opened.wait_until_idle()
        assert np.allclose(opened.value("fuzzy_u").memberships, rows)
        await opened.headline._read("two.csv", upload(2 * frame))
        assert "sum" in opened.session.jobs.notices[-1].text
        assert opened.headline._divide.visible
        await opened.headline._divide._handle_msg("divide")
        assert not opened.headline._divide.visible
        assert opened.session.history.done[-1].values["normalize"]
        await opened.wait_until_idle()
        found, pair = opened.value("fuzzy_choices"), opened.value("fuzzy_pair")
        assert "normalize=True" in opened.headline._script(found, pair)
        words, negative = frame.assign(x="much"), frame - 1
        for name, wrong in {"w.csv": words, "n.csv": negative}.items():
            await opened.headline._read(name, upload(wrong))
            assert name in opened.session.jobs.notices[-1].text or "negative" in (
                opened.session.jobs.notices[-1].text
            )
            assert not opened.headline._divide.visible
        assert len(opened.session.analysis.memberships) == 2

    run_scenario(scenario)


def test_an_upload_keeps_v_and_says_what_it_takes_the_place_of():
    async def scenario(opened):
        await opened.read(groups(), SOFT)
        u, v = opened.keys("model", 2, 3)
        assert opened.value("fuzzy_pair") == Pair(u, v)
        rows = opened.session.analysis.ensemble.memberships[2]
        for words in (", in place of “fuzzy c-means k=3”; V is", "(upload)”; V is"):
            await opened.headline._read("a.csv", upload(pd.DataFrame(rows)))
            await opened.wait_until_idle()
            assert opened.value("fuzzy_pair") == Pair("upload a.csv", v)
            notice = opened.session.jobs.notices[-1].text
            assert notice.startswith("U is now “a.csv (upload)”")
            assert words in notice
            assert notice.endswith("V is “Gaussian mixture (full) k=2”.")

    run_scenario(scenario)


def test_an_upload_in_the_toy_example_keeps_no_side_of_it():
    async def scenario(opened):
        await opened.read(groups(), SOFT)
        opened.view_state.param.update(fuzzy_case="toy", fuzzy_u="", fuzzy_v="")
        rows = opened.session.analysis.ensemble.memberships[2]
        await opened.headline._read("a.csv", upload(pd.DataFrame(rows)))
        await opened.wait_until_idle()
        (u,) = opened.keys("model", 2)
        assert opened.value("fuzzy_pair") == Pair("upload a.csv", u)

    run_scenario(scenario)


def test_hidden_values_are_nowhere_on_the_page_until_both_answers_are_given():
    async def scenario(opened):
        await opened.read(groups(), SOFT)
        opened.view_state.fuzzy_hidden = True
        await opened.wait_until_idle()
        shown = {"headline": opened.headline._text, "maps": opened.maps._text}
        shown |= {"pairs": opened.pairs._text, "values": opened.values._text}
        known = {f"{float(opened.value('fuzzy_ndc')):.3f}"}
        known |= {f"{opened.value('fuzzy_discordance').values.mean():.3f}"}
        for model in MODELS:
            known |= {
                f"{float(v):.3f}" for v in opened.value(f"fuzzy_{model}").values()
            }
        for name, text in shown.items():
            assert not any(value in text.body for value in known), name
        assert "<table" not in opened.pairs._text.body
        assert opened.pairs._save.button.disabled
        opened.view_state.param.update(fuzzy_model="fit", fuzzy_side="both")
        await opened.wait_until_idle()
        assert f"{float(opened.value('fuzzy_ndc')):.3f}" in opened.headline._text.body
        assert "<table" in opened.pairs._text.body
        assert not opened.pairs._save.button.disabled

    run_scenario(scenario)


def test_all_pairs_can_be_one_sided_and_saved():
    async def scenario(opened):
        await opened.read(groups(), SOFT)
        opened.view_state.param.update(fuzzy_set_model="fit", fuzzy_set_fixed="u")
        await opened.wait_until_idle()
        keys, table = opened.value("fuzzy_compared")
        made = opened.value("fuzzy_choices").make
        found = table.set_index(["u", "v"])["value"]
        assert len(found) == len(keys) * (len(keys) - 1)
        a, b = keys[:2]
        for u, v in ((a, b), (b, a)):
            expected = adjusted_ndc(made[u](), made[v](), "fit", "u", 0)
            assert found[u, v] == pytest.approx(float(expected), abs=1e-9)
        assert "The partition of the row is fixed" in opened.pairs._text.body
        name, make = opened.pairs._begin_file()
        saved = pd.read_csv(io.BytesIO(make()))
        assert name.endswith(".csv")
        assert saved["value"].tolist() == pytest.approx(table["value"].tolist())
        assert set(saved["fixed"]) == {"u"}
        assert set(saved["model"]) == {"fit"}

    run_scenario(scenario)


def test_the_toy_example_gives_the_pair_back():
    async def scenario(opened):
        await opened.read(groups(), SOFT)
        u, v = opened.keys("model", 3, 2)
        opened.view_state.param.update(fuzzy_u=u, fuzzy_v=v)
        await opened.headline._do("toy")
        await opened.wait_until_idle()
        toys = [one.key for one in opened.value("fuzzy_choices").listed]
        opened.view_state.param.update(fuzzy_u=toys[2], fuzzy_v=toys[4])
        await opened.headline._do("table")
        await opened.wait_until_idle()
        assert opened.value("fuzzy_pair") == Pair(u, v)
        await opened.headline._do("toy")
        await opened.wait_until_idle()
        assert opened.value("fuzzy_pair") == Pair(toys[2], toys[4])

    run_scenario(scenario)


def test_two_uploads_are_both_sides():
    async def scenario(opened):
        await opened.read(groups(), SOFT)
        rows = opened.session.analysis.ensemble.memberships
        await opened.headline._read("a.csv", upload(pd.DataFrame(rows[2])))
        await opened.headline._read("b.csv", upload(pd.DataFrame(rows[3])))
        await opened.wait_until_idle()
        assert opened.value("fuzzy_pair") == Pair("upload a.csv", "upload b.csv")
        notice = opened.session.jobs.notices[-1].text
        assert notice.startswith("V is now “b.csv (upload)”")

    run_scenario(scenario)


def test_memberships_need_no_table():
    async def scenario(opened):
        u = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [1.0, 0.0]])
        v = np.array([[0.6, 0.4], [0.3, 0.7], [0.1, 0.9], [0.8, 0.2]])
        ids = ["p", "q", "r", "s"]
        first = pd.DataFrame(u, columns=["one", "two"])
        first.insert(0, "id", ids)
        second = pd.DataFrame(v, columns=["one", "two"])
        second.insert(0, "id", ids)
        await opened.headline._read("a.csv", upload(first))
        await opened.wait_until_idle()
        assert "One file of memberships is there" in opened.headline.status.body
        await opened.headline._read("b.csv", upload(second[::-1]))
        await opened.wait_until_idle()
        assert opened.value("fuzzy_pair") == Pair("upload a.csv", "upload b.csv")
        assert float(opened.value("fuzzy_ndc")) == pytest.approx(float(ndc(u, v)))
        found, pair = opened.value("fuzzy_choices"), opened.value("fuzzy_pair")
        script = opened.headline._script(found, pair)
        files = {"a.csv": upload(first), "b.csv": upload(second[::-1])}
        assert printed(script, files)[0] == pytest.approx(float(ndc(u, v)))
        await opened.headline._read("c.csv", upload(second[:3]))
        assert "c.csv" in opened.session.jobs.notices[-1].text
        assert len(opened.session.analysis.memberships) == 2

    run_scenario(scenario)


def test_values_of_ten_uploaded_pairs_are_those_of_the_library():
    rng = np.random.default_rng(3)

    def memberships(rows):
        softness = np.full(rng.integers(2, 6), rng.uniform(0.2, 3))
        return rng.dirichlet(softness, rows)

    async def scenario(opened):
        for _ in range(10):
            rows = int(rng.integers(4, 60))
            pair = {"u": memberships(rows), "v": memberships(rows)}
            for name, values in pair.items():
                frame = pd.DataFrame(values)
                await opened.headline._read(f"{name}.csv", upload(frame))
            await opened.wait_until_idle()
            for model in MODELS:
                for side in SIDES:
                    expected = compare_fuzzy(pair, model, side).iloc[0]
                    found = opened.value(f"fuzzy_{model}")[side].value
                    assert found == pytest.approx(expected["value"], abs=1e-9)
                    assert fixed(expected["value"], 3) in opened.values._text.body
            for _ in pair:
                opened.session.undo()

    run_scenario(scenario)


def printed(script, files):
    """Run a script beside files; return the numbers that begin its lines."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
    words = [line.split()[0] for line in done.stdout.splitlines()]
    return [float(word) for word in words if word[0].isdigit()]


@pytest.mark.parametrize("value", [0.0, 0.004, -0.2])
def test_no_more_than_by_chance_has_no_colour(value):
    row = SimpleNamespace(value=value, standard_error=0.0)
    assert "background:transparent" in _cell(row, 0, 1, opened=False)


def test_a_saved_pair_is_one_step_that_undo_takes_back():
    async def scenario(opened):
        await opened.read(groups(), SOFT)
        await opened.headline._do("save")
        assert opened.session.analysis.fuzzy_pairs == (opened.keys("model", 2, 3),)
        u, v = opened.keys("hard", 0, 1)
        opened.view_state.param.update(fuzzy_u=u, fuzzy_v=v)
        await opened.wait_until_idle()
        await opened.headline._do("pair 0")
        assert opened.value("fuzzy_pair").u == opened.keys("model", 2)[0]
        opened.session.undo()
        assert not opened.session.analysis.fuzzy_pairs

    run_scenario(scenario)


def test_the_toy_example_shows_the_published_order():
    async def scenario(opened):
        await opened.headline.status._handle_msg("toy")
        await opened.wait_until_idle()
        table = opened.value("fuzzy_toy")
        order = {
            name: (np.argsort(-table[name], kind="stable") + 1).tolist()
            for name in ("ndc", *MODELS)
        }
        names = [f"{row.u} {row.v}" for row in table.itertuples()]
        assert names[0] == "UnevenLF EvenLF"
        assert order["ndc"] == [3, 7, 2, 8, 1, 6, 10, 4, 5, 9]
        assert order["fit"] == [3, 7, 10, 6, 2, 4, 8, 9, 5, 1]
        assert order["sym"] == [3, 7, 8, 2, 6, 4, 9, 10, 5, 1]
        assert order["flat"] == [3, 7, 2, 8, 1, 6, 10, 4, 5, 9]
        ranks = rank_with_ties(table["permutation"])
        assert ranks[0] == ranks[9] == 3
        assert "0.0769" in opened.toy._text.body
        opened.toy._text._handle_msg("HighF EvenH")
        await opened.wait_until_idle()
        assert opened.value("fuzzy_ndc").value == pytest.approx(0.2816667, abs=1e-6)
        assert opened.page._places[1].visible

    run_scenario(scenario)


def test_hues_of_v_follow_those_of_u():
    toys = toy_partitions()
    u = toys["EvenLF"]
    turned = FuzzyPartition(u.memberships[:, [2, 0, 1]])
    assert match_hues(u, turned).tolist() == [2, 0, 1]


def test_more_clusters_of_v_get_hues_of_their_own():
    u, v = FuzzyPartition([0, 0, 1, 1]), FuzzyPartition([0, 0, 1, 2])
    assert sorted(match_hues(u, v).tolist()) == [0, 1, 2]


def test_partitions_sort_by_likeness():
    table = pd.DataFrame(
        {"u": ["a", "a", "b"], "v": ["b", "c", "c"], "value": [0.1, 0.9, 0.5]}
    )
    assert sorted_keys(("a", "b", "c"), table, "a") == ["a", "c", "b"]
    assert sorted_keys(("a", "b", "c"), table, "") == ["a", "b", "c"]


def test_the_copied_python_gives_the_numbers_of_the_page():
    async def scenario(opened):
        assert await opened.session.act("load example", name="iris")
        assert await opened.session.act("run pool", pool=SOFT)
        await opened.wait_until_idle()
        pair, found = opened.value("fuzzy_pair"), opened.value("fuzzy_choices")
        lines = opened.headline._script(found, pair).splitlines()
        made = {}
        exec("\n".join(lines[: lines.index("print(float(cl.ndc(U, V)))")]), made)
        assert float(ndc(made["U"], made["V"])) == opened.value("fuzzy_ndc").value

    run_scenario(scenario)


def test_the_toy_example_opens_in_a_browser(app):
    app.locator(".cl-nav-fuzzy button").click()
    app.locator(".cl-toy").first.click(timeout=LONG)
    expect(app.locator(".cl-fuzzy-toy tr")).to_have_count(11)
    app.locator(".cl-fuzzy-toy button", has_text="HighF – EvenH").click()
    expect(app.locator(".cl-fuzzy-summary")).to_contain_text("0.282")
    app.locator(".cl-fuzzy-guide button.answer", has_text="No, both").click()
    app.locator(".cl-fuzzy-guide button.answer", has_text="Cluster sizes").click()
    sentence = app.locator(".cl-fuzzy-sentence")
    expect(sentence).to_contain_text("Fit model")
    app.keyboard.press("a")
    size = "() => document.documentElement.style.fontSize == '130%'"
    app.wait_for_function(size, timeout=LONG)
