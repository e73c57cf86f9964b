"""Tests of explanations: every card states contents, reading and limits."""

import re

import pytest

from clusterlens.ui.composition import new_session
from clusterlens.ui.pages import page_class
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.pages import PAGES
from clusterlens.ui.widgets.explanations import EXPLANATIONS, GLOSSARY
from clusterlens.ui.widgets.toolkit import about
from tests.ui.loop import run

# Deprecated calls of the widget set and of Bokeh.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The inplace keyword"),
    pytest.mark.filterwarnings("ignore:Both 'variant' and 'button_style'"),
]


def cards():
    """Return the class of every card of every page, and its markup."""
    found = {}

    async def main():
        for spec in PAGES:
            session = new_session(Server())
            made = page_class(spec.key)(session)
            made.set_visible(True)
            await session.act("load example", name="iris")
            # Cards that lie over others, or in their place, are made when shown.
            session.view_state.param.update(map_of="models", table_open=True)
            for card in made.view.select(lambda part: "cl-card" in part.css_classes):
                name = next(c for c in card.css_classes if c != "cl-card")
                texts = card.select(lambda part: hasattr(part, "body"))
                found[name] = "".join(text.body for text in texts)
            session.close()

    run(main())
    return found


def test_every_card_has_an_explanation_behind_its_button():
    found = cards()
    assert len(found) > 40
    coach = {"cl-coach"}
    assert set(found) - coach == set(EXPLANATIONS)
    for name in set(found) - coach:
        assert found[name].count("popovertarget='about'") == 1, name


def test_an_explanation_is_short_and_says_what_a_card_does_not_say():
    for name, explanation in EXPLANATIONS.items():
        for text in (explanation.shows, explanation.reading, explanation.limits):
            assert 20 < len(text) < 220, (name, text)
            assert text.endswith(".")


def test_words_are_defined_once_and_linked_where_they_stand():
    assert list(GLOSSARY) == sorted(GLOSSARY, key=str.lower)
    markup = about("cl-consensus-matrix", "Consensus matrix")
    assert "<dfn title='" in about("cl-headline", "this card")
    assert "<script" not in markup
    assert re.search("About Consensus matrix", markup)
    assert about("cl-unknown", "x") == ""
