"""Run jobs in worker processes of their own.

What this adds to a plain process pool: a worker that dies, or exceeds the time of its
job, costs the one job it was doing, and is replaced; a cancel frees the cores at once,
in the middle of a job; jobs that together need more memory than there is wait for each
other, and jobs that need others wait for those; runs that share workers take turns.
Workers do not import the caller's main module, so that a script needs no
`if __name__ == "__main__":`.
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

# Seconds between two looks at the cancel callback while workers are busy.
_POLL_SECONDS = 0.1
# A process told to end gets this long before it is killed.
_PATIENCE_SECONDS = 0.5


class WorkerDied(RuntimeError):
    """The worker process ended in the middle of a job."""


@dataclass(frozen=True)
class WorkerJob:
    """An argument of the function, and what its call needs.

    Parameters
    ----------
    payload : bytes
        The argument.
    n_bytes : float
        Memory that the call needs.
    needs : tuple of int
        Positions of the jobs that must have ended before, whatever became of them.
    seconds_limit : float
        The worker is ended when the call takes longer.
    on_told : callable
        Called with whatever the function gives to `tell_caller`.
    """

    payload: bytes
    n_bytes: float
    needs: tuple[int, ...] = ()
    seconds_limit: float = np.inf
    on_told: Callable[[Any], object] = id


class Workers:
    """Worker processes of this process, so many at most for all runs that use them.

    A worker takes seconds to start, most of them imports, so that it waits for the next
    job, of any run; any thread may ask. Where all are at work, runs take turns job by
    job: the one that has waited longest is next, and no other passes it. A run holds a
    worker for the time of a job only, so that runs never wait for each other in a
    circle. A worker that was ended in the middle of a job is not kept. What waits still
    maps the files of its last job.

    Parameters
    ----------
    n_most : int
        Most workers at one time, those that wait and those at work.
    memory_limit : float, optional
        Bytes that the jobs of all runs may need together; a job that needs more runs
        while no other does. No limit without it.
    """

    on_wait: Callable[[bool], object] | None = None

    def __init__(self, n_most: int, memory_limit: float = np.inf) -> None:
        self.n_most, self.memory_limit = n_most, memory_limit
        self._spare: list[_Worker] = []
        self._at_work: list[float] = []
        self._turns: list[_Turn] = []
        self._lock = threading.Lock()

    def telling(self, on_wait: Callable[[bool], object]) -> Workers:
        """Return the same workers for one who wants to know when a run has to wait.

        Parameters
        ----------
        on_wait : callable
            Called with True when a run has no job at work and no worker is free for
            it, with False when it has one again.
        """
        same = copy(self)
        same.on_wait = on_wait
        return same

    @property
    def n_waiting(self) -> int:
        """Number of workers that wait."""
        return len(self._spare)

    @property
    def n_used(self) -> int:
        """Number of those that have done a job."""
        return sum(worker.is_ready for worker in self._spare)

    def start(self, function: Callable[[bytes], Any]) -> None:
        """Start workers for a function until there are as many as may be."""
        while True:
            with self._lock:
                if len(self._spare) + len(self._at_work) >= self.n_most:
                    return
                self._spare.append(_Worker(function))

    def take(
        self, function: Callable[[bytes], Any], turn: _Turn, n_bytes: float
    ) -> _Worker | None:
        """Return a worker for a job of a run; None where the run has to wait.

        The turn is woken when it may ask again, unless it leaves.
        """
        with self._lock:
            if turn not in self._turns:
                self._turns.append(turn)
            if turn is not self._turns[0] or not self._may_start(n_bytes):
                return None
            del self._turns[0]
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
        """Let a worker whose job has ended wait for the next, if it is whole."""
        if not is_whole:
            worker.stop()
        self._free(n_bytes, *([worker] if is_whole else []))

    def _free(self, n_bytes: float, *spare: _Worker) -> None:
        """Let the next run have the place of a job that has ended."""
        with self._lock:
            self._at_work.remove(n_bytes)
            self._spare.extend(spare)
            self._wake_next()

    def leave(self, turn: _Turn) -> None:
        """Take a run that does not ask for now out of those that wait."""
        with self._lock:
            if turn in self._turns:
                self._turns.remove(turn)
                self._wake_next()

    def close(self) -> None:
        """End the workers that wait."""
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
        if self._turns:
            self._turns[0].wake()


class _Turn:
    """The place of a run among those that wait for a worker."""

    def __init__(self) -> None:
        self.woken, self._waker = Pipe(duplex=False)
        self._is_woken = False

    def wake(self) -> None:
        """Let the run ask again, which waits for `woken` to be ready."""
        if not self._is_woken:
            self._is_woken = True
            self._waker.send_bytes(b"ask")

    def rest(self) -> None:
        """Be ready to be woken again; the run asks next."""
        while self.woken.poll():
            self.woken.recv_bytes()
        self._is_woken = False

    def close(self) -> None:
        """End it."""
        self.woken.close()
        self._waker.close()


def check_workers(workers: Any) -> Workers | None:
    """Return the workers if they are some, or none."""
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
    """Yield (position, result) of each job as it ends; WorkerDied where a worker died.

    Jobs start in the given order, except that one waits for those that it needs, and
    while it and the running ones need more than memory_limit bytes or no worker is
    free. `on_start` hears the position of each. Without `workers` own ones serve, and
    end with the iterator.
    """
    own = Workers(n_workers)
    workers = workers or own
    waiting, ended = list(range(len(jobs))), set[int]()
    turn, waits = _Turn(), False
    busy: dict[Connection[Any, Any], tuple[_Worker, int, float]] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < n_workers:
                raise_if_cancelled(cancel)
                running = [at for _, at, _ in busy.values()]
                at = _next(jobs, waiting, ended, running, memory_limit)
                if at is None:
                    break
                worker = workers.take(function, turn, jobs[at].n_bytes)
                if worker is not None:
                    waiting.remove(at)
                    busy[worker.connection] = worker, at, np.inf
                    # A new worker gets its job, and its clock, when imports are done.
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
            ready = wait([*busy, turn.woken], timeout=_POLL_SECONDS)
            turn.rest()
            for connection, (worker, at, end) in list(busy.items()):
                if connection in ready:
                    result = worker.receive()
                    if isinstance(result, _Ready):
                        end = time.monotonic() + jobs[at].seconds_limit
                        busy[connection] = worker, at, end
                        worker.send(function, jobs[at].payload)
                        continue
                    if isinstance(result, _Told):
                        jobs[at].on_told(result.what)
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
                # Who takes its time with a result holds up no other run.
                workers.leave(turn)
                yield at, result
    finally:
        for worker, at, _ in busy.values():
            workers.give_back(worker, jobs[at].n_bytes, is_whole=False)
        workers.leave(turn)
        turn.close()
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
    """The first answer of a worker: its imports are done."""


@dataclass(frozen=True)
class _Told:
    """A message of a function that is not its result."""

    what: Any


_TELL: ContextVar[Callable[[_Told], object]] = ContextVar("tell", default=id)


def tell_caller(what: Any) -> None:
    """Send something from a worker, in the middle of a job, to the caller."""
    _TELL.get()(_Told(what))


class _Worker:
    """A process that answers jobs with results, one at a time.

    It is ready when it has imported what the function of its first job needs.
    """

    is_ready = False

    def __init__(self, function: Callable[[bytes], Any]) -> None:
        context = get_context("loky")
        self.connection, far_end = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(far_end, function), daemon=True
        )
        self._process.start()
        # The worker holds the only copy now: its death is the end of the file.
        far_end.close()

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.exitcode is None

    def send(self, function: Callable[[bytes], Any], payload: bytes) -> None:
        """Start a job; a worker already dead is noticed when its result is read."""
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
        """End the process now and wait until it is gone."""
        self.connection.close()
        if self._process.exitcode is None:
            self._process.terminate()
            self._process.join(_PATIENCE_SECONDS)
        if self._process.exitcode is None:
            os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()


def _cause(exitcode: int | None) -> str:
    """Say how a worker ended."""
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
