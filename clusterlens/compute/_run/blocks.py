"""Long computations in short blocks on threads, with progress and cancelling between.

Kernels release the GIL and run in blocks of well under a second, so that a caller gets
progress, can stop, and can share one executor between computations.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, TypeVar

from clusterlens.compute._run.options import RunOptions

_Result = TypeVar("_Result")


def run_blocks(
    function: Callable[..., _Result],
    blocks: Sequence[tuple[Any, ...]],
    work: Sequence[int],
    run: RunOptions,
) -> Iterator[_Result]:
    """Yield function(*block) for each block, in the order given, computed on threads.

    `work` holds the size of each block in the units of the progress. Only few blocks
    wait at a time, so that other users of the executor get their share.
    """
    workers = run.n_workers
    total, done = sum(work), 0
    waiting: deque[Future[_Result]] = deque()
    own = (
        ThreadPoolExecutor(workers)
        if run.executor is None
        else nullcontext(run.executor)
    )
    with own as pool:
        try:
            for k in range(len(blocks) + workers):
                run.raise_if_cancelled()
                if k < len(blocks):
                    waiting.append(pool.submit(function, *blocks[k]))
                if k >= workers:
                    yield waiting.popleft().result()
                    done += work[k - workers]
                    run.report(done, total)
        finally:
            for future in waiting:
                future.cancel()
