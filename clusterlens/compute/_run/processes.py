"""Run jobs in worker processes of their own.

What this adds to a plain process pool: a worker that dies costs the one job it was
doing, and is replaced; a cancel frees the cores at once, in the middle of a job; jobs
that together need more memory than there is wait for each other. Workers do not import
the caller's main module, so that a script needs no `if __name__ == "__main__":`.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from joblib.externals.loky.backend.context import get_context

from clusterlens.compute._run.options import Cancel, raise_if_cancelled

# Seconds between two looks at the cancel callback while workers are busy.
_POLL_SECONDS = 0.1
# A process told to end gets this long before it is killed.
_PATIENCE_SECONDS = 0.5


class WorkerDied(RuntimeError):
    """The worker process ended in the middle of a job."""


def run_jobs(
    function: Callable[[bytes], Any],
    jobs: Sequence[tuple[bytes, float]],
    *,
    n_workers: int,
    memory_limit: float,
    cancel: Cancel | None = None,
) -> Generator[tuple[int, Any]]:
    """Yield (position, result) of each job as it ends; WorkerDied where a worker died.

    A job is an argument of the function and the bytes of memory its call needs. Jobs
    start in the given order, except that one waits while it and the running ones need
    more than memory_limit bytes. The workers end with the iterator.
    """
    waiting = deque(range(len(jobs)))
    idle: list[_Worker] = []
    busy: dict[Connection[Any, Any], tuple[_Worker, int]] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < n_workers:
                raise_if_cancelled(cancel)
                free = memory_limit - sum(jobs[at][1] for _, at in busy.values())
                at = next((i for i in waiting if jobs[i][1] <= free), None)
                if at is None:
                    if busy:
                        break
                    at = waiting[0]
                waiting.remove(at)
                worker = idle.pop() if idle else _Worker(function)
                worker.send(jobs[at][0])
                busy[worker.connection] = worker, at
            raise_if_cancelled(cancel)
            ready = wait(list(busy), timeout=_POLL_SECONDS)
            for connection in [c for c in busy if c in ready]:
                worker, at = busy[connection]
                result = worker.receive()
                del busy[connection]
                if not isinstance(result, WorkerDied):
                    idle.append(worker)
                yield at, result
    finally:
        for worker in [*idle, *(worker for worker, _ in busy.values())]:
            worker.stop()


class _Worker:
    """A process that answers payloads with results, one at a time."""

    def __init__(self, function: Callable[[bytes], Any]) -> None:
        context = get_context("loky")
        self.connection, far_end = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(far_end, function), daemon=True
        )
        self._process.start()
        # The worker holds the only copy now: its death is the end of the file.
        far_end.close()

    def send(self, payload: bytes) -> None:
        """Start a job; a worker already dead is noticed when its result is read."""
        with suppress(OSError):
            self.connection.send_bytes(payload)

    def receive(self) -> Any:
        """Return the result of the job, or WorkerDied."""
        try:
            return self.connection.recv()
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


def _serve(connection: Connection[Any, Any], function: Callable[[bytes], Any]) -> None:
    """Answer payloads until the caller closes its end."""
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            connection.send(function(connection.recv_bytes()))
