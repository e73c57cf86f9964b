"""Memory of ended sessions: reference cycles are broken to free it early.

Widgets, models and their watchers refer to each other in cycles: 150,000 objects of a
session that has opened all pages. The garbage collector would have to find them among
the objects of all sessions, so the cycles of an ended session are broken explicitly.
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

from clusterlens.ui.components.card import Card
from clusterlens.ui.components.deferred import Deferred
from clusterlens.ui.figures.frame import Frame
from clusterlens.ui.jobs.derived import Derived
from clusterlens.ui.jobs.lanes import Jobs
from clusterlens.ui.lessons.classroom import Classroom
from clusterlens.ui.server.memory.memory import Memory
from clusterlens.ui.session import Session
from clusterlens.ui.state.history import History
from clusterlens.ui.state.view_state import ViewState

# Types of objects that belong to one session. Other objects may be shared.
_OWN = (
    Deferred,
    Card,
    Frame,
    Classroom,
    Session,
    History,
    ViewState,
    Jobs,
    Derived,
    Memory,
)

# Largest number of open pages for a full collection, which takes 0.1 to 0.2 s each.
_FEW = 1


def register_page(page: Any) -> None:
    """Register a page; it counts for as long as it is alive."""
    _let_models_go()
    page.session.server.pages.add(page)


def dispose_page(page: Any) -> None:
    """Dispose of an ended page; if few pages are left, collect all garbage.

    Parameters
    ----------
    page : object
        Page that refers, in attributes, lists and mappings, to all objects of its
        session, including its views. Tasks among them are cancelled.
    """
    server, parts = page.session.server, _parts(page)
    shown = [part for part in parts if isinstance(part, Viewable)]
    models = [model for view in shown for model, _ in view._models.values()]
    # Models in the document of the page were destroyed with it.
    for model in collect_filtered_models(_is_destroyed, *models):
        model.destroy()
    for part in parts:
        vars(part).clear()
    server.pages.discard(page)
    server.collector.give_back(sweep=len(server.pages) <= _FEW)


def _is_destroyed(model: Model) -> bool:
    """Return whether a model is destroyed or empty."""
    return not (model._property_values or model._unstable_default_values)


def _parts(page: Any) -> list[Any]:
    """Find all objects of a page, including cards that are not in their place yet."""
    waiting, found = [page], {}
    while waiting:
        thing = waiting.pop()
        if id(thing) in found:
            continue
        # A view is searched with all views inside it, which need not be searched again.
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
    """Let destroyed models also drop their defaults and callbacks, in this process.

    Bokeh 3.9.2 drops only the values that were set. Mutable defaults (lists, mappings,
    sets) refer to their model and keep it alive. Callbacks refer to the document, which
    keeps models that the browser has not acknowledged.
    """
    destroy = Model.destroy

    def destroy_all(model: Model) -> None:
        destroy(model)
        model._unstable_default_values.clear()
        model._callbacks.clear()
        model._event_callbacks.clear()

    Model.destroy = destroy_all
