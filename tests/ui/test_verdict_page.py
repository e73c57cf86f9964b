"""The page Verdict, the report and Clusters show the same verdict of the checks."""

import html

import numpy as np
import pytest

from clusterlens.ui.components.findings import NEEDED, WELCOME, gather
from clusterlens.ui.exports.document import write_report
from clusterlens.ui.pages.clusters.partition_bar import PartitionBar
from clusterlens.ui.pages.consensus.model_tab import ModelTab
from clusterlens.ui.pages.verdict.rows import VerdictRows
from clusterlens.ui.server.server import Server
from clusterlens.ui.shell import _rail
from clusterlens.ui.state.checks import Check
from clusterlens.ui.widgets.toolkit import safe
from tests.ui.loop import run, wait_until_idle
from tests.ui.memory.test_checks import begun, quick_checks

NAME = "<img src=x> & co"


@pytest.fixture(scope="module", autouse=True)
def _quick():
    with pytest.MonkeyPatch.context() as patch:
        quick_checks(patch)
        yield


async def opened():
    """A session, its page Verdict and the bar of Clusters."""
    session = await begun(Server())
    panel, bar = VerdictRows(session), PartitionBar(session)
    session.derived.watch((*NEEDED, *WELCOME), lambda results: None)
    panel.set_visible(True)
    bar.set_visible(True)
    await wait_until_idle(session)
    return session, panel, bar


def body(panel):
    return panel._text.body


def test_a_question_is_asked_on_the_page_and_answered_there():
    async def main():
        session, panel, _ = await opened()
        for node in ("null_check", "k_selection", "export_stability"):
            assert f'data-do="{node}"' in body(panel)
            assert "Find out, " in body(panel)
            panel._do(node)
            await wait_until_idle(session)
            assert f'data-do="{node}"' not in body(panel)
            assert session.derived.get(node).check.settings in body(panel)
        assert "Not measured" not in body(panel)
        assert session.derived.get("null_check").value.sentence in html.unescape(
            body(panel)
        )

    run(main())


def test_page_report_and_clusters_show_one_paragraph():
    async def main():
        session, panel, bar = await opened()
        texts = set()
        for node in (None, "null_check", "export_stability"):
            if node:
                session.derived.ask(node)
                await wait_until_idle(session)
            text = session.derived.get("export_verdict").value.paragraph
            texts.add(text)
            assert safe(text) in body(panel)
            assert f'data-copy="{html.escape(text)}"' in body(panel)
            assert safe(text) in write_report(gather(session))
            assert f'title="{safe(text)}"' in bar._text.body
        assert len(texts) == 3

    run(main())


def test_where_a_check_says_no_the_primary_button_is_amber_and_says_why():
    async def main():
        session, _, bar = await opened()
        tab = ModelTab(session)
        tab.set_visible(True)
        await wait_until_idle(session)
        buttons = bar._choose, tab._choose
        assert [button.color for button in buttons] == ["primary", "primary"]
        session.derived.ask("export_stability")  # of which no cluster is found again
        await wait_until_idle(session)
        verdict = session.derived.get("chosen_verdict").value
        assert verdict.light == "no"
        for button in buttons:
            assert button.color == "warning"
            assert "speaks against it" in button.description
        assert "0 of " in verdict.objection
        assert f"</span> {safe(verdict.objection)}<" in bar._text.body
        # The first part of the line is never cut.
        assert "<div class='line'><button class=\"pill cl-to-verdict" in bar._text.body

    run(main())


def test_a_result_that_contradicts_an_answer_is_doubted_on_page_and_clusters():
    async def main():
        session, panel, _ = await opened()
        leader = session.derived.get("leader").value
        labels = session.analysis.ensemble.labels[leader]
        assert await session.act(
            "choose result",
            partition={"kind": "model", "model": leader},
            numbers=[[k, k] for k in np.unique(labels).tolist()],
            on="Clusters",
        )
        rows = session.analysis.dataset.row_ids
        other = int(np.flatnonzero(labels != labels[0])[0])
        session.act_now("add link", kind="must", a=int(rows[0]), b=int(rows[other]))
        await wait_until_idle(session)
        for node in ("export_verdict", "chosen_verdict"):
            assert "it contradicts your answer" in (
                session.derived.get(node).value.paragraph
            )
        assert "It contradicts your answer" in body(panel)

    run(main())


def test_names_from_outside_are_text():
    async def main():
        session, panel, _ = await opened()
        partition = {"kind": "model", "model": session.derived.get("leader").value}
        assert await session.act(
            "name cluster", partition=partition, cluster=0, name=NAME
        )
        session.derived.ask("export_stability")
        await wait_until_idle(session)
        for text in (body(panel), write_report(gather(session))):
            assert safe(NAME) in text
            assert "<img src=x" not in text

    run(main())


def test_a_check_that_was_stopped_says_how_far_it_was():
    async def main():
        session, panel, _ = await opened()
        kind, key = session.derived.check_of("k_selection")
        session.checks.put(Check(key, kind, done=40, total=100))
        await wait_until_idle(session)
        assert "Stopped at 40 of 100; <b>Find out" in body(panel)
        report = write_report(gather(session))
        assert "Unfinished: stopped at 40 of 100." in report
        for text in (body(panel), report):
            unfinished = text.partition("Unfinished: ")[2]
            assert "stands out against copies (stopped at 40 of 100)" in unfinished
            not_measured = text.partition("Not measured: ")[2].partition(".")[0]
            assert "whether there are groups at all" in not_measured
            assert "stands out against copies" not in not_measured
        kind, key = session.derived.check_of("null_check")
        session.checks.put(Check(key, kind, done=7, total=99))
        await wait_until_idle(session)
        answer = "Unfinished: stopped at 7 of 99, without a value until it has ended."
        for text in (body(panel), write_report(gather(session))):
            assert answer in text
            assert "groups at all (stopped at 7 of 99)" in text

    run(main())


def test_a_run_of_other_rows_is_no_evidence_for_the_result():
    async def main():
        session, panel, _ = await opened()
        session.derived.ask("null_check")
        await wait_until_idle(session)
        values = {"numbers": [[k, k] for k in range(3)], "on": "Clusters"}
        partition = {"kind": "model", "model": 0}
        assert await session.act("choose result", partition=partition, **values)
        await wait_until_idle(session)
        assert await session.act("cluster rows", rows=list(range(100)), name="some")
        await wait_until_idle(session)
        assert body(panel).count("has other rows") == 2

    run(main())


def test_without_a_run_the_page_says_what_to_do():
    async def main():
        session = (await opened())[0]
        session.undo()
        panel = VerdictRows(session)
        panel.set_visible(True)
        await wait_until_idle(session)
        assert "run a pool" in panel.status.body

    run(main())


def test_given_labels_are_a_part_of_verdict_in_the_rail():
    rail = _rail("labels", loaded=True)
    order = [rail.index(f"cl-nav-{key}") for key in ("verdict", "labels", "new-rows")]
    assert order == sorted(order)
    part = rail[order[1] : order[2]]
    assert "Given labels" in part
    assert "<span" not in part
    assert 'aria-current="page"' in part
