"""Long computations: short blocks on threads, progress and cancelling in between.

Kernels release the GIL and run in blocks of well under a second, so that a caller hears
of progress, can stop, and can share one executor between computations.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, TypedDict, TypeVar

import joblib

Progress = Callable[[int, int], object]
Cancel = Callable[[], bool]

_Result = TypeVar("_Result")


class RunOptions(TypedDict):
    """The keywords of every long computation, to hand them on."""

    n_jobs: int | None
    progress: Progress | None
    cancel: Cancel | None
    executor: Executor | None


class Cancelled(RuntimeError):
    """The caller's cancel callback asked to stop; nothing was returned."""


def report(progress: Progress | None, done: int, total: int) -> None:
    """Tell the caller, if it wants to know, that done of total steps are finished."""
    if progress is not None:
        progress(done, total)


def raise_if_cancelled(cancel: Cancel | None) -> None:
    """Raise Cancelled if the caller has asked to stop."""
    if cancel is not None and cancel():
        raise Cancelled("The computation was cancelled.")


def count_workers(n_jobs: int | None) -> int:
    """Number of threads to use: all cores for None, else as joblib counts them."""
    return int(joblib.effective_n_jobs(-1 if n_jobs is None else n_jobs))


def run_blocks(
    function: Callable[..., _Result],
    blocks: Sequence[tuple[Any, ...]],
    work: Sequence[int],
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> Iterator[_Result]:
    """Yield function(*block) for each block, in the order given, computed on threads.

    `work` holds the size of each block in the units that progress counts. Few blocks
    wait at a time, so that others who use the same executor get their turn.
    """
    workers = count_workers(n_jobs)
    total, done = sum(work), 0
    waiting: deque[Future[_Result]] = deque()
    own = ThreadPoolExecutor(workers) if executor is None else nullcontext(executor)
    with own as pool:
        try:
            for k in range(len(blocks) + workers):
                raise_if_cancelled(cancel)
                if k < len(blocks):
                    waiting.append(pool.submit(function, *blocks[k]))
                if k >= workers:
                    yield waiting.popleft().result()
                    done += work[k - workers]
                    report(progress, done, total)
        finally:
            for future in waiting:
                future.cancel()
