"""Tests of the headline: its statements match the samples behind them."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from clusterlens import (
    Ensemble,
    agreement_cost,
    count_agreements,
    estimate_agreements,
    rank_partitions,
)
from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.ui.components.findings import gather
from clusterlens.ui.exports.document import write_report
from clusterlens.ui.pages.consensus.headline import Headline
from clusterlens.ui.pages.consensus.inspector import ModelTab
from clusterlens.ui.pages.consensus.ranking import RankingTable
from clusterlens.ui.pages.pool.run_progress import _time
from clusterlens.ui.pages.report.preview import ReportPreview
from clusterlens.ui.results import agreement as nodes
from clusterlens.ui.state.analysis import Run
from tests.ui.loop import run, wait_until_idle
from tests.ui.test_session import session_with


def run_of(labels: np.ndarray) -> Run:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(labels.shape[1], 2)), columns=["x", "y"])
    dataset = prepare(make_dataset(table, name="t"))
    return Run("r1", "run 1", dataset, (), 0, Ensemble(labels))


def test_an_estimate_says_so_and_is_made_exact_by_a_click(monkeypatch):
    labels = np.random.default_rng(1).integers(0, 4, (6, 500))

    def dear(ensemble):
        return replace(agreement_cost(ensemble), affordable=False)

    def rough(ensemble, n_compared, seed, **given):
        return estimate_agreements(ensemble, 80, seed, **given)

    monkeypatch.setattr(nodes, "agreement_cost", dear)
    monkeypatch.setattr(nodes, "estimate_agreements", rough)
    session = session_with(run_of(labels))

    async def main():
        headline = Headline(session)
        headline.set_visible(True)
        await wait_until_idle(session)
        assert "estimate from 80 of 500 samples" in headline._text.body
        assert "make exact" in headline._text.body
        assert not session.derived.get("ranking").value.exact

        await headline._do("exact")
        await wait_until_idle(session)
        assert "all 500 samples" in headline._text.body
        assert "make exact" not in headline._text.body
        found = session.derived.get("ranking").value
        session.undo()
        await wait_until_idle(session)
        assert "estimate from 80 of 500 samples" in headline._text.body
        return found

    found = run(main())
    whole = rank_partitions(count_agreements(Ensemble(labels)), score="discotec-binary")
    assert found.exact
    assert found.values.tolist() == whole.values.tolist()


def test_noise_is_counted_apart_from_the_clusters():
    labels = np.tile(np.repeat([0, 1, -1], [20, 13, 7]), (3, 1))
    labels[1:] = np.repeat([0, 1], 20)
    session = session_with(run_of(labels))
    bodies = {}

    async def main():
        tab = ModelTab(session)
        tab.set_visible(True)
        for model in range(2):
            session.view_state.model = model
            await wait_until_idle(session)
            bodies[model] = tab.text.body

    run(main())
    assert "2 clusters, 7 samples noise" in bodies[0]
    assert "2 clusters" in bodies[1]
    assert "noise" not in bodies[1]


def test_a_run_that_was_stopped_says_so_beside_its_leader():
    labels = np.random.default_rng(2).integers(0, 3, (4, 60))
    kept = ({"what": "consensus"},)
    session = session_with(replace(run_of(labels), stopped_of=7, kept=kept))

    async def main():
        headline = Headline(session)
        headline.set_visible(True)
        await wait_until_idle(session)
        return headline._text.body

    assert "stopped and kept: 4 of 8 models" in run(main())


def test_the_offer_of_a_check_asserts_nothing():
    made = run_of(np.random.default_rng(1).integers(0, 3, (4, 30)))
    pool = ({"clusterer": "k-means", "n_clusters": [2, 3]},)
    session = session_with(replace(made, pool=pool))

    async def main():
        headline = Headline(session)
        headline.set_visible(True)
        await wait_until_idle(session)
        return headline._text.body

    offer = re.search("cl-null-check.*?</button>", run(main())).group()
    assert "Any groups at all? <b>" in offer


@pytest.mark.parametrize(
    ("began", "ends", "words"),
    [
        (-60, 30, "60 s elapsed, about 30 s left"),
        (-60, -2, "60 s elapsed, longer than the estimate, about 58 s"),
    ],
)
def test_an_estimate_that_was_passed_says_so(began, ends, words, monkeypatch):
    monkeypatch.setattr("clusterlens.ui.pages.pool.run_progress.time", Clock)
    assert _time(SimpleNamespace(began=began, ends=ends)) == words


class Clock:
    """A clock that stands still."""

    @staticmethod
    def monotonic():
        return 0.0


def test_of_a_partial_partition_only_the_links_it_saw_are_told():
    labels = np.tile(np.repeat([0, 1], 20), (3, 1))
    missing = np.zeros(labels.shape, bool)
    missing[0, [2, 3]] = True
    made = replace(run_of(labels), ensemble=Ensemble(labels, missing=missing))
    session = session_with(made)
    for a, b in ((0, 1), (2, 21), (3, 22)):
        session.act_now("add link", kind="must", a=a, b=b)
    session.act_now("set link weight", weight=0.5)
    session.view_state.model = 0

    async def main():
        cards = Headline(session), ModelTab(session), RankingTable(session)
        for card in cards:
            card.set_visible(True)
        await wait_until_idle(session)
        return cards[0]._text.body, cards[1].text.body, cards[2].shown

    headline, model, rows = run(main())
    assert "keeps 1 of 1 link, 2 not seen" in headline
    assert "breaks 0% of the links that it saw" in model
    assert rows["values"]["distance"]["broken"] == ["", "2"]
    for title, links in zip(
        rows["titles"], ("0 of 1 link", "2 of 3 links"), strict=True
    ):
        assert f"breaks {links}" in title


def test_no_score_is_less_than_nothing_by_its_sign_alone():
    labels = np.random.default_rng(0).integers(0, 3, (24, 2000))
    session = session_with(run_of(labels))

    async def main():
        headline, model = Headline(session), ModelTab(session)
        for card in (headline, model):
            card.set_visible(True)
        await wait_until_idle(session)
        body = headline._text.body
        session.act_now("set score", score="aari")
        await wait_until_idle(session)
        values = session.derived.get("ranking").value.values
        session.view_state.model = int(np.argmin(values))
        await wait_until_idle(session)
        assert -0.0005 < values.min() < 0
        return body, model.text.body

    body, model = run(main())
    assert "mean adjusted Rand index 0.00" in body
    assert "<b>0.000</b>" in model
    assert not re.search(r"[-−]0\.0+\b", body + model)


def test_a_leader_that_is_little_like_the_others_is_doubted():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], 30)
    noisy = [np.where(rng.random(90) < 0.1, 0, groups) for _ in range(24)]
    apart = rng.integers(0, 3, (24, 90))
    for labels, is_doubted in ((np.array(noisy), False), (apart, True)):
        session = session_with(run_of(labels))

        async def main(session=session):
            headline = Headline(session)
            headline.set_visible(True)
            await wait_until_idle(session)
            leader = int(session.derived.get("ranking").value.order[0])
            return headline._text.body, leader

        body, leader = run(main())
        alike = [adjusted_rand_score(labels[leader], one) for one in labels]
        mean = np.mean(np.delete(alike, leader))
        assert (mean < 0.35) == is_doubted
        assert ("Caution:" in body) == is_doubted
        assert (f"mean adjusted Rand index {mean:.2f}" in body) == is_doubted


@pytest.mark.parametrize("is_doubted", [False, True])
def test_page_and_report_doubt_the_leader_after_answers_too(is_doubted):
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], 30)
    noisy = np.array([np.where(rng.random(90) < 0.1, 0, groups) for _ in range(24)])
    labels = rng.integers(0, 3, (24, 90)) if is_doubted else noisy
    session = session_with(run_of(labels))

    async def main():
        headline, preview = Headline(session), ReportPreview(session)
        for card in (headline, preview):
            card.set_visible(True)
        await wait_until_idle(session)
        # Answers that the leader keeps, so that it leads with and without them.
        own = labels[session.derived.get("ranking").value.order[0]]
        for a, b in ((0, 1), (2, 3)):
            kind = "must" if own[a] == own[b] else "cannot"
            session.act_now("add link", kind=kind, a=a, b=b)
            await wait_until_idle(session)
            assert session.derived.get("answers").value is not None
            found = gather(session)
            leader = int(found.ranking.order[0])
            alike = [adjusted_rand_score(labels[leader], one) for one in labels]
            mean = np.mean(np.delete(alike, leader))
            assert (mean < 0.35) == is_doubted
            assert session.derived.get("answers").value.before.argmax() == leader
            words = (
                f"{found.ranking.ensemble.names[leader]} agrees little with the other"
            )
            for text in (headline._text.body, write_report(found)):
                leading = text.split("<h2>Leading model</h2>")[-1].split("<h2>")[0]
                assert ("Caution:" in leading) == is_doubted
                assert (words in leading) == is_doubted
                assert (f"mean adjusted Rand index {mean:.2f}" in leading) == is_doubted

    run(main())
