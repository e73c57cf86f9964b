"""List of the lessons with subject, duration, and completion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterlens.compute.table.examples import EXAMPLES
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.thumbnails import thumbnail
from clusterlens.ui.lessons.classroom import Classroom
from clusterlens.ui.lessons.lesson import Lesson
from clusterlens.ui.session import Session
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import TEXT_CSS
from clusterlens.ui.widgets.toolkit import card, safe

CSS = """
.lessons { display: grid; gap: 10px; padding: 4px;
  grid-template-columns: repeat(auto-fill, minmax(360px, 1fr)); }
button.lesson { all: unset; cursor: pointer; box-sizing: border-box; display: grid;
  grid-template-columns: 28px minmax(0, 1fr) 128px; gap: 2px 10px; padding: 12px;
  border-radius: 6px; border: 1px solid
  color-mix(in srgb, currentColor 16%, transparent); align-items: start; }
button.lesson:hover { background: color-mix(in srgb, #0b8a8a 6%, transparent);
  border-color: #0b8a8a; }
button.lesson .at { width: 24px; height: 24px; border-radius: 50%; text-align: center;
  line-height: 24px; border: 1px solid currentColor; box-sizing: content-box; }
button.lesson .at.done { background: #0b6e6e; color: #fff; border-color: #0b6e6e; }
button.lesson img { width: 128px; height: 72px; object-fit: contain; }
button.lesson b, button.lesson span { display: block; }
"""


class LessonList(Card):
    """A card for each lesson; a click opens it."""

    def __init__(
        self, session: Session, classroom: Classroom, on_open: Callable[[], Any]
    ) -> None:
        self.classroom, self._on_open = classroom, on_open
        super().__init__(session)

    def build(self) -> Any:
        self._text = Text(does=self._open, css_classes=["cl-lesson-list"], scrolls=True)
        self._text.stylesheets = [TEXT_CSS, CSS]
        note = Text(
            "<p class='muted'>The working pages on small examples; you do every step "
            "yourself. A lesson has its own table, run and undo: your analysis waits "
            "unchanged.</p>"
        )
        self.classroom.param.watch(lambda event: self.show(), ["finished"])
        return card("Lessons", self._text, note=note, css="cl-lessons-card")

    def focus(self, key: str) -> None:
        """Move the focus to a lesson."""
        self._text.focus(key)

    async def _open(self, key: str) -> None:
        """Open a lesson, whose coach takes the focus from the list."""
        self._on_open()
        await self.classroom.open(key)

    def show(self) -> None:
        """List the lessons, with a check mark on finished ones."""
        classroom = self.classroom
        entries = (
            _entry(at, key, lesson, key in classroom.finished)
            for at, (key, lesson) in enumerate(classroom.lessons.items(), 1)
        )
        problems = (f"<p class='warn'>{safe(one)}</p>" for one in classroom.problems)
        self._text.body = (
            f"<div class='lessons'>{''.join(entries)}</div>{''.join(problems)}"
        )


def _entry(at: int, key: str, lesson: Lesson, done: bool) -> str:
    table = EXAMPLES[lesson.example].title
    mark, kind = ("✓", "at done") if done else (str(at), "at")
    status = " (finished)" if done else ""
    return (
        f"<button class='lesson' data-do='{safe(key)}'><span class='{kind}' "
        f"aria-hidden='true'>{mark}</span><span><b>{safe(lesson.title)}</b>"
        f"<span class='said'>{status}</span><span>{safe(lesson.teaser)}</span>"
        f"<span class='muted'>{lesson.minutes} min · {safe(table)}</span></span>"
        f"<img alt='' src='{thumbnail(lesson.example)}'></button>"
    )
