"""A class word: the page of a lecturer counts the pages of the class by step."""

import asyncio

import pytest

from clusterlens.ui.composition import new_session
from clusterlens.ui.pages.lessons import class_view
from clusterlens.ui.pages.lessons.class_view import ClassView
from clusterlens.ui.pages.lessons.page import LessonsPage
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.address import from_query, restore_view_state, to_query
from tests.ui.loop import run

EVIL = "<img src=x onerror=alert(1)>'"


class Pages:
    """Pages of lessons on one server, each with what an address says."""

    def __init__(self):
        self.server, self.all = Server(), []

    def open(self, **view_state):
        session = new_session(self.server)
        restore_view_state(session.view_state, view_state)
        page = LessonsPage(session)
        page.set_visible(True)
        self.all.append(page)
        return page

    def close(self):
        for page in self.all:
            page.close()
            page.set_visible(False)
            page.session.close()


def classed(scenario):
    async def main():
        pages = Pages()
        try:
            await scenario(pages)
        finally:
            pages.close()

    run(main(), 300)


def body(page):
    (view,) = (panel for panel in page.cards if isinstance(panel, ClassView))
    view._write()
    return view._form.body


def test_pages_of_a_class_are_counted_by_lesson_and_step():
    async def scenario(pages):
        lecturer = pages.open(class_word="blue")
        assert "No page of this class is in a lesson." in body(lecturer)
        for word, step in (("blue", 0), ("blue", 1), ("blue", 1), ("red", 1), ("", 1)):
            pages.open(class_word=word).classroom.param.update(key="rings", step=step)
        assert "step 1: <b>1</b> · step 2: <b>2</b>" in body(lecturer)
        assert "Most typical is not true" in body(lecturer)
        assert "3 pages" in body(lecturer)
        one, other = pages.all[1:3]
        one.session.view_state.class_word = "red"
        other.classroom.close()
        assert "1 page<" in body(lecturer)
        assert "step 1" not in body(lecturer)
        pages.all[3].close()
        assert "No page of this class is in a lesson." in body(lecturer)
        assert pages.server.classes.count("red").total() == 2

    classed(scenario)


def test_the_counts_follow_the_class_by_themselves(monkeypatch):
    monkeypatch.setattr(class_view, "REFRESH_SECONDS", 0)

    async def scenario(pages):
        lecturer = pages.open(class_word="blue")
        (view,) = (p for p in lecturer.cards if isinstance(p, ClassView))
        pages.open(class_word="blue").classroom.param.update(key="noise", step=2)
        async with asyncio.timeout(60):
            while "step 3: <b>1</b>" not in view._form.body:
                await asyncio.sleep(0)
        following = view._following
        lecturer.set_visible(False)
        await asyncio.wait([following])
        assert following.cancelled()

    classed(scenario)


def test_the_link_for_the_class_holds_the_word_and_no_analysis():
    async def scenario(pages):
        lecturer = pages.open()
        (view,) = (p for p in lecturer.cards if isinstance(p, ClassView))
        view._choose("word  red   and blue ")
        view_state = lecturer.session.view_state
        assert view_state.class_word == "red and blue"
        analysis, plain = from_query(to_query(None, view_state))
        assert analysis is None
        pupil = pages.open(**plain)
        assert pupil.session.view_state.class_word == "red and blue"
        assert "class_word%22%3A+%22red+and+blue" in body(lecturer)
        view._choose(f"word {'x' * 41}")
        assert view_state.class_word == "red and blue"
        (notice,) = lecturer.session.jobs.notices
        assert "41 letters; give up to 40" in notice.text

    classed(scenario)


@pytest.mark.parametrize("word", ["x" * 41, "a\nb", "a\n", 3, ["a"]])
def test_an_address_without_a_proper_class_word_is_of_no_class(word):
    async def scenario(pages):
        assert pages.open(class_word=word).session.view_state.class_word == ""

    classed(scenario)


def test_markup_in_a_class_word_is_text():
    async def scenario(pages):
        lecturer = pages.open(class_word=EVIL)
        assert lecturer.session.view_state.class_word == EVIL
        assert "<img" not in body(lecturer)
        assert "value='&lt;img src=x onerror=alert(1)&gt;&#x27;'" in body(lecturer)
        pages.server.classes.put(lecturer, EVIL, EVIL, 0)
        assert "<td>&lt;img" in body(lecturer)
        assert "<img" not in body(lecturer)

    classed(scenario)
