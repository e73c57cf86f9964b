"""Leaving: sessions that end give their memory back, and nobody waits for it.

Widgets, models and what watches them point at each other in circles: 150,000 objects of
a session that has seen all pages, which the collector would have to find among those of
all sessions. So the circles of a session that has ended are opened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import MethodType
from typing import Any

from bokeh.model import Model
from bokeh.model.util import collect_filtered_models
from panel.viewable import Viewable

from clusterlens.ui.figures.frame import Frame
from clusterlens.ui.lessons.classroom import Classroom
from clusterlens.ui.pages.page import Page
from clusterlens.ui.parts.panel import Panel
from clusterlens.ui.server.memory.memory import Memory
from clusterlens.ui.session import Session
from clusterlens.ui.state.history import History
from clusterlens.ui.state.look import Look
from clusterlens.ui.work.derived import Derived
from clusterlens.ui.work.jobs import Jobs

# What belongs to one browser session alone. Anything else may be shared.
_OWN = (Page, Panel, Frame, Classroom, Session, History, Look, Jobs, Derived, Memory)

# Pages at which everything can be gone through once: that of each takes 0.1 to 0.2 s.
_FEW = 1


def enter(page: Any) -> None:
    """Count a page in; it counts for as long as it is alive."""
    _let_models_go()
    page.session.server.pages.add(page)


def leave(page: Any) -> None:
    """Take a page apart that nobody will use again; with few left, all is swept.

    Parameters
    ----------
    page : object
        Holds all else of its session, in attributes, lists and mappings, what is shown
        of it among them. Tasks in them are cancelled.
    """
    server, parts = page.session.server, _parts(page)
    shown = [part for part in parts if isinstance(part, Viewable)]
    models = [model for view in shown for model, _ in view._models.values()]
    # Those in the document of the page went with it.
    for model in collect_filtered_models(_is_destroyed, *models):
        model.destroy()
    for part in parts:
        vars(part).clear()
    server.pages.discard(page)
    server.collector.give_back(sweep=len(server.pages) <= _FEW)


def _is_destroyed(model: Model) -> bool:
    """Whether nothing is left of a model, or nothing was there."""
    return not (model._property_values or model._unstable_default_values)


def _parts(page: Any) -> list[Any]:
    """Find all that belongs to a page; also cards that are not in their place yet."""
    waiting, found = [page], {}
    while waiting:
        thing = waiting.pop()
        if id(thing) in found:
            continue
        # All that is inside a view comes with it, and is not asked for the same again.
        for part in thing.select() if isinstance(thing, Viewable) else [thing]:
            found[id(part)] = part
            for held in _flat(vars(part).values()):
                if isinstance(held, asyncio.Task):
                    held.cancel()
                elif isinstance(held, (*_OWN, Viewable)):
                    waiting.append(held)
    return list(found.values())


def _flat(held: Iterable[Any]) -> Iterator[Any]:
    for thing in held:
        if isinstance(thing, (list, tuple, set)):
            yield from _flat(thing)
        elif isinstance(thing, MethodType):
            yield thing.__self__
        elif isinstance(thing, Mapping):
            yield from _flat(thing.values())
        else:
            yield thing


@cache
def _let_models_go() -> None:
    """Let a destroyed model drop its defaults and callbacks, too, in this process.

    Bokeh 3.9.2 drops the values that were set; defaults that can be changed in place
    (lists, mappings, sets) know their model and keep it. What it is to call knows the
    document, which keeps models that the browser has not acknowledged.
    """
    destroy = Model.destroy

    def destroy_all(model: Model) -> None:
        destroy(model)
        model._unstable_default_values.clear()
        model._callbacks.clear()
        model._event_callbacks.clear()

    Model.destroy = destroy_all
