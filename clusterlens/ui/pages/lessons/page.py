"""Page Lessons: lessons on the working pages, with a session of their own."""

from __future__ import annotations

from functools import partial
from typing import Any

from clusterlens.ui.components.deferred import Steps
from clusterlens.ui.lessons.classroom import Classroom
from clusterlens.ui.pages.cns.page import CNSPage
from clusterlens.ui.pages.consensus.page import ConsensusPage
from clusterlens.ui.pages.fuzzy.page import FuzzyPage
from clusterlens.ui.pages.labels.page import LabelsPage
from clusterlens.ui.pages.lessons.class_view import ClassView
from clusterlens.ui.pages.lessons.coach import Coach
from clusterlens.ui.pages.lessons.lesson_list import LessonList
from clusterlens.ui.pages.new_rows.page import NewRowsPage
from clusterlens.ui.pages.page import Page, under
from clusterlens.ui.session import Session
from clusterlens.ui.widgets.scripted import go_on
from clusterlens.ui.widgets.style import COLUMN
from clusterlens.ui.widgets.toolkit import pn

PLACES = {
    "consensus": ConsensusPage,
    "labels": LabelsPage,
    "fuzzy": FuzzyPage,
    "new-rows": NewRowsPage,
    "cns": CNSPage,
}
# The coach is beside the working page, or below it if that needs the width. Tab and
# screen readers reach it first, because it says what to do.
GRID = """
:host { display: grid; gap: 8px; height: 100%; overflow: hidden;
  grid-template-columns: minmax(0, 1fr) calc(292px + (var(--cl-scale, 1) - 1) * 100px);
  grid-template-rows: minmax(0, 1fr); }
.cl-coach { order: 1; }
@media (max-width: 1350px) { :host {
  grid-template-columns: minmax(0, 1fr)
    calc(278px + (var(--cl-scale, 1) - 1) * 150px); } }
@media (max-width: 1150px) { :host { grid-template-columns: minmax(0, 1fr);
  grid-template-rows: minmax(0, 1fr)
    calc(232px + (var(--cl-scale, 1) - 1) * 310px); } }
"""
# On a narrow page the working page scrolls above the coach, so that neither covers the
# other.
_PART = """
@media (max-width: 1150px) { :host { overflow-y: auto !important; } }
"""
_WHOLE = """
@media (max-width: 1150px) { :host {
  min-height: calc(620px + (var(--cl-scale, 1) - 1) * 1400px) !important; } }
"""


class LessonsPage(Page):
    """The list of lessons, or the working page of the open lesson with the coach.

    Attributes
    ----------
    classroom : Classroom
        The open lesson with its session.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.classroom = Classroom(session)
        self.places = {
            key: page(self.classroom.session) for key, page in PLACES.items()
        }

    def build(self) -> Steps:
        classroom = self.classroom
        group, self._lessons, self._coach = yield from self.each(
            partial(ClassView, classroom=classroom),
            partial(LessonList, classroom=classroom, on_open=self._lead_to_coach),
            partial(Coach, classroom=classroom, on_leave=self._lead_to_list),
        )
        fill = {"sizing_mode": "stretch_both", "margin": 0}
        pages = pn.Column(
            *(page.view for page in self.places.values()),
            styles=COLUMN,
            stylesheets=[_WHOLE],
            **fill,
        )
        work = pn.Column(pages, styles=COLUMN, stylesheets=[_PART], **fill)
        # A hidden component must not set its own display style.
        grid = pn.Column(self._coach.view, work, stylesheets=[GRID], **fill)
        self._list = under(group.view, self._lessons.view, css="cl-lessons-page")
        self._lesson = pn.Column(grid, styles=COLUMN, visible=False, **fill)
        self.classroom.param.watch(self._arrange, ["key"])
        self.classroom.param.watch(self._keep, ["key", "step", "finished"])
        self.session.view_state.param.watch(
            self._resume, ["lesson", "lessons_finished"]
        )
        self.session.view_state.param.watch(self._count, ["class_word"])
        self.classroom.session.view_state.param.watch(self._stay, ["page"])
        self.classroom.session.jobs.param.watch(self._pass_on, ["notices"])
        return pn.Column(
            self._list,
            self._lesson,
            css_classes=["cl-page-lessons"],
            styles=COLUMN,
            **fill,
        )

    def update_watching(self) -> None:
        """Let the visible cards watch, and the working page of the lesson."""
        super().update_watching()
        self._arrange()
        if self.is_visible:
            self._resume()

    def _keep(self, *events: Any) -> None:
        """Store lesson, step and finished lessons in the view state for the address."""
        classroom = self.classroom
        self.session.view_state.param.update(
            lesson=classroom.key,
            lesson_step=classroom.step,
            lessons_finished=tuple(
                key for key in classroom.lessons if key in classroom.finished
            ),
        )
        self._count()

    def _count(self, *events: Any) -> None:
        """Count this page at its step, if it belongs to a class."""
        classroom, word = self.classroom, self.session.view_state.class_word
        self.session.server.classes.put(classroom, word, classroom.key, classroom.step)

    def _resume(self, *events: Any) -> None:
        """Open the lesson of the address at its step."""
        view_state, classroom = self.session.view_state, self.classroom
        # Read first, because the page writes both when the classroom changes.
        lesson, step = view_state.lesson, view_state.lesson_step
        classroom.finished |= (
            set(view_state.lessons_finished) & classroom.lessons.keys()
        )
        if self.is_visible and lesson in classroom.lessons and lesson != classroom.key:
            self._opening = go_on(classroom.open(lesson, step))

    def _lead_to_coach(self) -> None:
        """Move the focus from the list, which is about to be hidden."""
        self._coach.focus()

    def _lead_to_list(self, key: str) -> None:
        """Move the focus from the coach, which is hidden, to the card of its lesson."""
        self._lessons.focus(key)

    def close(self) -> None:
        """End the lesson finally."""
        self.session.server.classes.put(self.classroom, "", "", 0)
        self.classroom.session.close()

    def _arrange(self, *events: Any) -> None:
        """Show the list, or the working page of the lesson."""
        lesson = self.classroom.lesson
        self._list.visible, self._lesson.visible = lesson is None, lesson is not None
        for key, page in self.places.items():
            page.set_visible(
                self.made
                and self.is_visible
                and lesson is not None
                and key == lesson.page
            )

    def _stay(self, *events: Any) -> None:
        """Stay on the working page of the lesson, even if a link leads elsewhere."""
        lesson = self.classroom.lesson
        if lesson is not None:
            self.classroom.session.view_state.page = lesson.page

    def _pass_on(self, event: Any) -> None:
        """Show on this page the notices of the lesson."""
        for notice in event.new:
            self.session.jobs.notify(notice.severity, notice.text)
            self.classroom.session.jobs.dismiss(notice)


PAGE = LessonsPage
