"""The script says that it was checked only while it is the one that was run."""

from types import SimpleNamespace

import pytest

from clusterlens.ui.panels import script_card
from clusterlens.ui.panels.script_card import ScriptCard
from tests.ui.loop import rest, run
from tests.ui.test_links import session_of


@pytest.mark.parametrize(
    ("difference", "said"),
    [("", "checked: same labels"), ("2 of 6 <models> differ", "2 of 6 &lt;models&gt;")],
)
def test_what_a_replay_found_stands_until_the_script_is_another_one(
    monkeypatch, difference, said
):
    found = SimpleNamespace(steps=(), ranking=None)
    ran = []
    monkeypatch.setattr(script_card, "gather", lambda session: found)
    monkeypatch.setattr(
        script_card, "replay", lambda script, *_: ran.append(script) or difference
    )

    async def main():
        session = session_of()
        card = ScriptCard(session)
        card.build()
        card._see("print(1)", None)
        assert "Check by running it" in card._check.body
        card._replay("check")
        await rest(session)
        assert ran == ["print(1)"]
        assert said in card._check.body
        card._see("print(2)", None)
        assert said not in card._check.body
        assert "Check by running it" in card._check.body
        card._see("print(1)", None)
        assert said in card._check.body

    run(main())
