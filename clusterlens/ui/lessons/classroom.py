"""Classroom: the lesson that is open, in a session of its own.

The analyst's analysis is out of its reach: the session here has no store, and what is
done in it ends with it. Pools are fitted once for all who take the lesson
(`clusterlens.ui.work.results`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import param

from clusterlens.ui.lessons import LESSONS
from clusterlens.ui.lessons.lesson import Lesson, Task, Way
from clusterlens.ui.server.server import Server
from clusterlens.ui.session import Session
from clusterlens.ui.state.history import History, Step
from clusterlens.ui.state.looking import Viewport
from clusterlens.ui.work.derived import Result


@dataclass(frozen=True, eq=False)
class _Place:
    """Where a step began: steps and cursor of the history, and what was looked at."""

    steps: tuple[Step, ...]
    cursor: int
    look: Mapping[str, Any]


class Classroom(param.Parameterized):
    """One lesson at a time, from step to step and back."""

    key = param.String("", doc="The lesson that is open, a key of LESSONS; or none.")
    step = param.Integer(0, doc="Position of the step that is taken.")
    reached = param.Boolean(False, doc="Whether what the step asks for was reached.")
    finished = param.ClassSelector(
        class_=frozenset, default=frozenset(), doc="Lessons read to their end."
    )
    opening = param.Boolean(False, doc="Whether a lesson or a step is being set up.")

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.session = Session(server)
        self._places: list[_Place] = []
        self._stop: Callable[[], None] = lambda: None

    @property
    def lesson(self) -> Lesson | None:
        """The lesson that is open."""
        return LESSONS.get(self.key)

    @property
    def task(self) -> Task | None:
        """The step that is taken."""
        return self.lesson.steps[self.step] if self.lesson else None

    async def open(self, key: str) -> None:
        """Open a lesson: its example with its run, at the first step."""
        lesson, session = LESSONS[key], self.session
        self._watch(None)
        self._places = []
        # The page shows itself at once, and says what is being done.
        self.param.update(key=key, step=0, reached=False, opening=True)
        session.look.forget(*(n for n in session.look.param if n not in _KEPT))
        session.look.page = lesson.page
        session.put(History().steps, 0)
        done = await session.act("load example", name=lesson.example)
        done = done and await session.act("run pool", pool=list(lesson.pool))
        if self.key != key:
            return
        if not done:
            self.close()
            return
        # What came before the lesson is not to be undone in it.
        session.put(session.history.steps[-1:], 0)
        await self._enter(0)

    async def next(self) -> None:
        """Take the next step; what this one asks for is done if it was not."""
        if self.lesson is None or self.opening:
            return
        if not self.reached:
            await self.show()
        if self.step + 1 < len(self.lesson.steps):
            await self._enter(self.step + 1)
        else:
            self.finished |= {self.key}
            self.close()

    async def show(self) -> None:
        """Do what the step asks for."""
        if self.task is not None:
            await self._go(self.task.way)

    def back(self) -> None:
        """Return to the step before, as it was when it began."""
        if self.step and not self.opening:
            self._restore(self.step - 1)

    def reset(self) -> None:
        """Return to the first step, as it was when it began."""
        if self._places and not self.opening:
            self._restore(0)

    def close(self) -> None:
        """Leave the lesson; it stays as it is until another one is opened."""
        self._watch(None)
        self.session.jobs.cancel()
        self.param.update(key="", step=0, reached=False, opening=False)

    async def _enter(self, step: int) -> None:
        key, lesson = self.key, LESSONS[self.key]
        self._watch(None)
        self.param.update(step=step, reached=False, opening=True)
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
        history, look = self.session.history, self.session.look
        seen = {
            name: value
            for name, value in look.param.values().items()
            if name not in _KEPT and not isinstance(value, Viewport)
        }
        return _Place(history.steps, history.cursor, seen)

    def _restore(self, step: int) -> None:
        place, session = self._places[step], self.session
        self._watch(None)
        session.jobs.cancel()
        with session.derived.paused():
            session.put(place.steps, place.cursor)
            session.look.param.update(**place.look)
        self.param.update(step=step, reached=False)
        self._watch(LESSONS[self.key].steps[step])

    def _watch(self, task: Task | None) -> None:
        """Tell whether what a step asks for is reached, from now on."""
        self._stop()
        self._stop = lambda: None
        if task is None or task.done is None:
            return
        check = task.done

        def told(results: Mapping[str, Result]) -> None:
            found = [results[name.rstrip("?")] for name in check.needs]
            if all(result.ready for result in found):
                self.reached |= bool(check.holds(*(one.value for one in found)))

        self._stop = self.session.derived.watch(check.needs, told)


# Of the look, what is the analyst's own and no part of a lesson.
_KEPT = ("name", "large", "help", "pool_draft")
