"""Cluster: jobs on the workers of a Dask cluster.

Data that all jobs share (codes, features) are sent to every worker once. Few jobs wait
at a time and results are taken as they arrive, so that neither this process nor the
scheduler holds many of them. A job on a worker that dies runs again on another one; the
data are sent again if their last copy is lost with it.

Jobs are submitted as futures, not through joblib's Dask backend. That backend waits for
ever for a job with dead workers, cannot be cancelled between two results, and lets the
parallel parts of a fit spread over the cluster, so that fits differ from those of one
thread. Dask sends functions, data and results by pickle: connect only to schedulers and
networks that you trust like this process. The app itself never uses a cluster.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import closing, contextmanager
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from clusterlens.compute._run.options import Cancel, RunOptions, raise_if_cancelled
from clusterlens.compute._run.processes import WorkerDied

if TYPE_CHECKING:
    from distributed import Client

# Methods of Dask's classes have types for asynchronous use too, which is not needed
# here.
_Client = Any
_Future = Any

_CONNECT_SECONDS = 10
# Longest time without workers, for instance while one restarts.
_PATIENCE_SECONDS = 60
# Seconds between two calls of the cancel callback while workers are busy.
_POLL_SECONDS = 0.1
# Largest number of restarts of a job after its data were lost with the workers, and of
# deaths of workers while the data are sent.
_MAX_LOSSES = 3
# Equal results need equal versions of these packages.
_SAME_VERSIONS = ("clusterlens", "numpy", "scipy", "scikit-learn", "numba")


def run_on_workers(
    function: Callable[[Any, Any], Any],
    shared: object,
    jobs: Sequence[Any],
    run: RunOptions,
    *,
    one_per_worker: bool = False,
) -> Generator[tuple[int, Any]]:
    """Yield (position, result) of function(shared, job) for each job as it ends.

    WorkerDied is the result of a job that killed as many workers as the scheduler
    allows; exceptions of the function are raised. Jobs start in the given order, as
    many at a time as there are workers, or else twice as many as there are threads.
    """
    with _connected(run.client) as connection:
        _check_versions(connection)
        work = _Run(connection, function, shared, jobs, one_per_worker)
        with closing(work.results(run.cancel)) as results:
            yield from results


class _Run:
    """Jobs of a run: waiting here, or running as futures."""

    def __init__(
        self,
        client: _Client,
        function: Callable[[Any, Any], Any],
        shared: object,
        jobs: Sequence[Any],
        one_per_worker: bool,
    ) -> None:
        self.client, self.function, self.shared = client, function, shared
        self.jobs, self.one_per_worker = jobs, one_per_worker
        self.data: _Future = None
        self.waiting = deque(range(len(jobs)))
        self.running: dict[_Future, int] = {}
        self.ended: SimpleQueue[_Future] = SimpleQueue()
        self.losses: Counter[int] = Counter()
        self.failed_sends = 0

    def results(self, cancel: Cancel | None) -> Generator[tuple[int, Any]]:
        """Yield (position, result) until all jobs have ended; cancel the others."""
        try:
            while self.waiting or self.running:
                self._fill(_worker_threads(self.client, cancel))
                try:
                    future = self.ended.get(timeout=_POLL_SECONDS)
                except Empty:
                    continue
                at = self.running.pop(future)
                result = self._result(future, at)
                if result is not None:
                    yield at, result
        finally:
            self.client.cancel([*self.running, *filter(None, [self.data])])

    def _fill(self, threads: list[int]) -> None:
        """Start the next jobs, as many as fit on the workers."""
        free = len(threads) if self.one_per_worker else 2 * sum(threads)
        while self.waiting and self._may_start(free) and self._has_sent():
            at = self.waiting.popleft()
            future = self.client.submit(
                self.function, self.data, self.jobs[at], pure=False
            )
            future.add_done_callback(self.ended.put)
            self.running[future] = at

    def _may_start(self, free: int) -> bool:
        """Whether the next job may start; a job that killed its workers runs alone.

        A job that kills its workers again then costs nothing but itself.
        """
        nearby = [self.waiting[0], *self.running.values()]
        suspected = any(self.losses[at] for at in nearby)
        return len(self.running) < (1 if suspected else free)

    def _is_there(self, data: _Future) -> bool:
        """Whether a worker still has the data."""
        return not data.cancelled() and any(self.client.who_has([data]).values())

    def _has_sent(self) -> bool:
        """Send the data unless they are there; False if a worker dies meanwhile."""
        if self.data is None:
            try:
                (self.data,) = self.client.scatter(
                    [self.shared], broadcast=True, hash=False
                )
            except (OSError, ValueError, KeyError):
                self.failed_sends += 1
                if self.failed_sends == _MAX_LOSSES:
                    raise
                return False
        return True

    def _result(self, future: _Future, at: int) -> Any:
        """Return the result of a job, or None if it must run again."""
        try:
            return future.result()
        except _dask().KilledWorker as error:
            times = error.allowed_failures + 1
            return WorkerDied(f"workers died while they ran it, {times} in a row")
        except CancelledError:
            # The usual cause is that the last copy of the data was lost with a worker.
            if self.data is not None and not self._is_there(self.data):
                self.data = None
            self.losses[at] += 1
            if self.losses[at] == _MAX_LOSSES:
                return WorkerDied(f"lost with all workers, {_MAX_LOSSES} times")
            self.waiting.appendleft(at)
            return None


@contextmanager
def _connected(client: Client | str | None) -> Iterator[_Client]:
    """Use the client, or connect to an address and disconnect afterwards."""
    dask = _dask()
    if isinstance(client, str):
        try:
            own = dask.Client(client, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ConnectionError(
                f"client is {client!r}, but no Dask scheduler answers there ({error}); "
                "give the address that the scheduler shows, e.g. 'tcp://host:8786'."
            ) from error
        with closing(own):
            yield own
    elif not isinstance(client, dask.Client) or client.asynchronous:
        raise ValueError(
            f"client is {client!r}; give a synchronous dask.distributed.Client or the "
            "address of a scheduler, e.g. 'tcp://host:8786'."
        )
    elif client.status != "running":
        raise ConnectionError(f"client is {client.status}; give one that is connected.")
    else:
        yield client


def _dask() -> Any:
    """Import Dask; if it is missing, the error tells how to install it."""
    try:
        return import_module("distributed")
    except ImportError as error:
        raise ImportError(
            "client needs Dask, which is not installed; install the extra in the "
            "folder of ClusterLens: pip install '.[dask]'."
        ) from error


def _worker_threads(client: _Client, cancel: Cancel | None) -> list[int]:
    """Return the threads of each worker, after waiting for workers that restart."""
    patience = time.monotonic() + _PATIENCE_SECONDS
    while True:
        raise_if_cancelled(cancel)
        if threads := client.nthreads():
            return list(threads.values())
        if time.monotonic() > patience:
            raise TimeoutError(
                f"The Dask cluster has had no worker for {_PATIENCE_SECONDS} seconds; "
                "start workers and try again."
            )
        time.sleep(_POLL_SECONDS)


def _check_versions(client: _Client) -> None:
    """Refuse workers with versions that might give different results."""
    versions = client.get_versions(packages=list(_SAME_VERSIONS))
    ours = versions["client"]["packages"]
    for address, worker in versions["workers"].items():
        theirs = worker["packages"]
        for name in _SAME_VERSIONS:
            if theirs[name] != ours[name]:
                raise RuntimeError(
                    f"The Dask worker {address} has {name} {theirs[name]}, this "
                    f"process has {ours[name]}; give both the same environment."
                )
