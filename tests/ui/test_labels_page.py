"""Tests of the page Given labels: its values against the library, and its clicks."""

import html
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect
from sklearn.datasets import make_blobs

import clusterlens
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.indices.agreement_reached import PoolAgreement, pool_agreement
from clusterlens.compute.indices.borders import border_ratios
from clusterlens.compute.indices.class_match import label_match
from clusterlens.compute.indices.evidence import merge_gains
from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.compute.table.examples import load_example
from clusterlens.ui.composition import new_session
from clusterlens.ui.figures.canvas import CANVAS_CSS
from clusterlens.ui.pages.clusters.page import ClustersPage
from clusterlens.ui.pages.consensus.sample_map import SampleMap
from clusterlens.ui.pages.labels.agreement import draw_agreement
from clusterlens.ui.pages.labels.nodes import pair_frame
from clusterlens.ui.pages.labels.page import LabelsPage
from clusterlens.ui.pages.labels.pairs import _cell
from clusterlens.ui.results.evaluated_labels import EvaluatedLabels
from clusterlens.ui.results.label_verdict import weigh
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.analysis import Analysis
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.view_parameters import Brush, Viewport
from clusterlens.ui.widgets.palette import cluster_colour
from clusterlens.ui.widgets.toolkit import safe
from clusterlens.ui.widgets.words import fixed
from tests.ui.kept import pool_run
from tests.ui.loop import taking, wait_until_idle

LONG = 90_000

POOL = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]


class Opened:
    """A session shown by the page."""

    def __init__(self):
        self.session = new_session(Server())
        self.page = LabelsPage(self.session)
        self.view_state = self.session.view_state
        self.page.set_visible(True)
        named = {type(panel).__name__: panel for panel in self.page.cards}
        self.headline, self.pairs = named["LabelsHeadline"], named["LabelPairs"]
        self.scales, self.pair = named["LabelScales"], named["ClassPair"]
        self.agreement, self.merges = named["LabelAgreement"], named["LabelMerges"]
        self.verdict, self.evidence = (
            named["LabelVerdictCard"],
            named["ClusterEvidence"],
        )

    async def read(self, table, *, pool=None, size=(240, 160)):
        analysis = Analysis(table=table, dataset=prepare(table))
        values = {"name": table.name, "sha256": "0" * 64}
        step = Step("load file", "Read", analysis, values)
        self.session._move(lambda: self.session.history.do(step))
        self.view_state.label_view = Viewport(width=size[0], height=size[1])
        if pool:
            assert await self.session.act("run pool", pool=pool)
        await self.wait_until_idle()

    async def wait_until_idle(self):
        await wait_until_idle(self.session)

    def value(self, name):
        return self.session.derived.get(name).value


run_scenario = taking(Opened)


def labelled(gaps=False, **columns):
    rng = np.random.default_rng(0)
    centres = np.repeat([[0, 0], [1, 0], [9, 9]], 30, axis=0)
    X = centres + rng.normal(0, 0.7, (90, 2))
    label = np.repeat(["left", "right", "far"], 30).astype(object)
    if gaps:
        label[:4] = None
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": label, **columns})
    return make_dataset(frame, name="labelled", label="label")


def test_without_labels_the_page_says_what_to_do():
    async def scenario(opened):
        await opened.wait_until_idle()
        assert "No class labels" in opened.headline.status.body
        assert not opened.page._cards.visible
        opened.headline.status._handle_msg("data")
        assert opened.view_state.page == "data"

    run_scenario(scenario)


def test_what_is_judged_can_be_chosen_where_no_labels_are_given():
    async def scenario(opened):
        frame = labelled().table.assign(shade=["x", "y", "z"] * 30)
        await opened.read(make_dataset(frame[["shade", "a", "b"]], name="bare"))
        headline = opened.headline
        assert "Choose another column" in headline.status.body
        # An empty note would hide the select of a card.
        assert headline.status not in headline.view.objects
        assert headline._source.visible
        assert headline._source.options["column “shade”"] == "column:shade"

    run_scenario(scenario)


def test_a_zoom_that_is_told_late_is_not_looked_at_in_another_pair():
    async def scenario(opened):
        await opened.read(labelled())
        frame, view_state = opened.pair._figure, opened.view_state
        frame.figure.set_from_json("inner_width", 240)
        frame.figure.set_from_json("inner_height", 160)
        await frame._task
        for told_late in (False, True):
            view_state.open_pair(0, 1)
            await opened.wait_until_idle()
            assert view_state.label_view.x is None
            x = frame.figure.x_range
            x.set_from_json("start", (x.reset_start + x.reset_end) / 2)
            if told_late:
                view_state.open_pair(1, 2)
            await frame._task
            await opened.wait_until_idle()
            assert (view_state.label_view.x is None) == told_late
            assert (x.start == x.reset_start) == told_late

    run_scenario(scenario)


@pytest.mark.parametrize("n_small", [(), (4,), (5,), (60, 4), (86, 4)])
def test_the_headline_names_only_pairs_of_classes_with_enough_rows(n_small):
    async def scenario(opened):
        frame = labelled().table.copy()
        label = frame["label"].to_numpy(object)
        for name, n, start in zip(("tiny", "dwarf"), n_small, (0, 60), strict=False):
            label[start : start + n] = name
        frame["label"] = label
        await opened.read(make_dataset(frame, name="small", label="label"))
        check, labels = opened.value("label_check"), opened.value("named_labels")
        pairs = check.pairs.dropna(subset="score")
        large = pairs[(pairs["n_a"] >= 5) & (pairs["n_b"] >= 5)]
        text = " ".join(text_of(opened.headline._text.body).split())
        assert ("mix most" in text) == (len(large) > 1)
        some = 0 < len(large) < len(pairs)
        assert ("Among classes of at least 5 rows, " in text) == some
        lowest = pairs.loc[pairs["score"].idxmin()]
        is_small = "a class of fewer than 5 rows" in opened.pair._heading.body
        assert is_small == (min(lowest["n_a"], lowest["n_b"]) < 5)
        if len(large) < 2:
            assert ("score" in text.split("Round groups")[0]) == (len(large) == 1)
            return
        for at, words in ((0, "mix most"), (-1, "stand furthest apart")):
            row = large.sort_values("score").iloc[at]
            a, b = (labels.name(int(row[key])) for key in ("class_a", "class_b"))
            assert f"{a} and {b} {words} ({fixed(row['score'])})" in text

    run_scenario(scenario)


def test_numbers_are_those_of_the_library():
    async def scenario(opened):
        table = labelled()
        await opened.read(table, pool=POOL)
        ds = prepare(table)
        check = label_match(ds.X, ds.labels_true, n_permutations="adaptive")
        shown = opened.value("label_check")
        assert shown.score == check.score
        assert f"Round groups {fixed(check.score)} (CH" in opened.headline._text.body
        for score in check.pairs["score"]:
            assert f">{fixed(score)}</button>" in opened.pairs._table.body
        reached = pool_agreement(opened.session.analysis.ensemble, ds.labels_true)
        best = fixed(reached.values[reached.highest])
        assert f"{best} at most from this pool" in opened.agreement._text.body
        gains = merge_gains(ds.X, ds.labels_true, n_permutations="adaptive")
        assert fixed(gains["merged"][0], 3) in opened.merges._text.body
        names = [ds.label_names[k] for k in gains.loc[0, ["class_a", "class_b"]]]
        assert set(names) == {"left", "right"}

    run_scenario(scenario)


def test_the_accessible_name_of_a_pair_contains_its_visible_score():
    labels = SimpleNamespace(name=str)
    row = SimpleNamespace(
        score=0.336, standard_error=0.01, class_a=0, class_b=1, n_a=9, n_b=9
    )
    cell = _cell(labels, row, opened=False, numbered=True)
    name, visible = re.search("aria-label='([^']*)'[^>]*>([^<]*)<", cell).groups()
    assert visible == "0.34"
    assert visible in name


def test_the_most_mixed_pair_is_open_and_a_click_opens_another():
    async def scenario(opened):
        await opened.read(labelled())
        labels, pair = opened.value("evaluated_labels"), opened.value("label_pair")
        assert {labels.name(pair.a), labels.name(pair.b)} == {"left", "right"}
        assert "the most mixed pair" in opened.pair._heading.body
        steering = opened.pair._steering
        assert re.match("Map of (left and right|right and left), score", steering.words)
        assert "Enter" not in steering.how  # a click does nothing there
        codes = {name: k for k, name in enumerate(labels.names)}
        a, b = sorted((codes["far"], codes["left"]))
        opened.pairs._table._handle_msg(f"{a} {b}")
        await opened.wait_until_idle()
        pair = opened.value("label_pair")
        assert (pair.a, pair.b) == (a, b)
        assert opened.pairs._table.body.count("class='open'") == 1
        assert pair.columns["difference"].abs().is_monotonic_decreasing
        picture = opened.value("label_picture")
        assert picture.pixels.any()
        assert pair_frame(pair.view.coordinates).shape == (2, 2)

    run_scenario(scenario)


def test_rows_without_label_are_left_out_and_counted():
    async def scenario(opened):
        await opened.read(labelled(gaps=True))
        assert opened.value("label_check").n_left_out == 4
        assert "4 rows without a class left out" in opened.headline._text.body

    run_scenario(scenario)


def test_merging_is_of_this_page_only_and_can_be_taken_back():
    async def scenario(opened):
        await opened.read(labelled(), pool=POOL)
        before = opened.value("label_check").score
        steps = len(opened.session.history.steps)
        pair = opened.value("label_pair")
        opened.merges._text._handle_msg(f"{pair.a} {pair.b}")
        await opened.wait_until_idle()
        labels = opened.value("evaluated_labels")
        assert len(labels.sizes) == 2
        assert opened.value("label_check").score > before
        assert opened.value("label_agreement").merged.values.max() == 1
        assert "once merged" in opened.agreement._how.body
        assert len(opened.session.history.steps) == steps
        opened.merges._text._handle_msg("back")
        await opened.wait_until_idle()
        assert opened.value("label_check").score == before

    run_scenario(scenario)


def test_the_clusters_of_a_model_are_judged_in_the_same_way():
    async def scenario(opened):
        await opened.read(labelled(), pool=POOL)
        offers = opened.headline._source.options
        assert "label" in next(iter(offers))
        assert len(offers) == 5
        opened.headline._source.value = "model:1"
        await opened.wait_until_idle()
        labels, ensemble = (
            opened.value("evaluated_labels"),
            opened.session.analysis.ensemble,
        )
        found = eval(labels.code, {"ensemble": ensemble})
        assert np.array_equal(labels.codes, found)
        pairs = set(zip(found, ensemble.labels[1].tolist(), strict=True))
        assert len(pairs) == ensemble.n_clusters[1] == len(labels.sizes)
        assert ensemble.names[1] in opened.headline._text.body
        assert "Are the clusters of" in opened.headline._text.body

    run_scenario(scenario)


# Words that apply to given labels only.
OF_LABELS = r"given|labels?\b|class(es)?\b|picked|reaches|agreement|DBCV|pool"


def text_of(markup):
    """Return the visible text, without the Python of a copy button."""
    return re.sub(r"<[^>]*>", " ", markup)


async def choose_result(opened, **partition):
    numbers = [[k, k] for k in range(3)]
    assert await opened.session.act(
        "choose result", partition=partition, numbers=numbers, on="Clusters"
    )


async def check_again(opened):
    opened.headline._text._handle_msg("again")
    await opened.wait_until_idle()


def test_separate_clusters_of_a_model_are_groups_of_their_own():
    async def scenario(opened):
        X = make_blobs(160, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)[0]
        await opened.read(make_dataset(pd.DataFrame(X, columns=["a", "b"])), pool=POOL)
        opened.view_state.evaluate("model:2")
        await opened.wait_until_idle()
        assert opened.value("label_verdict").answer == "Not decided yet"
        assert "Are they found again in other samples?" in opened.headline._text.body
        await check_again(opened)
        verdict = opened.value("label_verdict")
        assert (verdict.answer, verdict.again, verdict.apart) == ("Yes", "yes", "yes")
        text = text_of(opened.headline._text.body)
        assert "4 of 4 clusters found again in other samples, 4 of 4 clusters" in text
        assert opened.evidence._table.body.count("scale passes") == 8
        found, X = (
            opened.value("labels_stability"),
            opened.value("evaluated_labels").dataset.X,
        )
        again = clusterlens.cluster_stability(
            X,
            opened.session.analysis.ensemble.specs[2],
            labels=opened.value("evaluated_labels").codes,
            n_jobs=1,
        )
        assert np.array_equal(found.similarities, again.similarities)
        assert np.array_equal(found.by_chance, again.by_chance)

    run_scenario(scenario)


def test_four_parts_of_uniform_noise_are_not_groups():
    async def scenario(opened):
        await opened.read(load_example("uniform"), pool=POOL)
        opened.view_state.evaluate("model:2")
        await opened.wait_until_idle()
        await check_again(opened)
        verdict = opened.value("label_verdict")
        assert (verdict.answer, verdict.again, verdict.apart) == ("Hardly", "no", "no")
        assert "0 of 4 clusters found again" in text_of(opened.headline._text.body)
        # Scores that are high in noise say so.
        assert opened.value("label_check").score > 0.9
        assert "parts of noise come near 1" in opened.pairs._how.body
        assert "scale passes" not in opened.evidence._table.body
        assert "another sample would be cut elsewhere" in opened.verdict._text.body

    run_scenario(scenario)


def test_a_page_of_clusters_has_no_word_of_given_labels_and_theirs_keeps_them():
    async def scenario(opened):
        await opened.read(labelled(), pool=POOL)
        shown = (opened.headline._text, opened.verdict._text)
        for text in shown:
            assert re.search(OF_LABELS, text_of(text.body))
        assert opened.agreement.view.visible
        assert not opened.evidence.view.visible
        assert "picked knowing the labels" in opened.agreement._text.body
        assert "picked knowing the labels" in opened.verdict._text.body
        await choose_result(opened, kind="consensus", k=3)
        for source in ("result", "consensus:3", "model:1"):
            opened.view_state.evaluate(source)
            await opened.wait_until_idle()
            await check_again(opened)
            assert not opened.agreement.view.visible
            assert opened.evidence.view.visible
            assert opened.value("label_agreement") is None
            for text in (*shown, opened.evidence._how, opened.evidence._table):
                assert text.body
                assert not re.search(OF_LABELS, text_of(text.body)), text.body
            for text in (opened.scales._how, opened.pairs._how):
                assert not re.search(OF_LABELS, text_of(text.body)), text.body
        opened.view_state.evaluate("labels")
        await opened.wait_until_idle()
        assert opened.agreement.view.visible
        assert not opened.evidence.view.visible
        assert "Are the labels of" in opened.headline._text.body

    run_scenario(scenario)


def test_given_labels_as_the_result_stay_given_labels():
    async def scenario(opened):
        await opened.read(labelled(), pool=POOL)
        await choose_result(opened, kind="labels")
        opened.view_state.evaluate("result")
        await opened.wait_until_idle()
        assert opened.value("evaluated_labels").noun == "class"
        assert "Are the labels of" in opened.headline._text.body

    run_scenario(scenario)


def test_any_column_and_the_consensus_are_judged_in_the_same_way():
    async def scenario(opened):
        side = ["<b>l</b>", "r", None] * 30
        table = labelled(side=side, unique=[f"u{k}" for k in range(90)])
        await opened.read(table, pool=POOL)
        offers = list(opened.headline._source.options.values())
        assert "column:side" in offers
        assert "column:unique" not in offers
        opened.headline._source.value = "column:side"
        await opened.wait_until_idle()
        ds = prepare(table)
        codes = eval(opened.value("evaluated_labels").code, {"dataset": ds})
        check = label_match(ds.X, codes, n_permutations="adaptive")
        assert opened.value("label_check").score == check.score
        assert opened.value("evaluated_labels").n_left_out == 30
        text = opened.headline._text.body
        assert ("It is a feature itself" in text) == (ds.roles["side"] != "ignore")
        assert "&lt;b&gt;l&lt;/b&gt;" in text
        assert "<b>l</b>" not in text + opened.pairs._table.body
        opened.view_state.evaluate("consensus:3")
        await opened.wait_until_idle()
        ensemble = opened.session.analysis.ensemble
        labels = opened.value("evaluated_labels")
        found = eval(labels.code, {"cl": clusterlens, "ensemble": ensemble})
        assert np.array_equal(labels.codes, found)
        assert len(labels.sizes) == 3

    run_scenario(scenario)


def test_a_brushed_group_is_judged_against_the_rest():
    async def scenario(opened):
        ds = prepare(labelled())
        await opened.read(labelled(), pool=POOL)
        opened.view_state.group = Brush(np.arange(60, 90), "map")
        opened.view_state.evaluate("group")
        await opened.wait_until_idle()
        labels = opened.value("evaluated_labels")
        assert labels.sizes == {0: 30, 1: 60}
        assert np.array_equal(labels.codes, eval(labels.code, {"dataset": ds}))
        check = label_match(ds.X, labels.codes, n_permutations="adaptive")
        assert opened.value("label_check").score == pytest.approx(check.score)
        assert "the group" in opened.evidence._table.body
        assert "by construction" in opened.headline._text.body
        assert opened.headline._source.value == "group"

    run_scenario(scenario)


def test_without_a_run_the_quick_pool_is_one_click_away():
    async def scenario(opened):
        await opened.read(labelled())
        assert "Run the quick pool" in opened.agreement.status.body
        await opened.agreement.status._handle_msg("quick")
        await opened.wait_until_idle()
        assert "at most from this pool" in opened.agreement._text.body

    run_scenario(scenario)


def test_nested_rings_are_groups_without_a_centre():
    async def scenario(opened):
        await opened.read(load_example("rings"))
        verdict = opened.value("label_verdict")
        assert verdict.answer == "Yes, but not each around a centre"
        assert (verdict.round, verdict.dense) == ("no", "yes")
        assert "Yes, but not each around a centre" in opened.verdict._text.body
        assert "nested rings" in opened.verdict._text.body

    run_scenario(scenario)


def test_the_grounds_count_the_gaps_between_classes():
    def scenario_of(gap, words):
        async def scenario(opened):
            X = np.random.default_rng(0).uniform(size=(120, 2)) * [12, 1]
            side = np.arange(120) % 2
            X[:, 1] += side * (1 + gap)
            frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": side})
            await opened.read(make_dataset(frame, label="label"))
            labels, found = (
                opened.value("evaluated_labels"),
                opened.value("label_borders"),
            )
            assert found.equals(border_ratios(labels.dataset.X, side))
            text = text_of(opened.verdict._text.body)
            assert f"{words} At the border" in text
            assert f"lowest ratio {fixed(found['ratio'][0])}" in text

        return scenario

    run_scenario(scenario_of(0.4, "Gaps: 1 of 1 pair."))
    run_scenario(scenario_of(0, "Gaps: 0 of 1 pair."))


def test_marks_of_a_pair_wait_for_its_picture():
    async def scenario(opened):
        await opened.read(labelled(), size=(0, 0))
        figure, pair = opened.pair._figure, opened.value("label_pair")
        assert len(figure._means.data["x"]) == 0
        opened.view_state.label_view = Viewport(width=240, height=160)
        await opened.wait_until_idle()
        assert np.array_equal(figure._means.data["x"], pair.view.means[:, 0])

    run_scenario(scenario)


def test_the_only_pair_is_not_counted():
    async def scenario(opened):
        await opened.read(labelled(label=["p", "q"] * 45))
        score = fixed(opened.value("label_check").score)
        assert f"The only pair scores {score};" in opened.verdict._text.body

    run_scenario(scenario)


def test_without_density_only_centres_can_say_yes():
    X = np.random.default_rng(0).normal(size=(40, 2))
    labels = np.arange(40) % 2
    borders = border_ratios(X, labels)
    mixed = label_match(X, labels)
    assert weigh(mixed, borders, None, None).answer == "Not decided yet"
    apart = label_match(X + 20 * labels[:, None], labels)
    assert weigh(apart, borders, None, None).answer == "Yes"


def test_labels_dealt_at_random_are_hardly_clusters():
    async def scenario(opened):
        table = labelled(label=np.random.default_rng(0).permutation(["p", "q"] * 45))
        await opened.read(table)
        assert opened.value("label_verdict").answer == "Hardly"

    run_scenario(scenario)


@pytest.mark.parametrize(
    ("label", "words"),
    [(["one"] * 90, "has one class only"), (list(range(90)), "has 90 values")],
)
def test_labels_that_cannot_be_compared_get_a_sentence(label, words):
    async def scenario(opened):
        frame = labelled().table.assign(label=[f"v{k}" for k in label])
        await opened.read(make_dataset(frame, name="odd", label="label"))
        assert words in opened.headline.status.body
        assert not opened.pairs._table.body

    run_scenario(scenario)


def test_labels_on_the_map_lead_here():
    async def scenario(opened):
        await opened.read(labelled(), pool=POOL)
        sample_map = SampleMap(opened.session)
        sample_map.set_visible(True)
        opened.view_state.param.update(
            map_view=Viewport(width=99, height=60), colour_by="labels"
        )
        await opened.wait_until_idle()
        assert "cl-to-labels" in sample_map._legend.body
        sample_map._legend._handle_msg("labels")
        assert opened.view_state.page == "labels"

    run_scenario(scenario)


def test_rows_without_a_label_are_missing_on_the_map_not_noise():
    async def scenario(opened):
        await opened.read(labelled(gaps=True), pool=POOL)
        opened.view_state.colour_by = "labels"
        opened.session.derived.watch(("legend",), lambda results: None)
        await opened.wait_until_idle()
        entries = opened.session.derived.get("legend").value.entries
        assert entries[0] == (-1, "label missing", 4)
        assert [name for _, name, _ in entries[1:]] == ["far", "left", "right"]

    run_scenario(scenario)


def test_a_merged_class_bears_the_names_of_all():
    labels = EvaluatedLabels(
        dataset=None,
        title="",
        noun="class",
        given=None,
        codes=None,
        names=("a", "b", "c"),
        code="",
        merged=((1, 2), (0, 1)),
    )
    assert labels.name(0) == "a + b + c"


def copied(opened):
    """Return the variables of the copied Python."""
    judge = opened.value("labels_stability_model")
    lines = opened.headline._script(
        opened.value("evaluated_labels"), judge
    ).splitlines()
    found = {"__name__": "__main__"}
    exec("\n".join(line for line in lines if "print" not in line), found)
    return found


def test_the_copied_python_gives_what_clusters_are_judged_by():
    async def scenario(opened):
        assert await opened.session.act("load example", name="iris")
        assert await opened.session.act("run pool", pool=POOL)
        opened.view_state.evaluate("model:0")
        await opened.wait_until_idle()
        await check_again(opened)
        found = copied(opened)
        for name, node in (
            ("stability", "labels_stability"),
            ("separation", "labels_separation"),
        ):
            shown = opened.value(node)
            expected = shown.to_frame()
            pd.testing.assert_frame_equal(
                found[name].to_frame(), expected, check_index_type=False
            )
        score = opened.value("label_check").score
        assert found["check"].score == pytest.approx(score, abs=1e-12)
        assert found["evidence"].dbcv == opened.value("label_evidence").dbcv

    run_scenario(scenario)


def test_the_copied_python_gives_the_numbers_of_the_page():
    async def scenario(opened):
        assert await opened.session.act("load example", name="iris")
        await opened.wait_until_idle()
        found = copied(opened)
        assert found["check"].score == opened.value("label_check").score
        assert found["evidence"].dbcv == opened.value("label_evidence").dbcv
        assert "stability" not in found

    run_scenario(scenario)


def test_a_pair_of_classes_opens_in_a_browser(kept):
    app = kept("wine", page="labels")
    expect(app.locator(".cl-verdict")).to_be_visible()
    expect(app.locator(".cl-quick-pool")).to_be_visible()
    heading = app.locator(".cl-pair-heading")
    expect(heading).to_contain_text("the most mixed pair")
    app.locator(".cl-label-pairs button", has_text="0.98").click()
    expect(heading).to_contain_text("score 0.98")
    app.locator(".cl-merge").first.click(timeout=LONG)
    expect(app.locator(".cl-unmerge")).to_be_visible()


def test_clusters_are_looked_for_in_other_samples_by_a_click(kept):
    app = kept("uniform", pool_run(POOL), page="labels")
    app.locator(".cl-judged").get_by_role("combobox").click(timeout=LONG)
    app.locator(".MuiMenuItem-root").get_by_text("k-means k=4").first.click()
    verdict = app.locator(".cl-verdict")
    expect(verdict).to_have_text("Not decided yet.")
    expect(app.locator(".cl-label-agreement")).to_be_hidden()
    app.locator(".cl-check-again").click(timeout=LONG)
    expect(verdict).to_have_text("Hardly.")
    expect(app.locator(".cl-cluster-evidence .scale")).to_have_count(8)
    expect(app.locator(".cl-cluster-evidence .scale.passes")).to_have_count(0)


def test_a_model_that_saw_no_two_labelled_rows_has_no_dot_and_is_counted():
    missing = np.array([[True] * 4 + [False] * 2, [False] * 6])
    ensemble = Ensemble([[0, 0, 0, 1, 1, 1]] * 2, missing=missing)
    leader = SimpleNamespace(order=[0])
    found = PoolAgreement(ensemble, np.array([np.nan, 0.5]), leader, 0)
    chart = draw_agreement(found, None)
    assert "1 model saw fewer than two labelled rows" in chart
    assert "place 2 of 2" in chart
    assert "nan" not in chart


def test_names_on_the_chart_of_agreement_cover_no_dot(page):
    kinds = ("k-means", "ward", "density", "mixture")
    families = [kind for kind in kinds for _ in range(5)]
    labels = np.random.default_rng(0).integers(0, 3, (20, 30))
    values = np.tile([0.0, 0.15, 0.28, 0.3, 0.45], 4)
    values[12] = 0.5
    pool = Ensemble(labels, families=families)
    leader = SimpleNamespace(order=[9])
    given, merged = (
        PoolAgreement(pool, found, leader, 0) for found in (values, values + 0.1)
    )
    for after in (None, merged):
        chart = draw_agreement(given, after)
        style = f"{CANVAS_CSS} body {{ height: 260px; width: 460px; }}"
        page.set_content(f"<style>{style}</style>{chart}")
        names, dots = (
            page.locator(f".canvas {kind}").evaluate_all(
                "all => all.map(e => Object.values(e.getBoundingClientRect().toJSON()))"
            )
            for kind in ("b", "i")
        )
        assert len(names) == (4 if after else 2)
        for _, top, _, _, _, right, bottom, left in names:
            for x, y, width, height, *_ in dots:
                beside = x >= right or x + width <= left
                assert beside or y >= bottom or y + height <= top


@pytest.mark.parametrize(
    ("names", "marks"),
    [
        ([0, 1, 2], ["0", "1", "2"]),
        (["far", "left", "right"], ["1", "2", "3"]),
        ([1990, 2000, 2010], ["#1", "#2", "#3"]),
    ],
)
def test_no_class_stands_under_the_number_of_another(names, marks):
    async def scenario(opened):
        table = labelled()
        column = np.repeat(names, 30)
        frame = table.table.assign(label=column)
        await opened.read(make_dataset(frame, label="label"))
        body = opened.pairs._table.body
        last = body.rpartition("<tr>")[2]
        assert re.findall(r"<td>([^<]*)</td>", last) == marks
        heads = re.findall(r"<th title='([^']+), 30 rows'><span>([^<]+)<", body)
        shown = {str(n): [m, f"{m} {n}"] for m, n in zip(marks, names, strict=True)}
        assert all(head in shown[title] for title, head in heads)
        assert [title for title, _ in heads] == [str(name) for name in names]

    run_scenario(scenario)


def test_the_map_of_given_labels_names_the_classes():
    async def scenario(opened):
        frame = labelled().table.assign(label=np.repeat([0, 1, 2], 30))
        await opened.read(make_dataset(frame, label="label"), pool=POOL)
        opened.view_state.colour_by = "labels"
        SampleMap(opened.session).set_visible(True)
        await opened.wait_until_idle()
        assert opened.value("legend").numbers == ["0", "1", "2"]

    run_scenario(scenario)


def test_clusters_have_numbers_names_and_colours_of_the_result_on_every_page():
    async def scenario(opened):
        await opened.read(labelled(), pool=POOL)
        session = opened.session
        sizes = {3: "first", 1: "<b>second</b>", 2: "third"}
        partition = {"kind": "model", "model": 1}
        numbers = [[label, k] for label, k in enumerate(sizes)]
        assert await session.act(
            "choose result", partition=partition, numbers=numbers, on="Clusters"
        )
        result = session.analysis.result.clusters
        assert set(result.tolist()) == {1, 2, 3}
        clusters = ClustersPage(session)
        clusters.set_visible(True)
        for judge in ("result", "model:1", "consensus:3"):
            opened.view_state.evaluate(judge)
            await opened.wait_until_idle()
            labels = opened.value("named_labels")
            assert set(labels.codes.tolist()) == {1, 2, 3}
            same = np.array_equal(labels.codes, result)
            assert same or judge == "consensus:3"
            assert [labels.name(k) for k in labels.sizes] == [
                "cluster 2",
                "cluster 3",
                "cluster 4",
            ]
            if judge != "result":
                given = {"cl": clusterlens, "ensemble": session.analysis.ensemble}
                assert np.array_equal(eval(labels.code, given), labels.codes)
        opened.view_state.evaluate("model:1")
        await check_again(opened)
        measured = opened.value("labels_stability")
        assert measured.clusters.tolist() == [1, 2, 3]
        for k, name in sizes.items():
            await session.act(
                "name cluster", partition={"kind": "result"}, cluster=k, name=name
            )
        await opened.wait_until_idle()
        assert opened.value("labels_stability") is measured
        labels = opened.value("named_labels")
        chosen = session.derived.get("chosen").value
        assert {k: labels.name(k) for k in labels.sizes} == sizes == chosen.names
        pair = opened.value("label_pair")
        assert pair.colours == tuple(map(cluster_colour, (pair.a, pair.b)))
        assert sizes[pair.a] in html.unescape(opened.pair._heading.body)
        for k, name in sizes.items():
            row = f'background:{cluster_colour(k)}"></span>{safe(name)}'
            assert row in opened.evidence._table.body
            assert row in clusters_table(clusters)
        assert "<b>second" not in opened.evidence._table.body + opened.pairs._table.body

    run_scenario(scenario)


def clusters_table(page):
    """Return the table of clusters of the page Clusters, without emphasis."""
    cards = {type(panel).__name__: panel for panel in page.cards}
    body = cards["ClusterProfilesTable"]._table.body
    return body.replace("<b>", "").replace("</b>", "")
