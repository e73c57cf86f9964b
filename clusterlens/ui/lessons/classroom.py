"""Classroom: the open lesson, in a session of its own.

A lesson cannot change the analyst's analysis: its session has no store, and its steps
end with it. Pools are fitted once for all users of the lesson
(`clusterlens.ui.jobs.shared_results`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import param

from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.lessons import LESSONS
from clusterlens.ui.lessons.files import read_own_lessons
from clusterlens.ui.lessons.lesson import Check, Lesson, Task, Way
from clusterlens.ui.session import Session
from clusterlens.ui.state.history import History, Step
from clusterlens.ui.state.view_parameters import Viewport


@dataclass(frozen=True, eq=False)
class _Place:
    """State at the start of a step: steps and cursor of the history, and the view."""

    steps: tuple[Step, ...]
    cursor: int
    view_state: Mapping[str, Any]


class Classroom(param.Parameterized):
    """One lesson at a time, with steps forwards and back.

    Attributes
    ----------
    lessons : dict of str to Lesson
        The lessons on offer: the built-in ones, then one's own.
    problems : list of str
        One sentence for each file of one's own that is no lesson.
    """

    key = param.String("", doc="Key of the lesson that is open, or none.")
    step = param.Integer(0, doc="Position of the step that is taken.")
    reached = param.Boolean(False, doc="Whether what the step asks for was reached.")
    holds = param.Boolean(False, doc="Whether the outcome of the step is displayed.")
    mistaken = param.Boolean(False, doc="Whether the step was taken for another.")
    finished = param.ClassSelector(
        class_=frozenset, default=frozenset(), doc="Lessons read to their end."
    )
    opening = param.Boolean(False, doc="Whether a lesson or a step is being set up.")

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session.for_lessons()
        own, self.problems = read_own_lessons(self.session.view_state)
        self.lessons = {**LESSONS, **own}
        self._places: list[_Place] = []
        self._stops: list[Callable[[], None]] = []
        # The step that Next has solved because the analyst had not.
        self._shown: tuple[str, int] | None = None

    @property
    def lesson(self) -> Lesson | None:
        """The open lesson."""
        return self.lessons.get(self.key)

    @property
    def task(self) -> Task | None:
        """The present step."""
        return self.lesson.steps[self.step] if self.lesson else None

    async def open(self, key: str, step: int = 0) -> None:
        """Open a lesson at a step: load its example and run its pool.

        Earlier steps are done on the way.
        """
        lesson, session = self.lessons[key], self.session
        self._watch(None)
        self._places = []
        # The page appears at once and shows the progress.
        self.param.update(key=key, step=0, opening=True, **_UNDONE)
        session.view_state.forget(
            *(n for n in session.view_state.param if n not in _KEPT)
        )
        session.view_state.param.update(
            page=lesson.page, short_ranking=not lesson.robust
        )
        session.put(History().steps, 0)
        done = await session.act("load example", name=lesson.example)
        done = done and await session.act("run pool", pool=list(lesson.pool))
        if self.key != key:
            return
        if not done:
            self.close()
            return
        # The setup of the lesson cannot be undone in it.
        session.put(session.history.steps[-1:], 0)
        await self._enter(0)
        for k in range(min(step, len(lesson.steps) - 1)):
            if (self.key, self.step) != (key, k):
                return
            await self.show()
            await self._enter(k + 1)

    async def next(self) -> None:
        """Go to the next step; if this one is not done, do it and show its outcome."""
        if self.lesson is None or self.task is None or self.opening:
            return
        here = (self.key, self.step)
        if self.task.done is not None and not self.reached and self._shown != here:
            self._shown = here
            await self.show()
            return
        if self.step + 1 < len(self.lesson.steps):
            await self._enter(self.step + 1)
        else:
            self.finished |= {self.key}
            self.close()

    async def show(self) -> None:
        """Do the task of the step."""
        if self.task is not None:
            await self._go(self.task.way)

    def back(self) -> None:
        """Return to the previous step, in its initial state."""
        if self.step and not self.opening:
            self._restore(self.step - 1)

    def reset(self) -> None:
        """Return to the first step, in its initial state."""
        if self._places and not self.opening:
            self._restore(0)

    def close(self) -> None:
        """Leave the lesson; its state stays until another one is opened."""
        self._watch(None)
        self.session.jobs.cancel()
        self.param.update(key="", step=0, opening=False, **_UNDONE)

    async def _enter(self, step: int) -> None:
        key, lesson = self.key, self.lessons[self.key]
        self._watch(None)
        self._shown = None
        self.param.update(step=step, opening=True, **_UNDONE)
        await self._go(lesson.steps[step].begin)
        if (self.key, self.step) != (key, step):
            return
        self._places[step:] = [self._here()]
        self.opening = False
        self._watch(lesson.steps[step])

    async def _go(self, ways: tuple[Way, ...]) -> None:
        for way in ways:
            await way(self.session)

    def _here(self) -> _Place:
        history, view_state = self.session.history, self.session.view_state
        seen = {
            name: value
            for name, value in view_state.param.values().items()
            if name not in _KEPT and not isinstance(value, Viewport)
        }
        return _Place(history.steps, history.cursor, seen)

    def _restore(self, step: int) -> None:
        place, session = self._places[step], self.session
        self._watch(None)
        session.jobs.cancel()
        with session.derived.paused():
            session.put(place.steps, place.cursor)
            session.view_state.param.update(**place.view_state)
        self._shown = None
        self.param.update(step=step, **_UNDONE)
        self._watch(self.lessons[self.key].steps[step])

    def _watch(self, task: Task | None) -> None:
        """Watch whether a step is done, or mistaken for another."""
        for stop in self._stops:
            stop()
        self._stops = []
        if task is None:
            return

        def reach(holds: bool) -> None:
            holds |= task.lasts and self.reached
            self.param.update(reached=self.reached or holds, holds=holds)

        def mistake(holds: bool) -> None:
            self.mistaken = holds

        for check, notice in ((task.done, reach), (task.wrong, mistake)):
            if check is not None:
                on_change = partial(_notice, check, notice)
                self._stops.append(self.session.derived.watch(check.needs, on_change))


def _notice(
    check: Check, notice: Callable[[bool], None], results: Mapping[str, Result]
) -> None:
    """Report whether a check holds, once all results that it needs are ready."""
    found = [results[name.rstrip("?")] for name in check.needs]
    if all(result.ready for result in found):
        notice(bool(check.holds(*(one.value for one in found))))


# View parameters that belong to the analyst and not to the lesson.
_KEPT = ("name", "large", "help", "pool_draft")
# Parameters of the classroom at the start of a step.
_UNDONE = {"reached": False, "holds": False, "mistaken": False}
