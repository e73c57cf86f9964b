"""Run jobs in worker processes of their own.

What this adds to a plain process pool: a worker that dies, or exceeds the time of its
job, costs the one job it was doing, and is replaced; a cancel frees the cores at once,
in the middle of a job; jobs that together need more memory than there is wait for each
other, and jobs that need others wait for those. Workers do not import
the caller's main module, so that a script needs no `if __name__ == "__main__":`.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
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
    """

    payload: bytes
    n_bytes: float
    needs: tuple[int, ...] = ()
    seconds_limit: float = np.inf


class Workers:
    """Worker processes that wait for the next run of this process; any thread may ask.

    A worker takes seconds to start, most of them imports. One that was ended in the
    middle of a job is not kept. What waits still maps the files of its last job.

    Parameters
    ----------
    n_spare : int
        Most workers that wait.
    """

    def __init__(self, n_spare: int) -> None:
        self.n_spare = n_spare
        self._spare: list[_Worker] = []
        self._lock = threading.Lock()

    @property
    def n_waiting(self) -> int:
        """Number of workers that wait."""
        return len(self._spare)

    @property
    def n_used(self) -> int:
        """Number of those that have done a job."""
        return sum(worker.is_ready for worker in self._spare)

    def start(self, function: Callable[[bytes], Any]) -> None:
        """Start workers for a function until so many wait as may."""
        while len(self._spare) < self.n_spare:
            self.keep(_Worker(function))

    def take(self, function: Callable[[bytes], Any]) -> _Worker:
        """Return a worker that waits, or a new one for the function."""
        while True:
            with self._lock:
                if not self._spare:
                    return _Worker(function)
                worker = self._spare.pop()
            if worker.is_alive:
                return worker
            worker.stop()

    def keep(self, worker: _Worker) -> None:
        """Let a worker without a job wait, or end it where enough do."""
        with self._lock:
            if len(self._spare) < self.n_spare:
                self._spare.append(worker)
                return
        worker.stop()

    def close(self) -> None:
        """End the workers that wait."""
        with self._lock:
            spare, self._spare = self._spare, []
        for worker in spare:
            worker.stop()


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
    while it and the running ones need more than memory_limit bytes. `on_start` hears
    the position of each. The workers end with the iterator,
    except those that `workers` keeps.
    """
    workers = workers or Workers(0)
    waiting, ended = list(range(len(jobs))), set[int]()
    idle: list[_Worker] = []
    busy: dict[Connection[Any, Any], tuple[_Worker, int, float]] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < n_workers:
                raise_if_cancelled(cancel)
                running = [at for _, at, _ in busy.values()]
                at = _next(jobs, waiting, ended, running, memory_limit)
                if at is None:
                    break
                waiting.remove(at)
                worker = idle.pop() if idle else workers.take(function)
                worker.send(function, jobs[at].payload)
                # The clock of a new worker starts when its imports are done.
                limit = jobs[at].seconds_limit if worker.is_ready else np.inf
                busy[worker.connection] = worker, at, time.monotonic() + limit
                if on_start is not None:
                    on_start(at)
            raise_if_cancelled(cancel)
            ready = wait(list(busy), timeout=_POLL_SECONDS)
            for connection, (worker, at, end) in list(busy.items()):
                if connection in ready:
                    result = worker.receive()
                    if isinstance(result, _Ready):
                        end = time.monotonic() + jobs[at].seconds_limit
                        busy[connection] = worker, at, end
                        continue
                elif time.monotonic() > end:
                    worker.stop()
                    limit = jobs[at].seconds_limit
                    result = WorkerDied(f"stopped after its limit of {limit:g} seconds")
                else:
                    continue
                del busy[connection]
                ended.add(at)
                if not isinstance(result, WorkerDied):
                    idle.append(worker)
                yield at, result
    finally:
        for worker, *_ in busy.values():
            worker.stop()
        for worker in idle:
            workers.keep(worker)


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
            self.connection.send_bytes(pickle.dumps((function, payload)))

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
        while True:
            function, payload = connection.recv()
            connection.send(function(payload))
