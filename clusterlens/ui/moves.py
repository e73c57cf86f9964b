"""Moves: what keys do, on every page.

A move is a function of the session; `MOVES` lists the keys with what they are for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clusterlens.ui.look import Brush
from clusterlens.ui.session import Session


@dataclass(frozen=True)
class Move:
    """What a key does, and the words for it in the list of keys."""

    words: str
    make: Callable[[Session], None]


def step_model(session: Session, by: int) -> None:
    """Select the model a row further down in the ranking, or up."""
    rows, selected = (session.derived.get(name) for name in ("rows", "selected"))
    copies = session.derived.get("copies")
    if rows.ready and selected.ready and copies.ready:
        same = copies.value[rows.value] == copies.value[selected.value]
        at = int(np.flatnonzero(same)[0]) + by
        if 0 <= at < len(rows.value):
            session.look.param.update(model=int(rows.value[at]), tab="model")


def step_sample(session: Session, by: int) -> None:
    """Inspect the next brushed sample, or the one before."""
    brushed, look = session.look.brush.positions, session.look
    if len(brushed):
        found = np.flatnonzero(brushed == look.inspected)
        at = int(found[0]) + by if len(found) else 0
        look.param.update(inspected=int(brushed[at % len(brushed)]), tab="sample")


def clear(session: Session) -> None:
    """Clear the inspected sample, then the selection; close the list of keys first."""
    look = session.look
    if look.help:
        look.help = False
    elif look.inspected is not None:
        look.inspected = None
    elif len(look.brush):
        look.brush = Brush()
    else:
        look.drawer = False


def toggle_help(session: Session) -> None:
    """Show or hide the list of keys."""
    session.look.help = not session.look.help


MOVES = {
    "ctrl+z": Move("undo", Session.undo),
    "ctrl+shift+z": Move("redo", Session.redo),
    "ctrl+y": Move("redo", Session.redo),
    "arrowup": Move("model above", lambda session: step_model(session, -1)),
    "arrowdown": Move("model below", lambda session: step_model(session, 1)),
    "arrowleft": Move("brushed sample before", lambda s: step_sample(s, -1)),
    "arrowright": Move("next brushed sample", lambda s: step_sample(s, 1)),
    "escape": Move("clear what is picked", clear),
    "?": Move("show the keys", toggle_help),
}
