"""Commands that keys or several cards use to change the view.

A command is a function of the session; `KEYBOARD_COMMANDS` lists the keys with their
descriptions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clusterlens.compute.pool.specs import pool_grids
from clusterlens.compute.ranking.voting import CHOSEN_VOTES
from clusterlens.ui.results.lab import Setting
from clusterlens.ui.session import Session
from clusterlens.ui.state.links import Kind, plain_id
from clusterlens.ui.state.partitions import Choice
from clusterlens.ui.state.view_parameters import Brush

# Rows shown on either side of a row that is located in the matrices.
AROUND = 20


@dataclass(frozen=True)
class Command:
    """Command of a key, its description in the list of keys, and its pages.

    Without pages it applies to all of them.
    """

    words: str
    make: Callable[[Session], None]
    pages: tuple[str, ...] = ()


def press(session: Session, key: str) -> None:
    """Run the command of a key on the displayed page."""
    command = KEYBOARD_COMMANDS[key]
    if not command.pages or session.view_state.page in command.pages:
        command.make(session)


def step_model(session: Session, by: int) -> None:
    """Select the model a row further down in the ranking, or up."""
    rows, selected = (session.derived.get(name) for name in ("rows", "selected"))
    copies = session.derived.get("copies")
    if rows.ready and selected.ready and copies.ready:
        same = copies.value[rows.value] == copies.value[selected.value]
        at = int(np.flatnonzero(same)[0]) + by
        if 0 <= at < len(rows.value):
            session.view_state.param.update(model=int(rows.value[at]), tab="model")


def step_sample(session: Session, by: int) -> None:
    """Inspect the next brushed sample, or the one before."""
    brushed, view_state = session.view_state.brush.positions, session.view_state
    if len(brushed):
        found = np.flatnonzero(brushed == view_state.inspected)
        at = int(found[0]) + by if len(found) else 0
        view_state.param.update(inspected=int(brushed[at % len(brushed)]), tab="sample")


def open_in_clusters(session: Session) -> None:
    """Open the subject of the inspector on the page Clusters.

    The subject is the brushed samples as a group, the cluster of the inspected sample,
    or the displayed partition.
    """
    view_state, clusters = session.view_state, session.derived.get("clusters")
    if session.analysis.run is None:
        return
    kind = "auto" if view_state.model is None else "model"
    group, cluster = view_state.group, None
    if view_state.tab == "selection" and len(view_state.brush):
        kind, group = "group", view_state.brush
    elif (
        view_state.tab == "sample"
        and view_state.inspected is not None
        and clusters.ready
    ):
        number = int(clusters.value[view_state.inspected])
        cluster = number if number >= 0 else None  # noise is not a cluster
    view_state.param.update(
        page="clusters", partition=kind, group=group, cluster=cluster
    )


def clear(session: Session) -> None:
    """Close an overlay, or else clear the pair, the inspected sample or the brush."""
    view_state = session.view_state
    if view_state.help:
        view_state.help = False
    elif view_state.enlarged:
        view_state.enlarged = ""
    elif view_state.page == "consensus" and view_state.table_open:
        view_state.table_open = False
    elif view_state.refused:
        view_state.refused = ()
    elif view_state.streak:
        view_state.param.update(streak=False, pair=())
    elif view_state.pair:
        view_state.pair = view_state.pair[:-1]
    elif view_state.linking:
        view_state.linking = False
    elif view_state.inspected is not None:
        view_state.inspected = None
    elif len(view_state.brush):
        view_state.brush = Brush()
    else:
        view_state.drawer = False


async def choose_result(
    session: Session, choice: Choice, labels: np.ndarray, clusters: np.ndarray
) -> bool:
    """Make a partition the result, with the numbers of its clusters on screen.

    Parameters
    ----------
    session : Session
        Session of the result; all of its pages then show it.
    choice : Choice
        Definition of the partition.
    labels, clusters : array of int, shape (n_samples,)
        Its original labels, and their numbers on screen.
    """
    found, first = np.unique(labels, return_index=True)
    return await session.act(
        "choose result",
        view_state={"model": None, "partition": "auto", "cluster": None},
        partition=choice.values(session.analysis.selected_run.dataset),
        numbers=np.column_stack([found, clusters[first]]).tolist(),
        on=session.view_state.page.title(),
    )


def toggle_linking(session: Session) -> None:
    """Switch clicks on the map between picking a pair and inspecting."""
    view_state = session.view_state
    if view_state.linking:
        view_state.param.update(linking=False, pair=())
    elif session.analysis.run is not None:
        view_state.param.update(linking=True, tab="links")


def link_from(session: Session) -> None:
    """Make the inspected sample A of a pair; the next click picks B."""
    if session.view_state.inspected is not None and session.analysis.run is not None:
        pair = (session.view_state.inspected,)
        session.view_state.param.update(linking=True, pair=pair, tab="links")


def find_in_matrices(session: Session) -> None:
    """Show the inspected sample and its neighbours in both matrices."""
    places, view_state = session.derived.get("places"), session.view_state
    if not places.ready or view_state.inspected is None:
        return
    n, at = len(places.value), int(places.value[view_state.inspected])
    low = max(0, min(at - AROUND, n - 2 * AROUND - 1))
    span = (float(low), float(min(low + 2 * AROUND + 1, n)))
    view_state.matrix_view = replace(view_state.matrix_view, x=span, y=span)


def pick(session: Session, position: int) -> None:
    """Add a sample to the pair: A first, then B; a third one replaces B."""
    first = session.view_state.pair[:1]
    if position not in first:
        session.view_state.param.update(pair=(*first, position), tab="links")


def pick_pair(session: Session, a: int, b: int) -> None:
    """Ask about two samples at once."""
    if a != b:
        session.view_state.param.update(pair=(a, b), tab="links")


def answer(session: Session, kind: Kind) -> None:
    """Link the pair; if it was suggested, go on to the next suggestion."""
    view_state, samples = session.view_state, session.analysis.samples
    if len(view_state.pair) != 2 or samples is None:
        return
    suggested = _suggested_after(session)
    a, b = (plain_id(samples.row_ids[i]) for i in view_state.pair)
    with session.derived.paused():
        if session.act_now("add link", kind=kind, a=a, b=b):
            _take(session, suggested)


def leave_unsure(session: Session) -> None:
    """Mark the pair as unsure; if it was suggested, go on to the next suggestion."""
    view_state, samples = session.view_state, session.analysis.samples
    if len(view_state.pair) != 2 or samples is None:
        return
    pair, suggested = view_state.pair, _suggested_after(session)
    a, b = (plain_id(samples.row_ids[i]) for i in pair)
    with session.derived.paused():
        if session.act_now("leave unsure", a=a, b=b):
            _take(session, tuple(one for one in suggested if one != pair))


def toggle_streak(session: Session) -> None:
    """Begin with the first suggestion and go on after each answer, or stop."""
    view_state = session.view_state
    if view_state.streak:
        view_state.param.update(streak=False, pair=())
    elif session.analysis.run is not None:
        view_state.param.update(streak=True, tab="links", drawer=True)


def go_on_asking(session: Session) -> None:
    """Open the first suggestion if the analyst waits for one."""
    view_state = session.view_state
    wanted = view_state.streak or view_state.asking
    view_state.asking = False
    if wanted and not view_state.pair:
        _take(session, _suggested(session))


def skip(session: Session) -> None:
    """Leave the pair as it is and open the next suggestion, or the first."""
    view_state = session.view_state
    if session.analysis.run is not None:
        view_state.param.update(tab="links", drawer=True)
        _take(session, _suggested_after(session) or _suggested(session))
        # Suggestions are computed only while the tab of links is visible.
        view_state.asking = not (
            view_state.pair or session.derived.get("suggestions").ready
        )


def take_suggestion(session: Session, pair: tuple[int, ...]) -> None:
    """Open a suggested pair; the suggestions after it come next."""
    pairs = _suggested(session)
    if pair in pairs:
        _take(session, pairs[pairs.index(pair) :])


def _take(session: Session, queue: tuple[tuple[int, ...], ...]) -> None:
    """Open the first pair of a queue, or none."""
    pair = queue[0] if queue else ()
    session.view_state.param.update(pair=pair, queue=queue)


def _suggested(session: Session) -> tuple[tuple[int, ...], ...]:
    """Return the suggested pairs that carry information."""
    found = session.derived.get("suggestions")
    known = found.value if found.ready else ()
    return tuple(some.pair for some in known if some.information)


def _suggested_after(session: Session) -> tuple[tuple[int, ...], ...]:
    """Return the suggestions after the pair; none if it was not suggested, or the last.

    Suggestions that use all answers so far take precedence over those of an older
    batch.
    """
    pair, queue, fresh = (
        session.view_state.pair,
        session.view_state.queue,
        _suggested(session),
    )
    if pair in fresh:
        return fresh[fresh.index(pair) + 1 :]
    if pair in queue:
        return fresh or queue[queue.index(pair) + 1 :]
    return ()


def toggle_enlarged(session: Session, figure: str) -> None:
    """Enlarge a figure to its whole page, or restore it."""
    view_state = session.view_state
    view_state.enlarged = "" if view_state.enlarged == figure else figure


def toggle_large(session: Session) -> None:
    """Enlarge all text, for projectors, or restore its size."""
    session.view_state.large = not session.view_state.large


def toggle_help(session: Session) -> None:
    """Show or hide the list of keys."""
    session.view_state.help = not session.view_state.help


async def run_preset(session: Session, preset: str) -> bool:
    """Run a preset of the pool on the prepared table; return whether it was done."""
    dataset = session.analysis.dataset
    if dataset is None:
        return False
    pool, _ = pool_grids(preset, len(dataset.X))
    return await session.act("run pool", pool=pool, votes=CHOSEN_VOTES)


def go_to_setting(session: Session, setting: Setting, **changed: Any) -> None:
    """Choose a setting of CNS that differs from another one in some fields."""
    wanted = {**vars(setting), **changed}
    with session.derived.paused():
        session.view_state.param.update(cns_preview=None, cns_step=None, cns_version="")
        if tuple(wanted.values()) != session.analysis.cns:
            session.act_now("set CNS", **wanted)


def go_to_automatic(session: Session) -> None:
    """Return to the automatic setting of CNS."""
    session.view_state.param.update(cns_preview=None, cns_step=None, cns_version="")
    if session.analysis.cns is not None:
        session.act_now("set CNS")


def preview_setting(session: Session, setting: Setting, **changed: Any) -> None:
    """Preview a setting of CNS while a slider is held; nothing is logged."""
    wanted = {**vars(setting), **changed}
    session.view_state.param.update(
        cns_preview=tuple(wanted.values()), cns_step=None, cns_version=""
    )


_RANKED = ("consensus",)
KEYBOARD_COMMANDS = {
    "ctrl+z": Command("undo", Session.undo),
    "ctrl+shift+z": Command("redo", Session.redo),
    "ctrl+y": Command("redo", Session.redo),
    "arrowup": Command("model above", lambda session: step_model(session, -1), _RANKED),
    "arrowdown": Command(
        "model below", lambda session: step_model(session, 1), _RANKED
    ),
    "arrowleft": Command(
        "selected sample before", lambda s: step_sample(s, -1), _RANKED
    ),
    "arrowright": Command("next selected sample", lambda s: step_sample(s, 1), _RANKED),
    "enter": Command("open in Clusters", open_in_clusters, _RANKED),
    "l": Command("link two samples", toggle_linking, _RANKED),
    "s": Command("answer suggested pairs in a row", toggle_streak, _RANKED),
    "m": Command("must-link the pair", lambda s: answer(s, "must"), _RANKED),
    "c": Command("cannot-link the pair", lambda s: answer(s, "cannot"), _RANKED),
    "u": Command("unsure about the pair", leave_unsure, _RANKED),
    "space": Command("next suggested pair", skip, _RANKED),
    "escape": Command("clear what is picked", clear),
    "a": Command("larger text", toggle_large),
    "?": Command("show the keys", toggle_help),
}
