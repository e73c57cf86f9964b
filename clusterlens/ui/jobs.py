"""Background work of one browser session: progress, cancel, notices.

This is the one place where threads are started for a session and where errors become
notices. Work runs on a thread; its numbers are read by a coroutine on the server's
event loop, so that parameters change only there. Kernels of all sessions share one
executor and so take turns.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

import param

from clusterlens.compute._run.options import Cancelled

KERNELS = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="kernel")
_WORKERS = ThreadPoolExecutor(16, thread_name_prefix="job")
_POLL_SECONDS = 0.1
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Notice:
    """A message to the analyst: what happened and what to do."""

    severity: Literal["error", "warning", "info", "success"]
    text: str


@dataclass
class Job:
    """One piece of work under way: what it has done, and whether it should stop."""

    title: str
    gives_way: bool = False
    displaced: bool = False
    done: int = 0
    total: int = 0
    started: float = field(default_factory=time.monotonic)
    stop: threading.Event = field(default_factory=threading.Event)

    def enter(self, stage: str) -> None:
        """Begin another stage of the work (called on its thread)."""
        self.title, self.done, self.total = stage, 0, 0

    def report(self, done: int, total: int) -> None:
        """Take the progress of the stage (called on its thread)."""
        self.done, self.total = done, total

    def cancelled(self) -> bool:
        """Whether the work should stop (called on its thread)."""
        return self.stop.is_set()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started


class Jobs(param.Parameterized):
    """Runs one job at a time for a session and says how it goes."""

    busy = param.Boolean(False, doc="Whether a job is under way.")
    title = param.String("", doc="What is being done.")
    done = param.Integer(0, doc="Finished steps.")
    total = param.Integer(0, doc="All steps; 0 when not known.")
    seconds = param.Number(0.0, doc="Seconds since the start of the job.")
    notices = param.ClassSelector(
        class_=tuple, default=(), doc="Messages, latest last."
    )

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._job: Job | None = None
        self._closed = False
        self.displaced = False

    async def run(
        self, title: str, work: Callable[[Job], Any], *, gives_way: bool = False
    ) -> Any | None:
        """Do work on a thread; return its result, None if it failed or was cancelled.

        Parameters
        ----------
        title : str
            What is being done, for the screen.
        work : callable
            Called with the job on a thread of the server; it reports progress to it
            and asks it whether to stop.
        gives_way : bool, default False
            Whether another job may end this one, as its result can be had again later.
        """
        while self._job is not None and self._job.gives_way:
            self._job.displaced = True
            self._job.stop.set()
            await asyncio.sleep(_POLL_SECONDS)
        if self.busy:
            self.notify("warning", f"Still busy: {self.title}. Cancel it or wait.")
            return None
        job = self._job = Job(title, gives_way)
        self.param.update(busy=True, title=title, done=0, total=0, seconds=0.0)
        future = asyncio.get_running_loop().run_in_executor(_WORKERS, work, job)
        try:
            while not future.done():
                await asyncio.wait({future}, timeout=_POLL_SECONDS)
                if not self._closed:
                    self._show(job)
            return future.result()
        except Cancelled:
            if not (job.displaced or self._closed):
                self.notify("info", f"Cancelled: {title}. Nothing was changed.")
        except Exception as error:
            self.fail(title, error)
        finally:
            self._job = None
            self.displaced = job.displaced
            if not self._closed:
                self.busy = False
        return None

    def _show(self, job: Job) -> None:
        """Copy the numbers of the job into the parameters."""
        title = f"Cancelling: {job.title}" if job.cancelled() else job.title
        self.param.update(
            title=title, done=job.done, total=job.total, seconds=job.seconds
        )

    def cancel(self) -> None:
        """Ask the job under way to stop."""
        if self._job is not None:
            self._job.stop.set()
            self._show(self._job)

    def close(self) -> None:
        """Stop the job for good: the browser has gone, nothing is shown any more."""
        self._closed = True
        if self._job is not None:
            self._job.stop.set()

    def notify(self, severity: str, text: str) -> None:
        """Add a message for the analyst."""
        notice = Notice(severity, text)
        self.notices = (*(n for n in self.notices if n != notice), notice)

    def dismiss(self, notice: Notice) -> None:
        """Take a message off the screen."""
        self.notices = tuple(n for n in self.notices if n != notice)

    def fail(self, title: str, error: Exception) -> None:
        """Turn an error into a message; unexpected ones also go to the server's log."""
        if isinstance(error, (ValueError, MemoryError)):
            self.notify("error", f"{title}: {error}")
            return
        _LOG.error("%s failed", title, exc_info=error)
        self.notify(
            "error",
            f"{title} failed unexpectedly ({type(error).__name__}: {error}). Nothing "
            "was changed; try other settings, or report this with the server's log.",
        )
