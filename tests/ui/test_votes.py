"""Tests of votes on the pages: equal for hubs or families, none if kept."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from playwright.sync_api import expect

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.table.dataset import prepare
from clusterlens.compute.table.examples import load_example
from clusterlens.ui.actions import ACTIONS, merge
from clusterlens.ui.components.findings import NEEDED, gather
from clusterlens.ui.exports.document import write_report
from clusterlens.ui.exports.step_words import step_words
from clusterlens.ui.pages.consensus.page import ConsensusPage
from clusterlens.ui.server.memory.contents import Contents
from clusterlens.ui.server.memory.records import Records
from clusterlens.ui.state.analysis import Run
from tests.ui.loop import run, wait_until_idle
from tests.ui.test_main_job import choose
from tests.ui.test_session import session_with

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")

DATA = prepare(load_example("iris"))
ROWS, COLUMNS = np.arange(150) // 50, np.arange(150) % 3


def two_hubs():
    """Return six copies of one structure and three of another, of two families."""
    ensemble = Ensemble(
        [ROWS] * 6 + [COLUMNS] * 3,
        [f"rows {t} k=3" for t in range(6)] + [f"columns {t}" for t in range(3)],
        ["rows"] * 6 + ["columns"] * 3,
    )
    return session_with(Run("r1", "run 1", DATA, (), 0, ensemble))


def opened(session, then):
    async def main():
        page = ConsensusPage(session)
        page.set_visible(True)
        await wait_until_idle(session)
        await then({type(panel).__name__: panel for panel in page.cards})

    run(main(), 300)


def test_equal_votes_of_hubs_are_one_step_that_is_seen_and_undone():
    session = two_hubs()

    async def then(cards):
        headline = cards["Headline"]._text
        assert "6 near-copies of rows 0 k=3 hold 67% of the votes" in headline.body
        await cards["Headline"]._do("hubs")
        await wait_until_idle(session)
        assert session.analysis.run.votes == "hubs"
        assert session.analysis.ensemble.votes.tolist() == [1] * 6 + [2] * 3
        assert session.history.undo_step.title == "Set who votes"
        assert "groups of near-copies have equal votes" in headline.body
        assert "near-copies of" not in headline.body
        assert cards["RankingTable"]._votes.value == "hubs"
        assert "of 12 votes" in cards["Threshold"]._text.body
        ranking = session.derived.get("ranking").value
        assert len(set(ranking.values[[0, 8]].round(9))) == 1
        session.undo()
        await wait_until_idle(session)
        assert cards["RankingTable"]._votes.value == "models"
        assert "near-copies" in headline.body
        assert "of 9 models" in cards["Threshold"]._text.body

    opened(session, then)


def test_a_kept_partition_is_ranked_without_a_vote():
    session = two_hubs()

    async def then(cards):
        before = session.derived.get("agreement").value
        values = {"kind": "consensus", "k": 2, "method": "kmeans", "obeys": False}
        await session.act("keep partition", partition=values, name="mine")
        await wait_until_idle(session)
        kept = session.analysis.ensemble
        assert kept.votes.tolist() == [1] * 9 + [0]
        after = session.derived.get("agreement").value
        assert np.array_equal(before.pair_counts, after.pair_counts)
        assert "1 kept partition without a vote" in cards["RankingTable"]._note.body
        await session.act("weigh models", by="families")
        assert session.analysis.ensemble.votes.tolist() == [1] * 6 + [2] * 3 + [0]

    opened(session, then)


def test_models_of_the_other_half_are_ranked_have_no_vote_and_may_vote_again():
    session = two_hubs()

    async def then(cards):
        values = {"kind": "consensus", "k": 2, "method": "kmeans", "obeys": False}
        await session.act("keep partition", partition=values, name="mine")
        cards["RankingTable"]._votes.value = "typical"
        await wait_until_idle(session)
        assert session.analysis.run.votes == "typical"
        assert session.analysis.ensemble.votes.tolist() == [1] * 6 + [0] * 4
        words = "6 of 10 vote<"
        assert words in cards["Headline"]._text.body
        assert "near-copies of rows 0 k=3 hold 100%" in cards["Headline"]._text.body
        note = cards["RankingTable"]._note.body
        assert "○ 3 models and 1 kept partition without a vote" in note
        shown = cards["RankingTable"].shown
        assert shown["values"]["model"]["times"] == ["×6", "○", "×3 ○"]
        assert ["no vote" in title for title in shown["titles"]] == [False, True, True]
        session.view_state.param.update(model=8, tab="model")
        await wait_until_idle(session)
        assert "no vote" in cards["Inspector"].tabs["model"].card.text.body
        await session.act("weigh models", by="families")
        assert session.analysis.ensemble.votes.tolist() == [1] * 6 + [2] * 3 + [0]
        session.undo()
        await wait_until_idle(session)
        assert session.analysis.ensemble.votes.tolist() == [1] * 6 + [0] * 4
        assert words in cards["Headline"]._text.body

    opened(session, then)


def test_report_and_log_say_who_votes():
    session = two_hubs()

    async def then(cards):
        session.derived.watch(NEEDED, lambda _: None)
        await wait_until_idle(session)
        assert "votes: " not in write_report(gather(session))
        await session.act("weigh models", by="typical")
        await wait_until_idle(session)
        text = write_report(gather(session))
        assert "Typical half votes: 6 of 9, those most like the others." in text
        assert step_words(session.history.done[-1]) == "typical half votes: 6 of 9"
        await session.act("weigh models", by="families")
        assert step_words(session.history.done[-1]) == "families have equal votes"

    opened(session, then)


def test_answers_make_a_model_without_a_vote_the_first():
    session = two_hubs()

    async def then(cards):
        await session.act("weigh models", by="typical")
        for k in range(0, 24, 2):
            kind = "must" if COLUMNS[k] == COLUMNS[k + 51] else "cannot"
            session.act_now("add link", kind=kind, a=k, b=k + 51)
            session.act_now("add link", kind="must", a=k + 30, b=k + 60)
        await wait_until_idle(session)
        assert session.derived.get("ranking").value.order[0] == 6
        assert "columns 0" in cards["Headline"]._text.body
        # The votes of the matrices.
        weighted = session.derived.get("weighted_ensemble").value
        assert weighted.votes[6:].sum() > 0.9 * weighted.n_votes
        assert session.derived.get("broken_by_all").value == frozenset()

    opened(session, then)


@pytest.mark.parametrize(
    ("by", "votes"), [("hubs", [1] * 6 + [2] * 3), ("typical", [1] * 6 + [0] * 3)]
)
def test_votes_survive_the_memory(by, votes, tmp_path):
    session = two_hubs()

    async def main():
        await session.act("weigh models", by=by)
        records = Records(Contents(tmp_path))
        rows, before = [], None
        for step in session.history.steps:
            rows.append(records.write(step, before, {}))
            before = step.analysis
        read = Records(Contents(tmp_path)).read(rows)[-1].analysis
        assert read.run.votes == by
        assert read.ensemble.votes.tolist() == votes
        assert read.ensemble.candidates.n_partitions == 9

    run(main())


def test_what_happens_while_votes_change_is_kept():
    session = two_hubs()

    class Job:
        kernels = {}  # noqa: RUF012

    base = session.analysis
    reweighted = ACTIONS["weigh models"].apply(base, {"by": "hubs"}, Job())
    meanwhile = ACTIONS["set score"].apply(base, {"score": "aari"}, Job())
    merged = merge(base, reweighted, meanwhile)
    assert (merged.score, merged.run.votes, len(merged.runs)) == ("aari", "hubs", 1)
    gone = ACTIONS["delete run"].apply(base, {"id": "r1"}, Job())
    assert merge(base, reweighted, gone).runs == ()


def test_a_run_renamed_while_its_votes_are_weighed_keeps_name_and_votes():
    session = two_hubs()
    base = session.analysis

    job = SimpleNamespace(kernels={})
    reweighted = ACTIONS["weigh models"].apply(base, {"by": "hubs"}, job)
    renamed = ACTIONS["rename run"].apply(base, {"id": "r1", "name": "mine"}, job)
    both = merge(base, reweighted, renamed)
    assert (both.run.name, both.run.votes) == ("mine", "hubs")
    assert both.run.ensemble is reweighted.run.ensemble


def test_the_typical_half_votes_until_another_way_is_chosen(spent):
    badge = spent.locator(".cl-equal-votes")
    expect(badge).to_have_text(re.compile(r"\d+ of \d+ vote"))
    voters, models = map(int, re.findall(r"\d+", badge.inner_text()))
    assert models / 2 <= voters < models
    silent = spent.locator(".ranked > .model > .times", has_text="○")
    expect(silent).not_to_have_count(0)
    silent.first.click()
    expect(spent.locator(".cl-model .cl-no-vote")).to_have_text("no vote")
    expect(spent.locator(".cl-threshold")).to_contain_text(f"of {voters} models")
    choose(spent, ".cl-votes", "each model")
    expect(badge).to_have_count(0)
    expect(silent).to_have_count(0)
