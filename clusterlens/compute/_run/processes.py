"""Run jobs in worker processes.

In addition to a plain process pool: a worker that dies, or exceeds the time of its job,
loses only that job and is replaced; a cancel frees the cores at once, even in the
middle of a job; jobs wait if they would together need too much memory, or need other
jobs; runs that share workers are scheduled fairly. Workers do not import the caller's
main module, so a script needs no `if __name__ == "__main__":`.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np
from joblib.externals.loky.backend.context import get_context

from clusterlens.compute._run.options import Cancel, raise_if_cancelled

# Seconds between two calls of the cancel callback while workers are busy.
_POLL_SECONDS = 0.1
# Seconds between the request to end and the killing of a process.
_PATIENCE_SECONDS = 0.5


class WorkerDied(RuntimeError):
    """The worker process ended in the middle of a job."""


@dataclass(frozen=True)
class WorkerJob:
    """An argument of the function, with the needs of its call.

    Parameters
    ----------
    payload : bytes
        The argument.
    n_bytes : float
        Memory of the call.
    needs : tuple of int
        Positions of the jobs that must have ended before, whatever their outcome.
    seconds_limit : float
        A longer call is stopped, with its worker.
    on_message : callable
        Called with every value that the function passes to `tell_caller`.
    """

    payload: bytes
    n_bytes: float
    needs: tuple[int, ...] = ()
    seconds_limit: float = np.inf
    on_message: Callable[[Any], object] = id


class Workers:
    """Worker processes, with a common limit for all runs that use them.

    A worker takes seconds to start, mostly for imports, so it stays for the next job of
    any run; any thread may request one. If all are busy, runs take turns job by job:
    the run that has waited longest is next, and no other passes it. A run holds a
    worker for one job only, so runs never wait for each other in a cycle. A worker
    stopped in the middle of a job is not reused. A waiting worker still maps the files
    of its last job.

    Parameters
    ----------
    n_most : int
        Largest number of workers at a time, waiting or busy.
    memory_limit : float, optional
        Limit of the bytes of the jobs of all runs together; a job that needs more runs
        alone. No limit by default.
    """

    on_wait: Callable[[bool], object] | None = None

    def __init__(self, n_most: int, memory_limit: float = np.inf) -> None:
        self.n_most, self.memory_limit = n_most, memory_limit
        self._spare: list[_Worker] = []
        self._at_work: list[float] = []
        self._queue: list[_QueuePlace] = []
        self._lock = threading.Lock()

    def with_on_wait(self, on_wait: Callable[[bool], object]) -> Workers:
        """Return the same workers, with a callback for a run that must wait.

        Parameters
        ----------
        on_wait : callable
            Called with True when a run has no running job and no worker is free for it,
            with False when it has one again.
        """
        same = copy(self)
        same.on_wait = on_wait
        return same

    @property
    def n_waiting(self) -> int:
        """Number of waiting workers."""
        return len(self._spare)

    @property
    def n_used(self) -> int:
        """Number of workers that have done a job."""
        return sum(worker.is_ready for worker in self._spare)

    def start(self, function: Callable[[bytes], Any]) -> None:
        """Start workers for a function up to the largest number."""
        while True:
            with self._lock:
                if len(self._spare) + len(self._at_work) >= self.n_most:
                    return
                self._spare.append(_Worker(function))

    def take(
        self, function: Callable[[bytes], Any], place: _QueuePlace, n_bytes: float
    ) -> _Worker | None:
        """Return a worker for a job of a run; None if the run must wait.

        The place in the queue is woken when the run may ask again, unless it leaves.
        """
        with self._lock:
            if place not in self._queue:
                self._queue.append(place)
            if place is not self._queue[0] or not self._may_start(n_bytes):
                return None
            del self._queue[0]
            self._at_work.append(n_bytes)
            worker = self._spare.pop() if self._spare else None
            self._wake_next()
        if worker is not None:
            if worker.is_alive:
                return worker
            worker.stop()
        try:
            return _Worker(function)
        except BaseException:
            self._free(n_bytes)
            raise

    def give_back(self, worker: _Worker, n_bytes: float, is_whole: bool) -> None:
        """Keep a worker after its job for the next one, if it is still usable."""
        if not is_whole:
            worker.stop()
        self._free(n_bytes, *([worker] if is_whole else []))

    def _free(self, n_bytes: float, *spare: _Worker) -> None:
        """Give the resources of a finished job to the next run."""
        with self._lock:
            self._at_work.remove(n_bytes)
            self._spare.extend(spare)
            self._wake_next()

    def leave(self, place: _QueuePlace) -> None:
        """Remove a run from the queue while it does not ask for workers."""
        with self._lock:
            if place in self._queue:
                self._queue.remove(place)
                self._wake_next()

    def close(self) -> None:
        """Stop the waiting workers."""
        with self._lock:
            spare = self._spare[:]
            self._spare.clear()
        for worker in spare:
            worker.stop()

    def _may_start(self, n_bytes: float) -> bool:
        if not self._at_work:
            return True
        enough = sum(self._at_work) + n_bytes <= self.memory_limit
        return enough and len(self._at_work) < self.n_most

    def _wake_next(self) -> None:
        if self._queue:
            self._queue[0].wake()


class _QueuePlace:
    """The place of a run in the queue for workers."""

    def __init__(self) -> None:
        self.woken, self._waker = Pipe(duplex=False)
        self._is_woken = False

    def wake(self) -> None:
        """Let the run ask again, which waits for `woken` to be ready."""
        if not self._is_woken:
            self._is_woken = True
            self._waker.send_bytes(b"ask")

    def reset(self) -> None:
        """Reset the place so that it can be woken again; the run asks next."""
        while self.woken.poll():
            self.woken.recv_bytes()
        self._is_woken = False

    def close(self) -> None:
        """Close it."""
        self.woken.close()
        self._waker.close()


def check_workers(workers: Any) -> Workers | None:
    """Return the workers, after checking their type, or None."""
    if not isinstance(workers, Workers | None):
        raise ValueError(f"workers is {workers!r:.60}; give Workers or None.")
    return workers


def run_jobs(
    function: Callable[[bytes], Any],
    jobs: Sequence[WorkerJob],
    *,
    n_workers: int,
    memory_limit: float,
    cancel: Cancel | None = None,
    on_start: Callable[[int], object] | None = None,
    workers: Workers | None = None,
) -> Generator[tuple[int, Any]]:
    """Yield (position, result) of each job as it ends; WorkerDied if a worker died.

    Jobs start in the given order, except that a job waits for its needs, for memory
    (memory_limit) and for a free worker. `on_start` gets the position of each. Without
    `workers`, new ones serve, and end with the iterator.
    """
    own = Workers(n_workers)
    workers = workers or own
    waiting, ended = list(range(len(jobs))), set[int]()
    place, waits = _QueuePlace(), False
    busy: dict[Connection[Any, Any], tuple[_Worker, int, float]] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < n_workers:
                raise_if_cancelled(cancel)
                running = [at for _, at, _ in busy.values()]
                at = _next(jobs, waiting, ended, running, memory_limit)
                if at is None:
                    break
                worker = workers.take(function, place, jobs[at].n_bytes)
                if worker is not None:
                    waiting.remove(at)
                    busy[worker.connection] = worker, at, np.inf
                    # A new worker gets its job, and its time limit, when imports are
                    # done.
                    if worker.is_ready:
                        end = time.monotonic() + jobs[at].seconds_limit
                        busy[worker.connection] = worker, at, end
                        worker.send(function, jobs[at].payload)
                if waits is bool(busy):
                    waits = not waits
                    if workers.on_wait is not None:
                        workers.on_wait(waits)
                if worker is None:
                    break
                if on_start is not None:
                    on_start(at)
            raise_if_cancelled(cancel)
            ready = wait([*busy, place.woken], timeout=_POLL_SECONDS)
            place.reset()
            for connection, (worker, at, end) in list(busy.items()):
                if connection in ready:
                    result = worker.receive()
                    if isinstance(result, _Ready):
                        end = time.monotonic() + jobs[at].seconds_limit
                        busy[connection] = worker, at, end
                        worker.send(function, jobs[at].payload)
                        continue
                    if isinstance(result, _Message):
                        jobs[at].on_message(result.what)
                        continue
                elif time.monotonic() > end:
                    limit = jobs[at].seconds_limit
                    result = WorkerDied(f"stopped after its limit of {limit:g} seconds")
                else:
                    continue
                del busy[connection]
                ended.add(at)
                is_whole = not isinstance(result, WorkerDied)
                workers.give_back(worker, jobs[at].n_bytes, is_whole)
                # A caller that handles a result slowly does not delay other runs.
                workers.leave(place)
                yield at, result
    finally:
        for worker, at, _ in busy.values():
            workers.give_back(worker, jobs[at].n_bytes, is_whole=False)
        workers.leave(place)
        place.close()
        own.close()


def _next(
    jobs: Sequence[WorkerJob],
    waiting: list[int],
    ended: set[int],
    running: list[int],
    memory_limit: float,
) -> int | None:
    """Return the first job that may start now, if any."""
    free = memory_limit - sum(jobs[at].n_bytes for at in running)
    may = [at for at in waiting if ended.issuperset(jobs[at].needs)]
    if may and not running:
        return next((at for at in may if jobs[at].n_bytes <= free), may[0])
    return next((at for at in may if jobs[at].n_bytes <= free), None)


class _Ready:
    """First message of a worker: its imports are done."""


@dataclass(frozen=True)
class _Message:
    """A message of a function before its result."""

    what: Any


_TELL: ContextVar[Callable[[_Message], object]] = ContextVar("tell", default=id)


def tell_caller(what: Any) -> None:
    """Send a value from a worker to the caller, in the middle of a job."""
    _TELL.get()(_Message(what))


class _Worker:
    """A process that answers jobs with results, one at a time.

    It is ready when it has imported the modules that its first job needs.
    """

    is_ready = False

    def __init__(self, function: Callable[[bytes], Any]) -> None:
        context = get_context("loky")
        self.connection, far_end = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(far_end, function), daemon=True
        )
        self._process.start()
        # The worker now holds the only copy: the end of the file is its death.
        far_end.close()

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.exitcode is None

    def send(self, function: Callable[[bytes], Any], payload: bytes) -> None:
        """Start a job; a dead worker is noticed when its result is read."""
        with suppress(OSError):
            self.connection.send(function)
            self.connection.send_bytes(payload)

    def receive(self) -> Any:
        """Return the result of the job, or WorkerDied."""
        try:
            result = self.connection.recv()
            self.is_ready = True
            return result
        except (EOFError, OSError):
            self._process.join(_PATIENCE_SECONDS)
            self.stop()
            return WorkerDied(_cause(self._process.exitcode))

    def stop(self) -> None:
        """Stop the process now and wait for its end."""
        self.connection.close()
        if self._process.exitcode is None:
            self._process.terminate()
            self._process.join(_PATIENCE_SECONDS)
        if self._process.exitcode is None:
            os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()


def _cause(exitcode: int | None) -> str:
    """Describe how a worker ended."""
    if exitcode is not None and exitcode < 0:
        name = signal.strsignal(-exitcode) or "unknown"
        hint = ", perhaps for want of memory" if -exitcode == signal.SIGKILL else ""
        return f"its worker process was ended by signal {-exitcode} ({name}){hint}"
    return f"its worker process ended with code {exitcode}"


def _serve(connection: Connection[Any, Any], first: Callable[[bytes], Any]) -> None:
    """Answer jobs until the caller closes its end; `first` came with its imports."""
    with suppress(EOFError, OSError, KeyboardInterrupt):
        connection.send(_Ready())
        _TELL.set(connection.send)
        while True:
            function = connection.recv()
            connection.send(function(connection.recv_bytes()))
