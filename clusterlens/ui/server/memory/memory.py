"""Memory: the history of one session, saved in the store while it changes.

Every change of the history starts the writer, which works on a thread until the store
equals the history; only then is the state "saved". It also records running work, so
that work interrupted by a server stop can be repeated. If several pages show one
analysis, a later writer detects that it is behind, loads the changes of the others, and
applies its own step on top.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import param

from clusterlens.compute.formatting import count
from clusterlens.ui.actions import ACTIONS, merge
from clusterlens.ui.jobs.scheduler import is_serving
from clusterlens.ui.server.memory.contents import is_key
from clusterlens.ui.server.memory.measured import read_checks, write_checks
from clusterlens.ui.server.memory.records import Records, same_table
from clusterlens.ui.server.memory.schema import ABOUT, INTENTS
from clusterlens.ui.server.memory.store import (
    Conflict,
    Intent,
    Store,
    Stored,
    StoreError,
    new_id,
)
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.address import plain_view_state
from clusterlens.ui.state.analysis import Analysis
from clusterlens.ui.state.checks import Check, Checks, newer
from clusterlens.ui.state.history import History, Step
from clusterlens.ui.state.shapes import choice
from clusterlens.ui.state.view_state import ViewState

_EXPECTED = (OSError, ValueError, MemoryError)
_LOG = logging.getLogger(__name__)
# Results of a step are shown before it is written.
_DEBOUNCE_SECONDS = 0.1
# Minimum interval between records of progress, after the first.
_NOTE_SECONDS = 2.0


@dataclass(frozen=True, eq=False)
class SavedHistory:
    """The stored state of a history."""

    id: str | None = None
    revision: int = 0
    steps: tuple[Step, ...] = ()
    cursor: int = 0
    title: str = ""
    imported: bool = False
    checks: Mapping[str, Check] = field(default_factory=dict)


class Files(dict[str, bytes]):
    """Uploaded files by SHA-256: in memory until they are stored."""

    def __init__(self, store: Store | None) -> None:
        super().__init__()
        self._store = store

    def __missing__(self, key: str) -> bytes:
        if self._store is None:
            raise KeyError(key)
        return self._store.contents.get(key)

    def __contains__(self, key: object) -> bool:
        if super().__contains__(key):
            return True
        return self._store is not None and is_key(key) and key in self._store.contents


class Memory(param.Parameterized):
    """Storage of a history in the store of a server.

    Parameters
    ----------
    server : Server
        Server; without a store nothing is saved.
    history : History
        History to save.
    view_state : ViewState
        View state, saved with every change of the history or of the page.
    checks : Checks
        Measurements; each is stored when it ends.
    notify : callable
        `(severity, text)`, notifies the analyst.
    """

    state = param.Selector(
        default="off", objects=["off", "empty", "saving", "saved", "failed"]
    )
    problem = param.String("", doc="Why it cannot save, and what to do.")
    analysis = param.String(None, allow_None=True, doc="Id in the store.")
    saved_at = param.Number(
        None, allow_None=True, doc="Time of the last complete save, as of time()."
    )
    under_way = param.ClassSelector(
        class_=tuple, default=(), doc="Intents of this page, as they were asked for."
    )
    interrupted = param.ClassSelector(
        class_=tuple, default=(), doc="Intents of interrupted work."
    )
    on_other_pages = param.ClassSelector(
        class_=tuple, default=(), doc="Intents of other pages of the analysis."
    )

    def __init__(
        self,
        server: Server,
        history: History,
        view_state: ViewState,
        checks: Checks,
        notify: Callable[[str, str], Any],
    ) -> None:
        store = server.store
        super().__init__(state="off" if store is None else "empty")
        self.store, self.files, self._server = store, Files(store), server
        self._history, self._view_state, self._notify = history, view_state, notify
        self._checks = checks
        self._kept = SavedHistory(steps=history.steps)
        self._writer: asyncio.Task[None] | None = None
        self._leave_task: asyncio.Task[None] | None = None
        self._behind = False
        # The last page in the store.
        self._page = ""
        # Running work of this page in the store, and the time of the last record.
        self._noted: dict[str, Intent] = {}
        self._noted_at = 0.0
        self._is_over = False
        self._context = contextvars.copy_context()
        if store is not None:
            history.param.watch(self._wake, ["steps", "cursor"])
            view_state.param.watch(self._wake, ["page"])
            checks.param.watch(self._wake, ["held"])
            server.memories.add(self)

    @property
    def _open_store(self) -> Store:
        """The store, where one is certain."""
        assert self.store is not None, "nothing is kept here"
        return self.store

    @property
    def revision(self) -> int:
        """Number of writes of the analysis."""
        return self._kept.revision

    @property
    def title(self) -> str:
        """The name that the analyst gave the analysis, empty without one."""
        return self._kept.title

    @property
    def imported(self) -> bool:
        """Whether the analysis, or its predecessor, was imported."""
        return self._kept.imported

    def _wake(self, *events: Any) -> None:
        """Start the writer, unless the store equals the history."""
        if self.store is None or (self._writer and not self._writer.done()):
            return
        if not (self._is_kept() and self._is_left_here()) or (
            self._behind or self._is_to_note()
        ):
            if not self._is_kept():
                self.state = "saving"
            self._writer = asyncio.get_running_loop().create_task(self._catch_up())

    retry = _wake

    async def settled(self) -> bool:
        """Wait until the history is saved, or cannot be, and closed work is recorded.

        Return whether it is saved.
        """
        while tasks := {
            t for t in (self._writer, self._leave_task) if t and not t.done()
        }:
            await asyncio.wait(tasks)
        return self._is_kept()

    def _is_kept(self) -> bool:
        return self._has_steps() and not newer(self._checks.held, self._kept.checks)

    def _has_steps(self) -> bool:
        kept, history = self._kept, self._history
        return kept.steps == history.steps and kept.cursor == history.cursor

    def _is_left_here(self) -> bool:
        """Return whether a stored analysis would open on the displayed page."""
        return self.analysis is None or self._page == self._view_state.page

    def begin(
        self,
        kind: str,
        title: str,
        given: Mapping[str, Any],
        view_state: Mapping[str, Any] | None = None,
    ) -> str:
        """Record that work is running; return its id, which ends it."""
        intent = Intent(new_id(), kind, title, given, view_state or {})
        self.under_way = (*self.under_way, intent)
        self._wake()
        return intent.id

    def progress(self, kind: str, title: str, done: int, total: int) -> None:
        """Record the progress of an action by kind, or of other work by title."""
        for at, intent in enumerate(self.under_way):
            if intent.kind == kind and (kind or intent.title == title):
                stage = "" if title == intent.title else title
                now = replace(intent, stage=stage, done=done, total=total)
                later = self.under_way[at + 1 :]
                self.under_way = (*self.under_way[:at], now, *later)
                break
        if self.state == "saved":
            self._wake()

    def end(self, intent: str) -> None:
        """Record that work has ended; its result is written at the same time."""
        self.under_way = tuple(i for i in self.under_way if i.id != intent)
        self._wake()

    def _is_to_note(self) -> bool:
        return self.analysis is not None and self._to_note() != ([], set())

    def _to_note(self) -> tuple[list[Intent], set[str]]:
        """Return running work to record, and ids of work that has ended."""
        is_due = time.monotonic() - self._noted_at >= _NOTE_SECONDS
        intents = []
        for intent in self.under_way:
            noted = self._noted.get(intent.id)
            # The first record of any progress is not delayed.
            if noted is None or (noted != intent and (is_due or not noted.total)):
                intents.append(intent)
        return intents, self._noted.keys() - {i.id for i in self.under_way}

    async def _note(self) -> None:
        """Write the running work."""
        (intents, ended), analysis = self._to_note(), self.analysis
        store = self._open_store
        await self._server.in_thread(lambda: store.note(analysis, intents, ended))
        if self._is_over:  # the session has ended meanwhile
            await self._leave([intent.id for intent in intents])
            return
        self._noted_at = time.monotonic()
        self._noted |= {i.id: i for i in intents}
        self._forget(ended)
        if ended:
            self._tell_others()

    def _forget(self, ended: Collection[str]) -> None:
        self._noted = {k: i for k, i in self._noted.items() if k not in ended}

    async def find_work(self) -> None:
        """Find interrupted work, and work that runs elsewhere."""
        store, analysis = self._open_store, self.analysis
        try:
            alive, interrupted = await self._server.in_thread(
                lambda: store.under_way(analysis)
            )
            for intent in interrupted:
                _check(intent)
            self._checks.put(*_stopped(interrupted))
        except _EXPECTED as error:
            self._notify(
                "warning",
                f"What was under way here cannot be read, nor done again: {error}.",
            )
            return
        mine = {*self._noted, *(intent.id for intent in self.under_way)}
        self.param.update(
            interrupted=tuple(interrupted),
            on_other_pages=tuple(intent for intent in alive if intent.id not in mine),
        )

    async def take(self, intent: Intent) -> bool:
        """Claim interrupted work for this page; return False if another page did."""
        store = self._open_store
        is_taken = await self._server.in_thread(lambda: store.take(intent.id))
        self._settle(intent)
        if is_taken:
            self.under_way = (*self.under_way, intent)
            self._noted[intent.id] = intent
        return is_taken

    async def dismiss(self, intent: Intent) -> None:
        """Forget interrupted work."""
        store, analysis = self._open_store, self.analysis
        await self._server.in_thread(lambda: store.note(analysis, (), {intent.id}))
        self._settle(intent)

    def _settle(self, intent: Intent) -> None:
        """Withdraw the offer to repeat interrupted work, on all pages."""
        for memory in list(self._server.memories):
            left = (i for i in memory.interrupted if i.id != intent.id)
            memory.interrupted = tuple(left)

    async def _catch_up(self) -> None:
        while True:
            try:
                if self._behind:
                    self._behind = False
                    await self._follow()
                    if self.analysis is not None:
                        await self.find_work()
                if not self._is_kept():
                    self.state = "saving"
                    await (self._write_checks if self._has_steps() else self._write)()
                elif not self._is_left_here():
                    await self._write_view_state()
                elif self._is_to_note():
                    await self._note()
                elif not self._behind:  # another write may have been reported since
                    break
            except Conflict:
                self._behind = True
            except Exception as error:
                if not isinstance(error, _EXPECTED):
                    _LOG.error("Saving failed", exc_info=error)
                self.param.update(state="failed", problem=_why(error, self.store))
                return
        self.param.update(state="saved", problem="")

    async def _write_view_state(self) -> None:
        """Write the view, for the next time the analysis is opened."""
        analysis, page, view_state = (
            self.analysis,
            self._view_state.page,
            plain_view_state(self._view_state),
        )
        store = self._open_store
        await self._server.in_thread(
            lambda: store.write_view_state(analysis, view_state)
        )
        self._page = page

    async def _write(self) -> None:
        """Write changes that the store lacks, and notify other pages."""
        store, history, view_state = (
            self._open_store,
            self._history,
            plain_view_state(self._view_state),
        )
        page = self._view_state.page
        steps, cursor, kept = history.steps, history.cursor, self._kept
        _, ended = self._to_note()

        def write() -> SavedHistory:
            time.sleep(_DEBOUNCE_SECONDS)  # the end waits for this thread
            return _write(store, kept, steps, cursor, view_state, self.files, ended)

        self._kept = await self._server.in_thread(write)
        self._forget(ended)
        self._page = page
        if self._kept.id != kept.id:
            self.param.update(interrupted=(), on_other_pages=())
        self.param.update(analysis=self._kept.id, saved_at=time.time())
        for key in [key for key in list(self.files) if key in store.contents]:
            self.files.pop(key, None)
        self._tell_others()

    async def _write_checks(self) -> None:
        """Write new checks, and notify the other pages of the analysis."""
        held, kept, store = self._checks.held, self._kept, self._open_store
        new, analysis = newer(held, kept.checks), kept.id
        assert analysis is not None, "an analysis with steps in the store has an id"
        await self._server.in_thread(
            lambda: store.write_checks(analysis, write_checks(new, store.contents))
        )
        self._kept = replace(kept, checks=held)
        self.saved_at = time.time()
        self._tell_others()

    async def _read_checks(self, store: Store, analysis: str) -> None:
        """Load the checks of other pages."""
        kept, held = self._kept, self._checks.held
        stored, _ = await self._server.in_thread(
            lambda: _stored_checks(store, analysis, held)
        )
        self._kept = replace(kept, checks={**kept.checks, **stored})
        self._checks.put(*newer(stored, held))

    def _tell_others(self) -> None:
        """Notify other pages of the analysis of a change."""
        for other in list(self._server.memories):
            if other is not self and other.analysis == self.analysis:
                other.reload_soon()

    def reload_soon(self) -> None:
        """Load the changes of another page, soon, in a task of this page."""
        self._behind = True
        loop = asyncio.get_running_loop()
        loop.call_soon(self._wake, context=self._context)

    async def _follow(self) -> None:
        """Load the changes of others, and apply unsaved steps on top."""
        analysis, store = self._kept.id, self._open_store
        if analysis is None:
            return
        await self._read_checks(store, analysis)
        kept = self._kept
        revision = await self._server.in_thread(lambda: store.revision(analysis))
        if revision == kept.revision:
            return
        try:
            theirs, notes, _ = await self._server.in_thread(
                lambda: read(store, analysis)
            )
        except StoreError:
            raise
        except ValueError:
            # Deleted or damaged: the steps of this page become an analysis of its own.
            self._kept = SavedHistory(title=kept.title, imported=kept.imported)
            return
        mine = self._history.steps
        at = _first_difference(kept.steps, mine)
        steps, lost = theirs.steps[: theirs.cursor + 1], []
        for before, step in zip(mine[at - 1 :], mine[at:], strict=False):
            try:
                made = _on_top(before.analysis, step, steps[-1].analysis, store)
                steps = (*steps, replace(step, analysis=made))
            except ValueError as error:
                lost.append(f"{step.title}: {error}")
        self._kept = theirs
        if len(mine) == at:
            cursor = self._history.cursor
            moved = cursor != kept.cursor
            same = _is_same(mine, theirs.steps)
            in_force = cursor if moved and same else theirs.cursor
            self._history.replace(theirs.steps, in_force)
            if moved and not same:
                self._notify(
                    "info",
                    "Another page went on with this analysis first: its step is in "
                    "force, and what was undone or redone here is not.",
                )
        else:
            self._history.replace(steps, len(steps) - 1)
            self._notify(
                "info",
                "Another page changed this analysis, too; what both did is in force.",
            )
        for text in (*lost, *notes):
            self._notify("warning", text)

    def adopt(self, kept: SavedHistory) -> None:
        """Adopt an analysis that was read from the store as this page's."""
        self._kept, self._page = kept, self._view_state.page
        self.param.update(
            state="saved",
            problem="",
            analysis=kept.id,
            saved_at=time.time(),
            interrupted=(),
            on_other_pages=(),
        )
        self._checks.replace(kept.checks)
        self._history.replace(kept.steps, kept.cursor)

    def forget(self) -> None:
        """Stop saving: the session has ended, with its running work.

        No events are sent, because their receivers may be gone.
        """
        self._server.memories.discard(self)
        self._is_over = True
        left, self._noted = list(self._noted), {}
        with param.discard_events(self):
            self.under_way = ()
        if left and is_serving():  # work of a process that ends counts as interrupted
            loop = asyncio.get_running_loop()
            self._leave_task = loop.create_task(self._leave(left))

    async def _leave(self, ids: Collection[str]) -> None:
        """Mark running work as interrupted, and notify other pages."""
        try:
            store = self._open_store
            await self._server.in_thread(lambda: store.leave(ids))
        except Exception as error:
            _LOG.error("What was interrupted cannot be noted", exc_info=error)
        self._tell_others()


def read(
    store: Store,
    analysis: str,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[SavedHistory, list[str], dict[str, Any]]:
    """Read an analysis; return it with notes on differences, and the view.

    Raises
    ------
    ValueError
        If there is none of this id, or a content is lost or damaged.
    """
    stored = store.read(analysis)
    records = Records(store.contents)
    steps = records.read(stored.rows, progress)
    cursor = min(max(stored.cursor, 0), len(steps) - 1)
    ABOUT(stored.about)
    title, imported = (stored.about.get(name) for name in ("title", "imported"))
    checks, lost = _stored_checks(store, analysis, {})
    kept = SavedHistory(
        *(analysis, stored.revision, steps, cursor, title or "", bool(imported)),
        checks,
    )
    return kept, list(dict.fromkeys([*records.notes, *lost])), dict(stored.view_state)


def _stored_checks(
    store: Store, analysis: str, known: Mapping[str, Check]
) -> tuple[dict[str, Check], list[str]]:
    """Read the checks of an analysis, except complete ones that are known.

    Unreadable checks are left out, with a note.
    """
    rows, n_lost = store.checks(analysis)
    found: dict[str, Check] = {}
    for row in rows:
        if row.key in known and known[row.key].is_whole:
            continue
        try:
            (found[row.key],) = read_checks([row], store.contents)
        except ValueError as error:
            _LOG.warning("Left out: %s", error)
            n_lost += 1
    text = f"{count(n_lost, 'check')} cannot be read and is not shown; measure anew."
    return found, [text] * (n_lost > 0)


def describe(
    kept: SavedHistory, steps: tuple[Step, ...], cursor: int
) -> dict[str, Any]:
    """Return a summary of an analysis for a list, as plain values."""
    analysis = steps[cursor].analysis
    if analysis.table is None:
        found = (s.analysis for s in reversed(steps) if s.analysis.table is not None)
        analysis = next(found, analysis)
    table = analysis.table
    rows, columns = (0, 0) if table is None else table.table.shape
    return {
        "title": kept.title,
        "imported": kept.imported,
        "table": "" if table is None else table.name,
        "rows": rows,
        "columns": columns,
        "runs": len(analysis.runs),
        "segmentations": [one.name for one in analysis.segmentations],
        "links": len(analysis.links),
    }


def _write(
    store: Store,
    kept: SavedHistory,
    steps: tuple[Step, ...],
    cursor: int,
    view_state: dict[str, Any],
    files: Mapping[str, bytes],
    ended: Collection[str],
) -> SavedHistory:
    """Write changes to the stored state; a new table begins a new analysis."""
    first = _first_difference(kept.steps, steps) if kept.id else 0
    if kept.id and _brings_table(steps, first) and _has_table(kept.steps):
        # The analysis of the earlier table stays unchanged; this one continues from it.
        kept, first = SavedHistory(imported=kept.imported), 0
    records, files = Records(store.contents), dict(files)
    rows = [
        records.write(step, steps[k - 1].analysis if k else None, files)
        for k, step in enumerate(steps[first:], first)
    ]
    name = kept.id or new_id()
    about = describe(kept, steps, cursor)
    stored = Stored(name, kept.revision, cursor, (), about, view_state)
    revision = store.write(stored, first, rows, ended)
    checks = kept.checks if kept.id else {}
    return SavedHistory(
        name, revision, steps, cursor, kept.title, kept.imported, checks
    )


def _first_difference(kept: tuple[Step, ...], steps: tuple[Step, ...]) -> int:
    pairs = enumerate(zip(kept, steps, strict=False))
    return next((k for k, (a, b) in pairs if a is not b), min(len(kept), len(steps)))


def _check(intent: Intent) -> None:
    """Refuse a record of running work with an invalid form."""
    choice(*INTENTS)(intent.kind)
    INTENTS[intent.kind](vars(intent))


def _stopped(intents: Iterable[Intent]) -> list[Check]:
    """Return the checks that were interrupted, with their progress."""
    return [
        Check(key, kind, done=intent.done, total=intent.total)
        for intent in intents
        if not intent.kind and "check" in intent.given
        for kind, key in [intent.given["check"]]
    ]


def _brings_table(steps: tuple[Step, ...], first: int) -> bool:
    """Return whether a step from a position on loads a table."""
    return any(
        step.analysis.table is not before.analysis.table
        and step.analysis.table is not None
        for before, step in pairwise(steps[max(first - 1, 0) :])
    )


def _has_table(steps: tuple[Step, ...]) -> bool:
    return any(step.analysis.table is not None for step in steps)


def _is_same(mine: tuple[Step, ...], theirs: tuple[Step, ...]) -> bool:
    """Return whether both end with the same step."""
    ends = {(s[-1].kind, s[-1].at, json.dumps(s[-1].values)) for s in (mine, theirs)}
    return len(mine) == len(theirs) and len(ends) == 1


def _on_top(before: Analysis, step: Step, current: Analysis, store: Store) -> Analysis:
    """Apply a step to another analysis; a slow step keeps its result."""
    action = ACTIONS.get(step.kind)
    if action is None or action.slow:
        if same_table(store.contents, before.table, current.table):
            current = replace(current, table=before.table)
        return merge(before, step.analysis, current)
    return action.apply(current, step.values, None)


def _why(error: BaseException, store: Store | None) -> str:
    """Explain why saving failed, with a remedy."""
    where = store.folder if store else ""
    return (
        f"What you did last is on this page only ({error}). Make room in {where}, or "
        "see that it can be written, then press “try again”; or save the analysis as "
        "a file on the Report page."
    )
