"""Lesson: plain data and predicates, from which the page Lessons makes everything else.

A lesson opens an example with a run of its own pool. A step is a paragraph and one
thing to do. Whether it is done is read from results and from what is looked at, so any
way there counts; `way` is one of them, for "Show me", for Next, and for the tests.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from clusterlens.ui.session import Session

Way = Callable[[Session], Awaitable[None]]


@dataclass(frozen=True)
class Check:
    """A condition on the state of the analysis.

    Parameters
    ----------
    needs : tuple of str
        Results it reads, named as in the inputs of a node.
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
        The one thing to do, markup; empty where there is only to read.
    target : str
        CSS class of the part of the page where it is done.
    done : Check, optional
        Whether it is done.
    way : tuple of callable
        A way to do it, see `act`, `look`, `select`, `ask` and `undo`.
    button : str
        Words of a button beside the task that does it, where no part of the page can.
    begin : tuple of callable
        What is put in place before the step.
    after : str
        What there is to see once it is done, markup.
    wrong : Check, optional
        Whether something else was done that is easily taken for it.
    hint : str
        What to do then, markup.
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
    wrong: Check | None = None
    hint: str = ""


@dataclass(frozen=True)
class Lesson:
    """A lesson; its claims are computed by the test of the same name.

    Parameters
    ----------
    title, teaser : str
        What it is about.
    minutes : int
        How long it takes.
    example : str
        Key of EXAMPLES.
    pool : tuple of dict
        Entries of the pool, small enough to be fitted in seconds.
    page : {"consensus", "labels", "fuzzy", "new-rows"}
        The working page it takes place on.
    steps : tuple of Task
        Four to six.
    """

    title: str
    teaser: str
    minutes: int
    example: str
    pool: tuple[Mapping[str, Any], ...]
    page: Literal["consensus", "labels", "fuzzy", "new-rows"]
    steps: tuple[Task, ...]


def looks(**wanted: Any) -> Check:
    """Whether something is looked at: parameters of `Look` with their values."""
    names = tuple(f"look.{name}?" for name in wanted)
    return Check(names, lambda *found: found == tuple(wanted.values()))


def selects(model: str) -> Check:
    """Whether a model is selected, or one that found the same."""

    def holds(selected: int, ensemble: Any, copies: Any) -> bool:
        return bool(copies[selected] == copies[ensemble.names.index(model)])

    return Check(("selected", "ensemble", "copies"), holds)


def leads(text: str, n_models: int) -> Check:
    """Whether a model whose name begins with the text leads so many models."""

    def holds(ranking: Any, ensemble: Any) -> bool:
        first = ensemble.names[ranking.order[0]]
        return ensemble.n_partitions == n_models and first.startswith(text)

    return Check(("ranking", "ensemble"), holds)


def act(kind: str, /, **values: Any) -> Way:
    """Do an action of ACTIONS with plain values."""

    async def way(session: Session) -> None:
        await session.act(kind, **values)

    return way


def look(**values: Any) -> Way:
    """Look at something: parameters of `Look`."""

    async def way(session: Session) -> None:
        session.look.param.update(**values)

    return way


def select(model: str) -> Way:
    """Select a model by its name."""

    async def way(session: Session) -> None:
        ensemble = session.analysis.ensemble
        if ensemble is not None and model in ensemble.names:
            session.look.model = ensemble.names.index(model)

    return way


def ask(node: str) -> Way:
    """Ask for a result that is computed on request only."""

    async def way(session: Session) -> None:
        session.derived.ask(node)

    return way


def undo() -> Way:
    """Take the latest action back."""

    async def way(session: Session) -> None:
        session.undo()

    return way
