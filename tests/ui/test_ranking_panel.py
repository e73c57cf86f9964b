"""The ranking shows the run that is read and lets another one be read."""

import asyncio
import json

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
        assert len(panel.shown["rank"]) == len(set(panel._rows)) == 5
        panel._run.value = "r2"
        await asyncio.sleep(0)
        await rest(session)
        assert session.analysis.run_id == "r2"
        assert len(panel.shown["rank"]) == 4
        session.undo()
        await rest(session)
        assert panel._run.value == "r1"
        session.act_now("delete run", id="r2")
        assert not panel._run.visible

    run(main())


def test_a_click_on_a_row_selects_its_model_and_the_row_is_marked():
    session = session_with(made_run(3, n_models=8))

    async def main():
        panel = RankingTable(session)
        panel.look(True)
        await rest(session)
        rows = json.loads(panel._table.rows)
        ranks = [row[0] for row in rows]
        assert ranks == sorted(ranks) == panel.shown["rank"]
        assert ranks[0] == 1
        assert rows[0][7] is None  # no rank was won or lost
        assert panel._table.selected == 0
        panel._table._handle_msg(2)
        await rest(session)
        assert session.derived.get("selected").value == panel._rows[2]
        assert panel._table.selected == 2
        panel._table._handle_msg(999)
        assert session.look.model == panel._rows[2]

    run(main())


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
