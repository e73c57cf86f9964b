"""Jobs: the work of one browser session in three lanes, and its notices.

`act` does actions, one at a time in the order asked for. `live` has one slot per name:
a newer wish takes the place of an older one. `idle` begins when neither an action nor
anything for the screen is under way; it stops for actions, and for what a page in sight
waits for if none does for it, and begins again by itself.
Work runs on threads, but for actions that only wait; results, progress
and errors reach the page on the server's event loop only.
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

_POLL_SECONDS = 0.1
# Work in the background, and what waits its turn, is told of when it takes longer.
_SHOWN_AFTER_SECONDS = 0.7
# What an action has so far is told of at most this often.
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
    """How far the work on screen is."""

    title: str
    done: int
    total: int
    seconds: int
    waiting: int = 0
    in_background: bool = False
    unit: str = ""
    kind: str = ""
    waits_its_turn: bool = False


@dataclass(eq=False)
class Job:
    """One piece of work under way: what it has done, and whether it should stop.

    Its methods are called on the thread of the work. `server` has what all sessions
    share (`ui/server/server.py`).
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

    def enter(self, stage: str, unit: str = "") -> None:
        """Begin another stage of the work, whose progress is told in a unit."""
        self.title, self.done, self.total, self.unit = stage, 0, 0, unit

    def report(self, done: int, total: int) -> None:
        """Take the progress of the stage."""
        self.done, self.total = done, total

    def tell(self, partial: Any) -> None:
        """Show what there is so far, a frozen value."""
        self.partial = partial

    def cancelled(self) -> bool:
        """Whether the work should stop: asked to, or nobody is left to take it."""
        is_left = self.loop is not None and not self.loop.is_running()
        return is_left or self.stop.is_set()

    def kept(self) -> bool:
        """Whether the work should end early with what it has."""
        return self.keep.is_set()

    def notify(self, severity: Any, text: str) -> None:
        """Tell the analyst something when the work has ended well."""
        self.notices.append(Notice(severity, text))

    def wait(self, now: bool) -> None:
        """Take note that all workers are at work for others, or no longer."""
        self.waits_since = time.monotonic() if now else None

    @property
    def workers(self) -> Workers:
        """The worker processes of all sessions, which tell when they are not free."""
        return self.server.workers.telling(self.wait)

    @property
    def kernels(self) -> dict[str, Any]:
        """Keywords of a long computation: shared kernels, progress and cancel."""
        return {
            "executor": self.server.kernels,
            "progress": self.report,
            "cancel": self.cancelled,
        }


@dataclass(eq=False)
class _Wish:
    """Work that waits in a slot, and who wants its outcome."""

    title: str
    work: Callable[[Job], Any]
    outcome: Outcome
    long: bool = False
    rests: float = 0.0


class Jobs(param.Parameterized):
    """Runs the work of a session and says how it goes.

    Parameters
    ----------
    server : Server
        Has the threads that it runs on.
    """

    shown = param.ClassSelector(
        class_=Progress, default=None, allow_None=True, doc="The work on screen."
    )
    notices = param.ClassSelector(
        class_=tuple, default=(), doc="Messages, latest last."
    )
    partial = param.Parameter(
        None, doc="What the action under way has so far; None where it does not say."
    )

    def __init__(self, server: Any) -> None:
        super().__init__()
        self._server = server
        self._action: Job | None = None
        # Whose action is shown here, and where that of this session is shown.
        self._leader: Jobs | None = None
        self._heard: tuple[Notice, ...] = ()
        self._following: asyncio.Task[None] | None = None
        self.followers: WeakSet[Jobs] = WeakSet()
        self._asked = 0
        self._turn = asyncio.Lock()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._drawing: set[str] = set()
        self._drawn = asyncio.Event()
        self._drawn.set()
        self._live: dict[str, Job] = {}
        self._next_live: dict[str, _Wish] = {}
        self._idle: dict[str, _Wish] = {}
        self._idle_job: tuple[str, Job] | None = None
        self._in_sight: frozenset[str] = frozenset()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._told_at = float("-inf")

    @property
    def busy(self) -> bool:
        """Whether an action is under way or waits for its turn."""
        return self._asked > 0

    @property
    def at_rest(self) -> bool:
        """Whether nothing at all is under way."""
        return not (self._asked or self._tasks)

    def at_hand(self, key: str) -> Any:
        """Return what another session found under a key; None if none did."""
        return self._server.results.peek(key)

    async def act(
        self, title: str, begin: Callable[[], Callable[[Job], Any]], *, kind: str = ""
    ) -> Any | None:
        """Do an action in its turn; return its result, None if it did not end well.

        Parameters
        ----------
        title : str
            What is being done, for the screen.
        begin : callable
            Called on the event loop when its turn has come; returns the work, which is
            called with the job on a thread, reports to it and asks whether to stop. A
            coroutine function stays on the loop: it only waits and takes no thread.
        kind : str, default ""
            What kind of action it is, for those who show only some.
        """
        self._asked += 1
        self._quiet.clear()
        self._displace_idle()
        seen = self.notices
        try:
            async with self._turn:
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
        """Do an action; once it is done, what was said before it was asked for goes."""
        title = job.title
        try:
            result = await self._carry_on(self._server.actions, job, work)
        except Cancelled:
            self.notify("info", f"Cancelled: {title}. Nothing was changed.")
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
        rests: float = 0.0,
    ) -> None:
        """Do work now; a newer wish of the same slot takes the place of an older one.

        `outcome(result, error)` is called on the event loop, also for work that ended
        although a newer wish had come.
        What may take minutes is `long`: it must not take the threads of pictures. What
        may wait begins when no newer wish has come for `rests` seconds.
        """
        self._next_live[slot] = _Wish(title, work, outcome, long, rests)
        if slot in self._live:
            self._live[slot].displaced = True
            self._live[slot].stop.set()
        else:
            self._live[slot] = Job(title)
            self._spawn(self._serve_live(slot))

    async def _serve_live(self, slot: str) -> None:
        try:
            while (wish := self._next_live.pop(slot, None)) and not self._closed:
                self._draws(slot, not wish.long)
                if wish.rests:
                    await asyncio.sleep(wish.rests)
                    if slot in self._next_live:
                        continue
                job = self._live[slot] = Job(wish.title, self._server)
                lane = self._server.idle if wish.long else self._server.live
                await self._attend(lane, job, wish)
        finally:
            del self._live[slot]
            self._draws(slot, False)
            self._show()

    def _draws(self, slot: str, now: bool) -> None:
        """Note whether the work of a slot is what the screen waits for."""
        (self._drawing.add if now else self._drawing.discard)(slot)
        (self._drawn.clear if self._drawing else self._drawn.set)()

    def idle(
        self, slot: str, title: str, work: Any, outcome: Outcome, *, rests: float = 0.0
    ) -> None:
        """Do work while no action is under way; it stops for them and begins again.

        What takes the processor from pictures may wait for `rests` seconds.
        """
        self._idle[slot] = _Wish(title, work, outcome, rests=rests)
        if self._idle_job is None:
            self._idle_job = ("", Job(""))
            self._spawn(self._serve_idle())
        elif self._idle_job[0] == slot:
            self._idle_job[1].displaced = True
            self._idle_job[1].stop.set()

    def attend_to(self, slots: Iterable[str]) -> None:
        """Let work of other slots than those in sight give way to work of these."""
        self._in_sight = frozenset(slots)
        waits = self._in_sight & (self._idle.keys() | self._live.keys())
        if waits and self._idle_job and self._idle_job[0] not in self._in_sight:
            self._displace_idle()

    async def _serve_idle(self) -> None:
        rested: _Wish | None = None
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
                wish = self._idle[slot]
                if wish.rests and rested is not wish:
                    self._idle_job, rested = ("", Job("")), wish
                    await asyncio.sleep(wish.rests)
                    continue
                job = Job(wish.title, self._server)
                self._idle_job = (slot, job)
                has_ended = await self._attend(self._server.idle, job, wish)
                # What gave way begins again; a newer wish of the slot has replaced it.
                if has_ended and self._idle.get(slot) is wish:
                    del self._idle[slot]
        finally:
            self._idle_job = None
            self._show()

    async def _attend(self, pool: ThreadPoolExecutor, job: Job, wish: _Wish) -> bool:
        """Do the work of a wish and hand its outcome on; False where it gave way."""
        try:
            result, error = await self._carry_on(pool, job, wish.work), None
        except Exception as raised:
            result, error = None, raised
            expected = isinstance(raised, (Cancelled, ValueError, MemoryError))
            if not expected:
                _LOG.error("%s failed", wish.title, exc_info=raised)
        try:
            if self._closed or (error is not None and job.displaced):
                return False
            wish.outcome(result, error)
        except Exception as raised:
            self.fail(wish.title, raised)
        finally:
            # Its traceback holds this frame, which would hold it, and so the session.
            del error
        return True

    async def _carry_on(
        self, pool: ThreadPoolExecutor, job: Job, work: Callable[[Job], Any]
    ) -> Any:
        """Run work on a thread, or on the loop if it only waits; show how it goes."""
        # A server that is told to end waits for its threads, so that they must, too.
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
            # An error in it holds this frame, as above.
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
        """Show the action of another session, and let it be stopped here, too.

        Parameters
        ----------
        find : callable
            Returns the work of that session, None where there is none, or no longer.
        wanted : callable
            Whether it is still waited for; then what it had so far stays on screen.
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
        """Show the action of another session, or none but one's own.

        What that session was told meanwhile, as that it was cancelled, is told here.
        """
        if leader is not self._leader:
            if self._leader is not None:
                self._leader.followers.discard(self)
                for notice in self._leader.notices:
                    if notice not in self._heard:
                        self.notify(notice.severity, notice.text)
            if leader is not None:
                leader.followers.add(self)
                self._heard = leader.notices
            self._leader = leader
        self._show()
        self._tell_partial()

    @property
    def _acting(self) -> Job | None:
        """The action of this session, or of the one that it follows."""
        if self._action is None and self._leader is not None:
            return self._leader._action
        return self._action

    def _foremost(self) -> Job | None:
        """The job on screen: the action, else what has been under way for longest."""
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
        )

    def _tell_partial(self) -> None:
        """Tell what the action has so far, a few times a second."""
        acting, now = self._acting, time.monotonic()
        partial = acting and acting.partial
        if self._closed or partial is self.partial:
            return
        if acting is None and self._leader is not None:
            return  # until what came of it is here
        if partial is None or now - self._told_at >= _PARTIAL_SECONDS:
            self._told_at = now
            self.partial = partial

    @property
    def keeping(self) -> bool:
        """Whether the action was asked to end early with what it has."""
        return self._acting is not None and self._acting.kept()

    def stop_and_keep(self) -> None:
        """Ask the action to end early with what it has."""
        if self._acting is not None:
            self._acting.keep.set()

    def cancel(self) -> None:
        """Ask the work on screen to stop."""
        job = self._foremost()
        if job is not None:
            job.stop.set()
            self._show()

    def close(self) -> None:
        """Stop everything for good: the session has ended, nothing is shown now."""
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
        """Take messages off the screen."""
        self.notices = tuple(n for n in self.notices if n not in notices)

    def fail(self, title: str, error: BaseException) -> None:
        """Turn an error into a message; unexpected ones also go to the server's log."""
        self.notify("error", f"{title}: {explain(error)}")
        if not isinstance(error, (ValueError, MemoryError)):
            _LOG.error("%s failed", title, exc_info=error)


def explain(error: BaseException) -> str:
    """Say what went wrong: expected errors speak for themselves."""
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
