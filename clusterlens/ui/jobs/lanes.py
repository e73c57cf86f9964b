"""Jobs: the work of one browser session in three lanes, and its notices.

Lane `act` runs actions one at a time, in the order of the requests. Lane `live` has one
slot per name: a newer request replaces an older one. Lane `idle` runs while no action
and no drawing is running. Idle work is interrupted by actions, and by idle work of the
visible page if it is of another page; it restarts by itself.

Work runs on threads, except actions that only wait. Results, progress and errors reach
the page only on the server's event loop.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal
from weakref import WeakSet

import param

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute._run.processes import Workers
from clusterlens.compute.formatting import whole
from clusterlens.ui.widgets.words import duration

_POLL_SECONDS = 0.1
# Delay before background work and waiting actions appear on screen.
_SHOWN_AFTER_SECONDS = 0.7
# Minimum interval between partial results of an action.
_PARTIAL_SECONDS = 0.3
_LOG = logging.getLogger(__name__)

Outcome = Callable[[Any, BaseException | None], None]


@dataclass(frozen=True)
class Notice:
    """A message to the analyst: what happened and what to do."""

    severity: Literal["error", "warning", "info", "success"]
    text: str


@dataclass(frozen=True)
class Progress:
    """Progress of the work on screen."""

    title: str
    done: int
    total: int
    seconds: int
    waiting: int = 0
    in_background: bool = False
    unit: str = ""
    kind: str = ""
    waits_its_turn: bool = False
    stage_seconds: float = 0.0

    @property
    def pace(self) -> str:
        """The rate of a stage that counts rows, and how long the rest may take."""
        if self.unit != "rows" or not 0 < self.done < self.total:
            return ""
        rate = self.done / max(self.stage_seconds, 0.1)
        left = duration((self.total - self.done) / rate)
        return f"{whole(rate)} rows/s · {left} left"


@dataclass(eq=False)
class Job:
    """One running piece of work: its progress, and whether it should stop.

    Its methods are called on the thread of the work. `server` owns the resources that
    all sessions share (`ui/server/server.py`). `left` says what a cancelled job has
    kept; empty for nothing.
    """

    title: str
    server: Any = None
    done: int = 0
    total: int = 0
    started: float = field(default_factory=time.monotonic)
    stop: threading.Event = field(default_factory=threading.Event)
    displaced: bool = False
    loop: asyncio.AbstractEventLoop | None = None
    keep: threading.Event = field(default_factory=threading.Event)
    partial: Any = None
    notices: list[Notice] = field(default_factory=list)
    files: Mapping[str, bytes] = field(default_factory=dict)
    unit: str = ""
    kind: str = ""
    waits_since: float | None = None
    left: str = ""
    stage_began: float = field(default_factory=time.monotonic)

    def begin_stage(self, stage: str, unit: str = "") -> None:
        """Begin another stage of the work; its progress is counted in `unit`."""
        self.title, self.done, self.total, self.unit = stage, 0, 0, unit
        self.stage_began = time.monotonic()

    def report(self, done: int, total: int) -> None:
        """Record the progress of the stage."""
        self.done, self.total = done, total

    def tell(self, partial: Any) -> None:
        """Publish a partial result, a frozen value."""
        self.partial = partial

    def cancelled(self) -> bool:
        """Return whether to stop: on request, or if the event loop has ended."""
        is_left = self.loop is not None and not self.loop.is_running()
        return is_left or self.stop.is_set()

    def kept(self) -> bool:
        """Return whether the work should end early with its results so far."""
        return self.keep.is_set()

    def notify(self, severity: Any, text: str) -> None:
        """Add a message that is shown when the work has succeeded."""
        self.notices.append(Notice(severity, text))

    def wait(self, now: bool) -> None:
        """Record whether the job waits because all workers are busy."""
        self.waits_since = time.monotonic() if now else None

    @property
    def workers(self) -> Workers:
        """Worker processes of all sessions, which report when they are busy."""
        return self.server.workers.with_on_wait(self.wait)

    @property
    def kernels(self) -> dict[str, Any]:
        """Arguments of a long computation: shared kernels, progress and cancel."""
        return {
            "executor": self.server.kernels,
            "progress": self.report,
            "cancel": self.cancelled,
        }


@dataclass(eq=False)
class _Request:
    """Work that waits in a slot, with the receiver of its outcome."""

    title: str
    work: Callable[[Job], Any]
    outcome: Outcome
    long: bool = False
    debounce: float = 0.0


class Jobs(param.Parameterized):
    """Scheduler of the work of a session; publishes progress and messages.

    Parameters
    ----------
    server : Server
        Owner of the threads.
    """

    shown = param.ClassSelector(
        class_=Progress, default=None, allow_None=True, doc="The work on screen."
    )
    notices = param.ClassSelector(
        class_=tuple, default=(), doc="Messages, latest last."
    )
    partial = param.Parameter(
        None, doc="Partial result of the running action; None if it publishes none."
    )

    def __init__(self, server: Any) -> None:
        super().__init__()
        self._server = server
        self._action: Job | None = None
        # The session that owns the action shown here; sessions in `followers` show the
        # actions of this session.
        self._leader: Jobs | None = None
        self._notices_before: tuple[Notice, ...] = ()
        self._following: asyncio.Task[None] | None = None
        self.followers: WeakSet[Jobs] = WeakSet()
        self._asked = 0
        self._action_lock = asyncio.Lock()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._drawing: set[str] = set()
        self._drawn = asyncio.Event()
        self._drawn.set()
        self._live: dict[str, Job] = {}
        self._next_live: dict[str, _Request] = {}
        self._idle: dict[str, _Request] = {}
        self._idle_job: tuple[str, Job] | None = None
        self._in_sight: frozenset[str] = frozenset()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._told_at = float("-inf")

    @property
    def busy(self) -> bool:
        """Return whether an action is running or waiting."""
        return self._asked > 0

    @property
    def at_rest(self) -> bool:
        """Return whether no work at all is running."""
        return not (self._asked or self._tasks)

    def at_hand(self, key: str) -> Any:
        """Return the cached result of any session under a key, or None."""
        return self._server.results.peek(key)

    async def act(
        self, title: str, begin: Callable[[], Callable[[Job], Any]], *, kind: str = ""
    ) -> Any | None:
        """Run an action in its turn; return its result, None if it failed.

        Parameters
        ----------
        title : str
            Description for the screen.
        begin : callable
            Called on the event loop when the action's turn comes; returns the work. The
            work is called with the job on a thread, reports progress to it and polls it
            for cancellation. A coroutine function only waits, so it runs on the loop.
        kind : str, default ""
            Kind of the action, for views that show only some kinds.
        """
        self._asked += 1
        self._quiet.clear()
        self._displace_idle()
        seen = self.notices
        try:
            async with self._action_lock:
                if self._closed:
                    return None
                job = self._action = Job(title, self._server, kind=kind)
                try:
                    return await self._carry_out(job, begin(), seen)
                finally:
                    self._action = None
                    self._tell_partial()
        finally:
            self._asked -= 1
            if not self._asked:
                self._quiet.set()
            self._show()

    async def _carry_out(
        self, job: Job, work: Callable[[Job], Any], seen: tuple[Notice, ...]
    ) -> Any | None:
        """Run an action; if it succeeds, remove messages older than its request."""
        title = job.title
        try:
            result = await self._carry_on(self._server.actions, job, work)
        except Cancelled:
            left = job.left or "Nothing was changed."
            self.notify("info", f"Cancelled: {title}. {left}")
        except Exception as error:
            self.fail(title, error)
        else:
            self.notices = tuple(n for n in self.notices if n not in seen)
            for notice in job.notices:
                self.notify(notice.severity, notice.text)
            return None if self._closed else result
        return None

    def live(
        self,
        slot: str,
        title: str,
        work: Callable[[Job], Any],
        outcome: Outcome,
        *,
        long: bool = False,
        debounce: float = 0.0,
    ) -> None:
        """Run work now; a newer request of the same slot replaces an older one.

        `outcome(result, error)` is called on the event loop, also for work that
        finished after a newer request was made.

        Work that may take minutes is `long`, so that it does not occupy the threads for
        pictures. Debounced work begins when no newer request has come for `debounce`
        seconds.
        """
        self._next_live[slot] = _Request(title, work, outcome, long, debounce)
        if slot in self._live:
            self._live[slot].displaced = True
            self._live[slot].stop.set()
        else:
            self._live[slot] = Job(title)
            self._spawn(self._serve_live(slot))

    async def _serve_live(self, slot: str) -> None:
        try:
            while (request := self._next_live.pop(slot, None)) and not self._closed:
                self._draws(slot, not request.long)
                if request.debounce:
                    await asyncio.sleep(request.debounce)
                    if slot in self._next_live:
                        continue
                job = self._live[slot] = Job(request.title, self._server)
                lane = self._server.idle if request.long else self._server.live
                await self._attend(lane, job, request)
        finally:
            del self._live[slot]
            self._draws(slot, False)
            self._show()

    def _draws(self, slot: str, now: bool) -> None:
        """Record whether the screen waits for the work of a slot."""
        (self._drawing.add if now else self._drawing.discard)(slot)
        (self._drawn.clear if self._drawing else self._drawn.set)()

    def idle(
        self,
        slot: str,
        title: str,
        work: Any,
        outcome: Outcome,
        *,
        debounce: float = 0.0,
    ) -> None:
        """Run work while no action runs; actions interrupt it, and it restarts.

        Work that competes with pictures for the processor may wait for `debounce`
        seconds without a newer request.
        """
        self._idle[slot] = _Request(title, work, outcome, debounce=debounce)
        if self._idle_job is None:
            self._idle_job = ("", Job(""))
            self._spawn(self._serve_idle())
        elif self._idle_job[0] == slot:
            self._idle_job[1].displaced = True
            self._idle_job[1].stop.set()

    def attend_to(self, slots: Iterable[str]) -> None:
        """Give precedence to work of the visible slots over other idle work."""
        self._in_sight = frozenset(slots)
        waits = self._in_sight & (self._idle.keys() | self._live.keys())
        if waits and self._idle_job and self._idle_job[0] not in self._in_sight:
            self._displace_idle()

    async def _serve_idle(self) -> None:
        debounced: _Request | None = None
        try:
            while self._idle and not self._closed:
                while not (self._quiet.is_set() and self._drawn.is_set()):
                    await self._quiet.wait()
                    await self._drawn.wait()
                if self._closed:
                    return
                slot = next(
                    (slot for slot in self._idle if slot in self._in_sight),
                    next(iter(self._idle)),
                )
                request = self._idle[slot]
                if request.debounce and debounced is not request:
                    self._idle_job, debounced = ("", Job("")), request
                    await asyncio.sleep(request.debounce)
                    continue
                job = Job(request.title, self._server)
                self._idle_job = (slot, job)
                has_ended = await self._attend(self._server.idle, job, request)
                # Interrupted work restarts, unless a newer request has replaced it.
                if has_ended and self._idle.get(slot) is request:
                    del self._idle[slot]
        finally:
            self._idle_job = None
            self._show()

    async def _attend(
        self, pool: ThreadPoolExecutor, job: Job, request: _Request
    ) -> bool:
        """Run requested work and deliver its outcome; return False if interrupted."""
        try:
            result, error = await self._carry_on(pool, job, request.work), None
        except Exception as raised:
            result, error = None, raised
            expected = isinstance(raised, (Cancelled, ValueError, MemoryError))
            if not expected:
                _LOG.error("%s failed", request.title, exc_info=raised)
        try:
            if self._closed or (error is not None and job.displaced):
                return False
            request.outcome(result, error)
        except Exception as raised:
            self.fail(request.title, raised)
        finally:
            # The traceback refers to this frame, which would keep the session alive.
            del error
        return True

    async def _carry_on(
        self, pool: ThreadPoolExecutor, job: Job, work: Callable[[Job], Any]
    ) -> Any:
        """Run work on a thread, or on the loop if it only waits; show its progress."""
        # A stopping server waits for its threads, so work must see that the loop has
        # ended.
        job.loop = asyncio.get_running_loop()
        future: asyncio.Future[Any]
        if inspect.iscoroutinefunction(work):
            future = job.loop.create_task(work(job))
        else:
            future = job.loop.run_in_executor(pool, work, job)
        while not future.done():
            await asyncio.wait({future}, timeout=_POLL_SECONDS)
            self._show()
            if job is self._action:
                self._tell_partial()
        try:
            return future.result()
        finally:
            # An error refers to this frame, as above.
            del future

    def _spawn(self, coroutine: Any) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _displace_idle(self) -> None:
        if self._idle_job is not None:
            self._idle_job[1].displaced = True
            self._idle_job[1].stop.set()

    def follow(
        self, find: Callable[[], Jobs | None], wanted: Callable[[], bool]
    ) -> None:
        """Show the action of another session, and let the analyst stop it here, too.

        Parameters
        ----------
        find : callable
            Returns the jobs of that session, None if it has none.
        wanted : callable
            Returns whether to go on; meanwhile partial results stay on screen.
        """
        if self._following is None or self._following.done():
            loop = asyncio.get_running_loop()
            self._following = loop.create_task(self._go_along(find, wanted))

    async def _go_along(
        self, find: Callable[[], Jobs | None], wanted: Callable[[], bool]
    ) -> None:
        try:
            while wanted() and not self._closed:
                self._lead(find() or self._leader)
                await asyncio.sleep(_POLL_SECONDS)
        finally:
            self._lead(None)

    def _lead(self, leader: Jobs | None) -> None:
        """Show the action of another session, or only the own action.

        Messages that the other session received meanwhile, such as a cancellation, are
        shown here, too.
        """
        if leader is not self._leader:
            if self._leader is not None:
                self._leader.followers.discard(self)
                for notice in self._leader.notices:
                    if notice not in self._notices_before:
                        self.notify(notice.severity, notice.text)
            if leader is not None:
                leader.followers.add(self)
                self._notices_before = leader.notices
            self._leader = leader
        self._show()
        self._tell_partial()

    @property
    def _acting(self) -> Job | None:
        """The action of this session, or of the session that it follows."""
        if self._action is None and self._leader is not None:
            return self._leader._action
        return self._action

    def _foremost(self) -> Job | None:
        """Return the job on screen: the action, otherwise the longest-running work."""
        if self._acting is not None:
            return self._acting
        jobs = [*self._live.values()]
        if self._idle_job is not None and self._idle_job[0]:
            jobs.append(self._idle_job[1])
        first = min(jobs, key=lambda job: job.started, default=None)
        if first and time.monotonic() - first.started < _SHOWN_AFTER_SECONDS:
            return None
        return first

    def _show(self) -> None:
        """Put the foremost job on screen."""
        if self._closed:
            return
        job = self._foremost()
        if job is None:
            self.shown = None
            return
        action, now, since = job is self._acting, time.monotonic(), job.waits_since
        self.shown = Progress(
            f"Cancelling: {job.title}"
            if job.cancelled() and not job.displaced
            else job.title,
            job.done,
            job.total,
            int(now - job.started),
            max(0, self._asked - 1) if action else 0,
            not action,
            job.unit,
            job.kind,
            since is not None and now - since > _SHOWN_AFTER_SECONDS,
            now - job.stage_began,
        )

    def _tell_partial(self) -> None:
        """Publish the partial result of the action a few times a second."""
        acting, now = self._acting, time.monotonic()
        partial = acting and acting.partial
        if self._closed or partial is self.partial:
            return
        if acting is None and self._leader is not None:
            return  # until its outcome has arrived
        if partial is None or now - self._told_at >= _PARTIAL_SECONDS:
            self._told_at = now
            self.partial = partial

    @property
    def keeping(self) -> bool:
        """Return whether the action should end early with its results so far."""
        return self._acting is not None and self._acting.kept()

    def stop_and_keep(self) -> None:
        """Request that the action ends early with its results so far."""
        if self._acting is not None:
            self._acting.keep.set()

    def cancel(self) -> None:
        """Request that the work on screen stops."""
        job = self._foremost()
        if job is not None:
            job.stop.set()
            self._show()

    def close(self) -> None:
        """Stop all work finally: the session has ended."""
        self._closed = True
        running = [self._action, *self._live.values()]
        for job in (*running, self._idle_job[1] if self._idle_job else None):
            if job is not None:
                job.stop.set()
        self._quiet.set()
        self._drawn.set()
        for follower in tuple(self.followers):
            follower._lead(None)

    def notify(self, severity: Any, text: str) -> None:
        """Add a message for the analyst."""
        if not self._closed:
            notice = Notice(severity, text)
            self.notices = (*(n for n in self.notices if n != notice), notice)

    def dismiss(self, *notices: Notice) -> None:
        """Remove messages from the screen."""
        self.notices = tuple(n for n in self.notices if n not in notices)

    def fail(self, title: str, error: BaseException) -> None:
        """Turn an error into a message; unexpected ones also go to the server's log."""
        self.notify("error", f"{title}: {explain(error)}")
        if not isinstance(error, (ValueError, MemoryError)):
            _LOG.error("%s failed", title, exc_info=error)


def explain(error: BaseException) -> str:
    """Describe an error; expected errors have their own text."""
    if isinstance(error, (ValueError, MemoryError)):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return (
            f"{error.strerror}{where}. Nothing was changed; see that there is room on "
            "the disk and that it can be written, then try again."
        )
    return (
        f"failed unexpectedly ({type(error).__name__}: {error}). Nothing was changed; "
        "try other settings, or report this with the server's log."
    )
