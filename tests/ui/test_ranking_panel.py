"""The ranking shows the run that is read and lets another one be read."""

import asyncio

import pytest

from clusterlens.ui.panels.ranking import RankingTable
from tests.ui.loop import rest, run
from tests.ui.test_session import made_run, session_with

# Panel's table is not yet ready for pandas 4.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")


def test_one_run_needs_no_choice_and_of_several_the_one_read_is_chosen():
    session = session_with(made_run(1), made_run(2, n_models=4))

    async def main():
        panel = RankingTable(session)
        panel.look(True)
        await rest(session)
        assert (panel._run.visible, panel._run.value) == (True, "r1")
        assert len(panel._table.value) == len(set(panel._rows)) == 5
        panel._run.value = "r2"
        await asyncio.sleep(0)
        await rest(session)
        assert session.analysis.run_id == "r2"
        assert len(panel._table.value) == 4
        session.undo()
        await rest(session)
        assert panel._run.value == "r1"
        session.act_now("delete run", id="r2")
        assert not panel._run.visible
        await asyncio.sleep(0.3)  # the page draws the selection after the rows

    run(main())


def test_the_ranks_of_the_rows_rise():
    session = session_with(made_run(3, n_models=8))

    async def main():
        panel = RankingTable(session)
        panel.look(True)
        await rest(session)
        return panel._table.value

    ranks = run(main())["rank"].tolist()
    assert ranks == sorted(ranks)
    assert ranks[0] == 1


def test_an_undo_right_behind_another_score_takes_that_score_back():
    session = session_with(made_run(1))

    async def main():
        panel = RankingTable(session)
        panel.look(True)
        panel._score.value = "aari"
        session.undo()
        await rest(session)
        return panel._score.value

    assert run(main()) == session.analysis.score == "discotec-binary"
    assert session.analysis.run is not None
