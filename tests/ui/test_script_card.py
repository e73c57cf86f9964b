"""Tests of the script card: its verdict applies only to the script that was run."""

from types import SimpleNamespace

import pytest

from clusterlens.ui.exports.replay import Replayed
from clusterlens.ui.pages.report import script_card
from clusterlens.ui.pages.report.script_card import ScriptCard
from clusterlens.ui.server.memory.memory import SavedHistory
from tests.ui.loop import run, wait_until_idle
from tests.ui.test_links import session_of


@pytest.mark.parametrize(
    ("difference", "words"),
    [("", "checked: same labels"), ("2 of 6 <models> differ", "2 of 6 &lt;models&gt;")],
)
def test_what_a_replay_found_stands_until_the_script_is_another_one(
    monkeypatch, difference, words
):
    found = SimpleNamespace(
        steps=(), ranking=None, export_partition=SimpleNamespace(clusters=None)
    )
    ran = []
    monkeypatch.setattr(script_card, "gather", lambda session: found)
    monkeypatch.setattr(
        script_card,
        "replay",
        lambda script, *_, **__: ran.append(script) or Replayed(difference, True),
    )

    async def main():
        session = session_of()
        card = ScriptCard(session)
        card.build()
        card._see("print(1)", None)
        assert "Check by running it" in card._check.body
        card._do("check")
        await wait_until_idle(session)
        assert ran == ["print(1)"]
        assert words in card._check.body
        card._see("print(2)", None)
        assert words not in card._check.body
        assert "Check by running it" in card._check.body
        card._see("print(1)", None)
        assert words in card._check.body

    run(main())


@pytest.mark.parametrize("alone", [True, False])
def test_a_script_that_came_as_a_file_runs_when_asked_twice_where_one_is_alone(
    monkeypatch, alone
):
    found = SimpleNamespace(
        steps=(), ranking=None, export_partition=SimpleNamespace(clusters=None)
    )
    ran = []

    def replay(script, *_, limited):
        ran.append(limited)
        return Replayed("", False)

    monkeypatch.setattr(script_card, "gather", lambda session: found)
    monkeypatch.setattr(script_card, "replay", replay)

    async def main():
        session = session_of()
        session.server.alone, session.memory._kept = alone, SavedHistory(imported=True)
        card = ScriptCard(session)
        card.build()
        card._see("print(1)", None)
        assert ("Check by running it" in card._check.body) == alone
        assert ("is not run here" in card._check.body) != alone
        card._do("check")
        await wait_until_idle(session)
        assert ran == []
        if not alone:
            card._do("run")
            await wait_until_idle(session)
            assert ran == []
            return
        assert "came as a file" in card._check.body
        assert "without network" in card._check.body
        card._do("leave")
        assert "Check by running it" in card._check.body
        card._do("check")
        card._do("run")
        await wait_until_idle(session)
        assert ran == [True]
        assert "checked: same labels" in card._check.body
        assert "no network by Python's own means" in card._check.body

    run(main())
