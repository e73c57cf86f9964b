"""Tests of the report: its numbers, words and sources are also on the pages."""

import re
from dataclasses import replace
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest

from clusterlens.ui.components.findings import gather
from clusterlens.ui.composition import new_session
from clusterlens.ui.exports import pictures
from clusterlens.ui.exports.document import (
    SECTIONS,
    SOURCES,
    _about,
    _found_again,
    _ranking,
    _steps,
    picture_makers,
    write_report,
)
from clusterlens.ui.exports.verdict import write_verdict
from clusterlens.ui.pages.clusters.page import ClustersPage
from clusterlens.ui.pages.consensus.page import ConsensusPage
from clusterlens.ui.pages.report.preview import ReportPreview
from clusterlens.ui.pages.verdict.page import VerdictPage
from clusterlens.ui.results.label_verdict import LIGHT_COLOURS
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.history import Step
from clusterlens.ui.widgets.scripted import Text
from tests.ui.exports.test_lab import plain
from tests.ui.loop import run, wait_until_idle

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")

POOL = [
    {"clusterer": "k-means", "n_clusters": [2, 3, 4]},
    {"clusterer": "Gaussian mixture", "n_components": [2, 3]},
    {"clusterer": "agglomerative", "linkage": ["average"], "n_clusters": [2, 3, 5]},
]
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def numbers(text):
    """Return all numbers of a text."""
    return set(NUMBER.findall(text))


def sections(text):
    """Return the plain text of each section of a report by its heading."""
    parts = text.split("</h1>")[1].split("<h2>")[1:]
    parted = dict(part.split("</h2>", 1) for part in parts)
    kept = {key: re.sub(r"<img[^>]*>", "", part) for key, part in parted.items()}
    return {key: one_line(plain(part.replace("<", " <"))) for key, part in kept.items()}


def one_line(text):
    """Return a text without markup, with one blank between words."""
    return re.sub(r"\s+", " ", unescape(text)).replace(" .", ".").strip()


def on_page(*pages):
    """Return the texts of the pages with their titles, and the ranking."""
    found = []
    for page in pages:
        for panel in page.cards:
            found += [text.body for text in panel.view.select(Text)]
            for part in getattr(panel, "tabs", {}).values():
                found += [text.body for text in part.view.select(Text)]
            found.append(str(getattr(panel, "shown", "")))
    return one_line(" ".join(found).replace("<", " <"))


@pytest.fixture(scope="module")
def reported():
    """A report after answers and checks, and the texts of the pages."""

    async def main():
        session = new_session(Server())
        await session.act("load example", name="iris")
        await session.act("run pool", pool=POOL, random_state=0)
        pages_shown = (
            VerdictPage(session),
            ConsensusPage(session),
            ClustersPage(session),
        )
        for one in (*pages_shown, ReportPreview(session)):
            one.set_visible(True)
        await wait_until_idle(session)
        before = write_report(gather(session))
        labels = session.analysis.samples.labels_true
        for k in range(14):
            a, b = (7 * k) % 150, (11 * k + 75) % 150
            kind = "must" if labels[a] == labels[b] else "cannot"
            session.act_now("add link", kind=kind, a=a, b=b)
        for threshold in (3, 5, 4):
            session.act_now("set threshold", threshold=threshold)
        partition = {"kind": "model", "model": 1}
        values = {"numbers": [[k, k] for k in range(3)], "on": "Clusters"}
        await session.act("choose result", partition=partition, **values)
        await wait_until_idle(session)
        session.derived.ask("null_check")
        session.derived.ask("chosen_stability")
        await wait_until_idle(session)
        pages = on_page(*pages_shown)
        session.view_state.tab = "links"
        await wait_until_idle(session)
        pages += on_page(*pages_shown)
        found = gather(session)
        return SimpleNamespace(
            before=before,
            found=found,
            report=write_report(found),
            pages=pages,
            derived=session.derived,
        )

    return run(main(), 600)


@pytest.mark.parametrize(
    "heading",
    [
        "Verdict",
        "Result",
        "Leading model",
        "Matrix",
        "Structureless data",
        "Ranking",
        "Links",
    ],
)
def test_every_number_of_the_report_stands_on_the_page(reported, heading):
    text = sections(reported.report)[heading]
    if heading == "Result":  # time of the choice
        text = re.sub(r", chosen on .*? UTC", "", text)
    assert numbers(text)
    missing = numbers(text) - numbers(reported.pages)
    assert not missing, text


def test_the_first_sentences_say_whether_there_are_groups_and_name_the_answers(
    reported,
):
    first, leading = (
        sections(reported.report)[key] for key in ("Verdict", "Leading model")
    )
    before = sections(reported.before)
    assert "Not measured: whether there are groups at all" in before["Verdict"]
    sentence = reported.derived.get("null_check").value.sentence
    assert "your 14 answers" in first.split("Can be defended")[0]
    for text in (first, reported.pages):
        assert sentence in text
    assert "Closest to what this pool agrees on" in before["Leading model"]
    assert "Closest to what this pool agrees on" not in leading
    names = reported.found.ranking.ensemble.names
    assert f"{names[reported.found.ranking.order[0]]} is likeliest" in leading
    robust = reported.derived.get("robustness").value
    first = int(reported.found.ranking.order[0])
    assert robust.sentence(first, "this model") in leading


def test_a_caption_says_who_votes(reported):
    voting = "Share of the 8 models that put two samples together"
    effective = reported.found.answers.posterior.n_effective
    answers = (
        f"given the 14 answers, after which about {effective:.1f} of 8 models have "
        "a vote"
    )
    caption = sections(reported.report)["Matrix"]
    assert voting in caption
    assert answers in caption
    assert "answers" not in sections(reported.before)["Matrix"]
    bars = {k: draw().bar for k, draw in picture_makers(reported.found).items()}
    share = "share of the 8 models that join two samples, with the answers"
    assert bars["consensus matrix"] == share
    needed = "joined by at least 4 of 8 models, with the answers"
    assert bars["binarised matrix"] == needed
    alone = replace(
        reported.found, weighted_ensemble=reported.found.ranking.ensemble, threshold=4
    )
    bars = {k: draw().bar for k, draw in picture_makers(alone).items()}
    assert "answers" not in bars["consensus matrix"]
    caption = sections(write_report(alone))["Matrix"]
    assert "the pool alone votes, without the answers" in caption


def test_a_preview_draws_only_the_pictures_that_changed(monkeypatch):
    drawn = []
    to_bytes = pictures.Print.to_bytes
    monkeypatch.setattr(
        pictures.Print,
        "to_bytes",
        lambda self, kind: drawn.append(self) or to_bytes(self, kind),
    )

    async def main():
        session = new_session(Server())
        await session.act("load example", name="iris")
        await session.act("run pool", pool=POOL, random_state=0)
        panel = ReportPreview(session)
        panel.set_visible(True)
        await wait_until_idle(session)
        assert len(drawn) == 2
        session.act_now("write note", text="seen")
        await wait_until_idle(session)
        assert "seen" in panel._page.body
        assert len(drawn) == 2
        panel._switch("matrix")
        await wait_until_idle(session)
        assert panel._page.body.count("<img") + panel._page.body.count("&lt;img") == 1
        assert len(drawn) == 2
        session.act_now("add link", kind="must", a=0, b=1)
        await wait_until_idle(session)
        assert len(drawn) == 3

    run(main(), 300)


def test_only_sources_of_what_the_report_uses_are_cited(reported):
    before, after = (
        sections(text)["How to cite"] for text in (reported.before, reported.report)
    )
    for word, is_new in (("Blockeel", True), ("Hennig", True), ("Fred", False)):
        assert word in after
        assert (word in before) != is_new
    for word in ("Hofmeyr", "DeWolfe", "Jeon"):
        assert word not in after
        assert any(word in source for source in SOURCES)
    assert "(Gaussian mixture)" in after
    assert "DBSCAN" not in after
    other = replace(reported.found, without=frozenset({"matrix"}))
    assert "Fred" not in sections(write_report(other))["How to cite"]


def test_the_result_comes_before_the_evidence_and_words_before_numbers(reported):
    order = list(sections(reported.report))
    assert order[:3] == ["Verdict", "Result", "Leading model"]
    assert order.index("Matrix") < order.index("Ranking") < order.index("Steps")
    result = sections(reported.report)["Result"]
    passed = int(reported.found.stability.stable.sum())
    verb = "is" if passed == 1 else "are"
    words = f"{passed} of 3 clusters {verb} found again in other samples"
    assert words in result
    assert result.index(words) < result.index("what sets it apart")


@pytest.mark.parametrize(
    ("passed", "words"),
    [
        (0, "0 of 3 clusters are found"),
        (1, "1 of 3 clusters is found"),
        (2, "2 of 3 clusters are found"),
    ],
)
def test_one_cluster_is_found_again_and_several_are(reported, passed, words):
    known = reported.found.stability
    stability = SimpleNamespace(
        labels=known.labels,
        jaccard=known.jaccard,
        by_chance=known.by_chance,
        clusters=known.clusters,
        sizes=known.sizes,
        stable=np.arange(3) < passed,
        n_resamples=known.n_resamples,
        n_copies=known.n_copies,
    )
    assert words in plain(_found_again(replace(reported.found, stability=stability)))


def test_the_report_says_once_why_numbers_of_clusters_are_missing(reported):
    others = frozenset(SECTIONS) - {"clusters"}
    nothing = dict.fromkeys(("profiles", "stability", "distributions"))
    found = replace(reported.found, without=others, asked={}, **nothing)
    partition = found.export_partition

    def written(clusters, names):
        given = replace(partition, clusters=clusters, names=names)
        return write_report(replace(found, export_partition=given))

    clusters = np.where(partition.clusters == 0, 0, partition.clusters + 2)
    numbers = np.unique(clusters[clusters >= 0])
    text = written(clusters, {})
    assert text.count("There is no cluster 2") == 1
    assert "There is no cluster 2, 3" in text
    assert "There is no cluster" not in written(partition.clusters, {})
    names = {int(k): f"sort {k}" for k in numbers}
    assert "There is no cluster" not in written(clusters, names)


def test_only_a_map_with_links_says_how_links_are_drawn(reported):
    words = "links solid for must, dashed for cannot"
    assert words in sections(reported.report)["Map"]
    assert words not in sections(reported.before)["Map"]
    elsewhere = [replace(one, ends=None) for one in reported.found.links]
    text = write_report(replace(reported.found, links=elsewhere))
    assert words not in sections(text)["Map"]


@pytest.mark.parametrize("light", ["yes", "in part", "no", "unknown"])
def test_the_bar_of_the_verdict_has_the_colour_of_the_page(light):
    verdict = SimpleNamespace(light=light, paragraph="So it is.", rows=())
    text = write_verdict(verdict, {}, "")
    bar = f"<p class='answer' style='border-color:{LIGHT_COLOURS[light]}'>So it is."
    assert bar in text


@pytest.mark.parametrize(
    ("year", "is_newer"), [("2001", False), ("2101", True)], ids=["older", "newer"]
)
def test_the_date_is_that_of_the_newest_step_or_check(reported, year, is_newer):
    check = SimpleNamespace(at=f"{year}-05-06T07:08:09+00:00")
    text = _about(replace(reported.found, checks={"null_check": check}))
    assert text.startswith(f"6 May {year}, 07:08 UTC") == is_newer
    assert f"6 May {year}" in text if is_newer else f"{year}" not in text


def test_a_report_explains_any_number_of_equal_models(reported):
    found = replace(reported.found, rows=reported.found.rows[:-1])
    text = one_line(plain(_ranking(found)))
    assert "×2: this model and another one are equal, ×10: ten are" in text


def test_the_charge_for_broken_links_is_named_where_a_score_has_one(reported):
    words = "includes a charge for the links that a model breaks"
    assert words in sections(reported.report)["Ranking"]
    assert words not in sections(reported.before)["Ranking"]


def test_with_answers_all_models_are_told_to_vote(reported):
    pool = reported.found.ranking.ensemble
    half = pool.with_weights([1, 1, 1, 0, 1, 0, 1, 0])
    ranking = replace(reported.found.ranking, ensemble=half)
    caption = sections(write_report(replace(reported.found, ranking=ranking)))["Matrix"]
    assert "Share of the 8 models that put two samples together" in caption
    assert "all models, also the 3 without a vote in the ranking, vote by" in caption
    assert "voting models" not in caption
    alone = replace(reported.found, ranking=ranking, weighted_ensemble=half)
    caption = sections(write_report(alone))["Matrix"]
    assert "Share of the 5 voting models that put two samples together" in caption


def step(kind, at, title="T", **values):
    return Step(kind, title, SimpleNamespace(run=None, runs=(), links=()), values, at)


def test_steps_in_a_row_that_set_the_same_thing_are_one_line(reported):
    listed = sections(reported.report)["Steps"]
    assert re.search(r"Set the agreement needed, 3 times, last 4", listed)
    assert "Run the pool" in listed
    at = [f"2026-03-01T10:{k:02}:00+00:00" for k in range(9)]
    steps = [
        step("load example", at[0], "Load", name="iris"),
        step("set threshold", at[1], "Ask", threshold=3),
        step("set threshold", at[2], "Ask", threshold=9),
        step("set score", at[3], "Score", score="aari"),
        step("set threshold", at[4], "Ask", threshold=5),
        step("load example", at[5], "Load", name="iris"),
        step("load example", at[6], "Load", name="wine"),
    ]
    found = SimpleNamespace(steps=[step("begin", at[0]), *steps])
    lines = re.findall(r"<li>(.*?)</li>", _steps(found))
    assert [line.split("UTC: ")[1] for line in lines] == [
        "Load (name iris)",
        "Ask, 2 times, last 9",
        "Score (Average adjusted Rand index)",
        "Ask (5)",
        "Load (name iris)",
        "Load (name wine)",
    ]
    assert lines[1].startswith("1 March 2026, 10:01 UTC to 1 March 2026, 10:02 UTC")
