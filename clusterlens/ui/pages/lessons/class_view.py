"""A word for a class, and how many of its pages are at which step."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from clusterlens.compute.formatting import count
from clusterlens.ui.components.card import Card
from clusterlens.ui.lessons.classroom import Classroom
from clusterlens.ui.lessons.lesson import Lesson
from clusterlens.ui.pages.lessons.view_state import MOST_LETTERS
from clusterlens.ui.session import Session
from clusterlens.ui.state.address import to_query
from clusterlens.ui.state.view_state import ViewState
from clusterlens.ui.widgets.form import Form
from clusterlens.ui.widgets.toolkit import card, safe

# Seconds between two looks at where the class is.
REFRESH_SECONDS = 2


class ClassView(Card):
    """The field for the class word, the link for the class, and its counts."""

    needs = ("view.class_word",)

    def __init__(self, session: Session, classroom: Classroom) -> None:
        self.classroom = classroom
        self._following: asyncio.Task[None] | None = None
        super().__init__(session)

    def build(self) -> Any:
        self._form = Form(does=self._choose, css_classes=["cl-class-form"])
        return card("", self._form, note=self.status, css="cl-class", fills=False)

    def set_visible(self, visible: bool) -> None:
        """Follow the class only while in sight."""
        super().set_visible(visible)
        if not visible and self._following is not None:
            self._following.cancel()
            self._following = None

    def show(self, class_word: str) -> None:
        """Write the counts, and go on doing so while there is a class."""
        self._write()
        if class_word and self._following is None:
            loop = asyncio.get_running_loop()
            self._following = loop.create_task(self._follow())

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            self._write()

    def _write(self) -> None:
        word = self.session.view_state.class_word
        counts = self.session.server.classes.count(word)
        self._form.body = (
            "<p>Class word <input class='word' data-enter='word' aria-label='class "
            f"word' value='{safe(word)}'> <span class='muted'>A word of your choice; "
            "then you see here how many pages of the class are at which step. Nothing "
            "else is counted, and nothing is stored.</span></p>"
        ) + (
            _link(self.session.view_state) + _table(counts, self.classroom.lessons)
            if word
            else ""
        )

    def _choose(self, request: str) -> None:
        """Take the word that was typed, or say why it is none."""
        word = " ".join(request.split(" ", 1)[1].split())
        if len(word) > MOST_LETTERS:
            self.session.jobs.notify(
                "warning",
                f"The class word has {len(word)} letters; give up to {MOST_LETTERS}.",
            )
        else:
            self.session.view_state.class_word = word


def _link(view_state: ViewState) -> str:
    """Return a link to the list of lessons for the class alone, without an analysis."""
    word = view_state.class_word
    shown = type(view_state)(page="lessons", class_word=word)
    query = urlencode(to_query(None, shown))
    return (
        f"<p><a style='color:inherit' href='?{safe(query)}' target='_blank' "
        f"rel='noopener'>Link for the class <b>{safe(word)}</b></a>: give its address "
        "to the class; each page opens a lesson from there.</p>"
    )


def _table(counts: Counter[tuple[str, int]], lessons: Mapping[str, Lesson]) -> str:
    """Return the counts, a row for each lesson in the order of the list."""
    if not counts:
        return "<p class='muted'>No page of this class is in a lesson.</p>"
    opened, rows = {lesson for lesson, _ in counts}, ""
    # A lesson that was added to the folder later has no title here.
    for key in [*lessons, *sorted(opened - lessons.keys())]:
        at = sorted((step, n) for (one, step), n in counts.items() if one == key)
        if not at:
            continue
        title = lessons[key].title if key in lessons else key
        steps = " · ".join(f"step {step + 1}: <b>{n}</b>" for step, n in at)
        total = count(sum(n for _, n in at), "page")
        rows += (
            f"<tr><td>{safe(title)}</td><td>{steps}</td>"
            f"<td class='number'>{total}</td></tr>"
        )
    return f"<table role='status'>{rows}</table>"
