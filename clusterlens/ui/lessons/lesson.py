"""Lesson: plain data and predicates that define everything on the page Lessons.

A lesson opens an example with a run of its own pool. A step has a paragraph and one
task. Results and the view state decide whether a task is done, so every way to do it
counts; "Show me", Next and the tests use `way`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from clusterlens.ui.session import Session

Way = Callable[[Session], Awaitable[None]]
Pool = tuple[Mapping[str, Any], ...]
LessonPage = Literal["consensus", "labels", "fuzzy", "new-rows", "cns"]


@dataclass(frozen=True)
class Check:
    """A condition on the state of the analysis.

    Parameters
    ----------
    needs : tuple of str
        Required results, named as in the inputs of a node.
    holds : callable
        Called with their values in order once all are ready.
    """

    needs: tuple[str, ...]
    holds: Callable[..., bool]


@dataclass(frozen=True)
class Task:
    """One step of a lesson.

    Parameters
    ----------
    title : str
        A few words.
    text : str
        One paragraph, markup.
    task : str
        The task, markup; empty if there is only text.
    target : str
        CSS class of the part of the page for the task.
    done : Check, optional
        Condition that the task is done.
    way : tuple of callable
        A way to do it, see `act`, `set_view`, `select`, `ask` and `undo`.
    button : str
        Text of a button that does the task, if no part of the page can.
    begin : tuple of callable
        Setup before the step.
    after : str
        Explanation of the outcome, markup; shown while `done` holds.
    lasts : bool, default False
        Whether the explanation stays true, whatever the page shows afterwards.
    wrong : Check, optional
        Condition that another, similar thing was done.
    hint : str
        Advice in that case, markup.
    """

    title: str
    text: str
    task: str = ""
    target: str = ""
    done: Check | None = None
    way: tuple[Way, ...] = ()
    button: str = ""
    begin: tuple[Way, ...] = ()
    after: str = ""
    lasts: bool = False
    wrong: Check | None = None
    hint: str = ""


@dataclass(frozen=True)
class Lesson:
    """A lesson; its claims are computed by the test of the same name.

    Parameters
    ----------
    title, teaser : str
        Title and subject.
    minutes : int
        Duration.
    example : str
        Key of EXAMPLES.
    pool : tuple of dict
        Entries of the pool, small enough to be fitted in seconds.
    page : {"consensus", "labels", "fuzzy", "new-rows", "cns"}
        Working page of the lesson.
    steps : tuple of Task
        Four to six steps in the built-in lessons.
    robust : bool, default False
        Whether a step speaks of ranks without a family or by a majority; otherwise the
        ranking leaves them out.
    """

    title: str
    teaser: str
    minutes: int
    example: str
    pool: Pool
    page: LessonPage
    steps: tuple[Task, ...]
    robust: bool = False


def view_is(**wanted: Any) -> Check:
    """Check view parameters: names of `ViewState` with their values."""
    names = tuple(f"view.{name}?" for name in wanted)
    return Check(names, lambda *found: found == tuple(wanted.values()))


def selects(model: str) -> Check:
    """Check that a model is selected, or an equal one."""

    def holds(selected: int, ensemble: Any, copies: Any) -> bool:
        names = ensemble.names
        return model in names and bool(copies[selected] == copies[names.index(model)])

    return Check(("selected", "ensemble", "copies"), holds)


def leads(text: str, n_models: int) -> Check:
    """Check that a model with this prefix leads so many models."""

    def holds(ranking: Any, ensemble: Any) -> bool:
        first = ensemble.names[ranking.order[0]]
        return ensemble.n_partitions == n_models and first.startswith(text)

    return Check(("ranking", "ensemble"), holds)


def act(kind: str, /, **values: Any) -> Way:
    """Return a function that runs an action of ACTIONS with plain values."""

    async def way(session: Session) -> None:
        await session.act(kind, **values)

    return way


def set_view(**values: Any) -> Way:
    """Return a function that sets view parameters."""

    async def way(session: Session) -> None:
        session.view_state.param.update(**values)

    return way


def select(model: str) -> Way:
    """Return a function that selects a model by its name."""

    async def way(session: Session) -> None:
        ensemble = session.analysis.ensemble
        if ensemble is not None and model in ensemble.names:
            session.view_state.model = ensemble.names.index(model)

    return way


def ask(node: str) -> Way:
    """Return a function that requests a result which is computed only on request."""

    async def way(session: Session) -> None:
        session.derived.ask(node)

    return way


def undo() -> Way:
    """Return a function that undoes the latest action."""

    async def way(session: Session) -> None:
        session.undo()

    return way
